"""What commands print whose text says it all. Step: attribute.

Which lines of a shell call's output are which lines of which file. Step: attribute.

A script often shows several files, with a line of `echo` between them. Each command that prints is
given its part of the output where that part is certain; what follows an unknown amount of output is
found again at the next line that an `echo` printed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vacr.agents import ShellResult
from vacr.attribution.shell.execution import CommandCertainty
from vacr.attribution.shell.git_commands import is_silent_git_command, prints_no_diff
from vacr.attribution.shell.parser import ShellCommand, ShellScript
from vacr.attribution.shell.views import FileLinesView, GitReportView, OutputView, build_output_view
from vacr.edits import FileAction, ObservedLines

_PRINTF_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", '\\"': '"', "%%": "%"}
_PRINTF_DIRECTIVE = re.compile(r"\\.|%.?", re.DOTALL)


def predict_output(words: Sequence[str | None], given: str | None) -> str | None:
    """Give what a command prints, where its words and what it is given to read say it; else
    `None`.
    """
    if list(words) in (["cat"], ["cat", "-"]):
        return given
    known = [word for word in words if word is not None]
    if len(known) != len(words):
        return None
    if not known or known in ([":"], ["true"]):
        return ""
    if known[0] == "echo":
        return _predict_echo_output(known[1:])
    if known[0] == "printf":
        return _predict_printf_output(known[1:])
    return None


def _predict_echo_output(words: Sequence[str]) -> str | None:
    end, escapes = "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        end = "" if "n" in words[0] else end
        escapes = escapes or "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    if "\\" not in text:
        return text + end
    # Without -e, shells do not agree on what a backslash means.
    return None if not escapes or "%%" in text else _replace_escapes(text + end)


def _replace_escapes(text: str) -> str | None:
    """Put escapes in their place; `None` when one is not known."""
    marks = re.findall(r"\\.?", text, re.DOTALL)
    if any(mark not in _PRINTF_ESCAPES for mark in marks):
        return None
    return re.sub(r"\\.", lambda found: _PRINTF_ESCAPES[found[0]], text, flags=re.DOTALL)


def _predict_printf_output(words: Sequence[str]) -> str | None:
    if not words or words[0].startswith("-"):
        return None
    form, values = words[0], list(words[1:])
    marks = _PRINTF_DIRECTIVE.findall(form)
    if any(mark not in _PRINTF_ESCAPES and mark != "%s" for mark in marks) or (
        values and "%s" not in marks
    ):
        return None
    out = []
    while True:
        out.append(
            _PRINTF_DIRECTIVE.sub(
                lambda found: (
                    (values.pop(0) if values else "")
                    if found[0] == "%s"
                    else _PRINTF_ESCAPES[found[0]]
                ),
                form,
            )
        )
        if not values:
            return "".join(out)


_MIN_DISTINCTIVE_LENGTH = 3  # a shorter line may be anybody's
_MAX_OUTPUT_PARTS = 100  # parts of one output; nobody reads more
_SILENT_COMMAND_NAMES = (
    "cd chmod cp export false kill mkdir mv pushd rm rmdir set sleep test "
    "touch true unset wait : Set-Location ["
)
_SILENT_COMMANDS = frozenset(_SILENT_COMMAND_NAMES.split())
_DIFFLESS_COMMAND_NAMES = """
biome bun bunx cargo date docker du eslint find go jq ls make node npm npx pnpm prettier pwd pytest python python3 ruff stat tree
tsc wc which yarn
"""
_DIFFLESS_COMMANDS = frozenset(_DIFFLESS_COMMAND_NAMES.split())
_ERROR_PREFIXES = (
    "bash: ",
    "sh: ",
    "zsh: ",
    "/bin/",
    "(eval)",
    "fatal: ",
    "error: ",
    "warning: ",
    "WARNING: ",
    "-bash: ",
    "rg: ",
)


@dataclass(slots=True)
class _OutputPart:
    """What one pipeline prints: known lines, or those of a view, or an unknown amount, at most
    `count` if that is told.
    """

    number: int
    name: str
    literal: list[str] | None = None
    view: OutputView | None = None
    count: int | None = None
    plain_git: bool = False  # a git command that prints no diff
    sure: bool = False  # whether it surely succeeded


def derive_output_events(
    script: ShellScript, result: ShellResult, certain: Sequence[CommandCertainty]
) -> dict[int, list[FileAction]]:
    """Give the events that the output of a script shows, by the number of the command."""
    full = not result.cut and not result.stripped
    if not result.text and not (full and result.done):
        return {}
    parts = list(_predict_output_parts(script, certain))
    if script.opaque:
        parts.append(_OutputPart(-1, "opaque"))
    elif (
        result.code == 1
        and parts
        and parts[-1].name in ("grep", "egrep", "rg")
        and len(script.commands) - 1 == parts[-1].number
    ):
        parts.pop()  # it found nothing
    lines = result.text.split("\n")
    if not lines[-1]:
        lines.pop()
    return _OutputSplitter(
        parts[:_MAX_OUTPUT_PARTS], lines, result, whole=len(parts) <= _MAX_OUTPUT_PARTS, full=full
    ).events()


def _predict_output_parts(
    script: ShellScript, certain: Sequence[CommandCertainty]
) -> Iterator[_OutputPart]:
    pipelines: list[list[tuple[int, ShellCommand]]] = []
    for number, command in enumerate(script.commands):
        if command.joined == "|" and pipelines:
            pipelines[-1].append((number, command))
        else:
            pipelines.append([(number, command)])
    for pipeline in pipelines:
        number = pipeline[0][0]
        part = _predict_pipeline_part(number, [command for _, command in pipeline])
        if part is None:
            continue
        if pipeline[-1][1].background:
            yield _OutputPart(number, "opaque")
            return
        if not certain[number].ran:  # it may have printed nothing
            count = (
                len(part.literal)
                if part.literal is not None
                else part.view.count
                if part.view is not None
                else None
            )
            part = _OutputPart(number, part.name, count=count)
        part.sure = all(certain[one].succeeded for one, _ in pipeline)
        yield part


def _predict_pipeline_part(number: int, pipeline: Sequence[ShellCommand]) -> _OutputPart | None:
    """Say what a pipeline prints; `None` for one that prints nothing."""
    first, last = pipeline[0], pipeline[-1]
    if any(redirect.writes for redirect in last.redirects) or (
        not first.words and len(pipeline) == 1
    ):
        return None
    if len(pipeline) == 1 and (
        first.name in _SILENT_COMMANDS or is_silent_git_command(first.words)
    ):
        return None
    if any(
        redirect.operator.startswith("<") or redirect.writes
        for command in pipeline[:-1]
        for redirect in command.redirects
    ):
        return _OutputPart(number, first.name)
    text = predict_output(first.words, None) if len(pipeline) == 1 else None
    if text is not None:
        return _make_literal_part(number, first.name, text)
    view = (
        build_output_view(pipeline)
        if not any(one.operator.startswith("<") for one in last.redirects)
        else None
    )
    part = _OutputPart(
        number, first.name, view=view, count=view.count if view is not None else None
    )
    part.plain_git = first.name == "git" and prints_no_diff(first.words)
    return part


def _make_literal_part(number: int, name: str, text: str) -> _OutputPart | None:
    if not text:
        return None
    if not text.endswith("\n"):
        return _OutputPart(number, name)
    return _OutputPart(number, name, literal=text[:-1].split("\n"))


def _cannot_be_diff(part: _OutputPart) -> bool:
    """Tell whether what a part prints cannot be taken for a diff of the files as they are."""
    if isinstance(part.view, FileLinesView):
        return not part.view.path.endswith((".diff", ".patch", ".md", ".txt", ".snap"))
    return (
        part.literal is not None
        or part.view is not None
        or part.name in _DIFFLESS_COMMANDS
        or part.plain_git
    )


class _OutputSplitter:
    """Gives each part its lines."""

    def __init__(
        self,
        parts: Sequence[_OutputPart],
        lines: list[str],
        result: ShellResult,
        *,
        whole: bool,
        full: bool,
    ) -> None:
        self.parts = parts
        self.lines = lines
        self.stripped, self.trimmed = result.stripped, result.trimmed
        self.at: int | None = 0
        self.found: dict[int, list[FileAction]] = {}
        self.whole = whole
        self.full = full  # nothing is missing at its end
        self.unended = full and not result.text.endswith("\n")  # its last line has no end

    def events(self) -> dict[int, list[FileAction]]:
        for number, part in enumerate(self.parts):
            if part.literal is not None:
                if not self._pass(part.literal):
                    return self.found
            elif isinstance(part.view, GitReportView):
                self._tell(number, part)
            elif part.view is None or self.at is None:
                self.at = None
            else:
                end = self._end(number, part, self.at)
                if end is not None:
                    self._show(part, self.at, end)
                self.at = end
        return self.found

    def _pass(self, literal: list[str]) -> bool:
        """Pass over lines that an `echo` printed; `False` when they are not there."""
        if self.at == 0 and self.stripped:
            while literal and not literal[0] and self.lines[:1] != [""]:
                literal = literal[1:]
        if self.at is None:
            self.at = self._again(literal)
            return True
        if self.lines[self.at : self.at + len(literal)] != literal:
            return False
        self.at += len(literal)
        return True

    def _again(self, literal: Sequence[str]) -> int | None:
        """Find the place after lines that were printed; they must stand there once, and say
        something.
        """
        telling = max((line for line in literal), key=lambda line: len(line.strip()), default="")
        if len(telling.strip()) < _MIN_DISTINCTIVE_LENGTH:
            return None
        ends = [n for n, line in enumerate(self.lines) if line.endswith(telling)]
        start = ends[0] - list(literal).index(telling) if len(ends) == 1 else -1
        return (
            start + len(literal)
            if start >= 0 and self.lines[start : start + len(literal)] == list(literal)
            else None
        )

    def _end(self, number: int, part: _OutputPart, at: int) -> int | None:
        """Find where the output of a part ends; `None` when that is not certain."""
        following = self.parts[number + 1 :]
        if not following:
            left = len(self.lines) - at
            return (
                len(self.lines)
                if self.whole and (part.count is None or left <= part.count)
                else None
            )
        if (
            following[0].literal is not None
            and (end := self._before(following[0].literal, part, at)) is not None
        ):
            return end
        if (
            isinstance(part.view, FileLinesView)
            and (end := part.view.take(self.lines, at))
            and self._turns(following[0].view, end, end - at)
        ):
            return end
        # When all that follows is there in full, so is each of its parts.
        counts = [
            len(one.literal) if one.literal is not None else one.count for one in (part, *following)
        ]
        full = sum(count for count in counts if count is not None)
        return (
            at + counts[0]
            if counts[0] is not None and None not in counts and full == len(self.lines) - at
            else None
        )

    def _before(self, literal: list[str], part: _OutputPart, at: int) -> int | None:
        """Find the lines of an `echo` that can end a part, if there is one place for them; the line
        before may lack its end.
        """
        stop = len(self.lines) if part.count is None else min(len(self.lines), at + part.count + 1)
        head = literal[0]
        if at == 0 and self.stripped and not head:
            told = literal[next((n for n, line in enumerate(literal) if line), len(literal)) :]
            if self.lines[: len(told)] == told:
                return None  # the part may have printed nothing, and the empty line is not told
        places = [
            n
            for n in range(at, stop)
            if (self.lines[n].endswith(head) if head else not self.lines[n])
            and self._continues(n, literal)
        ]
        if len(places) != 1:
            return None
        rest = self.lines[places[0]].removesuffix(head)
        if not rest:
            return places[0]
        self.lines[places[0] : places[0] + 1] = [rest, head]
        return places[0] + 1

    def _continues(self, place: int, literal: Sequence[str]) -> bool:
        return self.lines[place + 1 : place + len(literal)] == list(literal[1:])

    def _turns(self, view: OutputView | None, end: int, count: int) -> bool:
        """Tell whether lines with numbers end where others begin to count; else the last line may
        have run into the next one.
        """
        if (
            not isinstance(view, FileLinesView)
            or view.form is None
            or not view.spans
            or end >= len(self.lines)
        ):
            return False
        found = view.form.match(self.lines[end])
        return count > 0 and found is not None and int(found[1]) == view.spans[0][0]

    def _tell(self, number: int, part: _OutputPart) -> None:
        """Read what git tells, if nothing else in the output can be taken for it."""
        alone = (
            not part.view.diff or all(map(_cannot_be_diff, self.parts))
            if isinstance(part.view, GitReportView)
            else False
        )
        start, end = self.at, None if self.at is None else self._end(number, part, self.at)
        if part.view is not None and (alone or end is not None):
            seen = self.lines if alone else self.lines[start:end]
            self.found.setdefault(part.number, []).extend(part.view.shows(seen))
        self.at = end

    def _show(self, part: _OutputPart, at: int, end: int) -> None:
        seen = self.lines[at:end]
        complaints = (f"{part.name}: ", *_ERROR_PREFIXES)
        if not seen and not part.sure:
            return
        if part.view is None or any(line.startswith(complaints) for line in seen):
            return
        slack: int | None = 0
        if at == 0 and self.stripped:
            slack = None if part.count is None else part.count - len(seen)
        events = list(part.view.shows(seen, slack, full=self.full))
        if (
            at == 0
            and self.trimmed
            and isinstance(part.view, FileLinesView)
            and part.view.form is None
        ):
            events[:1] = [
                replace(one, trimmed=True) for one in events[:1] if isinstance(one, ObservedLines)
            ]
        unended = self.unended and end == len(self.lines)
        shown = [
            replace(one, unended=unended) if isinstance(one, ObservedLines) and one.last else one
            for one in events
        ]
        self.found.setdefault(part.number, []).extend(shown)

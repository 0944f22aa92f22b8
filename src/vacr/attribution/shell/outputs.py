"""Which lines of a shell call's output are which lines of which file. Step: attribute.

A script often shows several files, with a line of `echo` between them. Each command that prints is
given its part of the output where that part is certain; what follows an unknown amount of output is
found again at the next line that an `echo` printed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vacr.attribution.events import Event, Observe
from vacr.attribution.shell import git
from vacr.attribution.shell.certainty import Certain
from vacr.attribution.shell.lexer import Command, Script
from vacr.attribution.shell.literals import printed
from vacr.attribution.shell.printers import view_of
from vacr.attribution.shell.results import Result
from vacr.attribution.shell.views import Lines, Told, View

_TELLING = 3  # a shorter line may be anybody's
_MOST = 100  # parts of one output; nobody reads more
_PRINTING_NOTHING = (
    "cd chmod cp export false kill mkdir mv pushd rm rmdir set sleep test "
    "touch true unset wait : Set-Location ["
)
_SILENT = frozenset(_PRINTING_NOTHING.split())
_PRINTING_NO_DIFF = """
biome bun bunx cargo date docker du eslint find go jq ls make node npm npx pnpm prettier pwd pytest python python3 ruff stat tree
tsc wc which yarn
"""
_NO_DIFF = frozenset(_PRINTING_NO_DIFF.split())
_NOISE = (
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
class _Part:
    """What one pipeline prints: known lines, or those of a view, or an unknown amount, at most
    `count` if that is told.
    """

    number: int
    name: str
    literal: list[str] | None = None
    view: View | None = None
    count: int | None = None
    plain_git: bool = False  # a git command that prints no diff
    sure: bool = False  # whether it surely succeeded


def shown_by(script: Script, result: Result, certain: Sequence[Certain]) -> dict[int, list[Event]]:
    """Give the events that the output of a script shows, by the number of the command."""
    full = not result.cut and not result.stripped
    if not result.text and not (full and result.done):
        return {}
    parts = list(_parts(script, certain))
    if script.opaque:
        parts.append(_Part(-1, "opaque"))
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
    return _Deal(parts[:_MOST], lines, result, whole=len(parts) <= _MOST, full=full).events()


def _parts(script: Script, certain: Sequence[Certain]) -> Iterator[_Part]:
    pipelines: list[list[tuple[int, Command]]] = []
    for number, command in enumerate(script.commands):
        if command.joined == "|" and pipelines:
            pipelines[-1].append((number, command))
        else:
            pipelines.append([(number, command)])
    for pipeline in pipelines:
        number = pipeline[0][0]
        part = _printed(number, [command for _, command in pipeline])
        if part is None:
            continue
        if pipeline[-1][1].background:
            yield _Part(number, "opaque")
            return
        if not certain[number].ran:  # it may have printed nothing
            count = (
                len(part.literal)
                if part.literal is not None
                else part.view.count
                if part.view is not None
                else None
            )
            part = _Part(number, part.name, count=count)
        part.sure = all(certain[one].succeeded for one, _ in pipeline)
        yield part


def _printed(number: int, pipeline: Sequence[Command]) -> _Part | None:
    """Say what a pipeline prints; `None` for one that prints nothing."""
    first, last = pipeline[0], pipeline[-1]
    if any(redirect.writes for redirect in last.redirects) or (
        not first.words and len(pipeline) == 1
    ):
        return None
    if len(pipeline) == 1 and (first.name in _SILENT or git.is_silent(first.words)):
        return None
    if any(
        redirect.operator.startswith("<") or redirect.writes
        for command in pipeline[:-1]
        for redirect in command.redirects
    ):
        return _Part(number, first.name)
    text = printed(first.words, None) if len(pipeline) == 1 else None
    if text is not None:
        return _literal(number, first.name, text)
    view = (
        view_of(pipeline)
        if not any(one.operator.startswith("<") for one in last.redirects)
        else None
    )
    part = _Part(number, first.name, view=view, count=view.count if view is not None else None)
    part.plain_git = first.name == "git" and git.prints_no_diff(first.words)
    return part


def _literal(number: int, name: str, text: str) -> _Part | None:
    if not text:
        return None
    if not text.endswith("\n"):
        return _Part(number, name)
    return _Part(number, name, literal=text[:-1].split("\n"))


def _no_diff(part: _Part) -> bool:
    """Tell whether what a part prints cannot be taken for a diff of the files as they are."""
    if isinstance(part.view, Lines):
        return not part.view.path.endswith((".diff", ".patch", ".md", ".txt", ".snap"))
    return (
        part.literal is not None or part.view is not None or part.name in _NO_DIFF or part.plain_git
    )


class _Deal:
    """Gives each part its lines."""

    def __init__(
        self, parts: Sequence[_Part], lines: list[str], result: Result, *, whole: bool, full: bool
    ) -> None:
        self.parts = parts
        self.lines = lines
        self.stripped, self.trimmed = result.stripped, result.trimmed
        self.at: int | None = 0
        self.found: dict[int, list[Event]] = {}
        self.whole = whole
        self.full = full  # nothing is missing at its end
        self.unended = full and not result.text.endswith("\n")  # its last line has no end

    def events(self) -> dict[int, list[Event]]:
        for number, part in enumerate(self.parts):
            if part.literal is not None:
                if not self._pass(part.literal):
                    return self.found
            elif isinstance(part.view, Told):
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
        if len(telling.strip()) < _TELLING:
            return None
        ends = [n for n, line in enumerate(self.lines) if line.endswith(telling)]
        start = ends[0] - list(literal).index(telling) if len(ends) == 1 else -1
        return (
            start + len(literal)
            if start >= 0 and self.lines[start : start + len(literal)] == list(literal)
            else None
        )

    def _end(self, number: int, part: _Part, at: int) -> int | None:
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
            isinstance(part.view, Lines)
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

    def _before(self, literal: list[str], part: _Part, at: int) -> int | None:
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

    def _turns(self, view: View | None, end: int, count: int) -> bool:
        """Tell whether lines with numbers end where others begin to count; else the last line may
        have run into the next one.
        """
        if (
            not isinstance(view, Lines)
            or view.form is None
            or not view.spans
            or end >= len(self.lines)
        ):
            return False
        found = view.form.match(self.lines[end])
        return count > 0 and found is not None and int(found[1]) == view.spans[0][0]

    def _tell(self, number: int, part: _Part) -> None:
        """Read what git tells, if nothing else in the output can be taken for it."""
        alone = (
            not part.view.diff or all(map(_no_diff, self.parts))
            if isinstance(part.view, Told)
            else False
        )
        start, end = self.at, None if self.at is None else self._end(number, part, self.at)
        if part.view is not None and (alone or end is not None):
            seen = self.lines if alone else self.lines[start:end]
            self.found.setdefault(part.number, []).extend(part.view.shows(seen))
        self.at = end

    def _show(self, part: _Part, at: int, end: int) -> None:
        seen = self.lines[at:end]
        complaints = (f"{part.name}: ", *_NOISE)
        if not seen and not part.sure:
            return
        if part.view is None or any(line.startswith(complaints) for line in seen):
            return
        slack: int | None = 0
        if at == 0 and self.stripped:
            slack = None if part.count is None else part.count - len(seen)
        events = list(part.view.shows(seen, slack, full=self.full))
        if at == 0 and self.trimmed and isinstance(part.view, Lines) and part.view.form is None:
            events[:1] = [
                replace(one, trimmed=True) for one in events[:1] if isinstance(one, Observe)
            ]
        unended = self.unended and end == len(self.lines)
        shown = [
            replace(one, unended=unended) if isinstance(one, Observe) and one.last else one
            for one in events
        ]
        self.found.setdefault(part.number, []).extend(shown)

"""The result of a script, divided among its commands: which succeeded, and what each printed.

A script exits with the code of its last command. Commands joined to it by `&&` succeeded if it did.
A command before a `;` counts as successful only if it prints an error when it fails, and printed no
error.

A script often prints several files with a line of `echo` between them. Each command that prints
gets its part of the output where that part is certain. After an unknown amount of output, the next
line that an `echo` printed marks a known place again.

    >>> from vacr.agents import ShellResult
    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> from vacr.attribution.shell.command_results import assess_certainty, derive_output_events
    >>> script = parse_shell_script("make; echo --- b.py; head -2 b.py")
    >>> result = ShellResult(0, True, "cc b.c\\n--- b.py\\nx = 1\\ny = 2\\n")
    >>> certainties = assess_certainty(script, result)
    >>> [certainty.succeeded for certainty in certainties]      # a failing `make` may be silent
    [False, True, True]
    >>> events = derive_output_events(script, result, certainties)
    >>> {number: [(event.path, event.lines) for event in own] for number, own in events.items()}
    {2: [('b.py', ['x = 1\\n', 'y = 2\\n'])]}
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vacr.agents import ShellResult
from vacr.attribution.shell.git_commands import is_silent_git_command, prints_no_diff
from vacr.attribution.shell.parser import ShellCommand, ShellScript
from vacr.attribution.shell.views import (
    FileLinesView,
    GitReportView,
    OutputView,
    SearchView,
    build_output_view,
)
from vacr.edits import FileAction, ObservedLines

_ERROR_REPORTING_NAMES = (
    "cat cd chmod cp echo export git head ls mkdir mv nl printf pwd rm sed set tail "
    "tee touch true wc :"
)
_ERROR_REPORTING_COMMANDS = frozenset(_ERROR_REPORTING_NAMES.split())
_EXIT_ON_ERROR_COMMANDS = (["set", "-e"], ["set", "-eu"], ["set", "-euo"])
_SHELL_ERROR_LINE = re.compile(
    r"^(?:(?:/\S*/)?(?:ba|z|da|k)?sh|\(eval\)|error|fatal|CONFLICT)\b.{0,200}", re.MULTILINE
)
_MESSAGE_PREFIX = re.compile(r"^(\S{1,20}): ", re.MULTILINE)

_PRINTF_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", '\\"': '"', "%%": "%"}
_PRINTF_DIRECTIVE = re.compile(r"\\.|%.?", re.DOTALL)
_ECHO_OPTION = re.compile(r"-[neE]+")

_MIN_DISTINCTIVE_LENGTH = 3  # A shorter line may come from any command.
_MAX_OUTPUT_PARTS = 100
_SILENT_COMMAND_NAMES = (
    "cd chmod cp export false kill mkdir mv pushd rm rmdir set sleep test "
    "touch true unset wait : Set-Location ["
)
_SILENT_COMMANDS = frozenset(_SILENT_COMMAND_NAMES.split())
_DIFFLESS_COMMAND_NAMES = """
biome bun bunx cargo date docker du eslint find go jq ls make node npm npx pnpm prettier pwd
pytest python python3 ruff stat tree tsc wc which yarn
"""
_DIFFLESS_COMMANDS = frozenset(_DIFFLESS_COMMAND_NAMES.split())
_DIFF_LIKE_SUFFIXES = (".diff", ".patch", ".md", ".txt", ".snap")
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


# --- success ---


@dataclass(frozen=True, slots=True)
class CommandCertainty:
    """Whether a command surely ran, and whether it surely succeeded."""

    ran: bool
    succeeded: bool


def assess_certainty(script: ShellScript, result: ShellResult) -> list[CommandCertainty]:
    """Return one certainty for each command of a script, in order."""
    lists: list[list[ShellCommand]] = []
    for command in script.commands:
        if not lists or command.joined in ("", ";"):
            lists.append([])
        lists[-1].append(command)
    exits_on_error = bool(lists) and script.commands[0].words[:2] in _EXIT_ON_ERROR_COMMANDS
    failed_names = _find_failed_names(result)
    certainties: list[CommandCertainty] = []
    for number, members in enumerate(lists):
        last = number == len(lists) - 1 and not script.opaque
        proved = (last or exits_on_error) and result.done
        certainties += _assess_joined_commands(members, failed_names, result, proved=proved)
    return certainties


def _find_failed_names(result: ShellResult) -> frozenset[str] | None:
    """Return the words before a colon in the output, such as `rm` in `rm: no such file`.

    Any of them may be the name of a command that failed. Return `None` if the shell itself, or
    git, reports an error: then any command may have failed.
    """
    printed = f"{result.text}\n{result.errors}"
    if _SHELL_ERROR_LINE.search(printed):
        return None
    return frozenset(_MESSAGE_PREFIX.findall(printed))


def _assess_joined_commands(
    members: Sequence[ShellCommand],
    failed_names: frozenset[str] | None,
    result: ShellResult,
    *,
    proved: bool,
) -> list[CommandCertainty]:
    """Return one certainty for each of some commands, which operators other than `;` join.

    `proved` when the exit code of the script proves that the last of them succeeded.
    `failed_names` comes from `_find_failed_names`.
    """
    has_alternative = any(command.joined == "||" for command in members)
    exit_code_covers_all = proved and not has_alternative
    certainties, ran, fine = [], True, True
    for command in members:
        may_be_skipped = not fine and not exit_code_covers_all
        if command.joined == "||" or (command.joined == "&&" and may_be_skipped):
            ran = False
        fine = fine and ran and _has_no_error_message(command, failed_names)
        finished = ran and result.done and not command.background
        certainties.append(CommandCertainty(ran, finished and (exit_code_covers_all or fine)))
    return certainties


def _has_no_error_message(command: ShellCommand, failed_names: frozenset[str] | None) -> bool:
    """Return whether a command always prints its errors, and printed none.

    `failed_names` are the names of the commands that printed an error. It is None if they are
    unknown; then return False.
    """
    hides_errors = any(
        redirect.descriptor in ("2", "&") and redirect.operator in (">", ">>")
        for redirect in command.redirects
    )
    if command.name not in _ERROR_REPORTING_COMMANDS or hides_errors:
        return False
    return failed_names is not None and command.name not in failed_names


# --- predicted output ---


def predict_output(words: Sequence[str | None], stdin: str | None) -> str | None:
    """Return the output of `echo`, `printf`, `cat` or `true`, as far as it can be computed.

    `stdin` is the standard input of the command. Return `None` for any other command, or if a word
    is unknown. An empty command, `:` and `true` print nothing: the output is empty.
    """
    if list(words) in (["cat"], ["cat", "-"]):
        return stdin
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
    """Return the output of `echo` with these arguments, or `None` where shells do not agree."""
    end, options = "\n", ""
    while words and _ECHO_OPTION.fullmatch(words[0]):
        end = "" if "n" in words[0] else end
        options += words[0]
        words = words[1:]
    escapes = "e" in options and "E" not in options
    text = " ".join(words)
    if "\\" not in text:
        return text + end
    # Without -e, shells do not agree on the meaning of a backslash.
    return None if not escapes or "%%" in text else _replace_escapes(text + end)


def _replace_escapes(text: str) -> str | None:
    r"""Return a text with escapes such as `\n` replaced, or `None` if it has an unknown escape."""
    escapes = re.findall(r"\\.?", text, re.DOTALL)
    if any(escape not in _PRINTF_ESCAPES for escape in escapes):
        return None
    return re.sub(r"\\.", lambda escape: _PRINTF_ESCAPES[escape[0]], text, flags=re.DOTALL)


def _predict_printf_output(words: Sequence[str]) -> str | None:
    """Return the output of `printf` with these arguments.

    Return `None` if the format has directives other than `%s` and `%%`, or unknown escapes.
    """
    if not words or words[0].startswith("-"):
        return None
    form, values = words[0], list(words[1:])
    directives = _PRINTF_DIRECTIVE.findall(form)
    if any(mark not in _PRINTF_ESCAPES and mark != "%s" for mark in directives):
        return None
    if values and "%s" not in directives:
        return None

    def fill_directive(mark: re.Match[str]) -> str:
        """Return the next value for `%s`, or the character that an escape stands for."""
        if mark[0] != "%s":
            return _PRINTF_ESCAPES[mark[0]]
        return values.pop(0) if values else ""

    output = _PRINTF_DIRECTIVE.sub(fill_directive, form)
    while values:  # The format is used again until all values are printed.
        output += _PRINTF_DIRECTIVE.sub(fill_directive, form)
    return output


# --- parts of the output ---


@dataclass(slots=True)
class _OutputPart:
    """The output of one pipeline: known lines, the lines of a view, or an unknown amount."""

    number: int
    """The index of the pipeline's first command."""
    name: str
    """The name of that command."""
    literal: list[str] | None = None
    """The lines, if they are known in advance, such as the lines of an `echo`."""
    view: OutputView | None = None
    """The view of the lines, if the command prints lines of files."""
    count: int | None = None
    """How many lines there are at most, if that is known."""
    is_diffless_git: bool = False
    succeeded: bool = False
    """Whether the pipeline surely succeeded."""


def derive_output_events(
    script: ShellScript, result: ShellResult, certainties: Sequence[CommandCertainty]
) -> dict[int, list[FileAction]]:
    """Return the lines of files that the output of a script shows, by the index of the command.

    Commands whose part of the output is uncertain are left out.
    """
    complete = not result.cut and not result.stripped
    if not result.text and not (complete and result.done):
        return {}
    parts = list(_predict_output_parts(script, certainties))
    if script.opaque:
        parts.append(_OutputPart(-1, "opaque"))
    elif parts and _has_no_match(script, result, parts[-1]):
        parts.pop()
    lines = result.text.split("\n")
    if not lines[-1]:
        lines.pop()
    return _OutputSplitter(parts, lines, result, complete=complete).derive_events()


def _has_no_match(script: ShellScript, result: ShellResult, last_part: _OutputPart) -> bool:
    """Return whether the last command of a script is a search that matched nothing."""
    is_last_command = last_part.number == len(script.commands) - 1
    return result.code == 1 and is_last_command and last_part.name in ("grep", "egrep", "rg")


def _predict_output_parts(
    script: ShellScript, certainties: Sequence[CommandCertainty]
) -> Iterator[_OutputPart]:
    """Yield the expected output of each pipeline that prints, in order.

    A pipeline in the background ends the list, because its output may come at any time.
    """
    number = 0
    for pipeline in _list_pipelines(script):
        members = certainties[number : number + len(pipeline)]
        part = _predict_pipeline_part(number, pipeline)
        number += len(pipeline)
        if part is None:
            continue
        if pipeline[-1].background:
            yield _OutputPart(part.number, "opaque")
            return
        if not members[0].ran:  # It may have printed nothing.
            part = _OutputPart(part.number, part.name, count=_count_lines(part))
        part.succeeded = all(certainty.succeeded for certainty in members)
        yield part


def _list_pipelines(script: ShellScript) -> list[list[ShellCommand]]:
    """Return the commands of a script in groups that pipes join."""
    pipelines: list[list[ShellCommand]] = []
    for command in script.commands:
        if command.joined == "|" and pipelines:
            pipelines[-1].append(command)
        else:
            pipelines.append([command])
    return pipelines


def _count_lines(part: _OutputPart) -> int | None:
    """Return how many lines a part has at most, or `None` if that is unknown."""
    return part.count if part.literal is None else len(part.literal)


def _predict_pipeline_part(number: int, pipeline: Sequence[ShellCommand]) -> _OutputPart | None:
    """Return the expected output of a pipeline, or `None` if it prints nothing.

    `number` is the index of its first command.
    """
    first, last = pipeline[0], pipeline[-1]
    is_single = len(pipeline) == 1
    if any(redirect.writes for redirect in last.redirects):
        return None
    if is_single and _is_silent(first):
        return None
    if any(_has_redirected_data(command) for command in pipeline[:-1]):
        return _OutputPart(number, first.name)
    text = predict_output(first.words, None) if is_single else None
    if text is not None:
        return _build_literal_part(number, first.name, text)
    reads_redirect = any(redirect.operator.startswith("<") for redirect in last.redirects)
    view = None if reads_redirect else build_output_view(pipeline)
    part = _OutputPart(number, first.name, view=view)
    part.count = None if view is None else view.count
    part.is_diffless_git = first.name == "git" and prints_no_diff(first.words)
    return part


def _is_silent(command: ShellCommand) -> bool:
    """Return whether a command prints nothing when it succeeds; so does one without words."""
    if not command.words or command.name in _SILENT_COMMANDS:
        return True
    return is_silent_git_command(command.words)


def _has_redirected_data(command: ShellCommand) -> bool:
    """Return whether a command reads its input from a file or text, or writes to a file."""
    return any(
        redirect.operator.startswith("<") or redirect.writes for redirect in command.redirects
    )


def _build_literal_part(number: int, name: str, text: str) -> _OutputPart | None:
    """Return the part for a known output, or `None` if it is empty.

    Without a newline at its end, its last line is unknown, because the next output follows on it.
    """
    if not text:
        return None
    if not text.endswith("\n"):
        return _OutputPart(number, name)
    return _OutputPart(number, name, literal=text[:-1].split("\n"))


def _cannot_be_diff(part: _OutputPart) -> bool:
    """Return whether a part cannot be mistaken for a diff against the work tree."""
    if isinstance(part.view, FileLinesView):
        return not part.view.path.endswith(_DIFF_LIKE_SUFFIXES)
    if part.literal is not None or part.view is not None:
        return True
    return part.name in _DIFFLESS_COMMANDS or part.is_diffless_git


class _OutputSplitter:
    """Assigns the lines of an output to its parts, from the first part to the last.

    `at` is the index of the next line, or `None` after a part of unknown length.
    """

    def __init__(
        self,
        parts: Sequence[_OutputPart],
        lines: list[str],
        result: ShellResult,
        *,
        complete: bool,
    ) -> None:
        """Prepare to assign the `lines` of an output to the expected `parts`.

        `complete` states that the host neither cut nor stripped the output.
        """
        self.parts = parts[:_MAX_OUTPUT_PARTS]
        self.has_all_parts = len(parts) <= _MAX_OUTPUT_PARTS
        self.lines = lines
        self.stripped, self.trimmed = result.stripped, result.trimmed
        self.complete = complete
        self.lacks_last_newline = complete and not result.text.endswith("\n")
        self.at: int | None = 0
        self.events: dict[int, list[FileAction]] = {}

    def derive_events(self) -> dict[int, list[FileAction]]:
        """Return the lines of files that the parts show, by the index of the command."""
        for number, part in enumerate(self.parts):
            if part.literal is not None:
                if not self._skip_literal(part.literal):
                    break
            elif isinstance(part.view, GitReportView):
                self._read_git_report(number, part, part.view)
            elif part.view is None or self.at is None:
                self.at = None
            else:
                end = self._find_end(number, part, self.at)
                if end is not None:
                    self._read_view(part, part.view, self.at, end)
                self.at = end
        return self.events

    # --- literal lines ---

    def _skip_literal(self, literal: list[str]) -> bool:
        """Skip lines that an `echo` printed; return whether no other lines are in their place."""
        if self.at == 0 and self.stripped:
            while literal and not literal[0] and self.lines[:1] != [""]:
                literal = literal[1:]
        if self.at is None:
            self.at = self._find_literal_end(literal)
            return True
        if self.lines[self.at : self.at + len(literal)] != literal:
            return False
        self.at += len(literal)
        return True

    def _find_literal_end(self, literal: list[str]) -> int | None:
        """Return the index after these lines in the output.

        Return `None` unless they occur exactly once and are distinctive.
        """
        longest = max(literal, key=lambda line: len(line.strip()), default="")
        if len(longest.strip()) < _MIN_DISTINCTIVE_LENGTH:
            return None
        places = [number for number, line in enumerate(self.lines) if line.endswith(longest)]
        if len(places) != 1:
            return None
        start = places[0] - literal.index(longest)
        end = start + len(literal)
        return end if start >= 0 and self.lines[start:end] == literal else None

    # --- the end of a part ---

    def _find_end(self, number: int, part: _OutputPart, at: int) -> int | None:
        """Return the index after the last line of a part that begins at index `at`.

        `number` is the index of the part. Return `None` if the end is uncertain.
        """
        following = self.parts[number + 1 :]
        remaining = len(self.lines) - at
        if not following:
            fits = part.count is None or remaining <= part.count
            return len(self.lines) if self.has_all_parts and fits else None
        if following[0].literal is not None:
            end = self._find_end_before(following[0].literal, part, at)
            if end is not None:
                return end
        if isinstance(part.view, FileLinesView):
            end = part.view.find_numbered_end(self.lines, at)
            if end and end > at and self._begins_numbers(following[0].view, end):
                return end
        # If the rest of the output is as long as all parts can be, each has its full length.
        counts = [_count_lines(later) for later in (part, *following)]
        known_counts = [count for count in counts if count is not None]
        if len(known_counts) < len(counts) or sum(known_counts) != remaining:
            return None
        return at + known_counts[0]

    def _find_end_before(self, literal: list[str], part: _OutputPart, at: int) -> int | None:
        """Return the index after the last line of a part that the lines of an `echo` follow.

        Return `None` unless the `echo` fits at exactly one place. The last line of the part may
        lack its newline: then the `echo` begins on the same line, and the two are split. The part
        begins at index `at`.
        """
        if at == 0 and self.stripped and self._may_follow_stripped_lines(literal):
            return None
        head = literal[0]
        stop = len(self.lines)
        if part.count is not None:
            stop = min(stop, at + part.count + 1)
        places = []
        for place in range(at, stop):
            line = self.lines[place]
            is_first_line = line.endswith(head) if head else not line
            if is_first_line and self.lines[place + 1 : place + len(literal)] == literal[1:]:
                places.append(place)
        if len(places) != 1:
            return None
        place = places[0]
        rest = self.lines[place].removesuffix(head)
        if not rest:
            return place
        self.lines[place : place + 1] = [rest, head]
        return place + 1

    def _may_follow_stripped_lines(self, literal: list[str]) -> bool:
        """Return whether an `echo` may begin the output, without its empty lines at the beginning.

        Some hosts strip these lines.
        """
        if literal[0]:
            return False
        blank = next((number for number, line in enumerate(literal) if line), len(literal))
        visible = literal[blank:]
        return self.lines[: len(visible)] == visible

    def _begins_numbers(self, view: OutputView | None, at: int) -> bool:
        """Return whether the line at index `at` has the first line number of a numbered view.

        Otherwise the last line before it may have run into the next one.
        """
        if not isinstance(view, FileLinesView) or view.form is None or not view.spans:
            return False
        number = view.form.match(self.lines[at]) if at < len(self.lines) else None
        return number is not None and int(number[1]) == view.spans[0][0]

    # --- the lines of files in a part ---

    def _read_git_report(self, number: int, part: _OutputPart, view: GitReportView) -> None:
        """Add the events of a git report, and move to its end.

        Search all lines of the output if no other part looks like the report, or else only the
        lines of this part, if its end is certain. `number` is the index of the part.
        """
        is_unmistakable = not view.diff or all(map(_cannot_be_diff, self.parts))
        start, end = self.at, None
        if start is not None:
            end = self._find_end(number, part, start)
        if is_unmistakable or end is not None:
            lines = self.lines if is_unmistakable else self.lines[start:end]
            self.events.setdefault(part.number, []).extend(view.derive_events(lines))
        self.at = end

    def _read_view(
        self, part: _OutputPart, view: FileLinesView | SearchView, at: int, end: int
    ) -> None:
        """Add the events of a part with the lines from index `at` up to `end`.

        Add none if the lines contain an error message.
        """
        lines = self.lines[at:end]
        if not lines and not part.succeeded:
            return
        error_prefixes = (f"{part.name}: ", *_ERROR_PREFIXES)
        if any(line.startswith(error_prefixes) for line in lines):
            return
        if isinstance(view, SearchView):
            events = list(view.derive_events(lines))
        else:
            events = self._read_file_lines(part, view, lines, at)
        if self.lacks_last_newline and end == len(self.lines):
            events = [replace(event, unended=True) if event.last else event for event in events]
        self.events.setdefault(part.number, []).extend(events)

    def _read_file_lines(
        self, part: _OutputPart, view: FileLinesView, lines: Sequence[str], at: int
    ) -> list[ObservedLines]:
        """Return the lines of the file that a view's output shows.

        At the beginning of an output, empty lines and the first indentation may be missing. `at` is
        the index of the first line in the output.
        """
        slack: int | None = 0
        if at == 0 and self.stripped:
            slack = None if part.count is None else part.count - len(lines)
        events = list(view.derive_events(lines, slack, complete=self.complete))
        if at == 0 and self.trimmed and view.form is None:
            events[:1] = [replace(event, trimmed=True) for event in events[:1]]
        return events

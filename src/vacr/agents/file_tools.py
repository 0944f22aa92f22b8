"""The effects of tool calls on files: the part that agents share.

Most tools of most agents do one of a few things: show a file, replace text in it, write it, apply a
patch, run a command. An agent states which (`ToolEffect`), and how its host recorded the outcome
(`FileReport`); the functions here turn a call with its result into file actions.

    >>> from vacr.agents.agent import Agent
    >>> from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect
    >>> class Parrot(Agent):
    ...     name = "parrot"
    ...     tools = {"put_file": ToolEffect.WRITE}
    >>> arguments = {"path": "a.txt", "content": "squawk\\n"}
    >>> call = ToolCall("put_file", arguments, "e1", "c1", "model", "/work", state=CALL_DONE)
    >>> [(type(action).__name__, action.path) for action in Parrot().file_actions(call)]
    [('FileWrite', 'a.txt')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from vacr.agents.tool_calls import (
    CALL_DONE,
    CALL_FAILED,
    CALL_UNREPORTED,
    CONTENT_ARGUMENTS,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATCH_ARGUMENTS,
    PATH_ARGUMENTS,
    REPLACE_ALL_ARGUMENTS,
    ToolCall,
    ToolEffect,
    extract_command,
    get_text_argument,
)
from vacr.edits import (
    MIN_CUT_LINE_LENGTH,
    AppliedPatch,
    Edit,
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    MissingFile,
    ObservedFile,
    ObservedLines,
    PossibleChange,
    Replacement,
    UnplacedEdit,
    parse_apply_patch,
    parse_listing,
    parse_numbered_lines,
)

if TYPE_CHECKING:
    from vacr.agents.agent import Agent


@dataclass(frozen=True, slots=True)
class FileReport:
    """The host's record of the one file of a call.

    `before` and `after` are its whole text. A member is None if the host does not state it.
    """

    before: str | None = None
    after: str | None = None
    created: bool | None = None
    written: str | None = None
    """The text that the host wrote, by its own account."""
    user_edits: list[Edit] | None = None
    """The edits as the user changed them before they were applied."""
    by_user: bool = False
    """Whether the change was the user's own."""


@dataclass(frozen=True, slots=True)
class ShellResult:
    """The result of a shell call: exit code where stated, whether it ended well, and its output.

    `cut` when the text does not reach the end of the output; `stripped` when empty lines at its
    beginning may be missing, `trimmed` when the indentation of its first line may be missing too.
    """

    code: int | None
    done: bool
    text: str
    errors: str = ""
    cut: bool = False
    stripped: bool = False
    trimmed: bool = False


@dataclass(frozen=True, slots=True)
class ShellOutput:
    """The output of a shell call as an agent wraps it."""

    text: str
    code: int | None = None
    errors: str = ""
    ended: bool = True
    stripped: bool = False
    trimmed: bool = False


@dataclass(frozen=True, slots=True)
class RunShell(FileAction):
    """A call ran a script; `attribution` reads the script to learn its effects on files."""

    script: str
    folder: str | None
    is_powershell: bool
    result: ShellResult


_MISSING_FILE_MESSAGE = re.compile(
    r"(?:<tool_use_error>)?(?:Error: )?File (?:does not exist|not found)\b"
)
_MISSING_TOOL_MESSAGE = re.compile(
    r"(?:<tool_use_error>)?(?:Error: )?(?:No such tool available\b|Tool \"[^\"\n]+\" not found\b)"
)


def derive_file_actions(agent: Agent, call: ToolCall) -> Iterator[FileAction]:
    """Yield the changes and observations of files by a call that ended.

    Yield nothing for an unknown tool. A failed call shows at most that its file does not exist.
    """
    effect = agent.tool_effect(call)
    if effect is None:
        return
    if effect is ToolEffect.SHELL:
        run = None if _was_refused(call) else agent.shell_run(call)
        if run is not None:
            yield run
    elif call.state == CALL_UNREPORTED:
        yield from _derive_unreported_actions(call, effect)
    elif call.state == CALL_DONE:
        yield from _derive_done_actions(agent, call, effect)
    elif call.state == CALL_FAILED and effect in (ToolEffect.READ, ToolEffect.REPLACE):
        path = get_text_argument(call.input, PATH_ARGUMENTS)
        if path is not None and _MISSING_FILE_MESSAGE.match(call.output):
            yield MissingFile(path)


def _was_refused(call: ToolCall) -> bool:
    """Return whether a failed call never ran: it was refused, or its tool did not exist."""
    if call.state != CALL_FAILED:
        return False
    is_denied = call.native.get("status") == "denied"
    return is_denied or _MISSING_TOOL_MESSAGE.match(call.output) is not None


def is_unknown_file_tool(agent: Agent, call: ToolCall) -> bool:
    """Return whether a call names a file, but its tool is unknown."""
    return (
        agent.tool_effect(call) is None
        and get_text_argument(call.input, PATH_ARGUMENTS) is not None
    )


def _derive_unreported_actions(call: ToolCall, effect: ToolEffect) -> Iterator[FileAction]:
    """Yield the requested changes of a call whose result the agent never records."""
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if effect is ToolEffect.PATCH:
        for file in parse_apply_patch(get_patch_text(call.input) or ""):
            yield UnplacedEdit(file.path)
    elif path is None:
        return
    elif effect in (ToolEffect.WRITE, ToolEffect.REPLACE, ToolEffect.UNPLACED_EDIT):
        yield UnplacedEdit(path)
    elif effect is ToolEffect.DELETE:
        yield PossibleChange(path)


def _derive_done_actions(agent: Agent, call: ToolCall, effect: ToolEffect) -> Iterator[FileAction]:
    """Yield the actions of a call that succeeded; without the path of a file, there may be none."""
    if effect is ToolEffect.SEARCH:
        yield from derive_search_actions(agent, call)
        return
    if effect is ToolEffect.PATCH:
        yield from agent.patch_actions(call)
        return
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if path is None:
        return
    if effect is ToolEffect.READ:
        yield from _derive_read_actions(agent, call, path)
    elif effect is ToolEffect.REPLACE:
        yield from _derive_replace_actions(agent, call, path)
    elif effect is ToolEffect.WRITE:
        yield from _derive_write_actions(agent, call, path)
    elif effect is ToolEffect.UNPLACED_EDIT:
        yield from _derive_unplaced_edit(agent, call, path)
    elif effect is ToolEffect.DELETE:
        yield FileDeletion(path)


def _derive_read_actions(agent: Agent, call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the lines that a read showed, except for a notebook."""
    if path.endswith(".ipynb"):
        return  # Hosts show a notebook's cells, not its bytes.
    shown = agent.shown_file(call, path)
    yield from parse_listing(path, call.output) if shown is None else shown


def build_observation(path: str, text: str, first: Any, total: Any) -> FileAction | None:
    """Build the observation of lines from `first` on; `None` if `first` is not a number.

    `total` counts the file's lines, with the empty one after the last line end.
    """
    if not isinstance(first, int):
        return None
    first = max(first, 1)  # A read from line 0 begins with the first line.
    lines = text.split("\n")
    if first == 1 and total == len(lines):
        return ObservedFile(path, text)
    ends_file = first + len(lines) - 1 == total and not lines[-1]
    if ends_file:
        lines.pop()
    known_total = total if isinstance(total, int) else 0
    shown = [line + "\n" for line in lines]
    return ObservedLines(path, first, shown, total=known_total, ends_file=ends_file)


def _derive_replace_actions(agent: Agent, call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the replacements that a call made, or an edit at an unknown place."""
    report = agent.file_report(call)
    edits = report.user_edits
    if edits is None:
        edits = parse_requested_edits(call.input)
    if edits is None:
        yield UnplacedEdit(path)
        return
    if report.before is not None:
        yield ObservedFile(path, report.before)
        if report.after is not None:
            yield FileWrite(path, report.after, recorded=True)
            return
    texts = [text for edit in edits for text in (edit.old, edit.new)]
    hunks = agent.recorded_hunks(call, [line for text in texts for line in text.split("\n")])
    if len(edits) == 1 and not edits[0].old:
        yield FileWrite(path, edits[0].new, created=report.created)
    elif edits or hunks:
        shown: list[ObservedLines] = []
        if "cat -n" in call.output:
            listed = parse_listing(path, call.output)
            shown = [action for action in listed if isinstance(action, ObservedLines)]
        yield Replacement(path, edits, hunks, shown, agent.hunk_readings(call))
    else:
        yield UnplacedEdit(path)


def parse_requested_edits(arguments: dict[str, Any]) -> list[Edit] | None:
    """Return the replacements that a call asks for, or None if one of them is incomplete."""
    items = arguments.get("edits", [arguments])
    edits = []
    for item in items if isinstance(items, list) else ():
        old = get_text_argument(item, OLD_TEXT_ARGUMENTS)
        new = get_text_argument(item, NEW_TEXT_ARGUMENTS)
        if old is None or new is None:
            return None
        expected = item.get("expected_replacements")
        several = isinstance(expected, int) and expected > 1
        every = several or any(item.get(name) is True for name in REPLACE_ALL_ARGUMENTS)
        edits.append(Edit(old, new, every))
    return edits


def _derive_write_actions(agent: Agent, call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the write of a whole file, after its earlier text if the host states it."""
    text = get_text_argument(call.input, CONTENT_ARGUMENTS)
    if text is None:
        return
    report = agent.file_report(call)
    written = report.after if report.after is not None else report.written
    if report.before is not None:
        yield ObservedFile(path, report.before)
    recorded = report.created is True or report.before is not None
    created = report.created
    if created is None:
        created = _parse_created_message(call.output)
    yield FileWrite(path, text if written is None else written, created=created, recorded=recorded)


def _parse_created_message(output: str) -> bool | None:
    """Return whether the file is new by the words of a result, or None if they do not say."""
    if output.startswith(("File created", "Successfully created")):
        return True
    return False if output.startswith(("Successfully overwrote", "The file ")) else None


def _derive_unplaced_edit(agent: Agent, call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the change of a call whose arguments do not state it, by the host's report.

    Without a report, it is an edit at an unknown place. A change by the user is only possible.
    """
    report = agent.file_report(call)
    if report.by_user:
        yield PossibleChange(path)
    elif report.after is not None and (report.created or report.before is not None):
        if report.before is not None and not report.created:
            yield ObservedFile(path, report.before)
        yield FileWrite(path, report.after, created=report.created, recorded=True)
    elif readings := agent.hunk_readings(call):
        yield Replacement(path, (), offers=readings)
    else:
        yield UnplacedEdit(path)


# --- patches ---


def get_patch_text(arguments: Any) -> str | None:
    """Return the patch in the arguments of a call, or `None` if they have none."""
    if isinstance(arguments, str):
        return arguments
    return get_text_argument(arguments, PATCH_ARGUMENTS)


def parse_patch_actions(text: str) -> Iterator[FileAction]:
    """Yield the changes of a patch in the language of `apply_patch`."""
    for file in parse_apply_patch(text):
        if file.kind == "add":
            yield FileWrite(file.path, file.text, created=True)
        elif file.kind == "delete":
            yield FileDeletion(file.path)
        else:
            yield AppliedPatch(file.path, file.parts)
            if file.to:
                yield FileMove(file.path, file.to)


# --- searches ---

_PATH_AND_LINE_NUMBER = re.compile(r"((?:[A-Za-z]:)?[^:\n]+?):(\d{1,7}):")
_LINE_NUMBER = re.compile(r"(\d{1,7})[:-]")
_CONTEXT_LINE_NUMBER = re.compile(r"-(\d{1,7})-")
_SEARCH_TRUNCATION_NOTE = re.compile(
    r"\n\s*(?:\[Showing results with pagination|\.\.\. \[\d+ lines truncated\]"
    r"|\(Results are truncated).*\Z",
    re.DOTALL,
)
# A path this long is not looked for in a context line.
_MAX_PATH_LENGTH = 1000

SearchRow = tuple[str, int, str]
"""The path, the line number and the line that a search shows."""


def derive_search_actions(agent: Agent, call: ToolCall) -> Iterator[FileAction]:
    """Yield the lines that a search shows; skip relative paths where the folder is unknown."""
    for action in agent.search_results(call):
        if not call.lost or is_absolute_path(action.path):
            yield action


def parse_search_results(call: ToolCall) -> Iterator[FileAction]:
    """Yield the lines that a search shows, in the forms of `grep -n`."""
    lines = _SEARCH_TRUNCATION_NOTE.sub("", call.output).split("\n")
    searched = get_text_argument(call.input, ("path",))
    if searched is not None and _has_rising_numbers(lines):
        for first, seen in parse_numbered_lines(lines, _LINE_NUMBER):
            yield ObservedLines(searched, first, seen)
    else:
        yield from observe_search_rows(_parse_grep_rows(lines))


def observe_search_rows(rows: Sequence[SearchRow]) -> Iterator[FileAction]:
    """Yield an observation for each row whose line was surely not cut."""
    for path, number, text in rows:
        if len(text) < MIN_CUT_LINE_LENGTH:
            yield ObservedLines(path, number, [text + "\n"])


def _has_rising_numbers(lines: Sequence[str]) -> bool:
    """Return whether all lines carry rising numbers, as the lines of one file do."""
    matches = [_LINE_NUMBER.match(line) for line in lines if line not in ("--", "")]
    numbers = [int(match[1]) for match in matches if match]
    return len(numbers) == len(matches) > 0 and all(low < high for low, high in pairwise(numbers))


def _parse_grep_rows(lines: Sequence[str]) -> list[SearchRow]:
    """Parse `path:12:text`, and `path-13-text` as its context; other lines are left out."""
    matches = [_PATH_AND_LINE_NUMBER.match(line) for line in lines]
    known_paths = {match[1] for match in matches if match}
    rows = []
    for line, match in zip(lines, matches, strict=True):
        if match:
            rows.append((match[1], int(match[2]), line[match.end() :]))
            continue
        marks = _CONTEXT_LINE_NUMBER.finditer(line[:_MAX_PATH_LENGTH])
        fitting = [mark for mark in marks if line[: mark.start()] in known_paths]
        if len(fitting) == 1 and not _may_be_shortened(line, fitting[0].end()):
            mark = fitting[0]
            rows.append((line[: mark.start()], int(mark[1]), line[mark.end() :]))
    return rows


def _may_be_shortened(line: str, start: int) -> bool:
    """Return whether a host may have changed the text of a context line, which begins at `start`.

    Hosts take everything before the first colon for a path. To make it relative, they also shorten
    the text up to there: `// note: x` becomes `/ note: x`.
    """
    head, colon, _ = line[start:].partition(":")
    return bool(colon) and "/" in head and not is_absolute_path(line)


def is_absolute_path(path: str) -> bool:
    """Return whether a path names the same file from every folder."""
    return path.startswith(("/", "\\\\")) or path[1:2] == ":"


# --- shells ---

_TRUNCATION_MARK = re.compile(
    r"(?:…|\.\.\.)\s?\[?\s?(?:omitted )?\d+(?: of \d+)? (?:\w+ )?(?:truncated|omitted)"
    r"|…\d+ \w+ truncated…"
    r"|^\[?\.\.\. ?(?:\[|omitted|output truncated)|<persisted-output>|^Output too (?:large|long)"
    r"|^<bash_metadata>|^<shell_metadata>|\[CONTENT TRUNCATED\]",
    re.MULTILINE,
)
_TOTAL_LINES_HEADER = re.compile(r"\ATotal output lines: \d+\n\n?")
_EXIT_CODE_HEADER = re.compile(r"(?:Error: )?Exit code (\d{1,5})\n")


def parse_plain_output(call: ToolCall, code: int | None = None) -> ShellOutput:
    """Return an output that has at most a line with the exit code before it.

    `code` is the exit code that is stated elsewhere.
    """
    failed = _EXIT_CODE_HEADER.match(call.output)
    if failed:
        return ShellOutput(call.output[failed.end() :], code=int(failed[1]))
    return ShellOutput(drop_total_lines_header(call.output), code=code)


def drop_total_lines_header(text: str) -> str:
    """Remove the line before an output that counts its lines, if there is one."""
    return _TOTAL_LINES_HEADER.sub("", text)


def build_shell_run(agent: Agent, call: ToolCall) -> RunShell | None:
    """Build the action of a shell call, or None if the command is unknown."""
    script, folder = extract_command(call.input)
    if script is None:
        return None
    is_powershell = call.name in agent.shell.powershell_tools
    return RunShell("", script, folder, is_powershell, parse_shell_result(agent, call))


def parse_shell_result(agent: Agent, call: ToolCall) -> ShellResult:
    """Parse the result of a shell call: its exit code and its output."""
    output = agent.shell_output(call)
    code, text = output.code, output.text
    reported_code = call.native.get("exit_code")
    if code is None and isinstance(reported_code, int):
        code = reported_code
    cut = _TRUNCATION_MARK.search(text)
    if cut:
        text = text[: cut.start()].rpartition("\n")[0]
    elif not output.ended:
        text = text.rpartition("\n")[0]  # The last line may go on.
    return ShellResult(
        code,
        done=call.state == CALL_DONE and code in (0, None) and output.ended,
        text=text,
        errors=output.errors,
        cut=cut is not None or not output.ended,
        stripped=output.stripped,
        trimmed=output.trimmed,
    )

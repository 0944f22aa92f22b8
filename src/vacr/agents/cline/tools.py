r"""Cline's tools and Roo Code's, and the files that their results show.

The SDK reports an edit as a numbered diff without context. The extension shows the whole file after
each edit, with the changes that the editor made on saving:

    >>> from vacr.agents.cline.tools import parse_final_file
    >>> result = '<final_file_content path="a.py">\nx = 1\n\n</final_file_content>\n'
    >>> parse_final_file(result)
    'x = 1\n'

The text before the edit follows from the text after it, where each new text occurs once:

    >>> from vacr.agents.cline.tools import undo_edits
    >>> from vacr.edits import Edit
    >>> undo_edits("x = 2\ny = 1\n", [Edit("x = 1", "x = 2")])
    'x = 1\ny = 1\n'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vacr.agents import file_tools
from vacr.agents.file_tools import RunShell, ShellOutput, ShellResult
from vacr.agents.labels import DENIED
from vacr.agents.tool_calls import (
    CALL_DONE,
    CALL_PENDING,
    CONTENT_ARGUMENTS,
    PATH_ARGUMENTS,
    ToolCall,
    dict_or_empty,
    get_text_argument,
)
from vacr.edits import (
    Edit,
    FileAction,
    FileWrite,
    Hunk,
    ObservedFile,
    ObservedLines,
    Replacement,
    UnplacedEdit,
    parse_numbered_lines,
)

if TYPE_CHECKING:
    from vacr.agents.agent import Agent

_SDK_TOOLS = frozenset(("editor", "read_files", "run_commands"))
_REPLACING_TOOLS = frozenset(("replace_in_file", "apply_diff"))


def derive_file_actions(agent: Agent, call: ToolCall) -> Iterator[FileAction]:
    """Yield the changes and observations of files by a call, and its commands."""
    if call.name == "run_commands":
        yield from _derive_command_runs(call)
    elif call.name in _SDK_TOOLS:
        if call.state == CALL_DONE:
            derive = _derive_editor_actions if call.name == "editor" else _derive_reads
            yield from derive(call)
    elif call.state == CALL_DONE and call.name in _REPLACING_TOOLS:
        yield from _derive_replacement(call)
    elif call.state == CALL_DONE and call.name == "write_to_file":
        yield from _derive_write(call)
    elif call.state == CALL_DONE and call.name == "read_file":
        yield from _derive_shown_file(call)
    else:
        yield from file_tools.derive_file_actions(agent, call)


# --- reports of the SDK ---


def parse_reports(output: Any) -> list[dict[str, Any]]:
    """Return the reports in a result of the SDK, one for each operation; empty without a report."""
    if isinstance(output, str) and output.startswith(("{", "[")):
        try:
            output = json.loads(output)
        except ValueError:
            return []
    reports = output if isinstance(output, list) else [output]
    return [
        report
        for report in reports
        if isinstance(report, dict) and isinstance(report.get("success"), bool)
    ]


_CREATED_MESSAGE = "File created successfully at: "
_INSERTED_MESSAGE = re.compile(r"Inserted content at line (\d{1,7}) in ")
_DIFF_LINE = re.compile(r"([-+])(\d{1,7}): (.*)", re.DOTALL)


def _derive_editor_actions(call: ToolCall) -> Iterator[FileAction]:
    """Yield the change that the editor of the SDK made."""
    arguments = dict_or_empty(call.input)
    path, new = get_text_argument(arguments, PATH_ARGUMENTS), arguments.get("new_text")
    reports = parse_reports(call.native.get("output"))
    if path is None or not isinstance(new, str) or not reports:
        return
    message = reports[0].get("result")
    message = message if isinstance(message, str) else ""
    old = arguments.get("old_text")
    if message.startswith(_CREATED_MESSAGE):
        yield FileWrite(path, new, created=True)
    elif inserted := _INSERTED_MESSAGE.match(message):
        lines = [f"+{line}\n" for line in new.replace("\r\n", "\n").split("\n")]
        yield Replacement(path, (), [Hunk(int(inserted[1]), int(inserted[1]), lines)])
    elif isinstance(old, str) and old:
        yield Replacement(path, [Edit(old, new)], parse_numbered_diff(message))
    else:
        yield UnplacedEdit(path)


def parse_numbered_diff(message: str) -> list[Hunk]:
    """Return the hunk of a numbered diff: removed lines, then added ones, from the same number on.

    Return an empty list for a diff that is cut, or that pairs the lines by their position.
    """
    _, fence, diff = message.partition("\n```diff\n")
    if not fence or not diff.endswith("\n```"):
        return []
    marks, numbers, lines = "", [], []
    for line in diff.removesuffix("\n```").split("\n"):
        match = _DIFF_LINE.fullmatch(line)
        if match is None:
            return []
        marks += match[1]
        numbers.append(int(match[2]))
        lines.append(f"{match[1]}{match[3]}\n")
    removed = marks.count("-")
    if not numbers or "+-" in marks:
        return []
    first = numbers[0]
    expected = [*range(first, first + removed), *range(first, first + len(marks) - removed)]
    return [Hunk(first, first, lines)] if numbers == expected else []


_LISTED_LINE = re.compile(r" *(\d{1,7}) \| ?")
_CUT_LINE_END = " [line truncated]\n"


def _derive_reads(call: ToolCall) -> Iterator[FileAction]:
    """Yield the lines of the files that a read of the SDK shows."""
    reports = parse_reports(call.native.get("output"))
    paths = _list_read_paths(call.input)
    if len(paths) != len(reports):
        return
    for path, report in zip(paths, reports, strict=True):
        text = report.get("result")
        if path is not None and report["success"] and isinstance(text, str):
            yield from _observe_listing(path, text)


def _observe_listing(path: str, text: str) -> Iterator[FileAction]:
    """Yield the lines of a listing, without lines that are cut."""
    for first, lines in parse_numbered_lines(text.split("\n"), _LISTED_LINE):
        start = 0
        for number in [*(n for n, line in enumerate(lines) if _is_cut(line)), len(lines)]:
            if number > start:
                yield ObservedLines(path, first + start, lines[start:number])
            start = number + 1


def _is_cut(line: str) -> bool:
    """Return whether a line of a listing is cut."""
    return line.endswith(_CUT_LINE_END)


def _list_read_paths(arguments: Any) -> list[str | None]:
    """Return the path of each file that a read of the SDK asks for, in order."""
    if isinstance(arguments, dict):
        for name in ("files", "file_paths", "paths"):
            if name in arguments:
                arguments = arguments[name]
                break
    items = arguments if isinstance(arguments, list) else [arguments]
    return [
        item if isinstance(item, str) else get_text_argument(item, PATH_ARGUMENTS) for item in items
    ]


_EXIT_MESSAGE = re.compile(r"\[Command exited with code (-?\d{1,10})\]\n?")
_STANDARD_ERROR_MARK = "\n[stderr]\n"
_CUT_OUTPUT_MARK = "[... output truncated:"
STILL_RUNNING_START = "[Command is still running. Output will continue in "
"""The beginning of the output of a command that the host left running."""


def _derive_command_runs(call: ToolCall) -> Iterator[FileAction]:
    """Yield a run for each command of a call of the SDK, with its result."""
    scripts = list_commands(call.input)
    reports = parse_reports(call.native.get("output"))
    if call.state == CALL_PENDING or call.native.get("status") == DENIED:
        return
    are_paired = len(scripts) == len(reports)
    for number, script in enumerate(scripts):
        if script is None:
            continue
        report = reports[number] if are_paired else {}
        yield RunShell("", script, None, is_powershell=False, result=_build_result(report))


def list_commands(arguments: Any) -> list[str | None]:
    """Return the commands of a call of the SDK; None for a command that is not text."""
    if isinstance(arguments, dict):
        arguments = arguments.get(
            "commands", arguments.get("cmd", arguments if "args" in arguments else None)
        ) or arguments.get("command")
    items = arguments if isinstance(arguments, list) else [arguments]
    return [_format_command(item) for item in items]


def _format_command(item: Any) -> str | None:
    """Return a command as a script, or None if it is neither a text nor words."""
    if isinstance(item, str):
        return item
    command = dict_or_empty(item).get("command")
    words = dict_or_empty(item).get("args", [])
    if not isinstance(command, str) or not isinstance(words, list):
        return None
    texts = [command, *(word for word in words if isinstance(word, str))]
    return " ".join("'" + text.replace("'", "'\\''") + "'" for text in texts)


def _build_result(report: dict[str, Any]) -> ShellResult:
    """Build the result of a command from its report."""
    text = report.get("result")
    text = text if isinstance(text, str) else ""
    code = 0 if report.get("success") is True else None
    failed = _EXIT_MESSAGE.match(text)
    if failed:
        code, text = int(failed[1]), text[failed.end() :]
    text, _, errors = text.partition(_STANDARD_ERROR_MARK)
    head, cut, _ = text.partition(_CUT_OUTPUT_MARK)
    if text.startswith(STILL_RUNNING_START):
        return ShellResult(None, done=False, text="", cut=True)
    if cut:
        text = head.rpartition("\n")[0]
    return ShellResult(code, done=code == 0, text=text, errors=errors, cut=bool(cut))


# --- results of the extension ---

_FINAL_FILE = re.compile(r'<final_file_content path="[^"\n]*">\n')
_FINAL_FILE_END = "\n</final_file_content>"
_USER_EDIT_STARTS = ("The user made the following updates to your content:",)


def parse_final_file(result: str) -> str | None:
    """Return the text of a file after an edit, as a result shows it, or None if it does not."""
    match = _FINAL_FILE.search(result)
    end = result.rfind(_FINAL_FILE_END)
    return result[match.end() : end] if match and end >= match.end() - 1 else None


def is_user_modified(call: ToolCall) -> bool:
    """Return whether the user changed a proposal before it was saved."""
    return call.output.startswith(_USER_EDIT_STARTS)


def _derive_write(call: ToolCall) -> Iterator[FileAction]:
    """Yield the write of a whole file, with the text that was saved where it is shown."""
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    text = get_text_argument(call.input, CONTENT_ARGUMENTS)
    if path is None or text is None:
        return
    final = parse_final_file(call.output)
    if final is None:
        # Cline and Roo Code trim the text, and end it with one line end.
        yield FileWrite(path, text.removeprefix("\n").rstrip() + "\n")
    else:
        yield FileWrite(path, final, recorded=True)


_SEARCH_MARK = re.compile(r"^(?:[-<]{5,9} SEARCH>?)[ \t]*$", re.MULTILINE)
_MIDDLE_MARK = re.compile(r"^={5,9}[ \t]*$", re.MULTILINE)
_REPLACE_MARK = re.compile(r"^(?:[+>]{5,9} REPLACE>?)[ \t]*$", re.MULTILINE)
_BLOCK_HEAD = re.compile(r"\A(?::(?:start|end)_line:.*\n)*(?:-{5,9}\n)?")


def parse_search_blocks(diff: str) -> list[Edit] | None:
    """Return the replacements of a diff of SEARCH/REPLACE blocks, or None if a block is damaged."""
    edits: list[Edit] = []
    position = 0
    while search := _SEARCH_MARK.search(diff, position):
        middle = _MIDDLE_MARK.search(diff, search.end())
        replace = _REPLACE_MARK.search(diff, middle.end()) if middle else None
        if middle is None or replace is None:
            return None
        old = diff[search.end() : middle.start()].removeprefix("\n")
        new = diff[middle.end() : replace.start()].removeprefix("\n")
        edits.append(Edit(_BLOCK_HEAD.sub("", old, count=1), new))
        position = replace.end()
    return edits


def undo_edits(text: str, edits: Sequence[Edit]) -> str | None:
    """Return the text before edits, or None if a new text is empty or does not occur just once."""
    for edit in reversed(edits):
        if not edit.new.strip() or text.count(edit.new) != 1:
            return None
        text = text.replace(edit.new, edit.old)
    return text


def _derive_replacement(call: ToolCall) -> Iterator[FileAction]:
    """Yield the replacements in a file, with the whole text before and after where it is known."""
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    diff = get_text_argument(call.input, ("diff",))
    if path is None:
        return
    edits = parse_search_blocks(diff) if diff is not None else None
    final = parse_final_file(call.output)
    if not edits:
        yield UnplacedEdit(path)
    elif final is None:
        yield Replacement(path, edits)
    else:
        if "\r\n" in final:
            ended = _end_like_windows
            edits = [Edit(ended(edit.old), ended(edit.new)) for edit in edits]
        before = None if is_user_modified(call) else undo_edits(final, edits)
        if before is not None:
            yield ObservedFile(path, before)
            yield FileWrite(path, final, recorded=True)
        else:
            yield Replacement(path, edits)
            yield ObservedFile(path, final)


def _end_like_windows(text: str) -> str:
    """Return a text with CR LF at the ends of its lines."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


_TOTAL_LINES = re.compile(r"\n\n\(File has \d{1,7} lines total\.\)\s*\Z")
_FIRST_LISTED_LINE = re.compile(
    r"\s*(?:<files?>\s*)?(?:<path>[^\n]*\s*)?(?:<content[^\n]*\s*)?1 \| "
)
_CUT_FILE_MARKS = ("[FILE TRUNCATED", "[Truncated", "[... truncated", "[NOTE] ", "<error>")


def _derive_shown_file(call: ToolCall) -> Iterator[FileAction]:
    """Yield the content that a read of the extension shows: numbered, or before 2026 whole."""
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if path is None:
        return
    text = call.output
    if _FIRST_LISTED_LINE.match(text) or _LISTED_LINE.match(text):
        yield from _observe_listing(path, _TOTAL_LINES.sub("", text))
    elif not text.startswith("<") and not any(mark in text for mark in _CUT_FILE_MARKS):
        yield ObservedFile(path, text)


_COMMAND_RESULTS = re.compile(
    r"(?:Command executed successfully \(exit code (\d{1,5})\)\."
    r"|Command failed with exit code (-?\d{1,10})\."
    r"|Command executed\."
    r"|Command executed in terminal[^\n]*?Exit code: (-?\d{1,10})[^\n]*)"
    r"(?:\n(?:Output:\n?)?|\Z)"
)
_RUNNING_STARTS = (
    "Command is still running in the user's terminal.",
    "Command timed out after ",
    "Command is still running in terminal",
)


def parse_command_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command of the extension, without the host's words around it."""
    match = _COMMAND_RESULTS.match(call.output)
    if match is None:
        return ShellOutput(call.output, ended=not call.output.startswith(_RUNNING_STARTS))
    code = next((group for group in match.groups() if group is not None), None)
    return ShellOutput(
        call.output[match.end() :],
        code=None if code is None else int(code),
        stripped=True,
        trimmed=True,
    )

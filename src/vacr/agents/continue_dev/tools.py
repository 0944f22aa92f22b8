r"""The results of Continue's tools: diffs, files and commands.

The command line shows a unified diff of each change. From the diff of a write and the written text
follows the text before it:

    >>> from vacr.agents.continue_dev.tools import undo_hunks
    >>> from vacr.edits import parse_diff_hunks
    >>> undo_hunks("one\ntwo\n", parse_diff_hunks("@@ -1,1 +1,2 @@\n one\n+two\n"))
    'one\n'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from vacr.agents.file_tools import FileReport, ShellOutput, parse_plain_output
from vacr.agents.tool_calls import CONTENT_ARGUMENTS, ToolCall, get_text_argument
from vacr.edits import FileAction, Hunk, ObservedFile, parse_diff_hunks, split_keeping_ends

_DIFF_MARK = "\nDiff:\n"
_READ_START = re.compile(r"Content of [^\n]+:\n")
_CUT_FILE_MARKS = ("characters truncated", "[truncated")
_ERROR_START = re.compile(r"(?:Error executing tool \w+: )?Error \(exit code -?\d{1,10}\): ")


def parse_result_hunks(call: ToolCall) -> list[Hunk]:
    """Return the hunks of the diff in a result; empty without a diff."""
    _, mark, diff = call.output.partition(_DIFF_MARK)
    return parse_diff_hunks(diff) if mark else []


def build_file_report(call: ToolCall) -> FileReport:
    """Return the report about the file of a write: the text before it, or that it is new."""
    created = True if call.output.startswith("Successfully created") else None
    hunks = parse_result_hunks(call)
    text = get_text_argument(call.input, CONTENT_ARGUMENTS)
    before = undo_hunks(text, hunks) if text is not None and hunks else None
    if before == "":
        return FileReport(created=True)
    return FileReport(before=before, created=created)


def undo_hunks(text: str, hunks: Sequence[Hunk]) -> str | None:
    """Return the text before a change with these hunks, or None if they do not fit the text."""
    lines = split_keeping_ends(text)
    for hunk in reversed(hunks):
        after = hunk.after()
        start = max(hunk.new_first, 1) - 1
        shown = [line.removesuffix("\n") for line in lines[start : start + len(after)]]
        if shown != [line.removesuffix("\n") for line in after]:
            return None
        lines[start : start + len(after)] = hunk.before()
    return "".join(lines)


def parse_shown_file(call: ToolCall, path: str) -> Iterable[FileAction]:
    """Return the file that a read showed; nothing where it was cut, or where it is not shown."""
    text = _READ_START.sub("", call.output, count=1)
    if any(mark in text for mark in _CUT_FILE_MARKS) or (
        call.name == "Read" and text == call.output
    ):
        return []
    return [ObservedFile(path, text)]


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, without the words before a failure."""
    plain = parse_plain_output(call)
    failed = _ERROR_START.match(call.output)
    return plain if failed is None else replace(plain, text=call.output[failed.end() :])

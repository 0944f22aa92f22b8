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
_CUT_FILE_NOTE = re.compile(r"\n\n\(\d{1,12} characters(?: of \d{1,12})? truncated\)\s*\Z")
_CUT_OUTPUT_NOTE = re.compile(r"\(previous [^\n]{1,80}(?:truncated|removed)\)\n")
STANDARD_ERROR_MARK = "\nStderr: "
_TIMEOUT_NOTE = re.compile(r"\n\n\[Command timed out after [\d.]{1,12} seconds of no output\]\s*\Z")
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
    is_unmarked = call.name == "Read" and text == call.output
    if is_unmarked or _CUT_FILE_NOTE.search(text):
        return []
    return [ObservedFile(path, text)]


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, without a leading `Error (exit code N): ` of the host.

    It is empty where its beginning was cut, because its lines have no place then.
    """
    plain = parse_plain_output(call)
    if _CUT_OUTPUT_NOTE.match(call.output):
        return replace(plain, text="", ended=False)
    failed = _ERROR_START.match(call.output)
    text = call.output[failed.end() :] if failed else plain.text
    text, _, errors = text.partition(STANDARD_ERROR_MARK)
    return replace(plain, text=text, errors=errors, ended=not has_timed_out(call.output))


def has_timed_out(text: str) -> bool:
    """Return whether the output of a command ends with the note that it was stopped."""
    return _TIMEOUT_NOTE.search(text[-300:]) is not None

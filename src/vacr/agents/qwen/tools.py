r"""Qwen Code's tools, and the files that their results show.

A change records the file before and after it. A chat keeps only the beginning and the end of a long
file, and says so; then that text proves nothing:

    >>> from vacr.agents.qwen.tools import build_file_report
    >>> from vacr.agents.tool_calls import ToolCall
    >>> display = {"originalContent": "a\n[... truncated …]\nz", "originalContentTruncated": True}
    >>> call = ToolCall("edit", {}, "e1", "c1", "model", "/work")
    >>> call.native = {"resultDisplay": {**display, "newContent": "short\n"}}
    >>> report = build_file_report(call)
    >>> report.before, report.after
    (None, 'short\n')
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.file_tools import FileReport, build_observation
from vacr.agents.gemini.tools import parse_shown_file as parse_gemini_file
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import (
    MIN_CUT_LINE_LENGTH,
    FileAction,
    Hunk,
    ObservedFile,
    ObservedLines,
    gather_uncut_lines,
    parse_diff_hunks,
)

_CREATED_START = "Successfully created and wrote to new file: "
_WINDOW = re.compile(r"Showing lines (\d{1,9})-(\d{1,9}) of (\d{1,9}) total lines\.\n\n---\n\n")
_OTHER_TEXTS = re.compile(
    r"\[File .{1,4000} unchanged since last read in this session |Tool execution succeeded\.\Z"
    r"|Cannot (?:display content of|read file: )|Could not read file because |File size exceeds "
    r"|Showing lines "
)
"""Texts that the host shows in place of a file."""
_CUT_LINE_END = "... [truncated]"


def build_file_report(call: ToolCall) -> FileReport:
    """Return the report in `resultDisplay` about the file of a call, without shortened texts."""
    display = dict_or_empty(call.native.get("resultDisplay"))
    before = _get_whole_text(display, "originalContent")
    is_new = display.get("isNewFile")
    if type(is_new) is not bool:
        is_new = call.output.startswith(_CREATED_START) or None
    return FileReport(before, _get_whole_text(display, "newContent"), is_new)


def _get_whole_text(display: dict[str, Any], name: str) -> str | None:
    """Return a text of the report, or None if the chat has only a part of it."""
    text = display.get(name)
    is_cut = display.get(f"{name}Truncated") is True
    return text if type(text) is str and not is_cut else None


def parse_recorded_hunks(call: ToolCall) -> list[Hunk]:
    """Return the hunks of the diff that Qwen Code shows; a long diff is left out of the chat."""
    display = dict_or_empty(call.native.get("resultDisplay"))
    diff = _get_whole_text(display, "fileDiff")
    return [] if diff is None else parse_diff_hunks(diff)


def parse_shown_file(call: ToolCall, path: str) -> list[FileAction] | None:
    """Return the part of a file that a read showed.

    A result in another form is parsed like one of Gemini CLI: then return None if it shows numbered
    lines. The list is empty if the result shows no part of a file, or its line counts disagree.
    """
    output = call.native.get("output")
    if not isinstance(output, dict) or not isinstance(output.get("output"), str):
        return parse_gemini_file(call, path)
    text = output["output"]
    window = _WINDOW.match(text)
    if window is None:
        if _OTHER_TEXTS.match(text) or path.lower().endswith(".pdf"):
            return []
        return _observe(path, text, 1, text.count("\n") + 1)
    text = text[window.end() :]
    first, last, total = int(window[1]), int(window[2]), int(window[3])
    if last - first != text.count("\n"):
        return []
    return _observe(path, text, first, total)


def _observe(path: str, text: str, first: int, total: int) -> list[FileAction]:
    """Return the observation of lines from `first` on, without lines that may be cut.

    `total` counts the file's lines, with the empty one after the last line end.
    """
    lines = text.split("\n")
    if any(len(line) >= MIN_CUT_LINE_LENGTH or line.endswith(_CUT_LINE_END) for line in lines):
        # A cut line is shorter than any limit.
        whole = ["x" * MIN_CUT_LINE_LENGTH if _is_cut(line) else line for line in lines]
        runs = gather_uncut_lines(first, whole)
        return [ObservedLines(path, start, seen, unended=True) for start, seen in runs]
    if first == 1 and total == len(lines):
        return [ObservedFile(path, text)]
    action = build_observation(path, text, first, total)
    return [] if action is None else [action]


def _is_cut(line: str) -> bool:
    """Return whether the host cut a line."""
    return line.endswith(_CUT_LINE_END)

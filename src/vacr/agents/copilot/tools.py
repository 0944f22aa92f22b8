r"""Copilot CLI's tools, and the files that their results show.

The result of an edit has a diff with three lines of context. Copilot splits the text of a file at
its line ends before it compares, so the diff of a file that ends in a line end has an empty line at
its end. That line is not in the file, and is left out here.

    >>> from vacr.agents.copilot.tools import parse_edit_diff
    >>> head = "diff --git a/w/a.py b/w/a.py\n--- a/w/a.py\n+++ b/w/a.py\n"
    >>> parse_edit_diff(head + "@@ -1,3 +1,3 @@\n-a\n+b\n c\n \n")[0].lines
    ['-a\n', '+b\n', ' c\n']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vacr.agents.agent import CallReports
from vacr.agents.copilot.outcomes import get_exit_code, parse_shell_end
from vacr.agents.file_tools import FileReport, ShellOutput, parse_search_results
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import (
    FileAction,
    Hunk,
    ObservedFile,
    ObservedLines,
    drop_last_line_end,
    gather_uncut_lines,
    parse_diff_hunks,
    parse_numbered_lines,
)

_CONTEXT_LINES = 3
_NEW_FILE_MARK = "\ncreate file mode "
_NUMBERED_LINE = re.compile(r"(\d{1,7})\. ?")
_FIRST_NUMBER = re.compile(r"\d{1,7}\. ?")
_TRUNCATION_NOTE = re.compile(r"\n?\n\[Output truncated\. Use view_range=\[\d+, [^\n]*\]\s*\Z")
_REFUSAL = "File too large to read at once"


# --- changes ---


def get_detail(call: ToolCall) -> str:
    """Return the detailed result of a call, a diff for tools that concern a file; else empty."""
    result = dict_or_empty(dict_or_empty(call.native.get("data")).get("result"))
    detail = result.get("detailedContent")
    return detail if type(detail) is str else ""


def is_diff(detail: str) -> bool:
    """Return whether a detailed result is a diff by Copilot."""
    return detail.lstrip("\n").startswith("diff --git a/")


def build_file_report(call: ToolCall) -> FileReport:
    """Return what Copilot states about the file of a call.

    A request for permission has the text of the file before and after the change; the diff of a new
    file says so.
    """
    request = dict_or_empty(call.native.get("permissionRequest"))
    detail = get_detail(call)
    created = True if is_diff(detail) and _NEW_FILE_MARK in detail[:_HEAD_LENGTH] else None
    edits = request.get("fileEdits")
    edit = dict_or_empty(edits[0]) if type(edits) is list and len(edits) == 1 else {}
    before = dict_or_empty(edit.get("before")).get("content")
    after = dict_or_empty(edit.get("after")).get("content", request.get("newFileContents"))
    return FileReport(
        before=before if type(before) is str else None,
        after=after if type(after) is str else None,
        created=created,
    )


_HEAD_LENGTH = 9000
"""The header of a diff, with two paths, is shorter."""


def parse_edit_diff(detail: str) -> list[Hunk]:
    """Return the hunks of the diff in the result of an edit."""
    hunks = parse_diff_hunks(detail) if is_diff(detail) else []
    if hunks:
        hunks[-1] = _drop_split_remainder(hunks[-1])
    return hunks


def _drop_split_remainder(hunk: Hunk) -> Hunk:
    """Return the last hunk without the empty line that splitting the file's text left.

    A hunk with fewer than three lines of context after its change reaches the end of the file. An
    empty third line may be either, and a hunk may do without it. Where the text has no such empty
    line, the last line has no line end.
    """
    lines = list(hunk.lines)
    trailing = 0
    while trailing < len(lines) and lines[-1 - trailing].startswith(" "):
        trailing += 1
    if trailing >= _CONTEXT_LINES:
        if lines[-1] == " \n":
            lines.pop()
        return Hunk(hunk.old_first, hunk.new_first, lines)
    if trailing:
        if lines[-1] == " \n":
            lines.pop()
        else:
            drop_last_line_end(lines)
        return Hunk(hunk.old_first, hunk.new_first, lines)
    for mark in "-+":
        last = max((i for i, line in enumerate(lines) if line.startswith((mark, " "))), default=-1)
        if last < 0 or lines[last].startswith(" "):
            continue
        if lines[last] == f"{mark}\n":
            del lines[last]
        else:
            lines[last] = lines[last].removesuffix("\n")
    return Hunk(hunk.old_first, hunk.new_first, lines)


# --- what a call shows ---


def parse_shown_file(call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the lines of a file that `view` showed; nothing for a folder or an image."""
    detail = get_detail(call)
    if not is_diff(detail) or _NEW_FILE_MARK in detail[:_HEAD_LENGTH]:
        return
    text = call.output
    if text.startswith(_REFUSAL):
        return
    note = _TRUNCATION_NOTE.search(text)
    if note:
        text = text[: note.start()]
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    view_range = dict_or_empty(call.input).get("view_range")
    numbers = _parse_numbers(lines)
    if numbers is not None:
        yield from _observe_numbered(path, lines)
    elif view_range is None and note is None:
        yield ObservedFile(path, "\n".join(lines))
    else:
        first = view_range[0] if type(view_range) is list and view_range else 1
        if type(first) is int and first > 0:
            yield from _observe_range(path, first, lines)


def _parse_numbers(lines: Sequence[str]) -> int | None:
    """Return the first number if all lines carry consecutive ones, as older versions write them.

    Return None otherwise.
    """
    first: int | None = None
    for position, line in enumerate(lines):
        match = _NUMBERED_LINE.match(line)
        if match is None:
            return None
        if first is None:
            first = int(match[1])
        elif int(match[1]) != first + position:
            return None
    return first


def _observe_numbered(path: str, lines: Sequence[str]) -> Iterator[FileAction]:
    """Yield the numbered lines of an older version; an empty last one may not be in the file."""
    shown = list(lines)
    if _FIRST_NUMBER.fullmatch(shown[-1]):
        shown.pop()
    for first, seen in parse_numbered_lines(shown, re.compile(r"(\d{1,7})\. ")):
        yield ObservedLines(path, first, seen)


def _observe_range(path: str, first: int, lines: Sequence[str]) -> Iterator[FileAction]:
    """Yield the lines of a range without numbers; an empty last one may not be in the file."""
    shown = list(lines)
    if not shown[-1]:
        shown.pop()
    for number, seen in gather_uncut_lines(first, shown):
        yield ObservedLines(path, number, seen)


def list_search_results(call: ToolCall) -> Iterable[FileAction]:
    """Return the lines that a search shows; none if it was not asked for their numbers."""
    arguments = dict_or_empty(call.input)
    if arguments.get("output_mode") != "content" or arguments.get("-n") is not True:
        return ()
    call.output = call.output.replace("\r\n", "\n")
    return parse_search_results(call)


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the host's last line, and its exit code."""
    code = get_exit_code(dict_or_empty(call.native.get("data")))
    end = parse_shell_end(call.output)
    if end is None:
        return ShellOutput(call.output, code=code)
    if code is None:
        code = end.exit_code
    return ShellOutput(end.text, code=code, ended=not end.is_running)


# --- requests for permission ---


class PermissionReports(CallReports):
    """The requests for permission, and the refusals, of a session."""

    def __init__(self, entries: Sequence[Any]) -> None:
        """Collect the requests and refusals by the id of their call."""
        self._reports: dict[str, dict[str, Any]] = {}
        for entry in entries:
            if entry.get("event-type") == "permission.requested":
                request = dict_or_empty(dict_or_empty(entry.get("data")).get("permissionRequest"))
                call_id = request.get("toolCallId")
                if type(call_id) is str:
                    self._report(call_id)["permissionRequest"] = request
            elif entry.get("type") == "tool-call":
                refusal = dict_or_empty(entry.get("vacr")).get("permission")
                if type(entry.get("call-id")) is str and refusal:
                    self._report(entry["call-id"])["permission"] = refusal

    def _report(self, call_id: str) -> dict[str, Any]:
        """Return the report about a call, to add to it."""
        return self._reports.setdefault(call_id, {})

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the request for permission of a call, and its refusal; empty without either."""
        del result
        return self._reports.get(call_id, {})

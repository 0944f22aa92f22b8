"""Hermes's tools, and the evidence of their effects on files.

A read shows numbered lines, `     1|text`. Hermes masks likely secrets in the texts that it shows,
as `***` or `abc...xyz`, so such lines prove nothing. It also numbers the empty text after the
last line end, as if it were a line.

>>> from vacr.agents.hermes.tools import parse_shown_file
>>> from vacr.agents.tool_calls import ToolCall
>>> shown = '{"content": "     1|a = 1\\\\n     2|KEY=***\\\\n     3|b = 2\\\\n     4|"}'
>>> call = ToolCall("read_file", {"path": "a.py"}, "e1", "c1", "m", "/w", output=shown)
>>> [(lines.first, lines.lines) for lines in parse_shown_file(call, "a.py")]
[(1, ['a = 1\\n']), (3, ['b = 2\\n'])]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vacr.agents.file_tools import SearchRow, ShellOutput, observe_search_rows
from vacr.agents.hermes.labels import parse_result
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import FileAction, Hunk, ObservedLines, parse_diff_hunks, parse_numbered_lines

PATCH_MODE = "patch"
MAX_FOUND_LINE_LENGTH = 500
"""A search cuts longer lines."""

_LINE_NUMBER = re.compile(r" *(\d{1,9})\|")
_MASKED = re.compile(r"\*\*\*|\S\.\.\.\S|\[REDACTED|\[OUTPUT TRUNCATED")
"""What Hermes shows instead of a secret, or of the middle of a long output."""


def is_patch_call(call: ToolCall) -> bool:
    """Return whether a call of `patch` applies a patch, instead of replacing text."""
    return dict_or_empty(call.input).get("mode") == PATCH_MODE


def has_changed_file(call: ToolCall, output: Any) -> bool:
    """Return whether the result of a call states that it changed its file."""
    stated = parse_result(output)
    if call.name == "write_file":
        return "bytes_written" in stated and not stated.get("error")
    return stated.get("success") is True


def parse_recorded_hunks(call: ToolCall) -> list[Hunk]:
    """Return the hunks of the diff in a result, or an empty list."""
    diff = parse_result(call.output).get("diff")
    return parse_diff_hunks(diff) if type(diff) is str and not _MASKED.search(diff) else []


def parse_shown_file(call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the lines that a read showed, without cut and masked ones."""
    content = parse_result(call.output).get("content")
    if type(content) is not str:
        return
    lines = content.split("\n")
    if _LINE_NUMBER.fullmatch(lines[-1]):
        lines.pop()
    shown = [line for line in lines if not _MASKED.search(line)]
    for first, run in parse_numbered_lines(shown, _LINE_NUMBER):
        yield ObservedLines(path, first, run)


def parse_search_results(call: ToolCall) -> Iterator[FileAction]:
    """Yield the lines that a search shows, without cut and masked ones."""
    matches = parse_result(call.output).get("matches")
    rows = map(_make_row, matches if type(matches) is list else ())
    return observe_search_rows([row for row in rows if row is not None])


def _make_row(match: Any) -> SearchRow | None:
    """Return the path, the number and the text of a found line, or None if it proves nothing."""
    members = dict_or_empty(match)
    path, line, text = (members.get(name) for name in ("path", "line", "content"))
    if type(path) is not str or type(line) is not int or type(text) is not str:
        return None
    if len(text) >= MAX_FOUND_LINE_LENGTH or _MASKED.search(text):
        return None
    return path, line, text


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command and its exit code; the output of a masked one is empty."""
    stated = parse_result(call.output)
    output, code = stated.get("output"), stated.get("exit_code")
    text = output if type(output) is str and not _MASKED.search(output) else ""
    return ShellOutput(
        text,
        code=code if type(code) is int and code >= 0 else None,
        ended="pid" not in stated,
        stripped=True,
        trimmed=True,
    )

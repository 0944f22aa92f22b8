r"""Vibe's tools, and the evidence of their effects on files.

A result has one line `member: value` for each member, and values may have several lines. `read`
shows numbered lines. The older `read_file` shows the text itself, and `search_replace` has its
edits as blocks in one argument.

>>> from vacr.agents.tool_calls import ToolCall
>>> from vacr.agents.vibe.tools import parse_shown_file
>>> shown = "path: /w/a.py\ncontent: a = 1\nb = 2\n\nlines_read: 2\nwas_truncated: False"
>>> call = ToolCall("read_file", {"path": "a.py"}, "e1", "c1", "m", "/w", output=shown)
>>> [action] = parse_shown_file(call, "a.py")
>>> action.text
'a = 1\nb = 2\n'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacr.agents.file_tools import ShellOutput, parse_search_results
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import (
    FileAction,
    ObservedFile,
    ObservedLines,
    parse_numbered_lines,
    split_keeping_ends,
)

_BLOCK = re.compile(r"<{5,} SEARCH\r?\n(.*?)\r?\n?={5,}\r?\n(.*?)\r?\n?>{5,} REPLACE", re.DOTALL)
_APPLIED = re.compile(r"\Afile: [^\n]*\nblocks_applied: (\d+)\n")
_OLD_READ = re.compile(
    r"\Apath: [^\n]*\ncontent: (.*)\nlines_read: (\d+)\nwas_truncated: (True|False)\b", re.DOTALL
)
_NEW_READ = re.compile(
    r"\Afile_path: [^\n]*\ncontent: (.*)\nnum_lines: \d+\nstart_line: \d+\n", re.DOTALL
)
_LINE_NUMBER = re.compile(r" *(\d{1,9})→")
_MATCHES = re.compile(r"\Amatches: (.*)\nmatch_count: \d+\nwas_truncated: ", re.DOTALL)
_RUN = re.compile(
    r"\A(?:command: .*?\n)?stdout: (.*)\nstderr: (.*)\nreturncode: (-?\d{1,10})\Z", re.DOTALL
)
_FAILED_RUN = re.compile(
    r"\A<tool_error>bash failed: Command failed: [^\n]*\nReturn code: (-?\d{1,10})\b"
)


def parse_edits(call: ToolCall) -> list[dict[str, str]] | None:
    """Return the edits of `search_replace`, or None unless its result states that all applied."""
    content = dict_or_empty(call.input).get("content")
    blocks = _BLOCK.findall(content) if type(content) is str else []
    applied = _APPLIED.match(call.output)
    if not blocks or applied is None or int(applied[1]) != len(blocks):
        return None
    return [{"old_str": old, "new_str": new} for old, new in blocks]


def parse_shown_file(call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the lines that a read showed."""
    if numbered := _NEW_READ.match(call.output):
        for first, run in parse_numbered_lines(numbered[1].split("\n"), _LINE_NUMBER):
            yield ObservedLines(path, first, run)
        return
    shown = _OLD_READ.match(call.output)
    arguments: dict[str, Any] = dict_or_empty(call.input)
    offset = arguments.get("offset") or 0
    if shown is None or type(offset) is not int or offset < 0:
        return
    lines = split_keeping_ends(shown[1])
    if len(lines) != int(shown[2]):
        return
    is_whole = not offset and arguments.get("limit") is None and shown[3] == "False"
    if is_whole:
        yield ObservedFile(path, shown[1])
    elif lines and all(line.endswith("\n") for line in lines):
        yield ObservedLines(path, offset + 1, lines)


def parse_found_lines(call: ToolCall) -> Iterator[FileAction]:
    """Return the lines that a search shows."""
    found = _MATCHES.match(call.output)
    return parse_search_results(replace(call, output=found[1])) if found else iter(())


def get_structured_result(call: ToolCall) -> dict[str, Any]:
    """Return the members of a result in a journal; empty for other results."""
    return dict_or_empty(dict_or_empty(call.native.get("output")).get("structured_content"))


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, and its return code."""
    stated = get_structured_result(call)
    if type(stated.get("returncode")) is int and type(stated.get("stdout")) is str:
        errors = stated.get("stderr")
        return ShellOutput(
            "" if stated.get("was_truncated") else stated["stdout"],
            code=stated["returncode"],
            errors=errors if type(errors) is str else "",
        )
    if failed := _FAILED_RUN.match(call.output):
        return ShellOutput("", code=int(failed[1]), ended=False)
    run = _RUN.match(call.output)
    if run is None:
        return ShellOutput("", ended=False)
    return ShellOutput(run[1], code=int(run[3]), errors=run[2])

"""The tools of VS Code Copilot Chat, and the files that their results show.

>>> from vacr.agents.copilot_vscode.tools import parse_shown_text
>>> shown = parse_shown_text("/w/a.py", "one\\ntwo\\n", {"startLine": 1, "endLine": 50})
>>> [type(action).__name__ for action in shown]
['ObservedFile']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vacr.agents.copilot_vscode.outcomes import (
    REFUSALS,
    classify_text,
    get_exit_code,
    split_exit_code,
)
from vacr.agents.file_tools import ShellOutput
from vacr.agents.labels import SUCCESS
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import Edit, FileAction, ObservedFile, ObservedLines, Replacement, UnplacedEdit
from vacr.edits import gather_uncut_lines as gather

_FILE_HEADER = re.compile(
    r"\AFile: `[^`\n]*`\. Lines (\d{1,7}) to (\d{1,7}) \((\d{1,7}) lines total\): ?\n`{3,}[^\n]*\n"
)
_TRUNCATION = re.compile(r"\[File content truncated at line \d+", re.MULTILINE)
_SIMPLIFIED = re.compile(
    r"\ANote: The tool simplified the command to `[^\n]*`[^\n]*"
    r"This is the output of running that command instead:\n"
)


def is_edit_confirmed(call: ToolCall) -> bool:
    """Return whether the host states that an edit took place, or the thin log its success."""
    if dict_or_empty(call.native.get("data")).get("success") is True:
        return True
    return classify_text(call.name, call.output) == SUCCESS


def parse_replacements(call: ToolCall) -> Iterator[FileAction]:
    """Yield the replacements of a call that changes several places, by file."""
    items = dict_or_empty(call.input).get("replacements")
    edits: dict[str, list[Edit] | None] = {}
    for item in items if type(items) is list else ():
        path, old, new = (
            dict_or_empty(item).get(name) for name in ("filePath", "oldString", "newString")
        )
        if type(path) is not str:
            continue
        known = edits.setdefault(path, [])
        if type(old) is not str or type(new) is not str:
            edits[path] = None
        elif known is not None:
            known.append(Edit(old, new, every=False))
    for path, replaced in edits.items():
        yield UnplacedEdit(path) if replaced is None else Replacement(path, replaced)


def parse_shown_file(call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the part of a file that `read_file` showed."""
    if not call.output or call.output.startswith(("ERROR", *REFUSALS)):
        return iter(())
    return parse_shown_text(path, call.output, dict_or_empty(call.input))


def parse_shown_text(path: str, text: str, arguments: dict[str, Any]) -> Iterator[FileAction]:
    """Yield the lines of a file in a result: with a header, or the bare text of a range."""
    if _TRUNCATION.search(text):
        return
    header = _FILE_HEADER.match(text)
    if header:
        body, fence, _ = text[header.end() :].rpartition("\n```")
        if fence:
            for start, shown in gather(int(header[1]), _split(body)):
                yield ObservedLines(path, start, shown)
        return
    first, last = arguments.get("startLine"), arguments.get("endLine")
    if type(first) is not int or type(last) is not int or first < 1:
        return
    lines = _split(text)
    if first == 1 and len(lines) <= last:
        yield ObservedFile(path, "\n".join(lines))
        return
    if not lines[-1]:
        lines.pop()
    for start, shown in gather(first, lines):
        yield ObservedLines(path, start, shown)


def _split(text: str) -> list[str]:
    """Return the lines of a text, without their ends."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the host's texts, and its exit code."""
    text, code = split_exit_code(_SIMPLIFIED.sub("", call.output))
    stated = get_exit_code(call.native)
    # The host trims the output, so its ends prove nothing.
    return ShellOutput(text, code=code if stated is None else stated, stripped=True, trimmed=True)

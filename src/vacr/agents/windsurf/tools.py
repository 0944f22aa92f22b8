"""The steps of Windsurf: how they ended, and the files that they changed or showed.

>>> from vacr.agents.windsurf.tools import get_file_path
>>> get_file_path("file:///home/mira/my%20notes.md")
'/home/mira/my notes.md'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from vacr.agents.labels import (
    DENIED,
    SUCCEEDED,
    SUCCESS,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    classify_exit_code,
    parse_status_word,
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import Edit, FileAction, FileWrite, ObservedLines, Replacement, parse_numbered_lines

ACCEPTED = "ACKNOWLEDGEMENT_TYPE_ACCEPT"
_FILE_HEADER = re.compile(r'\A<file name="[^"\n]*" start_line="\d+" end_line="\d+"[^>\n]*>\n')
_NUMBERED_LINE = re.compile(r" *(\d{1,7})→")


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a step ended; a step that is done may still have been refused, or have failed."""
    entry = result.entry
    if entry.get("user_rejected") is True:
        return Outcome(DENIED)
    status = parse_status_word(entry.get("status"))
    code = entry.get("exit_code")
    name = "" if result.call is None else result.call.get("name")
    if name == "run_command":
        if type(code) is not int:
            return UNKNOWN_OUTCOME if status == SUCCESS else Outcome(status)
        return classify_exit_code(code)
    if name == "code_action" and status == SUCCESS:
        accepted = entry.get("acknowledgement_type")
        if accepted == ACCEPTED:
            return SUCCEEDED
        return Outcome(DENIED) if str(accepted).endswith("_REJECT") else UNKNOWN_OUTCOME
    return Outcome(status)


def get_file_path(uri: Any) -> str | None:
    """Return the path of a file URI, or a path as it is; None for any other value."""
    if type(uri) is not str or not uri:
        return None
    if not uri.startswith("file://"):
        return uri
    path = unquote(uri.removeprefix("file://"))
    return path[1:] if re.match(r"/[A-Za-z]:", path) else path


def parse_code_action(call: ToolCall) -> Iterator[FileAction]:
    """Yield the change of a file that the user accepted.

    Without the text before it, the new text is taken as the whole file.
    """
    arguments = dict_or_empty(call.input)
    path = get_file_path(arguments.get("path"))
    old, new = arguments.get("original_content"), arguments.get("new_content")
    if path is None or type(new) is not str:
        return
    if call.native.get("acknowledgement_type") != ACCEPTED:
        return
    if type(old) is str and old:
        yield Replacement(path, [Edit(old, new)])
    elif old in (None, ""):
        yield FileWrite(path, new, created=None, recorded=True)


def parse_view(call: ToolCall) -> Iterator[FileAction]:
    """Yield the numbered lines of a file that a step showed; text without numbers may be cut."""
    path = get_file_path(dict_or_empty(call.input).get("path"))
    header = _FILE_HEADER.match(call.output)
    if path is None or header is None:
        return
    lines = call.output[header.end() :].removesuffix("\n</file>").split("\n")
    if _NUMBERED_LINE.fullmatch(lines[-1]):
        lines.pop()  # An empty last line may stand for the end of the line before it.
    for first, seen in parse_numbered_lines(lines, _NUMBERED_LINE):
        yield ObservedLines(path, first, seen)

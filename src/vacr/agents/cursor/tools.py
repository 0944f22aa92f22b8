"""Cursor's tools, and the editor's reports about edits.

The editor records whether the user kept an edit, the chunks of a diff, and in newer versions ids of
the file's text before and after. The texts themselves are rows of the database; the record keeps
them after the conversation:

    >>> from vacr.agents.cursor.tools import StoredTexts
    >>> row = {"type": "system-event", "data": {"key": "composer.content.1", "value": "a = 1\\n"}}
    >>> texts = StoredTexts([row])
    >>> texts.about("call-1", {"output": {"afterContentId": "composer.content.1"}})
    {'contents': {'after': 'a = 1\\n'}}
"""

from __future__ import annotations

import hashlib
from typing import Any

from vacr.agents.agent import CallReports
from vacr.agents.file_tools import FileReport, build_observation
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import FileAction, Hunk

_CONTENT_KEY_PREFIX = "composer.content."
_EMPTY_CONTENT_KEY = _CONTENT_KEY_PREFIX + hashlib.sha256(b"").hexdigest()
_REFUSALS = ("reject", "rejected", "undo")
# Versions of the editor use these values for a person as the author of a diff.
_HUMAN_EDITORS = ("EDITOR_HUMAN", "HUMAN", 2)
# A line of a chunk begins with a mark and a blank, or with a mark alone.
_MARK_WIDTHS = (2, 1)


class StoredTexts(CallReports):
    """The texts of files that a session keeps, by their ids."""

    def __init__(self, entries: Any) -> None:
        """Collect the texts from the rows after the conversation."""
        self._texts = {_EMPTY_CONTENT_KEY: ""}
        for entry in entries if isinstance(entries, list | tuple) else ():
            if not isinstance(entry, dict) or entry.get("type") != "system-event":
                continue
            data = dict_or_empty(entry.get("data"))
            key, value = data.get("key"), data.get("value")
            if not isinstance(key, str) or not isinstance(value, str):
                continue
            if key.startswith(_CONTENT_KEY_PREFIX):
                self._texts[key] = value

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the text of the file before and after a call, as far as it is kept.

        They are members of `contents`. Return an empty dict if neither is kept.
        """
        del call_id
        contents: dict[str, str] = {}
        output = result.get("output")
        if not isinstance(output, dict):
            return {}
        for name in ("before", "after"):
            stored = self._texts.get(str(output.get(f"{name}ContentId")))
            text = output.get(f"contents{name.title()}Edit", stored)
            if isinstance(text, str):
                is_windows = output.get("eolSequence") == "\r\n" and "\r" not in text
                contents[name] = text.replace("\n", "\r\n") if is_windows else text
        return {"contents": contents} if contents else {}


def is_edit_rejected(result: dict[str, Any]) -> bool:
    """Return whether an edit failed, or the user threw it away."""
    return is_call_refused(result) or has_edit_failed(result)


def is_call_refused(result: dict[str, Any]) -> bool:
    """Return whether the user refused a call of the editor, or threw its edit away."""
    tool = result.get("toolFormerData")
    details = dict_or_empty(dict_or_empty(tool).get("additionalData"))
    decisions = (
        dict_or_empty(tool).get("userDecision"),
        details.get("userDecision"),
        dict_or_empty(details.get("reviewData")).get("selectedOption"),
    )
    if any(decision in _REFUSALS for decision in decisions):
        return True
    output = dict_or_empty(result.get("output")) if isinstance(tool, dict) else {}
    if output.get("rejected") is True:
        return True
    return dict_or_empty(output.get("humanReview")).get("isEditAccepted") is False


def has_edit_failed(result: dict[str, Any]) -> bool:
    """Return whether the editor could not apply the edit of a call."""
    is_editor = isinstance(result.get("toolFormerData"), dict)
    output = dict_or_empty(result.get("output")) if is_editor else {}
    if output.get("applyFailed") is True or output.get("isApplied") is False:
        return True
    return bool(output.get("recoverableError"))


def build_file_report(call: ToolCall) -> FileReport:
    """Return the editor's report about the file of a call."""
    contents = dict_or_empty(call.native.get("contents"))
    output = dict_or_empty(call.native.get("output"))
    return FileReport(
        before=contents.get("before"),
        after=contents.get("after"),
        created=True if output.get("fileWasCreated") is True else None,
        by_user=dict_or_empty(output.get("diff")).get("editor") in _HUMAN_EDITORS,
    )


def parse_hunk_readings(call: ToolCall) -> list[list[Hunk]]:
    """Return the ways to read the chunks of a diff."""
    readings = [_parse_chunks(call.native.get("output"), width) for width in _MARK_WIDTHS]
    return [hunks for hunks in readings if hunks]


def _parse_chunks(result: object, width: int) -> list[Hunk]:
    """Parse the chunks of a diff, whose lines begin with a mark of `width` characters.

    The list is empty when one of the chunks does not match its own line counts.
    """
    diff = result.get("diff") if isinstance(result, dict) else None
    if not isinstance(diff, dict) or diff.get("hitTimeout") is True:
        return []
    chunks = diff.get("chunks")
    if not isinstance(chunks, list):
        return []
    hunks = [_parse_chunk(chunk, width) for chunk in chunks]
    return [hunk for hunk in hunks if hunk is not None] if None not in hunks else []


def _parse_chunk(chunk: object, width: int) -> Hunk | None:
    """Return one chunk as a hunk, or None if it is malformed or contradicts its line counts.

    Its lines begin with a mark of `width` characters.
    """
    if not isinstance(chunk, dict) or not isinstance(chunk.get("diffString"), str):
        return None
    lines = [line or " " for line in chunk["diffString"].removesuffix("\n").split("\n")]
    if any(line[0] not in " +-" or line[1:width].strip() for line in lines):
        return None
    old_first, new_first = chunk.get("oldStart", 0), chunk.get("newStart", 0)
    if not (_is_line_number(old_first) and _is_line_number(new_first)):
        return None
    body = [line[0] + line[min(width, len(line)) :] + "\n" for line in lines]
    hunk = Hunk(old_first, new_first, body)
    counts = len(hunk.before()), len(hunk.after())
    stated_counts = chunk.get("oldLines", 0), chunk.get("newLines", 0)
    return hunk if counts == stated_counts else None


def _is_line_number(value: object) -> bool:
    """Return whether a value is an integer of at least 0."""
    return type(value) is int and value >= 0


def parse_shown_file(call: ToolCall, path: str) -> list[FileAction] | None:
    """Return the file that a result keeps, or None if the result states no number of lines.

    Without that number, it may be a part.
    """
    output = dict_or_empty(call.native.get("output"))
    total = output.get("totalLinesInFile")
    if not isinstance(output.get("contents"), str) or not isinstance(total, int):
        return None
    shown = build_observation(path, output["contents"], output.get("startLineOneIndexed", 1), total)
    return None if shown is None else [shown]

"""Crush's tools, and the evidence of their effects on files.

Newer versions keep the text before and after an edit in the metadata of its result. Older ones keep
a diff there, and every version of an edited file in the table `files`: the text before the first
edit, the text after each edit, and the text before an edit if something else changed the file.

The versions do not name the call that made them. `StoredVersions` gives a call the next version of
its file that the call's own arguments explain, so a version of an unknown origin proves nothing.
Crush stores an empty version when an edit only deletes text, and shows CR LF as LF before an edit;
both are put right here.

>>> from vacr.agents.crush.tools import StoredVersions
>>> versions = [("a = 1\\n", 0), ("a = 2\\n", 1)]
>>> rows = [
...     {"path": "/w/a.py", "version": version, "content": text, "created_at": 100}
...     for text, version in versions
... ]
>>> arguments = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
>>> call = {"type": "tool-call", "call-id": "c1", "name": "edit", "input": arguments}
>>> result = {"type": "tool-result", "call-id": "c1", "is_error": False, "output": ""}
>>> entries = [{"type": "assistant", "children": [call]}, {"type": "user", "children": [result]}]
>>> entries += [{"type": "system-event", "event-type": "files", "data": row} for row in rows]
>>> StoredVersions(entries).about("c1", result)
{'before': 'a = 1\\n', 'after': 'a = 2\\n'}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import CallReports
from vacr.agents.crush.labels import find_exit_code, split_shell_output
from vacr.agents.file_tools import (
    FileReport,
    ShellOutput,
    is_absolute_path,
    parse_requested_edits,
)
from vacr.agents.tool_calls import PATH_ARGUMENTS, ToolCall, dict_or_empty, get_text_argument
from vacr.edits import (
    MIN_CUT_LINE_LENGTH,
    Edit,
    FileAction,
    Hunk,
    ObservedLines,
    parse_diff_hunks,
)

CHANGING_TOOLS = frozenset(("edit", "multiedit", "write"))
_MAX_LINE_LENGTH = 2000
"""A view cuts longer lines."""
_MORE_LINES_NOTE = "\n\n(File has more lines. Use 'offset' parameter to read beyond line "


def parse_metadata(native: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a result, which are text; empty without metadata."""
    text = native.get("metadata")
    if type(text) is not str or not text.startswith("{"):
        return {}
    try:
        return dict_or_empty(json.loads(text))
    except (ValueError, RecursionError):
        return {}


# --- The text before and after a change ---


def build_file_report(call: ToolCall) -> FileReport:
    """Return the text of a file before and after a call, from the metadata or stored versions."""
    metadata = parse_metadata(call.native)
    before, after = metadata.get("old_content"), metadata.get("new_content")
    if type(before) is not str and type(after) is not str:
        before, after = call.native.get("before"), call.native.get("after")
    else:
        # Empty texts are left out of the metadata.
        before, after = before or "", after or ""
    if type(before) is not str or type(after) is not str:
        return FileReport()
    if not before:
        return FileReport(after=after, created=True)
    return FileReport(before=match_line_ends(before, after), after=after, created=False)


def match_line_ends(before: str, after: str) -> str:
    """Return a text with the line ends CR LF if the other text has them and this one has none."""
    if "\r\n" in after and "\r" not in before:
        return before.replace("\n", "\r\n")
    return before


def parse_recorded_hunks(call: ToolCall) -> list[Hunk]:
    """Return the hunks of the diff in the metadata, or an empty list."""
    diff = parse_metadata(call.native).get("diff")
    return parse_diff_hunks(diff) if type(diff) is str else []


class StoredVersions(CallReports):
    """Reports of the text of a file before and after a call, from the table `files`."""

    def __init__(self, entries: Sequence[Any]) -> None:
        """Match the versions of each file with the calls that explain them."""
        self._reports: dict[str, dict[str, Any]] = {}
        versions = _collect_versions(entries)
        if not versions:
            return
        places = dict.fromkeys(versions, 0)
        for call in _list_done_calls(entries):
            path = _find_stored_path(call, versions)
            if path is not None:
                places[path] = self._match_call(call, versions[path], places[path])

    def _match_call(self, call: dict[str, Any], versions: list[str], place: int) -> int:
        """Note the next versions that a call explains; return the place to go on from."""
        for after_place in range(place + 1, len(versions)):
            before, after = versions[after_place - 1], versions[after_place]
            expected = _apply_call(call, before)
            if expected is None:
                continue
            if expected == after.replace("\r\n", "\n"):
                self._reports[call["call-id"]] = {"before": before, "after": after}
                return after_place
            if not after:
                # Crush stores an empty version after a deletion.
                self._reports[call["call-id"]] = {"before": before, "after": expected}
                return after_place
        return place

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the texts before and after a call; empty without a version that fits."""
        del result
        return self._reports.get(call_id, {})


def _collect_versions(entries: Sequence[Any]) -> dict[str, list[str]]:
    """Return the stored texts of each file, in the order of their versions."""
    rows = [
        entry["data"]
        for entry in entries
        if entry.get("event-type") == "files" and isinstance(entry.get("data"), dict)
    ]
    usable = [
        row
        for row in rows
        if type(row.get("path")) is str
        and type(row.get("content")) is str
        and type(row.get("version")) is int
    ]
    versions: dict[str, list[str]] = {}
    for row in sorted(usable, key=lambda row: row["version"]):
        versions.setdefault(row["path"], []).append(row["content"])
    return versions


def _list_done_calls(entries: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the calls that changed a file, in the order of their results."""
    calls: dict[str, dict[str, Any]] = {}
    for entry in entries:
        for child in entry.get("children", ()):
            call_id = child.get("call-id")
            if type(call_id) is not str:
                continue
            if child["type"] == "tool-call" and child.get("name") in CHANGING_TOOLS:
                calls[call_id] = child
            elif child["type"] == "tool-result" and child.get("is_error") is False:
                call = calls.pop(call_id, None)
                if call is not None and isinstance(call.get("input"), dict):
                    yield call


def _find_stored_path(call: dict[str, Any], versions: dict[str, list[str]]) -> str | None:
    """Return the stored path of the file that a call names, or None if several could be it."""
    named = get_text_argument(call["input"], PATH_ARGUMENTS)
    if not named:
        return None
    if named in versions:
        return named
    ending = "/" + named.replace("\\", "/").removeprefix("./")
    fitting = [path for path in versions if path.replace("\\", "/").endswith(ending)]
    return fitting[0] if len(fitting) == 1 else None


def _apply_call(call: dict[str, Any], before: str) -> str | None:
    """Return the text after a call, with LF, or None if the call cannot have this effect."""
    arguments = call["input"]
    if call["name"] == "write":
        text = arguments.get("content")
        return text.replace("\r\n", "\n") if type(text) is str else None
    edits = parse_requested_edits(arguments)
    if not edits:
        return None
    text = before.replace("\r\n", "\n")
    for edit in edits:
        changed = _apply_edit(edit, text)
        if changed is None:
            return None
        text = changed
    return text


def _apply_edit(edit: Edit, text: str) -> str | None:
    """Return a text after an edit, or None if the edit does not fit there exactly."""
    if not edit.old:
        return None if text else edit.new
    count = text.count(edit.old)
    if count == 0 or (count > 1 and not edit.every):
        return None
    return text.replace(edit.old, edit.new)


# --- Paths ---


def find_project_folder(entries: Sequence[Any]) -> str:
    """Return the folder that relative paths of calls start from, or an empty text if unknown.

    The evidence is a call with a relative path whose result states the whole path of the file.
    """
    named: dict[str, str] = {}
    for entry in entries:
        for child in entry.get("children", ()):
            call_id = child.get("call-id")
            if type(call_id) is not str:
                continue
            if child["type"] == "tool-call":
                path = get_text_argument(child.get("input"), ("file_path",))
                if path and not is_absolute_path(path) and ".." not in path:
                    named[call_id] = path
            elif child["type"] == "tool-result" and call_id in named:
                folder = _remove_path_end(_find_whole_path(child), named[call_id])
                if folder:
                    return folder
    return ""


_WHOLE_PATH = re.compile(
    r"(?:<result>\n)?(?:File successfully written: |File created: |Content replaced in file: "
    r"|Content deleted from file: |Applied \d+ edits to file: |File not found: )([^\n]+)"
)


def _find_whole_path(result: dict[str, Any]) -> str:
    """Return the whole path that a result states, or an empty text."""
    path = parse_metadata(result).get("file_path")
    if type(path) is str:
        return path
    output = result.get("output")
    match = _WHOLE_PATH.match(output) if type(output) is str else None
    return match[1] if match else ""


def _remove_path_end(path: str, end: str) -> str:
    """Return the folder of an absolute path that ends with a relative one, or an empty text."""
    relative = end.replace("\\", "/").removeprefix("./")
    if is_absolute_path(path) and path.replace("\\", "/").endswith("/" + relative):
        return path[: -len(relative) - 1] or "/"
    return ""


# --- Views, searches and commands ---


def parse_shown_file(call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the lines that a view showed, from its metadata, without cut ones."""
    content = parse_metadata(call.native).get("content")
    offset = dict_or_empty(call.input).get("offset", 0)
    if type(content) is not str or type(offset) is not int or offset < 0:
        return
    lines = content.split("\n")
    is_ended = len(lines) > 1 and not lines[-1]
    if is_ended:
        lines.pop()
    is_end = _MORE_LINES_NOTE not in call.output
    start = 0
    for end in [*(i for i, line in enumerate(lines) if len(line) >= _MAX_LINE_LENGTH), len(lines)]:
        if end > start:
            shown = [line + "\n" for line in lines[start:end]]
            ends = is_end and end == len(lines)
            yield ObservedLines(
                path,
                offset + start + 1,
                shown,
                last=ends,
                unended=end == len(lines) and not is_ended,
                ends_file=ends and is_ended,
            )
        start = end + 1


_GREP_LINE = re.compile(r"  Line (\d{1,7})(?:, Char \d{1,7})?: ")


def parse_search_results(call: ToolCall) -> Iterator[FileAction]:
    """Yield the lines that a search shows: `path:`, and below it `  Line 12: text`."""
    path: str | None = None
    for line in call.output.split("\n"):
        match = _GREP_LINE.match(line)
        if match and path is not None and len(line) < MIN_CUT_LINE_LENGTH:
            yield ObservedLines(path, int(match[1]), [line[match.end() :] + "\n"])
        elif line.endswith(":") and not line.startswith(" "):
            path = line[:-1]


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the folder and the exit code that the host adds."""
    text, folder = split_shell_output(call.output)
    code, text = find_exit_code(text)
    if code is None and folder is not None:
        code = 0
    return ShellOutput("" if folder is None and code is None else text, code=code)


def find_left_folder(entry: dict[str, Any]) -> str | None:
    """Return the folder that a shell which lasts from call to call is in, or None.

    Since the metadata describe a command, every command begins in the project's folder.
    """
    if entry.get("type") != "tool-result":
        return None
    metadata = parse_metadata(entry)
    folder = metadata.get("working_directory")
    return folder if type(folder) is str and folder and "description" not in metadata else None

"""What Claude Code tells of files that others changed. Step: attribute.

It keeps the text of each file that it has read as a whole or written, and shows where the file
differs from that: hunks with eight lines around each change, as they are now, whose numbers count
from where they began in the text that it kept.

Files that Claude Code shows in reminders: texts in user messages, and at the end of results.
Step: attribute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from vacr.attribution.calls import (
    TOOL_KINDS,
    TOOL_READ,
    TOOL_REPLACE,
    TOOL_WRITE,
    SessionStep,
    ToolCall,
)
from vacr.edits import (
    ARROW_LINE_NUMBER,
    ChangeNotice,
    FileAction,
    FileWrite,
    ObservedFile,
    ObservedLines,
    Replacement,
    parse_listing,
    render_as_host,
    split_keeping_ends,
    strip_line_end,
)

if TYPE_CHECKING:
    from vacr.attribution.file_state import FileState, TrackedFile
    from vacr.attribution.replay import Replay

_AGENT_NAME = "claude-code"
_CONTEXT_LINES = 8
_TRUNCATION_NOTE = re.compile(r"\n*\.\.\. \[\d+ lines? truncated\] \.\.\.\s*\Z")

NoticeHunk = tuple[int, list[str]]
"""The number of a hunk's first line in the text that the host kept, and its lines as they are now.
"""


def parse_change_notice(path: str, shown: str) -> ChangeNotice:
    """Read what a notice shows."""
    text = _TRUNCATION_NOTE.sub("", shown)
    parts: list[NoticeHunk] = []
    ended, whole = True, text == shown
    for line in text.strip("\n").split("\n"):
        found = ARROW_LINE_NUMBER.match(line)
        if line == "...":
            ended = True
        elif found is None:
            whole = False
        elif ended:
            parts.append((int(found[1]), [line[found.end() :]]))
            ended = False
        else:
            parts[-1][1].append(line[found.end() :])
    return ChangeNotice(path, parts, whole=whole and bool(parts))


def remember_host_text(
    replay: Replay, tracked: TrackedFile, event: FileAction, step: SessionStep
) -> None:
    """Keep in mind what the host keeps of a file after an event."""
    if replay.agent != _AGENT_NAME:
        return
    by = (replay.record, step.chain)
    kind = TOOL_KINDS[_AGENT_NAME].get(step.name) if isinstance(step, ToolCall) else TOOL_READ
    text: str | None
    if kind == TOOL_READ and isinstance(event, ObservedFile | ObservedLines):
        text = event.text if isinstance(event, ObservedFile) else None
    elif kind in (TOOL_REPLACE, TOOL_WRITE) and isinstance(event, Replacement | FileWrite):
        text = tracked.text
    else:
        return
    if text is None:
        tracked.held.pop(by, None)
    else:
        tracked.held[by] = text


def apply_change_notice(
    replay: Replay, tracked: TrackedFile, notice: ChangeNotice, step: SessionStep
) -> None:
    """Take a notice in: all of the file where the text is known that it differs from, else the
    hunks whose places are.
    """
    by = (replay.record, step.chain)
    held = tracked.held.pop(by, None)
    new = (
        apply_notice_hunks(render_as_host(held), notice.parts)
        if held is not None and notice.whole
        else None
    )
    if new is not None:
        text, ended = new
        tracked.held[by] = text
        file, lines = tracked.file, split_keeping_ends(text)
        replay.look(
            tracked,
            step,
            lambda by: file.observe_whole(text, by) if ended else file.observe(1, lines, by),
            "user",
        )
        return
    placed = list(_place_notice_hunks(tracked.file, notice.parts))
    if not notice.whole or len(placed) < len(notice.parts):
        tracked.file.shake()
    for first, lines in placed:
        seen = [line + "\n" for line in lines]
        replay.look(
            tracked,
            step,
            lambda outside: tracked.file.observe(first, seen, outside),  # noqa: B023
            "user",
        )


def _place_notice_hunks(file: FileState, parts: Sequence[NoticeHunk]) -> Iterator[NoticeHunk]:
    """Give hunks with the numbers they have now, up to the first behind which it is not known how
    far lines have moved.
    """
    moved = 0
    for number, (first, shown) in enumerate(parts):
        yield first + moved, shown
        limit = parts[number + 1][0] if number + 1 < len(parts) else first
        known = list(
            takewhile(lambda line: line is not None, (file.line(at) for at in range(first, limit)))
        )
        old = [strip_line_end(render_as_host(line)) for line in known if line is not None]
        stop = (
            _find_hunk_end(old, 0, len(old), shown, is_last=False)
            if shown[:_CONTEXT_LINES] == old[:_CONTEXT_LINES] or first == 1
            else None
        )
        if stop is None:
            return
        moved += len(shown) - stop


def apply_notice_hunks(text: str, parts: Sequence[NoticeHunk]) -> tuple[str, bool] | None:
    """Put the hunks of a notice into the text that they differ from; `None` when they do not fit,
    or in more ways than one.

    Gives also whether it is known how the last line ends: a hunk that goes on to the end of the
    file does not show that.
    """
    lines = split_keeping_ends(text)
    old = [strip_line_end(line) for line in lines]
    new: list[str] = []
    at = 0
    for number, (first, shown) in enumerate(parts):
        start = max(first - 1, 0)
        is_last = number == len(parts) - 1
        limit = len(old) if is_last else parts[number + 1][0] - 1
        if not at <= start <= limit <= len(old) or (
            start and shown[:_CONTEXT_LINES] != old[start : start + _CONTEXT_LINES]
        ):
            return None
        stop = _find_hunk_end(old, start, limit, shown, is_last=is_last)
        if stop is None:
            return None
        new += lines[at:start] + [line + "\n" for line in shown]
        at = stop
    new += lines[at:]
    return "".join(new), at < len(old)


def _find_hunk_end(
    old: Sequence[str], start: int, limit: int, shown: Sequence[str], *, is_last: bool
) -> int | None:
    """Find where a hunk ends in the old lines: after the lines around its last change, or with the
    file.
    """
    around = list(shown[-_CONTEXT_LINES:])
    stops = [
        stop
        for stop in range(start + len(around), limit + 1)
        if list(old[stop - len(around) : stop]) == around and list(old[start:stop]) != list(shown)
    ]
    if len(around) == _CONTEXT_LINES and len(stops) == 1:
        # Lines that were taken away behind them, at the end of the file, would not show.
        return stops[0] if not is_last or len(old) - stops[0] > 2 * _CONTEXT_LINES else None
    return (
        len(old)
        if is_last
        and not (len(around) == _CONTEXT_LINES and stops)
        and list(old[start:]) != list(shown)
        else None
    )


_REMINDER = re.compile(r"^<system-reminder>(.*?)</system-reminder>", re.MULTILINE | re.DOTALL)
_FINAL_REMINDER = re.compile(
    r"(?:\A|\n)<system-reminder>\s*(Note: (?:(?!<system-reminder>).)*?)\s*</system-reminder>\s*\Z",
    re.DOTALL,
)
_MODIFIED_NOTE = re.compile(r"Note: (.+?) was modified, either by the user or by a linter\.")
_READ_CALL = re.compile(r"Called the Read tool with the following input: (\{.*\})\s*\Z", re.DOTALL)
_READ_RESULT = re.compile(r"Result of calling the Read tool:\s*(.*)\Z", re.DOTALL)


def parse_message_reminders(content: Any) -> Iterator[FileAction]:
    """Read the reminders in what a user message says."""
    path: str | None = None
    for text in _list_text_blocks(content):
        if "<system-reminder>" not in text:
            continue
        for found in _REMINDER.finditer(text):
            said = found[1].strip()
            called, result = _READ_CALL.match(said), _READ_RESULT.match(said)
            if called:
                path = _parse_file_path(called[1])
            elif result and path is not None:
                yield from parse_listing(path, _decode_json_string(result[1]))
                path = None
            else:
                yield from _parse_modified_note(said)


def parse_final_reminder(output: str) -> Iterator[FileAction]:
    """Read the reminder that a result ends with."""
    found = _FINAL_REMINDER.search(output)
    if found:
        yield from _parse_modified_note(found[1])


def _list_text_blocks(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if (
            isinstance(block, dict)
            and block.get("type") == "text"
            and isinstance(block.get("text"), str)
        ):
            yield block["text"]


def _parse_modified_note(text: str) -> Iterator[FileAction]:
    found = _MODIFIED_NOTE.match(text)
    if found:
        yield parse_change_notice(found[1], text[found.end() :].partition("\n")[2])


def _parse_file_path(arguments: str) -> str | None:
    value = _parse_json(arguments)
    path = value.get("file_path") if isinstance(value, dict) else None
    return path if isinstance(path, str) else None


def _decode_json_string(text: str) -> str:
    """Give a text that may be written as JSON."""
    value = _parse_json(text) if text.startswith('"') else None
    return value if isinstance(value, str) else text


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None

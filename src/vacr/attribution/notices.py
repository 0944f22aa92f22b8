"""Notices of changed files, taken into the replay.

Some hosts keep the text of each file that they have read as a whole or written, and show the model
where the file on disk differs from it: hunks with eight lines around each change, as they are now,
whose numbers count from where they began in the text that the host kept.

    >>> from vacr.attribution.notices import apply_notice_hunks
    >>> text = "".join(f"{number}\\n" for number in range(1, 41))
    >>> hunk = (1, ["1", "two", *map(str, range(3, 11))])
    >>> apply_notice_hunks(text, [hunk])[0].startswith("1\\ntwo\\n3\\n")
    True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from vacr.agents import SessionStep, ToolCall, ToolEffect
from vacr.edits import (
    ChangeNotice,
    FileAction,
    FileWrite,
    ObservedFile,
    ObservedLines,
    Replacement,
    render_as_host,
    split_keeping_ends,
    strip_line_end,
)

if TYPE_CHECKING:
    from vacr.attribution.file_state import FileState, TrackedFile
    from vacr.attribution.replay import Replay

_CONTEXT_LINES = 8

NoticeHunk = tuple[int, list[str]]
"""The number of a hunk's first line in the text that the host kept, and its lines as they are now.
"""


def remember_host_text(
    replay: Replay, tracked: TrackedFile, event: FileAction, step: SessionStep
) -> None:
    """Remember the text that the host keeps of a file after an action."""
    if not replay.agent.reports_changes:
        return
    by = (replay.record, step.chain)
    effect: ToolEffect | None = ToolEffect.READ
    if isinstance(step, ToolCall):
        effect = replay.agent.tool_effect(step)
    text: str | None
    if effect is ToolEffect.READ and isinstance(event, ObservedFile | ObservedLines):
        text = event.text if isinstance(event, ObservedFile) else None
    elif effect in (ToolEffect.REPLACE, ToolEffect.WRITE) and isinstance(
        event, Replacement | FileWrite
    ):
        text = tracked.text
    else:
        return
    if text is None:
        tracked.host_texts.pop(by, None)
    else:
        tracked.host_texts[by] = text


def apply_change_notice(
    replay: Replay, tracked: TrackedFile, notice: ChangeNotice, step: SessionStep
) -> None:
    """Apply a notice: to the whole file if the host's text is known, else at the known places."""
    by = (replay.record, step.chain)
    host_text = tracked.host_texts.pop(by, None)
    new = None
    if host_text is not None and notice.whole:
        new = apply_notice_hunks(render_as_host(host_text), notice.parts)
    if new is not None:
        text, ended = new
        tracked.host_texts[by] = text
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
        replay.look(tracked, step, partial(tracked.file.observe, first, seen), "user")


def _place_notice_hunks(file: FileState, parts: Sequence[NoticeHunk]) -> Iterator[NoticeHunk]:
    """Yield hunks with their present line numbers.

    Stop after the first hunk where it is unknown how far the lines after it have moved.
    """
    moved = 0
    for number, (first, shown) in enumerate(parts):
        yield first + moved, shown
        limit = parts[number + 1][0] if number + 1 < len(parts) else first
        known = list(
            takewhile(lambda line: line is not None, (file.line(at) for at in range(first, limit)))
        )
        old = [strip_line_end(render_as_host(line)) for line in known if line is not None]
        if first != 1 and shown[:_CONTEXT_LINES] != old[:_CONTEXT_LINES]:
            return
        stop = _find_hunk_end(old, 0, len(old), shown, is_last=False)
        if stop is None:
            return
        moved += len(shown) - stop


def apply_notice_hunks(text: str, parts: Sequence[NoticeHunk]) -> tuple[str, bool] | None:
    """Apply a notice to the host's earlier text; return `None` unless it fits in one way only.

    Also return whether it is known how the last line ends: a hunk that reaches the end of the file
    does not show that.
    """
    lines = split_keeping_ends(text)
    old = [strip_line_end(line) for line in lines]
    new: list[str] = []
    at = 0
    for number, (first, shown) in enumerate(parts):
        start = max(first - 1, 0)
        is_last = number == len(parts) - 1
        limit = len(old) if is_last else parts[number + 1][0] - 1
        if not at <= start <= limit <= len(old):
            return None
        if start and shown[:_CONTEXT_LINES] != old[start : start + _CONTEXT_LINES]:
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
    """Return where a hunk ends in the old lines: after its last context lines, or with the file."""
    around = list(shown[-_CONTEXT_LINES:])
    stops = [
        stop
        for stop in range(start + len(around), limit + 1)
        if list(old[stop - len(around) : stop]) == around and list(old[start:stop]) != list(shown)
    ]
    has_context = len(around) == _CONTEXT_LINES
    if has_context and len(stops) == 1:
        # Lines that were removed after them, at the end of the file, would not show.
        is_clear = not is_last or len(old) - stops[0] > 2 * _CONTEXT_LINES
        return stops[0] if is_clear else None
    is_ambiguous = has_context and bool(stops)
    reaches_end = is_last and not is_ambiguous and list(old[start:]) != list(shown)
    return len(old) if reaches_end else None

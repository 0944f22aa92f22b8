"""What Claude Code tells of files that others changed. Step: attribute.

It keeps the text of each file that it has read as a whole or written, and shows where the file
differs from that: hunks with eight lines around each change, as they are now, whose numbers count
from where they began in the text that it kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from vacr.attribution import tools
from vacr.attribution.calls import Call, Step
from vacr.attribution.events import Event, Notice, Observe, Replace, Snapshot, Write
from vacr.attribution.listings import ARROW
from vacr.attribution.text import as_shown, bare, lines_of

if TYPE_CHECKING:
    from vacr.attribution.replay import Replay
    from vacr.attribution.sparse import SparseFile
    from vacr.attribution.tracked import Tracked

_HOST = "claude-code"
_AROUND = 8
_CUT = re.compile(r"\n*\.\.\. \[\d+ lines? truncated\] \.\.\.\s*\Z")

Part = tuple[int, list[str]]
"""The number of a hunk's first line in the text that the host kept, and its lines as they are now.
"""


def read(path: str, shown: str) -> Notice:
    """Read what a notice shows."""
    text = _CUT.sub("", shown)
    parts: list[Part] = []
    ended, whole = True, text == shown
    for line in text.strip("\n").split("\n"):
        found = ARROW.match(line)
        if line == "...":
            ended = True
        elif found is None:
            whole = False
        elif ended:
            parts.append((int(found[1]), [line[found.end() :]]))
            ended = False
        else:
            parts[-1][1].append(line[found.end() :])
    return Notice(path, parts, whole=whole and bool(parts))


def hold(replay: Replay, tracked: Tracked, event: Event, step: Step) -> None:
    """Keep in mind what the host keeps of a file after an event."""
    if replay.agent != _HOST:
        return
    by = (replay.record, step.chain)
    kind = tools.TOOLS[_HOST].get(step.name) if isinstance(step, Call) else tools.OBSERVE
    text: str | None
    if kind == tools.OBSERVE and isinstance(event, Snapshot | Observe):
        text = event.text if isinstance(event, Snapshot) else None
    elif kind in (tools.REPLACE, tools.WRITE) and isinstance(event, Replace | Write):
        text = tracked.text
    else:
        return
    if text is None:
        tracked.held.pop(by, None)
    else:
        tracked.held[by] = text


def take(replay: Replay, tracked: Tracked, notice: Notice, step: Step) -> None:
    """Take a notice in: all of the file where the text is known that it differs from, else the
    hunks whose places are.
    """
    by = (replay.record, step.chain)
    held = tracked.held.pop(by, None)
    new = applied(as_shown(held), notice.parts) if held is not None and notice.whole else None
    if new is not None:
        text, ended = new
        tracked.held[by] = text
        file, lines = tracked.file, lines_of(text)
        replay.look(
            tracked,
            step,
            lambda by: file.observe_whole(text, by) if ended else file.observe(1, lines, by),
            "user",
        )
        return
    placed = list(_placed(tracked.file, notice.parts))
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


def _placed(file: SparseFile, parts: Sequence[Part]) -> Iterator[Part]:
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
        old = [bare(as_shown(line)) for line in known if line is not None]
        stop = (
            _end(old, 0, len(old), shown, is_last=False)
            if shown[:_AROUND] == old[:_AROUND] or first == 1
            else None
        )
        if stop is None:
            return
        moved += len(shown) - stop


def applied(text: str, parts: Sequence[Part]) -> tuple[str, bool] | None:
    """Put the hunks of a notice into the text that they differ from; `None` when they do not fit,
    or in more ways than one.

    Gives also whether it is known how the last line ends: a hunk that goes on to the end of the
    file does not show that.
    """
    lines = lines_of(text)
    old = [bare(line) for line in lines]
    new: list[str] = []
    at = 0
    for number, (first, shown) in enumerate(parts):
        start = max(first - 1, 0)
        is_last = number == len(parts) - 1
        limit = len(old) if is_last else parts[number + 1][0] - 1
        if not at <= start <= limit <= len(old) or (
            start and shown[:_AROUND] != old[start : start + _AROUND]
        ):
            return None
        stop = _end(old, start, limit, shown, is_last=is_last)
        if stop is None:
            return None
        new += lines[at:start] + [line + "\n" for line in shown]
        at = stop
    new += lines[at:]
    return "".join(new), at < len(old)


def _end(
    old: Sequence[str], start: int, limit: int, shown: Sequence[str], *, is_last: bool
) -> int | None:
    """Find where a hunk ends in the old lines: after the lines around its last change, or with the
    file.
    """
    around = list(shown[-_AROUND:])
    stops = [
        stop
        for stop in range(start + len(around), limit + 1)
        if list(old[stop - len(around) : stop]) == around and list(old[start:stop]) != list(shown)
    ]
    if len(around) == _AROUND and len(stops) == 1:
        # Lines that were taken away behind them, at the end of the file, would not show.
        return stops[0] if not is_last or len(old) - stops[0] > 2 * _AROUND else None
    return (
        len(old)
        if is_last and not (len(around) == _AROUND and stops) and list(old[start:]) != list(shown)
        else None
    )

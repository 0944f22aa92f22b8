"""The lines of a file: split, compared by a diff, and parsed from listings with line numbers.

Only LF ends a line. CR, NEL, FF and U+2028 are characters of a line, a last line may lack its LF,
and bytes that are not UTF-8 survive as lone surrogates.

The diff is the forward greedy search of Myers (1986). It breaks ties like the diff of agents
written in TypeScript, so that attributed ranges agree with the patches their users saw. The ties,
the limit on work and the fallback beyond it are one algorithm: a change of any of them changes
attributions, and needs a new `DIFF_VERSION`.

    >>> from vacr.edits import find_line_origins, split_keeping_ends
    >>> old = split_keeping_ends("import os\\nprint('hi')\\n")
    >>> new = split_keeping_ends("import os\\nimport sys\\nprint('hi')\\n")
    >>> find_line_origins(old, new)     # where each new line comes from; -1 is NO_ORIGIN
    [0, -1, 1]
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from vacr.edits.actions import FileAction, ObservedFile, ObservedLines

DIFF_ALGORITHM = "forward-greedy-myers"
DIFF_VERSION = 1

NO_ORIGIN = -1
"""Stands for the origin of a line that a change added."""

# How many diagonals are visited before the search stops: d differences take about d²/2 visits.
_MAX_DIFF_WORK = 400_000

_UNREACHED = -1

# Equal lines on the way to a point: the trail before them, old index, new index, length.
_SnakeTrail = tuple["_SnakeTrail | None", int, int, int]


# Lines and text


def split_keeping_ends(text: str) -> list[str]:
    """Split text after each LF; each line keeps its LF.

    A last line without LF has none in the result either. An empty text has no lines.
    """
    lines = text.split("\n")
    last = lines.pop()
    lines = [line + "\n" for line in lines]
    if last:
        lines.append(last)
    return lines


def strip_line_end(line: str) -> str:
    """Return a line without any CR and LF at its end, as a numbered listing shows it."""
    return line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line


def normalize_line_ends(lines: Iterable[str]) -> list[str]:
    """Return lines with LF in place of a CR LF at their end.

    Hosts show CR LF as LF and commands do not, so the difference carries no information.
    """
    return [line[:-2] + "\n" if line.endswith("\r\n") else line for line in lines]


def drop_byte_order_mark(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a file without a byte order mark at the start of the first line."""
    return [lines[0][1:], *lines[1:]] if lines and lines[0].startswith("\ufeff") else lines


def decode_file_text(data: bytes) -> str:
    """Decode a file as UTF-8; each invalid byte becomes a lone surrogate.

    `encode_file_text` restores the same bytes.
    """
    return data.decode("utf-8", "surrogateescape")


def encode_file_text(text: str) -> bytes:
    """Encode text as UTF-8; each lone surrogate of `decode_file_text` becomes its byte again."""
    return text.encode("utf-8", "surrogateescape")


def render_as_host(text: str) -> str:
    """Return text as hosts show it.

    CR LF becomes LF, a byte order mark is dropped, and bytes that are not UTF-8 become U+FFFD.
    `text` holds such bytes as lone surrogates, as `decode_file_text` returns it.
    """
    text = text.replace("\r\n", "\n")
    if not text.startswith("\ufeff") and text.isascii():
        return text
    return encode_file_text(text).decode("utf-8", "replace").removeprefix("\ufeff")


# The line diff


def find_line_origins(
    old: Sequence[str], new: Sequence[str], suffix: int = 0, work: int = _MAX_DIFF_WORK
) -> list[int]:
    """Return the index in `old` of each line of `new`, or `NO_ORIGIN` for an added line.

    A caller who knows that the last `suffix` lines of both are equal can state it to save time; the
    origins do not change. The list may then end before `new` does: the remaining lines are the last
    lines of `old`. When the search for the shortest edit exceeds `work`, only lines that are unique
    in both lists, and equal lines around them, have an origin.
    """
    start = _count_common_prefix(old, new)
    kept = list(range(start))
    if start == len(new):
        return kept
    if start == len(old) or (not suffix and set(old[start:]).isdisjoint(new[start:])):
        return kept + [NO_ORIGIN] * (len(new) - start)
    origins = _search_shortest_edit(old, new, start, suffix, work)
    if origins is None:
        origins = _match_around_anchors(old[start:], new[start:], start)
    return kept + origins


def find_local_origins(old: Sequence[str], new: Sequence[str], suffix: int) -> list[int] | None:
    """Return the origins like `find_line_origins`, for excerpts of two longer lists.

    The last `suffix` lines of both excerpts are equal, and both lists go on with equal lines.
    Return `None` when the lines after the excerpts could change the origins: an excerpt is too
    short, or the search takes too long.
    """
    start = _count_common_prefix(old, new)
    if start >= min(len(old), len(new)):
        return None
    origins = _search_shortest_edit(old, new, start, suffix, _MAX_DIFF_WORK, goes_on=True)
    return None if origins is None else list(range(start)) + origins


def _count_common_prefix(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the equal lines at the start of two lists."""
    count = 0
    for old_line, new_line in zip(old, new, strict=False):
        if old_line != new_line:
            break
        count += 1
    return count


def _search_shortest_edit(
    old: Sequence[str],
    new: Sequence[str],
    start: int,
    suffix: int,
    work: int,
    *,
    goes_on: bool = False,
) -> list[int] | None:
    """Return the origins of the new lines from `start` on, by the shortest edit.

    The first `start` lines and the last `suffix` lines of both lists are equal; the result may stop
    before the equal lines at the end. Return `None` when the search takes more than `work` visits
    of a diagonal or, with `goes_on`, when it meets the end of either list.

    A point (x, y) means that x old lines and y new lines are consumed; it lies on diagonal k = x -
    y. Each round allows one more removal or addition.
    """
    n, m = len(old), len(new)
    goal = n - m  # the only diagonal that can reach both ends
    near = max(n - suffix, start)  # from here on, everything on the goal's diagonal is equal
    furthest: dict[int, int] = {0: start}
    trails: dict[int, _SnakeTrail | None] = {0: None}
    low, high, distance = -n - m, n + m, 0
    while work > 0:
        distance += 1
        for k in range(max(-distance, low + (low + distance) % 2), min(distance, high) + 1, 2):
            work -= 1
            removal, addition = furthest.pop(k - 1, n), furthest.get(k + 1, _UNREACHED)
            may_add = addition != _UNREACHED and addition - k <= m
            if may_add and (removal >= n or addition > removal):
                x, trail = addition, trails[k + 1]
            elif removal < n:
                x, trail = removal + 1, trails[k - 1]
            else:
                furthest.pop(k, None)
                continue
            begin, y, end = x, x - k, near if k == goal else n
            while x < end and y < m and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[k] = x
            trails[k] = (trail, begin, begin - k, x - begin) if x > begin else trail
            if k == goal and x >= near:
                return _trace_matches(trails[k], start, y)
            if x >= n or y >= m:
                if goes_on:
                    return None
                # Diagonals beyond an end of either list cannot reach the goal any more.
                if x >= n:
                    high = min(high, k - 1)
                if y >= m:
                    low = max(low, k + 1)
    return None


def _trace_matches(trail: _SnakeTrail | None, start: int, stop: int) -> list[int]:
    """Return the origins of the new lines from `start` to before `stop`, by a trail's equal lines.

    Lines that are not on the trail have `NO_ORIGIN`.
    """
    origins = [NO_ORIGIN] * (stop - start)
    while trail is not None:
        trail, x, y, length = trail
        origins[y - start : y - start + length] = range(x, x + length)
    return origins


def _match_around_anchors(old: Sequence[str], new: Sequence[str], shift: int) -> list[int]:
    """Return the origins of lines that are unique in both lists, and of equal lines around them.

    Other lines have `NO_ORIGIN`. This is the fallback beyond the limit on work. `shift` is added to
    each origin.
    """
    origins = [NO_ORIGIN] * len(new)
    free = 0  # old lines before this one are matched already
    anchors = _find_unique_anchors(old, new)
    for i, anchor in enumerate(anchors):
        x, y = up_x, up_y = anchor
        if origins[y] != NO_ORIGIN:
            continue
        while (
            up_x > free
            and up_y > 0
            and origins[up_y - 1] == NO_ORIGIN
            and old[up_x - 1] == new[up_y - 1]
        ):
            up_x, up_y = up_x - 1, up_y - 1
        stop_x, stop_y = anchors[i + 1] if i + 1 < len(anchors) else (len(old), len(new))
        while x < stop_x and y < stop_y and old[x] == new[y]:
            x, y = x + 1, y + 1
        origins[up_y:y] = range(up_x + shift, x + shift)
        free = x
    return origins


def _find_unique_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the old and new index of lines that occur once in each list (the patience diff).

    The pairs ascend in both indexes, and are as many as possible.
    """
    times_old, times_new = Counter(old), Counter(new)
    old_index = {line: x for x, line in enumerate(old) if times_old[line] == 1}
    # Patience sorting: pile heads in ascending order, and the pair on top of each pile.
    heads: list[int] = []
    tops: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    for y, line in enumerate(new):
        if times_new[line] == 1 and line in old_index:
            x = old_index[line]
            pile = bisect_left(heads, x)
            pairs.append((x, y, tops[pile - 1] if pile else NO_ORIGIN))
            heads[pile : pile + 1], tops[pile : pile + 1] = [x], [len(pairs) - 1]
    order = []
    pair = tops[-1] if tops else NO_ORIGIN
    while pair != NO_ORIGIN:
        x, y, pair = pairs[pair]
        order.append((x, y))
    return order[::-1]


# Merges


def merge_changes(original: str, ours: str, theirs: str) -> str | None:
    """Return a text with the changes of both sides, as `git rebase` merges them.

    Return `None` if the sides changed the same or adjacent lines differently.
    """
    old, left, right = map(split_keeping_ends, (original, ours, theirs))
    to_left, to_right = _match_old_lines(old, left), _match_old_lines(old, right)
    merged: list[str] = []
    old_at = left_at = right_at = 0
    for number in range(len(old) + 1):
        if number == len(old):
            left_stop, right_stop = len(left), len(right)
        elif number in to_left and number in to_right:
            left_stop, right_stop = to_left[number], to_right[number]
        else:
            continue
        before = old[old_at:number]
        mine, other = left[left_at:left_stop], right[right_at:right_stop]
        if mine not in (before, other) and other != before:
            return None
        merged += other if mine == before else mine
        merged += old[number : number + 1]
        old_at, left_at, right_at = number + 1, left_stop + 1, right_stop + 1
    return "".join(merged)


def _match_old_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return the index in `new` of each line of `old` that is still there."""
    origins = find_line_origins(old, new)
    return {origin: at for at, origin in enumerate(origins) if origin != NO_ORIGIN}


# Listings: files shown with line numbers

# Line numbers as the tools of agents, `cat -n` and `nl` write them.
ARROW_LINE_NUMBER = re.compile(r" *(\d{1,7})(?:→|\t)")
_PADDED_LINE_NUMBER = re.compile(r"(\d{5})\| ")
_PIPE_LINE_NUMBER = re.compile(r" *(\d{1,7})\|")
_COLON_LINE_NUMBER = re.compile(r"(\d{1,7}): ")
_LINE_NUMBER_FORMS = (ARROW_LINE_NUMBER, _PADDED_LINE_NUMBER, _COLON_LINE_NUMBER, _PIPE_LINE_NUMBER)

MIN_CUT_LINE_LENGTH = 1_900
"""Tools cut lines somewhere above this length, so a longer line may not be the file's."""

# The text after a listing: a line of the file would begin with a number.
_LISTING_END_MARKS = (
    "<system-reminder>",
    "</content>",
    "</file>",
    "(End of file - total ",
    "(Showing lines ",
)
_TOTAL_LINES_NOTE = re.compile(r"^\(End of file - total (\d{1,7}) lines\)$", re.MULTILINE)

NumberedRun = tuple[int, list[str]]
"""Consecutive lines of a file, and the number of the first."""


def parse_listing(path: str, output: str) -> Iterator[FileAction]:
    """Yield the lines in a numbered listing of the file `path`, or the whole file, as observations.

    Each run of consecutive line numbers is one observation. The forms of line numbers are tried in
    a fixed order, and only the first form that occurs counts. Output without line numbers yields
    nothing.
    """
    lines = list(
        takewhile(lambda line: not line.startswith(_LISTING_END_MARKS), output.split("\n"))
    )
    for form in _LINE_NUMBER_FORMS:
        runs = parse_numbered_lines(lines, form)
        if runs:
            totals = _TOTAL_LINES_NOTE.findall(output)
            yield from _observe_listing_runs(path, runs, int(totals[-1]) if totals else None, form)
            return


def _observe_listing_runs(
    path: str, runs: list[NumberedRun], total: int | None, form: re.Pattern[str]
) -> Iterator[FileAction]:
    """Yield one `ObservedLines` for each run of a listing, or one `ObservedFile` for a whole file.

    `total` is the number of lines that a note after the listing states, or None. Only a listing
    with zero-padded numbers (`form`) can be a whole file: it goes from line 1 to `total`. Such
    tools count and show an empty line after the last line end.
    """
    first, lines = runs[-1]
    reaches_end = total is not None and first + len(lines) - 1 == total
    if reaches_end and form is _PADDED_LINE_NUMBER:
        if runs == [(1, lines)]:
            yield ObservedFile(path, "".join(lines).removesuffix("\n"))
            return
        if lines[-1] == "\n":
            lines.pop()
    for number, (first, lines) in enumerate(runs, 1):
        yield ObservedLines(path, first, lines, last=reaches_end and number == len(runs))


def parse_numbered_lines(lines: Iterable[str], form: re.Pattern[str]) -> list[NumberedRun]:
    """Return the lines that begin with a number, without it, as runs of consecutive numbers.

    `form` matches the start of a line, and its first group is the number. Each returned line ends
    in LF. Other lines, and lines of `MIN_CUT_LINE_LENGTH` or more (they may be cut), are left out.
    """
    runs: list[NumberedRun] = []
    for line in lines:
        if number := form.match(line):
            _add_to_runs(runs, int(number[1]), line[number.end() :])
    return runs


def gather_uncut_lines(first: int, lines: Iterable[str]) -> list[NumberedRun]:
    """Return consecutive lines from number `first` on as runs, without lines that may be cut.

    The given lines have no line ends; each returned line ends in LF. A line of
    `MIN_CUT_LINE_LENGTH` or more is left out, and ends a run; without such a line there is one run.
    """
    runs: list[NumberedRun] = []
    for number, line in enumerate(lines, first):
        _add_to_runs(runs, number, line)
    return runs


def _add_to_runs(runs: list[NumberedRun], number: int, line: str) -> None:
    """Add a line to the run it continues, or begin another run; skip a line that may be cut.

    `line` has no line end, and gets an LF.
    """
    if len(line) >= MIN_CUT_LINE_LENGTH:
        return
    if runs and runs[-1][0] + len(runs[-1][1]) == number:
        runs[-1][1].append(line + "\n")
    else:
        runs.append((number, [line + "\n"]))

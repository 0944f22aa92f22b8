"""The line diff that decides which lines a change made. Step: attribute.

It is the forward greedy search of Myers (1986) with the ties that agents written in TypeScript
have, so that ranges agree with the patches their users saw. Its ties, its cap on work and its way
on beyond the cap are one algorithm with one version: changing any of them changes attributions, so
it changes `VERSION`.

Lines as attribution counts them. Step: attribute.

Only LF ends a line. CR, NEL, FF and U+2028 are characters of a line, a last line may lack its LF,
and bytes that are not UTF-8 survive as lone surrogates.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

DIFF_ALGORITHM = "forward-greedy-myers"
DIFF_VERSION = 1

# Diagonals visited before the search is given up. A search over d differences visits about d²/2.
MAX_DIFF_WORK = 400_000

NO_ORIGIN = -1
_UNREACHED = -1

_SnakeTrail = tuple[
    "_SnakeTrail | None", int, int, int
]  # the snakes behind, then: old line, new line, length


def find_line_origins(
    old: Sequence[str], new: Sequence[str], suffix: int = 0, work: int = MAX_DIFF_WORK
) -> list[int]:
    """Give for each line of `new` the index of the line of `old` that it is, or `NEW`.

    The caller may say that the last `suffix` lines of both are equal. They change nothing but the
    time: where the list ends before `new` does, the lines that are left are the last lines of
    `old`.
    """
    start = _count_common_prefix(old, new)
    kept = list(range(start))
    if start == len(new):
        return kept
    if start == len(old) or (not suffix and set(old[start:]).isdisjoint(new[start:])):
        return kept + [NO_ORIGIN] * (len(new) - start)
    found = _search_shortest_edit(old, new, start, suffix, work)
    return kept + (
        _match_around_anchors(old[start:], new[start:], start) if found is None else found
    )


def find_local_origins(old: Sequence[str], new: Sequence[str], suffix: int) -> list[int] | None:
    """Give the same for the beginnings of lists that go on alike after the suffix; `None` where
    what follows could matter.
    """
    start = _count_common_prefix(old, new)
    if start >= min(len(old), len(new)):
        return None
    found = _search_shortest_edit(old, new, start, suffix, MAX_DIFF_WORK, goes_on=True)
    return None if found is None else list(range(start)) + found


def _count_common_prefix(old: Sequence[str], new: Sequence[str]) -> int:
    at = 0
    for a, b in zip(old, new, strict=False):
        if a != b:
            break
        at += 1
    return at


def _search_shortest_edit(
    old: Sequence[str],
    new: Sequence[str],
    start: int,
    suffix: int,
    work: int,
    *,
    goes_on: bool = False,
) -> list[int] | None:
    """Search forward from `start`; `None` when the work passes its cap, or an end is met where the
    lists go on.
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
                high, low = min(high, k - 1) if x >= n else high, max(low, k + 1) if y >= m else low
    return None


def _trace_matches(trail: _SnakeTrail | None, start: int, stop: int) -> list[int]:
    found = [NO_ORIGIN] * (stop - start)
    while trail is not None:
        trail, x, y, length = trail
        found[y - start : y - start + length] = range(x, x + length)
    return found


def _match_around_anchors(old: Sequence[str], new: Sequence[str], shift: int) -> list[int]:
    """Match the lines that are unique in both, in the longest order they share, and the equal lines
    on both sides of them.
    """
    found = [NO_ORIGIN] * len(new)
    free, anchors = 0, _find_unique_anchors(old, new)
    for i, anchor in enumerate(anchors):
        x, y = up_x, up_y = anchor
        if found[y] != NO_ORIGIN:
            continue
        while (
            up_x > free
            and up_y > 0
            and found[up_y - 1] == NO_ORIGIN
            and old[up_x - 1] == new[up_y - 1]
        ):
            up_x, up_y = up_x - 1, up_y - 1
        stop_x, stop_y = anchors[i + 1] if i + 1 < len(anchors) else (len(old), len(new))
        while x < stop_x and y < stop_y and old[x] == new[y]:
            x, y = x + 1, y + 1
        found[up_y:y] = range(up_x + shift, x + shift)
        free = x
    return found


def _find_unique_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Find the longest common order of the lines that occur once in each (the patience diff)."""
    times_old, times_new = Counter(old), Counter(new)
    places = {line: x for x, line in enumerate(old) if times_old[line] == 1}
    heads: list[int] = []
    ends: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    for y, line in enumerate(new):
        if times_new[line] == 1 and line in places:
            x = places[line]
            at = bisect_left(heads, x)
            pairs.append((x, y, ends[at - 1] if at else NO_ORIGIN))
            heads[at : at + 1], ends[at : at + 1] = [x], [len(pairs) - 1]
    order, at = [], ends[-1] if ends else NO_ORIGIN
    while at != NO_ORIGIN:
        x, y, at = pairs[at]
        order.append((x, y))
    return order[::-1]


def split_keeping_ends(text: str) -> list[str]:
    """Split text after each LF."""
    lines = text.split("\n")
    last = lines.pop()
    lines = [line + "\n" for line in lines]
    if last:
        lines.append(last)
    return lines


def strip_line_end(line: str) -> str:
    """Take away the end of a line, as a listing with line numbers shows it."""
    return line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line


def normalize_line_ends(lines: Iterable[str]) -> list[str]:
    """Give lines with plain ends: hosts show CR LF as LF and commands do not, so which of both a
    line has tells nothing.
    """
    return [line[:-2] + "\n" if line.endswith("\r\n") else line for line in lines]


def drop_byte_order_mark(lines: Sequence[str]) -> Sequence[str]:
    """Give lines without a byte order mark, which is the file's and not its first line's."""
    return [lines[0][1:], *lines[1:]] if lines and lines[0].startswith("\ufeff") else lines


def decode_file_text(data: bytes) -> str:
    """Decode a file so that `to_bytes` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def encode_file_text(text: str) -> bytes:
    """Encode text that may hold the lone surrogates of `from_bytes`."""
    return text.encode("utf-8", "surrogateescape")


def render_as_host(text: str) -> str:
    """Give text as hosts show it: CR LF as LF, without a byte order mark, and with a mark for each
    byte that is not UTF-8.
    """
    text = text.replace("\r\n", "\n")
    if not text.startswith("\ufeff") and text.isascii():
        return text
    return encode_file_text(text).decode("utf-8", "replace").removeprefix("\ufeff")

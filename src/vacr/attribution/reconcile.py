"""Known lines reconciled with an observation that contradicts them.

Somebody outside the session changed the file: the user, a formatter, another program. The observed
lines are aligned with the known ones. Equal lines keep their makers, and so do lines whose tokens a
formatter only rearranged. Lines in the place of known ones were written outside; lines
that were unknown before belong to the base. Lines around the observation stay as a guess.

Lines that are again as before the agent changed them are released: a revert shows only in the
history.

    >>> from vacr.attribution.reconcile import align_lines
    >>> known = ["def f(a,b):\\n", "    return a\\n"]
    >>> seen = ["import os\\n", "def f(a, b):\\n", "    return a\\n"]
    >>> align_lines(known, seen, makers=[-1, 0])      # -1: the line is new
    [-1, 0, 1]
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING

from vacr.attribution.chunks import PLACE_SPACING, Chunk, fill_missing_places
from vacr.edits import (
    NO_ORIGIN,
    drop_byte_order_mark,
    find_line_origins,
    normalize_line_ends,
    strip_line_end,
)

if TYPE_CHECKING:
    from vacr.attribution.file_state import FileState

_TOKEN_PATTERN = re.compile(r"\w+|[^\w\s]")
_WORD_PATTERN = re.compile(r"\w\w")
# How far lines may have moved if no line in a window shows it.
_MAX_UNSEEN_SHIFT = 20


def align_lines(known: Sequence[str], seen: Sequence[str], makers: Sequence[int]) -> list[int]:
    """Return for each seen line the index of the known line that it equals, or NO_ORIGIN.

    Lines that a formatter rearranged match too. `makers` are the makers of the known lines.
    """
    old, new = [strip_line_end(line) for line in known], [strip_line_end(line) for line in seen]
    origins = find_line_origins(old, new)
    _slide_loose_matches(origins, old, new)
    for at, stop, low, high in _find_new_line_gaps(origins, 0, len(known)):
        if low < high:
            same = _match_same_tokens(known[low:high], seen[at:stop], makers[low:high])
            origins[at:stop] = [NO_ORIGIN if i == NO_ORIGIN else i + low for i in same]
    return origins


def _slide_loose_matches(origins: list[int], old: Sequence[str], new: Sequence[str]) -> None:
    """Move runs of matches, in place, so that they end right before the next match.

    A run moves only if no match comes right before it, and only to known lines that are equal. For
    example, an empty line above a function matches the empty line that is above it now. `origins`
    has the index in `old` of each line of `new`, or NO_ORIGIN.
    """
    stop = len(origins) - 1
    while stop >= 0:
        start = stop
        while (
            start > 0
            and origins[start - 1] != NO_ORIGIN
            and origins[start - 1] == origins[start] - 1
        ):
            start -= 1
        by = (
            origins[stop + 1] - origins[stop] - 1
            if stop + 1 < len(origins) and NO_ORIGIN not in (origins[stop], origins[stop + 1])
            else 0
        )
        alone = start == 0 or origins[start - 1] == NO_ORIGIN
        if (
            by > 0
            and alone
            and new[start : stop + 1] == old[origins[start] + by : origins[stop] + by + 1]
        ):
            origins[start : stop + 1] = [i + by for i in origins[start : stop + 1]]
        stop = start - 1


def _find_new_line_gaps(
    origins: Sequence[int], first_known: int, end_known: int
) -> list[tuple[int, int, int, int]]:
    """Return each run of new lines: its start and stop, and the range of known lines at its place.

    All four are indexes. The known lines lie between the origins of the neighbours of the run; all
    origins are at least `first_known`, and less than `end_known`.
    """
    gaps, at = [], 0
    while at < len(origins):
        if origins[at] != NO_ORIGIN:
            at += 1
            continue
        stop = at
        while stop < len(origins) and origins[stop] == NO_ORIGIN:
            stop += 1
        known_first = origins[at - 1] + 1 if at else first_known
        known_end = origins[stop] if stop < len(origins) else end_known
        gaps.append((at, stop, known_first, known_end))
        at = stop
    return gaps


def _match_same_tokens(
    known: Sequence[str], seen: Sequence[str], makers: Sequence[int]
) -> list[int]:
    """Return for each seen line the index of the known line with the same tokens, or NO_ORIGIN.

    `makers` are the makers of the known lines.
    """
    old, new = [_split_tokens(line) for line in known], [_split_tokens(line) for line in seen]
    if list(chain.from_iterable(old)) == list(chain.from_iterable(new)):
        return _match_reformatted_lines(old, new, makers)
    origins = find_line_origins(
        [" ".join(tokens) for tokens in old], [" ".join(tokens) for tokens in new]
    )
    return [NO_ORIGIN if i == NO_ORIGIN or not old[i] else i for i in origins]


def _split_tokens(line: str) -> list[str]:
    """Return the words and punctuation marks of a line, without blanks."""
    return _TOKEN_PATTERN.findall(line)


def _match_reformatted_lines(
    old: Sequence[Sequence[str]], new: Sequence[Sequence[str]], makers: Sequence[int]
) -> list[int]:
    """Return for each new line the index of the old line that its first token comes from.

    Both sides have the same tokens, in other lines. NO_ORIGIN stands for a line that joins lines of
    several makers, and for a new empty line.
    """
    sources = [i for i, tokens in enumerate(old) for _ in tokens]
    empty: dict[int, list[int]] = {}
    position = 0
    for i, tokens in enumerate(old):
        if not tokens:
            empty.setdefault(position, []).append(i)
        position += len(tokens)
    matched, position = [], 0
    for tokens in new:
        if tokens:
            joined = sources[position : position + len(tokens)]
            matched.append(joined[0] if len({makers[i] for i in joined}) == 1 else NO_ORIGIN)
        else:
            matched.append(empty[position].pop(0) if empty.get(position) else NO_ORIGIN)
        position += len(tokens)
    return matched


def find_replaced_lines(
    origins: Sequence[int], apart: Callable[[int, int], bool], region: range
) -> dict[int, range]:
    """Return the index of each new line that replaced known lines, with the range of their indexes.

    `apart` returns whether unknown lines may lie between two known lines. A new line between those
    is left out, because it may be one of the unknown lines. All origins lie in the `region`.
    """
    gaps = _find_new_line_gaps(origins, region.start, region.stop)
    gaps = [gap for gap in gaps if not apart(gap[2] - 1, gap[3])]
    return {i: range(low, high) for at, stop, low, high in gaps for i in range(at, stop)}


def is_similar_line(before: str, after: str) -> bool:
    """Return whether more than half of the words and marks in `after` are also in `before`.

    Each counts once. Return `False` if `after` has none.
    """
    old, new = set(_split_tokens(before)), set(_split_tokens(after))
    return bool(new) and 2 * len(old & new) > len(new)


# --- reverted lines ---


@dataclass(frozen=True, slots=True)
class LineRun:
    """Consecutive lines of one maker, from line number `first` to `last`."""

    first: int
    last: int
    maker: int
    text: str
    fresh: bool
    mixed_with: int = 0
    """The agent's call that wrote the lines as they were before their maker changed them."""


def unattribute_reverted_lines(file: FileState, *, ended: bool = True) -> None:
    """Remove the maker of lines that are again as before an agent changed them.

    The base has such a line too, so no call wrote it: its maker becomes 0. Line ends are compared
    only if `ended`: then it is known how the lines end.
    """
    for chunk in file.chunks:
        _unattribute_unmoved_lines(file, chunk, ended=ended)
        low, at = chunk.place_first - PLACE_SPACING, 0
        ordered = not any(chunk.makers) or all(low < high for low, high in pairwise(chunk.places))
        while at < len(chunk.makers):
            if not chunk.makers[at]:
                low, at = chunk.places[at], at + 1
                continue
            stop = at
            while stop < len(chunk.makers) and chunk.makers[stop]:
                stop += 1
            high = chunk.places[stop] if stop < len(chunk.places) else chunk.place_next
            # Where lines have moved, their places prove nothing.
            known = file.base.between(low, high) if ordered else file.base.order
            if known:
                _unattribute_moved_lines(file, chunk, at, stop, known, ended=ended)
            at = stop


def _unattribute_unmoved_lines(file: FileState, chunk: Chunk, *, ended: bool) -> None:
    """Remove the maker of lines that equal the line of the base at the same place.

    `ended` has the same meaning as in `unattribute_reverted_lines`.
    """
    for i, maker in enumerate(chunk.makers):
        known = file.base.lines.get(chunk.places[i]) if maker else None
        if known is not None and _is_same_line(known, chunk.lines[i], ended=ended):
            chunk.makers[i] = 0


def _is_same_line(known: str, line: str, *, ended: bool) -> bool:
    """Return whether two lines are equal; LF and CR LF count as equal.

    If not `ended`, a line also equals the same line without a line end.
    """
    return known == line or (
        normalize_line_ends([known]) == normalize_line_ends([line])
        if ended
        else strip_line_end(known) == strip_line_end(line)
    )


def _unattribute_moved_lines(
    file: FileState, chunk: Chunk, at: int, stop: int, known: Sequence[int], *, ended: bool
) -> None:
    """Remove the maker of lines that equal lines of the base at one of the `known` places.

    Only the lines with indexes from `at` up to `stop` count. They move to these places. `ended` has
    the same meaning as in `unattribute_reverted_lines`.
    """
    places = [0] * (stop - at)
    before = normalize_line_ends(file.base.lines[place] for place in known)
    after = normalize_line_ends(chunk.lines[at:stop])
    if not ended:
        before = [strip_line_end(line) for line in before]
        after = [strip_line_end(line) for line in after]
    origins = find_line_origins(drop_byte_order_mark(before), drop_byte_order_mark(after))
    for i, origin in enumerate(origins):
        if origin != NO_ORIGIN:
            places[i], chunk.makers[at + i] = known[origin], 0
    low = chunk.places[at - 1] if at else chunk.place_first - PLACE_SPACING
    high = chunk.places[stop] if stop < len(chunk.places) else chunk.place_next
    chunk.places[at:stop] = fill_missing_places(places, low, high)


def list_line_runs(file: FileState) -> Iterator[LineRun]:
    """Yield the runs of lines that the base does not have, each with one maker.

    These are the lines of agents, and lines that were added from outside.
    """
    for chunk in file.chunks:
        makers = [
            (maker or file.outside.get(place, 0), 0 if maker else file.mixed.get(place, 0))
            for maker, place in zip(chunk.makers, chunk.places, strict=True)
        ]
        at = 0
        for (maker, mixed_with), same in groupby(makers):
            stop = at + sum(1 for _ in same)
            if maker:
                yield LineRun(
                    chunk.first + at,
                    chunk.first + stop - 1,
                    maker,
                    "".join(chunk.lines[at:stop]),
                    chunk.fresh,
                    mixed_with,
                )
            at = stop


# --- contradicting observations ---


def realign_lines(
    file: FileState,
    first: int,
    seen: Sequence[str],
    maker: int,
    *,
    whole: bool = False,
    everything: bool = False,
) -> None:
    """Replace the stale lines that shown lines, numbered from `first` on, contradict.

    Equal lines keep their makers. A line in the place of known ones came from outside, and `maker`
    is its maker; if the `whole` file was known, that is each line that it did not have. The shown
    lines are a part of the file, or `everything`.
    """
    # Do this first: afterwards the neighbours of reverted lines are different.
    unattribute_reverted_lines(file, ended=False)
    fresh = [chunk for chunk in file.chunks if chunk.fresh]
    known = [
        (chunk, i) for chunk in file.chunks if not chunk.fresh for i in range(len(chunk.lines))
    ]
    numbers = [chunk.first + i for chunk, i in known]
    lines = [chunk.lines[i] for chunk, i in known]
    region = range(len(known))
    if not everything:
        region = _find_shown_region(lines, numbers, first, seen)
    makers = [chunk.makers[i] for chunk, i in known[region.start : region.stop]]
    local = align_lines(lines[region.start : region.stop], seen, makers)
    origins = [i if i == NO_ORIGIN else i + region.start for i in local]
    window = Chunk(first, list(seen), [0] * len(seen), [0] * len(seen), 0)
    laid_out: dict[int, int] = {}
    for at, origin in enumerate(origins):
        if origin != NO_ORIGIN:
            chunk, i = known[origin]
            window.makers[at] = chunk.makers[i]
            if chunk.makers[i] or strip_line_end(chunk.lines[i]) == strip_line_end(seen[at]):
                window.places[at] = chunk.places[i]
            else:
                laid_out[at] = chunk.places[i]  # No agent made it, in either layout.
    replaced = find_replaced_lines(
        origins, _is_never_apart if whole else _make_gap_check(numbers), region
    )
    for chunk in fresh:
        for number in range(max(chunk.first, first), min(chunk.next, window.next)):
            i, at = number - chunk.first, number - first
            window.makers[at], window.places[at] = chunk.makers[i], chunk.places[i]
    _drop_descending_places(window.places)
    after = [chunk.place_first for chunk in fresh if chunk.first >= window.next]
    low = file.place_before(first, next((place for place in window.places if place), None))
    window.places = file.base.settle_places(window.places, seen, low, after[0] if after else None)
    for at, place in laid_out.items():
        if place in file.outside:
            file.outside[window.places[at]] = file.outside[place]
    for at, near in replaced.items():
        if not window.makers[at]:
            file.outside[window.places[at]] = maker
            _mark_mixed_line(file, window.places[at], seen[at], [known[i] for i in near])
    window.place_next = window.places[-1] + PLACE_SPACING
    file.put_chunks(
        [
            _join_touching_chunks(fresh, window),
            *(chunk for chunk in fresh if chunk.next < first or chunk.first > window.next),
        ]
    )
    matched = [(i, origin) for i, origin in enumerate(origins) if origin != NO_ORIGIN]
    _keep_stale_neighbours(file, known, numbers, matched, first, fresh)


def _find_shown_region(
    known: Sequence[str], numbers: Sequence[int], first: int, seen: Sequence[str]
) -> range:
    """Return the indexes of the known lines that shown lines, numbered from `first` on, replace.

    A window of a long file has many lines that occur elsewhere too. So only lines that are unique
    on both sides decide how far the window moved. Without any, it did not move far. `numbers` are
    the line numbers of the known lines.
    """
    anchors = _find_unique_anchors(known, seen)
    if not anchors:
        low = bisect_left(numbers, first - _MAX_UNSEEN_SHIFT)
        high = bisect_left(numbers, first + len(seen) + _MAX_UNSEEN_SHIFT)
        return range(0 if first == 1 else low, high)
    (top, top_at), (bottom, bottom_at) = anchors[0], anchors[-1]
    low = 0 if first == 1 else max(0, top - top_at)
    return range(low, min(len(known), bottom + len(seen) - bottom_at))


def _find_unique_anchors(known: Sequence[str], seen: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indexes in `known` and `seen` of lines that occur once in each, in rising order.

    Blanks around lines do not count. Where lines have changed their order, the longest rising
    sequence counts.
    """
    shown = _find_unique_lines(seen)
    if not shown:
        return []
    places = _find_unique_lines([line for line in known if line.strip() in shown])
    if not places:
        return []
    pairs = [(i, shown[line]) for i, text in enumerate(known) if (line := text.strip()) in places]
    tails: list[int] = []  # The last index in `seen` of the best sequence of each length.
    ends: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        length = bisect_left(tails, at)
        before.append(ends[length - 1] if length else NO_ORIGIN)
        tails[length:], ends[length:] = (
            [at, *tails[length + 1 :]],
            [number, *ends[length + 1 :]],
        )
    chain, number = [], ends[-1]
    while number != NO_ORIGIN:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _find_unique_lines(lines: Sequence[str]) -> dict[str, int]:
    """Return the lines that occur once and have a word, without blanks around them.

    The result maps each line to its index in `lines`.
    """
    stripped = [line.strip() for line in lines]
    counts = Counter(stripped)
    return {
        line: i
        for i, line in enumerate(stripped)
        if counts[line] == 1 and _WORD_PATTERN.search(line)
    }


def reformat_line(file: FileState, chunk: Chunk, i: int, line: str) -> None:
    """Replace line `i` of a chunk with its new layout, after it was reformatted from outside.

    Its maker stays. A line without a maker gets a new place, but who changed it from outside stays.
    """
    if not chunk.makers[i]:
        place = chunk.places[i]
        above = chunk.places[i + 1] if i + 1 < len(chunk.places) else chunk.place_next
        (chunk.places[i],) = file.base.settle_places([0], [line], place, above)
        if place in file.outside:
            file.outside[chunk.places[i]] = file.outside[place]
    chunk.replace_line(i, line)


def replace_lines_from_outside(
    file: FileState, chunk: Chunk, lines: Sequence[str], maker: int
) -> None:
    """Replace each line of a chunk with a new version, one by one; `maker` changed them."""
    for i, line in enumerate(lines):
        before, author = chunk.lines[i], chunk.makers[i]
        if line == before:
            continue
        if _split_tokens(line) == _split_tokens(before):
            reformat_line(file, chunk, i, line)
            continue
        chunk.makers[i] = 0
        reformat_line(file, chunk, i, line)
        place = chunk.places[i]
        file.outside[place] = maker
        if author and is_similar_line(before, line):
            file.mixed[place] = author


def _mark_mixed_line(
    file: FileState, place: int, line: str, before: Sequence[tuple[Chunk, int]]
) -> None:
    """Mark the line at a place as mixed, if it is a changed version of an agent's line.

    `before` are the known lines that it replaced, as chunks and indexes.
    """
    for chunk, i in before:
        if chunk.makers[i] and is_similar_line(chunk.lines[i], line):
            file.mixed[place] = chunk.makers[i]
            return


def _keep_stale_neighbours(
    file: FileState,
    known: Sequence[tuple[Chunk, int]],
    numbers: Sequence[int],
    matched: Sequence[tuple[int, int]],
    first: int,
    fresh: Sequence[Chunk],
) -> None:
    """Keep the stale lines around shown lines, shifted as far as the shown lines have moved.

    `known` are the stale lines with their `numbers`. `matched` pairs the indexes of shown lines
    with the indexes of the known lines that they equal; `first` is the number of the first one.
    `fresh` are the chunks that were certain before.
    """
    end = first
    if matched:
        end += matched[-1][0]
        (top, low), (bottom, high) = matched[0], matched[-1]
        up, down, high = first + top - numbers[low], first + bottom - numbers[high], high + 1
        if top and up > 0 and (numbers[low - 1] if low else 0) == first - 1:
            up = 0  # The shown lines begin with the new ones, so the lines before did not move.
    else:
        low = high = sum(number < first for number in numbers)
        up = down = 0
    # Lines beyond a certain line did not move with the shown ones.
    floor = max((chunk.next for chunk in fresh if chunk.next <= first), default=0)
    ceiling = min((chunk.first for chunk in fresh if chunk.first >= end), default=sys.maxsize)
    moved = [
        (n + up if n >= floor else n, line)
        for n, line in zip(numbers[:low], known[:low], strict=True)
    ]
    moved += [
        (n + down if n < ceiling else n, line)
        for n, line in zip(numbers[high:], known[high:], strict=True)
    ]
    pieces: list[Chunk] = []
    for number, (chunk, i) in moved:
        if number < 1 or any(other.first <= number < other.next for other in file.chunks):
            continue
        if not pieces or pieces[-1].next != number:
            pieces.append(Chunk(number, [], [], [], 0, fresh=False))
        pieces[-1].lines.append(chunk.lines[i])
        pieces[-1].makers.append(chunk.makers[i])
        pieces[-1].places.append(chunk.places[i])
        pieces[-1].place_next = chunk.places[i] + PLACE_SPACING
    file.put_chunks(file.chunks + pieces)


def _drop_descending_places(places: list[int]) -> None:
    """Set places to 0, in the list itself, that are not greater than all places before them.

    Places before the first line of the base are negative.
    """
    last: int | None = None
    for i, place in enumerate(places):
        if place and last is not None and place <= last:
            places[i] = 0
        elif place:
            last = place


def _join_touching_chunks(fresh: Sequence[Chunk], window: Chunk) -> Chunk:
    """Return a chunk of shown lines, extended by the fresh chunks that it touches."""
    before = next((chunk for chunk in fresh if chunk.first < window.first <= chunk.next), None)
    after = next((chunk for chunk in fresh if chunk.first <= window.next < chunk.next), None)
    first, place_next = window.first, window.place_next
    lines, makers, places = list(window.lines), list(window.makers), list(window.places)
    if before:
        cut = window.first - before.first
        first = before.first
        lines[:0] = before.lines[:cut]
        makers[:0] = before.makers[:cut]
        places[:0] = before.places[:cut]
    if after:
        left = window.next - after.first
        place_next = after.place_next
        lines += after.lines[left:]
        makers += after.makers[left:]
        places += after.places[left:]
    return Chunk(first, lines, makers, places, place_next)


def _is_never_apart(_low: int, _high: int) -> bool:
    """Return `False`: in a file known as a whole, no unknown lines lie between known ones."""
    return False


def _make_gap_check(numbers: Sequence[int]) -> Callable[[int, int], bool]:
    """Return a function that returns whether unknown lines may lie between two known ones.

    Its arguments are indexes of `numbers`, the line numbers of the known lines.
    """

    def may_be_apart(low: int, high: int) -> bool:
        """Return whether lines may be missing between two indexes, or beyond the known lines."""
        if low < 0 or high >= len(numbers):
            return True
        return numbers[high] - numbers[low] != high - low

    return may_be_apart

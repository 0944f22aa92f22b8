"""Putting back what was rewritten in a session that its agent writes anew: lines that say something
else than what had settled.

What the agent changed meanwhile, in other lines or the same, stays. So lines are put back one by
one, and only those by which nothing is lost that was said since. A document in one line cannot be
put back without that: it stays as it was last seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vacr.capture.hunks import Hunk, hunks
from vacr.capture.rewrites import lines_of, splice
from vacr.capture.sayings import Saying, sayings
from vacr.capture.session_journal import State
from vacr.capture.settled import Settled

_MOST = 200
"""So many ways are tried after one rewriting: each costs reading the session."""
_MOST_BYTES = 1 << 28
"""So many bytes are read for that in one session, however often it was rewritten."""
_ALIKE = 3
_NEAR = 32
_FEW = 8


@dataclass(frozen=True, slots=True)
class _Swap:
    """A line that stands at a place, if any, and the one to be put there for it, if any."""

    at: int
    found: list[bytes]
    back: list[bytes]

    def done(self, lines: list[bytes]) -> list[bytes]:
        """Give lines after it."""
        return [*lines[: self.at], *self.back, *lines[self.at + len(self.found) :]]


class PuttingBack:
    """What is put back in a session, as its journal is read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._done: list[dict[int, tuple[list[bytes], list[bytes]]]] = []
        """What was put back, one rewriting after the other: the lines of a part as they were seen,
        and as they are to be.
        """
        self._lines: dict[bytes, bytes] = {}
        """Lines that were seen, each once, however often that was."""
        self._bytes = _MOST_BYTES

    def see(self, settled: Settled, state: State) -> None:
        """Find out which lines say something else than what had settled."""
        seen = _lines(state)
        lines = dict(seen)
        size = sum(part.content.size for part in state.parts)
        # Where reading it takes long, many lines are put back at once.
        few = _FEW if size * _MOST <= _MOST_BYTES else 0
        said, tries = _said(state, lines), _MOST
        while wrong := _wrong(settled, said or []):
            for number, swap in _swaps(
                settled, state, lines, is_readable=said is not None, few=few
            ):
                if not tries or self._bytes < 0:
                    break
                tries, self._bytes = tries - 1, self._bytes - size
                changed = swap.done(lines[number])
                then = _said(state, lines | {number: changed})
                if then is None or _wrong(settled, then) >= wrong:
                    continue
                if said is None or _loses_nothing(swap, settled, said, then):
                    lines[number], said = changed, then
                    break
            else:
                break
            if not tries or self._bytes < 0:
                break
        self._keep(seen, lines)

    def _keep(self, seen: dict[int, list[bytes]], lines: dict[int, list[bytes]]) -> None:
        done = {
            number: (self._once(seen[number]), self._once(back))
            for number, back in lines.items()
            if back is not seen[number]
        }
        if done:
            self._done.append(done)

    def _once(self, lines: list[bytes]) -> list[bytes]:
        return [self._lines.setdefault(line, line) for line in lines]

    def parts(self, state: State) -> dict[str, bytes]:
        """Give the parts of a session, with what was put back."""
        lines = _lines(state)
        for done in reversed(self._done):
            for number, (seen, back) in done.items():
                lines[number] = _merged(seen, back, lines[number])
        return {part.name: b"".join(lines[part.number]) for part in state.parts}


def _lines(state: State) -> dict[int, list[bytes]]:
    return {part.number: lines_of(bytes(part.content.held or b"")) for part in state.parts}


def _merged(seen: list[bytes], back: list[bytes], now: list[bytes]) -> list[bytes]:
    """Put back in lines as they are now what was put back in them as they were seen once, where
    they have not changed since.
    """
    later = list(_line_by_line(hunks(seen, now)))
    merged = list(now)
    for hunk in reversed(list(_line_by_line(hunks(seen, back)))):
        there = [other for other in later if other.first < hunk.end and hunk.first < other.end]
        if not there:
            before = [
                other
                for other in later
                if other.end <= hunk.first and (other.first < hunk.end or hunk.end > hunk.first)
            ]
            at = hunk.first + sum(
                other.stops - other.begins - other.end + other.first for other in before
            )
            merged[at : at + hunk.end - hunk.first] = back[hunk.begins : hunk.stops]
        elif there[0][:2] == hunk[:2] and _is_one_line(hunk) and _is_one_line(there[0]):
            at = there[0].begins
            merged[at] = _merged_line(seen[hunk.first], back[hunk.begins], now[at])
    return merged


def _line_by_line(found: Iterable[Hunk]) -> Iterator[Hunk]:
    """Take hunks apart in which as many lines came as went."""
    for hunk in found:
        size = hunk.end - hunk.first
        if size != hunk.stops - hunk.begins:
            yield hunk
            continue
        for at in range(size):
            yield Hunk(hunk.first + at, hunk.first + at + 1, hunk.begins + at, hunk.begins + at + 1)


def _is_one_line(hunk: Hunk) -> bool:
    return hunk.end - hunk.first == hunk.stops - hunk.begins == 1


def _merged_line(seen: bytes, back: bytes, now: bytes) -> bytes:
    """Put back in a line what was put back in it once, unless just that has changed since."""
    (first, cut, data), (at, gone, came) = splice(seen, back), splice(seen, now)
    if at + gone <= first:
        first += len(came) - gone
    elif first + cut > at:
        return now
    return now[:first] + data + now[first + cut :]


def _swaps(
    settled: Settled, state: State, lines: dict[int, list[bytes]], *, is_readable: bool, few: int
) -> Iterator[tuple[int, _Swap]]:
    """Give the ways in which lines can be put back in some part: many at once, then one by one.

    Where something cannot be read, as little as makes it readable is put back.
    """
    compared = {number: lines_of(settled.parts.get(number, b"")) for number in lines}
    found = {number: list(hunks(old, lines[number])) for number, old in compared.items()}
    for number, old in compared.items():
        new = lines[number]
        whole = [(number, _Swap(0, new, old))] if len(found[number]) > 1 else []
        is_first = is_readable and len(found[number]) > few
        yield from whole if is_first else ()
        for hunk in found[number]:
            size, came = hunk.end - hunk.first, hunk.stops - hunk.begins
            # What the agent changed beside it is to stay.
            for at in range(size if 1 < size == came <= few else 0):
                yield (
                    number,
                    _Swap(hunk.begins + at, [new[hunk.begins + at]], [old[hunk.first + at]]),
                )
            yield (
                number,
                _Swap(hunk.begins, new[hunk.begins : hunk.stops], old[hunk.first : hunk.end]),
            )
            if 0 < size < came:
                yield (
                    number,
                    _Swap(
                        hunk.begins,
                        new[hunk.begins : hunk.begins + size],
                        old[hunk.first : hunk.end],
                    ),
                )
        yield from () if is_first else whole
    for number, old in compared.items():
        has_rows = state.parts[number].name.endswith(".jsonl")
        for hunk in found[number]:
            yield from (
                (number, swap)
                for swap in _single_swaps(old, lines[number], hunk, has_rows=has_rows)
            )


def _single_swaps(
    old: list[bytes], new: list[bytes], hunk: Hunk, *, has_rows: bool
) -> Iterator[_Swap]:
    """Give the ways in which a line can be put back: for one that is like it, without one, or by
    taking one out.
    """
    for line_at in range(hunk.first, hunk.end):
        line, near = old[line_at], hunk.begins + line_at - hunk.first
        there = range(max(hunk.begins, near - _NEAR), min(hunk.stops, near + _NEAR))
        alike = sorted(there, key=lambda at, line=line: splice(new[at], line)[1])[:_ALIKE]  # type: ignore[misc]
        yield from (_Swap(at, [new[at]], [line]) for at in alike)
    if has_rows:
        # Rows that are gone, where others came meanwhile.
        yield _Swap(hunk.begins, [], old[hunk.first : hunk.end])
        yield from (_Swap(hunk.begins, [], [line]) for line in old[hunk.first : hunk.end])
        yield from (_Swap(at, [new[at]], []) for at in range(hunk.begins, hunk.stops))


def _said(state: State, lines: dict[int, list[bytes]]) -> list[Saying] | None:
    return sayings(state.agent, [(part.name, b"".join(lines[part.number])) for part in state.parts])


def _wrong(settled: Settled, said: list[Saying]) -> int:
    """Count what is not as it had settled."""
    return sum(one.weight for one in settled.differences(said))


def _loses_nothing(swap: _Swap, settled: Settled, said: list[Saying], then: list[Saying]) -> bool:
    """Tell whether all that comes back had settled, or was open, and all that goes stands for
    something of the same name.
    """
    before, after = Counter(one.words for one in said), Counter(one.words for one in then)
    known = {_name(one) for one in (*settled.entries, *settled.open)}
    if any(_name(one) not in known for one in then if after[one.words] > before[one.words]):
        return False
    named = {_name(one) for one in then if one.name}
    # What is only taken out, and sets something right, came in where nothing could come any more.
    return not swap.back or all(
        _name(one) in named for one in said if before[one.words] > after[one.words]
    )


def _name(one: Saying) -> tuple[str, str]:
    """Name an entry; a message keeps its name, whoever is made out to have said it."""
    return ("message" if one.kind in ("user", "assistant") else one.kind, one.name)

"""Putting back what was rewritten in a session that its agent writes anew: lines that say something else than what had settled.

What the agent changed meanwhile, in other lines or the same, stays. So lines are put back one by one, and only those by which
nothing is lost that was said since. A document in one line cannot be put back without that: it stays as it was last seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from vacr.capture.contents import hunks, lines_of, splice
from vacr.capture.sayings import Saying, sayings
from vacr.capture.session_journal import State
from vacr.capture.settled import Settled

_MOST = 200
"""So many ways are tried after one rewriting: each costs reading the session."""
_ALIKE = 3


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
        self._done: list[tuple[int, bytes, _Swap]] = []
        """What was put back: in which part, after which line, and what."""

    def see(self, settled: Settled, state: State) -> None:
        """Find out which lines say something else than what had settled."""
        lines = {part.number: lines_of(bytes(part.content.held or b"")) for part in state.parts}
        said = _said(state, lines)
        tries = _MOST
        while said is not None and (wrong := _wrong(settled, said)):
            for number, swap in _swaps(settled, state, lines):
                if not tries:
                    return
                tries -= 1
                changed = swap.done(lines[number])
                then = _said(state, lines | {number: changed})
                if then is not None and _wrong(settled, then) < wrong and _loses_nothing(swap, settled, said, then):
                    self._done.append((number, lines[number][swap.at - 1] if swap.at else b"", swap))
                    lines[number], said = changed, then
                    break
            else:
                return

    def parts(self, state: State) -> dict[str, bytes]:
        """Give the parts of a session, with what was put back."""
        lines = {part.number: lines_of(bytes(part.content.held or b"")) for part in state.parts}
        for number, after, swap in reversed(self._done):
            there = lines[number]
            for found in swap.found:
                if found in there:
                    there[:] = replace(swap, at=there.index(found)).done(there)
            if not swap.found:
                there[:] = replace(swap, at=there.index(after) + 1 if after in there else 0 if not after else len(there)).done(
                    there
                )
        return {part.name: b"".join(lines[part.number]) for part in state.parts}


def _swaps(settled: Settled, state: State, lines: dict[int, list[bytes]]) -> Iterator[tuple[int, _Swap]]:
    """Give the ways in which a line can be put back in some part: for one that is like it, without one, or by taking one out."""
    for number, new in lines.items():
        has_rows = state.parts[number].name.endswith(".jsonl")
        old = lines_of(settled.parts.get(number, b""))
        for hunk in hunks(old, new):
            there = range(hunk.begins, hunk.stops)
            for line in old[hunk.first : hunk.end]:
                alike = sorted(there, key=lambda at, line=line: splice(new[at], line)[1])[:_ALIKE]  # type: ignore[misc]
                yield from ((number, _Swap(at, [new[at]], [line])) for at in alike)
                if has_rows:
                    yield number, _Swap(hunk.begins, [], [line])
            yield from ((number, _Swap(at, [new[at]], [])) for at in there)


def _said(state: State, lines: dict[int, list[bytes]]) -> list[Saying] | None:
    return sayings(state.agent, [(part.name, b"".join(lines[part.number])) for part in state.parts])


def _wrong(settled: Settled, said: list[Saying]) -> int:
    """Count what is not as it had settled."""
    return sum(one.weight for one in settled.differences(said))


def _loses_nothing(swap: _Swap, settled: Settled, said: list[Saying], then: list[Saying]) -> bool:
    """Tell whether all that comes back had settled, and all that goes stands for something of the same name."""
    before, after = Counter(one.words for one in said), Counter(one.words for one in then)
    known = {(one.kind, one.name) for one in settled.entries}
    if any((one.kind, one.name) not in known for one in then if after[one.words] > before[one.words]):
        return False
    named = {(one.kind, one.name) for one in then if one.name}
    # What is only taken out, and sets something right, came in where nothing could come any more.
    return not swap.back or all((one.kind, one.name) in named for one in said if before[one.words] > after[one.words])

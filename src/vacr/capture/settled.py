"""What has settled of a session that its agent writes anew, and what became of that.

An agent that keeps a session in a database, or writes its file whole each time, changes what it wrote: an answer grows, a call
gets its result. The bytes tell nothing there; what the session says does. An entry has settled when a sealed record holds it, or
when it was the same for a minute and is no call without a result. From then on it may go on until the user does or it is sealed.
That it says something else, or is gone, is history rewritten, by whomever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from vacr.capture.contents import hunks
from vacr.capture.sayings import Saying, holds, is_grown, sayings
from vacr.capture.session_journal import State

_MINUTE = 60_000_000_000
_STOOD = 2_000_000_000
"""Nanoseconds that a state has to last to be looked at: a shorter one may be half of a change."""
_LARGE = 1 << 23
"""Bytes that may be looked at each minute; a session that is larger is looked at more seldom."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of something that had settled."""

    entry: Saying
    what: str
    weight: int = 1
    """What is gone weighs more than what changed; nothing, where only what is noted beside the words has changed."""

    @property
    def is_rewritten(self) -> bool:
        """Whether it is history that was rewritten."""
        return self.weight > 0

    def __str__(self) -> str:
        """Name the entry, and what became of it."""
        return f"{self.entry}{self.what}"


class Settled:
    """The entries of a session that have settled, up to a moment of its journal."""

    def __init__(self, rewritten: Callable[[Settled, State], None] = lambda _settled, _state: None) -> None:
        """Begin with none; whoever wants to know is told when a session is about to be taken as it was rewritten."""
        self._rewritten = rewritten
        self.entries: list[Saying] = []
        self.parts: dict[int, bytes] = {}
        """The bytes that were looked at last."""
        self._sealed: Counter[bytes] = Counter()
        self._seen: Counter[bytes] = Counter()
        self._open: set[object] = set()
        """The calls whose results were not there; those may still come."""
        self._looked = 0

    def look(self, state: State, until: int) -> list[Difference]:
        """Look at what a session was like until some moment, if it is time to; gives what became of what had settled."""
        stood = abs(until - state.changed)
        pause = _MINUTE * (1 + sum(part.content.size for part in state.parts) // _LARGE)
        if stood < _STOOD or (stood < _MINUTE and abs(until - self._looked) < pause):
            return []
        now = said_in(state)
        if now is None:
            return []
        found = list(self.differences(now))
        if any(one.is_rewritten for one in found):
            self._rewritten(self, state)
        self._take(now, stood=stood >= _MINUTE)
        self._looked = until
        self.parts = {part.number: bytes(part.content.held or b"") for part in state.parts}
        return found

    def seal(self, state: State) -> list[Difference]:
        """Note that a record was sealed of a session as it is."""
        found = self.look(state, state.changed + _MINUTE)
        self._sealed = Counter(one.words for one in self.entries)
        return found

    def differences(self, now: Sequence[Saying]) -> Iterator[Difference]:
        """Tell what became of what had settled."""
        named = {(one.kind, one.name): one for one in now if one.name}
        missing = Counter(one.words for one in self.entries) - Counter(one.words for one in now)
        sealed = sum(self._sealed.values())
        last = max((at for at, one in enumerate(self.entries) if one.kind == "user"), default=0)
        for hunk in hunks([one.words for one in self.entries], [one.words for one in now]):
            replaced = list(now[hunk.begins : hunk.stops])
            for at in range(hunk.first, hunk.end):
                before = self.entries[at]
                if not missing[before.words]:
                    continue  # it stands elsewhere
                after = named.get((before.kind, before.name)) or next((one for one in replaced if one.kind == before.kind), None)
                if after in replaced:
                    replaced.remove(after)
                is_sealed = self._sealed[before.words] > 0
                if after is not None and is_grown(before, after) and not (is_sealed and at < last):
                    if is_sealed or at < last:
                        yield Difference(before, " has gone on, though it was over", 0)
                else:
                    yield Difference(before, " vanished", 2) if after is None else Difference(before, " changed")
            for one in replaced if hunk.end < sealed else ():
                if one.entry.get("call-id") not in self._open:
                    yield Difference(one, f" is new before {self.entries[hunk.end]}")
        yield from self._beside(now)

    def _beside(self, now: Iterable[Saying]) -> Iterator[Difference]:
        """Tell what changed of what is noted beside words that are the same."""
        noted: dict[bytes, list[Saying]] = {}
        for one in now:
            noted.setdefault(one.words, []).append(one)
        for before in self.entries:
            others = noted.get(before.words)
            if others and not any(holds(one.entry, before.entry) for one in others):
                yield Difference(before, ": what is noted beside its words changed", 0)

    def _take(self, now: Sequence[Saying], *, stood: bool) -> None:
        """Take what has settled by now: what had, if it is still there, and what was the same the last time."""
        known = Counter(one.words for one in self.entries) | self._seen
        self._seen = Counter(one.words for one in now)
        self._open = {one.entry.get("call-id") for one in now if one.is_open}
        self.entries = [one for one in now if not one.is_open and (stood or known[one.words] > 0)]
        self._sealed &= Counter(one.words for one in self.entries)


def said_in(state: State) -> list[Saying] | None:
    """Give what a session says as its journal has it; nothing where that cannot be told."""
    return sayings(state.agent, [(part.name, bytes(part.content.held or b"")) for part in state.parts])

"""What has settled of a session that its agent writes anew, and what became of that.

An agent that keeps a session in a database, or writes its file whole each time, changes what it
wrote: an answer grows, a call gets its result. The bytes tell nothing there; what the session says
does. An entry has settled when a sealed record holds it, or when it was the same for a minute and
is no call without a result. From then on it may go on until the user does or it is sealed. That it
says something else, or is gone, is history rewritten, by whomever.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vacr.capture.hunks import hunks
from vacr.capture.sayings import Saying, holds, is_grown, sayings
from vacr.capture.session_journal import State

_MINUTE = 60_000_000_000
_STOOD = 2_000_000_000
"""Nanoseconds that a state has to last to show what was rewritten: a shorter one may be half of a
change.
"""
_LARGE = 1 << 23
"""Bytes that may be looked at each minute; a session that is larger is looked at more seldom."""
_CALLS = ("tool-call", "tool-result")


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of something that had settled."""

    entry: Saying
    what: str
    weight: int = 1
    """What is gone weighs more than what changed; nothing, where only what is noted beside the
    words has changed.
    """

    @property
    def is_rewritten(self) -> bool:
        """Whether it is history that was rewritten."""
        return self.weight > 0

    def __str__(self) -> str:
        """Name the entry, and what became of it."""
        return f"{self.entry}{self.what}"


class Settled:
    """The entries of a session that have settled, up to a moment of its journal."""

    def __init__(
        self, rewritten: Callable[[Settled, State], None] = lambda _settled, _state: None
    ) -> None:
        """Begin with none; whoever wants to know is told when a session is about to be taken as it
        was rewritten.
        """
        self._rewritten = rewritten
        self.entries: list[Saying] = []
        self.parts: dict[int, bytes] = {}
        """The bytes that were looked at last."""
        self._sealed: Counter[bytes] = Counter()
        self._seen: Counter[bytes] = Counter()
        self.open: list[Saying] = []
        """The calls whose results were not there; those may still come."""
        self._looked = 0
        self._last = 0
        """Where the user said something last."""
        self._names: set[str] = set()

    def look(self, state: State, until: int) -> list[Difference]:
        """Look at what a session was like until some moment, if it is time to; gives what became of
        what had settled.
        """
        stood = abs(until - state.changed)
        pause = _MINUTE * (1 + sum(part.content.size for part in state.parts) // _LARGE)
        if stood < _MINUTE and abs(until - self._looked) < (
            pause if stood >= _STOOD else pause + _STOOD
        ):
            return []
        now = said_in(state)
        if now is None:
            return []
        found = list(self.differences(now))
        if any(one.is_rewritten for one in found):
            if stood < _STOOD:
                # One who changes something all the time is not to hide what stays.
                self._looked = until
                return []
            self._rewritten(self, state)
        self._take(now, stood=stood >= _MINUTE)
        self._looked = until
        self.parts = {part.number: bytes(part.content.held or b"") for part in state.parts}
        return found

    def seal(self, state: State) -> list[Difference]:
        """Note that a record was sealed of a session as it is."""
        found = self.look(state, state.changed + _MINUTE)
        if self.entries and said_in(state) is None:
            # Nobody writes at it any more, and it cannot be read.
            self._rewritten(self, state)
        self._sealed = Counter(one.words for one in self.entries)
        return found

    def differences(self, now: Sequence[Saying]) -> Iterator[Difference]:
        """Tell what became of what had settled."""
        known, there = Counter(one.words for one in self.entries), Counter(one.words for one in now)
        named = {(one.kind, one.name): one for one in now if one.name}
        for hunk in hunks([one.words for one in self.entries], [one.words for one in now]):
            replaced = {one.number: one for one in now[hunk.begins : hunk.stops]}
            alike = _by_kind(replaced.values())
            for at in range(hunk.first, hunk.end):
                before = self.entries[at]
                if known[before.words] <= there[before.words]:
                    continue  # it stands elsewhere
                after = (
                    named.get((before.kind, before.name))
                    if before.name
                    else _next(alike.get(before.kind), replaced)
                )
                if after is not None:
                    replaced.pop(after.number, None)
                yield from self._became(at, after)
            new = (one for one in replaced.values() if there[one.words] > known[one.words])
            yield from self._came_in(hunk.end, new)
        yield from self._moved(
            now, {words for words, count in known.items() if count == there[words] == 1}
        )
        yield from self._beside(now)

    def _became(self, at: int, after: Saying | None) -> Iterator[Difference]:
        """Tell what it is that an entry became."""
        before = self.entries[at]
        if after is None:
            yield Difference(before, " vanished", 2)
        elif not is_grown(before, after) or (self._sealed[before.words] and at < self._last):
            yield Difference(before, " changed")
        elif self._is_over(at) or before.kind == "user":
            yield Difference(before, " has gone on, though it was over", 0)

    def _came_in(self, at: int, new: Iterable[Saying]) -> Iterator[Difference]:
        """Tell what came in before an entry, unless it is of a call that was open."""
        is_sealed = at < sum(self._sealed.values())
        awaited = {one.entry.get("call-id") for one in self.open}
        for one in new if is_sealed or at <= self._last < len(self.entries) else ():
            is_awaited = one.kind in _CALLS and one.entry.get("call-id") in awaited
            if not is_awaited and (
                is_sealed or (one.kind not in _CALLS and one.name not in self._names)
            ):
                yield Difference(one, f" is new before {self.entries[at]}", int(is_sealed))

    def _moved(self, now: Iterable[Saying], once: set[bytes]) -> Iterator[Difference]:
        """Tell which of the entries that are there once stand in another order."""
        before = [one for one in self.entries if one.words in once]
        order, found = (
            [one.words for one in before],
            [one.words for one in now if one.words in once],
        )
        for hunk in hunks(order, found) if order != found else ():
            yield from (
                Difference(one, " stands elsewhere") for one in before[hunk.first : hunk.end]
            )

    def _beside(self, now: Iterable[Saying]) -> Iterator[Difference]:
        """Tell what changed of what is noted beside words that are the same; an agent does so until
        the user goes on.
        """
        noted: dict[bytes, list[Saying]] = {}
        for one in now:
            noted.setdefault(one.words, []).append(one)
        for at, before in enumerate(self.entries):
            others = noted.get(before.words) if self._is_over(at) else None
            if others and not any(holds(one.entry, before.entry) for one in others):
                yield Difference(before, ": what is noted beside its words changed", 0)

    def _is_over(self, at: int) -> bool:
        """Tell whether an entry was sealed, or the user went on after it."""
        return at < self._last or self._sealed[self.entries[at].words] > 0

    def _take(self, now: Sequence[Saying], *, stood: bool) -> None:
        """Take what has settled by now: what had, if it is still there, and what was the same the
        last time.
        """
        known = Counter(one.words for one in self.entries) | self._seen
        self._seen = Counter(one.words for one in now)
        self.open = [one for one in now if one.is_open]
        self.entries = [one for one in now if not one.is_open and (stood or known[one.words] > 0)]
        self._sealed &= Counter(one.words for one in self.entries)
        self._last = max(
            (at for at, one in enumerate(self.entries) if one.kind == "user"), default=0
        )
        self._names = {one.name for one in self.entries if one.name}


def _by_kind(entries: Iterable[Saying]) -> dict[str, deque[Saying]]:
    """Sort entries that have no names by their kinds."""
    found: dict[str, deque[Saying]] = {}
    for one in (one for one in entries if not one.name):
        found.setdefault(one.kind, deque()).append(one)
    return found


def _next(entries: deque[Saying] | None, left: Mapping[int, Saying]) -> Saying | None:
    """Give the next of some entries that is still left."""
    while entries:
        found = entries.popleft()
        if found.number in left:
            return found
    return None


def said_in(state: State) -> list[Saying] | None:
    """Give what a session says as its journal has it; nothing where that cannot be told."""
    return sayings(
        state.agent, [(part.name, bytes(part.content.held or b"")) for part in state.parts]
    )

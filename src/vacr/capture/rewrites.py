"""How lines became others: which stayed, and which came for which, in bounded time.

How bytes became others: by which splices, which lines changed, and what was added after those
that were seen.

What a session says, entry by entry, as its reader understands it: the words, which stay, and
what is noted beside them.

What has settled of a session that its agent writes anew, and what became of that.

An agent that keeps a session in a database, or writes its file whole each time, changes what it
wrote: an answer grows, a call gets its result. The bytes tell nothing there; what the session says
does. An entry has settled when a sealed record holds it, or when it was the same for a minute and
is no call without a result. From then on it may go on until the user does or it is sealed. That it
says something else, or is gone, is history rewritten, by whomever.

Putting back what was rewritten in a session that its agent writes anew: lines that say something
else than what had settled.

What the agent changed meanwhile, in other lines or the same, stays. So lines are put back one by
one, and only those by which nothing is lost that was said since. A document in one line cannot be
put back without that: it stays as it was last seen.
"""

from __future__ import annotations

import bisect
import difflib
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from vacr.agents import Source, SourcePart, load_readers
from vacr.capture.journal import SessionState
from vacr.errors import VacrError
from vacr.model import JsonObject
from vacr.record import encode_canonical_json, walk_entries

_MAX_COMPARISON_STEPS = 1 << 23
"""So many steps are taken to find the best way in which lines became others."""


class Hunk(NamedTuple):
    """Lines from `first` to before `end`, for which others stand now, from `begins` to before
    `stops`.
    """

    first: int
    end: int
    begins: int
    stops: int


def find_hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Hunk]:
    """Compare lines; very many that differ are compared roughly, for the best way would
    take long.
    """
    shorter = min(len(old), len(new))
    front = find_common_length(shorter, lambda low, high: old[low:high] == new[low:high])
    back = find_common_length(
        shorter - front,
        lambda low, high: (
            old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
        ),
    )
    first, begins = front, front
    for at, found, size in [
        *_find_matching_lines(old, new, front, back),
        (len(old) - back, len(new) - back, 0),
    ]:
        if first < at or begins < found:
            yield Hunk(first, at, begins, found)
        first, begins = at + size, found + size


def _find_matching_lines(
    old: Sequence[bytes], new: Sequence[bytes], front: int, back: int
) -> Iterator[tuple[int, int, int]]:
    """Give lines that are the same, each with its two places; between those that are there once,
    others are looked for.
    """
    steps = _MAX_COMPARISON_STEPS
    first = begins = front
    end, stops = len(old) - back, len(new) - back
    whole = _estimate_steps(old[front:end], new[front:stops])
    anchors = _match_unique_lines(old, new, front, back) if whole > steps else []
    for at, found in [*anchors, (end, stops)]:
        rest, now = old[first:at], new[begins:found]
        cost = _estimate_steps(rest, now) if rest and now else 0
        matching = _match_optimally if cost <= steps else _match_greedily
        steps -= min(cost, steps)
        for one, other, size in matching(rest, now):
            yield first + one, begins + other, size
        if at < end:
            yield at, found, 1
        first, begins = at + 1, found + 1


def _estimate_steps(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """Tell how many steps the best way may take at most."""
    before, after = Counter(old), Counter(new)
    return sum(count * after[line] for line, count in before.items()) * min(len(old), len(new))


def _match_unique_lines(
    old: Sequence[bytes], new: Sequence[bytes], front: int, back: int
) -> list[tuple[int, int]]:
    """Give as many as can be of the lines that are there once, and stand in the same order."""
    before, after = Counter(old[front : len(old) - back]), Counter(new[front : len(new) - back])
    places = {
        line: at
        for at, line in enumerate(old[front : len(old) - back], front)
        if before[line] == after[line] == 1
    }
    ends: list[int] = []
    chains: list[_UniqueLine] = []
    for found, line in enumerate(new[front : len(new) - back], front):
        if (at := places.get(line)) is not None:
            length = bisect.bisect_left(ends, at)
            one = _UniqueLine(at, found, chains[length - 1] if length else None)
            ends[length : length + 1], chains[length : length + 1] = [at], [one]
    result = []
    last = chains[-1] if chains else None
    while last is not None:
        result.append((last.at, last.found))
        last = last.before
    return result[::-1]


class _UniqueLine(NamedTuple):
    """A line that is there once, before and now, and the one before it in the longest chain of such
    lines.
    """

    at: int
    found: int
    before: _UniqueLine | None


def _match_optimally(old: Sequence[bytes], new: Sequence[bytes]) -> Iterable[tuple[int, int, int]]:
    return difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()


def _match_greedily(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int]]:
    """Give lines that are the same, each with its two places: the next that is found, be there
    better ones or not.
    """
    places: dict[bytes, list[int]] = {}
    for at, line in enumerate(old):
        places.setdefault(line, []).append(at)
    after = 0
    for found, line in enumerate(new):
        there = places.get(line, ())
        at = bisect.bisect_left(there, after)
        if at < len(there):
            yield there[at], found, 1
            after = there[at] + 1


def find_common_length(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Give the largest size up to which something is the same, by halves; each is compared once."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


_MIN_DIFF_SIZE = 1 << 12
"""So many bytes are not worth looking for what is the same in them."""


def find_splice(old: bytes, new: bytes) -> tuple[int, int, bytes]:
    """Say how bytes became others: from where on, how many were cut, and what came for them."""
    shorter = min(len(old), len(new))
    front = find_common_length(shorter, lambda low, high: old[low:high] == new[low:high])
    back = find_common_length(
        shorter - front,
        lambda low, high: (
            old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
        ),
    )
    return front, len(old) - front - back, new[front : len(new) - back]


def find_splices(old: bytes, new: bytes) -> list[tuple[int, int, bytes]]:
    """Say how bytes became others, with few that stay the same: changes from the last to the first,
    to be made in that order.
    """
    whole = find_splice(old, new)
    if whole[1] <= _MIN_DIFF_SIZE or len(whole[2]) <= _MIN_DIFF_SIZE:
        return [whole]
    before, after = split_lines(old), split_lines(new)
    starts = [0, *itertools.accumulate(map(len, before))]
    found = []
    for hunk in find_hunks(before, after):
        at, cut, data = find_splice(
            old[starts[hunk.first] : starts[hunk.end]], b"".join(after[hunk.begins : hunk.stops])
        )
        found.append((starts[hunk.first] + at, cut, data))
    return found[::-1]


@dataclass(frozen=True, slots=True)
class LineChange:
    """Lines that were seen, and later were others or gone, or that others came before; numbered
    from one, as first seen.
    """

    first: int
    last: int
    what: str

    def __str__(self) -> str:
        """Name the lines."""
        lines = (
            f"line {self.first}"
            if self.first == self.last
            else f"lines {self.first} to {self.last}"
        )
        return f"{lines} {self.what}"


def find_line_changes(seen: bytes, now: bytes) -> Iterator[LineChange]:
    """Tell which lines that were seen are others now, or gone, or have others before them that were
    not there.

    What was added after them is no change, nor is the rest of a line that was half written when it
    was seen.
    """
    if now.startswith(seen):
        return
    old, new = split_lines(seen), split_lines(now)
    if (
        not old[-1].endswith(b"\n")
        and new[len(old) - 1 : len(old)]
        and new[len(old) - 1].startswith(old[-1])
    ):
        old.pop()
    for hunk in find_hunks(old, new):
        if hunk.first == hunk.end and hunk.first < len(old):
            yield LineChange(
                hunk.first + 1, hunk.first + 1, f"has {hunk.stops - hunk.begins} new before it"
            )
        changed = min(hunk.end, hunk.first + hunk.stops - hunk.begins)
        if changed > hunk.first:
            yield LineChange(hunk.first + 1, changed, "changed")
        if hunk.end > changed:
            yield LineChange(changed + 1, hunk.end, "vanished")


def find_appended_bytes(seen: bytes, now: bytes) -> bytes:
    """Give what was added after the lines that were seen, whatever became of those."""
    if now.startswith(seen):
        return now[len(seen) :]
    old, new = split_lines(seen), split_lines(now)
    *_, last = find_hunks(old, new)
    if last.end < len(old):
        return b""
    return b"".join(new[last.begins + last.end - last.first : last.stops])


def split_lines(data: bytes) -> list[bytes]:
    """Take bytes apart into lines, each with its end."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


_COMPARED_MEMBERS = {
    "user": ("timestamp", "content"),
    "assistant": ("timestamp", "model-id", "content"),
    "reasoning": ("timestamp", "content", "encrypted", "subject"),
    "tool-call": ("timestamp", "name", "input"),
    "tool-result": ("timestamp", "output", "is-error"),
}
"""What is said and done, by the types of entries. Events tell about the session, and are written
anew as it goes on.
"""
_IGNORED_MEMBERS = ("time_updated", "vacr")
"""What a database notes of each row when it is written, whatever is in it, and what a reader made
of the entry.
"""

_GEMINI_CONTEXT_START = b'"text":"<session_context>'
"""How what Gemini CLI says in the name of the user begins, before that one says anything."""


@dataclass(frozen=True, slots=True)
class ComparableEntry:
    """An entry that says or does something."""

    number: int
    kind: str
    name: str
    """Its own id, or that of the call; nothing where it has none."""
    words: bytes
    entry: JsonObject
    """All of it, without its children."""
    is_open: bool = False
    """Whether it is a call whose result is not there."""

    def __str__(self) -> str:
        """Name it."""
        return (
            f"entry {self.number} ({self.kind} {self.name})"
            if self.name
            else f"entry {self.number} ({self.kind})"
        )


def parse_comparable_entries(
    agent: str, parts: Iterable[tuple[str, bytes]]
) -> list[ComparableEntry] | None:
    """Give what a session says; nothing where that cannot be told, because a file of it is half
    written.
    """
    source = Source(tuple(SourcePart(name, data) for name, data in parts))
    if not source.parts:
        return None
    try:
        entries = [
            one
            for reading in load_readers()[agent].read(source)
            for one in walk_entries(reading.record["session"]["entries"])
        ]
    except VacrError:
        return None
    if any(entry.get("event-type") == "undecodable" for entry in entries):
        return None
    answered = {entry.get("call-id") for entry in entries if entry["type"] == "tool-result"}
    found = []
    for number, entry in enumerate(entries, 1):
        kind = entry["type"]
        if kind in _COMPARED_MEMBERS:
            alone = _drop_ignored_members(
                {member: value for member, value in entry.items() if member != "children"}
            )
            said = {member: alone[member] for member in _COMPARED_MEMBERS[kind] if member in alone}
            call = entry.get("call-id")
            is_open = kind == "tool-call" and call not in answered
            name = str(entry.get("id") or call or "")
            found.append(
                ComparableEntry(
                    number, kind, name, encode_canonical_json([kind, name, said]), alone, is_open
                )
            )
    return found


def count_record_entries(agent: str, parts: Iterable[tuple[str, bytes]]) -> int | None:
    """Count the entries that a record of a session would have; nothing where a file of it is half
    written.
    """
    try:
        readings = load_readers()[agent].read(
            Source(tuple(SourcePart(name, data) for name, data in parts))
        )
        return sum(len(reading.record["session"]["entries"]) for reading in readings)
    except VacrError:
        return None


def has_activity(said: list[ComparableEntry] | None) -> bool:
    """Tell whether anybody said or did anything in a session; so it may be where that cannot be
    told.
    """
    return said is None or any(
        one.kind != "user" or _GEMINI_CONTEXT_START not in one.words for one in said
    )


def _drop_ignored_members(entry: JsonObject) -> JsonObject:
    """Leave out of an entry, and of the pieces of its content, what says nothing about it."""
    told = {member: value for member, value in entry.items() if member not in _IGNORED_MEMBERS}
    if isinstance(content := told.get("content"), list):
        told["content"] = [
            _drop_ignored_members(piece) if isinstance(piece, dict) else piece for piece in content
        ]
    return (
        told
        if told.get("content") != []
        else {member: value for member, value in told.items() if member != "content"}
    )


def is_continuation(before: ComparableEntry, after: ComparableEntry) -> bool:
    """Tell whether somebody only went on: all that was said is there, and more after it."""
    old, new = before.entry, after.entry
    if (before.kind, before.name) != (after.kind, after.name) or bool(old.get("is-error")) != bool(
        new.get("is-error")
    ):
        return False
    beside = [
        member
        for member in _COMPARED_MEMBERS[before.kind]
        if member not in ("content", "output", "is-error")
    ]
    said = "output" if before.kind == "tool-result" else "content"
    return all(old.get(one) in (None, new.get(one)) for one in beside) and _is_extended_value(
        old.get(said), new.get(said)
    )


def _is_extended_value(old: Any, new: Any) -> bool:
    if old is None or old == new:
        return True
    if isinstance(old, str):
        return isinstance(new, str) and new.startswith(old)
    if isinstance(old, list):
        last = len(old) - 1
        return (
            isinstance(new, list)
            and len(new) > last
            and old[:last] == new[:last]
            and (not old or _is_extended_value(old[-1], new[last]))
        )
    if isinstance(old, dict) and isinstance(new, dict):
        return all(
            name in new and _is_extended_value(value, new[name]) for name, value in old.items()
        )
    return False


def has_all_members(entry: Any, before: Any) -> bool:
    """Tell whether an entry still has every member that it had, with the same value."""
    if isinstance(before, dict) and isinstance(entry, dict):
        return all(
            name in entry and has_all_members(entry[name], value) for name, value in before.items()
        )
    return bool(entry == before)


_MINUTE_NS = 60_000_000_000
_MIN_STABLE_NS = 2_000_000_000
"""Nanoseconds that a state has to last to show what was rewritten: a shorter one may be half of a
change.
"""
_BYTES_PER_MINUTE = 1 << 23
"""Bytes that may be looked at each minute; a session that is larger is looked at more seldom."""
_CALL_ENTRY_TYPES = ("tool-call", "tool-result")


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """What became of something that had settled."""

    entry: ComparableEntry
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


class SettledEntries:
    """The entries of a session that have settled, up to a moment of its journal."""

    def __init__(
        self,
        rewritten: Callable[[SettledEntries, SessionState], None] = lambda _settled, _state: None,
    ) -> None:
        """Begin with none; whoever wants to know is told when a session is about to be taken as it
        was rewritten.
        """
        self._rewritten = rewritten
        self.entries: list[ComparableEntry] = []
        self.parts: dict[int, bytes] = {}
        """The bytes that were looked at last."""
        self._sealed: Counter[bytes] = Counter()
        self._seen: Counter[bytes] = Counter()
        self.open: list[ComparableEntry] = []
        """The calls whose results were not there; those may still come."""
        self._looked = 0
        self._last = 0
        """Where the user said something last."""
        self._names: set[str] = set()

    def look(self, state: SessionState, until: int) -> list[EntryDifference]:
        """Look at what a session was like until some moment, if it is time to; gives what became of
        what had settled.
        """
        stood = abs(until - state.changed)
        pause = _MINUTE_NS * (
            1 + sum(part.content.size for part in state.parts) // _BYTES_PER_MINUTE
        )
        if stood < _MINUTE_NS and abs(until - self._looked) < (
            pause if stood >= _MIN_STABLE_NS else pause + _MIN_STABLE_NS
        ):
            return []
        now = parse_state_entries(state)
        if now is None:
            return []
        found = list(self.differences(now))
        if any(one.is_rewritten for one in found):
            if stood < _MIN_STABLE_NS:
                # One who changes something all the time is not to hide what stays.
                self._looked = until
                return []
            self._rewritten(self, state)
        self._take(now, stood=stood >= _MINUTE_NS)
        self._looked = until
        self.parts = {part.number: bytes(part.content.held or b"") for part in state.parts}
        return found

    def seal(self, state: SessionState) -> list[EntryDifference]:
        """Note that a record was sealed of a session as it is."""
        found = self.look(state, state.changed + _MINUTE_NS)
        if self.entries and parse_state_entries(state) is None:
            # Nobody writes at it any more, and it cannot be read.
            self._rewritten(self, state)
        self._sealed = Counter(one.words for one in self.entries)
        return found

    def differences(self, now: Sequence[ComparableEntry]) -> Iterator[EntryDifference]:
        """Tell what became of what had settled."""
        known, there = Counter(one.words for one in self.entries), Counter(one.words for one in now)
        named = {(one.kind, one.name): one for one in now if one.name}
        for hunk in find_hunks([one.words for one in self.entries], [one.words for one in now]):
            replaced = {one.number: one for one in now[hunk.begins : hunk.stops]}
            alike = _group_unnamed_entries(replaced.values())
            for at in range(hunk.first, hunk.end):
                before = self.entries[at]
                if known[before.words] <= there[before.words]:
                    continue  # it stands elsewhere
                after = (
                    named.get((before.kind, before.name))
                    if before.name
                    else _pop_remaining_entry(alike.get(before.kind), replaced)
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

    def _became(self, at: int, after: ComparableEntry | None) -> Iterator[EntryDifference]:
        """Tell what it is that an entry became."""
        before = self.entries[at]
        if after is None:
            yield EntryDifference(before, " vanished", 2)
        elif not is_continuation(before, after) or (self._sealed[before.words] and at < self._last):
            yield EntryDifference(before, " changed")
        elif self._is_over(at) or before.kind == "user":
            yield EntryDifference(before, " has gone on, though it was over", 0)

    def _came_in(self, at: int, new: Iterable[ComparableEntry]) -> Iterator[EntryDifference]:
        """Tell what came in before an entry, unless it is of a call that was open."""
        is_sealed = at < sum(self._sealed.values())
        awaited = {one.entry.get("call-id") for one in self.open}
        for one in new if is_sealed or at <= self._last < len(self.entries) else ():
            is_awaited = one.kind in _CALL_ENTRY_TYPES and one.entry.get("call-id") in awaited
            if not is_awaited and (
                is_sealed or (one.kind not in _CALL_ENTRY_TYPES and one.name not in self._names)
            ):
                yield EntryDifference(one, f" is new before {self.entries[at]}", int(is_sealed))

    def _moved(self, now: Iterable[ComparableEntry], once: set[bytes]) -> Iterator[EntryDifference]:
        """Tell which of the entries that are there once stand in another order."""
        before = [one for one in self.entries if one.words in once]
        order, found = (
            [one.words for one in before],
            [one.words for one in now if one.words in once],
        )
        for hunk in find_hunks(order, found) if order != found else ():
            yield from (
                EntryDifference(one, " stands elsewhere") for one in before[hunk.first : hunk.end]
            )

    def _beside(self, now: Iterable[ComparableEntry]) -> Iterator[EntryDifference]:
        """Tell what changed of what is noted beside words that are the same; an agent does so until
        the user goes on.
        """
        noted: dict[bytes, list[ComparableEntry]] = {}
        for one in now:
            noted.setdefault(one.words, []).append(one)
        for at, before in enumerate(self.entries):
            others = noted.get(before.words) if self._is_over(at) else None
            if others and not any(has_all_members(one.entry, before.entry) for one in others):
                yield EntryDifference(before, ": what is noted beside its words changed", 0)

    def _is_over(self, at: int) -> bool:
        """Tell whether an entry was sealed, or the user went on after it."""
        return at < self._last or self._sealed[self.entries[at].words] > 0

    def _take(self, now: Sequence[ComparableEntry], *, stood: bool) -> None:
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


def _group_unnamed_entries(entries: Iterable[ComparableEntry]) -> dict[str, deque[ComparableEntry]]:
    """Sort entries that have no names by their kinds."""
    found: dict[str, deque[ComparableEntry]] = {}
    for one in (one for one in entries if not one.name):
        found.setdefault(one.kind, deque()).append(one)
    return found


def _pop_remaining_entry(
    entries: deque[ComparableEntry] | None, left: Mapping[int, ComparableEntry]
) -> ComparableEntry | None:
    """Give the next of some entries that is still left."""
    while entries:
        found = entries.popleft()
        if found.number in left:
            return found
    return None


def parse_state_entries(state: SessionState) -> list[ComparableEntry] | None:
    """Give what a session says as its journal has it; nothing where that cannot be told."""
    return parse_comparable_entries(
        state.agent, [(part.name, bytes(part.content.held or b"")) for part in state.parts]
    )


_MAX_RESTORE_TRIES = 200
"""So many ways are tried after one rewriting: each costs reading the session."""
_MAX_RESTORE_BYTES = 1 << 28
"""So many bytes are read for that in one session, however often it was rewritten."""
_MAX_SIMILAR_LINES = 3
_SEARCH_DISTANCE = 32
_MAX_LINEWISE_SWAPS = 8


@dataclass(frozen=True, slots=True)
class _LineSwap:
    """A line that stands at a place, if any, and the one to be put there for it, if any."""

    at: int
    found: list[bytes]
    back: list[bytes]

    def done(self, lines: list[bytes]) -> list[bytes]:
        """Give lines after it."""
        return [*lines[: self.at], *self.back, *lines[self.at + len(self.found) :]]


class LineRestorer:
    """What is put back in a session, as its journal is read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._done: list[dict[int, tuple[list[bytes], list[bytes]]]] = []
        """What was put back, one rewriting after the other: the lines of a part as they were seen,
        and as they are to be.
        """
        self._lines: dict[bytes, bytes] = {}
        """Lines that were seen, each once, however often that was."""
        self._bytes = _MAX_RESTORE_BYTES

    def see(self, settled: SettledEntries, state: SessionState) -> None:
        """Find out which lines say something else than what had settled."""
        seen = _split_part_lines(state)
        lines = dict(seen)
        size = sum(part.content.size for part in state.parts)
        # Where reading it takes long, many lines are put back at once.
        few = _MAX_LINEWISE_SWAPS if size * _MAX_RESTORE_TRIES <= _MAX_RESTORE_BYTES else 0
        said, tries = _parse_line_entries(state, lines), _MAX_RESTORE_TRIES
        while wrong := _weigh_differences(settled, said or []):
            for number, swap in _propose_swaps(
                settled, state, lines, is_readable=said is not None, few=few
            ):
                if not tries or self._bytes < 0:
                    break
                tries, self._bytes = tries - 1, self._bytes - size
                changed = swap.done(lines[number])
                then = _parse_line_entries(state, lines | {number: changed})
                if then is None or _weigh_differences(settled, then) >= wrong:
                    continue
                if said is None or _is_lossless_swap(swap, settled, said, then):
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

    def parts(self, state: SessionState) -> dict[str, bytes]:
        """Give the parts of a session, with what was put back."""
        lines = _split_part_lines(state)
        for done in reversed(self._done):
            for number, (seen, back) in done.items():
                lines[number] = _merge_restored_lines(seen, back, lines[number])
        return {part.name: b"".join(lines[part.number]) for part in state.parts}


def _split_part_lines(state: SessionState) -> dict[int, list[bytes]]:
    return {part.number: split_lines(bytes(part.content.held or b"")) for part in state.parts}


def _merge_restored_lines(seen: list[bytes], back: list[bytes], now: list[bytes]) -> list[bytes]:
    """Put back in lines as they are now what was put back in them as they were seen once, where
    they have not changed since.
    """
    later = list(_split_even_hunks(find_hunks(seen, now)))
    merged = list(now)
    for hunk in reversed(list(_split_even_hunks(find_hunks(seen, back)))):
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
            merged[at] = _merge_single_line(seen[hunk.first], back[hunk.begins], now[at])
    return merged


def _split_even_hunks(found: Iterable[Hunk]) -> Iterator[Hunk]:
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


def _merge_single_line(seen: bytes, back: bytes, now: bytes) -> bytes:
    """Put back in a line what was put back in it once, unless just that has changed since."""
    (first, cut, data), (at, gone, came) = find_splice(seen, back), find_splice(seen, now)
    if at + gone <= first:
        first += len(came) - gone
    elif first + cut > at:
        return now
    return now[:first] + data + now[first + cut :]


def _propose_swaps(
    settled: SettledEntries,
    state: SessionState,
    lines: dict[int, list[bytes]],
    *,
    is_readable: bool,
    few: int,
) -> Iterator[tuple[int, _LineSwap]]:
    """Give the ways in which lines can be put back in some part: many at once, then one by one.

    Where something cannot be read, as little as makes it readable is put back.
    """
    compared = {number: split_lines(settled.parts.get(number, b"")) for number in lines}
    found = {number: list(find_hunks(old, lines[number])) for number, old in compared.items()}
    for number, old in compared.items():
        new = lines[number]
        whole = [(number, _LineSwap(0, new, old))] if len(found[number]) > 1 else []
        is_first = is_readable and len(found[number]) > few
        yield from whole if is_first else ()
        for hunk in found[number]:
            size, came = hunk.end - hunk.first, hunk.stops - hunk.begins
            # What the agent changed beside it is to stay.
            for at in range(size if 1 < size == came <= few else 0):
                yield (
                    number,
                    _LineSwap(hunk.begins + at, [new[hunk.begins + at]], [old[hunk.first + at]]),
                )
            yield (
                number,
                _LineSwap(hunk.begins, new[hunk.begins : hunk.stops], old[hunk.first : hunk.end]),
            )
            if 0 < size < came:
                yield (
                    number,
                    _LineSwap(
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
                for swap in _propose_single_swaps(old, lines[number], hunk, has_rows=has_rows)
            )


def _propose_single_swaps(
    old: list[bytes], new: list[bytes], hunk: Hunk, *, has_rows: bool
) -> Iterator[_LineSwap]:
    """Give the ways in which a line can be put back: for one that is like it, without one, or by
    taking one out.
    """
    for line_at in range(hunk.first, hunk.end):
        line, near = old[line_at], hunk.begins + line_at - hunk.first
        there = range(
            max(hunk.begins, near - _SEARCH_DISTANCE), min(hunk.stops, near + _SEARCH_DISTANCE)
        )
        ranked = sorted(there, key=lambda at, line=line: find_splice(new[at], line)[1])  # type: ignore[misc]
        alike = ranked[:_MAX_SIMILAR_LINES]
        yield from (_LineSwap(at, [new[at]], [line]) for at in alike)
    if has_rows:
        # Rows that are gone, where others came meanwhile.
        yield _LineSwap(hunk.begins, [], old[hunk.first : hunk.end])
        yield from (_LineSwap(hunk.begins, [], [line]) for line in old[hunk.first : hunk.end])
        yield from (_LineSwap(at, [new[at]], []) for at in range(hunk.begins, hunk.stops))


def _parse_line_entries(
    state: SessionState, lines: dict[int, list[bytes]]
) -> list[ComparableEntry] | None:
    return parse_comparable_entries(
        state.agent, [(part.name, b"".join(lines[part.number])) for part in state.parts]
    )


def _weigh_differences(settled: SettledEntries, said: list[ComparableEntry]) -> int:
    """Count what is not as it had settled."""
    return sum(one.weight for one in settled.differences(said))


def _is_lossless_swap(
    swap: _LineSwap,
    settled: SettledEntries,
    said: list[ComparableEntry],
    then: list[ComparableEntry],
) -> bool:
    """Tell whether all that comes back had settled, or was open, and all that goes stands for
    something of the same name.
    """
    before, after = Counter(one.words for one in said), Counter(one.words for one in then)
    known = {_identify_entry(one) for one in (*settled.entries, *settled.open)}
    if any(
        _identify_entry(one) not in known for one in then if after[one.words] > before[one.words]
    ):
        return False
    named = {_identify_entry(one) for one in then if one.name}
    # What is only taken out, and sets something right, came in where nothing could come any more.
    return not swap.back or all(
        _identify_entry(one) in named for one in said if before[one.words] > after[one.words]
    )


def _identify_entry(one: ComparableEntry) -> tuple[str, str]:
    """Name an entry; a message keeps its name, whoever is made out to have said it."""
    return ("message" if one.kind in ("user", "assistant") else one.kind, one.name)

"""Entries that must not change any more, in sessions that agents rewrite as a whole.

An agent that keeps its session in a database, or writes the whole file each time, changes its own
entries for good reasons: an answer grows, a call gets its result. There, not the bytes but the
entries show whether history was rewritten. An entry has settled once a sealed record has it, or
once it stayed the same for a minute and is not a call without a result. A settled entry may still
be continued, until it is sealed or the user goes on. If it differs in any other way, or is missing,
somebody rewrote history.

>>> from vacr.capture.settled_entries import ComparableEntry, is_continuation
>>> def answer(text):
...     return ComparableEntry(1, "assistant", "msg_1", text.encode(), {"content": text})
>>> is_continuation(answer("There are"), answer("There are three files."))
True
>>> is_continuation(answer("There are three files."), answer("There are four files."))
False
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vacr.agents import Source, SourcePart, load_agents
from vacr.capture.line_changes import find_hunks
from vacr.capture.session_journal import SessionState
from vacr.errors import VacrError
from vacr.model import JsonObject
from vacr.record import encode_canonical_json, walk_entries

_COMPARED_MEMBERS = {
    "user": ("timestamp", "content"),
    "assistant": ("timestamp", "model-id", "content"),
    "reasoning": ("timestamp", "content", "encrypted", "subject"),
    "tool-call": ("timestamp", "name", "input"),
    "tool-result": ("timestamp", "output", "is-error"),
}
"""Entry type → the members that must not change. Events describe the session, and may change."""
_CALL_ENTRY_TYPES = ("tool-call", "tool-result")
_GROWING_MEMBERS = ("content", "output", "is-error")
_IGNORED_MEMBERS = ("time_updated", "vacr")
"""The time at which a database wrote the row, and the additions of vacr."""
_HOST_CONTEXT_START = b'"text":"<session_context>'
"""The start of the context that a host inserts as the user, before the user says anything."""

_MINUTE_NS = 60_000_000_000
_MIN_STABLE_NS = 2_000_000_000
"""How long a state has to last to count as a rewrite; a shorter one may be half of a change."""
_BYTES_PER_MINUTE = 1 << 23
"""How much may be compared each minute; a larger session is compared less often."""


# --- the entries of a session ---


@dataclass(frozen=True, slots=True)
class ComparableEntry:
    """An entry that is a message, a thought, a call or a result."""

    number: int
    """Its position among all entries of the session, from 1."""
    kind: str
    """Its type, such as `user` or `tool-call`."""
    name: str
    """Its id, or the id of the call, or empty."""
    canonical: bytes
    """The canonical encoding of its kind, its name and its compared members."""
    members: JsonObject
    """All of its members except the children."""
    is_open: bool = False
    """Whether the entry is a call without a result."""

    def __str__(self) -> str:
        """Describe the entry, such as "entry 3 (user msg_1)"."""
        label = f"{self.kind} {self.name}" if self.name else self.kind
        return f"entry {self.number} ({label})"


def parse_comparable_entries(
    agent: str, parts: Iterable[tuple[str, bytes]]
) -> list[ComparableEntry] | None:
    """Parse the parts of a session, and return its messages, thoughts, calls and results.

    `agent` is the name of the agent, and a part is a name and its bytes. Return None if there are
    no parts, or they cannot be parsed, for example because a file is half written.
    """
    source = Source(tuple(SourcePart(name, data) for name, data in parts))
    if not source.parts:
        return None
    try:
        entries = [
            entry
            for reading in load_agents()[agent].read(source)
            for entry in walk_entries(reading.record["session"]["entries"])
        ]
    except VacrError:
        return None
    if any(entry.get("event-type") == "undecodable" for entry in entries):
        return None
    answered_calls = {entry.get("call-id") for entry in entries if entry["type"] == "tool-result"}
    return [
        _make_comparable(number, entry, answered_calls)
        for number, entry in enumerate(entries, 1)
        if entry["type"] in _COMPARED_MEMBERS
    ]


def _make_comparable(number: int, entry: JsonObject, answered_calls: set[Any]) -> ComparableEntry:
    """Return an entry of a record as a comparable one; `answered_calls` are ids with a result.

    `number` is the position of the entry, from 1.
    """
    kind, call = entry["type"], entry.get("call-id")
    name = str(entry.get("id") or call or "")
    members = _drop_ignored_members(
        {member: value for member, value in entry.items() if member != "children"}
    )
    compared = {member: members[member] for member in _COMPARED_MEMBERS[kind] if member in members}
    is_open = kind == "tool-call" and call not in answered_calls
    canonical = encode_canonical_json([kind, name, compared])
    return ComparableEntry(number, kind, name, canonical, members, is_open)


def _drop_ignored_members(entry: JsonObject) -> JsonObject:
    """Return a copy of an entry without the ignored members, and without an empty `content`.

    The pieces of its content lose these members, too.
    """
    kept = {member: value for member, value in entry.items() if member not in _IGNORED_MEMBERS}
    if isinstance(content := kept.get("content"), list):
        kept["content"] = [
            _drop_ignored_members(piece) if isinstance(piece, dict) else piece for piece in content
        ]
    if kept.get("content") == []:
        del kept["content"]
    return kept


def parse_state_entries(state: SessionState) -> list[ComparableEntry] | None:
    """Return the entries of a session as last captured, or None if they cannot be parsed."""
    return parse_comparable_entries(
        state.agent, [(part.name, bytes(part.content.loaded or b"")) for part in state.parts]
    )


def count_record_entries(agent: str, parts: Iterable[tuple[str, bytes]]) -> int | None:
    """Return the number of entries in the record of a session, or None if it cannot be parsed.

    Children of entries are not counted. `agent` is the name of the agent, and a part is a name and
    its bytes.
    """
    source = Source(tuple(SourcePart(name, data) for name, data in parts))
    try:
        readings = load_agents()[agent].read(source)
        return sum(len(reading.record["session"]["entries"]) for reading in readings)
    except VacrError:
        return None


def has_activity(entries: list[ComparableEntry] | None) -> bool:
    """Return whether a session has any entry except the context that a host inserts.

    Return True for None, entries that could not be parsed.
    """
    return entries is None or any(
        entry.kind != "user" or _HOST_CONTEXT_START not in entry.canonical for entry in entries
    )


# --- comparing two entries ---


def is_continuation(before: ComparableEntry, after: ComparableEntry) -> bool:
    """Return whether `after` is the same entry as `before`, or `before` with more at its end.

    Only its content or output may grow; the other compared members must stay.
    """
    old, new = before.members, after.members
    if (before.kind, before.name) != (after.kind, after.name):
        return False
    if bool(old.get("is-error")) != bool(new.get("is-error")):
        return False
    fixed_members = (
        member for member in _COMPARED_MEMBERS[before.kind] if member not in _GROWING_MEMBERS
    )
    if not all(old.get(member) in (None, new.get(member)) for member in fixed_members):
        return False
    growing = "output" if before.kind == "tool-result" else "content"
    return _is_extended_value(old.get(growing), new.get(growing))


def _is_extended_value(old: Any, new: Any) -> bool:
    """Return whether `new` equals `old`, or is `old` with text, items or members added.

    Anything extends None.
    """
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
    """Return whether `entry` has all members of `before` with the same values, perhaps more.

    This holds for objects inside of them too. Values that are not objects must be equal.
    """
    if isinstance(before, dict) and isinstance(entry, dict):
        return all(
            name in entry and has_all_members(entry[name], value) for name, value in before.items()
        )
    return bool(entry == before)


# --- settled entries ---


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """A difference between a settled entry and the session now."""

    entry: ComparableEntry
    description: str
    """The text after the entry in a message, such as " vanished"."""
    weight: int = 1
    """2: the entry is gone; 1: history was rewritten otherwise; 0: worth a remark only."""

    @property
    def is_rewritten(self) -> bool:
        """Return whether the difference is rewritten history: its weight is above 0."""
        return self.weight > 0

    def __str__(self) -> str:
        """Describe the entry and the difference."""
        return f"{self.entry}{self.description}"


class SettledEntries:
    """The entries of a session that have settled by some moment of its journal."""

    def __init__(
        self,
        on_rewrite: Callable[[SettledEntries, SessionState], None] = lambda _settled, _state: None,
    ) -> None:
        """Start without entries.

        `on_rewrite` is called with this object and the new state when a state with rewritten
        history is found, before it is accepted as the settled one.
        """
        self._on_rewrite = on_rewrite
        self.entries: list[ComparableEntry] = []
        self.open_calls: list[ComparableEntry] = []
        """Calls without results; their results may still come."""
        self.parts: dict[int, bytes] = {}
        """Part number → its bytes, when they were last compared."""
        self._sealed: Counter[bytes] = Counter()
        self._seen: Counter[bytes] = Counter()
        self._last_comparison = 0
        self._last_user_entry = 0
        """The index of the user's last entry."""
        self._names: set[str] = set()

    def compare_if_due(self, state: SessionState, until: int) -> list[EntryDifference]:
        """Return how a state differs from the settled entries, and accept it as the settled one.

        The state lasted from its last change to `until`, in nanoseconds. Return an empty list, and
        accept nothing, if the last comparison was a short time ago, the state cannot be parsed, or
        a rewritten state lasted for too short a time.
        """
        lasted = abs(until - state.changed)
        if not self._is_due(state, lasted, until):
            return []
        entries = parse_state_entries(state)
        if entries is None:
            return []
        differences = list(self.find_differences(entries))
        if any(difference.is_rewritten for difference in differences):
            if lasted < _MIN_STABLE_NS:
                # Constant rewrites must not mask a lasting one, so this comparison counts.
                self._last_comparison = until
                return []
            self._on_rewrite(self, state)
        self._accept(entries, is_stable=lasted >= _MINUTE_NS)
        self._last_comparison = until
        self.parts = {part.number: bytes(part.content.loaded or b"") for part in state.parts}
        return differences

    def _is_due(self, state: SessionState, lasted: int, until: int) -> bool:
        """Return whether to compare a state: it lasted a minute, or the last comparison is old.

        A large session is compared less often. `lasted` is in nanoseconds, and `until` in
        nanoseconds since 1970.
        """
        if lasted >= _MINUTE_NS:
            return True
        size = sum(part.content.size for part in state.parts)
        pause = _MINUTE_NS * (1 + size // _BYTES_PER_MINUTE)
        if lasted < _MIN_STABLE_NS:
            pause += _MIN_STABLE_NS
        return abs(until - self._last_comparison) >= pause

    def note_seal(self, state: SessionState) -> list[EntryDifference]:
        """Compare a state that was sealed as a record, and return the differences.

        Its entries count as sealed from now on.
        """
        differences = self.compare_if_due(state, state.changed + _MINUTE_NS)
        if self.entries and parse_state_entries(state) is None:
            # A session that has ended and cannot be parsed was damaged.
            self._on_rewrite(self, state)
        self._sealed = Counter(entry.canonical for entry in self.entries)
        return differences

    def _accept(self, entries: Sequence[ComparableEntry], *, is_stable: bool) -> None:
        """Take these as the entries of the session, and decide which of them have settled.

        An entry settles if it is not a call without a result, and was there last time; with
        `is_stable`, it need not have been there.
        """
        known = Counter(entry.canonical for entry in self.entries) | self._seen
        self._seen = Counter(entry.canonical for entry in entries)
        self.open_calls = [entry for entry in entries if entry.is_open]
        self.entries = [
            entry
            for entry in entries
            if not entry.is_open and (is_stable or known[entry.canonical] > 0)
        ]
        self._sealed &= Counter(entry.canonical for entry in self.entries)
        self._last_user_entry = max(
            (at for at, entry in enumerate(self.entries) if entry.kind == "user"), default=0
        )
        self._names = {entry.name for entry in self.entries if entry.name}

    def find_differences(self, entries: Sequence[ComparableEntry]) -> Iterator[EntryDifference]:
        """Yield the differences of the current `entries` from the settled ones.

        An entry may have changed, vanished or moved, been inserted, or have other metadata.
        """
        before_counts = Counter(entry.canonical for entry in self.entries)
        now_counts = Counter(entry.canonical for entry in entries)
        by_name = {(entry.kind, entry.name): entry for entry in entries if entry.name}
        hunks = find_hunks(
            [entry.canonical for entry in self.entries], [entry.canonical for entry in entries]
        )
        for hunk in hunks:
            added = {entry.number: entry for entry in entries[hunk.new_start : hunk.new_end]}
            unnamed = _group_unnamed_entries(added.values())
            for at in range(hunk.old_start, hunk.old_end):
                before = self.entries[at]
                if before_counts[before.canonical] <= now_counts[before.canonical]:
                    continue  # It moved.
                after = (
                    by_name.get((before.kind, before.name))
                    if before.name
                    else _pop_remaining_entry(unnamed.get(before.kind), added)
                )
                if after is not None:
                    added.pop(after.number, None)
                yield from self._describe_change(at, after)
            inserted = (
                entry
                for entry in added.values()
                if now_counts[entry.canonical] > before_counts[entry.canonical]
            )
            yield from self._describe_insertions(hunk.old_end, inserted)
        unique = {
            canonical
            for canonical, count in before_counts.items()
            if count == now_counts[canonical] == 1
        }
        yield from self._find_moves(entries, unique)
        yield from self._find_changed_details(entries)

    def _describe_change(self, at: int, after: ComparableEntry | None) -> Iterator[EntryDifference]:
        """Yield how the settled entry at an index differs from its current form, `after`.

        None means that it is gone. Yield nothing if it was continued while that was allowed.
        """
        before = self.entries[at]
        is_history = self._sealed[before.canonical] and at < self._last_user_entry
        if after is None:
            yield EntryDifference(before, " vanished", 2)
        elif not is_continuation(before, after) or is_history:
            yield EntryDifference(before, " changed")
        elif self._is_over(at) or before.kind == "user":
            yield EntryDifference(before, " was continued although it was complete", 0)

    def _describe_insertions(
        self, at: int, inserted: Iterable[ComparableEntry]
    ) -> Iterator[EntryDifference]:
        """Yield a difference for each new entry before the settled one at an index.

        Results that a call awaited are left out, and entries at the end of the session, where new
        entries belong.
        """
        is_sealed = at < sum(self._sealed.values())
        if not is_sealed and not at <= self._last_user_entry < len(self.entries):
            return
        awaited_calls = {entry.members.get("call-id") for entry in self.open_calls}
        for entry in inserted:
            is_of_call = entry.kind in _CALL_ENTRY_TYPES
            if is_of_call and entry.members.get("call-id") in awaited_calls:
                continue
            if is_sealed or (not is_of_call and entry.name not in self._names):
                description = f" was inserted before {self.entries[at]}"
                yield EntryDifference(entry, description, int(is_sealed))

    def _find_moves(
        self, entries: Iterable[ComparableEntry], unique: set[bytes]
    ) -> Iterator[EntryDifference]:
        """Yield a difference for each settled entry that stands in another order now.

        `unique` has the canonical encodings that occur once among the settled and current entries.
        """
        before = [entry for entry in self.entries if entry.canonical in unique]
        old_order = [entry.canonical for entry in before]
        new_order = [entry.canonical for entry in entries if entry.canonical in unique]
        if old_order == new_order:
            return
        for hunk in find_hunks(old_order, new_order):
            for entry in before[hunk.old_start : hunk.old_end]:
                yield EntryDifference(entry, " was moved")

    def _find_changed_details(
        self, entries: Iterable[ComparableEntry]
    ) -> Iterator[EntryDifference]:
        """Yield a difference for each settled entry whose metadata lost or changed a member.

        Metadata are the members that are not compared. Agents change them until the entry is over.
        """
        by_content: dict[bytes, list[ComparableEntry]] = {}
        for entry in entries:
            by_content.setdefault(entry.canonical, []).append(entry)
        for at, before in enumerate(self.entries):
            same = by_content.get(before.canonical) if self._is_over(at) else None
            if same and not any(has_all_members(entry.members, before.members) for entry in same):
                yield EntryDifference(before, ": its metadata changed", 0)

    def _is_over(self, at: int) -> bool:
        """Return whether the settled entry at an index is sealed, or a user's entry follows it."""
        return at < self._last_user_entry or self._sealed[self.entries[at].canonical] > 0


def _group_unnamed_entries(entries: Iterable[ComparableEntry]) -> dict[str, deque[ComparableEntry]]:
    """Return the entries without a name, by kind."""
    groups: dict[str, deque[ComparableEntry]] = {}
    for entry in entries:
        if not entry.name:
            groups.setdefault(entry.kind, deque()).append(entry)
    return groups


def _pop_remaining_entry(
    entries: deque[ComparableEntry] | None, remaining: Mapping[int, ComparableEntry]
) -> ComparableEntry | None:
    """Remove entries up to and including the first whose number is in `remaining`; return that.

    Return None if no entry is.
    """
    while entries:
        entry = entries.popleft()
        if entry.number in remaining:
            return entry
    return None

"""Lift: move what is understood out of a native object into canonical members, and leave the rest
where it was. Step: read.

The knowledge about an agent is in tables of moves; this is the mechanism they share. Because
members are moved and not copied, nothing can be lost by being forgotten, and every move can be
undone.

Put entries and what is known about a session together into a record. Step: read. Follows the v3
schema's root types.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard, cast

from vacr.agents.agent import Source, SourcePart
from vacr.agents.documents import RepairedValue, UndecodableBytes
from vacr.model import CANONICAL_ENTRY_MEMBERS, SCHEMA_VERSION, SESSION_MEMBERS, JsonObject, Record
from vacr.record import NameCounts, are_sortable_timestamps, find_time_span, is_timestamp
from vacr.version import __version__

COUNTER_LIMIT = 2**64
"""What a canonical counter stays below."""


class Move(NamedTuple):
    """A native member and the canonical one that its value becomes, when it is of the kind that
    member takes.
    """

    native: str
    canonical: str
    kind: type | None = str


class Lift:
    """A table of moves from one native object into an entry.

    `apply(native, entry)` makes them; a value that the canonical member cannot hold stays under its
    native name. It is called for every line, so the table is turned into code once instead of being
    gone through each time.
    """

    def __init__(self, *moves: Move) -> None:
        """Keep the moves in the order they are made."""
        self.moves = moves
        self.apply: Callable[[JsonObject, JsonObject], None] = _compile_moves(moves)


def _compile_moves(moves: tuple[Move, ...]) -> Callable[[JsonObject, JsonObject], None]:
    """Write the moves as the statements they stand for."""
    lines = ["def apply(native, entry):"]
    for name, canonical, kind in moves:
        lines.append(f"    value = native.get({name!r})")
        lines.append(
            f"    if type(value) is {kind.__name__}:" if kind else f"    if {name!r} in native:"
        )
        lines.append(f"        del native[{name!r}]")
        lines.append(f"        entry[{canonical!r}] = value")
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - the text is made of our own tables
    apply: Callable[[JsonObject, JsonObject], None] = names["apply"]
    return apply


class NativeShape(Lift):
    """A table of moves, and the members that objects of its kind are known to have.

    An object that has no others becomes its entry in place, which is what nearly all do; any other
    is taken apart.
    """

    def __init__(self, known: frozenset[str], *moves: Move) -> None:
        """Keep the moves; what is known and stays must not have a name that means something else in
        an entry.
        """
        super().__init__(*moves)
        self.known = known
        clashes = CANONICAL_ENTRY_MEMBERS.intersection(known) - {move.native for move in moves}
        if clashes:
            raise ValueError(f"members that cannot stay: {sorted(clashes)}")
        self.entry: Callable[[str, JsonObject, Drift, str], JsonObject] = _compile_entry_maker(
            known, moves, self._apart
        )
        """Turn an object into an entry of some type; what is not known of it is counted under a
        name.
        """

    def _apart(self, entry_type: str, native: JsonObject, drift: Drift, where: str) -> JsonObject:
        """Take an object apart that is not as known."""
        drift.see_members(where, native, self.known)
        entry: JsonObject = {"type": entry_type}
        self.apply(native, entry)
        return add_remaining_members(entry, native)


def _compile_entry_maker(
    known: frozenset[str],
    moves: tuple[Move, ...],
    apart: Callable[[str, JsonObject, Drift, str], JsonObject],
) -> Callable[[str, JsonObject, Drift, str], JsonObject]:
    """Write the moves as statements that rename the members of an object, if it is as known."""
    otherwise = "return apart(entry_type, native, drift, where)"
    lines = ["def entry(entry_type, native, drift, where):"]
    lines.append(f"    if not native.keys() <= known or None in native.values(): {otherwise}")
    for name, _, kind in moves:
        if kind:
            lines.append(
                f"    if type(native.get({name!r}, {kind()!r})) is not {kind.__name__}: {otherwise}"
            )
    for name, canonical, _ in moves:
        if name != canonical:
            lines.append(f"    if {name!r} in native: native[{canonical!r}] = native.pop({name!r})")
    names: dict[str, Any] = {"known": known, "apart": apart}
    exec("\n".join([*lines, "    native['type'] = entry_type", "    return native"]), names)  # noqa: S102 - made of our own tables
    entry: Callable[[str, JsonObject, Drift, str], JsonObject] = names["entry"]
    return entry


def is_one_of(value: Any, names: Container[str]) -> TypeGuard[str]:
    """Tell whether a native value, which may be of any type, is one of some names."""
    return type(value) is str and value in names


def is_count(value: Any) -> TypeGuard[int]:
    """Tell whether a native value can be one of the canonical counters."""
    return type(value) is int and 0 <= value < COUNTER_LIMIT


def are_counts(values: Iterable[Any]) -> bool:
    """Tell the same of several values."""
    for value in values:  # noqa: SIM110 - a generator would cost as much again
        if type(value) is not int or not 0 <= value < COUNTER_LIMIT:
            return False
    return True


def sum_token_usage(
    counters: JsonObject, sums: tuple[tuple[str, tuple[str, ...]], ...]
) -> JsonObject:
    """Give canonical counters as sums of native ones; the first of each must be a count, others are
    added where they are.
    """
    usage = {}
    for name, parts in sums:
        if is_count(counters.get(parts[0])):
            total = sum(counters[part] for part in parts if is_count(counters.get(part)))
            if is_count(total):
                usage[name] = total
    return usage


def drop_nulls(native: JsonObject) -> None:
    """Leave out the members that are null, as the format asks; what they hold inside stays
    untouched.
    """
    if None in native.values():
        for name in [name for name, value in native.items() if value is None]:
            del native[name]


def get_writable_marks(entry: JsonObject) -> JsonObject:
    """Give the member of an entry that holds what is ours, to be added to; entries may share what
    they have so far.
    """
    ours = entry["vacr"] = dict(entry.get("vacr", ()))
    return ours


def add_remaining_members(
    entry: JsonObject, native: JsonObject, same: frozenset[str] = frozenset()
) -> JsonObject:
    """Put what is left of a native object into its entry, nulls left out.

    A name that has a meaning of its own in an entry is set aside, unless it is one of those that
    mean the same.
    """
    if CANONICAL_ENTRY_MEMBERS.isdisjoint(native) and None not in native.values():
        entry.update(native)
        return entry
    aside = {}
    for name, value in native.items():
        if value is None:
            continue
        if name in CANONICAL_ENTRY_MEMBERS and (name not in same or name in entry):
            aside[name] = value
        else:
            entry[name] = value
    if aside:
        keep_native_members(entry, aside)
    return entry


def set_members_aside(entry: JsonObject, names: frozenset[str]) -> None:
    """Move native members whose names have another meaning in an entry to `vacr.native`."""
    aside = {name: entry.pop(name) for name in sorted(names.intersection(entry))}
    if aside:
        keep_native_members(entry, aside)


def keep_native_members(entry: JsonObject, members: JsonObject) -> None:
    """Keep native members that cannot stand in the entry itself."""
    if "vacr" not in entry:
        entry["vacr"] = {"native": members}
        return
    ours = get_writable_marks(entry)
    ours["native"] = {**ours.get("native", {}), **members}


def make_typed_event(
    native: JsonObject, kind: Any, ours: frozenset[str], lift: Lift | None = None
) -> JsonObject:
    """Make an event of an object, named by its type; a type that is no name, or is one of ours, is
    kept beside.
    """
    entry: JsonObject = {
        "type": "system-event",
        "event-type": kind if type(kind) is str else "unknown",
    }
    if kind is not None and (type(kind) is not str or kind in ours):
        keep_native_members(entry, {"type": kind})
    if lift is not None:
        lift.apply(native, entry)
    if native:
        entry["data"] = native
    return entry


def set_odd_timestamps_aside(entries: list[JsonObject]) -> list[int]:
    """Set native timestamps aside that are outside the pattern, telling where; leave out those that
    are null.
    """
    odd = []
    for index, entry in enumerate(entries):
        if "timestamp" in entry and not is_timestamp(entry["timestamp"]):
            stamp = entry.pop("timestamp")
            if stamp is not None:
                keep_native_members(entry, {"timestamp": stamp})
                odd.append(index)
    return odd


def describe_json_kind(value: Any) -> str:
    """Name the kind of a JSON value, where a name was expected."""
    names = {
        type(None): "null",
        bool: "boolean",
        int: "number",
        str: "text",
        list: "array",
        dict: "object",
    }
    return f"({names.get(type(value), 'number')})"


class Drift:
    """What a session holds that its reader does not know: types and members, counted, so that a
    change is seen.
    """

    def __init__(self) -> None:
        """Start with nothing unknown."""
        self.types: NameCounts = defaultdict(int)
        self.members: NameCounts = defaultdict(int)

    def see_type(self, name: Any) -> None:
        """Count a type that no table names."""
        self.types[name if isinstance(name, str) else describe_json_kind(name)] += 1

    def see_members(self, where: str, native: JsonObject, known: frozenset[str]) -> None:
        """Count the members of an object that no table names."""
        if not native.keys() <= known:
            for name in native.keys() - known:
                self.members[f"{where}.{name}"] += 1

    def report(self) -> JsonObject:
        """Give the counts as a record carries them."""
        if not self.types and not self.members:
            return {}
        found = {"types": self.types, "members": self.members}
        return {kind: dict(sorted(counts.items())) for kind, counts in found.items() if counts}


UNKNOWN = "unknown"


@dataclass(frozen=True)
class SourceNotice:
    """Something about a source that its owner should know, and the line it is about."""

    message: str
    line: int = 0
    part: str = ""


@dataclass(frozen=True)
class Reading:
    """A record, not yet identified, and what was noticed while reading it."""

    record: Record
    notices: tuple[SourceNotice, ...] = ()


@dataclass
class SessionBuilder:
    """What a reader finds out about a session, in the words of the schema."""

    format_id: str
    cli_name: str
    entries: list[JsonObject] = field(default_factory=list)
    session_id: str | None = None
    parent: str | None = None
    inherits: bool = False
    mode: str | None = None
    start: Any = None
    end: Any = None
    models: NameCounts = field(default_factory=lambda: defaultdict(int))
    provider: str = UNKNOWN
    cli_version: str | None = None
    working_dir: str | None = None
    sandboxes: list[str] = field(default_factory=list)
    vcs: JsonObject = field(default_factory=dict)
    native: JsonObject = field(default_factory=dict)
    """What the agent says about the session that has no canonical member; it stays under its native
    name.
    """
    embedded: list[JsonObject] = field(default_factory=list)
    """Entries that stand inside others and have times or ids of their own."""
    repaired: list[str] = field(default_factory=list)
    """What was replaced in values that hold more than an entry; their bytes are kept in an event.
    """
    secrets: list[str] = field(default_factory=list)
    """Pointers to what gives whoever reads the record a power it should not have."""
    has_usual_times: bool = False
    """All entries have timestamps of one form that sorts as text."""
    drift: Drift = field(default_factory=Drift)
    notices: list[SourceNotice] = field(default_factory=list)

    def take_lines(self, source: Source, entry: Callable[[JsonObject], JsonObject]) -> None:
        """Make entries of the lines of a source, each object by the reader's own way."""
        append = self.entries.append
        for number, batch in source.main.documents():
            for document in batch:
                if type(document) is dict:
                    append(entry(document))
                else:
                    self.keep_unusual(number, document, entry)

    def keep_unusual(
        self, line: int, document: Any, entry: Callable[[JsonObject], JsonObject]
    ) -> None:
        """Keep what is no plain object: bytes that could not be decoded, a repaired line, a value
        of another type.
        """
        if isinstance(document, RepairedValue):
            made = (
                entry(document.value)
                if isinstance(document.value, dict)
                else self.other(document.value)
            )
            get_writable_marks(made)["repaired"] = document.reason
            self.entries.append(made)
        else:
            self.entries.append(self.unusual(line, document))

    def unusual(self, line: int, document: Any, part: str = "") -> JsonObject:
        """Make the event that keeps bytes which could not be decoded, or a value of an unexpected
        type.

        `part` is the name of the file that they are in, where a session is of many.
        """
        if isinstance(document, UndecodableBytes):
            where = f"{part} " if part else ""
            self.notices.append(
                SourceNotice(
                    f"{where}cannot be decoded: {document.reason}; kept as bytes", line, part
                )
            )
            event = make_undecodable_event(line, document)
            if part:
                event["data"]["file"] = part
            return event
        return self.other(document)

    def other(self, value: Any) -> JsonObject:
        """Make an event of a value that is no object."""
        self.drift.see_type(describe_json_kind(value))
        event = {"type": "system-event", "event-type": UNKNOWN, "data": {"value": value}}
        return {**event, "vacr": {"not-an-object": True}}

    def tidy(self) -> None:
        """See to what only all entries together tell: timestamps outside the pattern, ids that are
        not unique.
        """
        entries = self.entries + self.embedded if self.embedded else self.entries
        stamps = [entry["timestamp"] for entry in entries if "timestamp" in entry]
        # Most sessions have but usual timestamps, which need not be looked at one by one.
        self.has_usual_times = are_sortable_timestamps(stamps)
        if stamps and not self.has_usual_times and (odd := set_odd_timestamps_aside(entries)):
            told = (
                f"{len(odd)} outside the pattern, the first in entry {odd[0]}; kept in vacr.native"
            )
            self.notices.append(SourceNotice(f"timestamps: {told}"))
        ids = [entry["id"] for entry in entries if "id" in entry]
        if len(set(ids)) != len(ids):
            _mark_repeated_ids([entry for entry in entries if "id" in entry])

    def reading(self, source: Source, *, attached: bool = True) -> Reading:
        """Make the record; the other parts of the source are attached to the session unless they
        were read with it.
        """
        if attached:
            self.entries.extend(make_attached_file_event(part) for part in source.parts[1:])
        trace: JsonObject = {
            "session-id": self.session_id or source.main.sha256,
            "agent-meta": self._agent_meta(),
            "entries": self.entries,
        }
        if self.mode:
            trace["format"] = self.mode
        trace.update(self._times())
        record: JsonObject = {
            "version": SCHEMA_VERSION,
            "session": trace,
            "recording-agent": {"name": "vacr", "version": __version__},
            "vacr": {"source": {"format": self.format_id, "parts": source.manifest()}},
        }
        self._place(trace, record)
        self._fill(trace, record)
        if self.parent:
            record["vacr"]["parent"] = {"session-id": self.parent}
        if self.secrets:
            record["vacr"]["secrets"] = self.secrets
        if self.repaired:
            record["vacr"]["repaired"] = self.repaired
        if unknown := self.drift.report():
            record["vacr"]["drift"] = unknown
        return Reading(cast("Record", record), tuple(self.notices))

    def _fill(self, trace: JsonObject, record: JsonObject) -> None:
        """Leave the agent's own members in the session, and aside where their names mean something
        else there.
        """
        if not self.native:
            return
        native = {name: value for name, value in self.native.items() if value is not None}
        aside = {name: native.pop(name) for name in SESSION_MEMBERS.intersection(native)}
        trace.update(native)
        if aside:
            record["vacr"]["native"] = aside

    def _times(self) -> JsonObject:
        """Say when the session began and ended: as the agent says, or by the first and the last
        time there is.
        """
        said = [stamp for stamp in (self.start, self.end) if stamp is not None]
        stamps = self._stamps() + said
        if not stamps:
            return {}
        if self.has_usual_times and are_sortable_timestamps([stamps[0], *said]):
            extent: tuple[Any, Any] | None = (min(stamps), max(stamps))
        else:
            extent = find_time_span(stamps)
        if extent is None:
            if not said:
                return {}
            # A day that no calendar has says nothing about order.
            extent = said[0], said[-1]
        return {
            "session-start": extent[0] if self.start is None else self.start,
            "session-end": extent[1],
        }

    def _stamps(self) -> list[Any]:
        """Give the times that the session itself names."""
        own = (
            [entry for entry in self.entries if "inherited" not in entry.get("vacr", ())]
            if self.inherits
            else self.entries
        )
        return [entry["timestamp"] for entry in own if "timestamp" in entry]

    def _agent_meta(self) -> JsonObject:
        meta: JsonObject = {
            "cli-name": self.cli_name,
            "model-id": UNKNOWN,
            "model-provider": self.provider,
        }
        if self.models:
            meta["model-id"] = max(self.models, key=self.models.__getitem__)
            meta["models"] = list(self.models)
        if self.cli_version:
            meta["cli-version"] = self.cli_version
        return meta

    def _place(self, trace: JsonObject, record: JsonObject) -> None:
        """Say where the session ran; the version control state is both the session's and the
        record's.
        """
        if self.vcs:
            record["vcs"] = {"type": "git", **self.vcs}
        if self.working_dir is not None:
            trace["environment"] = {"working-dir": self.working_dir}
            if self.vcs:
                trace["environment"]["vcs"] = record["vcs"]
            if self.sandboxes:
                trace["environment"]["sandboxes"] = self.sandboxes


def make_undecodable_event(line: int, found: UndecodableBytes) -> JsonObject:
    """Make the event that keeps bytes which are not what they should be."""
    data = {"line": line, "reason": found.reason, "bytes": base64.b64encode(found.data).decode()}
    return {
        "type": "system-event",
        "event-type": "undecodable",
        "data": data,
        "vacr": {"encoding": "base64"},
    }


def make_attached_file_event(part: SourcePart) -> JsonObject:
    """Make the event that keeps a file which belongs to the session beside its transcript."""
    data: JsonObject = {"name": part.name}
    try:
        data["text"] = part.data.decode()
    except UnicodeDecodeError:
        data["bytes"] = base64.b64encode(part.data).decode()
    return {"type": "system-event", "event-type": "attached-file", "data": data}


def _mark_repeated_ids(entries: list[JsonObject]) -> None:
    """Let only the first entry of an id have it: resumed and copied sessions write some lines
    again.
    """
    seen: set[str] = set()
    for entry in entries:
        identity = entry["id"]
        if identity in seen:
            get_writable_marks(entry)["repeats"] = entry.pop("id")
        seen.add(identity)

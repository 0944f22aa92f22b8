"""Move understood members of native objects into canonical ones, and build the record.

A reader's knowledge about its agent lives in tables of moves. `Lift` carries a table out: it moves
a member to its canonical place and leaves every other member alone, under its native name. A
member that a table forgets is therefore kept, not lost, and every move can be undone.

>>> from vacr.agents.lift import Lift, Move, add_remaining_members
>>> lift = Lift(Move("uuid", "id"), Move("parentUuid", "parent-id"))
>>> line, entry = {"uuid": "u-1", "parentUuid": None, "cwd": "/src"}, {"type": "user"}
>>> lift.apply(line, entry)
>>> add_remaining_members(entry, line)
{'type': 'user', 'id': 'u-1', 'cwd': '/src'}

`SessionBuilder` collects the entries and the facts about a session, and makes the record of the
version 3 schema.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard, cast

from vacr.agents.agent import Source, SourcePart
from vacr.agents.documents import RepairedValue, UndecodableBytes
from vacr.agents.labels import get_writable_marks
from vacr.model import CANONICAL_ENTRY_MEMBERS, SCHEMA_VERSION, SESSION_MEMBERS, JsonObject, Record
from vacr.record import (
    NameCounts,
    are_sortable_timestamps,
    find_time_span,
    get_vacr_metadata,
    is_timestamp,
)
from vacr.version import __version__

UNKNOWN = "unknown"
COUNTER_LIMIT = 2**64
"""Canonical counters are below this."""


def parse_names(text: str) -> frozenset[str]:
    """Return the names in a text that separates them by white space."""
    return frozenset(text.split())


# --- Tables of moves ---


class Move(NamedTuple):
    """A native member, its canonical name, and the type that the canonical member requires.

    The type must be exact. With None, any type will do.
    """

    native: str
    canonical: str
    kind: type | None = str


class Lift:
    """A table of moves from one native object into an entry.

    `apply(native, entry)` makes them; a value that the canonical member cannot hold stays under its
    native name. It runs for every line, so the table is compiled once into code.
    """

    def __init__(self, *moves: Move) -> None:
        """Keep the moves in their order."""
        self.moves = moves
        self.apply: Callable[[JsonObject, JsonObject], None] = _compile_moves(moves)


def _compile_moves(moves: tuple[Move, ...]) -> Callable[[JsonObject, JsonObject], None]:
    """Compile moves into a function of straight-line statements: `Lift.apply`."""
    lines = ["def apply(native, entry):", "    pass"]
    for name, canonical, kind in moves:
        lines.append(f"    value = native.get({name!r})")
        lines.append(
            f"    if type(value) is {kind.__name__}:" if kind else f"    if {name!r} in native:"
        )
        lines.append(f"        del native[{name!r}]")
        lines.append(f"        entry[{canonical!r}] = value")
    apply: Callable[[JsonObject, JsonObject], None] = _define_function("apply", lines, {})
    return apply


class NativeShape(Lift):
    """A table of moves for objects whose members are all known.

    Nearly every object has no other members and becomes its entry in place, without a copy;
    anything else goes through `Lift.apply`.
    """

    def __init__(self, known: frozenset[str], *moves: Move) -> None:
        """Compile the moves.

        Raises:
            ValueError: a known member without a move has the name of a canonical one.
        """
        super().__init__(*moves)
        self.known = known
        clashes = CANONICAL_ENTRY_MEMBERS.intersection(known) - {move.native for move in moves}
        if clashes:
            raise ValueError(
                f"add a move for these members with canonical names: {sorted(clashes)}"
            )
        self.make_entry: _EntryMaker = _compile_entry_maker(known, moves, self._make_other_entry)
        """Turn an object into an entry of a type; unknown members are counted under a name."""

    def _make_other_entry(
        self, entry_type: str, native: JsonObject, drift: Drift, where: str
    ) -> JsonObject:
        """Make the entry of an object with unknown members, nulls, or unexpected types.

        Unknown members are counted in `drift`, under the name `where`.
        """
        drift.count_members(where, native, self.known)
        entry: JsonObject = {"type": entry_type}
        self.apply(native, entry)
        return add_remaining_members(entry, native)


def _compile_entry_maker(
    known: frozenset[str], moves: tuple[Move, ...], make_other_entry: _EntryMaker
) -> _EntryMaker:
    """Compile moves into a function that renames the members of an object in place."""
    otherwise = "return make_other_entry(entry_type, native, drift, where)"
    lines = ["def make_entry(entry_type, native, drift, where):"]
    lines.append(f"    if not known.issuperset(native): {otherwise}")
    lines.append(f"    if not all(native.values()) and None in native.values(): {otherwise}")
    for name, _, kind in moves:
        if kind:
            lines.append(
                f"    if type(native.get({name!r}, {kind()!r})) is not {kind.__name__}: {otherwise}"
            )
    for name, canonical, _ in moves:
        if name != canonical:
            lines.append(f"    if {name!r} in native: native[{canonical!r}] = native.pop({name!r})")
    lines += ["    native['type'] = entry_type", "    return native"]
    namespace: dict[str, Any] = {"known": known, "make_other_entry": make_other_entry}
    make_entry: _EntryMaker = _define_function("make_entry", lines, namespace)
    return make_entry


class UsageSums:
    """A table of canonical counters, each with the native ones that it sums.

    A sum needs its first counter; the others are added if they are counts. A sum that is too large
    is left out. A native name such as `cache.read` is a member of the object `cache`; no name has a
    second dot.

    >>> sums = UsageSums(("input", ("fresh", "cache.read")), ("output", ("out",)))
    >>> sums.compute({"fresh": 7, "cache": {"read": 5}, "out": None})
    {'input': 12}
    """

    def __init__(self, *sums: tuple[str, tuple[str, ...]]) -> None:
        """Keep the sums in their order, and compile them as `Lift` compiles moves."""
        self.sums = sums
        self.compute: Callable[[JsonObject], JsonObject] = _compile_sums(sums)
        """Return the canonical counters for an object with native ones."""


def _compile_sums(
    sums: tuple[tuple[str, tuple[str, ...]], ...],
) -> Callable[[JsonObject], JsonObject]:
    """Compile sums into a function of straight-line statements: `UsageSums.compute`.

    Raises:
        ValueError: a native name has more than one dot.
    """
    lines = ["def compute(counters):", "    usage = {}"]
    variables: dict[str, str] = {}
    for canonical, (first, *others) in sums:
        if others:
            for native in (first, *others):
                if native not in variables:
                    variables[native] = f"count_{len(variables)}"
                    lines += _read_counter(native, f"{variables[native]} = count")
                    lines.append(f"    else: {variables[native]} = None")
            terms = [variables[first], *(f"({variables[other]} or 0)" for other in others)]
            lines.append(f"    if {variables[first]} is not None:")
            lines.append(f"        total = {' + '.join(terms)}")
            lines.append(f"        if total < {COUNTER_LIMIT}: usage[{canonical!r}] = total")
        else:
            lines += _read_counter(first, f"usage[{canonical!r}] = count")
    compute: Callable[[JsonObject], JsonObject] = _define_function(
        "compute", [*lines, "    return usage"], {}
    )
    return compute


def _read_counter(native: str, statement: str) -> list[str]:
    """Return lines that read a native counter and, if it is usable, run a statement with `count`.

    Raises:
        ValueError: the name of the counter has more than one dot.
    """
    holder, _, member = native.rpartition(".")
    if "." in holder:
        raise ValueError(f"{native}: only one dot, between an object and its member")
    if holder:
        lines = [
            f"    holder = counters.get({holder!r})",
            f"    count = holder.get({member!r}) if type(holder) is dict else None",
        ]
    else:
        lines = [f"    count = counters.get({native!r})"]
    return [*lines, f"    if type(count) is int and 0 <= count < {COUNTER_LIMIT}: {statement}"]


def _define_function(name: str, lines: list[str], namespace: dict[str, Any]) -> Any:
    """Run the lines that define a function, and return it; `namespace` has the names it uses."""
    exec("\n".join(lines), namespace)  # noqa: S102 - the text is made of our own tables
    return namespace[name]


# --- Native values ---


def is_one_of(value: Any, names: Container[str]) -> TypeGuard[str]:
    """Return whether a native value of any type is one of some names."""
    return type(value) is str and value in names


def is_count(value: Any) -> TypeGuard[int]:
    """Return whether a native value can be a canonical counter: an integer of 0 or more.

    It must be below `COUNTER_LIMIT`; a boolean is not a counter.
    """
    return type(value) is int and 0 <= value < COUNTER_LIMIT


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a native value is a number, which may keep its spelling; a boolean is none."""
    return isinstance(value, int | float) and type(value) is not bool


def describe_json_kind(value: Any) -> str:
    """Return the kind of a JSON value, such as `(object)`; drift counts it instead of a name."""
    names = {
        type(None): "null",
        bool: "boolean",
        int: "number",
        str: "text",
        list: "array",
        dict: "object",
    }
    return f"({names.get(type(value), 'number')})"


def drop_nulls(native: JsonObject) -> None:
    """Remove the members that are null, as the schema asks; their insides stay untouched."""
    # `all` is faster than a search for None, and few objects have a false value.
    if not all(native.values()) and None in native.values():
        _delete_nulls(native)


def _delete_nulls(native: JsonObject) -> None:
    """Remove the members that are null, from an object that has some."""
    for name in [name for name, value in native.items() if value is None]:
        del native[name]


# --- Native members in entries ---


def add_remaining_members(
    entry: JsonObject, native: JsonObject, same: frozenset[str] = frozenset()
) -> JsonObject:
    """Put the remaining members of a native object, except nulls, into its entry; return that.

    A member with a canonical name goes to `vacr.native`, unless it is one of `same`, the names that
    mean the same in both. The native object is used up.
    """
    if not native:
        return entry
    # The test of `drop_nulls`, without a call: this runs for every entry.
    if not all(native.values()) and None in native.values():
        _delete_nulls(native)
    if not CANONICAL_ENTRY_MEMBERS.isdisjoint(native):
        clashing = {
            name: native.pop(name)
            for name in sorted(CANONICAL_ENTRY_MEMBERS.intersection(native))
            if name not in same or name in entry
        }
        if clashing:
            keep_native_members(entry, clashing)
    entry.update(native)
    return entry


def set_members_aside(entry: JsonObject, names: frozenset[str]) -> None:
    """Move native members whose names have another meaning in an entry to `vacr.native`."""
    if not names.isdisjoint(entry):
        clashing = {name: entry.pop(name) for name in sorted(names.intersection(entry))}
        keep_native_members(entry, clashing)


def add_session_usage(entries: list[JsonObject], usage: JsonObject) -> None:
    """Count the tokens of a whole session at its last answer; do nothing if all counts are 0.

    The mark `usage-of` tells them from the tokens of one answer.
    """
    if any(usage.values()):
        for entry in reversed(entries):
            if entry["type"] == "assistant":
                entry["token-usage"] = usage
                get_writable_marks(entry)["usage-of"] = "session"
                return


def keep_native_members(entry: JsonObject, members: JsonObject) -> None:
    """Add native members that cannot stand in the entry itself to `vacr.native`."""
    if "vacr" not in entry:
        entry["vacr"] = {"native": members}
        return
    marks = get_writable_marks(entry)
    marks["native"] = {**marks.get("native", {}), **members}


def make_typed_event(
    native: JsonObject, kind: Any, reserved: frozenset[str], lift: Lift | None = None
) -> JsonObject:
    """Make an event of an object, named by its native type, `kind`.

    A type that is not text, or is one of the `reserved` names of vacr's own events, is kept in
    `vacr.native`. An event without a type in text is named `unknown`.
    """
    entry: JsonObject = {
        "type": "system-event",
        "event-type": kind if type(kind) is str else UNKNOWN,
    }
    if kind is not None and (type(kind) is not str or kind in reserved):
        keep_native_members(entry, {"type": kind})
    if lift is not None:
        lift.apply(native, entry)
    if native:
        entry["data"] = native
    return entry


class Drift:
    """Counts of native types and members that the reader's tables do not name.

    They show in the record when an agent has changed its format.
    """

    def __init__(self) -> None:
        """Start with no counts."""
        self.types: NameCounts = defaultdict(int)
        self.members: NameCounts = defaultdict(int)

    def count_type(self, name: Any) -> None:
        """Count an unknown type by its name; a name that is not text, by its JSON kind."""
        self.types[name if isinstance(name, str) else describe_json_kind(name)] += 1

    def count_members(self, where: str, native: JsonObject, known: frozenset[str]) -> None:
        """Count the members of an object that are not known."""
        if not known.issuperset(native):
            for name in native.keys() - known:
                self.members[f"{where}.{name}"] += 1

    def report(self) -> JsonObject:
        """Return the counts in the form of a record; empty without counts."""
        if not self.types and not self.members:
            return {}
        counts_by_kind = {"types": self.types, "members": self.members}
        return {
            kind: dict(sorted(counts.items())) for kind, counts in counts_by_kind.items() if counts
        }


SESSION_MARKED_MEMBERS = SESSION_MEMBERS | {"vacr"}
"""Members of a session that a native member cannot have the name of."""
_EntryMaker = Callable[[str, JsonObject, Drift, str], JsonObject]


# --- Records ---


@dataclass(frozen=True)
class SourceNotice:
    """A remark about a source that its owner should know, and the line it refers to.

    `line` is 0 for the whole file, and `part` is the name of the file, where there are many.
    """

    message: str
    line: int = 0
    part: str = ""


@dataclass(frozen=True)
class Reading:
    """A record that has no id yet, and the remarks made while it was read."""

    record: Record
    notices: tuple[SourceNotice, ...] = ()


@dataclass
class SessionBuilder:
    """The entries of a session and the facts about it, in the words of the schema."""

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
    """The agent's own members of the session; they stay under their native names."""
    embedded: list[JsonObject] = field(default_factory=list)
    """Entries inside other entries that have times or ids of their own."""
    repaired: list[str] = field(default_factory=list)
    """Repairs of values that hold more than one entry; an event keeps their bytes."""
    secrets: list[str] = field(default_factory=list)
    """Pointers to values that give a reader of the record a power it should not have."""
    usual_stamps: list[Any] = field(default_factory=list)
    """The timestamps, if all have one form that sorts as text; else the list is empty."""
    drift: Drift = field(default_factory=Drift)
    notices: list[SourceNotice] = field(default_factory=list)

    def add_lines(self, source: Source, make_entry: Callable[[JsonObject], JsonObject]) -> None:
        """Add an entry for each line of a source; `make_entry` turns an object into one."""
        append = self.entries.append
        for number, batch in source.main.documents():
            for document in batch:
                if type(document) is dict:
                    append(make_entry(document))
                else:
                    self._add_unusual_line(number, document, make_entry)

    def _add_unusual_line(
        self, line: int, document: Any, make_entry: Callable[[JsonObject], JsonObject]
    ) -> None:
        """Add a line that is not a plain object: a repaired value, other JSON, or bytes.

        `line` is its number.
        """
        if not isinstance(document, RepairedValue):
            self.entries.append(self.make_unusual_event(line, document))
            return
        value = document.value
        entry = make_entry(value) if isinstance(value, dict) else self.make_value_event(value)
        get_writable_marks(entry)["repaired"] = document.reason
        self.entries.append(entry)

    def make_unusual_event(self, line: int, document: Any, part: str = "") -> JsonObject:
        """Make the event that keeps undecodable bytes or a value of an unexpected type.

        `part` names the file, where a session has many.
        """
        if not isinstance(document, UndecodableBytes):
            return self.make_value_event(document)
        where = f"{part} " if part else ""
        message = f"{where}cannot be decoded: {document.reason}; kept as bytes"
        self.notices.append(SourceNotice(message, line, part))
        event = _make_undecodable_event(line, document)
        if part:
            event["data"]["file"] = part
        return event

    def make_value_event(self, value: Any) -> JsonObject:
        """Make the event that keeps a value which is not an object."""
        self.drift.count_type(describe_json_kind(value))
        event = {"type": "system-event", "event-type": UNKNOWN, "data": {"value": value}}
        return {**event, "vacr": {"not-an-object": True}}

    def tidy(self) -> None:
        """Set invalid timestamps and repeated ids aside, once all entries are known."""
        entries = self.entries + self.embedded if self.embedded else self.entries
        stamps = [entry["timestamp"] for entry in entries if "timestamp" in entry]
        # Most sessions have only usual timestamps, which need no check one by one.
        self.usual_stamps = stamps if stamps and are_sortable_timestamps(stamps) else []
        if stamps and not self.usual_stamps and (odd := _set_odd_timestamps_aside(entries)):
            message = (
                f"timestamps in another format: {len(odd)}, the first in entry {odd[0]}; "
                "kept in vacr.native"
            )
            self.notices.append(SourceNotice(message))
        ids = [entry["id"] for entry in entries if "id" in entry]
        if len(set(ids)) != len(ids):
            _mark_repeated_ids([entry for entry in entries if "id" in entry])

    def reading(self, source: Source, *, attached: bool = True) -> Reading:
        """Make the record; other parts of the source become events unless `attached` is false.

        A session without an id gets the SHA-256 of its bytes.
        """
        if attached:
            self.entries.extend(_make_attached_file_event(part) for part in source.parts[1:])
        trace: JsonObject = {
            "session-id": self.session_id or source.main.sha256,
            "agent-meta": self._build_agent_meta(),
            "entries": self.entries,
        }
        if self.mode:
            trace["format"] = self.mode
        trace.update(self._build_times())
        record: JsonObject = {
            "version": SCHEMA_VERSION,
            "session": trace,
            "recording-agent": {"name": "vacr", "version": __version__},
            "vacr": {"source": {"format": self.format_id, "parts": source.manifest()}},
        }
        self._add_environment(trace, record)
        self._add_native_members(trace)
        if self.parent:
            record["vacr"]["parent"] = {"session-id": self.parent}
        if self.secrets:
            record["vacr"]["secrets"] = self.secrets
        if self.repaired:
            record["vacr"]["repaired"] = self.repaired
        if drift := self.drift.report():
            record["vacr"]["drift"] = drift
        return Reading(cast("Record", record), tuple(self.notices))

    def _build_agent_meta(self) -> JsonObject:
        """Return the agent's name and version, and the models; the most frequent is `model-id`."""
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

    def _build_times(self) -> JsonObject:
        """Return `session-start` and `session-end`, or an empty map without timestamps.

        The start is the stated one, or else the earliest timestamp; the end is the latest of all.
        """
        stated = [stamp for stamp in (self.start, self.end) if stamp is not None]
        stamps = self._collect_own_stamps() + stated
        if not stamps:
            return {}
        if self.usual_stamps and are_sortable_timestamps([stamps[0], *stated]):
            span: tuple[Any, Any] | None = (min(stamps), max(stamps))
        else:
            span = find_time_span(stamps)
        if span is None:
            if not stated:
                return {}
            # Days that no calendar has cannot be ordered.
            span = stated[0], stated[-1]
        return {
            "session-start": span[0] if self.start is None else self.start,
            "session-end": span[1],
        }

    def _collect_own_stamps(self) -> list[Any]:
        """Return the timestamps of the entries that the session did not inherit."""
        if self.usual_stamps and not self.inherits and not self.embedded:
            return self.usual_stamps
        own = self.entries
        if self.inherits:
            own = [entry for entry in own if "inherited" not in entry.get("vacr", ())]
        return [entry["timestamp"] for entry in own if "timestamp" in entry]

    def _add_environment(self, trace: JsonObject, record: JsonObject) -> None:
        """Add the working folder and the version control state; the record repeats the latter."""
        if self.vcs:
            record["vcs"] = {"type": "git", **self.vcs}
        if self.working_dir is not None:
            trace["environment"] = {"working-dir": self.working_dir}
            if self.vcs:
                trace["environment"]["vcs"] = record["vcs"]
            if self.sandboxes:
                trace["environment"]["sandboxes"] = self.sandboxes

    def _add_native_members(self, trace: JsonObject) -> None:
        """Add the agent's own members to the session, or to its `vacr.native` if names clash."""
        if not self.native:
            return
        native = {name: value for name, value in self.native.items() if value is not None}
        clashing = {name: native.pop(name) for name in SESSION_MARKED_MEMBERS & native.keys()}
        trace.update(native)
        if clashing:
            trace["vacr"] = {"native": clashing}


def get_native_members(record: Mapping[str, Any]) -> JsonObject:
    """Return the agent's own members of a session, also those whose names clash in a record."""
    members = {
        name: value for name, value in record["session"].items() if name not in SESSION_MEMBERS
    }
    marks = members.get("vacr")
    if type(marks) is dict and marks.keys() == {"native"} and type(marks["native"]) is dict:
        del members["vacr"]
        members |= marks["native"]
    # Earlier versions kept them at the root.
    return members | dict(get_vacr_metadata(record).get("native", {}))


def _make_undecodable_event(line: int, undecodable: UndecodableBytes) -> JsonObject:
    """Make the event that keeps undecodable bytes in base64, with their line and the reason."""
    text = base64.b64encode(undecodable.data).decode()
    return {
        "type": "system-event",
        "event-type": "undecodable",
        "data": {"line": line, "reason": undecodable.reason, "bytes": text},
        "vacr": {"encoding": "base64"},
    }


def _make_attached_file_event(part: SourcePart) -> JsonObject:
    """Make the event that keeps a file which belongs to the session, as text or in base64."""
    data: JsonObject = {"name": part.name}
    try:
        data["text"] = part.data.decode()
    except UnicodeDecodeError:
        data["bytes"] = base64.b64encode(part.data).decode()
    return {"type": "system-event", "event-type": "attached-file", "data": data}


def _set_odd_timestamps_aside(entries: list[JsonObject]) -> list[int]:
    """Move timestamps outside the pattern to `vacr.native`; return the positions of the entries."""
    odd = []
    for index, entry in enumerate(entries):
        if "timestamp" in entry and not is_timestamp(entry["timestamp"]):
            stamp = entry.pop("timestamp")
            if stamp is not None:
                keep_native_members(entry, {"timestamp": stamp})
                odd.append(index)
    return odd


def _mark_repeated_ids(entries: list[JsonObject]) -> None:
    """Leave an id only to its first entry: resumed and copied sessions repeat some lines."""
    seen: set[str] = set()
    for entry in entries:
        identity = entry["id"]
        if identity in seen:
            get_writable_marks(entry)["repeats"] = entry.pop("id")
        seen.add(identity)

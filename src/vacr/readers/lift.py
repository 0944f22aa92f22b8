"""Lift: move what is understood out of a native object into canonical members, and leave the rest
where it was. Step: read.

The knowledge about an agent is in tables of moves; this is the mechanism they share. Because
members are moved and not copied, nothing can be lost by being forgotten, and every move can be
undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple, TypeGuard

from vacr.content import Counts
from vacr.model import CANONICAL_MEMBERS, Native
from vacr.timestamps import is_timestamp

UINT_END = 2**64
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
        self.apply: Callable[[Native, Native], None] = _compiled(moves)


def _compiled(moves: tuple[Move, ...]) -> Callable[[Native, Native], None]:
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
    apply: Callable[[Native, Native], None] = names["apply"]
    return apply


class Shape(Lift):
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
        clashes = CANONICAL_MEMBERS.intersection(known) - {move.native for move in moves}
        if clashes:
            raise ValueError(f"members that cannot stay: {sorted(clashes)}")
        self.entry: Callable[[str, Native, Drift, str], Native] = _compiled_entry(
            known, moves, self._apart
        )
        """Turn an object into an entry of some type; what is not known of it is counted under a
        name.
        """

    def _apart(self, entry_type: str, native: Native, drift: Drift, where: str) -> Native:
        """Take an object apart that is not as known."""
        drift.see_members(where, native, self.known)
        entry: Native = {"type": entry_type}
        self.apply(native, entry)
        return fill(entry, native)


def _compiled_entry(
    known: frozenset[str],
    moves: tuple[Move, ...],
    apart: Callable[[str, Native, Drift, str], Native],
) -> Callable[[str, Native, Drift, str], Native]:
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
    entry: Callable[[str, Native, Drift, str], Native] = names["entry"]
    return entry


def is_one_of(value: Any, names: Container[str]) -> TypeGuard[str]:
    """Tell whether a native value, which may be of any type, is one of some names."""
    return type(value) is str and value in names


def is_count(value: Any) -> TypeGuard[int]:
    """Tell whether a native value can be one of the canonical counters."""
    return type(value) is int and 0 <= value < UINT_END


def are_counts(values: Iterable[Any]) -> bool:
    """Tell the same of several values."""
    for value in values:  # noqa: SIM110 - a generator would cost as much again
        if type(value) is not int or not 0 <= value < UINT_END:
            return False
    return True


def token_usage(counters: Native, sums: tuple[tuple[str, tuple[str, ...]], ...]) -> Native:
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


def without_nulls(native: Native) -> None:
    """Leave out the members that are null, as the format asks; what they hold inside stays
    untouched.
    """
    if None in native.values():
        for name in [name for name, value in native.items() if value is None]:
            del native[name]


def mark(entry: Native) -> Native:
    """Give the member of an entry that holds what is ours, to be added to; entries may share what
    they have so far.
    """
    ours = entry["vacr"] = dict(entry.get("vacr", ()))
    return ours


def fill(entry: Native, native: Native, same: frozenset[str] = frozenset()) -> Native:
    """Put what is left of a native object into its entry, nulls left out.

    A name that has a meaning of its own in an entry is set aside, unless it is one of those that
    mean the same.
    """
    if CANONICAL_MEMBERS.isdisjoint(native) and None not in native.values():
        entry.update(native)
        return entry
    aside = {}
    for name, value in native.items():
        if value is None:
            continue
        if name in CANONICAL_MEMBERS and (name not in same or name in entry):
            aside[name] = value
        else:
            entry[name] = value
    if aside:
        keep_native(entry, aside)
    return entry


def set_aside(entry: Native, names: frozenset[str]) -> None:
    """Move native members whose names have another meaning in an entry to `vacr.native`."""
    aside = {name: entry.pop(name) for name in sorted(names.intersection(entry))}
    if aside:
        keep_native(entry, aside)


def keep_native(entry: Native, members: Native) -> None:
    """Keep native members that cannot stand in the entry itself."""
    if "vacr" not in entry:
        entry["vacr"] = {"native": members}
        return
    ours = mark(entry)
    ours["native"] = {**ours.get("native", {}), **members}


def typed_event(
    native: Native, kind: Any, ours: frozenset[str], lift: Lift | None = None
) -> Native:
    """Make an event of an object, named by its type; a type that is no name, or is one of ours, is
    kept beside.
    """
    entry: Native = {"type": "system-event", "event-type": kind if type(kind) is str else "unknown"}
    if kind is not None and (type(kind) is not str or kind in ours):
        keep_native(entry, {"type": kind})
    if lift is not None:
        lift.apply(native, entry)
    if native:
        entry["data"] = native
    return entry


def check_timestamps(entries: list[Native]) -> list[int]:
    """Set native timestamps aside that are outside the pattern, telling where; leave out those that
    are null.
    """
    odd = []
    for index, entry in enumerate(entries):
        if "timestamp" in entry and not is_timestamp(entry["timestamp"]):
            stamp = entry.pop("timestamp")
            if stamp is not None:
                keep_native(entry, {"timestamp": stamp})
                odd.append(index)
    return odd


def kind_of(value: Any) -> str:
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
        self.types: Counts = defaultdict(int)
        self.members: Counts = defaultdict(int)

    def see_type(self, name: Any) -> None:
        """Count a type that no table names."""
        self.types[name if isinstance(name, str) else kind_of(name)] += 1

    def see_members(self, where: str, native: Native, known: frozenset[str]) -> None:
        """Count the members of an object that no table names."""
        if not native.keys() <= known:
            for name in native.keys() - known:
                self.members[f"{where}.{name}"] += 1

    def report(self) -> Native:
        """Give the counts as a record carries them."""
        if not self.types and not self.members:
            return {}
        found = {"types": self.types, "members": self.members}
        return {kind: dict(sorted(counts.items())) for kind, counts in found.items() if counts}

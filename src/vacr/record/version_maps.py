"""File attribution between its spellings. Step: convert. Follows section 8 of v2.cddl and its
counterpart in v3.cddl.

Versions 1 and 2 write the members of ranges and contributors in snake_case, version 3 in
kebab-case; all else is the same, and no map of it is open. v1 has no member for the algorithm of a
hash: see `vacr.versions.v1`.

Going through the entries of a session, children and all. Step: convert.

Without recursion: children may nest as deep as the codec reads, and an error must not depend on how
much stack is left.

Open members of version 3 inside a vendor extension of version 2, and out of it. Step: convert.

Follows section 10 of v2.cddl. Members that version 2 does not know are packed as `{vendor: "vacr",
data: {…}}`; the extension of another vendor is an open member of version 3, under its own name. So
that both ways are exact, an extension is opened only if packing would make the very same one again,
and is kept as it is otherwise.

The maps of version 2, and which members of version 3 have a place in them. Step: convert.

Follows v2.cddl and v3.cddl rule by rule; these tables say where they differ, and `Kind` moves
members by them. The record and the session need more than a table: see `from_v3` and `from_v2`.

What version 3 needs and an older record lacks: put in, marked, and taken out again. Step:
convert.

The mark is `vacr.converted` at the root: `stubs`, the sorted pointers of what was put in, and
`version`, that of the record before, where it is not the one that is written on the way back. A
mark counts only if each pointer leads to just that stub; whatever else stands in `vacr.converted`
is a member like any other, and carried as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.json_text import ValuePath, format_pointer
from vacr.record.validation import load_record_schema, parse_major_version

_KEBAB_NAMES = {
    "start_line": "start-line",
    "end_line": "end-line",
    "content_hash": "content-hash",
    "content_hash_alg": "content-hash-alg",
    "model_id": "model-id",
}
_SNAKE_NAMES = {kebab: snake for snake, kebab in _KEBAB_NAMES.items()}
_CONTRIBUTOR_TYPES = ("human", "ai", "mixed", "unknown")


def convert_attribution_to_kebab(attribution: JsonObject) -> JsonObject:
    """Spell a file attribution as version 3 does."""
    return _rename_in_attribution(attribution, _KEBAB_NAMES)


def convert_attribution_to_snake(attribution: JsonObject) -> JsonObject:
    """Spell a file attribution as versions 1 and 2 do."""
    return _rename_in_attribution(attribution, _SNAKE_NAMES)


def convert_contributor_to_kebab(contributor: JsonObject) -> JsonObject:
    """Spell a contributor as version 3 does."""
    return _rename_members(contributor, _KEBAB_NAMES)


def convert_contributor_to_snake(contributor: JsonObject) -> JsonObject:
    """Spell a contributor as version 2 does."""
    return _rename_members(contributor, _SNAKE_NAMES)


def is_contributor(value: Any) -> bool:
    """Tell whether a value is a contributor as version 3 spells it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _CONTRIBUTOR_TYPES
        and value.keys() <= {"type", "model-id"}
        and isinstance(value.get("model-id", ""), str)
    )


def _rename_in_attribution(attribution: JsonObject, names: dict[str, str]) -> JsonObject:
    return {"files": [_rename_in_file(file, names) for file in attribution["files"]]}


def _rename_in_file(file: JsonObject, names: dict[str, str]) -> JsonObject:
    return file | {
        "conversations": [_rename_in_conversation(one, names) for one in file["conversations"]]
    }


def _rename_in_conversation(conversation: JsonObject, names: dict[str, str]) -> JsonObject:
    ranges = [
        _rename_in_contributor(_rename_members(one, names), names) for one in conversation["ranges"]
    ]
    return _rename_in_contributor(conversation | {"ranges": ranges}, names)


def _rename_in_contributor(holder: JsonObject, names: dict[str, str]) -> JsonObject:
    if "contributor" not in holder:
        return holder
    return holder | {"contributor": _rename_members(holder["contributor"], names)}


def _rename_members(members: JsonObject, names: dict[str, str]) -> JsonObject:
    return {names.get(name, name): value for name, value in members.items()}


ENTRIES_PATH: ValuePath = ((None, "session"), "entries")

EntryConverter = Callable[[JsonObject, ValuePath], JsonObject]
"""Gives an entry as another version has it, as a new dict whose children are still those of the old
version.
"""


def convert_entries(entries: list[JsonObject], change: EntryConverter) -> list[JsonObject]:
    """Change all entries, at every depth."""
    result: list[JsonObject] = []
    todo = [(entries, result, ENTRIES_PATH)]
    while todo:
        old, new, place = todo.pop()
        for index, entry in enumerate(old):
            changed = change(entry, (place, index))
            if "children" in changed:
                children: list[JsonObject] = []
                todo.append((changed["children"], children, ((place, index), "children")))
                changed["children"] = children
            new.append(changed)
    return result


def walk_entries_with_paths(entries: list[JsonObject]) -> Iterator[tuple[JsonObject, ValuePath]]:
    """Give all entries, at every depth, with their places."""
    todo = [(entries, ENTRIES_PATH)]
    while todo:
        level, place = todo.pop()
        for index, entry in enumerate(level):
            yield entry, (place, index)
            if "children" in entry:
                todo.append((entry["children"], ((place, index), "children")))


VACR_VENDOR = "vacr"

PackabilityTest = Callable[[JsonObject], bool]
"""Tells whether some members could have been packed: none of them has a place of its own in that
map of version 2.
"""


def pack_extension(
    rest: JsonObject, name: str, admits: PackabilityTest, *, json: bool
) -> JsonObject:
    """Give the extension that holds open members; `name` is the member of version 2 that it is for.

    An extension that stands alone among them, and that nobody would take for a packed one, is its
    own.
    """
    if (
        rest.keys() == {name}
        and is_vendor_extension(rest[name], json=json)
        and not is_packed_extension(rest[name], name, admits, json=json)
    ):
        own: JsonObject = rest[name]
        return own
    return {"vendor": VACR_VENDOR, "data": rest}


def is_packed_extension(extension: Any, name: str, admits: PackabilityTest, *, json: bool) -> bool:
    """Tell whether an extension is one that `packed` made."""
    while _is_vacr_extension(extension) and extension["data"] and admits(extension["data"]):
        data = extension["data"]
        if data.keys() != {name} or not is_vendor_extension(data[name], json=json):
            return True
        # One that holds only another was made exactly if the other would be opened, for else that
        # had stayed itself.
        extension = data[name]
    return False


def pack_event_payload(payload: JsonObject, *, json: bool) -> JsonObject:
    """Give the extension that is the payload of an event: another vendor's own, or one made around
    it.
    """
    if is_vendor_extension(payload, json=json) and not _is_packed_payload(payload, json=json):
        return payload
    return {"vendor": VACR_VENDOR, "data": payload}


def unpack_event_payload(extension: JsonObject, *, json: bool) -> JsonObject:
    """Give the payload of an event out of its extension."""
    return extension["data"] if _is_packed_payload(extension, json=json) else extension


def _is_packed_payload(extension: Any, *, json: bool) -> bool:
    while _is_vacr_extension(extension):
        if not is_vendor_extension(extension["data"], json=json):
            return True
        extension = extension["data"]
    return False


def is_vendor_extension(value: Any, *, json: bool) -> bool:
    """Tell whether a value is a vendor extension of version 2."""
    # The first look spares most values the check.
    return (
        isinstance(value, dict)
        and "vendor" in value
        and load_record_schema("2").checker("vendor-extension", json=json).matches(value)
    )


def _is_vacr_extension(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"vendor", "data"}
        and value["vendor"] == VACR_VENDOR
        and isinstance(value["data"], dict)
        and all([type(key) is str for key in value["data"]])  # noqa: C419 - faster than a generator
    )


EXTENSION_MEMBER = "vendor-ext"
SESSION_FORMATS = ("interactive", "autonomous")


@dataclass(frozen=True)
class MemberConversion:
    """A member of version 2 that not every value of version 3 fits, or that is written in another
    way.
    """

    fits: Callable[[Any], bool]
    to_v2: Callable[[Any], Any] = lambda value: value
    to_v3: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class MapConversion:
    """A map of version 2: what both versions hold alike, what moves, and what else version 3 gives
    a type to.
    """

    json: bool
    known: frozenset[str]
    members: Mapping[str, MemberConversion] = field(default_factory=dict)
    typed: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    def split(self, value: JsonObject) -> tuple[JsonObject, JsonObject]:
        """Part the members of a map of version 3: those with a place in version 2, as they are
        there, and the rest.
        """
        placed, rest = {}, {}
        for name, item in value.items():
            if name in self.known:
                placed[name] = item
            elif name in self.members and self.members[name].fits(item):
                placed[name] = self.members[name].to_v2(item)
            else:
                rest[name] = item
        return placed, rest

    def admits(self, rest: JsonObject, *, placed: JsonObject) -> bool:
        """Tell whether members could be the rest of a map of version 3; `placed` is what version 2
        has of it.
        """
        return not any(
            name in self.known
            or (name in self.members and self.members[name].fits(item))
            or (name in self.typed and not self.typed[name](item))
            or (name in placed and name != EXTENSION_MEMBER and name not in self.typed)
            for name, item in rest.items()
        )

    def to_v2(self, value: JsonObject) -> JsonObject:
        """Give a map of version 3 as version 2 has it."""
        placed, rest = self.split(value)
        if not rest:
            return placed
        extension = pack_extension(
            rest, EXTENSION_MEMBER, partial(self.admits, placed=placed), json=self.json
        )
        return placed | {EXTENSION_MEMBER: extension}

    def to_v3(self, value: JsonObject) -> JsonObject:
        """Give a map of version 2 as version 3 has it."""
        result = self.raised(value)
        if EXTENSION_MEMBER in value:
            extension = result.pop(EXTENSION_MEMBER)
            opens = is_packed_extension(
                extension, EXTENSION_MEMBER, partial(self.admits, placed=value), json=self.json
            )
            result |= extension["data"] if opens else {EXTENSION_MEMBER: extension}
        return result

    def raised(self, value: JsonObject) -> JsonObject:
        """Give the members of a map of version 2 as version 3 has them, the extension as it is."""
        return {
            name: self.members[name].to_v3(item) if name in self.members else item
            for name, item in value.items()
        }


@dataclass(frozen=True)
class MapConversions:
    """All maps of version 2 that hold an extension."""

    interactive: MapConversion
    autonomous: MapConversion
    vcs: MapConversion
    entries: Mapping[str, MapConversion]


@lru_cache(maxsize=2)
def build_map_conversions(*, json: bool) -> MapConversions:
    """Give the tables; `json` says whether there is one kind of number, as in `Schema.checker`."""

    def kind(
        *known: str,
        typed: Mapping[str, Callable[[Any], bool]] | None = None,
        **members: MemberConversion,
    ) -> MapConversion:
        return MapConversion(
            json,
            frozenset(known),
            {name.replace("_", "-"): one for name, one in members.items()},
            typed or {},
        )

    vcs = kind("type", "revision", "branch", "repository")
    usage = kind("input", "output", "cached", "reasoning", "total", "cost")
    agent = kind("model-id", "model-provider", "models", "cli-name", "cli-version")
    environment = kind("working-dir", "sandboxes", vcs=_make_map_member(vcs))
    envelope = partial(
        kind,
        "session-start",
        "session-end",
        "entries",
        typed={"format": _is_text_or_none, "session-id": _is_bytes},
        format=MemberConversion(_is_session_format),
        session_id=_TEXT_MEMBER,
        agent_meta=_make_map_member(agent),
        environment=_make_map_member(environment),
    )
    entry = partial(kind, "type", "timestamp", "id", "children", session_id=_TEXT_MEMBER)
    is_usage = load_record_schema("3").checker("token-usage", json=json).matches
    payload = MemberConversion(
        _accept_any,
        partial(pack_event_payload, json=json),
        partial(unpack_event_payload, json=json),
    )
    return MapConversions(
        interactive=envelope(),
        autonomous=envelope(task_description=_TEXT_MEMBER, task_result=_TEXT_MEMBER),
        vcs=vcs,
        entries={
            "user": entry(
                "content", "parent-id", typed={"model-id": _is_text, "token-usage": is_usage}
            ),
            "assistant": entry(
                "content",
                "parent-id",
                "model-id",
                stop_reason=_TEXT_MEMBER,
                token_usage=_make_map_member(usage),
            ),
            "tool-call": entry("call-id", "name", "input", contributor=_CONTRIBUTOR_MEMBER),
            "tool-result": entry("call-id", "output", "status", "is-error"),
            "reasoning": entry("content", "encrypted", "subject"),
            "system-event": entry("event-type", data=payload),
        },
    )


def _accept_any(_: Any) -> bool:
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_session_format(value: Any) -> bool:
    return isinstance(value, str) and value in SESSION_FORMATS


def _make_map_member(kind: MapConversion) -> MemberConversion:
    return MemberConversion(_accept_any, kind.to_v2, kind.to_v3)


_TEXT_MEMBER = MemberConversion(_is_text)
_CONTRIBUTOR_MEMBER = MemberConversion(
    is_contributor, convert_contributor_to_snake, convert_contributor_to_kebab
)


V2_VERSION = "2.0.0-draft"
UNKNOWN_STUB = "unknown"
EMPTY_DIRECTORY_STUB = ""
EMPTY_CONTENT_STUB = ""

VACR_MEMBER = "vacr"
CONVERTED_MEMBER = "converted"

SESSION_POINTER = "/session"
VCS_TYPE_POINTER = "/vcs/type"
RECORDING_AGENT_NAME_POINTER = "/recording-agent/name"
WORKING_DIR_POINTER = "/session/environment/working-dir"
SESSION_VCS_TYPE_POINTER = "/session/environment/vcs/type"

_VENDOR_ENTRY_MEMBERS = frozenset(
    ("type", "event-type", "vendor-ext", "timestamp", "id", "session-id", "children")
)
_NON_VENDOR_TYPES = ("user", "assistant", "reasoning")
_REQUIRED_MEMBERS = {
    "tool-call": ("name", "input"),
    "tool-result": ("output",),
    "system-event": ("event-type",),
}


@dataclass(frozen=True)
class ConversionMark:
    """What a record of version 3 says about the older one that it was made of."""

    stubs: frozenset[str]
    version: str | None


def make_stub_session(record_id: str) -> JsonObject:
    """Make a session for a record that has none; a session id is what the earliest version's record
    id became.
    """
    return {
        "session-id": record_id,
        "agent-meta": {"model-id": UNKNOWN_STUB, "model-provider": UNKNOWN_STUB},
        "entries": [],
    }


def is_vendor_entry(entry: JsonObject) -> bool:
    """Tell whether an entry of version 2 is of its seventh kind: of no type that is known, or
    without what that type needs.
    """
    kind = entry["type"]
    return kind not in _NON_VENDOR_TYPES and not (
        kind in _REQUIRED_MEMBERS and all(name in entry for name in _REQUIRED_MEMBERS[kind])
    )


def add_conversion_mark(record: JsonObject, pointers: list[str], version: str) -> JsonObject:
    """Give a record with the mark, if there is anything to mark."""
    mark: JsonObject = {"stubs": sorted(pointers)} if pointers else {}
    if version != V2_VERSION:
        mark["version"] = version
    return (
        record | {VACR_MEMBER: record.get(VACR_MEMBER, {}) | {CONVERTED_MEMBER: mark}}
        if mark
        else record
    )


def remove_conversion_mark(record: JsonObject) -> JsonObject:
    """Give a record without its mark."""
    rest = {name: value for name, value in record[VACR_MEMBER].items() if name != CONVERTED_MEMBER}
    return {name: value for name, value in record.items() if name != VACR_MEMBER} | (
        {VACR_MEMBER: rest} if rest else {}
    )


def get_conversion_claim(record: JsonObject) -> JsonObject:
    """Give what a record says about being converted, true or not."""
    ours = record.get(VACR_MEMBER)
    said = ours.get(CONVERTED_MEMBER) if isinstance(ours, dict) else None
    return said if isinstance(said, dict) else {}


def find_conversion_mark(record: JsonObject, *, json: bool) -> ConversionMark | None:
    """Give the mark of a record of version 3, if it has one and all of it is true."""
    mark = get_conversion_claim(record)
    if not mark or not mark.keys() <= {"stubs", "version"}:
        return None
    if "version" in mark and not (
        _is_other_v2_version(mark["version"]) and record["version"] == SCHEMA_VERSION
    ):
        return None
    stubs = mark.get("stubs", [])
    if "stubs" in mark and not (
        isinstance(stubs, list) and stubs and all(isinstance(one, str) for one in stubs)
    ):
        return None
    found = frozenset(stubs)
    if stubs != sorted(found) or not found <= frozenset(_list_stub_pointers(record, json=json)):
        return None
    return ConversionMark(found, mark.get("version"))


def _is_other_v2_version(version: Any) -> bool:
    return (
        isinstance(version, str) and version != V2_VERSION and parse_major_version(version) == "2"
    )


def _list_stub_pointers(record: JsonObject, *, json: bool) -> Iterator[str]:
    """Give the pointers of all that looks like a stub."""
    if record.get("vcs", {}).get("type") == UNKNOWN_STUB:
        yield VCS_TYPE_POINTER
    if record.get("recording-agent", {}).get("name") == UNKNOWN_STUB:
        yield RECORDING_AGENT_NAME_POINTER
    trace = record["session"]
    if trace == make_stub_session(record["id"]):
        yield SESSION_POINTER
    environment = trace.get("environment", {})
    if environment.get("working-dir") == EMPTY_DIRECTORY_STUB:
        yield WORKING_DIR_POINTER
    if environment.get("vcs", {}).get("type") == UNKNOWN_STUB:
        yield SESSION_VCS_TYPE_POINTER
    for entry, place in walk_entries_with_paths(trace["entries"]):
        if entry["type"] == "reasoning" and entry["content"] == EMPTY_CONTENT_STUB:
            yield f"{format_pointer(place)}/content"
        elif entry["type"] == "system-event" and _was_vendor_entry(entry, json=json):
            yield f"{format_pointer(place)}/type"


def _was_vendor_entry(entry: JsonObject, *, json: bool) -> bool:
    return (
        entry.keys() <= _VENDOR_ENTRY_MEMBERS
        and entry["event-type"] not in _NON_VENDOR_TYPES
        and isinstance(entry.get("session-id", ""), str)
        and is_vendor_extension(entry.get("vendor-ext"), json=json)
    )

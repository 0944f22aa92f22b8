"""The maps, stubs and marks of records that are converted between versions, without loss.

Version 3 has open maps, version 2 has closed ones: a member that version 2 does not know goes into
the map's vendor extension (section 10 of v2.cddl), and comes out again on the way back.

    >>> from vacr.record.version_maps import build_map_conversions
    >>> vcs = build_map_conversions(json=True).vcs
    >>> old = vcs.convert_to_v2({"type": "git", "branch": "main", "dirty": True})
    >>> old
    {'type': 'git', 'branch': 'main', 'vendor-ext': {'vendor': 'vacr', 'data': {'dirty': True}}}
    >>> vcs.convert_to_v3(old)
    {'type': 'git', 'branch': 'main', 'dirty': True}

The extension of another vendor is an ordinary open member in version 3. To keep both ways exact, an
extension is unpacked only if packing would produce the very same one again.

The tables follow v2.cddl and v3.cddl rule by rule. The record and the session need more than a
table: see `version_2`. File attribution differs only in its spelling: versions 1 and 2 write the
members of ranges and contributors in snake_case, version 3 in kebab-case.

Version 3 also requires members that an older record may lack. They are filled with stubs, and the
mark `vacr.converted` at the root lists their pointers, so that converting back removes exactly
those:

    >>> from vacr.record import convert
    >>> old = {"version": "2.0.0-draft", "id": "r1", "vcs": {"branch": "main"}}
    >>> new = convert(old, "v3")
    >>> new["vcs"], new["vacr"]
    ({'branch': 'main', 'type': 'unknown'}, {'converted': {'stubs': ['/session', '/vcs/type']}})
    >>> convert(new, "v2") == old
    True

The mark also has the `version` of the older record, if converting back would write another. A mark
counts only if each pointer leads to just that stub. Anything else in `vacr.converted` is an
ordinary member and is carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from vacr.model import SCHEMA_VERSION, JsonObject
from vacr.record.json_text import ValuePath, format_pointer
from vacr.record.validation import load_record_schema, parse_major_version

V2_VERSION = "2.0.0-draft"
EXTENSION_MEMBER = "vendor-ext"
SESSION_FORMATS = ("interactive", "autonomous")
VACR_VENDOR = "vacr"

PackabilityTest = Callable[[JsonObject], bool]
"""Returns whether converting a map to version 2 could have packed these members.

It could if no member has a place of its own in that map of version 2.
"""

_KEBAB_NAMES = {
    "start_line": "start-line",
    "end_line": "end-line",
    "content_hash": "content-hash",
    "content_hash_alg": "content-hash-alg",
    "model_id": "model-id",
}
_SNAKE_NAMES = {kebab: snake for snake, kebab in _KEBAB_NAMES.items()}
_CONTRIBUTOR_TYPES = ("human", "ai", "mixed", "unknown")

VACR_MEMBER = "vacr"
CONVERTED_MEMBER = "converted"

UNKNOWN_STUB = "unknown"
EMPTY_DIRECTORY_STUB = ""
EMPTY_CONTENT_STUB = ""

SESSION_POINTER = "/session"
VCS_TYPE_POINTER = "/vcs/type"
RECORDING_AGENT_NAME_POINTER = "/recording-agent/name"
WORKING_DIR_POINTER = "/session/environment/working-dir"
SESSION_VCS_TYPE_POINTER = "/session/environment/vcs/type"
ENTRIES_PATH: ValuePath = ((None, "session"), "entries")

_VENDOR_ENTRY_MEMBERS = frozenset(
    ("type", "event-type", EXTENSION_MEMBER, "timestamp", "id", "session-id", "children")
)
_NON_VENDOR_TYPES = ("user", "assistant", "reasoning")
_REQUIRED_MEMBERS = {
    "tool-call": ("name", "input"),
    "tool-result": ("output",),
    "system-event": ("event-type",),
}


@dataclass(frozen=True)
class MemberConversion:
    """A member that version 2 writes differently, or only with some values of version 3."""

    fits: Callable[[Any], bool]
    """Returns whether a value of version 3 has a place in version 2."""
    to_v2: Callable[[Any], Any] = lambda value: value
    to_v3: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class MapConversion:
    """The conversion of one kind of map, such as the token usage."""

    json: bool
    """Whether records come from JSON, where 1 and 1.0 are the same number."""
    shared: frozenset[str]
    """The names of the members that are the same in both versions."""
    converted: Mapping[str, MemberConversion] = field(default_factory=dict)
    typed: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    """A type test for each other member whose type version 3 restricts."""

    def convert_to_v2(self, value: JsonObject) -> JsonObject:
        """Convert a map of version 3; members unknown to version 2 go into its extension."""
        placed, rest = self.split_members(value)
        if not rest:
            return placed
        can_pack = partial(self.can_pack, placed=placed)
        return placed | {
            EXTENSION_MEMBER: pack_extension(rest, EXTENSION_MEMBER, can_pack, json=self.json)
        }

    def convert_to_v3(self, value: JsonObject) -> JsonObject:
        """Convert a map of version 2; members that vacr packed leave the extension again."""
        result = self.convert_members_to_v3(value)
        if EXTENSION_MEMBER in value:
            extension = result.pop(EXTENSION_MEMBER)
            can_pack = partial(self.can_pack, placed=value)
            if is_packed_extension(extension, EXTENSION_MEMBER, can_pack, json=self.json):
                result |= extension["data"]
            else:
                result[EXTENSION_MEMBER] = extension
        return result

    def convert_members_to_v3(self, value: JsonObject) -> JsonObject:
        """Convert the members of a map of version 2, but leave the extension packed."""
        return {
            name: self.converted[name].to_v3(item) if name in self.converted else item
            for name, item in value.items()
        }

    def split_members(self, value: JsonObject) -> tuple[JsonObject, JsonObject]:
        """Split a map of version 3 into two: members with a place in version 2, and other members.

        The first map is converted to version 2, the second is not.
        """
        placed, rest = {}, {}
        for name, item in value.items():
            if name in self.shared:
                placed[name] = item
            elif name in self.converted and self.converted[name].fits(item):
                placed[name] = self.converted[name].to_v2(item)
            else:
                rest[name] = item
        return placed, rest

    def can_pack(self, rest: JsonObject, *, placed: JsonObject) -> bool:
        """Return whether `convert_to_v2` could have packed these members.

        It could not if one has a place of its own in version 2, or a type that version 3 refuses.
        `placed` is the map in version 2.
        """
        return not any(
            name in self.shared
            or (name in self.converted and self.converted[name].fits(item))
            or (name in self.typed and not self.typed[name](item))
            or (name in placed and name != EXTENSION_MEMBER and name not in self.typed)
            for name, item in rest.items()
        )


@dataclass(frozen=True)
class MapConversions:
    """The conversions of all maps of version 2 that have an extension."""

    interactive: MapConversion
    autonomous: MapConversion
    vcs: MapConversion
    entries: Mapping[str, MapConversion]


@lru_cache(maxsize=2)
def build_map_conversions(*, json: bool) -> MapConversions:
    """Return the conversions of all maps; `json` is True for records from JSON."""

    def build_map(
        *shared: str,
        typed: Mapping[str, Callable[[Any], bool]] | None = None,
        **converted: MemberConversion,
    ) -> MapConversion:
        """Return a conversion: members that stay, that must fit a type, or are converted."""
        members = {name.replace("_", "-"): member for name, member in converted.items()}
        return MapConversion(json, frozenset(shared), members, typed or {})

    vcs = build_map("type", "revision", "branch", "repository")
    usage = build_map("input", "output", "cached", "reasoning", "total", "cost")
    agent = build_map("model-id", "model-provider", "models", "cli-name", "cli-version")
    environment = build_map("working-dir", "sandboxes", vcs=_make_map_member(vcs))
    build_session = partial(
        build_map,
        "session-start",
        "session-end",
        "entries",
        typed={"format": _is_text_or_none, "session-id": _is_bytes},
        format=MemberConversion(_is_session_format),
        session_id=_TEXT_MEMBER,
        agent_meta=_make_map_member(agent),
        environment=_make_map_member(environment),
    )
    build_entry = partial(build_map, "type", "timestamp", "id", "children", session_id=_TEXT_MEMBER)
    is_usage = load_record_schema("3").checker("token-usage", json=json).matches
    event_payload = MemberConversion(
        _accept_any,
        partial(_pack_event_payload, json=json),
        partial(_unpack_event_payload, json=json),
    )
    return MapConversions(
        interactive=build_session(),
        autonomous=build_session(task_description=_TEXT_MEMBER, task_result=_TEXT_MEMBER),
        vcs=vcs,
        entries={
            "user": build_entry(
                "content", "parent-id", typed={"model-id": _is_text, "token-usage": is_usage}
            ),
            "assistant": build_entry(
                "content",
                "parent-id",
                "model-id",
                stop_reason=_TEXT_MEMBER,
                token_usage=_make_map_member(usage),
            ),
            "tool-call": build_entry("call-id", "name", "input", contributor=_CONTRIBUTOR_MEMBER),
            "tool-result": build_entry("call-id", "output", "status", "is-error"),
            "reasoning": build_entry("content", "encrypted", "subject"),
            "system-event": build_entry("event-type", data=event_payload),
        },
    )


def _make_map_member(conversion: MapConversion) -> MemberConversion:
    """Return the conversion of a member whose value is a map."""
    return MemberConversion(_accept_any, conversion.convert_to_v2, conversion.convert_to_v3)


def _accept_any(_: Any) -> bool:
    """Return True for any value."""
    return True


def _is_text(value: Any) -> bool:
    """Return whether a value is text."""
    return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    """Return whether a value is a byte string."""
    return isinstance(value, bytes)


def _is_text_or_none(value: Any) -> bool:
    """Return whether a value is text or null."""
    return value is None or isinstance(value, str)


def _is_session_format(value: Any) -> bool:
    """Return whether a value is one of the two formats of version 2."""
    return isinstance(value, str) and value in SESSION_FORMATS


# Vendor extensions: packing and unpacking.


def pack_extension(
    rest: JsonObject, name: str, can_pack: PackabilityTest, *, json: bool
) -> JsonObject:
    """Return the vendor extension of version 2 that contains the members `rest`.

    `name` is the member that will have the extension. If `rest` has only that member, and its value
    is another vendor's extension, return that extension itself, unless it looks like a packed one.
    `json` is True for a record from JSON, False for one from CBOR.
    """
    if (
        rest.keys() == {name}
        and is_vendor_extension(rest[name], json=json)
        and not is_packed_extension(rest[name], name, can_pack, json=json)
    ):
        extension: JsonObject = rest[name]
        return extension
    return {"vendor": VACR_VENDOR, "data": rest}


def is_packed_extension(
    extension: Any, name: str, can_pack: PackabilityTest, *, json: bool
) -> bool:
    """Return whether `pack_extension` made an extension for the member `name`.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    while _is_vacr_extension(extension) and extension["data"] and can_pack(extension["data"]):
        data = extension["data"]
        if data.keys() != {name} or not is_vendor_extension(data[name], json=json):
            return True
        # The only member is an extension. `pack_extension` wraps such an extension only if it looks
        # packed itself, so that decides.
        extension = data[name]
    return False


def _pack_event_payload(payload: JsonObject, *, json: bool) -> JsonObject:
    """Return the `data` of an event as a vendor extension of version 2.

    A payload that is another vendor's extension stays; any other is wrapped. `json` is True for a
    record from JSON, False for one from CBOR.
    """
    if is_vendor_extension(payload, json=json) and not _is_packed_payload(payload, json=json):
        return payload
    return {"vendor": VACR_VENDOR, "data": payload}


def _unpack_event_payload(extension: JsonObject, *, json: bool) -> JsonObject:
    """Return the `data` of an event for version 3: the wrapped payload, or the extension itself.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    return extension["data"] if _is_packed_payload(extension, json=json) else extension


def _is_packed_payload(extension: Any, *, json: bool) -> bool:
    """Return whether `_pack_event_payload` wrapped a payload in this extension.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    while _is_vacr_extension(extension):
        if not is_vendor_extension(extension["data"], json=json):
            return True
        extension = extension["data"]
    return False


def is_vendor_extension(value: Any, *, json: bool) -> bool:
    """Return whether a value is a valid vendor extension of version 2.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    # The first two conditions spare most values the check against the schema.
    return (
        isinstance(value, dict)
        and "vendor" in value
        and load_record_schema("2").checker("vendor-extension", json=json).matches(value)
    )


def _is_vacr_extension(value: Any) -> bool:
    """Return whether a value has the form of the extensions that vacr makes."""
    return (
        isinstance(value, dict)
        and value.keys() == {"vendor", "data"}
        and value["vendor"] == VACR_VENDOR
        and isinstance(value["data"], dict)
        and all([type(key) is str for key in value["data"]])  # noqa: C419 - faster than a generator
    )


# File attribution.


def convert_attribution_to_kebab(attribution: JsonObject) -> JsonObject:
    """Return a copy of a file attribution with the names of version 3: `start-line`."""
    return _rename_in_attribution(attribution, _KEBAB_NAMES)


def convert_attribution_to_snake(attribution: JsonObject) -> JsonObject:
    """Return a copy of a file attribution with the names of versions 1 and 2: `start_line`."""
    return _rename_in_attribution(attribution, _SNAKE_NAMES)


def _rename_in_attribution(attribution: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return a copy with members of ranges and contributors renamed, from old to new name."""
    return {"files": [_rename_in_file(file, names) for file in attribution["files"]]}


def _rename_in_file(file: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return a copy of an attributed file with members of its conversations renamed."""
    conversations = [
        _rename_in_conversation(conversation, names) for conversation in file["conversations"]
    ]
    return file | {"conversations": conversations}


def _rename_in_conversation(conversation: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return a copy of a conversation with members of its ranges and contributors renamed."""
    ranges = [
        _rename_in_contributor(_rename_members(line_range, names), names)
        for line_range in conversation["ranges"]
    ]
    return _rename_in_contributor(conversation | {"ranges": ranges}, names)


def _rename_in_contributor(holder: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return a conversation or range with the members of its contributor renamed, if any."""
    if "contributor" not in holder:
        return holder
    return holder | {"contributor": _rename_members(holder["contributor"], names)}


def _rename_members(members: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return a copy of a map with renamed members: `names` maps old to new names."""
    return {names.get(name, name): value for name, value in members.items()}


def _is_contributor(value: Any) -> bool:
    """Return whether a value is a valid contributor with the names of version 3."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _CONTRIBUTOR_TYPES
        and value.keys() <= {"type", "model-id"}
        and isinstance(value.get("model-id", ""), str)
    )


_TEXT_MEMBER = MemberConversion(_is_text)
_CONTRIBUTOR_MEMBER = MemberConversion(
    _is_contributor,
    to_v2=partial(_rename_members, names=_SNAKE_NAMES),
    to_v3=partial(_rename_members, names=_KEBAB_NAMES),
)


# Stubs and marks.


@dataclass(frozen=True)
class ConversionMark:
    """The mark of a record of version 3 that was converted from version 2."""

    stubs: frozenset[str]
    """The pointers of the stubs."""
    version: str | None
    """The `version` of the older record, or None if it is the usual one."""


def make_stub_session(record_id: str) -> JsonObject:
    """Return a session without entries, and with unknown model, for a record without a session.

    The record's id becomes the session id, as in a conversion from version 1.
    """
    return {
        "session-id": record_id,
        "agent-meta": {"model-id": UNKNOWN_STUB, "model-provider": UNKNOWN_STUB},
        "entries": [],
    }


def is_vendor_entry(entry: JsonObject) -> bool:
    """Return whether an entry of version 2 is of a vendor's own type.

    Either its type is unknown, or it lacks a member that its type requires.
    """
    kind = entry["type"]
    return kind not in _NON_VENDOR_TYPES and not (
        kind in _REQUIRED_MEMBERS and all(name in entry for name in _REQUIRED_MEMBERS[kind])
    )


def add_conversion_mark(record: JsonObject, pointers: list[str], version: str) -> JsonObject:
    """Return a record of version 3 with a conversion mark.

    `pointers` are its stubs, `version` is the older record's version. Return the record itself if
    there are no stubs and the version is the usual one.
    """
    mark: JsonObject = {"stubs": sorted(pointers)} if pointers else {}
    if version != V2_VERSION:
        mark["version"] = version
    if not mark:
        return record
    return record | {VACR_MEMBER: record.get(VACR_MEMBER, {}) | {CONVERTED_MEMBER: mark}}


def remove_conversion_mark(record: JsonObject) -> JsonObject:
    """Return a copy of a record that has a conversion mark, without the mark.

    The member `vacr` is removed with it if it contains nothing else.
    """
    ours = {name: value for name, value in record[VACR_MEMBER].items() if name != CONVERTED_MEMBER}
    rest = {name: value for name, value in record.items() if name != VACR_MEMBER}
    return rest | {VACR_MEMBER: ours} if ours else rest


def get_conversion_claim(record: JsonObject) -> JsonObject:
    """Return the unchecked member `vacr.converted` of a record, or an empty dict."""
    ours = record.get(VACR_MEMBER)
    claim = ours.get(CONVERTED_MEMBER) if isinstance(ours, dict) else None
    return claim if isinstance(claim, dict) else {}


def find_conversion_mark(record: JsonObject, *, json: bool) -> ConversionMark | None:
    """Return the conversion mark of a record of version 3.

    Return None if it has none, or if any part of the mark is wrong. `json` is True for a record
    from JSON, False for one from CBOR.
    """
    claim = get_conversion_claim(record)
    if not claim or not claim.keys() <= {"stubs", "version"}:
        return None
    if "version" in claim and not (
        _is_other_v2_version(claim["version"]) and record["version"] == SCHEMA_VERSION
    ):
        return None
    pointers = claim.get("stubs", [])
    if "stubs" in claim and not (
        isinstance(pointers, list)
        and pointers
        and all(isinstance(pointer, str) for pointer in pointers)
    ):
        return None
    stubs = frozenset(pointers)
    if pointers != sorted(stubs):
        return None
    if not stubs <= frozenset(_find_stub_pointers(record, json=json)):
        return None
    return ConversionMark(stubs, claim.get("version"))


def _is_other_v2_version(version: Any) -> bool:
    """Return whether a value is a version 2.* other than the one that vacr writes."""
    return (
        isinstance(version, str) and version != V2_VERSION and parse_major_version(version) == "2"
    )


def _find_stub_pointers(record: JsonObject, *, json: bool) -> Iterator[str]:
    """Yield the pointers of all values in a record that look like stubs.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    if record.get("vcs", {}).get("type") == UNKNOWN_STUB:
        yield VCS_TYPE_POINTER
    if record.get("recording-agent", {}).get("name") == UNKNOWN_STUB:
        yield RECORDING_AGENT_NAME_POINTER
    session = record["session"]
    if session == make_stub_session(record["id"]):
        yield SESSION_POINTER
    environment = session.get("environment", {})
    if environment.get("working-dir") == EMPTY_DIRECTORY_STUB:
        yield WORKING_DIR_POINTER
    if environment.get("vcs", {}).get("type") == UNKNOWN_STUB:
        yield SESSION_VCS_TYPE_POINTER
    for entry, place in walk_entries_with_paths(session["entries"]):
        if entry["type"] == "reasoning" and entry["content"] == EMPTY_CONTENT_STUB:
            yield f"{format_pointer(place)}/content"
        elif entry["type"] == "system-event" and _may_be_vendor_entry(entry, json=json):
            yield f"{format_pointer(place)}/type"


def _may_be_vendor_entry(entry: JsonObject, *, json: bool) -> bool:
    """Return whether a system event of version 3 may have been a vendor's entry of version 2.

    `json` is True for a record from JSON, False for one from CBOR.
    """
    return (
        entry.keys() <= _VENDOR_ENTRY_MEMBERS
        and entry["event-type"] not in _NON_VENDOR_TYPES
        and isinstance(entry.get("session-id", ""), str)
        and is_vendor_extension(entry.get(EXTENSION_MEMBER), json=json)
    )


def walk_entries_with_paths(entries: list[JsonObject]) -> Iterator[tuple[JsonObject, ValuePath]]:
    """Yield each entry of a session, at every depth, with its place in the record.

    All siblings come before their children. This uses no recursion, so that deep nesting cannot
    exhaust the stack.
    """
    levels = [(entries, ENTRIES_PATH)]
    while levels:
        level, place = levels.pop()
        for index, entry in enumerate(level):
            yield entry, (place, index)
            if "children" in entry:
                levels.append((entry["children"], ((place, index), "children")))

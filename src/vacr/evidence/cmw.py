"""Messages of RATS in their wrappers, by which their type is known. Step: attest, appraise. Follows
RFC 9999 (CMW).

A record is `[type, value, ind]`, a tag `#6.N(value)` stands for a type by its CoAP content format
(RFC 9277), and a collection is a map of names to wrappers. In JSON values are base64url, and there
are no tags. Reading is strict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cbor2

from vacr.codec import canonical_json, deterministic_cbor
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence import base64url

REFERENCE_VALUES, ENDORSEMENTS, EVIDENCE, RESULTS, APPRAISAL_POLICY = 1, 2, 4, 8, 16
"""What a record holds, as bits."""
_ALL = REFERENCE_VALUES | ENDORSEMENTS | EVIDENCE | RESULTS | APPRAISAL_POLICY
COLLECTION_TYPE = "__cmwc_t"

_FIRST_TAG, _LAST_TAG, _PER_ROW = 1668546817, 1668612095, 255
_LAST_FORMAT = 65535
_RECORD_PARTS = (2, 3)
_DEPTH, _MOST, _DEEPEST = 12, 10_000, 4
_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:;[ \t]*[^;\x00-\x1f]+)*")
_URI_OR_OID = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+|[0-2](?:\.(?:0|[1-9][0-9]*))+")

Type = str | int
"""A media type, or the number of a CoAP content format."""


@dataclass(frozen=True, slots=True)
class Record:
    """One message and its type; `indicator` says what it is for, as bits, and may be missing."""

    type: Type
    value: bytes
    indicator: int | None = None

    @property
    def media_type(self) -> Type:
        """The type without its parameters."""
        return self.type.split(";")[0].strip().lower() if isinstance(self.type, str) else self.type


@dataclass(frozen=True, slots=True)
class Collection:
    """Several messages by their names, and what the whole is, as a URI or an OID."""

    members: Mapping[str | int, Record | Collection]
    type: str | None = field(default=None)


Wrapped = Record | Collection


def records_in(wrapped: Wrapped) -> Iterator[Record]:
    """Give all messages in a wrapper, however deep."""
    if isinstance(wrapped, Record):
        yield wrapped
        return
    for member in wrapped.members.values():
        yield from records_in(member)


def tag_of(content_format: int) -> int:
    """Give the tag that stands for a content format; RFC 9277, section 4.3."""
    return _FIRST_TAG + content_format // _PER_ROW * 256 + content_format % _PER_ROW


def encode_cbor(wrapped: Wrapped) -> bytes:
    """Write a wrapper as CBOR."""
    return deterministic_cbor.encode(to_cbor(wrapped))


def to_cbor(wrapped: Wrapped) -> Any:
    """Give a wrapper as values that CBOR holds."""
    if isinstance(wrapped, Record):
        return [
            wrapped.type,
            wrapped.value,
            *([] if wrapped.indicator is None else [wrapped.indicator]),
        ]
    said: dict[Any, Any] = {COLLECTION_TYPE: wrapped.type} if wrapped.type is not None else {}
    return said | {name: to_cbor(member) for name, member in wrapped.members.items()}


def encode_json(wrapped: Wrapped) -> bytes:
    """Write a wrapper as JSON.

    Raises:
        UsageError: it holds a content format or a number for a name, which only CBOR has.
    """
    return canonical_json.encode(_to_json(wrapped))


def _to_json(wrapped: Wrapped) -> Any:
    if isinstance(wrapped, Record):
        if not isinstance(wrapped.type, str):
            raise UsageError(
                f"content format {wrapped.type} cannot be written as JSON",
                hint="Name the media type.",
            )
        return [
            wrapped.type,
            base64url.encode(wrapped.value),
            *([] if wrapped.indicator is None else [wrapped.indicator]),
        ]
    said: dict[str, Any] = {COLLECTION_TYPE: wrapped.type} if wrapped.type is not None else {}
    for name, member in wrapped.members.items():
        if not isinstance(name, str):
            raise UsageError(
                f"the name {name} cannot be written as JSON", hint="Name it by a text."
            )
        said[name] = _to_json(member)
    return said


def decode(data: bytes) -> Wrapped:
    """Read a wrapper in CBOR or JSON.

    Raises:
        InvalidStatement: it is none.
    """
    is_json = data[:1] in (b"[", b"{") or data[:1].isspace()
    try:
        if is_json:
            return from_value(canonical_json.decode(data), is_json=True)
        return from_value(deterministic_cbor.decode_shortest(data, max_depth=_DEPTH, most=_MOST))
    except UnreadableInput as error:
        raise _refusal(f"not {'JSON' if is_json else 'CBOR'}: {error}") from error


def from_value(value: Any, *, is_json: bool = False, depth: int = 0) -> Wrapped:
    """Read a wrapper from what CBOR or JSON holds.

    Raises:
        InvalidStatement: it is none.
    """
    if isinstance(value, list | tuple):
        return _record(value, is_json=is_json)
    if isinstance(value, cbor2.CBORTag):
        return _tagged(value)
    if isinstance(value, dict):
        return _collection(value, is_json=is_json, depth=depth)
    raise _refusal("there is a value that is neither a record nor a tag nor a collection")


def _record(value: Any, *, is_json: bool) -> Record:
    if len(value) not in _RECORD_PARTS:
        raise _refusal(f"a record of {len(value)} parts")
    kind, content, *indicators = value
    if isinstance(kind, str):
        if not _TYPE.fullmatch(kind):
            raise _refusal("a record whose type is no media type")
    elif is_json or type(kind) is not int or not 0 <= kind <= _LAST_FORMAT:
        raise _refusal("a record whose type is neither a media type nor a content format")
    for bits in indicators:
        if type(bits) is not int or not 0 <= bits <= _ALL:
            raise _refusal("a record that does not say what it is for by known bits")
    return Record(kind, _content(content, is_json=is_json), indicators[0] if indicators else None)


def _content(content: Any, *, is_json: bool) -> bytes:
    if not is_json:
        if type(content) is not bytes:
            raise _refusal("a record whose value is no byte string")
        return content
    try:
        return base64url.decode(content)
    except (ValueError, AttributeError) as error:
        raise _refusal("a record whose value is not base64url") from error


def _tagged(value: cbor2.CBORTag) -> Record:
    row, column = divmod(value.tag - _FIRST_TAG, 256)
    if not _FIRST_TAG <= value.tag <= _LAST_TAG or column == _PER_ROW:
        raise _refusal(f"tag {value.tag}, which stands for no content format")
    if type(value.value) is not bytes:
        raise _refusal("a tag whose value is no byte string")
    return Record(row * _PER_ROW + column, value.value)


def _collection(value: dict[Any, Any], *, is_json: bool, depth: int) -> Collection:
    if depth >= _DEEPEST:
        raise _refusal("collections too deep in each other")
    kind = value.get(COLLECTION_TYPE)
    if COLLECTION_TYPE in value and (not isinstance(kind, str) or not _URI_OR_OID.fullmatch(kind)):
        raise _refusal(f"{COLLECTION_TYPE} is neither a URI nor an OID")
    members: dict[str | int, Wrapped] = {}
    for name, member in value.items():
        if name == COLLECTION_TYPE:
            continue
        if type(name) not in (str, int) or name == "":
            raise _refusal("a member whose name is neither text nor number")
        members[name] = from_value(member, is_json=is_json, depth=depth + 1)
    if not members:
        raise _refusal("a collection without members")
    return Collection(members, kind)


def _refusal(told: str) -> InvalidStatement:
    return InvalidStatement(f"not a wrapped message (CMW): {told}", reason="cmw-malformed")

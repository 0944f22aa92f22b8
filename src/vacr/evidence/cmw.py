"""Conceptual message wrappers (CMW): a RATS message together with its type (RFC 9999).

A record is `[type, value, indicator]`. A CBOR tag can stand for the type, by its CoAP content
format (RFC 9277). A collection maps names to wrappers. In JSON, values are base64url and there are
no tags. Reading is strict.

    >>> from vacr.evidence.cmw import CmwCollection, CmwRecord, decode_cmw, encode_cmw_json
    >>> record = CmwRecord("application/eat+cwt", b"token", indicator=4)    # 4 means evidence
    >>> encode_cmw_json(CmwCollection({"evidence": record}))
    b'{"evidence":["application/eat+cwt","dG9rZW4",4]}'
    >>> decode_cmw(encode_cmw_json(record)) == record
    True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import cbor2

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence.tokens import decode_base64url, encode_base64url
from vacr.record import (
    decode_json,
    decode_shortest_cbor,
    encode_canonical_json,
    encode_deterministic_cbor,
)

(
    INDICATOR_REFERENCE_VALUES,
    INDICATOR_ENDORSEMENTS,
    INDICATOR_EVIDENCE,
    INDICATOR_RESULTS,
    INDICATOR_APPRAISAL_POLICY,
) = 1, 2, 4, 8, 16
"""The kinds of messages, as bits of a record's indicator."""
_ALL_INDICATORS = (
    INDICATOR_REFERENCE_VALUES
    | INDICATOR_ENDORSEMENTS
    | INDICATOR_EVIDENCE
    | INDICATOR_RESULTS
    | INDICATOR_APPRAISAL_POLICY
)
COLLECTION_TYPE_MEMBER = "__cmwc_t"

_FIRST_FORMAT_TAG, _LAST_FORMAT_TAG, _FORMATS_PER_ROW = 1668546817, 1668612095, 255
_MAX_CONTENT_FORMAT = 65535
_CMW_RECORD_LENGTHS = (2, 3)
_MAX_CMW_DEPTH, _MAX_CMW_ITEMS, _MAX_COLLECTION_DEPTH = 12, 10_000, 4
_MEDIA_TYPE_PATTERN = re.compile(
    r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:;[ \t]*[^;\x00-\x1f]+)*"
)
_URI_OR_OID_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+|[0-2](?:\.(?:0|[1-9][0-9]*))+")

MessageType = str | int
"""A media type, or the number of a CoAP content format."""


@dataclass(frozen=True, slots=True)
class CmwRecord:
    """A message and its type; `indicator` tells evidence from results, and may be missing."""

    type: MessageType
    value: bytes
    indicator: int | None = None

    @property
    def media_type(self) -> MessageType:
        """The type without its parameters."""
        return self.type.split(";")[0].strip().lower() if isinstance(self.type, str) else self.type


@dataclass(frozen=True, slots=True)
class CmwCollection:
    """Several messages by name; `type` is a URI or an OID for the whole."""

    members: Mapping[str | int, CmwRecord | CmwCollection]
    type: str | None = field(default=None)


WrappedMessage = CmwRecord | CmwCollection


def list_cmw_records(wrapped: WrappedMessage) -> Iterator[CmwRecord]:
    """Yield all messages in a wrapper, at any depth."""
    if isinstance(wrapped, CmwRecord):
        yield wrapped
        return
    for member in wrapped.members.values():
        yield from list_cmw_records(member)


def decode_cmw(data: bytes) -> WrappedMessage:
    """Decode a wrapper in CBOR or JSON.

    Raises:
        InvalidStatement: it is malformed.
    """
    is_json = data[:1] in (b"[", b"{") or data[:1].isspace()
    try:
        if is_json:
            return parse_cmw_value(decode_json(data), is_json=True)
        return parse_cmw_value(
            decode_shortest_cbor(data, max_depth=_MAX_CMW_DEPTH, most=_MAX_CMW_ITEMS)
        )
    except UnreadableInput as error:
        raise _make_cmw_error(f"not {'JSON' if is_json else 'CBOR'}: {error}") from error


def parse_cmw_value(value: Any, *, is_json: bool = False, depth: int = 0) -> WrappedMessage:
    """Parse a wrapper from a value that was decoded from CBOR or JSON.

    Raises:
        InvalidStatement: it is malformed.
    """
    if isinstance(value, list | tuple):
        return _parse_cmw_record(value, is_json=is_json)
    if isinstance(value, cbor2.CBORTag):
        return _parse_cmw_tag(value)
    if isinstance(value, dict):
        return _parse_cmw_collection(value, is_json=is_json, depth=depth)
    raise _make_cmw_error("there is a value that is neither a record nor a tag nor a collection")


def _parse_cmw_record(value: Any, *, is_json: bool) -> CmwRecord:
    if len(value) not in _CMW_RECORD_LENGTHS:
        raise _make_cmw_error(f"a record of {len(value)} parts")
    message_type, content, *indicators = value
    if isinstance(message_type, str):
        if not _MEDIA_TYPE_PATTERN.fullmatch(message_type):
            raise _make_cmw_error("a record whose type is no media type")
    elif is_json or type(message_type) is not int or not 0 <= message_type <= _MAX_CONTENT_FORMAT:
        raise _make_cmw_error("a record whose type is neither a media type nor a content format")
    for bits in indicators:
        if type(bits) is not int or not 0 <= bits <= _ALL_INDICATORS:
            raise _make_cmw_error("a record that does not say what it is for by known bits")
    return CmwRecord(
        message_type,
        _parse_cmw_content(content, is_json=is_json),
        indicators[0] if indicators else None,
    )


def _parse_cmw_content(content: Any, *, is_json: bool) -> bytes:
    if not is_json:
        if type(content) is not bytes:
            raise _make_cmw_error("a record whose value is no byte string")
        return content
    try:
        return decode_base64url(content)
    except (ValueError, AttributeError) as error:
        raise _make_cmw_error("a record whose value is not base64url") from error


def _parse_cmw_tag(value: cbor2.CBORTag) -> CmwRecord:
    row, column = divmod(value.tag - _FIRST_FORMAT_TAG, 256)
    if not _FIRST_FORMAT_TAG <= value.tag <= _LAST_FORMAT_TAG or column == _FORMATS_PER_ROW:
        raise _make_cmw_error(f"tag {value.tag}, which stands for no content format")
    if type(value.value) is not bytes:
        raise _make_cmw_error("a tag whose value is no byte string")
    return CmwRecord(row * _FORMATS_PER_ROW + column, value.value)


def _parse_cmw_collection(value: dict[Any, Any], *, is_json: bool, depth: int) -> CmwCollection:
    if depth >= _MAX_COLLECTION_DEPTH:
        raise _make_cmw_error("collections too deep in each other")
    collection_type = value.get(COLLECTION_TYPE_MEMBER)
    if COLLECTION_TYPE_MEMBER in value and (
        not isinstance(collection_type, str) or not _URI_OR_OID_PATTERN.fullmatch(collection_type)
    ):
        raise _make_cmw_error(f"{COLLECTION_TYPE_MEMBER} is neither a URI nor an OID")
    members: dict[str | int, WrappedMessage] = {}
    for name, member in value.items():
        if name == COLLECTION_TYPE_MEMBER:
            continue
        if type(name) not in (str, int) or name == "":
            raise _make_cmw_error("a member whose name is neither text nor number")
        members[name] = parse_cmw_value(member, is_json=is_json, depth=depth + 1)
    if not members:
        raise _make_cmw_error("a collection without members")
    return CmwCollection(members, collection_type)


def _make_cmw_error(problem: str) -> InvalidStatement:
    return InvalidStatement(f"not a wrapped message (CMW): {problem}", reason="cmw-malformed")


def encode_cmw_cbor(wrapped: WrappedMessage) -> bytes:
    """Encode a wrapper as CBOR."""
    return encode_deterministic_cbor(build_cmw_value(wrapped))


def build_cmw_value(wrapped: WrappedMessage) -> Any:
    """Return a wrapper as a value for CBOR."""
    if isinstance(wrapped, CmwRecord):
        indicators = [] if wrapped.indicator is None else [wrapped.indicator]
        return [wrapped.type, wrapped.value, *indicators]
    value: dict[Any, Any] = {}
    if wrapped.type is not None:
        value[COLLECTION_TYPE_MEMBER] = wrapped.type
    for name, member in wrapped.members.items():
        value[name] = build_cmw_value(member)
    return value


def encode_cmw_json(wrapped: WrappedMessage) -> bytes:
    """Encode a wrapper as JSON.

    Raises:
        UsageError: it has a content format or a numeric name, which only CBOR supports.
    """
    return encode_canonical_json(_build_cmw_json(wrapped))


def _build_cmw_json(wrapped: WrappedMessage) -> Any:
    if isinstance(wrapped, CmwRecord):
        if not isinstance(wrapped.type, str):
            raise UsageError(
                f"content format {wrapped.type} cannot be written as JSON",
                hint="Name the media type.",
            )
        indicators = [] if wrapped.indicator is None else [wrapped.indicator]
        return [wrapped.type, encode_base64url(wrapped.value), *indicators]
    value: dict[str, Any] = {}
    if wrapped.type is not None:
        value[COLLECTION_TYPE_MEMBER] = wrapped.type
    for name, member in wrapped.members.items():
        if not isinstance(name, str):
            raise UsageError(
                f"the name {name} cannot be written as JSON", hint="Name it by a text."
            )
        value[name] = _build_cmw_json(member)
    return value


def compute_format_tag(content_format: int) -> int:
    """Return the CBOR tag that stands for a CoAP content format (RFC 9277, section 4.3)."""
    row, column = divmod(content_format, _FORMATS_PER_ROW)
    return _FIRST_FORMAT_TAG + row * 256 + column

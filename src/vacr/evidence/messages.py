"""RATS messages: evidence, endorsements and results, in a file or in a statement's header.

A message is a bare token, a wrapped token, or one of several in a collection (RFC 9782, RFC 9999).
The profile in its claims defines its kind, and the wrapper must agree. An unknown message is
refused: it could contradict the others.

    >>> from vacr.evidence.messages import *
    >>> from vacr.evidence.tokens import EAR_PROFILE, EAT_PROFILE, sign_cwt
    >>> from vacr.signing import KeySigner, generate_key
    >>> result = sign_cwt({EAT_PROFILE: EAR_PROFILE}, KeySigner(generate_key("eddsa")))
    >>> parse_messages(RatsMessages(result=result).encode("json")).result == result
    True

In a statement, messages are in the unprotected header, so that they can be added after signing
without changing the statement's entry in a log. Anybody can add them; they count because they name
the digest of the record under a signature of their own.

A conceptual message wrapper (CMW, RFC 9999) is a record `[type, value, indicator]`, or a collection
that maps names to wrappers. In CBOR, a tag can stand for the type, by its CoAP content format (RFC
9277). In JSON, values are base64url and there are no tags. Reading is strict.

    >>> record = CmwRecord("application/eat+cwt", b"token", indicator=4)    # 4 means evidence
    >>> encode_cmw_json(CmwCollection({"evidence": record}))
    b'{"evidence":["application/eat+cwt","dG9rZW4",4]}'
    >>> decode_cmw(encode_cmw_json(record)) == record
    True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import cbor2

from vacr.cddl import Checker, compile_cddl
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence.tokens import (
    CWT_PREFIX,
    EAR_PROFILE,
    EAT_CWT_MEDIA_TYPE,
    EAT_JWT_MEDIA_TYPE,
    EAT_PROFILE,
    ENDORSEMENT_PROFILE,
    REFERENCE_VALUES_MEDIA_TYPE,
    decode_base64url,
    encode_base64url,
    looks_like_jwt,
    parse_cwt,
    parse_jwt,
)
from vacr.record import (
    decode_json,
    decode_shortest_cbor,
    encode_canonical_json,
    encode_deterministic_cbor,
)
from vacr.signing import ALG_SHA256, HEADER_EVIDENCE, HEADER_PAYLOAD_HASH_ALG, Sign1, parse_sign1

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

CBOR_FORM, JSON_FORM, CWT_FORM, JWT_FORM = "cbor", "json", "cwt", "jwt"
WRAPPED_FORMS, BARE_FORMS = (CBOR_FORM, JSON_FORM), (CWT_FORM, JWT_FORM)
"""The encodings of messages; their files have the same suffixes."""
_SIGN1_PREFIX = b"\xd2"
_PROFILE_PARAMETER_PATTERN = re.compile(
    r';[ \t]*eat_profile[ \t]*=[ \t]*(?:"([^"]*)"|([^";]*))', re.IGNORECASE
)
_INDICATORS_BY_PROFILE = {
    EAR_PROFILE: INDICATOR_RESULTS,
    ENDORSEMENT_PROFILE: INDICATOR_ENDORSEMENTS,
}
"""The kind of a token, by its profile.

Tokens of other profiles are evidence.
"""
_MESSAGE_NAMES = {
    INDICATOR_EVIDENCE: "evidence",
    INDICATOR_RESULTS: "result",
    INDICATOR_ENDORSEMENTS: "endorsement",
}
_MAX_ENDORSEMENTS = 16


@dataclass(frozen=True, slots=True)
class RatsMessages:
    """Encoded tokens by kind; their signatures are not verified yet."""

    evidence: bytes | None = None
    result: bytes | None = None
    endorsements: tuple[bytes, ...] = ()

    def wrapped(self) -> WrappedMessage:
        """Return a single message as a CMW record, and several as a CMW collection.

        Without any message, the collection is empty.
        """
        members: dict[str | int, WrappedMessage] = {
            name: _wrap_token(token, INDICATOR_ENDORSEMENTS)
            for name, token in _name_endorsements(self.endorsements).items()
        }
        if self.evidence is not None:
            members["evidence"] = _wrap_token(self.evidence, INDICATOR_EVIDENCE)
        if self.result is not None:
            members["result"] = _wrap_token(self.result, INDICATOR_RESULTS)
        return next(iter(members.values())) if len(members) == 1 else CmwCollection(members)

    def encode(self, form: str) -> bytes:
        """Encode the messages in a wrapper (`cbor`, `json`), or a single token (`cwt`, `jwt`).

        There must be at least one message. A bare token is returned as it is, and not converted.

        Raises:
            UsageError: the form is `cwt` or `jwt`, but there are several messages.
        """
        if form == JSON_FORM:
            return encode_cmw_json(self.wrapped())
        if form in WRAPPED_FORMS:
            return encode_cmw_cbor(self.wrapped())
        candidates = (self.evidence, self.result, *self.endorsements)
        tokens = [token for token in candidates if token is not None]
        if len(tokens) > 1:
            raise UsageError(
                f"a {form.upper()} holds only one token: evidence, a result or an endorsement",
                hint="For several, write .cbor or .json.",
            )
        return tokens[0]


def _wrap_token(token: bytes, kind: int) -> CmwRecord:
    """Return a CMW record of a token, with its profile in the media type."""
    media_type = EAT_JWT_MEDIA_TYPE if looks_like_jwt(token) else EAT_CWT_MEDIA_TYPE
    return CmwRecord(f'{media_type}; eat_profile="{_parse_token_profile(token)}"', token, kind)


def _name_endorsements(endorsements: tuple[bytes, ...]) -> Mapping[str, bytes]:
    """Name endorsements as members of a collection: `endorsement`, or `endorsement-1` and so on."""
    if len(endorsements) == 1:
        return {"endorsement": endorsements[0]}
    return {f"endorsement-{number}": token for number, token in enumerate(endorsements, 1)}


def parse_messages(data: bytes) -> RatsMessages:
    """Sort the tokens in a bare token, a wrapper, or a collection of wrappers by their kind.

    Reference values in a collection are ignored. No signature is verified.

    Raises:
        InvalidStatement: the data contains no message, or an unknown one; a message contradicts its
            wrapper; or there are two pieces of evidence, two results, or too many endorsements.
    """
    if looks_like_jwt(data) or data.startswith((CWT_PREFIX, _SIGN1_PREFIX)):
        return _group_messages([(_get_message_kind(_parse_token_profile(data)), data)])
    return _group_messages(
        [
            (_check_wrapped_token(record), record.value)
            for record in list_cmw_records(decode_cmw(data))
            if record.media_type != REFERENCE_VALUES_MEDIA_TYPE
        ]
    )


def _group_messages(messages: list[tuple[int, bytes]]) -> RatsMessages:
    """Group tokens by their kinds; each comes after the indicator of its kind.

    Raises:
        InvalidStatement: there are no tokens, or too many of one kind.
    """
    tokens: dict[int, list[bytes]] = {kind: [] for kind in _MESSAGE_NAMES}
    for kind, token in messages:
        tokens[kind].append(token)
    for kind, limit in (
        (INDICATOR_EVIDENCE, 1),
        (INDICATOR_RESULTS, 1),
        (INDICATOR_ENDORSEMENTS, _MAX_ENDORSEMENTS),
    ):
        count = len(tokens[kind])
        if count > limit:
            raise InvalidStatement(
                f"the CMW has {count} messages of kind {_MESSAGE_NAMES[kind]}, "
                f"at most {limit} allowed",
                reason="message-twice",
            )
    if not messages:
        raise InvalidStatement(
            "the CMW contains no evidence, result or endorsement", reason="evidence-missing"
        )
    evidence = next(iter(tokens[INDICATOR_EVIDENCE]), None)
    result = next(iter(tokens[INDICATOR_RESULTS]), None)
    return RatsMessages(evidence, result, tuple(tokens[INDICATOR_ENDORSEMENTS]))


def _check_wrapped_token(record: CmwRecord) -> int:
    """Return the kind of a wrapped token as an indicator, and check that the wrapper agrees.

    Raises:
        InvalidStatement: the token is malformed, its kind is unknown, or the wrapper contradicts
            it.
    """
    if record.media_type not in (EAT_CWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE):
        raise InvalidStatement(f"unknown message type {record.type}", reason="message-unknown")
    if looks_like_jwt(record.value) != (record.media_type == EAT_JWT_MEDIA_TYPE):
        raise InvalidStatement(
            f"a message in the CMW does not match its type {record.type}", reason="message-type"
        )
    profile = _parse_token_profile(record.value)
    parameter = _PROFILE_PARAMETER_PATTERN.search(str(record.type))
    if parameter is not None and (parameter[1] or parameter[2].strip()).lower() != profile.lower():
        raise InvalidStatement(
            f"a message in the CMW has type {record.type}, but profile {profile!r}",
            reason="message-type",
        )
    kind = _get_message_kind(profile)
    if record.indicator not in (None, kind):
        raise InvalidStatement(
            f"the wrapper labels its {_MESSAGE_NAMES[kind]} as another kind of message",
            reason="message-type",
        )
    return kind


def _parse_token_profile(token: bytes) -> str:
    """Return the EAT profile in the claims of a token, or an empty text if it has none.

    Raises:
        InvalidStatement: the token is malformed, or is a JWT but not a result.
    """
    is_jwt = looks_like_jwt(token)
    claim = (
        parse_jwt(token).claims.get("eat_profile")
        if is_jwt
        else parse_cwt(token).claims.get(EAT_PROFILE)
    )
    profile = claim if isinstance(claim, str) else ""
    if is_jwt and _get_message_kind(profile) != INDICATOR_RESULTS:
        raise InvalidStatement(
            "this JWT is not a result; evidence and endorsements must be CWTs",
            reason="message-type",
        )
    return profile


def _get_message_kind(profile: str) -> int:
    """Return the indicator for tokens of a profile: results, endorsements, or else evidence."""
    return _INDICATORS_BY_PROFILE.get(profile, INDICATOR_EVIDENCE)


def attach_message(statement: bytes, wrapped: WrappedMessage, record: bytes) -> bytes:
    """Return a statement with a wrapped message in its unprotected header.

    `record` is the SHA-256 of the record that the message is about. A message that was there
    before is replaced.

    Raises:
        InvalidStatement: the bytes are not a statement, or it is about another record.
    """
    message = parse_sign1(statement)
    if message.protected.get(HEADER_PAYLOAD_HASH_ALG) == ALG_SHA256 and message.payload != record:
        raise InvalidStatement(
            "the statement and the evidence are about different files", reason="record-mismatch"
        )
    unprotected = {**message.unprotected, HEADER_EVIDENCE: build_cmw_value(wrapped)}
    return replace(message, unprotected=unprotected).encode()


def find_attached_message(message: Sign1) -> bytes | None:
    """Return the wrapped message in a statement's unprotected header as CBOR; None without one.

    Neither the statement nor the message is verified.

    Raises:
        InvalidStatement: the message is malformed, or in the protected header.
    """
    if HEADER_EVIDENCE in message.protected:
        raise InvalidStatement(
            "the evidence is in the protected header; it belongs in the unprotected one",
            reason="cmw-malformed",
        )
    if HEADER_EVIDENCE not in message.unprotected:
        return None
    return encode_cmw_cbor(parse_cmw_value(message.unprotected[HEADER_EVIDENCE]))


def check_evidence_schema(value: Any, rule: str, subject: str) -> None:
    """Check that a value follows a rule of the evidence schema, evidence.cddl.

    `subject` names the value in the error message.

    Raises:
        InvalidStatement: the value breaks the rule.
    """
    findings = _load_schema_checker(rule).findings(value)
    if findings:
        first = findings[0]
        raise InvalidStatement(
            f"malformed {subject}: {first.pointer or '/'}: "
            f"{first.found}, expected {first.expected}",
            reason="evidence-malformed",
        )


@cache
def _load_schema_checker(rule: str) -> Checker:
    """Return the checker for a rule of evidence.cddl, for values from CBOR."""
    text = resources.files("vacr.evidence").joinpath("evidence.cddl").read_text("utf-8")
    return compile_cddl(text, name="evidence.cddl").checker(rule, json=False)


@dataclass(frozen=True, slots=True)
class CmwRecord:
    """A CMW record: an encoded message, its type, and optionally an indicator of its kind."""

    type: MessageType
    value: bytes
    indicator: int | None = None

    @property
    def media_type(self) -> MessageType:
        """The type in lower case without parameters; a content format stays a number."""
        return self.type.split(";")[0].strip().lower() if isinstance(self.type, str) else self.type


@dataclass(frozen=True, slots=True)
class CmwCollection:
    """A CMW collection: messages by name, and optionally a URI or OID as the collection's type."""

    members: Mapping[str | int, CmwRecord | CmwCollection]
    type: str | None = field(default=None)


WrappedMessage = CmwRecord | CmwCollection


def list_cmw_records(wrapped: WrappedMessage) -> Iterator[CmwRecord]:
    """Yield the record itself, or all records in a collection, at any depth."""
    if isinstance(wrapped, CmwRecord):
        yield wrapped
        return
    for member in wrapped.members.values():
        yield from list_cmw_records(member)


def decode_cmw(data: bytes) -> WrappedMessage:
    """Decode a CMW wrapper in CBOR or JSON.

    Raises:
        InvalidStatement: the wrapper is malformed.
    """
    is_json = data[:1] in (b"[", b"{") or data[:1].isspace()
    try:
        if is_json:
            return parse_cmw_value(decode_json(data), is_json=True)
        return parse_cmw_value(
            decode_shortest_cbor(data, max_depth=_MAX_CMW_DEPTH, max_items=_MAX_CMW_ITEMS)
        )
    except UnreadableInput as error:
        raise _make_cmw_error(f"not {'JSON' if is_json else 'CBOR'}: {error}") from error


def parse_cmw_value(value: Any, *, is_json: bool = False, depth: int = 0) -> WrappedMessage:
    """Parse a CMW wrapper from decoded CBOR, or from decoded JSON if `is_json` is true.

    `depth` counts the collections around it.

    Raises:
        InvalidStatement: the wrapper is malformed, or nested too deeply.
    """
    if isinstance(value, list | tuple):
        return _parse_cmw_record(value, is_json=is_json)
    if isinstance(value, cbor2.CBORTag):
        return _parse_cmw_tag(value)
    if isinstance(value, dict):
        return _parse_cmw_collection(value, is_json=is_json, depth=depth)
    raise _make_cmw_error("a value is neither a CMW record nor a tag nor a collection")


def _parse_cmw_record(value: list[Any] | tuple[Any, ...], *, is_json: bool) -> CmwRecord:
    """Parse a CMW record `[type, value]` or `[type, value, indicator]`.

    `is_json` means that it is decoded JSON, not CBOR.

    Raises:
        InvalidStatement: the record is malformed.
    """
    if len(value) not in _CMW_RECORD_LENGTHS:
        raise _make_cmw_error(f"a CMW record must have two or three parts, not {len(value)}")
    message_type, content, *indicators = value
    if isinstance(message_type, str):
        if not _MEDIA_TYPE_PATTERN.fullmatch(message_type):
            raise _make_cmw_error("the type of a CMW record is not a media type")
    elif is_json or type(message_type) is not int or not 0 <= message_type <= _MAX_CONTENT_FORMAT:
        raise _make_cmw_error(
            "the type of a CMW record is neither a media type nor a content format"
        )
    for bits in indicators:
        if type(bits) is not int or not 0 <= bits <= _ALL_INDICATORS:
            raise _make_cmw_error("a CMW record has an unknown indicator")
    return CmwRecord(
        message_type,
        _parse_cmw_content(content, is_json=is_json),
        indicators[0] if indicators else None,
    )


def _parse_cmw_content(content: Any, *, is_json: bool) -> bytes:
    """Return the bytes of a message: a byte string in CBOR, or base64url in JSON.

    Raises:
        InvalidStatement: the content has another form.
    """
    if not is_json:
        if type(content) is not bytes:
            raise _make_cmw_error("the value of a CMW record is not a byte string")
        return content
    try:
        return decode_base64url(content)
    except (ValueError, AttributeError) as error:
        raise _make_cmw_error("the value of a CMW record is not base64url") from error


def _parse_cmw_tag(value: cbor2.CBORTag) -> CmwRecord:
    """Parse a CBOR tag that stands for a content format, the reverse of `compute_format_tag`.

    Raises:
        InvalidStatement: the tag stands for no content format, or its value is not a byte string.
    """
    row, column = divmod(value.tag - _FIRST_FORMAT_TAG, 256)
    if not _FIRST_FORMAT_TAG <= value.tag <= _LAST_FORMAT_TAG or column == _FORMATS_PER_ROW:
        raise _make_cmw_error(f"tag {value.tag} does not stand for a content format")
    if type(value.value) is not bytes:
        raise _make_cmw_error("the value of a tag is not a byte string")
    return CmwRecord(row * _FORMATS_PER_ROW + column, value.value)


def _parse_cmw_collection(value: dict[Any, Any], *, is_json: bool, depth: int) -> CmwCollection:
    """Parse a collection and its members; it must not be empty or nested too deeply.

    `is_json` means that it is decoded JSON, not CBOR, and `depth` counts the collections around it.

    Raises:
        InvalidStatement: the collection or one of its members is malformed.
    """
    if depth >= _MAX_COLLECTION_DEPTH:
        raise _make_cmw_error("collections are nested too deeply")
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
            raise _make_cmw_error("the name of a member is neither text nor a number")
        members[name] = parse_cmw_value(member, is_json=is_json, depth=depth + 1)
    if not members:
        raise _make_cmw_error("a collection is empty")
    return CmwCollection(members, collection_type)


def _make_cmw_error(problem: str) -> InvalidStatement:
    """Return the error that data is not a CMW wrapper; `problem` describes the malformed part."""
    return InvalidStatement(f"not a wrapped message (CMW): {problem}", reason="cmw-malformed")


def encode_cmw_cbor(wrapped: WrappedMessage) -> bytes:
    """Encode a CMW wrapper as deterministic CBOR."""
    return encode_deterministic_cbor(build_cmw_value(wrapped))


def build_cmw_value(wrapped: WrappedMessage) -> Any:
    """Return a CMW wrapper as lists and dicts, ready for encoding as CBOR."""
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
    """Encode a CMW wrapper as canonical JSON.

    Raises:
        UsageError: a type or a name is a number, which only CBOR supports.
    """
    return encode_canonical_json(_build_cmw_json(wrapped))


def _build_cmw_json(wrapped: WrappedMessage) -> Any:
    """Return a CMW wrapper as lists and dicts for JSON, with the messages in base64url.

    Raises:
        UsageError: a type or a name is a number, which only CBOR supports.
    """
    if isinstance(wrapped, CmwRecord):
        if not isinstance(wrapped.type, str):
            raise UsageError(
                f"the type of a message is the number {wrapped.type}, which only CBOR can express",
                hint="Write CBOR, or use a media type, such as application/eat+cwt.",
            )
        indicators = [] if wrapped.indicator is None else [wrapped.indicator]
        return [wrapped.type, encode_base64url(wrapped.value), *indicators]
    value: dict[str, Any] = {}
    if wrapped.type is not None:
        value[COLLECTION_TYPE_MEMBER] = wrapped.type
    for name, member in wrapped.members.items():
        if not isinstance(name, str):
            raise UsageError(
                f"a message in the collection has the number {name} as its name, which only CBOR "
                "can express",
                hint="Write CBOR, or name the message with text.",
            )
        value[name] = _build_cmw_json(member)
    return value


def compute_format_tag(content_format: int) -> int:
    """Return the CBOR tag that stands for a CoAP content format (RFC 9277, section 4.3)."""
    row, column = divmod(content_format, _FORMATS_PER_ROW)
    return _FIRST_FORMAT_TAG + row * 256 + column

"""RATS messages: evidence, endorsements and results, in a file or in a statement's header.

A message is a bare token, a wrapped token, or one of several in a collection (RFC 9782, RFC 9999).
The profile in its claims defines its kind, and the wrapper must agree. An unknown message is
refused: it could contradict the others.

    >>> from vacr.evidence.messages import RatsMessages, parse_messages
    >>> from vacr.evidence.tokens import EAR_PROFILE, EAT_PROFILE, sign_cwt
    >>> from vacr.signing import KeySigner, generate_key
    >>> result = sign_cwt({EAT_PROFILE: EAR_PROFILE}, KeySigner(generate_key("eddsa")))
    >>> parse_messages(RatsMessages(result=result).encode("json")).result == result
    True

In a statement, messages are in the unprotected header, so that they can be added after signing
without changing the statement's entry in a log. Anybody can add them; they count because they name
the digest of the record under a signature of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from vacr.cddl import Checker, compile_cddl
from vacr.errors import InvalidStatement, UsageError
from vacr.evidence.cmw import (
    INDICATOR_ENDORSEMENTS,
    INDICATOR_EVIDENCE,
    INDICATOR_RESULTS,
    CmwCollection,
    CmwRecord,
    WrappedMessage,
    build_cmw_value,
    decode_cmw,
    encode_cmw_cbor,
    encode_cmw_json,
    list_cmw_records,
    parse_cmw_value,
)
from vacr.evidence.tokens import (
    CWT_PREFIX,
    EAR_PROFILE,
    EAT_CWT_MEDIA_TYPE,
    EAT_JWT_MEDIA_TYPE,
    EAT_PROFILE,
    ENDORSEMENT_PROFILE,
    REFERENCE_VALUES_MEDIA_TYPE,
    looks_like_jwt,
    parse_cwt,
    parse_jwt,
)
from vacr.signing import ALG_SHA256, HEADER_EVIDENCE, HEADER_PAYLOAD_HASH_ALG, Sign1, parse_sign1

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
    """Tokens by kind; their signatures are not verified yet."""

    evidence: bytes | None = None
    result: bytes | None = None
    endorsements: tuple[bytes, ...] = ()

    def wrapped(self) -> WrappedMessage:
        """Wrap the messages: one by itself, several as a collection."""
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
        """Encode the messages: wrapped in CBOR or JSON, or a single one bare.

        Raises:
            UsageError: there are several, and the form is bare.
        """
        if form == JSON_FORM:
            return encode_cmw_json(self.wrapped())
        if form in WRAPPED_FORMS:
            return encode_cmw_cbor(self.wrapped())
        candidates = (self.evidence, self.result, *self.endorsements)
        tokens = [token for token in candidates if token is not None]
        if len(tokens) > 1:
            raise UsageError(
                f"several messages do not fit into one {form.upper()}", hint="Write .cbor or .json."
            )
        return tokens[0]


def _wrap_token(token: bytes, kind: int) -> CmwRecord:
    media_type = EAT_JWT_MEDIA_TYPE if looks_like_jwt(token) else EAT_CWT_MEDIA_TYPE
    return CmwRecord(f'{media_type}; eat_profile="{_parse_token_profile(token)}"', token, kind)


def _name_endorsements(endorsements: tuple[bytes, ...]) -> Mapping[str, bytes]:
    if len(endorsements) == 1:
        return {"endorsement": endorsements[0]}
    return {f"endorsement-{number}": token for number, token in enumerate(endorsements, 1)}


def parse_messages(data: bytes) -> RatsMessages:
    """Parse the messages in a bare token, a wrapper, or a collection of wrappers.

    Raises:
        InvalidStatement: no message is found, one is unknown or contradicts its wrapper, or
            there are two of a kind that must be unique.
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
                f"{count} messages are {_MESSAGE_NAMES[kind]}, where there can be {limit}",
                reason="message-twice",
            )
    if not messages:
        raise InvalidStatement(
            "the wrapper holds neither evidence nor a result", reason="evidence-missing"
        )
    evidence = next(iter(tokens[INDICATOR_EVIDENCE]), None)
    result = next(iter(tokens[INDICATOR_RESULTS]), None)
    return RatsMessages(evidence, result, tuple(tokens[INDICATOR_ENDORSEMENTS]))


def _check_wrapped_token(record: CmwRecord) -> int:
    """Return the kind of a wrapped message, and check that the wrapper agrees."""
    if record.media_type not in (EAT_CWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE):
        raise InvalidStatement(
            f"a message of the type {record.type}, which is not known", reason="message-unknown"
        )
    if looks_like_jwt(record.value) != (record.media_type == EAT_JWT_MEDIA_TYPE):
        raise InvalidStatement(
            f"a message that is not of its type, {record.type}", reason="message-type"
        )
    profile = _parse_token_profile(record.value)
    parameter = _PROFILE_PARAMETER_PATTERN.search(str(record.type))
    if parameter is not None and (parameter[1] or parameter[2].strip()).lower() != profile.lower():
        raise InvalidStatement(
            f"a message of the type {record.type} whose profile is {profile!r}",
            reason="message-type",
        )
    kind = _get_message_kind(profile)
    if record.indicator not in (None, kind):
        raise InvalidStatement(
            f"a wrapper that says that its {_MESSAGE_NAMES[kind]} is something else",
            reason="message-type",
        )
    return kind


def _parse_token_profile(token: bytes) -> str:
    """Return the profile in the claims of a token, or an empty text."""
    is_jwt = looks_like_jwt(token)
    claim = (
        parse_jwt(token).claims.get("eat_profile")
        if is_jwt
        else parse_cwt(token).claims.get(EAT_PROFILE)
    )
    profile = claim if isinstance(claim, str) else ""
    if is_jwt and _get_message_kind(profile) != INDICATOR_RESULTS:
        raise InvalidStatement(
            "a JWT that is no result: evidence and endorsements are CWTs", reason="message-type"
        )
    return profile


def _get_message_kind(profile: str) -> int:
    return _INDICATORS_BY_PROFILE.get(profile, INDICATOR_EVIDENCE)


def attach_message(statement: bytes, wrapped: WrappedMessage, record: bytes) -> bytes:
    """Add a wrapped message about a record to a statement, replacing the previous one.

    Raises:
        InvalidStatement: it is not a statement, or is about another record.
    """
    message = parse_sign1(statement)
    if message.protected.get(HEADER_PAYLOAD_HASH_ALG) == ALG_SHA256 and message.payload != record:
        raise InvalidStatement(
            "the statement is about another file than the evidence", reason="record-mismatch"
        )
    unprotected = {**message.unprotected, HEADER_EVIDENCE: build_cmw_value(wrapped)}
    return replace(message, unprotected=unprotected).encode()


def find_attached_message(message: Sign1) -> bytes | None:
    """Return the wrapped message in a statement's header, if any.

    Raises:
        InvalidStatement: it is malformed.
    """
    if HEADER_EVIDENCE in message.protected:
        raise InvalidStatement(
            "evidence in the protected header, where it cannot be about the statement",
            reason="cmw-malformed",
        )
    if HEADER_EVIDENCE not in message.unprotected:
        return None
    return encode_cmw_cbor(parse_cmw_value(message.unprotected[HEADER_EVIDENCE]))


def check_evidence_schema(value: Any, rule: str, subject: str) -> None:
    """Check that a value follows a rule of the evidence schema, evidence.cddl.

    Raises:
        InvalidStatement: it does not.
    """
    findings = _load_schema_checker(rule).findings(value)
    if findings:
        first = findings[0]
        raise InvalidStatement(
            (
                f"{subject} of another form than they have to be: {first.pointer or '/'}: "
                f"{first.found}, not {first.expected}"
            ),
            reason="evidence-malformed",
        )


@cache
def _load_schema_checker(rule: str) -> Checker:
    text = resources.files("vacr.evidence").joinpath("evidence.cddl").read_text("utf-8")
    return compile_cddl(text, name="evidence.cddl").checker(rule, json=False)

"""Evidence and results in the header of a statement. Step: attest, verify.

They stand in the unprotected header, so that they can be put there after signing and do not change
the statement's entry in a log. Anybody can do that: what binds them is that they name the digest of
the record, under a signature of their own.

The messages of RATS in some bytes: evidence, endorsements, a result. Step: attest, appraise.
Follows RFC 9782 and RFC 9999.

A message is bare (a token), in a wrapper, or one of several in a collection. What it is, is told by
the profile in its claims. What its wrapper says has to agree with that. A message that is not known
is refused: it could say the opposite of the others.

What evidence has to look like, by its CDDL. Step: appraise.
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
from vacr.evidence.tokens import (
    CWT_PREFIX,
    EAR_PROFILE,
    EAT_CWT_MEDIA_TYPE,
    EAT_JWT_MEDIA_TYPE,
    EAT_PROFILE,
    ENDORSEMENT_PROFILE,
    INDICATOR_ENDORSEMENTS,
    INDICATOR_EVIDENCE,
    INDICATOR_RESULTS,
    REFERENCE_VALUES_MEDIA_TYPE,
    CmwCollection,
    CmwRecord,
    WrappedMessage,
    build_cmw_value,
    decode_cmw,
    encode_cmw_cbor,
    encode_cmw_json,
    list_cmw_records,
    looks_like_jwt,
    parse_cmw_value,
    parse_cwt,
    parse_jwt,
)
from vacr.signing import ALG_SHA256, HEADER_EVIDENCE, HEADER_PAYLOAD_HASH_ALG, Sign1, parse_sign1


def attach_message(statement: bytes, wrapped: WrappedMessage, record: bytes) -> bytes:
    """Put a wrapped message about a record into a statement, in the place of the one that was
    there.

    Raises:
        InvalidStatement: it is no statement, or one about other bytes.
    """
    message = parse_sign1(statement)
    if message.protected.get(HEADER_PAYLOAD_HASH_ALG) == ALG_SHA256 and message.payload != record:
        raise InvalidStatement(
            "the statement is about another file than the evidence", reason="record-mismatch"
        )
    return replace(
        message, unprotected={**message.unprotected, HEADER_EVIDENCE: build_cmw_value(wrapped)}
    ).encode()


def find_attached_message(message: Sign1) -> bytes | None:
    """Give the wrapped message that a statement carries.

    Raises:
        InvalidStatement: it is none.
    """
    if HEADER_EVIDENCE in message.protected:
        raise InvalidStatement(
            "evidence in the protected header, where it cannot be about the statement",
            reason="cmw-malformed",
        )
    if HEADER_EVIDENCE not in message.unprotected:
        return None
    return encode_cmw_cbor(parse_cmw_value(message.unprotected[HEADER_EVIDENCE]))


CBOR_FORM, JSON_FORM, CWT_FORM, JWT_FORM = "cbor", "json", "cwt", "jwt"
WRAPPED_FORMS, BARE_FORMS = (CBOR_FORM, JSON_FORM), (CWT_FORM, JWT_FORM)
"""The forms that messages are written in, which are also what the names of their files end in."""

_SIGN1_PREFIX = b"\xd2"
_PROFILE_PARAMETER_PATTERN = re.compile(
    r';[ \t]*eat_profile[ \t]*=[ \t]*(?:"([^"]*)"|([^";]*))', re.IGNORECASE
)
_INDICATORS_BY_PROFILE = {
    EAR_PROFILE: INDICATOR_RESULTS,
    ENDORSEMENT_PROFILE: INDICATOR_ENDORSEMENTS,
}
"""What a token of some profile is; of any other, it is evidence, and whoever appraises it says
which profiles are known.
"""
_MESSAGE_NAMES = {
    INDICATOR_EVIDENCE: "evidence",
    INDICATOR_RESULTS: "result",
    INDICATOR_ENDORSEMENTS: "endorsement",
}
_MAX_ENDORSEMENTS = 16


@dataclass(frozen=True, slots=True)
class RatsMessages:
    """Tokens by what they are for; their signatures are not checked yet."""

    evidence: bytes | None = None
    result: bytes | None = None
    endorsements: tuple[bytes, ...] = ()

    def wrapped(self) -> WrappedMessage:
        """Wrap them: one by itself, several as a collection."""
        found: dict[str | int, WrappedMessage] = {
            name: _wrap_token(token, INDICATOR_ENDORSEMENTS)
            for name, token in _name_endorsements(self.endorsements).items()
        }
        if self.evidence is not None:
            found["evidence"] = _wrap_token(self.evidence, INDICATOR_EVIDENCE)
        if self.result is not None:
            found["result"] = _wrap_token(self.result, INDICATOR_RESULTS)
        return next(iter(found.values())) if len(found) == 1 else CmwCollection(found)

    def encode(self, form: str) -> bytes:
        """Write them in a form: wrapped in CBOR or JSON, or one of them bare.

        Raises:
            UsageError: several cannot be bare.
        """
        if form in WRAPPED_FORMS:
            return (
                encode_cmw_json(self.wrapped())
                if form == JSON_FORM
                else encode_cmw_cbor(self.wrapped())
            )
        tokens = [
            one for one in (self.evidence, self.result, *self.endorsements) if one is not None
        ]
        if len(tokens) > 1:
            raise UsageError(
                f"several messages do not fit into one {form.upper()}", hint="Write .cbor or .json."
            )
        return tokens[0]


def parse_messages(data: bytes) -> RatsMessages:
    """Read the messages in some bytes: a token, a wrapper, or a collection of them.

    Raises:
        InvalidStatement: there is none, one is not known or not what its wrapper says, or two could
            be meant.
    """
    if looks_like_jwt(data) or data.startswith((CWT_PREFIX, _SIGN1_PREFIX)):
        return _group_messages([(_get_message_kind(_parse_token_profile(data)), data)])
    records = list(list_cmw_records(decode_cmw(data)))
    return _group_messages(
        [
            (_check_wrapped_token(one), one.value)
            for one in records
            if one.media_type != REFERENCE_VALUES_MEDIA_TYPE
        ]
    )


def _group_messages(found: list[tuple[int, bytes]]) -> RatsMessages:
    tokens = {kind: [token for one, token in found if one == kind] for kind in _MESSAGE_NAMES}
    for kind, most in (
        (INDICATOR_EVIDENCE, 1),
        (INDICATOR_RESULTS, 1),
        (INDICATOR_ENDORSEMENTS, _MAX_ENDORSEMENTS),
    ):
        if len(tokens[kind]) > most:
            told = f"{len(tokens[kind])} messages are {_MESSAGE_NAMES[kind]}, where there can be {most}"
            raise InvalidStatement(told, reason="message-twice")
    if not found:
        raise InvalidStatement(
            "the wrapper holds neither evidence nor a result", reason="evidence-missing"
        )
    evidence, result = (
        next(iter(tokens[kind]), None) for kind in (INDICATOR_EVIDENCE, INDICATOR_RESULTS)
    )
    return RatsMessages(evidence, result, tuple(tokens[INDICATOR_ENDORSEMENTS]))


def _check_wrapped_token(record: CmwRecord) -> int:
    """Tell what a message in a wrapper is, and check that the wrapper says the same."""
    if record.media_type not in (EAT_CWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE):
        raise InvalidStatement(
            f"a message of the type {record.type}, which is not known", reason="message-unknown"
        )
    if looks_like_jwt(record.value) != (record.media_type == EAT_JWT_MEDIA_TYPE):
        raise InvalidStatement(
            f"a message that is not of its type, {record.type}", reason="message-type"
        )
    profile = _parse_token_profile(record.value)
    named = _PROFILE_PARAMETER_PATTERN.search(str(record.type))
    if named is not None and (named[1] or named[2].strip()).lower() != profile.lower():
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
    """Give the profile that the claims of a token name, and nothing where they name none."""
    in_json = looks_like_jwt(token)
    found = (
        parse_jwt(token).claims.get("eat_profile")
        if in_json
        else parse_cwt(token).claims.get(EAT_PROFILE)
    )
    profile = found if isinstance(found, str) else ""
    if in_json and _get_message_kind(profile) != INDICATOR_RESULTS:
        raise InvalidStatement(
            "a JWT that is no result: evidence and endorsements are CWTs", reason="message-type"
        )
    return profile


def _get_message_kind(profile: str) -> int:
    return _INDICATORS_BY_PROFILE.get(profile, INDICATOR_EVIDENCE)


def _wrap_token(token: bytes, kind: int) -> CmwRecord:
    media_type = EAT_JWT_MEDIA_TYPE if looks_like_jwt(token) else EAT_CWT_MEDIA_TYPE
    return CmwRecord(f'{media_type}; eat_profile="{_parse_token_profile(token)}"', token, kind)


def _name_endorsements(endorsements: tuple[bytes, ...]) -> Mapping[str, bytes]:
    if len(endorsements) == 1:
        return {"endorsement": endorsements[0]}
    return {f"endorsement-{at}": one for at, one in enumerate(endorsements, 1)}


@cache
def _load_schema_checker(rule: str) -> Checker:
    text = resources.files("vacr.evidence").joinpath("evidence.cddl").read_text("utf-8")
    return compile_cddl(text, name="evidence.cddl").checker(rule, json=False)


def check_evidence_schema(value: Any, rule: str, what: str) -> None:
    """Check that a value follows a rule of the schema of evidence.

    Raises:
        InvalidStatement: it does not.
    """
    findings = _load_schema_checker(rule).findings(value)
    if findings:
        first = findings[0]
        raise InvalidStatement(
            (
                f"{what} of another form than they have to be: {first.pointer or '/'}: "
                f"{first.found}, not {first.expected}"
            ),
            reason="evidence-malformed",
        )

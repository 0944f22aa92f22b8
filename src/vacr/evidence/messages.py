"""The messages of RATS in some bytes: evidence, endorsements, a result. Step: attest, appraise.
Follows RFC 9782 and RFC 9999.

A message is bare (a token), in a wrapper, or one of several in a collection. What it is, is told by
the profile in its claims. What its wrapper says has to agree with that. A message that is not known
is refused: it could say the opposite of the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from vacr.errors import InvalidStatement, UsageError
from vacr.evidence import cmw, cwt, jwt, labels

CBOR, JSON, CWT, JWT = "cbor", "json", "cwt", "jwt"
WRAPPED, BARE = (CBOR, JSON), (CWT, JWT)
"""The forms that messages are written in, which are also what the names of their files end in."""

_SIGN1 = b"\xd2"
_PROFILE = re.compile(r';[ \t]*eat_profile[ \t]*=[ \t]*(?:"([^"]*)"|([^";]*))', re.IGNORECASE)
_KINDS = {labels.EAR_PROFILE: cmw.RESULTS, labels.ENDORSEMENT_PROFILE: cmw.ENDORSEMENTS}
"""What a token of some profile is; of any other, it is evidence, and whoever appraises it says
which profiles are known.
"""
_CALLED = {cmw.EVIDENCE: "evidence", cmw.RESULTS: "result", cmw.ENDORSEMENTS: "endorsement"}
_MOST_ENDORSEMENTS = 16


@dataclass(frozen=True, slots=True)
class Messages:
    """Tokens by what they are for; their signatures are not checked yet."""

    evidence: bytes | None = None
    result: bytes | None = None
    endorsements: tuple[bytes, ...] = ()

    def wrapped(self) -> cmw.Wrapped:
        """Wrap them: one by itself, several as a collection."""
        found: dict[str | int, cmw.Wrapped] = {
            name: _record(token, cmw.ENDORSEMENTS)
            for name, token in _named(self.endorsements).items()
        }
        if self.evidence is not None:
            found["evidence"] = _record(self.evidence, cmw.EVIDENCE)
        if self.result is not None:
            found["result"] = _record(self.result, cmw.RESULTS)
        return next(iter(found.values())) if len(found) == 1 else cmw.Collection(found)

    def encode(self, form: str) -> bytes:
        """Write them in a form: wrapped in CBOR or JSON, or one of them bare.

        Raises:
            UsageError: several cannot be bare.
        """
        if form in WRAPPED:
            return (
                cmw.encode_json(self.wrapped()) if form == JSON else cmw.encode_cbor(self.wrapped())
            )
        tokens = [
            one for one in (self.evidence, self.result, *self.endorsements) if one is not None
        ]
        if len(tokens) > 1:
            raise UsageError(
                f"several messages do not fit into one {form.upper()}", hint="Write .cbor or .json."
            )
        return tokens[0]


def read(data: bytes) -> Messages:
    """Read the messages in some bytes: a token, a wrapper, or a collection of them.

    Raises:
        InvalidStatement: there is none, one is not known or not what its wrapper says, or two could
            be meant.
    """
    if jwt.looks_like_one(data) or data.startswith((cwt.TAG, _SIGN1)):
        return _sorted([(_kind(_profile(data)), data)])
    records = list(cmw.records_in(cmw.decode(data)))
    return _sorted(
        [(_checked(one), one.value) for one in records if one.media_type != labels.REFERENCE_VALUES]
    )


def _sorted(found: list[tuple[int, bytes]]) -> Messages:
    tokens = {kind: [token for one, token in found if one == kind] for kind in _CALLED}
    for kind, most in ((cmw.EVIDENCE, 1), (cmw.RESULTS, 1), (cmw.ENDORSEMENTS, _MOST_ENDORSEMENTS)):
        if len(tokens[kind]) > most:
            told = f"{len(tokens[kind])} messages are {_CALLED[kind]}, where there can be {most}"
            raise InvalidStatement(told, reason="message-twice")
    if not found:
        raise InvalidStatement(
            "the wrapper holds neither evidence nor a result", reason="evidence-missing"
        )
    evidence, result = (next(iter(tokens[kind]), None) for kind in (cmw.EVIDENCE, cmw.RESULTS))
    return Messages(evidence, result, tuple(tokens[cmw.ENDORSEMENTS]))


def _checked(record: cmw.Record) -> int:
    """Tell what a message in a wrapper is, and check that the wrapper says the same."""
    if record.media_type not in (labels.EAT_CWT, labels.EAT_JWT):
        raise InvalidStatement(
            f"a message of the type {record.type}, which is not known", reason="message-unknown"
        )
    if jwt.looks_like_one(record.value) != (record.media_type == labels.EAT_JWT):
        raise InvalidStatement(
            f"a message that is not of its type, {record.type}", reason="message-type"
        )
    profile = _profile(record.value)
    named = _PROFILE.search(str(record.type))
    if named is not None and (named[1] or named[2].strip()).lower() != profile.lower():
        raise InvalidStatement(
            f"a message of the type {record.type} whose profile is {profile!r}",
            reason="message-type",
        )
    kind = _kind(profile)
    if record.indicator not in (None, kind):
        raise InvalidStatement(
            f"a wrapper that says that its {_CALLED[kind]} is something else", reason="message-type"
        )
    return kind


def _profile(token: bytes) -> str:
    """Give the profile that the claims of a token name, and nothing where they name none."""
    in_json = jwt.looks_like_one(token)
    found = (
        jwt.read_token(token).claims.get("eat_profile")
        if in_json
        else cwt.read_token(token).claims.get(labels.EAT_PROFILE)
    )
    profile = found if isinstance(found, str) else ""
    if in_json and _kind(profile) != cmw.RESULTS:
        raise InvalidStatement(
            "a JWT that is no result: evidence and endorsements are CWTs", reason="message-type"
        )
    return profile


def _kind(profile: str) -> int:
    return _KINDS.get(profile, cmw.EVIDENCE)


def _record(token: bytes, kind: int) -> cmw.Record:
    media_type = labels.EAT_JWT if jwt.looks_like_one(token) else labels.EAT_CWT
    return cmw.Record(f'{media_type}; eat_profile="{_profile(token)}"', token, kind)


def _named(endorsements: tuple[bytes, ...]) -> Mapping[str, bytes]:
    if len(endorsements) == 1:
        return {"endorsement": endorsements[0]}
    return {f"endorsement-{at}": one for at, one in enumerate(endorsements, 1)}

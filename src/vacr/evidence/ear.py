"""Attestation results: what a verifier found, signed. Step: appraise. Follows
draft-ietf-rats-ear-03.

A result holds one appraisal, under the name `vacr`. Beside the status and the vector it names the
record that the evidence was about, and the journal's head, so that it cannot be shown for another
record. As a CWT claims have numbers, as a JWT names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vacr.errors import InvalidStatement
from vacr.evidence import cwt, jwt, labels
from vacr.evidence.appraisal import Appraisal
from vacr.evidence.ear_claims import named, numbered
from vacr.evidence.trust_tiers import CLAIMS, NO_CLAIM, Tier, tier_of, worst
from vacr.signing import keys
from vacr.signing.algorithms import PublicKey
from vacr.signing.signers import Signer
from vacr.version import __version__

SUBMODULE = "vacr"
DEVELOPER = "vacr"
"""Who made the verifier, and which of its builds it is: `ear_verifier_id`."""
_WEAKER: dict[str | None, str] = {
    labels.SOFTWARE: "the weaker claim of a key in software",
    labels.TPM: "by a TPM that nothing shows to be a chip",
}


@dataclass(frozen=True, slots=True)
class Result:
    """A result that somebody who is trusted signed."""

    status: Tier
    vector: dict[str, int]
    record: bytes
    nonce: bytes
    journal: dict[str, Any] | None
    policies: tuple[str, ...]
    issued_at: int
    expires_at: int | None
    verifier: PublicKey
    key_storage: str | None = None
    """Where the key is that vouched for the evidence."""


def encode(
    appraisal: Appraisal, signer: Signer, issued_at: int, validity: int, *, as_jwt: bool = False
) -> bytes:
    """Write the result of an appraisal, and sign it.

    Raises:
        UsageError: a JWT cannot be signed by such a key.
    """
    module: dict[Any, Any] = {
        labels.EAR_STATUS: appraisal.status.value,
        labels.EAR_VECTOR: {CLAIMS[name]: value for name, value in appraisal.vector.items()},
        labels.EAR_POLICY_IDS: [appraisal.policy],
        labels.NONCE: appraisal.nonce,
        labels.RECORD: [labels.SHA256, appraisal.record],
    }
    if appraisal.journal is not None:
        module[labels.JOURNAL] = appraisal.journal
    if appraisal.key_storage is not None:
        module[labels.KEY_STORAGE] = appraisal.key_storage
    claims = {
        labels.EAT_PROFILE: labels.EAR_PROFILE,
        labels.IAT: issued_at,
        labels.EXP: issued_at + validity,
        labels.EAR_VERIFIER_ID: {0: DEVELOPER, 1: f"vacr {__version__}"},
        labels.EAR_STATUS: appraisal.status.value,
        labels.SUBMODS: {SUBMODULE: module},
    }
    return jwt.sign_claims(named(claims), signer) if as_jwt else cwt.sign_claims(claims, signer)


def decode(data: bytes, trusted: Sequence[PublicKey]) -> Result:
    """Read a result, and check that a verifier who is trusted signed it; whether it holds now is
    not checked.

    Raises:
        InvalidStatement: it is no result, or nobody who is trusted signed it.
    """
    token = jwt.read_token(data) if jwt.looks_like_one(data) else cwt.read_token(data)
    verifier = _signer(token, trusted)
    claims = numbered(token.claims) if isinstance(token, jwt.JsonToken) else token.claims
    try:
        return _result(claims, verifier)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            "a result of another form than it has to be", reason="result-malformed"
        ) from error


def _signer(token: cwt.Token | jwt.JsonToken, trusted: Sequence[PublicKey]) -> PublicKey:
    for key in trusted:
        try:
            token.check(key)
        except InvalidStatement:
            continue
        return key
    told = "no verifier who is trusted signed the result"
    raise InvalidStatement(
        told, reason="verifier-untrusted", hint="Name the verifier's public key."
    )


def _result(claims: dict[Any, Any], verifier: PublicKey) -> Result:
    if claims[labels.EAT_PROFILE] != labels.EAR_PROFILE:
        raise InvalidStatement(
            f"a result of the profile {claims[labels.EAT_PROFILE]!r}", reason="profile"
        )
    module = claims[labels.SUBMODS][SUBMODULE]
    numbers = {number: name for name, number in CLAIMS.items()}
    vector = {numbers[number]: value for number, value in module[labels.EAR_VECTOR].items()}
    status, (algorithm, record) = Tier(module[labels.EAR_STATUS]), module[labels.RECORD]
    nonce, journal, policies = (
        module[labels.NONCE],
        module.get(labels.JOURNAL),
        module.get(labels.EAR_POLICY_IDS, []),
    )
    issued, expires = claims[labels.IAT], claims.get(labels.EXP)
    if algorithm != labels.SHA256 or not isinstance(record, bytes) or not isinstance(nonce, bytes):
        raise ValueError("a digest or a nonce of another type")
    if not all(
        type(value) is int
        for value in (issued, *vector.values(), *([] if expires is None else [expires]))
    ):
        raise ValueError("a number of another type")
    if status is not Tier.NONE and status < tier_of(worst(vector.values())):
        raise ValueError("a status that is better than the vector allows")
    storage = module.get(labels.KEY_STORAGE)
    if storage not in (None, labels.SOFTWARE, labels.TPM):
        raise ValueError("a place for the key that is not known")
    return Result(
        status,
        vector,
        record,
        nonce,
        journal,
        tuple(map(str, policies)),
        issued,
        expires,
        verifier,
        storage,
    )


def told(result: Result) -> str:
    """Say what a result says, in a line."""
    values = ", ".join(f"{name} {value}" for name, value in result.vector.items())
    by = f"{result.status.label} by verifier {keys.thumbprint(result.verifier).hex()[:16]}"
    return f"{by} ({values or 'nothing else said'}){weaker(result.key_storage, result.vector)}"


def weaker(storage: str | None, vector: dict[str, int]) -> str:
    """Say how much less than hardware vouches; nothing where hardware is affirmed."""
    if tier_of(vector.get("hardware", NO_CLAIM)) is Tier.AFFIRMING:
        return ""
    return f"; {_WEAKER.get(storage, 'nothing is said of hardware')}"

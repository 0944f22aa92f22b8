"""Endorsements: that an attestation key is in a TPM which its maker certified. Role: verifier.
Step: endorse. Follows RFC 9334.

A TPM's certificate is for a key that cannot sign. So whoever endorses sends a secret that only that
TPM can read, and only if the attestation key is in it, too. What comes back proves it; that is
written down and signed, and holds for as long as the TPM keeps the key.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.codec import deterministic_cbor
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence import cmw, cwt, labels, structure
from vacr.evidence.credential import ek_of, kind_of, make_credential
from vacr.evidence.tpm_structures import AttestationKey, read_attestation_key
from vacr.signing.algorithms import PublicKey
from vacr.signing.certificates import chain_of
from vacr.signing.signers import Signer

_DEPTH, _MOST, _LONGEST_PATH = 6, 1000, 8


@dataclass(frozen=True, slots=True)
class Challenge:
    """What is sent to an attester, and what is kept to check its answer."""

    sent: bytes
    kept: bytes


def encode(kind: str, value: dict[str, Any], indicator: int | None = None) -> bytes:
    """Write a message of an enrolment in its wrapper."""
    return cmw.encode_cbor(
        cmw.Record(labels.ENROLMENT[kind], deterministic_cbor.encode(value), indicator)
    )


def decode(data: bytes, kind: str) -> dict[str, Any]:
    """Read a message of an enrolment.

    Raises:
        InvalidStatement: it is none, or another one.
    """
    wrapped = cmw.decode(data)
    if not isinstance(wrapped, cmw.Record) or wrapped.media_type != labels.ENROLMENT[kind]:
        raise InvalidStatement("a message of another kind", reason="enrolment-malformed")
    try:
        value = deterministic_cbor.decode_shortest(wrapped.value, max_depth=_DEPTH, most=_MOST)
    except UnreadableInput as error:
        raise InvalidStatement(
            f"a {kind} that is not CBOR: {error}", reason="enrolment-malformed"
        ) from error
    structure.check(value, f"enrolment-{kind}", f"parts of a {kind}")
    found: dict[str, Any] = value
    return found


def challenge(
    request: bytes,
    roots: Sequence[x509.Certificate],
    between: Sequence[x509.Certificate],
    now: datetime,
    random: tuple[bytes, bytes],
) -> Challenge:
    """Make the challenge for a request; `random` are a secret and a seed, which nobody else may
    know.

    Raises:
        InvalidStatement: the request is none, the certificate leads to nobody who is trusted, or
            the key could leave its TPM.
    """
    said = decode(request, "request")
    (certificate,) = chain_of(said["ek-certificate"])
    _check_path(certificate, roots, between, now)
    key = _attestation_key(said["attestation-key"])
    secret, seed = random
    ek = ek_of(certificate)
    sent = encode(
        "challenge", {"credential": make_credential(ek, key.name, secret, seed), "ek": kind_of(ek)}
    )
    kept = {"secret": secret, "name": key.name, "ek-certificate": _digest(certificate)}
    return Challenge(sent, encode("secret", kept))


def confirm(kept: bytes, answer: bytes, signer: Signer, issued_at: int) -> bytes:
    """Make the endorsement, once the answer shows that the key is in the TPM.

    Raises:
        InvalidStatement: it does not.
    """
    known, said = decode(kept, "secret"), decode(answer, "answer")
    if not hmac.compare_digest(known["secret"], said["secret"]):
        raise InvalidStatement(
            "the answer is not the secret: the key is not in that TPM", reason="enrolment-answer"
        )
    claims = {
        labels.IAT: issued_at,
        labels.EAT_PROFILE: labels.ENDORSEMENT_PROFILE,
        labels.ENDORSED_KEY: known["name"],
        labels.ENDORSED_BY: [labels.SHA256, known["ek-certificate"]],
    }
    return cmw.encode_cbor(
        cmw.Record(labels.EAT_CWT, cwt.sign_claims(claims, signer), cmw.ENDORSEMENTS)
    )


def endorsed_key(data: bytes, trusted: Sequence[PublicKey]) -> bytes:
    """Give the name of the key that an endorsement, out of its wrapper, is for.

    Raises:
        InvalidStatement: it is none, or nobody who is trusted signed it.
    """
    token = cwt.read_token(data)
    structure.check(token.claims, "endorsement", "claims of an endorsement")
    if not any(_signed(token, key) for key in trusted):
        raise InvalidStatement(
            "nobody who is trusted signed the endorsement", reason="endorsement-untrusted"
        )
    name: bytes = token.claims[labels.ENDORSED_KEY]
    return name


def _signed(token: cwt.Token, key: PublicKey) -> bool:
    try:
        token.check(key)
    except InvalidStatement:
        return False
    return True


def _attestation_key(public: bytes) -> AttestationKey:
    key = read_attestation_key(public)
    if not key.is_restricted():
        raise InvalidStatement(
            "the attestation key could sign anything, or leave its TPM", reason="attestation-key"
        )
    return key


def _check_path(
    certificate: x509.Certificate,
    roots: Sequence[x509.Certificate],
    between: Sequence[x509.Certificate],
    now: datetime,
) -> None:
    """Check that a TPM's certificate leads to a root; what makers mark as critical in it only
    describes the TPM.
    """
    trusted = {_digest(root) for root in roots}
    known, current = [*roots, *between], certificate
    for _ in range(_LONGEST_PATH):
        if not current.not_valid_before_utc <= now <= current.not_valid_after_utc:
            raise InvalidStatement("a certificate of the TPM is not valid now", reason="ek-expired")
        issuer = next(
            (one for one in known if one.subject == current.issuer and _issued(current, one)), None
        )
        if issuer is None:
            break
        _check_authority(issuer)
        if _digest(issuer) in trusted:
            return
        current = issuer
    hint = (
        "Give the maker's root with --ek-root, and the certificates between it and the "
        "TPM's with --ek-chain."
    )
    raise InvalidStatement(
        "the TPM's certificate leads to no maker who is trusted", reason="ek-untrusted", hint=hint
    )


def _check_authority(certificate: x509.Certificate) -> None:
    try:
        is_authority = certificate.extensions.get_extension_for_class(
            x509.BasicConstraints
        ).value.ca
    except (x509.ExtensionNotFound, ValueError):
        is_authority = False
    if not is_authority:
        raise InvalidStatement(
            "a certificate in the path of the TPM's is no authority's", reason="ek-untrusted"
        )


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True


def _digest(certificate: x509.Certificate) -> bytes:
    return hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()

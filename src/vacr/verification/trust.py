"""The trusted signer of a statement.

A signer is trusted because the policy lists their key, or because a certificate chain in the
statement leads to a root in the policy. This module first finds the trusted keys that may have
signed a statement, then the key that did.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import ALG_EDDSA, KeySigner, parse_sign1, sign
    >>> from vacr.verification import Policy, list_candidate_signers
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> message = parse_sign1(sign(b"a record", signer))
    >>> policy = Policy(keys=(signer.public_key,))
    >>> [str(candidate) for candidate in list_candidate_signers(message, ALG_EDDSA, policy)]
    ['key 6f7deef65d54a699']
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cryptography import x509

from vacr.errors import InvalidStatement
from vacr.signing import (
    ALGORITHMS,
    HEADER_ALG,
    HEADER_KID,
    HEADER_X5CHAIN,
    HEADER_X5T,
    PublicKey,
    Sign1,
    check_x5t,
    compute_thumbprint,
    compute_thumbprint_uri,
    find_kccs_key,
    format_thumbprint_uri,
    get_algorithm,
    parse_x5chain,
    verify_signature,
)
from vacr.verification.certificates import check_certificate_chain
from vacr.verification.policy import Policy


@dataclass(frozen=True)
class TrustedSigner:
    """A key that the policy trusts directly, or through a certificate path."""

    key: PublicKey
    path: tuple[x509.Certificate, ...] = ()
    """The certificates from the signer's to the root's; empty for a directly trusted key."""

    def __str__(self) -> str:
        """Return the subjects of the signer's and the root's certificate, or a short key id."""
        if self.path:
            return (
                f"{self.path[0].subject.rfc4514_string()}, certified by "
                f"{self.path[-1].subject.rfc4514_string()}"
            )
        return f"key {self.thumbprint.hex()[:16]}"

    @cached_property
    def thumbprint(self) -> bytes:
        """The COSE key thumbprint of the key (RFC 9679)."""
        return compute_thumbprint(self.key)

    @cached_property
    def uri(self) -> str:
        """The thumbprint of the key as a URI."""
        return format_thumbprint_uri(self.thumbprint)


def check_algorithm(message: Sign1, policy: Policy) -> int:
    """Return the COSE number of the signature algorithm that a statement names.

    Raises:
        InvalidStatement: it is missing, unprotected, unknown, or not allowed by the policy.
    """
    if HEADER_ALG in message.unprotected:
        raise InvalidStatement(
            "the algorithm is not signed: it is in the unprotected header", reason="alg-unprotected"
        )
    if HEADER_ALG not in message.protected:
        raise InvalidStatement("the statement names no algorithm", reason="alg-missing")
    algorithm = get_algorithm(message.protected[HEADER_ALG])
    if algorithm.number not in policy.algorithms:
        raise InvalidStatement(
            f"the policy does not allow {algorithm.name}", reason="alg-not-allowed"
        )
    return algorithm.number


def list_candidate_signers(message: Sign1, algorithm: int, policy: Policy) -> list[TrustedSigner]:
    """Return the trusted keys that may have signed a statement, the likeliest first.

    The likeliest is the key that the header `kid` names. The list is never empty. Signatures are
    left to `check_signature`.

    Raises:
        InvalidStatement: no trusted key can have signed it, or its chain is not trusted.
    """
    if not policy.keys and not policy.roots:
        raise InvalidStatement(
            "no trusted key given",
            reason="no-trust",
            hint="Add --trust KEY, or --trust CERTIFICATE.",
        )
    chain = _parse_certificate_chain(message)
    certified_key = chain[0].public_key() if chain else None
    candidates = [
        TrustedSigner(key)
        for key in policy.keys
        if ALGORITHMS[algorithm].fits(key)
        and (certified_key is None or _is_same_key(key, certified_key))
    ]
    key_id = message.protected.get(HEADER_KID, message.unprotected.get(HEADER_KID))
    candidates.sort(key=lambda candidate: not matches_key_id(candidate.key, key_id))
    if candidates and policy.extended_key_usage is None:
        return candidates
    if chain and policy.roots:
        return [_check_certified_signer(message, chain, algorithm, policy)]
    if candidates:
        raise InvalidStatement(
            "the policy requires an extended key usage, but the trusted key has no certificate "
            "that states one",
            reason="extended-key-usage",
        )
    if any(matches_key_id(key, key_id) for key in policy.keys):
        raise InvalidStatement(
            f"the statement names a trusted key, but {ALGORITHMS[algorithm].name} cannot be used "
            "with this kind of key",
            reason="alg-key",
        )
    problem = (
        "the certificate chain does not lead to a trusted root"
        if chain
        else "no trusted key works with the statement's algorithm"
    )
    raise InvalidStatement(
        problem,
        reason="untrusted",
        hint="Add --trust with the signer's key, or with the root of the chain.",
    )


def _parse_certificate_chain(message: Sign1) -> list[x509.Certificate]:
    """Return the certificates in a statement, the signer's first, or an empty list.

    Raises:
        InvalidStatement: they are malformed, or the header `x5t` is unsigned or names another one.
    """
    chain: list[x509.Certificate] = []
    for headers in (message.protected, message.unprotected):
        if HEADER_X5CHAIN in headers:
            chain = parse_x5chain(headers[HEADER_X5CHAIN])
    if HEADER_X5T in message.unprotected:
        raise InvalidStatement(
            "the certificate's hash (x5t) is not signed: it is in the unprotected header",
            reason="x5t-unprotected",
        )
    if chain and HEADER_X5T in message.protected:
        check_x5t(message.protected[HEADER_X5T], chain[0])
    return chain


def _check_certified_signer(
    message: Sign1, chain: list[x509.Certificate], algorithm: int, policy: Policy
) -> TrustedSigner:
    """Return the owner of a chain's first certificate, after checking the chain.

    Raises:
        InvalidStatement: the chain is unsigned or not trusted, or its key does not fit `algorithm`.
    """
    # RFC 9360: an authority may have certified the same key for another owner, too.
    if not {HEADER_X5CHAIN, HEADER_X5T} & message.protected.keys():
        raise InvalidStatement(
            "the certificate chain is not signed: anyone may have added it",
            reason="x5chain-unprotected",
        )
    path = check_certificate_chain(chain, policy.roots, policy.extended_key_usage)
    key = chain[0].public_key()
    if not ALGORITHMS[algorithm].fits(key):
        raise InvalidStatement(
            f"{ALGORITHMS[algorithm].name} cannot be used with the certificate's key",
            reason="alg-key",
        )
    return TrustedSigner(key, tuple(path))


def check_signature(
    message: Sign1, algorithm: int, payload: bytes, candidates: list[TrustedSigner]
) -> TrustedSigner:
    """Return the first candidate whose key verifies the signature over `payload`.

    Raises:
        InvalidStatement: no candidate's key verifies it.
    """
    signed, first_error = message.to_be_signed(payload), None
    for candidate in candidates:
        try:
            verify_signature(algorithm, candidate.key, message.signature, signed)
        except InvalidStatement as error:
            first_error = first_error or error
        else:
            return candidate
    if first_error is not None and first_error.reason == "signature":
        first_error.hint = _suggest_signature_cause(message, candidates)
    raise first_error or InvalidStatement("no trusted key to verify with", reason="untrusted")


def _suggest_signature_cause(message: Sign1, candidates: list[TrustedSigner]) -> str:
    """Return a hint why no candidate verifies: another key signed, or the content changed.

    Return an empty string if the statement does not name its key.
    """
    key_id = message.protected.get(HEADER_KID)
    if type(key_id) is not bytes:
        return ""
    if any(matches_key_id(candidate.key, key_id) for candidate in candidates):
        return "The statement names this key: it or the file changed after signing, or is forged."
    return f"The statement names another key as its signer: key {key_id.hex()[:16]}."


def check_carried_key(message: Sign1, signer: TrustedSigner) -> None:
    """Check that the key in a statement's `kccs` header, if it has one, is the signer's.

    Raises:
        InvalidStatement: it is another key, or cannot be read.
    """
    key = find_kccs_key(message)
    if key is not None and not _is_same_key(key, signer.key):
        raise InvalidStatement(
            "the statement carries a different key than its signer's", reason="kccs-mismatch"
        )


def matches_key_id(key: PublicKey, key_id: Any) -> bool:
    """Return whether a `kid` header names a key.

    It names a key by its thumbprint: bytes, or, in some implementations, hex text or a URI.
    """
    if key_id is None:
        return False
    thumbprint = compute_thumbprint(key)
    if isinstance(key_id, str):
        return key_id in (thumbprint.hex(), compute_thumbprint_uri(key))
    return bool(key_id == thumbprint)


def _is_same_key(first: PublicKey, second: PublicKey) -> bool:
    return compute_thumbprint(first) == compute_thumbprint(second)

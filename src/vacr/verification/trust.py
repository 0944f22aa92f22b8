"""Chains of certificates. Step: verify. Follows RFC 5280 section 6 for what chains of signers have.

What is not understood and critical is refused, certificate policies too. So are name constraints,
critical or not: who ignores them trusts an authority with names that it may not give.

Whose signature it is, and whether they are trusted. Step: verify.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import InvalidStatement
from vacr.signing import (
    ALGORITHMS,
    HEADER_ALG,
    HEADER_KID,
    HEADER_X5CHAIN,
    HEADER_X5T,
    MIN_RSA_BITS,
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
from vacr.verification.policy import CODE_SIGNING_USAGE, Policy

T = TypeVar("T", bound=x509.ExtensionType)

_ANY_EXTENDED_KEY_USAGE = "2.5.29.37.0"
_UNDERSTOOD_EXTENSIONS = frozenset(
    extension.oid
    for extension in (
        x509.BasicConstraints,
        x509.KeyUsage,
        x509.ExtendedKeyUsage,
        x509.SubjectAlternativeName,
    )
)


def check_certificate_chain(
    chain: Sequence[x509.Certificate], roots: Sequence[x509.Certificate], usage: str | None
) -> list[x509.Certificate]:
    """Check that a chain leads from the signer's certificate to a root; gives the whole path.

    Raises:
        InvalidStatement: it does not, or one of its certificates may not do what it does.
    """
    for certificate, issuer in pairwise(chain):
        if certificate.issuer != issuer.subject:
            raise InvalidStatement(
                "x5chain is not in order: a certificate is not followed by its issuer's",
                reason="x5chain-order",
            )
    path = _find_path_to_root(list(chain), roots)
    # From the root down: who has nothing of it has one signature checked, and not as many as fit
    # into a message.
    for issuer, certificate in pairwise(reversed(chain[: len(path)])):
        _check_issuer_signature(certificate, issuer)
    for certificate in path:
        _check_extensions(certificate)
    _check_signer_certificate(path[0], usage)
    for below, certificate in enumerate(path[1:]):
        _check_authority_certificate(certificate, below, usage)
    return path


def _find_path_to_root(
    chain: list[x509.Certificate], roots: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    trusted = {root.public_bytes(Encoding.DER) for root in roots}
    for at, certificate in enumerate(chain):
        if certificate.public_bytes(Encoding.DER) in trusted:
            return chain[: at + 1]
    for root in roots:
        if root.subject == chain[-1].issuer:
            try:
                chain[-1].verify_directly_issued_by(root)
            except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
                continue
            return [*chain, root]
    raise InvalidStatement("the chain does not lead to a trusted certificate", reason="untrusted")


def _check_issuer_signature(certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidStatement(
            "a certificate that its issuer has not signed", reason="x5chain-signature"
        ) from error


def _check_extensions(certificate: x509.Certificate) -> None:
    try:
        unknown = [
            one.oid
            for one in certificate.extensions
            if one.critical and one.oid not in _UNDERSTOOD_EXTENSIONS
        ]
        constrained = _find_extension(certificate, x509.NameConstraints) is not None
    except ValueError as error:
        raise InvalidStatement(
            f"a certificate whose extensions cannot be read: {error}", reason="x5chain-malformed"
        ) from error
    if unknown:
        raise InvalidStatement(
            (
                "a certificate with a critical extension that is not understood: "
                f"{unknown[0].dotted_string}"
            ),
            reason="x5chain-critical",
        )
    if constrained:
        raise InvalidStatement(
            "a certificate with name constraints, which are not understood",
            reason="name-constraints",
        )


def _check_signer_certificate(certificate: x509.Certificate, usage: str | None) -> None:
    constraints = _find_extension(certificate, x509.BasicConstraints)
    if constraints is not None and constraints.ca:
        raise InvalidStatement(
            "the signer's certificate is an authority's", reason="signer-is-authority"
        )
    keys = _find_extension(certificate, x509.KeyUsage)
    if keys is not None and not (keys.digital_signature or keys.content_commitment):
        raise InvalidStatement("the signer's certificate is not for signatures", reason="key-usage")
    usages = _list_extended_key_usages(certificate)
    if usage is not None and usage not in usages:
        raise InvalidStatement(
            f"the signer's certificate is not for {usage}", reason="extended-key-usage"
        )
    if usages and not usages & {CODE_SIGNING_USAGE, _ANY_EXTENDED_KEY_USAGE, usage}:
        raise InvalidStatement(
            "the signer's certificate is for other things than signing", reason="extended-key-usage"
        )


def _check_authority_certificate(
    certificate: x509.Certificate, below: int, usage: str | None
) -> None:
    """Check a certificate that signed another; `below` is how many authorities are between it and
    the signer.
    """
    constraints = _find_extension(certificate, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        raise InvalidStatement(
            "a certificate in the chain that is no authority's", reason="not-an-authority"
        )
    if constraints.path_length is not None and below > constraints.path_length:
        raise InvalidStatement("the chain is longer than an authority allows", reason="path-length")
    keys = _find_extension(certificate, x509.KeyUsage)
    if keys is not None and not keys.key_cert_sign:
        raise InvalidStatement(
            "an authority whose key may not sign certificates", reason="key-usage"
        )
    usages = _list_extended_key_usages(certificate)
    if usages and not usages & {CODE_SIGNING_USAGE, _ANY_EXTENDED_KEY_USAGE, usage}:
        raise InvalidStatement(
            "an authority that is for other things than signing", reason="authority-key-usage"
        )
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        raise InvalidStatement(
            f"an authority with a key of {key.key_size} bits", reason="authority-key-weak"
        )


def _list_extended_key_usages(certificate: x509.Certificate) -> set[str]:
    found = _find_extension(certificate, x509.ExtendedKeyUsage)
    return {one.dotted_string for one in found} if found is not None else set()


def check_validity_period(path: Sequence[x509.Certificate], when: datetime) -> None:
    """Check that all certificates of a path are valid at a time.

    Raises:
        InvalidStatement: one is not.
    """
    for certificate in path:
        if when < certificate.not_valid_before_utc:
            raise InvalidStatement(
                f"a certificate is not valid before {_format_time(certificate.not_valid_before_utc)}",
                reason="not-yet-valid",
            )
        if when > certificate.not_valid_after_utc:
            raise InvalidStatement(
                f"a certificate was valid until {_format_time(certificate.not_valid_after_utc)}",
                reason="expired",
            )


def matches_claimed_issuer(certificate: x509.Certificate, issuer: str) -> bool:
    """Tell whether a certificate is for an issuer: names it, its host or its mailbox; one without
    names may be anybody's.
    """
    names = _find_extension(certificate, x509.SubjectAlternativeName)
    if names is None or not list(names):
        return True
    hosts = {name.lower() for name in names.get_values_for_type(x509.DNSName)}
    boxes = {f"mailto:{name}" for name in names.get_values_for_type(x509.RFC822Name)}
    return (
        issuer in boxes.union(names.get_values_for_type(x509.UniformResourceIdentifier))
        or _parse_host(issuer) in hosts
    )


def _parse_host(issuer: str) -> str | None:
    try:
        return urlsplit(issuer).hostname or None
    except ValueError:
        return None


def _find_extension(certificate: x509.Certificate, kind: type[T]) -> T | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _format_time(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class TrustedSigner:
    """A key that is trusted: by itself, or by a path of certificates from the signer's to
    a root.
    """

    key: PublicKey
    path: tuple[x509.Certificate, ...] = ()

    def __str__(self) -> str:
        """Name who it is."""
        if self.path:
            return (
                f"{self.path[0].subject.rfc4514_string()}, certified by "
                f"{self.path[-1].subject.rfc4514_string()}"
            )
        return f"key {self.thumbprint.hex()[:16]}"

    @cached_property
    def thumbprint(self) -> bytes:
        """The name of the key."""
        return compute_thumbprint(self.key)

    @cached_property
    def uri(self) -> str:
        """The name of the key as a URI."""
        return format_thumbprint_uri(self.thumbprint)


def check_algorithm(message: Sign1, policy: Policy) -> int:
    """Give the algorithm of a statement.

    Raises:
        InvalidStatement: it names none where it has to, or one that is not known or not allowed.
    """
    if HEADER_ALG in message.unprotected:
        raise InvalidStatement("the algorithm is not protected", reason="alg-unprotected")
    if HEADER_ALG not in message.protected:
        raise InvalidStatement("no algorithm is named", reason="alg-missing")
    algorithm = get_algorithm(message.protected[HEADER_ALG])
    if algorithm.number not in policy.algorithms:
        raise InvalidStatement(f"{algorithm.name} is not allowed", reason="alg-not-allowed")
    return algorithm.number


def list_candidate_signers(message: Sign1, algorithm: int, policy: Policy) -> list[TrustedSigner]:
    """Give the trusted keys that may have signed a statement, the likeliest first.

    Raises:
        InvalidStatement: there is none, or the chain of certificates in it leads to nobody who is
            trusted.
    """
    if not policy.keys and not policy.roots:
        raise InvalidStatement(
            "nobody is trusted", reason="no-trust", hint="Name a key or a certificate with --trust."
        )
    fits = ALGORITHMS[algorithm].fits
    chain = _parse_certificate_chain(message)
    named = chain[0].public_key() if chain else None
    found = [
        TrustedSigner(key)
        for key in policy.keys
        if fits(key) and (named is None or _is_same_key(key, named))
    ]
    named_by = message.protected.get(HEADER_KID, message.unprotected.get(HEADER_KID))
    found.sort(key=lambda one: not matches_key_id(one.key, named_by))
    if found and policy.extended_key_usage is None:
        return found
    if chain and policy.roots:
        # RFC 9360: an authority may have certified the same key for somebody else, too.
        if not {HEADER_X5CHAIN, HEADER_X5T} & message.protected.keys():
            raise InvalidStatement(
                (
                    "neither the chain nor the hash of its first certificate is protected: anybody "
                    "may have put it there"
                ),
                reason="x5chain-unprotected",
            )
        path = check_certificate_chain(chain, policy.roots, policy.extended_key_usage)
        if not fits(chain[0].public_key()):
            raise InvalidStatement(
                f"{ALGORITHMS[algorithm].name} takes no key of the certificate's kind",
                reason="alg-key",
            )
        return [TrustedSigner(chain[0].public_key(), tuple(path))]
    if found:
        raise InvalidStatement(
            "the key is trusted without a certificate, which has no usage",
            reason="extended-key-usage",
        )
    if any(matches_key_id(key, named_by) for key in policy.keys):
        raise InvalidStatement(
            f"{ALGORITHMS[algorithm].name} takes no key of this kind", reason="alg-key"
        )
    told = (
        "the chain leads to nobody who is trusted"
        if chain
        else "no trusted key takes this algorithm"
    )
    raise InvalidStatement(
        told,
        reason="untrusted",
        hint="Name the signer's key, or the root of the chain, with --trust.",
    )


def _parse_certificate_chain(message: Sign1) -> list[x509.Certificate]:
    chain: list[x509.Certificate] = []
    for headers in (message.protected, message.unprotected):
        if HEADER_X5CHAIN in headers:
            chain = parse_x5chain(headers[HEADER_X5CHAIN])
    if HEADER_X5T in message.unprotected:
        raise InvalidStatement("x5t is not protected", reason="x5t-unprotected")
    if chain and HEADER_X5T in message.protected:
        check_x5t(message.protected[HEADER_X5T], chain[0])
    return chain


def _is_same_key(one: PublicKey, other: PublicKey) -> bool:
    return compute_thumbprint(one) == compute_thumbprint(other)


def matches_key_id(key: PublicKey, named: Any) -> bool:
    """Tell whether a key is the one that a statement names, in bytes or, as some implementations
    do, in text.
    """
    if named is None:
        return False
    name = compute_thumbprint(key)
    return named == name or (
        isinstance(named, str) and named in (name.hex(), compute_thumbprint_uri(key))
    )


def check_signature(
    message: Sign1, algorithm: int, payload: bytes, found: list[TrustedSigner]
) -> TrustedSigner:
    """Give the trusted key whose signature it is.

    Raises:
        InvalidStatement: it is none of theirs.
    """
    data, refused = message.to_be_signed(payload), None
    for one in found:
        try:
            verify_signature(algorithm, one.key, message.signature, data)
        except InvalidStatement as error:
            refused = refused or error
        else:
            return one
    if refused is not None and refused.reason == "signature":
        refused.hint = _describe_missing_key(message, found)
    raise refused or InvalidStatement("no key to verify with", reason="untrusted")


def _describe_missing_key(message: Sign1, tried: list[TrustedSigner]) -> str:
    """Say which key a statement names, where it is none of those that were tried: most likely it is
    the one that is missing.
    """
    named = message.protected.get(HEADER_KID)
    if type(named) is not bytes or any(matches_key_id(one.key, named) for one in tried):
        return ""
    return f"It names another key as the one that signed it: key {named.hex()[:16]}."


def check_carried_key(message: Sign1, signer: TrustedSigner) -> None:
    """Check that the key that a statement carries, if it does, is the one that signed it.

    Raises:
        InvalidStatement: it is another, or none.
    """
    key = find_kccs_key(message)
    if key is not None and not _is_same_key(key, signer.key):
        raise InvalidStatement(
            "the statement carries another key than the one that signed it", reason="kccs-mismatch"
        )

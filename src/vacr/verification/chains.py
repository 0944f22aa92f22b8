"""Chains of certificates. Step: verify. Follows RFC 5280 section 6 for what chains of signers have.

What is not understood and critical is refused, certificate policies too. So are name constraints,
critical or not: who ignores them trusts an authority with names that it may not give.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TypeVar
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import InvalidStatement
from vacr.signing.algorithms import LEAST_RSA_BITS
from vacr.verification.policy import CODE_SIGNING

T = TypeVar("T", bound=x509.ExtensionType)

_ANY_USAGE = "2.5.29.37.0"
_UNDERSTOOD = frozenset(
    extension.oid
    for extension in (
        x509.BasicConstraints,
        x509.KeyUsage,
        x509.ExtendedKeyUsage,
        x509.SubjectAlternativeName,
    )
)


def check_chain(
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
    path = _to_root(list(chain), roots)
    # From the root down: who has nothing of it has one signature checked, and not as many as fit
    # into a message.
    for issuer, certificate in pairwise(reversed(chain[: len(path)])):
        _check_issued(certificate, issuer)
    for certificate in path:
        _check_extensions(certificate)
    _check_signer(path[0], usage)
    for below, certificate in enumerate(path[1:]):
        _check_authority(certificate, below, usage)
    return path


def _to_root(
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


def _check_issued(certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidStatement(
            "a certificate that its issuer has not signed", reason="x5chain-signature"
        ) from error


def _check_extensions(certificate: x509.Certificate) -> None:
    try:
        unknown = [
            one.oid for one in certificate.extensions if one.critical and one.oid not in _UNDERSTOOD
        ]
        constrained = _extension(certificate, x509.NameConstraints) is not None
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


def _check_signer(certificate: x509.Certificate, usage: str | None) -> None:
    constraints = _extension(certificate, x509.BasicConstraints)
    if constraints is not None and constraints.ca:
        raise InvalidStatement(
            "the signer's certificate is an authority's", reason="signer-is-authority"
        )
    keys = _extension(certificate, x509.KeyUsage)
    if keys is not None and not (keys.digital_signature or keys.content_commitment):
        raise InvalidStatement("the signer's certificate is not for signatures", reason="key-usage")
    usages = _usages(certificate)
    if usage is not None and usage not in usages:
        raise InvalidStatement(
            f"the signer's certificate is not for {usage}", reason="extended-key-usage"
        )
    if usages and not usages & {CODE_SIGNING, _ANY_USAGE, usage}:
        raise InvalidStatement(
            "the signer's certificate is for other things than signing", reason="extended-key-usage"
        )


def _check_authority(certificate: x509.Certificate, below: int, usage: str | None) -> None:
    """Check a certificate that signed another; `below` is how many authorities are between it and
    the signer.
    """
    constraints = _extension(certificate, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        raise InvalidStatement(
            "a certificate in the chain that is no authority's", reason="not-an-authority"
        )
    if constraints.path_length is not None and below > constraints.path_length:
        raise InvalidStatement("the chain is longer than an authority allows", reason="path-length")
    keys = _extension(certificate, x509.KeyUsage)
    if keys is not None and not keys.key_cert_sign:
        raise InvalidStatement(
            "an authority whose key may not sign certificates", reason="key-usage"
        )
    usages = _usages(certificate)
    if usages and not usages & {CODE_SIGNING, _ANY_USAGE, usage}:
        raise InvalidStatement(
            "an authority that is for other things than signing", reason="authority-key-usage"
        )
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
        raise InvalidStatement(
            f"an authority with a key of {key.key_size} bits", reason="authority-key-weak"
        )


def _usages(certificate: x509.Certificate) -> set[str]:
    found = _extension(certificate, x509.ExtendedKeyUsage)
    return {one.dotted_string for one in found} if found is not None else set()


def check_valid(path: Sequence[x509.Certificate], when: datetime) -> None:
    """Check that all certificates of a path are valid at a time.

    Raises:
        InvalidStatement: one is not.
    """
    for certificate in path:
        if when < certificate.not_valid_before_utc:
            raise InvalidStatement(
                f"a certificate is not valid before {_day(certificate.not_valid_before_utc)}",
                reason="not-yet-valid",
            )
        if when > certificate.not_valid_after_utc:
            raise InvalidStatement(
                f"a certificate was valid until {_day(certificate.not_valid_after_utc)}",
                reason="expired",
            )


def is_for(certificate: x509.Certificate, issuer: str) -> bool:
    """Tell whether a certificate is for an issuer: names it, its host or its mailbox; one without
    names may be anybody's.
    """
    names = _extension(certificate, x509.SubjectAlternativeName)
    if names is None or not list(names):
        return True
    hosts = {name.lower() for name in names.get_values_for_type(x509.DNSName)}
    boxes = {f"mailto:{name}" for name in names.get_values_for_type(x509.RFC822Name)}
    return (
        issuer in boxes.union(names.get_values_for_type(x509.UniformResourceIdentifier))
        or _host(issuer) in hosts
    )


def _host(issuer: str) -> str | None:
    try:
        return urlsplit(issuer).hostname or None
    except ValueError:
        return None


def _extension(certificate: x509.Certificate, kind: type[T]) -> T | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _day(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""Certificate chains: the path from a signer's certificate to a trusted root.

Chains follow RFC 5280, section 6, as far as certificates of signers need it. Critical extensions
that we do not implement are refused, certificate policies included. Name constraints are refused
even if not critical: ignoring them would let an authority certify names it must not.

`check_certificate_chain` ignores dates. `check_validity_period` checks them later, when the
verifier knows the time of signing.

    >>> from datetime import UTC, datetime
    >>> from cryptography import x509
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.verification import check_validity_period
    >>> from vacr.verification.certificates import list_certificate_identities, proves_issuer
    >>> name, key = x509.Name([]), Ed25519PrivateKey.from_private_bytes(bytes(32))
    >>> names = x509.SubjectAlternativeName([x509.DNSName("example.org")])
    >>> period = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    >>> builder = x509.CertificateBuilder(name, name, key.public_key(), 1, *period)
    >>> certificate = builder.add_extension(names, critical=False).sign(key, None)
    >>> proves_issuer(list_certificate_identities(certificate), "https://example.org/releases")
    True
    >>> check_validity_period([certificate], datetime(2028, 1, 1, tzinfo=UTC))
    Traceback (most recent call last):
    ...
    vacr.errors.InvalidStatement: a certificate in the chain expired at 2027-01-01T00:00:00Z
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TypeVar
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, mldsa, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import InvalidStatement
from vacr.signing import MIN_RSA_BITS
from vacr.verification.policy import format_time

IDENTITY_KINDS = ("email", "uri", "dns")
"""The kinds of alternative names that can identify a signer."""

Extension = TypeVar("Extension", bound=x509.ExtensionType)

_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_HOST_SCHEMES = ("https", "http")
_CODE_SIGNING_USAGE = "1.3.6.1.5.5.7.3.3"
_TIMESTAMPING_USAGE = "1.3.6.1.5.5.7.3.8"
_ANY_EXTENDED_KEY_USAGE = "2.5.29.37.0"
_MIN_DIGEST_SIZE = 28  # SHA-224; MD5 and SHA-1 are shorter.
# Curves of at least 224 bits.
_AUTHORITY_CURVES = frozenset(
    [
        "secp224r1",
        "secp256r1",
        "secp384r1",
        "secp521r1",
        "secp256k1",
        "brainpoolP256r1",
        "brainpoolP384r1",
        "brainpoolP512r1",
    ]
)
_AUTHORITY_KEY_CLASSES = (
    ed25519.Ed25519PublicKey,
    ed448.Ed448PublicKey,
    mldsa.MLDSA44PublicKey,
    mldsa.MLDSA65PublicKey,
    mldsa.MLDSA87PublicKey,
)
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
    """Return the path from a chain's first certificate, the signer's, to a trusted root.

    The path includes the root, even if the chain does not. `usage` is the OID of an extended key
    usage that the signer's certificate must list, or None. Dates are not checked.

    Raises:
        InvalidStatement: no path leads to a root, a signature in it is invalid, or a certificate
            may not be used for its part.
    """
    for certificate, issuer in pairwise(chain):
        if certificate.issuer != issuer.subject:
            raise InvalidStatement(
                "the certificate chain is out of order: each must be followed by its issuer's",
                reason="x5chain-order",
            )
    _check_signature_hashes(chain, roots)
    path = _find_path_to_root(list(chain), roots)
    # From the root down: an attacker without a certified key costs us one signature check, not
    # as many as fit into a message.
    for issuer, certificate in pairwise(reversed(chain[: len(path)])):
        _check_issuer_signature(certificate, issuer)
    for certificate in path:
        _check_extensions(certificate)
    _check_signer_certificate(path[0], usage)
    for authorities_below, certificate in enumerate(path[1:]):
        _check_authority_certificate(certificate, authorities_below, usage)
    return path


def _check_signature_hashes(
    chain: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]
) -> None:
    """Refuse certificates signed over a hash with known collisions: MD5 and SHA-1.

    The signature of a root does not matter: it is trusted by itself.

    Raises:
        InvalidStatement: a certificate before the root has such a signature.
    """
    for certificate in chain:
        if certificate in roots:
            return
        _check_signature_hash(certificate)


def _check_signature_hash(certificate: x509.Certificate) -> None:
    """Refuse a certificate signed over a hash with known collisions.

    Raises:
        InvalidStatement: it is.
    """
    try:
        digest = certificate.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return  # The check of the signature will refuse it.
    if digest is not None and digest.digest_size < _MIN_DIGEST_SIZE:
        raise InvalidStatement(
            f"a certificate in the chain is signed with {digest.name}, which can be forged",
            reason="x5chain-hash-weak",
        )


def _find_path_to_root(
    chain: list[x509.Certificate], roots: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    """Return the part of a chain up to a root, or the whole chain and the root that issued its end.

    Raises:
        InvalidStatement: the chain neither contains a root nor was issued by one.
    """
    trusted = {root.public_bytes(Encoding.DER) for root in roots}
    for position, certificate in enumerate(chain):
        if certificate.public_bytes(Encoding.DER) in trusted:
            return chain[: position + 1]
    for root in roots:
        if _is_issued_by(chain[-1], root):
            return [*chain, root]
    raise InvalidStatement(
        "the certificate chain does not lead to a trusted root", reason="untrusted"
    )


def _check_issuer_signature(certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    """Check that the issuer's key signed a certificate.

    Raises:
        InvalidStatement: it did not.
    """
    if not _is_issued_by(certificate, issuer):
        raise InvalidStatement(
            "a certificate in the chain is not signed by its issuer", reason="x5chain-signature"
        )


def _is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether a certificate names an issuer, and the issuer's key signed it."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True


def check_time_authority(
    signer: x509.Certificate,
    others: Sequence[x509.Certificate],
    roots: Sequence[x509.Certificate],
) -> None:
    """Check that strong keys and hashes lead from the signer of a timestamp to a root.

    The authorities on the way must not be restricted to other purposes. `others` are the
    certificates that came with the timestamp, in any order. Other properties of the chain are not
    checked.

    Raises:
        InvalidStatement: on every path, a key or hash can be forged, or an authority is for other
            purposes; or no path leads to a root.
    """
    waiting, seen, first_error = [signer], {signer}, None
    while waiting:
        certificate = waiting.pop()
        try:
            _check_authority_key(certificate)
            _check_time_usage(certificate)
            if certificate in roots:
                return
            _check_signature_hash(certificate)
        except InvalidStatement as error:
            first_error = first_error or error
            continue
        issuers = [
            candidate
            for candidate in (*roots, *others)
            if _is_issued_by(certificate, candidate)
            and (candidate in roots or _is_authority(candidate))
        ]
        waiting += [issuer for issuer in issuers if issuer not in seen]
        seen.update(issuers)
    if first_error is None:
        raise InvalidStatement(
            "the timestamp's certificates do not lead to a trusted root", reason="x5chain-order"
        )
    raise first_error


def _check_time_usage(certificate: x509.Certificate) -> None:
    """Check that a certificate is not restricted to other purposes than timestamps.

    Raises:
        InvalidStatement: it is.
    """
    try:
        usages = _list_extended_key_usages(certificate)
    except (ValueError, x509.DuplicateExtension):
        usages = {"unreadable"}
    if usages and not usages & {_TIMESTAMPING_USAGE, _ANY_EXTENDED_KEY_USAGE}:
        raise InvalidStatement(
            "an authority in the chain may not certify timestamp authorities: its extended key "
            "usages do not include time stamping",
            reason="authority-key-usage",
        )


def _check_extensions(certificate: x509.Certificate) -> None:
    """Refuse unsupported critical extensions, and name constraints."""
    try:
        unknown = [
            extension.oid
            for extension in certificate.extensions
            if extension.critical and extension.oid not in _UNDERSTOOD_EXTENSIONS
        ]
        constrained = _find_extension(certificate, x509.NameConstraints) is not None
    except ValueError as error:
        raise InvalidStatement(
            f"cannot read the extensions of a certificate: {error}", reason="x5chain-malformed"
        ) from error
    if unknown:
        raise InvalidStatement(
            f"a certificate has an unsupported critical extension: {unknown[0].dotted_string}",
            reason="x5chain-critical",
        )
    if constrained:
        raise InvalidStatement(
            "a certificate has name constraints, and vacr does not support them",
            reason="name-constraints",
        )


def _check_signer_certificate(certificate: x509.Certificate, usage: str | None) -> None:
    """Check that a certificate may sign statements, and lists `usage` unless that is None.

    Raises:
        InvalidStatement: it belongs to an authority, or is for other purposes.
    """
    constraints = _find_extension(certificate, x509.BasicConstraints)
    if constraints is not None and constraints.ca:
        raise InvalidStatement(
            "the signer's certificate belongs to an authority, not to a signer",
            reason="signer-is-authority",
        )
    keys = _find_extension(certificate, x509.KeyUsage)
    if keys is not None and not (keys.digital_signature or keys.content_commitment):
        raise InvalidStatement(
            "the signer's certificate does not allow digital signatures", reason="key-usage"
        )
    usages = _list_extended_key_usages(certificate)
    if usage is not None and usage not in usages:
        raise InvalidStatement(
            f"the signer's certificate lacks the required extended key usage {usage}",
            reason="extended-key-usage",
        )
    if not _allows_signing(usages, usage):
        raise InvalidStatement(
            "the signer's certificate is for other purposes: its extended key usages do not "
            "include code signing",
            reason="extended-key-usage",
        )


def _check_authority_certificate(
    certificate: x509.Certificate, authorities_below: int, usage: str | None
) -> None:
    """Check that a certificate may issue the one below it in a path.

    `authorities_below` is the number of authorities between it and the signer's certificate.

    Raises:
        InvalidStatement: it does not belong to an authority, or to one that may not issue it.
    """
    constraints = _find_extension(certificate, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        raise InvalidStatement(
            "a certificate in the chain does not belong to an authority, but issued another",
            reason="not-an-authority",
        )
    if constraints.path_length is not None and authorities_below > constraints.path_length:
        raise InvalidStatement(
            "the certificate chain is longer than an authority allows", reason="path-length"
        )
    keys = _find_extension(certificate, x509.KeyUsage)
    if keys is not None and not keys.key_cert_sign:
        raise InvalidStatement(
            "the key usage of an authority in the chain does not include signing certificates "
            "(keyCertSign)",
            reason="key-usage",
        )
    if not _allows_signing(_list_extended_key_usages(certificate), usage):
        raise InvalidStatement(
            "an authority in the chain may not certify signers: its extended key usages do not "
            "include code signing",
            reason="authority-key-usage",
        )
    _check_authority_key(certificate)


def _is_authority(certificate: x509.Certificate) -> bool:
    """Return whether a certificate belongs to an authority; False if it cannot be read."""
    try:
        constraints = _find_extension(certificate, x509.BasicConstraints)
    except (ValueError, x509.DuplicateExtension):
        return False
    return constraints is not None and constraints.ca


def _check_authority_key(certificate: x509.Certificate) -> None:
    """Check that the key of an authority is of a kind and size that cannot be forged.

    Raises:
        InvalidStatement: it is too short, DSA, on an unknown curve, or of an unknown kind.
    """
    key = find_public_key(certificate)
    if key is None:
        raise InvalidStatement(
            "cannot read the key of an authority in the chain", reason="authority-key-weak"
        )
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size >= MIN_RSA_BITS:
            return
        problem = f"{key.key_size} bits, expected at least {MIN_RSA_BITS}"
        raise InvalidStatement(
            f"the RSA key of an authority in the chain is too short: {problem}",
            reason="authority-key-weak",
        )
    if isinstance(key, ec.EllipticCurvePublicKey):
        if key.curve.name in _AUTHORITY_CURVES:
            return
        raise InvalidStatement(
            f"the key of an authority in the chain is on the curve {key.curve.name}, which is too "
            "weak or unknown",
            reason="authority-key-weak",
        )
    if not isinstance(key, _AUTHORITY_KEY_CLASSES):
        kind = "DSA" if isinstance(key, dsa.DSAPublicKey) else "unknown"
        raise InvalidStatement(
            f"the key of an authority in the chain is of a refused kind: {kind}",
            reason="authority-key-weak",
        )


def find_public_key(certificate: x509.Certificate) -> CertificatePublicKeyTypes | None:
    """Return the public key of a certificate, or None if it is of an unknown kind."""
    try:
        return certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None


def _list_extended_key_usages(certificate: x509.Certificate) -> set[str]:
    """Return the OIDs of the usages a certificate is restricted to; empty if unrestricted."""
    usages = _find_extension(certificate, x509.ExtendedKeyUsage)
    return {usage.dotted_string for usage in usages} if usages is not None else set()


def _allows_signing(usages: set[str], usage: str | None) -> bool:
    """Return whether extended key usages are empty, or include code signing, any, or `usage`."""
    return not usages or bool(usages & {_CODE_SIGNING_USAGE, _ANY_EXTENDED_KEY_USAGE, usage})


def check_validity_period(path: Sequence[x509.Certificate], time: datetime) -> None:
    """Check that all certificates of a path are valid at a time.

    Raises:
        InvalidStatement: one is not valid yet, or has expired.
    """
    for certificate in path:
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        if time < start:
            raise InvalidStatement(
                f"a certificate in the chain is not valid before {format_time(start)}",
                reason="not-yet-valid",
            )
        if time > end:
            raise InvalidStatement(
                f"a certificate in the chain expired at {format_time(end)}", reason="expired"
            )


def list_certificate_identities(certificate: x509.Certificate) -> set[tuple[str, str]]:
    """Return the alternative names of a certificate, each with its kind: `email`, `uri` or `dns`.

    Host names are in lower case. The common name is not among them: authorities do not check it.

    Raises:
        InvalidStatement: the extensions cannot be read.
    """
    try:
        names = _find_extension(certificate, x509.SubjectAlternativeName)
    except ValueError as error:
        raise InvalidStatement(
            f"cannot read the extensions of a certificate: {error}", reason="x5chain-malformed"
        ) from error
    if names is None:
        return set()
    return {
        *(("email", name) for name in names.get_values_for_type(x509.RFC822Name)),
        *(("uri", name) for name in names.get_values_for_type(x509.UniformResourceIdentifier)),
        *(("dns", name.lower()) for name in names.get_values_for_type(x509.DNSName)),
    }


def proves_issuer(identities: Iterable[tuple[str, str]], issuer: str) -> bool:
    """Return whether certified identities allow the issuer that a statement claims.

    One of them must be the issuer's URI, its host or its `mailto:` address. Without identities,
    nothing proves an issuer.
    """
    proven = {("uri", issuer), ("dns", _parse_host(issuer))}
    if issuer.startswith("mailto:"):
        proven.add(("email", issuer.removeprefix("mailto:")))
    return any(identity in proven for identity in identities)


def _parse_host(issuer: str) -> str | None:
    """Return the host of an https or http address in lower case, or None for another issuer.

    Other schemes do not leave their hosts to the owner of the name. An address with a user before
    its host is refused: in `https://alice.org@mallory.org`, a reader takes the user for the host.
    So is a wildcard.
    """
    try:
        parts = urlsplit(issuer)
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    host = parts.hostname or ""
    is_plain = "@" not in parts.netloc and _HOST.fullmatch(host) is not None
    return host if is_plain and parts.scheme in _HOST_SCHEMES else None


def _find_extension(
    certificate: x509.Certificate, extension_class: type[Extension]
) -> Extension | None:
    """Return a certificate's extension of a class, or None if it has none."""
    try:
        return certificate.extensions.get_extension_for_class(extension_class).value
    except x509.ExtensionNotFound:
        return None

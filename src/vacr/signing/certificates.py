"""Keys and certificates that a message carries in its headers.

A statement carries its signer's key, so that a receiver without any other file can check the
signature. The key is in `kccs`, a claims set whose `cnf` claim holds it (RFC 9528, RFC 8747), or in
`x5chain`, a certificate chain that starts with the signer's certificate (RFC 9360). `x5t` is the
hash of that certificate.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import KeySigner, find_carried_key, parse_sign1, sign
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> message = parse_sign1(sign(b"a record", signer))
    >>> find_carried_key(message) == signer.public_key
    True

`kccs` is unprotected; that is safe because the key's thumbprint is the protected `kid`. Carrying a
key proves nothing about its owner and makes it no more trusted.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.signing.cose import (
    ALG_SHA256,
    CLAIM_CNF,
    CNF_COSE_KEY,
    HASH_FUNCTIONS,
    HEADER_KCCS,
    HEADER_KID,
    HEADER_X5CHAIN,
    HEADER_X5T,
    PublicKey,
    Sign1,
)
from vacr.signing.keys import build_cose_key, compute_thumbprint, parse_cose_key

_MAX_CHAIN_LENGTH = 16
_MAX_ISSUER_LENGTH = 8192
_X5T_PART_COUNT = 2
_CERTIFICATE_ERRORS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


def find_carried_key(message: Sign1) -> PublicKey | None:
    """Return the key that a message carries, in `kccs` or in its first certificate, if any.

    Raises:
        InvalidStatement: it cannot be read, or the protected header names another key.
    """
    key, certified_key = find_kccs_key(message), _find_certified_key(message)
    if key is None:
        return certified_key
    if message.protected.get(HEADER_KID) != compute_thumbprint(key):
        raise InvalidStatement("kccs holds another key than kid names", reason="kccs-mismatch")
    if certified_key is not None and compute_thumbprint(certified_key) != compute_thumbprint(key):
        raise InvalidStatement(
            "kccs holds another key than the certificate", reason="kccs-mismatch"
        )
    return key


def _find_certified_key(message: Sign1) -> PublicKey | None:
    """Return the key of the first certificate; a protected header has to bind that certificate."""
    if HEADER_X5CHAIN in message.protected:
        return parse_x5chain(message.protected[HEADER_X5CHAIN])[0].public_key()
    if HEADER_X5CHAIN not in message.unprotected:
        return None
    certificate = parse_x5chain(message.unprotected[HEADER_X5CHAIN])[0]
    if HEADER_X5T in message.protected:
        check_x5t(message.protected[HEADER_X5T], certificate)
    elif message.protected.get(HEADER_KID) != compute_thumbprint(certificate.public_key()):
        raise InvalidStatement(
            "the protected header does not name the certificate's key", reason="x5chain-unprotected"
        )
    return certificate.public_key()


def find_kccs_key(message: Sign1) -> PublicKey | None:
    """Return the key that a message carries in `kccs`, if any.

    Raises:
        InvalidStatement: `kccs` holds no key that can be read.
    """
    for headers in (message.protected, message.unprotected):
        if HEADER_KCCS in headers:
            return parse_kccs(headers[HEADER_KCCS])
    return None


def parse_kccs(value: Any) -> PublicKey:
    """Parse the key in a `kccs` header value.

    Raises:
        InvalidStatement: it holds no key that can be read.
    """
    confirmation = value.get(CLAIM_CNF) if isinstance(value, dict) else None
    parameters = confirmation.get(CNF_COSE_KEY) if isinstance(confirmation, dict) else None
    if not isinstance(parameters, dict):
        raise InvalidStatement("kccs holds no key", reason="kccs-malformed")
    try:
        key = parse_cose_key(parameters)
        build_cose_key(key)
    except UnreadableInput as error:
        raise InvalidStatement(
            f"kccs holds no key: {error.message}", reason="kccs-malformed"
        ) from error
    return key


def build_kccs(key: PublicKey) -> dict[int, Any]:
    """Build the `kccs` header value: a claims set that holds a key."""
    return {CLAIM_CNF: {CNF_COSE_KEY: build_cose_key(key)}}


def parse_pem_certificates(pem: bytes) -> list[x509.Certificate]:
    """Parse the certificates in a PEM text.

    Raises:
        UnreadableInput: it holds no certificate, or an unreadable one.
    """
    try:
        with _suppress_warnings():
            certificates = x509.load_pem_x509_certificates(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnreadableInput(
            "no certificates in PEM", hint="A chain begins with the signer's certificate."
        ) from error
    try:
        with _suppress_warnings():
            for certificate in certificates:
                _check_certificate_fields(certificate)
    except _CERTIFICATE_ERRORS as error:
        raise UnreadableInput(f"a certificate that cannot be read: {error}") from error
    return certificates


def parse_x5chain(value: Any) -> list[x509.Certificate]:
    """Parse the `x5chain` header value.

    Raises:
        InvalidStatement: it is not a list of certificates, or one cannot be read.
    """
    encoded = [value] if isinstance(value, bytes) else value
    if (
        not isinstance(encoded, list | tuple)
        or not 0 < len(encoded) <= _MAX_CHAIN_LENGTH
        or not all(isinstance(der, bytes) for der in encoded)
    ):
        raise InvalidStatement("x5chain is no list of certificates", reason="x5chain-malformed")
    return [_parse_der_certificate(der) for der in encoded]


def _parse_der_certificate(der: bytes) -> x509.Certificate:
    try:
        with _suppress_warnings():
            certificate = x509.load_der_x509_certificate(der)
            _check_certificate_fields(certificate)
        build_cose_key(certificate.public_key())
    except (*_CERTIFICATE_ERRORS, UnreadableInput) as error:
        raise InvalidStatement(
            f"a certificate that cannot be read: {error}", reason="x5chain-malformed"
        ) from error
    return certificate


def build_x5chain(chain: Sequence[x509.Certificate]) -> Any:
    """Build the `x5chain` header value: bytes for one certificate, a list for several."""
    encoded = [certificate.public_bytes(Encoding.DER) for certificate in chain]
    return encoded[0] if len(encoded) == 1 else encoded


def build_x5t(certificate: x509.Certificate) -> list[Any]:
    """Build the `x5t` header value: the hash of a certificate."""
    return [ALG_SHA256, hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()]


def check_x5t(value: Any, certificate: x509.Certificate) -> None:
    """Check that an `x5t` header value is the hash of a certificate.

    Raises:
        InvalidStatement: it is malformed, or the hash of another certificate.
    """
    is_pair = isinstance(value, list | tuple) and len(value) == _X5T_PART_COUNT
    if not is_pair or not isinstance(value[0], int) or value[0] not in HASH_FUNCTIONS:
        raise InvalidStatement("x5t is no hash that is known", reason="x5t-malformed")
    algorithm, digest = value
    if HASH_FUNCTIONS[algorithm](certificate.public_bytes(Encoding.DER)).digest() != digest:
        raise InvalidStatement(
            "x5t is not the hash of the signer's certificate", reason="x5t-mismatch"
        )


def _check_certificate_fields(certificate: x509.Certificate) -> None:
    """Read every field that verification uses, because the library parses them on first access."""
    _ = (
        certificate.subject,
        certificate.issuer,
        certificate.extensions,
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
    )
    certificate.public_key()


@contextmanager
def _suppress_warnings() -> Iterator[None]:
    """Suppress the library's warnings about odd certificates: they would reach the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_issuer_uri(issuer: Any) -> bool:
    """Return whether an issuer is a URI, as RFC 9943 requires next to certificates."""
    try:
        scheme = urlsplit(issuer).scheme if isinstance(issuer, str) else ""
    except ValueError:
        return False
    return (
        bool(scheme)
        and issuer.isascii()
        and issuer.isprintable()
        and " " not in issuer
        and len(issuer) <= _MAX_ISSUER_LENGTH
    )

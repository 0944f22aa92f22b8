"""Certificates in a signed message. Step: sign, verify. Follows RFC 9360.

`x5chain` begins with the signer's certificate, and `x5t` is the hash of that.

The key that a statement carries, so that whoever gets only the statement can check its
signature. Step: sign, verify.

`kccs` (RFC 9528) holds a claims set whose `cnf` is the key (RFC 8747). It is not protected and need
not be: the key's thumbprint is the protected `kid`. That a statement carries a key says nothing
about whose it is, and makes nobody trusted.
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
_CERTIFICATE_ERRORS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


def parse_pem_certificates(pem: bytes) -> list[x509.Certificate]:
    """Read the certificates in a PEM text.

    Raises:
        UnreadableInput: there are none, or one of them cannot be read.
    """
    try:
        with _suppress_warnings():
            found = x509.load_pem_x509_certificates(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnreadableInput(
            "no certificates in PEM", hint="A chain begins with the signer's certificate."
        ) from error
    try:
        with _suppress_warnings():
            for one in found:
                _check_certificate_fields(one)
    except _CERTIFICATE_ERRORS as error:
        raise UnreadableInput(f"a certificate that cannot be read: {error}") from error
    return found


def build_x5chain(chain: Sequence[x509.Certificate]) -> Any:
    """Write a chain as a header parameter: one as bytes, several as a list."""
    written = [certificate.public_bytes(Encoding.DER) for certificate in chain]
    return written[0] if len(written) == 1 else written


def build_x5t(certificate: x509.Certificate) -> list[Any]:
    """Write the hash of a certificate as a header parameter."""
    return [ALG_SHA256, hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()]


def parse_x5chain(value: Any) -> list[x509.Certificate]:
    """Read a chain from a header parameter.

    Raises:
        InvalidStatement: it is none.
    """
    written = [value] if isinstance(value, bytes) else value
    if (
        not isinstance(written, list | tuple)
        or not 0 < len(written) <= _MAX_CHAIN_LENGTH
        or not all(isinstance(one, bytes) for one in written)
    ):
        raise InvalidStatement("x5chain is no list of certificates", reason="x5chain-malformed")
    return [_parse_der_certificate(one) for one in written]


def _parse_der_certificate(der: bytes) -> x509.Certificate:
    try:
        with _suppress_warnings():
            found = x509.load_der_x509_certificate(der)
            _check_certificate_fields(found)
        build_cose_key(found.public_key())
    except (*_CERTIFICATE_ERRORS, UnreadableInput) as error:
        raise InvalidStatement(
            f"a certificate that cannot be read: {error}", reason="x5chain-malformed"
        ) from error
    return found


def _check_certificate_fields(found: x509.Certificate) -> None:
    """Read all of a certificate that is looked at later, which the library leaves for then."""
    _ = (
        found.subject,
        found.issuer,
        found.extensions,
        found.not_valid_before_utc,
        found.not_valid_after_utc,
    )
    found.public_key()


@contextmanager
def _suppress_warnings() -> Iterator[None]:
    """Read what is odd without the library's warnings, which are for programmers and would reach
    the terminal.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_issuer_uri(issuer: Any) -> bool:
    """Tell whether an issuer is a URI, as it has to be beside certificates; RFC 9943."""
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


def check_x5t(value: Any, certificate: x509.Certificate) -> None:
    """Check that a hash is that of a certificate.

    Raises:
        InvalidStatement: it is not.
    """
    if (
        not isinstance(value, list | tuple)
        or len(value) != 2  # noqa: PLR2004
        or not isinstance(value[0], int)
        or value[0] not in HASH_FUNCTIONS
    ):
        raise InvalidStatement("x5t is no hash that is known", reason="x5t-malformed")
    if HASH_FUNCTIONS[value[0]](certificate.public_bytes(Encoding.DER)).digest() != value[1]:
        raise InvalidStatement(
            "x5t is not the hash of the signer's certificate", reason="x5t-mismatch"
        )


def build_kccs(key: PublicKey) -> dict[int, Any]:
    """Write the claims set that holds a key."""
    return {CLAIM_CNF: {CNF_COSE_KEY: build_cose_key(key)}}


def parse_kccs(value: Any) -> PublicKey:
    """Read the key in a claims set.

    Raises:
        InvalidStatement: there is none.
    """
    confirmed = value.get(CLAIM_CNF) if isinstance(value, dict) else None
    written = confirmed.get(CNF_COSE_KEY) if isinstance(confirmed, dict) else None
    if not isinstance(written, dict):
        raise InvalidStatement("kccs holds no key", reason="kccs-malformed")
    try:
        key = parse_cose_key(written)
        build_cose_key(key)
    except UnreadableInput as error:
        raise InvalidStatement(
            f"kccs holds no key: {error.message}", reason="kccs-malformed"
        ) from error
    return key


def find_kccs_key(message: Sign1) -> PublicKey | None:
    """Give the key that a statement carries in `kccs`.

    Raises:
        InvalidStatement: it holds none.
    """
    for headers in (message.protected, message.unprotected):
        if HEADER_KCCS in headers:
            return parse_kccs(headers[HEADER_KCCS])
    return None


def find_carried_key(message: Sign1) -> PublicKey | None:
    """Give the key that a statement carries and names: that of `kccs`, or of the first certificate.

    Raises:
        InvalidStatement: it cannot be read, or is not the one that the protected header names.
    """
    key, certified = find_kccs_key(message), _find_certified_key(message)
    if key is None:
        return certified
    if message.protected.get(HEADER_KID) != compute_thumbprint(key):
        raise InvalidStatement("kccs holds another key than kid names", reason="kccs-mismatch")
    if certified is not None and compute_thumbprint(certified) != compute_thumbprint(key):
        raise InvalidStatement(
            "kccs holds another key than the certificate", reason="kccs-mismatch"
        )
    return key


def _find_certified_key(message: Sign1) -> PublicKey | None:
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

"""Certificates in a signed message. Step: sign, verify. Follows RFC 9360.

`x5chain` begins with the signer's certificate, and `x5t` is the hash of that.
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
from vacr.signing import labels
from vacr.signing.algorithms import HASHES
from vacr.signing.keys import to_cose

_MOST = 16
_LONGEST_ISSUER = 8192
_UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


def load_certificates(pem: bytes) -> list[x509.Certificate]:
    """Read the certificates in a PEM text.

    Raises:
        UnreadableInput: there are none, or one of them cannot be read.
    """
    try:
        with _quietly():
            found = x509.load_pem_x509_certificates(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnreadableInput(
            "no certificates in PEM", hint="A chain begins with the signer's certificate."
        ) from error
    try:
        with _quietly():
            for one in found:
                _look_at(one)
    except _UNREADABLE as error:
        raise UnreadableInput(f"a certificate that cannot be read: {error}") from error
    return found


def x5chain(chain: Sequence[x509.Certificate]) -> Any:
    """Write a chain as a header parameter: one as bytes, several as a list."""
    written = [certificate.public_bytes(Encoding.DER) for certificate in chain]
    return written[0] if len(written) == 1 else written


def x5t(certificate: x509.Certificate) -> list[Any]:
    """Write the hash of a certificate as a header parameter."""
    return [labels.SHA256, hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()]


def chain_of(value: Any) -> list[x509.Certificate]:
    """Read a chain from a header parameter.

    Raises:
        InvalidStatement: it is none.
    """
    written = [value] if isinstance(value, bytes) else value
    if (
        not isinstance(written, list | tuple)
        or not 0 < len(written) <= _MOST
        or not all(isinstance(one, bytes) for one in written)
    ):
        raise InvalidStatement("x5chain is no list of certificates", reason="x5chain-malformed")
    return [_certificate(one) for one in written]


def _certificate(der: bytes) -> x509.Certificate:
    try:
        with _quietly():
            found = x509.load_der_x509_certificate(der)
            _look_at(found)
        to_cose(found.public_key())
    except (*_UNREADABLE, UnreadableInput) as error:
        raise InvalidStatement(
            f"a certificate that cannot be read: {error}", reason="x5chain-malformed"
        ) from error
    return found


def _look_at(found: x509.Certificate) -> None:
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
def _quietly() -> Iterator[None]:
    """Read what is odd without the library's warnings, which are for programmers and would reach
    the terminal.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_uri(issuer: Any) -> bool:
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
        and len(issuer) <= _LONGEST_ISSUER
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
        or value[0] not in HASHES
    ):
        raise InvalidStatement("x5t is no hash that is known", reason="x5t-malformed")
    if HASHES[value[0]](certificate.public_bytes(Encoding.DER)).digest() != value[1]:
        raise InvalidStatement(
            "x5t is not the hash of the signer's certificate", reason="x5t-mismatch"
        )

"""Timestamps of signatures: ask a time authority for a token, and check the token (RFC 3161).

RFC 9921 has two headers for tokens: 269 covers the payload, 270 covers the signature. Only the
second one proves when a statement was signed.

    >>> from vacr.signing import check_timestamp_token, encode_stamped_signature
    >>> data = encode_stamped_signature(bytes(64))
    >>> check_timestamp_token(b"not a token", data, roots=[])
    Traceback (most recent call last):
    ...
    vacr.errors.InvalidStatement: ...

Some authorities, `openssl ts` among them, write the certificates of a token in any order. Strict
DER demands that the items of a set are sorted, so they are sorted before the token is parsed. No
signature covers their order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import cbor2
from cryptography import x509
from rfc3161_client import (
    TimestampRequestBuilder,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from vacr.errors import InvalidStatement, Unreachable
from vacr.files import parse_service_address

_TIMEOUT_SECONDS = 30
_MAX_REPLY_SIZE = 1 << 20
_HTTP_OK = 200
_MAX_CERTIFICATES = 32
_ADDRESS_EXAMPLE = "For example: --timestamp https://tsa.example.org/"

_GRANTED_STATUS_DER = b"\x30\x03\x02\x01\x00"
_DER_SEQUENCE = 0x30
_DER_LONG_FORM, _MAX_DER_LENGTH_SIZE = 0x80, 4
_DER_SETS = (0x31, 0xA0, 0xA1)
"""The tags of sets in SignedData: algorithms and signers, certificates, and revocation lists."""
_STRONG_HASHES_OID = "2.16.840.1.101.3.4.2."
"""The start of the identifiers of SHA-2 and SHA-3; MD5 and SHA-1 have others."""
_HASHES_BY_OID = {
    "2.16.840.1.101.3.4.2.1": hashlib.sha256,
    "2.16.840.1.101.3.4.2.2": hashlib.sha384,
    "2.16.840.1.101.3.4.2.3": hashlib.sha512,
}

# The library quotes OpenSSL's list of errors; this is the readable part of each.
_OPENSSL_ERROR_PATTERN = re.compile(r'data: "([^"]*)"')


def encode_stamped_signature(signature: bytes) -> bytes:
    """Return the bytes that a timestamp of a signature covers: a CBOR byte string of it."""
    return cbor2.dumps(signature)


def build_timestamp_request(signature: bytes) -> bytes:
    """Return the encoded request (RFC 3161) for a timestamp of a signature."""
    return TimestampRequestBuilder().data(encode_stamped_signature(signature)).build().as_bytes()


def ask_time_authority(url: str, request: bytes) -> bytes:
    """Send a timestamp request to the authority at a URL, and return the body of its reply.

    Raises:
        UsageError: the address is invalid.
        Unreachable: the authority does not reply, or with another status than 200.
    """
    # Imported here, because verification uses this module without a network.
    import http.client

    from vacr.files import CheckedResponse

    address = parse_service_address(url, "timestamp authority", _ADDRESS_EXAMPLE)
    connection_class = (
        http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    )
    connection = connection_class(address.host, address.port, timeout=_TIMEOUT_SECONDS)
    connection.response_class = CheckedResponse
    try:
        connection.request(
            "POST", address.path, request, {"Content-Type": "application/timestamp-query"}
        )
        response = connection.getresponse()
        reply = response.read(_MAX_REPLY_SIZE)
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(
            f"no reply from the timestamp authority: {error}",
            where=url,
            hint="Check the address, or try again later.",
        ) from error
    finally:
        connection.close()
    if response.status != _HTTP_OK:
        raise Unreachable(
            f"the timestamp authority answered {response.status} {response.reason}",
            where=url,
            hint="Check the address, or try again later.",
        )
    return reply


def parse_timestamp_reply(reply: bytes, signature: bytes) -> bytes:
    """Return the encoded timestamp token in an authority's reply to a request for `signature`.

    The token's own signature is not checked: that needs trusted roots.

    Raises:
        InvalidStatement: the reply is malformed, refuses the request, or covers other data.
    """
    try:
        response = decode_timestamp_response(_sort_reply_sets(reply))
        token: bytes = response.time_stamp_token()
    except ValueError as error:
        raise InvalidStatement(
            f"cannot use the timestamp authority's reply: {error}",
            reason="timestamp-malformed",
            hint="Try again later, or choose another authority with --timestamp.",
        ) from error
    _check_imprint(response, encode_stamped_signature(signature))
    return token


@dataclass(frozen=True, slots=True)
class ProvenTime:
    """The time in a checked token, and the certificates for judging who made it."""

    time: datetime
    signer: x509.Certificate
    """The certificate of the key that signed the token."""
    others: list[x509.Certificate]
    """The other certificates in the token, in any order."""


def check_timestamp_token(token: Any, data: bytes, roots: Sequence[x509.Certificate]) -> ProvenTime:
    """Check a timestamp token over data, and return the time that it proves.

    `roots` are the root certificates of trusted authorities. The strength of the keys and hashes in
    the chain is left to the caller.

    Raises:
        InvalidStatement: it is malformed, covers other data, or no trusted authority signed it.
    """
    if not isinstance(token, bytes):
        raise InvalidStatement("the timestamp is not a byte string", reason="timestamp-malformed")
    try:
        reply = _encode_der_sequence(_GRANTED_STATUS_DER + token)
        response = decode_timestamp_response(_sort_reply_sets(reply))
        _check_imprint(response, data)
        VerifierBuilder(roots=list(roots)).build().verify_message(response, data)
        signer, others = _find_signer_certificate(response.signed_data)
    except VerificationError as error:
        problems = _OPENSSL_ERROR_PATTERN.findall(str(error)) or [str(error)]
        raise InvalidStatement(
            f"the timestamp is not trusted: {problems[-1]}", reason="timestamp-untrusted"
        ) from error
    except (ValueError, x509.InvalidVersion) as error:
        raise InvalidStatement(
            f"cannot read the timestamp: {error}", reason="timestamp-malformed"
        ) from error
    for algorithm in response.signed_data.digest_algorithms:
        if not algorithm.dotted_string.startswith(_STRONG_HASHES_OID):
            raise InvalidStatement(
                "the timestamp is signed over a hash that can be forged or is unknown: "
                f"{algorithm.dotted_string}",
                reason="timestamp-hash-weak",
            )
    return ProvenTime(response.tst_info.gen_time, signer, others)


def _find_signer_certificate(signed_data: Any) -> tuple[x509.Certificate, list[x509.Certificate]]:
    """Return the certificate that a token names as its signer's, and the others in the token.

    Raises:
        ValueError: several certificates have this name, one cannot be read, or there are too many.
    """
    [signer] = signed_data.signer_infos
    if len(signed_data.certificates) > _MAX_CERTIFICATES:
        raise ValueError(f"more than {_MAX_CERTIFICATES} certificates")
    certificates = [x509.load_der_x509_certificate(der) for der in signed_data.certificates]
    named: list[x509.Certificate] = []
    others: list[x509.Certificate] = []
    for certificate in certificates:
        names = (certificate.issuer, certificate.serial_number)
        (named if names == (signer.issuer, signer.serial_number) else others).append(certificate)
    if len(named) != 1:
        raise ValueError(f"{len(named)} certificates have the name of its signer")
    return named[0], others


def _check_imprint(response: Any, data: bytes) -> None:
    """Check that a token covers `data`: it must contain the hash of `data`.

    Raises:
        InvalidStatement: it contains another hash.
    """
    imprint = response.tst_info.message_imprint
    algorithm = _HASHES_BY_OID.get(imprint.hash_algorithm.dotted_string)
    if algorithm is None or algorithm(data).digest() != imprint.message:
        raise InvalidStatement("the timestamp is for different data", reason="timestamp-mismatch")


def _encode_der_sequence(content: bytes) -> bytes:
    """Return `content`, encoded DER values, as one DER sequence."""
    size = len(content)
    if size < _DER_LONG_FORM:
        return bytes((_DER_SEQUENCE, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((_DER_SEQUENCE, _DER_LONG_FORM | len(length))) + length + content


def _sort_reply_sets(reply: bytes) -> bytes:
    """Return an authority's reply with the sets in its token sorted, as DER demands.

    Only sets that no signature covers are sorted: the direct members of the token's SignedData
    (RFC 5652, section 5.1). A malformed reply is returned as it is, for the parser to refuse.
    """
    try:
        (response,) = _list_der_items(reply, 0, len(reply))
        _, token = _list_der_items(reply, *response.content)
        _, explicit = _list_der_items(reply, *token.content)
        (signed_data,) = _list_der_items(reply, *explicit.content)
        for member in _list_der_items(reply, *signed_data.content):
            if member.tag in _DER_SETS:
                start, end = member.content
                items = [
                    reply[item.start : item.end] for item in _list_der_items(reply, start, end)
                ]
                reply = reply[:start] + b"".join(sorted(items)) + reply[end:]
    except ValueError:
        pass
    return reply


class _DerItem(NamedTuple):
    """A place in DER data: an item with its tag, and its content without tag and length."""

    tag: int
    start: int
    content_start: int
    end: int

    @property
    def content(self) -> tuple[int, int]:
        """The start and the end of the content."""
        return self.content_start, self.end


def _list_der_items(data: bytes, start: int, end: int) -> list[_DerItem]:
    """Return the items in a part of DER data.

    Raises:
        ValueError: the part is not a list of items with definite lengths.
    """
    items = []
    while start < end:
        tag, size = data[start], int.from_bytes(data[start + 1 : start + 2], "big")
        content_start = start + 2
        if size >= _DER_LONG_FORM:
            length_size = size - _DER_LONG_FORM
            if not 0 < length_size <= _MAX_DER_LENGTH_SIZE:
                raise ValueError("not a definite length")
            size = int.from_bytes(data[content_start : content_start + length_size], "big")
            content_start += length_size
        item = _DerItem(tag, start, content_start, content_start + size)
        if item.end > end:
            raise ValueError("cut off")
        items.append(item)
        start = item.end
    return items

"""TPM structures in evidence, parsed strictly, and the check of a quote (TPM 2.0 Library, Part 2).

A TPM's quote signs its registers and some qualifying data. The qualifying data of evidence is a
hash of the nonce, the journal head and all other claims. So the quote vouches for exactly these
claims at this time. Registers alone would not: the ones a user can reset have no history.

    >>> from vacr.evidence.tokens import EAT_NONCE, EAT_SUBMODS
    >>> from vacr.evidence.tpm_structures import compute_qualifying_data
    >>> claims = {EAT_NONCE: b"challenge"}
    >>> qualifying_data = compute_qualifying_data(claims)
    >>> qualifying_data == compute_qualifying_data({**claims, EAT_SUBMODS: {"tpm": {}}})
    True
    >>> qualifying_data == compute_qualifying_data({EAT_NONCE: b"another challenge"})
    False

Only the structures of our profile are parsed: quotes, and P-256 keys that sign by ECDSA with
SHA-256. Integers are big-endian, and a missing or extra byte is an error.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from vacr.errors import InvalidStatement
from vacr.evidence.tokens import (
    CLAIM_ATTESTATION_KEY,
    CLAIM_JOURNAL,
    CLAIM_PCRS,
    CLAIM_QUOTE,
    CLAIM_QUOTE_SIGNATURE,
    EAT_NONCE,
    EAT_SUBMODS,
)
from vacr.record import encode_deterministic_cbor

_TPM_GENERATED_MAGIC = 0xFF544347
"""The first bytes of all data that a TPM creates.

A restricted key never signs data from outside that begins like this.
"""
_ATTEST_QUOTE_TYPE = 0x8018
_ENDORSEMENT_HIERARCHY = 0x4000000B
_ALG_ECC, _ALG_SHA256, _ALG_NULL, _ALG_ECDSA, _CURVE_P256 = 0x23, 0x0B, 0x10, 0x18, 0x03
_MAX_PCR_SELECT_LENGTH, _DIGEST_LENGTH = 4, 32
_MAX_FIELD_LENGTH = 64

_QUOTE_PURPOSE = "vacr quote 1"

(
    ATTRIBUTE_FIXED_TPM,
    ATTRIBUTE_FIXED_PARENT,
    ATTRIBUTE_SENSITIVE_DATA_ORIGIN,
    ATTRIBUTE_RESTRICTED,
    ATTRIBUTE_DECRYPT,
    ATTRIBUTE_SIGN,
) = (
    1 << 1,
    1 << 4,
    1 << 5,
    1 << 16,
    1 << 17,
    1 << 18,
)
_REQUIRED_ATTRIBUTES = (
    ATTRIBUTE_FIXED_TPM
    | ATTRIBUTE_FIXED_PARENT
    | ATTRIBUTE_SENSITIVE_DATA_ORIGIN
    | ATTRIBUTE_RESTRICTED
    | ATTRIBUTE_SIGN
)


@dataclass(frozen=True, slots=True)
class SignedQuote:
    """A quote as the TPM returns it: encoded, with its signature, key and registers."""

    quote: bytes
    """The quote (`TPMS_ATTEST`)."""
    signature: bytes
    """The signature over the quote (`TPMT_SIGNATURE`)."""
    attestation_key: bytes
    """The public part of the key that signed (`TPMT_PUBLIC`)."""
    pcrs: dict[int, bytes]
    """The values of the quoted registers."""

    def claims(self) -> dict[int, Any]:
        """Return the quote as the claims of the submodule `tpm` of evidence."""
        return {
            CLAIM_QUOTE: self.quote,
            CLAIM_QUOTE_SIGNATURE: self.signature,
            CLAIM_ATTESTATION_KEY: self.attestation_key,
            CLAIM_PCRS: self.pcrs,
        }


@dataclass(frozen=True, slots=True)
class Quote:
    """The content of a quote: the digest of some registers, and the TPM's own counters."""

    qualified_signer: bytes
    """The qualified name of the key that signed."""
    extra_data: bytes
    """The qualifying data."""
    clock: int
    """Milliseconds that the TPM has been powered."""
    reset_count: int
    restart_count: int
    safe: bool
    """Whether the clock never went back."""
    firmware_version: int
    selected: tuple[int, ...]
    """The quoted registers of the SHA-256 bank."""
    pcr_digest: bytes


@dataclass(frozen=True, slots=True)
class AttestationKey:
    """The public part of a key in a TPM; `is_restricted` shows whether it may attest."""

    key: ec.EllipticCurvePublicKey
    attributes: int
    """The bits of the key's attributes (`TPMA_OBJECT`)."""
    name: bytes
    """The name of the key in its TPM."""

    @property
    def qualified_name(self) -> bytes:
        """The signer's name in quotes: the key's name under the endorsement hierarchy."""
        hierarchy = _ENDORSEMENT_HIERARCHY.to_bytes(4, "big")
        return _ALG_SHA256.to_bytes(2, "big") + hashlib.sha256(hierarchy + self.name).digest()

    def is_restricted(self) -> bool:
        """Return whether the TPM created the key, keeps it, and signs only its own data with it."""
        return (
            self.attributes & _REQUIRED_ATTRIBUTES == _REQUIRED_ATTRIBUTES
            and not self.attributes & ATTRIBUTE_DECRYPT
        )


def check_quote(submodule: dict[Any, Any], claims: dict[Any, Any]) -> tuple[Quote, AttestationKey]:
    """Check that the key in a submodule signed a quote over the claims and the registers.

    Return the parsed quote and key. Whether the key is known is another check.

    Raises:
        InvalidStatement: the submodule is malformed, the key is not restricted or did not sign the
            quote, or the quote covers other claims or registers.
    """
    quote = parse_quote(submodule[CLAIM_QUOTE])
    key = parse_attestation_key(submodule[CLAIM_ATTESTATION_KEY])
    if not key.is_restricted():
        raise InvalidStatement(
            "the attestation key is not restricted: it could sign anything, or leave its TPM",
            reason="attestation-key",
        )
    signature = parse_quote_signature(submodule[CLAIM_QUOTE_SIGNATURE])
    try:
        key.key.verify(signature, submodule[CLAIM_QUOTE], ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as error:
        raise InvalidStatement(
            "the quote is not signed with the attestation key in the evidence",
            reason="quote-signature",
        ) from error
    if quote.qualified_signer != key.qualified_name:
        raise InvalidStatement(
            "the quote names another key than the attestation key in the evidence, or the same key "
            "with other attributes",
            reason="attestation-key",
        )
    if quote.extra_data != compute_qualifying_data(claims):
        raise InvalidStatement("the quote is for different evidence", reason="quote-swapped")
    _check_quoted_registers(submodule[CLAIM_PCRS], quote)
    return quote, key


def _check_quoted_registers(pcrs: dict[int, bytes], quote: Quote) -> None:
    """Raise InvalidStatement if the quote covers other registers, or other values of them."""
    if tuple(sorted(pcrs)) != quote.selected:
        raise InvalidStatement(
            "the evidence reports other registers than the quote covers", reason="pcr-mismatch"
        )
    values = b"".join(pcrs[register] for register in quote.selected)
    if hashlib.sha256(values).digest() != quote.pcr_digest:
        raise InvalidStatement(
            "the register values in the evidence do not match the quote", reason="pcr-mismatch"
        )


def compute_qualifying_data(claims: dict[Any, Any]) -> bytes:
    """Return the SHA-256 over all claims except the submodules, for a quote to sign."""
    others = {label: value for label, value in claims.items() if label != EAT_SUBMODS}
    covered = [_QUOTE_PURPOSE, claims.get(EAT_NONCE), claims.get(CLAIM_JOURNAL), others]
    return hashlib.sha256(encode_deterministic_cbor(covered)).digest()


def parse_quote(data: bytes) -> Quote:
    """Parse the content of a quote (`TPMS_ATTEST`).

    Raises:
        InvalidStatement: the bytes are not a quote, or it is not about the SHA-256 registers.
    """
    reader = _StructureReader(data, "quote")
    reader.expect(4, _TPM_GENERATED_MAGIC, "magic")
    reader.expect(2, _ATTEST_QUOTE_TYPE, "type")
    signer = reader.read_sized()
    extra_data = reader.read_sized()
    clock = reader.read_integer(8)
    reset_count = reader.read_integer(4)
    restart_count = reader.read_integer(4)
    safe = reader.read_integer(1)
    if safe > 1:
        raise reader.error(f"the flag of a safe clock is {safe}, expected 0 or 1")
    firmware = reader.read_integer(8)
    reader.expect(4, 1, "number of banks")
    reader.expect(2, _ALG_SHA256, "hash")
    selected = _read_pcr_selection(reader)
    digest = reader.read_sized()
    reader.expect_end()
    if len(digest) != _DIGEST_LENGTH:
        raise reader.error(f"the PCR digest has {len(digest)} bytes instead of {_DIGEST_LENGTH}")
    return Quote(
        signer,
        extra_data,
        clock,
        reset_count,
        restart_count,
        bool(safe),
        firmware,
        selected,
        digest,
    )


def _read_pcr_selection(reader: _StructureReader) -> tuple[int, ...]:
    """Read a bit field of registers, and return their numbers.

    Raises:
        InvalidStatement: the bit field is too long or cut off.
    """
    size = reader.read_integer(1)
    if size > _MAX_PCR_SELECT_LENGTH:
        raise reader.error(f"the register selection has {size} bytes")
    bits = int.from_bytes(reader.read(size), "little")
    return tuple(register for register in range(8 * size) if bits >> register & 1)


def parse_attestation_key(data: bytes) -> AttestationKey:
    """Parse the public part of a key (`TPMT_PUBLIC`).

    Raises:
        InvalidStatement: the key is malformed, or not a P-256 key for ECDSA with SHA-256.
    """
    reader = _StructureReader(data, "attestation key")
    reader.expect(2, _ALG_ECC, "type")
    reader.expect(2, _ALG_SHA256, "hash")
    attributes = reader.read_integer(4)
    reader.read_sized()  # The authorization policy.
    reader.expect(2, _ALG_NULL, "symmetric algorithm")
    reader.expect(2, _ALG_ECDSA, "scheme")
    reader.expect(2, _ALG_SHA256, "hash of the scheme")
    reader.expect(2, _CURVE_P256, "curve")
    reader.expect(2, _ALG_NULL, "key derivation")
    x = int.from_bytes(reader.read_sized(), "big")
    y = int.from_bytes(reader.read_sized(), "big")
    reader.expect_end()
    try:
        key = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    except ValueError as error:
        raise reader.error("the point is not on its curve") from error
    return AttestationKey(key, attributes, compute_key_name(data))


def compute_key_name(public: bytes) -> bytes:
    """Return the name of a key in a TPM: the SHA-256 of its public part, after the hash's number.

    `public` is the encoded public part (`TPMT_PUBLIC`).
    """
    return _ALG_SHA256.to_bytes(2, "big") + hashlib.sha256(public).digest()


def parse_quote_signature(data: bytes) -> bytes:
    """Parse the signature of a quote (`TPMT_SIGNATURE`), and return it in DER.

    Raises:
        InvalidStatement: the signature is malformed, or not by ECDSA with SHA-256.
    """
    reader = _StructureReader(data, "signature of a quote")
    reader.expect(2, _ALG_ECDSA, "algorithm")
    reader.expect(2, _ALG_SHA256, "hash")
    r = int.from_bytes(reader.read_sized(), "big")
    s = int.from_bytes(reader.read_sized(), "big")
    reader.expect_end()
    return encode_dss_signature(r, s)


class _StructureReader:
    """Reads a structure from its first byte to its last; `description` names it in errors."""

    def __init__(self, data: bytes, description: str) -> None:
        """Start at the first byte of the data."""
        self.data, self.position, self.description = data, 0, description

    def read(self, count: int) -> bytes:
        """Return the next bytes; raise InvalidStatement if there are not enough."""
        if count > len(self.data) - self.position:
            raise self.error("it ends too early")
        self.position += count
        return self.data[self.position - count : self.position]

    def read_integer(self, size: int) -> int:
        """Return the next `size` bytes as a big-endian integer."""
        return int.from_bytes(self.read(size), "big")

    def read_sized(self, max_size: int = _MAX_FIELD_LENGTH) -> bytes:
        """Return the next field, which follows its length in two bytes (`TPM2B`).

        Raises:
            InvalidStatement: the field is longer than `max_size`, or cut off.
        """
        size = self.read_integer(2)
        if size > max_size:
            raise self.error(f"a part has {size} bytes, at most {max_size} allowed")
        return self.read(size)

    def expect(self, size: int, expected: int, name: str) -> None:
        """Read an integer of `size` bytes, and raise InvalidStatement if it is another one."""
        value = self.read_integer(size)
        if value != expected:
            raise self.error(f"{name} is {value:#x}, expected {expected:#x}")

    def expect_end(self) -> None:
        """Raise InvalidStatement if there are more bytes."""
        if self.position != len(self.data):
            raise self.error(f"{len(self.data) - self.position} bytes too many")

    def error(self, problem: str) -> InvalidStatement:
        """Return the error that this structure is malformed."""
        return InvalidStatement(
            f"malformed {self.description}: {problem}", reason="quote-malformed"
        )

"""The structures of a TPM that evidence holds, read strictly. Step: appraise. Follows the TPM 2.0
Library, Part 2.

Only what our profile asks for is read: quotes, and keys on the curve P-256 that sign by ECDSA with
SHA-256. All numbers are big-endian, and a byte too many or too few is refused.

A TPM's quote: what it is over, and whether it holds. Step: attest, appraise.

The qualifying data of the quote is a hash of the nonce, the journal's head and all other claims. So
the quote vouches for just these claims at just this time. Registers alone would not: those that a
user can reset hold no history.
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
"""What a TPM puts before all that it makes itself, and never signs from elsewhere with a restricted
key.
"""
_ATTEST_QUOTE_TYPE = 0x8018
_ENDORSEMENT_HIERARCHY = 0x4000000B
_ALG_ECC, _ALG_SHA256, _ALG_NULL, _ALG_ECDSA, _CURVE_P256 = 0x23, 0x0B, 0x10, 0x18, 0x03
_MAX_PCR_SELECT_LENGTH, _DIGEST_LENGTH = 4, 32
_MAX_FIELD_LENGTH = 64

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


class _StructureReader:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes, what: str) -> None:
        self.data, self.at, self.what = data, 0, what

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise self.refusal("it ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def sized(self, most: int = _MAX_FIELD_LENGTH) -> bytes:
        count = self.number(2)
        if count > most:
            raise self.refusal(f"a part of {count} bytes")
        return self.take(count)

    def expect(self, size: int, wanted: int, named: str) -> None:
        found = self.number(size)
        if found != wanted:
            raise self.refusal(f"{named} {found:#x}, not {wanted:#x}")

    def end(self) -> None:
        if self.at != len(self.data):
            raise self.refusal(f"{len(self.data) - self.at} bytes too many")

    def refusal(self, told: str) -> InvalidStatement:
        return InvalidStatement(
            f"{self.what} that cannot be used: {told}", reason="quote-malformed"
        )


@dataclass(frozen=True, slots=True)
class Quote:
    """What a TPM says of itself when it is asked: about which registers, and when by its own
    counters.
    """

    qualified_signer: bytes
    extra_data: bytes
    clock: int
    """Milliseconds for which the TPM was powered."""
    reset_count: int
    restart_count: int
    safe: bool
    """Whether the clock never went back."""
    firmware_version: int
    selected: tuple[int, ...]
    """The registers of the SHA-256 bank."""
    pcr_digest: bytes


@dataclass(frozen=True, slots=True)
class AttestationKey:
    """The public part of a key that signs only what the TPM made itself."""

    key: ec.EllipticCurvePublicKey
    attributes: int
    name: bytes

    @property
    def qualified_name(self) -> bytes:
        """The name by which quotes call their signer: with all above it, which is the endorsement
        hierarchy alone.
        """
        return (
            _ALG_SHA256.to_bytes(2, "big")
            + hashlib.sha256(_ENDORSEMENT_HIERARCHY.to_bytes(4, "big") + self.name).digest()
        )

    def is_restricted(self) -> bool:
        """Tell whether it was made in a TPM, cannot leave it, and signs nothing that comes from
        elsewhere.
        """
        return (
            self.attributes & _REQUIRED_ATTRIBUTES == _REQUIRED_ATTRIBUTES
            and not self.attributes & ATTRIBUTE_DECRYPT
        )


def parse_quote(data: bytes) -> Quote:
    """Read what was quoted (`TPMS_ATTEST`).

    Raises:
        InvalidStatement: it is something else, or about other registers than those of SHA-256.
    """
    reader = _StructureReader(data, "a quote")
    reader.expect(4, _TPM_GENERATED_MAGIC, "magic")
    reader.expect(2, _ATTEST_QUOTE_TYPE, "type")
    signer, extra = reader.sized(), reader.sized()
    clock, resets, restarts = reader.number(8), reader.number(4), reader.number(4)
    safe = reader.number(1)
    if safe > 1:
        raise reader.refusal("a flag that is neither yes nor no")
    firmware = reader.number(8)
    reader.expect(4, 1, "number of banks")
    reader.expect(2, _ALG_SHA256, "hash")
    size = reader.number(1)
    if size > _MAX_PCR_SELECT_LENGTH:
        raise reader.refusal(f"{size} bytes of selected registers")
    bits = int.from_bytes(reader.take(size), "little")
    selected = tuple(at for at in range(8 * size) if bits >> at & 1)
    digest = reader.sized()
    reader.end()
    if len(digest) != _DIGEST_LENGTH:
        raise reader.refusal("a digest of another length")
    return Quote(signer, extra, clock, resets, restarts, bool(safe), firmware, selected, digest)


def parse_attestation_key(data: bytes) -> AttestationKey:
    """Read the public part of a key (`TPMT_PUBLIC`).

    Raises:
        InvalidStatement: it is of another kind.
    """
    reader = _StructureReader(data, "an attestation key")
    reader.expect(2, _ALG_ECC, "type")
    reader.expect(2, _ALG_SHA256, "hash")
    attributes = reader.number(4)
    reader.sized()
    reader.expect(2, _ALG_NULL, "symmetric algorithm")
    reader.expect(2, _ALG_ECDSA, "scheme")
    reader.expect(2, _ALG_SHA256, "hash of the scheme")
    reader.expect(2, _CURVE_P256, "curve")
    reader.expect(2, _ALG_NULL, "key derivation")
    x, y = reader.sized(), reader.sized()
    reader.end()
    try:
        numbers = ec.EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()
        )
        key = numbers.public_key()
    except ValueError as error:
        raise reader.refusal("no point of its curve") from error
    return AttestationKey(key, attributes, compute_key_name(data))


def compute_key_name(public: bytes) -> bytes:
    """Give the name by which a TPM knows a key."""
    return _ALG_SHA256.to_bytes(2, "big") + hashlib.sha256(public).digest()


def parse_quote_signature(data: bytes) -> bytes:
    """Read a signature (`TPMT_SIGNATURE`), and give it in DER.

    Raises:
        InvalidStatement: it is by another algorithm.
    """
    reader = _StructureReader(data, "a signature of a quote")
    reader.expect(2, _ALG_ECDSA, "algorithm")
    reader.expect(2, _ALG_SHA256, "hash")
    r, s = reader.sized(), reader.sized()
    reader.end()
    return encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))


_QUOTE_PURPOSE = "vacr quote 1"


@dataclass(frozen=True, slots=True)
class SignedQuote:
    """What a TPM gives when it is asked for a quote, as it gives it."""

    quote: bytes
    signature: bytes
    attestation_key: bytes
    pcrs: dict[int, bytes]

    def claims(self) -> dict[int, Any]:
        """Write it as the claims of a submodule."""
        return {
            CLAIM_QUOTE: self.quote,
            CLAIM_QUOTE_SIGNATURE: self.signature,
            CLAIM_ATTESTATION_KEY: self.attestation_key,
            CLAIM_PCRS: self.pcrs,
        }


def compute_qualifying_data(claims: dict[Any, Any]) -> bytes:
    """Give what a quote for these claims has to be over; the submodules, where the quote will be,
    are left out.
    """
    others = {label: value for label, value in claims.items() if label != EAT_SUBMODS}
    covered = [_QUOTE_PURPOSE, claims.get(EAT_NONCE), claims.get(CLAIM_JOURNAL), others]
    return hashlib.sha256(encode_deterministic_cbor(covered)).digest()


def check_quote(submodule: dict[Any, Any], claims: dict[Any, Any]) -> tuple[Quote, AttestationKey]:
    """Check that the key in a submodule signed a quote over these claims and these registers; whose
    key it is, is not checked.

    Raises:
        InvalidStatement: it did not, or the quote is of something else.
    """
    quote = parse_quote(submodule[CLAIM_QUOTE])
    key = parse_attestation_key(submodule[CLAIM_ATTESTATION_KEY])
    if not key.is_restricted():
        raise InvalidStatement(
            "the attestation key could sign anything, or leave its TPM", reason="attestation-key"
        )
    try:
        key.key.verify(
            parse_quote_signature(submodule[CLAIM_QUOTE_SIGNATURE]),
            submodule[CLAIM_QUOTE],
            ec.ECDSA(hashes.SHA256()),
        )
    except InvalidSignature as error:
        raise InvalidStatement(
            "the attestation key did not sign this quote", reason="quote-signature"
        ) from error
    if quote.qualified_signer != key.qualified_name:
        raise InvalidStatement(
            "the quote names another key, or one of other attributes", reason="attestation-key"
        )
    if quote.extra_data != compute_qualifying_data(claims):
        raise InvalidStatement("the quote was made for other evidence", reason="quote-swapped")
    pcrs = submodule[CLAIM_PCRS]
    if tuple(sorted(pcrs)) != quote.selected:
        raise InvalidStatement(
            "other registers are reported than were quoted", reason="pcr-mismatch"
        )
    if hashlib.sha256(b"".join(pcrs[at] for at in quote.selected)).digest() != quote.pcr_digest:
        raise InvalidStatement(
            "the reported registers are not those that were quoted", reason="pcr-mismatch"
        )
    return quote, key

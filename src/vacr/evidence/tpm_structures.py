"""The structures of a TPM that evidence holds, read strictly. Step: appraise. Follows the TPM 2.0
Library, Part 2.

Only what our profile asks for is read: quotes, and keys on the curve P-256 that sign by ECDSA with
SHA-256. All numbers are big-endian, and a byte too many or too few is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from vacr.errors import InvalidStatement

_MAGIC = 0xFF544347
"""What a TPM puts before all that it makes itself, and never signs from elsewhere with a restricted
key.
"""
_ATTEST_QUOTE = 0x8018
_ENDORSEMENT = 0x4000000B
_ECC, _SHA256, _NULL, _ECDSA, _P256 = 0x23, 0x0B, 0x10, 0x18, 0x03
_MOST_PCR_BYTES, _DIGEST = 4, 32
_LONGEST = 64

FIXED_TPM, FIXED_PARENT, ORIGIN, RESTRICTED, DECRYPT, SIGN = (
    1 << 1,
    1 << 4,
    1 << 5,
    1 << 16,
    1 << 17,
    1 << 18,
)
_NEEDED = FIXED_TPM | FIXED_PARENT | ORIGIN | RESTRICTED | SIGN


class _Reader:
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

    def sized(self, most: int = _LONGEST) -> bytes:
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
            _SHA256.to_bytes(2, "big")
            + hashlib.sha256(_ENDORSEMENT.to_bytes(4, "big") + self.name).digest()
        )

    def is_restricted(self) -> bool:
        """Tell whether it was made in a TPM, cannot leave it, and signs nothing that comes from
        elsewhere.
        """
        return self.attributes & _NEEDED == _NEEDED and not self.attributes & DECRYPT


def read_quote(data: bytes) -> Quote:
    """Read what was quoted (`TPMS_ATTEST`).

    Raises:
        InvalidStatement: it is something else, or about other registers than those of SHA-256.
    """
    reader = _Reader(data, "a quote")
    reader.expect(4, _MAGIC, "magic")
    reader.expect(2, _ATTEST_QUOTE, "type")
    signer, extra = reader.sized(), reader.sized()
    clock, resets, restarts = reader.number(8), reader.number(4), reader.number(4)
    safe = reader.number(1)
    if safe > 1:
        raise reader.refusal("a flag that is neither yes nor no")
    firmware = reader.number(8)
    reader.expect(4, 1, "number of banks")
    reader.expect(2, _SHA256, "hash")
    size = reader.number(1)
    if size > _MOST_PCR_BYTES:
        raise reader.refusal(f"{size} bytes of selected registers")
    bits = int.from_bytes(reader.take(size), "little")
    selected = tuple(at for at in range(8 * size) if bits >> at & 1)
    digest = reader.sized()
    reader.end()
    if len(digest) != _DIGEST:
        raise reader.refusal("a digest of another length")
    return Quote(signer, extra, clock, resets, restarts, bool(safe), firmware, selected, digest)


def read_attestation_key(data: bytes) -> AttestationKey:
    """Read the public part of a key (`TPMT_PUBLIC`).

    Raises:
        InvalidStatement: it is of another kind.
    """
    reader = _Reader(data, "an attestation key")
    reader.expect(2, _ECC, "type")
    reader.expect(2, _SHA256, "hash")
    attributes = reader.number(4)
    reader.sized()
    reader.expect(2, _NULL, "symmetric algorithm")
    reader.expect(2, _ECDSA, "scheme")
    reader.expect(2, _SHA256, "hash of the scheme")
    reader.expect(2, _P256, "curve")
    reader.expect(2, _NULL, "key derivation")
    x, y = reader.sized(), reader.sized()
    reader.end()
    try:
        numbers = ec.EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()
        )
        key = numbers.public_key()
    except ValueError as error:
        raise reader.refusal("no point of its curve") from error
    return AttestationKey(key, attributes, name_of(data))


def name_of(public: bytes) -> bytes:
    """Give the name by which a TPM knows a key."""
    return _SHA256.to_bytes(2, "big") + hashlib.sha256(public).digest()


def read_signature(data: bytes) -> bytes:
    """Read a signature (`TPMT_SIGNATURE`), and give it in DER.

    Raises:
        InvalidStatement: it is by another algorithm.
    """
    reader = _Reader(data, "a signature of a quote")
    reader.expect(2, _ECDSA, "algorithm")
    reader.expect(2, _SHA256, "hash")
    r, s = reader.sized(), reader.sized()
    reader.end()
    return encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))

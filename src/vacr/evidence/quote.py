"""A TPM's quote: what it is over, and whether it holds. Step: attest, appraise.

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

from vacr.codec import deterministic_cbor
from vacr.errors import InvalidStatement
from vacr.evidence import labels
from vacr.evidence.tpm_structures import (
    AttestationKey,
    Quote,
    read_attestation_key,
    read_quote,
    read_signature,
)

_PURPOSE = "vacr quote 1"


@dataclass(frozen=True, slots=True)
class Quoted:
    """What a TPM gives when it is asked for a quote, as it gives it."""

    quote: bytes
    signature: bytes
    attestation_key: bytes
    pcrs: dict[int, bytes]

    def claims(self) -> dict[int, Any]:
        """Write it as the claims of a submodule."""
        return {
            labels.QUOTE: self.quote,
            labels.QUOTE_SIGNATURE: self.signature,
            labels.ATTESTATION_KEY: self.attestation_key,
            labels.PCRS: self.pcrs,
        }


def qualifying_data(claims: dict[Any, Any]) -> bytes:
    """Give what a quote for these claims has to be over; the submodules, where the quote will be,
    are left out.
    """
    others = {label: value for label, value in claims.items() if label != labels.SUBMODS}
    covered = [_PURPOSE, claims.get(labels.NONCE), claims.get(labels.JOURNAL), others]
    return hashlib.sha256(deterministic_cbor.encode(covered)).digest()


def check_quote(submodule: dict[Any, Any], claims: dict[Any, Any]) -> tuple[Quote, AttestationKey]:
    """Check that the key in a submodule signed a quote over these claims and these registers; whose
    key it is, is not checked.

    Raises:
        InvalidStatement: it did not, or the quote is of something else.
    """
    quote = read_quote(submodule[labels.QUOTE])
    key = read_attestation_key(submodule[labels.ATTESTATION_KEY])
    if not key.is_restricted():
        raise InvalidStatement(
            "the attestation key could sign anything, or leave its TPM", reason="attestation-key"
        )
    try:
        key.key.verify(
            read_signature(submodule[labels.QUOTE_SIGNATURE]),
            submodule[labels.QUOTE],
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
    if quote.extra_data != qualifying_data(claims):
        raise InvalidStatement("the quote was made for other evidence", reason="quote-swapped")
    pcrs = submodule[labels.PCRS]
    if tuple(sorted(pcrs)) != quote.selected:
        raise InvalidStatement(
            "other registers are reported than were quoted", reason="pcr-mismatch"
        )
    if hashlib.sha256(b"".join(pcrs[at] for at in quote.selected)).digest() != quote.pcr_digest:
        raise InvalidStatement(
            "the reported registers are not those that were quoted", reason="pcr-mismatch"
        )
    return quote, key

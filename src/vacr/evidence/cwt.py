"""Signed claims: CBOR Web Tokens. Step: attest, appraise. Follows RFC 8392 and, for what type a
token is of, RFC 9596.

A token is `61(18([...]))`. Its protected header says that it is one: the same key may sign
statements about files, and nobody can have such a statement taken for a token by having the right
file signed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vacr.codec import deterministic_cbor
from vacr.errors import InvalidRecord, InvalidStatement, UnreadableInput
from vacr.evidence import labels
from vacr.signing import keys
from vacr.signing import labels as cose
from vacr.signing.algorithms import PublicKey, verify
from vacr.signing.sign1 import Sign1, encode_protected, parse, to_be_signed
from vacr.signing.signers import Signer

TAG = bytes((0xD8, labels.CWT_TAG))
"""How a CWT begins."""
_UNDERSTOOD = frozenset((cose.ALG, cose.KID, cose.TYP))
_DEPTH, _MOST = 12, 200_000


@dataclass(frozen=True, slots=True)
class Token:
    """Claims and their signature, which is not checked yet."""

    message: Sign1
    claims: dict[Any, Any]

    def check(self, key: PublicKey) -> None:
        """Check that a key signed the claims.

        Raises:
            InvalidStatement: it did not.
        """
        message = self.message
        verify(
            message.protected.get(cose.ALG),
            key,
            message.signature,
            message.to_be_signed(message.payload or b""),
        )


def sign_claims(claims: dict[Any, Any], signer: Signer) -> bytes:
    """Sign claims."""
    headers = {
        cose.ALG: signer.algorithm,
        cose.KID: keys.thumbprint(signer.public_key),
        cose.TYP: labels.EAT_CWT,
    }
    protected, payload = encode_protected(headers), deterministic_cbor.encode(claims)
    return (
        TAG
        + Sign1(
            protected, headers, {}, payload, signer.sign(to_be_signed(protected, payload))
        ).encode()
    )


def read_token(data: bytes) -> Token:
    """Read a token, tagged as a CWT or as COSE_Sign1 only.

    Raises:
        InvalidStatement: it is none, or one that could be read in two ways.
    """
    message = parse(data.removeprefix(TAG), _UNDERSTOOD)
    if not message.tagged:
        raise InvalidStatement("a token without the tag of COSE_Sign1", reason="tag")
    if message.protected.get(cose.TYP) != labels.EAT_CWT:
        raise InvalidStatement(
            f"a signed message that is no token: its typ is not {labels.EAT_CWT}", reason="typ"
        )
    if message.unprotected:
        raise InvalidStatement("a token with a header that nobody signed", reason="structure")
    if not message.payload:
        raise InvalidStatement("a token without claims", reason="payload-missing")
    return Token(message, read_claims(message.payload))


def read_claims(payload: bytes) -> dict[Any, Any]:
    """Read a claims set in deterministic CBOR.

    Raises:
        InvalidStatement: it is none.
    """
    try:
        claims = deterministic_cbor.decode_shortest(payload, max_depth=_DEPTH, most=_MOST)
        again = deterministic_cbor.encode(claims)
    except (UnreadableInput, InvalidRecord) as error:
        raise InvalidStatement(
            f"the claims are not CBOR: {error}", reason="claims-malformed"
        ) from error
    if not isinstance(claims, dict):
        raise InvalidStatement("the claims are no map", reason="claims-malformed")
    if again != payload:
        raise InvalidStatement(
            "the claims are not in the one form that they have to be in", reason="claims-malformed"
        )
    return claims

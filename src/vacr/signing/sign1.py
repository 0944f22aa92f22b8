"""COSE_Sign1: bytes ⇄ the four parts of a signed message. Step: sign, verify. Follows RFC 9052
sections 3, 4.2 and 4.4.

The protected header is kept as the bytes that were received, and those are what is verified. What
implementations disagree about is refused: a label in both headers, repeated keys, indefinite
lengths, heads longer than need be, bytes after the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cbor2

from vacr.codec import deterministic_cbor
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.signing import labels

_PARTS = 4
_DEPTH = 16
_ITEMS = 20_000

_PASSED_OVER = {labels.TYP, labels.X5U, labels.X5BAG, labels.PAYLOAD_LOCATION, labels.EVIDENCE}
_OF_LOGS = {labels.RECEIPTS, labels.VDS, labels.VDP}
UNDERSTOOD = frozenset(labels.NAMES) - _PASSED_OVER - _OF_LOGS
"""The labels that `crit` of a statement may name: those that verification acts on."""


@dataclass(frozen=True, slots=True)
class Sign1:
    """A signed message; without a payload it is detached, and the payload comes by another way."""

    protected_bytes: bytes
    protected: dict[Any, Any]
    unprotected: dict[Any, Any]
    payload: bytes | None
    signature: bytes
    tagged: bool = True

    def to_be_signed(self, payload: bytes) -> bytes:
        """Give the bytes that the signature is over."""
        return to_be_signed(self.protected_bytes, payload)

    def encode(self) -> bytes:
        """Write the message, as it was tagged or not."""
        parts = [self.protected_bytes, self.unprotected, self.payload, self.signature]
        return deterministic_cbor.encode(
            cbor2.CBORTag(labels.SIGN1_TAG, parts) if self.tagged else parts
        )


def to_be_signed(protected: bytes, payload: bytes) -> bytes:
    """Give the `Sig_structure`; an empty protected header is an empty string there, however it was
    written.
    """
    return deterministic_cbor.encode(
        ["Signature1", b"" if protected == b"\xa0" else protected, b"", payload]
    )


def encode_protected(headers: dict[Any, Any]) -> bytes:
    """Write a protected header."""
    return deterministic_cbor.encode(headers) if headers else b""


def parse(data: bytes, understood: frozenset[int] = UNDERSTOOD) -> Sign1:
    """Read a message, tagged or not; `understood` are the labels that `crit` may name.

    Raises:
        InvalidStatement: the bytes are no message, or one that could be read in two ways.
    """
    value = _decode(data, "not CBOR", "cbor")
    tagged = False
    if isinstance(value, cbor2.CBORTag):
        if value.tag != labels.SIGN1_TAG:
            raise InvalidStatement(
                f"tag {value.tag}, not {labels.SIGN1_TAG} (COSE_Sign1)", reason="tag"
            )
        value = value.value
        tagged = True
    if not isinstance(value, list | tuple) or len(value) != _PARTS:
        raise InvalidStatement("not an array of four parts", reason="structure")
    protected_bytes, unprotected, payload, signature = value
    if (
        type(protected_bytes) is not bytes
        or type(signature) is not bytes
        or not isinstance(payload, bytes | None)
    ):
        raise InvalidStatement(
            "parts of the wrong types: header, payload and signature are byte strings",
            reason="structure",
        )
    protected = (
        _decode(protected_bytes, "the protected header is not CBOR", "protected")
        if protected_bytes
        else {}
    )
    if not isinstance(protected, dict) or not isinstance(unprotected, dict):
        raise InvalidStatement("a header that is no map", reason="structure")
    _check_labels(protected, unprotected)
    _check_critical(protected, unprotected, understood)
    return Sign1(protected_bytes, dict(protected), dict(unprotected), payload, signature, tagged)


def _decode(data: bytes, told: str, reason: str) -> Any:
    try:
        return deterministic_cbor.decode_shortest(data, max_depth=_DEPTH, most=_ITEMS)
    except UnreadableInput as error:
        raise InvalidStatement(f"{told}: {error}", reason=reason) from error


def _check_labels(protected: dict[Any, Any], unprotected: dict[Any, Any]) -> None:
    for label in (*protected, *unprotected):
        if type(label) not in (int, str):
            raise InvalidStatement(
                f"a header label of another type than number or text: {label!r}",
                reason="label-type",
            )
    for label in protected.keys() & unprotected.keys():
        raise InvalidStatement(f"{labels.name_of(label)} is in both headers", reason="label-twice")


def _check_critical(
    protected: dict[Any, Any], unprotected: dict[Any, Any], understood: frozenset[int]
) -> None:
    """Refuse a message that says it must not be understood in part; RFC 9052 section 3.1."""
    if labels.CRIT in unprotected:
        raise InvalidStatement("crit is not protected", reason="crit-unprotected")
    if labels.CRIT not in protected:
        return
    critical = protected[labels.CRIT]
    if not isinstance(critical, list | tuple) or not critical:
        raise InvalidStatement("crit is not a list of labels", reason="crit-malformed")
    for label in critical:
        if type(label) not in (int, str) or label not in understood:
            raise InvalidStatement(
                f"crit names {labels.name_of(label)}, which is not understood",
                reason="crit-unknown",
            )
        if label not in protected:
            raise InvalidStatement(
                f"crit names {labels.name_of(label)}, which is not protected", reason="crit-absent"
            )

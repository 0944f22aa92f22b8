"""What a statement is about: its profile, and the bytes it covers. Step: verify. Follows RFC 9995
for hash envelopes.
"""

from __future__ import annotations

from typing import Any

from vacr import codec
from vacr.codec import Form
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.signing import ATTACHED, DETACHED, HASH_ENVELOPE, labels
from vacr.signing.algorithms import HASHES
from vacr.signing.sign1 import Sign1

_ENVELOPE = (labels.PREIMAGE_CONTENT_TYPE, labels.PAYLOAD_LOCATION)


def profile_of(message: Sign1) -> str:
    """Tell the profile of a statement, and check what its headers must and must not have.

    Raises:
        InvalidStatement: they contradict each other.
    """
    for label in (labels.PAYLOAD_HASH_ALG, *_ENVELOPE):
        if label in message.unprotected:
            raise InvalidStatement(
                f"{labels.name_of(label)} is not protected", reason="envelope-unprotected"
            )
    if labels.PAYLOAD_HASH_ALG in message.protected:
        _check_envelope(message)
        return HASH_ENVELOPE
    for label in _ENVELOPE:
        if label in message.protected:
            raise InvalidStatement(
                f"{labels.name_of(label)} without a hash algorithm", reason="hash-alg-missing"
            )
    if message.payload is None:
        return DETACHED
    if not message.payload:
        raise InvalidStatement("the payload is empty", reason="payload-empty")
    return ATTACHED


def _check_envelope(message: Sign1) -> None:
    if labels.CONTENT_TYPE in message.protected or labels.CONTENT_TYPE in message.unprotected:
        raise InvalidStatement(
            "a hash envelope with a content type", reason="envelope-content-type"
        )
    number = message.protected[labels.PAYLOAD_HASH_ALG]
    if type(number) is not int or number not in HASHES:
        raise InvalidStatement(f"no hash algorithm {number!r}", reason="hash-alg-unknown")
    if message.payload is None:
        raise InvalidStatement("a hash envelope without a hash", reason="payload-missing")
    if len(message.payload) != HASHES[number]().digest_size:
        raise InvalidStatement(
            "the payload is not a hash of the algorithm that is named", reason="hash-alg-mismatch"
        )


def signed_payload(message: Sign1, payload: bytes | None) -> bytes:
    """Give the payload that the signature is over: the one inside, or else the one that was given.

    Raises:
        InvalidStatement: there is none.
    """
    signed = message.payload if message.payload is not None else payload
    if not signed:
        raise InvalidStatement(
            "the payload is missing",
            reason="payload-missing",
            hint="It is detached: give the file it is about.",
        )
    return signed


def check_content(message: Sign1, profile: str, payload: bytes | None) -> bytes:
    """Check that given bytes are those that the statement is about, and give them.

    Raises:
        InvalidStatement: they are not, or there are none.
    """
    if profile != HASH_ENVELOPE:
        signed = signed_payload(message, payload)
        if payload is not None and payload != signed:
            raise InvalidStatement(
                "the bytes are not those that were signed", reason="content-mismatch"
            )
        return signed
    if payload is None:
        hint = (
            "It holds their hash: put the file it is about beside it, as NAME beside "
            "NAME.cose, and verify that."
        )
        raise InvalidStatement(
            "the bytes that the statement is about are missing", reason="payload-missing", hint=hint
        )
    if HASHES[message.protected[labels.PAYLOAD_HASH_ALG]](payload).digest() != message.payload:
        raise InvalidStatement(
            "the bytes are not those that were signed", reason="content-mismatch"
        )
    return payload


def record_in(data: bytes) -> tuple[dict[str, Any], Form] | None:
    """Give the record that bytes are, and its form; nothing for anything else."""
    try:
        value, form = codec.decode_either(data)
    except UnreadableInput:
        return None
    is_record = (
        isinstance(value, dict) and "version" in value and ("session" in value or "files" in value)
    )
    return (value, form) if is_record else None

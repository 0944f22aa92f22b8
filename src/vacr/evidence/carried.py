"""Evidence and results in the header of a statement. Step: attest, verify.

They stand in the unprotected header, so that they can be put there after signing and do not change
the statement's entry in a log. Anybody can do that: what binds them is that they name the digest of
the record, under a signature of their own.
"""

from __future__ import annotations

from dataclasses import replace

from vacr.errors import InvalidStatement
from vacr.evidence import cmw
from vacr.signing import labels
from vacr.signing.sign1 import Sign1, parse


def with_message(statement: bytes, wrapped: cmw.Wrapped, record: bytes) -> bytes:
    """Put a wrapped message about a record into a statement, in the place of the one that was
    there.

    Raises:
        InvalidStatement: it is no statement, or one about other bytes.
    """
    message = parse(statement)
    if (
        message.protected.get(labels.PAYLOAD_HASH_ALG) == labels.SHA256
        and message.payload != record
    ):
        raise InvalidStatement(
            "the statement is about another file than the evidence", reason="record-mismatch"
        )
    return replace(
        message, unprotected={**message.unprotected, labels.EVIDENCE: cmw.to_cbor(wrapped)}
    ).encode()


def message_in(message: Sign1) -> bytes | None:
    """Give the wrapped message that a statement carries.

    Raises:
        InvalidStatement: it is none.
    """
    if labels.EVIDENCE in message.protected:
        raise InvalidStatement(
            "evidence in the protected header, where it cannot be about the statement",
            reason="cmw-malformed",
        )
    if labels.EVIDENCE not in message.unprotected:
        return None
    return cmw.encode_cbor(cmw.from_value(message.unprotected[labels.EVIDENCE]))

"""Transparent statements: signed statements with the receipts of logs in them. Step: register,
verify. Follows RFC 9942.

The receipts are a list of byte strings in the unprotected header. The signature does not cover
them, and the entry in a log is the statement without them: so a receipt can be added at any time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vacr.errors import InvalidStatement
from vacr.receipts.entries import STATEMENT, entry_of
from vacr.receipts.receipt import OTHER_TREE, Receipt, parse_receipt
from vacr.receipts.tree import leaf_hash
from vacr.signing import labels
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import Sign1, parse

MOST = 64
"""How many receipts a statement may have."""


def with_receipt(
    statement: bytes, receipt: bytes, key: PublicKey | None = None, rule: str = STATEMENT
) -> bytes:
    """Put a receipt into a statement, in the place of those that the same key of its log has
    signed.

    Only a signature tells of which log a receipt is: by a name, one log could have the receipts of
    another thrown away. So without the key that signed it all others stay.

    Raises:
        InvalidStatement: one of them cannot be read, or there is no room for one more.
    """
    message = parse(statement)
    parse_receipt(receipt)
    leaf = leaf_hash(entry_of(message, rule))
    kept = [one for one in written_in(message) if not _is_by(one, leaf, key) and one != receipt]
    if len(kept) >= MOST:
        raise InvalidStatement(
            f"there are {len(kept)} receipts in the statement already", reason="receipt-malformed"
        )
    return replace(
        message, unprotected={**message.unprotected, labels.RECEIPTS: [*kept, receipt]}
    ).encode()


def receipts_in(message: Sign1) -> list[Receipt]:
    """Read the receipts in a statement.

    Raises:
        InvalidStatement: one of them is none.
    """
    return [parse_receipt(one) for one in written_in(message)]


def written_in(message: Sign1) -> list[Any]:
    """Give the receipts in a statement as they are written.

    Raises:
        InvalidStatement: they are no list, or in the wrong header.
    """
    if labels.RECEIPTS in message.protected:
        raise InvalidStatement(
            "receipts in the protected header, where no log can have put them",
            reason="receipt-protected",
        )
    if labels.RECEIPTS not in message.unprotected:
        return []
    written = message.unprotected[labels.RECEIPTS]
    if not isinstance(written, list | tuple) or not 0 < len(written) <= MOST:
        raise InvalidStatement(
            f"receipts that are no list of up to {MOST}", reason="receipt-malformed"
        )
    return list(written)


def _is_by(written: Any, leaf: bytes, key: PublicKey | None) -> bool:
    """Tell whether a key signed a receipt."""
    try:
        receipt = parse_receipt(written)
    except InvalidStatement as error:
        if error.reason == OTHER_TREE:
            return False
        raise
    try:
        for proof in receipt.inclusions if key is not None else ():
            receipt.check(proof.root(leaf), key)
            return True
    except InvalidStatement:
        pass  # by somebody else, or about something else
    return False

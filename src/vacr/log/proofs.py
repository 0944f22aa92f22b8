"""Proofs from a log, as receipts: for an entry, and that the log only grew. Step: register."""

from __future__ import annotations

from vacr.errors import UsageError
from vacr.log.keyring import Keyring
from vacr.log.ledger import Tiles
from vacr.log.storage import Reading
from vacr.receipts import tree
from vacr.receipts.receipt import protected_header, sign_head
from vacr.receipts.tiles import node_in


class NoReceiptYet(UsageError):  # noqa: N818 - what is the matter, as an error
    """A log has its first entry only: its proof would have no path, and RFC 9942 has no form for
    such a proof.
    """

    def __init__(self) -> None:
        """Say why, and from when on there is one."""
        told = (
            "the log has its first entry only, and a receipt needs another beside it: RFC "
            "9942 knows no empty path"
        )
        super().__init__(told, hint="From the next entry on there is one.")


def receipt_for(reading: Reading, position: int) -> bytes | None:
    """Make the receipt for an entry, as of the last head; nothing where there is no such entry.

    Raises:
        NoReceiptYet: it is the only one.
    """
    stored = reading.head()
    if stored is None or not 0 <= position < stored.head.size:
        return None
    if stored.head.size == 1:
        raise NoReceiptYet
    node = node_in(Tiles(reading))
    edges = tree.edge(node, stored.head.size)
    return stored.head.inclusion(
        position, tree.inclusion_path(node, edges, position, stored.head.size)
    )


def consistency_receipt(reading: Reading, keyring: Keyring, older: int, newer: int) -> bytes:
    """Make the receipt that shows that an older tree is the beginning of a newer one.

    Where no head was signed for the newer size, one is signed now: what it says is true of any size
    that the log had.

    Raises:
        UsageError: the log never had these sizes, or its key is not at hand.
    """
    last = reading.head()
    if last is None or not 0 < older < newer <= last.head.size:
        size = last.head.size if last is not None else 0
        raise UsageError(
            f"no proof from {older} to {newer}",
            hint=f"The first is smaller, and the second {size} at most.",
        )
    node = node_in(Tiles(reading))
    stored = reading.head_until(newer)
    head = stored.head if stored is not None else last.head
    if head.size != newer:
        signer = keyring.signer(reading, last)
        head = sign_head(
            signer,
            protected_header(signer, keyring.log, keyring.origin, last.time),
            newer,
            tree.root(node, newer),
        )
    return head.consistency(older, tree.consistency_path(node, older, newer))

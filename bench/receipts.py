"""What verifying a receipt costs beside the signature in it."""

from __future__ import annotations

from datetime import UTC, datetime

from sessions import compare

from vacr.receipts import receipt, tree
from vacr.receipts.entries import entry_of
from vacr.receipts.tiles import Growing, Tile
from vacr.signing import KeySigner, keys, sign
from vacr.signing.sign1 import parse
from vacr.verification.receipts import check_receipt

_ENTRIES = 100_000
_TIMES = 500


def receipts() -> None:
    """Verify receipts of a log with many entries, and as many signatures alone."""
    statement = parse(sign(b"{}", KeySigner(keys.generate("eddsa"))))
    kept: dict[tuple[int, int], Tile] = {}
    growing = Growing(0, [], lambda level, number: kept[level, number])
    for number in range(_ENTRIES):
        growing.add(tree.leaf_hash(number.to_bytes(4, "big")))
        kept.update(growing.settle())
    index = growing.add(tree.leaf_hash(entry_of(statement)))
    kept.update(growing.settle())
    path = tree.inclusion_path(growing.node, tree.edge(growing.node, growing.size), index, growing.size)
    for kind in ("es256", "eddsa"):
        signer, now = KeySigner(keys.generate(kind)), datetime.now(UTC)
        head = receipt.sign_head(signer, receipt.protected_header(signer, "log", "log", 0), growing.size, growing.root())
        written = head.inclusion(index, path)
        found = receipt.parse_receipt(written)
        key = signer.public_key

        def least(found: receipt.Receipt = found, head: receipt.Head = head, key: object = key) -> None:
            for _ in range(_TIMES):
                found.check(head.root, key)

        def work(written: bytes = written, key: object = key, now: datetime = now) -> None:
            for _ in range(_TIMES):
                check_receipt(statement, written, [key], now)

        alone, whole = compare(least, work, 7)
        a_second = _TIMES / whole
        print(f"receipt             {whole / alone:.2f} x its signature alone, {kind}: {a_second:,.0f} a second (at least 2,000)")

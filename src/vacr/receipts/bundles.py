"""Bundles: 256 entries of a log one after the other, each with its length before it. Step:
register. Follows C2SP tlog-tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacr.errors import InvalidStatement, UsageError
from vacr.receipts.entries import LARGEST
from vacr.receipts.tiles import WIDTH

_LENGTH = 2

LARGEST_BUNDLE = WIDTH * (_LENGTH + LARGEST)


def encode(entries: Sequence[bytes]) -> bytes:
    """Write entries.

    Raises:
        UsageError: there are too many or none, or one is too large.
    """
    if not 0 < len(entries) <= WIDTH:
        raise UsageError(f"a bundle has from 1 to {WIDTH} entries, not {len(entries)}")
    for entry in entries:
        if len(entry) > LARGEST:
            raise UsageError(f"an entry of {len(entry)} bytes; more than {LARGEST} are not taken")
    return b"".join(len(entry).to_bytes(_LENGTH, "big") + entry for entry in entries)


def decode(data: bytes, count: int) -> list[bytes]:
    """Read as many entries as there have to be.

    Raises:
        InvalidStatement: there are more or fewer, or the last is cut off.
    """
    entries: list[bytes] = []
    at = 0
    while at < len(data) and len(entries) < count:
        start = at + _LENGTH
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise InvalidStatement(
                f"entry {len(entries)} of the bundle is cut off", reason="bundle-form"
            )
        entries.append(data[start:at])
    if at != len(data) or len(entries) != count:
        raise InvalidStatement(
            f"a bundle that does not hold the {count} entries that it has to", reason="bundle-form"
        )
    return entries

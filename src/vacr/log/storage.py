"""What the storages of a log have in common: what they keep, and how they fail. Step: register.

There are two, in `sqlite.py` and `postgres.py`. Each keeps entries, the tiles of the tree, an index
from leaves to positions, and every head that was signed. A batch is one transaction, and moves the
head only from where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from vacr.errors import InvalidStatement, Unreachable
from vacr.receipts.receipt import Head
from vacr.receipts.tiles import Tile

FORMAT = 2
"""The layout of the tables; a storage of another one is refused."""
_LOT = 4_096
"""After so many entries what is new in the index joins the old: alone each would touch a page of
it, so many share them.
"""


class StorageFailed(Unreachable):
    """Something could not be read or written: what was under way is not done, or it is not known
    whether it is.
    """


class HeadMoved(Unreachable):
    """Another writer moved the head of the log: nothing was written, and what was to be written can
    be tried again.
    """


class Damaged(InvalidStatement):
    """What is stored is not what was stored."""

    def __init__(
        self, message: str, *, where: str = "", hint: str = "vacr log fsck tells what is wrong."
    ) -> None:
        """Say what is wrong with it."""
        super().__init__(message, reason="log-damaged", where=where, hint=hint)


@dataclass(frozen=True, slots=True)
class StoredHead:
    """The head of a log, when it was signed, and where the log last described itself."""

    head: Head
    time: int
    description: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What is added to a log at once."""

    before: StoredHead | None
    """The head that it follows; none for the first entry of all."""
    entries: Sequence[bytes]
    leaves: Sequence[bytes]
    tiles: dict[tuple[int, int], Tile]
    after: StoredHead

    @property
    def first(self) -> int:
        """The position of its first entry."""
        return self.after.head.size - len(self.entries)

    def indexed(self) -> list[tuple[int, int]]:
        """Give its rows of the index, in their order there."""
        return sorted(
            zip(map(prefix_of, self.leaves), range(self.first, self.after.head.size), strict=True)
        )

    def ends_lot(self) -> bool:
        """Tell whether what is new in the index is to join the rest of it now."""
        return self.first // _LOT != self.after.head.size // _LOT


class Reading(Protocol):
    """What can be read of a log."""

    def head(self) -> StoredHead | None:
        """Give the head; nothing where there is no log yet."""
        ...

    def head_until(self, size: int) -> StoredHead | None:
        """Give the last head of at most a size."""
        ...

    def heads(self) -> Iterator[StoredHead]:
        """Give all heads, from the first on."""
        ...

    def entries(self, first: int, end: int) -> list[bytes]:
        """Give entries, from one position up to another."""
        ...

    def tile(self, level: int, number: int) -> bytes | None:
        """Give the hashes of a tile."""
        ...

    def positions(self, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """Give the positions of leaves that begin so, each with its beginning."""
        ...

    def counts(self) -> dict[str, int]:
        """Count what is stored, table by table."""
        ...


class Writing(Reading, Protocol):
    """A transaction."""

    def append(self, batch: Batch) -> None:
        """Add a batch.

        Raises:
            HeadMoved: the head is not where the batch begins.
        """
        ...


class Storage(Reading, Protocol):
    """A storage that is open."""

    def writing(self) -> AbstractContextManager[Writing]:
        """Begin a transaction, alone; it is durable when the context has ended without an error."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Read the log as it is at this moment, whatever is added meanwhile."""
        ...

    def check(self) -> list[str]:
        """Have the database check itself; gives what it complains about."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def prefix_of(leaf: bytes) -> int:
    """Give the beginning of a leaf as the number that the index has."""
    return int.from_bytes(leaf[:8], "big", signed=True)

"""The interface that every storage of a log implements, with its types and its errors.

A log can live in SQLite (`sqlite.py`) or in PostgreSQL (`postgres.py`). Both keep the entries, the
tiles of the Merkle tree, an index from leaf hashes to positions, and every head that was signed. A
batch of entries is one transaction, and it moves the head by compare-and-swap: only from the head
that the batch was built on. A new log has one entry, which describes the log itself:

    >>> from contextlib import closing
    >>> from vacr.log import create_log
    >>> with closing(create_log("mylog").reader()) as reader:
    ...     reader.head().head.size, reader.count_rows()
    (1, {'entries': 1, 'leaves': 1, 'tiles': 1, 'heads': 1})
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from vacr.errors import InvalidStatement, Unreachable
from vacr.transparency import Tile, TreeHead

STORAGE_FORMAT = 2
"""The version of the table layout; a storage with another version is refused."""
_INDEX_MERGE_INTERVAL = 4_096
"""Number of entries after which the new part of the index is merged into the old part.

Leaf hashes are random, so each row inserted into a large index touches a page of its own. Merging
many sorted rows at once lets them share pages.
"""
_INDEX_PREFIX_SIZE = 8


# --- Errors ---


class StorageFailed(Unreachable):
    """A read or write failed; the operation was not done, or its outcome is unknown."""


class HeadMoved(Unreachable):
    """Another writer moved the head; nothing was written, and the batch can be tried again."""


class LogDamaged(InvalidStatement):
    """The stored data differs from the data that was written."""

    def __init__(
        self, message: str, *, where: str = "", hint: str = "vacr log fsck tells what is wrong."
    ) -> None:
        """Describe the damage."""
        super().__init__(message, reason="log-damaged", where=where, hint=hint)


# --- Stored types ---


@dataclass(frozen=True, slots=True)
class StoredHead:
    """A signed tree head as it is stored."""

    head: TreeHead
    time: int
    """When it was signed, in seconds since 1970."""
    description: int
    """The position of the log's newest description of itself at that time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The entries that one transaction appends, with everything that changes because of them."""

    before: StoredHead | None
    """The head that the batch was built on; None for the first entry of a new log."""
    entries: Sequence[bytes]
    leaves: Sequence[bytes]
    tiles: dict[tuple[int, int], Tile]
    after: StoredHead

    @property
    def first_position(self) -> int:
        """The position of the first entry of the batch."""
        return self.after.head.size - len(self.entries)

    def list_index_rows(self) -> list[tuple[int, int]]:
        """Return the index rows of the batch, sorted as the index is."""
        prefixes = map(compute_index_prefix, self.leaves)
        positions = range(self.first_position, self.after.head.size)
        return sorted(zip(prefixes, positions, strict=True))

    def completes_index_part(self) -> bool:
        """Return whether the new part of the index must now be merged into the old part."""
        parts_before = self.first_position // _INDEX_MERGE_INTERVAL
        parts_after = self.after.head.size // _INDEX_MERGE_INTERVAL
        return parts_before != parts_after


def compute_index_prefix(leaf: bytes) -> int:
    """Return the first bytes of a leaf hash as the signed number that the index stores."""
    return int.from_bytes(leaf[:_INDEX_PREFIX_SIZE], "big", signed=True)


# --- The interface ---


class LogReader(Protocol):
    """The read operations of a storage.

    Each of them raises StorageFailed if the database fails.
    """

    def head(self) -> StoredHead | None:
        """Return the current head; None if the log has not been created yet."""
        ...

    def head_until(self, size: int) -> StoredHead | None:
        """Return the newest head whose tree has at most this size."""
        ...

    def heads(self) -> Iterator[StoredHead]:
        """Yield every signed head, oldest first."""
        ...

    def entries(self, first: int, end: int) -> list[bytes]:
        """Return the entries from position `first` up to, but not including, `end`."""
        ...

    def tile(self, level: int, number: int) -> bytes | None:
        """Return the hashes of a tile, or None if it is not stored."""
        ...

    def positions(self, prefixes: Sequence[int]) -> list[tuple[int, int]]:
        """Return (prefix, position) for every leaf with one of these index prefixes."""
        ...

    def count_rows(self) -> dict[str, int]:
        """Return the number of rows in each table."""
        ...


class LogTransaction(LogReader, Protocol):
    """A storage within a write transaction."""

    def append(self, batch: Batch) -> None:
        """Append a batch and move the head.

        Raises:
            HeadMoved: the head has moved since the batch was built.
        """
        ...


class LogStorage(LogReader, Protocol):
    """An open storage."""

    def transaction(self) -> AbstractContextManager[LogTransaction]:
        """Begin an exclusive write transaction; it is durable once the context ends normally."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Make all reads within the context see the log as it is now."""
        ...

    def check_database(self) -> list[str]:
        """Run the database's own integrity check and return its complaints."""
        ...

    def close(self) -> None:
        """Close the database; uncommitted writes are lost."""
        ...

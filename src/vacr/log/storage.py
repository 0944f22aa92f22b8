"""Evidence against a log: the two checkpoints that cannot both be true, kept in a file.

What is found wrong with a log. Step: register.

What the storages of a log have in common: what they keep, and how they fail. Step: register.

There are two, in `sqlite.py` and `postgres.py`. Each keeps entries, the tiles of the tree, an index
from leaves to positions, and every head that was signed. A batch is one transaction, and moves the
head only from where it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Protocol

from vacr.errors import InvalidStatement, Unreachable
from vacr.files import read_bytes, write_durable_file
from vacr.transparency import Tile, TreeHead

_MAX_EVIDENCE_FILES = 100
"""So many are kept at most: who can sign checkpoints could fill a disk with them."""


def write_log_evidence(beside: Path, document: dict[str, str | None]) -> Path:
    """Keep a document beside a file, as `FILE.evidence-1` and so on; what is kept already is not
    kept again.

    Raises:
        UnreadableInput: it cannot be written.
    """
    data = json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    for number in count(1):
        path = beside.with_name(f"{beside.name}.evidence-{number}")
        if not path.exists():
            write_durable_file(path, data)
            break
        if number == _MAX_EVIDENCE_FILES or read_bytes(path) == data:
            break
    return path


_MAX_LISTED_FINDINGS = 100


@dataclass
class Findings:
    """What is wrong, as far as it is listed."""

    found: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, told: str) -> None:
        """Note something that is wrong."""
        if len(self.found) < _MAX_LISTED_FINDINGS:
            self.found.append(told)
        else:
            self.more += 1


STORAGE_FORMAT = 2
"""The layout of the tables; a storage of another one is refused."""
_INDEX_MERGE_INTERVAL = 4_096
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


class LogDamaged(InvalidStatement):
    """What is stored is not what was stored."""

    def __init__(
        self, message: str, *, where: str = "", hint: str = "vacr log fsck tells what is wrong."
    ) -> None:
        """Say what is wrong with it."""
        super().__init__(message, reason="log-damaged", where=where, hint=hint)


@dataclass(frozen=True, slots=True)
class StoredHead:
    """The head of a log, when it was signed, and where the log last described itself."""

    head: TreeHead
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
            zip(
                map(compute_index_prefix, self.leaves),
                range(self.first, self.after.head.size),
                strict=True,
            )
        )

    def ends_lot(self) -> bool:
        """Tell whether what is new in the index is to join the rest of it now."""
        return self.first // _INDEX_MERGE_INTERVAL != self.after.head.size // _INDEX_MERGE_INTERVAL


class LogReader(Protocol):
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


class LogTransaction(LogReader, Protocol):
    """A transaction."""

    def append(self, batch: Batch) -> None:
        """Add a batch.

        Raises:
            HeadMoved: the head is not where the batch begins.
        """
        ...


class LogStorage(LogReader, Protocol):
    """A storage that is open."""

    def writing(self) -> AbstractContextManager[LogTransaction]:
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


def compute_index_prefix(leaf: bytes) -> int:
    """Give the beginning of a leaf as the number that the index has."""
    return int.from_bytes(leaf[:8], "big", signed=True)

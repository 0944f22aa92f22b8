"""The log itself: entries in, receipts out. Step: register.

One batch is one transaction: its entries, the tiles that change and one signed head. Receipts are
made after it is committed. Whatever fails, memory is thrown away and read again from the storage:
the storage is the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from vacr.errors import UsageError
from vacr.log.keyring import Keyring
from vacr.log.storage import (
    Batch,
    Damaged,
    HeadMoved,
    Reading,
    Storage,
    StorageFailed,
    StoredHead,
    Writing,
    prefix_of,
)
from vacr.receipts import tree
from vacr.receipts.receipt import Head, protected_header, sign_head
from vacr.receipts.tiles import Growing, Tile, last_tiles
from vacr.signing.signers import Signer

MOST = 512
"""How many entries a batch may have."""
_TRIES = 5
_CACHED = 128


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an entry is, with its receipt."""

    position: int
    receipt: bytes
    """Nothing for the first entry of a log that has no other."""
    new: bool


class Tiles:
    """The tiles of a storage; full ones never change, and some of them are kept in memory."""

    def __init__(self, storage: Reading) -> None:
        """Read from a storage."""
        self.storage = storage
        self.kept: dict[tuple[int, int], Tile] = {}

    def __call__(self, level: int, number: int) -> Tile:
        """Give a tile.

        Raises:
            Damaged: it is not there.
        """
        found = self.kept.get((level, number))
        if found is None:
            hashes = self.storage.tile(level, number)
            if hashes is None or len(hashes) % tree.HASH_SIZE:
                raise Damaged(f"tile {level}/{number} is missing or cut")
            found = Tile(hashes)
            if len(self.kept) >= _CACHED:
                self.kept.pop(next(iter(self.kept)))
            if found.is_full:
                self.kept[level, number] = found
        return found


class Ledger:
    """A log that can be added to. One thread at a time uses it; other processes may add to the same
    log.
    """

    def __init__(
        self,
        open_storage: Callable[[], Storage],
        keyring: Keyring,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the storage.

        Raises:
            StorageFailed: it cannot be read.
            Damaged: what is stored is not what was.
            UsageError: the keys of the log are not at hand.
        """
        self.open_storage = open_storage
        self.keyring = keyring
        self.clock = clock
        self.storage = open_storage()
        self.head: StoredHead | None = None
        self.known: Head | None = None
        """The last head that was found or committed: the log may only grow from there."""
        self.growing: Growing | None = None
        self.signer: Signer | None = None
        try:
            self._load(self.storage, self._stored_head(self.storage))
        except BaseException:
            self.storage.close()
            raise

    @staticmethod
    def _stored_head(reading: Reading) -> StoredHead:
        head = reading.head()
        if head is None:
            raise UsageError("there is no log in the database", hint="vacr log init makes one.")
        return head

    def close(self) -> None:
        """Close the storage."""
        self.storage.close()

    def _load(self, storage: Reading, head: StoredHead) -> Growing:
        """Read the right edge of the tree, and check that it leads to the root that was signed."""
        size = head.head.size
        last = []
        for level, number, width in last_tiles(size):
            hashes = (storage.tile(level, number) if width else b"") or b""
            if len(hashes) < width * tree.HASH_SIZE:
                raise Damaged(f"tile {level}/{number} is missing or cut")
            last.append(Tile(hashes[: width * tree.HASH_SIZE]))
        growing = Growing(size, last, Tiles(storage))
        if growing.root() != head.head.root:
            raise Damaged("the tree that is stored does not lead to the root that was signed")
        known = self.known
        if known is not None and (
            known.size > size or tree.root(growing.node, known.size) != known.root
        ):
            raise Damaged(
                (
                    f"the log had {known.size} entries, and the database no longer has them: it "
                    "was "
                    "set back to an older state"
                ),
                hint=(
                    "Put the newest state of the database back. To go on would make another "
                    "log of it."
                ),
            )
        if self.head is None or self.head.description != head.description:
            self.signer = self.keyring.signer(storage, head)
        self.head, self.known, self.growing = head, head.head, growing
        return growing

    def append(self, entries: Sequence[bytes], *, replaced: int | None = None) -> list[Placed]:
        """Add entries, all or none; one that is in the log already keeps its place.

        The last may be a new description of the log, in the place of the one at `replaced`, whose
        key has signed it.

        Raises:
            UsageError: the log has another description by now.
            StorageFailed: that could not be done, or it is not known whether it was; the storage
                has been opened again.
        """
        for _ in range(_TRIES):
            try:
                return self._append(entries, replaced)
            except HeadMoved:
                self._forget()
            except StorageFailed:
                self._forget()
                self._recover()
                raise
            except BaseException:
                self._forget()
                raise
        raise StorageFailed("other writers keep moving the head of the log")

    def _append(self, entries: Sequence[bytes], replaced: int | None) -> list[Placed]:
        leaves = list(map(tree.leaf_hash, entries))
        with self.storage.writing() as writing:
            growing, before = self._current(writing)
            if replaced not in (None, before.description):
                raise UsageError(
                    "somebody else gave the log new keys meanwhile",
                    hint="Run the same again, if you still want to.",
                )
            known = find(writing, growing.node, leaves)
            fresh: list[int] = []
            positions = []
            for at, leaf in enumerate(leaves):
                position = known.get(leaf)
                if position is None:
                    position = known[leaf] = growing.add(leaf)
                    fresh.append(at)
                positions.append(position)
            if fresh:
                described = positions[-1] if replaced is not None else before.description
                after = self._sign(growing, before, described)
                batch = Batch(
                    before,
                    [entries[at] for at in fresh],
                    [leaves[at] for at in fresh],
                    growing.settle(),
                    after,
                )
                writing.append(batch)
                self.head = after
        self.known = after.head if fresh else before.head
        return self._placed(growing, positions, before.head.size)

    def _current(self, writing: Writing) -> tuple[Growing, StoredHead]:
        """Give the tree as it is now, which another writer may have added to."""
        head = self._stored_head(writing)
        if self.growing is None or self.head != head:
            return self._load(writing, head), head
        return self.growing, head

    def _sign(self, growing: Growing, before: StoredHead, description: int) -> StoredHead:
        if description != before.description:
            self.signer = self.keyring.next_signer
        if self.signer is None:
            raise UsageError("the key of the log is not at hand")
        # A clock that is moved back does not take the log with it.
        now = max(int(self.clock()), before.time)
        header = protected_header(self.signer, self.keyring.log, self.keyring.origin, now)
        return StoredHead(
            sign_head(self.signer, header, growing.size, growing.root()), now, description
        )

    def _placed(self, growing: Growing, positions: Iterable[int], old_size: int) -> list[Placed]:
        if self.head is None:
            raise Damaged("the log has no head")
        head = self.head.head
        if head.size == 1:  # the description of the log, sent by somebody who read it
            return [Placed(at, b"", new=False) for at in positions]
        node = cache(growing.node)  # the paths of neighbours are the same but for their beginnings
        edges = tree.edge(node, head.size)
        return [
            Placed(
                at,
                head.inclusion(at, tree.inclusion_path(node, edges, at, head.size)),
                at >= old_size,
            )
            for at in positions
        ]

    def _forget(self) -> None:
        """Throw away what was read: it is read again before the next batch."""
        self.head = self.growing = None

    def _recover(self) -> None:
        """Open the storage again: after an error nothing that it said can be relied on."""
        self.storage.close()
        with suppress(StorageFailed):
            self.storage = self.open_storage()


def find(reading: Reading, node: tree.Node, leaves: Sequence[bytes]) -> dict[bytes, int]:
    """Give the positions of the leaves that are in a log."""
    wanted = set(leaves)
    found = (
        (node(0, position), position)
        for _, position in reading.positions(list({prefix_of(leaf) for leaf in wanted}))
    )
    return {leaf: position for leaf, position in found if leaf in wanted}

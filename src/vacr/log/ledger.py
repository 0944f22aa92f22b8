"""The log itself: entries in, receipts out. Step: register.

One batch is one transaction: its entries, the tiles that change and one signed head. Receipts are
made after it is committed. Whatever fails, memory is thrown away and read again from the storage:
the storage is the truth.

Proofs from a log, as receipts: for an entry, and that the log only grew. Step: register.

The one place where entries get their order: a thread that takes what is waiting, a batch at a
time. Step: register.

What waits is bounded: who comes when it is full is told so at once. An error of the storage ends
the batch; the storage is opened again and the batch is tried once more, which adds nothing twice,
since entries are known by their hashes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from vacr.errors import Unreachable, UsageError, VacrError
from vacr.log.keyring import Keyring
from vacr.log.storage import (
    Batch,
    HeadMoved,
    LogDamaged,
    LogReader,
    LogStorage,
    LogTransaction,
    StorageFailed,
    StoredHead,
    compute_index_prefix,
)
from vacr.signing import Signer
from vacr.transparency import (
    HASH_SIZE,
    GrowingTree,
    NodeLookup,
    Tile,
    TreeHead,
    build_consistency_path,
    build_inclusion_path,
    compute_right_edge,
    compute_root,
    encode_receipt_header,
    hash_leaf,
    list_last_tiles,
    make_node_lookup,
    sign_tree_head,
)

MAX_BATCH_ENTRIES = 512
"""How many entries a batch may have."""
_MAX_APPEND_TRIES = 5
_MAX_CACHED_TILES = 128


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """Where an entry is, with its receipt."""

    position: int
    receipt: bytes
    """Nothing for the first entry of a log that has no other."""
    new: bool


class TileCache:
    """The tiles of a storage; full ones never change, and some of them are kept in memory."""

    def __init__(self, storage: LogReader) -> None:
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
            if hashes is None or len(hashes) % HASH_SIZE:
                raise LogDamaged(f"tile {level}/{number} is missing or cut")
            found = Tile(hashes)
            if len(self.kept) >= _MAX_CACHED_TILES:
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
        open_storage: Callable[[], LogStorage],
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
        self.known: TreeHead | None = None
        """The last head that was found or committed: the log may only grow from there."""
        self.growing: GrowingTree | None = None
        self.signer: Signer | None = None
        try:
            self._load(self.storage, self._stored_head(self.storage))
        except BaseException:
            self.storage.close()
            raise

    @staticmethod
    def _stored_head(reading: LogReader) -> StoredHead:
        head = reading.head()
        if head is None:
            raise UsageError("there is no log in the database", hint="vacr log init makes one.")
        return head

    def close(self) -> None:
        """Close the storage."""
        self.storage.close()

    def _load(self, storage: LogReader, head: StoredHead) -> GrowingTree:
        """Read the right edge of the tree, and check that it leads to the root that was signed."""
        size = head.head.size
        last = []
        for level, number, width in list_last_tiles(size):
            hashes = (storage.tile(level, number) if width else b"") or b""
            if len(hashes) < width * HASH_SIZE:
                raise LogDamaged(f"tile {level}/{number} is missing or cut")
            last.append(Tile(hashes[: width * HASH_SIZE]))
        growing = GrowingTree(size, last, TileCache(storage))
        if growing.root() != head.head.root:
            raise LogDamaged("the tree that is stored does not lead to the root that was signed")
        known = self.known
        if known is not None and (
            known.size > size or compute_root(growing.node, known.size) != known.root
        ):
            raise LogDamaged(
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

    def append(self, entries: Sequence[bytes], *, replaced: int | None = None) -> list[PlacedEntry]:
        """Add entries, all or none; one that is in the log already keeps its place.

        The last may be a new description of the log, in the place of the one at `replaced`, whose
        key has signed it.

        Raises:
            UsageError: the log has another description by now.
            StorageFailed: that could not be done, or it is not known whether it was; the storage
                has been opened again.
        """
        for _ in range(_MAX_APPEND_TRIES):
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

    def _append(self, entries: Sequence[bytes], replaced: int | None) -> list[PlacedEntry]:
        leaves = list(map(hash_leaf, entries))
        with self.storage.writing() as writing:
            growing, before = self._current(writing)
            if replaced not in (None, before.description):
                raise UsageError(
                    "somebody else gave the log new keys meanwhile",
                    hint="Run the same again, if you still want to.",
                )
            known = find_leaf_positions(writing, growing.node, leaves)
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

    def _current(self, writing: LogTransaction) -> tuple[GrowingTree, StoredHead]:
        """Give the tree as it is now, which another writer may have added to."""
        head = self._stored_head(writing)
        if self.growing is None or self.head != head:
            return self._load(writing, head), head
        return self.growing, head

    def _sign(self, growing: GrowingTree, before: StoredHead, description: int) -> StoredHead:
        if description != before.description:
            self.signer = self.keyring.next_signer
        if self.signer is None:
            raise UsageError("the key of the log is not at hand")
        # A clock that is moved back does not take the log with it.
        now = max(int(self.clock()), before.time)
        header = encode_receipt_header(self.signer, self.keyring.log, self.keyring.origin, now)
        return StoredHead(
            sign_tree_head(self.signer, header, growing.size, growing.root()), now, description
        )

    def _placed(
        self, growing: GrowingTree, positions: Iterable[int], old_size: int
    ) -> list[PlacedEntry]:
        if self.head is None:
            raise LogDamaged("the log has no head")
        head = self.head.head
        if head.size == 1:  # the description of the log, sent by somebody who read it
            return [PlacedEntry(at, b"", new=False) for at in positions]
        node = cache(growing.node)  # the paths of neighbours are the same but for their beginnings
        edges = compute_right_edge(node, head.size)
        return [
            PlacedEntry(
                at,
                head.inclusion(at, build_inclusion_path(node, edges, at, head.size)),
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


def find_leaf_positions(
    reading: LogReader, node: NodeLookup, leaves: Sequence[bytes]
) -> dict[bytes, int]:
    """Give the positions of the leaves that are in a log."""
    wanted = set(leaves)
    found = (
        (node(0, position), position)
        for _, position in reading.positions(list({compute_index_prefix(leaf) for leaf in wanted}))
    )
    return {leaf: position for leaf, position in found if leaf in wanted}


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


def build_inclusion_receipt(reading: LogReader, position: int) -> bytes | None:
    """Make the receipt for an entry, as of the last head; nothing where there is no such entry.

    Raises:
        NoReceiptYet: it is the only one.
    """
    stored = reading.head()
    if stored is None or not 0 <= position < stored.head.size:
        return None
    if stored.head.size == 1:
        raise NoReceiptYet
    node = make_node_lookup(TileCache(reading))
    edges = compute_right_edge(node, stored.head.size)
    return stored.head.inclusion(
        position, build_inclusion_path(node, edges, position, stored.head.size)
    )


def build_consistency_receipt(
    reading: LogReader, keyring: Keyring, older: int, newer: int
) -> bytes:
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
    node = make_node_lookup(TileCache(reading))
    stored = reading.head_until(newer)
    head = stored.head if stored is not None else last.head
    if head.size != newer:
        signer = keyring.signer(reading, last)
        head = sign_tree_head(
            signer,
            encode_receipt_header(signer, keyring.log, keyring.origin, last.time),
            newer,
            compute_root(node, newer),
        )
    return head.consistency(older, build_consistency_path(node, older, newer))


Ticket = TypeVar("Ticket")
BatchResults = list[tuple[Ticket, PlacedEntry | VacrError]]

MAX_WAITING_ENTRIES = 4096
"""How many entries may wait."""
_RETRY_PAUSE_SECONDS = 0.25
_PROBE_INTERVAL_SECONDS = 1.0
"""After so many seconds a log that failed is tried again, though nothing waits."""
_log = logging.getLogger("vacr.log")


class LogBusy(Unreachable):
    """More is waiting than may wait, or the log is going down."""


class Sequencer(Generic[Ticket]):
    """Adds entries to a log in the order they come; each comes with a ticket, by which its result
    is delivered.
    """

    def __init__(
        self,
        ledger: Ledger,
        deliver: Callable[[BatchResults[Ticket]], None],
        *,
        waiting: int = MAX_WAITING_ENTRIES,
        linger: float = 0.0,
    ) -> None:
        """Take over a ledger; `deliver` is called from the sequencer's thread. A batch is gathered
        for `linger` seconds.
        """
        self.ledger = ledger
        self.deliver = deliver
        self.waiting = waiting
        self.linger = linger
        self.queue: deque[tuple[bytes, Ticket]] = deque()
        self.changed = threading.Condition()
        self.stopping = False
        self.failure: VacrError | None = None
        """What kept the last batch from being added; none when all is well."""
        self.batches = 0
        self.storage_failures = 0
        """How often the storage failed and was opened again: a disk that does so once may do so
        again.
        """
        self.thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self.thread.start()

    def submit(self, entry: bytes, ticket: Ticket) -> None:
        """Have an entry added.

        Raises:
            Busy: too many are waiting.
        """
        with self.changed:
            if self.stopping or len(self.queue) >= self.waiting:
                raise LogBusy(
                    str(self.failure or "the log is going down")
                    if self.stopping
                    else "too many entries are waiting"
                )
            self.queue.append((entry, ticket))
            if len(self.queue) == 1:
                self.changed.notify()

    def close(self) -> None:
        """Add what is still waiting, and end."""
        with self.changed:
            self.stopping = True
            self.changed.notify()
        self.thread.join()
        self.ledger.close()

    def _run(self) -> None:
        try:
            while (batch := self._next()) or not self.stopping:
                # What failed is tried also without entries: whoever asks how the log is may send
                # none before all is well.
                results = self._append([entry for entry, _ in batch])
                if batch:
                    self.deliver(
                        [
                            (ticket, result)
                            for (_, ticket), result in zip(batch, results, strict=True)
                        ]
                    )
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits and whoever comes has to be told
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Refuse what waits and what comes: nothing adds entries any more."""
        failure = Unreachable(
            f"the log takes no more entries until it is started again: {type(error).__name__}: "
            f"{error}"
        )
        with self.changed:
            self.stopping, self.failure = True, failure
            left = [ticket for _, ticket in self.queue]
            self.queue.clear()
        with suppress(Exception):
            self.deliver([(ticket, failure) for ticket in left])

    def _next(self) -> list[tuple[bytes, Ticket]]:
        """Give what waits; nothing, when it is time to end or to try again."""
        with self.changed:
            self.changed.wait_for(
                lambda: self.queue or self.stopping,
                _PROBE_INTERVAL_SECONDS if self.failure else None,
            )
        if self.linger and not self.stopping and len(self.queue) < MAX_BATCH_ENTRIES:
            time.sleep(self.linger)
        with self.changed:
            return [self.queue.popleft() for _ in range(min(MAX_BATCH_ENTRIES, len(self.queue)))]

    def _append(self, entries: Sequence[bytes]) -> Sequence[PlacedEntry | VacrError]:
        try:
            try:
                placed = self.ledger.append(entries)
            except StorageFailed as error:
                self.storage_failures += 1
                time.sleep(_RETRY_PAUSE_SECONDS)
                placed = self.ledger.append(entries)
                _log.warning(
                    "the database failed and was opened again, nothing is lost: %s",
                    error.diagnostics(),
                )
        except VacrError as error:
            return [self._failed(error)] * len(entries)
        except Exception as error:  # noqa: BLE001 - whoever waits has to be told, whatever it is
            return [
                self._failed(Unreachable(f"a bug in vacr: {type(error).__name__}: {error}"))
            ] * len(entries)
        if self.failure is not None:
            _log.warning("entries are taken again")
        self.failure = None
        self.batches += bool(entries)
        return placed

    def _failed(self, error: VacrError) -> VacrError:
        if self.failure is None or str(self.failure) != str(error):
            _log.warning("no entries are taken: %s", error.diagnostics())
        self.failure = error
        return error

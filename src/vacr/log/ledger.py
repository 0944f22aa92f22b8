"""The log itself: entries in, receipts out.

A ledger appends entries in batches. One batch is one transaction with its entries, the tiles that
they change, and one signed tree head; receipts are built only after it is committed. After any
error the ledger drops its state in memory and reads it again: the storage is the truth. An
entry that is in the log already keeps its position:

    >>> from contextlib import closing
    >>> from vacr.log import create_log
    >>> with closing(create_log("mylog").ledger()) as ledger:
    ...     [(entry.position, entry.new) for entry in ledger.append([b"a", b"b", b"a"])]
    ...     [(entry.position, entry.new) for entry in ledger.append([b"b"])]
    [(1, True), (2, True), (1, True)]
    [(2, False)]

The log has exactly one place where entries get their order: the `Sequencer`, a thread that takes
the waiting entries, one batch at a time. Its queue is bounded, and a caller who finds it full is
refused at once. When the storage fails, the batch is tried once more on a fresh connection. That
cannot add an entry twice, since entries are recognised by their hashes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
    build_twin_entry,
    compute_right_edge,
    compute_root,
    encode_receipt_header,
    hash_leaf,
    list_last_tiles,
    make_node_lookup,
    sign_tree_head,
)

MAX_BATCH_ENTRIES = 512
MAX_WAITING_ENTRIES = 4096
"""How many entries may wait for their batch, unless the sequencer is given another limit."""
_MAX_APPEND_TRIES = 5
_MAX_CACHED_TILES = 128
_RETRY_PAUSE_SECONDS = 0.25
_PROBE_INTERVAL_SECONDS = 1.0
"""How often a failing log is tried again while no entries wait."""
_log = logging.getLogger("vacr.log")


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """The position of an entry in the log, with its receipt."""

    position: int
    receipt: bytes
    """Empty for the only entry of a log, which cannot have a receipt yet."""
    new: bool
    """False if the entry was in the log before."""
    twin: bytes | None = None
    """The logged entry, if it has the other form of the submitted entry's ECDSA signature."""


Ticket = TypeVar("Ticket")
BatchResults = list[tuple[Ticket, PlacedEntry | VacrError]]
"""The outcome for each entry of a batch: its place, or the error that kept it out."""


# --- Appending ---


class Ledger:
    """A log open for appending.

    One thread at a time may use it. Other processes may append to the same log.
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
            LogDamaged: the stored data differs from the data that was written.
            UsageError: the log has not been created, or its keys are missing.
        """
        self.open_storage = open_storage
        self.keyring = keyring
        self.clock = clock
        self.storage = open_storage()
        self.head: StoredHead | None = None
        """The head that `tree` belongs to, or None after an error."""
        self.last_head: TreeHead | None = None
        """The newest head that was read or committed: the log may only grow from there."""
        self.tree: GrowingTree | None = None
        self.tiles = TileCache(self.storage)
        """The older tiles of `tree`."""
        self.signer: Signer | None = None
        try:
            self._load_tree(self.storage, _read_head(self.storage))
        except BaseException:
            self.storage.close()
            raise

    def close(self) -> None:
        """Close the storage."""
        self.storage.close()

    def append(self, entries: Sequence[bytes], *, replaced: int | None = None) -> list[PlacedEntry]:
        """Append entries, all or none, and return their positions and receipts in the same order.

        An entry that is in the log already keeps its position. So does a statement that is in the
        log with the other form of its ECDSA signature, which anybody can compute. In a key
        rotation, the last entry is a new description of the log, and `replaced` is the position of
        the previous description.

        Raises:
            UsageError: the description at `replaced` is not the newest any more.
            StorageFailed: appending failed, or its outcome is unknown; the storage was reopened.
        """
        for _ in range(_MAX_APPEND_TRIES):
            try:
                return self._append_once(entries, replaced)
            except HeadMoved:
                self._forget_tree()
            except StorageFailed:
                self._forget_tree()
                self._reopen_storage()
                raise
            except BaseException:
                self._forget_tree()
                raise
        raise StorageFailed(
            "the entries were not added: other processes keep appending to the log",
            hint="Try again.",
        )

    def _append_once(self, entries: Sequence[bytes], replaced: int | None) -> list[PlacedEntry]:
        """Append entries in one transaction, without another attempt.

        Raises:
            HeadMoved: another process has appended entries at the same time.
        """
        leaves = list(map(hash_leaf, entries))
        with self.storage.transaction() as transaction:
            tree, before = self._load_current_tree(transaction)
            if replaced not in (None, before.description):
                raise UsageError(
                    "another process has already replaced the keys of the log",
                    hint="If you still want new keys, run the command again.",
                )
            places = _find_places(transaction, tree, entries, leaves)
            new_indexes = [index for index, place in enumerate(places) if place.is_new]
            positions = [place.position for place in places]
            if new_indexes:
                description = positions[-1] if replaced is not None else before.description
                after = self._sign_head(tree, before, description)
                batch = Batch(
                    before,
                    [entries[index] for index in new_indexes],
                    [leaves[index] for index in new_indexes],
                    tree.settle(),
                    after,
                )
                transaction.append(batch)
                self.head = after
        # Only now is the batch committed, and only now may a receipt exist.
        self.last_head = after.head if new_indexes else before.head
        if new_indexes:
            self.tiles.keep(batch.tiles)
        placed = self._build_placed_entries(tree, positions, before.head.size)
        return [
            replace(entry, twin=place.twin) for entry, place in zip(placed, places, strict=True)
        ]

    def _load_current_tree(self, transaction: LogTransaction) -> tuple[GrowingTree, StoredHead]:
        """Return the tree and its head, reloaded if another writer has appended to the log."""
        head = _read_head(transaction)
        if self.tree is None or self.head != head:
            return self._load_tree(transaction, head), head
        return self.tree, head

    def _load_tree(self, reader: LogReader, head: StoredHead) -> GrowingTree:
        """Load the last tiles of the tree at a head, and keep the tree, its head and its signer.

        Raises:
            LogDamaged: the tree does not match the signed root, or does not continue the tree that
                was loaded before.
        """
        size = head.head.size
        last_tiles = []
        for level, number, width in list_last_tiles(size):
            hashes = (reader.tile(level, number) if width else b"") or b""
            if len(hashes) < width * HASH_SIZE:
                raise LogDamaged(f"tile {level}/{number} is missing or truncated")
            last_tiles.append(Tile(hashes[: width * HASH_SIZE]))
        tiles = TileCache(reader)
        tree = GrowingTree(size, last_tiles, tiles)
        if tree.root() != head.head.root:
            raise LogDamaged("the stored tree does not match the signed root")
        self._check_only_grew(tree, size)
        if self.head is None or self.head.description != head.description:
            self.signer = self.keyring.load_signer(reader, head)
        self.head, self.last_head, self.tree, self.tiles = head, head.head, tree, tiles
        return tree

    def _check_only_grew(self, tree: GrowingTree, size: int) -> None:
        """Check that a loaded tree continues the tree of `last_head`; else raise LogDamaged."""
        last = self.last_head
        if last is None:
            return
        if last.size > size or compute_root(tree.find_node, last.size) != last.root:
            raise LogDamaged(
                (
                    f"the database was reset to an older state: the log had {last.size} entries, "
                    "and some are missing now"
                ),
                hint="Restore the newest database. Continuing from this one would fork the log.",
            )

    def _sign_head(self, tree: GrowingTree, before: StoredHead, description: int) -> StoredHead:
        """Sign the root of a tree, with the keyring's next signer if the description is new.

        `description` is the position of the log's newest description of itself.

        Raises:
            UsageError: the receipt key for the new head is missing.
        """
        if description != before.description:
            self.signer = self.keyring.next_signer
        if self.signer is None:
            raise UsageError("the log's new receipt key is missing")
        # The time of a head never decreases, even if the clock is set back.
        now = max(int(self.clock()), before.time)
        header = encode_receipt_header(
            self.signer, self.keyring.log_identity, self.keyring.origin, now
        )
        head = sign_tree_head(self.signer, header, tree.size, tree.root())
        return StoredHead(head, now, description)

    def _build_placed_entries(
        self, tree: GrowingTree, positions: Iterable[int], old_size: int
    ) -> list[PlacedEntry]:
        """Return a receipt for each position; entries from position `old_size` on are new.

        If the log has only its own description, receipts are empty.

        Raises:
            LogDamaged: the log has no signed tree head.
        """
        if self.head is None:
            raise LogDamaged("the log has no signed tree head")
        head = self.head.head
        if head.size == 1:  # a client has registered the log's own description
            return [PlacedEntry(position, b"", new=False) for position in positions]
        find_node = cache(tree.find_node)  # paths of neighbouring entries share most of their nodes
        right_edge = compute_right_edge(find_node, head.size)
        return [
            PlacedEntry(
                position,
                head.inclusion(
                    position, build_inclusion_path(find_node, right_edge, position, head.size)
                ),
                position >= old_size,
            )
            for position in positions
        ]

    def _forget_tree(self) -> None:
        """Drop the tree in memory, so that it is read again before the next batch."""
        self.head = self.tree = None

    def _reopen_storage(self) -> None:
        """Open the storage again: after an error, the state of the connection is unknown."""
        self.storage.close()
        with suppress(StorageFailed):
            self.storage = self.open_storage()


def _read_head(reader: LogReader) -> StoredHead:
    """Return the current head; raise UsageError if the database does not contain a log."""
    head = reader.head()
    if head is None:
        raise UsageError(
            "the database does not contain a log", hint="To create a log: vacr log init FOLDER"
        )
    return head


# --- Reading ---


class TileCache:
    """Looks up tiles in a storage, and keeps some full tiles in memory: they never change."""

    def __init__(self, reader: LogReader) -> None:
        """Start with an empty cache."""
        self.reader = reader
        self.cached: dict[tuple[int, int], Tile] = {}

    def __call__(self, level: int, number: int) -> Tile:
        """Return a tile, by level and number.

        Raises:
            LogDamaged: it is missing or truncated.
        """
        tile = self.cached.get((level, number))
        if tile is None:
            hashes = self.reader.tile(level, number)
            if hashes is None or len(hashes) % HASH_SIZE:
                raise LogDamaged(f"tile {level}/{number} is missing or truncated")
            tile = Tile(hashes)
            self.keep({(level, number): tile})
        return tile

    def keep(self, tiles: dict[tuple[int, int], Tile]) -> None:
        """Keep the full ones of these stored tiles, so that they are not read and hashed again."""
        for place, tile in tiles.items():
            if tile.is_full:
                if len(self.cached) >= _MAX_CACHED_TILES:
                    oldest = next(iter(self.cached))
                    self.cached.pop(oldest)
                self.cached[place] = tile


def find_leaf_positions(
    reader: LogReader, find_node: NodeLookup, leaves: Sequence[bytes]
) -> dict[bytes, int]:
    """Return the position of each leaf hash that is in the log; omit the others.

    `find_node` looks up hashes in the log's tree.
    """
    wanted = set(leaves)
    prefixes = list({compute_index_prefix(leaf) for leaf in wanted})
    # The index has only the beginning of each hash, so the tree decides which candidates match.
    candidates = ((find_node(0, position), position) for _, position in reader.positions(prefixes))
    return {leaf: position for leaf, position in candidates if leaf in wanted}


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of an entry in a tree that is about to be signed."""

    position: int
    is_new: bool
    twin: bytes | None = None
    """The entry at this position, if it is the twin of the submitted one."""


def _find_places(
    reader: LogReader, tree: GrowingTree, entries: Sequence[bytes], leaves: Sequence[bytes]
) -> list[_Place]:
    """Return the places of entries with these leaf hashes, and add the new ones to the tree.

    An entry is not new if the log, or the part of `entries` before it, has it or its twin.
    """
    twins = [build_twin_entry(entry) for entry in entries]
    twin_leaves = [hash_leaf(twin) if twin is not None else b"" for twin in twins]
    positions = find_leaf_positions(reader, tree.find_node, [*leaves, *filter(None, twin_leaves)])
    places = []
    for leaf, twin, twin_leaf in zip(leaves, twins, twin_leaves, strict=True):
        if leaf in positions:
            places.append(_Place(positions[leaf], is_new=False))
        elif twin_leaf in positions:
            places.append(_Place(positions[twin_leaf], is_new=False, twin=twin))
        else:
            positions[leaf] = tree.add(leaf)
            places.append(_Place(positions[leaf], is_new=True))
    return places


class NoReceiptYet(UsageError):  # noqa: N818 - names a state, which ends with the next entry
    """The log has only one entry, whose proof would be empty; RFC 9942 has no form for that."""

    def __init__(self) -> None:
        """Explain when there will be a receipt."""
        message = (
            "the log has only one entry, so its proof would be empty, and RFC 9942 does not define "
            "such a receipt"
        )
        super().__init__(message, hint="The receipt exists once another entry is registered.")


def build_inclusion_receipt(reader: LogReader, position: int) -> bytes | None:
    """Return the receipt of an entry under the current head, or None if there is no such entry.

    Raises:
        NoReceiptYet: it is the only entry.
    """
    stored = reader.head()
    if stored is None or not 0 <= position < stored.head.size:
        return None
    head = stored.head
    if head.size == 1:
        raise NoReceiptYet
    find_node = make_node_lookup(TileCache(reader))
    right_edge = compute_right_edge(find_node, head.size)
    return head.inclusion(
        position, build_inclusion_path(find_node, right_edge, position, head.size)
    )


def build_consistency_receipt(reader: LogReader, keyring: Keyring, older: int, newer: int) -> bytes:
    """Return the receipt that proves that the first `older` of `newer` entries did not change.

    If the log never signed a head of the newer size, because that size was passed within a batch,
    a head is signed now.

    Raises:
        UsageError: the log never had these sizes, or its key is missing.
    """
    last = reader.head()
    if last is None or not 0 < older < newer <= last.head.size:
        size = last.head.size if last is not None else 0
        raise UsageError(
            f"no consistency proof from {older} to {newer}",
            hint=f"The first size must be smaller than the second, which can be at most {size}.",
        )
    find_node = make_node_lookup(TileCache(reader))
    stored = reader.head_until(newer)
    head = stored.head if stored is not None else last.head
    if head.size != newer:
        signer = keyring.load_signer(reader, last)
        header = encode_receipt_header(signer, keyring.log_identity, keyring.origin, last.time)
        head = sign_tree_head(signer, header, newer, compute_root(find_node, newer))
    return head.consistency(older, build_consistency_path(find_node, older, newer))


# --- Sequencing ---


class LogBusy(Unreachable):
    """The queue is full, or the log is shutting down."""


class Sequencer(Generic[Ticket]):
    """A thread that appends entries to a ledger in order of arrival.

    Each entry comes with a ticket, under which its result is delivered.
    """

    def __init__(
        self,
        ledger: Ledger,
        deliver: Callable[[BatchResults[Ticket]], None],
        *,
        waiting: int = MAX_WAITING_ENTRIES,
        linger: float = 0.0,
    ) -> None:
        """Take over a ledger and start the thread, which calls `deliver` after each batch.

        `waiting` is the capacity of the queue; a batch is collected for `linger` seconds.
        """
        self.ledger = ledger
        self.deliver = deliver
        self.capacity = waiting
        self.linger = linger
        self.queue: deque[tuple[bytes, Ticket]] = deque()
        self.changed = threading.Condition()
        self.stopping = False
        self.failure: VacrError | None = None
        """Why the last batch was not appended, or None if it was."""
        self.batches = 0
        self.storage_failures = 0
        """How often the storage failed and was reopened: an early sign of a failing disk."""
        self.thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self.thread.start()

    def submit(self, entry: bytes, ticket: Ticket) -> None:
        """Queue an entry for the next batch; its result is delivered under `ticket`.

        Raises:
            LogBusy: the queue is full, or the log is shutting down.
        """
        with self.changed:
            if self.stopping:
                raise LogBusy(str(self.failure or "the log is shutting down"))
            if len(self.queue) >= self.capacity:
                raise LogBusy("too many entries are waiting")
            self.queue.append((entry, ticket))
            if len(self.queue) == 1:
                self.changed.notify()

    def count_free_places(self) -> int:
        """Return how many more entries the queue can take."""
        return self.capacity - len(self.queue)

    def close(self) -> None:
        """Append the entries that still wait, end the thread and close the ledger."""
        with self.changed:
            self.stopping = True
            self.changed.notify()
        self.thread.join()
        self.ledger.close()

    def _run(self) -> None:
        """Append batches and deliver their results until `close` is called."""
        try:
            while (batch := self._take_batch()) or not self.stopping:
                # After a failure this also runs without entries: clients may wait for the log to
                # report that it is healthy before they send any.
                results = self._append([entry for entry, _ in batch])
                if batch:
                    tickets = [ticket for _, ticket in batch]
                    self.deliver(list(zip(tickets, results, strict=True)))
        except Exception as error:  # noqa: BLE001 - waiting callers need an answer after any error
            self._give_up(error)

    def _take_batch(self) -> list[tuple[bytes, Ticket]]:
        """Wait for entries and return them; empty when it is time to stop or to probe the log."""
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
        """Append a batch, and return the place of each entry, or the same error for all."""
        try:
            placed = self._append_with_retry(entries)
        except VacrError as error:
            return [self._record_failure(error)] * len(entries)
        except Exception as error:  # noqa: BLE001 - waiting callers need an answer after any error
            bug = Unreachable(
                f"a bug in vacr: {type(error).__name__}: {error}", hint="Please report this bug."
            )
            return [self._record_failure(bug)] * len(entries)
        if self.failure is not None:
            _log.warning("the log accepts entries again")
        self.failure = None
        self.batches += bool(entries)
        return placed

    def _append_with_retry(self, entries: Sequence[bytes]) -> list[PlacedEntry]:
        """Append a batch, with a second attempt after a pause if the storage fails."""
        try:
            return self.ledger.append(entries)
        except StorageFailed as error:
            self.storage_failures += 1
            time.sleep(_RETRY_PAUSE_SECONDS)
            placed = self.ledger.append(entries)
            _log.warning(
                "the database failed and was reopened; all entries are safe: %s",
                error.diagnostics(),
            )
            return placed

    def _record_failure(self, error: VacrError) -> VacrError:
        """Set `failure`, write a warning unless it is the same as before, and return the error."""
        if self.failure is None or str(self.failure) != str(error):
            _log.warning("the log cannot accept entries: %s", error.diagnostics())
        self.failure = error
        return error

    def _give_up(self, error: Exception) -> None:
        """Refuse all waiting and future entries, because the thread that appends them ends."""
        failure = Unreachable(
            f"the log cannot accept entries until it is restarted: {type(error).__name__}: {error}"
        )
        with self.changed:
            self.stopping, self.failure = True, failure
            tickets = [ticket for _, ticket in self.queue]
            self.queue.clear()
        with suppress(Exception):
            self.deliver([(ticket, failure) for ticket in tickets])

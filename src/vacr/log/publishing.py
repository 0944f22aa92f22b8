"""Publish a log as static files: tiles, then a checkpoint over them, cosigned by witnesses.

Receipts prove single entries. For everybody else, a log publishes its tree as tiles with a signed
checkpoint, by C2SP tlog-tiles and tlog-checkpoint, so that any web server can serve it and any
monitor can read it. A thread publishes after batches are committed, never before; batches that are
committed meanwhile are published together. The files can be rebuilt from the database at any time.

    >>> from vacr.log import Publisher, ReaderPool, create_log
    >>> folder = create_log("mylog", origin="log.example.org/agents")
    >>> readers = ReaderPool(folder.reader)
    >>> publisher = Publisher(readers, folder.keyring, folder.public, pause=0)
    >>> publisher.start(); publisher.close(); readers.close()
    >>> publisher.note.decode().splitlines()[:2]
    ['log.example.org/agents', '1']
    >>> sorted(str(path.relative_to(folder.public)) for path in folder.public.rglob("000.p/*"))
    ['tile/0/000.p/1', 'tile/entries/000.p/1']

Witnesses cosign checkpoints (see `vacr.log.cosigning`). A checkpoint stays published until they
have answered, two seconds at most, and a cosigned one stays for a second: in a busy log, nobody
could fetch one otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from vacr.errors import VacrError
from vacr.files import hold_file_lock, make_durable_folder, write_durable_file
from vacr.log.cosigning import FIRST_WITNESS_PAUSE, CosignatureRequester, WitnessAddress
from vacr.log.fork import ForkGuard
from vacr.log.keyring import Keyring
from vacr.log.storage import LogDamaged, LogReader, LogStorage, StorageFailed, StoredHead
from vacr.transparency import (
    HASH_SIZE,
    TILE_HEIGHT,
    TILE_WIDTH,
    Checkpoint,
    encode_entry_bundle,
    format_tile_path,
    parse_checkpoint,
    parse_signed_note,
    sign_checkpoint,
)

ENTRIES_LEVEL = "entries"
"""The name that entry bundles have in the place of a tile's level."""
_MAX_HOLD_SECONDS = 2.0
"""How long a checkpoint waits for its cosignatures before a newer one replaces it."""
_COSIGNED_SECONDS = 1.0
"""How long a checkpoint stays published after its last cosignature."""
_HOLD_CHECK_SECONDS = 0.1
_MIN_PUBLISH_PAUSE = 0.2
_PUBLISH_INTERVAL = 2.0
_LOCK_WAIT_SECONDS = 60.0
_READER_THREADS = 4
_log = logging.getLogger("vacr.log")

ReadResult = TypeVar("ReadResult")


# --- The publisher ---


@dataclass
class Publisher:
    """A thread that publishes a log's tiles and checkpoints, and has witnesses cosign them."""

    readers: ReaderPool
    keyring: Keyring
    folder: Path | None = None
    """Where to write the files, or None if the log is only served from its database."""
    witnesses: Sequence[WitnessAddress] = ()
    note: bytes = b""
    """The last published checkpoint, with its cosignatures."""
    size: int = 0
    """The tree size of that checkpoint."""
    failure: VacrError | None = None
    """Why the last publication failed, or None if it did not."""
    signed_note: bytes = b""
    """The last published checkpoint, without cosignatures."""
    pause: float = _MIN_PUBLISH_PAUSE
    """Minimal number of seconds between two publications."""
    interval: float | None = _PUBLISH_INTERVAL
    """Seconds after which to look for new entries, even if none were reported."""
    first_witness_pause: float = FIRST_WITNESS_PAUSE
    guard: ForkGuard | None = None
    """Learns of forks that witnesses prove."""
    witnessed: Path | None = None
    """Where to keep the last checkpoint that each witness cosigned, or None to keep none."""
    changed_at: float = field(default=-math.inf, init=False)
    """When the published checkpoint changed last, by the monotonic clock."""
    is_held: bool = field(default=False, init=False)
    """Whether a newer tree waits until the present checkpoint is cosigned."""

    def __post_init__(self) -> None:
        """Create the threads."""
        self.due = threading.Event()
        """Set when there is something to publish."""
        self.requesters = [
            CosignatureRequester(
                witness,
                self.readers,
                self.due.set,
                first_pause=self.first_witness_pause,
                guard=self.guard,
                folder=self.witnessed,
            )
            for witness in self.witnesses
        ]
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        """Publish the present state of the log, then every new one."""
        for requester in self.requesters:
            requester.start()
        self.due.set()
        self.thread.start()

    def close(self) -> None:
        """Publish everything that is committed, and stop."""
        for requester in self.requesters:
            requester.close()
        self.stopping.set()
        self.due.set()
        self.thread.join()

    def _run(self) -> None:
        """Publish whenever `due` is set or `interval` is over, until `close` is called."""
        while True:
            # The wait ends by itself to retry after failures, and to find what other processes have
            # appended.
            self.due.wait(_HOLD_CHECK_SECONDS if self.is_held else self.interval)
            self.due.clear()
            self._try_publish()
            if self.stopping.wait(self.pause):
                break
        self._try_publish()  # the entries that were committed or held back meanwhile

    def _try_publish(self) -> None:
        """Publish, and keep the failure if that is not possible."""
        try:
            self._publish_exclusively()
            self.failure = None
        except VacrError as error:
            self._record_failure(error)
        except Exception as error:  # noqa: BLE001 - the thread must survive to try again
            self._record_failure(VacrError(f"a bug in vacr: {type(error).__name__}: {error}"))

    def _record_failure(self, error: VacrError) -> None:
        """Set `failure`, and write a warning unless it is the same as before."""
        if self.failure is None or str(self.failure) != str(error):
            _log.warning("cannot publish the log: %s", error.diagnostics())
        self.failure = error

    def _publish_exclusively(self) -> None:
        """Publish while no other process does, so that a checkpoint never replaces a newer one.

        The folder is created if necessary. Without a folder, there is no lock.

        Raises:
            TimeoutError: another process has held the lock for 60 seconds.
        """
        if self.folder is None:
            self.readers.read_here(self._publish)
            return
        make_durable_folder(self.folder, self.folder.parent)
        with hold_file_lock(self.folder / ".lock", _LOCK_WAIT_SECONDS):
            self.readers.read_here(self._publish)

    def _publish(self, reader: LogReader) -> None:
        """Publish the current tree under the log's own signature, or new cosignatures for it.

        The log does not wait for witnesses: cosignatures are published when they arrive. An empty
        log is not published.

        Raises:
            LogDamaged: the log has fewer entries than were already published.
        """
        head = reader.head()
        if head is None:
            return
        size = head.head.size
        if size < self.size:
            raise LogDamaged(f"the log has {size} entries, but {self.size} were already published")
        self.is_held = size > self.size and self._holds_checkpoint()
        if self.is_held:
            size = self.size
        signed_note = self._publish_tree(reader, head) if size > self.size else self.signed_note
        note = self._add_cosignatures(signed_note)
        if note == self.note:
            return
        if self.folder is not None:
            write_durable_file(self.folder / "checkpoint", note)
        self.note, self.signed_note, self.size = note, signed_note, size
        self.changed_at = time.monotonic()
        for requester in self.requesters:
            requester.request(signed_note, size)

    def _add_cosignatures(self, signed_note: bytes) -> bytes:
        """Return a signed checkpoint with the cosignatures that have arrived for it."""
        lines = [requester.get_lines(signed_note) for requester in self.requesters]
        return signed_note + b"".join(lines)

    def _holds_checkpoint(self) -> bool:
        """Return whether the published checkpoint must stay for now, so that it can be cosigned.

        A witness that was too late once is not waited for until it has cosigned again.
        """
        if self.stopping.is_set() or not self.requesters:
            return False
        age = time.monotonic() - self.changed_at
        awaited = [requester for requester in self.requesters if requester.is_awaited]
        if awaited and age < _MAX_HOLD_SECONDS:
            return True
        for requester in awaited:
            requester.is_late = True
        if self._add_cosignatures(self.signed_note) != self.note:
            return True  # All witnesses may answer before the publisher looks: publish that first.
        is_cosigned = self.note != self.signed_note
        return is_cosigned and age < _COSIGNED_SECONDS

    def _publish_tree(self, reader: LogReader, head: StoredHead) -> bytes:
        """Write the new tiles, if there is a folder, and return the signed checkpoint over them."""
        size = head.head.size
        self.keyring.load_identity(reader)
        if self.folder is not None:
            self._write_tiles(reader, self.folder, size)
        signed_note = sign_checkpoint(
            Checkpoint(self.keyring.origin, size, head.head.root),
            self.keyring.load_checkpoint_key(reader, head),
        )
        is_first = not self.size
        if is_first and self.folder is not None and self.requesters:
            self._restore_cosignatures(signed_note, self.folder / "checkpoint")
        return signed_note

    def _restore_cosignatures(self, signed_note: bytes, path: Path) -> None:
        """Reuse the cosignatures in the published checkpoint at `path`, if it is the same one."""
        published = path.read_bytes() if path.is_file() else b""
        for requester in self.requesters:
            requester.restore(signed_note, published)

    def _write_tiles(self, reader: LogReader, folder: Path, size: int) -> None:
        """Write the tiles that the next checkpoint needs, before the checkpoint itself.

        A new tile that exists already comes from a publication that failed and may not have reached
        the disk, so it is written again. At start-up, missing older tiles are written as well:
        somebody may have restored a checkpoint without its tiles.
        """
        old_size = self.size or read_published_size(folder)
        older = () if self.size else list_changed_tiles(reader, 0, old_size)
        missing = ((name, read) for name, read in older if not (folder / "tile" / name).is_file())
        for name, read in chain(missing, list_changed_tiles(reader, old_size, size)):
            path = folder / "tile" / name
            make_durable_folder(path.parent, folder)
            write_durable_file(path, read())


# --- Tiles ---


def list_changed_tiles(
    reader: LogReader, old_size: int, size: int
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield the path of every tile and bundle that differs between trees of two sizes.

    With each path, such as `0/000.p/5` or `entries/000.p/5`, comes a function that reads its bytes
    from the log.
    """
    level, old_width, width = 0, old_size, size
    while width:
        for number in range(old_width // TILE_WIDTH, (width + TILE_WIDTH - 1) // TILE_WIDTH):
            tile_width = min(TILE_WIDTH, width - number * TILE_WIDTH)
            path = format_tile_path(number, tile_width)
            yield f"{level}/{path}", partial(read_tile_bytes, reader, level, number, tile_width)
            if level == 0:
                read_bundle = partial(read_bundle_bytes, reader, number, tile_width)
                yield f"{ENTRIES_LEVEL}/{path}", read_bundle
        level, old_width, width = level + 1, old_width >> TILE_HEIGHT, width >> TILE_HEIGHT


def read_tile_bytes(reader: LogReader, level: int, number: int, width: int) -> bytes:
    """Return the first `width` hashes of a tile, concatenated.

    Raises:
        LogDamaged: it has fewer.
    """
    hashes = reader.tile(level, number) or b""
    if len(hashes) < width * HASH_SIZE:
        raise LogDamaged(f"tile {level}/{number} has fewer than {width} hashes")
    return hashes[: width * HASH_SIZE]


def read_bundle_bytes(reader: LogReader, number: int, width: int) -> bytes:
    """Return the first `width` entries of a bundle, encoded.

    Raises:
        LogDamaged: there are fewer.
    """
    first = number * TILE_WIDTH
    entries = reader.entries(first, first + width)
    if len(entries) != width:
        raise LogDamaged(f"entries between {first} and {first + width - 1} are missing")
    return encode_entry_bundle(entries)


def read_published_size(folder: Path) -> int:
    """Return the tree size of the checkpoint in a folder, or 0 without a readable one."""
    try:
        note = parse_signed_note((folder / "checkpoint").read_bytes())
        return parse_checkpoint(note.text).size
    except (OSError, VacrError):
        return 0


# --- Reading while the log is written ---


class ReaderPool:
    """A few threads that read a log, each with its own connection.

    A connection is opened when its thread first needs it, and again after it has failed.
    """

    def __init__(self, open_storage: Callable[[], LogStorage]) -> None:
        """Create the threads; connections are opened later."""
        self.open_storage = open_storage
        self.pool = ThreadPoolExecutor(_READER_THREADS, "reader")
        self.local = threading.local()
        self.open_storages: set[LogStorage] = set()
        self.failures = 0
        """How often a first attempt to read failed."""

    async def read(self, work: Callable[[LogReader], ReadResult]) -> ReadResult:
        """Call `work` with a reader in one of the pool's threads, and return its result.

        If the storage fails, `work` is called once more with a new connection.

        Raises:
            StorageFailed: the log cannot be read, even with a new connection.
        """
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.read_here, work)

    def read_here(self, work: Callable[[LogReader], ReadResult]) -> ReadResult:
        """Call `work` with a reader in the calling thread, and return its result.

        If the storage fails, `work` is called once more with a new connection.

        Raises:
            StorageFailed: the log cannot be read, even with a new connection.
        """
        try:
            return work(self._get_reader())
        except StorageFailed as error:
            self.failures += 1
            self._close_reader()
            result = work(self._get_reader())
            _log.warning("reading the database failed, so it was reopened: %s", error.diagnostics())
            return result

    def close(self) -> None:
        """End the threads and close their connections."""
        self.pool.shutdown(wait=True, cancel_futures=True)
        while self.open_storages:
            self.open_storages.pop().close()

    def _get_reader(self) -> LogReader:
        """Return the connection of this thread; open it if necessary."""
        storage: LogStorage | None = getattr(self.local, "storage", None)
        if storage is None:
            storage = self.local.storage = self.open_storage()
            self.open_storages.add(storage)
        return storage

    def _close_reader(self) -> None:
        """Close the connection of this thread, if it is open."""
        storage: LogStorage | None = getattr(self.local, "storage", None)
        if storage is not None:
            self.local.storage = None
            self.open_storages.discard(storage)
            storage.close()

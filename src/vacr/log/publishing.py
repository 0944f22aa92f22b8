"""Reading a log while it is written: connections of their own, in threads of their own. Step:
register.

Asking witnesses to cosign what was published. Step: register. Follows C2SP tlog-witness, as a
client.

Each witness has a thread of its own: one that never answers holds back neither the log nor the
others. Whoever has not cosigned the last checkpoint is asked again, after pauses that grow, until
they have or there is a newer one.

What a log publishes beside receipts: tiles, then a checkpoint over them, with the cosignatures
of witnesses. Step: register.

Follows C2SP tlog-tiles, tlog-checkpoint and tlog-witness. A thread does it after batches are
committed, and never before: several batches that are committed meanwhile are published at once.
Tiles are also written as files, if there is a folder for them, so that any web server can serve
them; they can be made again from the database at any time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from vacr.errors import VacrError
from vacr.files import hold_file_lock, make_durable_folder, write_durable_file
from vacr.log.keyring import Keyring
from vacr.log.ledger import TileCache
from vacr.log.storage import LogDamaged, LogReader, LogStorage, StorageFailed
from vacr.log.witness import WitnessSizeDiffers, request_cosignature, verify_cosignature_lines
from vacr.transparency import (
    HASH_SIZE,
    TILE_HEIGHT,
    TILE_WIDTH,
    Checkpoint,
    VerifierKey,
    build_consistency_path,
    encode_entry_bundle,
    format_tile_path,
    make_node_lookup,
    parse_checkpoint,
    parse_signed_note,
    sign_checkpoint,
)

ReadResult = TypeVar("ReadResult")
_READER_THREADS = 4
_reader_log = logging.getLogger("vacr.log")


class ReaderPool:
    """Some threads that read, each with a connection that is opened when it is needed, and again
    after it failed.
    """

    def __init__(self, open_storage: Callable[[], LogStorage]) -> None:
        """Read from a storage."""
        self.open_storage = open_storage
        self.pool = ThreadPoolExecutor(_READER_THREADS, "reader")
        self.own = threading.local()
        self.opened: set[LogStorage] = set()
        self.failures = 0
        """How often something could not be read the first time."""

    async def read(self, work: Callable[[LogReader], ReadResult]) -> ReadResult:
        """Do some reading in one of the threads.

        Raises:
            StorageFailed: it cannot be read.
        """
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.now, work)

    def now(self, work: Callable[[LogReader], ReadResult]) -> ReadResult:
        """Do some reading in this thread.

        Raises:
            StorageFailed: it cannot be read.
        """
        try:
            return work(self._reader())
        except StorageFailed as error:
            self.failures += 1
            self._drop()  # a connection that was lost is lost: the next one may do
            found = work(self._reader())
            _reader_log.warning(
                "the database could not be read and was opened again: %s", error.diagnostics()
            )
            return found

    def _reader(self) -> LogReader:
        found: LogStorage | None = getattr(self.own, "reader", None)
        if found is None:
            found = self.own.reader = self.open_storage()
            self.opened.add(found)
        return found

    def _drop(self) -> None:
        found: LogStorage | None = getattr(self.own, "reader", None)
        if found is not None:
            self.own.reader = None
            self.opened.discard(found)
            found.close()

    def close(self) -> None:
        """End the threads, and close what they opened."""
        self.pool.shutdown(wait=True, cancel_futures=True)
        while self.opened:
            self.opened.pop().close()


FIRST_WITNESS_PAUSE = 2.0
"""How many seconds to wait before a witness is asked for the same checkpoint again; the next time
twice as long.
"""
_MAX_WITNESS_PAUSE = 300.0
_witness_log = logging.getLogger("vacr.log")


@dataclass(frozen=True, slots=True)
class WitnessAddress:
    """Somebody who cosigns checkpoints."""

    url: str
    key: VerifierKey


class CosignatureRequester:
    """One witness, who is asked until they have cosigned the last checkpoint."""

    def __init__(
        self,
        witness: WitnessAddress,
        readers: ReaderPool,
        cosigned: Callable[[], None],
        *,
        first_pause: float = FIRST_WITNESS_PAUSE,
    ) -> None:
        """Take a witness, and what to call when they have cosigned."""
        self.witness = witness
        self.readers = readers
        self.cosigned = cosigned
        self.first_pause = first_pause
        self.wanted = (b"", 0)
        """The checkpoint to be cosigned, as the log has signed it, and its size."""
        self.given = (b"", b"")
        """The last one that was, with the lines of the witness."""
        self.seen = 0
        self.failure: VacrError | None = None
        self.due = threading.Event()
        self.stopping = False
        self.thread = threading.Thread(
            target=self._run, name=f"witness {witness.key.name}", daemon=True
        )

    def start(self) -> None:
        """Begin to ask."""
        self.thread.start()

    def close(self) -> None:
        """Ask no more; nobody waits for an answer that may never come."""
        self.stopping = True
        self.due.set()

    def ask(self, note: bytes, size: int) -> None:
        """Have a checkpoint cosigned, in the place of an older one."""
        if note != self.wanted[0]:
            self.wanted = (note, size)
            self.due.set()

    def remember(self, note: bytes, published: bytes) -> None:
        """Take over what the witness has cosigned, if a checkpoint was published with it before
        this process began.
        """
        if published.startswith(note):
            with suppress(VacrError):
                self.given = (
                    note,
                    verify_cosignature_lines(note, published.removeprefix(note), self.witness.key),
                )

    def lines(self, note: bytes) -> bytes:
        """Give the lines of the witness for a checkpoint; nothing as long as there are none."""
        signed, found = self.given
        return found if signed == note else b""

    @property
    def missing(self) -> bool:
        """Whether the last checkpoint is not cosigned."""
        return self.given[0] != self.wanted[0]

    def _run(self) -> None:
        pause = self.first_pause
        while not self.stopping:
            anew = self.due.wait(pause if self.missing else None)
            self.due.clear()
            pause = self.first_pause if anew else min(2 * pause, _MAX_WITNESS_PAUSE)
            if self.missing and not self.stopping:
                self._try()

    def _try(self) -> None:
        note, size = self.wanted
        try:
            lines = self._cosign(note, size)
        except VacrError as error:
            self._failed(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next time it may be better
            self._failed(VacrError(f"{type(error).__name__}: {error}"))
        else:
            if self.failure is not None:
                _witness_log.warning("cosigned again by %s", self.witness.key.name)
            self.failure = None
            self.given = (note, lines)
            self.cosigned()

    def _failed(self, error: VacrError) -> None:
        if not self.stopping and (self.failure is None or str(self.failure) != str(error)):
            _witness_log.warning("not cosigned by %s: %s", self.witness.key.name, error)
        self.failure = error

    def _cosign(self, note: bytes, size: int) -> bytes:
        try:
            lines = self._from(self.seen, note, size)
        except WitnessSizeDiffers as other:
            if other.size > size:
                raise
            lines = self._from(other.size, note, size)
        self.seen = size
        return lines

    def _from(self, old: int, note: bytes, size: int) -> bytes:
        proof = self.readers.now(
            lambda reading: build_consistency_path(make_node_lookup(TileCache(reading)), old, size)
        )
        return request_cosignature(note, old, proof, self.witness.url, self.witness.key)


ENTRIES_LEVEL = "entries"
_MIN_PUBLISH_PAUSE, _PUBLISH_INTERVAL, _LOCK_WAIT_SECONDS = 0.2, 2.0, 60.0
_publisher_log = logging.getLogger("vacr.log")


@dataclass
class Publisher:
    """Publishes a log."""

    readers: ReaderPool
    keyring: Keyring
    folder: Path | None = None
    witnesses: Sequence[WitnessAddress] = ()
    note: bytes = b""
    """The last checkpoint that was published."""
    size: int = 0
    failure: VacrError | None = None
    signed: bytes = b""
    """The same without cosignatures."""
    pause: float = _MIN_PUBLISH_PAUSE
    """How many seconds are between two publications, at least."""
    again: float | None = _PUBLISH_INTERVAL
    """After how many seconds to look whether there is something to publish."""
    ask_again: float = FIRST_WITNESS_PAUSE
    """After how many seconds to ask a witness again who has not cosigned."""

    def __post_init__(self) -> None:
        """Make the threads."""
        self.due = threading.Event()
        self.asked = [
            CosignatureRequester(one, self.readers, self.due.set, first_pause=self.ask_again)
            for one in self.witnesses
        ]
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        """Publish what there is, then what comes."""
        for one in self.asked:
            one.start()
        self.due.set()
        self.thread.start()

    def close(self) -> None:
        """Publish what is committed, and end."""
        for one in self.asked:
            one.close()
        self.stopping.set()
        self.due.set()
        self.thread.join()

    def _run(self) -> None:
        while True:
            # Also unasked, for what failed and for what other processes have added.
            self.due.wait(self.again)
            self.due.clear()
            try:
                self._publish_alone()
                self.failure = None
            except VacrError as error:
                self._failed(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next time it may be better
                self._failed(VacrError(f"{type(error).__name__}: {error}"))
            if self.stopping.wait(self.pause):
                return

    def _publish_alone(self) -> None:
        """Publish, one process after the other where several use the folder: a checkpoint never
        replaces a newer one.
        """
        if self.folder is None:
            self.readers.now(self._publish)
            return
        make_durable_folder(self.folder, self.folder.parent)
        with hold_file_lock(self.folder / ".lock", _LOCK_WAIT_SECONDS):
            self.readers.now(self._publish)

    def _failed(self, error: VacrError) -> None:
        if self.failure is None or str(self.failure) != str(error):
            _publisher_log.warning("not published: %s", error.diagnostics())
        self.failure = error

    def _publish(self, reading: LogReader) -> None:
        """Publish by the log's own key first, and again when witnesses have cosigned: nothing waits
        for them.
        """
        head = reading.head()
        if head is None:
            return
        size = head.head.size
        if size < self.size:
            raise LogDamaged(f"{self.size} entries were published, and the log has {size}")
        signed = self.signed
        if size > self.size:
            self.keyring.learn(reading)
            if self.folder is not None:
                self._write_tiles(reading, self.folder, size)
            signed = sign_checkpoint(
                Checkpoint(self.keyring.origin, size, head.head.root),
                self.keyring.checkpoint_key(reading, head),
            )
            if not self.size and self.folder is not None and self.asked:
                self._remember(signed, self.folder / "checkpoint")
        note = signed + b"".join(one.lines(signed) for one in self.asked)
        if note == self.note:
            return
        if self.folder is not None:
            write_durable_file(self.folder / "checkpoint", note)
        self.note, self.signed, self.size = note, signed, size
        for one in self.asked:
            one.ask(signed, size)

    def _remember(self, signed: bytes, path: Path) -> None:
        """Keep the cosignatures that a process before this one got for the same checkpoint."""
        published = path.read_bytes() if path.is_file() else b""
        for one in self.asked:
            one.remember(signed, published)

    # --- files ---

    def _write_tiles(self, reading: LogReader, folder: Path, size: int) -> None:
        """Write the tiles that are new since the last checkpoint: what the next one needs is there
        before it is.

        One that is there already is from a publication that failed, and perhaps not on the disk: it
        is written again. When the process starts, so are those of before that are missing: a
        checkpoint may have been put here without them.
        """
        old = self.size or read_published_size(folder)
        before = () if self.size else list_changed_tiles(reading, 0, old)
        missing = ((name, data) for name, data in before if not (folder / "tile" / name).is_file())
        for name, data in chain(missing, list_changed_tiles(reading, old, size)):
            path = folder / "tile" / name
            make_durable_folder(path.parent, folder)
            write_durable_file(path, data())


def list_changed_tiles(
    reading: LogReader, old: int, size: int
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Name the tiles of a tree that one of an older size did not have, each with how to get it."""
    level, old_width, width = 0, old, size
    while width:
        for number in range(old_width // TILE_WIDTH, (width + TILE_WIDTH - 1) // TILE_WIDTH):
            wide = min(TILE_WIDTH, width - number * TILE_WIDTH)
            name = format_tile_path(number, wide)
            yield f"{level}/{name}", partial(read_tile_bytes, reading, level, number, wide)
            if level == 0:
                yield (
                    f"{ENTRIES_LEVEL}/{name}",
                    partial(read_bundle_bytes, reading, number, wide),
                )
        level, old_width, width = level + 1, old_width >> TILE_HEIGHT, width >> TILE_HEIGHT


def read_tile_bytes(reading: LogReader, level: int, number: int, width: int) -> bytes:
    """Give the hashes of a tile.

    Raises:
        Damaged: it does not have so many.
    """
    found = reading.tile(level, number) or b""
    if len(found) < width * HASH_SIZE:
        raise LogDamaged(f"tile {level}/{number} has no {width} hashes")
    return found[: width * HASH_SIZE]


def read_bundle_bytes(reading: LogReader, number: int, width: int) -> bytes:
    """Give the entries under a tile.

    Raises:
        Damaged: there are not so many.
    """
    found = reading.entries(number * TILE_WIDTH, number * TILE_WIDTH + width)
    if len(found) != width:
        raise LogDamaged(f"entries from {number * TILE_WIDTH} on are missing")
    return encode_entry_bundle(found)


def read_published_size(folder: Path) -> int:
    """Give the size of the tree that a folder of tiles was last published for; nothing
    there is 0.
    """
    try:
        return parse_checkpoint(parse_signed_note((folder / "checkpoint").read_bytes()).text).size
    except (OSError, VacrError):
        return 0

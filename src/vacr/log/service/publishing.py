"""What a log publishes beside receipts: tiles, then a checkpoint over them, with the cosignatures
of witnesses. Step: register.

Follows C2SP tlog-tiles, tlog-checkpoint and tlog-witness. A thread does it after batches are
committed, and never before: several batches that are committed meanwhile are published at once.
Tiles are also written as files, if there is a folder for them, so that any web server can serve
them; they can be made again from the database at any time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from vacr.errors import VacrError
from vacr.log import durable
from vacr.log.keyring import Keyring
from vacr.log.locks import held
from vacr.log.service.reading import Readers
from vacr.log.service.witnessing import FIRST_PAUSE, Asking, Witness
from vacr.log.storage import Damaged, Reading
from vacr.receipts import bundles, checkpoint, notes, tree
from vacr.receipts.checkpoint import Checkpoint
from vacr.receipts.tiles import HEIGHT, WIDTH, path_of

ENTRIES = "entries"
_PAUSE, _AGAIN, _WAIT = 0.2, 2.0, 60.0
_log = logging.getLogger("vacr.log")


@dataclass
class Publisher:
    """Publishes a log."""

    readers: Readers
    keyring: Keyring
    folder: Path | None = None
    witnesses: Sequence[Witness] = ()
    note: bytes = b""
    """The last checkpoint that was published."""
    size: int = 0
    failure: VacrError | None = None
    signed: bytes = b""
    """The same without cosignatures."""
    pause: float = _PAUSE
    """How many seconds are between two publications, at least."""
    again: float | None = _AGAIN
    """After how many seconds to look whether there is something to publish."""
    ask_again: float = FIRST_PAUSE
    """After how many seconds to ask a witness again who has not cosigned."""

    def __post_init__(self) -> None:
        """Make the threads."""
        self.due = threading.Event()
        self.asked = [
            Asking(one, self.readers, self.due.set, first_pause=self.ask_again)
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
        durable.make_folder(self.folder, self.folder.parent)
        with held(self.folder / ".lock", _WAIT):
            self.readers.now(self._publish)

    def _failed(self, error: VacrError) -> None:
        if self.failure is None or str(self.failure) != str(error):
            _log.warning("not published: %s", error.diagnostics())
        self.failure = error

    def _publish(self, reading: Reading) -> None:
        """Publish by the log's own key first, and again when witnesses have cosigned: nothing waits
        for them.
        """
        head = reading.head()
        if head is None:
            return
        size = head.head.size
        if size < self.size:
            raise Damaged(f"{self.size} entries were published, and the log has {size}")
        signed = self.signed
        if size > self.size:
            self.keyring.learn(reading)
            if self.folder is not None:
                self._write_tiles(reading, self.folder, size)
            signed = checkpoint.sign_checkpoint(
                Checkpoint(self.keyring.origin, size, head.head.root),
                self.keyring.checkpoint_key(reading, head),
            )
            if not self.size and self.folder is not None and self.asked:
                self._remember(signed, self.folder / "checkpoint")
        note = signed + b"".join(one.lines(signed) for one in self.asked)
        if note == self.note:
            return
        if self.folder is not None:
            durable.write(self.folder / "checkpoint", note)
        self.note, self.signed, self.size = note, signed, size
        for one in self.asked:
            one.ask(signed, size)

    def _remember(self, signed: bytes, path: Path) -> None:
        """Keep the cosignatures that a process before this one got for the same checkpoint."""
        published = path.read_bytes() if path.is_file() else b""
        for one in self.asked:
            one.remember(signed, published)

    # --- files ---

    def _write_tiles(self, reading: Reading, folder: Path, size: int) -> None:
        """Write the tiles that are new since the last checkpoint: what the next one needs is there
        before it is.

        One that is there already is from a publication that failed, and perhaps not on the disk: it
        is written again. When the process starts, so are those of before that are missing: a
        checkpoint may have been put here without them.
        """
        old = self.size or published_size(folder)
        before = () if self.size else changed(reading, 0, old)
        missing = ((name, data) for name, data in before if not (folder / "tile" / name).is_file())
        for name, data in chain(missing, changed(reading, old, size)):
            path = folder / "tile" / name
            durable.make_folder(path.parent, folder)
            durable.write(path, data())


def changed(reading: Reading, old: int, size: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Name the tiles of a tree that one of an older size did not have, each with how to get it."""
    level, old_width, width = 0, old, size
    while width:
        for number in range(old_width // WIDTH, (width + WIDTH - 1) // WIDTH):
            wide = min(WIDTH, width - number * WIDTH)
            name = path_of(number, wide)
            yield f"{level}/{name}", lambda at=(level, number, wide): tile_bytes(reading, *at)  # type: ignore[misc]
            if level == 0:
                yield f"{ENTRIES}/{name}", lambda at=(number, wide): bundle_bytes(reading, *at)  # type: ignore[misc]
        level, old_width, width = level + 1, old_width >> HEIGHT, width >> HEIGHT


def tile_bytes(reading: Reading, level: int, number: int, width: int) -> bytes:
    """Give the hashes of a tile.

    Raises:
        Damaged: it does not have so many.
    """
    found = reading.tile(level, number) or b""
    if len(found) < width * tree.HASH_SIZE:
        raise Damaged(f"tile {level}/{number} has no {width} hashes")
    return found[: width * tree.HASH_SIZE]


def bundle_bytes(reading: Reading, number: int, width: int) -> bytes:
    """Give the entries under a tile.

    Raises:
        Damaged: there are not so many.
    """
    found = reading.entries(number * WIDTH, number * WIDTH + width)
    if len(found) != width:
        raise Damaged(f"entries from {number * WIDTH} on are missing")
    return bundles.encode(found)


def published_size(folder: Path) -> int:
    """Give the size of the tree that a folder of tiles was last published for; nothing
    there is 0.
    """
    try:
        return checkpoint.read_text(notes.parse((folder / "checkpoint").read_bytes()).text).size
    except (OSError, VacrError):
        return 0

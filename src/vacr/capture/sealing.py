"""Sessions that have ended are sealed from what the journal first saw of them, beside the capture, one at a time."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from vacr.capture.frames import Head
from vacr.capture.history import first_seen
from vacr.capture.journal import Journal, path_of
from vacr.capture.places import Place
from vacr.errors import VacrError


@dataclass(frozen=True, slots=True)
class ToSeal:
    """A session up to a head of its journal."""

    place: Place
    journal: str
    head: Head


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """A record that was sealed: whose, and the digests of its bytes and of its statement's."""

    journal: str
    record: bytes
    statement: bytes
    path: Path


@dataclass(frozen=True, slots=True)
class Copy:
    """A session as it was first seen, in a folder where it can be recorded."""

    path: Path
    session: str | None
    inputs: dict[str, dict[str, Any]]
    """What records say about the journal, by the digests of the files they are made of."""


Seal = Callable[[str, Copy], list[SealedRecord]]
"""Seals the session of an agent, with those of its sub-agents."""


class Sealing:
    """Has sessions sealed, and remembers which are being sealed."""

    def __init__(self, journal: Journal, seal: Seal, tell: Callable[[str], None]) -> None:
        """Say how a session is sealed."""
        self._journal, self._seal, self._tell = journal, seal, tell
        self._pool = ThreadPoolExecutor(1, "sealing")
        self._under_way: list[tuple[list[ToSeal], Future[list[SealedRecord]]]] = []
        self._failed: dict[str, Head] = {}

    def is_wanted(self, one: ToSeal) -> bool:
        """Tell whether a session is neither being sealed nor known to be impossible to seal as it is."""
        busy = any(one.journal == other.journal for together, _ in self._under_way for other in together)
        return not busy and self._failed.get(one.journal) != one.head

    def start(self, together: list[ToSeal]) -> None:
        """Have a session sealed, with those of its sub-agents."""
        identity = self._journal.covered.identity.hex()
        self._under_way.append((together, self._pool.submit(self._sealed, together, identity)))

    def step(self) -> None:
        """Note in the journals what was sealed.

        Raises:
            NotWritten: that failed, and will be tried again.
        """
        for together, future in [one for one in self._under_way if one[1].done()]:
            try:
                for sealed in future.result():
                    head = next(one.head for one in together if one.journal == sealed.journal)
                    self._journal.session(sealed.journal).seal(head, sealed.record, sealed.statement)
                    self._tell(f"sealed: {sealed.path}")
            except (VacrError, OSError) as error:
                self._failed |= {one.journal: one.head for one in together}
                self._tell(f"{together[0].journal}: not sealed: {error}")
            self._under_way = [one for one in self._under_way if one[1] is not future]

    def finish(self) -> None:
        """Wait for what is under way."""
        self._pool.shutdown()
        self.step()

    def _sealed(self, together: Sequence[ToSeal], identity: str) -> list[SealedRecord]:
        with tempfile.TemporaryDirectory(prefix="vacr-watch-") as folder:
            inputs = {}
            written = []
            for one in together:
                said = {"identity": identity, "session": one.journal, "frames": one.head.frames, "head": one.head.hash.hex()}
                for path, digest in _written(self._journal.folder, one, together[0].place, Path(folder)):
                    inputs[digest] = said
                    written.append(path)
            first = together[0].place
            # What a database holds of a session is one file; what a folder does lies there as in the folder.
            session = first.session if first.session and len(written) > 1 else None
            return self._seal(first.agent, Copy(Path(folder) if session else written[0], session, inputs))


def _written(folder: Path, one: ToSeal, main: Place, target: Path) -> Iterator[tuple[Path, str]]:
    """Write the parts of a session where they lie to each other as they did; gives each with its digest."""
    away = one.place.path.parent.relative_to(main.path.parent) if not one.place.session else Path()
    for name, data in first_seen(path_of(folder, one.journal), one.journal, one.head).items():
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts:
            continue
        path = target / away / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        yield path, hashlib.sha256(data).hexdigest()

"""Sessions that have ended are sealed from what the journal first saw of them, beside the capture,
one at a time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from vacr.capture.frames import ChainHead, get_session_journal_path
from vacr.capture.history import restore_first_seen_parts
from vacr.capture.journal import Journal
from vacr.capture.session_places import SessionPlace
from vacr.errors import VacrError

_OWNER_ONLY = 0o600
_RETRY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class SealRequest:
    """A session up to a head of its journal."""

    place: SessionPlace
    journal: str
    head: ChainHead


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """A record that was sealed: whose, and the digests of its bytes and of its statement's."""

    journal: str
    record: bytes
    statement: bytes
    path: Path


@dataclass(frozen=True, slots=True)
class SessionCopy:
    """A session as it was first seen, in a folder where it can be recorded."""

    path: Path
    session: str | None
    inputs: dict[str, dict[str, Any]]
    """What records say about the journal, by the digests of the files they are made of."""
    work: Path
    """A folder for what has to be written meanwhile."""


SealFunction = Callable[[str, SessionCopy], list[SealedRecord]]
"""Seals the session of an agent, with those of its sub-agents."""


class SealingQueue:
    """Has sessions sealed, and remembers which are being sealed."""

    def __init__(self, journal: Journal, seal: SealFunction, tell: Callable[[str], None]) -> None:
        """Say how a session is sealed."""
        self._journal, self._seal, self._tell = journal, seal, tell
        self._pool = ThreadPoolExecutor(1, "sealing")
        self._under_way: list[tuple[list[SealRequest], Future[list[SealedRecord]]]] = []
        self.failed: dict[str, tuple[ChainHead, float]] = {}
        """What could not be sealed as it was, and when that is tried again."""

    def is_wanted(self, one: SealRequest) -> bool:
        """Tell whether a session is neither being sealed nor was found a moment ago to be
        impossible to seal as it is.
        """
        busy = any(
            one.journal == other.journal for together, _ in self._under_way for other in together
        )
        head, until = self.failed.get(one.journal, (None, 0.0))
        return not busy and (head != one.head or time.monotonic() >= until)

    def start(self, together: list[SealRequest]) -> None:
        """Have a session sealed, with those of its sub-agents."""
        identity = self._journal.covered.identity.hex()
        self._under_way.append((together, self._pool.submit(self._sealed, together, identity)))

    def step(self) -> list[str]:
        """Note in the journals what was sealed; gives the names of these journals. What failed is
        told, and tried again later.
        """
        noted = []
        for together, future in [one for one in self._under_way if one[1].done()]:
            try:
                for sealed in future.result():
                    self.failed.pop(sealed.journal, None)
                    self._note(
                        sealed, next(one.head for one in together if one.journal == sealed.journal)
                    )
                    noted.append(sealed.journal)
            except (VacrError, OSError) as error:
                self._fail(together, error)
            self._under_way = [one for one in self._under_way if one[1] is not future]
        return noted

    def _note(self, sealed: SealedRecord, head: ChainHead) -> None:
        journal = self._journal.session(sealed.journal)
        known = journal.state.sealed
        if journal.name != sealed.journal or (known is not None and known.record == sealed.record):
            return
        journal.seal(head, sealed.record, sealed.statement)
        self._tell(f"sealed: {sealed.path}")

    def _fail(self, together: Sequence[SealRequest], error: Exception) -> None:
        before = self.failed.get(together[0].journal, (None, 0.0))[0]
        until = time.monotonic() + _RETRY_SECONDS
        self.failed |= {one.journal: (one.head, until) for one in together}
        if before != together[0].head:
            self._tell(f"{together[0].journal}: not sealed: {error}")

    def finish(self) -> None:
        """Wait for what is under way."""
        self._pool.shutdown()
        self.step()

    def _sealed(self, together: Sequence[SealRequest], identity: str) -> list[SealedRecord]:
        with tempfile.TemporaryDirectory(dir=self._journal.work) as name:
            folder = Path(name) / "session"
            inputs = {}
            written = []
            for one in together:
                said = {
                    "identity": identity,
                    "session": one.journal,
                    "frames": one.head.frames,
                    "head": one.head.hash.hex(),
                }
                for path, digest in _write_session_parts(
                    self._journal.folder, one, together[0].place, folder
                ):
                    inputs[digest] = said
                    written.append(path)
            first = together[0].place
            # What a database holds of a session is one file; what a folder does lies there as in
            # the folder.
            session = first.session if first.session and len(written) > 1 else None
            return self._seal(
                first.agent,
                SessionCopy(folder if session else written[0], session, inputs, Path(name)),
            )


def _write_session_parts(
    folder: Path, one: SealRequest, main: SessionPlace, target: Path
) -> Iterator[tuple[Path, str]]:
    """Write the parts of a session where they lie to each other as they did; gives each with its
    digest.
    """
    away = one.place.path.parent.relative_to(main.path.parent) if not one.place.session else Path()
    for name, data in restore_first_seen_parts(
        get_session_journal_path(folder, one.journal), one.journal, one.head
    ).items():
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts:
            continue
        path = target / away / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        # What is made of it is as readable as this is: conversations are nobody else's.
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY), "wb"
        ) as file:
            file.write(data)
        yield path, hashlib.sha256(data).hexdigest()

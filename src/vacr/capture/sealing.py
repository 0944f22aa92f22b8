r"""The queue of ended sessions to seal.

A session is sealed from its journal, not from its transcript: the record has the content as first
seen. Sealing may take long, so it runs in a thread next to the capture, one session at a time;
sessions of sub-agents are sealed together with the main one.

>>> from pathlib import Path
>>> from vacr.capture.journal import Journal
>>> from vacr.capture.sealing import SealedRecord, SealingQueue, SealRequest
>>> from vacr.capture.session_places import SessionPlace
>>> journal, place = Journal(Path("state/journal")), SessionPlace("some-agent", Path("abc.jsonl"))
>>> session = journal.session(place.name)
>>> session.begin(place.agent, place.path, "")
>>> part = session.open_part("abc.jsonl", place.path, rewritten=False)
>>> session.note_changes(part, (0, 0, b"one\n"))
>>> def seal(agent, copy):  # sign and register; here, the content stands for its digest
...     return [SealedRecord(place.name, copy.path.read_bytes(), b"", copy.path.name)]
>>> queue = SealingQueue(journal, seal, tell=print)
>>> queue.start([SealRequest(place, place.name, session.head)])
>>> queue.finish()
sealed: abc.jsonl
>>> session.state.sealed.record, session.state.unsealed
(b'one\n', 0)
>>> journal.close()
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

from vacr.capture.frames import ChainHead
from vacr.capture.history import restore_first_seen_parts
from vacr.capture.journal import Journal
from vacr.capture.session_journal import get_session_journal_path
from vacr.capture.session_places import SessionPlace
from vacr.errors import VacrError

_OWNER_ONLY = 0o600
_RETRY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class SealRequest:
    """A session to seal, up to a head of its journal."""

    place: SessionPlace
    journal: str
    head: ChainHead


@dataclass(frozen=True, slots=True)
class SessionCopy:
    """A session as first seen, in a temporary folder, ready for recording."""

    path: Path
    session: str | None
    inputs: dict[str, dict[str, Any]]
    """Digest of a file → the reference to its journal that goes into the record."""
    work: Path
    """A folder for temporary files."""


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """A sealed record: its journal, and the digests of the record and the statement."""

    journal: str
    record: bytes
    statement: bytes
    path: Path


SealFunction = Callable[[str, SessionCopy], list[SealedRecord]]
"""Seals the session of an agent, with the sessions of its sub-agents."""


class SealingQueue:
    """Has sessions sealed one after the other, and remembers which are under way."""

    def __init__(self, journal: Journal, seal: SealFunction, tell: Callable[[str], None]) -> None:
        """Seal sessions of a journal by `seal`, and report results through `tell`."""
        self._journal, self._seal, self._tell = journal, seal, tell
        self._pool = ThreadPoolExecutor(1, "sealing")
        self._under_way: list[tuple[list[SealRequest], Future[list[SealedRecord]]]] = []
        self.failed: dict[str, tuple[ChainHead, float]] = {}
        """Journal → the head that could not be sealed, and when to retry it."""

    def is_wanted(self, request: SealRequest) -> bool:
        """Return whether a session is neither under way nor failed a moment ago as it is."""
        is_under_way = any(
            request.journal == other.journal for group, _ in self._under_way for other in group
        )
        failed_head, retry_time = self.failed.get(request.journal, (None, 0.0))
        has_failed = failed_head == request.head and time.monotonic() < retry_time
        return not is_under_way and not has_failed

    def start(self, group: list[SealRequest]) -> None:
        """Start sealing a session together with the sessions of its sub-agents."""
        identity = self._journal.covered.identity.hex()
        self._under_way.append((group, self._pool.submit(self._seal_group, group, identity)))

    def step(self) -> list[str]:
        """Note finished records in the journals, and return the names of those journals.

        Failures are reported, and retried later.
        """
        noted = []
        finished = [(group, future) for group, future in self._under_way if future.done()]
        for group, future in finished:
            heads = {request.journal: request.head for request in reversed(group)}
            try:
                for record in future.result():
                    self.failed.pop(record.journal, None)
                    self._note_record(record, heads[record.journal])
                    noted.append(record.journal)
            except (VacrError, OSError) as error:
                self._handle_failure(group, error)
            self._under_way = [other for other in self._under_way if other[1] is not future]
        return noted

    def _note_record(self, record: SealedRecord, head: ChainHead) -> None:
        journal = self._journal.session(record.journal)
        last = journal.state.sealed
        is_known = last is not None and last.record == record.record
        if journal.name != record.journal or is_known:
            return
        journal.note_seal(head, record.record, record.statement)
        self._tell(f"sealed: {record.path}")

    def _handle_failure(self, group: Sequence[SealRequest], error: Exception) -> None:
        main = group[0]
        last_failed_head, _ = self.failed.get(main.journal, (None, 0.0))
        retry_time = time.monotonic() + _RETRY_SECONDS
        self.failed |= {request.journal: (request.head, retry_time) for request in group}
        if last_failed_head != main.head:
            self._tell(f"{main.journal}: not sealed: {error}")

    def finish(self) -> None:
        """Wait for the sessions under way, and note their records."""
        self._pool.shutdown()
        self.step()

    def _seal_group(self, group: Sequence[SealRequest], identity: str) -> list[SealedRecord]:
        main = group[0].place
        with tempfile.TemporaryDirectory(dir=self._journal.work) as name:
            folder = Path(name) / "session"
            inputs = {}
            paths = []
            for request in group:
                journal_reference = {
                    "identity": identity,
                    "session": request.journal,
                    "frames": request.head.frames,
                    "head": request.head.hash.hex(),
                }
                for path, digest in _write_session_parts(
                    self._journal.folder, request, main, folder
                ):
                    inputs[digest] = journal_reference
                    paths.append(path)
            # The export of a database is one file; a folder store is copied as a folder.
            session = main.session if main.session and len(paths) > 1 else None
            path = folder if session else paths[0]
            return self._seal(main.agent, SessionCopy(path, session, inputs, Path(name)))


def _write_session_parts(
    journal_folder: Path, request: SealRequest, main: SessionPlace, target: Path
) -> Iterator[tuple[Path, str]]:
    """Write the parts of a session at their places relative to the main session.

    Yield the path and the digest of each.
    """
    place = request.place
    subfolder = Path() if place.session else place.path.parent.relative_to(main.path.parent)
    journal_path = get_session_journal_path(journal_folder, request.journal)
    parts = restore_first_seen_parts(journal_path, request.journal, request.head)
    for name, data in parts.items():
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts:
            continue
        path = target / subfolder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        # Conversations are private, and records inherit the mode of their sources.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield path, hashlib.sha256(data).hexdigest()

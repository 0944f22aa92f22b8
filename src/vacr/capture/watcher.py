r"""The watcher: captures the sessions of all agents, and signs, anchors, seals and tidies up.

The caller runs `Watcher.step` whenever files may have changed. A session that cannot be read or a
log that cannot be reached does not stop it: failures are reported once, and retried.

>>> from pathlib import Path
>>> from vacr.capture.journal import Journal
>>> from vacr.capture.watcher import Watcher, WatchSettings
>>> from vacr.capture.hook import append_event
>>> state = Path("state")
>>> append_event(b"state", b"some-agent", b"abc", b'{"hook_event_name": "Stop"}')
>>> journal = Journal(state / "journal")
>>> watcher = Watcher(journal, [], state, WatchSettings(settling=0), report=print)
>>> watcher.step(None)
>>> watcher.finish()
>>> [(name.split("/")[0], head.frames) for name, head in journal.covered.sessions.items()]
[('some-agent', 2)]
>>> journal.close()

Three helpers do the parts that take long, or wait:

* `CheckpointAnchoring` registers checkpoints in a transparency service, in a thread.
* `SealingQueue` seals ended sessions, in another thread, from the content as first seen.
* `FileChanges` waits until files change; the caller then runs `step`.

Sealing a session by hand shows what the queue hands over, and what the journal notes:

>>> from vacr.capture.session_sources import TranscriptPlace
>>> from vacr.capture.watcher import SealedRecord, SealingQueue, SealRequest
>>> journal = Journal(Path("state/journal"))
>>> place = TranscriptPlace("some-agent", Path("abc.jsonl"))
>>> session = journal.session(place.name)
>>> session.begin(place.agent, place.path, "")
>>> part = session.open_part("abc.jsonl", place.path, rewritten=False)
>>> session.note_changes(part, (0, 0, b"one\n"))
>>> def seal(agent, copy):  # sign and register; here, the content stands for its digest
...     return [SealedRecord(place.name, copy.path.read_bytes(), b"", copy.path.name)]
>>> queue = SealingQueue(journal, seal, report=print)
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
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from vacr.capture.chains import ChainHead
from vacr.capture.history import restore_first_seen_parts
from vacr.capture.journal import Journal, RetentionLimits, retire_sealed_journals
from vacr.capture.session_capture import (
    FailureGuard,
    HookEventCapture,
    SessionCapture,
    WatchSettings,
)
from vacr.capture.session_journal import get_session_journal_path
from vacr.capture.session_sources import AgentRoot, TranscriptPlace
from vacr.errors import Unreachable, VacrError
from vacr.registration import RegistrationClient
from vacr.signing import PublicKey

WatchFunction = Callable[..., Iterator[set[tuple[Any, str]]]]
FolderIdentities = dict[Path, tuple[int, int]]
"""Folder → its device and inode: another folder may have taken its place."""

_PRIVATE_FILE_MODE = 0o600
_RETIRE_INTERVAL_SECONDS = 600.0
_MAX_ANCHOR_RETRY_SECONDS = 600.0
_SEAL_RETRY_SECONDS = 600.0
_DEBOUNCE_STEP_MS = 20
"""Changes that follow each other within this time are reported together."""
_DEBOUNCE_MS = 80
_FOLDER_CHECK_SECONDS = 0.5
"""How often to look for folders that did not exist."""
_POLL_SECONDS = 2.0
_RESCAN_SECONDS = 60.0
"""How often to look at everything although the system reports changes."""
_BLIND_RESCAN_SECONDS = 10.0
"""The same if the system does not report changes of some folders."""


class Watcher:
    """Follows sessions into the journal, and has them sealed when they end."""

    def __init__(
        self,
        journal: Journal,
        roots: list[AgentRoot],
        state: Path,
        settings: WatchSettings,
        *,
        sealing: SealingQueue | None = None,
        anchoring: CheckpointAnchoring | None = None,
        limits: RetentionLimits | None = None,
        report: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Prepare to follow the sessions below `roots`, and the spools in the folder `state`.

        Without `sealing` or `anchoring`, sessions are not sealed, or checkpoints not registered in
        a log. `limits` decide when sealed journals are deleted. Messages for a person go to
        `report`.
        """
        self.journal, self.settings = journal, settings
        self.sealing, self.anchoring = sealing, anchoring
        self.limits = limits or RetentionLimits()
        self.report = report
        self._guard = FailureGuard(report)
        self.capturing = SessionCapture(journal, roots, settings, self._guard)
        self.events = HookEventCapture(state, self.capturing, self._guard)
        self._has_resumed = False
        self._reported_damage: set[str] = set()
        self._last_checkpoint = self._last_rotation = time.monotonic()
        self._last_retirement = -_RETIRE_INTERVAL_SECONDS

    def step(self, changed: set[Path] | None) -> None:
        """Capture the sessions of the changed paths, or of all paths if None.

        Then read the spools, and sign, anchor, seal and delete as far as that is due. Failures are
        reported, not raised.
        """
        self.capturing.capture(changed)
        if (
            changed is None
            or self.events.is_waiting
            or any(path.is_relative_to(self.events.folder) for path in changed)
        ):
            self._guard("the hooks", self.events.read_spools)
        if not self._has_resumed:
            self._has_resumed = True
            self._guard("the journal", self.capturing.resume)
        self._guard("the journal", self._run_due_tasks)
        self._report_damage()

    @property
    def fails(self) -> bool:
        """Return whether any capture, task or sealing failed the last time it was tried."""
        return self._guard.fails or (self.sealing is not None and bool(self.sealing.failed))

    def finish(self) -> None:
        """Wait for the sealing under way, sign a last checkpoint over everything, and anchor it.

        Failures are reported, not raised.
        """
        if self.sealing is not None:
            self._guard("the journal", self.sealing.finish)
        self._guard("the journal", self._sign_checkpoints)
        if (anchoring := self.anchoring) is not None:
            self._guard("the log", lambda: anchoring.finish(self.journal))

    def _run_due_tasks(self) -> None:
        """Sign checkpoints, anchor, seal, delete journals and remove spools, each if it is due."""
        now = time.monotonic()
        elapsed = now - self._last_checkpoint
        new_frames = self.capturing.frames
        if new_frames and (
            elapsed >= self.settings.checkpoint or new_frames >= self.settings.frames
        ):
            self._sign_checkpoints()
        if self.anchoring is not None:
            self.anchoring.step(self.journal)
        if self.sealing is not None:
            self._seal_ended_sessions(self.sealing)
        if now - self._last_retirement >= _RETIRE_INTERVAL_SECONDS:
            self._last_retirement = now
            self._retire_journals()
            self.events.tidy()

    def _sign_checkpoints(self) -> None:
        """Sign checkpoints until all sessions are covered; change the key if the epoch is over."""
        now = time.monotonic()
        # A key must not outlive its epoch because the clock is set back, nor because no watcher
        # runs for a whole epoch: so measure by both clocks.
        epoch_age = max(
            now - self._last_rotation, time.time() - self.journal.covered.epoch_began / 1000
        )
        ends_epoch = epoch_age >= self.settings.epoch
        while self.journal.list_uncovered_heads() or ends_epoch:
            if ends_epoch:
                self._last_rotation = now
            self.journal.checkpoint(ends_epoch=ends_epoch)
            ends_epoch = False
        self._last_checkpoint, self.capturing.frames = now, 0

    def _seal_ended_sessions(self, sealing: SealingQueue) -> None:
        """Note the records that the queue has finished, and start sealing sessions that ended."""
        followed = self.capturing.followed
        for name in sealing.step():
            journal = self.journal.session(name)
            for session in followed.values():
                if session.journal == name == journal.name:
                    self.capturing.frames += session.update(journal)
        for group in followed.find_ended(self.settings.ended, self.settings.quiet):
            if any(session.place.path in self.capturing.failed for session in group):
                # The last capture failed, so the journal does not have all of it.
                continue
            requests = [
                SealRequest(session.place, session.journal, session.head_to_seal)
                for session in group
            ]
            if sealing.is_wanted(requests[0]):
                self._sign_checkpoints()
                sealing.start(requests)

    def _retire_journals(self) -> None:
        """Delete sealed journals beyond the limits, and report each."""
        retired = retire_sealed_journals(self.journal, self.limits)
        self.capturing.followed.forget(set(retired))
        for name in retired:
            self.report(f"deleted the journal of a sealed session: {name}")

    def _report_damage(self) -> None:
        """Report each damaged session journal once."""
        for name, error in self.journal.damaged.items():
            if name not in self._reported_damage:
                self._reported_damage.add(name)
                self.report(
                    f"{error}; this journal is kept, and a new one continues it; for details, run "
                    "vacr journal verify"
                )


class CheckpointAnchoring:
    """Registers the last checkpoint in a transparency service, in a thread of its own.

    Only the last one is sent, because it covers those before it: after an outage of the service,
    no queue has to be worked off.
    """

    def __init__(
        self,
        client: RegistrationClient,
        log_keys: Sequence[PublicKey],
        interval: float,
        report: Callable[[str], None],
        register_pending: Callable[[], None] = lambda: None,
    ) -> None:
        """Register a checkpoint every `interval` seconds, and verify receipts by `log_keys`.

        `register_pending` registers other waiting statements: at the start, and whenever the
        service answers. Messages for a person go to `report`.
        """
        self._client, self._log_keys, self._interval = client, log_keys, interval
        self._report, self._register_pending = report, register_pending
        self._pool = ThreadPoolExecutor(1, "anchoring")
        self._pool.submit(register_pending)
        self._sent: tuple[int, Future[bytes]] | None = None
        self._next_time = 0.0
        self._wait = interval
        self.problem = ""
        """The reason why the last checkpoint was not registered; empty if it was."""

    def step(self, journal: Journal) -> None:
        """Add the service's answer to the journal, if it came, and send a checkpoint if it is time.

        Failures, also to write the answer, are reported and retried.
        """
        if self._sent is not None and self._sent[1].done():
            self._receive(journal, *self._sent)
            self._sent = None
        last, anchors = journal.covered.last, journal.covered.anchors
        if last is None or self._sent is not None or time.monotonic() < self._next_time:
            return
        # The first checkpoint covers nothing. Later ones without sessions are sent too: they
        # cover earlier checkpoints that were not sent.
        is_anchored = bool(anchors) and anchors[-1].number >= last.number
        if last.number > 0 and not is_anchored:
            self._next_time = time.monotonic() + self._wait
            answer = self._pool.submit(self._register, journal.covered.statement)
            self._sent = (last.number, answer)

    def finish(self, journal: Journal) -> None:
        """Wait for the answer to the checkpoint under way, then register the last checkpoint."""
        self._next_time = 0.0
        for _ in range(2):  # The one under way, then the last one.
            self.step(journal)
            if self._sent is not None:
                self._sent[1].exception()
        self.step(journal)
        self._pool.shutdown()

    def _register(self, statement: bytes) -> bytes:
        """Register a checkpoint, and return it with the receipt; runs in the thread.

        Raises:
            Unreachable: the service cannot be reached.
            VacrError: it refused the checkpoint, or its receipt does not verify.
        """
        registered = self._client.register(statement, self._log_keys)
        self._register_pending()
        return registered.add_to(statement)

    def _receive(self, journal: Journal, number: int, answer: Future[bytes]) -> None:
        """Add the answer for a checkpoint to the journal, or report why it failed.

        After a failure, wait longer before the next attempt.
        """
        try:
            journal.anchor(number, self._client.url, answer.result())
            self.problem, self._wait = "", self._interval
        except VacrError as error:
            if not isinstance(error, Unreachable):
                self._report(f"a checkpoint was not registered, will be retried: {error}")
            elif not self.problem:
                self._report(f"the log cannot be reached; checkpoints are sent later: {error}")
            self.problem = str(error)
            self._wait = min(_MAX_ANCHOR_RETRY_SECONDS, self._wait * 2)


# --- sealing ---


@dataclass(frozen=True, slots=True)
class SealRequest:
    """A session to seal, up to a head of its journal."""

    place: TranscriptPlace
    journal: str
    """The name of its journal."""
    head: ChainHead


@dataclass(frozen=True, slots=True)
class SessionCopy:
    """A session as first seen, in a temporary folder, ready for recording."""

    path: Path
    """A transcript, or the folder of a store."""
    session: str | None
    """The id of the session in that folder; None for a transcript."""
    inputs: dict[str, dict[str, Any]]
    """Digest of a file → the reference to its journal that goes into the record."""
    work: Path
    """A folder for temporary files."""


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """A sealed record of a session."""

    journal: str
    """The name of the session's journal."""
    record: bytes
    """The digest of the record."""
    statement: bytes
    """The digest of its signed statement."""
    path: Path
    """The file of the record."""


SealFunction = Callable[[str, SessionCopy], list[SealedRecord]]
"""Records and signs a session copy of the named agent, with its sub-agents; returns the records."""


class SealingQueue:
    """Has sessions sealed one after the other, and remembers which are under way.

    A session is sealed from its journal, not from its transcript: the record has the content as
    first seen. Sealing may take long, so it runs in a thread next to the capture; sessions of
    sub-agents are sealed together with the main one.
    """

    def __init__(self, journal: Journal, seal: SealFunction, report: Callable[[str], None]) -> None:
        """Prepare to seal sessions of a journal by `seal`; messages go to `report`."""
        self._journal, self._seal, self._report = journal, seal, report
        self._pool = ThreadPoolExecutor(1, "sealing")
        self._under_way: list[tuple[list[SealRequest], Future[list[SealedRecord]]]] = []
        self.failed: dict[str, tuple[ChainHead, float]] = {}
        """Journal → the head that could not be sealed, and when to retry it."""

    def is_wanted(self, request: SealRequest) -> bool:
        """Return whether to start sealing a session now.

        Return False if it is under way, or the same head failed a short time ago.
        """
        is_under_way = any(
            request.journal == other.journal for group, _ in self._under_way for other in group
        )
        failed_head, retry_time = self.failed.get(request.journal, (None, 0.0))
        has_failed = failed_head == request.head and time.monotonic() < retry_time
        return not is_under_way and not has_failed

    def start(self, group: list[SealRequest]) -> None:
        """Start sealing a group: a main session first, then the sessions of its sub-agents."""
        identity = self._journal.covered.identity.hex()
        self._under_way.append((group, self._pool.submit(self._seal_group, group, identity)))

    def step(self) -> list[str]:
        """Note the finished records in their journals, and return the names of these journals.

        Return an empty list if no sealing has finished. Failures are reported, and retried later.
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
        """Note a record in its journal as the seal of `head`, and report it.

        Do nothing if the journal was replaced, or its last seal is the same record.
        """
        journal = self._journal.session(record.journal)
        last = journal.state.sealed
        is_known = last is not None and last.record == record.record
        if journal.name != record.journal or is_known:
            return
        journal.note_seal(head, record.record, record.statement)
        self._report(f"sealed: {record.path}")

    def _handle_failure(self, group: Sequence[SealRequest], error: Exception) -> None:
        """Schedule a retry for a group, and report the error once for each head."""
        main = group[0]
        last_failed_head, _ = self.failed.get(main.journal, (None, 0.0))
        retry_time = time.monotonic() + _SEAL_RETRY_SECONDS
        self.failed |= {request.journal: (request.head, retry_time) for request in group}
        if last_failed_head != main.head:
            self._report(f"{main.journal}: not sealed yet, will be retried: {error}")

    def finish(self) -> None:
        """Wait for the sealing under way, and note the records in their journals.

        Failures are only reported. Afterwards, nothing can be sealed any more.
        """
        self._pool.shutdown()
        self.step()

    def _seal_group(self, group: Sequence[SealRequest], identity: str) -> list[SealedRecord]:
        """Restore the sessions of a group in a temporary folder, seal them, and return the records.

        `identity` is the hexadecimal thumbprint of the journal. Runs in the thread.
        """
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
    journal_folder: Path, request: SealRequest, main: TranscriptPlace, target: Path
) -> Iterator[tuple[Path, str]]:
    """Write the parts of a session, as first seen, below the folder `target`.

    They get the same places relative to the `main` session as the originals. Yield the path and the
    hexadecimal SHA-256 of each. A part whose name leads out of the folder is skipped.
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
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE_FILE_MODE)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield path, hashlib.sha256(data).hexdigest()


# --- changes of files ---


class FileChanges:
    """An iterator that waits for changes below folders, and yields sets of changed paths.

    It yields None when anything may have changed. The system's notifications are fast and cheap,
    but not complete: folders may not exist yet, the system may run out of watches, and some folders
    cannot be read. So it also yields None at long intervals, and at short ones without
    notifications.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        polling: bool,
        report: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Prepare to watch folders; with `polling`, do not use the system's notifications.

        Messages for a person go to `report`.
        """
        self._folders, self._report = folders, report
        self._stop = threading.Event()
        self._watch = None if polling else _load_watch_function()
        self._rescan_seconds = _POLL_SECONDS if self._watch is None else _RESCAN_SECONDS
        self._has_unreadable_folders = False

    def stop(self) -> None:
        """End the iteration, from any thread or signal handler."""
        self._stop.set()

    def __iter__(self) -> Iterator[set[Path] | None]:
        """Yield sets of changed paths, or None for any path, until `stop` is called."""
        yield None
        while not self._stop.is_set():
            folders = self._list_existing_folders()
            if self._watch is None:
                self._stop.wait(self._rescan_seconds)
                yield None
            elif not folders:
                self._stop.wait(_FOLDER_CHECK_SECONDS)
                yield None
            else:
                yield from self._watch_folders(self._watch, folders)

    def _list_existing_folders(self) -> FolderIdentities:
        """Return the folders to watch that exist, each with its device and inode.

        A folder inside another one is left out. A path that is a file stands for its folder.
        """
        identities = {}
        for path in self._folders:
            with suppress(OSError):
                status = path.stat()
                folder = path if stat.S_ISDIR(status.st_mode) else path.parent
                identities[folder] = (status.st_dev, status.st_ino)
        return {
            path: identities[path]
            for path in sorted(identities)
            if not any(other in path.parents for other in identities)
        }

    def _watch_folders(
        self, watch: WatchFunction, folders: FolderIdentities
    ) -> Iterator[set[Path] | None]:
        """Yield the changes that the system reports, until other folders have to be watched.

        None stands for a rescan: any file may have changed.
        """
        # Files may have changed before the notifications start, so rescan right after that.
        last_rescan = -self._rescan_seconds
        has_started = False
        try:
            for changes in watch(
                *folders,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_DEBOUNCE_STEP_MS,
                rust_timeout=int(_FOLDER_CHECK_SECONDS * 1000),
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=self._has_unreadable_folders,
            ):
                has_started = True
                yield {Path(path) for _, path in changes}
                if time.monotonic() - last_rescan > self._rescan_seconds:
                    last_rescan = time.monotonic()
                    yield None
                if self._list_existing_folders() != folders:
                    return
        except PermissionError:
            # Ignoring unreadable folders makes the library also ignore a lack of watches, so
            # rescan more often.
            self._has_unreadable_folders = True
            self._rescan_seconds = _BLIND_RESCAN_SECONDS
        except (OSError, RuntimeError):
            if has_started:
                # The library could not report a change, for example of a name that is not valid
                # text. Watching starts again with a rescan.
                self._stop.wait(_FOLDER_CHECK_SECONDS)
                return
            # The system has no watches left for so many folders.
            self._watch, self._rescan_seconds = None, _POLL_SECONDS
            self._report(
                "too many folders for the system's change notifications; looking for changes every "
                f"{_POLL_SECONDS:.0f} seconds instead"
            )


def _load_watch_function() -> WatchFunction | None:
    """Return the `watch` function of the package watchfiles, or None if it is not installed."""
    try:
        from watchfiles import watch
    except ImportError:
        return None
    return watch

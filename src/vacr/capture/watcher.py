"""The watcher: captures the sessions of all agents, and signs, anchors, seals and tidies up.

The caller runs `Watcher.step` whenever files may have changed. A session that cannot be read or a
log that cannot be reached does not stop it: failures are reported once, and retried.

>>> from pathlib import Path
>>> from vacr.capture.journal import Journal
>>> from vacr.capture.watcher import Watcher, WatchSettings
>>> from vacr.capture.hook import append_event
>>> state = Path("state")
>>> append_event(b"state", b"some-agent", b"abc", b'{"hook_event_name": "Stop"}')
>>> journal = Journal(state / "journal")
>>> watcher = Watcher(journal, [], state, WatchSettings(settling=0), tell=print)
>>> watcher.step(None)
>>> watcher.finish()
>>> [(name.split("/")[0], head.frames) for name, head in journal.covered.sessions.items()]
[('some-agent', 2)]
>>> journal.close()
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.journal import Journal
from vacr.capture.sealing import SealingQueue, SealRequest
from vacr.capture.session_capture import (
    FailureGuard,
    HookEventCapture,
    SessionCapture,
    WatchSettings,
)
from vacr.capture.session_journal import get_session_journal_path, list_session_journals
from vacr.capture.session_places import AgentRoot
from vacr.errors import Unreachable, VacrError
from vacr.registration import RegistrationClient
from vacr.signing import PublicKey
from vacr.transparency import add_receipt

_RETIRE_INTERVAL_SECONDS = 600.0
_MAX_RETRY_WAIT = 600.0
_SECONDS_PER_DAY = 86_400.0
_BYTES_PER_MEGABYTE = 1_000_000


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
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Follow the sessions below `roots`, and the spools in the folder `state`.

        Messages for a person go to `tell`.
        """
        self.journal, self.settings = journal, settings
        self.sealing, self.anchoring = sealing, anchoring
        self.limits = limits or RetentionLimits()
        self.tell = tell
        self._guard = FailureGuard(tell)
        self.capturing = SessionCapture(journal, roots, settings, self._guard)
        self.events = HookEventCapture(state, self.capturing, self._guard)
        self._has_resumed = False
        self._reported_damage: set[str] = set()
        self._last_checkpoint = self._last_rotation = time.monotonic()
        self._last_retirement = -_RETIRE_INTERVAL_SECONDS

    def step(self, changed: set[Path] | None) -> None:
        """Capture the changed paths, or look at everything if None; then run due tasks."""
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
        """Return whether some capture or sealing failed the last time it was tried."""
        return self._guard.fails or (self.sealing is not None and bool(self.sealing.failed))

    def finish(self) -> None:
        """Finish the tasks under way, and cover everything by a last checkpoint."""
        if self.sealing is not None:
            self._guard("the journal", self.sealing.finish)
        self._guard("the journal", self._sign_checkpoints)
        if (anchoring := self.anchoring) is not None:
            self._guard("the log", lambda: anchoring.finish(self.journal))

    def _run_due_tasks(self) -> None:
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
        """Sign as many checkpoints as cover all sessions, with a new key if the epoch is over."""
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
        retired = retire_sealed_journals(self.journal, self.limits)
        self.capturing.followed.forget(set(retired))
        for name in retired:
            self.tell(f"deleted, for it is sealed: {name}")

    def _report_damage(self) -> None:
        for name, error in self.journal.damaged.items():
            if name not in self._reported_damage:
                self._reported_damage.add(name)
                self.tell(
                    f"{error}; it stays as it is, and another goes on in its place: see vacr "
                    "journal verify"
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
        tell: Callable[[str], None],
        register_pending: Callable[[], None] = lambda: None,
    ) -> None:
        """Register a checkpoint every `interval` seconds, and verify receipts by `log_keys`.

        `register_pending` registers other waiting statements: at the start, and whenever the
        service answers.
        """
        self._client, self._log_keys, self._interval = client, log_keys, interval
        self._tell, self._register_pending = tell, register_pending
        self._pool = ThreadPoolExecutor(1, "anchoring")
        self._pool.submit(register_pending)
        self._sent: tuple[int, Future[bytes]] | None = None
        self._next_time = 0.0
        self._wait = interval
        self.problem = ""
        """The reason why the last checkpoint was not registered."""

    def step(self, journal: Journal) -> None:
        """Write an answer that came back into the journal, and send a checkpoint if it is time.

        Raises:
            UnwritableJournal: the answer cannot be written.
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
        """Wait for the checkpoint that was sent, and register the last one."""
        self._next_time = 0.0
        for _ in range(2):  # The one under way, then the last one.
            self.step(journal)
            if self._sent is not None:
                self._sent[1].exception()
        self.step(journal)
        self._pool.shutdown()

    def _register(self, statement: bytes) -> bytes:
        registered = self._client.register(statement, self._log_keys)
        self._register_pending()
        return add_receipt(statement, registered.receipt, registered.logged.key)

    def _receive(self, journal: Journal, number: int, answer: Future[bytes]) -> None:
        try:
            journal.anchor(number, self._client.url, answer.result())
            self.problem, self._wait = "", self._interval
        except VacrError as error:
            if not isinstance(error, Unreachable):
                self._tell(f"a checkpoint was not registered: {error}")
            elif not self.problem:
                self._tell(f"the log cannot be reached, and checkpoints wait: {error}")
            self.problem = str(error)
            self._wait = min(_MAX_RETRY_WAIT, self._wait * 2)


# --- retention ---


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long sealed journals are kept, in seconds, and how many bytes all journals may have."""

    age: float | None = None
    size: int | None = None

    @classmethod
    def of(cls, days: float | None, megabytes: float | None) -> RetentionLimits:
        """Convert limits in days and megabytes."""
        return cls(
            days * _SECONDS_PER_DAY if days is not None else None,
            int(megabytes * _BYTES_PER_MEGABYTE) if megabytes is not None else None,
        )


@dataclass(frozen=True, slots=True, order=True)
class _RetirableJournal:
    """A journal that is sealed completely; the oldest comes first."""

    sealed_at: int
    record: bytes
    name: str


def retire_sealed_journals(journal: Journal, limits: RetentionLimits) -> list[str]:
    """Delete sealed journals beyond a limit, oldest first, and return their names.

    Journals that are not sealed are never deleted.

    Raises:
        UnwritableJournal: the checkpoint for it cannot be written, and no journal was deleted.
        OSError: a journal cannot be examined or deleted.
    """
    if limits.age is None and limits.size is None:
        return []
    files = {
        name: get_session_journal_path(journal.folder, name).stat()
        for name in list_session_journals(journal.folder)
        if name not in journal.covered.retired
    }
    total_size = sum(status.st_size for status in files.values())
    now = time.time()
    retired: dict[str, bytes] = {}
    candidates = _find_retirable_journals(journal, files, limits, total_size, now)
    for candidate in sorted(candidates):
        is_old = limits.age is not None and now - candidate.sealed_at / 1e9 > limits.age
        if is_old or (limits.size is not None and total_size > limits.size):
            retired[candidate.name] = candidate.record
            total_size -= files[candidate.name].st_size
    journal.retire(retired)
    return list(retired)


def _find_retirable_journals(
    journal: Journal,
    files: dict[str, os.stat_result],
    limits: RetentionLimits,
    total_size: int,
    now: float,
) -> Iterator[_RetirableJournal]:
    """Yield the sealed journals that may be beyond a limit, without reading the others."""
    is_too_large = limits.size is not None and total_size > limits.size
    for name, status in files.items():
        # The seal is the last note, so the file is at least as young as it.
        may_be_old = limits.age is not None and now - status.st_mtime > limits.age
        if not is_too_large and not may_be_old:
            continue
        session = journal.session(name)
        if session.name != name:
            # This journal is damaged, and stays as evidence.
            continue
        sealed = session.state.sealed
        if sealed is not None and not session.state.unsealed:
            yield _RetirableJournal(sealed.time, sealed.record, name)

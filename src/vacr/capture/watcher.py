"""Checkpoints are registered in a transparency service, beside the capture: it waits for no
network.

Only the last checkpoint is sent: it covers those before it. So what could not be sent while the
service was away needs no queue.

Doing what may fail without stopping for it: what goes wrong is told once, and keeps nothing else
back.

Capturing sessions: where something may be new, and what of it goes into which journal.

The events of hooks: from their spools into the journals of the sessions that they are of.

How much of a journal is kept: what is sealed may go, the oldest first; what is not
never does.

The watcher: follows the sessions of all agents on this machine into the journal, and has them
sealed when they end.

Nothing here stops for one session that cannot be read, or for a service that cannot be reached: it
is told, and tried again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vacr.capture.following import (
    FileStamp,
    FollowedSession,
    FollowedSessions,
    follow_session,
    is_transcript_unchanged,
    list_stored_sessions,
    stamp_database_files,
)
from vacr.capture.frames import get_session_journal_path, list_session_journals
from vacr.capture.journal import Journal, SessionJournal
from vacr.capture.sealing import SealingQueue, SealRequest
from vacr.capture.session_places import AgentRoot, SessionPlace, find_session_project, is_store
from vacr.capture.spool import (
    SPOOL_FOLDER,
    Spool,
    SpoolProgress,
    SpoolTracker,
    find_spool_place,
    make_events_only_place,
    read_hook_events,
)
from vacr.errors import Unreachable, UnreadableInput, VacrError
from vacr.registration import RegistrationClient
from vacr.signing import PublicKey
from vacr.transparency import add_receipt

_MAX_RETRY_WAIT = 600.0


class CheckpointAnchoring:
    """Has the last checkpoint registered, now and then."""

    def __init__(
        self,
        client: RegistrationClient,
        log_keys: Sequence[PublicKey],
        every: float,
        tell: Callable[[str], None],
        pending: Callable[[], None] = lambda: None,
    ) -> None:
        """Say where, by which keys its receipts are verified, and after how many seconds the next
        one is sent.

        What else waits for the service is registered by `pending`, at first and whenever the
        service answers.
        """
        self._client, self._log_keys, self._every, self._tell, self._pending = (
            client,
            log_keys,
            every,
            tell,
            pending,
        )
        self._pool = ThreadPoolExecutor(1, "anchoring")
        self._pool.submit(pending)
        self._sent: tuple[int, Future[bytes]] | None = None
        self._next = 0.0
        self._wait = every
        self.problem = ""
        """Why the last one was not registered."""

    def step(self, journal: Journal) -> None:
        """Take what came back, and send what is due.

        Raises:
            NotWritten: what came back cannot be noted.
        """
        if self._sent is not None and self._sent[1].done():
            self._take(journal, *self._sent)
            self._sent = None
        last, anchors = journal.covered.last, journal.covered.anchors
        # The first checkpoint covers nothing yet; one that only deletes or rotates covers those
        # before it that wait.
        is_new = (
            last is not None
            and last.number > 0
            and (not anchors or anchors[-1].number < last.number)
        )
        if last is not None and is_new and self._sent is None and time.monotonic() >= self._next:
            self._next = time.monotonic() + self._wait
            self._sent = (last.number, self._pool.submit(self._register, journal.covered.statement))

    def finish(self, journal: Journal) -> None:
        """Wait for what was sent, and send the last one."""
        self._next = 0.0
        for _ in range(2):  # what is under way, then the last one
            self.step(journal)
            if self._sent is not None:
                self._sent[1].exception()
        self.step(journal)
        self._pool.shutdown()

    def _register(self, statement: bytes) -> bytes:
        found = self._client.register(statement, self._log_keys)
        self._pending()
        return add_receipt(statement, found.receipt, found.logged.key)

    def _take(self, journal: Journal, number: int, sent: Future[bytes]) -> None:
        try:
            journal.anchor(number, self._client.url, sent.result())
            self.problem, self._wait = "", self._every
        except VacrError as error:
            if not isinstance(error, Unreachable):
                self._tell(f"a checkpoint was not registered: {error}")
            elif not self.problem:
                self._tell(f"the log cannot be reached, and checkpoints wait: {error}")
            self.problem = str(error)
            self._wait = min(_MAX_RETRY_WAIT, self._wait * 2)


class FailureGuard:
    """Remembers what was told."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Say who is told."""
        self._tell = tell
        self._told: dict[str, str] = {}

    @property
    def fails(self) -> bool:
        """Whether something could not be done the last time it was tried."""
        return bool(self._told)

    def __call__(self, what: str, work: Callable[[], None]) -> bool:
        """Do something, and tell whether it was done."""
        try:
            work()
            self._told.pop(what, None)
        except (VacrError, OSError, MemoryError) as error:
            told = str(error) if str(error).startswith(what) else f"{what}: {error}"
            if self._told.get(what) != told:
                self._tell(told)
            self._told[what] = told
            return False
        return True


_FIRST_RETRY_SECONDS = 1.0
_MAX_RETRY_SECONDS = 60.0
_STORE_PAUSE_SECONDS = 1.0
"""Seconds between two looks into the same store, which is exported each time."""


@dataclass(frozen=True)
class WatchSettings:
    """How often things are done, in seconds."""

    checkpoint: float = 10.0
    frames: int = 1000
    """After so many frames there is a checkpoint in any case."""
    epoch: float = 86_400.0
    quiet: float = 1_800.0
    """A session in which nothing happened for so long has ended."""
    ended: float = 5.0
    """So long after an agent said that a session ended, its transcript is whole."""
    settling: float = 30.0
    """So long after an event of a session of which there is nothing else, there will be nothing
    else.
    """
    since: float = 0.0
    """What was changed before this time, and is not followed yet, is left alone until it changes.
    """


class SessionCapture:
    """The sessions that are followed, with what was seen of them."""

    def __init__(
        self, journal: Journal, roots: list[AgentRoot], settings: WatchSettings, guard: FailureGuard
    ) -> None:
        """Say what is followed, and into which journal."""
        self.journal, self.roots, self.settings, self._guard = journal, roots, settings, guard
        self.followed = FollowedSessions()
        self.failed: dict[Path, tuple[float, float]] = {}
        """What could not be followed, when that is tried again, and after how long it was tried."""
        self.frames = 0
        """How many frames came; whoever makes a checkpoint sets it back."""
        self._later: set[Path] = set()
        """What was looked at a moment ago, and has to be looked at again."""
        self._looks: dict[Path, FileStamp] = {}
        self._signs: dict[tuple[Path, str], object] = {}
        self._stores: dict[Path, float] = {}

    def capture(self, changed: set[Path] | None) -> None:
        """Capture what has changed, or look at everything; what could not be followed is tried
        again after a while.
        """
        now = time.monotonic()
        again = {path for path, (due, _) in self.failed.items() if due <= now}
        paths = (self._everything() if changed is None else changed | self._later) | again
        self._later = set()
        for root in self.roots:
            for holder in {found for path in paths if (found := root.holder(path)) is not None}:
                done = self._guard(str(holder), partial(self._look, root, holder))
                _, pause = self.failed.pop(holder, (0.0, _FIRST_RETRY_SECONDS / 2))
                if not done:
                    self.failed[holder] = (now + pause * 2, min(pause * 2, _MAX_RETRY_SECONDS))

    def _everything(self) -> set[Path]:
        followed = (one.place.path for one in self.followed.values() if not one.is_gone)
        return {path for root in self.roots for path in root.places()}.union(followed)

    def take_up(self) -> None:
        """Take up what an earlier watcher left uncovered or unsealed, though nothing changes there
        any more.
        """
        known = {one.journal for one in self.followed.values()}
        for name in [
            name
            for name in list_session_journals(self.journal.folder)
            if name not in known and name not in self.journal.covered.retired
        ]:
            journal = self.journal.session(name)
            if journal.name == name and journal.state.frames:
                state = journal.state
                self.note(
                    self.followed.of(SessionPlace(state.agent, state.path, state.session), name),
                    journal,
                )

    def _look(self, root: AgentRoot, path: Path) -> None:
        if not root.owns(path):
            raise UnreadableInput(
                "a link that leads out of the agent's folder, and is not followed", where=str(path)
            )
        if not is_store(path):
            self._look_at_file(SessionPlace(root.reader.name, path))
            return
        if time.monotonic() - self._stores.get(path, 0.0) < _STORE_PAUSE_SECONDS:
            self._later.add(path)
            return
        self._stores[path] = time.monotonic()
        state = stamp_database_files(path)
        found = list_stored_sessions(path, root.reader.name)
        for session, stored in found.items():
            place = SessionPlace(root.reader.name, path, session)
            # What an agent adds to a session need not show in the list: one that is alive is looked
            # at after any change.
            one = self.followed.get(place.name)
            is_alive = len(found) == 1 or (
                one is not None and time.time() - one.changed < self.settings.quiet
            )
            sign = (stored.sign, state if is_alive else None)
            if self._signs.get((path, session)) == sign:
                continue
            is_wanted = self._is_wanted(place, stored.updated and stored.updated / 1000)
            work = partial(self.follow, place, stored.project)
            if not is_wanted or self._guard(f"{path}: {session}", work):
                self._signs[path, session] = sign

    def _look_at_file(self, place: SessionPlace) -> None:
        try:
            status = place.path.stat()
        except FileNotFoundError:
            updated = None
        else:
            if not stat.S_ISREG(status.st_mode) or is_transcript_unchanged(place, self._looks):
                return
            updated = status.st_mtime
        if self._is_wanted(place, updated):
            self.follow(place)

    def _is_wanted(self, place: SessionPlace, updated: float | None) -> bool:
        if place.name in self.followed or self.journal.holds(place.name):
            return True
        since = max(self.settings.since, self.journal.retired_at(place.name) / 1000)
        return updated is not None and updated >= since

    def follow(self, place: SessionPlace, project: str = "") -> None:
        """Bring the journal of a session up to what is at its place; a store may tell its project.

        Raises:
            UnreadableInput: the place cannot be read.
            NotWritten: the journal cannot be added to.
        """
        journal = self.journal.session(place.name)
        one = self.followed.of(place, journal.name)
        if project:
            one.project = project
        elif one.looks_for_project:
            # The first lines of a transcript need not say where its agent works.
            one.project, is_said = find_session_project(place, self.roots)
            one.looks_for_project = 0 if is_said else one.looks_for_project - 1
        try:
            follow_session(journal, place, self._looks)
        finally:
            self.note(one, journal)

    def note(self, one: FollowedSession, journal: SessionJournal) -> None:
        """Take what the journal of a session says now."""
        if not one.changed:
            # What was there before is as old as its journal says.
            one.changed = journal.state.last / 1e9
            one.note(journal)
            self.frames += journal.name in self.journal.uncovered()
        elif new := one.note(journal):
            self.frames += new
            one.changed = time.time()


class HookEventCapture:
    """What hooks leave in a state folder."""

    def __init__(self, state: Path, capturing: SessionCapture, guard: FailureGuard) -> None:
        """Say where it is, and who captures."""
        self.folder = state / SPOOL_FOLDER
        self._capturing, self._guard = capturing, guard
        self._spools = SpoolTracker(state)

    @property
    def wait(self) -> bool:
        """Whether there is an event of which it is not known yet whose it is."""
        return self._spools.wait

    def tidy(self) -> None:
        """Remove the spools that were read.

        Raises:
            OSError: one cannot be removed.
            UnreadableInput: one cannot be read.
        """
        self._spools.tidy(self._is_read)

    def read(self) -> None:
        """Take what hooks were told into the journals.

        Raises:
            UnreadableInput: a spool cannot be read.
        """
        for one in self._spools.grown():
            self._guard(str(one.spool.path), lambda one=one: self._spooled(one))  # type: ignore[misc]

    def _spooled(self, found: SpoolProgress) -> None:
        path = found.spool.path
        size = path.stat().st_size
        place = found.place = found.place or self._place_of(found.spool)
        if place is None:
            return
        if self._capturing.journal.read_of(found.name, place.name) == size:
            found.size = size
            return
        journal = self._capturing.journal.session(place.name)
        if not journal.head.frames:
            journal.begin(place.agent, place.path, place.session)
        one = self._capturing.followed.of(place, journal.name)
        try:
            while events := read_hook_events(
                path, self._capturing.journal.read_of(found.name, place.name)
            )[0]:
                journal.events(found.name, events)
        finally:
            self._capturing.note(one, journal)
        if not place.session:
            self._capturing.follow(place)
        found.size = size

    def _place_of(self, found: Spool) -> SessionPlace | None:
        """Give the place of the session that a spool is of; nothing while its agent may not have
        put it anywhere yet.
        """
        alone = make_events_only_place(found)
        if self._capturing.journal.holds(alone.name):
            return alone
        followed = [one.place for one in self._capturing.followed.values()]
        place = find_spool_place(
            found, read_hook_events(found.path)[0], self._capturing.roots, followed
        )
        is_settled = time.time() - found.path.stat().st_mtime >= self._capturing.settings.settling
        return place if place != alone or is_settled else None

    def _is_read(self, found: SpoolProgress) -> bool:
        """Tell whether all events that a spool holds are in a journal; half of one is none."""
        if found.place is None:
            return False
        return not read_hook_events(
            found.spool.path, self._capturing.journal.read_of(found.name, found.place.name)
        )[0]


_SECONDS_PER_DAY = 86_400.0
_BYTES_PER_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long sealed journals are kept, in seconds, and how many bytes all may have."""

    age: float | None = None
    size: int | None = None

    @classmethod
    def of(cls, days: float | None, megabytes: float | None) -> RetentionLimits:
        """Take limits as people give them."""
        return cls(
            days * _SECONDS_PER_DAY if days is not None else None,
            int(megabytes * _BYTES_PER_MEGABYTE) if megabytes is not None else None,
        )


def retire_sealed_journals(journal: Journal, limits: RetentionLimits) -> list[str]:
    """Delete the journals that are sealed and beyond a limit; gives their names.

    Raises:
        NotWritten: no checkpoint can say so; nothing was deleted.
        OSError: one cannot be looked at or deleted.
    """
    if limits.age is None and limits.size is None:
        return []
    found = {
        name: get_session_journal_path(journal.folder, name).stat()
        for name in list_session_journals(journal.folder)
        if name not in journal.covered.retired
    }
    left = sum(status.st_size for status in found.values())
    now = time.time()
    gone: dict[str, bytes] = {}
    for sealed, name in sorted(_find_retirable_journals(journal, found, limits, left, now)):
        is_old = limits.age is not None and now - sealed[0] / 1e9 > limits.age
        if is_old or (limits.size is not None and left > limits.size):
            gone[name] = sealed[1]
            left -= found[name].st_size
    journal.retire(gone)
    return list(gone)


def _find_retirable_journals(
    journal: Journal,
    found: dict[str, os.stat_result],
    limits: RetentionLimits,
    left: int,
    now: float,
) -> Iterator[tuple[tuple[int, bytes], str]]:
    """Give the journals that may be beyond a limit, and are sealed; the others need not be read."""
    for name, status in found.items():
        # What was sealed is noted at the end, so that the file is not older than that.
        is_young = limits.age is None or now - status.st_mtime <= limits.age
        if is_young and (limits.size is None or left <= limits.size):
            continue
        sealed = _find_complete_seal(journal, name)
        if sealed is not None:
            yield sealed, name


def _find_complete_seal(journal: Journal, name: str) -> tuple[int, bytes] | None:
    """Tell when a session was sealed and as what, if all of it is."""
    session = journal.session(name)
    if session.name != name:
        # This one is not what it was, and stays to be found out.
        return None
    state, found = session.state, session.state.sealed
    return (found.time, found.record) if found is not None and not state.unsealed else None


_RETIRE_INTERVAL_SECONDS = 600.0


class Watcher:
    """Follows sessions; `tell` is given what a person should know."""

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
        """Say what is followed, and where hooks leave their events."""
        self.journal, self.settings = journal, settings
        self.sealing, self.anchoring, self.limits, self.tell = (
            sealing,
            anchoring,
            limits or RetentionLimits(),
            tell,
        )
        self._guard = FailureGuard(tell)
        self.capturing = SessionCapture(journal, roots, settings, self._guard)
        self.events = HookEventCapture(state, self.capturing, self._guard)
        self._is_begun = False
        self._damaged: set[str] = set()
        self._checkpointed = self._rotated = time.monotonic()
        self._retired = -_RETIRE_INTERVAL_SECONDS

    def step(self, changed: set[Path] | None) -> None:
        """Capture what has changed, or look at everything, and do what is due."""
        self.capturing.capture(changed)
        if (
            changed is None
            or self.events.wait
            or any(path.is_relative_to(self.events.folder) for path in changed)
        ):
            self._guard("the hooks", self.events.read)
        if not self._is_begun:
            self._is_begun = True
            self._guard("the journal", self.capturing.take_up)
        self._guard("the journal", self._due)
        self._tell_damaged()

    @property
    def fails(self) -> bool:
        """Whether something could not be captured or sealed the last time it was tried."""
        return self._guard.fails or (self.sealing is not None and bool(self.sealing.failed))

    def finish(self) -> None:
        """Cover what was captured by a last checkpoint, and wait for what is under way."""
        if self.sealing is not None:
            self._guard("the journal", self.sealing.finish)
        self._guard("the journal", self._checkpoint)
        if (anchoring := self.anchoring) is not None:
            self._guard("the log", lambda: anchoring.finish(self.journal))

    # --- what is due ---

    def _due(self) -> None:
        now = time.monotonic()
        waited = now - self._checkpointed
        if self.capturing.frames and (
            waited >= self.settings.checkpoint or self.capturing.frames >= self.settings.frames
        ):
            self._checkpoint()
        if self.anchoring is not None:
            self.anchoring.step(self.journal)
        if self.sealing is not None:
            self._seal(self.sealing)
        if now - self._retired >= _RETIRE_INTERVAL_SECONDS:
            self._retired = now
            gone = retire_sealed_journals(self.journal, self.limits)
            self.capturing.followed.forget(set(gone))
            for name in gone:
                self.tell(f"deleted, for it is sealed: {name}")
            self.events.tidy()

    def _tell_damaged(self) -> None:
        for name, error in self.journal.damaged.items():
            if name not in self._damaged:
                self._damaged.add(name)
                self.tell(
                    f"{error}; it stays as it is, and another goes on in its place: see vacr "
                    "journal verify"
                )

    def _checkpoint(self) -> None:
        now = time.monotonic()
        # A clock that is moved must not keep a key for ever, nor must a watcher that never runs for
        # long.
        age = max(now - self._rotated, time.time() - self.journal.covered.epoch_began / 1000)
        ends_epoch = age >= self.settings.epoch
        while self.journal.uncovered() or ends_epoch:
            if ends_epoch:
                self._rotated = now
            self.journal.checkpoint(ends_epoch=ends_epoch)
            ends_epoch = False
        self._checkpointed, self.capturing.frames = now, 0

    def _seal(self, sealing: SealingQueue) -> None:
        for name in sealing.step():
            journal = self.journal.session(name)
            for one in self.capturing.followed.values():
                if one.journal == name == journal.name:
                    self.capturing.frames += one.note(journal)
        for together in self.capturing.followed.over(self.settings.ended, self.settings.quiet):
            if any(one.place.path in self.capturing.failed for one in together):
                # There is more of it than could be captured.
                continue
            wanted = [SealRequest(one.place, one.journal, one.to_seal) for one in together]
            if sealing.is_wanted(wanted[0]):
                self._checkpoint()
                sealing.start(wanted)

"""Capturing all sessions of a machine: which of them to look at, and where their events belong.

The watcher hands over the paths that changed. `SessionCapture` finds the sessions they belong to
and follows them into their journals; `HookEventCapture` adds the events from the spools of hooks.
A session that cannot be read must not stop the others: `FailureGuard` reports a failure once, and
the caller retries it.

>>> from vacr.capture.session_capture import FailureGuard
>>> guard = FailureGuard(report=print)
>>> def read_session():
...     raise OSError("permission denied")
>>> guard("abc.jsonl", read_session), guard("abc.jsonl", read_session)
abc.jsonl: permission denied
(False, False)
>>> guard("abc.jsonl", lambda: None), guard.fails
(True, False)
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from vacr.capture.chains import EMPTY_CHAIN_HEAD, ChainHead
from vacr.capture.journal import Journal
from vacr.capture.session_journal import SessionJournal, SessionState, list_session_journals
from vacr.capture.session_sources import (
    AgentRoot,
    FileStamp,
    StoredSession,
    TranscriptPlace,
    find_session_project,
    follow_session,
    is_store,
    is_transcript_unchanged,
    list_stored_sessions,
    stamp_database_files,
)
from vacr.capture.spool import (
    SPOOL_FOLDER,
    HookEvent,
    Spool,
    ends_session,
    list_spools,
    parse_event_payload,
    read_hook_events,
)
from vacr.errors import UnreadableInput, VacrError

_TRANSCRIPT_SUFFIXES = (".jsonl", ".json", ".txt")
_MAX_PROJECT_LOOKUPS = 20
_FIRST_RETRY_SECONDS = 1.0
_MAX_RETRY_SECONDS = 60.0
_STORE_PAUSE_SECONDS = 1.0
"""How long a store is left alone after it was exported."""
_UUID_LENGTH = 36
_SPOOL_IDLE_SECONDS = 3600.0
_HOOK_GRACE_SECONDS = 600.0
"""After this time a hook that opened a spool has written, or never will."""


@dataclass(frozen=True)
class WatchSettings:
    """How often the watcher does things, and how long it waits; times are in seconds."""

    checkpoint: float = 10.0
    """The time between two checkpoints, if anything is new."""
    frames: int = 1000
    """After this many new frames a checkpoint is signed in any case."""
    epoch: float = 86_400.0
    """How long a key signs checkpoints before the next key takes over."""
    quiet: float = 1_800.0
    """A session without changes for this long has ended."""
    ended: float = 5.0
    """A transcript is complete this long after its agent reported the end of the session."""
    settling: float = 30.0
    """A session that has only events this long after the last one will not get a transcript."""
    since: float = 0.0
    """Sessions last changed before this time (since 1970) are not followed until they change."""


class FailureGuard:
    """Runs tasks that may fail, and reports a failure once until its message changes."""

    def __init__(self, report: Callable[[str], None]) -> None:
        """Report failures through `report`."""
        self._report = report
        self._failures: dict[str, str] = {}

    @property
    def fails(self) -> bool:
        """Return whether some task failed the last time it ran."""
        return bool(self._failures)

    def __call__(self, subject: str, task: Callable[[], None]) -> bool:
        """Run a task, and return whether it succeeded; report its error with the `subject`.

        Errors of vacr and of the system do not leave this call; bugs do.
        """
        try:
            task()
            self._failures.pop(subject, None)
        except (VacrError, OSError, MemoryError) as error:
            message = str(error)
            if not message.startswith(subject):
                message = f"{subject}: {error}"
            if self._failures.get(subject) != message:
                self._report(message)
            self._failures[subject] = message
            return False
        return True


# --- followed sessions ---


@dataclass
class FollowedSession:
    """A session that is followed; everything here is known without opening its journal."""

    place: TranscriptPlace
    journal: str
    """The name of its journal."""
    head: ChainHead = EMPTY_CHAIN_HEAD
    """The head of its journal."""
    lines: int = 0
    """The number of lines in its transcript."""
    unsealed: int = 0
    """The number of frames with content that is not in a sealed record."""
    has_parts: bool = False
    is_gone: bool = False
    """Whether its transcript was deleted, and the journal notes it."""
    changed: float = 0.0
    """When something was last captured, in seconds since 1970; 0 if unknown."""
    sealed: ChainHead | None = None
    """The last sealed head."""
    ended: bool = False
    """Whether its agent reported its end, and no record was sealed since."""
    project: str = ""
    project_lookups_left: int = _MAX_PROJECT_LOOKUPS
    is_rewritten: bool = False
    """Whether the agent rewrites its transcript, so that lines are not entries."""
    _last_event: int = -1

    @property
    def head_to_seal(self) -> ChainHead:
        """The head to seal: the current one, or the last sealed one if no content is new."""
        return self.sealed if self.sealed is not None and not self.unsealed else self.head

    def update(self, journal: SessionJournal) -> int:
        """Copy the state of its journal, and return how many frames it has more than before."""
        state = journal.state
        known_frames = self.head.frames if journal.name == self.journal else 0
        self.journal, self.head = journal.name, journal.head
        self.unsealed = state.unsealed
        self.has_parts = bool(state.parts)
        self.is_gone = bool(state.parts) and state.parts[0].is_gone
        sealed = state.sealed
        self.sealed = ChainHead(sealed.frames, sealed.head) if sealed is not None else None
        # The first part is the transcript; the other parts have no entries.
        self.lines = state.parts[0].content.lines if state.parts else 0
        self.is_rewritten = state.is_rewritten
        self._update_end(state)
        return journal.head.frames - known_frames

    def _update_end(self, state: SessionState) -> None:
        """Set `ended` by the last event of a hook: True if it ends the session and is unsealed.

        Do nothing without events, or if the last one was looked at before.
        """
        if state.last_event is None:
            return
        frame, payload = state.last_event
        if state.sealed is not None and frame < state.sealed.frames:
            self.ended = False
        elif frame != self._last_event:
            self._last_event, self.ended = frame, ends_session(payload)

    def is_idle(self, ended: float, quiet: float) -> bool:
        """Return whether nothing was captured for `quiet` seconds.

        If its agent reported its end, `ended` seconds suffice.
        """
        # Use the absolute value: a clock that is set back must not keep a session from ending.
        return abs(time.time() - self.changed) >= (min(ended, quiet) if self.ended else quiet)


class FollowedSessions(dict[str, FollowedSession]):
    """The followed sessions, by the names of their places."""

    def __init__(self) -> None:
        """Start without sessions."""
        super().__init__()
        self._by_transcript: dict[Path, FollowedSession] = {}

    def get_or_add(self, place: TranscriptPlace, journal: str) -> FollowedSession:
        """Return the followed session at a place; add it, with this journal name, if it is new."""
        session = self.get(place.name)
        if session is None:
            session = self[place.name] = FollowedSession(place, journal)
            if not place.session:
                self._by_transcript[place.path] = session
        return session

    def forget(self, journals: set[str]) -> None:
        """Remove the sessions of these journals; they are followed again once they change."""
        names = [name for name, session in self.items() if session.journal in journals]
        for name in names:
            self._by_transcript.pop(self.pop(name).place.path, None)

    def find_ended(self, ended: float, quiet: float) -> Iterator[list[FollowedSession]]:
        """Yield groups of sessions to seal: a main session first, then its sub-agents'.

        All sessions of a group are idle, and at least one has unsealed content. `ended` and `quiet`
        have the same meaning as in `FollowedSession.is_idle`.
        """
        idle = [
            session
            for session in self.values()
            if session.unsealed and session.has_parts and session.is_idle(ended, quiet)
        ]
        main_sessions = {id(main): main for main in map(self._find_main_session, idle)}
        for main in main_sessions.values():
            if not main.has_parts or not main.is_idle(ended, quiet):
                continue
            subagents = [
                session
                for session in self.values()
                if session is not main
                and session.has_parts
                and self._find_main_session(session) is main
            ]
            subagent_quiet = ended if main.ended else quiet
            if all(session.is_idle(ended, subagent_quiet) for session in subagents):
                yield [main, *subagents]

    def _find_main_session(self, session: FollowedSession) -> FollowedSession:
        """Return the outermost session that a sub-agent works for, or else the session itself.

        A sub-agent's transcript is in a folder that is named like the transcript of its parent.
        """
        if session.place.session:
            return session
        main = session
        for folder in session.place.path.parents:
            for suffix in _TRANSCRIPT_SUFFIXES:
                if not folder.name:
                    continue
                parent = self._by_transcript.get(folder.with_name(folder.name + suffix))
                if parent is not None and parent.place.agent == session.place.agent:
                    main = parent
        return main


# --- capturing sessions ---


class SessionCapture:
    """Follows the sessions of all agents into their journals."""

    def __init__(
        self, journal: Journal, roots: list[AgentRoot], settings: WatchSettings, guard: FailureGuard
    ) -> None:
        """Prepare to follow the sessions below `roots` into `journal`; `guard` reports failures."""
        self.journal, self.roots, self.settings = journal, roots, settings
        self._guard = guard
        self.followed = FollowedSessions()
        self.failed: dict[Path, tuple[float, float]] = {}
        """Path that could not be followed → when to retry it, and the pause before that."""
        self.frames = 0
        """The number of new frames; each checkpoint resets it."""
        self._postponed: set[Path] = set()
        """Stores that were exported a moment ago, and have changed since."""
        self._stamps: dict[Path, FileStamp] = {}
        self._store_marks: dict[tuple[Path, str], object] = {}
        self._store_exports: dict[Path, float] = {}

    def capture(self, changed: set[Path] | None) -> None:
        """Capture the sessions that the changed paths belong to, or all sessions if None.

        Also retry failures that are due, and stores that were postponed. Failures are reported and
        retried later, not raised.
        """
        now = time.monotonic()
        retries = {path for path, (due, _) in self.failed.items() if due <= now}
        paths = self._list_all_paths() if changed is None else changed | self._postponed
        paths |= retries
        self._postponed = set()
        for root in self.roots:
            for holder in {
                holder for path in paths if (holder := root.find_holder(path)) is not None
            }:
                is_done = self._guard(str(holder), partial(self._look_at_holder, root, holder))
                _, pause = self.failed.pop(holder, (0.0, _FIRST_RETRY_SECONDS / 2))
                if not is_done:
                    self.failed[holder] = (now + pause * 2, min(pause * 2, _MAX_RETRY_SECONDS))

    def _list_all_paths(self) -> set[Path]:
        """Return all files and folders with sessions below the roots, and those followed."""
        paths = {path for root in self.roots for path in root.list_places()}
        return paths.union(
            session.place.path for session in self.followed.values() if not session.is_gone
        )

    def resume(self) -> None:
        """Add the sessions of all journals in the folder that are not followed yet.

        So content that an earlier watcher left uncovered or unsealed is not forgotten.
        """
        known = {session.journal for session in self.followed.values()}
        unknown = [
            name
            for name in list_session_journals(self.journal.folder)
            if name not in known and name not in self.journal.covered.retired
        ]
        for name in unknown:
            journal = self.journal.session(name)
            state = journal.state
            if journal.name == name and state.frames:
                place = TranscriptPlace(state.agent, state.path, state.session)
                self.update(self.followed.get_or_add(place, name), journal)

    def _look_at_holder(self, root: AgentRoot, path: Path) -> None:
        """Follow the sessions in a file, database or folder that may have changed.

        A store that was exported a moment ago is postponed.

        Raises:
            UnreadableInput: the path cannot be read, or links out of the agent's folder.
        """
        if not root.contains(path):
            raise UnreadableInput(
                "not followed: the link leads out of the agent's folder", where=str(path)
            )
        if not is_store(path):
            self._look_at_file(TranscriptPlace(root.agent.name, path))
            return
        if time.monotonic() - self._store_exports.get(path, 0.0) < _STORE_PAUSE_SECONDS:
            self._postponed.add(path)
            return
        self._store_exports[path] = time.monotonic()
        self._look_at_store(root.agent.name, path)

    def _look_at_file(self, place: TranscriptPlace) -> None:
        """Follow a transcript if it changed or was deleted, and is wanted."""
        try:
            status = place.path.stat()
        except FileNotFoundError:
            updated = None
        else:
            if not stat.S_ISREG(status.st_mode) or is_transcript_unchanged(place, self._stamps):
                return
            updated = status.st_mtime
        if self._is_wanted(place, updated):
            self.follow(place)

    def _look_at_store(self, agent: str, path: Path) -> None:
        """Follow each session of a database or folder store that changed since the last look."""
        database_stamps = stamp_database_files(path)
        stored_sessions = list_stored_sessions(path, agent)
        is_alone = len(stored_sessions) == 1
        for session, stored in stored_sessions.items():
            place = TranscriptPlace(agent, path, session)
            # The list need not show every addition to a session, so any change of the database is
            # a reason to look at an active one.
            is_active = is_alone or self._is_active(place)
            mark = (stored.change_mark, database_stamps if is_active else None)
            if self._store_marks.get((path, session)) == mark:
                continue
            if self._follow_stored_session(place, stored):
                self._store_marks[path, session] = mark

    def _is_active(self, place: TranscriptPlace) -> bool:
        """Return whether the session at a place is followed, and changed a short time ago."""
        followed = self.followed.get(place.name)
        return followed is not None and time.time() - followed.changed < self.settings.quiet

    def _follow_stored_session(self, place: TranscriptPlace, stored: StoredSession) -> bool:
        """Follow a session in a store if it is wanted; return whether that worked.

        For a session that is not wanted, return True.
        """
        if not self._is_wanted(place, stored.updated and stored.updated / 1000):
            return True
        follow = partial(self.follow, place, stored.project)
        return self._guard(f"{place.path}: {place.session}", follow)

    def _is_wanted(self, place: TranscriptPlace, updated: float | None) -> bool:
        """Return whether to follow a session: it is followed, has a journal, or is recent enough.

        `updated` is when it last changed, in seconds since 1970, or None if that is unknown or it
        was deleted. A recent change is later than `WatchSettings.since`, and than the deletion of
        its last journal.
        """
        if place.name in self.followed or self.journal.has_session(place.name):
            return True
        retired_at = self.journal.get_retirement_time(place.name) / 1000
        return updated is not None and updated >= max(self.settings.since, retired_at)

    def follow(self, place: TranscriptPlace, project: str = "") -> None:
        """Bring the journal of the session at a place up to date, and start following it.

        `project` is the project of the session, if a store states it; otherwise it is looked up.

        Raises:
            UnreadableInput: the session cannot be read.
            UnwritableJournal: the journal cannot be written.
        """
        journal = self.journal.session(place.name)
        session = self.followed.get_or_add(place, journal.name)
        if project:
            session.project = project
        elif session.project_lookups_left:
            # The first lines of a transcript may not state it, so look again when there are more.
            session.project, is_stated = find_session_project(place, self.roots)
            session.project_lookups_left = 0 if is_stated else session.project_lookups_left - 1
        try:
            follow_session(journal, place, self._stamps)
        finally:
            self.update(session, journal)

    def update(self, session: FollowedSession, journal: SessionJournal) -> None:
        """Copy the state of a journal to its followed session, and add new frames to `frames`."""
        if not session.changed:
            # Earlier content is as old as the journal says.
            session.changed = journal.state.last / 1e9
            session.update(journal)
            self.frames += journal.name in self.journal.list_uncovered_heads()
        elif new_frames := session.update(journal):
            self.frames += new_frames
            session.changed = time.time()


# --- events of hooks ---


class HookEventCapture:
    """Moves the events of hooks from their spools into the journals of their sessions."""

    def __init__(self, state: Path, capturing: SessionCapture, guard: FailureGuard) -> None:
        """Prepare to read the spools in the folder `state`; nothing is read yet."""
        self.folder = state / SPOOL_FOLDER
        self._capturing, self._guard = capturing, guard
        self._spools = SpoolTracker(state)

    @property
    def is_waiting(self) -> bool:
        """Return whether a spool has events whose session is not known yet."""
        return self._spools.is_waiting

    def read_spools(self) -> None:
        """Copy the new events of all spools into the journals of their sessions.

        If that fails for a spool, the failure is reported, and the spool is tried again later.

        Raises:
            UnreadableInput: the first event of a new spool cannot be read.
        """
        for progress in self._spools.find_grown():
            self._guard(str(progress.spool.path), partial(self._read_spool, progress))

    def _read_spool(self, progress: SpoolProgress) -> None:
        """Copy the new events of one spool into its session's journal, and follow the transcript.

        Do nothing while the place of the session is unknown.
        """
        path = progress.spool.path
        size = path.stat().st_size
        place = progress.place = progress.place or self._find_place(progress.spool)
        if place is None:
            return
        if self._get_offset(progress.name, place) == size:
            progress.size = size
            return
        journal = self._capturing.journal.session(place.name)
        if not journal.head.frames:
            journal.begin(place.agent, place.path, place.session)
        session = self._capturing.followed.get_or_add(place, journal.name)
        try:
            while events := read_hook_events(path, self._get_offset(progress.name, place))[0]:
                journal.note_events(progress.name, events)
        finally:
            self._capturing.update(session, journal)
        if not place.session:
            self._capturing.follow(place)
        progress.size = size

    def _find_place(self, spool: Spool) -> TranscriptPlace | None:
        """Return the place of a spool's session, or None while its transcript may still come.

        If no transcript has come `settling` seconds after the last event, return a place for events
        only.

        Raises:
            OSError, UnreadableInput: the spool cannot be read.
        """
        events_only = make_events_only_place(spool)
        if self._capturing.journal.has_session(events_only.name):
            return events_only
        followed = [session.place for session in self._capturing.followed.values()]
        events, _ = read_hook_events(spool.path)
        place = find_spool_place(spool, events, self._capturing.roots, followed)
        age = time.time() - spool.path.stat().st_mtime
        return place if place != events_only or age >= self._capturing.settings.settling else None

    def _get_offset(self, spool_name: str, place: TranscriptPlace) -> int:
        """Return how many bytes of a spool are in the journal of the session at a place."""
        return self._capturing.journal.get_spool_offset(spool_name, place.name)

    def tidy(self) -> None:
        """Remove the idle spools whose events are all in a journal.

        Raises:
            OSError: a spool cannot be removed.
            UnreadableInput: a spool cannot be read.
        """
        self._spools.tidy(self._is_read)

    def _is_read(self, progress: SpoolProgress) -> bool:
        """Return whether all whole events of a spool are in a journal; False without a place."""
        if progress.place is None:
            return False
        offset = self._get_offset(progress.name, progress.place)
        events, _ = read_hook_events(progress.spool.path, offset)
        return not events


def find_spool_place(
    spool: Spool, events: list[HookEvent], roots: list[AgentRoot], known: list[TranscriptPlace]
) -> TranscriptPlace:
    """Return the place of the session that a spool's events belong to.

    It is the transcript that an event names, if one of the `roots` allows it, or else the matching
    one of the `known` places. Without either, return a place for events only.
    """
    for event in events:
        named = parse_event_payload(event.payload).get("transcript_path")
        if isinstance(named, str) and named and "\0" not in named:
            path = Path(named)
            for root in roots:
                if root.agent.name == spool.agent and _is_transcript(root, path):
                    return TranscriptPlace(spool.agent, path)
    for place in known:
        if place.agent == spool.agent and _matches_session(place, spool.session):
            return place
    return make_events_only_place(spool)


def make_events_only_place(spool: Spool) -> TranscriptPlace:
    """Return the place of a spool's session if it has no transcript: the path of the spool."""
    return TranscriptPlace(spool.agent, spool.hook_path, spool.session)


def _is_transcript(root: AgentRoot, path: Path) -> bool:
    """Return whether a path from an event is a place for a transcript below a root.

    The file need not exist yet. An event may name any path, so return False on any error.
    """
    try:
        # An impossible name, for example an overlong one, raises another error.
        with suppress(FileNotFoundError):
            path.lstat()
        return root.find_holder(path) == path and root.contains(path) and not is_store(path)
    except (OSError, ValueError):
        return False


def _matches_session(place: TranscriptPlace, session: str) -> bool:
    """Return whether the session at a place has this id, or a file name that ends with it.

    For example, the file `2026-01-02-ID.jsonl` matches if the id is as long as a UUID.
    """
    stem = place.path.stem
    if session in (place.session, stem):
        return True
    return len(session) >= _UUID_LENGTH and stem.endswith(f"-{session}")


@dataclass
class SpoolProgress:
    """A spool, and how much of it was read."""

    spool: Spool
    name: str
    """The name of the spool in the journal: its path and the time of its first event.

    The path alone is not enough: after a spool was removed, another may get the same path.
    """
    inode: int
    place: TranscriptPlace | None = None
    """The place of its session, once known."""
    size: int = 0
    """Its size when all of it was read."""


class SpoolTracker:
    """The spools in a state folder, and how much of each was read."""

    def __init__(self, state: Path) -> None:
        """Track the spools in a state folder."""
        self._state = state
        self._known: dict[Path, SpoolProgress] = {}
        self.is_waiting = False
        """Whether the session of some spool is not known yet."""

    def find_grown(self) -> Iterator[SpoolProgress]:
        """Yield the spools with unread bytes, and set `is_waiting`.

        Raises:
            UnreadableInput: a spool cannot be read.
        """
        self.is_waiting = False
        for spool in list_spools(self._state):
            progress = self._get_progress(spool)
            if progress is not None and spool.path.stat().st_size != progress.size:
                yield progress
                # The consumer sets the place if it can find one.
                self.is_waiting = self.is_waiting or progress.place is None

    def _get_progress(self, spool: Spool) -> SpoolProgress | None:
        """Return the progress of a spool, or None if it has no event yet to identify it."""
        known, inode = self._known.get(spool.path), spool.path.stat().st_ino
        if known is not None and known.inode == inode:
            return known
        events, _ = read_hook_events(spool.path, chunk_size=1)
        if not events:
            return None
        name = f"{spool.agent}/{spool.hook_path.name}@{events[0].time}"
        progress = self._known[spool.path] = SpoolProgress(spool, name, inode)
        return progress

    def tidy(self, is_read: Callable[[SpoolProgress], bool]) -> None:
        """Rename idle spools that were read, by `is_read`; remove spools that were renamed before.

        A renamed spool is removed after a grace period, in case a hook still had it open.

        Raises:
            OSError: a spool cannot be removed.
            UnreadableInput: a spool cannot be read.
        """
        now = time.time()
        for spool in list(list_spools(self._state)):
            progress, status = self._get_progress(spool), spool.path.stat()
            if progress is None or progress.place is None or progress.size != status.st_size:
                continue
            if not is_read(progress):
                continue
            if spool.is_taken:
                if now - status.st_ctime > _HOOK_GRACE_SECONDS:
                    spool.path.unlink()
                    self._known.pop(spool.path, None)
            elif now - status.st_mtime > _SPOOL_IDLE_SECONDS and not spool.taken_path.exists():
                self._rename_to_taken(spool)

    def _rename_to_taken(self, spool: Spool) -> None:
        """Rename a spool to its taken path, and keep its progress."""
        taken_path = spool.taken_path
        spool.path.rename(taken_path)
        progress = self._known.pop(spool.path)
        self._known[taken_path] = replace(progress, spool=replace(spool, path=taken_path))

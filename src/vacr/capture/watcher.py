"""The watcher: follows the sessions of all agents on this machine into the journal, and has them sealed when they end.

Nothing here stops for one session that cannot be read, or for a service that cannot be reached: it is told, and tried again.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vacr.capture import spool
from vacr.capture.anchoring import Anchoring
from vacr.capture.events import place_of, place_of_events
from vacr.capture.followed import Followed, Sessions
from vacr.capture.following import Look, follow, is_as_seen, sessions_at, state_of
from vacr.capture.hooked import Spooled, Spools
from vacr.capture.journal import Journal
from vacr.capture.layout import names
from vacr.capture.places import Place, Root, is_store, project_of
from vacr.capture.retention import Limits, retire
from vacr.capture.sealing import Sealing, ToSeal
from vacr.capture.session_journal import SessionJournal
from vacr.errors import UnreadableInput, VacrError

_RETIRING = 600.0
_AGAIN = 1.0
_SELDOM = 60.0
_STORE_PAUSE = 1.0
"""Seconds between two looks into the same store, which is exported each time."""


@dataclass(frozen=True)
class Settings:
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
    """So long after an event of a session of which there is nothing else, there will be nothing else."""
    since: float = 0.0
    """What was changed before this time, and is not followed yet, is left alone until it changes."""


class Watcher:
    """Follows sessions; `tell` is given what a person should know."""

    def __init__(
        self,
        journal: Journal,
        roots: list[Root],
        state: Path,
        settings: Settings,
        *,
        sealing: Sealing | None = None,
        anchoring: Anchoring | None = None,
        limits: Limits | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Say what is followed, and where hooks leave their events."""
        self.journal, self.roots, self.state, self.settings = journal, roots, state, settings
        self.sealing, self.anchoring, self.limits, self.tell = sealing, anchoring, limits or Limits(), tell
        self.followed = Sessions()
        self._is_begun = False
        self._looks: dict[Path, Look] = {}
        self._signs: dict[tuple[Path, str], object] = {}
        self._stores: dict[Path, float] = {}
        self._later: set[Path] = set()
        self._failed: dict[Path, tuple[float, float]] = {}
        """What could not be followed, when that is tried again, and after how long it was tried."""
        self._spools = Spools(state)
        self._frames = 0
        self._checkpointed = self._rotated = time.monotonic()
        self._retired = -_RETIRING
        self._told: dict[str, str] = {}

    def step(self, changed: set[Path] | None) -> None:
        """Capture what has changed, or look at everything, and do what is due."""
        now = time.monotonic()
        again = {path for path, (due, _) in self._failed.items() if due <= now}
        paths = (self._everything() if changed is None else changed | self._later) | again
        self._later = set()
        for root in self.roots:
            for holder in {found for path in paths if (found := root.holder(path)) is not None}:
                done = self._guarded(str(holder), lambda root=root, holder=holder: self._look(root, holder))  # type: ignore[misc]
                _, pause = self._failed.pop(holder, (0.0, _AGAIN / 2))
                if not done:
                    self._failed[holder] = (now + pause * 2, min(pause * 2, _SELDOM))
        spooled = self.state / spool.FOLDER
        if changed is None or self._spools.wait or any(path.is_relative_to(spooled) for path in changed):
            self._guarded("the hooks", self._events)
        if not self._is_begun:
            self._is_begun = True
            self._guarded("the journal", self._take_up)
        self._guarded("the journal", self._due)

    def finish(self) -> None:
        """Cover what was captured by a last checkpoint, and wait for what is under way."""
        if self.sealing is not None:
            self._guarded("the journal", self.sealing.finish)
        self._guarded("the journal", self._checkpoint)
        if (anchoring := self.anchoring) is not None:
            self._guarded("the log", lambda: anchoring.finish(self.journal))

    def _everything(self) -> set[Path]:
        followed = (one.place.path for one in self.followed.values() if not one.is_gone)
        return {path for root in self.roots for path in root.places()}.union(followed)

    def _guarded(self, what: str, work: Callable[[], None]) -> bool:
        """Do something, and tell whether it was done; what goes wrong is told once, and keeps nothing else back."""
        try:
            work()
            self._told.pop(what, None)
        except (VacrError, OSError, MemoryError) as error:
            told = str(error) if str(error).startswith(what) else f"{what}: {error}"
            if self._told.get(what) != told:
                self.tell(told)
            self._told[what] = told
            return False
        return True

    # --- sessions ---

    def _take_up(self) -> None:
        """Take up what an earlier watcher left uncovered or unsealed, though nothing changes there any more."""
        known = {one.journal for one in self.followed.values()}
        for name in [
            name for name in names(self.journal.folder) if name not in known and name not in self.journal.covered.retired
        ]:
            journal = self.journal.session(name)
            if journal.name == name and journal.state.frames:
                state = journal.state
                self._noted(self.followed.of(Place(state.agent, state.path, state.session), name), journal)

    def _look(self, root: Root, path: Path) -> None:
        if not root.owns(path):
            raise UnreadableInput("a link that leads out of the agent's folder, and is not followed", where=str(path))
        if not is_store(path):
            self._look_at_file(Place(root.reader.name, path))
            return
        if time.monotonic() - self._stores.get(path, 0.0) < _STORE_PAUSE:
            self._later.add(path)
            return
        self._stores[path] = time.monotonic()
        state = state_of(path)
        found = sessions_at(path, root.reader.name)
        for session, (updated, listed) in found.items():
            place = Place(root.reader.name, path, session)
            # What an agent adds to a session need not show in the list: one that is alive is looked at after any change.
            one = self.followed.get(place.name)
            is_alive = len(found) == 1 or (one is not None and time.time() - one.changed < self.settings.quiet)
            sign = (listed, state if is_alive else None)
            if self._signs.get((path, session)) == sign:
                continue
            is_wanted = self._is_wanted(place, updated and updated / 1000)
            if not is_wanted or self._guarded(f"{path}: {session}", lambda place=place: self._follow(place)):  # type: ignore[misc]
                self._signs[path, session] = sign

    def _look_at_file(self, place: Place) -> None:
        try:
            status = place.path.stat()
        except FileNotFoundError:
            updated = None
        else:
            if not stat.S_ISREG(status.st_mode) or is_as_seen(place, self._looks):
                return
            updated = status.st_mtime
        if self._is_wanted(place, updated):
            self._follow(place)

    def _is_wanted(self, place: Place, updated: float | None) -> bool:
        if place.name in self.followed or self.journal.holds(place.name):
            return True
        since = max(self.settings.since, self.journal.retired_at(place.name) / 1000)
        return updated is not None and updated >= since

    def _follow(self, place: Place) -> None:
        journal = self.journal.session(place.name)
        one = self.followed.of(place, journal.name)
        if not one.project:
            one.project = project_of(place)
        try:
            follow(journal, place, self._looks)
        finally:
            self._noted(one, journal)

    def _noted(self, one: Followed, journal: SessionJournal) -> None:
        if not one.changed:
            # What was there before is as old as its journal says.
            one.changed = journal.state.last / 1e9
            one.note(journal)
            self._frames += journal.name in self.journal.uncovered()
        elif new := one.note(journal):
            self._frames += new
            one.changed = time.time()

    # --- hooks ---

    def _events(self) -> None:
        for one in self._spools.grown():
            self._guarded(str(one.spool.path), lambda one=one: self._spooled(one))  # type: ignore[misc]

    def _spooled(self, found: Spooled) -> None:
        path = found.spool.path
        size = path.stat().st_size
        place = found.place = found.place or self._place_of(found.spool)
        if place is None:
            return
        if self.journal.read_of(found.name, place.name) == size:
            found.size = size
            return
        journal = self.journal.session(place.name)
        if not journal.head.frames:
            journal.begin(place.agent, place.path, place.session)
        one = self.followed.of(place, journal.name)
        try:
            while events := spool.read(path, self.journal.read_of(found.name, place.name))[0]:
                journal.events(found.name, events)
        finally:
            self._noted(one, journal)
        if not place.session:
            self._follow(place)
        found.size = size

    def _place_of(self, found: spool.Spool) -> Place | None:
        """Give the place of the session that a spool is of; nothing while its agent may not have put it anywhere yet."""
        alone = place_of_events(found)
        if self.journal.holds(alone.name):
            return alone
        place = place_of(found, spool.read(found.path)[0], self.roots, [one.place for one in self.followed.values()])
        is_settled = time.time() - found.path.stat().st_mtime >= self.settings.settling
        return place if place != alone or is_settled else None

    def _is_read(self, found: Spooled) -> bool:
        """Tell whether all events that a spool holds are in a journal; half of one is none."""
        if found.place is None:
            return False
        return not spool.read(found.spool.path, self.journal.read_of(found.name, found.place.name))[0]

    # --- what is due ---

    def _due(self) -> None:
        now = time.monotonic()
        waited = now - self._checkpointed
        if self._frames and (waited >= self.settings.checkpoint or self._frames >= self.settings.frames):
            self._checkpoint()
        if self.anchoring is not None:
            self.anchoring.step(self.journal)
        if self.sealing is not None:
            self._seal(self.sealing)
        if now - self._retired >= _RETIRING:
            self._retired = now
            gone = retire(self.journal, self.limits)
            self.followed.forget(set(gone))
            for name in gone:
                self.tell(f"deleted, being sealed: {name}")
            self._spools.tidy(self._is_read)

    def _checkpoint(self) -> None:
        now = time.monotonic()
        # A clock that is moved must not keep a key for ever, nor must a watcher that never runs for long.
        age = max(now - self._rotated, time.time() - self.journal.covered.epoch_began / 1000)
        ends_epoch = age >= self.settings.epoch
        while self.journal.uncovered() or ends_epoch:
            if ends_epoch:
                self._rotated = now
            self.journal.checkpoint(ends_epoch=ends_epoch)
            ends_epoch = False
        self._checkpointed, self._frames = now, 0

    def _seal(self, sealing: Sealing) -> None:
        for name in sealing.step():
            journal = self.journal.session(name)
            for one in self.followed.values():
                if one.journal == name == journal.name:
                    self._frames += one.note(journal)
        for together in self.followed.over(self.settings.ended, self.settings.quiet):
            if any(one.place.path in self._failed for one in together):
                # There is more of it than could be captured.
                continue
            wanted = [ToSeal(one.place, one.journal, one.to_seal) for one in together]
            if sealing.is_wanted(wanted[0]):
                self._checkpoint()
                sealing.start(wanted)

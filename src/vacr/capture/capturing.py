"""Capturing sessions: where something may be new, and what of it goes into which journal."""

from __future__ import annotations

import stat
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vacr.capture.followed import Followed, Sessions
from vacr.capture.following import Look, follow, is_as_seen, sessions_at, state_of
from vacr.capture.guarding import Guard
from vacr.capture.journal import Journal
from vacr.capture.layout import names
from vacr.capture.places import Place, Root, is_store, project_of
from vacr.capture.session_journal import SessionJournal
from vacr.errors import UnreadableInput

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
    """So long after an event of a session of which there is nothing else, there will be nothing
    else.
    """
    since: float = 0.0
    """What was changed before this time, and is not followed yet, is left alone until it changes.
    """


class Capturing:
    """The sessions that are followed, with what was seen of them."""

    def __init__(
        self, journal: Journal, roots: list[Root], settings: Settings, guard: Guard
    ) -> None:
        """Say what is followed, and into which journal."""
        self.journal, self.roots, self.settings, self._guard = journal, roots, settings, guard
        self.followed = Sessions()
        self.failed: dict[Path, tuple[float, float]] = {}
        """What could not be followed, when that is tried again, and after how long it was tried."""
        self.frames = 0
        """How many frames came; whoever makes a checkpoint sets it back."""
        self._later: set[Path] = set()
        """What was looked at a moment ago, and has to be looked at again."""
        self._looks: dict[Path, Look] = {}
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
                done = self._guard(
                    str(holder), lambda root=root, holder=holder: self._look(root, holder)
                )  # type: ignore[misc]
                _, pause = self.failed.pop(holder, (0.0, _AGAIN / 2))
                if not done:
                    self.failed[holder] = (now + pause * 2, min(pause * 2, _SELDOM))

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
            for name in names(self.journal.folder)
            if name not in known and name not in self.journal.covered.retired
        ]:
            journal = self.journal.session(name)
            if journal.name == name and journal.state.frames:
                state = journal.state
                self.note(
                    self.followed.of(Place(state.agent, state.path, state.session), name), journal
                )

    def _look(self, root: Root, path: Path) -> None:
        if not root.owns(path):
            raise UnreadableInput(
                "a link that leads out of the agent's folder, and is not followed", where=str(path)
            )
        if not is_store(path):
            self._look_at_file(Place(root.reader.name, path))
            return
        if time.monotonic() - self._stores.get(path, 0.0) < _STORE_PAUSE:
            self._later.add(path)
            return
        self._stores[path] = time.monotonic()
        state = state_of(path)
        found = sessions_at(path, root.reader.name)
        for session, stored in found.items():
            place = Place(root.reader.name, path, session)
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
            self.follow(place)

    def _is_wanted(self, place: Place, updated: float | None) -> bool:
        if place.name in self.followed or self.journal.holds(place.name):
            return True
        since = max(self.settings.since, self.journal.retired_at(place.name) / 1000)
        return updated is not None and updated >= since

    def follow(self, place: Place, project: str = "") -> None:
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
            one.project, is_said = project_of(place, self.roots)
            one.looks_for_project = 0 if is_said else one.looks_for_project - 1
        try:
            follow(journal, place, self._looks)
        finally:
            self.note(one, journal)

    def note(self, one: Followed, journal: SessionJournal) -> None:
        """Take what the journal of a session says now."""
        if not one.changed:
            # What was there before is as old as its journal says.
            one.changed = journal.state.last / 1e9
            one.note(journal)
            self.frames += journal.name in self.journal.uncovered()
        elif new := one.note(journal):
            self.frames += new
            one.changed = time.time()

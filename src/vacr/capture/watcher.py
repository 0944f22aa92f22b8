"""The watcher: follows the sessions of all agents on this machine into the journal, and has them sealed when they end.

Nothing here stops for one session that cannot be read, or for a service that cannot be reached: it is told, and tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from vacr.capture import spool
from vacr.capture.anchoring import Anchoring
from vacr.capture.events import ends_session, place_of
from vacr.capture.following import Look, follow, sessions_at
from vacr.capture.journal import Journal
from vacr.capture.places import Place, Root, is_store, project_of
from vacr.capture.retention import Limits, retire
from vacr.capture.sealing import Sealing, ToSeal
from vacr.capture.session_journal import SessionJournal
from vacr.errors import VacrError

_RETIRING = 600.0
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
    since: float = 0.0
    """What was changed before this time, and is not followed yet, is left alone until it changes."""


@dataclass
class Followed:
    """A session that is followed."""

    place: Place
    journal: str
    """The name of its journal."""
    lines: int = 0
    changed: float = 0.0
    """When something was last captured of it."""
    ended: bool = False
    """Whether its agent said that it is over."""
    project: str = ""


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
        self.followed: dict[str, Followed] = {}
        self._looks: dict[Path, Look] = {}
        self._signs: dict[tuple[Path, str], object] = {}
        self._stores: dict[Path, float] = {}
        self._later: set[Path] = set()
        self._places: dict[Path, Place] = {}
        self._spools: dict[Path, int] = {}
        self._frames = 0
        self._checkpointed = self._rotated = time.monotonic()
        self._retired = 0.0
        self._told: dict[str, str] = {}

    def step(self, changed: set[Path] | None) -> None:
        """Capture what has changed, or look at everything, and do what is due."""
        paths = self._everything() if changed is None else changed | self._later
        self._later = set()
        for root in self.roots:
            for holder in {found for path in paths if (found := root.holder(path)) is not None}:
                self._guarded(str(holder), lambda root=root, holder=holder: self._look(root, holder))  # type: ignore[misc]
        self._guarded("the hooks", self._events)
        self._guarded("the journal", self._due)

    def finish(self) -> None:
        """Cover what was captured by a last checkpoint, and wait for what is under way."""
        if self.sealing is not None:
            self._guarded("the journal", self.sealing.finish)
        self._guarded("the journal", self._checkpoint)
        if (anchoring := self.anchoring) is not None:
            self._guarded("the log", lambda: anchoring.finish(self.journal))

    def _everything(self) -> set[Path]:
        return {path for root in self.roots for path in root.places()}

    def _guarded(self, what: str, work: Callable[[], None]) -> None:
        """Do something; what goes wrong is told once, and keeps nothing else back."""
        try:
            work()
            self._told.pop(what, None)
        except (VacrError, OSError, MemoryError) as error:
            told = f"{what}: {error}"
            if self._told.get(what) != told:
                self.tell(told)
            self._told[what] = told

    # --- sessions ---

    def _look(self, root: Root, path: Path) -> None:
        if not is_store(path):
            place = Place(root.reader.name, path)
            if self._is_wanted(place, path.stat().st_mtime if path.exists() else None):
                self._follow(place)
            return
        if time.monotonic() - self._stores.get(path, 0.0) < _STORE_PAUSE:
            self._later.add(path)
            return
        self._stores[path] = time.monotonic()
        for session, (updated, sign) in sessions_at(path, root.reader.name).items():
            place = Place(root.reader.name, path, session)
            if self._signs.get((path, session)) != sign and self._is_wanted(place, updated and updated / 1000):
                self._follow(place)
            self._signs[path, session] = sign

    def _is_wanted(self, place: Place, updated: float | None) -> bool:
        is_new = updated is not None and updated >= self.settings.since
        return is_new or place.name in self.followed or self.journal.holds(place.name)

    def _follow(self, place: Place) -> None:
        journal = self.journal.session(place.name)
        one = self.followed.setdefault(place.name, Followed(place, journal.name))
        one.journal = journal.name
        if not one.project:
            one.project = project_of(place)
        before = journal.head.frames
        try:
            follow(journal, place, self._looks)
        finally:
            self._noted(one, journal, before)

    def _noted(self, one: Followed, journal: SessionJournal, before: int) -> None:
        new = journal.head.frames - before
        self._frames += new
        one.lines = sum(part.content.lines for part in journal.state.parts)
        if new:
            one.changed = time.time()
        elif not one.changed:
            one.changed = journal.state.last / 1e9

    # --- hooks ---

    def _events(self) -> None:
        for found in spool.spools(self.state):
            self._guarded(str(found.path), lambda found=found: self._spooled(found))  # type: ignore[misc]

    def _spooled(self, found: spool.Spool) -> None:
        size = found.path.stat().st_size
        if self._spools.get(found.path) == size:
            return
        name = f"{found.agent}/{found.path.name}"
        place = self._places.get(found.path)
        if place is None:
            events, _ = spool.read(found.path)
            place = place_of(found, events, self.roots, [one.place for one in self.followed.values()])
            self._places[found.path] = place
        journal = self.journal.session(place.name)
        if not journal.head.frames:
            journal.begin(place.agent, place.path, place.session)
        one = self.followed.setdefault(place.name, Followed(place, journal.name))
        before = journal.head.frames
        while events := spool.read(found.path, journal.state.spools.get(name, 0))[0]:
            journal.events(name, events)
            one.ended = any(map(ends_session, events))
        self._noted(one, journal, before)
        if not place.session:
            self._follow(place)
        self._spools[found.path] = size

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
            for name in retire(self.journal, self.limits):
                self.tell(f"deleted, being sealed: {name}")

    def _checkpoint(self) -> None:
        now = time.monotonic()
        ends_epoch = now - self._rotated >= self.settings.epoch
        while self.journal.uncovered() or ends_epoch:
            self.journal.checkpoint(ends_epoch=ends_epoch)
            self._rotated, ends_epoch = (now if ends_epoch else self._rotated), False
        self._checkpointed, self._frames = now, 0

    def _over(self) -> Iterable[Followed]:
        """Give the sessions that have ended, or in which nothing has happened for long."""
        now = time.time()
        for one in list(self.followed.values()):
            # A clock that was moved back must not keep a session from ending.
            idle = abs(now - one.changed)
            if idle >= (self.settings.ended if one.ended else self.settings.quiet):
                yield one

    def _seal(self, sealing: Sealing) -> None:
        sealing.step()
        for one in self._over():
            together = self._together(one)
            if together and sealing.is_wanted(together[0]):
                self._checkpoint()
                sealing.start(together)

    def _together(self, main: Followed) -> list[ToSeal]:
        """Give a session with those of its sub-agents; nothing for a sub-agent's own, or where nothing is new."""
        place = main.place
        if any(_works_for(place, other.place) for other in self.followed.values()):
            return []
        found = []
        for one in [main, *(one for one in self.followed.values() if _works_for(one.place, place))]:
            journal = self.journal.session(one.place.name)
            if journal.state.parts:
                found.append((ToSeal(one.place, journal.name, journal.head), journal.state.unsealed))
        is_main = found and found[0][0].place == place
        return [one for one, _ in found] if is_main and any(unsealed for _, unsealed in found) else []


def _works_for(place: Place, other: Place) -> bool:
    """Tell whether a transcript lies in the folder of another, as those of sub-agents do."""
    if place.session or other.session or place.agent != other.agent:
        return False
    return place.path != other.path and other.path.with_suffix("") in place.path.parents

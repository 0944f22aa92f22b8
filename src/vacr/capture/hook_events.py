"""The events of hooks: from their spools into the journals of the sessions that they are of."""

from __future__ import annotations

import time
from pathlib import Path

from vacr.capture import spool
from vacr.capture.capturing import Capturing
from vacr.capture.events import place_of, place_of_events
from vacr.capture.guarding import Guard
from vacr.capture.hooked import Spooled, Spools
from vacr.capture.places import Place


class HookEvents:
    """What hooks leave in a state folder."""

    def __init__(self, state: Path, capturing: Capturing, guard: Guard) -> None:
        """Say where it is, and who captures."""
        self.folder = state / spool.FOLDER
        self._capturing, self._guard = capturing, guard
        self._spools = Spools(state)

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

    def _spooled(self, found: Spooled) -> None:
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
            while events := spool.read(
                path, self._capturing.journal.read_of(found.name, place.name)
            )[0]:
                journal.events(found.name, events)
        finally:
            self._capturing.note(one, journal)
        if not place.session:
            self._capturing.follow(place)
        found.size = size

    def _place_of(self, found: spool.Spool) -> Place | None:
        """Give the place of the session that a spool is of; nothing while its agent may not have
        put it anywhere yet.
        """
        alone = place_of_events(found)
        if self._capturing.journal.holds(alone.name):
            return alone
        followed = [one.place for one in self._capturing.followed.values()]
        place = place_of(found, spool.read(found.path)[0], self._capturing.roots, followed)
        is_settled = time.time() - found.path.stat().st_mtime >= self._capturing.settings.settling
        return place if place != alone or is_settled else None

    def _is_read(self, found: Spooled) -> bool:
        """Tell whether all events that a spool holds are in a journal; half of one is none."""
        if found.place is None:
            return False
        return not spool.read(
            found.spool.path, self._capturing.journal.read_of(found.name, found.place.name)
        )[0]

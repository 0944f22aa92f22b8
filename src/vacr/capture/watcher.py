"""The watcher: follows the sessions of all agents on this machine into the journal, and has them
sealed when they end.

Nothing here stops for one session that cannot be read, or for a service that cannot be reached: it
is told, and tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from vacr.capture.anchoring import Anchoring
from vacr.capture.capturing import Capturing, Settings
from vacr.capture.guarding import Guard
from vacr.capture.hook_events import HookEvents
from vacr.capture.journal import Journal
from vacr.capture.places import Root
from vacr.capture.retention import Limits, retire
from vacr.capture.sealing import Sealing, ToSeal

_RETIRING = 600.0


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
        self.journal, self.settings = journal, settings
        self.sealing, self.anchoring, self.limits, self.tell = (
            sealing,
            anchoring,
            limits or Limits(),
            tell,
        )
        self._guard = Guard(tell)
        self.capturing = Capturing(journal, roots, settings, self._guard)
        self.events = HookEvents(state, self.capturing, self._guard)
        self._is_begun = False
        self._damaged: set[str] = set()
        self._checkpointed = self._rotated = time.monotonic()
        self._retired = -_RETIRING

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
        if now - self._retired >= _RETIRING:
            self._retired = now
            gone = retire(self.journal, self.limits)
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

    def _seal(self, sealing: Sealing) -> None:
        for name in sealing.step():
            journal = self.journal.session(name)
            for one in self.capturing.followed.values():
                if one.journal == name == journal.name:
                    self.capturing.frames += one.note(journal)
        for together in self.capturing.followed.over(self.settings.ended, self.settings.quiet):
            if any(one.place.path in self.capturing.failed for one in together):
                # There is more of it than could be captured.
                continue
            wanted = [ToSeal(one.place, one.journal, one.to_seal) for one in together]
            if sealing.is_wanted(wanted[0]):
                self._checkpoint()
                sealing.start(wanted)

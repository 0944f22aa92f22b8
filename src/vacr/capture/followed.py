"""The sessions that a watcher follows, and which of them have ended. What is known of them is known
without their journals.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.events import ends_session
from vacr.capture.frames import NOTHING, Head
from vacr.capture.places import Place
from vacr.capture.session_journal import SessionJournal, State

_ENDINGS = (".jsonl", ".json", ".txt")


@dataclass
class Followed:
    """A session that is followed."""

    place: Place
    journal: str
    """The name of its journal."""
    head: Head = NOTHING
    lines: int = 0
    """How many lines its transcript has."""
    unsealed: int = 0
    """How many frames hold something that no sealed record does."""
    has_parts: bool = False
    is_gone: bool = False
    """Whether its transcript is not there any more, and the journal says so."""
    changed: float = 0.0
    """When something was last captured of it."""
    sealed: Head | None = None
    """Up to where it was last sealed."""
    ended: bool = False
    """Whether its agent said that it is over, and no record was sealed since."""
    project: str = ""
    looks_for_project: int = 20
    """How often its project is still looked for."""
    is_rewritten: bool = False
    """Whether its agent writes it anew, so that its lines are not its entries."""
    _event: int = -1

    def note(self, journal: SessionJournal) -> int:
        """Take what its journal says; gives how many frames are new."""
        state, new = (
            journal.state,
            journal.head.frames - (self.head.frames if journal.name == self.journal else 0),
        )
        self.journal, self.head, self.unsealed, self.has_parts = (
            journal.name,
            journal.head,
            state.unsealed,
            bool(state.parts),
        )
        self.is_gone = bool(state.parts) and state.parts[0].is_gone
        self.sealed = (
            Head(state.sealed.frames, state.sealed.head) if state.sealed is not None else None
        )
        # What lies beside a transcript has no entries.
        self.lines = state.parts[0].content.lines if state.parts else 0
        self.is_rewritten = state.is_rewritten
        self._note_end(state)
        return new

    @property
    def to_seal(self) -> Head:
        """Up to where there is something to be sealed: what was sealed already is the same record
        again.
        """
        return self.sealed if self.sealed is not None and not self.unsealed else self.head

    def _note_end(self, state: State) -> None:
        if state.last_event is None:
            return
        frame, payload = state.last_event
        if state.sealed is not None and frame < state.sealed.frames:
            self.ended = False
        elif frame != self._event:
            self._event, self.ended = frame, ends_session(payload)


class Sessions(dict[str, Followed]):
    """The sessions that are followed, by the names of their places."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self._at: dict[Path, Followed] = {}

    def of(self, place: Place, journal: str) -> Followed:
        """Give the session of a place, which may be new."""
        found = self.get(place.name)
        if found is None:
            found = self[place.name] = Followed(place, journal)
            if not place.session:
                self._at[place.path] = found
        return found

    def forget(self, journals: set[str]) -> None:
        """Follow some no longer, whose journals were deleted, unless they change."""
        for name in [name for name, one in self.items() if one.journal in journals]:
            self._at.pop(self.pop(name).place.path, None)

    def over(self, ended: float, quiet: float) -> Iterator[list[Followed]]:
        """Give the sessions that have something to be sealed and have ended, or in which nothing
        has happened for long.

        Each comes with those of its sub-agents.
        """
        idle = [
            one
            for one in self.values()
            if one.unsealed and one.has_parts and _is_idle(one, ended, quiet)
        ]
        for main in {id(one): one for one in map(self._main, idle)}.values():
            if not main.has_parts or not _is_idle(main, ended, quiet):
                continue
            working = [
                one
                for one in self.values()
                if one is not main and one.has_parts and self._main(one) is main
            ]
            if all(_is_idle(one, ended, ended if main.ended else quiet) for one in working):
                yield [main, *working]

    def _main(self, one: Followed) -> Followed:
        """Give the session that a sub-agent works for, whose transcript lies in the folder of that
        one's; or else itself.
        """
        if one.place.session:
            return one
        found = one
        for folder in one.place.path.parents:
            for ending in _ENDINGS:
                main = self._at.get(folder.with_name(folder.name + ending)) if folder.name else None
                if main is not None and main.place.agent == one.place.agent:
                    found = main
        return found


def _is_idle(one: Followed, ended: float, quiet: float) -> bool:
    # A clock that was moved back must not keep a session from ending.
    return abs(time.time() - one.changed) >= (min(ended, quiet) if one.ended else quiet)

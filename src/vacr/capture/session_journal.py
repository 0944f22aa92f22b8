"""The journal of one session: what was first seen of it, and all that became of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vacr.capture import notes
from vacr.capture.contents import Content
from vacr.capture.events import ends_session
from vacr.capture.frames import NOTHING, Broken, Chain, Head, Scan, frames
from vacr.capture.notes import Note, note
from vacr.capture.spool import Event
from vacr.version import __version__

_PIECE = 1 << 20
"""No frame holds more of a part."""


@dataclass
class CapturedPart:
    """A part of a session as it was last seen."""

    number: int
    name: str
    path: Path
    rewritten: bool
    """Whether its agent writes all of it anew."""
    content: Content = field(default_factory=lambda: Content(held=bytearray()))
    changes: int = 0
    """How often bytes that had been seen became others."""
    is_gone: bool = False
    time: int = 0
    """When it was last seen to change, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class SealedAs:
    """The record that was made of the first frames of a journal."""

    frames: int
    head: bytes
    """The hash of the last of them."""
    record: bytes
    statement: bytes
    time: int


class State:
    """What the notes of a journal add up to."""

    def __init__(self, where: str) -> None:
        """Begin with nothing."""
        self.where = where
        self.agent = self.session = ""
        self.path = Path()
        self.began = self.last = self.changed = 0
        """When it was begun, when the last note was made, and the last one of a part, in
        nanoseconds.
        """
        self.frames = 0
        self.parts: list[CapturedPart] = []
        self.spools: dict[str, int] = {}
        """How far each spool was read."""
        self.events = 0
        self.last_event: tuple[int, bytes] | None = None
        """What a hook was told last, and in which frame that is."""
        self.sealed: SealedAs | None = None
        self._unsealed: list[int] = []

    @property
    def is_rewritten(self) -> bool:
        """Whether its agent writes the session anew, and not only to its end."""
        return bool(self.parts) and self.parts[0].rewritten

    @property
    def unsealed(self) -> int:
        """How many frames hold something that no sealed record does."""
        return len(self._unsealed)

    def read(self, payload: bytes) -> Note:
        """Read the next note, without taking it yet.

        Raises:
            Broken: it is none.
        """
        return notes.read(payload, self.where, self.frames)

    def take(self, found: Note) -> None:
        """Take the next note.

        Raises:
            Broken: it does not fit those before it.
        """
        if (self.frames == 0) != (found["kind"] == "began"):
            raise Broken("a journal begins once", where=self.where, frame=self.frames)
        getattr(self, f"_{found['kind']}")(found)
        self.last = found["time"]
        self.frames += 1

    def _began(self, found: Note) -> None:
        self.agent, self.session, self.began = found["agent"], found["session"], found["time"]
        self.path = Path(os.fsdecode(found["path"]))

    def _part(self, found: Note) -> None:
        if found["part"] != len(self.parts):
            raise Broken("a part with another number", where=self.where, frame=self.frames)
        self.parts.append(
            CapturedPart(
                found["part"],
                found["name"],
                Path(os.fsdecode(found["path"])),
                rewritten=found["rewritten"],
            )
        )

    def _bytes(self, found: Note) -> None:
        part = self._named(found)
        if found["at"] + found["cut"] > part.content.size:
            raise Broken("more is cut than was there", where=self.where, frame=self.frames)
        part.changes += found["cut"] > 0
        part.is_gone, part.time = False, found["time"]
        self.changed = found["time"]
        part.content.change(found["at"], found["cut"], found["data"])
        self._unsealed.append(self.frames)

    def _gone(self, found: Note) -> None:
        self._named(found).is_gone = True

    def _event(self, found: Note) -> None:
        self.spools[found["spool"]] = found["end"]
        self.events += 1
        self.last_event = (self.frames, found["data"])
        # That a session is over, of which all is sealed, is nothing to be sealed once more.
        if self.sealed is None or self._unsealed or not ends_session(found["data"]):
            self._unsealed.append(self.frames)

    def _sealed(self, found: Note) -> None:
        self.sealed = SealedAs(
            found["frames"], found["head"], found["record"], found["statement"], found["time"]
        )
        self._unsealed = [frame for frame in self._unsealed if frame >= found["frames"]]

    def _named(self, found: Note) -> CapturedPart:
        if found["part"] >= len(self.parts):
            raise Broken("a part that was not named", where=self.where, frame=self.frames)
        return self.parts[found["part"]]


class SessionJournal:
    """A journal that is open to be added to."""

    def __init__(self, name: str, path: Path, vouched: Head = NOTHING) -> None:
        """Open it, or begin it, and read what it holds.

        Raises:
            Broken: it is not what it was.
            OSError: it cannot be read or made.
        """
        self.name = name
        self.chain = Chain(path)
        self.state = State(name)
        try:
            for _, payload in self.chain.recover(vouched):
                self.state.take(self.state.read(payload))
        except BaseException:
            self.close()
            raise
        for part in self.state.parts:
            if not part.rewritten:
                part.content.held = None

    @property
    def head(self) -> Head:
        """Where it stands."""
        return self.chain.head

    def close(self) -> None:
        """Close it."""
        self.chain.close()

    def begin(self, agent: str, path: Path, session: str) -> None:
        """Note whose session it is."""
        self._add(
            note(
                "began",
                time.time_ns(),
                agent=agent,
                path=os.fsencode(path),
                session=session,
                recorder=__version__,
            )
        )

    def part(self, name: str, path: Path, *, rewritten: bool) -> CapturedPart:
        """Give a part by its name, which may be new."""
        for part in self.state.parts:
            if part.name == name:
                return part
        number = len(self.state.parts)
        self._add(
            note(
                "part",
                time.time_ns(),
                part=number,
                name=name,
                path=os.fsencode(path),
                rewritten=rewritten,
            )
        )
        found = self.state.parts[number]
        found.content.held = bytearray() if rewritten else None
        return found

    def change(
        self, part: CapturedPart, *changes: tuple[int, int, bytes], seen: int | None = None
    ) -> None:
        """Note that bytes of a part became others, or that some were added; it was looked at now,
        unless told when.

        Each change says where, how many bytes are no more, and which came; it is made after those
        before it.
        """
        if part.content.held is None and any(
            (at, cut) != (part.content.size, 0) for at, cut, _ in changes
        ):
            part.content.replace(bytearray(self.content(part)))
        now = time.time_ns() if seen is None else seen
        written = []
        for at, cut, data in changes:
            for first in range(0, len(data), _PIECE) if data else (0,):
                piece = {
                    "at": at + first,
                    "cut": 0 if first else cut,
                    "data": data[first : first + _PIECE],
                }
                written.append(note("bytes", now, part=part.number, **piece))
        self._add(*written)
        if not part.rewritten:
            part.content.held = None

    def gone(self, part: CapturedPart) -> None:
        """Note that a part is not there any more."""
        if not part.is_gone:
            self._add(note("gone", time.time_ns(), part=part.number))

    def events(self, spool: str, found: Iterable[Event]) -> None:
        """Note what hooks were told."""
        now = time.time_ns()
        self._add(
            *(
                note("event", now, happened=one.time, spool=spool, end=one.end, data=one.payload)
                for one in found
            )
        )

    def seal(self, head: Head, record: bytes, statement: bytes) -> None:
        """Note the record that was made of the journal up to a head."""
        self._add(
            note(
                "sealed",
                time.time_ns(),
                frames=head.frames,
                head=head.hash,
                record=record,
                statement=statement,
            )
        )

    def content(self, part: CapturedPart) -> bytes:
        """Give the bytes of a part as they were last seen."""
        if part.content.held is not None:
            return bytes(part.content.held)
        *_, state = states(self.chain.path, self.name, self.head)
        return bytes(state.parts[part.number].content.held or b"")

    def _add(self, *written: bytes) -> None:
        if written:
            self.chain.append(written)
            for payload in written:
                self.state.take(self.state.read(payload))


def states(path: Path, name: str, vouched: Head, scan: Scan | None = None) -> Iterator[State]:
    """Give what a journal adds up to, after each of its notes; it is not changed.

    Raises:
        Broken: it is not what it was.
        OSError: it cannot be read.
    """
    state = State(name)
    with path.open("rb") as file:
        for _, payload in frames(file, name, scan or Scan(), vouched):
            state.take(state.read(payload))
            yield state

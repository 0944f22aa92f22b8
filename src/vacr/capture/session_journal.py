r"""The journal of one session: every byte that was captured of it, in the order of capture.

Agents rewrite, truncate and delete their transcripts. A session's journal therefore stores changes
instead of files: each frame holds a note, and replaying the notes gives the parts of the session
as they were at any moment.

>>> from pathlib import Path
>>> from vacr.capture.session_journal import SessionJournal
>>> journal = SessionJournal("some-agent/abc", Path("abc.frames"))
>>> journal.begin("some-agent", Path("abc.jsonl"), "")
>>> part = journal.open_part("abc.jsonl", Path("abc.jsonl"), rewritten=False)
>>> journal.note_changes(part, (0, 0, b"one\ntwo\n"))
>>> journal.note_changes(part, (4, 3, b"three"))  # at offset 4, three bytes became five
>>> journal.read_part(part), journal.head.frames
(b'one\nthree\n', 4)
>>> journal.close()

A note is a CBOR map with its `kind`, the `time` in nanoseconds, and these members:

| kind | meaning | members |
|---|---|---|
| `began` | the session that is followed, and its path | agent, path, session, recorder |
| `part` | a file of the session, or an export of its store | part, name, path, rewritten |
| `bytes` | at offset `at`, `cut` bytes of a part became `data` | part, at, cut, data |
| `gone` | a part was deleted | part |
| `event` | a hook's event, and where it ends in its spool | happened, spool, end, data |
| `sealed` | a record was made from the first frames | frames, head, record, statement |
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import cbor2

from vacr.capture.chains import (
    EMPTY_CHAIN_HEAD,
    BrokenJournal,
    ChainHead,
    ChainScan,
    FrameChain,
    read_frames,
)
from vacr.capture.spool import HookEvent, ends_session
from vacr.record import encode
from vacr.version import __version__

SESSIONS_FOLDER = "sessions"

JournalNote = dict[str, Any]

_FRAMES_SUFFIX = ".frames"
_MAX_FRAME_DATA = 1 << 20
"""The most bytes of a part in one frame."""
_MAX_NOTE_DEPTH = 4
_TAIL_SIZE = 1 << 12

_NOTE_MEMBERS: dict[str, dict[str, type]] = {
    "began": {"agent": str, "path": bytes, "session": str, "recorder": str},
    "part": {"part": int, "name": str, "path": bytes, "rewritten": bool},
    "bytes": {"part": int, "at": int, "cut": int, "data": bytes},
    "gone": {"part": int},
    "event": {"happened": int, "spool": str, "end": int, "data": bytes},
    "sealed": {"frames": int, "head": bytes, "record": bytes, "statement": bytes},
}


def get_session_journal_path(folder: Path, name: str) -> Path:
    """Return the path of the session journal `name` in the folder of the machine's journal."""
    return folder / SESSIONS_FOLDER / f"{name}{_FRAMES_SUFFIX}"


def list_session_journals(folder: Path) -> Iterator[str]:
    """Yield the names of all session journals in the folder of the machine's journal, sorted."""
    root = folder / SESSIONS_FOLDER
    yield from sorted(
        path.relative_to(root).as_posix().removesuffix(_FRAMES_SUFFIX)
        for path in root.glob(f"*/*{_FRAMES_SUFFIX}")
    )


class SessionJournal:
    """The journal of a session, open for appending."""

    def __init__(self, name: str, path: Path, required: ChainHead = EMPTY_CHAIN_HEAD) -> None:
        """Open or create the journal at `path`, and read its notes.

        Raises:
            BrokenJournal: its frames do not reach the required head intact.
            OSError: it cannot be read or created.
        """
        self.name = name
        self.chain = FrameChain(path)
        self.state = SessionState(name)
        try:
            for _, payload in self.chain.recover(required):
                self.state.apply_note(self.state.decode_note(payload))
        except BaseException:
            self.close()
            raise
        for part in self.state.parts:
            # Growing files can be large, and can be read from the journal again.
            if not part.rewritten:
                part.content.loaded = None

    @property
    def head(self) -> ChainHead:
        """The head of the journal's chain."""
        return self.chain.head

    def close(self) -> None:
        """Close the journal's file."""
        self.chain.close()

    def begin(self, agent: str, path: Path, session: str) -> None:
        """Append the first note: the session's agent, path, and id or an empty string.

        Raises:
            UnwritableJournal: the note cannot be written. The same holds for all other notes.
        """
        note = encode_journal_note(
            "began",
            time.time_ns(),
            agent=agent,
            path=os.fsencode(path),
            session=session,
            recorder=__version__,
        )
        self._append(note)

    def open_part(self, name: str, path: Path, *, rewritten: bool) -> CapturedPart:
        """Return the part with this name; append a note about it if it is new.

        Set `rewritten` if the agent rewrites the whole part instead of appending to it.
        """
        for part in self.state.parts:
            if part.name == name:
                return part
        number = len(self.state.parts)
        note = encode_journal_note(
            "part",
            time.time_ns(),
            part=number,
            name=name,
            path=os.fsencode(path),
            rewritten=rewritten,
        )
        self._append(note)
        part = self.state.parts[number]
        part.content.loaded = bytearray() if rewritten else None
        return part

    def note_changes(
        self, part: CapturedPart, *changes: tuple[int, int, bytes], seen: int | None = None
    ) -> None:
        """Append notes about changes of a part's bytes, and apply them to the part.

        A change is an offset, the number of bytes that were removed there, and their replacement;
        its offset is valid after the changes before it. `seen` is the time in nanoseconds since
        1970, or None for now.
        """
        content = part.content
        if content.loaded is None and any((at, cut) != (content.size, 0) for at, cut, _ in changes):
            content.replace(bytearray(self.read_part(part)))
        now = time.time_ns() if seen is None else seen
        notes = []
        for at, cut, data in changes:
            for first in range(0, len(data), _MAX_FRAME_DATA) if data else (0,):
                splice = {
                    "at": at + first,
                    "cut": 0 if first else cut,
                    "data": data[first : first + _MAX_FRAME_DATA],
                }
                notes.append(encode_journal_note("bytes", now, part=part.number, **splice))
        self._append(*notes)
        if not part.rewritten:
            content.loaded = None

    def note_removal(self, part: CapturedPart) -> None:
        """Append a note that a part was deleted, unless the last note about it says so."""
        if not part.is_gone:
            self._append(encode_journal_note("gone", time.time_ns(), part=part.number))

    def note_events(self, spool: str, events: Iterable[HookEvent]) -> None:
        """Append a note for each event that was read from the spool with this name."""
        now = time.time_ns()
        notes = [
            encode_journal_note(
                "event",
                now,
                happened=event.time,
                spool=spool,
                end=event.end,
                data=event.payload,
            )
            for event in events
        ]
        self._append(*notes)

    def note_seal(self, head: ChainHead, record: bytes, statement: bytes) -> None:
        """Append a note that the journal up to `head` was sealed as a record.

        `record` and `statement` are the digests of the record and its signed statement.
        """
        note = encode_journal_note(
            "sealed",
            time.time_ns(),
            frames=head.frames,
            head=head.hash,
            record=record,
            statement=statement,
        )
        self._append(note)

    def read_part(self, part: CapturedPart) -> bytes:
        """Return the bytes of a part as they were last seen."""
        if part.content.loaded is not None:
            return bytes(part.content.loaded)
        *_, state = replay_journal(self.chain.path, self.name, self.head)
        return bytes(state.parts[part.number].content.loaded or b"")

    def _append(self, *notes: bytes) -> None:
        """Append encoded notes to the chain, and apply them to the state."""
        if notes:
            self.chain.append(notes)
            for payload in notes:
                self.state.apply_note(self.state.decode_note(payload))


def replay_journal(
    path: Path, name: str, required: ChainHead, scan: ChainScan | None = None
) -> Iterator[SessionState]:
    """Yield the state of a session after each note of its journal, without changing the journal.

    It is the same object each time. The journal has to reach the `required` head, and `scan` is
    kept up to date, if given.

    Raises:
        BrokenJournal: the frames do not reach the required head intact.
        OSError: the journal cannot be read.
    """
    state = SessionState(name)
    with path.open("rb") as file:
        for _, payload in read_frames(file, name, scan or ChainScan(), required):
            state.apply_note(state.decode_note(payload))
            yield state


@dataclass(frozen=True, slots=True)
class SealedPrefix:
    """The first frames of a journal after they were sealed as a record."""

    frames: int
    head: bytes
    """The hash of the last of these frames."""
    record: bytes
    """The digest of the record."""
    statement: bytes
    """The digest of its signed statement."""
    time: int
    """When the seal was noted, in nanoseconds since 1970."""


class SessionState:
    """The state of a session after the notes of its journal that were applied so far."""

    def __init__(self, where: str) -> None:
        """Start without notes; `where` names the journal in errors."""
        self.where = where
        self.agent = self.session = ""
        self.path = Path()
        self.began = self.last = self.changed = 0
        """Times of the first note, the last note, and the last change of a part, in nanoseconds."""
        self.frames = 0
        self.parts: list[CapturedPart] = []
        self.spools: dict[str, int] = {}
        """Spool → how many bytes of it were read."""
        self.events = 0
        self.last_event: tuple[int, bytes] | None = None
        """The frame and the payload of the last hook event."""
        self.sealed: SealedPrefix | None = None
        self._unsealed: list[int] = []

    @property
    def is_rewritten(self) -> bool:
        """Return whether the agent rewrites the whole session instead of appending to it."""
        return bool(self.parts) and self.parts[0].rewritten

    @property
    def unsealed(self) -> int:
        """The number of frames with content that is not in a sealed record."""
        return len(self._unsealed)

    def decode_note(self, payload: bytes) -> JournalNote:
        """Return the next note, decoded from the payload of its frame; do not apply it.

        Raises:
            BrokenJournal: the payload is not a note.
        """
        return decode_journal_note(payload, self.where, self.frames)

    def apply_note(self, note: JournalNote) -> None:
        """Change the state by the next note.

        Raises:
            BrokenJournal: the note contradicts the notes before it.
        """
        if (self.frames == 0) != (note["kind"] == "began"):
            raise BrokenJournal(
                "is out of place: only frame 0 begins a journal",
                where=self.where,
                frame=self.frames,
            )
        getattr(self, f"_apply_{note['kind']}")(note)
        self.last = note["time"]
        self.frames += 1

    def _apply_began(self, note: JournalNote) -> None:
        """Set the agent, session id and path of the session."""
        self.agent, self.session, self.began = note["agent"], note["session"], note["time"]
        self.path = Path(os.fsdecode(note["path"]))

    def _apply_part(self, note: JournalNote) -> None:
        """Add an empty part; raise BrokenJournal if its number is not the next one."""
        if note["part"] != len(self.parts):
            raise BrokenJournal(
                "opens a part with the wrong number", where=self.where, frame=self.frames
            )
        path = Path(os.fsdecode(note["path"]))
        part = CapturedPart(note["part"], note["name"], path, rewritten=note["rewritten"])
        self.parts.append(part)

    def _apply_bytes(self, note: JournalNote) -> None:
        """Splice bytes into a part; raise BrokenJournal if the part has too few bytes."""
        part = self._get_part(note)
        if note["at"] + note["cut"] > part.content.size:
            raise BrokenJournal(
                "removes more bytes than the part has", where=self.where, frame=self.frames
            )
        part.changes += note["cut"] > 0
        part.is_gone, part.time = False, note["time"]
        self.changed = note["time"]
        part.content.splice(note["at"], note["cut"], note["data"])
        self._unsealed.append(self.frames)

    def _apply_gone(self, note: JournalNote) -> None:
        """Mark a part as deleted; raise BrokenJournal if the part is unknown."""
        self._get_part(note).is_gone = True

    def _apply_event(self, note: JournalNote) -> None:
        """Count a hook event, and note how much of its spool was read."""
        self.spools[note["spool"]] = note["end"]
        self.events += 1
        self.last_event = (self.frames, note["data"])
        # If everything else is sealed, the end of the session need not be sealed as well.
        if self.sealed is None or self._unsealed or not ends_session(note["data"]):
            self._unsealed.append(self.frames)

    def _apply_sealed(self, note: JournalNote) -> None:
        """Set the sealed record, and forget the unsealed frames that it covers."""
        self.sealed = SealedPrefix(
            note["frames"], note["head"], note["record"], note["statement"], note["time"]
        )
        self._unsealed = [frame for frame in self._unsealed if frame >= note["frames"]]

    def _get_part(self, note: JournalNote) -> CapturedPart:
        """Return the part that a note is about.

        Raises:
            BrokenJournal: no earlier note has opened that part.
        """
        if note["part"] >= len(self.parts):
            raise BrokenJournal(
                "names a part that no earlier frame opens", where=self.where, frame=self.frames
            )
        return self.parts[note["part"]]


class PartContent:
    """The bytes of a part as last seen: in memory, or only their size, line count and tail."""

    def __init__(
        self, size: int = 0, lines: int = 0, tail: bytes = b"", loaded: bytearray | None = None
    ) -> None:
        """Start with `size` bytes in `lines` lines.

        `tail` has the last bytes, and `loaded` all of them, or None if they are not in memory.
        """
        self.size, self.tail = size, tail
        """The number of bytes, and the last of them: they identify a file that has only grown."""
        self._lines: int | None = lines
        self._loaded = loaded
        self._appended: list[bytes] = []
        """Bytes that follow the loaded ones; joining them late makes a replay linear."""

    @property
    def loaded(self) -> bytearray | None:
        """The bytes, or None if they are not in memory; joined with the bytes appended since."""
        if self._loaded is not None and self._appended:
            self._loaded += b"".join(self._appended)
            self._appended = []
        return self._loaded

    @loaded.setter
    def loaded(self, loaded: bytearray | None) -> None:
        self._lines = self.lines
        self._loaded, self._appended = loaded, []

    @property
    def lines(self) -> int:
        """The number of newlines in the bytes."""
        if self._lines is None:
            self._lines = (self.loaded or b"").count(b"\n")
        return self._lines

    def replace(self, loaded: bytearray) -> None:
        """Replace all bytes by `loaded`, and keep these in memory."""
        self.size, self.tail = len(loaded), bytes(loaded[-_TAIL_SIZE:])
        self._loaded, self._appended, self._lines = loaded, [], None

    def splice(self, at: int, cut: int, data: bytes) -> None:
        """Replace the `cut` bytes at the offset `at` by `data`.

        If the bytes are not in memory, only appending at the end is possible.
        """
        if (at, cut) == (self.size, 0):
            self.size += len(data)
            self.tail = (self.tail + data[-_TAIL_SIZE:])[-_TAIL_SIZE:]
            if self._loaded is None:
                self._lines = self.lines + data.count(b"\n")
            else:
                self._appended.append(data)
                self._lines = None
            return
        loaded = self.loaded
        loaded = loaded if loaded is not None else bytearray()
        loaded[at : at + cut] = data
        self.replace(loaded)


@dataclass
class CapturedPart:
    """A part of a session, such as a file, as last seen."""

    number: int
    """Its index in the session; part 0 is the transcript."""
    name: str
    path: Path
    rewritten: bool
    """Whether the agent rewrites the whole part instead of appending to it."""
    content: PartContent = field(default_factory=lambda: PartContent(loaded=bytearray()))
    changes: int = 0
    """How often bytes that had been captured were replaced or removed."""
    is_gone: bool = False
    """Whether the part was deleted."""
    time: int = 0
    """When a change of the part was last captured, in nanoseconds since 1970; 0 if never."""


def encode_journal_note(kind: str, time: int, **members: Any) -> bytes:
    """Return a note as CBOR: its kind, its time in nanoseconds since 1970, and its `members`."""
    return encode({"kind": kind, "time": time, **members}, "cbor")


def decode_journal_note(payload: bytes, where: str, frame: int) -> JournalNote:
    """Return a note, decoded from CBOR, after checking its kind and the types of its members.

    `where` and `frame` name the journal and the frame in the error.

    Raises:
        BrokenJournal: the payload is not a note of this version.
    """
    try:
        # The frame's hash covers these bytes, so they need no check for canonical encoding.
        note = cbor2.loads(
            payload,
            tag_hook=_refuse_tag,
            max_depth=_MAX_NOTE_DEPTH,
            allow_indefinite=False,
            allow_duplicate_keys=False,
        )
        members = _NOTE_MEMBERS[note["kind"]]
        is_valid = type(note["time"]) is int
        for name, kind in members.items():
            value: Any = note[name]
            is_valid = is_valid and type(value) is kind and not (kind is int and note[name] < 0)
        if is_valid:
            return dict(note)
    except (
        cbor2.CBORError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ):
        pass
    raise BrokenJournal(
        "cannot be read: its content is not a note that this version of vacr knows",
        where=where,
        frame=frame,
    )


def _refuse_tag(*_: Any) -> NoReturn:
    """Raise ValueError: a note has no CBOR tags."""
    raise ValueError("a tag")

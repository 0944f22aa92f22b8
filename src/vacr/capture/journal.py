"""What a part of a session holds: its bytes as they were last seen, after every change.

The journal of one session: what was first seen of it, and all that became of it.

The journal of a machine: a chain for each session, and over them a chain of signed checkpoints.

One process at a time adds to it. Whatever happens, what a checkpoint covers is there as it was, or
is found to be missing.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from vacr.capture.checkpoints import (
    MAX_CHECKPOINT_SESSIONS,
    EpochKeys,
    JournalCheckpoint,
    JournalCoverage,
)
from vacr.capture.frames import (
    CHECKPOINTS_FILE,
    EMPTY_CHAIN_HEAD,
    SESSIONS_FOLDER,
    BrokenJournal,
    ChainHead,
    ChainScan,
    FrameChain,
    JournalNote,
    UnwritableJournal,
    decode_journal_note,
    encode_journal_note,
    get_session_journal_path,
    list_session_journals,
    read_frames,
)
from vacr.capture.spool import HookEvent, ends_session
from vacr.errors import UnreadableInput, UsageError
from vacr.files import (
    describe_file_error,
    hold_file_lock,
    make_state_folder_error,
    sync_folder_and_parents,
)
from vacr.record import encode
from vacr.signing import compute_thumbprint, compute_thumbprint_uri
from vacr.version import __version__

_TAIL_SIZE = 1 << 12


class PartContent:
    """The bytes of a part as they were last seen, without the bytes themselves where those only
    ever grew.
    """

    def __init__(
        self, size: int = 0, lines: int = 0, tail: bytes = b"", held: bytearray | None = None
    ) -> None:
        """Begin with what was seen."""
        self.size, self.tail = size, tail
        """How many there are, and the last of them, by which a file is known again."""
        self._lines: int | None = lines
        self._held = held
        self._added: list[bytes] = []
        """What came after the bytes that are held: putting it there takes longer than reading it
        did.
        """

    @property
    def held(self) -> bytearray | None:
        """The bytes, if they are held."""
        if self._held is not None and self._added:
            self._held += b"".join(self._added)
            self._added = []
        return self._held

    @held.setter
    def held(self, held: bytearray | None) -> None:
        self._lines = self.lines
        self._held, self._added = held, []

    @property
    def lines(self) -> int:
        """How many lines there are."""
        if self._lines is None:
            self._lines = (self.held or b"").count(b"\n")
        return self._lines

    def replace(self, held: bytearray) -> None:
        """Note that all of it is something else now."""
        self.size, self.tail = len(held), bytes(held[-_TAIL_SIZE:])
        self._held, self._added, self._lines = held, [], None

    def change(self, at: int, cut: int, data: bytes) -> None:
        """Note a change; the bytes have to be held, unless it is at the end."""
        if (at, cut) == (self.size, 0):
            self.size += len(data)
            self.tail = (self.tail + data[-_TAIL_SIZE:])[-_TAIL_SIZE:]
            if self._held is None:
                self._lines = self.lines + data.count(b"\n")
            else:
                self._added.append(data)
                self._lines = None
            return
        held = self.held
        held = held if held is not None else bytearray()
        held[at : at + cut] = data
        self.replace(held)


_MAX_FRAME_DATA = 1 << 20
"""No frame holds more of a part."""


@dataclass
class CapturedPart:
    """A part of a session as it was last seen."""

    number: int
    name: str
    path: Path
    rewritten: bool
    """Whether its agent writes all of it anew."""
    content: PartContent = field(default_factory=lambda: PartContent(held=bytearray()))
    changes: int = 0
    """How often bytes that had been seen became others."""
    is_gone: bool = False
    time: int = 0
    """When it was last seen to change, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class SealedPrefix:
    """The record that was made of the first frames of a journal."""

    frames: int
    head: bytes
    """The hash of the last of them."""
    record: bytes
    statement: bytes
    time: int


class SessionState:
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
        self.sealed: SealedPrefix | None = None
        self._unsealed: list[int] = []

    @property
    def is_rewritten(self) -> bool:
        """Whether its agent writes the session anew, and not only to its end."""
        return bool(self.parts) and self.parts[0].rewritten

    @property
    def unsealed(self) -> int:
        """How many frames hold something that no sealed record does."""
        return len(self._unsealed)

    def read(self, payload: bytes) -> JournalNote:
        """Read the next note, without taking it yet.

        Raises:
            Broken: it is none.
        """
        return decode_journal_note(payload, self.where, self.frames)

    def take(self, found: JournalNote) -> None:
        """Take the next note.

        Raises:
            Broken: it does not fit those before it.
        """
        if (self.frames == 0) != (found["kind"] == "began"):
            raise BrokenJournal("a journal begins once", where=self.where, frame=self.frames)
        getattr(self, f"_{found['kind']}")(found)
        self.last = found["time"]
        self.frames += 1

    def _began(self, found: JournalNote) -> None:
        self.agent, self.session, self.began = found["agent"], found["session"], found["time"]
        self.path = Path(os.fsdecode(found["path"]))

    def _part(self, found: JournalNote) -> None:
        if found["part"] != len(self.parts):
            raise BrokenJournal("a part with another number", where=self.where, frame=self.frames)
        self.parts.append(
            CapturedPart(
                found["part"],
                found["name"],
                Path(os.fsdecode(found["path"])),
                rewritten=found["rewritten"],
            )
        )

    def _bytes(self, found: JournalNote) -> None:
        part = self._named(found)
        if found["at"] + found["cut"] > part.content.size:
            raise BrokenJournal("more is cut than was there", where=self.where, frame=self.frames)
        part.changes += found["cut"] > 0
        part.is_gone, part.time = False, found["time"]
        self.changed = found["time"]
        part.content.change(found["at"], found["cut"], found["data"])
        self._unsealed.append(self.frames)

    def _gone(self, found: JournalNote) -> None:
        self._named(found).is_gone = True

    def _event(self, found: JournalNote) -> None:
        self.spools[found["spool"]] = found["end"]
        self.events += 1
        self.last_event = (self.frames, found["data"])
        # That a session is over, of which all is sealed, is nothing to be sealed once more.
        if self.sealed is None or self._unsealed or not ends_session(found["data"]):
            self._unsealed.append(self.frames)

    def _sealed(self, found: JournalNote) -> None:
        self.sealed = SealedPrefix(
            found["frames"], found["head"], found["record"], found["statement"], found["time"]
        )
        self._unsealed = [frame for frame in self._unsealed if frame >= found["frames"]]

    def _named(self, found: JournalNote) -> CapturedPart:
        if found["part"] >= len(self.parts):
            raise BrokenJournal("a part that was not named", where=self.where, frame=self.frames)
        return self.parts[found["part"]]


class SessionJournal:
    """A journal that is open to be added to."""

    def __init__(self, name: str, path: Path, vouched: ChainHead = EMPTY_CHAIN_HEAD) -> None:
        """Open it, or begin it, and read what it holds.

        Raises:
            Broken: it is not what it was.
            OSError: it cannot be read or made.
        """
        self.name = name
        self.chain = FrameChain(path)
        self.state = SessionState(name)
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
    def head(self) -> ChainHead:
        """Where it stands."""
        return self.chain.head

    def close(self) -> None:
        """Close it."""
        self.chain.close()

    def begin(self, agent: str, path: Path, session: str) -> None:
        """Note whose session it is."""
        self._add(
            encode_journal_note(
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
            encode_journal_note(
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
            for first in range(0, len(data), _MAX_FRAME_DATA) if data else (0,):
                piece = {
                    "at": at + first,
                    "cut": 0 if first else cut,
                    "data": data[first : first + _MAX_FRAME_DATA],
                }
                written.append(encode_journal_note("bytes", now, part=part.number, **piece))
        self._add(*written)
        if not part.rewritten:
            part.content.held = None

    def gone(self, part: CapturedPart) -> None:
        """Note that a part is not there any more."""
        if not part.is_gone:
            self._add(encode_journal_note("gone", time.time_ns(), part=part.number))

    def events(self, spool: str, found: Iterable[HookEvent]) -> None:
        """Note what hooks were told."""
        now = time.time_ns()
        self._add(
            *(
                encode_journal_note(
                    "event", now, happened=one.time, spool=spool, end=one.end, data=one.payload
                )
                for one in found
            )
        )

    def seal(self, head: ChainHead, record: bytes, statement: bytes) -> None:
        """Note the record that was made of the journal up to a head."""
        self._add(
            encode_journal_note(
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
        *_, state = replay_journal(self.chain.path, self.name, self.head)
        return bytes(state.parts[part.number].content.held or b"")

    def _add(self, *written: bytes) -> None:
        if written:
            self.chain.append(written)
            for payload in written:
                self.state.take(self.state.read(payload))


def replay_journal(
    path: Path, name: str, vouched: ChainHead, scan: ChainScan | None = None
) -> Iterator[SessionState]:
    """Give what a journal adds up to, after each of its notes; it is not changed.

    Raises:
        Broken: it is not what it was.
        OSError: it cannot be read.
    """
    state = SessionState(name)
    with path.open("rb") as file:
        for _, payload in read_frames(file, name, scan or ChainScan(), vouched):
            state.take(state.read(payload))
            yield state


_LOCK_TIMEOUT = 0.2
_MAX_OPEN_JOURNALS = 256
_OWNER_ONLY = 0o700


class Journal:
    """A journal that is open to be added to."""

    def __init__(self, folder: Path) -> None:
        """Open it, or begin it.

        Raises:
            UsageError: another process adds to it.
            Broken: its chain of checkpoints is not what it was.
            UnreadableInput: it cannot be read or made, or its key is gone.
        """
        self.folder = folder
        self.work = folder / "work"
        """Where copies of sessions may lie meanwhile; what a watcher that was killed left there is
        removed.
        """
        self.damaged: dict[str, BrokenJournal] = {}
        """Journals of sessions that are not what they were, by their names: others went on in their
        place.
        """
        self._open: dict[str, SessionJournal] = {}
        self._grown: dict[str, ChainHead] = {}
        try:
            with ExitStack() as opened:
                self._begin(opened)
                self._opened_here = opened.pop_all()
        except TimeoutError as error:
            hint = "Stop that one, or name another folder with VACR_STATE."
            raise UsageError("another vacr watch adds to this journal", hint=hint) from error
        except (OSError, UnwritableJournal, UnreadableInput) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError):
                raise make_state_folder_error(folder, cause) from error
            raise
        except BrokenJournal as error:
            error.hint = (
                "vacr journal verify tells what is left of it. To begin another, move "
                "its folder away."
            )
            raise

    def _begin(self, opened: ExitStack) -> None:
        self.folder.parent.mkdir(_OWNER_ONLY, parents=True, exist_ok=True)
        self.folder.mkdir(_OWNER_ONLY, exist_ok=True)
        (self.folder / SESSIONS_FOLDER).mkdir(exist_ok=True)
        os.chmod(self.folder, _OWNER_ONLY)  # noqa: PTH101 - conversations are nobody else's
        opened.enter_context(hold_file_lock(self.folder / "lock", _LOCK_TIMEOUT))
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(_OWNER_ONLY, exist_ok=True)
        self._chain = FrameChain(self.folder / CHECKPOINTS_FILE)
        opened.callback(self._chain.close)
        self.covered = JournalCoverage(str(self._chain.path))
        for before, payload in self._chain.recover(one_by_one=True):
            self.covered.take(payload, before)
        if self.covered.key is None and any(list_session_journals(self.folder)):
            raise BrokenJournal(
                "there are journals of sessions, and the checkpoint is missing",
                where=self.covered.where,
                frame=0,
            )
        self._keys = EpochKeys(self.folder)
        if self.covered.key is None:
            sync_folder_and_parents(self.folder)
            self._signer = self._keys.begin()
            self.checkpoint()
        else:
            self._signer = self._keys.current(compute_thumbprint(self.covered.key))

    def close(self) -> None:
        """Close it, and let others add to it."""
        for journal in self._open.values():
            journal.close()
        self._open.clear()
        self._opened_here.close()

    # --- sessions ---

    def session(self, name: str) -> SessionJournal:
        """Give the journal of a session, to be added to.

        One that is not what it was stays as it is, to be found out; another one goes on under a
        name with a number.

        Raises:
            UnreadableInput: it cannot be read or made.
        """
        number = 1
        while True:
            numbered = _make_numbered_name(name, number)
            if numbered in self._open:
                self._open[numbered] = found = self._open.pop(
                    numbered
                )  # those that were not asked for long are closed first
                return found
            try:
                if numbered not in self.covered.retired:
                    return self._opened(numbered)
            except BrokenJournal as error:
                self.damaged[numbered] = error
            except OSError as error:
                raise UnreadableInput(
                    describe_file_error(error),
                    where=str(get_session_journal_path(self.folder, numbered)),
                ) from error
            number += 1

    def _opened(self, name: str) -> SessionJournal:
        path = get_session_journal_path(self.folder, name)
        path.parent.mkdir(exist_ok=True)
        while len(self._open) >= _MAX_OPEN_JOURNALS:
            oldest, closed = next(iter(self._open.items()))
            self._grown[oldest] = closed.head
            self._open.pop(oldest).close()
        found = self._open[name] = SessionJournal(
            name, path, self.covered.sessions.get(name, EMPTY_CHAIN_HEAD)
        )
        self._grown[name] = found.head
        return found

    def read_of(self, spool: str, name: str) -> int:
        """Tell how far a spool was read into the journal of a session, or into one before it that
        is deleted.
        """
        before = self.covered.spools.get(spool, 0)
        return self.session(name).state.spools.get(spool, before) if self.holds(name) else before

    def holds(self, name: str) -> bool:
        """Tell whether there is a journal of a session that was not deleted."""
        return get_session_journal_path(self.folder, self._after_retired(name)[0]).exists()

    def retired_at(self, name: str) -> int:
        """Tell when the last journal of a session was deleted, in milliseconds; zero where none
        was.
        """
        return self._after_retired(name)[1]

    def _after_retired(self, name: str) -> tuple[str, int]:
        """Give the name that the journal of a session has after all that were deleted, and when the
        last of these was.
        """
        number, when = 1, 0
        while (numbered := _make_numbered_name(name, number)) in self.covered.retired:
            number, when = number + 1, self.covered.retired_at[numbered]
        return numbered, when

    # --- checkpoints ---

    def uncovered(self) -> dict[str, ChainHead]:
        """Give the heads of the sessions that have grown since the last checkpoint."""
        self._grown |= {name: journal.head for name, journal in self._open.items()}
        return {
            name: head
            for name, head in self._grown.items()
            if head.frames and self.covered.sessions.get(name) != head
        }

    def checkpoint(
        self,
        *,
        ends_epoch: bool = False,
        retired: Mapping[str, bytes] | None = None,
        spools: Mapping[str, int] | None = None,
    ) -> JournalCheckpoint:
        """Sign the heads as they are now, or as many of them as a checkpoint holds.

        Raises:
            NotWritten: that failed; the last checkpoint is the one before.
            OSError: there is a checkpoint, but the key of the last epoch could not be erased.
        """
        last = self.covered.last
        following = self._keys.prepare() if ends_epoch else None
        made = JournalCheckpoint(
            number=last.number + 1 if last is not None else 0,
            # A clock that is moved back does not take the journal with it.
            time=max(time.time_ns() // 1_000_000, last.time if last is not None else 0),
            epoch=last.epoch + (last.next_key is not None) if last is not None else 0,
            before=self._chain.head,
            sessions=dict(list(self.uncovered().items())[:MAX_CHECKPOINT_SESSIONS]),
            retired=retired or {},
            spools=spools or {},
            next_key=following.public_key if following is not None else None,
        )
        before = self._chain.head
        statement = made.sign(
            self._signer, compute_thumbprint_uri(self.covered.first_key or self._signer.public_key)
        )
        self._chain.append([statement])
        self.covered.take(statement, before)
        self._grown = {
            name: head
            for name, head in self._grown.items()
            if self.covered.sessions.get(name) != head
        }
        if following is not None:
            # From here on the journal goes by the next key, whether the old one can be erased or
            # not.
            self._signer = following
            self._keys.advance()
        return made

    def anchor(self, number: int, service: str, statement: bytes) -> None:
        """Note what a log said to a checkpoint, which comes with the receipt in it.

        Raises:
            NotWritten: that failed.
            Broken: it is another checkpoint.
        """
        payload = encode({"number": number, "service": service, "statement": statement}, "cbor")
        before = self._chain.head
        self._chain.append([payload])
        self.covered.take(payload, before)

    def retire(self, sealed: Mapping[str, bytes]) -> None:
        """Delete journals of sessions, after a checkpoint that says so, with the digests of the
        records they were sealed as.

        Raises:
            NotWritten: there is no such checkpoint; nothing was deleted.
            OSError: one cannot be deleted; that is tried again the next time.
        """
        for first in range(0, len(sealed), MAX_CHECKPOINT_SESSIONS):
            some = dict(list(sealed.items())[first : first + MAX_CHECKPOINT_SESSIONS])
            spools = {
                spool: end
                for name in some
                for spool, end in self.session(name).state.spools.items()
            }
            self.checkpoint(retired=some, spools=spools)
        for name in [
            name for name in list_session_journals(self.folder) if name in self.covered.retired
        ]:
            if name in self._open:
                self._open.pop(name).close()
            self._grown.pop(name, None)
            get_session_journal_path(self.folder, name).unlink(missing_ok=True)


def _make_numbered_name(name: str, number: int) -> str:
    """Name another journal of the same session."""
    return name if number == 1 else f"{name}~{number}"

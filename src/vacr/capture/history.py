"""What became of a session's parts, by its journal: where bytes that had been seen became others, and what was first seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.contents import added
from vacr.capture.frames import NOTHING, Head, Scan, frames
from vacr.capture.session_journal import CapturedPart, State, states


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A change of what had been seen."""

    part: CapturedPart
    before: bytes
    after: bytes
    frame: int
    time: int
    after_sealing: bool


class History:
    """A journal, read once from its beginning; it is not changed."""

    def __init__(self, path: Path, name: str, vouched: Head, *, further: bool = True, holding: bool = True) -> None:
        """Say which, and up to where somebody vouches for it; what is there `further` may be left unread.

        Without `holding`, the bytes of parts that only grew are not at hand afterwards.
        """
        self._path, self._name, self._vouched, self._further, self._holding = path, name, vouched, further, holding
        self.state = State(name)
        self.scan = Scan()

    def rewrites(self) -> Iterator[Rewrite]:
        """Read all of it, and give the changes; one may take several frames.

        Raises:
            Broken: it is not what it was.
            OSError: it cannot be read.
        """
        begun: tuple[CapturedPart, bytes, int, int, bool] | None = None
        state = self.state
        with self._path.open("rb") as file:
            for _, payload in frames(file, self._name, self.scan, self._vouched):
                note = state.read(payload)
                is_of = note["kind"] == "bytes" and note["part"] < len(state.parts)
                if begun and not (is_of and (note["part"], note["time"]) == (begun[0].number, begun[3])):
                    yield _ended(begun)
                    begun = None
                part = state.parts[note["part"]] if is_of else None
                if part is not None and not begun and (note["cut"] or note["at"] < part.content.size):
                    if part.content.held is None:
                        part.content.replace(self._seen(part))
                    begun = (part, bytes(part.content.held or b""), state.frames, note["time"], state.sealed is not None)
                state.take(note)
                if note["kind"] == "part" and not self._holding:
                    state.parts[-1].content.held = None
                if not self._further and self.scan.head == self._vouched:
                    break
        if begun:
            yield _ended(begun)

    def _seen(self, part: CapturedPart) -> bytearray:
        """Read once more what a part held up to here."""
        for state in states(self._path, self._name, NOTHING):
            if state.frames == self.state.frames:
                return state.parts[part.number].content.held or bytearray()
        return bytearray()


def _ended(begun: tuple[CapturedPart, bytes, int, int, bool]) -> Rewrite:
    part, before, frame, time, after_sealing = begun
    return Rewrite(part, before, bytes(part.content.held or b""), frame, time, after_sealing)


def first_seen(path: Path, name: str, head: Head) -> dict[str, bytes]:
    """Give the parts of a session as they were first seen: lines that became others later are as they were.

    What an agent writes anew itself is as it was last seen.

    Raises:
        Broken: the journal is not what it was.
        OSError: it cannot be read.
    """
    history = History(path, name, head, further=False)
    first: dict[int, tuple[bytes, int]] = {}
    for rewrite in history.rewrites():
        if not rewrite.part.rewritten:
            kept, size = first.get(rewrite.part.number, (b"", 0))
            kept += rewrite.before[size:] + added(rewrite.before, rewrite.after)
            first[rewrite.part.number] = (kept, len(rewrite.after))
    found = {}
    for part in history.state.parts:
        kept, size = first.get(part.number, (b"", 0))
        found[part.name] = kept + bytes(part.content.held or b"")[size:]
    return found

"""What became of a session's parts, by its journal: where bytes that had been seen became others,
and what was first seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.frames import EMPTY_CHAIN_HEAD, ChainHead, ChainScan, JournalNote, read_frames
from vacr.capture.journal import CapturedPart, SessionState, replay_journal
from vacr.capture.rewrites import EntryDifference, LineRestorer, SettledEntries, find_appended_bytes


@dataclass(frozen=True, slots=True)
class PartRewrite:
    """A change of what had been seen of a part."""

    part: CapturedPart
    before: bytes
    after: bytes
    frame: int
    time: int


@dataclass(frozen=True, slots=True)
class SettledChange:
    """A change of what had settled in a session that its agent writes anew."""

    difference: EntryDifference
    frame: int
    time: int


class SessionHistory:
    """A journal, read once from its beginning; it is not changed."""

    def __init__(
        self,
        path: Path,
        name: str,
        vouched: ChainHead,
        *,
        further: bool = True,
        holding: bool = True,
        settled: SettledEntries | None = None,
    ) -> None:
        """Say which, and up to where somebody vouches for it; what is there `further` may be left
        unread.

        Without `holding`, the bytes of parts that only grew are not at hand afterwards.
        """
        self._path, self._name, self._vouched, self._further, self._holding = (
            path,
            name,
            vouched,
            further,
            holding,
        )
        self.state = SessionState(name)
        self.scan = ChainScan()
        self.settled = settled or SettledEntries()
        self._begun: tuple[CapturedPart, bytes, int, int] | None = None

    def rewrites(self) -> Iterator[PartRewrite | SettledChange]:
        """Read all of it, and give the changes; one may take several frames.

        Raises:
            Broken: it is not what it was.
            OSError: it cannot be read.
        """
        with self._path.open("rb") as file:
            for _, payload in read_frames(file, self._name, self.scan, self._vouched):
                note = self.state.read(payload)
                yield from self._take_anew(note) if self.state.is_rewritten else self._take(note)
                if not self._further and self.scan.head == self._vouched:
                    break
        yield from self._ended()

    def _take_anew(self, note: JournalNote) -> Iterator[SettledChange]:
        """Take the next note of a session that its agent writes anew."""
        time = self.state.changed
        found = self.settled.look(self.state, note["time"]) if note["kind"] == "bytes" else []
        self.state.take(note)
        if note["kind"] == "sealed" and not self.state.unsealed:
            found += self.settled.seal(self.state)
        for difference in found:
            yield SettledChange(difference, self.state.frames - 1, time)

    def _take(self, note: JournalNote) -> Iterator[PartRewrite]:
        """Take the next note of a session whose transcript only grows."""
        state, begun = self.state, self._begun
        part = (
            state.parts[note["part"]]
            if note["kind"] == "bytes" and note["part"] < len(state.parts)
            else None
        )
        if begun and (part is None or (part.number, note["time"]) != (begun[0].number, begun[3])):
            yield from self._ended()
        if part is not None and not self._begun and (note["cut"] or note["at"] < part.content.size):
            if part.content.held is None:
                part.content.replace(self._seen(part))
            self._begun = (part, bytes(part.content.held or b""), state.frames, note["time"])
        state.take(note)
        if note["kind"] == "part" and not self._holding and not state.is_rewritten:
            state.parts[-1].content.held = None

    def _ended(self) -> Iterator[PartRewrite]:
        if self._begun:
            part, before, frame, time = self._begun
            self._begun = None
            yield PartRewrite(part, before, bytes(part.content.held or b""), frame, time)

    def _seen(self, part: CapturedPart) -> bytearray:
        """Read once more what a part held up to here."""
        for state in replay_journal(self._path, self._name, EMPTY_CHAIN_HEAD):
            if state.frames == self.state.frames:
                return state.parts[part.number].content.held or bytearray()
        return bytearray()


def restore_first_seen_parts(path: Path, name: str, head: ChainHead) -> dict[str, bytes]:
    """Give the parts of a session as they were first seen: what became something else later is as
    it was.

    Raises:
        Broken: the journal is not what it was.
        OSError: it cannot be read.
    """
    putting_back = LineRestorer()
    history = SessionHistory(
        path, name, head, further=False, settled=SettledEntries(putting_back.see)
    )
    first: dict[int, tuple[bytes, int]] = {}
    for rewrite in history.rewrites():
        if isinstance(rewrite, PartRewrite) and not rewrite.part.rewritten:
            kept, size = first.get(rewrite.part.number, (b"", 0))
            kept += rewrite.before[size:] + find_appended_bytes(rewrite.before, rewrite.after)
            first[rewrite.part.number] = (kept, len(rewrite.after))
    if history.state.is_rewritten:
        history.settled.seal(history.state)
        return putting_back.parts(history.state)
    found = {}
    for part in history.state.parts:
        kept, size = first.get(part.number, (b"", 0))
        found[part.name] = kept + bytes(part.content.held or b"")[size:]
    return found

r"""The history of a session: which captured content changed later, and the content as first seen.

A journal has every change of a session's parts. Reading it from the start shows where captured
content was rewritten. Sealing uses the content as first seen: rewritten lines are restored, and
new lines are kept.

>>> from pathlib import Path
>>> from vacr.capture.history import restore_first_seen_parts
>>> from vacr.capture.session_journal import SessionJournal
>>> journal = SessionJournal("some-agent/abc", Path("abc.frames"))
>>> journal.begin("some-agent", Path("abc.jsonl"), "")
>>> part = journal.open_part("abc.jsonl", Path("abc.jsonl"), rewritten=False)
>>> journal.note_changes(part, (0, 0, b"rm -rf\nls\n"))
>>> journal.note_changes(part, (0, 6, b"pwd"), (7, 0, b"cat\n"))  # rewrite a line, add another
>>> restore_first_seen_parts(Path("abc.frames"), "some-agent/abc", journal.head)
{'abc.jsonl': b'rm -rf\nls\ncat\n'}
>>> journal.close()

Sessions that agents rewrite as a whole are harder: the agent's own changes have to stay. There,
lines are restored one by one, and only if that repairs a settled entry (`settled_entries.py`) and
loses nothing that was said since. A document in a single line often cannot be restored like that;
it stays as last seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.chains import EMPTY_CHAIN_HEAD, ChainHead, ChainScan, read_frames
from vacr.capture.line_changes import (
    HunkRanges,
    find_appended_bytes,
    find_hunks,
    find_splice,
    split_lines,
)
from vacr.capture.session_journal import CapturedPart, JournalNote, SessionState, replay_journal
from vacr.capture.settled_entries import (
    ComparableEntry,
    EntryDifference,
    SettledEntries,
    parse_comparable_entries,
)

PartLines = dict[int, list[bytes]]
"""Part number → the lines of the part."""

_MAX_RESTORE_TRIES = 200
"""The most attempts after one rewrite; each of them parses the session."""
_MAX_RESTORE_BYTES = 1 << 28
"""The most bytes to parse for one session, however often it was rewritten."""
_MAX_SIMILAR_LINES = 3
_SEARCH_DISTANCE = 32
_MAX_LINEWISE_SWAPS = 8


@dataclass(frozen=True, slots=True)
class PartRewrite:
    """A change of bytes that had been captured, in one part of a session."""

    part: CapturedPart
    before: bytes
    """All bytes of the part before the change."""
    after: bytes
    """All bytes of the part after the rewrite."""
    frame: int
    """The number of the first frame of the change."""
    time: int
    """When the rewrite was captured, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class SettledChange:
    """A change of a settled entry in a session that its agent rewrites as a whole."""

    difference: EntryDifference
    frame: int
    """The number of the last frame of the state that was compared."""
    time: int
    """When that state was captured, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class _PendingRewrite:
    """A rewrite whose last frame may not have been read yet."""

    part: CapturedPart
    before: bytes
    frame: int
    time: int


class SessionHistory:
    """Reads a session's journal once from its beginning, without changing it."""

    def __init__(
        self,
        path: Path,
        name: str,
        required: ChainHead,
        *,
        further: bool = True,
        keep_bytes: bool = True,
        settled: SettledEntries | None = None,
    ) -> None:
        """Prepare to read the journal at `path`; it has to reach the required head intact.

        Reading goes on to the end of the file with `further`, or else stops at that head. Without
        `keep_bytes`, the bytes of parts that only grew are not kept in memory. `settled` collects
        the settled entries of a session that its agent rewrites.
        """
        self._path = path
        self._name = name
        self._required = required
        self._further = further
        self._keep_bytes = keep_bytes
        self.state = SessionState(name)
        self.scan = ChainScan()
        self.settled = settled or SettledEntries()
        self._pending: _PendingRewrite | None = None

    def read_changes(self) -> Iterator[PartRewrite | SettledChange]:
        """Read the journal, and yield each change of content that was captured before.

        Afterwards, `state` and `scan` describe the session after the last frame.

        Raises:
            BrokenJournal: the frames do not reach the required head intact.
            OSError: the journal cannot be read.
        """
        with self._path.open("rb") as file:
            for _, payload in read_frames(file, self._name, self.scan, self._required):
                note = self.state.decode_note(payload)
                if self.state.is_rewritten:
                    yield from self._apply_to_rewritten_session(note)
                else:
                    yield from self._apply_to_growing_session(note)
                if not self._further and self.scan.head == self._required:
                    break
        yield from self._finish_rewrite()

    def _apply_to_rewritten_session(self, note: JournalNote) -> Iterator[SettledChange]:
        """Apply a note, and yield the settled entries that differ in the state before it.

        After a note that seals the session, compare the state with that note.
        """
        time = self.state.changed
        differences: list[EntryDifference] = []
        if note["kind"] == "bytes":
            differences = self.settled.compare_if_due(self.state, note["time"])
        self.state.apply_note(note)
        if note["kind"] == "sealed" and not self.state.unsealed:
            differences += self.settled.note_seal(self.state)
        for difference in differences:
            yield SettledChange(difference, self.state.frames - 1, time)

    def _apply_to_growing_session(self, note: JournalNote) -> Iterator[PartRewrite]:
        """Apply a note, and yield the rewrite before it if this note is not a part of it."""
        state, pending = self.state, self._pending
        is_change = note["kind"] == "bytes" and note["part"] < len(state.parts)
        part = state.parts[note["part"]] if is_change else None
        # A rewrite may take several frames: the same part at the same time.
        if pending and (
            part is None or (part.number, note["time"]) != (pending.part.number, pending.time)
        ):
            yield from self._finish_rewrite()
        if part is not None and not self._pending:
            replaces_bytes = note["cut"] or note["at"] < part.content.size
            if replaces_bytes:
                self._begin_rewrite(part, note["time"])
        state.apply_note(note)
        if note["kind"] == "part" and not self._keep_bytes and not state.is_rewritten:
            state.parts[-1].content.loaded = None

    def _begin_rewrite(self, part: CapturedPart, time: int) -> None:
        """Remember the bytes of a part before a rewrite; read them again if not in memory."""
        if part.content.loaded is None:
            part.content.replace(self._read_part_again(part))
        before = bytes(part.content.loaded or b"")
        self._pending = _PendingRewrite(part, before, self.state.frames, time)

    def _finish_rewrite(self) -> Iterator[PartRewrite]:
        """Yield the pending rewrite, if there is one, with the current bytes of its part."""
        if pending := self._pending:
            self._pending = None
            after = bytes(pending.part.content.loaded or b"")
            yield PartRewrite(pending.part, pending.before, after, pending.frame, pending.time)

    def _read_part_again(self, part: CapturedPart) -> bytearray:
        """Replay the journal up to the current frame, and return the bytes of a part there."""
        for state in replay_journal(self._path, self._name, EMPTY_CHAIN_HEAD):
            if state.frames == self.state.frames:
                return state.parts[part.number].content.loaded or bytearray()
        return bytearray()


def restore_first_seen_parts(path: Path, name: str, head: ChainHead) -> dict[str, bytes]:
    """Return the parts of a session, by name, with rewritten content as it was first seen.

    `name` is the name of the session's journal, and `head` the last frame to read.

    Raises:
        BrokenJournal: the journal does not reach the head intact.
        OSError: the journal cannot be read.
    """
    restorer = LineRestorer()
    settled = SettledEntries(restorer.restore_lines)
    history = SessionHistory(path, name, head, further=False, settled=settled)
    first_seen: dict[int, tuple[bytes, int]] = {}
    for change in history.read_changes():
        if isinstance(change, PartRewrite) and not change.part.rewritten:
            # Keep the bytes that were appended since the last rewrite, and together with this one.
            # The size tells where later ones start.
            kept, size = first_seen.get(change.part.number, (b"", 0))
            kept += change.before[size:] + find_appended_bytes(change.before, change.after)
            first_seen[change.part.number] = (kept, len(change.after))
    if history.state.is_rewritten:
        settled.note_seal(history.state)
        return restorer.build_parts(history.state)
    parts = {}
    for part in history.state.parts:
        kept, size = first_seen.get(part.number, (b"", 0))
        parts[part.name] = kept + bytes(part.content.loaded or b"")[size:]
    return parts


# --- restoring lines of sessions that agents rewrite ---


@dataclass(frozen=True, slots=True)
class _Improvement:
    """The lines of a part after a swap, and the entries of the session with them."""

    part: int
    lines: list[bytes]
    entries: list[ComparableEntry]


class LineRestorer:
    """Restores rewritten lines of a session, one rewrite after the other.

    `restore_lines` finds the lines of each rewrite, and `build_parts` applies all of them.
    """

    def __init__(self) -> None:
        """Start without rewrites."""
        self._restored: list[dict[int, tuple[list[bytes], list[bytes]]]] = []
        """For each rewrite: part number → the lines as seen, and as restored."""
        self._line_cache: dict[bytes, bytes] = {}
        """Lines, each stored once although most occur in every rewrite."""
        self._tries_left = _MAX_RESTORE_TRIES
        self._bytes_left = _MAX_RESTORE_BYTES

    def restore_lines(self, settled: SettledEntries, state: SessionState) -> None:
        """Find the lines to restore in a state that contradicts the settled entries.

        Lines are swapped one after the other as long as that reduces the differences. The result
        is remembered for `build_parts`.
        """
        seen = _split_part_lines(state)
        lines = dict(seen)
        entries = _parse_line_entries(state, lines)
        self._tries_left = _MAX_RESTORE_TRIES
        while improvement := self._find_improvement(settled, state, lines, entries):
            lines[improvement.part] = improvement.lines
            entries = improvement.entries
        self._remember(seen, lines)

    def _find_improvement(
        self,
        settled: SettledEntries,
        state: SessionState,
        lines: PartLines,
        entries: list[ComparableEntry] | None,
    ) -> _Improvement | None:
        """Return the first swap that brings the entries closer to the settled ones.

        `entries` are the entries of the current `lines`, or None if these cannot be parsed. Return
        None if no swap helps, no difference is left, or the tries are used up.
        """
        weight = _weigh_differences(settled, entries or [])
        if not weight:
            return None
        size = sum(part.content.size for part in state.parts)
        # In a session that takes long to parse, many lines are restored at once.
        is_small = size * _MAX_RESTORE_TRIES <= _MAX_RESTORE_BYTES
        linewise_limit = _MAX_LINEWISE_SWAPS if is_small else 0
        swaps = _propose_swaps(
            settled, state, lines, is_readable=entries is not None, linewise_limit=linewise_limit
        )
        for number, swap in swaps:
            if not self._tries_left or self._bytes_left < 0:
                return None
            self._tries_left -= 1
            self._bytes_left -= size
            swapped = swap.apply(lines[number])
            new_entries = _parse_line_entries(state, lines | {number: swapped})
            if new_entries is None or _weigh_differences(settled, new_entries) >= weight:
                continue
            if entries is None or _is_lossless_swap(swap, settled, entries, new_entries):
                return _Improvement(number, swapped, new_entries)
        return None

    def _remember(self, seen: PartLines, lines: PartLines) -> None:
        """Remember the parts whose lines were restored: as seen, and as restored."""
        restored = {
            number: (self._intern(seen[number]), self._intern(restored_lines))
            for number, restored_lines in lines.items()
            if restored_lines is not seen[number]
        }
        if restored:
            self._restored.append(restored)

    def _intern(self, lines: list[bytes]) -> list[bytes]:
        """Return equal lines, with one object for all occurrences of the same line."""
        return [self._line_cache.setdefault(line, line) for line in lines]

    def build_parts(self, state: SessionState) -> dict[str, bytes]:
        """Return the bytes of a session's parts, by name, with all remembered lines restored."""
        lines = _split_part_lines(state)
        for restored_parts in reversed(self._restored):
            for number, (seen, restored) in restored_parts.items():
                lines[number] = _merge_restored_lines(seen, restored, lines[number])
        return {part.name: b"".join(lines[part.number]) for part in state.parts}


def _split_part_lines(state: SessionState) -> PartLines:
    """Return the lines of each part of a session, by part number."""
    return {part.number: split_lines(bytes(part.content.loaded or b"")) for part in state.parts}


def _parse_line_entries(state: SessionState, lines: PartLines) -> list[ComparableEntry] | None:
    """Return the entries of a session if its parts had these lines; None if they do not parse."""
    return parse_comparable_entries(
        state.agent, [(part.name, b"".join(lines[part.number])) for part in state.parts]
    )


def _weigh_differences(settled: SettledEntries, entries: list[ComparableEntry]) -> int:
    """Return the sum of the weights of all differences from the settled entries; 0 if none."""
    return sum(difference.weight for difference in settled.find_differences(entries))


def _is_lossless_swap(
    swap: _LineSwap,
    settled: SettledEntries,
    before: list[ComparableEntry],
    after: list[ComparableEntry],
) -> bool:
    """Return whether a swap restores only known entries, and drops none without a replacement.

    `before` and `after` are the entries of the session without and with the swap. An entry is known
    if it settled, or is a call without a result. Its replacement has the same kind and name.
    """
    before_counts = Counter(entry.canonical for entry in before)
    after_counts = Counter(entry.canonical for entry in after)
    known = {_identify_entry(entry) for entry in (*settled.entries, *settled.open_calls)}
    for entry in after:
        is_restored = after_counts[entry.canonical] > before_counts[entry.canonical]
        if is_restored and _identify_entry(entry) not in known:
            return False
    # Deleting lines repairs something only if they were inserted into settled entries.
    if not swap.restored:
        return True
    named = {_identify_entry(entry) for entry in after if entry.name}
    return all(
        _identify_entry(entry) in named
        for entry in before
        if before_counts[entry.canonical] > after_counts[entry.canonical]
    )


def _identify_entry(entry: ComparableEntry) -> tuple[str, str]:
    """Return the kind and the name of an entry; the kind of any message is "message".

    So a message stays the same entry even if its speaker was changed.
    """
    kind = "message" if entry.kind in ("user", "assistant") else entry.kind
    return (kind, entry.name)


# --- proposing swaps ---


@dataclass(frozen=True, slots=True)
class _LineSwap:
    """A proposal to replace the lines `current`, from line `at` on, by the lines `restored`.

    Either may be empty: then lines are only inserted, or only removed.
    """

    at: int
    current: list[bytes]
    restored: list[bytes]

    def apply(self, lines: list[bytes]) -> list[bytes]:
        """Return the lines of a part after the swap."""
        return [*lines[: self.at], *self.restored, *lines[self.at + len(self.current) :]]


def _propose_swaps(
    settled: SettledEntries,
    state: SessionState,
    lines: PartLines,
    *,
    is_readable: bool,
    linewise_limit: int,
) -> Iterator[tuple[int, _LineSwap]]:
    """Yield swaps that may restore lines, each with its part number: large ones, then single lines.

    In a session that cannot be parsed (`is_readable` is False), small swaps come first: the least
    that makes it readable. Hunks of up to `linewise_limit` lines are also proposed line by line.
    """
    settled_lines = {number: split_lines(settled.parts.get(number, b"")) for number in lines}
    hunks = {number: list(find_hunks(old, lines[number])) for number, old in settled_lines.items()}
    for number, old in settled_lines.items():
        new = lines[number]
        whole_part = [_LineSwap(0, new, old)] if len(hunks[number]) > 1 else []
        is_whole_first = is_readable and len(hunks[number]) > linewise_limit
        for swap in whole_part if is_whole_first else ():
            yield number, swap
        for hunk in hunks[number]:
            for swap in _propose_hunk_swaps(old, new, hunk, linewise_limit):
                yield number, swap
        for swap in () if is_whole_first else whole_part:
            yield number, swap
    for number, old in settled_lines.items():
        has_rows = state.parts[number].name.endswith(".jsonl")
        for hunk in hunks[number]:
            for swap in _propose_single_swaps(old, lines[number], hunk, has_rows=has_rows):
                yield number, swap


def _propose_hunk_swaps(
    old: list[bytes], new: list[bytes], hunk: HunkRanges, linewise_limit: int
) -> Iterator[_LineSwap]:
    """Yield the swaps that undo a hunk between the `old` and `new` lines of a part.

    First each line by itself, if the hunk replaces lines by as many and at most `linewise_limit`;
    then the whole hunk; then its first lines, if it also adds lines.
    """
    old_count, new_count = hunk.old_end - hunk.old_start, hunk.new_end - hunk.new_start
    old_lines = old[hunk.old_start : hunk.old_end]
    new_lines = new[hunk.new_start : hunk.new_end]
    # Restoring single lines keeps the agent's own changes in the lines around them.
    if 1 < old_count == new_count <= linewise_limit:
        for offset in range(old_count):
            yield _LineSwap(hunk.new_start + offset, [new_lines[offset]], [old_lines[offset]])
    yield _LineSwap(hunk.new_start, new_lines, old_lines)
    if 0 < old_count < new_count:
        yield _LineSwap(hunk.new_start, new_lines[:old_count], old_lines)


def _propose_single_swaps(
    old: list[bytes], new: list[bytes], hunk: HunkRanges, *, has_rows: bool
) -> Iterator[_LineSwap]:
    """Yield swaps of a hunk's single lines: an old line in place of each similar new one.

    If each line is a row (`has_rows`), also insert old lines, and remove new ones.
    """
    old_lines = old[hunk.old_start : hunk.old_end]
    for offset, line in enumerate(old_lines):
        near = hunk.new_start + offset
        nearby = range(
            max(hunk.new_start, near - _SEARCH_DISTANCE), min(hunk.new_end, near + _SEARCH_DISTANCE)
        )
        changed_bytes = {at: find_splice(new[at], line)[1] for at in nearby}
        most_similar = sorted(nearby, key=changed_bytes.__getitem__)[:_MAX_SIMILAR_LINES]
        for at in most_similar:
            yield _LineSwap(at, [new[at]], [line])
    if has_rows:
        # Rows were deleted while others were added.
        yield _LineSwap(hunk.new_start, [], old_lines)
        for line in old_lines:
            yield _LineSwap(hunk.new_start, [], [line])
        for at in range(hunk.new_start, hunk.new_end):
            yield _LineSwap(at, [new[at]], [])


# --- merging restored lines with later changes ---


def _merge_restored_lines(
    seen: list[bytes], restored: list[bytes], now: list[bytes]
) -> list[bytes]:
    """Return the lines `now`, with the change from `seen` to `restored` applied to them.

    A line that also changed between `seen` and `now` is left as it is now, unless both changes are
    in different places of that one line.
    """
    later_hunks = list(_split_even_hunks(find_hunks(seen, now)))
    restored_hunks = list(_split_even_hunks(find_hunks(seen, restored)))
    merged = list(now)
    # From the last to the first, so that the offsets of earlier hunks stay valid.
    for hunk in reversed(restored_hunks):
        overlapping = [
            later
            for later in later_hunks
            if later.old_start < hunk.old_end and hunk.old_start < later.old_end
        ]
        if not overlapping:
            at = hunk.old_start + _sum_growth_before(hunk, later_hunks)
            old_count = hunk.old_end - hunk.old_start
            merged[at : at + old_count] = restored[hunk.new_start : hunk.new_end]
            continue
        later = overlapping[0]
        is_same_line = (later.old_start, later.old_end) == (hunk.old_start, hunk.old_end)
        if is_same_line and _is_one_line(hunk) and _is_one_line(later):
            merged[later.new_start] = _merge_single_line(
                seen[hunk.old_start], restored[hunk.new_start], now[later.new_start]
            )
    return merged


def _sum_growth_before(hunk: HunkRanges, later_hunks: Iterable[HunkRanges]) -> int:
    """Return how many lines the later hunks add before a hunk; negative if they remove lines."""
    return sum(
        (later.new_end - later.new_start) - (later.old_end - later.old_start)
        for later in later_hunks
        if later.old_end <= hunk.old_start
        and (later.old_start < hunk.old_end or hunk.old_end > hunk.old_start)
    )


def _split_even_hunks(hunks: Iterable[HunkRanges]) -> Iterator[HunkRanges]:
    """Yield hunks; split a hunk that replaces lines by as many lines into hunks of one line."""
    for hunk in hunks:
        count = hunk.old_end - hunk.old_start
        if count != hunk.new_end - hunk.new_start:
            yield hunk
            continue
        for offset in range(count):
            old_at, new_at = hunk.old_start + offset, hunk.new_start + offset
            yield HunkRanges(old_at, old_at + 1, new_at, new_at + 1)


def _is_one_line(hunk: HunkRanges) -> bool:
    """Return whether a hunk replaces one line by one line."""
    return hunk.old_end - hunk.old_start == hunk.new_end - hunk.new_start == 1


def _merge_single_line(seen: bytes, restored: bytes, now: bytes) -> bytes:
    """Return the line `now`, with the change from `seen` to `restored` applied to it.

    Return `now` itself if it was changed in the same place since it was `seen`.
    """
    at, cut, data = find_splice(seen, restored)
    later_at, later_cut, later_data = find_splice(seen, now)
    if later_at + later_cut <= at:
        at += len(later_data) - later_cut
    elif at + cut > later_at:
        return now
    return now[:at] + data + now[at + cut :]

"""The state of one file during a replay: its known lines, and how certain they are.

A session shows parts of a file: a window of lines, a hunk, a whole text. Known lines are kept in
chunks, and the lines between them are unknown. An observation that contradicts known lines
makes everything that it does not show stale: still the best guess, no longer a proof.

    >>> from vacr.attribution.file_state import FileState
    >>> state = FileState()
    >>> state.observe(3, ["c = 3\\n"], maker=0)           # a tool showed line 3
    True
    >>> state.get_line(3), state.get_line(1), state.is_whole
    ('c = 3\\n', None, False)
    >>> state.observe_whole("a = 1\\nb = 2\\nc = 3\\n", maker=0)
    True
    >>> state.is_whole
    True
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from vacr.agents import ToolCall
from vacr.attribution.chunks import (
    PLACE_SPACING,
    Chunk,
    LineRanges,
    PagedText,
    PlacedLines,
    fill_missing_places,
    group_line_ranges,
)
from vacr.attribution.reconcile import realign_lines, reformat_line, unattribute_reverted_lines
from vacr.attribution.redacted_lines import has_redaction, restore_redacted_lines
from vacr.edits import (
    NO_ORIGIN,
    Edit,
    ObservedLines,
    drop_byte_order_mark,
    encode_file_text,
    find_line_origins,
    normalize_line_ends,
    render_as_host,
    split_keeping_ends,
    strip_line_end,
)


@dataclass(slots=True)
class FileState:
    """The known chunks of a file in order; `length` is its number of lines, where known."""

    chunks: list[Chunk] = field(default_factory=list)
    length: int | None = None
    base: PlacedLines = field(default_factory=PlacedLines)
    """The lines that no agent made, by place."""
    outside: dict[int, int] = field(default_factory=dict)
    """The places of lines that were added from outside, with their makers."""
    mixed: dict[int, int] = field(default_factory=dict)
    """The places of an agent's lines that were changed from outside, with the agent's call."""
    crlf: bool = False
    """Whether lines end in CR LF. Hosts show them as LF; only a base shows them as they are."""
    odd: bool = False
    """Whether the file has a byte order mark, bytes that are not UTF-8, or mixed line ends.

    Hosts show none of these.
    """
    exact: bool = False
    """Whether a base shows every byte of the file."""
    may_have_moved: bool = False
    """Whether the file changed at an unknown place, and was not seen as a whole since."""
    doubted: bool = False
    """Whether this may be another file altogether since it was last seen as a whole."""
    ending: str = ""
    """The last line, when it was last known which line that is."""
    bounded: bool = False
    """Whether the last known line probably ends the file, though its length is not certain."""

    @classmethod
    def from_text(cls, text: str) -> "FileState":
        """Return the state of a file whose exact text the base has."""
        file = cls()
        file.observe_whole(text, NO_ORIGIN)
        file.crlf = 2 * text.count("\r\n") > text.count("\n")
        file.odd = render_as_host(text) != (
            text.replace("\r\n", "\n") if text.count("\r") == text.count("\n") else text
        )
        file.exact = True
        return file

    @property
    def text(self) -> str | None:
        """The whole text, or `None` while a part is not known."""
        if not self.is_whole:
            return None
        return self.chunks[0].text if self.chunks else ""

    @property
    def best_text(self) -> str | None:
        """The whole text, also where some lines are stale, or `None` while a line is missing."""
        if self.is_whole:
            return self.text
        if not self.bounded or not self.chunks or self.chunks[0].first != 1:
            return None
        if any(chunk.next != after.first for chunk, after in pairwise(self.chunks)):
            return None
        return "".join(chunk.text for chunk in self.chunks)

    @property
    def is_whole(self) -> bool:
        """Whether all lines of the file are known and certain, or it is known to be empty."""
        if not self.chunks:
            return self.length == 0
        chunk = self.chunks[0]
        return (
            len(self.chunks) == 1
            and chunk.fresh
            and chunk.first == 1
            and len(chunk.lines) == self.length
        )

    @property
    def is_unseen(self) -> bool:
        """Whether nothing is known about it, not even that it is empty."""
        return not self.chunks and self.length is None

    def get_line(self, number: int) -> str | None:
        """Return a line by its number, or `None` if it is unknown."""
        for chunk in self.chunks:
            if chunk.first <= number < chunk.next:
                return chunk.lines[number - chunk.first]
        return None

    def convert_line_ends(self, text: str) -> str:
        """Return a text with CR LF line ends if the file has them, or else the text unchanged."""
        return text.replace("\r\n", "\n").replace("\n", "\r\n") if self.crlf else text

    def find_text(self, text: str) -> Iterator[tuple[Chunk, int]]:
        """Yield each chunk and offset where the known lines contain a text."""
        for chunk in self.chunks:
            at = chunk.text.find(text)
            while at >= 0:
                yield chunk, at
                at = chunk.text.find(text, at + len(text))

    def change_chunk(self, chunk: Chunk, act: Callable[[], LineRanges]) -> LineRanges:
        """Call `act`, which changes one chunk, and return the line ranges that it returns.

        Then renumber the chunks after it, and drop the chunk if it has no lines left.
        """
        before = len(chunk.lines)
        ranges = act()
        moved = len(chunk.lines) - before
        if moved:
            for other in self.chunks[self.chunks.index(chunk) + 1 :]:
                other.first += moved
            if self.length is not None:
                self.length += moved
        if not chunk.lines:
            self.chunks = [other for other in self.chunks if other is not chunk]
        return ranges

    def mark_stale(self) -> None:
        """Mark everything known as stale, because the file changed at an unknown place."""
        if self.chunks and self.length is not None and self.chunks[-1].next > self.length:
            self.ending, self.bounded = self.chunks[-1].lines[-1], True
        self.length, self.may_have_moved = None, True
        for chunk in self.chunks:
            chunk.fresh = False

    def join_chunks(self) -> None:
        """Join each chunk to the one before it if no unknown line lies between them."""
        joined: list[Chunk] = []
        for chunk in self.chunks:
            if joined and joined[-1].next == chunk.first:
                last = joined[-1]
                lines, makers, places = (
                    last.lines + chunk.lines,
                    last.makers + chunk.makers,
                    last.places + chunk.places,
                )
                # A fresh chunk also fixes the line numbers of the chunk that it meets.
                fresh = last.fresh and chunk.fresh if self.doubted else last.fresh or chunk.fresh
                joined[-1] = Chunk(last.first, lines, makers, places, chunk.place_next, fresh)
            else:
                joined.append(chunk)
        self.chunks = joined

    def apply_hunk(self, first: int, signed: Sequence[str], maker: int) -> LineRanges | None:
        """Apply a hunk at the line number `first`, and return the ranges of the added lines.

        Each line of `signed` begins with `+`, `-` or a space. Return `None`, without a change, if
        the lines there are unknown. The added lines get `maker`.
        """
        old = sum(line[:1] != "+" for line in signed)
        if not any(line.endswith("\r\n") for line in signed):  # else it shows how each line ends
            signed = [self.convert_line_ends(line) for line in signed]
        for chunk in self.chunks:
            if chunk.first <= first and first + old <= chunk.next:
                return self.change_chunk(chunk, partial(chunk.apply_hunk, first, signed, maker))
        if not self.chunks and self.length == 0 and not old:
            return self.write_text("".join(line[1:] for line in signed), maker)
        return None

    def write_text(self, text: str, maker: int) -> LineRanges:
        """Replace the whole file, and return the ranges of the lines that are new.

        New lines get the maker; lines that were known before keep theirs.
        """
        known = [(chunk, i) for chunk in self.chunks for i in range(len(chunk.lines))]
        lines = split_keeping_ends(text)
        origins = find_line_origins(
            drop_byte_order_mark(normalize_line_ends(chunk.lines[i] for chunk, i in known)),
            drop_byte_order_mark(normalize_line_ends(lines)),
        )
        kept = [None if origin == NO_ORIGIN else known[origin] for origin in origins]
        makers = [maker if line is None else line[0].makers[line[1]] for line in kept]
        place_next = self.chunks[-1].place_next if self.chunks else PLACE_SPACING
        places = fill_missing_places(
            [0 if line is None else line[0].places[line[1]] for line in kept],
            0,
            place_next if self.chunks else None,
        )
        self._set_whole_text(
            text,
            lines,
            makers,
            places,
            place_next if self.chunks else len(lines) * PLACE_SPACING + PLACE_SPACING,
        )
        return group_line_ranges([number for number, i in enumerate(origins, 1) if i == NO_ORIGIN])

    def _set_whole_text(
        self, text: str, lines: list[str], makers: list[int], places: list[int], place_next: int
    ) -> None:
        """Make all lines known and certain, with these makers and places."""
        self.chunks = (
            [Chunk(1, lines, makers, places, place_next, _text=PagedText(text))] if lines else []
        )
        self.length, self.may_have_moved, self.doubted = len(lines), False, False

    def observe(self, first: int, seen: Sequence[str], maker: int) -> bool:
        """Take over shown lines, numbered from `first` on; equal known lines keep their makers.

        Return whether they fit the certain known lines. If not, lines in the place of known ones
        came from outside, and `maker` is their maker; everything that is not shown becomes stale.
        """
        if not seen:
            return True
        seen = self._restore_hidden_text(seen)
        fits, whole = self.agrees(first, seen), self.is_whole
        low, high = self._find_near_chunks(first, first + len(seen))
        last_place = self._find_last_place()
        if not fits:
            self.mark_stale()
        if fits and all(chunk.agrees(first, seen) for chunk in self.chunks[low:high]):
            self._fill_gaps(first, seen)
        else:
            realign_lines(self, first, seen, maker, whole=whole)
        # Behind another last line, the file may go on.
        self.bounded = self.bounded and self._find_last_place() == last_place
        return fits

    def _find_last_place(self) -> int | None:
        """Return the place of the last known line, or `None` without known lines."""
        return self.chunks[-1].places[-1] if self.chunks else None

    def agrees(self, first: int, seen: Sequence[str]) -> bool:
        """Return whether no certain line contradicts shown lines, numbered from `first` on.

        Lines after the known end of the file contradict it.
        """
        past = self.length is not None and first + len(seen) - 1 > self.length
        low, high = self._find_near_chunks(first, first + len(seen))
        return not past and all(
            chunk.agrees(first, seen) for chunk in self.chunks[low:high] if chunk.fresh
        )

    def observe_whole(self, text: str, maker: int) -> bool:
        """Take over the text of the whole file; equal known lines keep their makers.

        Return whether it fits the known lines. If not, lines in the place of known ones came from
        outside, and `maker` is their maker.
        """
        lines = self._restore_hidden_text(split_keeping_ends(text))
        if self.crlf or self.odd or has_redaction(text):
            text = "".join(lines)
        if self.text == text:
            return True
        fits = self.length in (None, len(lines)) and all(
            chunk.next <= len(lines) + 1 and chunk.agrees(1, lines) for chunk in self.chunks
        )
        whole = self.is_whole
        if not lines:
            self.chunks = []
        elif fits:
            self._fill_gaps(1, lines)
        else:
            self.mark_stale()
            realign_lines(self, 1, lines, maker, whole=whole, everything=True)
            self.chunks = self.chunks[:1]
        if lines:  # Unlike a listing, the whole text shows how the last line ends.
            chunk = self.chunks[0]
            if chunk.lines[-1] != lines[-1]:
                unattribute_reverted_lines(self, ended=False)
            if not chunk.makers[-1] and self.base.lines.get(chunk.places[-1]) != lines[-1]:
                reformat_line(self, chunk, len(lines) - 1, lines[-1])
            self._set_whole_text(text, lines, chunk.makers, chunk.places, chunk.place_next)
        self.length = len(lines)
        return fits

    def confirm_blob(self, blob: str) -> bool:
        """Make the known lines certain if they are a whole text with this id of git.

        The id may be abbreviated. Return whether the lines have it.
        """
        text = "".join(chunk.text for chunk in self.chunks)
        starts = [chunk.first for chunk in self.chunks]
        if starts != [1, *(chunk.next for chunk in self.chunks[:-1])]:
            return False
        # Git may store CR LF as LF; a listing does not show how the last line ends.
        spellings = (text, text.replace("\r\n", "\n"), text.removesuffix("\n"))
        found = next((other for other in spellings if has_blob_id(other, blob)), None)
        if found is None:
            return False
        self.exact = self.exact or found == text
        if found == text.removesuffix("\n"):
            self.chunks[-1].replace_line(-1, self.chunks[-1].lines[-1].removesuffix("\n"))
        for chunk in self.chunks:
            chunk.fresh = True
        self.join_chunks()
        self.length = self.chunks[0].next - 1
        self.may_have_moved = self.doubted = False
        return True

    def end_at(self, number: int, *, whole: bool, ended: bool) -> None:
        """Drop the known lines after line `number`, which a listing showed as the last one.

        `whole` when the listing showed all lines. A listing seldom shows how the last line ends.
        While it is the same line as before, it ends as before, unless the listing shows that it is
        not `ended`; otherwise the length of the file stays unknown.
        """
        self._drop_lines_after(number)
        if self.length is not None or (whole and ended and self._ends_as_before(number)):
            self.length = number
        elif whole and not number:
            self.length = 0
        elif ended:
            self.bounded = bool(self.chunks) and self.chunks[-1].next == number + 1
        if whole:
            self.may_have_moved = self.doubted = False

    def end_surely_at(self, number: int) -> None:
        """Drop the known lines after line `number`, which is the last one and has a line end."""
        self._drop_lines_after(number)
        self.length = number

    def _drop_lines_after(self, number: int) -> None:
        """Forget the known lines after line `number`."""
        for chunk in self.chunks:
            keep = max(0, number + 1 - chunk.first)
            if keep < len(chunk.lines):
                chunk.keep_first(keep)
        self.chunks = [chunk for chunk in self.chunks if chunk.lines]

    def _ends_as_before(self, number: int) -> bool:
        """Return whether line `number` equals the last line as last known, which had a line end."""
        last = self.get_line(number)
        return (
            last is not None
            and self.ending.endswith("\n")
            and strip_line_end(last) == strip_line_end(self.ending)
        )

    @property
    def is_redacted(self) -> bool:
        """Whether a redaction mark may stand for another text in a line that the base lacks."""
        return any(
            has_redaction(line) and (maker or not self.exact or place in self.outside)
            for chunk in self.chunks
            for line, maker, place in zip(chunk.lines, chunk.makers, chunk.places, strict=True)
        )

    def _restore_hidden_text(self, seen: Sequence[str]) -> list[str]:
        """Return shown lines as they are in the file: with its line ends, and not redacted."""
        lines = self._restore_line_ends(seen)
        if not any(map(has_redaction, lines)):
            return lines
        return restore_redacted_lines(
            lines, [line for chunk in self.chunks for line in chunk.lines]
        )

    def _restore_line_ends(self, seen: Sequence[str]) -> list[str]:
        """Return shown lines with the line ends and odd bytes that they have in the file.

        Hosts hide these; known lines of the file show them.
        """
        if self.odd:
            known = [line for chunk in self.chunks for line in chunk.lines]
            origins = find_line_origins(
                [render_as_host(line) for line in known], [render_as_host(line) for line in seen]
            )
            return [
                self.convert_line_ends(line) if i == NO_ORIGIN else known[i]
                for line, i in zip(seen, origins, strict=True)
            ]
        return [self.convert_line_ends(line) for line in seen] if self.crlf else list(seen)

    def _split_stale_chunks(self, first: int, stop: int) -> None:
        """Split stale chunks, so that their lines from number `first` up to `stop` are fresh."""
        pieces: list[Chunk] = []
        for chunk in self.chunks:
            low, high = max(first, chunk.first), min(stop, chunk.next)
            pieces += [chunk] if chunk.fresh or low >= high else chunk.split_confirmed(low, high)
        self.chunks = pieces

    def _fill_gaps(self, first: int, seen: Sequence[str]) -> None:
        """Add shown lines that agree with the known ones, and join the chunks that they touch.

        No agent made the lines that were unknown before.
        """
        stop = first + len(seen)
        if self.doubted:
            self._split_stale_chunks(first, stop)
        low, high = self._find_near_chunks(first, stop)
        # A stale chunk that only meets the shown lines may have moved.
        touching = [
            chunk
            for chunk in self.chunks[low:high]
            if chunk.first < stop + chunk.fresh and chunk.next > first - chunk.fresh
        ]
        if len(touching) == 1 and touching[0].first <= first and touching[0].next >= stop:
            touching[0].fresh = True  # Part of it was confirmed, which fixes the rest in its place.
            return
        merged = Chunk(first, [], [], [], self.place_at(first))
        for chunk in touching:
            if chunk.first < first:
                merged.first = chunk.first
            else:
                self._append(
                    merged, seen[merged.next - first : chunk.first - first], chunk.place_first
                )
            merged.lines += chunk.lines
            merged.makers += chunk.makers
            merged.places += chunk.places
            merged.place_next = chunk.place_next
        if merged.next < stop:
            near = self.chunks[low : high + 1]
            following = next((chunk.place_first for chunk in near if chunk.first >= stop), None)
            self._append(merged, seen[merged.next - first :], following)
        kept = [
            chunk
            for chunk in self.chunks[low:high]
            if not any(chunk is other for other in touching)
        ]
        self.chunks[low:high] = sorted([*kept, merged], key=lambda chunk: chunk.first)

    def _find_near_chunks(self, first: int, stop: int) -> tuple[int, int]:
        """Return the start and stop index of the chunks that overlap or meet a range of lines.

        The lines are numbered from `first` up to `stop`.
        """
        low = bisect_left(self.chunks, first, key=lambda chunk: chunk.next)
        return low, bisect_right(self.chunks, stop, lo=low, key=lambda chunk: chunk.first)

    def put_chunks(self, chunks: list[Chunk]) -> None:
        """Set the chunks of the file to these, sorted by line number and without empty ones."""
        self.chunks = sorted(
            (chunk for chunk in chunks if chunk.lines), key=lambda chunk: chunk.first
        )

    def _append(self, chunk: Chunk, seen: Sequence[str], high: int | None) -> None:
        """Append lines that no agent made to a chunk; `high` is the place after them, if known."""
        if seen:
            chunk.places += self.base.settle_places(
                [0] * len(seen), seen, chunk.place_next - PLACE_SPACING, high
            )
            chunk.makers += [0] * len(seen)
            chunk.lines += seen
            chunk.place_next = chunk.places[-1] + PLACE_SPACING

    def place_at(self, number: int) -> int:
        """Estimate the place of an unknown line from its distance to the chunk before it."""
        before = bisect_right(self.chunks, number, key=lambda chunk: chunk.next)
        last = self.chunks[before - 1] if before else None
        return (
            number * PLACE_SPACING
            if last is None
            else last.place_next + (number - last.next) * PLACE_SPACING
        )

    def place_before(self, number: int, following: int | None) -> int:
        """Return a place before line `number`; with `following`, a place before that one too."""
        place = self.place_at(number) - PLACE_SPACING
        if following is None or place < following:
            return place
        return self.base.before(following)


def has_blob_id(text: str, blob: str) -> bool:
    """Return whether git gives a text an id that begins with `blob`."""
    data = encode_file_text(text)
    whole = b"blob %d\0%b" % (len(data), data)
    # Most repositories have ids by SHA-1; git does not rely on it against attacks, nor does this.
    digest = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    return digest.startswith(blob) or hashlib.sha256(whole).hexdigest().startswith(blob)


# --- observations whose place is not certain ---

# The number of observations of one file that may wait until another one settles their place.
MAX_WAITING_OBSERVATIONS = 10
# The number of proven texts of one file that are kept; a later diff may begin at one of them.
MAX_PROVEN_TEXTS = 8
# At most so many empty lines may be missing before an observation; few files have more.
_MAX_MISSING_EMPTY_LINES = 20


def settle_observation(file: FileState, observed: ObservedLines) -> ObservedLines | None:
    """Return an observation with settled line numbers, or `None` while they are uncertain.

    The output of a command may lack empty lines at its beginning, or the indentation of its first
    line. Known lines of the file show how many lines are missing, and the indentation. If they do
    not, an observation from line 1 is assumed to lack none, and a later first line is left out.
    """
    if observed.least and not _is_known_to_reach(file, observed.least):
        return None
    if not observed.slack:
        return _restore_first_indentation(file, observed)
    for fresh in (True, False):
        fits = [
            by
            for by in range(min(observed.slack, _MAX_MISSING_EMPTY_LINES) + 1)
            if _matches_at_offset(file, observed, by, fresh=fresh)
        ]
        if len(fits) == 1:
            return _restore_first_indentation(
                file, replace(observed, first=observed.first + fits[0], slack=0)
            )
    if observed.first != 1:
        return None
    # Few files begin with an empty line.
    return _restore_first_indentation(file, replace(observed, slack=0))


def has_different_line_count(file: FileState, observed: ObservedLines) -> bool:
    """Return whether a file is known as a whole, and the host counts more or fewer lines."""
    text = file.text if observed.total else None
    return text is not None and observed.total != text.count("\n") + 1


def _restore_first_indentation(file: FileState, observed: ObservedLines) -> ObservedLines:
    """Return an observation with the indentation of its first line, if that was trimmed.

    The known line at the same place has the indentation. If its text differs, or the place is line
    1, the first line stays as it was shown. If no line is known there, the observation loses it.
    """
    if not observed.trimmed or not observed.lines:
        return observed
    known = file.get_line(observed.first)
    if known is not None and _render_bare_line(known).lstrip() == strip_line_end(observed.lines[0]):
        return replace(observed, lines=[known, *observed.lines[1:]], trimmed=False)
    if known is not None or observed.first == 1:
        # The line is a different one, or begins the file, where few lines are indented.
        return replace(observed, trimmed=False)
    return replace(observed, first=observed.first + 1, lines=observed.lines[1:], trimmed=False)


def _render_bare_line(line: str) -> str:
    """Return a line as hosts show it, without its line end."""
    return strip_line_end(render_as_host(line))


def _is_known_to_reach(file: FileState, number: int) -> bool:
    """Return whether a certain line of the file has this number or a higher one."""
    return any(chunk.fresh and chunk.next > number for chunk in file.chunks)


def _matches_at_offset(file: FileState, observed: ObservedLines, by: int, *, fresh: bool) -> bool:
    """Return whether an observation fits if `by` empty lines are missing at its beginning.

    At least one known line with text must equal the shown one, and none may differ. Only chunks
    whose `fresh` has this value count.
    """
    start, lines = observed.first, observed.lines
    same, first = 0, start + by
    for chunk in [chunk for chunk in file.chunks if chunk.fresh is fresh]:
        for number in range(max(chunk.first, first), min(chunk.next, first + len(lines))):
            known = _render_bare_line(chunk.lines[number - chunk.first])
            seen = strip_line_end(lines[number - first])
            if known != seen and not (
                observed.trimmed and number == first and known.lstrip() == seen
            ):
                return False
            same += bool(seen.strip())
        if any(
            strip_line_end(chunk.lines[number - chunk.first])
            for number in range(max(chunk.first, start), min(chunk.next, first))
        ):
            return False
    return same > 0


# --- tracked files ---

# How a range is proved, from the strongest evidence to none.
EVIDENCE_RECORDED, EVIDENCE_REPLAYED, EVIDENCE_WINDOWED, EVIDENCE_ANCHORED = (
    "recorded",
    "replayed",
    "windowed",
    "diff-anchored",
)
EVIDENCE_CONTENT_ONLY, EVIDENCE_EXTERNAL, EVIDENCE_SHELL = "content-only", "external", "shell"

# Why a file may differ from its known text: since the session last showed it, a formatter ran, a
# command ran that may have changed it, or it changed from outside and only a part was shown again.
DOUBT_FORMATTER, DOUBT_COMMAND, DOUBT_UNSEEN = "formatter", "command", "unseen"
# The session has a mark such as `[REDACTED]` in the place of a part of it.
DOUBT_REDACTED = "redacted"


@dataclass(slots=True)
class LineMaker:
    """The maker of lines: an agent's call (`ai`), the user, a command (`shell`), or unknown."""

    kind: str
    """`ai`, `user`, `shell` or `unknown`."""
    entries: list[str]
    """The ids of the entries that prove it."""
    call_id: str
    model: str
    evidence: str
    record: int = 0
    """The index of the record in the replay."""
    contributor: Any = None
    """The contributor that the entry itself names, if any."""
    time: int = 0
    """When the call was requested, in milliseconds since 1970; 0 if no entry states a time."""
    zoneless: bool = False
    """Whether that time was stated without a time zone."""


@dataclass(slots=True)
class AppliedChange:
    """A call applied to one file, and the line ranges it wrote, numbered as they were after it."""

    call: ToolCall
    path: str
    ranges: LineRanges
    evidence: str
    record: int = 0


@dataclass(slots=True)
class TrackedFile:
    """One file of a replay: its state, and when it was last seen and changed."""

    path: str
    file: FileState
    gone: bool = False
    """Whether the file was deleted or moved away."""
    dirty: bool = False
    """Whether something may have changed the file since it was last seen."""
    swept: bool = False
    """Whether only a formatter may have changed the file; it leaves most files as they are."""
    looked: int = 0
    """When a step last showed or wrote the file, by the clock of the replay."""
    changed: int = 0
    """When a call last changed the file."""
    doubted: int = 0
    """When a command last likely changed the file."""
    created: bool = False
    """Whether these sessions created the file, so that git does not track it."""
    drifted: bool = False
    """Whether the file was changed from outside, and the change may be committed."""
    host_texts: dict[tuple[int, str], str] = field(default_factory=dict)
    """The text that a host keeps of the file, by record and sub-agent."""
    waiting: list[ObservedLines] = field(default_factory=list)
    """Observations whose line numbers are still uncertain."""
    proven_texts: list[str] = field(default_factory=list)
    """Earlier texts of the file, of the work tree or the index, that git's ids prove."""
    unplaced: list[tuple[Sequence[Edit], AppliedChange, int]] = field(default_factory=list)
    """Changes whose place is still unknown: the edits, the change, and its maker."""

    @property
    def is_doubtful(self) -> bool:
        """Whether a command likely changed it, and it was not seen since."""
        return self.dirty and self.doubted >= self.looked and self.doubted > 0

    @property
    def text(self) -> str | None:
        """The whole text, or `None` while a part is unknown or uncertain."""
        return self.file.text if not self.dirty or self.swept else None

    @property
    def best_text(self) -> str | None:
        """The whole text, though there may be a `doubt`, or `None` while a part is unknown.

        A text that a command likely changed is not known. Neither is one that git may have replaced
        with another version, if others changed the file before.
        """
        may_be_other = self.dirty and self.file.doubted and self.drifted
        if self.is_doubtful or self.unplaced or may_be_other:
            return None
        return self.file.best_text

    @property
    def doubt(self) -> str:
        """Why `best_text` may differ from the file: `""` if nothing speaks against it."""
        if self.dirty:
            return DOUBT_FORMATTER if self.swept else DOUBT_COMMAND
        if not self.file.is_whole:
            return DOUBT_UNSEEN
        return DOUBT_REDACTED if self.file.is_redacted else ""

    def restart(self, file: FileState, when: int) -> None:
        """Set the file to a state that is certain at a time, whatever happened before."""
        self.file, self.gone, self.dirty, self.swept = file, False, False, False
        self.looked, self.drifted = when, False
        self.waiting, self.unplaced = [], []
        self.host_texts.clear()

    def mark_changed(self, when: int, *, likely: bool, formatter: bool = False) -> None:
        """Note that something may have changed the file at a time, or `likely` has changed it.

        With `formatter`, only a formatter may have changed it.
        """
        self.swept = formatter and (self.swept or not self.dirty)
        self.dirty, self.doubted = True, when if likely else self.doubted
        self.waiting.clear()
        if self.gone:  # It may exist again.
            self.file, self.gone = FileState(), False

"""Blocks of lines that files and pieces of sessions have in common. Step: blame.

Lines that a commit added, joined to what records say. Step: blame.

First by the whole file: when a session left just these bytes, at its end or on the way, each line
is known. Then by content: lines of one maker that stand in the commit as one block. A block tells
something when it is two lines or more with enough in them, or one long line that is in the commit
once and was written once; when it is in the commit more often than it was written, nobody knows
which of them was copied, so it tells nothing. Neither time nor names decide, so a commit may be
rebased, squashed, amended or picked, and a file renamed. A line that was changed since, between
lines of its block that were not, is mixed when a part of what was written is left.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from vacr.blame.claims import GatheredClaims, HashedRange, LineClaim, TextPiece
from vacr.edits import encode_file_text, strip_line_end

# A line that stands in more places than this tells nothing about where a block is.
_MAX_LINE_PLACES = 64
_MIN_CHARACTERS = 20
_MIN_LETTERS = 8
# What a block has to have in another file than the one that was written: enough to be no phrase
# that everybody writes.
_MIN_LINES_ELSEWHERE, _MIN_CHARACTERS_ELSEWHERE = 3, 50
_MAX_SLIDE = 8


class ComparableFile(Protocol):
    """A file: its lines without their ends, and the numbers of those that are asked for."""

    bare: list[str]
    added: Collection[int]


@dataclass(frozen=True, slots=True)
class SharedBlock:
    """Consecutive lines that a file and a piece have in common; `numbers` are those that were asked
    for.
    """

    file: int
    piece: int
    first: int
    at: int
    numbers: tuple[int, ...]

    def place(self, number: int) -> int:
        """Give the place in the piece of a line of the file."""
        return self.at + number - self.first

    def lines(self, bare: Sequence[str]) -> tuple[str, ...]:
        """Give the lines that were asked for."""
        return tuple(bare[number - 1] for number in self.numbers)


def find_shared_blocks(
    files: Sequence[ComparableFile],
    pieces: Sequence[Sequence[str]],
    index: Mapping[str, Sequence[tuple[int, int]]],
) -> Iterator[SharedBlock]:
    """Give the longest blocks that each file has in common with each piece, as far as lines were
    asked for.
    """
    for name, file in enumerate(files):
        done: dict[tuple[int, int], int] = {}
        for number in sorted(file.added):
            hits = index.get(file.bare[number - 1], ())
            if len(hits) > _MAX_LINE_PLACES:
                continue
            for piece, at in hits:
                if done.get((piece, number - at), 0) > number:
                    continue
                first, stop = _grow_block(file.bare, pieces[piece], number, at)
                done[piece, number - at] = stop
                block = _slide_block(file, name, piece, first, at - (number - first), stop - first)
                if block.numbers:
                    yield block


def _grow_block(bare: Sequence[str], piece: Sequence[str], number: int, at: int) -> tuple[int, int]:
    first, stop = number, number + 1
    low, high = at, at + 1
    while low > 0 and first > 1 and bare[first - 2] == piece[low - 1]:
        first, low = first - 1, low - 1
    while high < len(piece) and stop <= len(bare) and bare[stop - 1] == piece[high]:
        stop, high = stop + 1, high + 1
    return first, stop


def _slide_block(
    file: ComparableFile, name: int, piece: int, first: int, at: int, count: int
) -> SharedBlock:
    """Move a block over equal lines to where the commit has it: what one diff puts before a
    function, another puts behind it.
    """
    best = _list_added_numbers(file, first, count)
    start = first
    for step in (-1, 1):
        place = first
        for _ in range(_MAX_SLIDE):
            if len(best) == count:
                break
            edge = place - 1 if step < 0 else place + count
            other = place + count - 1 if step < 0 else place
            if not 1 <= edge <= len(file.bare) or file.bare[edge - 1] != file.bare[other - 1]:
                break
            place += step
            asked = _list_added_numbers(file, place, count)
            if len(asked) > len(best):
                best, start = asked, place
    return SharedBlock(name, piece, start, at, best)


def _list_added_numbers(file: ComparableFile, first: int, count: int) -> tuple[int, ...]:
    return tuple(number for number in range(first, first + count) if number in file.added)


def is_distinctive(lines: Sequence[str], *, same_path: bool, whole: bool) -> bool:
    """Tell whether lines say enough to be known again."""
    letters = [sum(map(str.isalnum, line)) for line in lines]
    full = sum(len("".join(line.split())) for line in lines)
    said = sum(count > 0 for count in letters)
    if not same_path:
        return full >= _MIN_CHARACTERS_ELSEWHERE and said >= _MIN_LINES_ELSEWHERE
    if len(lines) == 1:
        return full >= _MIN_CHARACTERS and said > 0
    return sum(letters) >= _MIN_LETTERS or (said > 1 and (whole or full >= _MIN_CHARACTERS))


def is_partly_kept(ours: str, theirs: str) -> bool:
    """Tell whether a good part of a line is left in another: half of the longer, at its beginning
    and its end.
    """
    one, other = "".join(ours.split()), "".join(theirs.split())
    if not one or not other:
        return False
    shorter = min(len(one), len(other))
    front = 0
    while front < shorter and one[front] == other[front]:
        front += 1
    back = 0
    while back < shorter - front and one[-1 - back] == other[-1 - back]:
        back += 1
    return 2 * (front + back) >= max(len(one), len(other)) and front + back > 1


JOIN_BY_BLOB, JOIN_BY_CONTENT = "blob", "content"
_CONTRIBUTOR_ORDER = {"ai": 0, "mixed": 1, "human": 2}

# Bytes that are hashed to find ranges of which only the hash is known.
_MAX_HASHED_BYTES = 1 << 28
# Lines in a row that may have been changed inside a block.
_MAX_CHANGED_LINES = 3


@dataclass(slots=True)
class FileVersion:
    """A file as a commit has it: its lines, the numbers of those that the commit added, and the
    SHA-256 of all its bytes.

    `names` are other names that the file had; `left` are the added lines that are asked for, where
    it is not all of them.
    """

    path: str
    lines: Sequence[str]
    added: Collection[int]
    digest: str
    names: Collection[str] = ()
    left: Collection[int] | None = None
    bare: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make lines comparable whatever ends them."""
        self.bare = [strip_line_end(line) for line in self.lines]

    def is_named(self, path: str) -> bool:
        """Tell whether a session may have called the file so, from wherever it worked."""
        return any(
            name == path or name.endswith(f"/{path}") or path.endswith(f"/{name}")
            for name in (self.path, *self.names)
        )

    def asks(self, number: int) -> bool:
        """Tell whether a line is asked for."""
        return self.left is None or number in self.left


@dataclass(frozen=True, slots=True)
class LineBlame:
    """What is known of a line: `ai`, `human` or `mixed`, the claim that says so, and how it was
    joined to it.
    """

    type: str
    claim: LineClaim
    join: str


BlameByLine = dict[int, LineBlame]


class ClaimJoiner:
    """Joins commits to what records say."""

    def __init__(self, told: GatheredClaims) -> None:
        """Sort what records say by the lines it is made of."""
        self.told = told
        self.pieces = [[strip_line_end(line) for line in piece.lines] for piece in told.pieces]
        self.index: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, lines in enumerate(self.pieces):
            for at, line in enumerate(lines):
                self.index[line].append((number, at))
        self.hashed: dict[int, dict[str, list[HashedRange]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for one in told.hashed:
            self.hashed[one.count][one.digest].append(one)
        self.work = _MAX_HASHED_BYTES

    def join(self, versions: Sequence[FileVersion], *, one_file: bool = False) -> list[BlameByLine]:
        """Say who made the lines that were added, by their numbers.

        The versions are the files of one commit, or those of `one_file` in several.
        """
        answers = [self._by_blob(version) for version in versions]
        taken: set[tuple[int, int]] = set()
        accepted = []
        for block in sorted(
            self._sure(versions, one_file=one_file), key=lambda block: self._rank(block, versions)
        ):
            if self._accept(block, versions, answers, taken):
                accepted.append(block)
        self._by_hash(versions, answers, one_file=one_file)
        for block in accepted:
            for step in (-1, 1):
                self._around(block, step, versions[block.file], answers[block.file], taken)
        return answers

    def _by_blob(self, version: FileVersion) -> BlameByLine:
        answer: BlameByLine = {}
        for state in self.told.states.get(version.digest, ()):
            for number in state.keys() & set(version.added):
                claim = state[number]
                if (
                    number not in answer
                    or _CONTRIBUTOR_ORDER[claim.type] < _CONTRIBUTOR_ORDER[answer[number].type]
                ):
                    answer[number] = LineBlame(claim.type, claim, JOIN_BY_BLOB)
        return answer

    def _piece(self, block: SharedBlock) -> TextPiece:
        return self.told.pieces[block.piece]

    def _rank(
        self, block: SharedBlock, versions: Sequence[FileVersion]
    ) -> tuple[int, int, bool, int]:
        piece = self._piece(block)
        elsewhere = not versions[block.file].is_named(piece.path)
        return -len(block.numbers), _CONTRIBUTOR_ORDER[piece.claim.type], elsewhere, block.piece

    def _sure(self, versions: Sequence[FileVersion], *, one_file: bool) -> Iterator[SharedBlock]:
        """Give the blocks that are not there more often than they were written."""
        texts: dict[tuple[str, ...], list[SharedBlock]] = defaultdict(list)
        for block in find_shared_blocks(versions, self.pieces, self.index):
            version, piece = versions[block.file], self._piece(block)
            lines = block.lines(version.bare)
            whole = len(lines) == len(piece.lines)
            if is_distinctive(lines, same_path=version.is_named(piece.path), whole=whole) and any(
                map(version.asks, block.numbers)
            ):
                texts[lines].append(block)
        for lines, blocks in texts.items():
            written = self._written(blocks)
            for some in (
                blocks,
                [
                    block
                    for block in blocks
                    if versions[block.file].is_named(self._piece(block).path)
                ],
            ):
                places = {(block.file, block.numbers[0]) for block in some}
                if _count_occurrences(versions, places, lines, one_file=one_file) <= (
                    written if len(lines) > 1 else min(written, 1)
                ):
                    yield from some
                    break

    def _written(self, blocks: Sequence[SharedBlock]) -> int:
        """Count how often the text of these blocks was written."""
        times: dict[tuple[tuple[str, str], int], set[tuple[int, int]]] = defaultdict(set)
        for block in blocks:
            piece = self._piece(block)
            times[piece.claim.source, piece.moment].add((block.piece, block.at))
        most: dict[tuple[str, str], int] = defaultdict(int)
        for (source, _), places in times.items():
            most[source] = max(most[source], len(places))
        return sum(most.values())

    def _accept(
        self,
        block: SharedBlock,
        versions: Sequence[FileVersion],
        answers: Sequence[BlameByLine],
        taken: set[tuple[int, int]],
    ) -> bool:
        answer, version, piece = answers[block.file], versions[block.file], self._piece(block)
        places = {number: (block.piece, block.place(number)) for number in block.numbers}
        known = [number for number in places if number in answer]
        taken |= {
            places[n]
            for n in known
            if answer[n].join == JOIN_BY_BLOB and answer[n].claim.source == piece.claim.source
        }
        new = [
            number
            for number, place in places.items()
            if number not in answer and place not in taken
        ]
        lines = tuple(version.bare[number - 1] for number in new)
        if len(new) < len(places) and not is_distinctive(
            lines, same_path=version.is_named(piece.path), whole=False
        ):
            return False
        taken |= {places[number] for number in new if version.asks(number)}
        answer |= {
            number: LineBlame(piece.claim.type, piece.claim, JOIN_BY_CONTENT) for number in new
        }
        return True

    def _by_hash(
        self, versions: Sequence[FileVersion], answers: Sequence[BlameByLine], *, one_file: bool
    ) -> None:
        """Find ranges of which only the hash is known."""
        for count, known in self.hashed.items():
            found: dict[str, set[tuple[int, int]]] = defaultdict(set)
            for file, version in enumerate(versions):
                for digest, first in self._windows(version, answers[file], count):
                    if digest in known and any(map(version.asks, range(first, first + count))):
                        found[digest].add((file, first))
            for digest, places in found.items():
                self._hashed(versions, answers, known[digest], sorted(places), one_file=one_file)

    def _windows(
        self, version: FileVersion, answer: BlameByLine, count: int
    ) -> Iterator[tuple[str, int]]:
        """Give the hash of each run of so many lines that nothing is known of."""
        for region in _split_consecutive_numbers(
            [number for number in sorted(version.added) if number not in answer]
        ):
            for first in range(region[0], region[-1] - count + 2):
                data = encode_file_text("".join(version.lines[first - 1 : first - 1 + count]))
                self.work -= len(data)
                if self.work < 0:
                    return
                yield hashlib.sha256(data).hexdigest(), first

    def _hashed(
        self,
        versions: Sequence[FileVersion],
        answers: Sequence[BlameByLine],
        known: Sequence[HashedRange],
        places: Sequence[tuple[int, int]],
        *,
        one_file: bool,
    ) -> None:
        count, (file, first) = known[0].count, places[0]
        lines = tuple(versions[file].bare[first - 1 : first - 1 + count])
        if _count_occurrences(versions, set(places), lines, one_file=one_file) > (
            len(known) if count > 1 else 1
        ):
            return
        for (file, first), one in zip(places, known, strict=False):
            if is_distinctive(lines, same_path=versions[file].is_named(one.path), whole=True):
                for number in range(first, first + count):
                    answers[file].setdefault(
                        number, LineBlame(one.claim.type, one.claim, JOIN_BY_CONTENT)
                    )

    def _around(
        self,
        block: SharedBlock,
        step: int,
        version: FileVersion,
        answer: BlameByLine,
        taken: set[tuple[int, int]],
    ) -> None:
        """Go on from a block to lines that were changed since, and to those behind them."""
        lines, claim = self.pieces[block.piece], self._piece(block).claim
        number = (block.numbers[-1] if step > 0 else block.numbers[0]) + step
        changed = 0
        while changed < _MAX_CHANGED_LINES and number in version.added and number not in answer:
            at = block.place(number)
            if not 0 <= at < len(lines) or (block.piece, at) in taken:
                return
            ours, theirs = lines[at], version.bare[number - 1]
            if "".join(ours.split()) == "".join(theirs.split()):
                answer[number] = LineBlame(claim.type, claim, JOIN_BY_CONTENT)
                changed = 0
            else:
                changed += 1
                if is_partly_kept(ours, theirs) and claim.type != "human":
                    answer[number] = LineBlame("mixed", claim, JOIN_BY_CONTENT)
            taken.add((block.piece, at))
            number += step


def _count_occurrences(
    versions: Sequence[FileVersion],
    places: set[tuple[int, int]],
    lines: tuple[str, ...],
    *,
    one_file: bool,
) -> int:
    """Count how often lines are there: where they were added, and where they were before."""
    files = Counter(file for file, _ in places)
    there = {file: _count_earlier_occurrences(versions[file], lines) for file in files}
    if one_file:  # what one commit added is there in those after it
        return max(len(places), *(count + there[file] for file, count in files.items()))
    return len(places) + sum(there.values())


def _count_earlier_occurrences(version: FileVersion, lines: tuple[str, ...]) -> int:
    """Count how often a file has lines that the commit did not add."""
    count, at = 0, -1
    while True:
        try:
            at = version.bare.index(lines[0], at + 1)
        except ValueError:
            return count
        if tuple(version.bare[at : at + len(lines)]) == lines and at + 1 not in version.added:
            count += 1


def _split_consecutive_numbers(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Give the runs of consecutive numbers."""
    start = 0
    for i in range(1, len(numbers) + 1):
        if i == len(numbers) or numbers[i] != numbers[i - 1] + 1:
            yield numbers[start:i]
            start = i

"""The lines that a commit added, joined to the claims of records.

First by the whole file: if a session left exactly these bytes, at its end or on the way, each line
is known. Then by content: lines of one maker that are in the commit as one block. A block counts if
it has two lines or more with enough in them, or one long line that is in the commit once and was
written once. A block that is in the commit more often than it was written does not count, because
one of them is a copy. Neither times nor names decide, so commits may be rebased, squashed, amended
or picked, and files renamed. A line that was changed later, between unchanged lines of its block,
is mixed if part of the written text is left.

    >>> from vacr.blame.claims import GatheredClaims, LineClaim, TextPiece
    >>> from vacr.blame.join import ClaimJoiner, FileVersion
    >>> claim = LineClaim("ai", "gpt-5", "session-1", "", "entry-9", "call-3", "", "replayed")
    >>> written = ("def total(lines):\\n", "    return sum(lines)\\n")
    >>> claims = GatheredClaims(pieces=[TextPiece(claim, "total.py", written, moment=1)])
    >>> version = FileVersion("total.py", ["import os\\n", *written], added={1, 2, 3}, digest="")
    >>> [blame] = ClaimJoiner(claims).join([version])
    >>> sorted(blame), blame[2].claim.call_id, blame[2].join
    ([2, 3], 'call-3', 'content')
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vacr.blame.claims import GatheredClaims, HashedRange, LineClaim, TextPiece
from vacr.edits import encode_file_text, strip_line_end

JOIN_BY_BLOB = "blob"
JOIN_BY_CONTENT = "content"

# When claims compete for a line, the smaller rank wins.
_CONTRIBUTOR_RANK = {"ai": 0, "mixed": 1, "human": 2}

# A line that is in more places than this does not help to find a block.
_MAX_LINE_PLACES = 64
_MAX_SLIDE = 8

# How much a block needs in the file it was written to.
_MIN_CHARACTERS = 20
_MIN_LETTERS = 8
# How much it needs in another file, so that it is not a common phrase.
_MIN_LINES_ELSEWHERE = 3
_MIN_CHARACTERS_ELSEWHERE = 50

# How many bytes are hashed to find ranges that are known only by their hash.
_MAX_HASHED_BYTES = 1 << 28
# How many consecutive lines inside a block may have been changed later.
_MAX_CHANGED_LINES = 3

_PiecePlace = tuple[int, int]
"""The number of a piece, and the index of a line in it."""
_FilePlace = tuple[int, int]
"""The number of a file, and the number of a line in it."""


@dataclass(slots=True)
class FileVersion:
    """A file in one commit, and the numbers of the lines that the commit added."""

    path: str
    lines: Sequence[str]
    added: Collection[int]
    """The numbers of the lines that the commit added."""
    digest: str
    """The SHA-256 of the file."""
    names: Collection[str] = ()
    """Other names that the file had."""
    wanted: Collection[int] | None = None
    """The added lines that matter to the caller; `None` for all."""
    bare: list[str] = field(default_factory=list)
    """The lines without their ends, for comparisons."""

    def __post_init__(self) -> None:
        """Fill `bare` with the lines without their ends."""
        self.bare = [strip_line_end(line) for line in self.lines]

    def is_named(self, path: str) -> bool:
        """Return whether a path in a session may mean this file, from any working folder.

        One of the two paths must end with the other: `src/a.py` may be called `a.py`.
        """
        return any(
            name == path or name.endswith(f"/{path}") or path.endswith(f"/{name}")
            for name in (self.path, *self.names)
        )

    def is_wanted(self, number: int) -> bool:
        """Return whether a line matters to the caller."""
        return self.wanted is None or number in self.wanted


@dataclass(frozen=True, slots=True)
class LineBlame:
    """The writer of a line, the claim about it, and how the claim was found."""

    type: str
    """`ai`, `human` or `mixed`."""
    claim: LineClaim
    join: str
    """`blob` if a session left exactly this file, `content` if only lines of it match."""


BlameByLine = dict[int, LineBlame]
"""The blame of added lines, by their numbers; lines that no record claims are missing."""


class ClaimJoiner:
    """Finds the claims about the lines that commits added."""

    def __init__(self, claims: GatheredClaims) -> None:
        """Index the claims by the lines in them."""
        self.claims = claims
        self.pieces = [[strip_line_end(line) for line in piece.lines] for piece in claims.pieces]
        self.index: dict[str, list[_PiecePlace]] = defaultdict(list)
        for number, lines in enumerate(self.pieces):
            for offset, line in enumerate(lines):
                self.index[line].append((number, offset))
        # By the count of lines, then by the hash.
        self.hashed: dict[int, dict[str, list[HashedRange]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for hashed in claims.hashed:
            self.hashed[hashed.count][hashed.digest].append(hashed)
        self.hash_budget = _MAX_HASHED_BYTES

    def join(self, versions: Sequence[FileVersion], *, one_file: bool = False) -> list[BlameByLine]:
        """Return for each version who wrote its added lines, by their numbers.

        Lines that no record claims are left out. The versions are the files of one commit, or
        states of `one_file` in several commits.
        """
        blames = [self._join_by_blob(version) for version in versions]
        used: set[_PiecePlace] = set()
        accepted = []
        blocks = sorted(
            self._find_sure_blocks(versions, one_file=one_file),
            key=lambda block: self._rank_block(block, versions),
        )
        for block in blocks:
            if self._accept_block(block, versions[block.file], blames[block.file], used):
                accepted.append(block)
        self._join_by_hash(versions, blames, one_file=one_file)
        for block in accepted:
            for step in (-1, 1):
                self._extend_block(block, step, versions[block.file], blames[block.file], used)
        return blames

    def _join_by_blob(self, version: FileVersion) -> BlameByLine:
        """Return the blame of added lines if a session left exactly this file, else an empty one.

        If several sessions did, `ai` outranks `mixed`, and `mixed` outranks `human`.
        """
        blame: BlameByLine = {}
        for state in self.claims.states.get(version.digest, ()):
            for number in state.keys() & set(version.added):
                claim = state[number]
                known = blame.get(number)
                if known is None or _CONTRIBUTOR_RANK[claim.type] < _CONTRIBUTOR_RANK[known.type]:
                    blame[number] = LineBlame(claim.type, claim, JOIN_BY_BLOB)
        return blame

    def _get_piece(self, block: SharedBlock) -> TextPiece:
        """Return the piece of text that a block is part of."""
        return self.claims.pieces[block.piece]

    def _find_sure_blocks(
        self, versions: Sequence[FileVersion], *, one_file: bool
    ) -> Iterator[SharedBlock]:
        """Yield the distinctive blocks that are in the files at most as often as they were written.

        Otherwise one of them is a copy. Then the blocks in files with the name that the session
        wrote to may still be few enough.
        """
        by_text: dict[tuple[str, ...], list[SharedBlock]] = defaultdict(list)
        for block in find_shared_blocks(versions, self.pieces, self.index):
            version, piece = versions[block.file], self._get_piece(block)
            lines = block.select_lines(version.bare)
            is_whole = len(lines) == len(piece.lines)
            same_path = version.is_named(piece.path)
            if is_distinctive(lines, same_path=same_path, whole=is_whole) and any(
                map(version.is_wanted, block.numbers)
            ):
                by_text[lines].append(block)
        for lines, blocks in by_text.items():
            written = self._count_times_written(blocks)
            limit = written if len(lines) > 1 else min(written, 1)
            # If the text is in other files too, those with the right name may still be sure.
            at_home = [
                block
                for block in blocks
                if versions[block.file].is_named(self._get_piece(block).path)
            ]
            for candidates in (blocks, at_home):
                places = {(block.file, block.numbers[0]) for block in candidates}
                if _count_occurrences(versions, places, lines, one_file=one_file) <= limit:
                    yield from candidates
                    break

    def _count_times_written(self, blocks: Sequence[SharedBlock]) -> int:
        """Return how often calls wrote the text that these blocks share."""
        places_by_moment: dict[tuple[tuple[str, str], int], set[_PiecePlace]] = defaultdict(set)
        for block in blocks:
            piece = self._get_piece(block)
            moment = piece.claim.source, piece.moment
            places_by_moment[moment].add((block.piece, block.offset))
        # A call's pieces are collected at many moments; the moment with the most places counts.
        most_by_source: dict[tuple[str, str], int] = defaultdict(int)
        for (source, _), places in places_by_moment.items():
            most_by_source[source] = max(most_by_source[source], len(places))
        return sum(most_by_source.values())

    def _rank_block(
        self, block: SharedBlock, versions: Sequence[FileVersion]
    ) -> tuple[int, int, bool, int]:
        """Return a sort key: longer blocks first, then by type of writer, then the same file."""
        piece = self._get_piece(block)
        is_elsewhere = not versions[block.file].is_named(piece.path)
        contributor_rank = _CONTRIBUTOR_RANK[piece.claim.type]
        return -len(block.numbers), contributor_rank, is_elsewhere, block.piece

    def _accept_block(
        self,
        block: SharedBlock,
        version: FileVersion,
        blame: BlameByLine,
        used: set[_PiecePlace],
    ) -> bool:
        """Add the lines of a block to the blame, and mark their places in the piece as used.

        Lines and places that other blocks have taken stay as they are. Return whether the block
        was accepted: it is not if some lines are taken and the others are not distinctive.
        """
        piece = self._get_piece(block)
        places = {number: (block.piece, block.get_offset(number)) for number in block.numbers}
        used |= {
            place
            for number, place in places.items()
            if (known := blame.get(number)) is not None
            and known.join == JOIN_BY_BLOB
            and known.claim.source == piece.claim.source
        }
        new = [
            number for number, place in places.items() if number not in blame and place not in used
        ]
        if len(new) < len(places):
            lines = tuple(version.bare[number - 1] for number in new)
            if not is_distinctive(lines, same_path=version.is_named(piece.path), whole=False):
                return False
        used |= {places[number] for number in new if version.is_wanted(number)}
        blame |= {
            number: LineBlame(piece.claim.type, piece.claim, JOIN_BY_CONTENT) for number in new
        }
        return True

    def _join_by_hash(
        self, versions: Sequence[FileVersion], blames: Sequence[BlameByLine], *, one_file: bool
    ) -> None:
        """Add the lines of ranges that are known only by their hash to the blames."""
        for count, ranges_by_digest in self.hashed.items():
            matches: dict[str, set[_FilePlace]] = defaultdict(set)
            for file, version in enumerate(versions):
                for digest, first in self._hash_windows(version, blames[file], count):
                    numbers = range(first, first + count)
                    if digest in ranges_by_digest and any(map(version.is_wanted, numbers)):
                        matches[digest].add((file, first))
            for digest, places in matches.items():
                ranges = ranges_by_digest[digest]
                _blame_hashed_ranges(versions, blames, ranges, sorted(places), one_file=one_file)

    def _hash_windows(
        self, version: FileVersion, blame: BlameByLine, count: int
    ) -> Iterator[tuple[str, int]]:
        """Yield the SHA-256 and the first number of each run of `count` added lines without blame.

        Stop when the budget of bytes to hash is used up.
        """
        unknown = [number for number in sorted(version.added) if number not in blame]
        for region in _split_consecutive_numbers(unknown):
            for first in range(region[0], region[-1] - count + 2):
                data = encode_file_text("".join(version.lines[first - 1 : first - 1 + count]))
                self.hash_budget -= len(data)
                if self.hash_budget < 0:
                    return
                yield hashlib.sha256(data).hexdigest(), first

    def _extend_block(
        self,
        block: SharedBlock,
        step: int,
        version: FileVersion,
        blame: BlameByLine,
        used: set[_PiecePlace],
    ) -> None:
        """Blame the lines next to one end of a block, although some were changed later.

        `step` is 1 to go down, -1 to go up. A line with the same text but for blanks belongs to the
        claim of the block; a partly kept line is `mixed`. Stop after several changed lines.
        """
        lines, claim = self.pieces[block.piece], self._get_piece(block).claim
        number = (block.numbers[-1] if step > 0 else block.numbers[0]) + step
        changed = 0
        while changed < _MAX_CHANGED_LINES and number in version.added and number not in blame:
            offset = block.get_offset(number)
            if not 0 <= offset < len(lines) or (block.piece, offset) in used:
                return
            written, committed = lines[offset], version.bare[number - 1]
            if "".join(written.split()) == "".join(committed.split()):
                blame[number] = LineBlame(claim.type, claim, JOIN_BY_CONTENT)
                changed = 0
            else:
                changed += 1
                if is_partly_kept(written, committed) and claim.type != "human":
                    blame[number] = LineBlame("mixed", claim, JOIN_BY_CONTENT)
            used.add((block.piece, offset))
            number += step


def _split_consecutive_numbers(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the runs of consecutive numbers: `[3, 4, 7]` becomes `[3, 4]` and `[7]`."""
    start = 0
    for i in range(1, len(numbers) + 1):
        if i == len(numbers) or numbers[i] != numbers[i - 1] + 1:
            yield numbers[start:i]
            start = i


def _blame_hashed_ranges(
    versions: Sequence[FileVersion],
    blames: Sequence[BlameByLine],
    ranges: Sequence[HashedRange],
    places: Sequence[_FilePlace],
    *,
    one_file: bool,
) -> None:
    """Add ranges that share one hash to the blames of the files.

    `places` are all places where files have these lines. Add none if the files have the lines more
    often than they were written.
    """
    count, (file, first) = ranges[0].count, places[0]
    lines = tuple(versions[file].bare[first - 1 : first - 1 + count])
    limit = len(ranges) if count > 1 else 1
    if _count_occurrences(versions, set(places), lines, one_file=one_file) > limit:
        return
    for (file, first), hashed in zip(places, ranges, strict=False):
        if is_distinctive(lines, same_path=versions[file].is_named(hashed.path), whole=True):
            blame = LineBlame(hashed.claim.type, hashed.claim, JOIN_BY_CONTENT)
            for number in range(first, first + count):
                blames[file].setdefault(number, blame)


def _count_occurrences(
    versions: Sequence[FileVersion],
    places: set[_FilePlace],
    lines: tuple[str, ...],
    *,
    one_file: bool,
) -> int:
    """Return how often the files have these lines, whether the commit added them or not.

    `places` are the places where a commit added them. For versions of `one_file`, return the number
    of places, or the highest count in one version if that is greater.
    """
    files = Counter(file for file, _ in places)
    earlier = {file: _count_earlier_occurrences(versions[file], lines) for file in files}
    if one_file:  # a later version still has the lines that an earlier commit added
        return max(len(places), *(count + earlier[file] for file, count in files.items()))
    return len(places) + sum(earlier.values())


def _count_earlier_occurrences(version: FileVersion, lines: tuple[str, ...]) -> int:
    """Return how often a file has these lines at a place where the commit did not add them."""
    count, index = 0, -1
    while True:
        try:
            index = version.bare.index(lines[0], index + 1)
        except ValueError:
            return count
        is_equal = tuple(version.bare[index : index + len(lines)]) == lines
        if is_equal and index + 1 not in version.added:
            count += 1


# Blocks that a file and a piece of text share


@dataclass(frozen=True, slots=True)
class SharedBlock:
    """Consecutive lines that a file and a piece have in common."""

    file: int
    """The index of the file."""
    piece: int
    """The index of the piece."""
    first: int
    """The number of the first line in the file."""
    offset: int
    """The index of the first line in the piece."""
    numbers: tuple[int, ...]
    """The numbers of the lines that the commit added."""

    def get_offset(self, number: int) -> int:
        """Return the index in the piece for a line number of the file."""
        return self.offset + number - self.first

    def select_lines(self, bare: Sequence[str]) -> tuple[str, ...]:
        """Return the added lines of the block; `bare` are all lines of the file without ends."""
        return tuple(bare[number - 1] for number in self.numbers)


def find_shared_blocks(
    files: Sequence[FileVersion],
    pieces: Sequence[Sequence[str]],
    index: Mapping[str, Sequence[_PiecePlace]],
) -> Iterator[SharedBlock]:
    """Yield the longest blocks with added lines that each file shares with each piece.

    `index` has the places of each line in the pieces; a line with too many places begins no block.
    """
    for file_number, file in enumerate(files):
        # Where the newest block on each diagonal of file and piece ends.
        stops: dict[_PiecePlace, int] = {}
        for number in sorted(file.added):
            hits = index.get(file.bare[number - 1], ())
            if len(hits) > _MAX_LINE_PLACES:
                continue
            for piece, offset in hits:
                if stops.get((piece, number - offset), 0) > number:
                    continue
                first, stop = _grow_block(file.bare, pieces[piece], number, offset)
                stops[piece, number - offset] = stop
                first_offset = offset - (number - first)
                start, numbers = _slide_block(file, first, stop - first)
                if numbers:
                    yield SharedBlock(file_number, piece, start, first_offset, numbers)


def _grow_block(
    bare: Sequence[str], piece: Sequence[str], number: int, offset: int
) -> tuple[int, int]:
    """Return the first number of the longest block around a line, and the number after its last.

    The line has this number in the file, and the index `offset` in the piece.
    """
    first, stop = number, number + 1
    low, high = offset, offset + 1
    while low > 0 and first > 1 and bare[first - 2] == piece[low - 1]:
        first, low = first - 1, low - 1
    while high < len(piece) and stop <= len(bare) and bare[stop - 1] == piece[high]:
        stop, high = stop + 1, high + 1
    return first, stop


def _slide_block(file: FileVersion, first: int, count: int) -> tuple[int, tuple[int, ...]]:
    """Move a block up or down over equal lines to where the commit added most of its lines.

    Diffs differ on whether the empty line of a new function comes before or after it. Return the
    new first number, and the numbers of the added lines in the block.
    """
    best = _list_added_numbers(file, first, count)
    start = first
    for step in (-1, 1):
        place = first
        for _ in range(_MAX_SLIDE):
            if len(best) == count:
                break
            entering = place - 1 if step < 0 else place + count
            leaving = place + count - 1 if step < 0 else place
            if not 1 <= entering <= len(file.bare):
                break
            if file.bare[entering - 1] != file.bare[leaving - 1]:
                break
            place += step
            numbers = _list_added_numbers(file, place, count)
            if len(numbers) > len(best):
                best, start = numbers, place
    return start, best


def _list_added_numbers(file: FileVersion, first: int, count: int) -> tuple[int, ...]:
    """Return the numbers of the added lines among `count` lines from number `first` on."""
    return tuple(number for number in range(first, first + count) if number in file.added)


def is_distinctive(lines: Sequence[str], *, same_path: bool, whole: bool) -> bool:
    """Return whether lines have enough text to recognize them, unlike a lone brace or `return`.

    Without `same_path`, they are in another file than they were written to, and need more text. If
    they are the `whole` text that a call wrote, they need less.
    """
    letters_by_line = [sum(map(str.isalnum, line)) for line in lines]
    characters = sum(len("".join(line.split())) for line in lines)
    lines_with_letters = sum(count > 0 for count in letters_by_line)
    if not same_path:
        return (
            characters >= _MIN_CHARACTERS_ELSEWHERE and lines_with_letters >= _MIN_LINES_ELSEWHERE
        )
    if len(lines) == 1:
        return characters >= _MIN_CHARACTERS and lines_with_letters > 0
    if sum(letters_by_line) >= _MIN_LETTERS:
        return True
    return lines_with_letters > 1 and (whole or characters >= _MIN_CHARACTERS)


def is_partly_kept(written: str, committed: str) -> bool:
    """Return whether two lines share a beginning and an end that make up half of the longer one.

    Blanks do not count.
    """
    first, second = "".join(written.split()), "".join(committed.split())
    if not first or not second:
        return False
    shorter, longer = sorted((len(first), len(second)))
    front = 0
    while front < shorter and first[front] == second[front]:
        front += 1
    back = 0
    while back < shorter - front and first[-1 - back] == second[-1 - back]:
        back += 1
    common = front + back
    return 2 * common >= longer and common > 1

"""The lines that a commit added, joined to the claims of records.

First by the whole file: if a session left exactly these bytes, at its end or on the way, each line
is known. Then by content: lines of one maker that are in the commit as one block. A block counts if
it has a rare line and enough text, or if it lies between the same two lines as when it was written.
A block that is in the commit more often than it was written does not count, because one of them is
a copy. A line that was changed later, between unchanged lines of its block, is mixed if part of the
written text is left.

A claim counts only if its call is not later than the commit, and its lines were not gone again
before the commit was first made. Time only removes a claim; it never makes one.

    >>> from vacr.blame.claims import LineClaim, RecordClaims, TextPiece
    >>> from vacr.blame.blocks import FileVersion
    >>> from vacr.blame.join import ClaimJoiner
    >>> claim = LineClaim("ai", "gpt-5", "session-1", "", "entry-9", "call-3", "", "replayed")
    >>> written = ("def total(lines):\\n", "    return sum(lines)\\n")
    >>> claims = RecordClaims(pieces=[TextPiece(claim, "total.py", written)])
    >>> version = FileVersion("total.py", ["import os\\n", *written], added={1, 2, 3}, digest="")
    >>> [blame] = ClaimJoiner([claims]).join([version])
    >>> sorted(blame), blame[2].claim.call_id, blame[2].join
    ([2, 3], 'call-3', 'content')
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from vacr.attribution import EVIDENCE_CONTENT_ONLY
from vacr.blame.blocks import (
    FilePlace,
    FileVersion,
    PiecePlace,
    SharedBlock,
    count_occurrences,
    find_shared_blocks,
)
from vacr.blame.claims import HashedRange, KnownState, LineClaim, RecordClaims, TextPiece
from vacr.blame.frequency import LineFrequency, LineRarity
from vacr.blame.line_text import (
    count_characters,
    count_lines_with_letters,
    is_partly_kept,
    is_redacted,
    normalize_layout,
    split_consecutive_numbers,
)
from vacr.blame.locality import EVERYWHERE, SessionRoots
from vacr.edits import encode_file_text, strip_line_end

JOIN_BY_BLOB = "blob"
JOIN_BY_CONTENT = "content"

# When claims compete for a line, the smaller rank wins.
_CONTRIBUTOR_RANK = {"ai": 0, "mixed": 1, "human": 2}

# How much a block needs in the file it was written to.
_MIN_CHARACTERS = 20
_MIN_LETTERS = 8
_MIN_LETTERS_INSIDE = 30
_MIN_LETTERS_REFORMATTED = 20
# No line of a file with text is this one.
_NO_LINE = "\0"

# How many bytes are hashed to find ranges that are known only by their hash.
_MAX_HASHED_BYTES = 1 << 28
# How many consecutive lines inside a block may have been changed later.
_MAX_CHANGED_LINES = 3


@dataclass(frozen=True, slots=True)
class LineBlame:
    """The writer of a line, the claim about it, and how the claim was found."""

    type: str
    """`ai`, `human` or `mixed`."""
    claim: LineClaim
    join: str
    """`blob` if a session left exactly this file, `content` if only lines of it match.

    `exclusion` if no session can have written the line.
    """
    changed_by: str = ""
    """Who changed a `mixed` line after the agent: `human`, or empty if unknown."""


BlameByLine = dict[int, LineBlame]
"""The blame of added lines, by their numbers; lines that no record claims are missing."""


@dataclass(frozen=True, slots=True)
class _PlacedPiece:
    """A piece of text, and where it was written, seen from the repository."""

    piece: TextPiece
    bare: Sequence[str]
    """The lines without their ends; redacted ones equal no line."""
    path: str
    """The path in the repository."""
    is_tied: bool
    """Whether evidence ties the session to the repository."""

    @property
    def claim(self) -> LineClaim:
        """The claim about the lines."""
        return self.piece.claim


class _FoldedLines(dict[str, str]):
    """Lines without their layout, in one case; each is computed when it is first looked up.

    The versions of a file have most of their lines in common.
    """

    def __missing__(self, line: str) -> str:
        """Compute and keep the folded text of a line."""
        folded = self[line] = normalize_layout(line).casefold()
        return folded


class ClaimJoiner:
    """Finds the claims about the lines that commits added."""

    def __init__(
        self,
        claims: Sequence[RecordClaims],
        places: Sequence[SessionRoots | None] | None = None,
        frequency: LineFrequency | None = None,
    ) -> None:
        """Index the claims by the lines in them.

        `places` are the places of the sessions in the repository, `None` for a session of another
        one. Without places, all paths are paths of the repository. `frequency` knows common lines.
        """
        self.rarity = LineRarity(frequency or LineFrequency())
        self.states: dict[str, list[tuple[KnownState, str]]] = defaultdict(list)
        self.pieces: list[_PlacedPiece] = []
        # By the count of lines, then by the hash.
        self.hashed: dict[int, dict[str, list[HashedRange]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for own, place in zip(claims, places or [EVERYWHERE] * len(claims), strict=True):
            if place is not None:
                self._add_record(own, place)
        self.index: dict[str, list[PiecePlace]] = defaultdict(list)
        for number, placed in enumerate(self.pieces):
            for offset, line in enumerate(placed.bare):
                self.index[line].append((number, offset))
        self.homes: dict[str, list[int]] = defaultdict(list)
        for number, placed in enumerate(self.pieces):
            if placed.is_tied:
                self.homes[placed.path].append(number)
        self.max_hashed_bytes = _MAX_HASHED_BYTES
        self.hash_budget = 0
        self.folded = _FoldedLines()
        # The lines of pieces without layout, and where they are, as far as they were needed.
        self.squeezed: dict[int, list[str]] = {}
        self.own_pieces: dict[frozenset[str], tuple[int, ...]] = {}
        self.squeezed_indexes: dict[tuple[int, ...], dict[str, list[PiecePlace]]] = {}

    def _add_record(self, claims: RecordClaims, place: SessionRoots) -> None:
        """Add the claims of a record whose session worked at a place.

        Leave out files outside of the repository, and ranges that are known only by their hash if
        the session is not tied to it.
        """
        for piece in claims.pieces:
            path = place.find_path(piece.path)
            if path is not None:
                bare = [
                    _NO_LINE if is_redacted(line) else strip_line_end(line) for line in piece.lines
                ]
                self.pieces.append(_PlacedPiece(piece, bare, path, place.is_tied))
                self.rarity.written.add_file(path, bare)
        for hashed in claims.hashed:
            path = place.find_path(hashed.path)
            if path is not None and place.is_tied:
                self.hashed[hashed.count][hashed.digest].append(replace(hashed, path=path))
        for digest, states in claims.states.items():
            for state in states:
                path = place.find_path(state.path)
                if path is not None:
                    self.states[digest].append((state, path))

    def join(self, versions: Sequence[FileVersion], *, one_file: bool = False) -> list[BlameByLine]:
        """Return for each version who wrote its added lines, by their numbers.

        Lines that no record claims are left out. The versions are the files of one commit, or
        states of `one_file` in several commits.
        """
        # Each call has the whole budget, so that its result does not depend on earlier ones.
        self.hash_budget = self.max_hashed_bytes
        blames = [self._join_by_blob(version) for version in versions]
        used: set[PiecePlace] = set()
        accepted = []
        blocks = sorted(
            self._find_sure_blocks(versions, one_file=one_file),
            key=lambda block: self._rank_block(block, versions),
        )
        for block in blocks:
            if self._accept_block(block, versions[block.file], blames[block.file], used):
                accepted.append(block)
        self._join_by_hash(versions, blames, one_file=one_file)
        for version, blame in zip(versions, blames, strict=True):
            self._join_reformatted(version, blame)
        for block in accepted:
            for step in (-1, 1):
                self._extend_block(block, step, versions[block.file], blames[block.file], used)
        return blames

    def _join_by_blob(self, version: FileVersion) -> BlameByLine:
        """Return the blame of added lines if a session left exactly this file, else an empty one.

        If several sessions did, `ai` outranks `mixed`, and `mixed` outranks `human`. A file with
        another name needs distinctive lines.
        """
        blame: BlameByLine = {}
        for state, path in self.states.get(version.digest, ()):
            if not version.is_named(path) and not self._is_distinctive_elsewhere(
                version.bare, version, frozenset(), path
            ):
                continue
            for number in state.lines.keys() & set(version.added):
                claim = state.lines[number]
                if not _can_claim(claim, version, number):
                    continue
                if not version.is_named(path):
                    claim = replace(claim, evidence=EVIDENCE_CONTENT_ONLY)
                if not version.allows(number, claim, state.until):
                    continue
                known = blame.get(number)
                if known is None or _CONTRIBUTOR_RANK[claim.type] < _CONTRIBUTOR_RANK[known.type]:
                    blame[number] = LineBlame(claim.type, claim, JOIN_BY_BLOB)
        return blame

    def _find_sure_blocks(
        self, versions: Sequence[FileVersion], *, one_file: bool
    ) -> Iterator[SharedBlock]:
        """Yield the distinctive blocks that are in the files at most as often as they were written.

        Otherwise one of them is a copy. Then the blocks in files with the name that the session
        wrote to may still be few enough.
        """
        by_text: dict[tuple[str, ...], list[SharedBlock]] = defaultdict(list)
        framed: dict[tuple[str, ...], list[SharedBlock]] = defaultdict(list)
        for candidate in find_shared_blocks(
            versions, [placed.bare for placed in self.pieces], self.index
        ):
            version = versions[candidate.file]
            block = self._drop_impossible_lines(candidate, version)
            if block is None or not any(map(version.is_wanted, block.numbers)):
                continue
            lines = block.select_lines(version.bare)
            if self._is_framed(block, version):
                piece = self.pieces[block.piece].piece
                framed[piece.above, *lines, piece.below].append(block)
            elif self._is_distinctive(lines, block, version):
                by_text[lines].append(block)
        for blocks in framed.values():
            places = {(block.file, block.numbers[0]) for block in blocks}
            if len(places) <= self._count_times_written(blocks):
                yield from blocks
        for lines, blocks in by_text.items():
            written = self._count_times_written(blocks)
            limit = written if len(lines) > 1 else min(written, 1)
            # If the text is in other files too, those with the right name may still be sure.
            at_home = [block for block in blocks if self._is_at_home(block, versions[block.file])]
            for candidates in (blocks, at_home):
                places = {(block.file, block.numbers[0]) for block in candidates}
                if (
                    places
                    and count_occurrences(versions, places, lines, one_file=one_file) <= limit
                ):
                    yield from candidates
                    break

    def _drop_impossible_lines(
        self, block: SharedBlock, version: FileVersion
    ) -> SharedBlock | None:
        """Return a block without the lines that its call cannot have written, or `None`.

        Lines that the session had removed before are left out as well, since a person may have
        typed them again; but a block that is too long to type again stays.
        """
        piece = self.pieces[block.piece].piece
        numbers = tuple(
            number
            for number in block.numbers
            if version.allows_call(number, piece.claim) and _can_claim(piece.claim, version, number)
        )
        if piece.until is not None:
            lines = [version.bare[number - 1] for number in numbers]
            if not self.rarity.is_too_long_to_retype(lines, version.path, piece.seen):
                numbers = tuple(n for n in numbers if not version.is_removed_before(n, piece.until))
        if not numbers:
            return None
        return block if len(numbers) == len(block.numbers) else replace(block, numbers=numbers)

    def _is_at_home(self, block: SharedBlock, version: FileVersion) -> bool:
        """Return whether a block is in the file that the session wrote to."""
        return version.is_named(self.pieces[block.piece].path)

    def _is_framed(self, block: SharedBlock, version: FileVersion) -> bool:
        """Return whether a whole piece is in its file between the same lines as it was written."""
        placed = self.pieces[block.piece]
        piece = placed.piece
        return (
            len(block.numbers) == len(placed.bare)
            and placed.is_tied
            and bool(piece.above or piece.below)
            and self._is_at_home(block, version)
            and not is_redacted(piece.above + piece.below)
            and version.find_neighbour(block.numbers[0] - 1, -1) == piece.above
            and version.find_neighbour(block.numbers[-1] + 1, 1) == piece.below
        )

    def _is_distinctive(
        self, lines: Sequence[str], block: SharedBlock, version: FileVersion
    ) -> bool:
        """Return whether lines of a block are enough to recognize it.

        In the file that the session wrote to, a rare line counts together with others, or alone if
        it is long; or a long run of common lines. Elsewhere, and for a session that nothing ties to
        the repository, it takes more.
        """
        placed = self.pieces[block.piece]
        seen = placed.piece.seen
        if not placed.is_tied or not version.is_named(placed.path):
            return self._is_distinctive_elsewhere(lines, version, seen, placed.path)
        rare = self.rarity.count_rare_letters(lines, version.path, seen)
        with_letters = count_lines_with_letters(lines)
        if with_letters <= 1:
            # A line from the inside of a piece, without the lines around it, may be anybody's.
            is_whole = count_lines_with_letters(placed.bare) == with_letters
            needed = 1 if is_whole else _MIN_LETTERS_INSIDE
            return rare >= needed and count_characters(lines) >= _MIN_CHARACTERS
        if rare >= _MIN_LETTERS or (rare and len(lines) == len(placed.bare)):
            return True
        return self.rarity.is_long_run(lines, version.path, seen)

    def _is_distinctive_elsewhere(
        self, lines: Sequence[str], version: FileVersion, seen: Collection[str], written_to: str
    ) -> bool:
        """Return whether lines are enough to recognize them in another file or repository.

        `written_to` is the file that the call wrote to.

        In a generated file they never are: its generator may have copied them.
        """
        return not version.is_generated and self.rarity.is_distinctive_elsewhere(
            lines, version.path, seen, written_to
        )

    def _count_times_written(self, blocks: Sequence[SharedBlock]) -> int:
        """Return how often calls wrote the text that these blocks share."""
        places_by_moment: dict[tuple[tuple[str, str], int], set[PiecePlace]] = defaultdict(set)
        for block in blocks:
            piece = self.pieces[block.piece].piece
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
        is_elsewhere = not self._is_at_home(block, versions[block.file])
        contributor_rank = _CONTRIBUTOR_RANK[self.pieces[block.piece].claim.type]
        return -len(block.numbers), contributor_rank, is_elsewhere, block.piece

    def _accept_block(
        self,
        block: SharedBlock,
        version: FileVersion,
        blame: BlameByLine,
        used: set[PiecePlace],
    ) -> bool:
        """Add the lines of a block to the blame, and mark their places in the piece as used.

        Lines and places that other blocks have taken stay as they are. Return whether the block
        was accepted: it is not if some lines are taken and the others are not distinctive.
        """
        claim = self.pieces[block.piece].claim
        places = {number: (block.piece, block.get_offset(number)) for number in block.numbers}
        used |= {
            place
            for number, place in places.items()
            if (known := blame.get(number)) is not None
            and known.join == JOIN_BY_BLOB
            and known.claim.source == claim.source
        }
        new = [
            number for number, place in places.items() if number not in blame and place not in used
        ]
        if len(new) < len(places):
            lines = tuple(version.bare[number - 1] for number in new)
            if not lines or not self._is_distinctive(lines, block, version):
                return False
        used |= {places[number] for number in new if version.is_wanted(number)}
        copied = replace(claim, evidence=EVIDENCE_CONTENT_ONLY)
        until = self.pieces[block.piece].piece.until
        is_elsewhere = not self._is_at_home(block, version)
        for number in new:
            # Somebody brought the lines back, or copied them from another file.
            was_removed = version.is_removed_before(number, until)
            known_claim = copied if is_elsewhere or was_removed else claim
            blame[number] = LineBlame(claim.type, known_claim, JOIN_BY_CONTENT)
        return True

    def _join_reformatted(self, version: FileVersion, blame: BlameByLine) -> None:
        """Add runs of lines that differ from written ones only in layout, as after a formatter.

        A line whose letters differ in case is mixed. They count only in the file that the session
        wrote to, and not in a generated one.
        """
        if version.is_generated:
            return
        open_lines = [
            number
            for number in version.added
            if number not in blame and version.is_wanted(number) and version.get_line(number)
        ]
        if not open_lines:
            return
        own = self._list_pieces_at_home(frozenset((version.path, *version.names)))
        places = self._index_squeezed_lines(own)
        if not any(self.folded[version.get_line(number)] in places for number in open_lines):
            return
        folded = [self.folded[line] for line in version.bare]
        squeezed = replace(version, added=frozenset(open_lines), shown={}, split=folded)
        texts = [self.squeezed[number] for number in own]
        by_text: dict[tuple[str, ...], list[SharedBlock]] = defaultdict(list)
        for found in find_shared_blocks([squeezed], texts, places):
            block = self._drop_impossible_lines(replace(found, piece=own[found.piece]), version)
            if block is not None:
                by_text[block.select_lines(squeezed.bare)].append(block)
        for lines, blocks in by_text.items():
            starts = {(0, block.numbers[0]) for block in blocks}
            is_once = count_occurrences([squeezed], starts, lines, one_file=True) == 1
            if is_once and self._is_reformatted(blocks[0], version):
                self._blame_reformatted_lines(blocks[0], version, blame)

    def _blame_reformatted_lines(
        self, block: SharedBlock, version: FileVersion, blame: BlameByLine
    ) -> None:
        """Add the lines of a reformatted block to the blame."""
        placed = self.pieces[block.piece]
        claim = placed.claim
        for number in block.numbers:
            written = normalize_layout(placed.bare[block.get_offset(number)])
            is_same = written == normalize_layout(version.bare[number - 1])
            kind = claim.type if is_same or claim.type == "human" else "mixed"
            blame.setdefault(number, LineBlame(kind, claim, JOIN_BY_CONTENT))

    def _list_pieces_at_home(self, names: frozenset[str]) -> tuple[int, ...]:
        """Return the numbers of the pieces that were written to a file of these names."""
        if names not in self.own_pieces:
            numbers = {number for name in names for number in self.homes.get(name, ())}
            self.own_pieces[names] = tuple(sorted(numbers))
        return self.own_pieces[names]

    def _index_squeezed_lines(self, own: tuple[int, ...]) -> dict[str, list[PiecePlace]]:
        """Return the places of lines without layout in some pieces, numbered as in `own`."""
        if own not in self.squeezed_indexes:
            places: dict[str, list[PiecePlace]] = defaultdict(list)
            for number, piece in enumerate(own):
                if piece not in self.squeezed:
                    self.squeezed[piece] = [self.folded[line] for line in self.pieces[piece].bare]
                for offset, line in enumerate(self.squeezed[piece]):
                    places[line].append((number, offset))
            self.squeezed_indexes[own] = dict(places)
        return self.squeezed_indexes[own]

    def _is_reformatted(self, block: SharedBlock, version: FileVersion) -> bool:
        """Return whether a block was written in another layout, and has enough rare text."""
        placed = self.pieces[block.piece]
        lines = block.select_lines(version.bare)
        is_changed = any(
            version.bare[number - 1] != placed.bare[block.get_offset(number)]
            for number in block.numbers
        )
        rare = self.rarity.count_rare_letters(lines, version.path, placed.piece.seen)
        return (
            is_changed and count_lines_with_letters(lines) > 1 and rare >= _MIN_LETTERS_REFORMATTED
        )

    def _join_by_hash(
        self, versions: Sequence[FileVersion], blames: Sequence[BlameByLine], *, one_file: bool
    ) -> None:
        """Add the lines of ranges that are known only by their hash to the blames."""
        for count, ranges_by_digest in self.hashed.items():
            matches: dict[str, set[FilePlace]] = defaultdict(set)
            for file, version in enumerate(versions):
                for digest, first in self._hash_windows(version, blames[file], count):
                    numbers = range(first, first + count)
                    if digest in ranges_by_digest and any(map(version.is_wanted, numbers)):
                        matches[digest].add((file, first))
            for digest, places in matches.items():
                self._blame_hashed_ranges(
                    versions, blames, ranges_by_digest[digest], sorted(places), one_file=one_file
                )

    def _blame_hashed_ranges(
        self,
        versions: Sequence[FileVersion],
        blames: Sequence[BlameByLine],
        ranges: Sequence[HashedRange],
        places: Sequence[FilePlace],
        *,
        one_file: bool,
    ) -> None:
        """Add ranges that share one hash to the blames of the files.

        `places` are all places where files have these lines. Add none if the files have the lines
        more often than they were written.
        """
        count, (file, first) = ranges[0].count, places[0]
        lines = tuple(versions[file].bare[first - 1 : first - 1 + count])
        limit = len(ranges) if count > 1 else 1
        if count_occurrences(versions, set(places), lines, one_file=one_file) > limit:
            return
        for (file, first), hashed in zip(places, ranges, strict=False):
            version = versions[file]
            if not self._is_distinctive_range(lines, hashed, version):
                continue
            blame = LineBlame(hashed.claim.type, hashed.claim, JOIN_BY_CONTENT)
            for number in range(first, first + count):
                can_claim = _can_claim(hashed.claim, version, number)
                if can_claim and version.allows(number, hashed.claim, None):
                    blames[file].setdefault(number, blame)

    def _is_distinctive_range(
        self, lines: Sequence[str], hashed: HashedRange, version: FileVersion
    ) -> bool:
        """Return whether a range that is known by its hash has enough text to recognize it."""
        if not version.is_named(hashed.path):
            return self._is_distinctive_elsewhere(lines, version, (), hashed.path)
        rare = self.rarity.count_rare_letters(lines, version.path, ())
        if len(lines) == 1:
            return rare > 0 and count_characters(lines) >= _MIN_CHARACTERS
        return rare >= _MIN_LETTERS or self.rarity.is_long_run(lines, version.path, ())

    def _hash_windows(
        self, version: FileVersion, blame: BlameByLine, count: int
    ) -> Iterator[tuple[str, int]]:
        """Yield the SHA-256 and the first number of each run of `count` added lines without blame.

        Stop when the budget of bytes to hash is used up.
        """
        unknown = [number for number in sorted(version.added) if number not in blame]
        for region in split_consecutive_numbers(unknown):
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
        used: set[PiecePlace],
    ) -> None:
        """Blame the lines next to one end of a block, although some were changed later.

        `step` is 1 to go down, -1 to go up. A line with the same text but for layout belongs to the
        claim of the block; a partly kept line is `mixed`. Stop after several changed lines.
        """
        if version.is_generated:
            return
        placed = self.pieces[block.piece]
        lines, claim = placed.bare, placed.claim
        number = (block.numbers[-1] if step > 0 else block.numbers[0]) + step
        changed = 0
        while changed < _MAX_CHANGED_LINES and number in version.added and number not in blame:
            offset = block.get_offset(number)
            if not 0 <= offset < len(lines) or (block.piece, offset) in used:
                return
            if not version.allows(number, claim, placed.piece.until):
                return
            written, committed = lines[offset], version.bare[number - 1]
            if normalize_layout(written) == normalize_layout(committed):
                blame[number] = LineBlame(claim.type, claim, JOIN_BY_CONTENT)
                changed = 0
            else:
                changed += 1
                if is_partly_kept(written, committed) and claim.type != "human":
                    blame[number] = LineBlame("mixed", claim, JOIN_BY_CONTENT)
            used.add((block.piece, offset))
            number += step


def _can_claim(claim: LineClaim, version: FileVersion, number: int) -> bool:
    """Return whether a claim can be about a line at all.

    A redacted line proves nothing. In a generated file, nothing shows that a person wrote a line.
    """
    if version.is_generated and claim.type == "human":
        return False
    return not is_redacted(version.bare[number - 1])

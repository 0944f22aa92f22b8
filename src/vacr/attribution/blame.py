"""Lines that a commit added, joined to what records say. Step: blame.

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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.attribution.overlaps import Block, blocks_of, shares, telling
from vacr.attribution.stored import Claim, Hashed
from vacr.attribution.text import bare, to_bytes
from vacr.attribution.told import Piece, Told

BLOB, CONTENT = "blob", "content"
_ORDER = {"ai": 0, "mixed": 1, "human": 2}

# Bytes that are hashed to find ranges of which only the hash is known.
_WORK = 1 << 28
# Lines in a row that may have been changed inside a block.
_CHANGED = 3


@dataclass(slots=True)
class Version:
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
        self.bare = [bare(line) for line in self.lines]

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
class Found:
    """What is known of a line: `ai`, `human` or `mixed`, the claim that says so, and how it was
    joined to it.
    """

    type: str
    claim: Claim
    join: str


Answer = dict[int, Found]


class Joiner:
    """Joins commits to what records say."""

    def __init__(self, told: Told) -> None:
        """Sort what records say by the lines it is made of."""
        self.told = told
        self.pieces = [[bare(line) for line in piece.lines] for piece in told.pieces]
        self.index: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, lines in enumerate(self.pieces):
            for at, line in enumerate(lines):
                self.index[line].append((number, at))
        self.hashed: dict[int, dict[str, list[Hashed]]] = defaultdict(lambda: defaultdict(list))
        for one in told.hashed:
            self.hashed[one.count][one.digest].append(one)
        self.work = _WORK

    def join(self, versions: Sequence[Version], *, one_file: bool = False) -> list[Answer]:
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

    def _by_blob(self, version: Version) -> Answer:
        answer: Answer = {}
        for state in self.told.states.get(version.digest, ()):
            for number in state.keys() & set(version.added):
                claim = state[number]
                if number not in answer or _ORDER[claim.type] < _ORDER[answer[number].type]:
                    answer[number] = Found(claim.type, claim, BLOB)
        return answer

    def _piece(self, block: Block) -> Piece:
        return self.told.pieces[block.piece]

    def _rank(self, block: Block, versions: Sequence[Version]) -> tuple[int, int, bool, int]:
        piece = self._piece(block)
        elsewhere = not versions[block.file].is_named(piece.path)
        return -len(block.numbers), _ORDER[piece.claim.type], elsewhere, block.piece

    def _sure(self, versions: Sequence[Version], *, one_file: bool) -> Iterator[Block]:
        """Give the blocks that are not there more often than they were written."""
        texts: dict[tuple[str, ...], list[Block]] = defaultdict(list)
        for block in blocks_of(versions, self.pieces, self.index):
            version, piece = versions[block.file], self._piece(block)
            lines = block.lines(version.bare)
            whole = len(lines) == len(piece.lines)
            if telling(lines, same_path=version.is_named(piece.path), whole=whole) and any(
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
                if _times(versions, places, lines, one_file=one_file) <= (
                    written if len(lines) > 1 else min(written, 1)
                ):
                    yield from some
                    break

    def _written(self, blocks: Sequence[Block]) -> int:
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
        block: Block,
        versions: Sequence[Version],
        answers: Sequence[Answer],
        taken: set[tuple[int, int]],
    ) -> bool:
        answer, version, piece = answers[block.file], versions[block.file], self._piece(block)
        places = {number: (block.piece, block.place(number)) for number in block.numbers}
        known = [number for number in places if number in answer]
        taken |= {
            places[n]
            for n in known
            if answer[n].join == BLOB and answer[n].claim.source == piece.claim.source
        }
        new = [
            number
            for number, place in places.items()
            if number not in answer and place not in taken
        ]
        lines = tuple(version.bare[number - 1] for number in new)
        if len(new) < len(places) and not telling(
            lines, same_path=version.is_named(piece.path), whole=False
        ):
            return False
        taken |= {places[number] for number in new if version.asks(number)}
        answer |= {number: Found(piece.claim.type, piece.claim, CONTENT) for number in new}
        return True

    def _by_hash(
        self, versions: Sequence[Version], answers: Sequence[Answer], *, one_file: bool
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

    def _windows(self, version: Version, answer: Answer, count: int) -> Iterator[tuple[str, int]]:
        """Give the hash of each run of so many lines that nothing is known of."""
        for region in _regions(
            [number for number in sorted(version.added) if number not in answer]
        ):
            for first in range(region[0], region[-1] - count + 2):
                data = to_bytes("".join(version.lines[first - 1 : first - 1 + count]))
                self.work -= len(data)
                if self.work < 0:
                    return
                yield hashlib.sha256(data).hexdigest(), first

    def _hashed(
        self,
        versions: Sequence[Version],
        answers: Sequence[Answer],
        known: Sequence[Hashed],
        places: Sequence[tuple[int, int]],
        *,
        one_file: bool,
    ) -> None:
        count, (file, first) = known[0].count, places[0]
        lines = tuple(versions[file].bare[first - 1 : first - 1 + count])
        if _times(versions, set(places), lines, one_file=one_file) > (
            len(known) if count > 1 else 1
        ):
            return
        for (file, first), one in zip(places, known, strict=False):
            if telling(lines, same_path=versions[file].is_named(one.path), whole=True):
                for number in range(first, first + count):
                    answers[file].setdefault(number, Found(one.claim.type, one.claim, CONTENT))

    def _around(
        self, block: Block, step: int, version: Version, answer: Answer, taken: set[tuple[int, int]]
    ) -> None:
        """Go on from a block to lines that were changed since, and to those behind them."""
        lines, claim = self.pieces[block.piece], self._piece(block).claim
        number = (block.numbers[-1] if step > 0 else block.numbers[0]) + step
        changed = 0
        while changed < _CHANGED and number in version.added and number not in answer:
            at = block.place(number)
            if not 0 <= at < len(lines) or (block.piece, at) in taken:
                return
            ours, theirs = lines[at], version.bare[number - 1]
            if "".join(ours.split()) == "".join(theirs.split()):
                answer[number] = Found(claim.type, claim, CONTENT)
                changed = 0
            else:
                changed += 1
                if shares(ours, theirs) and claim.type != "human":
                    answer[number] = Found("mixed", claim, CONTENT)
            taken.add((block.piece, at))
            number += step


def _times(
    versions: Sequence[Version],
    places: set[tuple[int, int]],
    lines: tuple[str, ...],
    *,
    one_file: bool,
) -> int:
    """Count how often lines are there: where they were added, and where they were before."""
    files = Counter(file for file, _ in places)
    there = {file: _elsewhere(versions[file], lines) for file in files}
    if one_file:  # what one commit added is there in those after it
        return max(len(places), *(count + there[file] for file, count in files.items()))
    return len(places) + sum(there.values())


def _elsewhere(version: Version, lines: tuple[str, ...]) -> int:
    """Count how often a file has lines that the commit did not add."""
    count, at = 0, -1
    while True:
        try:
            at = version.bare.index(lines[0], at + 1)
        except ValueError:
            return count
        if tuple(version.bare[at : at + len(lines)]) == lines and at + 1 not in version.added:
            count += 1


def _regions(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Give the runs of consecutive numbers."""
    start = 0
    for i in range(1, len(numbers) + 1):
        if i == len(numbers) or numbers[i] != numbers[i - 1] + 1:
            yield numbers[start:i]
            start = i

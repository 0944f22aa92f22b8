"""The Merkle tree of a log: hashes, proofs, and what they prove. Step: register, verify. Follows
RFC 9162 section 2.1.

The tree itself is elsewhere: what makes a proof asks a function for the hash of a complete subtree,
`node(height, index)`, which covers the leaves from `index << height` on, `1 << height` of them.

Tiles: 256 hashes of a tree side by side, and the hashes above them. Step: register. Follows C2SP
tlog-tiles.

A tile of level `l` holds hashes of height `8 * l`. Tiles are how a log keeps its tree: a full one
never changes, and of those that are not full there is one on each level, the last.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

from vacr.errors import InvalidStatement, UsageError

NodeLookup = Callable[[int, int], bytes]

HASH_SIZE = 32
_MAX_PATH_LENGTH = 64


def hash_leaf(entry: bytes) -> bytes:
    """Give the hash of an entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def hash_children(left: bytes, right: bytes) -> bytes:
    """Give the hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def compute_right_edge(node: NodeLookup, size: int) -> list[bytes | None]:
    """Give for each height the hash of the last subtree where that is not complete, and nothing
    where it is, or there is none.

    All proofs for a tree of one size share these, and the last of them is the root, unless the size
    is a power of two.
    """
    hashes: list[bytes | None] = [None]
    for height in range(1, (size - 1).bit_length() + 1):
        index = size >> height
        if index << height == size:
            hashes.append(None)
            continue
        below = hashes[-1]
        if (size >> (height - 1)) & 1:
            left = node(height - 1, index << 1)
            hashes.append(left if below is None else hash_children(left, below))
        else:
            hashes.append(below)
    return hashes


def compute_root(node: NodeLookup, size: int) -> bytes:
    """Give the root of a tree; that of an empty one is the hash of nothing."""
    if not size:
        return hashlib.sha256().digest()
    hashes = compute_right_edge(node, size)
    return hashes[-1] or node(len(hashes) - 1, 0)


def build_inclusion_path(
    node: NodeLookup, edges: Sequence[bytes | None], index: int, size: int
) -> list[bytes]:
    """Prove that a leaf is in a tree of a size, whose `edge` is given."""
    return _collect_siblings(node, edges, 0, index, size)


def _collect_siblings(
    node: NodeLookup, edges: Sequence[bytes | None], height: int, index: int, size: int
) -> list[bytes]:
    """Give what is beside a complete subtree on each height above it."""
    path = []
    last = size - 1
    for level in range(height, len(edges) - 1):
        sibling = index ^ 1
        end = last >> level
        if sibling < end:
            path.append(node(level, sibling))
        elif sibling == end:
            path.append(edges[level] or node(level, sibling))
        index >>= 1
    return path


def compute_inclusion_root(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Give the root that a proof leads to from a leaf; RFC 9162 section 2.1.3.2.

    Raises:
        InvalidStatement: there is no such leaf in a tree of that size, or the path is too short or
            too long.
    """
    _check_proof_path(path)
    if not 0 <= index < size:
        raise InvalidStatement(f"leaf {index} of a tree of {size}", reason="receipt-index")
    at, last, found = index, size - 1, leaf
    for sibling in path:
        if not last:
            raise InvalidStatement(
                "a proof that is longer than the tree is high", reason="receipt-path"
            )
        if at & 1 or at == last:
            found = hash_children(sibling, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = hash_children(found, sibling)
        at, last = at >> 1, last >> 1
    if last:
        raise InvalidStatement(
            "a proof that is shorter than the tree is high", reason="receipt-path"
        )
    return found


def build_consistency_path(node: NodeLookup, older: int, newer: int) -> list[bytes]:
    """Prove that a tree of one size is the beginning of a tree of another, newer one."""
    if not 0 < older < newer:
        return []
    # The last complete subtree of the older tree: from there the proof goes up as one of inclusion
    # does.
    height = (older & -older).bit_length() - 1
    index = (older >> height) - 1
    path = [] if index == 0 else [node(height, index)]
    return path + _collect_siblings(node, compute_right_edge(node, newer), height, index, newer)


def compute_consistency_root(
    older: int, newer: int, path: Sequence[bytes], older_root: bytes
) -> bytes:
    """Give the root of a newer tree that a proof leads to from the older one's; RFC 9162 section
    2.1.4.2.

    Raises:
        InvalidStatement: the proof does not begin with the older tree.
    """
    _check_proof_path(path)
    if not 0 < older <= newer:
        raise InvalidStatement(
            f"a tree of {older} is not the beginning of one of {newer}", reason="consistency-sizes"
        )
    if older == newer:
        if path:
            raise InvalidStatement("a proof between a tree and itself", reason="consistency-path")
        return older_root
    if not path:
        raise InvalidStatement("a proof without a path", reason="consistency-path")
    hashes = list(path) if older & (older - 1) else [older_root, *path]
    at, last = older - 1, newer - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    first = second = hashes[0]
    for sibling in hashes[1:]:
        if not last:
            raise InvalidStatement(
                "a proof that is longer than the tree is high", reason="consistency-path"
            )
        if at & 1 or at == last:
            first, second = hash_children(sibling, first), hash_children(sibling, second)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            second = hash_children(second, sibling)
        at, last = at >> 1, last >> 1
    if last:
        raise InvalidStatement(
            "a proof that is shorter than the tree is high", reason="consistency-path"
        )
    if first != older_root:
        raise InvalidStatement(
            "the older tree is not the beginning of the newer one", reason="consistency-mismatch"
        )
    return second


def _check_proof_path(path: Sequence[bytes]) -> None:
    if len(path) > _MAX_PATH_LENGTH or any(
        type(one) is not bytes or len(one) != HASH_SIZE for one in path
    ):
        raise InvalidStatement("a path that is no list of hashes", reason="receipt-malformed")


TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT
MAX_TILE_LEVELS = 8
"""As many as a tree of 2^63 leaves has."""

_MAX_TILES_PER_LEVEL = 1 << (63 - TILE_HEIGHT)
"""How many tiles a level of the largest tree has."""
_TILE_PATH_PATTERN = re.compile(r"(?:x([0-9]{3})/){0,6}([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


class Tile:
    """The hashes of a tile, and those of the complete subtrees above them."""

    __slots__ = ("rows",)

    def __init__(self, hashes: bytes = b"") -> None:
        """Take hashes one after the other."""
        self.rows: list[list[bytes]] = [[] for _ in range(TILE_HEIGHT + 1)]
        for at in range(0, len(hashes), HASH_SIZE):
            self.add(hashes[at : at + HASH_SIZE])

    def __len__(self) -> int:
        """Give how many hashes there are."""
        return len(self.rows[0])

    def add(self, found: bytes) -> None:
        """Add a hash, and what it completes."""
        rows = self.rows
        for height in range(TILE_HEIGHT + 1):
            row = rows[height]
            row.append(found)
            if len(row) & 1:
                return
            found = hash_children(row[-2], row[-1])

    @property
    def is_full(self) -> bool:
        """Whether no more can be added."""
        return len(self.rows[0]) == TILE_WIDTH

    @property
    def top(self) -> bytes:
        """The hash over a full tile."""
        return self.rows[TILE_HEIGHT][0]

    def encode(self) -> bytes:
        """Write the hashes one after the other."""
        return b"".join(self.rows[0])


TileLookup = Callable[[int, int], Tile]
"""Gives a tile by its level and its number."""


def make_node_lookup(fetch: TileLookup) -> NodeLookup:
    """Look nodes up in tiles."""

    def node(height: int, index: int) -> bytes:
        level, above = divmod(height, TILE_HEIGHT)
        bits = TILE_HEIGHT - above
        return fetch(level, index >> bits).rows[above][index & ((1 << bits) - 1)]

    return node


class GrowingTree:
    """The right edge of a tree, which is all that is needed to add to it: the last tile of each
    level.
    """

    def __init__(self, size: int, last: list[Tile], older: TileLookup) -> None:
        """Start from a tree of a size with its last tiles; `older` gives the others, which are
        full.
        """
        self.size = size
        self.last = last
        self.numbers = [size >> (TILE_HEIGHT * (level + 1)) for level in range(len(last))]
        self.older = older
        self.node = make_node_lookup(self.tile)
        self.changed: dict[tuple[int, int], Tile] = {}

    def tile(self, level: int, number: int) -> Tile:
        """Give a tile."""
        if level < len(self.last) and number == self.numbers[level]:
            return self.last[level]
        return self.changed.get((level, number)) or self.older(level, number)

    def add(self, leaf: bytes) -> int:
        """Add a leaf; gives its position."""
        position = self.size
        found, level = leaf, 0
        while True:
            if level == len(self.last):
                self.last.append(Tile())
                self.numbers.append(0)
            tile = self.last[level]
            tile.add(found)
            self.changed[level, self.numbers[level]] = tile
            if len(tile) < TILE_WIDTH:
                break
            self.last[level] = Tile()
            self.numbers[level] += 1
            found, level = tile.top, level + 1
        self.size += 1
        return position

    def settle(self) -> dict[tuple[int, int], Tile]:
        """Give the tiles that have changed since this was last asked."""
        changed, self.changed = self.changed, {}
        return changed

    def root(self) -> bytes:
        """Give the root."""
        return compute_root(self.node, self.size)


def list_last_tiles(size: int) -> Iterator[tuple[int, int, int]]:
    """Name the last tile of each level of a tree, by level, number and width; a width of 0 is a
    tile that has yet to begin.
    """
    for level in range(MAX_TILE_LEVELS):
        hashes = size >> (TILE_HEIGHT * level)
        if not hashes:
            return
        yield level, hashes // TILE_WIDTH, hashes % TILE_WIDTH


def format_tile_path(number: int, width: int = TILE_WIDTH) -> str:
    """Write the number of a tile as it is in an address: three digits a folder, and the width of
    one that is not full.
    """
    groups = [f"{number % 1000:03}"]
    while number := number // 1000:
        groups.append(f"x{number % 1000:03}")
    return "/".join(reversed(groups)) + ("" if width == TILE_WIDTH else f".p/{width}")


def parse_tile_path(path: str) -> tuple[int, int]:
    """Read the number and the width of a tile from an address.

    Raises:
        UsageError: there is no tile of that name.
    """
    if _TILE_PATH_PATTERN.fullmatch(path) is None:
        raise UsageError(f"no tile has the name {path!r}")
    name, _, width = path.partition(".p/")
    number, wide = int(name.replace("x", "").replace("/", "")), int(width or TILE_WIDTH)
    if (
        format_tile_path(number, wide) != path
        or wide > TILE_WIDTH
        or number >= _MAX_TILES_PER_LEVEL
    ):
        raise UsageError(f"no tile has the name {path!r}")
    return number, wide

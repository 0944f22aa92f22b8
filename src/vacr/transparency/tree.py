"""The Merkle tree of a log: hashes, proofs, and the tiles that store it (RFC 9162, section 2.1).

Every entry is a leaf. An inclusion proof leads from a leaf to the root, a consistency proof leads
from an older root to a newer one.

    >>> from vacr.transparency.tree import *
    >>> tree = GrowingTree(size=0, last=[], older=lambda level, number: Tile())
    >>> [tree.add(hash_leaf(entry)) for entry in (b"first", b"second", b"third")]
    [0, 1, 2]
    >>> path = build_inclusion_path(tree.find_node, compute_right_edge(tree.find_node, 3), 1, 3)
    >>> compute_inclusion_root(hash_leaf(b"second"), 1, 3, path) == tree.root()
    True

Functions that build proofs do not hold the tree. They call `find_node(height, index)` for the hash
of the complete subtree over the `1 << height` leaves that start at `index << height`.

A tile (C2SP tlog-tiles) is a row of 256 hashes; a tile of level `l` holds hashes of height `8 * l`.
A full tile never changes, and only the last tile of each level is not full.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

from vacr.errors import InvalidStatement, UsageError

NodeLookup = Callable[[int, int], bytes]
"""Returns the hash of a complete subtree, by height and index."""

HASH_SIZE = 32
_MAX_PATH_LENGTH = 64

TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT
MAX_TILE_LEVELS = 8
"""The number of levels in a tree of 2^63 leaves."""
_MAX_TILES_PER_LEVEL = 1 << (63 - TILE_HEIGHT)
"""The number of tiles on the lowest level of the largest tree."""
_TILE_PATH_PATTERN = re.compile(r"(?:x([0-9]{3})/){0,6}([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


def hash_leaf(entry: bytes) -> bytes:
    """Return the leaf hash of an entry: the SHA-256 of a zero byte and the entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def hash_children(left: bytes, right: bytes) -> bytes:
    """Return the hash of a subtree: the SHA-256 of byte 1 and the hashes of its two halves."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def compute_right_edge(find_node: NodeLookup, size: int) -> list[bytes | None]:
    """Return for each height, from 0 to the root's, the hash of the incomplete last subtree.

    It is None for a height where every subtree is complete. All proofs for a tree of one size share
    these hashes. The last one is the root, but None if the size is a power of two.
    """
    hashes: list[bytes | None] = [None]
    for height in range(1, (size - 1).bit_length() + 1):
        index = size >> height
        if index << height == size:
            hashes.append(None)
            continue
        below = hashes[-1]
        if (size >> (height - 1)) & 1:
            left = find_node(height - 1, index << 1)
            hashes.append(left if below is None else hash_children(left, below))
        else:
            hashes.append(below)
    return hashes


def compute_root(find_node: NodeLookup, size: int) -> bytes:
    """Return the root hash of the first `size` leaves; for size 0, the SHA-256 of no bytes."""
    if not size:
        return hashlib.sha256().digest()
    hashes = compute_right_edge(find_node, size)
    return hashes[-1] or find_node(len(hashes) - 1, 0)


def build_inclusion_path(
    find_node: NodeLookup, edges: Sequence[bytes | None], index: int, size: int
) -> list[bytes]:
    """Return the inclusion proof of the leaf at `index`: its sibling hashes, from the leaf up.

    `edges` is the result of `compute_right_edge` for a tree of this size.
    """
    return _collect_siblings(find_node, edges, 0, index, size)


def _collect_siblings(
    find_node: NodeLookup, edges: Sequence[bytes | None], height: int, index: int, size: int
) -> list[bytes]:
    """Return the sibling hash of a complete subtree, and of each subtree above it, lowest first.

    A subtree without a sibling is skipped.
    """
    path = []
    last = size - 1
    for level in range(height, len(edges) - 1):
        sibling = index ^ 1
        end = last >> level
        if sibling < end:
            path.append(find_node(level, sibling))
        elif sibling == end:
            path.append(edges[level] or find_node(level, sibling))
        index >>= 1
    return path


def compute_inclusion_root(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the root that an inclusion proof leads to from a leaf hash (RFC 9162, 2.1.3.2).

    Raises:
        InvalidStatement: the tree has no leaf at `index`, or the path has the wrong length or is
            not a list of hashes.
    """
    _check_proof_path(path)
    if not 0 <= index < size:
        raise InvalidStatement(
            f"the proof is for leaf {index}, but the tree has only {size} leaves",
            reason="receipt-index",
        )
    position, last, subtree = index, size - 1, leaf
    for sibling in path:
        if not last:
            raise InvalidStatement(
                "the inclusion proof is too long for the size of the tree", reason="receipt-path"
            )
        if position & 1 or position == last:
            subtree = hash_children(sibling, subtree)
            # A last node without a right sibling moves up unchanged.
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            subtree = hash_children(subtree, sibling)
        position, last = position >> 1, last >> 1
    if last:
        raise InvalidStatement(
            "the inclusion proof is too short for the size of the tree", reason="receipt-path"
        )
    return subtree


def build_consistency_path(find_node: NodeLookup, older: int, newer: int) -> list[bytes]:
    """Return the proof that the tree of size `older` is the beginning of the tree of size `newer`.

    It is empty if `older` is 0, or not smaller than `newer`.
    """
    if not 0 < older < newer:
        return []
    # The last complete subtree of the older tree: from there, the proof goes up like an inclusion
    # proof.
    height = (older & -older).bit_length() - 1
    index = (older >> height) - 1
    path = [] if index == 0 else [find_node(height, index)]
    return path + _collect_siblings(
        find_node, compute_right_edge(find_node, newer), height, index, newer
    )


def compute_consistency_root(
    older: int, newer: int, path: Sequence[bytes], older_root: bytes
) -> bytes:
    """Return the newer root that a consistency proof leads to (RFC 9162, section 2.1.4.2).

    `older` and `newer` are the sizes of both trees. With equal sizes, the result is `older_root`.

    Raises:
        InvalidStatement: the proof is malformed, or does not lead to `older_root` as well.
    """
    _check_proof_path(path)
    if not 0 < older <= newer:
        raise InvalidStatement(
            f"a tree of size {older} cannot be the beginning of one of size {newer}",
            reason="consistency-sizes",
        )
    if older == newer:
        if path:
            raise InvalidStatement(
                "the consistency proof between trees of equal size is not empty",
                reason="consistency-path",
            )
        return older_root
    if not path:
        raise InvalidStatement("the consistency proof is empty", reason="consistency-path")
    # The older root is a node of the newer tree if the older size is a power of two. The proof
    # omits it then.
    hashes = list(path) if older & (older - 1) else [older_root, *path]
    position, last = older - 1, newer - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    older_subtree = newer_subtree = hashes[0]
    for sibling in hashes[1:]:
        if not last:
            raise InvalidStatement(
                "the consistency proof is too long for the size of the tree",
                reason="consistency-path",
            )
        if position & 1 or position == last:
            older_subtree = hash_children(sibling, older_subtree)
            newer_subtree = hash_children(sibling, newer_subtree)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            newer_subtree = hash_children(newer_subtree, sibling)
        position, last = position >> 1, last >> 1
    if last:
        raise InvalidStatement(
            "the consistency proof is too short for the size of the tree", reason="consistency-path"
        )
    if older_subtree != older_root:
        raise InvalidStatement(
            "the older tree is not the beginning of the newer one", reason="consistency-mismatch"
        )
    return newer_subtree


def _check_proof_path(path: Sequence[bytes]) -> None:
    """Check that a proof has at most 64 items, each a hash of 32 bytes.

    Raises:
        InvalidStatement: it does not.
    """
    if len(path) > _MAX_PATH_LENGTH or any(
        type(node) is not bytes or len(node) != HASH_SIZE for node in path
    ):
        raise InvalidStatement(
            f"the proof is not a list of at most {_MAX_PATH_LENGTH} hashes",
            reason="receipt-malformed",
        )


class Tile:
    """The hashes of a tile, and the hashes of the complete subtrees above them.

    `rows[0]` has up to 256 hashes of the tile itself, `rows[1]` the hashes of pairs of them, and so
    on up to `rows[8]`.
    """

    __slots__ = ("rows",)

    def __init__(self, hashes: bytes = b"") -> None:
        """Fill the tile from concatenated hashes of 32 bytes."""
        self.rows: list[list[bytes]] = [[] for _ in range(TILE_HEIGHT + 1)]
        for start in range(0, len(hashes), HASH_SIZE):
            self.add(hashes[start : start + HASH_SIZE])

    def __len__(self) -> int:
        """Return the number of hashes in the tile."""
        return len(self.rows[0])

    def add(self, subtree: bytes) -> None:
        """Add a hash, and the hashes of the subtrees that it completes."""
        rows = self.rows
        for height in range(TILE_HEIGHT + 1):
            row = rows[height]
            row.append(subtree)
            if len(row) & 1:
                return
            subtree = hash_children(row[-2], row[-1])

    @property
    def is_full(self) -> bool:
        """Whether the tile has all its 256 hashes."""
        return len(self.rows[0]) == TILE_WIDTH

    @property
    def top(self) -> bytes:
        """The hash of the subtree over all 256 hashes; only a full tile has it."""
        return self.rows[TILE_HEIGHT][0]

    def encode(self) -> bytes:
        """Return the tile's hashes, concatenated."""
        return b"".join(self.rows[0])


TileLookup = Callable[[int, int], Tile]
"""Returns a tile, by level and number."""


def make_node_lookup(fetch: TileLookup) -> NodeLookup:
    """Return a function that returns the hash at a height and index of a tree.

    It calls `fetch` for the tile that contains the hash.
    """

    def find_node(height: int, index: int) -> bytes:
        level, row = divmod(height, TILE_HEIGHT)
        bits = TILE_HEIGHT - row
        return fetch(level, index >> bits).rows[row][index & ((1 << bits) - 1)]

    return find_node


class GrowingTree:
    """A tree that leaves can be added to; it needs only the last tile of each level."""

    def __init__(self, size: int, last: list[Tile], older: TileLookup) -> None:
        """Start with a tree of `size` leaves, and extend `last` as it grows.

        `last` has the last tile of each level, the lowest level first. `older` returns any other
        tile by level and number; these are full.
        """
        self.size = size
        self.last = last
        self.numbers = [size >> (TILE_HEIGHT * (level + 1)) for level in range(len(last))]
        self.older = older
        self.find_node = make_node_lookup(self.tile)
        self.changed: dict[tuple[int, int], Tile] = {}

    def tile(self, level: int, number: int) -> Tile:
        """Return a tile of the tree; call `older` for a tile that is not in memory."""
        if level < len(self.last) and number == self.numbers[level]:
            return self.last[level]
        return self.changed.get((level, number)) or self.older(level, number)

    def add(self, leaf: bytes) -> int:
        """Add a leaf, and return its position."""
        position = self.size
        subtree, level = leaf, 0
        while True:
            if level == len(self.last):
                self.last.append(Tile())
                self.numbers.append(0)
            tile = self.last[level]
            tile.add(subtree)
            self.changed[level, self.numbers[level]] = tile
            if len(tile) < TILE_WIDTH:
                break
            self.last[level] = Tile()
            self.numbers[level] += 1
            subtree, level = tile.top, level + 1
        self.size += 1
        return position

    def settle(self) -> dict[tuple[int, int], Tile]:
        """Return the tiles that changed since the last call, by level and number."""
        changed, self.changed = self.changed, {}
        return changed

    def root(self) -> bytes:
        """Return the root hash of the tree with all leaves added so far."""
        return compute_root(self.find_node, self.size)


def list_last_tiles(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield level, number and width (hash count) of the last tile of each level of a tree.

    The width is 0 after a full tile: a tree of 256 leaves yields (0, 1, 0) and (1, 0, 1). An empty
    tree yields no tiles.
    """
    for level in range(MAX_TILE_LEVELS):
        hashes = size >> (TILE_HEIGHT * level)
        if not hashes:
            return
        yield level, hashes // TILE_WIDTH, hashes % TILE_WIDTH


def format_tile_path(number: int, width: int = TILE_WIDTH) -> str:
    """Format the path of a tile: three digits per folder, then the width if it is not full.

    For example, number 1234 becomes `x001/234`; with width 5, it becomes `x001/234.p/5`.
    """
    groups = [f"{number % 1000:03}"]
    while number := number // 1000:
        groups.append(f"x{number % 1000:03}")
    return "/".join(reversed(groups)) + ("" if width == TILE_WIDTH else f".p/{width}")


def parse_tile_path(path: str) -> tuple[int, int]:
    """Parse the number and the width of a tile from its path; the reverse of `format_tile_path`.

    Raises:
        UsageError: no tile has that path.
    """
    if _TILE_PATH_PATTERN.fullmatch(path) is None:
        raise UsageError(f"not the path of a tile: {path!r}")
    name, _, suffix = path.partition(".p/")
    number, width = int(name.replace("x", "").replace("/", "")), int(suffix or TILE_WIDTH)
    if (
        format_tile_path(number, width) != path
        or width > TILE_WIDTH
        or number >= _MAX_TILES_PER_LEVEL
    ):
        raise UsageError(f"not the path of a tile: {path!r}")
    return number, width

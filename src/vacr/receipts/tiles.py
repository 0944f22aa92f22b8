"""Tiles: 256 hashes of a tree side by side, and the hashes above them. Step: register. Follows C2SP
tlog-tiles.

A tile of level `l` holds hashes of height `8 * l`. Tiles are how a log keeps its tree: a full one
never changes, and of those that are not full there is one on each level, the last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from vacr.errors import UsageError
from vacr.receipts import tree
from vacr.receipts.tree import HASH_SIZE, node_hash

HEIGHT = 8
WIDTH = 1 << HEIGHT
LEVELS = 8
"""As many as a tree of 2^63 leaves has."""

_MOST = 1 << (63 - HEIGHT)
"""How many tiles a level of the largest tree has."""
_PATH = re.compile(r"(?:x([0-9]{3})/){0,6}([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


class Tile:
    """The hashes of a tile, and those of the complete subtrees above them."""

    __slots__ = ("rows",)

    def __init__(self, hashes: bytes = b"") -> None:
        """Take hashes one after the other."""
        self.rows: list[list[bytes]] = [[] for _ in range(HEIGHT + 1)]
        for at in range(0, len(hashes), HASH_SIZE):
            self.add(hashes[at : at + HASH_SIZE])

    def __len__(self) -> int:
        """Give how many hashes there are."""
        return len(self.rows[0])

    def add(self, found: bytes) -> None:
        """Add a hash, and what it completes."""
        rows = self.rows
        for height in range(HEIGHT + 1):
            row = rows[height]
            row.append(found)
            if len(row) & 1:
                return
            found = node_hash(row[-2], row[-1])

    @property
    def is_full(self) -> bool:
        """Whether no more can be added."""
        return len(self.rows[0]) == WIDTH

    @property
    def top(self) -> bytes:
        """The hash over a full tile."""
        return self.rows[HEIGHT][0]

    def encode(self) -> bytes:
        """Write the hashes one after the other."""
        return b"".join(self.rows[0])


Fetch = Callable[[int, int], Tile]
"""Gives a tile by its level and its number."""


def node_in(fetch: Fetch) -> tree.Node:
    """Look nodes up in tiles."""

    def node(height: int, index: int) -> bytes:
        level, above = divmod(height, HEIGHT)
        bits = HEIGHT - above
        return fetch(level, index >> bits).rows[above][index & ((1 << bits) - 1)]

    return node


class Growing:
    """The right edge of a tree, which is all that is needed to add to it: the last tile of each
    level.
    """

    def __init__(self, size: int, last: list[Tile], older: Fetch) -> None:
        """Start from a tree of a size with its last tiles; `older` gives the others, which are
        full.
        """
        self.size = size
        self.last = last
        self.numbers = [size >> (HEIGHT * (level + 1)) for level in range(len(last))]
        self.older = older
        self.node = node_in(self.tile)
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
            if len(tile) < WIDTH:
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
        return tree.root(self.node, self.size)


def last_tiles(size: int) -> Iterator[tuple[int, int, int]]:
    """Name the last tile of each level of a tree, by level, number and width; a width of 0 is a
    tile that has yet to begin.
    """
    for level in range(LEVELS):
        hashes = size >> (HEIGHT * level)
        if not hashes:
            return
        yield level, hashes // WIDTH, hashes % WIDTH


def path_of(number: int, width: int = WIDTH) -> str:
    """Write the number of a tile as it is in an address: three digits a folder, and the width of
    one that is not full.
    """
    groups = [f"{number % 1000:03}"]
    while number := number // 1000:
        groups.append(f"x{number % 1000:03}")
    return "/".join(reversed(groups)) + ("" if width == WIDTH else f".p/{width}")


def number_of(path: str) -> tuple[int, int]:
    """Read the number and the width of a tile from an address.

    Raises:
        UsageError: there is no tile of that name.
    """
    if _PATH.fullmatch(path) is None:
        raise UsageError(f"no tile has the name {path!r}")
    name, _, width = path.partition(".p/")
    number, wide = int(name.replace("x", "").replace("/", "")), int(width or WIDTH)
    if path_of(number, wide) != path or wide > WIDTH or number >= _MOST:
        raise UsageError(f"no tile has the name {path!r}")
    return number, wide

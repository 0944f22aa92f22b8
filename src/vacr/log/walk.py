"""The way from one size of a log to a larger one: every entry on it is fetched, hashed and put onto
the tree. Step: verify.

Memory does not grow with the way: there is one bundle at a time, and the edge of the tree.
"""

from __future__ import annotations

from vacr.errors import InvalidStatement
from vacr.log.tiled import TiledLog
from vacr.receipts import tiles, tree
from vacr.receipts.key_chain import KeyChain
from vacr.receipts.tiles import WIDTH, Growing, Tile


def edge(log: TiledLog, older: int, newer: int) -> Growing:
    """Give the edge that the tree had when it was smaller, from the tiles of the larger one.

    Raises:
        InvalidStatement: something is no tile.
        Unreachable: a tile is missing.
    """
    last = []
    for level, number, width in tiles.last_tiles(older):
        hashes = log.tile(level, number, newer)[:width] if width else []
        last.append(Tile(b"".join(hashes)))
    return Growing(older, last, _none)


def _none(level: int, number: int) -> Tile:
    raise AssertionError(f"the edge of a tree needs no tile {level}/{number}")


def walk(log: TiledLog, growing: Growing, size: int, chain: KeyChain) -> None:
    """Put all entries up to a size onto a tree, and compare each tile that is complete then with
    the log's.

    Raises:
        InvalidStatement: an entry or a tile is not what it has to be.
        Unreachable: something is missing.
    """
    start = growing.size
    for number in range(start // WIDTH, -(-size // WIDTH)):
        for index, entry in enumerate(log.bundle(number, size), number * WIDTH):
            leaf = tree.leaf_hash(entry)
            if index >= start:
                growing.add(leaf)
                chain.read(index, entry)
            elif growing.tile(0, number).rows[0][index % WIDTH] != leaf:
                raise InvalidStatement(
                    f"entry {index} is not the one that was logged", reason="log-entry"
                )
        # Those that are not full yet are compared at the end, for the log has no others.
        for (level, place), tile in growing.settle().items():
            if len(tile) == WIDTH:
                _compare(log, level, place, tile, size)
    for level, place, width in tiles.last_tiles(size):
        if width:
            _compare(log, level, place, growing.tile(level, place), size)


def _compare(log: TiledLog, level: int, number: int, tile: Tile, size: int) -> None:
    theirs = log.tile(level, number, size)
    for at, (ours, other) in enumerate(zip(tile.rows[0], theirs, strict=True)):
        if ours != other:
            what = (
                f"entry {number * WIDTH + at} does not hash to its leaf"
                if not level
                else f"hash {at} is not that of what is below"
            )
            raise InvalidStatement(
                f"tile {level}/{number}: {what}", reason="log-tile" if level else "log-entry"
            )

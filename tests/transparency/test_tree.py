"""The tree, compared with the recursive definitions of RFC 9162."""

import hashlib
import random

import pytest

from tests.conftest import slow
from vacr.errors import InvalidStatement, UsageError
from vacr.transparency.tree import (
    GrowingTree,
    Tile,
    build_consistency_path,
    build_inclusion_path,
    compute_consistency_root,
    compute_inclusion_root,
    compute_right_edge,
    compute_root,
    format_tile_path,
    hash_leaf,
    list_last_tiles,
    parse_tile_path,
)

LEAVES = [hash_leaf(bytes([number])) for number in range(70)]


def split(count):
    return 1 << ((count - 1).bit_length() - 1)


def mth(leaves):
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    at = split(len(leaves))
    return hashlib.sha256(b"\x01" + mth(leaves[:at]) + mth(leaves[at:])).digest()


def path(index, leaves):
    if len(leaves) == 1:
        return []
    at = split(len(leaves))
    if index < at:
        return [*path(index, leaves[:at]), mth(leaves[at:])]
    return [*path(index - at, leaves[at:]), mth(leaves[:at])]


def subproof(older, leaves, is_whole):
    if older == len(leaves):
        return [] if is_whole else [mth(leaves)]
    at = split(len(leaves))
    if older <= at:
        return [*subproof(older, leaves[:at], is_whole), mth(leaves[at:])]
    return [*subproof(older - at, leaves[at:], False), mth(leaves[:at])]


def nodes(leaves):
    def find_node(height, index):
        assert (index + 1) << height <= len(leaves), "asked for a subtree that is not complete"
        return mth(leaves[index << height : (index + 1) << height])

    return find_node


@pytest.mark.parametrize("size", range(1, 70))
def test_roots_and_proofs_match_the_rfc(size):
    leaves, find_node = LEAVES[:size], nodes(LEAVES[:size])
    assert compute_root(find_node, size) == mth(leaves)
    edges = compute_right_edge(find_node, size)
    for index in range(size):
        proof = build_inclusion_path(find_node, edges, index, size)
        assert proof == path(index, leaves)
        assert compute_inclusion_root(leaves[index], index, size, proof) == mth(leaves)
    for older in range(1, size + 1):
        proof = build_consistency_path(find_node, older, size)
        assert proof == subproof(older, leaves, True)
        assert compute_consistency_root(older, size, proof, mth(leaves[:older])) == mth(leaves)


def test_root_of_the_empty_tree():
    assert compute_root(nodes([]), 0) == hashlib.sha256().digest()


def test_changed_proofs_do_not_verify():
    """Every proof for a wrong index, and every path that is cut, extended or changed, leads
    elsewhere or nowhere.
    """
    for size in range(2, 20):
        leaves, find_node = LEAVES[:size], nodes(LEAVES[:size])
        whole, edges = mth(leaves), compute_right_edge(find_node, size)
        for index in range(size):
            proof = build_inclusion_path(find_node, edges, index, size)
            wrong = [proof[:-1], [*proof, bytes(32)], [bytes(32), *proof], [bytes(32), *proof[1:]]]
            tries = [(index, other) for other in wrong] + [
                (other, proof) for other in range(-1, size + 2) if other != index
            ]
            for at, tried in tries:
                assert (
                    compute_or_none(compute_inclusion_root, leaves[index], at, size, tried) != whole
                )


def compute_or_none(compute, *arguments):
    try:
        return compute(*arguments)
    except InvalidStatement:
        return None


def test_forked_trees_are_not_consistent():
    leaves = LEAVES[:20]
    for older in range(1, 20):
        other = mth([bytes(32), *leaves[1:older]])
        for proof in (
            subproof(older, leaves, True),
            subproof(older, [bytes(32), *leaves[1:]], True),
        ):
            assert compute_or_none(compute_consistency_root, older, 20, proof, other) != mth(leaves)


@pytest.mark.parametrize(
    ("older", "newer", "proof"),
    [
        (0, 5, []),
        (6, 5, []),
        (3, 3, [bytes(32)]),
        (3, 5, []),
        (3, 5, [b"short"]),
        (3, 5, [bytes(32)] * 65),
        (3, 5, ["text"]),
    ],
)
def test_malformed_consistency_proofs_are_refused(older, newer, proof):
    with pytest.raises(InvalidStatement):
        compute_consistency_root(older, newer, proof, bytes(32))


def grow_tree(count, at=()):
    """Grow a tree leaf by leaf, with restarts from its tiles at some sizes."""
    kept = {}
    growing = GrowingTree(0, [], lambda level, number: Tile(kept[level, number]))
    for number in range(count):
        growing.add(hash_leaf(number.to_bytes(4, "big")))
        if number % 97 == 0 or growing.size in at:
            kept.update({place: tile.encode() for place, tile in growing.settle().items()})
        if growing.size in at:
            last = [
                Tile(kept[level, number] if width else b"")
                for level, number, width in list_last_tiles(growing.size)
            ]
            growing = GrowingTree(growing.size, last, growing.older)
    return growing


@slow
def test_tiles_yield_the_same_tree():
    random.seed(1)
    sizes = [1, 2, 255, 256, 257, 511, 512, 1000, 65_536, 65_537, 66_000]
    leaves = [hash_leaf(number.to_bytes(4, "big")) for number in range(sizes[-1])]
    for size in sizes:
        growing = grow_tree(size, at={size // 2, size - 1, size, 256})
        assert growing.root() == mth(leaves[:size])
        edges = compute_right_edge(growing.find_node, size)
        for index in {0, size - 1, *random.sample(range(size), min(size, 20))}:
            proof = build_inclusion_path(growing.find_node, edges, index, size)
            assert compute_inclusion_root(leaves[index], index, size, proof) == growing.root()
        for older in {1, size, *random.sample(range(1, size + 1), min(size, 5))}:
            proof = build_consistency_path(growing.find_node, older, size)
            assert (
                compute_consistency_root(older, size, proof, mth(leaves[:older])) == growing.root()
            )


@pytest.mark.parametrize(
    ("number", "width", "name"),
    [(0, 256, "000"), (67, 256, "067"), (1234067, 256, "x001/x234/067"), (1000, 3, "x001/000.p/3")],
)
def test_tile_paths(number, width, name):
    assert format_tile_path(number, width) == name
    assert parse_tile_path(name) == (number, width)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "0",
        "0000",
        "x000/001",
        "001.p/0",
        "001.p/256",
        "001.p/257",
        "x001/1",
        "../001",
        "001/",
        "٣٣٣",
    ],
)
def test_malformed_tile_paths_are_refused(name):
    with pytest.raises(UsageError):
        parse_tile_path(name)

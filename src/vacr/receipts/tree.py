"""The Merkle tree of a log: hashes, proofs, and what they prove. Step: register, verify. Follows
RFC 9162 section 2.1.

The tree itself is elsewhere: what makes a proof asks a function for the hash of a complete subtree,
`node(height, index)`, which covers the leaves from `index << height` on, `1 << height` of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from vacr.errors import InvalidStatement

Node = Callable[[int, int], bytes]

HASH_SIZE = 32
_LONGEST = 64


def leaf_hash(entry: bytes) -> bytes:
    """Give the hash of an entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Give the hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def edge(node: Node, size: int) -> list[bytes | None]:
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
            hashes.append(left if below is None else node_hash(left, below))
        else:
            hashes.append(below)
    return hashes


def root(node: Node, size: int) -> bytes:
    """Give the root of a tree; that of an empty one is the hash of nothing."""
    if not size:
        return hashlib.sha256().digest()
    hashes = edge(node, size)
    return hashes[-1] or node(len(hashes) - 1, 0)


def inclusion_path(node: Node, edges: Sequence[bytes | None], index: int, size: int) -> list[bytes]:
    """Prove that a leaf is in a tree of a size, whose `edge` is given."""
    return _upward(node, edges, 0, index, size)


def _upward(
    node: Node, edges: Sequence[bytes | None], height: int, index: int, size: int
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


def root_by_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Give the root that a proof leads to from a leaf; RFC 9162 section 2.1.3.2.

    Raises:
        InvalidStatement: there is no such leaf in a tree of that size, or the path is too short or
            too long.
    """
    _check_path(path)
    if not 0 <= index < size:
        raise InvalidStatement(f"leaf {index} of a tree of {size}", reason="receipt-index")
    at, last, found = index, size - 1, leaf
    for sibling in path:
        if not last:
            raise InvalidStatement(
                "a proof that is longer than the tree is high", reason="receipt-path"
            )
        if at & 1 or at == last:
            found = node_hash(sibling, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        at, last = at >> 1, last >> 1
    if last:
        raise InvalidStatement(
            "a proof that is shorter than the tree is high", reason="receipt-path"
        )
    return found


def consistency_path(node: Node, older: int, newer: int) -> list[bytes]:
    """Prove that a tree of one size is the beginning of a tree of another, newer one."""
    if not 0 < older < newer:
        return []
    # The last complete subtree of the older tree: from there the proof goes up as one of inclusion
    # does.
    height = (older & -older).bit_length() - 1
    index = (older >> height) - 1
    path = [] if index == 0 else [node(height, index)]
    return path + _upward(node, edge(node, newer), height, index, newer)


def root_by_consistency(older: int, newer: int, path: Sequence[bytes], older_root: bytes) -> bytes:
    """Give the root of a newer tree that a proof leads to from the older one's; RFC 9162 section
    2.1.4.2.

    Raises:
        InvalidStatement: the proof does not begin with the older tree.
    """
    _check_path(path)
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
            first, second = node_hash(sibling, first), node_hash(sibling, second)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            second = node_hash(second, sibling)
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


def _check_path(path: Sequence[bytes]) -> None:
    if len(path) > _LONGEST or any(type(one) is not bytes or len(one) != HASH_SIZE for one in path):
        raise InvalidStatement("a path that is no list of hashes", reason="receipt-malformed")

"""Whether every stored byte still hashes to what the log has signed. Step: register.

All entries are read once, in bounded memory: their leaves are compared with the tiles and with the
index, the roots of the tree with every head that is kept, and the files that are published with the
database. A head that was removed is missed where a tree of its size was published: nothing that was
handed out depends on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.log.findings import Findings
from vacr.log.folder import Folder
from vacr.log.published_files import check_files
from vacr.log.signed_heads import SignedHeads
from vacr.log.storage import Damaged, Reading, Storage, StoredHead, prefix_of
from vacr.receipts import tree
from vacr.receipts.tiles import WIDTH, Growing, Tile, last_tiles
from vacr.receipts.tree import HASH_SIZE


@dataclass(frozen=True)
class Checked:
    """What was checked, and what was found."""

    size: int
    heads: int
    files: int
    findings: Findings
    remarks: tuple[str, ...] = ()
    """What whoever looks after the log may want to know, though nothing is wrong with it."""


def check(
    folder: Folder, progress: Callable[[int, int], None] = lambda _done, _of: None
) -> Checked:
    """Check a log; `progress` is told how many entries are done, of how many.

    Raises:
        StorageFailed: it cannot be read.
        UnreadableInput: there is no log.
    """
    findings = Findings()
    try:
        with closing(folder.reader()) as storage, storage.snapshot():
            return _check(storage, folder, findings, progress)
    except Damaged as error:
        findings.add(f"{error.message}: the rest cannot be checked")
        return Checked(0, 0, 0, findings)


def _check(
    storage: Storage, folder: Folder, findings: Findings, progress: Callable[[int, int], None]
) -> Checked:
    for told in storage.check():
        findings.add(f"the database: {told}")
    head = storage.head()
    if head is None:
        findings.add("the head of the log is missing, or is not one that was signed")
        return Checked(0, 0, 0, findings)
    heads = _check_tree(storage, head, findings, progress)
    # What is published meanwhile is of a later moment than the snapshot, so that it is compared
    # with the log as it is then.
    with closing(folder.reader()) as present:
        files = check_files(present, folder, findings)
    return Checked(
        head.head.size, heads, files, findings, tuple(_missing_keys(storage, folder, head))
    )


def _missing_keys(storage: Storage, folder: Folder, head: StoredHead) -> Iterator[str]:
    """Tell which keys of the log cannot be used here: a copy may well be without them, and a log
    that is added to may not.
    """
    keyring = folder.keyring
    for find in (keyring.signer, keyring.checkpoint_key):
        try:
            find(storage, head)
        except (UsageError, UnreadableInput) as error:
            yield f"{error.message}: the log can be verified here, and not added to"
        except InvalidStatement:
            return  # the log does not say which keys it has, which is among the findings


def _check_tree(
    storage: Storage, head: StoredHead, findings: Findings, progress: Callable[[int, int], None]
) -> int:
    size = head.head.size
    heads = SignedHeads(storage, findings)
    growing = Growing(0, [], lambda level, number: _stored(storage, level, number))
    for first in range(0, size, WIDTH):
        entries = storage.entries(first, min(first + WIDTH, size))
        if len(entries) != min(WIDTH, size - first):
            findings.add(
                f"entries are missing between {first} and {first + WIDTH}: the rest cannot be "
                "checked"
            )
            return heads.count
        leaves = list(map(tree.leaf_hash, entries))
        _check_leaves(storage, first, leaves, findings)
        for entry, leaf in zip(entries, leaves, strict=True):
            growing.add(leaf)
            heads.reach(growing, entry)
        for (level, number), tile in growing.settle().items():
            if tile.is_full:
                _compare(storage, level, number, tile, findings)
        progress(growing.size, size)
    for level, number, width in last_tiles(size):
        if width:
            _compare(storage, level, number, growing.last[level], findings)
    heads.finish(head)
    _check_counts(storage, size, heads.count, findings)
    return heads.count


def _stored(storage: Reading, level: int, number: int) -> Tile:
    return Tile(storage.tile(level, number) or b"")


def _compare(storage: Reading, level: int, number: int, tile: Tile, findings: Findings) -> None:
    if storage.tile(level, number) != tile.encode():
        findings.add(f"tile {level}/{number} is not what the entries under it give")


def _check_leaves(storage: Reading, first: int, leaves: list[bytes], findings: Findings) -> None:
    """Compare what a bundle of entries hashes to with the tree and with the index."""
    stored = storage.tile(0, first // WIDTH) or b""
    indexed = set(storage.positions([prefix_of(leaf) for leaf in leaves]))
    for at, leaf in enumerate(leaves):
        if stored[at * HASH_SIZE : (at + 1) * HASH_SIZE] != leaf:
            findings.add(f"entry {first + at} is not the one whose hash is in the tree")
        elif (prefix_of(leaf), first + at) not in indexed:
            findings.add(f"entry {first + at} is not in the index: it could be registered twice")


def _check_counts(storage: Reading, size: int, heads: int, findings: Findings) -> None:
    tiles = 0
    width = size
    while width:
        tiles += (width + WIDTH - 1) // WIDTH
        width //= WIDTH
    expected = {"entries": size, "leaves": size, "tiles": tiles, "heads": heads}
    for name, count in storage.counts().items():
        if count != expected[name]:
            findings.add(f"{count} {name} are stored, not {expected[name]}")

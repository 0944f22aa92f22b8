"""What a log has published as files, compared with its database. Step: register.

Every head that a log has signed, compared with the tree that its entries give. Step:
register.

Whether every stored byte still hashes to what the log has signed. Step: register.

All entries are read once, in bounded memory: their leaves are compared with the tiles and with the
index, the roots of the tree with every head that is kept, and the files that are published with the
database. A head that was removed is missed where a tree of its size was published: nothing that was
handed out depends on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import InvalidStatement, UnreadableInput, UsageError, VacrError
from vacr.files import read_bytes
from vacr.log.folder import LogFolder, check_not_rolled_back
from vacr.log.keyring import read_log_descriptions
from vacr.log.publishing import (
    ENTRIES_LEVEL,
    list_changed_tiles,
    read_bundle_bytes,
    read_published_size,
    read_tile_bytes,
)
from vacr.log.storage import (
    Findings,
    LogDamaged,
    LogReader,
    LogStorage,
    StoredHead,
    compute_index_prefix,
)
from vacr.signing import (
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_SUB,
    HEADER_CWT_CLAIMS,
    RECEIPT_KEYS_FILE,
    choose_algorithm_number,
    compute_thumbprint,
    encode_sig_structure,
    parse_public_keys,
    parse_sign1,
    verify_signature,
)
from vacr.transparency import (
    HASH_SIZE,
    TILE_WIDTH,
    GrowingTree,
    LogDescription,
    Tile,
    compute_log_identity,
    hash_leaf,
    list_last_tiles,
    parse_first_description,
    parse_next_description,
    parse_tile_path,
)


def check_published_files(storage: LogReader, folder: LogFolder, findings: Findings) -> int:
    """Compare the files of a log with its database; gives how many there are."""
    try:
        said = read_log_descriptions(storage)
    except VacrError as error:
        findings.add(str(error))
        return 0
    public = folder.path / RECEIPT_KEYS_FILE
    wanted = [compute_thumbprint(one.receipt_key) for one in said]
    try:
        if [compute_thumbprint(key) for key in parse_public_keys(read_bytes(public))] != wanted:
            findings.add(f"{public} does not hold the keys that the log names")
    except VacrError as error:
        findings.add(f"{public}: {error.message}")
    if not folder.public.is_dir():
        return 0
    _check_published_checkpoint(storage, folder, said, findings)
    count = 0
    for path in sorted((folder.public / "tile").rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            count += 1
            _check_published_file(storage, path, folder.public / "tile", findings)
    return count


def _check_published_checkpoint(
    storage: LogReader, folder: LogFolder, said: list[LogDescription], findings: Findings
) -> None:
    """Check that what was published last is of this log, and that the tiles it needs are there."""
    try:
        check_not_rolled_back(storage, said, folder.checkpoint)
    except VacrError as error:
        findings.add(str(error))
        return
    for name, _ in list_changed_tiles(storage, 0, read_published_size(folder.public)):
        if not (folder.public / "tile" / name).is_file():
            findings.add(
                f"{folder.public / 'tile' / name} is missing: vacr log serve makes it again"
            )


def _check_published_file(storage: LogReader, path: Path, folder: Path, findings: Findings) -> None:
    level, _, name = path.relative_to(folder).as_posix().partition("/")
    try:
        number, width = parse_tile_path(name)
        wanted = (
            read_bundle_bytes(storage, number, width)
            if level == ENTRIES_LEVEL
            else read_tile_bytes(storage, int(level), number, width)
        )
    except (VacrError, ValueError) as error:
        findings.add(f"{path}: {error}")
        return
    if read_bytes(path) != wanted:
        findings.add(f"{path} is not what the log has")
    elif level == ENTRIES_LEVEL and width < TILE_WIDTH:
        _check_head_is_kept(storage, path, number * TILE_WIDTH + width, findings)


def _check_head_is_kept(storage: LogReader, path: Path, size: int, findings: Findings) -> None:
    """Check that the head is kept of which a bundle was the last: it ends where a tree that was
    published ended.
    """
    stored = storage.head_until(size)
    if stored is None or stored.head.size != size:
        findings.add(
            f"{path} was published for a tree of {size} entries, and the head of that size is gone"
        )


class SignedHeadChecker:
    """The heads that were signed, each compared with the tree when it has grown to its size."""

    def __init__(self, storage: LogReader, findings: Findings) -> None:
        """Begin with the first head."""
        self.findings = findings
        self.left: Iterator[StoredHead] = storage.heads()
        self.next = next(self.left, None)
        self.log = ""
        self.said: list[LogDescription] = []
        self.positions: list[int] = []
        self.wrong: list[int] = []
        self.count = 0
        self.last: StoredHead | None = None

    def reach(self, growing: GrowingTree, entry: bytes) -> None:
        """Compare the head of this size, if there is one."""
        self._describe(entry, growing.size - 1)
        while self.next is not None and self.next.head.size <= growing.size:
            if self.next.head.size == growing.size:
                self._compare(self.next, growing.root())
            else:
                self.findings.add(f"a head of size {self.next.head.size} is stored out of order")
            self.count += 1
            self.last, self.next = self.next, next(self.left, None)

    def _describe(self, entry: bytes, position: int) -> None:
        if position == 0:
            self.log = compute_log_identity(entry)
            try:
                self.said.append(parse_first_description(entry))
                self.positions.append(0)
            except InvalidStatement as error:
                self.findings.add(str(error))
        elif (
            self.said
            and (after := parse_next_description(entry, self.said[-1], self.log)) is not None
        ):
            self.said.append(after)
            self.positions.append(position)

    def _compare(self, stored: StoredHead, root: bytes) -> None:
        head = stored.head
        if head.root != root:
            self.wrong.append(head.size)
        if self.last is not None and stored.time < self.last.time:
            self.findings.add(f"the head of size {head.size} is older than the one before")
        if not self.said or self.positions[-1] != stored.description:
            self.findings.add(
                f"the head of size {head.size} names entry {stored.description}, which does "
                "not "
                "describe the log"
            )
            return
        try:
            _check_head_signature(stored, self.said[-1], self.log)
        except VacrError as error:
            self.findings.add(f"the head of size {head.size}: {error}")

    def finish(self, head: StoredHead) -> None:
        """Check that the last head is the log's, and tell which roots were wrong."""
        if self.wrong:
            told = f"the entries do not give the root that was signed for size {self.wrong[0]}"
            self.findings.add(
                told
                + (f", nor {len(self.wrong) - 1} roots after it" if len(self.wrong) > 1 else "")
            )
        if self.next is not None:
            self.findings.add(
                f"a head of size {self.next.head.size} was signed, and the log has "
                f"{head.head.size} entries"
            )
        if self.last != head:
            self.findings.add("the head of the log is not the last one that was signed")


def _check_head_signature(stored: StoredHead, said: LogDescription, log: str) -> None:
    head = stored.head
    verify_signature(
        choose_algorithm_number(said.receipt_key),
        said.receipt_key,
        head.signature,
        encode_sig_structure(head.protected, head.root),
    )
    protected = parse_sign1(head.inclusion(0, [])).protected
    claims = {CLAIM_ISS: log, CLAIM_SUB: said.origin, CLAIM_IAT: stored.time}
    if protected.get(HEADER_CWT_CLAIMS) != claims:
        raise InvalidStatement("it names another log or another time", reason="log-damaged")


@dataclass(frozen=True)
class FsckResult:
    """What was checked, and what was found."""

    size: int
    heads: int
    files: int
    findings: Findings
    remarks: tuple[str, ...] = ()
    """What whoever looks after the log may want to know, though nothing is wrong with it."""


def run_fsck(
    folder: LogFolder, progress: Callable[[int, int], None] = lambda _done, _of: None
) -> FsckResult:
    """Check a log; `progress` is told how many entries are done, of how many.

    Raises:
        StorageFailed: it cannot be read.
        UnreadableInput: there is no log.
    """
    findings = Findings()
    try:
        with closing(folder.reader()) as storage, storage.snapshot():
            return _check_storage(storage, folder, findings, progress)
    except LogDamaged as error:
        findings.add(f"{error.message}: the rest cannot be checked")
        return FsckResult(0, 0, 0, findings)


def _check_storage(
    storage: LogStorage, folder: LogFolder, findings: Findings, progress: Callable[[int, int], None]
) -> FsckResult:
    for told in storage.check():
        findings.add(f"the database: {told}")
    head = storage.head()
    if head is None:
        findings.add("the head of the log is missing, or is not one that was signed")
        return FsckResult(0, 0, 0, findings)
    heads = _check_stored_tree(storage, head, findings, progress)
    # What is published meanwhile is of a later moment than the snapshot, so that it is compared
    # with the log as it is then.
    with closing(folder.reader()) as present:
        files = check_published_files(present, folder, findings)
    return FsckResult(
        head.head.size, heads, files, findings, tuple(_describe_missing_keys(storage, folder, head))
    )


def _describe_missing_keys(
    storage: LogStorage, folder: LogFolder, head: StoredHead
) -> Iterator[str]:
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


def _check_stored_tree(
    storage: LogStorage, head: StoredHead, findings: Findings, progress: Callable[[int, int], None]
) -> int:
    size = head.head.size
    heads = SignedHeadChecker(storage, findings)
    growing = GrowingTree(0, [], lambda level, number: _read_stored_tile(storage, level, number))
    for first in range(0, size, TILE_WIDTH):
        entries = storage.entries(first, min(first + TILE_WIDTH, size))
        if len(entries) != min(TILE_WIDTH, size - first):
            findings.add(
                f"entries are missing between {first} and {first + TILE_WIDTH}: the rest cannot be "
                "checked"
            )
            return heads.count
        leaves = list(map(hash_leaf, entries))
        _check_leaf_hashes(storage, first, leaves, findings)
        for entry, leaf in zip(entries, leaves, strict=True):
            growing.add(leaf)
            heads.reach(growing, entry)
        for (level, number), tile in growing.settle().items():
            if tile.is_full:
                _compare_stored_tile(storage, level, number, tile, findings)
        progress(growing.size, size)
    for level, number, width in list_last_tiles(size):
        if width:
            _compare_stored_tile(storage, level, number, growing.last[level], findings)
    heads.finish(head)
    _check_row_counts(storage, size, heads.count, findings)
    return heads.count


def _read_stored_tile(storage: LogReader, level: int, number: int) -> Tile:
    return Tile(storage.tile(level, number) or b"")


def _compare_stored_tile(
    storage: LogReader, level: int, number: int, tile: Tile, findings: Findings
) -> None:
    if storage.tile(level, number) != tile.encode():
        findings.add(f"tile {level}/{number} is not what the entries under it give")


def _check_leaf_hashes(
    storage: LogReader, first: int, leaves: list[bytes], findings: Findings
) -> None:
    """Compare what a bundle of entries hashes to with the tree and with the index."""
    stored = storage.tile(0, first // TILE_WIDTH) or b""
    indexed = set(storage.positions([compute_index_prefix(leaf) for leaf in leaves]))
    for at, leaf in enumerate(leaves):
        if stored[at * HASH_SIZE : (at + 1) * HASH_SIZE] != leaf:
            findings.add(f"entry {first + at} is not the one whose hash is in the tree")
        elif (compute_index_prefix(leaf), first + at) not in indexed:
            findings.add(f"entry {first + at} is not in the index: it could be registered twice")


def _check_row_counts(storage: LogReader, size: int, heads: int, findings: Findings) -> None:
    tiles = 0
    width = size
    while width:
        tiles += (width + TILE_WIDTH - 1) // TILE_WIDTH
        width //= TILE_WIDTH
    expected = {"entries": size, "leaves": size, "tiles": tiles, "heads": heads}
    for name, count in storage.counts().items():
        if count != expected[name]:
            findings.add(f"{count} {name} are stored, not {expected[name]}")

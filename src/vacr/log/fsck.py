"""Check that the stored bytes of a log still match everything that the log has signed.

Disks lose bits and administrators restore wrong copies, so a log must be able to prove its own
integrity. The check reads all entries once, in bounded memory, and compares

- their leaf hashes with the tiles and with the index,
- the roots of the growing tree with every signed head,
- the published files with the database, and
- the checkpoints that witnesses cosigned with the tree.

It also checks that nobody else can read the private keys.

A head that was deleted is noticed if a tree of its size was published. No receipt or checkpoint
that was handed out depends on the other heads.

    >>> from contextlib import closing, suppress
    >>> from vacr.log import create_log, run_fsck
    >>> folder = create_log("mylog")
    >>> with closing(folder.ledger()) as ledger:
    ...     placed = ledger.append([b"a", b"b"])
    >>> result = run_fsck(folder)
    >>> result.size, result.heads, result.findings.problems
    (3, 2, [])
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from vacr.errors import InvalidStatement, UnreadableInput, UsageError, VacrError
from vacr.files import read_bytes
from vacr.log.folder import LogFolder, check_not_rolled_back, open_log_folder
from vacr.log.fork import ForkGuard
from vacr.log.keyring import read_log_descriptions
from vacr.log.publishing import (
    ENTRIES_LEVEL,
    list_changed_tiles,
    read_bundle_bytes,
    read_published_size,
    read_tile_bytes,
)
from vacr.log.storage import (
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
    check_secret_permissions,
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

_MAX_LISTED_FINDINGS = 100
_GROUP_AND_OTHER_WRITE_BITS = 0o022

ProgressCallback = Callable[[int, int], None]
"""Called with the number of checked entries and the number of all entries."""


@dataclass
class Findings:
    """The problems of a log: a limited list, and the number of all further ones."""

    problems: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, problem: str) -> None:
        """Add a problem to the list; after 100 problems, only count it in `more`."""
        if len(self.problems) < _MAX_LISTED_FINDINGS:
            self.problems.append(problem)
        else:
            self.more += 1


@dataclass(frozen=True)
class FsckResult:
    """How much was checked, and which problems were found."""

    size: int
    """The number of entries in the log; 0 if the log is too damaged to be read."""
    heads: int
    """The number of signed tree heads that were checked."""
    files: int
    """The number of published tile files that were checked."""
    findings: Findings
    remarks: tuple[str, ...] = ()
    """Notes for the administrator that are not problems of the log."""


def run_fsck(
    folder: LogFolder, progress: ProgressCallback = lambda _done, _total: None
) -> FsckResult:
    """Check all data and files of a log, and return the problems; the log may be in use meanwhile.

    Damage to the log is not an error, but a problem in the result.

    Raises:
        StorageFailed: the database cannot be read.
        UnreadableInput: the database is missing.
    """
    findings = Findings()
    try:
        with closing(folder.reader()) as storage, storage.snapshot():
            return _check_storage(storage, folder, findings, progress)
    except LogDamaged as error:
        findings.add(f"{error.message}; the check ended here")
        return FsckResult(0, 0, 0, findings)


def _check_storage(
    storage: LogStorage, folder: LogFolder, findings: Findings, progress: ProgressCallback
) -> FsckResult:
    """Check the database, tree, published files and keys of a log, and return the counts."""
    for complaint in storage.check_database():
        findings.add(f"the database is damaged: {complaint}")
    head = storage.head()
    if head is None:
        findings.add("the current tree head is missing, or was never signed")
        return FsckResult(0, 0, 0, findings)
    head_count = _check_stored_tree(storage, head, findings, progress)
    # Files may have been published after the snapshot was taken, so they are compared with the
    # database as it is now.
    with closing(folder.reader()) as current:
        file_count = _check_published_files(current, folder, findings)
    has_exposed_keys = _check_key_permissions(folder, findings)
    remarks = () if has_exposed_keys else tuple(_describe_missing_keys(storage, folder, head))
    return FsckResult(head.head.size, head_count, file_count, findings, remarks)


def _check_key_permissions(folder: LogFolder, findings: Findings) -> bool:
    """Check that only the owner can read the log's secrets and replace its keys.

    Return whether somebody else can; each such file is added to `findings`.
    """
    count = len(findings.problems) + findings.more
    secrets = sorted(folder.keys.glob("*.pem"))
    with suppress(UnreadableInput):
        if open_log_folder(str(folder.path)).database is not None:
            secrets.append(folder.log_file)  # the address of a database may contain a password
    for path in secrets:
        try:
            check_secret_permissions(str(path))
        except UsageError as error:
            findings.add(f"{error.message}; {error.hint}")
    if sys.platform != "win32" and folder.keys.is_dir():
        mode = folder.keys.stat().st_mode
        if mode & _GROUP_AND_OTHER_WRITE_BITS:
            findings.add(f"other users can replace the keys in {folder.keys}; chmod 700 it")
    return len(findings.problems) + findings.more > count


def _describe_missing_keys(
    storage: LogStorage, folder: LogFolder, head: StoredHead
) -> Iterator[str]:
    """Yield a remark for each private key that cannot be loaded: a copy of a log may lack them."""
    keyring = folder.keyring
    for load_key in (keyring.load_signer, keyring.load_checkpoint_key):
        try:
            load_key(storage, head)
        except (UsageError, UnreadableInput) as error:
            yield f"{error.message}; the log can be verified here, but not extended"
        except InvalidStatement:
            return  # the log's description is damaged, which is already a finding


# --- Entries, tiles and index ---


def _check_stored_tree(
    storage: LogStorage, head: StoredHead, findings: Findings, progress: ProgressCallback
) -> int:
    """Rebuild the tree from the entries, and compare it with tiles, index and signed heads.

    Return the number of checked heads. Entries are read a bundle at a time, so that memory use does
    not depend on the size of the log.
    """
    size = head.head.size
    heads = _HeadChecker(storage, findings)
    tree = GrowingTree(0, [], lambda level, number: Tile(storage.tile(level, number) or b""))
    for first in range(0, size, TILE_WIDTH):
        entries = storage.entries(first, min(first + TILE_WIDTH, size))
        if len(entries) != min(TILE_WIDTH, size - first):
            findings.add(
                f"entries are missing between {first} and {first + TILE_WIDTH}; later entries and "
                "tree heads cannot be checked"
            )
            return heads.count
        leaves = list(map(hash_leaf, entries))
        _check_leaf_hashes(storage, first, leaves, findings)
        for entry, leaf in zip(entries, leaves, strict=True):
            tree.add(leaf)
            heads.check_entry(tree, entry)
        for (level, number), tile in tree.settle().items():
            if tile.is_full:
                _check_stored_tile(storage, level, number, tile, findings)
        progress(tree.size, size)
    for level, number, width in list_last_tiles(size):
        if width:
            _check_stored_tile(storage, level, number, tree.last[level], findings)
    heads.finish(head)
    _check_row_counts(storage, size, heads.count, findings)
    return heads.count


def _check_leaf_hashes(
    storage: LogReader, first: int, leaves: list[bytes], findings: Findings
) -> None:
    """Compare the leaf hashes of one bundle with its tile and the index; add to `findings`."""
    stored = storage.tile(0, first // TILE_WIDTH) or b""
    indexed = set(storage.positions([compute_index_prefix(leaf) for leaf in leaves]))
    for index, leaf in enumerate(leaves):
        position = first + index
        if stored[index * HASH_SIZE : (index + 1) * HASH_SIZE] != leaf:
            findings.add(f"entry {position} was changed: its hash differs from the tree")
        elif (compute_index_prefix(leaf), position) not in indexed:
            findings.add(f"entry {position} is not in the index, so it could be registered twice")


def _check_stored_tile(
    storage: LogReader, level: int, number: int, tile: Tile, findings: Findings
) -> None:
    if storage.tile(level, number) != tile.encode():
        findings.add(f"tile {level}/{number} does not match the entries below it")


def _check_row_counts(storage: LogReader, size: int, head_count: int, findings: Findings) -> None:
    """Compare the number of rows in each table with that of such a log; add to `findings`.

    The log has `size` entries and `head_count` heads.
    """
    tile_count = 0
    width = size
    while width:
        tile_count += (width + TILE_WIDTH - 1) // TILE_WIDTH
        width //= TILE_WIDTH
    expected = {"entries": size, "leaves": size, "tiles": tile_count, "heads": head_count}
    for table, count in storage.count_rows().items():
        if count != expected[table]:
            findings.add(f"the database has {count} {table} instead of {expected[table]}")


# --- Signed heads ---


class _HeadChecker:
    """Compares each signed head with the tree when it has grown to the size of the head."""

    def __init__(self, storage: LogReader, findings: Findings) -> None:
        """Begin with the oldest head."""
        self.findings = findings
        self.remaining: Iterator[StoredHead] = storage.heads()
        self.next_head = next(self.remaining, None)
        self.last_head: StoredHead | None = None
        self.count = 0
        self.log_identity = ""
        self.descriptions: list[LogDescription] = []
        self.description_positions: list[int] = []
        self.wrong_root_sizes: list[int] = []

    def check_entry(self, tree: GrowingTree, entry: bytes) -> None:
        """Check the signed head of the tree's present size, if there is one.

        Call it after each entry was added to the tree. An entry that describes the log changes the
        key for later heads.
        """
        self._note_description(entry, tree.size - 1)
        while self.next_head is not None and self.next_head.head.size <= tree.size:
            size = self.next_head.head.size
            if size == tree.size:
                self._check_head(self.next_head, tree.root())
            else:
                self.findings.add(f"the head of size {size} is stored out of order")
            self.count += 1
            self.last_head, self.next_head = self.next_head, next(self.remaining, None)

    def _note_description(self, entry: bytes, position: int) -> None:
        """Remember an entry if it is a valid description of the log; ignore other entries."""
        if position == 0:
            self.log_identity = compute_log_identity(entry)
            try:
                self.descriptions.append(parse_first_description(entry))
                self.description_positions.append(0)
            except InvalidStatement as error:
                self.findings.add(str(error))
        elif self.descriptions:
            last = self.descriptions[-1]
            description = parse_next_description(entry, last, self.log_identity)
            if description is not None:
                self.descriptions.append(description)
                self.description_positions.append(position)

    def _check_head(self, stored: StoredHead, root: bytes) -> None:
        """Check the time, description and signature of a head; add findings, and raise nothing.

        `root` is the root of the entries. A wrong one is remembered for `finish`. If the head
        refers to a wrong description, its signature is not checked.
        """
        head = stored.head
        if head.root != root:
            self.wrong_root_sizes.append(head.size)
        if self.last_head is not None and stored.time < self.last_head.time:
            self.findings.add(f"the head of size {head.size} is older than the previous head")
        if not self.descriptions or self.description_positions[-1] != stored.description:
            self.findings.add(
                f"the head of size {head.size} refers to entry {stored.description}, but that is "
                "not a valid description of the log"
            )
            return
        try:
            _check_head_signature(stored, self.descriptions[-1], self.log_identity)
        except VacrError as error:
            self.findings.add(f"the head of size {head.size} is invalid: {error}")

    def finish(self, head: StoredHead) -> None:
        """Report wrong roots, and check that the newest signed head is the current one."""
        if self.wrong_root_sizes:
            first_size, *later_sizes = self.wrong_root_sizes
            problem = f"the entries do not match the root signed for size {first_size}"
            if later_sizes:
                # One changed entry spoils every later root, so later ones are only counted.
                problem += f", nor {len(later_sizes)} later roots"
            self.findings.add(problem)
        if self.next_head is not None:
            self.findings.add(
                f"a head of size {self.next_head.head.size} was signed, but the log has only "
                f"{head.head.size} entries"
            )
        if self.last_head != head:
            self.findings.add("the current head is not the last signed head")


def _check_head_signature(
    stored: StoredHead, description: LogDescription, log_identity: str
) -> None:
    """Check that a head is signed with the description's key, for this log and its stored time.

    Raises:
        InvalidStatement: it is not.
    """
    head = stored.head
    verify_signature(
        choose_algorithm_number(description.receipt_key),
        description.receipt_key,
        head.signature,
        encode_sig_structure(head.protected, head.root),
    )
    protected = parse_sign1(head.inclusion(0, [])).protected
    claims = {CLAIM_ISS: log_identity, CLAIM_SUB: description.origin, CLAIM_IAT: stored.time}
    if protected.get(HEADER_CWT_CLAIMS) != claims:
        raise InvalidStatement(
            "it was signed for another log or another time", reason="log-damaged"
        )


# --- Published files ---


def _check_published_files(storage: LogReader, folder: LogFolder, findings: Findings) -> int:
    """Compare the files of a log with its database, and return the number of published tiles.

    The number is 0 if the log is not published as files.
    """
    try:
        descriptions = read_log_descriptions(storage)
    except VacrError as error:
        findings.add(str(error))
        return 0
    _check_receipt_keys_file(folder.path / RECEIPT_KEYS_FILE, descriptions, findings)
    _check_witnessed_heads(storage, folder, descriptions, findings)
    if not folder.public.is_dir():
        return 0
    _check_published_checkpoint(storage, folder, descriptions, findings)
    tile_folder = folder.public / "tile"
    file_count = 0
    for path in sorted(tile_folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            file_count += 1
            _check_published_tile(storage, path, tile_folder, findings)
    return file_count


def _check_receipt_keys_file(
    path: Path, descriptions: list[LogDescription], findings: Findings
) -> None:
    """Check that a PEM file contains the receipt keys of all descriptions, in this order.

    A difference, or an unreadable file, is added to `findings`.
    """
    expected = [compute_thumbprint(description.receipt_key) for description in descriptions]
    try:
        thumbprints = [compute_thumbprint(key) for key in parse_public_keys(read_bytes(path))]
    except VacrError as error:
        findings.add(f"{path}: {error.message}")
        return
    if thumbprints != expected:
        findings.add(f"{path} does not contain the receipt keys of the log")


def _check_witnessed_heads(
    storage: LogReader,
    folder: LogFolder,
    descriptions: list[LogDescription],
    findings: Findings,
) -> None:
    """Check that the tree contains every cosigned checkpoint, and that no fork was proven.

    Anything wrong is added to `findings`.
    """
    for path in folder.list_checkpoints():
        if path == folder.checkpoint:
            continue  # `_check_published_checkpoint` checks it.
        try:
            check_not_rolled_back(storage, descriptions, path)
        except VacrError as error:
            findings.add(f"a witness cosigned another tree: {error}")
    fork = ForkGuard(folder.path).fork
    if fork is not None:
        findings.add(str(fork))


def _check_published_checkpoint(
    storage: LogReader,
    folder: LogFolder,
    descriptions: list[LogDescription],
    findings: Findings,
) -> None:
    """Check that the last published checkpoint belongs to this log and has all its tiles.

    Anything wrong is added to `findings`.
    """
    if not folder.checkpoint.exists():
        return
    try:
        check_not_rolled_back(storage, descriptions, folder.checkpoint)
    except VacrError as error:
        findings.add(str(error))
        return
    for name, _ in list_changed_tiles(storage, 0, read_published_size(folder.public)):
        path = folder.public / "tile" / name
        if not path.is_file():
            findings.add(f"{path} is missing; vacr log serve writes it again")


def _check_published_tile(
    storage: LogReader, path: Path, tile_folder: Path, findings: Findings
) -> None:
    """Compare a published tile or bundle with the database, and add a difference to `findings`.

    `path` is the path of the file, inside `tile_folder`.
    """
    level, _, name = path.relative_to(tile_folder).as_posix().partition("/")
    try:
        number, width = parse_tile_path(name)
        if level == ENTRIES_LEVEL:
            expected = read_bundle_bytes(storage, number, width)
        else:
            expected = read_tile_bytes(storage, int(level), number, width)
    except (VacrError, ValueError) as error:
        findings.add(f"{path}: {error}")
        return
    try:
        published = read_bytes(path)
    except UnreadableInput as error:
        findings.add(str(error))
        return
    if published != expected:
        findings.add(f"{path} differs from the database")
    elif level == ENTRIES_LEVEL and width < TILE_WIDTH:
        # A partial bundle ends where a published tree ended, so a head of that size was signed.
        _check_head_is_stored(storage, path, number * TILE_WIDTH + width, findings)


def _check_head_is_stored(storage: LogReader, path: Path, size: int, findings: Findings) -> None:
    """Check that the database has a head of this size, as the bundle at `path` implies."""
    stored = storage.head_until(size)
    if stored is None or stored.head.size != size:
        findings.add(
            f"{path} shows that the log published a tree of {size} entries, but the database has "
            "no signed head of that size"
        )

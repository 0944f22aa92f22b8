"""A log on disk: one folder with its keys and, unless it uses PostgreSQL, its database.

    log.json           where the database is
    log.db             the SQLite database: entries, tree, signed heads
    log.lock           locked by the process that writes to the database
    keys/              the private keys
    receipt-keys.pem   the public keys that verify receipts, to be given to others
    public/            checkpoint and tiles, as any web server can serve them
    witnessed/         the last checkpoint that each witness cosigned
    fork.json          only after a witness proved a fork: the evidence

This module creates such folders, opens them and rotates their keys. Creation is all or nothing: a
folder appears under its name only when it is complete and synced.

    >>> from contextlib import closing
    >>> from vacr.log import create_log, open_log_folder
    >>> folder = create_log("mylog", origin="log.example.org/agents")
    >>> sorted(path.name for path in folder.path.iterdir())
    ['keys', 'log.db', 'log.json', 'log.lock', 'receipt-keys.pem']
    >>> with closing(open_log_folder("mylog").ledger()) as ledger:
    ...     ledger.keyring.origin, ledger.head.head.size
    ('log.example.org/agents', 1)

Opening a log for appending also checks that its database was not rolled back. A log that continued
from an older copy would fork: its new entries would take the positions of lost entries, and others
still hold receipts for these. So the last published checkpoint, and the last one that each witness
cosigned, are kept outside the database and compared with it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.files import (
    make_absolute,
    make_durable_folder,
    read_bytes,
    sync_folder,
    write_durable_file,
)
from vacr.log.keyring import (
    KEYS_FOLDER_NAME,
    Keyring,
    LogKeyPair,
    read_log_descriptions,
    write_receipt_keys,
)
from vacr.log.ledger import Ledger
from vacr.log.storage import Batch, LogDamaged, LogReader, LogStorage, SqliteStorage, StoredHead
from vacr.signing import PublicKey, compute_thumbprint, parse_sign1
from vacr.transparency import (
    GrowingTree,
    LogDescription,
    Tile,
    build_log_entry,
    build_verifier_key,
    compute_log_identity,
    encode_receipt_header,
    hash_leaf,
    sign_tree_head,
    verify_checkpoint,
)

_LOG_FILE_NAME = "log.json"
_DATABASE_FILE_NAME = "log.db"
_MAX_LOG_FILE_SIZE = 1 << 16
_LOG_FILE_MODE = 0o644
_SECRET_LOG_FILE_MODE = 0o600
"""For a file with a database address, which may contain a password."""
WITNESSED_SUFFIX = ".checkpoint"
"""The end of the names of files with cosigned checkpoints."""
_UNSAFE_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_RESTORE_DATABASE_HINT = (
    "Restore the newest copy of the database. If it is lost, the entries after this copy are lost "
    "too: keep this log, so that its receipts can be verified, and create a new one with vacr log "
    "init."
)


@dataclass(frozen=True, slots=True)
class LogFolder:
    """The folder of a log; if the log is in PostgreSQL, the folder has only its keys and files."""

    path: Path
    database: str | None = None
    """The PostgreSQL address, or None if the database is in the folder."""

    @property
    def keyring(self) -> Keyring:
        """The keys of the log."""
        return Keyring(self.path)

    @property
    def keys(self) -> Path:
        """The folder of the private keys."""
        return self.path / KEYS_FOLDER_NAME

    @property
    def log_file(self) -> Path:
        """The file `log.json`, which has the PostgreSQL address; null if the folder has the log."""
        return self.path / _LOG_FILE_NAME

    @property
    def public(self) -> Path:
        """The folder of the published checkpoint and tiles."""
        return self.path / "public"

    @property
    def checkpoint(self) -> Path:
        """The file of the last published checkpoint."""
        return self.public / "checkpoint"

    @property
    def witnessed(self) -> Path:
        """The folder with one file for each witness: the last checkpoint that it cosigned."""
        return self.path / "witnessed"

    def list_checkpoints(self) -> list[Path]:
        """Return the files of checkpoints that others have seen: the published and cosigned ones.

        Files that do not exist are left out.
        """
        return [
            path
            for path in (self.checkpoint, *sorted(self.witnessed.glob(f"*{WITNESSED_SUFFIX}")))
            if path.exists()
        ]

    def storage(self) -> LogStorage:
        """Open the database for reading and writing.

        Raises:
            UnreadableInput: the database file is missing, or its layout has another version.
            StorageFailed: it cannot be opened.
        """
        if self.database is not None:
            return _open_postgres_storage(self.database)
        return SqliteStorage(self.path / _DATABASE_FILE_NAME)

    def reader(self) -> LogStorage:
        """Open the database for reading only.

        Raises:
            UnreadableInput: the database file is missing, or its layout has another version.
            StorageFailed: it cannot be opened.
        """
        if self.database is not None:
            return _open_postgres_storage(self.database, readonly=True)
        return SqliteStorage(self.path / _DATABASE_FILE_NAME, readonly=True)

    def ledger(self, clock: Callable[[], float] = time.time) -> Ledger:
        """Open the log for appending, and complete a key rotation that was interrupted.

        Raises:
            StorageFailed: the database cannot be opened.
            UsageError: the keys are missing.
            LogDamaged: the database is older than a published or cosigned checkpoint.
        """
        ledger = Ledger(self.storage, self.keyring, clock)
        try:
            descriptions = read_log_descriptions(ledger.storage)
            for path in self.list_checkpoints():
                check_not_rolled_back(ledger.storage, descriptions, path)
            ledger.keyring.sync_files(descriptions)
        except BaseException:
            ledger.close()
            raise
        return ledger


def _open_postgres_storage(
    address: str, *, create: bool = False, readonly: bool = False
) -> LogStorage:
    """Open a PostgreSQL database; with `create`, also create the tables."""
    from vacr.log.postgres import PostgresStorage  # needs the extra `postgres`

    return PostgresStorage(address, create=create, readonly=readonly)


def check_not_rolled_back(
    reader: LogReader, descriptions: Sequence[LogDescription], path: Path
) -> None:
    """Check that a log's database contains the tree of the checkpoint file at `path`.

    `descriptions` have the log's keys.

    Raises:
        LogDamaged: the database lacks published entries or has another root for that size; or the
            checkpoint cannot be read, is malformed, or is not signed by a key of the log.
    """
    keys = [
        build_verifier_key(description.origin, description.checkpoint_key)
        for description in descriptions
    ]
    try:
        published = verify_checkpoint(read_bytes(path), *keys)
    except VacrError as error:
        message = (
            f"cannot verify the published checkpoint with the keys of this log: {error.message}; "
            "the database may be an older copy"
        )
        raise LogDamaged(message, where=str(path), hint=_RESTORE_DATABASE_HINT) from error
    current = reader.head()
    size = current.head.size if current is not None else 0
    if published.size > size:
        message = (
            f"the database is an older copy: it has {size} entries, but {published.size} were "
            "already published"
        )
        raise LogDamaged(message, where=str(path), hint=_RESTORE_DATABASE_HINT)
    signed = reader.head_until(published.size)
    if signed is None or (signed.head.size, signed.head.root) != (published.size, published.root):
        raise LogDamaged(
            "the published checkpoint belongs to a different log: the database lacks its root for "
            f"{published.size} entries",
            where=str(path),
            hint=_RESTORE_DATABASE_HINT,
        )


# --- Opening ---


def open_log_folder(path: str, database: str | None = None) -> LogFolder:
    """Return the log in a folder, without opening its database.

    `database` is a PostgreSQL address in the place of the one in the folder's `log.json`.

    Raises:
        UnreadableInput: the folder does not contain a log.
    """
    log_file = Path(path) / _LOG_FILE_NAME
    if not log_file.is_file():
        raise UnreadableInput(
            "this folder does not contain a log",
            where=path,
            hint=f"To create a log: vacr log init {path}",
        )
    try:
        stored = json.loads(read_bytes(log_file, _MAX_LOG_FILE_SIZE))["database"]
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableInput(
            "the location of the log's database is missing or unreadable",
            where=str(log_file),
            hint='For a log in this folder, the file must contain {"database": null}.',
        ) from error
    return LogFolder(Path(path), database or (str(stored) if stored is not None else None))


def open_database_log(database: str, *, create: bool = False) -> LogFolder:
    """Return the log in a PostgreSQL database whose folder is in the user's data folder.

    With `create`, the log and its folder are created if the database does not contain a log.

    Raises:
        UsageError: the database contains a log, but its keys are not in the user's data folder.
        UnreadableInput: the database does not contain a log, and `create` is not set.
        StorageFailed: the database cannot be reached.
    """
    from vacr.log.postgres import PostgresStorage, get_database_name

    data_folder = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    place = data_folder / "vacr" / "logs" / get_database_name(database)
    has_folder = (place / _LOG_FILE_NAME).is_file()
    if (create or not has_folder) and not PostgresStorage.holds_log(database):
        if create:
            return create_log(str(place), database=database)
        hint = "To create a log: vacr log init FOLDER --database URL"
        raise UnreadableInput(
            "this database does not contain a log", where=get_database_name(database), hint=hint
        )
    if not has_folder:
        hint = "Add the log's folder, or a copy of it, to the command: FOLDER --database URL"
        raise UsageError(f"the keys of the log are not in {place}", hint=hint)
    return LogFolder(place, database)


# --- Creating ---


def create_log(path: str, *, origin: str | None = None, database: str | None = None) -> LogFolder:
    """Create a log in a new or empty folder, completely or not at all, and return the folder.

    `origin` is the name of the log; by default, it is made from the folder's name. The log is in
    the folder, or in PostgreSQL if `database` is its address. With PostgreSQL, a failure may leave
    the folder without a log in the database. Creating the same log again then finishes it.

    Raises:
        UsageError: the folder or the database is in use already, or `origin` cannot name a log.
        UnreadableInput: the folder cannot be written.
        StorageFailed: the database cannot be reached.
    """
    place = Path(make_absolute(path))
    if origin is not None:
        check_log_origin(origin)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        return _finish_log_creation(place, path, origin, database)
    try:
        make_durable_folder(place.parent, Path(place.anchor))
        temporary = Path(tempfile.mkdtemp(".vacr-new", f".{place.name}.", place.parent))
        try:
            temporary.chmod(0o755)
            _fill_new_folder(temporary, place, origin, database)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        raise UnreadableInput(
            f"cannot write the folder: {error.strerror or error}", where=path
        ) from error
    return LogFolder(place, database)


def _fill_new_folder(
    temporary: Path, place: Path, origin: str | None, database: str | None
) -> None:
    """Create a log in a temporary folder and move the folder to its place."""
    keys = _write_folder_files(temporary, database)
    if database is None:
        with closing(SqliteStorage(temporary / _DATABASE_FILE_NAME, create=True)) as embedded:
            _write_first_entry(embedded, keys, origin, place.name)
        sync_folder(temporary)
        _move_folder_durably(temporary, place)
        return
    # The keys are durable and in their final place before a log in the database names them: a log
    # whose keys are lost can never be continued.
    with closing(_open_postgres_storage(database, create=True)) as storage:
        _move_folder_durably(temporary, place)
        _write_first_entry(storage, keys, origin, place.name)


def _write_folder_files(folder: Path, database: str | None) -> LogKeyPair:
    """Write new keys and `log.json` to a folder, and return the keys."""
    keys = LogKeyPair.generate()
    keys.save(folder)
    write_receipt_keys(folder, [keys.receipt.public_key()])
    write_durable_file(
        folder / _LOG_FILE_NAME,
        json.dumps({"database": database}).encode() + b"\n",
        mode=_SECRET_LOG_FILE_MODE if database else _LOG_FILE_MODE,
    )
    return keys


def _move_folder_durably(folder: Path, place: Path) -> None:
    """Rename a folder to `place`, and sync the folder that contains it."""
    folder.replace(place)
    sync_folder(place.parent)


def _write_first_entry(
    storage: LogStorage, keys: LogKeyPair, origin: str | None, folder_name: str
) -> None:
    """Write the first entry of a log, its description of itself, and sign the first tree head.

    Raises:
        UsageError: the database already contains a log, or `origin` cannot name one.
    """
    origin = check_log_origin(origin or _make_local_origin(folder_name, keys))
    now = int(time.time())
    signer = keys.signer
    statement = keys.describe_log(origin, now).statement(signer)
    entry = build_log_entry(parse_sign1(statement))
    leaf = hash_leaf(entry)
    tree = GrowingTree(0, [], _refuse_older_tile)
    tree.add(leaf)
    header = encode_receipt_header(signer, compute_log_identity(entry), origin, now)
    head = StoredHead(sign_tree_head(signer, header, 1, tree.root()), now, 0)
    with storage.transaction() as transaction:
        # Another process may have created the log meanwhile, or an interrupted one before.
        if transaction.head() is not None:
            raise UsageError(
                "this database already contains a log",
                hint="To serve this log: vacr log serve FOLDER --database URL",
            )
        transaction.append(Batch(None, [entry], [leaf], tree.settle(), head))


def _make_local_origin(folder_name: str, keys: LogKeyPair) -> str:
    """Return a name for a log, made from the name of its folder and its receipt key.

    For example, `my log` becomes `localhost/my-log-0123abcd`.
    """
    safe_name = _UNSAFE_NAME_CHARACTERS.sub("-", folder_name)
    thumbprint = compute_thumbprint(keys.receipt.public_key()).hex()
    return f"localhost/{safe_name}-{thumbprint[:8]}"


def check_log_origin(origin: str) -> str:
    """Check that a text can be the name of a log, and return it.

    Raises:
        UsageError: it is empty, or contains spaces, `+`, `://` or unprintable characters.
    """
    if not origin or not origin.isprintable() or " " in origin or "+" in origin or "://" in origin:
        hint = "For example: --origin log.example.org/agents"
        raise UsageError(
            f"{origin!r} cannot name a log: a name must not be empty, and must not have spaces, "
            "+, :// or unprintable characters",
            hint=hint,
        )
    return origin


def _refuse_older_tile(level: int, number: int) -> Tile:
    """Raise KeyError: the tree of a new log has no older tiles."""
    raise KeyError(level, number)


def _finish_log_creation(
    place: Path, path: str, origin: str | None, database: str | None
) -> LogFolder:
    """Create the log in PostgreSQL for a folder with keys, and return the folder.

    `path` is the path of the folder as the user wrote it, `place` its absolute path.

    Raises:
        UsageError: the folder is not one of a log, or its log exists already.
    """
    if not (place / _LOG_FILE_NAME).is_file():
        raise UsageError(f"{path} already exists, and is not a log", hint="Name another folder.")
    folder = open_log_folder(path, database)
    if folder.database is None:
        hint = f"Serve it with vacr log serve {path}, or name another folder for a new log."
        raise UsageError(f"{path} already contains a log", hint=hint)
    if folder.checkpoint.exists():
        hint = (
            "Restore the database of this log, or name another folder and another database "
            "for a new log."
        )
        raise UsageError(f"{path} already contains a log, but its database is empty", hint=hint)
    with closing(_open_postgres_storage(folder.database, create=True)) as storage:
        _write_first_entry(storage, LogKeyPair.load(place), origin, place.name)
    return LogFolder(place, folder.database)


# --- Key rotation ---


def rotate_log_keys(folder: LogFolder) -> PublicKey:
    """Replace both keys of a log and return the new public receipt key.

    The old key signs an entry that announces the new ones, and the new key signs the next head. The
    new keys are on disk before the log names them.

    Raises:
        StorageFailed: the log cannot be written.
        UsageError: the old key is missing, or another process has rotated the keys meanwhile.
    """
    new_keys = LogKeyPair.generate()
    with closing(folder.ledger()) as ledger:
        if ledger.signer is None or ledger.head is None:
            raise UsageError(
                "the log's receipt key is missing",
                where=str(folder.path),
                hint="Copy the folder keys/ from the folder of the log, or name that folder.",
            )
        replaced = ledger.head.description
        old_signer, keyring = ledger.signer, ledger.keyring
        new_keys.save(folder.path)
        description = new_keys.describe_log(keyring.origin, int(time.time()), keyring.log_identity)
        entry = build_log_entry(parse_sign1(description.statement(old_signer)))
        keyring.next_signer = new_keys.signer
        try:
            ledger.append([entry], replaced=replaced)
        except UsageError:
            new_keys.delete(folder.path)
            raise
        keyring.sync_files(read_log_descriptions(ledger.storage))
    return new_keys.receipt.public_key()

"""Whether a log has gone back behind what others have seen of it. Step: register.

Who restores an older copy of the database and goes on makes another log of it: its new entries are
where others have receipts for entries that are lost. So what was last published is kept beside the
database, and compared with it.

A log on disk: one folder with its keys, its name and, unless that is a PostgreSQL, its database.
Step: register.

log.json           what the log is called, and where its database is
log.db             the database: entries, tree, signed heads
log.lock           held by the process that writes to it
keys/              the private keys
receipt-keys.pem   the keys that verify receipts, to be given to others
public/            checkpoint and tiles, as any web server could serve them
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
from vacr.files import make_durable_folder, read_bytes, sync_folder, write_durable_file
from vacr.log.keyring import Keyring, LogKeyPair, read_log_descriptions, write_receipt_keys
from vacr.log.ledger import Ledger
from vacr.log.sqlite import SqliteStorage
from vacr.log.storage import Batch, LogDamaged, LogReader, LogStorage, StoredHead
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

_RESTORE_DATABASE_HINT = (
    "Put the newest copy of the database here. If there is none, what came after it is lost: "
    "keep this log for those who have "
    "receipts of it, and make a new one with vacr log init."
)


def check_not_rolled_back(reading: LogReader, said: Sequence[LogDescription], path: Path) -> None:
    """Compare the checkpoint that was last published, if there is one, with the log.

    Raises:
        Damaged: the log is not what was published, or not all of it.
    """
    if not path.exists():
        return
    signers = [build_verifier_key(one.origin, one.checkpoint_key) for one in said]
    try:
        published = verify_checkpoint(read_bytes(path), *signers)
    except VacrError as error:
        told = (
            "what was published last is not by a key that the log names, so that the "
            f"database may be older: {error.message}"
        )
        raise LogDamaged(told, where=str(path), hint=_RESTORE_DATABASE_HINT) from error
    head = reading.head()
    size = head.head.size if head is not None else 0
    if published.size > size:
        told = (
            f"{published.size} entries were published, and the log has {size}: the database "
            "is older than what others have seen"
        )
        raise LogDamaged(told, where=str(path), hint=_RESTORE_DATABASE_HINT)
    signed = reading.head_until(published.size)
    if signed is None or (signed.head.size, signed.head.root) != (published.size, published.root):
        raise LogDamaged(
            "another root was published than the log has signed: this is another log",
            where=str(path),
            hint=_RESTORE_DATABASE_HINT,
        )


_LOG_FILE_NAME, _DATABASE_FILE_NAME = "log.json", "log.db"
_UNSAFE_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_SECRET_ADDRESS_FILE_MODE = 0o600
_MAX_LOG_FILE_SIZE = 1 << 16


@dataclass(frozen=True, slots=True)
class LogFolder:
    """A folder that holds a log, or its keys."""

    path: Path
    database: str | None = None
    """The address of a PostgreSQL, where the log is in one."""

    @property
    def keyring(self) -> Keyring:
        """The keys."""
        return Keyring(self.path)

    @property
    def public(self) -> Path:
        """Where checkpoint and tiles are published."""
        return self.path / "public"

    @property
    def checkpoint(self) -> Path:
        """What was published last."""
        return self.public / "checkpoint"

    def storage(self) -> LogStorage:
        """Open the database.

        Raises:
            StorageFailed: it cannot be opened.
        """
        if self.database is not None:
            from vacr.log.postgres import PostgresStorage

            return PostgresStorage(self.database)
        return SqliteStorage(self.path / _DATABASE_FILE_NAME)

    def reader(self) -> LogStorage:
        """Open the database to read from it.

        Raises:
            StorageFailed: it cannot be opened.
        """
        if self.database is not None:
            from vacr.log.postgres import PostgresStorage

            return PostgresStorage(self.database, readonly=True)
        return SqliteStorage(self.path / _DATABASE_FILE_NAME, readonly=True)

    def ledger(self, clock: Callable[[], float] = time.time) -> Ledger:
        """Open the log to add to it; what a change of keys left half done is done.

        Raises:
            StorageFailed: it cannot be opened.
            UsageError: its keys are not here.
            Damaged: it is behind what it has published.
        """
        ledger = Ledger(self.storage, self.keyring, clock)
        try:
            said = read_log_descriptions(ledger.storage)
            check_not_rolled_back(ledger.storage, said, self.checkpoint)
            ledger.keyring.settle(said)
        except BaseException:
            ledger.close()
            raise
        return ledger


def open_log_folder(path: str, database: str | None = None) -> LogFolder:
    """Find the log in a folder; `database` is where it is if the folder does not say so.

    Raises:
        UnreadableInput: there is no log.
    """
    about = Path(path) / _LOG_FILE_NAME
    if not about.is_file():
        raise UnreadableInput(
            "there is no log in this folder", where=path, hint=f"vacr log init {path} makes one."
        )
    try:
        stored = json.loads(read_bytes(about, _MAX_LOG_FILE_SIZE))["database"]
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableInput(
            "it does not say where the log's database is", where=str(about)
        ) from error
    return LogFolder(Path(path), database or (str(stored) if stored is not None else None))


def open_database_log(database: str, *, create: bool = False) -> LogFolder:
    """Find the keys of a log in a PostgreSQL where no folder is named: in the folder of the user's
    data, which may be made with the log if there is none yet.

    Raises:
        UsageError: there is a log in the database, and its keys are not here.
        UnreadableInput: there is no log in it, and none is to be made.
        StorageFailed: it cannot be reached.
    """
    from vacr.log.postgres import PostgresStorage

    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    place = Path(base).expanduser() / "vacr" / "logs" / PostgresStorage.name_of(database)
    there = (place / _LOG_FILE_NAME).is_file()
    if (create or not there) and not PostgresStorage.holds_log(database):
        if create:
            return create_log(str(place), database=database)
        hint = "vacr log init FOLDER --database URL makes one."
        raise UnreadableInput(
            "there is no log in this database", where=PostgresStorage.name_of(database), hint=hint
        )
    if not there:
        hint = "Name the folder that the log was made with, or a copy of it, before --database URL."
        raise UsageError(f"the keys of the log are not at {place}", hint=hint)
    return LogFolder(place, database)


def create_log(path: str, *, origin: str | None = None, database: str | None = None) -> LogFolder:
    """Make a log: all of it or nothing. One in a PostgreSQL may be half made when that fails, and
    is finished the next time.

    Raises:
        UsageError: there is something already.
        UnreadableInput: the folder cannot be written.
        StorageFailed: the database cannot be reached.
    """
    place = Path(os.path.abspath(path))  # noqa: PTH100 - links stay as they are
    if origin is not None:
        check_log_origin(origin)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        return _finish_log_creation(place, path, origin, database)
    try:
        make_durable_folder(place.parent, Path(place.anchor))
        temporary = Path(tempfile.mkdtemp(".vacr-new", f".{place.name}.", place.parent))
        try:
            temporary.chmod(0o755)
            made = _write_folder_files(temporary, database)
            if database is None:
                with closing(
                    SqliteStorage(temporary / _DATABASE_FILE_NAME, create=True)
                ) as embedded:
                    _write_first_entry(embedded, made, origin, place.name)
                sync_folder(temporary)
                _move_folder_durably(temporary, place)
            else:
                # The keys are where they are looked for, for good, before a log names them: nobody
                # could make them again.
                with closing(_create_postgres_storage(database)) as storage:
                    _move_folder_durably(temporary, place)
                    _write_first_entry(storage, made, origin, place.name)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        raise UnreadableInput(
            f"cannot be written: {error.strerror or error}", where=path
        ) from error
    return LogFolder(place, database)


def _finish_log_creation(
    place: Path, path: str, origin: str | None, database: str | None
) -> LogFolder:
    """Make the log of a folder that has its keys, if there is none yet in its database."""
    if not (place / _LOG_FILE_NAME).is_file():
        raise UsageError(f"there is something at {path} already", hint="Give another folder.")
    folder = open_log_folder(path, database)
    if folder.database is None:
        hint = f"vacr log serve {path} serves it; for a new one give another folder."
        raise UsageError(f"there is a log at {path} already", hint=hint)
    if folder.checkpoint.exists():
        hint = (
            "Put the log back into the database, or give another folder and another "
            "database for a new one."
        )
        raise UsageError(
            f"there is a log at {path} already, and its database is to have it", hint=hint
        )
    with closing(_create_postgres_storage(folder.database)) as storage:
        _write_first_entry(storage, LogKeyPair.read(place), origin, place.name)
    return LogFolder(place, folder.database)


def _create_postgres_storage(database: str) -> LogStorage:
    from vacr.log.postgres import PostgresStorage

    return PostgresStorage(database, create=True)


def _move_folder_durably(folder: Path, place: Path) -> None:
    folder.replace(place)
    sync_folder(place.parent)


def _write_folder_files(folder: Path, database: str | None) -> LogKeyPair:
    """Write all but the database."""
    made = LogKeyPair.make()
    made.write(folder)
    write_receipt_keys(folder, [made.receipt.public_key()])
    about = {"database": database}
    write_durable_file(
        folder / _LOG_FILE_NAME,
        json.dumps(about).encode() + b"\n",
        mode=_SECRET_ADDRESS_FILE_MODE if database else 0o644,
    )
    return made


def _write_first_entry(storage: LogStorage, made: LogKeyPair, given: str | None, name: str) -> None:
    """Write the first entry: what the log says of itself."""
    # A folder may have any name; a log may not.
    origin = check_log_origin(
        given
        or f"localhost/{_UNSAFE_NAME_CHARACTERS.sub('-', name)}-{compute_thumbprint(made.receipt.public_key()).hex()[:8]}"
    )
    now = int(time.time())
    entry = build_log_entry(parse_sign1(made.description(origin, now).statement(made.signer)))
    leaf = hash_leaf(entry)
    growing = GrowingTree(0, [], _refuse_older_tile)
    growing.add(leaf)
    header = encode_receipt_header(made.signer, compute_log_identity(entry), origin, now)
    head = StoredHead(sign_tree_head(made.signer, header, 1, growing.root()), now, 0)
    with storage.writing() as writing:
        if (
            writing.head() is not None
        ):  # of another who made it at the same time, or of one who was cut off
            raise UsageError(
                "there is a log in this database already",
                hint="vacr log serve FOLDER --database … serves it.",
            )
        writing.append(Batch(None, [entry], [leaf], growing.settle(), head))


def _refuse_older_tile(level: int, number: int) -> Tile:
    raise KeyError(level, number)


def check_log_origin(origin: str) -> str:
    """Check the name of a log: one line of text, as checkpoints have it.

    Raises:
        UsageError: it cannot be one.
    """
    if not origin or not origin.isprintable() or " " in origin or "+" in origin or "://" in origin:
        hint = "For example: --origin log.example.org/agents"
        raise UsageError(
            f"{origin!r} cannot be the name of a log: no spaces, no + and no scheme", hint=hint
        )
    return origin


def rotate_log_keys(folder: LogFolder) -> PublicKey:
    """Give a log new keys: they are told by an entry that the old key signs, and the next head is
    signed by the new one.

    Raises:
        StorageFailed: the log cannot be written.
        UsageError: the old key is not here.
    """
    made = LogKeyPair.make()
    with closing(folder.ledger()) as ledger:
        if ledger.signer is None or ledger.head is None:
            raise UsageError("the key of the log is not at hand")
        replaced = ledger.head.description
        old, keyring = ledger.signer, ledger.keyring
        made.write(folder.path)
        entry = build_log_entry(
            parse_sign1(
                made.description(keyring.origin, int(time.time()), keyring.log).statement(old)
            )
        )
        keyring.next_signer = made.signer
        try:
            ledger.append([entry], replaced=replaced)
        except UsageError:
            made.discard(folder.path)
            raise
        keyring.settle(read_log_descriptions(ledger.storage))
    return made.receipt.public_key()

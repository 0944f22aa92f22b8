"""A log on disk: one folder with its keys, its name and, unless that is a PostgreSQL, its database.
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
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.log import durable
from vacr.log.keyring import Keyring, NewKeys, descriptions, write_public
from vacr.log.ledger import Ledger
from vacr.log.rollback import check_published
from vacr.log.sqlite import SqliteStorage
from vacr.log.storage import Batch, Storage, StoredHead
from vacr.receipts import tree
from vacr.receipts.description import identity_of
from vacr.receipts.entries import entry_of
from vacr.receipts.receipt import protected_header, sign_head
from vacr.receipts.tiles import Growing, Tile
from vacr.recording.files import sync_folder
from vacr.signing.algorithms import PublicKey
from vacr.signing.keys import thumbprint
from vacr.signing.sign1 import parse
from vacr.sources.files import read_bytes

_ABOUT, _DATABASE = "log.json", "log.db"
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_OWNER_ONLY = 0o600
_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Folder:
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

    def storage(self) -> Storage:
        """Open the database.

        Raises:
            StorageFailed: it cannot be opened.
        """
        if self.database is not None:
            from vacr.log.postgres import PostgresStorage

            return PostgresStorage(self.database)
        return SqliteStorage(self.path / _DATABASE)

    def reader(self) -> Storage:
        """Open the database to read from it.

        Raises:
            StorageFailed: it cannot be opened.
        """
        if self.database is not None:
            from vacr.log.postgres import PostgresStorage

            return PostgresStorage(self.database, readonly=True)
        return SqliteStorage(self.path / _DATABASE, readonly=True)

    def ledger(self, clock: Callable[[], float] = time.time) -> Ledger:
        """Open the log to add to it; what a change of keys left half done is done.

        Raises:
            StorageFailed: it cannot be opened.
            UsageError: its keys are not here.
            Damaged: it is behind what it has published.
        """
        ledger = Ledger(self.storage, self.keyring, clock)
        try:
            said = descriptions(ledger.storage)
            check_published(ledger.storage, said, self.checkpoint)
            ledger.keyring.settle(said)
        except BaseException:
            ledger.close()
            raise
        return ledger


def open_folder(path: str, database: str | None = None) -> Folder:
    """Find the log in a folder; `database` is where it is if the folder does not say so.

    Raises:
        UnreadableInput: there is no log.
    """
    about = Path(path) / _ABOUT
    if not about.is_file():
        raise UnreadableInput(
            "there is no log in this folder", where=path, hint=f"vacr log init {path} makes one."
        )
    try:
        stored = json.loads(read_bytes(about, _MOST))["database"]
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableInput(
            "it does not say where the log's database is", where=str(about)
        ) from error
    return Folder(Path(path), database or (str(stored) if stored is not None else None))


def for_database(database: str, *, create: bool = False) -> Folder:
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
    there = (place / _ABOUT).is_file()
    if (create or not there) and not PostgresStorage.holds_log(database):
        if create:
            return make(str(place), database=database)
        hint = "vacr log init FOLDER --database URL makes one."
        raise UnreadableInput(
            "there is no log in this database", where=PostgresStorage.name_of(database), hint=hint
        )
    if not there:
        hint = "Name the folder that the log was made with, or a copy of it, before --database URL."
        raise UsageError(f"the keys of the log are not at {place}", hint=hint)
    return Folder(place, database)


def make(path: str, *, origin: str | None = None, database: str | None = None) -> Folder:
    """Make a log: all of it or nothing. One in a PostgreSQL may be half made when that fails, and
    is finished the next time.

    Raises:
        UsageError: there is something already.
        UnreadableInput: the folder cannot be written.
        StorageFailed: the database cannot be reached.
    """
    place = Path(os.path.abspath(path))  # noqa: PTH100 - links stay as they are
    if origin is not None:
        check_origin(origin)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        return _finish(place, path, origin, database)
    try:
        durable.make_folder(place.parent, Path(place.anchor))
        temporary = Path(tempfile.mkdtemp(".vacr-new", f".{place.name}.", place.parent))
        try:
            temporary.chmod(0o755)
            made = _fill(temporary, database)
            if database is None:
                with closing(SqliteStorage(temporary / _DATABASE, create=True)) as embedded:
                    _begin(embedded, made, origin, place.name)
                sync_folder(temporary)
                _move(temporary, place)
            else:
                # The keys are where they are looked for, for good, before a log names them: nobody
                # could make them again.
                with closing(_new(database)) as storage:
                    _move(temporary, place)
                    _begin(storage, made, origin, place.name)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        raise UnreadableInput(
            f"cannot be written: {error.strerror or error}", where=path
        ) from error
    return Folder(place, database)


def _finish(place: Path, path: str, origin: str | None, database: str | None) -> Folder:
    """Make the log of a folder that has its keys, if there is none yet in its database."""
    if not (place / _ABOUT).is_file():
        raise UsageError(f"there is something at {path} already", hint="Give another folder.")
    folder = open_folder(path, database)
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
    with closing(_new(folder.database)) as storage:
        _begin(storage, NewKeys.read(place), origin, place.name)
    return Folder(place, folder.database)


def _new(database: str) -> Storage:
    from vacr.log.postgres import PostgresStorage

    return PostgresStorage(database, create=True)


def _move(folder: Path, place: Path) -> None:
    folder.replace(place)
    sync_folder(place.parent)


def _fill(folder: Path, database: str | None) -> NewKeys:
    """Write all but the database."""
    made = NewKeys.make()
    made.write(folder)
    write_public(folder, [made.receipt.public_key()])
    about = {"database": database}
    durable.write(
        folder / _ABOUT, json.dumps(about).encode() + b"\n", mode=_OWNER_ONLY if database else 0o644
    )
    return made


def _begin(storage: Storage, made: NewKeys, given: str | None, name: str) -> None:
    """Write the first entry: what the log says of itself."""
    # A folder may have any name; a log may not.
    origin = check_origin(
        given
        or f"localhost/{_ODD.sub('-', name)}-{thumbprint(made.receipt.public_key()).hex()[:8]}"
    )
    now = int(time.time())
    entry = entry_of(parse(made.description(origin, now).statement(made.signer)))
    leaf = tree.leaf_hash(entry)
    growing = Growing(0, [], _nothing_older)
    growing.add(leaf)
    header = protected_header(made.signer, identity_of(entry), origin, now)
    head = StoredHead(sign_head(made.signer, header, 1, growing.root()), now, 0)
    with storage.writing() as writing:
        if (
            writing.head() is not None
        ):  # of another who made it at the same time, or of one who was cut off
            raise UsageError(
                "there is a log in this database already",
                hint="vacr log serve FOLDER --database … serves it.",
            )
        writing.append(Batch(None, [entry], [leaf], growing.settle(), head))


def _nothing_older(level: int, number: int) -> Tile:
    raise KeyError(level, number)


def check_origin(origin: str) -> str:
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


def rotate(folder: Folder) -> PublicKey:
    """Give a log new keys: they are told by an entry that the old key signs, and the next head is
    signed by the new one.

    Raises:
        StorageFailed: the log cannot be written.
        UsageError: the old key is not here.
    """
    made = NewKeys.make()
    with closing(folder.ledger()) as ledger:
        if ledger.signer is None or ledger.head is None:
            raise UsageError("the key of the log is not at hand")
        replaced = ledger.head.description
        old, keyring = ledger.signer, ledger.keyring
        made.write(folder.path)
        entry = entry_of(
            parse(made.description(keyring.origin, int(time.time()), keyring.log).statement(old))
        )
        keyring.next_signer = made.signer
        try:
            ledger.append([entry], replaced=replaced)
        except UsageError:
            made.discard(folder.path)
            raise
        keyring.settle(descriptions(ledger.storage))
    return made.receipt.public_key()

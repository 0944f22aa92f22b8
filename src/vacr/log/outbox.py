"""The outbox: what is still to be registered, because a service could not be reached. Step:
register.

An item is a small file that names a service and a statement, by its path and by its entry's digest.
Nothing of the statement is copied: where it goes, or what is made of it meanwhile, is its owner's
business.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.receipts.entries import entry_of
from vacr.recording import files
from vacr.signing.sign1 import parse
from vacr.sources.files import read_bytes, reason_of
from vacr.sources.state import state_folder

if sys.platform != "win32":
    import fcntl

VARIABLE = "VACR_OUTBOX"
_ENDING = ".json"
_LARGEST = 1 << 16
_MEMBERS = ("service", "statement", "entry", "since")


def outbox_folder(environment: Mapping[str, str]) -> Path:
    """Give the folder of the outbox: where the environment says, or where a user's state
    is kept.
    """
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    return state_folder(environment) / "outbox"


def digest_of(statement: bytes) -> str:
    """Name a statement by its entry, which receipts do not change.

    Raises:
        InvalidStatement: it is none.
    """
    return hashlib.sha256(entry_of(parse(statement))).hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """A statement that is to be registered in a service."""

    service: str
    statement: str
    """The path of its file."""
    entry: str
    """The SHA-256 of its entry."""
    since: str

    def read(self) -> bytes:
        """Read the statement, if it is still the one that was to be registered.

        Raises:
            UnreadableInput: the file is gone, or holds something else now.
        """
        data = read_bytes(self.statement)
        try:
            same = digest_of(data) == self.entry
        except InvalidStatement:
            same = False
        if not same:
            hint = "If it was signed again, register it: vacr register FILE --service URL."
            raise UnreadableInput(
                "the statement has changed since it was to be registered",
                where=self.statement,
                hint=hint,
            )
        return data


class Outbox:
    """The items in a folder; several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which need not be there."""
        self.folder = folder

    def add(self, service: str, statement: str, data: bytes) -> Item:
        """Keep a statement for later; one that is there already stays as it is.

        Raises:
            UnreadableInput: it cannot be written.
            InvalidStatement: it is no statement.
        """
        item = Item(
            service.rstrip("/"),
            _absolute(statement),
            digest_of(data),
            f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        )
        with self._locked():
            there = self._there(item)
            if there is not None and there.entry == item.entry:
                return there
            files.write(
                self.path(item), [json.dumps(asdict(item), indent=1).encode() + b"\n"], durable=True
            )
        return item

    def items(self) -> Iterator[Item | UnreadableInput]:
        """Give the items, the oldest first; what is no item comes as an error among them."""
        found: list[Item] = []
        try:
            names = sorted(path for path in self.folder.iterdir() if path.name.endswith(_ENDING))
        except FileNotFoundError:
            return
        except OSError as error:
            yield UnreadableInput(reason_of(error), where=str(self.folder))
            return
        for path in names:
            try:
                found.append(_read(path))
            except UnreadableInput as error:
                if path.exists():  # otherwise another process is done with it
                    hint = "Remove it, and register its statement again."
                    yield UnreadableInput(
                        f"not an item of the outbox: {error.message}", where=str(path), hint=hint
                    )
        yield from sorted(found, key=lambda item: (item.since, item.statement, item.service))

    def remove(self, service: str, statement: str, data: bytes) -> None:
        """Take a statement out, if it is there, and is still the same one.

        Raises:
            UnreadableInput: the folder cannot be used.
        """
        item = Item(service.rstrip("/"), _absolute(statement), digest_of(data), "")
        if not self.path(item).exists():
            return
        with self._locked():
            there = self._there(item)
            if there is not None and there.entry == item.entry:
                self.path(item).unlink(missing_ok=True)
                files.sync_folder(self.folder)

    def path(self, item: Item) -> Path:
        """Give the file of an item."""
        named = f"{item.service}\0{item.statement}".encode("utf-8", "surrogatepass")
        return self.folder / f"{hashlib.sha256(named).hexdigest()}{_ENDING}"

    def _there(self, item: Item) -> Item | None:
        try:
            return _read(self.path(item))
        except UnreadableInput:
            return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from changing the folder meanwhile."""
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            hint = (
                f"The variable {VARIABLE} names another folder for what is still to be registered."
            )
            raise UnreadableInput(
                f"the outbox cannot be used: {reason_of(error)}", where=str(self.folder), hint=hint
            ) from error
        try:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links are the user's


def _read(path: Path) -> Item:
    """Read an item.

    Raises:
        UnreadableInput: it is none.
    """
    try:
        value, owner = json.loads(read_bytes(path, _LARGEST)), path.lstat().st_uid
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableInput(str(error)) from error
    if not isinstance(value, dict) or not all(
        isinstance(value.get(name), str) for name in _MEMBERS
    ):
        raise UnreadableInput(f"it does not have the members {', '.join(_MEMBERS)}")
    # Who else may write here could have statements, and the token, sent to a service of theirs.
    if sys.platform != "win32" and owner != os.geteuid():
        raise UnreadableInput("it is another user's")
    if not os.path.isabs(value["statement"]):  # noqa: PTH117 - a path from a file
        raise UnreadableInput("its statement has no absolute path")
    return Item(*(value[name] for name in _MEMBERS))

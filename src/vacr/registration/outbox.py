"""The outbox: what is still to be registered, because a service could not be reached. Step:
register.

An item is a small file that names a service and a statement, by its path and by its entry's digest.
Nothing of the statement is copied: where it goes, or what is made of it meanwhile, is its owner's
business.

Statement files are registered: each gets its receipt, or goes to the outbox. Step: register.

The file changes only once a verified receipt is at hand, and then whole or not at all. So an
interruption at any time loses nothing: what was sent is sent again, and is the same entry.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from vacr.errors import InvalidStatement, Unreachable, UnreadableInput, VacrError
from vacr.files import (
    describe_file_error,
    find_state_folder,
    read_bytes,
    sync_folder,
    write_file_atomically,
)
from vacr.registration.client import RegistrationClient, check_registrable
from vacr.signing import PublicKey, Sign1, compute_thumbprint, parse_sign1
from vacr.transparency import (
    ENTRY_RULE_STATEMENT,
    add_receipt,
    build_log_entry,
    list_encoded_receipts,
)
from vacr.verification import VerifiedReceipt, check_receipt

if sys.platform != "win32":
    import fcntl

OUTBOX_VARIABLE = "VACR_OUTBOX"
_ITEM_SUFFIX = ".json"
_MAX_ITEM_SIZE = 1 << 16
_ITEM_MEMBERS = ("service", "statement", "entry", "since")


def find_outbox_folder(environment: Mapping[str, str]) -> Path:
    """Give the folder of the outbox: where the environment says, or where a user's state
    is kept.
    """
    if environment.get(OUTBOX_VARIABLE):
        return Path(environment[OUTBOX_VARIABLE])
    return find_state_folder(environment) / "outbox"


def compute_entry_digest(statement: bytes) -> str:
    """Name a statement by its entry, which receipts do not change.

    Raises:
        InvalidStatement: it is none.
    """
    return hashlib.sha256(build_log_entry(parse_sign1(statement))).hexdigest()


@dataclass(frozen=True, slots=True)
class OutboxItem:
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
            same = compute_entry_digest(data) == self.entry
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

    def add(self, service: str, statement: str, data: bytes) -> OutboxItem:
        """Keep a statement for later; one that is there already stays as it is.

        Raises:
            UnreadableInput: it cannot be written.
            InvalidStatement: it is no statement.
        """
        item = OutboxItem(
            service.rstrip("/"),
            _make_path_absolute(statement),
            compute_entry_digest(data),
            f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        )
        with self._locked():
            there = self._there(item)
            if there is not None and there.entry == item.entry:
                return there
            write_file_atomically(
                self.path(item), [json.dumps(asdict(item), indent=1).encode() + b"\n"], durable=True
            )
        return item

    def items(self) -> Iterator[OutboxItem | UnreadableInput]:
        """Give the items, the oldest first; what is no item comes as an error among them."""
        found: list[OutboxItem] = []
        try:
            names = sorted(
                path for path in self.folder.iterdir() if path.name.endswith(_ITEM_SUFFIX)
            )
        except FileNotFoundError:
            return
        except OSError as error:
            yield UnreadableInput(describe_file_error(error), where=str(self.folder))
            return
        for path in names:
            try:
                found.append(_read_outbox_item(path))
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
        item = OutboxItem(
            service.rstrip("/"), _make_path_absolute(statement), compute_entry_digest(data), ""
        )
        if not self.path(item).exists():
            return
        with self._locked():
            there = self._there(item)
            if there is not None and there.entry == item.entry:
                self.path(item).unlink(missing_ok=True)
                sync_folder(self.folder)

    def path(self, item: OutboxItem) -> Path:
        """Give the file of an item."""
        named = f"{item.service}\0{item.statement}".encode("utf-8", "surrogatepass")
        return self.folder / f"{hashlib.sha256(named).hexdigest()}{_ITEM_SUFFIX}"

    def _there(self, item: OutboxItem) -> OutboxItem | None:
        try:
            return _read_outbox_item(self.path(item))
        except UnreadableInput:
            return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from changing the folder meanwhile."""
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            hint = f"The variable {OUTBOX_VARIABLE} names another folder for what is still to be registered."
            raise UnreadableInput(
                f"the outbox cannot be used: {describe_file_error(error)}",
                where=str(self.folder),
                hint=hint,
            ) from error
        try:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _make_path_absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links are the user's


def _read_outbox_item(path: Path) -> OutboxItem:
    """Read an item.

    Raises:
        UnreadableInput: it is none.
    """
    try:
        value, owner = json.loads(read_bytes(path, _MAX_ITEM_SIZE)), path.lstat().st_uid
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableInput(str(error)) from error
    if not isinstance(value, dict) or not all(
        isinstance(value.get(name), str) for name in _ITEM_MEMBERS
    ):
        raise UnreadableInput(f"it does not have the members {', '.join(_ITEM_MEMBERS)}")
    # Who else may write here could have statements, and the token, sent to a service of theirs.
    if sys.platform != "win32" and owner != os.geteuid():
        raise UnreadableInput("it is another user's")
    if not os.path.isabs(value["statement"]):  # noqa: PTH117 - a path from a file
        raise UnreadableInput("its statement has no absolute path")
    return OutboxItem(*(value[name] for name in _ITEM_MEMBERS))


if sys.platform != "win32":
    import fcntl

STATE_REGISTERED, STATE_UNCHANGED, STATE_PENDING, STATE_FAILED = (
    "registered",
    "unchanged",
    "pending",
    "failed",
)

StatementWriter = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class RegistrationOutcome:
    """What came of a statement: `unchanged` is one that has a receipt of the log already, `pending`
    one in the outbox.
    """

    statement: str
    state: str
    logged: VerifiedReceipt | None = None
    as_the_service_says: bool = False
    error: VacrError | None = None


@dataclass
class Registrar:
    """Registers statement files in one service."""

    client: RegistrationClient
    log_keys: Sequence[PublicKey] = ()
    entry_rule: str = ENTRY_RULE_STATEMENT
    outbox: Outbox | None = None
    """Where those go that cannot be registered now."""
    again: bool = False
    """Whether to register what has a receipt of the log already."""
    unreachable: Unreachable | None = None
    """Why the service cannot be reached; the others that are to be registered in the same run do
    not wait for it again.
    """

    def register(self, path: str, write: StatementWriter | None = None) -> RegistrationOutcome:
        """Register the statement in a file, and put the receipt into it; `write` takes it where it
        goes elsewhere.
        """
        try:
            data = read_bytes(path)
            return self._registered(path, data, write)
        except Unreachable as error:
            self.unreachable = error
            return self._later(path, data, error)
        except VacrError as error:
            return RegistrationOutcome(path, STATE_FAILED, error=_add_error_location(error, path))

    def finish(self, item: OutboxItem) -> RegistrationOutcome:
        """Register what is in the outbox, and take it out once its receipt is in its file."""
        try:
            item.read()
        except VacrError as error:
            return RegistrationOutcome(item.statement, STATE_FAILED, error=error)
        return self.register(item.statement)

    def _registered(
        self, path: str, data: bytes, write: StatementWriter | None
    ) -> RegistrationOutcome:
        message = check_registrable(data)
        if self.unreachable is not None:
            raise self.unreachable
        there = None if self.again else self._there(message)
        if there is not None:
            if write is not None:
                write(data)
            self._done(path, data)
            return RegistrationOutcome(path, STATE_UNCHANGED, there, not self.log_keys)
        found = self.client.register(data, self.log_keys, self.entry_rule)

        def transparent(statement: bytes) -> bytes:
            return add_receipt(statement, found.receipt, found.logged.key, self.entry_rule)

        if write is not None:
            write(transparent(data))
        else:
            update_statement_file(path, compute_entry_digest(data), transparent)
            self._done(path, data)
        return RegistrationOutcome(path, STATE_REGISTERED, found.logged, found.as_the_service_says)

    def _there(self, message: Sign1) -> VerifiedReceipt | None:
        """Give what a receipt shows that a statement has already, of this log."""
        written = list_encoded_receipts(message)
        trusted = self._keys_of_service() if written else ()
        for receipt in written:
            try:
                return check_receipt(
                    message, receipt, trusted, datetime.now(UTC), rule=self.entry_rule
                )
            except InvalidStatement:
                continue
        return None

    def _keys_of_service(self) -> Sequence[PublicKey]:
        """Give the keys of this service that are trusted: another log that is trusted may have the
        statement, and not this.
        """
        if not self.log_keys:
            return self.client.keys()
        try:
            found = self.client.keys()
        except Unreachable:
            return ()  # registering again does no harm
        named = {compute_thumbprint(key) for key in found}
        return [key for key in self.log_keys if compute_thumbprint(key) in named]

    def _later(self, path: str, data: bytes, error: Unreachable) -> RegistrationOutcome:
        if self.outbox is None:
            return RegistrationOutcome(path, STATE_FAILED, error=error)
        try:
            self.outbox.add(self.client.url, path, data)
        except VacrError as failed:
            return RegistrationOutcome(path, STATE_FAILED, error=failed)
        return RegistrationOutcome(path, STATE_PENDING, error=error)

    def _done(self, path: str, data: bytes) -> None:
        if self.outbox is not None:
            # An item that stays is found done the next time.
            with suppress(VacrError, OSError):
                self.outbox.remove(self.client.url, path, data)


def update_statement_file(path: str, entry: str, transparent: Callable[[bytes], bytes]) -> None:
    """Change the statement in a file, as it is now: others may have put receipts into it meanwhile.

    Raises:
        UnreadableInput: the file cannot be read or written, or holds another statement by now.
    """
    place = Path(os.path.realpath(path))
    with _lock_statement_file(place):
        data = read_bytes(path)
        try:
            same = compute_entry_digest(data) == entry
        except InvalidStatement:
            same = False
        if not same:
            raise UnreadableInput(
                "the statement has changed while it was being registered",
                where=path,
                hint="Run the same again.",
            )
        write_file_atomically(place, [transparent(data)], place, durable=True)


@contextmanager
def _lock_statement_file(path: Path) -> Iterator[None]:
    """Keep other processes from putting receipts into a file meanwhile; it is another file once one
    of them has.
    """
    while True:
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise UnreadableInput(describe_file_error(error), where=str(path)) from error
        try:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                yield
                return
        finally:
            os.close(handle)


def _add_error_location(error: VacrError, path: str) -> VacrError:
    """Say which file an error is about, where it does not say."""
    if error.where:
        return error
    if isinstance(error, InvalidStatement):
        return InvalidStatement(error.message, reason=error.reason, where=path, hint=error.hint)
    return type(error)(error.message, where=path, hint=error.hint)

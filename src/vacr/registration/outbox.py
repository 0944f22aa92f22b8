"""Register statement files, and keep a list of the ones to register later.

A statement file changes only after a verified receipt has arrived, and then atomically. So an
interruption loses nothing: the statement is sent again, and yields the same entry.

The outbox is a folder with one small file per statement. It names the service, the path of the
statement and the digest of its entry; it does not copy the statement.

    >>> from pathlib import Path
    >>> from vacr.registration import Outbox
    >>> from vacr.signing import KeySigner, generate_key, sign
    >>> outbox, statement = Outbox(Path("outbox")), sign(b"data", KeySigner(generate_key("eddsa")))
    >>> _ = outbox.add("https://log.example", "/records/a.json.cose", statement)
    >>> [(item.service, item.statement) for item in outbox.items()]
    [('https://log.example', '/records/a.json.cose')]
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
    is_absolute,
    make_absolute,
    make_folder_tree,
    read_bytes,
    sync_folder,
    write_file_atomically,
)
from vacr.registration.client import RegistrationClient, check_registrable
from vacr.signing import PublicKey, Sign1, compute_thumbprint, parse_sign1
from vacr.transparency import (
    ENTRY_RULE_STATEMENT,
    build_log_entry,
    list_encoded_receipts,
)
from vacr.verification import VerifiedReceipt, VerifiedWitnesses, check_receipt

if sys.platform != "win32":
    import fcntl

OUTBOX_VARIABLE = "VACR_OUTBOX"
_ITEM_SUFFIX = ".json"
_MAX_ITEM_SIZE = 1 << 16
_ITEM_MEMBERS = ("service", "statement", "entry", "since")

STATE_REGISTERED, STATE_UNCHANGED, STATE_PENDING, STATE_FAILED = (
    "registered",
    "unchanged",
    "pending",
    "failed",
)
STATE_WITNESSED, STATE_UNWITNESSED = "witnessed", "unwitnessed"
StatementWriter = Callable[[bytes], object]
"""Writes a statement elsewhere than to its file."""


def find_outbox_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder that `VACR_OUTBOX` names, or else `outbox` in the user's state folder."""
    if environment.get(OUTBOX_VARIABLE):
        return Path(environment[OUTBOX_VARIABLE])
    return find_state_folder(environment) / "outbox"


def compute_entry_digest(statement: bytes) -> str:
    """Return the SHA-256 of a statement's log entry, in hexadecimal.

    Receipts in the statement do not change it.

    Raises:
        InvalidStatement: the bytes are not a statement.
    """
    return hashlib.sha256(build_log_entry(parse_sign1(statement))).hexdigest()


def _has_entry_digest(data: bytes, digest: str) -> bool:
    """Return whether the data is a statement whose entry has this digest."""
    try:
        return compute_entry_digest(data) == digest
    except InvalidStatement:
        return False


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A statement that waits for its registration in a service."""

    service: str
    statement: str
    """The absolute path of the statement's file."""
    entry: str
    """The SHA-256 of the statement's entry, in hexadecimal."""
    since: str
    """When the item was added, for example `2026-11-18T09:30:00Z`."""

    def read(self) -> bytes:
        """Read the file, and return the statement in it.

        Raises:
            UnreadableInput: the file is missing, or contains another statement now.
        """
        data = read_bytes(self.statement)
        if not _has_entry_digest(data, self.entry):
            hint = "To register the new statement: vacr register FILE --service URL"
            raise UnreadableInput(
                "the statement changed while it was waiting to be registered",
                where=self.statement,
                hint=hint,
            )
        return data


class Outbox:
    """The outbox in a folder; several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not exist yet."""
        self.folder = folder

    def add(self, service: str, statement: str, data: bytes) -> OutboxItem:
        """Add the statement in a file to the outbox, and return its item.

        `statement` is the path of the file, and `data` its content. If an item for the same path
        and service exists, it stays if it is for the same content, and is replaced otherwise.

        Raises:
            UnreadableInput: the item cannot be written.
            InvalidStatement: the data is not a statement.
        """
        item = OutboxItem(
            service.rstrip("/"),
            make_absolute(statement),
            compute_entry_digest(data),
            f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        )
        with self._lock_folder():
            stored = self._read_stored_item(item)
            if stored is not None and stored.entry == item.entry:
                return stored
            content = json.dumps(asdict(item), indent=1).encode() + b"\n"
            write_file_atomically(self.path(item), [content], durable=True)
        return item

    def items(self) -> Iterator[OutboxItem | UnreadableInput]:
        """Yield an error for each file that is not an item, then all items, the oldest first.

        A missing folder yields nothing.
        """
        items: list[OutboxItem] = []
        try:
            paths = sorted(
                path for path in self.folder.iterdir() if path.name.endswith(_ITEM_SUFFIX)
            )
        except FileNotFoundError:
            return
        except OSError as error:
            yield UnreadableInput(describe_file_error(error), where=str(self.folder))
            return
        for path in paths:
            try:
                items.append(_read_outbox_item(path))
            except UnreadableInput as error:
                if path.exists():  # Otherwise, another process has finished it.
                    hint = "Delete this file, and register its statement again."
                    yield UnreadableInput(
                        f"item of the outbox ignored: {error.message}", where=str(path), hint=hint
                    )
        yield from sorted(items, key=lambda item: (item.since, item.statement, item.service))

    def remove(self, service: str, statement: str, data: bytes) -> None:
        """Remove the item for a statement, unless it is missing or for another content.

        `statement` is the path of the statement's file, and `data` its content.

        Raises:
            UnreadableInput: the folder cannot be used.
            InvalidStatement: the data is not a statement.
        """
        item = OutboxItem(
            service.rstrip("/"), make_absolute(statement), compute_entry_digest(data), ""
        )
        if not self.path(item).exists():
            return
        with self._lock_folder():
            stored = self._read_stored_item(item)
            if stored is not None and stored.entry == item.entry:
                self.path(item).unlink(missing_ok=True)
                sync_folder(self.folder)

    def path(self, item: OutboxItem) -> Path:
        """Return the path of an item's file; the name is a hash of service and statement path."""
        key = f"{item.service}\0{item.statement}".encode("utf-8", "surrogatepass")
        return self.folder / f"{hashlib.sha256(key).hexdigest()}{_ITEM_SUFFIX}"

    def _read_stored_item(self, item: OutboxItem) -> OutboxItem | None:
        """Return the stored item with the same service and path, or None if none is readable."""
        try:
            return _read_outbox_item(self.path(item))
        except UnreadableInput:
            return None

    @contextmanager
    def _lock_folder(self) -> Iterator[None]:
        """Create the folder if necessary, and keep other processes from changing it.

        Raises:
            UnreadableInput: the folder cannot be used.
        """
        try:
            make_folder_tree(self.folder, 0o700)
            handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            hint = f"Set the variable {OUTBOX_VARIABLE} to use another folder."
            raise UnreadableInput(
                f"cannot use the outbox: {describe_file_error(error)}",
                where=str(self.folder),
                hint=hint,
            ) from error
        try:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _read_outbox_item(path: Path) -> OutboxItem:
    """Read an item from its file.

    Raises:
        UnreadableInput: the file is missing, not a valid item, or belongs to another user.
    """
    try:
        value, owner = json.loads(read_bytes(path, _MAX_ITEM_SIZE)), path.lstat().st_uid
    except OSError as error:
        raise UnreadableInput(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"not JSON: {error}") from error
    if not isinstance(value, dict) or not all(
        isinstance(value.get(name), str) for name in _ITEM_MEMBERS
    ):
        raise UnreadableInput(f"the file lacks one of the members {', '.join(_ITEM_MEMBERS)}")
    # Another user could make us send statements, and the token, to a service of their own.
    if sys.platform != "win32" and owner != os.geteuid():
        raise UnreadableInput("the file belongs to another user")
    if not is_absolute(value["statement"]):
        raise UnreadableInput("the path of the statement in the file is not absolute")
    return OutboxItem(*(value[name] for name in _ITEM_MEMBERS))


@dataclass(frozen=True, slots=True)
class RegistrationOutcome:
    """The outcome of registering a statement file."""

    statement: str
    """The path of the file."""
    state: str
    """One of `registered`, `unchanged` (it already had a receipt), `pending` and `failed`.

    If the proof of witnesses was asked for: `witnessed`, or `unwitnessed` (not yet).
    """
    logged: VerifiedReceipt | None = None
    """The receipt, if the statement has one now."""
    has_unpinned_key: bool = False
    """Whether only the service itself vouches for the log's key."""
    error: VacrError | None = None
    """Why the statement failed, is pending in the outbox, or has no proof of witnesses yet."""
    witnesses: VerifiedWitnesses | None = None
    """The proof that witnesses saw the entry, if the statement has a new one now."""


@dataclass
class Registrar:
    """Registers statement files with one service, and keeps an outbox for later."""

    client: RegistrationClient
    log_keys: Sequence[PublicKey] = ()
    entry_rule: str = ENTRY_RULE_STATEMENT
    outbox: Outbox | None = None
    """Keeps the statements that cannot be registered now."""
    again: bool = False
    """Register even a statement that already has a receipt of the log."""
    unreachable: Unreachable | None = None
    """The reason why the service cannot be reached.

    Once it is set, the other statements of this run do not wait for the service.
    """

    def register(self, path: str, write: StatementWriter | None = None) -> RegistrationOutcome:
        """Register the statement in a file, and add the receipt to the file.

        With `write`, the file stays unchanged, and `write` gets the statement with its receipt.
        Errors are not raised, but returned in the outcome. If the service cannot be reached, the
        statement goes to the outbox, if there is one.
        """
        try:
            data = read_bytes(path)
            return self._register(path, data, write)
        except Unreachable as error:
            self.unreachable = error
            return self._postpone(path, data, error)
        except VacrError as error:
            return RegistrationOutcome(path, STATE_FAILED, error=add_error_location(error, path))

    def finish(self, item: OutboxItem) -> RegistrationOutcome:
        """Register an item of the outbox, and remove it once its file has the receipt.

        The outcome is `failed` if the file is missing, or contains another statement now.
        """
        try:
            item.read()
        except VacrError as error:
            return RegistrationOutcome(item.statement, STATE_FAILED, error=error)
        return self.register(item.statement)

    def _register(
        self, path: str, data: bytes, write: StatementWriter | None
    ) -> RegistrationOutcome:
        """Register a statement, unless it has a receipt already; return the outcome, or raise."""
        message = check_registrable(data)
        if self.unreachable is not None:
            raise self.unreachable
        known = None if self.again else self._find_receipt(message)
        if known is not None:
            if write is not None:
                write(data)
            self._remove_from_outbox(path, data)
            return RegistrationOutcome(path, STATE_UNCHANGED, known, not self.log_keys)
        result = self.client.register(data, self.log_keys, self.entry_rule)

        if write is not None:
            write(result.add_to(data))
        else:
            update_statement_file(path, compute_entry_digest(data), result.add_to)
            self._remove_from_outbox(path, data)
        return RegistrationOutcome(path, STATE_REGISTERED, result.logged, result.has_unpinned_key)

    def _find_receipt(self, message: Sign1) -> VerifiedReceipt | None:
        """Return the first valid receipt of this service's log in a statement, or None.

        Raises:
            Unreachable: the statement has receipts, but `_list_trusted_keys` cannot list the keys.
        """
        receipts = list_encoded_receipts(message)
        keys = self._list_trusted_keys() if receipts else ()
        for receipt in receipts:
            try:
                return check_receipt(
                    message, receipt, keys, datetime.now(UTC), rule=self.entry_rule
                )
            except InvalidStatement:
                continue
        return None

    def _list_trusted_keys(self) -> Sequence[PublicKey]:
        """Return the trusted keys of this service.

        They are all keys that the service publishes, or only the ones in `log_keys` if that is not
        empty. With `log_keys`, return no keys if the published keys cannot be fetched.

        Raises:
            Unreachable: without `log_keys`, the published keys cannot be fetched.
        """
        if not self.log_keys:
            return self.client.keys()
        try:
            published = self.client.keys()
        except Unreachable:
            return ()  # Registering again does no harm.
        thumbprints = {compute_thumbprint(key) for key in published}
        return [key for key in self.log_keys if compute_thumbprint(key) in thumbprints]

    def _postpone(self, path: str, data: bytes, error: Unreachable) -> RegistrationOutcome:
        """Add a statement to the outbox, and return the outcome `pending`.

        The outcome is `failed` if there is no outbox, or it cannot be written.
        """
        if self.outbox is None:
            return RegistrationOutcome(path, STATE_FAILED, error=error)
        try:
            self.outbox.add(self.client.url, path, data)
        except VacrError as outbox_error:
            return RegistrationOutcome(path, STATE_FAILED, error=outbox_error)
        return RegistrationOutcome(path, STATE_PENDING, error=error)

    def _remove_from_outbox(self, path: str, data: bytes) -> None:
        """Remove the item for a statement, if there is an outbox; ignore errors."""
        if self.outbox is not None:
            # If this fails, the next run finds the item registered.
            with suppress(VacrError, OSError):
                self.outbox.remove(self.client.url, path, data)


def update_statement_file(path: str, entry: str, update: Callable[[bytes], bytes]) -> None:
    """Replace the content of a statement file by `update(content)`, under a lock.

    The content is read again, because other processes may have added receipts in the meantime.
    `entry` is the expected digest of the statement's entry.

    Raises:
        UnreadableInput: the file cannot be read or written, or contains another statement now.
    """
    target = Path(os.path.realpath(path))
    with _lock_statement_file(target):
        data = read_bytes(path)
        if not _has_entry_digest(data, entry):
            raise UnreadableInput(
                "the statement changed while it was being registered",
                where=path,
                hint="Run the command again.",
            )
        write_file_atomically(target, [update(data)], target, durable=True)


@contextmanager
def _lock_statement_file(path: Path) -> Iterator[None]:
    """Keep other processes from adding receipts to a file.

    Each of them replaces the file, so a lock counts only if the path still names the locked file.

    Raises:
        UnreadableInput: the file cannot be opened.
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


def add_error_location(error: VacrError, path: str) -> VacrError:
    """Return a copy of the error with the path as its location, unless it has a location."""
    if error.where:
        return error
    if isinstance(error, InvalidStatement):
        return InvalidStatement(error.message, reason=error.reason, where=path, hint=error.hint)
    return type(error)(error.message, where=path, hint=error.hint)

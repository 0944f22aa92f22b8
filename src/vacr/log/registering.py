"""Statement files are registered: each gets its receipt, or goes to the outbox. Step: register.

The file changes only once a verified receipt is at hand, and then whole or not at all. So an
interruption at any time loses nothing: what was sent is sent again, and is the same entry.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from vacr.errors import InvalidStatement, Unreachable, UnreadableInput, VacrError
from vacr.log.client import Client, check_registrable
from vacr.log.outbox import Item, Outbox, digest_of
from vacr.receipts.entries import STATEMENT
from vacr.receipts.transparent import with_receipt, written_in
from vacr.recording import files
from vacr.signing import keys
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import Sign1
from vacr.sources.files import read_bytes, reason_of
from vacr.verification.receipts import Logged, check_receipt

if sys.platform != "win32":
    import fcntl

REGISTERED, UNCHANGED, PENDING, FAILED = "registered", "unchanged", "pending", "failed"

Write = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a statement: `unchanged` is one that has a receipt of the log already, `pending`
    one in the outbox.
    """

    statement: str
    state: str
    logged: Logged | None = None
    as_the_service_says: bool = False
    error: VacrError | None = None


@dataclass
class Registrar:
    """Registers statement files in one service."""

    client: Client
    log_keys: Sequence[PublicKey] = ()
    entry_rule: str = STATEMENT
    outbox: Outbox | None = None
    """Where those go that cannot be registered now."""
    again: bool = False
    """Whether to register what has a receipt of the log already."""
    unreachable: Unreachable | None = None
    """Why the service cannot be reached; the others that are to be registered in the same run do
    not wait for it again.
    """

    def register(self, path: str, write: Write | None = None) -> Outcome:
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
            return Outcome(path, FAILED, error=_placed(error, path))

    def finish(self, item: Item) -> Outcome:
        """Register what is in the outbox, and take it out once its receipt is in its file."""
        try:
            item.read()
        except VacrError as error:
            return Outcome(item.statement, FAILED, error=error)
        return self.register(item.statement)

    def _registered(self, path: str, data: bytes, write: Write | None) -> Outcome:
        message = check_registrable(data)
        if self.unreachable is not None:
            raise self.unreachable
        there = None if self.again else self._there(message)
        if there is not None:
            if write is not None:
                write(data)
            self._done(path, data)
            return Outcome(path, UNCHANGED, there, not self.log_keys)
        found = self.client.register(data, self.log_keys, self.entry_rule)

        def transparent(statement: bytes) -> bytes:
            return with_receipt(statement, found.receipt, found.logged.key, self.entry_rule)

        if write is not None:
            write(transparent(data))
        else:
            change(path, digest_of(data), transparent)
            self._done(path, data)
        return Outcome(path, REGISTERED, found.logged, found.as_the_service_says)

    def _there(self, message: Sign1) -> Logged | None:
        """Give what a receipt shows that a statement has already, of this log."""
        written = written_in(message)
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
        named = {keys.thumbprint(key) for key in found}
        return [key for key in self.log_keys if keys.thumbprint(key) in named]

    def _later(self, path: str, data: bytes, error: Unreachable) -> Outcome:
        if self.outbox is None:
            return Outcome(path, FAILED, error=error)
        try:
            self.outbox.add(self.client.url, path, data)
        except VacrError as failed:
            return Outcome(path, FAILED, error=failed)
        return Outcome(path, PENDING, error=error)

    def _done(self, path: str, data: bytes) -> None:
        if self.outbox is not None:
            # An item that stays is found done the next time.
            with suppress(VacrError, OSError):
                self.outbox.remove(self.client.url, path, data)


def change(path: str, entry: str, transparent: Callable[[bytes], bytes]) -> None:
    """Change the statement in a file, as it is now: others may have put receipts into it meanwhile.

    Raises:
        UnreadableInput: the file cannot be read or written, or holds another statement by now.
    """
    place = Path(os.path.realpath(path))
    with _locked(place):
        data = read_bytes(path)
        try:
            same = digest_of(data) == entry
        except InvalidStatement:
            same = False
        if not same:
            raise UnreadableInput(
                "the statement has changed while it was being registered",
                where=path,
                hint="Run the same again.",
            )
        files.write(place, [transparent(data)], place, durable=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from putting receipts into a file meanwhile; it is another file once one
    of them has.
    """
    while True:
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise UnreadableInput(reason_of(error), where=str(path)) from error
        try:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                yield
                return
        finally:
            os.close(handle)


def _placed(error: VacrError, path: str) -> VacrError:
    """Say which file an error is about, where it does not say."""
    if error.where:
        return error
    if isinstance(error, InvalidStatement):
        return InvalidStatement(error.message, reason=error.reason, where=path, hint=error.hint)
    return type(error)(error.message, where=path, hint=error.hint)

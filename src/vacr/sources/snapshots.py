"""SQLite files at one moment, read while somebody may be writing, and never changed.

A file is opened read-only, and in a way that leaves no file beside it and no mark in those that are
there. Where that cannot be (a crash left something to repair), a copy is opened instead. What is
read is read within one transaction, or with proof that nothing was written meanwhile, so that it is
whole.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from vacr.errors import UnreadableInput, VacrError
from vacr.model import Native
from vacr.readers.export import Query
from vacr.sources.files import reason_of
from vacr.sources.sqlite_files import (
    ATTEMPTS,
    CHANGES,
    LATER,
    LOCKED,
    TICK,
    State,
    copied,
    is_locked,
    open_copy,
    open_untouched,
    since_change,
    state_of,
)

T = TypeVar("T")


class Snapshots:
    """A SQLite file, of which one moment after the other can be read."""

    def __init__(self, path: Path) -> None:
        """Start with nothing known about it."""
        self.path = path
        self._state: State | None = None
        self._learnt: dict[Any, Any] = {}
        self._copies: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Forget what was learnt, and remove the copy if there is one."""
        self._learnt = {}
        if self._copies is not None:
            self._copies.cleanup()
            self._copies = None

    def is_unchanged(self) -> bool:
        """Tell whether the file is as it was when it was last read."""
        try:
            return self._state == state_of(self.path)
        except (OSError, UnreadableInput):
            return False

    def read(self, work: Callable[[Query], T]) -> T:
        """Do something with the database as it is at one moment.

        Raises:
            UnreadableInput: the database cannot be read, or is none that the work can be done with.
        """
        try:
            for _ in range(ATTEMPTS):
                with ExitStack() as opened:
                    result, failed, changed = self._tried(work, opened)
                if not changed:
                    if failed is not None:
                        raise failed  # noqa: TRY301 - what is wrong is said below
                    return cast("T", result)
                # It was written to meanwhile, and so what was read is of no one moment.
        except VacrError:
            raise
        except OSError as error:
            raise UnreadableInput(reason_of(error), where=str(self.path)) from error
        except Exception as error:
            # Whatever a database makes of our questions is about that database alone.
            raise _unreadable(error, self.path) from error
        raise UnreadableInput(CHANGES, where=str(self.path), hint=LATER)

    def _tried(
        self, work: Callable[[Query], T], opened: ExitStack
    ) -> tuple[T | None, Exception | None, bool]:
        """Do something with the database; give what came of it, what went wrong, and whether it is
        not to be believed.
        """
        self._look()
        connection, still = self._connect(opened)
        connection.text_factory = bytes
        asked = _Asked(connection, self._learnt)
        result = failed = None
        try:
            connection.execute("BEGIN")
            result = work(asked)
        except Exception as error:  # noqa: BLE001 - it is raised if the database is still the same
            failed = error
        return result, failed, self._has_changed(still, used_before=asked.used_before)

    def _look(self) -> None:
        """Let go of what is known about an earlier state."""
        state = state_of(self.path)
        if state != self._state:
            self.close()
            self._state = state

    def _has_changed(self, still: State | None, *, used_before: bool) -> bool:
        """Tell whether what was read is not to be believed; forget what was learnt if the next
        reading must not rely on it.
        """
        state = state_of(self.path)
        changed = (still is not None and still != state[: len(still)]) or (
            used_before and state != self._state
        )
        if state != self._state or since_change(state) < TICK:
            self._learnt = {}
        return changed

    def _connect(self, opened: ExitStack) -> tuple[sqlite3.Connection, State | None]:
        """Open the database, or else a copy of it; tell which state it must still have at the end,
        if that is a condition.
        """
        if self._copies is None:
            try:
                return open_untouched(self.path, opened)
            except sqlite3.OperationalError as error:
                if is_locked(error):
                    raise
            # A crash left something to be repaired, or the index of the log is missing.
            self._copies, self._state = copied(self.path)
        return open_copy(self._copies, opened), None


class _Asked:
    """Questions to a database within one transaction."""

    def __init__(self, connection: sqlite3.Connection, learnt: dict[Any, Any]) -> None:
        self._connection = connection
        self._learnt = learnt
        self.used_before = False
        """Whether something was used that an earlier reading learnt."""
        self._new: set[Any] = set()

    def __call__(self, statement: str, *parameters: Any) -> Iterator[Native]:
        """Run a statement; give the rows."""
        cursor = self._connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description or ()]
        for row in cursor:
            yield {name: _text(value) for name, value in zip(names, row, strict=True)}

    def once(self, work: Callable[[Query], T]) -> T:
        """Do what has the same result as long as the database stays as it is."""
        if work not in self._learnt:
            self._learnt[work] = work(self)
            self._new.add(work)
        self.used_before = self.used_before or work not in self._new
        found: T = self._learnt[work]
        return found


def _text(value: Any) -> Any:
    """Give text as text, however it is stored; bytes that are no text stay bytes."""
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _unreadable(error: Exception, path: Path) -> UnreadableInput:
    """Say what is wrong with a database."""
    if isinstance(error, sqlite3.OperationalError):
        if is_locked(error):
            return UnreadableInput(LOCKED, where=str(path), hint=LATER)
        return UnreadableInput(f"cannot be read as a database: {error}", where=str(path))
    if isinstance(error, MemoryError):
        return UnreadableInput("too large for the memory there is", where=str(path))
    if isinstance(error, sqlite3.Error | UnicodeDecodeError):
        return UnreadableInput(f"a damaged database: {error}", where=str(path))
    return UnreadableInput(
        f"a database that no agent makes so: {type(error).__name__}: {error}", where=str(path)
    )

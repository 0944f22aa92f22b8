"""What a witness has seen of each log: the last checkpoint that it cosigned, in SQLite."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput

_WAIT = 30
_FULL = 2
_TABLE = """
CREATE TABLE IF NOT EXISTS logs (
  origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, time INTEGER NOT NULL, note BLOB NOT NULL
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """A checkpoint that was cosigned, and when."""

    size: int
    root: bytes
    time: int
    note: bytes


class WitnessStore:
    """One row a log; a row moves from one state to another only where nobody else moved it
    meanwhile.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            UnreadableInput: it cannot be opened, or not so that what is written stays.
        """
        self.path = path
        self.lock = threading.Lock()
        try:
            self.database = sqlite3.connect(
                path, timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self.database.close()
                raise
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _prepare(self) -> None:
        # Results are fetched, because an error of the disk shows only then.
        mode = self.database.execute("PRAGMA journal_mode = WAL").fetchall()
        self.database.execute("PRAGMA synchronous = FULL").fetchall()
        if mode != [("wal",)] or self.database.execute("PRAGMA synchronous").fetchall() != [
            (_FULL,)
        ]:
            raise UnreadableInput(
                "SQLite does not keep what is written here",
                where=str(self.path),
                hint="Use a local disk.",
            )
        self.database.execute(_TABLE).fetchall()

    def seen(self, origin: str) -> Seen | None:
        """Give what was last cosigned of a log.

        Raises:
            UnreadableInput: it cannot be read.
        """
        try:
            with self.lock:
                rows = self.database.execute(
                    "SELECT size, root, time, note FROM logs WHERE origin = ?", (origin,)
                ).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return Seen(*rows[0]) if rows else None

    def move(self, origin: str, before: Seen | None, after: Seen) -> bool:
        """Go from one state to another; tell whether that was done, and is on disk, or another
        state was found.

        Raises:
            UnreadableInput: it cannot be written.
        """
        new = (after.size, after.root, after.time, after.note)
        try:
            with self.lock:
                if before is None:
                    done = self.database.execute(
                        "INSERT INTO logs VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        (origin, *new),
                    )
                else:
                    done = self.database.execute(
                        "UPDATE logs SET size = ?, root = ?, time = ?, note = ?"
                        " WHERE origin = ? AND size = ? AND root = ? AND time = ?",
                        (*new, origin, before.size, before.root, before.time),
                    )
                return done.rowcount == 1
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def _failed(self, error: sqlite3.Error) -> UnreadableInput:
        hint = (
            "Look after the disk, then start the witness again. Never put back an older "
            "copy: it would cosign another past."
        )
        return UnreadableInput(
            f"the witness cannot keep what it has seen: {error}", where=str(self.path), hint=hint
        )

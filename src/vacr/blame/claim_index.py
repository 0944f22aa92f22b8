"""The index of claims: one pass over the sessions, and later blames need not read them again.

A SQLite file in the state folder keeps, for each source, its size and times and the records in it,
and for each record its claims. A source that did not change is not read again. Claims depend on the
record and its base alone, so they are kept by both. To blame a file, only records are loaded that
share a line with it, left exactly its bytes, or touched a file of its name; no other record can say
anything about it.

The index can be rebuilt from the sessions at any time. It is created again if it is damaged or if
another version of the code made it. If it cannot be written, or another program locks it for long,
blame works without it, and with the same result.

    >>> import tempfile, vacr
    >>> from pathlib import Path
    >>> from vacr.blame.claim_index import ClaimIndex, SourceStamp
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = ClaimIndex.open(Path(folder.name))
    >>> stamp = SourceStamp("/home/nora/session.jsonl", "", 9_000, 1_800_000_000, "5f2a")
    >>> index.find_source(stamp) is None
    True
    >>> records = [(record["id"], record) for record in vacr.read("session.jsonl")]
    >>> _ = index.add_source(stamp, records)
    >>> [indexed.header.entry_count for indexed in index.find_source(stamp).records]
    [20]
    >>> index.close()
    >>> folder.cleanup()
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from vacr.blame.blocks import FileVersion
from vacr.blame.claim_encoding import (
    decode_claims,
    encode_claims,
    list_claim_keys,
    list_line_keys,
    list_version_keys,
    make_state_key,
)
from vacr.blame.claims import BaseLookup, RecordClaims
from vacr.blame.session_facts import (
    RecordingHeader,
    describe_recording,
    drop_shorter_recordings,
)
from vacr.blame.stored_attribution import parse_stored_attribution
from vacr.files import check_index_part, find_index_file, open_index_database
from vacr.version import __version__

T = TypeVar("T")

_PART = "claims"
"""The name of these tables in the file, which other parts of vacr share."""
_NAME_HASH_FORMAT = "Q"
_ENCODING_ERRORS = (UnicodeEncodeError, OverflowError, TypeError, AttributeError)
_DECODING_ERRORS = (zlib.error, msgspec.MsgspecError, IndexError, TypeError)

_SCHEMA = """
CREATE TABLE claim_sources (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, session TEXT NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, stamp TEXT NOT NULL, reader TEXT NOT NULL, failure TEXT NOT NULL,
    UNIQUE (path, session));
CREATE TABLE claim_records (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
    entries INTEGER NOT NULL, attributed INTEGER NOT NULL, base TEXT NOT NULL,
    names BLOB NOT NULL);
CREATE TABLE claim_source_records (
    source INTEGER NOT NULL, position INTEGER NOT NULL, record INTEGER NOT NULL,
    PRIMARY KEY (source, position)) WITHOUT ROWID;
CREATE INDEX source_of_claim_record ON claim_source_records (record);
CREATE TABLE claims (
    id INTEGER PRIMARY KEY, record INTEGER NOT NULL, base TEXT NOT NULL, claims BLOB NOT NULL,
    UNIQUE (record, base));
CREATE TABLE claim_keys (
    key INTEGER NOT NULL, claims INTEGER NOT NULL, PRIMARY KEY (key, claims)) WITHOUT ROWID;
"""
_SELECT_CLAIMS = (
    "SELECT DISTINCT claims FROM claim_keys WHERE key IN (SELECT value FROM json_each(?))"
)
_SELECT_KNOWN_KEYS = (
    "SELECT DISTINCT key FROM claim_keys WHERE key IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class SourceStamp:
    """A file or a session of a database, and what changes whenever it is written."""

    path: str
    """The absolute path."""
    session: str
    """The id of the session if the path has several, or else empty."""
    size: int
    mtime: int
    """When it was last written, in nanoseconds since 1970."""
    stamp: str
    """A digest of the names, sizes and times of all its files."""


@dataclass(frozen=True, slots=True)
class IndexedRecord:
    """A record that the index knows."""

    row: int
    header: RecordingHeader
    base: str
    """The revision that its stored attribution was made with; empty without one."""


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """A source that the index knows: its records, or why it is not a session."""

    records: list[IndexedRecord]
    failure: str = ""


class ClaimIndex:
    """The index in a folder; after a failure it is empty and stays so."""

    def __init__(self, connection: sqlite3.Connection | None) -> None:
        """Use an open database, or none."""
        self._connection = connection

    @classmethod
    def open(cls, state: Path) -> ClaimIndex:
        """Open the index in the state folder, and create both if they do not exist.

        A damaged index is replaced, and so is one of another version, unless this process used the
        index before. If that fails, return an index that is empty and stores nothing.
        """
        try:
            return cls(open_index_database(find_index_file(state), _PART, _list_schema()))
        except (sqlite3.Error, OSError):  # Locked, not writable, or taken over by another version.
            return cls(None)

    @property
    def is_usable(self) -> bool:
        """Whether the index has an open database."""
        return self._connection is not None

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def find_source(self, stamp: SourceStamp) -> IndexedSource | None:
        """Return the records of a source; `None` if it is unknown, or changed since."""
        rows = self._read(
            "SELECT id, failure FROM claim_sources WHERE path = ? AND session = ? AND stamp = ?",
            (stamp.path, stamp.session, stamp.stamp),
        )
        if not rows:
            return None
        records = self._read(
            "SELECT claim_records.id, claim_records.session, entries, attributed, names, base "
            "FROM claim_source_records JOIN claim_records ON claim_records.id = record "
            "WHERE source = ? ORDER BY position",
            (rows[0][0],),
        )
        return IndexedSource([_build_indexed_record(row) for row in records], rows[0][1])

    def add_source(
        self, stamp: SourceStamp, records: Sequence[tuple[str, dict[str, Any]]], failure: str = ""
    ) -> list[IndexedRecord] | None:
        """Add a source with its records, each with its digest, in place of an older one.

        Return the records as the index knows them, or `None` if they cannot be added.
        """
        described = [
            (digest, describe_recording(record), _find_stored_base(record))
            for digest, record in records
        ]

        def insert_source(connection: sqlite3.Connection) -> list[IndexedRecord]:
            """Replace the source and its records, and return the records."""
            replaced = _delete_sources(connection, stamp.path, stamp.session)
            source = connection.execute(
                "INSERT INTO claim_sources (path, session, size, mtime, stamp, reader, failure) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*_list_values(stamp), __version__, failure),
            ).lastrowid
            added = []
            for position, (digest, header, base) in enumerate(described):
                row = _add_record(connection, digest, header, base)
                connection.execute(
                    "INSERT INTO claim_source_records VALUES (?, ?, ?)", (source, position, row)
                )
                added.append(IndexedRecord(row, header, base))
            _delete_unused_records(connection, replaced)
            return added

        return self._write(insert_source)

    def forget_missing_sources(self) -> None:
        """Forget all sources whose files do not exist any more."""
        paths = [path for (path,) in self._read("SELECT DISTINCT path FROM claim_sources", ())]
        missing = [path for path in paths if not os.path.lexists(path)]

        def delete_missing(connection: sqlite3.Connection) -> None:
            """Delete the missing sources, and the records that only they have."""
            for path in missing:
                _delete_unused_records(connection, _delete_sources(connection, path, None))

        if missing:
            self._write(delete_missing)

    def find_claims(self, row: int, base: str) -> int | None:
        """Return the row of the claims of a record with a base; `None` if they are unknown."""
        rows = self._read("SELECT id FROM claims WHERE record = ? AND base = ?", (row, base))
        return int(rows[0][0]) if rows else None

    def add_claims(self, row: int, base: str, claims: RecordClaims) -> None:
        """Add the claims of a record, unless they cannot be stored, or the record is gone."""
        try:
            blob = encode_claims(claims)
            keys = list_claim_keys(claims)
        except _ENCODING_ERRORS:  # Such as a lone surrogate: the record is replayed each time.
            return

        def insert_claims(connection: sqlite3.Connection) -> None:
            """Add the claims and their keys, unless another process did so before."""
            added = connection.execute(
                "INSERT OR IGNORE INTO claims (record, base, claims) "
                "SELECT id, ?, ? FROM claim_records WHERE id = ?",
                (base, blob, row),
            )
            if added.rowcount:
                connection.executemany(
                    "INSERT OR IGNORE INTO claim_keys VALUES (?, ?)",
                    [(key, added.lastrowid) for key in sorted(keys)],
                )

        self._write(insert_claims)

    def select_claims(self, versions: Sequence[FileVersion]) -> set[int]:
        """Return the rows of all claims that may say something about versions of files.

        Claims are about added lines. Only where a record knows a whole version, its other lines
        matter too: whether they are common decides about a file with another name.
        """
        states = {make_state_key(version): version for version in versions}
        known = self._select(_SELECT_KNOWN_KEYS, states)
        whole = [version for key, version in states.items() if key in known]
        return self._select(_SELECT_CLAIMS, list_version_keys(versions) | list_line_keys(whole))

    def _select(self, statement: str, keys: Iterable[int]) -> set[int]:
        """Return the values that a statement with a list of keys selects."""
        return {value for (value,) in self._read(statement, (json.dumps(list(keys)),))}

    def load_claims(self, claims: int, wanted: Collection[str]) -> RecordClaims | None:
        """Return claims by their row, with the wanted states; `None` if they are damaged."""
        rows = self._read("SELECT claims FROM claims WHERE id = ?", (claims,))
        try:
            return decode_claims(rows[0][0], wanted) if rows else None
        except _DECODING_ERRORS:
            return None

    def _read(self, statement: str, parameters: Sequence[Any]) -> list[Any]:
        """Return the rows of a query; if it fails, close the index, and return an empty list."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except (sqlite3.Error, UnicodeEncodeError):
            self.close()
            return []

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return the result of work in a transaction; on failure, close the index, return None."""
        if self._connection is None:
            return None
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            check_index_part(self._connection, _PART, _list_schema())
            result = work(self._connection)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, UnicodeEncodeError, *_DECODING_ERRORS):
            self.close()
            return None
        return result


def _list_schema() -> list[str]:
    """Return the statements that create the tables of the index."""
    return [statement for statement in _SCHEMA.split(";") if statement.strip()]


def _list_values(value: Any) -> Iterator[Any]:
    """Yield the values of a dataclass in the order of its fields."""
    return (getattr(value, field.name) for field in fields(value))


def _build_indexed_record(row: Sequence[Any]) -> IndexedRecord:
    """Return a record from its row: id, session, entries, attributed, names, base."""
    number, session, entries, attributed, packed, base = row
    names = array(_NAME_HASH_FORMAT)
    names.frombytes(packed)
    header = RecordingHeader(session, entries, bool(attributed), frozenset(names))
    return IndexedRecord(number, header, base)


def _add_record(
    connection: sqlite3.Connection, digest: str, header: RecordingHeader, base: str
) -> int:
    """Add a record unless the index has it; return its row."""
    known = connection.execute(
        "SELECT id FROM claim_records WHERE digest = ?", (digest,)
    ).fetchone()
    if known is not None:
        return int(known[0])
    packed = array(_NAME_HASH_FORMAT, sorted(header.names)).tobytes()
    added = connection.execute(
        "INSERT INTO claim_records (digest, session, entries, attributed, base, names) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (digest, header.session, header.entry_count, header.is_attributed, base, packed),
    )
    return int(added.lastrowid or 0)


def _find_stored_base(record: dict[str, Any]) -> str:
    """Return the revision that a record was attributed with; empty without one."""
    stored = parse_stored_attribution(record)
    return stored.base if stored is not None else ""


def _delete_sources(connection: sqlite3.Connection, path: str, session: str | None) -> set[int]:
    """Delete a source, or all sources at a path without a `session`; return their records."""
    rows = connection.execute(
        "SELECT id FROM claim_sources WHERE path = ? AND session = ifnull(?, session)",
        (path, session),
    ).fetchall()
    records: set[int] = set()
    for row in rows:
        used = connection.execute("SELECT record FROM claim_source_records WHERE source = ?", row)
        records.update(record for (record,) in used)
        connection.execute("DELETE FROM claim_source_records WHERE source = ?", row)
        connection.execute("DELETE FROM claim_sources WHERE id = ?", row)
    return records


def _delete_unused_records(connection: sqlite3.Connection, records: Iterable[int]) -> None:
    """Delete the records that no source has any more, and their claims."""
    for record in records:
        used = connection.execute("SELECT 1 FROM claim_source_records WHERE record = ?", (record,))
        if used.fetchone() is not None:
            continue
        claims = connection.execute("SELECT id, claims FROM claims WHERE record = ?", (record,))
        for row, blob in claims.fetchall():
            keys = list_claim_keys(decode_claims(blob, None))
            connection.executemany(
                "DELETE FROM claim_keys WHERE key = ? AND claims = ?", [(key, row) for key in keys]
            )
        connection.execute("DELETE FROM claims WHERE record = ?", (record,))
        connection.execute("DELETE FROM claim_records WHERE id = ?", (record,))


# Records whose claims come from the index


@dataclass(frozen=True, slots=True)
class RecordHandle:
    """A record that the index knows, and how to read it."""

    indexed: IndexedRecord
    load: Callable[[], dict[str, Any]]
    """Returns the record, or raises `UnreadableInput` if its source changed meanwhile."""
    read_input: Callable[[], Any] = lambda: None
    """Returns the record with its source, or raises `UnreadableInput` in the same way."""


class IndexedRecords:
    """Records, and the index with claims of all or some of them."""

    def __init__(
        self,
        index: ClaimIndex,
        handles: Sequence[RecordHandle],
        progress: Callable[[int, int], None],
    ) -> None:
        """Use an index; `progress` gets the number of replayed records, and of all to replay."""
        self.index = index
        self.handles = handles
        self.progress = progress
        self.gathered: dict[str, RecordHandle] = {}
        """The records whose claims were gathered, by their ids."""

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.handles)

    def gather_claims(
        self, bases: BaseLookup, versions: Sequence[FileVersion], *, everything: bool = False
    ) -> list[RecordClaims]:
        """Return the claims that may say something about versions of files, or `everything`.

        Records without claims in the index are replayed, and their claims added to it. `bases`
        returns the base files of a revision.

        Raises:
            UnreadableInput: a session that has to be read again changed meanwhile.
        """
        kept = drop_shorter_recordings(self.handles, lambda handle: handle.indexed.header)
        found = [(handle, self._find_base_key(handle, bases)) for handle in kept]
        wanted = {version.digest for version in versions}
        replayed = self._replay_unknown(found, bases)
        relevant = self.index.select_claims(versions)
        gathered = []
        for handle, base in found:
            claims = replayed.get(handle.indexed.row)
            if claims is None:
                row = self.index.find_claims(handle.indexed.row, base)
                if row is not None and row not in relevant and not everything:
                    continue
                claims = self.index.load_claims(row, wanted) if row is not None else None
            if claims is None:  # The index failed, or is damaged.
                from vacr.blame.session_claims import gather_own_claims

                claims = gather_own_claims(handle.load(), bases, wanted)
            self.gathered[claims.facts.record] = handle
            gathered.append(claims)
        return gathered

    def _find_base_key(self, handle: RecordHandle, bases: BaseLookup) -> str:
        """Return the commit that the claims of a record depend on; empty without one."""
        base = bases(handle.indexed.base) if handle.indexed.base else None
        return base.revision if base is not None else ""

    def _replay_unknown(
        self, found: Sequence[tuple[RecordHandle, str]], bases: BaseLookup
    ) -> dict[int, RecordClaims]:
        """Replay the records whose claims the index lacks, and add them to it.

        Return the claims by the rows of their records.
        """
        unknown = [
            (handle, base)
            for handle, base in found
            if self.index.find_claims(handle.indexed.row, base) is None
        ]
        replayed: dict[int, RecordClaims] = {}
        if not unknown:
            return replayed
        from vacr.blame.session_claims import gather_own_claims

        for number, (handle, base) in enumerate(unknown):
            self.progress(number, len(unknown))
            claims = gather_own_claims(handle.load(), bases, None)
            self.index.add_claims(handle.indexed.row, base, claims)
            replayed[handle.indexed.row] = claims
        return replayed

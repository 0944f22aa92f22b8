"""Cursor's two databases, with the values of a test."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

_KEY_VALUE = "(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
_HEADERS = """(composerId TEXT PRIMARY KEY, workspaceId TEXT, createdAt INTEGER, lastUpdatedAt INTEGER, isArchived INTEGER,
    isSubagent INTEGER, recency INTEGER, checkpointAt INTEGER, value TEXT)"""
KINDS = (
    "bubbleId",
    "messageRequestContext",
    "checkpointId",
    "codeBlockDiff",
    "codeBlockPartialInlineDiffFates",
    "ofsContent",
)
START = 1_785_000_000_000


def editor(
    path: Path,
    rows: dict,
    items: dict | None = None,
    headers: list | None = None,
    journal: str = "wal",
) -> Path:
    """Make the editor's database from values by key.

    Texts and bytes are stored unchanged, other values as JSON.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute(f"CREATE TABLE ItemTable {_KEY_VALUE}")
        connection.execute(f"CREATE TABLE cursorDiskKV {_KEY_VALUE}")
        connection.executemany(
            "INSERT INTO cursorDiskKV VALUES (?, ?)",
            [(key, stored(value)) for key, value in rows.items()],
        )
        connection.executemany(
            "INSERT INTO ItemTable VALUES (?, ?)",
            [(k, stored(v)) for k, v in (items or {}).items()],
        )
        if headers is not None:
            connection.execute(f"CREATE TABLE composerHeaders {_HEADERS}")
            connection.executemany(
                "INSERT INTO composerHeaders (composerId, isSubagent, value) VALUES (?, ?, ?)",
                headers,
            )
    return path


def stored(value):
    return value if value is None or isinstance(value, str | bytes) else json.dumps(value)


def composer_rows(path: Path, composer: str) -> list:
    """Return the values of a conversation's rows, found by key without code of the package."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        rows = {
            key: value
            for key, value in connection.execute("SELECT key, value FROM cursorDiskKV")
            if value is not None
        }
    own = [rows.get(f"composerData:{composer}")]
    for key, value in rows.items():
        kind, _, rest = key.partition(":")
        if (
            kind in KINDS
            and rest.startswith(f"{composer}:")
            and (kind == "ofsContent" or rest.rpartition(":")[0] == composer)
        ):
            own.append(value)
    said = " ".join(
        value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        for value in own
    )
    return own + [
        value for key, value in rows.items() if key.startswith("composer.content.") and key in said
    ]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def varint(number: int) -> bytes:
    """Encode a number as protobuf does."""
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def field(number: int, value: bytes | str | int) -> bytes:
    """Encode a field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def command_line(
    path: Path, meta, blobs: list, root: bytes | None = None, journal: str = "wal"
) -> Path:
    """Make the command line's database: blobs named by digest, and the row that names the root."""
    if isinstance(meta, dict):
        if root is not None:
            meta = meta | {"latestRootBlobId": digest(root)}
            blobs = [*blobs, root]
        meta = json.dumps(meta).encode().hex()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        if meta is not None:
            connection.execute("INSERT INTO meta VALUES ('0', ?)", [meta])
        connection.executemany(
            "INSERT OR IGNORE INTO blobs VALUES (?, ?)", [(digest(blob), blob) for blob in blobs]
        )
    return path


def blob_rows(path: Path) -> list:
    """Return all values of the command line's database."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        found = [
            *connection.execute("SELECT data FROM blobs"),
            *connection.execute("SELECT value FROM meta"),
        ]
    return [value for (value,) in found]

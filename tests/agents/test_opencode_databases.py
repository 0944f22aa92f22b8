"""Unusual OpenCode databases: every session is listed, and every value is recorded."""

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.discovery.leaves import lost
from tests.discovery.opencode_database import SCHEMAS
from vacr import validate
from vacr.discovery.opening import read_sessions
from vacr.discovery.session_stores import DatabaseFile
from vacr.record.encoding import encode_with_id

NEVER = {
    "permission",
    "credential",
    "account",
    "control_account",
    "migration",
    "__drizzle_migrations",
}
"""Tables that are nobody's session."""
KEYS = {"session": "id", "project": "id", "event": "aggregate_id", "event_sequence": "aggregate_id"}
OPTIONAL = {"later", "event", "event_sequence", "session_context_epoch"}
"""Tables whose rows may belong to no session."""

ids = st.sampled_from(
    ["ses_1", "ses_2", "", "5", 5, 2.5, b"\xff\xfe", b"ses_1", None, "sés'\"\n", -(2**63)]
)
words = st.text(alphabet="abäß€\U0001f600\0\n\"'{[", max_size=4).map(lambda text: f"w{text}")
plain = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    words,
    st.binary(max_size=4),
)
names = st.sampled_from(
    [
        "id",
        "type",
        "role",
        "text",
        "time",
        "tokens",
        "state",
        "tool",
        "content",
        "sessionID",
        "messageID",
        "x",
    ]
)
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        words,
        st.sampled_from(["user", "assistant", "tool", "text"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)
data = st.one_of(
    st.dictionaries(names, values, max_size=5).map(json.dumps), values.map(json.dumps), plain
)


@st.composite
def databases(draw):
    """Draw tables with their columns and rows."""
    schema = draw(st.sampled_from(sorted(SCHEMAS)))
    found = {}
    for table, columns in SCHEMAS[schema].items():
        known = [
            column.split()[0]
            for column in columns.replace("\n", " ").split(",")
            if "PRIMARY KEY (" not in column
        ]
        known = [column for column in known if column.isidentifier()]
        missing = draw(st.sets(st.sampled_from(known), max_size=2)) - {
            KEYS.get(table, "session_id"),
            known[0],
        }
        found[table] = [column for column in known if column not in missing]
    found["later"] = ["session_id", "words"]
    for columns in found.values():
        columns.extend(draw(st.sampled_from([[], ["extra"], ["rowid"], ["data2", "oid"]])))
    typed = draw(st.sampled_from(["", " TEXT", " BLOB", " NUMERIC"]))
    rows = []
    for table in draw(st.lists(st.sampled_from(sorted(found.keys() - NEVER)), max_size=8)):
        row = {}
        for column in found[table]:
            if column in (
                "id",
                "session_id",
                "aggregate_id",
                "message_id",
                "project_id",
                "parent_id",
            ):
                row[column] = draw(ids)
            else:
                row[column] = draw(
                    data if column in ("data", "revert", "model", "sandboxes") else plain
                )
        rows.append((table, row))
    return found, typed, rows


def spelled(identity):
    if isinstance(identity, bytes):
        try:
            return identity.decode()
        except UnicodeDecodeError:
            return f"0x{identity.hex()}"
    return "" if identity is None else str(identity)


def written(path, tables, typed, rows):
    """Write a database, and return its rows as stored."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, columns in tables.items():
            connection.execute(
                f'CREATE TABLE "{table}" ({", ".join(f"{column}{typed}" for column in columns)})'
            )
        for table, row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(
                f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({marks})',  # noqa: S608
                [*row.values()],
            )
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [
            (table, dict(row))
            for table in tables
            for row in connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608
        ]


@given(databases())
@settings(max_examples=60, deadline=None)
def test_every_session_is_listed_and_every_value_recorded(database):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        expected = {}
        for table, row in written(path, *database):
            key = row[KEYS.get(table, "session_id")] if table not in NEVER | {"project"} else None
            if table not in NEVER | {"project"} and (key is not None or table not in OPTIONAL):
                expected.setdefault(spelled(key), []).append(row)
        with closing(DatabaseFile(path)) as opened:
            assert [listed.session_id for listed in opened.sessions()] == sorted(expected)
        for session, rows in expected.items():
            (found,) = read_sessions(path, session=session, sub_agents=False)
            record = json.loads(b"".join(encode_with_id(found.reading.record)))
            assert validate(record).findings == []
            assert lost(rows, record) == set()

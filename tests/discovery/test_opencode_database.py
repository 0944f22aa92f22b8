"""OpenCode's database in every version: each session is one record, made of its rows alone."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

from tests.discovery.leaves import lost
from tests.discovery.opencode_database import (
    CHILD,
    SCHEMAS,
    SECRETS,
    SESSION,
    START,
    OpenCode,
    conversation,
    filled,
    rows_of,
)
from tests.discovery.recorded import read_all_sessions, record_bytes, records, shape
from vacr.agents.opencode.stores import _SessionTable
from vacr.discovery.opening import read_sessions
from vacr.discovery.session_stores import DatabaseFile
from vacr.errors import NotASession, UnreadableInput

SESSIONS = [CHILD, SESSION, "ses_1b9Other"]


@pytest.fixture
def database(tmp_path):
    return OpenCode(tmp_path / "opencode.db")


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("schema", SCHEMAS)
class TestEveryVersion:
    def test_each_session_is_a_record_that_lacks_nothing(self, tmp_path, schema, journal):
        path = filled(tmp_path / "opencode.db", schema, journal).close()
        made = records(path)
        assert sorted(made) == SESSIONS
        for session, record in made.items():
            assert lost(rows_of(path, session), record) == set()

    def test_what_happened_is_in_order(self, tmp_path, schema, journal):
        record = records(filled(tmp_path / "opencode.db", schema, journal).close())[SESSION]
        session = record["session"]
        entries = session["entries"]
        tools = ["tool-call", "tool-result"] * 2
        assistant = ("assistant", "step-start", "reasoning", *tools, "patch", "step-finish")
        assert [shape(entry) for entry in entries[:3]] == ["user", assistant, "user"]
        assert {shape(entry) for entry in entries[3:]} <= {
            "event",
            "event_sequence",
            "session_input",
            "session_context_epoch",
        }
        assert [entry["id"] for entry in entries[:3]] == ["msg_a01", "msg_a02", "msg_a03"]
        assert [entry["timestamp"] for entry in entries[:3]] == [START + 1, START + 10, START + 100]
        assert entries[1]["parent-id"] == "msg_a01"
        assert entries[1]["token-usage"] == {
            "input": 1011,
            "cached": 1000,
            "output": 25,
            "reasoning": 5,
            "cost": 0.0125,
        }
        calls = [
            child
            for child in entries[1]["children"]
            if child["type"] in ("tool-call", "tool-result")
        ]
        assert [child["call-id"] for child in calls] == ["call_a1", "call_a1", "call_a2", "call_a2"]
        assert [child.get("is-error") for child in calls] == [None, False, None, True]
        assert session["session-start"] == START
        assert session["session-end"] == START + 60_000
        assert session["environment"]["working-dir"] == f"/home/nora/{SESSION}"
        meta = {
            "cli-name": "opencode",
            "cli-version": "1.18.21",
            "model-id": "gpt-5.2",
            "models": ["gpt-5.2"],
        }
        assert session["agent-meta"] == meta | {"model-provider": "openai"}
        assert record["vacr"]["source"]["format"] == "opencode-sqlite"
        assert "drift" not in record["vacr"]

    def test_only_its_own_rows_are_exported_and_credentials_never(self, tmp_path, schema, journal):
        for found in read_all_sessions(filled(tmp_path / "opencode.db", schema, journal).close()):
            (part,) = found.source.parts
            head, *rows = map(json.loads, part.data.splitlines())
            assert head == {"vacr-export": "opencode-sqlite", "session": found.label}
            assert part.name == f"opencode.{found.label}.jsonl"
            for line in rows:
                row, table = line["row"], line["table"]
                named = (
                    row.get("aggregate_id")
                    or row.get("session_id")
                    or (row["id"] if table == "session" else found.label)
                )
                assert named == found.label
            others = [session for session in SESSIONS if session not in (found.label, SESSION)]
            assert not any(f"words of {other}".encode() in part.data for other in others)
            assert not any(secret.encode() in part.data for secret in SECRETS)
            assert not {line["table"] for line in rows} & {
                "credential",
                "account",
                "control_account",
                "permission",
            }


def test_sub_agent_names_its_parent_session(tmp_path):
    record = records(filled(tmp_path / "opencode.db").close())[CHILD]
    assert record["vacr"]["parent"] == {"session-id": SESSION}
    assert record["session"]["format"] == "autonomous"


def test_newest_version_describes_the_session(tmp_path):
    record = records(filled(tmp_path / "opencode.db").close())[SESSION]
    session = record["session"]
    assert session["model"] == {"id": "gpt-5.2", "providerID": "openai", "variant": "high"}
    assert session["tokens_cache_read"] == 2**62
    assert session["environment"]["sandboxes"] == ["/home/nora/sandbox"]
    assert [todo["content"] for todo in session["todo"]] == ["write it", "test it"]
    assert session["project"]["worktree"] == "/home/nora"
    assert [
        entry["data"]["seq"] for entry in session["entries"] if entry.get("event-type") == "event"
    ] == [1, 2]


def test_secret_of_a_share_is_reported(tmp_path):
    (found,) = [
        session
        for session in read_all_sessions(filled(tmp_path / "opencode.db").close())
        if session.label == SESSION
    ]
    assert found.reading.record["vacr"]["secrets"] == ["/session/session_share/secret"]
    assert "secret of a shared session" in found.reading.notices[0].message


def test_reverted_messages_are_marked(database):
    conversation(database, revert={"messageID": "msg_a02", "snapshot": "abc", "diff": "--- a"})
    entries = records(database.close())[SESSION]["session"]["entries"]
    assert [entry.get("vacr", {}).get("superseded") for entry in entries] == [
        None,
        "reverted",
        "reverted",
    ]


V2 = [
    (
        "user",
        {"text": "first words", "files": [{"uri": "file:///a"}], "time": {"created": START + 1}},
    ),
    ("agent-switched", {"agent": "plan", "time": {"created": START + 2}}),
    (
        "shell",
        {
            "shell": {"command": "ls"},
            "output": "a.py",
            "time": {"created": START + 3, "completed": START + 4},
        },
    ),
    (
        "assistant",
        {
            "agent": "build",
            "model": {"id": "claude-opus-5", "providerID": "anthropic", "variant": "max"},
            "content": [
                {"type": "reasoning", "id": "r1", "text": "hm", "time": {"created": 5}},
                {"type": "text", "id": "t1", "text": "I will"},
                {
                    "type": "tool",
                    "id": "call_1",
                    "name": "edit",
                    "state": {
                        "status": "completed",
                        "input": {"a": 1},
                        "structured": {"s": 1},
                        "content": [{"text": "ok"}],
                    },
                    "time": {"created": START + 6, "completed": START + 7},
                },
                {
                    "type": "tool",
                    "id": "call_2",
                    "name": "bash",
                    "state": {"status": "pending", "input": '{"comm'},
                },
                {
                    "type": "tool",
                    "id": "call_3",
                    "name": "bash",
                    "state": {
                        "status": "error",
                        "input": {},
                        "content": [],
                        "error": {"type": "unknown", "message": "no"},
                    },
                },
                {"type": "brand-new", "value": 7},
            ],
            "finish": "stop",
            "cost": 0.25,
            "tokens": {"input": 3, "output": 4, "reasoning": 0, "cache": {"read": 5, "write": 6}},
            "time": {"created": START + 5, "completed": START + 8},
        },
    ),
    ("compaction", {"reason": "auto", "summary": "all so far", "time": {"created": START + 9}}),
]


def add_v2(database, table):
    for number, (kind, data) in reversed([*enumerate(V2, 1)]):
        # The ids run backwards: a sequence outranks them.
        identity = f"evt_{9 - number}" if table == "session_message" else f"evt_{number}"
        database.add(table, id=identity, session_id=SESSION, type=kind, seq=number, data=data)


@pytest.mark.parametrize(
    ("schema", "table"), [("newest", "session_message"), ("middle", "session_entry")]
)
def test_session_of_the_later_model_alone_is_read(tmp_path, schema, table):
    database = OpenCode(tmp_path / "opencode.db", schema)
    database.add_session()
    add_v2(database, table)
    record = records(database.close())[SESSION]
    user, switched, shell, assistant, compaction = record["session"]["entries"]
    assert user["content"] == "first words"
    assert [entry["event-type"] for entry in (switched, shell, compaction)] == [
        "agent-switched",
        "shell",
        "compaction",
    ]
    kinds = ["reasoning", "tool-call", "tool-result", "tool-call", "tool-call", "tool-result"]
    assert [child["type"] for child in assistant["children"]] == kinds
    assert [child.get("call-id") for child in assistant["children"][1:]] == [
        "call_1",
        "call_1",
        "call_2",
        "call_3",
        "call_3",
    ]
    assert assistant["children"][2]["output"] == [{"text": "ok"}]
    assert assistant["content"] == [
        {"type": "text", "id": "t1", "text": "I will"},
        {"type": "brand-new", "value": 7},
    ]
    assert assistant["token-usage"] == {
        "input": 14,
        "cached": 5,
        "output": 4,
        "reasoning": 0,
        "cost": 0.25,
    }
    assert assistant["stop-reason"] == "stop"
    assert [entry["timestamp"] for entry in record["session"]["entries"]] == [
        START + number for number in (1, 2, 3, 5, 9)
    ]
    assert len({entry["id"] for entry in record["session"]["entries"]}) == 5
    assert record["session"]["agent-meta"]["models"] == ["claude-opus-5"]
    assert record["session"]["agent-meta"]["model-provider"] == "anthropic"
    assert lost(rows_of(database.path, SESSION), record) == set()


def test_rows_of_the_later_model_are_kept_if_both_describe_a_session(database):
    conversation(database)
    add_v2(database, "session_message")
    entries = records(database.close())[SESSION]["session"]["entries"]
    assert [entry["type"] for entry in entries[:3]] == ["user", "assistant", "user"]
    assert [entry["event-type"] for entry in entries[3:]] == ["session_message"] * len(V2)


ODD_DATA = {
    "no JSON": "not { JSON",
    "a number": "17",
    "an array": '["a", 2]',
    "a text": '"words alone"',
    "null": "null",
    "empty": "",
    "repeated members": '{"role":"user","role":"assistant","time":{"created":5}}',
    "no role": '{"time":{"created":5}}',
    "another id inside": '{"id":"msg_other","role":"user"}',
    "another session inside": '{"sessionID":"ses_other","role":"user"}',
    "numbers as written": '{"role":"user","cost":1.50e2,"big":123456789012345678901234567890}',
    "half a character": '{"role":"user","text":"\\ud83d"}',
    "too deep": '{"role":"user","x":' + "[" * 2000 + "]" * 2000 + "}",
    "not UTF-8": b'{"role":"user","text":"\xff\xfe"}',
    "a blob of JSON": b'{"role":"user","text":"from a blob"}',
}


@pytest.mark.parametrize("table", ["message", "part", "session_message", "event"])
@pytest.mark.parametrize("data", ODD_DATA.values(), ids=ODD_DATA)
def test_data_that_is_not_an_object_is_kept(database, table, data):
    conversation(database)
    known = {
        "id": "odd_1",
        "session_id": SESSION,
        "aggregate_id": SESSION,
        "message_id": "msg_a02",
        "type": "text",
        "seq": 4,
    }
    database.add(table, **known, time_created=START + 200, data=data)
    (record,) = records(database.close()).values()
    assert lost(rows_of(database.path, SESSION), record) == set()
    assert [
        entry["id"] for entry in record["session"]["entries"] if entry["type"] != "system-event"
    ][:3] == [
        "msg_a01",
        "msg_a02",
        "msg_a03",
    ]


ODD_SESSIONS = {
    "no directory": {"directory": None},
    "no project": {"project_id": None},
    "a title that is JSON": {"title": "[1, 2]"},
    "a title that is a blob": {"title": b"\xff\x00"},
    "times that are texts": {
        "time_created": "yesterday",
        "time_updated": "2026-03-14T09:26:53.589Z",
    },
    "times before all times": {"time_created": -1, "time_updated": 2**63 - 1},
    "a revert that is none": {"revert": "undone"},
    "a model that is a name": {"model": "gpt-5.2"},
    "an infinite cost": {"cost": float("inf")},
    "a parent that is a number": {"parent_id": 7},
}


@pytest.mark.parametrize("columns", ODD_SESSIONS.values(), ids=ODD_SESSIONS)
def test_unusual_columns_are_kept(tmp_path, columns):
    database = OpenCode(tmp_path / "opencode.db", "synthetic")
    for name in columns.keys() - {
        "directory",
        "project_id",
        "title",
        "parent_id",
        "time_created",
        "time_updated",
    }:
        database.connection.execute(f"ALTER TABLE session ADD COLUMN {name}")
    conversation(database, **columns)
    (record,) = records(database.close()).values()
    assert record["session"]["session-id"] == SESSION
    (row,) = [row for row in rows_of(database.path, SESSION) if "slug" in row]
    expected = {
        name: "Infinity" if value == float("inf") else value
        for name, value in row.items()
        if name != "title"
    }
    if columns.get("cost"):
        expected["cost"] = "inf"
    assert lost([expected], record) == set()
    if columns.get("title") == "[1, 2]":
        assert record["session"]["title"] == "[1, 2]"


def test_messages_and_parts_without_a_session_become_sessions(database):
    conversation(database)
    database.add_message("msg_x1", "ses_gone", START, {"role": "user"})
    database.add_part("prt_x1", "msg_x1", "ses_gone", {"type": "text", "text": "words of nobody"})
    database.add_part("prt_y1", "msg_gone", SESSION, {"type": "text", "text": "a part of nothing"})
    database.add_part(
        "prt_z1", "msg_gone2", "ses_lost", {"type": "text", "text": "all that is left"}
    )
    database.connection.execute(
        "INSERT INTO session SELECT NULL, 'p', NULL, 's', 'd', 't', 'v' "
        + ", NULL" * 7
        + ", 1, 1"
        + ", NULL" * 13
    )
    made = records(database.close())
    ((nameless, unnamed),) = [
        (session, record) for session, record in made.items() if not session.startswith("ses_")
    ]
    assert sorted(made) == [nameless, SESSION, "ses_gone", "ses_lost"]
    for session, record in made.items():
        assert lost(rows_of(database.path, session), record) == set()
    assert unnamed["session"]["title"] == "t"
    assert nameless == unnamed["vacr"]["source"]["parts"][0]["sha-256"]
    assert made["ses_gone"]["session"]["entries"][0]["content"][0]["text"] == "words of nobody"


ODD_IDS = {
    "a number": 5,
    "a blob": b"\xff\x01",
    "a fraction": 2.5,
    "a blob of text": b"ses_blob",
    "empty": "",
    "none": None,
}
ODD_IDS |= {"a text that is not UTF-8": "CAST(x'736573ff' AS TEXT)"}
SPELLED = {5: "5", b"\xff\x01": "0xff01", 2.5: "2.5", b"ses_blob": "ses_blob", "": "", None: ""}


@pytest.mark.parametrize("identity", ODD_IDS.values(), ids=ODD_IDS)
@pytest.mark.parametrize("schema", [None, "newest"])
def test_session_id_may_have_any_type(tmp_path, schema, identity):
    """Without column types an id keeps its type; with them it becomes text where possible."""
    path = tmp_path / "opencode.db"
    database = OpenCode(path, schema or "synthetic")
    if schema is None:
        for table in ("session", "message", "part"):
            columns = [row[1] for row in database.connection.execute(f"PRAGMA table_info({table})")]
            database.connection.executescript(
                f"DROP TABLE {table}; CREATE TABLE {table} ({', '.join(columns)})"
            )
    conversation(database)
    conversation(database, "ses_odd", "o")
    nullable = (
        {"session": "id"}
        if identity is None and schema
        else {"session": "id", "message": "session_id", "part": "session_id"}
    )
    expression, values = (identity, []) if str(identity).startswith("CAST") else ("?", [identity])
    for table, column in nullable.items():
        database.connection.execute(
            f"UPDATE {table} SET {column} = {expression} WHERE {column} = 'ses_odd'",  # noqa: S608
            values,
        )
    database.close()
    name = SPELLED.get(identity, "0x736573ff")
    with closing(DatabaseFile(path)) as opened:
        assert name in [listed.session_id for listed in opened.sessions()]
    ((found, *_),) = [read_all_sessions(path, session=name)]
    record = json.loads(record_bytes(found))
    assert record["session"]["session-id"] == (
        name or record["vacr"]["source"]["parts"][0]["sha-256"]
    )
    assert record["session"]["title"] == "Title of ses_odd"
    said = record_bytes(found)
    assert (b"please, words of ses_odd" in said) == (len(nullable) > 1)
    assert b"please, words of ses_1b7Nora" not in said


NAMING = {
    "session_message": {"id": "m", "type": "user", "seq": 1, "data": {"text": "only words"}},
    "todo": {"content": "only words", "status": "done", "priority": "low", "position": 1},
    "session_share": {"id": "s", "secret": "x", "url": "only words"},
    "session_input": {"id": "i", "prompt": {"text": "only words"}, "delivery": "queue"},
    "session_context_epoch": {"baseline": "only words"},
    "message": {"id": "m", "data": {"role": "user", "x": "only words"}},
    "part": {"id": "p", "message_id": "m", "data": {"type": "text", "text": "only words"}},
}


@pytest.mark.parametrize("table", NAMING)
def test_session_named_by_one_table_alone_is_read(database, table):
    conversation(database)
    database.add(table, session_id="ses_alone", **NAMING[table])
    made = records(database.close())
    assert sorted(made) == [SESSION, "ses_alone"]
    assert "only words" in json.dumps(made["ses_alone"]["session"])


def test_rows_missing_from_an_index_are_read(database):
    conversation(database)
    run = database.connection.execute
    run("CREATE INDEX spoilt ON part (session_id, id)")
    ((sql, page),) = run("SELECT sql, rootpage FROM sqlite_master WHERE name = 'spoilt'").fetchall()
    run("PRAGMA writable_schema = ON")
    for name in ("part_session_idx", "part_message_idx", "spoilt"):
        run("DELETE FROM sqlite_master WHERE name = ?", [name])
    database.close()
    with closing(sqlite3.connect(database.path)) as connection, connection:
        data = json.dumps({"type": "text", "text": "words that no index has"})
        connection.execute(
            "INSERT INTO part VALUES ('prt_h', 'msg_a01', ?, 1, 1, ?)", [SESSION, data]
        )
        connection.execute(
            "INSERT INTO part VALUES ('prt_i', 'msg_x', 'ses_hidden', 1, 1, ?)", [data]
        )
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "INSERT INTO sqlite_master VALUES ('index', 'spoilt', 'part', ?, ?)", [page, sql]
        )
    with closing(sqlite3.connect(database.path)) as connection:
        assert "missing from index spoilt" in str(
            connection.execute("PRAGMA integrity_check").fetchall()
        )
    made = records(database.path)
    assert sorted(made) == [SESSION, "ses_hidden"]
    assert all("words that no index has" in json.dumps(record) for record in made.values())


def test_tables_are_read_once_for_all_sessions(database, monkeypatch):
    for number in range(20):
        conversation(database, f"ses_{number}", f"x{number}_")
    scans = []

    def find(table, query, find=_SessionTable.locate_rows):
        scans.append(table.name)
        find(table, query)

    monkeypatch.setattr(_SessionTable, "locate_rows", find)
    database.close()
    os.utime(database.path, (1, 1))
    with closing(DatabaseFile(database.path)) as opened:
        names = [listed.session_id for listed in opened.sessions()]
    assert len(names) == 20
    scans.clear()
    for name in names:
        read_all_sessions(database.path, session=name)
    assert scans.count("part") == 1
    for _ in read_all_sessions(database.path):
        pass
    assert scans.count("part") == 2


@pytest.mark.parametrize(
    "columns",
    [
        "session_id TEXT, rowid TEXT, x TEXT",
        "rowid, _rowid_, oid, session_id",
        "session_id PRIMARY KEY, x",
    ],
)
def test_table_without_row_numbers_is_read(database, columns):
    conversation(database)
    without = " WITHOUT ROWID" if "PRIMARY" in columns else ""
    database.connection.execute(f"CREATE TABLE later ({columns}){without}")
    names = [row[1] for row in database.connection.execute("PRAGMA table_info(later)")]
    for session in (SESSION, "ses_2"):
        values = [session if name == "session_id" else f"{name} of {session}" for name in names]
        database.connection.execute(
            f"INSERT INTO later VALUES ({', '.join('?' * len(names))})",  # noqa: S608
            values,
        )
    made = records(database.close())
    assert sorted(made) == [SESSION, "ses_2"]
    for session, record in made.items():
        (event,) = [
            entry["data"]
            for entry in record["session"]["entries"]
            if entry.get("event-type") == "later"
        ]
        assert event == {
            name: session if name == "session_id" else f"{name} of {session}" for name in names
        }


def test_empty_session_is_a_record_and_empty_database_is_refused(database):
    path = database.path
    database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with pytest.raises(NotASession, match="the database has no sessions"):
        read_all_sessions(path)
    database.add_session()
    assert records(database.close())[SESSION]["session"]["entries"] == []


def test_missing_session_is_an_error(database):
    conversation(database)
    (error,) = read_sessions(database.close(), session="ses_nobody")
    assert isinstance(error, UnreadableInput)
    assert "session ses_nobody not found" in error.message


def test_later_table_that_names_the_session_is_kept(database):
    conversation(database)
    database.connection.execute('CREATE TABLE "session ""goal""" (session_id TEXT, goal TEXT)')
    database.connection.execute("CREATE TABLE session_token (session_id TEXT, access TEXT)")
    database.connection.execute("CREATE VIRTUAL TABLE part_search USING fts5(session_id, text)")
    database.connection.execute(
        'INSERT INTO "session ""goal""" VALUES (?, \'to be done\')', [SESSION]
    )
    database.connection.execute("INSERT INTO session_token VALUES (?, ?)", [SESSION, SECRETS[0]])
    (found,) = read_all_sessions(database.close())
    assert found.reading.record["session"]["entries"][3]["data"] == {
        "session_id": SESSION,
        "goal": "to be done",
    }
    assert SECRETS[0].encode() not in found.source.main.data


@pytest.mark.parametrize("size", [10, 100_000])
def test_large_project_is_kept_with_its_first_database_session(database, size):
    database.add("project", id="prj_1", worktree="/home/nora", name="x" * size, sandboxes=[])
    for number in range(3):
        conversation(database, f"ses_{number}", f"x{number}_")
    made = records(database.close())
    for session, record in made.items():
        project = record["session"]["project"]
        if size == 10 or session == "ses_0":
            assert project["name"] == "x" * size
        else:
            assert project == {"id": "prj_1", "kept-with-session": "ses_0"}

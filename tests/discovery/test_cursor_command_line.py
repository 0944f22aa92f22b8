"""The database of Cursor's command line: blobs by digest, and a root that lists them."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.discovery.cursor_databases import START, blob_rows, command_line, digest, field
from tests.discovery.leaves import lost
from tests.discovery.recorded import read_all_sessions, records, shape
from vacr.agents.cursor.databases import parse_protobuf_fields

SESSION = "0b3f9a52-4c1d-4e53-9d0e-51f2f0c7a9d2"
META = {
    "agentId": SESSION,
    "name": "Fix the till",
    "mode": "default",
    "createdAt": START,
    "latestRootBlobId": "",
}


def blob(role, content, **members):
    return json.dumps({"role": role, "content": content} | members).encode()


MESSAGES = [
    blob("system", "You are an agent."),
    blob("user", [{"type": "text", "text": "<user_query>please</user_query>"}]),
    blob(
        "assistant",
        [
            {
                "type": "reasoning",
                "text": "hm",
                "signature": "c2ln",
                "providerOptions": {"cursor": {"modelName": "gpt-5.2"}},
            },
            {"type": "text", "text": "I will"},
            {
                "type": "tool-call",
                "toolCallId": "call_1",
                "toolName": "Write",
                "args": {"path": "a.py", "contents": "x"},
            },
        ],
        id="1",
    ),
    blob(
        "tool",
        [{"type": "tool-result", "toolCallId": "call_1", "toolName": "Write", "result": "ok"}],
        id="call_1",
    ),
    blob(
        "assistant",
        [{"type": "redacted-reasoning", "data": "ZW5j"}, {"type": "text", "text": "done"}],
        id="1",
    ),
]
PENDING = {
    "role": "assistant",
    "content": [
        {"type": "tool-call", "toolCallId": "call_2", "toolName": "Shell", "args": {"c": "ls"}}
    ],
}
BESIDE = [
    b"\xff\xfe\x00 protobuf",
    b"",
    b"a file's text",
    b'{"a": "file"}',
    b'{"half": "a fi',
    blob("user", "an abandoned branch"),
]


def root(*messages, more=b""):
    return b"".join(field(1, bytes.fromhex(digest(message))) for message in messages) + more


ROOT = root(
    *MESSAGES,
    more=field(4, json.dumps(PENDING))
    + field(5, field(1, 1200) + field(2, 200_000))
    + field(8, bytes(32))
    + field(9, "file:///home/nora/a%20till")
    + field(10, 1),
)


def test_conversation_follows_the_order_of_the_root(tmp_path):
    path = command_line(tmp_path / "store.db", META, [*reversed(MESSAGES), *BESIDE], ROOT)
    ((session, record),) = records(path).items()
    assert session == SESSION
    entries = record["session"]["entries"]
    talk = [
        "system",
        "user",
        ("assistant", "reasoning", "tool-call"),
        ("user", "tool-result"),
        ("assistant", "reasoning"),
    ]
    assert [shape(entry) for entry in entries[:6]] == [*talk, ("assistant", "tool-call")]
    assert [entry["id"] for entry in entries[:5]] == [digest(message) for message in MESSAGES]
    assert [shape(entry) for entry in entries[6:]] == ["blob"] * (len(BESIDE) + 1)
    assert [entry.get("vacr", {}).get("pending") for entry in entries[:6]] == [None] * 5 + [True]
    assert entries[3]["role"] == "tool"
    assert record["session"]["environment"]["working-dir"] == "/home/nora/a till"
    assert record["session"]["session-start"] == START
    assert record["session"]["agent-meta"]["models"] == ["gpt-5.2"]
    assert record["vacr"]["source"]["format"] == "cursor-store"
    assert record["vacr"]["source"]["parts"][0]["name"] == f"store.{SESSION}.jsonl"
    assert lost(blob_rows(path), record) == set()


def test_repeated_message_is_stored_once_and_named_twice(tmp_path):
    again, odd = blob("user", "continue"), b"no message"
    path = command_line(
        tmp_path / "store.db",
        META,
        [*MESSAGES, again, odd],
        root(again, MESSAGES[3], again, MESSAGES[3], odd, odd),
    )
    entries = records(path)[SESSION]["session"]["entries"]
    assert [entry.get("content") for entry in entries[:2]] == [
        "continue",
        json.loads(MESSAGES[3])["content"],
    ]
    assert entries[2] == {"type": "user", "vacr": {"repeats": digest(again)}}
    assert entries[3] == {"type": "user", "role": "tool", "vacr": {"repeats": digest(MESSAGES[3])}}
    assert entries[5] == {
        "type": "system-event",
        "event-type": "blob",
        "vacr": {"repeats": digest(odd)},
    }


def test_blob_named_often_takes_no_more_room(tmp_path):
    long = blob("user", "x" * 100_000)
    path = command_line(tmp_path / "store.db", META, [long], root(*[long] * 500))
    record = records(path)[SESSION]
    assert len(record["session"]["entries"]) == 501
    assert len(json.dumps(record)) < 2 * path.stat().st_size


HEADS = {
    "the last model": META | {"lastUsedModel": "claude-opus-5"},
    "no last model": META | {"lastUsedModel": "default"},
    "a key": META | {"blobEncryptionKey": "a2V5"},
    "a root that is missing": META | {"latestRootBlobId": "deadbeef"},
    "a root that is a list": META | {"latestRootBlobId": ["x"]},
    "a root that is a message": META | {"latestRootBlobId": digest(MESSAGES[1])},
    "a root that is text": META | {"latestRootBlobId": digest(BESIDE[2])},
    "an id that is a number": META | {"agentId": 5},
    "no name": {"agentId": SESSION},
    "JSON that is not in hexadecimal": json.dumps(META),
    "repeated members": b'{"agentId":"x","agentId":"y"}'.hex(),
    "an array": b"[1]".hex(),
    "no hexadecimal": "zz",
    "odd hexadecimal": "7b7",
    "not UTF-8": "ff7b",
    "a blob": b"\xff\x00",
    "nothing": None,
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_any_head_loses_nothing(tmp_path, head):
    path = command_line(tmp_path / "store.db", head, [*MESSAGES, *BESIDE])
    (record,) = records(path).values()
    assert lost(blob_rows(path), record) == set()


def test_head_describes_the_session(tmp_path):
    (found,) = read_all_sessions(
        command_line(
            tmp_path / "store.db",
            HEADS["a key"] | HEADS["the last model"] | {"blobEncryptionKey": "k"},
            [],
        )
    )
    assert found.reading.record["vacr"]["secrets"] == ["/session/blobEncryptionKey"]
    assert found.reading.record["session"]["agent-meta"]["model-id"] == "claude-opus-5"
    assert found.reading.record["session"]["name"] == "Fix the till"


def test_other_rows_of_the_head_are_kept(tmp_path):
    path = command_line(tmp_path / "store.db", META, MESSAGES, ROOT)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO meta VALUES ('1', 'of another version'), ('2', NULL), (NULL, 'of no key')"
        )
        connection.execute("INSERT INTO blobs VALUES ('none', NULL), (NULL, 'no id')")
    (record,) = records(path).values()
    assert lost(blob_rows(path), record) == set()


def test_other_tables_and_columns_are_kept(tmp_path):
    path = command_line(tmp_path / "store.db", META, MESSAGES, ROOT)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE turns (id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT)")
        connection.execute("INSERT INTO turns (data) VALUES ('words of a turn'), (NULL)")
        connection.execute("ALTER TABLE meta ADD COLUMN origin TEXT")
        connection.execute("ALTER TABLE blobs ADD COLUMN stored_at TEXT")
        connection.execute("UPDATE meta SET origin = 'beside the head'")
        connection.execute("UPDATE blobs SET stored_at = 'beside a message'")
    record = records(path)[SESSION]
    assert (
        lost([*blob_rows(path), "words of a turn", "beside the head", "beside a message"], record)
        == set()
    )
    assert [shape(entry) for entry in record["session"]["entries"][:2]] == ["system", "user"]


def test_repeated_keys_are_kept(tmp_path):
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("CREATE TABLE blobs (id TEXT, data BLOB)")
        connection.execute("CREATE TABLE meta (key TEXT, value TEXT)")
        connection.execute(
            "INSERT INTO meta VALUES ('0', ?), ('0', 'another head')",
            [json.dumps(META).encode().hex()],
        )
        connection.execute("INSERT INTO blobs VALUES ('b', 'one'), ('b', 'two'), ('b', NULL)")
    (record,) = records(tmp_path / "store.db").values()
    assert lost(blob_rows(tmp_path / "store.db"), record) == set()


ODD_ROOTS = {
    "cut off": ROOT[:-20],
    "of another kind": bytes(range(256)),
    "a number without an end": b"\xff" * 200_000,
    "a length past the end": b"\x0a\xff\xff\xff\xff\x0f",
    "a group": b"\x0b" + ROOT,
    "numbers before": field(26, START) + b"\x69" + bytes(8) + b"\x6d" + bytes(4) + ROOT,
    "pending that is none": ROOT + field(4, b"\xff") + field(4, "{}") + field(4, "[]"),
    "no digests": field(1, b"short") + field(1, b"x" * 32),
    "text alone": field(9, "file:///home/nora"),
    "empty": b"",
}


@pytest.mark.parametrize("data", ODD_ROOTS.values(), ids=ODD_ROOTS)
def test_any_root_loses_nothing(tmp_path, data):
    path = command_line(tmp_path / "store.db", META, [*MESSAGES, *BESIDE], data)
    (record,) = records(path).values()
    assert lost(blob_rows(path), record) == set()


def test_parsing_fields_of_any_bytes_ends():
    assert list(parse_protobuf_fields(ODD_ROOTS["a number without an end"])) == []
    assert [number for number, _ in parse_protobuf_fields(ODD_ROOTS["numbers before"])][:6] == [
        1,
        1,
        1,
        1,
        1,
        4,
    ]


ODD_MESSAGES = {
    "another role": blob("developer", "x"),
    "a role that is a number": json.dumps({"role": 5, "content": "x"}).encode(),
    "no content": b'{"role":"user"}',
    "content that is null": b'{"role":"user","content":null,"x":1}',
    "repeated members": b'{"role":"user","content":"a","content":"b"}',
    "names that mean something else": blob(
        "user", "x", id="i", type="t", children=[1], vacr={"a": 2}
    ),
    "no JSON": b"{",
    "not UTF-8": b"\xff\xff",
    "no text": b"",
}


@pytest.mark.parametrize("message", ODD_MESSAGES.values(), ids=ODD_MESSAGES)
def test_odd_messages_keep_their_place(tmp_path, message):
    path = command_line(
        tmp_path / "store.db", META, [*MESSAGES, message], root(MESSAGES[1], message, MESSAGES[2])
    )
    record = records(path)[SESSION]
    entries = record["session"]["entries"]
    assert [entries[0]["id"], entries[2]["id"]] == [digest(MESSAGES[1]), digest(MESSAGES[2])]
    assert digest(message) in (entries[1].get("id"), entries[1].get("data", {}).get("key"))
    assert lost(blob_rows(path), record) == set()

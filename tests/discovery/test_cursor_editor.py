"""The conversations in the database of Cursor's editor, in the forms of all versions."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.discovery.cursor_databases import START, composer_rows, digest, editor
from tests.discovery.leaves import lost
from tests.discovery.recorded import read_all_sessions, records, shape
from vacr.errors import NotASession

CID = "7e2b9c54-1111-4aaa-8bbb-0123456789ab"
WORKSPACE = {
    "id": "f00",
    "uri": {
        "$mid": 1,
        "fsPath": "/home/nora/till",
        "external": "file:///home/nora/till",
        "scheme": "file",
    },
}


def composer(**members):
    return {
        "_v": 10,
        "composerId": CID,
        "name": "Fix the till",
        "createdAt": START,
        "lastUpdatedAt": START + 9000,
    } | members


def bubble(identity, kind, text, **members):
    return {"_v": 3, "type": kind, "bubbleId": identity, "text": text} | members


def headers(*names):
    return {"fullConversationHeadersOnly": [{"bubbleId": name, "type": 1} for name in names]}


TALK = [
    bubble(
        "b3",
        1,
        "please fix it",
        createdAt="2026-07-25T10:00:00.000Z",
        workspaceUris=["file:///home/nora/elsewhere"],
    ),
    bubble(
        "b1",
        2,
        "",
        capabilityType=30,
        thinking={"text": "hm", "signature": "c2ln"},
        createdAt="2026-07-25T10:00:01.000Z",
    ),
    bubble(
        "b2",
        2,
        "done",
        modelInfo={"modelName": "gpt-5.2"},
        tokenCount={"inputTokens": 7, "outputTokens": 5},
    ),
]
ROWS = {f"bubbleId:{CID}:{bubble['bubbleId']}": bubble for bubble in TALK}
FORMS = {
    "inline": {f"composerData:{CID}": composer(conversation=TALK)},
    "headers": {f"composerData:{CID}": composer(**headers("b3", "b1", "b2"))} | ROWS,
    "blobs": {f"composerData:{CID}": json.dumps(composer(**headers("b3", "b1", "b2"))).encode()}
    | {key: json.dumps(value).encode() for key, value in ROWS.items()},
    "map": {
        f"composerData:{CID}": composer(
            conversationMap={bubble["bubbleId"]: bubble for bubble in TALK},
            **headers("b3", "b1", "b2"),
        )
    },
    "map without order": {
        f"composerData:{CID}": composer(
            conversationMap={
                bubble["bubbleId"]: bubble | {"createdAt": f"2026-07-25T10:00:0{n}.000Z"}
                for n, bubble in enumerate(TALK)
            }
        )
    },
    "no order": {f"composerData:{CID}": composer()}
    | {
        key: value | {"createdAt": f"2026-07-25T10:00:0{n}.000Z"}
        for n, (key, value) in enumerate(ROWS.items())
    },
}


@pytest.mark.parametrize("rows", FORMS.values(), ids=FORMS)
def test_conversation_is_read_in_every_form(tmp_path, rows):
    path = editor(tmp_path / "state.vscdb", rows)
    ((session, record),) = records(path).items()
    assert session == CID
    entries = record["session"]["entries"]
    assert [shape(entry) for entry in entries] == ["user", ("assistant", "reasoning"), "assistant"]
    assert [entry["id"] for entry in entries] == ["b3", "b1", "b2"]
    assert entries[0]["content"] == "please fix it"
    assert entries[1]["children"][0]["content"] == "hm"
    assert entries[2]["model-id"] == "gpt-5.2"
    assert entries[2]["token-usage"] == {"input": 7, "output": 5}
    assert record["session"]["environment"]["working-dir"] == "/home/nora/elsewhere"
    assert record["session"]["agent-meta"]["models"] == ["gpt-5.2"]
    assert record["session"]["session-start"] == START
    assert record["vacr"]["source"]["format"] == "cursor-vscdb"
    assert lost(composer_rows(path, CID), record) == set()


def test_missing_and_unnamed_bubbles_are_handled(tmp_path):
    late = bubble("b9", 2, "not in the list", createdAt="2026-07-25T11:00:00.000Z")
    rows = (
        {f"composerData:{CID}": composer(**headers("gone", "b1", "b1"))}
        | ROWS
        | {f"bubbleId:{CID}:b9": late}
    )
    rows |= {f"bubbleId:{CID}:b2": None}
    path = editor(tmp_path / "state.vscdb", rows)
    record = records(path)[CID]
    assert [entry.get("id") for entry in record["session"]["entries"]] == ["b1", "b3", "b9", None]
    assert record["session"]["entries"][3]["data"] == {"key": f"bubbleId:{CID}:b2", "value": None}
    assert lost(composer_rows(path, CID), record) == set()


def test_id_may_be_a_prefix_of_another_and_have_any_characters(tmp_path):
    odd = "task-call_x\nfc_y"
    names = ["c1", "c10", "c1_", "c1%", "c1:x", odd, "../../c1", "ü" * 200]
    rows = {}
    for name in names:
        rows[f"composerData:{name}"] = {"composerId": name, "createdAt": START, **headers("b1")}
        rows[f"bubbleId:{name}:b1"] = bubble("b1", 1, f"words of <{name}>")
    found = read_all_sessions(editor(tmp_path / "state.vscdb", rows))
    assert sorted(session.label for session in found) == sorted(names)
    for session in found:
        (entry,) = session.reading.record["session"]["entries"]
        assert entry["content"] == f"words of <{session.label}>"
        assert session.source.main.data.count(b"words of <") == 1
        assert "/" not in session.source.main.name
        assert len(session.source.main.name.encode()) < 255


TOOLS = {
    "as sent": {
        "rawArgs": '{"target_file":"a.py"}',
        "params": '{"targetFile":"a.py"}',
        "result": '{"contents":"x = 1"}',
    },
    "arguments as they came": {
        "rawArgs": '{"target_file": "a.py",  "limit": 1.50}',
        "result": '{"contents": "x = 2"}',
    },
    "only what was made of them": {"params": '{"targetFile":"b.py"}', "result": "plain words"},
    "an object": {"params": {"targetFile": "c.py"}, "result": {"contents": "y"}},
    "half an object": {"rawArgs": '{"target_fi', "result": "[1"},
    "repeated members": {"rawArgs": '{"a":1,"a":2}', "result": "{}"},
    "an error": {"rawArgs": "{}", "error": "no such file", "status": "error"},
    "an error that is JSON": {
        "rawArgs": "{}",
        "error": '{"message":"no such file"}',
        "status": "error",
    },
    "no result": {"rawArgs": '{"b":1}', "status": "running"},
    "nothing": {},
    "nulls": {"rawArgs": None, "params": None, "result": None, "error": None},
    "more": {
        "rawArgs": "{}",
        "result": "{}",
        "additionalData": {"codeblock": {"content": "z"}},
        "userDecision": "accepted",
    },
}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_tool_bubble_is_a_call_and_its_result(tmp_path, tool):
    data = {"tool": 5, "toolCallId": "call_1", "name": "read_file_v2", "status": "completed"} | tool
    rows = {
        f"composerData:{CID}": composer(**headers("b1")),
        f"bubbleId:{CID}:b1": bubble("b1", 2, "", toolFormerData=data),
    }
    path = editor(tmp_path / "state.vscdb", rows)
    record = records(path)[CID]
    (entry,) = record["session"]["entries"]
    call, *results = entry["children"]
    given = tool.get("rawArgs") or tool.get("params")
    assert (call["type"], call["name"], call["call-id"]) == ("tool-call", "read_file_v2", "call_1")
    assert call["input"] == (given if given in ('{"target_fi', '{"a":1,"a":2}') else _read(given))
    has_result = tool.get("result") or tool.get("error")
    assert [result["type"] for result in results] == (["tool-result"] if has_result else [])
    assert call.get("vacr") == (None if has_result else {"status": "no-result"})
    for result in results:
        assert result["call-id"] == "call_1"
        assert result["status"] == ("error" if "error" in tool else "success")
        assert result["is-error"] is ("error" in tool)
        assert result["vacr"]["native"]["status"] == data["status"]
        assert result["output"] == (has_result if has_result == "[1" else _read(has_result))
    assert lost(composer_rows(path, CID), record) == set()


def _read(value):
    return json.loads(value) if isinstance(value, str) and value[0] in "{[" else value


ODD_BUBBLES = {
    "thinking as text": {"thinking": "hm, as text"},
    "thinking of another kind": {"thinking": ["hm"]},
    "no thinking": {"thinking": ""},
    "blocks of thinking": {"allThinkingBlocks": [{"text": "hm"}, "hm 2"]},
    "a tool that is null": {"toolFormerData": None},
    "a tool that is empty": {"toolFormerData": {}},
    "a tool that is text": {"toolFormerData": "read_file"},
    "a tool without a name": {"toolFormerData": {"tool": 5, "params": "{}"}},
    "a tool with a number for a name": {"toolFormerData": {"name": 5, "toolCallId": 6}},
    "the automatic model": {"modelInfo": {"modelName": "default"}},
    "no model": {"modelInfo": {"modelName": None}},
    "another type": {"type": 3},
    "a type that is a list": {"type": [1]},
    "a time in milliseconds": {"createdAt": START},
    "a time that is none": {"createdAt": "yesterday"},
    "times of a stopwatch": {
        "timingInfo": {"clientStartTime": 4042112.299999982, "clientEndTime": 1785000000000.5}
    },
    "another id": {"bubbleId": "another"},
    "no id": {"bubbleId": None},
    "text that is none": {"text": {"a": 1}},
    "names that mean something else": {
        "id": "x",
        "children": [1],
        "vacr": {"y": 2},
        "status": "z",
        "content": "w",
        "name": 5,
    },
    "usage that is none": {"tokenCount": {"inputTokens": -1, "outputTokens": "many"}},
}


@pytest.mark.parametrize("members", ODD_BUBBLES.values(), ids=ODD_BUBBLES)
def test_unusual_bubbles_lose_nothing(tmp_path, members):
    key = f"bubbleId:{CID}:b1"
    path = editor(
        tmp_path / "state.vscdb",
        {f"composerData:{CID}": composer(), key: bubble("b1", 2, "w") | members},
    )
    record = records(path)[CID]
    assert len(record["session"]["entries"]) == 1
    assert lost([*composer_rows(path, CID), "b1"], record) == set()


ODD_VALUES = {
    "no JSON": "not { JSON",
    "empty": "",
    "an array": '["a"]',
    "a number": "17",
    "repeated members": '{"type":1,"type":2,"text":"x"}',
    "half a character": '{"type":1,"text":"\\ud83d"}',
    "white space before": ' {"type":1,"text":"after a space"}',
    "not UTF-8": b"\xff\xfe{}",
}


@pytest.mark.parametrize(
    "kind", ["bubbleId:{}:b1", "composerData:{}", "checkpointId:{}:x", "codeBlockDiff:{}:x"]
)
@pytest.mark.parametrize("value", ODD_VALUES.values(), ids=ODD_VALUES)
def test_values_that_are_not_objects_are_kept(tmp_path, kind, value):
    rows = (
        {f"composerData:{CID}": composer(**headers("b3", "b1"))} | ROWS | {kind.format(CID): value}
    )
    path = editor(tmp_path / "state.vscdb", rows)
    record = records(path)[CID]
    assert lost(composer_rows(path, CID), record) == set()
    assert {entry["type"] for entry in record["session"]["entries"]} >= {"user"}


def test_rows_other_than_bubbles_are_kept(tmp_path):
    before, after, other = (
        f"composer.content.{digest(text)}" for text in (b"before", "after ü".encode(), b"other")
    )
    edit = {
        "name": "edit_file_v2",
        "result": json.dumps({"beforeContentId": before, "afterContentId": after}),
    }
    rows = {
        f"composerData:{CID}": composer(**headers("b1")),
        f"bubbleId:{CID}:b1": bubble("b1", 2, "", toolFormerData=edit),
        before: "before",
        after: "after ü".encode("utf-16"),
        other: "a file of another conversation",
        f"codeBlockDiff:{CID}:d1": {"newModelDiffWrtV0": [{"modified": ["x = 1"]}]},
        f"messageRequestContext:{CID}:b1": {"projectLayouts": ["a.py"]},
        f"checkpointId:{CID}:k1": {"files": []},
        f"ofsContent:{CID}:file:///home/nora/a.py": "x = 1\n",
        "codeBlockDiff:another:d1": {"secret": "another's words"},
        "agentKv:blob:00": "not of a conversation",
    }
    path = editor(
        tmp_path / "state.vscdb",
        rows,
        headers=[(CID, 0, '{"name":"head"}'), ("another", 0, '{"name":"another\'s words"}')],
    )
    (found,) = read_all_sessions(path)
    record = found.reading.record
    kinds = {
        shape(entry)[0] if isinstance(shape(entry), tuple) else shape(entry)
        for entry in record["session"]["entries"]
    }
    beside = {
        "codeBlockDiff",
        "messageRequestContext",
        "checkpointId",
        "ofsContent",
        before,
        after,
        "composerHeaders",
    }
    assert kinds == {"assistant", *beside}
    assert lost(composer_rows(path, CID), record) == set()
    for words in (b"another", b"not of a conversation"):
        assert words not in found.source.main.data


def test_conversation_is_described(tmp_path):
    about = {
        "subagentInfo": {"subagentTypeName": "generalPurpose", "parentComposerId": "parent"},
        "workspaceIdentifier": WORKSPACE,
    }
    about |= {
        "modelConfig": {"modelName": "claude-opus-5"},
        "blobEncryptionKey": "a2V5",
        "speculativeSummarizationEncryptionKey": "a3",
    }
    rows = {
        f"composerData:{CID}": composer(**headers("b1"), **about),
        f"bubbleId:{CID}:b1": bubble("b1", 1, "hi"),
    }
    (found,) = read_all_sessions(editor(tmp_path / "state.vscdb", rows))
    record = found.reading.record
    assert record["vacr"]["parent"] == {"session-id": "parent"}
    assert record["session"]["format"] == "autonomous"
    assert record["session"]["environment"]["working-dir"] == "/home/nora/till"
    assert record["session"]["agent-meta"]["models"] == ["claude-opus-5"]
    assert record["vacr"]["secrets"] == [
        "/session/blobEncryptionKey",
        "/session/speculativeSummarizationEncryptionKey",
    ]
    assert len(found.reading.notices) == 2
    assert (record["session"]["session-start"], record["session"]["session-end"]) == (
        START,
        START + 9000,
    )


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///home/nora/a%20b", "/home/nora/a b"),
        ("file:///c%3A/Users/nora", "c:/Users/nora"),
        ("file://wsl.localhost/Ubuntu/home", "//wsl.localhost/Ubuntu/home"),
        ("vscode-remote://ssh-remote%2Bhost/home", "vscode-remote://ssh-remote%2Bhost/home"),
        ("/home/nora/100%25", "/home/nora/100%25"),
    ],
)
def test_a_workspace_is_named_as_a_folder(tmp_path, uri, folder):
    rows = {
        f"composerData:{CID}": composer(conversation=[bubble("b1", 1, "hi", workspaceUris=[uri])])
    }
    record = records(editor(tmp_path / "state.vscdb", rows))[CID]
    assert record["session"]["environment"]["working-dir"] == folder


def test_repeated_keys_and_unknown_columns_are_kept(tmp_path):
    with closing(sqlite3.connect(tmp_path / "state.vscdb")) as connection, connection:
        connection.execute("CREATE TABLE ItemTable (key TEXT, value BLOB)")
        connection.execute("CREATE TABLE cursorDiskKV (key TEXT, value BLOB, origin TEXT)")
        connection.execute("CREATE TABLE composerNotes (composerId TEXT, note TEXT)")
        rows = [
            *FORMS["headers"].items(),
            (f"composerData:{CID}", composer(conversation=[bubble("b8", 1, "another's turn")])),
        ]
        rows += [
            (key, value | {"text": f"{value['text']}, said otherwise"})
            for key, value in ROWS.items()
        ]
        values = [
            (key, json.dumps(value), f"origin {number}") for number, (key, value) in enumerate(rows)
        ]
        connection.executemany("INSERT INTO cursorDiskKV VALUES (?, ?, ?)", values)
        connection.execute(
            (
                "INSERT INTO composerNotes VALUES (?, 'a note'), (?, 'a note'), ('another', 'not "
                "this')"
            ),
            [CID, CID],
        )
    (found,) = read_all_sessions(tmp_path / "state.vscdb")
    record = found.reading.record
    assert lost([*(part for _, *parts in values for part in parts), "a note"], record) == set()
    assert b"not this" not in found.source.main.data


def test_rows_belong_to_the_conversation_in_their_keys(tmp_path):
    own = [
        f"agentKv:checkpoint:{CID}",
        f"agentKv:bubbleCheckpoint:{CID}:b1",
        f"composerVirtualRowHeights:{CID}",
    ]
    own += [f"kindOfTomorrow:{CID}:file:///a:b", f"patch-graph:{CID}:x"]
    others = [
        f"agentKv:blob:{CID}",
        f"kindOfTomorrow:{CID}0:x",
        f"kindOfTomorrow:0:{CID}",
        CID,
        f"composer.content.{CID}",
        "a",
        "z;",
    ]
    rows = FORMS["headers"] | {key: {"of": f"<{key}>"} for key in own + others}
    (found,) = read_all_sessions(editor(tmp_path / "state.vscdb", rows))
    said = found.source.main.data.decode()
    assert [key for key in own if f"<{key}>" not in said] == []
    assert [key for key in others if f"<{key}>" in said] == []
    assert lost([rows[key] for key in own], found.reading.record) == set()


@pytest.mark.parametrize(
    "rows",
    [{}, {"composerData:empty": composer(composerId="empty")}],
    ids=["nothing", "an empty draft"],
)
def test_editor_without_conversations_has_no_session(tmp_path, rows):
    with pytest.raises(NotASession, match="the database has no sessions"):
        read_all_sessions(editor(tmp_path / "state.vscdb", rows, {"workbench.view": "x"}))


def test_bubbles_without_a_conversation_become_one(tmp_path):
    rows = {
        "bubbleId:task-call_x\nfc_y:b1": bubble("b1", 1, "words of a task"),
        "composerData:deleted": None,
    }
    path = editor(tmp_path / "state.vscdb", rows | {"bubbleId:deleted:b1": None})
    ((session, record),) = records(path).items()
    assert session == "task-call_x\nfc_y"
    assert record["session"]["entries"][0]["content"] == "words of a task"


def test_another_editor_has_no_table_of_conversations(tmp_path):
    with closing(sqlite3.connect(tmp_path / "state.vscdb")) as connection, connection:
        connection.execute(
            "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
        )
    with pytest.raises(NotASession):
        read_all_sessions(tmp_path / "state.vscdb")

import hashlib
import json

import pytest

from tests.conftest import EXAMPLES, FIXTURES, jsonl, read_one, record_of
from vacr import validate
from vacr.agents.cursor.reader import CURSOR_JSON_PARAMETERS, CURSOR_TOOL_PARAMETERS
from vacr.discovery.opening import read_sessions

EXAMPLE = record_of((EXAMPLES / "cursor.jsonl").read_bytes())
DRIFTED = record_of((FIXTURES / "cursor" / "drifted.jsonl").read_bytes())
TEXT = record_of((FIXTURES / "cursor" / "transcript.txt").read_bytes())
PARENT, CHILD = "7e2b9c54-1111-4aaa-8bbb-0123456789ab", "99999999-2222-4aaa-8bbb-0123456789ab"
SAID = jsonl({"role": "user", "message": {"content": [{"type": "text", "text": "x"}]}})


def test_blocks_of_calls_are_children():
    (entry,) = [entry for entry in EXAMPLE["session"]["entries"] if "StrReplace" in str(entry)]
    assert entry["children"] == [
        {
            "type": "tool-call",
            "name": "StrReplace",
            "input": {
                "path": "/home/mira/invoice/total.py",
                "old_string": "l.qty * l.price",
                "new_string": "(l.qty * l.price).quantize(CENT)",
            },
        }
    ]
    assert entry["content"][0]["type"] == "tool_use"
    assert "message" not in entry


def test_the_end_of_a_turn_is_an_event():
    assert EXAMPLE["session"]["entries"][-1] == {
        "type": "system-event",
        "event-type": "turn_ended",
        "data": {"status": "success"},
    }


def test_unknown_model_is_not_named():
    assert EXAMPLE["session"]["agent-meta"] == {
        "cli-name": "cursor",
        "model-id": "unknown",
        "model-provider": "unknown",
    }


def test_model_of_a_line_is_the_model_of_the_session():
    assert DRIFTED["session"]["agent-meta"]["models"] == ["cursor-auto"]
    assert DRIFTED["session"]["entries"][1]["model-id"] == "cursor-auto"


def test_unknown_members_are_kept_and_counted():
    assert DRIFTED["vacr"]["drift"] == {
        "types": {"(array)": 1, "(null)": 1, "content/custom_block": 1},
        "members": {"content/tool_call.metadata": 1, "line.metadata": 1, "line.model": 1},
    }
    assert DRIFTED["session"]["entries"][0]["metadata"] == {"requestId": "r"}
    assert [entry.get("event-type") for entry in DRIFTED["session"]["entries"][3:]] == [
        "error",
        "unknown",
        "unknown",
    ]


@pytest.mark.parametrize(
    ("name", "session_id"),
    [
        (f"{PARENT}.jsonl", PARENT),
        (f"{PARENT.upper()}.jsonl", PARENT.upper()),
        ("notes.jsonl", hashlib.sha256(SAID).hexdigest()),
        (f"x{PARENT}.jsonl", hashlib.sha256(SAID).hexdigest()),
        (f"{PARENT}/subagents/{CHILD}.jsonl", f"{PARENT}/{CHILD}"),
    ],
)
def test_a_session_is_named_by_its_file_or_its_content(name, session_id):
    assert read_one(SAID, name).record["session"]["session-id"] == session_id


def test_transcript_of_a_sub_agent_belongs_to_the_session_above_it():
    main = FIXTURES / "cursor" / "nested" / PARENT / f"{PARENT}.jsonl"
    parent, child = [found.reading.record for found in read_sessions(main)]
    assert [record["session"]["session-id"] for record in (parent, child)] == [
        PARENT,
        f"{PARENT}/{CHILD}",
    ]
    assert "parent" not in parent["vacr"]
    assert child["vacr"]["parent"] == {"session-id": PARENT}
    assert child["session"]["format"] == "autonomous"


def test_text_transcript_becomes_messages_with_blocks():
    entries = TEXT["session"]["entries"]
    assert TEXT["vacr"]["source"]["format"] == "cursor-text"
    assert [entry["type"] for entry in entries] == ["user", "assistant", "assistant", "assistant"]
    assert [block["type"] for block in entries[1]["content"]] == [
        "text",
        "tool_use",
        "tool_use",
        "tool_result",
        "tool_result",
    ]
    assert [child["type"] for child in entries[2]["children"]] == [
        "reasoning",
        *["tool-call"] * 2,
        *["tool-result"] * 2,
    ]
    assert entries[2]["children"][0]["content"] == "Late rounding.\n\nRound every line.\n"
    assert entries[2]["children"][3] == {"type": "tool-result", "output": ""}


INPUTS = [
    ("parameters", "[Tool call] Read\n  path: /x\n  limit: 40\n", {"path": "/x", "limit": 40}),
    (
        "several lines",
        "[Tool call] Shell\n  command: a\nb\n\n  c\n  description: d\n",
        {"command": "a\nb\n\n  c", "description": "d"},
    ),
    (
        "looks like a parameter",
        "[Tool call] Write\n  path: /x\n  contents: a\n  from: b\n",
        {"path": "/x", "contents": "a\n  from: b"},
    ),
    (
        "parameter twice",
        "[Tool call] Write\n  path: /x\n  contents: a\n  path: b\n",
        "  path: /x\n  contents: a\n  path: b",
    ),
    (
        "last newline",
        "[Tool call] Write\n  contents: a\n\n\n[Tool result] Write\n\n",
        {"contents": "a\n"},
    ),
    (
        "no last newline",
        "[Tool call] Write\n  contents: a\n\n[Tool result] Write\n\n",
        {"contents": "a"},
    ),
    ("leading spaces", "[Tool call] StrReplace\n  old_string:     a \n", {"old_string": "    a "}),
    (
        "JSON",
        '[Tool call] TodoWrite\n  merge: true\n  todos: [{"id":"1"}]\n',
        {"merge": True, "todos": [{"id": "1"}]},
    ),
    ("broken JSON", "[Tool call] TodoWrite\n  todos: [{]\n", {"todos": "[{]"}),
    (
        "a file of JSON",
        '[Tool call] Write\n  path: 1\n  contents: {"a":1}\n',
        {"path": "1", "contents": '{"a":1}'},
    ),
    (
        "unknown tool",
        "[Tool call] mcp_do\n  any: 1\n  -x: {}\n  word: y\n",
        {"any": 1, "-x": {}, "word": "y"},
    ),
    ("an object", '[Tool call] Read\n{"path": "/x"}\n', {"path": "/x"}),
    ("a patch", "[Tool call] ApplyPatch\n*** Begin Patch\n+x\n", "*** Begin Patch\n+x"),
    ("nothing", "[Tool call] Read\n", ""),
    (
        "Windows",
        "[Tool call] Read\r\n  path: /x\r\n  limit: 40\r\n\r\n",
        {"path": "/x", "limit": 40},
    ),
]


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in INPUTS], ids=[case[0] for case in INPUTS]
)
def test_parameters_of_text_call_are_parsed(text, expected):
    record = record_of(f"user:\nx\n\nassistant:\n{text}".encode())
    found = [
        child["input"]
        for child in record["session"]["entries"][-1]["children"]
        if child["type"] == "tool-call"
    ]
    assert found == [expected]


def test_text_call_ends_where_the_next_begins():
    record = record_of(
        b"user:\nx\n\nassistant:\n[Tool call] Write\n  contents: a\n\n[Tool call] Read\n  "
        b"path: "
        b"/x\n"
    )
    assert [child["input"] for child in record["session"]["entries"][1]["children"]] == [
        {"contents": "a\n"},
        {"path": "/x"},
    ]


def test_every_json_parameter_belongs_to_a_tool():
    assert {
        name for names in CURSOR_TOOL_PARAMETERS.values() for name in names
    } >= CURSOR_JSON_PARAMETERS


@pytest.mark.parametrize(
    ("data", "roles"),
    [
        (b"user:\nQ\nA:\nyes\n\nassistant:\nok\n", ["user", "assistant"]),
        (b"user:\nQ\n\nA:\nok\n", ["user", "assistant"]),
        (b"\xef\xbb\xbfuser:\nx\n\nassistant:\nok\n", ["user", "assistant"]),
        (b"\n\nuser:\r\nx\r\n\r\nassistant:\r\nok\r\n", ["system-event", "user", "assistant"]),
        (b"user:\nx\n\nassistant:", ["user", "assistant"]),
    ],
    ids=[
        "an A that was said",
        "an A that speaks",
        "byte order mark",
        "Windows",
        "nothing said yet",
    ],
)
def test_roles_of_text_transcript(data, roles):
    assert [entry["type"] for entry in record_of(data)["session"]["entries"]] == roles


def of_bubble(**members):
    bubble = {"bubbleId": "b1", "type": 2, **members}
    record = record_of(
        jsonl(HEAD, row("cursorDiskKV", key="bubbleId:s:b1", value=json.dumps(bubble)))
    )
    assert validate(record).findings == []
    (entry,) = record["session"]["entries"]
    return entry


BLOCKS = [{"type": "tool_use", "name": "Read", "input": {}}, {"type": "text", "text": "x"}]


@pytest.mark.parametrize("text", [{}, {"text": ""}, {"text": "also said"}], ids=str)
def test_blocks_of_bubble_come_before_its_thinking(text):
    entry = of_bubble(content=BLOCKS, thinking={"text": "hm"}, **text)
    assert [child["type"] for child in entry["children"]] == ["tool-call", "reasoning"]
    assert entry["content"] == BLOCKS
    assert text.items() <= entry.items()


WORDS = {
    "a text": ({"text": "a"}, {"content": "a"}),
    "no text": ({"text": ""}, {"content": ""}),
    "two texts": ({"text": "a", "rawText": "b"}, {"content": "a", "rawText": "b"}),
    "a raw text": ({"text": "", "rawText": "b"}, {"content": "b", "text": ""}),
    "a raw text alone": ({"rawText": "b", "type": "ai"}, {"content": "b", "type": "assistant"}),
    "a chat's text": ({"text": "a", "type": "user"}, {"content": "a", "type": "user"}),
    "a content that is a text": ({"text": "a", "content": "c"}, {"content": "a"}),
    "rich text": (
        {"text": "a", "richText": '{"root":{}}'},
        {"content": "a", "richText": '{"root":{}}'},
    ),
    "images": (
        {"text": "a", "images": [{"path": "/x.png"}]},
        {"content": "a", "images": [{"path": "/x.png"}]},
    ),
}


@pytest.mark.parametrize(("members", "expected"), WORDS.values(), ids=WORDS)
def test_content_of_bubble_is_its_first_non_empty_member(members, expected):
    entry = of_bubble(**members)
    assert expected.items() <= entry.items()
    assert entry.get("vacr", {}).get("content-from") == (
        "rawText" if entry["content"] == "b" else None
    )
    assert "children" not in entry


def test_both_models_of_a_bubble_are_kept():
    entry = of_bubble(type="ai", modelType="gpt-4", modelInfo={"modelName": "gpt-5.2"})
    assert (entry["model-id"], entry["modelInfo"]) == ("gpt-4", {"modelName": "gpt-5.2"})


def test_empty_id_is_kept():
    record = record_of(
        jsonl(STORE | {"session": ""}, row("meta", key="0", value='{"agentId":"","name":"x"}'))
    )
    assert record["session"]["agentId"] == ""


def test_counts_without_a_counter_are_unchanged():
    counts = {"inputTokens": 2**64, "outputTokens": 3}
    entry = of_bubble(tokenCount=counts)
    assert entry["tokenCount"] == counts
    assert entry["token-usage"] == {"output": 3}
    assert "token-usage" not in of_bubble(tokenCount={"inputTokens": 2**64, "outputTokens": 2**70})


def row(table, **columns):
    return {"table": table, "row": columns}


def composer(value, **columns):
    return row("cursorDiskKV", key="composerData:s", value=value, **columns)


HEAD = {"vacr-export": "cursor-vscdb", "session": "s"}
STORE = {"vacr-export": "cursor-store", "session": "s"}
BUBBLES = [
    row("cursorDiskKV", key=key, value='{"a":"NEEDLE"}')
    for key in ("bubbleId:s:x:b", "bubbleId:s:b")
]
EXPORTS = {
    "a second head": (HEAD, HEAD | {"data": "NEEDLE"}),
    "a head of another format": (HEAD, STORE | {"data": "NEEDLE"}),
    "a head of no format": (HEAD, {"vacr-export": "other", "data": "NEEDLE"}),
    "more in the head": (HEAD | {"extra": "NEEDLE"},),
    "a session that is an object": (HEAD | {"session": {"x": "NEEDLE"}},),
    "a session that is a number": (HEAD | {"session": 5, "x": "NEEDLE"},),
    "no session": ({"vacr-export": "cursor-vscdb"}, composer("NEEDLE")),
    "a key twice": (HEAD, composer('"NEEDLE"'), composer("{}")),
    "a key twice, the other way": (HEAD, composer("{}"), composer('"NEEDLE"')),
    "two bubbles of one name": (HEAD, *BUBBLES),
    "a column more": (HEAD, composer("{}", extra="NEEDLE")),
    "no value": (HEAD, row("cursorDiskKV", key="NEEDLE")),
    "no key": (HEAD, row("cursorDiskKV", value="NEEDLE")),
    "a chat twice": (
        HEAD,
        row("chatdata", tabId="s", chatTitle="NEEDLE"),
        row("chatdata", tabId="s", bubbles=[]),
    ),
    "a chat and a composer": (HEAD, row("chatdata", chatTitle="NEEDLE"), composer('{"a":1}')),
    "a key of meta twice": (
        STORE,
        row("meta", key="1", value="NEEDLE"),
        row("meta", key="1", value="b"),
    ),
    "a blob twice": (STORE, row("blobs", id="1", data="NEEDLE"), row("blobs", id="1", data="b")),
    "the editor's table": (STORE, composer("NEEDLE")),
    "the editor's chat": (STORE, row("chatdata", chatTitle="NEEDLE")),
    "the command line's table": (HEAD, row("meta", key="1", value="NEEDLE")),
    "more in a line": (HEAD, composer("{}") | {"extra": "NEEDLE"}),
}


@pytest.mark.parametrize("lines", EXPORTS.values(), ids=EXPORTS)
def test_every_row_of_an_export_is_in_the_record(lines):
    record = record_of(jsonl(*lines))
    assert json.dumps(record["session"]).count("NEEDLE") == json.dumps(lines).count("NEEDLE")
    assert validate(record).findings == []


def test_repaired_row_is_read_and_kept():
    line = jsonl(row("cursorDiskKV", key="bubbleId:s:b", value='{"type":1,"text":"hi"}')).replace(
        b"{", b'{"table":"meta",', 1
    )
    record = record_of(jsonl(HEAD) + line)
    assert [
        entry.get("content", entry.get("event-type")) for entry in record["session"]["entries"]
    ] == ["hi", "undecodable"]
    assert len(record["vacr"]["repaired"]) == 1

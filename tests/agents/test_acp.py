"""Conversations in the Agent Client Protocol: read from transcripts of `vacr acp`, losslessly."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import rebuild
from tests.agents.natives import EXTRA
from tests.conftest import FIXTURES, records_of
from tests.record.value_strategies import OPAQUE_JSON as JSON
from tests.record.value_strategies import TEXT
from vacr import attribute, validate
from vacr.record import get_keeping_agent
from vacr.viewer import get_session_key

TWO_SESSIONS = FIXTURES / "acp" / "two-sessions.jsonl"
AT = "2026-06-01T08:00:00.000Z"


def read_fixture():
    return records_of(TWO_SESSIONS.read_bytes())


def test_every_line_comes_back():
    native = [json.loads(line) for line in TWO_SESSIONS.read_bytes().splitlines()]
    records = read_fixture()
    assert all(validate(record).findings == [] for record in records)
    rebuild.assert_same(records, native)


def test_connection_with_two_conversations_gives_two_records():
    first, second = read_fixture()
    assert [get_session_key(record) for record in (first, second)] == [
        ("opencode", "ses_round1"),
        ("opencode", "ses_old9"),
    ]
    assert first["session"]["environment"]["working-dir"] == "/home/mira/invoice"
    assert first["session"]["agent-meta"]["model-id"] == "fake/round-1"
    assert first["session"]["title"] == "Round invoice lines"


def test_record_names_the_agent_that_keeps_the_session():
    assert [get_keeping_agent(record) for record in read_fixture()] == ["opencode", "opencode"]


def find(record, entry_type):
    return [entry for entry in record["session"]["entries"] if entry["type"] == entry_type]


def test_chunks_are_one_text():
    first, _ = read_fixture()
    assert [entry["content"] for entry in find(first, "reasoning")] == ["Late rounding."]
    texts = [entry["content"] for entry in find(first, "assistant")]
    assert texts[:2] == ["I read the code.", "Each line is rounded now."]
    assert texts[2][0]["type"] == "image"


def test_call_in_a_prompt_is_a_child_of_it():
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    params = {"sessionId": "s", "prompt": [call]}
    lines = [message("client", {"id": 1, "method": "session/prompt", "params": params})]
    (record,) = records_of(encode(lines), "acp")
    assert validate(record).findings == []
    (prompt,) = find(record, "user")
    assert [child["call-id"] for child in prompt["children"]] == ["t1"]


def test_late_arguments_complete_a_call():
    first, _ = read_fixture()
    inputs = [call["input"] for call in find(first, "tool-call")]
    assert inputs[0] == {"filePath": "/home/mira/invoice/total.py"}
    assert inputs[2] == {"command": "pytest -q", "cwd": "/home/mira/invoice"}


def test_outcomes_come_from_exit_codes_and_permissions():
    first, _ = read_fixture()
    results = {result["call-id"]: result for result in find(first, "tool-result")}
    assert {name: result.get("status") for name, result in results.items()} == {
        "c1": "success",
        "c2": "success",
        "c3": "error",
        "c4": "denied",
        "c5": "success",
    }
    assert results["c3"]["vacr"]["exit-code"] == 1


def test_replayed_history_is_not_counted_again():
    _, second = read_fixture()
    assert [entry["content"][0]["text"] for entry in find(second, "user")] == ["Go on."]
    assert [entry["content"] for entry in find(second, "assistant")] == ["Gone on."]
    kinds = [entry["event-type"] for entry in find(second, "system-event")]
    assert kinds.count("replayed-update") == 2


def test_gap_and_text_stay_in_the_record():
    first, _ = read_fixture()
    events = {entry["event-type"]: entry["data"] for entry in find(first, "system-event")}
    assert events["acp-gap"]["bytes"] == 512
    assert events["acp-text"]["text"] == "debug: done"


def test_tokens_count_once():
    first, _ = read_fixture()
    usages = [
        entry["token-usage"] for entry in first["session"]["entries"] if "token-usage" in entry
    ]
    assert usages == [{"input": 1200, "output": 80, "cached": 300}]


def test_shown_change_gives_the_lines_to_the_agent():
    first, _ = read_fixture()
    (file,) = attribute(first)["file-attribution"]["files"]
    assert file["path"].endswith("total.py")
    ranges = [span for talk in file["conversations"] for span in talk["ranges"]]
    assert [(span["start-line"], span["end-line"]) for span in ranges] == [(3, 3)]


def test_rejected_change_gives_no_line_to_the_agent():
    lines = [
        message("client", {"id": 1, "method": "session/new", "params": {"cwd": "/home/mira/app"}}),
        message("agent", {"id": 1, "result": {"sessionId": "s"}}),
        update(
            sessionUpdate="tool_call",
            toolCallId="c",
            kind="edit",
            status="pending",
            content=[{"type": "diff", "path": "/home/mira/app/a.py", "newText": "x = 1\n"}],
        ),
        message(
            "agent",
            {
                "id": 2,
                "method": "session/request_permission",
                "params": {
                    "sessionId": "s",
                    "toolCall": {"toolCallId": "c"},
                    "options": [{"optionId": "n", "kind": "reject_once"}],
                },
            },
        ),
        message("client", {"id": 2, "result": {"outcome": {"optionId": "n"}}}),
    ]
    (record,) = records_of(encode(lines))
    (call,) = find(record, "tool-call")
    assert call["vacr"]["status"] == "denied"
    assert attribute(record).get("file-attribution", {"files": []})["files"] == []


@pytest.mark.parametrize("exit_code", [None, "0", True])
def test_ended_command_without_exit_code_is_not_a_success(exit_code):
    output = {"output": "ok", "metadata": {"exit": exit_code}}
    lines = [
        message("client", {"id": 1, "method": "session/new", "params": {"cwd": "/x"}}),
        message("agent", {"id": 1, "result": {"sessionId": "s"}}),
        update(
            sessionUpdate="tool_call", toolCallId="c", kind="execute", rawInput={"command": "x"}
        ),
        update(
            sessionUpdate="tool_call_update",
            toolCallId="c",
            status="completed",
            rawOutput=output,
        ),
    ]
    (record,) = records_of(encode(lines))
    (result,) = find(record, "tool-result")
    assert "status" not in result


def message(side, value):
    return {"acp": "message", "at": AT, "from": side, "end": 1, "message": value}


def update(**members):
    params = {"sessionId": "s", "update": members}
    return message("agent", {"method": "session/update", "params": params})


def encode(lines):
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


IDS = st.sampled_from([0, 1, 2, "1", None, 1.5, {}])
SESSIONS = st.sampled_from(["s", "t", None, 5])
CONTENTS = st.sampled_from(
    [
        {"type": "text", "text": "hi"},
        {"type": "text"},
        {"type": "image", "data": "AA"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {}},
        {"type": "thinking", "thinking": "hm"},
        "x",
        None,
    ]
)
UPDATES = st.builds(
    lambda base, more: {**more, **base},
    st.fixed_dictionaries(
        {},
        optional={
            "sessionUpdate": st.sampled_from(
                [
                    "agent_message_chunk",
                    "agent_thought_chunk",
                    "user_message_chunk",
                    "tool_call",
                    "tool_call_update",
                    "usage_update",
                    "new_one",
                    5,
                ]
            ),
            "content": CONTENTS | st.lists(CONTENTS, max_size=2),
            "messageId": IDS,
            "toolCallId": st.sampled_from(["c1", "c2", 3, None]),
            "kind": st.sampled_from(["edit", "execute", "other", 4, None]),
            "status": st.sampled_from(["pending", "completed", "failed", 5, None]),
            "rawInput": st.sampled_from([{}, {"command": "ls"}, {"path": "/a"}, "text", None]),
            "rawOutput": CONTENTS | JSON | st.just(""),
            "title": TEXT,
        },
    ),
    st.dictionaries(TEXT, JSON, max_size=1),
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "id": IDS,
        "method": st.sampled_from(
            [
                "session/new",
                "session/load",
                "session/fork",
                "session/prompt",
                "session/update",
                "session/request_permission",
                "initialize",
                "new/method",
                7,
            ]
        ),
        "params": st.fixed_dictionaries(
            {},
            optional={
                "sessionId": SESSIONS,
                "update": UPDATES,
                "prompt": JSON | st.lists(CONTENTS, max_size=2),
                "cwd": TEXT,
            },
        )
        | JSON,
        "result": st.fixed_dictionaries({}, optional={"sessionId": SESSIONS, "usage": JSON}) | JSON,
        "error": JSON,
    },
)
LINES = st.lists(
    st.builds(
        lambda side, value, stamp, extra: {
            **extra,
            "acp": "message",
            "at": stamp,
            "from": side,
            "end": 3,
            "message": value,
        },
        st.sampled_from(["client", "agent"]),
        MESSAGES | st.lists(JSON, max_size=1),
        st.sampled_from([AT, "yesterday", 7]),
        EXTRA,
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=300)
@given(LINES)
def test_any_messages_come_back(lines):
    records = records_of(encode(lines), "acp")
    assert all(validate(record).findings == [] for record in records)
    rebuild.assert_same(records, json.loads(json.dumps(lines)))

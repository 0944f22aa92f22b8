import base64
import json

import pytest

from tests.agents import rebuild
from tests.conftest import (
    EXAMPLES,
    FIXTURES,
    jsonl,
    read_all,
    read_one,
    record_of,
    records_of,
    stranger,
)
from vacr.agents.documents import encode_session_rows
from vacr.agents.opencode.pieces import PieceCollector
from vacr.discovery.opening import read_sessions

FOLDER = FIXTURES / "opencode"
EXAMPLE = record_of((EXAMPLES / "opencode.json").read_bytes())
ODD = record_of((FOLDER / "export-odd.json").read_bytes())
MAIN, CHILD = records_of((FOLDER / "dump.jsonl").read_bytes())
SAMPLE = record_of((FOLDER / "sample.json").read_bytes())
STORED = {
    stranger(found.reading)["session"]["session-id"]: stranger(found.reading)
    for found in read_sessions(FOLDER / "storage")
}
SESSION, SUB = "ses_1e8f3c2b1a0ffeMiraInvoiceFix1", "ses_1e8f3c2b1a0ffeChildSession01"
SECRET = "11111111-2222-4333-8444-555555555555"  # noqa: S105 - the fixtures' own, of nothing


def entry(record, number):
    (found,) = [
        entry
        for entry in record["session"]["entries"]
        if entry.get("id") == f"msg_e1000000000{number}AbCdEfGhIjKlMn"
    ]
    return found


def exported(*parts, **info):
    """Record an export with one message of the assistant."""
    message = {
        "info": {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", **info},
        "parts": list(parts),
    }
    return record_of(
        json.dumps({"info": {"id": "ses_1", "directory": "/w"}, "messages": [message]}).encode()
    )


def tool(**state):
    record = exported(
        {"id": "prt_1", "type": "tool", "tool": "bash", "callID": "c1", "state": state}
    )
    return record["session"]["entries"][0]["children"]


def test_the_session_is_described():
    session = EXAMPLE["session"]
    assert session["session-id"] == SESSION
    assert session["environment"] == {"working-dir": "/home/mira/invoice"}
    assert session["title"] == "Round invoice lines"
    assert session["agent-meta"] == {
        "cli-name": "opencode",
        "cli-version": "1.18.4",
        "model-id": "gpt-5.2-codex",
        "model-provider": "openai",
        "models": ["gpt-5.2-codex"],
    }


def test_object_without_a_directory_is_not_a_session():
    value = {"id": "ses_1", "directory": None, "projectID": "p1"}
    record = record_of(json.dumps(value).encode(), "opencode")
    assert record["session"]["session-id"] != "ses_1"
    rebuild.assert_same([record], [value])


def test_times_stay_in_milliseconds():
    session = EXAMPLE["session"]
    assert (session["session-start"], session["session-end"]) == (1777709700000, 1777709709000)
    call, result = [
        child for child in entry(EXAMPLE, 2)["children"] if child["type"].startswith("tool")
    ]
    assert (entry(EXAMPLE, 2)["timestamp"], call["timestamp"], result["timestamp"]) == (
        1777709702000,
        1777709702300,
        1777709702310,
    )
    assert entry(EXAMPLE, 2)["time"] == {"completed": 1777709702900}


@pytest.mark.parametrize(
    ("name", "records", "format_id"),
    [
        ("an export", [EXAMPLE], "opencode-export"),
        ("a dump", [MAIN, CHILD], "opencode-json"),
        ("a storage folder", list(STORED.values()), "opencode-json"),
        ("a sample", [SAMPLE], "opencode-json"),
    ],
)
def test_the_form_of_a_source_is_named(name, records, format_id):
    del name
    assert {record["vacr"]["source"]["format"] for record in records} == {format_id}


def test_an_export_a_dump_and_a_folder_of_one_session_give_the_same_entries():
    assert (
        MAIN["session"]["entries"]
        == EXAMPLE["session"]["entries"]
        == STORED[SESSION]["session"]["entries"]
    )


def test_mixed_sessions_of_a_dump_are_separate_records():
    assert [record["session"]["session-id"] for record in (MAIN, CHILD)] == [SESSION, SUB]
    assert MAIN["session"]["todo"][0]["content"] == "Round"
    assert MAIN["session"]["session_diff"][0]["file"] == "total.py"
    assert MAIN["session"]["project"] == CHILD["session"]["project"]
    assert MAIN["session"]["environment"]["sandboxes"] == ["/home/mira/wt"]
    assert [
        entry["data"]
        for entry in CHILD["session"]["entries"]
        if entry.get("event-type") == "unknown"
    ] == [{"what": "is this"}]


def test_members_next_to_a_session_are_listed():
    assert MAIN["vacr"]["beside"] == ["project", "session_diff", "session_share", "todo"]
    assert ODD["vacr"]["beside"] == ["todos"]
    assert "beside" not in EXAMPLE["vacr"]


def test_member_next_to_a_session_with_an_own_name_is_an_event():
    data = {"info": {"id": "ses_1", "title": "own"}, "messages": [], "title": "beside"}
    record = record_of(json.dumps(data).encode())
    assert record["session"]["title"] == "own"
    (event,) = record["session"]["entries"]
    assert (event["event-type"], event["data"], event["vacr"]) == (
        "title",
        {"value": "beside"},
        {"beside": True},
    )


@pytest.mark.parametrize("record", [CHILD, STORED[SUB]], ids=["dump", "folder"])
def test_a_sub_agents_session_names_its_parent(record):
    assert record["vacr"]["parent"] == {"session-id": SESSION}
    assert record["session"]["format"] == "autonomous"
    assert "parent" not in MAIN["vacr"]


def test_texts_are_content_and_other_parts_are_children():
    message = entry(EXAMPLE, 2)
    assert [part["type"] for part in message["content"]] == ["text"]
    assert [child["type"] for child in message["children"]] == [
        "system-event",
        "reasoning",
        "tool-call",
        "tool-result",
        "system-event",
    ]
    assert message["children"][1]["content"] == "Late rounding, most likely."
    assert message["children"][4]["event-type"] == "step-finish"


def test_parts_out_of_id_order_keep_their_order():
    order = entry(ODD, 8)["vacr"]["order"]
    assert order[:4] == ["content/0", "children/0", "content/1", "children/1"]
    assert len(order) == 12
    assert "vacr" not in entry(EXAMPLE, 4)


def test_parts_before_the_content_keep_their_order():
    assert entry(EXAMPLE, 2)["vacr"]["order"] == [
        "children/0",
        "children/1",
        "content/0",
        "children/2",
        "children/4",
    ]


def test_parts_with_the_same_id_keep_their_order():
    (message,) = exported({"id": "prt_1", "type": "retry"}, {"id": "prt_1", "type": "text"})[
        "session"
    ]["entries"]
    assert message["vacr"] == {"order": ["children/0", "content/0"]}


def test_reverted_messages_are_superseded():
    fates = [entry.get("vacr", {}).get("superseded") for entry in ODD["session"]["entries"]]
    assert fates == [None, "reverted", "reverted"]
    assert entry(ODD, 8)["children"]


def test_a_tool_is_a_call_and_a_result():
    call, result = tool(
        status="completed",
        input={"command": "ls"},
        output="a\n",
        title="ls",
        time={"start": 1, "end": 2},
    )
    assert call == {
        "type": "tool-call",
        "id": "prt_1",
        "call-id": "c1",
        "name": "bash",
        "input": {"command": "ls"},
        "timestamp": 1,
        "vacr": {"native": {"type": "tool"}},
    }
    assert result == {
        "type": "tool-result",
        "call-id": "c1",
        "output": "a\n",
        "timestamp": 2,
        "state": {"title": "ls"},
        "vacr": {"native": {"status": "completed"}},
    }


def test_a_tool_that_failed_is_an_error():
    _, result = tool(status="error", input={}, error="boom")
    assert (result["output"], result["is-error"], result["status"]) == ("boom", True, "error")


@pytest.mark.parametrize("status", ["pending", "running"])
def test_unfinished_tool_has_no_result(status):
    (call,) = tool(status=status, input={"command": "ls"})
    assert call["state"] == {"status": status}


def test_tokens_of_a_message_are_counted_once():
    usage = entry(EXAMPLE, 4)["token-usage"]
    assert usage == {
        "input": 90 + 9120 + 12,
        "cached": 9120,
        "output": 140,
        "reasoning": 0,
        "total": 9362,
        "cost": 0.02,
    }
    (step,) = [
        child for child in entry(EXAMPLE, 4)["children"] if child.get("event-type") == "step-finish"
    ]
    assert "token-usage" not in step
    assert step["data"]["tokens"]["cache"] == {"read": 9120, "write": 12}


@pytest.mark.parametrize(
    ("tokens", "usage"),
    [
        ({"input": 2**64 - 1, "cache": {"read": 1}}, {"cached": 1}),
        ({"input": "x", "output": -1, "cache": 5}, None),
        ({"input": 1, "cache": {"read": "x", "write": 2}}, {"input": 3}),
        ([], None),
    ],
)
def test_invalid_counters_are_not_counted(tokens, usage):
    (message,) = exported(tokens=tokens)["session"]["entries"]
    assert message.get("token-usage") == usage
    assert message["tokens"] == tokens


@pytest.mark.parametrize("cost", ["0.5", "0", "1e-7", "12E0"])
def test_cost_is_read_in_any_notation(cost):
    data = json.dumps(
        {"info": {"id": "s"}, "messages": [{"info": {"role": "assistant", "cost": "HERE"}}]}
    )
    (message,) = record_of(data.replace('"HERE"', cost).encode())["session"]["entries"]
    assert message["token-usage"] == {"cost": float(cost)}


@pytest.mark.parametrize("source", ["dump", "folder", "rows"])
def test_secret_of_a_shared_session_is_kept_and_reported(source):
    session, share = (
        {"id": "ses_1", "directory": "/w"},
        {"id": "1", "session_id": "ses_1", "secret": SECRET, "url": "u"},
    )
    reading = {
        "dump": lambda: read_all((FOLDER / "dump.jsonl").read_bytes())[0],
        "folder": lambda: next(
            found.reading for found in read_sessions(FOLDER / "storage") if found.reading.notices
        ),
        "rows": lambda: read_one(
            encode_session_rows(
                "opencode-sqlite", "ses_1", [("session", session), ("session_share", share)]
            )
        ),
    }[source]()
    assert reading.record["session"]["session_share"]["secret"] == SECRET
    assert reading.record["vacr"]["secrets"] == ["/session/session_share/secret"]
    (notice,) = reading.notices
    assert "/session/session_share/secret" in notice.message


def test_secret_in_an_unplaced_value_is_flagged():
    share = {"id": "1", "secret": SECRET, "url": "u"}
    record = record_of(jsonl({"id": "ses_1", "directory": "/w"}, share, share), "opencode")
    assert record["vacr"]["secrets"] == [
        "/session/session_share/secret",
        "/session/entries/0/data/secret",
    ]
    assert record["session"]["entries"][0]["data"]["secret"] == SECRET


def test_a_message_of_another_role_is_an_event():
    assert ODD["session"]["entries"][2]["event-type"] == "message"
    assert ODD["vacr"]["drift"]["types"] == {
        "(text)": 1,
        "part/brand-new": 1,
        "part/tool": 1,
        "role/system": 1,
    }


def test_an_answer_names_the_message_before_it_and_why_it_ended():
    (message,) = exported(parentID="msg_0", finish="stop")["session"]["entries"]
    assert (message["parent-id"], message["stop-reason"]) == ("msg_0", "stop")
    assert not {"parentID", "finish"} & message.keys()


def test_an_error_stays_with_its_message():
    assert entry(EXAMPLE, 6)["error"]["name"] == "MessageAbortedError"


def test_sample_becomes_messages_with_calls_and_results():
    user, answer, results, late, system = SAMPLE["session"]["entries"]
    assert user["timestamp"] == 1777709700000
    assert [child["type"] for child in answer["children"]] == [
        "reasoning",
        "tool-call",
        "tool-call",
    ]
    assert [child["input"] for child in answer["children"][1:]] == [
        {"patchText": "*** Begin Patch"},
        "not json",
    ]
    assert (answer["model-id"], answer["stop-reason"]) == ("gpt-5.2", "tool_calls")
    assert [child["is-error"] for child in results["children"]] == [False, True]
    assert (late["type"], late["call-id"], late["output"]) == ("tool-result", "call-003", "late")
    assert (system["type"], system["event-type"]) == ("system-event", "system")
    assert SAMPLE["session"]["meta"] == {"agent": "opencode", "date": "2026-02-07"}
    assert SAMPLE["vacr"]["chat-from"] == "/messages"
    assert "drift" not in SAMPLE["vacr"]


@pytest.mark.parametrize(
    ("head", "session_id"),
    [
        ({"session_id": "s1", "id": "s2"}, "s1"),
        ({"id": "s2"}, "s2"),
        ({"metadata": {"sessionId": "s3"}}, "s3"),
    ],
)
def test_a_sample_may_name_its_session(head, session_id):
    chat = {"messages": [{"role": "user", "content": "x"}], "agent": "opencode"}
    record = record_of(json.dumps(head | chat).encode())
    assert record["session"]["session-id"] == session_id
    assert head.items() <= record["session"].items()


def test_model_of_a_message_outranks_its_metadata():
    message = {"role": "assistant", "content": "x", "model": "one", "metadata": {"model": "two"}}
    record = record_of(json.dumps({"agent": "opencode", "messages": [message]}).encode())
    (answer,) = record["session"]["entries"]
    assert (answer["model-id"], answer["model"], answer["metadata"]) == (
        "one",
        "one",
        {"model": "two"},
    )


def later(kind, **data):
    """Record a session of the later model with one row."""
    row = {"id": "x1", "session_id": "ses_1", "type": kind, "data": json.dumps(data)}
    (found,) = record_of(
        encode_session_rows("opencode-sqlite", "ses_1", [("session_message", row)])
    )["session"]["entries"]
    return found


def test_blocks_of_the_later_model_are_content_or_children():
    tool = {
        "type": "tool",
        "id": "c1",
        "name": "bash",
        "state": {"status": "completed", "input": {}, "content": ["x"]},
    }
    message = later(
        "assistant",
        content=[{"type": "text", "text": "x"}, {"type": "thinking", "thinking": "hm"}, tool],
    )
    assert [block["type"] for block in message["content"]] == ["text", "thinking"]
    assert [child["type"] for child in message["children"]] == [
        "reasoning",
        "tool-call",
        "tool-result",
    ]
    assert message["children"][2]["output"] == ["x"]


@pytest.mark.parametrize(
    ("kind", "event_type"), [("shell", "shell"), ("", ""), (5, "session_message")]
)
def test_other_row_of_the_later_model_is_an_event_of_its_type(kind, event_type):
    event = later(kind, text="x")
    assert (event["event-type"], event["data"].get("type", event_type)) == (event_type, kind)


def of_two(*values):
    """Record a dump of two sessions with these values."""
    heads = [{"id": f"ses_{letter}", "directory": "/w", "projectID": "p"} for letter in "AB"]
    return {
        record["session"]["session-id"]: record["session"]
        for record in records_of(jsonl(*heads, *values))
    }


def said(session):
    return [block["text"] for entry in session["entries"] for block in entry.get("content", ())]


def test_messages_with_the_same_id_stay_in_their_sessions():
    pieces = []
    for letter in "AB":
        pieces.append({"id": "msg_1", "sessionID": f"ses_{letter}", "role": "user", "who": letter})
        pieces.append(
            {
                "id": "prt_1",
                "messageID": "msg_1",
                "sessionID": f"ses_{letter}",
                "type": "text",
                "text": f"of {letter}",
            }
        )
    for order in (pieces, pieces[::-1]):
        made = of_two(*order)
        for letter in "AB":
            (entry,) = made[f"ses_{letter}"]["entries"]
            assert (entry["who"], entry["content"][0]["text"]) == (letter, f"of {letter}")


def test_part_without_session_follows_its_message():
    part = {"id": "prt_1", "messageID": "msg_1", "type": "text", "text": "words"}
    message = {"id": "msg_1", "sessionID": "ses_A", "role": "user"}
    other = {"id": "msg_2", "sessionID": "ses_B", "role": "user"}
    assert said(of_two(message, other, part)["ses_A"]) == ["words"]
    # A part that names a session belongs to it, even if another session has the message.
    assert said(of_two(message, other, part | {"sessionID": "ses_B"})["ses_A"]) == []


def test_shares_find_their_sessions_by_bisection():
    class Counted(str):  # noqa: SLOT000 - one of a test
        compared = 0

        def endswith(self, *arguments):
            Counted.compared += 1
            return super().endswith(*arguments)

    names = [f"ses_{number:06}Xy" for number in range(300)]
    pieces = PieceCollector()
    for name in names:
        pieces.add({"id": Counted(name), "directory": "/w", "projectID": "p"}, "session")
    for name in names:
        pieces.add({"id": name[-8:], "secret": "s", "url": name}, "session_share")
    pieces.add({"id": "", "secret": "s", "url": "of none"}, "session_share")
    for name, conversation in pieces.collect_conversations()[1:]:
        assert conversation.extras["session_share"]["url"] == name
    assert Counted.compared < 3000


HEADS = {
    "an object": {"x": "words"},
    "a number": 5,
    "nothing": None,
    "a list": ["words"],
    "a text": "ses_1",
}


@pytest.mark.parametrize("session", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("form", ["opencode-sqlite", "cursor-vscdb", "cursor-store"])
def test_head_of_an_export_may_hold_any_session(form, session):
    table = {"opencode-sqlite": "message", "cursor-vscdb": "cursorDiskKV", "cursor-store": "meta"}[
        form
    ]
    head = {"vacr-export": form, "session": session, "more": "kept"}
    (record,) = records_of(
        jsonl(head, {"table": table, "row": {"id": "m", "key": "k", "value": "{}"}})
    )
    assert type(record["session"]["session-id"]) is str
    if form == "opencode-sqlite":
        assert "kept" in json.dumps(record["session"])
        assert session in (None, "ses_1") or json.dumps(session) in json.dumps(record["session"])


@pytest.mark.parametrize(
    "lead",
    [
        b"Exporting session: ses_1\n",
        b"Exporting session: latest\r\n\n",
        b"warning: x\nExporting session: [a]\n",
    ],
)
@pytest.mark.parametrize("indent", [2, None])
def test_output_before_an_export_is_kept(lead, indent):
    """A capture of both output streams has a line of the other stream before the export."""
    said = {
        "info": {"id": "msg_1", "role": "user"},
        "parts": [{"id": "prt_1", "type": "text", "text": "words"}],
    }
    export = json.dumps(
        {"info": {"id": "ses_1", "directory": "/w"}, "messages": [said]}, indent=indent
    ).encode()
    reading = read_one(lead + export)
    alone, *kept = stranger(reading)["session"]["entries"]
    assert alone == record_of(export)["session"]["entries"][0]
    assert reading.record["session"]["session-id"] == "ses_1"
    assert (
        b"\n".join(base64.b64decode(event["data"]["bytes"]) for event in kept).split()
        == lead.split()
    )
    assert "not JSON" in reading.notices[0].message


@pytest.mark.parametrize(("size", "whole"), [(10, 3), (100_000, 1)])
def test_large_project_is_kept_with_its_first_session(size, whole):
    project = {"id": "p", "worktree": "/w", "icon": "x" * size}
    sessions = [{"id": f"ses_{number}", "directory": "/w", "projectID": "p"} for number in range(3)]
    made = [record["session"]["project"] for record in records_of(jsonl(project, *sessions))]
    assert made == [project] * whole + [{"id": "p", "kept-with-session": "ses_0"}] * (3 - whole)

"""Cursor: how calls ended in its databases, who wrote messages, and trimmed databases."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.conftest import jsonl, read_one, record_of
from tests.discovery.cursor_databases import command_line, digest, editor, field
from tests.discovery.recorded import read_all_sessions, record_bytes
from vacr.errors import NotASession

CID = "0f9c1d2e-3b4a-4c5d-8e6f-7a8b9c0d1e2f"


# --- the editor ---


def read_editor(folder, *bubbles, **composer):
    """Record a conversation of the editor with these bubbles."""
    headers = [{"bubbleId": f"b{i}", "type": bubble["type"]} for i, bubble in enumerate(bubbles)]
    head = {"composerId": CID, "fullConversationHeadersOnly": headers, **composer}
    rows = {f"composerData:{CID}": head}
    rows |= {f"bubbleId:{CID}:b{i}": bubble for i, bubble in enumerate(bubbles)}
    (found,) = read_all_sessions(editor(folder / "state.vscdb", rows))
    return json.loads(record_bytes(found))


def run_tool(folder, result, name="run_terminal_command_v2", **members):
    """Return the call and the result of a bubble with a tool."""
    tool = {"name": name, "toolCallId": "c1", "rawArgs": "{}", "status": "completed", **members}
    if result is not None:
        tool["result"] = json.dumps(result)
    record = read_editor(folder, {"type": 2, "text": "", "toolFormerData": tool})
    return record["session"]["entries"][0]["children"]


SUCCESS, FAILED = ("success", False, None), ("error", True, None)
DENIED, INTERRUPTED = ("denied", True, None), ("interrupted", True, None)
TIMEOUT, RUNNING, UNKNOWN = ("timeout", True, None), ("running", None, None), (None, None, None)
ENDED = "RUN_TERMINAL_COMMAND_ENDED_REASON_"


@pytest.mark.parametrize(
    ("result", "members", "expected"),
    [
        ({"output": "x", "exitCodeV2": 0}, {}, ("success", False, 0)),
        ({"output": "x", "exitCodeV2": 2}, {}, ("error", True, 2)),
        ({"output": "x", "exitCode": 3}, {}, ("error", True, 3)),
        ({"output": "x", "exitCodeV2": 0, "exitCode": 3}, {}, ("success", False, 0)),
        ({"output": "Exit code: 1\n"}, {}, SUCCESS),
        ({"output": '{"exitCodeV2": 1}'}, {}, SUCCESS),
        ({"output": "x", "exitCodeV2": True}, {}, SUCCESS),
        ({"output": "", "rejected": True}, {}, DENIED),
        ({"output": "", "rejected": False, "exitCodeV2": 0}, {}, ("success", False, 0)),
        ({"output": ""}, {"userDecision": "rejected"}, DENIED),
        ({"output": "", "exitCodeV2": 0}, {"userDecision": "rejected"}, DENIED),
        ({}, {"additionalData": {"reviewData": {"selectedOption": "reject"}}}, DENIED),
        ({"humanReview": {"isEditAccepted": False}}, {}, DENIED),
        ({"endedReason": ENDED + "EXECUTION_ABORTED"}, {}, INTERRUPTED),
        ({"endedReason": ENDED + "EXECUTION_ABORTED", "exitCodeV2": 0}, {}, (*INTERRUPTED[:2], 0)),
        ({"endedReason": ENDED + "IDLE_TIMEOUT"}, {}, TIMEOUT),
        ({"endedReason": ENDED + "EXECUTION_FAILED"}, {}, FAILED),
        ({"endedReason": 5}, {}, TIMEOUT),
        ({"endedReason": ENDED + "EXECUTION_COMPLETED", "exitCodeV2": 1}, {}, ("error", True, 1)),
        ({"isRunningInBackground": True}, {}, RUNNING),
        ({"isRunningInBackground": True, "exitCodeV2": 1}, {}, ("error", True, 1)),
        ({"contents": "x"}, {"status": "loading"}, RUNNING),
        ({"contents": "x"}, {"status": "cancelled"}, INTERRUPTED),
        ({"contents": "x"}, {"status": "error"}, FAILED),
        ({"contents": "x"}, {"error": "no such file"}, FAILED),
        (None, {"error": "no such file", "status": "error"}, FAILED),
        ({"applyFailed": True}, {}, FAILED),
        ({"isApplied": False}, {}, FAILED),
        ({"recoverableError": {"errorType": "SEARCH_STRING_NOT_FOUND"}}, {}, FAILED),
        ({"contents": "x"}, {"additionalData": {"status": "error"}}, FAILED),
        ({"contents": "x"}, {"additionalData": {"status": "success"}}, SUCCESS),
        ({"contents": "x"}, {"status": None}, UNKNOWN),
        ({"contents": "x"}, {"status": "of tomorrow"}, UNKNOWN),
    ],
)
def test_outcome_of_a_call_in_the_editor(tmp_path, result, members, expected):
    _, entry = run_tool(tmp_path, result, **members)
    marks = entry.get("vacr", {})
    assert (entry.get("status"), entry.get("is-error"), marks.get("exit-code")) == expected


@pytest.mark.parametrize(
    "result",
    [
        {"exit_code": 3},
        {"exitCode": 2, "exitCodeV2": 1},
        {"endedReason": 5},
        {"isBackground": True},
        {"rejected": True},
    ],
)
def test_object_of_a_server_that_resembles_a_terminals_does_not_decide(tmp_path, result):
    _, entry = run_tool(tmp_path, result, name="mcp_notes_read")
    marks = entry.get("vacr", {})
    assert (entry.get("status"), entry.get("is-error"), marks.get("exit-code")) == SUCCESS


def test_terminal_call_without_an_id_has_its_exit_code(tmp_path):
    _, entry = run_tool(tmp_path, {"exitCodeV2": 2}, toolCallId=None)
    assert (entry["status"], entry["vacr"]["exit-code"]) == ("error", 2)


def test_call_without_a_result_in_the_editor_is_marked(tmp_path):
    (call,) = run_tool(tmp_path, None, status="cancelled")
    assert call["vacr"] == {"status": "no-result"}


@pytest.mark.parametrize(
    "members",
    [
        {"userDecision": "rejected"},
        {"additionalData": {"userDecision": "reject"}},
        {"additionalData": {"reviewData": {"selectedOption": "undo"}}},
    ],
)
def test_refused_call_without_a_result_is_denied(tmp_path, members):
    (call,) = run_tool(tmp_path, None, status="cancelled", **members)
    assert call["vacr"] == {"status": "denied"}


def test_words_of_a_bubble_are_a_persons(tmp_path):
    record = read_editor(tmp_path, {"type": 1, "text": "Fix it."}, {"type": 1, "text": ""})
    first, empty = record["session"]["entries"]
    assert first["vacr"]["speaker"] == "human"
    assert "speaker" not in empty["vacr"]


def test_words_to_a_sub_agent_are_the_parents(tmp_path):
    info = {"parentComposerId": "p1"}
    record = read_editor(tmp_path, {"type": 1, "text": "Find it."}, subagentInfo=info)
    marks = record["session"]["entries"][0]["vacr"]
    assert (marks["speaker"], marks["speaker-basis"]) == ("parent-agent", "stated")


@pytest.mark.parametrize("table", ["cursorDiskKV", "ItemTable"])
def test_database_with_one_of_the_editors_tables_is_read(tmp_path, table):
    path = tmp_path / "export.db"
    if table == "cursorDiskKV":
        key, value = f"bubbleId:{CID}:b1", {"type": 1, "text": "Fix it."}
    else:
        key = "workbench.panel.aichat.view.aichat.chatdata"
        value = {"tabs": [{"tabId": CID, "bubbles": [{"type": "user", "text": "Fix it."}]}]}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE, value BLOB)")
        connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, json.dumps(value)))  # noqa: S608 - the test's own
    (found,) = read_all_sessions(path)
    (entry,) = json.loads(record_bytes(found))["session"]["entries"]
    assert (found.label, entry["content"]) == (CID, "Fix it.")


def test_database_of_somebody_else_is_refused(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE cursors (key, value)")
    with pytest.raises(NotASession):
        read_all_sessions(path)


# --- the command line ---


def read_store(folder, *messages):
    """Record messages of the command line's database."""
    blobs = [json.dumps(message).encode() for message in messages]
    root = b"".join(field(1, bytes.fromhex(digest(blob))) for blob in blobs)
    path = command_line(folder / "store.db", {"agentId": CID}, blobs, root)
    (found,) = read_all_sessions(path)
    return json.loads(record_bytes(found))["session"]["entries"]


def answer(text, details=None, tool="Shell"):
    block = {"type": "tool-result", "toolCallId": "c1", "toolName": tool, "result": text}
    message = {"role": "tool", "id": "c1", "content": [block]}
    if details is not None:
        message["providerOptions"] = {"cursor": {"highLevelToolCallResult": details}}
    return message


def wrap(code, output="done"):
    return (
        f"Exit code: {code}\n\nCommand output:\n\n```\n{output}\n```\n\nCommand completed in 9 ms."
    )


@pytest.mark.parametrize(
    ("text", "details", "tool", "expected"),
    [
        (wrap(0), None, "Shell", ("success", False, 0)),
        (wrap(1), None, "Shell", ("error", True, 1)),
        (wrap(0, "Exit code: 9\n\nCommand output:"), None, "Shell", ("success", False, 0)),
        (wrap(1), None, "Read", UNKNOWN),
        ("x\n" + wrap(1), None, "Shell", UNKNOWN),
        (wrap(1), {"output": {"success": {}}, "isError": False}, "Shell", ("error", True, 1)),
        ("x", {"output": {"failure": {"exitCode": 7}}}, "Shell", ("error", True, 7)),
        ("x", {"output": {"success": {"exitCode": 0}}}, "Shell", ("success", False, 0)),
        ("x", {"output": {"success": {"interrupted": True}}}, "Shell", INTERRUPTED),
        ("x", {"output": {"timeout": {"timeoutMs": 9}}}, "Shell", TIMEOUT),
        ("x", {"output": {"rejected": {"reason": "no"}}}, "Shell", DENIED),
        ("x", {"output": {"permissionDenied": {}}}, "Shell", DENIED),
        ("x", {"output": {"permissionDenied": {}}}, "Read", FAILED),
        ("x", {"output": {"spawnError": {}}}, "Shell", FAILED),
        ("x", {"output": {"fileNotFound": {}}}, "Read", FAILED),
        ("x", {"output": {"success": {"exitCode": 4}}}, "Read", SUCCESS),
        ("x", {"output": [], "isError": True}, "Read", FAILED),
        ("x", {"output": {"success": {}, "isError": False}}, "Read", SUCCESS),
        ("x", {"isError": False}, "Read", SUCCESS),
        ("x", {"output": {"success": {}, "rejected": {}}}, "Shell", UNKNOWN),
        ("Error: no such file", None, "Read", UNKNOWN),
    ],
)
def test_outcome_of_a_call_of_the_command_line(tmp_path, text, details, tool, expected):
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": tool, "args": {}}
    asked = {"role": "assistant", "content": [call]}
    _, told, *_ = read_store(tmp_path, asked, answer(text, details, tool))
    (result,) = told["children"]
    marks = result.get("vacr", {})
    assert (result.get("status"), result.get("is-error"), marks.get("exit-code")) == expected
    assert "speaker" not in told.get("vacr", {})


def test_messages_of_the_command_line_state_the_host(tmp_path):
    notes = [{"requestId": "r"}, {"isSummary": True}, {"loopReminder": True}]
    messages = [
        {"role": "user", "content": f"Text {i}.", "providerOptions": {"cursor": note}}
        for i, note in enumerate(notes)
    ]
    entries = read_store(tmp_path, *messages)[: len(notes)]
    assert [entry["vacr"]["speaker"] for entry in entries] == ["human", "host", "host"]


# --- transcripts ---

FILES = "<attached_files>\na.py\n</attached_files>\n"
QUERY = "<user_query>\nFix it.\n</user_query>"
PLAIN, HOST = ("human", "inferred", None), ("host", "inferred", None)
TYPED = ("human", "stated", "Fix it.")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Fix it."], PLAIN),
        ([QUERY], TYPED),
        ([FILES + QUERY], TYPED),
        ([FILES, QUERY], TYPED),
        ([QUERY + "\n<system_reminder>\nBe brief.\n</system_reminder>"], TYPED),
        (["<timestamp>now</timestamp>\n<user_info>\nOS\n</user_info>\n\n" + QUERY], TYPED),
        (['<attached_files mode="x">\na.py\n</attached_files>\n' + QUERY], TYPED),
        (
            ["<attached_files>\n<user_query>x</user_query>\n</attached_files>\n" + QUERY],
            TYPED,
        ),
        (["<attached_files>\n'</attached_files>'\n</attached_files>\n" + QUERY], TYPED),
        ([QUERY + "\n" + QUERY], ("human", "stated", "Fix it.\nFix it.")),
        (["<user_query>\n/review now\n</user_query>"], ("human", "stated", "/review now")),
        (
            ["<user_query>\nWhy <user_query> and </user_query>?\n</user_query>"],
            ("human", "stated", "Why <user_query> and </user_query>?"),
        ),
        (["What is <user_query>x</user_query>?"], PLAIN),
        (["<div>\nmy own element\n</div>"], PLAIN),
        (["<rules> are what I want to discuss."], PLAIN),
        ([FILES + "Fix it."], ("human", "inferred", "Fix it.")),
        ([FILES], HOST),
        (["<system_reminder>\nBe brief.\n</system_reminder>"], HOST),
        (["<hooks_context>\nx\n</hooks_context>"], ("hook", "inferred", None)),
    ],
)
def test_speaker_of_a_transcript(texts, expected):
    content = [{"type": "text", "text": text} for text in texts]
    record = record_of(jsonl({"role": "user", "message": {"content": content}}), "cursor")
    marks = record["session"]["entries"][0]["vacr"]
    assert (marks["speaker"], marks["speaker-basis"], marks.get("prompt")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<rules>Be nice</rules> fix it", PLAIN),
        ("<rules>\nBe nice\n</rules> fix it", PLAIN),
        ("<timestamp>12:00</timestamp>", PLAIN),
        ("<user_query>\nFix it.", ("human", "stated", "Fix it.")),
        ("<timestamp>12:00</timestamp>\nis wrong", PLAIN),
        ("<communication>is bad here</communication>", PLAIN),
        ("<user_query>hi</user_query> trailing words", ("human", "stated", "hi\ntrailing words")),
        (
            f"{QUERY}\n<system_reminder>\nBe brief.\n</system_reminder>\nand test it",
            ("human", "stated", "Fix it.\nand test it"),
        ),
        (
            "<user_query>\n<rules>x</rules> hi\n</user_query>",
            ("human", "stated", "<rules>x</rules> hi"),
        ),
    ],
)
def test_words_beside_elements_stay_in_the_prompt(text, expected):
    content = [{"type": "text", "text": text}]
    record = record_of(jsonl({"role": "user", "message": {"content": content}}), "cursor")
    marks = record["session"]["entries"][0]["vacr"]
    assert (marks["speaker"], marks["speaker-basis"], marks.get("prompt")) == expected


def test_query_in_the_transcript_of_a_sub_agent_is_the_parents():
    line = {"role": "user", "message": {"content": [{"type": "text", "text": QUERY}]}}
    name = f"{CID}/subagents/99999999-2222-4aaa-8bbb-0123456789ab.jsonl"
    (entry,) = read_one(jsonl(line), name, "cursor").record["session"]["entries"]
    assert entry["vacr"] == {"speaker": "parent-agent", "speaker-basis": "stated"}


def test_calls_of_a_transcript_have_no_outcome():
    call = {"type": "tool_use", "name": "Shell", "input": {"command": "false"}}
    told = {"type": "tool_result", "tool_use_id": "t", "content": "Exit code: 1"}
    record = record_of(
        jsonl(
            {"role": "assistant", "message": {"content": [call]}},
            {"role": "user", "message": {"content": [told]}},
        ),
        "cursor",
    )
    asked, answered = record["session"]["entries"]
    assert "vacr" not in asked["children"][0]
    assert "status" not in answered["children"][0]

"""GitHub Copilot CLI: both places of a log, sub-agents, tokens, models, and lines that are odd."""

import json

import pytest

from tests.agents.entries import list_entries, list_events
from tests.conftest import FIXTURES, jsonl, record_of
from vacr import validate
from vacr.agents.registry import load_agents

FOLDER = FIXTURES / "copilot" / "session-state" / "7d1f0c52-3b6e-4a8d-9c15-2e4f6a8b0c1d"
NEWER = record_of((FOLDER / "events.jsonl").read_bytes())
OLDER = record_of((FIXTURES / "copilot" / "older.jsonl").read_bytes())
ODD = record_of((FIXTURES / "copilot" / "odd.jsonl").read_bytes())
HELPER = "5b0e9a41-0000-4000-8000-00000000a9e7"


def line(kind, **data):
    return {
        "type": kind,
        "data": data,
        "id": f"{kind}-{len(json.dumps(data))}",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "parentId": None,
    }


START = line("session.start", sessionId="s1", producer="copilot-agent", copilotVersion="1.0.0")


def read(*lines):
    return record_of(jsonl(START, *lines))


def test_the_session_is_described():
    session = NEWER["session"]
    vcs = {
        "type": "git",
        "revision": "3f1c0a9e7b5d4c2f8e6a1b3d5c7f9e0a2b4c6d8e",
        "branch": "tax",
        "repository": "mira/invoice",
    }
    assert session["session-id"] == FOLDER.name
    assert session["session-start"] == "2026-11-02T09:00:00.000Z"
    assert session["environment"] == {"working-dir": "/home/mira/invoice", "vcs": vcs}
    assert session["agent-meta"] == {
        "cli-name": "copilot",
        "cli-version": "1.0.102",
        "model-id": "gpt-5.4",
        "model-provider": "github-copilot",
        "models": ["gpt-5.4", "gpt-5.4-mini"],
    }


def test_entries_keep_the_chain_of_events():
    entries = NEWER["session"]["entries"]
    assert [entry["parent-id"] for entry in entries[1:]] == [entry["id"] for entry in entries[:-1]]


def test_typed_text_is_the_content_and_the_text_for_the_model_stays_beside_it():
    (prompt, _) = list_entries(NEWER, "user")
    assert prompt["content"] == "Add the tax to total.py, and test it."
    assert prompt["data"]["transformedContent"].startswith("<current_datetime>")
    assert prompt["data"]["attachments"][0]["displayName"] == "total.py"


def test_reasoning_is_a_child_with_its_encrypted_form():
    (child,) = list_entries(NEWER, "assistant")[0]["children"]
    assert child == {
        "type": "reasoning",
        "content": "The file first.",
        "encrypted": "b3BhcXVl",
    }


def test_calls_and_results_are_linked():
    calls = [entry["call-id"] for entry in list_entries(NEWER, "tool-call")]
    assert calls == ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t10", "s1"]
    assert {entry["call-id"] for entry in list_entries(NEWER, "tool-result")} == set(calls)
    (result,) = [entry for entry in list_entries(NEWER, "tool-result") if entry["call-id"] == "t5"]
    assert result["output"] == "No match found"
    assert result["vacr"]["output-from"] == "error"


def test_call_that_never_started_is_a_child_of_its_message():
    (call,) = [
        child
        for entry in list_entries(NEWER, "assistant")
        for child in entry.get("children", ())
        if child["type"] == "tool-call"
    ]
    assert (call["call-id"], call["name"], call["input"]["command"]) == ("t9", "bash", "ls")
    assert call["vacr"] == {"from": "toolRequests", "status": "no-result"}


def test_entries_of_a_sub_agent_name_it():
    agent = load_agents()["copilot"]
    inside = [entry for entry in NEWER["session"]["entries"] if agent.chain_of(entry) == HELPER]
    assert [entry["type"] for entry in inside if entry["type"] != "system-event"] == [
        "user",
        "assistant",
        "tool-call",
        "tool-result",
    ]
    chains = [agent.chain_of(entry) for entry in list_entries(OLDER, "tool-call", "assistant")]
    assert sorted(set(chains)) == ["", "o5"]


def test_tokens_come_from_the_records_of_calls():
    records = list_events(NEWER, "session.usage_record")
    assert records[0]["token-usage"] == {"input": 900, "cached": 0, "output": 40, "reasoning": 12}
    assert [record["model-id"] for record in records] == [*["gpt-5.4"] * 4, "gpt-5.4-mini"]
    assert [entry.get("token-usage") for entry in list_entries(NEWER, "assistant")] == [
        *[None] * 5,
        {"output": 77},
    ]
    (end,) = list_events(NEWER, "session.shutdown")
    assert "children" not in end


def test_totals_of_each_run_add_what_no_message_states():
    first, second = list_events(OLDER, "session.shutdown")
    assert [(child["model-id"], child["token-usage"]) for child in first["children"]] == [
        ("claude-opus-4.6", {"input": 41000, "cached": 30000, "output": 0}),
        ("claude-haiku-4.5", {"input": 8000, "cached": 5000, "output": 0}),
    ]
    assert second["children"][0]["token-usage"] == {"input": 12000, "cached": 11000, "output": 0}
    assert {child["vacr"]["usage-from"] for child in first["children"]} == {"total"}


def test_total_of_the_whole_session_counts_its_growth():
    def total(count):
        usage = {"inputTokens": 100 * count, "outputTokens": 10 * count}
        return line("session.shutdown", modelMetrics={"m": {"usage": usage}})

    message = line("assistant.message", content="x", model="m", outputTokens=10)
    record = read(message, total(1), message, total(2))
    grown = [end["children"][0]["token-usage"] for end in list_events(record, "session.shutdown")]
    assert grown == [{"input": 100, "output": 0}] * 2


def test_parts_of_one_answer_count_once():
    part = {"content": "x", "model": "m", "outputTokens": 8, "apiCallId": "a1", "chunkCount": 2}
    record = read(
        line("assistant.message", chunkIndex=0, **part),
        line("assistant.message", chunkIndex=1, **part),
    )
    assert [entry.get("token-usage") for entry in list_entries(record, "assistant")] == [
        {"output": 8},
        None,
    ]


def test_model_of_older_messages_comes_from_their_calls_or_the_session():
    assert [
        (entry["model-id"], entry["vacr"]["model-from"])
        for entry in list_entries(OLDER, "assistant")
    ] == [
        ("claude-opus-4.6", "call"),
        ("claude-opus-4.6", "call"),
        ("claude-haiku-4.5", "call"),
        ("claude-haiku-4.5", "session"),
        ("claude-opus-4.6", "session"),
        ("claude-opus-4.6", "call"),
        ("claude-opus-4.6", "session"),
        ("claude-opus-4.6", "session"),
    ]


def test_resumed_session_states_its_folder():
    agent = load_agents()["copilot"]
    folders = [agent.folder_of(entry) for entry in OLDER["session"]["entries"]]
    assert [folder for folder in folders if folder] == [
        "D:\\work\\invoice",
        "D:\\work\\invoice\\src",
    ]


def test_arguments_that_are_a_text_of_json_are_parsed():
    call = list_entries(ODD, "tool-call")[1]
    assert (call["input"], call["data"]["arguments"]) == ({"query": "x"}, '{"query":"x"}')
    assert list_entries(ODD, "tool-call")[0]["input"].startswith("*** Begin Patch")


def test_reasoning_that_a_message_repeats_is_marked():
    (entry,) = list_entries(ODD, "reasoning")
    assert entry["vacr"]["repeats"] is True


def test_unknown_types_and_members_are_kept_and_counted():
    assert ODD["vacr"]["drift"] == {
        "members": {
            "line.content": 1,
            "line.vacr": 1,
            "line.weather": 1,
            "session.start.mood": 1,
        },
        "types": {"(object)": 1, "bare/user.message": 1, "session.brand_new": 1},
    }
    (entry,) = list_events(ODD, "session.brand_new")
    assert entry["weather"] == "fine"
    assert entry["vacr"]["native"] == {"content": "beside", "vacr": {"own": 1}, "id": 9}


def test_own_key_leaves_the_provider_open():
    usage = {"model": "m", "inputTokens": 3, "outputTokens": 1, "isByok": True}
    record = read(line("session.usage_record", usage=usage))
    assert record["session"]["agent-meta"]["model-provider"] == "unknown"


def test_session_without_a_terminal_is_autonomous():
    text = "You are the CLI. You are running in non-interactive mode and have no way to ask."
    record = read(
        line("system.message", role="system", content=text), line("user.message", content="Do it.")
    )
    assert record["session"]["format"] == "autonomous"
    assert list_entries(record, "user")[0]["vacr"]["speaker"] == "unknown"


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "session.start", "data": {"producer": "other"}, "id": "1", "parentId": None}],
        [{"type": "user.message", "data": {"content": "x"}}],
        [{"type": "greeting", "data": {}, "id": "1", "parentId": None}],
        [START | {"data": START["data"] | {"vscodeVersion": "1.119.0"}}],
    ],
    ids=["another producer", "no envelope", "no known type", "the editor's log"],
)
def test_other_logs_are_not_recognised(lines):
    assert load_agents()["copilot"].recognises(lines) == 0.0


def test_log_without_its_first_line_is_recognised():
    data = (FIXTURES / "copilot" / "older.jsonl").read_bytes().split(b"\n", 1)[1]
    assert record_of(data)["session"]["agent-meta"]["cli-name"] == "copilot"


def test_truncated_log_keeps_its_last_line():
    record = record_of((FOLDER / "events.jsonl").read_bytes()[:-40])
    assert validate(record).findings == []
    assert record["session"]["entries"][-1]["event-type"] == "undecodable"

"""Cline, Roo Code and Kilo Code: sessions, tasks, and calls in text."""

import json
import shutil

import pytest

from tests.agents import independent, rebuild
from tests.agents.entries import list_typed, read_place
from tests.conftest import CORPUS, FIXTURES, read_one, record_of
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.agents.cline.outcomes import classify_outcome
from vacr.agents.labels import CallResult
from vacr.agents.registry import load_agents, recognise_agent

CLINE = FIXTURES / "cline"
SESSION = "1790000000000_till0"
FORK = "1790000100000_till1"
TASK = CLINE / "tasks" / "1790000000123" / "api_conversation_history.json"
ROO = FIXTURES / "roo" / "tasks" / "0f1e2d3c-0000-4000-8000-00000000cafe"


def sdk_file(session):
    return CLINE / "sessions" / session / f"{session}.messages.json"


# --- sessions of the SDK ---


def test_manifest_is_joined_to_the_messages():
    record = read_place(sdk_file(SESSION))[0]
    session = record["session"]
    assert session["session-id"] == SESSION
    assert session["session-start"] == "2026-09-21T14:13:20.100Z"
    assert session["environment"]["working-dir"] == "/home/nora/till"
    assert record["vcs"] == {"type": "git", "branch": "main"}
    assert session["agent-meta"]["cli-version"] == "3.0.65"
    assert session["format"] == "interactive"
    attached = [
        entry["data"]["name"]
        for entry in session["entries"]
        if entry.get("event-type") == "attached-file"
    ]
    assert attached == [f"{SESSION}.json", f"{SESSION}.compaction.json"]


def test_manifest_of_another_session_is_not_joined(tmp_path):
    folder = tmp_path / "x"
    shutil.copytree(sdk_file(SESSION).parent, folder)
    manifest = json.loads((folder / f"{SESSION}.json").read_text())
    (folder / f"{SESSION}.json").write_text(json.dumps(manifest | {"session_id": "other"}))
    record = read_place(folder / f"{SESSION}.messages.json")[0]
    assert "environment" not in record["session"]


def test_manifest_alone_is_a_session_with_a_notice():
    reading = read_one(sdk_file(SESSION).with_name(f"{SESSION}.json").read_bytes())
    assert reading.record["session"]["entries"] == []
    assert "messages.json" in reading.notices[0].message


def test_object_with_nulls_for_the_marks_of_a_manifest_is_not_one():
    value = {"session_id": SESSION, "enable_spawn": None, "cwd": "/home/nora/till"}
    record = record_of(json.dumps(value).encode(), "cline")
    assert [entry["data"] for entry in record["session"]["entries"]] == [value]
    assert record["session"]["session-id"] != SESSION


def test_empty_id_of_a_manifest_stays():
    record = record_of(json.dumps({"session_id": "", "enable_spawn": True}).encode(), "cline")
    assert record["session"]["session_id"] == ""
    assert record["session"]["session-id"] == record["vacr"]["source"]["parts"][0]["sha-256"]


def test_messages_that_a_fork_copied_are_inherited():
    (record,) = read_place(sdk_file(FORK))
    messages = [entry for entry in record["session"]["entries"] if "data" not in entry]
    assert [entry.get("vacr", {}).get("inherited") for entry in messages] == [True] * 5 + [None] * 2
    assert record["vacr"]["parent"] == {"session-id": SESSION}
    assert record["session"]["agent-meta"]["model-provider"] == "anthropic"


def test_sub_agent_belongs_to_its_session():
    parent, child = read_place(sdk_file(SESSION))
    assert child["vacr"]["parent"] == {"session-id": parent["session"]["session-id"]}
    assert list_typed(child, "user")[0]["vacr"]["speaker"] == "parent-agent"
    assert child["session"]["format"] == "autonomous"


def test_usage_counts_the_cache_as_input_and_keeps_the_cost():
    usage = list_typed(record_of(sdk_file(SESSION).read_bytes()), "assistant")[0]["token-usage"]
    assert usage == {"input": 100, "cached": 50, "output": 20, "cost": 0.01}


def test_summary_of_a_compaction_is_the_hosts():
    data = sdk_file(SESSION).with_name(f"{SESSION}.compaction.json").read_bytes()
    assert list_typed(record_of(data), "user")[0]["vacr"]["speaker"] == "host"


def test_drift_is_counted_and_odd_values_stay():
    record = record_of((CLINE / "drifted.messages.json").read_bytes())
    drift = record["vacr"]["drift"]
    assert drift["members"] == {"message.mood": 1, "session.mood": 1}
    assert {"content/hologram": 1, "system": 1}.items() <= drift["types"].items()
    assert list_typed(record, "user")[0]["ts"] == "yesterday"


# --- tasks of the extension ---


def test_results_in_text_belong_to_the_calls_in_blocks():
    record = record_of(TASK.read_bytes())
    ends = {
        result["call-id"]: (result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in list_typed(record, "tool-result")
    }
    assert ends == {
        "t1": ("success", None),
        "t2": ("error", None),
        "t3": ("success", None),
        "t4": ("success", None),
        "t5": ("error", 1),
        "t6": (None, None),
        "t7": ("denied", None),
        "t8": ("running", None),
        "t9": (None, None),
    }
    (last,) = [call for call in list_typed(record, "tool-call") if call["call-id"] == "t10"]
    assert last["vacr"]["status"] == "no-result"


def test_words_of_the_person_are_told_from_the_hosts():
    labels = independent.record_labels(record_of(TASK.read_bytes()))
    assert labels.prompts == [
        "Round the total to cents.",
        "Do not remove anything.",
        "No, half to even.",
        "Also round the tax.",
    ]
    assert labels.speakers == {"human": 4, "host": 6}


def test_text_of_the_screen_that_is_not_a_text_is_an_event():
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    shown = [
        {"ts": 1, "type": "say", "say": "task", "text": "Go."},
        {"ts": 2, "type": "say", "say": "text", "text": [call]},
    ]
    record = record_of(json.dumps(shown).encode(), "cline", "ui_messages.json")
    assert validate(record).findings == []
    assert [entry["type"] for entry in record["session"]["entries"]] == ["user", "system-event"]
    rebuild.assert_same([record], [shown])


def test_times_and_tokens_of_the_screen_are_joined():
    record = read_place(TASK)[0]
    entries = record["session"]["entries"]
    start = 1790000000000
    assert record["session"]["session-id"] == "1790000000123"
    assert [entry.get("timestamp") for entry in entries[:4]] == [
        start + 100,
        start + 900,
        start + 2000,
        start + 2600,
    ]
    assert entries[1]["vacr"]["time-from"] == "screen"
    assert entries[1]["token-usage"] == {"input": 910, "cached": 100, "output": 30, "cost": 0.004}
    assert entries[5]["token-usage"] == {"input": 910, "output": 30}
    assert record["session"]["agent-meta"]["cli-version"] == "3.51.0"


def test_commit_and_remote_are_those_of_the_workspace():
    assert record_of(TASK.read_bytes())["vcs"] == {
        "type": "git",
        "revision": "0123456789abcdef0123456789abcdef01234567",
        "repository": "https://example.org/nora/till.git",
    }


def test_calls_in_xml_have_their_results():
    record = record_of((CLINE / "task-xml.json").read_bytes())
    calls = list_typed(record, "tool-call")
    assert [(call["name"], call["vacr"].get("from")) for call in calls] == [
        ("write_to_file", "text"),
        ("replace_in_file", "text"),
        ("execute_command", "text"),
        ("attempt_completion", "text"),
    ]
    assert calls[0]["input"]["content"] == "\nprint('<content>hello</content>')\n"
    results = list_typed(record, "tool-result")
    assert [result["call-id"] for result in results] == [call["call-id"] for call in calls[:3]]
    assert [result["status"] for result in results] == ["success"] * 3
    assert independent.record_labels(record).prompts == ["Write a greeting."]


def test_session_without_messages_is_recognised():
    empty = {"version": 1, "agent": "lead", "sessionId": "s", "origin": {}, "messages": []}
    record = record_of(json.dumps(empty).encode())
    assert record["session"]["agent-meta"]["cli-name"] == "cline"


def test_xml_in_a_session_with_blocks_is_only_text():
    call = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}}
    quoted = "<read_file>\n<path>a</path>\n</read_file>"
    messages = [
        {"role": "user", "content": "<task>\nExplain calls.\n</task>"},
        {"role": "assistant", "content": [{"type": "text", "text": quoted}]},
        {"role": "assistant", "content": [call]},
    ]
    assert len(list_typed(record_of(json.dumps(messages).encode()), "tool-call")) == 1


# --- Roo Code ---


def test_roo_code_is_told_from_cline():
    record = record_of((ROO / "api_conversation_history.json").read_bytes())
    assert record["session"]["agent-meta"]["cli-name"] == "roo-code"
    ends = [
        (result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in list_typed(record, "tool-result")
    ]
    assert ends == [("success", None), ("error", 2)]
    assert "drift" not in record["vacr"]


# --- recognition ---


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no real sessions here")
def test_real_sessions_of_other_agents_are_not_taken():
    own = {"cline", "roo"}
    for path in sorted(CORPUS.glob("*/*")):
        data = path.read_bytes()
        if path.parent.name in own or data.startswith(b"SQLite"):
            continue
        sample = Source((SourcePart("x", data),)).main.sample(16)
        if sample:
            assert [load_agents()[name].recognises(sample) for name in ("cline", "roo-code")] == [
                0.0,
                0.0,
            ], path


@pytest.mark.parametrize("path", sorted(CLINE.rglob("*.json")), ids=lambda path: path.name[-30:])
def test_own_sessions_are_taken_by_one_agent(path):
    if path.name == "task_metadata.json":
        pytest.skip("belongs to a task")
    source = Source((SourcePart("x", path.read_bytes()),))
    assert recognise_agent(source).name == "cline"
    sample = source.main.sample(4)
    takers = [name for name, agent in load_agents().items() if agent.recognises(sample) > 0]
    assert takers == ["cline"]


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ('{"text":"Done.","finishReason":"completed"}', "success"),
        ('{"text":"","finishReason":"error"}', "error"),
        ('{"text":"","finishReason":"aborted"}', "interrupted"),
        ('{"text":"","finishReason":["completed"]}', ""),
        ('Tool "spawn_agent" was denied by user', "denied"),
    ],
)
def test_finish_of_a_sub_agent_decides(output, status):
    result = {"output": output}
    call = {"name": "spawn_agent"}
    assert classify_outcome(CallResult(result, result, call, {})).status == status

"""Conversations of OpenHands: the folder, the early events, labels and attribution."""

import json

import pytest

from tests.agents import rebuild
from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, jsonl, record_of, records_of, stranger
from tests.discovery import homes
from vacr import validate
from vacr.agents import find_agent
from vacr.discovery import list_sessions, read_sessions
from vacr.errors import UnreadableInput

HANDS = FIXTURES / "openhands"
ID = "0e000000-1111-4000-8000-000000000000"


def read(name):
    return record_of((HANDS / name).read_bytes())


def list_results(record):
    return {
        entry["call-id"]: (entry.get("status"), entry.get("vacr", {}).get("exit-code"))
        for entry in record["session"]["entries"]
        if entry["type"] == "tool-result"
    }


# --- the folder of a conversation ---


def test_folder_is_one_session_with_its_state(tmp_path):
    homes.openhands(tmp_path / "conv")
    (opened,) = read_sessions(tmp_path / "conv")
    record = stranger(opened.reading)
    assert record["session"]["session-id"] == ID
    assert record["session"]["environment"] == {"working-dir": "/home/nora/till"}
    assert validate(record).findings == []
    lines = read("hands-events.jsonl")["session"]["entries"]
    assert record["session"]["entries"][1:] == lines
    state = json.loads((tmp_path / "conv" / "base_state.json").read_text())
    native = [state, *map(json.loads, (HANDS / "hands-events.jsonl").read_text().splitlines())]
    rebuild.assert_same([record], native)


def test_events_are_read_in_the_order_of_their_numbers(tmp_path):
    (tmp_path / "conv" / "events").mkdir(parents=True)
    for number in (100_000, 99_999):
        event = {"id": f"{number}aaaa", "kind": "PauseEvent", "source": "user"}
        path = tmp_path / "conv" / "events" / f"event-{number:05}-aaaaaaaa.json"
        path.write_text(json.dumps(event))
    (opened,) = read_sessions(tmp_path / "conv")
    entries = opened.reading.record["session"]["entries"]
    assert [entry["data"]["id"] for entry in entries] == ["99999aaaa", "100000aaaa"]


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_conversations_are_listed_on_each_system(tmp_path, system):
    homes.openhands(tmp_path / ".openhands" / "conversations" / ID.replace("-", ""))
    (found,) = list_sessions("openhands", homes.variables(tmp_path, system), system)
    assert (found.session_id, found.project) == (ID, "/home/nora/till")
    assert found.title == "The total is off by a cent."


def test_folder_with_other_events_is_not_a_conversation(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "party.json").write_text("{}")
    with pytest.raises(UnreadableInput, match="a folder, not a file"):
        list(read_sessions(tmp_path))


# --- labels ---


def test_outcomes():
    assert list_results(read("hands-events.jsonl")) == {
        "c1": ("success", None),
        "c2": ("error", 2),
        "c3": ("success", None),
        "c4": ("denied", None),
        "c5": ("timeout", None),
        "c6": ("error", None),
        "c7": (None, None),
    }


def test_speakers():
    users = [e for e in read("hands-events.jsonl")["session"]["entries"] if e["type"] == "user"]
    assert [e["vacr"]["speaker"] for e in users] == ["human", "hook"]


def test_local_times_are_kept_as_they_are():
    record = read("hands-events.jsonl")
    assert "session-start" not in record["session"]
    message = next(e for e in record["session"]["entries"] if e["type"] == "user")
    assert message["vacr"]["native"]["timestamp"] == "2026-05-02T08:15:02.123456"


def test_time_with_a_zone_is_a_time():
    event = {"kind": "MessageEvent", "source": "user", "timestamp": "2026-05-02T08:15:02+02:00"}
    record = record_of(jsonl(event | {"llm_message": {"role": "user", "content": "Hi"}}))
    assert record["session"]["entries"][0]["timestamp"] == "2026-05-02T08:15:02+02:00"


def test_only_models_that_were_used_are_named():
    assert read("hands-events.jsonl")["session"]["agent-meta"]["models"] == ["vendor/sonnet-9"]


# --- early events ---


def test_each_task_of_an_output_is_a_session():
    first, second = records_of((HANDS / "hands-output.jsonl").read_bytes())
    assert first["session"]["session-id"] != second["session"]["session-id"]
    assert list_results(first) == {"action-1": ("success", 0), "action-2": (None, None)}
    assert first["session"]["entries"][0]["vacr"]["speaker"] == "unknown"


@pytest.mark.parametrize("others", [{}, {"instance_id": "t1"}], ids=["alone", "with others"])
def test_message_of_a_history_that_stands_alone_comes_back(others):
    task = others | {"history": [{"action": "message", "args": {"content": "Go."}}]}
    record = record_of(json.dumps(task).encode(), "openhands")
    (entry,) = record["session"]["entries"]
    assert entry["vacr"]["from"] == "args"
    assert entry["vacr"].get("in") == (None if others else "member")
    rebuild.assert_same([record], [task])


def test_observation_belongs_to_the_action_that_it_names():
    record = read("hands-list.json")
    assert list_results(record) == {"event-1": ("error", 1)}
    kinds = [entry["type"] for entry in record["session"]["entries"]]
    assert kinds == ["user", "assistant", "tool-result", "system-event", "assistant"]


# --- attribution ---


def test_texts_before_and_after_prove_lines():
    assert list_changes([read("hands-events.jsonl")]) == [
        ("/home/nora/till/total.py", [[2, 2]], "recorded"),
        ("/home/nora/till/rates.py", [[1, 1]], "recorded"),
    ]


def test_similar_events_are_not_recognised():
    others = [
        {"kind": "ActionEvent"},
        {"kind": "Party", "source": "user"},
        {"action": "run"},
        {"observation": {"content": "x"}, "content": "x"},
        {"history": [{"action": "run", "source": "agent"}]},
        [],
        "ActionEvent",
    ]
    assert [find_agent("openhands").recognises([value]) for value in others] == [0.0] * 7


# --- tokens and waiting ---


def build_stats(prompt, cost, model="vendor/sonnet-9"):
    tokens = {"prompt_tokens": prompt, "completion_tokens": 3, "cache_read_tokens": 1}
    metric = {"model_name": model, "accumulated_cost": cost, "accumulated_token_usage": tokens}
    return {"usage_to_metrics": {"agent": metric}}


def sum_usage(record):
    totals = {}
    for entry in record["session"]["entries"]:
        for child in entry.get("children", ()):
            for name, count in child.get("token-usage", {}).items():
                totals[name] = totals.get(name, 0) + count
    return totals


def test_costs_that_grew_by_a_whole_or_a_tiny_amount_are_canonical():
    costs = [0.1, 0.1, 0.10001, 1.10001, 2e-5]
    events = [
        {"id": f"{number}a", "kind": "ConversationStateUpdateEvent", "key": "stats"}
        | {"source": "environment", "value": build_stats(10 * number, cost)}
        for number, cost in enumerate(costs)
    ]
    record = record_of(jsonl(*events), "openhands")
    assert validate(record).findings == []
    children = [entry["children"][0] for entry in record["session"]["entries"][1:4]]
    assert [child["token-usage"]["cost"] for child in children] == [0, 0.00001, 1]


def test_growing_totals_count_each_token_once_and_the_state_counts_last(tmp_path):
    folder = tmp_path / "conv"
    (folder / "events").mkdir(parents=True)
    (folder / "base_state.json").write_text(json.dumps({"id": ID, "stats": build_stats(90, 0.5)}))
    for number, (prompt, cost) in enumerate([(10, 0.1), (40, 0.3)]):
        event = {"id": f"{number}aaaa", "kind": "ConversationStateUpdateEvent", "key": "stats"}
        event |= {"source": "environment", "value": build_stats(prompt, cost)}
        (folder / "events" / f"event-{number:05}-aaaaaaaa.json").write_text(json.dumps(event))
    (opened,) = read_sessions(folder)
    record = stranger(opened.reading)
    assert validate(record).findings == []
    assert sum_usage(record) == {"input": 90, "output": 3, "cached": 1, "cost": 0.5}
    assert record["session"]["agent-meta"]["model-id"] == "vendor/sonnet-9"


@pytest.mark.parametrize(
    ("suffix", "status"),
    [
        ("\n[The command timed out after 2.0 seconds. You may wait longer.]", "timeout"),
        ("\n[The command has no new output after 30 seconds. You may wait.]", "running"),
        ("\n[The command completed with exit code 0.]", None),
    ],
)
def test_a_command_that_the_host_stopped_waiting_for_has_no_success(suffix, status):
    call = {"kind": "ActionEvent", "source": "agent", "tool_name": "terminal"}
    call |= {"tool_call_id": "c1", "action": {"command": "sleep 9"}, "thought": []}
    seen = {"content": [], "is_error": False, "exit_code": -1, "timeout": False}
    seen["metadata"] = {"exit_code": -1, "suffix": suffix}
    answer = {"kind": "ObservationEvent", "source": "environment", "tool_name": "terminal"}
    record = record_of(jsonl(call, answer | {"tool_call_id": "c1", "observation": seen}))
    assert list_results(record) == {"c1": (status, None)}

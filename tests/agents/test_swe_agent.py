"""Trajectories of SWE-agent: steps, outcomes and attribution."""

import json

import pytest

from tests.agents.entries import list_entries, list_outcomes
from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, record_of
from tests.discovery import homes
from vacr import validate
from vacr.agents import find_agent
from vacr.discovery import list_sessions

SWE, MINI = FIXTURES / "swe-agent", FIXTURES / "mini-swe-agent"


def read(path):
    return record_of(path.read_bytes())


def test_steps_are_kept_with_their_observations():
    record = read(SWE / "calls.traj")
    results = list_entries(record, "tool-result")
    assert ["step" in entry for entry in results] == [False, *[True] * 7]
    assert "trajectory" not in record["session"]
    assert record["session"]["environment"]["working-dir"] == "/testbed"
    assert record["vcs"]["revision"] == "bfd2593d4b416122e30cde"


def test_steps_without_an_observation_each_stay_in_the_session():
    value = json.loads((SWE / "calls.traj").read_text())
    value["trajectory"].pop()
    record = record_of(json.dumps(value).encode())
    assert len(record["session"]["trajectory"]) == 6


def test_name_of_the_environment_stays_in_the_session():
    value = json.loads((SWE / "text.traj").read_text())
    record = record_of(json.dumps({**value, "environment": "swe_main"}).encode())
    assert record["session"]["vacr"] == {"native": {"environment": "swe_main"}}
    assert validate(record).valid


def test_observation_without_a_content_is_not_a_result():
    value = json.loads((SWE / "text.traj").read_text())
    del value["history"][3]["content"]
    record = record_of(json.dumps(value).encode())
    assert list_entries(record, "tool-result") == []
    assert validate(record).valid


def test_only_the_words_of_the_editor_decide():
    by_call = {call: status for call, status, _ in list_outcomes(read(SWE / "calls.traj"))}
    assert by_call == {
        "call_d": None,
        "call_1": None,
        "call_2": "success",
        "call_3": "success",
        "call_4": "error",
        "call_5": None,
        "call_6": "success",
        "call_7": None,
    }


def test_edits_that_the_editor_confirmed_are_attributed():
    assert list_changes([read(SWE / "calls.traj")]) == [
        ("total.py", [[2, 2]], "windowed"),
        ("rates.py", [[1, 1]], "replayed"),
        ("src/till.py", [], "content-only"),
    ]


def test_action_without_a_call_becomes_one():
    record = read(SWE / "text.traj")
    (call,) = [c for e in list_entries(record, "assistant") for c in e.get("children", ())]
    assert (call["input"], call["call-id"]) == ({"command": "ls -a\n"}, "step-1")
    assert list_outcomes(record) == [("step-1", None, None)]
    assert [e["vacr"]["speaker"] for e in list_entries(record, "user")] == ["unknown", "host"]


def test_trajectories_of_the_current_folder_are_listed(tmp_path, monkeypatch):
    homes.put(SWE / "calls.traj", tmp_path / "trajectories" / "nora" / "run" / "till-7" / "a.traj")
    monkeypatch.chdir(tmp_path)
    assert len([*list_sessions("swe-agent", homes.variables(tmp_path / "home"), "linux")]) == 1


@pytest.mark.parametrize(("named", "count"), [("batches", 2), ("trajectories", 1)])
def test_variable_adds_the_trajectories_of_batches(tmp_path, monkeypatch, named, count):
    homes.put(SWE / "calls.traj", tmp_path / "trajectories" / "nora" / "run" / "a.traj")
    homes.put(SWE / "calls.traj", tmp_path / named / "nora" / "run" / "a.traj")
    monkeypatch.chdir(tmp_path)
    variables = homes.variables(tmp_path / "home")
    variables["SWE_AGENT_TRAJECTORY_DIR"] = str(tmp_path / named)
    assert len([*list_sessions("swe-agent", variables, "linux")]) == count


def test_similar_documents_are_not_recognised():
    others = [
        {"messages": [{"role": "user", "content": "hi"}]},
        {"history": [{"role": "user", "content": "hi"}]},
        {"trajectory": [], "history": []},
        [{"role": "user", "content": "hi"}],
        [],
        "<returncode>0</returncode>",
    ]
    for name in ("swe-agent", "mini-swe-agent"):
        assert [find_agent(name).recognises([value]) for value in others] == [0.0] * 6

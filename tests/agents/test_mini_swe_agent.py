"""Trajectories of mini-swe-agent: pairing, prompts, outcomes and attribution."""

import json

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_entries, list_outcomes
from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, record_of
from tests.discovery import homes
from vacr import validate
from vacr.discovery import list_sessions

MINI = FIXTURES / "mini-swe-agent"


def read(path):
    return record_of(path.read_bytes())


def test_command_in_a_fence_is_a_call_and_the_next_observation_its_result():
    record = read(MINI / "mini-text.traj.json")
    assert list_outcomes(record) == [
        ("step-1", "success", 0),
        ("step-2", "success", 0),
        ("step-3", "error", 1),
        ("step-4", "timeout", None),
    ]
    calls = [c for e in list_entries(record, "assistant") for c in e.get("children", ())]
    assert calls[-1]["vacr"]["status"] == "no-result"


def test_task_of_a_benchmark_has_no_known_speaker():
    speakers = [
        e["vacr"]["speaker"] for e in list_entries(read(MINI / "mini-text.traj.json"), "user")
    ]
    assert speakers == ["unknown", "host", "host"]


def test_person_who_interrupts_is_stated():
    users = list_entries(read(MINI / "mini-calls.traj.json"), "user")
    assert [(e["vacr"]["speaker"], e["vacr"]["speaker-basis"]) for e in users] == [
        ("human", "inferred"),
        ("human", "stated"),
    ]


def build_run(*messages, template="Solve this: {{task}}\n\nYou can run commands. {{system}}"):
    info = {"mini_version": "2.4.6", "config": {"agent": {"instance_template": template}}}
    task = {"role": "user", "content": "Solve this: Round it.\n\nYou can run commands. Linux"}
    value = {"info": info, "messages": [task, *messages]}
    value["trajectory_format"] = "mini-swe-agent-1.1"
    return value


def read_run(value):
    record = record_of(json.dumps(value).encode())
    assert validate(record).findings == []
    rebuild.assert_same([record], [value])
    return record


def test_prompt_is_the_task_without_the_template_around_it():
    (prompt,) = list_entries(read_run(build_run()), "user")
    assert prompt["vacr"]["prompt"] == "Round it."
    (other,) = list_entries(read_run(build_run(template="{{task}}")), "user")
    assert "prompt" not in other["vacr"]


def test_tokens_of_a_rejected_answer_count():
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    extra = {"interrupt_type": "FormatError", "response": {"model": "m-1", "usage": usage}}
    record = read_run(build_run({"role": "user", "content": "No call.", "extra": extra}))
    (event,) = list_entries(record, "user")[1]["children"]
    assert (event["event-type"], event["model-id"]) == ("model-usage", "m-1")
    assert event["token-usage"] == {"input": 9, "output": 2, "total": 11}
    assert record["session"]["agent-meta"]["model-id"] == "m-1"


@pytest.mark.parametrize("odd", [{}, [], 7])
def test_members_of_an_odd_type_are_kept(odd):
    record = read_run(build_run({"role": odd, "content": "Hm.", "extra": {"timestamp": 5.5}}))
    assert record["session"]["entries"][1]["type"] == "system-event"
    message = {"role": "user", "content": "Hm.", "extra": {"interrupt_type": odd}}
    assert list_entries(read_run(build_run(message)), "user")[1]["vacr"]["speaker"] == "host"


def test_command_that_submits_succeeded_and_others_after_it_never_ran():
    commands = ["echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "make"]
    calls = [
        {"id": f"c{number}", "type": "function", "function": function}
        for number, command in enumerate(commands)
        for function in [{"name": "bash", "arguments": json.dumps({"command": command})}]
    ]
    extra = {"returncode": -1, "exception_info": "action was not executed", "raw_output": ""}
    results = [
        {"role": "tool", "tool_call_id": f"c{number}", "content": "{}", "extra": extra}
        for number in range(2)
    ]
    answer = {"role": "assistant", "content": "Done.", "tool_calls": calls, "function_call": None}
    record = read_run(build_run(answer, *results))
    assert list_outcomes(record) == [("c0", "success", None), ("c1", "interrupted", None)]
    assert "drift" not in record["vacr"]


def test_calls_of_version_2_are_paired_by_id():
    record = read(MINI / "mini-calls.traj.json")
    assert list_outcomes(record) == [
        ("call_1", "success", 0),
        ("call_2", "success", 0),
        ("call_3", "timeout", None),
    ]
    answer = list_entries(record, "assistant")[0]
    assert [child["type"] for child in answer["children"]] == ["reasoning", "tool-call"]
    assert answer["token-usage"] == {
        "input": 101,
        "output": 20,
        "cached": 50,
        "reasoning": 5,
        "total": 121,
        "cost": 0.02,
    }
    assert (answer["model-id"], answer["timestamp"]) == ("vendor/sonnet-9", 1_785_000_001_500)
    assert record["session"]["environment"]["working-dir"] == "/home/nora/till"
    assert record["session"]["agent-meta"]["cli-version"] == "2.4.6"


@pytest.mark.parametrize(("cost", "kept"), [("1e-05", 1e-05), ("0.50", 0.5), ("false", None)])
def test_cost_of_any_spelling_counts(cost, kept):
    answer = {"role": "assistant", "content": "Done.", "extra": {"cost": "COST"}}
    data = json.dumps(build_run(answer)).replace('"COST"', cost).encode()
    answer = list_entries(record_of(data, "mini-swe-agent"), "assistant")[0]
    assert answer.get("token-usage", {}).get("cost") == kept


def test_session_keeps_its_id_while_the_trajectory_grows():
    value = json.loads((MINI / "mini-text.traj.json").read_text())
    shorter = value | {"messages": value["messages"][:5]}
    one, two = (record_of(json.dumps(document).encode()) for document in (value, shorter))
    assert one["session"]["session-id"] == two["session"]["session-id"]
    del value["messages"][2]
    other = record_of(json.dumps(value).encode())
    assert other["session"]["session-id"] != one["session"]["session-id"]


def test_list_of_messages_alone_is_read():
    record = read(MINI / "mini-list.traj.json")
    assert list_outcomes(record) == [("step-1", "success", 0)]


def test_commands_prove_lines(tmp_path):
    del tmp_path
    assert list_changes([read(MINI / "mini-calls.traj.json")]) == [("rates.py", [[1, 1]], "shell")]


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("linux", ".config/mini-swe-agent"),
        ("darwin", "Library/Application Support/mini-swe-agent"),
        ("win32", "AppData/Local/mini-swe-agent/mini-swe-agent"),
    ],
)
def test_last_run_is_listed_on_each_system(tmp_path, system, folder):
    homes.put(MINI / "mini-calls.traj.json", tmp_path / folder / "last_mini_run.traj.json")
    variables = homes.variables(tmp_path, system)
    (found,) = list_sessions("mini-swe-agent", variables, system)
    assert found.title == "The total is off by a cent."
    moved = {"MSWEA_GLOBAL_CONFIG_DIR": str(tmp_path / "elsewhere")}
    assert [*list_sessions("mini-swe-agent", variables | moved, system)] == []

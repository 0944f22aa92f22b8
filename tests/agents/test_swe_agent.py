"""Trajectories of SWE-agent and mini-swe-agent: pairing, labels, attribution and the two forms."""

import json

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_entries
from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, record_of
from tests.discovery import homes
from vacr import validate
from vacr.agents import find_agent
from vacr.agents.lift import SessionBuilder
from vacr.agents.openai_chat import build_chat_usage, make_chat_entry
from vacr.discovery import list_sessions

SWE, MINI = FIXTURES / "swe-agent", FIXTURES / "mini-swe-agent"


def read(path):
    return record_of(path.read_bytes())


def outcomes(record):
    return [
        (entry["call-id"], entry.get("status"), entry.get("vacr", {}).get("exit-code"))
        for entry in list_entries(record, "tool-result")
    ]


# --- mini-swe-agent ---


def test_command_in_a_fence_is_a_call_and_the_next_observation_its_result():
    record = read(MINI / "mini-text.traj.json")
    assert outcomes(record) == [
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
    assert outcomes(record) == [("c0", "success", None), ("c1", "interrupted", None)]
    assert "drift" not in record["vacr"]


def test_calls_of_version_2_are_paired_by_id():
    record = read(MINI / "mini-calls.traj.json")
    assert outcomes(record) == [
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
    assert outcomes(record) == [("step-1", "success", 0)]


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


# --- SWE-agent ---


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


def test_only_the_words_of_the_editor_decide():
    by_call = {call: status for call, status, _ in outcomes(read(SWE / "calls.traj"))}
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
    assert outcomes(record) == [("step-1", None, None)]
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


# --- the chat format ---


@pytest.mark.parametrize(
    "calls",
    [
        [{"function": {"name": "f"}}],
        [{"function": {"name": 3, "arguments": "{}"}}],
        [{"function": None}],
        ["f"],
        "f",
    ],
)
def test_calls_of_another_form_stay_as_they_are(calls):
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    entry = make_chat_entry(message, SessionBuilder("x", "x"))
    assert entry["tool_calls"] == calls


def test_arguments_that_are_not_json_are_the_input():
    call = {"id": "c", "function": {"name": "f", "arguments": '{"a": 1'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    (child,) = make_chat_entry(message, SessionBuilder("x", "x"))["children"]
    assert child["input"] == '{"a": 1'


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "3"}, {"prompt_tokens_details": 3}])
def test_usage_without_counters_is_empty(usage):
    assert build_chat_usage(usage) == {}


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

"""Windsurf's transcripts, Visual Studio's traces, and stores that only their program can read."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import natives
from tests.agents.entries import list_typed
from tests.agents.test_way_back import check, check_all, compact
from tests.attribution.sessions import list_changes, read_records
from tests.conftest import FIXTURES, record_of, records_of
from tests.record.value_strategies import JSON, TEXT
from vacr.agents.registry import load_agents
from vacr.agents.visualstudio_copilot.reader import convert_nanoseconds
from vacr.discovery import list_sessions

TRANSCRIPT = (FIXTURES / "windsurf" / "steps.jsonl").read_bytes()
TRACES = (FIXTURES / "visualstudio-copilot" / "traces.jsonl").read_bytes()
WINDSURF = record_of(TRANSCRIPT)
FIRST, SECOND = records_of(TRACES)


# --- Windsurf ---


def test_windsurf_messages_and_steps():
    assert [entry.get("content") for entry in list_typed(WINDSURF, "user", "assistant")] == [
        "Name the tax in @[notes.md]",
        "I read the notes.",
        None,
        "The test fails.",
    ]
    calls = list_typed(WINDSURF, "tool-call")
    assert [call["name"] for call in calls][:3] == ["view_file", "code_action", "code_action"]
    assert calls[4]["input"] == {"command": "make test", "cwd": "/home/mira/invoice"}
    assert calls[4]["children"][0]["output"] == "failed\n"
    assert WINDSURF["session"]["environment"] == {"working-dir": "/home/mira/invoice"}


def test_windsurf_outcomes():
    results = [
        (entry.get("status"), entry["vacr"].get("exit-code"))
        for entry in list_typed(WINDSURF, "tool-result")
    ]
    assert results == [
        ("success", None),
        ("success", None),
        ("denied", None),
        ("success", None),
        ("error", 2),
        ("denied", None),
        ("success", None),
        ("error", None),
        ("success", None),
    ]


def test_windsurf_drift_is_counted():
    assert WINDSURF["vacr"]["drift"] == {
        "members": {"line.content": 1, "line.mood": 1, "user_input.images": 1},
        "types": {"browser_step": 1, "planner_response": 1},
    }


def test_windsurf_changes_that_the_user_accepted_are_attributed(tmp_path):
    assert list_changes(read_records(tmp_path, TRANSCRIPT, "t.jsonl")) == [
        ("notes.md", [[2, 2]], "windowed"),
        ("new file.md", [[1, 2]], "recorded"),
    ]


STEP = natives.objects(
    {"type": natives.some("user_input", "planner_response", "run_command", "odd", "status", 3)},
    status=natives.some("done", "error", None, 7),
    user_input=st.dictionaries(natives.some("user_response", "more"), TEXT | JSON),
    planner_response=st.dictionaries(natives.some("response", "more"), TEXT | JSON) | JSON,
    run_command=st.dictionaries(
        natives.some("command", "cwd", "exit_code", "output", "content", "user_rejected"),
        TEXT | JSON | st.sampled_from([0, True]),
    ),
    odd=st.dictionaries(TEXT, JSON, max_size=2) | JSON,
)


@settings(max_examples=100)
@given(st.lists(STEP, min_size=1, max_size=4))
def test_windsurf_steps_come_back(native):
    check(native, "windsurf")


# --- Visual Studio ---


def test_traces_have_a_record_for_each_conversation():
    ids = [record["session"]["session-id"][-1] for record in (FIRST, SECOND)]
    assert ids == ["a", "b"]
    assert FIRST["session"]["agent-meta"] == {
        "cli-name": "visualstudio-copilot",
        "cli-version": "18.6.1",
        "model-id": "gpt-5.5",
        "model-provider": "azure",
        "models": ["gpt-5.5", "gpt-5.5-2026"],
    }
    assert len(SECOND["session"]["entries"]) == 3


def test_spans_become_calls_and_answers():
    calls = list_typed(FIRST, "tool-call")
    assert [call["name"] for call in calls] == [
        "get_file",
        "create_file",
        "create_file",
        "run_command_in_terminal",
    ]
    assert calls[0]["input"] == {"path": "src/App.cs"}
    assert calls[0]["timestamp"] == 1793610001000
    (answer,) = list_typed(FIRST, "assistant")
    assert answer["token-usage"] == {"input": 900, "output": 40}
    assert answer["model-id"] == "gpt-5.5-2026"


def test_status_of_a_span_is_the_outcome():
    assert [entry.get("status") for entry in list_typed(FIRST, "tool-result")] == [
        None,
        None,
        None,
        "error",
    ]
    assert [entry.get("status") for entry in list_typed(SECOND, "tool-result")] == ["success"]


def test_spans_form_a_tree():
    entries = FIRST["session"]["entries"]
    assert entries[1]["parent-id"] == entries[0]["id"]


def test_file_counts_only_if_the_result_confirms_it(tmp_path):
    records = read_records(tmp_path, TRACES, "traces.jsonl")
    assert [change[0] for change in list_changes(records)] == ["src/Tax.cs"]


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [("1793610001000000000", 1793610001000), (5_000_000, 5), ("x", None), (None, None), (-1, None)],
)
def test_nanoseconds(stamp, expected):
    assert convert_nanoseconds(stamp) == expected


SPAN = natives.objects(
    startTimeUnixNano=natives.some("1793610001000000000", "x", 3, None),
    spanId=natives.some("a1", "a2", "", 3),
    parentSpanId=natives.some("a1", "", 3),
    status=natives.some({"code": 2}, {"code": True}, 3),
    attributes=st.lists(
        st.fixed_dictionaries(
            {
                "key": natives.some(
                    "gen_ai.conversation.id",
                    "gen_ai.operation.name",
                    "gen_ai.tool.name",
                    "gen_ai.tool.call.id",
                    "gen_ai.tool.call.arguments",
                    "gen_ai.request.model",
                    "gen_ai.usage.input_tokens",
                ),
                "value": natives.some(
                    {"stringValue": "execute_tool"},
                    {"stringValue": "chat"},
                    {"stringValue": "c1"},
                    {"intValue": "12"},
                    {"intValue": "99999999999999999999999"},
                    {},
                    3,
                ),
            }
        )
        | JSON,
        max_size=4,
    )
    | JSON,
)
EXPORTS = natives.objects(
    resourceSpans=st.lists(
        natives.objects(
            scopeSpans=st.lists(
                natives.objects(spans=st.lists(SPAN, max_size=2) | JSON), max_size=2
            )
            | JSON
        )
        | JSON,
        max_size=2,
    )
    | JSON
)


@settings(max_examples=100)
@given(st.lists(EXPORTS, min_size=1, max_size=4))
def test_traces_come_back(native):
    check_all(native, "visualstudio-copilot", compact)


# --- encrypted stores ---


def test_encrypted_sessions_are_listed_as_unreadable(tmp_path):
    for name in (".codeium/windsurf/cascade/1.pb", ".codeium/windsurf/cascade/2.pb"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x80\x01")
    (tmp_path / ".gemini/antigravity/conversations").mkdir(parents=True)
    (tmp_path / ".gemini/antigravity/conversations/3.pb").write_bytes(b"\x80")
    failed = []
    assert list(list_sessions(None, {"HOME": str(tmp_path)}, "linux", failed)) == []
    assert [(error.message, error.where) for error in failed] == [
        (
            "2 sessions of Windsurf Cascade, encrypted by the program; vacr cannot read them",
            str(tmp_path / ".codeium/windsurf"),
        ),
        (
            "1 session of Antigravity, encrypted by the program; vacr cannot read them",
            str(tmp_path / ".gemini/antigravity"),
        ),
    ]


@pytest.mark.parametrize("agent", ["windsurf", "visualstudio-copilot"])
@pytest.mark.parametrize(
    "value",
    [
        {"type": "find", "status": "done"},
        {"type": "message", "status": "done", "message": {}, "role": "user"},
        {"resourceSpans": []},
        {"resourceSpans": [{"resource": {"attributes": []}}]},
    ],
)
def test_other_lines_are_not_recognised(agent, value):
    assert load_agents()[agent].recognises([value]) == 0.0


def test_truncated_files_keep_their_last_line():
    for data in (TRANSCRIPT, TRACES):
        events = [
            entry.get("event-type")
            for record in records_of(data[:-9])
            for entry in record["session"]["entries"]
        ]
        assert "undecodable" in events
    assert json.loads(TRACES.splitlines()[-1]) == {"note": "no spans"}

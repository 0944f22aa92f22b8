"""Visual Studio Copilot's traces: spans, outcomes, attribution, and nothing lost."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import natives
from tests.agents.entries import UNMARKED_LINES, list_typed
from tests.agents.test_way_back import check_all, compact
from tests.attribution.sessions import list_changes, read_records
from tests.conftest import FIXTURES, records_of
from tests.record.value_strategies import OPAQUE_JSON as JSON
from vacr.agents.registry import find_agent
from vacr.agents.visualstudio_copilot.reader import convert_nanoseconds

TRACES = (FIXTURES / "visualstudio-copilot" / "traces.jsonl").read_bytes()
FIRST, SECOND = records_of(TRACES)


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


@pytest.mark.parametrize("value", UNMARKED_LINES)
def test_other_lines_are_not_recognised(value):
    assert find_agent("visualstudio-copilot").recognises([value]) == 0.0


def test_truncated_file_keeps_its_last_line():
    events = [
        entry.get("event-type")
        for record in records_of(TRACES[:-9])
        for entry in record["session"]["entries"]
    ]
    assert "undecodable" in events
    assert json.loads(TRACES.splitlines()[-1]) == {"note": "no spans"}

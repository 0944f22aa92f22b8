"""Droid: sessions with their settings, and streams."""

import pytest

from tests.agents import independent, rebuild
from tests.agents.entries import list_typed, read_place
from tests.attribution.sessions import list_changes
from tests.conftest import CORPUS, FIXTURES, jsonl, record_of
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import load_agents, recognise_agent

FOLDER = FIXTURES / "droid"
SESSION = FOLDER / "sessions" / "-home-nora-till" / "7d0f1e2d-0000-4000-8000-00000000d01d.jsonl"


def ends_of(record):
    return {
        result["call-id"]: (result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in list_typed(record, "tool-result")
    }


def test_outcomes_follow_from_the_words_of_results():
    assert ends_of(record_of(SESSION.read_bytes())) == {
        "c1": ("success", None),
        "c2": (None, None),
        "c3": ("success", None),
        "c4": ("error", None),
        "c5": ("error", 2),
        "c6": ("success", 0),
        "c7": ("denied", None),
    }


def test_text_of_a_stream_that_is_not_a_text_stays_under_its_name():
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    first = {"type": "message", "session_id": "s1", "role": "user", "text": "Go."}
    odd = {"type": "message", "session_id": "s1", "role": "user", "text": [call]}
    record = record_of(jsonl(first, odd), "droid")
    assert validate(record).findings == []
    entries = record["session"]["entries"]
    assert [(entry.get("content"), entry.get("text")) for entry in entries] == [
        ("Go.", None),
        (None, [call]),
    ]


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("Command timed out after 2 seconds. Consider increasing the timeout.", "timeout"),
        ("Command timed out after 2 seconds.\n\n[Process exited with code 0]", "success"),
        ("Error: Tool execution cancelled by user", "interrupted"),
        ("Error: Error: Tool execution denied by hook", "denied"),
        ("__TOOL_RESULT_PENDING__", None),
    ],
)
def test_flag_of_success_does_not_hide_how_a_command_ended(output, status):
    call = {"type": "tool_use", "id": "c1", "name": "Execute", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": output, "is_error": False}
    lines = [
        {"type": "session_start", "id": "d-1", "title": "Make", "cwd": "/w"},
        {"type": "message", "id": "m1", "message": {"role": "assistant", "content": [call]}},
        {"type": "message", "id": "m2", "message": {"role": "user", "content": [result]}},
    ]
    assert ends_of(record_of(jsonl(*lines)))["c1"][0] == status


def test_message_names_its_model_and_a_sub_agent_its_caller():
    message = {"role": "assistant", "content": "Hello.", "modelId": "sonnet-9"}
    start = {"type": "session_start", "id": "d-2", "title": "Sub", "cwd": "/w"}
    lines = [start | {"callingSessionId": "d-1"}, {"type": "message", "id": "m1"}]
    lines[1]["message"] = message
    record = record_of(jsonl(*lines))
    assert record["session"]["agent-meta"]["models"] == ["sonnet-9"]
    assert list_typed(record, "assistant")[0]["model-id"] == "sonnet-9"
    assert record["vacr"]["parent"] == {"session-id": "d-1"}
    rebuild.assert_same([record], lines)


def test_settings_have_the_model_and_the_tokens_of_the_session():
    (record,) = read_place(SESSION)
    assert record["session"]["agent-meta"]["models"] == ["claude-sonnet-5"]
    counted = [entry for entry in record["session"]["entries"] if "token-usage" in entry]
    assert [entry["token-usage"] for entry in counted] == [
        {"input": 95, "cached": 60, "output": 40, "reasoning": 7}
    ]
    assert counted[0]["vacr"]["usage-of"] == "session"


def test_reminder_has_the_model_where_the_settings_are_missing():
    record = record_of(SESSION.read_bytes())
    assert record["session"]["agent-meta"]["models"] == ["Claude Sonnet 5"]
    assert record["vcs"] == {"type": "git", "branch": "main"}


def test_words_of_the_person_are_told_from_the_hosts():
    labels = independent.record_labels(record_of(SESSION.read_bytes()))
    assert labels.prompts == ["Round the total of @total.py.", "Thanks."]
    assert labels.speakers == {"human": 2, "host": 1}


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("<system-reminder>a <b>\n</b> c</system-reminder>Round it.", "Round it."),
        ("Round <i>it</i>.<system-reminder></system-reminder>", "Round <i>it</i>."),
        (
            "Round <system-reminder>x</system-reminder>it<system-reminder><</system-reminder>.",
            "Round it.",
        ),
        ("Round it. <system-reminder>has no end", "Round it. <system-reminder>has no end"),
    ],
)
def test_reminder_ends_at_its_first_end_tag(text, prompt):
    start = {"type": "session_start", "id": "d-1", "title": "Round", "version": 2, "cwd": "/w"}
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    record = record_of(jsonl(start, {"type": "message", "id": "m-1", "message": message}))
    (asked,) = list_typed(record, "user")
    assert asked["vacr"].get("prompt", text) == prompt


def test_stream_has_calls_under_two_kinds_of_ids():
    record = record_of((FOLDER / "stream.jsonl").read_bytes())
    assert ends_of(record) == {"c1": ("error", 2), "call_2": ("success", None)}
    assert record["session"]["format"] == "autonomous"
    (answer,) = list_typed(record, "assistant")
    assert answer["token-usage"] == {"input": 30, "cached": 20, "output": 5}


def test_drift_is_counted():
    drift = record_of((FOLDER / "drifted.jsonl").read_bytes())["vacr"]["drift"]
    assert drift["members"] == {"line.mood": 1, "message.mood": 1}
    assert drift["types"] == {"(number)": 1, "hologram": 1, "message": 2}


def test_edits_are_placed_in_the_file_that_the_prompt_shows():
    changes = list_changes(read_place(SESSION))
    assert ("total.py", [[2, 2]], "windowed") in changes
    assert [row[:2] for row in changes if row[0] == "rate.py"] == [("rate.py", [[1, 1]])]
    assert len(changes) == 2


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no real sessions here")
def test_each_real_session_has_one_agent():
    for path in sorted(CORPUS.glob("*/*")):
        data = path.read_bytes()
        if data.startswith(b"SQLite"):
            continue
        source = Source((SourcePart("x", data),))
        sample = source.main.sample(16)
        taken = bool(sample) and load_agents()["droid"].recognises(sample) > 0.3
        assert taken == (path.parent.name == "droid"), path
        if taken:
            assert recognise_agent(source).name == "droid"

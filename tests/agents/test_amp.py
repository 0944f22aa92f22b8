"""Amp: threads with runs, a commit, and diffs as evidence."""

import json

import pytest

from tests.agents.entries import list_typed
from tests.attribution.sessions import list_changes
from tests.conftest import CORPUS, FIXTURES, record_of
from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import load_agents, recognise_agent

FOLDER = FIXTURES / "amp"
THREAD = FOLDER / "threads" / "T-019ca1ce-0000-7000-8000-00000000a4b0.json"


@pytest.fixture(scope="module")
def record():
    return record_of(THREAD.read_bytes())


def test_outcomes_follow_from_the_runs(record):
    ends = {
        result["call-id"]: (result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in list_typed(record, "tool-result")
    }
    assert ends == {
        "c1": ("success", None),
        "c2": ("success", None),
        "c3": ("success", None),
        "c4": ("success", None),
        "c5": ("error", 2),
        "c6": ("denied", None),
        "c7": ("interrupted", None),
        "c8": ("error", None),
        "c9": ("running", None),
    }


@pytest.mark.parametrize("content", [False, 1, None, "Hello", {"type": "text"}])
def test_content_of_another_type_is_kept(content):
    thread = {"id": "T-1", "messages": [{"role": "user", "messageId": 0, "content": content}]}
    record = record_of(json.dumps(thread).encode(), agent="amp")
    assert record["session"]["entries"][0].get("content") == content


def test_repository_folder_and_version_are_known(record):
    assert record["vcs"] == {
        "type": "git",
        "revision": "0123456789abcdef0123456789abcdef01234567",
        "branch": "main",
        "repository": "https://example.org/nora/till.git",
    }
    session = record["session"]
    assert session["environment"]["working-dir"] == "/home/nora/till box"
    assert session["agent-meta"]["cli-version"] == "0.0.1790000000"
    assert session["session-start"] == 1790000000000


def test_times_come_from_prompts_and_usage(record):
    entries = record["session"]["entries"]
    assert [entry.get("timestamp") for entry in entries[:3]] == [
        1790000001000,
        "2026-09-21T14:13:21.000Z",
        None,
    ]
    assert entries[1]["token-usage"] == {"input": 1103, "cached": 1000, "output": 20}
    assert (entries[1]["model-id"], entries[1]["stop-reason"]) == ("claude-sonnet-5", "tool_use")


def test_thread_of_a_sub_agent_names_its_parent():
    record = record_of((FOLDER / "drifted.json").read_bytes())
    assert record["vacr"]["parent"] == {"session-id": THREAD.stem}
    assert list_typed(record, "user")[0]["vacr"]["speaker"] == "parent-agent"
    assert record["vacr"]["drift"]["members"] == {"message.mood": 1, "thread.mood": 1}


def test_edits_have_the_lines_of_their_diffs(record):
    assert list_changes([record]) == [
        ("total.py", [[2, 2]], "recorded"),
        ("rate.py", [[1, 1]], "replayed"),
    ]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no real sessions here")
def test_each_real_session_has_one_agent():
    for path in sorted(CORPUS.glob("*/*")):
        data = path.read_bytes()
        if data.startswith(b"SQLite"):
            continue
        source = Source((SourcePart("x", data),))
        sample = source.main.sample(16)
        taken = bool(sample) and load_agents()["amp"].recognises(sample) > 0
        assert taken == (path.parent.name == "amp"), path
        if taken:
            assert recognise_agent(source).name == "amp"

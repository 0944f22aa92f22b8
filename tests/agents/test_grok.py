"""Grok's chat histories: both forms, the summary, labels, and nothing lost."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import rebuild
from tests.agents.natives import EXTRA, some
from tests.conftest import CORPUS, FIXTURES, jsonl, limit_examples, record_of, stranger
from tests.record.value_strategies import JSON, TEXT
from vacr import validate
from vacr.agents.registry import load_agents
from vacr.discovery.opening import read_sessions
from vacr.discovery.sessions import list_sessions

HISTORY = "chat_history.jsonl"
CURRENT, OLD = (FIXTURES / "grok" / name / HISTORY for name in ("session", "old"))
REAL = sorted((CORPUS / "grok").glob("*.jsonl")) if CORPUS.is_dir() else []


def open_session(path):
    """Return the one record of a history, with the files next to it."""
    (session,) = read_sessions(path)
    assert session.agent.name == "grok"
    return stranger(session.reading)


RECORD, OLD_RECORD = open_session(CURRENT), open_session(OLD)


def list_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


@pytest.mark.parametrize("path", [CURRENT, OLD, *REAL], ids=lambda path: path.parent.name)
def test_lines_come_back(path):
    record = record_of(path.read_bytes())
    assert record["session"]["agent-meta"]["cli-name"] == "grok"
    assert validate(record).findings == []
    rebuild.assert_same([record], list_lines(path))


def test_real_histories_are_counted_alike():
    if not REAL:
        pytest.skip("no real sessions here")
    for path in REAL:
        lines, entries = list_lines(path), record_of(path.read_bytes())["session"]["entries"]
        kinds = [line.get("type", line.get("role")) for line in lines]
        types = [entry["type"] for entry in entries]
        for kind in ("user", "assistant", "reasoning"):
            assert types.count(kind) == kinds.count(kind)
        assert types.count("tool-result") == kinds.count("tool_result") + kinds.count("tool")
        calls = [c for e in entries for c in e.get("children", ()) if c["type"] == "tool-call"]
        asked = [call for line in lines for call in line.get("tool_calls", ())]
        assert [call["call-id"] for call in calls] == [call["id"] for call in asked]


def test_summary_states_the_facts_of_the_session():
    session = RECORD["session"]
    assert session["session-id"] == "019f7000-0000-7000-8000-000000000001"
    assert RECORD["vacr"]["parent"]["session-id"] == "019f6fff-0000-7000-8000-000000000000"
    assert session["format"] == "autonomous"
    assert (session["session-start"], session["session-end"]) == (
        "2026-07-18T10:00:00Z",
        "2026-07-18T10:30:00Z",
    )
    assert session["environment"] == {
        "working-dir": "/home/nora/till",
        "vcs": {
            "type": "git",
            "revision": "1" * 40,
            "branch": "main",
            "repository": "git@example.org:nora/till.git",
        },
    }
    assert session["agent-meta"]["models"] == ["grok-4.5", "grok-4.5-fast"]
    assert session["entries"][-1]["data"]["name"] == "summary.json"


def test_host_texts_are_not_a_persons():
    users = [entry for entry in RECORD["session"]["entries"] if entry["type"] == "user"]
    found = [(entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"]) for entry in users]
    assert found[0] == ("host", "stated")
    assert found[2] == ("human", "stated")
    (prompt,) = [e for e in OLD_RECORD["session"]["entries"] if e["type"] == "user"]
    assert prompt["vacr"]["speaker"] == "human"


def test_calls_have_their_results_and_no_outcome_without_evidence():
    _, _, _, thought, answer, result, search, *_ = RECORD["session"]["entries"]
    assert (thought["content"], thought["encrypted"]) == ("List the files first.", "b3BhcXVl")
    first, second = answer["children"]
    assert (first["name"], first["input"]) == ("run_terminal_cmd", {"command": "ls tests | wc -l"})
    assert (second["input"], second["vacr"]) == ("not json", {"status": "no-result"})
    assert (result["call-id"], result["output"]) == ("call-1", "7\n")
    assert "status" not in result
    assert (search["name"], search["input"]["query"]) == ("web_search", "pytest")
    assert RECORD["vacr"]["drift"] == {
        "types": {"checkpoint": 1},
        "members": {"assistant.mood": 1},
    }


def test_old_form_has_calls_results_and_reasoning():
    _, _, answer, result, _ = OLD_RECORD["session"]["entries"]
    assert answer["model-id"] == "grok-4.5"
    assert [child["type"] for child in answer["children"]] == ["reasoning", "tool-call"]
    assert result["call-id"] == "call_1"


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "user", "content": [], "timestamp": "2026-01-01T00:00:00Z", "prompt_index": 0}],
        [{"type": "assistant", "message": {}, "uuid": "u", "model_id": "x", "content": ""}],
        [{"type": "reasoning", "id": "rs_1", "summary": []}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    ],
)
def test_lines_of_other_programs_are_not_recognised(lines):
    assert load_agents()["grok"].recognises(lines) == 0


@pytest.mark.parametrize("variable", ["HOME", "GROK_HOME"])
def test_sessions_are_listed(tmp_path, variable):
    root = tmp_path / ".grok" if variable == "HOME" else tmp_path
    folder = root / "sessions" / "%2Fhome%2Fnora%2Ftill" / "019f7000"
    folder.mkdir(parents=True)
    for file in CURRENT.parent.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (found,) = list_sessions("grok", {variable: str(tmp_path), "HOME": str(tmp_path)}, "linux")
    assert found.path.endswith(HISTORY)


CALL = some(
    {"id": "c1", "name": "read_file", "arguments": '{"a":1}'},
    {"id": 5, "name": "f", "arguments": "no", "more": 1},
    {"name": 5},
    "text",
)
LINE = st.builds(
    lambda base, extra: {**extra, **base},
    st.fixed_dictionaries(
        {
            "type": some(
                *("user", "assistant", "reasoning", "tool_result", "backend_tool_call", "system"),
                *("unknown", "brand-new", "undecodable", 5, None),
            )
        },
        optional={
            "content": TEXT | JSON,
            "tool_calls": st.lists(CALL, max_size=2) | JSON,
            "model_id": some("m", 5),
            "id": some("r1", "r1", 5),
            "summary": some([{"type": "summary_text", "text": "hm"}], [5], "x"),
            "encrypted_content": some("b3A=", 5),
            "tool_call_id": some("c1", 5),
            "kind": some({"tool_type": "web_search", "action": {}, "id": "w"}, {"id": 5}, 5),
            "synthetic_reason": some("environment_context", "interjection"),
        },
    ),
    EXTRA,
)


def test_any_lines_come_back():
    @settings(max_examples=limit_examples(200))
    @given(st.lists(LINE, min_size=1, max_size=4))
    def holds(native):
        record = record_of(jsonl(*native), "grok")
        assert validate(record).findings == []
        rebuild.assert_same([record], native)

    holds()


@pytest.mark.parametrize("path", [CURRENT, OLD], ids=["current", "old"])
def test_cut_history_is_valid(path):
    data = path.read_bytes()
    for end in range(1, len(data), 61):
        assert validate(record_of(data[:end], "grok")).valid

"""iFlow, which writes the transcripts of Claude Code with the tools of Gemini CLI."""

from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, record_of
from vacr.agents.registry import find_agent
from vacr.record import walk_entries

FLOW = record_of((FIXTURES / "iflow" / "session.jsonl").read_bytes())


def entries(record, kind):
    return [entry for entry in walk_entries(record["session"]["entries"]) if entry["type"] == kind]


def test_the_session_is_described():
    meta = FLOW["session"]["agent-meta"]
    assert (meta["cli-name"], meta["model-id"], meta["model-provider"]) == (
        "iflow",
        "glm-4.7",
        "unknown",
    )
    assert FLOW["session"]["session-id"] == "session-1f0e77aa-3c52-4b8e-9d11-0a4c8e2f6b35"
    assert FLOW["session"]["environment"]["working-dir"] == "/home/nora/till"


def test_repeated_calls_are_marked_and_need_no_result():
    calls = entries(FLOW, "tool-call")
    marks = [
        (call["call-id"], "repeats" in call.get("vacr", {}), call.get("vacr", {}).get("status"))
        for call in calls
    ]
    assert marks == [
        ("c1", False, None),
        ("c1", True, None),
        ("c2", False, None),
        ("c2", True, None),
        ("c2", True, None),
        ("c3", False, None),
        ("c3", True, None),
        ("c4", False, None),
        ("c5", False, None),
        ("c6", False, "no-result"),
    ]


def test_outcomes():
    ends = [
        (result["call-id"], result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in entries(FLOW, "tool-result")
    ]
    assert ends == [
        ("c1", "success", None),
        ("c2", "error", None),
        ("c3", "success", None),
        ("c4", "error", 3),
        ("c5", "denied", None),
    ]


def test_changes_are_recorded():
    assert list_changes([FLOW]) == [("till.py", [[2, 2]], "recorded")]


def test_a_prompt_is_a_persons():
    speakers = [entry["vacr"].get("speaker") for entry in entries(FLOW, "user") if "vacr" in entry]
    assert speakers == ["human"]


def test_hooks_of_gemini_cli_are_not_installed():
    agent = find_agent("iflow")
    assert (agent.hooks, agent.mcp, agent.retention) == (None, None, None)

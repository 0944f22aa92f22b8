"""Agents that write the format of another: iFlow (transcripts) and TraeX (rollouts)."""

from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, record_of
from vacr.agents.registry import find_agent
from vacr.record import walk_entries

FLOW = record_of((FIXTURES / "iflow" / "session.jsonl").read_bytes())
TRAE = record_of((FIXTURES / "traex" / "session.jsonl").read_bytes())


def entries(record, kind):
    return [entry for entry in walk_entries(record["session"]["entries"]) if entry["type"] == kind]


# --- iFlow ---


def test_the_session_of_iflow_is_described():
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


def test_outcomes_of_iflow():
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


def test_changes_of_iflow_are_recorded():
    assert list_changes([FLOW]) == [("till.py", [[2, 2]], "recorded")]


def test_a_prompt_of_iflow_is_a_persons():
    speakers = [entry["vacr"].get("speaker") for entry in entries(FLOW, "user") if "vacr" in entry]
    assert speakers == ["human"]


# --- TraeX ---


def test_the_session_of_traex_is_described():
    meta = TRAE["session"]["agent-meta"]
    assert (meta["cli-name"], meta["model-id"], meta["model-provider"]) == (
        "traex",
        "gpt-5-codex",
        "trae",
    )
    assert TRAE["vcs"]["branch"] == "main"


def test_usage_of_traex_counts_once():
    usages = [
        entry["token-usage"] for entry in TRAE["session"]["entries"] if "token-usage" in entry
    ]
    assert [(usage["input"], usage["output"]) for usage in usages] == [(100, 20)]


def test_outcomes_and_changes_of_traex():
    ends = [
        (result["call-id"], result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in entries(TRAE, "tool-result")
    ]
    assert ends == [("c1", "success", None), ("c2", "error", 1)]
    assert list_changes([TRAE]) == [("hello.txt", [[1, 1]], "replayed")]


def test_hooks_of_the_other_agents_are_not_installed():
    for name in ("iflow", "traex"):
        assert (find_agent(name).hooks, find_agent(name).mcp) == (None, None)

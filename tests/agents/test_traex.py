"""TraeX, which writes the rollouts of Codex CLI."""

from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, record_of
from vacr.agents.registry import find_agent
from vacr.record import walk_entries

TRAE = record_of((FIXTURES / "traex" / "session.jsonl").read_bytes())


def entries(record, kind):
    return [entry for entry in walk_entries(record["session"]["entries"]) if entry["type"] == kind]


def test_the_session_is_described():
    meta = TRAE["session"]["agent-meta"]
    assert (meta["cli-name"], meta["model-id"], meta["model-provider"]) == (
        "traex",
        "gpt-5-codex",
        "trae",
    )
    assert TRAE["vcs"]["branch"] == "main"


def test_usage_counts_once():
    usages = [
        entry["token-usage"] for entry in TRAE["session"]["entries"] if "token-usage" in entry
    ]
    assert [(usage["input"], usage["output"]) for usage in usages] == [(100, 20)]


def test_outcomes_and_changes():
    ends = [
        (result["call-id"], result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in entries(TRAE, "tool-result")
    ]
    assert ends == [("c1", "success", None), ("c2", "error", 1)]
    assert list_changes([TRAE]) == [("hello.txt", [[1, 1]], "replayed")]


def test_hooks_of_codex_cli_are_not_installed():
    agent = find_agent("traex")
    assert (agent.hooks, agent.mcp, agent.retention) == (None, None, None)

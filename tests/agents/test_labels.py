"""The labels of every fixture and corpus session agree with independent counts."""

import pytest

from tests.agents import independent
from tests.agents.independent.open_code import opencode_labels
from tests.conftest import FOLDERS, native_files, records_of

COUNTERS = {"claude": "count_claude", "codex": "count_codex", "opencode": "count_opencode"}
COUNTERS |= {"gemini": "count_gemini", "cursor": "count_cursor", "crush": "count_crush"}
COUNTERS |= {"aider": "count_aider", "swe-agent": "count_swe_agent"}
COUNTERS |= {"mini-swe-agent": "count_mini_swe_agent", "openhands": "count_openhands"}
COUNTERS |= {"hermes": "count_hermes", "goose": "count_goose", "gptme": "count_gptme"}
COUNTERS |= {"vibe": "count_vibe", "zed": "count_zed"}
"""Agent → the function of this module that counts a native file without code of the package."""


def find_files():
    return [
        pytest.param(agent, path, id=f"{agent}/{path.name[-40:]}")
        for agent in FOLDERS
        if agent in COUNTERS
        for path in native_files(agent)
    ]


@pytest.mark.parametrize(("agent", "path"), find_files())
def test_labels_agree_with_independent_counts(agent, path):
    data = path.read_bytes()
    actual = independent.record_labels(*records_of(data))
    expected = globals()[COUNTERS[agent]](data, actual)
    assert +actual.statuses == +expected.statuses
    assert actual.exit_codes == expected.exit_codes
    assert actual.unanswered == expected.unanswered
    assert actual.resolved == expected.resolved
    assert actual.speakers == expected.speakers
    assert actual.prompts == expected.prompts


# --- Codex CLI ---


def count_codex(data, actual):
    """Count a rollout. Who spoke in lines copied from a parent is left to test_codex_cli.py."""
    metas = [
        value["payload"].get("id")
        for value in independent.values(data)
        if value.get("type") == "session_meta"
    ]
    is_fork = len(set(metas)) > 1
    expected = independent.codex_labels(data, speakers=not is_fork)
    if is_fork:
        expected.speakers, expected.prompts = actual.speakers, actual.prompts
    return expected


# --- Claude Code ---


def count_claude(data, actual):
    """Count a transcript."""
    del actual
    return independent.claude_labels(data)


# --- OpenCode ---


def count_opencode(data, actual):
    """Count exports, dumps and samples."""
    del actual
    return opencode_labels(data)


# --- Gemini CLI ---


def count_gemini(data, actual):
    """Count a session, a log or a saved chat."""
    del actual
    return independent.gemini_labels(data)


# --- Cursor ---


def count_cursor(data, actual):
    """Count a transcript. The folder names sub-agents, so a file alone is a main session."""
    del actual
    return independent.cursor_labels(data)


# --- Crush ---


def count_crush(data, actual):
    """Count an export."""
    del actual
    return independent.crush_labels(data)


# --- Hermes ---


def count_hermes(data, actual):
    """Count an export or a session file."""
    del actual
    return independent.hermes_labels(data)


# --- Goose ---


def count_goose(data, actual):
    """Count an export or a session file."""
    del actual
    return independent.goose_labels(data)


# --- gptme ---


def count_gptme(data, actual):
    """Count a conversation."""
    del actual
    return independent.gptme_labels(data)


# --- Vibe ---


def count_vibe(data, actual):
    """Count a file of messages, or an older session file."""
    del actual
    return independent.vibe_labels(data)


# --- Zed ---


def count_zed(data, actual):
    """Count an export."""
    del actual
    return independent.zed_labels(data)


# --- Aider ---


def count_aider(data, actual):
    """Count a history."""
    del actual
    return independent.aider_labels(data)


# --- SWE-agent and mini-swe-agent ---


def count_swe_agent(data, actual):
    """Count a trajectory. How an edit ended is left to test_swe_agent.py."""
    expected = independent.swe_agent_labels(data)
    expected.statuses = actual.statuses
    return expected


def count_mini_swe_agent(data, actual):
    """Count a trajectory."""
    del actual
    return independent.mini_swe_agent_labels(data)


# --- OpenHands ---


def count_openhands(data, actual):
    """Count events."""
    del actual
    return independent.openhands_labels(data)

"""The session files of agents without a database: found in their stores, and moved by variables."""

import pytest

from tests.conftest import FIXTURES
from tests.discovery import homes
from vacr.discovery.sessions import list_sessions

FILES = {
    "pi": (
        "pi/session.jsonl",
        ".pi/agent/sessions/--home-nora-till--/2026-07-02T09-00-00-000Z_019f2c11.jsonl",
    ),
    "openclaw": ("openclaw/session.jsonl", ".openclaw/agents/main/sessions/6f1d2c90.jsonl"),
    "qwen-code": ("qwen/session.jsonl", ".qwen/projects/-home-nora-till/chats/0b7c9d10.jsonl"),
    "iflow": (
        "iflow/session.jsonl",
        ".iflow/projects/-home-nora-till/session-1f0e77aa-3c52-4b8e-9d11-0a4c8e2f6b35.jsonl",
    ),
    "traex": ("traex/session.jsonl", ".trae/cli/sessions/2026/08/02/rollout-1.jsonl"),
    "kimi-code": (
        "kimi-code/session_8a1f/agents/main/wire.jsonl",
        ".kimi-code/sessions/wd_till_1/session_8a1f/agents/main/wire.jsonl",
    ),
    "kimi-cli": (
        "kimi-cli/eebe15ef5af9cd65080c47fca0e56fa2/0c9d/wire.jsonl",
        ".kimi/sessions/eebe15ef5af9cd65080c47fca0e56fa2/0c9d/wire.jsonl",
    ),
}
"""Agent → its fixture, and where such a file lies below the home."""
OTHER_PLACES = [
    ("openclaw", ".openclaw/agents/main/sessions/6f1d2c90.jsonl.reset.2026-03-10"),
    ("openclaw", ".clawdbot/agents/main/sessions/6f1d2c90.jsonl"),
    ("openclaw", ".moltbot/agents/main/sessions/6f1d2c90.jsonl"),
    ("qwen-code", ".qwen/projects/-home-nora-till/subagents/0b7c9d10/agent-explore-1.jsonl"),
    ("qwen-code", ".qwen/tmp/cdcd/chats/session-2025-11-03T07-00-0b7c9d10.json"),
]
VARIABLES = [
    ("pi", "PI_CODING_AGENT_DIR", ".pi/agent"),
    ("pi", "PI_CODING_AGENT_SESSION_DIR", ".pi/agent/sessions"),
    ("openclaw", "OPENCLAW_STATE_DIR", ".openclaw"),
    ("kimi-code", "KIMI_CODE_HOME", ".kimi-code"),
    ("kimi-cli", "KIMI_SHARE_DIR", ".kimi"),
    ("qwen-code", "QWEN_HOME", ".qwen"),
    ("qwen-code", "QWEN_RUNTIME_DIR", ".qwen"),
]
"""An agent, its variable, and the folder that the variable replaces."""
PLACES = [(agent, place) for agent, (_, place) in FILES.items()] + OTHER_PLACES


def put(agent, path):
    return homes.put(FIXTURES / FILES[agent][0], path)


def found(home, system="linux", **more):
    return [
        (session.agent, session.path)
        for session in list_sessions(None, homes.variables(home, system) | more, system)
    ]


@pytest.mark.parametrize("system", homes.CURSOR_USER)
@pytest.mark.parametrize(("agent", "place"), PLACES)
def test_sessions_are_found_on_each_system(tmp_path, agent, place, system):
    path = put(agent, tmp_path / place)
    assert found(tmp_path, system) == [(agent, str(path))]


@pytest.mark.parametrize(("agent", "variable", "folder"), VARIABLES)
def test_variable_of_the_agent_moves_its_store(tmp_path, agent, variable, folder):
    below = FILES[agent][1].removeprefix(f"{folder}/")
    path = put(agent, tmp_path / "elsewhere" / below)
    (tmp_path / "home").mkdir()
    moved = {variable: str(tmp_path / "elsewhere")}
    assert found(tmp_path / "home", **moved) == [(agent, str(path))]
    assert found(tmp_path / "home") == []

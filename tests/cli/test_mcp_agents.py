"""Real agents read the settings that `vacr mcp install` writes, and those that connect do so.

The test installs nothing. It needs the agents on the path, or in the folders that VACR_CLAUDE,
VACR_CODEX and VACR_GEMINI name:

    npm install --prefix /tmp/agents @anthropic-ai/claude-code @openai/codex @google/gemini-cli
    VACR_CLAUDE=/tmp/agents/node_modules/.bin pytest tests/cli/test_mcp_agents.py
"""

import os
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.component

PROGRAMS = {
    "claude-code": ("claude", "VACR_CLAUDE", "Connected"),
    "codex-cli": ("codex", "VACR_CODEX", "enabled"),
    "gemini-cli": ("gemini", "VACR_GEMINI", "(stdio)"),
    "opencode": ("opencode", "", "connected"),
}
"""Agent → its program, the variable that names its folder, and a word of its list of servers."""


@pytest.mark.parametrize("agent", PROGRAMS)
def test_agent_lists_the_server(vacr, tmp_path, agent):
    name, variable, word = PROGRAMS[agent]
    program = shutil.which(name, path=os.environ.get(variable) or None)
    if program is None:
        pytest.skip(f"{name} is not on the path or in {variable or 'PATH'}")
    done = vacr("mcp", "install", "--agent", agent, "--yes")
    assert done.returncode == 0, done.err
    project = tmp_path / "project"
    project.mkdir()
    listed = subprocess.run(
        [program, "mcp", "list"],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    shown = listed.stdout + listed.stderr
    assert "-P -m vacr mcp" in shown
    assert word in shown

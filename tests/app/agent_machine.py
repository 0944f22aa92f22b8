"""A home folder with sessions and a repository, for tests of the servers for agents and editors."""

import json
import os
from pathlib import Path

from tests.attribution.working_agent import Agent, commit, repository

CODE = (
    "def compute_total(lines):\n"
    "    result = 0\n"
    "    for line in lines:\n"
    "        result += line.price * line.count\n"
    "    return result\n"
)
PROMPT = "Sum up the lines of an order"


class Machine:
    """A home with agents' sessions."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.state = folder / "state"
        self.sessions = self.home / ".claude" / "projects" / "x"
        self.sessions.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.home),
            "VACR_STATE": str(self.state),
            "VACR_CONFIG": os.environ["VACR_CONFIG"],
            "PATH": os.environ["PATH"],
        }

    def save(self, agent: Agent) -> Path:
        """Store a session where its agent keeps them."""
        path = self.sessions / f"session-{agent.name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in agent.lines))
        return path

    def make_repository(self, folder: Path) -> Path:
        """Create a repository with a file of which an agent wrote all lines but the last."""
        repo = repository(folder)
        agent = Agent(repo).asked(PROMPT).write("sums.py", CODE)
        self.save(agent)
        commit(repo, "Add it")
        (repo / "sums.py").write_text(f"{CODE}\nprint('a line of unknown origin, long enough')\n")
        commit(repo, "Print", date="2026-03-15T09:00:00Z")
        return repo

"""Agents that keep a session in one JSON value, or in lines: where each system has them."""

import shutil

import pytest

from tests.conftest import FIXTURES
from tests.discovery import homes
from vacr.discovery.sessions import list_sessions

CLINE_TASK = "globalStorage/saoudrizwan.claude-dev/tasks/1790000000123"
ROO_ID = "0f1e2d3c-0000-4000-8000-00000000cafe"
ROO_TASK = f"globalStorage/rooveterinaryinc.roo-cline/tasks/{ROO_ID}"


def fill(home, system):
    """Put sessions of each agent into a home."""
    user = home / homes.CURSOR_USER[system] / "Code" / "User"
    put = shutil.copytree
    put(FIXTURES / "cline" / "sessions", home / ".cline" / "data" / "sessions")
    put(FIXTURES / "cline" / "tasks" / "1790000000123", user / CLINE_TASK)
    put(FIXTURES / "roo" / "tasks" / ROO_ID, user / ROO_TASK)
    put(FIXTURES / "continue" / "sessions", home / ".continue" / "sessions")
    put(FIXTURES / "droid" / "sessions", home / ".factory" / "sessions")
    put(FIXTURES / "amp" / "threads", home / ".local" / "share" / "amp" / "threads")


def found(home, system, agent, **more):
    return {
        session.session_id: session
        for session in list_sessions(agent, homes.variables(home, system) | more, system)
    }


@pytest.mark.parametrize("system", homes.CURSOR_USER)
def test_sessions_are_found_on_each_system(tmp_path, system):
    fill(tmp_path, system)
    cline = found(tmp_path, system, "cline")
    assert set(cline) == {
        "1790000000000_till0",
        "1790000000000_till0__agent_1",
        "1790000100000_till1",
        "1790000000123",
    }
    assert set(found(tmp_path, system, "roo-code")) == {ROO_ID}
    (session,) = found(tmp_path, system, "continue").values()
    assert (session.title, session.project) == ("Round the total", "/home/nora/till")
    (session,) = found(tmp_path, system, "amp").values()
    assert (session.title, session.project) == ("Round the total", "/home/nora/till box")
    (session,) = found(tmp_path, system, "droid").values()
    assert (session.title, session.project) == ("Round the total of @total.py.", "/home/nora/till")


def test_summary_has_the_facts_of_the_manifest(tmp_path):
    fill(tmp_path, "linux")
    cline = found(tmp_path, "linux", "cline")
    session = cline["1790000000000_till0"]
    assert session.title == "Round the total of @total.py to cents."
    assert session.project == "/home/nora/till"
    assert cline["1790000000000_till0__agent_1"].parent == "1790000000000_till0"
    assert cline["1790000000123"].title == "Round the total to cents."


@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("CLINE_DIR", "data/sessions"),
        ("CLINE_DATA_DIR", "sessions"),
        ("CLINE_SESSION_DATA_DIR", ""),
    ],
)
def test_variables_move_the_sessions(tmp_path, variable, below):
    shutil.copytree(FIXTURES / "cline" / "sessions", tmp_path / "other" / below)
    moved = found(tmp_path, "linux", "cline", **{variable: str(tmp_path / "other")})
    assert len(moved) == 3

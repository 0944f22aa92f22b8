"""`vacr watch` as a real process, with the session files of agents without a database."""

import pytest

from tests.capture.watching import add
from tests.conftest import FIXTURES
from tests.discovery.test_session_files import FILES

pytestmark = pytest.mark.component


@pytest.mark.parametrize("agent", FILES)
def test_growing_session_is_captured(machine, agent):
    fixture, place = FILES[agent]
    path = machine.home / place
    lines = (FIXTURES / fixture).read_bytes().splitlines(keepends=True)
    add(path, b"".join(lines[:3]))
    watching = machine.watch("--all")
    watching.wait_until(lambda: machine.last_seen(path, agent).get(path.name) == path.read_bytes())
    for line in lines[3:]:
        add(path, line[:20])
        add(path, line[20:])
    watching.wait_until(lambda: machine.last_seen(path, agent).get(path.name) == path.read_bytes())
    watching.stop()
    assert machine.check_intact()["notices"] == []

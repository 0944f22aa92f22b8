"""Fixtures of the capture tests."""

import pytest

from tests.capture.watching import Machine


@pytest.fixture
def machine(tmp_path):
    """A machine; processes that still run on it at the end are killed."""
    machine = Machine(tmp_path)
    yield machine
    machine.stop()


@pytest.fixture(params=["notified", "polling"])
def ways(request):
    """The options for both ways to find changes: by notifications, and by polling."""
    return ["--poll"] if request.param == "polling" else []

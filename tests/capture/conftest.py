"""Fixtures of the capture tests."""

import pytest

from tests.capture.watching import Machine


@pytest.fixture
def machine(tmp_path):
    """A machine; processes that still run on it at the end are killed."""
    found = Machine(tmp_path)
    yield found
    found.stop()


@pytest.fixture(params=["told", "polling"])
def ways(request):
    """The options for both ways to find changes: by notifications, and by polling."""
    return ["--poll"] if request.param == "polling" else []

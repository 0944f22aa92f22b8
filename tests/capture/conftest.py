"""What the tests of capture share."""

import pytest

from tests.capture.watching import Machine


@pytest.fixture
def machine(tmp_path):
    """Give a machine; what still runs on it at the end is killed."""
    found = Machine(tmp_path)
    yield found
    found.stop()


@pytest.fixture(params=["told", "polling"])
def ways(request):
    """Give the options for each way in which changes are found."""
    return ["--poll"] if request.param == "polling" else []

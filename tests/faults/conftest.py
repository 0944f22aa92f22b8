"""How many faults are tested: a sample of each kind, or all of them under `make faults`."""

import os
import random
import signal

import pytest

from tests.log.conftest import database, postgresql  # noqa: F401 - fixtures are found by name
from tests.log.running import Running

FULL = os.environ.get("VACR_FAULTS") == "full"


@pytest.fixture
def serve():
    """Start services; those still running at the end of the test are killed."""
    started = []

    def start(*arguments, **environment):
        started.append(Running(*arguments, **environment))
        return started[-1]

    yield start
    for service in started:
        if service.process.returncode is None:
            service.stop(signal.SIGKILL)


@pytest.fixture
def some():
    """Return a function that chooses all items in the full form, else a fixed sample."""

    def choose(found, count, seed="6"):
        return (
            list(found)
            if FULL or len(found) <= count
            else random.Random(seed).sample(list(found), count)  # noqa: S311
        )

    return choose


@pytest.fixture
def many():
    """Return a function that chooses the number for the short or the full form."""
    return lambda short, full: full if FULL else short

"""Run the command as a user does."""

import os
import shutil

import pytest

from tests import forking
from tests.cli.attested import appraise, attest, prepared_folder, ready_folder  # noqa: F401 - fixtures
from tests.cli.every_verb import folder, material  # noqa: F401 - fixtures


@pytest.fixture
def vacr(tmp_path):
    """Return a function that runs the command in an empty folder."""
    return make_runner(tmp_path)


def make_runner(cwd):
    """Return a function that runs the command in a folder, with a home in it."""
    home = cwd / "home"

    def run(*arguments, stdin=b"", cwd=cwd, **variables):
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("VACR_")
        }
        environment |= {"HOME": str(home), **variables}
        done = forking.run(arguments, cwd, environment, stdin)
        done.out, done.err = (
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
        )
        assert "Traceback" not in done.err
        return done

    return run


_prepared_folders = {}


@pytest.fixture
def prepare(tmp_path, tmp_path_factory):
    """Return a function that fills the folder of the test with the results of some steps.

    The steps run once, in a folder of their own; each test gets a copy.
    """

    def fill(steps, *values):
        if (steps, values) not in _prepared_folders:
            made = tmp_path_factory.mktemp(steps.__name__)
            steps(make_runner(made), made, *values)
            _prepared_folders[steps, values] = made
        shutil.copytree(_prepared_folders[steps, values], tmp_path, dirs_exist_ok=True)
        return tmp_path

    return fill


@pytest.fixture
def terminals():
    """Skip a test if no terminal can be created."""
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
    except OSError:
        pytest.skip("no terminal can be created here")

"""Run the command as a user does."""

import os

import pytest

from tests import forking
from tests.cli.attested import appraise, attest, prepared_folder, ready_folder  # noqa: F401 - fixtures
from tests.cli.every_verb import folder, material  # noqa: F401 - fixtures


@pytest.fixture
def vacr(tmp_path):
    """Return a function that runs the command in an empty folder."""

    def run(*arguments, stdin=b"", cwd=tmp_path, **variables):
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("VACR_")
        }
        environment |= {"HOME": str(tmp_path / "home"), **variables}
        done = forking.run(arguments, cwd, environment, stdin)
        done.out, done.err = (
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
        )
        assert "Traceback" not in done.err
        return done

    return run


@pytest.fixture
def terminals():
    """Skip a test if no terminal can be created."""
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
    except OSError:
        pytest.skip("no terminal can be created here")

"""The command, run as a user runs it."""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading

import pytest

from tests.cli.forking import Forking


@pytest.fixture(scope="session")
def forking():
    process = Forking()
    yield process
    process.close()


@pytest.fixture
def vacr(tmp_path, forking):
    """Run the command in an empty folder."""

    def run(*arguments, stdin=b"", cwd=tmp_path, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VACR_")}
        environment |= {"HOME": str(tmp_path / "home"), **variables}
        done = _run(forking, list(map(str, arguments)), stdin, cwd, environment)
        done.out, done.err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        assert "Traceback" not in done.err
        return done

    return run


def _run(forking, arguments, stdin, cwd, environment):
    if not forking.can(environment):
        command = [sys.executable, "-m", "vacr", *arguments]
        return subprocess.run(command, input=stdin, cwd=cwd, env=environment, capture_output=True, check=False)
    given, giving = os.pipe()
    feeding = threading.Thread(target=_feed, args=(giving, stdin))
    feeding.start()
    with os.fdopen(given), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = forking.run(arguments, cwd, environment, given, out.fileno(), err.fileno())
        out.seek(0)
        err.seek(0)
        done = subprocess.CompletedProcess(["vacr", *arguments], code, out.read(), err.read())
    feeding.join()
    return done


def _feed(handle, data):
    with contextlib.suppress(BrokenPipeError), os.fdopen(handle, "wb") as pipe:
        pipe.write(data)


@pytest.fixture
def terminals():
    """Skip a test where no terminals can be made."""
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
    except OSError:
        pytest.skip("no terminals can be made here")

"""The command, run as a user runs it, and the services that it starts."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

from tests import forking

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("VACR_")}


def vacr(*arguments, cwd):
    """Run the command to its end."""
    done = forking.run(arguments, cwd, ENVIRONMENT)
    done.stdout, done.stderr = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert "Traceback" not in done.stderr
    return done


def start(*arguments, cwd):
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, "-m", "vacr", *map(str, arguments)],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def service(*arguments, cwd, ends=0, says=""):
    """Run a service that prints `name: value` lines, the URL last; check its exit code."""
    process = start(*arguments, cwd=cwd)
    try:
        process.announced = {}
        for line in process.stdout:
            name, _, value = line.strip().partition(": ")
            process.announced[name] = value
            if name == "url":
                break
        assert "url" in process.announced, process.stderr.read()
        yield process
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
        assert process.returncode == ends
        assert says in errors if says else not errors
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()

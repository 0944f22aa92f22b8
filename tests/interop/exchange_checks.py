"""Check exports with other libraries."""

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON = HERE / ".venv" / "bin" / "python"


def check_exports(requests):
    """Return the answers of the other libraries, in the order of the requests."""
    if not PYTHON.exists():
        pytest.skip("other libraries are not installed: make peers")
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(
        [PYTHON, HERE / "exchange_peer.py"], input=lines, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]

"""Harbor, the owner of the format ATIF, accepts our exports and our generated trajectories."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.exchange.sessions import export_all_records
from tests.exchange.trajectories import trajectories
from vacr.exchange.atif import ATIF_VERSIONS
from vacr.exchange.atif_export import export

HERE = Path(__file__).parent
PYTHON = HERE / ".venv-harbor" / "bin" / "python"


@pytest.fixture(scope="module")
def check_trajectories():
    """Return a function that checks trajectories with Harbor's models."""
    if not PYTHON.exists():
        pytest.skip(
            "Harbor's models are not installed: make peers installs them with Python 3.12 or newer"
        )

    def run_models(lines):
        done = subprocess.run(
            [PYTHON, HERE / "harbor_models.py"], input=b"".join(lines), capture_output=True
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run_models


@pytest.mark.parametrize("version", [None, *ATIF_VERSIONS])
def test_harbor_accepts_every_export(check_trajectories, version):
    exports = [
        (name, result.data) for name, _, result in export_all_records(export, version=version)
    ]
    verdicts = check_trajectories([data for _, data in exports])
    assert [
        (name, verdict)
        for (name, _), verdict in zip(exports, verdicts, strict=True)
        if verdict is not None
    ] == []
    assert len(exports) >= 20


def test_harbor_accepts_our_generated_trajectories(check_trajectories):
    drawn = []

    @settings(max_examples=100, database=None)
    @given(trajectories())
    def draw(document):
        drawn.append(json.dumps(document).encode() + b"\n")

    draw()
    assert {verdict for verdict in check_trajectories(drawn) if verdict is not None} == set()


def test_harbor_refuses_trajectories_that_we_refuse(check_trajectories):
    dangling = {
        "step_id": 1,
        "source": "user",
        "message": "",
        "observation": {"results": [{"source_call_id": "c"}]},
    }
    document = {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "a", "version": "1"},
        "steps": [dangling],
    }
    (verdict,) = check_trajectories([json.dumps(document).encode() + b"\n"])
    assert "source_call_id" in verdict

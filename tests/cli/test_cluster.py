"""A real Dask cluster writes the same records, also if a worker is killed halfway."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

from tests.cli import gate
from tests.cli.test_record_folder import SESSIONS, list_records

pytestmark = pytest.mark.component

pytest.importorskip("distributed")

WAIT = 120


@contextmanager
def run_process(*command, cwd, log, **variables):
    """Run a process until the end of the test."""
    with log.open("wb") as file:
        started = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=cwd,
            env=os.environ | variables,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield started
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGTERM)
        try:
            started.wait(timeout=WAIT)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def wait_until(condition, what):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.fixture
def cluster(tmp_path):
    """Yield a scheduler's address, two workers that have the gated reader, and the scheduler."""
    gate.install(tmp_path / "plugins")
    variables = {
        "PYTHONPATH": str(tmp_path / "plugins"),
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "30 s",
    }
    known = tmp_path / "scheduler.json"
    loopback = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(known))
    with ExitStack() as stack:

        def start(name, *command):
            log = tmp_path / f"{name}.log"
            return stack.enter_context(
                run_process("dask", *command, cwd=tmp_path, log=log, **variables)
            )

        scheduler = start("scheduler", "scheduler", "--port", "0", *loopback)
        wait_until(lambda: known.is_file() and known.stat().st_size, "the scheduler did not start")
        workers = [
            start(f"worker{n}", "worker", *loopback, "--nthreads", "1", "--no-nanny")
            for n in range(2)
        ]
        yield json.loads(known.read_text())["address"], workers, scheduler


def test_killed_worker_does_not_change_the_records(vacr, tmp_path, cluster):
    address, workers, _ = cluster
    plugins = {"PYTHONPATH": str(tmp_path / "plugins")}
    (tmp_path / "in").mkdir()
    for number in range(SESSIONS):
        # Each worker's first tasks wait at the gate, so that the kill comes while both are at work.
        line = {"gate": str(tmp_path / f"gate{number % 2}"), "id": f"s{number}"}
        (tmp_path / "in" / f"{number:03}.jsonl").write_text(json.dumps(line) + "\n")
    command = (
        "vacr",
        "record",
        str(tmp_path / "in"),
        "-o",
        str(tmp_path / "far"),
        "--cluster",
        address,
        "--format",
        "json",
    )
    with run_process(*command, cwd=tmp_path, log=tmp_path / "run.log", **plugins) as run:
        wait_until(
            lambda: (tmp_path / "gate0.reached").exists() or run.poll() is not None,
            "no task was begun",
        )
        os.kill(workers[0].pid, signal.SIGKILL)
        workers[0].wait()
        for number in range(2):
            (tmp_path / f"gate{number}").touch()
        assert run.wait(timeout=WAIT) == 0, (tmp_path / "run.log").read_text()
    document = json.loads(
        [line for line in (tmp_path / "run.log").read_text().splitlines() if line.startswith("{")][
            -1
        ]
    )
    assert len(document["records"]) == SESSIONS
    assert vacr("record", "in", "-o", "near/", "--jobs", 1, **plugins).returncode == 0
    assert list_records(tmp_path / "far") == list_records(tmp_path / "near")
    assert len(list_records(tmp_path / "far")) == SESSIONS
    again = vacr(
        "record",
        tmp_path / "in",
        "-o",
        tmp_path / "far",
        "--cluster",
        address,
        "--format",
        "json",
        **plugins,
    )
    assert {record["state"] for record in json.loads(again.out)["records"]} == {"unchanged"}


def test_killed_scheduler_is_reported_and_work_continues_locally(vacr, tmp_path, cluster):
    address, _, scheduler = cluster
    plugins = {"PYTHONPATH": str(tmp_path / "plugins")}
    (tmp_path / "in").mkdir()
    for number in range(SESSIONS):
        line = {"gate": str(tmp_path / "gate"), "id": f"s{number}"}
        (tmp_path / "in" / f"{number:03}.jsonl").write_text(json.dumps(line) + "\n")
    command = (
        "vacr",
        "record",
        str(tmp_path / "in"),
        "-o",
        str(tmp_path / "out"),
        "--cluster",
        address,
    )
    quick = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2 s"}
    with run_process(*command, cwd=tmp_path, log=tmp_path / "run.log", **plugins, **quick) as run:
        wait_until(
            lambda: (tmp_path / "gate.reached").exists() or run.poll() is not None,
            "no task was begun",
        )
        os.kill(scheduler.pid, signal.SIGKILL)
        scheduler.wait()
        assert run.wait(timeout=WAIT) == 4, (tmp_path / "run.log").read_text()
    assert "the cluster was lost" in (tmp_path / "run.log").read_text()
    (tmp_path / "gate").touch()
    assert vacr("record", "in", "-o", "out/", **plugins).returncode == 0
    assert len(list_records(tmp_path / "out")) == SESSIONS


def test_unreachable_cluster_exits_with_its_code(vacr, tmp_path):
    (tmp_path / "in").mkdir()
    done = vacr("record", "in", "-o", "out/", "--cluster", "tcp://127.0.0.1:9")
    assert done.returncode == 4
    assert "no cluster with workers" in done.err

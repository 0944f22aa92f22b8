"""A write to standard output or standard error fails: every verb ends with a documented
exit code.
"""

import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import tty
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.every_verb import PIPE_SERVERS, SERVERS, VERBS, environment_in, list_verbs
from tests.conftest import AGENTS, EXAMPLES, ROOT
from tests.faults.test_full_disk import fill, small_disk
from tests.forking import Forking
from vacr.cli import EXIT_CODES

pytestmark = pytest.mark.component

UNWRITABLE = 3
CALLS = {verb: [*verb.split(), *arguments] for verb, arguments in VERBS.items()} | {
    "help": ["--help"],
    "version": ["--version"],
    "a wrong call": ["nothing"],
    "record to output": ["record", "s.jsonl", "-o", "-"],
    "record drift to output": ["record", "drifted.jsonl", "-o", "-", "--strict"],
    "convert to output": ["convert", "s.acr.json", "--to", "cbor", "-o", "-"],
    "attribute to output": ["attribute", "s.acr.json", "-o", "-"],
    "export to output": ["export", "s.acr.json", "--to", "markdown", "-o", "-"],
    "view to output": ["view", "s.acr.json", "-o", "-"],
    "sign to output": ["sign", "s.acr.json", "--key", "keys/signing.pem", "-o", "-"],
    "verify for programs": [
        "verify",
        "s.acr.json",
        "--trust",
        "keys/signing.pub.pem",
        "--format",
        "json",
    ],
    "verify a changed record": ["verify", "changed.acr.json", "--trust", "keys/signing.pub.pem"],
    "show for programs": ["show", "s.acr.json", "--format", "jsonl"],
}
BUFFERING = {"buffered": {}, "unbuffered": {"PYTHONUNBUFFERED": "1"}}
each_buffering = pytest.mark.parametrize("variables", BUFFERING.values(), ids=BUFFERING)


def test_table_has_every_verb():
    assert {*VERBS, *SERVERS, *PIPE_SERVERS} == set(list_verbs())


def test_the_tour_lists_the_exit_codes():
    table = (
        (ROOT / "docs" / "tour.md").read_text().partition("| exit code |")[2].partition("\n\n")[0]
    )
    assert [int(line.split("|")[1]) for line in table.splitlines()[2:]] == list(EXIT_CODES)


@functools.cache
def fork_server(buffering):
    """Start an interpreter with buffered or unbuffered streams, once: it takes seconds."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    return Forking(environment | BUFFERING[buffering])


@pytest.fixture(params=BUFFERING)
def forking(request):
    return fork_server(request.param)


@contextlib.contextmanager
def closed_pipe():
    """Open a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


@contextlib.contextmanager
def full_device():
    """Open a device that is always full."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    handle = os.open("/dev/full", os.O_WRONLY)
    try:
        yield handle
    finally:
        os.close(handle)


class Ending(NamedTuple):
    """The exit code and output of a call whose writes all succeed."""

    code: int
    result_size: int
    message_size: int


def run(forking, place, call, stdout, stderr):
    with Path(os.devnull).open("rb") as nothing:
        return forking.run(
            CALLS[call], place, environment_in(place), [nothing.fileno(), stdout, stderr]
        )


@pytest.fixture(scope="module")
def compute_usual_ending(material, tmp_path_factory):
    """Return a function that runs a call whose writes all succeed."""
    known = {}
    forking = fork_server("buffered")

    def ending(call):
        if call not in known:
            place = tmp_path_factory.mktemp("usual")
            shutil.copytree(material, place, dirs_exist_ok=True, symlinks=True)
            with (place / "out").open("w+b") as out, (place / "err").open("w+b") as err:
                code = run(forking, place, call, out.fileno(), err.fileno())
                sizes = out.seek(0, os.SEEK_END), err.seek(0, os.SEEK_END)
            assert any(sizes), f"{call} prints nothing: it tests nothing"
            known[call] = Ending(code, *sizes)
        return known[call]

    return ending


@pytest.mark.parametrize(
    ("forking", "failing"),
    [
        ("buffered", "output"),
        ("buffered", "messages"),
        ("buffered", "both"),
        ("unbuffered", "both"),
    ],
    indirect=["forking"],
)
@pytest.mark.parametrize("call", CALLS)
def test_full_device_ends_in_a_documented_code(
    forking, folder, compute_usual_ending, call, failing
):
    code, result_size, _ = compute_usual_ending(call)
    loses_result = result_size and failing != "messages"
    with full_device() as full, (folder / "kept").open("w+b") as kept:
        stdout = kept.fileno() if failing == "messages" else full
        stderr = kept.fileno() if failing == "output" else full
        assert run(forking, folder, call, stdout, stderr) == (UNWRITABLE if loses_result else code)
        kept.seek(0)
        text = kept.read()
    assert b"Traceback" not in text
    if loses_result and failing == "output":
        assert b"No space left" in text


@pytest.mark.parametrize("forking", ["buffered"], indirect=True)
@pytest.mark.parametrize("call", CALLS)
def test_closed_pipe_does_not_change_the_exit_code(forking, folder, compute_usual_ending, call):
    with closed_pipe() as pipe:
        assert run(forking, folder, call, pipe, pipe) == compute_usual_ending(call).code


@pytest.mark.parametrize("forking", ["unbuffered"], indirect=True)
def test_full_disk_ends_in_a_documented_code(forking, material, tmp_path, compute_usual_ending):
    """Unlike /dev/full, a disk can accept the start of a text and refuse the rest."""
    room = 1 << 12
    with small_disk(tmp_path / "small") as disk:
        printed = disk / "printed"
        printed.write_bytes(bytes(room))
        fill(disk / "filler")
        for number, call in enumerate(CALLS):
            place = tmp_path / str(number)
            shutil.copytree(material, place, symlinks=True)
            with printed.open("r+b") as file, (place / "messages").open("wb") as messages:
                ended = run(forking, place, call, file.fileno(), messages.fileno())
            code, size, _ = compute_usual_ending(call)
            assert ended == (UNWRITABLE if size > room else code), call


@each_buffering
@pytest.mark.parametrize("call", ["list", "verify", "version", "completion"])
def test_real_process_ends_like_a_fork(folder, compute_usual_ending, call, variables):
    command = [sys.executable, "-m", "vacr", *CALLS[call]]
    settings = {"cwd": folder, "env": environment_in(folder) | variables}
    with full_device() as full:
        assert (
            subprocess.run(command, stdout=full, stderr=full, **settings).returncode == UNWRITABLE
        )
        assert (
            subprocess.run(command, stdout=subprocess.PIPE, stderr=full, **settings).returncode
            == compute_usual_ending(call).code
        )
    with closed_pipe() as pipe:
        assert (
            subprocess.run(command, stdout=pipe, stderr=pipe, **settings).returncode
            == compute_usual_ending(call).code
        )
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, **settings)
        assert (done.returncode, done.stderr) == (compute_usual_ending(call).code, b"")


@each_buffering
@pytest.mark.parametrize("verb", SERVERS)
def test_server_stops_if_it_cannot_print_its_address(folder, verb, variables):
    with full_device() as full, serving(folder, verb, 0, full, variables) as server:
        assert server.wait() == UNWRITABLE


@each_buffering
@pytest.mark.parametrize("verb", SERVERS)
def test_server_continues_if_its_output_is_not_read(folder, verb, variables):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with closed_pipe() as pipe, serving(folder, verb, port, pipe, variables) as server:
        wait_for_server(server, port)
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0


@contextlib.contextmanager
def serving(place, verb, port, stream, variables):
    """Start a server whose standard streams are one stream; kill it if it is still there at the
    end.
    """
    command = [
        sys.executable,
        "-m",
        "vacr",
        *verb.split(),
        *(word.format(port=port) for word in SERVERS[verb]),
    ]
    environment = environment_in(place) | variables
    with subprocess.Popen(
        command, cwd=place, env=environment, stdout=stream, stderr=stream
    ) as server:
        try:
            yield server
        finally:
            server.kill()


def wait_for_server(server, port):
    while server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise AssertionError(f"the server ended with {server.returncode}")


@each_buffering
def test_unwritable_messages_do_not_stop_a_long_run(material, tmp_path, variables):
    """A terminal that accepts no more output must not stop the progress bar."""
    controller, terminal = os.openpty()
    try:
        tty.setraw(terminal)
        os.set_blocking(terminal, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(terminal, b"x")
        command = [sys.executable, "-m", "vacr", "record", EXAMPLES, "-o", "new/", "--jobs", "1"]
        environment = environment_in(material) | variables | {"TERM": "xterm"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=terminal
        )
    finally:
        os.close(controller)
        os.close(terminal)
    assert done.returncode == 0
    assert len(list((tmp_path / "new").glob("*.acr.json"))) == len(AGENTS)


@each_buffering
@pytest.mark.parametrize("call", ["version", "help", "list", "schema show"])
def test_ctrl_c_ends_a_blocked_write(folder, call, variables):
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x")
        os.set_blocking(writing, True)
        command = [sys.executable, "-m", "vacr", *CALLS[call]]
        environment = environment_in(folder) | variables
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=writing, stderr=subprocess.PIPE
        ) as process:
            wait_until_asleep(process.pid)
            process.send_signal(signal.SIGINT)
            messages = process.communicate()[1]
    finally:
        os.close(reading)
        os.close(writing)
    assert (process.returncode, b"Traceback" in messages) == (130, False)


def wait_until_asleep(pid):
    """Wait until a process has been asleep for a while, because it waits for a pipe."""
    naps = 0
    while naps < 4:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        naps = naps + 1 if state == "S" else 0
        time.sleep(0.05)


@each_buffering
def test_ctrl_c_exits_with_130_if_the_message_cannot_be_written(folder, variables):
    command = [sys.executable, "-m", "vacr", "record", "-", "-o", "-"]
    settings = {"cwd": folder, "env": environment_in(folder) | variables, "stdin": subprocess.PIPE}
    with (
        full_device() as full,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=full, **settings) as process,
    ):
        wait_until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130

"""Files are written all or none, no more readable than their sources, without leftovers."""

import fcntl
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES
from vacr.errors import UnreadableInput
from vacr.files import writing
from vacr.files.writing import (
    OutputFile,
    make_folder_tree,
    write_file_atomically,
    write_files_atomically,
)


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(autouse=True)
def reset_umask(monkeypatch):
    """Start like a new process, with the usual permissions."""
    monkeypatch.setattr(writing, "_tidied_folders", set())
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_failed_write_changes_nothing(tmp_path):
    write_files_atomically([OutputFile(tmp_path / "a", [b"1"]), OutputFile(tmp_path / "b", [b"1"])])

    def pieces():
        yield b"2"
        raise OSError(28, "No space left on device")

    with pytest.raises(UnreadableInput, match="No space left"):
        write_files_atomically(
            [OutputFile(tmp_path / "a", [b"2"]), OutputFile(tmp_path / "b", pieces())]
        )
    assert [(tmp_path / name).read_bytes() for name in list_names(tmp_path)] == [b"1", b"1"]


@pytest.fixture
def idle_thread():
    """Let a thread wait, which the system may give a signal for the process to."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield
    end.set()
    thread.join()


@pytest.fixture
def raise_on_sigterm():
    def stop(number, _):
        raise SystemExit(number)

    before = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, before)


def interrupt_each_move(monkeypatch, *numbers):
    move = writing._move_into_place

    def interrupt_and_move(temporary, output):
        for number in numbers:
            os.kill(os.getpid(), number)
        time.sleep(0.05)  # so that another thread can receive the signal
        move(temporary, output)

    monkeypatch.setattr(writing, "_move_into_place", interrupt_and_move)


@pytest.mark.parametrize("threads", [[], ["idle_thread"]], ids=["one thread", "two threads"])
@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
@pytest.mark.usefixtures("raise_on_sigterm")
def test_interrupt_leaves_all_files_or_none(
    tmp_path, monkeypatch, request, threads, number, raised
):
    for name in threads:
        request.getfixturevalue(name)
    interrupt_each_move(monkeypatch, number)
    handler = signal.getsignal(number)
    outputs = [OutputFile(tmp_path / name, [b"1"]) for name in ("a", "b", "c")]
    with pytest.raises(raised):
        write_files_atomically(outputs)
    assert list_names(tmp_path) == ["a", "b", "c"]
    assert signal.getsignal(number) is handler


@pytest.mark.usefixtures("raise_on_sigterm")
def test_two_signals_leave_no_handler_replaced(tmp_path, monkeypatch):
    numbers = (signal.SIGINT, signal.SIGTERM)
    interrupt_each_move(monkeypatch, *numbers)
    handlers = [signal.getsignal(number) for number in numbers]
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        write_file_atomically(tmp_path / "a", [b"1"])
    assert list_names(tmp_path) == ["a"]
    assert [signal.getsignal(number) for number in numbers] == handlers


def test_files_are_written_outside_the_main_thread(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(write_file_atomically, tmp_path / "a", [b"1"]).result()
    assert list_names(tmp_path) == ["a"]


def test_output_that_another_needs_as_its_folder_is_refused_before_any_move(tmp_path):
    (tmp_path / "link").symlink_to("a")
    for name in ("a", "link"):
        paths = [tmp_path / "0", tmp_path / name, tmp_path / "a" / "deep" / "b"]
        with pytest.raises(UnreadableInput, match=r"/a: cannot be written: .*/a/deep/b needs"):
            write_files_atomically([OutputFile(path, [b"1"]) for path in paths])
        assert list_names(tmp_path) == ["link"]


def test_more_files_are_written_than_may_be_open_at_first(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, limits[1]))
    try:
        names = [f"{number:03}" for number in range(150)]
        write_files_atomically([OutputFile(tmp_path / name, [b"1"]) for name in names])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert list_names(tmp_path) == names


def test_limit_of_open_files_is_raised_as_far_as_the_kernel_allows(tmp_path, monkeypatch):
    """macOS has no hard limit by default, and yet refuses more than the kernel's maximum."""
    get_limit, set_limit = resource.getrlimit, resource.setrlimit
    limits = get_limit(resource.RLIMIT_NOFILE)
    largest = 250

    def refuse_more_than_largest(which, wanted):
        if wanted[0] > largest:
            raise ValueError("current limit exceeds maximum limit")
        set_limit(which, (wanted[0], limits[1]))

    def get_infinite_hard_limit(which):
        return get_limit(which)[0], resource.RLIM_INFINITY

    set_limit(resource.RLIMIT_NOFILE, (100, limits[1]))
    try:
        with monkeypatch.context() as patched:
            patched.setattr(resource, "setrlimit", refuse_more_than_largest)
            patched.setattr(resource, "getrlimit", get_infinite_hard_limit)
            names = [f"{number:03}" for number in range(150)]
            write_files_atomically([OutputFile(tmp_path / name, [b"1"]) for name in names])
        assert get_limit(resource.RLIMIT_NOFILE)[0] == largest
    finally:
        set_limit(resource.RLIMIT_NOFILE, limits)
    assert list_names(tmp_path) == names


def test_new_file_replaces_nothing(tmp_path):
    write_file_atomically(tmp_path / "a", [b"1"])
    with pytest.raises(FileExistsError):
        write_files_atomically(
            [OutputFile(tmp_path / "a", [b"2"], new=True), OutputFile(tmp_path / "b", [b"2"])]
        )
    assert list_names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("sources", "umask", "expected"),
    [
        ([0o644], 0o022, 0o644),
        ([0o600], 0o022, 0o600),
        ([0o640], 0o022, 0o640),
        ([0o644], 0o077, 0o600),
        ([0o604, 0o640], 0o022, 0o600),
        ([0o444], 0o000, 0o666),
        ([0o600], 0o000, 0o600),
        ([0o000], 0o022, 0o600),
    ],
)
def test_output_is_no_more_readable_than_its_sources(tmp_path, sources, umask, expected):
    for number, mode in enumerate(sources):
        (tmp_path / f"source{number}").touch()
        (tmp_path / f"source{number}").chmod(mode)
    os.umask(umask)
    write_files_atomically(
        [
            OutputFile(
                tmp_path / "a",
                [b"1"],
                tuple(tmp_path / f"source{number}" for number in range(len(sources))),
            )
        ]
    )
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == expected


def test_output_of_a_vanished_source_is_private(tmp_path):
    write_files_atomically([OutputFile(tmp_path / "a", [b"1"], (tmp_path / "gone",))])
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_source_of_another_group_is_private(tmp_path):
    source = tmp_path / "source"
    source.touch()
    source.chmod(0o640)
    os.chown(source, -1, 54321)
    write_files_atomically([OutputFile(tmp_path / "a", [b"1"], (source,))])
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_record_is_no_more_readable_than_its_session(vacr, tmp_path):
    session = tmp_path / "abc.jsonl"
    session.write_bytes((EXAMPLES / "codex-cli.jsonl").read_bytes())
    session.chmod(0o600)
    assert vacr("record", session, "-o", "out/", "--seal-source").returncode == 0
    assert vacr("convert", "out/abc.acr.json", "--to", "v2", "-o", "out/").returncode == 0
    assert vacr("restore", "out/abc.acr.json", "-o", "out/").returncode == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}
    assert modes == dict.fromkeys(
        ["abc.acr.json", "abc.acr.source.zip", "abc.v2.acr.json", "abc.jsonl"], 0o600
    )


def test_standard_input_from_a_private_file_stays_private(tmp_path):
    session = tmp_path / "abc.jsonl"
    session.write_bytes((EXAMPLES / "codex-cli.jsonl").read_bytes())
    for mode in (0o600, 0o644):
        session.chmod(mode)
        with session.open("rb") as file:
            command = [sys.executable, "-m", "vacr", "record", "-", "-o", f"{mode}.acr.json"]
            assert (
                subprocess.run(
                    command, stdin=file, cwd=tmp_path, capture_output=True, check=False
                ).returncode
                == 0
            )
        assert stat.S_IMODE((tmp_path / f"{mode}.acr.json").stat().st_mode) == mode


KILLED = """
import os, signal, sys
from pathlib import Path
from vacr.files.writing import write_file_atomically

def pieces():
    yield b"half"
    os.kill(os.getpid(), signal.SIGKILL)

write_file_atomically(Path(sys.argv[1]), pieces())
"""


def test_only_files_of_killed_processes_are_removed(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a"], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = list_names(tmp_path)
    ours = [".vacr-journal.jsonl", ".vacr-abcdefgh", ".vacr-12345678.tmp.json", "x.tmp"]
    for name in ours:
        (tmp_path / name).touch()
    (tmp_path / ".vacr-abcdefgh.tmp").symlink_to("x.tmp")
    with (tmp_path / ".vacr-abcdefgi.tmp").open("wb") as being_written:
        fcntl.flock(being_written, fcntl.LOCK_EX)
        write_file_atomically(tmp_path / "b", [b"1"])
    assert left not in list_names(tmp_path)
    assert list_names(tmp_path) == sorted([*ours, ".vacr-abcdefgh.tmp", ".vacr-abcdefgi.tmp", "b"])


def test_folders_are_made_at_any_depth(deep):
    folder = Path(str(deep) + "/d" * 1200)
    make_folder_tree(folder)
    assert folder.is_dir()

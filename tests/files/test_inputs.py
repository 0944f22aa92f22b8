"""Reading from disk under difficulties: permissions, pipes, growing files, links."""

import errno
import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, FIXTURES
from vacr.discovery.opening import read_sessions
from vacr.errors import UnreadableInput
from vacr.files.inputs import make_folder_error, read_bytes

CLAUDE = EXAMPLES / "claude-code.jsonl"


@pytest.fixture
def unreadable_file():
    """Return an unreadable file, as a user who is bound by permissions, unlike root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = folder / "abc.jsonl"
        path.write_bytes(CLAUDE.read_bytes())
        path.chmod(0)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        yield path
        if root:
            os.seteuid(0)


def test_missing_permission_is_reported(unreadable_file):
    with pytest.raises(UnreadableInput) as caught:
        read_bytes(unreadable_file)
    assert caught.value.message == "no permission to read it"
    assert caught.value.where == str(unreadable_file)


def test_growing_file_is_read_up_to_its_size_at_the_start(tmp_path):
    path = tmp_path / "abc.jsonl"
    lines = CLAUDE.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[1])

    def grow():
        with path.open("ab", buffering=0) as file:
            for line in lines * 50:
                file.write(line[: len(line) // 2])
                file.write(line[len(line) // 2 :])

    writer = threading.Thread(target=grow)
    writer.start()
    for _ in range(10):
        (found,) = read_sessions(path, keep_source=True)
        (part,) = found.source.parts
        manifest = found.reading.record["vacr"]["source"]["parts"]
        assert manifest == [{"name": "abc.jsonl", "size": len(part.data), "sha-256": part.sha256}]
        whole = part.data.count(b"\n")
        assert len(found.reading.record["session"]["entries"]) in (whole, whole + 1)
    writer.join()


def test_inherited_pipe_is_read():
    reading, writing = os.pipe()

    def write_session():
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(CLAUDE.read_bytes())

    writer = threading.Thread(target=write_session)
    writer.start()
    (found,) = read_sessions(f"/dev/fd/{reading}")
    writer.join()
    os.close(reading)
    assert len(found.reading.record["session"]["entries"]) == 20


def test_named_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UnreadableInput, match="a pipe, not a file"):
        list(read_sessions(tmp_path / "pipe.jsonl"))
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "s"))
    with pytest.raises(UnreadableInput, match="a socket, not a file"):
        list(read_sessions(tmp_path / "s"))
    listening.close()


def test_companion_files_are_found_or_reported(tmp_path):
    project = tmp_path / "project"
    shutil.copytree(FIXTURES / "claude" / "project", project)
    main = next(project.glob("3*.jsonl"))
    long = (
        (project / "agent-e4f5a6b.jsonl")
        .read_bytes()
        .replace(b'"sibling"', b'"' + b"x" * 100_000 + b'"')
    )
    (project / "agent-long.jsonl").write_bytes(b"\n" + long.replace(b"e4f5a6b", b"1ong1ng"))
    (project / main.stem / "tool-results" / "out2.txt").symlink_to("/etc/hostname")
    found = list(read_sessions(main))
    assert [item.name for item in found] == [
        main.name,
        "agent-a1b2c3d.jsonl",
        "agent-e4f5a6b.jsonl",
        "agent-long.jsonl",
    ]
    assert [error.message for error in found[0].left_out] == [
        "a link to a file outside the session's folder"
    ]
    (project / main.stem / "subagents" / "agent-gone.jsonl").symlink_to("/etc/hostname")
    again = list(read_sessions(main))
    (failed,) = [item for item in again if isinstance(item, UnreadableInput)]
    assert "outside the session" in failed.message
    assert len(again) == 5


def test_sub_agent_with_a_sub_agent_is_still_one(tmp_path):
    lines = (FIXTURES / "claude" / "project" / "agent-e4f5a6b.jsonl").read_bytes()
    progress = next(
        line
        for line in (FIXTURES / "claude" / "shapes.jsonl").read_bytes().splitlines()
        if b"agent_progress" in line
    )
    (tmp_path / "agent-e4f5a6b.jsonl").write_bytes(lines + progress + b"\n")
    (found,) = read_sessions(tmp_path / "agent-e4f5a6b.jsonl")
    assert found.reading.record["session"]["session-id"].endswith("/e4f5a6b")


def test_folder_error_names_the_folder_that_refused(tmp_path):
    denied = PermissionError(errno.EACCES, "Permission denied")
    error = make_folder_error(tmp_path / "a" / "b", denied, "Choose another.")
    assert error.message == f"cannot be created: no permission to write in {tmp_path}"
    assert (error.where, error.hint) == (str(tmp_path / "a" / "b"), "Choose another.")
    error = make_folder_error(tmp_path, denied, "Choose another.")
    assert error.message == f"cannot be written: no permission to write in {tmp_path}"


def test_folder_error_takes_a_reason_with_braces_as_it_is(tmp_path):
    error = make_folder_error(tmp_path, OSError("a {b}"), "Choose another.")
    assert error.message == "cannot be written: a {b}"
    error = make_folder_error(tmp_path, OSError(9999, "a {b}"), "Choose another.")
    assert error.message == "cannot be written: a {b}"

"""Reading from disk, where the disk does not help."""

import os
import tempfile
import threading
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES
from vacr.errors import UnreadableInput
from vacr.sources import read, read_bytes

CLAUDE = EXAMPLES / "claude-code.jsonl"


@pytest.fixture
def locked():
    """Give a file that nobody may read, to somebody whom permissions bind, which root is not."""
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


def test_no_permission(locked):
    with pytest.raises(UnreadableInput) as caught:
        read_bytes(locked)
    assert caught.value.message == "no permission to read it"
    assert caught.value.where == str(locked)


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_was(tmp_path):
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
        (found,) = read(path, keep_source=True)
        (part,) = found.source.parts
        manifest = found.reading.record["vacr"]["source"]["parts"]
        assert manifest == [{"name": "abc.jsonl", "size": len(part.data), "sha-256": part.sha256}]
        whole = part.data.count(b"\n")
        assert len(found.reading.record["session"]["entries"]) in (whole, whole + 1)
    writer.join()


def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(CLAUDE.read_bytes()))
    writer.start()
    (found,) = read(pipe)
    writer.join()
    assert len(found.reading.record["session"]["entries"]) == 20

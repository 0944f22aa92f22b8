"""A full disk: registrations fail, receipts stay valid, and the log goes on once there is room."""

import os
import subprocess
from contextlib import contextmanager

import pytest

from tests.faults.audit import audit
from tests.faults.load import Load
from vacr.log.folder import create_log

SIZE = 6 << 20


@contextmanager
def small_disk(place):
    if os.geteuid() != 0:
        pytest.skip(
            "NOT ROOT: a full disk is not tested; run it as root, who may mount a small tmpfs"
        )
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", place],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(
            f"NO TMPFS CAN BE MOUNTED HERE: a full disk is not tested; {done.stderr.strip()}"
        )
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_log_continues_when_there_is_room_again(tmp_path, serve, many):
    with small_disk(tmp_path / "small") as disk:
        log = create_log(str(disk / "log"))
        service = serve(log.path)
        with Load(service, size=2000) as load:
            for turn in range(many(2, 4)):
                load.more(20)
                fill(disk / "filler")
                load.until_refused()
                for _ in range(turn):
                    load.until_refused()
                (disk / "filler").unlink()
                load.more(20)
        code, _ = service.stop()
        assert code == 0
        audit(log.path, load.handed)


def fill(path):
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            while True:
                try:
                    if file.write(bytes(size)) < size:
                        break
                except OSError:
                    break

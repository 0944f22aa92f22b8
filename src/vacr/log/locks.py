"""A lock between processes: a file that one of them holds at a time. Step: register."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OWNER_ONLY = 0o600
_PAUSE = 0.002


@contextmanager
def held(path: Path, wait: float) -> Iterator[None]:
    """Hold a lock; whoever ends in any way lets go of it.

    Raises:
        TimeoutError: others held it for as many seconds as are waited for.
        OSError: the file cannot be opened.
    """
    if (
        sys.platform == "win32"
    ):  # there is no such lock: what it guards there is used by one process at a time
        yield
        return
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
    try:
        until = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise TimeoutError(f"another process holds {path.name}") from error
                time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)

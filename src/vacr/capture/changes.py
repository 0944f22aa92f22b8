"""Which files have changed: told by the system where it can, and looked for now and then in any case."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Watching = Callable[..., Iterator[set[tuple[Any, str]]]]

_TOGETHER = 20
"""Milliseconds in which changes that follow each other are told together."""
_AT_MOST = 200
_LOOK = 0.5
"""Seconds between two looks for folders that are not there yet."""


class Changes:
    """Waits for changes below the folders of agents; what changed is a path, or all of them."""

    def __init__(self, folders: Sequence[Path], *, polling: bool, every: float) -> None:
        """Watch folders; where the system cannot tell, or with `polling`, all that is there is looked at every few seconds."""
        self._folders = folders
        self._every = every
        self._stop = threading.Event()
        self._watching = None if polling else _watching()
        self.is_told = self._watching is not None
        """Whether the system tells what changes."""

    def stop(self) -> None:
        """End the waiting."""
        self._stop.set()

    def __iter__(self) -> Iterator[set[Path] | None]:
        """Give the paths that have changed, again and again; nothing stands for: look at all of them."""
        yield None
        while not self._stop.is_set():
            folders = self._there()
            if self._watching is None or not folders:
                self._stop.wait(self._every)
                yield None
                continue
            yield from self._told(self._watching, folders)

    def _there(self) -> list[Path]:
        found = {path if path.is_dir() else path.parent for path in self._folders if path.exists()}
        return sorted(path for path in found if not any(other in path.parents for other in found))

    def _told(self, watching: Watching, folders: list[Path]) -> Iterator[set[Path] | None]:
        """Give what the system tells, until there are other folders to be watched."""
        last = time.monotonic()
        try:
            for told in watching(
                *folders,
                watch_filter=None,
                debounce=_AT_MOST,
                step=_TOGETHER,
                rust_timeout=int(_LOOK * 1000),
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                yield {Path(path) for _, path in told}
                if time.monotonic() - last > self._every:
                    last = time.monotonic()
                    yield None
                if self._there() != folders:
                    return
        except OSError:
            # The system has no more to give to watch so many folders.
            self._watching, self.is_told = None, False


def _watching() -> Watching | None:
    try:
        from watchfiles import watch
    except ImportError:
        return None
    return watch

"""Which files have changed: told by the system where it can, and looked for now and then in any
case.
"""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

Watching = Callable[..., Iterator[set[tuple[Any, str]]]]

_TOGETHER = 20
"""Milliseconds in which changes that follow each other are told together."""
_AT_MOST = 80
_LOOK = 0.5
"""Seconds between two looks for folders that are not there yet."""
_POLL = 2.0
_RESCAN = 60.0
"""Seconds after which all is looked at, though the system tells."""
_RESCAN_BLIND = 10.0


class Changes:
    """Waits for changes below the folders of agents; what changed is a path, or all of them."""

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        polling: bool,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Watch folders; where the system cannot tell, or with `polling`, all that is there is
        looked at every few seconds.
        """
        self._folders, self._tell = folders, tell
        self._stop = threading.Event()
        self._watching = None if polling else _watching()
        self._every = _POLL if self._watching is None else _RESCAN
        self._is_blind = False
        """Whether there are folders of which the system does not tell."""

    def stop(self) -> None:
        """End the waiting."""
        self._stop.set()

    def __iter__(self) -> Iterator[set[Path] | None]:
        """Give the paths that have changed, again and again; nothing stands for: look at all of
        them.
        """
        yield None
        while not self._stop.is_set():
            folders = self._there()
            if self._watching is None or not folders:
                self._stop.wait(self._every if self._watching is None else _LOOK)
                yield None
                continue
            yield from self._told(self._watching, folders)

    def _there(self) -> dict[Path, tuple[int, int]]:
        """Give the folders that are there, and by what each is known: one of the same name may have
        come in its place.
        """
        found = {}
        for path in self._folders:
            with suppress(OSError):
                status = path.stat()
                folder = path if stat.S_ISDIR(status.st_mode) else path.parent
                found[folder] = (status.st_dev, status.st_ino)
        return {
            path: found[path]
            for path in sorted(found)
            if not any(other in path.parents for other in found)
        }

    def _told(
        self, watching: Watching, folders: dict[Path, tuple[int, int]]
    ) -> Iterator[set[Path] | None]:
        """Give what the system tells, until there are other folders to be watched."""
        # What was written before the system began to tell is looked for when it does.
        last = -self._every
        is_begun = False
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
                ignore_permission_denied=self._is_blind,
            ):
                is_begun = True
                yield {Path(path) for _, path in told}
                if time.monotonic() - last > self._every:
                    last = time.monotonic()
                    yield None
                if self._there() != folders:
                    return
        except PermissionError:
            # With such folders left out, it leaves out as well those that the system has no more to
            # give for.
            self._is_blind, self._every = True, _RESCAN_BLIND
        except (OSError, RuntimeError):
            if is_begun:
                # It cannot name what changed, as where a name is no text: all is looked at when it
                # begins again.
                self._stop.wait(_LOOK)
                return
            # The system has no more to give to watch so many folders; the library has an error of
            # its own for it.
            self._watching, self._every = None, _POLL
            self._tell(
                "the system cannot tell what changes in so many folders: they are looked at "
                f"every {_POLL:.0f} seconds"
            )


def _watching() -> Watching | None:
    try:
        from watchfiles import watch
    except ImportError:
        return None
    return watch

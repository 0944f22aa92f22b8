"""Waiting for files to change: by the system's notifications, and by looking now and then.

Notifications are fast and cheap, but not complete: folders may not exist yet, the system may run
out of watches, and some folders cannot be read. So the watcher also looks at everything at long
intervals, and at short ones without notifications.
"""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

WatchFunction = Callable[..., Iterator[set[tuple[Any, str]]]]
FolderIdentities = dict[Path, tuple[int, int]]
"""Folder → its device and inode: another folder may have taken its place."""

_DEBOUNCE_STEP_MS = 20
"""Changes that follow each other within this time are reported together."""
_DEBOUNCE_MS = 80
_FOLDER_CHECK_SECONDS = 0.5
"""How often to look for folders that did not exist."""
_POLL_SECONDS = 2.0
_RESCAN_SECONDS = 60.0
"""How often to look at everything although the system reports changes."""
_BLIND_RESCAN_SECONDS = 10.0
"""The same if the system does not report changes of some folders."""


class FileChanges:
    """Waits for changes below folders; an iterator of sets of changed paths.

    If anything may have changed, it yields None.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        polling: bool,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Watch folders; with `polling`, do not use the system's notifications."""
        self._folders, self._tell = folders, tell
        self._stop = threading.Event()
        self._watch = None if polling else _load_watch_function()
        self._rescan_seconds = _POLL_SECONDS if self._watch is None else _RESCAN_SECONDS
        self._has_unreadable_folders = False

    def stop(self) -> None:
        """End the iteration, from any thread or signal handler."""
        self._stop.set()

    def __iter__(self) -> Iterator[set[Path] | None]:
        """Yield sets of changed paths, or None, until stopped."""
        yield None
        while not self._stop.is_set():
            folders = self._list_existing_folders()
            if self._watch is None:
                self._stop.wait(self._rescan_seconds)
                yield None
            elif not folders:
                self._stop.wait(_FOLDER_CHECK_SECONDS)
                yield None
            else:
                yield from self._watch_folders(self._watch, folders)

    def _list_existing_folders(self) -> FolderIdentities:
        """Return the folders that exist, without those inside another one."""
        identities = {}
        for path in self._folders:
            with suppress(OSError):
                status = path.stat()
                folder = path if stat.S_ISDIR(status.st_mode) else path.parent
                identities[folder] = (status.st_dev, status.st_ino)
        return {
            path: identities[path]
            for path in sorted(identities)
            if not any(other in path.parents for other in identities)
        }

    def _watch_folders(
        self, watch: WatchFunction, folders: FolderIdentities
    ) -> Iterator[set[Path] | None]:
        """Yield the changes that the system reports, until other folders have to be watched."""
        # Files may have changed before the notifications start, so rescan right after that.
        last_rescan = -self._rescan_seconds
        has_started = False
        try:
            for changes in watch(
                *folders,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_DEBOUNCE_STEP_MS,
                rust_timeout=int(_FOLDER_CHECK_SECONDS * 1000),
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=self._has_unreadable_folders,
            ):
                has_started = True
                yield {Path(path) for _, path in changes}
                if time.monotonic() - last_rescan > self._rescan_seconds:
                    last_rescan = time.monotonic()
                    yield None
                if self._list_existing_folders() != folders:
                    return
        except PermissionError:
            # Ignoring unreadable folders makes the library also ignore a lack of watches, so
            # rescan more often.
            self._has_unreadable_folders = True
            self._rescan_seconds = _BLIND_RESCAN_SECONDS
        except (OSError, RuntimeError):
            if has_started:
                # The library could not report a change, for example of a name that is not valid
                # text. Watching starts again with a rescan.
                self._stop.wait(_FOLDER_CHECK_SECONDS)
                return
            # The system has no watches left for so many folders.
            self._watch, self._rescan_seconds = None, _POLL_SECONDS
            self._tell(
                "the system cannot tell what changes in so many folders: they are looked at "
                f"every {_POLL_SECONDS:.0f} seconds"
            )


def _load_watch_function() -> WatchFunction | None:
    try:
        from watchfiles import watch
    except ImportError:
        return None
    return watch

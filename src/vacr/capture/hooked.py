"""The spools of hooks, as a watcher reads them: which have grown, whose they are, and which have
been read for good.

A spool is known by its first event, not by its name: one that was read is removed, and another of
the same name may follow. As a hook may have opened it just before, it first gets a name that no
hook opens, and is removed later, if nothing more came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from vacr.capture import spool
from vacr.capture.places import Place
from vacr.capture.spool import Spool

_OLD = 3600.0
_LATE = 600.0
"""So many seconds after it was opened, a hook has written or never will."""


@dataclass
class Spooled:
    """A spool, and how much of it was read."""

    spool: Spool
    name: str
    """By which the journal knows it."""
    inode: int
    place: Place | None = None
    """Whose session it is."""
    size: int = 0
    """How large it was when all of it was read."""


class Spools:
    """The spools in a state folder."""

    def __init__(self, state: Path) -> None:
        """Say which state folder."""
        self._state = state
        self._known: dict[Path, Spooled] = {}
        self.wait = False
        """Whether there is one of which it is not known yet whose it is."""

    def grown(self) -> Iterator[Spooled]:
        """Give the spools in which there is something that was not read.

        Raises:
            UnreadableInput: one of them cannot be read.
        """
        self.wait = False
        for found in spool.spools(self._state):
            one = self._named(found)
            if one is not None and found.path.stat().st_size != one.size:
                yield one
                self.wait = self.wait or one.place is None

    def _named(self, found: Spool) -> Spooled | None:
        """Give what is known of a spool, if it holds an event by which it can be known."""
        known, inode = self._known.get(found.path), found.path.stat().st_ino
        if known is not None and known.inode == inode:
            return known
        first = next(iter(spool.read(found.path, most=1)[0]), None)
        if first is None:
            return None
        self._known[found.path] = Spooled(
            found, f"{found.agent}/{found.home.name}@{first.time}", inode
        )
        return self._known[found.path]

    def tidy(self, is_read: Callable[[Spooled], bool]) -> None:
        """Remove the spools that were read, and to which nothing was added for long.

        Raises:
            OSError: one cannot be removed.
            UnreadableInput: one cannot be read.
        """
        now = time.time()
        for found in list(spool.spools(self._state)):
            one, status = self._named(found), found.path.stat()
            if one is None or one.place is None or one.size != status.st_size or not is_read(one):
                continue
            if found.is_taken and now - status.st_ctime > _LATE:
                found.path.unlink()
                self._known.pop(found.path, None)
            elif not found.is_taken and now - status.st_mtime > _OLD and not found.taken.exists():
                found.path.rename(found.taken)
                self._known[found.taken] = replace(
                    self._known.pop(found.path), spool=replace(found, path=found.taken)
                )

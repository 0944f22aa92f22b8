"""How much of a journal is kept: what is sealed may go, the oldest first; what is not
never does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from vacr.capture.journal import Journal
from vacr.capture.layout import names, path_of

_DAY = 86_400.0
_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How long sealed journals are kept, in seconds, and how many bytes all may have."""

    age: float | None = None
    size: int | None = None

    @classmethod
    def of(cls, days: float | None, megabytes: float | None) -> Limits:
        """Take limits as people give them."""
        return cls(
            days * _DAY if days is not None else None,
            int(megabytes * _MB) if megabytes is not None else None,
        )


def retire(journal: Journal, limits: Limits) -> list[str]:
    """Delete the journals that are sealed and beyond a limit; gives their names.

    Raises:
        NotWritten: no checkpoint can say so; nothing was deleted.
        OSError: one cannot be looked at or deleted.
    """
    if limits.age is None and limits.size is None:
        return []
    found = {
        name: path_of(journal.folder, name).stat()
        for name in names(journal.folder)
        if name not in journal.covered.retired
    }
    left = sum(status.st_size for status in found.values())
    now = time.time()
    gone: dict[str, bytes] = {}
    for sealed, name in sorted(_candidates(journal, found, limits, left, now)):
        is_old = limits.age is not None and now - sealed[0] / 1e9 > limits.age
        if is_old or (limits.size is not None and left > limits.size):
            gone[name] = sealed[1]
            left -= found[name].st_size
    journal.retire(gone)
    return list(gone)


def _candidates(
    journal: Journal, found: dict[str, os.stat_result], limits: Limits, left: int, now: float
) -> Iterator[tuple[tuple[int, bytes], str]]:
    """Give the journals that may be beyond a limit, and are sealed; the others need not be read."""
    for name, status in found.items():
        # What was sealed is noted at the end, so that the file is not older than that.
        is_young = limits.age is None or now - status.st_mtime <= limits.age
        if is_young and (limits.size is None or left <= limits.size):
            continue
        sealed = _sealed(journal, name)
        if sealed is not None:
            yield sealed, name


def _sealed(journal: Journal, name: str) -> tuple[int, bytes] | None:
    """Tell when a session was sealed and as what, if all of it is."""
    session = journal.session(name)
    if session.name != name:
        # This one is not what it was, and stays to be found out.
        return None
    state, found = session.state, session.state.sealed
    return (found.time, found.record) if found is not None and not state.unsealed else None

"""How much of a journal is kept: what is sealed may go, the oldest first; what is not never does."""

from __future__ import annotations

import time
from dataclasses import dataclass

from vacr.capture.frames import Broken
from vacr.capture.journal import Journal, names, path_of
from vacr.capture.session_journal import SealedAs

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
        return cls(days * _DAY if days is not None else None, int(megabytes * _MB) if megabytes is not None else None)


def retire(journal: Journal, limits: Limits) -> list[str]:
    """Delete the journals that are sealed and beyond a limit; gives their names."""
    if limits.age is None and limits.size is None:
        return []
    sizes = {name: path_of(journal.folder, name).stat().st_size for name in names(journal.folder)}
    left = sum(sizes.values())
    now = time.time()
    gone: dict[str, bytes] = {}
    for sealed, name in sorted((sealed, name) for name in sizes if (sealed := _sealed(journal, name)) is not None):
        is_old = limits.age is not None and now - sealed[0] / 1e9 > limits.age
        if is_old or (limits.size is not None and left > limits.size):
            gone[name] = sealed[1]
            left -= sizes[name]
    if gone:
        journal.retire(gone)
    return list(gone)


def _sealed(journal: Journal, name: str) -> tuple[int, bytes] | None:
    """Tell when a session was sealed and as what, if all of it is."""
    try:
        state = journal.session(name).state
    except Broken:
        return None
    found: SealedAs | None = state.sealed
    return (found.time, found.record) if found is not None and not state.unsealed else None

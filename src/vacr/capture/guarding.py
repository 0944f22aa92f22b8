"""Doing what may fail without stopping for it: what goes wrong is told once, and keeps nothing else
back.
"""

from __future__ import annotations

from collections.abc import Callable

from vacr.errors import VacrError


class Guard:
    """Remembers what was told."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Say who is told."""
        self._tell = tell
        self._told: dict[str, str] = {}

    @property
    def fails(self) -> bool:
        """Whether something could not be done the last time it was tried."""
        return bool(self._told)

    def __call__(self, what: str, work: Callable[[], None]) -> bool:
        """Do something, and tell whether it was done."""
        try:
            work()
            self._told.pop(what, None)
        except (VacrError, OSError, MemoryError) as error:
            told = str(error) if str(error).startswith(what) else f"{what}: {error}"
            if self._told.get(what) != told:
                self._tell(told)
            self._told[what] = told
            return False
        return True

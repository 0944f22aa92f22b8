"""Where a journal keeps what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CHECKPOINTS = "checkpoints"
SESSIONS = "sessions"
_ENDING = ".frames"


def path_of(folder: Path, name: str) -> Path:
    """Say where the journal of a session is."""
    return folder / SESSIONS / f"{name}{_ENDING}"


def names(folder: Path) -> Iterator[str]:
    """Name the sessions there are journals of, in order."""
    root = folder / SESSIONS
    yield from sorted(
        path.relative_to(root).as_posix().removesuffix(_ENDING)
        for path in root.glob(f"*/*{_ENDING}")
    )

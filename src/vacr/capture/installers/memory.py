"""What a settings file was before hooks were installed, so that taking them out can leave it so,
byte for byte.

It is kept in the state folder, and counts only while the file still is what was written then.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from vacr.recording import files
from vacr.sources.state import unusable

FOLDER = "hooks"
_LARGEST = 1 << 26


@dataclass(frozen=True)
class Memory:
    """A file as it was, and the digest of what was made of it."""

    before: bytes | None
    """Nothing: there was no file."""
    written: str
    folders: tuple[str, ...] = ()
    """The folders that were made for it, the innermost first."""

    def is_of(self, data: bytes | None) -> bool:
        """Tell whether a file still is as it was written."""
        return data is not None and digest(data) == self.written


def digest(data: bytes) -> str:
    """Name some bytes."""
    return hashlib.sha256(data).hexdigest()


def recall(state: Path, path: Path) -> Memory | None:
    """Give what is remembered of a file; nothing where that cannot be read, for it is a
    convenience.
    """
    try:
        place = _place(state, path)
        if place.stat().st_size > _LARGEST:
            return None
        value = json.loads(place.read_bytes())
        before = value["before"]
        data = None if before is None else base64.b64decode(before, validate=True)
        return Memory(data, str(value["written"]), tuple(map(str, value["folders"])))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def remember(state: Path, path: Path, memory: Memory) -> None:
    """Keep what a file was.

    Raises:
        UnreadableInput: the state folder cannot be written.
    """
    before = None if memory.before is None else base64.b64encode(memory.before).decode()
    value = {
        "path": str(path),
        "before": before,
        "written": memory.written,
        "folders": memory.folders,
    }
    place = _place(state, path)
    try:
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(state, error) from error
    # Settings may hold secrets: nobody may read the copy who may not read them.
    like = (path,) if path.exists() else ()
    files.write(place, [json.dumps(value, indent=1).encode() + b"\n"], *like, durable=True)


def forget(state: Path, path: Path) -> None:
    """Remember a file no longer."""
    _place(state, path).unlink(missing_ok=True)


def _place(state: Path, path: Path) -> Path:
    real = os.path.realpath(path)
    return state / FOLDER / f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:32]}.json"

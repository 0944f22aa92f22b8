"""What a monitor remembers of a log between two looks, in a file of JSON."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.log import durable
from vacr.receipts import notes
from vacr.receipts.notes import VerifierKey
from vacr.receipts.tree import HASH_SIZE
from vacr.signing import keys
from vacr.signing.algorithms import PublicKey
from vacr.sources.files import read_bytes

if sys.platform != "win32":
    import fcntl

_VERSION = 1
_MOST = 1 << 22


@dataclass(frozen=True, slots=True)
class Known:
    """A log as it was when it was last found to be fine."""

    identity: str
    origin: str
    size: int
    root: bytes
    pinned: VerifierKey
    """The key of the first checkpoint that was seen."""
    keys: tuple[VerifierKey, ...]
    """Those that may sign a checkpoint of this size; the last is the one for all larger ones."""
    receipt_key: PublicKey | None
    """What the log has to announce new keys with; a log that does not describe itself has none."""
    note: bytes


def load(path: Path) -> Known | None:
    """Read the state; there is none the first time.

    Raises:
        UnreadableInput: it is there, and cannot be read.
    """
    if not path.exists():
        return None
    data = read_bytes(path, _MOST)
    try:
        return _known(json.loads(data))
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
        VacrError,
    ) as error:
        hint = "Move it away to start anew; what it knew of the past is then not compared any more."
        raise UnreadableInput(
            f"not the state of a monitor: {error}", where=str(path), hint=hint
        ) from error


def _known(said: Any) -> Known:
    if said["version"] != _VERSION:
        raise ValueError("a state of another version of vacr")
    known = Known(
        str(said["identity"]),
        str(said["origin"]),
        int(said["size"]),
        base64.b64decode(said["root"], validate=True),
        notes.read_key(said["pinned"]),
        tuple(map(notes.read_key, said["keys"])),
        keys.load_public(said["receipt-key"].encode())[0]
        if said["receipt-key"] is not None
        else None,
        said["note"].encode(),
    )
    if not known.keys or known.size < 1 or len(known.root) != HASH_SIZE:
        raise ValueError("something is missing")
    return known


def save(path: Path, known: Known) -> None:
    """Write the state: the old one or the new one is there at any moment.

    Raises:
        UnreadableInput: it cannot be written.
    """
    said = {
        "version": _VERSION,
        "identity": known.identity,
        "origin": known.origin,
        "size": known.size,
        "root": base64.b64encode(known.root).decode(),
        "pinned": str(known.pinned),
        "keys": [str(key) for key in known.keys],
        "receipt-key": keys.public_pem(known.receipt_key).decode()
        if known.receipt_key is not None
        else None,
        "note": known.note.decode(),
    }
    durable.write(path, json.dumps(said, indent=1, ensure_ascii=False).encode() + b"\n")


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the state alone: of two monitors that write one, the slower would take it back.

    Raises:
        UsageError: another monitor has it.
        UnreadableInput: nothing can be written beside it.
    """
    if path.is_dir() or not path.name:
        raise UnreadableInput(
            "a folder, not a file", where=str(path), hint="Name the file to remember in."
        )
    if sys.platform == "win32":
        yield
        return
    try:
        file = path.with_name(f".{path.name}.lock").open("ab")
    except OSError as error:
        raise UnreadableInput(f"cannot be written: {error.strerror}", where=str(path)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"another monitor is using {path}", hint="Give each its own --state."
            ) from error
        yield

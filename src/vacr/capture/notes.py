"""What the frames of a session's journal say, each a map in CBOR.

| kind | what it notes |
|---|---|
| `began` | whose session is followed, and where it lies |
| `part` | a file of it, or what a store gives for it; `rewritten` when the agent itself writes it anew, and not only to its end |
| `bytes` | from `at` on, `cut` bytes of a part became `data` |
| `gone` | a part is not there any more |
| `event` | what a hook was told, with the place in its spool |
| `sealed` | the record that was made of the first frames |
"""

from __future__ import annotations

from typing import Any

from vacr import codec
from vacr.capture.frames import Broken
from vacr.errors import VacrError

Note = dict[str, Any]

_MEMBERS: dict[str, dict[str, type]] = {
    "began": {"agent": str, "path": bytes, "session": str, "recorder": str},
    "part": {"part": int, "name": str, "path": bytes, "rewritten": bool},
    "bytes": {"part": int, "at": int, "cut": int, "data": bytes},
    "gone": {"part": int},
    "event": {"happened": int, "spool": str, "end": int, "data": bytes},
    "sealed": {"frames": int, "head": bytes, "record": bytes, "statement": bytes},
}


def note(kind: str, time: int, **members: Any) -> bytes:
    """Write a note; its time is in nanoseconds since 1970."""
    return codec.encode({"kind": kind, "time": time, **members}, "cbor")


def read(payload: bytes, where: str, frame: int) -> Note:
    """Read a note.

    Raises:
        Broken: it is none.
    """
    try:
        found = codec.decode(payload, "cbor")
        members = _MEMBERS[found["kind"]]
        fits = type(found["time"]) is int and all(type(found[name]) is kind for name, kind in members.items())
        if fits and all(found[name] >= 0 for name, kind in members.items() if kind is int):
            return dict(found)
    except (VacrError, KeyError, TypeError):
        pass
    raise Broken("what was written is no note of this version", where=where, frame=frame)

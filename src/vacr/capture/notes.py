"""What the frames of a session's journal say, each a map in CBOR.

| kind | what it notes |
|---|---|
| `began` | whose session is followed, and where it lies |
| `part` | a file of it, or what a store gives for it; `rewritten` when the agent itself writes it
anew, and not only to its end | | `bytes` | from `at` on, `cut` bytes of a part became `data` | |
`gone` | a part is not there any more | | `event` | what a hook was told, with the place in its
spool | | `sealed` | the record that was made of the first frames |
"""

from __future__ import annotations

from typing import Any, NoReturn

import cbor2

from vacr import codec
from vacr.capture.frames import Broken

Note = dict[str, Any]

_DEPTH = 4

_MEMBERS: dict[str, dict[str, type]] = {
    "began": {"agent": str, "path": bytes, "session": str, "recorder": str},
    "part": {"part": int, "name": str, "path": bytes, "rewritten": bool},
    "bytes": {"part": int, "at": int, "cut": int, "data": bytes},
    "gone": {"part": int},
    "event": {"happened": int, "spool": str, "end": int, "data": bytes},
    "sealed": {"frames": int, "head": bytes, "record": bytes, "statement": bytes},
}


def _refused(*_: Any) -> NoReturn:
    raise ValueError("a tag")


def note(kind: str, time: int, **members: Any) -> bytes:
    """Write a note; its time is in nanoseconds since 1970."""
    return codec.encode({"kind": kind, "time": time, **members}, "cbor")


def read(payload: bytes, where: str, frame: int) -> Note:
    """Read a note.

    Raises:
        Broken: it is none.
    """
    try:
        # A hash vouches for these bytes: that there is no other way to write them need not be shown
        # once more.
        found = cbor2.loads(
            payload,
            tag_hook=_refused,
            max_depth=_DEPTH,
            allow_indefinite=False,
            allow_duplicate_keys=False,
        )
        members = _MEMBERS[found["kind"]]
        fits = type(found["time"]) is int
        for name, kind in members.items():
            value: Any = found[name]
            fits = fits and type(value) is kind and not (kind is int and found[name] < 0)
        if fits:
            return dict(found)
    except (
        cbor2.CBORError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ):
        pass
    raise Broken("what was written is no note of this version", where=where, frame=frame)

"""Whether a record still is what a document of others was made into. Step: export.

A record that was made of a document gives that document again. It says so itself, though, and
anybody may write such a record, or add to it: so the document is read once more, and only one that
gives the same record stands for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacr import codec
from vacr.errors import VacrError
from vacr.identity import ours
from vacr.model import Native
from vacr.readers.assemble import Reading
from vacr.readers.source import Part, Source

_AFTERWARDS = ("attribution", "inputs", "converted")
"""What vacr adds to a record once it was made."""


def restored(
    record: Native, form: str, write: Callable[[Native], bytes], read: Callable[[Source], Reading]
) -> bytes | None:
    """Give the document that a record was made of; nothing where it was made of none, or holds
    anything else.
    """
    source = ours(record).get("source")
    if not isinstance(source, dict) or source.get("format") != form:
        return None
    try:
        data = write(record)
        again: Any = read(Source((Part("document", data),))).record
        return data if _told(again, form) == _told(record, form) else None
    except (VacrError, LookupError, TypeError, AttributeError, ValueError, StopIteration):
        # What is missing in such a record, or of another type, is told by no schema.
        return None


def _told(record: Native, form: str) -> bytes:
    """Give what a record says, but for what differs though the document is the same: its bytes, and
    what they name.
    """
    said = ours(record)
    session = dict(record["session"])
    if session.get("session-id") == said["source"]["parts"][0]["sha-256"]:
        del session["session-id"]
    rest = {name: value for name, value in said.items() if name not in ("source", *_AFTERWARDS)}
    kept = [session, rest, record.get("vcs")]
    return codec.encode(kept if form == "atif" else [*kept, record.get("file-attribution")])

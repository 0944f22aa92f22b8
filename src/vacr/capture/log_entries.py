"""What a log has of a journal: checkpoints that the journal itself does not have any more show that
it was set back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from vacr.capture import checkpoints
from vacr.capture.covered import Covered
from vacr.errors import InvalidStatement
from vacr.log.folder import open_folder
from vacr.log.tiled import TiledLog
from vacr.receipts import checkpoint, notes
from vacr.receipts.tiles import WIDTH
from vacr.signing import keys, labels
from vacr.signing.sign1 import parse


def entries(log: str) -> Iterator[bytes]:
    """Give the entries of a log, by its address or its folder.

    Raises:
        Unreachable: it cannot be read.
        UnreadableInput: there is none.
    """
    if "://" not in log:
        with closing(open_folder(log).reader()) as reading:
            stored = reading.head()
            size = stored.head.size if stored is not None else 0
            for first in range(0, size, WIDTH):
                yield from reading.entries(first, min(first + WIDTH, size))
        return
    tiled = TiledLog(log)
    size = checkpoint.read_text(notes.parse(tiled.checkpoint()).text).size
    for number in range(-(-size // WIDTH)):
        yield from tiled.bundle(number, size)


@dataclass
class Beyond:
    """What a log has of a journal beyond what the journal has."""

    missing: list[int] = field(default_factory=list)
    """The numbers of checkpoints that a key of the journal has signed, and that it has not, or has
    others for.
    """
    unknown: int = 0
    """How many entries say that they are of the journal, by keys that it does not name: it may have
    been set back by epochs.
    """


def beyond(covered: Covered, log: str) -> Beyond:
    """Compare a journal with what a log has of it.

    Raises:
        Unreachable: the log cannot be read.
        UnreadableInput: there is none.
    """
    name, found, known = keys.uri_of(covered.identity), Beyond(), set(covered.entries)
    for entry in entries(log):
        try:
            message = parse(entry)
            claims = message.protected.get(labels.CWT_CLAIMS)
            if (
                not isinstance(claims, dict)
                or claims.get(labels.SUB) != name
                or hashlib.sha256(entry).digest() in known
            ):
                continue
            key = covered.keys.get(message.protected.get(labels.KID, b""))
            if key is None:
                found.unknown += 1
            else:
                found.missing.append(checkpoints.read(entry, key, log, 0)[0].number)
        except (InvalidStatement, TypeError):
            continue
    return found

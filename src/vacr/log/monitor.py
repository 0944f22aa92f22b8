"""Watching a log: it must neither fork nor shrink, and its entries must be what it signed. Step:
verify.

What is remembered of the last look is compared with what the log shows now. When it has grown, all
new entries are hashed onto the edge of the tree that was known: that gives the root that the log
signed, or the log is not what it says. A new key is accepted when an entry announces it, signed by
the key before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from vacr.errors import InvalidStatement
from vacr.log.monitor_state import Known
from vacr.log.tiled import TiledLog
from vacr.log.walk import edge, walk
from vacr.receipts import checkpoint, notes
from vacr.receipts.checkpoint import Checkpoint
from vacr.receipts.key_chain import KeyChain
from vacr.receipts.notes import Note, VerifierKey
from vacr.receipts.tiles import Growing

FIRST, SAME, GROWN = "first", "same", "grown"

_SHRUNK = "log-shrunk"
_BEHIND, _PAUSE = 4, 1.0
"""How often to look again at a log that seems to have shrunk, and after how many seconds."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a log showed."""

    outcome: str
    known: Known
    rotations: int = 0


class Misbehaved(InvalidStatement):
    """The log is not what it was, or not what it says; with the checkpoint that it showed."""

    def __init__(self, error: InvalidStatement, note: bytes) -> None:
        """Keep the checkpoint as evidence."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.note = note


def look(log: TiledLog, known: Known | None, given: VerifierKey | None = None) -> Look:
    """Look at a log and compare it with what is known of it; `given` is the key that the first
    checkpoint has to be signed by.

    Raises:
        Misbehaved: it forked, shrank, changed its key without a word, or its entries are not what
            it signed.
        Unreachable: it does not show what is needed.
    """
    for _ in range(_BEHIND):
        try:
            return _look(log, known, given)
        except Misbehaved as error:
            if error.reason != _SHRUNK:
                raise
        # Where several services have one log, one of them may be a moment behind the others.
        time.sleep(_PAUSE)
    return _look(log, known, given)


def _look(log: TiledLog, known: Known | None, given: VerifierKey | None) -> Look:
    data = log.checkpoint()
    try:
        note = notes.parse(data)
        said = checkpoint.read_text(note.text)
        return _first(log, note, said, given) if known is None else _next(log, note, said, known)
    except InvalidStatement as error:
        raise Misbehaved(error, data) from error


def _next(log: TiledLog, note: Note, said: Checkpoint, known: Known) -> Look:
    if said.origin != known.origin:
        raise InvalidStatement(
            f"this is another log: {said.origin}, not {known.origin}", reason="log-origin"
        )
    if said.size > known.size:
        return _grown(log, note, said, known)
    note.verify(*known.keys)
    if said.size < known.size:
        raise InvalidStatement(
            f"the log shrank from {known.size} entries to {said.size}", reason=_SHRUNK
        )
    if said.root != known.root:
        raise InvalidStatement(
            f"the log forked: it signed two trees of {said.size} entries", reason="log-forked"
        )
    return Look(SAME, replace(known, note=note.encode()))


def _grown(log: TiledLog, note: Note, said: Checkpoint, known: Known) -> Look:
    current = known.keys[-1]
    # Whatever is not signed by the key that is known may be by one that is announced; who announces
    # none is not followed.
    if note.blobs(current) or known.receipt_key is None:
        note.verify(current)
    growing = edge(log, known.size, said.size)
    if growing.root() != known.root:
        told = f"the log forked: its first {known.size} entries are not those that it had"
        raise InvalidStatement(told, reason="log-forked")
    chain = KeyChain(known.origin, current, known.identity, known.receipt_key)
    return _walked(log, note, said, growing, chain, known)


def _first(log: TiledLog, note: Note, said: Checkpoint, given: VerifierKey | None) -> Look:
    if given is not None:
        checkpoint.open_checkpoint(note.encode(), given)
    if not said.size:
        raise InvalidStatement(
            "the log is empty: it has no entry that describes it", reason="log-empty"
        )
    found = _walked(log, note, said, edge(log, 0, said.size), KeyChain(said.origin, given), None)
    if given is not None and given not in found.known.keys:
        told = f"the log describes itself with another key than was given: {found.known.keys[-1]}"
        raise InvalidStatement(told, reason="log-key")
    return found


def _walked(
    log: TiledLog,
    note: Note,
    said: Checkpoint,
    growing: Growing,
    chain: KeyChain,
    before: Known | None,
) -> Look:
    """Walk to where the log says that it is, and see whether it is there."""
    walk(log, growing, said.size, chain)
    if growing.root() != said.root:
        raise InvalidStatement(
            "the entries do not give the root that the log signed", reason="log-root"
        )
    keys = chain.keys_at(said.size)
    note.verify(*keys)
    receipt_key = chain.description.receipt_key if chain.description is not None else None
    pinned = before.pinned if before is not None else keys[-1]
    known = Known(
        chain.identity, said.origin, said.size, said.root, pinned, keys, receipt_key, note.encode()
    )
    return Look(GROWN if before is not None else FIRST, known, chain.rotations)

"""What a monitor remembers of a log between two looks, in a file of JSON.

The way from one size of a log to a larger one: every entry on it is fetched, hashed and put onto
the tree. Step: verify.

Memory does not grow with the way: there is one bundle at a time, and the edge of the tree.

Watching a log: it must neither fork nor shrink, and its entries must be what it signed. Step:
verify.

What is remembered of the last look is compared with what the log shows now. When it has grown, all
new entries are hashed onto the edge of the tree that was known: that gives the root that the log
signed, or the log is not what it says. A new key is accepted when an entry announces it, signed by
the key before.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput, UsageError, VacrError
from vacr.files import read_bytes, write_durable_file
from vacr.registration import TiledLog
from vacr.signing import PublicKey, encode_public_pem, parse_public_keys
from vacr.transparency import (
    HASH_SIZE,
    TILE_WIDTH,
    Checkpoint,
    GrowingTree,
    LogKeyChain,
    SignedNote,
    Tile,
    VerifierKey,
    hash_leaf,
    list_last_tiles,
    parse_checkpoint,
    parse_signed_note,
    parse_verifier_key,
    verify_checkpoint,
)

if sys.platform != "win32":
    import fcntl

_STATE_VERSION = 1
_MAX_STATE_FILE_SIZE = 1 << 22


@dataclass(frozen=True, slots=True)
class KnownLog:
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


def load_monitor_state(path: Path) -> KnownLog | None:
    """Read the state; there is none the first time.

    Raises:
        UnreadableInput: it is there, and cannot be read.
    """
    if not path.exists():
        return None
    data = read_bytes(path, _MAX_STATE_FILE_SIZE)
    try:
        return _parse_known_log(json.loads(data))
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


def _parse_known_log(said: Any) -> KnownLog:
    if said["version"] != _STATE_VERSION:
        raise ValueError("a state of another version of vacr")
    known = KnownLog(
        str(said["identity"]),
        str(said["origin"]),
        int(said["size"]),
        base64.b64decode(said["root"], validate=True),
        parse_verifier_key(said["pinned"]),
        tuple(map(parse_verifier_key, said["keys"])),
        parse_public_keys(said["receipt-key"].encode())[0]
        if said["receipt-key"] is not None
        else None,
        said["note"].encode(),
    )
    if not known.keys or known.size < 1 or len(known.root) != HASH_SIZE:
        raise ValueError("something is missing")
    return known


def save_monitor_state(path: Path, known: KnownLog) -> None:
    """Write the state: the old one or the new one is there at any moment.

    Raises:
        UnreadableInput: it cannot be written.
    """
    said = {
        "version": _STATE_VERSION,
        "identity": known.identity,
        "origin": known.origin,
        "size": known.size,
        "root": base64.b64encode(known.root).decode(),
        "pinned": str(known.pinned),
        "keys": [str(key) for key in known.keys],
        "receipt-key": encode_public_pem(known.receipt_key).decode()
        if known.receipt_key is not None
        else None,
        "note": known.note.decode(),
    }
    write_durable_file(path, json.dumps(said, indent=1, ensure_ascii=False).encode() + b"\n")


@contextmanager
def lock_monitor_state(path: Path) -> Iterator[None]:
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


def fetch_tree_edge(log: TiledLog, older: int, newer: int) -> GrowingTree:
    """Give the edge that the tree had when it was smaller, from the tiles of the larger one.

    Raises:
        InvalidStatement: something is no tile.
        Unreachable: a tile is missing.
    """
    last = []
    for level, number, width in list_last_tiles(older):
        hashes = log.tile(level, number, newer)[:width] if width else []
        last.append(Tile(b"".join(hashes)))
    return GrowingTree(older, last, _refuse_tile_lookup)


def _refuse_tile_lookup(level: int, number: int) -> Tile:
    raise AssertionError(f"the edge of a tree needs no tile {level}/{number}")


def append_fetched_entries(
    log: TiledLog, growing: GrowingTree, size: int, chain: LogKeyChain
) -> None:
    """Put all entries up to a size onto a tree, and compare each tile that is complete then with
    the log's.

    Raises:
        InvalidStatement: an entry or a tile is not what it has to be.
        Unreachable: something is missing.
    """
    start = growing.size
    for number in range(start // TILE_WIDTH, -(-size // TILE_WIDTH)):
        for index, entry in enumerate(log.bundle(number, size), number * TILE_WIDTH):
            leaf = hash_leaf(entry)
            if index >= start:
                growing.add(leaf)
                chain.read(index, entry)
            elif growing.tile(0, number).rows[0][index % TILE_WIDTH] != leaf:
                raise InvalidStatement(
                    f"entry {index} is not the one that was logged", reason="log-entry"
                )
        # Those that are not full yet are compared at the end, for the log has no others.
        for (level, place), tile in growing.settle().items():
            if len(tile) == TILE_WIDTH:
                _check_fetched_tile(log, level, place, tile, size)
    for level, place, width in list_last_tiles(size):
        if width:
            _check_fetched_tile(log, level, place, growing.tile(level, place), size)


def _check_fetched_tile(log: TiledLog, level: int, number: int, tile: Tile, size: int) -> None:
    theirs = log.tile(level, number, size)
    for at, (ours, other) in enumerate(zip(tile.rows[0], theirs, strict=True)):
        if ours != other:
            what = (
                f"entry {number * TILE_WIDTH + at} does not hash to its leaf"
                if not level
                else f"hash {at} is not that of what is below"
            )
            raise InvalidStatement(
                f"tile {level}/{number}: {what}", reason="log-tile" if level else "log-entry"
            )


OUTCOME_FIRST, OUTCOME_SAME, OUTCOME_GROWN = "first", "same", "grown"

_SHRUNK_REASON = "log-shrunk"
_SHRUNK_RETRIES, _SHRUNK_RETRY_SECONDS = 4, 1.0
"""How often to look again at a log that seems to have shrunk, and after how many seconds."""


@dataclass(frozen=True, slots=True)
class MonitorResult:
    """What a look at a log showed."""

    outcome: str
    known: KnownLog
    rotations: int = 0


class LogMisbehaved(InvalidStatement):
    """The log is not what it was, or not what it says; with the checkpoint that it showed."""

    def __init__(self, error: InvalidStatement, note: bytes) -> None:
        """Keep the checkpoint as evidence."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.note = note


def inspect_log(
    log: TiledLog, known: KnownLog | None, given: VerifierKey | None = None
) -> MonitorResult:
    """Look at a log and compare it with what is known of it; `given` is the key that the first
    checkpoint has to be signed by.

    Raises:
        Misbehaved: it forked, shrank, changed its key without a word, or its entries are not what
            it signed.
        Unreachable: it does not show what is needed.
    """
    for _ in range(_SHRUNK_RETRIES):
        try:
            return _inspect_log_once(log, known, given)
        except LogMisbehaved as error:
            if error.reason != _SHRUNK_REASON:
                raise
        # Where several services have one log, one of them may be a moment behind the others.
        time.sleep(_SHRUNK_RETRY_SECONDS)
    return _inspect_log_once(log, known, given)


def _inspect_log_once(
    log: TiledLog, known: KnownLog | None, given: VerifierKey | None
) -> MonitorResult:
    data = log.checkpoint()
    try:
        note = parse_signed_note(data)
        said = parse_checkpoint(note.text)
        return (
            _inspect_new_log(log, note, said, given)
            if known is None
            else _compare_with_known(log, note, said, known)
        )
    except InvalidStatement as error:
        raise LogMisbehaved(error, data) from error


def _compare_with_known(
    log: TiledLog, note: SignedNote, said: Checkpoint, known: KnownLog
) -> MonitorResult:
    if said.origin != known.origin:
        raise InvalidStatement(
            f"this is another log: {said.origin}, not {known.origin}", reason="log-origin"
        )
    if said.size > known.size:
        return _check_growth(log, note, said, known)
    note.verify(*known.keys)
    if said.size < known.size:
        raise InvalidStatement(
            f"the log shrank from {known.size} entries to {said.size}", reason=_SHRUNK_REASON
        )
    if said.root != known.root:
        raise InvalidStatement(
            f"the log forked: it signed two trees of {said.size} entries", reason="log-forked"
        )
    return MonitorResult(OUTCOME_SAME, replace(known, note=note.encode()))


def _check_growth(
    log: TiledLog, note: SignedNote, said: Checkpoint, known: KnownLog
) -> MonitorResult:
    current = known.keys[-1]
    # Whatever is not signed by the key that is known may be by one that is announced; who announces
    # none is not followed.
    if note.blobs(current) or known.receipt_key is None:
        note.verify(current)
    growing = fetch_tree_edge(log, known.size, said.size)
    if growing.root() != known.root:
        told = f"the log forked: its first {known.size} entries are not those that it had"
        raise InvalidStatement(told, reason="log-forked")
    chain = LogKeyChain(known.origin, current, known.identity, known.receipt_key)
    return _verify_log_entries(log, note, said, growing, chain, known)


def _inspect_new_log(
    log: TiledLog, note: SignedNote, said: Checkpoint, given: VerifierKey | None
) -> MonitorResult:
    if given is not None:
        verify_checkpoint(note.encode(), given)
    if not said.size:
        raise InvalidStatement(
            "the log is empty: it has no entry that describes it", reason="log-empty"
        )
    found = _verify_log_entries(
        log, note, said, fetch_tree_edge(log, 0, said.size), LogKeyChain(said.origin, given), None
    )
    if given is not None and given not in found.known.keys:
        told = f"the log describes itself with another key than was given: {found.known.keys[-1]}"
        raise InvalidStatement(told, reason="log-key")
    return found


def _verify_log_entries(
    log: TiledLog,
    note: SignedNote,
    said: Checkpoint,
    growing: GrowingTree,
    chain: LogKeyChain,
    before: KnownLog | None,
) -> MonitorResult:
    """Walk to where the log says that it is, and see whether it is there."""
    append_fetched_entries(log, growing, said.size, chain)
    if growing.root() != said.root:
        raise InvalidStatement(
            "the entries do not give the root that the log signed", reason="log-root"
        )
    keys = chain.keys_at(said.size)
    note.verify(*keys)
    receipt_key = chain.description.receipt_key if chain.description is not None else None
    pinned = before.pinned if before is not None else keys[-1]
    known = KnownLog(
        chain.identity, said.origin, said.size, said.root, pinned, keys, receipt_key, note.encode()
    )
    return MonitorResult(
        OUTCOME_GROWN if before is not None else OUTCOME_FIRST, known, chain.rotations
    )

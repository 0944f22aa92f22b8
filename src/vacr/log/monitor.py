"""Monitor a log from outside: it must not fork or shrink, and its entries must match its signature.

A monitor remembers the last state of a log that it found correct, and compares it with the state
that the log shows now. If the log has grown, every new entry is fetched, hashed and added to the
known tree. That must lead to the root that the log signed; otherwise, the log misbehaved. A new
checkpoint key is accepted if an entry announces it, signed by the key before. Memory use does not
depend on the size of the log: one bundle of entries and the right edge of the tree at a time.

The remembered state is one JSON file, replaced atomically:

    >>> from pathlib import Path
    >>> from vacr.log import KnownLog, load_monitor_state, save_monitor_state
    >>> from vacr.signing import generate_key
    >>> from vacr.transparency import build_verifier_key
    >>> key = build_verifier_key("log.example.org", generate_key("eddsa").public_key())
    >>> known = KnownLog("urn:x", key.name, 7, bytes(32), key, (key,), None, b"note")
    >>> save_monitor_state(Path("state.json"), known)
    >>> load_monitor_state(Path("state.json")) == known
    True
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
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

OUTCOME_FIRST, OUTCOME_SAME, OUTCOME_GROWN = "first", "same", "grown"

_SHRUNK_REASON = "log-shrunk"
_SHRUNK_RETRIES = 4
_SHRUNK_RETRY_SECONDS = 1.0
_STATE_VERSION = 1
_MAX_STATE_FILE_SIZE = 1 << 22
_MAX_EVIDENCE_FILES = 100
"""Limit of evidence files: a log's owner can sign any number of checkpoints to fill a disk."""


@dataclass(frozen=True, slots=True)
class KnownLog:
    """The last state of a log that the monitor found correct."""

    identity: str
    origin: str
    size: int
    root: bytes
    pinned: VerifierKey
    """The key of the first checkpoint that the monitor saw."""
    keys: tuple[VerifierKey, ...]
    """The keys that may sign a checkpoint of this size; the last one signs all larger ones."""
    receipt_key: PublicKey | None
    """The key that announces new keys, or None if the log does not describe itself."""
    note: bytes
    """The signed checkpoint of this state, encoded."""


@dataclass(frozen=True, slots=True)
class MonitorResult:
    """The outcome of one inspection."""

    outcome: str
    """Whether the log is new to the monitor, the same or grown: `first`, `same` or `grown`."""
    known: KnownLog
    """The state to remember for the next inspection."""
    rotations: int = 0
    """How often the new entries changed the log's keys."""


class LogMisbehaved(InvalidStatement):
    """The log broke a promise; carries the checkpoint that it showed, as evidence."""

    def __init__(self, error: InvalidStatement, note: bytes) -> None:
        """Take over the parts of the error, and keep the checkpoint in `note`."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.note = note


# --- Inspection ---


def inspect_log(
    log: TiledLog, known: KnownLog | None, expected_key: VerifierKey | None = None
) -> MonitorResult:
    """Compare a log with its known state, and return its present state.

    If `known` is None, the whole log is verified, and `expected_key` must have signed it, if set. A
    log that seems to have shrunk is inspected again, four times at most.

    Raises:
        LogMisbehaved: the log forked, shrank, changed its key without announcing it, or shows
            entries that do not match its signature.
        Unreachable: a checkpoint, tile or entry cannot be fetched.
    """
    for _ in range(_SHRUNK_RETRIES):
        try:
            return _inspect_log_once(log, known, expected_key)
        except LogMisbehaved as error:
            if error.reason != _SHRUNK_REASON:
                raise
        # If several servers publish one log, one of them may lag behind for a moment.
        time.sleep(_SHRUNK_RETRY_SECONDS)
    return _inspect_log_once(log, known, expected_key)


def _inspect_log_once(
    log: TiledLog, known: KnownLog | None, expected_key: VerifierKey | None
) -> MonitorResult:
    """Fetch the checkpoint, and verify a new log or compare a known one, without retries.

    Raises:
        LogMisbehaved: the log is invalid, or contradicts the known state.
        Unreachable: the log cannot be read.
    """
    data = log.checkpoint()
    try:
        note = parse_signed_note(data)
        checkpoint = parse_checkpoint(note.text)
        if known is None:
            return _inspect_new_log(log, note, checkpoint, expected_key)
        return _compare_with_known(log, note, checkpoint, known)
    except InvalidStatement as error:
        raise LogMisbehaved(error, data) from error


def _inspect_new_log(
    log: TiledLog, note: SignedNote, checkpoint: Checkpoint, expected_key: VerifierKey | None
) -> MonitorResult:
    """Verify all entries of a log that the monitor sees for the first time.

    Raises:
        InvalidStatement: the log is empty, has another key than `expected_key`, or its entries do
            not match its checkpoint.
    """
    if expected_key is not None:
        verify_checkpoint(note.encode(), expected_key)
    if not checkpoint.size:
        raise InvalidStatement(
            "the log is empty; its first entry should describe the log", reason="log-empty"
        )
    tree = fetch_tree_edge(log, 0, checkpoint.size)
    chain = LogKeyChain(checkpoint.origin, expected_key)
    result = _verify_entries(log, note, checkpoint, tree, chain, None)
    keys = result.known.keys
    if expected_key is not None and expected_key not in keys:
        message = f"the log has another key than expected: {keys[-1]}"
        raise InvalidStatement(message, reason="log-key")
    return result


def _compare_with_known(
    log: TiledLog, note: SignedNote, checkpoint: Checkpoint, known: KnownLog
) -> MonitorResult:
    """Check that a checkpoint repeats or continues the known state.

    Raises:
        InvalidStatement: it is from another log, or the log has shrunk or forked.
    """
    if checkpoint.origin != known.origin:
        raise InvalidStatement(
            f"this is a different log: {checkpoint.origin}, not {known.origin}",
            reason="log-origin",
        )
    if checkpoint.size > known.size:
        return _verify_growth(log, note, checkpoint, known)
    note.verify(*known.keys)
    if checkpoint.size < known.size:
        raise InvalidStatement(
            f"the log shrank from {known.size} entries to {checkpoint.size}", reason=_SHRUNK_REASON
        )
    if checkpoint.root != known.root:
        raise InvalidStatement(
            f"the log forked: it signed two trees of {checkpoint.size} entries",
            reason="log-forked",
        )
    return MonitorResult(OUTCOME_SAME, replace(known, note=note.encode()))


def _verify_growth(
    log: TiledLog, note: SignedNote, checkpoint: Checkpoint, known: KnownLog
) -> MonitorResult:
    """Verify the entries after the known state, up to the size of a larger checkpoint.

    Raises:
        InvalidStatement: the known entries have changed, or the new ones do not match the
            checkpoint.
    """
    current_key = known.keys[-1]
    # A checkpoint under an unknown key may be fine if one of the new entries announces that key,
    # which is known only after they are fetched. A log without a receipt key cannot announce any,
    # so nothing is fetched for it.
    if note.blobs(current_key) or known.receipt_key is None:
        note.verify(current_key)
    tree = fetch_tree_edge(log, known.size, checkpoint.size)
    if tree.root() != known.root:
        message = f"the log forked: its first {known.size} entries have changed"
        raise InvalidStatement(message, reason="log-forked")
    chain = LogKeyChain(known.origin, current_key, known.identity, known.receipt_key)
    return _verify_entries(log, note, checkpoint, tree, chain, known)


def _verify_entries(
    log: TiledLog,
    note: SignedNote,
    checkpoint: Checkpoint,
    tree: GrowingTree,
    chain: LogKeyChain,
    before: KnownLog | None,
) -> MonitorResult:
    """Fetch the entries up to the size of a checkpoint, and check its root and its signature.

    `tree` has the entries verified before, and `before` is their state, or None for a new log.

    Raises:
        InvalidStatement: the entries do not match the root, or no key of the log signed it.
    """
    append_fetched_entries(log, tree, checkpoint.size, chain)
    if tree.root() != checkpoint.root:
        raise InvalidStatement(
            "the entries do not match the root that the log signed", reason="log-root"
        )
    keys = chain.keys_at(checkpoint.size)
    note.verify(*keys)
    known = KnownLog(
        chain.identity,
        checkpoint.origin,
        checkpoint.size,
        checkpoint.root,
        pinned=before.pinned if before is not None else keys[-1],
        keys=keys,
        receipt_key=chain.description.receipt_key if chain.description is not None else None,
        note=note.encode(),
    )
    outcome = OUTCOME_GROWN if before is not None else OUTCOME_FIRST
    return MonitorResult(outcome, known, chain.rotations)


# --- Growing the tree ---


def fetch_tree_edge(log: TiledLog, older: int, newer: int) -> GrowingTree:
    """Return the tree of the first `older` entries, from the tiles of a log of `newer` entries.

    Only the right edge of the tree is fetched, so the tree can grow, but has no older tiles. Its
    root is not checked.

    Raises:
        InvalidStatement: a tile is malformed.
        Unreachable: a tile is missing.
    """
    last_tiles = []
    for level, number, width in list_last_tiles(older):
        hashes = log.tile(level, number, newer)[:width] if width else []
        last_tiles.append(Tile(b"".join(hashes)))
    return GrowingTree(older, last_tiles, _refuse_tile_lookup)


def _refuse_tile_lookup(level: int, number: int) -> Tile:
    """Raise AssertionError: a tree that only grows needs no older tiles."""
    raise AssertionError(f"the edge of a tree needs no tile {level}/{number}")


def append_fetched_entries(log: TiledLog, tree: GrowingTree, size: int, chain: LogKeyChain) -> None:
    """Fetch the entries from the tree's size up to `size`, and add them to the tree.

    They are also passed to `chain`, and the tree's new tiles are compared with the log's.

    Raises:
        InvalidStatement: an entry or a tile does not match.
        Unreachable: an entry or a tile is missing.
    """
    start = tree.size
    for number in range(start // TILE_WIDTH, -(-size // TILE_WIDTH)):
        for index, entry in enumerate(log.bundle(number, size), number * TILE_WIDTH):
            leaf = hash_leaf(entry)
            if index >= start:
                tree.add(leaf)
                chain.read(index, entry)
            elif tree.tile(0, number).rows[0][index % TILE_WIDTH] != leaf:
                raise InvalidStatement(
                    f"entry {index} has changed since it was logged", reason="log-entry"
                )
        # The log publishes partial tiles only for its present size, so they are compared last.
        for (level, tile_number), tile in tree.settle().items():
            if len(tile) == TILE_WIDTH:
                _check_fetched_tile(log, level, tile_number, tile, size)
    for level, tile_number, width in list_last_tiles(size):
        if width:
            _check_fetched_tile(log, level, tile_number, tree.tile(level, tile_number), size)


def _check_fetched_tile(log: TiledLog, level: int, number: int, tile: Tile, size: int) -> None:
    """Fetch a tile of a log of `size` entries, and compare it with the computed `tile`.

    Raises:
        InvalidStatement: a hash differs.
    """
    fetched = log.tile(level, number, size)
    for index, (expected, actual) in enumerate(zip(tile.rows[0], fetched, strict=True)):
        if expected == actual:
            continue
        if level:
            raise InvalidStatement(
                f"tile {level}/{number}: hash {index} does not match the tiles below",
                reason="log-tile",
            )
        entry_index = number * TILE_WIDTH + index
        raise InvalidStatement(
            f"tile {level}/{number}: the hash of entry {entry_index} does not match the entry",
            reason="log-entry",
        )


# --- State and evidence files ---


def load_monitor_state(path: Path) -> KnownLog | None:
    """Read the state file; return None if it does not exist, as before the first inspection.

    Raises:
        UnreadableInput: it cannot be read, or is not a state file.
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
        hint = "To start over, move the file away. Earlier states are then no longer compared."
        problem = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise UnreadableInput(
            f"not a state file of vacr log monitor: {problem}", where=str(path), hint=hint
        ) from error


def _parse_known_log(document: Any) -> KnownLog:
    """Return the state in a parsed JSON document; raise any error if it is malformed."""
    if document["version"] != _STATE_VERSION:
        raise ValueError("it was written by another version of vacr")
    known = KnownLog(
        identity=str(document["identity"]),
        origin=str(document["origin"]),
        size=int(document["size"]),
        root=base64.b64decode(document["root"], validate=True),
        pinned=parse_verifier_key(document["pinned"]),
        keys=tuple(map(parse_verifier_key, document["keys"])),
        receipt_key=_parse_receipt_key(document["receipt-key"]),
        note=document["note"].encode(),
    )
    if not known.keys or known.size < 1 or len(known.root) != HASH_SIZE:
        raise ValueError("its keys, size or root are missing or invalid")
    return known


def _parse_receipt_key(pem: str | None) -> PublicKey | None:
    """Return the first public key in a PEM text, or None if there is no text."""
    return parse_public_keys(pem.encode())[0] if pem is not None else None


def save_monitor_state(path: Path, known: KnownLog) -> None:
    """Write the state of a log to the state file, atomically.

    Raises:
        UnreadableInput: it cannot be written.
    """
    receipt_key = known.receipt_key
    document = {
        "version": _STATE_VERSION,
        "identity": known.identity,
        "origin": known.origin,
        "size": known.size,
        "root": base64.b64encode(known.root).decode(),
        "pinned": str(known.pinned),
        "keys": [str(key) for key in known.keys],
        "receipt-key": encode_public_pem(receipt_key).decode() if receipt_key is not None else None,
        "note": known.note.decode(),
    }
    write_durable_file(path, _encode_json(document, "strict"))


@contextmanager
def lock_monitor_state(path: Path) -> Iterator[None]:
    """Lock the state file within the context.

    Of two monitors that share a file, the slower one would write an older state.

    Raises:
        UsageError: another monitor uses the file.
        UnreadableInput: `path` is a folder, or the lock file cannot be written.
    """
    if path.is_dir() or not path.name:
        raise UnreadableInput(
            "the state must be a file, not a folder",
            where=str(path),
            hint="Name a file: --state FILE",
        )
    if sys.platform == "win32":
        yield
        return
    try:
        file = path.with_name(f".{path.name}.lock").open("ab")
    except OSError as error:
        raise UnreadableInput(
            f"cannot lock the state file: {error.strerror}", where=str(path)
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"another monitor is using {path}", hint="Use one --state file per monitor."
            ) from error
        yield


def write_log_evidence(base: Path, document: dict[str, str | None]) -> Path:
    """Write evidence against a log to a new file, and return its path.

    The path continues the path `base`: for `state.json`, it is `state.json.evidence-1`, then
    `state.json.evidence-2`. If one of these files has the same evidence, its path is returned. With
    100 such files, the evidence is not written, and the path of the last one is returned.

    Raises:
        UnreadableInput: it cannot be written.
    """
    data = _encode_json(document, "replace")
    for number in count(1):
        path = base.with_name(f"{base.name}.evidence-{number}")
        if not path.exists():
            write_durable_file(path, data)
            break
        if number == _MAX_EVIDENCE_FILES or read_bytes(path) == data:
            break
    return path


def _encode_json(document: dict[str, Any], errors: str) -> bytes:
    """Return a document as JSON in UTF-8; `errors` is the argument of `str.encode`."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", errors) + b"\n"

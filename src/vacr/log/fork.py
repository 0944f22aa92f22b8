"""A proven fork of a log: the evidence, and the state that stops the service.

A log forks when it signs two trees that contradict each other, for example because an old copy of
its database was continued, or because its key was stolen. A witness that saw the other tree refuses
to cosign, but its word alone stops nothing: it could be wrong or hostile. It proves a fork with a
checkpoint under the log's own key that does not match the log's tree:

    >>> from vacr.log import create_log, find_fork
    >>> from vacr.signing import parse_private_key
    >>> from vacr.transparency import Checkpoint, sign_checkpoint
    >>> folder = create_log("mylog", origin="log.example")
    >>> [path] = folder.path.glob("keys/checkpoint-*.pem")
    >>> key = parse_private_key(path.read_bytes())
    >>> reader = folder.reader()
    >>> find_fork(sign_checkpoint(Checkpoint("log.example", 1, bytes(32)), key), reader)
    'the log signed two different trees of 1 entries'
    >>> reader.close()

Then the log stops issuing receipts. The evidence is written to `fork.json` in the log's folder, so
that a restart changes nothing. An operator who has dealt with the cause moves that file away.
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path

from vacr.errors import InvalidStatement, VacrError
from vacr.files import read_bytes, write_durable_file
from vacr.log.keyring import read_checkpoint_keys
from vacr.log.ledger import TileCache
from vacr.log.storage import LogReader
from vacr.transparency import (
    VerifierKey,
    compute_root,
    make_node_lookup,
    parse_checkpoint,
    parse_signed_note,
    verify_checkpoint,
)

FORK_FILE_NAME = "fork.json"
_MAX_FORK_FILE_SIZE = 1 << 20
_FORK_HINT = (
    "Read what to do in docs/witness-and-monitor.md. Once the cause is dealt with, move "
    "fork.json out of the log's folder, and restart the service."
)
_log = logging.getLogger("vacr.log")


class LogForked(InvalidStatement):
    """The log signed trees that contradict each other, and must not issue receipts."""

    def __init__(self, message: str, *, where: str = "") -> None:
        """Describe the contradiction."""
        super().__init__(
            f"the log does not issue receipts, because a witness proved a fork: {message}",
            reason="log-forked",
            where=where,
            hint=_FORK_HINT,
        )


def find_fork(note: bytes, reader: LogReader) -> str | None:
    """Return how a checkpoint contradicts the log's tree, or None if it proves no contradiction.

    Only a checkpoint under the log's own key proves something: under the key that was current for
    a tree of its size.

    Raises:
        StorageFailed: the log cannot be read.
        LogDamaged: the stored data is damaged.
    """
    try:
        size = parse_checkpoint(parse_signed_note(note).text).size
        checkpoint = verify_checkpoint(note, *read_checkpoint_keys(reader, size))
    except InvalidStatement:
        return None
    head = reader.head()
    log_size = head.head.size if head is not None else 0
    if size > log_size:
        # A checkpoint is signed only after its entries are committed, so entries were lost.
        return f"the log signed a tree of {size} entries, but has only {log_size}"
    if compute_root(make_node_lookup(TileCache(reader)), size) != checkpoint.root:
        return f"the log signed two different trees of {size} entries"
    return None


class ForkGuard:
    """Whether a fork of a log is proven; several threads may use it."""

    def __init__(self, folder: Path) -> None:
        """Read the state from the folder of the log; a file that cannot be read counts as a fork.

        Without the file, no fork is known.
        """
        self.path = folder / FORK_FILE_NAME
        self.lock = threading.Lock()
        self.fork: LogForked | None = None
        if self.path.exists():
            self.fork = LogForked(_read_fork_message(self.path), where=str(self.path))

    def check(self) -> None:
        """Check that no fork is proven.

        Raises:
            LogForked: one is.
        """
        if self.fork is not None:
            raise self.fork

    def report(self, message: str, witness: VerifierKey, seen: bytes, own: bytes) -> None:
        """Stop the log: keep the evidence on disk, and tell the operator.

        `seen` is the checkpoint that contradicts the tree, and `own` the log's newest one. Do
        nothing if a fork is known already.
        """
        with self.lock:
            if self.fork is not None:
                return
            self.fork = LogForked(message, where=str(self.path))
        evidence = {
            "reason": "log-forked",
            "message": message,
            "witness": str(witness),
            "seen": seen.decode("utf-8", "replace"),
            "own": own.decode("utf-8", "replace"),
        }
        data = json.dumps(evidence, indent=1, ensure_ascii=False).encode() + b"\n"
        _log.error("%s", self.fork.diagnostics())
        try:
            write_durable_file(self.path, data)
        except (VacrError, OSError) as error:
            _log.error(
                "The log has forked and issues no receipts, but a restart would forget this, "
                "because %s cannot be written: %s. Make the log's folder writable, and read "
                "docs/witness-and-monitor.md before a restart. The two checkpoints:\n%s\n%s",
                *(self.path, error, evidence["seen"], evidence["own"]),
            )


def _read_fork_message(path: Path) -> str:
    """Return the message in a fork file; if it cannot be read, say so."""
    try:
        message = json.loads(read_bytes(path, _MAX_FORK_FILE_SIZE))["message"]
    except (VacrError, ValueError, KeyError, TypeError, RecursionError):
        return f"{path.name} exists, but cannot be read"
    return str(message)

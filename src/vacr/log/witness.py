"""A witness: cosigns a log's checkpoint only if it continues the last cosigned one.

A log could show different trees to different people. A witness prevents that, because it cosigns at
most one history of each log: each checkpoint comes with a consistency proof from the one before.
This is the server side of C2SP tlog-witness: `add-checkpoint` cosigns, and
`<origin hash>/checkpoint` shows what was cosigned last. The witness has a folder of its own:

    witness.pem    its private key, which never leaves the folder
    witness.vkey   its name and public key, to be given to others
    witness.db     the last checkpoint that it cosigned for each log

    >>> from pathlib import Path
    >>> from vacr.log import Witness, open_witness_folder
    >>> folder = open_witness_folder(Path("mywitness"), "witness.example.org")
    >>> folder.public.name
    'witness.example.org'
    >>> Witness(folder, logs=[]).handle_submission(b"hello").status
    400
    >>> folder.store.close()
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import InvalidStatement, UnreadableInput, UsageError, VacrError
from vacr.files import read_bytes, write_durable_file
from vacr.log.monitor import write_log_evidence
from vacr.signing import (
    check_secret_permissions,
    compute_thumbprint,
    encode_private_pem,
    parse_private_key,
)
from vacr.transparency import (
    MAX_SUBMISSION_SIZE,
    NOTE_KEY_COSIGNATURE,
    NOTE_KEY_ED25519,
    Checkpoint,
    CheckpointSubmission,
    VerifierKey,
    build_verifier_key,
    check_key_name,
    compute_consistency_root,
    cosign_checkpoint,
    parse_checkpoint,
    parse_checkpoint_submission,
    parse_signed_note,
    parse_verifier_key,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from vacr.log.http_server import ServiceStop

TREE_SIZE_MEDIA_TYPE = "text/x.tlog.size"
_TEXT_MEDIA_TYPE = "text/plain; charset=utf-8"
_MAX_BODY_SECONDS = 30
_EMPTY_TREE_ROOT = hashlib.sha256().digest()
_KEY_FILE_MODE = 0o600
_MAX_KEY_FILE_SIZE = 1 << 16
_LOCK_WAIT_SECONDS = 30
_SYNCHRONOUS_FULL = 2
_LOGS_TABLE_SCHEMA = """
CREATE TABLE IF NOT EXISTS logs (
  origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL,
  time INTEGER NOT NULL, note BLOB NOT NULL
) WITHOUT ROWID
"""


# --- Decisions ---


@dataclass(frozen=True, slots=True)
class WitnessAnswer:
    """The answer to a submission: HTTP status, text and media type."""

    status: int
    text: str
    media_type: str = _TEXT_MEDIA_TYPE


class Witness:
    """Decides which checkpoints to cosign, and cosigns them."""

    def __init__(
        self,
        folder: WitnessFolder,
        logs: Iterable[VerifierKey],
        now: Callable[[], float] = time.time,
    ) -> None:
        """Set the folder of the witness and the keys of the logs to cosign.

        A log that has rotated its key has several, the oldest first. `now` returns the time in
        seconds since 1970.

        Raises:
            UsageError: a key belongs to a witness, not to a log.
        """
        self.folder = folder
        self.now = now
        self.keys_by_origin: dict[str, list[VerifierKey]] = {}
        for key in logs:
            if key.kind != NOTE_KEY_ED25519:
                raise UsageError(
                    f"not the key of a log, but of a witness: {key}",
                    hint="Pass the checkpoint key of the log, which vacr log init prints.",
                )
            self.keys_by_origin.setdefault(key.name, []).append(key)

    def handle_submission(self, body: bytes) -> WitnessAnswer:
        """Check the submission in a request body, and return the cosignature or a refusal.

        The checkpoint is on disk before its cosignature is returned.

        Raises:
            UnreadableInput: the witness's database cannot be read or written.
        """
        try:
            submission = parse_checkpoint_submission(body)
            note = parse_signed_note(submission.note)
            checkpoint = parse_checkpoint(note.text)
        except InvalidStatement as error:
            return WitnessAnswer(400, error.message)
        if checkpoint.origin not in self.keys_by_origin:
            return WitnessAnswer(
                404, "this witness does not cosign this log: its origin is unknown"
            )
        try:
            note.verify(*self.keys_by_origin[checkpoint.origin])
        except InvalidStatement as error:
            return WitnessAnswer(403, error.message)
        if submission.old > checkpoint.size:
            return WitnessAnswer(
                400,
                f"the old size {submission.old} exceeds the size of the tree, {checkpoint.size}",
            )
        return self._cosign(submission, checkpoint, note.text)

    def get_checkpoint(self, origin_hash: str) -> bytes | None:
        """Return the last cosigned checkpoint of a log with the witness's cosignature, or None.

        `origin_hash` is the SHA-256 of the log's origin, in hexadecimal. It is None for an unknown
        log, and before the first checkpoint.

        Raises:
            UnreadableInput: the witness's database cannot be read.
        """
        for origin in self.keys_by_origin:
            if hashlib.sha256(origin.encode()).hexdigest() == origin_hash:
                last = self.folder.store.get_last(origin)
                return self._add_cosignature(last) if last is not None else None
        return None

    def _add_cosignature(self, last: CosignedCheckpoint) -> bytes:
        """Return a stored checkpoint with the cosignature that was returned for it."""
        text = parse_signed_note(last.note).text
        name, key = self.folder.public.name, self.folder.key
        return last.note + cosign_checkpoint(text, last.time, name, key).line.encode()

    def _cosign(
        self, submission: CheckpointSubmission, checkpoint: Checkpoint, text: str
    ) -> WitnessAnswer:
        """Store and cosign a checkpoint if it continues the last one; otherwise refuse it."""
        store, origin = self.folder.store, checkpoint.origin
        while True:
            before = store.get_last(origin)
            refusal = self._check_continuation(submission, checkpoint, before)
            if refusal is not None:
                return refusal
            when = max(int(self.now()), before.time if before is not None else 0)
            after = CosignedCheckpoint(checkpoint.size, checkpoint.root, when, submission.note)
            if store.replace(origin, before, after):
                cosignature = cosign_checkpoint(
                    text, when, self.folder.public.name, self.folder.key
                )
                return WitnessAnswer(200, cosignature.line)
            # Another thread or process replaced it meanwhile, so the check must be repeated.

    def _check_continuation(
        self,
        submission: CheckpointSubmission,
        checkpoint: Checkpoint,
        before: CosignedCheckpoint | None,
    ) -> WitnessAnswer | None:
        """Return None if a checkpoint continues the last cosigned one, and otherwise the refusal.

        `before` is the last cosigned checkpoint, or None for a new log.
        """
        size, root = (before.size, before.root) if before is not None else (0, _EMPTY_TREE_ROOT)
        if before is not None and self._has_replaced_key(checkpoint.origin, submission, before):
            return WitnessAnswer(
                403,
                "the log has replaced this key: the last cosigned checkpoint has a newer one. A "
                "witness must be started with the oldest key first: --log OLD --log NEW",
            )
        if submission.old != size:
            return WitnessAnswer(409, f"{size}\n", TREE_SIZE_MEDIA_TYPE)
        if before is not None and checkpoint.size == size and checkpoint.root != root:
            self._save_fork_evidence(checkpoint, before, submission.note)
            return WitnessAnswer(409, f"{size}\n", TREE_SIZE_MEDIA_TYPE)
        if not size:
            return _check_first_checkpoint(submission, checkpoint)
        try:
            proven_root = compute_consistency_root(size, checkpoint.size, submission.proof, root)
        except InvalidStatement as error:
            return WitnessAnswer(422, error.message)
        if proven_root != checkpoint.root:
            return WitnessAnswer(422, "the proof does not match the root of the checkpoint")
        return None

    def _has_replaced_key(
        self, origin: str, submission: CheckpointSubmission, before: CosignedCheckpoint
    ) -> bool:
        """Return whether a log signed a checkpoint with an older key than the last cosigned one.

        Keys are replaced because they may be stolen. A thief could otherwise continue the tree, and
        the witness would never again cosign the log itself.
        """

        def find_newest_key(encoded: bytes) -> int:
            """Return the position of the newest key that signed; -1 if it is not known any more."""
            note = parse_signed_note(encoded)
            for position, key in reversed(list(enumerate(self.keys_by_origin[origin]))):
                with suppress(InvalidStatement):
                    note.verify(key)
                    return position
            return -1

        return find_newest_key(submission.note) < find_newest_key(before.note)

    def _save_fork_evidence(
        self, checkpoint: Checkpoint, before: CosignedCheckpoint, note: bytes
    ) -> None:
        """Write two checkpoints of one size with different roots to a file: the log signed both."""
        message = f"{checkpoint.origin} signed two trees of size {checkpoint.size}"
        evidence: dict[str, str | None] = {
            "reason": "log-forked",
            "message": message,
            "known": before.note.decode("utf-8", "replace"),
            "seen": note.decode("utf-8", "replace"),
        }
        write_log_evidence(self.folder.path / "witness", evidence)


def _check_first_checkpoint(
    submission: CheckpointSubmission, checkpoint: Checkpoint
) -> WitnessAnswer | None:
    """Return None if the first checkpoint of a log is acceptable, and otherwise the refusal.

    It needs no proof, because every tree continues the empty one.
    """
    has_valid_root = checkpoint.size > 0 or checkpoint.root == _EMPTY_TREE_ROOT
    if not submission.proof and has_valid_root:
        return None
    return WitnessAnswer(
        422,
        "the first checkpoint of a log must come without a proof, and the root of an empty tree "
        "must be the hash of no data",
    )


# --- The folder ---


@dataclass(frozen=True)
class WitnessFolder:
    """The opened folder of a witness."""

    path: Path
    key: ed25519.Ed25519PrivateKey
    public: VerifierKey
    store: WitnessStore


def open_witness_folder(path: Path, name: str | None = None) -> WitnessFolder:
    """Open the folder of a witness; the first time, create it with a new key and a database.

    `name` becomes the name of a new witness; by default, it is made from the key. The name of an
    existing witness must be the same, or None.

    Raises:
        UsageError: other users can read the key, the witness has another name, or the folder
            contains a log.
        UnreadableInput: a file is missing, malformed or cannot be read.
    """
    private, public, database = path / "witness.pem", path / "witness.vkey", path / "witness.db"
    if name is not None:
        check_key_name(name)
    if (path / "log.json").exists():
        hint = "Use a separate folder for the witness; better, a separate machine."
        raise UsageError(f"{path} contains a log", hint=hint)
    if private.exists() and not database.exists():
        hint = (
            "Without it, the witness could cosign a different history. Create a new witness, "
            "with a new key, in another folder."
        )
        raise UnreadableInput(
            "the witness has lost its database of cosigned checkpoints", where=str(path), hint=hint
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableInput(
            f"cannot create the folder: {error.strerror}", where=str(path)
        ) from error
    # The database is created before the key. So a folder with only a database has not cosigned
    # anything yet, and a folder with only a key has lost its database and is refused above.
    store = WitnessStore(database)
    try:
        key = _load_or_create_key(private)
        return WitnessFolder(path, key, _load_or_create_verifier_key(public, key, name), store)
    except BaseException:
        store.close()
        raise


def _load_or_create_key(path: Path) -> ed25519.Ed25519PrivateKey:
    """Return the private key in a file; if the file is missing, write a new key to it.

    Raises:
        UsageError: other users can read the file.
        UnreadableInput: the file does not hold an Ed25519 key.
    """
    if not path.exists():
        new_key = ed25519.Ed25519PrivateKey.generate()
        write_durable_file(path, encode_private_pem(new_key), _KEY_FILE_MODE)
    check_secret_permissions(os.fspath(path))
    key = parse_private_key(read_bytes(path, _MAX_KEY_FILE_SIZE))
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UnreadableInput("not an Ed25519 key", where=str(path))
    return key


def _load_or_create_verifier_key(
    path: Path, key: ed25519.Ed25519PrivateKey, name: str | None
) -> VerifierKey:
    """Return the verifier key in a file; if the file is missing, write it with this name.

    Raises:
        UnreadableInput: the file is malformed, or does not belong to the private key.
        UsageError: the file has another name.
    """
    public_key = key.public_key()
    if not path.exists():
        new_name = name or f"witness-{compute_thumbprint(public_key).hex()[:16]}"
        new_key = build_verifier_key(new_name, public_key, NOTE_KEY_COSIGNATURE)
        write_durable_file(path, f"{new_key}\n".encode())
    text = read_bytes(path, _MAX_KEY_FILE_SIZE).decode("utf-8", "replace").removesuffix("\n")
    try:
        verifier_key = parse_verifier_key(text)
    except UsageError as error:
        raise UnreadableInput(error.message, where=str(path)) from error
    if verifier_key != build_verifier_key(verifier_key.name, public_key, NOTE_KEY_COSIGNATURE):
        raise UnreadableInput(
            "this public key does not belong to the private key in witness.pem", where=str(path)
        )
    if name not in (None, verifier_key.name):
        raise UsageError(
            f"the witness in {path.parent} is named {verifier_key.name}",
            hint="The name is part of the key and cannot change. Leave --name out, or start a new "
            "witness in another folder.",
        )
    return verifier_key


# --- The database ---


@dataclass(frozen=True, slots=True)
class CosignedCheckpoint:
    """A checkpoint that the witness has cosigned."""

    size: int
    root: bytes
    time: int
    """When the checkpoint was cosigned, in seconds since 1970."""
    note: bytes
    """The checkpoint as the log signed it."""


class WitnessStore:
    """The last cosigned checkpoint of each log, replaced by compare-and-swap."""

    def __init__(self, path: Path) -> None:
        """Open or create the database file.

        Raises:
            UnreadableInput: it cannot be opened, or commits would not be durable.
        """
        self.path = path
        self.lock = threading.Lock()
        try:
            self.database = sqlite3.connect(
                path, timeout=_LOCK_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self.database.close()
                raise
        except sqlite3.Error as error:
            raise self._make_error(error) from error

    def _prepare(self) -> None:
        """Set SQLite up to sync every commit, and create the table if it is missing.

        Raises:
            UnreadableInput: SQLite cannot store data durably here.
        """
        # All results are fetched, because SQLite reports a disk error only then.
        journal_mode = self.database.execute("PRAGMA journal_mode = WAL").fetchall()
        self.database.execute("PRAGMA synchronous = FULL").fetchall()
        if journal_mode != [("wal",)] or self.database.execute("PRAGMA synchronous").fetchall() != [
            (_SYNCHRONOUS_FULL,)
        ]:
            raise UnreadableInput(
                "SQLite cannot store data durably here",
                where=str(self.path),
                hint="Use a local disk.",
            )
        self.database.execute(_LOGS_TABLE_SCHEMA).fetchall()

    def get_last(self, origin: str) -> CosignedCheckpoint | None:
        """Return the last cosigned checkpoint of a log, or `None` before the first.

        Raises:
            UnreadableInput: the database cannot be read.
        """
        query = "SELECT size, root, time, note FROM logs WHERE origin = ?"
        try:
            with self.lock:
                rows = self.database.execute(query, (origin,)).fetchall()
        except sqlite3.Error as error:
            raise self._make_error(error) from error
        return CosignedCheckpoint(*rows[0]) if rows else None

    def replace(
        self, origin: str, before: CosignedCheckpoint | None, after: CosignedCheckpoint
    ) -> bool:
        """Replace the last checkpoint of a log by `after`, and return True once it is on disk.

        Return False, and change nothing, if the last checkpoint is not `before` any more.

        Raises:
            UnreadableInput: the database cannot be written.
        """
        new_values = (after.size, after.root, after.time, after.note)
        try:
            with self.lock:
                if before is None:
                    cursor = self.database.execute(
                        "INSERT INTO logs VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        (origin, *new_values),
                    )
                else:
                    cursor = self.database.execute(
                        "UPDATE logs SET size = ?, root = ?, time = ?, note = ?"
                        " WHERE origin = ? AND size = ? AND root = ? AND time = ?",
                        (*new_values, origin, before.size, before.root, before.time),
                    )
                return cursor.rowcount == 1
        except sqlite3.Error as error:
            raise self._make_error(error) from error

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def _make_error(self, error: sqlite3.Error) -> UnreadableInput:
        """Return the error of vacr for an error of SQLite."""
        hint = (
            "Check the disk, then restart the witness. Never restore an older copy: the witness "
            "could then cosign a different history."
        )
        return UnreadableInput(
            f"the database of the witness failed: {error}", where=str(self.path), hint=hint
        )


# --- The service ---


def create_witness_application(witness: Witness, stop: ServiceStop) -> Starlette:
    """Return the web application of a witness.

    If the witness's database fails, it asks `stop` to end the service.

    Raises:
        UsageError: the extra `log` is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import ClientDisconnect
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise UsageError(
            "serving needs the packages of vacr[log], which are not installed",
            hint="pip install 'vacr[log]'",
        ) from error

    async def add_checkpoint(request: Request) -> Response:
        try:
            async with asyncio.timeout(_MAX_BODY_SECONDS):
                body = await _read_submission_body(request)
        except TimeoutError:
            return Response(f"the request took more than {_MAX_BODY_SECONDS} seconds\n", 408)
        except ClientDisconnect:
            return Response("the client disconnected\n", 400)
        if body is None:
            message = f"the request exceeds {MAX_SUBMISSION_SIZE} bytes\n"
            return Response(message, 413, media_type=_TEXT_MEDIA_TYPE)
        try:
            answer = await run_in_threadpool(witness.handle_submission, body)
        except VacrError as error:
            stop.ask(error)
            return Response(
                "the database of the witness failed\n", 500, media_type=_TEXT_MEDIA_TYPE
            )
        text = answer.text if answer.text.endswith("\n") else answer.text + "\n"
        return Response(text, answer.status, {"Content-Type": answer.media_type})

    async def get_checkpoint(request: Request) -> Response:
        try:
            note = await run_in_threadpool(
                witness.get_checkpoint, request.path_params["origin_hash"]
            )
        except VacrError as error:
            stop.ask(error)
            return Response(
                "the database of the witness failed\n", 500, media_type=_TEXT_MEDIA_TYPE
            )
        if note is None:
            return Response(
                "no checkpoint of this log was cosigned\n", 404, media_type=_TEXT_MEDIA_TYPE
            )
        return Response(note, media_type=_TEXT_MEDIA_TYPE)

    return Starlette(
        routes=[
            Route("/add-checkpoint", add_checkpoint, methods=["POST"]),
            Route("/{origin_hash}/checkpoint", get_checkpoint, methods=["GET"]),
        ]
    )


async def _read_submission_body(request: Request) -> bytes | None:
    """Return the body of a request, or None if it is too large for a submission."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > MAX_SUBMISSION_SIZE:
            return None
        pieces.append(piece)
    return b"".join(pieces)

"""Asking a witness to cosign a checkpoint. Step: register. Follows C2SP tlog-witness, as a
client.

What a witness has seen of each log: the last checkpoint that it cosigned, in SQLite.

The folder of a witness: its key, which never leaves it, its name, and what it has seen.

A witness: cosigns the checkpoints of logs, each of which has to continue the one before. Step:
register.

Follows C2SP tlog-witness, `add-checkpoint`. Not there: any way to read what it has cosigned, as the
specification has none yet.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import (
    InvalidStatement,
    Unreachable,
    UnreadableInput,
    UsageError,
    VacrError,
    escape_unprintable,
)
from vacr.files import read_bytes, write_durable_file
from vacr.log.http import ServiceStop
from vacr.log.storage import write_log_evidence
from vacr.registration import HttpClient, HttpResponse, ServiceAccess
from vacr.signing import (
    check_key_permissions,
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
    SignedNote,
    VerifierKey,
    build_verifier_key,
    check_key_name,
    compute_consistency_root,
    cosign_checkpoint,
    parse_checkpoint,
    parse_checkpoint_submission,
    parse_signed_note,
    parse_tree_size,
    parse_verifier_key,
    verify_cosignature,
)

_MAX_REPLY_SIZE = 1 << 16
_HTTP_OK, _HTTP_CONFLICT, _HTTP_UNPROVEN = 200, 409, 422


class WitnessSizeDiffers(Unreachable):
    """The witness has seen a tree of another size: a proof from there is what it takes."""

    def __init__(self, size: int, url: str) -> None:
        """Keep the size."""
        super().__init__(
            f"the witness has seen a tree of {size}",
            where=url,
            hint="Send the proof from that size.",
        )
        self.size = size


def request_cosignature(
    note: bytes, old_size: int, proof: Sequence[bytes], witness_url: str, witness_key: VerifierKey
) -> bytes:
    """Have a witness cosign a checkpoint; gives the lines to add to it, which were checked.

    Raises:
        AtAnotherSize: the proof has to begin at another size.
        InvalidStatement: the witness says that the tree does not continue the one it saw, or its
            cosignature is false.
        Unreachable: it does not answer, or does not cosign for another reason.
        UsageError: its address is none.
    """
    wire = HttpClient(witness_url, ServiceAccess())
    asked = CheckpointSubmission(old_size, proof, note).encode()
    try:
        path = wire.address.path.rstrip("/") + "/add-checkpoint"
        reply = wire.ask(
            "POST", path, asked, {"Content-Type": "text/plain; charset=utf-8"}, _MAX_REPLY_SIZE
        )
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(
            f"no answer of the witness: {error}", where=witness_url, hint="Try again later."
        ) from error
    if reply.status == _HTTP_OK:
        return verify_cosignature_lines(note, reply.body, witness_key)
    if reply.status == _HTTP_CONFLICT:
        size = _parse_seen_size(reply, witness_url)
        if size != old_size:
            raise WitnessSizeDiffers(size, witness_url)
    told = escape_unprintable(reply.body[:200].decode("utf-8", "replace").strip())
    if reply.status in (_HTTP_CONFLICT, _HTTP_UNPROVEN):
        raise InvalidStatement(
            f"the witness has seen another past of this log: {told}",
            reason="witness-refused",
            where=witness_url,
        )
    raise Unreachable(f"the witness does not cosign: {reply.status} {told}", where=witness_url)


def verify_cosignature_lines(note: bytes, lines: bytes, key: VerifierKey) -> bytes:
    """Give those of some lines that are of a witness's own key, for a checkpoint; whatever else is
    there is nothing to us.

    Raises:
        InvalidStatement: there are none, or they are false.
    """
    signed = parse_signed_note(note)
    try:
        found = [
            one
            for one in parse_signed_note(b"\n\n" + lines).signatures
            if (one.name, one.key_id) == (key.name, key.id)
        ]
        verify_cosignature(SignedNote(signed.text, tuple(found)), key)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"the witness answered without a cosignature of its key: {error.message}",
            reason=error.reason,
        ) from error
    return "".join(one.line for one in found).encode()


def _parse_seen_size(reply: HttpResponse, url: str) -> int:
    try:
        return parse_tree_size(reply.body.decode("ascii", "replace").removesuffix("\n"))
    except InvalidStatement as error:
        raise Unreachable(
            "the witness has seen a tree of another size, and does not say of which", where=url
        ) from error


_LOCK_WAIT_SECONDS = 30
_SYNCHRONOUS_FULL = 2
_LOGS_TABLE_SCHEMA = """
CREATE TABLE IF NOT EXISTS logs (
  origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, time INTEGER NOT NULL, note BLOB NOT NULL
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class CosignedCheckpoint:
    """A checkpoint that was cosigned, and when."""

    size: int
    root: bytes
    time: int
    note: bytes


class WitnessStore:
    """One row a log; a row moves from one state to another only where nobody else moved it
    meanwhile.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            UnreadableInput: it cannot be opened, or not so that what is written stays.
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
            raise self._failed(error) from error

    def _prepare(self) -> None:
        # Results are fetched, because an error of the disk shows only then.
        mode = self.database.execute("PRAGMA journal_mode = WAL").fetchall()
        self.database.execute("PRAGMA synchronous = FULL").fetchall()
        if mode != [("wal",)] or self.database.execute("PRAGMA synchronous").fetchall() != [
            (_SYNCHRONOUS_FULL,)
        ]:
            raise UnreadableInput(
                "SQLite does not keep what is written here",
                where=str(self.path),
                hint="Use a local disk.",
            )
        self.database.execute(_LOGS_TABLE_SCHEMA).fetchall()

    def seen(self, origin: str) -> CosignedCheckpoint | None:
        """Give what was last cosigned of a log.

        Raises:
            UnreadableInput: it cannot be read.
        """
        try:
            with self.lock:
                rows = self.database.execute(
                    "SELECT size, root, time, note FROM logs WHERE origin = ?", (origin,)
                ).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return CosignedCheckpoint(*rows[0]) if rows else None

    def move(
        self, origin: str, before: CosignedCheckpoint | None, after: CosignedCheckpoint
    ) -> bool:
        """Go from one state to another; tell whether that was done, and is on disk, or another
        state was found.

        Raises:
            UnreadableInput: it cannot be written.
        """
        new = (after.size, after.root, after.time, after.note)
        try:
            with self.lock:
                if before is None:
                    done = self.database.execute(
                        "INSERT INTO logs VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        (origin, *new),
                    )
                else:
                    done = self.database.execute(
                        "UPDATE logs SET size = ?, root = ?, time = ?, note = ?"
                        " WHERE origin = ? AND size = ? AND root = ? AND time = ?",
                        (*new, origin, before.size, before.root, before.time),
                    )
                return done.rowcount == 1
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def _failed(self, error: sqlite3.Error) -> UnreadableInput:
        hint = (
            "Look after the disk, then start the witness again. Never put back an older "
            "copy: it would cosign another past."
        )
        return UnreadableInput(
            f"the witness cannot keep what it has seen: {error}", where=str(self.path), hint=hint
        )


_KEY_FILE_MODE = 0o600
_MAX_KEY_FILE_SIZE = 1 << 16


@dataclass(frozen=True)
class WitnessFolder:
    """What a witness is made of."""

    path: Path
    key: ed25519.Ed25519PrivateKey
    public: VerifierKey
    store: WitnessStore


def open_witness_folder(path: Path, name: str | None = None) -> WitnessFolder:
    """Open the folder of a witness; the first time, make it and a key.

    Raises:
        UsageError: others can read the key, or the witness has another name.
        UnreadableInput: something in it is missing or cannot be read.
    """
    private, public, database = path / "witness.pem", path / "witness.vkey", path / "witness.db"
    if name is not None:
        check_key_name(name)
    if (path / "log.json").exists():
        hint = "Give the witness a folder of its own; better, a machine of its own."
        raise UsageError(f"there is a log at {path}", hint=hint)
    if private.exists() and not database.exists():
        hint = (
            "What it cosigned is lost, so it could cosign another past. Make a new witness, "
            "with another key, in another folder."
        )
        raise UnreadableInput(
            "there is the key of a witness, but not what it has seen", where=str(path), hint=hint
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableInput(f"cannot be written: {error.strerror}", where=str(path)) from error
    # What it has seen is there before the key is: nothing was cosigned if only the first of them
    # came to be.
    store = WitnessStore(database)
    try:
        key = _load_or_create_key(private)
        return WitnessFolder(path, key, _load_or_create_verifier_key(public, key, name), store)
    except BaseException:
        store.close()
        raise


def _load_or_create_key(path: Path) -> ed25519.Ed25519PrivateKey:
    if not path.exists():
        write_durable_file(
            path, encode_private_pem(ed25519.Ed25519PrivateKey.generate()), _KEY_FILE_MODE
        )
    check_key_permissions(os.fspath(path))
    key = parse_private_key(read_bytes(path, _MAX_KEY_FILE_SIZE))
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UnreadableInput("not an Ed25519 key", where=str(path))
    return key


def _load_or_create_verifier_key(
    path: Path, key: ed25519.Ed25519PrivateKey, name: str | None
) -> VerifierKey:
    """Give the name and the key as others know them, which never change."""
    if not path.exists():
        called = name or f"witness-{compute_thumbprint(key.public_key()).hex()[:16]}"
        write_durable_file(
            path, f"{build_verifier_key(called, key.public_key(), NOTE_KEY_COSIGNATURE)}\n".encode()
        )
    text = read_bytes(path, _MAX_KEY_FILE_SIZE).decode("utf-8", "replace").removesuffix("\n")
    try:
        found = parse_verifier_key(text)
    except UsageError as error:
        raise UnreadableInput(error.message, where=str(path)) from error
    if found != build_verifier_key(found.name, key.public_key(), NOTE_KEY_COSIGNATURE):
        raise UnreadableInput("not of the key that is beside it", where=str(path))
    if name not in (None, found.name):
        raise UsageError(
            f"the witness in {path.parent} is named {found.name}",
            hint="Its name is part of its key and stays.",
        )
    return found


if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

TREE_SIZE_MEDIA_TYPE = "text/x.tlog.size"
_TEXT_MEDIA_TYPE = "text/plain; charset=utf-8"
_MAX_BODY_SECONDS = 30
_EMPTY_TREE_ROOT = hashlib.sha256().digest()


@dataclass(frozen=True, slots=True)
class WitnessAnswer:
    """What is answered: a status of HTTP, a text, and what kind of text."""

    status: int
    text: str
    kind: str = _TEXT_MEDIA_TYPE


class Witness:
    """Decides about checkpoints."""

    def __init__(
        self,
        folder: WitnessFolder,
        logs: Iterable[VerifierKey],
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take the keys of the logs to cosign; a log that changed its key has several.

        Raises:
            UsageError: a key is not for checkpoints.
        """
        self.folder = folder
        self.now = now
        self.logs: dict[str, list[VerifierKey]] = {}
        for key in logs:
            if key.kind != NOTE_KEY_ED25519:
                raise UsageError(f"{key} is the key of a witness, not of a log")
            self.logs.setdefault(key.name, []).append(key)

    def add(self, body: bytes) -> WitnessAnswer:
        """Decide about a submission; what is cosigned is on disk before.

        Raises:
            UnreadableInput: what was seen cannot be read, or kept.
        """
        try:
            asked = parse_checkpoint_submission(body)
            note = parse_signed_note(asked.note)
            said = parse_checkpoint(note.text)
        except InvalidStatement as error:
            return WitnessAnswer(400, error.message)
        if said.origin not in self.logs:
            return WitnessAnswer(404, "a log that is not known here")
        try:
            note.verify(*self.logs[said.origin])
        except InvalidStatement as error:
            return WitnessAnswer(403, error.message)
        if asked.old > said.size:
            return WitnessAnswer(400, f"an old size of {asked.old} for a tree of {said.size}")
        while True:
            before = self.folder.store.seen(said.origin)
            refusal = self._refusal(asked, said, before)
            if refusal is not None:
                return refusal
            when = max(int(self.now()), before.time if before is not None else 0)
            if self.folder.store.move(
                said.origin, before, CosignedCheckpoint(said.size, said.root, when, asked.note)
            ):
                public = self.folder.public
                return WitnessAnswer(
                    200, cosign_checkpoint(note.text, when, public.name, self.folder.key).line
                )
            # Somebody else moved it: what was checked against is not what is there.

    def _refusal(
        self, asked: CheckpointSubmission, said: Checkpoint, before: CosignedCheckpoint | None
    ) -> WitnessAnswer | None:
        """Say why a checkpoint does not continue what was seen, if it does not."""
        size, root = (before.size, before.root) if before is not None else (0, _EMPTY_TREE_ROOT)
        if asked.old != size:
            return WitnessAnswer(409, f"{size}\n", TREE_SIZE_MEDIA_TYPE)
        if before is not None and said.size == size and said.root != root:
            self._keep(said, before, asked.note)
            return WitnessAnswer(409, f"{size}\n", TREE_SIZE_MEDIA_TYPE)
        if not size:
            # The empty tree is the beginning of every other: there is nothing to prove.
            fine = not asked.proof and (said.size > 0 or said.root == _EMPTY_TREE_ROOT)
            return (
                None
                if fine
                else WitnessAnswer(
                    422,
                    (
                        "from an empty tree there is nothing to prove, and its root is the hash of "
                        "nothing"
                    ),
                )
            )
        try:
            proven = compute_consistency_root(size, said.size, asked.proof, root)
        except InvalidStatement as error:
            return WitnessAnswer(422, error.message)
        return (
            None if proven == said.root else WitnessAnswer(422, "the proof leads to another root")
        )

    def _keep(self, said: Checkpoint, before: CosignedCheckpoint, note: bytes) -> None:
        """Keep two checkpoints of one size with different roots, both signed by the log: it has
        forked.
        """
        known, seen = (one.decode("utf-8", "replace") for one in (before.note, note))
        told = f"{said.origin} signed two trees of size {said.size}"
        write_log_evidence(
            self.folder.path / "witness",
            {"reason": "log-forked", "message": told, "known": known, "seen": seen},
        )


def create_witness_application(witness: Witness, stop: ServiceStop) -> Starlette:
    """Make the service; when it cannot keep what it has seen any more, it ends itself.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import ClientDisconnect
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise UsageError("serving needs the extra log", hint="pip install 'vacr[log]'") from error

    async def add_checkpoint(request: Request) -> Response:
        try:
            async with asyncio.timeout(_MAX_BODY_SECONDS):
                body = await _read_submission_body(request)
        except TimeoutError:
            return Response("too slow\n", 408)
        except ClientDisconnect:
            return Response("gone\n", 400)
        if body is None:
            return Response(
                f"more than {MAX_SUBMISSION_SIZE} bytes\n", 413, media_type=_TEXT_MEDIA_TYPE
            )
        try:
            answer = await run_in_threadpool(witness.add, body)
        except VacrError as error:
            stop.ask(error)
            return Response(
                "the witness cannot keep what it has seen\n", 500, media_type=_TEXT_MEDIA_TYPE
            )
        text = answer.text if answer.text.endswith("\n") else answer.text + "\n"
        return Response(text, answer.status, {"Content-Type": answer.kind})

    return Starlette(routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"])])


async def _read_submission_body(request: Request) -> bytes | None:
    """Read a submission; nothing when it is larger than one may be."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > MAX_SUBMISSION_SIZE:
            return None
        pieces.append(piece)
    return b"".join(pieces)

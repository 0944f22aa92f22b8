"""Ask witnesses to cosign a log's checkpoints, and to prove a fork if they refuse.

This is the client side of C2SP tlog-witness. Each witness has its own thread, so that a silent
witness holds up neither the log nor the other witnesses. A witness that has not cosigned the newest
checkpoint is asked again, after growing pauses. The lines that it returns are verified:

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.log.cosigning import verify_cosignature_lines
    >>> from vacr.transparency import *
    >>> log, witness = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
    >>> checkpoint = Checkpoint("log.example", 3, bytes(32))
    >>> line = cosign_checkpoint(checkpoint.text, 1_700_000_000, "w.example", witness).line
    >>> key = build_verifier_key("w.example", witness.public_key(), NOTE_KEY_COSIGNATURE)
    >>> verify_cosignature_lines(sign_checkpoint(checkpoint, log), line.encode(), key).decode()[:11]
    '— w.example'

A refusal alone proves nothing: the witness could be wrong or hostile. So the witness is asked for
the checkpoint that it cosigned last. If that proves a fork, the log stops issuing receipts (see
`vacr.log.fork`).
"""

from __future__ import annotations

import hashlib
import http.client
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vacr.errors import InvalidStatement, Unreachable, VacrError, escape_unprintable
from vacr.files import make_durable_folder, write_durable_file
from vacr.log.folder import WITNESSED_SUFFIX
from vacr.log.fork import ForkGuard, find_fork
from vacr.log.ledger import TileCache
from vacr.log.storage import LogReader
from vacr.registration import HttpClient, HttpResponse, ServiceAccess
from vacr.transparency import (
    MAX_NOTE_SIZE,
    CheckpointSubmission,
    SignedNote,
    VerifierKey,
    build_consistency_path,
    make_node_lookup,
    parse_checkpoint,
    parse_signed_note,
    parse_tree_size,
    verify_cosignature,
)

if TYPE_CHECKING:
    from vacr.log.publishing import ReaderPool

FIRST_WITNESS_PAUSE = 2.0
"""Seconds before a witness is asked again for the same checkpoint; doubled each time."""
_MAX_WITNESS_PAUSE = 300.0
_MAX_REPLY_SIZE = 1 << 16
_MAX_QUOTED_REPLY_SIZE = 200
_HTTP_OK, _HTTP_CONFLICT, _HTTP_UNPROVEN = 200, 409, 422
_REFUSED_REASON = "witness-refused"
_log = logging.getLogger("vacr.log")


@dataclass(frozen=True, slots=True)
class WitnessAddress:
    """A witness that cosigns checkpoints: its URL and its key."""

    url: str
    key: VerifierKey


class CosignatureRequester:
    """A thread that asks one witness until it has cosigned the newest checkpoint."""

    def __init__(
        self,
        witness: WitnessAddress,
        readers: ReaderPool,
        on_cosigned: Callable[[], None],
        *,
        first_pause: float = FIRST_WITNESS_PAUSE,
        guard: ForkGuard | None = None,
        folder: Path | None = None,
    ) -> None:
        """Create the thread; it calls `on_cosigned` after each cosignature.

        `first_pause` is the time in seconds before the second request for a checkpoint. `guard`
        learns of a proven fork, and `folder` gets the last cosigned checkpoint.
        """
        self.witness = witness
        self.readers = readers
        self.on_cosigned = on_cosigned
        self.first_pause = first_pause
        self.guard = guard
        self.folder = folder
        self.is_late = False
        """Whether the witness did not answer in time, and has not cosigned since."""
        self.requested = (b"", 0)
        """The checkpoint to be cosigned, as the log signed it, and its tree size."""
        self.cosigned = (b"", b"")
        """The last cosigned checkpoint, and the witness's signature lines for it."""
        self.witness_size = 0
        """The tree size that the witness has seen, as far as we know."""
        self.failure: VacrError | None = None
        self.due = threading.Event()
        self.stopping = False
        self.thread = threading.Thread(
            target=self._run, name=f"witness {witness.key.name}", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self.thread.start()

    def close(self) -> None:
        """Ask the thread to stop, without waiting for a reply that may never come."""
        self.stopping = True
        self.due.set()

    def request(self, note: bytes, size: int) -> None:
        """Make the thread ask for a cosignature of this checkpoint, instead of an older one.

        `size` is the size of the checkpoint's tree.
        """
        if note != self.requested[0]:
            self.requested = (note, size)
            self.due.set()

    def restore(self, note: bytes, published: bytes) -> None:
        """Take over the witness's valid lines from a checkpoint that an earlier process published.

        Do nothing if `published` is another checkpoint than `note`, or lacks such lines.
        """
        if published.startswith(note):
            lines = published.removeprefix(note)
            with suppress(VacrError):
                self.cosigned = (note, verify_cosignature_lines(note, lines, self.witness.key))

    def get_lines(self, note: bytes) -> bytes:
        """Return the witness's signature lines for a checkpoint; empty until it has cosigned."""
        cosigned_note, lines = self.cosigned
        return lines if cosigned_note == note else b""

    @property
    def missing(self) -> bool:
        """Whether the newest checkpoint still lacks a cosignature."""
        return self.cosigned[0] != self.requested[0]

    @property
    def is_awaited(self) -> bool:
        """Whether a cosignature of the newest checkpoint may arrive in a moment."""
        return self.missing and not self.is_late and self.failure is None

    def _run(self) -> None:
        """Ask the witness for each requested checkpoint, after growing pauses, until `close`."""
        pause = self.first_pause
        while not self.stopping:
            is_new = self.due.wait(pause if self.missing else None)
            self.due.clear()
            pause = self.first_pause if is_new else min(2 * pause, _MAX_WITNESS_PAUSE)
            if self.missing and not self.stopping:
                self._try_request()

    def _try_request(self) -> None:
        """Ask the witness once, and keep its lines or record the failure."""
        note, size = self.requested
        try:
            lines = self._request_lines(note, size)
            self._keep_checkpoint(note + lines)
        except VacrError as error:
            self._record_failure(error)
            self._look_for_fork(error, note)
        except Exception as error:  # noqa: BLE001 - the thread must survive to try again
            self._record_failure(VacrError(f"a bug in vacr: {type(error).__name__}: {error}"))
        else:
            if self.failure is not None:
                _log.warning("witness %s cosigns again", self.witness.key.name)
            self.failure, self.is_late = None, False
            self.cosigned = (note, lines)
            self.on_cosigned()

    def _keep_checkpoint(self, note: bytes) -> None:
        """Write a cosigned checkpoint to the folder, instead of the witness's last one.

        So the log can tell later whether it still is the log that the witness saw.
        """
        if self.folder is not None:
            make_durable_folder(self.folder, self.folder.parent)
            name = hashlib.sha256(str(self.witness.key).encode()).hexdigest()[:16]
            write_durable_file(self.folder / f"{name}{WITNESSED_SUFFIX}", note)

    def _look_for_fork(self, error: VacrError, note: bytes) -> None:
        """If the witness refused, get its last checkpoint, and report the fork if it proves one.

        A refusal alone proves nothing, so it stays a warning.
        """
        is_refusal = isinstance(error, InvalidStatement) and error.reason == _REFUSED_REASON
        if self.guard is None or not (is_refusal or isinstance(error, WitnessSizeDiffers)):
            return
        try:
            origin = parse_checkpoint(parse_signed_note(note).text).origin
            seen = fetch_witness_checkpoint(self.witness.url, origin)
            contradiction = self.readers.read_here(partial(find_fork, seen))
        except Exception as failure:  # noqa: BLE001 - the thread must survive to try again
            _log.warning("witness %s gave no proof of a fork: %s", self.witness.key.name, failure)
            return
        if contradiction is not None:
            self.guard.report(contradiction, self.witness.key, seen, note)

    def _record_failure(self, error: VacrError) -> None:
        """Set `failure`, and write a warning unless it is the same as before."""
        if not self.stopping and (self.failure is None or str(self.failure) != str(error)):
            _log.warning("witness %s has not cosigned: %s", self.witness.key.name, error)
        self.failure = error

    def _request_lines(self, note: bytes, size: int) -> bytes:
        """Return the witness's signature lines for a checkpoint.

        If the witness has seen a tree of another size than expected, up to `size`, ask once more
        with a proof from that size.
        """
        try:
            lines = self._request_with_proof(self.witness_size, note, size)
        except WitnessSizeDiffers as other:
            if other.size > size:
                raise
            lines = self._request_with_proof(other.size, note, size)
        self.witness_size = size
        return lines

    def _request_with_proof(self, old_size: int, note: bytes, size: int) -> bytes:
        """Ask the witness for its lines, with a consistency proof from `old_size` to `size`."""

        def build_proof(reader: LogReader) -> list[bytes]:
            return build_consistency_path(make_node_lookup(TileCache(reader)), old_size, size)

        proof = self.readers.read_here(build_proof)
        return request_cosignature(note, old_size, proof, self.witness.url, self.witness.key)


class WitnessSizeDiffers(Unreachable):
    """The witness has seen a tree of another size, and needs a proof from that size."""

    def __init__(self, size: int, url: str) -> None:
        """Keep `size`, the number of entries that the witness at `url` last cosigned."""
        super().__init__(f"the witness has last cosigned a tree of size {size}", where=url)
        self.size = size


def request_cosignature(
    note: bytes, old_size: int, proof: Sequence[bytes], witness_url: str, witness_key: VerifierKey
) -> bytes:
    """Ask a witness to cosign a checkpoint, and return the verified signature lines to append.

    `note` is the checkpoint as the log signed it. `proof` shows that its tree continues the tree of
    `old_size`, the last that the witness has seen.

    Raises:
        WitnessSizeDiffers: the proof must start at another size.
        InvalidStatement: the witness has seen a tree that this one does not continue, or its
            cosignature is invalid.
        Unreachable: the witness does not reply, or refuses for another reason.
        UsageError: its URL is malformed.
    """
    client = HttpClient(witness_url, ServiceAccess())
    submission = CheckpointSubmission(old_size, proof, note).encode()
    try:
        path = client.address.path.rstrip("/") + "/add-checkpoint"
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        reply = client.ask("POST", path, submission, headers, _MAX_REPLY_SIZE)
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(f"the witness does not answer: {error}", where=witness_url) from error
    if reply.status == _HTTP_OK:
        return verify_cosignature_lines(note, reply.body, witness_key)
    if reply.status == _HTTP_CONFLICT:
        size = _parse_witness_size(reply, witness_url)
        if size != old_size:
            raise WitnessSizeDiffers(size, witness_url)
    reply_text = reply.body[:_MAX_QUOTED_REPLY_SIZE].decode("utf-8", "replace").strip()
    quoted = escape_unprintable(reply_text)
    if reply.status in (_HTTP_CONFLICT, _HTTP_UNPROVEN):
        raise InvalidStatement(
            f"the witness has seen a different history of this log: {quoted}",
            reason=_REFUSED_REASON,
            where=witness_url,
        )
    raise Unreachable(f"the witness refuses to cosign: {reply.status} {quoted}", where=witness_url)


def fetch_witness_checkpoint(witness_url: str, origin: str) -> bytes:
    """Return the checkpoint of a log that a witness cosigned last, not verified.

    Raises:
        Unreachable: the witness does not return it.
        UsageError: its URL is malformed.
    """
    client = HttpClient(witness_url, ServiceAccess())
    origin_hash = hashlib.sha256(origin.encode()).hexdigest()
    path = f"{client.address.path.rstrip('/')}/{origin_hash}/checkpoint"
    try:
        reply = client.ask("GET", path, max_size=MAX_NOTE_SIZE)
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(f"the witness does not answer: {error}", where=witness_url) from error
    if reply.status != _HTTP_OK:
        raise Unreachable(
            f"the witness does not return its last checkpoint: it answered {reply.status}",
            where=witness_url,
        )
    return reply.body


def verify_cosignature_lines(note: bytes, lines: bytes, key: VerifierKey) -> bytes:
    """Return the lines of a witness's key among `lines`, after verifying them.

    `note` is the checkpoint that they cosign. Lines of other keys are dropped.

    Raises:
        InvalidStatement: the lines of this key are missing or invalid.
    """
    text = parse_signed_note(note).text
    try:
        own = [
            signature
            for signature in parse_signed_note(b"\n\n" + lines).signatures
            if (signature.name, signature.key_id) == (key.name, key.id)
        ]
        verify_cosignature(SignedNote(text, tuple(own)), key)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"the witness's answer lacks a valid cosignature: {error.message}",
            reason=error.reason,
        ) from error
    return "".join(signature.line for signature in own).encode()


def _parse_witness_size(reply: HttpResponse, url: str) -> int:
    """Return the tree size in a witness's reply; raise Unreachable if it has none."""
    try:
        return parse_tree_size(reply.body.decode("ascii", "replace").removesuffix("\n"))
    except InvalidStatement as error:
        raise Unreachable(
            "the witness has cosigned a tree of another size, but did not state the size", where=url
        ) from error

"""Checkpoints: the size and the root of a log, signed as a note, and what witnesses sign of them.
Step: register, verify.

Follows C2SP tlog-checkpoint and, for cosignatures, tlog-cosignature with Ed25519
(`cosignature/v1`).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import InvalidStatement, UsageError
from vacr.receipts import notes
from vacr.receipts.notes import COSIGNATURE, Note, Signature, VerifierKey
from vacr.receipts.tree import HASH_SIZE

LARGEST_SIZE = (1 << 63) - 1

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_LINES = 3
_TIME = 8


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says that it is at a moment."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is signed."""
        lines = (
            self.origin,
            str(self.size),
            base64.b64encode(self.root).decode(),
            *self.extensions,
        )
        return "".join(f"{line}\n" for line in lines)


def read_size(text: str) -> int:
    """Read the size of a tree.

    Raises:
        InvalidStatement: it is no number, is written in another form than the shortest, or no tree
            is so large.
    """
    if _DECIMAL.fullmatch(text) is None or int(text) > LARGEST_SIZE:
        raise InvalidStatement(f"not the size of a tree: {text[:40]!r}", reason="checkpoint-form")
    return int(text)


def read_hash(text: str) -> bytes:
    """Read a hash.

    Raises:
        InvalidStatement: it is none.
    """
    try:
        found = notes.exact_base64(text)
    except ValueError:
        found = b""
    if len(found) != HASH_SIZE:
        raise InvalidStatement(f"not a hash in base64: {text[:60]!r}", reason="checkpoint-form")
    return found


def read_text(text: str) -> Checkpoint:
    """Read the text of a checkpoint, whoever signed it.

    Raises:
        InvalidStatement: it is none.
    """
    lines = text.removesuffix("\n").split("\n")
    if not text.endswith("\n") or len(lines) < _LINES or not all(lines):
        raise InvalidStatement(
            "not a checkpoint: it has an origin, a size and a root, a line each",
            reason="checkpoint-form",
        )
    return Checkpoint(lines[0], read_size(lines[1]), read_hash(lines[2]), tuple(lines[_LINES:]))


def sign_checkpoint(checkpoint: Checkpoint, key: ed25519.Ed25519PrivateKey) -> bytes:
    """Sign a checkpoint in the name of its log.

    Raises:
        UsageError: what it holds cannot be written, or its origin cannot be the name of a key.
    """
    try:
        data = Note(
            checkpoint.text, (notes.sign(checkpoint.text, checkpoint.origin, key),)
        ).encode()
        same = read_text(notes.parse(data).text) == checkpoint
    except InvalidStatement as error:
        raise UsageError(f"no checkpoint can say this: {error}") from error
    if not same:
        raise UsageError("no checkpoint can say this: a line holds the end of a line")
    return data


def open_checkpoint(data: bytes, *keys: VerifierKey) -> Checkpoint:
    """Read a checkpoint that one of some keys of a log signed.

    Raises:
        InvalidStatement: none of them did, or it is of another log.
    """
    note = notes.parse(data)
    note.verify(*keys)
    checkpoint = read_text(note.text)
    if checkpoint.origin not in {key.name for key in keys}:
        raise InvalidStatement(
            f"a checkpoint of another log, {checkpoint.origin}", reason="checkpoint-origin"
        )
    return checkpoint


def cosign(text: str, time: int, name: str, key: ed25519.Ed25519PrivateKey) -> Signature:
    """Sign the text of a checkpoint as a witness who saw nothing larger at a time, in seconds since
    1970.

    Raises:
        UsageError: the name cannot be one.
    """
    signature = key.sign(_cosigned(text, time))
    return Signature(
        name,
        notes.key_of(name, key.public_key(), COSIGNATURE).id,
        time.to_bytes(_TIME, "big") + signature,
    )


def cosigned_at(note: Note, key: VerifierKey) -> int:
    """Give the time at which a witness signed; the latest, if they did more than once.

    Raises:
        InvalidStatement: they did not, or a line in their name is false.
    """
    found = note.blobs(key) if key.kind == COSIGNATURE else []
    for blob in found:
        if _time(blob) > LARGEST_SIZE:
            raise InvalidStatement(
                "a cosignature of a time that there is none of", reason="note-signature"
            )
        key.check(blob[_TIME:], _cosigned(note.text, _time(blob)))
    if not found:
        raise InvalidStatement(f"not cosigned by {key}", reason="note-unsigned")
    return max(map(_time, found))


def _time(blob: bytes) -> int:
    return int.from_bytes(blob[:_TIME], "big")


def _cosigned(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()

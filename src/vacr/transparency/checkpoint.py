"""Checkpoints: the size and root of a log, signed by the log and cosigned by witnesses.

A checkpoint is a signed note (C2SP signed-note): a text, an empty line, and signature lines, each
with the name of its key. Anybody may add lines, so lines of unknown keys are kept and ignored.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.transparency import *
    >>> key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    >>> note = sign_checkpoint(Checkpoint("log.example", 3, bytes(32)), key)
    >>> note.decode().splitlines()[:3]
    ['log.example', '3', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=']
    >>> verify_checkpoint(note, build_verifier_key("log.example", key.public_key())).size
    3

A witness is asked to cosign a checkpoint by a submission (C2SP tlog-witness, `add-checkpoint`): the
checkpoint, and the proof that it continues the last one the witness saw. Checkpoints follow C2SP
tlog-checkpoint, cosignatures follow tlog-cosignature with Ed25519 (`cosignature/v1`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import InvalidStatement, UsageError
from vacr.transparency.tree import HASH_SIZE

NOTE_KEY_ED25519, NOTE_KEY_COSIGNATURE = 1, 4
NOTE_KEY_KINDS = (NOTE_KEY_ED25519, NOTE_KEY_COSIGNATURE)

MAX_NOTE_SIZE = 1 << 18
"""The maximum size of a note: room for some dozen signatures of the largest kind."""
MAX_NOTE_SIGNATURES = 100

_SIGNATURE_LINE_PREFIX = "— "
_KEY_ID_SIZE = 4
_PUBLIC_KEY_SIZE = 32
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x09\x0b-\x1f]")
_KEY_NAME_PATTERN = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")
_VERIFIER_KEY_HINT = "The key of a log or witness looks like example.org/log+0123abcd+AQ…"

MAX_TREE_SIZE = (1 << 63) - 1
_DECIMAL_PATTERN = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_MIN_CHECKPOINT_LINES = 3
_TIMESTAMP_SIZE = 8
MAX_PROOF_HASHES = 63
MAX_SUBMISSION_SIZE = MAX_NOTE_SIZE + 32 + 64 * MAX_PROOF_HASHES
"""The maximum size of a submission, in bytes."""
_OLD_SIZE_PREFIX = "old "


@dataclass(frozen=True)
class VerifierKey:
    """A public key that verifies signed notes: its name, its signature type and its bytes."""

    name: str
    kind: int
    public: bytes

    def __post_init__(self) -> None:
        """Check the name, the signature type and the length of the key.

        Raises:
            UsageError: one of them is invalid.
        """
        check_key_name(self.name)
        if self.kind not in NOTE_KEY_KINDS or len(self.public) != _PUBLIC_KEY_SIZE:
            raise UsageError(
                "not an Ed25519 key for signed notes or cosignatures", hint=_VERIFIER_KEY_HINT
            )

    @cached_property
    def id(self) -> bytes:
        """The id of the key in signature lines: four bytes of the hash of name, type and bytes."""
        signed = self.name.encode() + b"\n" + bytes([self.kind]) + self.public
        return hashlib.sha256(signed).digest()[:_KEY_ID_SIZE]

    def __str__(self) -> str:
        """Format the key as it is published, for example `example.org/log+0123abcd+AQ…`."""
        encoded_key = base64.b64encode(bytes([self.kind]) + self.public).decode()
        return f"{self.name}+{self.id.hex()}+{encoded_key}"

    def check(self, signature: bytes, data: bytes) -> None:
        """Check that this key signed `data`.

        Raises:
            InvalidStatement: it did not make this signature.
        """
        try:
            ed25519.Ed25519PublicKey.from_public_bytes(self.public).verify(signature, data)
        except (InvalidSignature, ValueError) as error:
            problem = f"forged signature: the key of {self.name} did not sign this checkpoint"
            raise InvalidStatement(problem, reason="note-signature") from error


def parse_verifier_key(text: str) -> VerifierKey:
    """Parse a key as it is published, for example `example.org/log+0123abcd+AQ…`.

    The parts are its name, its id in hexadecimal, and its type and bytes in base64.

    Raises:
        UsageError: it is malformed, or of an unknown type.
    """
    name, _, rest = text.partition("+")
    try:
        data = decode_exact_base64(rest.partition("+")[2])
        key = VerifierKey(name, data[0], data[1:])
    except (ValueError, IndexError) as error:
        raise UsageError(
            f"not the key of a log or witness: {text!r}", hint=_VERIFIER_KEY_HINT
        ) from error
    if str(key) != text:
        raise UsageError(
            "the key of a log or witness is damaged: its id does not match its name and bytes: "
            f"{text!r}",
            hint=_VERIFIER_KEY_HINT,
        )
    return key


def build_verifier_key(
    name: str, key: ed25519.Ed25519PublicKey, kind: int = NOTE_KEY_ED25519
) -> VerifierKey:
    """Return the `VerifierKey` with this name and public key.

    It verifies signatures of a log or, if `kind` is `NOTE_KEY_COSIGNATURE`, of a witness.

    Raises:
        UsageError: the name is invalid.
    """
    return VerifierKey(name, kind, key.public_bytes_raw())


def check_key_name(name: str) -> None:
    """Check that a text can be the name of a key.

    Raises:
        UsageError: it is empty, or contains spaces, control characters or a plus sign.
    """
    if _KEY_NAME_PATTERN.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} cannot be the name of a key",
            hint="Use a name without spaces and +, such as example.org/log.",
        )


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """A signature line of a note: the name and id of a key, and a signature, not verified yet."""

    name: str
    key_id: bytes
    blob: bytes

    @property
    def line(self) -> str:
        """The line as it appears in a note, with its newline."""
        encoded_signature = base64.b64encode(self.key_id + self.blob).decode()
        return f"{_SIGNATURE_LINE_PREFIX}{self.name} {encoded_signature}\n"


@dataclass(frozen=True, slots=True)
class SignedNote:
    """A text with its signatures, not verified yet."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def encode(self) -> bytes:
        """Return the note as bytes: the text, an empty line, and the signature lines."""
        lines = "".join(signature.line for signature in self.signatures)
        return f"{self.text}\n{lines}".encode()

    def blobs(self, key: VerifierKey) -> list[bytes]:
        """Return the signatures in lines with the name and id of a key, without verifying them."""
        return [
            signature.blob
            for signature in self.signatures
            if (signature.name, signature.key_id) == (key.name, key.id)
        ]

    def verify(self, *keys: VerifierKey) -> None:
        """Check that one of the keys signed the note, and that none of their signatures is forged.

        Keys of witnesses do not count; `verify_cosignature` is for them.

        Raises:
            InvalidStatement: no key signed the note, or a signature in the name of one is forged.
        """
        data = self.text.encode()
        claimed = [
            (key, blob) for key in keys if key.kind == NOTE_KEY_ED25519 for blob in self.blobs(key)
        ]
        for key, blob in claimed:
            key.check(blob, data)
        if not claimed:
            names = ", ".join(sorted({str(key) for key in keys}))
            raise InvalidStatement(
                f"none of the expected keys signed the checkpoint; expected: {names}",
                reason="note-unsigned",
            )


def sign_note_text(text: str, name: str, key: ed25519.Ed25519PrivateKey) -> NoteSignature:
    """Sign the text of a note, and return the signature line with the key's name.

    Raises:
        UsageError: the name is invalid, or the text does not end with a newline or contains control
            characters.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the text of the note is not valid Unicode") from error
    if not text.endswith("\n") or _CONTROL_CHARACTERS.search(text):
        raise UsageError(
            "the text of the note must end with a newline and have no other control characters"
        )
    return NoteSignature(name, build_verifier_key(name, key.public_key()).id, key.sign(data))


def parse_signed_note(data: bytes) -> SignedNote:
    """Split a note into its text and its signatures, without verifying them.

    Raises:
        InvalidStatement: it is malformed or too large.
    """
    if len(data) > MAX_NOTE_SIZE:
        raise InvalidStatement(
            f"the checkpoint is too large: {len(data)} bytes, at most {MAX_NOTE_SIZE} allowed",
            reason="note-size",
        )
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidStatement(
            "the checkpoint is not valid UTF-8", reason="note-characters"
        ) from error
    if _CONTROL_CHARACTERS.search(content):
        raise InvalidStatement(
            "the checkpoint contains control characters", reason="note-characters"
        )
    # The text may contain empty lines; the last one in the note ends it.
    text_end = content.rfind("\n\n")
    if text_end < 0 or text_end + 2 == len(content):
        raise InvalidStatement(
            "not a signed checkpoint: no empty line followed by signatures", reason="note-form"
        )
    if not content.endswith("\n"):
        raise InvalidStatement("the checkpoint does not end with a newline", reason="note-form")
    lines = content[text_end + 2 : -1].split("\n")
    if len(lines) > MAX_NOTE_SIGNATURES:
        raise InvalidStatement(
            f"the checkpoint has {len(lines)} signatures, at most {MAX_NOTE_SIGNATURES} allowed",
            reason="note-size",
        )
    return SignedNote(content[: text_end + 1], tuple(map(parse_signature_line, lines)))


def parse_signature_line(line: str) -> NoteSignature:
    """Parse a signature line of a note, without its newline: `— NAME BASE64`.

    Raises:
        InvalidStatement: it is malformed.
    """
    name, _, encoded = line.removeprefix(_SIGNATURE_LINE_PREFIX).partition(" ")
    try:
        data = decode_exact_base64(encoded)
    except ValueError:
        data = b""
    if (
        not line.startswith(_SIGNATURE_LINE_PREFIX)
        or _KEY_NAME_PATTERN.fullmatch(name) is None
        or len(data) <= _KEY_ID_SIZE
    ):
        raise InvalidStatement(
            f"not a signature line of a checkpoint: {line[:60]!r}", reason="note-form"
        )
    return NoteSignature(name, data[:_KEY_ID_SIZE], data[_KEY_ID_SIZE:])


def decode_exact_base64(text: str) -> bytes:
    """Decode base64, but accept only the text that encoding the result gives again.

    Raises:
        ValueError: the text is not base64, lacks padding, or sets unused bits.
    """
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise binascii.Error("unused bits are set")
    return data


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The size and root of a log at a moment; `origin` is the log's name.

    `extensions` are further lines of the text, which vacr keeps but does not interpret.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text to sign: origin, size, root in base64, and extensions, one per line."""
        lines = (
            self.origin,
            str(self.size),
            base64.b64encode(self.root).decode(),
            *self.extensions,
        )
        return "".join(f"{line}\n" for line in lines)


def parse_checkpoint(text: str) -> Checkpoint:
    """Parse the text of a checkpoint: the part of the note before the signatures.

    Raises:
        InvalidStatement: it is malformed.
    """
    lines = text.removesuffix("\n").split("\n")
    if not text.endswith("\n") or len(lines) < _MIN_CHECKPOINT_LINES or not all(lines):
        raise InvalidStatement(
            "not a checkpoint: it must have lines for origin, size and root, and no empty lines",
            reason="checkpoint-form",
        )
    return Checkpoint(
        lines[0],
        parse_tree_size(lines[1]),
        parse_base64_hash(lines[2]),
        tuple(lines[_MIN_CHECKPOINT_LINES:]),
    )


def parse_tree_size(text: str) -> int:
    """Parse the size of a tree from decimal digits.

    Raises:
        InvalidStatement: it is not a decimal number in its shortest form, or too large.
    """
    if _DECIMAL_PATTERN.fullmatch(text) is None or int(text) > MAX_TREE_SIZE:
        raise InvalidStatement(f"not a tree size: {text[:40]!r}", reason="checkpoint-form")
    return int(text)


def parse_base64_hash(text: str) -> bytes:
    """Return the 32 bytes of a SHA-256 hash in base64.

    Raises:
        InvalidStatement: the text is not such a hash.
    """
    try:
        digest = decode_exact_base64(text)
    except ValueError:
        digest = b""
    if len(digest) != HASH_SIZE:
        raise InvalidStatement(
            f"not a SHA-256 hash in base64: {text[:60]!r}", reason="checkpoint-form"
        )
    return digest


def sign_checkpoint(checkpoint: Checkpoint, key: ed25519.Ed25519PrivateKey) -> bytes:
    """Sign a checkpoint in the name of its log, and return the encoded note.

    Raises:
        UsageError: its text would not parse to the same checkpoint, or its origin is not a valid
            name of a key.
    """
    try:
        signature = sign_note_text(checkpoint.text, checkpoint.origin, key)
        note = SignedNote(checkpoint.text, (signature,)).encode()
        is_same = parse_checkpoint(parse_signed_note(note).text) == checkpoint
    except InvalidStatement as error:
        raise UsageError(f"the checkpoint cannot be encoded: {error}") from error
    if not is_same:
        raise UsageError("the checkpoint cannot be encoded: a line contains a newline")
    return note


def verify_checkpoint(data: bytes, *keys: VerifierKey) -> Checkpoint:
    """Check that one of a log's keys signed a note, and return the checkpoint in it.

    Raises:
        InvalidStatement: the note is malformed, no key signed it, or it is from another log.
    """
    note = parse_signed_note(data)
    note.verify(*keys)
    checkpoint = parse_checkpoint(note.text)
    if checkpoint.origin not in {key.name for key in keys}:
        raise InvalidStatement(
            f"the checkpoint is from another log: {checkpoint.origin}", reason="checkpoint-origin"
        )
    return checkpoint


def cosign_checkpoint(
    text: str, time: int, name: str, key: ed25519.Ed25519PrivateKey
) -> NoteSignature:
    """Return the cosignature of a witness for the text of a checkpoint.

    It asserts that the witness saw no larger checkpoint by `time`, in seconds since 1970.

    Raises:
        UsageError: the name is invalid.
    """
    signature = key.sign(_encode_cosigned_message(text, time))
    return NoteSignature(
        name,
        build_verifier_key(name, key.public_key(), NOTE_KEY_COSIGNATURE).id,
        time.to_bytes(_TIMESTAMP_SIZE, "big") + signature,
    )


def verify_cosignature(note: SignedNote, key: VerifierKey) -> int:
    """Verify the cosignatures of a witness in a note, and return the time of the latest.

    The time is in seconds since 1970.

    Raises:
        InvalidStatement: the witness did not cosign, or a signature in its name is forged.
    """
    blobs = note.blobs(key) if key.kind == NOTE_KEY_COSIGNATURE else []
    for blob in blobs:
        time = _decode_cosignature_time(blob)
        if time > MAX_TREE_SIZE:
            raise InvalidStatement(
                "the time of a cosignature is too large a number", reason="note-signature"
            )
        key.check(blob[_TIMESTAMP_SIZE:], _encode_cosigned_message(note.text, time))
    if not blobs:
        raise InvalidStatement(f"the checkpoint is not cosigned by {key}", reason="note-unsigned")
    return max(map(_decode_cosignature_time, blobs))


def _decode_cosignature_time(blob: bytes) -> int:
    """Return the time at the start of a cosignature, in seconds since 1970."""
    return int.from_bytes(blob[:_TIMESTAMP_SIZE], "big")


def _encode_cosigned_message(text: str, time: int) -> bytes:
    """Return the bytes that a witness signs: the time, then the text of the checkpoint."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


@dataclass(frozen=True, slots=True)
class CheckpointSubmission:
    """A request for a cosignature: the size the witness saw last, a proof, and the signed note."""

    old: int
    proof: Sequence[bytes]
    note: bytes

    def encode(self) -> bytes:
        """Return the submission as bytes: old size, proof hashes, an empty line, the note."""
        lines = (
            f"{_OLD_SIZE_PREFIX}{self.old}",
            *(base64.b64encode(node).decode() for node in self.proof),
            "",
            "",
        )
        return "\n".join(lines).encode() + self.note


def parse_checkpoint_submission(data: bytes) -> CheckpointSubmission:
    """Parse the old size and the proof of a submission; its note stays encoded and unchecked.

    Raises:
        InvalidStatement: it is malformed.
    """
    head, separator, note = data.partition(b"\n\n")
    # A replaced character fails later: it is not base64.
    first, *hashes = head.decode("ascii", "replace").split("\n")
    if not separator or not first.startswith(_OLD_SIZE_PREFIX):
        raise InvalidStatement(
            "not a submission: it must have an old size, hashes, an empty line and a checkpoint",
            reason="submission-form",
        )
    if len(hashes) > MAX_PROOF_HASHES:
        raise InvalidStatement(
            f"the proof is too long: {len(hashes)} hashes, at most {MAX_PROOF_HASHES} allowed",
            reason="submission-form",
        )
    return CheckpointSubmission(
        parse_tree_size(first.removeprefix(_OLD_SIZE_PREFIX)),
        [parse_base64_hash(node) for node in hashes],
        note,
    )

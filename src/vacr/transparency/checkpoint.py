"""Signed notes: text with lines of signatures under it, and the keys that check them. Step:
register, verify.

Follows C2SP signed-note. Known are Ed25519 (type 1) and, for checkpoints, Ed25519 cosignatures
(type 4, see `checkpoint`). Lines of other keys are kept and ignored, as others may add theirs at
any time.

Checkpoints: the size and the root of a log, signed as a note, and what witnesses sign of them.
Step: register, verify.

Follows C2SP tlog-checkpoint and, for cosignatures, tlog-cosignature with Ed25519
(`cosignature/v1`).

What a witness is asked: a checkpoint, and the proof that it continues the one seen before. Step:
register.

Follows C2SP tlog-witness, `add-checkpoint`.
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
"""What a note may have at most, in bytes: room for some dozen signatures of the largest kind there
is.
"""
MAX_NOTE_SIGNATURES = 100

_SIGNATURE_LINE_PREFIX = "— "
_KEY_ID_SIZE = 4
_PUBLIC_KEY_SIZE = 32
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x09\x0b-\x1f]")
_KEY_NAME_PATTERN = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")
_VERIFIER_KEY_HINT = "A key to verify notes with looks like example.org/log+0123abcd+AQ…"


def check_key_name(name: str) -> None:
    """Check that something can be the name of a key.

    Raises:
        UsageError: it is empty, or has spaces or a plus in it.
    """
    if _KEY_NAME_PATTERN.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} cannot be the name of a key",
            hint="It has no spaces and no +, such as example.org/log.",
        )


def decode_exact_base64(text: str) -> bytes:
    """Read base64 in the only form that each value has.

    Raises:
        ValueError: it is none, or in another form.
    """
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise binascii.Error("bits that are not used are set")
    return data


@dataclass(frozen=True)
class VerifierKey:
    """A key that checks signatures of notes: whose it is, of which kind, and its bytes."""

    name: str
    kind: int
    public: bytes

    def __post_init__(self) -> None:
        """Check that it can be one.

        Raises:
            UsageError: it cannot.
        """
        check_key_name(self.name)
        if self.kind not in NOTE_KEY_KINDS or len(self.public) != _PUBLIC_KEY_SIZE:
            raise UsageError(
                "not an Ed25519 key for notes or for cosignatures", hint=_VERIFIER_KEY_HINT
            )

    @cached_property
    def id(self) -> bytes:
        """What lines of signatures name it by, beside its name."""
        return hashlib.sha256(
            self.name.encode() + b"\n" + bytes([self.kind]) + self.public
        ).digest()[:_KEY_ID_SIZE]

    def __str__(self) -> str:
        """Write it as it is handed around."""
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(bytes([self.kind]) + self.public).decode()}"

    def check(self, signature: bytes, data: bytes) -> None:
        """Check a signature.

        Raises:
            InvalidStatement: it is not this key's over the data.
        """
        try:
            ed25519.Ed25519PublicKey.from_public_bytes(self.public).verify(signature, data)
        except (InvalidSignature, ValueError) as error:
            told = f"a signature in the name of {self.name} is not of that key over this text"
            raise InvalidStatement(told, reason="note-signature") from error


def parse_verifier_key(text: str) -> VerifierKey:
    """Read a key as it is handed around: name, id in hexadecimal and base64 of the kind and the
    bytes, with a plus between.

    Raises:
        UsageError: it is none, or of a kind that is not known.
    """
    name, _, rest = text.partition("+")
    try:
        data = decode_exact_base64(rest.partition("+")[2])
        key = VerifierKey(name, data[0], data[1:])
    except (ValueError, IndexError) as error:
        raise UsageError(
            f"not a key to verify notes with: {text!r}", hint=_VERIFIER_KEY_HINT
        ) from error
    if str(key) != text:
        raise UsageError(
            f"the parts of the key do not belong together: {text!r}", hint=_VERIFIER_KEY_HINT
        )
    return key


def build_verifier_key(
    name: str, key: ed25519.Ed25519PublicKey, kind: int = NOTE_KEY_ED25519
) -> VerifierKey:
    """Give the key that checks notes, of a public key and a name.

    Raises:
        UsageError: the name cannot be one.
    """
    return VerifierKey(name, kind, key.public_bytes_raw())


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """A line of a note: who says to have signed it, and what they give for a signature."""

    name: str
    key_id: bytes
    blob: bytes

    @property
    def line(self) -> str:
        """The line, as it is in a note."""
        return f"{_SIGNATURE_LINE_PREFIX}{self.name} {base64.b64encode(self.key_id + self.blob).decode()}\n"


@dataclass(frozen=True, slots=True)
class SignedNote:
    """A text with its signatures, none of which is checked yet."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def encode(self) -> bytes:
        """Write it."""
        return (self.text + "\n" + "".join(one.line for one in self.signatures)).encode()

    def blobs(self, key: VerifierKey) -> list[bytes]:
        """Give what is said to be signatures of a key."""
        return [one.blob for one in self.signatures if (one.name, one.key_id) == (key.name, key.id)]

    def verify(self, *keys: VerifierKey) -> None:
        """Check that one of some keys signed it, and that no line in the name of any of them is
        false.

        Raises:
            InvalidStatement: none of them did, or one is said to have and did not.
        """
        data = self.text.encode()
        found = [
            (key, blob) for key in keys if key.kind == NOTE_KEY_ED25519 for blob in self.blobs(key)
        ]
        for key, blob in found:
            key.check(blob, data)
        if not found:
            names = ", ".join(sorted({str(key) for key in keys}))
            raise InvalidStatement(
                f"not signed by the key that it has to be signed by: {names}",
                reason="note-unsigned",
            )


def sign_note_text(text: str, name: str, key: ed25519.Ed25519PrivateKey) -> NoteSignature:
    """Sign a text in a name.

    Raises:
        UsageError: the name cannot be one, or the text is none of a note: it ends with a line and
            has no control characters.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the text of a note holds half a character") from error
    if not text.endswith("\n") or _CONTROL_CHARACTERS.search(text):
        raise UsageError(
            "the text of a note ends with the end of a line, and has no control characters but "
            "those"
        )
    return NoteSignature(name, build_verifier_key(name, key.public_key()).id, key.sign(data))


def parse_signed_note(data: bytes) -> SignedNote:
    """Read a note.

    Raises:
        InvalidStatement: it is none, or larger than one may be.
    """
    if len(data) > MAX_NOTE_SIZE:
        raise InvalidStatement(
            f"a note of {len(data)} bytes; more than {MAX_NOTE_SIZE} are not read",
            reason="note-size",
        )
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidStatement("a note that is not UTF-8", reason="note-characters") from error
    if _CONTROL_CHARACTERS.search(whole):
        raise InvalidStatement("a note with control characters", reason="note-characters")
    # The text may have empty lines of its own: the last one is what ends it.
    end = whole.rfind("\n\n")
    if end < 0 or not whole.endswith("\n") or end + 2 == len(whole):
        raise InvalidStatement(
            "not a note: there are no lines of signatures after an empty line", reason="note-form"
        )
    lines = whole[end + 2 : -1].split("\n")
    if len(lines) > MAX_NOTE_SIGNATURES:
        raise InvalidStatement(f"a note with {len(lines)} signatures", reason="note-size")
    return SignedNote(whole[: end + 1], tuple(map(parse_signature_line, lines)))


def parse_signature_line(line: str) -> NoteSignature:
    """Read the line of a signature, without its end.

    Raises:
        InvalidStatement: it is none.
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
        raise InvalidStatement("a line of a note that is no signature", reason="note-form")
    return NoteSignature(name, data[:_KEY_ID_SIZE], data[_KEY_ID_SIZE:])


MAX_TREE_SIZE = (1 << 63) - 1

_DECIMAL_PATTERN = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_MIN_CHECKPOINT_LINES = 3
_TIMESTAMP_SIZE = 8


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


def parse_tree_size(text: str) -> int:
    """Read the size of a tree.

    Raises:
        InvalidStatement: it is no number, is written in another form than the shortest, or no tree
            is so large.
    """
    if _DECIMAL_PATTERN.fullmatch(text) is None or int(text) > MAX_TREE_SIZE:
        raise InvalidStatement(f"not the size of a tree: {text[:40]!r}", reason="checkpoint-form")
    return int(text)


def parse_base64_hash(text: str) -> bytes:
    """Read a hash.

    Raises:
        InvalidStatement: it is none.
    """
    try:
        found = decode_exact_base64(text)
    except ValueError:
        found = b""
    if len(found) != HASH_SIZE:
        raise InvalidStatement(f"not a hash in base64: {text[:60]!r}", reason="checkpoint-form")
    return found


def parse_checkpoint(text: str) -> Checkpoint:
    """Read the text of a checkpoint, whoever signed it.

    Raises:
        InvalidStatement: it is none.
    """
    lines = text.removesuffix("\n").split("\n")
    if not text.endswith("\n") or len(lines) < _MIN_CHECKPOINT_LINES or not all(lines):
        raise InvalidStatement(
            "not a checkpoint: it has an origin, a size and a root, a line each",
            reason="checkpoint-form",
        )
    return Checkpoint(
        lines[0],
        parse_tree_size(lines[1]),
        parse_base64_hash(lines[2]),
        tuple(lines[_MIN_CHECKPOINT_LINES:]),
    )


def sign_checkpoint(checkpoint: Checkpoint, key: ed25519.Ed25519PrivateKey) -> bytes:
    """Sign a checkpoint in the name of its log.

    Raises:
        UsageError: what it holds cannot be written, or its origin cannot be the name of a key.
    """
    try:
        data = SignedNote(
            checkpoint.text, (sign_note_text(checkpoint.text, checkpoint.origin, key),)
        ).encode()
        same = parse_checkpoint(parse_signed_note(data).text) == checkpoint
    except InvalidStatement as error:
        raise UsageError(f"no checkpoint can say this: {error}") from error
    if not same:
        raise UsageError("no checkpoint can say this: a line holds the end of a line")
    return data


def verify_checkpoint(data: bytes, *keys: VerifierKey) -> Checkpoint:
    """Read a checkpoint that one of some keys of a log signed.

    Raises:
        InvalidStatement: none of them did, or it is of another log.
    """
    note = parse_signed_note(data)
    note.verify(*keys)
    checkpoint = parse_checkpoint(note.text)
    if checkpoint.origin not in {key.name for key in keys}:
        raise InvalidStatement(
            f"a checkpoint of another log, {checkpoint.origin}", reason="checkpoint-origin"
        )
    return checkpoint


def cosign_checkpoint(
    text: str, time: int, name: str, key: ed25519.Ed25519PrivateKey
) -> NoteSignature:
    """Sign the text of a checkpoint as a witness who saw nothing larger at a time, in seconds since
    1970.

    Raises:
        UsageError: the name cannot be one.
    """
    signature = key.sign(_encode_cosigned_message(text, time))
    return NoteSignature(
        name,
        build_verifier_key(name, key.public_key(), NOTE_KEY_COSIGNATURE).id,
        time.to_bytes(_TIMESTAMP_SIZE, "big") + signature,
    )


def verify_cosignature(note: SignedNote, key: VerifierKey) -> int:
    """Give the time at which a witness signed; the latest, if they did more than once.

    Raises:
        InvalidStatement: they did not, or a line in their name is false.
    """
    found = note.blobs(key) if key.kind == NOTE_KEY_COSIGNATURE else []
    for blob in found:
        if _decode_cosignature_time(blob) > MAX_TREE_SIZE:
            raise InvalidStatement(
                "a cosignature of a time that there is none of", reason="note-signature"
            )
        key.check(
            blob[_TIMESTAMP_SIZE:],
            _encode_cosigned_message(note.text, _decode_cosignature_time(blob)),
        )
    if not found:
        raise InvalidStatement(f"not cosigned by {key}", reason="note-unsigned")
    return max(map(_decode_cosignature_time, found))


def _decode_cosignature_time(blob: bytes) -> int:
    return int.from_bytes(blob[:_TIMESTAMP_SIZE], "big")


def _encode_cosigned_message(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()


MAX_PROOF_HASHES = 63
MAX_SUBMISSION_SIZE = MAX_NOTE_SIZE + 32 + 64 * MAX_PROOF_HASHES
"""What a submission may have at most, in bytes."""

_OLD_SIZE_PREFIX = "old "


@dataclass(frozen=True, slots=True)
class CheckpointSubmission:
    """The size of the tree that the witness has seen, the proof from there, and the signed
    checkpoint.
    """

    old: int
    proof: Sequence[bytes]
    note: bytes

    def encode(self) -> bytes:
        """Write it."""
        lines = (
            f"{_OLD_SIZE_PREFIX}{self.old}",
            *(base64.b64encode(one).decode() for one in self.proof),
            "",
            "",
        )
        return "\n".join(lines).encode() + self.note


def parse_checkpoint_submission(data: bytes) -> CheckpointSubmission:
    """Read a submission; of the checkpoint nothing is read yet.

    Raises:
        InvalidStatement: it is none.
    """
    head, ended, note = data.partition(b"\n\n")
    # What is not ASCII is no base64 either.
    first, *hashes = head.decode("ascii", "replace").split("\n")
    if not ended or not first.startswith(_OLD_SIZE_PREFIX):
        raise InvalidStatement(
            "not a submission: an old size, hashes, an empty line, a checkpoint",
            reason="submission-form",
        )
    if len(hashes) > MAX_PROOF_HASHES:
        raise InvalidStatement(
            f"a proof of {len(hashes)} hashes; no tree needs more than {MAX_PROOF_HASHES}",
            reason="submission-form",
        )
    return CheckpointSubmission(
        parse_tree_size(first.removeprefix(_OLD_SIZE_PREFIX)),
        [parse_base64_hash(one) for one in hashes],
        note,
    )

"""Signed notes: text with lines of signatures under it, and the keys that check them. Step:
register, verify.

Follows C2SP signed-note. Known are Ed25519 (type 1) and, for checkpoints, Ed25519 cosignatures
(type 4, see `checkpoint`). Lines of other keys are kept and ignored, as others may add theirs at
any time.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import InvalidStatement, UsageError

ED25519, COSIGNATURE = 1, 4
KINDS = (ED25519, COSIGNATURE)

LARGEST = 1 << 18
"""What a note may have at most, in bytes: room for some dozen signatures of the largest kind there
is.
"""
MOST_SIGNATURES = 100

_DASH = "— "
_ID = 4
_PUBLIC = 32
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_NAME = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")
_FORM = "A key to verify notes with looks like example.org/log+0123abcd+AQ…"


def check_name(name: str) -> None:
    """Check that something can be the name of a key.

    Raises:
        UsageError: it is empty, or has spaces or a plus in it.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} cannot be the name of a key",
            hint="It has no spaces and no +, such as example.org/log.",
        )


def exact_base64(text: str) -> bytes:
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
        check_name(self.name)
        if self.kind not in KINDS or len(self.public) != _PUBLIC:
            raise UsageError("not an Ed25519 key for notes or for cosignatures", hint=_FORM)

    @cached_property
    def id(self) -> bytes:
        """What lines of signatures name it by, beside its name."""
        return hashlib.sha256(
            self.name.encode() + b"\n" + bytes([self.kind]) + self.public
        ).digest()[:_ID]

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


def read_key(text: str) -> VerifierKey:
    """Read a key as it is handed around: name, id in hexadecimal and base64 of the kind and the
    bytes, with a plus between.

    Raises:
        UsageError: it is none, or of a kind that is not known.
    """
    name, _, rest = text.partition("+")
    try:
        data = exact_base64(rest.partition("+")[2])
        key = VerifierKey(name, data[0], data[1:])
    except (ValueError, IndexError) as error:
        raise UsageError(f"not a key to verify notes with: {text!r}", hint=_FORM) from error
    if str(key) != text:
        raise UsageError(f"the parts of the key do not belong together: {text!r}", hint=_FORM)
    return key


def key_of(name: str, key: ed25519.Ed25519PublicKey, kind: int = ED25519) -> VerifierKey:
    """Give the key that checks notes, of a public key and a name.

    Raises:
        UsageError: the name cannot be one.
    """
    return VerifierKey(name, kind, key.public_bytes_raw())


@dataclass(frozen=True, slots=True)
class Signature:
    """A line of a note: who says to have signed it, and what they give for a signature."""

    name: str
    key_id: bytes
    blob: bytes

    @property
    def line(self) -> str:
        """The line, as it is in a note."""
        return f"{_DASH}{self.name} {base64.b64encode(self.key_id + self.blob).decode()}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A text with its signatures, none of which is checked yet."""

    text: str
    signatures: tuple[Signature, ...]

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
        found = [(key, blob) for key in keys if key.kind == ED25519 for blob in self.blobs(key)]
        for key, blob in found:
            key.check(blob, data)
        if not found:
            names = ", ".join(sorted({str(key) for key in keys}))
            raise InvalidStatement(
                f"not signed by the key that it has to be signed by: {names}",
                reason="note-unsigned",
            )


def sign(text: str, name: str, key: ed25519.Ed25519PrivateKey) -> Signature:
    """Sign a text in a name.

    Raises:
        UsageError: the name cannot be one, or the text is none of a note: it ends with a line and
            has no control characters.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the text of a note holds half a character") from error
    if not text.endswith("\n") or _CONTROL.search(text):
        raise UsageError(
            "the text of a note ends with the end of a line, and has no control characters but "
            "those"
        )
    return Signature(name, key_of(name, key.public_key()).id, key.sign(data))


def parse(data: bytes) -> Note:
    """Read a note.

    Raises:
        InvalidStatement: it is none, or larger than one may be.
    """
    if len(data) > LARGEST:
        raise InvalidStatement(
            f"a note of {len(data)} bytes; more than {LARGEST} are not read", reason="note-size"
        )
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidStatement("a note that is not UTF-8", reason="note-characters") from error
    if _CONTROL.search(whole):
        raise InvalidStatement("a note with control characters", reason="note-characters")
    # The text may have empty lines of its own: the last one is what ends it.
    end = whole.rfind("\n\n")
    if end < 0 or not whole.endswith("\n") or end + 2 == len(whole):
        raise InvalidStatement(
            "not a note: there are no lines of signatures after an empty line", reason="note-form"
        )
    lines = whole[end + 2 : -1].split("\n")
    if len(lines) > MOST_SIGNATURES:
        raise InvalidStatement(f"a note with {len(lines)} signatures", reason="note-size")
    return Note(whole[: end + 1], tuple(map(parse_line, lines)))


def parse_line(line: str) -> Signature:
    """Read the line of a signature, without its end.

    Raises:
        InvalidStatement: it is none.
    """
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    try:
        data = exact_base64(encoded)
    except ValueError:
        data = b""
    if not line.startswith(_DASH) or _NAME.fullmatch(name) is None or len(data) <= _ID:
        raise InvalidStatement("a line of a note that is no signature", reason="note-form")
    return Signature(name, data[:_ID], data[_ID:])

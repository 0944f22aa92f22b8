"""Proofs that witnesses saw an entry of a log (C2SP tlog-proof), and statements with such proofs.

A receipt has the log's word alone. A tlog-proof adds the word of witnesses: it is a checkpoint that
they cosigned, with the position of an entry and the path from the entry to the checkpoint's root.
It is verified offline, with the key of the log and the keys of the witnesses:

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.transparency import *
    >>> log, witness = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
    >>> leaf, other = hash_leaf(b"an entry"), hash_leaf(b"another")
    >>> checkpoint = Checkpoint("log.example", 2, compute_inclusion_root(leaf, 0, 2, [other]))
    >>> cosignature = cosign_checkpoint(checkpoint.text, 1_700_000_000, "w.example", witness)
    >>> note = sign_checkpoint(checkpoint, log) + cosignature.line.encode()
    >>> proof = TlogProof(index=0, path=(other,), note=note)
    >>> proof.encode().decode().splitlines()[:2]
    ['c2sp.org/tlog-proof@v1', 'index 0']
    >>> log_key = build_verifier_key("log.example", log.public_key())
    >>> witness_key = build_verifier_key("w.example", witness.public_key(), NOTE_KEY_COSIGNATURE)
    >>> verified = verify_tlog_proof(proof, leaf, [log_key], [witness_key], required=1)
    >>> verified.index, verified.checkpoint.size, [who.key.name for who in verified.cosignatures]
    (0, 2, ['w.example'])

A statement carries its proofs in an unprotected header, so that adding one changes neither the
signature nor the log entry.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from vacr.errors import InvalidStatement
from vacr.signing import HEADER_TLOG_PROOFS, Sign1, parse_sign1
from vacr.transparency.checkpoint import (
    MAX_PROOF_HASHES,
    NOTE_KEY_COSIGNATURE,
    Checkpoint,
    SignedNote,
    VerifierKey,
    decode_exact_base64,
    parse_base64_hash,
    parse_checkpoint,
    parse_signed_note,
    parse_tree_size,
    verify_cosignature,
)
from vacr.transparency.receipt import ENTRY_RULE_STATEMENT, build_log_entry
from vacr.transparency.tree import compute_inclusion_root, hash_leaf

MAX_TLOG_PROOF_SIZE = 1 << 16
"""The maximum size of a proof in bytes: room for some hundred cosignatures."""
MAX_TLOG_PROOFS = 16
"""The maximum number of proofs in a statement."""

_FIRST_LINE = "c2sp.org/tlog-proof@v1"
_EXTRA_PREFIX, _INDEX_PREFIX = "extra ", "index "


@dataclass(frozen=True, slots=True)
class TlogProof:
    """A parsed proof, not verified yet."""

    index: int
    """The position of the entry in the log."""
    path: tuple[bytes, ...]
    """The hashes from the sibling of the entry up to the root."""
    note: bytes
    """The checkpoint with its signatures, as the log published it."""
    extra: bytes = b""
    """Data that nobody signed; vacr keeps it, and ignores it."""

    def encode(self) -> bytes:
        """Return the proof in its text form."""
        lines = [_FIRST_LINE]
        if self.extra:
            lines.append(_EXTRA_PREFIX + base64.b64encode(self.extra).decode())
        lines.append(f"{_INDEX_PREFIX}{self.index}")
        lines += [base64.b64encode(node).decode() for node in self.path]
        return "\n".join((*lines, "", "")).encode() + self.note

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint, not verified.

        Raises:
            InvalidStatement: the note does not contain one.
        """
        return parse_checkpoint(parse_signed_note(self.note).text)


@dataclass(frozen=True, slots=True)
class Cosignature:
    """A verified cosignature: the key of the witness, and its time in seconds since 1970."""

    key: VerifierKey
    time: int


@dataclass(frozen=True, slots=True)
class WitnessedEntry:
    """A verified proof: witnesses cosigned a checkpoint that covers an entry.

    The position and the size are proven, unlike the ones in a receipt.
    """

    log_key: VerifierKey
    index: int
    checkpoint: Checkpoint
    cosignatures: tuple[Cosignature, ...]
    """One for each witness, the earliest first."""


def parse_tlog_proof(data: bytes) -> TlogProof:
    """Parse a proof, without verifying it.

    Raises:
        InvalidStatement: it is malformed or too large.
    """
    if len(data) > MAX_TLOG_PROOF_SIZE:
        raise _make_form_error(f"it has {len(data)} bytes, at most {MAX_TLOG_PROOF_SIZE} allowed")
    head, separator, note = data.partition(b"\n\n")
    try:
        first, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise _make_form_error("it is not ASCII") from error
    if first != _FIRST_LINE or not separator:
        raise _make_form_error(f"it must start with {_FIRST_LINE} and contain an empty line")
    extra = b""
    if lines and lines[0].startswith(_EXTRA_PREFIX):
        extra = _parse_extra(lines.pop(0))
    if not lines or not lines[0].startswith(_INDEX_PREFIX):
        raise _make_form_error("it lacks the index of the entry")
    if len(lines) - 1 > MAX_PROOF_HASHES:
        raise _make_form_error(f"its path has more than {MAX_PROOF_HASHES} hashes")
    try:
        index = parse_tree_size(lines[0].removeprefix(_INDEX_PREFIX))
        path = tuple(map(parse_base64_hash, lines[1:]))
        proof = TlogProof(index, path, note, extra)
        _ = proof.checkpoint  # A malformed checkpoint is refused here.
    except InvalidStatement as error:
        raise _make_form_error(error.message) from error
    return proof


def _parse_extra(line: str) -> bytes:
    """Return the data in the line `extra BASE64`; raise InvalidStatement if it has none."""
    try:
        extra = decode_exact_base64(line.removeprefix(_EXTRA_PREFIX))
    except ValueError:
        extra = b""
    if not extra:
        raise _make_form_error("its extra data is empty or not base64")
    return extra


def _make_form_error(problem: str) -> InvalidStatement:
    return InvalidStatement(
        f"the proof of the witnesses is malformed: {problem}", reason="witness-malformed"
    )


def verify_tlog_proof(
    proof: TlogProof,
    leaf: bytes,
    log_keys: Sequence[VerifierKey],
    witness_keys: Iterable[VerifierKey],
    *,
    required: int,
    counts: Callable[[Cosignature], bool] = lambda _: True,
) -> WitnessedEntry:
    """Verify a proof for the entry with this leaf hash, and return its facts.

    `required` is the number of witnesses that must have cosigned. `counts` may reject a
    cosignature that is genuine, for example because of its time.

    Raises:
        InvalidStatement: the proof is from another log or for another entry, too few witnesses
            cosigned, or a signature is forged. Each cause has its own reason.
    """
    note = parse_signed_note(proof.note)
    checkpoint = parse_checkpoint(note.text)
    log_key = _check_log_signature(note, checkpoint, log_keys)
    _check_inclusion(proof, leaf, checkpoint)
    genuine = find_cosignatures(note, witness_keys, log_keys)
    counted = tuple(cosignature for cosignature in genuine if counts(cosignature))
    if len(counted) < required:
        ignored = len(genuine) - len(counted)
        more = f"; {ignored} more do not count at their time" if ignored else ""
        raise InvalidStatement(
            f"too few witnesses cosigned: {len(counted)}, but {required} are required{more}",
            reason="witness-too-few",
            hint="To fetch newer cosignatures: vacr register --refresh FILE --service URL",
        )
    return WitnessedEntry(log_key, proof.index, checkpoint, counted)


def _check_log_signature(
    note: SignedNote, checkpoint: Checkpoint, log_keys: Sequence[VerifierKey]
) -> VerifierKey:
    """Return the key of the log that signed a checkpoint.

    Raises:
        InvalidStatement: the checkpoint is from another log, or none of the keys signed it.
    """
    own_keys = [key for key in log_keys if key.name == checkpoint.origin]
    if not own_keys:
        known = ", ".join(sorted({key.name for key in log_keys})) or "none"
        raise InvalidStatement(
            f"the proof of the witnesses is from another log: {checkpoint.origin}; trusted: "
            f"{known}",
            reason="witness-origin",
        )
    for key in own_keys:
        if not note.blobs(key):
            continue
        try:
            note.verify(key)
        except InvalidStatement as error:
            raise InvalidStatement(error.message, reason="witness-log-signature") from error
        return key
    raise InvalidStatement(
        f"the checkpoint of the proof is not signed with the trusted key of {checkpoint.origin}",
        reason="witness-log-key",
        hint="If the log changed its key, add the new note-key to the trust store.",
    )


def _check_inclusion(proof: TlogProof, leaf: bytes, checkpoint: Checkpoint) -> None:
    """Check that the path of a proof leads from a leaf hash to the root of its checkpoint.

    Raises:
        InvalidStatement: it does not, or the checkpoint is older than the entry.
    """
    if proof.index >= checkpoint.size:
        raise InvalidStatement(
            f"the cosigned checkpoint is older than the entry: it has {checkpoint.size} entries, "
            f"and the proof is for entry {proof.index}",
            reason="witness-stale",
        )
    try:
        root = compute_inclusion_root(leaf, proof.index, checkpoint.size, proof.path)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"the proof of the witnesses has an invalid path: {error.message}",
            reason="witness-path",
        ) from error
    if root != checkpoint.root:
        raise InvalidStatement(
            "the proof of the witnesses is for another entry: its path does not lead from this "
            "statement to the cosigned root",
            reason="witness-entry",
        )


def find_cosignatures(
    note: SignedNote, witness_keys: Iterable[VerifierKey], log_keys: Iterable[VerifierKey]
) -> tuple[Cosignature, ...]:
    """Return the cosignatures of known witnesses in a note, the earliest first.

    A key counts once, even under several names or in several lines. The key of a log never counts:
    a log cannot be its own witness.

    Raises:
        InvalidStatement: a cosignature in the name of a known witness is forged.
    """
    excluded = {key.public for key in log_keys}
    found: dict[bytes, Cosignature] = {}
    for key in witness_keys:
        if key.kind != NOTE_KEY_COSIGNATURE or key.public in excluded or not note.blobs(key):
            continue
        try:
            cosignature = Cosignature(key, verify_cosignature(note, key))
        except InvalidStatement as error:
            raise InvalidStatement(error.message, reason="witness-signature") from error
        found.setdefault(key.public, cosignature)
    return tuple(sorted(found.values(), key=lambda cosignature: cosignature.time))


def list_tlog_proofs(message: Sign1) -> list[bytes]:
    """Return the proofs in a statement, still encoded, or an empty list if it has none.

    Raises:
        InvalidStatement: they are not a list of 1 to 16 byte strings, or in the protected header.
    """
    if HEADER_TLOG_PROOFS in message.protected:
        raise InvalidStatement(
            "the proofs of witnesses are in the protected header, but belong in the unprotected "
            "one",
            reason="witness-protected",
        )
    if HEADER_TLOG_PROOFS not in message.unprotected:
        return []
    proofs = message.unprotected[HEADER_TLOG_PROOFS]
    if (
        not isinstance(proofs, list | tuple)
        or not 0 < len(proofs) <= MAX_TLOG_PROOFS
        or not all(type(proof) is bytes for proof in proofs)
    ):
        raise InvalidStatement(
            f"the proofs of witnesses are not a list of 1 to {MAX_TLOG_PROOFS} byte strings",
            reason="witness-malformed",
        )
    return list(proofs)


def add_tlog_proof(
    statement: bytes,
    proof: TlogProof,
    log_keys: Sequence[VerifierKey],
    rule: str = ENTRY_RULE_STATEMENT,
) -> bytes:
    """Return a statement with one more proof, and without older ones of the same log.

    `log_keys` are the keys of that log. Only its signature shows which log a proof is from, so
    proofs with other keys stay.

    Raises:
        InvalidStatement: a proof is malformed, or the statement has too many.
    """
    message = parse_sign1(statement)
    leaf = hash_leaf(build_log_entry(message, rule))
    encoded = proof.encode()
    parse_tlog_proof(encoded)
    kept = [
        other
        for other in list_tlog_proofs(message)
        if other != encoded and not _is_proof_of(other, leaf, log_keys)
    ]
    if len(kept) >= MAX_TLOG_PROOFS:
        raise InvalidStatement(
            f"the statement already has {len(kept)} proofs of witnesses, the maximum",
            reason="witness-malformed",
            hint="Sign the file again with vacr sign --overwrite, and register the new statement.",
        )
    unprotected = {**message.unprotected, HEADER_TLOG_PROOFS: [*kept, encoded]}
    return replace(message, unprotected=unprotected).encode()


def _is_proof_of(encoded: bytes, leaf: bytes, log_keys: Sequence[VerifierKey]) -> bool:
    """Return whether an encoded proof is valid for an entry, and signed with one of these keys."""
    try:
        verify_tlog_proof(parse_tlog_proof(encoded), leaf, log_keys, (), required=0)
    except InvalidStatement:
        return False
    return True

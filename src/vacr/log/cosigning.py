"""Asking a witness to cosign a checkpoint. Step: register. Follows C2SP tlog-witness, as a
client.
"""

from __future__ import annotations

import http.client
from collections.abc import Sequence

from vacr.errors import InvalidStatement, Unreachable, printable
from vacr.log.wire import Access, Answer, Wire
from vacr.receipts import checkpoint, notes
from vacr.receipts.notes import VerifierKey
from vacr.receipts.submissions import Submission

_MOST = 1 << 16
_OK, _CONFLICT, _UNPROVEN = 200, 409, 422


class AtAnotherSize(Unreachable):
    """The witness has seen a tree of another size: a proof from there is what it takes."""

    def __init__(self, size: int, url: str) -> None:
        """Keep the size."""
        super().__init__(
            f"the witness has seen a tree of {size}",
            where=url,
            hint="Send the proof from that size.",
        )
        self.size = size


def cosign(
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
    wire = Wire(witness_url, Access())
    asked = Submission(old_size, proof, note).encode()
    try:
        path = wire.address.path.rstrip("/") + "/add-checkpoint"
        reply = wire.ask("POST", path, asked, {"Content-Type": "text/plain; charset=utf-8"}, _MOST)
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(
            f"no answer of the witness: {error}", where=witness_url, hint="Try again later."
        ) from error
    if reply.status == _OK:
        return checked(note, reply.body, witness_key)
    if reply.status == _CONFLICT:
        size = _size(reply, witness_url)
        if size != old_size:
            raise AtAnotherSize(size, witness_url)
    told = printable(reply.body[:200].decode("utf-8", "replace").strip())
    if reply.status in (_CONFLICT, _UNPROVEN):
        raise InvalidStatement(
            f"the witness has seen another past of this log: {told}",
            reason="witness-refused",
            where=witness_url,
        )
    raise Unreachable(f"the witness does not cosign: {reply.status} {told}", where=witness_url)


def checked(note: bytes, lines: bytes, key: VerifierKey) -> bytes:
    """Give those of some lines that are of a witness's own key, for a checkpoint; whatever else is
    there is nothing to us.

    Raises:
        InvalidStatement: there are none, or they are false.
    """
    signed = notes.parse(note)
    try:
        found = [
            one
            for one in notes.parse(b"\n\n" + lines).signatures
            if (one.name, one.key_id) == (key.name, key.id)
        ]
        checkpoint.cosigned_at(notes.Note(signed.text, tuple(found)), key)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"the witness answered without a cosignature of its key: {error.message}",
            reason=error.reason,
        ) from error
    return "".join(one.line for one in found).encode()


def _size(reply: Answer, url: str) -> int:
    try:
        return checkpoint.read_size(reply.body.decode("ascii", "replace").removesuffix("\n"))
    except InvalidStatement as error:
        raise Unreachable(
            "the witness has seen a tree of another size, and does not say of which", where=url
        ) from error

"""What a witness is asked: a checkpoint, and the proof that it continues the one seen before. Step:
register.

Follows C2SP tlog-witness, `add-checkpoint`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from vacr.errors import InvalidStatement
from vacr.receipts import notes
from vacr.receipts.checkpoint import read_hash, read_size

MOST_HASHES = 63
LARGEST = notes.LARGEST + 32 + 64 * MOST_HASHES
"""What a submission may have at most, in bytes."""

_OLD = "old "


@dataclass(frozen=True, slots=True)
class Submission:
    """The size of the tree that the witness has seen, the proof from there, and the signed
    checkpoint.
    """

    old: int
    proof: Sequence[bytes]
    note: bytes

    def encode(self) -> bytes:
        """Write it."""
        lines = (
            f"{_OLD}{self.old}",
            *(base64.b64encode(one).decode() for one in self.proof),
            "",
            "",
        )
        return "\n".join(lines).encode() + self.note


def parse(data: bytes) -> Submission:
    """Read a submission; of the checkpoint nothing is read yet.

    Raises:
        InvalidStatement: it is none.
    """
    head, ended, note = data.partition(b"\n\n")
    # What is not ASCII is no base64 either.
    first, *hashes = head.decode("ascii", "replace").split("\n")
    if not ended or not first.startswith(_OLD):
        raise InvalidStatement(
            "not a submission: an old size, hashes, an empty line, a checkpoint",
            reason="submission-form",
        )
    if len(hashes) > MOST_HASHES:
        raise InvalidStatement(
            f"a proof of {len(hashes)} hashes; no tree needs more than {MOST_HASHES}",
            reason="submission-form",
        )
    return Submission(read_size(first.removeprefix(_OLD)), [read_hash(one) for one in hashes], note)

"""How far the journal of a recorder went when a record was made: what the record says of it. Step:
attest, verify.

A record that was made from a journal names the journal's head. Evidence and results name it, too,
and have to name the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vacr.errors import UnreadableInput

_LONGEST, _MOST = 64, 1 << 63
FORM = (
    "IDENTITY:FRAMES:HEAD, the first and the last in hexadecimal, or a file in JSON with "
    "the members identity, frames and head."
)


@dataclass(frozen=True, slots=True)
class JournalHead:
    """The identity of a journal, how many frames it has, and the hash of the last one."""

    identity: bytes
    frames: int
    head: bytes

    def claim(self) -> dict[str, Any]:
        """Write it as a claim."""
        return {"identity": self.identity, "frames": self.frames, "head": self.head}


def journal_in(record: dict[str, Any]) -> JournalHead | None:
    """Give the head of the journal that a record was made from, if it names one.

    Raises:
        UnreadableInput: what it names is none.
    """
    ours = record.get("vacr")
    metadata = record.get("metadata")
    if (
        ours is None and isinstance(metadata, dict) and metadata.get("vendor") == "vacr"
    ):  # as version 2 has it
        data = metadata.get("data")
        ours = data.get("vacr") if isinstance(data, dict) else None
    inputs = ours.get("inputs") if isinstance(ours, dict) else None
    journal = inputs.get("journal") if isinstance(inputs, dict) else None
    return head_of(journal) if journal is not None else None


def head_of(value: Any) -> JournalHead:
    """Read the head of a journal from what JSON holds.

    Raises:
        UnreadableInput: it is none.
    """
    try:
        identity, frames, head = (
            bytes.fromhex(value["identity"]),
            value["frames"],
            bytes.fromhex(value["head"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableInput(
            "it names a journal, and not how far that went", hint=f"Give {FORM}"
        ) from error
    if (
        type(frames) is not int
        or not 0 <= frames < _MOST
        or not (0 < len(identity) <= _LONGEST and 0 < len(head) <= _LONGEST)
    ):
        raise UnreadableInput(
            "it names a journal, and how far that went is out of range", hint=f"Give {FORM}"
        )
    return JournalHead(identity, frames, head)

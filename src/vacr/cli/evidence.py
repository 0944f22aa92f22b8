"""What the verbs that make and judge evidence have in common: nonces, journals, records, and what
is read and written.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.cli.options import Voice
from vacr.cli.outputs import is_output_folder, write_output_file
from vacr.cli.streams import write_bytes
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence import (
    CBOR_FORM,
    EVIDENCE_MISSING_HINT,
    JOURNAL_HEAD_FORM,
    JournalHead,
    RatsMessages,
    check_nonce,
    parse_journal_head,
    parse_messages,
)
from vacr.files import STDIN, read_bytes
from vacr.verification import parse_signed_record

_JOURNAL_HEAD_PATTERN = re.compile(r"([0-9A-Fa-f]{2,128}):([0-9]{1,18}):([0-9A-Fa-f]{2,128})")
MAX_EVIDENCE_BYTES = 1 << 26
"""How many bytes of a file are read that may be evidence."""


def read_evidence(path: str) -> RatsMessages:
    """Read evidence, and what came along with it.

    Raises:
        UnreadableInput: there is none.
    """
    hint = "vacr attest makes evidence; vacr inspect shows what a file holds."
    data = read_bytes(path, MAX_EVIDENCE_BYTES)
    if not data:
        raise UnreadableInput("empty: there is no evidence in it", where=path, hint=hint)
    try:
        found = parse_messages(data)
    except InvalidStatement as error:
        raise UnreadableInput(
            f"there is no evidence in it: {error.message}", where=path, hint=hint
        ) from error
    if found.evidence is None:
        told, hint = (
            ("a result", EVIDENCE_MISSING_HINT)
            if found.result is not None
            else ("an endorsement", hint)
        )
        raise UnreadableInput(f"this is {told}, not evidence", where=path, hint=hint)
    return found


def choose_output_form(output: str | None, to: str | None, known: tuple[str, ...]) -> str:
    """Give the form to write: the one that was asked for, or else the one that the name of a file
    ends in.

    Raises:
        UsageError: the name says nothing that is known.
    """
    if to is not None or is_output_folder(output) or output == STDIN:
        found = to or CBOR_FORM
    else:
        found = Path(output or "").suffix.removeprefix(".").lower()
    if found not in known:
        hint = f"End the name in {', '.join(f'.{one}' for one in known[:-1])} or .{known[-1]}."
        raise UsageError(f"{output or found} does not say in which form to write", hint=hint)
    return found


def parse_nonce(text: str) -> bytes:
    """Read a nonce in hexadecimal.

    Raises:
        UsageError: it is none.
    """
    try:
        nonce = bytes.fromhex(text)
    except ValueError as error:
        hint = "Take the one that whoever asks for evidence gave; openssl rand -hex 32 makes one."
        raise UsageError("the nonce is not hexadecimal", hint=hint) from error
    check_nonce(nonce)
    return nonce


def read_record_file(path: str) -> tuple[bytes, dict[str, Any]]:
    """Read a record: its bytes, and what it says; nothing for another file.

    Raises:
        UnreadableInput: it cannot be read, or is empty.
    """
    data = read_bytes(path)
    if not data:
        raise UnreadableInput("empty: there is nothing to attest", where=path)
    found = parse_signed_record(data)
    return data, found[0] if found is not None else {}


def read_journal_head(text: str) -> JournalHead:
    """Read the head of a journal that a user gave.

    Raises:
        UsageError: it is neither a head nor a file with one.
        UnreadableInput: the file holds something else.
    """
    found = _JOURNAL_HEAD_PATTERN.fullmatch(text)
    if found:
        return parse_journal_head({"identity": found[1], "frames": int(found[2]), "head": found[3]})
    if not Path(text).exists():
        raise UsageError(f"{text} is no head of a journal", hint=f"Give {JOURNAL_HEAD_FORM}")
    try:
        return parse_journal_head(json.loads(read_bytes(text, 1 << 20)))
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(
            "not a head of a journal", where=text, hint=f"Give {JOURNAL_HEAD_FORM}"
        ) from error


@dataclass(frozen=True)
class OutputTarget:
    """Where a result goes, and how that is told."""

    output: str | None
    overwrite: bool
    voice: Voice

    def put(self, data: bytes, name: str, source: str) -> str | None:
        """Write what was made, and say where; `name` is its name where a folder is given, and its
        path where nothing is.
        """
        if self.output == STDIN:
            write_bytes([data])
            return None
        path = Path(name)
        if self.output is not None:
            path = (
                Path(self.output) / path.name
                if is_output_folder(self.output)
                else Path(self.output)
            )
        write_output_file(path, data, source, (source,), overwrite=self.overwrite)
        return str(path)

    def write(
        self, data: bytes, name: str, source: str, told: str, document: dict[str, Any]
    ) -> None:
        """Write what was made, and tell about it."""
        path = self.put(data, name, source)
        if path is not None:
            self.voice.result(f"{path}: {told}")
            self.voice.data({"output": path, "bytes": len(data), **document})

"""What the verbs about evidence have in common: nonces, journals, and files that lie beside what they are about."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.cli import outputs
from vacr.cli.options import Voice
from vacr.errors import UnreadableInput, UsageError
from vacr.evidence.attester import check_nonce
from vacr.evidence.journal import FORM, JournalHead, head_of
from vacr.evidence.relying_party import Needed
from vacr.evidence.trust_tiers import TIERS
from vacr.sources import STDIN, read_bytes
from vacr.sources.evidence_files import beside, load_keys, load_policy
from vacr.sources.statements import COSE, Pair
from vacr.verification.contents import record_in

_HEAD = re.compile(r"([0-9A-Fa-f]{2,128}):([0-9]{1,18}):([0-9A-Fa-f]{2,128})")
_LARGEST = 1 << 26


@dataclass(frozen=True)
class WantedEvidence:
    """What is asked of evidence, as it can be handed to another process."""

    tier: str
    file: str | None = None
    policy: str | None = None
    verifier_keys: tuple[str, ...] = ()
    nonce: str | None = None

    def __post_init__(self) -> None:
        """Check that it goes together.

        Raises:
            UsageError: it does not.
        """
        if (self.policy is None) == (not self.verifier_keys):
            hint = "Give --evidence-policy to appraise evidence, or --verifier-key to believe a verifier's result."
            raise UsageError("evidence is appraised here, or its result believed: one of both has to be chosen", hint=hint)
        if self.policy is not None and self.nonce is None:
            hint = "Give --nonce, the one that the evidence was asked for with."
            raise UsageError("evidence cannot be appraised without its nonce", hint=hint)


def needed_of(wanted: WantedEvidence) -> Needed:
    """Read what trust in evidence rests on.

    Raises:
        UsageError: the nonce is none.
        Unreachable: a file that trust rests on cannot be read.
        UnreadableInput: it holds something else.
    """
    return Needed(
        TIERS[wanted.tier],
        load_policy(wanted.policy) if wanted.policy is not None else None,
        tuple(key for name in wanted.verifier_keys for key in load_keys(name)),
        nonce_of(wanted.nonce) if wanted.nonce is not None else None,
    )


def evidence_for(pair: Pair, wanted: WantedEvidence) -> bytes | None:
    """Read the evidence, or the result, for a file: the one that is named, or the one beside it.

    Raises:
        UnreadableInput: it cannot be read.
    """
    if wanted.file is not None:
        return read_bytes(wanted.file, _LARGEST)
    about = pair.file or (pair.statement or "").removesuffix(COSE)
    found = beside(about, results=bool(wanted.verifier_keys))
    return read_bytes(found, _LARGEST) if found is not None else None


def nonce_of(text: str) -> bytes:
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


def record_at(path: str) -> tuple[bytes, dict[str, Any]]:
    """Read a record: its bytes, and what it says; nothing for another file.

    Raises:
        UnreadableInput: it cannot be read, or is empty.
    """
    data = read_bytes(path)
    if not data:
        raise UnreadableInput("empty: there is nothing to attest", where=path)
    found = record_in(data)
    return data, found[0] if found is not None else {}


def journal_of(text: str) -> JournalHead:
    """Read the head of a journal that a user gave.

    Raises:
        UsageError: it is neither a head nor a file with one.
        UnreadableInput: the file holds something else.
    """
    found = _HEAD.fullmatch(text)
    if found:
        return head_of({"identity": found[1], "frames": int(found[2]), "head": found[3]})
    if not Path(text).exists():
        raise UsageError(f"{text} is no head of a journal", hint=f"Give {FORM}")
    try:
        return head_of(json.loads(read_bytes(text, 1 << 20)))
    except (ValueError, RecursionError) as error:
        raise UnreadableInput("not a head of a journal", where=text, hint=f"Give {FORM}") from error


@dataclass(frozen=True)
class Target:
    """Where a result goes, and how that is told."""

    output: str | None
    overwrite: bool
    voice: Voice

    def write(self, data: bytes, name: str, source: str, told: str, document: dict[str, Any]) -> None:
        """Write what was made; `name` is its name where a folder is given, and its path where nothing is."""
        if self.output == STDIN:
            outputs.write_stdout([data])
            return
        path = Path(name)
        if self.output is not None:
            path = Path(self.output) / path.name if outputs.is_folder(self.output) else Path(self.output)
        outputs.write_new(path, data, source, (source,), overwrite=self.overwrite)
        self.voice.result(f"{path}: {told}")
        self.voice.data({"output": str(path), "bytes": len(data), **document})

"""Evidence in files: what `attest` and `appraise` read, and what `verify` requires of it.

A relying party either appraises evidence itself, by a policy and with the nonce it asked for, or
believes the result of a verifier whose key it knows. `EvidenceOptions` refuses anything between:

    >>> from vacr.workflows import EvidenceOptions
    >>> EvidenceOptions("affirming", verifier_keys=("verifier.pub.pem",)).tier
    'affirming'
    >>> EvidenceOptions("affirming", policy="policy.toml")
    Traceback (most recent call last):
    vacr.errors.UsageError: evidence cannot be appraised without its nonce

Loading this module loads the code for TPM quotes, so `verify` does that only on request.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence import (
    CBOR_FORM,
    EVIDENCE_MISSING_HINT,
    JOURNAL_HEAD_FORM,
    RESULT_MISSING_HINT,
    TIERS_BY_LABEL,
    EvidenceRequirement,
    JournalHead,
    RatsMessages,
    check_nonce,
    find_evidence_file,
    load_appraisal_policy,
    load_trusted_keys,
    parse_journal_head,
    parse_messages,
)
from vacr.files import STDIN, read_bytes
from vacr.verification import parse_signed_record
from vacr.workflows.record_files import STATEMENT_SUFFIX, StatementPair, is_output_folder

MAX_EVIDENCE_BYTES = 1 << 26
_MAX_JOURNAL_HEAD_BYTES = 1 << 20
_JOURNAL_HEAD_PATTERN = re.compile(r"([0-9A-Fa-f]{2,128}):([0-9]{1,18}):([0-9A-Fa-f]{2,128})")


@dataclass(frozen=True)
class EvidenceOptions:
    """The requirements for evidence, in a form that can be sent to another process."""

    tier: str
    file: str | None = None
    policy: str | None = None
    verifier_keys: tuple[str, ...] = ()
    nonce: str | None = None
    hardware: bool = False

    def __post_init__(self) -> None:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if (self.policy is None) == (not self.verifier_keys):
            hint = (
                "Give --evidence-policy to appraise evidence, or --verifier-key to believe "
                "a verifier's result."
            )
            raise UsageError(
                "evidence is appraised here, or its result believed: one of both has to be chosen",
                hint=hint,
            )
        if self.policy is not None and self.nonce is None:
            hint = "Give --nonce, the one that the evidence was asked for with."
            raise UsageError("evidence cannot be appraised without its nonce", hint=hint)


def load_evidence_requirement(options: EvidenceOptions) -> EvidenceRequirement:
    """Read the policy and the keys that trust in evidence rests on.

    Raises:
        UsageError: the nonce is not one.
        Unreachable: a file that trust rests on cannot be read.
        UnreadableInput: it holds something else.
    """
    return EvidenceRequirement(
        TIERS_BY_LABEL[options.tier],
        load_appraisal_policy(options.policy) if options.policy is not None else None,
        tuple(key for name in options.verifier_keys for key in load_trusted_keys(name)),
        parse_nonce(options.nonce) if options.nonce is not None else None,
        hardware=options.hardware,
    )


def load_evidence_for_file(pair: StatementPair, options: EvidenceOptions) -> bytes | None:
    """Read the evidence, or the result, for a file: the named one, or the one beside it.

    Raises:
        UnreadableInput: it cannot be read.
    """
    path = options.file
    if path is None:
        path = _find_evidence_file(pair, results=bool(options.verifier_keys))
    return read_bytes(path, MAX_EVIDENCE_BYTES) if path is not None else None


def describe_evidence_mismatch(pair: StatementPair, options: EvidenceOptions) -> str | None:
    """Return a hint if there is evidence where a result is required, or the other way round."""
    path = _find_evidence_file(pair, results=not options.verifier_keys)
    if path is None:
        return None
    if options.verifier_keys:
        return f"{path} is evidence. {RESULT_MISSING_HINT}"
    return f"{path} is a result. {EVIDENCE_MISSING_HINT}"


def _find_evidence_file(pair: StatementPair, *, results: bool) -> str | None:
    file = pair.file or (pair.statement or "").removesuffix(STATEMENT_SUFFIX)
    return find_evidence_file(file, results=results)


def read_evidence(path: str) -> RatsMessages:
    """Read evidence, and the messages that came with it.

    Raises:
        UnreadableInput: there is none.
    """
    hint = "vacr attest makes evidence; vacr inspect shows what a file holds."
    data = read_bytes(path, MAX_EVIDENCE_BYTES)
    if not data:
        raise UnreadableInput("empty: there is no evidence in it", where=path, hint=hint)
    try:
        messages = parse_messages(data)
    except InvalidStatement as error:
        raise UnreadableInput(
            f"there is no evidence in it: {error.message}", where=path, hint=hint
        ) from error
    if messages.evidence is None:
        kind = "an endorsement"
        if messages.result is not None:
            kind, hint = "a result", EVIDENCE_MISSING_HINT
        raise UnreadableInput(f"this is {kind}, not evidence", where=path, hint=hint)
    return messages


def read_record_file(path: str) -> tuple[bytes, dict[str, Any]]:
    """Read the bytes of a file, and the record in them; the record is empty for another file.

    Raises:
        UnreadableInput: it cannot be read, or is empty.
    """
    data = read_bytes(path)
    if not data:
        raise UnreadableInput("empty: there is nothing to attest", where=path)
    parsed = parse_signed_record(data)
    return data, parsed[0] if parsed is not None else {}


def read_journal_head(text: str) -> JournalHead:
    """Parse the head of a journal, or read it from the file of that name.

    Raises:
        UsageError: it is neither a head nor a file with one.
        UnreadableInput: the file holds something else.
    """
    match = _JOURNAL_HEAD_PATTERN.fullmatch(text)
    if match:
        identity, frames, head = match.groups()
        return parse_journal_head({"identity": identity, "frames": int(frames), "head": head})
    if not Path(text).exists():
        raise UsageError(f"{text} is no head of a journal", hint=f"Give {JOURNAL_HEAD_FORM}")
    try:
        return parse_journal_head(json.loads(read_bytes(text, _MAX_JOURNAL_HEAD_BYTES)))
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(
            "not a head of a journal", where=text, hint=f"Give {JOURNAL_HEAD_FORM}"
        ) from error


def parse_nonce(text: str) -> bytes:
    """Parse a nonce in hexadecimal.

    Raises:
        UsageError: it is not one.
    """
    try:
        nonce = bytes.fromhex(text)
    except ValueError as error:
        hint = "Use the verifier's challenge. To create one: openssl rand -hex 32"
        raise UsageError("the nonce is not hexadecimal", hint=hint) from error
    check_nonce(nonce)
    return nonce


def choose_output_form(output: str | None, to: str | None, known: tuple[str, ...]) -> str:
    """Return the form to write: the requested one, or else the one that the file name ends in.

    Raises:
        UsageError: the name ends in no form that is known.
    """
    if to is not None or is_output_folder(output) or output == STDIN:
        form = to or CBOR_FORM
    else:
        form = Path(output or "").suffix.removeprefix(".").lower()
    if form not in known:
        endings = ", ".join(f".{name}" for name in known[:-1])
        hint = f"End the name in {endings} or .{known[-1]}."
        raise UsageError(f"{output or form} does not say in which form to write", hint=hint)
    return form

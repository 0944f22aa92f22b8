"""Evidence in files: read by `attest` and `appraise`, required by `verify`.

A relying party either appraises evidence itself, with a policy and the nonce that it sent, or
accepts the result of a verifier whose key it knows. `EvidenceOptions` refuses any mixture:

    >>> from vacr.workflows import EvidenceOptions
    >>> EvidenceOptions("affirming", verifier_keys=("verifier.pub.pem",)).tier
    'affirming'
    >>> EvidenceOptions("affirming", policy="policy.toml")
    Traceback (most recent call last):
    vacr.errors.UsageError: --evidence-policy needs --nonce

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
from vacr.workflows.output_files import is_output_folder
from vacr.workflows.statement_files import STATEMENT_SUFFIX, StatementPair

MAX_EVIDENCE_BYTES = 1 << 26
_MAX_JOURNAL_HEAD_BYTES = 1 << 20
_JOURNAL_HEAD_PATTERN = re.compile(r"([0-9A-Fa-f]{2,128}):([0-9]{1,18}):([0-9A-Fa-f]{2,128})")


@dataclass(frozen=True)
class EvidenceOptions:
    """The requirements for evidence, in a form that can be sent to another process."""

    tier: str
    """The worst tier that is accepted, such as `affirming`."""
    file: str | None = None
    """The file of the evidence or result; if None, the one next to the verified file."""
    policy: str | None = None
    """The policy file for appraising evidence."""
    verifier_keys: tuple[str, ...] = ()
    """The key files of verifiers whose results are accepted."""
    nonce: str | None = None
    """The nonce of the challenge, in hexadecimal."""
    hardware: bool = False
    """Whether hardware must be affirmed."""
    store_verifiers: bool = False
    """Whether the trust store lists verifiers whose results are accepted."""

    @property
    def needs_result(self) -> bool:
        """Return whether a verifier's result is required, and not evidence."""
        return bool(self.verifier_keys) or self.policy is None

    def __post_init__(self) -> None:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if self.policy is not None and self.verifier_keys:
            raise UsageError(
                "--evidence-policy and --verifier-key exclude each other",
                hint="Omit --verifier-key to appraise the evidence yourself, or --evidence-policy "
                "to accept the result of a verifier.",
            )
        if self.policy is None and not self.verifier_keys and not self.store_verifiers:
            raise UsageError(
                "--require-evidence needs --evidence-policy, --verifier-key, or a verifier in the "
                "trust store",
                hint="Add --evidence-policy to appraise the evidence yourself, or --verifier-key "
                "to accept the result of a verifier.",
            )
        if self.policy is not None and self.nonce is None:
            hint = "Add --nonce HEX: the nonce that you sent to the attester."
            raise UsageError("--evidence-policy needs --nonce", hint=hint)


def load_evidence_requirement(options: EvidenceOptions) -> EvidenceRequirement:
    """Return the requirement for evidence, with the policy and verifier keys read from files.

    Raises:
        UsageError: the nonce is invalid.
        Unreachable: the policy or a key file cannot be read.
        UnreadableInput: the policy is malformed, or a key file contains no key.
    """
    return EvidenceRequirement(
        TIERS_BY_LABEL[options.tier],
        load_appraisal_policy(options.policy) if options.policy is not None else None,
        tuple(key for name in options.verifier_keys for key in load_trusted_keys(name)),
        parse_nonce(options.nonce) if options.nonce is not None else None,
        hardware=options.hardware,
    )


def load_evidence_for_file(pair: StatementPair, options: EvidenceOptions) -> bytes | None:
    """Return the bytes of the named evidence or result, or of the one next to the pair's file.

    Look for evidence if the options have a policy, and for a result otherwise. Return `None`
    if no file is found.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    path = options.file
    if path is None:
        path = _find_evidence_file(pair, results=options.needs_result)
    return read_bytes(path, MAX_EVIDENCE_BYTES) if path is not None else None


def describe_evidence_mismatch(pair: StatementPair, options: EvidenceOptions) -> str | None:
    """Return a hint if only evidence exists but a result is required, or the other way round.

    Return `None` if the other kind of file does not exist either.
    """
    path = _find_evidence_file(pair, results=not options.needs_result)
    if path is None:
        return None
    if options.needs_result:
        return f"{path} is evidence. {RESULT_MISSING_HINT}"
    return f"{path} is a result. {EVIDENCE_MISSING_HINT}"


def _find_evidence_file(pair: StatementPair, *, results: bool) -> str | None:
    """Return the path of the evidence, or of the result, next to a pair's file, or None."""
    file = pair.file or (pair.statement or "").removesuffix(STATEMENT_SUFFIX)
    return find_evidence_file(file, results=results)


def read_evidence(path: str) -> RatsMessages:
    """Read the evidence in a file, with the result and the endorsements that came with it.

    Raises:
        UnreadableInput: the file cannot be read, or contains no evidence.
    """
    hint = "To create evidence: vacr evidence attest. To look into a file: vacr inspect"
    data = read_bytes(path, MAX_EVIDENCE_BYTES)
    if not data:
        raise UnreadableInput("the file is empty", where=path, hint=hint)
    try:
        messages = parse_messages(data)
    except InvalidStatement as error:
        raise UnreadableInput(f"not evidence: {error.message}", where=path, hint=hint) from error
    if messages.evidence is None:
        kind = "an endorsement"
        if messages.result is not None:
            kind, hint = "a result", EVIDENCE_MISSING_HINT
        raise UnreadableInput(f"this is {kind}, not evidence", where=path, hint=hint)
    return messages


def read_record_file(path: str) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of a file, and the record in it, or `{}` if it is not a record.

    Raises:
        UnreadableInput: the file cannot be read, or is empty.
    """
    data = read_bytes(path)
    if not data:
        raise UnreadableInput(
            "the file is empty", where=path, hint="Name the record that the evidence is about."
        )
    parsed = parse_signed_record(data)
    return data, parsed[0] if parsed is not None else {}


def read_journal_head(text: str) -> JournalHead:
    """Parse a journal head in the form IDENTITY:FRAMES:HEAD, or read it from a JSON file.

    Raises:
        UsageError: the text has another form, and no file has that name.
        UnreadableInput: the file does not contain a journal head.
    """
    match = _JOURNAL_HEAD_PATTERN.fullmatch(text)
    if match:
        identity, frames, head = match.groups()
        parts = {"identity": identity, "frames": int(frames), "head": head}
        return parse_journal_head(parts, f"the journal head {text}")
    if not Path(text).exists():
        raise UsageError(
            f"{text} is neither a journal head nor an existing file",
            hint=f"Expected: {JOURNAL_HEAD_FORM}",
        )
    try:
        value = json.loads(read_bytes(text, _MAX_JOURNAL_HEAD_BYTES))
        return parse_journal_head(value, f"the journal head in {text}")
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(
            "the file is not a journal head", where=text, hint=f"Expected: {JOURNAL_HEAD_FORM}"
        ) from error


def parse_nonce(text: str) -> bytes:
    """Return the bytes of a nonce in hexadecimal.

    Raises:
        UsageError: the nonce is not hexadecimal, too short or too long.
    """
    try:
        nonce = bytes.fromhex(text)
    except ValueError as error:
        hint = "Use the verifier's challenge. To create one: openssl rand -hex 32"
        raise UsageError("the nonce is not hexadecimal", hint=hint) from error
    check_nonce(nonce)
    return nonce


def choose_output_form(output: str | None, to: str | None, known: tuple[str, ...]) -> str:
    """Return the form to write: `to` if it is set, or else the ending of the output's name.

    Without either, as for a folder or standard output, the form is `cbor`.

    Raises:
        UsageError: the form is not one of the `known` ones.
    """
    if to is not None or is_output_folder(output) or output == STDIN:
        form = to or CBOR_FORM
    else:
        form = Path(output or "").suffix.removeprefix(".").lower()
    if form not in known:
        endings = ", ".join(f".{name}" for name in known[:-1])
        hint = f"End the name in {endings} or .{known[-1]}."
        raise UsageError(f"unknown output form: {output or form}", hint=hint)
    return form

"""What `vacr verify` asks of evidence, and where it finds some: the part of the relying party."""

from __future__ import annotations

from dataclasses import dataclass

from vacr.cli.evidence import MAX_EVIDENCE_BYTES, parse_nonce
from vacr.errors import UsageError
from vacr.evidence import (
    EVIDENCE_MISSING_HINT,
    RESULT_MISSING_HINT,
    TIERS_BY_LABEL,
    EvidenceRequirement,
    find_evidence_beside,
    load_appraisal_policy,
    load_trusted_keys,
)
from vacr.files import read_bytes
from vacr.workflows import STATEMENT_SUFFIX, StatementPair


@dataclass(frozen=True)
class EvidenceOptions:
    """What is asked of evidence, as it can be handed to another process."""

    tier: str
    file: str | None = None
    policy: str | None = None
    verifier_keys: tuple[str, ...] = ()
    nonce: str | None = None
    hardware: bool = False

    def __post_init__(self) -> None:
        """Check that it goes together.

        Raises:
            UsageError: it does not.
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


def load_evidence_requirements(wanted: EvidenceOptions) -> EvidenceRequirement:
    """Read what trust in evidence rests on.

    Raises:
        UsageError: the nonce is none.
        Unreachable: a file that trust rests on cannot be read.
        UnreadableInput: it holds something else.
    """
    return EvidenceRequirement(
        TIERS_BY_LABEL[wanted.tier],
        load_appraisal_policy(wanted.policy) if wanted.policy is not None else None,
        tuple(key for name in wanted.verifier_keys for key in load_trusted_keys(name)),
        parse_nonce(wanted.nonce) if wanted.nonce is not None else None,
        hardware=wanted.hardware,
    )


def load_evidence_for_file(pair: StatementPair, wanted: EvidenceOptions) -> bytes | None:
    """Read the evidence, or the result, for a file: the one that is named, or the one beside it.

    Raises:
        UnreadableInput: it cannot be read.
    """
    if wanted.file is not None:
        return read_bytes(wanted.file, MAX_EVIDENCE_BYTES)
    found = _find_evidence_beside(pair, results=bool(wanted.verifier_keys))
    return read_bytes(found, MAX_EVIDENCE_BYTES) if found is not None else None


def describe_evidence_mismatch(pair: StatementPair, wanted: EvidenceOptions) -> str | None:
    """Say what to do where there is evidence and a result was asked for, or a result where evidence
    was.
    """
    found = _find_evidence_beside(pair, results=not wanted.verifier_keys)
    if found is None:
        return None
    return (
        f"{found} is evidence. {RESULT_MISSING_HINT}"
        if wanted.verifier_keys
        else f"{found} is a result. {EVIDENCE_MISSING_HINT}"
    )


def _find_evidence_beside(pair: StatementPair, *, results: bool) -> str | None:
    return find_evidence_beside(
        pair.file or (pair.statement or "").removesuffix(STATEMENT_SUFFIX), results=results
    )

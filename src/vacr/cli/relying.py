"""What `vacr verify` asks of evidence, and where it finds some: the part of the relying party."""

from __future__ import annotations

from dataclasses import dataclass

from vacr.cli.evidence import LARGEST, nonce_of
from vacr.errors import UsageError
from vacr.evidence.relying_party import ASK, BELIEVE, Needed
from vacr.evidence.trust_tiers import TIERS
from vacr.sources import read_bytes
from vacr.sources.evidence_files import beside, load_keys, load_policy
from vacr.sources.statements import COSE, Pair


@dataclass(frozen=True)
class WantedEvidence:
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
        hardware=wanted.hardware,
    )


def evidence_for(pair: Pair, wanted: WantedEvidence) -> bytes | None:
    """Read the evidence, or the result, for a file: the one that is named, or the one beside it.

    Raises:
        UnreadableInput: it cannot be read.
    """
    if wanted.file is not None:
        return read_bytes(wanted.file, LARGEST)
    found = _beside(pair, results=bool(wanted.verifier_keys))
    return read_bytes(found, LARGEST) if found is not None else None


def hint_for(pair: Pair, wanted: WantedEvidence) -> str | None:
    """Say what to do where there is evidence and a result was asked for, or a result where evidence
    was.
    """
    found = _beside(pair, results=not wanted.verifier_keys)
    if found is None:
        return None
    return (
        f"{found} is evidence. {ASK}" if wanted.verifier_keys else f"{found} is a result. {BELIEVE}"
    )


def _beside(pair: Pair, *, results: bool) -> str | None:
    return beside(pair.file or (pair.statement or "").removesuffix(COSE), results=results)

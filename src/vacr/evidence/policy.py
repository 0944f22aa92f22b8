"""What a verifier asks of evidence. Role: verifier. Step: appraise. Trust has no default: a policy
without keys knows nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vacr.evidence import labels
from vacr.evidence.components import Component
from vacr.signing.algorithms import PublicKey

HOUR, DAY = 3600, 86400

REQUIRABLE = ("agent", "configuration", "hardware", "journal", "tpm")
"""What a policy can ask for beside what all evidence has."""


@dataclass(frozen=True)
class AppraisalPolicy:
    """Who is known, and what evidence has to say."""

    id: str
    """The name of the policy, which results give."""
    references: tuple[Component, ...] = ()
    attester_keys: tuple[PublicKey, ...] = ()
    """Keys of attesters in software."""
    attestation_keys: tuple[PublicKey, ...] = ()
    """Keys of TPMs that are known, each by itself."""
    endorsed: frozenset[bytes] = frozenset()
    """Names of keys that were shown to be in a TPM whose maker certified it."""
    endorser_keys: tuple[PublicKey, ...] = ()
    """Who may endorse keys in messages that come along with evidence."""
    software_is_enough: bool = False
    """Whether evidence can be affirmed that no hardware vouches for."""
    profiles: frozenset[str] = frozenset((labels.PROFILE,))
    versions: frozenset[str] = frozenset()
    """Versions of the recorder that are accepted; all where there are none."""
    required: frozenset[str] = frozenset()
    maximum_age: int = HOUR
    result_validity: int = DAY
    """For how many seconds a result holds."""
    pcrs: dict[int, frozenset[bytes]] = field(default_factory=dict)
    """The values that registers of the TPM may have."""

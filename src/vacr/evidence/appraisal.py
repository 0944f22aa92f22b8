"""What a verifier found, check by check, and what follows from it. Step: appraise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from vacr.evidence import trust_tiers as values
from vacr.evidence.trust_tiers import Tier, tier_of, worst


@dataclass(frozen=True, slots=True)
class Check:
    """One check: the claim of the vector that it is about, the value it gives, and what
    was found.
    """

    name: str
    claim: str
    value: int
    told: str
    reason: str = ""
    decided: bool = True
    """Whether anything was compared: what is only said, or is missing, is not."""
    stands: bool = False
    """Whether it holds by itself, whatever else is wrong: as a signature does."""

    @property
    def tier(self) -> Tier:
        """How far what was found is trusted."""
        return tier_of(self.value)


@dataclass(slots=True)
class Appraisal:
    """The result of an appraisal."""

    policy: str
    nonce: bytes
    record: bytes
    journal: dict[str, Any] | None
    checks: list[Check] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    """What else is worth knowing, such as the counters of the TPM; none of it is in the result."""
    bound: bool = True
    """Whether the evidence is authentic, fresh, and about what was asked for."""
    key_storage: str | None = None
    """Where the key is that vouches for the evidence, once that is known to be so."""

    def found(
        self,
        name: str,
        claim: str,
        value: int,
        told: str,
        reason: str = "",
        *,
        stands: bool = False,
    ) -> None:
        """Add what a check found."""
        self.checks.append(Check(name, claim, value, told, reason, stands=stands))

    def undecided(self, name: str, claim: str, told: str) -> None:
        """Add what is said or missing, and cannot be compared with anything."""
        self.checks.append(Check(name, claim, values.NO_CLAIM, told, decided=False))

    def unbound(self, name: str, told: str, reason: str) -> None:
        """Add a check that leaves nothing of the evidence to be believed."""
        self.bound = False
        self.found(name, "instance-identity", values.NOT_VALIDATED, told, reason)

    def settle(self) -> None:
        """Take back what was found good, where nobody who is known stands behind it; that is so
        when all checks are made.
        """
        stranger = (
            tier_of(worst(one.value for one in self.checks if one.claim == "instance-identity"))
            is Tier.CONTRAINDICATED
        )
        if self.bound and not stranger:
            return
        self.key_storage = None
        for at, one in enumerate(self.checks):
            if one.tier <= Tier.AFFIRMING and one.decided and not one.stands:
                self.checks[at] = replace(
                    one, value=values.NO_CLAIM, told=f"{one.told}; not proven", decided=False
                )

    @property
    def vector(self) -> dict[str, int]:
        """The worst value of each claim; all are invalid where the evidence is not authentic, not
        fresh, or of something else.
        """
        claims = {check.claim for check in self.checks}
        if not self.bound:
            return dict.fromkeys(
                (claim for claim in values.CLAIMS if claim in claims), values.NOT_VALIDATED
            )
        vector = {
            name: worst(one.value for one in self.checks if one.claim == name)
            for name in values.CLAIMS
            if name in claims
        }
        # That no hardware vouches for it is said, and not left to be noticed by what is missing.
        return {
            name: value
            for name, value in vector.items()
            if value != values.NO_CLAIM or name == "hardware"
        }

    @property
    def status(self) -> Tier:
        """The worst tier of the vector; nothing is affirmed of a recorder whose files were not
        compared with anything.
        """
        vector = self.vector
        status = tier_of(worst(vector.values()))
        if (
            status is Tier.AFFIRMING
            and tier_of(vector.get("file-system", values.NO_CLAIM)) is not Tier.AFFIRMING
        ):
            return Tier.NONE
        return status

    @property
    def worst_check(self) -> Check | None:
        """The first of the checks that made the status what it is; none where all is affirmed."""
        bad = [check for check in self.checks if check.tier > Tier.AFFIRMING]
        return max(bad, key=lambda check: check.tier, default=None)

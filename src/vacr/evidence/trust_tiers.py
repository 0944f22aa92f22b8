"""How far something is trusted: tiers, and the values behind them. Step: appraise. Follows
draft-ietf-rats-ar4si-09, section 2.3.

A value from 2 to 31 affirms, from 32 to 95 warns, from 96 on contraindicates; the negative ones do
the same for reasons that no standard has. 0, 1 and -1 say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Tier(IntEnum):
    """How far something is trusted; the numbers are those of results."""

    NONE = 0
    AFFIRMING = 2
    WARNING = 32
    CONTRAINDICATED = 96

    @property
    def label(self) -> str:
        """The name of the tier in results and on the command line."""
        return self.name.lower()


TIERS = {tier.label: tier for tier in Tier}

CLAIMS = {
    "instance-identity": 0,
    "configuration": 1,
    "executables": 2,
    "file-system": 3,
    "hardware": 4,
    "runtime-opaque": 5,
    "storage-opaque": 6,
    "sourced-data": 7,
}
"""The claims of a trustworthiness vector, with their numbers in CBOR."""

# Values that the draft has.
NO_CLAIM, APPROVED, BOOT_APPROVED = 0, 2, 3
UNRECOGNISED, UNATTESTED = 32, 32
REFUSED, NOT_RECOGNISED, NOT_VALIDATED = 96, 97, 99
# Values of ours.
KEY_IN_SOFTWARE, CONFIGURATION_UNKNOWN, CONFIGURATION_CHANGED = -33, -33, -97

_LEAST, _MOST = -128, 127


def tier_of(value: int) -> Tier:
    """Give the tier of a value.

    Raises:
        ValueError: no claim has such a value.
    """
    if not _LEAST <= value <= _MOST:
        raise ValueError("a value outside of its range")
    if value in (-1, 0, 1):
        return Tier.NONE
    size = value if value > 0 else -value - 1
    if size < Tier.WARNING:
        return Tier.AFFIRMING
    return Tier.WARNING if size < Tier.CONTRAINDICATED else Tier.CONTRAINDICATED


def worst(values: Iterable[int]) -> int:
    """Give the value that stands for several: of the worst tier, one that a standard has before one
    of ours.
    """
    return max(values, key=lambda value: (tier_of(value), value > 0, abs(value)), default=NO_CLAIM)


def is_enough(found: Tier, wanted: Tier) -> bool:
    """Tell whether a tier is no worse than another; that nothing is said is never enough."""
    return found is not Tier.NONE and found <= wanted

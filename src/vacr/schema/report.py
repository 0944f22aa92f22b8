"""What validation says about a value. Step: validate."""

from __future__ import annotations

from dataclasses import dataclass, field

from vacr.errors import InvalidRecord
from vacr.schema.cddl import Finding


@dataclass(frozen=True)
class Report:
    """The verdict about one value: findings make it invalid; remarks are worth a look and
    do not.
    """

    rule: str
    schema: str
    findings: list[Finding] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __bool__(self) -> bool:
        """Be true for a valid value."""
        return self.valid

    def raise_for_errors(self) -> None:
        """Do nothing for a valid value.

        Raises:
            InvalidRecord: naming the first finding, and how many there are.
        """
        if self.findings:
            first, more = self.findings[0], len(self.findings) - 1
            raise InvalidRecord(
                f"{first.rule}: {first.found}, expected {first.expected}"
                + (f" (and {more} more)" if more else ""),
                where=first.pointer or "/",
            )

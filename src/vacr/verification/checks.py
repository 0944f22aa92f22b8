"""What was checked, in order, and how each check ended. Step: verify."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from vacr.errors import InvalidStatement, VacrError

PASSED, FAILED, UNDECIDED = "passed", "failed", "not decidable"

NAMES = (
    "structure",
    "algorithm",
    "trust",
    "signature",
    "content",
    "claims",
    "receipt",
    "timestamp",
    "certificate",
    "metadata",
    "record",
    "attribution",
    "source",
    "evidence",
)
"""The checks, in the order they are made."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, how it ended, and what was found."""

    name: str
    outcome: str
    told: str
    reason: str = ""


@dataclass(slots=True)
class Checks:
    """The checks of one verification, while it goes on."""

    made: list[Check] = field(default_factory=list)

    def passed(self, name: str, told: str) -> None:
        """Say that a check passed."""
        self.made.append(Check(name, PASSED, told))

    def undecided(self, name: str, told: str) -> None:
        """Say that a check cannot be made with what is at hand."""
        self.made.append(Check(name, UNDECIDED, told))

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Do a part of a check; what fails in it is kept under its name, and ends the
        verification.
        """
        try:
            yield
        except VacrError as error:
            found = (
                error
                if isinstance(error, InvalidStatement)
                else InvalidStatement(str(error), reason="unreadable")
            )
            self.made.append(Check(name, FAILED, str(found), found.reason))
            raise VerificationFailed(found, tuple(self.made)) from error


class VerificationFailed(InvalidStatement):
    """A verification that ended with a check that failed; `checks` are those made until then."""

    def __init__(self, error: InvalidStatement, checks: tuple[Check, ...]) -> None:
        """Keep the reason and what was checked before."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.checks = checks

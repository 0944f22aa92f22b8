"""What was checked, in order, and how each check ended. Step: verify.

What a verifier asks of a signature. Step: verify. Trust has no default: a policy without keys
and roots trusts nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography import x509

from vacr.errors import InvalidStatement, VacrError
from vacr.signing import ALGORITHMS, PublicKey
from vacr.transparency import ENTRY_RULE_STATEMENT

if TYPE_CHECKING:
    from vacr.evidence import EvidenceRequirement

CHECK_PASSED, CHECK_FAILED, CHECK_UNDECIDED = "passed", "failed", "not decidable"

CHECK_NAMES = (
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
        self.made.append(Check(name, CHECK_PASSED, told))

    def undecided(self, name: str, told: str) -> None:
        """Say that a check cannot be made with what is at hand."""
        self.made.append(Check(name, CHECK_UNDECIDED, told))

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
            self.made.append(Check(name, CHECK_FAILED, str(found), found.reason))
            raise VerificationFailed(found, tuple(self.made)) from error


class VerificationFailed(InvalidStatement):
    """A verification that ended with a check that failed; `checks` are those made until then."""

    def __init__(self, error: InvalidStatement, checks: tuple[Check, ...]) -> None:
        """Keep the reason and what was checked before."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.checks = checks


CODE_SIGNING_USAGE = "1.3.6.1.5.5.7.3.3"


@dataclass(frozen=True)
class Policy:
    """Who is trusted, and what else has to hold."""

    keys: tuple[PublicKey, ...] = ()
    """Keys that are trusted as they are."""
    roots: tuple[x509.Certificate, ...] = ()
    """Certificates that a chain has to end in."""
    issuer: str | None = None
    subject: str | None = None
    algorithms: frozenset[int] = field(default_factory=lambda: frozenset(ALGORITHMS))
    extended_key_usage: str | None = None
    """A usage that the signer's certificate has to have; one that names usages has to name code
    signing or this.
    """
    timestamp_roots: tuple[x509.Certificate, ...] = ()
    needs_timestamp: bool = False
    log_keys: tuple[PublicKey, ...] = ()
    """Keys of transparency logs; with any, a statement has to have a receipt of one of them."""
    entry_rule: str = ENTRY_RULE_STATEMENT
    """What of a statement is in those logs, see `receipts.entries`."""
    lenient_receipts: bool = False
    """Whether a receipt may be for the only entry of a log, whose path is empty; RFC 9942 has no
    form for it.
    """
    needs_record: bool = False
    """Whether what was signed has to be a record, and not anything else."""
    schema_version: str | None = None
    """The major version of the schema that a record has to follow."""
    evidence: EvidenceRequirement | None = None
    """What has to vouch for how a record was recorded."""

"""The verification policy, and the checks that a verification reports.

Trust has no default: a policy without keys and roots trusts no signer. A verification makes its
checks in the order of `CHECK_NAMES` and ends with the first failure.
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
"""The names of the checks, in the order they are made."""

CODE_SIGNING_USAGE = "1.3.6.1.5.5.7.3.3"


@dataclass(frozen=True)
class Policy:
    """The trusted keys, and the requirements on a statement."""

    keys: tuple[PublicKey, ...] = ()
    """Public keys that are trusted directly."""
    roots: tuple[x509.Certificate, ...] = ()
    """Root certificates that a certificate chain may end in."""
    issuer: str | None = None
    subject: str | None = None
    algorithms: frozenset[int] = field(default_factory=lambda: frozenset(ALGORITHMS))
    extended_key_usage: str | None = None
    """A usage (OID) that the signer's certificate must have.

    A certificate that lists usages must list this one or code signing.
    """
    timestamp_roots: tuple[x509.Certificate, ...] = ()
    needs_timestamp: bool = False
    log_keys: tuple[PublicKey, ...] = ()
    """Public keys of transparency logs.

    With any, a statement needs a receipt of one of these logs.
    """
    entry_rule: str = ENTRY_RULE_STATEMENT
    """How the logs derive an entry from a statement; see `vacr.transparency.build_log_entry`."""
    lenient_receipts: bool = False
    """Accept a receipt with an empty path, for the only entry of a log.

    RFC 9942 does not allow it.
    """
    needs_record: bool = False
    """Require that the payload is a record."""
    schema_version: str | None = None
    """The major schema version that a record must have."""
    evidence: EvidenceRequirement | None = None
    """The evidence required about how a record was recorded."""


@dataclass(frozen=True, slots=True)
class Check:
    """A finished check: its name, its outcome and its finding."""

    name: str
    outcome: str
    told: str
    reason: str = ""


@dataclass(slots=True)
class Checks:
    """The checks of a verification in progress."""

    finished: list[Check] = field(default_factory=list)

    def add_passed(self, name: str, finding: str) -> None:
        """Add a check that passed."""
        self.finished.append(Check(name, CHECK_PASSED, finding))

    def add_undecided(self, name: str, finding: str) -> None:
        """Add a check that the verifier cannot make, such as one without trusted keys."""
        self.finished.append(Check(name, CHECK_UNDECIDED, finding))

    @contextmanager
    def run(self, name: str) -> Iterator[None]:
        """Run a part of a check, and turn an error in it into a failed check.

        Raises:
            VerificationFailed: the part raised an error.
        """
        try:
            yield
        except VacrError as error:
            failure = (
                error
                if isinstance(error, InvalidStatement)
                else InvalidStatement(str(error), reason="unreadable")
            )
            self.finished.append(Check(name, CHECK_FAILED, str(failure), failure.reason))
            raise VerificationFailed(failure, tuple(self.finished)) from error


class VerificationFailed(InvalidStatement):
    """A verification that a failed check ended; `checks` are the checks up to and including it."""

    def __init__(self, error: InvalidStatement, checks: tuple[Check, ...]) -> None:
        """Copy the message and the reason of an error, and keep the checks."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.checks = checks

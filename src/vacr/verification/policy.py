"""The policy of a verification, and the results of its checks.

A `Policy` lists the trusted keys and the requirements of a verifier. Trust has no default: a policy
without keys and roots trusts no signer. `Checks` collects the result of each check; the first
failed check ends a verification.

    >>> from vacr.errors import InvalidStatement
    >>> from vacr.verification import Checks, VerificationFailed
    >>> checks = Checks()
    >>> checks.add_passed("structure", "COSE_Sign1, detached")
    >>> try:
    ...     with checks.run("trust"):
    ...         raise InvalidStatement("no trusted key given", reason="no-trust")
    ... except VerificationFailed as failure:
    ...     [(check.name, check.outcome, check.reason) for check in failure.checks]
    [('structure', 'passed', ''), ('trust', 'failed', 'no-trust')]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cryptography import x509

from vacr.errors import InvalidStatement, VacrError
from vacr.signing import ALGORITHMS, PublicKey
from vacr.transparency import ENTRY_RULE_STATEMENT

if TYPE_CHECKING:
    from vacr.evidence import EvidenceRequirement
    from vacr.verification.trust_store import TrustStore

CHECK_PASSED, CHECK_FAILED, CHECK_UNDECIDED = "passed", "failed", "not decidable"


@dataclass(frozen=True)
class Policy:
    """The keys and roots that a verifier trusts, and their requirements on a statement."""

    keys: tuple[PublicKey, ...] = ()
    """Public keys that are trusted directly."""
    roots: tuple[x509.Certificate, ...] = ()
    """Root certificates that a certificate chain may end in."""
    trust_store: TrustStore | None = None
    """The parties that are trusted by name, each in its roles."""
    issuer: str | None = None
    """The issuer that a statement must claim; None accepts any or none."""
    subject: str | None = None
    """The subject that a statement must claim; None accepts any or none."""
    algorithms: frozenset[int] = field(default_factory=lambda: frozenset(ALGORITHMS))
    """The COSE numbers of the accepted signature algorithms."""
    extended_key_usage: str | None = None
    """A usage (OID) that the signer's certificate must list.

    If None, a certificate that lists usages must list code signing or any usage.
    """
    timestamp_roots: tuple[x509.Certificate, ...] = ()
    """Root certificates of trusted timestamp authorities, next to those of the trust store."""
    needs_timestamp: bool = False
    """Require that a trusted timestamp proves when the statement was signed."""
    log_keys: tuple[PublicKey, ...] = ()
    """Public keys of trusted transparency logs, next to the logs of the trust store.

    If there are any, a statement needs a receipt of one of these logs.
    """
    needs_receipt: bool = False
    """Require a receipt of a trusted log, also if only the trust store lists logs."""
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
    """The result of one check."""

    name: str
    """One of: structure, algorithm, trust, signature, content, claims, receipt, witnesses,
    timestamp, certificate, metadata, record, attribution, source, evidence."""
    outcome: str
    """CHECK_PASSED, CHECK_FAILED or CHECK_UNDECIDED."""
    finding: str
    """The result as a sentence for people."""
    reason: str = ""
    """The cause of a failed check as one word for programs, such as `expired`."""


@dataclass(slots=True)
class Checks:
    """The results that a verification in progress has collected so far."""

    finished: list[Check] = field(default_factory=list)

    def add_passed(self, name: str, finding: str) -> None:
        """Add the result of a check that passed."""
        self.finished.append(Check(name, CHECK_PASSED, finding))

    def add_undecided(self, name: str, finding: str) -> None:
        """Add a check that the verifier cannot make, for example because no key is trusted."""
        self.finished.append(Check(name, CHECK_UNDECIDED, finding))

    @contextmanager
    def run(self, name: str) -> Iterator[None]:
        """Run the `with` block as part of a check: an error in the block fails the check.

        The block itself adds the result of a check that passes.

        Raises:
            VerificationFailed: the block raised a `VacrError`.
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
    """A failed check ended a verification; `checks` are the results up to and including it."""

    def __init__(self, error: InvalidStatement, checks: tuple[Check, ...]) -> None:
        """Copy the message, place, hint and reason of `error`, and keep the checks."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.checks = checks


def format_time(time: datetime) -> str:
    """Format a time for a finding, in UTC and to the second, such as `2026-01-02T00:00:00Z`.

    Fractions of a second are cut off. A time without a zone counts as local time.
    """
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

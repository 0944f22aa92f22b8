"""What a verifier asks of a signature. Step: verify. Trust has no default: a policy without keys
and roots trusts nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography import x509

from vacr.evidence.relying_party import Needed
from vacr.receipts.entries import STATEMENT
from vacr.signing.algorithms import ALGORITHMS, PublicKey

CODE_SIGNING = "1.3.6.1.5.5.7.3.3"


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
    entry_rule: str = STATEMENT
    """What of a statement is in those logs, see `receipts.entries`."""
    lenient_receipts: bool = False
    """Whether a receipt may be for the only entry of a log, whose path is empty; RFC 9942 has no
    form for it.
    """
    needs_record: bool = False
    """Whether what was signed has to be a record, and not anything else."""
    schema_version: str | None = None
    """The major version of the schema that a record has to follow."""
    evidence: Needed | None = None
    """What has to vouch for how a record was recorded."""

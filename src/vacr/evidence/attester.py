"""The attester: measurements and what they are about → evidence. Role: attester. Step: attest.
Follows RFC 9711.

The claims are signed by the attester's key. Where there is a TPM, its quote over the claims goes
along as a submodule, and the claims say so: without it they say that the key is in software, so
that nobody can take the quote away unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vacr.errors import UsageError
from vacr.evidence import cwt, labels
from vacr.evidence.components import Component
from vacr.evidence.journal import JournalHead
from vacr.evidence.quote import Quoted, qualifying_data
from vacr.signing import keys
from vacr.signing import labels as cose
from vacr.signing.signers import Signer

LEAST_NONCE, MOST_NONCE = 8, 64
"""How many bytes a nonce has; RFC 9711, section 4.1."""

Quoter = Callable[[bytes], Quoted]
"""Asks a TPM for a quote over some qualifying data."""


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent whose session it is."""

    name: str
    version: str | None = None

    def claim(self) -> dict[str, str]:
        """Write it as a claim."""
        return {"name": self.name} | ({"version": self.version} if self.version is not None else {})


@dataclass(frozen=True, slots=True)
class Subject:
    """What evidence is about: a record, and what is known of how it was recorded."""

    record: bytes
    """The SHA-256 of the record's bytes."""
    version: str
    """The version of the recorder."""
    components: Sequence[Component]
    journal: JournalHead | None = None
    agent: Agent | None = None


def agent_in(record: dict[str, Any]) -> Agent | None:
    """Give the agent whose session a record is of, as the record says."""
    session = record.get("session")
    meta = session.get("agent-meta") if isinstance(session, dict) else None
    if not isinstance(meta, dict) or not isinstance(meta.get("cli-name"), str):
        return None
    version = meta.get("cli-version")
    return Agent(meta["cli-name"], version if isinstance(version, str) else None)


def record_digest(record: bytes) -> bytes:
    """Name a record by its bytes."""
    return hashlib.sha256(record).digest()


def attest(
    subject: Subject, nonce: bytes, issued_at: int, signer: Signer, quoter: Quoter | None = None
) -> bytes:
    """Make evidence: a signed token, with a TPM's quote in it where there is one to ask.

    Raises:
        UsageError: the nonce is too short or too long.
        Unreachable: the TPM gives no quote.
    """
    check_nonce(nonce)
    claims = _claims(
        subject, nonce, issued_at, signer, labels.SOFTWARE if quoter is None else labels.TPM
    )
    if quoter is not None:
        claims[labels.SUBMODS] = {labels.TPM: quoter(qualifying_data(claims)).claims()}
    return cwt.sign_claims(claims, signer)


def check_nonce(nonce: bytes) -> None:
    """Check that a nonce can be one.

    Raises:
        UsageError: it is too short or too long.
    """
    if not LEAST_NONCE <= len(nonce) <= MOST_NONCE:
        told = f"a nonce has from {LEAST_NONCE} to {MOST_NONCE} bytes, not {len(nonce)}"
        raise UsageError(
            told,
            hint=(
                "Take the one that whoever asks for evidence gave; openssl rand -hex 32 makes one."
            ),
        )


def _claims(
    subject: Subject, nonce: bytes, issued_at: int, signer: Signer, storage: str
) -> dict[Any, Any]:
    claims: dict[Any, Any] = {
        labels.IAT: issued_at,
        labels.CNF: {cose.CNF_COSE_KEY: keys.to_cose(signer.public_key)},
        labels.NONCE: nonce,
        labels.EAT_PROFILE: labels.PROFILE,
        labels.SWNAME: "vacr",
        labels.SWVERSION: [subject.version],
        labels.MEASUREMENTS: [
            [labels.MEASURED_COMPONENT, one.encode()] for one in subject.components
        ],
        labels.RECORD: [labels.SHA256, subject.record],
        labels.KEY_STORAGE: storage,
        labels.MANIFESTS: {
            one.name: one.manifest for one in subject.components if one.manifest is not None
        },
    }
    if subject.journal is not None:
        claims[labels.JOURNAL] = subject.journal.claim()
    if subject.agent is not None:
        claims[labels.AGENT] = subject.agent.claim()
    return claims

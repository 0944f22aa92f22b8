"""The attester: create signed evidence about how a record was recorded (RFC 9711).

Evidence names the record, the measured components of the recorder (RFC 10013), and the head of
the recorder's journal. The attester's key signs these claims.

    >>> from vacr.evidence.attester import EvidenceSubject, compute_record_digest, create_evidence
    >>> from vacr.evidence.measurements import build_file_component
    >>> from vacr.evidence.tokens import CLAIM_KEY_STORAGE, parse_cwt
    >>> from vacr.signing import KeySigner, generate_key
    >>> vacr = build_file_component("vacr", "1.0", {"__init__.py": bytes(32)})
    >>> subject = EvidenceSubject(compute_record_digest(b"a record"), "1.0", [vacr])
    >>> signer = KeySigner(generate_key("eddsa"))
    >>> evidence = create_evidence(subject, b"challenge", issued_at=0, signer=signer)
    >>> parse_cwt(evidence).claims[CLAIM_KEY_STORAGE]
    'software'

If there is a TPM, evidence also contains its quote over the claims, and the claims say so.
Otherwise they say that the key is in software. So a removed quote is noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vacr.errors import UnreadableInput, UsageError
from vacr.evidence.tokens import (
    CLAIM_AGENT,
    CLAIM_JOURNAL,
    CLAIM_KEY_STORAGE,
    CLAIM_MANIFESTS,
    CLAIM_RECORD,
    EAT_CNF,
    EAT_IAT,
    EAT_MEASUREMENTS,
    EAT_NONCE,
    EAT_PROFILE,
    EAT_SUBMODS,
    EAT_SWNAME,
    EAT_SWVERSION,
    EVIDENCE_PROFILE,
    KEY_STORAGE_SOFTWARE,
    KEY_STORAGE_TPM,
    MEASURED_COMPONENT_FORMAT,
    NAMED_INFO_SHA256,
    TPM_SUBMODULE,
    sign_cwt,
)
from vacr.signing import CNF_COSE_KEY, Signer, build_cose_key

if TYPE_CHECKING:
    from vacr.evidence.measurements import Component
    from vacr.evidence.tpm_structures import SignedQuote

MIN_NONCE_LENGTH, MAX_NONCE_LENGTH = 8, 64
"""The length of a nonce in bytes (RFC 9711, section 4.1)."""
_MAX_JOURNAL_HASH_LENGTH, _FRAME_COUNT_END = 64, 1 << 63
JOURNAL_HEAD_FORM = (
    "IDENTITY:FRAMES:HEAD with IDENTITY and HEAD in hexadecimal, or a JSON file with the members "
    "identity, frames and head."
)
Quoter = Callable[[bytes], "SignedQuote"]
"""Requests a quote from a TPM over some qualifying data."""


@dataclass(frozen=True, slots=True)
class EvidenceSubject:
    """The subject of evidence: a record, and the facts about its recording."""

    record: bytes
    """The SHA-256 of the record's bytes."""
    version: str
    """The version of the recorder."""
    components: Sequence[Component]
    """The measured components of the recorder."""
    journal: JournalHead | None = None
    """The head of the recorder's journal; None if it was not used."""
    agent: SessionAgent | None = None
    """The agent of the session; None if it is unknown."""


def create_evidence(
    subject: EvidenceSubject,
    nonce: bytes,
    issued_at: int,
    signer: Signer,
    quoter: Quoter | None = None,
) -> bytes:
    """Return evidence about a record: a CWT, with the quote of a TPM if there is a quoter.

    `nonce` is the verifier's challenge, and `issued_at` the time in seconds since 1970. `subject`
    has the record and the measurements.

    Raises:
        UsageError: the nonce is too short or too long.
        Unreachable: the TPM does not return a quote.
    """
    check_nonce(nonce)
    storage = KEY_STORAGE_SOFTWARE if quoter is None else KEY_STORAGE_TPM
    claims = _build_evidence_claims(subject, nonce, issued_at, signer, storage)
    if quoter is not None:
        # Imported here, because verification loads this module without a TPM.
        from vacr.evidence.tpm_structures import compute_qualifying_data

        quote = quoter(compute_qualifying_data(claims))
        claims[EAT_SUBMODS] = {TPM_SUBMODULE: quote.claims()}
    return sign_cwt(claims, signer)


def _build_evidence_claims(
    subject: EvidenceSubject, nonce: bytes, issued_at: int, signer: Signer, storage: str
) -> dict[Any, Any]:
    """Return the claims of evidence by their CBOR labels; `storage` is the place of the key."""
    claims: dict[Any, Any] = {
        EAT_IAT: issued_at,
        EAT_CNF: {CNF_COSE_KEY: build_cose_key(signer.public_key)},
        EAT_NONCE: nonce,
        EAT_PROFILE: EVIDENCE_PROFILE,
        EAT_SWNAME: "vacr",
        EAT_SWVERSION: [subject.version],
        EAT_MEASUREMENTS: [
            [MEASURED_COMPONENT_FORMAT, component.encode()] for component in subject.components
        ],
        CLAIM_RECORD: [NAMED_INFO_SHA256, subject.record],
        CLAIM_KEY_STORAGE: storage,
        CLAIM_MANIFESTS: {
            component.name: component.manifest
            for component in subject.components
            if component.manifest is not None
        },
    }
    if subject.journal is not None:
        claims[CLAIM_JOURNAL] = subject.journal.claim()
    if subject.agent is not None:
        claims[CLAIM_AGENT] = subject.agent.claim()
    return claims


def check_nonce(nonce: bytes) -> None:
    """Check that a nonce has 8 to 64 bytes.

    Raises:
        UsageError: it is shorter or longer.
    """
    if not MIN_NONCE_LENGTH <= len(nonce) <= MAX_NONCE_LENGTH:
        raise UsageError(
            f"the nonce has {len(nonce)} bytes; "
            f"it must have {MIN_NONCE_LENGTH} to {MAX_NONCE_LENGTH}",
            hint="Use the verifier's challenge. To create one: openssl rand -hex 32",
        )


def compute_record_digest(record: bytes) -> bytes:
    """Return the SHA-256 of a record's bytes; evidence names the record by it."""
    return hashlib.sha256(record).digest()


@dataclass(frozen=True, slots=True)
class SessionAgent:
    """The coding agent of a session, and its version if known."""

    name: str
    version: str | None = None

    def claim(self) -> dict[str, str]:
        """Return the agent as a claim of evidence: `name`, and `version` if known."""
        version = {} if self.version is None else {"version": self.version}
        return {"name": self.name} | version


def find_session_agent(record: dict[str, Any]) -> SessionAgent | None:
    """Return the agent of a record's session, or None if the record does not name it."""
    session = record.get("session")
    meta = session.get("agent-meta") if isinstance(session, dict) else None
    if not isinstance(meta, dict) or not isinstance(meta.get("cli-name"), str):
        return None
    version = meta.get("cli-version")
    return SessionAgent(meta["cli-name"], version if isinstance(version, str) else None)


@dataclass(frozen=True, slots=True)
class JournalHead:
    """The identity of a journal, its number of frames, and the hash of the last one."""

    identity: bytes
    frames: int
    head: bytes

    def claim(self) -> dict[str, Any]:
        """Return the head as a claim of evidence: `identity`, `frames` and `head`."""
        return {"identity": self.identity, "frames": self.frames, "head": self.head}


def find_journal_head(record: dict[str, Any]) -> JournalHead | None:
    """Return the head of the journal that a record was made from, or None if it names none.

    Raises:
        UnreadableInput: the journal head in the record is malformed.
    """
    metadata = record.get("vacr")
    vendor_metadata = record.get("metadata")
    if (
        metadata is None
        and isinstance(vendor_metadata, dict)
        and vendor_metadata.get("vendor") == "vacr"
    ):
        data = vendor_metadata.get("data")  # Records of version 2 have it there.
        metadata = data.get("vacr") if isinstance(data, dict) else None
    inputs = metadata.get("inputs") if isinstance(metadata, dict) else None
    journal = inputs.get("journal") if isinstance(inputs, dict) else None
    if journal is None:
        return None
    return parse_journal_head(journal, "the journal head in the record (vacr.inputs.journal)")


def parse_journal_head(value: Any, subject: str = "the journal head") -> JournalHead:
    """Parse a journal head from a decoded JSON object with `identity`, `frames` and `head`.

    `subject` names the value in error messages.

    Raises:
        UnreadableInput: a member is missing, malformed, too long or out of range.
    """
    try:
        identity = bytes.fromhex(value["identity"])
        frames = value["frames"]
        head = bytes.fromhex(value["head"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableInput(
            f"{subject} is incomplete or malformed", hint=f"Expected: {JOURNAL_HEAD_FORM}"
        ) from error
    if (
        type(frames) is not int
        or not 0 <= frames < _FRAME_COUNT_END
        or not 0 < len(identity) <= _MAX_JOURNAL_HASH_LENGTH
        or not 0 < len(head) <= _MAX_JOURNAL_HASH_LENGTH
    ):
        raise UnreadableInput(
            f"{subject} has a value that is too long or out of range",
            hint=f"Expected: {JOURNAL_HEAD_FORM}",
        )
    return JournalHead(identity, frames, head)

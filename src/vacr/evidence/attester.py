"""What was measured: components, each with a digest. Step: attest, appraise. Follows RFC 10013.

A component of many files is measured by its manifest, which has the SHA-256 of each file by its
path. The digest of the component is that of the manifest in deterministic CBOR; the manifest goes
along, so that a file that differs can be named.

How far the journal of a recorder went when a record was made: what the record says of it. Step:
attest, verify.

A record that was made from a journal names the journal's head. Evidence and results name it, too,
and have to name the same.

The attester: measurements and what they are about → evidence. Role: attester. Step: attest.
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

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
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
    sign_cwt,
)
from vacr.evidence.tpm_structures import SignedQuote, compute_qualifying_data
from vacr.record import decode_shortest_cbor, encode_deterministic_cbor
from vacr.signing import CNF_COSE_KEY, Signer, build_cose_key

PACKAGE_COMPONENT, PYTHON_COMPONENT, AGENT_COMPONENT_PREFIX, CONFIGURATION_COMPONENT_PREFIX = (
    "vacr",
    "python",
    "agent:",
    "configuration:",
)
"""The names of components; those of agents and of configuration go on with their own."""

_COMPONENT_ID, _COMPONENT_DIGEST = 1, 2
_MAX_COMPONENT_DEPTH, _MAX_COMPONENT_ITEMS = 6, 64

Manifest = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Component:
    """One thing that was measured."""

    name: str
    digest: bytes
    version: str | None = None
    manifest: Manifest | None = None

    def encode(self) -> bytes:
        """Write it as a measured component."""
        named: list[Any] = [self.name] if self.version is None else [self.name, [self.version]]
        return encode_deterministic_cbor(
            {_COMPONENT_ID: named, _COMPONENT_DIGEST: [NAMED_INFO_SHA256, self.digest]}
        )


def build_file_component(name: str, version: str | None, manifest: Manifest) -> Component:
    """Make the component that files are."""
    return Component(name, compute_manifest_digest(manifest), version, manifest)


def compute_manifest_digest(manifest: Manifest) -> bytes:
    """Give the digest of files by their manifest."""
    return hashlib.sha256(encode_deterministic_cbor(manifest)).digest()


def decode_component(data: bytes, manifests: dict[str, Manifest]) -> Component:
    """Read a measured component, with the manifest that goes along.

    Raises:
        InvalidStatement: it is none, or its manifest is that of something else.
    """
    try:
        value = decode_shortest_cbor(
            data, max_depth=_MAX_COMPONENT_DEPTH, most=_MAX_COMPONENT_ITEMS
        )
        (name, *versions), (algorithm, digest) = value[_COMPONENT_ID], value[_COMPONENT_DIGEST]
        version = versions[0][0] if versions else None
    except (UnreadableInput, LookupError, TypeError, ValueError) as error:
        raise InvalidStatement(
            "a measured component that cannot be read", reason="evidence-malformed"
        ) from error
    if algorithm != NAMED_INFO_SHA256:
        raise InvalidStatement(
            f"{name} is measured by another hash than SHA-256", reason="evidence-malformed"
        )
    manifest = manifests.get(name)
    if manifest is not None and compute_manifest_digest(manifest) != digest:
        raise InvalidStatement(
            f"the files listed of {name} are not those of its digest", reason="manifest-mismatch"
        )
    return Component(name, digest, version, manifest)


def describe_manifest_differences(found: Manifest, expected: Manifest) -> list[str]:
    """Say which files differ, are missing, or are there and not expected."""
    said = []
    for path in sorted(found.keys() | expected.keys()):
        if path not in found:
            said.append(f"{path} is missing")
        elif path not in expected:
            said.append(f"{path} is not expected")
        elif found[path] != expected[path]:
            said.append(f"{path} differs")
    return said


_MAX_JOURNAL_HASH_LENGTH, _FRAME_COUNT_END = 64, 1 << 63
JOURNAL_HEAD_FORM = (
    "IDENTITY:FRAMES:HEAD, the first and the last in hexadecimal, or a file in JSON with "
    "the members identity, frames and head."
)


@dataclass(frozen=True, slots=True)
class JournalHead:
    """The identity of a journal, how many frames it has, and the hash of the last one."""

    identity: bytes
    frames: int
    head: bytes

    def claim(self) -> dict[str, Any]:
        """Write it as a claim."""
        return {"identity": self.identity, "frames": self.frames, "head": self.head}


def find_journal_head(record: dict[str, Any]) -> JournalHead | None:
    """Give the head of the journal that a record was made from, if it names one.

    Raises:
        UnreadableInput: what it names is none.
    """
    ours = record.get("vacr")
    metadata = record.get("metadata")
    if (
        ours is None and isinstance(metadata, dict) and metadata.get("vendor") == "vacr"
    ):  # as version 2 has it
        data = metadata.get("data")
        ours = data.get("vacr") if isinstance(data, dict) else None
    inputs = ours.get("inputs") if isinstance(ours, dict) else None
    journal = inputs.get("journal") if isinstance(inputs, dict) else None
    return parse_journal_head(journal) if journal is not None else None


def parse_journal_head(value: Any) -> JournalHead:
    """Read the head of a journal from what JSON holds.

    Raises:
        UnreadableInput: it is none.
    """
    try:
        identity, frames, head = (
            bytes.fromhex(value["identity"]),
            value["frames"],
            bytes.fromhex(value["head"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableInput(
            "it names a journal, and not how far that went", hint=f"Give {JOURNAL_HEAD_FORM}"
        ) from error
    if (
        type(frames) is not int
        or not 0 <= frames < _FRAME_COUNT_END
        or not (
            0 < len(identity) <= _MAX_JOURNAL_HASH_LENGTH
            and 0 < len(head) <= _MAX_JOURNAL_HASH_LENGTH
        )
    ):
        raise UnreadableInput(
            "it names a journal, and how far that went is out of range",
            hint=f"Give {JOURNAL_HEAD_FORM}",
        )
    return JournalHead(identity, frames, head)


MIN_NONCE_LENGTH, MAX_NONCE_LENGTH = 8, 64
"""How many bytes a nonce has; RFC 9711, section 4.1."""

Quoter = Callable[[bytes], SignedQuote]
"""Asks a TPM for a quote over some qualifying data."""


@dataclass(frozen=True, slots=True)
class SessionAgent:
    """The agent whose session it is."""

    name: str
    version: str | None = None

    def claim(self) -> dict[str, str]:
        """Write it as a claim."""
        return {"name": self.name} | ({"version": self.version} if self.version is not None else {})


@dataclass(frozen=True, slots=True)
class EvidenceSubject:
    """What evidence is about: a record, and what is known of how it was recorded."""

    record: bytes
    """The SHA-256 of the record's bytes."""
    version: str
    """The version of the recorder."""
    components: Sequence[Component]
    journal: JournalHead | None = None
    agent: SessionAgent | None = None


def find_session_agent(record: dict[str, Any]) -> SessionAgent | None:
    """Give the agent whose session a record is of, as the record says."""
    session = record.get("session")
    meta = session.get("agent-meta") if isinstance(session, dict) else None
    if not isinstance(meta, dict) or not isinstance(meta.get("cli-name"), str):
        return None
    version = meta.get("cli-version")
    return SessionAgent(meta["cli-name"], version if isinstance(version, str) else None)


def compute_record_digest(record: bytes) -> bytes:
    """Name a record by its bytes."""
    return hashlib.sha256(record).digest()


def create_evidence(
    subject: EvidenceSubject,
    nonce: bytes,
    issued_at: int,
    signer: Signer,
    quoter: Quoter | None = None,
) -> bytes:
    """Make evidence: a signed token, with a TPM's quote in it where there is one to ask.

    Raises:
        UsageError: the nonce is too short or too long.
        Unreachable: the TPM gives no quote.
    """
    check_nonce(nonce)
    claims = _build_evidence_claims(
        subject,
        nonce,
        issued_at,
        signer,
        KEY_STORAGE_SOFTWARE if quoter is None else KEY_STORAGE_TPM,
    )
    if quoter is not None:
        claims[EAT_SUBMODS] = {KEY_STORAGE_TPM: quoter(compute_qualifying_data(claims)).claims()}
    return sign_cwt(claims, signer)


def check_nonce(nonce: bytes) -> None:
    """Check that a nonce can be one.

    Raises:
        UsageError: it is too short or too long.
    """
    if not MIN_NONCE_LENGTH <= len(nonce) <= MAX_NONCE_LENGTH:
        told = f"a nonce has from {MIN_NONCE_LENGTH} to {MAX_NONCE_LENGTH} bytes, not {len(nonce)}"
        raise UsageError(
            told,
            hint=(
                "Take the one that whoever asks for evidence gave; openssl rand -hex 32 makes one."
            ),
        )


def _build_evidence_claims(
    subject: EvidenceSubject, nonce: bytes, issued_at: int, signer: Signer, storage: str
) -> dict[Any, Any]:
    claims: dict[Any, Any] = {
        EAT_IAT: issued_at,
        EAT_CNF: {CNF_COSE_KEY: build_cose_key(signer.public_key)},
        EAT_NONCE: nonce,
        EAT_PROFILE: EVIDENCE_PROFILE,
        EAT_SWNAME: "vacr",
        EAT_SWVERSION: [subject.version],
        EAT_MEASUREMENTS: [[MEASURED_COMPONENT_FORMAT, one.encode()] for one in subject.components],
        CLAIM_RECORD: [NAMED_INFO_SHA256, subject.record],
        CLAIM_KEY_STORAGE: storage,
        CLAIM_MANIFESTS: {
            one.name: one.manifest for one in subject.components if one.manifest is not None
        },
    }
    if subject.journal is not None:
        claims[CLAIM_JOURNAL] = subject.journal.claim()
    if subject.agent is not None:
        claims[CLAIM_AGENT] = subject.agent.claim()
    return claims

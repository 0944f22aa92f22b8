"""Evidence for tests: a small measured package, keys, and a stand-in for a TPM."""

import hashlib
import struct
from datetime import UTC, datetime

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from vacr.evidence.attester import (
    EvidenceSubject,
    JournalHead,
    SessionAgent,
    create_evidence,
)
from vacr.evidence.measurements import Component, build_file_component
from vacr.evidence.tokens import parse_cwt, sign_cwt
from vacr.evidence.tpm_structures import SignedQuote, parse_attestation_key
from vacr.evidence.verifier import AppraisalPolicy, appraise_evidence
from vacr.signing.keys import KeySigner, generate_key

NOW = datetime(2026, 11, 16, tzinfo=UTC)
MADE = int(NOW.timestamp()) - 60
NONCE = bytes(range(32))
RECORD = hashlib.sha256(b"a record").digest()
ATTESTER = KeySigner(generate_key("eddsa"))
STRANGER = KeySigner(generate_key("es256"))
JOURNAL = JournalHead(b"\x01" * 32, 7, b"\x02" * 32)


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


FILES = {
    "__init__.py": digest("init"),
    "readers/lines.py": digest("lines"),
    "signing/keys.py": digest("keys"),
}
PACKAGE = build_file_component("vacr", "0.1.0", FILES)
PYTHON = Component("python", digest("python"), "3.11.7")
SETTINGS = Component("configuration:vacr.toml", digest("settings"))
SUBJECT = EvidenceSubject(
    RECORD, "0.1.0", (PACKAGE, PYTHON), JOURNAL, SessionAgent("claude-code", "2.1.72")
)

_ATTRIBUTES = 0x00050072
_PCRS = {0: b"\x00" * 32, 7: b"\x07" * 32}


class StandIn:
    """Sign quotes like a TPM, with a key in software; tests can change the quotes."""

    def __init__(self, attributes=_ATTRIBUTES, pcrs=None):
        self.private, self.attributes, self.pcrs = (
            ec.generate_private_key(ec.SECP256R1()),
            attributes,
            pcrs or _PCRS,
        )

    @property
    def key(self):
        return self.private.public_key()

    def public(self):
        numbers = self.key.public_numbers()
        head = struct.pack(
            ">HHIHHHHHH", 0x23, 0x0B, self.attributes, 0, 0x10, 0x18, 0x0B, 0x03, 0x10
        )
        return head + sized(numbers.x.to_bytes(32, "big")) + sized(numbers.y.to_bytes(32, "big"))

    def attest(self, extra, magic=0xFF544347, kind=0x8018, pcrs=None):
        selected = sum(1 << at for at in self.pcrs)
        shown = b"".join(value for _, value in sorted((pcrs or self.pcrs).items()))
        return (
            struct.pack(">IH", magic, kind)
            + sized(parse_attestation_key(self.public()).qualified_name)
            + sized(extra)
            + struct.pack(">QIIBQ", 1234, 3, 1, 1, 0x2019102300163636)
            + struct.pack(">IHB", 1, 0x0B, 3)
            + selected.to_bytes(3, "little")
            + sized(hashlib.sha256(shown).digest())
        )

    def sign(self, data):
        r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
        return (
            struct.pack(">HH", 0x18, 0x0B)
            + sized(r.to_bytes(32, "big"))
            + sized(s.to_bytes(32, "big"))
        )

    def quote(self, extra):
        said = self.attest(extra)
        return SignedQuote(said, self.sign(said), self.public(), self.pcrs)


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


TPM = StandIn()
POLICY = AppraisalPolicy(
    "urn:example:policy",
    references=(PACKAGE, PYTHON),
    attester_keys=(ATTESTER.public_key,),
    attestation_keys=(TPM.key,),
)


def make_evidence(subject=SUBJECT, nonce=NONCE, when=MADE, signer=ATTESTER, tpm=TPM):
    """Make evidence; without a TPM it is a software attester's."""
    return create_evidence(subject, nonce, when, signer, tpm.quote if tpm is not None else None)


def appraise(evidence, policy=POLICY, nonce=NONCE, record=RECORD, now=NOW, **more):
    return appraise_evidence(evidence, policy, nonce=nonce, record=record, now=now, **more)


def change_claims(evidence, change, signer=ATTESTER):
    """Change the claims of evidence, and sign them again."""
    claims = parse_cwt(evidence).claims
    change(claims)
    return sign_cwt(claims, signer)

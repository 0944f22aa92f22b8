"""A log in memory whose checkpoints are cosigned, and trust stores that name its witnesses."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.transparency.logs import Log
from vacr.signing.keys import generate_key
from vacr.transparency.checkpoint import (
    NOTE_KEY_COSIGNATURE,
    Checkpoint,
    build_verifier_key,
    cosign_checkpoint,
    sign_checkpoint,
)
from vacr.transparency.tlog_proof import TlogProof
from vacr.verification.trust_store import ROLE_LOG, ROLE_WITNESS, TrustedParty, TrustStore

ORIGIN = "log.example"
TIME = 1_700_000_000


class Cosigner:
    """A witness that cosigns whatever a test asks for."""

    def __init__(self, name, key=None):
        self.name = name
        self.key = key or Ed25519PrivateKey.generate()

    @property
    def vkey(self):
        return build_verifier_key(self.name, self.key.public_key(), NOTE_KEY_COSIGNATURE)

    def line(self, text, time=TIME):
        return cosign_checkpoint(text, time, self.name, self.key).line.encode()


class WitnessedLog(Log):
    """A log with a checkpoint key, whose proofs can be made wrong in any part."""

    def __init__(self, origin=ORIGIN, note_key=None, **settings):
        super().__init__(**settings)
        self.origin = origin
        self.note_key = note_key or Ed25519PrivateKey.generate()

    @property
    def vkey(self):
        return build_verifier_key(self.origin, self.note_key.public_key())

    @property
    def checkpoint(self):
        return Checkpoint(self.origin, self.tree.size, self.tree.root())

    def note(self, *cosigners, time=TIME, key=None):
        """Return the signed checkpoint with cosignatures."""
        text = self.checkpoint.text
        lines = b"".join(cosigner.line(text, time) for cosigner in cosigners)
        return sign_checkpoint(self.checkpoint, key or self.note_key) + lines

    def proof(self, statement, *cosigners, **settings):
        """Register a statement, and return its proof."""
        index = self.add(statement)
        return TlogProof(index, tuple(self.path(index)), self.note(*cosigners, **settings))


def build_store(log, cosigners, required, *, validity=None, parties=(), log_validity=None):
    """Return a trust store with a log and witnesses, all valid unless `validity` says otherwise."""
    logs = TrustedParty(
        "Example log",
        (ROLE_LOG,),
        keys=(log.key if log is not None else generate_key("es256").public_key(),),
        note_key=log.vkey if log is not None else None,
        **(log_validity or {}),
    )
    witnesses = [
        TrustedParty(
            f"Witness {number}", (ROLE_WITNESS,), note_key=cosigner.vkey, **(validity or {})
        )
        for number, cosigner in enumerate(cosigners, 1)
    ]
    return TrustStore((logs, *witnesses, *parties), required)

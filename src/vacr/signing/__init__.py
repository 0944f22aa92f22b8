"""Signed statements about records and native sessions: COSE_Sign1. Step: sign."""

from vacr.signing.signers import KeySigner, Signer
from vacr.signing.statement import ATTACHED, DETACHED, HASH_ENVELOPE, PROFILES, Claims, sign

__all__ = [
    "ATTACHED",
    "DETACHED",
    "HASH_ENVELOPE",
    "PROFILES",
    "Claims",
    "KeySigner",
    "Signer",
    "sign",
]

"""A secret that only one TPM can read, and only if a certain key is in it. Role: verifier. Step: endorse.

Follows the TPM 2.0 Library, Part 1, section 24 ("Credential Protection"): the secret is encrypted for the endorsement key (EK)
and bound to the name of the attestation key. Endorsement keys of RSA with 2048 bits are known, by the template that all makers
of TPMs use (EK credential profile, L-1).
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from vacr.errors import InvalidStatement

SECRET, SEED = 32, 32
"""How many random bytes are needed of each."""

_EK_USAGE = "2.23.133.8.1"
_EK_BITS = 2048
_MAGIC, _VERSION = 0xBADCC0DE, 1
"""How the programs of tpm2-tools begin a credential."""
_AES, _HMAC = 16, 32


def ek_of(certificate: x509.Certificate) -> rsa.RSAPublicKey:
    """Give the endorsement key of a certificate that is for one.

    Raises:
        InvalidStatement: it is for something else, or the key is of another kind.
    """
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        named = {one.dotted_string for one in usages}
    except (x509.ExtensionNotFound, ValueError):
        named = set()
    if _EK_USAGE not in named:
        raise InvalidStatement("the certificate is not that of an endorsement key", reason="ek-certificate")
    key = certificate.public_key()
    if not isinstance(key, rsa.RSAPublicKey) or key.key_size != _EK_BITS:
        raise InvalidStatement(f"the endorsement key is not of RSA with {_EK_BITS} bits", reason="ek-certificate")
    return key


def make_credential(ek: rsa.RSAPublicKey, name: bytes, secret: bytes, seed: bytes) -> bytes:
    """Encrypt a secret for the TPM of an endorsement key, to be read only where the key of that name is loaded."""
    oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), b"IDENTITY\0")
    for_tpm = ek.encrypt(seed, oaep)
    hidden = _hidden(_sized(secret), _derived(seed, b"STORAGE", name, _AES))
    proof = hmac.digest(_derived(seed, b"INTEGRITY", b"", _HMAC), hidden + name, hashlib.sha256)
    return _MAGIC.to_bytes(4, "big") + _VERSION.to_bytes(4, "big") + _sized(_sized(proof) + hidden) + _sized(for_tpm)


def _hidden(data: bytes, key: bytes) -> bytes:
    """Encrypt by AES in the mode CFB, from a block of zeros on; the library is about to give that mode up."""
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 - a building block, whose inputs never repeat
    hidden, before = b"", bytes(_AES)
    for at in range(0, len(data), _AES):
        before = bytes(one ^ other for one, other in zip(data[at : at + _AES], block.update(before), strict=False))
        hidden += before
    return hidden


def _derived(key: bytes, label: bytes, context: bytes, size: int) -> bytes:
    """Derive a key from another (KDFa); one round is enough for what is derived here."""
    data = (1).to_bytes(4, "big") + label + b"\0" + context + (8 * size).to_bytes(4, "big")
    return hmac.digest(key, data, hashlib.sha256)[:size]


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data

"""A secret that only one TPM can read, and only if a certain key is in it. Role: verifier. Step:
endorse.

Follows the TPM 2.0 Library, Part 1, section 24 ("Credential Protection"): the secret is encrypted
for the endorsement key (EK) and bound to the name of the attestation key. Endorsement keys of RSA
with 2048 bits and on the curve P-256 are known, by the templates that makers of TPMs use (EK
credential profile, L-1 and L-2).
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from vacr.errors import InvalidStatement

RSA, ECC = "rsa", "ecc"
EndorsementKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

SECRET, SEED = 32, 32
"""How many random bytes are needed of each."""

_EK_USAGE = "2.23.133.8.1"
_EK_BITS = 2048
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_COORDINATE = 32
_PURPOSE = b"IDENTITY\0"
_MAGIC, _VERSION = 0xBADCC0DE, 1
"""How the programs of tpm2-tools begin a credential."""
_AES, _HMAC = 16, 32


def ek_of(certificate: x509.Certificate) -> EndorsementKey:
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
        raise InvalidStatement(
            "the certificate is not that of an endorsement key", reason="ek-certificate"
        )
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size == _EK_BITS:
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    told = f"the endorsement key is neither of RSA with {_EK_BITS} bits nor on the curve P-256"
    raise InvalidStatement(told, reason="ek-certificate")


def kind_of(ek: EndorsementKey) -> str:
    """Name the kind of an endorsement key."""
    return RSA if isinstance(ek, rsa.RSAPublicKey) else ECC


def make_credential(ek: EndorsementKey, name: bytes, secret: bytes, random: bytes) -> bytes:
    """Encrypt a secret for the TPM of an endorsement key, to be read only where the key of that
    name is loaded.
    """
    seed, for_tpm = _by_rsa(ek, random) if isinstance(ek, rsa.RSAPublicKey) else _by_ecc(ek, random)
    hidden = _hidden(_sized(secret), _derived(seed, b"STORAGE", name, _AES))
    proof = hmac.digest(_derived(seed, b"INTEGRITY", b"", _HMAC), hidden + name, hashlib.sha256)
    return (
        _MAGIC.to_bytes(4, "big")
        + _VERSION.to_bytes(4, "big")
        + _sized(_sized(proof) + hidden)
        + _sized(for_tpm)
    )


def _by_rsa(ek: rsa.RSAPublicKey, random: bytes) -> tuple[bytes, bytes]:
    """Take a seed, and encrypt it for the TPM."""
    return random, ek.encrypt(
        random, padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), _PURPOSE)
    )


def _by_ecc(ek: ec.EllipticCurvePublicKey, random: bytes) -> tuple[bytes, bytes]:
    """Agree on a seed with the TPM, by a key for this one time (KDFe); what is sent is its public
    point.
    """
    # Twice as many bits as the order has leave no scalar likelier than another.
    scalar = int.from_bytes(hashlib.sha512(random).digest(), "big") % (_P256_ORDER - 1) + 1
    own = ec.derive_private_key(scalar, ec.SECP256R1())
    point, other = own.public_key().public_numbers(), ek.public_numbers()
    x, y, to = (one.to_bytes(_COORDINATE, "big") for one in (point.x, point.y, other.x))
    shared = own.exchange(ec.ECDH(), ek)
    return hashlib.sha256((1).to_bytes(4, "big") + shared + _PURPOSE + x + to).digest(), _sized(
        x
    ) + _sized(y)


def _hidden(data: bytes, key: bytes) -> bytes:
    """Encrypt by AES in the mode CFB, from a block of zeros on; the library is about to give that
    mode up.
    """
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 - a building block, whose inputs never repeat
    hidden, before = b"", bytes(_AES)
    for at in range(0, len(data), _AES):
        before = bytes(
            one ^ other
            for one, other in zip(data[at : at + _AES], block.update(before), strict=False)
        )
        hidden += before
    return hidden


def _derived(key: bytes, label: bytes, context: bytes, size: int) -> bytes:
    """Derive a key from another (KDFa); one round is enough for what is derived here."""
    data = (1).to_bytes(4, "big") + label + b"\0" + context + (8 * size).to_bytes(4, "big")
    return hmac.digest(key, data, hashlib.sha256)[:size]


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data

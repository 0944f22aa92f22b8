"""COSE_Sign1 messages, written byte by byte, so that each can be wrong in any way."""

import hashlib
from datetime import UTC, datetime

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from vacr.signing.keys import (
    KeySigner,
    compute_thumbprint,
    compute_thumbprint_uri,
    encode_public_pem,
    generate_key,
)

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
PAYLOAD = b'{"what":"was signed"}'


class Key:
    """A key with its COSE algorithm."""

    def __init__(self, private, algorithm=None):
        self.private = private
        self.signer = KeySigner(private, algorithm)

    @classmethod
    def generate(cls, kind):
        return cls(generate_key(kind))

    def with_algorithm(self, algorithm):
        return Key(self.private, algorithm)

    @property
    def algorithm(self):
        return self.signer.algorithm

    @property
    def public_pem(self):
        return encode_public_pem(self.private.public_key())

    @property
    def uri(self):
        return compute_thumbprint_uri(self.private.public_key())

    @property
    def thumbprint(self):
        return compute_thumbprint(self.private.public_key())

    def sign_as_der(self, data):
        return self.private.sign(data, ec.ECDSA(hashes.SHA256()))


def pairs(*members):
    """Encode a map with its members in the given order; keys may repeat."""
    return bytes([0xA0 + len(members)]) + b"".join(
        cbor2.dumps(key) + cbor2.dumps(value) for key, value in members
    )


def message(
    key,
    protected,
    *,
    unprotected=None,
    payload=PAYLOAD,
    detached=False,
    tag=b"\xd2",
    signature=None,
    signed=None,
    change=False,
):
    """Encode and sign a message; headers are maps, or bytes that need not be valid CBOR.

    `signed` is the payload that the signature covers, if it differs from `payload`; `change` flips
    a bit of the signature.
    """
    head = (
        protected if isinstance(protected, bytes) else cbor2.dumps(protected) if protected else b""
    )
    if signature is None:
        body = payload if signed is None else signed
        signature = key.signer.sign(
            cbor2.dumps(["Signature1", b"" if head == b"\xa0" else head, b"", body])
        )
    if change:
        signature = signature[:-1] + bytes([signature[-1] ^ 1])
    rest = unprotected if isinstance(unprotected, bytes) else cbor2.dumps(unprotected or {})
    inside = b"\xf6" if detached else cbor2.dumps(payload)
    return tag + b"\x84" + cbor2.dumps(head) + rest + inside + cbor2.dumps(signature)


def envelope(key, *, number=-16, more=None, unprotected=None, detached=False):
    """Encode a hash envelope of the payload."""
    headers = {1: key.algorithm, 258: number, 259: "application/json", **(more or {})}
    return message(
        key,
        headers,
        unprotected=unprotected,
        payload=hashlib.sha256(PAYLOAD).digest(),
        detached=detached,
    )


def x5t(certificate):
    return [-16, hashlib.sha256(certificate).digest()]

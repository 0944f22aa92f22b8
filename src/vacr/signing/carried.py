"""The key that a statement carries, so that whoever gets only the statement can check its
signature. Step: sign, verify.

`kccs` (RFC 9528) holds a claims set whose `cnf` is the key (RFC 8747). It is not protected and need
not be: the key's thumbprint is the protected `kid`. That a statement carries a key says nothing
about whose it is, and makes nobody trusted.
"""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.signing import certificates, keys, labels
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import Sign1


def kccs(key: PublicKey) -> dict[int, Any]:
    """Write the claims set that holds a key."""
    return {labels.CNF: {labels.CNF_COSE_KEY: keys.to_cose(key)}}


def key_in(value: Any) -> PublicKey:
    """Read the key in a claims set.

    Raises:
        InvalidStatement: there is none.
    """
    confirmed = value.get(labels.CNF) if isinstance(value, dict) else None
    written = confirmed.get(labels.CNF_COSE_KEY) if isinstance(confirmed, dict) else None
    if not isinstance(written, dict):
        raise InvalidStatement("kccs holds no key", reason="kccs-malformed")
    try:
        key = keys.from_cose(written)
        keys.to_cose(key)
    except UnreadableInput as error:
        raise InvalidStatement(
            f"kccs holds no key: {error.message}", reason="kccs-malformed"
        ) from error
    return key


def kccs_of(message: Sign1) -> PublicKey | None:
    """Give the key that a statement carries in `kccs`.

    Raises:
        InvalidStatement: it holds none.
    """
    for headers in (message.protected, message.unprotected):
        if labels.KCCS in headers:
            return key_in(headers[labels.KCCS])
    return None


def carried_key(message: Sign1) -> PublicKey | None:
    """Give the key that a statement carries and names: that of `kccs`, or of the first certificate.

    Raises:
        InvalidStatement: it cannot be read, or is not the one that the protected header names.
    """
    key, certified = kccs_of(message), _certified(message)
    if key is None:
        return certified
    if message.protected.get(labels.KID) != keys.thumbprint(key):
        raise InvalidStatement("kccs holds another key than kid names", reason="kccs-mismatch")
    if certified is not None and keys.thumbprint(certified) != keys.thumbprint(key):
        raise InvalidStatement(
            "kccs holds another key than the certificate", reason="kccs-mismatch"
        )
    return key


def _certified(message: Sign1) -> PublicKey | None:
    if labels.X5CHAIN in message.protected:
        return certificates.chain_of(message.protected[labels.X5CHAIN])[0].public_key()
    if labels.X5CHAIN not in message.unprotected:
        return None
    certificate = certificates.chain_of(message.unprotected[labels.X5CHAIN])[0]
    if labels.X5T in message.protected:
        certificates.check_x5t(message.protected[labels.X5T], certificate)
    elif message.protected.get(labels.KID) != keys.thumbprint(certificate.public_key()):
        raise InvalidStatement(
            "the protected header does not name the certificate's key", reason="x5chain-unprotected"
        )
    return certificate.public_key()

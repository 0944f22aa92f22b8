"""Whose signature it is, and whether they are trusted. Step: verify."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cryptography import x509

from vacr.errors import InvalidStatement
from vacr.signing import algorithms, carried, certificates, keys, labels
from vacr.signing.algorithms import ALGORITHMS, PublicKey
from vacr.signing.sign1 import Sign1
from vacr.verification import chains
from vacr.verification.policy import Policy


@dataclass(frozen=True)
class Trusted:
    """A key that is trusted: by itself, or by a path of certificates from the signer's to
    a root.
    """

    key: PublicKey
    path: tuple[x509.Certificate, ...] = ()

    def __str__(self) -> str:
        """Name who it is."""
        if self.path:
            return (
                f"{self.path[0].subject.rfc4514_string()}, certified by "
                f"{self.path[-1].subject.rfc4514_string()}"
            )
        return f"key {self.thumbprint.hex()[:16]}"

    @cached_property
    def thumbprint(self) -> bytes:
        """The name of the key."""
        return keys.thumbprint(self.key)

    @cached_property
    def uri(self) -> str:
        """The name of the key as a URI."""
        return keys.uri_of(self.thumbprint)


def check_algorithm(message: Sign1, policy: Policy) -> int:
    """Give the algorithm of a statement.

    Raises:
        InvalidStatement: it names none where it has to, or one that is not known or not allowed.
    """
    if labels.ALG in message.unprotected:
        raise InvalidStatement("the algorithm is not protected", reason="alg-unprotected")
    if labels.ALG not in message.protected:
        raise InvalidStatement("no algorithm is named", reason="alg-missing")
    algorithm = algorithms.algorithm_of(message.protected[labels.ALG])
    if algorithm.number not in policy.algorithms:
        raise InvalidStatement(f"{algorithm.name} is not allowed", reason="alg-not-allowed")
    return algorithm.number


def candidates(message: Sign1, algorithm: int, policy: Policy) -> list[Trusted]:
    """Give the trusted keys that may have signed a statement, the likeliest first.

    Raises:
        InvalidStatement: there is none, or the chain of certificates in it leads to nobody who is
            trusted.
    """
    if not policy.keys and not policy.roots:
        raise InvalidStatement(
            "nobody is trusted", reason="no-trust", hint="Name a key or a certificate with --trust."
        )
    fits = ALGORITHMS[algorithm].fits
    chain = _chain(message)
    named = chain[0].public_key() if chain else None
    found = [
        Trusted(key) for key in policy.keys if fits(key) and (named is None or _same(key, named))
    ]
    named_by = message.protected.get(labels.KID, message.unprotected.get(labels.KID))
    found.sort(key=lambda one: not is_named(one.key, named_by))
    if found and policy.extended_key_usage is None:
        return found
    if chain and policy.roots:
        # RFC 9360: an authority may have certified the same key for somebody else, too.
        if not {labels.X5CHAIN, labels.X5T} & message.protected.keys():
            raise InvalidStatement(
                (
                    "neither the chain nor the hash of its first certificate is protected: anybody "
                    "may have put it there"
                ),
                reason="x5chain-unprotected",
            )
        path = chains.check_chain(chain, policy.roots, policy.extended_key_usage)
        if not fits(chain[0].public_key()):
            raise InvalidStatement(
                f"{ALGORITHMS[algorithm].name} takes no key of the certificate's kind",
                reason="alg-key",
            )
        return [Trusted(chain[0].public_key(), tuple(path))]
    if found:
        raise InvalidStatement(
            "the key is trusted without a certificate, which has no usage",
            reason="extended-key-usage",
        )
    if any(is_named(key, named_by) for key in policy.keys):
        raise InvalidStatement(
            f"{ALGORITHMS[algorithm].name} takes no key of this kind", reason="alg-key"
        )
    told = (
        "the chain leads to nobody who is trusted"
        if chain
        else "no trusted key takes this algorithm"
    )
    raise InvalidStatement(
        told,
        reason="untrusted",
        hint="Name the signer's key, or the root of the chain, with --trust.",
    )


def _chain(message: Sign1) -> list[x509.Certificate]:
    chain: list[x509.Certificate] = []
    for headers in (message.protected, message.unprotected):
        if labels.X5CHAIN in headers:
            chain = certificates.chain_of(headers[labels.X5CHAIN])
    if labels.X5T in message.unprotected:
        raise InvalidStatement("x5t is not protected", reason="x5t-unprotected")
    if chain and labels.X5T in message.protected:
        certificates.check_x5t(message.protected[labels.X5T], chain[0])
    return chain


def _same(one: PublicKey, other: PublicKey) -> bool:
    return keys.thumbprint(one) == keys.thumbprint(other)


def is_named(key: PublicKey, named: Any) -> bool:
    """Tell whether a key is the one that a statement names, in bytes or, as some implementations
    do, in text.
    """
    if named is None:
        return False
    name = keys.thumbprint(key)
    return named == name or (
        isinstance(named, str) and named in (name.hex(), keys.thumbprint_uri(key))
    )


def check_signature(
    message: Sign1, algorithm: int, payload: bytes, found: list[Trusted]
) -> Trusted:
    """Give the trusted key whose signature it is.

    Raises:
        InvalidStatement: it is none of theirs.
    """
    data, refused = message.to_be_signed(payload), None
    for one in found:
        try:
            algorithms.verify(algorithm, one.key, message.signature, data)
        except InvalidStatement as error:
            refused = refused or error
        else:
            return one
    if refused is not None and refused.reason == "signature":
        refused.hint = _other_key(message, found)
    raise refused or InvalidStatement("no key to verify with", reason="untrusted")


def _other_key(message: Sign1, tried: list[Trusted]) -> str:
    """Say which key a statement names, where it is none of those that were tried: most likely it is
    the one that is missing.
    """
    named = message.protected.get(labels.KID)
    if type(named) is not bytes or any(is_named(one.key, named) for one in tried):
        return ""
    return f"It names another key as the one that signed it: key {named.hex()[:16]}."


def check_carried(message: Sign1, signer: Trusted) -> None:
    """Check that the key that a statement carries, if it does, is the one that signed it.

    Raises:
        InvalidStatement: it is another, or none.
    """
    key = carried.kccs_of(message)
    if key is not None and not _same(key, signer.key):
        raise InvalidStatement(
            "the statement carries another key than the one that signed it", reason="kccs-mismatch"
        )

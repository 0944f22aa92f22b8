"""Receipts: a log's signature over its root, with the proof that an entry is under it. Step:
register, verify. Follows RFC 9942.

The signature is over the root alone, which is not in the receipt: whoever has the statement gets it
from the proof. So one signature serves all entries of a batch. The size of the tree and the
position of the entry are not protected; the root is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cbor2

from vacr.codec import deterministic_cbor
from vacr.codec.deterministic_cbor import byte_string
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.receipts import tree
from vacr.signing import algorithms, keys, labels
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import Sign1, encode_protected, parse, to_be_signed
from vacr.signing.signers import Signer

UNDERSTOOD = frozenset((labels.ALG, labels.KID, labels.CWT_CLAIMS, labels.VDS))
"""The labels that `crit` of a receipt may name."""

OTHER_TREE = "receipt-tree"
"""Why a receipt for another kind of tree is refused: it may be a good one, for those who know that
kind.
"""

_MOST_PROOFS = 16
_PARTS = 3


@dataclass(frozen=True, slots=True)
class Head:
    """A root that a log has signed: what all receipts for a tree of this size have in common."""

    size: int
    root: bytes
    protected: bytes
    signature: bytes

    def inclusion(self, index: int, path: Sequence[bytes]) -> bytes:
        """Write the receipt for an entry."""
        return self._receipt(labels.INCLUSION, [self.size, index, list(path)])

    def consistency(self, older: int, path: Sequence[bytes]) -> bytes:
        """Write the receipt that shows that an older tree is the beginning of this one."""
        return self._receipt(labels.CONSISTENCY, [older, self.size, list(path)])

    def _receipt(self, kind: int, proof: list[Any]) -> bytes:
        unprotected = cbor2.dumps({labels.VDP: {kind: [cbor2.dumps(proof)]}})
        return b"".join(
            (
                b"\xd2\x84",
                byte_string(self.protected),
                unprotected,
                b"\xf6",
                byte_string(self.signature),
            )
        )


def protected_header(signer: Signer, issuer: str, subject: str, issued_at: int) -> bytes:
    """Write the header that the receipts of a log have for a batch."""
    claims = {labels.ISS: issuer, labels.SUB: subject, labels.IAT: issued_at}
    kid = keys.thumbprint(signer.public_key)
    return encode_protected(
        {
            labels.ALG: signer.algorithm,
            labels.KID: kid,
            labels.CWT_CLAIMS: claims,
            labels.VDS: labels.RFC9162_SHA256,
        }
    )


def sign_head(signer: Signer, protected: bytes, size: int, root: bytes) -> Head:
    """Sign the root of a tree."""
    return Head(size, root, protected, signer.sign(to_be_signed(protected, root)))


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A proof that an entry is in a tree."""

    size: int
    index: int
    path: list[bytes]

    def root(self, leaf: bytes) -> bytes:
        """Give the root that it leads to.

        Raises:
            InvalidStatement: it leads nowhere.
        """
        return tree.root_by_inclusion(leaf, self.index, self.size, self.path)


@dataclass(frozen=True, slots=True)
class Consistency:
    """A proof that a tree is the beginning of another."""

    older: int
    newer: int
    path: list[bytes]

    def root(self, older_root: bytes) -> bytes:
        """Give the root of the newer tree.

        Raises:
            InvalidStatement: the older tree is not its beginning.
        """
        return tree.root_by_consistency(self.older, self.newer, self.path, older_root)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt that was read, and not yet verified."""

    message: Sign1
    inclusions: tuple[Inclusion, ...] = ()
    consistencies: tuple[Consistency, ...] = ()

    @property
    def kid(self) -> Any:
        """The name of the key, as the receipt says."""
        return self.message.protected.get(labels.KID)

    @property
    def claims(self) -> dict[Any, Any]:
        """What the log says of itself; true where the signature is."""
        found = self.message.protected.get(labels.CWT_CLAIMS)
        return dict(found) if isinstance(found, dict) else {}

    def check(self, root: bytes, key: PublicKey) -> None:
        """Check that a key signed a root.

        Raises:
            InvalidStatement: it did not.
        """
        if self.message.payload is not None and self.message.payload != root:
            raise InvalidStatement(
                "the receipt holds another root than its proof leads to", reason="receipt-root"
            )
        algorithm = self.message.protected.get(labels.ALG)
        try:
            algorithms.verify(
                algorithm, key, self.message.signature, self.message.to_be_signed(root)
            )
        except InvalidStatement as error:
            told = f"the log's key did not sign the root that the proof leads to: {error.message}"
            raise InvalidStatement(told, reason=f"receipt-{error.reason}") from error


def parse_receipt(data: Any) -> Receipt:
    """Read a receipt.

    Raises:
        InvalidStatement: it is none, or for another kind of tree.
    """
    if type(data) is not bytes:
        raise InvalidStatement("a receipt that is no byte string", reason="receipt-malformed")
    try:
        message = parse(data, UNDERSTOOD)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"a receipt that cannot be read: {error.message}", reason="receipt-malformed"
        ) from error
    if not message.tagged:
        raise InvalidStatement("a receipt without the tag of COSE_Sign1", reason="receipt-untagged")
    if labels.VDS in message.unprotected or labels.ALG in message.unprotected:
        raise InvalidStatement(
            "the kind of the tree or the algorithm is not protected", reason="receipt-unprotected"
        )
    kind = message.protected.get(labels.VDS)
    if type(kind) is not int or kind != labels.RFC9162_SHA256:
        raise InvalidStatement(
            f"a receipt for a kind of tree that is not known: {kind!r}", reason=OTHER_TREE
        )
    proofs = message.unprotected.get(labels.VDP)
    if (
        not isinstance(proofs, dict)
        or not proofs.keys() <= {labels.INCLUSION, labels.CONSISTENCY}
        or not proofs
    ):
        raise InvalidStatement("a receipt without proofs", reason="receipt-malformed")
    included = tuple(Inclusion(*_proof(one)) for one in _list(proofs.get(labels.INCLUSION)))
    consistent = tuple(Consistency(*_proof(one)) for one in _list(proofs.get(labels.CONSISTENCY)))
    return Receipt(message, included, consistent)


def _list(proofs: Any) -> list[Any]:
    if proofs is None:
        return []
    if not isinstance(proofs, list | tuple) or not 0 < len(proofs) <= _MOST_PROOFS:
        raise InvalidStatement("proofs that are no list", reason="receipt-malformed")
    return list(proofs)


def _proof(data: Any) -> tuple[int, int, list[bytes]]:
    try:
        value = (
            deterministic_cbor.decode_shortest(data, max_depth=2, most=_PARTS + 100)
            if type(data) is bytes
            else None
        )
    except UnreadableInput as error:
        raise InvalidStatement(
            f"a proof that cannot be read: {error}", reason="receipt-malformed"
        ) from error
    if not isinstance(value, list) or len(value) != _PARTS:
        raise InvalidStatement(
            "a proof that is not two numbers and a path", reason="receipt-malformed"
        )
    first, second, path = value
    if type(first) is not int or type(second) is not int or not isinstance(path, list):
        raise InvalidStatement(
            "a proof that is not two numbers and a path", reason="receipt-malformed"
        )
    return first, second, path

"""Inclusion proofs in the profile of CCF (draft-ietf-scitt-receipts-ccf-profile).

A leaf of this tree covers a transaction, its commit evidence and the digest of a statement. The
proof says on which side each hash is, so it needs no position and no size.

    >>> from vacr.transparency.ccf import parse_ccf_proof
    >>> digest = bytes(32)
    >>> proof = parse_ccf_proof({1: [bytes(32), "ce:2.17:ab", digest], 2: [[True, bytes(32)]]})
    >>> proof.transaction, len(proof.root(digest))
    ('2.17', 32)
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from vacr.errors import InvalidStatement
from vacr.transparency.tree import HASH_SIZE

_LEAF, _PATH, _MEMBER_COUNT = 1, 2, 2
_MAX_PATH_LENGTH = 64
_COMMIT_EVIDENCE = re.compile(r"ce:([0-9]{1,20}\.[0-9]{1,20}):")


@dataclass(frozen=True, slots=True)
class CcfProof:
    """A proof that a ledger in the profile of CCF contains a statement."""

    transaction_hash: bytes
    evidence: str
    """The commit evidence, such as `ce:2.17:…`; it names the transaction."""
    digest: bytes
    """The digest of the statement."""
    path: list[tuple[bool, bytes]]
    """For each level, whether the hash is on the left, and the hash."""

    @property
    def transaction(self) -> str:
        """The id of the transaction, such as `2.17`; empty if the evidence has another form."""
        match = _COMMIT_EVIDENCE.match(self.evidence)
        return match[1] if match is not None else ""

    def root(self, digest: bytes) -> bytes:
        """Return the root that the proof leads to from the digest of a statement.

        Raises:
            InvalidStatement: the proof is for another statement.
        """
        if self.digest != digest:
            raise InvalidStatement(
                "the receipt is for a different statement", reason="receipt-entry"
            )
        evidence_hash = hashlib.sha256(self.evidence.encode()).digest()
        node = hashlib.sha256(self.transaction_hash + evidence_hash + digest).digest()
        for is_left, sibling in self.path:
            pair = sibling + node if is_left else node + sibling
            node = hashlib.sha256(pair).digest()
        return node


def parse_ccf_proof(value: Any) -> CcfProof:
    """Return the proof in a decoded CBOR value: a leaf of three parts, and a path.

    Raises:
        InvalidStatement: the proof is malformed.
    """
    try:
        leaf, path = value[_LEAF], value[_PATH]
        transaction_hash, evidence, digest = leaf
        steps = [(is_left, sibling) for is_left, sibling in path]
    except (TypeError, ValueError, LookupError) as error:
        raise InvalidStatement(
            "a proof of the receipt is not a leaf and a path", reason="receipt-malformed"
        ) from error
    has_hashes = all(
        type(item) is bytes and len(item) == HASH_SIZE
        for item in (transaction_hash, digest, *(sibling for _, sibling in steps))
    )
    # 1, 1.0 and true are three labels in CBOR, and one in Python.
    has_labels = isinstance(value, dict) and all(type(label) is int for label in value)
    has_sides = all(type(is_left) is bool for is_left, _ in steps)
    if (
        not has_labels
        or not has_hashes
        or not has_sides
        or type(evidence) is not str
        or len(steps) > _MAX_PATH_LENGTH
        or len(value) != _MEMBER_COUNT
    ):
        raise InvalidStatement(
            "a proof of the receipt has a malformed leaf or path", reason="receipt-malformed"
        )
    return CcfProof(transaction_hash, evidence, digest, steps)

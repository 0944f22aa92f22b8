"""What of a statement is in a log: the entry, whose hash is a leaf of the tree. Step: register,
verify.

Follows RFC 9943 section 6.3. RFC 9942 does not say which bytes are the entry, and implementations
differ. So the rule has a name: `statement` are the bytes that were received with an empty map in
place of the unprotected header, `digest` is their SHA-256.

Bundles: 256 entries of a log one after the other, each with its length before it. Step:
register. Follows C2SP tlog-tiles.

Receipts: a log's signature over its root, with the proof that an entry is under it. Step:
register, verify. Follows RFC 9942.

The signature is over the root alone, which is not in the receipt: whoever has the statement gets it
from the proof. So one signature serves all entries of a batch. The size of the tree and the
position of the entry are not protected; the root is.

Transparent statements: signed statements with the receipts of logs in them. Step: register,
verify. Follows RFC 9942.

The receipts are a list of byte strings in the unprotected header. The signature does not cover
them, and the entry in a log is the statement without them: so a receipt can be added at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cbor2

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.record import decode_shortest_cbor, encode_byte_string
from vacr.signing import (
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_SUB,
    HEADER_ALG,
    HEADER_CWT_CLAIMS,
    HEADER_KID,
    HEADER_RECEIPTS,
    HEADER_VDP,
    HEADER_VDS,
    VDP_CONSISTENCY,
    VDP_INCLUSION,
    VDS_RFC9162_SHA256,
    PublicKey,
    Sign1,
    Signer,
    compute_thumbprint,
    encode_protected_header,
    encode_sig_structure,
    parse_sign1,
    verify_signature,
)
from vacr.transparency.tree import (
    TILE_WIDTH,
    compute_consistency_root,
    compute_inclusion_root,
    hash_leaf,
)

ENTRY_RULE_STATEMENT, ENTRY_RULE_DIGEST = "statement", "digest"
ENTRY_RULES = (ENTRY_RULE_STATEMENT, ENTRY_RULE_DIGEST)

MAX_ENTRY_SIZE = 65_535
"""What an entry may have at most: a tile of entries has two bytes for the length of each."""

_CBOR_EMPTY_MAP, _CBOR_NULL = b"\xa0", b"\xf6"


def build_log_entry(message: Sign1, rule: str = ENTRY_RULE_STATEMENT) -> bytes:
    """Give the entry of a statement.

    Reading refused all heads but the shortest, so that these are the bytes as they were received,
    but for the one map.

    Raises:
        UsageError: there is no such rule.
    """
    if rule not in ENTRY_RULES:
        raise UsageError(f"no rule {rule!r} for entries", hint=f"Known: {', '.join(ENTRY_RULES)}.")
    payload = _CBOR_NULL if message.payload is None else encode_byte_string(message.payload)
    head = b"\xd2\x84" if message.tagged else b"\x84"
    entry = b"".join(
        (
            head,
            encode_byte_string(message.protected_bytes),
            _CBOR_EMPTY_MAP,
            payload,
            encode_byte_string(message.signature),
        )
    )
    return entry if rule == ENTRY_RULE_STATEMENT else hashlib.sha256(entry).digest()


_LENGTH_PREFIX_SIZE = 2

MAX_BUNDLE_SIZE = TILE_WIDTH * (_LENGTH_PREFIX_SIZE + MAX_ENTRY_SIZE)


def encode_entry_bundle(entries: Sequence[bytes]) -> bytes:
    """Write entries.

    Raises:
        UsageError: there are too many or none, or one is too large.
    """
    if not 0 < len(entries) <= TILE_WIDTH:
        raise UsageError(f"a bundle has from 1 to {TILE_WIDTH} entries, not {len(entries)}")
    for entry in entries:
        if len(entry) > MAX_ENTRY_SIZE:
            raise UsageError(
                f"an entry of {len(entry)} bytes; more than {MAX_ENTRY_SIZE} are not taken"
            )
    return b"".join(len(entry).to_bytes(_LENGTH_PREFIX_SIZE, "big") + entry for entry in entries)


def decode_entry_bundle(data: bytes, count: int) -> list[bytes]:
    """Read as many entries as there have to be.

    Raises:
        InvalidStatement: there are more or fewer, or the last is cut off.
    """
    entries: list[bytes] = []
    at = 0
    while at < len(data) and len(entries) < count:
        start = at + _LENGTH_PREFIX_SIZE
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise InvalidStatement(
                f"entry {len(entries)} of the bundle is cut off", reason="bundle-form"
            )
        entries.append(data[start:at])
    if at != len(data) or len(entries) != count:
        raise InvalidStatement(
            f"a bundle that does not hold the {count} entries that it has to", reason="bundle-form"
        )
    return entries


RECEIPT_CRIT_LABELS = frozenset((HEADER_ALG, HEADER_KID, HEADER_CWT_CLAIMS, HEADER_VDS))
"""The labels that `crit` of a receipt may name."""

UNKNOWN_TREE_REASON = "receipt-tree"
"""Why a receipt for another kind of tree is refused: it may be a good one, for those who know that
kind.
"""

_MAX_PROOFS = 16
_PROOF_MEMBER_COUNT = 3


@dataclass(frozen=True, slots=True)
class TreeHead:
    """A root that a log has signed: what all receipts for a tree of this size have in common."""

    size: int
    root: bytes
    protected: bytes
    signature: bytes

    def inclusion(self, index: int, path: Sequence[bytes]) -> bytes:
        """Write the receipt for an entry."""
        return self._receipt(VDP_INCLUSION, [self.size, index, list(path)])

    def consistency(self, older: int, path: Sequence[bytes]) -> bytes:
        """Write the receipt that shows that an older tree is the beginning of this one."""
        return self._receipt(VDP_CONSISTENCY, [older, self.size, list(path)])

    def _receipt(self, kind: int, proof: list[Any]) -> bytes:
        unprotected = cbor2.dumps({HEADER_VDP: {kind: [cbor2.dumps(proof)]}})
        return b"".join(
            (
                b"\xd2\x84",
                encode_byte_string(self.protected),
                unprotected,
                b"\xf6",
                encode_byte_string(self.signature),
            )
        )


def encode_receipt_header(signer: Signer, issuer: str, subject: str, issued_at: int) -> bytes:
    """Write the header that the receipts of a log have for a batch."""
    claims = {CLAIM_ISS: issuer, CLAIM_SUB: subject, CLAIM_IAT: issued_at}
    kid = compute_thumbprint(signer.public_key)
    return encode_protected_header(
        {
            HEADER_ALG: signer.algorithm,
            HEADER_KID: kid,
            HEADER_CWT_CLAIMS: claims,
            HEADER_VDS: VDS_RFC9162_SHA256,
        }
    )


def sign_tree_head(signer: Signer, protected: bytes, size: int, root: bytes) -> TreeHead:
    """Sign the root of a tree."""
    return TreeHead(size, root, protected, signer.sign(encode_sig_structure(protected, root)))


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """A proof that an entry is in a tree."""

    size: int
    index: int
    path: list[bytes]

    def root(self, leaf: bytes) -> bytes:
        """Give the root that it leads to.

        Raises:
            InvalidStatement: it leads nowhere.
        """
        return compute_inclusion_root(leaf, self.index, self.size, self.path)


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """A proof that a tree is the beginning of another."""

    older: int
    newer: int
    path: list[bytes]

    def root(self, older_root: bytes) -> bytes:
        """Give the root of the newer tree.

        Raises:
            InvalidStatement: the older tree is not its beginning.
        """
        return compute_consistency_root(self.older, self.newer, self.path, older_root)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt that was read, and not yet verified."""

    message: Sign1
    inclusions: tuple[InclusionProof, ...] = ()
    consistencies: tuple[ConsistencyProof, ...] = ()

    @property
    def kid(self) -> Any:
        """The name of the key, as the receipt says."""
        return self.message.protected.get(HEADER_KID)

    @property
    def claims(self) -> dict[Any, Any]:
        """What the log says of itself; true where the signature is."""
        found = self.message.protected.get(HEADER_CWT_CLAIMS)
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
        algorithm = self.message.protected.get(HEADER_ALG)
        try:
            verify_signature(
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
        message = parse_sign1(data, RECEIPT_CRIT_LABELS)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"a receipt that cannot be read: {error.message}", reason="receipt-malformed"
        ) from error
    if not message.tagged:
        raise InvalidStatement("a receipt without the tag of COSE_Sign1", reason="receipt-untagged")
    if HEADER_VDS in message.unprotected or HEADER_ALG in message.unprotected:
        raise InvalidStatement(
            "the kind of the tree or the algorithm is not protected", reason="receipt-unprotected"
        )
    kind = message.protected.get(HEADER_VDS)
    if type(kind) is not int or kind != VDS_RFC9162_SHA256:
        raise InvalidStatement(
            f"a receipt for a kind of tree that is not known: {kind!r}", reason=UNKNOWN_TREE_REASON
        )
    proofs = message.unprotected.get(HEADER_VDP)
    if (
        not isinstance(proofs, dict)
        or not proofs.keys() <= {VDP_INCLUSION, VDP_CONSISTENCY}
        or not proofs
    ):
        raise InvalidStatement("a receipt without proofs", reason="receipt-malformed")
    included = tuple(
        InclusionProof(*_decode_proof(one)) for one in _check_proof_list(proofs.get(VDP_INCLUSION))
    )
    consistent = tuple(
        ConsistencyProof(*_decode_proof(one))
        for one in _check_proof_list(proofs.get(VDP_CONSISTENCY))
    )
    return Receipt(message, included, consistent)


def _check_proof_list(proofs: Any) -> list[Any]:
    if proofs is None:
        return []
    if not isinstance(proofs, list | tuple) or not 0 < len(proofs) <= _MAX_PROOFS:
        raise InvalidStatement("proofs that are no list", reason="receipt-malformed")
    return list(proofs)


def _decode_proof(data: Any) -> tuple[int, int, list[bytes]]:
    try:
        value = (
            decode_shortest_cbor(data, max_depth=2, most=_PROOF_MEMBER_COUNT + 100)
            if type(data) is bytes
            else None
        )
    except UnreadableInput as error:
        raise InvalidStatement(
            f"a proof that cannot be read: {error}", reason="receipt-malformed"
        ) from error
    if not isinstance(value, list) or len(value) != _PROOF_MEMBER_COUNT:
        raise InvalidStatement(
            "a proof that is not two numbers and a path", reason="receipt-malformed"
        )
    first, second, path = value
    if type(first) is not int or type(second) is not int or not isinstance(path, list):
        raise InvalidStatement(
            "a proof that is not two numbers and a path", reason="receipt-malformed"
        )
    return first, second, path


MAX_RECEIPTS = 64
"""How many receipts a statement may have."""


def add_receipt(
    statement: bytes, receipt: bytes, key: PublicKey | None = None, rule: str = ENTRY_RULE_STATEMENT
) -> bytes:
    """Put a receipt into a statement, in the place of those that the same key of its log has
    signed.

    Only a signature tells of which log a receipt is: by a name, one log could have the receipts of
    another thrown away. So without the key that signed it all others stay.

    Raises:
        InvalidStatement: one of them cannot be read, or there is no room for one more.
    """
    message = parse_sign1(statement)
    parse_receipt(receipt)
    leaf = hash_leaf(build_log_entry(message, rule))
    kept = [
        one
        for one in list_encoded_receipts(message)
        if not _is_receipt_signed_by(one, leaf, key) and one != receipt
    ]
    if len(kept) >= MAX_RECEIPTS:
        raise InvalidStatement(
            f"there are {len(kept)} receipts in the statement already", reason="receipt-malformed"
        )
    return replace(
        message, unprotected={**message.unprotected, HEADER_RECEIPTS: [*kept, receipt]}
    ).encode()


def parse_receipts(message: Sign1) -> list[Receipt]:
    """Read the receipts in a statement.

    Raises:
        InvalidStatement: one of them is none.
    """
    return [parse_receipt(one) for one in list_encoded_receipts(message)]


def list_encoded_receipts(message: Sign1) -> list[Any]:
    """Give the receipts in a statement as they are written.

    Raises:
        InvalidStatement: they are no list, or in the wrong header.
    """
    if HEADER_RECEIPTS in message.protected:
        raise InvalidStatement(
            "receipts in the protected header, where no log can have put them",
            reason="receipt-protected",
        )
    if HEADER_RECEIPTS not in message.unprotected:
        return []
    written = message.unprotected[HEADER_RECEIPTS]
    if not isinstance(written, list | tuple) or not 0 < len(written) <= MAX_RECEIPTS:
        raise InvalidStatement(
            f"receipts that are no list of up to {MAX_RECEIPTS}", reason="receipt-malformed"
        )
    return list(written)


def _is_receipt_signed_by(written: Any, leaf: bytes, key: PublicKey | None) -> bool:
    """Tell whether a key signed a receipt."""
    try:
        receipt = parse_receipt(written)
    except InvalidStatement as error:
        if error.reason == UNKNOWN_TREE_REASON:
            return False
        raise
    try:
        for proof in receipt.inclusions if key is not None else ():
            receipt.check(proof.root(leaf), key)
            return True
    except InvalidStatement:
        pass  # by somebody else, or about something else
    return False

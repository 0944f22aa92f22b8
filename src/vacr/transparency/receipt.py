"""Receipts of a log, the entries they are for, and statements that contain them.

A log appends an entry for a statement and returns a receipt (RFC 9942): its signature over the root
of its tree, with the proof that the entry is under that root. The root itself is not in the
receipt, because the proof yields it; so one signature serves all entries of a batch. The tree size
and the entry's position are not protected, the root is.

    >>> from vacr.signing import KeySigner, generate_key, parse_sign1, sign
    >>> from vacr.transparency import *
    >>> statement = sign(b"a record", KeySigner(generate_key("eddsa")))
    >>> leaf = hash_leaf(build_log_entry(parse_sign1(statement)))
    >>> log = KeySigner(generate_key("es256"))
    >>> header = encode_receipt_header(log, "https://log.example", "log.example", 1_700_000_000)
    >>> head = sign_tree_head(log, header, size=1, root=leaf)      # a log with one entry
    >>> transparent = add_receipt(statement, head.inclusion(index=0, path=[]))
    >>> [receipt] = list_encoded_receipts(parse_sign1(transparent))
    >>> parse_receipt(receipt).check(leaf, log.public_key)         # raises if it does not verify

RFC 9942 leaves open which bytes of a statement are the entry, so the rule has a name: `statement`
is the statement as received with an empty unprotected header, `digest` is its SHA-256. Either way,
a receipt can be added to the unprotected header at any time (RFC 9943, section 6.3).

Receipts in the profile of CCF (draft-ietf-scitt-receipts-ccf-profile) have another tree: a leaf
covers a transaction and the digest of the statement, and the proof says on which side each hash is.

Logs publish entries in bundles of 256 (C2SP tlog-tiles), each entry after its length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import cbor2

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.record import decode_shortest_cbor, encode_byte_string
from vacr.signing import (
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_SUB,
    HEADER_ALG,
    HEADER_COSE_THEN_TIMESTAMP,
    HEADER_CWT_CLAIMS,
    HEADER_KID,
    HEADER_RECEIPTS,
    HEADER_TLOG_PROOFS,
    HEADER_VDP,
    HEADER_VDS,
    VDP_CONSISTENCY,
    VDP_INCLUSION,
    VDS_CCF_LEDGER_SHA256,
    VDS_RFC9162_SHA256,
    PublicKey,
    Sign1,
    Signer,
    compute_thumbprint,
    encode_protected_header,
    encode_sig_structure,
    flip_signature,
    parse_sign1,
    verify_signature,
)
from vacr.transparency.ccf import CcfProof, parse_ccf_proof
from vacr.transparency.tree import (
    TILE_WIDTH,
    compute_consistency_root,
    compute_inclusion_root,
    hash_leaf,
)

ENTRY_RULE_STATEMENT, ENTRY_RULE_DIGEST = "statement", "digest"
ENTRY_RULES = (ENTRY_RULE_STATEMENT, ENTRY_RULE_DIGEST)

MAX_ENTRY_SIZE = 65_535
"""The maximum size of an entry: bundles have two bytes for the length."""


_LENGTH_PREFIX_SIZE = 2
MAX_BUNDLE_SIZE = TILE_WIDTH * (_LENGTH_PREFIX_SIZE + MAX_ENTRY_SIZE)
RECEIPT_CRIT_LABELS = frozenset((HEADER_ALG, HEADER_KID, HEADER_CWT_CLAIMS, HEADER_VDS))
"""The labels that the `crit` header of a receipt may name."""
UNKNOWN_TREE_REASON = "receipt-tree"
"""The reason for refusing a receipt for another kind of tree, which others may be able to check."""
_MAX_PROOFS = 16
_PROOF_MEMBER_COUNT = 3
_MAX_PROOF_ITEMS = 500
_PROOF_DEPTH, _CCF_PROOF_DEPTH = 2, 3
_TREE_TYPES = (VDS_RFC9162_SHA256, VDS_CCF_LEDGER_SHA256)
MAX_RECEIPTS = 64
"""The maximum number of receipts in a statement."""

_OTHER_LOG_HINT = (
    "The file is unchanged. To have both, sign a second statement, and register it there."
)
_SIGNATURE_PROOFS = {
    HEADER_COSE_THEN_TIMESTAMP: (
        "the timestamp is",
        "Sign again, with a new timestamp: vacr sign --overwrite",
    ),
    HEADER_RECEIPTS: ("the receipts of other logs are", _OTHER_LOG_HINT),
    HEADER_TLOG_PROOFS: ("the proofs of witnesses are", _OTHER_LOG_HINT),
}
"""The unprotected headers that prove something about one form of a signature, for messages."""
_TAGGED_ARRAY_OF_FOUR, _ARRAY_OF_FOUR, _ARRAY_OF_ONE = b"\xd2\x84", b"\x84", b"\x81"
_CBOR_EMPTY_MAP, _CBOR_NULL = b"\xa0", b"\xf6"


def build_log_entry(message: Sign1, rule: str = ENTRY_RULE_STATEMENT) -> bytes:
    """Return the bytes that a log stores for a statement.

    By the rule `statement`, that is the statement with an empty unprotected header; by `digest`,
    the SHA-256 of that. A detached payload is stored as null. The other bytes are as received,
    because parsing accepts only the shortest encodings.

    Raises:
        UsageError: the rule is unknown.
    """
    if rule not in ENTRY_RULES:
        raise UsageError(
            f"there is no rule for log entries named {rule!r}",
            hint=f"Choose from: {', '.join(ENTRY_RULES)}.",
        )
    payload = _CBOR_NULL if message.payload is None else encode_byte_string(message.payload)
    entry = b"".join(
        (
            _TAGGED_ARRAY_OF_FOUR if message.tagged else _ARRAY_OF_FOUR,
            encode_byte_string(message.protected_bytes),
            _CBOR_EMPTY_MAP,
            payload,
            encode_byte_string(message.signature),
        )
    )
    return entry if rule == ENTRY_RULE_STATEMENT else hashlib.sha256(entry).digest()


def build_twin_entry(entry: bytes) -> bytes | None:
    """Return the entry of the same statement with the other form of its ECDSA signature.

    Anybody can compute the other form, so a log must not take both. Return None if the signature
    has no other form, or `entry` is not a statement.
    """
    try:
        message = cbor2.loads(entry)
        protected, _, _, signature = message.value
        other = flip_signature(cbor2.loads(protected)[HEADER_ALG], signature)
    except (cbor2.CBORError, AttributeError, ValueError, TypeError, LookupError):
        return None
    if other is None or not entry.endswith(signature):
        return None
    return entry[: -len(signature)] + other


def replace_by_twin(statement: bytes, twin: bytes) -> bytes:
    """Return a statement with the signature of its twin; `twin` is an entry, or a statement.

    Raises:
        InvalidStatement: `twin` is another statement, or a timestamp, a receipt or a proof of
            witnesses covers the old signature, and would no longer verify.
    """
    message, other = parse_sign1(statement), parse_sign1(twin)
    if build_twin_entry(build_log_entry(message)) != build_log_entry(other):
        raise InvalidStatement("not the same statement", reason="register-other-statement")
    covered = next((label for label in _SIGNATURE_PROOFS if label in message.unprotected), None)
    if covered is not None:
        what, hint = _SIGNATURE_PROOFS[covered]
        raise InvalidStatement(
            "somebody has registered the statement with the other form of its ECDSA signature, "
            f"and {what} for this form",
            reason="register-twin",
            hint=hint,
        )
    return replace(message, signature=other.signature).encode()


@dataclass(frozen=True, slots=True)
class EntryHashes:
    """The hashes by which the proofs of the known types of trees name a statement."""

    leaf: bytes
    """The leaf hash of its log entry (RFC 9162)."""
    digest: bytes
    """The SHA-256 of the statement with an empty unprotected header (CCF)."""


def hash_log_entry(message: Sign1, rule: str = ENTRY_RULE_STATEMENT) -> EntryHashes:
    """Return the hashes of a statement; `rule` is how a log of RFC 9162 derives its entry.

    Raises:
        UsageError: the rule is unknown.
    """
    digest = build_log_entry(message, ENTRY_RULE_DIGEST)
    return EntryHashes(hash_leaf(build_log_entry(message, rule)), digest)


@dataclass(frozen=True, slots=True)
class TreeHead:
    """A root that a log signed: the common part of all receipts for a tree of this size."""

    size: int
    root: bytes
    protected: bytes
    signature: bytes

    def inclusion(self, index: int, path: Sequence[bytes]) -> bytes:
        """Return the encoded receipt for the entry at `index`; `path` is its inclusion proof."""
        return self._encode_receipt(VDP_INCLUSION, [self.size, index, list(path)])

    def consistency(self, older: int, path: Sequence[bytes]) -> bytes:
        """Return the encoded receipt that proves that an older tree is the beginning of this one.

        `older` is the size of that tree, and `path` the consistency proof.
        """
        return self._encode_receipt(VDP_CONSISTENCY, [older, self.size, list(path)])

    def _encode_receipt(self, proof_type: int, proof: list[Any]) -> bytes:
        """Return the signed head as a receipt with one proof, and without the root."""
        start, end = _encode_receipt_frame(self.protected, self.signature, proof_type)
        return start + encode_byte_string(cbor2.dumps(proof)) + end


@lru_cache(maxsize=4)
def _encode_receipt_frame(
    protected: bytes, signature: bytes, proof_type: int
) -> tuple[bytes, bytes]:
    """Return the bytes of a receipt before and after its proof; all entries of a batch share them.

    The last part of the unprotected header is a list with the encoded proof as its only item.
    """
    empty_list = cbor2.dumps([])
    unprotected = cbor2.dumps({HEADER_VDP: {proof_type: []}}).removesuffix(empty_list)
    start = (
        _TAGGED_ARRAY_OF_FOUR,
        encode_byte_string(protected),
        unprotected,
        _ARRAY_OF_ONE,
    )
    return b"".join(start), _CBOR_NULL + encode_byte_string(signature)


def encode_receipt_header(signer: Signer, issuer: str, subject: str, issued_at: int) -> bytes:
    """Return the encoded protected header that all receipts of a batch share.

    `issuer` is the identity of the log, `subject` its origin, and `issued_at` is in Unix seconds.
    """
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
    """Sign the root of a tree; `protected` is the result of `encode_receipt_header`."""
    return TreeHead(size, root, protected, signer.sign(encode_sig_structure(protected, root)))


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """A proof that an entry is in a tree."""

    size: int
    index: int
    path: list[bytes]

    def root(self, leaf: bytes) -> bytes:
        """Return the root that the proof leads to from a leaf hash.

        Raises:
            InvalidStatement: the proof does not fit a tree of this size.
        """
        return compute_inclusion_root(leaf, self.index, self.size, self.path)


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """A proof that a tree is the beginning of a newer one."""

    older: int
    newer: int
    path: list[bytes]

    def root(self, older_root: bytes) -> bytes:
        """Return the root of the newer tree that the proof leads to.

        Raises:
            InvalidStatement: the proof is malformed, or does not lead to `older_root` as well.
        """
        return compute_consistency_root(self.older, self.newer, self.path, older_root)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A parsed receipt, not verified yet."""

    message: Sign1
    inclusions: tuple[InclusionProof, ...] = ()
    consistencies: tuple[ConsistencyProof, ...] = ()
    ccf_proofs: tuple[CcfProof, ...] = ()

    def compute_roots(self, hashes: EntryHashes) -> set[bytes]:
        """Return the roots that the inclusion proofs lead to; empty if there is no such proof.

        Raises:
            InvalidStatement: a proof is malformed, or for another statement.
        """
        roots = {proof.root(hashes.leaf) for proof in self.inclusions}
        return roots | {proof.root(hashes.digest) for proof in self.ccf_proofs}

    @property
    def kid(self) -> Any:
        """The id of the log's key in the protected header, or None."""
        return self.message.protected.get(HEADER_KID)

    @property
    def claims(self) -> dict[Any, Any]:
        """The log's claims in the protected header, or an empty dictionary.

        They are verified only after `check`.
        """
        claims = self.message.protected.get(HEADER_CWT_CLAIMS)
        return dict(claims) if isinstance(claims, dict) else {}

    def check(self, root: bytes, key: PublicKey) -> None:
        """Check that a key signed this receipt for a root.

        Raises:
            InvalidStatement: it did not, or the receipt contains another root.
        """
        if self.message.payload is not None and self.message.payload != root:
            raise InvalidStatement(
                "the receipt contains a different root than its proof leads to",
                reason="receipt-root",
            )
        algorithm = self.message.protected.get(HEADER_ALG)
        try:
            verify_signature(
                algorithm, key, self.message.signature, self.message.to_be_signed(root)
            )
        except InvalidStatement as error:
            problem = f"the log's key did not sign the root of the proof: {error.message}"
            raise InvalidStatement(problem, reason=f"receipt-{error.reason}") from error


def parse_receipt(data: Any) -> Receipt:
    """Parse an encoded receipt and its proofs, without verifying them.

    Raises:
        InvalidStatement: it is malformed, or for another kind of tree.
    """
    if type(data) is not bytes:
        raise InvalidStatement("the receipt is not a byte string", reason="receipt-malformed")
    try:
        message = parse_sign1(data, RECEIPT_CRIT_LABELS)
    except InvalidStatement as error:
        raise InvalidStatement(
            f"cannot read the receipt: {error.message}", reason="receipt-malformed"
        ) from error
    if not message.tagged:
        raise InvalidStatement("the receipt has no COSE_Sign1 tag", reason="receipt-untagged")
    if HEADER_VDS in message.unprotected or HEADER_ALG in message.unprotected:
        raise InvalidStatement(
            "the tree type or the algorithm of the receipt is not signed",
            reason="receipt-unprotected",
        )
    tree_type = message.protected.get(HEADER_VDS)
    if type(tree_type) is not int or tree_type not in _TREE_TYPES:
        raise InvalidStatement(
            f"the receipt is for an unknown type of tree: {tree_type!r}",
            reason=UNKNOWN_TREE_REASON,
        )
    proofs = message.unprotected.get(HEADER_VDP)
    if (
        not isinstance(proofs, dict)
        or not proofs.keys() <= {VDP_INCLUSION, VDP_CONSISTENCY}
        or not proofs
    ):
        raise InvalidStatement(
            "the proofs of the receipt are missing, malformed or of an unknown kind",
            reason="receipt-malformed",
        )
    inclusions = _list_proofs(proofs.get(VDP_INCLUSION))
    if tree_type == VDS_CCF_LEDGER_SHA256:
        if VDP_CONSISTENCY in proofs:
            raise InvalidStatement(
                "the receipt has a consistency proof, which its type of tree does not have",
                reason="receipt-malformed",
            )
        decoded = [_decode_proof_cbor(proof, _CCF_PROOF_DEPTH) for proof in inclusions]
        return Receipt(message, ccf_proofs=tuple(map(parse_ccf_proof, decoded)))
    inclusion_proofs = tuple(InclusionProof(*_decode_proof(proof)) for proof in inclusions)
    consistencies = _list_proofs(proofs.get(VDP_CONSISTENCY))
    consistency_proofs = tuple(ConsistencyProof(*_decode_proof(proof)) for proof in consistencies)
    return Receipt(message, inclusion_proofs, consistency_proofs)


def _list_proofs(proofs: Any) -> list[Any]:
    """Return the encoded proofs of one kind, or an empty list if `proofs` is None.

    Raises:
        InvalidStatement: `proofs` is not a list, is empty, or is too long.
    """
    if proofs is None:
        return []
    if not isinstance(proofs, list | tuple) or not 0 < len(proofs) <= _MAX_PROOFS:
        raise InvalidStatement(
            f"the proofs of the receipt are not a list of 1 to {_MAX_PROOFS}",
            reason="receipt-malformed",
        )
    return list(proofs)


def _decode_proof(data: Any) -> tuple[int, int, list[bytes]]:
    """Decode a proof into two numbers (size and index, or two sizes) and a path of hashes.

    Raises:
        InvalidStatement: the proof is malformed.
    """
    value = _decode_proof_cbor(data, _PROOF_DEPTH)
    if not isinstance(value, list) or len(value) != _PROOF_MEMBER_COUNT:
        raise InvalidStatement(
            "a proof of the receipt is not two numbers and a path", reason="receipt-malformed"
        )
    first, second, path = value
    if type(first) is not int or type(second) is not int or not isinstance(path, list):
        raise InvalidStatement(
            "a proof of the receipt is not two numbers and a path", reason="receipt-malformed"
        )
    return first, second, path


def _decode_proof_cbor(data: Any, max_depth: int) -> Any:
    """Decode the CBOR of a proof; return None if `data` is not a byte string.

    Raises:
        InvalidStatement: it cannot be decoded.
    """
    if type(data) is not bytes:
        return None
    try:
        return decode_shortest_cbor(data, max_depth=max_depth, max_items=_MAX_PROOF_ITEMS)
    except UnreadableInput as error:
        raise InvalidStatement(
            f"cannot read a proof of the receipt: {error}", reason="receipt-malformed"
        ) from error


def add_receipt(
    statement: bytes, receipt: bytes, key: PublicKey | None = None, rule: str = ENTRY_RULE_STATEMENT
) -> bytes:
    """Return a statement with one more receipt, and without older receipts signed with `key`.

    `key` is the log's key. Only a signature proves which log a receipt is from: if names counted,
    one log could have the receipts of another removed. So without `key`, all other receipts stay.

    Raises:
        InvalidStatement: a receipt cannot be read, or the statement has too many.
    """
    message = parse_sign1(statement)
    parse_receipt(receipt)
    hashes = hash_log_entry(message, rule)
    kept = [
        other
        for other in list_encoded_receipts(message)
        if not _is_receipt_signed_by(other, hashes, key) and other != receipt
    ]
    if len(kept) >= MAX_RECEIPTS:
        raise InvalidStatement(
            f"the statement already has {len(kept)} receipts, the maximum",
            reason="receipt-malformed",
        )
    unprotected = {**message.unprotected, HEADER_RECEIPTS: [*kept, receipt]}
    return replace(message, unprotected=unprotected).encode()


def _is_receipt_signed_by(encoded: Any, hashes: EntryHashes, key: PublicKey | None) -> bool:
    """Return whether `key` signed a receipt for the entry with these hashes.

    Return False without a key, and for a receipt with an unknown type of tree.

    Raises:
        InvalidStatement: the receipt is malformed.
    """
    try:
        receipt = parse_receipt(encoded)
    except InvalidStatement as error:
        if error.reason == UNKNOWN_TREE_REASON:
            return False
        raise
    if key is None:
        return False
    try:
        roots = receipt.compute_roots(hashes)
        for root in roots:
            receipt.check(root, key)
    except InvalidStatement:
        return False  # Signed with another key, or for another entry.
    return bool(roots)


def parse_receipts(message: Sign1) -> list[Receipt]:
    """Parse the receipts in a statement; return an empty list if it has none.

    Raises:
        InvalidStatement: one cannot be read.
    """
    return [parse_receipt(encoded) for encoded in list_encoded_receipts(message)]


def list_encoded_receipts(message: Sign1) -> list[Any]:
    """Return the receipts in a statement, still encoded, or an empty list if it has none.

    Raises:
        InvalidStatement: they are not a list of 1 to 64, or in the protected header.
    """
    if HEADER_RECEIPTS in message.protected:
        raise InvalidStatement(
            "receipts are in the protected header, but belong in the unprotected one",
            reason="receipt-protected",
        )
    if HEADER_RECEIPTS not in message.unprotected:
        return []
    receipts = message.unprotected[HEADER_RECEIPTS]
    if not isinstance(receipts, list | tuple) or not 0 < len(receipts) <= MAX_RECEIPTS:
        raise InvalidStatement(
            f"the receipts are not a list of 1 to {MAX_RECEIPTS}", reason="receipt-malformed"
        )
    return list(receipts)


def encode_entry_bundle(entries: Sequence[bytes]) -> bytes:
    """Encode 1 to 256 entries as a bundle: each entry after its length in two bytes.

    Raises:
        UsageError: there are too many or none, or one is too large.
    """
    if not 0 < len(entries) <= TILE_WIDTH:
        raise UsageError(f"a bundle must have 1 to {TILE_WIDTH} entries, not {len(entries)}")
    for entry in entries:
        if len(entry) > MAX_ENTRY_SIZE:
            raise UsageError(
                f"the entry is too large: {len(entry)} bytes, at most {MAX_ENTRY_SIZE} allowed",
                hint="Sign a hash envelope, the default of vacr sign: its size does not depend on "
                "the file.",
            )
    return b"".join(len(entry).to_bytes(_LENGTH_PREFIX_SIZE, "big") + entry for entry in entries)


def decode_entry_bundle(data: bytes, count: int) -> list[bytes]:
    """Return the `count` entries in an encoded bundle.

    Raises:
        InvalidStatement: it holds more or fewer entries, or the last one is cut off.
    """
    entries: list[bytes] = []
    end = 0
    while end < len(data) and len(entries) < count:
        start = end + _LENGTH_PREFIX_SIZE
        end = start + int.from_bytes(data[end:start], "big")
        if start > len(data) or end > len(data):
            raise InvalidStatement(
                f"entry {len(entries)} of the bundle is cut off", reason="bundle-form"
            )
        entries.append(data[start:end])
    if end != len(data) or len(entries) != count:
        raise InvalidStatement(
            f"the bundle does not contain exactly {count} entries", reason="bundle-form"
        )
    return entries

"""Merkle tree, receipts, checkpoints and proofs of transparency logs; no I/O."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.transparency.checkpoint import MAX_NOTE_SIZE as MAX_NOTE_SIZE
    from vacr.transparency.checkpoint import MAX_SUBMISSION_SIZE as MAX_SUBMISSION_SIZE
    from vacr.transparency.checkpoint import NOTE_KEY_COSIGNATURE as NOTE_KEY_COSIGNATURE
    from vacr.transparency.checkpoint import NOTE_KEY_ED25519 as NOTE_KEY_ED25519
    from vacr.transparency.checkpoint import Checkpoint as Checkpoint
    from vacr.transparency.checkpoint import CheckpointSubmission as CheckpointSubmission
    from vacr.transparency.checkpoint import SignedNote as SignedNote
    from vacr.transparency.checkpoint import VerifierKey as VerifierKey
    from vacr.transparency.checkpoint import build_verifier_key as build_verifier_key
    from vacr.transparency.checkpoint import check_key_name as check_key_name
    from vacr.transparency.checkpoint import cosign_checkpoint as cosign_checkpoint
    from vacr.transparency.checkpoint import parse_checkpoint as parse_checkpoint
    from vacr.transparency.checkpoint import (
        parse_checkpoint_submission as parse_checkpoint_submission,
    )
    from vacr.transparency.checkpoint import parse_signed_note as parse_signed_note
    from vacr.transparency.checkpoint import parse_tree_size as parse_tree_size
    from vacr.transparency.checkpoint import parse_verifier_key as parse_verifier_key
    from vacr.transparency.checkpoint import sign_checkpoint as sign_checkpoint
    from vacr.transparency.checkpoint import verify_checkpoint as verify_checkpoint
    from vacr.transparency.checkpoint import verify_cosignature as verify_cosignature
    from vacr.transparency.log_keys import LogDescription as LogDescription
    from vacr.transparency.log_keys import LogKeyChain as LogKeyChain
    from vacr.transparency.log_keys import compute_log_identity as compute_log_identity
    from vacr.transparency.log_keys import parse_description as parse_description
    from vacr.transparency.log_keys import parse_first_description as parse_first_description
    from vacr.transparency.log_keys import parse_next_description as parse_next_description
    from vacr.transparency.receipt import ENTRY_RULE_STATEMENT as ENTRY_RULE_STATEMENT
    from vacr.transparency.receipt import ENTRY_RULES as ENTRY_RULES
    from vacr.transparency.receipt import MAX_BUNDLE_SIZE as MAX_BUNDLE_SIZE
    from vacr.transparency.receipt import MAX_ENTRY_SIZE as MAX_ENTRY_SIZE
    from vacr.transparency.receipt import RECEIPT_CRIT_LABELS as RECEIPT_CRIT_LABELS
    from vacr.transparency.receipt import UNKNOWN_TREE_REASON as UNKNOWN_TREE_REASON
    from vacr.transparency.receipt import EntryHashes as EntryHashes
    from vacr.transparency.receipt import Receipt as Receipt
    from vacr.transparency.receipt import TreeHead as TreeHead
    from vacr.transparency.receipt import add_receipt as add_receipt
    from vacr.transparency.receipt import build_log_entry as build_log_entry
    from vacr.transparency.receipt import build_twin_entry as build_twin_entry
    from vacr.transparency.receipt import decode_entry_bundle as decode_entry_bundle
    from vacr.transparency.receipt import encode_entry_bundle as encode_entry_bundle
    from vacr.transparency.receipt import encode_receipt_header as encode_receipt_header
    from vacr.transparency.receipt import hash_log_entry as hash_log_entry
    from vacr.transparency.receipt import list_encoded_receipts as list_encoded_receipts
    from vacr.transparency.receipt import parse_receipt as parse_receipt
    from vacr.transparency.receipt import replace_by_twin as replace_by_twin
    from vacr.transparency.receipt import sign_tree_head as sign_tree_head
    from vacr.transparency.tlog_proof import MAX_TLOG_PROOF_SIZE as MAX_TLOG_PROOF_SIZE
    from vacr.transparency.tlog_proof import Cosignature as Cosignature
    from vacr.transparency.tlog_proof import TlogProof as TlogProof
    from vacr.transparency.tlog_proof import WitnessedEntry as WitnessedEntry
    from vacr.transparency.tlog_proof import add_tlog_proof as add_tlog_proof
    from vacr.transparency.tlog_proof import find_cosignatures as find_cosignatures
    from vacr.transparency.tlog_proof import list_tlog_proofs as list_tlog_proofs
    from vacr.transparency.tlog_proof import parse_tlog_proof as parse_tlog_proof
    from vacr.transparency.tlog_proof import verify_tlog_proof as verify_tlog_proof
    from vacr.transparency.tree import HASH_SIZE as HASH_SIZE
    from vacr.transparency.tree import TILE_HEIGHT as TILE_HEIGHT
    from vacr.transparency.tree import TILE_WIDTH as TILE_WIDTH
    from vacr.transparency.tree import GrowingTree as GrowingTree
    from vacr.transparency.tree import NodeLookup as NodeLookup
    from vacr.transparency.tree import Tile as Tile
    from vacr.transparency.tree import build_consistency_path as build_consistency_path
    from vacr.transparency.tree import build_inclusion_path as build_inclusion_path
    from vacr.transparency.tree import compute_consistency_root as compute_consistency_root
    from vacr.transparency.tree import compute_inclusion_root as compute_inclusion_root
    from vacr.transparency.tree import compute_right_edge as compute_right_edge
    from vacr.transparency.tree import compute_root as compute_root
    from vacr.transparency.tree import format_tile_path as format_tile_path
    from vacr.transparency.tree import hash_leaf as hash_leaf
    from vacr.transparency.tree import list_last_tiles as list_last_tiles
    from vacr.transparency.tree import make_node_lookup as make_node_lookup
    from vacr.transparency.tree import parse_tile_path as parse_tile_path

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "checkpoint": (
            "Checkpoint",
            "CheckpointSubmission",
            "MAX_NOTE_SIZE",
            "MAX_SUBMISSION_SIZE",
            "NOTE_KEY_COSIGNATURE",
            "NOTE_KEY_ED25519",
            "SignedNote",
            "VerifierKey",
            "build_verifier_key",
            "check_key_name",
            "cosign_checkpoint",
            "parse_checkpoint",
            "parse_checkpoint_submission",
            "parse_signed_note",
            "parse_tree_size",
            "parse_verifier_key",
            "sign_checkpoint",
            "verify_checkpoint",
            "verify_cosignature",
        ),
        "log_keys": (
            "LogDescription",
            "LogKeyChain",
            "compute_log_identity",
            "parse_description",
            "parse_first_description",
            "parse_next_description",
        ),
        "receipt": (
            "ENTRY_RULES",
            "ENTRY_RULE_STATEMENT",
            "MAX_BUNDLE_SIZE",
            "MAX_ENTRY_SIZE",
            "RECEIPT_CRIT_LABELS",
            "EntryHashes",
            "Receipt",
            "TreeHead",
            "UNKNOWN_TREE_REASON",
            "add_receipt",
            "build_log_entry",
            "build_twin_entry",
            "decode_entry_bundle",
            "encode_entry_bundle",
            "encode_receipt_header",
            "hash_log_entry",
            "list_encoded_receipts",
            "parse_receipt",
            "replace_by_twin",
            "sign_tree_head",
        ),
        "tlog_proof": (
            "Cosignature",
            "MAX_TLOG_PROOF_SIZE",
            "TlogProof",
            "WitnessedEntry",
            "add_tlog_proof",
            "find_cosignatures",
            "list_tlog_proofs",
            "parse_tlog_proof",
            "verify_tlog_proof",
        ),
        "tree": (
            "GrowingTree",
            "HASH_SIZE",
            "NodeLookup",
            "TILE_HEIGHT",
            "TILE_WIDTH",
            "Tile",
            "build_consistency_path",
            "build_inclusion_path",
            "compute_consistency_root",
            "compute_inclusion_root",
            "compute_right_edge",
            "compute_root",
            "format_tile_path",
            "hash_leaf",
            "list_last_tiles",
            "make_node_lookup",
            "parse_tile_path",
        ),
    },
)

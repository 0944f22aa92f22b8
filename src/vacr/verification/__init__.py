"""Signed statement + policy → the verified content, or an error."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.verification.certificates import check_validity_period as check_validity_period
    from vacr.verification.claims import check_claims as check_claims
    from vacr.verification.claims import detect_profile as detect_profile
    from vacr.verification.claims import parse_signed_record as parse_signed_record
    from vacr.verification.displayed_names import escape_verdict_marks as escape_verdict_marks
    from vacr.verification.displayed_names import find_name_problem as find_name_problem
    from vacr.verification.displayed_names import quote_misleading_name as quote_misleading_name
    from vacr.verification.displayed_names import quote_words as quote_words
    from vacr.verification.policy import CHECK_FAILED as CHECK_FAILED
    from vacr.verification.policy import CHECK_PASSED as CHECK_PASSED
    from vacr.verification.policy import CHECK_UNDECIDED as CHECK_UNDECIDED
    from vacr.verification.policy import Check as Check
    from vacr.verification.policy import Checks as Checks
    from vacr.verification.policy import Policy as Policy
    from vacr.verification.policy import VerificationFailed as VerificationFailed
    from vacr.verification.receipts import VerifiedReceipt as VerifiedReceipt
    from vacr.verification.receipts import check_consistency_receipt as check_consistency_receipt
    from vacr.verification.receipts import check_receipt as check_receipt
    from vacr.verification.receipts import check_receipts as check_receipts
    from vacr.verification.trust import TrustedSigner as TrustedSigner
    from vacr.verification.trust import check_algorithm as check_algorithm
    from vacr.verification.trust import check_party_validity as check_party_validity
    from vacr.verification.trust import check_signature as check_signature
    from vacr.verification.trust import is_issuer_bound as is_issuer_bound
    from vacr.verification.trust import list_candidate_signers as list_candidate_signers
    from vacr.verification.trust import matches_key_id as matches_key_id
    from vacr.verification.trust_store import ROLE_LOG as ROLE_LOG
    from vacr.verification.trust_store import ROLE_REDACTOR as ROLE_REDACTOR
    from vacr.verification.trust_store import ROLE_SIGNER as ROLE_SIGNER
    from vacr.verification.trust_store import ROLE_TIMESTAMP_AUTHORITY as ROLE_TIMESTAMP_AUTHORITY
    from vacr.verification.trust_store import ROLE_VERIFIER as ROLE_VERIFIER
    from vacr.verification.trust_store import ROLE_WITNESS as ROLE_WITNESS
    from vacr.verification.trust_store import ROLES as ROLES
    from vacr.verification.trust_store import CertificateIdentity as CertificateIdentity
    from vacr.verification.trust_store import TrustedParty as TrustedParty
    from vacr.verification.trust_store import TrustStore as TrustStore
    from vacr.verification.trust_store import add_party as add_party
    from vacr.verification.trust_store import combine_trust_stores as combine_trust_stores
    from vacr.verification.trust_store_file import MAX_TRUST_STORE_BYTES as MAX_TRUST_STORE_BYTES
    from vacr.verification.trust_store_file import format_party as format_party
    from vacr.verification.trust_store_file import format_trust_store as format_trust_store
    from vacr.verification.trust_store_file import parse_trust_store as parse_trust_store
    from vacr.verification.verifying import VerifiedStatement as VerifiedStatement
    from vacr.verification.verifying import verify as verify
    from vacr.verification.verifying import verify_new_statement as verify_new_statement
    from vacr.verification.witnesses import VerifiedWitnesses as VerifiedWitnesses
    from vacr.verification.witnesses import WitnessCosignature as WitnessCosignature
    from vacr.verification.witnesses import list_log_note_keys as list_log_note_keys
    from vacr.verification.witnesses import verify_witnesses as verify_witnesses

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "certificates": ("check_validity_period",),
        "claims": (
            "check_claims",
            "detect_profile",
            "parse_signed_record",
        ),
        "displayed_names": (
            "escape_verdict_marks",
            "find_name_problem",
            "quote_misleading_name",
            "quote_words",
        ),
        "policy": (
            "CHECK_FAILED",
            "CHECK_PASSED",
            "CHECK_UNDECIDED",
            "Check",
            "Checks",
            "Policy",
            "VerificationFailed",
        ),
        "receipts": (
            "VerifiedReceipt",
            "check_consistency_receipt",
            "check_receipt",
            "check_receipts",
        ),
        "trust": (
            "TrustedSigner",
            "check_algorithm",
            "check_party_validity",
            "check_signature",
            "is_issuer_bound",
            "list_candidate_signers",
            "matches_key_id",
        ),
        "trust_store": (
            "CertificateIdentity",
            "ROLE_LOG",
            "ROLE_REDACTOR",
            "ROLE_SIGNER",
            "ROLE_TIMESTAMP_AUTHORITY",
            "ROLE_VERIFIER",
            "ROLE_WITNESS",
            "ROLES",
            "TrustStore",
            "TrustedParty",
            "add_party",
            "combine_trust_stores",
        ),
        "trust_store_file": (
            "MAX_TRUST_STORE_BYTES",
            "format_party",
            "format_trust_store",
            "parse_trust_store",
        ),
        "verifying": (
            "VerifiedStatement",
            "verify",
            "verify_new_statement",
        ),
        "witnesses": (
            "VerifiedWitnesses",
            "WitnessCosignature",
            "list_log_note_keys",
            "verify_witnesses",
        ),
    },
)

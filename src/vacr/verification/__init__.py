"""Signed statement + policy → the verified content, or an error."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.verification.certificates import check_validity_period as check_validity_period
    from vacr.verification.claims import check_claims as check_claims
    from vacr.verification.claims import detect_profile as detect_profile
    from vacr.verification.claims import parse_signed_record as parse_signed_record
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
    from vacr.verification.trust import check_signature as check_signature
    from vacr.verification.trust import list_candidate_signers as list_candidate_signers
    from vacr.verification.verifying import VerifiedStatement as VerifiedStatement
    from vacr.verification.verifying import verify as verify
    from vacr.verification.verifying import verify_new_statement as verify_new_statement

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "certificates": ("check_validity_period",),
        "claims": (
            "check_claims",
            "detect_profile",
            "parse_signed_record",
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
            "check_signature",
            "list_candidate_signers",
        ),
        "verifying": (
            "VerifiedStatement",
            "verify",
            "verify_new_statement",
        ),
    },
)

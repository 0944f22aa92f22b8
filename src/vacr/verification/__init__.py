"""Signed statements, verified: statement + policy → what was verified, or an error. Step:
verify.
"""

from vacr.verification.checks import Check, VerificationFailed
from vacr.verification.policy import Policy
from vacr.verification.verifying import Verified, verify

__all__ = ["Check", "Policy", "VerificationFailed", "Verified", "verify"]

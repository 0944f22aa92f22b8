"""What vouches for how a record was recorded: evidence, or a verifier's result. Step: verify.
Follows RFC 9334.

It is given, or in the statement's header, which nobody signed: it counts because it names the
digest of the record itself.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from vacr.evidence import carried, relying_party
from vacr.evidence.journal import journal_in
from vacr.signing import labels
from vacr.signing.sign1 import Sign1
from vacr.verification.checks import Checks
from vacr.verification.policy import Policy


def check_evidence(
    message: Sign1,
    payload: bytes,
    record: dict[str, Any] | None,
    given: bytes | None,
    policy: Policy,
    now: datetime,
    checks: Checks,
) -> None:
    """Check that what vouches for signed bytes is as good as the policy asks for, and names the
    journal that the record names.

    Raises:
        InvalidStatement: it is not, or there is nothing.
    """
    if policy.evidence is None:
        if given is not None or labels.EVIDENCE in message.unprotected:
            checks.undecided("evidence", "there is some, and it was not asked for")
        return
    found = given if given is not None else carried.message_in(message)
    journal = journal_in(record) if record is not None else None
    told = relying_party.check(
        found, hashlib.sha256(payload).digest(), policy.evidence, now, journal
    )
    checks.passed("evidence", told)

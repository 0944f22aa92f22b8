"""The verifier: evidence + policy → appraisal. Role: verifier. Step: appraise. Follows RFC 9334 and
draft-ietf-rats-ar4si-09.

Bytes that are no evidence raise. Evidence that can be read gives an appraisal, good or bad, for a
bad one is worth telling, too. All checks are made, so that a person sees all that is wrong; but for
a signature that does not hold: then nothing else was said by anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence import cwt, identity, labels, measurements, structure
from vacr.evidence import trust_tiers as values
from vacr.evidence.appraisal import Appraisal
from vacr.evidence.endorsement import endorsed_key
from vacr.evidence.journal import JournalHead
from vacr.evidence.policy import AppraisalPolicy
from vacr.signing import keys
from vacr.signing import labels as cose

_CLOCKS_DIFFER_BY = 300
"""By how many seconds an attester's clock may be ahead of ours."""
_ABOUT = {"journal": "sourced-data", "agent": "sourced-data", "configuration": "configuration"}
"""The claims of the vector that what a policy can ask for is about; where it is none of these,
hardware.
"""


def appraise(
    evidence: bytes,
    policy: AppraisalPolicy,
    *,
    nonce: bytes,
    record: bytes | None,
    now: datetime,
    journal: JournalHead | None = None,
    endorsements: Sequence[bytes] = (),
) -> Appraisal:
    """Appraise evidence against a policy; `nonce` is the one that was asked with, `record` the
    digest it has to be about, `journal` the head that the record names, and `endorsements` what
    came along with the evidence.

    Raises:
        InvalidStatement: the bytes are no evidence of our profile.
    """
    token = cwt.read_token(evidence)
    claims = token.claims
    _check_profile(claims, policy)
    structure.check(claims, "claims", "claims")
    appraisal = Appraisal(
        policy.id, claims[labels.NONCE], claims[labels.RECORD][1], claims.get(labels.JOURNAL)
    )
    if not _check_signature(token, appraisal):
        return appraisal
    policy = _endorsed(policy, endorsements, appraisal)
    _check_fresh(claims, policy, nonce, now, appraisal)
    _check_record(claims, record, appraisal)
    identity.check_identity(claims, policy, appraisal)
    _check_journal(claims.get(labels.JOURNAL), journal, policy, appraisal)
    _check_claims(claims, policy, appraisal)
    measurements.check_measurements(claims, policy, appraisal)
    appraisal.settle()
    return appraisal


def _endorsed(
    policy: AppraisalPolicy, endorsements: Sequence[bytes], appraisal: Appraisal
) -> AppraisalPolicy:
    """Add to a policy the keys that are endorsed along with the evidence, by somebody whom the
    policy trusts to do so.
    """
    names = set(policy.endorsed)
    for one in endorsements:
        try:
            names.add(endorsed_key(one, policy.endorser_keys))
        except InvalidStatement as error:
            appraisal.undecided("endorsement", "hardware", f"not counted: {error.message}")
    return replace(policy, endorsed=frozenset(names))


def _check_profile(claims: dict[Any, Any], policy: AppraisalPolicy) -> None:
    """Refuse evidence of another profile, whose claims may mean something else."""
    profile = claims.get(labels.EAT_PROFILE)
    if not isinstance(profile, str) or profile not in policy.profiles:
        raise InvalidStatement(
            f"evidence of the profile {profile!r}, which the policy does not accept",
            reason="profile",
        )


def _check_signature(token: cwt.Token, appraisal: Appraisal) -> bool:
    """Check that the key in the claims signed them; whose key that is, is another question."""
    try:
        key = keys.from_cose(token.claims[labels.CNF][cose.CNF_COSE_KEY])
        token.check(key)
    except (InvalidStatement, UnreadableInput) as error:
        appraisal.unbound(
            "signature",
            f"the claims are not signed by the key in them: {error.message}",
            "evidence-signature",
        )
        return False
    if token.message.protected.get(cose.KID) != keys.thumbprint(key):
        appraisal.unbound(
            "signature", "another key is named than the one that signed", "evidence-signature"
        )
        return False
    appraisal.found(
        "signature",
        "instance-identity",
        values.NO_CLAIM,
        f"by key {keys.thumbprint(key).hex()[:16]}",
        stands=True,
    )
    return True


def _check_fresh(
    claims: dict[Any, Any],
    policy: AppraisalPolicy,
    nonce: bytes,
    now: datetime,
    appraisal: Appraisal,
) -> None:
    if claims[labels.NONCE] != nonce:
        appraisal.unbound(
            "nonce",
            "made for another nonce than was asked with: a replay, or for somebody else",
            "nonce",
        )
    else:
        appraisal.found(
            "nonce", "instance-identity", values.NO_CLAIM, "the one that was asked with"
        )
    age = int(now.timestamp()) - claims[labels.IAT]
    when = f"{datetime.fromtimestamp(claims[labels.IAT], UTC):%Y-%m-%dT%H:%M:%SZ}"
    if age > policy.maximum_age:
        appraisal.unbound(
            "age", f"made at {when}, more than {policy.maximum_age} seconds ago", "evidence-old"
        )
    elif age < -_CLOCKS_DIFFER_BY:
        appraisal.unbound("age", f"it says that it will be made at {when}", "evidence-in-future")
    else:
        appraisal.found("age", "instance-identity", values.NO_CLAIM, f"made at {when}, as it says")


def _check_record(claims: dict[Any, Any], record: bytes | None, appraisal: Appraisal) -> None:
    digest = claims[labels.RECORD][1]
    if record is None:
        appraisal.undecided(
            "record", "instance-identity", f"about SHA-256 {digest.hex()}, which was not compared"
        )
    elif record != digest:
        appraisal.unbound(
            "record", f"about another record, SHA-256 {digest.hex()}", "record-mismatch"
        )
    else:
        appraisal.found("record", "instance-identity", values.NO_CLAIM, "about these bytes")


def _check_journal(
    claimed: dict[str, Any] | None,
    named: JournalHead | None,
    policy: AppraisalPolicy,
    appraisal: Appraisal,
) -> None:
    """Check that evidence and record name the same journal, as far."""
    if named is not None and claimed != named.claim():
        appraisal.unbound(
            "journal", "the record names another journal, or another head of it", "journal-mismatch"
        )
    elif claimed is not None:
        told = f"{claimed['frames']} frames, head {claimed['head'].hex()[:16]}"
        if named is not None:
            appraisal.found(
                "journal", "sourced-data", values.NO_CLAIM, f"{told}, as the record says"
            )
        else:
            appraisal.undecided("journal", "sourced-data", f"{told}, as it says")
    elif "journal" not in policy.required:
        appraisal.undecided("journal", "sourced-data", "recorded without one")


def _check_claims(claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    """Check that the claims are there that the policy asks for."""
    missing = {
        "journal": labels.JOURNAL not in claims,
        "agent": labels.AGENT not in claims,
        "tpm": claims[labels.KEY_STORAGE] != labels.TPM,
        "configuration": not measurements.has_configuration(claims),
        "hardware": appraisal.vector.get("hardware") != values.APPROVED,
    }
    for name in sorted(policy.required):
        if missing.get(name, True):
            about = _ABOUT.get(name, "hardware")
            value = values.NOT_RECOGNISED if about == "hardware" else values.REFUSED
            appraisal.found(
                name, about, value, "the policy asks for it, and there is none", "claim-missing"
            )
    version = claims[labels.SWVERSION][0]
    if policy.versions and version not in policy.versions:
        appraisal.found(
            "version", "file-system", values.REFUSED, f"vacr {version} is not accepted", "version"
        )
    elif policy.versions:
        appraisal.found("version", "file-system", values.NO_CLAIM, f"vacr {version} is accepted")

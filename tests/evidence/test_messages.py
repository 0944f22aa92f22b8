"""Messages in collections: a passport in one file, and invalid or hostile collections."""

from dataclasses import replace

import cbor2
import pytest

from tests.evidence.samples import (
    NONCE,
    NOW,
    POLICY,
    RECORD,
    SUBJECT,
    appraise,
    digest,
    make_evidence,
)
from tests.evidence.test_endorsement import ENDORSER, SECRETS, bare, challenged, request
from tests.evidence.test_results import BACKGROUND, PASSPORT, refused, result
from vacr.errors import InvalidStatement, UsageError
from vacr.evidence.endorsement import create_endorsement, encode_enrolment
from vacr.evidence.messages import (
    INDICATOR_EVIDENCE,
    INDICATOR_REFERENCE_VALUES,
    INDICATOR_RESULTS,
    WRAPPED_FORMS,
    CmwCollection,
    CmwRecord,
    RatsMessages,
    encode_cmw_cbor,
    parse_messages,
)
from vacr.evidence.relying_party import check_evidence_requirement
from vacr.evidence.tokens import (
    EAR_PROFILE,
    EAT_CWT_MEDIA_TYPE,
    EAT_JWT_MEDIA_TYPE,
    EVIDENCE_PROFILE,
    REFERENCE_VALUES_MEDIA_TYPE,
)

EVIDENCE, RESULT, JWT = make_evidence(), result(), result(as_jwt=True)
ENDORSED = bare(
    create_endorsement(
        challenged(request()).kept,
        encode_enrolment("answer", {"secret": SECRETS[0]}),
        ENDORSER,
        1,
    )
)
EAR = f'{EAT_CWT_MEDIA_TYPE}; eat_profile="{EAR_PROFILE}"'
ALL = RatsMessages(EVIDENCE, RESULT, (ENDORSED,))


@pytest.mark.parametrize("form", WRAPPED_FORMS)
@pytest.mark.parametrize(
    "found",
    [
        ALL,
        RatsMessages(EVIDENCE),
        RatsMessages(result=JWT),
        RatsMessages(EVIDENCE, JWT, (ENDORSED, ENDORSED)),
        RatsMessages(None, RESULT),
    ],
)
def test_messages_round_trip(found, form):
    assert parse_messages(found.encode(form)) == found


def test_profile_defines_the_kind_of_a_bare_message():
    assert parse_messages(EVIDENCE) == RatsMessages(EVIDENCE)
    assert parse_messages(EVIDENCE[2:]) == RatsMessages(EVIDENCE[2:])  # with the tag of COSE only
    assert parse_messages(RESULT) == RatsMessages(result=RESULT)
    assert parse_messages(JWT) == RatsMessages(result=JWT)
    assert parse_messages(ENDORSED) == RatsMessages(endorsements=(ENDORSED,))
    assert RatsMessages(result=JWT).encode("jwt") == JWT
    with pytest.raises(UsageError, match="holds only one token"):
        ALL.encode("cwt")


@pytest.mark.parametrize("form", WRAPPED_FORMS)
def test_passport_serves_relying_parties_of_both_models(form):
    passport = ALL.encode(form)
    assert check_evidence_requirement(passport, RECORD, PASSPORT, NOW).startswith(
        "affirming by verifier"
    )
    trusting = replace(POLICY, attestation_keys=(), endorser_keys=(ENDORSER.public_key,))
    needed = replace(BACKGROUND, policy=trusting, hardware=True)
    assert check_evidence_requirement(passport, RECORD, needed, NOW) == f"affirming by {POLICY.id}"
    # An endorsement counts only if the policy trusts the endorser.
    assert (
        refused(passport, replace(needed, policy=replace(trusting, endorser_keys=())))
        == "attestation-key-unknown"
    )


def test_untrusted_endorsement_is_reported_and_not_counted():
    appraisal = appraise(EVIDENCE, endorsements=(ENDORSED,))
    (told,) = [check for check in appraisal.checks if check.name == "endorsement"]
    assert (told.decided, "not signed by a trusted endorser" in told.finding) == (False, True)
    assert appraisal.vector["hardware"] == 0


def test_result_of_other_evidence_is_refused():
    for other in (
        make_evidence(nonce=b"\x07" * 32),
        make_evidence(replace(SUBJECT, record=digest("another"))),
    ):
        assert refused(RatsMessages(other, RESULT).encode("cbor")) == "result-evidence"


def nested(depth):
    return {"a": nested(depth - 1)} if depth else [EAT_CWT_MEDIA_TYPE, EVIDENCE, 4]


def collection(**members):
    return encode_cmw_cbor(CmwCollection(members))


GOOD = CmwRecord(EAT_CWT_MEDIA_TYPE, EVIDENCE, INDICATOR_EVIDENCE)
HOSTILE = {
    "nested deeply": (cbor2.dumps(nested(5)), "cmw-malformed"),
    "nested far more deeply": (b"\xa1\x61a" * 5000 + b"\x00", "cmw-malformed"),
    "nested in JSON": (b'{"a":' * 5000 + b"1" + b"}" * 5000, "cmw-malformed"),
    "an unknown type": (
        collection(a=GOOD, b=CmwRecord("application/octet-stream", b"x")),
        "message-unknown",
    ),
    "an unknown type that says it is a result": (
        collection(a=GOOD, b=CmwRecord("application/octet-stream", b"x", 8)),
        "message-unknown",
    ),
    "a content format": (collection(a=GOOD, b=CmwRecord(60, b"x")), "message-unknown"),
    "two results": (
        collection(a=CmwRecord(EAR, RESULT, 8), b=CmwRecord(EAT_JWT_MEDIA_TYPE, JWT, 8)),
        "message-twice",
    ),
    "the same result twice": (
        collection(a=CmwRecord(EAR, RESULT), b=CmwRecord(EAR, RESULT)),
        "message-twice",
    ),
    "two pieces of evidence": (collection(a=GOOD, b=GOOD), "message-twice"),
    "two, one of them hidden": (collection(a=GOOD, b=CmwCollection({"c": GOOD})), "message-twice"),
    "more endorsements than anybody needs": (
        collection(
            a=GOOD, **{f"e{at}": CmwRecord(EAT_CWT_MEDIA_TYPE, ENDORSED, 2) for at in range(17)}
        ),
        "message-twice",
    ),
    "a result that says it is evidence": (
        collection(a=CmwRecord(EAR, RESULT, INDICATOR_EVIDENCE)),
        "message-type",
    ),
    "evidence that says it is a result": (
        collection(a=CmwRecord(EAT_CWT_MEDIA_TYPE, EVIDENCE, INDICATOR_RESULTS)),
        "message-type",
    ),
    "evidence of the profile of results": (collection(a=CmwRecord(EAR, EVIDENCE)), "message-type"),
    "a CWT as a JWT": (
        collection(a=CmwRecord(EAT_JWT_MEDIA_TYPE, RESULT, INDICATOR_RESULTS)),
        "message-type",
    ),
    "a JWT as a CWT": (
        collection(a=CmwRecord(EAT_CWT_MEDIA_TYPE, JWT, INDICATOR_RESULTS)),
        "message-type",
    ),
    "reference values alone": (
        collection(a=CmwRecord(REFERENCE_VALUES_MEDIA_TYPE, b"x", 1)),
        "evidence-missing",
    ),
    "bytes of no token": (collection(a=CmwRecord(EAT_CWT_MEDIA_TYPE, b"x", 4)), "cbor"),
    "no bytes": (collection(a=CmwRecord(EAT_CWT_MEDIA_TYPE, b"", 4)), "cbor"),
}


@pytest.mark.parametrize(("data", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_invalid_collections_are_refused(data, reason):
    with pytest.raises(InvalidStatement) as error:
        parse_messages(data)
    assert error.value.reason == reason
    for needed in (PASSPORT, BACKGROUND):
        assert refused(data, needed) == reason


def test_reference_values_and_upper_case_profiles_are_accepted():
    data = collection(
        a=CmwRecord(EAR.upper().replace("APPLICATION/EAT+CWT", EAT_CWT_MEDIA_TYPE), RESULT),
        b=CmwRecord(REFERENCE_VALUES_MEDIA_TYPE, b"x", INDICATOR_REFERENCE_VALUES),
        c=CmwCollection(
            {"d": CmwRecord(f"{EAT_CWT_MEDIA_TYPE}; eat_profile={EVIDENCE_PROFILE}", EVIDENCE)}
        ),
    )
    assert parse_messages(data) == RatsMessages(EVIDENCE, RESULT)
    assert check_evidence_requirement(data, RECORD, replace(PASSPORT, nonce=NONCE), NOW)

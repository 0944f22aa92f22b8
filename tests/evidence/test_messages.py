"""Messages in collections: a passport in one file, and collections that are wrong or hostile."""

from dataclasses import replace

import cbor2
import pytest

from tests.evidence.making import NONCE, NOW, POLICY, RECORD, SUBJECT, appraised, digest, made
from tests.evidence.test_endorsement import ENDORSER, SECRETS, bare, challenged, request
from tests.evidence.test_results import BACKGROUND, PASSPORT, refused, result
from vacr.errors import InvalidStatement, UsageError
from vacr.evidence import cmw, endorsement, labels, messages
from vacr.evidence.cmw import Collection, Record
from vacr.evidence.messages import Messages
from vacr.evidence.relying_party import check

EVIDENCE, RESULT, JWT = made(), result(), result(as_jwt=True)
ENDORSED = bare(
    endorsement.confirm(
        challenged(request()).kept,
        endorsement.encode("answer", {"secret": SECRETS[0]}),
        ENDORSER,
        1,
    )
)
EAR = f'{labels.EAT_CWT}; eat_profile="{labels.EAR_PROFILE}"'
ALL = Messages(EVIDENCE, RESULT, (ENDORSED,))


@pytest.mark.parametrize("form", messages.WRAPPED)
@pytest.mark.parametrize(
    "found",
    [
        ALL,
        Messages(EVIDENCE),
        Messages(result=JWT),
        Messages(EVIDENCE, JWT, (ENDORSED, ENDORSED)),
        Messages(None, RESULT),
    ],
)
def test_there_and_back(found, form):
    assert messages.read(found.encode(form)) == found


def test_bare_messages_are_known_by_their_profile():
    assert messages.read(EVIDENCE) == Messages(EVIDENCE)
    assert messages.read(EVIDENCE[2:]) == Messages(EVIDENCE[2:])  # with the tag of COSE only
    assert messages.read(RESULT) == Messages(result=RESULT)
    assert messages.read(JWT) == Messages(result=JWT)
    assert messages.read(ENDORSED) == Messages(endorsements=(ENDORSED,))
    assert Messages(result=JWT).encode("jwt") == JWT
    with pytest.raises(UsageError, match="several messages"):
        ALL.encode("cwt")


@pytest.mark.parametrize("form", messages.WRAPPED)
def test_a_passport_is_read_by_relying_parties_of_either_kind(form):
    passport = ALL.encode(form)
    assert check(passport, RECORD, PASSPORT, NOW).startswith("affirming by verifier")
    trusting = replace(POLICY, attestation_keys=(), endorser_keys=(ENDORSER.public_key,))
    needed = replace(BACKGROUND, policy=trusting, hardware=True)
    assert check(passport, RECORD, needed, NOW) == f"affirming by {POLICY.id}"
    # An endorsement counts by whom the policy trusts to give it, not because it came along.
    assert (
        refused(passport, replace(needed, policy=replace(trusting, endorser_keys=())))
        == "attestation-key-unknown"
    )


def test_an_endorsement_of_a_stranger_is_told_and_not_counted():
    appraisal = appraised(EVIDENCE, endorsements=(ENDORSED,))
    (told,) = [one for one in appraisal.checks if one.name == "endorsement"]
    assert (told.decided, "nobody who is trusted" in told.told) == (False, True)
    assert appraisal.vector["hardware"] == 0


def test_a_result_of_other_evidence_is_refused():
    for other in (made(nonce=b"\x07" * 32), made(replace(SUBJECT, record=digest("another")))):
        assert refused(Messages(other, RESULT).encode("cbor")) == "result-evidence"


def nested(depth):
    return {"a": nested(depth - 1)} if depth else [labels.EAT_CWT, EVIDENCE, 4]


def collection(**members):
    return cmw.encode_cbor(Collection(members))


GOOD = Record(labels.EAT_CWT, EVIDENCE, cmw.EVIDENCE)
HOSTILE = {
    "nested deeply": (cbor2.dumps(nested(5)), "cmw-malformed"),
    "nested far more deeply": (b"\xa1\x61a" * 5000 + b"\x00", "cmw-malformed"),
    "nested in JSON": (b'{"a":' * 5000 + b"1" + b"}" * 5000, "cmw-malformed"),
    "an unknown type": (
        collection(a=GOOD, b=Record("application/octet-stream", b"x")),
        "message-unknown",
    ),
    "an unknown type that says it is a result": (
        collection(a=GOOD, b=Record("application/octet-stream", b"x", 8)),
        "message-unknown",
    ),
    "a content format": (collection(a=GOOD, b=Record(60, b"x")), "message-unknown"),
    "two results": (
        collection(a=Record(EAR, RESULT, 8), b=Record(labels.EAT_JWT, JWT, 8)),
        "message-twice",
    ),
    "the same result twice": (
        collection(a=Record(EAR, RESULT), b=Record(EAR, RESULT)),
        "message-twice",
    ),
    "two pieces of evidence": (collection(a=GOOD, b=GOOD), "message-twice"),
    "two, one of them hidden": (collection(a=GOOD, b=Collection({"c": GOOD})), "message-twice"),
    "more endorsements than anybody needs": (
        collection(a=GOOD, **{f"e{at}": Record(labels.EAT_CWT, ENDORSED, 2) for at in range(17)}),
        "message-twice",
    ),
    "a result that says it is evidence": (
        collection(a=Record(EAR, RESULT, cmw.EVIDENCE)),
        "message-type",
    ),
    "evidence that says it is a result": (
        collection(a=Record(labels.EAT_CWT, EVIDENCE, cmw.RESULTS)),
        "message-type",
    ),
    "evidence of the profile of results": (collection(a=Record(EAR, EVIDENCE)), "message-type"),
    "a CWT as a JWT": (collection(a=Record(labels.EAT_JWT, RESULT, cmw.RESULTS)), "message-type"),
    "a JWT as a CWT": (collection(a=Record(labels.EAT_CWT, JWT, cmw.RESULTS)), "message-type"),
    "reference values alone": (
        collection(a=Record(labels.REFERENCE_VALUES, b"x", 1)),
        "evidence-missing",
    ),
    "bytes of no token": (collection(a=Record(labels.EAT_CWT, b"x", 4)), "cbor"),
    "no bytes": (collection(a=Record(labels.EAT_CWT, b"", 4)), "cbor"),
}


@pytest.mark.parametrize(("data", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_collections_that_are_wrong_are_refused(data, reason):
    with pytest.raises(InvalidStatement) as error:
        messages.read(data)
    assert error.value.reason == reason
    for needed in (PASSPORT, BACKGROUND):
        assert refused(data, needed) == reason


def test_reference_values_and_profiles_in_capitals_do_no_harm():
    data = collection(
        a=Record(EAR.upper().replace("APPLICATION/EAT+CWT", labels.EAT_CWT), RESULT),
        b=Record(labels.REFERENCE_VALUES, b"x", cmw.REFERENCE_VALUES),
        c=Collection({"d": Record(f"{labels.EAT_CWT}; eat_profile={labels.PROFILE}", EVIDENCE)}),
    )
    assert messages.read(data) == Messages(EVIDENCE, RESULT)
    assert check(data, RECORD, replace(PASSPORT, nonce=NONCE), NOW)

"""Results as CWT and JWT, and the decisions of a relying party."""

import base64
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.evidence.samples import (
    JOURNAL,
    MADE,
    NONCE,
    NOW,
    POLICY,
    RECORD,
    TPM,
    appraise,
    digest,
    make_evidence,
)
from vacr.errors import InvalidStatement, UsageError
from vacr.evidence.messages import (
    INDICATOR_EVIDENCE,
    INDICATOR_RESULTS,
    CmwCollection,
    CmwRecord,
    encode_cmw_cbor,
    encode_cmw_json,
)
from vacr.evidence.relying_party import EvidenceRequirement, check_evidence_requirement
from vacr.evidence.results import (
    Tier,
    build_json_claims,
    decode_signed_result,
    encode_signed_result,
)
from vacr.evidence.tokens import (
    EAR_PROFILE,
    EAR_STATUS,
    EAR_VECTOR,
    EAT_CWT_MEDIA_TYPE,
    EAT_SUBMODS,
    encode_base64url,
    looks_like_jwt,
    parse_cwt,
    sign_cwt,
    sign_jwt,
)
from vacr.evidence.tpm_structures import compute_key_name
from vacr.signing.keys import KeySigner, generate_key

VERIFIERS = {kind: KeySigner(generate_key(kind)) for kind in ("eddsa", "es256", "es384", "es512")}
VERIFIER = VERIFIERS["eddsa"]
STRANGER = KeySigner(generate_key("eddsa"))
PASSPORT = EvidenceRequirement(Tier.AFFIRMING, verifiers=(VERIFIER.public_key,))
BACKGROUND = EvidenceRequirement(Tier.AFFIRMING, policy=POLICY, nonce=NONCE)


def result(
    evidence=None, policy=POLICY, signer=VERIFIER, validity=3600, when=MADE, *, as_jwt=False
):
    return encode_signed_result(
        appraise(evidence or make_evidence(), policy), signer, when, validity, as_jwt=as_jwt
    )


def refused(data, needed=PASSPORT, record=RECORD, now=NOW, journal=None):
    with pytest.raises(InvalidStatement) as error:
        check_evidence_requirement(data, record, needed, now, journal)
    return error.value.reason


@pytest.mark.parametrize("kind", VERIFIERS)
@pytest.mark.parametrize("as_jwt", [False, True], ids=["cwt", "jwt"])
def test_result_contains_the_findings(kind, as_jwt):
    signer = VERIFIERS[kind]
    found = decode_signed_result(
        result(signer=signer, as_jwt=as_jwt), [STRANGER.public_key, signer.public_key]
    )
    assert (found.status, found.vector) == (
        Tier.AFFIRMING,
        {"instance-identity": 2, "file-system": 2, "hardware": 0},
    )
    assert (found.record, found.nonce, found.policies) == (RECORD, NONCE, (POLICY.id,))
    assert (found.journal, found.key_storage) == (JOURNAL.claim(), "tpm")
    assert (found.issued_at, found.expires_at) == (MADE, MADE + 3600)


def test_a_jwt_has_the_names_of_the_draft():
    header, claims, _ = (
        base64.urlsafe_b64decode(part + b"==") for part in result(as_jwt=True).split(b".")
    )
    assert json.loads(header)["alg"] == "EdDSA"
    said = json.loads(claims)
    assert said["eat_profile"] == "tag:ietf.org,2026:rats/ear#03"
    assert said["ear_status"] == said["submods"]["vacr"]["ear_status"] == "affirming"
    assert said["submods"]["vacr"]["ear_trustworthiness_vector"] == {
        "instance-identity": 2,
        "file-system": 2,
        "hardware": 0,
    }
    assert said["submods"]["vacr"]["ear_appraisal_policy_ids"] == [POLICY.id]
    assert said["submods"]["vacr"]["vacr_key_storage"] == "tpm"
    assert said["ear_verifier_id"].keys() == {"developer", "build"}


def test_bad_results_are_written_too():
    assert (
        decode_signed_result(result(make_evidence(tpm=None)), [VERIFIER.public_key]).status
        is Tier.WARNING
    )
    assert (
        decode_signed_result(
            result(make_evidence(nonce=b"\x07" * 32), as_jwt=True), [VERIFIER.public_key]
        ).status
        is Tier.CONTRAINDICATED
    )


def test_passport_is_sufficient():
    for as_jwt in (False, True):
        assert check_evidence_requirement(result(as_jwt=as_jwt), RECORD, PASSPORT, NOW).startswith(
            "affirming by verifier"
        )
    assert check_evidence_requirement(result(), RECORD, replace(PASSPORT, nonce=NONCE), NOW)
    assert check_evidence_requirement(
        result(make_evidence(tpm=None)), RECORD, replace(PASSPORT, tier=Tier.WARNING), NOW
    ).startswith("warning")


def test_background_check_is_sufficient():
    assert (
        check_evidence_requirement(make_evidence(), RECORD, BACKGROUND, NOW)
        == f"affirming by {POLICY.id}; signed by a TPM that may be a program instead of a chip"
    )


def test_insufficient_passports_are_refused():
    assert refused(None) == "evidence-missing"
    assert refused(result(signer=STRANGER)) == "verifier-untrusted"
    assert refused(result(signer=STRANGER, as_jwt=True)) == "verifier-untrusted"
    assert refused(result(), record=digest("another")) == "result-record"
    assert refused(result(), journal=replace(JOURNAL, frames=8)) == "result-journal"
    assert refused(result(), replace(PASSPORT, nonce=b"\x07" * 32)) == "result-nonce"
    assert refused(result(), now=NOW + timedelta(hours=2)) == "result-expired"
    assert refused(result(when=MADE + 86400)) == "result-in-future"
    assert refused(result(make_evidence(tpm=None))) == "evidence-warning"
    assert refused(result(make_evidence(nonce=b"\x07" * 32))) == "evidence-contraindicated"
    assert refused(make_evidence()) == "evidence-undecided"  # evidence is no result


def test_result_is_valid_until_it_expires():
    until = NOW - timedelta(seconds=60) + timedelta(seconds=10)
    assert check_evidence_requirement(
        result(validity=10), RECORD, PASSPORT, until - timedelta(seconds=1)
    )
    assert refused(result(validity=10), now=until) == "result-expired"


def test_key_in_software_is_reported_and_can_be_refused():
    enough = replace(POLICY, software_is_enough=True)
    for as_jwt in (False, True):
        passport = result(make_evidence(tpm=None), enough, as_jwt=as_jwt)
        found = decode_signed_result(passport, [VERIFIER.public_key])
        assert (found.key_storage, found.vector) == ("software", {"file-system": 2, "hardware": 0})
        assert check_evidence_requirement(passport, RECORD, PASSPORT, NOW).endswith(
            "signed by a key in software, without hardware"
        )
        assert refused(passport, replace(PASSPORT, hardware=True)) == "hardware-missing"
    told = check_evidence_requirement(
        make_evidence(tpm=None), RECORD, replace(BACKGROUND, policy=enough), NOW
    )
    assert told == f"affirming by {POLICY.id}; signed by a key in software, without hardware"


def test_hardware_can_be_demanded():
    endorsed = replace(POLICY, endorsed=frozenset((compute_key_name(TPM.public()),)))
    for data, needed in ((result(), PASSPORT), (make_evidence(), BACKGROUND)):
        assert refused(data, replace(needed, hardware=True)) == "hardware-missing"
    told = check_evidence_requirement(
        result(policy=endorsed), RECORD, replace(PASSPORT, hardware=True), NOW
    )
    assert "hardware 2" in told
    assert "key in software" not in told
    told = check_evidence_requirement(
        make_evidence(), RECORD, replace(BACKGROUND, policy=endorsed, hardware=True), NOW
    )
    assert told == f"affirming by {POLICY.id}"


def test_insufficient_background_checks_are_refused():
    assert refused(None, BACKGROUND) == "evidence-missing"
    assert refused(make_evidence(), BACKGROUND, record=digest("another")) == "record-mismatch"
    assert refused(make_evidence(), replace(BACKGROUND, nonce=b"\x07" * 32)) == "nonce"
    assert refused(make_evidence(), replace(BACKGROUND, nonce=None)) == "nonce-missing"
    assert refused(make_evidence(tpm=None), BACKGROUND) == "key-in-software"
    assert refused(result(), BACKGROUND) == "evidence-undecided"  # a result is no evidence
    assert refused(result(as_jwt=True), BACKGROUND) == "evidence-undecided"


def test_wrapped_messages_are_unwrapped():
    evidence, passport = make_evidence(), result()
    both = CmwCollection(
        {
            "evidence": CmwRecord(EAT_CWT_MEDIA_TYPE, evidence, INDICATOR_EVIDENCE),
            "result": CmwRecord(
                f'{EAT_CWT_MEDIA_TYPE}; eat_profile="{EAR_PROFILE}"', passport, INDICATOR_RESULTS
            ),
        }
    )
    for data in (encode_cmw_cbor(both), encode_cmw_json(both)):
        assert check_evidence_requirement(data, RECORD, PASSPORT, NOW).startswith(
            "affirming by verifier"
        )
        assert check_evidence_requirement(data, RECORD, BACKGROUND, NOW).startswith(
            f"affirming by {POLICY.id}"
        )
    alone = encode_cmw_cbor(CmwRecord(EAT_CWT_MEDIA_TYPE, evidence, INDICATOR_EVIDENCE))
    assert refused(alone) == "evidence-undecided"


def bent(**changes):
    claims = parse_cwt(result()).claims
    module = claims[EAT_SUBMODS]["vacr"]
    for name, value in changes.items():
        (module if name.startswith("m") else claims).update(
            {int(name[1:].replace("_", "-")): value}
        )
    return sign_cwt(claims, VERIFIER)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bent(c265="urn:other"), "evidence-undecided"),
        (bent(m_75004="chip"), "result-malformed"),
        (bent(c6=1.5), "result-malformed"),
        (bent(c4=True), "result-malformed"),
        (bent(m1000=3), "result-malformed"),
        (bent(m1000="affirming"), "result-malformed"),
        (bent(m1001={0: 97}), "result-malformed"),  # the status would be better than its vector
        (bent(m1001={0: 1000}), "result-malformed"),
        (bent(m1001={42: 2}), "result-malformed"),
        (bent(m_75001=[7, b"\x00" * 32]), "result-malformed"),
        (bent(m10="text"), "result-malformed"),
        (bent(c266={"other": {}}), "result-malformed"),
        (bent(c266=[]), "result-malformed"),
    ],
)
def test_malformed_results_are_refused(data, reason):
    assert refused(data) == reason


def test_malformed_jwts_are_refused():
    good = result(as_jwt=True)
    header, claims, signature = good.split(b".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=")
    hmac = base64.urlsafe_b64encode(b'{"alg":"HS256"}').rstrip(b"=")
    critical = base64.urlsafe_b64encode(b'{"alg":"EdDSA","crit":["b64"]}').rstrip(b"=")
    assert refused(b".".join((none, claims, b""))) == "alg-unknown"
    unnamed = base64.urlsafe_b64encode(b'{"kid":"k"}').rstrip(b"=")
    assert refused(b".".join((unnamed, claims, signature))) == "alg-unknown"
    assert refused(b".".join((hmac, claims, signature))) == "alg-unknown"
    assert refused(b".".join((critical, claims, signature))) == "crit-unknown"
    assert refused(b".".join((header, claims))) == "jwt-malformed"
    assert refused(b".".join((header, claims + b"=", signature))) == "jwt-malformed"
    assert refused(b".".join((header, claims[:-4], signature))) in (
        "jwt-malformed",
        "verifier-untrusted",
    )


def test_key_that_cannot_sign_a_jwt_is_refused():
    with pytest.raises(UsageError, match="JWT"):
        result(signer=KeySigner(generate_key("ps256")), as_jwt=True)
    assert looks_like_jwt(result(as_jwt=True))


def judged(as_jwt, overall=None, ours=None, others=None):
    """Return a result with other statuses than the verifier gave."""
    claims = parse_cwt(result()).claims
    if overall is not None:
        claims[EAR_STATUS] = overall
    if ours is not None:
        claims[EAT_SUBMODS]["vacr"][EAR_STATUS] = ours
    claims[EAT_SUBMODS] |= others or {}
    return sign_jwt(build_json_claims(claims), VERIFIER) if as_jwt else sign_cwt(claims, VERIFIER)


FOREIGN = {EAR_STATUS: 2, EAR_VECTOR: {0: 2}}
BOTH_FORMS = pytest.mark.parametrize("as_jwt", [False, True], ids=["cwt", "jwt"])


def explain_refusal(data, needed=PASSPORT):
    with pytest.raises(InvalidStatement) as error:
        check_evidence_requirement(data, RECORD, needed, NOW)
    return error.value.reason, error.value.message


@BOTH_FORMS
@pytest.mark.parametrize(
    ("statuses", "reason", "decider"),
    [
        ({"overall": 96}, "evidence-contraindicated", "the overall status is contraindicated"),
        ({"overall": 32}, "evidence-warning", "the overall status is warning"),
        ({"overall": 0}, "evidence-none", "the overall status is none"),
        (
            {"others": {"kernel": {EAR_STATUS: 96}}},
            "evidence-contraindicated",
            "the submodule 'kernel' is contraindicated",
        ),
        (
            {"others": {"a": FOREIGN, "kernel": {EAR_STATUS: 0}}},
            "evidence-none",
            "the submodule 'kernel' is none",
        ),
        (
            {"others": {"a": {**FOREIGN, EAT_SUBMODS: {"inner": {EAR_STATUS: 96}}}}},
            "evidence-contraindicated",
            "the submodule 'a/inner' is contraindicated",
        ),
        (
            {"overall": 32, "others": {"a": {EAR_STATUS: 96}, "b": {EAR_STATUS: 0}}},
            "evidence-contraindicated",
            "the submodule 'a' is contraindicated",
        ),
        ({"overall": 96, "ours": 96}, "evidence-contraindicated", "the submodule 'vacr' is"),
    ],
)
def test_worst_status_of_a_result_decides(as_jwt, statuses, reason, decider):
    found, message = explain_refusal(judged(as_jwt, **statuses))
    assert found == reason
    assert decider in message
    assert message.startswith(f"the attestation result is {reason.removeprefix('evidence-')} by")


@pytest.mark.parametrize("name", ["ear.status", "ear_status", "ear_trustworthiness_vector"])
@pytest.mark.parametrize("place", ["top", "ours", "other"])
def test_verdict_under_the_name_of_json_is_not_ignored(name, place):
    claims = parse_cwt(result()).claims
    claims[EAT_SUBMODS]["other"] = dict(FOREIGN)
    modules = {
        "top": claims,
        "ours": claims[EAT_SUBMODS]["vacr"],
        "other": claims[EAT_SUBMODS]["other"],
    }
    modules[place][name] = 96
    reason, message = explain_refusal(sign_cwt(claims, VERIFIER))
    assert (reason, f"{name} is not the label of a claim" in message) == ("result-malformed", True)


def test_submodules_under_the_name_of_json_are_not_ignored():
    claims = parse_cwt(result()).claims
    claims["submods"] = {"kernel": {EAR_STATUS: 96}}
    assert refused(sign_cwt(claims, VERIFIER)) == "result-malformed"


@BOTH_FORMS
def test_bad_overall_vector_decides(as_jwt):
    claims = parse_cwt(result()).claims
    claims[EAR_VECTOR] = {2: 96}
    data = sign_jwt(build_json_claims(claims), VERIFIER) if as_jwt else sign_cwt(claims, VERIFIER)
    found, message = explain_refusal(data)
    assert found == "evidence-contraindicated"
    assert "the overall trust vector is contraindicated" in message


@BOTH_FORMS
def test_no_verdict_beside_a_warning_does_not_pass_as_a_warning(as_jwt):
    data = judged(as_jwt, overall=32, others={"kernel": {EAR_STATUS: 0}})
    found, message = explain_refusal(data, replace(PASSPORT, tier=Tier.WARNING))
    assert found == "evidence-none"
    assert "the submodule 'kernel' is none" in message


@BOTH_FORMS
def test_good_submodules_and_an_absent_overall_status_pass(as_jwt):
    data = judged(as_jwt, others={"kernel": FOREIGN})
    assert check_evidence_requirement(data, RECORD, PASSPORT, NOW).startswith("affirming")
    claims = parse_cwt(result()).claims
    del claims[EAR_STATUS]
    data = sign_jwt(build_json_claims(claims), VERIFIER) if as_jwt else sign_cwt(claims, VERIFIER)
    assert check_evidence_requirement(data, RECORD, PASSPORT, NOW).startswith("affirming")


def bend_json(**changes):
    claims = build_json_claims(parse_cwt(result()).claims)
    claims["submods"] |= changes.pop("submods", {})
    return sign_jwt(claims | changes, VERIFIER)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (judged(False, others={"k": {}}), "the submodule 'k' has no status"),
        (judged(False, others={"k": b"a nested token"}), "the submodule 'k' has no status"),
        (judged(False, others={"k": {EAR_STATUS: 7}}), "the submodule 'k' has the unknown tier 7"),
        (judged(False, overall=2.0), "the overall status has the unknown tier 2.0"),
        (
            judged(False, others={"k": {EAR_STATUS: 2, EAR_VECTOR: {2: 96}}}),
            "the submodule 'k' is affirming, but its trust vector is contraindicated",
        ),
        (
            judged(False, others={"k": {EAR_STATUS: 2, EAR_VECTOR: {True: 2}}}),
            "cannot read the trust vector of the submodule 'k'",
        ),
        (bend_json(submods={"k": {}}), "the submodule 'k' has no status"),
        (bend_json(submods={"k": "token"}), "the submodule 'k' has no status"),
        (bend_json(submods={"k": {"ear_status": "fine"}}), "unknown tier 'fine'"),
        (bend_json(submods={"k": {"ear_status": 2}}), "unknown tier '2'"),
        (bend_json(ear_status="trusted"), "the overall status has the unknown tier 'trusted'"),
        (bend_json(ear_status=[]), "the overall status has the unknown"),
        (bend_json(**{"ear.status": "contraindicated"}), "ear.status is the name of a claim in an"),
        (
            bend_json(submods={"k": {"ear_status": "affirming", "ear.status": "warning"}}),
            "ear.status is the name of a claim in an older draft",
        ),
        (
            bend_json(
                submods={
                    "k": {
                        "ear_status": "warning",
                        "ear_trustworthiness_vector": {"executables": 97},
                    }
                }
            ),
            "the submodule 'k' is warning, but its trust vector is contraindicated",
        ),
    ],
)
def test_unclear_or_contradictory_verdicts_are_refused(data, problem):
    reason, message = explain_refusal(data)
    assert reason == "result-malformed"
    assert problem in message


def sign_jwt_with_header(**header):
    """Return a result as a JWT whose header was changed before signing."""
    _, claims, _ = result(as_jwt=True).split(b".")
    fields = {"alg": "EdDSA", "typ": "application/eat+jwt", **header}
    fields = {name: value for name, value in fields.items() if value is not None}
    signed = encode_base64url(json.dumps(fields).encode()).encode() + b"." + claims
    return signed + b"." + encode_base64url(VERIFIER.sign(signed)).encode()


@pytest.mark.parametrize(
    "typ",
    [
        "application/eat+jwt",
        "eat+jwt",
        "EAT+JWT",
        "Application/EAT+jwt",
        f'application/eat+jwt; eat_profile="{EAR_PROFILE}"',
    ],
)
def test_types_of_attestation_tokens_are_accepted(typ):
    assert check_evidence_requirement(sign_jwt_with_header(typ=typ), RECORD, PASSPORT, NOW)


@pytest.mark.parametrize(
    "typ",
    [
        None,
        "JWT",
        "at+jwt",
        "dpop+jwt",
        "application/at+jwt",
        "logout+jwt",
        "eat+cwt",
        "",
        7,
        ["eat+jwt"],
        "eat+jwt; eat_profile=urn:other",
        "eat+jwt; charset=utf-8",
        "eat+jwt;",
    ],
)
def test_login_token_does_not_pass_as_a_result(typ):
    reason, message = explain_refusal(sign_jwt_with_header(typ=typ))
    assert reason == "typ"
    assert "expected application/eat+jwt" in message


def test_unencoded_payload_of_a_jwt_is_refused():
    assert refused(sign_jwt_with_header(b64=False)) == "crit-unknown"
    assert refused(sign_jwt_with_header(crit=["exp"])) == "crit-unknown"


def test_key_that_a_jwt_brings_along_is_not_trusted():
    x = encode_base64url(STRANGER.public_key.public_bytes_raw())
    brought = {
        "jwk": {"kty": "OKP", "crv": "Ed25519", "x": x},
        "jku": "https://example.org/keys",
        "x5u": "https://example.org/chain",
    }
    fields = {"alg": "EdDSA", "typ": "eat+jwt", **brought}
    _, claims, _ = result(as_jwt=True).split(b".")
    signed = encode_base64url(json.dumps(fields).encode()).encode() + b"." + claims
    forged = signed + b"." + encode_base64url(STRANGER.sign(signed)).encode()
    assert refused(forged) == "verifier-untrusted"

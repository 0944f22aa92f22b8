"""The tiers and vectors of appraisals."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.evidence.samples import (
    NOW,
    PACKAGE,
    POLICY,
    PYTHON,
    SETTINGS,
    SUBJECT,
    TPM,
    appraise,
    digest,
    make_evidence,
)
from vacr.evidence.measurements import Component
from vacr.evidence.results import (
    TIERS_BY_LABEL,
    Tier,
    find_worst_value,
    get_tier,
    is_tier_sufficient,
)
from vacr.evidence.tpm_structures import compute_key_name


def test_quote_of_a_known_tpm_affirms_the_instance_but_not_hardware():
    appraisal = appraise(make_evidence())
    assert (appraisal.status, appraisal.vector) == (
        Tier.AFFIRMING,
        {"instance-identity": 2, "file-system": 2, "hardware": 0},
    )
    assert appraisal.details == {
        "clock": 1234,
        "reset-count": 3,
        "restart-count": 1,
        "safe": True,
        "firmware-version": "2019102300163636",
    }


def test_quote_of_an_endorsed_tpm_affirms_hardware():
    policy = replace(
        POLICY, attestation_keys=(), endorsed=frozenset((compute_key_name(TPM.public()),))
    )
    assert appraise(make_evidence(), policy).vector == {
        "instance-identity": 2,
        "file-system": 2,
        "hardware": 2,
    }


def test_accepted_key_in_software_affirms_no_identity():
    appraisal = appraise(make_evidence(tpm=None), replace(POLICY, software_is_enough=True))
    assert (appraisal.status, appraisal.vector) == (
        Tier.AFFIRMING,
        {"file-system": 2, "hardware": 0},
    )
    capped = appraise(make_evidence(tpm=None))
    assert (capped.status, capped.vector) == (
        Tier.WARNING,
        {"instance-identity": -33, "file-system": 2, "hardware": 0},
    )


def test_required_hardware_must_be_endorsed():
    policy = replace(POLICY, required=frozenset(("hardware",)))
    assert appraise(make_evidence(), policy).vector["hardware"] == 97
    assert (
        appraise(
            make_evidence(), replace(policy, endorsed=frozenset((compute_key_name(TPM.public()),)))
        ).status
        is Tier.AFFIRMING
    )


def test_findings_do_not_repeat_the_name_of_their_check():
    subject = replace(
        SUBJECT, components=(PACKAGE, PYTHON, SETTINGS, Component("agent:x", digest("a")))
    )
    for references in (
        (),
        (PACKAGE, PYTHON, SETTINGS),
        (replace(PACKAGE, digest=digest("x"), manifest=None),),
    ):
        for check in appraise(
            make_evidence(subject), replace(POLICY, references=references)
        ).checks:
            assert check.name not in check.finding, check


def test_evidence_older_than_the_maximum_age_is_refused():
    policy = replace(POLICY, maximum_age=60)
    assert appraise(make_evidence(), policy).status is Tier.AFFIRMING
    assert (
        appraise(make_evidence(), policy, now=NOW + timedelta(seconds=1)).worst_check.reason
        == "evidence-old"
    )
    assert (
        appraise(make_evidence(), policy, now=NOW - timedelta(seconds=360)).status is Tier.AFFIRMING
    )
    assert (
        appraise(make_evidence(), policy, now=NOW - timedelta(seconds=361)).worst_check.reason
        == "evidence-in-future"
    )


def test_accepted_boot_registers_affirm_executables():
    policy = replace(POLICY, pcrs={7: frozenset((b"\x07" * 32, b"\x08" * 32))})
    assert appraise(make_evidence(), policy).vector["executables"] == 3


def test_configuration_with_a_reference_value_is_affirmed():
    subject = replace(SUBJECT, components=(PACKAGE, PYTHON, SETTINGS))
    policy = replace(
        POLICY, references=(PACKAGE, PYTHON, SETTINGS), required=frozenset(("configuration",))
    )
    assert appraise(make_evidence(subject), policy).vector["configuration"] == 2
    other = replace(SUBJECT, components=(PACKAGE, PYTHON, replace(SETTINGS, digest=digest("x"))))
    assert appraise(make_evidence(other), policy).vector["configuration"] == -97


def test_measured_agent_is_reported_and_affirms_nothing():
    subject = replace(
        SUBJECT, components=(PACKAGE, PYTHON, Component("agent:claude-code", digest("a"), "2.1.72"))
    )
    appraisal = appraise(make_evidence(subject))
    assert (appraisal.status, appraisal.vector) == (
        Tier.AFFIRMING,
        {"instance-identity": 2, "file-system": 2, "hardware": 0},
    )
    known = replace(
        POLICY, references=(PACKAGE, PYTHON, Component("agent:claude-code", digest("b"), "2.1.72"))
    )
    assert appraise(make_evidence(subject), known).vector["sourced-data"] == 96


def test_several_releases_may_be_known():
    older = replace(PACKAGE, version="0.0.9", digest=digest("older"), manifest=None)
    assert (
        appraise(make_evidence(), replace(POLICY, references=(older, PACKAGE, PYTHON))).status
        is Tier.AFFIRMING
    )


def test_result_without_the_record_names_its_digest():
    appraisal = appraise(make_evidence(), record=None)
    assert appraisal.status is Tier.AFFIRMING
    assert appraisal.record == SUBJECT.record
    assert [check.decided for check in appraisal.checks if check.name == "record"] == [False]


def test_evidence_without_a_journal_says_so():
    appraisal = appraise(make_evidence(replace(SUBJECT, journal=None)))
    assert appraisal.journal is None
    assert [check.finding for check in appraisal.checks if check.name == "journal"] == [
        "the evidence names no journal, and none is required"
    ]


@pytest.mark.parametrize(
    ("value", "tier"),
    [
        (0, "none"),
        (1, "none"),
        (-1, "none"),
        (2, "affirming"),
        (31, "affirming"),
        (-2, "affirming"),
        (-32, "affirming"),
    ]
    + [(32, "warning"), (95, "warning"), (-33, "warning"), (-96, "warning")]
    + [
        (96, "contraindicated"),
        (127, "contraindicated"),
        (-97, "contraindicated"),
        (-128, "contraindicated"),
    ],
)
def test_tiers_of_values(value, tier):
    assert get_tier(value) is TIERS_BY_LABEL[tier]


def test_the_worst_value_stands_for_all():
    assert find_worst_value([]) == 0
    assert find_worst_value([2, 0]) == 2
    assert find_worst_value([2, -33, 32]) == 32
    assert find_worst_value([99, 2, -97]) == 99


def test_missing_claim_is_never_sufficient():
    assert not is_tier_sufficient(Tier.NONE, Tier.CONTRAINDICATED)
    assert is_tier_sufficient(Tier.AFFIRMING, Tier.WARNING)
    assert not is_tier_sufficient(Tier.WARNING, Tier.AFFIRMING)

"""Each kind of wrong evidence is refused for its own reason."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.evidence.samples import (
    ATTESTER,
    FILES,
    JOURNAL,
    MADE,
    NONCE,
    NOW,
    PACKAGE,
    POLICY,
    PYTHON,
    SETTINGS,
    STRANGER,
    SUBJECT,
    TPM,
    StandIn,
    appraise,
    change_claims,
    digest,
    make_evidence,
)
from vacr.errors import InvalidStatement
from vacr.evidence.measurements import Component, build_file_component
from vacr.evidence.results import Tier
from vacr.evidence.tokens import (
    CLAIM_JOURNAL,
    CLAIM_KEY_STORAGE,
    CLAIM_MANIFESTS,
    CLAIM_PCRS,
    CLAIM_RECORD,
    EAT_IAT,
    EAT_MEASUREMENTS,
    EAT_NONCE,
    EAT_PROFILE,
    EAT_SUBMODS,
    KEY_STORAGE_SOFTWARE,
    KEY_STORAGE_TPM,
    NAMED_INFO_SHA256,
)

SOFTWARE = replace(POLICY, software_is_enough=True)


def submodule(claims):
    return claims[EAT_SUBMODS][KEY_STORAGE_TPM]


def other_quote(claims):
    """Take the quote of other evidence, of the same TPM, for another nonce."""
    from vacr.evidence.tokens import parse_cwt

    submodule(claims).update(submodule(parse_cwt(make_evidence(nonce=b"\xff" * 32)).claims))


def strip(claims):
    del claims[EAT_SUBMODS]


def strip_and_admit(claims):
    strip(claims)
    claims[CLAIM_KEY_STORAGE] = KEY_STORAGE_SOFTWARE


def other_journal(claims):
    claims[CLAIM_JOURNAL] = {"identity": b"\x01" * 32, "frames": 8, "head": b"\x03" * 32}


def other_pcr(claims):
    submodule(claims)[CLAIM_PCRS] = {0: b"\x01" * 32, 7: b"\x07" * 32}


def more_pcrs(claims):
    submodule(claims)[CLAIM_PCRS] = {0: b"\x00" * 32, 3: b"\x00" * 32, 7: b"\x07" * 32}


def other_record(claims):
    claims[CLAIM_RECORD] = [NAMED_INFO_SHA256, digest("another")]


def of_package(**files):
    return replace(
        SUBJECT, components=(build_file_component("vacr", "0.1.0", {**FILES, **files}), PYTHON)
    )


CHANGED = {"readers/lines.py": digest("lines, changed")}

CASES = {
    "replayed: an older nonce": (make_evidence(nonce=b"\x00" * 32), POLICY, "nonce"),
    "old": (make_evidence(when=MADE - 86400), POLICY, "evidence-old"),
    "from the future": (make_evidence(when=MADE + 86400), POLICY, "evidence-in-future"),
    "for another record": (
        make_evidence(replace(SUBJECT, record=digest("another"))),
        POLICY,
        "record-mismatch",
    ),
    "a quote of other evidence": (
        change_claims(make_evidence(), other_quote),
        POLICY,
        "quote-swapped",
    ),
    "a journal that the quote is not over": (
        change_claims(make_evidence(), other_journal),
        POLICY,
        "quote-swapped",
    ),
    "a record that the quote is not over": (
        change_claims(make_evidence(), other_record),
        POLICY,
        "quote-swapped",
    ),
    "the same claims, signed by another key": (
        change_claims(make_evidence(), lambda _: None, STRANGER),
        POLICY,
        "evidence-signature",
    ),
    "registers that were not quoted": (
        change_claims(make_evidence(), other_pcr),
        POLICY,
        "pcr-mismatch",
    ),
    "more registers than were quoted": (
        change_claims(make_evidence(), more_pcrs),
        POLICY,
        "pcr-mismatch",
    ),
    "a register that the policy does not have": (
        make_evidence(),
        replace(POLICY, pcrs={7: frozenset((b"\x08" * 32,))}),
        "pcr-mismatch",
    ),
    "a register that was not quoted": (
        make_evidence(),
        replace(POLICY, pcrs={4: frozenset((b"\x00" * 32,))}),
        "pcr-missing",
    ),
    "the quote taken away": (change_claims(make_evidence(), strip), POLICY, "quote-missing"),
    "the quote removed, and its absence stated": (
        change_claims(make_evidence(), strip_and_admit),
        POLICY,
        "key-in-software",
    ),
    "a quote and a key in software": (
        change_claims(make_evidence(), lambda c: c.update({CLAIM_KEY_STORAGE: "software"})),
        POLICY,
        "quote-swapped",
    ),
    "another TPM": (make_evidence(tpm=StandIn()), POLICY, "attestation-key-unknown"),
    "a key that could leave its TPM": (
        make_evidence(tpm=StandIn(attributes=0x00050070)),
        POLICY,
        "attestation-key",
    ),
    "a key that signs anything": (
        make_evidence(tpm=StandIn(attributes=0x00040072)),
        POLICY,
        "attestation-key",
    ),
    "a key in software": (make_evidence(tpm=None), POLICY, "key-in-software"),
    "an unknown key in software": (
        make_evidence(tpm=None, signer=STRANGER),
        SOFTWARE,
        "attester-unknown",
    ),
    "a required TPM is missing": (
        make_evidence(tpm=None),
        replace(SOFTWARE, required=frozenset(("tpm",))),
        "claim-missing",
    ),
    "a file that was changed": (
        make_evidence(of_package(**CHANGED)),
        POLICY,
        "measurement-changed",
    ),
    "a file too many": (
        make_evidence(of_package(**{"more.py": digest("more")})),
        POLICY,
        "measurement-changed",
    ),
    "a version that was relabelled": (
        make_evidence(replace(SUBJECT, components=(replace(PACKAGE, version="9"), PYTHON))),
        POLICY,
        "measurement-changed",
    ),
    "another Python": (
        make_evidence(replace(SUBJECT, components=(PACKAGE, replace(PYTHON, digest=digest("x"))))),
        POLICY,
        "measurement-changed",
    ),
    "something nobody knows": (
        make_evidence(
            replace(SUBJECT, components=(PACKAGE, PYTHON, Component("tracer", digest("t"))))
        ),
        POLICY,
        "measurement-unknown",
    ),
    "configuration nobody knows": (
        make_evidence(replace(SUBJECT, components=(PACKAGE, PYTHON, SETTINGS))),
        POLICY,
        "measurement-unknown",
    ),
    "the package not measured": (
        make_evidence(replace(SUBJECT, components=(PYTHON,))),
        POLICY,
        "measurement-missing",
    ),
    "Python not measured": (
        make_evidence(replace(SUBJECT, components=(PACKAGE,))),
        POLICY,
        "measurement-missing",
    ),
    "configuration not measured": (
        make_evidence(),
        replace(POLICY, references=(PACKAGE, PYTHON, SETTINGS)),
        "measurement-missing",
    ),
    "a version that is not accepted": (
        make_evidence(),
        replace(POLICY, versions=frozenset(("0.2.0",))),
        "version",
    ),
    "no journal": (
        make_evidence(replace(SUBJECT, journal=None)),
        replace(POLICY, required=frozenset(("journal",))),
        "claim-missing",
    ),
    "no agent": (
        make_evidence(replace(SUBJECT, agent=None)),
        replace(POLICY, required=frozenset(("agent",))),
        "claim-missing",
    ),
    "an agent nobody knows": (
        make_evidence(
            replace(
                SUBJECT, components=(PACKAGE, PYTHON, Component("agent:claude-code", digest("a")))
            )
        ),
        replace(POLICY, required=frozenset(("agent",))),
        "measurement-unknown",
    ),
}


@pytest.mark.parametrize(("evidence", "policy", "reason"), CASES.values(), ids=CASES)
def test_wrong_evidence_is_not_affirmed(evidence, policy, reason):
    appraisal = appraise(evidence, policy)
    assert appraisal.status in (Tier.WARNING, Tier.CONTRAINDICATED)
    assert reason in {check.reason for check in appraisal.checks}


def test_evidence_for_another_nonce_is_not_fresh():
    evidence = make_evidence()
    assert appraise(evidence).status is Tier.AFFIRMING
    again = appraise(evidence, nonce=b"\x09" * 32)
    assert (again.status, again.worst_check.reason) == (Tier.CONTRAINDICATED, "nonce")
    assert set(again.vector.values()) == {99}
    later = appraise(evidence, now=NOW + timedelta(days=1))
    assert (later.status, later.worst_check.reason) == (Tier.CONTRAINDICATED, "evidence-old")


def test_journal_that_the_record_does_not_name_is_refused():
    assert appraise(make_evidence(), journal=JOURNAL).status is Tier.AFFIRMING
    for subject, named in (
        (SUBJECT, replace(JOURNAL, frames=8)),
        (SUBJECT, replace(JOURNAL, head=b"\x03" * 32)),
        (replace(SUBJECT, journal=None), JOURNAL),
    ):
        appraisal = appraise(make_evidence(subject), journal=named)
        assert (appraisal.status, appraisal.worst_check.reason) == (
            Tier.CONTRAINDICATED,
            "journal-mismatch",
        )


def test_changed_file_is_named():
    (check,) = [
        check
        for check in appraise(make_evidence(of_package(**CHANGED))).checks
        if check.name == "vacr"
    ]
    assert check.finding == "version 0.1.0, readers/lines.py differs"
    gone = {name: value for name, value in FILES.items() if name != "signing/keys.py"} | {
        "x.py": digest("x")
    }
    (check,) = [
        check
        for check in appraise(
            make_evidence(
                replace(SUBJECT, components=(build_file_component("vacr", "0.1.0", gone), PYTHON))
            )
        ).checks
        if check.name == "vacr"
    ]
    assert check.finding == "version 0.1.0, signing/keys.py is missing, x.py is not expected"


def test_without_reference_values_nothing_is_affirmed():
    bare = appraise(make_evidence(), replace(POLICY, references=()))
    assert bare.status is Tier.WARNING  # what is measured is not known
    assert {check.reason for check in bare.checks if check.reason} == {"measurement-unknown"}


NOBODY = {
    "a quote of other evidence": (change_claims(make_evidence(), other_quote), {"nonce": NONCE}),
    "replayed": (make_evidence(), {"nonce": b"\x09" * 32}),
    "a TPM that nobody knows": (make_evidence(tpm=StandIn()), {}),
    "an unknown key in software": (make_evidence(tpm=None, signer=STRANGER), {}),
}


@pytest.mark.parametrize(("evidence", "asked"), NOBODY.values(), ids=NOBODY)
def test_unproven_findings_are_retracted(evidence, asked):
    appraisal = appraise(evidence, **asked)
    good = {
        check.name for check in appraisal.checks if check.decided and check.tier <= Tier.AFFIRMING
    }
    assert good == {"signature"}
    assert {check.name for check in appraisal.checks} >= {"vacr", "python", "record"}
    assert all(check.value == 0 for check in appraisal.checks if check.name in ("vacr", "python"))
    assert appraisal.vector.get("file-system") in (None, 99)
    assert appraisal.key_storage is None


def malformed(change):
    return change_claims(make_evidence(tpm=None), change)


MALFORMED = {
    "another profile": (
        malformed(lambda c: c.update({EAT_PROFILE: "urn:example:other"})),
        "profile",
    ),
    "no nonce": (malformed(lambda c: c.pop(EAT_NONCE)), "evidence-malformed"),
    "a nonce that is too short": (
        malformed(lambda c: c.update({EAT_NONCE: b"1234567"})),
        "evidence-malformed",
    ),
    "a time that is not an integer": (
        malformed(lambda c: c.update({EAT_IAT: 1.5})),
        "evidence-malformed",
    ),
    "a claim nobody knows": (malformed(lambda c: c.update({-75099: 1})), "evidence-malformed"),
    "a record of another hash": (
        malformed(lambda c: c.update({CLAIM_RECORD: [7, b"\x00" * 32]})),
        "evidence-malformed",
    ),
    "another place for the key": (
        malformed(lambda c: c.update({CLAIM_KEY_STORAGE: "hsm"})),
        "evidence-malformed",
    ),
    "no measurements": (
        malformed(lambda c: c.update({EAT_MEASUREMENTS: []})),
        "evidence-malformed",
    ),
    "measurements of another format": (
        malformed(lambda c: c[EAT_MEASUREMENTS].append([258, b"\xa0"])),
        "evidence-malformed",
    ),
    "a component twice": (
        malformed(lambda c: c[EAT_MEASUREMENTS].append(c[EAT_MEASUREMENTS][0])),
        "evidence-malformed",
    ),
    "files of nothing": (
        malformed(lambda c: c[CLAIM_MANIFESTS].update({"x": {}})),
        "evidence-malformed",
    ),
    "files of another digest": (
        malformed(lambda c: c[CLAIM_MANIFESTS]["vacr"].update({"a.py": b"\x00" * 32})),
        "manifest-mismatch",
    ),
}


@pytest.mark.parametrize(("evidence", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_evidence_raises(evidence, reason):
    with pytest.raises(InvalidStatement) as refused:
        appraise(evidence, SOFTWARE)
    assert refused.value.reason == reason


def test_signed_statement_never_passes_as_evidence():
    from vacr.evidence.tokens import parse_cwt
    from vacr.signing.statement import sign

    payload = parse_cwt(make_evidence(tpm=None)).message.payload
    with pytest.raises(InvalidStatement) as refused:
        appraise(sign(payload, ATTESTER, profile="attached"), SOFTWARE)
    assert refused.value.reason == "typ"


BENT = {
    "magic": {"magic": 0xFF544348},
    "another kind of attestation": {"kind": 0x8017},
}


@pytest.mark.parametrize("bend", BENT.values(), ids=BENT)
def test_data_that_a_tpm_did_not_create_is_not_a_quote(bend):
    class Bent(StandIn):
        def __init__(self):
            self.private, self.attributes, self.pcrs = TPM.private, TPM.attributes, TPM.pcrs

        def attest(self, extra, **_):
            return super().attest(extra, **bend)

    appraisal = appraise(make_evidence(tpm=Bent()))
    assert (appraisal.status, appraisal.worst_check.reason) == (
        Tier.CONTRAINDICATED,
        "quote-malformed",
    )
    assert appraisal.nonce == NONCE

"""The CDDL of evidence accepts our messages, and its instances can be parsed."""

from dataclasses import replace
from importlib import resources

import cbor2
import pytest

from tests.evidence.samples import PACKAGE, PYTHON, SETTINGS, SUBJECT, TPM, make_evidence
from vacr.cddl.schema import compile_cddl
from vacr.evidence.measurements import decode_reference_values, encode_reference_values
from vacr.evidence.messages import check_evidence_schema, decode_cmw, encode_cmw_cbor
from vacr.evidence.tokens import (
    CLAIM_AGENT,
    CLAIM_JOURNAL,
    CLAIM_KEY_STORAGE,
    CLAIM_MANIFESTS,
    CLAIM_RECORD,
    CWT_TAG,
    EAT_IAT,
    EAT_NONCE,
    EAT_PROFILE,
    ENDORSEMENT_PROFILE,
    EVIDENCE_PROFILE,
    parse_cwt,
)
from vacr.record.cbor import decode_cbor

TEXT = resources.files("vacr.evidence").joinpath("evidence.cddl").read_text("utf-8")
SCHEMA = compile_cddl(TEXT, name="evidence.cddl")

MADE = {
    "a TPM's": make_evidence(),
    "software": make_evidence(tpm=None),
    "without a journal and an agent": make_evidence(replace(SUBJECT, journal=None, agent=None)),
    "with configuration": make_evidence(replace(SUBJECT, components=(PACKAGE, PYTHON, SETTINGS))),
}


@pytest.mark.parametrize("evidence", MADE.values(), ids=MADE)
def test_created_messages_follow_the_schema(evidence):
    assert SCHEMA.checker("evidence", json=False).findings(decode_cbor(evidence)) == []


def test_reference_values_follow_the_schema():
    wrapped = decode_cmw(encode_reference_values([PACKAGE, PYTHON, SETTINGS]))
    assert SCHEMA.checker("reference-values", json=False).findings(decode_cbor(wrapped.value)) == []
    assert decode_reference_values(encode_cmw_cbor(wrapped)) == [PACKAGE, PYTHON, SETTINGS]


def test_the_schema_has_the_names_of_the_code():
    assert TEXT.count(EVIDENCE_PROFILE) == 2
    assert TEXT.count(ENDORSEMENT_PROFILE) == 1
    for number in (
        CLAIM_RECORD,
        CLAIM_JOURNAL,
        CLAIM_MANIFESTS,
        CLAIM_KEY_STORAGE,
        CLAIM_AGENT,
        *TPM.quote(b"").claims(),
    ):
        assert str(number) in TEXT


def test_label_of_another_type_is_another_claim():
    claims = parse_cwt(MADE["software"]).claims
    check_evidence_schema(claims, "claims", "claims")
    for label in (EAT_IAT, EAT_NONCE, EAT_PROFILE):
        other = {float(name) if name == label else name: value for name, value in claims.items()}
        assert SCHEMA.checker("claims", json=False).findings(other)
    assert cbor2.loads(MADE["software"]).tag == CWT_TAG

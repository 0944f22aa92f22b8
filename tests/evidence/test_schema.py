"""The CDDL of evidence, by our own compiler: it takes what is made, and what it makes can
be read.
"""

from dataclasses import replace
from importlib import resources

import cbor2
import pytest

from tests.evidence.making import PACKAGE, PYTHON, SETTINGS, SUBJECT, TPM, made
from vacr.codec import deterministic_cbor
from vacr.evidence import cmw, cwt, labels, reference, structure
from vacr.schema.cddl import compile_cddl

TEXT = resources.files("vacr.evidence").joinpath("evidence.cddl").read_text("utf-8")
SCHEMA = compile_cddl(TEXT, name="evidence.cddl")

MADE = {
    "a TPM's": made(),
    "software": made(tpm=None),
    "without a journal and an agent": made(replace(SUBJECT, journal=None, agent=None)),
    "with configuration": made(replace(SUBJECT, components=(PACKAGE, PYTHON, SETTINGS))),
}


@pytest.mark.parametrize("evidence", MADE.values(), ids=MADE)
def test_what_is_made_follows_the_schema(evidence):
    assert (
        SCHEMA.checker("evidence", json=False).findings(deterministic_cbor.decode(evidence)) == []
    )


def test_reference_values_follow_the_schema():
    wrapped = cmw.decode(reference.encode([PACKAGE, PYTHON, SETTINGS]))
    assert (
        SCHEMA.checker("reference-values", json=False).findings(
            deterministic_cbor.decode(wrapped.value)
        )
        == []
    )
    assert reference.decode(cmw.encode_cbor(wrapped)) == [PACKAGE, PYTHON, SETTINGS]


def test_the_schema_has_the_names_of_the_code():
    assert TEXT.count(labels.PROFILE) == 2
    assert TEXT.count(labels.ENDORSEMENT_PROFILE) == 1
    for number in (
        labels.RECORD,
        labels.JOURNAL,
        labels.MANIFESTS,
        labels.KEY_STORAGE,
        labels.AGENT,
        *TPM.quote(b"").claims(),
    ):
        assert str(number) in TEXT


def test_a_claim_is_known_by_its_type_too():
    claims = cwt.read_token(MADE["software"]).claims
    structure.check(claims, "claims", "claims")
    for label in (labels.IAT, labels.NONCE, labels.EAT_PROFILE):
        other = {float(name) if name == label else name: value for name, value in claims.items()}
        assert SCHEMA.checker("claims", json=False).findings(other)
    assert cbor2.loads(MADE["software"]).tag == labels.CWT_TAG

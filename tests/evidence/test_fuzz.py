"""Changed evidence and results raise our error or are not affirmed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evidence.samples import (
    ATTESTER,
    NONCE,
    NOW,
    POLICY,
    RECORD,
    TPM,
    appraise,
    make_evidence,
)
from tests.evidence.test_results import PASSPORT, result
from vacr.errors import InvalidStatement
from vacr.evidence.messages import INDICATOR_EVIDENCE, CmwRecord, RatsMessages, encode_cmw_cbor
from vacr.evidence.relying_party import EvidenceRequirement, check_evidence_requirement
from vacr.evidence.results import Tier
from vacr.evidence.tokens import (
    EAT_CWT_MEDIA_TYPE,
    EAT_SUBMODS,
    KEY_STORAGE_TPM,
    parse_cwt,
    sign_cwt,
)
from vacr.evidence.tpm_structures import parse_attestation_key, parse_quote, parse_quote_signature

EVIDENCE = make_evidence()
RESULTS = (result(), result(as_jwt=True))
BACKGROUND = EvidenceRequirement(Tier.AFFIRMING, policy=POLICY, nonce=NONCE)

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.integers(-50, 400) | st.text(max_size=3), inner, max_size=5),
    max_leaves=10,
)  # fmt: skip


def is_affirmed(data, needed):
    try:
        check_evidence_requirement(data, RECORD, needed, NOW)
    except InvalidStatement:
        return False
    return True


def mutate_bytes(data, draw):
    """Change, cut or double some bytes."""
    at = draw(st.integers(0, len(data) - 1))
    match draw(st.sampled_from(["flip", "cut", "tail", "double", "insert"])):
        case "flip":
            return data[:at] + bytes((data[at] ^ draw(st.integers(1, 255)),)) + data[at + 1 :]
        case "cut":
            return data[:at]
        case "tail":
            return data[at + 1 :]
        case "double":
            return data[: at + 1] + data[at:]
    return data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[at:]


@settings(max_examples=600)
@given(st.data())
def test_changed_evidence_is_never_affirmed(data):
    other = mutate_bytes(EVIDENCE, data.draw)
    # The tag of a CWT says nothing that the tag of COSE does not.
    assert not is_affirmed(other, BACKGROUND) or other == EVIDENCE[2:]


@settings(max_examples=600)
@given(st.sampled_from(RESULTS), st.data())
def test_changed_results_are_never_believed(token, data):
    other = mutate_bytes(token, data.draw)
    assert not is_affirmed(other, PASSPORT) or other in (token, token[2:])


@given(st.binary(max_size=200))
def test_any_bytes_are_evidence_or_raise_our_error(data):
    assert not is_affirmed(data, BACKGROUND)
    assert not is_affirmed(data, PASSPORT)
    assert not is_affirmed(EVIDENCE[:4] + data, BACKGROUND)


@settings(max_examples=400)
@given(st.data(), values)
def test_other_claims_signed_by_the_attester_are_not_affirmed(data, value):
    claims = parse_cwt(EVIDENCE).claims
    label = data.draw(st.sampled_from(sorted(claims)))
    if value == claims[label]:
        return
    claims[label] = value
    assert not is_affirmed(sign_cwt(claims, ATTESTER), BACKGROUND)


@settings(max_examples=300)
@given(st.data(), values)
def test_another_submodule_is_not_affirmed(data, value):
    claims = parse_cwt(EVIDENCE).claims
    module = claims[EAT_SUBMODS][KEY_STORAGE_TPM]
    label = data.draw(st.sampled_from(sorted(module)))
    before = module[label]
    module[label] = mutate_bytes(before, data.draw) if isinstance(before, bytes) else value
    if module[label] != before:
        assert not is_affirmed(sign_cwt(claims, ATTESTER), BACKGROUND)


@settings(max_examples=400)
@given(st.sampled_from(RESULTS), st.data())
def test_a_changed_passport_is_believed_for_its_result_alone(token, data):
    passport = RatsMessages(EVIDENCE, token).encode("cbor")
    assert is_affirmed(passport, PASSPORT)
    other = mutate_bytes(passport, data.draw)
    assert not is_affirmed(other, PASSPORT) or token in other
    assert not is_affirmed(other, BACKGROUND) or EVIDENCE in other


QUOTED = TPM.quote(b"\x01" * 32)
STRUCTURES = (
    (parse_quote, QUOTED.quote),
    (parse_quote_signature, QUOTED.signature),
    (parse_attestation_key, QUOTED.attestation_key),
)


def find_refusal_reason(read, data):
    try:
        read(data)
    except InvalidStatement as refused:
        return refused.reason
    return None


@settings(max_examples=400)
@given(st.sampled_from(STRUCTURES), st.data())
def test_structures_of_a_tpm_are_read_or_refused(structure, data):
    read, good = structure
    assert find_refusal_reason(read, good) is None
    assert find_refusal_reason(read, mutate_bytes(good, data.draw)) in (None, "quote-malformed")
    assert find_refusal_reason(read, data.draw(st.binary(max_size=100))) == "quote-malformed"


@settings(max_examples=200)
@given(st.data())
def test_a_changed_wrapper_is_never_affirmed_as_something_else(data):
    wrapped = encode_cmw_cbor(CmwRecord(EAT_CWT_MEDIA_TYPE, EVIDENCE, INDICATOR_EVIDENCE))
    other = mutate_bytes(wrapped, data.draw)
    if is_affirmed(other, BACKGROUND):
        assert EVIDENCE in other
    assert appraise(EVIDENCE).status is Tier.AFFIRMING

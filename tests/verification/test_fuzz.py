"""Any bytes yield a verified result or our error, and no changed statement verifies."""

from datetime import UTC, datetime

import cbor2
from hypothesis import given, settings
from hypothesis import strategies as st

from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import STATEMENT_PROFILES, StatementClaims, sign
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.verifying import verify

NOW = datetime(2026, 11, 15, tzinfo=UTC)
PAYLOAD = b'{"what":"was signed"}'
SIGNERS = [KeySigner(generate_key(kind)) for kind in ("eddsa", "es256")]
POLICY = Policy(keys=tuple(signer.public_key for signer in SIGNERS))
STATEMENTS = [
    sign(PAYLOAD, signer, profile=profile, claims=StatementClaims(issued_at=1))
    for signer in SIGNERS
    for profile in STATEMENT_PROFILES
]

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.integers(-50, 400) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=12,
)


def find_verdict(statement, payload=PAYLOAD):
    try:
        return verify(statement, POLICY, payload=payload, now=NOW)
    except VerificationFailed:
        return None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_verify_or_raise_our_error(data):
    assert find_verdict(data) is None
    assert find_verdict(b"\xd2\x84" + data) is None


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(STATEMENTS), st.data())
def test_changed_statement_does_not_verify(statement, data):
    at = data.draw(st.integers(0, len(statement) - 1))
    changed = bytearray(statement)
    changed[at] ^= data.draw(st.integers(1, 255))
    found = find_verdict(bytes(changed))
    # Only the unsigned parts may change.
    assert found is None or found.message.signature == cbor2.loads(statement).value[3]
    assert found is None or found.message.protected_bytes == cbor2.loads(statement).value[0]


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(STATEMENTS),
    st.dictionaries(st.integers(-50, 400), values, max_size=4),
    values,
    st.data(),
)
def test_changed_headers_do_not_verify(statement, unprotected, value, data):
    parts = list(cbor2.loads(statement).value)
    if data.draw(st.booleans()):
        parts[1] = unprotected
        found = find_verdict(cbor2.dumps(cbor2.CBORTag(18, parts)))
        assert found is None or found.payload == PAYLOAD
    else:
        at = data.draw(st.integers(0, 3))
        if at == 1 or value == parts[at] or (at == 2 and value is None):
            return  # a payload that is taken out and given beside is the same one
        parts[at] = value
        assert find_verdict(cbor2.dumps(parts)) is None


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(STATEMENTS), st.binary(max_size=60))
def test_other_payload_does_not_verify(statement, payload):
    assert find_verdict(statement, payload) is None

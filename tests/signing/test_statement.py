"""Statements of each profile follow the schema and the deterministic encoding."""

import hashlib

import pytest

from vacr import validate
from vacr.errors import UsageError
from vacr.record.cbor import decode_cbor, encode_deterministic_cbor
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import (
    KeySigner,
    build_cose_key,
    compute_thumbprint,
    compute_thumbprint_uri,
    generate_key,
)
from vacr.signing.statement import STATEMENT_PROFILES, StatementClaims, build_trace_metadata, sign

PAYLOAD = b'{"what":"was signed"}'
RECORD = {
    "session": {
        "session-id": "s",
        "session-start": 1,
        "session-end": 2,
        "agent-meta": {"model-provider": "anthropic"},
    }
}


@pytest.fixture(scope="module")
def signer():
    return KeySigner(generate_key("eddsa"))


@pytest.mark.parametrize("profile", STATEMENT_PROFILES)
def test_each_profile_follows_the_schema(signer, profile):
    metadata = build_trace_metadata(RECORD, "ietf-vac-v3.0")
    statement = sign(
        PAYLOAD,
        signer,
        profile=profile,
        claims=StatementClaims(issued_at=7),
        unprotected={100: metadata},
    )
    value = decode_cbor(statement)
    assert encode_deterministic_cbor(value) == statement
    assert not validate(value, rule="scitt-signed-agent-record", json=False).findings
    message = parse_sign1(statement)
    digest = hashlib.sha256(PAYLOAD).digest()
    assert (
        message.payload == {"hash-envelope": digest, "detached": None, "attached": PAYLOAD}[profile]
    )
    headers = (
        {258: -16, 259: "application/json"}
        if profile == "hash-envelope"
        else {3: "application/json"}
    )
    uri = compute_thumbprint_uri(signer.public_key)
    claims = {1: uri, 2: f"urn:sha-256:{digest.hex()}", 6: 7}
    assert message.protected == {
        1: -8,
        4: compute_thumbprint(signer.public_key),
        15: claims,
        **headers,
    }
    carried = {8: {1: build_cose_key(signer.public_key)}}
    assert message.unprotected == {14: carried, 100: metadata}


def test_digest_is_enough_for_a_hash_envelope(signer):
    digest = hashlib.sha256(PAYLOAD).digest()
    assert sign(None, signer, digest=digest) == sign(PAYLOAD, signer)
    for profile in ("attached", "detached"):
        with pytest.raises(UsageError):
            sign(None, signer, digest=digest, profile=profile)
    with pytest.raises(UsageError, match="unknown profile"):
        sign(PAYLOAD, signer, profile="other")


def test_session_without_a_start_has_no_summary():
    assert build_trace_metadata({"session": {"session-id": "s"}}, "ietf-vac-v3.0") is None
    assert build_trace_metadata({}, "ietf-vac-v3.0") is None

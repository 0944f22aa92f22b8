"""Statements: what each profile holds, and that all of it is what the schema and the deterministic
form ask for.
"""

import hashlib

import pytest

from vacr.codec import deterministic_cbor
from vacr.errors import UsageError
from vacr.schema import validate
from vacr.signing import PROFILES, Claims, KeySigner, keys, sign
from vacr.signing.sign1 import parse
from vacr.signing.trace_metadata import trace_metadata

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
    return KeySigner(keys.generate("eddsa"))


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles(signer, profile):
    metadata = trace_metadata(RECORD, "ietf-vac-v3.0")
    statement = sign(
        PAYLOAD, signer, profile=profile, claims=Claims(issued_at=7), unprotected={100: metadata}
    )
    value = deterministic_cbor.decode(statement)
    assert deterministic_cbor.encode(value) == statement
    assert not validate(value, rule="scitt-signed-agent-record", json=False).findings
    message = parse(statement)
    digest = hashlib.sha256(PAYLOAD).digest()
    assert (
        message.payload == {"hash-envelope": digest, "detached": None, "attached": PAYLOAD}[profile]
    )
    headers = (
        {258: -16, 259: "application/json"}
        if profile == "hash-envelope"
        else {3: "application/json"}
    )
    uri = keys.thumbprint_uri(signer.public_key)
    claims = {1: uri, 2: f"urn:sha-256:{digest.hex()}", 6: 7}
    assert message.protected == {
        1: -8,
        4: keys.thumbprint(signer.public_key),
        15: claims,
        **headers,
    }
    carried = {8: {1: keys.to_cose(signer.public_key)}}
    assert message.unprotected == {14: carried, 100: metadata}


def test_a_digest_is_enough_for_a_hash_envelope(signer):
    digest = hashlib.sha256(PAYLOAD).digest()
    assert sign(None, signer, digest=digest) == sign(PAYLOAD, signer)
    for profile in ("attached", "detached"):
        with pytest.raises(UsageError):
            sign(None, signer, digest=digest, profile=profile)
    with pytest.raises(UsageError, match="no profile"):
        sign(PAYLOAD, signer, profile="other")


def test_a_session_without_a_start_has_no_summary():
    assert trace_metadata({"session": {"session-id": "s"}}, "ietf-vac-v3.0") is None
    assert trace_metadata({}, "ietf-vac-v3.0") is None

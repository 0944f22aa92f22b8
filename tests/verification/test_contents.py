"""What a statement covers, whatever it says its type is."""

from datetime import UTC, datetime

import pytest

from vacr.signing import PROFILES, KeySigner, keys, sign
from vacr.verification import Policy, VerificationFailed, verify

PAYLOAD = b'{"what":"was signed"}'
NOW = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "kind", ["application/json", "application/cbor", "application/agent-conversation"]
)
def test_any_content_type_is_read(profile, kind):
    signer = KeySigner(keys.generate("eddsa"))
    statement = sign(PAYLOAD, signer, profile=profile, content_type=kind)
    policy = Policy(keys=(signer.public_key,))
    assert verify(statement, policy, payload=PAYLOAD, now=NOW).payload == PAYLOAD
    with pytest.raises(VerificationFailed):
        verify(statement, policy, payload=PAYLOAD + b" ", now=NOW)

"""The content type of a statement does not matter for verification."""

from datetime import UTC, datetime

import pytest

from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import STATEMENT_PROFILES, sign
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.verifying import verify

PAYLOAD = b'{"what":"was signed"}'
NOW = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.mark.parametrize("profile", STATEMENT_PROFILES)
@pytest.mark.parametrize(
    "kind", ["application/json", "application/cbor", "application/agent-conversation"]
)
def test_any_content_type_is_read(profile, kind):
    signer = KeySigner(generate_key("eddsa"))
    statement = sign(PAYLOAD, signer, profile=profile, content_type=kind)
    policy = Policy(keys=(signer.public_key,))
    assert verify(statement, policy, payload=PAYLOAD, now=NOW).payload == PAYLOAD
    with pytest.raises(VerificationFailed):
        verify(statement, policy, payload=PAYLOAD + b" ", now=NOW)

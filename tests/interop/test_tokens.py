"""Evidence and results are tokens that libraries of others verify: python-cwt, and jose of npm."""

import time

import pytest

from tests.evidence.making import NONCE, POLICY, SUBJECT, appraised, made
from tests.interop.test_peers import ask
from vacr.evidence.attester import create_evidence
from vacr.evidence.results import encode_signed_result
from vacr.evidence.tokens import EAR_PROFILE, EVIDENCE_PROFILE
from vacr.signing.keys import KeySigner, generate_key


@pytest.fixture(params=["eddsa", "es256"])
def signer(request):
    return KeySigner(generate_key(request.param))


def test_evidence_is_a_cwt_to_others(signer):
    evidence = create_evidence(SUBJECT, NONCE, int(time.time()), signer)
    found = ask("cwt", "token", signer, statement=evidence.hex())
    assert found == {"result": {"profile": EVIDENCE_PROFILE, "nonce": NONCE.hex(), "modules": []}}
    broken = evidence[:-1] + bytes([evidence[-1] ^ 1])
    assert "error" in ask("cwt", "token", signer, statement=broken.hex())


def test_results_are_cwts_and_jwts_to_others(signer):
    now = int(time.time())
    result = encode_signed_result(appraised(made()), signer, now, 3600)
    assert ask("cwt", "token", signer, statement=result.hex()) == {
        "result": {"profile": EAR_PROFILE, "nonce": "", "modules": ["vacr"]}
    }
    token = encode_signed_result(appraised(made()), signer, now, 3600, as_jwt=True).decode()
    found = ask("jose", "verify", signer, statement=token, now=now)
    assert found["result"]["submods"]["vacr"]["ear_appraisal_policy_ids"] == [POLICY.id]
    assert "error" in ask("jose", "verify", signer, statement=token[:-4] + "AAAA", now=now)
    assert "error" in ask("jose", "verify", signer, statement=token, now=now + 7200)

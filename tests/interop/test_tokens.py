"""Other libraries verify evidence and results as tokens: python-cwt, and jose from npm."""

import time

import pytest

from tests.evidence.samples import NONCE, POLICY, SUBJECT, appraise, make_evidence
from tests.interop.test_peers import ask_peer
from vacr.evidence.attester import create_evidence
from vacr.evidence.results import encode_signed_result
from vacr.evidence.tokens import EAR_PROFILE, EVIDENCE_PROFILE
from vacr.signing.keys import KeySigner, generate_key


@pytest.fixture(params=["eddsa", "es256"])
def signer(request):
    return KeySigner(generate_key(request.param))


def test_python_cwt_verifies_evidence(signer):
    evidence = create_evidence(SUBJECT, NONCE, int(time.time()), signer)
    answer = ask_peer("cwt", "token", signer, statement=evidence.hex())
    assert answer == {"result": {"profile": EVIDENCE_PROFILE, "nonce": NONCE.hex(), "modules": []}}
    broken = evidence[:-1] + bytes([evidence[-1] ^ 1])
    assert "error" in ask_peer("cwt", "token", signer, statement=broken.hex())


def test_other_libraries_verify_results_as_cwts_and_jwts(signer):
    now = int(time.time())
    result = encode_signed_result(appraise(make_evidence()), signer, now, 3600)
    assert ask_peer("cwt", "token", signer, statement=result.hex()) == {
        "result": {"profile": EAR_PROFILE, "nonce": "", "modules": ["vacr"]}
    }
    token = encode_signed_result(appraise(make_evidence()), signer, now, 3600, as_jwt=True).decode()
    answer = ask_peer("jose", "verify", signer, statement=token, now=now)
    assert answer["result"]["submods"]["vacr"]["ear_appraisal_policy_ids"] == [POLICY.id]
    assert "error" in ask_peer("jose", "verify", signer, statement=token[:-4] + "AAAA", now=now)
    assert "error" in ask_peer("jose", "verify", signer, statement=token, now=now + 7200)

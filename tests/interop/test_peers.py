"""Statements go both ways between vacr and other COSE libraries, from npm and PyPI."""

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import cbor2
import pytest

from vacr.signing.cose import Sign1, encode_protected_header, encode_sig_structure
from vacr.signing.keys import (
    KeySigner,
    compute_thumbprint,
    encode_private_pem,
    encode_public_pem,
    generate_key,
)
from vacr.signing.statement import sign
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.verifying import verify

HERE = Path(__file__).parent
PYTHON = HERE / ".venv" / "bin" / "python"
PAYLOAD = b'{"content":"signed"}'
NOW = datetime(2026, 11, 15, tzinfo=UTC)
PEERS = ("auth0", "transmute", "pycose", "cwt", "scitt_cose")
NO_DETACHED = ("auth0", "cwt", "scitt_cose")
"""Peers that verify detached payloads but do not create them."""


@pytest.fixture(scope="module", params=["eddsa", "es256"])
def signer(request):
    return KeySigner(generate_key(request.param))


def find_peer_command(peer):
    if peer in ("auth0", "transmute", "jose"):
        if not shutil.which("node") or not (HERE / "node_modules").is_dir():
            pytest.skip("node or its packages are not installed: make peers")
        return ["node", "peer.mjs"]
    if not PYTHON.exists():
        pytest.skip("the other Python libraries are not installed: make peers")
    return [PYTHON, "peer.py"]


def ask_peer(peer, op, signer, **more):
    """Run an operation of another library, and return its answer: a result or an error."""
    if peer == "transmute" and signer.algorithm != -7:
        pytest.skip("transmute signs with ES256 only")
    key = (
        encode_private_pem(signer.key)
        if op in ("sign", "issue")
        else encode_public_pem(signer.public_key)
    )
    algorithm = {-8: "EdDSA", -7: "ES256", -35: "ES384"}[signer.algorithm]
    request = {
        "peer": peer,
        "op": op,
        "alg": algorithm,
        "key": key.decode(),
        "kid": compute_thumbprint(signer.public_key).hex(),
    }
    done = subprocess.run(
        find_peer_command(peer),
        input=json.dumps(request | more),
        cwd=HERE,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout) if done.stdout else {"error": done.stderr}


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("profile", ["attached", "detached", "hash-envelope"])
def test_peers_verify_our_statements(peer, signer, profile):
    statement = sign(PAYLOAD, signer, profile=profile)
    detached = {"detached": PAYLOAD.hex()} if profile == "detached" else {}
    assert ask_peer(peer, "verify", signer, statement=statement.hex(), **detached) == {
        "result": True
    }
    broken = statement[:-1] + bytes([statement[-1] ^ 1])
    assert "error" in ask_peer(peer, "verify", signer, statement=broken.hex(), **detached)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("form", ["attached", "detached"])
def test_we_verify_statements_of_peers(peer, signer, form):
    answer = ask_peer(peer, "sign", signer, payload=PAYLOAD.hex(), form=form)
    assert "result" in answer, answer
    statement = bytes.fromhex(answer["result"])
    if form == "detached" and peer in NO_DETACHED:
        statement = remove_payload(statement)
    policy = Policy(keys=(signer.public_key,))
    assert verify(statement, policy, payload=PAYLOAD, now=NOW).payload == PAYLOAD
    with pytest.raises(VerificationFailed):
        verify(statement, policy, payload=PAYLOAD + b" ", now=NOW)


def remove_payload(statement):
    """Return a message without its payload."""
    parts = list(cbor2.loads(statement).value)
    return cbor2.dumps(cbor2.CBORTag(18, [*parts[:2], None, parts[3]]))


def test_statement_in_the_form_of_the_draft_verifies():
    """The draft uses EdDSA, a detached payload, and a header with algorithm and content type."""
    signer = KeySigner(generate_key("eddsa"))
    head = encode_protected_header({1: -8, 3: "application/json"})
    statement = Sign1(head, {}, {}, None, signer.sign(encode_sig_structure(head, PAYLOAD))).encode()
    verified = verify(statement, Policy(keys=(signer.public_key,)), payload=PAYLOAD, now=NOW)
    assert (verified.profile, verified.issuer) == ("detached", None)
    assert ask_peer(
        "pycose", "verify", signer, statement=statement.hex(), detached=PAYLOAD.hex()
    ) == {"result": True}

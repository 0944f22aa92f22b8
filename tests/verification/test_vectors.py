"""Every vector in tests/vectors gets the verdict that its manifest names."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from vacr.signing.cose import ALGORITHM_NUMBERS
from vacr.signing.keys import parse_public_keys
from vacr.signing.statement import parse_pem_certificates
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.trust_store_file import parse_trust_store
from vacr.verification.verifying import verify

FOLDER = Path(__file__).parents[1] / "vectors"
MANIFEST = json.loads((FOLDER / "manifest.json").read_text())


def read(name):
    return (FOLDER / "files" / name).read_bytes()


def build_policy(asked):
    trusted, roots = [], []
    for name in asked["trust"]:
        data = read(name)
        if b"CERTIFICATE" in data:
            roots += parse_pem_certificates(data)
        else:
            trusted += parse_public_keys(data)
    more = {
        name: value
        for name, value in asked.items()
        if name not in ("trust", "algorithms", "timestamp_trust", "log_trust", "trust_store")
    }
    if "algorithms" in asked:
        more["algorithms"] = frozenset(
            ALGORITHM_NUMBERS[name.lower()] for name in asked["algorithms"]
        )
    times = [
        certificate
        for name in asked.get("timestamp_trust", ())
        for certificate in parse_pem_certificates(read(name))
    ]
    if "trust_store" in asked:
        name = asked["trust_store"]
        more["trust_store"] = parse_trust_store(read(name), name)
    logs = [key for name in asked.get("log_trust", ()) for key in parse_public_keys(read(name))]
    return Policy(
        keys=tuple(trusted),
        roots=tuple(roots),
        timestamp_roots=tuple(times),
        log_keys=tuple(logs),
        **more,
    )


@pytest.mark.parametrize("vector", MANIFEST["vectors"], ids=lambda vector: vector["name"])
def test_vector_gets_its_verdict(vector):
    assert find_verdict(vector) == vector["verdict"]


def find_verdict(vector):
    payload = read(vector["payload"]) if "payload" in vector else None
    now = datetime.fromisoformat(MANIFEST["now"])
    try:
        verify(read(vector["statement"]), build_policy(vector["policy"]), payload=payload, now=now)
    except VerificationFailed as error:
        return error.reason if error.checks[-1].outcome == "failed" else "no failed check"
    return "verified"


def test_vector_names_are_unique():
    names = [vector["name"] for vector in MANIFEST["vectors"]]
    assert len(names) == len(set(names))
    assert len([name for name in names if "valid" in name]) < len(names) / 4

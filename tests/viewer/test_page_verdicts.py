"""The page comes to the same verdicts as Python, for every vector."""

import base64
import json
from dataclasses import replace
from datetime import datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ed448

from tests.conftest import ROOT
from tests.viewer.in_node import NEEDS_NODE, Viewer
from vacr.errors import InvalidStatement
from vacr.record.cbor import encode_deterministic_cbor
from vacr.signing.cose import HEADER_KCCS, parse_sign1
from vacr.signing.keys import build_cose_key, generate_key, parse_public_keys
from vacr.signing.statement import build_kccs
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.verifying import verify

pytestmark = [pytest.mark.component, NEEDS_NODE]

FILES = ROOT / "tests" / "vectors" / "files"
MANIFEST = json.loads((ROOT / "tests" / "vectors" / "manifest.json").read_text())
PYTHON_ONLY = (
    "issuer",
    "subject",
    "algorithms",
    "extended_key_usage",
    "needs_timestamp",
    "timestamp_trust",
    "lenient_receipts",
)
"""Policy members that a page does not support."""


NOW = datetime.fromisoformat(MANIFEST["now"])


@pytest.fixture(scope="module")
def viewer():
    process = Viewer(NOW.timestamp())
    yield process
    process.close()


@pytest.fixture(scope="module")
def old_viewer():
    """Yield a viewer in a browser without Ed25519."""
    process = Viewer(NOW.timestamp(), "without-ed25519")
    yield process
    process.close()


def encode_keys(names):
    """Encode public keys for a page, without certificates."""
    keys = []
    for name in names:
        data = (FILES / name).read_bytes()
        if b"BEGIN CERTIFICATE" not in data:
            keys += [
                base64.b64encode(encode_deterministic_cbor(build_cose_key(key))).decode()
                for key in parse_public_keys(data)
            ]
    return keys


def read_payload(vector, statement):
    if "payload" in vector:
        return (FILES / vector["payload"]).read_bytes()
    try:
        return parse_sign1(statement).payload or b""
    except InvalidStatement:
        return b""


def compute_verdict(viewer, vector):
    """Return the verdict of the page about a vector."""
    statement = (FILES / vector["statement"]).read_bytes()
    policy = vector["policy"]
    replies = viewer.open_records(
        read_payload(vector, statement),
        statements=[statement],
        keys=encode_keys(policy["trust"]),
        logKeys=encode_keys(policy.get("log_trust", ())),
        roots=any(b"BEGIN CERTIFICATE" in (FILES / name).read_bytes() for name in policy["trust"]),
        entryRule=policy.get("entry_rule", "statement"),
    )
    (verdict,) = replies["verdicts"]["verdicts"]
    return verdict


def concerns_pages(vector):
    return not any(name in vector["policy"] for name in PYTHON_ONLY)


VECTORS = {vector["name"]: vector for vector in MANIFEST["vectors"] if concerns_pages(vector)}
EQUIVALENT_REASONS = {
    "signature-range": "signature",
    "receipt-signature-range": "receipt-signature",
    "alg-key": "untrusted",
    "payload-missing": (
        "signature",
        "content-mismatch",
        "trusted",
    ),  # a page always contains a record, here an empty one
    "no-trust": "not-here",
    "kccs-malformed": "kccs-mismatch",
}
"""Reasons of Python, and the reason or state of the page that means the same."""


@pytest.mark.parametrize("name", VECTORS)
def test_verdicts_agree_with_python(viewer, name):
    vector = VECTORS[name]
    verdict = compute_verdict(viewer, vector)
    actual, expected = verdict.get("reason", verdict["state"]), vector["verdict"]
    undecided = {
        check["name"] for check in verdict["checks"] if check["outcome"] == "not decidable"
    }
    certified = any(
        b"BEGIN CERTIFICATE" in (FILES / file).read_bytes() for file in vector["policy"]["trust"]
    )
    if actual in (expected, *_list_equivalents(expected)):
        return
    if expected == "verified":
        assert actual == "trusted" or undecided & {"trust", "signature"}
    elif certified:
        assert actual in ("carried", "not-here"), (
            "the page does not follow certificates, so it must not say verified"
        )
        assert undecided & {"trust", "signature"}
    else:
        assert expected.startswith("metadata")
        assert "metadata" in undecided


def _list_equivalents(expected):
    reasons = EQUIVALENT_REASONS.get(expected, ())
    return reasons if isinstance(reasons, tuple) else (reasons,)


def test_record_is_never_verified_without_a_trusted_key(viewer):
    for name, vector in VECTORS.items():
        without_trust = {**vector, "policy": {**vector["policy"], "trust": []}}
        assert compute_verdict(viewer, without_trust)["state"] != "trusted", name


@pytest.mark.parametrize(
    "vector",
    [
        vector
        for vector in VECTORS.values()
        if vector["verdict"] == "verified" and "payload" in vector
    ][:6],
    ids=lambda vector: vector["name"],
)
def test_changed_byte_in_the_record_fails(viewer, vector):
    statement, payload = (
        (FILES / vector["statement"]).read_bytes(),
        bytearray((FILES / vector["payload"]).read_bytes()),
    )
    payload[len(payload) // 2] ^= 1
    replies = viewer.open_records(
        bytes(payload), statements=[statement], keys=encode_keys(vector["policy"]["trust"])
    )
    assert replies["verdicts"]["verdicts"][0]["state"] == "failed"


@pytest.mark.parametrize("name", [name for name in VECTORS if "eddsa" in name or "ed25519" in name])
def test_browsers_without_ed25519_come_to_the_same_verdict(viewer, old_viewer, name):
    verdicts = [compute_verdict(process, VECTORS[name]) for process in (viewer, old_viewer)]
    assert verdicts[0]["state"] == verdicts[1]["state"]
    assert verdicts[0].get("reason") == verdicts[1].get("reason")


OTHER_KEYS = {
    "ed448": ed448.Ed448PrivateKey.generate().public_key(),
    **{kind: generate_key(kind).public_key() for kind in ("eddsa", "es384", "ps256")},
}


@pytest.mark.parametrize("kind", OTHER_KEYS)
@pytest.mark.parametrize("name", ["valid-eddsa", "valid-es256"])
def test_statement_with_another_key_fails_in_page_and_python(viewer, name, kind):
    vector = VECTORS[name]
    message = parse_sign1((FILES / vector["statement"]).read_bytes())
    other = {**message.unprotected, HEADER_KCCS: build_kccs(OTHER_KEYS[kind])}
    statement = replace(message, unprotected=other).encode()
    payload = read_payload(vector, statement)
    trusted = [
        key
        for file in vector["policy"]["trust"]
        for key in parse_public_keys((FILES / file).read_bytes())
    ]
    with pytest.raises(VerificationFailed, match="a different key than its signer"):
        verify(statement, Policy(keys=tuple(trusted)), payload=payload, now=NOW)
    replies = viewer.open_records(
        payload, statements=[statement], keys=encode_keys(vector["policy"]["trust"])
    )
    assert replies["verdicts"]["verdicts"][0]["reason"] == "kccs-mismatch"


@pytest.mark.parametrize("name", ["valid-eddsa", "valid-es256", "receipt-valid"])
def test_python_verifies_all_that_the_page_verifies(viewer, name):
    """Change each byte of a statement. Changes of unsigned parts are harmless, and page and Python
    must agree about them.
    """
    vector = VECTORS[name]
    statement = (FILES / vector["statement"]).read_bytes()
    payload = read_payload(vector, statement)
    trusted, logs = (
        [
            key
            for file in vector["policy"].get(which, ())
            for key in parse_public_keys((FILES / file).read_bytes())
        ]
        for which in ("trust", "log_trust")
    )
    policy = Policy(keys=tuple(trusted), log_keys=tuple(logs))
    refused = 0
    for at in range(len(statement)):
        changed = bytearray(statement)
        changed[at] ^= 1 << (at % 8)
        replies = viewer.open_records(
            payload,
            statements=[bytes(changed)],
            keys=encode_keys(vector["policy"]["trust"]),
            logKeys=encode_keys(vector["policy"].get("log_trust", ())),
        )
        (verdict,) = replies["verdicts"]["verdicts"]
        if verdict["state"] == "trusted":
            verify(bytes(changed), policy, payload=payload, now=NOW)
        refused += verdict["state"] != "trusted"
    assert refused > len(statement) * 0.9

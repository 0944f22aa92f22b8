"""The page verifies as Python does: the shipped viewer, over the vectors."""

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
from vacr.verification.trust import Policy, VerificationFailed
from vacr.verification.verifying import verify

pytestmark = [pytest.mark.component, NEEDS_NODE]

FILES = ROOT / "tests" / "vectors" / "files"
MANIFEST = json.loads((ROOT / "tests" / "vectors" / "manifest.json").read_text())
ELSEWHERE = (
    "issuer",
    "subject",
    "algorithms",
    "extended_key_usage",
    "needs_timestamp",
    "timestamp_trust",
    "lenient_receipts",
)
"""What a page is never asked for."""


NOW = datetime.fromisoformat(MANIFEST["now"])


@pytest.fixture(scope="module")
def viewer():
    found = Viewer(NOW.timestamp())
    yield found
    found.close()


@pytest.fixture(scope="module")
def older():
    """A browser without Ed25519."""
    found = Viewer(NOW.timestamp(), "without-ed25519")
    yield found
    found.close()


def written(names):
    """Write public keys as a page has them; certificates are told, and not followed."""
    found = []
    for name in names:
        data = (FILES / name).read_bytes()
        if b"BEGIN CERTIFICATE" not in data:
            found += [
                base64.b64encode(encode_deterministic_cbor(build_cose_key(one))).decode()
                for one in parse_public_keys(data)
            ]
    return found


def payload_of(vector, statement):
    if "payload" in vector:
        return (FILES / vector["payload"]).read_bytes()
    try:
        return parse_sign1(statement).payload or b""
    except InvalidStatement:
        return b""


def verdict_of(viewer, vector):
    """Give the reason for which the page refuses a statement, or how it takes it."""
    statement = (FILES / vector["statement"]).read_bytes()
    policy = vector["policy"]
    told = viewer.opened(
        payload_of(vector, statement),
        statements=[statement],
        keys=written(policy["trust"]),
        logKeys=written(policy.get("log_trust", ())),
        roots=any(b"BEGIN CERTIFICATE" in (FILES / name).read_bytes() for name in policy["trust"]),
        entryRule=policy.get("entry_rule", "statement"),
    )
    (verdict,) = told["verdicts"]["verdicts"]
    return verdict


def asked_of_pages(vector):
    return not any(name in vector["policy"] for name in ELSEWHERE)


VECTORS = {vector["name"]: vector for vector in MANIFEST["vectors"] if asked_of_pages(vector)}
SAME = {
    "signature-range": "signature",
    "receipt-signature-range": "receipt-signature",
    "alg-key": "untrusted",
    "payload-missing": (
        "signature",
        "content-mismatch",
        "trusted",
    ),  # a page always holds bytes, here none
    "no-trust": "not-here",
    "kccs-malformed": "kccs-mismatch",
}
"""Reasons that the page tells in other words."""


@pytest.mark.parametrize("name", VECTORS)
def test_verdicts_are_those_of_python(viewer, name):
    vector = VECTORS[name]
    verdict = verdict_of(viewer, vector)
    found, expected = verdict.get("reason", verdict["state"]), vector["verdict"]
    undecided = {
        check["name"] for check in verdict["checks"] if check["outcome"] == "not decidable"
    }
    certified = any(
        b"BEGIN CERTIFICATE" in (FILES / one).read_bytes() for one in vector["policy"]["trust"]
    )
    if found in (expected, *_also(expected)):
        return
    if expected == "verified":
        assert found == "trusted" or undecided & {"trust", "signature"}
    elif certified:
        assert found in ("carried", "not-here"), (
            "a chain is not followed here: it must not be called verified"
        )
        assert undecided & {"trust", "signature"}
    else:
        assert expected.startswith("metadata")
        assert "metadata" in undecided


def _also(expected):
    found = SAME.get(expected, ())
    return found if isinstance(found, tuple) else (found,)


def test_nothing_is_called_verified_without_a_key_that_was_named(viewer):
    for name, vector in VECTORS.items():
        trusting_nobody = {**vector, "policy": {**vector["policy"], "trust": []}}
        assert verdict_of(viewer, trusting_nobody)["state"] != "trusted", name


@pytest.mark.parametrize(
    "vector",
    [one for one in VECTORS.values() if one["verdict"] == "verified" and "payload" in one][:6],
    ids=lambda one: one["name"],
)
def test_a_changed_byte_of_the_record_fails(viewer, vector):
    statement, payload = (
        (FILES / vector["statement"]).read_bytes(),
        bytearray((FILES / vector["payload"]).read_bytes()),
    )
    payload[len(payload) // 2] ^= 1
    told = viewer.opened(
        bytes(payload), statements=[statement], keys=written(vector["policy"]["trust"])
    )
    assert told["verdicts"]["verdicts"][0]["state"] == "failed"


@pytest.mark.parametrize("name", [name for name in VECTORS if "eddsa" in name or "ed25519" in name])
def test_browsers_without_ed25519_come_to_the_same_verdict(viewer, older, name):
    found = [
        (one["state"], one.get("reason"))
        for one in (verdict_of(each, VECTORS[name]) for each in (viewer, older))
    ]
    assert found[0] == found[1]


OTHERS = {
    "ed448": ed448.Ed448PrivateKey.generate().public_key(),
    **{kind: generate_key(kind).public_key() for kind in ("eddsa", "es384", "ps256")},
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("name", ["valid-eddsa", "valid-es256"])
def test_a_statement_that_carries_another_key_is_refused_by_both(viewer, name, kind):
    vector = VECTORS[name]
    message = parse_sign1((FILES / vector["statement"]).read_bytes())
    other = {**message.unprotected, HEADER_KCCS: build_kccs(OTHERS[kind])}
    statement = replace(message, unprotected=other).encode()
    payload = payload_of(vector, statement)
    trusted = [
        key
        for one in vector["policy"]["trust"]
        for key in parse_public_keys((FILES / one).read_bytes())
    ]
    with pytest.raises(VerificationFailed, match="another key"):
        verify(statement, Policy(keys=tuple(trusted)), payload=payload, now=NOW)
    told = viewer.opened(payload, statements=[statement], keys=written(vector["policy"]["trust"]))
    assert told["verdicts"]["verdicts"][0]["reason"] == "kccs-mismatch"


@pytest.mark.parametrize("name", ["valid-eddsa", "valid-es256", "receipt-valid"])
def test_what_the_page_calls_verified_python_does_too(viewer, name):
    """Change every byte of a statement: some changes are of what nobody signed, and both have to
    agree which.
    """
    vector = VECTORS[name]
    statement = (FILES / vector["statement"]).read_bytes()
    payload = payload_of(vector, statement)
    trusted, logs = (
        [
            key
            for one in vector["policy"].get(which, ())
            for key in parse_public_keys((FILES / one).read_bytes())
        ]
        for which in ("trust", "log_trust")
    )
    policy = Policy(keys=tuple(trusted), log_keys=tuple(logs))
    refused = 0
    for at in range(len(statement)):
        changed = bytearray(statement)
        changed[at] ^= 1 << (at % 8)
        told = viewer.opened(
            payload,
            statements=[bytes(changed)],
            keys=written(vector["policy"]["trust"]),
            logKeys=written(vector["policy"].get("log_trust", ())),
        )
        (verdict,) = told["verdicts"]["verdicts"]
        if verdict["state"] == "trusted":
            verify(bytes(changed), policy, payload=payload, now=NOW)
        refused += verdict["state"] != "trusted"
    assert refused > len(statement) * 0.9

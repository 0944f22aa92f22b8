"""The page comes to the same verdicts as Python, for every vector."""

import base64
import hashlib
import json
from dataclasses import replace
from datetime import datetime, timedelta

import cbor2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed448, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from tests.conftest import ROOT
from tests.transparency.ccf_ledger import CcfLedger
from tests.transparency.witnessed import Cosigner, WitnessedLog, build_store
from tests.viewer.in_node import NEEDS_NODE, Viewer
from vacr.errors import InvalidStatement
from vacr.record.cbor import encode_deterministic_cbor
from vacr.signing.cose import ALG_PS256, HEADER_KCCS, encode_sig_structure, parse_sign1
from vacr.signing.keys import KeySigner, build_cose_key, generate_key, parse_public_keys
from vacr.signing.statement import StatementClaims, build_kccs, sign
from vacr.transparency.receipt import add_receipt
from vacr.transparency.tlog_proof import add_tlog_proof
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.trust_store import (
    ROLE_LOG,
    ROLE_SIGNER,
    ROLE_VERIFIER,
    ROLE_WITNESS,
    TrustedParty,
    TrustStore,
    combine_trust_stores,
)
from vacr.verification.trust_store_file import parse_trust_store
from vacr.verification.verifying import verify
from vacr.viewer.page import _describe_party
from vacr.workflows.page_trust import list_page_parties

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
    "needs_receipt",
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
            keys += [encode_key(key) for key in parse_public_keys(data)]
    return keys


def encode_key(key):
    return base64.b64encode(encode_deterministic_cbor(build_cose_key(key))).decode()


def describe_store(policy):
    """Return the parties of a vector's trust store, as a page describes them."""
    store = TrustStore()
    if "trust_store" in policy:
        store = parse_trust_store((FILES / policy["trust_store"]).read_bytes(), "")
    return describe_parties(store)


def describe_parties(store):
    return {
        "parties": list(map(_describe_party, list_page_parties(store, ROLE_SIGNER))),
        "logs": list(map(_describe_party, list_page_parties(store, ROLE_LOG))),
        "witnesses": list(map(_describe_party, list_page_parties(store, ROLE_WITNESS))),
        "witnessesRequired": store.witnesses_required,
    }


def trusts_certificates(policy):
    files = [*policy["trust"], *([policy["trust_store"]] if "trust_store" in policy else [])]
    return any(b"BEGIN CERTIFICATE" in (FILES / name).read_bytes() for name in files)


def read_payload(vector, statement):
    if "payload" in vector:
        return (FILES / vector["payload"]).read_bytes()
    try:
        return parse_sign1(statement).payload or b""
    except InvalidStatement:
        return b""


def compute_verdict(viewer, vector, **island):
    """Return the verdict of the page about a vector."""
    statement = (FILES / vector["statement"]).read_bytes()
    policy = vector["policy"]
    replies = viewer.open_records(
        read_payload(vector, statement),
        statements=[statement],
        keys=encode_keys(policy["trust"]),
        logKeys=encode_keys(policy.get("log_trust", ())),
        roots=trusts_certificates(policy),
        entryRule=policy.get("entry_rule", "statement"),
        **describe_store(policy),
        **island,
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
    "role": ("signature", "untrusted"),  # a page has only the keys of signers
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
    certified = trusts_certificates(vector["policy"])
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


@pytest.mark.parametrize("kind", ["eddsa", "es256", "es384", "es512", "ps256"])
def test_forged_receipt_with_the_fingerprint_of_a_trusted_key_fails(viewer, kind):
    signer = KeySigner(generate_key("eddsa"))
    trusted, forger = CcfLedger(kind=kind), CcfLedger(kind="es256")
    statement = sign(b"{}", signer, profile="attached")
    index = forger.add(statement)
    forger.fill(1)
    receipt = forger.receipt(index, header={**forger.header(), 4: trusted.kid})
    (verdict,) = viewer.open_records(
        b"{}",
        statements=[add_receipt(statement, receipt)],
        keys=[encode_key(signer.public_key)],
        logKeys=[encode_key(trusted.key)],
        roots=False,
        entryRule="statement",
    )["verdicts"]["verdicts"]
    assert verdict["reason"] in ("receipt-signature", "receipt-alg-key")


@pytest.mark.parametrize("form", ["untagged", "unprotected"])
def test_malformed_receipt_of_another_log_fails(viewer, form):
    signer, trusted, other = KeySigner(generate_key("eddsa")), CcfLedger(), CcfLedger()
    statement = sign(b"{}", signer)
    receipts = []
    for ledger in (trusted, other):
        index = ledger.add(statement)
        ledger.fill(1)
        receipts.append(ledger.receipt(index))
    message = parse_sign1(receipts[1], frozenset())
    if form == "untagged":
        malformed = replace(message, tagged=False)
    else:
        headers = {label: value for label, value in message.protected.items() if label != 1}
        malformed = replace(
            message,
            protected_bytes=cbor2.dumps(headers),
            unprotected={**message.unprotected, 1: message.protected[1]},
        )
    unprotected = {394: [receipts[0], malformed.encode()]}
    statement = replace(parse_sign1(statement), unprotected=unprotected).encode()
    policy = Policy(keys=(signer.public_key,), log_keys=(trusted.key,))
    with pytest.raises(VerificationFailed) as refusal:
        verify(statement, policy, payload=b"{}", now=NOW)
    assert refusal.value.reason == f"receipt-{form}"
    (verdict,) = viewer.open_records(
        b"{}",
        statements=[statement],
        keys=[encode_key(signer.public_key)],
        logKeys=[encode_key(trusted.key)],
    )["verdicts"]["verdicts"]
    assert verdict["reason"] == f"receipt-{form}"


@pytest.mark.parametrize("shared", ["note key", "another key"])
def test_log_with_a_bare_key_cannot_be_its_own_witness(viewer, shared):
    signer, log, cosigner = KeySigner(generate_key("eddsa")), WitnessedLog(), Cosigner("w.example")
    statement = sign(b"{}", signer, profile="attached")
    witnessed = add_tlog_proof(statement, log.proof(statement, cosigner), [log.vkey])
    log.fill(1)
    witnessed = add_receipt(witnessed, log.receipt(statement))
    store = build_store(log, [cosigner], 1)
    own = cosigner.key.public_key() if shared == "note key" else generate_key("eddsa").public_key()
    [example, witness] = store.parties
    if shared == "another key":
        witness = replace(witness, roles=(ROLE_WITNESS, ROLE_VERIFIER), keys=(own,))
        store = replace(store, parties=(example, witness))
    reasons = []
    for bare in ([log.key], [log.key, own]):
        policy = Policy((signer.public_key,), trust_store=store, log_keys=tuple(bare))
        try:
            verify(witnessed, policy, payload=b"{}", now=NOW)
            reasons.append(None)
        except VerificationFailed as error:
            reasons.append(error.reason)
        (verdict,) = viewer.open_records(
            b"{}",
            statements=[witnessed],
            keys=[encode_key(signer.public_key)],
            logKeys=list(map(encode_key, bare)),
            **describe_parties(store),
        )["verdicts"]["verdicts"]
        assert verdict.get("reason") == reasons[-1]
    assert reasons == [None, "witness-too-few"]


def test_page_names_the_signer(viewer):
    verdict = compute_verdict(viewer, VECTORS["store-valid"])
    assert (verdict["state"], verdict["party"]) == ("trusted", "Alice")
    bare = {**VECTORS["store-valid"], "policy": {"trust": ["store-alice.pub.pem"]}}
    verdict = compute_verdict(viewer, bare)
    assert (verdict["state"], "party" in verdict) == ("trusted", False)


def find_check(verdict, name):
    return next(check for check in verdict["checks"] if check["name"] == name)


def test_page_passes_only_a_bound_issuer(viewer):
    unbound = compute_verdict(viewer, VECTORS["store-valid-issuer-unbound-and-not-required"])
    assert find_check(unbound, "claims")["outcome"] == "not decidable"
    [vector] = [vector for vector in MANIFEST["vectors"] if vector["name"] == "store-valid-issuer"]
    bound = compute_verdict(viewer, vector)
    assert (find_check(bound, "claims")["outcome"], bound["issuerBound"]) == ("passed", True)
    bare = compute_verdict(viewer, VECTORS["valid-eddsa"])
    assert find_check(bare, "claims")["outcome"] == "not decidable"


@pytest.mark.parametrize(
    "issuer",
    [
        "https://example.org/mallory",
        "ni:///sha-256;7u1fLu",
        "x, in a log since 2020-01-01T00:00:00Z",
        'x"; bound to Alice',
        "x\u3164y",
        "\u2713",
        "\U0001f5f8",
    ],
)
def test_page_and_python_quote_a_claimed_issuer_of_several_words(viewer, issuer):
    signer = KeySigner(generate_key("eddsa"))
    statement = sign(b"{}", signer, claims=StatementClaims(issuer=issuer))
    [verdict] = viewer.open_records(b"{}", statements=[statement])["verdicts"]["verdicts"]
    checked = verify(statement, Policy(keys=(signer.public_key,)), payload=b"{}", now=NOW)
    [finding] = [check.finding for check in checked.checks if check.name == "claims"]
    assert find_check(verdict, "claims")["told"] == finding
    is_one_word = issuer[:1] in ("h", "n")
    assert (f"the issuer {issuer};" in finding) == is_one_word, finding


def test_names_of_a_default_store_refuse_no_stranger(viewer):
    """A statement of a stranger carries its key: the page says whose key it is not, and no more."""
    signer = KeySigner(generate_key("eddsa"))
    statement = sign(b"{}", signer)
    store = describe_store(VECTORS["store-valid"]["policy"])
    states = [
        viewer.open_records(b"{}", statements=[statement], namesOnly=names_only, **store)[
            "verdicts"
        ]["verdicts"][0]["state"]
        for names_only in (True, False)
    ]
    assert states == ["carried", "failed"]


def test_page_cannot_judge_a_limited_party_by_a_timestamp(viewer):
    vector = VECTORS["store-party-expired"]
    message = parse_sign1((FILES / vector["statement"]).read_bytes())
    stamped = replace(message, unprotected={270: b"a token"}).encode()
    payload = read_payload(vector, stamped)
    for timestamps, state in ((True, "carried"), (False, "failed")):
        replies = viewer.open_records(
            payload,
            statements=[stamped],
            timestamps=timestamps,
            **describe_store(vector["policy"]),
        )
        assert replies["verdicts"]["verdicts"][0]["state"] == state


def test_record_is_never_verified_without_a_trusted_key(viewer):
    for name, vector in VECTORS.items():
        policy = {**vector["policy"], "trust": []}
        policy.pop("trust_store", None)
        without_trust = {**vector, "policy": policy}
        assert compute_verdict(viewer, without_trust)["state"] != "trusted", name


def test_app_tells_its_reader_and_a_page_its_author_who_trusts(viewer):
    """All other words of the checks are the same."""
    tellings = set()
    for vector in VECTORS.values():
        in_page, in_app = (
            [check["told"] for check in compute_verdict(viewer, vector, app=app)["checks"]]
            for app in (False, True)
        )
        assert not any("author" in told for told in in_app)
        assert in_app == [
            told.replace("the author of this page trusts", "you trust").replace(
                "the author of this page requires", "you require"
            )
            for told in in_page
        ]
        tellings.update(told for told in in_app if "you " in told)
    assert {"you trust the key", "not checked: you require no witnesses"} <= tellings
    assert any(told.endswith("a name that you trust") for told in tellings)


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


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in VECTORS
        if "eddsa" in name or "ed25519" in name or name.startswith("witness-")
    ],
)
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


@pytest.mark.parametrize("name", ["valid-eddsa", "valid-es256", "receipt-valid", "witness-valid"])
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
    store = None
    if "trust_store" in vector["policy"]:
        store = parse_trust_store((FILES / vector["policy"]["trust_store"]).read_bytes(), "")
    policy = Policy(keys=tuple(trusted), log_keys=tuple(logs), trust_store=store)
    refused = 0
    for at in range(len(statement)):
        changed = bytearray(statement)
        changed[at] ^= 1 << (at % 8)
        replies = viewer.open_records(
            payload,
            statements=[bytes(changed)],
            keys=encode_keys(vector["policy"]["trust"]),
            logKeys=encode_keys(vector["policy"].get("log_trust", ())),
            **describe_store(vector["policy"]),
        )
        (verdict,) = replies["verdicts"]["verdicts"]
        if verdict["state"] == "trusted":
            verify(bytes(changed), policy, payload=payload, now=NOW)
        refused += verdict["state"] != "trusted"
    assert refused > len(statement) * 0.9


def make_certificate(signer):
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Mallory")])
    period = NOW - timedelta(days=1), NOW + timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, signer.public_key, 7, *period)
    return builder.sign(signer.key, None).public_bytes(Encoding.DER)


SIGNER = KeySigner(generate_key("eddsa"))
CERTIFICATE = make_certificate(SIGNER)
CERTIFICATE_HASH = hashlib.sha256(CERTIFICATE).digest()
EQUAL_KEYS = {
    "large numbers": "a2 1b1000000000000000 01 fb43b0000000000000 02",
    "arrays": "a2 8101 01 81f93c00 02",
    "tags": "a2 c501 01 c5f5 02",
    "maps": "a2 a2 01 02 03 04 01 a2 03 04 f5 02 02",
}
HOSTILE_HEADERS = {
    "claims are null": {15: None},
    "claims are undefined": {15: cbor2.undefined},
    "kccs is null": {14: None},
    "x5chain is null": {33: None},
    "x5chain is empty": {33: []},
    "x5chain is too long": {33: [CERTIFICATE] * 17},
    "second certificate is a number": {33: [CERTIFICATE, 1]},
    "second certificate is cut off": {33: [CERTIFICATE, CERTIFICATE[:-1]]},
    "hash of the certificate has a text as algorithm": {
        33: CERTIFICATE,
        34: ["-16", CERTIFICATE_HASH],
    },
    "hash of the certificate is null": {33: CERTIFICATE, 34: None},
    "issuer is not a URI": {33: CERTIFICATE, 15: {1: "Mallory"}},
    "issuer has a space": {33: CERTIFICATE, 15: {1: "https://example.org/a b"}},
    "issuer has a malformed host": {33: CERTIFICATE, 15: {1: "https://[example.org]/"}},
    "issuer is missing": {33: CERTIFICATE, 15: {2: "a record"}},
    "hash algorithm is a text": {258: "-16"},
    "hash algorithm is a float": {258: -16.0},
    "hash algorithm is in a list": {258: [-16]},
}


@pytest.mark.parametrize("name", [*HOSTILE_HEADERS, *EQUAL_KEYS])
def test_page_refuses_signed_headers_that_python_refuses(viewer, name):
    """The signer is trusted, and the signature is valid: only the headers are wrong."""
    headers = {1: SIGNER.algorithm, **HOSTILE_HEADERS.get(name, {})}
    payload = hashlib.sha256(b"a file").digest() if 258 in headers else b"a file"
    protected = cbor2.dumps(headers)
    if name in EQUAL_KEYS:
        protected = b"\xa2" + protected[1:] + b"\x61x" + bytes.fromhex(EQUAL_KEYS[name])
    signature = SIGNER.sign(encode_sig_structure(protected, payload))
    statement = cbor2.dumps(cbor2.CBORTag(18, [protected, {}, payload, signature]))
    with pytest.raises(VerificationFailed) as refusal:
        verify(statement, Policy(keys=(SIGNER.public_key,)), payload=b"a file", now=NOW)
    replies = viewer.open_records(
        b"a file", statements=[statement], keys=[encode_key(SIGNER.public_key)]
    )
    (verdict,) = replies["verdicts"]["verdicts"]
    assert (verdict["state"], verdict["reason"]) == ("failed", refusal.value.reason)


@pytest.mark.parametrize("bits", [2047, 2048])
def test_page_trusts_no_rsa_key_that_python_finds_too_short(viewer, bits):
    key = rsa.generate_private_key(65537, bits)
    protected = cbor2.dumps({1: ALG_PS256})
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
    signature = key.sign(encode_sig_structure(protected, b"{}"), pss, hashes.SHA256())
    statement = cbor2.dumps(cbor2.CBORTag(18, [protected, {}, b"{}", signature]))
    policy = Policy(keys=(key.public_key(),))
    if bits < 2048:
        with pytest.raises(VerificationFailed):
            verify(statement, policy, payload=b"{}", now=NOW)
    else:
        verify(statement, policy, payload=b"{}", now=NOW)
    replies = viewer.open_records(
        b"{}", statements=[statement], keys=[encode_key(key.public_key())]
    )
    expected = "failed" if bits < 2048 else "trusted"
    assert replies["verdicts"]["verdicts"][0]["state"] == expected


def test_page_leaves_open_what_a_certificate_says(viewer):
    """The page reads the key in a certificate, and not its dates, for example."""
    statement = sign(
        b"{}",
        SIGNER,
        chain=[x509.load_der_x509_certificate(CERTIFICATE)],
        claims=StatementClaims(issuer="https://example.org"),
    )
    replies = viewer.open_records(
        b"{}", statements=[statement], keys=[encode_key(SIGNER.public_key)]
    )
    (verdict,) = replies["verdicts"]["verdicts"]
    assert verdict["state"] == "trusted"
    assert find_check(verdict, "certificate")["outcome"] == "not decidable"


def test_page_names_witnesses_and_marks_what_is_not_signed(viewer):
    verdict = compute_verdict(viewer, VECTORS["witness-valid"])
    checks = {check["name"]: check for check in verdict["checks"]}
    assert checks["witnesses"]["told"] == (
        "2 of 3 cosigned (Witness 1, Witness 2); entry 4 of 9 in Example log"
    )
    assert "entry" not in checks["receipt"]["told"]
    assert verdict["unsigned"] == ["the receipt names entry 4 of 5"]


def test_expired_witness_does_not_count_under_its_name_in_a_second_store(viewer):
    time = int(NOW.timestamp())
    log, witness, signer = WitnessedLog(), Cosigner("w.example"), KeySigner(generate_key("eddsa"))
    log.fill(2)
    statement = sign(b"{}", signer)
    proof = log.proof(statement, witness, time=time - 5)
    ended = {"valid_until": NOW - timedelta(days=1)}
    other = TrustedParty("Another name", (ROLE_WITNESS,), note_key=witness.vkey)
    store = combine_trust_stores(
        [build_store(log, [witness], 1, validity=ended), TrustStore((other,))]
    )
    statement = add_tlog_proof(statement, proof, [log.vkey])
    policy = Policy(keys=(signer.public_key,), trust_store=store)
    with pytest.raises(VerificationFailed, match="too few witnesses"):
        verify(statement, policy, payload=b"{}", now=NOW)
    replies = viewer.open_records(
        b"{}",
        statements=[statement],
        keys=[encode_key(signer.public_key)],
        **describe_parties(store),
    )
    assert replies["verdicts"]["verdicts"][0]["reason"] == "witness-too-few"


def test_default_store_requires_witnesses_only_of_signers_that_it_knows(viewer):
    vector = VECTORS["witness-missing"]
    assert compute_verdict(viewer, vector, namesOnly=True)["reason"] == "witness-missing"
    stranger = {**vector, "policy": {**vector["policy"], "trust": [], "log_trust": []}}
    verdict = compute_verdict(viewer, stranger, namesOnly=True)
    assert verdict.get("reason") is None

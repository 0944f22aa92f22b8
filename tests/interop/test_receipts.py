"""vacr and other implementations verify each other's receipts, for trees of many sizes."""

from datetime import UTC, datetime

import cbor2
import pytest

from tests.interop.test_peers import ask_peer
from tests.log.running import Running
from tests.transparency.logs import Log
from vacr.log.folder import create_log
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, encode_public_pem, generate_key, parse_public_keys
from vacr.signing.statement import sign
from vacr.transparency.receipt import (
    ENTRY_RULE_DIGEST,
    ENTRY_RULE_STATEMENT,
    add_receipt,
    build_log_entry,
)
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.verifying import verify

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SIZES = (2, 3, 4, 5, 7, 8, 9, 16, 33)
SIGNER = KeySigner(generate_key("es256"))
PAYLOADS = [b"%d" % number for number in range(max(SIZES))]
STATEMENTS = [sign(payload, SIGNER) for payload in PAYLOADS]
LOG_ENTRIES = [build_log_entry(parse_sign1(statement)) for statement in STATEMENTS]
PEERS = [
    ("transmute", "es256", ENTRY_RULE_STATEMENT),
    *(
        ("scitt_cose", kind, rule)
        for kind in ("es256", "eddsa")
        for rule in (ENTRY_RULE_STATEMENT, ENTRY_RULE_DIGEST)
    ),
]


def encode_entry(statement, rule):
    return build_log_entry(parse_sign1(statement), rule).hex()


def list_positions():
    """Return tree sizes, each with some positions in a tree of that size."""
    return [(size, index) for size in SIZES for index in sorted({0, 1, size // 2, size - 1})]


@pytest.mark.parametrize(("peer", "kind", "rule"), PEERS)
def test_peers_verify_our_receipts(peer, kind, rule):
    good, bad = [], []
    signer = KeySigner(generate_key(kind))
    for size in SIZES:
        log = Log(rule=rule, genesis=False)
        log.signer = signer
        for statement in STATEMENTS[:size]:
            log.add(statement)
        for index in sorted({0, 1, size // 2, size - 1}):
            statement = STATEMENTS[index]
            receipt = log.receipt(statement)
            good.append(add_receipt(statement, receipt))
            bad.append(add_receipt(STATEMENTS[index - 1], receipt))  # wrong entry
            bad.append(
                add_receipt(statement, log.head().inclusion(index ^ 1, log.path(index)))
            )  # wrong position
            bad.append(add_receipt(statement, receipt[:-1] + bytes([receipt[-1] ^ 1])))

    def check_receipts(statements):
        items = [
            {"statement": statement.hex(), "entry": encode_entry(statement, rule)}
            for statement in statements
        ]
        return ask_peer(peer, "check", signer, all=items)["result"]

    assert check_receipts(good) == [True] * len(good)
    assert [answer for answer in check_receipts(bad) if answer is True] == []
    policy = Policy(keys=(SIGNER.public_key,), log_keys=(signer.public_key,), entry_rule=rule)
    assert [find_verdict(statement, policy) for statement in good] == ["verified"] * len(good)
    assert "verified" not in [find_verdict(statement, policy) for statement in bad]


def find_verdict(statement, policy):
    """Return "verified", or the reason why verification failed."""
    payload = next(
        payload
        for payload, entry in zip(PAYLOADS, LOG_ENTRIES, strict=True)
        if entry == build_log_entry(parse_sign1(statement))
    )
    try:
        verify(statement, policy, payload=payload, now=NOW)
    except VerificationFailed as error:
        return error.reason
    return "verified"


@pytest.mark.parametrize(("peer", "kind", "rule"), PEERS)
def test_we_verify_receipts_of_peers(peer, kind, rule):
    signer = KeySigner(generate_key(kind))
    requests = []
    for size, index in list_positions():
        entries = [encode_entry(entry, rule) for entry in LOG_ENTRIES[:size]]
        requests.append(
            {
                "statements": [entry.hex() for entry in LOG_ENTRIES[:size]],
                "entries": entries,
                "index": index,
            }
        )
    answer = ask_peer(peer, "issue", signer, all=requests)
    assert "result" in answer, answer
    policy = Policy(keys=(SIGNER.public_key,), log_keys=(signer.public_key,), entry_rule=rule)
    for (size, index), statement in zip(list_positions(), answer["result"], strict=True):
        transparent = bytes.fromhex(statement)
        verified = verify(transparent, policy, payload=PAYLOADS[index], now=NOW)
        (logged,) = verified.receipts
        assert (logged.index, logged.size, logged.issuer) == (index, size, "https://log.example")
        (receipt,) = parse_sign1(transparent).unprotected[394]
        elsewhere = add_receipt(STATEMENTS[(index + 1) % size], receipt)
        assert find_verdict(elsewhere, policy) == "receipt-signature"
        assert find_verdict(
            add_receipt(STATEMENTS[index], move_receipt(receipt, index ^ 1)), policy
        ).startswith("receipt-")


def move_receipt(receipt, index):
    """Return the receipt with another position in the log."""
    protected, unprotected, payload, signature = cbor2.loads(receipt).value
    size, _, path = cbor2.loads(unprotected[396][-1][0])
    proof = cbor2.dumps([size, index, path])
    return cbor2.dumps(cbor2.CBORTag(18, [protected, {396: {-1: [proof]}}, payload, signature]))


@pytest.mark.parametrize("kind", ["es256", "eddsa"])
def test_scitt_cose_registers_and_verifies_the_receipt(tmp_path, kind):
    log, signer = create_log(str(tmp_path / "log")), KeySigner(generate_key(kind))
    (tmp_path / "signer.pem").write_bytes(encode_public_pem(signer.public_key))
    (log_key,) = parse_public_keys((log.path / "receipt-keys.pem").read_bytes())
    answer = ask_peer("scitt_cose", "sign", signer, payload=b"by scitt-cose".hex())
    statement = bytes.fromhex(answer["result"])
    with Running(log.path, "--trust", tmp_path / "signer.pem") as service:
        assert service.post(sign(b"first", signer))[0] == 201
        status, _, receipt = service.post(statement)
        assert status == 201
    transparent = add_receipt(statement, receipt)
    item = {"statement": transparent.hex(), "entry": encode_entry(statement, ENTRY_RULE_STATEMENT)}
    pem = encode_public_pem(log_key).decode()
    assert ask_peer("scitt_cose", "check", signer, key=pem, all=[item]) == {"result": [True]}
    policy = Policy(keys=(signer.public_key,), log_keys=(log_key,))
    verified = verify(transparent, policy, now=datetime.now(UTC))
    assert (verified.payload, verified.receipts[0].index) == (b"by scitt-cose", 2)

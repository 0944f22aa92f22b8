"""The packages ccf, pyscitt and scitt-cose accept the receipts of our test ledger, and so do we.

The ledger (tests/transparency/ccf_ledger.py) writes receipts in the profile of CCF. That others
accept them shows that our tests verify the right format.
"""

import json
import subprocess
from datetime import UTC, datetime

import cbor2
import pytest

from tests.interop.test_peers import HERE, ask_peer
from tests.interop.test_pyscitt import PYTHON
from tests.transparency.ccf_ledger import CcfLedger
from vacr.errors import InvalidStatement
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, encode_public_pem, generate_key
from vacr.signing.statement import sign
from vacr.transparency.receipt import ENTRY_RULE_DIGEST, add_receipt, build_log_entry
from vacr.verification.receipts import check_receipt

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SIGNER = KeySigner(generate_key("es256"))
SIZES = (1, 2, 3, 5, 8, 13)


def list_positions(count):
    return sorted({0, count // 2, count - 1})


def write_statement(number):
    """Return a statement as a log stores it: with an empty unprotected header."""
    return build_log_entry(parse_sign1(sign(b"%d" % number, SIGNER)))


def build_cases(ledger, **header):
    """Return statements with their transparent forms, and changed forms, of a growing ledger."""
    good, bad = [], []
    for count in SIZES:
        statements = [write_statement(number) for number in range(count)]
        ledger.transactions.clear()
        ledger.fill(2)
        positions = [ledger.add(statement) for statement in statements]
        ledger.fill(1)
        for number in list_positions(count):
            statement, index = statements[number], positions[number]
            receipt = ledger.receipt(index, header=ledger.header(**header))
            good.append((statement, add_receipt(statement, receipt)))
            elsewhere = ledger.receipt(0, header=ledger.header(**header))
            bad.append((statement, add_receipt(statement, elsewhere)))
            flipped = receipt[:-1] + bytes([receipt[-1] ^ 1])
            bad.append((statement, add_receipt(statement, flipped)))
            leaf, path = ledger.leaf(index), ledger.path(index)
            other_side = [[not path[0][0], path[0][1]], *path[1:]]
            proof = cbor2.dumps({1: leaf, 2: other_side})
            bad.append((statement, add_receipt(statement, ledger.receipt(index, proofs=[proof]))))
    return good, bad


def is_verified(statement, transparent, key):
    (receipt,) = parse_sign1(transparent).unprotected[394]
    try:
        verified = check_receipt(parse_sign1(statement), receipt, [key], NOW)
    except InvalidStatement:
        return False
    assert verified.transaction.startswith("2.")
    return True


@pytest.mark.parametrize("kind", ["es256", "es384", "es512"])
def test_ccf_and_pyscitt_agree_with_us(kind):
    if not PYTHON.exists():
        pytest.skip("pyscitt is not installed: make peers installs it with Python 3.12 or newer")
    ledger = CcfLedger(kind=kind)
    good, bad = build_cases(ledger)
    items = [
        {"statement": statement.hex(), "transparent": two.hex()} for statement, two in good + bad
    ]
    request = {"key": encode_public_pem(ledger.key).decode(), "all": items}
    done = subprocess.run(
        [PYTHON, HERE / "ccf_checks.py"], input=json.dumps(request), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for accepted, transaction in answers[: len(good)]:
        assert accepted is True, accepted
        assert isinstance(transaction, str), transaction
    assert [answer for answer in answers[len(good) :] if True in answer] == []
    assert all(is_verified(*case, ledger.key) for case in good)
    assert not any(is_verified(*case, ledger.key) for case in bad)


@pytest.mark.parametrize("kind", ["es256", "es384"])
@pytest.mark.parametrize("named", [True, False])
def test_scitt_cose_agrees_with_us(kind, named):
    ledger = CcfLedger(kind=kind)
    good, bad = build_cases(ledger, **({} if named else {"iss": None, "sub": None, "iat": None}))
    items = [
        {
            "statement": transparent.hex(),
            "entry": build_log_entry(parse_sign1(statement), ENTRY_RULE_DIGEST).hex(),
        }
        for statement, transparent in good + bad
    ]
    answers = ask_peer("scitt_cose", "check", ledger.signer, all=items)["result"]
    assert answers[: len(good)] == [True] * len(good)
    assert True not in answers[len(good) :]
    assert all(is_verified(*case, ledger.key) for case in good)
    assert not any(is_verified(*case, ledger.key) for case in bad)

"""Verified receipts, and forged ones."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transparency.ccf_ledger import CcfLedger
from tests.transparency.logs import Log
from vacr.errors import InvalidStatement
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, compute_thumbprint, generate_key
from vacr.signing.statement import sign
from vacr.transparency.receipt import add_receipt
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.receipts import check_receipt
from vacr.verification.verifying import verify

NOW = datetime(2026, 11, 15, tzinfo=UTC)
TIME = NOW - timedelta(days=3)
PAYLOAD = b'{"what":"was signed"}'
SIGNER = KeySigner(generate_key("es256"))
STATEMENT = sign(PAYLOAD, SIGNER)
LOG = Log(began=int(TIME.timestamp()))
LOG.fill(40)
TRANSPARENT = add_receipt(STATEMENT, LOG.receipt(STATEMENT))
POLICY = Policy(keys=(SIGNER.public_key,), log_keys=(LOG.key,))


def verify_statement(statement=TRANSPARENT, policy=POLICY):
    return verify(statement, policy, payload=PAYLOAD, now=NOW)


def list_findings(found):
    return [(check.outcome, check.finding) for check in found.checks if check.name == "receipt"]


@pytest.mark.parametrize("kind", ["es256", "eddsa", "es384", "ps256", "ml-dsa-65"])
def test_receipt_proves_log_and_time_but_not_its_position(kind):
    log = Log(kind=kind, began=int(TIME.timestamp()))
    log.fill(6)
    found = verify_statement(
        add_receipt(STATEMENT, log.receipt(STATEMENT)),
        Policy(keys=(SIGNER.public_key,), log_keys=(log.key,)),
    )
    (one,) = found.receipts
    assert (one.issuer, one.subject, one.size, one.index, one.time) == (
        "https://log.example",
        "log.example",
        8,
        7,
        TIME,
    )
    assert found.logged_at == TIME
    name = f"the log of key {compute_thumbprint(log.key).hex()[:16]}"
    finding = f"in {name}, which calls itself https://log.example, 2026-11-12T00:00:00Z"
    assert list_findings(found) == [("passed", finding)]
    assert one.position == "entry 7 of 8"


def test_log_cannot_pass_for_another_trusted_log():
    """A log chooses what it calls itself, so the verdict names the key that the user gave."""
    impostor = Log("https://log.example", began=int(TIME.timestamp()))
    impostor.fill(1)
    impostor.add(STATEMENT)
    found = verify_statement(
        add_receipt(STATEMENT, impostor.receipt(STATEMENT)),
        Policy(keys=(SIGNER.public_key,), log_keys=(LOG.key, impostor.key)),
    )
    [(_, finding)] = list_findings(found)
    key = compute_thumbprint(impostor.key).hex()[:16]
    assert finding.startswith(f"in the log of key {key}, which calls itself https://log.example,")


def test_the_earliest_of_several_receipts_counts():
    earlier = Log("https://early.example", began=int(TIME.timestamp()) - 60)
    both = add_receipt(TRANSPARENT, earlier.receipt(STATEMENT))
    found = verify_statement(
        both, Policy(keys=(SIGNER.public_key,), log_keys=(LOG.key, earlier.key))
    )
    assert (len(found.receipts), found.logged_at) == (2, TIME - timedelta(minutes=1))
    found = verify_statement(both)
    assert (len(found.receipts), found.logged_at) == (1, TIME)
    assert list_findings(found)[1] == (
        "not decidable",
        "1 more receipt from an untrusted log, not checked",
    )


def test_no_log_is_trusted_unless_named():
    found = verify_statement(policy=Policy(keys=(SIGNER.public_key,)))
    assert (found.receipts, found.logged_at) == ((), None)
    assert list_findings(found) == [("not decidable", "not checked: no trusted log key given")]
    assert list_findings(verify_statement(STATEMENT, Policy(keys=(SIGNER.public_key,)))) == []


def test_key_id_only_orders_the_candidate_keys():
    others = tuple(generate_key("es256").public_key() for _ in range(3))
    assert verify_statement(
        policy=Policy(keys=(SIGNER.public_key,), log_keys=(*others, LOG.key))
    ).receipts


def test_receipts_of_every_entry_verify():
    for size in range(1, 20):
        log = Log()
        statements = [sign(b"%d" % number, SIGNER) for number in range(size)]
        for statement in statements:
            log.add(statement)
        for number, statement in enumerate(statements):
            logged = check_receipt(parse_sign1(statement), log.receipt(statement), [log.key], NOW)
            assert (logged.index, logged.size) == (number + 1, size + 1)
            with pytest.raises(InvalidStatement):
                check_receipt(parse_sign1(STATEMENT), log.receipt(statement), [log.key], NOW)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_changed_receipt_does_not_verify(data):
    receipt = parse_sign1(TRANSPARENT).unprotected[394][0]
    at = data.draw(st.integers(0, len(TRANSPARENT) - 1))
    changed = bytearray(TRANSPARENT)
    changed[at] ^= data.draw(st.integers(1, 255))
    try:
        found = verify_statement(bytes(changed))
    except VerificationFailed:
        return
    (shown,) = found.message.unprotected[394]
    before, after = parse_sign1(receipt), parse_sign1(shown)
    assert (after.protected_bytes, after.signature) == (before.protected_bytes, before.signature)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=200)
    | st.lists(st.binary(max_size=60) | st.integers() | st.none(), max_size=3)
)
def test_any_receipts_verify_or_raise_our_error(value):
    parts = list(cbor2.loads(STATEMENT).value)
    parts[1] = {**parts[1], 394: value}
    with pytest.raises(VerificationFailed) as caught:
        verify_statement(cbor2.dumps(cbor2.CBORTag(18, parts)))
    assert caught.value.reason.startswith(("receipt-", "cbor"))


def add_ccf_receipt(**claims):
    ledger = CcfLedger(began=int(TIME.timestamp()))
    ledger.fill(3)
    index = ledger.add(STATEMENT)
    receipt = ledger.receipt(index, header=ledger.header(**claims))
    return ledger, add_receipt(STATEMENT, receipt)


def test_ccf_receipt_names_its_transaction():
    ledger, transparent = add_ccf_receipt()
    found = verify_statement(transparent, replace(POLICY, log_keys=(ledger.key,)))
    name = f"the log of key {compute_thumbprint(ledger.key).hex()[:16]}"
    finding = f"in {name}, which calls itself ledger.example, transaction 2.4, 2026-11-12T00:00:00Z"
    assert list_findings(found) == [("passed", finding)]
    (receipt,) = found.receipts
    assert (receipt.index, receipt.size, found.logged_at) == (None, None, TIME)


def test_receipt_of_an_unnamed_log_counts_by_its_key():
    ledger, transparent = add_ccf_receipt(iss=None, sub=None, iat=None)
    found = verify_statement(transparent, replace(POLICY, log_keys=(ledger.key,)))
    key = compute_thumbprint(ledger.key).hex()[:16]
    assert list_findings(found) == [("passed", f"in the log of key {key}, transaction 2.4")]
    with pytest.raises(VerificationFailed, match="one does not name its log, by key") as caught:
        verify_statement(transparent)
    assert caught.value.reason == "receipt-untrusted"
    assert ledger.kid[:16].decode() in str(caught.value)
    assert "--log-key" in caught.value.hint


def test_new_ccf_receipt_replaces_the_older_one_of_its_key():
    ledger, transparent = add_ccf_receipt()
    ledger.fill(1)
    newer = ledger.receipt(3)
    renewed = parse_sign1(add_receipt(transparent, newer, ledger.key))
    assert renewed.unprotected[394] == [newer]
    kept = parse_sign1(add_receipt(transparent, LOG.receipt(STATEMENT), LOG.key))
    assert len(kept.unprotected[394]) == 2

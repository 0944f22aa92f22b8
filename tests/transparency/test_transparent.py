"""Receipts in statements: added, replaced and kept."""

from dataclasses import replace

import cbor2
import pytest

from tests.transparency.logs import Log
from vacr import validate
from vacr.errors import InvalidStatement
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import sign
from vacr.transparency.receipt import (
    ENTRY_RULES,
    MAX_RECEIPTS,
    add_receipt,
    build_log_entry,
    parse_receipt,
    parse_receipts,
    sign_tree_head,
)
from vacr.transparency.tree import hash_leaf

STATEMENT = sign(b'{"what":"was signed"}', KeySigner(generate_key("eddsa")))


def list_receipts(statement):
    return list(parse_sign1(statement).unprotected.get(394, []))


def odd(value, header=1):
    parts = list(cbor2.loads(STATEMENT).value)
    parts[header] = (
        {**parts[1], 394: value} if header else cbor2.dumps({**cbor2.loads(parts[0]), 394: value})
    )
    return cbor2.dumps(cbor2.CBORTag(18, parts))


def test_adding_a_receipt_changes_only_the_receipts():
    log = Log()
    receipt = log.receipt(STATEMENT)
    transparent = add_receipt(STATEMENT, receipt)
    before, after = parse_sign1(STATEMENT), parse_sign1(transparent)
    assert after == replace(before, unprotected={**before.unprotected, 394: [receipt]})
    assert build_log_entry(after) == build_log_entry(before)
    assert not validate(
        cbor2.loads(transparent), rule="scitt-signed-agent-record", json=False
    ).findings
    (found,) = parse_receipts(after)
    found.check(found.inclusions[0].root(hash_leaf(build_log_entry(after))), log.key)


def test_receipt_is_added_only_once():
    receipt = Log().receipt(STATEMENT)
    once = add_receipt(STATEMENT, receipt)
    assert add_receipt(once, receipt) == once


def test_newer_receipt_of_a_log_replaces_the_older():
    log, other = Log(), Log("https://other.example")
    older = log.receipt(STATEMENT)
    both = add_receipt(add_receipt(STATEMENT, older), other.receipt(STATEMENT))
    assert len(list_receipts(both)) == 2
    log.fill(5)
    newer = log.receipt(STATEMENT)
    now = add_receipt(both, newer, log.key)
    assert (len(list_receipts(now)), newer in list_receipts(now), older in list_receipts(now)) == (
        2,
        True,
        False,
    )
    moved = log.receipt(STATEMENT, issuer="https://moved.example")
    assert moved in list_receipts(add_receipt(now, moved, log.key))
    assert len(list_receipts(add_receipt(now, moved, log.key))) == 2, "the key is the same"
    assert len(list_receipts(add_receipt(now, moved))) == 3, "without a key, no receipt is replaced"


@pytest.mark.parametrize("rule", ENTRY_RULES)
def test_log_cannot_remove_receipts_of_another(rule):
    log, hostile = Log(rule=rule), Log(rule=rule)
    theirs = log.receipt(STATEMENT)
    hostile.add(STATEMENT)
    head = sign_tree_head(
        hostile.signer, parse_sign1(theirs).protected_bytes, hostile.tree.size, hostile.tree.root()
    )
    forged = head.inclusion(
        1, hostile.path(1)
    )  # it names the other log and its key, and is signed by neither
    assert (parse_receipt(forged).kid, parse_receipt(forged).claims) == (
        parse_receipt(theirs).kid,
        parse_receipt(theirs).claims,
    )
    for key in (None, hostile.key):
        assert list_receipts(add_receipt(add_receipt(STATEMENT, theirs), forged, key, rule)) == [
            theirs,
            forged,
        ]


def test_receipt_for_an_unknown_tree_is_kept():
    other = cbor2.dumps(
        cbor2.CBORTag(18, [cbor2.dumps({1: -7, 395: 3}), {396: {-1: [b"x"]}}, None, bytes(64)])
    )
    transparent = add_receipt(odd([other]), Log().receipt(STATEMENT))
    assert list_receipts(transparent)[0] == other
    with pytest.raises(InvalidStatement, match="type of tree"):
        parse_receipts(parse_sign1(transparent))


@pytest.mark.parametrize("value", [b"x", {}, [], ["x"], [b"x"], [7], [b""], None, [[b"x"]]])
def test_malformed_lists_of_receipts_are_refused(value):
    with pytest.raises(InvalidStatement) as caught:
        parse_receipts(parse_sign1(odd(value)))
    assert caught.value.reason == "receipt-malformed"
    with pytest.raises(InvalidStatement):
        add_receipt(odd(value), Log().receipt(STATEMENT))


def test_untagged_or_protected_receipts_are_refused():
    receipt = Log().receipt(STATEMENT)
    with pytest.raises(InvalidStatement) as caught:
        add_receipt(STATEMENT, receipt[1:])
    assert caught.value.reason == "receipt-untagged"
    with pytest.raises(InvalidStatement) as caught:
        parse_receipts(parse_sign1(odd([receipt], 0)))
    assert caught.value.reason == "receipt-protected"
    with pytest.raises(InvalidStatement):
        add_receipt(STATEMENT, STATEMENT)


def test_number_of_receipts_is_limited():
    statement = STATEMENT
    for number in range(MAX_RECEIPTS):
        statement = add_receipt(statement, Log(f"https://{number}.example").receipt(STATEMENT))
    assert len(list_receipts(statement)) == MAX_RECEIPTS
    with pytest.raises(InvalidStatement, match="already"):
        add_receipt(statement, Log("https://more.example").receipt(STATEMENT))
    with pytest.raises(InvalidStatement):
        parse_receipts(parse_sign1(odd([list_receipts(statement)[0]] * (MAX_RECEIPTS + 1))))

"""The descriptions of a log, and forged ones."""

from contextlib import suppress

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as some

from vacr.errors import InvalidStatement
from vacr.log.keyring import LogKeyPair
from vacr.signing.cose import Sign1, encode_protected_header, encode_sig_structure, parse_sign1
from vacr.transparency.log_keys import (
    compute_log_identity,
    parse_first_description,
    parse_next_description,
)
from vacr.transparency.receipt import build_log_entry

LOG, OTHER = LogKeyPair.generate(), LogKeyPair.generate()
DESCRIPTION = LOG.describe_log("example.org/log", 1_700_000_000)
ENTRY = DESCRIPTION.statement(LOG.signer)
IDENTITY = compute_log_identity(ENTRY)

ANY = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(2**64), 2**64 - 1)
    | some.binary(max_size=40)
    | some.text(max_size=10),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.integers(-3, 8) | some.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def signed(protected, payload, signer=LOG.signer):
    written, body = encode_protected_header(protected), cbor2.dumps(payload)
    return build_log_entry(
        Sign1(written, protected, {}, body, signer.sign(encode_sig_structure(written, body)))
    )


def test_description_round_trip():
    assert parse_first_description(ENTRY) == DESCRIPTION
    after = OTHER.describe_log("example.org/log", 1_700_000_001, IDENTITY)
    assert parse_next_description(after.statement(LOG.signer), DESCRIPTION, IDENTITY) == after


@pytest.mark.parametrize("name", ["who", "log", "origin", "not signed at all"])
def test_only_the_previous_key_announces_a_new_one(name):
    after = OTHER.describe_log(
        "example.org/log" + "x" * (name == "origin"), 1, IDENTITY + "x" * (name == "log")
    )
    entry = after.statement(OTHER.signer if name == "who" else LOG.signer)
    if name == "not signed at all":
        entry = entry[:-64] + bytes(64)
    assert parse_next_description(entry, DESCRIPTION, IDENTITY) is None


@given(some.sampled_from(sorted(cbor2.loads(parse_sign1(ENTRY).payload))), ANY)
def test_any_payload_is_a_description_or_raises_our_error(name, value):
    message = parse_sign1(ENTRY)
    entry = signed(message.protected, {**cbor2.loads(message.payload), name: value})
    with suppress(InvalidStatement):
        parse_first_description(entry)
    parse_next_description(entry, DESCRIPTION, IDENTITY)


@given(some.sampled_from([1, 4, 15]), ANY)
def test_any_header_is_a_description_or_raises_our_error(label, value):
    message = parse_sign1(ENTRY)
    entry = signed({**message.protected, label: value}, cbor2.loads(message.payload))
    with suppress(InvalidStatement):
        parse_first_description(entry)
    parse_next_description(entry, DESCRIPTION, IDENTITY)

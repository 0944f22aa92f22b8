"""What a log says of itself, and what others would have it say: a description, or refused
as ours.
"""

from contextlib import suppress

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as some

from vacr.errors import InvalidStatement
from vacr.log.keyring import NewKeys
from vacr.receipts.description import first, following, identity_of
from vacr.receipts.entries import entry_of
from vacr.signing.sign1 import Sign1, encode_protected, parse, to_be_signed

LOG, OTHER = NewKeys.make(), NewKeys.make()
DESCRIPTION = LOG.description("example.org/log", 1_700_000_000)
ENTRY = DESCRIPTION.statement(LOG.signer)
IDENTITY = identity_of(ENTRY)

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
    written, body = encode_protected(protected), cbor2.dumps(payload)
    return entry_of(Sign1(written, protected, {}, body, signer.sign(to_be_signed(written, body))))


def test_there_and_back():
    assert first(ENTRY) == DESCRIPTION
    after = OTHER.description("example.org/log", 1_700_000_001, IDENTITY)
    assert following(after.statement(LOG.signer), DESCRIPTION, IDENTITY) == after


@pytest.mark.parametrize("name", ["who", "log", "origin", "not signed at all"])
def test_nobody_else_gives_a_log_new_keys(name):
    after = OTHER.description(
        "example.org/log" + "x" * (name == "origin"), 1, IDENTITY + "x" * (name == "log")
    )
    entry = after.statement(OTHER.signer if name == "who" else LOG.signer)
    if name == "not signed at all":
        entry = entry[:-64] + bytes(64)
    assert following(entry, DESCRIPTION, IDENTITY) is None


@given(some.sampled_from(sorted(cbor2.loads(parse(ENTRY).payload))), ANY)
def test_any_payload_is_a_description_or_refused_as_ours(name, value):
    message = parse(ENTRY)
    entry = signed(message.protected, {**cbor2.loads(message.payload), name: value})
    with suppress(InvalidStatement):
        first(entry)
    following(entry, DESCRIPTION, IDENTITY)


@given(some.sampled_from([1, 4, 15]), ANY)
def test_any_header_is_a_description_or_refused_as_ours(label, value):
    message = parse(ENTRY)
    entry = signed({**message.protected, label: value}, cbor2.loads(message.payload))
    with suppress(InvalidStatement):
        first(entry)
    following(entry, DESCRIPTION, IDENTITY)

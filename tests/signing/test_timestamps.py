"""Tokens of a real timestamp authority, `openssl ts`, with certificates in any order."""

import itertools

import pytest
from rfc3161_client import decode_timestamp_response

from tests.vectors.certificates import Authority
from tests.vectors.timestamps import TimeAuthority
from vacr.errors import InvalidStatement
from vacr.signing.timestamps import (
    _sort_reply_sets,
    check_timestamp_token,
    encode_stamped_signature,
    parse_timestamp_reply,
)

pytestmark = pytest.mark.component

SIGNATURE = bytes(range(64))
DATA = encode_stamped_signature(SIGNATURE)
ROOT, OTHERS = Authority("time root"), [Authority("x"), Authority("another authority")]
ADDED = [ROOT.pem, *(other.pem for other in OTHERS)]


def is_strict_der(reply):
    try:
        decode_timestamp_response(reply)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("added", [[], [ROOT.pem], *map(list, itertools.permutations(ADDED))])
def test_tokens_verify_with_certificates_in_any_order(tmp_path, added):
    authority = TimeAuthority(tmp_path, ROOT, added)
    reply = authority.reply(DATA)
    token = parse_timestamp_reply(reply, SIGNATURE)
    raw = authority.raw_token(DATA)
    for one in (token, raw):
        time = check_timestamp_token(one, DATA, [ROOT.certificate])
        assert time.year >= 2026
        with pytest.raises(InvalidStatement) as caught:
            check_timestamp_token(one, b"other data", [ROOT.certificate])
        assert caught.value.reason == "timestamp-mismatch"
        with pytest.raises(InvalidStatement) as caught:
            check_timestamp_token(one, DATA, [OTHERS[0].certificate])
        assert caught.value.reason == "timestamp-untrusted"


def test_some_orders_are_not_strict_der(tmp_path):
    orders = []
    for number, added in enumerate(itertools.permutations(ADDED)):
        (tmp_path / str(number)).mkdir()
        orders.append(is_strict_der(TimeAuthority(tmp_path / str(number), ROOT, added).reply(DATA)))
    assert sorted(set(orders)) == [False, True]


def test_sorting_moves_only_certificates(tmp_path):
    reply = TimeAuthority(tmp_path, ROOT, ADDED[::-1]).reply(DATA)
    ordered = _sort_reply_sets(reply)
    assert _sort_reply_sets(ordered) == ordered
    assert is_strict_der(ordered)
    ders = [ROOT.der, *(other.der for other in OTHERS)]
    first = min(reply.index(der) for der in ders)
    end = max(reply.index(der) + len(der) for der in ders)
    own = decode_timestamp_response(ordered).signed_data.certificates
    size = sum(map(len, own))
    assert size > end - first  # The authority's own certificate is somewhere between them.
    assert ordered[end:] == reply[end:]
    assert ordered[: end - size] == reply[: end - size]


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\x30",
        b"\x30\x80\x00\x00",
        b"\x30\x85\x01\x01\x01\x01\x01",
        b"\x30\x03\x02\x01\x00",
        b"\x30\x84\xff\xff\xff\xff",
        b"\x30\x0a\x30\x03\x02\x01\x00\x30\x03\x02\x01\x00",
    ],
)
def test_malformed_replies_are_refused(reply):
    assert _sort_reply_sets(reply) == reply
    with pytest.raises(InvalidStatement) as caught:
        parse_timestamp_reply(reply, SIGNATURE)
    assert caught.value.reason == "timestamp-malformed"

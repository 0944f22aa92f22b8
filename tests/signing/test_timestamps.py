"""Tokens of a real timestamp authority, `openssl ts`, with certificates in any order."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from rfc3161_client import decode_timestamp_response

from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key
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
    for encoded in (token, raw):
        proven = check_timestamp_token(encoded, DATA, [ROOT.certificate])
        assert proven.time.year >= 2026
        with pytest.raises(InvalidStatement) as caught:
            check_timestamp_token(encoded, b"other data", [ROOT.certificate])
        assert caught.value.reason == "timestamp-mismatch"
        with pytest.raises(InvalidStatement) as caught:
            check_timestamp_token(encoded, DATA, [OTHERS[0].certificate])
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


def imitate(real, key, number):
    """Return a self-made certificate for timestamps with the issuer and serial of a real one."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    names = (real.issuer, real.subject)
    period = (start, start + timedelta(days=3650))
    builder = x509.CertificateBuilder(*names, key.private.public_key(), real.serial_number, *period)
    usage = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.TIME_STAMPING])
    builder = builder.add_extension(usage, critical=True)
    # A longer certificate comes after the real one.
    padding = x509.ObjectIdentifier(f"1.2.3.{number}")
    builder = builder.add_extension(
        x509.UnrecognizedExtension(padding, b"\x04\x82\x02\x00" + bytes(512)), critical=False
    )
    return builder.sign(Key.generate("es256").private, hashes.SHA256())


@pytest.mark.parametrize("imitations", [1, 8])
@pytest.mark.parametrize("usage", [None, "code", "time"])
def test_certificate_with_the_serial_of_another_makes_no_time_authority(
    tmp_path, usage, imitations
):
    """Everybody with a certificate of the same root could imitate a timestamp authority."""
    real = []

    def certify(key, root):
        der = certificate(key, root, subject="mallory", usage=usage, critical_usage=True)
        real.append(x509.load_der_x509_certificate(der))
        fakes.extend(imitate(real[0], key, number) for number in range(imitations))
        added.extend(certificate.public_bytes(Encoding.PEM) for certificate in (*real, *fakes[1:]))
        return fakes[0].public_bytes(Encoding.DER)

    fakes, added = [], []
    authority = TimeAuthority(tmp_path, ROOT, added, certify=certify)
    with pytest.raises(InvalidStatement) as caught:
        check_timestamp_token(authority.raw_token(DATA), DATA, [ROOT.certificate])
    assert caught.value.reason in ("timestamp-untrusted", "timestamp-malformed")


def test_token_with_too_many_certificates_is_refused(tmp_path):
    added = [Authority(f"authority {number}").pem for number in range(32)]
    token = TimeAuthority(tmp_path, ROOT, added).raw_token(DATA)
    with pytest.raises(InvalidStatement, match="more than 32 certificates"):
        check_timestamp_token(token, DATA, [ROOT.certificate])


def test_added_certificate_of_an_unknown_version_is_malformed(tmp_path):
    """Nobody signs the certificates in a token: anybody can add one that cannot be read."""
    added = Authority("another")
    token = TimeAuthority(tmp_path, ROOT, [added.pem]).raw_token(DATA)
    version_3, version_6 = bytes.fromhex("a003020102"), bytes.fromhex("a003020105")
    damaged = token.replace(added.der, added.der.replace(version_3, version_6, 1))
    assert damaged != token
    with pytest.raises(InvalidStatement, match="cannot read the timestamp") as caught:
        check_timestamp_token(damaged, DATA, [ROOT.certificate])
    assert caught.value.reason == "timestamp-malformed"

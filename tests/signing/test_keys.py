"""Keys: generated, encoded, decoded and named."""

import base64

import cbor2
import pytest

from vacr.errors import UnreadableInput, UsageError
from vacr.record.cbor import encode_deterministic_cbor
from vacr.signing.key_files import load_signer
from vacr.signing.keys import (
    NEW_KEY_ALGORITHMS,
    KeySigner,
    build_cose_key,
    compute_thumbprint,
    encode_private_pem,
    encode_public_pem,
    generate_key,
    parse_cose_key,
    parse_private_key,
    parse_public_keys,
)


@pytest.mark.parametrize("kind", NEW_KEY_ALGORITHMS)
def test_every_encoding_yields_the_same_key(kind):
    key = generate_key(kind)
    public = key.public_key()
    assert parse_public_keys(encode_public_pem(public)) == [public]
    assert parse_public_keys(encode_deterministic_cbor(build_cose_key(public))) == [public]
    assert parse_public_keys(encode_deterministic_cbor([build_cose_key(public)])) == [public]
    assert parse_private_key(encode_private_pem(key)).public_key() == public
    assert parse_private_key(encode_private_pem(key, b"secret"), b"secret").public_key() == public


def test_thumbprint_of_the_example_in_rfc_9679():
    x = base64.urlsafe_b64decode("Ze2loSV3wrroKUN_4zhwGhCqo3Xhu1td4QjeQ5wIVR0=")
    y = base64.urlsafe_b64decode("HlLtdXARY_f55A3fnzQbPcm6hgr34Mp8p-nuzQCE0Zw=")
    key = parse_cose_key({1: 2, -1: 1, -2: x, -3: y, 2: b"not counted"})
    assert (
        compute_thumbprint(key).hex()
        == "496bd8afadf307e5b08c64b0421bf9dc01528a344a43bda88fadd1669da253ec"
    )
    assert parse_cose_key({1: 2, -1: 1, -2: x, -3: bool(y[-1] & 1)}) == key


@pytest.mark.parametrize("number", [True, 1.0, "1", None, [1], cbor2.CBORTag(5, [1])], ids=repr)
@pytest.mark.parametrize("label", [1, -1], ids=["type", "curve"])
def test_key_with_an_odd_number_is_refused(label, number):
    """A tag around a list cannot be looked up: anybody could stop a verifier or a log with it."""
    key = build_cose_key(generate_key("es256").public_key())
    with pytest.raises(UnreadableInput, match="not a supported COSE key"):
        parse_cose_key({**key, label: number})


def test_refused_keys_are_explained():
    key = generate_key("es256")
    with pytest.raises(UnreadableInput, match="this is a private key; a public key is needed"):
        parse_public_keys(encode_private_pem(key))
    with pytest.raises(UnreadableInput, match="encrypted"):
        parse_private_key(encode_private_pem(key, b"secret"))
    with pytest.raises(UnreadableInput, match="wrong passphrase") as refused:
        parse_private_key(encode_private_pem(key, b"secret"), b"guess")
    assert refused.value.hint == "Check the passphrase, or restore the key from a copy."
    for junk in (b"", b"x", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        with pytest.raises(UnreadableInput, match="not a private key"):
            parse_private_key(junk)
    for junk in (
        b"",
        b"x",
        b"\xa0",
        b"\xa1\x01\x01",
        b"\xa1\x01\x02",
        encode_deterministic_cbor({1: 2, -1: 1, -2: b"", -3: b""}),
    ):
        with pytest.raises(UnreadableInput):
            parse_public_keys(junk)
    with pytest.raises(UsageError, match="cannot generate keys"):
        generate_key("md5")
    with pytest.raises(UsageError, match="cannot be used with this kind of key"):
        KeySigner(key, -8)


def test_only_a_missing_key_file_suggests_a_new_key(tmp_path):
    with pytest.raises(UnreadableInput, match="cannot read the key") as refused:
        load_signer(str(tmp_path / "none.pem"), algorithm=None, passphrase=None, force=False)
    assert refused.value.hint == "To create a private key: vacr key generate -o FOLDER"
    with pytest.raises(UnreadableInput, match="a folder, not a file") as refused:
        load_signer(str(tmp_path), algorithm=None, passphrase=None, force=False)
    assert "generate" not in refused.value.hint


def test_signer_does_not_reveal_its_key():
    signer = KeySigner(generate_key("eddsa"))
    assert repr(signer) == "KeySigner(EdDSA)"
    assert encode_private_pem(signer.key).split(b"\n")[1].decode() not in repr(signer)

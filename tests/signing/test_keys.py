"""Keys: made, written, read again, and named."""

import base64

import pytest

from vacr.codec import deterministic_cbor
from vacr.errors import UnreadableInput, UsageError
from vacr.signing import KeySigner, keys


@pytest.mark.parametrize("kind", keys.KINDS)
def test_every_form_gives_the_same_key(kind):
    key = keys.generate(kind)
    public = key.public_key()
    assert keys.load_public(keys.public_pem(public)) == [public]
    assert keys.load_public(deterministic_cbor.encode(keys.to_cose(public))) == [public]
    assert keys.load_public(deterministic_cbor.encode([keys.to_cose(public)])) == [public]
    assert keys.load_private(keys.private_pem(key)).public_key() == public
    assert keys.load_private(keys.private_pem(key, b"secret"), b"secret").public_key() == public


def test_thumbprint_of_the_example_in_rfc_9679():
    x = base64.urlsafe_b64decode("Ze2loSV3wrroKUN_4zhwGhCqo3Xhu1td4QjeQ5wIVR0=")
    y = base64.urlsafe_b64decode("HlLtdXARY_f55A3fnzQbPcm6hgr34Mp8p-nuzQCE0Zw=")
    key = keys.from_cose({1: 2, -1: 1, -2: x, -3: y, 2: b"not counted"})
    assert (
        keys.thumbprint(key).hex()
        == "496bd8afadf307e5b08c64b0421bf9dc01528a344a43bda88fadd1669da253ec"
    )
    assert keys.from_cose({1: 2, -1: 1, -2: x, -3: bool(y[-1] & 1)}) == key


def test_what_is_refused_says_why():
    key = keys.generate("es256")
    with pytest.raises(UnreadableInput, match="a private key where a public one is wanted"):
        keys.load_public(keys.private_pem(key))
    with pytest.raises(UnreadableInput, match="encrypted"):
        keys.load_private(keys.private_pem(key, b"secret"))
    with pytest.raises(UnreadableInput, match="passphrase is wrong"):
        keys.load_private(keys.private_pem(key, b"secret"), b"guess")
    for junk in (b"", b"x", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        with pytest.raises(UnreadableInput, match="not a private key"):
            keys.load_private(junk)
    for junk in (
        b"",
        b"x",
        b"\xa0",
        b"\xa1\x01\x01",
        b"\xa1\x01\x02",
        deterministic_cbor.encode({1: 2, -1: 1, -2: b"", -3: b""}),
    ):
        with pytest.raises(UnreadableInput):
            keys.load_public(junk)
    with pytest.raises(UsageError, match="no keys are made"):
        keys.generate("md5")
    with pytest.raises(UsageError, match="takes no key of this kind"):
        KeySigner(key, -8)


def test_a_signer_does_not_show_its_key():
    signer = KeySigner(keys.generate("eddsa"))
    assert repr(signer) == "KeySigner(EdDSA)"
    assert keys.private_pem(signer.key).split(b"\n")[1].decode() not in repr(signer)

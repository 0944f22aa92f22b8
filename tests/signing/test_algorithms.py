"""Keys that algorithms refuse: forgeable ones, and ones that make verification slow."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from vacr.errors import InvalidStatement
from vacr.signing.cose import (
    ALG_ED448,
    ALG_ED25519,
    ALG_EDDSA,
    ALG_ES256,
    ALG_ES384,
    ALG_ES512,
    ALG_PS256,
    verify_signature,
)

P25519, P448 = 2**255 - 19, 2**448 - 2**224 - 1
OF_ORDER_8 = (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
)


def encode_small_order_points(prime, size, *more):
    """Encode the points of small order, with either sign."""
    coordinates = (0, 1, prime - 1, prime, prime + 1, *more)
    return [
        (y | sign << (8 * size - 1)).to_bytes(size, "little")
        for y in coordinates
        for sign in (0, 1)
    ]


@pytest.mark.parametrize(
    "point",
    encode_small_order_points(
        P25519, 32, *(int.from_bytes(bytes.fromhex(point), "little") for point in OF_ORDER_8)
    ),
)
def test_ed25519_key_of_small_order_is_refused(point):
    key = ed25519.Ed25519PublicKey.from_public_bytes(point)
    for algorithm in (ALG_EDDSA, ALG_ED25519):
        with pytest.raises(InvalidStatement) as caught:
            verify_signature(algorithm, key, b"\x01" + bytes(63), b"anything")
        assert caught.value.reason == "alg-key"


@pytest.mark.parametrize("point", encode_small_order_points(P448, 57))
def test_ed448_key_of_small_order_is_refused(point):
    key = ed448.Ed448PublicKey.from_public_bytes(point)
    for algorithm in (ALG_EDDSA, ALG_ED448):
        with pytest.raises(InvalidStatement) as caught:
            verify_signature(algorithm, key, bytes(114), b"anything")
        assert caught.value.reason == "alg-key"


@pytest.mark.parametrize(
    ("bits", "exponent", "reason"),
    [
        (2047, 65537, "alg-key"),
        (2048, 65537, "signature"),
        (8192, (1 << 64) - 1, "signature"),
        (8193, 65537, "alg-key"),
        (3072, (1 << 64) + 1, "alg-key"),
        (16_384, 3, "alg-key"),
    ],
)
def test_rsa_keys_have_a_minimum_and_a_maximum_size(bits, exponent, reason):
    key = rsa.RSAPublicNumbers(exponent, (1 << (bits - 1)) + 1).public_key()
    with pytest.raises(InvalidStatement) as caught:
        verify_signature(ALG_PS256, key, b"\x00" + bytes(bits // 8 - 1), b"anything")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()], ids=lambda c: c.name
)
def test_curve_orders_match_the_curves(curve):
    last = ec.derive_private_key(curve.group_order - 1, curve).public_key()
    first = ec.derive_private_key(1, curve).public_key()
    # The last multiple of the generator is its inverse: the same x, another y.
    assert last.public_numbers().x == first.public_numbers().x
    assert last.public_numbers().y != first.public_numbers().y


@pytest.mark.parametrize(
    ("algorithm", "curve"),
    [(ALG_ES256, ec.SECP256R1()), (ALG_ES384, ec.SECP384R1()), (ALG_ES512, ec.SECP521R1())],
)
def test_signature_numbers_out_of_range_are_refused(algorithm, curve):
    key, order = ec.generate_private_key(curve).public_key(), curve.group_order
    size = (curve.key_size + 7) // 8
    for r, s in ((order, 1), (1, order), (order + 1, 1), (0, 1), (1, 0)):
        signature = r.to_bytes(size, "big") + s.to_bytes(size, "big")
        with pytest.raises(InvalidStatement) as caught:
            verify_signature(algorithm, key, signature, b"anything")
        assert caught.value.reason == "signature-range"
    inside = (order - 1).to_bytes(size, "big") * 2
    with pytest.raises(InvalidStatement) as caught:
        verify_signature(algorithm, key, inside, b"anything")
    assert caught.value.reason == "signature"

"""The key that a statement carries: found without any other key, and refused in a contradiction."""

import cbor2
import pytest
from cryptography import x509

from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key, message
from vacr.errors import InvalidStatement
from vacr.signing.cose import HEADER_ALG, HEADER_KCCS, parse_sign1, verify_signature
from vacr.signing.keys import (
    NEW_KEY_ALGORITHMS,
    KeySigner,
    compute_thumbprint,
    generate_key,
    parse_public_keys,
)
from vacr.signing.statement import build_kccs, find_carried_key, sign

PAYLOAD = b'{"what":"was signed"}'


def is_same_key(first, second):
    return compute_thumbprint(first) == compute_thumbprint(second)


def find_refusal_reason(statement):
    with pytest.raises(InvalidStatement) as caught:
        find_carried_key(parse_sign1(statement))
    return caught.value.reason


@pytest.mark.parametrize("kind", NEW_KEY_ALGORITHMS)
def test_statement_carries_the_key_that_verifies_it(kind):
    signer = KeySigner(generate_key(kind))
    parsed = parse_sign1(sign(PAYLOAD, signer))
    key = find_carried_key(parsed)
    verify_signature(
        parsed.protected[HEADER_ALG], key, parsed.signature, parsed.to_be_signed(parsed.payload)
    )
    assert is_same_key(key, signer.public_key)


def test_first_certificate_carries_the_key():
    key = Key.generate("es256")
    chain = certificate(key, Authority("root"))
    statement = sign(
        PAYLOAD, key.signer, chain=[x509.load_der_x509_certificate(chain)], claims=None
    )
    assert HEADER_KCCS not in parse_sign1(statement).unprotected
    assert is_same_key(find_carried_key(parse_sign1(statement)), key.signer.public_key)


def test_carried_key_that_kid_does_not_name_is_refused():
    key, other = Key.generate("es256"), Key.generate("es256")
    theirs = {14: build_kccs(other.signer.public_key)}
    assert (
        find_refusal_reason(message(key, {1: -7, 4: key.thumbprint}, unprotected=theirs))
        == "kccs-mismatch"
    )
    assert find_refusal_reason(message(key, {1: -7}, unprotected=theirs)) == "kccs-mismatch"
    chain = certificate(other, Authority("root"))
    both = {14: build_kccs(key.signer.public_key)}
    assert (
        find_refusal_reason(message(key, {1: -7, 4: key.thumbprint, 33: chain}, unprotected=both))
        == "kccs-mismatch"
    )
    assert (
        find_refusal_reason(message(key, {1: -7, 4: key.thumbprint}, unprotected={14: {8: 1}}))
        == "kccs-malformed"
    )


def test_unprotected_certificate_is_refused():
    key = Key.generate("es256")
    chain = {33: certificate(key, Authority("root"))}
    assert find_refusal_reason(message(key, {1: -7}, unprotected=chain)) == "x5chain-unprotected"
    assert is_same_key(
        find_carried_key(parse_sign1(message(key, {1: -7, 4: key.thumbprint}, unprotected=chain))),
        key.signer.public_key,
    )


def test_statement_without_a_key_carries_none():
    assert find_carried_key(parse_sign1(message(Key.generate("es256"), {1: -7}))) is None


def test_carried_key_is_a_cose_key():
    signer = KeySigner(generate_key("es256"))
    unprotected = cbor2.loads(sign(PAYLOAD, signer)).value[1]
    assert parse_public_keys(cbor2.dumps(dict(unprotected[14][8][1]), canonical=True))

"""The key that a statement carries: what a service that has nothing else verifies with."""

import cbor2
import pytest
from cryptography import x509

from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key, message
from vacr.errors import InvalidStatement
from vacr.signing import KeySigner, algorithms, keys, labels, sign
from vacr.signing.carried import carried_key, kccs
from vacr.signing.sign1 import parse

PAYLOAD = b'{"what":"was signed"}'


def same(one, other):
    return keys.thumbprint(one) == keys.thumbprint(other)


def reason(statement):
    with pytest.raises(InvalidStatement) as caught:
        carried_key(parse(statement))
    return caught.value.reason


@pytest.mark.parametrize("kind", keys.KINDS)
def test_a_statement_can_be_verified_by_the_key_in_it(kind):
    signer = KeySigner(keys.generate(kind))
    parsed = parse(sign(PAYLOAD, signer))
    key = carried_key(parsed)
    algorithms.verify(
        parsed.protected[labels.ALG], key, parsed.signature, parsed.to_be_signed(parsed.payload)
    )
    assert same(key, signer.public_key)


def test_with_certificates_the_first_of_them_is_enough():
    key = Key.made("es256")
    chain = certificate(key, Authority("root"))
    statement = sign(
        PAYLOAD, key.signer, chain=[x509.load_der_x509_certificate(chain)], claims=None
    )
    assert labels.KCCS not in parse(statement).unprotected
    assert same(carried_key(parse(statement)), key.signer.public_key)


def test_another_key_is_refused():
    key, other = Key.made("es256"), Key.made("es256")
    theirs = {14: kccs(other.signer.public_key)}
    assert reason(message(key, {1: -7, 4: key.thumbprint}, unprotected=theirs)) == "kccs-mismatch"
    assert reason(message(key, {1: -7}, unprotected=theirs)) == "kccs-mismatch"
    chain = certificate(other, Authority("root"))
    both = {14: kccs(key.signer.public_key)}
    assert (
        reason(message(key, {1: -7, 4: key.thumbprint, 33: chain}, unprotected=both))
        == "kccs-mismatch"
    )
    assert (
        reason(message(key, {1: -7, 4: key.thumbprint}, unprotected={14: {8: 1}}))
        == "kccs-malformed"
    )


def test_a_certificate_that_nothing_protects_is_refused():
    key = Key.made("es256")
    chain = {33: certificate(key, Authority("root"))}
    assert reason(message(key, {1: -7}, unprotected=chain)) == "x5chain-unprotected"
    assert same(
        carried_key(parse(message(key, {1: -7, 4: key.thumbprint}, unprotected=chain))),
        key.signer.public_key,
    )


def test_most_statements_of_others_carry_none():
    assert carried_key(parse(message(Key.made("es256"), {1: -7}))) is None


def test_what_is_carried_is_a_cose_key():
    signer = KeySigner(keys.generate("es256"))
    unprotected = cbor2.loads(sign(PAYLOAD, signer)).value[1]
    assert keys.load_public(cbor2.dumps(dict(unprotected[14][8][1]), canonical=True))

"""Endorsements: only a TPM that has the attestation key can get one."""

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, ObjectIdentifier

from tests.evidence.samples import NOW, TPM, StandIn, make_evidence
from vacr.errors import InvalidStatement
from vacr.evidence.endorsement import (
    create_challenge,
    create_endorsement,
    decode_enrolment,
    encode_enrolment,
    get_endorsed_key_name,
)
from vacr.evidence.messages import parse_messages
from vacr.evidence.tpm_structures import compute_key_name
from vacr.signing.keys import KeySigner, generate_key

ENDORSER = KeySigner(generate_key("es256"))
SECRETS = (b"\x05" * 32, b"\x06" * 32)
EK_USAGE = ObjectIdentifier("2.23.133.8.1")


def certificate(key, subject, issuer, signing, *, usage=EK_USAGE, ca=False, days=36500):
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    by = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)])
    until = NOW + timedelta(days=days)
    builder = x509.CertificateBuilder(
        by, name, key.public_key(), 1, NOW - timedelta(days=3650), until
    )
    builder = builder.add_extension(x509.BasicConstraints(ca, None), critical=True)
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return builder.sign(signing, hashes.SHA256())


def rsa_key(size=2048):
    return rsa.generate_private_key(65537, size)


MAKER, BETWEEN, EK, OTHER = rsa_key(), rsa_key(), rsa_key(), rsa_key()
ROOT = certificate(MAKER, "maker", "maker", MAKER, usage=None, ca=True)
MIDDLE = certificate(BETWEEN, "between", "maker", MAKER, usage=None, ca=True)
GOOD = certificate(EK, "tpm", "between", BETWEEN)


def request(found=GOOD, key=TPM):
    der = found.public_bytes(Encoding.DER)
    return encode_enrolment("request", {"attestation-key": key.public(), "ek-certificate": der})


def challenged(data, roots=(ROOT,), between=(MIDDLE,)):
    return create_challenge(data, roots, between, NOW, SECRETS)


def bare(endorsed):
    (found,) = parse_messages(endorsed).endorsements
    return found


def refused(function, *arguments):
    with pytest.raises(InvalidStatement) as error:
        function(*arguments)
    return error.value.reason


def test_correct_answer_is_endorsed():
    made_of = challenged(request())
    answer = encode_enrolment("answer", {"secret": SECRETS[0]})
    endorsed = create_endorsement(made_of.kept, answer, ENDORSER, 1)
    assert get_endorsed_key_name(bare(endorsed), [ENDORSER.public_key]) == compute_key_name(
        TPM.public()
    )
    assert SECRETS[0] not in made_of.sent


def test_challenge_names_the_type_of_endorsement_key():
    on_curve = certificate(ec.generate_private_key(ec.SECP256R1()), "tpm", "between", BETWEEN)
    for found, kind in ((GOOD, "rsa"), (on_curve, "ecc")):
        assert decode_enrolment(challenged(request(found)).sent, "challenge")["ek"] == kind


def test_wrong_answer_is_not_endorsed():
    answer = encode_enrolment("answer", {"secret": bytes(32)})
    assert (
        refused(create_endorsement, challenged(request()).kept, answer, ENDORSER, 1)
        == "enrolment-answer"
    )


def test_endorsement_by_an_untrusted_key_is_refused():
    answer = encode_enrolment("answer", {"secret": SECRETS[0]})
    endorsed = bare(create_endorsement(challenged(request()).kept, answer, ENDORSER, 1))
    assert (
        refused(get_endorsed_key_name, endorsed, [KeySigner(generate_key("es256")).public_key])
        == "endorsement-untrusted"
    )
    assert refused(get_endorsed_key_name, endorsed, []) == "endorsement-untrusted"
    assert (
        refused(get_endorsed_key_name, make_evidence(), [ENDORSER.public_key])
        == "evidence-malformed"
    )


CERTIFICATES = {
    "of another maker": (certificate(EK, "tpm", "between", OTHER), "ek-untrusted"),
    "by itself": (certificate(EK, "tpm", "tpm", EK), "ek-untrusted"),
    "expired": (certificate(EK, "tpm", "between", BETWEEN, days=-1), "ek-expired"),
    "for something else": (
        certificate(EK, "tpm", "between", BETWEEN, usage=ObjectIdentifier("1.3.6.1.5.5.7.3.3")),
        "ek-certificate",
    ),
    "for nothing": (certificate(EK, "tpm", "between", BETWEEN, usage=None), "ek-certificate"),
    "of another size": (certificate(rsa_key(3072), "tpm", "between", BETWEEN), "ek-certificate"),
    "of another curve": (
        certificate(ec.generate_private_key(ec.SECP384R1()), "tpm", "between", BETWEEN),
        "ek-certificate",
    ),
}


@pytest.mark.parametrize(("found", "reason"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_certificates_not_of_a_tpm_are_refused(found, reason):
    assert refused(challenged, request(found)) == reason


def test_issuer_that_is_not_an_authority_is_refused():
    weak = certificate(BETWEEN, "between", "maker", MAKER, usage=None, ca=False)
    assert refused(challenged, request(), (ROOT,), (weak,)) == "ek-untrusted"
    assert refused(challenged, request(), (), (MIDDLE, ROOT)) == "ek-untrusted"


def test_keys_that_could_leave_are_not_endorsed():
    assert refused(challenged, request(key=StandIn(attributes=0x00040072))) == "attestation-key"


def test_messages_in_the_wrong_place_are_refused():
    sent = challenged(request()).sent
    assert refused(challenged, sent) == "enrolment-malformed"
    assert refused(decode_enrolment, request(), "answer") == "enrolment-malformed"
    assert (
        refused(decode_enrolment, encode_enrolment("answer", {"secret": b"short"}), "answer")
        == "evidence-malformed"
    )

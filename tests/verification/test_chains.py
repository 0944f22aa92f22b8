"""Certificate chains that do not lead to a trusted root."""

import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key
from vacr.errors import InvalidStatement
from vacr.signing.keys import encode_private_pem, generate_key
from vacr.verification.certificates import check_certificate_chain


def test_uncertified_chain_costs_one_signature_check():
    """An untrusted end of the chain is found before a false signature at the signer's end."""
    middle, root, trusted = (
        Authority("middle", Authority("root")),
        Authority("root"),
        Authority("trusted"),
    )
    forged = x509.load_der_x509_certificate(
        certificate(Key(generate_key("eddsa")), Authority("middle"))
    )
    with pytest.raises(InvalidStatement) as caught:
        check_certificate_chain(
            [forged, middle.certificate], [trusted.certificate, root.certificate], None
        )
    assert caught.value.reason == "untrusted"


def certify(subject, key, issuer, issuer_key, *, is_authority):
    names = [
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        for name in (issuer, subject)
    ]
    period = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(*names, key.public_key(), 7, *period)
    builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    is_edwards = isinstance(issuer_key, ed25519.Ed25519PrivateKey)
    return builder.sign(issuer_key, None if is_edwards else hashes.SHA256())


WEAK_KEYS = {
    "dsa": lambda: dsa.generate_private_key(2048),
    "secp192r1": lambda: ec.generate_private_key(ec.SECP192R1()),
    "rsa-1024": lambda: rsa.generate_private_key(65537, 1024),  # noqa: S505 - weak on purpose
}


@pytest.mark.parametrize("kind", WEAK_KEYS)
@pytest.mark.parametrize("place", ["root", "intermediate"])
def test_forgeable_authority_is_refused(kind, place):
    weak, strong = WEAK_KEYS[kind](), ed25519.Ed25519PrivateKey.generate()
    keys = (weak, strong) if place == "root" else (strong, weak)
    root = certify("root", keys[0], "root", keys[0], is_authority=True)
    middle = certify("middle", keys[1], "root", keys[0], is_authority=True)
    signer = certify("signer", strong, "middle", keys[1], is_authority=False)
    with pytest.raises(InvalidStatement) as caught:
        check_certificate_chain([signer, middle], [root], None)
    assert caught.value.reason == "authority-key-weak"


def test_self_signature_of_a_trusted_root_may_be_weak():
    key = rsa.generate_private_key(65537, 2048)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "key.pem").write_bytes(encode_private_pem(key))
        command = "openssl req -x509 -key key.pem -sha1 -subj /CN=root -days 9 -out root.pem"
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
        root = x509.load_pem_x509_certificate((folder / "root.pem").read_bytes())
    assert root.signature_hash_algorithm.name == "sha1"
    signer = certify("signer", key, "root", key, is_authority=False)
    for chain in ([signer], [signer, root]):
        assert check_certificate_chain(chain, [root], None) == [signer, root]


@pytest.mark.parametrize("curve", [ec.SECP224R1(), ec.SECP256R1(), ec.BrainpoolP384R1()])
def test_authority_on_a_strong_curve_is_accepted(curve):
    key = ec.generate_private_key(curve)
    root = certify("root", key, "root", key, is_authority=True)
    signer = certify("signer", key, "root", key, is_authority=False)
    assert check_certificate_chain([signer], [root], None) == [signer, root]

"""Statements with weak certificates, an algorithm of another curve, or data outside the message."""

import subprocess
import tempfile
from pathlib import Path

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.vectors.certificates import Authority
from tests.vectors.statements import PAYLOAD, Key, message
from vacr.signing.keys import encode_private_pem

_EXTENSIONS = b"basicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\n"
CLAIMS = {1: "https://example.org", 2: "urn:example:it"}


def certify_with_openssl(key, authority, digest, extensions=_EXTENSIONS):
    """Return a certificate for a key in DER, signed over any hash that openssl supports."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "key.pem").write_bytes(encode_private_pem(key.private))
        (folder / "ca.key").write_bytes(encode_private_pem(authority.private))
        (folder / "ca.pem").write_bytes(authority.pem)
        (folder / "extensions").write_bytes(extensions)
        request = "openssl req -new -key key.pem -subj /CN=signer -out request"
        certify = f"openssl x509 -req -in request -CA ca.pem -CAkey ca.key -{digest} -days 3650"
        certify += " -set_serial 7 -extfile extensions -out cert.pem"
        for command in (request, certify):
            subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
        pem = (folder / "cert.pem").read_bytes()
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def add(vectors):
    """Add the vectors."""
    key, edwards = Key.generate("es256"), Key.generate("eddsa")
    root = Authority("weak root", rsa_bits=2048)
    (vectors.folder / "weak-root.pem").write_bytes(root.pem)
    (vectors.folder / "weak-es256.pub.pem").write_bytes(key.public_pem)
    (vectors.folder / "weak-eddsa.pub.pem").write_bytes(edwards.public_pem)
    for digest in ("md5", "sha1"):
        chain = certify_with_openssl(key, root, digest)
        signed = message(key, {1: -7, 33: chain, 15: CLAIMS})
        vectors.add(f"weak-chain-of-{digest}", "x5chain-hash-weak", signed, trust=["weak-root.pem"])
    chain = certify_with_openssl(key, root, "sha256")
    for algorithm, name in ((-36, "es512"), (-52, "esp512"), (-35, "es384")):
        signature = b"\x01" * (132 if name != "es384" else 96)
        by_key = message(key, {1: algorithm, 4: key.thumbprint}, signature=signature)
        trust = ["weak-es256.pub.pem"]
        vectors.add(f"weak-{name}-with-p256-key", "alg-key", by_key, trust=trust)
        by_chain = message(key, {1: algorithm, 33: chain, 15: CLAIMS}, signature=signature)
        trust = ["weak-root.pem"]
        vectors.add(f"weak-{name}-with-p256-certificate", "alg-key", by_chain, trust=trust)
    head = cbor2.dumps({1: -8, 4: edwards.thumbprint})
    signature = edwards.signer.sign(cbor2.dumps(["Signature1", head, b"external", PAYLOAD]))
    signed = message(edwards, head, signature=signature)
    vectors.add("weak-external-data", "signature", signed, trust=["weak-eddsa.pub.pem"])

"""Timestamps from a real authority: `openssl ts`, with certificates made here."""

import subprocess
import tempfile
from functools import partial
from pathlib import Path

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec
from rfc3161_client import TimestampRequestBuilder, decode_timestamp_response

from tests.vectors.certificates import Authority, certificate, days
from tests.vectors.statements import PAYLOAD, Key, message
from tests.vectors.weak import certify_with_openssl
from vacr.signing.keys import encode_private_pem

_CONFIG = """
[tsa]
default_tsa = here
[here]
serial = {folder}/serial
signer_digest = {digest}
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


class TimeAuthority:
    """A timestamp authority that answers requests with `openssl ts`.

    It adds the certificates `added` to its tokens, in this order. `certify` makes its certificate
    from its key and the root, and `digest` is the hash that its signatures are over.
    """

    def __init__(self, folder, root=None, added=(), certify=None, digest="sha256"):
        self.folder = Path(folder)
        self.root = root or Authority("time root")
        key = Key.generate("es256")
        certify = certify or partial(certificate, usage="time", critical_usage=True)
        signed = certify(key, self.root)
        (self.folder / "cert.der").write_bytes(signed)
        pem = x509.load_der_x509_certificate(signed).public_bytes(serialization.Encoding.PEM)
        (self.folder / "cert.pem").write_bytes(pem)
        (self.folder / "key.pem").write_bytes(encode_private_pem(key.private))
        config = _CONFIG.format(folder=self.folder, digest=digest)
        if added:
            (self.folder / "added.pem").write_bytes(b"".join(added))
            config += "certs = added.pem\n"
        (self.folder / "config").write_text(config)
        (self.folder / "serial").write_text("01\n")

    def answer(self, question):
        (self.folder / "question").write_bytes(question)
        command = [
            "openssl",
            "ts",
            "-reply",
            "-config",
            "config",
            "-queryfile",
            "question",
            "-out",
            "reply",
        ]
        command += ["-signer", "cert.pem", "-inkey", "key.pem"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        return (self.folder / "reply").read_bytes()

    def reply(self, data):
        return self.answer(TimestampRequestBuilder().data(data).build().as_bytes())

    def token(self, data):
        return decode_timestamp_response(self.reply(data)).time_stamp_token()

    def raw_token(self, data):
        """Return the token as the authority wrote it, without parsing it."""
        reply = self.reply(data)
        assert reply.startswith(b"\x30\x82")
        assert reply[4:9] == b"\x30\x03\x02\x01\x00"  # granted
        return reply[9:]


def add_unsorted(vectors):
    """Add timestamps whose certificates are not in the order that DER demands."""
    key, root = Key.generate("eddsa"), Authority("tsa root")
    (vectors.folder / "tsa-signer.pub.pem").write_bytes(key.public_pem)
    (vectors.folder / "tsa-root.pem").write_bytes(root.pem)
    (vectors.folder / "tsa-other-root.pem").write_bytes(Authority("tsa root").pem)
    policy = {"timestamp_trust": ["tsa-root.pem"], "needs_timestamp": True}
    policy["trust"] = ["tsa-signer.pub.pem"]
    # The encodings of certificates differ first in their lengths.
    others = sorted((Authority(name) for name in ("x", "a longer name")), key=lambda a: len(a.der))
    added = [others[1].pem, root.pem, others[0].pem]
    with tempfile.TemporaryDirectory() as folder:
        authority = TimeAuthority(folder, root, added)
        signature = cbor2.loads(message(key, {1: -8})).value[3]
        token = authority.raw_token(cbor2.dumps(signature))
        other = authority.raw_token(b"another")
        changed = token[:-1] + bytes([token[-1] ^ 1])
        untrusted = {**policy, "timestamp_trust": ["tsa-other-root.pem"]}
        for name, verdict, stamp, trust in (
            ("valid-unsorted", "verified", token, policy),
            ("unsorted-of-another", "timestamp-mismatch", other, policy),
            ("unsorted-untrusted", "timestamp-untrusted", token, untrusted),
            ("unsorted-changed", "timestamp-untrusted", changed, policy),
            ("unsorted-cut-off", "timestamp-malformed", token[:-1], policy),
        ):
            statement = message(key, {1: -8}, unprotected={270: stamp})
            vectors.add(f"tsa-{name}", verdict, statement, **trust)


def add_weak(vectors):
    """Add timestamps that somebody else than their authority could forge."""
    key = Key.generate("eddsa")
    (vectors.folder / "clock-signer.pub.pem").write_bytes(key.public_pem)
    stamped = cbor2.dumps(cbor2.loads(message(key, {1: -8})).value[3])
    roots = {
        "strong": Authority("strong clock", rsa_bits=2048),
        "rsa-1024": Authority("weak clock", rsa_bits=1024),
        "dsa": Authority("weak clock", private=dsa.generate_private_key(2048)),
        "secp192r1": Authority("weak clock", private=ec.generate_private_key(ec.SECP192R1())),
    }
    for name, root in roots.items():
        (vectors.folder / f"clock-{name}.pem").write_bytes(root.pem)
    for name, verdict, root, settings in (
        ("valid-strong", "verified", "strong", {}),
        ("chain-of-md5", "timestamp-hash-weak", "strong", {"certify": certify_over("md5")}),
        ("chain-of-sha1", "timestamp-hash-weak", "strong", {"certify": certify_over("sha1")}),
        ("signed-over-sha1", "timestamp-hash-weak", "strong", {"digest": "sha1"}),
        ("root-of-1024-bits", "timestamp-key-weak", "rsa-1024", {}),
        ("root-with-dsa", "timestamp-key-weak", "dsa", {}),
        ("root-on-a-short-curve", "timestamp-key-weak", "secp192r1", {}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            token = TimeAuthority(folder, roots[root], **settings).raw_token(stamped)
        vectors.add(
            f"clock-{name}",
            verdict,
            message(key, {1: -8}, unprotected={270: token}),
            trust=["clock-signer.pub.pem"],
            timestamp_trust=[f"clock-{root}.pem"],
            needs_timestamp=True,
        )


def certify_over(digest):
    """Return a function that certifies a timestamp authority over any hash that openssl has."""
    extensions = (
        b"basicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\n"
        b"extendedKeyUsage=critical,timeStamping\n"
    )
    return partial(certify_with_openssl, digest=digest, extensions=extensions)


def add(vectors, key, certified):
    """Add statements with timestamps, of the payload and of the signature."""
    with tempfile.TemporaryDirectory() as folder:
        authority = TimeAuthority(folder)
        (vectors.folder / "time-root.pem").write_bytes(authority.root.pem)
        (vectors.folder / "other-time-root.pem").write_bytes(Authority("time root").pem)
        bare = cbor2.loads(message(key, {1: -8})).value
        about = authority.token(cbor2.dumps(bare[3]))
        other = authority.token(b"another")
        policy = {"timestamp_trust": ["time-root.pem"], "needs_timestamp": True}

        def stamped(token):
            return message(key, {1: -8}, unprotected={270: token})

        vectors.add("timestamp-valid", "verified", stamped(about), **policy)
        vectors.add("timestamp-missing", "timestamp-missing", message(key, {1: -8}), **policy)
        vectors.add("timestamp-of-another", "timestamp-mismatch", stamped(other), **policy)
        vectors.add("timestamp-malformed", "timestamp-malformed", stamped(b"x"), **policy)
        vectors.add("timestamp-no-bytes", "timestamp-malformed", stamped(7), **policy)
        vectors.add(
            "timestamp-untrusted",
            "timestamp-untrusted",
            stamped(about),
            **{**policy, "timestamp_trust": ["other-time-root.pem"]},
        )
        vectors.add(
            "timestamp-protected",
            "timestamp-malformed",
            message(key, {1: -8, 270: about}),
            **policy,
        )
        vectors.add(
            "timestamp-of-payload",
            "timestamp-missing",
            message(key, {1: -8, 269: authority.token(PAYLOAD)}),
            **policy,
        )
        root = Authority("root")
        (vectors.folder / "late-root.pem").write_bytes(root.pem)
        protected = {
            1: -7,
            33: certificate(certified, root, since=days(2)),
            15: {1: "https://example.org", 2: "it"},
        }
        signed = message(certified, protected)
        token = authority.token(cbor2.dumps(cbor2.loads(signed).value[3]))
        late = signed.replace(b"\xa0\x55{", b"\xa1\x19\x01\x0e" + cbor2.dumps(token) + b"\x55{", 1)
        vectors.add(
            "timestamp-before-certificate",
            "not-yet-valid",
            late,
            **{**policy, "trust": ["late-root.pem"]},
        )
        vectors.add(
            "timestamp-of-other-payload",
            "timestamp-mismatch",
            message(key, {1: -8, 269: other}),
            **policy,
        )

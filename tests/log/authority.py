"""An authority for TLS on loopback."""

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.signing.keys import encode_private_pem

_NOW = datetime.now(UTC)


class TlsAuthority:
    """Certifies keys for servers at 127.0.0.1 and for clients, and writes them into a folder."""

    def __init__(self, folder, name="authority"):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = self._builder(self.name, self.key.public_key()).add_extension(
            x509.BasicConstraints(True, None), critical=True
        )
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
        self.path = self._write(
            f"{name}.pem", builder.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM)
        )

    def _builder(self, subject, public):
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(_NOW - timedelta(days=1))
            .not_valid_after(_NOW + timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )

    def _write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def certify(self, name):
        """Make a key and its certificate, and return their files."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = (
            self._builder(subject, key.public_key())
            .add_extension(names, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        certificate = self._write(f"{name}.cert.pem", builder.public_bytes(Encoding.PEM))
        private = self._write(f"{name}.key.pem", encode_private_pem(key))
        private.chmod(0o600)
        return certificate, private

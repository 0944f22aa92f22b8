"""Certificate authorities and certificates, valid and invalid."""

from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.vectors.statements import NOW

_USAGES = {
    "server": ExtendedKeyUsageOID.SERVER_AUTH,
    "time": ExtendedKeyUsageOID.TIME_STAMPING,
    "code": ExtendedKeyUsageOID.CODE_SIGNING,
}


def days(count):
    return NOW + timedelta(days=count)


def name_of(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject, public, since, until):
    return (
        x509.CertificateBuilder()
        .subject_name(name_of(subject))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
    )


def _alternative(name):
    return (
        x509.UniformResourceIdentifier
        if ":" in name
        else x509.RFC822Name
        if "@" in name
        else x509.DNSName
    )(name)


def _key_usage(*, signs, certifies=False):
    return x509.KeyUsage(signs, False, not signs, False, False, certifies, False, False, False)


def with_key_identifiers(builder, private, issuer):
    """Add the key identifiers, which TLS requires since Python 3.13."""
    subject = x509.SubjectKeyIdentifier.from_public_key(private.public_key())
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())
    return builder.add_extension(subject, critical=False).add_extension(authority, critical=False)


class Authority:
    """A certificate authority: a root, or one below another."""

    def __init__(
        self, name, above=None, *, ca=True, usage=None, only=None, rsa_bits=None, private=None
    ):
        self.private = private or (
            rsa.generate_private_key(65537, rsa_bits)
            if rsa_bits
            else ec.generate_private_key(ec.SECP256R1())
        )
        self.subject = name_of(name)
        above = above or self
        builder = _builder(name, self.private.public_key(), days(-3000), days(3000)).issuer_name(
            above.subject
        )
        length = None if above is self else 0
        builder = builder.add_extension(
            x509.BasicConstraints(ca, length if ca else None), critical=True
        )
        builder = builder.add_extension(_key_usage(signs=True, certifies=ca), critical=True)
        builder = with_key_identifiers(builder, self.private, above.private)
        if usage:
            builder = builder.add_extension(x509.ExtendedKeyUsage([_USAGES[usage]]), critical=False)
        if only:
            builder = builder.add_extension(
                x509.NameConstraints([x509.DNSName(only)], None), critical=False
            )
        self.certificate = builder.sign(above.private, hashes.SHA256())

    @property
    def der(self):
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self):
        return self.certificate.public_bytes(Encoding.PEM)


def certificate(
    key,
    authority,
    *,
    subject="signer",
    since=None,
    until=None,
    ca=False,
    signs=True,
    usage=None,
    names=(),
    odd=False,
    critical_usage=False,
    more=(),
):
    """Return a certificate for a key, in DER."""
    until = until or days(365)
    since = since or min(days(-365), until - timedelta(days=1))
    builder = _builder(subject, key.private.public_key(), since, until).issuer_name(
        authority.subject
    )
    builder = builder.add_extension(x509.BasicConstraints(ca, None), critical=True)
    builder = builder.add_extension(_key_usage(signs=signs), critical=True)
    if usage:
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([_USAGES[usage]]), critical=critical_usage
        )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False
        )
    for extension in more:
        builder = builder.add_extension(extension, critical=False)
    if odd:
        unknown = x509.UnrecognizedExtension(
            x509.ObjectIdentifier("1.3.6.1.4.1.4711.1"), b"\x05\x00"
        )
        builder = builder.add_extension(unknown, critical=True)
    return builder.sign(authority.private, hashes.SHA256()).public_bytes(Encoding.DER)

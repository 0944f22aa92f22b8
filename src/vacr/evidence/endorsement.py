"""Endorsements: proof that an attestation key is in a TPM that its maker certified (RFC 9334).

A maker certifies the endorsement key (EK) of a TPM, which cannot sign. So the endorser encrypts a
secret that only this TPM can read, and only if the attestation key is in it, too ("Credential
Protection", TPM 2.0 Library, Part 1, section 24). The secret in the answer is the proof. The
endorser then signs the endorsement, which holds for as long as the TPM keeps the key.

    >>> from vacr.evidence import decode_enrolment, encode_enrolment
    >>> answer = encode_enrolment("answer", {"secret": bytes(32)})
    >>> decode_enrolment(answer, "answer") == {"secret": bytes(32)}
    True

Supported endorsement keys are RSA with 2048 bits and P-256, by the templates that makers of TPMs
use (EK credential profile, L-1 and L-2).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence.messages import (
    INDICATOR_ENDORSEMENTS,
    CmwRecord,
    check_evidence_schema,
    decode_cmw,
    encode_cmw_cbor,
)
from vacr.evidence.tokens import (
    CLAIM_ENDORSED_BY,
    CLAIM_ENDORSED_KEY,
    EAT_CWT_MEDIA_TYPE,
    EAT_IAT,
    EAT_PROFILE,
    ENDORSEMENT_PROFILE,
    ENROLMENT_MEDIA_TYPES,
    NAMED_INFO_SHA256,
    CborToken,
    parse_cwt,
    sign_cwt,
)
from vacr.evidence.tpm_structures import AttestationKey, parse_attestation_key
from vacr.record import decode_shortest_cbor, encode_deterministic_cbor
from vacr.signing import PublicKey, Signer, parse_x5chain

EK_RSA, EK_ECC = "rsa", "ecc"
EndorsementKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

SECRET_LENGTH, SEED_LENGTH = 32, 32
"""The number of random bytes that `create_challenge` needs for the secret and for the seed."""

_DO_NOT_ENDORSE_HINT = "Do not endorse this TPM."
_EK_USAGE = "2.23.133.8.1"
_EK_RSA_BITS = 2048
_P256_ORDER = ec.SECP256R1().group_order
_P256_COORDINATE_LENGTH = 32
_CREDENTIAL_LABEL = b"IDENTITY\0"
_CREDENTIAL_MAGIC, _CREDENTIAL_VERSION = 0xBADCC0DE, 1
"""The header of a credential file of tpm2-tools."""
_AES_LENGTH, _HMAC_LENGTH = 16, 32


_MAX_ENROLMENT_DEPTH, _MAX_ENROLMENT_ITEMS, _MAX_EK_PATH_LENGTH = 6, 1000, 8


@dataclass(frozen=True, slots=True)
class EnrolmentChallenge:
    """A challenge to an attester."""

    sent: bytes
    """The message for the attester."""
    kept: bytes
    """The secret message that the endorser keeps, to check the answer with."""


def create_challenge(
    request: bytes,
    roots: Sequence[x509.Certificate],
    intermediates: Sequence[x509.Certificate],
    now: datetime,
    random: tuple[bytes, bytes],
) -> EnrolmentChallenge:
    """Check an attester's request for an endorsement, and create the challenge for its TPM.

    `roots` and `intermediates` are certificates of TPM makers. `random` are a fresh secret and a
    fresh seed of 32 bytes each. Certificates must be valid at the time `now`.

    Raises:
        InvalidStatement: the request is malformed, the EK certificate is not trusted, or the
            attestation key could leave its TPM.
    """
    enrolment = decode_enrolment(request, "request")
    (certificate,) = parse_x5chain(enrolment["ek-certificate"])
    _check_ek_path(certificate, roots, intermediates, now)
    key = _parse_restricted_key(enrolment["attestation-key"])
    secret, seed = random
    ek = get_endorsement_key(certificate)
    sent = encode_enrolment(
        "challenge",
        {"credential": make_credential(ek, key.name, secret, seed), "ek": get_ek_kind(ek)},
    )
    kept = {
        "secret": secret,
        "name": key.name,
        "ek-certificate": _compute_certificate_digest(certificate),
    }
    return EnrolmentChallenge(sent, encode_enrolment("secret", kept))


def _parse_restricted_key(public: bytes) -> AttestationKey:
    """Parse an attestation key, and check that it is restricted to the data of its TPM.

    Raises:
        InvalidStatement: the key is malformed or not restricted.
    """
    key = parse_attestation_key(public)
    if not key.is_restricted():
        raise InvalidStatement(
            "the attestation key is not restricted: it could sign anything, or leave its TPM",
            reason="attestation-key",
            hint=_DO_NOT_ENDORSE_HINT,
        )
    return key


def _check_ek_path(
    certificate: x509.Certificate,
    roots: Sequence[x509.Certificate],
    intermediates: Sequence[x509.Certificate],
    now: datetime,
) -> None:
    """Check that an EK certificate leads to a trusted root, through certificates that are valid.
    Critical extensions are ignored: makers use them only to describe the TPM.

    Raises:
        InvalidStatement: the path ends elsewhere, or a certificate is expired or not an authority.
    """
    trusted = {_compute_certificate_digest(root) for root in roots}
    issuers, current = [*roots, *intermediates], certificate
    for _ in range(_MAX_EK_PATH_LENGTH):
        if not current.not_valid_before_utc <= now <= current.not_valid_after_utc:
            raise InvalidStatement(
                "a certificate of the TPM is expired or not yet valid",
                reason="ek-expired",
                hint="Check the clock of this machine. Otherwise, do not endorse this TPM.",
            )
        issuer = next(
            (
                candidate
                for candidate in issuers
                if candidate.subject == current.issuer and _is_issued_by(current, candidate)
            ),
            None,
        )
        if issuer is None:
            break
        _check_ek_authority(issuer)
        if _compute_certificate_digest(issuer) in trusted:
            return
        current = issuer
    hint = "Add the maker's root with --ek-root, and the intermediate certificates with --ek-chain."
    raise InvalidStatement(
        "the TPM's certificate does not lead to a trusted maker", reason="ek-untrusted", hint=hint
    )


def _check_ek_authority(certificate: x509.Certificate) -> None:
    """Raise InvalidStatement unless a certificate belongs to an authority (basic constraints)."""
    try:
        is_authority = certificate.extensions.get_extension_for_class(
            x509.BasicConstraints
        ).value.ca
    except (x509.ExtensionNotFound, ValueError):
        is_authority = False
    if not is_authority:
        raise InvalidStatement(
            "a certificate in the TPM's chain does not belong to an authority",
            reason="ek-untrusted",
            hint=_DO_NOT_ENDORSE_HINT,
        )


def _is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether the issuer named and signed a certificate; False if that cannot be checked."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True


def _compute_certificate_digest(certificate: x509.Certificate) -> bytes:
    """Return the SHA-256 of a certificate in DER."""
    return hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()


def create_endorsement(kept: bytes, answer: bytes, signer: Signer, issued_at: int) -> bytes:
    """Return a signed endorsement, if the attester's answer contains the secret of the challenge.

    `kept` is the message that `create_challenge` returned to keep. The right secret proves that the
    attestation key is in the TPM. `issued_at` is the time in seconds since 1970.

    Raises:
        InvalidStatement: a message is malformed, or the answer has another secret.
    """
    challenge, response = decode_enrolment(kept, "secret"), decode_enrolment(answer, "answer")
    if not hmac.compare_digest(challenge["secret"], response["secret"]):
        raise InvalidStatement(
            "wrong answer: the attestation key is not in the TPM of the request",
            reason="enrolment-answer",
            hint="Repeat the steps from vacr evidence endorse request. If it fails again, do not "
            "endorse this TPM.",
        )
    claims = {
        EAT_IAT: issued_at,
        EAT_PROFILE: ENDORSEMENT_PROFILE,
        CLAIM_ENDORSED_KEY: challenge["name"],
        CLAIM_ENDORSED_BY: [NAMED_INFO_SHA256, challenge["ek-certificate"]],
    }
    return encode_cmw_cbor(
        CmwRecord(EAT_CWT_MEDIA_TYPE, sign_cwt(claims, signer), INDICATOR_ENDORSEMENTS)
    )


def get_endorsed_key_name(data: bytes, trusted: Sequence[PublicKey]) -> bytes:
    """Verify an endorsement token, and return the name of the attestation key that it endorses.

    `data` is a CWT without a wrapper, and `trusted` are the keys of endorsers.

    Raises:
        InvalidStatement: the token is malformed, or no trusted endorser signed it.
    """
    token = parse_cwt(data)
    check_evidence_schema(token.claims, "endorsement", "claims of an endorsement")
    if not any(_is_signed_by(token, key) for key in trusted):
        raise InvalidStatement(
            "the endorsement is not signed by a trusted endorser",
            reason="endorsement-untrusted",
            hint="Trust the endorser: list its key under endorser-keys in the policy.",
        )
    name: bytes = token.claims[CLAIM_ENDORSED_KEY]
    return name


def _is_signed_by(token: CborToken, key: PublicKey) -> bool:
    """Return whether a key signed a token."""
    try:
        token.check(key)
    except InvalidStatement:
        return False
    return True


def encode_enrolment(kind: str, value: dict[str, Any], indicator: int | None = None) -> bytes:
    """Return a message of an enrolment, with the parts `value`, in a CMW wrapper as CBOR.

    `kind` is `request`, `challenge`, `secret` or `answer`; `indicator` is for the wrapper, and
    `None` leaves it out.
    """
    return encode_cmw_cbor(
        CmwRecord(ENROLMENT_MEDIA_TYPES[kind], encode_deterministic_cbor(value), indicator)
    )


def decode_enrolment(data: bytes, kind: str) -> dict[str, Any]:
    """Return the parts of an enrolment message, by name, from its CMW wrapper.

    Raises:
        InvalidStatement: the message is malformed, or not of this kind.
    """
    wrapped = decode_cmw(data)
    if not isinstance(wrapped, CmwRecord) or wrapped.media_type != ENROLMENT_MEDIA_TYPES[kind]:
        raise InvalidStatement(f"not the {kind} of an enrolment", reason="enrolment-malformed")
    try:
        value = decode_shortest_cbor(
            wrapped.value, max_depth=_MAX_ENROLMENT_DEPTH, max_items=_MAX_ENROLMENT_ITEMS
        )
    except UnreadableInput as error:
        raise InvalidStatement(
            f"the {kind} is not valid CBOR: {error}", reason="enrolment-malformed"
        ) from error
    check_evidence_schema(value, f"enrolment-{kind}", f"parts of a {kind}")
    message: dict[str, Any] = value
    return message


def get_endorsement_key(certificate: x509.Certificate) -> EndorsementKey:
    """Return the public endorsement key in a certificate.

    Raises:
        InvalidStatement: the certificate is for another purpose, or the key is neither RSA with
            2048 bits nor P-256.
    """
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        usage_oids = {usage.dotted_string for usage in usages}
    except (x509.ExtensionNotFound, ValueError):
        usage_oids = set()
    if _EK_USAGE not in usage_oids:
        raise InvalidStatement(
            "the certificate in the request is not for the endorsement key of a TPM",
            reason="ek-certificate",
            hint="Do not endorse this TPM.",
        )
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size == _EK_RSA_BITS:
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    problem = f"unsupported endorsement key: neither RSA with {_EK_RSA_BITS} bits nor P-256"
    raise InvalidStatement(problem, reason="ek-certificate")


def get_ek_kind(ek: EndorsementKey) -> str:
    """Return the type of an endorsement key, `rsa` or `ecc`."""
    return EK_RSA if isinstance(ek, rsa.RSAPublicKey) else EK_ECC


def make_credential(ek: EndorsementKey, name: bytes, secret: bytes, random: bytes) -> bytes:
    """Encrypt a secret so that only the TPM with two keys can decrypt it (`MakeCredential`).

    The TPM must have the endorsement key `ek`, and the attestation key with this name. `random` is
    the seed. The result is a credential file of tpm2-tools.
    """
    seed, encrypted_seed = (
        _encrypt_rsa_seed(ek, random)
        if isinstance(ek, rsa.RSAPublicKey)
        else _agree_ecc_seed(ek, random)
    )
    storage_key = _derive_key(seed, b"STORAGE", name, _AES_LENGTH)
    integrity_key = _derive_key(seed, b"INTEGRITY", b"", _HMAC_LENGTH)
    encrypted = _encrypt_aes_cfb(_encode_sized(secret), storage_key)
    mac = hmac.digest(integrity_key, encrypted + name, hashlib.sha256)
    return (
        _CREDENTIAL_MAGIC.to_bytes(4, "big")
        + _CREDENTIAL_VERSION.to_bytes(4, "big")
        + _encode_sized(_encode_sized(mac) + encrypted)
        + _encode_sized(encrypted_seed)
    )


def _encrypt_rsa_seed(ek: rsa.RSAPublicKey, random: bytes) -> tuple[bytes, bytes]:
    """Return the random bytes as the seed, and the seed encrypted for the TPM."""
    oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), _CREDENTIAL_LABEL)
    return random, ek.encrypt(random, oaep)


def _agree_ecc_seed(ek: ec.EllipticCurvePublicKey, random: bytes) -> tuple[bytes, bytes]:
    """Return a seed, and a public point; the TPM can compute the same seed from it (KDFe).

    `random` determines the point, and `ek` is the key of the TPM.
    """
    # Twice as many bits as the order has make all scalars equally likely.
    scalar = int.from_bytes(hashlib.sha512(random).digest(), "big") % (_P256_ORDER - 1) + 1
    ephemeral = ec.derive_private_key(scalar, ec.SECP256R1())
    point = ephemeral.public_key().public_numbers()
    x, y, ek_x = (
        coordinate.to_bytes(_P256_COORDINATE_LENGTH, "big")
        for coordinate in (point.x, point.y, ek.public_numbers().x)
    )
    shared = ephemeral.exchange(ec.ECDH(), ek)
    seed = hashlib.sha256((1).to_bytes(4, "big") + shared + _CREDENTIAL_LABEL + x + ek_x).digest()
    return seed, _encode_sized(x) + _encode_sized(y)


def _encrypt_aes_cfb(data: bytes, key: bytes) -> bytes:
    """Encrypt with AES in CFB mode from a zero block; the library is about to drop that mode."""
    # CFB is built from the bare block cipher. That is safe here, because its inputs never repeat.
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 - see above
    encrypted, previous = b"", bytes(_AES_LENGTH)
    for start in range(0, len(data), _AES_LENGTH):
        plain = data[start : start + _AES_LENGTH]
        pad = block.update(previous)
        previous = bytes(left ^ right for left, right in zip(plain, pad, strict=False))
        encrypted += previous
    return encrypted


def _derive_key(key: bytes, label: bytes, context: bytes, size: int) -> bytes:
    """Derive a key of `size` bytes from another key (KDFa); one round suffices for up to 32."""
    data = (1).to_bytes(4, "big") + label + b"\0" + context + (8 * size).to_bytes(4, "big")
    return hmac.digest(key, data, hashlib.sha256)[:size]


def _encode_sized(data: bytes) -> bytes:
    """Return bytes after their length in two bytes, as TPM structures have them (`TPM2B`)."""
    return len(data).to_bytes(2, "big") + data

"""Trust: the policy of a verification, its checks, and the signer of a statement.

Trust has no default: a policy without keys and roots trusts no signer. A signer is trusted because
the policy lists their key, or because a certificate chain in the statement leads to a root in the
policy. This module finds the trusted keys that may have signed a statement, and the key that did.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import ALG_EDDSA, KeySigner, parse_sign1, sign
    >>> from vacr.verification import Policy, list_candidate_signers
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> message = parse_sign1(sign(b"a record", signer))
    >>> policy = Policy(keys=(signer.public_key,))
    >>> [str(candidate) for candidate in list_candidate_signers(message, ALG_EDDSA, policy)]
    ['key 6f7deef65d54a699']

Chains follow RFC 5280, section 6, as far as certificates of signers need it. Critical extensions
that we do not implement are refused, certificate policies included. Name constraints are refused
even if not critical: ignoring them would let an authority certify names it must not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import InvalidStatement, VacrError
from vacr.signing import (
    ALGORITHMS,
    HEADER_ALG,
    HEADER_KID,
    HEADER_X5CHAIN,
    HEADER_X5T,
    MIN_RSA_BITS,
    PublicKey,
    Sign1,
    check_x5t,
    compute_thumbprint,
    compute_thumbprint_uri,
    find_kccs_key,
    format_thumbprint_uri,
    get_algorithm,
    parse_x5chain,
    verify_signature,
)
from vacr.transparency import ENTRY_RULE_STATEMENT

if TYPE_CHECKING:
    from vacr.evidence import EvidenceRequirement

Extension = TypeVar("Extension", bound=x509.ExtensionType)

CHECK_PASSED, CHECK_FAILED, CHECK_UNDECIDED = "passed", "failed", "not decidable"

CHECK_NAMES = (
    "structure",
    "algorithm",
    "trust",
    "signature",
    "content",
    "claims",
    "receipt",
    "timestamp",
    "certificate",
    "metadata",
    "record",
    "attribution",
    "source",
    "evidence",
)
"""The names of the checks, in the order they are made."""

_CODE_SIGNING_USAGE = "1.3.6.1.5.5.7.3.3"
_ANY_EXTENDED_KEY_USAGE = "2.5.29.37.0"
_UNDERSTOOD_EXTENSIONS = frozenset(
    extension.oid
    for extension in (
        x509.BasicConstraints,
        x509.KeyUsage,
        x509.ExtendedKeyUsage,
        x509.SubjectAlternativeName,
    )
)


@dataclass(frozen=True)
class Policy:
    """The trusted keys, and the requirements on a statement."""

    keys: tuple[PublicKey, ...] = ()
    """Public keys that are trusted directly."""
    roots: tuple[x509.Certificate, ...] = ()
    """Root certificates that a certificate chain may end in."""
    issuer: str | None = None
    subject: str | None = None
    algorithms: frozenset[int] = field(default_factory=lambda: frozenset(ALGORITHMS))
    extended_key_usage: str | None = None
    """A usage (OID) that the signer's certificate must have.

    A certificate that lists usages must list this one or code signing.
    """
    timestamp_roots: tuple[x509.Certificate, ...] = ()
    needs_timestamp: bool = False
    log_keys: tuple[PublicKey, ...] = ()
    """Public keys of transparency logs.

    With any, a statement needs a receipt of one of these logs.
    """
    entry_rule: str = ENTRY_RULE_STATEMENT
    """How the logs derive an entry from a statement; see `vacr.transparency.build_log_entry`."""
    lenient_receipts: bool = False
    """Accept a receipt with an empty path, for the only entry of a log.

    RFC 9942 does not allow it.
    """
    needs_record: bool = False
    """Require that the payload is a record."""
    schema_version: str | None = None
    """The major schema version that a record must have."""
    evidence: EvidenceRequirement | None = None
    """The evidence required about how a record was recorded."""


@dataclass(frozen=True, slots=True)
class Check:
    """A finished check: its name, its outcome and its finding."""

    name: str
    outcome: str
    finding: str
    reason: str = ""


@dataclass(slots=True)
class Checks:
    """The checks of a verification in progress."""

    finished: list[Check] = field(default_factory=list)

    def add_passed(self, name: str, finding: str) -> None:
        """Add a check that passed."""
        self.finished.append(Check(name, CHECK_PASSED, finding))

    def add_undecided(self, name: str, finding: str) -> None:
        """Add a check that the verifier cannot make, such as one without trusted keys."""
        self.finished.append(Check(name, CHECK_UNDECIDED, finding))

    @contextmanager
    def run(self, name: str) -> Iterator[None]:
        """Run a part of a check, and turn an error in it into a failed check.

        Raises:
            VerificationFailed: the part raised an error.
        """
        try:
            yield
        except VacrError as error:
            failure = (
                error
                if isinstance(error, InvalidStatement)
                else InvalidStatement(str(error), reason="unreadable")
            )
            self.finished.append(Check(name, CHECK_FAILED, str(failure), failure.reason))
            raise VerificationFailed(failure, tuple(self.finished)) from error


class VerificationFailed(InvalidStatement):
    """A verification that a failed check ended; `checks` are the checks up to and including it."""

    def __init__(self, error: InvalidStatement, checks: tuple[Check, ...]) -> None:
        """Copy the message and the reason of an error, and keep the checks."""
        super().__init__(error.message, reason=error.reason, where=error.where, hint=error.hint)
        self.checks = checks


@dataclass(frozen=True)
class TrustedSigner:
    """A trusted key: trusted directly, or through `path`, the certificates from signer to root."""

    key: PublicKey
    path: tuple[x509.Certificate, ...] = ()

    def __str__(self) -> str:
        """Name the signer and the root, or the key."""
        if self.path:
            return (
                f"{self.path[0].subject.rfc4514_string()}, certified by "
                f"{self.path[-1].subject.rfc4514_string()}"
            )
        return f"key {self.thumbprint.hex()[:16]}"

    @cached_property
    def thumbprint(self) -> bytes:
        """The thumbprint of the key."""
        return compute_thumbprint(self.key)

    @cached_property
    def uri(self) -> str:
        """The thumbprint of the key as a URI."""
        return format_thumbprint_uri(self.thumbprint)


def check_algorithm(message: Sign1, policy: Policy) -> int:
    """Return the number of a statement's algorithm.

    Raises:
        InvalidStatement: it is missing, unprotected, unknown, or not allowed by the policy.
    """
    if HEADER_ALG in message.unprotected:
        raise InvalidStatement(
            "the algorithm is not signed: it is in the unprotected header", reason="alg-unprotected"
        )
    if HEADER_ALG not in message.protected:
        raise InvalidStatement("the statement names no algorithm", reason="alg-missing")
    algorithm = get_algorithm(message.protected[HEADER_ALG])
    if algorithm.number not in policy.algorithms:
        raise InvalidStatement(
            f"the policy does not allow {algorithm.name}", reason="alg-not-allowed"
        )
    return algorithm.number


def list_candidate_signers(message: Sign1, algorithm: int, policy: Policy) -> list[TrustedSigner]:
    """Return the trusted keys that may have signed a statement, the likeliest first.

    Raises:
        InvalidStatement: no trusted key can have signed it, or its chain is not trusted.
    """
    if not policy.keys and not policy.roots:
        raise InvalidStatement(
            "no trusted key given",
            reason="no-trust",
            hint="Add --trust KEY, or --trust CERTIFICATE.",
        )
    chain = _parse_certificate_chain(message)
    certified_key = chain[0].public_key() if chain else None
    candidates = [
        TrustedSigner(key)
        for key in policy.keys
        if ALGORITHMS[algorithm].fits(key)
        and (certified_key is None or _is_same_key(key, certified_key))
    ]
    key_id = message.protected.get(HEADER_KID, message.unprotected.get(HEADER_KID))
    candidates.sort(key=lambda candidate: not matches_key_id(candidate.key, key_id))
    if candidates and policy.extended_key_usage is None:
        return candidates
    if chain and policy.roots:
        return [_check_certified_signer(message, chain, algorithm, policy)]
    if candidates:
        raise InvalidStatement(
            "the policy requires a key usage, but the trusted key has no certificate to state it",
            reason="extended-key-usage",
        )
    if any(matches_key_id(key, key_id) for key in policy.keys):
        raise InvalidStatement(
            f"{ALGORITHMS[algorithm].name} cannot be used with this kind of key", reason="alg-key"
        )
    problem = (
        "the certificate chain does not lead to a trusted root"
        if chain
        else "no trusted key works with the statement's algorithm"
    )
    raise InvalidStatement(
        problem,
        reason="untrusted",
        hint="Add --trust with the signer's key, or with the root of the chain.",
    )


def _check_certified_signer(
    message: Sign1, chain: list[x509.Certificate], algorithm: int, policy: Policy
) -> TrustedSigner:
    """Return the signer that a trusted certificate chain names."""
    # RFC 9360: an authority may have certified the same key for another owner, too.
    if not {HEADER_X5CHAIN, HEADER_X5T} & message.protected.keys():
        raise InvalidStatement(
            "the certificate chain is not signed: anyone may have added it",
            reason="x5chain-unprotected",
        )
    path = check_certificate_chain(chain, policy.roots, policy.extended_key_usage)
    key = chain[0].public_key()
    if not ALGORITHMS[algorithm].fits(key):
        raise InvalidStatement(
            f"{ALGORITHMS[algorithm].name} cannot be used with the certificate's key",
            reason="alg-key",
        )
    return TrustedSigner(key, tuple(path))


def _parse_certificate_chain(message: Sign1) -> list[x509.Certificate]:
    chain: list[x509.Certificate] = []
    for headers in (message.protected, message.unprotected):
        if HEADER_X5CHAIN in headers:
            chain = parse_x5chain(headers[HEADER_X5CHAIN])
    if HEADER_X5T in message.unprotected:
        raise InvalidStatement(
            "x5t is not signed: it is in the unprotected header", reason="x5t-unprotected"
        )
    if chain and HEADER_X5T in message.protected:
        check_x5t(message.protected[HEADER_X5T], chain[0])
    return chain


def _is_same_key(first: PublicKey, second: PublicKey) -> bool:
    return compute_thumbprint(first) == compute_thumbprint(second)


def matches_key_id(key: PublicKey, key_id: Any) -> bool:
    """Return whether a `kid` names a key, in bytes or in text as some implementations write it."""
    if key_id is None:
        return False
    thumbprint = compute_thumbprint(key)
    if isinstance(key_id, str):
        return key_id in (thumbprint.hex(), compute_thumbprint_uri(key))
    return bool(key_id == thumbprint)


def check_signature(
    message: Sign1, algorithm: int, payload: bytes, candidates: list[TrustedSigner]
) -> TrustedSigner:
    """Return the candidate whose key verifies the signature.

    Raises:
        InvalidStatement: no candidate's key does.
    """
    signed, first_error = message.to_be_signed(payload), None
    for candidate in candidates:
        try:
            verify_signature(algorithm, candidate.key, message.signature, signed)
        except InvalidStatement as error:
            first_error = first_error or error
        else:
            return candidate
    if first_error is not None and first_error.reason == "signature":
        first_error.hint = _suggest_signature_cause(message, candidates)
    raise first_error or InvalidStatement("no trusted key to verify with", reason="untrusted")


def _suggest_signature_cause(message: Sign1, candidates: list[TrustedSigner]) -> str:
    """Suggest why a signature does not verify: another key signed, or the content changed."""
    key_id = message.protected.get(HEADER_KID)
    if type(key_id) is not bytes:
        return ""
    if any(matches_key_id(candidate.key, key_id) for candidate in candidates):
        return "The statement names this key: it or the file changed after signing, or is forged."
    return f"The statement names another key as its signer: key {key_id.hex()[:16]}."


def check_carried_key(message: Sign1, signer: TrustedSigner) -> None:
    """Check that the key which a statement carries, if any, is the signer's.

    Raises:
        InvalidStatement: it is another key, or cannot be read.
    """
    key = find_kccs_key(message)
    if key is not None and not _is_same_key(key, signer.key):
        raise InvalidStatement(
            "the statement carries a different key than its signer's", reason="kccs-mismatch"
        )


def check_certificate_chain(
    chain: Sequence[x509.Certificate], roots: Sequence[x509.Certificate], usage: str | None
) -> list[x509.Certificate]:
    """Check that a chain leads from the signer's certificate to a root, and return the path.

    Raises:
        InvalidStatement: it does not, or a certificate is not allowed in its place.
    """
    for certificate, issuer in pairwise(chain):
        if certificate.issuer != issuer.subject:
            raise InvalidStatement(
                "the certificate chain is out of order: the issuer must follow each certificate",
                reason="x5chain-order",
            )
    path = _find_path_to_root(list(chain), roots)
    # From the root down: an attacker without a certified key costs us one signature check, not
    # as many as fit into a message.
    for issuer, certificate in pairwise(reversed(chain[: len(path)])):
        _check_issuer_signature(certificate, issuer)
    for certificate in path:
        _check_extensions(certificate)
    _check_signer_certificate(path[0], usage)
    for authorities_below, certificate in enumerate(path[1:]):
        _check_authority_certificate(certificate, authorities_below, usage)
    return path


def _find_path_to_root(
    chain: list[x509.Certificate], roots: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    """Return the chain up to a trusted certificate, or up to the root that issued its end."""
    trusted = {root.public_bytes(Encoding.DER) for root in roots}
    for position, certificate in enumerate(chain):
        if certificate.public_bytes(Encoding.DER) in trusted:
            return chain[: position + 1]
    for root in roots:
        if root.subject == chain[-1].issuer:
            try:
                chain[-1].verify_directly_issued_by(root)
            except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
                continue
            return [*chain, root]
    raise InvalidStatement(
        "the certificate chain does not lead to a trusted root", reason="untrusted"
    )


def _check_issuer_signature(certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidStatement(
            "a certificate in the chain is not signed by its issuer", reason="x5chain-signature"
        ) from error


def _check_extensions(certificate: x509.Certificate) -> None:
    try:
        unknown = [
            extension.oid
            for extension in certificate.extensions
            if extension.critical and extension.oid not in _UNDERSTOOD_EXTENSIONS
        ]
        constrained = _find_extension(certificate, x509.NameConstraints) is not None
    except ValueError as error:
        raise InvalidStatement(
            f"cannot read the extensions of a certificate: {error}", reason="x5chain-malformed"
        ) from error
    if unknown:
        raise InvalidStatement(
            f"a certificate has an unsupported critical extension: {unknown[0].dotted_string}",
            reason="x5chain-critical",
        )
    if constrained:
        raise InvalidStatement(
            "a certificate has name constraints, and vacr does not support them",
            reason="name-constraints",
        )


def _check_signer_certificate(certificate: x509.Certificate, usage: str | None) -> None:
    constraints = _find_extension(certificate, x509.BasicConstraints)
    if constraints is not None and constraints.ca:
        raise InvalidStatement(
            "the signer's certificate belongs to an authority, not to a signer",
            reason="signer-is-authority",
        )
    keys = _find_extension(certificate, x509.KeyUsage)
    if keys is not None and not (keys.digital_signature or keys.content_commitment):
        raise InvalidStatement(
            "the signer's certificate does not allow signatures", reason="key-usage"
        )
    usages = _list_extended_key_usages(certificate)
    if usage is not None and usage not in usages:
        raise InvalidStatement(
            f"the signer's certificate does not allow the usage {usage}",
            reason="extended-key-usage",
        )
    if usages and not usages & {_CODE_SIGNING_USAGE, _ANY_EXTENDED_KEY_USAGE, usage}:
        raise InvalidStatement(
            "the signer's certificate does not allow signing", reason="extended-key-usage"
        )


def _check_authority_certificate(
    certificate: x509.Certificate, authorities_below: int, usage: str | None
) -> None:
    """Check a certificate that issued another, above `authorities_below` other authorities."""
    constraints = _find_extension(certificate, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        raise InvalidStatement(
            "a certificate in the chain does not belong to an authority", reason="not-an-authority"
        )
    if constraints.path_length is not None and authorities_below > constraints.path_length:
        raise InvalidStatement(
            "the certificate chain is longer than an authority allows", reason="path-length"
        )
    keys = _find_extension(certificate, x509.KeyUsage)
    if keys is not None and not keys.key_cert_sign:
        raise InvalidStatement(
            "an authority in the chain is not allowed to sign certificates", reason="key-usage"
        )
    usages = _list_extended_key_usages(certificate)
    if usages and not usages & {_CODE_SIGNING_USAGE, _ANY_EXTENDED_KEY_USAGE, usage}:
        raise InvalidStatement(
            "an authority in the chain is not allowed to certify signers",
            reason="authority-key-usage",
        )
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        raise InvalidStatement(
            f"the key of an authority in the chain is too short: {key.key_size} bits",
            reason="authority-key-weak",
        )


def _list_extended_key_usages(certificate: x509.Certificate) -> set[str]:
    usages = _find_extension(certificate, x509.ExtendedKeyUsage)
    return {usage.dotted_string for usage in usages} if usages is not None else set()


def check_validity_period(path: Sequence[x509.Certificate], time: datetime) -> None:
    """Check that all certificates of a path are valid at a time.

    Raises:
        InvalidStatement: one is not.
    """
    for certificate in path:
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        if time < start:
            raise InvalidStatement(
                f"a certificate in the chain is not valid before {format_time(start)}",
                reason="not-yet-valid",
            )
        if time > end:
            raise InvalidStatement(
                f"a certificate in the chain expired at {format_time(end)}", reason="expired"
            )


def matches_claimed_issuer(certificate: x509.Certificate, issuer: str) -> bool:
    """Return whether a certificate names an issuer: its URI, its host or its mailbox.

    A certificate without alternative names does not restrict the issuer.
    """
    names = _find_extension(certificate, x509.SubjectAlternativeName)
    if names is None or not list(names):
        return True
    uris = set(names.get_values_for_type(x509.UniformResourceIdentifier))
    mailboxes = {f"mailto:{name}" for name in names.get_values_for_type(x509.RFC822Name)}
    hosts = {name.lower() for name in names.get_values_for_type(x509.DNSName)}
    return issuer in uris | mailboxes or _parse_host(issuer) in hosts


def _parse_host(issuer: str) -> str | None:
    try:
        return urlsplit(issuer).hostname or None
    except ValueError:
        return None


def _find_extension(
    certificate: x509.Certificate, extension_class: type[Extension]
) -> Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(extension_class).value
    except x509.ExtensionNotFound:
        return None


def format_time(time: datetime) -> str:
    """Format a time in UTC, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

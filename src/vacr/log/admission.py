"""Decide who may register what in a log, and refuse everything else with a problem document.

A log would accept any bytes; its registration policy (RFC 9943 section 6) makes an entry mean
something. The signature of a statement is always verified. If the policy names keys or
authorities, one of them must have signed; otherwise the key that the statement itself carries, so
that nobody can register in the name of a key that they do not have.

    >>> from vacr.log.admission import RegistrationPolicy
    >>> from vacr.signing import KeySigner, generate_key, sign
    >>> from vacr.verification import Policy
    >>> policy = RegistrationPolicy(Policy())
    >>> statement = sign(b"a record", KeySigner(generate_key("es256")))
    >>> len(policy.admit(statement)) > 100     # the entry to be logged
    True
    >>> policy.admit(b"a record")
    Traceback (most recent call last):
    vacr.log.admission.Problem: Malformed Statement: ...

Callers are limited, too: by tokens, and by how many statements each may send per second. A refusal
is a `Problem`, sent as concise problem details (RFC 9290) as SCRAPI demands.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import cbor2

from vacr.errors import InvalidStatement, UnreadableInput, VacrError, escape_unprintable
from vacr.log.ledger import NoReceiptYet
from vacr.log.storage import LogDamaged, StorageFailed
from vacr.signing import (
    CLAIM_ISS,
    CLAIM_SUB,
    HEADER_CWT_CLAIMS,
    HEADER_KID,
    HEADER_X5CHAIN,
    HEADER_X5T,
    Sign1,
    find_carried_key,
    parse_sign1,
)
from vacr.transparency import MAX_ENTRY_SIZE, build_log_entry
from vacr.verification import (
    ROLE_SIGNER,
    Policy,
    TrustedSigner,
    TrustStore,
    check_algorithm,
    check_claims,
    check_party_validity,
    check_signature,
    check_validity_period,
    detect_profile,
    is_issuer_bound,
    list_candidate_signers,
)

DEFAULT_CALL_RATE = 10_000.0
"""How many statements a second each caller may send, by default."""
PROBLEM_MEDIA_TYPE = "application/concise-problem-details+cbor"
_PROBLEM_TITLE, _PROBLEM_DETAIL = -1, -2
_MAX_DETAIL_LENGTH = 1000
_MAX_KNOWN_KEYS = 4096
_MAX_TRACKED_CALLERS = 10_000
_MIN_TOKEN_LENGTH = 16
_TOKEN_PATTERN = re.compile(rb"[\x21-\x7e]{%d,}" % _MIN_TOKEN_LENGTH)
_BEARER_PREFIX = b"bearer "
_IPV6_HOST_BITS = 64
"""The last bits of an IPv6 address, which its owner can choose freely."""
_DETACHED_MESSAGE = (
    "the statement lacks its payload, so its signature cannot be verified; "
    "sign a hash envelope instead: vacr sign FILE --key KEY --overwrite"
)
_MISSING_KEY_MESSAGE = (
    "the key that signed the statement is unknown here, and the statement does not contain it; "
    "sign it with vacr sign, or let the log trust the key: vacr log serve --trust KEY"
)
_log = logging.getLogger("vacr.log")


# --- Problems ---


class Problem(VacrError):  # noqa: N818 - the word of RFC 9290
    """A refused request, with the HTTP response that explains it."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        retry_after: int | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the parts of the response; `retry_after` is in seconds."""
        super().__init__(f"{title}: {detail}")
        self.status = status
        self.title = title
        self.detail = detail
        self.retry_after = retry_after
        self.extra_headers = extra_headers or {}

    def encode_body(self) -> bytes:
        """Return the body of the response: title and detail in CBOR (RFC 9290)."""
        document = {
            _PROBLEM_TITLE: self.title,
            _PROBLEM_DETAIL: escape_unprintable(self.detail[:_MAX_DETAIL_LENGTH]),
        }
        return cbor2.dumps(document, canonical=True)

    def list_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the response, as pairs of lower-case name and value."""
        headers = [(b"content-type", PROBLEM_MEDIA_TYPE.encode())]
        if self.retry_after is not None:
            headers.append((b"retry-after", str(self.retry_after).encode()))
        for name, value in self.extra_headers.items():
            headers.append((name.lower().encode(), value.encode()))
        return headers


def build_no_receipt_problem(status: int) -> Problem:
    """Return the problem for a request for the receipt of a log's only entry."""
    error = NoReceiptYet()
    return Problem(status, "No Receipt Yet", f"{error.message}. {error.hint}")


def build_unavailable_problem(error: VacrError, *, addition: str = "") -> Problem:
    """Return the problem (503) for an error of the log, with `addition` after its message."""
    return Problem(503, "Unavailable", describe_public_error(error) + addition, retry_after=1)


def describe_public_error(error: VacrError) -> str:
    """Return an error's message for remote callers.

    For a database error, that is a fixed text: callers must not learn the database's address.
    """
    return "the log's database failed" if isinstance(error, StorageFailed) else error.message


def report_damage(error: LogDamaged) -> Problem:
    """Log damage of the log for its administrator, and return the problem (500) to send."""
    _log.error("the log is damaged: %s. %s", error.message, error.hint)
    return Problem(500, "Log Damaged", f"the log is damaged: {error.message}; tell its operator")


def report_internal_error(error: Exception) -> Problem:
    """Log an unexpected error for the administrator, and return the problem (500) to send."""
    _log.error(
        "a bug in vacr: %s: %s",
        type(error).__name__,
        error,
        exc_info=_log.isEnabledFor(logging.INFO),
    )
    return Problem(500, "Internal Server Error", "a bug in vacr; the service has logged it")


# --- Statements ---


@dataclass
class RegistrationPolicy:
    """The registration policy of a log."""

    policy: Policy
    """The keys, authorities and signers of a trust store that may register.

    If it names none, every key may.
    """
    issuers: frozenset[str] = frozenset()
    """The issuers that statements may name, if they are bound to the signer; if empty, any."""
    max_entry_size: int = MAX_ENTRY_SIZE
    """The maximum size of an entry, in bytes."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _known_signers: dict[bytes, TrustedSigner] = field(init=False)
    """The signers of earlier statements and of the policy's keys, by thumbprint."""

    def __post_init__(self) -> None:
        """Index the policy's keys by thumbprint."""
        store = self.policy.trust_store or TrustStore()
        keys = (*self.policy.keys, *store.list_keys(ROLE_SIGNER))
        signers = [TrustedSigner(key, party=store.find_by_key(key, ROLE_SIGNER)) for key in keys]
        self._known_signers = {signer.thumbprint: signer for signer in signers}

    def admit(self, statement: bytes) -> bytes:
        """Check a statement, and return its entry for the log.

        Raises:
            Problem: the policy refuses the statement.
        """
        try:
            message = parse_sign1(statement)
        except InvalidStatement as error:
            raise Problem(400, "Malformed Statement", str(error)) from error
        if message.payload is None:
            raise Problem(400, "Payload Missing", _DETACHED_MESSAGE)
        entry = build_log_entry(message)
        if len(entry) > self.max_entry_size:
            detail = (
                f"the entry would have {len(entry)} bytes, and this log accepts at most "
                f"{self.max_entry_size}; sign a hash envelope instead"
            )
            raise Problem(413, "Statement Too Large", detail)
        try:
            self._check_statement(message, message.payload)
        except InvalidStatement as error:
            raise _build_statement_problem(error) from error
        return entry

    def _check_statement(self, message: Sign1, payload: bytes) -> None:
        """Check a statement's headers, signature, claims and certificates.

        Raises:
            InvalidStatement: a check fails.
            Problem: the statement does not contain its key, and the policy names none.
        """
        _check_required_headers(message)
        detect_profile(message)
        algorithm = check_algorithm(message, self.policy)
        candidates = self._list_signers(message, algorithm)
        store = self.policy.trust_store
        signer = check_signature(message, algorithm, payload, candidates, store)
        now = self.clock()
        claims = check_claims(message, self.policy, signer, now)
        if self.issuers and claims[CLAIM_ISS] not in self.issuers:
            raise InvalidStatement(
                f"this log does not accept statements of the issuer {claims[CLAIM_ISS]}",
                reason="issuer",
            )
        if self.issuers and not is_issuer_bound(claims[CLAIM_ISS], signer):
            raise InvalidStatement(
                f"nothing binds the issuer {claims[CLAIM_ISS]} to the key that signed",
                reason="issuer-unbound",
            )
        if signer.party is not None:
            check_party_validity(signer.party, now)
        if signer.path:
            check_validity_period(signer.path, now)

    def _list_signers(self, message: Sign1, algorithm: int) -> list[TrustedSigner]:
        """Return the signers whose signature on this statement would be accepted.

        Most statements come from few keys, so their signers are kept for the next statement.

        Raises:
            Problem: the statement does not contain its key, and the policy names none.
            InvalidStatement: the policy trusts no key or authority of this statement.
        """
        kid = message.protected.get(HEADER_KID)
        has_chain = _has_certificate_chain(message)
        known = self._known_signers.get(kid) if type(kid) is bytes and not has_chain else None
        if known is not None:
            return [known]
        if self.policy.keys or self.policy.roots or self.policy.trust_store is not None:
            return list_candidate_signers(message, algorithm, self.policy)
        key = find_carried_key(message)
        if key is None:
            raise Problem(400, "Confirmation Missing", _MISSING_KEY_MESSAGE)
        signers = list_candidate_signers(message, algorithm, replace(self.policy, keys=(key,)))
        if not has_chain:
            if len(self._known_signers) >= _MAX_KNOWN_KEYS:
                oldest = next(iter(self._known_signers))
                self._known_signers.pop(oldest)
            self._known_signers[signers[0].thumbprint] = signers[0]
        return signers


def _has_certificate_chain(message: Sign1) -> bool:
    return HEADER_X5CHAIN in message.protected or HEADER_X5CHAIN in message.unprotected


def _check_required_headers(message: Sign1) -> None:
    """Check for the headers that RFC 9943 requires of every statement.

    Raises:
        InvalidStatement: one is missing.
    """
    if not message.tagged:
        raise InvalidStatement("the statement lacks the tag of COSE_Sign1 (18)", reason="tag")
    claims: Any = message.protected.get(HEADER_CWT_CLAIMS)
    if not isinstance(claims, dict) or not all(
        isinstance(claims.get(name), str) for name in (CLAIM_ISS, CLAIM_SUB)
    ):
        raise InvalidStatement(
            "the protected header must name an issuer and a subject (CWT claims)",
            reason="claims-missing",
        )
    if not {HEADER_KID, HEADER_X5T, HEADER_X5CHAIN} & message.protected.keys():
        raise InvalidStatement(
            "the protected header must name the key: kid, x5t or x5chain", reason="kid-missing"
        )


def _build_statement_problem(error: InvalidStatement) -> Problem:
    """Return the problem (400) for an invalid statement."""
    if error.reason.startswith("alg-"):
        return Problem(400, "Bad Signature Algorithm", str(error))
    detail = str(error)
    if error.reason == "signature" and error.hint:
        detail = f"{error}. {error.hint}"
    return Problem(400, "Rejected", detail)


# --- Callers ---


class AllowedTokens:
    """The bearer tokens that may register; only their hashes are kept in memory."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        """Take the lines of a token file, one token each; skip empty lines and comments (`#`).

        Raises:
            UnreadableInput: no line has a token, or a token is shorter than 16 characters or not
                printable ASCII.
        """
        lines = [line.strip() for line in tokens]
        usable = [line for line in lines if line and not line.startswith(b"#")]
        if not usable:
            raise UnreadableInput(
                "the token file contains no token", hint="Write one token per line."
            )
        # Clients can send only visible ASCII characters (RFC 6750), so no other token would work.
        if not all(map(_TOKEN_PATTERN.fullmatch, usable)):
            message = (
                f"a token in the token file is unusable: each must have at least "
                f"{_MIN_TOKEN_LENGTH} characters of printable ASCII, without spaces"
            )
            raise UnreadableInput(message, hint="To create a token: openssl rand -hex 16")
        self.hashes = [_hash_token(token) for token in usable]

    def check(self, authorization: bytes | None) -> str:
        """Check the Authorization header of a request, and return the hash of its token.

        The hash, in hexadecimal, stands for the caller.

        Raises:
            Problem: the token is missing or wrong.
        """
        if authorization is None or not authorization.lower().startswith(_BEARER_PREFIX):
            raise _build_unauthorized_problem(
                "registering here needs a token: vacr register --token-file FILE"
            )
        token_hash = _hash_token(authorization[len(_BEARER_PREFIX) :].strip())
        for known_hash in self.hashes:
            if hmac.compare_digest(known_hash, token_hash):
                return known_hash.hex()
        raise _build_unauthorized_problem("this token may not register here", "invalid_token")


def _hash_token(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _build_unauthorized_problem(detail: str, error: str = "") -> Problem:
    """Return the problem (401) for a missing or wrong token.

    `error` is the error code for the header WWW-Authenticate (RFC 6750, section 3).
    """
    challenge = "Bearer" + (f' error="{error}"' if error else "")
    return Problem(401, "Unauthorized", detail, extra_headers={"WWW-Authenticate": challenge})


class RateLimiter:
    """A token bucket per caller: `rate` calls a second, and as many at once (at least one)."""

    def __init__(
        self, rate: float = DEFAULT_CALL_RATE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow `rate` calls a second; `clock` returns seconds."""
        self.rate = rate
        self.capacity = max(rate, 1.0)
        self.clock = clock
        self.buckets: dict[str, tuple[float, float]] = {}
        """Time of the last call and calls left then, by caller; the latest caller comes last."""

    def take(self, caller: str) -> None:
        """Count a call of a caller, who is named by token hash or address.

        Raises:
            Problem: the caller has called too often.
        """
        now = self.clock()
        last_call, left = self.buckets.pop(caller, (now, self.capacity))
        left = min(self.capacity, left + (now - last_call) * self.rate)
        if len(self.buckets) >= _MAX_TRACKED_CALLERS:
            longest_idle = next(iter(self.buckets))
            self.buckets.pop(longest_idle)
        if left < 1:
            self.buckets[caller] = (now, left)
            raise Problem(
                429,
                "Too Many Requests",
                f"this log accepts at most {self.rate:g} requests a second from each caller",
                retry_after=max(1, math.ceil((1 - left) / self.rate)),
            )
        self.buckets[caller] = (now, left - 1)


def check_caller(
    scope: MutableMapping[str, Any], tokens: AllowedTokens | None, rates: RateLimiter
) -> None:
    """Check the caller's token, unless `tokens` is None, and count the call.

    `scope` is the ASGI scope of the request. Calls are counted by token, or by address if the token
    is not required, missing or wrong.

    Raises:
        Problem: the token is missing or wrong, or there were too many calls.
    """
    if tokens is None:
        rates.take(get_caller_address(scope))
        return
    try:
        caller = tokens.check(dict(scope["headers"]).get(b"authorization"))
    except Problem:
        rates.take(get_caller_address(scope))
        raise
    rates.take(caller)


def get_caller_address(scope: MutableMapping[str, Any]) -> str:
    """Return the IPv4 address of the caller, or its IPv6 network of 64 bits.

    Within that network, the caller can choose addresses. Return an empty text if the ASGI scope
    has no IP address.
    """
    client = scope.get("client")
    return _group_ip_address(client[0]) if client else ""


@lru_cache(_MAX_TRACKED_CALLERS)
def _group_ip_address(text: str) -> str:
    """Return an IPv4 address as it is, and the first 64 bits of an IPv6 address.

    For example, `2001:db8::1:2` becomes `2001:db8::`. Other texts become empty.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    if isinstance(address, IPv4Address):
        return text
    network = IPv6Address(int(address) >> _IPV6_HOST_BITS << _IPV6_HOST_BITS)
    return str(address.ipv4_mapped or network)

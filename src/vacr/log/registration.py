"""What a service says when it refuses: concise problem details. Step: register. Follows RFC 9290
and SCRAPI.

Which statements a log takes: the registration policy. Step: register. Follows RFC 9943 section
6.

A signature is always verified. Where keys or authorities are named, it has to be by one of them;
else by the key that the statement itself carries and names, so that nobody can register in the name
of a key they do not have.

Who calls: tokens, and how often each may call. Step: register.

What a service counts, in the text form of Prometheus. Step: register.

What an entry is called in addresses: the hash of its leaf. Step: register.

It is written as two decimal numbers with a dot between them. SCRAPI leaves the form open; a client
(pyscitt) takes no other.

While an entry waits for its place, its name also tells when it was taken: the seconds stand above
the bits of the second number. So any front end of a log, also one that never saw the statement, can
tell what may still be on its way from what is not there. Nothing depends on nobody making up such a
name: whoever does is sent back for some seconds, and then told that there is nothing.

`/entries`: statements in, receipts out. Step: register. Follows SCRAPI.

This is written against ASGI itself, since it is what a log spends its time on: one statement in, a
wait for its batch, one receipt out. With `always_303` a statement is answered at once with the
address of its receipt.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import math
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import cbor2

from vacr.errors import InvalidStatement, UnreadableInput, VacrError, escape_unprintable
from vacr.log.ledger import BatchResults, LogBusy, NoReceiptYet, PlacedEntry, Sequencer
from vacr.log.storage import StorageFailed
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
from vacr.transparency import MAX_ENTRY_SIZE, build_log_entry, hash_leaf
from vacr.verification import (
    Policy,
    TrustedSigner,
    check_algorithm,
    check_claims,
    check_signature,
    check_validity_period,
    detect_profile,
    list_candidate_signers,
)

PROBLEM_MEDIA_TYPE = "application/concise-problem-details+cbor"
_PROBLEM_TITLE, _PROBLEM_DETAIL = -1, -2
_MAX_DETAIL_LENGTH = 1000
_log = logging.getLogger("vacr.log")


class Problem(VacrError):  # noqa: N818 - the word of RFC 9290
    """A request that is refused, with the status that tells why."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        retry_after: int | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what to answer, and the headers that go with it."""
        super().__init__(f"{title}: {detail}")
        self.status = status
        self.title = title
        self.detail = detail
        self.retry_after = retry_after
        self.more = more or {}

    def body(self) -> bytes:
        """Write the answer."""
        return cbor2.dumps(
            {
                _PROBLEM_TITLE: self.title,
                _PROBLEM_DETAIL: escape_unprintable(self.detail[:_MAX_DETAIL_LENGTH]),
            },
            canonical=True,
        )

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Give the headers of the answer."""
        found = [(b"content-type", PROBLEM_MEDIA_TYPE.encode())]
        if self.retry_after is not None:
            found.append((b"retry-after", str(self.retry_after).encode()))
        return found + [
            (name.lower().encode(), value.encode()) for name, value in self.more.items()
        ]


def build_rejected_problem(detail: str) -> Problem:
    """Refuse a statement."""
    return Problem(400, "Rejected", detail)


def build_unauthorized_problem(detail: str, error: str = "") -> Problem:
    """Ask who calls; RFC 6750 section 3 wants the scheme named, and what was wrong with a token
    that was given.
    """
    return Problem(
        401,
        "Unauthorized",
        detail,
        more={"WWW-Authenticate": "Bearer" + (f' error="{error}"' if error else "")},
    )


def build_no_receipt_problem(status: int) -> Problem:
    """Answer that there is no receipt for the first entry of a log that has no other."""
    error = NoReceiptYet()
    return Problem(status, "No Receipt Yet", f"{error.message}. {error.hint}")


def describe_public_error(error: VacrError) -> str:
    """Say what fails to whoever asks from elsewhere; where a database is and who its user is are
    none of their business.
    """
    return "the log's database fails" if isinstance(error, StorageFailed) else error.message


def build_unavailable_problem(error: VacrError, *, more: str = "") -> Problem:
    """Answer that something here fails, and may not the next time."""
    return Problem(503, "Unavailable", describe_public_error(error) + more, retry_after=1)


def report_internal_error(error: Exception) -> Problem:
    """Answer that something went wrong which nobody thought of, and tell whoever looks after the
    service what it was.
    """
    _log.error(
        "a bug in vacr: %s: %s",
        type(error).__name__,
        error,
        exc_info=_log.isEnabledFor(logging.INFO),
    )
    return Problem(500, "Internal Server Error", "a bug in vacr; the service has told its owner")


_DETACHED_MESSAGE = (
    "the statement does not hold its payload, so that its signature cannot be checked; "
    "sign it as a hash envelope instead: vacr sign FILE --key KEY --overwrite"
)
_MISSING_KEY_MESSAGE = (
    "the statement does not carry the key that signed it, and none is known here; "
    "vacr sign puts it in, or the log can be told the key: vacr log serve --trust KEY"
)
_MAX_KNOWN_KEYS = 4096


@dataclass
class RegistrationPolicy:
    """The registration policy of a log."""

    policy: Policy
    """The keys and authorities that may register; where it names none, every key may."""
    issuers: frozenset[str] = frozenset()
    """The issuers that may be named; any, if this is empty."""
    largest: int = MAX_ENTRY_SIZE
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _known: dict[bytes, TrustedSigner] = field(init=False)

    def __post_init__(self) -> None:
        """Name the keys that may register."""
        self._known = {one.thumbprint: one for one in map(TrustedSigner, self.policy.keys)}

    def admit(self, statement: bytes) -> bytes:
        """Check a statement; gives the entry that is added to the log.

        Raises:
            Problem: it is refused.
        """
        try:
            message = parse_sign1(statement)
        except InvalidStatement as error:
            raise Problem(400, "Malformed Statement", str(error)) from error
        if message.payload is None:
            raise Problem(400, "Payload Missing", _DETACHED_MESSAGE)
        entry = build_log_entry(message)
        if len(entry) > self.largest:
            detail = (
                f"an entry of {len(entry)} bytes; this log takes {self.largest} at most. "
                "Sign it as a hash envelope."
            )
            raise Problem(413, "Statement Too Large", detail)
        try:
            self._check(message, message.payload)
        except InvalidStatement as error:
            if error.reason.startswith("alg-"):
                raise Problem(400, "Bad Signature Algorithm", str(error)) from error
            told = (
                f"{error}. {error.hint}"
                if error.reason == "signature" and error.hint
                else str(error)
            )
            raise build_rejected_problem(told) from error
        return entry

    def _check(self, message: Sign1, payload: bytes) -> None:
        _check_required_headers(message)
        detect_profile(message)
        algorithm = check_algorithm(message, self.policy)
        signer = check_signature(message, algorithm, payload, self._signers(message, algorithm))
        now = self.clock()
        claims = check_claims(message, self.policy, signer, now)
        if self.issuers and claims[CLAIM_ISS] not in self.issuers:
            raise InvalidStatement("this log takes nothing of this issuer", reason="issuer")
        if signer.path:
            check_validity_period(signer.path, now)

    def _signers(self, message: Sign1, algorithm: int) -> list[TrustedSigner]:
        kid = message.protected.get(HEADER_KID)
        known = (
            self._known.get(kid)
            if type(kid) is bytes and not _has_certificate_chain(message)
            else None
        )
        if known is not None:
            return [known]
        if self.policy.keys or self.policy.roots:
            return list_candidate_signers(message, algorithm, self.policy)
        key = find_carried_key(message)
        if key is None:
            raise Problem(400, "Confirmation Missing", _MISSING_KEY_MESSAGE)
        found = list_candidate_signers(message, algorithm, replace(self.policy, keys=(key,)))
        if not _has_certificate_chain(message):
            if len(self._known) >= _MAX_KNOWN_KEYS:
                self._known.pop(next(iter(self._known)))
            self._known[found[0].thumbprint] = found[0]
        return found


def _has_certificate_chain(message: Sign1) -> bool:
    return HEADER_X5CHAIN in message.protected or HEADER_X5CHAIN in message.unprotected


def _check_required_headers(message: Sign1) -> None:
    """Check that a statement says what RFC 9943 wants of every statement.

    Raises:
        InvalidStatement: it does not.
    """
    if not message.tagged:
        raise InvalidStatement("a statement is tagged as COSE_Sign1 (18)", reason="tag")
    claims: Any = message.protected.get(HEADER_CWT_CLAIMS)
    if not isinstance(claims, dict) or not all(
        isinstance(claims.get(one), str) for one in (CLAIM_ISS, CLAIM_SUB)
    ):
        raise InvalidStatement(
            "the protected header has to name an issuer and a subject (CWT claims)",
            reason="claims-missing",
        )
    if not {HEADER_KID, HEADER_X5T, HEADER_X5CHAIN} & message.protected.keys():
        raise InvalidStatement(
            "the protected header has to name the key: kid, x5t or x5chain", reason="kid-missing"
        )


DEFAULT_CALL_RATE = 10_000.0
"""How many statements a caller may send a second, unless told otherwise."""
_MIN_TOKEN_LENGTH = 16
_TOKEN_PATTERN = re.compile(rb"[\x21-\x7e]{%d,}" % _MIN_TOKEN_LENGTH)
_MAX_TRACKED_CALLERS = 10_000
_BEARER_PREFIX = b"bearer "
_IPV6_HOST_BITS = 64
"""How many bits at the end of an address everybody has for themselves."""


class AllowedTokens:
    """The tokens that may register; only their hashes are kept."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        """Take tokens.

        Raises:
            UnreadableInput: there is none, or one that could be guessed.
        """
        found = [token.strip() for token in tokens]
        found = [token for token in found if token and not token.startswith(b"#")]
        if not found:
            raise UnreadableInput("there is no token", hint="Write one token a line.")
        # A client sends nothing else (RFC 6750), so that any other could never be shown.
        if not all(map(_TOKEN_PATTERN.fullmatch, found)):
            told = f"a token that has fewer than {_MIN_TOKEN_LENGTH} letters, or others than tokens have"
            raise UnreadableInput(told, hint="openssl rand -hex 16 makes one.")
        self.hashes = [_hash_token(token) for token in found]

    def check(self, authorization: bytes | None) -> str:
        """Check the token of a request; gives the name of the caller.

        Raises:
            Problem: there is none, or another.
        """
        if (
            authorization is not None
            and authorization[: len(_BEARER_PREFIX)].lower() == _BEARER_PREFIX
        ):
            given = _hash_token(authorization[len(_BEARER_PREFIX) :].strip())
            for known in self.hashes:
                if hmac.compare_digest(known, given):
                    return known.hex()
            raise build_unauthorized_problem(
                "this token is none of those that may register here", "invalid_token"
            )
        raise build_unauthorized_problem(
            "who registers here needs a token: vacr register --token-file FILE"
        )


def _hash_token(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


class RateLimiter:
    """How often each caller may call: so many a second, and as many at once, but one at least."""

    def __init__(
        self, rate: float = DEFAULT_CALL_RATE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow `rate` calls a second."""
        self.rate = rate
        self.most = max(rate, 1.0)
        self.clock = clock
        self.left: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> None:
        """Count a call.

        Raises:
            Problem: there were too many.
        """
        now = self.clock()
        before, left = self.left.pop(caller, (now, self.most))
        left = min(self.most, left + (now - before) * self.rate)
        if len(self.left) >= _MAX_TRACKED_CALLERS:
            self.left.pop(next(iter(self.left)))  # whoever has not called for longest
        if left < 1:
            self.left[caller] = (now, left)
            raise Problem(
                429,
                "Too Many Requests",
                f"more than {self.rate:g} a second",
                retry_after=self._until_next(left),
            )
        self.left[caller] = (now, left - 1)

    def _until_next(self, left: float) -> int:
        """Give after how many seconds there is one more."""
        return max(1, math.ceil((1 - left) / self.rate))


def check_caller(
    scope: MutableMapping[str, Any], tokens: AllowedTokens | None, rates: RateLimiter
) -> None:
    """Count a call for whoever calls: by their token, else by their address. A token that is wrong
    counts for the address.

    Raises:
        Problem: a token is needed, or there were too many calls.
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
    """Name the address that somebody calls from."""
    client = scope.get("client")
    return _group_ip_address(client[0]) if client else ""


@lru_cache(_MAX_TRACKED_CALLERS)
def _group_ip_address(address: str) -> str:
    """Name whom an address is of: of the newer kind (IPv6), everybody has as many as they like that
    begin alike.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, IPv4Address):
        return address
    return str(found.ipv4_mapped or IPv6Address(int(found) >> _IPV6_HOST_BITS << _IPV6_HOST_BITS))


_DURATION_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@dataclass(frozen=True, slots=True)
class MetricSample:
    """Something that is counted; what is named so that it ends in `_total` never goes down."""

    name: str
    told: str
    value: int

    @property
    def kind(self) -> str:
        """The word of Prometheus for it."""
        return "counter" if self.name.endswith("_total") else "gauge"


class ServiceMetrics:
    """Counters, and how long registrations took."""

    def __init__(self) -> None:
        """Start at zero."""
        self.responses: Counter[int] = Counter()
        self.entries = 0
        self.durations = [0] * (len(_DURATION_BUCKETS) + 1)
        self.seconds = 0.0

    def took(self, seconds: float) -> None:
        """Count a registration that took so long."""
        self.seconds += seconds
        for at, bound in enumerate(_DURATION_BUCKETS):
            if seconds <= bound:
                self.durations[at] += 1
                return
        self.durations[-1] += 1

    def text(self, more: Iterable[MetricSample]) -> str:
        """Write all, with what others have counted."""
        lines = [
            "# HELP vacr_responses_total Answers to requests to register, by status.",
            "# TYPE vacr_responses_total counter",
        ]
        lines += [
            f'vacr_responses_total{{status="{status}"}} {count}'
            for status, count in sorted(self.responses.items())
        ]
        lines += [
            "# HELP vacr_entries_total Entries added by this process.",
            "# TYPE vacr_entries_total counter",
        ]
        lines += [f"vacr_entries_total {self.entries}"]
        lines += ["# HELP vacr_registration_seconds Time from a request to its receipt."]
        lines += ["# TYPE vacr_registration_seconds histogram"]
        total = 0
        for bound, count in zip((*_DURATION_BUCKETS, "+Inf"), self.durations, strict=True):
            total += count
            lines.append(f'vacr_registration_seconds_bucket{{le="{bound}"}} {total}')
        lines += [
            f"vacr_registration_seconds_sum {self.seconds:.6f}",
            f"vacr_registration_seconds_count {total}",
        ]
        for one in more:
            lines += [
                f"# HELP vacr_{one.name} {one.told}",
                f"# TYPE vacr_{one.name} {one.kind}",
                f"vacr_{one.name} {one.value}",
            ]
        return "\n".join(lines) + "\n"


_HALF_HASH_SIZE = 16
_HALF_HASH_BITS = 8 * _HALF_HASH_SIZE
_ENTRY_NAME_PATTERN = re.compile(r"(0|[1-9][0-9]{0,38})\.(0|[1-9][0-9]{0,51})")
_HEX_HASH_PATTERN = re.compile(r"[0-9a-f]{64}")
MAX_PENDING_SECONDS = 30
"""For so many seconds after it was taken a statement may be on its way into the log; clocks may
differ by as much.
"""


def format_entry_name(leaf: bytes, taken: int = 0) -> str:
    """Name an entry by its leaf, and by the time at which it was taken if that is given, in seconds
    since 1970.
    """
    return f"{int.from_bytes(leaf[:_HALF_HASH_SIZE], 'big')}.{int.from_bytes(leaf[_HALF_HASH_SIZE:], 'big') | taken << _HALF_HASH_BITS}"


def parse_entry_name(name: str) -> bytes | None:
    """Give the leaf that a name is of, in the form above or in hexadecimal."""
    if _HEX_HASH_PATTERN.fullmatch(name):
        return bytes.fromhex(name)
    found = _ENTRY_NAME_PATTERN.fullmatch(name)
    if found is None:
        return None
    first, second = map(int, found.groups())
    if first >> _HALF_HASH_BITS:
        return None
    return first.to_bytes(_HALF_HASH_SIZE, "big") + (second & (1 << _HALF_HASH_BITS) - 1).to_bytes(
        _HALF_HASH_SIZE, "big"
    )


def is_possibly_pending(name: str, now: float) -> bool:
    """Tell whether what has a name may still be on its way into the log."""
    found = _ENTRY_NAME_PATTERN.fullmatch(name)
    return (
        found is not None and abs(now - (int(found[2]) >> _HALF_HASH_BITS)) <= MAX_PENDING_SECONDS
    )


AsgiScope = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[MutableMapping[str, Any]]]
AsgiSend = Callable[[MutableMapping[str, Any]], Awaitable[None]]

COSE_CONTENT_TYPE = b"application/cose"
_STATEMENT_CONTENT_TYPES = (
    COSE_CONTENT_TYPE,
    b"application/scitt-statement+cose",
    b"application/octet-stream",
)
_MAX_BODY_SIZE = 1 << 18
_MAX_BODY_SECONDS = 30
_RETRY_AFTER_SECONDS = 1
_HTTP_UNAVAILABLE = 503
_UNREAD_BODY_STATUSES = (408, 413)


@dataclass
class RegistrationEndpoint:
    """What takes statements."""

    admission: RegistrationPolicy
    metrics: ServiceMetrics
    tokens: AllowedTokens | None = None
    rates: RateLimiter = field(default_factory=RateLimiter)
    always_303: bool = False
    pending: dict[bytes, asyncio.Future[PlacedEntry]] = field(default_factory=dict)
    """What was taken here and is not yet in the log, by the leaves of the entries."""
    sequencer: Sequencer[asyncio.Future[PlacedEntry]] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    on_batch: Callable[[], None] = lambda: None

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        """Take a statement."""
        started = time.perf_counter()
        try:
            status, headers, body = await self._register(scope, receive)
        except Problem as problem:
            status, headers, body = _encode_problem_response(problem)
        except Exception as error:  # noqa: BLE001 - nobody gets a trace for an answer
            status, headers, body = _encode_problem_response(report_internal_error(error))
        self.metrics.responses[status] += 1
        self.metrics.took(time.perf_counter() - started)
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _register(
        self, scope: AsgiScope, receive: AsgiReceive
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        check_caller(scope, self.tokens, self.rates)
        _check_content_type(scope)
        statement = await _read_statement_body(receive)
        entry = self.admission.admit(statement)
        leaf = hash_leaf(entry)
        future = self._submit(entry, leaf)
        if self.always_303:
            place = _build_location_header(scope, format_entry_name(leaf, int(time.time())))
            return 303, [place, (b"retry-after", b"%d" % _RETRY_AFTER_SECONDS)], b""
        placed = await _await_placed_entry(future)
        if not placed.receipt:
            raise build_no_receipt_problem(409)
        return (
            201,
            [
                (b"content-type", COSE_CONTENT_TYPE),
                _build_location_header(scope, format_entry_name(leaf)),
            ],
            placed.receipt,
        )

    def _submit(self, entry: bytes, leaf: bytes) -> asyncio.Future[PlacedEntry]:
        if self.loop is None or self.sequencer is None:
            raise Problem(
                _HTTP_UNAVAILABLE,
                "Unavailable",
                "the log is not open",
                retry_after=_RETRY_AFTER_SECONDS,
            )
        future: asyncio.Future[PlacedEntry] = self.loop.create_future()
        try:
            self.sequencer.submit(entry, future)
        except LogBusy as error:
            raise Problem(
                _HTTP_UNAVAILABLE, "Busy", str(error), retry_after=_RETRY_AFTER_SECONDS
            ) from error
        if self.always_303:
            self.pending[leaf] = future
            future.add_done_callback(lambda done: (self.pending.pop(leaf, None), done.exception()))
        return future

    def deliver(self, results: BatchResults[asyncio.Future[PlacedEntry]]) -> None:
        """Hand results over to the loop, from the sequencer's thread."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._settle, results)

    def _settle(self, results: BatchResults[asyncio.Future[PlacedEntry]]) -> None:
        added = False
        for future, result in results:
            if isinstance(result, VacrError):
                if not future.done():
                    future.set_exception(result)
                continue
            added = added or result.new
            self.metrics.entries += result.new
            if not future.done():  # whoever asked may have gone
                future.set_result(result)
        if added:
            self.on_batch()


def _build_location_header(scope: AsgiScope, name: str) -> tuple[bytes, bytes]:
    return b"location", f"{scope.get('root_path', '')}/entries/{name}".encode()


def _encode_problem_response(problem: Problem) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    headers = problem.headers()
    if problem.status in _UNREAD_BODY_STATUSES:
        headers.append(
            (b"connection", b"close")
        )  # whatever is still sent would be read for nothing
    return problem.status, headers, problem.body()


async def _await_placed_entry(future: asyncio.Future[PlacedEntry]) -> PlacedEntry:
    try:
        return await future
    except Problem:
        raise
    except VacrError as error:
        more = "; it may or may not have been registered, which sending it again settles"
        raise build_unavailable_problem(error, more=more) from error


def _check_content_type(scope: AsgiScope) -> None:
    for name, value in scope["headers"]:
        if name == b"content-type":
            if value.partition(b";")[0].strip().lower() not in _STATEMENT_CONTENT_TYPES:
                break
            return
    raise Problem(415, "Unsupported Media Type", "a statement is sent as application/cose")


async def _read_statement_body(receive: AsgiReceive) -> bytes:
    """Read the body of a request, no longer than one may be and no slower."""
    body = bytearray()
    try:
        async with asyncio.timeout(_MAX_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem(400, "Disconnected", "the connection ended before the statement")
                body += message.get("body", b"")
                if len(body) > _MAX_BODY_SIZE:
                    raise Problem(
                        413,
                        "Statement Too Large",
                        f"more than {_MAX_BODY_SIZE} bytes. Sign it as a hash envelope.",
                    )
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError as error:
        raise Problem(
            408,
            "Request Timeout",
            f"the statement did not arrive within {_MAX_BODY_SECONDS} seconds",
        ) from error

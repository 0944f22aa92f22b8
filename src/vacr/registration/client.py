"""The client of a transparency service: send a statement, get a verified receipt (SCRAPI).

A service answers with the receipt, or with the address to ask for it later. Registering the same
statement again yields the same entry, so every failure can be retried. The client verifies each
receipt before it returns it. Some statements cannot be registered at all:

    >>> from vacr.registration.client import check_registrable
    >>> from vacr.signing import KeySigner, generate_key, sign
    >>> signer = KeySigner(generate_key("eddsa"))
    >>> check_registrable(sign(b"data", signer)).tagged
    True
    >>> check_registrable(sign(b"data", signer, profile="detached"))
    Traceback (most recent call last):
    ...
    vacr.errors.InvalidStatement: cannot register a detached statement: a log needs its payload

The protocol is draft-ietf-scitt-scrapi; errors are problem details in CBOR (RFC 9290).
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from vacr.errors import (
    InvalidStatement,
    Unreachable,
    UnreadableInput,
    UsageError,
    VacrError,
    escape_unprintable,
)
from vacr.record import decode_cbor
from vacr.registration.http_client import (
    RETRY_LATER_HINT,
    HttpClient,
    HttpResponse,
    RetryBudget,
    ServiceAccess,
    suggest_connection_fix,
)
from vacr.signing import (
    HEADER_RECEIPTS,
    HEADER_TLOG_PROOFS,
    HEADER_TRACE_METADATA,
    PublicKey,
    Sign1,
    compute_thumbprint,
    parse_public_keys,
    parse_sign1,
)
from vacr.transparency import (
    ENTRY_RULE_STATEMENT,
    MAX_ENTRY_SIZE,
    add_receipt,
    build_log_entry,
    list_encoded_receipts,
    replace_by_twin,
)
from vacr.verification import VerifiedReceipt, check_receipt

COSE_MEDIA_TYPE = "application/cose"
SCITT_KEYS_PATH = "/.well-known/scitt-keys"
PROBLEM_TITLE, PROBLEM_DETAIL = -1, -2
_MAX_MESSAGE_LENGTH = 300
_HTTP_OK, _HTTP_CREATED = 200, 201
_HTTP_TOO_LARGE, _HTTP_NOT_FOUND = 413, 404
_REDIRECT_STATUSES = (302, 303)
_GONE_STATUSES = (404, 410)
_RETRY_STATUSES = (429, 502, 503, 504)
_NOT_ALLOWED_STATUSES = (401, 403)
_REFUSED_STATUSES = (400, 409, _HTTP_TOO_LARGE, 415, 422)
_CONNECTION_ERRORS = (OSError, UnicodeError, http.client.HTTPException)
_UNSENT_LABELS = (HEADER_RECEIPTS, HEADER_TLOG_PROOFS, HEADER_TRACE_METADATA)
"""Unprotected headers that are not sent, because the service does not keep them."""


@dataclass(frozen=True, slots=True)
class RegistrationResult:
    """A registered statement: its receipt, and the facts the receipt proves.

    `has_unpinned_key` is set if only the service itself vouches for the log's key.
    """

    receipt: bytes
    logged: VerifiedReceipt
    has_unpinned_key: bool
    entry_rule: str = ENTRY_RULE_STATEMENT
    twin: bytes | None = None
    """The registered statement, if it has the other form of the ECDSA signature."""

    def add_to(self, statement: bytes) -> bytes:
        """Return the statement that was registered, with its receipt.

        If the log has its twin, the result has the signature of the twin.

        Raises:
            InvalidStatement: the statement has too many receipts, or a timestamp of its signature
                that would not fit the twin.
        """
        if self.twin is not None:
            statement = replace_by_twin(statement, self.twin)
        return add_receipt(statement, self.receipt, self.logged.key, self.entry_rule)


def register(
    statement: bytes,
    service: str,
    *,
    log_keys: Sequence[PublicKey] = (),
    access: ServiceAccess | None = None,
    entry_rule: str = ENTRY_RULE_STATEMENT,
) -> bytes:
    """Register a statement with the service at a URL, and return the verified receipt.

    Without `log_keys`, the receipt is verified with the keys that the service itself publishes.
    `entry_rule` names the log's rule for entries: `statement` or `digest`.

    Raises:
        InvalidStatement: the statement cannot be registered, the service refuses it, or the receipt
            does not verify.
        Unreachable: the service cannot be reached, or its response is malformed.
        UsageError: the URL is not the address of a service.
    """
    client = RegistrationClient(service, access or ServiceAccess())
    result = client.register(statement, log_keys, entry_rule)
    if result.twin is not None:
        raise InvalidStatement(
            "somebody has registered the statement with the other form of its ECDSA signature, so "
            "the receipt is for that form",
            reason="register-twin",
            where=service,
            hint="Use RegistrationClient: its result also has the registered statement.",
        )
    return result.receipt


class RegistrationClient:
    """A client that registers statements with one service."""

    def __init__(
        self, url: str, access: ServiceAccess | None = None, budget: RetryBudget | None = None
    ) -> None:
        """Prepare to reach the service, without connecting to it.

        `budget` limits the retries of each registration.

        Raises:
            UsageError: the URL is not the address of a service.
            Unreachable: a certificate or key file for TLS cannot be read.
        """
        self.url = url
        self.http = HttpClient(url, access or ServiceAccess())
        self.prefix = self.http.address.path.rstrip("/")
        self.budget = budget or RetryBudget()
        self._keys: list[PublicKey] | None = None

    def register(
        self,
        statement: bytes,
        log_keys: Sequence[PublicKey] = (),
        entry_rule: str = ENTRY_RULE_STATEMENT,
    ) -> RegistrationResult:
        """Register a statement, and return its verified receipt.

        The arguments and errors are the ones of the function `register`.
        """
        message = check_registrable(statement)
        receipt = self._fetch_receipt(_encode_for_service(message), replace(self.budget))
        twin = _parse_twin(receipt)
        if twin is not None:
            message = parse_sign1(replace_by_twin(_encode_for_service(message), receipt))
            (receipt,) = list_encoded_receipts(twin)
        trusted = log_keys or self.keys()
        try:
            logged = check_receipt(message, receipt, trusted, datetime.now(UTC), rule=entry_rule)
        except InvalidStatement as error:
            hint = error.hint
            if log_keys and not self._may_sign_with(log_keys):
                hint = (
                    "--log-key is not a key of this service: the address is of another log, or "
                    "the log has changed its keys."
                )
            raise InvalidStatement(
                f"the service returned an invalid receipt: {error.message}",
                reason=error.reason,
                where=self.url,
                hint=hint,
            ) from error
        return RegistrationResult(
            receipt, logged, not log_keys, entry_rule, twin.encode() if twin is not None else None
        )

    def keys(self) -> list[PublicKey]:
        """Return the public keys that verify the service's receipts; they are fetched only once.

        Raises:
            Unreachable: the service does not publish its keys, or cannot be reached.
        """
        if self._keys is None:
            path = self.prefix + SCITT_KEYS_PATH
            response = self._ask(replace(self.budget), "GET", path, {"Accept": "application/cbor"})
            try:
                is_ok = response.status == _HTTP_OK
                self._keys = parse_public_keys(response.body) if is_ok else []
            except UnreadableInput:
                self._keys = []
            if not self._keys:
                problem = (
                    "the service does not publish the keys of its receipts "
                    f"({response.status}){describe_error_response(response)}"
                )
                raise Unreachable(
                    problem, where=self.url, hint="Add --log-key with a key of the log."
                )
        return self._keys

    def _may_sign_with(self, log_keys: Sequence[PublicKey]) -> bool:
        """Return whether the service publishes one of these keys, or no keys at all."""
        try:
            published = {compute_thumbprint(key) for key in self.keys()}
        except Unreachable:
            return True
        return any(compute_thumbprint(key) in published for key in log_keys)

    def _fetch_receipt(self, statement: bytes, budget: RetryBudget) -> bytes:
        """Send a statement, wait until the service has its receipt, and return it unverified.

        Raises:
            Unreachable: the receipt does not exist yet when the time of `budget` is used up.
            VacrError: the service refuses the statement.
        """
        response = self._post_statement(statement, budget)
        while not (response.status in (_HTTP_OK, _HTTP_CREATED) and response.body):
            if response.status not in (_HTTP_OK, _HTTP_CREATED, *_REDIRECT_STATUSES):
                raise build_refusal_error(response, self.url)
            path = self._parse_location(response)
            if not budget.wait_for_result(response.headers.get("retry-after")):
                raise Unreachable(
                    f"registered, but the receipt does not exist yet; it will appear at {path}",
                    where=self.url,
                    hint="Registering the statement again yields the same entry.",
                )
            response = self._ask(budget, "GET", path, {"Accept": COSE_MEDIA_TYPE})
            if response.status in _GONE_STATUSES:
                # A service that crashed after it accepted the statement does not know it any more.
                # Neither does another instance behind the same address.
                if not budget.wait_to_retry(response.headers.get("retry-after")):
                    problem = (
                        "the service accepted the statement, but does not know it any more "
                        f"({response.status}){describe_error_response(response)}"
                    )
                    raise Unreachable(
                        problem,
                        where=self.url,
                        hint="Registering the statement again yields the same entry.",
                    )
                response = self._post_statement(statement, budget)
        return response.body

    def _post_statement(self, statement: bytes, budget: RetryBudget) -> HttpResponse:
        headers = {"Content-Type": COSE_MEDIA_TYPE, "Accept": COSE_MEDIA_TYPE}
        return self._ask(budget, "POST", f"{self.prefix}/entries", headers, statement)

    def _parse_location(self, response: HttpResponse) -> str:
        """Return the path and query of the future receipt, from the header `Location`.

        It must be on the same host: another host must not see the token.

        Raises:
            Unreachable: the header is missing or malformed, or names another host.
        """
        base = self.url.rstrip("/") + "/entries"
        location = response.headers.get("location", "")
        try:
            target = urlsplit(urljoin(base, location))
            is_same_host = (
                _get_url_origin(target) == _get_url_origin(urlsplit(base))
                and "@" not in target.netloc
            )
        except ValueError:
            is_same_host = False
        if not location or not is_same_host or not location.isascii() or not location.isprintable():
            problem = (
                f"the service answered {response.status}, but the address of the receipt is "
                f"missing, malformed or on another host: {location[:200]!r}"
            )
            raise Unreachable(problem, where=self.url)
        return (target.path or "/") + (f"?{target.query}" if target.query else "")

    def _ask(
        self,
        budget: RetryBudget,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> HttpResponse:
        """Send a request, and repeat it while the connection fails or the service is busy.

        Return the first response with another status, be it a success or a refusal.

        Raises:
            Unreachable: `budget` does not allow another attempt, or the service's certificate is
                not trusted.
        """
        while True:
            try:
                response = self.http.ask(method, path, body, headers)
            except ssl.SSLCertVerificationError as error:
                hint = "Add --ca with the authority that certifies the service."
                raise Unreachable(
                    f"the service's certificate is not trusted: {error.verify_message}",
                    where=self.url,
                    hint=hint,
                ) from error
            except _CONNECTION_ERRORS as error:
                if not budget.wait_to_retry(None):
                    raise build_connection_error(error, self.url) from error
                continue
            if response.status not in _RETRY_STATUSES:
                return response
            if not budget.wait_to_retry(response.headers.get("retry-after")):
                raise build_refusal_error(response, self.url)


def _get_url_origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL, with the scheme's default port if it has none.

    The host is None if the URL has none. The port is None if the URL names none and the scheme is
    neither http nor https.
    """
    return url.scheme, url.hostname, url.port or {"http": 80, "https": 443}.get(url.scheme)


def check_registrable(statement: bytes) -> Sign1:
    """Check that a service could accept a statement, and return it parsed.

    Raises:
        InvalidStatement: it is malformed, has no payload, or is too large.
    """
    message = parse_sign1(statement)
    if message.payload is None:
        hint = "Sign again as a hash envelope: vacr sign FILE --key KEY --profile hash-envelope"
        raise InvalidStatement(
            "cannot register a detached statement: a log needs its payload",
            reason="register-detached",
            hint=hint,
        )
    size = len(build_log_entry(message))
    if size > MAX_ENTRY_SIZE:
        hint = (
            "Sign again as a small hash envelope: vacr sign FILE --key KEY --profile hash-envelope"
        )
        raise InvalidStatement(
            f"the statement is too large for a log: {size} bytes, at most {MAX_ENTRY_SIZE} allowed",
            reason="register-too-large",
            hint=hint,
        )
    return message


def _parse_twin(body: bytes) -> Sign1 | None:
    """Return the transparent statement in a response, or None if it is a receipt or malformed.

    A service returns a statement if it has the other form of the submitted one.
    """
    try:
        message = parse_sign1(body)
        receipts = list_encoded_receipts(message)
    except InvalidStatement:
        return None
    return message if len(receipts) == 1 else None


def _encode_for_service(message: Sign1) -> bytes:
    """Encode a statement without receipts, proofs and trace metadata, which a service drops."""
    kept = {
        label: value for label, value in message.unprotected.items() if label not in _UNSENT_LABELS
    }
    return replace(message, unprotected=kept).encode()


def build_refusal_error(response: HttpResponse, url: str) -> VacrError:
    """Return the error for a response that refuses a registration.

    It is `InvalidStatement` if the service objects to the statement or to the caller, `UsageError`
    for status 404, and otherwise `Unreachable`, which may be temporary.
    """
    status = f"the service answered {response.status} {response.reason[:_MAX_MESSAGE_LENGTH]}"
    problem = escape_unprintable(status).rstrip() + describe_error_response(response)
    if response.status in _REFUSED_STATUSES:
        return InvalidStatement(problem, reason="register-refused", where=url)
    if response.status in _NOT_ALLOWED_STATUSES:
        hint = "Authenticate with --token-file or --client-cert."
        return InvalidStatement(problem, reason="register-not-allowed", where=url, hint=hint)
    if response.status == _HTTP_NOT_FOUND:
        return UsageError(
            f"{url}: {problem}", hint="Use the service's base address, without /entries."
        )
    return Unreachable(problem, where=url, hint=RETRY_LATER_HINT)


def describe_error_response(response: HttpResponse) -> str:
    """Return the explanation in an error response, after a colon, to be appended to a message.

    That is the title and detail of a problem document, or the beginning of a text. The result is
    empty if there is neither.
    """
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type.endswith(("+cbor", "/cbor")):
        parts = _parse_problem_details(response.body)
    elif media_type.startswith("text/") or media_type.endswith("json"):
        parts = [response.body.decode("utf-8", "replace").strip()]
    else:
        parts = []
    text = ": ".join(escape_unprintable(part) for part in parts if part)
    if not text:
        return ""
    ellipsis = "…" if len(text) > _MAX_MESSAGE_LENGTH else ""
    return f": {text[:_MAX_MESSAGE_LENGTH]}{ellipsis}"


def _parse_problem_details(body: bytes) -> list[str]:
    """Return the title and the detail of a CBOR problem document; leave out missing ones."""
    try:
        problem: Any = decode_cbor(body)
    except UnreadableInput:
        return []
    if not isinstance(problem, dict):
        return []
    parts = (problem.get(PROBLEM_TITLE), problem.get(PROBLEM_DETAIL))
    return [part for part in parts if isinstance(part, str)]


def build_connection_error(error: Exception, url: str) -> Unreachable:
    """Return the error for a failed connection to the service at `url`, with a hint."""
    problem = str(error)
    if not problem:
        is_http_error = isinstance(error, http.client.HTTPException)
        problem = type(error).__name__ if is_http_error else "the connection failed"
    return Unreachable(
        f"cannot reach the transparency service: {problem}",
        where=url,
        hint=suggest_connection_fix(error, url),
    )

"""What a service says when it does not give a receipt, as people can read it. Step: register.
Follows RFC 9290.

Statements are registered in a transparency service, over HTTP. Step: register. Follows SCRAPI
(draft-ietf-scitt-scrapi).

A service answers with the receipt, or with the place to ask for it. Registering the same statement
again gives the same entry: so whatever failed may be tried again. No receipt is given to the caller
that was not verified.
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
from vacr.registration.http import (
    RETRY_LATER_HINT,
    HttpClient,
    HttpResponse,
    RetryBudget,
    ServiceAccess,
    suggest_connection_fix,
)
from vacr.signing import (
    HEADER_RECEIPTS,
    HEADER_TRACE_METADATA,
    PublicKey,
    Sign1,
    compute_thumbprint,
    parse_public_keys,
    parse_sign1,
)
from vacr.transparency import ENTRY_RULE_STATEMENT, MAX_ENTRY_SIZE, build_log_entry
from vacr.verification import VerifiedReceipt, check_receipt

PROBLEM_TITLE, PROBLEM_DETAIL = -1, -2

_MAX_MESSAGE_LENGTH = 300
_HTTP_TOO_LARGE, _HTTP_NOT_FOUND = 413, 404
_NOT_ALLOWED_STATUSES = (401, 403)
_REFUSED_STATUSES = (400, 409, _HTTP_TOO_LARGE, 415, 422)


def build_refusal_error(answer: HttpResponse, url: str) -> VacrError:
    """Make the error of an answer that holds no receipt.

    What the service has against the statement, or against whoever asks, will be the same tomorrow;
    all else may be better then.
    """
    told = escape_unprintable(
        f"the service answered {answer.status} {answer.reason[:_MAX_MESSAGE_LENGTH]}"
    ).rstrip() + describe_error_response(answer)
    if answer.status in _REFUSED_STATUSES:
        return InvalidStatement(told, reason="register-refused", where=url)
    if answer.status in _NOT_ALLOWED_STATUSES:
        hint = "Show who you are with --token-file, or with --client-cert."
        return InvalidStatement(told, reason="register-not-allowed", where=url, hint=hint)
    if answer.status == _HTTP_NOT_FOUND:
        return UsageError(
            f"{url}: {told}", hint="The address of a service is that which /entries follows."
        )
    return Unreachable(told, where=url, hint=RETRY_LATER_HINT)


def describe_error_response(answer: HttpResponse) -> str:
    """Say what a service says about an error: the title and the detail, or the beginning of
    whatever text it sent.
    """
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind.endswith(("+cbor", "/cbor")):
        parts = _parse_problem_details(answer.body)
    elif kind.startswith("text/") or kind.endswith("json"):
        parts = [answer.body.decode("utf-8", "replace").strip()]
    else:
        parts = []
    text = ": ".join(escape_unprintable(part) for part in parts if part)
    return (
        f": {text[:_MAX_MESSAGE_LENGTH]}{'…' if len(text) > _MAX_MESSAGE_LENGTH else ''}"
        if text
        else ""
    )


def _parse_problem_details(body: bytes) -> list[str]:
    try:
        problem: Any = decode_cbor(body)
    except UnreadableInput:
        return []
    found = (
        [problem.get(PROBLEM_TITLE), problem.get(PROBLEM_DETAIL)]
        if isinstance(problem, dict)
        else []
    )
    return [one for one in found if isinstance(one, str)]


def build_connection_error(error: Exception, url: str) -> Unreachable:
    """Make the error of a connection that failed."""
    told = str(error) or (
        type(error).__name__
        if isinstance(error, http.client.HTTPException)
        else "the connection failed"
    )
    return Unreachable(
        f"the transparency service cannot be reached: {told}",
        where=url,
        hint=suggest_connection_fix(error, url),
    )


COSE_MEDIA_TYPE = "application/cose"
SCITT_KEYS_PATH = "/.well-known/scitt-keys"

_HTTP_OK, _HTTP_CREATED = 200, 201
_REDIRECT_STATUSES = (302, 303)
_GONE_STATUSES = (404, 410)
_RETRY_STATUSES = (429, 502, 503, 504)
_CONNECTION_ERRORS = (OSError, UnicodeError, http.client.HTTPException)
_UNSENT_LABELS = (HEADER_RECEIPTS, HEADER_TRACE_METADATA)
"""What is of no use to a service, which empties the unprotected header."""


@dataclass(frozen=True, slots=True)
class RegistrationResult:
    """A statement that is registered: its receipt, what that shows, and whether only the service
    says whose key it is.
    """

    receipt: bytes
    logged: VerifiedReceipt
    as_the_service_says: bool


def register(
    statement: bytes,
    service: str,
    *,
    log_keys: Sequence[PublicKey] = (),
    access: ServiceAccess | None = None,
    entry_rule: str = ENTRY_RULE_STATEMENT,
) -> bytes:
    """Register a statement in a service, by its address; give the receipt, verified.

    Without keys of the log the receipt is verified with those that the service itself names.

    Raises:
        InvalidStatement: the statement cannot be registered, the service refuses it, or the receipt
            does not hold.
        Unreachable: the service cannot be reached, or does not answer as one does.
        UsageError: the address is none.
    """
    return (
        RegistrationClient(service, access or ServiceAccess())
        .register(statement, log_keys, entry_rule)
        .receipt
    )


def check_registrable(statement: bytes) -> Sign1:
    """Refuse a statement that no service takes, before it is sent; gives it.

    Raises:
        InvalidStatement: it has no payload, or is too large.
    """
    message = parse_sign1(statement)
    if message.payload is None:
        hint = "Sign again as a hash envelope: vacr sign FILE --key KEY --profile hash-envelope."
        raise InvalidStatement(
            "a detached statement: a log takes only what is whole",
            reason="register-detached",
            hint=hint,
        )
    size = len(build_log_entry(message))
    if size > MAX_ENTRY_SIZE:
        hint = (
            "Sign again as a hash envelope, which is small: vacr sign FILE --key KEY "
            "--profile hash-envelope."
        )
        raise InvalidStatement(
            f"{size} bytes: a log takes up to {MAX_ENTRY_SIZE}",
            reason="register-too-large",
            hint=hint,
        )
    return message


class RegistrationClient:
    """Registers statements in one service."""

    def __init__(
        self, url: str, access: ServiceAccess | None = None, patience: RetryBudget | None = None
    ) -> None:
        """Take the address of the service, how to reach it, and how long to try.

        Raises:
            UsageError: the address is none.
            Unreachable: what TLS needs cannot be read.
        """
        self.url = url
        self.wire = HttpClient(url, access or ServiceAccess())
        self.prefix = self.wire.address.path.rstrip("/")
        self.patience = patience or RetryBudget()
        self._keys: list[PublicKey] | None = None

    def register(
        self,
        statement: bytes,
        log_keys: Sequence[PublicKey] = (),
        entry_rule: str = ENTRY_RULE_STATEMENT,
    ) -> RegistrationResult:
        """Register a statement, and verify the receipt."""
        message = check_registrable(statement)
        patience = replace(self.patience)
        receipt = self._receipt(_encode_for_service(message), patience)
        trusted = log_keys or self.keys()
        try:
            logged = check_receipt(message, receipt, trusted, datetime.now(UTC), rule=entry_rule)
        except InvalidStatement as error:
            told, hint = (
                f"the service gave a receipt that does not hold: {error.message}",
                error.hint,
            )
            if log_keys and not self._signs_by(log_keys):
                hint = (
                    "--log-key names no key of this service: it is another log, or has "
                    "changed its keys."
                )
            raise InvalidStatement(told, reason=error.reason, where=self.url, hint=hint) from error
        return RegistrationResult(receipt, logged, not log_keys)

    def keys(self) -> list[PublicKey]:
        """Ask a service for the keys of its receipts, once.

        Raises:
            Unreachable: it does not tell any.
        """
        if self._keys is None:
            answer = self._answer(
                replace(self.patience),
                "GET",
                self.prefix + SCITT_KEYS_PATH,
                {"Accept": "application/cbor"},
            )
            try:
                self._keys = parse_public_keys(answer.body) if answer.status == _HTTP_OK else []
            except UnreadableInput:
                self._keys = []
            if not self._keys:
                told = (
                    "the service does not tell the keys of its receipts "
                    f"({answer.status}){describe_error_response(answer)}"
                )
                raise Unreachable(
                    told, where=self.url, hint="Name a key of the log with --log-key."
                )
        return self._keys

    def _signs_by(self, log_keys: Sequence[PublicKey]) -> bool:
        """Tell whether the service says that one of these keys is its own; who says nothing is not
        held to have others.
        """
        try:
            said = {compute_thumbprint(key) for key in self.keys()}
        except Unreachable:
            return True
        return any(compute_thumbprint(key) in said for key in log_keys)

    def _receipt(self, statement: bytes, patience: RetryBudget) -> bytes:
        """Send a statement, and wait for its receipt."""
        answer = self._send(statement, patience)
        while not (answer.status in (_HTTP_OK, _HTTP_CREATED) and answer.body):
            if answer.status not in (_HTTP_OK, _HTTP_CREATED, *_REDIRECT_STATUSES):
                raise build_refusal_error(answer, self.url)
            place = self._place(answer)
            if not patience.poll(answer.headers.get("retry-after")):
                told = f"registered, and no receipt yet: ask again later, at {place}"
                raise Unreachable(
                    told, where=self.url, hint="Registering the same again gives the same entry."
                )
            answer = self._answer(patience, "GET", place, {"Accept": COSE_MEDIA_TYPE})
            if answer.status in _GONE_STATUSES:
                # A service that failed after it took the statement knows nothing of it, nor does
                # one that another stands in for.
                if not patience.again(answer.headers.get("retry-after")):
                    told = (
                        "the service took the statement, and does not know of it now "
                        f"({answer.status}){describe_error_response(answer)}"
                    )
                    raise Unreachable(
                        told,
                        where=self.url,
                        hint="Registering the same again gives the same entry.",
                    )
                answer = self._send(statement, patience)
        return answer.body

    def _send(self, statement: bytes, patience: RetryBudget) -> HttpResponse:
        return self._answer(
            patience,
            "POST",
            f"{self.prefix}/entries",
            {"Content-Type": COSE_MEDIA_TYPE, "Accept": COSE_MEDIA_TYPE},
            statement,
        )

    def _place(self, answer: HttpResponse) -> str:
        """Give the path where a receipt will be: on the same host, for whoever is there may see the
        token.
        """
        here, location = self.url.rstrip("/") + "/entries", answer.headers.get("location", "")
        try:
            there = urlsplit(urljoin(here, location))
            same = (
                _get_url_origin(there) == _get_url_origin(urlsplit(here))
                and "@" not in there.netloc
            )
        except ValueError:
            same = False
        if not location or not same or not location.isascii() or not location.isprintable():
            told = (
                f"the service answered {answer.status} and names no place of its own to ask "
                f"at: {location[:200]!r}"
            )
            raise Unreachable(told, where=self.url)
        return (there.path or "/") + (f"?{there.query}" if there.query else "")

    def _answer(
        self,
        patience: RetryBudget,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> HttpResponse:
        """Ask until there is an answer, other than to come back later."""
        while True:
            try:
                answer = self.wire.ask(method, path, body, headers)
            except ssl.SSLCertVerificationError as error:
                hint = "Name the authority that certifies the service with --ca."
                raise Unreachable(
                    f"the service is not certified: {error.verify_message}",
                    where=self.url,
                    hint=hint,
                ) from error
            except _CONNECTION_ERRORS as error:
                if not patience.again(None):
                    raise build_connection_error(error, self.url) from error
                continue
            if answer.status not in _RETRY_STATUSES:
                return answer
            if not patience.again(answer.headers.get("retry-after")):
                raise build_refusal_error(answer, self.url)


def _get_url_origin(place: SplitResult) -> tuple[str, str | None, int | None]:
    return place.scheme, place.hostname, place.port or {"http": 80, "https": 443}.get(place.scheme)


def _encode_for_service(message: Sign1) -> bytes:
    """Write what a service is sent: all that is signed, and the key."""
    kept = {
        label: value for label, value in message.unprotected.items() if label not in _UNSENT_LABELS
    }
    return replace(message, unprotected=kept).encode()

"""Statements are registered in a transparency service, over HTTP. Step: register. Follows SCRAPI
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
from urllib.parse import SplitResult, urljoin, urlsplit

from vacr.errors import InvalidStatement, Unreachable, UnreadableInput
from vacr.log import answers
from vacr.log.patience import Patience
from vacr.log.wire import Access, Answer, Wire
from vacr.receipts.entries import LARGEST, STATEMENT, entry_of
from vacr.signing import keys, labels
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import Sign1, parse
from vacr.verification.receipts import Logged, check_receipt

COSE = "application/cose"
KEYS = "/.well-known/scitt-keys"

_OK, _CREATED = 200, 201
_ELSEWHERE = (302, 303)
_GONE = (404, 410)
_LATER = (429, 502, 503, 504)
_FAILED = (OSError, UnicodeError, http.client.HTTPException)
_NOT_SENT = (labels.RECEIPTS, labels.TRACE_METADATA)
"""What is of no use to a service, which empties the unprotected header."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A statement that is registered: its receipt, what that shows, and whether only the service
    says whose key it is.
    """

    receipt: bytes
    logged: Logged
    as_the_service_says: bool


def register(
    statement: bytes,
    service: str,
    *,
    log_keys: Sequence[PublicKey] = (),
    access: Access | None = None,
    entry_rule: str = STATEMENT,
) -> bytes:
    """Register a statement in a service, by its address; give the receipt, verified.

    Without keys of the log the receipt is verified with those that the service itself names.

    Raises:
        InvalidStatement: the statement cannot be registered, the service refuses it, or the receipt
            does not hold.
        Unreachable: the service cannot be reached, or does not answer as one does.
        UsageError: the address is none.
    """
    return Client(service, access or Access()).register(statement, log_keys, entry_rule).receipt


def check_registrable(statement: bytes) -> Sign1:
    """Refuse a statement that no service takes, before it is sent; gives it.

    Raises:
        InvalidStatement: it has no payload, or is too large.
    """
    message = parse(statement)
    if message.payload is None:
        hint = "Sign again as a hash envelope: vacr sign FILE --key KEY --profile hash-envelope."
        raise InvalidStatement(
            "a detached statement: a log takes only what is whole",
            reason="register-detached",
            hint=hint,
        )
    size = len(entry_of(message))
    if size > LARGEST:
        hint = (
            "Sign again as a hash envelope, which is small: vacr sign FILE --key KEY "
            "--profile hash-envelope."
        )
        raise InvalidStatement(
            f"{size} bytes: a log takes up to {LARGEST}", reason="register-too-large", hint=hint
        )
    return message


class Client:
    """Registers statements in one service."""

    def __init__(
        self, url: str, access: Access | None = None, patience: Patience | None = None
    ) -> None:
        """Take the address of the service, how to reach it, and how long to try.

        Raises:
            UsageError: the address is none.
            Unreachable: what TLS needs cannot be read.
        """
        self.url = url
        self.wire = Wire(url, access or Access())
        self.prefix = self.wire.address.path.rstrip("/")
        self.patience = patience or Patience()
        self._keys: list[PublicKey] | None = None

    def register(
        self, statement: bytes, log_keys: Sequence[PublicKey] = (), entry_rule: str = STATEMENT
    ) -> Registered:
        """Register a statement, and verify the receipt."""
        message = check_registrable(statement)
        patience = replace(self.patience)
        receipt = self._receipt(_to_send(message), patience)
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
        return Registered(receipt, logged, not log_keys)

    def keys(self) -> list[PublicKey]:
        """Ask a service for the keys of its receipts, once.

        Raises:
            Unreachable: it does not tell any.
        """
        if self._keys is None:
            answer = self._answer(
                replace(self.patience), "GET", self.prefix + KEYS, {"Accept": "application/cbor"}
            )
            try:
                self._keys = keys.load_public(answer.body) if answer.status == _OK else []
            except UnreadableInput:
                self._keys = []
            if not self._keys:
                told = (
                    "the service does not tell the keys of its receipts "
                    f"({answer.status}){answers.said(answer)}"
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
            said = {keys.thumbprint(key) for key in self.keys()}
        except Unreachable:
            return True
        return any(keys.thumbprint(key) in said for key in log_keys)

    def _receipt(self, statement: bytes, patience: Patience) -> bytes:
        """Send a statement, and wait for its receipt."""
        answer = self._send(statement, patience)
        while not (answer.status in (_OK, _CREATED) and answer.body):
            if answer.status not in (_OK, _CREATED, *_ELSEWHERE):
                raise answers.refusal(answer, self.url)
            place = self._place(answer)
            if not patience.poll(answer.headers.get("retry-after")):
                told = f"registered, and no receipt yet: ask again later, at {place}"
                raise Unreachable(
                    told, where=self.url, hint="Registering the same again gives the same entry."
                )
            answer = self._answer(patience, "GET", place, {"Accept": COSE})
            if answer.status in _GONE:
                # A service that failed after it took the statement knows nothing of it, nor does
                # one that another stands in for.
                if not patience.again(answer.headers.get("retry-after")):
                    told = (
                        "the service took the statement, and does not know of it now "
                        f"({answer.status}){answers.said(answer)}"
                    )
                    raise Unreachable(
                        told,
                        where=self.url,
                        hint="Registering the same again gives the same entry.",
                    )
                answer = self._send(statement, patience)
        return answer.body

    def _send(self, statement: bytes, patience: Patience) -> Answer:
        return self._answer(
            patience,
            "POST",
            f"{self.prefix}/entries",
            {"Content-Type": COSE, "Accept": COSE},
            statement,
        )

    def _place(self, answer: Answer) -> str:
        """Give the path where a receipt will be: on the same host, for whoever is there may see the
        token.
        """
        here, location = self.url.rstrip("/") + "/entries", answer.headers.get("location", "")
        try:
            there = urlsplit(urljoin(here, location))
            same = _origin(there) == _origin(urlsplit(here)) and "@" not in there.netloc
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
        patience: Patience,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None = None,
    ) -> Answer:
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
            except _FAILED as error:
                if not patience.again(None):
                    raise answers.broken(error, self.url) from error
                continue
            if answer.status not in _LATER:
                return answer
            if not patience.again(answer.headers.get("retry-after")):
                raise answers.refusal(answer, self.url)


def _origin(place: SplitResult) -> tuple[str, str | None, int | None]:
    return place.scheme, place.hostname, place.port or {"http": 80, "https": 443}.get(place.scheme)


def _to_send(message: Sign1) -> bytes:
    """Write what a service is sent: all that is signed, and the key."""
    kept = {label: value for label, value in message.unprotected.items() if label not in _NOT_SENT}
    return replace(message, unprotected=kept).encode()

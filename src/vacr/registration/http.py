"""How long to wait for a service, and when to try again. Step: register.

A service may say when to come back; otherwise each wait is twice as long as the one before, and
never quite the same, so that many who wait do not come back at once.

One question to a service and its answer, over HTTP. Step: register, verify.

Nothing of the answer is believed here; it is only kept from being endless: in size, and in time.
"""

from __future__ import annotations

import http.client
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from vacr.errors import Unreachable, UsageError
from vacr.files import ServiceAddress, parse_service_address
from vacr.signing import read_trust_file
from vacr.version import __version__

_FIRST_PAUSE, _MAX_PAUSE = 0.25, 15.0


@dataclass
class RetryBudget:
    """The time that one registration may take beyond its questions, while it is used up."""

    seconds: float = 60.0
    """How long all waits together may be."""
    tries: int = 6
    """How often a question that failed is asked."""
    sleep: Callable[[float], None] = time.sleep
    waited: float = field(default=0.0, init=False)
    failed: int = field(default=0, init=False)
    polled: int = field(default=0, init=False)

    def again(self, retry_after: str | None) -> bool:
        """Wait before a question that failed is asked again; tell whether to ask it."""
        self.failed += 1
        return self.failed < self.tries and self._wait(self.failed, retry_after)

    def poll(self, retry_after: str | None) -> bool:
        """Wait for a service that is still at work; tell whether to ask again."""
        self.polled += 1
        return self._wait(self.polled, retry_after)

    def _wait(self, number: int, retry_after: str | None) -> bool:
        asked = parse_retry_after(retry_after)
        pause = min(_MAX_PAUSE, _FIRST_PAUSE * 2 ** min(number - 1, 16)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        pause = max(asked, min(pause, 1.0)) if asked is not None else pause
        if self.waited + pause > self.seconds:
            return False
        self.waited += pause
        self.sleep(pause)
        return True


def parse_retry_after(retry_after: str | None) -> float | None:
    """Read `Retry-After`, seconds or a date (RFC 9110 section 10.2.3); nothing where it says
    nothing.
    """
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.strip().isdecimal() and len(retry_after) < 10:  # noqa: PLR2004 - longer than anybody waits
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


SERVICE_URL_EXAMPLE = "For example: https://log.example.org"
MAX_RESPONSE_SIZE = 1 << 20
_MAX_SILENT_SECONDS = 30.0
"""After so many seconds without a byte nobody waits for more."""


@dataclass(frozen=True)
class ServiceAccess:
    """How a service is reached: by whom it is certified, and who asks."""

    token: str | None = field(default=None, repr=False)
    """What shows who asks (RFC 6750)."""
    ca: str | None = None
    """A file with the certificates of authorities, in the place of the system's."""
    certificate: str | None = None
    """A file with the certificate of the one who asks, in PEM; its key may be in it."""
    key: str | None = None
    timeout: float = 30.0
    """How many seconds an answer may take, all of it."""

    def __post_init__(self) -> None:
        """Check what can be checked before anything is asked.

        Raises:
            UsageError: the token cannot be one, or there is a key without a certificate.
        """
        if self.token is not None and (
            not self.token.isascii() or not self.token.isprintable() or " " in self.token.strip()
        ):
            raise UsageError(
                "the token has letters that no token has", hint="It is one line of ASCII."
            )
        if self.key is not None and self.certificate is None:
            raise UsageError("a key without a certificate", hint="Give --client-cert, too.")

    def context(self) -> ssl.SSLContext:
        """Give what TLS needs.

        Raises:
            Unreachable: a file cannot be read, or does not hold what it should.
        """
        for name in filter(None, (self.ca, self.certificate, self.key)):
            read_trust_file(name)  # says what is wrong with a file better than the library does
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as error:
            raise Unreachable("no certificates in PEM", where=str(self.ca)) from error
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key, password=_refuse_encrypted_key)
            except (OSError, ValueError) as error:
                told = "no certificate in PEM with its key, which must not be encrypted"
                raise Unreachable(
                    told, where=self.certificate, hint="Give the key with --client-key."
                ) from error
        return context


def _refuse_encrypted_key() -> str:
    raise ValueError("the key is encrypted")  # the library would ask at the terminal


@dataclass(frozen=True)
class HttpResponse:
    """What a service answered."""

    status: int
    reason: str
    headers: dict[str, str]
    """By their names in small letters."""
    body: bytes


class HttpClient:
    """Asks one service; a connection each time, or one for as long as it holds."""

    def __init__(self, url: str, access: ServiceAccess, *, keep: bool = False) -> None:
        """Take the address of the service, and whether to keep the connection.

        Raises:
            UsageError: it is none, or a token would be sent where others can read it.
            Unreachable: what TLS needs cannot be read.
        """
        self.url = url
        self.access = access
        self.keep = keep
        self.connection: http.client.HTTPConnection | None = None
        self.address: ServiceAddress = parse_service_address(
            url, "transparency service", SERVICE_URL_EXAMPLE
        )
        if "?" in self.address.path or "#" in url:
            raise UsageError(
                f"{url} is no address of a service: nothing may follow its path",
                hint=SERVICE_URL_EXAMPLE,
            )
        if access.token is not None and self.address.scheme == "http" and not self.address.is_local:
            raise UsageError("a token is sent over https only", hint=SERVICE_URL_EXAMPLE)
        self.context = access.context() if self.address.scheme == "https" else None

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        most: int = MAX_RESPONSE_SIZE,
    ) -> HttpResponse:
        """Ask, and give the answer, whatever it is, unless it has more than so many bytes.

        Raises:
            OSError: the connection failed.
            http.client.HTTPException: what came is no answer.
        """
        named = {"User-Agent": f"vacr/{__version__}", **(headers or {})}
        if self.access.token is not None:
            named["Authorization"] = f"Bearer {self.access.token.strip()}"
        if self.connection is not None:
            # One that was kept may have been closed at the other end meanwhile.
            with suppress(ConnectionError):
                return self._ask(method, path, body, named, most)
        return self._ask(method, path, body, named, most)

    def close(self) -> None:
        """Let go of the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], most: int
    ) -> HttpResponse:
        connection = self.connection or self._connection()
        self.connection = None
        try:
            with _limit_response_time(connection, self.access.timeout) as late:
                if connection.sock is None:
                    connection.connect()
                if not late.is_set():
                    connection.request(method, path, body, headers)
                    with connection.getresponse() as response:
                        read = _read_response_body(response, most)
                        ended = response.isclosed()
            if self.keep and ended and not response.will_close:
                self.connection = connection
        finally:
            if self.connection is None:
                connection.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        # The library does not tell when a body that is read up to a limit was cut off.
        if "content-length" in found and found["content-length"] != str(len(read)):
            raise http.client.HTTPException("the answer was cut off")
        return HttpResponse(response.status, response.reason, found, read)

    def _connection(self) -> http.client.HTTPConnection:
        place, timeout = self.address, min(self.access.timeout, _MAX_SILENT_SECONDS)
        if self.context is not None:
            return http.client.HTTPSConnection(
                place.host, place.port, timeout=timeout, context=self.context
            )
        return http.client.HTTPConnection(place.host, place.port, timeout=timeout)


def _read_response_body(response: http.client.HTTPResponse, most: int) -> bytes:
    """Read an answer, unless it has, or says to have, more than so many bytes."""
    read = response.read(most + 1) if (response.length or 0) <= most else None
    if read is None or len(read) > most:
        raise http.client.HTTPException(
            f"an answer of more than {most} bytes, which is more than there can be"
        )
    return read


@contextmanager
def _limit_response_time(
    connection: http.client.HTTPConnection, seconds: float
) -> Iterator[threading.Event]:
    """End a connection after some time: the library's own limit begins anew with every byte. Gives
    what tells that it is over.

    Raises:
        TimeoutError: the time was over.
    """
    late = threading.Event()

    def end() -> None:
        late.set()
        with suppress(OSError, AttributeError):
            connection.sock.shutdown(2)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    except (OSError, http.client.HTTPException, AttributeError) as error:
        # The library's limit for one step may be as long as that for the whole answer, and end
        # first.
        is_over = late.is_set() or (
            isinstance(error, TimeoutError) and (connection.timeout or 0) >= seconds
        )
        if is_over:
            raise TimeoutError(f"no whole answer within {seconds:g} seconds") from error
        raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError(f"no whole answer within {seconds:g} seconds")


RETRY_LATER_HINT = "Try again later."
_CLOSED_CONNECTION_ERRORS = (
    http.client.BadStatusLine,
    ConnectionResetError,
    BrokenPipeError,
    ssl.SSLError,
)
"""How the end of a connection shows, depending on whether the client was reading or writing when
the service closed it.
"""


def suggest_connection_fix(error: Exception, url: str) -> str:
    """Say what to do about a connection that failed: a service that wants TLS, or a certificate,
    just ends it.
    """
    if not isinstance(error, _CLOSED_CONNECTION_ERRORS):
        return RETRY_LATER_HINT
    if url.lower().startswith("https:"):
        return "If the service asks callers for a certificate, give --client-cert."
    return "If the service has a certificate, its address begins with https:."

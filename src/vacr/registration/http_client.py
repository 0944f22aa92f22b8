"""HTTP requests to a service that is not trusted, limited in size and time, and retries.

This module limits responses, but does not check their content. A service may name the time of the
next attempt (`Retry-After`). Otherwise, each pause is twice as long as the last one, with some
randomness, so that many clients do not return at once.

    >>> from vacr.registration import RetryBudget
    >>> pauses = []
    >>> budget = RetryBudget(seconds=10, sleep=pauses.append)
    >>> [budget.wait_to_retry("6"), budget.wait_to_retry("6")]     # 12 seconds exceed the budget
    [True, False]
    >>> pauses
    [6.0]
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
from vacr.files import CheckedResponse, ServiceAddress, parse_service_address
from vacr.signing import check_secret_permissions, read_trust_file
from vacr.version import __version__

SERVICE_URL_EXAMPLE = "For example: https://log.example.org"
MAX_RESPONSE_SIZE = 1 << 20
RETRY_LATER_HINT = "Try again later."
_FIRST_PAUSE, _MAX_PAUSE = 0.25, 15.0
_MAX_RETRY_AFTER_DIGITS = 9
_MAX_SILENT_SECONDS = 30.0
"""The longest wait for the next byte of a response."""
_CLOSED_CONNECTION_ERRORS = (
    http.client.BadStatusLine,
    ConnectionResetError,
    BrokenPipeError,
    ssl.SSLError,
)
"""The errors of a connection that the service closed, while we were reading or writing."""


@dataclass(frozen=True)
class ServiceAccess:
    """The client's side of a connection: its credentials, and the authorities it trusts."""

    token: str | None = field(default=None, repr=False)
    """The bearer token that authenticates the client (RFC 6750)."""
    ca: str | None = None
    """A file with the certificates of trusted authorities, instead of the system's."""
    certificate: str | None = None
    """A PEM file with the client's certificate, and possibly its key."""
    key: str | None = None
    """A PEM file with the key of that certificate, if it is in another file."""
    timeout: float = 30.0
    """The maximum time for a whole response, in seconds."""

    def __post_init__(self) -> None:
        """Check the token, and that a key comes with a certificate.

        Raises:
            UsageError: the token is not printable ASCII, or there is a key without a certificate.
        """
        if self.token is not None and (
            not self.token.isascii() or not self.token.isprintable() or " " in self.token.strip()
        ):
            raise UsageError(
                "the access token must be printable ASCII without spaces",
                hint="The token file, or the environment variable, must contain only the token.",
            )
        if self.key is not None and self.certificate is None:
            raise UsageError(
                "--client-key needs the certificate of that key", hint="Add --client-cert FILE."
            )

    def context(self) -> ssl.SSLContext:
        """Return a TLS context with the trusted authorities and the client's certificate.

        Raises:
            UsageError: other users can read the file with the client's private key.
            Unreachable: a file cannot be read, or lacks a certificate or a key.
        """
        key_file = self.key or self.certificate
        if key_file is not None:
            check_secret_permissions(key_file)
        for name in filter(None, (self.ca, self.certificate, self.key)):
            read_trust_file(name)  # Its errors are clearer than the library's.
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as error:
            raise Unreachable(
                "the file contains no PEM certificates", where=str(self.ca)
            ) from error
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key, password=_refuse_encrypted_key)
            except (OSError, ValueError) as error:
                problem = "the file is not a PEM certificate with its unencrypted key"
                raise Unreachable(
                    problem,
                    where=self.certificate,
                    hint="If the key is in another file, add --client-key.",
                ) from error
        return context


def _refuse_encrypted_key() -> str:
    """Raise ValueError when the TLS library asks for the passphrase of a key."""
    raise ValueError("the key is encrypted")  # The library would prompt for a passphrase.


@dataclass(frozen=True)
class HttpResponse:
    """The response of a service."""

    status: int
    reason: str
    headers: dict[str, str]
    """The header fields, by name in lower case."""
    body: bytes


class HttpClient:
    """A client of one service; it opens a connection per request, or keeps one."""

    def __init__(self, url: str, access: ServiceAccess, *, keep: bool = False) -> None:
        """Parse the address of the service, without connecting to it.

        With `keep`, later requests use the same connection.

        Raises:
            UsageError: the address is invalid, or the token would be sent without encryption.
            Unreachable: a certificate or key file for TLS cannot be read.
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
                f"{url} is not a service address: it must not have a query or fragment",
                hint=SERVICE_URL_EXAMPLE,
            )
        if access.token is not None and self.address.scheme == "http" and not self.address.is_local:
            raise UsageError(
                f"the access token is sent only over https, not to {url}", hint=SERVICE_URL_EXAMPLE
            )
        self.context = access.context() if self.address.scheme == "https" else None

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        max_size: int = MAX_RESPONSE_SIZE,
    ) -> HttpResponse:
        """Send a request and return the response, also one with an error status.

        Raises:
            OSError: the connection failed.
            http.client.HTTPException: the response is malformed, too large or cut off.
        """
        all_headers = {"User-Agent": f"vacr/{__version__}", **(headers or {})}
        if self.access.token is not None:
            all_headers["Authorization"] = f"Bearer {self.access.token.strip()}"
        if self.connection is not None:
            # The service may have closed a kept connection in the meantime.
            with suppress(ConnectionError):
                return self._send(method, path, body, all_headers, max_size)
        return self._send(method, path, body, all_headers, max_size)

    def close(self) -> None:
        """Close the connection, if one is kept."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], max_size: int
    ) -> HttpResponse:
        """Send a request over the kept connection or a new one, and read the whole response.

        Raises:
            OSError: the connection failed, or took too long.
            http.client.HTTPException: the response is malformed, cut off or too long.
        """
        connection = self.connection or self._make_connection()
        self.connection = None
        try:
            with _limit_response_time(connection, self.access.timeout) as timed_out:
                if connection.sock is None:
                    connection.connect()
                if not timed_out.is_set():
                    connection.request(method, path, body, headers)
                    with connection.getresponse() as response:
                        content = _read_response_body(response, max_size)
                        is_complete = response.isclosed()
            if self.keep and is_complete and not response.will_close:
                self.connection = connection
        finally:
            if self.connection is None:
                connection.close()
        fields = {name.lower(): value for name, value in response.getheaders()}
        # The library does not report that a body which is read up to a limit was cut off.
        if "content-length" in fields and fields["content-length"] != str(len(content)):
            raise http.client.HTTPException("the response was cut off")
        return HttpResponse(response.status, response.reason, fields, content)

    def _make_connection(self) -> http.client.HTTPConnection:
        host, port = self.address.host, self.address.port
        timeout = min(self.access.timeout, _MAX_SILENT_SECONDS)
        connection: http.client.HTTPConnection
        if self.context is not None:
            connection = http.client.HTTPSConnection(
                host, port, timeout=timeout, context=self.context
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        connection.response_class = CheckedResponse
        return connection


def _read_response_body(response: http.client.HTTPResponse, max_size: int) -> bytes:
    """Return the body of a response.

    Raises:
        http.client.HTTPException: its actual or declared size exceeds `max_size`.
    """
    content = response.read(max_size + 1) if (response.length or 0) <= max_size else None
    if content is None or len(content) > max_size:
        raise http.client.HTTPException(f"the response exceeds {max_size} bytes")
    return content


@contextmanager
def _limit_response_time(
    connection: http.client.HTTPConnection, seconds: float
) -> Iterator[threading.Event]:
    """Shut a connection down if the context takes longer than `seconds`.

    The context gets an event that is set at that moment. The library's own timeout does not
    suffice, because it starts again with every byte.

    Raises:
        TimeoutError: the context took longer.
    """
    timed_out = threading.Event()

    def shut_down() -> None:
        timed_out.set()
        with suppress(OSError, AttributeError):
            connection.sock.shutdown(2)

    timer = threading.Timer(seconds, shut_down)
    timer.daemon = True
    timer.start()
    try:
        yield timed_out
    except (OSError, http.client.HTTPException, AttributeError) as error:
        # The library's timeout for one step may be as long as ours for all, and end first.
        library_timed_out = isinstance(error, TimeoutError) and (connection.timeout or 0) >= seconds
        if timed_out.is_set() or library_timed_out:
            raise TimeoutError(f"no complete response within {seconds:g} seconds") from error
        raise
    finally:
        timer.cancel()
    if timed_out.is_set():
        raise TimeoutError(f"no complete response within {seconds:g} seconds")


@dataclass
class RetryBudget:
    """The attempts and the waiting time that a registration may use, and has used so far."""

    seconds: float = 60.0
    """The maximum of all pauses together."""
    tries: int = 6
    """The maximum number of attempts for failing requests."""
    sleep: Callable[[float], None] = time.sleep
    waited: float = field(default=0.0, init=False)
    """The seconds of all pauses so far."""
    failed: int = field(default=0, init=False)
    """The number of failed requests so far."""
    polled: int = field(default=0, init=False)
    """How often the service was still working."""

    def wait_to_retry(self, retry_after: str | None) -> bool:
        """Wait, and return True, if a failed request may be repeated; otherwise return False.

        `retry_after` is the header of the response, or None without a response or header.
        """
        self.failed += 1
        return self.failed < self.tries and self._wait(self.failed, retry_after)

    def wait_for_result(self, retry_after: str | None) -> bool:
        """Wait for a service that is still working, and return True: ask it again.

        Return False at once if the waiting time is used up. `retry_after` is the header of the
        response, or None.
        """
        self.polled += 1
        return self._wait(self.polled, retry_after)

    def _wait(self, attempt: int, retry_after: str | None) -> bool:
        """Sleep for longer with each attempt, and return True.

        Return False at once if the time is used up.
        """
        doubled = min(_MAX_PAUSE, _FIRST_PAUSE * 2 ** min(attempt - 1, 16))
        pause = doubled * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
        requested = parse_retry_after(retry_after)
        if requested is not None:
            pause = max(requested, min(pause, 1.0))
        if self.waited + pause > self.seconds:
            return False
        self.waited += pause
        self.sleep(pause)
        return True


def parse_retry_after(retry_after: str | None) -> float | None:
    """Return the seconds from now that the header `Retry-After` asks to wait.

    The header contains seconds or a date (RFC 9110, section 10.2.3); a past date gives 0. Return
    `None` if it is missing or malformed.
    """
    if retry_after is None:
        return None
    is_number = retry_after.isascii() and retry_after.strip().isdecimal()
    if is_number and len(retry_after) <= _MAX_RETRY_AFTER_DIGITS:
        return float(retry_after)
    try:
        time_to_retry = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    time_to_retry = time_to_retry.replace(tzinfo=time_to_retry.tzinfo or UTC)
    return max(0.0, (time_to_retry - datetime.now(UTC)).total_seconds())


def suggest_connection_fix(error: Exception, url: str) -> str:
    """Return a hint about what to do after a failed connection to `url`.

    A service that expects TLS or a client certificate closes the connection without an explanation.
    """
    if not isinstance(error, _CLOSED_CONNECTION_ERRORS):
        return RETRY_LATER_HINT
    if url.lower().startswith("https:"):
        return "If the service requires a client certificate, add --client-cert."
    return "If the service uses TLS, its address must start with https:."

"""Serve an application over HTTP: sockets, TLS, limits for clients, and a graceful shutdown.

The log and the witness are ASGI applications. This module runs either of them under uvicorn until
SIGTERM or SIGINT arrives, or until the application itself asks to stop. uvicorn itself waits
forever for a request head, however long it grows, and for clients that do not read their response;
`define_bounded_connection` limits both. Needs the extra `log`, but can be imported without it.

    >>> from vacr.errors import VacrError
    >>> from vacr.log import ServiceStop
    >>> stop = ServiceStop()
    >>> stop.ask(VacrError("the disk is full"))
    >>> stop.reason
    VacrError('the disk is full')
"""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from vacr.errors import UnreadableInput, UsageError, VacrError

MAX_REQUEST_HEAD_SIZE = 1 << 16
MAX_REQUEST_HEAD_SECONDS = 20.0
MAX_STALLED_SECONDS = 300.0
"""How long a client may leave its response unread."""
_HEAD_TOO_LARGE_RESPONSE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 9\r\nconnection: close\r\n\r\n"
    b"too large"
)
_SHUTDOWN_SECONDS = 10
_SOCKET_BACKLOG = 2048
_LISTENING_SOCKET_COUNT = 16
"""The event loop accepts one connection per listening socket and then serves all open ones.

With a single socket, new connections would starve under load.
"""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The PEM files for TLS: the service's own certificate, and the authority for its clients."""

    certificate: str
    key: str
    client_authority: str | None = None
    """If set, every client needs a certificate from this authority."""


class ServiceStop:
    """Stops a service from within; `serve_application` then raises the reason."""

    def __init__(self) -> None:
        """Start with no reason to stop, and no server to end."""
        self.reason: VacrError | None = None
        self.end: Callable[[], None] = lambda: None
        """Ends the server; `serve_application` sets it."""

    def ask(self, reason: VacrError) -> None:
        """Ask the service to stop, and keep the first reason."""
        self.reason = self.reason or reason
        self.end()


def serve_application(
    app: Any,
    host: str,
    port: int,
    *,
    on_start: Callable[[str], None],
    tls: TlsFiles | None = None,
    stop: ServiceStop | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Serve an ASGI application over HTTP until SIGTERM, SIGINT or `stop` ends it.

    `on_start` is called with the service's URL once connections are accepted. For requests from one
    of the `proxies` (addresses or networks), `X-Forwarded-For` names the client.

    Raises:
        UsageError: the address cannot be used, or the extra is not installed.
        UnreadableInput: a TLS file cannot be read, or is malformed.
        VacrError: the service stopped itself; this is its reason.
    """
    try:
        import uvicorn

        connection_class = define_bounded_connection()
    except ImportError as error:
        raise UsageError(
            "serving needs the packages of vacr[log], which are not installed",
            hint="pip install 'vacr[log]'",
        ) from error
    stop = stop or ServiceStop()
    config = uvicorn.Config(
        app,
        http=connection_class,
        ws="none",
        # Warnings about malformed requests would let any client fill the log file.
        log_level="error",
        access_log=False,
        server_header=False,
        # Only a known proxy is believed: any other client could claim another's address.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        backlog=_SOCKET_BACKLOG,
    )
    config.load()
    config.ssl = _build_tls_context(tls) if tls is not None else None
    server = uvicorn.Server(config)

    def end() -> None:
        server.should_exit = True

    stop.end = end
    with (
        _open_listening_socket(host, port) as listening,
        _handle_end_signals(end),
        ExitStack() as duplicates,
    ):
        on_start(_format_service_url(listening, host, secure=tls is not None))
        others = [
            duplicates.enter_context(listening.dup()) for _ in range(_LISTENING_SOCKET_COUNT - 1)
        ]
        server.run(sockets=[listening, *others])
    if stop.reason is not None:
        raise stop.reason


def _build_tls_context(tls: TlsFiles) -> ssl.SSLContext:
    """Load the TLS files, and return the settings for the server's side.

    Raises:
        UnreadableInput: a file cannot be read, or is malformed.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a passphrase callback, OpenSSL would prompt on the terminal and wait.
        context.load_cert_chain(tls.certificate, tls.key, lambda: "")
        if tls.client_authority is not None:
            context.load_verify_locations(tls.client_authority)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:
        files = ", ".join(filter(None, (tls.certificate, tls.key, tls.client_authority)))
        hint = "TLS needs PEM files: a certificate, and its private key without a passphrase."
        raise UnreadableInput(
            f"cannot set up TLS: {getattr(error, 'strerror', None) or error}",
            where=files,
            hint=hint,
        ) from error
    return context


def _open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a port of a host name or address; port 0 is any free one.

    Raises:
        UsageError: the name is unknown, or the port cannot be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_SOCKET_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot listen on {host}, port {port}: {cause}",
            hint="Choose another --port or --host.",
        ) from error


@contextmanager
def _handle_end_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` on SIGTERM and SIGINT within the context; do nothing outside the main thread.

    uvicorn installs its own handlers while it runs, and raises the signal again when it has shut
    down; these handlers are then in place, so that the process does not die of it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {
        number: signal.signal(number, lambda *_: end())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _format_service_url(listening: socket.socket, host: str, *, secure: bool) -> str:
    """Return the URL of a service with the socket's actual port, such as `https://[::1]:8080/`."""
    scheme = "https" if secure else "http"
    name = f"[{host}]" if ":" in host else host
    port = listening.getsockname()[1]
    return f"{scheme}://{name}:{port}/"


# --- Connections ---


@cache
def define_bounded_connection() -> Any:
    """Return a connection class for uvicorn that limits request heads and unread responses.

    Request bodies are limited where they are read.

    Raises:
        ImportError: the extra `log` is not installed.
    """
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class BoundedConnection(HttpToolsProtocol):
        """An HTTP/1.1 connection that is closed when a request or a response takes too long."""

        in_head = True
        """Whether the next bytes belong to a request head."""
        received_size = 0
        """How many bytes of the current request head have arrived."""
        head_timer: asyncio.TimerHandle | None = None
        stall_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Start the timer for the first request head."""
            super().connection_made(transport)
            self.head_timer = self.loop.call_later(MAX_REQUEST_HEAD_SECONDS, transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            """Cancel both timers."""
            self._cancel_head_timer()
            self.resume_writing()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Parse the data; if the request head is still incomplete, check its size and time."""
            self.received_size += len(data)
            super().data_received(data)
            if not self.in_head or not self.received_size or self.transport.is_closing():
                return
            if self.received_size > MAX_REQUEST_HEAD_SIZE:
                self.transport.write(_HEAD_TOO_LARGE_RESPONSE)
                self.transport.close()
            elif self.head_timer is None:
                self.head_timer = self.loop.call_later(
                    MAX_REQUEST_HEAD_SECONDS, self.transport.close
                )

        def on_headers_complete(self) -> None:
            """Cancel the timer of the request head, and expect a body."""
            self._cancel_head_timer()
            self.in_head, self.received_size = False, 0
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            """Expect the next request head."""
            self.in_head, self.received_size = True, 0
            super().on_message_complete()

        def pause_writing(self) -> None:
            """Start the timer for a client that does not read its response."""
            self.stall_timer = self.loop.call_later(MAX_STALLED_SECONDS, self.transport.abort)
            super().pause_writing()

        def resume_writing(self) -> None:
            """Cancel that timer: the client reads again."""
            if self.stall_timer is not None:
                self.stall_timer.cancel()
            super().resume_writing()

        def _cancel_head_timer(self) -> None:
            if self.head_timer is not None:
                self.head_timer.cancel()
                self.head_timer = None

    return BoundedConnection

"""Serve an application over HTTP: sockets, TLS, and a graceful shutdown.

The log and the witness are ASGI applications. This module runs either of them under uvicorn until
SIGTERM or SIGINT arrives, or until the application itself asks to stop. Needs the extra `log`, but
can be imported without it.

    >>> from vacr.errors import VacrError
    >>> from vacr.log import ServiceStop
    >>> stop = ServiceStop()
    >>> stop.ask(VacrError("the disk is full"))
    >>> stop.reason
    VacrError('the disk is full')
"""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from vacr.errors import UnreadableInput, UsageError, VacrError

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
        """Start without a reason."""
        self.reason: VacrError | None = None
        self.end: Callable[[], None] = lambda: None

    def ask(self, reason: VacrError) -> None:
        """Ask the service to stop; the first reason is kept."""
        self.reason = self.reason or reason
        self.end()


def serve_application(
    app: Any,
    host: str,
    port: int,
    *,
    told: Callable[[str], None],
    tls: TlsFiles | None = None,
    stop: ServiceStop | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Serve until SIGTERM, SIGINT or the service itself ends it.

    `told` is called with the service's URL once connections are accepted. For requests from one
    of the `proxies` (addresses or networks), `X-Forwarded-For` names the client.

    Raises:
        UsageError: the address cannot be used, or the extra is not installed.
        UnreadableInput: a TLS file cannot be read, or is malformed.
        VacrError: the service stopped itself; this is its reason.
    """
    try:
        import uvicorn

        from vacr.log.connections import BoundedConnection
    except ImportError as error:
        raise UsageError("serving needs the extra log", hint="pip install 'vacr[log]'") from error
    stop = stop or ServiceStop()
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
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
        told(_format_service_url(listening, host, secure=tls is not None))
        others = [
            duplicates.enter_context(listening.dup()) for _ in range(_LISTENING_SOCKET_COUNT - 1)
        ]
        server.run(sockets=[listening, *others])
    if stop.reason is not None:
        raise stop.reason


def _build_tls_context(tls: TlsFiles) -> ssl.SSLContext:
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
        hint = "A certificate and its key, not encrypted, and authorities are files in PEM."
        raise UnreadableInput(
            f"not what TLS needs: {getattr(error, 'strerror', None) or error}",
            where=files,
            hint=hint,
        ) from error
    return context


def _open_listening_socket(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_SOCKET_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot listen at {host}, port {port}: {cause}", hint="Give another --port or --host."
        ) from error


@contextmanager
def _handle_end_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` on SIGTERM and SIGINT.

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
    scheme = "https" if secure else "http"
    name = f"[{host}]" if ":" in host else host
    port = listening.getsockname()[1]
    return f"{scheme}://{name}:{port}/"

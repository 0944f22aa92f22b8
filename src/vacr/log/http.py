"""Serving an application over HTTP: the socket, TLS, and an end that waits for what has begun.
Step: register.

Needs the extra `log`.
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
"""The event loop takes one new caller of each socket, then serves all that are there: with one
socket, new ones would starve.
"""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What a service shows for its name, and who may call it: all in PEM."""

    certificate: str
    key: str
    client_authority: str | None = None
    """Whoever calls has to have a certificate of this authority, if there is one."""


class ServiceStop:
    """Ends a service from within, for a reason that is then raised where it was started."""

    def __init__(self) -> None:
        """Start without a reason."""
        self.reason: VacrError | None = None
        self.end: Callable[[], None] = lambda: None

    def ask(self, reason: VacrError) -> None:
        """Have the service end; the first reason counts."""
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
    """Serve until a signal asks to end (SIGTERM, SIGINT), or the service itself; `told` gets the
    address once it can be called.

    Where one of `proxies` calls, by its address or network, the caller is whom it names in
    `X-Forwarded-For`.

    Raises:
        UsageError: the address cannot be had, or the extra is not installed.
        UnreadableInput: a file for TLS cannot be read, or is none.
        VacrError: the reason for which the service ended itself.
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
        # Whoever calls could have the log filled with warnings about what they sent.
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),  # anybody else could write another's address into them
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
        ExitStack() as others,
    ):
        told(_format_service_address(listening, host, secure=tls is not None))
        more = [others.enter_context(listening.dup()) for _ in range(_LISTENING_SOCKET_COUNT - 1)]
        server.run(sockets=[listening, *more])
    if stop.reason is not None:
        raise stop.reason


def _open_listening_socket(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_SOCKET_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        told = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot listen at {host}, port {port}: {told}", hint="Give another --port or --host."
        ) from error


def _format_service_address(listening: socket.socket, host: str, *, secure: bool) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{name}:{listening.getsockname()[1]}/"


@contextmanager
def _handle_end_signals(end: Callable[[], None]) -> Iterator[None]:
    """End well when asked to: the server has handlers of its own while it runs, and raises what it
    got again when it ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, lambda *_: end()) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _build_tls_context(tls: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a passphrase at hand the library would ask for one at a terminal, and wait.
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

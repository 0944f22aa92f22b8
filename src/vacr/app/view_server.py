"""A server of pages for a browser on this machine: `vacr view --serve`.

Other pages in the same browser must not read the served pages. So a request must name this host,
which stops other names that resolve to it, and must not come from another origin:

    >>> from pathlib import Path
    >>> from vacr.app.view_server import PageServer
    >>> with PageServer({"a.html": Path("a.html")}, "127.0.0.1", 0) as server:
    ...     port = server.server_port
    ...     server.is_named_by(f"localhost:{port}"), server.is_named_by(f"evil.example:{port}")
    (True, False)

If other machines can reach the server, the address also contains a secret token.
"""

from __future__ import annotations

import ipaddress
import secrets
import shutil
import signal
import socket
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn, Protocol
from urllib.parse import quote, unquote, urlsplit

from vacr.errors import UnreadableInput

_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
_WILDCARD_HOSTS = ("0.0.0.0", "::")  # noqa: S104 - the user chose this host
_HTTP_PORT = 80
_RESPONSE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class PageServer(ThreadingHTTPServer):
    """A web server that serves pages by their names, and the first page also at the root."""

    daemon_threads = True

    def __init__(self, pages: Mapping[str, Path], host: str, port: int) -> None:
        """Listen at an address; `pages` maps names to files.

        Raises:
            UnreadableInput: this machine lacks the address, or the port is in use.
        """
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.pages = {"": next(iter(pages.values())), **pages}
        self.token = "" if _is_loopback(host) else secrets.token_urlsafe(24)
        self.is_everywhere = host in _WILDCARD_HOSTS
        self.named = socket.gethostname() if self.is_everywhere else host
        try:
            super().__init__((host, port), _PageHandler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadableInput(
                f"cannot listen: {reason}",
                where=f"{host}:{port}",
                hint="Choose another address with --host or --port.",
            ) from error

    @property
    def address(self) -> str:
        """Return the URL of the first page, with the token if there is one."""
        host = f"[{self.named}]" if ":" in self.named else self.named
        return f"http://{host}:{self.server_port}/{f'{self.token}/' if self.token else ''}"

    def is_named_by(self, host: str | None) -> bool:
        """Return whether the `Host` of a request is a name and port of this server.

        A server with a token that listens at all addresses accepts any name.
        """
        if self.token and self.is_everywhere:
            return True  # Other machines may use any name; the token keeps strangers out.
        try:
            parsed = urlsplit(f"//{host}")
            port = parsed.port or _HTTP_PORT
        except ValueError:
            return False
        return parsed.hostname in {*_LOCAL_HOSTS, self.named} and port == self.server_port

    def page(self, target: str) -> Path | None:
        """Return the file for the path of a request; `None` if there is no such page.

        If the server has a token, the path must begin with it; otherwise, `None` is returned, too.
        """
        try:
            path = unquote(urlsplit(target).path).removeprefix("/")
        except ValueError:
            return None
        if self.token:
            token, _, path = path.partition("/")
            if not secrets.compare_digest(token.encode(), self.token.encode()):
                return None
        return self.pages.get(path)


class _PageHandler(BaseHTTPRequestHandler):
    """Answers the requests of browsers."""

    server: PageServer
    server_version, sys_version = "vacr", ""
    timeout = 30
    """Seconds after which a silent client is disconnected."""

    def do_GET(self) -> None:
        """Answer with a page, or with 403 or 404."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer as to GET, without a body."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        """Send a page; 403 if the request comes from another site, 404 if the page is unknown."""
        scheme, separator, host = self.headers.get("Origin", "http://").partition("://")
        foreign = "Origin" in self.headers and (
            scheme + separator != "http://" or not self.server.is_named_by(host)
        )
        if foreign or not self.server.is_named_by(self.headers.get("Host")):
            self.send_error(HTTPStatus.FORBIDDEN, "Requests from other sites are not allowed")
            return
        page = self.server.page(self.path)
        if page is None:
            self.send_error(HTTPStatus.NOT_FOUND, "No such page")
            return
        self.send_response(HTTPStatus.OK)
        for name, value in _RESPONSE_HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(page.stat().st_size))
        self.end_headers()
        if with_body:
            with page.open("rb") as file, suppress(ConnectionError, TimeoutError):
                shutil.copyfileobj(file, self.wfile)

    def log_message(self, *_: object) -> None:
        """Print nothing, to keep private which pages are read."""


class StartReport(Protocol):
    """A function that reports the address of the server, and its pages."""

    def __call__(self, address: str, names: list[str], *, is_exposed: bool) -> None:
        """Report the start; `is_exposed` if other machines can read the pages."""


def serve_pages(
    pages: Mapping[str, Path], host: str, port: int, report_start: StartReport, *, opens: bool
) -> None:
    """Serve pages by their names until Ctrl-C or a termination signal ends the process.

    `report_start` is called with the address; if `opens`, a browser opens it.

    Raises:
        UnreadableInput: this machine lacks the address, or the port is in use.
    """
    with PageServer(pages, host, port) as server:
        report_start(server.address, [quote(name) for name in pages], is_exposed=bool(server.token))
        if opens:
            webbrowser.open(server.address)
        # Without a handler, a signal would end the process before the pages are removed.
        signal.signal(signal.SIGTERM, _exit_on_signal)
        server.serve_forever()


def _exit_on_signal(*_: object) -> NoReturn:
    """End the process with exit code 0, after its cleanup, by raising SystemExit."""
    raise SystemExit(0)


def _is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host: a loopback address, or `localhost`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

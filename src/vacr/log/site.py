"""A place that is asked over HTTP and not trusted: its answers are limited in size and time, and it sends nobody elsewhere."""

from __future__ import annotations

import http.client
import time
import zlib
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from vacr.errors import Unreachable, UsageError
from vacr.version import __version__

_TIMEOUT = 30
_LONGEST = 300
"""An answer that takes longer is given up, however steadily it trickles."""
_PIECE = 1 << 16
_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_BUSY = (429, 503)
_MOST_WAITS = 5
_LONGEST_WAIT = 30
_GZIP = 31


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    status: int
    kind: str
    body: bytes


class Site:
    """Whatever is below an address."""

    def __init__(self, url: str) -> None:
        """Take the address.

        Raises:
            UsageError: it is none.
        """
        hint = "For example: https://log.example.org/"
        try:
            place = urlsplit(url)
            port = place.port
        except ValueError as error:
            raise UsageError(f"not an address: {url!r}", hint=hint) from error
        if place.scheme not in ("http", "https") or not place.hostname or not url.isascii() or not url.isprintable():
            raise UsageError(f"not an address: {url!r}", hint=hint)
        # They would be told in messages, and never be used.
        if "@" in place.netloc or place.query or place.fragment:
            raise UsageError("the address has a name, a password, a question or a fragment in it", hint=hint)
        self.url = url if url.endswith("/") else url + "/"
        self.host, self.port, self.secure = place.hostname, port, place.scheme == "https"
        self.connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Let go of the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def get(self, path: str, most: int) -> Reply:
        """Fetch what is at a path, no more than so many bytes of it; whoever is busy is asked again a little later.

        Raises:
            Unreachable: there is no answer, or one that is too long or leads elsewhere.
        """
        target = self.url + path
        for _ in range(_MOST_REDIRECTS):
            reply, place = self._patiently(target, most)
            if reply.status not in _REDIRECTS:
                return reply
            target = _followed(target, place)
        raise Unreachable("leads around in a circle", where=target)

    def _patiently(self, target: str, most: int) -> tuple[Reply, str]:
        for left in range(_MOST_WAITS, -1, -1):
            reply, headers = self._ask("GET", target, most, None, {"Accept-Encoding": "gzip, identity"})
            if reply.status not in _BUSY or not left:
                break
            wait = headers.get("Retry-After", "1")
            time.sleep(min(int(wait), _LONGEST_WAIT) if wait.isascii() and wait.isdigit() else 1)
        return reply, headers.get("Location", "")

    def post(self, path: str, body: bytes, kind: str, most: int) -> Reply:
        """Send something to a path, and give the answer.

        Raises:
            Unreachable: there is none, or one that is too long.
        """
        return self._ask("POST", self.url + path, most, body, {"Content-Type": kind})[0]

    def _ask(
        self, method: str, target: str, most: int, body: bytes | None, headers: dict[str, str]
    ) -> tuple[Reply, http.client.HTTPMessage]:
        try:
            # Only when it is closed is the connection ready for the next question.
            with self._response(method, target, body, headers) as response:
                data = _read(response, most, target)
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            self.close()
            told = str(error) or type(error).__name__
            raise Unreachable(f"no answer: {told}", where=target, hint="Try again later.") from error
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return Reply(response.status, response.headers.get("Content-Type", ""), data), response.headers

    def _response(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse:
        place = urlsplit(target)
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        headers = {"User-Agent": f"vacr/{__version__}", **headers}
        used = self.connection is not None
        try:
            self._connected().request(method, path, body, headers)
            return self._connected().getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            # A connection that was kept may have been closed at the other end meanwhile.
            self.close()
            if not used:
                raise
        self._connected().request(method, path, body, headers)
        return self._connected().getresponse()

    def _connected(self) -> http.client.HTTPConnection:
        if self.connection is None:
            kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
            self.connection = kind(self.host, self.port, timeout=_TIMEOUT)
        return self.connection


def _followed(target: str, place: str) -> str:
    """Give the address that another leads to, if it is at the same site."""
    try:
        there, here = urlsplit(urljoin(target, place)), urlsplit(target)
        if (there.scheme, there.hostname, there.port) == (here.scheme, here.hostname, here.port):
            return there._replace(fragment="").geturl()
    except ValueError:
        pass  # no address at all
    raise Unreachable(f"leads to another place, {place[:200]!r}, which was not asked for", where=target)


def _read(response: http.client.HTTPResponse, most: int, target: str) -> bytes:
    """Read an answer piece by piece, and give it up when it is too long in bytes or in time."""
    too_long = Unreachable(f"an answer of more than {most} bytes, which is more than there can be", where=target)
    if response.length is not None and response.length > most:
        raise too_long
    pieces, size, end = [], 0, time.monotonic() + _LONGEST
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise too_long
        if time.monotonic() > end:
            raise Unreachable(f"the answer took longer than {_LONGEST} seconds", where=target)
    if response.length:
        raise Unreachable("the answer was cut off", where=target, hint="Try again later.")
    data = b"".join(pieces)
    match response.headers.get("Content-Encoding", "identity").lower():
        case "identity":
            return data
        case "gzip":
            return _inflated(data, most, too_long)
        case other:
            raise Unreachable(f"an answer in an encoding that was not asked for: {other[:40]}", where=target)


def _inflated(data: bytes, most: int, too_long: Unreachable) -> bytes:
    inflater = zlib.decompressobj(_GZIP)
    try:
        inflated = inflater.decompress(data, most + 1)
    except zlib.error as error:
        raise Unreachable(f"an answer that cannot be decompressed: {error}", where=too_long.where) from error
    if len(inflated) > most:
        raise too_long
    if not inflater.eof or inflater.unused_data:
        raise Unreachable("an answer that cannot be decompressed: it is cut off, or more comes after it", where=too_long.where)
    return inflated

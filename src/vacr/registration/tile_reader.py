"""A tiled log over HTTP: its checkpoint, tiles and entries (client of C2SP tlog-tiles).

The log is not trusted. Responses are limited in size and time, redirects stay on the same site, and
a busy server is asked again later. The monitor verifies the content; this module does not.

    >>> from vacr.registration import HttpResponse, TiledLog
    >>> log = TiledLog("http://127.0.0.1/log")
    >>> log.site.get = lambda path, max_size: HttpResponse(200, path, {}, bytes(3 * 32))  # a stub
    >>> len(log.tile(level=0, number=0, size=3))
    3
"""

from __future__ import annotations

import http.client
import ssl
import time
import zlib
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from vacr.errors import InvalidStatement, Unreachable
from vacr.registration.http_client import (
    HttpClient,
    HttpResponse,
    ServiceAccess,
    parse_retry_after,
    suggest_connection_fix,
)
from vacr.transparency import (
    HASH_SIZE,
    MAX_BUNDLE_SIZE,
    MAX_NOTE_SIZE,
    TILE_HEIGHT,
    TILE_WIDTH,
    decode_entry_bundle,
    format_tile_path,
)

_MAX_RESPONSE_SECONDS = 300.0
"""The longest time for a response, however steadily it trickles."""
_MAX_REDIRECTS = 3
_HTTP_OK = 200
_GONE_STATUSES = (404, 410)

_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_BUSY_STATUSES = (429, 503)
_MAX_WAITS = 5
_MAX_WAIT_SECONDS = 30
_GZIP_WINDOW_BITS = 31


class TiledLog:
    """A log over HTTP; its content is not verified."""

    def __init__(self, url: str, access: ServiceAccess | None = None) -> None:
        """Prepare to reach the log below `url`, without connecting to it.

        Raises:
            UsageError: the URL is not the address of a service.
            Unreachable: a certificate or key file for TLS cannot be read.
        """
        self.site = RemoteSite(url, access)

    def checkpoint(self) -> bytes:
        """Fetch the last checkpoint, and return it as an encoded note, not verified.

        Raises:
            Unreachable: the log does not return it.
        """
        response = self.site.get("checkpoint", MAX_NOTE_SIZE)
        return self._get_body(response, "checkpoint")

    def tile(self, level: int, number: int, size: int) -> list[bytes]:
        """Fetch a tile, and return the hashes that it has in a tree of `size` leaves.

        Raises:
            InvalidStatement: the response has the wrong length.
            Unreachable: the log does not return the tile.
        """
        width = min(TILE_WIDTH, (size >> (TILE_HEIGHT * level)) - number * TILE_WIDTH)
        data, fetched_width = self._fetch(f"tile/{level}/", number, width, TILE_WIDTH * HASH_SIZE)
        if len(data) != fetched_width * HASH_SIZE:
            raise InvalidStatement(
                f"tile {level}/{number} has the wrong size: {len(data)} bytes", reason="log-tile"
            )
        return [data[start : start + HASH_SIZE] for start in range(0, width * HASH_SIZE, HASH_SIZE)]

    def bundle(self, number: int, size: int) -> list[bytes]:
        """Fetch a bundle, and return the entries that it has in a log of `size` entries.

        Bundle 0 has the first 256 entries, bundle 1 the next 256, and so on.

        Raises:
            InvalidStatement: the response is malformed, or has another number of entries.
            Unreachable: the log does not return the bundle.
        """
        width = min(TILE_WIDTH, size - number * TILE_WIDTH)
        data, fetched_width = self._fetch("tile/entries/", number, width, MAX_BUNDLE_SIZE)
        try:
            return decode_entry_bundle(data, fetched_width)[:width]
        except InvalidStatement as error:
            raise InvalidStatement(
                f"entries from {number * TILE_WIDTH} on: {error.message}", reason="log-bundle"
            ) from error

    def _fetch(self, folder: str, number: int, width: int, max_size: int) -> tuple[bytes, int]:
        """Fetch a tile or bundle of this width, and return its content and its actual width.

        A log may keep only the full one, once it is full; then the actual width is 256.
        """
        path = folder + format_tile_path(number, width)
        response = self.site.get(path, max_size)
        if response.status in _GONE_STATUSES and width != TILE_WIDTH:
            path, width = folder + format_tile_path(number), TILE_WIDTH
            response = self.site.get(path, max_size)
        return self._get_body(response, path), width

    def _get_body(self, response: HttpResponse, path: str) -> bytes:
        """Return the body of a successful response; raise Unreachable for any other status."""
        if response.status != _HTTP_OK:
            raise Unreachable(
                f"the log does not return {path}: it answered {response.status}",
                where=self.site.url,
            )
        return response.body


class RemoteSite:
    """Fetches files below one URL, over one connection."""

    def __init__(self, url: str, access: ServiceAccess | None = None) -> None:
        """Prepare to reach the URL, without connecting to it.

        Raises:
            UsageError: the URL is not the address of a service.
            Unreachable: a certificate or key file for TLS cannot be read.
        """
        self.url = url if url.endswith("/") else url + "/"
        access = replace(access or ServiceAccess(), timeout=_MAX_RESPONSE_SECONDS)
        self.http = HttpClient(self.url, access, keep=True)

    def close(self) -> None:
        """Close the connection."""
        self.http.close()

    def get(self, path: str, max_size: int) -> HttpResponse:
        """Fetch a file of at most `max_size` bytes, and return the response.

        Redirects on the same site are followed, and a busy server is asked again. A response with
        an error status is returned as well.

        Raises:
            Unreachable: the server does not respond, the response is too large, or it redirects
                too often or to another site.
        """
        target = self.url + path
        for _ in range(_MAX_REDIRECTS):
            response = self._ask_patiently(target, max_size)
            if response.status not in _REDIRECT_STATUSES:
                return response
            target = _resolve_redirect(target, response.headers.get("location", ""))
        raise Unreachable("too many redirects", where=target)

    def _ask_patiently(self, target: str, max_size: int) -> HttpResponse:
        """Send a GET request, again after a pause while the server is busy, at most six times."""
        for waits_left in range(_MAX_WAITS, -1, -1):
            response = self._ask(target, max_size)
            if response.status not in _BUSY_STATUSES or not waits_left:
                break
            requested = parse_retry_after(response.headers.get("retry-after"))
            time.sleep(min(requested, _MAX_WAIT_SECONDS) if requested is not None else 1)
        return response

    def _ask(self, target: str, max_size: int) -> HttpResponse:
        """Send one GET request to a URL, and return the response, decompressed.

        Raises:
            Unreachable: there is no response, the certificate is not trusted, or the body cannot
                be decompressed.
        """
        url = urlsplit(target)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        headers = {"Accept-Encoding": "gzip, identity"}
        try:
            response = self.http.ask("GET", path, headers=headers, max_size=max_size)
        except ssl.SSLCertVerificationError as error:
            hint = "Add --ca with the authority that certifies the log."
            raise Unreachable(
                f"the log's certificate is not trusted: {error.verify_message}",
                where=target,
                hint=hint,
            ) from error
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            problem = str(error) or type(error).__name__
            raise Unreachable(
                f"no response: {problem}", where=target, hint=suggest_connection_fix(error, target)
            ) from error
        return _decompress_response(response, max_size, target)


def _resolve_redirect(target: str, location: str) -> str:
    """Return the URL that `location` redirects to from `target`.

    Raises:
        Unreachable: it is malformed, or on another site.
    """
    try:
        new, old = urlsplit(urljoin(target, location)), urlsplit(target)
        if (new.scheme, new.hostname, new.port) == (old.scheme, old.hostname, old.port):
            return new._replace(fragment="").geturl()
    except ValueError:
        pass  # Not an address.
    raise Unreachable(f"unexpected redirect to another site: {location[:200]!r}", where=target)


def _decompress_response(response: HttpResponse, max_size: int, target: str) -> HttpResponse:
    """Return a response with its body decompressed, if it is compressed with gzip.

    Raises:
        Unreachable: the body is malformed, larger than `max_size` or has another encoding.
    """
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return response
    if encoding != "gzip":
        raise Unreachable(
            f"the response has an unsupported Content-Encoding: {encoding[:40]}", where=target
        )
    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
    try:
        inflated = inflater.decompress(response.body, max_size + 1)
    except zlib.error as error:
        raise Unreachable(f"cannot decompress the response: {error}", where=target) from error
    if len(inflated) > max_size:
        raise Unreachable(f"the response exceeds {max_size} bytes", where=target)
    if not inflater.eof or inflater.unused_data:
        raise Unreachable(
            "cannot decompress the response: it is cut off, or more data follows it", where=target
        )
    return replace(response, body=inflated)

"""Files below an address, whose owner is not trusted: asked patiently, and sending nobody
elsewhere. Step: verify.

A log that is read over HTTP: its checkpoint, tiles and bundles of entries. Follows C2SP
tlog-tiles, as a client.
"""

from __future__ import annotations

import http.client
import ssl
import time
import zlib
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from vacr.errors import InvalidStatement, Unreachable
from vacr.registration.http import (
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
"""An answer that takes longer is given up, however steadily it trickles."""
_MAX_REDIRECTS = 3
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_BUSY_STATUSES = (429, 503)
_MAX_WAITS = 5
_MAX_WAIT_SECONDS = 30
_GZIP_WINDOW_BITS = 31


class RemoteSite:
    """Whatever is below an address."""

    def __init__(self, url: str, access: ServiceAccess | None = None) -> None:
        """Take the address, and how it is reached.

        Raises:
            UsageError: it is none.
            Unreachable: what TLS needs cannot be read.
        """
        self.url = url if url.endswith("/") else url + "/"
        self.wire = HttpClient(
            self.url, replace(access or ServiceAccess(), timeout=_MAX_RESPONSE_SECONDS), keep=True
        )

    def close(self) -> None:
        """Let go of the connection."""
        self.wire.close()

    def get(self, path: str, most: int) -> HttpResponse:
        """Fetch what is at a path, no more than so many bytes of it; whoever is busy is asked again
        a little later.

        Raises:
            Unreachable: there is no answer, or one that is too long or leads elsewhere.
        """
        target = self.url + path
        for _ in range(_MAX_REDIRECTS):
            answer = self._patiently(target, most)
            if answer.status not in _REDIRECT_STATUSES:
                return answer
            target = _resolve_redirect(target, answer.headers.get("location", ""))
        raise Unreachable("leads around in a circle", where=target)

    def _patiently(self, target: str, most: int) -> HttpResponse:
        for left in range(_MAX_WAITS, -1, -1):
            answer = self._ask(target, most)
            if answer.status not in _BUSY_STATUSES or not left:
                break
            asked = parse_retry_after(answer.headers.get("retry-after"))
            time.sleep(min(asked, _MAX_WAIT_SECONDS) if asked is not None else 1)
        return answer

    def _ask(self, target: str, most: int) -> HttpResponse:
        place = urlsplit(target)
        path = (place.path or "/") + (f"?{place.query}" if place.query else "")
        try:
            answer = self.wire.ask(
                "GET", path, headers={"Accept-Encoding": "gzip, identity"}, most=most
            )
        except ssl.SSLCertVerificationError as error:
            hint = "Name the authority that certifies it with --ca."
            raise Unreachable(
                f"it is not certified: {error.verify_message}", where=target, hint=hint
            ) from error
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            told = str(error) or type(error).__name__
            raise Unreachable(
                f"no answer: {told}", where=target, hint=suggest_connection_fix(error, target)
            ) from error
        return _decompress_response(answer, most, target)


def _resolve_redirect(target: str, place: str) -> str:
    """Give the address that another leads to, if it is at the same site."""
    try:
        there, here = urlsplit(urljoin(target, place)), urlsplit(target)
        if (there.scheme, there.hostname, there.port) == (here.scheme, here.hostname, here.port):
            return there._replace(fragment="").geturl()
    except ValueError:
        pass  # no address at all
    raise Unreachable(
        f"leads to another place, {place[:200]!r}, which was not asked for", where=target
    )


def _decompress_response(answer: HttpResponse, most: int, target: str) -> HttpResponse:
    """Give an answer as it is without compression, which must not make it larger than it may be."""
    encoding = answer.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return answer
    if encoding != "gzip":
        raise Unreachable(
            f"an answer in an encoding that was not asked for: {encoding[:40]}", where=target
        )
    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
    try:
        inflated = inflater.decompress(answer.body, most + 1)
    except zlib.error as error:
        raise Unreachable(
            f"an answer that cannot be decompressed: {error}", where=target
        ) from error
    if len(inflated) > most:
        raise Unreachable(
            f"an answer of more than {most} bytes, which is more than there can be", where=target
        )
    if not inflater.eof or inflater.unused_data:
        raise Unreachable(
            "an answer that cannot be decompressed: it is cut off, or more comes after it",
            where=target,
        )
    return replace(answer, body=inflated)


_HTTP_OK = 200
_GONE_STATUSES = (404, 410)


class TiledLog:
    """What a log shows of itself; none of it is checked here."""

    def __init__(self, url: str, access: ServiceAccess | None = None) -> None:
        """Take the address, and how it is reached.

        Raises:
            UsageError: it is none.
            Unreachable: what TLS needs cannot be read.
        """
        self.site = RemoteSite(url, access)

    def checkpoint(self) -> bytes:
        """Fetch the note of the last checkpoint.

        Raises:
            Unreachable: there is none.
        """
        reply = self.site.get("checkpoint", MAX_NOTE_SIZE)
        return self._body(reply, "checkpoint")

    def tile(self, level: int, number: int, size: int) -> list[bytes]:
        """Fetch the hashes that a tile has in a tree of a size.

        Raises:
            InvalidStatement: it is no tile.
            Unreachable: there is none.
        """
        width = min(TILE_WIDTH, (size >> (TILE_HEIGHT * level)) - number * TILE_WIDTH)
        data, whole = self._fetch(f"tile/{level}/", number, width, TILE_WIDTH * HASH_SIZE)
        if len(data) != whole * HASH_SIZE:
            raise InvalidStatement(
                f"tile {level}/{number} has {len(data)} bytes", reason="log-tile"
            )
        return [data[at : at + HASH_SIZE] for at in range(0, width * HASH_SIZE, HASH_SIZE)]

    def bundle(self, number: int, size: int) -> list[bytes]:
        """Fetch the entries that a bundle has in a log of a size.

        Raises:
            InvalidStatement: it is no bundle.
            Unreachable: there is none.
        """
        width = min(TILE_WIDTH, size - number * TILE_WIDTH)
        data, whole = self._fetch("tile/entries/", number, width, MAX_BUNDLE_SIZE)
        try:
            return decode_entry_bundle(data, whole)[:width]
        except InvalidStatement as error:
            raise InvalidStatement(
                f"entries {number * TILE_WIDTH} and on: {error.message}", reason="log-bundle"
            ) from error

    def _fetch(self, folder: str, number: int, width: int, most: int) -> tuple[bytes, int]:
        """Fetch something by its number; tells how much is in it, for once it is full a log may
        keep only that form.
        """
        path = folder + format_tile_path(number, width)
        reply = self.site.get(path, most)
        if reply.status in _GONE_STATUSES and width != TILE_WIDTH:
            path, width = folder + format_tile_path(number), TILE_WIDTH
            reply = self.site.get(path, most)
        return self._body(reply, path), width

    def _body(self, reply: HttpResponse, path: str) -> bytes:
        if reply.status != _HTTP_OK:
            raise Unreachable(
                f"the log does not give {path}: it answered {reply.status}", where=self.site.url
            )
        return reply.body

"""Files below an address, whose owner is not trusted: asked patiently, and sending nobody
elsewhere. Step: verify.
"""

from __future__ import annotations

import http.client
import ssl
import time
import zlib
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from vacr.errors import Unreachable
from vacr.log.wire import way_out
from vacr.log.patience import seconds_of
from vacr.log.wire import Access, Answer, Wire

_SECONDS = 300.0
"""An answer that takes longer is given up, however steadily it trickles."""
_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_BUSY = (429, 503)
_MOST_WAITS = 5
_LONGEST_WAIT = 30
_GZIP = 31


class Site:
    """Whatever is below an address."""

    def __init__(self, url: str, access: Access | None = None) -> None:
        """Take the address, and how it is reached.

        Raises:
            UsageError: it is none.
            Unreachable: what TLS needs cannot be read.
        """
        self.url = url if url.endswith("/") else url + "/"
        self.wire = Wire(self.url, replace(access or Access(), timeout=_SECONDS), keep=True)

    def close(self) -> None:
        """Let go of the connection."""
        self.wire.close()

    def get(self, path: str, most: int) -> Answer:
        """Fetch what is at a path, no more than so many bytes of it; whoever is busy is asked again
        a little later.

        Raises:
            Unreachable: there is no answer, or one that is too long or leads elsewhere.
        """
        target = self.url + path
        for _ in range(_MOST_REDIRECTS):
            answer = self._patiently(target, most)
            if answer.status not in _REDIRECTS:
                return answer
            target = _followed(target, answer.headers.get("location", ""))
        raise Unreachable("leads around in a circle", where=target)

    def _patiently(self, target: str, most: int) -> Answer:
        for left in range(_MOST_WAITS, -1, -1):
            answer = self._ask(target, most)
            if answer.status not in _BUSY or not left:
                break
            asked = seconds_of(answer.headers.get("retry-after"))
            time.sleep(min(asked, _LONGEST_WAIT) if asked is not None else 1)
        return answer

    def _ask(self, target: str, most: int) -> Answer:
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
                f"no answer: {told}", where=target, hint=way_out(error, target)
            ) from error
        return _plain(answer, most, target)


def _followed(target: str, place: str) -> str:
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


def _plain(answer: Answer, most: int, target: str) -> Answer:
    """Give an answer as it is without compression, which must not make it larger than it may be."""
    encoding = answer.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return answer
    if encoding != "gzip":
        raise Unreachable(
            f"an answer in an encoding that was not asked for: {encoding[:40]}", where=target
        )
    inflater = zlib.decompressobj(_GZIP)
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

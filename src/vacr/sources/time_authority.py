"""A timestamp authority, asked over HTTP. Follows RFC 3161 section 3.4."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from vacr.errors import Unreachable, UsageError

_TIMEOUT = 30
_MOST = 1 << 20
_OK = 200
_EXAMPLE = "For example: --timestamp https://tsa.example.org/"


def ask(url: str, question: bytes) -> bytes:
    """Send a question to an authority, and give its reply.

    Raises:
        UsageError: the address is none.
        Unreachable: there is no reply.
    """
    try:
        place = urlsplit(url)
        port = place.port
    except ValueError as error:
        raise UsageError("the address of the authority cannot be read", hint=_EXAMPLE) from error
    # A password would be told in messages, and never to the authority.
    if "@" in place.netloc:
        raise UsageError("names and passwords in the address of an authority are not used", hint=_EXAMPLE)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise UsageError(f"{url} is no address of an authority", hint=_EXAMPLE)
    if not url.isascii():
        raise UsageError(f"{url} is no address: some letters have to be escaped", hint=_EXAMPLE)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.hostname, port, timeout=_TIMEOUT)
    path = (place.path or "/") + (f"?{place.query}" if place.query else "")
    try:
        connection.request("POST", path, question, {"Content-Type": "application/timestamp-query"})
        response = connection.getresponse()
        reply = response.read(_MOST)
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(f"no reply from the timestamp authority: {error}", where=url, hint="Try again later.") from error
    finally:
        connection.close()
    if response.status != _OK:
        raise Unreachable(f"the timestamp authority answered {response.status} {response.reason}", where=url)
    return reply

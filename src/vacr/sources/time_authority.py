"""A timestamp authority, asked over HTTP. Follows RFC 3161 section 3.4."""

from __future__ import annotations

import http.client

from vacr.errors import Unreachable
from vacr.sources.addresses import address_of

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
    place = address_of(url, "timestamp authority", _EXAMPLE)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.host, place.port, timeout=_TIMEOUT)
    try:
        connection.request(
            "POST", place.path, question, {"Content-Type": "application/timestamp-query"}
        )
        response = connection.getresponse()
        reply = response.read(_MOST)
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(
            f"no reply from the timestamp authority: {error}", where=url, hint="Try again later."
        ) from error
    finally:
        connection.close()
    if response.status != _OK:
        raise Unreachable(
            f"the timestamp authority answered {response.status} {response.reason}", where=url
        )
    return reply

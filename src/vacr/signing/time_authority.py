"""The client of a timestamp authority, over HTTP (RFC 3161, section 3.4)."""

from __future__ import annotations

import http.client

from vacr.errors import Unreachable
from vacr.files import parse_service_address

_TIMEOUT_SECONDS = 30
_MAX_REPLY_SIZE = 1 << 20
_HTTP_OK = 200
_ADDRESS_EXAMPLE = "For example: --timestamp https://tsa.example.org/"


def ask_time_authority(url: str, request: bytes) -> bytes:
    """Send a timestamp request to an authority and return its reply.

    Raises:
        UsageError: the address is invalid.
        Unreachable: the authority does not reply.
    """
    address = parse_service_address(url, "timestamp authority", _ADDRESS_EXAMPLE)
    connection_class = (
        http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    )
    connection = connection_class(address.host, address.port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request(
            "POST", address.path, request, {"Content-Type": "application/timestamp-query"}
        )
        response = connection.getresponse()
        reply = response.read(_MAX_REPLY_SIZE)
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        raise Unreachable(
            f"no reply from the timestamp authority: {error}", where=url, hint="Try again later."
        ) from error
    finally:
        connection.close()
    if response.status != _HTTP_OK:
        raise Unreachable(
            f"the timestamp authority answered {response.status} {response.reason}", where=url
        )
    return reply

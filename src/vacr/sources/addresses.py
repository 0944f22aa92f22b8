"""Addresses of services that a user names."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from vacr.errors import UsageError


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is: the path is what a request asks for, or what its paths begin with."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def is_local(self) -> bool:
        """Whether nobody else can listen on the way there."""
        return self.host in ("localhost", "127.0.0.1", "::1")


def address_of(url: str, whose: str, example: str) -> Address:
    """Read the address of a service.

    Raises:
        UsageError: it is none, or holds a name or a password.
    """
    try:
        place = urlsplit(url)
        port = place.port
    except ValueError as error:
        raise UsageError(f"the address of the {whose} cannot be read", hint=example) from error
    # A password would be told in messages, and never to the service.
    if "@" in place.netloc:
        raise UsageError(
            f"names and passwords in the address of a service are not used: that of the {whose}",
            hint=example,
        )
    if place.scheme not in ("http", "https") or not place.hostname:
        raise UsageError(f"{url} is no address of a service", hint=example)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url} is no address: some letters have to be escaped", hint=example)
    return Address(
        place.scheme,
        place.hostname,
        port,
        (place.path or "/") + (f"?{place.query}" if place.query else ""),
    )

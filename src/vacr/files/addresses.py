"""Addresses of services that a user names: parsed, and refused where they would be misused."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from vacr.errors import UsageError


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The address of a service; `path` is the path of a request, or the start of all paths."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def is_local(self) -> bool:
        """Return whether the service is on this machine, so that others cannot listen."""
        return self.host in ("localhost", "127.0.0.1", "::1")


def parse_service_address(url: str, whose: str, example: str) -> ServiceAddress:
    """Parse the address of a service; `whose` and `example` are for the error messages.

    Raises:
        UsageError: it is not an address, or contains a name or a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"the address of the {whose} cannot be read", hint=example) from error
    # A password would appear in messages, and would never be sent to the service.
    if "@" in parts.netloc:
        raise UsageError(
            f"names and passwords in the address of a service are not used: that of the {whose}",
            hint=example,
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url} is no address of a service", hint=example)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url} is no address: some letters have to be escaped", hint=example)
    query = f"?{parts.query}" if parts.query else ""
    return ServiceAddress(parts.scheme, parts.hostname, port, (parts.path or "/") + query)

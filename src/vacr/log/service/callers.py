"""Who calls: tokens, and how often each may call. Step: register."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import time
from collections.abc import Callable, Iterable, MutableMapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from vacr.errors import UnreadableInput
from vacr.log.service.problems import Problem, unauthorized

RATE = 10_000.0
"""How many statements a caller may send a second, unless told otherwise."""
_SHORTEST = 16
_TOKEN = re.compile(rb"[\x21-\x7e]{%d,}" % _SHORTEST)
_CALLERS = 10_000
_BEARER = b"bearer "
_OWN = 64
"""How many bits at the end of an address everybody has for themselves."""


class Tokens:
    """The tokens that may register; only their hashes are kept."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        """Take tokens.

        Raises:
            UnreadableInput: there is none, or one that could be guessed.
        """
        found = [token.strip() for token in tokens]
        found = [token for token in found if token and not token.startswith(b"#")]
        if not found:
            raise UnreadableInput("there is no token", hint="Write one token a line.")
        # A client sends nothing else (RFC 6750), so that any other could never be shown.
        if not all(map(_TOKEN.fullmatch, found)):
            told = f"a token that has fewer than {_SHORTEST} letters, or others than tokens have"
            raise UnreadableInput(told, hint="openssl rand -hex 16 makes one.")
        self.hashes = [_hash(token) for token in found]

    def check(self, authorization: bytes | None) -> str:
        """Check the token of a request; gives the name of the caller.

        Raises:
            Problem: there is none, or another.
        """
        if authorization is not None and authorization[: len(_BEARER)].lower() == _BEARER:
            given = _hash(authorization[len(_BEARER) :].strip())
            for known in self.hashes:
                if hmac.compare_digest(known, given):
                    return known.hex()
            raise unauthorized(
                "this token is none of those that may register here", "invalid_token"
            )
        raise unauthorized("who registers here needs a token: vacr register --token-file FILE")


def _hash(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


class Rates:
    """How often each caller may call: so many a second, and as many at once, but one at least."""

    def __init__(self, rate: float = RATE, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow `rate` calls a second."""
        self.rate = rate
        self.most = max(rate, 1.0)
        self.clock = clock
        self.left: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> None:
        """Count a call.

        Raises:
            Problem: there were too many.
        """
        now = self.clock()
        before, left = self.left.pop(caller, (now, self.most))
        left = min(self.most, left + (now - before) * self.rate)
        if len(self.left) >= _CALLERS:
            self.left.pop(next(iter(self.left)))  # whoever has not called for longest
        if left < 1:
            self.left[caller] = (now, left)
            raise Problem(
                429,
                "Too Many Requests",
                f"more than {self.rate:g} a second",
                retry_after=self._until_next(left),
            )
        self.left[caller] = (now, left - 1)

    def _until_next(self, left: float) -> int:
        """Give after how many seconds there is one more."""
        return max(1, math.ceil((1 - left) / self.rate))


def count_call(scope: MutableMapping[str, Any], tokens: Tokens | None, rates: Rates) -> None:
    """Count a call for whoever calls: by their token, else by their address. A token that is wrong
    counts for the address.

    Raises:
        Problem: a token is needed, or there were too many calls.
    """
    if tokens is None:
        rates.take(address_of(scope))
        return
    try:
        caller = tokens.check(dict(scope["headers"]).get(b"authorization"))
    except Problem:
        rates.take(address_of(scope))
        raise
    rates.take(caller)


def address_of(scope: MutableMapping[str, Any]) -> str:
    """Name the address that somebody calls from."""
    client = scope.get("client")
    return _household(client[0]) if client else ""


@lru_cache(_CALLERS)
def _household(address: str) -> str:
    """Name whom an address is of: of the newer kind (IPv6), everybody has as many as they like that
    begin alike.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, IPv4Address):
        return address
    return str(found.ipv4_mapped or IPv6Address(int(found) >> _OWN << _OWN))

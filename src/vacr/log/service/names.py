"""What an entry is called in addresses: the hash of its leaf. Step: register.

It is written as two decimal numbers with a dot between them. SCRAPI leaves the form open; a client
(pyscitt) takes no other.

While an entry waits for its place, its name also tells when it was taken: the seconds stand above
the bits of the second number. So any front end of a log, also one that never saw the statement, can
tell what may still be on its way from what is not there. Nothing depends on nobody making up such a
name: whoever does is sent back for some seconds, and then told that there is nothing.
"""

from __future__ import annotations

import re

_HALF = 16
_BITS = 8 * _HALF
_NAME = re.compile(r"(0|[1-9][0-9]{0,38})\.(0|[1-9][0-9]{0,51})")
_HASH = re.compile(r"[0-9a-f]{64}")
UNDER_WAY = 30
"""For so many seconds after it was taken a statement may be on its way into the log; clocks may
differ by as much.
"""


def name_of(leaf: bytes, taken: int = 0) -> str:
    """Name an entry by its leaf, and by the time at which it was taken if that is given, in seconds
    since 1970.
    """
    return f"{int.from_bytes(leaf[:_HALF], 'big')}.{int.from_bytes(leaf[_HALF:], 'big') | taken << _BITS}"


def leaf_of(name: str) -> bytes | None:
    """Give the leaf that a name is of, in the form above or in hexadecimal."""
    if _HASH.fullmatch(name):
        return bytes.fromhex(name)
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    first, second = map(int, found.groups())
    if first >> _BITS:
        return None
    return first.to_bytes(_HALF, "big") + (second & (1 << _BITS) - 1).to_bytes(_HALF, "big")


def is_under_way(name: str, now: float) -> bool:
    """Tell whether what has a name may still be on its way into the log."""
    found = _NAME.fullmatch(name)
    return found is not None and abs(now - (int(found[2]) >> _BITS)) <= UNDER_WAY

"""What an entry is called in addresses: the hash of its leaf. Step: register.

It is written as two decimal numbers with a dot between them. SCRAPI leaves the form open; a client (pyscitt) takes no other.
"""

from __future__ import annotations

import re

_HALF = 16
_NAME = re.compile(r"(0|[1-9][0-9]{0,38})\.(0|[1-9][0-9]{0,38})")
_HASH = re.compile(r"[0-9a-f]{64}")


def name_of(leaf: bytes) -> str:
    """Name an entry by its leaf."""
    return f"{int.from_bytes(leaf[:_HALF], 'big')}.{int.from_bytes(leaf[_HALF:], 'big')}"


def leaf_of(name: str) -> bytes | None:
    """Give the leaf that a name is of, in the form above or in hexadecimal."""
    if _HASH.fullmatch(name):
        return bytes.fromhex(name)
    found = _NAME.fullmatch(name)
    if found is None or max(map(int, found.groups())) >= 1 << 8 * _HALF:
        return None
    return b"".join(int(half).to_bytes(_HALF, "big") for half in found.groups())

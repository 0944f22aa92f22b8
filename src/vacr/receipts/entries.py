"""What of a statement is in a log: the entry, whose hash is a leaf of the tree. Step: register,
verify.

Follows RFC 9943 section 6.3. RFC 9942 does not say which bytes are the entry, and implementations
differ. So the rule has a name: `statement` are the bytes that were received with an empty map in
place of the unprotected header, `digest` is their SHA-256.
"""

from __future__ import annotations

import hashlib

from vacr.codec.deterministic_cbor import byte_string
from vacr.errors import UsageError
from vacr.signing.sign1 import Sign1

STATEMENT, DIGEST = "statement", "digest"
RULES = (STATEMENT, DIGEST)

LARGEST = 65_535
"""What an entry may have at most: a tile of entries has two bytes for the length of each."""

_EMPTY_MAP, _NULL = b"\xa0", b"\xf6"


def entry_of(message: Sign1, rule: str = STATEMENT) -> bytes:
    """Give the entry of a statement.

    Reading refused all heads but the shortest, so that these are the bytes as they were received,
    but for the one map.

    Raises:
        UsageError: there is no such rule.
    """
    if rule not in RULES:
        raise UsageError(f"no rule {rule!r} for entries", hint=f"Known: {', '.join(RULES)}.")
    payload = _NULL if message.payload is None else byte_string(message.payload)
    head = b"\xd2\x84" if message.tagged else b"\x84"
    entry = b"".join(
        (
            head,
            byte_string(message.protected_bytes),
            _EMPTY_MAP,
            payload,
            byte_string(message.signature),
        )
    )
    return entry if rule == STATEMENT else hashlib.sha256(entry).digest()

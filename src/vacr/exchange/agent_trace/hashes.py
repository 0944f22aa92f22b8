"""Hashes of ranges, which Agent Trace writes with their algorithm before a colon. Step: export,
import.
"""

from __future__ import annotations

from vacr.model import Native

_DEFAULT, _WRITTEN = "sha-256", "sha256"
"""What a range of a record has where it names no algorithm, and how others write it."""
_NONE = "unspecified"


def joined(one: Native) -> str:
    """Give the hash of a range as one text."""
    algorithm = one.get("content-hash-alg", _DEFAULT)
    if algorithm == _NONE:
        return str(one["content-hash"])
    return f"{_WRITTEN if algorithm == _DEFAULT else algorithm}:{one['content-hash']}"


def parted(text: str) -> Native:
    """Give a hash as the members of a range."""
    algorithm, colon, value = text.partition(":")
    if not colon or algorithm in (_DEFAULT, _NONE):
        return {"content-hash": text, "content-hash-alg": _NONE}
    return {"content-hash": value} | (
        {} if algorithm == _WRITTEN else {"content-hash-alg": algorithm}
    )

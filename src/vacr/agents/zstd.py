"""Decompression of rows that an agent stores with Zstandard.

Python has it from version 3.14 on; before, the package `zstandard` is needed.

>>> from vacr.agents.zstd import decompress_zstd
>>> decompress_zstd(b"not compressed", "Zed compresses its threads") is None
True
"""

from __future__ import annotations

import sys

from vacr.errors import UnreadableInput

MAX_DECOMPRESSED_BYTES = 1 << 29
"""No row of an agent is larger when it is decompressed; a larger one is damaged, or an attack."""


def decompress_zstd(data: bytes, reason: str, limit: int = MAX_DECOMPRESSED_BYTES) -> bytes | None:
    """Return decompressed bytes, or None if they are damaged or larger than `limit`.

    `reason` begins the message of an error: whose bytes these are.

    Raises:
        UnreadableInput: the package for it is missing.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        decompressor = zstd.ZstdDecompressor()
        try:
            text = decompressor.decompress(data, limit)
        except zstd.ZstdError:
            return None
        return text if decompressor.eof else None
    try:
        import zstandard
    except ImportError:
        message = f"{reason}, and the package zstandard is missing"
        raise UnreadableInput(message, hint="pip install 'vacr[zed]'") from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            text = reader.read(limit + 1)
            is_whole = len(text) <= limit and not reader.read(1)
    except zstandard.ZstdError:
        return None
    return text if is_whole else None

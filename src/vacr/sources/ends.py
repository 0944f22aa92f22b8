"""The two ends of a file: as much of it as tells what session it holds, however large it is.

A file of lines gives its first and last lines. A file that is one JSON value gives its beginning,
closed where it was cut, so that it is a value again. None of it is evidence.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import BinaryIO

from vacr.errors import UnreadableInput
from vacr.readers.documents import spans_lines
from vacr.sources.files import reason_of

_HEAD = 1 << 17
_TAILS = (1 << 14, 1 << 18, 1 << 22)
_LONGEST_LINE = 1 << 22

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_CLOSING = {b"{": b"}", b"[": b"]"}


def ends(path: Path) -> bytes:
    """Read the ends of a file, or all of it where it is small.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(_HEAD)
            if len(head) < size and b"\n" not in head:
                head += file.read(_LONGEST_LINE - _HEAD)
            if len(head) >= size:
                return head
            if b"\n" not in head or spans_lines(head):
                return _closed(head[:_HEAD])
            return head[: head.rfind(b"\n") + 1] + _last_lines(file, len(head), size)
    except OSError as error:
        raise UnreadableInput(reason_of(error), where=str(path)) from error


def _last_lines(file: BinaryIO, start: int, size: int) -> bytes:
    """Read the last lines of a file, at least one that is whole, unless it is longer than any
    should be.
    """
    for reach in _TAILS:
        file.seek(max(start, size - reach))
        lines = file.read()
        begin = lines.find(b"\n") + 1
        if 0 < begin < len(lines):
            return lines[begin:]
    return b""


def _closed(text: bytes) -> bytes:
    """Cut a JSON text after its last whole member, and close what is open there."""
    closing: list[bytes] = []
    whole = text
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in _CLOSING:
            closing.append(_CLOSING[token])
        elif token in (b"}", b"]"):
            closing = closing[:-1]
        elif token == b",":
            whole = text[: found.start()] + b"".join(reversed(closing))
    return whole

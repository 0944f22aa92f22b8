"""The JSON values of a native file, whatever their layout: one a line, or one or more that go over
many lines. Step: read.

Agents write JSONL, a single JSON value, and people put several of these into one file. Every byte
that says something comes out, as with lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vacr.codec import json_scan
from vacr.codec.canonical_json import BYTE_ORDER_MARK, says_it_all
from vacr.codec.depth import is_deeper_than
from vacr.codec.json_text import native_text
from vacr.readers.lines import (
    NATIVE_DEPTH,
    NOT_EXACT,
    Undecodable,
    decode_native,
    exact,
    lines,
    read_text,
    scanned,
)

_OPENS = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_LEAD = re.compile(rb'(?:[^\s{\["][^\n]*+\n\s*+){1,8}+(?=[{\[]\s*["{\[\]}])')
_OPEN_ENDS = (b"{", b"[", b",", b":")
# No JSON value begins so: what stands there belongs to the one before.
_GOES_ON = re.compile(rb"\s*[,:}\]]")
# No JSON value has an opening bracket right after a closing one, so another value begins there.
_NEXT_VALUE = re.compile(rb"\n[}\]][ \t\r\n]*(?=[{\[])")
_LINE_THAT_OPENS = re.compile(rb"\n(?=[{\[])")
_ONLY_OPENS = (b"{", b"[")
_TOO_DEEP = b"\n" + b"  " * NATIVE_DEPTH


def documents(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Give the values in their order: as they are, as `Repaired`, or `Undecodable` bytes.

    They come in batches with the number of the first line.
    """
    opened = _OPENS.match(data)
    if opened:
        yield from (
            _values(data.removeprefix(BYTE_ORDER_MARK).rstrip(), 1)
            if _goes_on(data, opened.end())
            else _lines(data)
        )
    elif (lead := _LEAD.match(data)) and spans_lines(data, lead.end()):
        # What a program said on the way, before the value that it wrote.
        yield from lines(lead[0])
        yield from _values(data[lead.end() :].rstrip(), lead[0].count(b"\n") + 1)
    else:
        yield from lines(data)


def _lines(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Read lines, until one only opens a value that goes over several."""
    for number, batch in lines(data):
        if batch and type(batch[0]) is Undecodable and batch[0].data in _ONLY_OPENS:
            yield from _values(data[_line_start(data, number) :].rstrip(), number)
            return
        yield number, batch


def _line_start(data: bytes, number: int) -> int:
    """Give where a line begins."""
    start = 0
    for _ in range(number - 1):
        start = data.find(b"\n", start) + 1
    return start


def _values(data: bytes, number: int) -> Iterator[tuple[int, list[Any]]]:
    """Read values that go over several lines, the first of which has a number."""
    whole = _exact(data)
    if whole:
        yield number, whole
        return
    start = 0
    for stop in [*(match.end() for match in _NEXT_VALUE.finditer(data)), len(data)]:
        yield from _value(data[start:stop].rstrip(), number)
        number += data.count(b"\n", start, stop)
        start = stop


def spans_lines(data: bytes, start: int = 0) -> bool:
    """Tell whether the first value goes on after its first line."""
    opened = _OPENS.match(data, start)
    return opened is not None and _goes_on(data, opened.end())


def _goes_on(data: bytes, start: int) -> bool:
    """Tell whether a value goes on after its first line, which has opened before a place."""
    end = data.find(b"\n", start)
    if end < 0:
        return False
    first = data[start - 1 : end].rstrip()
    return first.endswith(_OPEN_ENDS) or (
        _GOES_ON.match(data, end) is not None and not exact(first)
    )


def _value(text: bytes, number: int) -> Iterator[tuple[int, list[Any]]]:
    """Read one value; what cannot be read is tried again from each line that opens one."""
    value = _exact(text)
    if value:
        yield number, value
        return
    scan = json_scan.scan(text, NATIVE_DEPTH)
    if scan.rest and _LINE_THAT_OPENS.search(text):
        for piece in _LINE_THAT_OPENS.split(text):
            yield number, list(read_text(piece))
            number += piece.count(b"\n") + 1
    else:
        yield number, list(scanned(scan, text))


def _exact(text: bytes) -> list[Any]:
    """Decode one value of which nothing can have been lost; nothing of any other text.

    That it comes out again with the usual indentation proves it, and tells how deep it is.
    """
    try:
        value = decode_native(text)
        if native_text(value, indented=True) == text:
            is_exact = _TOO_DEEP not in text
        else:
            is_exact = says_it_all(value, text) and not is_deeper_than(NATIVE_DEPTH, value, text)
    except NOT_EXACT:
        return []
    return [value] if is_exact else []

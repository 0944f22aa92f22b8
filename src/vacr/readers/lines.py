"""The JSON values of a native JSONL file, line by line. Step: read.

Every byte that says something comes out: as a value, or as the bytes that could not be decoded.
Lines that the fast decoder reads without loss, nearly all of them, are not looked at twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from vacr.codec import json_scan, numbers
from vacr.codec.canonical_json import BYTE_ORDER_MARK, says_it_all
from vacr.codec.depth import MAX_DEPTH, is_deeper_than, openings
from vacr.codec.json_text import native_text

# A native value goes into a record some levels down.
NATIVE_DEPTH = MAX_DEPTH - 16

_CHUNK = 1 << 15
_FIRST_BYTES = frozenset(b'{["-0123456789tfnNI')
NOT_JSON = "not JSON"
_WITH_THE_FIRST = "told with the first value of its line"
_LONGEST = 200
"""How much of a place is told: names in it may be as long as the text."""

decode_native = msgspec.json.Decoder(float_hook=numbers.spelled).decode
"""Decode one value, keeping how its numbers were written."""

NOT_EXACT = (msgspec.DecodeError, TypeError, ValueError, RecursionError)
"""What decoding and writing again raise, for a text that is not plain."""
_decode_lines = msgspec.json.Decoder(float_hook=numbers.spelled).decode_lines


@dataclass(frozen=True)
class Undecodable:
    """Bytes of a line that say something JSON or a record cannot, and why."""

    reason: str
    data: bytes


@dataclass(frozen=True)
class Repaired:
    """A value that was read with something in it replaced; its bytes follow as an `Undecodable`."""

    value: Any
    reason: str


def lines(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Give the values in the order of their lines: as they are, as `Repaired`, or `Undecodable`
    bytes.

    They come in batches with the number of the first line. Values that are not as they were stand
    in a batch of their line alone.
    """
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    number, end = 1, len(data)
    while start < end:
        stop = _chunk_end(data, start)
        values = _exact(data, start, stop)
        if values is not None:
            yield number, values
            number += len(values)
        else:
            for line in data[start:stop].removesuffix(b"\n").split(b"\n"):
                yield number, list(read_text(line))
                number += 1
        start = stop


def _chunk_end(data: bytes, start: int) -> int:
    """Give the end of the lines that are decoded together: as many as fit, or one that is
    larger.
    """
    stop = data.rfind(b"\n", start, start + _CHUNK)
    if stop < 0:
        stop = data.find(b"\n", start)
    return len(data) if stop < 0 else stop + 1


def _exact(data: bytes, start: int, stop: int) -> list[Any] | None:
    """Decode lines that encode to themselves: that proves that nothing in them was lost, one value
    a line.
    """
    end = stop - 1 if data.endswith(b"\n", start, stop) else stop
    if stop - start > _CHUNK:
        return _exact_line(data, start, end)
    chunk = data[start:end]
    try:
        values: list[Any] = _decode_lines(chunk)
        # No string holds a line's end as it is, so that a comma in its place makes the lines one
        # array.
        if native_text(values) != b"[%b]" % chunk.replace(b"\n", b","):
            return None
    except NOT_EXACT:
        return None
    if len(chunk) > 2 * NATIVE_DEPTH and openings(chunk) > NATIVE_DEPTH:
        for value, line in zip(values, chunk.split(b"\n"), strict=True):
            if is_deeper_than(NATIVE_DEPTH, value, line):
                return None
    return values


def _exact_line(data: bytes, start: int, end: int) -> list[Any] | None:
    """Do the same with one line that is larger than any chunk, which is not copied more often than
    it must be.
    """
    try:
        value = decode_native(memoryview(data)[start:end])
        again = native_text(value)
    except NOT_EXACT:
        return None
    if len(again) != end - start or not data.startswith(again, start):
        return None
    return None if is_deeper_than(NATIVE_DEPTH, value, again) else [value]


def exact(text: bytes) -> list[Any]:
    """Decode one value of which nothing can have been lost; nothing of any other text."""
    try:
        value = decode_native(text)
        if says_it_all(value, text) and not is_deeper_than(NATIVE_DEPTH, value, text):
            return [value]
    except NOT_EXACT:
        pass
    return []


def read_text(text: bytes) -> Iterator[Any]:
    """Read a line, or a value of several lines, that may not be exact."""
    text = text.removeprefix(BYTE_ORDER_MARK).strip(b" \t\r\n")
    if not text:
        return
    if text[0] not in _FIRST_BYTES and text.isascii():
        # What careful reading would find as well, at many times the cost: other files may hold
        # nothing but such lines.
        yield Undecodable(NOT_JSON, text)
    else:
        yield from exact(text) or scanned(json_scan.scan(text, NATIVE_DEPTH), text)


def scanned(scan: json_scan.Scan, text: bytes) -> Iterator[Any]:
    """Give what a look found in text that the fast decoder cannot vouch for: several values,
    repeated members, broken strings.
    """
    if not scan.problems:
        yield from scan.values
        return
    reason = "; ".join(dict.fromkeys(_told(problem) for problem in scan.problems[: json_scan.MOST]))
    only_rest = bool(scan.rest) and len(scan.problems) == 1
    for number, value in enumerate(scan.values):
        yield value if only_rest else Repaired(value, _WITH_THE_FIRST if number else reason)
    yield Undecodable(reason, scan.rest if only_rest else text)


def _told(problem: json_scan.Problem) -> str:
    if problem.pointer is not None:
        place = problem.pointer or "/"
        return f"{problem.reason} ({place if len(place) <= _LONGEST else f'{place[:_LONGEST]}…'})"
    # Where reading stopped is the decoder's opinion, which differs between versions; a byte that is
    # no text is a fact.
    return (
        f"{problem.reason} (byte {problem.offset})" if "UTF-8" in problem.reason else problem.reason
    )

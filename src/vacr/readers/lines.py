"""The JSON values of a native JSONL file, line by line. Step: read.

Every byte that says something comes out: as a value, or as the bytes that could not be decoded. Lines that the fast
decoder reads without loss, nearly all of them, are not looked at twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from vacr.codec import json_scan, numbers
from vacr.codec.canonical_json import BYTE_ORDER_MARK, says_it_all
from vacr.codec.depth import MAX_DEPTH, is_deeper_than

# A native value goes into a record some levels down.
NATIVE_DEPTH = MAX_DEPTH - 16

_decode = msgspec.json.Decoder(float_hook=numbers.number).decode


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


def documents(data: bytes) -> Iterator[tuple[int, Any]]:
    """Give each value with its line number: as it is, as `Repaired`, or `Undecodable` bytes."""
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    number, end = 0, len(data)
    while start < end:
        stop = data.find(b"\n", start)
        stop = end if stop < 0 else stop
        line = data[start:stop].strip(b" \t\r")
        start = stop + 1
        number += 1
        if not line:
            continue
        try:
            value = _decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            pass
        else:
            if says_it_all(value, line) and not is_deeper_than(NATIVE_DEPTH, value, line):
                yield number, value
                continue
        for document in _careful(line):
            yield number, document


def _careful(line: bytes) -> Iterator[Any]:
    """Read a line that the fast decoder cannot vouch for: several values, repeated members, broken text."""
    scan = json_scan.scan(line, NATIVE_DEPTH)
    if not scan.problems:
        yield from scan.values
        return
    reason = "; ".join(dict.fromkeys(_told(problem, line) for problem in scan.problems[:8]))
    only_rest = bool(scan.rest) and len(scan.problems) == 1
    for value in scan.values:
        yield value if only_rest else Repaired(value, reason)
    yield Undecodable(reason, scan.rest if only_rest else line)


def _told(problem: json_scan.Problem, line: bytes) -> str:
    place = problem.pointer or problem.place(line).removeprefix("line 1, ")
    return f"{problem.reason} ({place})"

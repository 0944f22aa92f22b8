"""The JSON values of a native JSONL file, line by line. Step: read.

Every byte that says something comes out: as a value, or as the bytes that could not be decoded.
Lines that the fast decoder reads without loss, nearly all of them, are not looked at twice.

The JSON values of a native file, whatever their layout: one a line, or one or more that go over
many lines. Step: read.

Agents write JSONL, a single JSON value, and people put several of these into one file. Every byte
that says something comes out, as with lines.

The rows of one session in a database, as lines: the native bytes of a session that no file
holds. Step: read.

An agent may keep all its sessions in one database. What is recorded, sealed and verified is a
canonical export of the rows of one: a first line that names the format, then a line for each row
with its table. `vacr.sources` writes it, readers read it.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from vacr.model import JsonObject
from vacr.record import (
    BYTE_ORDER_MARK,
    MAX_DEPTH,
    MAX_JSON_PROBLEMS,
    JsonProblem,
    JsonScanResult,
    count_opening_brackets,
    encode_canonical_json,
    encode_native_json,
    has_every_member,
    is_deeper_than,
    parse_spelled_float,
    scan_json,
)

# A native value goes into a record some levels down.
MAX_NATIVE_DEPTH = MAX_DEPTH - 16

_CHUNK_BYTES = 1 << 15
_JSON_FIRST_BYTES = frozenset(b'{["-0123456789tfnNI')
NOT_JSON_REASON = "not JSON"
_LATER_VALUE_REASON = "told with the first value of its line"
_MAX_POINTER_LENGTH = 200
"""How much of a place is told: names in it may be as long as the text."""

decode_native_json = msgspec.json.Decoder(float_hook=parse_spelled_float).decode
"""Decode one value, keeping how its numbers were written."""

INEXACT_JSON_ERRORS = (msgspec.DecodeError, TypeError, ValueError, RecursionError)
"""What decoding and writing again raise, for a text that is not plain."""
_decode_lines = msgspec.json.Decoder(float_hook=parse_spelled_float).decode_lines


@dataclass(frozen=True)
class UndecodableBytes:
    """Bytes of a line that say something JSON or a record cannot, and why."""

    reason: str
    data: bytes


@dataclass(frozen=True)
class RepairedValue:
    """A value that was read with something in it replaced; its bytes follow as an `Undecodable`."""

    value: Any
    reason: str


def parse_json_lines(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Give the values in the order of their lines: as they are, as `Repaired`, or `Undecodable`
    bytes.

    They come in batches with the number of the first line. Values that are not as they were stand
    in a batch of their line alone.
    """
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    number, end = 1, len(data)
    while start < end:
        stop = _find_chunk_end(data, start)
        values = _decode_exact_lines(data, start, stop)
        if values is not None:
            yield number, values
            number += len(values)
        else:
            for line in data[start:stop].removesuffix(b"\n").split(b"\n"):
                yield number, list(parse_inexact_json(line))
                number += 1
        start = stop


def _find_chunk_end(data: bytes, start: int) -> int:
    """Give the end of the lines that are decoded together: as many as fit, or one that is
    larger.
    """
    stop = data.rfind(b"\n", start, start + _CHUNK_BYTES)
    if stop < 0:
        stop = data.find(b"\n", start)
    return len(data) if stop < 0 else stop + 1


def _decode_exact_lines(data: bytes, start: int, stop: int) -> list[Any] | None:
    """Decode lines that encode to themselves: that proves that nothing in them was lost, one value
    a line.
    """
    end = stop - 1 if data.endswith(b"\n", start, stop) else stop
    if stop - start > _CHUNK_BYTES:
        return _decode_exact_line(data, start, end)
    chunk = data[start:end]
    try:
        values: list[Any] = _decode_lines(chunk)
        # No string holds a line's end as it is, so that a comma in its place makes the lines one
        # array.
        if encode_native_json(values) != b"[%b]" % chunk.replace(b"\n", b","):
            return None
    except INEXACT_JSON_ERRORS:
        return None
    if len(chunk) > 2 * MAX_NATIVE_DEPTH and count_opening_brackets(chunk) > MAX_NATIVE_DEPTH:
        for value, line in zip(values, chunk.split(b"\n"), strict=True):
            if is_deeper_than(MAX_NATIVE_DEPTH, value, line):
                return None
    return values


def _decode_exact_line(data: bytes, start: int, end: int) -> list[Any] | None:
    """Do the same with one line that is larger than any chunk, which is not copied more often than
    it must be.
    """
    try:
        value = decode_native_json(memoryview(data)[start:end])
        again = encode_native_json(value)
    except INEXACT_JSON_ERRORS:
        return None
    if len(again) != end - start or not data.startswith(again, start):
        return None
    return None if is_deeper_than(MAX_NATIVE_DEPTH, value, again) else [value]


def decode_exact_json(text: bytes) -> list[Any]:
    """Decode one value of which nothing can have been lost; nothing of any other text."""
    try:
        value = decode_native_json(text)
        if has_every_member(value, text) and not is_deeper_than(MAX_NATIVE_DEPTH, value, text):
            return [value]
    except INEXACT_JSON_ERRORS:
        pass
    return []


def parse_inexact_json(text: bytes) -> Iterator[Any]:
    """Read a line, or a value of several lines, that may not be exact."""
    text = text.removeprefix(BYTE_ORDER_MARK).strip(b" \t\r\n")
    if not text:
        return
    if text[0] not in _JSON_FIRST_BYTES and text.isascii():
        # What careful reading would find as well, at many times the cost: other files may hold
        # nothing but such lines.
        yield UndecodableBytes(NOT_JSON_REASON, text)
    else:
        yield from decode_exact_json(text) or collect_scanned_values(
            scan_json(text, MAX_NATIVE_DEPTH), text
        )


def collect_scanned_values(scan: JsonScanResult, text: bytes) -> Iterator[Any]:
    """Give what a look found in text that the fast decoder cannot vouch for: several values,
    repeated members, broken strings.
    """
    if not scan.problems:
        yield from scan.values
        return
    reason = "; ".join(
        dict.fromkeys(_describe_problem(problem) for problem in scan.problems[:MAX_JSON_PROBLEMS])
    )
    only_rest = bool(scan.rest) and len(scan.problems) == 1
    for number, value in enumerate(scan.values):
        yield (
            value if only_rest else RepairedValue(value, _LATER_VALUE_REASON if number else reason)
        )
    yield UndecodableBytes(reason, scan.rest if only_rest else text)


def _describe_problem(problem: JsonProblem) -> str:
    if problem.pointer is not None:
        place = problem.pointer or "/"
        return f"{problem.reason} ({place if len(place) <= _MAX_POINTER_LENGTH else f'{place[:_MAX_POINTER_LENGTH]}…'})"
    # Where reading stopped is the decoder's opinion, which differs between versions; a byte that is
    # no text is a fact.
    return (
        f"{problem.reason} (byte {problem.offset})" if "UTF-8" in problem.reason else problem.reason
    )


_OPENING_BRACKET = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_LEADING_TEXT = re.compile(rb'(?:[^\s{\["][^\n]*+\n\s*+){1,8}+(?=[{\[]\s*["{\[\]}])')
_UNFINISHED_LINE_ENDS = (b"{", b"[", b",", b":")
# No JSON value begins so: what stands there belongs to the one before.
_CONTINUATION_LINE = re.compile(rb"\s*[,:}\]]")
# No JSON value has an opening bracket right after a closing one, so another value begins there.
_VALUE_BOUNDARY = re.compile(rb"\n[}\]][ \t\r\n]*(?=[{\[])")
_OPENING_LINE = re.compile(rb"\n(?=[{\[])")
_LONE_BRACKETS = (b"{", b"[")
_TOO_DEEP_INDENT = b"\n" + b"  " * MAX_NATIVE_DEPTH


def parse_json_documents(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Give the values in their order: as they are, as `Repaired`, or `Undecodable` bytes.

    They come in batches with the number of the first line.
    """
    opened = _OPENING_BRACKET.match(data)
    if opened:
        yield from (
            _parse_multiline_values(data.removeprefix(BYTE_ORDER_MARK).rstrip(), 1)
            if _continues_after_line(data, opened.end())
            else _parse_lines_or_values(data)
        )
    elif (lead := _LEADING_TEXT.match(data)) and is_multiline_json(data, lead.end()):
        # What a program said on the way, before the value that it wrote.
        yield from parse_json_lines(lead[0])
        yield from _parse_multiline_values(data[lead.end() :].rstrip(), lead[0].count(b"\n") + 1)
    else:
        yield from parse_json_lines(data)


def _parse_lines_or_values(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Read lines, until one only opens a value that goes over several."""
    for number, batch in parse_json_lines(data):
        if batch and type(batch[0]) is UndecodableBytes and batch[0].data in _LONE_BRACKETS:
            yield from _parse_multiline_values(
                data[_find_line_start(data, number) :].rstrip(), number
            )
            return
        yield number, batch


def _find_line_start(data: bytes, number: int) -> int:
    """Give where a line begins."""
    start = 0
    for _ in range(number - 1):
        start = data.find(b"\n", start) + 1
    return start


def _parse_multiline_values(data: bytes, number: int) -> Iterator[tuple[int, list[Any]]]:
    """Read values that go over several lines, the first of which has a number."""
    whole = _decode_exact_document(data)
    if whole:
        yield number, whole
        return
    start = 0
    for stop in [*(match.end() for match in _VALUE_BOUNDARY.finditer(data)), len(data)]:
        yield from _parse_multiline_value(data[start:stop].rstrip(), number)
        number += data.count(b"\n", start, stop)
        start = stop


def is_multiline_json(data: bytes, start: int = 0) -> bool:
    """Tell whether the first value goes on after its first line."""
    opened = _OPENING_BRACKET.match(data, start)
    return opened is not None and _continues_after_line(data, opened.end())


def _continues_after_line(data: bytes, start: int) -> bool:
    """Tell whether a value goes on after its first line, which has opened before a place."""
    end = data.find(b"\n", start)
    if end < 0:
        return False
    first = data[start - 1 : end].rstrip()
    return first.endswith(_UNFINISHED_LINE_ENDS) or (
        _CONTINUATION_LINE.match(data, end) is not None and not decode_exact_json(first)
    )


def _parse_multiline_value(text: bytes, number: int) -> Iterator[tuple[int, list[Any]]]:
    """Read one value; what cannot be read is tried again from each line that opens one."""
    value = _decode_exact_document(text)
    if value:
        yield number, value
        return
    scan = scan_json(text, MAX_NATIVE_DEPTH)
    if scan.rest and _OPENING_LINE.search(text):
        for piece in _OPENING_LINE.split(text):
            yield number, list(parse_inexact_json(piece))
            number += piece.count(b"\n") + 1
    else:
        yield number, list(collect_scanned_values(scan, text))


def _decode_exact_document(text: bytes) -> list[Any]:
    """Decode one value of which nothing can have been lost; nothing of any other text.

    That it comes out again with the usual indentation proves it, and tells how deep it is.
    """
    try:
        value = decode_native_json(text)
        if encode_native_json(value, indented=True) == text:
            is_exact = _TOO_DEEP_INDENT not in text
        else:
            is_exact = has_every_member(value, text) and not is_deeper_than(
                MAX_NATIVE_DEPTH, value, text
            )
    except INEXACT_JSON_ERRORS:
        return []
    return [value] if is_exact else []


EXPORT_HEAD_MEMBER = "vacr-export"

T = TypeVar("T")


class DatabaseQuery(Protocol):
    """Questions to a database, as it is at one moment."""

    def __call__(self, statement: str, *parameters: Any) -> Iterator[JsonObject]:
        """Run a statement with its parameters and give the rows; a text that is not UTF-8 comes as
        bytes.
        """
        ...

    def once(self, work: Callable[[DatabaseQuery], T]) -> T:
        """Do what has the same result as long as the database stays as it is, and need not be done
        again for another session.
        """
        ...


@dataclass(frozen=True)
class ListedSession:
    """A session that a store holds, as far as a look at its list tells."""

    session_id: str
    title: str = ""
    project: str = ""
    start: Any = None
    end: Any = None
    parent: str | None = None
    alone: bool = False
    """Whether the database holds no other, so that the size and the time of its file are the
    session's.
    """


class SessionDatabase(Protocol):
    """What a reader knows about an agent's database."""

    format_id: str

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is this agent's."""
        ...

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """List the sessions."""
        ...

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Give the rows of a session with their tables, always in the same order."""
        ...

    def sign(self, query: DatabaseQuery, session_id: str) -> object:
        """Give what is another after the agent changed rows of a session, without a look at what
        the rows say.
        """
        ...


def encode_session_rows(
    format_id: str, session_id: str, rows: Iterable[tuple[str, JsonObject]]
) -> bytes:
    """Write the rows of a session as lines."""
    lines = [encode_canonical_json({EXPORT_HEAD_MEMBER: format_id, "session": session_id})]
    lines += [
        encode_canonical_json({"row": _convert_row_to_json(row), "table": table})
        for table, row in rows
    ]
    return b"".join(line + b"\n" for line in lines)


def is_export_head(value: Any, format_id: str) -> bool:
    """Tell whether a value is the first line of an export of some format."""
    return type(value) is dict and value.get(EXPORT_HEAD_MEMBER) == format_id


def get_exported_session_id(head: JsonObject) -> str | None:
    """Give the session that the first line of an export names, if it does: a head that was not
    written here may say anything.
    """
    named = head.get("session")
    return named if type(named) is str else None


def get_extra_head_members(head: JsonObject) -> JsonObject:
    """Give what the first line of an export says beside what it has to."""
    return {
        name: value
        for name, value in head.items()
        if name != EXPORT_HEAD_MEMBER
        and (name, value) != ("session", get_exported_session_id(head))
    }


def is_export_row(value: Any) -> bool:
    """Tell whether a value is a row of an export."""
    return (
        type(value) is dict
        and value.keys() == {"row", "table"}
        and type(value["row"]) is dict
        and type(value["table"]) is str
    )


def _convert_row_to_json(row: JsonObject) -> JsonObject:
    """Write what JSON cannot hold as text, so that every row has a line."""
    return {name: _convert_value_to_json(value) for name, value in row.items()}


def _convert_value_to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return (
        {"number": str(value)} if isinstance(value, float) and not math.isfinite(value) else value
    )

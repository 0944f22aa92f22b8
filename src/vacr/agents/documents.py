r"""Native bytes as JSON values, and database rows as native bytes.

Agents write JSONL or one indented JSON value, and people paste several of either into one file.
The parsers here accept every layout and drop no byte: a text that cannot be decoded comes out as
`UndecodableBytes`, and a value with a repeated member or a broken string as a `RepairedValue`.

>>> from vacr.agents.documents import encode_session_rows, parse_json_documents
>>> data = b'{"role": "user"}\n{"role": "assis\n{\n  "role": "tool"\n}\n'
>>> for line, values in parse_json_documents(data):
...     print(line, values)
1 [{'role': 'user'}]
2 [UndecodableBytes(reason='not JSON', data=b'{"role": "assis')]
3 [{'role': 'tool'}]

Other agents keep all their sessions in one database. The native bytes of such a session are a
canonical export of its rows: a head that names the format, then one line for each row.

>>> rows = [("message", {"id": "msg_1", "data": b"\xff"})]
>>> print(encode_session_rows("opencode-sqlite", "ses_1", rows).decode(), end="")
{"session":"ses_1","vacr-export":"opencode-sqlite"}
{"row":{"data":{"base64":"/w=="},"id":"msg_1"},"table":"message"}
"""

from __future__ import annotations

import base64
import math
import re
import sqlite3
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
    encode_shallow_json,
    has_every_member,
    is_deeper_than,
    is_exact_json,
    is_same_apart_from_escapes,
    parse_spelled_float,
    scan_json,
)

# A native value ends up some levels down in a record, so it may nest a little less deep.
MAX_NATIVE_DEPTH = MAX_DEPTH - 16
NOT_JSON_REASON = "not JSON"
EXPORT_HEAD_MEMBER = "vacr-export"
"""The member of an export's first line that names the format."""
SELECT_TABLE_NAMES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE "
    "VIRTUAL%' ORDER BY name COLLATE BINARY"
)
LISTED_NUMBERS = "(SELECT value FROM json_each(?))"
"""The numbers of rows in a parameter, as the right side of `IN`."""
_ROW_NUMBER_NAMES = ("rowid", "_rowid_", "oid")

_CHUNK_BYTES = 1 << 15
_MAX_POINTER_LENGTH = 200
_LATER_VALUE_REASON = "told with the first value of its line"
_JSON_FIRST_BYTES = frozenset(b'{["-0123456789tfnNI')
_LONE_BRACKETS = (b"{", b"[")

_OPENING_BRACKET = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_LEADING_TEXT = re.compile(rb'(?:[^\s{\["][^\n]*+\n\s*+){1,8}+(?=[{\[]\s*["{\[\]}])')
_UNFINISHED_LINE_ENDS = (b"{", b"[", b",", b":")
# No JSON value begins like this: the text belongs to the value before it.
_CONTINUATION_LINE = re.compile(rb"\s*[,:}\]]")
# Inside a JSON value no opening bracket follows a closing one, so another value begins there.
_VALUE_BOUNDARY = re.compile(rb"\n[}\]][ \t\r\n]*(?=[{\[])")
_CLOSING_LINE_BYTES = 2
_OPENING_LINE = re.compile(rb"\n(?=[{\[])")
_USUAL_INDENT = re.compile(rb"[{\[]\n  [^ ]")

T = TypeVar("T")

INEXACT_JSON_ERRORS = (msgspec.DecodeError, TypeError, ValueError, RecursionError)
"""Decoding or encoding again raises these if a text is not plain JSON."""

_native_decoder = msgspec.json.Decoder(float_hook=parse_spelled_float)
decode_native_json = _native_decoder.decode
"""Decode one value, and keep the spelling of its numbers."""
_decode_lines = _native_decoder.decode_lines


@dataclass(frozen=True)
class UndecodableBytes:
    """Bytes that no JSON value of a record can hold, and the reason."""

    reason: str
    data: bytes


@dataclass(frozen=True)
class RepairedValue:
    """A value with a replaced part; `UndecodableBytes` with its text follow it."""

    value: Any
    reason: str


# --- JSON values of a file ---


def parse_json_documents(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Yield the values of a file in batches, each with the number of its first line.

    A value is plain JSON, a `RepairedValue` or `UndecodableBytes`.
    """
    opened = _OPENING_BRACKET.match(data)
    if opened:
        yield from (
            _parse_multiline_values(data.removeprefix(BYTE_ORDER_MARK).rstrip(), 1)
            if _continues_after_line(data, opened.end())
            else _parse_lines_or_values(data)
        )
    elif (lead := _LEADING_TEXT.match(data)) and is_multiline_json(data, lead.end()):
        # A program printed some lines before the value that it wrote.
        yield from parse_json_lines(lead[0])
        yield from _parse_multiline_values(data[lead.end() :].rstrip(), lead[0].count(b"\n") + 1)
    else:
        yield from parse_json_lines(data)


def is_multiline_json(data: bytes, start: int = 0) -> bool:
    """Return whether the first value from offset `start` on continues after its first line."""
    opened = _OPENING_BRACKET.match(data, start)
    return opened is not None and _continues_after_line(data, opened.end())


def _continues_after_line(data: bytes, start: int) -> bool:
    """Return whether the value whose bracket ends at `start` continues after that line."""
    end = data.find(b"\n", start)
    if end < 0:
        return False
    first = data[start - 1 : end].rstrip()
    return first.endswith(_UNFINISHED_LINE_ENDS) or (
        _CONTINUATION_LINE.match(data, end) is not None and not decode_exact_json(first)
    )


def _parse_lines_or_values(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Yield the values of lines, in batches with line numbers; then multiline values.

    These begin with the first line that is only an opening bracket.
    """
    for number, batch in parse_json_lines(data):
        if batch and type(batch[0]) is UndecodableBytes and batch[0].data in _LONE_BRACKETS:
            rest = data[_find_line_start(data, number) :]
            yield from _parse_multiline_values(rest.rstrip(), number)
            return
        yield number, batch


def _find_line_start(data: bytes, number: int) -> int:
    """Return the offset at which a line begins; lines are numbered from 1."""
    start = 0
    for _ in range(number - 1):
        start = data.find(b"\n", start) + 1
    return start


def _parse_multiline_values(data: bytes, number: int) -> Iterator[tuple[int, list[Any]]]:
    """Yield values that span several lines in batches, each with the number of its first line.

    `number` is the line at which `data` begins. Values that cannot be decoded exactly are yielded
    as `RepairedValue` or `UndecodableBytes`.
    """
    whole = _decode_exact_document(data)
    if whole:
        yield number, whole
        return
    batch: list[Any] = []
    counted = 0
    for start, stop in _find_value_spans(data):
        text = data[start:stop]
        exact = _decode_exact_document(text)
        # Counting lines takes time, so after a first batch for recognition, one takes all the rest.
        is_first_batch_full = counted == 0 and start > _CHUNK_BYTES
        if batch and (is_first_batch_full or not exact):
            yield number, batch
            batch = []
        if not batch:
            number += data.count(b"\n", counted, start)
            counted = start
        if exact:
            batch += exact
        else:
            yield from _parse_inexact_document(text, number)
    if batch:
        yield number, batch


def _find_value_spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each of several indented values begins and ends."""
    start = 0
    for boundary in _VALUE_BOUNDARY.finditer(data):
        yield start, boundary.start() + _CLOSING_LINE_BYTES
        start = boundary.end()
    yield start, len(data)


def _decode_exact_document(text: bytes) -> list[Any]:
    """Decode one value, in a list, or return an empty list if anything of it could be lost.

    A value that encodes to its own text with the usual indentation lost nothing.
    """
    try:
        value = decode_native_json(text)
        if _USUAL_INDENT.match(text):
            again = encode_shallow_json(value, indented=True)
            if again is not None and is_same_apart_from_escapes(again, text):
                return [value]
        return [value] if is_exact_json(value, text, MAX_NATIVE_DEPTH) else []
    except INEXACT_JSON_ERRORS:
        return []


def _parse_inexact_document(text: bytes, number: int) -> Iterator[tuple[int, list[Any]]]:
    """Parse a damaged value; if a part is unreadable, start again at each line that opens one.

    `number` is the number of its first line.
    """
    scan = scan_json(text, MAX_NATIVE_DEPTH)
    if scan.rest and _OPENING_LINE.search(text):
        for piece in _OPENING_LINE.split(text):
            yield number, list(parse_inexact_json(piece))
            number += piece.count(b"\n") + 1
    else:
        yield number, list(collect_scanned_values(scan, text))


# --- JSON lines ---


def parse_json_lines(data: bytes) -> Iterator[tuple[int, list[Any]]]:
    """Yield the values of a JSONL file in batches, each with the number of its first line.

    A line with repaired or undecodable values makes a batch of its own.
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
    """Return the end of the lines to decode together: as many as fit, or a larger one.

    The lines begin at offset `start`.
    """
    stop = data.rfind(b"\n", start, start + _CHUNK_BYTES)
    if stop < 0:
        stop = data.find(b"\n", start)
    return len(data) if stop < 0 else stop + 1


def _decode_exact_lines(data: bytes, start: int, stop: int) -> list[Any] | None:
    """Decode the lines between two offsets if no part of them is lost.

    Return None if a part may be lost, or is nested too deeply. Joined lines that are one array
    prove that each line is one value.
    """
    end = stop - 1 if data.endswith(b"\n", start, stop) else stop
    if stop - start > _CHUNK_BYTES:
        return _decode_exact_line(data, start, end)
    chunk = data[start:end]
    try:
        values: list[Any] = _decode_lines(chunk)
        # No JSON string holds a bare line end, so commas in their place make the lines one array.
        array = b"[%b]" % chunk.replace(b"\n", b",")
        shallow = encode_shallow_json(values)
        if shallow is not None:
            # Nearly all lines end here, without a measurement of their depth.
            return values if has_every_member(shallow, array) else None
        if encode_native_json(values) != array:
            return None
    except INEXACT_JSON_ERRORS:
        return None
    if len(chunk) > 2 * MAX_NATIVE_DEPTH and count_opening_brackets(chunk) > MAX_NATIVE_DEPTH:
        for value, line in zip(values, chunk.split(b"\n"), strict=True):
            if is_deeper_than(MAX_NATIVE_DEPTH, value, line):
                return None
    return values


def _decode_exact_line(data: bytes, start: int, end: int) -> list[Any] | None:
    """Decode one line that is larger than a chunk, without copying it more than necessary.

    Return None if a part of it may be lost, or is nested too deeply.
    """
    try:
        value = decode_native_json(memoryview(data)[start:end])
        shallow = encode_shallow_json(value)
        encoded = encode_native_json(value) if shallow is None else shallow
        is_same = len(encoded) == end - start and data.startswith(encoded, start)
        if not is_same and (shallow is None or not has_every_member(encoded, data[start:end])):
            return None
    except INEXACT_JSON_ERRORS:
        return None
    is_too_deep = shallow is None and is_deeper_than(MAX_NATIVE_DEPTH, value, encoded)
    return None if is_too_deep else [value]


# --- Text that may not be plain JSON ---


def decode_exact_json(text: bytes) -> list[Any]:
    """Decode one value, in a list, or return an empty list if anything of it could be lost."""
    try:
        value = decode_native_json(text)
        return [value] if is_exact_json(value, text, MAX_NATIVE_DEPTH) else []
    except INEXACT_JSON_ERRORS:
        return []


def parse_json_text(value: Any) -> Any:
    """Parse a text that is a JSON object or array; return any other value as it is."""
    if type(value) is str and value[:1] in ("{", "["):
        exact = decode_exact_json(value.encode())
        return exact[0] if exact else value
    return value


def parse_inexact_json(text: bytes) -> Iterator[Any]:
    """Yield the values of a line or a document that may not be exact."""
    text = text.removeprefix(BYTE_ORDER_MARK).strip(b" \t\r\n")
    if not text:
        return
    if text[0] not in _JSON_FIRST_BYTES and text.isascii():
        # A scan would find the same at many times the cost, and files that are not sessions may
        # hold nothing but such lines.
        yield UndecodableBytes(NOT_JSON_REASON, text)
        return
    exact = decode_exact_json(text)
    yield from exact or collect_scanned_values(scan_json(text, MAX_NATIVE_DEPTH), text)


def collect_scanned_values(scan: JsonScanResult, text: bytes) -> Iterator[Any]:
    """Yield the values of a scanned text: several, with repeated members, or broken strings."""
    if not scan.problems:
        yield from scan.values
        return
    descriptions = [_describe_problem(problem) for problem in scan.problems[:MAX_JSON_PROBLEMS]]
    reason = "; ".join(dict.fromkeys(descriptions))
    # The values before an unreadable rest are whole; only the rest is kept as bytes.
    only_rest = bool(scan.rest) and len(scan.problems) == 1
    for number, value in enumerate(scan.values):
        if only_rest:
            yield value
        else:
            yield RepairedValue(value, _LATER_VALUE_REASON if number else reason)
    yield UndecodableBytes(reason, scan.rest if only_rest else text)


def _describe_problem(problem: JsonProblem) -> str:
    """Return the reason of a problem, with its place if all decoders agree on it."""
    if problem.pointer is not None:
        place = problem.pointer or "/"
        # Names in a pointer may be as long as the text itself.
        if len(place) > _MAX_POINTER_LENGTH:
            place = f"{place[:_MAX_POINTER_LENGTH]}…"
        return f"{problem.reason} ({place})"
    # Decoders differ in where they stop, but an invalid byte is at the same place for all.
    if "UTF-8" in problem.reason:
        return f"{problem.reason} (byte {problem.offset})"
    return problem.reason


# --- Sessions in databases and folders ---


class DatabaseQuery(Protocol):
    """A consistent view of a database that answers SQL statements."""

    def __call__(self, statement: str, *parameters: Any) -> Iterator[JsonObject]:
        """Run a statement and yield the rows; a text that is not UTF-8 comes as bytes."""
        ...

    def once(self, work: Callable[[DatabaseQuery], T]) -> T:
        """Return the result of `work`, computed once for as long as the database is unchanged."""
        ...


@dataclass(frozen=True)
class ListedSession:
    """A session in a store, with the facts that its list shows.

    `start` and `end` are RFC 3339 text or milliseconds since 1970, as the store has them, and are
    not checked.
    """

    session_id: str
    title: str = ""
    project: str = ""
    start: Any = None
    end: Any = None
    parent: str | None = None
    alone: bool = False
    """The database holds no other session: the size and time of its file are the session's."""


class SessionDatabase(Protocol):
    """The knowledge of a reader about its agent's database."""

    @property
    def format_id(self) -> str:
        """The format of an exported session."""
        ...

    def knows(self, tables: frozenset[str]) -> bool:
        """Return whether a database with these tables is this agent's.

        `tables` also has the names of columns, as `table.column`.
        """
        ...

    def sessions(self, query: DatabaseQuery) -> Iterable[ListedSession]:
        """Return the sessions that the database lists."""
        ...

    def rows(self, query: DatabaseQuery, session_id: str) -> Iterator[tuple[str, JsonObject]]:
        """Yield the rows of a session with their tables, always in the same order."""
        ...

    def compute_change_mark(self, query: DatabaseQuery, session_id: str) -> object:
        """Return a value that changes with the session's rows, without reading their content."""
        ...


FileLister = Callable[[str], list[str]]
"""Returns the paths of a folder's files that match a pattern, in order.

A path ends early where the names below it are not known.
"""


class SessionFolder(Protocol):
    """The knowledge of a reader about a folder with several files for each session."""

    @property
    def marks(self) -> frozenset[str]:
        """The folders that together show such a folder."""
        ...

    @property
    def signs(self) -> tuple[str, ...]:
        """Patterns of files, each of which shows such a folder even without all the marks."""
        ...

    @property
    def pieces(self) -> frozenset[str]:
        """The folders whose files are not sessions of their own."""
        ...

    def sessions(self, files: FileLister) -> list[str]:
        """Return the ids of the sessions."""
        ...

    def glimpse(self, files: FileLister, session_id: str) -> list[str]:
        """Return the paths of the few files that a summary of a session needs."""
        ...

    def parts(self, files: FileLister, session_id: str) -> list[str]:
        """Return the paths of all files of a session; empty if it has none."""
        ...


def quote_sql_name(name: str) -> str:
    """Return the name of a table or a column, quoted for a statement."""
    return '"' + name.replace('"', '""') + '"'


def build_select(columns: str, table: str, rest: str = "") -> str:
    """Return a SELECT statement over a table of any name; `columns` and `rest` are SQL already."""
    return f"SELECT {columns} FROM {quote_sql_name(table)} {rest}"  # noqa: S608 - a quoted name


def list_columns(query: DatabaseQuery, table: str) -> list[str]:
    """Return the names of a table's columns that are text."""
    rows = query("SELECT name FROM pragma_table_info(?)", table)
    return [row["name"] for row in rows if type(row["name"]) is str]


def find_row_number_name(query: DatabaseQuery, table: str, columns: list[str]) -> str:
    """Return a name for the numbers of a table's rows, or an empty text if it has none."""
    column_names = {column.lower() for column in columns}
    for name in _ROW_NUMBER_NAMES:
        if name not in column_names:
            try:
                list(query(build_select(name, table, "LIMIT 0")))
            except sqlite3.OperationalError:
                return ""
            return name
    return ""


def format_row_id(identity: Any) -> str:
    """Return the text for an id of any type, bytes as `0x` and hex; empty for None."""
    if isinstance(identity, bytes):
        return f"0x{identity.hex()}"
    return "" if identity is None else str(identity)


def encode_session_rows(
    format_id: str, session_id: str, rows: Iterable[tuple[str, JsonObject]]
) -> bytes:
    """Return the rows of a session as an export: a head, then a line of JSON for each row."""
    lines = [encode_canonical_json({EXPORT_HEAD_MEMBER: format_id, "session": session_id})]
    lines += [
        encode_canonical_json({"row": _convert_row_to_json(row), "table": table})
        for table, row in rows
    ]
    return b"".join(line + b"\n" for line in lines)


def _convert_row_to_json(row: JsonObject) -> JsonObject:
    """Return a row with values that JSON cannot hold replaced, so that every row has a line."""
    return {name: _convert_value_to_json(value) for name, value in row.items()}


def _convert_value_to_json(value: Any) -> Any:
    """Return bytes as an object with base64, NaN and infinities as an object with text.

    Return any other value unchanged.
    """
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def is_export_head(value: Any, format_id: str) -> bool:
    """Return whether a value is the first line of an export of a format."""
    return type(value) is dict and value.get(EXPORT_HEAD_MEMBER) == format_id


def is_export_row(value: Any) -> bool:
    """Return whether a value is a row of an export."""
    return (
        type(value) is dict
        and value.keys() == {"row", "table"}
        and type(value["row"]) is dict
        and type(value["table"]) is str
    )


def get_exported_session_id(head: JsonObject) -> str | None:
    """Return the session that an export's head names, or None if it names none as text."""
    session_id = head.get("session")
    return session_id if type(session_id) is str else None


def get_extra_head_members(head: JsonObject) -> JsonObject:
    """Return the members of an export's head that vacr itself does not write."""
    session_id = get_exported_session_id(head)
    return {
        name: value
        for name, value in head.items()
        if name != EXPORT_HEAD_MEMBER and (name, value) != ("session", session_id)
    }

"""Canonical JSON: exactly one text for every value, and a strict decoder.

The form is RFC 8785 (no white space, members sorted by UTF-16 units, ECMAScript numbers), except
that integers above 2^53 are exact where the RFC refuses them. The decoder refuses anything that two
decoders could read differently, and names the place: a repeated member, text after the value, a
number out of range, a lone surrogate, a byte that is not UTF-8, too deep a nesting.

    >>> from vacr.record import decode_json, encode_canonical_json
    >>> encode_canonical_json({"b": 1.50, "a": [1e3, 9007199254740993]})
    b'{"a":[1000,9007199254740993],"b":1.5}'
    >>> decode_json(b'{"role": "user", "role": "system"}')
    Traceback (most recent call last):
    ...
    vacr.errors.UnreadableInput: /: member 'role' occurs more than once

Strict decoding never repairs a text. Readers of native files do, with `scan_json`: it reads as much
as it can, and reports the first problems with their places. It is slow, and never used on text that
the fast decoder can vouch for.

    >>> from vacr.record import scan_json
    >>> result = scan_json(b'{"n": 1e999, "n": 2} {"cut', max_depth=400)
    >>> result.values, result.rest
    ([{'n': 2}], b'{"cut')
    >>> [(problem.reason, problem.pointer) for problem in result.problems]
    [('not JSON', None), ("member 'n' occurs more than once", '')]
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from vacr.errors import InvalidRecord, UnreadableInput
from vacr.record.json_text import (
    MAX_DEPTH,
    SpelledFloat,
    ValuePath,
    canonicalize_number,
    encode_native_json,
    encode_shallow_json,
    encode_sorted_json,
    format_pointer,
    is_deeper_than,
    parse_json_number,
)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_JSON_PROBLEMS = 8
"""At most this many problems inside the values of a text are reported."""

_PLAIN_TYPES = frozenset((str, int, bool, type(None)))
"""The types that need no conversion before they are encoded."""

_ASTRAL_LEAD_BYTES = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
"""The first UTF-8 byte of a character above U+FFFF."""
_BACKSLASH = ord("\\")
_STRING_END_PATTERN = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MEMBER_NAME_END = re.compile(rb'(?<!\\)(?:\\\\)*+":')
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_UNICODE_ESCAPES = re.compile(rb"\\u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*+")
_FEW_ESCAPES = 16
_MIN_BYTES_PER_ESCAPE = 1000
_MAX_BACKSLASHES = 32
_MIN_COMPARED_BYTES, _MAX_COMPARED_BYTES = 1 << 10, 1 << 15

# For the scanner of texts that the fast decoder refuses.
_STRING_PATTERN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET_PATTERN = re.compile(rb"[\[\]{}]")
_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")
_SPACE_PATTERN = re.compile(r"[ \t\r\n]*")

_json_decoder = msgspec.json.Decoder(float_hook=parse_json_number)


# Encoding.


def encode_canonical_json(value: Any) -> bytes:
    """Encode a value as canonical JSON in UTF-8.

    Raises:
        InvalidRecord: it contains something that JSON cannot express: bytes, tags, keys that are
            not text, lone surrogates, numbers that are not finite, too deep nesting.
    """
    if _is_directly_encodable(value):
        with suppress(InvalidRecord):
            return encode_decoded_json(value)
    # The slow way converts numbers, and names the place of a value that cannot be encoded.
    return encode_decoded_json(_make_encodable(value, None, 0))


def encode_decoded_json(value: Any) -> bytes:
    """Encode a value from `decode_json` as canonical JSON, without checking numbers and keys.

    Raises:
        InvalidRecord: the value cannot be written as JSON.
    """
    try:
        data = encode_sorted_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"the value cannot be written as JSON: {error}") from error
    if _has_astral_key(data) and not _has_same_key_order(value):
        return encode_sorted_json(_sort_keys_by_utf16(value))
    return data


def _is_directly_encodable(value: Any) -> bool:
    """Return whether a value needs no conversion before it is encoded.

    Its keys must be text, its floats `SpelledFloat`, and its nesting within the limit.
    """
    level, depth = [value], 0
    while level:
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                if any([type(key) is not str for key in item]):  # noqa: C419 - a list is faster
                    return False
                inner += [member for member in item.values() if type(member) not in _PLAIN_TYPES]
            elif kind is list:
                inner += [element for element in item if type(element) not in _PLAIN_TYPES]
            elif kind not in _PLAIN_TYPES and kind is not SpelledFloat:
                return False
        level, depth = inner, depth + 1
        if depth > MAX_DEPTH:
            return False
    return True


def _make_encodable(value: Any, place: ValuePath, depth: int) -> Any:
    """Return a copy of a value with canonical numbers and with lists instead of tuples.

    Raises:
        InvalidRecord: JSON cannot express a part of it; the error has the pointer of that part.
    """
    kind = type(value)
    if kind in _PLAIN_TYPES:
        return _check_utf8_text(value, place) if kind is str else value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRecord(
                f"{value} is not a finite number",
                where=format_pointer(place) or "/",
                hint="Only finite numbers can be in a record.",
            )
        return canonicalize_number(value)
    if depth >= MAX_DEPTH:
        raise InvalidRecord(
            f"nested deeper than {MAX_DEPTH} levels", where=format_pointer(place) or "/"
        )
    # Loops, not comprehensions: those would take a second stack frame for each level.
    if isinstance(value, dict):
        members = {}
        for key, item in value.items():
            if type(key) is not str:
                raise InvalidRecord(
                    f"a key of type {type(key).__name__} cannot be written as JSON",
                    where=format_pointer(place) or "/",
                )
            members[_check_utf8_text(key, place)] = _make_encodable(item, (place, key), depth + 1)
        return members
    if isinstance(value, list | tuple):
        items = []
        for index, item in enumerate(value):
            items.append(_make_encodable(item, (place, index), depth + 1))
        return items
    raise InvalidRecord(
        f"a value of type {kind.__name__} cannot be written as JSON",
        where=format_pointer(place) or "/",
    )


def _check_utf8_text(text: str, place: ValuePath) -> str:
    """Return the text if UTF-8 can encode it.

    Raises:
        InvalidRecord: it contains a lone surrogate.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRecord(
                "a lone surrogate cannot be written as UTF-8",
                where=_replace_surrogates(format_pointer(place)) or "/",
            ) from error
    return text


def _has_astral_key(data: bytes) -> bool:
    """Return whether a key in encoded JSON has a character above U+FFFF.

    Only then can the order by UTF-16 unit differ from the order by code point.
    """
    if data.isascii():
        return False
    for lead in _ASTRAL_LEAD_BYTES:
        position = data.find(lead)
        while position >= 0:
            end = _find_string_end(data, position)
            if data[end : end + 1] == b":":
                return True
            position = data.find(lead, end)
    return False


def _find_string_end(data: bytes, position: int) -> int:
    """Return the offset after the closing quote of the JSON string around a position."""
    end = data.find(b'"', position)
    while data[end - 1] == _BACKSLASH:
        if data[end - 2] == _BACKSLASH:
            # Whether the quote is escaped depends on the number of backslashes before it.
            return _STRING_END_PATTERN.match(data, position).end()  # type: ignore[union-attr]
        end = data.find(b'"', end + 1)
    return end + 1


def _has_same_key_order(value: Any) -> bool:
    """Return whether the keys of all maps have the same order by code point and by UTF-16 unit."""
    stack = [value]
    for item in stack:
        if isinstance(item, dict):
            keys = [key for key in item if not key.isascii()]
            if len(keys) > 1 and sorted(keys) != sorted(keys, key=_encode_utf16):
                return False
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return True


def _encode_utf16(text: str) -> bytes:
    """Return a text in UTF-16 (big-endian), the sort key of canonical JSON."""
    return text.encode("utf-16-be")


def _sort_keys_by_utf16(value: Any) -> Any:
    """Return a copy with each map replaced by its encoded text, with keys in UTF-16 order."""
    # Loops, not comprehensions: those would take a second stack frame for each level.
    if isinstance(value, dict):
        members = []
        for key in sorted(value, key=_encode_utf16):
            item = encode_sorted_json(_sort_keys_by_utf16(value[key]))
            members.append(msgspec.json.encode(key) + b":" + item)
        return msgspec.Raw(b"{" + b",".join(members) + b"}")
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(_sort_keys_by_utf16(item))
        return items
    return value


# Decoding.


def decode_json(data: bytes) -> Any:
    """Decode one JSON value strictly.

    Raises:
        UnreadableInput: the bytes are not exactly one JSON value, or decoders may read them
            differently; the error has the place.
    """
    try:
        value = _json_decoder.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    else:
        if is_exact_json(value, data, MAX_DEPTH):
            return value
    if data.startswith(BYTE_ORDER_MARK):
        raise UnreadableInput(
            "a byte order mark before the value",
            where="line 1, column 1",
            hint="Save the file as UTF-8 without a byte order mark.",
        )
    # The fast decoder refused the text, or may have misread it: look for the first problem.
    scanned = scan_json(data, MAX_DEPTH)
    problems = scanned.problems
    if not problems and len(scanned.values) != 1:
        reason = "more text after the value" if scanned.values else "no JSON value"
        problems = [JsonProblem(reason, offset=scanned.second)]
    for problem in problems:
        detail = f": {problem.detail}" if problem.detail else ""
        raise UnreadableInput(f"{problem.reason}{detail}", where=problem.place(data))
    return scanned.values[0]


def is_exact_json(value: Any, data: bytes, max_depth: int) -> bool:
    """Return whether JSON text certainly repeats no member, and nests no deeper than a limit.

    `value` is decoded from `data`. Return False if that cannot be decided.
    """
    again = encode_shallow_json(value)
    if again is None:
        if is_deeper_than(max_depth, value, data):
            return False
        again = encode_native_json(value)
    return has_every_member(again, data)


def has_every_member(again: bytes, data: bytes) -> bool:
    """Return whether JSON text certainly repeats no member; `again` is its value, encoded again.

    The decoder keeps only one of repeated members. So it dropped none if encoding the value gives
    the same text, apart from white space and escapes, or the same number of members. Return False
    if that cannot be decided.
    """
    if again == data:
        return True
    compact = msgspec.json.format(data, indent=-1)
    if is_same_apart_from_escapes(again, compact):
        return True
    # An escaped colon in the text could make up for a member that was dropped.
    if _ESCAPED_COLON.search(compact) is not None:
        return False
    return _count_member_names(compact) == _count_member_names(again)


def is_same_apart_from_escapes(again: bytes, data: bytes) -> bool:
    """Return whether JSON text, encoded again, differs only in the escapes of some characters.

    Return False if that cannot be decided.
    """
    return again == data or _has_few_escapes(again, data) or again == decode_unicode_escapes(data)


def _has_few_escapes(again: bytes, data: bytes) -> bool:
    """Return whether two texts are the same, apart from at most a few escapes in `data`.

    Comparing the text between escapes is several times as fast as a search for them.
    """
    written = read = 0
    for _ in range(_FEW_ESCAPES):
        shared = _count_shared_bytes(again, written, data, read)
        written, read = written + shared, read + shared
        escape = _UNICODE_ESCAPES.match(data, read)
        if escape is None:
            return written == len(again) and read == len(data)
        characters = _decode_escapes(escape)
        if not again.startswith(characters, written):
            return False
        written, read = written + len(characters), escape.end()
    return False


def _count_shared_bytes(first: bytes, start: int, second: bytes, other_start: int) -> int:
    """Return how many bytes two texts have in common, each from an offset on."""
    size, shared = _MIN_COMPARED_BYTES, 0
    while piece := first[start + shared : start + shared + size]:
        if not second.startswith(piece, other_start + shared):
            break
        shared, size = shared + len(piece), min(2 * size, _MAX_COMPARED_BYTES)
    # The last piece has the first byte that differs; it is found by halving.
    end = len(piece)
    while end > 1:
        half = piece[: end // 2]
        if second.startswith(half, other_start + shared):
            shared, piece, end = shared + len(half), piece[len(half) :], end - len(half)
        else:
            piece, end = half, len(half)
    return shared


def decode_unicode_escapes(data: bytes) -> bytes:
    r"""Return JSON text with escapes such as `\u00e9` as the encoder would write the characters.

    Where escapes are frequent, only the first ones are decoded, because each takes some time.
    """
    most = _FEW_ESCAPES + len(data) // _MIN_BYTES_PER_ESCAPE
    return _UNICODE_ESCAPES.sub(_decode_escapes, data, most)


def _decode_escapes(match: re.Match[bytes]) -> bytes:
    """Return the characters of adjacent escapes, or the same bytes if a backslash escapes them."""
    start = match.start()
    before = match.string[max(0, start - _MAX_BACKSLASHES) : start]
    backslashes = len(before) - len(before.rstrip(b"\\"))
    if backslashes % 2 or backslashes == _MAX_BACKSLASHES:
        return match[0]
    return encode_native_json(msgspec.json.decode(b'"%b"' % match[0]))[1:-1]


def _count_member_names(compact: bytes) -> int:
    """Return the number of unescaped quotes before a colon, in JSON text without spaces.

    These are the ends of member names, and the starts of strings that begin with a colon.
    """
    if b'\\\\":' in compact:
        return len(_MEMBER_NAME_END.findall(compact))
    return compact.count(b'":') - compact.count(b'\\":')


# Scanning: find the problems of a text that the fast decoder refused or may have misread.


@dataclass(frozen=True)
class JsonProblem:
    """A problem of a JSON text, and its place.

    The place is a JSON pointer, or a byte offset where no value could be read. `detail` is the
    decoder's own message. It differs between versions of Python, so it may be shown to people but
    never goes into a record.
    """

    reason: str
    pointer: str | None = None
    offset: int | None = None
    detail: str = ""

    def place(self, data: bytes) -> str:
        """Return the place for people: the pointer, or a line and column of the text `data`."""
        if self.pointer is not None:
            return self.pointer or "/"
        offset = self.offset or 0
        line = data.count(b"\n", 0, offset) + 1
        line_start = data.rfind(b"\n", 0, offset) + 1
        return f"line {line}, column {offset - line_start + 1}"


@dataclass
class JsonScanResult:
    """The readable JSON values of a text, and its problems."""

    values: list[Any] = field(default_factory=list)
    second: int = 0
    """The byte offset of the second value, or 0 if the text has fewer than two."""
    rest: bytes = b""
    """The text from the first unreadable value on; empty if all of it was read."""
    problems: list[JsonProblem] = field(default_factory=list)


def scan_json(data: bytes, max_depth: int) -> JsonScanResult:
    """Read as many JSON values of a text as possible, one after another, and list its problems.

    Parts that no record can contain become printable text: a lone surrogate becomes U+FFFD. A text
    that nests deeper than `max_depth` gives no values.
    """
    result = JsonScanResult()
    too_deep = _find_too_deep(data, max_depth)
    if too_deep is not None:
        result.rest = data
        problem = JsonProblem(f"nested deeper than {max_depth} levels", offset=too_deep)
        result.problems.append(problem)
        return result
    text = _decode_utf8(data, result)
    collector = _RepeatedMemberCollector()
    _read_all_values(text, collector, result)
    repeated = {id(members): names for members, names in collector.repeated}
    result.values = [
        _repair_value(value, None, repeated, result.problems) for value in result.values
    ]
    return result


class _OutOfRangeNumber(str):
    """The text of a number that no float can represent."""

    __slots__ = ()


@dataclass
class _RepeatedMemberCollector:
    """Collects the maps with repeated members, each with the repeated names."""

    repeated: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)

    def build_map(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the members as a map in their order; of repeated ones, the last value counts.

        Add a map with repeated members to `repeated`.
        """
        members = dict(pairs)
        if len(members) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            names = sorted(name for name, count in counts.items() if count > 1)
            self.repeated.append((members, names))
        return members


def _find_too_deep(data: bytes, limit: int) -> int | None:
    """Return the offset of the first bracket that nests deeper than the limit, or None."""
    if data.count(b"{") + data.count(b"[") <= limit:
        return None
    level = position = 0
    for string in _STRING_PATTERN.finditer(data):
        for bracket in _BRACKET_PATTERN.finditer(data, position, string.start()):
            level += 1 if bracket[0] in b"[{" else -1
            if level > limit:
                return bracket.start()
        position = string.end()
    for bracket in _BRACKET_PATTERN.finditer(data, position):
        level += 1 if bracket[0] in b"[{" else -1
        if level > limit:
            return bracket.start()
    return None


def _decode_utf8(data: bytes, result: JsonScanResult) -> str:
    """Decode UTF-8; report the first bad byte in `result`, and replace all by U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"byte 0x{data[error.start]:02x} is not UTF-8"
        result.problems.append(JsonProblem(reason, offset=error.start))
        return data.decode(errors="replace")


def _read_all_values(
    text: str, collector: _RepeatedMemberCollector, result: JsonScanResult
) -> None:
    """Add value after value to `result`, until the end or the first text that is not JSON."""
    strict, lenient = (
        json.JSONDecoder(
            object_pairs_hook=collector.build_map,
            parse_int=_parse_integer,
            parse_float=_parse_fraction,
            parse_constant=_OutOfRangeNumber,
            strict=strict,
        )
        for strict in (True, False)
    )
    decoder = strict
    position = _skip_space(text, 0)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            offset = _get_byte_offset(text, error.pos)
            if decoder is strict and error.msg.startswith("Invalid control character"):
                result.problems.append(JsonProblem("control character in a string", offset=offset))
                # Stay lenient from here on: trying strictly first each time would take quadratic
                # time.
                decoder = lenient
                continue
            is_cut = error.msg.startswith("Unterminated string")
            detail = "it ends in the middle of a text" if is_cut else error.msg
            result.problems.append(JsonProblem("not JSON", offset=offset, detail=detail))
            result.rest = text[position:].encode()
            return
        except (RecursionError, ValueError) as error:
            offset = _get_byte_offset(text, position)
            result.problems.append(JsonProblem("not JSON", offset=offset, detail=str(error)))
            result.rest = text[position:].encode()
            return
        if len(result.values) == 1:
            result.second = _get_byte_offset(text, position)
        result.values.append(value)
        position = _skip_space(text, end)


def _parse_integer(text: str) -> Any:
    """Parse an integer, or keep its text if Python refuses so many digits."""
    try:
        return int(text)
    except ValueError:
        return _OutOfRangeNumber(text)


def _parse_fraction(text: str) -> Any:
    """Parse a number with a fraction or exponent, or keep its text if it is out of range."""
    try:
        return parse_json_number(text)
    except ValueError:
        return _OutOfRangeNumber(text)


def _skip_space(text: str, position: int) -> int:
    """Return the position of the next character that is not JSON white space."""
    match = _SPACE_PATTERN.match(text, position)
    return match.end() if match else position


def _get_byte_offset(text: str, position: int) -> int:
    """Return the offset in UTF-8 bytes of a position in characters."""
    return len(text[:position].encode())


def _repair_value(
    value: Any, place: ValuePath, repeated: dict[int, list[str]], problems: list[JsonProblem]
) -> Any:
    """Return a copy with printable text for values that no record can contain.

    Add each of them, and each repeated member, to `problems`. `repeated` lists the repeated names
    of a map, by the `id()` of the map.
    """
    # Loops, not comprehensions: those would take a second stack frame for each level.
    if isinstance(value, dict):
        for name in repeated.get(id(value), ()):
            reason = f"member {_format_member_name(name)} occurs more than once"
            _add_problem(problems, reason, place)
        members = {}
        for key, item in value.items():
            name = _repair_value(key, place, repeated, problems)
            members[name] = _repair_value(item, (place, name), repeated, problems)
        return members
    if isinstance(value, list):
        items = []
        for index, item in enumerate(value):
            items.append(_repair_value(item, (place, index), repeated, problems))
        return items
    if isinstance(value, _OutOfRangeNumber):
        _add_problem(problems, f"number out of range: {value[:40]}", place)
        return str(value)
    if isinstance(value, str) and not value.isascii() and _SURROGATE_PATTERN.search(value):
        _add_problem(problems, "lone surrogate in a string", place)
        return _replace_surrogates(value)
    return value


def _add_problem(problems: list[JsonProblem], reason: str, place: ValuePath) -> None:
    """Add a problem unless there are `MAX_JSON_PROBLEMS` already: pointers can be long."""
    if len(problems) < MAX_JSON_PROBLEMS:
        pointer = _replace_surrogates(format_pointer(place))
        problems.append(JsonProblem(reason, pointer=pointer))


def _format_member_name(name: str) -> str:
    """Return a name in quotes for a message, cut to 40 characters."""
    return repr(_replace_surrogates(name[:40]))


def _replace_surrogates(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate."""
    return _SURROGATE_PATTERN.sub("\ufffd", text)

"""Find the problems of JSON that the fast decoder refused or may have misread.

The scanner reads as much as it can and reports the first problems with their places. Strict
decoding raises the first of them; readers of native files keep the value and note the problems. It
is slow, and never used on text that the fast path can vouch for.

    >>> from vacr.record import scan_json
    >>> result = scan_json(b'{"n": 1e999, "n": 2} {"cut', max_depth=400)
    >>> result.values, result.rest
    ([{'n': 2}], b'{"cut')
    >>> [(problem.reason, problem.pointer) for problem in result.problems]
    [('not JSON', None), ("member 'n' occurs more than once", '')]
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from vacr.record.json_text import ValuePath, format_pointer, parse_json_number

MAX_JSON_PROBLEMS = 8
"""How many problems of a text are reported."""

_STRING_PATTERN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET_PATTERN = re.compile(rb"[\[\]{}]")
_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")
_SPACE_PATTERN = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class JsonProblem:
    """A problem of a text, and its place.

    The place is a JSON pointer, or a byte offset where no value could be read. `detail` is the
    decoder's own message. It differs between versions of Python, so it may be shown to people but
    never goes into a record.
    """

    reason: str
    pointer: str | None = None
    offset: int | None = None
    detail: str = ""

    def place(self, data: bytes) -> str:
        """Return the place as a person would look for it: a pointer, or a line and column."""
        if self.pointer is not None:
            return self.pointer or "/"
        offset = self.offset or 0
        line = data.count(b"\n", 0, offset) + 1
        line_start = data.rfind(b"\n", 0, offset) + 1
        return f"line {line}, column {offset - line_start + 1}"


@dataclass
class JsonScanResult:
    """The readable values of a text, and its problems."""

    values: list[Any] = field(default_factory=list)
    second: int = 0
    """The byte offset of the second value, if there are several."""
    rest: bytes = b""
    """The text after the last value that could be read."""
    problems: list[JsonProblem] = field(default_factory=list)


def scan_json(data: bytes, max_depth: int) -> JsonScanResult:
    """Read all the JSON values of a text, one after another, with their problems."""
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
    """Collects the maps whose text has the same member more than once."""

    repeated: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)

    def build_map(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Build a map from the members that the decoder met, in the order of the text."""
        members = dict(pairs)
        if len(members) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            names = sorted(name for name, count in counts.items() if count > 1)
            self.repeated.append((members, names))
        return members


def _find_too_deep(data: bytes, limit: int) -> int | None:
    """Return the offset at which nesting exceeds the limit, without reading any value."""
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
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"byte 0x{data[error.start]:02x} is not UTF-8"
        result.problems.append(JsonProblem(reason, offset=error.start))
        return data.decode(errors="replace")


def _read_all_values(
    text: str, collector: _RepeatedMemberCollector, result: JsonScanResult
) -> None:
    """Read value after value, until the end or the first text that is not JSON."""
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
            result.problems.append(JsonProblem("not JSON", offset=offset, detail=error.msg))
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
    """Parse an integer, unless it has more digits than the interpreter converts."""
    try:
        return int(text)
    except ValueError:
        return _OutOfRangeNumber(text)


def _parse_fraction(text: str) -> Any:
    try:
        return parse_json_number(text)
    except ValueError:
        return _OutOfRangeNumber(text)


def _skip_space(text: str, position: int) -> int:
    match = _SPACE_PATTERN.match(text, position)
    return match.end() if match else position


def _get_byte_offset(text: str, position: int) -> int:
    return len(text[:position].encode())


def _repair_value(
    value: Any, place: ValuePath, repeated: dict[int, list[str]], problems: list[JsonProblem]
) -> Any:
    """Replace values that no record can contain by printable text, and report their places."""
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
    """Report a problem, up to a limit: pointers can be long, and the first ones suffice."""
    if len(problems) < MAX_JSON_PROBLEMS:
        pointer = _replace_surrogates(format_pointer(place))
        problems.append(JsonProblem(reason, pointer=pointer))


def _format_member_name(name: str) -> str:
    return repr(_replace_surrogates(name[:40]))


def _replace_surrogates(text: str) -> str:
    return _SURROGATE_PATTERN.sub("\ufffd", text)

"""A slow, forgiving look at JSON that the fast decoder refused or may have read wrongly. Step:
encode.

It reads as much as can be read and names the first problems with their places: strict decoding
raises the first one, the readers of native files keep the value and the problems. Never used on
text that the fast path can vouch for.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from vacr.record.json_text import ValuePath, format_pointer, parse_json_number

MAX_JSON_PROBLEMS = 8
"""How many problems of a text are named."""

_STRING_PATTERN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET_PATTERN = re.compile(rb"[\[\]{}]")
_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")
_SPACE_PATTERN = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class JsonProblem:
    """What is wrong with a text, and where: a JSON pointer, or a byte offset where no value could
    be read.

    `detail` is the decoder's own word, which differs between versions of Python: for messages,
    never for records.
    """

    reason: str
    pointer: str | None = None
    offset: int | None = None
    detail: str = ""

    def place(self, data: bytes) -> str:
        """Name the place as a person would look for it."""
        if self.pointer is not None:
            return self.pointer or "/"
        offset = self.offset or 0
        line = data.count(b"\n", 0, offset) + 1
        column = offset - (data.rfind(b"\n", 0, offset) + 1) + 1
        return f"line {line}, column {column}"


@dataclass
class JsonScanResult:
    """What could be read of a text: the values, where the second starts, the bytes after the last
    one, the problems.
    """

    values: list[Any] = field(default_factory=list)
    second: int = 0
    rest: bytes = b""
    problems: list[JsonProblem] = field(default_factory=list)


class _OutOfRangeNumber(str):
    """The text of a number that no float can hold."""

    __slots__ = ()


@dataclass
class _RepeatedMemberHook:
    repeated: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated.append(
                (members, sorted(name for name, count in counts.items() if count > 1))
            )
        return members


def _parse_integer(text: str) -> Any:
    """Read an integer, unless it has more digits than the interpreter converts."""
    try:
        return int(text)
    except ValueError:
        return _OutOfRangeNumber(text)


def _parse_fraction(text: str) -> Any:
    try:
        return parse_json_number(text)
    except ValueError:
        return _OutOfRangeNumber(text)


def scan_json(data: bytes, max_depth: int) -> JsonScanResult:
    """Read all the JSON values of a text, one after another, with the problems they have."""
    result = JsonScanResult()
    deep = _find_too_deep(data, max_depth)
    if deep is not None:
        result.rest = data
        result.problems.append(JsonProblem(f"nested deeper than {max_depth} levels", offset=deep))
        return result
    text = _decode_utf8(data, result)
    hooks = _RepeatedMemberHook()
    _read_all_values(text, hooks, result)
    repeated = {id(members): names for members, names in hooks.repeated}
    result.values = [
        _repair_value(value, None, repeated, result.problems) for value in result.values
    ]
    return result


def _decode_utf8(data: bytes, result: JsonScanResult) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        result.problems.append(
            JsonProblem(f"byte 0x{data[error.start]:02x} is not UTF-8", offset=error.start)
        )
        return data.decode(errors="replace")


def _read_all_values(text: str, hooks: _RepeatedMemberHook, result: JsonScanResult) -> None:
    """Read value after value, until the end or what cannot be read."""
    strict, lenient = (
        json.JSONDecoder(
            object_pairs_hook=hooks.pairs,
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
            if decoder is strict and error.msg.startswith("Invalid control character"):
                # From here on such characters are read; trying strictly first each time would cost
                # the square.
                result.problems.append(
                    JsonProblem(
                        "control character in a string", offset=_get_byte_offset(text, error.pos)
                    )
                )
                decoder = lenient
                continue
            result.problems.append(
                JsonProblem("not JSON", offset=_get_byte_offset(text, error.pos), detail=error.msg)
            )
            result.rest = text[position:].encode()
            return
        except (RecursionError, ValueError) as error:
            result.problems.append(
                JsonProblem("not JSON", offset=_get_byte_offset(text, position), detail=str(error))
            )
            result.rest = text[position:].encode()
            return
        result.values.append(value)
        if len(result.values) == 2:  # noqa: PLR2004 - where a second value begins, of which strict decoding tells
            result.second = _get_byte_offset(text, position)
        position = _skip_space(text, end)


def _repair_value(
    value: Any, place: ValuePath, repeated: dict[int, list[str]], problems: list[JsonProblem]
) -> Any:
    """Replace what a record cannot hold by text that can be shown, naming the first such places."""
    # Loops, not comprehensions, which would take a second stack frame for each level.
    if isinstance(value, dict):
        for name in repeated.get(id(value), ()):
            _add_problem(
                problems, f"member {_format_member_name(name)} occurs more than once", place
            )
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
        return _SURROGATE_PATTERN.sub("\ufffd", value)
    return value


def _add_problem(problems: list[JsonProblem], reason: str, place: ValuePath) -> None:
    """Name a problem; when there are many, the first tell enough: each names its place, which may
    be long.
    """
    if len(problems) < MAX_JSON_PROBLEMS:
        problems.append(
            JsonProblem(reason, pointer=_SURROGATE_PATTERN.sub("\ufffd", format_pointer(place)))
        )


def _format_member_name(name: str) -> str:
    return repr(_SURROGATE_PATTERN.sub("\ufffd", name[:40]))


def _find_too_deep(data: bytes, limit: int) -> int | None:
    """Give the offset at which nesting passes the limit, without reading any value."""
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


def _skip_space(text: str, position: int) -> int:
    match = _SPACE_PATTERN.match(text, position)
    return match.end() if match else position


def _get_byte_offset(text: str, position: int) -> int:
    return len(text[:position].encode())

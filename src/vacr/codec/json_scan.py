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

from vacr.codec import numbers
from vacr.codec.pointers import Place, pointer

MOST = 8
"""How many problems of a text are named."""

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Problem:
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
class Scan:
    """What could be read of a text: the values, where the second starts, the bytes after the last
    one, the problems.
    """

    values: list[Any] = field(default_factory=list)
    second: int = 0
    rest: bytes = b""
    problems: list[Problem] = field(default_factory=list)


class _OutOfRange(str):
    """The text of a number that no float can hold."""

    __slots__ = ()


@dataclass
class _Hooks:
    repeated: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated.append(
                (members, sorted(name for name, count in counts.items() if count > 1))
            )
        return members


def _integer(text: str) -> Any:
    """Read an integer, unless it has more digits than the interpreter converts."""
    try:
        return int(text)
    except ValueError:
        return _OutOfRange(text)


def _fraction(text: str) -> Any:
    try:
        return numbers.number(text)
    except ValueError:
        return _OutOfRange(text)


def scan(data: bytes, max_depth: int) -> Scan:
    """Read all the JSON values of a text, one after another, with the problems they have."""
    result = Scan()
    deep = _too_deep_at(data, max_depth)
    if deep is not None:
        result.rest = data
        result.problems.append(Problem(f"nested deeper than {max_depth} levels", offset=deep))
        return result
    text = _text(data, result)
    hooks = _Hooks()
    _read_all(text, hooks, result)
    repeated = {id(members): names for members, names in hooks.repeated}
    result.values = [_mend(value, None, repeated, result.problems) for value in result.values]
    return result


def _text(data: bytes, result: Scan) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        result.problems.append(
            Problem(f"byte 0x{data[error.start]:02x} is not UTF-8", offset=error.start)
        )
        return data.decode(errors="replace")


def _read_all(text: str, hooks: _Hooks, result: Scan) -> None:
    """Read value after value, until the end or what cannot be read."""
    strict, lenient = (
        json.JSONDecoder(
            object_pairs_hook=hooks.pairs,
            parse_int=_integer,
            parse_float=_fraction,
            parse_constant=_OutOfRange,
            strict=strict,
        )
        for strict in (True, False)
    )
    decoder = strict
    position = _space_end(text, 0)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if decoder is strict and error.msg.startswith("Invalid control character"):
                # From here on such characters are read; trying strictly first each time would cost
                # the square.
                result.problems.append(
                    Problem("control character in a string", offset=_offset(text, error.pos))
                )
                decoder = lenient
                continue
            result.problems.append(
                Problem("not JSON", offset=_offset(text, error.pos), detail=error.msg)
            )
            result.rest = text[position:].encode()
            return
        except (RecursionError, ValueError) as error:
            result.problems.append(
                Problem("not JSON", offset=_offset(text, position), detail=str(error))
            )
            result.rest = text[position:].encode()
            return
        result.values.append(value)
        if len(result.values) == 2:  # noqa: PLR2004 - where a second value begins, of which strict decoding tells
            result.second = _offset(text, position)
        position = _space_end(text, end)


def _mend(value: Any, place: Place, repeated: dict[int, list[str]], problems: list[Problem]) -> Any:
    """Replace what a record cannot hold by text that can be shown, naming the first such places."""
    # Loops, not comprehensions, which would take a second stack frame for each level.
    if isinstance(value, dict):
        for name in repeated.get(id(value), ()):
            _note(problems, f"member {_shown(name)} occurs more than once", place)
        members = {}
        for key, item in value.items():
            name = _mend(key, place, repeated, problems)
            members[name] = _mend(item, (place, name), repeated, problems)
        return members
    if isinstance(value, list):
        items = []
        for index, item in enumerate(value):
            items.append(_mend(item, (place, index), repeated, problems))
        return items
    if isinstance(value, _OutOfRange):
        _note(problems, f"number out of range: {value[:40]}", place)
        return str(value)
    if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
        _note(problems, "lone surrogate in a string", place)
        return _SURROGATE.sub("\ufffd", value)
    return value


def _note(problems: list[Problem], reason: str, place: Place) -> None:
    """Name a problem; when there are many, the first tell enough: each names its place, which may
    be long.
    """
    if len(problems) < MOST:
        problems.append(Problem(reason, pointer=_SURROGATE.sub("\ufffd", pointer(place))))


def _shown(name: str) -> str:
    return repr(_SURROGATE.sub("\ufffd", name[:40]))


def _too_deep_at(data: bytes, limit: int) -> int | None:
    """Give the offset at which nesting passes the limit, without reading any value."""
    if data.count(b"{") + data.count(b"[") <= limit:
        return None
    level = position = 0
    for string in _STRING.finditer(data):
        for bracket in _BRACKET.finditer(data, position, string.start()):
            level += 1 if bracket[0] in b"[{" else -1
            if level > limit:
                return bracket.start()
        position = string.end()
    for bracket in _BRACKET.finditer(data, position):
        level += 1 if bracket[0] in b"[{" else -1
        if level > limit:
            return bracket.start()
    return None


def _space_end(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _offset(text: str, position: int) -> int:
    return len(text[:position].encode())

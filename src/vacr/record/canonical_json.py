"""Canonical JSON. Step: encode. A profile of RFC 8785 in which integers past 2^53 are exact instead
of refused.

Decoding is strict: a repeated member, text after the value, a number out of range, a lone
surrogate, a byte that is not UTF-8 or too deep a nesting is refused with its place. Nothing here
repairs: that is for the readers of native files.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Any

import msgspec

from vacr.errors import InvalidRecord, UnreadableInput
from vacr.record.json_scan import JsonProblem, scan_json
from vacr.record.json_text import (
    MAX_DEPTH,
    SpelledFloat,
    ValuePath,
    canonicalize_number,
    encode_native_json,
    encode_sorted_json,
    format_pointer,
    is_deeper_than,
    parse_json_number,
)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_json_decoder = msgspec.json.Decoder(float_hook=parse_json_number)
_ASTRAL_LEAD_BYTES = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_STRING_END_PATTERN = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BACKSLASH = ord("\\")
_MEMBER_NAME_END = re.compile(rb'(?<!\\)(?:\\\\)*+":')
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_PLAIN_TYPES = frozenset((str, int, bool, type(None)))


def encode_canonical_json(value: Any) -> bytes:
    """Write a value as canonical JSON.

    Raises:
        InvalidRecord: it holds what JSON cannot: bytes, tags, keys that are not text, lone
            surrogates, not-a-number.
    """
    if _is_directly_encodable(value):
        with suppress(InvalidRecord):
            return encode_decoded_json(value)
    return encode_decoded_json(_make_encodable(value, None, 0))


def encode_decoded_json(value: Any) -> bytes:
    """Write a value whose numbers and keys came from `decode`, which saves looking at each of them.

    Raises:
        InvalidRecord: the value cannot be written as JSON.
    """
    try:
        data = encode_sorted_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"cannot be written as JSON: {error}") from error
    if _has_astral_key(data) and not _has_same_key_order(value):
        return encode_sorted_json(_sort_keys_by_utf16(value))
    return data


def decode_json(data: bytes) -> Any:
    """Read one JSON value, strictly.

    Raises:
        UnreadableInput: the bytes are not one JSON value, or hold something that decoders disagree
            about.
    """
    try:
        value = _json_decoder.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        value = None
    else:
        if has_every_member(value, data) and not is_deeper_than(MAX_DEPTH, value, data):
            return value
    if data.startswith(BYTE_ORDER_MARK):
        raise UnreadableInput("a byte order mark before the value", where="line 1, column 1")
    scanned = scan_json(data, MAX_DEPTH)
    problems = scanned.problems
    if not problems and len(scanned.values) != 1:
        reason = "more text after the value" if scanned.values else "no JSON value"
        problems = [JsonProblem(reason, offset=scanned.second)]
    for problem in problems:
        detail = f": {problem.detail}" if problem.detail else ""
        raise UnreadableInput(f"{problem.reason}{detail}", where=problem.place(data))
    return scanned.values[0]


def has_every_member(value: Any, data: bytes) -> bool:
    """Tell whether a decoded value surely holds every member of the text it came from, none of them
    repeated.

    Equal bytes after encoding again prove it, white space apart; so do equal counts of members, for
    a member that was lost is one less.
    """
    again = encode_native_json(value)
    if again == data:
        return True
    compact = msgspec.json.format(data, indent=-1)
    if again == compact:
        return True
    # A colon that is spelled by its number could make up for a member that was lost.
    return _ESCAPED_COLON.search(compact) is None and _count_member_names(
        compact
    ) == _count_member_names(again)


def _count_member_names(compact: bytes) -> int:
    """Count the quotes before a colon that are not escaped: the ends of names, and texts that begin
    with a colon.
    """
    if b'\\\\":' in compact:
        return len(_MEMBER_NAME_END.findall(compact))
    return compact.count(b'":') - compact.count(b'\\":')


def _is_directly_encodable(value: Any) -> bool:
    """Tell whether a value can be written as it is: only text keys, no float that the encoder would
    spell otherwise.
    """
    level, depth = [value], 0
    while level:
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                if any([type(key) is not str for key in item]):  # noqa: C419 - faster than a generator
                    return False
                inner += [one for one in item.values() if type(one) not in _PLAIN_TYPES]
            elif kind is list:
                inner += [one for one in item if type(one) not in _PLAIN_TYPES]
            elif kind not in _PLAIN_TYPES and kind is not SpelledFloat:
                return False
        level, depth = inner, depth + 1
        if depth > MAX_DEPTH:
            return False
    return True


def _make_encodable(value: Any, place: ValuePath, depth: int) -> Any:
    """Copy a value with canonical numbers, refusing what JSON cannot say.

    Raises:
        InvalidRecord: with the pointer of what cannot be said.
    """
    kind = type(value)
    if kind in _PLAIN_TYPES:
        return _check_utf8_text(value, place) if kind is str else value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRecord(
                f"{value} has no canonical form",
                where=format_pointer(place) or "/",
                hint="Only finite numbers can be in a record.",
            )
        return canonicalize_number(value)
    if depth >= MAX_DEPTH:
        raise InvalidRecord(
            f"nested deeper than {MAX_DEPTH} levels", where=format_pointer(place) or "/"
        )
    # Loops, not comprehensions, which would take a second stack frame for each level.
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
        f"{kind.__name__} cannot be written as JSON", where=format_pointer(place) or "/"
    )


def _check_utf8_text(text: str, place: ValuePath) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidRecord(
                "a lone surrogate cannot be written as UTF-8",
                where=_replace_surrogates(format_pointer(place)) or "/",
            ) from error
    return text


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _has_astral_key(data: bytes) -> bool:
    """Tell whether a key has a character past U+FFFF: only then can UTF-16 order differ from code
    point order.
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
    """Give where the string has ended that a position in encoded text is in."""
    end = data.find(b'"', position)
    while data[end - 1] == _BACKSLASH:
        if data[end - 2] == _BACKSLASH:
            # Whether the quote is escaped depends on how many there are.
            return _STRING_END_PATTERN.match(data, position).end()  # type: ignore[union-attr]
        end = data.find(b'"', end + 1)
    return end + 1


def _has_same_key_order(value: Any) -> bool:
    """Tell whether the keys of all maps sort alike by code point and by UTF-16 unit."""
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
    return text.encode("utf-16-be")


def _sort_keys_by_utf16(value: Any) -> Any:
    """Give a copy that encodes in UTF-16 order: each map becomes a Raw of its canonical text."""
    # Loops, not comprehensions, which would take a second stack frame for each level.
    if isinstance(value, dict):
        members = []
        for key in sorted(value, key=_encode_utf16):
            members.append(
                msgspec.json.encode(key)
                + b":"
                + encode_sorted_json(_sort_keys_by_utf16(value[key]))
            )
        return msgspec.Raw(b"{" + b",".join(members) + b"}")
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(_sort_keys_by_utf16(item))
        return items
    return value

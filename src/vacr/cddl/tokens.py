"""The text of a schema, cut into tokens, and the error that names a place in it.

The parser needs numbers, strings and operators instead of characters, each with its offset, so that
every message can name a line and a column:

    >>> from vacr.cddl.tokens import CddlSource
    >>> source = CddlSource('age = 0x10 / "n/a"', "person.cddl")
    >>> [(token.kind, token.value) for token in source.tokenize()][2:5]
    [('number', 16), ('mark', None), ('text', 'n/a')]
    >>> source.locate(13)
    'person.cddl:1:14'

The lexical rules come from RFC 8610 Appendix B, with the strings of RFC 9682 section 2. This lexer
is more lenient in two ways: a tab counts as a space, and the last comment needs no line end.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

Scalar: TypeAlias = int | float | str | bytes
# The value of an occurrence (`2*3`) or of a major type with its argument (`#6.24`).
NumberPair: TypeAlias = tuple[int | None, int | None]

_MAX_NUMBER_LENGTH = 1000
_UINT_PATTERN = r"0[xX][0-9A-Fa-f]+|0[bB][01]+|0|[1-9][0-9]*"
_NAME_PATTERN = r"[A-Za-z@_$](?:[-.]*[A-Za-z0-9@_$])*"
# Longest forms first: an occurrence before a number, an assignment before the slash it starts with.
_TOKEN_PATTERN = re.compile(
    rf"""
      (?P<space>(?:[ \t\r\n]|;[^\n]*)+)
    | (?P<occurrence>(?P<least>{_UINT_PATTERN})?\*(?P<most>{_UINT_PATTERN})?|[+?])
    | (?P<number>-?(?:0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+)?[pP][+-]?[0-9]+
        |(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)))
    | (?P<bytes>(?P<encoding>h|b64)?'(?P<raw>(?:[^'\\]|\\.)*)')
    | (?P<text>"(?P<inner>(?:[^"\\\n\r]|\\.)*)")
    | (?P<name>{_NAME_PATTERN})
    | (?P<control>\.(?P<operator>{_NAME_PATTERN}))
    | (?P<major>\#(?:(?P<type>[0-9])(?:\.(?:(?P<argument>{_UINT_PATTERN})|(?=<)))?)?)
    | (?P<mark>//=|/=|//|/|=>|=|\.\.\.|\.\.|[:^,~&(){{}}\[\]<>])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE_PATTERN = re.compile(
    r"\\(?:(?P<one>[\"'/\\bfnrt])|u\{(?P<braced>[0-9A-Fa-f]+)\}"
    r"|u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    r"|u(?P<four>[0-9A-Fa-f]{4})|(?P<bad>.))",
    re.DOTALL,
)
_SINGLE_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE_SCALARS = (range(0xD800), range(0xE000, 0x110000))


class CddlError(Exception):
    """Raised when a schema cannot be compiled or used."""

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        """Store the message, its place (`name:line:column`) and a hint; both may be empty."""
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        """Return `place: message`, or the message alone when the place is empty."""
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text, from offset `start` up to `end`."""

    kind: str
    """A group of `_TOKEN_PATTERN`, such as `name`, `number` or `mark`; or `end`."""
    text: str
    """The characters, without the dot of a control operator."""
    value: Scalar | NumberPair | None
    """The number, string, occurrence or major type, or None in other kinds."""
    start: int
    end: int


class CddlSource:
    """A CDDL text, and the name that messages use for it, such as a file name."""

    def __init__(self, text: str, name: str) -> None:
        """Keep a CDDL text, and its name for error messages."""
        self.text = text
        self.name = name

    def locate(self, at: int) -> str:
        """Return `name:line:column` of an offset; lines and columns count from 1."""
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return f"{self.name}:{line}:{column}"

    def fail(self, message: str, at: int, hint: str = "") -> NoReturn:
        """Raise an error about the place at this offset.

        Raises:
            CddlError: always.

        """
        raise CddlError(message, where=self.locate(at), hint=hint)

    def tokenize(self) -> list[Token]:
        """Cut the text into tokens, without spaces and comments; the last has the kind `end`.

        Raises:
            CddlError: when a character starts no token, or a string or number is malformed.

        """
        tokens: list[Token] = []
        at = 0
        while at < len(self.text):
            match = _TOKEN_PATTERN.match(self.text, at)
            if match is None:
                self._fail_at_character(at)
            if match.lastgroup != "space":
                tokens.append(self._build_token(match))
            at = match.end()
        tokens.append(Token("end", "end of text", None, at, at))
        return tokens

    def _fail_at_character(self, at: int) -> NoReturn:
        """Raise an error about the character at this offset, which starts no token."""
        character = self.text[at]
        hint = "Close the string with the same quote." if character in "\"'" else ""
        self.fail(f"unexpected character {character!r}", at, hint)

    def _build_token(self, match: re.Match[str]) -> Token:
        """Return the token of a match of `_TOKEN_PATTERN`, with its value parsed."""
        kind = match.lastgroup or ""
        text = match.group()
        at = match.start()
        value: Scalar | NumberPair | None = None
        if kind == "number":
            value = self._parse_number(text, at)
        elif kind == "text":
            value = self._replace_escapes(match["inner"], at)
        elif kind == "bytes":
            value = self._parse_bytes(match["encoding"], match["raw"], at)
        elif kind == "occurrence":
            value = self._parse_occurrence(match, at)
        elif kind == "control":
            text = match["operator"]
        elif kind == "major":
            value = self._parse_major(match, at)
        return Token(kind, text, value, at, match.end())

    def _parse_number(self, text: str, at: int) -> int | float:
        """Parse an integer or a floating-point number (RFC 8610 section 3.8 and Appendix B).

        `at` is the offset of the number, for messages.

        Raises:
            CddlError: the number is too large, or has too many digits.
        """
        digits = text.removeprefix("-").lower()
        sign = -1 if text.startswith("-") else 1
        is_based = digits.startswith(("0x", "0b"))
        if (is_based and "p" in digits) or (not is_based and ("." in digits or "e" in digits)):
            try:
                number = sign * (float.fromhex(digits) if is_based else float(digits))
            except (OverflowError, ValueError):
                number = math.inf
            if math.isinf(number):
                self.fail("this floating-point number is out of range", at)
            return number
        return sign * self._parse_uint(digits, at)

    def _parse_uint(self, text: str, at: int) -> int:
        """Parse an unsigned integer in base 2, 10 or 16; `at` is its offset, for messages.

        Raises:
            CddlError: the number has too many digits.
        """
        if len(text) > _MAX_NUMBER_LENGTH:
            self.fail(f"this number has more than {_MAX_NUMBER_LENGTH} digits", at)
        return int(text, 0)

    def _parse_occurrence(self, match: re.Match[str], at: int) -> tuple[int, int | None]:
        """Parse `?`, `*`, `+` or `n*m` into the least and the most count (None: without limit).

        Raises:
            CddlError: the least count is above the most, or a number has too many digits.
        """
        if match["occurrence"] == "?":
            return (0, 1)
        if match["occurrence"] == "+":
            return (1, None)
        least = self._parse_uint(match["least"], at) if match["least"] else 0
        most = self._parse_uint(match["most"], at) if match["most"] else None
        if most is not None and most < least:
            self.fail(f"the occurrence {least}*{most} has a minimum above its maximum", at)
        return (least, most)

    def _parse_major(self, match: re.Match[str], at: int) -> NumberPair:
        """Parse `#`, `#6` or `#6.24` into major type and argument; a missing one is None."""
        major = int(match["type"]) if match["type"] else None
        argument = self._parse_uint(match["argument"], at) if match["argument"] else None
        return major, argument

    def _parse_bytes(self, encoding: str | None, raw: str, at: int) -> bytes:
        """Return the bytes of '…', h'…' or b64'…' (RFC 8610 section 3.1).

        `encoding` is None, `h` or `b64`, and `raw` is the text between the quotes.

        Raises:
            CddlError: an escape, the hexadecimal digits or the base64 are malformed.
        """
        text = self._replace_escapes(raw, at).replace("\r\n", "\n")
        if encoding is None:
            return text.encode("utf-8", "surrogatepass")
        digits = re.sub(r"[ \t\r\n]+", "", text)
        try:
            if encoding == "h":
                return bytes.fromhex(digits)
            # Both alphabets of base64 are allowed, with or without padding.
            unpadded = digits.rstrip("=").replace("-", "+").replace("_", "/")
            padding = "=" * (-len(unpadded) % 4)
            return base64.b64decode(unpadded + padding, validate=True)
        except (ValueError, binascii.Error):
            hint = "h'…' takes pairs of hexadecimal digits, b64'…' takes base64."
            self.fail(f"malformed byte string {encoding}'…'", at, hint)

    def _replace_escapes(self, text: str, at: int) -> str:
        r"""Return a string with escapes such as `\n` and `\u{41}` replaced (RFC 9682 section 2.1).

        `at` is the offset of the string, for messages.

        Raises:
            CddlError: an escape is not one of CDDL's.
        """
        if "\\" not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            """Return the character that one escape stands for.

            Raises:
                CddlError: it is not an escape of CDDL.
            """
            if match["one"]:
                return _SINGLE_ESCAPES.get(match["one"], match["one"])
            if match["high"]:
                high, low = int(match["high"], 16), int(match["low"], 16)
                return chr(0x10000 + ((high & 0x3FF) << 10 | low & 0x3FF))
            digits = (match["braced"] or match["four"] or "").lstrip("0") or "0"
            scalar = int(digits, 16) if len(digits) <= len("10ffff") else -1
            if match["bad"] or not any(scalar in block for block in _UNICODE_SCALARS):
                self.fail(f"{match.group()[:12]!r} is not an escape sequence of CDDL", at)
            return chr(scalar)

        return _ESCAPE_PATTERN.sub(replace, text)

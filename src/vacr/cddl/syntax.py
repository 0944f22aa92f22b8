"""The nodes a CDDL text is parsed into. Step: validate.

One class a production of RFC 8610 Appendix B (as updated by RFC 9682). Names are not resolved here
and nothing is checked but the grammar: that is the work of `names`. `at` is the offset in the text,
for messages; two nodes that differ only in it are equal, which is how a repeated definition is told
from a contradicting one.

Cut a CDDL text into tokens. Step: validate.

Follows the lexical rules of RFC 8610 Appendix B with the strings of RFC 9682 section 2. More
lenient than they are in two ways: a tab counts as a space, and the last comment needs no line end.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from vacr.errors import InvalidSchema

Scalar: TypeAlias = int | float | str | bytes


@dataclass(frozen=True, slots=True)
class LiteralSyntax:
    """A number, text string or byte string."""

    value: Scalar
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class NameSyntax:
    """A reference to a rule or a generic parameter, with its arguments."""

    name: str
    arguments: tuple[TypeSyntax, ...]
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class ChoiceSyntax:
    """Alternative types: `a / b`."""

    alternatives: tuple[TypeSyntax, ...]
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class RangeSyntax:
    """A range of numbers: `0..9`, or `0...10` without its upper end."""

    low: TypeSyntax
    high: TypeSyntax
    inclusive: bool
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class ControlSyntax:
    """A control operator: `tstr .size 3`."""

    operator: str
    target: TypeSyntax
    controller: TypeSyntax
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class MapSyntax:
    """A map: `{ … }`."""

    group: GroupSyntax
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class ArraySyntax:
    """An array: `[ … ]`."""

    group: GroupSyntax
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class UnwrapSyntax:
    """What is inside a map, an array or a tag: `~name`."""

    name: NameSyntax
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class EnumerationSyntax:
    """A choice of the values of a group: `&(a: 1, b: 2)`."""

    group: GroupSyntax | NameSyntax
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class MajorSyntax:
    """A major type with its argument: `#`, `#1`, `#7.25`, `#6.32(tstr)`, `#6.<type>(any)`."""

    major: int | None
    argument: int | TypeSyntax | None
    content: TypeSyntax | None
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class KeySyntax:
    """What stands before `:` or `=>`; `cut` when a matching key binds (RFC 8610 section 3.5.4)."""

    type: TypeSyntax
    cut: bool


@dataclass(frozen=True, slots=True)
class GroupEntrySyntax:
    """One entry of a group, repeated `least` to `most` times (`most` None: without end)."""

    least: int
    most: int | None
    key: KeySyntax | None
    value: TypeSyntax | GroupSyntax
    at: int = field(compare=False)

    @property
    def plain(self) -> bool:
        """Tell whether nothing is said but the value."""
        return self.least == 1 and self.most == 1 and self.key is None


@dataclass(frozen=True, slots=True)
class GroupSyntax:
    """Alternative sequences of entries: `a: int, b: tstr // c: bool`."""

    alternatives: tuple[tuple[GroupEntrySyntax, ...], ...]
    at: int = field(compare=False)


TypeSyntax: TypeAlias = (
    LiteralSyntax
    | NameSyntax
    | ChoiceSyntax
    | RangeSyntax
    | ControlSyntax
    | MapSyntax
    | ArraySyntax
    | UnwrapSyntax
    | EnumerationSyntax
    | MajorSyntax
)


@dataclass(frozen=True, slots=True)
class RuleSyntax:
    """One definition; `operator` is `=`, `/=` or `//=`."""

    name: str
    parameters: tuple[str, ...]
    operator: str
    body: GroupEntrySyntax
    at: int = field(compare=False)


if TYPE_CHECKING:
    pass

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
_MAX_NUMBER_LENGTH = 1000
_UNICODE_SCALARS = (range(0xD800), range(0xE000, 0x110000))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: its kind, what it says, and where it stands."""

    kind: str
    text: str
    value: Scalar | tuple[int | None, int | None] | None
    start: int
    end: int


class CddlSource:
    """A CDDL text with its name, able to say where an offset is."""

    def __init__(self, text: str, name: str) -> None:
        """Keep the text."""
        self.text = text
        self.name = name

    def where(self, at: int) -> str:
        """Give `name:line:column` of an offset."""
        line = self.text.count("\n", 0, at) + 1
        return f"{self.name}:{line}:{at - self.text.rfind(chr(10), 0, at)}"

    def fail(self, message: str, at: int, hint: str = "") -> NoReturn:
        """Refuse the text.

        Raises:
            InvalidSchema: always.

        """
        raise InvalidSchema(message, where=self.where(at), hint=hint)

    def tokens(self) -> list[Token]:
        """Cut the text into tokens, ending with one of kind `end`.

        Raises:
            InvalidSchema: when a character starts no token, or a string or number is malformed.

        """
        found: list[Token] = []
        at = 0
        while at < len(self.text):
            match = _TOKEN_PATTERN.match(self.text, at)
            if match is None:
                self.fail(f"unexpected character {self.text[at]!r}", at, self._hint(at))
            if match.lastgroup != "space":
                found.append(self._token(match))
            at = match.end()
        found.append(Token("end", "end of text", None, at, at))
        return found

    def _hint(self, at: int) -> str:
        """Guess at what the author of an unreadable character meant."""
        return "a string that is opened has to be closed" if self.text[at] in "\"'" else ""

    def _token(self, match: re.Match[str]) -> Token:
        """Make the token of a match, reading its value."""
        kind = match.lastgroup or ""
        text = match.group()
        at = match.start()
        value: Scalar | tuple[int | None, int | None] | None = None
        if kind == "number":
            value = self._number(text, at)
        elif kind == "text":
            value = self._unescape(match["inner"], at)
        elif kind == "bytes":
            value = self._bytes(match["encoding"], match["raw"], at)
        elif kind == "occurrence":
            value = self._occurrence(match, at)
        elif kind == "control":
            text = match["operator"]
        elif kind == "major":
            argument = match["argument"]
            value = (
                int(match["type"]) if match["type"] else None,
                self._uint(argument, at) if argument else None,
            )
        return Token(kind, text, value, at, match.end())

    def _occurrence(self, match: re.Match[str], at: int) -> tuple[int, int | None]:
        """Read `?`, `*`, `+` or `n*m`."""
        if match["occurrence"] == "?":
            return (0, 1)
        if match["occurrence"] == "+":
            return (1, None)
        least = self._uint(match["least"], at) if match["least"] else 0
        most = self._uint(match["most"], at) if match["most"] else None
        if most is not None and most < least:
            self.fail(f"an occurrence of at least {least} and at most {most} is empty", at)
        return (least, most)

    def _uint(self, text: str, at: int) -> int:
        """Read an unsigned integer in any of its three bases."""
        if len(text) > _MAX_NUMBER_LENGTH:
            self.fail("a number of this length is refused", at)
        return int(text, 0)

    def _number(self, text: str, at: int) -> int | float:
        """Read an integer or a floating-point number (RFC 8610 section 3.8 and Appendix B)."""
        body = text.removeprefix("-").lower()
        sign = -1 if text.startswith("-") else 1
        if body.startswith("0x") and "p" in body:
            try:
                return sign * float.fromhex(body)
            except (OverflowError, ValueError):
                self.fail("this floating-point number is out of range", at)
        if not body.startswith(("0x", "0b")) and ("." in body or "e" in body):
            return float(text)
        return sign * self._uint(body, at)

    def _unescape(self, text: str, at: int) -> str:
        """Replace the escapes of a string (RFC 9682 section 2.1)."""
        if "\\" not in text:
            return text

        def character(match: re.Match[str]) -> str:
            if match["one"]:
                return _SINGLE_ESCAPES.get(match["one"], match["one"])
            if match["high"]:
                high, low = int(match["high"], 16), int(match["low"], 16)
                return chr(0x10000 + ((high & 0x3FF) << 10 | low & 0x3FF))
            digits = (match["braced"] or match["four"] or "").lstrip("0") or "0"
            scalar = int(digits, 16) if len(digits) <= len("10ffff") else -1
            if match["bad"] or not any(scalar in block for block in _UNICODE_SCALARS):
                self.fail(f"{match.group()[:12]!r} is not an escape of CDDL", at)
            return chr(scalar)

        return _ESCAPE_PATTERN.sub(character, text)

    def _bytes(self, encoding: str | None, raw: str, at: int) -> bytes:
        """Read a byte string in its plain, h'' or b64'' form (RFC 8610 section 3.1)."""
        text = self._unescape(raw, at).replace("\r\n", "\n")
        if encoding is None:
            return text.encode("utf-8", "surrogatepass")
        digits = "".join(re.sub(r"[ \t\r\n]+", "", text))
        try:
            if encoding == "h":
                return bytes.fromhex(digits)
            plain = digits.rstrip("=").replace("-", "+").replace("_", "/")
            return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        except (ValueError, binascii.Error):
            self.fail(f"this is not a byte string in {encoding}'…' form", at)

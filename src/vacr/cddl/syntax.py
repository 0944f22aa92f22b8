"""The grammar of CDDL: from a text to a syntax tree.

A schema has to be understood piece by piece before its names mean anything. The parser turns the
tokens of a text into one node for each production of RFC 8610 Appendix B, as updated by RFC 9682
(Appendix A there), including empty data models and `#6.<type>(…)`:

    >>> from vacr.cddl.syntax import parse_rules
    >>> from vacr.cddl.tokens import CddlSource
    >>> [rule] = parse_rules(CddlSource("pair = [2*2 int / tstr]", "example"))
    >>> [[entry]] = rule.body.value.group.alternatives
    >>> entry.least, entry.most, [part.name for part in entry.value.alternatives]
    (2, 2, ['int', 'tstr'])

Names are not resolved here, and only the grammar is checked: `names` does the rest. A parenthesis
is parsed as a group and becomes a type where a type is needed, so no text is parsed twice. Nesting
is bounded: a hostile text ends in a message instead of an exhausted stack.

`at` is the offset of a node in the text, for messages. Two nodes that differ only in it are equal,
so a rule may be defined twice in the same words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias, cast

from vacr.cddl.tokens import CddlSource, Scalar, Token
from vacr.cddl.values import LARGEST_UINT, MAJOR_SIMPLE, MAJOR_TAG

MAX_CDDL_NESTING = 50
_LARGEST_MAJOR = 7
_SHOWN_TOKEN_LENGTH = 40


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
    """The content of a map, an array or a tag: `~name`."""

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
    """The key before `:` or `=>`; with `cut`, a matching key binds (RFC 8610 section 3.5.4)."""

    type: TypeSyntax
    cut: bool


@dataclass(frozen=True, slots=True)
class GroupEntrySyntax:
    """One entry of a group, repeated `least` to `most` times (None: without limit)."""

    least: int
    most: int | None
    key: KeySyntax | None
    value: TypeSyntax | GroupSyntax
    at: int = field(compare=False)

    @property
    def is_plain(self) -> bool:
        """Return whether the entry is a value that occurs once and has no key."""
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
    """One definition, such as `name<parameters> = body`; `operator` is `=`, `/=` or `//=`."""

    name: str
    parameters: tuple[str, ...]
    operator: str
    body: GroupEntrySyntax
    at: int = field(compare=False)


def parse_rules(source: CddlSource) -> list[RuleSyntax]:
    """Parse a whole CDDL text into its rules, in order.

    Raises:
        CddlError: when the text is not CDDL.

    """
    return _CddlParser(source).parse_rules()


def parse_type(source: CddlSource) -> TypeSyntax:
    """Parse a text that is one type expression, such as `[* entry]`.

    Raises:
        CddlError: when the text is not a type.

    """
    return _CddlParser(source).parse_only_type()


def unwrap_single_entry(group: GroupSyntax) -> TypeSyntax | GroupSyntax | None:
    """Return the value of a group with a single plain entry, or `None` for any other group.

    Such a group only puts a value in parentheses: `(int)` yields `int`.
    """
    match group.alternatives:
        case [[entry]] if entry.is_plain:
            return entry.value
        case _:
            return None


class _CddlParser:
    """A recursive descent over the tokens of one text."""

    def __init__(self, source: CddlSource) -> None:
        """Cut the text into tokens, and start before the first."""
        self._source = source
        self._tokens = source.tokenize()
        self._next = 0
        self._depth = 0

    def parse_rules(self) -> list[RuleSyntax]:
        """Parse all rules, up to the end of the text.

        Raises:
            CddlError: the text does not consist of rules.
        """
        rules = []
        while self._token.kind != "end":
            rules.append(self._parse_rule())
        return rules

    def parse_only_type(self) -> TypeSyntax:
        """Parse a type.

        Raises:
            CddlError: the text is not a type, or goes on after it.
        """
        parsed = self._require_type(self._parse_type())
        if self._token.kind != "end":
            self._fail(f"expected the end of the type, found {_shorten(self._token)}")
        return parsed

    # The tokens.

    @property
    def _token(self) -> Token:
        """Return the next token without taking it."""
        return self._tokens[self._next]

    def _is_mark(self, mark: str, ahead: int = 0) -> bool:
        """Return whether the next token is this mark; `ahead` looks so many tokens further."""
        index = min(self._next + ahead, len(self._tokens) - 1)
        token = self._tokens[index]
        return token.kind == "mark" and token.text == mark

    def _take(self) -> Token:
        """Return the next token and go past it; the parser never goes past the `end` token."""
        token = self._token
        self._next += token.kind != "end"
        return token

    def _accept(self, mark: str) -> bool:
        """Skip this mark if it is next, and return whether it was."""
        is_next = self._is_mark(mark)
        self._next += is_next
        return is_next

    def _expect(self, mark: str, position: str) -> None:
        """Skip this mark; `position` is for the message, such as "after the key".

        Raises:
            CddlError: another token is next.
        """
        if not self._accept(mark):
            self._fail(f"expected {mark!r} {position}, found {_shorten(self._token)}")

    def _fail(self, message: str, at: int | None = None, hint: str = "") -> NoReturn:
        """Raise a CddlError about the text at an offset, by default at the next token."""
        self._source.fail(message, self._token.start if at is None else at, hint)

    # Rules.

    def _parse_rule(self) -> RuleSyntax:
        """Parse one rule, such as `name = type` or `name<t> /= type`.

        Raises:
            CddlError: the next tokens are not a rule.
        """
        name = self._take()
        if name.kind != "name":
            self._fail(f"expected the name of a rule, found {_shorten(name)}", name.start)
        parameters = self._parse_parameters()
        operator = self._take()
        if operator.kind != "mark" or operator.text not in {"=", "/=", "//="}:
            hint = "A rule is written as: name = type"
            self._fail(f"expected '=', '/=' or '//=' after {name.text!r}", operator.start, hint)
        return RuleSyntax(name.text, parameters, operator.text, self._parse_entry(), name.start)

    def _parse_parameters(self) -> tuple[str, ...]:
        """Parse `<a, b>` after the name of a rule into names; empty when there is no `<`.

        Raises:
            CddlError: a name or the `>` is missing.
        """
        names: list[str] = []
        if self._accept("<"):
            while not names or self._accept(","):
                token = self._take()
                if token.kind != "name":
                    self._fail("expected the name of a generic parameter", token.start)
                names.append(token.text)
            self._expect(">", "after the generic parameters")
        return tuple(names)

    # Groups.

    def _parse_group(self, closing: str) -> GroupSyntax:
        """Parse entries up to and including the closing mark: `)`, `]` or `}`.

        Raises:
            CddlError: the mark is missing, an entry is malformed, or groups nest too deeply.
        """
        at = self._token.start
        self._depth += 1
        if self._depth > MAX_CDDL_NESTING:
            hint = "Name the inner parts as rules."
            self._fail(f"nested deeper than {MAX_CDDL_NESTING} levels", at, hint)
        alternatives: list[tuple[GroupEntrySyntax, ...]] = []
        entries: list[GroupEntrySyntax] = []
        while not self._accept(closing):
            if self._accept("//"):
                alternatives.append(tuple(entries))
                entries = []
            elif self._token.kind == "end":
                self._fail(f"expected {closing!r} to close this group", at)
            else:
                entries.append(self._parse_entry())
                self._accept(",")
        alternatives.append(tuple(entries))
        self._depth -= 1
        return GroupSyntax(tuple(alternatives), at)

    def _parse_entry(self) -> GroupEntrySyntax:
        """Parse one entry of a group: `[occurrence] [key] type`, or a group instead of a type."""
        at = self._token.start
        least, most = 1, cast("int | None", 1)
        if self._token.kind == "occurrence":
            least, most = cast("tuple[int, int | None]", self._take().value)
        key = self._parse_plain_key()
        if key is None:
            # A key of any type looks like a value until the arrow after it.
            first = self._parse_type1()
            if not self._is_mark("=>") and not (self._is_mark("^") and self._is_mark("=>", 1)):
                return GroupEntrySyntax(least, most, None, self._parse_rest_of_choice(first), at)
            cut = self._accept("^")
            self._expect("=>", "after the key")
            key = KeySyntax(self._require_type(first), cut)
        return GroupEntrySyntax(least, most, key, self._require_type(self._parse_type()), at)

    def _parse_plain_key(self) -> KeySyntax | None:
        """Parse `bareword:` or `value:`, which include a cut (RFC 8610 section 3.5.4).

        Return `None`, and skip nothing, when the next tokens are not such a key.
        """
        token = self._token
        if token.kind not in {"name", "number", "text", "bytes"} or not self._is_mark(":", 1):
            return None
        self._next += 2
        value = token.text if token.kind == "name" else cast("Scalar", token.value)
        return KeySyntax(LiteralSyntax(value, token.start), cut=True)

    def _require_type(self, parsed: TypeSyntax | GroupSyntax) -> TypeSyntax:
        """Return a type unchanged, and for a type in parentheses the type inside.

        Raises:
            CddlError: when the argument is any other group.

        """
        while isinstance(parsed, GroupSyntax):
            inner = unwrap_single_entry(parsed)
            if inner is None:
                self._fail("expected a type, found a group", parsed.at)
            parsed = inner
        return parsed

    # Types.

    def _parse_type(self) -> TypeSyntax | GroupSyntax:
        """Parse one type or a choice of types; return a group when parentheses contain one."""
        return self._parse_rest_of_choice(self._parse_type1())

    def _parse_rest_of_choice(self, first: TypeSyntax | GroupSyntax) -> TypeSyntax | GroupSyntax:
        """Return the choice of `first` and the alternatives after it; `first` if no `/` follows."""
        if not self._is_mark("/"):
            return first
        alternatives = [self._require_type(first)]
        while self._accept("/"):
            alternatives.append(self._require_type(self._parse_type1()))
        return ChoiceSyntax(tuple(alternatives), alternatives[0].at)

    def _parse_type1(self) -> TypeSyntax | GroupSyntax:
        """Parse a type and the range or control operator after it, if any (`type1` in RFC 8610)."""
        first = self._parse_type2()
        token = self._token
        if token.kind == "control":
            self._take()
            controller = self._require_type(self._parse_type2())
            return ControlSyntax(token.text, self._require_type(first), controller, token.start)
        if self._accept("..") or self._accept("..."):
            high = self._require_type(self._parse_type2())
            inclusive = token.text == ".."
            return RangeSyntax(self._require_type(first), high, inclusive, token.start)
        return first

    def _parse_type2(self) -> TypeSyntax | GroupSyntax:
        """Parse a type without an operator, or a group in parentheses (`type2` in RFC 8610).

        Raises:
            CddlError: the next token does not begin a type.
        """
        token = self._take()
        match token.kind, token.text:
            case (("number" | "text" | "bytes"), _):
                return LiteralSyntax(cast("Scalar", token.value), token.start)
            case "name", _:
                return self._parse_name(token)
            case "major", _:
                return self._parse_major(token)
            case "mark", "(":
                return self._parse_group(")")
            case "mark", "{":
                return MapSyntax(self._parse_group("}"), token.start)
            case "mark", "[":
                return ArraySyntax(self._parse_group("]"), token.start)
            case "mark", "~":
                return UnwrapSyntax(self._parse_name(self._take()), token.start)
            case "mark", "&":
                in_place = self._accept("(")
                group = self._parse_group(")") if in_place else self._parse_name(self._take())
                return EnumerationSyntax(group, token.start)
            case _:
                return self._fail(f"expected a type, found {_shorten(token)}", token.start)

    def _parse_name(self, token: Token) -> NameSyntax:
        """Return the reference to a name, with the generic arguments (`<int>`) parsed after it.

        `token` was taken already.

        Raises:
            CddlError: the token is not a name, or the arguments are malformed.
        """
        if token.kind != "name":
            self._fail(f"expected a name, found {_shorten(token)}", token.start)
        arguments: list[TypeSyntax] = []
        if self._accept("<"):
            self._depth += 1
            if self._depth > MAX_CDDL_NESTING:
                self._fail(f"nested deeper than {MAX_CDDL_NESTING} levels", token.start)
            while not arguments or self._accept(","):
                arguments.append(self._require_type(self._parse_type1()))
            self._expect(">", "after the generic arguments")
            self._depth -= 1
        return NameSyntax(token.text, tuple(arguments), token.start)

    def _parse_major(self, token: Token) -> TypeSyntax:
        """Return the type of a `#…` token, with what follows it.

        That is the `<type>` after `#6.` or `#7.`, and the `(content)` of a tag, which must follow
        without a space.

        Raises:
            CddlError: the number or a type is malformed, or too large.
        """
        major, number = cast("tuple[int | None, int | None]", token.value)
        if major is not None and major > _LARGEST_MAJOR:
            self._fail(f"no major type {major}: major types are 0 to {_LARGEST_MAJOR}", token.start)
        if number is not None and number > LARGEST_UINT:
            self._fail(f"the number after '#{major}.' does not fit into 64 bits", token.start)
        argument: int | TypeSyntax | None = number
        end = token.end
        if token.text.endswith("."):
            if major not in {MAJOR_TAG, MAJOR_SIMPLE}:
                self._fail("only #6 and #7 take a type as argument", token.start)
            self._expect("<", "before the type of the argument")
            argument = self._require_type(self._parse_type())
            end = self._token.end
            self._expect(">", "after the type of the argument")
        content = None
        # With a space before it, a parenthesis is the next entry and not the content of the tag.
        if major == MAJOR_TAG and self._is_mark("(") and self._token.start == end:
            self._take()
            content = self._require_type(self._parse_group(")"))
        return MajorSyntax(major, argument, content, token.start)


def _shorten(token: Token) -> str:
    """Return the start of a token in quotes, or `end of text` without quotes."""
    return token.text if token.kind == "end" else repr(token.text[:_SHOWN_TOKEN_LENGTH])

"""Parse CDDL into its syntax tree. Step: validate.

Follows the grammar of RFC 8610 Appendix B as updated by RFC 9682 (Appendix A there), including
empty data models and `#6.<type>(…)`. A parenthesis is read as a group and turned into a type where
a type is needed, so no text is read twice. Nesting is bounded, so that a hostile text ends in a
message instead of an exhausted stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

from vacr.cddl.model import LARGEST_UINT
from vacr.cddl.syntax import (
    ArraySyntax,
    ChoiceSyntax,
    ControlSyntax,
    EnumerationSyntax,
    GroupEntrySyntax,
    GroupSyntax,
    KeySyntax,
    LiteralSyntax,
    MajorSyntax,
    MapSyntax,
    NameSyntax,
    RangeSyntax,
    RuleSyntax,
    UnwrapSyntax,
)

if TYPE_CHECKING:
    from vacr.cddl.syntax import (
        CddlSource,
        GroupEntrySyntax,
        GroupSyntax,
        KeySyntax,
        RuleSyntax,
        Scalar,
        Token,
        TypeSyntax,
    )

MAX_CDDL_NESTING = 50
_MAJOR_TAG = 6
_MAJOR_SIMPLE = 7
_LARGEST_MAJOR = 7


def parse_rules(source: CddlSource) -> list[RuleSyntax]:
    """Parse a whole CDDL text into its rules, in order.

    Raises:
        InvalidSchema: when the text is not CDDL.

    """
    return _CddlParser(source).rules()


def parse_type(source: CddlSource) -> TypeSyntax:
    """Parse a text that is one type expression, such as `[* entry]`.

    Raises:
        InvalidSchema: when the text is not a type.

    """
    parser = _CddlParser(source)
    parsed = parser.as_type(parser.type())
    parser.expect_end()
    return parsed


class _CddlParser:
    """A recursive descent over the tokens of one text."""

    def __init__(self, source: CddlSource) -> None:
        """Stand before the first token."""
        self._source = source
        self._tokens = source.tokens()
        self._next = 0
        self._depth = 0

    # --- the tokens
    # ------------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _is(self, mark: str, ahead: int = 0) -> bool:
        """Tell whether the token so far ahead is this mark."""
        index = min(self._next + ahead, len(self._tokens) - 1)
        token = self._tokens[index]
        return token.kind == "mark" and token.text == mark

    def _take(self) -> Token:
        token = self._token
        self._next += token.kind != "end"
        return token

    def _accept(self, mark: str) -> bool:
        """Step over this mark if it is next."""
        found = self._is(mark)
        self._next += found
        return found

    def _expect(self, mark: str, what: str) -> None:
        if not self._accept(mark):
            self._fail(f"expected {mark!r} {what}, found {self._token.text[:40]!r}")

    def expect_end(self) -> None:
        """Refuse anything that is left."""
        if self._token.kind != "end":
            self._fail(f"expected the end, found {self._token.text[:40]!r}")

    def _fail(self, message: str, at: int | None = None, hint: str = "") -> NoReturn:
        self._source.fail(message, self._token.start if at is None else at, hint)

    # --- rules
    # -----------------------------------------------------------------------------------------

    def rules(self) -> list[RuleSyntax]:
        """Read every rule."""
        found = []
        while self._token.kind != "end":
            found.append(self._rule())
        return found

    def _rule(self) -> RuleSyntax:
        start = self._take()
        if start.kind != "name":
            self._fail(f"expected the name of a rule, found {start.text[:40]!r}", start.start)
        parameters = self._parameters()
        operator = self._take()
        if operator.kind != "mark" or operator.text not in {"=", "/=", "//="}:
            hint = "a rule is written as: name = type"
            self._fail(f"expected '=', '/=' or '//=' after {start.text!r}", operator.start, hint)
        return RuleSyntax(start.text, parameters, operator.text, self._entry(), start.start)

    def _parameters(self) -> tuple[str, ...]:
        """Read `<a, b>` after the name that is being defined."""
        names: list[str] = []
        if self._accept("<"):
            while not names or self._accept(","):
                token = self._take()
                if token.kind != "name":
                    self._fail("expected the name of a generic parameter", token.start)
                names.append(token.text)
            self._expect(">", "after the generic parameters")
        return tuple(names)

    # --- groups
    # ----------------------------------------------------------------------------------------

    def _group(self, closing: str) -> GroupSyntax:
        """Read the entries up to the closing mark."""
        at = self._token.start
        self._depth += 1
        if self._depth > MAX_CDDL_NESTING:
            self._fail(
                f"nested deeper than {MAX_CDDL_NESTING} levels", at, "name the inner parts as rules"
            )
        alternatives: list[tuple[GroupEntrySyntax, ...]] = []
        entries: list[GroupEntrySyntax] = []
        while not self._accept(closing):
            if self._accept("//"):
                alternatives.append(tuple(entries))
                entries = []
            elif self._token.kind == "end":
                self._fail(f"expected {closing!r} to close what is opened", at)
            else:
                entries.append(self._entry())
                self._accept(",")
        alternatives.append(tuple(entries))
        self._depth -= 1
        return GroupSyntax(tuple(alternatives), at)

    def _entry(self) -> GroupEntrySyntax:
        """Read one entry: `[occurrence] [key] type`, or a group in its place."""
        at = self._token.start
        least, most = 1, cast("int | None", 1)
        if self._token.kind == "occurrence":
            least, most = cast("tuple[int, int | None]", self._take().value)
        key = self._plain_key()
        if key is None:
            value = self._type1()
            if self._is("=>") or (self._is("^") and self._is("=>", 1)):
                cut = self._accept("^")
                self._expect("=>", "after the key")
                key = KeySyntax(self.as_type(value), cut)
            else:
                return GroupEntrySyntax(least, most, None, self._rest_of_type(value), at)
        return GroupEntrySyntax(least, most, key, self.as_type(self.type()), at)

    def _plain_key(self) -> KeySyntax | None:
        """Read `bareword:` or `value:`, which include a cut (RFC 8610 section 3.5.4)."""
        token = self._token
        if token.kind not in {"name", "number", "text", "bytes"} or not self._is(":", 1):
            return None
        self._next += 2
        value = token.text if token.kind == "name" else cast("Scalar", token.value)
        return KeySyntax(LiteralSyntax(value, token.start), cut=True)

    def as_type(self, parsed: TypeSyntax | GroupSyntax) -> TypeSyntax:
        """Take what was read as a type; a group of one plain entry is the type in parentheses.

        Raises:
            InvalidSchema: when it is a group.

        """
        if not isinstance(parsed, GroupSyntax):
            return parsed
        match parsed.alternatives:
            case [[entry]] if entry.plain:
                return self.as_type(entry.value)
            case _:
                return self._fail("a group stands where a type is needed", parsed.at)

    # --- types
    # -----------------------------------------------------------------------------------------

    def type(self) -> TypeSyntax | GroupSyntax:
        """Read a choice of types; a lone parenthesis may turn out to be a group."""
        return self._rest_of_type(self._type1())

    def _rest_of_type(self, first: TypeSyntax | GroupSyntax) -> TypeSyntax | GroupSyntax:
        """Read the other alternatives of a choice of types."""
        if not self._is("/"):
            return first
        alternatives = [self.as_type(first)]
        while self._accept("/"):
            alternatives.append(self.as_type(self._type1()))
        return ChoiceSyntax(tuple(alternatives), alternatives[0].at)

    def _type1(self) -> TypeSyntax | GroupSyntax:
        """Read a type with its range or control operator."""
        first = self._type2()
        token = self._token
        if token.kind == "control":
            self._take()
            controller = self.as_type(self._type2())
            return ControlSyntax(token.text, self.as_type(first), controller, token.start)
        if self._accept("..") or self._accept("..."):
            high = self.as_type(self._type2())
            return RangeSyntax(self.as_type(first), high, token.text == "..", token.start)
        return first

    def _type2(self) -> TypeSyntax | GroupSyntax:
        token = self._take()
        match token.kind, token.text:
            case (("number" | "text" | "bytes"), _):
                return LiteralSyntax(cast("Scalar", token.value), token.start)
            case "name", _:
                return self._name(token)
            case "major", _:
                return self._major(token)
            case "mark", "(":
                return self._group(")")
            case "mark", "{":
                return MapSyntax(self._group("}"), token.start)
            case "mark", "[":
                return ArraySyntax(self._group("]"), token.start)
            case "mark", "~":
                return UnwrapSyntax(self._name(self._take()), token.start)
            case "mark", "&":
                group = self._group(")") if self._accept("(") else self._name(self._take())
                return EnumerationSyntax(group, token.start)
            case _:
                return self._fail(f"expected a type, found {token.text[:40]!r}", token.start)

    def _name(self, token: Token) -> NameSyntax:
        """Read the generic arguments of a name."""
        if token.kind != "name":
            self._fail(f"expected a name, found {token.text[:40]!r}", token.start)
        arguments: list[TypeSyntax] = []
        if self._accept("<"):
            self._depth += 1
            if self._depth > MAX_CDDL_NESTING:
                self._fail(f"nested deeper than {MAX_CDDL_NESTING} levels", token.start)
            while not arguments or self._accept(","):
                arguments.append(self.as_type(self._type1()))
            self._expect(">", "after the generic arguments")
            self._depth -= 1
        return NameSyntax(token.text, tuple(arguments), token.start)

    def _major(self, token: Token) -> TypeSyntax:
        """Read what follows `#`: an argument that is a type, and the content of a tag."""
        major, argument = cast("tuple[int | None, int | None]", token.value)
        if major is not None and major > _LARGEST_MAJOR:
            self._fail(f"there is no major type {major}", token.start)
        if argument is not None and argument > LARGEST_UINT:
            self._fail(f"the argument of a head is at most {LARGEST_UINT} (64 bits)", token.start)
        head: int | TypeSyntax | None = argument
        end = token.end
        if token.text.endswith("."):
            if major not in {_MAJOR_TAG, _MAJOR_SIMPLE}:
                self._fail("only #6 and #7 take a type as argument", token.start)
            self._expect("<", "before the type of the argument")
            head = self.as_type(self.type())
            end = self._token.end
            self._expect(">", "after the type of the argument")
        content = None
        if major == _MAJOR_TAG and self._is("(") and self._token.start == end:
            self._take()
            content = self.as_type(self._group(")"))
        return MajorSyntax(major, head, content, token.start)

"""What strings hold, decoded once: for `.cbor`, `.cborseq` and the conversions of RFC 9741. Step:
validate.

Answers are remembered by the identity of a value (see `compiler`), so a string that is looked at on
several paths has to give the same decoded value each time; decoded afresh, every level of nesting
would double the work. What is kept is bounded, and is only dropped while nothing inside a string is
being checked: a path that is under way never loses what it will ask for again.

Compile a data model into Python functions that answer yes or no. Step: validate.

Every type becomes an expression over one variable, `x`; maps, arrays, tags and large choices become
functions. The source is made from fixed words, numbers and names of constants: no text of a schema
ever gets into it. A choice between maps looks at a literal member all of them have (`type: "user"`)
and goes straight to the right one. Where the same value could be checked again and again on
different paths (a choice that cannot be told apart), answers are remembered for the run, so that no
schema makes the work grow exponentially.

Saying why a value does not match is the work of `explain`.

Compile arrays. Step: validate.

Follows RFC 8610 sections 2.1.2 and 3.4 and its normative Appendix A: entries are matched in order
as in a parsing expression grammar. An occurrence takes as much as it can and gives nothing back,
the first alternative that matches is taken, so `[* int, int]` matches nothing. Keys are only names
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from vacr.cddl.controls import (
    CONTROL_HELPERS,
    write_control_test,
    write_kind_tests,
    write_literal_tests,
    write_range_test,
)
from vacr.cddl.maps import MAP_HELPERS, define_map, find_discriminator
from vacr.cddl.model import (
    BIGNUM_TAGS,
    LIST_TYPES,
    AnyType,
    ArrayType,
    ControlType,
    GroupItem,
    GroupNode,
    LiteralType,
    MajorType,
    MapType,
    RangeType,
    SimpleType,
    TagType,
    TypeNode,
    all_text,
    as_float,
    as_integer,
    as_map,
    bignum_of,
    fits_float,
    flatten_choice,
    has_odd_keys,
    head_argument,
    is_map,
    is_simple,
    is_undefined,
    resolve_refs,
    simple_number,
    tag_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


_MAX_KEPT_BYTES = 32_000_000
_STRING_OVERHEAD = 200


class DecodedStrings:
    """The strings decoded during a run."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: dict[
            tuple[Callable[[Any], Any], str | bytes], tuple[Any, ValueError | None]
        ] = {}
        self._size = 0
        self._depth = 0

    def forget(self) -> None:
        """Drop everything at the end of a run."""
        if self._known:
            self._known.clear()
            self._size = self._depth = 0

    def decoded(self, value: str | bytes, decode: Callable[[Any], Any]) -> Any:
        """Give what a string holds, the same object each time.

        Raises:
            ValueError: when it does not hold what `decode` reads.

        """
        key = (decode, value)
        hit = self._known.get(key)
        if hit is None:
            if self._size > _MAX_KEPT_BYTES and not self._depth:
                self._known.clear()
                self._size = 0
            try:
                hit = (decode(value), None)
            except ValueError as error:
                hit = (None, error)
            self._known[key] = hit
            self._size += len(value) + _STRING_OVERHEAD
        if hit[1] is not None:
            raise hit[1].with_traceback(None)
        return hit[0]

    def bytes_hold(self, test: Predicate, value: Any, decode: Callable[[bytes], Any]) -> bool:
        """Tell whether bytes decode to something that passes a test (RFC 8610 section 3.8.4)."""
        return isinstance(value, bytes) and self._passes(test, value, decode)

    def text_holds(self, test: Predicate, value: Any, decode: Callable[[str], Any]) -> bool:
        """Tell whether a text decodes to something that passes a test (RFC 9741)."""
        return isinstance(value, str) and self._passes(test, value, decode)

    def _passes(self, test: Predicate, value: str | bytes, decode: Callable[[Any], Any]) -> bool:
        try:
            inner = self.decoded(value, decode)
        except ValueError:
            return False
        self._depth += 1
        try:
            return test(inner)
        finally:
            self._depth -= 1


if TYPE_CHECKING:
    from collections.abc import Callable

Predicate: TypeAlias = "Callable[[Any], bool]"
_MAX_INLINE_LENGTH = 300
_MAX_INLINE_DEPTH = 12


def _match_nothing(_: Any) -> bool:
    return False


def _remember_answers(check: Callable[..., Any], memory: dict[Any, Any]) -> Callable[..., Any]:
    """Wrap a check so that it is made once for each value; the value is kept, so its identity stays
    its own.
    """

    def remembered(value: Any, *at: int) -> Any:
        key = (id(value), *at)
        hit = memory.get(key)
        if hit is None:
            hit = memory[key] = (value, check(value, *at))
        return hit[1]

    return remembered


class CheckProgram:
    """The functions compiled so far, for values of CBOR or (`json`) of JSON."""

    def __init__(self, *, json: bool) -> None:
        """Start with the helpers that generated code calls."""
        self.json = json
        self.names: dict[str, Any] = {
            "LISTS": LIST_TYPES,
            "ABSENT": object(),
            "never": _match_nothing,
        }
        self.held = DecodedStrings()
        for helper in (
            self.held.bytes_hold,
            self.held.text_holds,
            *_VALUE_HELPERS,
            *CONTROL_HELPERS,
            *MAP_HELPERS,
        ):
            self.names[helper.__name__] = helper
        self._functions: dict[int, str] = {}
        self._remembered: dict[int, str] = {}
        self._expressions: dict[tuple[int, bool], str] = {}
        self._kept: list[object] = []
        self._waiting: list[TypeNode | GroupNode] = []
        self._lines: list[str] = []
        self._wrapped: list[tuple[str, str]] = []
        self._tables: list[tuple[dict[str, Any], dict[str, str]]] = []
        self._memories: list[dict[Any, Any]] = []
        self._depth = 0

    # --- for those who run it
    # --------------------------------------------------------------------------

    def predicate(self, node: TypeNode) -> Predicate:
        """Give the function that tells whether a value is of a type; the same one each time.

        Raises:
            InvalidSchema: when the type cannot be compiled.

        """
        name = self.function(node)
        self._finish()
        check: Predicate = self.names[name]
        return check

    def forget(self) -> None:
        """Drop the answers remembered during a run."""
        for memory in self._memories:
            memory.clear()
        self.held.forget()

    def _finish(self) -> None:
        """Write the functions that are still waiting, and turn the source into code."""
        while self._waiting:
            node = self._waiting.pop()
            name = self._functions[id(node)]
            if isinstance(node, GroupNode):
                define_array_group(self, node, name)
            elif isinstance(node, MapType):
                define_map(self, node, name)
            elif isinstance(node, ArrayType):
                define_array(self, node, name)
            elif isinstance(node, TagType):
                self._define_tag(node, name)
            else:
                self.define(
                    name, "x", [f"return {self._choice(flatten_choice(node), spread=False)}"]
                )
        if self._lines:
            code = compile("\n".join(self._lines), "<compiled schema>", "exec")
            exec(code, self.names)  # noqa: S102 - our own source; what comes from a schema is passed as constants
            self._lines.clear()
        for name, inner in self._wrapped:
            memory: dict[Any, Any] = {}
            self._memories.append(memory)
            self.names[name] = _remember_answers(self.names[inner], memory)
        self._wrapped.clear()
        for table, functions in self._tables:
            table.update((text, self.names[function]) for text, function in functions.items())
        self._tables.clear()

    # --- for those who write it
    # ------------------------------------------------------------------------

    def define(self, name: str, arguments: str, body: list[str]) -> None:
        """Add a function to the source."""
        self._lines.append(f"def {name}({arguments}):")
        self._lines.extend(f"    {line}" for line in body)

    def fresh(self, kind: str, kept: object = None) -> str:
        """Make up a name, and keep what it is named after alive: nodes are told apart by
        identity.
        """
        self._kept.append(kept)
        return f"{kind}{len(self._kept)}"

    def constant(self, value: object) -> str:
        """Give a value a name that the source can use."""
        name = self.fresh("k", value)
        self.names[name] = value
        return name

    def function(self, node: TypeNode | GroupNode, *, remember: bool = False) -> str:
        """Name the function of a type or group, to be written later; `remember` its answers where
        asked to.
        """
        if not isinstance(node, GroupNode):
            node = resolve_refs(node)
        key = id(node)
        if key not in self._functions:
            self._functions[key] = self.fresh("f", node)
            self._waiting.append(node)
        if not remember:
            return self._functions[key]
        if key not in self._remembered:
            self._remembered[key] = f"{self._functions[key]}m"
            self._wrapped.append((self._remembered[key], self._functions[key]))
        return self._remembered[key]

    def expression(self, node: TypeNode, *, spread: bool = False) -> str:
        """Write a type as an expression over `x`; `spread` where the same value may be checked on
        several paths.
        """
        node = resolve_refs(node)
        key = (id(node), spread)
        if key not in self._expressions:
            self._kept.append(node)
            self._depth += 1
            text = self._expression(node, spread=spread) if self._depth <= _MAX_INLINE_DEPTH else ""
            self._depth -= 1
            if not text or len(text) > _MAX_INLINE_LENGTH:
                text = f"{self.function(node, remember=spread)}(x)"
            self._expressions[key] = text
        return self._expressions[key]

    def _expression(self, node: TypeNode, *, spread: bool) -> str:
        match node:
            case MapType() | ArrayType() | TagType():
                return f"{self.function(node, remember=spread)}(x)"
            case _:
                return self._choice(flatten_choice(node), spread=spread)

    # --- choices
    # ---------------------------------------------------------------------------------------

    def _choice(self, alternatives: list[TypeNode], *, spread: bool) -> str:
        """Write a choice: plain kinds and literals merged, maps told apart by a literal member, the
        rest in order.
        """
        if any(isinstance(leaf, AnyType) for leaf in alternatives):
            return "True"
        tests = write_kind_tests(
            self, [leaf for leaf in alternatives if isinstance(leaf, MajorType)]
        )
        tests += write_literal_tests(
            self, [leaf.value for leaf in alternatives if isinstance(leaf, LiteralType)]
        )
        inner = [leaf for leaf in alternatives if isinstance(leaf, MapType)]
        if len(inner) > 1:
            tests.append(f"{self._picker(inner, spread=spread)}(x)")
        several = (
            sum(isinstance(leaf, ArrayType | TagType | ControlType) for leaf in alternatives) > 1
        )
        for leaf in alternatives:
            if isinstance(leaf, MajorType | LiteralType) or (
                isinstance(leaf, MapType) and len(inner) > 1
            ):
                continue
            tests.append(self._single(leaf, spread=spread or several))
        if not tests:
            return "False"
        return tests[0] if len(tests) == 1 else f"({' or '.join(tests)})"

    def _single(self, leaf: TypeNode, *, spread: bool) -> str:
        """Write one alternative that is not a plain kind or literal."""
        match leaf:
            case RangeType():
                return write_range_test(self, leaf)
            case ControlType():
                return write_control_test(self, leaf, spread=spread)
            case SimpleType():
                return (
                    "(simple_number(x) is not None and "
                    f"{self.function(leaf.number)}(simple_number(x)))"
                )
            case _:
                return f"{self.function(leaf, remember=spread)}(x)"

    def _picker(self, alternatives: list[MapType], *, spread: bool) -> str:
        """Write the function that picks the map to check by a literal member."""
        name = self.fresh("p")
        found = find_discriminator(alternatives)
        if found is None:
            tests = [f"{self.function(leaf, remember=spread)}(x)" for leaf in alternatives]
            self.define(name, "x", [f"return {' or '.join(tests)}"])
            return self._remember(name)
        key, cases, others = found
        functions = {text: self._either(leaves_) for text, leaves_ in cases.items()}
        table: dict[str, Any] = {}
        self._tables.append((table, functions))
        otherwise = self._either(others)
        body = [
            "if x.__class__ is not dict:",
            "    x = as_map(x)",
            "    if x is None: return False",
            f"t = x.get({self.constant(key)})",
            f"if t.__class__ is not str: return {otherwise}(x)",
            f"return {self.constant(table)}.get(t, {otherwise})(x)",
        ]
        self.define(name, "x", body)
        sure = (
            not spread and len(others) <= 1 and all(len(leaves_) == 1 for leaves_ in cases.values())
        )
        return name if sure else self._remember(name)

    def _remember(self, name: str) -> str:
        self._wrapped.append((f"{name}m", name))
        return f"{name}m"

    def _either(self, alternatives: list[MapType]) -> str:
        """Name a function that tries these maps in order."""
        if not alternatives:
            return "never"
        if len(alternatives) == 1:
            return self.function(alternatives[0])
        name = self.fresh("e")
        self.define(
            name,
            "x",
            [f"return {' or '.join(f'{self.function(leaf)}(x)' for leaf in alternatives)}"],
        )
        return name

    # --- tags
    # ------------------------------------------------------------------------------------------

    def _define_tag(self, node: TagType, name: str) -> None:
        # JSON has no tags, so only what is past 64 bits can have been meant as a bignum there.
        bignum = node.number in BIGNUM_TAGS and not self.json
        content = f"bignum_of(v, {node.number})" if bignum else "tag_of(v)"
        body = [f"t = {content}", "if t is None: return False", "x = t[0]"]
        if isinstance(node.number, int):
            body.append(f"if x != {node.number}: return False")
        elif node.number is not None:
            body.append(f"if not {self.expression(node.number)}: return False")
        self.define(name, "v", [*body, "x = t[1]", f"return {self.expression(node.content)}"])


_VALUE_HELPERS: tuple[Callable[..., Any], ...] = (
    all_text,
    as_float,
    as_integer,
    bignum_of,
    as_map,
    fits_float,
    has_odd_keys,
    head_argument,
    is_map,
    is_simple,
    is_undefined,
    simple_number,
    tag_of,
)


if TYPE_CHECKING:
    pass

_LIST_CHECK = "if not isinstance(v, LISTS): return False"


def define_array(program: CheckProgram, node: ArrayType, name: str) -> None:
    """Write the function of an array."""
    match node.group.alternatives:
        case [[GroupItem(value=value) as only]] if not isinstance(value, GroupNode):
            program.define(name, "v", _write_repeated_array(program, only))
        case [sequence] if all(_occurs_once(item) for item in sequence):
            program.define(name, "v", _write_fixed_array(program, sequence))
        case _:
            group = program.function(node.group)
            program.define(name, "v", [_LIST_CHECK, "n = len(v)", f"return {group}(v, 0, n) == n"])


def _occurs_once(item: GroupItem) -> bool:
    return (item.least, item.most) == (1, 1) and not isinstance(item.value, GroupNode)


def _write_repeated_array(program: CheckProgram, item: GroupItem) -> list[str]:
    """Write `[* type]`, the most frequent form, as one loop."""
    body = [_LIST_CHECK]
    if item.least:
        body.append(f"if len(v) < {item.least}: return False")
    if item.most is not None:
        body.append(f"if len(v) > {item.most}: return False")
    test = _write_item_test(program, item, spread=False)
    if test != "True":
        body += ["for x in v:", f"    if not {test}: return False"]
    return [*body, "return True"]


def _write_fixed_array(program: CheckProgram, sequence: list[GroupItem]) -> list[str]:
    """Write an array of known length."""
    body = [_LIST_CHECK, f"if len(v) != {len(sequence)}: return False"]
    for index, item in enumerate(sequence):
        test = _write_item_test(program, item, spread=False)
        if test != "True":
            body += [f"x = v[{index}]", f"if not {test}: return False"]
    return [*body, "return True"]


def define_array_group(program: CheckProgram, group: GroupNode, name: str) -> None:
    """Write the function that matches a group from position `p` on, giving the position after it,
    or -1.
    """
    if len(group.alternatives) == 1:
        program.define(name, "v, p, n", _write_sequence(program, group.alternatives[0]))
        return
    body: list[str] = []
    for sequence in group.alternatives:
        alternative = program.fresh("g")
        program.define(alternative, "v, p, n", _write_sequence(program, sequence))
        body += [f"q = {alternative}(v, p, n)", "if q >= 0: return q"]
    program.define(name, "v, p, n", [*body, "return -1"])


def _write_sequence(program: CheckProgram, sequence: list[GroupItem]) -> list[str]:
    body: list[str] = []
    for item in sequence:
        body += (
            _write_group_item(program, item)
            if isinstance(item.value, GroupNode)
            else _write_type_item(program, item)
        )
    return [*body, "return p"]


def _write_type_item(program: CheckProgram, item: GroupItem) -> list[str]:
    """Write an entry that is a type: as many elements as fit, up to the most."""
    test = _write_item_test(program, item, spread=True)
    if (item.least, item.most) == (1, 1):
        return ["if p >= n: return -1", "x = v[p]", f"if not {test}: return -1", "p += 1"]
    return [
        "c = 0",
        f"while p < n{_write_count_limit(item)}:",
        "    x = v[p]",
        f"    if not {test}: break",
        "    p += 1",
        "    c += 1",
        *_write_count_check(item),
    ]


def _write_group_item(program: CheckProgram, item: GroupItem) -> list[str]:
    """Write an entry that is a group; one that matched nothing would match nothing for ever, and is
    enough.
    """
    assert isinstance(item.value, GroupNode)  # noqa: S101 - the caller has looked
    group = program.function(item.value, remember=bool(item.value.name))
    if (item.least, item.most) == (1, 1):
        return [f"p = {group}(v, p, n)", "if p < 0: return -1"]
    return [
        "c = 0",
        f"while True{_write_count_limit(item)}:",
        f"    q = {group}(v, p, n)",
        "    if q < 0: break",
        "    if q == p:",
        f"        c = {item.least}",
        "        break",
        "    p = q",
        "    c += 1",
        *_write_count_check(item),
    ]


def _write_count_limit(item: GroupItem) -> str:
    return "" if item.most is None else f" and c < {item.most}"


def _write_count_check(item: GroupItem) -> list[str]:
    return [f"if c < {item.least}: return -1"] if item.least else []


def _write_item_test(program: CheckProgram, item: GroupItem, *, spread: bool) -> str:
    assert not isinstance(item.value, GroupNode)  # noqa: S101 - the caller has looked
    return program.expression(item.value, spread=spread)

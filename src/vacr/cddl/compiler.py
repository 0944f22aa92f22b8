"""The compiler: from the graph of types to Python functions that answer yes or no.

Interpreting a schema for every value would be slow, so each type becomes Python source once: an
expression over one variable `x`, or a function for maps, arrays, tags and large choices:

    >>> from vacr.cddl import compile_cddl
    >>> from vacr.cddl.compiler import CheckProgram
    >>> program = CheckProgram(json=False)
    >>> program.write_expression(compile_cddl("a = 1..6 / tstr").node("a"))
    '(isinstance(x, str) or (x.__class__ is int and 1 <= x <= 6))'

No text of a schema gets into the source: it consists of fixed words, numbers, and names of
constants that are passed along. A choice between maps looks at a literal member they share (`type:
"user"`) and goes straight to the right one. Where the same value could be checked again and again
on different paths, as in a choice of arrays, answers are remembered for the run; no schema makes
the work grow exponentially.

Maps and control operators have modules of their own; `explain` says why a value does not match.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacr.cddl.controls import CONTROL_HELPERS, DecodedStrings, Predicate, write_control_test
from vacr.cddl.maps import MAP_HELPERS, define_map, find_discriminator
from vacr.cddl.type_graph import (
    AnyNode,
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
    flatten_choice,
    get_range_bounds,
    resolve_refs,
)
from vacr.cddl.values import (
    BIGNUM_TAGS,
    LARGEST_UINT,
    LIST_TYPES,
    MAJOR_ARRAY,
    MAJOR_BYTES,
    MAJOR_MAP,
    MAJOR_NINT,
    MAJOR_SIMPLE,
    MAJOR_TEXT,
    MAJOR_UINT,
    SIMPLE_FALSE,
    SIMPLE_FLOAT16,
    SIMPLE_FLOAT32,
    SIMPLE_FLOAT64,
    SIMPLE_NULL,
    SIMPLE_TRUE,
    SIMPLE_UNDEFINED,
    SMALLEST_NINT,
    as_float,
    as_integer,
    as_map,
    fits_float,
    get_bignum,
    get_head_argument,
    get_simple_number,
    get_tag,
    has_ambiguous_keys,
    has_only_text_keys,
    is_map,
    is_simple,
    is_undefined,
)

# Longer or deeper expressions become functions of their own.
_MAX_INLINE_LENGTH = 300
_MAX_INLINE_DEPTH = 12
# More literals of one kind become one look into a set.
_MAX_COMPARED_LITERALS = 2

_VALUE_HELPERS: tuple[Callable[..., Any], ...] = (
    as_float,
    as_integer,
    as_map,
    fits_float,
    get_bignum,
    get_head_argument,
    get_simple_number,
    get_tag,
    has_ambiguous_keys,
    has_only_text_keys,
    is_map,
    is_simple,
    is_undefined,
)
_KIND_TESTS = {
    (MAJOR_BYTES, None): "isinstance(x, bytes)",
    (MAJOR_TEXT, None): "isinstance(x, str)",
    (MAJOR_ARRAY, None): "isinstance(x, LISTS)",
    (MAJOR_MAP, None): "is_map(x)",
    (MAJOR_SIMPLE, None): "is_simple(x)",
    (MAJOR_SIMPLE, SIMPLE_FALSE): "x is False",
    (MAJOR_SIMPLE, SIMPLE_TRUE): "x is True",
    (MAJOR_SIMPLE, SIMPLE_NULL): "x is None",
    (MAJOR_SIMPLE, SIMPLE_UNDEFINED): "is_undefined(x)",
    (MAJOR_SIMPLE, SIMPLE_FLOAT16): "fits_float(x, '<e')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT32): "fits_float(x, '<f')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT64): "isinstance(x, float)",
}
_JSON_KIND_TESTS = _KIND_TESTS | {
    (MAJOR_SIMPLE, None): "(is_simple(x) or x.__class__ is int)",
    (MAJOR_SIMPLE, SIMPLE_FLOAT16): "fits_float(as_float(x), '<e')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT32): "fits_float(as_float(x), '<f')",
    (MAJOR_SIMPLE, SIMPLE_FLOAT64): "isinstance(as_float(x), float)",
}
_LIST_CHECK = "if not isinstance(v, LISTS): return False"


class CheckProgram:
    """The functions compiled so far, for values of CBOR or (`json`) of JSON.

    Names in the source: `k1` is a constant, `f2` checks a type or matches a group, `f2m` does so
    with remembered answers. `p` and `e` choose among maps, `a` is one alternative of a map, `w`
    checks a member against wildcards, and `g` is one alternative of a group in an array.
    """

    def __init__(self, *, json: bool) -> None:
        """Start with the helpers that generated code calls by name, for JSON or else for CBOR."""
        self.json = json
        self.decoded_strings = DecodedStrings()
        self.names: dict[str, Any] = {
            "LISTS": LIST_TYPES,
            "ABSENT": object(),
            "never": _match_nothing,
        }
        for helper in (
            self.decoded_strings.matches_bytes,
            self.decoded_strings.matches_text,
            *_VALUE_HELPERS,
            *CONTROL_HELPERS,
            *MAP_HELPERS,
        ):
            self.names[helper.__name__] = helper
        # JSON has one kind of number: 1.0 is the integer 1 there.
        self.integer_value = "as_integer(x)" if json else "x"
        # Written so far, by the identity of a node; `_kept` keeps these nodes alive.
        self._functions: dict[int, str] = {}
        self._remembered: dict[int, str] = {}
        self._expressions: dict[tuple[int, bool], str] = {}
        self._kept: list[object] = []
        # Work for `_compile_waiting`.
        self._waiting: list[AnyNode] = []
        self._lines: list[str] = []
        self._wrapped: list[tuple[str, str]] = []
        self._tables: list[tuple[dict[str, Any], dict[str, str]]] = []
        self._memories: list[dict[Any, Any]] = []
        self._depth = 0

    # Checking values.

    def compile_predicate(self, node: TypeNode) -> Predicate:
        """Return the function that tests whether a value matches a type, the same one each time.

        Raises:
            CddlError: when the type cannot be compiled.

        """
        name = self.name_function(node)
        self._compile_waiting()
        check: Predicate = self.names[name]
        return check

    def forget(self) -> None:
        """Drop the answers and decoded strings remembered while one value was checked."""
        for memory in self._memories:
            memory.clear()
        self.decoded_strings.forget()

    def _compile_waiting(self) -> None:
        """Write the source of all queued functions, run it, and put the functions into `names`."""
        while self._waiting:
            node = self._waiting.pop()
            self._define_function(node, self._functions[id(node)])
        if self._lines:
            code = compile("\n".join(self._lines), "<compiled schema>", "exec")
            exec(code, self.names)  # noqa: S102 - our own source; a schema only adds constants
            self._lines.clear()
        # Wrappers and tables need the functions themselves, so they come after the code has run.
        for name, inner in self._wrapped:
            memory: dict[Any, Any] = {}
            self._memories.append(memory)
            self.names[name] = _remember_answers(self.names[inner], memory)
        self._wrapped.clear()
        for table, functions in self._tables:
            table.update((text, self.names[function]) for text, function in functions.items())
        self._tables.clear()

    def _define_function(self, node: AnyNode, name: str) -> None:
        """Add the function that checks a type, or matches a group, to the source."""
        if isinstance(node, GroupNode):
            _define_array_group(self, node, name)
        elif isinstance(node, MapType):
            define_map(self, node, name)
        elif isinstance(node, ArrayType):
            _define_array(self, node, name)
        elif isinstance(node, TagType):
            self._define_tag(node, name)
        else:
            test = self._write_choice(flatten_choice(node), repeated=False)
            self.define(name, "x", [f"return {test}"])

    # Writing source.

    def define(self, name: str, arguments: str, body: list[str]) -> None:
        """Add `def name(arguments):` and the lines of its body to the source."""
        self._lines.append(f"def {name}({arguments}):")
        self._lines.extend(f"    {line}" for line in body)

    def make_name(self, prefix: str, kept: object = None) -> str:
        """Return a new name, such as `f7` for the prefix `f`.

        `kept` stays alive, as nodes are distinguished by identity.
        """
        self._kept.append(kept)
        return f"{prefix}{len(self._kept)}"

    def name_constant(self, value: object) -> str:
        """Return a new name that stands for this value in the source."""
        name = self.make_name("k", value)
        self.names[name] = value
        return name

    def name_function(self, node: AnyNode, *, remember: bool = False) -> str:
        """Return the name of the function for a type or group, and queue a function that is new.

        With `remember`, return the name of a wrapper that remembers the answers.
        """
        if not isinstance(node, GroupNode):
            node = resolve_refs(node)
        key = id(node)
        if key not in self._functions:
            self._functions[key] = self.make_name("f", node)
            self._waiting.append(node)
        if not remember:
            return self._functions[key]
        if key not in self._remembered:
            self._remembered[key] = self._remember(self._functions[key])
        return self._remembered[key]

    def _remember(self, name: str) -> str:
        """Queue a wrapper that remembers the answers of a function, and return its name."""
        self._wrapped.append((f"{name}m", name))
        return f"{name}m"

    def write_expression(self, node: TypeNode, *, repeated: bool = False) -> str:
        """Return the source of an expression that tests whether `x` matches a type.

        A long or deep expression becomes a call, such as `f7(x)`. With `repeated`, the same value
        may be checked on several paths, so calls remember their answers.
        """
        node = resolve_refs(node)
        key = (id(node), repeated)
        if key not in self._expressions:
            self._kept.append(node)
            self._depth += 1
            is_inline = self._depth <= _MAX_INLINE_DEPTH
            text = self._write_new_expression(node, repeated=repeated) if is_inline else ""
            self._depth -= 1
            if not text or len(text) > _MAX_INLINE_LENGTH:
                text = f"{self.name_function(node, remember=repeated)}(x)"
            self._expressions[key] = text
        return self._expressions[key]

    def _write_new_expression(self, node: TypeNode, *, repeated: bool) -> str:
        """Return the expression for a type: a call for a map, array or tag, else a choice.

        `repeated` has the same meaning as in `write_expression`.
        """
        if isinstance(node, MapType | ArrayType | TagType):
            return f"{self.name_function(node, remember=repeated)}(x)"
        return self._write_choice(flatten_choice(node), repeated=repeated)

    # Choices.

    def _write_choice(self, leaves: list[TypeNode], *, repeated: bool) -> str:
        """Return the expression that tests whether `x` matches one of these alternatives.

        Kinds and literals come first, merged where possible, then several maps as one call that
        looks at a literal member, then all other alternatives in order. Without any alternative,
        the expression is `False`. `repeated` has the same meaning as in `write_expression`.
        """
        if any(isinstance(leaf, AnyType) for leaf in leaves):
            return "True"
        kinds = [leaf for leaf in leaves if isinstance(leaf, MajorType)]
        literals = [leaf.value for leaf in leaves if isinstance(leaf, LiteralType)]
        maps = [leaf for leaf in leaves if isinstance(leaf, MapType)]
        rest = [leaf for leaf in leaves if not isinstance(leaf, MajorType | LiteralType)]
        tests = _write_kind_tests(self, kinds) + _write_literal_tests(self, literals)
        if len(maps) > 1:
            tests.append(f"{self._define_map_choice(maps, repeated=repeated)}(x)")
            rest = [leaf for leaf in rest if not isinstance(leaf, MapType)]
        nested = sum(isinstance(leaf, ArrayType | TagType | ControlType) for leaf in leaves)
        for leaf in rest:
            tests.append(self._write_alternative(leaf, repeated=repeated or nested > 1))
        if not tests:
            return "False"
        return tests[0] if len(tests) == 1 else f"({' or '.join(tests)})"

    def _write_alternative(self, leaf: TypeNode, *, repeated: bool) -> str:
        """Return the expression for one alternative that is neither a kind nor a literal.

        `repeated` has the same meaning as in `write_expression`.
        """
        match leaf:
            case RangeType():
                return _write_range_test(self, leaf)
            case ControlType():
                return write_control_test(self, leaf, repeated=repeated)
            case SimpleType():
                number = "get_simple_number(x)"
                return f"({number} is not None and {self.name_function(leaf.number)}({number}))"
            case _:
                return f"{self.name_function(leaf, remember=repeated)}(x)"

    def _define_map_choice(self, maps: list[MapType], *, repeated: bool) -> str:
        """Add a function that checks a value against several maps, and return its name.

        The function picks the map by a literal member, such as `type: "user"`; if the maps have no
        such member, it tries them in order. With `repeated`, the function remembers its answers.
        """
        name = self.make_name("p")
        discriminator = find_discriminator(maps)
        if discriminator is None:
            tests = [f"{self.name_function(leaf, remember=repeated)}(x)" for leaf in maps]
            self.define(name, "x", [f"return {' or '.join(tests)}"])
            return self._remember(name)
        key, cases, others = discriminator
        functions = {text: self._define_any_of(candidates) for text, candidates in cases.items()}
        # The table refers to functions that do not exist yet; `_compile_waiting` fills it.
        table: dict[str, Any] = {}
        self._tables.append((table, functions))
        otherwise = self._define_any_of(others)
        body = [
            "if x.__class__ is not dict:",
            "    x = as_map(x)",
            "    if x is None: return False",
            f"t = x.get({self.name_constant(key)})",
            f"if t.__class__ is not str: return {otherwise}(x)",
            f"return {self.name_constant(table)}.get(t, {otherwise})(x)",
        ]
        self.define(name, "x", body)
        one_map_each = len(others) <= 1 and all(len(maps_) == 1 for maps_ in cases.values())
        return name if one_map_each and not repeated else self._remember(name)

    def _define_any_of(self, maps: list[MapType]) -> str:
        """Return the name of a function that tries these maps in order; `never` without maps."""
        if not maps:
            return "never"
        if len(maps) == 1:
            return self.name_function(maps[0])
        name = self.make_name("e")
        tests = [f"{self.name_function(leaf)}(x)" for leaf in maps]
        self.define(name, "x", [f"return {' or '.join(tests)}"])
        return name

    # Tags.

    def _define_tag(self, node: TagType, name: str) -> None:
        """Add the function that checks the number and the content of a tag."""
        # JSON has no tags, so only an integer past 64 bits can stand for a bignum there.
        is_bignum = node.number in BIGNUM_TAGS and not self.json
        tag = f"get_bignum(v, {node.number})" if is_bignum else "get_tag(v)"
        body = [f"t = {tag}", "if t is None: return False", "x = t[0]"]
        if isinstance(node.number, int):
            body.append(f"if x != {node.number}: return False")
        elif node.number is not None:
            body.append(f"if not {self.write_expression(node.number)}: return False")
        self.define(name, "v", [*body, "x = t[1]", f"return {self.write_expression(node.content)}"])


def _match_nothing(_: Any) -> bool:
    """Return False for every value."""
    return False


def _remember_answers(check: Callable[..., Any], memory: dict[Any, Any]) -> Callable[..., Any]:
    """Return a function that calls `check` once for each value and position in an array.

    Later calls return the answer in `memory`, where the identity of a value is the key.
    """

    def remembered(value: Any, *at: int) -> Any:
        """Return the remembered answer, or call `check` and remember its answer."""
        key = (id(value), *at)
        entry = memory.get(key)
        if entry is None:
            # The value is kept alive, so that its identity is not given to another.
            entry = memory[key] = (value, check(value, *at))
        return entry[1]

    return remembered


# Kinds, literals and ranges (RFC 8610 sections 2.2.2.1, 3.1 and 3.6). A bool is never an integer,
# and 1, 1.0 and true are three values. JSON has one kind of number (Appendix E): there an integral
# number is an integer however it is written, and an integer is a floating-point number too, as
# canonical JSON writes 1000.0 as 1000.


def _write_kind_tests(program: CheckProgram, kinds: list[MajorType]) -> list[str]:
    """Return one test for each major type of a choice; a value must pass one of them.

    All integers share one test, which comes first. Both booleans share one, and a test for a
    64-bit float covers the shorter floats.
    """
    wanted = {(kind.major, kind.argument) for kind in kinds}
    low = SMALLEST_NINT if (MAJOR_NINT, None) in wanted else 0
    high = LARGEST_UINT if (MAJOR_UINT, None) in wanted else -1
    tests = [_write_integer_test(program, low, high)] if low <= high else []
    wanted -= {(MAJOR_UINT, None), (MAJOR_NINT, None)}
    if (MAJOR_SIMPLE, SIMPLE_FLOAT64) in wanted:
        wanted -= {(MAJOR_SIMPLE, SIMPLE_FLOAT16), (MAJOR_SIMPLE, SIMPLE_FLOAT32)}
    booleans = {(MAJOR_SIMPLE, SIMPLE_FALSE), (MAJOR_SIMPLE, SIMPLE_TRUE)}
    if booleans <= wanted:
        wanted -= booleans
        tests.append("x.__class__ is bool")
    known = _JSON_KIND_TESTS if program.json else _KIND_TESTS
    for major, argument in sorted(wanted, key=str):
        if (major, argument) in known:
            tests.append(known[major, argument])
        elif major == MAJOR_SIMPLE:
            tests.append(f"get_simple_number(x) == {argument}")
        else:
            tests.append(f"get_head_argument({program.integer_value}, {major}) == {argument}")
    return tests


def _write_integer_test(program: CheckProgram, low: int, high: int) -> str:
    """Return the test for an integer from `low` to `high`.

    In JSON, a float without a fraction counts as an integer (RFC 8610 Appendix E).
    """
    bounds = f"{low} <= x <= {high}"
    test = f"(x.__class__ is int and {bounds})"
    if program.json:
        return f"({test} or x.__class__ is float and x.is_integer() and {bounds})"
    return test


def _write_float_test(program: CheckProgram) -> str:
    """Return the test for a float; in JSON, an integer counts too."""
    if program.json:
        return "(x.__class__ is float or x.__class__ is int)"
    return "x.__class__ is float"


def _write_literal_tests(program: CheckProgram, values: list[Any]) -> list[str]:
    """Return the tests for the literals of a choice.

    Each literal has its own test, but three or more texts, or integers, share one look-up in a set.
    """
    texts = [value for value in values if isinstance(value, str)]
    integers = [value for value in values if isinstance(value, int)]
    others = [value for value in values if not isinstance(value, str | int)]
    tests = [_write_literal_test(program, value) for value in others]
    if len(integers) > _MAX_COMPARED_LITERALS:
        # A set of integers contains an equal float too: right for JSON alone.
        wanted = _write_float_test(program) if program.json else "x.__class__ is int"
        tests.append(f"({wanted} and x in {program.name_constant(frozenset(integers))})")
    else:
        tests += [_write_literal_test(program, number) for number in integers]
    if len(texts) > _MAX_COMPARED_LITERALS:
        tests.append(f"(isinstance(x, str) and x in {program.name_constant(frozenset(texts))})")
    else:
        tests += [_write_literal_test(program, text) for text in texts]
    return tests


def _write_literal_test(program: CheckProgram, value: Any) -> str:
    """Return the test whether `x` is this number, text or byte string."""
    if isinstance(value, int):
        return _write_integer_test(program, value, value)
    if isinstance(value, float):
        return f"({_write_float_test(program)} and x == {program.name_constant(value)})"
    return f"(x == {program.name_constant(value)})"


def _write_range_test(program: CheckProgram, node: RangeType) -> str:
    """Return the test whether `x` is a number in this range."""
    low, high = get_range_bounds(node)
    if isinstance(low, int) and isinstance(high, int):
        return _write_integer_test(program, low, high if node.inclusive else high - 1)
    less = "<=" if node.inclusive else "<"
    bounds = f"{program.name_constant(low)} <= x {less} {program.name_constant(high)}"
    return f"({_write_float_test(program)} and {bounds})"


# Arrays (RFC 8610 sections 2.1.2 and 3.4, and its normative Appendix A). Entries are matched in
# order as in a parsing expression grammar: an occurrence takes as much as it can and gives nothing
# back, and the first alternative that matches is taken, so `[* int, int]` matches nothing. Keys are
# only names here. In the source, `v` is the array, `p` the position reached in it, `n` its length,
# and `c` the number of times an entry has matched.


def _define_array(program: CheckProgram, node: ArrayType, name: str) -> None:
    """Add the function that checks an array, in the simplest form that its group allows."""
    match node.group.alternatives:
        case [[GroupItem(value=value) as only]] if not isinstance(value, GroupNode):
            program.define(name, "v", _write_repeated_array(program, only, value))
        case [sequence] if all(_is_single_element(item) for item in sequence):
            program.define(name, "v", _write_fixed_array(program, sequence))
        case _:
            group = program.name_function(node.group)
            program.define(name, "v", [_LIST_CHECK, "n = len(v)", f"return {group}(v, 0, n) == n"])


def _is_single_element(item: GroupItem) -> bool:
    """Return whether an entry stands for exactly one element: a type that occurs once."""
    return item.occurs_once and not isinstance(item.value, GroupNode)


def _write_repeated_array(program: CheckProgram, item: GroupItem, value: TypeNode) -> list[str]:
    """Return the body for an array of one repeated type, such as `[* type]`: a single loop."""
    body = [_LIST_CHECK]
    if item.least:
        body.append(f"if len(v) < {item.least}: return False")
    if item.most is not None:
        body.append(f"if len(v) > {item.most}: return False")
    test = program.write_expression(value)
    if test != "True":
        body += ["for x in v:", f"    if not {test}: return False"]
    return [*body, "return True"]


def _write_fixed_array(program: CheckProgram, sequence: list[GroupItem]) -> list[str]:
    """Return the body for an array of fixed length, such as `[int, tstr]`."""
    body = [_LIST_CHECK, f"if len(v) != {len(sequence)}: return False"]
    for index, item in enumerate(sequence):
        if not isinstance(item.value, GroupNode):
            test = program.write_expression(item.value)
            if test != "True":
                body += [f"x = v[{index}]", f"if not {test}: return False"]
    return [*body, "return True"]


def _define_array_group(program: CheckProgram, group: GroupNode, name: str) -> None:
    """Add the function that matches a group from position `p` of an array.

    The function returns the position after the group, or -1 if the group does not match.
    """
    if len(group.alternatives) == 1:
        program.define(name, "v, p, n", _write_sequence(program, group.alternatives[0]))
        return
    body: list[str] = []
    for sequence in group.alternatives:
        alternative = program.make_name("g")
        program.define(alternative, "v, p, n", _write_sequence(program, sequence))
        body += [f"q = {alternative}(v, p, n)", "if q >= 0: return q"]
    program.define(name, "v, p, n", [*body, "return -1"])


def _write_sequence(program: CheckProgram, sequence: list[GroupItem]) -> list[str]:
    """Return the body that matches entries one after the other, and returns a position or -1."""
    body: list[str] = []
    for item in sequence:
        if isinstance(item.value, GroupNode):
            body += _write_group_item(program, item, item.value)
        else:
            body += _write_type_item(program, item, item.value)
    return [*body, "return p"]


def _write_type_item(program: CheckProgram, item: GroupItem, value: TypeNode) -> list[str]:
    """Return the lines for an entry that is a type: it takes as many elements as it may."""
    test = program.write_expression(value, repeated=True)
    if item.occurs_once:
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


def _write_group_item(program: CheckProgram, item: GroupItem, group: GroupNode) -> list[str]:
    """Return the lines for an entry that is a group, repeated as often as it matches.

    The loop ends when the group matches without an element: it would do so for ever.
    """
    function = program.name_function(group, remember=bool(group.name))
    if item.occurs_once:
        return [f"p = {function}(v, p, n)", "if p < 0: return -1"]
    return [
        "c = 0",
        f"while True{_write_count_limit(item)}:",
        f"    q = {function}(v, p, n)",
        "    if q < 0: break",
        "    if q == p:",
        f"        c = {item.least}",
        "        break",
        "    p = q",
        "    c += 1",
        *_write_count_check(item),
    ]


def _write_count_limit(item: GroupItem) -> str:
    """Return the condition that keeps a loop below the most repetitions; empty without limit."""
    return "" if item.most is None else f" and c < {item.most}"


def _write_count_check(item: GroupItem) -> list[str]:
    """Return the line that refuses too few repetitions; an optional entry needs no line."""
    return [f"if c < {item.least}: return -1"] if item.least else []

"""Compile a data model into Python functions that answer yes or no. Step: validate.

Every type becomes an expression over one variable, `x`; maps, arrays, tags and large choices become
functions. The source is made from fixed words, numbers and names of constants: no text of a schema
ever gets into it. A choice between maps looks at a literal member all of them have (`type: "user"`)
and goes straight to the right one. Where the same value could be checked again and again on
different paths (a choice that cannot be told apart), answers are remembered for the run, so that no
schema makes the work grow exponentially.

Saying why a value does not match is the work of `explain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from vacr.schema.cddl import arrays, controls, maps, plain, values
from vacr.schema.cddl.held import Held
from vacr.schema.cddl.members import discriminator
from vacr.schema.cddl.model import (
    AnyType,
    ArrayType,
    Between,
    Controlled,
    Exact,
    GroupNode,
    Kind,
    MapType,
    Node,
    SimpleOf,
    Tagged,
    follow,
    leaves,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Predicate: TypeAlias = "Callable[[Any], bool]"
_LONGEST_INLINE = 300
_DEEPEST_INLINE = 12


def _never(_: Any) -> bool:
    return False


def _remembering(check: Callable[..., Any], memory: dict[Any, Any]) -> Callable[..., Any]:
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


class Program:
    """The functions compiled so far, for values of CBOR or (`json`) of JSON."""

    def __init__(self, *, json: bool) -> None:
        """Start with the helpers that generated code calls."""
        self.json = json
        self.names: dict[str, Any] = {"LISTS": values.LISTS, "ABSENT": object(), "never": _never}
        self.held = Held()
        for helper in (
            self.held.bytes_hold,
            self.held.text_holds,
            *_HELPERS,
            *controls.HELPERS,
            *maps.HELPERS,
        ):
            self.names[helper.__name__] = helper
        self._functions: dict[int, str] = {}
        self._remembered: dict[int, str] = {}
        self._expressions: dict[tuple[int, bool], str] = {}
        self._kept: list[object] = []
        self._waiting: list[Node | GroupNode] = []
        self._lines: list[str] = []
        self._wrapped: list[tuple[str, str]] = []
        self._tables: list[tuple[dict[str, Any], dict[str, str]]] = []
        self._memories: list[dict[Any, Any]] = []
        self._depth = 0

    # --- for those who run it
    # --------------------------------------------------------------------------

    def predicate(self, node: Node) -> Predicate:
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
                arrays.define_group(self, node, name)
            elif isinstance(node, MapType):
                maps.define(self, node, name)
            elif isinstance(node, ArrayType):
                arrays.define(self, node, name)
            elif isinstance(node, Tagged):
                self._define_tag(node, name)
            else:
                self.define(name, "x", [f"return {self._choice(leaves(node), spread=False)}"])
        if self._lines:
            code = compile("\n".join(self._lines), "<compiled schema>", "exec")
            exec(code, self.names)  # noqa: S102 - our own source; what comes from a schema is passed as constants
            self._lines.clear()
        for name, inner in self._wrapped:
            memory: dict[Any, Any] = {}
            self._memories.append(memory)
            self.names[name] = _remembering(self.names[inner], memory)
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

    def function(self, node: Node | GroupNode, *, remember: bool = False) -> str:
        """Name the function of a type or group, to be written later; `remember` its answers where
        asked to.
        """
        if not isinstance(node, GroupNode):
            node = follow(node)
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

    def expression(self, node: Node, *, spread: bool = False) -> str:
        """Write a type as an expression over `x`; `spread` where the same value may be checked on
        several paths.
        """
        node = follow(node)
        key = (id(node), spread)
        if key not in self._expressions:
            self._kept.append(node)
            self._depth += 1
            text = self._expression(node, spread=spread) if self._depth <= _DEEPEST_INLINE else ""
            self._depth -= 1
            if not text or len(text) > _LONGEST_INLINE:
                text = f"{self.function(node, remember=spread)}(x)"
            self._expressions[key] = text
        return self._expressions[key]

    def _expression(self, node: Node, *, spread: bool) -> str:
        match node:
            case MapType() | ArrayType() | Tagged():
                return f"{self.function(node, remember=spread)}(x)"
            case _:
                return self._choice(leaves(node), spread=spread)

    # --- choices
    # ---------------------------------------------------------------------------------------

    def _choice(self, alternatives: list[Node], *, spread: bool) -> str:
        """Write a choice: plain kinds and literals merged, maps told apart by a literal member, the
        rest in order.
        """
        if any(isinstance(leaf, AnyType) for leaf in alternatives):
            return "True"
        tests = plain.kinds(self, [leaf for leaf in alternatives if isinstance(leaf, Kind)])
        tests += plain.literals(
            self, [leaf.value for leaf in alternatives if isinstance(leaf, Exact)]
        )
        inner = [leaf for leaf in alternatives if isinstance(leaf, MapType)]
        if len(inner) > 1:
            tests.append(f"{self._picker(inner, spread=spread)}(x)")
        several = (
            sum(isinstance(leaf, ArrayType | Tagged | Controlled) for leaf in alternatives) > 1
        )
        for leaf in alternatives:
            if isinstance(leaf, Kind | Exact) or (isinstance(leaf, MapType) and len(inner) > 1):
                continue
            tests.append(self._single(leaf, spread=spread or several))
        if not tests:
            return "False"
        return tests[0] if len(tests) == 1 else f"({' or '.join(tests)})"

    def _single(self, leaf: Node, *, spread: bool) -> str:
        """Write one alternative that is not a plain kind or literal."""
        match leaf:
            case Between():
                return plain.between(self, leaf)
            case Controlled():
                return controls.expression(self, leaf, spread=spread)
            case SimpleOf():
                return (
                    "(simple_number(x) is not None and "
                    f"{self.function(leaf.number)}(simple_number(x)))"
                )
            case _:
                return f"{self.function(leaf, remember=spread)}(x)"

    def _picker(self, alternatives: list[MapType], *, spread: bool) -> str:
        """Write the function that picks the map to check by a literal member."""
        name = self.fresh("p")
        found = discriminator(alternatives)
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

    def _define_tag(self, node: Tagged, name: str) -> None:
        # JSON has no tags, so only what is past 64 bits can have been meant as a bignum there.
        bignum = node.number in values.BIGNUMS and not self.json
        content = f"bignum_of(v, {node.number})" if bignum else "tag_of(v)"
        body = [f"t = {content}", "if t is None: return False", "x = t[0]"]
        if isinstance(node.number, int):
            body.append(f"if x != {node.number}: return False")
        elif node.number is not None:
            body.append(f"if not {self.expression(node.number)}: return False")
        self.define(name, "v", [*body, "x = t[1]", f"return {self.expression(node.content)}"])


_HELPERS: tuple[Callable[..., Any], ...] = (
    values.all_text,
    values.as_float,
    values.as_integer,
    values.bignum_of,
    values.as_map,
    values.fits_float,
    values.has_odd_keys,
    values.head_argument,
    values.is_map,
    values.is_simple,
    values.is_undefined,
    values.simple_number,
    values.tag_of,
)

"""A compiled schema, and the checkers of its rules.

`compile_cddl` parses and checks the whole text, so a mistake in a schema is found before any value
is looked at. The functions that check values are compiled when a checker is requested, and kept:

    >>> from vacr.cddl import compile_cddl
    >>> schema = compile_cddl("person = {name: tstr, ? age: uint}", name="person.cddl")
    >>> schema.checker().matches({"name": "Ada", "age": 36})
    True
    >>> [finding.text() for finding in schema.checker("[* person]").findings([{}])]
    ['/0: person: missing member "name", expected tstr']
    >>> schema.checker("persons")
    Traceback (most recent call last):
    vacr.cddl.tokens.CddlError: person.cddl, type 'persons':1:1: rule 'persons' is not defined
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import resources
from typing import Any, NoReturn

from vacr.cddl.compiler import CheckProgram
from vacr.cddl.controls import prepare_control
from vacr.cddl.descriptions import SchemaFinding
from vacr.cddl.maps import expand_map_group
from vacr.cddl.names import NameResolver, RuleTable, build_rule_table
from vacr.cddl.syntax import parse_rules, parse_type
from vacr.cddl.tokens import CddlError, CddlSource
from vacr.cddl.type_graph import (
    PRELUDE_FILE,
    AnyNode,
    ControlType,
    MapType,
    RangeType,
    RuleRef,
    TypeNode,
    check_no_endless_rules,
    get_range_bounds,
    list_reachable_nodes,
)
from vacr.cddl.values import WorkLimitError, run_with_larger_stack

_MAX_SCHEMA_LENGTH = 5_000_000
_MAX_EXPANDED_MEMBERS = 200_000
_MAX_RULE_NAME_LENGTH = 60
_MAX_SHOWN_EXPRESSION_LENGTH = 40
_MAX_SHOWN_RULES = 20
_BYTE_ORDER_MARK = "\ufeff"


def compile_cddl(text: str, *, name: str = "<cddl>") -> Schema:
    """Compile a CDDL text into a schema; messages call the text `name`.

    Raises:
        CddlError: when the text is not CDDL, or a rule is undefined or contradicts itself.

    """
    source = CddlSource(text.removeprefix(_BYTE_ORDER_MARK), name)
    if len(text) > _MAX_SCHEMA_LENGTH:
        source.fail(f"the schema has more than {_MAX_SCHEMA_LENGTH} characters", 0)
    try:
        return Schema(source)
    except RecursionError:
        _raise_too_deep(source)


def _raise_too_deep(source: CddlSource) -> NoReturn:
    """Raise a CddlError: the schema is nested too deeply."""
    raise CddlError("the CDDL schema is nested too deeply", where=source.name) from None


class Schema:
    """The rules of one CDDL text."""

    def __init__(self, source: CddlSource) -> None:
        """Parse and check a text; use `compile_cddl`."""
        rules = parse_rules(source)
        self.name = source.name
        self.rules = tuple(dict.fromkeys(rule.name for rule in rules))
        self._source = source
        self._starts = [(rule.at, rule.name) for rule in rules]
        self._table = build_rule_table(source, rules, _load_prelude())
        self._resolver = NameResolver(self._table)
        self._nodes: dict[str, TypeNode] = {}
        self._checkers: dict[tuple[str, bool], Checker] = {}
        self._programs: dict[bool, CheckProgram] = {}
        _check_nodes(self._resolver.resolve_all(self._table))

    @property
    def root(self) -> str:
        """The name of the first rule.

        Raises:
            CddlError: when the schema has no rules.

        """
        if not self.rules:
            raise CddlError("the schema has no rules", where=self.name)
        return self.rules[0]

    def checker(self, rule: str | None = None, *, json: bool = False) -> Checker:
        """Return the checker of a rule, of a type expression (`[* entry]`), or of the first rule.

        With `json` there is one kind of number: an integral one is an integer however it is
        written, and an integer is a floating-point number too.

        Raises:
            CddlError: when there is no such rule, or the expression is not a type.

        """
        name = self.root if rule is None else rule
        key = (name, json)
        if key not in self._checkers:
            node = self.node(rule)
            program = self._get_program(json=json)
            self._checkers[key] = self._guard_depth(lambda: Checker(name, node, program))
        return self._checkers[key]

    def generate(self, rule: str | None = None, *, seed: int, json: bool = True) -> Any:
        """Return a random valid instance of a rule or type expression, by default the first rule.

        The same seed makes the same instance.

        Raises:
            CddlError: when there is no such rule, or it has no finite instance, or none in JSON.

        """
        from vacr.cddl.generator import InstanceGenerator

        node = self.node(rule)
        program = self._get_program(json=json)
        return self._guard_depth(
            lambda: InstanceGenerator(
                node, program, seed=seed, json=json, where=self.name
            ).make_instance()
        )

    def node(self, rule: str | None) -> TypeNode:
        """Return the type graph's node of a rule, a type expression, or (None) the first rule.

        Raises:
            CddlError: when there is no such rule, or the expression is not a type.

        """
        text = self.root if rule is None else rule
        if text not in self._nodes:
            self._nodes[text] = self._guard_depth(lambda: self._resolve(text))
        return self._nodes[text]

    def rule_text(self, rule: str) -> str:
        """Return all definitions of a rule as written, without the comments between rules.

        Raises:
            CddlError: when the schema has no such rule.

        """
        ends = [start for start, _ in self._starts[1:]] + [len(self._source.text)]
        texts = [
            self._source.text[start:end]
            for (start, name), end in zip(self._starts, ends, strict=True)
            if name == rule
        ]
        if not texts:
            more = "…" if len(self.rules) > _MAX_SHOWN_RULES else ""
            known = ", ".join(self.rules[:_MAX_SHOWN_RULES]) + more
            message = f"the schema has no rule {rule!r}"
            raise CddlError(message, where=self.name, hint=f"The rules of the schema are {known}.")
        return "\n".join(_strip_trailing_comments(text) for text in texts)

    def _get_program(self, *, json: bool) -> CheckProgram:
        """Return the program that all checkers for JSON share, or all checkers for CBOR."""
        if json not in self._programs:
            self._programs[json] = CheckProgram(json=json)
        return self._programs[json]

    def _resolve(self, text: str) -> TypeNode:
        """Parse a type expression, and return its node after all checks."""
        shown = text[:_MAX_SHOWN_EXPRESSION_LENGTH]
        source = CddlSource(text, f"{self.name}, type {shown!r}")
        node = self._resolver.resolve(source, parse_type(source))
        _check_nodes([node])
        return node

    def _guard_depth(self, work: Callable[[], Any]) -> Any:
        """Return the result of a function; if it overflows the stack, the schema is too deep.

        Raises:
            CddlError: instead of a RecursionError.

        """
        try:
            return work()
        except RecursionError:
            _raise_too_deep(self._source)


@lru_cache(maxsize=1)
def _load_prelude() -> RuleTable:
    """Load the rules that every schema may use (RFC 8610 Appendix D)."""
    text = resources.files("vacr.cddl").joinpath(PRELUDE_FILE).read_text("utf-8")
    source = CddlSource(text, PRELUDE_FILE)
    return build_rule_table(source, parse_rules(source))


def _check_nodes(starts: Iterable[AnyNode]) -> None:
    """Check the start nodes and all nodes inside them, and prepare their control operators.

    Raises:
        CddlError: for an endless rule, an unusable operator or range, or a map that is too large.

    """
    nodes = list_reachable_nodes(starts)
    check_no_endless_rules(nodes)
    for node in nodes:
        if isinstance(node, ControlType):
            prepare_control(node)
        elif isinstance(node, RangeType):
            get_range_bounds(node)
    member_count = 0
    for node in nodes:
        if isinstance(node, MapType):
            member_count += sum(map(len, expand_map_group(node.group)))
            if member_count > _MAX_EXPANDED_MEMBERS:
                node.place.fail(
                    "the maps of the schema have too many combinations of groups: "
                    f"more than {_MAX_EXPANDED_MEMBERS} entries in all"
                )


def _strip_trailing_comments(text: str) -> str:
    """Return the text of a rule without the blank lines and comment lines at its end."""
    lines = text.split("\n")
    while lines and (not lines[-1].strip() or lines[-1].startswith(";")):
        lines.pop()
    return "\n".join(lines)


class Checker:
    """Checks values against one type."""

    def __init__(self, rule: str, node: TypeNode, program: CheckProgram) -> None:
        """Compile the type; use `Schema.checker`."""
        self.rule = rule
        self._node = node
        self._program = program
        self._check = program.compile_predicate(node)

    def matches(self, value: Any) -> bool:
        """Return whether a value matches; False for a value too deep or too costly to check."""
        try:
            return bool(self._check(value))
        except RecursionError:
            return self._check_deeply(value) is True
        except WorkLimitError:
            return False
        finally:
            self._program.forget()

    def findings(self, value: Any, limit: int | None = None) -> list[SchemaFinding]:
        """Return where and why a value does not match; an empty list when it matches.

        There are at most `limit` findings; None stands for 100. A value too deep or too costly to
        check has one finding.
        """
        verdict = self._check_deeply(value)
        if verdict is True:
            return []
        # Most values match, and only the others pay for importing the explainer.
        from vacr.cddl.explain import MAX_FINDINGS, Explainer, make_unchecked_finding

        if isinstance(self._node, RuleRef):
            rule = self._node.name
        else:
            rule = " ".join(self.rule.split())[:_MAX_RULE_NAME_LENGTH]
        if isinstance(verdict, str):
            return [make_unchecked_finding(self._node, verdict, rule)]
        explainer = Explainer(self._program, MAX_FINDINGS if limit is None else limit)
        return explainer.explain(self._node, value, rule)

    def _check_deeply(self, value: Any) -> bool | str:
        """Return whether a value matches, or as text the reason why it could not be checked."""
        try:
            return bool(run_with_larger_stack(lambda: self._check(value)))
        except RecursionError:
            return "a value nested too deeply to be checked"
        except WorkLimitError as error:
            return str(error)
        finally:
            self._program.forget()

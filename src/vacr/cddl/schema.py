"""A compiled schema and its checkers. Step: validate.

`compile_cddl` reads and checks the whole text, so a mistake in a schema is found before any value
is looked at. The functions that check values are compiled when a checker is asked for, and kept.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NoReturn

from vacr.cddl.compiler import CheckProgram
from vacr.cddl.controls import get_range_bounds, prepare_control
from vacr.cddl.limits import WorkLimitError, run_with_larger_stack
from vacr.cddl.maps import expand_map_group
from vacr.cddl.model import (
    PRELUDE_FILE,
    ControlType,
    GroupNode,
    MapType,
    RangeType,
    RuleRef,
    TypeNode,
)
from vacr.cddl.names import (
    NameResolver,
    RuleTable,
    build_rule_table,
    check_no_endless_rules,
    list_reachable_nodes,
)
from vacr.cddl.parser import parse_rules, parse_type
from vacr.cddl.syntax import CddlSource
from vacr.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vacr.cddl.explain import Finding

_MAX_SCHEMA_LENGTH = 5_000_000
_MAX_RULE_NAME_LENGTH = 60
_MAX_WRITTEN_MEMBERS = 200_000


def compile_cddl(text: str, *, name: str = "<cddl>") -> Schema:
    """Compile a CDDL text; `name` is how messages call it.

    Raises:
        InvalidSchema: when the text is not CDDL, or says something that cannot be.

    """
    # An editor may have put a byte order mark before the text; it says nothing.
    source = CddlSource(text.removeprefix("\ufeff"), name)
    if len(text) > _MAX_SCHEMA_LENGTH:
        source.fail(f"a schema of more than {_MAX_SCHEMA_LENGTH} characters is refused", 0)
    try:
        return Schema(source)
    except RecursionError:
        _raise_too_deep(source)


def _raise_too_deep(source: CddlSource) -> NoReturn:
    raise InvalidSchema("the schema is nested too deeply", where=source.name) from None


@lru_cache(maxsize=1)
def _load_prelude() -> RuleTable:
    """Read the rules that every schema may use (RFC 8610 Appendix D)."""
    text = resources.files("vacr.cddl").joinpath(PRELUDE_FILE).read_text("utf-8")
    source = CddlSource(text, PRELUDE_FILE)
    return build_rule_table(source, parse_rules(source))


class Schema:
    """The rules of one CDDL text."""

    def __init__(self, source: CddlSource) -> None:
        """Read and check a text; use `compile_cddl`."""
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
            InvalidSchema: when there is none.

        """
        if not self.rules:
            raise InvalidSchema(
                "the schema has no rules, so there is nothing to check against", where=self.name
            )
        return self.rules[0]

    def rule_text(self, rule: str) -> str:
        """Give the text of a rule: all of its definitions, without the comments between the rules.

        Raises:
            InvalidSchema: when the schema has no such rule.

        """
        ends = [start for start, _ in self._starts[1:]] + [len(self._source.text)]
        texts = [
            self._source.text[at:end]
            for (at, name), end in zip(self._starts, ends, strict=True)
            if name == rule
        ]
        if not texts:
            known = ", ".join(self.rules[:20]) + ("…" if len(self.rules) > 20 else "")  # noqa: PLR2004 - a line or two
            raise InvalidSchema(f"no rule {rule!r}", where=self.name, hint=f"its rules are {known}")
        return "\n".join(_strip_trailing_comments(text) for text in texts)

    def checker(self, rule: str | None = None, *, json: bool = False) -> Checker:
        """Give the checker of a rule or of a type expression (`[* entry]`); of the root when
        nothing is named.

        With `json`, there is one kind of number: one that is integral is an integer however it was
        written, and an integer is a floating-point number too.

        Raises:
            InvalidSchema: when there is no such rule, or the expression is not a type.
        """
        key = (self.root if rule is None else rule, json)
        if key not in self._checkers:
            node = self.node(rule)
            self._checkers[key] = self._guarded(
                lambda: Checker(key[0], node, self._program(json=json))
            )
        return self._checkers[key]

    def generate(self, rule: str | None = None, *, seed: int, json: bool = True) -> Any:
        """Make a random valid instance; the same one for the same seed.

        Raises:
            InvalidSchema: when there is no such rule, or it has no finite instance, or none in
                JSON.
        """
        from vacr.cddl.generator import InstanceGenerator

        node = self.node(rule)
        program = self._program(json=json)
        return self._guarded(
            lambda: InstanceGenerator(
                node, program, seed=seed, json=json, where=self.name
            ).instance()
        )

    def node(self, rule: str | None) -> TypeNode:
        """Resolve a rule or a type expression.

        Raises:
            InvalidSchema: when there is no such rule, or the expression is not a type.

        """
        text = self.root if rule is None else rule
        if text not in self._nodes:
            self._nodes[text] = self._guarded(lambda: self._resolved(text))
        return self._nodes[text]

    def _program(self, *, json: bool) -> CheckProgram:
        """Give the one program that all checkers of a mode share."""
        if json not in self._programs:
            self._programs[json] = CheckProgram(json=json)
        return self._programs[json]

    def _resolved(self, text: str) -> TypeNode:
        source = CddlSource(text, f"{self.name}, type {text[:40]!r}")
        node = self._resolver.resolve(source, parse_type(source))
        _check_nodes([node])
        return node

    def _guarded(self, work: Callable[[], Any]) -> Any:
        """Do something that follows the structure of the schema, however deep that is."""
        try:
            return work()
        except RecursionError:
            _raise_too_deep(self._source)


def _strip_trailing_comments(text: str) -> str:
    """Leave out the lines after a rule that are blank or belong to the next one."""
    lines = text.split("\n")
    while lines and (not lines[-1].strip() or lines[-1].startswith(";")):
        lines.pop()
    return "\n".join(lines)


def _check_nodes(starts: Iterable[TypeNode | GroupNode]) -> None:
    """Refuse what is well-formed but cannot be meant, in everything that can be reached."""
    nodes = list_reachable_nodes(starts)
    check_no_endless_rules(nodes)
    for node in nodes:
        if isinstance(node, ControlType):
            prepare_control(node)
        elif isinstance(node, RangeType):
            get_range_bounds(node)
    written = 0
    for node in nodes:
        if isinstance(node, MapType):
            written += sum(map(len, expand_map_group(node.group)))
            if written > _MAX_WRITTEN_MEMBERS:
                message = f"the combinations of groups in maps come to more than {_MAX_WRITTEN_MEMBERS} members"
                raise InvalidSchema(message, where=str(node.place))


class Checker:
    """Tells whether values are of one type, and why not."""

    def __init__(self, rule: str, node: TypeNode, program: CheckProgram) -> None:
        """Compile the type; use `Schema.checker`."""
        self.rule = rule
        self._node = node
        self._program = program
        self._check = program.predicate(node)

    def matches(self, value: Any) -> bool:
        """Tell whether a value matches; one that is too deep, or would take too long, to be checked
        does not.
        """
        try:
            return bool(self._check(value))
        except RecursionError:
            return self._verdict(value) is True
        except WorkLimitError:
            return False
        finally:
            self._program.forget()

    def _verdict(self, value: Any) -> bool | str:
        """Tell whether a value matches, or in words why that cannot be told."""
        try:
            return bool(run_with_larger_stack(lambda: self._check(value)))
        except RecursionError:
            return "a value nested too deeply to be checked"
        except WorkLimitError as error:
            return str(error)
        finally:
            self._program.forget()

    def findings(self, value: Any) -> list[Finding]:
        """Say where and why a value does not match; an empty list when it does."""
        verdict = self._verdict(value)
        if verdict is True:
            return []
        from vacr.cddl.explain import Explainer, make_unchecked_finding

        rule = (
            self._node.name
            if isinstance(self._node, RuleRef)
            else " ".join(self.rule.split())[:_MAX_RULE_NAME_LENGTH]
        )
        if isinstance(verdict, str):
            return [make_unchecked_finding(self._node, verdict, rule)]
        return Explainer(self._program).findings(self._node, value, rule)

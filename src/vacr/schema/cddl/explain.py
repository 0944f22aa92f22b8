"""Say where and why a value does not match. Step: validate.

Runs only after the compiled check has said no, and asks compiled checks for every yes or no on the
way, so the two cannot disagree. A choice is explained by the alternative that came closest: of maps
the one whose literal member fits (`type: "tool-call"`), of arrays the one whose literal elements
do, else the one with the fewest problems. Each level is weighed before it is entered and only one
alternative is entered, so the work stays in proportion to the value. At most `MOST_FINDINGS` are
given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vacr.schema.cddl import items
from vacr.schema.cddl.controls import BYTE_CODECS
from vacr.schema.cddl.explain_array import ArrayTrace, element_problems
from vacr.schema.cddl.explain_map import MISSING, array_balance, map_balance, map_problems
from vacr.schema.cddl.findings import Finding
from vacr.schema.cddl.limits import TooMuchWork, with_room
from vacr.schema.cddl.members import discriminator, expand
from vacr.schema.cddl.model import (
    AnyType,
    ArrayType,
    Controlled,
    MapType,
    Node,
    OneOf,
    Ref,
    Tagged,
    follow,
    named_leaves,
)
from vacr.schema.cddl.values import BIGNUMS, LISTS, as_map, bignum_of, tag_of
from vacr.schema.cddl.wording import (
    MOST_NAMES,
    allowed,
    counted,
    counts,
    described,
    key_text,
    shown,
    token,
)

if TYPE_CHECKING:
    from vacr.schema.cddl.compiler import Program

MOST_FINDINGS = 100


def unchecked(node: Node, reason: str, rule: str) -> Finding:
    """Say about a whole value why it could not be checked."""
    return Finding("", rule, reason, described(node))


class Explainer:
    """One explanation, of one value."""

    def __init__(self, program: Program) -> None:
        """Use the checks of a program."""
        self._program = program
        self._found: list[Finding] = []

    def findings(self, node: Node, value: Any, rule: str) -> list[Finding]:
        """Explain a value that does not match."""

        def explain() -> None:
            self._found.clear()
            self._explain(node, value, "", rule)

        try:
            with_room(explain)
        except RecursionError:
            self._found.append(unchecked(node, "a value nested too deeply to be explained", rule))
        except TooMuchWork as error:
            self._found.append(unchecked(node, str(error), rule))
        finally:
            self._program.forget()
        # A value can be right part by part and yet not fit together, in ways no part can tell.
        return self._found or [Finding("", rule, shown(value), described(node))]

    def ok(self, node: Node, value: Any) -> bool:
        """Ask the compiled check."""
        return bool(self._program.predicate(node)(value))

    def _add(self, pointer: str, rule: str, found: str, expected: str) -> None:
        if len(self._found) < MOST_FINDINGS:
            self._found.append(Finding(pointer, rule, found, expected))

    @property
    def _full(self) -> bool:
        return len(self._found) >= MOST_FINDINGS

    def _explain(self, node: Node, value: Any, pointer: str, rule: str) -> None:
        """Add the findings about a value that does not match a type."""
        if self._full:
            return
        expected = described(node)
        while isinstance(node, Ref):
            if not node.standard:
                rule = node.name
                expected = (
                    node.name
                    if isinstance(follow(node), MapType | ArrayType)
                    else described(node.node)
                )
            node = node.node
        members = as_map(value)
        match node:
            case OneOf():
                self._choice(node, value, pointer, rule, expected)
            case MapType() if members is not None:
                self._map(node, members, pointer, rule)
            case ArrayType() if isinstance(value, LISTS):
                self._array(node, list(value), pointer, rule)
            case Tagged():
                self._tag(node, value, pointer, rule)
            case Controlled():
                self._controlled(node, value, pointer, rule)
            case _:
                kind = described(node)
                compound = isinstance(node, MapType | ArrayType) and kind != expected
                self._add(
                    pointer, rule, shown(value), f"{expected} ({kind})" if compound else expected
                )

    def _tag(self, node: Tagged, value: Any, pointer: str, rule: str) -> None:
        tag = (
            bignum_of(value, node.number)
            if node.number in BIGNUMS and not self._program.json
            else tag_of(value)
        )
        if tag is not None and (node.number is None or node.number == tag[0]):
            self._explain(node.content, tag[1], pointer, rule)
        else:
            self._add(pointer, rule, shown(value), described(node))

    def _controlled(self, node: Controlled, value: Any, pointer: str, rule: str) -> None:
        """Look for the side that does not match, and into bytes that hold CBOR."""
        inner = follow(node.target)
        if not self.ok(inner, value) and not isinstance(inner, AnyType):
            compound = isinstance(inner, MapType | ArrayType | Tagged)
            if compound or node.operator in {"default", "feature", "and", "within"}:
                self._explain(node.target, value, pointer, rule)
                return
        elif node.operator in {"and", "within", "eq"} and isinstance(
            follow(node.controller), MapType | ArrayType
        ):
            self._explain(node.controller, value, pointer, rule)
            return
        elif node.operator in BYTE_CODECS and isinstance(value, bytes):
            try:
                held = self._program.held.decoded(value, BYTE_CODECS[node.operator])
            except items.NotCbor as error:
                self._add(pointer, rule, f"bytes that are not CBOR ({error})", described(node))
                return
            self._explain(node.controller, held, pointer, rule)
            return
        self._add(pointer, rule, shown(value), described(node))

    # --- choices
    # ---------------------------------------------------------------------------------------

    def _choice(self, node: OneOf, value: Any, pointer: str, rule: str, expected: str) -> None:
        """Explain the alternative that came closest, or name them all when none did."""
        named = named_leaves(node)
        members = as_map(value)
        candidates: list[tuple[Any, str, Node]] = []
        if members is not None:
            inner = [(name, leaf) for name, leaf in named if isinstance(leaf, MapType)]
            if len(inner) > 1 and self._undecided(
                [leaf for _, leaf in inner], members, pointer, rule
            ):
                return
            candidates += [(self._map_weight(leaf, members), name, leaf) for name, leaf in inner]
        elif isinstance(value, LISTS):
            arrays = [(name, leaf) for name, leaf in named if isinstance(leaf, ArrayType)]
            candidates += [
                (self._array_weight(leaf, list(value)), name, leaf) for name, leaf in arrays
            ]
        else:
            candidates += [(0, name, leaf) for name, leaf in named if self._same_kind(leaf, value)]
        if not candidates:
            self._add(pointer, rule, shown(value), expected)
            return
        _, name, leaf = min(candidates, key=lambda candidate: candidate[0])
        self._explain(leaf, value, pointer, name or rule)

    def _same_kind(self, leaf: Node, value: Any) -> bool:
        """Tell whether an alternative is worth entering for a value that is neither map
        nor array.
        """
        if isinstance(leaf, Tagged):
            tag = tag_of(value)
            return tag is not None and leaf.number == tag[0]
        return (
            isinstance(leaf, Controlled)
            and leaf.operator in BYTE_CODECS
            and isinstance(value, bytes)
        )

    def _undecided(
        self, inner: list[MapType], members: dict[Any, Any], pointer: str, rule: str
    ) -> bool:
        """When the literal member that tells the maps apart fits none of them, that is the
        finding.
        """
        decided = discriminator(inner)
        if decided is None or decided[2]:
            return False
        key, cases, _ = decided
        value = members.get(key)
        if isinstance(value, str) and value in cases:
            return False
        expected = " / ".join(f'"{text}"' for text in list(cases)[:MOST_NAMES])
        if key in members:
            self._add(pointer + token(key), rule, shown(value), expected)
        else:
            self._add(pointer, rule, f"missing member {key_text(key)}", expected)
        return True

    # --- maps
    # ------------------------------------------------------------------------------------------

    def _map_weight(self, node: MapType, members: dict[Any, Any]) -> tuple[int, int]:
        """Weigh how far a map is from a type: literal members that fit come first, then the number
        of problems.
        """
        problems = [
            len(map_problems(sequence, members, self.ok)) for sequence in expand(node.group)
        ]
        return (map_balance(node, members), min(problems, default=1))

    def _map(self, node: MapType, members: dict[Any, Any], pointer: str, rule: str) -> None:
        """Explain a map by the list of entries it comes closest to."""
        found = [map_problems(sequence, members, self.ok) for sequence in expand(node.group)]
        sequences = expand(node.group)
        if not found:
            self._add(pointer, rule, shown(members), "nothing (an empty choice)")
            return
        best = min(range(len(found)), key=lambda index: len(found[index]))
        for key, member in found[best]:
            if self._full:
                return
            if key is MISSING:
                assert member is not None  # noqa: S101 - a missing member is always one of the schema
                self._add(
                    pointer,
                    rule,
                    f"missing member {key_text(member.literal)}",
                    described(member.value),
                )
            elif member is None:
                self._add(
                    pointer + token(key),
                    rule,
                    f"unknown member {key_text(key)}",
                    allowed(sequences[best]),
                )
            else:
                self._explain(member.value, members[key], pointer + token(key), rule)
        if not found[best]:
            wild = [
                member
                for member in sequences[best]
                if member.literal is None and not member.open_end
            ]
            wanted = "; ".join(map(counts, wild))
            self._add(pointer, rule, shown(members), wanted or described(node))

    # --- arrays
    # ----------------------------------------------------------------------------------------

    def _array_weight(self, node: ArrayType, elements: list[Any]) -> tuple[int, int, int]:
        """Weigh how far an array is from a type: literal elements that fit come first, then the
        number of problems or how far from the end the first is.
        """
        balance = array_balance(node, elements)
        problems = element_problems(node, elements, self.ok)
        if problems is not None:
            return (balance, len(problems), 0)
        trace = ArrayTrace(elements, self.ok)
        trace.run(node.group)
        return (balance, len(elements) - trace.furthest, 1)

    def _array(self, node: ArrayType, elements: list[Any], pointer: str, rule: str) -> None:
        problems = element_problems(node, elements, self.ok)
        if problems is None:
            self._trace(node, elements, pointer, rule)
            return
        for index, inner in problems:
            if isinstance(inner, str):
                self._add(pointer, rule, shown(elements), inner)
            else:
                self._explain(inner, elements[index], f"{pointer}/{index}", rule)
            if self._full:
                return

    def _trace(self, node: ArrayType, elements: list[Any], pointer: str, rule: str) -> None:
        """Explain an array of optional and repeated parts by the element at which matching could
        not go on.
        """
        trace = ArrayTrace(elements, self.ok)
        trace.run(node.group)
        at, wanted = trace.furthest, trace.wanted
        expected = " / ".join(dict.fromkeys(described(inner) for inner in wanted[:MOST_NAMES]))
        if at >= len(elements):
            self._add(
                pointer,
                rule,
                f"an array that ends after {counted(at, 'element')}",
                expected or "another length",
            )
        elif len(wanted) == 1:
            self._explain(wanted[0], elements[at], f"{pointer}/{at}", rule)
        else:
            self._add(
                f"{pointer}/{at}", rule, shown(elements[at]), expected or "the end of the array"
            )

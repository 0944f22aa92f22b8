"""Explanations: where a value does not match its type, and why.

A compiled check only answers yes or no. After a no, the explainer looks for the parts that do not
fit, and asks the compiled checks about every part, so the two cannot disagree:

    >>> from vacr.cddl import compile_cddl
    >>> schema = compile_cddl('a = [* b]  b = {type: "x", n: int} / {type: "y"}')
    >>> for finding in schema.checker().findings([{"type": "y"}, {"type": "x", "n": "one"}]):
    ...     print(finding.text())
    /1/n: b: text "one", expected int

A choice is explained by the alternative that comes closest: of maps the one whose literal member
fits (`type: "tool-call"`), of arrays the one whose literal elements do, else the one with the
fewest problems. Alternatives are weighed at each level and only one is entered, so the work stays
in proportion to the value. Keys are looked up, not compared with every entry, and past
`MAX_MAP_PROBLEMS` the search ends: a map with a hundred thousand unknown members is explained as
quickly as one with a hundred. There are at most `MAX_FINDINGS`, unless a caller sets another limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from vacr.cddl.compiler import CheckProgram
from vacr.cddl.descriptions import (
    MAX_SHOWN_NAMES,
    SchemaFinding,
    describe_allowed_members,
    describe_member_count,
    describe_type,
    describe_value,
    format_count,
    format_key,
    format_pointer_step,
)
from vacr.cddl.maps import MapMember, MemberList, expand_map_group, find_discriminator
from vacr.cddl.string_contents import BYTE_DECODERS, MalformedCborError
from vacr.cddl.type_graph import (
    AnyType,
    ArrayType,
    ChoiceType,
    ControlType,
    GroupItem,
    GroupNode,
    LiteralType,
    MapType,
    RuleRef,
    TagType,
    TypeNode,
    evaluate_constant,
    flatten_choice,
    flatten_named_choice,
    resolve_refs,
)
from vacr.cddl.values import (
    BIGNUM_TAGS,
    LIST_TYPES,
    WorkLimitError,
    as_map,
    get_bignum,
    get_tag,
    run_with_larger_stack,
)

MAX_FINDINGS = 100
MAX_MAP_PROBLEMS = 200

# Asks the compiled check whether a value is of a type.
TypeCheck: TypeAlias = Callable[[TypeNode, Any], bool]
# A key with the entry it does not fit (None: unknown), or `_MISSING` with the entry that is absent.
MapProblem: TypeAlias = tuple[Any, MapMember | None]
# The index of an element with the type it does not fit, or a wrong length in words.
ElementProblem: TypeAlias = tuple[int, TypeNode | str]

_MISSING = object()
_EITHER_SIDE_OPERATORS = frozenset({"default", "feature", "and", "within"})


def make_unchecked_finding(node: TypeNode, reason: str, rule: str) -> SchemaFinding:
    """Return a finding about a whole value that could not be checked, for this reason."""
    return SchemaFinding("", rule, reason, describe_type(node))


class Explainer:
    """Collects the findings about one value."""

    def __init__(self, program: CheckProgram, limit: int = MAX_FINDINGS) -> None:
        """Start without findings; `program` has the checks of all types.

        `limit` is the maximum number of findings.
        """
        self._program = program
        self._limit = limit
        self._findings: list[SchemaFinding] = []

    def explain(self, node: TypeNode, value: Any, rule: str) -> list[SchemaFinding]:
        """Return the findings about a value that does not match a type: at least one.

        `rule` is the name in a finding that is not inside a named rule of the type.
        """

        def start() -> None:
            """Collect the findings from the beginning; a first attempt may have failed."""
            self._findings.clear()
            self._explain(node, value, "", rule)

        try:
            run_with_larger_stack(start)
        except RecursionError:
            reason = "a value nested too deeply to be explained"
            self._findings.append(make_unchecked_finding(node, reason, rule))
        except WorkLimitError as error:
            self._findings.append(make_unchecked_finding(node, str(error), rule))
        finally:
            self._program.forget()
        # Each part of a value can fit while the whole does not, so there may be no finding.
        return self._findings or [
            SchemaFinding("", rule, describe_value(value), describe_type(node))
        ]

    def _matches(self, node: TypeNode, value: Any) -> bool:
        """Return whether a value matches a type, by the compiled check."""
        return bool(self._program.compile_predicate(node)(value))

    def _add(self, pointer: str, rule: str, found: str, expected: str) -> None:
        """Add a finding with these members, unless the limit is reached."""
        if not self._is_full:
            self._findings.append(SchemaFinding(pointer, rule, found, expected))

    @property
    def _is_full(self) -> bool:
        """Return whether the limit of findings is reached."""
        return len(self._findings) >= self._limit

    def _explain(self, node: TypeNode, value: Any, pointer: str, rule: str) -> None:
        """Add the findings about the value at a JSON pointer, which does not match a type.

        `rule` is the nearest named rule around the type.
        """
        if self._is_full:
            return
        expected = describe_type(node)
        while isinstance(node, RuleRef):
            if not node.is_standard:
                rule = node.name
                is_container = isinstance(resolve_refs(node), MapType | ArrayType)
                expected = node.name if is_container else describe_type(node.node)
            node = node.node
        members = as_map(value)
        match node:
            case ChoiceType():
                self._explain_choice(node, value, pointer, rule, expected)
            case MapType() if members is not None:
                self._explain_map(node, members, pointer, rule)
            case ArrayType() if isinstance(value, LIST_TYPES):
                self._explain_array(node, list(value), pointer, rule)
            case TagType():
                self._explain_tag(node, value, pointer, rule)
            case ControlType():
                self._explain_control(node, value, pointer, rule)
            case MapType() | ArrayType():
                kind = describe_type(node)
                expected = f"{expected} ({kind})" if kind != expected else expected
                self._add(pointer, rule, describe_value(value), expected)
            case _:
                self._add(pointer, rule, describe_value(value), expected)

    def _explain_tag(self, node: TagType, value: Any, pointer: str, rule: str) -> None:
        """Explain the content of a tag with the right number, or else the value as a whole."""
        if node.number in BIGNUM_TAGS and not self._program.json:
            tag = get_bignum(value, node.number)
        else:
            tag = get_tag(value)
        if tag is not None and (node.number is None or node.number == tag[0]):
            self._explain(node.content, tag[1], pointer, rule)
        else:
            self._add(pointer, rule, describe_value(value), describe_type(node))

    def _explain_control(self, node: ControlType, value: Any, pointer: str, rule: str) -> None:
        """Explain the side of the operator that does not match, or the CBOR inside bytes.

        If neither says more, add one finding with the whole controlled type.
        """
        target = resolve_refs(node.target)
        controller = resolve_refs(node.controller)
        if not self._matches(target, value) and not isinstance(target, AnyType):
            is_compound = isinstance(target, MapType | ArrayType | TagType)
            if is_compound or node.operator in _EITHER_SIDE_OPERATORS:
                self._explain(node.target, value, pointer, rule)
                return
        elif node.operator in {"and", "within", "eq"} and isinstance(
            controller, MapType | ArrayType
        ):
            self._explain(node.controller, value, pointer, rule)
            return
        elif node.operator in BYTE_DECODERS and isinstance(value, bytes):
            self._explain_content(node, value, pointer, rule)
            return
        self._add(pointer, rule, describe_value(value), describe_type(node))

    def _explain_content(self, node: ControlType, value: bytes, pointer: str, rule: str) -> None:
        """Explain the decoded content of bytes, or add a finding about malformed CBOR."""
        decoder = BYTE_DECODERS[node.operator]
        try:
            content = self._program.decoded_strings.decode(value, decoder)
        except MalformedCborError as error:
            self._add(pointer, rule, f"bytes that are not CBOR ({error})", describe_type(node))
            return
        self._explain(node.controller, content, pointer, rule)

    # Choices.

    def _explain_choice(
        self, node: ChoiceType, value: Any, pointer: str, rule: str, expected: str
    ) -> None:
        """Explain the alternative that is closest to the value.

        If no alternative is of the value's kind, add one finding that names them all: `expected`.
        """
        named = flatten_named_choice(node)
        members = as_map(value)
        candidates: list[tuple[tuple[int, ...], str, TypeNode]]
        if members is not None:
            maps = [(name, leaf) for name, leaf in named if isinstance(leaf, MapType)]
            distinct = [leaf for _, leaf in maps]
            if len(maps) > 1 and self._explain_discriminator(distinct, members, pointer, rule):
                return
            candidates = [(self._weigh_map(leaf, members), name, leaf) for name, leaf in maps]
        elif isinstance(value, LIST_TYPES):
            elements = list(value)
            arrays = [(name, leaf) for name, leaf in named if isinstance(leaf, ArrayType)]
            candidates = [(self._weigh_array(leaf, elements), name, leaf) for name, leaf in arrays]
        else:
            candidates = [((), name, leaf) for name, leaf in named if _is_same_kind(leaf, value)]
        if not candidates:
            self._add(pointer, rule, describe_value(value), expected)
            return
        _, name, leaf = min(candidates, key=lambda candidate: candidate[0])
        self._explain(leaf, value, pointer, name or rule)

    def _explain_discriminator(
        self, maps: list[MapType], members: dict[Any, Any], pointer: str, rule: str
    ) -> bool:
        """Add a finding if the member that distinguishes the maps fits none of them.

        Return whether a finding was added; it then explains the whole choice.
        """
        discriminator = find_discriminator(maps)
        if discriminator is None:
            return False
        key, cases, others = discriminator
        value = members.get(key)
        if others or (isinstance(value, str) and value in cases):
            return False
        expected = " / ".join(f'"{text}"' for text in list(cases)[:MAX_SHOWN_NAMES])
        if key in members:
            self._add(pointer + format_pointer_step(key), rule, describe_value(value), expected)
        else:
            self._add(pointer, rule, f"missing member {format_key(key)}", expected)
        return True

    # Maps.

    def _weigh_map(self, node: MapType, members: dict[Any, Any]) -> tuple[int, int]:
        """Return how far a map is from a type, for comparison: lower is closer.

        The first number weighs the literal members, the second counts the problems.
        """
        sequences = expand_map_group(node.group)
        counts = [
            len(_list_map_problems(sequence, members, self._matches)) for sequence in sequences
        ]
        return (_weigh_map_literals(sequences, members), min(counts, default=1))

    def _explain_map(self, node: MapType, members: dict[Any, Any], pointer: str, rule: str) -> None:
        """Explain a map by the alternative list of entries with the fewest problems."""
        sequences = expand_map_group(node.group)
        if not sequences:
            self._add(pointer, rule, describe_value(members), "no value (an empty choice)")
            return
        explained = [
            (_list_map_problems(sequence, members, self._matches), sequence)
            for sequence in sequences
        ]
        problems, sequence = min(explained, key=lambda pair: len(pair[0]))
        for key, member in problems:
            if self._is_full:
                return
            self._explain_member(key, member, sequence, members, pointer, rule)
        if not problems:
            # Every member fits an entry, so their number has to be wrong.
            counted = [
                member
                for member in sequence
                if member.literal is None and not member.takes_any_number
            ]
            expected = "; ".join(map(describe_member_count, counted))
            self._add(pointer, rule, describe_value(members), expected or describe_type(node))

    def _explain_member(
        self,
        key: Any,
        member: MapMember | None,
        sequence: MemberList,
        members: dict[Any, Any],
        pointer: str,
        rule: str,
    ) -> None:
        """Explain one `MapProblem`: an unknown, a missing or a wrong member."""
        if member is None:
            found = f"unknown member {format_key(key)}"
            allowed = describe_allowed_members(sequence)
            self._add(pointer + format_pointer_step(key), rule, found, allowed)
        elif key is _MISSING:
            found = f"missing member {format_key(member.literal)}"
            self._add(pointer, rule, found, describe_type(member.value))
        else:
            self._explain(member.value, members[key], pointer + format_pointer_step(key), rule)

    # Arrays.

    def _weigh_array(self, node: ArrayType, elements: list[Any]) -> tuple[int, int, int]:
        """Return how far an array is from a type, for comparison: lower is closer.

        The first number compares the literal elements, as in `_weigh_array_literals`. The second
        is the number of problems, and the third 0. For an array that has to be traced, the second
        is the number of elements not matched, and the third 1.
        """
        balance = _weigh_array_literals(node, elements)
        problems = _list_element_problems(node, elements, self._matches)
        if problems is not None:
            return (balance, len(problems), 0)
        trace = _ArrayTrace(elements, self._matches)
        trace.run(node.group)
        return (balance, len(elements) - trace.furthest, 1)

    def _explain_array(self, node: ArrayType, elements: list[Any], pointer: str, rule: str) -> None:
        """Explain every wrong element and a wrong length, or else trace the array."""
        problems = _list_element_problems(node, elements, self._matches)
        if problems is None:
            self._explain_traced_array(node, elements, pointer, rule)
            return
        for index, expected in problems:
            if isinstance(expected, str):
                self._add(pointer, rule, describe_value(elements), expected)
            else:
                self._explain(expected, elements[index], f"{pointer}/{index}", rule)
            if self._is_full:
                return

    def _explain_traced_array(
        self, node: ArrayType, elements: list[Any], pointer: str, rule: str
    ) -> None:
        """Explain an array of optional and repeated parts by the element that ended the match."""
        trace = _ArrayTrace(elements, self._matches)
        trace.run(node.group)
        at, wanted = trace.furthest, trace.wanted
        shown = dict.fromkeys(describe_type(inner) for inner in wanted[:MAX_SHOWN_NAMES])
        expected = " / ".join(shown)
        if at >= len(elements):
            found = f"an array that ends after {format_count(at, 'element')}"
            self._add(pointer, rule, found, expected or "another length")
        elif len(wanted) == 1:
            self._explain(wanted[0], elements[at], f"{pointer}/{at}", rule)
        else:
            found = describe_value(elements[at])
            self._add(f"{pointer}/{at}", rule, found, expected or "the end of the array")


def _is_same_kind(leaf: TypeNode, value: Any) -> bool:
    """Return whether an alternative can explain a value that is neither a map nor an array.

    That is a tag with the number of the value's tag, or CBOR inside bytes if the value is bytes.
    """
    if isinstance(leaf, TagType):
        tag = get_tag(value)
        return tag is not None and leaf.number == tag[0]
    decodes_bytes = isinstance(leaf, ControlType) and leaf.operator in BYTE_DECODERS
    return decodes_bytes and isinstance(value, bytes)


# The members of a map that do not fit.


def _list_map_problems(
    sequence: MemberList, members: dict[Any, Any], matches: TypeCheck
) -> list[MapProblem]:
    """Return the members that are missing, unknown, or do not fit their entry.

    A problem is a key and its entry: the key is `_MISSING` for a missing member, and the entry None
    for an unknown one. The list is cut at about `MAX_MAP_PROBLEMS`, and empty if every member fits
    an entry.
    """
    problems: list[MapProblem] = [
        (_MISSING, member)
        for member in sequence
        if member.literal is not None and member.required and member.literal not in members
    ]
    index = _EntryIndex(sequence, matches)
    for key, value in members.items():
        if len(problems) >= MAX_MAP_PROBLEMS:
            break
        entries = index.find_entries(key)
        if not entries:
            problems.append((key, None))
            continue
        first = entries[0]
        fits_any = any(matches(entry.value, value) for entry in entries)
        must_fit_first = first.required and first.literal is not None
        if not fits_any or (must_fit_first and not matches(first.value, value)):
            problems.append((key, first))
    return problems


class _EntryIndex:
    """The entries of a list, by literal key."""

    def __init__(self, sequence: MemberList, matches: TypeCheck) -> None:
        """Index the entries; `matches` decides whether a key fits a wildcard."""
        self._matches = matches
        self._wild: list[tuple[int, MapMember]] = []
        self._named: dict[Any, list[tuple[int, MapMember]]] = {}
        for index, member in enumerate(sequence):
            if member.literal is None:
                self._wild.append((index, member))
            else:
                self._named.setdefault(member.literal, []).append((index, member))

    def find_entries(self, key: Any) -> MemberList:
        """Return the entries that a key fits, up to the first cut; literal keys come first."""
        fitting: MemberList = []
        candidates = [*self._named.get(key, []), *self._wild]
        for _, member in sorted(candidates, key=lambda pair: pair[0]):
            if not self._matches(member.key, key):
                continue
            if member.most != 0:
                fitting.append(member)
            if member.cut:
                break
        return sorted(fitting, key=lambda member: member.literal is None)


# The elements of an array that do not fit. In an array of one repeated type or of fixed length,
# every wrong element is a problem of its own. Any other array is matched again, in the same way as
# the compiled check does it, and the furthest element reached is the one to talk about.


def _list_element_problems(
    node: ArrayType, elements: list[Any], matches: TypeCheck
) -> list[ElementProblem] | None:
    """Return the wrong elements of an array, and a wrong length.

    A wrong element is its index and type; a wrong length is 0 and a description. Return None for an
    array type with optional, repeated or alternative parts, other than one repeated type: such an
    array has to be traced.
    """
    match node.group.alternatives:
        case [[GroupItem(value=value) as only]] if not isinstance(value, GroupNode):
            types = [value] * len(elements)
            return [
                *_list_length_problems(only, len(elements)),
                *_list_wrong_elements(types, elements, matches),
            ]
        case [sequence]:
            single = [item.value for item in sequence if item.occurs_once]
            types = [value for value in single if not isinstance(value, GroupNode)]
            if len(types) != len(sequence):
                return None
            problems = _list_wrong_elements(types, elements, matches)
            if len(elements) != len(sequence):
                problems.insert(0, (0, f"an array of {format_count(len(sequence), 'element')}"))
            return problems
        case _:
            return None


def _list_wrong_elements(
    types: list[TypeNode], elements: list[Any], matches: TypeCheck
) -> list[ElementProblem]:
    """Return each element that does not match the type at its index, as index and type."""
    pairs = enumerate(zip(types, elements, strict=False))
    return [(index, node) for index, (node, element) in pairs if not matches(node, element)]


def _list_length_problems(item: GroupItem, length: int) -> list[ElementProblem]:
    """Return one problem if a length is outside the occurrences of an entry, else none."""
    if length < item.least:
        return [(0, f"at least {format_count(item.least, 'element')}")]
    if item.most is not None and length > item.most:
        return [(0, f"at most {format_count(item.most, 'element')}")]
    return []


class _ArrayTrace:
    """Matches an array like the compiled check.

    `furthest` is the index of the furthest element reached, and `wanted` the types tried there.
    """

    def __init__(self, elements: list[Any], matches: TypeCheck) -> None:
        """Start before the first element."""
        self._elements = elements
        self._matches = matches
        self._known: dict[tuple[int, int], int] = {}
        self.furthest = 0
        self.wanted: list[TypeNode] = []

    def run(self, group: GroupNode) -> None:
        """Match the array with a group, and set `furthest` and `wanted`.

        If the group matches but elements are left over, `furthest` may be the first of them, with
        no type wanted.
        """
        end = self._match_group(group, 0)
        if end > self.furthest:
            self.furthest, self.wanted = end, []

    def _match_group(self, group: GroupNode, at: int) -> int:
        """Return the position after a group that starts at `at`, or -1 if it does not match."""
        key = (id(group), at)
        if key not in self._known:
            ends = (self._match_sequence(sequence, at) for sequence in group.alternatives)
            self._known[key] = next((end for end in ends if end >= 0), -1)
        return self._known[key]

    def _match_sequence(self, sequence: list[GroupItem], at: int) -> int:
        """Return the position after entries that start at `at`, or -1 if they do not match."""
        for item in sequence:
            count = 0
            while item.most is None or count < item.most:
                end = self._match_value(item.value, at)
                if end < 0:
                    break
                count += 1
                if end == at:
                    # It matched no element, and would do so any number of times.
                    count = max(count, item.least)
                    break
                at = end
            if count < item.least:
                return -1
        return at

    def _match_value(self, value: TypeNode | GroupNode, at: int) -> int:
        """Return the position after one type or group at `at`; else note the type, return -1."""
        if isinstance(value, GroupNode):
            return self._match_group(value, at)
        if at < len(self._elements) and self._matches(value, self._elements[at]):
            return at + 1
        if at > self.furthest:
            self.furthest, self.wanted = at, []
        if at == self.furthest:
            self.wanted.append(value)
        return -1


# Literals that distinguish alternatives: the lower the weight, the closer the alternative.


def _weigh_map_literals(sequences: list[MemberList], members: dict[Any, Any]) -> int:
    """Return how many required members have a wrong literal, minus how many have a right one.

    Return 0 for a map type with alternative lists of entries.
    """
    if len(sequences) != 1:
        return 0
    return sum(
        _weigh_literal(member.value, members[member.literal])
        for member in sequences[0]
        if member.required and member.literal is not None and member.literal in members
    )


def _weigh_array_literals(node: ArrayType, elements: list[Any]) -> int:
    """Return how many elements have a wrong literal, minus how many have a right one.

    Only the elements before the first optional or repeated one count. Return 0 for an array type
    with alternatives.
    """
    if len(node.group.alternatives) != 1:
        return 0
    total = 0
    for item, element in zip(node.group.alternatives[0], elements, strict=False):
        if not item.occurs_once or isinstance(item.value, GroupNode):
            break
        total += _weigh_literal(item.value, element)
    return total


def _weigh_literal(node: TypeNode, value: Any) -> int:
    """Return -1 for a value that is one of a type's literals, and 1 for another value.

    Return 0 where that means little: for a value that is neither text nor integer, or a type that
    has other alternatives than literals or no literal of the value's kind.
    """
    if value.__class__ not in {str, int}:
        return 0
    literals = [
        leaf.value if isinstance(leaf, LiteralType) else evaluate_constant(leaf)
        for leaf in flatten_choice(node)
    ]
    same_kind = [literal for literal in literals if literal.__class__ is value.__class__]
    if None in literals or not same_kind:
        return 0
    return -1 if value in same_kind else 1

"""The words of a finding: values in short, types in the notation of CDDL, and JSON pointers. Step:
validate.

No value is ever shown whole: a record may hold megabytes, and what is in it may be secret.

Find the elements that keep an array from matching. Step: validate.

For arrays of one repeated type or of fixed length every wrong element is a problem of its own. For
the others, matching is traced as `arrays` compiles it (RFC 8610 Appendix A), and the furthest
element reached is the one to talk about.

Find the members that keep a map from matching, and weigh how far it is from a type. Step:
validate.

Keys are looked up and not compared with every entry, and past `MOST_PROBLEMS` nothing more is
looked for: a map with a hundred thousand unknown members is explained as quickly as one with a
hundred.

A finding: where a value does not match, and what was expected there. Step: validate.

Say where and why a value does not match. Step: validate.

Runs only after the compiled check has said no, and asks compiled checks for every yes or no on the
way, so the two cannot disagree. A choice is explained by the alternative that came closest: of maps
the one whose literal member fits (`type: "tool-call"`), of arrays the one whose literal elements
do, else the one with the fewest problems. Each level is weighed before it is entered and only one
alternative is entered, so the work stays in proportion to the value. At most `MOST_FINDINGS` are
given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vacr.cddl.cbor_items import MalformedCborError
from vacr.cddl.controls import BYTE_DECODERS, evaluate_constant
from vacr.cddl.limits import WorkLimitError, run_with_larger_stack
from vacr.cddl.maps import expand_map_group, find_discriminator
from vacr.cddl.model import (
    BIGNUM_TAGS,
    LIST_TYPES,
    AnyType,
    ArrayType,
    ChoiceType,
    ControlType,
    GroupItem,
    GroupNode,
    LiteralType,
    MajorType,
    MapType,
    RangeType,
    RuleRef,
    SimpleType,
    TagType,
    TypeNode,
    as_map,
    bignum_of,
    flatten_choice,
    flatten_named_choice,
    is_undefined,
    resolve_refs,
    simple_number,
    tag_of,
)
from vacr.errors import escape_unprintable

if TYPE_CHECKING:
    from vacr.cddl.maps import MapMember

MAX_SHOWN_VALUE_LENGTH = 60
MAX_SHOWN_TYPE_LENGTH = 120
MAX_SHOWN_NAMES = 12
_MAX_POINTER_TOKEN_LENGTH = 100
_MAX_SHOWN_DEPTH = 6
_MAX_SHOWN_BITS = 128


def describe_value(value: Any) -> str:
    """Say in few words what a value is."""
    if isinstance(value, str):
        return f"text {quote_text(value)}"
    if isinstance(value, bytes):
        return f"bytes {format_hex_bytes(value)}"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return _describe_number(value)
    members = as_map(value)
    if members is not None:
        return f"a map of {format_count(len(members), 'member')}"
    if isinstance(value, LIST_TYPES):
        return f"an array of {format_count(len(value), 'element')}"
    return _describe_uncommon_value(value)


def _describe_uncommon_value(value: Any) -> str:
    tag = tag_of(value)
    if tag is not None:
        return f"tag {tag[0]}"
    if is_undefined(value):
        return "undefined"
    number = simple_number(value)
    return f"a Python {type(value).__name__[:40]}" if number is None else f"simple({number})"


def _describe_number(value: int | float) -> str:  # noqa: PYI041 - the two are told apart here
    if isinstance(value, float):
        return f"float {value!r}"
    # Writing out a large integer takes long, and Python refuses it past some thousand digits.
    bits = value.bit_length()
    return f"integer {value}" if bits <= _MAX_SHOWN_BITS else f"an integer of {bits} bits"


def format_count(count: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def quote_text(text: str) -> str:
    """Write the beginning of a text in quotes, with nothing in it that could drive a terminal."""
    cut = text if len(text) <= MAX_SHOWN_VALUE_LENGTH else text[: MAX_SHOWN_VALUE_LENGTH - 1] + "…"
    plain = escape_unprintable(cut.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{plain if len(plain) <= MAX_SHOWN_VALUE_LENGTH + 10 else plain[:MAX_SHOWN_VALUE_LENGTH] + "…"}"'


def format_hex_bytes(data: bytes) -> str:
    """Write the beginning of some bytes."""
    most = MAX_SHOWN_VALUE_LENGTH // 4
    return (
        f"h'{data.hex()}'" if len(data) <= most else f"h'{data[:most].hex()}…' ({len(data)} bytes)"
    )


def format_pointer_step(key: Any) -> str:
    """Write a key or index as one step of a JSON pointer (RFC 6901); keys that JSON cannot have in
    diagnostic notation.
    """
    text = key if isinstance(key, str) else format_key(key)
    if len(text) > _MAX_POINTER_TOKEN_LENGTH:
        text = text[: _MAX_POINTER_TOKEN_LENGTH - 1] + "…"
    return "/" + text.replace("~", "~0").replace("/", "~1")


def format_key(key: Any) -> str:
    """Write a key as it is named in a message."""
    if isinstance(key, str):
        return quote_text(key)
    if isinstance(key, bytes):
        return format_hex_bytes(key)
    if isinstance(key, bool):
        return str(key).lower()
    return (
        _describe_number(key).rpartition(" ")[2]
        if isinstance(key, int | float)
        else describe_value(key)
    )


def describe_type(node: TypeNode, depth: int = 0) -> str:
    """Write a type in the notation of CDDL, in short."""
    text = _describe_whole_type(node, depth)
    return text if len(text) <= MAX_SHOWN_TYPE_LENGTH else text[: MAX_SHOWN_TYPE_LENGTH - 1] + "…"


def _describe_whole_type(node: TypeNode, depth: int) -> str:
    if depth > _MAX_SHOWN_DEPTH:
        return "…"
    match node:
        case RuleRef():
            return node.name
        case LiteralType():
            return _format_literal(node.value)
        case ChoiceType(alternatives=alternatives):
            several = [describe_type(part, depth + 1) for part in alternatives[:20]]
            return " / ".join(several) if several else "nothing (an empty choice)"
        case RangeType():
            dots = ".." if node.inclusive else "..."
            return (
                f"{describe_type(node.low, depth + 1)}{dots}{describe_type(node.high, depth + 1)}"
            )
        case ControlType():
            value = evaluate_constant(node)
            if value is not None:
                return _format_literal(value)
            inner = evaluate_constant(node.controller)
            controller = (
                _describe_operand(node.controller, depth)
                if inner is None
                else _format_literal(inner)
            )
            return f"{_describe_operand(node.target, depth)} .{node.operator} {controller}"
        case TagType():
            number = (
                ""
                if node.number is None
                else f".{node.number}"
                if isinstance(node.number, int)
                else ".<…>"
            )
            return f"#6{number}({describe_type(node.content, depth + 1)})"
        case MapType():
            return "a map"
        case ArrayType():
            return "an array"
        case AnyType():
            return "any"
        case MajorType():
            return f"#{node.major}" if node.argument is None else f"#{node.major}.{node.argument}"
        case SimpleType():
            return f"#7.<{describe_type(node.number, depth + 1)}>"


def _describe_operand(node: TypeNode, depth: int) -> str:
    """Write one side of an operator, a choice in parentheses."""
    text = describe_type(node, depth + 1)
    return f"({text})" if isinstance(node, ChoiceType | RangeType | ControlType) else text


def _format_literal(value: float | str | bytes) -> str:
    if isinstance(value, str):
        return quote_text(value)
    return (
        format_hex_bytes(value)
        if isinstance(value, bytes)
        else _describe_number(value).rpartition(" ")[2]
    )


def describe_allowed_members(sequence: list[MapMember]) -> str:
    """Say which members a map may have."""
    names = [
        format_key(member.literal)
        for member in sequence
        if member.literal is not None and member.most != 0
    ]
    names += [f"{describe_type(member.key)} => …" for member in sequence if member.literal is None]
    more = f", … ({len(names)} in all)" if len(names) > MAX_SHOWN_NAMES else ""
    return f"one of {', '.join(names[:MAX_SHOWN_NAMES])}{more}" if names else "no members"


def describe_member_count(member: MapMember) -> str:
    """Say how many members an entry asks for."""
    most = "or more" if member.most is None else f"to {member.most}"
    key = describe_type(member.key)
    if member.share is not None:
        return f"members {key} => {describe_type(member.value)}, as many as its group has copies"
    return f"{member.least} {most} members {key} => {describe_type(member.value)}"


if TYPE_CHECKING:
    from collections.abc import Callable


def list_element_problems(
    node: ArrayType, elements: list[Any], ok: Callable[[TypeNode, Any], bool]
) -> list[tuple[int, TypeNode | str]] | None:
    """List the wrong elements with their types, and a wrong length as text; None when the array has
    to be traced.
    """
    match node.group.alternatives:
        case [[GroupItem(value=value) as only]] if not isinstance(value, GroupNode):
            return [
                *_list_length_problems(only, len(elements)),
                *_list_wrong_elements([value] * len(elements), elements, ok),
            ]
        case [sequence]:
            types = [item.value for item in sequence if (item.least, item.most) == (1, 1)]
            plain = [inner for inner in types if not isinstance(inner, GroupNode)]
            if len(plain) != len(sequence):
                return None
            wrong = _list_wrong_elements(plain, elements, ok)
            if len(elements) != len(sequence):
                wrong.insert(0, (0, f"an array of {format_count(len(sequence), 'element')}"))
            return wrong
        case _:
            return None


def _list_wrong_elements(
    types: list[TypeNode], elements: list[Any], ok: Callable[[TypeNode, Any], bool]
) -> list[tuple[int, TypeNode | str]]:
    pairs = zip(types, elements, strict=False)
    return [
        (index, inner) for index, (inner, element) in enumerate(pairs) if not ok(inner, element)
    ]


def _list_length_problems(item: GroupItem, length: int) -> list[tuple[int, TypeNode | str]]:
    if length < item.least:
        return [(0, f"at least {format_count(item.least, 'element')}")]
    if item.most is not None and length > item.most:
        return [(0, f"at most {format_count(item.most, 'element')}")]
    return []


class ArrayTrace:
    """Matches an array as the compiled check does, and remembers how far it came and what was
    wanted there.
    """

    def __init__(self, elements: list[Any], ok: Callable[[TypeNode, Any], bool]) -> None:
        """Stand before the first element."""
        self._elements = elements
        self._ok = ok
        self._known: dict[tuple[int, int], int] = {}
        self.furthest = 0
        self.wanted: list[TypeNode] = []

    def run(self, group: GroupNode) -> None:
        """Match the whole; what is left over counts as reached."""
        end = self._group(group, 0)
        if end > self.furthest:
            self.furthest, self.wanted = end, []

    def _group(self, group: GroupNode, at: int) -> int:
        key = (id(group), at)
        if key not in self._known:
            ends = (self._sequence(sequence, at) for sequence in group.alternatives)
            self._known[key] = next((end for end in ends if end >= 0), -1)
        return self._known[key]

    def _sequence(self, sequence: list[GroupItem], at: int) -> int:
        for item in sequence:
            count = 0
            while item.most is None or count < item.most:
                end = self._once(item.value, at)
                if end < 0:
                    break
                count += 1
                if end == at:
                    count = max(count, item.least)
                    break
                at = end
            if count < item.least:
                return -1
        return at

    def _once(self, value: TypeNode | GroupNode, at: int) -> int:
        if isinstance(value, GroupNode):
            return self._group(value, at)
        if at < len(self._elements) and self._ok(value, self._elements[at]):
            return at + 1
        if at > self.furthest:
            self.furthest, self.wanted = at, []
        if at == self.furthest:
            self.wanted.append(value)
        return -1


if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.cddl.maps import MapMember
    from vacr.cddl.model import ArrayType, MapType, TypeNode

MISSING_MEMBER = object()
MAX_MAP_PROBLEMS = 200


def list_map_problems(
    sequence: list[MapMember], members: dict[Any, Any], ok: Callable[[TypeNode, Any], bool]
) -> list[tuple[Any, MapMember | None]]:
    """List the members that are missing, unknown (with None) or do not fit their entry."""
    problems: list[tuple[Any, MapMember | None]] = []
    problems += [
        (MISSING_MEMBER, member)
        for member in sequence
        if member.literal is not None and member.required and member.literal not in members
    ]
    entries = _MemberOptions(sequence, ok)
    for key, value in members.items():
        if len(problems) >= MAX_MAP_PROBLEMS:
            break
        options = entries.options(key)
        if not options:
            problems.append((key, None))
        elif not any(ok(member.value, value) for member in options) or (
            options[0].required
            and options[0].literal is not None
            and not ok(options[0].value, value)
        ):
            problems.append((key, options[0]))
    return problems


class _MemberOptions:
    """The entries of a list, by literal key."""

    def __init__(self, sequence: list[MapMember], ok: Callable[[TypeNode, Any], bool]) -> None:
        self._ok = ok
        self._wild = [
            (index, member) for index, member in enumerate(sequence) if member.literal is None
        ]
        self._named: dict[Any, list[tuple[int, MapMember]]] = {}
        for index, member in enumerate(sequence):
            if member.literal is not None:
                self._named.setdefault(member.literal, []).append((index, member))

    def options(self, key: Any) -> list[MapMember]:
        """Give the entries that a key fits, up to the first that binds; those with a literal key
        first.
        """
        found: list[MapMember] = []
        named = self._named.get(key, [])
        for _, member in sorted([*named, *self._wild], key=lambda pair: pair[0]):
            if not self._ok(member.key, key):
                continue
            if member.most != 0:
                found.append(member)
            if member.cut:
                break
        return sorted(found, key=lambda member: member.literal is None)


# --- literals that tell alternatives apart
# ------------------------------------------------------------


def weigh_map_literals(node: MapType, members: dict[Any, Any]) -> int:
    """Count the required members with a literal value that do not fit, less those that do."""
    sequences = expand_map_group(node.group)
    if len(sequences) != 1:
        return 0
    values = [
        (member.value, members[member.literal])
        for member in sequences[0]
        if member.required and member.literal is not None and member.literal in members
    ]
    return sum(_weigh_literal(inner, value) for inner, value in values)


def weigh_array_literals(node: ArrayType, elements: list[Any]) -> int:
    """Count the elements with a literal value that do not fit, less those that do, as far as every
    element is there once.
    """
    total = 0
    for sequence in node.group.alternatives[:1] if len(node.group.alternatives) == 1 else ():
        for item, element in zip(sequence, elements, strict=False):
            if (item.least, item.most) != (1, 1) or isinstance(item.value, GroupNode):
                break
            total += _weigh_literal(item.value, element)
    return total


def _weigh_literal(node: TypeNode, value: Any) -> int:
    """Give 1 when a type is all literals and a value of their kind is none of them, -1 when it is
    one.
    """
    if value.__class__ not in {str, int}:
        return 0
    literals = [
        leaf.value if isinstance(leaf, LiteralType) else evaluate_constant(leaf)
        for leaf in flatten_choice(node)
    ]
    if (
        not literals
        or None in literals
        or not any(literal.__class__ is value.__class__ for literal in literals)
    ):
        return 0
    return (
        -1
        if any(literal.__class__ is value.__class__ and literal == value for literal in literals)
        else 1
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a value does not match its schema."""

    pointer: str
    """The JSON pointer (RFC 6901) of the value; empty for the whole."""
    rule: str
    """The rule that was not met: the nearest one with a name."""
    found: str
    """What is there, in few words."""
    expected: str
    """What should be there, in the notation of CDDL."""

    def text(self) -> str:
        """Say it in one line."""
        return (
            f"{escape_unprintable(self.pointer) or '(root)'}: {self.rule}: {self.found}, expected "
            f"{self.expected}"
        )


if TYPE_CHECKING:
    from vacr.cddl.compiler import CheckProgram

MAX_FINDINGS = 100


def make_unchecked_finding(node: TypeNode, reason: str, rule: str) -> Finding:
    """Say about a whole value why it could not be checked."""
    return Finding("", rule, reason, describe_type(node))


class Explainer:
    """One explanation, of one value."""

    def __init__(self, program: CheckProgram) -> None:
        """Use the checks of a program."""
        self._program = program
        self._found: list[Finding] = []

    def findings(self, node: TypeNode, value: Any, rule: str) -> list[Finding]:
        """Explain a value that does not match."""

        def explain() -> None:
            self._found.clear()
            self._explain(node, value, "", rule)

        try:
            run_with_larger_stack(explain)
        except RecursionError:
            self._found.append(
                make_unchecked_finding(node, "a value nested too deeply to be explained", rule)
            )
        except WorkLimitError as error:
            self._found.append(make_unchecked_finding(node, str(error), rule))
        finally:
            self._program.forget()
        # A value can be right part by part and yet not fit together, in ways no part can tell.
        return self._found or [Finding("", rule, describe_value(value), describe_type(node))]

    def ok(self, node: TypeNode, value: Any) -> bool:
        """Ask the compiled check."""
        return bool(self._program.predicate(node)(value))

    def _add(self, pointer: str, rule: str, found: str, expected: str) -> None:
        if len(self._found) < MAX_FINDINGS:
            self._found.append(Finding(pointer, rule, found, expected))

    @property
    def _full(self) -> bool:
        return len(self._found) >= MAX_FINDINGS

    def _explain(self, node: TypeNode, value: Any, pointer: str, rule: str) -> None:
        """Add the findings about a value that does not match a type."""
        if self._full:
            return
        expected = describe_type(node)
        while isinstance(node, RuleRef):
            if not node.standard:
                rule = node.name
                expected = (
                    node.name
                    if isinstance(resolve_refs(node), MapType | ArrayType)
                    else describe_type(node.node)
                )
            node = node.node
        members = as_map(value)
        match node:
            case ChoiceType():
                self._choice(node, value, pointer, rule, expected)
            case MapType() if members is not None:
                self._map(node, members, pointer, rule)
            case ArrayType() if isinstance(value, LIST_TYPES):
                self._array(node, list(value), pointer, rule)
            case TagType():
                self._tag(node, value, pointer, rule)
            case ControlType():
                self._controlled(node, value, pointer, rule)
            case _:
                kind = describe_type(node)
                compound = isinstance(node, MapType | ArrayType) and kind != expected
                self._add(
                    pointer,
                    rule,
                    describe_value(value),
                    f"{expected} ({kind})" if compound else expected,
                )

    def _tag(self, node: TagType, value: Any, pointer: str, rule: str) -> None:
        tag = (
            bignum_of(value, node.number)
            if node.number in BIGNUM_TAGS and not self._program.json
            else tag_of(value)
        )
        if tag is not None and (node.number is None or node.number == tag[0]):
            self._explain(node.content, tag[1], pointer, rule)
        else:
            self._add(pointer, rule, describe_value(value), describe_type(node))

    def _controlled(self, node: ControlType, value: Any, pointer: str, rule: str) -> None:
        """Look for the side that does not match, and into bytes that hold CBOR."""
        inner = resolve_refs(node.target)
        if not self.ok(inner, value) and not isinstance(inner, AnyType):
            compound = isinstance(inner, MapType | ArrayType | TagType)
            if compound or node.operator in {"default", "feature", "and", "within"}:
                self._explain(node.target, value, pointer, rule)
                return
        elif node.operator in {"and", "within", "eq"} and isinstance(
            resolve_refs(node.controller), MapType | ArrayType
        ):
            self._explain(node.controller, value, pointer, rule)
            return
        elif node.operator in BYTE_DECODERS and isinstance(value, bytes):
            try:
                held = self._program.held.decoded(value, BYTE_DECODERS[node.operator])
            except MalformedCborError as error:
                self._add(pointer, rule, f"bytes that are not CBOR ({error})", describe_type(node))
                return
            self._explain(node.controller, held, pointer, rule)
            return
        self._add(pointer, rule, describe_value(value), describe_type(node))

    # --- choices
    # ---------------------------------------------------------------------------------------

    def _choice(self, node: ChoiceType, value: Any, pointer: str, rule: str, expected: str) -> None:
        """Explain the alternative that came closest, or name them all when none did."""
        named = flatten_named_choice(node)
        members = as_map(value)
        candidates: list[tuple[Any, str, TypeNode]] = []
        if members is not None:
            inner = [(name, leaf) for name, leaf in named if isinstance(leaf, MapType)]
            if len(inner) > 1 and self._undecided(
                [leaf for _, leaf in inner], members, pointer, rule
            ):
                return
            candidates += [(self._map_weight(leaf, members), name, leaf) for name, leaf in inner]
        elif isinstance(value, LIST_TYPES):
            arrays = [(name, leaf) for name, leaf in named if isinstance(leaf, ArrayType)]
            candidates += [
                (self._array_weight(leaf, list(value)), name, leaf) for name, leaf in arrays
            ]
        else:
            candidates += [(0, name, leaf) for name, leaf in named if self._same_kind(leaf, value)]
        if not candidates:
            self._add(pointer, rule, describe_value(value), expected)
            return
        _, name, leaf = min(candidates, key=lambda candidate: candidate[0])
        self._explain(leaf, value, pointer, name or rule)

    def _same_kind(self, leaf: TypeNode, value: Any) -> bool:
        """Tell whether an alternative is worth entering for a value that is neither map
        nor array.
        """
        if isinstance(leaf, TagType):
            tag = tag_of(value)
            return tag is not None and leaf.number == tag[0]
        return (
            isinstance(leaf, ControlType)
            and leaf.operator in BYTE_DECODERS
            and isinstance(value, bytes)
        )

    def _undecided(
        self, inner: list[MapType], members: dict[Any, Any], pointer: str, rule: str
    ) -> bool:
        """When the literal member that tells the maps apart fits none of them, that is the
        finding.
        """
        decided = find_discriminator(inner)
        if decided is None or decided[2]:
            return False
        key, cases, _ = decided
        value = members.get(key)
        if isinstance(value, str) and value in cases:
            return False
        expected = " / ".join(f'"{text}"' for text in list(cases)[:MAX_SHOWN_NAMES])
        if key in members:
            self._add(pointer + format_pointer_step(key), rule, describe_value(value), expected)
        else:
            self._add(pointer, rule, f"missing member {format_key(key)}", expected)
        return True

    # --- maps
    # ------------------------------------------------------------------------------------------

    def _map_weight(self, node: MapType, members: dict[Any, Any]) -> tuple[int, int]:
        """Weigh how far a map is from a type: literal members that fit come first, then the number
        of problems.
        """
        problems = [
            len(list_map_problems(sequence, members, self.ok))
            for sequence in expand_map_group(node.group)
        ]
        return (weigh_map_literals(node, members), min(problems, default=1))

    def _map(self, node: MapType, members: dict[Any, Any], pointer: str, rule: str) -> None:
        """Explain a map by the list of entries it comes closest to."""
        found = [
            list_map_problems(sequence, members, self.ok)
            for sequence in expand_map_group(node.group)
        ]
        sequences = expand_map_group(node.group)
        if not found:
            self._add(pointer, rule, describe_value(members), "nothing (an empty choice)")
            return
        best = min(range(len(found)), key=lambda index: len(found[index]))
        for key, member in found[best]:
            if self._full:
                return
            if key is MISSING_MEMBER:
                assert member is not None  # noqa: S101 - a missing member is always one of the schema
                self._add(
                    pointer,
                    rule,
                    f"missing member {format_key(member.literal)}",
                    describe_type(member.value),
                )
            elif member is None:
                self._add(
                    pointer + format_pointer_step(key),
                    rule,
                    f"unknown member {format_key(key)}",
                    describe_allowed_members(sequences[best]),
                )
            else:
                self._explain(member.value, members[key], pointer + format_pointer_step(key), rule)
        if not found[best]:
            wild = [
                member
                for member in sequences[best]
                if member.literal is None and not member.open_end
            ]
            wanted = "; ".join(map(describe_member_count, wild))
            self._add(pointer, rule, describe_value(members), wanted or describe_type(node))

    # --- arrays
    # ----------------------------------------------------------------------------------------

    def _array_weight(self, node: ArrayType, elements: list[Any]) -> tuple[int, int, int]:
        """Weigh how far an array is from a type: literal elements that fit come first, then the
        number of problems or how far from the end the first is.
        """
        balance = weigh_array_literals(node, elements)
        problems = list_element_problems(node, elements, self.ok)
        if problems is not None:
            return (balance, len(problems), 0)
        trace = ArrayTrace(elements, self.ok)
        trace.run(node.group)
        return (balance, len(elements) - trace.furthest, 1)

    def _array(self, node: ArrayType, elements: list[Any], pointer: str, rule: str) -> None:
        problems = list_element_problems(node, elements, self.ok)
        if problems is None:
            self._trace(node, elements, pointer, rule)
            return
        for index, inner in problems:
            if isinstance(inner, str):
                self._add(pointer, rule, describe_value(elements), inner)
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
        expected = " / ".join(
            dict.fromkeys(describe_type(inner) for inner in wanted[:MAX_SHOWN_NAMES])
        )
        if at >= len(elements):
            self._add(
                pointer,
                rule,
                f"an array that ends after {format_count(at, 'element')}",
                expected or "another length",
            )
        elif len(wanted) == 1:
            self._explain(wanted[0], elements[at], f"{pointer}/{at}", rule)
        else:
            self._add(
                f"{pointer}/{at}",
                rule,
                describe_value(elements[at]),
                expected or "the end of the array",
            )

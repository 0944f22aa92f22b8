"""How deep the smallest instance of a type has to be. Step: validate (for making instances).

A recursive rule is left by the alternative of the least height, so generation always ends; a type
without a finite instance (`a = [a]`), or without one that JSON can hold, has no height at all.

Random strings: plain, from a regular expression, and from ABNF. Step: validate (for making
instances).

Random values of the plain types, and of those that control operators make. Step: validate (for
making instances).

Make random valid instances of a schema. Step: validate (for tests and examples).

The same seed gives the same instance, from a generator of its own (`random.Random`; nothing here is
secret). Depth and size are bounded also for recursive rules. What cannot be built directly is tried
and checked, some number of times.
"""

from __future__ import annotations

import math
import struct
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from vacr.cddl.abnf import (
    AbnfCharacters,
    AbnfChoice,
    AbnfNode,
    AbnfRepeat,
    AbnfRuleName,
    AbnfSequence,
)
from vacr.cddl.controls import (
    COMPUTING_OPERATORS,
    TEXT_DECODERS,
    TEXT_ENCODERS,
    evaluate_constant,
    get_range_bounds,
)
from vacr.cddl.explain import describe_type
from vacr.cddl.limits import WorkLimitError
from vacr.cddl.maps import expand_map_group
from vacr.cddl.model import (
    BIGNUM_TAGS,
    LARGEST_UINT,
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
    flatten_choice,
    resolve_refs,
)
from vacr.cddl.names import list_reachable_nodes
from vacr.cddl.regexp import (
    PatternCharacters,
    PatternChoice,
    PatternError,
    PatternNode,
    PatternRepeat,
    PatternSequence,
    parse_pattern,
)
from vacr.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Iterable

_STRUCTURED_OPERATORS = frozenset({"and", "within", "eq"})


class TypeHeights:
    """The heights of the types reachable from one, in JSON or in CBOR."""

    def __init__(self, node: TypeNode, *, json: bool) -> None:
        """Compute all heights, from the leaves up until nothing changes."""
        self._json = json
        self._known: dict[int, float] = {}
        nodes = list_reachable_nodes([node])
        grown = True
        while grown:
            grown = False
            for inner in nodes:
                height = self._compute(inner)
                if height < self._known.get(id(inner), math.inf):
                    self._known[id(inner)] = height
                    grown = True

    def of(self, node: TypeNode | GroupNode) -> float:
        """Give the height of a type or group; infinite when it has no instance."""
        return self._known.get(id(node), math.inf)

    def sequence(self, items: Iterable[GroupItem]) -> float:
        """Give the height that the required entries of a sequence need."""
        return max((self.item(item) for item in items if item.least), default=0)

    def item(self, item: GroupItem) -> float:
        """Give the height of one entry."""
        return self.of(item.value)

    def _compute(self, node: TypeNode | GroupNode) -> float:
        match node:
            case RuleRef():
                return self.of(node.node)
            case ChoiceType(alternatives=alternatives):
                return min((self.of(part) for part in alternatives), default=math.inf)
            case MapType(group=group):
                return 1 + self._members(group)
            case ArrayType(group=group):
                return 1 + self.of(group)
            case GroupNode():
                return min(map(self.sequence, node.alternatives), default=math.inf)
            case TagType():
                return math.inf if self._json else 1 + self.of(node.content)
            case ControlType():
                return self._controlled(node)
            case _:
                return 0 if self._plain(node) else math.inf

    def _plain(self, node: TypeNode) -> bool:
        """Tell whether a type without parts has an instance here."""
        match node:
            case LiteralType():
                return not (self._json and isinstance(node.value, bytes))
            case MajorType(major=major, argument=argument):
                unwritable = (
                    major == MAJOR_SIMPLE and argument is not None and argument > SIMPLE_NULL
                )
                floats = argument is not None and SIMPLE_FLOAT16 <= argument <= SIMPLE_FLOAT64
                return not self._json or (major != MAJOR_BYTES and (not unwritable or floats))
            case SimpleType():
                return not self._json
            case AnyType() | RangeType():
                return True
            case _:
                return False

    def _controlled(self, node: ControlType) -> float:
        if node.operator in {"cbor", "cborseq"}:
            return math.inf if self._json else 1 + self.of(node.controller)
        if node.operator in TEXT_DECODERS:
            return 1
        if node.operator in _STRUCTURED_OPERATORS:
            return max(self.of(node.target), self.of(node.controller))
        return self.of(node.target)

    def _members(self, group: GroupNode) -> float:
        """Give the height of a group in a map, whose keys have to be possible as well."""
        best = math.inf
        for sequence in group.alternatives:
            heights = [0.0]
            for item in sequence:
                if item.least and isinstance(item.value, GroupNode):
                    heights.append(self._members(item.value))
                elif item.least:
                    heights.append(self.of(item.value) if self.key(item.key) else math.inf)
            best = min(best, max(heights))
        return best

    def key(self, node: TypeNode | None) -> bool:
        """Tell whether a key of this type can be written: in JSON it has to be text."""
        if node is None or not self._json:
            return node is not None
        return any(_can_be_text(leaf) for leaf in flatten_choice(node))


def _can_be_text(leaf: TypeNode) -> bool:
    match leaf:
        case LiteralType(value=value):
            return isinstance(value, str)
        case MajorType(major=major):
            return major == MAJOR_TEXT
        case ControlType(target=target):
            return any(map(_can_be_text, flatten_choice(target)))
        case _:
            return isinstance(leaf, AnyType)


if TYPE_CHECKING:
    from vacr.cddl.abnf import AbnfGrammar
    from vacr.cddl.regexp import CharacterRanges


_SAMPLE_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_./:~éß漢🙂"
_PRINTABLE_ASCII = (32, 126)
_SURROGATE_RANGE = (0xD800, 0xDFFF)
_MAX_EXTRA_REPEATS = 3
_MAX_GRAMMAR_DEPTH = 30


class NoSampleError(ValueError):
    """There is no string to be had."""


def make_text(random: Random, longest: int = 12) -> str:
    """Make a short text."""
    return "".join(random.choice(_SAMPLE_ALPHABET) for _ in range(random.randint(0, longest)))


def make_text_of_size(random: Random, size: int) -> str:
    """Make a text of so many bytes."""
    return "".join(random.choice(_SAMPLE_ALPHABET[:62]) for _ in range(size))


def make_pattern_text(random: Random, tree: PatternNode) -> str:
    """Make a text that a regular expression matches.

    Raises:
        NoSample: when a set of characters is empty.

    """
    match tree:
        case PatternCharacters(ranges=ranges):
            return chr(_choose_character(random, ranges))
        case PatternSequence(parts=parts):
            return "".join(make_pattern_text(random, part) for part in parts)
        case PatternChoice(branches=branches):
            return make_pattern_text(random, random.choice(branches))
        case PatternRepeat():
            return "".join(
                make_pattern_text(random, tree.part)
                for _ in range(_choose_count(random, tree.least, tree.most))
            )


def make_grammar_codes(random: Random, grammar: AbnfGrammar) -> list[int]:
    """Make a sequence of characters or bytes that ABNF matches.

    Raises:
        NoSample: when the grammar goes too deep.

    """
    return _make_abnf_codes(random, grammar, grammar.start, 0)


def _make_abnf_codes(random: Random, grammar: AbnfGrammar, part: AbnfNode, depth: int) -> list[int]:
    if depth > _MAX_GRAMMAR_DEPTH:
        raise NoSampleError("the grammar goes too deep")
    match part:
        case AbnfCharacters(ranges=ranges):
            return [_choose_character(random, options) for options in ranges]
        case AbnfRuleName(name=name):
            return _make_abnf_codes(random, grammar, grammar.rules[name], depth + 1)
        case AbnfSequence(parts=parts):
            return [
                code
                for inner in parts
                for code in _make_abnf_codes(random, grammar, inner, depth + 1)
            ]
        case AbnfChoice(parts=parts):
            return _make_abnf_codes(random, grammar, random.choice(parts), depth + 1)
        case AbnfRepeat():
            most = part.least if depth > _MAX_GRAMMAR_DEPTH // 2 else part.most
            times = range(_choose_count(random, part.least, most))
            return [
                code
                for _ in times
                for code in _make_abnf_codes(random, grammar, part.part, depth + 1)
            ]


def _choose_count(random: Random, least: int, most: int | None) -> int:
    high = least + _MAX_EXTRA_REPEATS if most is None else min(most, least + _MAX_EXTRA_REPEATS)
    return random.randint(least, high)


def _choose_character(random: Random, ranges: CharacterRanges) -> int:
    """Pick a character, a printable one of ASCII if there is one, never a surrogate."""
    for low, high in (
        _PRINTABLE_ASCII,
        (0, _SURROGATE_RANGE[0] - 1),
        (_SURROGATE_RANGE[1] + 1, 0x10FFFF),
    ):
        inside = [(max(low, a), min(high, b)) for a, b in ranges if a <= high and b >= low]
        if inside:
            return random.randint(*random.choice(inside))
    raise NoSampleError("no character fits")


if TYPE_CHECKING:
    from collections.abc import Callable


_EDGE_INTEGERS = (0, 1, 23, 24, 255, 256, 65535, 65536, 2**32, 2**53, LARGEST_UINT)
_MAX_SAMPLE_SIZE = 4096
_LAST_BIT = 63
_FLOAT_FORMATS = {SIMPLE_FLOAT16: "<e", SIMPLE_FLOAT32: "<f", SIMPLE_FLOAT64: "<d"}
_SIMPLE_WORDS = {SIMPLE_FALSE: False, SIMPLE_TRUE: True, SIMPLE_NULL: None}
_HEAD_RANGES = {24: (24, 255), 25: (256, 65535), 26: (65536, 2**32 - 1), 27: (2**32, LARGEST_UINT)}


def make_any_value(random: Random, *, json: bool) -> Any:
    """Make a value of `any`."""
    plain = [
        True,
        None,
        random.randint(-100, 100),
        random.random(),
        make_text(random),
        [1, "a"],
        {"a": [None]},
    ]
    return random.choice(plain if json else [*plain, random.randbytes(4), {1: b"\x00"}])


def make_kind_value(random: Random, kind: MajorType, *, json: bool) -> Any:
    """Make a value of a major type.

    Raises:
        NoSample: when there is none.

    """
    if kind.major > MAJOR_MAP:
        return _make_simple_or_float(random, kind.argument, json=json)
    measure = _make_head_argument(random, kind.argument)
    if kind.major in {MAJOR_UINT, MAJOR_NINT}:
        return measure if kind.major == MAJOR_UINT else -1 - measure
    length = measure if kind.argument is not None else random.randint(0, 8)
    if length > _MAX_SAMPLE_SIZE:
        raise NoSampleError("too long to be made")
    made: dict[int, Callable[[], Any]] = {
        MAJOR_BYTES: lambda: random.randbytes(length),
        MAJOR_TEXT: lambda: (
            make_text_of_size(random, length) if kind.argument else make_text(random)
        ),
        MAJOR_ARRAY: lambda: [make_any_value(random, json=json) for _ in range(length)],
        MAJOR_MAP: lambda: {
            f"k{index}": make_any_value(random, json=json) for index in range(length)
        },
    }
    return made[kind.major]()


def _make_head_argument(random: Random, argument: int | None) -> int:
    """Make the argument of a head: any, or one that is written with this additional information."""
    if argument is None:
        return random.choice((*_EDGE_INTEGERS, random.randint(0, 1000)))
    if argument in _HEAD_RANGES:
        return random.randint(*_HEAD_RANGES[argument])
    if argument > max(_HEAD_RANGES):
        raise NoSampleError("no such additional information")
    return argument


def _make_simple_or_float(random: Random, argument: int | None, *, json: bool) -> Any:
    if argument is None:
        return random.choice((True, False, None, 0.5))
    if argument in _FLOAT_FORMATS:
        form = _FLOAT_FORMATS[argument]
        value = random.choice((0.0, 1.5, -2.25, 1000.0, random.uniform(-100, 100)))
        return struct.unpack(form, struct.pack(form, value))[0]
    if argument in _SIMPLE_WORDS:
        return _SIMPLE_WORDS[argument]
    if json:
        raise NoSampleError("no such value in JSON")
    return make_simple_value(argument)


def make_simple_value(number: object) -> Any:
    """Make a simple value of CBOR.

    Raises:
        NoSample: when there is none of this number.

    """
    import cbor2

    if number in {SIMPLE_FALSE, SIMPLE_TRUE, SIMPLE_NULL}:
        return _SIMPLE_WORDS[int(str(number))]
    if number == SIMPLE_UNDEFINED:
        return cbor2.undefined
    try:
        return cbor2.CBORSimpleValue(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise NoSampleError("no such simple value") from None


def make_number_in_range(random: Random, node: RangeType) -> int | float:
    """Make a number of a range.

    Raises:
        NoSample: when the range is empty.

    """
    low, high = get_range_bounds(node)
    if isinstance(low, float) or isinstance(high, float):
        return random.choice((low, random.uniform(low, high)))
    last = high if node.inclusive else high - 1
    if last < low:
        raise NoSampleError("an empty range")
    return random.choice((low, last, random.randint(low, last)))


def make_hashable_key(key: Any) -> Any:
    """Turn a key into what a dict takes; what cannot be a key becomes text."""
    if isinstance(key, list):
        return tuple(map(make_hashable_key, key))
    return str(key) if isinstance(key, dict) else key


# --- control operators
# --------------------------------------------------------------------------------


def make_controlled_value(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    """Make a value that a control operator may accept; the caller checks it."""
    value = evaluate_constant(node)
    if value is not None and node.operator in COMPUTING_OPERATORS:
        return value
    if node.operator in TEXT_ENCODERS:
        return _make_encoded_text(generator, node, room)
    make = _CONTROL_MAKERS.get(node.operator)
    return make(generator, node, room) if make else generator.make(node.target, room)


def _make_encoded_text(generator: InstanceGenerator, node: ControlType, room: int) -> str:
    """Make what the text stands for, which may be bytes also in JSON, and write it as text."""
    held, generator.json = generator.json, generator.json and node.operator == "json"
    try:
        return TEXT_ENCODERS[node.operator](generator.make(node.controller, room))
    except (TypeError, ValueError, AttributeError):
        raise NoSampleError("not to be written as text") from None
    finally:
        generator.json = held


def _make_either_side(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    return generator.make(generator.random.choice((node.target, node.controller)), room)


def _make_equal_value(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    return generator.make(node.controller, room)


def _make_nearby_number(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    """Make a number near the one it is compared with."""
    step = generator.random.choice((0, 1, -1, generator.random.randint(-1000, 1000)))
    near = [node.detail, node.detail + step, float(node.detail) + step]
    return generator.random.choice([*near, generator.make(node.target, room)])


def _make_sized_value(generator: InstanceGenerator, node: ControlType, _: int) -> Any:
    """Make a string of a size, or an integer that fits into one."""
    size = generator.make(node.controller, 0)
    if not isinstance(size, int) or not 0 <= size <= _MAX_SAMPLE_SIZE:
        raise NoSampleError("no such size is made")
    random = generator.random
    made: list[Any] = []
    for leaf in flatten_choice(node.target):
        major = _find_major_type(leaf)
        if major == MAJOR_TEXT:
            made.append(make_text_of_size(random, size))
        elif major == MAJOR_BYTES and not generator.json:
            made.append(random.randbytes(size))
        elif major == MAJOR_UINT:
            made.append(random.randrange(256 ** min(size, 8)))
    return random.choice(made) if made else generator.make(node.target, 0)


def _find_major_type(leaf: TypeNode) -> int | None:
    """Give the major type under the control operators of a type."""
    while isinstance(leaf, ControlType):
        leaf = flatten_choice(leaf.target)[0]
    return leaf.major if isinstance(leaf, MajorType) else None


def _make_bit_set(generator: InstanceGenerator, node: ControlType, _: int) -> Any:
    """Make a set of bits out of those that are allowed."""
    value = 0
    for _attempt in range(generator.random.randint(0, 3)):
        bit = generator.make(node.controller, 0)
        if isinstance(bit, int) and 0 <= bit <= _LAST_BIT:
            value |= 1 << bit
    majors = {_find_major_type(leaf) for leaf in flatten_choice(node.target)}
    if MAJOR_BYTES in majors and (MAJOR_UINT not in majors or generator.random.random() < 0.5):  # noqa: PLR2004 - either
        return value.to_bytes(8, "little")
    return value


def _make_pattern_value(generator: InstanceGenerator, node: ControlType, _: int) -> str:
    text = evaluate_constant(node.controller)
    try:
        tree = parse_pattern(str(text), pcre=node.operator == "pcre")
    except PatternError as error:
        raise NoSampleError(f"no text is made for this pattern ({error})") from None
    return make_pattern_text(generator.random, tree)


def _make_grammar_value(generator: InstanceGenerator, node: ControlType, _: int) -> str | bytes:
    codes = make_grammar_codes(generator.random, node.detail)
    as_text = MAJOR_TEXT in {_find_major_type(leaf) for leaf in flatten_choice(node.target)}
    try:
        made = bytes(codes) if node.operator == "abnfb" else "".join(map(chr, codes)).encode()
        return made.decode() if as_text else made
    except (ValueError, UnicodeError):
        raise NoSampleError("not a string") from None


def _make_cbor_bytes(generator: InstanceGenerator, node: ControlType, room: int) -> bytes:
    """Encode a value, or each value of a sequence."""
    import cbor2

    value = generator.make(node.controller, room)
    if node.operator == "cbor":
        return cbor2.dumps(value)
    return b"".join(map(cbor2.dumps, value))


_CONTROL_MAKERS: dict[str, Callable[[InstanceGenerator, ControlType, int], Any]] = {
    "and": _make_either_side,
    "within": _make_either_side,
    "eq": _make_equal_value,
    "lt": _make_nearby_number,
    "le": _make_nearby_number,
    "gt": _make_nearby_number,
    "ge": _make_nearby_number,
    "size": _make_sized_value,
    "bits": _make_bit_set,
    "regexp": _make_pattern_value,
    "pcre": _make_pattern_value,
    "abnf": _make_grammar_value,
    "abnfb": _make_grammar_value,
    "cbor": _make_cbor_bytes,
    "cborseq": _make_cbor_bytes,
}


if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vacr.cddl.compiler import CheckProgram
    from vacr.cddl.maps import MapMember


_EXTRA_DEPTH = 6
_MAX_NODES = 600
_MAX_STEPS = 30_000
_MAX_TRIES = 30
_MAX_EXTRA_ITEMS = 3
_SAMPLE_TAG_NUMBER = 4711
_Option = TypeVar("_Option")


class InstanceGenerator:
    """Makes instances of one type."""

    def __init__(
        self, node: TypeNode, program: CheckProgram, *, seed: int, json: bool, where: str
    ) -> None:
        """Look at the type once; `program` checks what is made."""
        self.random = Random(seed)  # noqa: S311 - reproducible on purpose, and nothing secret
        self.json = json
        self._node = node
        self._program = program
        self._where = where
        self._heights = TypeHeights(node, json=json)
        self._nodes = 0
        self._steps = 0

    def instance(self) -> Any:
        """Make one instance.

        Raises:
            InvalidSchema: when there is none, or none is found.

        """
        height = self._heights.of(self._node)
        if math.isinf(height):
            self._refuse()
        try:
            return self._checked(
                self._node, lambda: self._make_counted(self._node, int(height) + _EXTRA_DEPTH)
            )
        except NoSampleError as error:
            name = describe_type(self._node)
            raise InvalidSchema(
                f"no instance of {name} was found: {error}", where=self._where
            ) from None
        finally:
            self._program.forget()

    def _make_counted(self, node: TypeNode, room: int) -> Any:
        self._nodes = 0
        return self.make(node, room)

    def _refuse(self) -> None:
        name = describe_type(self._node)
        if self.json and not math.isinf(TypeHeights(self._node, json=False).of(self._node)):
            message = (
                f"{name} has no instance in JSON: it needs bytes, tags or keys that are not text"
            )
            raise InvalidSchema(message, where=self._where, hint="ask for the instance as CBOR")
        raise InvalidSchema(f"{name} has no finite instance", where=self._where)

    # --- for every kind of type
    # ------------------------------------------------------------------------

    def matches(self, node: TypeNode, value: Any) -> bool:
        """Ask the compiled check; what would take too long to check is not made."""
        try:
            return bool(self._program.predicate(node)(value))
        except WorkLimitError:
            return False

    def _checked(self, node: TypeNode, make: Callable[[], Any]) -> Any:
        """Try until the check agrees.

        Raises:
            NoSample: when it never does.

        """
        for _ in range(_MAX_TRIES):
            self._steps += 1
            if self._steps > _MAX_STEPS:
                break
            value = make()
            if self.matches(node, value):
                return value
        raise NoSampleError(f"nothing fits {describe_type(node)}")

    def make(self, node: TypeNode, room: int) -> Any:
        """Make a value of a type, going at most so deep where there is a choice.

        Raises:
            NoSample: when none was found.

        """
        node = resolve_refs(node)
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            room = 0
        match node:
            case ChoiceType(alternatives=alternatives):
                return self._first_possible(alternatives, room)
            case MapType():
                return self._checked(node, lambda: self._map(node, room - 1))
            case ArrayType():
                return self._checked(node, lambda: self._group(node.group, room - 1))
            case ControlType():
                return self._checked(node, lambda: make_controlled_value(self, node, room))
            case TagType():
                return self._tag(node, room)
            case LiteralType():
                return node.value
            case RangeType():
                return make_number_in_range(self.random, node)
            case MajorType():
                return make_kind_value(self.random, node, json=self.json)
            case SimpleType():
                return make_simple_value(self.make(node.number, room))
            case AnyType():
                return make_any_value(self.random, json=self.json)

    def _first_possible(self, alternatives: Sequence[TypeNode], room: int) -> Any:
        """Make one alternative; when it cannot be, another."""
        left = list(alternatives)
        problem = NoSampleError("an empty choice")
        while left:
            chosen = self._pick(left, [self._heights.of(part) for part in left], room)
            left.remove(chosen)
            try:
                return self.make(chosen, room)
            except NoSampleError as error:
                problem = error
        raise problem

    def _pick(self, options: list[_Option], heights: list[float], room: int) -> _Option:
        """Pick an option there is room for; the lowest when there is none."""
        lowest = min(heights)
        if math.isinf(lowest):
            raise NoSampleError("no alternative is possible")
        limit = max(lowest, room)
        return self.random.choice(
            [option for option, height in zip(options, heights, strict=True) if height <= limit]
        )

    def _tag(self, node: TagType, room: int) -> Any:
        from cbor2 import CBORTag

        number: Any = node.number
        if not isinstance(number, int):
            number = _SAMPLE_TAG_NUMBER if number is None else self.make(number, 0)
        if not isinstance(number, int) or not 0 <= number <= LARGEST_UINT:
            raise NoSampleError("the number of a tag is not a number")
        content = self.make(node.content, room - 1)
        for _ in range(_MAX_TRIES):
            # Leading zeros of a bignum are lost when it is decoded, and with them perhaps the right
            # length.
            if (
                number not in BIGNUM_TAGS
                or not isinstance(content, bytes)
                or content[:1] != b"\x00"
            ):
                break
            content = self.make(node.content, room - 1)
        return CBORTag(number, content)

    # --- arrays
    # ----------------------------------------------------------------------------------------

    def _group(self, group: GroupNode, room: int) -> list[Any]:
        """Make the elements of an array."""
        if not group.alternatives:
            raise NoSampleError("an empty group choice")
        heights = [self._heights.sequence(sequence) for sequence in group.alternatives]
        sequence = self._pick(group.alternatives, heights, room)
        return [element for item in sequence for element in self._elements(item, room)]

    def _elements(self, item: GroupItem, room: int) -> list[Any]:
        found: list[Any] = []
        for _ in range(self._count(item.least, item.most, self._heights.item(item), room)):
            if isinstance(item.value, GroupNode):
                found += self._group(item.value, room - 1)
            else:
                found.append(self.make(item.value, room))
        return found

    def _count(self, least: int, most: int | None, height: float, room: int) -> int:
        """Choose how often an entry is there: no more than it must be when there is no room."""
        if least > _MAX_NODES:
            raise NoSampleError(f"{least} repetitions are more than are made")
        if height > room or math.isinf(height):
            return least
        return self.random.randint(
            least, least + _MAX_EXTRA_ITEMS if most is None else min(most, least + _MAX_EXTRA_ITEMS)
        )

    # --- maps
    # ------------------------------------------------------------------------------------------

    def _map(self, node: MapType, room: int) -> dict[Any, Any]:
        """Make the members of a map."""
        sequences = expand_map_group(node.group)
        if not sequences:
            raise NoSampleError("an empty group choice")
        heights = [
            max(map(self._member_height, filter(_is_required, s)), default=0.0) for s in sequences
        ]
        sequence = self._pick(sequences, heights, room)
        found: dict[Any, Any] = {}
        copies: int | None = None
        for member in sequence:
            least, most = member.least, member.most
            if member.share is not None:
                share = member.share
                if copies is None:
                    copies = self._count(
                        share.fewest, share.copies, self._member_height(member), room
                    )
                least, most = (
                    share.least * copies,
                    None if share.most is None else share.most * copies,
                )
                most = most if copies else 0
            count = self._count(least, most, self._member_height(member), room)
            if member.literal is not None:
                if count:
                    found[member.literal] = self.make(member.value, room)
                continue
            for _ in range(count):
                self._add_wild(found, member, sequence, room)
        return found

    def _member_height(self, member: MapMember) -> float:
        writable = self._heights.key(member.key)
        return self._heights.of(member.value) if writable else math.inf

    def _add_wild(
        self, found: dict[Any, Any], member: MapMember, sequence: list[MapMember], room: int
    ) -> None:
        """Add a member with a key that is new, and that no other entry names."""
        taken = [other.literal for other in sequence if other.literal is not None]
        for _ in range(_MAX_TRIES):
            key = make_hashable_key(self.make(member.key, 0))
            if key not in found and key not in taken and (isinstance(key, str) or not self.json):
                found[key] = self.make(member.value, room)
                return
        if len(found) < member.least:
            raise NoSampleError(f"no more keys of {describe_type(member.key)}")


def _is_required(member: MapMember) -> bool:
    return member.required

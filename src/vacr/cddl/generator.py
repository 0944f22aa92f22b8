"""Random valid instances of a type, for tests and examples.

A generator walks the graph of types and picks an alternative, a length and a value at each step.
The same seed makes the same instance:

    >>> from vacr.cddl import compile_cddl
    >>> schema = compile_cddl('call = {name: "read" / "write", ? size: 1..9, path: [+ tstr]}')
    >>> instance = schema.generate(seed=7)
    >>> schema.checker().matches(instance), instance == schema.generate(seed=7)
    (True, True)

Depth and size are bounded also for recursive rules: `type_heights` knows how deep the smallest
instance of each type has to be, and past the limit the generator takes the lowest alternative. A
value that cannot be constructed directly, such as one of `int .ne 0`, is tried and checked a number
of times.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NoReturn, TypeVar

from vacr.cddl.abnf import (
    AbnfCharacters,
    AbnfChoice,
    AbnfGrammar,
    AbnfNode,
    AbnfRepeat,
    AbnfRuleName,
    AbnfSequence,
)
from vacr.cddl.compiler import CheckProgram
from vacr.cddl.descriptions import describe_type
from vacr.cddl.maps import MapMember, MemberList, expand_map_group
from vacr.cddl.regexp import (
    CharacterRanges,
    PatternCharacters,
    PatternChoice,
    PatternError,
    PatternNode,
    PatternRepeat,
    PatternSequence,
    parse_pattern,
)
from vacr.cddl.string_contents import TEXT_ENCODERS
from vacr.cddl.tokens import CddlError
from vacr.cddl.type_graph import (
    COMPUTING_OPERATORS,
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
    SimpleType,
    TagType,
    TypeNode,
    evaluate_constant,
    flatten_choice,
    get_range_bounds,
    resolve_refs,
)
from vacr.cddl.type_heights import TypeHeights
from vacr.cddl.values import (
    BIGNUM_TAGS,
    LARGEST_UINT,
    MAJOR_ARRAY,
    MAJOR_BYTES,
    MAJOR_MAP,
    MAJOR_NINT,
    MAJOR_TEXT,
    MAJOR_UINT,
    SIMPLE_FALSE,
    SIMPLE_FLOAT16,
    SIMPLE_FLOAT32,
    SIMPLE_FLOAT64,
    SIMPLE_NULL,
    SIMPLE_TRUE,
    SIMPLE_UNDEFINED,
    WorkLimitError,
)

# How much deeper than necessary an instance may be, and how large.
_EXTRA_DEPTH = 6
_MAX_NODES = 600
_MAX_EXTRA_ITEMS = 3
_MAX_EXTRA_REPEATS = 3
_MAX_GRAMMAR_DEPTH = 30
_MAX_SAMPLE_SIZE = 4096
# How often a value is tried, and how many values altogether.
_MAX_TRIES = 30
_MAX_STEPS = 30_000

_SAMPLE_TAG_NUMBER = 4711
_LAST_BIT = 63
_EDGE_INTEGERS = (0, 1, 23, 24, 255, 256, 65535, 65536, 2**32, 2**53, LARGEST_UINT)
_HEAD_RANGES = {24: (24, 255), 25: (256, 65535), 26: (65536, 2**32 - 1), 27: (2**32, LARGEST_UINT)}
_FLOAT_FORMATS = {SIMPLE_FLOAT16: "<e", SIMPLE_FLOAT32: "<f", SIMPLE_FLOAT64: "<d"}
_SIMPLE_WORDS = {SIMPLE_FALSE: False, SIMPLE_TRUE: True, SIMPLE_NULL: None}

_ASCII_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SAMPLE_ALPHABET = _ASCII_ALPHABET + " -_./:~éß漢🙂"
_PRINTABLE_ASCII = (32, 126)
_BELOW_SURROGATES = (0, 0xD7FF)
_ABOVE_SURROGATES = (0xE000, 0x10FFFF)

_Option = TypeVar("_Option")


class NoSampleError(ValueError):
    """Raised when a type has no instance, or none was found; an alternative may have one."""


class InstanceGenerator:
    """Makes random instances of one type, for JSON or for CBOR."""

    def __init__(
        self, node: TypeNode, program: CheckProgram, *, seed: int, json: bool, where: str
    ) -> None:
        """Compute the heights of the type; `seed` starts the random numbers.

        `json` limits instances to values of JSON. `program` checks the instances, and `where` is
        the place in error messages.
        """
        self.random = Random(seed)  # noqa: S311 - reproducible on purpose, and nothing secret
        self.json = json
        self._node = node
        self._program = program
        self._where = where
        self._heights = TypeHeights(node, json=json)
        self._nodes = 0
        self._steps = 0

    def make_instance(self) -> Any:
        """Return a new random instance of the type.

        Raises:
            CddlError: when the type has no instance, or the search fails.

        """
        height = self._heights.get(self._node)
        if math.isinf(height):
            self._fail_without_instance()
        room = int(height) + _EXTRA_DEPTH
        try:
            return self._make_checked(self._node, lambda: self._make_counted(self._node, room))
        except NoSampleError as error:
            message = f"no instance of {describe_type(self._node)} was found: {error}"
            raise CddlError(message, where=self._where) from None
        finally:
            self._program.forget()

    def _fail_without_instance(self) -> NoReturn:
        """Raise the error for a type of infinite height; it may have instances in CBOR only."""
        name = describe_type(self._node)
        cbor_height = TypeHeights(self._node, json=False).get(self._node)
        if self.json and not math.isinf(cbor_height):
            message = (
                f"{name} has no instance in JSON: it needs bytes, a tag, a key that is not text, "
                "or a simple value other than true, false and null"
            )
            raise CddlError(message, where=self._where, hint="Generate CBOR instead: --cbor")
        raise CddlError(f"{name} has no finite instance", where=self._where)

    def _make_counted(self, node: TypeNode, room: int) -> Any:
        """Return a value like `make`, with the number of nodes counted from 0 again."""
        self._nodes = 0
        return self.make(node, room)

    def _make_checked(self, node: TypeNode, make: Callable[[], Any]) -> Any:
        """Return the first result of `make` that matches the type.

        Raises:
            NoSampleError: when `_MAX_TRIES` results do not match, or the search takes too long.
        """
        for _ in range(_MAX_TRIES):
            self._steps += 1
            if self._steps > _MAX_STEPS:
                break
            value = make()
            if self._matches(node, value):
                return value
        raise NoSampleError(f"none of the generated values matches {describe_type(node)}")

    def _matches(self, node: TypeNode, value: Any) -> bool:
        """Return whether a value matches a type; False if the check takes too long."""
        try:
            return bool(self._program.compile_predicate(node)(value))
        except WorkLimitError:
            return False

    def make(self, node: TypeNode, room: int) -> Any:
        """Return a random value of a type, at most `room` levels deep if the type allows it.

        Raises:
            NoSampleError: when no value was found.

        """
        node = resolve_refs(node)
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            room = 0
        match node:
            case ChoiceType(alternatives=alternatives):
                return self._make_alternative(alternatives, room)
            case MapType():
                return self._make_checked(node, lambda: self._make_map(node, room - 1))
            case ArrayType():
                return self._make_checked(node, lambda: self._make_elements(node.group, room - 1))
            case ControlType():
                return self._make_checked(node, lambda: _make_controlled_value(self, node, room))
            case TagType():
                return self._make_tag(node, room)
            case LiteralType():
                return node.value
            case RangeType():
                return _make_number_in_range(self.random, node)
            case MajorType():
                return _make_kind_value(self.random, node, json=self.json)
            case SimpleType():
                return _make_simple_value(self.make(node.number, room))
            case AnyType():
                return _make_any_value(self.random, json=self.json)

    def _make_alternative(self, alternatives: Sequence[TypeNode], room: int) -> Any:
        """Return a value of a random alternative; if that has none, of another.

        `room` is the number of levels left.

        Raises:
            NoSampleError: when no alternative has a value.
        """
        left = list(alternatives)
        problem = NoSampleError("a choice has no alternatives")
        while left:
            chosen = self._pick(left, [self._heights.get(part) for part in left], room)
            left.remove(chosen)
            try:
                return self.make(chosen, room)
            except NoSampleError as error:
                problem = error
        raise problem

    def _pick(self, options: list[_Option], heights: list[float], room: int) -> _Option:
        """Return a random option of a height up to `room`, or else one of the lowest.

        Raises:
            NoSampleError: when all heights are infinite.

        """
        lowest = min(heights)
        if math.isinf(lowest):
            where = " in JSON" if self.json else ""
            raise NoSampleError(f"no alternative has a finite instance{where}")
        limit = max(lowest, room)
        return self.random.choice(
            [option for option, height in zip(options, heights, strict=True) if height <= limit]
        )

    def _pick_count(self, least: int, most: int | None, height: float, room: int) -> int:
        """Return how often an entry occurs: `least` to `most` times (None: no limit).

        It is `least` if `height` exceeds `room`, or else random, with at most a few more.

        Raises:
            NoSampleError: when the entry is required too often.
        """
        if least > _MAX_NODES:
            raise NoSampleError(
                f"an entry must occur {least} times, but samples have at most {_MAX_NODES} nodes"
            )
        if height > room or math.isinf(height):
            return least
        high = least + _MAX_EXTRA_ITEMS
        return self.random.randint(least, high if most is None else min(most, high))

    def _make_tag(self, node: TagType, room: int) -> Any:
        """Return a `CBORTag` with a number and content of the right types.

        `room` is the number of levels left.

        Raises:
            NoSampleError: the tag number is out of range, or the content has no sample.
        """
        from cbor2 import CBORTag

        number: Any = node.number
        if number is None:
            number = _SAMPLE_TAG_NUMBER
        elif not isinstance(number, int):
            number = self.make(number, 0)
        if not isinstance(number, int) or not 0 <= number <= LARGEST_UINT:
            raise NoSampleError("the tag number is not an integer from 0 to 2^64 - 1")
        content = self.make(node.content, room - 1)
        for _ in range(_MAX_TRIES):
            # Decoding drops the leading zeros of a bignum, and with them perhaps the right length.
            is_bignum = number in BIGNUM_TAGS and isinstance(content, bytes)
            if not is_bignum or content[:1] != b"\x00":
                break
            content = self.make(node.content, room - 1)
        return CBORTag(number, content)

    # Arrays.

    def _make_elements(self, group: GroupNode, room: int) -> list[Any]:
        """Return the elements of an array for one random alternative of a group.

        `room` is the number of levels left.

        Raises:
            NoSampleError: the group has no alternative, or an element has no sample.
        """
        if not group.alternatives:
            raise NoSampleError("a group choice has no alternatives")
        heights = [self._heights.get_sequence(sequence) for sequence in group.alternatives]
        sequence = self._pick(group.alternatives, heights, room)
        return [element for item in sequence for element in self._make_item(item, room)]

    def _make_item(self, item: GroupItem, room: int) -> list[Any]:
        """Return the elements for one entry of a group, repeated a random number of times.

        `room` is the number of levels left.
        """
        elements: list[Any] = []
        height = self._heights.get(item.value)
        for _ in range(self._pick_count(item.least, item.most, height, room)):
            if isinstance(item.value, GroupNode):
                elements += self._make_elements(item.value, room - 1)
            else:
                elements.append(self.make(item.value, room))
        return elements

    # Maps.

    def _make_map(self, node: MapType, room: int) -> dict[Any, Any]:
        """Return a map for one random alternative list of entries; the caller checks it.

        `room` is the number of levels left.

        Raises:
            NoSampleError: the group has no alternative, or a member has no sample.
        """
        sequences = expand_map_group(node.group)
        if not sequences:
            raise NoSampleError("a group choice has no alternatives")
        heights = [self._get_entries_height(entries) for entries in sequences]
        sequence = self._pick(sequences, heights, room)
        members: dict[Any, Any] = {}
        copies: int | None = None
        for member in sequence:
            least, most = member.least, member.most
            height = self._get_member_height(member)
            share = member.share
            if share is not None:
                # All entries of a repeated group use the same number of copies.
                if copies is None:
                    copies = self._pick_count(share.fewest, share.copies, height, room)
                least, most = share.multiply(copies)
            count = self._pick_count(least, most, height, room)
            if member.literal is None:
                for _ in range(count):
                    self._add_wild_member(members, member, sequence, room)
            elif count:
                members[member.literal] = self.make(member.value, room)
        return members

    def _get_entries_height(self, entries: MemberList) -> float:
        """Return the largest height of the required entries; 0 when all are optional."""
        required = [member for member in entries if member.required]
        return max(map(self._get_member_height, required), default=0.0)

    def _get_member_height(self, member: MapMember) -> float:
        """Return the height of an entry's value; infinite if its key cannot be written."""
        writable = self._heights.can_write_key(member.key)
        return self._heights.get(member.value) if writable else math.inf

    def _add_wild_member(
        self, members: dict[Any, Any], member: MapMember, sequence: MemberList, room: int
    ) -> None:
        """Add a member for a wildcard, with a new key that no literal entry of `sequence` has.

        Without such a key, add nothing. `room` is the number of levels left.

        Raises:
            NoSampleError: when no key was found and the map has too few members.
        """
        reserved = [other.literal for other in sequence if other.literal is not None]
        for _ in range(_MAX_TRIES):
            key = _make_hashable_key(self.make(member.key, 0))
            is_new = key not in members and key not in reserved
            if is_new and (isinstance(key, str) or not self.json):
                members[key] = self.make(member.value, room)
                return
        if len(members) < member.least:
            raise NoSampleError(f"too few different keys of {describe_type(member.key)} were found")


def _make_hashable_key(key: Any) -> Any:
    """Return a key that a dict accepts: an array becomes a tuple, and a map becomes text."""
    if isinstance(key, list):
        return tuple(map(_make_hashable_key, key))
    return str(key) if isinstance(key, dict) else key


# Plain values.


def _make_any_value(random: Random, *, json: bool) -> Any:
    """Return a small random value of any kind that JSON, or else CBOR, can have."""
    values = [
        True,
        None,
        random.randint(-100, 100),
        random.random(),
        _make_text(random),
        [1, "a"],
        {"a": [None]},
    ]
    return random.choice(values if json else [*values, random.randbytes(4), {1: b"\x00"}])


def _make_kind_value(random: Random, kind: MajorType, *, json: bool) -> Any:
    """Return a random value of a major type, with the argument in its head if there is one.

    Raises:
        NoSampleError: when no value has this argument, or the value would be too long.

    """
    if kind.major > MAJOR_MAP:
        return _make_simple_or_float(random, kind.argument, json=json)
    argument = _make_head_argument(random, kind.argument)
    if kind.major in {MAJOR_UINT, MAJOR_NINT}:
        return argument if kind.major == MAJOR_UINT else -1 - argument
    length = argument if kind.argument is not None else random.randint(0, 8)
    if length > _MAX_SAMPLE_SIZE:
        raise NoSampleError("the value would be too long")
    if kind.major == MAJOR_BYTES:
        return random.randbytes(length)
    if kind.major == MAJOR_TEXT:
        return _make_text_of_size(random, length) if kind.argument else _make_text(random)
    if kind.major == MAJOR_ARRAY:
        return [_make_any_value(random, json=json) for _ in range(length)]
    return {f"k{index}": _make_any_value(random, json=json) for index in range(length)}


def _make_head_argument(random: Random, argument: int | None) -> int:
    """Return a random number whose head has this additional information (None: any).

    For example, 24 yields a number from 24 to 255, which takes one more byte.

    Raises:
        NoSampleError: when no number has it.

    """
    if argument is None:
        return random.choice((*_EDGE_INTEGERS, random.randint(0, 1000)))
    if argument in _HEAD_RANGES:
        return random.randint(*_HEAD_RANGES[argument])
    if argument > max(_HEAD_RANGES):
        raise NoSampleError(f"the argument {argument} of a major type does not exist")
    return argument


def _make_simple_or_float(random: Random, argument: int | None, *, json: bool) -> Any:
    """Return a value of major type 7: a float for 25 to 27, else the simple value `argument`.

    Return true, false, null or 0.5 if `argument` is `None`.

    Raises:
        NoSampleError: JSON does not have the value, or CBOR has no simple value with this number.

    """
    if argument is None:
        return random.choice((True, False, None, 0.5))
    if argument in _FLOAT_FORMATS:
        form = _FLOAT_FORMATS[argument]
        value = random.choice((0.0, 1.5, -2.25, 1000.0, random.uniform(-100, 100)))
        return struct.unpack(form, struct.pack(form, value))[0]
    if argument in _SIMPLE_WORDS:
        return _SIMPLE_WORDS[argument]
    if json:
        raise NoSampleError(f"JSON has no simple value {argument}")
    return _make_simple_value(argument)


def _make_simple_value(number: object) -> Any:
    """Return the simple value of CBOR with this number, such as False for 20.

    Raises:
        NoSampleError: when no simple value has this number.

    """
    import cbor2

    if number in {SIMPLE_FALSE, SIMPLE_TRUE, SIMPLE_NULL}:
        return _SIMPLE_WORDS[int(str(number))]
    if number == SIMPLE_UNDEFINED:
        return cbor2.undefined
    try:
        return cbor2.CBORSimpleValue(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise NoSampleError(f"CBOR does not have the simple value {number}") from None


def _make_number_in_range(random: Random, node: RangeType) -> int | float:
    """Return a random number of a range, often one of its ends.

    Raises:
        NoSampleError: when a range of integers is empty.

    """
    low, high = get_range_bounds(node)
    if isinstance(low, float) or isinstance(high, float):
        return random.choice((low, random.uniform(low, high)))
    last = high if node.inclusive else high - 1
    if last < low:
        raise NoSampleError("a range contains no number")
    return random.choice((low, last, random.randint(low, last)))


def _make_text(random: Random, longest: int = 12) -> str:
    """Return a random text of 0 to `longest` characters, some of them not ASCII."""
    return "".join(random.choice(_SAMPLE_ALPHABET) for _ in range(random.randint(0, longest)))


def _make_text_of_size(random: Random, size: int) -> str:
    """Return a random ASCII text of exactly `size` bytes."""
    return "".join(random.choice(_ASCII_ALPHABET) for _ in range(size))


# Strings of a regular expression or a grammar.


def make_pattern_text(random: Random, tree: PatternNode) -> str:
    """Return a random text that matches a parsed regular expression.

    Raises:
        NoSampleError: when a set of characters is empty.

    """
    match tree:
        case PatternCharacters(ranges=ranges):
            return chr(_pick_character(random, ranges))
        case PatternSequence(parts=parts):
            return "".join(make_pattern_text(random, part) for part in parts)
        case PatternChoice(branches=branches):
            return make_pattern_text(random, random.choice(branches))
        case PatternRepeat():
            count = _pick_repeat_count(random, tree.least, tree.most)
            return "".join(make_pattern_text(random, tree.part) for _ in range(count))


def _make_grammar_codes(
    random: Random, grammar: AbnfGrammar, part: AbnfNode, depth: int = 0
) -> list[int]:
    """Return random code points or bytes that match a part of an ABNF grammar.

    `depth` counts the parts around it.

    Raises:
        NoSampleError: when the grammar nests too deeply, or a set of characters is empty.
    """
    if depth > _MAX_GRAMMAR_DEPTH:
        raise NoSampleError("the ABNF grammar nests too deeply")
    match part:
        case AbnfCharacters(ranges=ranges):
            return [_pick_character(random, options) for options in ranges]
        case AbnfRuleName(name=name):
            return _make_grammar_codes(random, grammar, grammar.rules[name], depth + 1)
        case AbnfChoice(parts=parts):
            return _make_grammar_codes(random, grammar, random.choice(parts), depth + 1)
        case AbnfSequence(parts=parts):
            sequence = parts
        case AbnfRepeat():
            most = part.least if depth > _MAX_GRAMMAR_DEPTH // 2 else part.most
            sequence = (part.part,) * _pick_repeat_count(random, part.least, most)
    return [
        code
        for inner in sequence
        for code in _make_grammar_codes(random, grammar, inner, depth + 1)
    ]


def _pick_repeat_count(random: Random, least: int, most: int | None) -> int:
    """Return a random count from `least` up to `most` (None: no limit), at most three more."""
    high = least + _MAX_EXTRA_REPEATS
    return random.randint(least, high if most is None else min(most, high))


def _pick_character(random: Random, ranges: CharacterRanges) -> int:
    """Return a random code point of a set: printable ASCII if possible, never a surrogate.

    Raises:
        NoSampleError: when the set has no such code point.

    """
    for low, high in (_PRINTABLE_ASCII, _BELOW_SURROGATES, _ABOVE_SURROGATES):
        inside = [(max(low, a), min(high, b)) for a, b in ranges if a <= high and b >= low]
        if inside:
            return random.randint(*random.choice(inside))
    raise NoSampleError("a set of characters is empty")


# Values of control operators. The caller checks each of them.


def _make_controlled_value(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    """Return a value that a controlled type is likely to accept.

    The caller checks it. `room` is the number of levels left.
    """
    value = evaluate_constant(node)
    if value is not None and node.operator in COMPUTING_OPERATORS:
        return value
    if node.operator in TEXT_ENCODERS:
        return _make_encoded_text(generator, node, room)
    make = _CONTROL_MAKERS.get(node.operator)
    return make(generator, node, room) if make else generator.make(node.target, room)


def _make_encoded_text(generator: InstanceGenerator, node: ControlType, room: int) -> str:
    """Return a value of the controller, encoded as text.

    The value may be bytes also in an instance for JSON: its text form is not. `room` is the number
    of levels left.

    Raises:
        NoSampleError: when the value cannot be encoded.
    """
    json = generator.json
    generator.json = json and node.operator == "json"
    try:
        return TEXT_ENCODERS[node.operator](generator.make(node.controller, room))
    except (TypeError, ValueError, AttributeError):
        raise NoSampleError("the value cannot be written as text") from None
    finally:
        generator.json = json


def _make_either_side(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    """Return a value of the target or of the controller, for `.and` and `.within`."""
    return generator.make(generator.random.choice((node.target, node.controller)), room)


def _make_equal_value(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    """Return a value of the controller, for `.eq`."""
    return generator.make(node.controller, room)


def _make_nearby_number(generator: InstanceGenerator, node: ControlType, room: int) -> Any:
    """Return a number near the controller, or a value of the target, for `.lt` and the like."""
    step = generator.random.choice((0, 1, -1, generator.random.randint(-1000, 1000)))
    nearby = [node.detail, node.detail + step, float(node.detail) + step]
    return generator.random.choice([*nearby, generator.make(node.target, room)])


def _make_sized_value(generator: InstanceGenerator, node: ControlType, _: int) -> Any:
    """Return a string of the size that `.size` asks for, or an integer that fits into it.

    Raises:
        NoSampleError: when the size is not a number of bytes, or is too large.

    """
    size = generator.make(node.controller, 0)
    if not isinstance(size, int) or not 0 <= size <= _MAX_SAMPLE_SIZE:
        raise NoSampleError(f"a sample needs a size of 0 to {_MAX_SAMPLE_SIZE} bytes, not {size!r}")
    random = generator.random
    values: list[Any] = []
    for leaf in flatten_choice(node.target):
        major = _find_major_type(leaf)
        if major == MAJOR_TEXT:
            values.append(_make_text_of_size(random, size))
        elif major == MAJOR_BYTES and not generator.json:
            values.append(random.randbytes(size))
        elif major == MAJOR_UINT:
            values.append(random.randrange(256 ** min(size, 8)))
    return random.choice(values) if values else generator.make(node.target, 0)


def _make_bit_set(generator: InstanceGenerator, node: ControlType, _: int) -> Any:
    """Return an integer or bytes with up to three of the bits set that `.bits` allows."""
    bits = 0
    for _attempt in range(generator.random.randint(0, 3)):
        bit = generator.make(node.controller, 0)
        if isinstance(bit, int) and 0 <= bit <= _LAST_BIT:
            bits |= 1 << bit
    majors = _list_target_majors(node)
    as_bytes = MAJOR_BYTES in majors
    if as_bytes and MAJOR_UINT in majors:
        as_bytes = generator.random.random() < 1 / 2
    return bits.to_bytes(8, "little") if as_bytes else bits


def _make_pattern_value(generator: InstanceGenerator, node: ControlType, _: int) -> str:
    """Return a text that matches the pattern of `.regexp` or `.pcre`.

    Raises:
        NoSampleError: when the pattern has parts that only Python's `re` understands.

    """
    pattern = evaluate_constant(node.controller)
    try:
        tree = parse_pattern(str(pattern), pcre=node.operator == "pcre")
    except PatternError as error:
        raise NoSampleError(f"no text can be made for this pattern ({error})") from None
    return make_pattern_text(generator.random, tree)


def _make_grammar_value(generator: InstanceGenerator, node: ControlType, _: int) -> str | bytes:
    """Return a text or bytes that match the grammar of `.abnf` or `.abnfb`.

    Raises:
        NoSampleError: when the characters cannot be written as text or bytes.

    """
    grammar: AbnfGrammar = node.detail
    codes = _make_grammar_codes(generator.random, grammar, grammar.start)
    try:
        data = bytes(codes) if node.operator == "abnfb" else "".join(map(chr, codes)).encode()
        return data.decode() if MAJOR_TEXT in _list_target_majors(node) else data
    except (ValueError, UnicodeError):
        raise NoSampleError("the grammar has characters that do not fit the string") from None


def _make_cbor_bytes(generator: InstanceGenerator, node: ControlType, room: int) -> bytes:
    """Return a value of the controller as CBOR; for `.cborseq`, its elements one by one."""
    import cbor2

    value = generator.make(node.controller, room)
    if node.operator == "cbor":
        return cbor2.dumps(value)
    return b"".join(map(cbor2.dumps, value))


def _list_target_majors(node: ControlType) -> set[int | None]:
    """Return the major types of the target's alternatives, as `_find_major_type` finds them.

    It contains None if an alternative is a literal or has no single major type.
    """
    return {_find_major_type(leaf) for leaf in flatten_choice(node.target)}


def _find_major_type(leaf: TypeNode) -> int | None:
    """Return the major type of a type or of its innermost target; `None` for literals and others.

    For example, `tstr .size 3` has the major type 3.
    """
    while isinstance(leaf, ControlType):
        leaf = flatten_choice(leaf.target)[0]
    return leaf.major if isinstance(leaf, MajorType) else None


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

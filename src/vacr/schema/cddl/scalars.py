"""Random values of the plain types, and of those that control operators make. Step: validate (for
making instances).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from vacr.schema.cddl import pattern, sampling, texts
from vacr.schema.cddl.constants import COMPUTING, constant
from vacr.schema.cddl.model import (
    ARRAY,
    BYTES,
    FALSE,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    LARGEST_UINT,
    MAP,
    NINT,
    NULL,
    TEXT,
    TRUE,
    UINT,
    UNDEFINED,
    Between,
    Controlled,
    Kind,
    Node,
    leaves,
)
from vacr.schema.cddl.plain import bounds
from vacr.schema.cddl.sampling import NoSample

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.schema.cddl.generate import Generator, Random

_EDGES = (0, 1, 23, 24, 255, 256, 65535, 65536, 2**32, 2**53, LARGEST_UINT)
_LARGEST_SIZE = 4096
_LAST_BIT = 63
_WIDTHS = {FLOAT16: "<e", FLOAT32: "<f", FLOAT64: "<d"}
_WORDS = {FALSE: False, TRUE: True, NULL: None}
_HEADS = {24: (24, 255), 25: (256, 65535), 26: (65536, 2**32 - 1), 27: (2**32, LARGEST_UINT)}


def anything(random: Random, *, json: bool) -> Any:
    """Make a value of `any`."""
    plain = [
        True,
        None,
        random.randint(-100, 100),
        random.random(),
        sampling.text(random),
        [1, "a"],
        {"a": [None]},
    ]
    return random.choice(plain if json else [*plain, random.randbytes(4), {1: b"\x00"}])


def of_kind(random: Random, kind: Kind, *, json: bool) -> Any:
    """Make a value of a major type.

    Raises:
        NoSample: when there is none.

    """
    if kind.major > MAP:
        return _simple(random, kind.argument, json=json)
    measure = _measure(random, kind.argument)
    if kind.major in {UINT, NINT}:
        return measure if kind.major == UINT else -1 - measure
    length = measure if kind.argument is not None else random.randint(0, 8)
    if length > _LARGEST_SIZE:
        raise NoSample("too long to be made")
    made: dict[int, Callable[[], Any]] = {
        BYTES: lambda: random.randbytes(length),
        TEXT: lambda: (
            sampling.text_of_size(random, length) if kind.argument else sampling.text(random)
        ),
        ARRAY: lambda: [anything(random, json=json) for _ in range(length)],
        MAP: lambda: {f"k{index}": anything(random, json=json) for index in range(length)},
    }
    return made[kind.major]()


def _measure(random: Random, argument: int | None) -> int:
    """Make the argument of a head: any, or one that is written with this additional information."""
    if argument is None:
        return random.choice((*_EDGES, random.randint(0, 1000)))
    if argument in _HEADS:
        return random.randint(*_HEADS[argument])
    if argument > max(_HEADS):
        raise NoSample("no such additional information")
    return argument


def _simple(random: Random, argument: int | None, *, json: bool) -> Any:
    if argument is None:
        return random.choice((True, False, None, 0.5))
    if argument in _WIDTHS:
        form = _WIDTHS[argument]
        value = random.choice((0.0, 1.5, -2.25, 1000.0, random.uniform(-100, 100)))
        return struct.unpack(form, struct.pack(form, value))[0]
    if argument in _WORDS:
        return _WORDS[argument]
    if json:
        raise NoSample("no such value in JSON")
    return simple(argument)


def simple(number: object) -> Any:
    """Make a simple value of CBOR.

    Raises:
        NoSample: when there is none of this number.

    """
    import cbor2

    if number in {FALSE, TRUE, NULL}:
        return _WORDS[int(str(number))]
    if number == UNDEFINED:
        return cbor2.undefined
    try:
        return cbor2.CBORSimpleValue(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise NoSample("no such simple value") from None


def between(random: Random, node: Between) -> int | float:
    """Make a number of a range.

    Raises:
        NoSample: when the range is empty.

    """
    low, high = bounds(node)
    if isinstance(low, float) or isinstance(high, float):
        return random.choice((low, random.uniform(low, high)))
    last = high if node.inclusive else high - 1
    if last < low:
        raise NoSample("an empty range")
    return random.choice((low, last, random.randint(low, last)))


def hashable(key: Any) -> Any:
    """Turn a key into what a dict takes; what cannot be a key becomes text."""
    if isinstance(key, list):
        return tuple(map(hashable, key))
    return str(key) if isinstance(key, dict) else key


# --- control operators
# --------------------------------------------------------------------------------


def controlled(generator: Generator, node: Controlled, room: int) -> Any:
    """Make a value that a control operator may accept; the caller checks it."""
    value = constant(node)
    if value is not None and node.operator in COMPUTING:
        return value
    if node.operator in texts.ENCODERS:
        return _encoded(generator, node, room)
    make = _MAKERS.get(node.operator)
    return make(generator, node, room) if make else generator.make(node.target, room)


def _encoded(generator: Generator, node: Controlled, room: int) -> str:
    """Make what the text stands for, which may be bytes also in JSON, and write it as text."""
    held, generator.json = generator.json, generator.json and node.operator == "json"
    try:
        return texts.ENCODERS[node.operator](generator.make(node.controller, room))
    except (TypeError, ValueError, AttributeError):
        raise NoSample("not to be written as text") from None
    finally:
        generator.json = held


def _either(generator: Generator, node: Controlled, room: int) -> Any:
    return generator.make(generator.random.choice((node.target, node.controller)), room)


def _equal(generator: Generator, node: Controlled, room: int) -> Any:
    return generator.make(node.controller, room)


def _compared(generator: Generator, node: Controlled, room: int) -> Any:
    """Make a number near the one it is compared with."""
    step = generator.random.choice((0, 1, -1, generator.random.randint(-1000, 1000)))
    near = [node.detail, node.detail + step, float(node.detail) + step]
    return generator.random.choice([*near, generator.make(node.target, room)])


def _sized(generator: Generator, node: Controlled, _: int) -> Any:
    """Make a string of a size, or an integer that fits into one."""
    size = generator.make(node.controller, 0)
    if not isinstance(size, int) or not 0 <= size <= _LARGEST_SIZE:
        raise NoSample("no such size is made")
    random = generator.random
    made: list[Any] = []
    for leaf in leaves(node.target):
        major = _major(leaf)
        if major == TEXT:
            made.append(sampling.text_of_size(random, size))
        elif major == BYTES and not generator.json:
            made.append(random.randbytes(size))
        elif major == UINT:
            made.append(random.randrange(256 ** min(size, 8)))
    return random.choice(made) if made else generator.make(node.target, 0)


def _major(leaf: Node) -> int | None:
    """Give the major type under the control operators of a type."""
    while isinstance(leaf, Controlled):
        leaf = leaves(leaf.target)[0]
    return leaf.major if isinstance(leaf, Kind) else None


def _bits(generator: Generator, node: Controlled, _: int) -> Any:
    """Make a set of bits out of those that are allowed."""
    value = 0
    for _attempt in range(generator.random.randint(0, 3)):
        bit = generator.make(node.controller, 0)
        if isinstance(bit, int) and 0 <= bit <= _LAST_BIT:
            value |= 1 << bit
    majors = {_major(leaf) for leaf in leaves(node.target)}
    if BYTES in majors and (UINT not in majors or generator.random.random() < 0.5):  # noqa: PLR2004 - either
        return value.to_bytes(8, "little")
    return value


def _pattern(generator: Generator, node: Controlled, _: int) -> str:
    text = constant(node.controller)
    try:
        tree = pattern.parse(str(text), pcre=node.operator == "pcre")
    except pattern.BadPattern as error:
        raise NoSample(f"no text is made for this pattern ({error})") from None
    return sampling.from_pattern(generator.random, tree)


def _grammar(generator: Generator, node: Controlled, _: int) -> str | bytes:
    codes = sampling.from_grammar(generator.random, node.detail)
    as_text = TEXT in {_major(leaf) for leaf in leaves(node.target)}
    try:
        made = bytes(codes) if node.operator == "abnfb" else "".join(map(chr, codes)).encode()
        return made.decode() if as_text else made
    except (ValueError, UnicodeError):
        raise NoSample("not a string") from None


def _cbor(generator: Generator, node: Controlled, room: int) -> bytes:
    """Encode a value, or each value of a sequence."""
    import cbor2

    value = generator.make(node.controller, room)
    if node.operator == "cbor":
        return cbor2.dumps(value)
    return b"".join(map(cbor2.dumps, value))


_MAKERS: dict[str, Callable[[Generator, Controlled, int], Any]] = {
    "and": _either,
    "within": _either,
    "eq": _equal,
    "lt": _compared,
    "le": _compared,
    "gt": _compared,
    "ge": _compared,
    "size": _sized,
    "bits": _bits,
    "regexp": _pattern,
    "pcre": _pattern,
    "abnf": _grammar,
    "abnfb": _grammar,
    "cbor": _cbor,
    "cborseq": _cbor,
}

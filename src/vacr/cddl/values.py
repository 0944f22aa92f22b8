"""Decoded values of CBOR and JSON, and the limits of checking one.

A schema speaks of major types, tags and simple values (RFC 8949 section 2); a decoder returns dict,
list or tuple, str, bytes, int, float, bool, None and the classes of cbor2. These helpers answer the
questions in between, and generated code calls most of them by name:

    >>> from vacr.cddl.values import get_head_argument, get_tag, MAJOR_TEXT
    >>> get_tag(2**64)          # an integer past 64 bits is written as tag 2, a bignum
    (2, b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
    >>> get_head_argument("x" * 30, MAJOR_TEXT)     # its length needs one more byte
    24

cbor2 is never imported to look at a value: a value of its classes can only exist once somebody else
has imported it. Values of datetime, Decimal, UUID and the like, which cbor2 makes of some tags on
request, match `any` and nothing else: decode with tags kept as CBORTag.

A check has limits. It stops with `WorkLimitError` when it would take too long. A value as deep as
the decoders allow may need more of Python's stack than there is by default, as one level of it can
take many calls; `run_with_larger_stack` then checks it again in a thread with a larger stack.
"""

from __future__ import annotations

import math
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

LARGEST_UINT = 2**64 - 1
SMALLEST_NINT = -(2**64)

MAJOR_UINT, MAJOR_NINT, MAJOR_BYTES, MAJOR_TEXT, MAJOR_ARRAY, MAJOR_MAP, MAJOR_TAG, MAJOR_SIMPLE = (
    range(8)
)
SIMPLE_FALSE, SIMPLE_TRUE, SIMPLE_NULL, SIMPLE_UNDEFINED = 20, 21, 22, 23
SIMPLE_FLOAT16, SIMPLE_FLOAT32, SIMPLE_FLOAT64 = 25, 26, 27

BIGNUM_TAG, NEGATIVE_BIGNUM_TAG = 2, 3
BIGNUM_TAGS = (BIGNUM_TAG, NEGATIVE_BIGNUM_TAG)
LIST_TYPES = (list, tuple)

_FIRST_LONG_ARGUMENT = 24

_MAX_CALLS = 60_000
_STACK_BYTES = 256 * 1024 * 1024
_STACK_LOCK = threading.Lock()


def as_map(value: Any) -> dict[Any, Any] | None:
    """Return a map as a dict, or None for any other value.

    cbor2 decodes a map inside a key as a frozendict; that becomes a dict too.
    """
    if isinstance(value, dict):
        return value
    frozen = _get_cbor2_class("frozendict")
    return dict(value) if frozen is not None and isinstance(value, frozen) else None


def _get_cbor2_class(name: str) -> Any:
    """Return a class of cbor2 by its name, or None if nothing has imported cbor2 yet."""
    return getattr(sys.modules.get("cbor2"), name, None)


def is_map(value: Any) -> bool:
    """Return whether a value is a map: a dict, or a frozendict of cbor2."""
    return as_map(value) is not None


def has_ambiguous_keys(members: dict[Any, Any]) -> bool:
    """Return whether a map has a bool or float as a key.

    Python may take such a key for an integer: `True`, `1.0` and `1` are equal there, not in CBOR.
    """
    return any(key.__class__ is bool or key.__class__ is float for key in members)


def has_only_text_keys(members: dict[Any, Any]) -> bool:
    """Return whether every key of a map is text; true for an empty map."""
    try:
        # Joining asks every key whether it is text, at the speed of the interpreter's own loop.
        "".join(members)
    except TypeError:
        return False
    return True


def get_tag(value: Any) -> tuple[int, Any] | None:
    """Return the number and the content of a tag, or `None` if a value is not a tag.

    An integer past 64 bits is a tag, too (RFC 8949, section 3.4.3).
    """
    if value.__class__ is int:
        if value > LARGEST_UINT:
            return BIGNUM_TAG, _encode_magnitude(value)
        if value < SMALLEST_NINT:
            return NEGATIVE_BIGNUM_TAG, _encode_magnitude(-1 - value)
        return None
    tag = _get_cbor2_class("CBORTag")
    return (value.tag, value.value) if tag is not None and isinstance(value, tag) else None


def get_bignum(value: Any, number: int) -> tuple[int, Any] | None:
    """Return the number and content of the bignum tag that a schema expects: `number` is 2 or 3.

    An integer becomes such a tag, or `None` when it has the wrong sign: tag 2 is for 0 and above,
    tag 3 for negative integers. For any other value, return the result of `get_tag`. A decoder
    turns a small bignum into a plain integer, so both have to match (RFC 8949 section 3.4.3).
    """
    if value.__class__ is not int:
        return get_tag(value)
    if (value < 0) != (number == NEGATIVE_BIGNUM_TAG):
        return None
    return number, _encode_magnitude(value if value >= 0 else -1 - value)


def _encode_magnitude(magnitude: int) -> bytes:
    """Return the shortest big-endian bytes of an integer that is not negative; 0 has no bytes."""
    return magnitude.to_bytes((magnitude.bit_length() + 7) // 8, "big")


def is_undefined(value: Any) -> bool:
    """Return whether a value is CBOR's undefined."""
    module = sys.modules.get("cbor2")
    return module is not None and value is module.undefined


def get_simple_number(value: Any) -> int | None:
    """Return the number of a simple value, such as 20 for false (RFC 8949 section 3.3).

    Return `None` for any other value, also for a float.
    """
    if isinstance(value, bool):
        return SIMPLE_TRUE if value else SIMPLE_FALSE
    if value is None:
        return SIMPLE_NULL
    if is_undefined(value):
        return SIMPLE_UNDEFINED
    simple = _get_cbor2_class("CBORSimpleValue")
    return int(value.value) if simple is not None and isinstance(value, simple) else None


def is_simple(value: Any) -> bool:
    """Return whether a value is of major type 7: a float or a simple value."""
    return isinstance(value, float) or get_simple_number(value) is not None


def fits_float(value: Any, form: str) -> bool:
    """Return whether a value is a float that `form` can store exactly; NaN always fits.

    `form` is a format of `struct`, such as `<e` for 16 bits. The width in the encoded data is
    unknown after decoding.
    """
    if not isinstance(value, float):
        return False
    try:
        unpacked: float = struct.unpack(form, struct.pack(form, value))[0]
    except OverflowError:
        return False
    return unpacked == value or math.isnan(value)


def as_integer(value: Any) -> Any:
    """Return a float without a fraction as an int, and any other value unchanged.

    For example, `1.0` becomes `1`, because JSON has one kind of number.
    """
    return int(value) if value.__class__ is float and value.is_integer() else value


def as_float(value: Any) -> Any:
    """Return an int as a float, and any other value, or an int too large for one, unchanged."""
    try:
        return float(value) if value.__class__ is int else value
    except OverflowError:
        return value


def get_head_argument(value: Any, major: int) -> int | None:
    """Return the additional information (0 to 27) in the shortest head of a value.

    Return `None` for a value of another major type than `major`. For example, the text "abc" has
    3, its length, and a text of 30 bytes has 24: its length needs one more byte.
    """
    measure: int | None = None
    if value.__class__ is int:
        if major == MAJOR_UINT and 0 <= value <= LARGEST_UINT:
            measure = value
        elif major == MAJOR_NINT and SMALLEST_NINT <= value < 0:
            measure = -1 - value
    elif (major == MAJOR_BYTES and isinstance(value, bytes)) or (
        major == MAJOR_ARRAY and isinstance(value, LIST_TYPES)
    ):
        measure = len(value)
    elif major == MAJOR_TEXT and isinstance(value, str):
        measure = len(value.encode("utf-8", "surrogatepass"))
    elif major == MAJOR_MAP:
        members = as_map(value)
        measure = None if members is None else len(members)
    if measure is None or measure < _FIRST_LONG_ARGUMENT:
        return measure
    # 24 to 27 announce a measure of 1, 2, 4 or 8 bytes.
    return next(_FIRST_LONG_ARGUMENT + step for step in range(4) if measure < 1 << (8 << step))


# Limits.


class WorkLimitError(Exception):
    """Raised when a check would take too long; the message describes the value, as a finding."""


def run_with_larger_stack(work: Callable[[], Any]) -> Any:
    """Return the result of a function; if the stack overflows, call it again on a larger one.

    Raises:
        RecursionError: when the larger stack overflows too.

    """
    try:
        return work()
    except RecursionError:
        pass
    return _run_in_thread(work)


def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Call a function in a thread with a large stack; return its result or raise its error."""
    results: list[Any] = []
    problems: list[BaseException] = []

    def run() -> None:
        """Call the function, and keep its result or its error."""
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
            problems.append(error)

    with _STACK_LOCK:
        calls, size = sys.getrecursionlimit(), threading.stack_size()
        sys.setrecursionlimit(max(calls, _MAX_CALLS))
        try:
            try:
                threading.stack_size(_STACK_BYTES)
                thread = threading.Thread(target=run, daemon=True)
                thread.start()
            except (ValueError, RuntimeError):
                raise RecursionError("not enough memory for a larger stack") from None
            finally:
                threading.stack_size(size)
            thread.join()
        finally:
            sys.setrecursionlimit(calls)
    if problems:
        # The traceback of a deep recursion keeps every frame of it alive, with all its values.
        raise problems[0].with_traceback(None)
    return results[0]

"""Values of JSON and of CBOR, for properties.

`JSON` is drawn piece by piece, so that a failing value shrinks to the part that matters: tests of
codecs use it. `OPAQUE_JSON` has values of the same kinds, each made from one number. Drawing them
takes a tenth of the time. They stand where code passes a value on without looking into it.
"""

import random
import struct

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
KEYS = TEXT | st.sampled_from(
    ["a", "é", "\uffee", "\ue000", "\U0001f600", "\U00010000", 'q"', "b\\", "c:", " "]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
"""Any JSON value."""


_ODD_CHARACTERS = 'aZ0 \t\n\r\x00\x7f"\\/é\u2028\ufeff\uffee\ue000\U0001f600\U0010ffff'
_ODD_KEYS = ["a", "é", "\uffee", "\ue000", "\U0001f600", "\U00010000", 'q"', "b\\", "c:", " ", ""]
_ODD_SCALARS = [
    *(None, False, True, 0, "", 1, -1, 1.5, -0.0, 1e16, 1e21, 1e-7, 5e-324, 1.7976931348623157e308),
    *(2**53 + 1, 2**63, 2**64, -(2**63) - 1, 2**70, "text", "\U0001f600\ue000", '{"a": 1}'),
]


def _make_text(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return "".join(rng.choices(_ODD_CHARACTERS, k=rng.randrange(12)))
    code_points = (rng.randrange(0x110000 - 0x800) for _ in range(rng.randrange(12)))
    return "".join(chr(code if code < 0xD800 else code + 0x800) for code in code_points)


def _make_float(rng: random.Random) -> float:
    (number,) = struct.unpack(">d", rng.randbytes(8))
    return number if abs(number) < float("inf") else 0.5  # Also replaces NaN.


def _make_json(rng: random.Random, depth: int = 0):
    kind = rng.randrange(8 if depth < 4 else 6)
    if kind == 6:
        return [_make_json(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind == 7:
        keys = (rng.choice([*_ODD_KEYS, _make_text(rng)]) for _ in range(rng.randrange(6)))
        return {key: _make_json(rng, depth + 1) for key in keys}
    if kind == 5:
        return _make_text(rng)
    if kind == 4:
        return _make_float(rng)
    if kind == 3:
        return rng.randrange(-(2**70), 2**70)
    return rng.choice(_ODD_SCALARS)


def _make_opaque_json(number: int):
    """Return the JSON value of a number; small numbers have simple values."""
    if number < len(_ODD_SCALARS):
        return _ODD_SCALARS[number]
    return _make_json(random.Random(number))  # noqa: S311 - Tests, not secrets.


OPAQUE_JSON = st.integers(0, 2**48).map(_make_opaque_json)
"""Any JSON value, drawn as one number."""

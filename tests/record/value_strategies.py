"""Values of JSON and of CBOR, for properties."""

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

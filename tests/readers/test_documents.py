"""The values of a native file, however they are laid out."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.strategies import JSON
from vacr.readers.documents import documents

OBJECTS = st.dictionaries(st.text("ab", max_size=2), JSON, min_size=1, max_size=3)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+')


def values(data: bytes) -> list:
    return [value for _, batch in documents(data) for value in batch]


@given(OBJECTS, st.randoms(use_true_random=False))
def test_a_value_may_break_off_between_any_two_tokens(value, chance):
    text = "".join(token + chance.choice(["", " ", "\n", "\r\n", "\n\n  "]) for token in TOKEN.findall(json.dumps(value)))
    assert values(text.encode()) == [value]


@pytest.mark.parametrize("second", [b"}", b", 1", b"] x"])
def test_a_whole_line_does_not_go_on(second):
    found = values(b'{"a":1}\n' + second + b'\n{"b":2}\n{"c":3}\n')
    assert [found[0], *found[2:]] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert found[1].data == second

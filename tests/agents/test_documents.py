"""The JSON values of a native file, in any layout."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.value_strategies import JSON
from vacr.agents.documents import RepairedValue, parse_json_documents

OBJECTS = st.dictionaries(st.text("ab", max_size=2), JSON, min_size=1, max_size=3)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+')


def values(data: bytes) -> list:
    return [value for _, batch in parse_json_documents(data) for value in batch]


@given(OBJECTS, st.randoms(use_true_random=False))
def test_value_may_span_lines_between_any_two_tokens(value, chance):
    text = "".join(
        token + chance.choice(["", " ", "\n", "\r\n", "\n\n  "])
        for token in TOKEN.findall(json.dumps(value))
    )
    assert values(text.encode()) == [value]


@pytest.mark.parametrize("second", [b"}", b", 1", b"] x"])
def test_complete_line_does_not_continue(second):
    found = values(b'{"a":1}\n' + second + b'\n{"b":2}\n{"c":3}\n')
    assert [found[0], *found[2:]] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert found[1].data == second


@given(
    st.lists(st.tuples(OBJECTS, st.sampled_from([None, 2, "\t"])), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
)
def test_one_line_and_multiline_values_may_alternate(native, newline):
    text = "\n".join(json.dumps(value, indent=indent) for value, indent in native).replace(
        "\n", newline
    )
    assert values(text.encode()) == [value for value, _ in native]


def test_lone_bracket_costs_no_other_line():
    data = b'{"a":1}\n{\n{"b":2}\n{"c":\n{"d":4}\n'
    found = [
        (number, getattr(value, "data", value))
        for number, batch in parse_json_documents(data)
        for value in batch
    ]
    assert found == [(1, {"a": 1}), (2, b"{"), (3, {"b": 2}), (4, b'{"c":'), (5, {"d": 4})]


@pytest.mark.parametrize("odd", [b'1,"a":2', b'"\\ud800"', b"1e999", b'"\xff"', b'"\x01"'])
def test_repaired_value_is_not_split(odd):
    data = b'{\n"a":' + odd + b',"messages":[\n{"b":1},\n{"b":2}\n]}'
    value, whole = values(data)
    assert type(value) is RepairedValue
    assert value.value["messages"] == [{"b": 1}, {"b": 2}]
    assert whole.data == data


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_line_numbers_are_exact_among_many_multiline_values(count):
    plain = json.dumps({"a": "x" * 100, "b": [1]}, indent=2)
    repeated = '{\n  "a": 1,\n  "a": 2\n}'
    lines = plain.count("\n") + 1
    data = "\n".join([*[plain] * count, repeated, plain, plain]).encode()
    batches = list(parse_json_documents(data))
    (repaired,) = (number for number, batch in batches if isinstance(batch[0], RepairedValue))
    last, values_after = batches[-1]
    assert repaired == 1 + count * lines
    assert (last, len(values_after)) == (repaired + 4, 2)
    assert sum(len(batch) for _, batch in batches[:-2]) == count

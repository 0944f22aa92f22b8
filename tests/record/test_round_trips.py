"""Every valid record survives a round trip, and the converted record is valid too."""

import copy

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conftest import limit_examples, native_files, read_one
from tests.record.record_strategies import FORMS
from vacr import validate
from vacr.errors import InvalidRecord
from vacr.record.conversion import FORMAT_VERSIONS, convert
from vacr.record.encoding import compute_record_id, decode, encode, encode_with_id
from vacr.record.validation import load_record_schema
from vacr.record.version_maps import find_conversion_mark

RULES = {
    "v1": "agent-convo-record",
    "v2": "verifiable-agent-record",
    "v3": "verifiable-agent-record",
}
WAYS = [("v3", "v2"), ("v2", "v3"), ("v1", "v3"), ("v1", "v2")]

on_each_way = pytest.mark.parametrize(("version", "by"), WAYS, ids=["-".join(way) for way in WAYS])
in_each_form = pytest.mark.parametrize("json", [True, False], ids=["json", "cbor"])


def assert_valid(record, version, *, json):
    assert load_record_schema(version[1]).checker(RULES[version], json=json).findings(record) == []


def assert_round_trip(record, version, by, *, json):
    """Convert a record and back; equal bytes show that not even a type changed."""
    before = copy.deepcopy(record)
    assert_valid(record, version, json=json)
    other = convert(record, by, json=json)
    assert_valid(other, by, json=json)
    again = convert(other, version, json=json)
    assert again == record == before
    form = "json" if json else "cbor"
    assert encode(again, form) == encode(before, form)


@on_each_way
@in_each_form
def test_hard_records_round_trip(version, by, json):
    form = FORMS[not json]

    @settings(max_examples=limit_examples(300))
    @given(getattr(form, f"records_{version}")())
    def run_property(record):
        assert_round_trip(record, version, by, json=json)

    run_property()


@on_each_way
@in_each_form
def test_records_generated_from_the_schema_round_trip(version, by, json):
    schema = load_record_schema(version[1])

    @settings(max_examples=limit_examples(100))
    @given(st.integers(0, 2**32))
    def run_property(seed):
        record = schema.generate(RULES[version], seed=seed, json=json)
        assert_round_trip(record | {"version": FORMAT_VERSIONS[version]}, version, by, json=json)

    run_property()


def change_mark(record, change):
    return record | {"vacr": record["vacr"] | {"converted": change(record["vacr"]["converted"])}}


CHANGES = {
    "as it is": lambda record: record,
    "with metadata": lambda record: record | {"metadata": {"vendor": "acme"}},
    "with metadata of ours": lambda record: (
        record | {"metadata": {"vendor": "vacr", "data": {"vacr": record["vacr"]}}}
    ),
    "with another member": lambda record: record | {"more": 1},
    "of another version": lambda record: record | {"version": "3.7"},
    "marked twice": lambda record: change_mark(
        record, lambda mark: mark | {"stubs": mark.get("stubs", ["/x"])[:1] * 2}
    ),
    "with less marked": lambda record: change_mark(
        record, lambda mark: mark | {"stubs": mark.get("stubs", [])[1:]}
    ),
    "with more marked": lambda record: change_mark(
        record, lambda mark: mark | {"stubs": [*mark.get("stubs", []), "/z"]}
    ),
    "with other words in the mark": lambda record: change_mark(
        record, lambda mark: mark | {"more": 1}
    ),
    "with more of ours": lambda record: record | {"vacr": record["vacr"] | {"source": {}}},
    "with another id": lambda record: record | {"id": "another"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@settings(max_examples=60)
@given(record=FORMS[0].records_v2())
def test_true_and_false_marks_round_trip(change, record):
    converted = convert(record, "v3")
    assume(find_conversion_mark(converted, json=True))
    assert_round_trip(change(converted), "v3", "v2", json=True)


@settings(max_examples=200)
@given(FORMS[0].records_v2())
def test_marks_inside_metadata_round_trip(record):
    converted = convert(record, "v3")
    assume(find_conversion_mark(converted, json=True))
    unmarked = {
        name: value for name, value in converted.items() if name not in ("vacr", "metadata")
    }
    for plain in (convert(unmarked, "v2"), record):
        assert_round_trip(
            plain | {"metadata": {"vendor": "vacr", "data": {"vacr": converted["vacr"]}}},
            "v2",
            "v3",
            json=True,
        )


@pytest.mark.parametrize(
    "path", [*native_files("claude"), *native_files("codex")], ids=lambda path: path.name
)
def test_real_sessions_round_trip(path):
    record = read_one(path.read_bytes(), name=path.name).record
    data = b"".join(encode_with_id(record))
    older = convert(record, "v2")
    report = validate(decode(encode(older)))
    assert report.schema == "v2.cddl"
    assert report.findings == validate(record).findings
    again = convert(decode(encode(older, "cbor")), "v3")
    assert encode(again) == data
    assert compute_record_id(again) == record["id"] == older["id"]


def mutate(value, random, replacement):
    """Replace one place of a value, chosen at random."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        return {**value, key: mutate(value[key], random, replacement)}
    if isinstance(value, list) and value and random.random() < 0.9:
        index = random.randrange(len(value))
        return [*value[:index], mutate(value[index], random, replacement), *value[index + 1 :]]
    return replacement


ANYTHING = FORMS[1].values | st.floats() | st.just(object())


@settings(max_examples=300)
@given(
    st.one_of([getattr(FORMS[1], f"records_{version}")() for version in FORMAT_VERSIONS]),
    st.randoms(),
    ANYTHING,
    st.sampled_from(list(FORMAT_VERSIONS)),
    st.booleans(),
)
def test_only_errors_of_vacr_are_raised(record, random, replacement, to, json):
    mutated = mutate(record, random, replacement)
    try:
        converted = convert(mutated, to, json=json)
    except InvalidRecord as error:
        assert error.where  # noqa: PT017 - a mutated record may also be valid
        assert error.hint  # noqa: PT017 - as above
    else:
        assert_valid(converted, to, json=json)

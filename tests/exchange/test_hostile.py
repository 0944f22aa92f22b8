"""Whatever a valid record holds is exported or refused; whatever a document holds is imported or
refused.
"""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vacr
from tests.exchange.sessions import example
from tests.exchange.test_git_ai import NOTE
from tests.exchange.trajectories import trajectories
from vacr import codec
from vacr.errors import VacrError
from vacr.exchange.exported import Asked
from vacr.exchange.formats import FORMATS
from vacr.exchange.recognising import format_of
from vacr.identity import identify
from vacr.model import SCHEMA_VERSION
from vacr.readers.source import Part, Source
from vacr.schema import schema_for
from vacr.signing import KeySigner, keys

SIGNER = KeySigner(keys.generate("eddsa"))
READABLE = [name for name, form in FORMATS.items() if form.reader]
TRACE = vacr.encode(
    {
        "version": "0.1.0",
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "timestamp": "2026-01-25T10:00:00Z",
        "files": [
            {
                "path": "a",
                "conversations": [
                    {"ranges": [{"start_line": 1, "end_line": 2, "content_hash": "a:b"}]}
                ],
            }
        ],
    }
)


@pytest.mark.parametrize("name", FORMATS)
def test_any_valid_record_is_exported_or_refused(name):
    schema, made = schema_for(SCHEMA_VERSION), 0
    for seed in range(150):
        record = {
            **schema.generate("verifiable-agent-record", seed=seed, json=True),
            "version": SCHEMA_VERSION,
        }
        record["session"] = schema.generate("session-trace", seed=seed, json=True)
        if seed % 2:
            record["file-attribution"] = schema.generate(
                "file-attribution-record", seed=seed, json=True
            )
        with suppress(VacrError):
            assert (
                FORMATS[name].export(record, Asked("ab" * 32, signer=SIGNER)).data.endswith(b"\n")
            )
            made += 1
    assert made >= 5


def imports(data):
    """Import bytes in every way there is."""
    for name in READABLE:
        with suppress(VacrError):
            for reading in FORMATS[name].read(Source((Part("x", data),))):
                identify(reading.record)
                assert vacr.validate(reading.record).findings == []
    with suppress(VacrError):
        format_of(data)


@given(st.binary(max_size=40))
def test_any_bytes_are_imported_or_refused(data):
    imports(data)


@given(st.data())
def test_damaged_documents_are_imported_or_refused(data):
    whole = data.draw(st.one_of(trajectories().map(codec.encode), st.just(NOTE), st.just(TRACE)))
    place = data.draw(st.integers(0, len(whole) - 1))
    imports(
        whole[:place]
        + data.draw(st.binary(max_size=3))
        + whole[place + data.draw(st.integers(0, 3)) :]
    )


@given(st.data())
def test_documents_with_values_of_other_types_are_imported_or_refused(data):
    document = json.loads(data.draw(st.one_of(trajectories().map(codec.encode), st.just(TRACE))))
    holder, key = data.draw(st.sampled_from(list(_places(document))))
    holder[key] = data.draw(
        st.sampled_from([None, True, 0, -1, 1.5, "", "x", [], [1], {}, {"a": 1}, 2**70])
    )
    imports(codec.encode(document))


def _places(value):
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def test_deep_nesting_is_no_crash():
    record = json.loads(codec.encode(example("cursor.jsonl")))
    entry = {"type": "user", "content": "deepest"}
    for _ in range(150):
        entry = {"type": "assistant", "content": "x", "children": [entry]}
    record["session"]["entries"] = [entry]
    record["session"]["session-start"] = "2026-01-01T00:00:00Z"
    for name in ("markdown", "html", "atif", "otlp"):
        assert b"deepest" in FORMATS[name].export(record, Asked("ab" * 32)).data

"""Any valid record is exported or rejected, and any document is imported or rejected: no crash."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import QUICK
from tests.exchange.sessions import load_example
from tests.exchange.test_git_ai import NOTE
from tests.exchange.trajectories import trajectories
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.errors import VacrError
from vacr.exchange.export import ExportRequest
from vacr.exchange.formats import EXCHANGE_FORMATS, detect_format
from vacr.model import SCHEMA_VERSION
from vacr.record.encoding import assign_record_id, encode
from vacr.record.validation import load_record_schema
from vacr.signing.keys import KeySigner, generate_key

SIGNER = KeySigner(generate_key("eddsa"))
READABLE = [name for name, form in EXCHANGE_FORMATS.items() if form.reader]
TRACE = encode(
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


@pytest.mark.parametrize("name", EXCHANGE_FORMATS)
def test_any_valid_record_is_exported_or_rejected(name):
    schema, made = load_record_schema(SCHEMA_VERSION), 0
    for seed in range(40 if QUICK else 150):
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
                EXCHANGE_FORMATS[name]
                .export(record, ExportRequest("ab" * 32, signer=SIGNER))
                .data.endswith(b"\n")
            )
            made += 1
    assert made >= 5


def import_in_every_format(data):
    """Import bytes in every format."""
    for name in READABLE:
        with suppress(VacrError):
            for reading in EXCHANGE_FORMATS[name].read(Source((SourcePart("x", data),))):
                assign_record_id(reading.record)
                assert validate(reading.record).findings == []
    with suppress(VacrError):
        detect_format(data)


@given(st.binary(max_size=40))
def test_any_bytes_are_imported_or_rejected(data):
    import_in_every_format(data)


@given(st.data())
def test_damaged_documents_are_imported_or_rejected(data):
    whole = data.draw(st.one_of(trajectories().map(encode), st.just(NOTE), st.just(TRACE)))
    place = data.draw(st.integers(0, len(whole) - 1))
    import_in_every_format(
        whole[:place]
        + data.draw(st.binary(max_size=3))
        + whole[place + data.draw(st.integers(0, 3)) :]
    )


@given(st.data())
def test_documents_with_wrong_types_are_imported_or_rejected(data):
    document = json.loads(data.draw(st.one_of(trajectories().map(encode), st.just(TRACE))))
    holder, key = data.draw(st.sampled_from(list(_walk_members(document))))
    holder[key] = data.draw(
        st.sampled_from([None, True, 0, -1, 1.5, "", "x", [], [1], {}, {"a": 1}, 2**70])
    )
    import_in_every_format(encode(document))


def _walk_members(value):
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, dict | list):
            yield from _walk_members(item)


def test_deep_nesting_can_be_exported():
    record = json.loads(encode(load_example("cursor.jsonl")))
    entry = {"type": "user", "content": "deepest"}
    for _ in range(150):
        entry = {"type": "assistant", "content": "x", "children": [entry]}
    record["session"]["entries"] = [entry]
    record["session"]["session-start"] = "2026-01-01T00:00:00Z"
    for name in ("markdown", "html", "atif", "otlp"):
        assert b"deepest" in EXCHANGE_FORMATS[name].export(record, ExportRequest("ab" * 32)).data

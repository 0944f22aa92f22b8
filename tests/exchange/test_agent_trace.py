"""Agent Trace: export of file attributions, and import and export of traces of other tools."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vacr
from tests.exchange.sessions import load_example, read_all_records
from tests.interop.exchange_checks import check_exports
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.exchange.agent_trace import export, read
from vacr.exchange.export import ExportRequest
from vacr.exchange.formats import detect_format
from vacr.record.encoding import encode, encode_with_id

REQUEST = ExportRequest("ab" * 32)
SCHEMA = json.loads((Path(__file__).parent / "agent-trace.schema.json").read_text())
TRACE = {
    "version": "0.1.0",
    "id": "550e8400-e29b-41d4-a716-446655440000",
    "timestamp": "2026-01-25T10:00:00Z",
    "files": [
        {
            "path": "src/app.ts",
            "conversations": [
                {"contributor": {"type": "ai"}, "ranges": [{"start_line": 1, "end_line": 50}]}
            ],
        }
    ],
}


def import_traces(data):
    return [
        json.loads(b"".join(encode_with_id(reading.record)))
        for reading in read(Source((SourcePart("traces.jsonl", data),)))
    ]


def import_document(document):
    (record,) = import_traces(encode(document))
    return record


def export_document(record):
    return json.loads(export(record, REQUEST).data)


_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_more = st.dictionaries(
    st.sampled_from(["note", "id", "x-y", "extra"]),
    _text | st.none() | st.integers(0, 9),
    max_size=1,
)


def _open(required, **optional):
    made = st.fixed_dictionaries(required, optional=optional)
    return st.tuples(_more, made).map(lambda pair: pair[0] | pair[1])


_hashes = st.sampled_from(
    ["sha256:ab", "murmur3:9f2e", "plain", "sha-256:x", "unspecified:y", "a:b:c", ""]
)
_contributor = _open({"type": st.sampled_from(["human", "ai", "mixed", "unknown"])}, model_id=_text)
_range = _open(
    {"start_line": st.integers(1, 9), "end_line": st.integers(1, 9)},
    content_hash=_hashes,
    contributor=_contributor,
)
_related = st.lists(_open({"type": _text, "url": st.just("https://a.example/x")}), max_size=2)
_conversation = _open(
    {"ranges": st.lists(_range, max_size=2)},
    url=st.just("https://a.example/c"),
    contributor=_contributor,
    related=_related,
)
_file = _open({"path": _text, "conversations": st.lists(_conversation, max_size=2)})
_name = _text | st.just("unknown")
traces = _open(
    {
        "version": st.sampled_from(["0.1.0", "1.0"]),
        "id": st.uuids().map(str),
        "timestamp": st.sampled_from(
            ["2026-01-25T10:00:00Z", "2026-01-25T10:00:00.5+01:00", "2026-01-25T10:00Z"]
        ),
        "files": st.lists(_file, max_size=2),
    },
    vcs=_open({"type": st.sampled_from(["git", "jj"]), "revision": _text}),
    tool=_open({}, name=_name, version=_name),
    metadata=st.dictionaries(_text, _text | st.none(), max_size=2),
)


@given(traces)
def test_imported_trace_is_exported_unchanged(trace):
    wanted = {name: value for name, value in trace.items() if value is not None}
    record = import_document(copy.deepcopy(trace))
    validate(record).raise_for_errors()
    assert export_document(record) == wanted


def test_every_attributed_session_gives_a_valid_trace():
    made = []
    for _, record in read_all_records():
        attributed = vacr.attribute(record)
        if attributed.get("file-attribution", {}).get("files"):
            try:
                made.append(export_document(attributed))
            except InvalidRecord as error:
                refused = error.message
                if "no time" not in refused:
                    raise
    assert len(made) > 5
    assert all(import_document(copy.deepcopy(document)) for document in made)
    verdicts = check_exports(
        {"op": "json_schema", "schema": SCHEMA, "document": document} for document in made
    )
    assert [verdict for verdict in verdicts if verdict] == []


def test_content_of_a_trace():
    record = vacr.attribute(copy.deepcopy(load_example("claude-code.jsonl")))
    made = export(record, REQUEST)
    document = json.loads(made.data)
    (file,) = document["files"]
    (conversation,) = file["conversations"]
    assert conversation["contributor"] == {"type": "ai", "model_id": "anthropic/claude-opus-4-6"}
    assert [
        (line_range["start_line"], line_range["end_line"]) for line_range in conversation["ranges"]
    ] == [
        (1, 5),
        (7, 7),
    ]
    assert conversation["ranges"][0]["content_hash"].startswith("sha256:")
    assert conversation["related"] == [
        {"type": "record", "url": "ni:///sha-256;" + "q6ur" * 10 + "q6s"}
    ]
    assert document["metadata"]["vacr"]["sha-256"] == REQUEST.digest
    assert document["tool"] == {"name": "claude-code", "version": "2.1.72"}
    assert "vcs" not in document
    assert made.losses["entries of the conversation"] == 20
    assert made.losses["version control: branch"] == 1


def test_record_without_attribution_cannot_be_exported():
    with pytest.raises(InvalidRecord, match="needs a file attribution") as caught:
        export(load_example("claude-code.jsonl"), REQUEST)
    assert "vacr attribute" in caught.value.hint


def test_invalid_addresses_and_lines_are_counted_as_losses():
    record = copy.deepcopy(load_example("claude-code.jsonl"))
    ranges = [{"start-line": 0, "end-line": 0}, {"start-line": 1, "end-line": 1}]
    record["file-attribution"] = {
        "files": [{"path": "a", "conversations": [{"url": "here", "ranges": ranges}]}]
    }
    made = export(record, REQUEST)
    assert made.losses["addresses without a scheme"] == 1
    assert made.losses["ranges without a line"] == 1
    assert len(json.loads(made.data)["files"][0]["conversations"][0]["ranges"]) == 1


def test_file_may_contain_a_trace_per_line():
    other = {**TRACE, "id": "550e8400-e29b-41d4-a716-446655440001"}
    data = encode(TRACE) + b"\n\n" + encode(other) + b"\n"
    assert detect_format(data) == "agent-trace"
    assert [export_document(record) for record in import_traces(data)] == [TRACE, other]
    with pytest.raises(UnreadableInput, match="line 2"):
        import_traces(encode(TRACE) + b"\n{\n")
    with pytest.raises(InvalidRecord, match="line 2: /files"):
        import_traces(encode(TRACE) + b"\n" + encode({**TRACE, "files": 1}))


REFUSED = [
    ({"version": "x"}, "/version"),
    ({"id": "1"}, "/id"),
    ({"vcs": {"type": "cvs", "revision": "1"}}, "/vcs"),
    ({"files": [{}]}, "/files/0"),
]


@pytest.mark.parametrize(("change", "where"), REFUSED, ids=[where for _, where in REFUSED])
def test_invalid_trace_is_rejected_with_its_place(change, where):
    with pytest.raises(InvalidRecord, match="invalid Agent Trace record") as caught:
        import_document(TRACE | change)
    assert caught.value.where.startswith(where)

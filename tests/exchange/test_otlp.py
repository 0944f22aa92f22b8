"""OTLP/JSON: the spans, and their parsing by the types of OpenTelemetry."""

import copy
import json

import pytest

from tests.exchange.sessions import load_example, read_all_records
from tests.interop.exchange_checks import check_exports
from vacr.errors import InvalidRecord
from vacr.exchange.export import ExportRequest
from vacr.exchange.otlp import export
from vacr.viewer.rows import RowFilter, build_rows

REQUEST = ExportRequest("ab" * 32)
SPAN = {"traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes"}


def export_spans(record, **options):
    document = json.loads(export(record, ExportRequest("ab" * 32, **options)).data)
    ((scope,),) = [resource["scopeSpans"] for resource in document["resourceSpans"]]
    return scope["spans"]


def read_attributes(span):
    """Return the attributes of a span as a dictionary."""
    return {
        attribute["key"]: next(iter(attribute["value"].values()))
        for attribute in span["attributes"]
    }


def select_by_name(spans, name):
    return [span for span in spans if span["name"] == name]


def test_spans_of_a_conversation():
    spans = export_spans(load_example("claude-code.jsonl"))
    assert [span["name"] for span in spans] == [
        "invoke_agent claude-code",
        "chat claude-opus-4-6",
        "execute_tool Read",
        "chat claude-opus-4-6",
        "execute_tool Edit",
        "chat claude-opus-4-6",
        "execute_tool Bash",
        "chat claude-opus-4-6",
        "execute_tool Edit",
        "chat claude-opus-4-6",
    ]
    root, chat, tool = spans[:3]
    assert "parentSpanId" not in root
    assert {span["parentSpanId"] for span in spans[1:]} == {root["spanId"]}
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert read_attributes(root)["gen_ai.conversation.id"] == "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113"
    assert read_attributes(root)["gen_ai.usage.input_tokens"] == "97316"
    assert read_attributes(root)["vacr.record.sha256"] == REQUEST.digest
    assert read_attributes(chat)["gen_ai.usage.input_tokens"] == "19118"
    assert read_attributes(chat)["gen_ai.usage.cache_read.input_tokens"] == "18211"
    parts = json.loads(read_attributes(chat)["gen_ai.output.messages"])[0]["parts"]
    assert [part["type"] for part in parts] == ["reasoning", "text", "tool_call"]
    assert json.loads(read_attributes(chat)["gen_ai.input.messages"])[0]["role"] == "user"
    assert read_attributes(tool)["gen_ai.tool.call.id"] == "toolu_01Read"
    assert json.loads(read_attributes(tool)["gen_ai.tool.call.arguments"]) == {
        "file_path": "/home/mira/invoice/total.py"
    }
    assert int(tool["endTimeUnixNano"]) > int(tool["startTimeUnixNano"])


def test_results_are_inputs_of_the_next_call():
    spans = select_by_name(export_spans(load_example("claude-code.jsonl")), "chat claude-opus-4-6")
    (message,) = json.loads(read_attributes(spans[1])["gen_ai.input.messages"])
    assert message["role"] == "tool"
    assert message["parts"][0]["id"] == "toolu_01Read"


def test_only_failures_have_a_status():
    spans = export_spans(load_example("claude-code.jsonl"))
    failed = [span for span in spans if "status" in span]
    assert [
        (span["name"], span["status"], read_attributes(span)["error.type"]) for span in failed
    ] == [("execute_tool Bash", {"code": 2}, "tool_error")]


def test_trace_id_depends_on_the_record():
    record = load_example("codex-cli.jsonl")
    assert export(record, REQUEST).data == export(record, REQUEST).data
    ids = {
        json.loads(export(record, ExportRequest(digest * 32)).data)["resourceSpans"][0][
            "scopeSpans"
        ][0]["spans"][0]["traceId"]
        for digest in ("ab", "cd")
    }
    assert len(ids) == 2


def test_instructions_sub_agents_and_unanswered_prompts_are_exported():
    assert (
        "permissions"
        in read_attributes(export_spans(load_example("codex-cli.jsonl"))[0])[
            "gen_ai.system_instructions"
        ]
    )
    record = copy.deepcopy(load_example("claude-code.jsonl"))
    side = {"isSidechain": True, "agentId": "a1", "timestamp": "2026-03-14T09:26:02.000Z"}
    record["session"]["entries"] += [
        {"type": "assistant", "content": "sub", **side},
        {"type": "user", "content": "and now?"},
    ]
    spans = export_spans(record)
    (sub,) = select_by_name(spans, "invoke_agent a1")
    (chat,) = [span for span in spans if span.get("parentSpanId") == sub["spanId"]]
    assert chat["name"].startswith("chat")
    assert "and now?" in read_attributes(spans[0])["gen_ai.input.messages"]


def test_missing_times_are_counted_and_a_record_without_times_is_rejected():
    with pytest.raises(InvalidRecord, match="no times"):
        export(load_example("cursor.jsonl"), REQUEST)
    record = copy.deepcopy(load_example("cursor.jsonl"))
    record["session"]["session-start"] = "2026-01-01T00:00:00Z"
    made = export(record, REQUEST)
    assert made.losses["rows without a time, which have that of the row before"] == sum(
        row.kind != "event" for row in build_rows(record)
    )
    assert {span["startTimeUnixNano"] for span in export_spans(record)} == {"1767225600000000000"}


def test_numbers_beyond_the_protocol_are_limited_or_text():
    record = copy.deepcopy(load_example("claude-code.jsonl"))
    record["session"]["session-end"] = "9999-12-31T23:59:59Z"
    record["session"]["entries"][2]["timestamp"] = 10**17
    for entry in record["session"]["entries"]:
        if "token-usage" in entry:
            entry["token-usage"]["input"] = 2**64 - 1
    spans = export_spans(record)
    assert (
        max(int(span[name]) for span in spans for name in ("startTimeUnixNano", "endTimeUnixNano"))
        < 2**64
    )
    values = [attribute["value"] for span in spans for attribute in span["attributes"]]
    assert all(
        -(2**63) <= int(value["intValue"]) < 2**63 for value in values if "intValue" in value
    )
    assert {"stringValue": str(2**64 - 1)} in values


def test_filters_are_honoured():
    made = export(
        load_example("claude-code.jsonl"),
        ExportRequest("ab" * 32, RowFilter(tools=frozenset(["Bash"]))),
    )
    assert made.left_out > 0
    spans = export_spans(
        load_example("claude-code.jsonl"), chosen=RowFilter(tools=frozenset(["Bash"]))
    )
    assert [span["name"] for span in spans] == [
        "invoke_agent claude-code",
        "chat claude-opus-4-6",
        "execute_tool Bash",
    ]


def test_opentelemetry_reads_every_trace():
    made = []
    for _, record in read_all_records():
        try:
            made.append(json.loads(export(record, REQUEST).data))
        except InvalidRecord as error:
            if "no time" not in error.message:
                raise
    assert len(made) > 10
    for document, read in zip(
        made, check_exports({"op": "otlp", "document": document} for document in made), strict=True
    ):
        written = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert all(span.keys() <= SPAN | {"parentSpanId", "status"} for span in written)
        assert [[span["name"], span["spanId"]] for span in written] == [span[:2] for span in read]
        ids = {span[1] for span in read}
        assert all(parent in ids for _, _, parent, *_ in read if parent)
        assert all(0 < start <= end for _, _, _, start, end, _ in read)

"""ATIF: export of sessions, import of trajectories, and rejected documents."""

import copy
import json

import pytest
from hypothesis import given

from tests.exchange.sessions import export_all_records, load_example
from tests.exchange.trajectories import trajectories
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.exchange.atif import check_trajectory, read
from vacr.exchange.atif_export import export
from vacr.exchange.export import ExportRequest
from vacr.record.encoding import encode, encode_with_id
from vacr.viewer.rows import RowFilter

REQUEST = ExportRequest("ab" * 32)


def export_document(record, **options):
    return json.loads(export(record, ExportRequest("ab" * 32, **options)).data)


def import_document(document):
    """Return the record of a document, encoded and decoded."""
    reading = read(Source((SourcePart("run.json", encode(document)),)))
    return json.loads(b"".join(encode_with_id(reading.record)))


@given(trajectories())
def test_imported_trajectory_is_exported_unchanged(document):
    record = import_document(copy.deepcopy(document))
    validate(record).raise_for_errors()
    assert record["vacr"]["source"]["format"] == "atif"
    assert export_document(record) == document


@given(trajectories())
def test_imported_trajectory_can_be_exported_as_another_version(document):
    made = export_document(import_document(document), version="1.8")
    check_trajectory(made)


def test_every_session_gives_a_trajectory():
    found = 0
    for _, record, made in export_all_records(export):
        document = json.loads(made.data)
        check_trajectory(document)
        assert import_document(document)
        assert document["extra"]["vacr"]["record"] == record["id"]
        found += 1
    assert found >= 20


def test_each_model_call_is_a_step():
    document = export_document(load_example("claude-code.jsonl"))
    agent = [step for step in document["steps"] if step["source"] == "agent"]
    assert [[call["function_name"] for call in step.get("tool_calls", [])] for step in agent] == [
        ["Read"],
        ["Edit"],
        ["Bash"],
        ["Edit"],
        [],
    ]
    first = agent[0]
    assert first["reasoning_content"]
    assert first["message"]
    assert first["metrics"]["prompt_tokens"] == 19118
    assert first["metrics"]["cached_tokens"] == 18211
    (result,) = first["observation"]["results"]
    assert result["source_call_id"] == "toolu_01Read"
    failed = [
        step["observation"]["results"][0]
        for step in agent
        if step.get("tool_calls", [{}])[0].get("function_name") == "Bash"
    ]
    assert failed[0]["extra"]["vacr"] == {"is-error": True}


def test_tokens_of_events_belong_to_the_previous_call():
    steps = export_document(load_example("codex-cli.jsonl"))["steps"]
    assert [step.get("metrics", {}).get("prompt_tokens") for step in steps] == [
        None,
        None,
        None,
        9120,
        9410,
        9600,
    ]
    assert steps[0]["source"] == "system"


def test_input_need_not_be_an_object_nor_a_call_have_a_name():
    steps = export_document(load_example("codex-cli.jsonl"))["steps"]
    patch = steps[4]["tool_calls"][0]
    assert set(patch["arguments"]) == {"input"}
    cursor = export_document(load_example("cursor.jsonl"))["steps"]
    assert [call["tool_call_id"] for step in cursor for call in step.get("tool_calls", [])] == [
        "call-1",
        "call-1",
    ]


def _record(*entries):
    record = copy.deepcopy(load_example("cursor.jsonl"))
    record["session"]["entries"] = list(entries)
    return record


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
SOUND = {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}


@pytest.mark.parametrize(
    "content",
    [
        "hello",
        [{"type": "text", "text": "hello"}],
        ["hello"],
        [{"text": "hello"}],
        {"text": "hello"},
    ],
)
def test_every_shape_of_content_gives_the_same_step(content):
    assert (
        export_document(_record({"type": "user", "content": content}))["steps"][0]["message"]
        == "hello"
    )


def test_missing_content_is_an_empty_message():
    assert export_document(_record({"type": "user"}))["steps"][0]["message"] == ""


def test_images_and_audio_are_exported_if_the_version_has_them():
    seen = _record({"type": "user", "content": [{"type": "text", "text": "look"}, IMAGE]})
    assert export_document(seen)["steps"][0]["message"][1]["source"] == {
        "media_type": "image/png",
        "path": "data:image/png;base64,AAAA",
    }
    older = export(seen, ExportRequest("", version="1.5"))
    assert json.loads(older.data)["steps"][0]["message"] == "look\n[image/png, not exported]"
    assert older.losses["images and sounds"] == 1
    heard = _record({"type": "user", "content": [SOUND]})
    assert export_document(heard)["schema_version"] == "ATIF-v1.8"
    assert export_document(heard)["steps"][0]["message"][0]["type"] == "audio"
    assert export(heard, ExportRequest("", version="1.7")).losses["images and sounds"] == 1


@pytest.mark.parametrize(
    ("version", "form", "message", "losses"),
    [
        (
            "1.8",
            "mp3",
            [
                {
                    "type": "audio",
                    "source": {
                        "media_type": "audio/mpeg",
                        "path": "data:audio/mp3;base64,AAAA",
                    },
                }
            ],
            0,
        ),
        ("1.7", "mp3", "[audio/mp3, not exported]", 1),
        ("1.8", "pcm16", "[audio/pcm16, not exported]", 1),
    ],
)
def test_audio_in_the_form_of_openai_is_exported_or_counts_as_a_loss(
    version, form, message, losses
):
    sound = {"type": "input_audio", "input_audio": {"format": form, "data": "AAAA"}}
    heard = _record({"type": "user", "content": [sound]})
    made = export(heard, ExportRequest("", version=version))
    assert json.loads(made.data)["steps"][0]["message"] == message
    assert made.losses["images and sounds"] == losses


def test_result_without_a_call_names_no_call():
    record = _record(
        {"type": "assistant", "content": "x"},
        {"type": "tool-result", "output": "late", "call-id": "gone"},
    )
    (step,) = export_document(record)["steps"]
    assert step["observation"]["results"] == [
        {"content": "late", "extra": {"vacr": {"call-id": "gone"}}}
    ]


def test_sub_agents_become_separate_trajectories():
    side = {"isSidechain": True, "agentId": "a1"}
    record = _record(
        {"type": "user", "content": "do"},
        {"type": "user", "content": "part", **side},
        {"type": "assistant", "content": "done", **side},
    )
    made = export_document(record)
    assert [step["message"] for step in made["steps"]] == ["do"]
    (other,) = made["subagent_trajectories"]
    assert other["trajectory_id"].endswith("/a1")
    assert [step["message"] for step in other["steps"]] == ["part", "done"]
    assert [step["message"] for step in export_document(record, version="1.6")["steps"]] == [
        "do",
        "part",
        "done",
    ]


def test_filters_apply_and_count_the_rows_left_out():
    record = load_example("claude-code.jsonl")
    made = export(record, ExportRequest("", RowFilter(kinds=frozenset(["user"]))))
    document = json.loads(made.data)
    assert {step["source"] for step in document["steps"]} == {"user"}
    assert document["extra"]["vacr"]["partial"] is True
    assert made.left_out > 5
    with pytest.raises(InvalidRecord, match="filters"):
        export(record, ExportRequest("", RowFilter(text="no such words")))


def test_losses_are_counted():
    losses = export(load_example("codex-cli.jsonl"), REQUEST).losses
    assert losses["events (token-count)"] == 4
    assert losses["entries that repeat others"] == 4
    assert losses["the agent's own members"] > 0


STEP = {"step_id": 1, "source": "user", "message": "x"}
DOCUMENT = {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": [STEP]}
REFUSED = [
    ({**DOCUMENT, "steps": []}, "/steps"),
    ({**DOCUMENT, "schema_version": "2"}, "/schema_version"),
    ({**DOCUMENT, "agent": {"name": "a"}}, "/agent"),
    ({**DOCUMENT, "steps": [{**STEP, "step_id": 2}]}, "/steps/0/step_id"),
    ({**DOCUMENT, "steps": [{**STEP, "metrics": {}}]}, "/steps/0/metrics"),
    (
        {
            **DOCUMENT,
            "steps": [{**STEP, "source": "agent", "llm_call_count": 0, "reasoning_content": ""}],
        },
        "/steps/0/reasoning_content",
    ),
    (
        {**DOCUMENT, "steps": [{**STEP, "observation": {"results": [{"source_call_id": "c"}]}}]},
        "/steps/0/observation/results/0/source_call_id",
    ),
    ({**DOCUMENT, "subagent_trajectories": [DOCUMENT]}, "/subagent_trajectories/0/trajectory_id"),
    ({**DOCUMENT, "steps": [{**STEP, "message": [{"type": "text"}]}]}, "/steps/0/message"),
    ([], "/"),
]


@pytest.mark.parametrize(("document", "where"), REFUSED, ids=[where for _, where in REFUSED])
def test_invalid_trajectory_is_rejected_with_its_place(document, where):
    with pytest.raises(InvalidRecord, match="invalid ATIF trajectory") as caught:
        import_document(document)
    assert caught.value.where.startswith(where)


def test_invalid_json_is_rejected():
    with pytest.raises(UnreadableInput):
        read(Source((SourcePart("run.json", b"{"),)))


def test_members_of_later_versions_are_kept():
    later = copy.deepcopy(DOCUMENT) | {
        "schema_version": "ATIF-v1.9",
        "format": "x",
        "mood": {"a": None},
    }
    later["steps"][0] |= {"id": "s1", "children": [1], "weather": "fine", "vacr": {"x": 1}}
    record = import_document(copy.deepcopy(later))
    assert record["session"]["mood"] == {"a": None}
    assert record["session"]["entries"][0]["weather"] == "fine"
    assert export_document(record) == later


def test_copied_context_is_marked_as_inherited_and_not_counted():
    copied = {
        "step_id": 1,
        "source": "agent",
        "message": "old",
        "is_copied_context": True,
        "metrics": {"prompt_tokens": 5},
    }
    record = import_document({**DOCUMENT, "steps": [copied, {**STEP, "step_id": 2}]})
    assert record["session"]["entries"][0]["vacr"]["inherited"] is True
    assert export_document(record, version="1.7")["final_metrics"] == {"total_steps": 2}

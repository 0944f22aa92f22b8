import pytest

from tests.conftest import EXAMPLES, FIXTURES, jsonl, read_one, record_of
from vacr.discovery.opening import read_sessions

SHAPES = record_of((FIXTURES / "claude" / "shapes.jsonl").read_bytes())
EXAMPLE = record_of((EXAMPLES / "claude-code.jsonl").read_bytes())


def find_entries(record, **members):
    return [
        entry
        for entry in record["session"]["entries"]
        if all(entry.get(name.replace("_", "-")) == value for name, value in members.items())
    ]


def line(**members):
    return {"type": "assistant", "uuid": "u", "sessionId": "s", **members}


def test_the_session_is_described():
    session = EXAMPLE["session"]
    assert session["session-id"] == "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113"
    assert session["agent-meta"] == {
        "cli-name": "claude-code",
        "cli-version": "2.1.72",
        "model-id": "claude-opus-4-6",
        "model-provider": "anthropic",
        "models": ["claude-opus-4-6"],
    }
    assert session["environment"] == {
        "working-dir": "/home/mira/invoice",
        "vcs": {"type": "git", "branch": "fix/rounding"},
    }
    assert EXAMPLE["vcs"] == {"type": "git", "branch": "fix/rounding"}
    assert session["format"] == "interactive"
    assert session["session-start"] == "2026-03-14T09:26:01.250Z"
    assert session["session-end"] == "2026-03-14T09:26:20.000Z"
    assert EXAMPLE["recording-agent"]["name"] == "vacr"


def test_message_is_lifted_and_other_members_stay():
    entry = find_entries(EXAMPLE, type="user")[0]
    assert entry["content"].startswith("The invoice total is off")
    assert entry["timestamp"] == "2026-03-14T09:26:01.250Z"
    assert entry["message"] == {"role": "user"}
    assert entry["permissionMode"] == "acceptEdits"
    assert entry["cwd"] == "/home/mira/invoice"
    assert "parent-id" not in entry
    assert "uuid" not in entry


def test_children_are_views_of_the_blocks():
    (entry,) = [
        entry for entry in find_entries(EXAMPLE, type="assistant") if "quantize" in str(entry)
    ]
    block = entry["content"][0]
    assert entry["children"] == [
        {"type": "tool-call", "name": "Edit", "input": block["input"], "call-id": "toolu_02Edit"},
    ]
    (failed,) = [entry for entry in find_entries(EXAMPLE, type="user") if "NameError" in str(entry)]
    assert failed["children"] == [
        {
            "type": "tool-result",
            "output": "NameError: name 'CENT' is not defined",
            "call-id": "toolu_03Bash",
            "status": "error",
            "is-error": True,
        }
    ]
    assert failed["toolUseResult"].startswith("Error: Exit code 1")


def test_usage_is_counted_once_for_an_api_message_with_its_final_numbers():
    split = [
        entry
        for entry in find_entries(EXAMPLE, type="assistant")
        if entry["message"]["id"] == "msg_01Rounding"
    ]
    assert len(split) == 3
    assert ["token-usage" in entry for entry in split] == [False, False, True]
    usage = split[2]["token-usage"]
    assert (usage["input"], usage["cached"], usage["output"]) == (4 + 903 + 18211, 18211, 187)
    assert usage["cache_creation_input_tokens"] == 903
    assert [entry.get("stop-reason") for entry in split] == [None, None, "tool_use"]
    assert "usage" not in split[2]["message"]
    assert split[0]["message"]["usage"]["output_tokens"] == 8


def test_known_events_have_the_names_of_the_specification():
    (entry,) = find_entries(EXAMPLE, event_type="permission-change")
    assert entry["data"] == {"permissionMode": "acceptEdits"}
    assert entry["vacr"] == {"native": {"type": "permission-mode"}}
    assert [
        entry["data"]["operation"] for entry in find_entries(EXAMPLE, event_type="queue-operation")
    ] == ["enqueue", "remove"]


def test_other_lines_are_events_under_their_native_type():
    (entry,) = find_entries(EXAMPLE, event_type="attachment")
    assert entry["data"]["attachment"]["type"] == "skill_listing"
    assert entry["sessionId"] == "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113"
    assert entry["parent-id"]


def test_compaction_keeps_its_logical_parent():
    (boundary,) = [
        entry
        for entry in find_entries(SHAPES, event_type="system")
        if entry["data"]["subtype"] == "compact_boundary"
    ]
    assert "parent-id" not in boundary
    assert boundary["data"]["logicalParentUuid"]
    assert boundary["data"]["compactMetadata"] == {"trigger": "manual", "preTokens": 15500}
    (summary,) = [
        entry for entry in find_entries(SHAPES, type="user") if entry.get("isCompactSummary")
    ]
    assert summary["parent-id"] == boundary["id"]


def test_branches_share_a_parent():
    (first,) = [
        entry for entry in find_entries(SHAPES, type="assistant") if "First answer." in str(entry)
    ]
    (second,) = [
        entry
        for entry in find_entries(SHAPES, type="assistant")
        if "redacted_thinking" in str(entry)
    ]
    assert first["parent-id"] == second["parent-id"]


def test_sub_agent_messages_in_progress_lines_are_children_of_the_event():
    progress = [
        entry
        for entry in find_entries(SHAPES, event_type="progress")
        if entry["data"]["data"]["type"] == "agent_progress"
    ]
    assert [entry["children"][0]["type"] for entry in progress] == ["user", "assistant", "user"]
    call = progress[1]["children"][0]
    assert call["model-id"] == "claude-haiku-4-5-20251001"
    assert call["children"][0]["name"] == "Grep"
    assert call["token-usage"]["input"] == 510
    assert "message" not in progress[1]["data"]["data"]
    assert progress[1]["data"]["data"]["agentId"] == "a7f3b21"
    assert SHAPES["session"]["agent-meta"]["models"] == [
        "claude-opus-4-5-20251101",
        "claude-haiku-4-5-20251001",
    ]


def test_synthetic_messages_have_no_model():
    (entry,) = [
        entry for entry in find_entries(SHAPES, type="assistant") if "529" in str(entry["content"])
    ]
    assert "model-id" not in entry
    assert "token-usage" not in entry
    assert entry["message"]["model"] == "<synthetic>"
    assert entry["vacr"] == {"synthetic": True}


def test_encrypted_reasoning_is_kept():
    redacted, thought = [
        entry["children"][0]
        for entry in find_entries(SHAPES, type="assistant")
        if "thinking" in str(entry["content"])
    ]
    assert redacted == {"type": "reasoning", "content": "", "encrypted": "UkVEQUNURUQ="}
    assert thought == {"type": "reasoning", "content": "", "encrypted": "U0lHTkVE"}


def test_inline_sidechains_stay_in_the_session():
    record = record_of((FIXTURES / "claude" / "sidechain.jsonl").read_bytes())
    assert [entry["isSidechain"] for entry in record["session"]["entries"]] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert "parent" not in record["vacr"]


def test_sub_agents_with_separate_files_are_separate_records():
    main = FIXTURES / "claude" / "project" / "3c9e7b10-5d42-4f6a-8b1e-7a2c4d6e8f01.jsonl"
    found = list(read_sessions(main))
    sessions = [session.reading.record["session"] for session in found]
    assert [session["session-id"] for session in sessions] == [
        main.stem,
        f"{main.stem}/a1b2c3d",
        f"{main.stem}/e4f5a6b",
    ]
    assert [session.reading.record["vacr"].get("parent") for session in found] == [
        None,
        *[{"session-id": main.stem}] * 2,
    ]
    assert [session.get("format") for session in sessions] == [
        "interactive",
        "autonomous",
        "autonomous",
    ]
    names = [
        [part["name"] for part in session.reading.record["vacr"]["source"]["parts"]]
        for session in found
    ]
    assert names == [
        [f"{main.stem}.jsonl", f"{main.stem}/tool-results/out.txt"],
        ["agent-a1b2c3d.jsonl", "agent-a1b2c3d.meta.json"],
        ["agent-e4f5a6b.jsonl"],
    ]
    assert sessions[0]["entries"][-1]["data"] == {
        "name": f"{main.stem}/tool-results/out.txt",
        "text": "a long output\n",
    }
    assert (
        sessions[1]["entries"][-1]["data"]["text"]
        == '{"agentType":"general-purpose","description":"do y"}'
    )
    assert [session.label for session in found] == ["", "a1b2c3d", "e4f5a6b"]


def test_repeated_line_keeps_its_place_but_not_its_id():
    again = line(message={"role": "assistant", "content": "x"})
    record = record_of(jsonl(again, again))
    first, second = record["session"]["entries"]
    assert first["id"] == "u"
    assert "id" not in second
    assert second["vacr"] == {"repeats": "u"}


def test_unknown_lines_and_members_are_kept_and_counted():
    blocks = [{"type": "hologram"}, {"type": "text", "text": "x", "tone": 1}]
    drifted = line(
        newMember=1,
        message={"role": "assistant", "content": blocks, "mood": "good", "usage": {"joules": 5}},
    )
    record = record_of(
        jsonl(
            line(message={"role": "user", "content": "x"}),
            drifted,
            {"type": "brand-new", "sessionId": "s", "x": 1},
        )
    )
    assert record["vacr"]["drift"] == {
        "members": {
            "assistant.newMember": 1,
            "content/text.tone": 1,
            "message.mood": 1,
            "usage.joules": 1,
        },
        "types": {"brand-new": 1, "content/hologram": 1},
    }
    assert find_entries(record, event_type="brand-new")[0]["data"] == {"x": 1}


@pytest.mark.parametrize(
    ("entrypoint", "mode"),
    [
        ("cli", "interactive"),
        ("sdk-cli", "autonomous"),
        ("claude-desktop", "interactive"),
        ("odd", None),
    ],
)
def test_mode_of_a_session_is_recognised(entrypoint, mode):
    assert (
        record_of(jsonl(line(entrypoint=entrypoint, message={"role": "user", "content": "x"})))[
            "session"
        ].get("format")
        == mode
    )


def test_model_of_another_vendor_is_not_attributed_to_anthropic():
    record = record_of(jsonl(line(message={"role": "assistant", "model": "glm-5", "content": "x"})))
    assert record["session"]["agent-meta"]["model-provider"] == "unknown"


def test_missing_session_id_is_derived_from_the_content():
    data = jsonl({"type": "user", "message": {"role": "user", "content": "x"}})
    assert (
        record_of(data)["session"]["session-id"]
        == read_one(data).record["vacr"]["source"]["parts"][0]["sha-256"]
    )

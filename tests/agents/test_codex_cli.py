import pytest

from tests.agents.entries import list_entries, list_events
from tests.conftest import EXAMPLES, FIXTURES, jsonl, record_of

EXAMPLE = record_of((EXAMPLES / "codex-cli.jsonl").read_bytes())
BARE = record_of((FIXTURES / "codex" / "bare.jsonl").read_bytes())
PAGINATED = record_of((FIXTURES / "codex" / "paginated.jsonl").read_bytes())
FORK = record_of((FIXTURES / "codex" / "fork.jsonl").read_bytes())
OWN = "019cf2a1-7c40-7d20-9a51-5b1d0c7e4f21"


def line(kind, payload, **members):
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload, **members}


META = line(
    "session_meta",
    {
        "id": "s1",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/w",
        "cli_version": "0.1.0",
        "source": "cli",
    },
)


def test_the_session_is_described():
    session = EXAMPLE["session"]
    assert session["session-id"] == OWN
    assert session["agent-meta"] == {
        "cli-name": "codex-cli",
        "cli-version": "0.121.0",
        "model-id": "gpt-5.5",
        "model-provider": "openai",
        "models": ["gpt-5.5"],
    }
    vcs = {
        "type": "git",
        "revision": "8f2c1e0b5d7a4963a1b2c3d4e5f60718293a4b5c",
        "branch": "fix/rounding",
        "repository": "https://git.example/invoice.git",
    }
    assert EXAMPLE["vcs"] == vcs
    assert session["environment"] == {
        "working-dir": "/home/mira/invoice",
        "vcs": vcs,
        "sandboxes": ["/home/mira/.codex/memories"],
    }
    assert session["format"] == "interactive"
    assert session["session-start"] == "2026-03-14T09:36:00.000Z"


@pytest.mark.parametrize("record", [EXAMPLE, BARE], ids=["enveloped", "bare"])
def test_the_first_line_is_the_start_of_the_session(record):
    assert [entry.get("event-type") for entry in record["session"]["entries"]].index(
        "session-start"
    ) == 0
    assert len(list_events(record, "session-start")) == 1


def test_messages_come_from_response_items_and_echoes_stay_events():
    assert [entry["type"] for entry in list_entries(EXAMPLE, "user", "assistant")] == [
        "user",
        "user",
        "assistant",
    ]
    (answer,) = list_entries(EXAMPLE, "assistant")
    assert answer["content"] == [
        {"type": "output_text", "text": "`total()` now says what it takes and gives."}
    ]
    assert answer["payload"] == {"type": "message", "phase": "final_answer"}
    assert answer["vacr"] == {"native": {"type": "response_item"}}
    for name in ("user_message", "agent_message", "agent_reasoning"):
        (echo,) = list_events(EXAMPLE, name)
        assert echo["vacr"] == {"native": {"type": "event_msg"}, "repeats": True}


def test_developer_messages_are_events():
    (entry,) = list_events(EXAMPLE, "message")
    assert entry["data"]["role"] == "developer"


def test_calls_and_results_are_linked_and_arguments_are_objects():
    call, patch = list_entries(EXAMPLE, "tool-call")
    assert call["name"] == "exec_command"
    assert call["input"] == {"cmd": "cat total.py", "workdir": "/home/mira/invoice"}
    assert call["payload"]["arguments"] == '{"cmd":"cat total.py","workdir":"/home/mira/invoice"}'
    assert patch["input"].startswith("*** Begin Patch")
    assert [entry["call-id"] for entry in list_entries(EXAMPLE, "tool-call")] == [
        entry["call-id"] for entry in list_entries(EXAMPLE, "tool-result")
    ]


def test_reasoning_has_its_summary_and_its_encrypted_form():
    (entry,) = list_entries(EXAMPLE, "reasoning")
    assert entry["content"] == [{"type": "summary_text", "text": "**Looking at the function**"}]
    assert entry["encrypted"] == "Z0FBQUFBQnB0RXhhbXBsZQ=="


def test_answers_have_the_model_of_their_turn():
    assert list_entries(EXAMPLE, "assistant")[0]["model-id"] == "gpt-5.5"
    assert list_entries(PAGINATED, "assistant")[0]["model-id"] == "gpt-5.5-mini"
    assert PAGINATED["session"]["agent-meta"]["models"] == ["gpt-5.5", "gpt-5.5-mini"]


def test_tokens_are_counted_once():
    counts = list_events(EXAMPLE, "token-count")
    assert [("token-usage" in entry, entry["vacr"].get("repeats")) for entry in counts] == [
        (False, None),
        (True, None),
        (False, True),
        (True, None),
        (True, None),
    ]
    assert counts[1]["token-usage"] == {
        "input": 9120,
        "cached": 7680,
        "output": 96,
        "reasoning": 40,
        "total": 9216,
        "input_tokens": 9120,
        "cached_input_tokens": 7680,
        "output_tokens": 96,
        "reasoning_output_tokens": 40,
        "total_tokens": 9216,
    }
    assert "last_token_usage" not in counts[1]["data"]["info"]
    assert sum(entry.get("token-usage", {}).get("total", 0) for entry in counts) == 28130 + 291


def test_file_evidence_is_kept():
    (entry,) = list_events(EXAMPLE, "patch_apply_end")
    assert "/home/mira/invoice/total.py" in entry["data"]["changes"]


def test_rollout_without_envelopes_is_read():
    assert BARE["session"]["session-id"] == "5a8d2f10-1b3c-4d5e-8f90-a1b2c3d4e5f6"
    assert BARE["session"]["session-start"] == "2025-07-30T08:00:00.000Z"
    assert BARE["vcs"]["revision"] == "aa11bb22cc33dd44ee55ff6677889900aabbccdd"
    assert [entry["type"] for entry in BARE["session"]["entries"]] == [
        "system-event",
        "system-event",
        "user",
        "reasoning",
        "tool-call",
        "tool-result",
        "tool-call",
        "system-event",
        "assistant",
    ]
    assert list_entries(BARE, "tool-call")[1] == {
        "type": "tool-call",
        "name": "local_shell",
        "input": {"type": "exec", "command": ["pwd"]},
        "call-id": "call_lsh",
        "id": "ls_1",
        "vacr": {
            "native": {"status": "completed", "type": "local_shell_call"},
            "status": "no-result",
        },
    }


def test_paginated_rollout_is_read():
    assert [entry["ordinal"] for entry in PAGINATED["session"]["entries"]] == list(range(15))
    assert PAGINATED["session"]["format"] == "autonomous"
    assert [entry["name"] for entry in list_entries(PAGINATED, "tool-call")] == [
        "exec",
        "web_search",
        "tool_search",
        "image_generation",
    ]
    assert list_entries(PAGINATED, "tool-call")[3]["children"] == [
        {
            "type": "tool-result",
            "output": "iVBORw0KGgo=",
            "status": "success",
            "is-error": False,
        }
    ]
    assert len(list_entries(PAGINATED, "user")) == 1
    assert len(list_events(PAGINATED, "item_completed")) == 2


def test_a_fork_is_its_own_session_and_marks_what_it_inherits():
    session = FORK["session"]
    assert session["session-id"] == "019cf2c0-0000-7000-8000-0000000000c0"
    assert FORK["vacr"]["parent"] == {"session-id": OWN}
    assert session["format"] == "autonomous"
    inherited = [
        index
        for index, entry in enumerate(session["entries"])
        if entry.get("vacr", {}).get("inherited")
    ]
    assert inherited == list(range(1, 23))
    assert session["agent-meta"]["models"] == ["gpt-5.5-mini"]
    assert [
        entry["token-usage"]["output"] for entry in session["entries"] if "token-usage" in entry
    ] == [20]
    assert session["session-start"] == "2026-03-14T09:57:40.000Z"
    assert [entry["model-id"] for entry in list_entries(FORK, "assistant")] == [
        "gpt-5.5",
        "gpt-5.5-mini",
    ]


@pytest.mark.parametrize(
    "said", [{"subagent_history_start_ordinal": 3}, {"history_base": {"end_ordinal_exclusive": 3}}]
)
def test_fork_may_state_where_its_own_lines_begin(said):
    meta = META | {"payload": META["payload"] | said, "ordinal": 0}
    lines = [
        line(
            "response_item",
            {"type": "message", "role": "user", "content": str(number)},
            ordinal=number,
        )
        for number in range(1, 6)
    ]
    record = record_of(jsonl(meta, *lines))
    assert [entry.get("vacr", {}).get("inherited") for entry in record["session"]["entries"]] == [
        None,
        True,
        True,
        None,
        None,
        None,
    ]


def test_older_fork_is_recognised_by_the_times_of_its_turns():
    parent = line("session_meta", {"id": "p1", "timestamp": "2025-12-31T00:00:00.000Z"})
    copied = line(
        "turn_context", {"model": "old", "cwd": "/w"}, timestamp="2026-01-01T00:00:00.300Z"
    )
    own = line("turn_context", {"model": "new", "cwd": "/w"}, timestamp="2026-01-01T00:00:09.000Z")
    record = record_of(jsonl(META, parent, copied, own))
    assert [entry.get("vacr", {}).get("inherited") for entry in record["session"]["entries"]] == [
        None,
        True,
        True,
        None,
    ]
    assert record["session"]["agent-meta"]["models"] == ["new"]


def test_two_headers_of_one_session_are_not_a_fork():
    record = record_of(jsonl(META, META))
    assert not any("inherited" in entry.get("vacr", {}) for entry in record["session"]["entries"])


def test_echo_without_response_item_becomes_the_message():
    record = record_of(
        jsonl(
            META,
            line("event_msg", {"type": "user_message", "message": "hi", "images": []}),
            line("event_msg", {"type": "agent_reasoning", "text": "hm"}),
            line("event_msg", {"type": "agent_message", "message": "hello"}),
        )
    )
    assert [(entry["type"], entry["content"]) for entry in record["session"]["entries"][1:]] == [
        ("user", "hi"),
        ("reasoning", "hm"),
        ("assistant", "hello"),
    ]


def test_unknown_items_and_members_are_kept_and_counted():
    record = record_of(
        jsonl(
            META,
            line("event_msg", {"type": "new_event", "x": 1}),
            line("response_item", {"type": "new_item"}),
            line("new_line", {"y": 2}),
            line(
                "response_item",
                {"type": "message", "role": "user", "content": [], "mood": "good"},
                extra=3,
            ),
        )
    )
    assert record["vacr"]["drift"] == {
        "members": {"line.extra": 1, "response_item/message.mood": 1},
        "types": {"event_msg/new_event": 1, "new_line": 1, "response_item/new_item": 1},
    }
    assert list_events(record, "new_line")[0]["data"] == {"y": 2}


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        ("cli", "interactive"),
        ("vscode", "interactive"),
        ("exec", "autonomous"),
        ({"subagent": "review"}, "autonomous"),
        ("odd", None),
    ],
)
def test_mode_of_a_rollout_is_recognised(source, mode):
    record = record_of(jsonl(META | {"payload": META["payload"] | {"source": source}}))
    assert record["session"].get("format") == mode


def test_later_header_of_another_session_inherits_nothing():
    turn = line(
        "turn_context",
        {"turn_id": "019cf2c0-5000-7000-8000-0000000000c1", "model": "m"},
        timestamp="2026-01-01T00:01:00.000Z",
    )
    foreign = line("session_meta", {"id": "other"}, timestamp="2026-01-01T00:02:00.000Z")
    record = record_of(jsonl(META, turn, foreign, turn))
    assert not any("inherited" in entry.get("vacr", {}) for entry in record["session"]["entries"])


def test_prompt_before_first_turn_of_older_fork_is_its_own():
    parent = line("session_meta", {"id": "p1"})
    copied = line("turn_context", {"model": "old"}, timestamp="2026-01-01T00:00:00.300Z")
    prompt = line(
        "response_item",
        {"type": "message", "role": "user", "content": "mine"},
        timestamp="2026-01-01T00:05:00.000Z",
    )
    own = line("turn_context", {"model": "new"}, timestamp="2026-01-01T00:05:01.000Z")
    record = record_of(jsonl(META, parent, copied, prompt, own))
    assert [entry.get("vacr", {}).get("inherited") for entry in record["session"]["entries"]] == [
        None,
        True,
        True,
        None,
        None,
    ]


def test_shell_call_without_call_id_uses_its_own_id():
    call = line(
        "response_item",
        {
            "type": "local_shell_call",
            "id": "lsh1",
            "call_id": None,
            "action": {"type": "exec", "command": ["ls"]},
        },
    )
    answer = line(
        "response_item", {"type": "function_call_output", "call_id": "lsh1", "output": "a"}
    )
    _, one, two = record_of(jsonl(META, call, answer))["session"]["entries"]
    assert one["call-id"] == two["call-id"] == "lsh1"


def test_unknown_members_deeper_down_are_counted():
    turn = line("turn_context", {"model": "m", "mood": 1})
    count = line("event_msg", {"type": "token_count", "info": None, "zeal": 2})
    said = line(
        "response_item",
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "x", "tone": 3}, {"type": "hologram"}],
        },
    )
    bare = {"type": "reasoning", "summary": [], "zzz": 4}
    drift = record_of(jsonl(META, turn, count, said, bare))["vacr"]["drift"]
    assert drift["members"] == {
        "bare/reasoning.zzz": 1,
        "content/input_text.tone": 1,
        "token_count.zeal": 1,
        "turn_context.mood": 1,
    }
    assert drift["types"] == {"content/hologram": 1}

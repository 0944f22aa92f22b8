import json

import pytest

from tests.conftest import EXAMPLES, FIXTURES, jsonl, read_one, record_of, records_of
from vacr import validate
from vacr.discovery.opening import read_sessions

EXAMPLE = record_of((EXAMPLES / "gemini-cli.jsonl").read_bytes())
REWOUND = record_of((FIXTURES / "gemini" / "rewound.jsonl").read_bytes())
SESSION = record_of((FIXTURES / "gemini" / "session.json").read_bytes())
CHAT = record_of((FIXTURES / "gemini" / "saved-chat.json").read_bytes())
SNAKE = record_of((FIXTURES / "gemini" / "saved-chat-snake.json").read_bytes())
PARENT = "b6b1f0f4-5c1d-4e53-9d0e-51f2f0c7a9d2"
CHILD = FIXTURES / "gemini" / PARENT / "5d8a7c1e-0000-4000-8000-00000000beef.jsonl"
HEADER = {
    "sessionId": "s1",
    "projectHash": "ab",
    "startTime": "2026-05-02T08:15:01.000Z",
    "kind": "main",
}


TYPED = {"speaker": "human", "speaker-basis": "inferred"}


def line(identity, kind="user", **members):
    return {
        "id": identity,
        "timestamp": "2026-05-02T08:15:02.000Z",
        "type": kind,
        "content": identity,
        **members,
    }


def log(*lines):
    """Record a log and return its entries."""
    return record_of(jsonl(HEADER, *lines), "gemini-cli")["session"]["entries"]


def fates(entries):
    """Return the fate of each message, by its id."""
    marks = [
        (entry.get("id"), entry.get("vacr", {}))
        for entry in entries
        if entry.get("event-type") not in PATCHES
    ]
    return [(ours.get("repeats", identity), ours.get("superseded")) for identity, ours in marks]


PATCHES = ("rewind", "metadata-update", "message-patch", "session-metadata")


def children(entry, kind):
    return [child for child in entry["children"] if child["type"] == kind]


def test_the_session_is_described():
    session = EXAMPLE["session"]
    assert session["session-id"] == PARENT
    assert session["session-start"] == "2026-05-02T08:15:01.000Z"
    assert session["session-end"] == "2026-05-02T08:15:21.100Z"
    assert session["directories"] == ["/home/mira/invoice"]
    assert session["agent-meta"] == {
        "cli-name": "gemini-cli",
        "model-id": "gemini-3-pro-preview",
        "model-provider": "google",
        "models": ["gemini-3-pro-preview", "gemini-3-flash-preview"],
    }
    assert "parent" not in EXAMPLE["vacr"]


def test_rewritten_message_supersedes_the_earlier_one():
    older, newer = [
        entry
        for entry in EXAMPLE["session"]["entries"]
        if "g-0001" in (entry.get("id"), entry.get("vacr", {}).get("repeats"))
    ]
    assert older["vacr"] == {
        "native": {"type": "gemini"},
        "superseded": "replaced",
        "repeats": "g-0001",
    }
    assert not {"id", "children", "token-usage", "model-id"} & older.keys()
    assert older["tokens"]["total"] == newer["token-usage"]["total"] == 8247
    assert newer["id"] == "g-0001"
    assert [child["type"] for child in newer["children"]] == [
        "reasoning",
        "tool-call",
        "tool-result",
    ]


FOLDS = [
    (
        "written again",
        [line("a"), line("b"), line("a")],
        [("a", "replaced"), ("b", None), ("a", None)],
    ),
    (
        "an event written again",
        [line("a", "info"), line("a", "info")],
        [("a", "replaced"), ("a", None)],
    ),
    (
        "rewound",
        [line("a"), line("b"), line("c"), {"$rewindTo": "b"}],
        [("a", None), ("b", "rewound"), ("c", "rewound")],
    ),
    (
        "an event rewound",
        [line("a"), line("b", "error"), {"$rewindTo": "b"}],
        [("a", None), ("b", "rewound")],
    ),
    (
        "rewound to nobody",
        [line("a"), line("b"), {"$rewindTo": "z"}],
        [("a", "rewound"), ("b", "rewound")],
    ),
    (
        "rewound to no name",
        [line("a"), {"$rewindTo": ["a"]}, line("b")],
        [("a", "rewound"), ("b", None)],
    ),
    (
        "rewound past one that was written again keeps its first place",
        [line("a"), line("b"), line("a"), {"$rewindTo": "b"}],
        [("a", "replaced"), ("b", "rewound"), ("a", None)],
    ),
    (
        "all replaced",
        [line("a"), line("b"), {"$set": {"messages": [line("b"), line("c")]}}, line("d")],
        [("a", "dropped"), ("b", "replaced"), ("b", None), ("c", None), ("d", None)],
    ),
    ("all taken out", [line("a"), {"$set": {"messages": []}}], [("a", "dropped")]),
    (
        "one taken out",
        [line("a"), line("b"), {"$patch": {"removeIds": ["a", "z"]}}],
        [("a", "dropped"), ("b", None)],
    ),
    (
        "nothing changed",
        [line("a"), {"$set": {"summary": "x"}}, {"$patch": {"id": "a", "content": "y"}}],
        [("a", None)],
    ),
    (
        "a header with messages",
        [line("a"), HEADER | {"messages": [line("b")]}],
        [("a", "dropped"), ("b", None)],
    ),
]


@pytest.mark.parametrize(
    ("lines", "expected"), [case[1:] for case in FOLDS], ids=[case[0] for case in FOLDS]
)
def test_fate_of_each_message_is_marked(lines, expected):
    assert fates(log(*lines)) == expected


def test_a_rewound_message_keeps_its_children_and_its_tokens():
    (entry,) = [entry for entry in REWOUND["session"]["entries"] if entry.get("id") == "a2"]
    assert entry["vacr"]["superseded"] == "rewound"
    assert entry["token-usage"]["total"] == 8620
    assert len(entry["children"]) == 3


def test_replacing_messages_follow_their_line_and_name_it():
    event, one, two = log(
        {"$set": {"messages": [line("a"), line("b")], "lastUpdated": "2026-05-02T09:00:00.000Z"}}
    )
    assert event["event-type"] == "metadata-update"
    assert event["data"] == {"$set": {"lastUpdated": "2026-05-02T09:00:00.000Z"}}
    assert [entry["vacr"] for entry in (one, two)] == [{"from": "$set"} | TYPED] * 2


def test_lines_that_change_the_session_are_events():
    events = [
        entry["event-type"]
        for entry in REWOUND["session"]["entries"]
        if entry["type"] == "system-event"
    ]
    assert events == ["rewind", "metadata-update", "message-patch", "rewind", "metadata-update"]


def test_a_plain_session_marks_nothing_as_superseded():
    twice = HEADER | {"messages": [line("a"), line("a")]}
    first, second = record_of(json.dumps(twice).encode())["session"]["entries"]
    assert (first["id"], second["vacr"]) == ("a", {"repeats": "a"} | TYPED)


def test_a_thought_is_reasoning_with_a_subject():
    (answer,) = [entry for entry in SESSION["session"]["entries"] if entry.get("id") == "g-0002"]
    assert children(answer, "reasoning") == [
        {
            "type": "reasoning",
            "subject": "Choosing a Fix",
            "content": "Round every line, then add.",
            "timestamp": "2026-05-02T08:15:14.700Z",
        }
    ]


def test_a_call_and_its_result_are_two_entries():
    (answer,) = [entry for entry in SESSION["session"]["entries"] if entry.get("id") == "g-0002"]
    (call,), (result,) = children(answer, "tool-call"), children(answer, "tool-result")
    assert call["name"] == "replace"
    assert call["input"]["instruction"] == "Round each line to a cent."
    assert "status" not in call
    assert call["call-id"] == result["call-id"] == "replace_1777709716000_0"
    assert (result["status"], result["is-error"]) == ("success", False)
    assert result["vacr"] == {"native": {"status": "success"}}
    assert result["output"][0]["functionResponse"]["name"] == "replace"
    assert result["resultDisplay"]["newContent"].startswith("def total")


def test_cancelled_call_has_no_result():
    (answer,) = [entry for entry in SESSION["session"]["entries"] if entry.get("id") == "g-0001"]
    call = children(answer, "tool-call")[1]
    assert (call["name"], call["vacr"]["status"]) == ("grep_search", "no-result")
    assert call["vacr"]["native"]["status"] == "cancelled"
    assert len(children(answer, "tool-result")) == 1


def test_time_of_a_call_is_the_time_of_its_result():
    ended = {"status": "success", "timestamp": "2026-05-02T08:15:09.000Z"}
    call = {"id": "c", "name": "f", "args": {}, **ended}
    (entry,) = log(line("a", "gemini", toolCalls=[call | {"result": []}, call | {"id": "d"}]))
    done, result, unanswered = entry["children"]
    assert "timestamp" not in done
    assert result["timestamp"] == "2026-05-02T08:15:09.000Z"
    assert "timestamp" not in unanswered
    assert unanswered["vacr"] == {"native": ended, "status": "no-result"}


def test_thoughts_count_as_output_and_tool_prompts_as_input():
    (entry,) = [entry for entry in EXAMPLE["session"]["entries"] if entry.get("id") == "g-0002"]
    native = {
        "input": 8460,
        "output": 120,
        "cached": 8120,
        "thoughts": 40,
        "tool": 0,
        "total": 8620,
    }
    assert entry["token-usage"] == {
        "input": 8460,
        "output": 160,
        "cached": 8120,
        "reasoning": 40,
        "total": 8620,
    }
    assert entry["tokens"] == native


@pytest.mark.parametrize(
    ("tokens", "usage"),
    [
        ({"input": 1, "thoughts": 2, "tool": 4}, {"input": 5, "reasoning": 2}),
        ({"input": -1, "output": 2, "thoughts": None}, {"output": 2}),
        ({"output": 2**64 - 1, "thoughts": 1}, {"reasoning": 1}),
        ({"reasoning": 3, "thoughts": 2}, {"reasoning": 2}),
        ({"input": "many"}, None),
        (7, None),
    ],
)
def test_only_counts_are_counted_and_all_counters_stay(tokens, usage):
    (entry,) = log(line("a", "gemini", tokens=tokens))
    assert entry.get("token-usage") == usage
    assert entry["tokens"] == tokens


def test_notice_to_the_user_is_an_event():
    events = {
        entry["event-type"]: entry
        for entry in SESSION["session"]["entries"]
        if entry["type"] == "system-event"
    }
    assert events.keys() == {"error", "warning", "brand-new"}
    assert events["error"]["data"] == {"content": "[API Error: quota]"}
    assert events["error"]["id"] == "e1"
    assert SESSION["vacr"]["drift"] == {"types": {"brand-new": 1}, "members": {"session.mood": 1}}


def test_native_type_with_a_reserved_name_is_kept_apart():
    one, two = log(line("a", "rewind"), {"$rewindTo": "a"})
    assert one["event-type"] == two["event-type"] == "rewind"
    assert one["vacr"]["native"] == {"type": "rewind"}
    assert "vacr" not in two


def test_saved_chat_becomes_its_turns():
    user, call, answer, said = CHAT["session"]["entries"]
    assert [entry["type"] for entry in (user, call, answer, said)] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert call["role"] == "model"
    assert [child["type"] for child in call["children"]] == ["reasoning", "tool-call"]
    assert answer["children"][0]["call-id"] == call["children"][1]["call-id"] == "c1"
    assert user["vacr"] == TYPED
    assert CHAT["session"]["session-id"] == CHAT["vacr"]["source"]["parts"][0]["sha-256"]


def test_a_saved_chat_in_snake_case_names_its_session():
    assert SNAKE["session"]["session-id"] == "s-77"
    user, call, answer = SNAKE["session"]["entries"]
    assert call["children"] == [
        {"type": "tool-call", "name": "edit_file", "input": {"path": "/home/mira/invoice/total.py"}}
    ]
    assert call["stop-reason"] == "STOP"
    assert answer["children"] == [
        {"type": "tool-result", "output": {"output": "ok", "outcome": "success"}}
    ]
    assert user["timestamp"] == "2026-05-02T08:15:01.000Z"


def test_checkpoint_keeps_its_other_members():
    record = record_of((FIXTURES / "gemini" / "checkpoint.json").read_bytes())
    assert record["session"]["authType"] == "oauth-personal"
    user, answer = record["session"]["entries"]
    assert user["vacr"] == {"from": "history"} | TYPED
    assert answer["vacr"] == {"from": "history"}


def test_parent_of_a_sub_agent_is_its_folder():
    (found,) = read_sessions(CHILD)
    record = found.reading.record
    assert record["vacr"]["parent"] == {"session-id": PARENT}
    assert record["session"]["format"] == "autonomous"
    assert record["session"]["session-id"] == CHILD.stem
    assert record["vacr"]["source"]["parts"][0]["name"] == f"{PARENT}/{CHILD.name}"


def test_sub_agent_outside_a_folder_has_no_parent():
    assert "parent" not in read_one(CHILD.read_bytes(), CHILD.name).record["vacr"]


def test_several_sessions_in_a_file_are_several_records():
    one, two = (
        HEADER | {"messages": [line("a")]},
        HEADER | {"sessionId": "s2", "messages": [line("a"), line("b")]},
    )
    for data in (
        jsonl(one, two),
        b"\n".join(json.dumps(value, indent=2).encode() for value in (one, two)),
    ):
        records = records_of(data)
        assert [record["session"]["session-id"] for record in records] == ["s1", "s2"]
        assert [len(record["session"]["entries"]) for record in records] == [1, 2]


def test_place_of_a_header_that_does_not_come_first_is_marked():
    header = {"sessionId": "s1", "projectHash": "ab", "kind": "main"}
    message = {"id": "m1", "timestamp": "2026-05-02T08:15:02.000Z", "type": "user", "content": "hi"}
    first, late = (record_of(jsonl(*lines)) for lines in [(header, message), (message, header)])
    assert [entry["type"] for entry in first["session"]["entries"]] == ["user"]
    place = late["session"]["entries"][1]
    assert (place["event-type"], place["vacr"]) == ("session-metadata", {"from": "session"})
    assert "data" not in place
    for name in ("session-id", "projectHash", "kind"):
        assert late["session"][name] == first["session"][name]


def test_repeated_header_changes_its_session():
    event, entry = log(HEADER | {"summary": "x"}, line("a"))
    assert event["event-type"] == "session-metadata"
    assert event["data"] == HEADER | {"summary": "x"}
    assert entry["id"] == "a"


@pytest.mark.parametrize(("beside", "counter"), [("tool", "input"), ("thoughts", "output")])
def test_counts_with_too_large_a_sum_are_unchanged(beside, counter):
    tokens = {"input": 1, "output": 1, "cached": 0, "thoughts": 0, "tool": 0, "total": 2} | {
        counter: 2**64 - 1,
        beside: 1,
    }
    head = {"sessionId": "s", "projectHash": "h"}
    message = {
        "id": "m",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "type": "gemini",
        "content": "x",
        "tokens": tokens,
    }
    record = record_of(jsonl(head, message))
    assert validate(record).findings == []
    (entry,) = [entry for entry in record["session"]["entries"] if entry["type"] == "assistant"]
    assert entry["tokens"] == tokens
    assert counter not in entry["token-usage"]
    assert entry["token-usage"]["total"] == 2

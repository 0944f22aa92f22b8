"""VS Code Copilot Chat: the store, exports, the log of changes, and the extension's thin log."""

import json

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_typed
from tests.attribution.sessions import list_changes, read_records
from tests.conftest import FIXTURES, jsonl, record_of, records_of
from vacr import validate
from vacr.agents.registry import load_agents
from vacr.agents.vscode_chat import flatten_result
from vacr.attribution.attribute import replay_records

FOLDER = FIXTURES / "copilot-vscode"
STORED = record_of((FOLDER / "session.json").read_bytes())
LOG = record_of((FOLDER / "log.jsonl").read_bytes())
THIN = record_of((FOLDER / "transcript.jsonl").read_bytes())


def test_the_session_is_described():
    session = STORED["session"]
    assert session["session-id"] == "7c1e0a52-1b6e-4a8d-9c15-2e4f6a8b0c1d"
    assert session["session-start"] == 1793610000000
    assert session["customTitle"] == "Rounding the total"
    assert session["environment"] == {"working-dir": "/home/mira/invoice"}
    assert session["agent-meta"] == {
        "cli-name": "copilot-vscode",
        "cli-version": "0.37.1",
        "model-id": "claude-sonnet-4",
        "model-provider": "github-copilot",
        "models": ["claude-sonnet-4", "gpt-5-mini"],
    }


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ({"inlineReference": {"path": "/w/a.py", "scheme": "file"}}, "a.py"),
        ({"inlineReference": {"path": "/w/a.py"}, "name": "a.py#L3"}, "a.py#L3"),
        ({"inlineReference": {"uri": {"path": "/C:/w/b.py"}, "range": {}}}, "b.py"),
        ({"inlineReference": {"name": "round", "location": {"uri": {"path": "/w/c"}}}}, "round"),
        ({"inlineReference": {"name": 3}, "name": ""}, None),
        ({"inlineReference": {"path": "/w/a.py"}, "text": "other"}, None),
    ],
)
def test_reference_in_an_answer_is_a_part_of_its_text(reference, text):
    part = {"kind": "inlineReference"} | reference
    response = [{"value": "Look at "}, part, {"value": " first."}]
    request = {"requestId": "r", "message": {"text": "Hi"}, "response": response}
    chat = {"version": 3, "sessionId": "s", "responderUsername": "x", "requests": [request]}
    record = record_of(json.dumps(chat).encode())
    (answer,) = list_typed(record, "assistant")
    shown = [block["text"] for block in answer["content"]]
    assert shown == ["Look at ", *([text] if text else []), " first."]
    assert answer["response"][1] == (None if text else part)
    if text:
        assert part.items() <= answer["content"][1].items()
    rebuild.assert_same([record], [chat])


def test_request_is_a_prompt_and_an_answer():
    entries = STORED["session"]["entries"]
    assert [(entry["type"], entry["id"]) for entry in entries] == [
        ("user", "request_1"),
        ("assistant", "response_1"),
        ("user", "request_2"),
        ("assistant", "response_2"),
        ("user", "request_3"),
        ("assistant", "response_3"),
    ]
    assert entries[0]["content"] == "Round the total, and test it."
    assert entries[0]["vacr"]["speaker"] == "human"
    assert (entries[0]["timestamp"], entries[1]["timestamp"]) == (1793610060000, 1793610069000)
    assert entries[1]["token-usage"] == {"input": 5200, "output": 310}
    assert entries[5]["token-usage"] == {"input": 900, "output": 8}


def test_text_and_thinking_become_blocks_and_other_parts_stay():
    answer = STORED["session"]["entries"][1]
    content, response = answer["content"], answer["response"]
    assert content[0] == {"type": "thinking", "thinking": "I plan.", "kind": "thinking", "id": "th"}
    assert (content[1]["type"], content[1]["text"]) == ("text", "I look at ")
    assert [part is None for part in response[:6]] == [False, True, False, True, True, True]
    assert (content[2]["type"], content[2]["text"]) == ("text", "total.py")
    assert response[2]["value"] == ""
    assert content[2]["kind"] == "inlineReference"
    (reasoning,) = list_typed(STORED, "reasoning")
    assert reasoning["content"] == "I plan."


def test_calls_come_from_the_metadata_and_else_from_the_screen():
    calls = list_typed(STORED, "tool-call")
    assert [call["vacr"]["from"] for call in calls] == [*["metadata"] * 6, *["response"] * 2]
    assert calls[0]["input"]["startLine"] == 1
    assert [(call["name"], call["input"]) for call in calls[6:]] == [
        ("copilot_findTextInFiles", None),
        ("run_in_terminal", {"command": "ls"}),
    ]


def test_outcomes_need_evidence():
    results = [
        (entry.get("status"), entry["vacr"].get("exit-code"))
        for entry in list_typed(STORED, "tool-result")
    ]
    assert results == [
        (None, None),
        ("success", None),
        ("success", None),
        ("error", 1),
        ("error", None),
        ("denied", None),
    ]
    assert [entry.get("status") for entry in list_typed(THIN, "tool-result")] == [
        "success",
        "error",
    ]


def test_result_is_the_text_of_its_tree():
    leaves = [("a", True), ("b", True), ("c\n", False), ("d", True)]
    children = [{"type": 2, "text": text, "lineBreakBefore": ends} for text, ends in leaves]
    tree = {"content": [{"value": {"node": {"children": children}}}, {"value": "e"}, {"value": 7}]}
    assert flatten_result(tree) == "a\nbc\nd\ne"
    assert flatten_result(None) == ""


def test_log_is_folded_and_every_line_is_kept():
    entries = LOG["session"]["entries"]
    kinds = [entry["event-type"] for entry in entries if entry["type"] == "system-event"]
    assert kinds == [
        "initial", "set", "push", "push", "push", "set", "set", "push", "push", "set", "delete",
        "set", "unknown",
    ]  # fmt: skip
    assert [entry["content"] for entry in list_typed(LOG, "user")] == [
        "Thanks.",
        "Write notes.",
        "The same question, in other words.",
    ]
    answer = entries[-3]
    assert [block["text"] for block in answer["content"]] == ["Here are the notes."]
    assert answer["vacr"]["from"] == "fold"
    assert LOG["session"]["customTitle"] == "Notes"


def test_request_that_no_line_changes_is_moved_out_of_its_line():
    first, *_ = LOG["session"]["entries"]
    assert (first["data"]["v"]["requests"], first["vacr"]) == ([None], {"moved": True})
    assert "from" not in list_typed(LOG, "user")[0]["vacr"]
    pushed = LOG["session"]["entries"][2]
    assert pushed["data"]["v"][0]["message"]["text"] == "Write notes."


def test_line_that_does_not_fit_is_marked():
    marks = [entry.get("vacr") for entry in LOG["session"]["entries"]]
    assert marks.count({"unapplied": True}) == 1


@pytest.mark.parametrize(
    "path", [["requests", 1], ["requests", 7], ["requests", 0, "response", 0]], ids=str
)
def test_deletion_where_nothing_is_does_not_fit(path):
    request = {"requestId": "r1", "message": {"text": "Hi"}, "response": []}
    initial = {"kind": 0, "v": {"sessionId": "s", "responderUsername": "", "requests": [request]}}
    record = record_of(jsonl(initial, {"kind": 3, "k": path}), "copilot-vscode")
    assert validate(record).findings == []
    deletion = record["session"]["entries"][1]
    assert (deletion["data"]["k"], deletion["vacr"]) == (path, {"unapplied": True})
    assert [entry["content"] for entry in list_typed(record, "user")] == ["Hi"]


def test_unknown_kinds_and_members_are_counted():
    assert STORED["vacr"]["drift"] == {
        "members": {"request.mood": 1},
        "types": {"response/brandNew": 1},
    }
    assert LOG["vacr"]["drift"]["types"] == {"line/(number)": 1}


def test_folding_leaves_the_lines_as_they_were():
    data = (FOLDER / "log.jsonl").read_bytes()
    third = json.loads(data.splitlines()[3])
    assert LOG["session"]["entries"][3]["data"] == third


@pytest.mark.parametrize(
    "value",
    [
        {"requests": [], "responderUsername": "GitHub Copilot"},
        {"kind": 0, "v": {"version": 3, "requests": [], "sessionId": "s"}},
    ],
    ids=["export", "log"],
)
def test_empty_chat_is_recognised(value):
    (record,) = records_of(json.dumps(value).encode())
    assert record["session"]["agent-meta"]["cli-name"] == "copilot-vscode"
    assert validate(record).findings == []


@pytest.mark.parametrize(
    "value",
    [
        {"requests": []},
        {"requests": [{"url": "x"}], "responderUsername": "y"},
        {"kind": 0, "v": {"requests": 3}},
        {"kind": 1, "k": [], "v": 1},
    ],
)
def test_other_documents_are_not_recognised(value):
    assert load_agents()["copilot-vscode"].recognises([value]) == 0.0


def test_truncated_log_keeps_its_last_line():
    record = record_of((FOLDER / "log.jsonl").read_bytes()[:-9])
    assert validate(record).findings == []
    assert any(entry.get("event-type") == "undecodable" for entry in record["session"]["entries"])


# --- attribution ---


def test_confirmed_edits_are_attributed(tmp_path):
    data = (FOLDER / "session.json").read_bytes()
    assert list_changes(read_records(tmp_path, data, "session.json")) == [
        ("total.py", [[2, 2]], "replayed"),
        ("test_total.py", [[1, 3]], "replayed"),
    ]


def test_replayed_files_have_the_stated_text(tmp_path):
    data = (FOLDER / "session.json").read_bytes()
    files = replay_records(read_records(tmp_path, data, "session.json"))[0].files
    assert files["/home/mira/invoice/total.py"].file.text == (
        "def total(rows):\n    return round(sum(rows), 2)\n"
    )


def test_folded_request_is_attributed_once(tmp_path):
    data = (FOLDER / "log.jsonl").read_bytes()
    assert list_changes(read_records(tmp_path, data, "log.jsonl")) == [
        ("notes.txt", [[1, 1]], "replayed")
    ]


def test_thin_log_attributes_only_calls_that_succeeded(tmp_path):
    data = (FOLDER / "transcript.jsonl").read_bytes()
    changes = list_changes(read_records(tmp_path, data, "transcript.jsonl"))
    assert [(path.rpartition("/")[2], ranges) for path, ranges, _ in changes] == [
        ("note.py", [[1, 1]])
    ]


def test_edit_without_confirmation_changes_nothing(tmp_path):
    session = json.loads((FOLDER / "session.json").read_bytes())
    results = session["requests"][0]["result"]["metadata"]["toolCallResults"]
    for result in results.values():
        result["content"] = [{"value": "Something happened."}]
    assert list_changes(read_records(tmp_path, json.dumps(session).encode(), "s.json")) == []


def test_shown_range_with_a_header_places_an_edit(tmp_path):
    session = json.loads((FOLDER / "session.json").read_bytes())
    results = session["requests"][0]["result"]["metadata"]["toolCallResults"]
    head = "File: `/home/mira/invoice/total.py`. Lines 7 to 8 (90 lines total): \n```python\n"
    text = f"{head}def total(rows):\n    return sum(rows)\n```"
    results[next(iter(results))]["content"] = [{"value": text}]
    records = read_records(tmp_path, json.dumps(session).encode(), "s.json")
    assert list_changes(records)[0] == ("total.py", [[8, 8]], "windowed")


def test_lines_of_jsonl_may_repeat_the_document():
    data = (FOLDER / "chat.json").read_bytes()
    chat = json.loads(data)
    assert len(records_of(jsonl(chat, chat))) == 2

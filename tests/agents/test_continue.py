"""Continue: calls in states, results in their outputs, diffs as evidence."""

import json

import pytest

from tests.agents.entries import list_typed
from tests.attribution.sessions import list_changes, read_records
from tests.conftest import CORPUS, FIXTURES, record_of
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import load_agents, recognise_agent
from vacr.errors import NotASession
from vacr.record import find_session_title

FOLDER = FIXTURES / "continue"
SESSION = FOLDER / "sessions" / "5b1d0c7e-0000-4000-8000-00000000c0de.json"
PATH = "/home/mira/app/a.py"
BEFORE = "one = 1\ntwo = 2\n"


@pytest.fixture(scope="module")
def record():
    return record_of(SESSION.read_bytes())


def test_outcomes_follow_from_status_and_text(record):
    ends = {
        result["call-id"]: (result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in list_typed(record, "tool-result")
    }
    assert ends == {
        "c1": ("success", None),
        "c2": ("success", None),
        "c3": ("success", None),
        "c4": ("error", 2),
        "c5": ("denied", None),
        "c6": ("error", 2),
        "c7": ("success", None),
        "c8": ("interrupted", None),
    }
    unanswered = [
        call["call-id"]
        for call in list_typed(record, "tool-call")
        if call.get("vacr", {}).get("status") == "no-result"
    ]
    assert unanswered == ["c9", "c10"]


@pytest.mark.parametrize(
    ("output", "status"), [("1 failed", None), ("", None), ("ok\nStderr: a warning", "success")]
)
def test_a_command_without_a_word_about_its_exit_code_has_no_outcome(output, status):
    call = {"id": "c", "function": {"name": "Bash", "arguments": "{}"}}
    state = {"toolCallId": "c", "toolCall": call, "status": "done", "parsedArgs": {}}
    item = {"message": {"role": "assistant", "content": ""}, "toolCallStates": [state]}
    state["output"] = [{"content": output}]
    session = {"sessionId": "s", "workspaceDirectory": "/w", "history": [item]}
    (result,) = list_typed(record_of(json.dumps(session).encode()), "tool-result")
    assert result.get("status") == status


def test_list_in_the_member_for_one_call_stays_in_its_item():
    call = {"id": "c", "function": {"name": "Bash", "arguments": "{}"}}
    message = {"role": "assistant", "content": ""}
    item = {"message": message, "toolCallState": [{"toolCall": call, "status": "done"}]}
    session = {"sessionId": "s", "workspaceDirectory": "/w", "history": [item]}
    data = json.dumps(session).encode()
    (entry,) = record_of(data)["session"]["entries"]
    assert entry["toolCallState"] == item["toolCallState"]
    assert "children" not in entry


def test_a_placeholder_is_not_a_title():
    item = {"message": {"role": "user", "content": "Round the total."}}
    session = {"sessionId": "s", "title": "Untitled Session", "workspaceDirectory": "/w"}
    record = record_of(json.dumps(session | {"history": [item]}).encode())
    assert find_session_title(record["session"]) == "Round the total."


def test_note_of_a_timeout_counts_only_at_the_end_of_a_command():
    note = "\n\n[Command timed out after 120 seconds of no output]"
    ends = []
    for name, output in (("Bash", "…" + note), ("Bash", note + "\nmore"), ("Read", "…" + note)):
        call = {"id": "c", "function": {"name": name, "arguments": "{}"}}
        state = {"toolCallId": "c", "toolCall": call, "status": "done", "parsedArgs": {}}
        state["output"] = [{"content": output}]
        item = {"message": {"role": "assistant", "content": ""}, "toolCallStates": [state]}
        session = {"sessionId": "s", "workspaceDirectory": "/w", "history": [item]}
        (result,) = list_typed(record_of(json.dumps(session).encode()), "tool-result")
        ends.append(result.get("status"))
    assert ends == ["timeout", None, "success"]


def test_arguments_without_a_parsed_form_are_parsed(record):
    calls = {call["call-id"]: call for call in list_typed(record, "tool-call")}
    assert calls["c9"]["input"] == {"filepath": "x"}
    assert calls["c9"]["toolCall"]["function"]["arguments"] == '{"filepath":"x"}'


def test_usage_adds_the_cache_where_the_provider_leaves_it_out(record):
    usage = [
        entry["token-usage"] for entry in record["session"]["entries"] if "token-usage" in entry
    ]
    assert usage == [
        {"input": 100, "output": 20, "cached": 50},
        {"input": 100, "output": 25, "cached": 60},
    ]
    assert load_agents()["continue"].stated_cost(record) == 0.012


def test_session_has_its_folder_and_its_model(record):
    assert record["session"]["environment"] == {"working-dir": "/home/nora/till"}
    assert record["session"]["agent-meta"]["models"] == ["claude-sonnet-5"]
    assert record["session"]["agent-meta"]["model-provider"] == "anthropic"
    assert list_typed(record, "reasoning")[0]["timestamp"] == 1790000000000


def test_message_that_repeats_a_result_is_a_copy():
    record = record_of((FOLDER / "older.json").read_bytes())
    first, copy, other = list_typed(record, "tool-result")
    assert (first["call-id"], copy["vacr"]["repeats"], other["call-id"]) == ("d1", "d1", "d2")
    assert first["status"] == copy["status"] == "success"
    drift = record["vacr"]["drift"]
    assert drift["members"] == {
        "item.mood": 1,
        "message.mood": 1,
        "session.mood": 1,
        "state.mood": 1,
    }


@pytest.mark.parametrize("message", [{"role": "thinking"}, {"role": "thinking", "content": None}])
def test_reasoning_without_a_content_stays_an_event(message):
    session = {"sessionId": "s-1", "history": [{"message": message}]}
    record = record_of(json.dumps(session).encode(), agent="continue")
    assert [entry["type"] for entry in record["session"]["entries"]] == ["system-event"]
    assert validate(record).findings == []


def test_index_is_recognised_and_lists_its_sessions():
    record = record_of((FOLDER / "sessions" / "sessions.json").read_bytes())
    (event,) = record["session"]["entries"]
    assert event["data"]["dateCreated"] == "1790000000000"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no real sessions here")
def test_each_real_session_has_one_agent():
    for path in sorted(CORPUS.glob("*/*")):
        data = path.read_bytes()
        if data.startswith(b"SQLite"):
            continue
        source = Source((SourcePart("x", data),))
        sample = source.main.sample(16)
        taken = bool(sample) and load_agents()["continue"].recognises(sample) > 0
        assert taken == (path.parent.name == "continue"), path
        if taken:
            assert recognise_agent(source).name == "continue"


# --- attribution ---


def changes(tmp_path, *calls):
    history = [{"message": {"role": "user", "content": "Go."}, "contextItems": []}]
    for number, (name, arguments, output, *more) in enumerate(calls):
        call = {"id": f"c{number}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        state = {
            "toolCallId": f"c{number}",
            "toolCall": call,
            "status": more[0] if more else "done",
            "parsedArgs": arguments,
            "output": [{"name": "Tool Result", "content": output}],
        }
        message = {"role": "assistant", "content": ""}
        history.append({"message": message, "contextItems": [], "toolCallStates": [state]})
    session = {"sessionId": "s", "workspaceDirectory": "/home/mira/app", "history": history}
    return list_changes(read_records(tmp_path, json.dumps(session), "s.json"))


DIFF = (
    f"\nDiff:\nIndex: {PATH}\n===\n--- {PATH}\n+++ {PATH}\n"
    "@@ -1,2 +1,2 @@\n one = 1\n-two = 2\n+two = 20\n"
)
EDIT = {"file_path": PATH, "old_string": "two = 2", "new_string": "two = 20"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("Edit", EDIT), ("MultiEdit", {"file_path": PATH, "edits": [EDIT]})],
)
def test_edit_has_the_lines_of_its_diff(tmp_path, name, arguments):
    found = changes(tmp_path, (name, arguments, f"Successfully edited {PATH}{DIFF}"))
    assert [row[:2] for row in found] == [("a.py", [[2, 2]])]


def test_write_does_not_claim_the_lines_that_were_there(tmp_path):
    arguments = {"filepath": PATH, "content": "one = 1\ntwo = 20\n"}
    found = changes(tmp_path, ("Write", arguments, f"Successfully wrote to file: {PATH}{DIFF}"))
    assert found == [("a.py", [[2, 2]], "recorded")]


def test_created_file_is_whole(tmp_path):
    arguments = {"filepath": PATH, "content": BEFORE}
    found = changes(tmp_path, ("Write", arguments, f"Successfully created file: {PATH}"))
    assert [row[:2] for row in found] == [("a.py", [[1, 2]])]


@pytest.mark.parametrize("status", ["errored", "canceled"])
def test_failed_or_refused_edit_changes_nothing(tmp_path, status):
    assert changes(tmp_path, ("Edit", EDIT, "Permission denied by user", status)) == []


def test_lazy_edit_has_no_place(tmp_path):
    arguments = {"filepath": PATH, "changes": "# … existing code …\ntwo = 20\n"}
    found = changes(tmp_path, ("edit_existing_file", arguments, "Applied."))
    assert [row[1] for row in found] == [[]]


def test_read_shows_the_file_for_a_later_edit(tmp_path):
    found = changes(
        tmp_path,
        ("Read", {"filepath": PATH}, f"Content of {PATH}:\n{BEFORE}"),
        ("single_find_and_replace", {"filepath": PATH, **EDIT}, "Edited."),
    )
    assert [row[:2] for row in found] == [("a.py", [[2, 2]])]


def test_session_of_2023_is_refused_by_its_name():
    step = {"step": {"name": "User Input", "user_input": "Fix the total"}, "depth": 0}
    data = json.dumps({"session_info": {}, "history": {"timeline": [step], "current_index": 0}})
    source = Source((SourcePart("old.json", data.encode()),))
    with pytest.raises(NotASession) as caught:
        recognise_agent(source)
    assert caught.value.message == (
        "a session of Continue from 2023 (history.timeline), which vacr does not read"
    )
    assert caught.value.hint.endswith("vacr record --agent continue FILE")
    assert step["step"]["name"] in json.dumps(record_of(data.encode(), agent="continue"))


@pytest.mark.parametrize("calls", [True, 7, "Bash", {"id": "c"}, {}])
def test_calls_that_are_not_a_list_stay_in_the_message(calls):
    item = {"message": {"role": "assistant", "content": "done", "toolCalls": calls}}
    session = {"sessionId": "s", "workspaceDirectory": "/w", "history": [item]}
    record = record_of(json.dumps(session).encode(), "continue")
    assert validate(record).findings == []
    (entry,) = list_typed(record, "assistant")
    assert entry["message"]["toolCalls"] == calls
    assert "children" not in entry

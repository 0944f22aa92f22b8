"""Sessions of Mistral Vibe: folders, older files, labels, and the evidence of edits."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import rebuild
from tests.agents.entries import list_last_lines, list_typed
from tests.attribution.sessions import find_contributors
from tests.conftest import FIXTURES, jsonl, limit_examples, record_of, stranger
from tests.discovery import homes
from tests.record.value_strategies import OPAQUE_JSON as JSON
from vacr import validate
from vacr.agents import find_agent
from vacr.discovery import list_sessions, read_sessions

FOLDER = FIXTURES / "vibe" / "session_20260725_172000_5e0a7f1c"
OLD_FILE = FIXTURES / "vibe" / "session_20251212_101500_7a11ed00.json"
SUB_AGENT = FOLDER / "agents" / "session_20260725_172030_c41d0001"
EDIT = {"file_path": "/w/a.py", "old_string": "a = 1", "new_string": "a = 2"}
WROTE = "path: /w/a.py\nbytes_written: 6\ncontent: a = 1\n"
BLOCK = "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE"
DENIED = "<user_cancellation>User cancelled the operation.</user_cancellation>"


def read_folder(path):
    (opened,) = read_sessions(path / "messages.jsonl")
    return stranger(opened.reading)


def talk(*calls):
    """Return the record of calls, each with its result."""
    lines = [{"role": "user", "content": "Go.", "injected": False, "message_id": "m-0"}]
    for number, (tool, arguments, result) in enumerate(calls):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "index": 0, "type": "function", "function": function}
        lines.append({"role": "assistant", "content": "", "tool_calls": [call], "injected": False})
        if result is not None:
            answer = {"role": "tool", "content": result, "name": tool, "tool_call_id": f"c{number}"}
            lines.append(answer)
    record = record_of(jsonl(*lines))
    assert validate(record).findings == []
    rebuild.assert_same([record], lines)
    return record


# --- sessions ---


def test_facts_of_a_folder():
    record = read_folder(FOLDER)
    session = record["session"]
    assert session["session-id"] == "5e0a7f1c-0000-4000-8000-000000000001"
    assert session["session-start"] == "2026-07-25T17:20:00.250000+00:00"
    assert session["environment"]["working-dir"] == "/home/nora/till"
    assert record["vcs"]["branch"] == "main"
    assert record["vcs"]["revision"].startswith("0f1e2d3c")
    assert session["agent-meta"]["models"] == ["devstral-9"]
    assert session["agent-meta"]["model-provider"] == "mistral"
    assert session["entries"][0]["id"] == "m-1"
    assert find_agent("vibe").stated_cost(record) == 0.25


def test_older_session_file():
    record = record_of(OLD_FILE.read_bytes(), name=OLD_FILE.name)
    session = record["session"]
    assert session["session-id"] == "7a11ed00-0000-4000-8000-000000000003"
    # The time has no zone.
    assert "session-start" not in session
    assert session["metadata"]["start_time"] == "2025-12-12T10:15:00.123456"
    assert find_agent("vibe").stated_cost(record) == 0.5


def test_session_of_a_sub_agent():
    record = read_folder(SUB_AGENT)
    assert record["session"]["format"] == "autonomous"
    (prompt,) = list_typed(record, "user")
    assert prompt["vacr"]["speaker"] == "parent-agent"


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_sessions_are_listed(tmp_path, system):
    homes.vibe(tmp_path / ".vibe")
    found = list(list_sessions("vibe", homes.variables(tmp_path, system), system))
    assert {session.session_id[:8] for session in found} == {"5e0a7f1c", "7a11ed00", "c41d0001"}


def test_home_can_be_moved(tmp_path):
    homes.vibe(tmp_path / "elsewhere")
    variables = homes.variables(tmp_path, "linux") | {"VIBE_HOME": str(tmp_path / "elsewhere")}
    assert len(list(list_sessions("vibe", variables, "linux"))) == 3


# --- labels ---


def test_speakers():
    speakers = [
        (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"])
        for entry in list_typed(read_folder(FOLDER), "user")
    ]
    assert speakers == [("human", "inferred"), ("host", "stated")]


@pytest.mark.parametrize(
    ("tool", "result", "expected"),
    [
        ("bash", "command: ls\nstdout: a\n\nstderr: \nreturncode: 0", ("success", 0)),
        # The program printed what looks like the host's line.
        ("bash", "command: ls\nstdout: \nreturncode: 3\n\nstderr: \nreturncode: 0", ("success", 0)),
        ("bash", "command: ls\nstdout: a", (None, None)),
        (
            "bash",
            "<tool_error>bash failed: Command failed: 'x'\nReturn code: 2</tool_error>",
            ("error", 2),
        ),
        (
            "bash",
            "<tool_error>bash failed: Command timed out after 5s: 'x'</tool_error>",
            ("timeout", None),
        ),
        (
            "bash",
            "<tool_error>Tool 'bash' was denied by hook 'g': no</tool_error>",
            ("denied", None),
        ),
        ("bash", DENIED, ("denied", None)),
        (
            "bash",
            "<user_cancellation>Tool execution interrupted by user.</user_cancellation>",
            ("interrupted", None),
        ),
        ("edit", "<tool_error>edit failed: no match</tool_error>", ("error", None)),
        ("edit", "file: /w/a.py\nmessage: ok", ("success", None)),
        ("edit", "Leave that file alone.", (None, None)),
        ("shop_query", "rows: []", (None, None)),
    ],
)
def test_outcome_of_a_call(tool, result, expected):
    (found,) = list_typed(talk((tool, {}, result)), "tool-result")
    assert (found.get("status"), found.get("vacr", {}).get("exit-code")) == expected


# --- attribution ---


def test_edit_after_a_read():
    changes = list_last_lines(read_folder(FOLDER))
    assert changes == {"till/total.py": [[2, 2]], "NOTES.md": [[1, 1]]}


def test_blocks_of_the_older_editor():
    record = record_of(OLD_FILE.read_bytes(), name=OLD_FILE.name)
    assert list_last_lines(record) == {"tax.py": [[1, 1]]}


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("write_file", {"path": "/w/a.py", "content": "a = 1\n"}, DENIED),
        ("write_file", {"path": "/w/a.py", "content": "a = 1\n"}, "Write it elsewhere."),
        ("write_file", {"path": "/w/a.py", "content": "a = 1\n"}, None),
        (
            "search_replace",
            {"file_path": "/w/a.py", "content": f"{BLOCK}\n{BLOCK}"},
            "file: /w/a.py\nblocks_applied: 1\nlines_changed: 0\n",
        ),
    ],
)
def test_change_without_evidence_is_not_attributed(tool, arguments, result):
    assert list_last_lines(talk((tool, arguments, result))) == {}


def test_edit_of_a_written_file():
    write = ("write_file", {"path": "/w/a.py", "content": "a = 1\n"}, WROTE)
    edit = ("edit", EDIT, "file: /w/a.py\nmessage: The file has been updated")
    assert list(list_last_lines(talk(write, edit)).values()) == [[[1, 1]]]


def test_cut_read_shows_a_part():
    read = "path: /w/a.py\ncontent: b = 2\n\nlines_read: 1\nwas_truncated: True"
    edit = {"file_path": "/w/a.py", "old_string": "b = 2", "new_string": "b = 3"}
    calls = [("read_file", {"path": "/w/a.py", "offset": 4}, read)]
    calls.append(("edit", edit, "file: /w/a.py\nmessage: ok"))
    assert list(list_last_lines(talk(*calls)).values()) == [[[5, 5]]]


# --- damage ---


def test_unknown_members_are_counted():
    message = {"role": "user", "content": "Hi", "injected": False, "mood": "proud"}
    record = record_of(jsonl(message))
    assert record["session"]["entries"][0]["mood"] == "proud"
    assert "mood" in json.dumps(record["vacr"]["drift"])


def test_messages_of_other_programs_are_not_recognised():
    assert find_agent("vibe").recognises([{"role": "user", "content": "Hi"}]) == 0.0


# --- journals ---

META = {
    "session_id": "v-3",
    "environment": {"working_directory": "/w"},
    "import_provenance": None,
    "created_worktree": None,
    "git_branch": "main",
    "start_time": "2026-11-19T04:13:57.219000+00:00",
    "title": "Tax",
    "config": {"active_model": "fast", "model_name": "fast-3"},
}


def journal(*events):
    """Return the lines of a journal with these events: the type and the payload of each."""
    return [
        {
            "recovery_journal_record_version": 1,
            "sequence": number,
            "type": kind,
            "payload": payload,
            "previous_record_sha256": None,
            "record_sha256": f"{number:064}",
        }
        for number, (kind, payload) in enumerate(events, 1)
    ]


def prompt(text, *, injected=False):
    params = {"message": [{"type": "text", "text": text}], "injected": injected}
    payload = {"method": "turn/start", "client_command_id": "turn-1", "params": params}
    return "command_reserved", payload


def answer(action, *parts):
    usage = {"input_tokens": 90, "cached_input_tokens": 30, "output_tokens": 8, "total_tokens": 98}
    result = {"type": "completion_succeeded", "result": {"parts": [*parts], "usage": usage}}
    return "action_result", {"action_id": action, "state": "succeeded", "result": result}


def call_part(call_id, tool, **arguments):
    text = json.dumps(arguments)
    return {"type": "tool_call", "id": call_id, "name": tool, "arguments_json": text}


def tool_end(action, call_id, **result):
    value = {"type": "tool_succeeded", "call_id": call_id, "result": result}
    return "action_result", {"action_id": action, "state": "succeeded", "result": value}


def run(code, *, timed_out=False):
    stated = {"returncode": code, "stdout": "", "stderr": "", "timed_out": timed_out}
    return {"type": "success", "content": [], "structured_content": stated}


def shown(identity, time):
    entry = {"id": identity, "type": "message", "updatedAt": time}
    return "projection_delta", {"delta": [{"op": "append_entry", "entry": entry}]}


TOLD = {
    "role": "tool",
    "tool_call_id": "c6",
    "outcome": "failure",
    "content": [{"type": "text", "text": "unsupported tool"}],
}
EVENTS = [
    prompt("Add the tax."),
    shown("user-turn-1-1", 1_795_000_000_000),
    answer(
        "a1",
        {"type": "reasoning", "content": [{"type": "text", "text": "A constant."}]},
        {"type": "text", "text": "I add it."},
        call_part("c1", "write_file", path="/w/tax.py", content="TAX = 7\n"),
    ),
    shown("assistant-a1", 1_795_000_001_000),
    tool_end(
        *("a2", "c1"),
        type="success",
        structured_content={"bytes_written": 8, "file_existed": False, "path": "/w/tax.py"},
    ),
    answer("a3", call_part("c2", "bash", command="make"), call_part("c3", "bash", command="rm x")),
    tool_end("a4", "c2", **run(2)),
    tool_end("a5", "c3", type="failure", error={"code": "tool_denied"}),
    answer("a6", call_part("c4", "bash", command="sleep 9"), call_part("c5", "edit")),
    tool_end("a7", "c4", **run(-1, timed_out=True)),
    tool_end("a8", "c5", type="failure", error={"code": "tool_failed"}),
    answer("a9", call_part("c6", "fly")),
    ("action_intent", {"request": {"model_input": {"messages": {"messages": [TOLD]}}}}),
    prompt("Go on.", injected=True),
    answer("a10", {"type": "text", "text": "Done."}),
    ("weather_report", {}),
]


@pytest.fixture
def unified(tmp_path):
    """A session with a journal in two segments."""
    folder = tmp_path / ".vibe" / "logs" / "session" / "unified" / "v-3"
    (folder / "journal").mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(META))
    lines = journal(*EVENTS)
    (folder / "journal" / "0000000000000001.jsonl").write_bytes(jsonl(*lines[:4]))
    (folder / "journal" / "0000000000000005.jsonl").write_bytes(jsonl(*lines[4:]))
    return folder


def read_unified(folder):
    (opened,) = read_sessions(folder / "meta.json")
    return stranger(opened.reading)


def test_journal_of_a_session_is_one_record(unified):
    record = read_unified(unified)
    assert validate(record).findings == []
    rebuild.assert_same([record], [META, *journal(*EVENTS)])
    session = record["session"]
    assert (session["session-id"], session["title"]) == ("v-3", "Tax")
    assert session["agent-meta"]["models"] == ["fast-3"]
    assert session["environment"]["working-dir"] == "/w"
    assert record["vacr"]["drift"]["types"] == {"weather_report": 1}
    names = [part["name"] for part in record["vacr"]["source"]["parts"]]
    assert names == [
        "journal/0000000000000001.jsonl",
        "journal/0000000000000005.jsonl",
        "meta.json",
    ]


def test_journal_without_its_facts_is_read():
    lines = journal(*EVENTS)
    record = record_of(jsonl(*lines))
    rebuild.assert_same([record], lines)
    assert record["session"]["agent-meta"]["cli-name"] == "vibe"


def test_journal_states_times_tokens_and_outcomes(unified):
    record = read_unified(unified)
    person, host = list_typed(record, "user")
    assert (person["timestamp"], person["vacr"]["speaker"]) == (1_795_000_000_000, "human")
    assert (host["vacr"]["speaker"], host["vacr"]["speaker-basis"]) == ("host", "stated")
    first = list_typed(record, "assistant")[0]
    assert first["timestamp"] == 1_795_000_001_000
    assert first["token-usage"] == {"input": 90, "cached": 30, "output": 8, "total": 98}
    assert [child["type"] for child in first["children"]] == ["reasoning", "tool-call"]
    ends = {
        entry["call-id"]: (entry.get("status"), entry.get("vacr", {}).get("exit-code"))
        for entry in list_typed(record, "tool-result")
    }
    assert ends == {
        "c1": ("success", None),
        "c2": ("error", 2),
        "c3": ("denied", None),
        "c4": ("timeout", -1),
        "c5": ("error", None),
        "c6": ("error", None),
    }


def test_lines_written_in_a_journal_are_the_agents(unified):
    record = read_unified(unified)
    assert find_contributors(record).keys() == {("tax.py", 1)}


def test_session_with_a_journal_is_listed_once(unified, tmp_path):
    (found,) = list_sessions("vibe", {"HOME": str(tmp_path)}, "linux")
    assert (found.session_id, found.path) == ("v-3", str(unified / "meta.json"))


JOURNAL_VALUE = st.one_of(
    JSON, st.sampled_from([payload for _, payload in EVENTS]).map(copy.deepcopy)
)


def test_any_lines_of_a_journal_come_back():
    @settings(max_examples=limit_examples(100))
    @given(st.lists(st.tuples(st.sampled_from([kind for kind, _ in EVENTS]), JOURNAL_VALUE)))
    def holds(events):
        lines = journal(prompt("Go."), *events)
        record = record_of(jsonl(*lines), "vibe")
        assert validate(record).findings == []
        rebuild.assert_same([record], lines)

    holds()

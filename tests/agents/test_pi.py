"""Sessions of Pi and OpenClaw: the tree of entries, forks, usage, labels and traps."""

import pytest

from tests.agents import independent
from tests.agents.entries import list_entries
from tests.agents.independent import record_labels
from tests.attribution.sessions import list_changes, read_records
from tests.conftest import FIXTURES, jsonl, native_files, read_one, record_of
from vacr import validate
from vacr.agents.registry import find_agent
from vacr.record import find_session_title

SESSION = record_of((FIXTURES / "pi" / "session.jsonl").read_bytes())
FORK = record_of((FIXTURES / "pi" / "fork.jsonl").read_bytes())
FIRST = record_of((FIXTURES / "pi" / "first-version.jsonl").read_bytes())
CLAW = record_of((FIXTURES / "openclaw" / "session.jsonl").read_bytes())
HEADER = {
    "type": "session",
    "version": 3,
    "id": "s1",
    "timestamp": "2026-07-02T09:00:00.000Z",
    "cwd": "/work",
}


def line(number, role, **message):
    return {
        "type": "message",
        "id": f"e{number}",
        "parentId": f"e{number - 1}",
        "timestamp": f"2026-07-02T09:00:{number:02}.000Z",
        "message": {"role": role, **message, "timestamp": 1782982800000 + number},
    }


def session(*calls):
    """Return a session with calls: name, arguments, text of the result, its details, its flag."""
    lines = [HEADER]
    for number, (name, arguments, text, details, is_error) in enumerate(calls):
        block = {"type": "toolCall", "id": f"c{number}", "name": name, "arguments": arguments}
        lines.append(
            line(2 * number, "assistant", content=[block], provider="p", model="m", usage={})
        )
        result = {"toolCallId": f"c{number}", "toolName": name, "isError": is_error}
        content = [{"type": "text", "text": text}]
        lines.append(line(2 * number + 1, "toolResult", content=content, details=details, **result))
    return jsonl(*lines)


def test_the_session_is_described():
    trace = SESSION["session"]
    assert trace["session-id"] == "019f2c11-4b1e-7a60-9d1a-5c0de8a1b001"
    assert trace["session-start"] == "2026-07-02T09:00:00.000Z"
    assert trace["session-end"] == "2026-07-02T09:03:11.000Z"
    assert trace["environment"]["working-dir"] == "/home/nora/till"
    assert trace["agent-meta"] == {
        "cli-name": "pi",
        "model-id": "claude-sonnet-4-5",
        "model-provider": "anthropic",
        "models": ["claude-sonnet-4-5", "gpt-5.2"],
    }
    assert find_session_title(trace) == "Round the till"


def test_unknown_lines_are_kept_and_counted():
    assert SESSION["vacr"]["drift"] == {"types": {"weather": 1}}
    assert SESSION["session"]["entries"][-1]["data"] == {"sky": "grey", "children": [1]}


def test_usage_includes_the_cache_and_the_cost():
    answer = list_entries(SESSION, "assistant")[0]
    assert answer["token-usage"] == {
        "input": 400,
        "output": 40,
        "cached": 300,
        "total": 440,
        "cost": 0.00106,
    }
    assert answer["message"]["usage"]["cacheWrite"] == 90
    assert find_agent("pi").cache_writes(answer).short == 90


def test_a_sealed_thought_is_encrypted():
    (thought,) = [
        child
        for entry in list_entries(SESSION, "assistant")
        for child in entry.get("children", ())
        if child["type"] == "reasoning" and "encrypted" in child
    ]
    assert (thought["content"], thought["encrypted"]) == ("", "sealed")


def test_entries_of_a_fork_that_are_copies_are_marked():
    marks = [entry.get("vacr", {}).get("inherited") for entry in FORK["session"]["entries"]]
    assert marks == [None, True, None, None]
    assert FORK["session"]["session-start"] == "2026-07-02T10:00:00.000Z"
    assert "parent" not in FORK["vacr"]


def test_the_first_version_has_no_ids():
    assert FIRST["session"]["agent-meta"]["model-id"] == "claude-sonnet-4-5"
    assert not any("id" in entry for entry in FIRST["session"]["entries"])


def test_a_session_without_answers_names_the_chosen_model():
    change = {"type": "model_change", "id": "e1", "timestamp": HEADER["timestamp"]}
    data = jsonl(HEADER, change | {"provider": "openai", "modelId": "gpt-5.2"})
    meta = record_of(data)["session"]["agent-meta"]
    assert (meta["model-id"], meta["model-provider"]) == ("gpt-5.2", "openai")


@pytest.mark.parametrize("folder", ["pi", "openclaw"])
def test_labels_agree_with_an_independent_count(folder):
    for path in native_files(folder):
        data = path.read_bytes()
        assert record_labels(record_of(data)) == independent.pi_labels(data), path.name


def test_each_user_message_has_its_speaker():
    marks = [entry["vacr"] for entry in list_entries(SESSION, "user")]
    assert [(mark["speaker"], mark["speaker-basis"]) for mark in marks] == [
        ("human", "inferred"),
        ("human", "stated"),
        ("hook", "stated"),
        ("human", "inferred"),
    ]
    assert marks[1]["prompt"] == "!git diff --stat"
    assert [entry["vacr"].get("prompt") for entry in list_entries(CLAW, "user")] == [
        None,
        "Count the lines of notes.md",
        "thanks",
    ]


OUTCOMES = [
    ("bash", "no\n\nCommand exited with code 7", {}, True, "error", 7),
    ("bash", "Command exited with code 7", {}, True, "error", 7),
    ("bash", "Command exited with code 7", None, False, "success", None),
    ("bash", "half\n\nCommand aborted", {}, True, "interrupted", None),
    ("bash", "Command timed out after 5 seconds", {}, True, "timeout", None),
    ("read", "Command timed out after 5 seconds", {}, True, "error", None),
    ("write", "Operation aborted", {}, True, "interrupted", None),
    ("bash", "Tool execution was blocked", {}, True, "denied", None),
    ("exec", "still running", {"status": "running"}, False, "running", None),
    ("exec", "no", {"status": "failed", "exitCode": 3}, False, "error", 3),
    ("exec", "no", {"status": "failed", "timedOut": True}, False, "timeout", None),
    ("exec", "yes", {"status": "completed", "exitCode": 0}, False, "success", 0),
    ("read", "{}", {"status": "error"}, False, "error", None),
    ("bash", "yes", None, None, None, None),
]


@pytest.mark.parametrize(("tool", "text", "details", "flag", "status", "code"), OUTCOMES)
def test_outcome_follows_the_evidence(tool, text, details, flag, status, code):
    record = record_of(session((tool, {}, text, details, flag)), "pi")
    (result,) = list_entries(record, "tool-result")
    assert result.get("status") == status
    assert result["vacr"].get("exit-code") == code


def test_a_file_of_openclaw_is_not_one_of_pi():
    assert SESSION["session"]["agent-meta"]["cli-name"] == "pi"
    assert CLAW["session"]["agent-meta"]["cli-name"] == "openclaw"
    late = {"type": "custom", "customType": "openclaw.cache-ttl", "timestamp": "2026-07-02"}
    data = jsonl(HEADER, *[line(number, "user", content="hi") for number in range(1, 9)], late)
    assert record_of(data)["session"]["agent-meta"]["cli-name"] == "openclaw"


@pytest.mark.parametrize("text", ["[note] 2026-03-09 15:02 is too late", "[a list] of things", ""])
def test_a_persons_brackets_stay_in_the_prompt(text):
    data = jsonl(*list(independent.values(CLAW_DATA))[:4], line(9, "user", content=text))
    entry = list_entries(record_of(data), "user")[0]
    assert "prompt" not in entry["vacr"]


CLAW_DATA = (FIXTURES / "openclaw" / "session.jsonl").read_bytes()


def test_a_message_of_an_unknown_role_is_an_event():
    record = record_of(jsonl(HEADER, line(1, "user", content="hi"), line(2, "oracle", content="?")))
    (event,) = [
        entry for entry in list_entries(record, "system-event") if entry["event-type"] == "message"
    ]
    assert event["data"]["message"]["role"] == "oracle"
    assert record["vacr"]["drift"]["types"] == {"message": 1}


def test_a_cut_line_is_kept_as_bytes():
    data = (FIXTURES / "pi" / "session.jsonl").read_bytes()[:-40]
    reading = read_one(data)
    assert [notice.line for notice in reading.notices] == [25]
    assert validate(record_of(data)).valid


# --- attribution ---

FILE = "one = 1\ntwo = 2\nthree = 3\n"
READ = ("read", {"path": "a.py"}, FILE, None, False)


def changes(tmp_path, *calls):
    return list_changes(read_records(tmp_path, session(*calls)))


def edited(old, new, details=None):
    return ("edit", {"path": "a.py", "oldText": old, "newText": new}, "done", details, False)


def test_an_edit_of_a_shown_file_is_replayed(tmp_path):
    done = changes(tmp_path, READ, edited("two = 2", "two = 22"))
    assert done == [("a.py", [[2, 2]], "replayed")]


def test_the_numbered_diff_places_an_edit_of_an_unseen_file(tmp_path):
    diff = {"diff": "  8 eight = 8\n- 9 nine = 9\n+ 9 nine = 99\n 10 ten = 10"}
    done = changes(tmp_path, edited("nine = 9", "nine = 99", diff))
    assert done == [("a.py", [[9, 9]], "recorded")]


def test_a_wrongly_numbered_diff_places_nothing(tmp_path):
    diff = {"diff": "    ...\n  1 eight = 8\n- 9 nine = 9\n+ 9 nine = 99"}
    assert changes(tmp_path, edited("nine = 9", "nine = 99", diff)) == [
        ("a.py", [], "content-only")
    ]


def test_a_failed_edit_changes_nothing(tmp_path):
    call = edited("two = 2", "two = 22")
    assert changes(tmp_path, READ, (*call[:2], "Could not find the exact text", {}, True)) == []


WINDOWS = [
    ("two = 2\n\n[1 more lines in file. Use offset=3 to continue.]", {"offset": 2, "limit": 1}),
    ("two = 2\nthree = 3\n", {"offset": 2}),
    (
        "two = 2\n\n[Showing lines 2-2 of 4 (50.0KB limit). Use offset=3 to continue.]",
        {"offset": 2},
    ),
]


@pytest.mark.parametrize(("text", "window"), WINDOWS)
def test_a_part_of_a_file_places_an_edit(tmp_path, text, window):
    read = ("read", {"path": "a.py", **window}, text, None, False)
    ((path, ranges, evidence),) = changes(tmp_path, read, edited("two = 2", "two = 22"))
    assert (path, ranges, evidence) == ("a.py", [[2, 2]], "windowed")


def test_a_notice_that_contradicts_the_lines_shows_nothing(tmp_path):
    text = "two = 2\n\n[9 more lines in file. Use offset=77 to continue.]"
    read = ("read", {"path": "a.py", "offset": 2, "limit": 1}, text, None, False)
    ((_, ranges, _),) = changes(tmp_path, read, edited("two = 2", "two = 22"))
    assert ranges == []


def test_a_search_shows_lines_of_a_file(tmp_path):
    search = ("grep", {"pattern": "two", "path": "src"}, "a.py:2: two = 2", None, False)
    call = ("edit", {"path": "src/a.py", "oldText": "two = 2", "newText": "2"}, "", None, False)
    assert changes(tmp_path, search, call) == [("src/a.py", [[2, 2]], "windowed")]


def test_a_command_writes_a_file(tmp_path):
    call = ("bash", {"command": "printf 'x\\n' > b.txt; cat b.txt"}, "x\n", None, False)
    assert changes(tmp_path, call) == [("b.txt", [[1, 1]], "shell")]


def test_a_cut_output_shows_nothing(tmp_path):
    text = "three = 3\n\n[Showing lines 3-3 of 3. Full output: /tmp/x.log]"
    shown = ("bash", {"command": "cat a.py"}, text, {"truncation": {}}, False)
    ((_, ranges, _),) = changes(tmp_path, shown, edited("three = 3", "three = 33"))
    assert ranges == []

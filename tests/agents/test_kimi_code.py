"""Sessions of Kimi Code: messages, pieces of answers, tokens, labels, attribution."""

import pytest

from tests.agents import independent
from tests.agents.independent import record_labels
from tests.attribution.sessions import list_changes, read_records
from tests.conftest import FIXTURES, jsonl, record_of

FOLDER = FIXTURES / "kimi-code" / "session_8a1f"
MAIN = FOLDER / "agents" / "main" / "wire.jsonl"
CHILD = FOLDER / "agents" / "agent-0" / "wire.jsonl"


def read(path):
    return record_of(path.read_bytes(), name=path.relative_to(FOLDER.parent).as_posix())


SESSION = read(MAIN)


def line(number, kind, **members):
    return {"type": kind, **members, "time": 1785000000000 + number}


def session(*calls):
    """Return a wire file with calls: name, arguments, and the members of the result."""
    lines = [line(0, "metadata", protocol_version="1.5", created_at=1785000000000)]
    lines.append(line(1, "config.update", cwd="/work", modelAlias="m"))
    for number, (name, arguments, result) in enumerate(calls):
        event = {"type": "tool.call", "uuid": f"u{number}", "toolCallId": f"c{number}"}
        event |= {"name": name, "args": arguments}
        answer = {"type": "tool.result", "parentUuid": f"u{number}", "toolCallId": f"c{number}"}
        for piece in (event, answer | {"result": result}):
            lines.append(line(2 + number, "context.append_loop_event", event=piece))
    return jsonl(*lines)


def entries(record, kind):
    return [entry for entry in record["session"]["entries"] if entry["type"] == kind]


def test_the_session_is_described():
    trace = SESSION["session"]
    assert trace["session-id"] == "session_8a1f"
    assert trace["session-start"] == 1785000000000
    assert trace["environment"]["working-dir"] == "/home/nora/till"
    assert trace["agent-meta"] == {
        "cli-name": "kimi-code",
        "model-id": "kimi-k2.7-code",
        "model-provider": "kimi",
        "models": ["kimi-k2.7-code"],
    }


def test_a_sub_agent_names_its_parent():
    child = read(CHILD)
    assert child["session"]["session-id"] == "session_8a1f/agent-0"
    assert child["vacr"]["parent"] == {"session-id": "session_8a1f"}
    assert entries(child, "user")[0]["vacr"]["speaker"] == "parent-agent"


def test_a_wire_file_without_its_folders_has_no_session_id():
    record = record_of(MAIN.read_bytes())
    assert record["session"]["session-id"] == record["vacr"]["source"]["parts"][0]["sha-256"]


def test_tokens_count_once():
    usages = [
        (entry["event-type"], entry["token-usage"])
        for entry in SESSION["session"]["entries"]
        if "token-usage" in entry
    ]
    assert usages == [
        ("usage.record", {"input": 100, "output": 20, "cached": 40, "total": 120}),
        ("usage.record", {"input": 5, "output": 2, "cached": 0, "total": 7}),
    ]
    (step,) = [entry for entry in read(CHILD)["session"]["entries"] if "token-usage" in entry]
    assert step["data"]["event"]["type"] == "step.end"


def test_unknown_lines_are_counted():
    assert SESSION["vacr"]["drift"] == {
        "types": {"context.append_loop_event/step.dance": 1, "weather.changed": 1}
    }


def test_a_result_refers_to_its_call():
    calls = {call["call-id"]: call for call in entries(SESSION, "tool-call")}
    results = [result for result in entries(SESSION, "tool-result") if "parent-id" in result]
    assert len(results) == 8
    assert all(calls[result["call-id"]]["id"] == result["parent-id"] for result in results)
    assert calls["Glob_8"]["vacr"]["status"] == "no-result"


@pytest.mark.parametrize("path", [MAIN, CHILD], ids=["main", "child"])
def test_labels_agree_with_an_independent_count(path):
    assert record_labels(read(path)) == independent.kimi_code_labels(path.read_bytes())


def test_each_user_message_has_its_speaker():
    speakers = [entry["vacr"]["speaker"] for entry in entries(SESSION, "user")]
    assert speakers == ["human", "host", "human"]


# --- attribution ---

NOTE = "<system>3 lines read from file starting from line 1. Total lines in file: 3. {}</system>"
READ = (
    "Read",
    {"path": "a.py"},
    {
        "output": "1\tone = 1\n2\ttwo = 2\n3\tthree = 3",
        "note": NOTE.format("End of file reached."),
    },
)
EDIT = ("Edit", {"path": "a.py", "old_string": "two = 2", "new_string": "two = 22"}, {"output": ""})


def changes(tmp_path, *calls):
    return list_changes(read_records(tmp_path, session(*calls)))


def test_changes_of_a_session():
    assert list_changes([SESSION]) == [
        ("till.py", [[2, 2]], "windowed"),
        ("notes.txt", [], "content-only"),
        ("new.txt", [[1, 1]], "replayed"),
    ]


def test_an_edit_of_a_shown_file_has_ranges(tmp_path):
    ((path, ranges, _),) = changes(tmp_path, READ, EDIT)
    assert (path, ranges) == ("a.py", [[2, 2]])


@pytest.mark.parametrize(
    "result",
    [
        {"output": "1\tone = 1\n7\ttwo = 2"},
        {"output": "one = 1\ntwo = 2"},
        {"output": "2\ttwo = 2", "note": NOTE.format("")},
        {"output": "2\ttwo = 2", "note": "<system>Lines were truncated.</system>"},
    ],
)
def test_a_doubtful_listing_shows_nothing(tmp_path, result):
    ((_, ranges, _),) = changes(tmp_path, ("Read", {"path": "a.py"}, result), EDIT)
    assert ranges == []


def test_a_failed_edit_changes_nothing(tmp_path):
    failed = (*EDIT[:2], {"output": "old_string not found", "isError": True})
    assert changes(tmp_path, READ, failed) == []


def test_a_command_writes_a_file(tmp_path):
    call = ("Bash", {"command": "echo hi > a.py"}, {"output": "Command executed successfully."})
    assert changes(tmp_path, call) == [("a.py", [[1, 1]], "shell")]


@pytest.mark.parametrize(("code", "status"), [(0, "success"), (3, "error")])
def test_command_in_the_background_ends_as_its_event_states(tmp_path, code, status):
    started = "task_id: bash-1\npid: 7\ndescription: d\nstatus: running\nnext_step: Wait."
    call = ("Bash", {"command": "make"}, {"output": started})
    end = line(9, "task.terminated", info={"taskId": "bash-1", "exitCode": code})
    (record,) = read_records(tmp_path, session(call) + jsonl(end))
    (result,) = entries(record, "tool-result")
    assert (result["status"], result["vacr"]["exit-code"]) == (status, code)


def test_call_that_the_closing_program_stopped_is_interrupted():
    closed = {"output": "Session closed", "isError": True, "durationMs": 1873}
    wire = session(("Bash", {"command": "sleep 25"}, closed))
    stopped = [line(9, "turn.step.interrupted", step=1), line(10, "prompt.aborted", promptId="p1")]
    record = record_of(wire + jsonl(*stopped))
    (result,) = entries(record, "tool-result")
    assert result["status"] == "interrupted"
    assert "drift" not in record["vacr"]

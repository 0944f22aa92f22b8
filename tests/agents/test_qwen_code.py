"""Chats of Qwen Code: the tree of lines, rewinds, sub-agents, early chats, labels and traps."""

import pytest

from tests.agents import independent
from tests.agents.entries import list_entries
from tests.agents.independent import record_labels
from tests.attribution.sessions import find_contributors, list_changes, read_records
from tests.conftest import FIXTURES, jsonl, native_files, record_of
from vacr.agents.qwen import AGENT
from vacr.record import find_session_title

FOLDER = FIXTURES / "qwen"
SESSION = record_of((FOLDER / "session.jsonl").read_bytes())
REWOUND = record_of((FOLDER / "rewound.jsonl").read_bytes())
CHILD = record_of((FOLDER / "agent-explore-1.jsonl").read_bytes())
EARLY = record_of((FOLDER / "early.json").read_bytes())


def line(number, kind, *parts, **members):
    return {
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}",
        "sessionId": "s1",
        "timestamp": f"2026-08-03T07:00:{number:02}.000Z",
        "type": kind,
        "cwd": "/work",
        "version": "0.15.10",
        "message": {"role": "model" if kind == "assistant" else "user", "parts": [*parts]},
        **members,
    }


def session(*calls):
    """Return a chat with calls: name, arguments, output, and the report next to the result."""
    lines = []
    for number, (name, arguments, output, report) in enumerate(calls):
        call = {"id": f"c{number}", "name": name, "args": arguments}
        lines.append(line(2 * number, "assistant", {"functionCall": call}, model="m"))
        answer = {"id": f"c{number}", "name": name, "response": {"output": output}}
        stated = {"callId": f"c{number}", "status": "success", **report}
        lines.append(
            line(2 * number + 1, "tool_result", {"functionResponse": answer}, toolCallResult=stated)
        )
    return jsonl(*lines)


def test_the_session_is_described():
    trace = SESSION["session"]
    assert trace["session-id"] == "0b7c9d10-1111-4aaa-8bbb-00000000a001"
    assert trace["agent-meta"]["cli-version"] == "0.15.10"
    assert trace["agent-meta"]["models"] == ["qwen3-coder-plus"]
    assert trace["environment"]["working-dir"] == "/home/nora/till"
    assert SESSION["vcs"] == {"type": "git", "branch": "main"}
    assert find_session_title(trace) == "Round the till"


def test_unknown_names_are_counted():
    assert SESSION["vacr"]["drift"] == {"types": {"forecast": 1, "system/weather": 1}}


def test_telemetry_does_not_count_as_usage():
    used = [
        entry["token-usage"] for entry in SESSION["session"]["entries"] if "token-usage" in entry
    ]
    assert len(used) == 9
    assert used[0] == {
        "input": 1004,
        "output": 30,
        "cached": 400,
        "reasoning": 10,
        "total": 1034,
    }
    assert list_entries(REWOUND, "assistant")[-1]["token-usage"]["output"] == 5


def test_lines_that_a_rewind_took_back_are_marked():
    marks = [entry.get("vacr", {}).get("superseded") for entry in REWOUND["session"]["entries"]]
    assert marks == [None, None, None, "rewound", None, None, None]


def test_a_sub_agent_names_its_parent():
    assert CHILD["vacr"]["parent"] == {"session-id": SESSION["session"]["session-id"]}
    assert CHILD["session"]["session-id"].endswith("/explore-1")
    assert CHILD["session"]["format"] == "autonomous"
    speakers = [entry["vacr"].get("speaker") for entry in list_entries(CHILD, "user")]
    assert speakers == ["parent-agent", None, "host"]


def test_an_early_chat_is_qwen_codes_own():
    meta = EARLY["session"]["agent-meta"]
    assert (meta["cli-name"], meta["model-provider"]) == ("qwen-code", "unknown")
    assert EARLY["vacr"]["source"]["format"] == "qwen-json"
    assert [entry["type"] for entry in EARLY["session"]["entries"]] == [
        "user",
        "assistant",
        "system-event",
    ]


def test_the_folder_of_an_early_chat_names_no_project():
    assert AGENT.project_of_store_folder("0f" * 32) == ""
    assert AGENT.project_of_store_folder("-home-nora-till") == "-home-nora-till"


def test_labels_agree_with_an_independent_count():
    for path in native_files("qwen"):
        data = path.read_bytes()
        if path.name != "early.json":
            assert record_labels(record_of(data)) == independent.qwen_labels(data), path.name


def test_each_user_message_has_its_speaker():
    marks = [entry["vacr"] for entry in list_entries(SESSION, "user") if "speaker" in entry["vacr"]]
    assert [(mark["speaker"], mark["speaker-basis"], mark.get("prompt")) for mark in marks] == [
        ("human", "inferred", "Round the total. 🧾"),
        ("human", "stated", None),
        ("host", "stated", None),
    ]


@pytest.mark.parametrize(
    ("texts", "who", "prompt"),
    [
        (["<system-reminder>Be brief.</system-reminder>"], "host", None),
        (["<system-reminder>Be brief.</system-reminder>", "Go on."], "human", "Go on."),
        (["Why <system-reminder>?"], "human", None),
        (
            [
                "Read @a.py",
                "\n--- Content from referenced files ---",
                "\nContent from @a.py:\n",
                "x",
                "\n--- End of content ---",
            ],
            "human",
            "Read @a.py",
        ),
    ],
)
def test_texts_of_the_host_are_not_a_persons(texts, who, prompt):
    data = jsonl(line(1, "user", *[{"text": text} for text in texts]))
    (entry,) = list_entries(record_of(data), "user")
    assert (entry["vacr"]["speaker"], entry["vacr"].get("prompt")) == (who, prompt)


# --- attribution ---

FILE = "one = 1\ntwo = 2\nthree = 3\n"
NEW = FILE.replace("two = 2", "two = 22")
READ = ("read_file", {"file_path": "a.py"}, FILE, {})
EDIT = {"file_path": "a.py", "old_string": "two = 2", "new_string": "two = 22"}


def changes(tmp_path, *calls):
    return list_changes(read_records(tmp_path, session(*calls)))


def display(before, after, **more):
    shown = {"fileDiff": "", "fileName": "a.py", "originalContent": before, "newContent": after}
    return {"resultDisplay": shown | more}


def test_an_edit_records_the_file_before_and_after(tmp_path):
    done = changes(tmp_path, ("edit", EDIT, "done", display(FILE, NEW)))
    assert done == [("a.py", [[2, 2]], "recorded")]


def test_a_shortened_file_proves_nothing(tmp_path):
    cut = "one = 1\n[... truncated for saved session preview ...]\nthree = 3\n"
    flags = {"truncatedForSession": True, "originalContentTruncated": True}
    flags |= {"newContentTruncated": True, "fileDiffTruncated": True}
    report = display(cut, cut.replace("one", "two"), **flags)
    ((_, ranges, _),) = changes(tmp_path, ("edit", EDIT, "done", report))
    assert ranges == []
    done = changes(tmp_path, READ, ("edit", EDIT, "done", report))
    assert done == [("a.py", [[2, 2]], "replayed")]


@pytest.mark.parametrize(
    "text",
    [
        "[File a.py unchanged since last read in this session — the full content was provided",
        "Cannot display content of binary file: a.py",
        "Showing lines 7-9 of 12 total lines.\n\n---\n\nonly one",
    ],
)
def test_a_note_in_place_of_a_file_is_not_the_file(tmp_path, text):
    read = ("read_file", {"file_path": "a.py"}, text, {})
    done = changes(tmp_path, READ, read, ("edit", EDIT, "done", {}))
    assert done == [("a.py", [[2, 2]], "replayed")]


def test_a_part_of_a_file_places_an_edit(tmp_path):
    text = "Showing lines 2-3 of 4 total lines.\n\n---\n\ntwo = 2\nthree = 3"
    read = ("read_file", {"file_path": "a.py", "offset": 1, "limit": 2}, text, {})
    done = changes(tmp_path, read, ("edit", EDIT, "done", {}))
    assert done == [("a.py", [[2, 2]], "windowed")]


def test_a_change_by_the_user_is_mixed(tmp_path):
    report = display(FILE, NEW, diffStat={"user_added_lines": 1})
    (record,) = read_records(tmp_path, session(("edit", EDIT, "done", report)))
    assert find_contributors(record)["a.py", 2]["type"] == "mixed"


def test_a_cancelled_write_changes_nothing(tmp_path):
    call = ("write_file", {"file_path": "a.py", "content": "x"}, "no", {"status": "cancelled"})
    assert changes(tmp_path, call) == []


def test_a_command_writes_a_file(tmp_path):
    text = "Command: echo hi > a.py\nDirectory: (root)\nOutput: (empty)\nError: (none)\n"
    text += "Exit Code: 0\nSignal: 0\nProcess Group PGID: 7"
    call = ("run_shell_command", {"command": "echo hi > a.py"}, text, {})
    assert changes(tmp_path, call) == [("a.py", [[1, 1]], "shell")]


@pytest.mark.parametrize("odd", [{}, [], {"a": [1]}, 7, None])
def test_members_of_an_odd_type_decide_nothing(odd):
    prompt = line(1, "user", {"text": "Round it."}, subtype=odd)
    answer = {"functionResponse": {"id": "c1", "response": {"output": "ok"}}}
    report = {"callId": "c1", "status": "error", "errorType": odd}
    result = line(2, "tool_result", answer, toolCallResult=report)
    record = record_of(jsonl(prompt, result))
    assert record["session"]["entries"][0]["vacr"]["speaker"] == "human"


def test_report_of_a_failed_command_in_an_error_states_its_exit_code():
    text = "Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 3\n"
    text += "Signal: (none)\nProcess Group PGID: (none)"
    call = {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}}
    answer = {"id": "c1", "name": "run_shell_command", "response": {"error": text}}
    report = {"callId": "c1", "status": "error", "errorType": "shell_execute_error"}
    record = record_of(
        jsonl(
            line(1, "assistant", call, model="m"),
            line(2, "tool_result", {"functionResponse": answer}, toolCallResult=report),
        )
    )
    (result,) = record["session"]["entries"][1]["children"]
    assert (result["status"], result["vacr"]["exit-code"]) == ("error", 3)


@pytest.mark.parametrize(
    ("provenance", "speaker"),
    [("real_user", "human"), ("goal_control", "host"), ("goal_runtime", "host"), ([], "human")],
)
def test_provenance_names_messages_of_the_host(provenance, speaker):
    prompt = line(1, "user", {"text": "Round it."}, provenance=provenance, backgroundTurn={})
    record = record_of(jsonl(prompt))
    assert record["session"]["entries"][0]["vacr"]["speaker"] == speaker
    assert "drift" not in record["vacr"]

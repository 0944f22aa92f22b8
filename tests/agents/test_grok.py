"""Grok's chat histories: both forms, the summary, labels, and nothing lost."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import rebuild
from tests.agents.natives import EXTRA, some
from tests.attribution.sessions import find_contributors
from tests.conftest import CORPUS, FIXTURES, jsonl, limit_examples, record_of, stranger
from tests.record.value_strategies import OPAQUE_JSON as JSON
from tests.record.value_strategies import TEXT
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import load_agents
from vacr.cli import run_command_line
from vacr.discovery.opening import read_sessions
from vacr.discovery.sessions import list_sessions

HISTORY = "chat_history.jsonl"
CURRENT, OLD = (FIXTURES / "grok" / name / HISTORY for name in ("session", "old"))
REAL = sorted((CORPUS / "grok").glob("*.jsonl")) if CORPUS.is_dir() else []


def open_session(path):
    """Return the one record of a history, with the files next to it."""
    (session,) = read_sessions(path)
    assert session.agent.name == "grok"
    return stranger(session.reading)


RECORD, OLD_RECORD = open_session(CURRENT), open_session(OLD)


def list_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


@pytest.mark.parametrize("path", [CURRENT, OLD, *REAL], ids=lambda path: path.parent.name)
def test_lines_come_back(path):
    record = record_of(path.read_bytes())
    assert record["session"]["agent-meta"]["cli-name"] == "grok"
    assert validate(record).findings == []
    rebuild.assert_same([record], list_lines(path))


def test_real_histories_are_counted_alike():
    if not REAL:
        pytest.skip("no real sessions here")
    for path in REAL:
        lines, entries = list_lines(path), record_of(path.read_bytes())["session"]["entries"]
        kinds = [line.get("type", line.get("role")) for line in lines]
        types = [entry["type"] for entry in entries]
        for kind in ("user", "assistant", "reasoning"):
            assert types.count(kind) == kinds.count(kind)
        assert types.count("tool-result") == kinds.count("tool_result") + kinds.count("tool")
        calls = [c for e in entries for c in e.get("children", ()) if c["type"] == "tool-call"]
        asked = [call for line in lines for call in line.get("tool_calls", ())]
        assert [call["call-id"] for call in calls] == [call["id"] for call in asked]


def test_summary_states_the_facts_of_the_session():
    session = RECORD["session"]
    assert session["session-id"] == "019f7000-0000-7000-8000-000000000001"
    assert RECORD["vacr"]["parent"]["session-id"] == "019f6fff-0000-7000-8000-000000000000"
    assert session["format"] == "autonomous"
    assert (session["session-start"], session["session-end"]) == (
        "2026-07-18T10:00:00Z",
        "2026-07-18T10:30:00Z",
    )
    assert session["environment"] == {
        "working-dir": "/home/nora/till",
        "vcs": {
            "type": "git",
            "revision": "1" * 40,
            "branch": "main",
            "repository": "git@example.org:nora/till.git",
        },
    }
    assert session["agent-meta"]["models"] == ["grok-4.5", "grok-4.5-fast"]
    assert session["entries"][-1]["data"]["name"] == "summary.json"


def test_log_of_the_screen_and_the_rewind_points_are_kept_and_count_nothing(tmp_path):
    for file in CURRENT.parent.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    logs = {
        "rewind_points.jsonl": jsonl({"prompt_index": 0, "files": {}}),
        "updates.jsonl": jsonl({"method": "session/update", "params": {"sessionId": "s"}}),
    }
    for name, data in logs.items():
        (tmp_path / name).write_bytes(data)
    session = open_session(tmp_path / HISTORY)["session"]
    attached = {
        entry["data"]["name"]: entry["data"]["text"]
        for entry in session["entries"]
        if entry.get("event-type") == "attached-file"
    }
    assert {name: attached.pop(name).encode() for name in logs} == logs
    assert list(attached) == ["summary.json"]
    assert len(session["entries"]) == len(RECORD["session"]["entries"]) + len(logs)


def test_files_about_sub_agents_are_kept_and_are_no_sessions(tmp_path):
    """The shape of `meta.json` is from the source of another reader, without a real sample."""
    root = tmp_path / ".grok" / "sessions" / "%2Fhome%2Fnora%2Ftill"
    folder = root / "019f7000"
    for name in ("summary.json", HISTORY):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((CURRENT.parent / name).read_bytes())
    texts = {}
    for number, status in enumerate(("completed", "running")):
        meta = {
            "subagent_id": f"019f700{number}",
            "parent_session_id": "019f7000-0000-7000-8000-000000000001",
            "description": "Count the fast tests",
            "status": status,
        }
        name = f"subagents/019f700{number}/meta.json"
        texts[name] = json.dumps(meta)
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(texts[name])
    (folder / "subagents" / "notes.json").write_text("{}")
    record = open_session(folder / HISTORY)
    attached = [entry["data"] for entry in record["session"]["entries"] if "data" in entry]
    kept = {data["name"]: data["text"] for data in attached if "name" in data}
    assert {name: text for name, text in kept.items() if name.startswith("sub")} == texts
    assert validate(record).findings == []
    (found,) = list_sessions("grok", {"HOME": str(tmp_path)}, "linux")
    assert found.path.endswith(HISTORY)


def test_host_texts_are_not_a_persons():
    users = [entry for entry in RECORD["session"]["entries"] if entry["type"] == "user"]
    found = [(entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"]) for entry in users]
    assert found[0] == ("host", "stated")
    assert found[2] == ("human", "stated")
    (prompt,) = [e for e in OLD_RECORD["session"]["entries"] if e["type"] == "user"]
    assert prompt["vacr"]["speaker"] == "human"


def test_calls_have_their_results_and_no_outcome_without_evidence():
    _, _, _, thought, answer, result, search, *_ = RECORD["session"]["entries"]
    assert (thought["content"], thought["encrypted"]) == ("List the files first.", "b3BhcXVl")
    first, second = answer["children"]
    assert (first["name"], first["input"]) == ("run_terminal_cmd", {"command": "ls tests | wc -l"})
    assert (second["input"], second["vacr"]) == ("not json", {"status": "no-result"})
    assert (result["call-id"], result["output"]) == ("call-1", "7\n")
    assert "status" not in result
    assert (search["name"], search["input"]["query"]) == ("web_search", "pytest")
    assert RECORD["vacr"]["drift"] == {
        "types": {"checkpoint": 1},
        "members": {"assistant.mood": 1},
    }


def test_old_form_has_calls_results_and_reasoning():
    _, _, answer, result, _ = OLD_RECORD["session"]["entries"]
    assert answer["model-id"] == "grok-4.5"
    assert [child["type"] for child in answer["children"]] == ["reasoning", "tool-call"]
    assert result["call-id"] == "call_1"


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "user", "content": [], "timestamp": "2026-01-01T00:00:00Z", "prompt_index": 0}],
        [{"type": "assistant", "message": {}, "uuid": "u", "model_id": "x", "content": ""}],
        [{"type": "reasoning", "id": "rs_1", "summary": []}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    ],
)
def test_lines_of_other_programs_are_not_recognised(lines):
    assert load_agents()["grok"].recognises(lines) == 0


@pytest.mark.parametrize("variable", ["HOME", "GROK_HOME"])
def test_sessions_are_listed(tmp_path, variable):
    root = tmp_path / ".grok" if variable == "HOME" else tmp_path
    folder = root / "sessions" / "%2Fhome%2Fnora%2Ftill" / "019f7000"
    folder.mkdir(parents=True)
    for file in CURRENT.parent.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (found,) = list_sessions("grok", {variable: str(tmp_path), "HOME": str(tmp_path)}, "linux")
    assert found.path.endswith(HISTORY)


CALL = some(
    {"id": "c1", "name": "read_file", "arguments": '{"a":1}'},
    {"id": 5, "name": "f", "arguments": "no", "more": 1},
    {"name": 5},
    "text",
)
LINE = st.builds(
    lambda base, extra: {**extra, **base},
    st.fixed_dictionaries(
        {
            "type": some(
                *("user", "assistant", "reasoning", "tool_result", "backend_tool_call", "system"),
                *("unknown", "brand-new", "undecodable", 5, None),
            )
        },
        optional={
            "content": TEXT | JSON,
            "tool_calls": st.lists(CALL, max_size=2) | JSON,
            "model_id": some("m", 5),
            "id": some("r1", "r1", 5),
            "summary": some([{"type": "summary_text", "text": "hm"}], [5], "x"),
            "encrypted_content": some("b3A=", 5),
            "tool_call_id": some("c1", 5),
            "kind": some({"tool_type": "web_search", "action": {}, "id": "w"}, {"id": 5}, 5),
            "synthetic_reason": some("environment_context", "interjection"),
        },
    ),
    EXTRA,
)


@pytest.mark.parametrize("arguments", ['{"a": 1}', {"a": 1}, [5], "no"])
def test_calls_of_old_lines_come_back(arguments):
    call = {"id": "c1", "function": {"name": "read_file", "arguments": arguments}}
    line = {"role": "assistant", "content": "", "model_id": "m", "tool_calls": [call]}
    record = record_of(jsonl(line), "grok")
    rebuild.assert_same([record], [line])


def test_any_lines_come_back():
    @settings(max_examples=limit_examples(200))
    @given(st.lists(LINE, min_size=1, max_size=4))
    def holds(native):
        record = record_of(jsonl(*native), "grok")
        assert validate(record).findings == []
        rebuild.assert_same([record], native)

    holds()


def test_blocks_and_calls_of_an_old_line_come_back():
    block = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    call = {"id": None, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    line = {"role": "assistant", "content": [block], "model_id": "m", "tool_calls": [call]}
    record = record_of(jsonl(line), "grok")
    (entry,) = record["session"]["entries"]
    assert [child["name"] for child in entry["children"]] == ["Read", "ls"]
    rebuild.assert_same([record], [line])


@pytest.mark.parametrize("path", [CURRENT, OLD], ids=["current", "old"])
def test_cut_history_is_valid(path):
    data = path.read_bytes()
    for end in range(1, len(data), 61):
        assert validate(record_of(data[:end], "grok")).valid


def run_session(*pairs, events=(), usage=None):
    """Return the record of calls with their results, and with the files next to the history."""
    lines = [
        {"type": "user", "content": [{"type": "text", "text": "<user_info>\nOS: linux\n"}]},
        {
            "type": "user",
            "content": [{"type": "text", "text": "<user_query>\nAdd a till.\n</user_query>"}],
            "prompt_index": 0,
        },
    ]
    for number, (name, arguments, output) in enumerate(pairs):
        call = {"id": f"c{number}", "name": name, "arguments": json.dumps(arguments)}
        lines += [
            {"type": "assistant", "content": "", "tool_calls": [call], "model_id": "grok-5"},
            {"type": "tool_result", "tool_call_id": f"c{number}", "content": output},
        ]
    lines.append({"type": "assistant", "content": "Done.", "model_id": "grok-5"})
    summary = {"info": {"id": "s-1", "cwd": "/w"}, "session_kind": "headless"}
    parts = [
        SourcePart(HISTORY, jsonl(*lines)),
        SourcePart("summary.json", json.dumps(summary).encode()),
        SourcePart("events.jsonl", jsonl(*events)),
        SourcePart("usage.json", json.dumps({"session": usage}).encode()),
    ]
    (reading,) = load_agents()["grok"].read_labelled(Source(tuple(parts)))
    record = stranger(reading)
    rebuild.assert_same([record_of(parts[0].data)], lines)
    return record


BACKGROUND = (
    "<task-id>c3</task-id>\n<task-type>bash</task-type>\n<status>running</status>\n<summary>…"
)
OUTCOMES = [
    ("run_terminal_command", "exit: 0\n3 passed\n", ("success", 0)),
    ("run_terminal_command", "exit: 3\nno such file\n", ("error", 3)),
    ("run_terminal_command", "Error: the words of a command", (None, None)),
    ("run_terminal_command", BACKGROUND, ("running", None)),
    ("write", "The file /w/till.py has been created.", ("success", None)),
    ("search_replace", "The string to replace was not found in the file.", ("error", None)),
    ("fly", "Failed to parse arguments for tool `fly`: Tool not found: fly", ("error", None)),
    ("write", "Tool `write` was not executed: Denied by permission policy", ("denied", None)),
    ("write", "User cancelled the execution for tool `write`", ("interrupted", None)),
    ("list_dir", "till.py", (None, None)),
]


def list_ends(record):
    results = [entry for entry in record["session"]["entries"] if entry["type"] == "tool-result"]
    return [(entry.get("status"), entry.get("vacr", {}).get("exit-code")) for entry in results]


def test_outcomes_follow_from_the_words_of_results():
    record = run_session(*((name, {}, output) for name, output, _ in OUTCOMES))
    assert list_ends(record) == [end for _, _, end in OUTCOMES]


def test_events_next_to_a_history_state_outcomes():
    calls = [("list_dir", {}, "till.py"), ("list_dir", {}, "nowhere")]
    ends = [
        {"type": "tool_completed", "tool_call_id": "c0", "outcome": "success"},
        {"type": "tool_completed", "tool_call_id": "c1", "outcome": "error"},
        {"type": "tool_completed", "tool_call_id": 5, "outcome": {}},
    ]
    assert list_ends(run_session(*calls, events=ends)) == [("success", None), ("error", None)]


def test_notice_shows_how_a_command_in_the_background_ended():
    history = [
        {"type": "assistant", "content": "", "model_id": "m", "tool_calls": [
            {"id": "c3", "name": "run_terminal_command", "arguments": "{}"}]},
        {"type": "tool_result", "tool_call_id": "c3", "content": BACKGROUND},
        {"type": "user", "synthetic_reason": "task_completed", "content": [
            {"type": "text", "text": 'Background task "c3" completed (exit code: 2).'}]},
    ]  # fmt: skip
    (end,) = list_ends(record_of(jsonl(*history)))
    assert end == ("error", 2)


def test_words_of_a_person_are_taken_out_of_their_tag():
    first, second = (e for e in run_session()["session"]["entries"] if e["type"] == "user")
    assert first["vacr"]["speaker"] == "host"
    assert second["vacr"]["prompt"] == "Add a till."
    # A person or a program may have started a session without a terminal.
    assert second["vacr"]["speaker"] == "unknown"


def test_tokens_of_the_session_count_at_the_last_answer():
    usage = {"inputTokens": 900, "cachedReadTokens": 300, "outputTokens": 40, "reasoningTokens": 5}
    record = run_session(("list_dir", {}, "till.py"), usage=usage)
    (counted,) = [entry for entry in record["session"]["entries"] if "token-usage" in entry]
    assert counted["content"] == "Done."
    assert counted["token-usage"] == {"input": 900, "cached": 300, "output": 40, "reasoning": 5}
    assert counted["vacr"]["usage-of"] == "session"


def test_written_and_replaced_lines_are_the_agents():
    replaced = {"file_path": "/w/till.py", "old_string": "TAX = 7", "new_string": "TAX = 8"}
    record = run_session(
        (
            "write",
            {"file_path": "/w/till.py", "content": "TAX = 7\nSUM = 0\n"},
            "The file /w/till.py has been created.",
        ),
        ("search_replace", replaced, "The file /w/till.py has been updated successfully."),
        ("read_file", {"target_file": "/w/till.py"}, "1→TAX = 8\nSUM = 0\n"),
    )
    assert find_contributors(record).keys() == {("till.py", 1), ("till.py", 2)}


@pytest.mark.parametrize(
    ("kind", "speaker"),
    [("subagent", ("parent-agent", "stated")), ("headless", ("unknown", "inferred"))],
)
def test_prompt_of_a_sub_agent_is_its_parents(tmp_path, kind, speaker):
    prompt = {"type": "user", "content": [{"type": "text", "text": "Count the tests."}]}
    answer = {"type": "assistant", "content": "Seven.", "model_id": "grok-5"}
    (tmp_path / HISTORY).write_bytes(jsonl(prompt, answer))
    summary = {"info": {"id": "s-1", "cwd": "/w"}, "session_kind": kind}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    record = open_session(tmp_path / HISTORY)
    marks = record["session"]["entries"][0]["vacr"]
    assert (marks["speaker"], marks["speaker-basis"]) == speaker
    assert "parent" not in record["vacr"]


def write_sub_agent(root, notes, kind="subagent"):
    """Write the session `child` and, for each parent, what it notes about a sub-agent."""
    child = root / "child"
    child.mkdir(parents=True)
    (child / HISTORY).write_bytes(jsonl({"type": "user", "content": "Go.", "prompt_index": 0}))
    summary = {"info": {"id": "child", "cwd": "/w"}, "session_kind": kind}
    (child / "summary.json").write_text(json.dumps(summary))
    for parent, note in notes.items():
        folder = root / parent / "subagents" / "child"
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(json.dumps(note))
    return child / HISTORY


NOTE = {"child_session_id": "child", "parent_session_id": "p-1", "status": "completed"}


@pytest.mark.parametrize("is_relative", [False, True])
def test_sub_agent_is_linked_to_the_parent_that_names_it(tmp_path, monkeypatch, is_relative):
    history = write_sub_agent(tmp_path / "work", {"p-1": NOTE, "p-2": {"other": 1}})
    if is_relative:
        monkeypatch.chdir(history.parent)
        history = Path(HISTORY)
    record = open_session(history)
    assert record["vacr"]["parent"] == {"session-id": "p-1"}
    names = [part["name"] for part in record["vacr"]["source"]["parts"]]
    assert "p-1/subagents/child/meta.json" in names
    kept = [entry["data"] for entry in record["session"]["entries"] if "data" in entry]
    [text] = [data["text"] for data in kept if data.get("name") == "p-1/subagents/child/meta.json"]
    assert json.loads(text) == NOTE
    assert validate(record).findings == []


def test_restored_sub_agent_gives_the_same_record(tmp_path, monkeypatch):
    child = "019f7000-0000-7000-8000-00000000000c"
    history = write_sub_agent(tmp_path / "work", {"p-1": NOTE})
    for folder in (history.parent, tmp_path / "work" / "p-1" / "subagents" / "child"):
        folder.rename(folder.with_name(child))
    monkeypatch.chdir(tmp_path)
    first, again = "first.acr.json", "again.acr.json"
    place = str(tmp_path / "work" / child / HISTORY)
    assert run_command_line(["record", place, "--seal-source", "-o", first, "-q"]) == 0
    assert run_command_line(["restore", first, "-o", "back", "-q"]) == 0
    place = str(Path("back", child, HISTORY))
    assert run_command_line(["record", place, "--seal-source", "-o", again, "-q"]) == 0
    assert Path(first).read_bytes() == Path(again).read_bytes()
    assert json.loads(Path(first).read_bytes())["vacr"]["parent"] == {"session-id": "p-1"}


@pytest.mark.parametrize(
    ("notes", "kind"),
    [
        ({"p-1": NOTE, "p-2": {**NOTE, "parent_session_id": "p-2"}}, "subagent"),
        ({"p-1": {**NOTE, "child_session_id": "other"}}, "subagent"),
        ({"p-1": {**NOTE, "parent_session_id": 5}}, "subagent"),
        ({"p-1": ["odd"]}, "subagent"),
        ({"p-1": NOTE}, "headless"),
    ],
    ids=["two parents", "another child", "no parent", "no object", "no sub-agent"],
)
def test_parent_stays_unknown_without_one_clear_note(tmp_path, notes, kind):
    record = open_session(write_sub_agent(tmp_path / "work", notes, kind))
    assert "parent" not in record["vacr"]


@pytest.mark.parametrize("place", ["meta.json", "work/victim/meta.json", "work/child/meta.json"])
def test_note_behind_a_link_out_of_the_folder_is_left_out(tmp_path, place):
    history = write_sub_agent(tmp_path / "work", {"p-1": NOTE})
    note = tmp_path / "work" / "p-1" / "subagents" / "child" / "meta.json"
    (tmp_path / "work" / "victim").mkdir()
    note.rename(tmp_path / place)
    note.symlink_to(tmp_path / place)
    [session] = read_sessions(history)
    assert "parent" not in session.reading.record["vacr"]
    [error] = session.left_out
    assert "outside" in error.message

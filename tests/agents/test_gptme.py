"""Conversations of gptme: calls in text, their results, labels, and the evidence of edits."""

import json

import pytest

from tests.agents import rebuild
from tests.agents.entries import list_last_lines, list_typed
from tests.conftest import FIXTURES, jsonl, record_of
from tests.discovery import homes
from vacr import validate
from vacr.agents.gptme.text_calls import find_calls
from vacr.discovery import list_sessions, read_sessions

PATCH = "```patch a.py\n<<<<<<< ORIGINAL\n{}\n=======\n{}\n>>>>>>> UPDATED\n```"
CAT = "Ran allowlisted command: `cat a.py`\n\n```stdout\na = 1\nb = 2\n```\n\n"
SHOW = ("```shell\ncat a.py\n```", CAT)


def talk(*turns, **more):
    """Return the record of answers, each with the messages of the system after it."""
    lines = [{"role": "system", "content": "You are gptme v0.35.1, an assistant.", "pinned": True}]
    for answer, *results in turns:
        lines.append({"role": "assistant", "content": answer})
        for result in results:
            line = result if isinstance(result, dict) else {"content": result}
            lines.append({"role": "system"} | line)
    lines = [{"timestamp": "2026-07-25T17:20:00.250"} | line for line in lines]
    record = record_of(jsonl(*lines), name="2026-07-25-till/conversation.jsonl", **more)
    assert validate(record).findings == []
    rebuild.assert_same([record], lines)
    return record


# --- calls in text ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```save a.py\nx\n```", [("save", {"path": "a.py", "content": "x"}, True)]),
        ("```save My notes.md\nx\n```", [("save", {"path": "My notes.md", "content": "x"}, True)]),
        (
            "````save a.md\n```\nx\n```\n````",
            [("save", {"path": "a.md", "content": "```\nx\n```"}, True)],
        ),
        (
            "```save a.md\n```py\nx\n```\n```",
            [("save", {"path": "a.md", "content": "```py\nx\n```"}, False)],
        ),
        ("```bash\nls\n```", [("shell", {"command": "ls"}, True)]),
        ("```python\n1\n```", [("ipython", {"code": "1"}, True)]),
        ("```rust\nlet a;\n```", []),
        ("```save a.py\nx", []),
        ("<think>\n```save a.py\nx\n```\n</think>\nNo.", []),
        ('Now.\n@save(c1): {"path": "a"}', [("save", {"path": "a"}, True)]),
        ('see @save(c1): {"path": "a"}', []),
        ("@save(c1): {", []),
        ("<tool-use>\n<shell>ls</shell>\n</tool-use>", [("shell", {"command": "ls"}, True)]),
        (
            "<tool-use><save args='a'>&lt;</save></tool-use>",
            [("save", {"path": "a", "content": "<"}, False)],
        ),
    ],
)
def test_calls_in_text(text, expected):
    assert [(call.tool, call.input, call.is_certain) for call in find_calls(text)] == expected


def test_code_without_a_result_is_not_a_call():
    record = talk(("Run this:\n\n```python\nprint(1)\n```",))
    assert list_typed(record, "tool-call") == []


def test_result_goes_to_the_call_of_its_tool():
    record = talk(("```python\n1\n```\n\n```save a.py\nx\n```", "Saved to a.py"))
    (call,) = list_typed(record, "tool-call")
    (result,) = list_typed(record, "tool-result")
    assert (call["name"], call["call-id"]) == ("save", result["call-id"])


def test_notices_of_the_host_are_not_results():
    notices = ({"content": "<budget:used>9</budget:used>"}, {"content": "Hidden", "hide": True})
    record = talk(("```shell\nls\n```", *notices, "Ran command: `ls`\n\nNo output\n"))
    (result,) = list_typed(record, "tool-result")
    assert result["output"].startswith("Ran command")


def test_results_with_ids():
    text = '@shell(c1): {"command": "a"}\n@shell(c2): {"command": "b"}'
    second = {"content": "Ran command: `b`\n\nNo output\n", "call_id": "c2"}
    record = talk((text, second))
    calls = {call["call-id"]: call for call in list_typed(record, "tool-call")}
    assert calls["c1"]["vacr"]["status"] == "no-result"
    assert "status" not in calls["c2"]["vacr"]


# --- the session ---


def test_facts_of_a_session():
    (opened,) = read_sessions(FIXTURES / "gptme" / "2026-07-25-till" / "conversation.jsonl")
    session = opened.reading.record["session"]
    assert session["session-id"] == "2026-07-25-till"
    assert session["environment"]["working-dir"] == "/home/nora/till"
    assert session["agent-meta"]["cli-version"] == "0.35.1"
    assert session["agent-meta"]["models"] == ["anthropic/sonnet-9"]
    answers = [entry for entry in session["entries"] if entry["type"] == "assistant"]
    assert answers[0]["token-usage"] == {"input": 180, "output": 20, "cached": 80, "cost": 0.001}
    assert "timestamp" not in answers[0]
    assert answers[0]["vacr"]["native"]["timestamp"].startswith("2026-07-25T17:20")


def test_folder_comes_from_the_prompt_without_settings():
    line = {"role": "system", "content": "## System\n**Working Directory:** /home/nora/till\n"}
    line |= {"timestamp": "2026-07-25T17:20:00", "pinned": True}
    record = record_of(jsonl(line))
    assert record["session"]["environment"]["working-dir"] == "/home/nora/till"


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("linux", ".local/share/gptme/logs"),
        ("darwin", "Library/Application Support/gptme/logs"),
        ("win32", "AppData/Local/gptme/gptme/logs"),
    ],
)
def test_sessions_are_listed(tmp_path, system, folder):
    homes.gptme(tmp_path / folder)
    (found,) = list_sessions("gptme", homes.variables(tmp_path, system), system)
    assert found.session_id == "2026-07-25-till"


def test_folder_of_logs_can_be_moved(tmp_path):
    homes.gptme(tmp_path / "logs")
    variables = homes.variables(tmp_path, "linux") | {"GPTME_LOGS_HOME": str(tmp_path / "logs")}
    assert len(list(list_sessions("gptme", variables, "linux"))) == 1


# --- labels ---


@pytest.mark.parametrize(
    ("call", "result", "expected"),
    [
        ("```shell\nls\n```", "Ran command: `ls`\n\nNo output\n", ("success", 0)),
        ("```shell\nls\n```", "Ran command: `ls`\n\nNo output\nReturn code: 2\n", ("error", 2)),
        # The program printed what looks like the host's line.
        (
            "```shell\nls\n```",
            "Ran command: `ls`\n\n```stdout\na\n\nReturn code: 2\n```\n\n",
            ("success", 0),
        ),
        ("```shell\nls\n```", "Command timed out (after 5s): `ls`\n\n", ("timeout", None)),
        ("```shell\nls\n```", "Command interrupted: `ls`\n\n", ("interrupted", None)),
        ("```shell\nls\n```", "Command denied: `ls`\n\nNo.", ("denied", None)),
        ("```shell\nls\n```", "Operation aborted: user chose not to run it", ("denied", None)),
        ("```save a\nx\n```", "Saved to a (overwritten)", ("success", None)),
        ("```save a\nx\n```", "Save aborted: user refused to create it", ("denied", None)),
        ("```save a\nx\n```", "Save aborted: Content contains placeholder", ("error", None)),
        ("```ipython\n1\n```", "Executed code block.\n\n1", (None, None)),
        ("```ipython\n1\n```", "Error during execution: x", ("error", None)),
    ],
)
def test_outcome_of_a_call(call, result, expected):
    (found,) = list_typed(talk((call, result)), "tool-result")
    assert (found.get("status"), found.get("vacr", {}).get("exit-code")) == expected


# --- attribution ---


def test_saved_file_is_attributed():
    record = talk(("```save a.py\na = 1\n```", "Saved to a.py"))
    assert list_last_lines(record) == {"a.py": [[1, 1]]}


def test_patch_after_the_shell_showed_the_file():
    record = talk(SHOW, (PATCH.format("b = 2", "b = 3"), "Patch successfully applied to `a.py`"))
    assert list_last_lines(record) == {"a.py": [[2, 2]]}


def test_appended_lines_are_attributed():
    turns = [("```save a.py\na = 1\n```", "Saved to a.py")]
    turns.append(("```append a.py\nb = 2\n```", "Appended to a.py"))
    assert list_last_lines(talk(*turns)) == {"a.py": [[2, 2]]}


@pytest.mark.parametrize(
    ("call", "results"),
    [
        ("```save a.py\na = 1\n```", ("Error during execution: x",)),
        ("```save a.py\na = 1\n```", ()),
        ("```save a.py\n```py\n1\n```\n```", ("Saved to a.py",)),
        ("```save a.py\na = 1\n```", ("Saved to a.py", "(content was edited by user)")),
        ("<tool-use><save args='a.py'>a</save></tool-use>", ("Saved to a.py",)),
        (PATCH.format("a\n# ...\nb", "b\n# ...\nc"), ("Patch successfully applied to `a.py`",)),
    ],
)
def test_change_without_evidence_is_not_attributed(call, results):
    assert list_last_lines(talk((call, *results))) == {}


# --- recognition ---


@pytest.mark.parametrize(
    "line",
    [
        {"role": "user", "content": "Hello", "timestamp": "2026-07-25T17:20:00"},
        {"role": "user", "content": [], "timestamp": "2026-07-25T17:20:00", "pinned": True},
        {"role": "user", "content": "Hello", "pinned": True},
    ],
)
def test_lines_of_other_programs_are_not_recognised(line):
    from vacr.agents import find_agent

    assert find_agent("gptme").recognises([line]) == 0.0


def test_unknown_roles_and_members_are_counted():
    lines = [
        {"role": "system", "content": "You are gptme", "timestamp": "x", "mood": "proud"},
        {"role": "narrator", "content": "", "timestamp": "x"},
    ]
    record = record_of(jsonl(*lines))
    drift = json.dumps(record["vacr"]["drift"])
    assert "mood" in drift
    assert "narrator" in drift

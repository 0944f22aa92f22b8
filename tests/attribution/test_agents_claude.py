"""What Claude Code's tools, attachments and reminders prove."""

import pytest

from tests.attribution.sessions import MODEL, ROOT, Claude, contributors, evidence, records_of, rows
from vacr.attribution.attribute import list_applied_changes, replay_records

FILE = "one = 1\ntwo = 2\nthree = 3\nfour = 4\nfive = 5\n"
PATH = {"file_path": f"{ROOT}/a.py"}


@pytest.fixture
def claude():
    session = Claude()
    session.read("a.py", FILE)
    return session


def edit(old, new, **more):
    return {**PATH, "old_string": old, "new_string": new, **more}


def said(claude, tmp_path):
    return rows(records_of(tmp_path, claude.data()))


def test_an_edit_makes_the_lines_that_differ(claude, tmp_path):
    claude.call("Edit", edit("two = 2\nthree = 3", "two = 2\nmore = 9\nthree = 3"))
    records = records_of(tmp_path, claude.data())
    (row,) = list_applied_changes(*replay_records(records))
    assert row == {
        "call-id": "toolu_2",
        "path": "a.py",
        "ranges": [[3, 3]],
        "evidence": "windowed",
        "model-id": f"anthropic/{MODEL}",
    }


def test_an_edit_of_a_file_that_is_known_whole_is_replayed(tmp_path):
    claude = Claude()
    claude.call("Write", {**PATH, "content": FILE}, "File created successfully at: a.py")
    claude.call("Edit", edit("three = 3", "three = 4"))
    assert said(claude, tmp_path) == [
        ("a.py", [[1, 5]], "replayed"),
        ("a.py", [[3, 3]], "replayed"),
    ]


def test_what_the_host_records_is_recorded(claude, tmp_path):
    patch = [
        {
            "oldStart": 2,
            "oldLines": 1,
            "newStart": 2,
            "newLines": 1,
            "lines": ["-two = 2", "+two = 3"],
        }
    ]
    claude.call(
        "Edit", edit("two = 2", "two = 3"), native={"originalFile": FILE, "structuredPatch": patch}
    )
    assert said(claude, tmp_path) == [("a.py", [[2, 2]], "recorded")]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("The user doesn't want to proceed with this tool use. The tool use was rejected.", True),
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", True),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", False),
    ],
)
def test_a_call_that_failed_or_was_refused_changes_nothing(claude, tmp_path, text, error):
    claude.call("Edit", edit("two = 2", "two = 3"), text, f"Error: {text}", error=error)
    assert said(claude, tmp_path) == []


def test_a_call_without_a_result_is_pending(claude, tmp_path):
    claude.ask("Edit", edit("two = 2", "two = 3"))
    assert said(claude, tmp_path) == []


def test_edits_of_one_call_are_numbered_after_the_last_of_them(claude, tmp_path):
    edits = [
        {"old_string": "four = 4", "new_string": "four = 5"},
        {"old_string": "one = 1", "new_string": "zero = 0\none = 1"},
    ]
    claude.call("MultiEdit", {**PATH, "edits": edits}, f"Applied 2 edits to {ROOT}/a.py")
    assert said(claude, tmp_path) == [("a.py", [[1, 1], [5, 5]], "windowed")]


def test_edits_of_one_call_with_the_hosts_text_before(tmp_path):
    claude = Claude()
    edits = [
        {"old_string": "four = 4", "new_string": "four = 5"},
        {"old_string": "one = 1", "new_string": "zero = 0\none = 1"},
    ]
    claude.call(
        "MultiEdit",
        {**PATH, "edits": edits},
        native={"originalFileContents": FILE, "structuredPatch": []},
    )
    assert said(claude, tmp_path) == [("a.py", [[1, 1], [5, 5]], "replayed")]


def test_an_edit_of_several_that_has_no_known_place_leaves_the_numbers_of_the_others_unknown(
    claude, tmp_path
):
    edits = [
        {"old_string": "four = 4", "new_string": "four = 5"},
        {"old_string": "unseen", "new_string": "un\nseen"},
    ]
    claude.call("MultiEdit", {**PATH, "edits": edits})
    assert said(claude, tmp_path) == [("a.py", [], "content-only")]


def test_an_edit_everywhere(claude, tmp_path):
    claude.call("Edit", edit(" = ", " := ", replace_all=True))
    assert said(claude, tmp_path) == [("a.py", [[1, 5]], "windowed")]


def test_an_edit_of_nothing_makes_a_file(tmp_path):
    claude = Claude()
    claude.call("Edit", edit("", "x = 1\n"), native={"type": "create"})
    assert said(claude, tmp_path) == [("a.py", [[1, 1]], "replayed")]


def test_writing_over_a_file_makes_the_lines_that_differ(tmp_path):
    claude = Claude()
    native = {
        "type": "update",
        "originalFile": FILE,
        "content": FILE + "six = 6\n",
        "structuredPatch": [],
    }
    claude.call("Write", {**PATH, "content": FILE + "six = 6\n"}, native=native)
    assert said(claude, tmp_path) == [("a.py", [[6, 6]], "recorded")]


def test_a_notebook_is_changed_somewhere(tmp_path):
    claude = Claude()
    claude.call(
        "NotebookEdit",
        {"notebook_path": f"{ROOT}/n.ipynb", "cell_id": "c1", "new_source": "x = 1"},
        "Updated cell c1",
    )
    records = records_of(tmp_path, claude.data())
    assert rows(records) == [("n.ipynb", [], "content-only")]
    assert [one["call-id"] for one in evidence(records[0])["files"]["n.ipynb"]["content-only"]] == [
        "toolu_0"
    ]


def test_a_notebook_whose_texts_the_host_keeps(tmp_path):
    claude = Claude()
    before = '{\n "cells": [\n  {\n   "source": "x = 1"\n  }\n ]\n}\n'
    native = {
        "original_file": before,
        "updated_file": before.replace("1", "2"),
        "notebook_path": f"{ROOT}/n.ipynb",
    }
    claude.call(
        "NotebookEdit", {"notebook_path": f"{ROOT}/n.ipynb", "new_source": "x = 2"}, native=native
    )
    assert said(claude, tmp_path) == [("n.ipynb", [[4, 4]], "recorded")]


def test_what_the_user_changed_in_a_proposal_is_mixed(claude, tmp_path):
    native = {"userModified": True, "oldString": "two = 2", "newString": "two = 22"}
    claude.call("Edit", edit("two = 2", "two = 3"), native=native)
    claude.call("Edit", edit("two = 22", "two = 23"))  # proves what it was replaced by
    claude.call("Edit", edit("five = 5", "five = 6"))
    records = records_of(tmp_path, claude.data())
    assert [row[1] for row in rows(records)] == [[[2, 2]], [[2, 2]], [[5, 5]]]
    assert contributors(records[0])["a.py", 5]["type"] == "ai"


def test_a_line_that_is_mixed_says_which_model(claude, tmp_path):
    native = {"userModified": True, "oldString": "two = 2", "newString": "two = 22"}
    claude.call("Edit", edit("two = 2", "two = 3"), native=native)
    (record,) = records_of(tmp_path, claude.data())
    assert contributors(record) == {
        ("a.py", 2): {"type": "mixed", "model-id": f"anthropic/{MODEL}"}
    }


def test_what_the_user_made_of_a_proposal_and_nobody_tells_is_content_only(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"), native={"userModified": True})
    assert said(claude, tmp_path) == [("a.py", [], "content-only")]


def test_a_window_proves_a_place(tmp_path):
    claude = Claude()
    claude.read("a.py", "here = 1\nthere = 2\n", first=70)
    claude.call("Edit", edit("there = 2", "there = 3"))
    assert said(claude, tmp_path) == [("a.py", [[71, 71]], "windowed")]


def test_a_search_proves_a_place(tmp_path):
    claude = Claude()
    claude.call(
        "Grep",
        {"pattern": "there", "output_mode": "content", "-n": True},
        "a.py:71:there = 2\na.py:90:there = 9",
    )
    claude.call("Edit", edit("there = 2", "there = 3"))
    assert said(claude, tmp_path) == [("a.py", [[71, 71]], "windowed")]


def test_a_file_that_is_attached_proves_a_place(tmp_path):
    claude = Claude()
    file = {
        "filePath": f"{ROOT}/a.py",
        "content": FILE,
        "numLines": 6,
        "startLine": 1,
        "totalLines": 6,
    }
    claude.line(
        "attachment",
        attachment={
            "type": "file",
            "filename": f"{ROOT}/a.py",
            "content": {"type": "text", "file": file},
        },
    )
    claude.line(
        "attachment",
        attachment={
            "type": "compact_file_reference",
            "filename": f"{ROOT}/a.py",
            "displayPath": "a.py",
        },
    )
    claude.call("Edit", edit("two = 2", "two = 3"))
    assert said(claude, tmp_path) == [("a.py", [[2, 2]], "replayed")]


@pytest.mark.parametrize("differs", [True, False])
def test_a_memory_file_that_is_attached_is_what_the_disk_has(tmp_path, differs):
    claude = Claude()
    memory = {"path": f"{ROOT}/a.py", "contentDiffersFromDisk": differs}
    memory |= {"content": "cut", "rawContent": FILE} if differs else {"content": FILE}
    claude.line(
        "attachment",
        attachment={"type": "nested_memory", "path": f"{ROOT}/a.py", "content": memory},
    )
    claude.call("Edit", edit("two = 2", "two = 3"))
    assert said(claude, tmp_path) == [("a.py", [[2, 2]], "replayed")]


NOTE = (
    "<system-reminder>\nNote: {path} was modified, either by the user or by a linter. This "
    "change was intentional. So that you "
    "don't need to re-read the file, here's the result of running `cat -n` on a snippet of the "
    "edited file:\n{lines}\n"
    "</system-reminder>"
)
RESULT = "<system-reminder>\nResult of calling the Read tool: {}\n</system-reminder>"
LISTED = "     1→one = 1\n     2→two = 222\n     3→three = 3"


def test_a_notice_shows_what_somebody_else_changed(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"))
    claude.call("Edit", edit("five = 5", "five = 6"))
    snippet = LISTED.replace("→", "\t")
    claude.line(
        "attachment",
        attachment={"type": "edited_text_file", "filename": f"{ROOT}/a.py", "snippet": snippet},
    )
    claude.read("a.py", FILE.replace("two = 2", "two = 222").replace("five = 5", "five = 6"))
    (record,) = records_of(tmp_path, claude.data())
    assert {line: one["type"] for line, one in contributors(record).items()} == {
        ("a.py", 2): "mixed",
        ("a.py", 5): "ai",
    }


@pytest.mark.parametrize("inside", ["message", "result"])
def test_a_reminder_shows_what_somebody_else_changed(claude, tmp_path, inside):
    claude.call("Edit", edit("two = 2", "two = 3"))
    note = NOTE.format(path=f"{ROOT}/a.py", lines=LISTED)
    if inside == "message":
        claude.user(note)
    else:
        claude.call("Read", {"file_path": f"{ROOT}/b.py"}, "     1→other\n\n" + note)
    (record,) = records_of(tmp_path, claude.data())
    assert contributors(record) == {
        ("a.py", 2): {"type": "mixed", "model-id": f"anthropic/{MODEL}"}
    }


def test_a_reminder_that_a_command_printed_is_no_reminder(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"))
    claude.call(
        "Bash", {"command": "cat notes.txt"}, NOTE.format(path=f"{ROOT}/a.py", lines=LISTED)
    )
    (record,) = records_of(tmp_path, claude.data())
    assert contributors(record)["a.py", 2]["type"] == "ai"


@pytest.mark.parametrize(
    "result", ['"     1→one = 1\\n     2→two = 2\\n"', "     1→one = 1\n     2→two = 2"]
)
def test_a_file_that_the_user_named_is_shown_by_reminders(tmp_path, result):
    claude = Claude()
    asked = f'Called the Read tool with the following input: {{"file_path":"{ROOT}/a.py"}}'
    claude.user(f"<system-reminder>\n{asked}\n</system-reminder>")
    claude.user("look at @a.py")
    claude.user(f"<system-reminder>\n{asked}\n</system-reminder>\n" + RESULT.format(result))
    claude.call("Edit", edit("two = 2", "two = 3"))
    assert said(claude, tmp_path) == [("a.py", [[2, 2]], "windowed")]


def test_a_sub_agents_work_is_its_models(claude, tmp_path):
    claude.call(
        "Edit", edit("two = 2", "two = 3"), model="claude-haiku-4-5", isSidechain=True, agentId="a7"
    )
    claude.call("Edit", edit("five = 5", "five = 6"))
    (record,) = records_of(tmp_path, claude.data())
    models = {line: one["model-id"] for line, one in contributors(record).items()}
    assert models == {("a.py", 2): "anthropic/claude-haiku-4-5", ("a.py", 5): f"anthropic/{MODEL}"}


def test_a_sub_agents_work_in_progress_lines_is_its_models(claude, tmp_path):
    block = {
        "type": "tool_use",
        "id": "toolu_sub",
        "name": "Edit",
        "input": edit("two = 2", "two = 3"),
    }
    asked = {"type": "assistant", "uuid": "s1", "timestamp": "2026-03-14T09:00:30.000Z"}
    asked |= {"message": {"role": "assistant", "model": "claude-haiku-4-5", "content": [block]}}
    block = {"type": "tool_result", "tool_use_id": "toolu_sub", "content": "ok"}
    answer = {"type": "user", "uuid": "s2", "timestamp": "2026-03-14T09:00:31.000Z"}
    answer |= {"message": {"role": "user", "content": [block]}}
    for message in (asked, answer):
        claude.line(
            "progress",
            data={"type": "agent_progress", "agentId": "a7", "message": message},
            toolUseID="x",
        )
    records = records_of(tmp_path, claude.data())
    assert rows(records) == [("a.py", [[2, 2]], "windowed")]
    assert contributors(records[0])["a.py", 2]["model-id"] == "anthropic/claude-haiku-4-5"


def test_a_calls_own_contributor_is_honoured(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"))
    (record,) = records_of(tmp_path, claude.data())
    (call,) = [
        child
        for entry in record["session"]["entries"]
        for child in entry.get("children", ())
        if child["type"] == "tool-call" and child["name"] == "Edit"
    ]
    call["contributor"] = {"type": "mixed", "model-id": "acme/one"}
    assert contributors(record) == {("a.py", 2): {"type": "mixed", "model-id": "acme/one"}}
    assert [row["model-id"] for row in list_applied_changes(*replay_records([record]))] == [
        "acme/one"
    ]


def test_a_tool_that_nothing_is_known_of_is_reported(claude, tmp_path):
    for _ in range(2):
        claude.call("mcp__files__put", {"path": f"{ROOT}/b.py", "content": "x"})
    claude.call("mcp__weather__ask", {"city": "Bern"})
    claude.call("Glob", {"pattern": "*.py", "path": ROOT})
    (record,) = records_of(tmp_path, claude.data())
    assert evidence(record)["unknown-tools"] == {"mcp__files__put": 2}


def test_a_session_whose_tools_are_known_reports_none(claude, tmp_path):
    (record,) = records_of(tmp_path, claude.data())
    assert "unknown-tools" not in evidence(record)


def test_a_copy_of_a_call_in_another_session_is_not_applied_again(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 2\ntwo = 2"))
    first = records_of(tmp_path, claude.data())
    second = records_of(tmp_path, claude.data().replace('"5f0d"', '"6f0d"'), "copy.jsonl")
    assert rows(first + second) == [("a.py", [[3, 3]], "windowed")]


def test_a_read_from_line_zero_begins_with_the_first_line(tmp_path):
    claude = Claude()
    file = {
        "filePath": PATH["file_path"],
        "content": FILE,
        "startLine": 0,
        "numLines": 6,
        "totalLines": 6,
    }
    claude.call("Read", {**PATH, "offset": 0}, native={"type": "text", "file": file})
    claude.call("Edit", edit("three = 3", "three = 4"))
    assert said(claude, tmp_path) == [("a.py", [[3, 3]], "replayed")]

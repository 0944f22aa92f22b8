"""Attribution from the tools, attachments and reminders of Claude Code."""

import pytest

from tests.attribution.sessions import (
    MODEL,
    ROOT,
    Claude,
    find_contributors,
    get_evidence,
    list_changes,
    read_records,
)
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


def replay_changes(claude, tmp_path):
    return list_changes(read_records(tmp_path, claude.data()))


def test_edit_is_attributed_the_lines_that_differ(claude, tmp_path):
    claude.call("Edit", edit("two = 2\nthree = 3", "two = 2\nmore = 9\nthree = 3"))
    records = read_records(tmp_path, claude.data())
    (row,) = list_applied_changes(*replay_records(records))
    assert row == {
        "call-id": "toolu_2",
        "path": "a.py",
        "ranges": [[3, 3]],
        "evidence": "windowed",
        "model-id": f"anthropic/{MODEL}",
    }


def test_edit_of_a_whole_known_file_is_replayed(tmp_path):
    claude = Claude()
    claude.call("Write", {**PATH, "content": FILE}, "File created successfully at: a.py")
    claude.call("Edit", edit("three = 3", "three = 4"))
    assert replay_changes(claude, tmp_path) == [
        ("a.py", [[1, 5]], "replayed"),
        ("a.py", [[3, 3]], "replayed"),
    ]


def test_patch_recorded_by_the_host_is_recorded_evidence(claude, tmp_path):
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
    assert replay_changes(claude, tmp_path) == [("a.py", [[2, 2]], "recorded")]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("The user doesn't want to proceed with this tool use. The tool use was rejected.", True),
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", True),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", False),
    ],
)
def test_failed_or_refused_call_changes_nothing(claude, tmp_path, text, error):
    claude.call("Edit", edit("two = 2", "two = 3"), text, f"Error: {text}", error=error)
    assert replay_changes(claude, tmp_path) == []


def test_call_without_a_result_changes_nothing(claude, tmp_path):
    claude.ask("Edit", edit("two = 2", "two = 3"))
    assert replay_changes(claude, tmp_path) == []


def test_multi_edit_ranges_count_after_the_last_edit(claude, tmp_path):
    edits = [
        {"old_string": "four = 4", "new_string": "four = 5"},
        {"old_string": "one = 1", "new_string": "zero = 0\none = 1"},
    ]
    claude.call("MultiEdit", {**PATH, "edits": edits}, f"Applied 2 edits to {ROOT}/a.py")
    assert replay_changes(claude, tmp_path) == [("a.py", [[1, 1], [5, 5]], "windowed")]


def test_multi_edit_with_the_original_text_is_replayed(tmp_path):
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
    assert replay_changes(claude, tmp_path) == [("a.py", [[1, 1], [5, 5]], "replayed")]


def test_multi_edit_with_an_unplaced_edit_has_no_ranges(claude, tmp_path):
    edits = [
        {"old_string": "four = 4", "new_string": "four = 5"},
        {"old_string": "unseen", "new_string": "un\nseen"},
    ]
    claude.call("MultiEdit", {**PATH, "edits": edits})
    assert replay_changes(claude, tmp_path) == [("a.py", [], "content-only")]


def test_replace_all_covers_every_match(claude, tmp_path):
    claude.call("Edit", edit(" = ", " := ", replace_all=True))
    assert replay_changes(claude, tmp_path) == [("a.py", [[1, 5]], "windowed")]


def test_edit_of_empty_text_creates_a_file(tmp_path):
    claude = Claude()
    claude.call("Edit", edit("", "x = 1\n"), native={"type": "create"})
    assert replay_changes(claude, tmp_path) == [("a.py", [[1, 1]], "replayed")]


def test_overwrite_is_attributed_the_lines_that_differ(tmp_path):
    claude = Claude()
    native = {
        "type": "update",
        "originalFile": FILE,
        "content": FILE + "six = 6\n",
        "structuredPatch": [],
    }
    claude.call("Write", {**PATH, "content": FILE + "six = 6\n"}, native=native)
    assert replay_changes(claude, tmp_path) == [("a.py", [[6, 6]], "recorded")]


def test_notebook_edit_is_content_only(tmp_path):
    claude = Claude()
    claude.call(
        "NotebookEdit",
        {"notebook_path": f"{ROOT}/n.ipynb", "cell_id": "c1", "new_source": "x = 1"},
        "Updated cell c1",
    )
    records = read_records(tmp_path, claude.data())
    assert list_changes(records) == [("n.ipynb", [], "content-only")]
    assert [
        call["call-id"] for call in get_evidence(records[0])["files"]["n.ipynb"]["content-only"]
    ] == ["toolu_0"]


def test_notebook_edit_with_recorded_texts_has_ranges(tmp_path):
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
    assert replay_changes(claude, tmp_path) == [("n.ipynb", [[4, 4]], "recorded")]


def test_edit_after_a_user_modified_proposal_keeps_its_place(claude, tmp_path):
    native = {"userModified": True, "oldString": "two = 2", "newString": "two = 22"}
    claude.call("Edit", edit("two = 2", "two = 3"), native=native)
    claude.call("Edit", edit("two = 22", "two = 23"))  # proves what it was replaced by
    claude.call("Edit", edit("five = 5", "five = 6"))
    records = read_records(tmp_path, claude.data())
    assert [row[1] for row in list_changes(records)] == [[[2, 2]], [[2, 2]], [[5, 5]]]
    assert find_contributors(records[0])["a.py", 5]["type"] == "ai"


def test_mixed_line_names_its_model(claude, tmp_path):
    native = {"userModified": True, "oldString": "two = 2", "newString": "two = 22"}
    claude.call("Edit", edit("two = 2", "two = 3"), native=native)
    (record,) = read_records(tmp_path, claude.data())
    assert find_contributors(record) == {
        ("a.py", 2): {"type": "mixed", "model-id": f"anthropic/{MODEL}"}
    }


def test_user_modified_proposal_without_text_is_content_only(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"), native={"userModified": True})
    assert replay_changes(claude, tmp_path) == [("a.py", [], "content-only")]


def test_partial_read_places_an_edit(tmp_path):
    claude = Claude()
    claude.read("a.py", "here = 1\nthere = 2\n", first=70)
    claude.call("Edit", edit("there = 2", "there = 3"))
    assert replay_changes(claude, tmp_path) == [("a.py", [[71, 71]], "windowed")]


def test_search_result_places_an_edit(tmp_path):
    claude = Claude()
    claude.call(
        "Grep",
        {"pattern": "there", "output_mode": "content", "-n": True},
        "a.py:71:there = 2\na.py:90:there = 9",
    )
    claude.call("Edit", edit("there = 2", "there = 3"))
    assert replay_changes(claude, tmp_path) == [("a.py", [[71, 71]], "windowed")]


def test_attached_file_places_an_edit(tmp_path):
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
    assert replay_changes(claude, tmp_path) == [("a.py", [[2, 2]], "replayed")]


@pytest.mark.parametrize("differs", [True, False])
def test_attached_memory_file_shows_the_text_on_disk(tmp_path, differs):
    claude = Claude()
    memory = {"path": f"{ROOT}/a.py", "contentDiffersFromDisk": differs}
    memory |= {"content": "cut", "rawContent": FILE} if differs else {"content": FILE}
    claude.line(
        "attachment",
        attachment={"type": "nested_memory", "path": f"{ROOT}/a.py", "content": memory},
    )
    claude.call("Edit", edit("two = 2", "two = 3"))
    assert replay_changes(claude, tmp_path) == [("a.py", [[2, 2]], "replayed")]


NOTE = (
    "<system-reminder>\nNote: {path} was modified, either by the user or by a linter. This "
    "change was intentional. So that you "
    "don't need to re-read the file, here's the result of running `cat -n` on a snippet of the "
    "edited file:\n{lines}\n"
    "</system-reminder>"
)
RESULT = "<system-reminder>\nResult of calling the Read tool: {}\n</system-reminder>"
LISTED = "     1→one = 1\n     2→two = 222\n     3→three = 3"


def test_change_notice_shows_changes_by_others(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"))
    claude.call("Edit", edit("five = 5", "five = 6"))
    snippet = LISTED.replace("→", "\t")
    claude.line(
        "attachment",
        attachment={"type": "edited_text_file", "filename": f"{ROOT}/a.py", "snippet": snippet},
    )
    claude.read("a.py", FILE.replace("two = 2", "two = 222").replace("five = 5", "five = 6"))
    (record,) = read_records(tmp_path, claude.data())
    assert {
        line: contributor["type"] for line, contributor in find_contributors(record).items()
    } == {
        ("a.py", 2): "mixed",
        ("a.py", 5): "ai",
    }


@pytest.mark.parametrize("inside", ["message", "result"])
def test_reminder_shows_changes_by_others(claude, tmp_path, inside):
    claude.call("Edit", edit("two = 2", "two = 3"))
    note = NOTE.format(path=f"{ROOT}/a.py", lines=LISTED)
    if inside == "message":
        claude.user(note)
    else:
        claude.call("Read", {"file_path": f"{ROOT}/b.py"}, "     1→other\n\n" + note)
    (record,) = read_records(tmp_path, claude.data())
    assert find_contributors(record) == {
        ("a.py", 2): {"type": "mixed", "model-id": f"anthropic/{MODEL}"}
    }


def test_reminder_printed_by_a_command_is_ignored(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"))
    claude.call(
        "Bash", {"command": "cat notes.txt"}, NOTE.format(path=f"{ROOT}/a.py", lines=LISTED)
    )
    (record,) = read_records(tmp_path, claude.data())
    assert find_contributors(record)["a.py", 2]["type"] == "ai"


@pytest.mark.parametrize(
    "result", ['"     1→one = 1\\n     2→two = 2\\n"', "     1→one = 1\n     2→two = 2"]
)
def test_reminders_show_the_file_that_the_user_named(tmp_path, result):
    claude = Claude()
    asked = f'Called the Read tool with the following input: {{"file_path":"{ROOT}/a.py"}}'
    claude.user(f"<system-reminder>\n{asked}\n</system-reminder>")
    claude.user("look at @a.py")
    claude.user(f"<system-reminder>\n{asked}\n</system-reminder>\n" + RESULT.format(result))
    claude.call("Edit", edit("two = 2", "two = 3"))
    assert replay_changes(claude, tmp_path) == [("a.py", [[2, 2]], "windowed")]


def test_sub_agent_lines_name_its_model(claude, tmp_path):
    claude.call(
        "Edit", edit("two = 2", "two = 3"), model="claude-haiku-4-5", isSidechain=True, agentId="a7"
    )
    claude.call("Edit", edit("five = 5", "five = 6"))
    (record,) = read_records(tmp_path, claude.data())
    models = {
        line: contributor["model-id"] for line, contributor in find_contributors(record).items()
    }
    assert models == {("a.py", 2): "anthropic/claude-haiku-4-5", ("a.py", 5): f"anthropic/{MODEL}"}


def test_sub_agent_lines_in_progress_entries_name_its_model(claude, tmp_path):
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
    records = read_records(tmp_path, claude.data())
    assert list_changes(records) == [("a.py", [[2, 2]], "windowed")]
    assert find_contributors(records[0])["a.py", 2]["model-id"] == "anthropic/claude-haiku-4-5"


def test_contributor_of_a_call_takes_precedence(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 3"))
    (record,) = read_records(tmp_path, claude.data())
    (call,) = [
        child
        for entry in record["session"]["entries"]
        for child in entry.get("children", ())
        if child["type"] == "tool-call" and child["name"] == "Edit"
    ]
    call["contributor"] = {"type": "mixed", "model-id": "acme/one"}
    assert find_contributors(record) == {("a.py", 2): {"type": "mixed", "model-id": "acme/one"}}
    assert [row["model-id"] for row in list_applied_changes(*replay_records([record]))] == [
        "acme/one"
    ]


def test_unknown_tool_is_reported(claude, tmp_path):
    for _ in range(2):
        claude.call("mcp__files__put", {"path": f"{ROOT}/b.py", "content": "x"})
    claude.call("mcp__weather__ask", {"city": "Bern"})
    claude.call("Glob", {"pattern": "*.py", "path": ROOT})
    (record,) = read_records(tmp_path, claude.data())
    assert get_evidence(record)["unknown-tools"] == {"mcp__files__put": 2}


def test_known_tools_are_not_reported(claude, tmp_path):
    (record,) = read_records(tmp_path, claude.data())
    assert "unknown-tools" not in get_evidence(record)


def test_copied_call_is_applied_once(claude, tmp_path):
    claude.call("Edit", edit("two = 2", "two = 2\ntwo = 2"))
    first = read_records(tmp_path, claude.data())
    second = read_records(tmp_path, claude.data().replace('"5f0d"', '"6f0d"'), "copy.jsonl")
    assert list_changes(first + second) == [("a.py", [[3, 3]], "windowed")]


def test_read_from_line_zero_starts_at_line_one(tmp_path):
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
    assert replay_changes(claude, tmp_path) == [("a.py", [[3, 3]], "replayed")]

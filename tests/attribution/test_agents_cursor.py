"""What Cursor's transcripts and stores prove: without results, never a line."""

import json

import pytest

from tests.attribution.sessions import ROOT, contributors, cursor_editor, cursor_transcript, evidence, records_of, rows

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
CALLS = {
    "Write": ("Write", {"path": "a.py", "contents": "x = 1\n"}),
    "StrReplace": ("StrReplace", {"path": "a.py", "old_string": "1", "new_string": "2"}),
    "edit_file": ("edit_file", {"target_file": "a.py", "instructions": "do it", "code_edit": "x = 1"}),
    "ApplyPatch": ("ApplyPatch", {"patch": PATCH}),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_without_a_result_has_no_lines(tmp_path, call):
    (record,) = records_of(tmp_path, cursor_transcript(call))
    found = rows([record])
    assert {path for path, _, _ in found} == ({"a.py", "b.py"} if call[0] == "ApplyPatch" else {"a.py"})
    assert {(tuple(ranges), proof) for _, ranges, proof in found} == {((), "content-only")}
    assert contributors(record) == {}
    assert len(evidence(record)["files"]["a.py"]["content-only"]) == 1


def test_a_call_without_a_result_makes_what_was_known_uncertain(tmp_path):
    (record,) = records_of(tmp_path, cursor_transcript(CALLS["Write"], CALLS["StrReplace"]))
    assert evidence(record)["files"]["a.py"]["complete"] is False


READ = {"name": "read_file_v2", "rawArgs": json.dumps({"target_file": "a.py"})}
READ |= {"result": json.dumps({"contents": "one = 1\ntwo = 2\n", "totalLinesInFile": 3})}


def replaced(**more):
    arguments = {"file_path": f"{ROOT}/a.py", "old_string": "two = 2", "new_string": "two = 3"}
    return {"name": "search_replace", "rawArgs": json.dumps(arguments), "result": json.dumps({"isApplied": True}), **more}


def test_a_replacement_with_a_result(tmp_path):
    assert rows(cursor_editor(tmp_path, READ, replaced())) == [("a.py", [[2, 2]], "replayed")]


def test_a_file_with_a_result(tmp_path):
    arguments = {"file_path": "a.py", "contents": "x\ny\n"}
    tool = {"name": "write", "rawArgs": json.dumps(arguments), "result": json.dumps({"ok": True})}
    records = cursor_editor(tmp_path, tool)
    assert rows(records) == [("a.py", [[1, 2]], "replayed")]
    assert contributors(records[0])["a.py", 1]["type"] == "ai"


@pytest.mark.parametrize(
    "more",
    [
        {"result": None, "error": "no such text", "status": "error"},
        {"status": "cancelled"},
        {"userDecision": "rejected"},
        {"result": None, "status": "running"},
    ],
)
def test_a_call_that_failed_was_refused_or_goes_on_changes_nothing(tmp_path, more):
    assert rows(cursor_editor(tmp_path, READ, replaced(**more))) == []


def test_an_edit_that_is_only_sketched_has_no_lines(tmp_path):
    arguments = {"target_file": "a.py", "instructions": "do it", "code_edit": "// ...\ntwo = 3"}
    tool = {"name": "edit_file", "rawArgs": json.dumps(arguments), "result": json.dumps({"diff": {"chunks": []}})}
    assert rows(cursor_editor(tmp_path, READ, tool)) == [("a.py", [], "content-only")]


def test_a_part_of_a_file_is_not_taken_for_the_file(tmp_path):
    part = READ | {"result": json.dumps({"contents": "one = 1\ntwo = 2\n"})}
    assert rows(cursor_editor(tmp_path, part, replaced())) == [("a.py", [], "content-only")]


def test_a_deleted_file_has_no_lines(tmp_path):
    write = {"name": "write", "rawArgs": json.dumps({"file_path": "a.py", "contents": "x\n"}), "result": "{}"}
    delete = {"name": "delete_file", "rawArgs": json.dumps({"target_file": "a.py"}), "result": json.dumps({"fileDeleted": True})}
    records = cursor_editor(tmp_path, write, delete)
    assert contributors(records[0]) == {}


def test_a_tool_that_nothing_is_known_of_is_reported(tmp_path):
    (record,) = records_of(
        tmp_path, cursor_transcript(("Transmogrify", {"path": "a.py"}), ("Grep", {"path": ".", "pattern": "x"}))
    )
    assert evidence(record)["unknown-tools"] == {"Transmogrify": 1}

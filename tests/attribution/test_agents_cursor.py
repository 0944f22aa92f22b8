"""Attribution from the transcripts and databases of Cursor; a call without a result proves no line."""

import json

import pytest

from tests.attribution.sessions import (
    ROOT,
    cursor_editor,
    cursor_transcript,
    find_contributors,
    get_evidence,
    list_changes,
    read_records,
)
from vacr.attribution.attribute import replay_records

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
CALLS = {
    "Write": ("Write", {"path": "a.py", "contents": "x = 1\n"}),
    "StrReplace": ("StrReplace", {"path": "a.py", "old_string": "1", "new_string": "2"}),
    "edit_file": (
        "edit_file",
        {"target_file": "a.py", "instructions": "do it", "code_edit": "x = 1"},
    ),
    "ApplyPatch": ("ApplyPatch", {"patch": PATCH}),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_call_without_a_result_has_no_lines(tmp_path, call):
    (record,) = read_records(tmp_path, cursor_transcript(call))
    expected = list_changes([record])
    assert {path for path, _, _ in expected} == (
        {"a.py", "b.py"} if call[0] == "ApplyPatch" else {"a.py"}
    )
    assert {(tuple(ranges), proof) for _, ranges, proof in expected} == {((), "content-only")}
    assert find_contributors(record) == {}
    assert len(get_evidence(record)["files"]["a.py"]["content-only"]) == 1


def test_call_without_a_result_makes_known_lines_uncertain(tmp_path):
    (record,) = read_records(tmp_path, cursor_transcript(CALLS["Write"], CALLS["StrReplace"]))
    assert get_evidence(record)["files"]["a.py"]["complete"] is False


READ = {"name": "read_file_v2", "rawArgs": json.dumps({"target_file": "a.py"})}
READ |= {"result": json.dumps({"contents": "one = 1\ntwo = 2\n", "totalLinesInFile": 3})}


def replaced(**more):
    arguments = {"file_path": f"{ROOT}/a.py", "old_string": "two = 2", "new_string": "two = 3"}
    return {
        "name": "search_replace",
        "rawArgs": json.dumps(arguments),
        "result": json.dumps({"isApplied": True}),
        **more,
    }


def test_replacement_with_a_result_has_ranges(tmp_path):
    assert list_changes(cursor_editor(tmp_path, READ, replaced())) == [
        ("a.py", [[2, 2]], "replayed")
    ]


def test_written_file_with_a_result_has_ranges(tmp_path):
    arguments = {"file_path": "a.py", "contents": "x\ny\n"}
    tool = {"name": "write", "rawArgs": json.dumps(arguments), "result": json.dumps({"ok": True})}
    records = cursor_editor(tmp_path, tool)
    assert list_changes(records) == [("a.py", [[1, 2]], "replayed")]
    assert find_contributors(records[0])["a.py", 1]["type"] == "ai"


@pytest.mark.parametrize(
    "more",
    [
        {"result": None, "error": "no such text", "status": "error"},
        {"status": "cancelled"},
        {"userDecision": "rejected"},
        {"result": None, "status": "running"},
    ],
)
def test_failed_refused_or_running_call_changes_nothing(tmp_path, more):
    assert list_changes(cursor_editor(tmp_path, READ, replaced(**more))) == []


def test_sketched_edit_has_no_lines(tmp_path):
    arguments = {"target_file": "a.py", "instructions": "do it", "code_edit": "// ...\ntwo = 3"}
    tool = {
        "name": "edit_file",
        "rawArgs": json.dumps(arguments),
        "result": json.dumps({"diff": {"chunks": []}}),
    }
    assert list_changes(cursor_editor(tmp_path, READ, tool)) == [("a.py", [], "content-only")]


def test_part_of_a_file_is_not_taken_for_the_file(tmp_path):
    part = READ | {"result": json.dumps({"contents": "one = 1\ntwo = 2\n"})}
    assert list_changes(cursor_editor(tmp_path, part, replaced())) == [("a.py", [], "content-only")]


def test_deleted_file_has_no_lines(tmp_path):
    write = {
        "name": "write",
        "rawArgs": json.dumps({"file_path": "a.py", "contents": "x\n"}),
        "result": "{}",
    }
    delete = {
        "name": "delete_file",
        "rawArgs": json.dumps({"target_file": "a.py"}),
        "result": json.dumps({"fileDeleted": True}),
    }
    records = cursor_editor(tmp_path, write, delete)
    assert find_contributors(records[0]) == {}


def test_unknown_tool_is_reported(tmp_path):
    (record,) = read_records(
        tmp_path,
        cursor_transcript(
            ("Transmogrify", {"path": "a.py"}), ("Grep", {"path": ".", "pattern": "x"})
        ),
    )
    assert get_evidence(record)["unknown-tools"] == {"Transmogrify": 1}


TEXT = "one = 1\ntwo = 2\nthree = 3\nfour = 4\n"
WHOLE = READ | {"result": json.dumps({"contents": TEXT, "totalLinesInFile": 5})}


def chunk(text, first, old, new):
    signs = [line[:1] for line in text.split("\n")]
    counts = {"linesRemoved": signs.count("-"), "linesAdded": signs.count("+")}
    return {
        "diffString": text,
        "oldStart": first,
        "newStart": first,
        "oldLines": old,
        "newLines": new,
        **counts,
    }


def edited(*chunks, name="edit_file", result=None, diff=None, **more):
    arguments = {"target_file": "a.py", "instructions": "do it", "code_edit": "// ...\ntwo = 3"}
    answer = {
        "diff": {"chunks": list(chunks), "editor": "EDITOR_AI", **(diff or {})},
        "isApplied": True,
        **(result or {}),
    }
    return {"name": name, "rawArgs": json.dumps(arguments), "result": json.dumps(answer), **more}


PLACED = [("a.py", [[2, 3]], "recorded")]
LOOSE = [("a.py", [], "content-only")]
CHANGE = "  one = 1\n- two = 2\n+ two = 3\n+ more = 3\n  three = 3"


@pytest.mark.parametrize(
    ("chunks", "expected"),
    {
        "with a blank after each mark": ([chunk(CHANGE, 1, 3, 4)], PLACED),
        "without blanks": (
            [
                chunk(
                    CHANGE.replace("\n  ", "\n ").replace("- ", "-").replace("+ ", "+")[1:], 1, 3, 4
                )
            ],
            PLACED,
        ),
        "without context": ([chunk("- two = 2\n+ two = 3\n+ more = 3", 2, 1, 2)], PLACED),
        "two of them": (
            [
                chunk("- two = 2\n+ two = 3\n+ more = 3", 2, 1, 2),
                chunk("- four = 4", 4, 1, 0) | {"newStart": 5},
            ],
            PLACED,
        ),
        "at another place": ([chunk(CHANGE, 2, 3, 4)], LOOSE),
        "counted from 0": ([chunk(CHANGE, 0, 3, 4)], LOOSE),
        "that do not add up": ([chunk(CHANGE, 1, 4, 5)], LOOSE),
        "that only add": ([chunk("+ zero = 0", 1, 0, 1)], LOOSE),
        "that are not a diff": ([chunk("two = 3", 1, 1, 1)], LOOSE),
        "none": ([], LOOSE),
    }.values(),
)
def test_diff_chunks_count_where_known_lines_confirm_them(tmp_path, chunks, expected):
    assert list_changes(cursor_editor(tmp_path, WHOLE, edited(*chunks))) == expected


def test_diff_chunks_prove_nothing_about_an_unseen_file(tmp_path):
    assert list_changes(cursor_editor(tmp_path, edited(chunk(CHANGE, 1, 3, 4)))) == LOOSE


def test_diff_that_timed_out_is_ignored(tmp_path):
    assert (
        list_changes(
            cursor_editor(
                tmp_path, WHOLE, edited(chunk(CHANGE, 1, 3, 4), diff={"hitTimeout": True})
            )
        )
        == LOOSE
    )


def test_diff_of_the_users_changes_is_not_attributed_to_the_agent(tmp_path):
    assert (
        list_changes(
            cursor_editor(
                tmp_path, WHOLE, edited(chunk(CHANGE, 1, 3, 4), diff={"editor": "EDITOR_HUMAN"})
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("result", "more"),
    [
        ({"rejected": True}, {}),
        ({"applyFailed": True}, {}),
        ({"isApplied": False}, {}),
        ({"recoverableError": {"errorType": "SEARCH_STRING_NOT_FOUND"}}, {}),
        ({"humanReview": {"isEditAccepted": False}}, {}),
        ({}, {"additionalData": {"reviewData": {"selectedOption": "reject"}}}),
        ({}, {"additionalData": {"userDecision": "rejected"}}),
    ],
)
def test_discarded_edit_changes_nothing(tmp_path, result, more):
    assert (
        list_changes(
            cursor_editor(tmp_path, WHOLE, edited(chunk(CHANGE, 1, 3, 4), result=result, **more))
        )
        == []
    )


def test_diff_places_a_replacement_among_equal_texts(tmp_path):
    text = "a = 1\nb = 2\nc = 3\nb = 2\n"
    read = READ | {"result": json.dumps({"contents": text, "totalLinesInFile": 5})}
    arguments = {"file_path": f"{ROOT}/a.py", "old_string": "b = 2", "new_string": "b = 3"}
    answer = {"diff": {"chunks": [chunk("  c = 3\n- b = 2\n+ b = 3", 3, 2, 2)]}, "isApplied": True}
    tool = {
        "name": "search_replace",
        "rawArgs": json.dumps(arguments),
        "result": json.dumps(answer),
    }
    assert list_changes(cursor_editor(tmp_path, read, tool)) == [("a.py", [[4, 4]], "recorded")]


BEFORE, AFTER = "composer.content." + 64 * "b", "composer.content." + 64 * "a"
NOTHING = "composer.content.e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
NEW_TEXT = TEXT.replace("two = 2", "two = 3")


@pytest.mark.parametrize(
    ("result", "expected"),
    {
        "before and after": (
            {"beforeContentId": BEFORE, "afterContentId": AFTER},
            [("a.py", [[2, 2]], "recorded")],
        ),
        "in the result": (
            {"contentsBeforeEdit": TEXT, "contentsAfterEdit": NEW_TEXT},
            [("a.py", [[2, 2]], "recorded")],
        ),
        "of an empty file": (
            {"beforeContentId": NOTHING, "afterContentId": AFTER},
            [("a.py", [[1, 4]], "recorded")],
        ),
        "of a new file": (
            {"afterContentId": AFTER, "fileWasCreated": True},
            [("a.py", [[1, 4]], "recorded")],
        ),
        "only after": ({"afterContentId": AFTER}, LOOSE),
        "of texts that are not kept": (
            {"beforeContentId": BEFORE[:-1], "afterContentId": AFTER},
            LOOSE,
        ),
    }.values(),
)
def test_texts_kept_by_the_editor_are_used(tmp_path, result, expected):
    arguments = {"relativeWorkspacePath": "a.py", "noCodeblock": True}
    tool = {"name": "edit_file_v2", "params": json.dumps(arguments), "result": json.dumps(result)}
    assert (
        list_changes(cursor_editor(tmp_path, tool, rows={BEFORE: TEXT, AFTER: NEW_TEXT}))
        == expected
    )


def test_line_ends_reported_by_the_editor_are_used(tmp_path):
    result = {"beforeContentId": BEFORE, "afterContentId": AFTER, "eolSequence": "\r\n"}
    tool = {
        "name": "edit_file_v2",
        "params": json.dumps({"relativeWorkspacePath": "a.py"}),
        "result": json.dumps(result),
    }
    replay, _ = replay_records(cursor_editor(tmp_path, tool, rows={BEFORE: TEXT, AFTER: NEW_TEXT}))
    assert replay.files[f"{ROOT}/a.py"].file.text == NEW_TEXT.replace("\n", "\r\n")

"""Attribution from the tools and displays of Gemini CLI."""

import hashlib
import json

import pytest

from tests.attribution.sessions import ROOT, Gemini, find_contributors, list_changes, read_records
from vacr.attribution.attribute import list_applied_changes, replay_records

FILE = "one = 1\ntwo = 2\nthree = 2\n"
PATH = {"file_path": "a.py"}


@pytest.fixture
def gemini():
    session = Gemini()
    session.call("read_file", PATH, FILE)
    return session


def replaced(old, new, **more):
    return {**PATH, "instruction": "do it", "old_string": old, "new_string": new, **more}


def display(before, after, **more):
    counts = {"model_added_lines": 1, "user_added_lines": 0, "user_removed_lines": 0}
    return {
        "fileDiff": "",
        "fileName": "a.py",
        "originalContent": before,
        "newContent": after,
        "diffStat": counts,
        **more,
    }


def replay_changes(gemini, tmp_path):
    return list_changes(read_records(tmp_path, gemini.data(), "session.json"))


@pytest.mark.parametrize("name", ["replace", "edit_file"])
def test_replacement_has_ranges(gemini, tmp_path, name):
    gemini.call(
        name, replaced("two = 2", "two = 3"), "Successfully modified file: a.py (1 replacements)."
    )
    (row,) = list_applied_changes(
        *replay_records(read_records(tmp_path, gemini.data(), "session.json"))
    )
    assert (row["path"], row["ranges"], row["evidence"]) == ("a.py", [[2, 2]], "replayed")
    assert row["model-id"] == "google/gemini-3-pro"


@pytest.mark.parametrize("more", [{"expected_replacements": 2}, {"allow_multiple": True}])
def test_replacement_of_every_match_has_ranges(gemini, tmp_path, more):
    gemini.call("replace", replaced(" = 2", " = 3", **more))
    assert replay_changes(gemini, tmp_path) == [("a.py", [[2, 3]], "replayed")]


@pytest.mark.parametrize("more", [{}, {"expected_replacements": 1}, {"allow_multiple": False}])
def test_replacement_of_an_ambiguous_text_has_no_place(gemini, tmp_path, more):
    gemini.call("replace", replaced(" = 2", " = 3", **more))
    assert replay_changes(gemini, tmp_path) == [("a.py", [], "content-only")]


def test_display_with_both_texts_is_recorded_evidence(tmp_path):
    gemini = Gemini()
    after = FILE.replace("two = 2", "two = 3")
    gemini.call(
        "replace", replaced("two=2", "two=3"), display=display(FILE, after, isNewFile=False)
    )
    assert replay_changes(gemini, tmp_path) == [("a.py", [[2, 2]], "recorded")]


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_failed_or_refused_call_changes_nothing(gemini, tmp_path, status):
    gemini.call("replace", replaced("two = 2", "two = 3"), "no", status=status, failed=True)
    assert replay_changes(gemini, tmp_path) == []


def test_error_in_the_response_is_a_failure(gemini, tmp_path):
    gemini.call(
        "replace",
        replaced("two = 2", "two = 3"),
        'Tool "replace" not found.',
        status=None,
        failed=True,
    )
    assert replay_changes(gemini, tmp_path) == []


def test_call_without_a_result_changes_nothing(gemini, tmp_path):
    gemini.call("replace", replaced("two = 2", "two = 3"), None, status=None)
    assert replay_changes(gemini, tmp_path) == []


@pytest.mark.parametrize(
    ("answer", "shown", "proof"),
    [
        ("Successfully created and wrote to new file: /w/a.py.", None, "replayed"),
        ("ok", display("", FILE, isNewFile=True), "recorded"),
    ],
)
def test_new_file_is_attributed_whole(tmp_path, answer, shown, proof):
    gemini = Gemini()
    gemini.call("write_file", {**PATH, "content": FILE}, answer, shown)
    assert replay_changes(gemini, tmp_path) == [("a.py", [[1, 3]], proof)]


def test_overwrite_is_attributed_the_lines_that_differ(gemini, tmp_path):
    gemini.call(
        "write_file",
        {**PATH, "content": FILE + "four = 4\n"},
        "Successfully overwrote file: /w/a.py.",
    )
    assert replay_changes(gemini, tmp_path) == [("a.py", [[4, 4]], "replayed")]


def test_overwrite_of_an_unseen_file_has_no_ranges(tmp_path):
    gemini = Gemini()
    gemini.call("write_file", {**PATH, "content": FILE}, "Successfully overwrote file: /w/a.py.")
    gemini.call("replace", replaced("two = 2", "two = 3"))
    assert replay_changes(gemini, tmp_path) == [
        ("a.py", [], "content-only"),
        ("a.py", [[2, 2]], "replayed"),
    ]


def test_user_modified_proposal_is_mixed(tmp_path):
    gemini = Gemini()
    counts = {"model_added_lines": 1, "user_added_lines": 1, "user_removed_lines": 1}
    shown = display(FILE, FILE.replace("two = 2", "two = 33"), diffStat=counts)
    gemini.call("replace", replaced("two = 2", "two = 3"), display=shown)
    (record,) = read_records(tmp_path, gemini.data(), "session.json")
    assert find_contributors(record) == {
        ("a.py", 2): {"type": "mixed", "model-id": "google/gemini-3-pro"}
    }


@pytest.mark.parametrize(("proposed", "kind"), [("two = 9", "mixed"), ("two = 3", "ai")])
def test_arguments_show_whether_the_user_changed_a_proposal(gemini, tmp_path, proposed, kind):
    gemini.call(
        "replace",
        replaced("two = 2", "two = 3", modified_by_user=True, ai_proposed_content=proposed),
    )
    (record,) = read_records(tmp_path, gemini.data(), "session.json")
    assert find_contributors(record)["a.py", 2]["type"] == kind


def test_partial_read_places_an_edit(tmp_path):
    gemini = Gemini()
    head = (
        "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 70-71 of "
        "300 total lines.\n"
    )
    text = (
        f"{head}Action: To read more, use start_line.\n\n--- FILE CONTENT (truncated) ---\n"
        "here = 1\nthere = 2"
    )
    gemini.call("read_file", {**PATH, "start_line": 70, "end_line": 71}, text)
    gemini.call("replace", replaced("there = 2", "there = 3"))
    assert replay_changes(gemini, tmp_path) == [("a.py", [[71, 71]], "windowed")]


def test_context_after_a_file_is_not_part_of_it(tmp_path):
    gemini = Gemini()
    beside = "\n\n--- Newly Discovered Project Context ---\nBe kind.\n--- End Project Context ---"
    gemini.call("read_file", PATH, FILE + beside)
    gemini.call("write_file", {**PATH, "content": FILE + "four = 4\n"})
    assert replay_changes(gemini, tmp_path) == [("a.py", [[4, 4]], "replayed")]


def test_lines_name_the_model_of_their_message(gemini, tmp_path):
    gemini.call("replace", replaced("two = 2", "two = 3"))
    gemini.call("replace", replaced("one = 1", "one = 0"), model="gemini-3-flash")
    (record,) = read_records(tmp_path, gemini.data(), "session.json")
    models = {
        number: contributor["model-id"]
        for (_, number), contributor in find_contributors(record).items()
    }
    assert models == {1: "google/gemini-3-flash", 2: "google/gemini-3-pro"}


def test_failures_of_a_saved_chat_are_in_its_responses(tmp_path):
    turns = []
    for number, response in enumerate(({"output": "ok"}, {"error": "no such text"})):
        call = {
            "id": f"c{number}",
            "name": "write_file",
            "args": {"file_path": f"f{number}.py", "content": "x = 1\n"},
        }
        answer = {"id": f"c{number}", "name": "write_file", "response": response}
        turns += [
            {"role": "model", "parts": [{"functionCall": call}]},
            {"role": "user", "parts": [{"functionResponse": answer}]},
        ]
    assert [
        path for path, _, _ in list_changes(read_records(tmp_path, json.dumps(turns), "chat.json"))
    ] == ["f0.py"]


@pytest.mark.parametrize(("root", "mark"), [(ROOT, "/"), ("C:\\Users\\mira\\app", "\\")])
def test_project_hash_identifies_the_folder(tmp_path, root, mark):
    gemini = Gemini()
    replay_changes = "Successfully created and wrote to new file"
    gemini.call(
        "write_file",
        {"file_path": mark.join((root, "src", "a.py")), "content": "one\n"},
        replay_changes,
    )
    gemini.call(
        "replace",
        {"file_path": "src/a.py", "old_string": "one", "new_string": "1"},
        "Successfully modified",
    )
    data = json.loads(gemini.data()) | {"projectHash": hashlib.sha256(root.encode()).hexdigest()}
    (record,) = read_records(tmp_path, json.dumps(data), "session.json")
    assert list_changes([record]) == [("src/a.py", [[1, 1]], "replayed")] * 2
    assert list(find_contributors(record)) == [("src/a.py", 1)]


def run_command(session, command, printed, head="Command: {}\nDirectory: (root)\n"):
    """Add a command; the host trims its output."""
    end = (
        "Error: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group "
        "PGID: 1"
    )
    session.call(
        "run_shell_command",
        {"command": command},
        f"{head.format(command)}Output: {printed.strip()}\n{end}",
    )


@pytest.mark.parametrize("head", ["Command: {}\nDirectory: (root)\n", ""])
def test_lost_indentation_of_the_first_printed_line_is_restored(tmp_path, head):
    text = "\n    one = 1\n    two = 2\n    three = 3\n"
    gemini = Gemini()
    gemini.call("read_file", PATH, text)
    run_command(gemini, "cat a.py", text, head)
    gemini.call("replace", replaced("    one = 1\n    two = 2\n", "    one = 1\n    two = 3\n"))
    assert replay_changes(gemini, tmp_path) == [("a.py", [[3, 3]], "replayed")]


def test_indentation_of_an_unseen_first_line_is_unknown(tmp_path):
    gemini = Gemini()
    run_command(gemini, "sed -n '5,7p' a.py", "    five = 5\n    six = 6\n    seven = 7\n")
    gemini.call("replace", replaced("    five = 5\n", "    five = 6\n"))
    gemini.call("replace", replaced("    seven = 7\n", "    seven = 8\n"))
    assert [ranges for _, ranges, _ in replay_changes(gemini, tmp_path)] == [[], [[7, 7]]]


def test_file_with_more_lines_than_known_is_not_whole(gemini, tmp_path):
    shown = (
        "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-1 of 5 "
        "total lines.\nAction: Use offset.\n\n"
    )
    gemini.call("read_file", PATH, f"{shown}--- FILE CONTENT (truncated) ---\none = 1")
    gemini.call("replace", replaced("\nthree = 2\n", "four = 4\nthree = 2\n"))
    assert replay_changes(gemini, tmp_path) == [("a.py", [], "content-only")]

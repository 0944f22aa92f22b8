"""Files that a command set out to change, until somebody looks at them again."""

import pytest

from tests.attribution.sessions import MODEL, ROOT, Claude, contributors, records_of
from vacr.attribution.attribute import attribute_records, list_changed_files, replay_records


@pytest.mark.parametrize(
    "command",
    ["sed -i 1d a.py", "mv a.py b.py; false", "if true; then rm a.py; fi", "sed -i 1d *.py"],
)
def test_no_range_is_given_for_a_file_that_a_command_set_out_to_change(tmp_path, command):
    claude = Claude()
    claude.read("a.py", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/a.py", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": command}, error="false" in command)
    (record,) = records_of(tmp_path, claude.data())
    (made,) = attribute_records([record])
    assert made["file-attribution"] == {"files": []}
    proof = made["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof["ranges"]) == (False, [])
    assert [one["call-id"] for one in proof["content-only"]] == ["toolu_2"]
    claude.read("a.py", "one\n2\n")
    (record,) = records_of(tmp_path, claude.data())
    assert contributors(record) == {("a.py", 2): {"type": "ai", "model-id": f"anthropic/{MODEL}"}}


def test_a_command_that_may_only_read_takes_no_range_away(tmp_path):
    claude = Claude()
    claude.read("a.yml", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/a.yml", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": "actionlint a.yml"})
    (record,) = records_of(tmp_path, claude.data())
    assert list(contributors(record)) == [("a.yml", 2)]


@pytest.mark.parametrize(
    ("command", "complete", "doubt"),
    [
        ("ruff check .", True, None),
        ("black .", True, "formatter"),
        ("npm run format", True, "formatter"),
        ("black . && black a.py", False, None),
        ("sed -i s/a/b/ $(git ls-files)", False, None),
    ],
)
def test_a_formatter_over_a_folder_leaves_a_doubt(tmp_path, command, complete, doubt):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": command}, "")
    (record,) = attribute_records(records_of(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof.get("doubt")) == (complete, doubt)
    assert proof["ranges"]


def test_a_file_that_was_removed_may_be_there_again(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "rm a.py"})
    (record,) = records_of(tmp_path, claude.data())
    assert [
        about.get("deleted") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [True]
    claude.call("Bash", {"command": "make > a.py"})
    (record,) = records_of(tmp_path, claude.data())
    assert [
        about.get("complete") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [False]


def test_a_look_at_a_part_does_not_prove_the_rest(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\nthree\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "sed -i '$d' a.py"})
    claude.call(
        "Bash",
        {"command": "grep -n o a.py"},
        "1:one\n2:two",
        {"stdout": "1:one\n2:two", "stderr": "", "interrupted": False},
    )
    (record,) = records_of(tmp_path, claude.data())
    assert [data for _, data, _ in list_changed_files(*replay_records([record]))] == [None]


def test_empty_lines_are_missing_only_where_lines_are_empty(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "python3 change.py"})
    claude.call(
        "Bash",
        {"command": "head -1 a.py"},
        "two",
        {"stdout": "two", "stderr": "", "interrupted": False},
    )
    (record,) = records_of(tmp_path, claude.data())
    assert list(contributors(record)) == [("a.py", 1)]

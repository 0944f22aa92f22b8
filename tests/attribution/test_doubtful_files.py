"""Files that a command likely changed are doubtful until the session shows them again."""

import pytest

from tests.attribution.sessions import MODEL, ROOT, Claude, find_contributors, read_records
from vacr.attribution.attribute import attribute_records, list_changed_files, replay_records


@pytest.mark.parametrize(
    "command",
    ["sed -i 1d a.py", "mv a.py b.py; false", "if true; then rm a.py; fi", "sed -i 1d *.py"],
)
def test_file_that_a_command_likely_changed_has_no_ranges(tmp_path, command):
    claude = Claude()
    claude.read("a.py", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/a.py", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": command}, error="false" in command)
    (record,) = read_records(tmp_path, claude.data())
    (attributed,) = attribute_records([record])
    assert attributed["file-attribution"] == {"files": []}
    proof = attributed["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof["ranges"]) == (False, [])
    assert [one["call-id"] for one in proof["content-only"]] == ["toolu_2"]
    claude.read("a.py", "one\n2\n")
    (record,) = read_records(tmp_path, claude.data())
    assert find_contributors(record) == {
        ("a.py", 2): {"type": "ai", "model-id": f"anthropic/{MODEL}"}
    }


def test_reading_command_keeps_the_ranges(tmp_path):
    claude = Claude()
    claude.read("a.yml", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/a.yml", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": "actionlint a.yml"})
    (record,) = read_records(tmp_path, claude.data())
    assert list(find_contributors(record)) == [("a.yml", 2)]


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
def test_formatter_run_on_a_folder_is_reported_as_doubt(tmp_path, command, complete, doubt):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": command}, "")
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof.get("doubt")) == (complete, doubt)
    assert proof["ranges"]


def test_removed_file_may_exist_again(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "rm a.py"})
    (record,) = read_records(tmp_path, claude.data())
    assert [
        about.get("deleted") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [True]
    claude.call("Bash", {"command": "make > a.py"})
    (record,) = read_records(tmp_path, claude.data())
    assert [
        about.get("complete") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [False]


def test_partial_look_does_not_prove_the_rest(tmp_path):
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
    (record,) = read_records(tmp_path, claude.data())
    assert [data for _, data, _ in list_changed_files(*replay_records([record]))] == [None]


def test_trimmed_empty_lines_match_only_empty_lines(tmp_path):
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
    (record,) = read_records(tmp_path, claude.data())
    assert list(find_contributors(record)) == [("a.py", 1)]

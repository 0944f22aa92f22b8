"""What is said of files that change while nobody looks: laid out, put back, with other
line ends.
"""

import pytest

from tests.attribution.sessions import ROOT, Codex, OpenCode, records_of
from tests.attribution.told import Told
from vacr.attribution.attribute import (
    attribute_records,
    list_applied_changes,
    list_changed_files,
    replay_records,
)
from vacr.attribution.replay import BaseFiles
from vacr.blame.claims import gather_claims

FILE = "def f():\n    two = 2\n    three = 3\n    four = 4\n"


def based(**files):
    data = {name.replace("_", "."): text.encode() for name, text in files.items()}
    return BaseFiles("0" * 40, data.keys(), data.__getitem__)


def contributors(records, base=None):
    """Give who is said to have made each line, by file and number."""
    found = {}
    for record in attribute_records(records, base):
        for file in record["file-attribution"]["files"]:
            for conversation in file["conversations"]:
                for one in conversation["ranges"]:
                    for number in range(one["start-line"], one["end-line"] + 1):
                        found[file["path"], number] = one.get(
                            "contributor", conversation["contributor"]
                        )["type"]
    return found


def lines(records, base=None):
    """Give the numbers of the lines that are said to be an agent's, by file."""
    found = {}
    for (path, number), kind in sorted(contributors(records, base).items()):
        if kind == "ai":
            found.setdefault(path, []).append(number)
    return found


def codex_lines(codex, tmp_path, base=None):
    return lines(records_of(tmp_path, codex.data()), base)


def patch(codex, *body, path="a.py"):
    text = "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", *body, "*** End Patch"])
    codex.output(
        codex.custom("apply_patch", text), "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n"
    )


@pytest.mark.parametrize("tool", ["Read", "Edit"])
def test_a_file_that_the_host_says_is_not_there_has_no_lines(tmp_path, tool):
    told = Told()
    told.write("a.py", FILE)
    told.write("b.py", FILE)
    told.bash("make clean")
    told.call(
        tool,
        {"file_path": f"{ROOT}/a.py"},
        "<tool_use_error>File does not exist.</tool_use_error>",
        error=True,
    )
    told.read("b.py", FILE)
    assert lines([told.record(tmp_path)]) == {"b.py": [1, 2, 3, 4]}


def test_a_file_whose_only_known_line_was_taken_away_is_seen_again(tmp_path):
    told = Told()
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "def f():",
        "startLine": 1,
        "numLines": 1,
        "totalLines": 5,
    }
    told.call(
        "Read", {"file_path": f"{ROOT}/a.py", "limit": 1}, "…", {"type": "text", "file": window}
    )
    told.edit("a.py", "def f():\n", "")
    told.bash("sed -i s/2/two/ a.py")
    told.read("a.py", FILE)
    assert lines([told.record(tmp_path)]) == {}


def test_a_line_that_a_formatter_laid_out_and_the_agent_changed_and_changed_back_is_nobodys(
    tmp_path,
):
    told = Told()
    told.read("a.py", FILE)
    told.bash("ruff format a.py")
    told.read("a.py", FILE.replace("    ", "  "))
    told.edit("a.py", "  three = 3\n", "  three = 33\n")
    told.edit("a.py", "  three = 33\n", "  three = 3\n")
    assert lines([told.record(tmp_path)]) == {}


def test_a_line_that_a_command_showed_with_its_cr_and_the_host_without_is_one_line(tmp_path):
    told = Told()
    told.bash("cat a.py", FILE.replace("\n", "\r\n").rstrip())
    told.read("a.py", FILE)
    told.edit("a.py", "    three = 3\n", "    three = 33\n")
    told.edit("a.py", "    three = 33\n", "    three = 3\n")
    assert lines([told.record(tmp_path)]) == {}


@pytest.mark.parametrize("with_base", [False, True])
def test_writing_a_file_with_other_line_ends_makes_the_lines_that_differ(tmp_path, with_base):
    told = Told()
    told.read("a.py", FILE)
    told.write("a.py", FILE + "    five = 5\n", "update")
    assert lines(
        [told.record(tmp_path)], based(a_py=FILE.replace("\n", "\r\n")) if with_base else None
    ) == {"a.py": [5]}


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    told = Told()
    told.read("a.py", FILE)
    told.edit("a.py", "def f():\n    two = 2\n", "    two = 2\n")
    record = told.record(tmp_path)
    assert [
        row["ranges"]
        for row in list_applied_changes(*replay_records([record], based(a_py="\ufeff" + FILE)))
    ] == [[]]


def test_a_text_behind_the_indentation_of_a_line_that_may_have_lost_it(tmp_path):
    told = Told()
    told.read("a.py", FILE)
    told.bash("ruff format a.py")
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "def f( ):",
        "startLine": 1,
        "numLines": 1,
        "totalLines": 5,
    }
    told.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    told.edit("a.py", "four = 4\n", "five = 5\nfour = 4\n")
    told.read("a.py", "def f( ):\ntwo = 2\nthree = 3\nfive = 5\nfour = 4\n")
    assert lines([told.record(tmp_path)]) == {"a.py": [4]}


def test_lines_around_a_patch_that_a_formatter_laid_out_are_not_its_lines(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    codex.shell("ruff format a.py")
    patch(codex, " def f():", "   two = 2", "-  three = 3", "+  three = 33", "   four = 4")
    codex.shell("cat a.py", "def f():\n  two = 2\n  three = 33\n  four = 4\n")
    assert codex_lines(codex, tmp_path) == {"a.py": [3]}


def test_an_empty_line_at_the_end_of_a_patch_that_is_not_known_is_not_its_line(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    patch(codex, "-    four = 4", "-", "+    five = 5", "+    four = 4", "+")
    codex.shell("cat a.py", FILE.replace("    four", "    five = 5\n    four") + "\n")
    assert codex_lines(codex, tmp_path) == {"a.py": [4]}


def test_a_last_line_that_a_patch_ended_is_not_made_by_who_writes_it_again(tmp_path):
    codex = Codex()
    codex.shell("ruff format a.py")
    patch(codex, " def f():", "-    two = 2", "+    two = 22", "     three = 3")
    codex.shell("cat a.py", FILE.replace("2", "22"))
    codex.shell(f"cat > a.py <<'EOF'\n{FILE.replace('2', '222')}EOF")
    assert codex_lines(codex, tmp_path, based(a_py=FILE.removesuffix("\n"))) == {"a.py": [2]}


@pytest.mark.parametrize(
    ("command", "shown", "left"),
    [
        ("cat a.py", FILE, [1, 2, 3, 4]),
        ("sed -n '3,9p' a.py", "    three = 3\n    four = 4\n", [1, 2, 3, 4]),
        ("head -n 4 a.py", FILE, [1, 2, 3, 4, 5]),
        ("cat a.py", "", []),
        ("cat a.py 2>/dev/null || true", "", [1, 2, 3, 4, 5]),
    ],
)
def test_what_a_command_prints_tells_where_a_file_ends(tmp_path, command, shown, left):
    codex = Codex()
    codex.shell(f"cat > a.py <<'EOF'\n{FILE}    five = 5\nEOF")
    codex.shell(command, shown)
    assert codex_lines(codex, tmp_path).get("a.py", []) == left


def test_a_look_that_waited_does_not_hold_against_a_later_one(tmp_path):
    opencode = OpenCode()
    listed = "\n".join(
        f"{number}: {line}" for number, line in enumerate(["new = 1", *FILE.splitlines()], 1)
    )
    opencode.call(
        "bash",
        {"command": "head -n 4 a.py | tail -n 2"},
        "    three = 3\n    four = 4\n",
        {"exit": 0},
    )
    path = {"filePath": f"{ROOT}/a.py"}
    opencode.call("read", path, f"<content>\n{listed}\n\n(End of file - total 5 lines)\n</content>")
    opencode.call("edit", path | {"oldString": "    three = 3\n", "newString": "    three = 33\n"})
    records = records_of(tmp_path, opencode.data(), "export.json")
    assert [row["ranges"] for row in list_applied_changes(*replay_records(records))] == [[[4, 4]]]


def test_what_git_puts_back_is_not_the_base_once_somebody_else_may_have_committed(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", "import os\n" + FILE)
    codex.shell("git restore a.py")
    codex.shell("cat >> a.py <<'EOF'\n    five = 5\nEOF")
    records = records_of(tmp_path, codex.data())
    assert [
        row["ranges"] for row in list_applied_changes(*replay_records(records, based(a_py=FILE)))
    ] == [[]]


def test_a_last_line_whose_end_was_put_back_is_nobodys(tmp_path):
    codex = Codex()
    codex.shell("git add -A")
    patch(codex, " def f():", "-    two = 2", "+    two = 22", "     three = 3")
    codex.shell("git reset -q --hard")
    codex.shell("cat a.py", "import os\n" + FILE.removesuffix("\n"))
    assert codex_lines(codex, tmp_path, based(a_py=FILE.removesuffix("\n"))) == {}


def test_what_a_command_added_at_the_end_is_the_agents_once_it_is_seen_there(tmp_path):
    told = Told()
    told.bash("cat >> a.py <<'EOF'\n    five = 5\n    six = 6\nEOF")
    told.read("a.py", FILE + "    five = 5\n    six = 6\n")
    assert lines([told.record(tmp_path)]) == {"a.py": [5, 6]}


def test_what_a_command_added_at_the_end_is_not_what_stands_elsewhere(tmp_path):
    told = Told()
    told.bash("cat >> a.py <<'EOF'\n    three = 3\nEOF")
    told.read("a.py", FILE)
    assert lines([told.record(tmp_path)]) == {}


@pytest.mark.parametrize("place", [0, 9, 37])
def test_lines_that_a_notice_shows_anywhere_in_a_file_that_was_known_are_the_users(tmp_path, place):
    told = Told()
    told.read("a.py", FILE)
    text = FILE.splitlines(keepends=True)
    at = sum(len("".join(text[:i])) < place for i in range(len(text)))
    text[at:at] = ["ours = 1\n"]
    snippet = "\n".join(f"{number}\t{line.strip(chr(10))}" for number, line in enumerate(text, 1))
    told.line(
        type="attachment",
        attachment={"type": "edited_text_file", "filename": f"{ROOT}/a.py", "snippet": snippet},
    )
    assert contributors([told.record(tmp_path)]) == {("a.py", at + 1): "human"}


def test_an_empty_line_that_a_window_begins_with_is_the_one_before_the_line_after_it(tmp_path):
    told = Told()
    before = "one = 1\n\ntwo = 2\nthree = 3\n\nfour = 4\nfive = 5\n"
    told.read("a.py", before)
    told.line(
        type="attachment",
        attachment={
            "type": "edited_text_file",
            "filename": f"{ROOT}/a.py",
            "snippet": "5\t\n6\tfour = 4\n7\tours = 1\n8\tfive = 5",
        },
    )
    told.read("a.py", before.replace("five", "ours = 1\nfive"))
    assert contributors([told.record(tmp_path)]) == {("a.py", 7): "human"}


def test_a_line_before_an_empty_one_that_an_edit_began_with_is_not_its_line(tmp_path):
    told = Told()
    told.edit("a.py", "    nine = 9\n\n", "\n    ten = 10\n")
    told.read("a.py", "def f():\n\n    ours = 1\n    ten = 10\n")
    assert 3 not in lines([told.record(tmp_path)]).get("a.py", [])


@pytest.mark.parametrize("with_base", [False, True])
def test_a_file_that_git_put_back_by_its_name_is_known_no_further_than_it_is_seen(
    tmp_path, with_base
):
    codex = Codex()
    codex.shell(f"cat > b.py <<'EOF'\n{FILE}EOF")
    codex.shell("git restore b.py")
    codex.shell("sed -n 1p b.py", "def f():\n")
    patch(codex, "-    four = 4", "+    four = 44", path="b.py")
    records = records_of(tmp_path, codex.data())
    assert [
        row["ranges"]
        for row in list_applied_changes(
            *replay_records(records, based(a_py=FILE) if with_base else None)
        )
    ][1:] == [[]]


def test_a_look_that_only_meets_lines_that_may_have_moved_says_nothing_of_them(tmp_path):
    opencode = OpenCode()
    path = {"filePath": f"{ROOT}/a.py"}
    opencode.call(
        "read", path, "<file>\n00003|     three = 3\n00004|     four = 4\n\n(File has more lines)"
    )
    opencode.call(
        "edit", path | {"oldString": "    two = 2\n", "newString": "    one = 1\n    two = 2\n"}
    )
    opencode.call(
        "read", path, "<file>\n00001| def f():\n00002|     one = 1\n\n(File has more lines)"
    )
    opencode.call("edit", path | {"oldString": "    four = 4\n", "newString": "    four = 44\n"})
    records = records_of(tmp_path, opencode.data(), "export.json")
    assert [row["ranges"] for row in list_applied_changes(*replay_records(records))][1:] == [[]]


def test_an_edit_that_begins_with_an_empty_line_that_is_not_known_joins_no_lines(tmp_path):
    opencode = OpenCode()
    path = {"filePath": f"{ROOT}/a.py"}
    opencode.call(
        "read",
        path,
        (
            "<file>\n00001| def f():\n00002|     two = 2\n00003|     three = 3\n\n(File has more "
            "lines)"
        ),
    )
    opencode.call(
        "edit",
        path | {"oldString": "\n    three = 3\n", "newString": "    ours = 3\n\n    more = 3\n"},
    )
    shown = ["def f():", "    two = 2", "    ours = 3", "", "    more = 3", ""]
    listed = "\n".join(f"{number:05}| {line}" for number, line in enumerate(shown, 1))
    opencode.call("read", path, f"<file>\n{listed}\n\n(End of file - total 6 lines)")
    assert lines(records_of(tmp_path, opencode.data(), "export.json")) == {"a.py": [3, 5]}


def test_a_line_behind_a_new_one_that_has_moved_and_was_changed_and_changed_back_is_nobodys(
    tmp_path,
):
    told = Told()
    told.read("a.py", FILE)
    text = "ours = 1\n    two = 2\n    three = 3"
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": text,
        "startLine": 30,
        "numLines": 3,
        "totalLines": 60,
    }
    told.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    told.edit("a.py", "    two = 2\n", "    two = 22\n")
    told.edit("a.py", "    two = 22\n", "    two = 2\n")
    assert lines([told.record(tmp_path)]) == {}


def test_an_empty_line_that_a_patch_keeps_and_nobody_knows_is_not_its_line(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    patch(codex, "-    three = 3", "-    four = 4", "-", "+", "+    five = 5")
    codex.shell("cat a.py", "def f():\n    two = 2\n\n    five = 5\n")
    assert 3 not in codex_lines(codex, tmp_path).get("a.py", [])


def test_reverted_last_line_is_unattributed(
    tmp_path,
):
    told = Told()
    told.call("Read", {"file_path": f"{ROOT}/a.py"}, "     1→def f():\n     2→    two = 2")
    told.read("a.py", "def f():\n    two = 2")
    told.edit("a.py", "    two = 2", "    two = 22")
    told.edit("a.py", "    two = 22", "    two = 2")
    assert lines([told.record(tmp_path)]) == {}


def test_a_last_line_that_was_only_ended_is_nobodys_to_blame(tmp_path):
    told = Told()
    told.read("a.py", "def f():\n    two = 2")
    told.write("a.py", "def f():\n    two = 2\n    three = 3\n", "update")
    assert [
        piece.lines for piece in gather_claims([told.record(tmp_path)], lambda _: None).pieces
    ] == [("    three = 3\n",)]


def test_a_last_line_that_an_edit_without_a_place_kept_without_its_end_is_nobodys_to_blame(
    tmp_path,
):
    told = Told()
    told.edit("a.py", "    two = 2\n    three = 3", "    four = 4\n    two = 2")
    assert [
        piece.lines for piece in gather_claims([told.record(tmp_path)], lambda _: None).pieces
    ] == [("    four = 4\n",)]


def test_a_window_that_an_edit_emptied_is_no_window(tmp_path):
    told = Told()
    told.read("a.py", FILE)
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "ours = 1\n    four = 4\n",
        "startLine": 2,
        "numLines": 3,
        "totalLines": 4,
    }
    told.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    told.edit("a.py", "def f():\n", "")
    told.edit("a.py", "    four = 4\n", "    four = 44\n")
    told.read("a.py", "ours = 1\n    four = 44\n")
    assert lines([told.record(tmp_path)]) == {"a.py": [2]}


def test_a_line_after_whole_lines_that_may_have_lost_their_indentation_gets_none_of_it(tmp_path):
    told = Told()
    told.read("a.py", FILE)
    told.bash("ruff format a.py")
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "def f( ):",
        "startLine": 1,
        "numLines": 1,
        "totalLines": 5,
    }
    told.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    told.edit("a.py", "two = 2\n", "")
    told.read("a.py", "def f( ):\n    three = 3\n    four = 4\n")
    assert lines([told.record(tmp_path)]) == {}


def test_the_end_of_a_file_that_was_laid_out_is_not_all_of_it(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    codex.shell("ruff format a.py")
    codex.shell("sed -n '4,9p' a.py", "    four = 4\n")
    patch(codex, " def f():", "   two = 2", "-    three = 3", "+    three = 33")
    codex.shell("cat a.py", "def f():\n  two = 2\n    three = 33\n    four = 4\n")
    assert codex_lines(codex, tmp_path) == {"a.py": [3]}


CHANGED = FILE.replace("two = 2", "two = 22")


@pytest.mark.parametrize(
    ("text", "shown", "whole"),
    [
        (FILE, CHANGED, True),
        (FILE, CHANGED.removesuffix("\n"), False),  # the last line lost its end
        (FILE.removesuffix("\n"), CHANGED, False),  # or had none
        (FILE, CHANGED.replace("four = 4", "four = 44"), False),
    ],
)
@pytest.mark.parametrize("command", ["cat a.py", "sed -n '1,200p' a.py"])
def test_a_file_that_somebody_changed_and_that_is_shown_up_to_its_last_line_is_known_whole(
    tmp_path, text, shown, whole, command
):
    codex = Codex()
    codex.shell("sed -n '1,3p' a.py", "".join(line + "\n" for line in shown.split("\n")[:3]))
    codex.shell(command, shown)
    left = list_changed_files(*replay_records(records_of(tmp_path, codex.data()), based(a_py=text)))
    assert [data for _, data, _ in left] == ([shown.encode()] if whole else [])


def test_a_listing_up_to_the_last_line_shows_a_file_that_somebody_changed_whole(tmp_path):
    session = OpenCode()
    listed = "".join(
        f"{number}: {line}\n" for number, line in enumerate(CHANGED.split("\n")[:-1], 1)
    )
    output = (
        f"<path>{ROOT}/a.py</path>\n<type>file</type>\n<content>\n{listed}\n(End of file - "
        "total 4 lines)\n</content>"
    )
    session.call("read", {"filePath": f"{ROOT}/a.py"}, output)
    ((_, data, _),) = list_changed_files(
        *replay_records(records_of(tmp_path, session.data()), based(a_py=FILE))
    )
    assert data == CHANGED.encode()

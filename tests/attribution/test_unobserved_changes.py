"""Attribution of files that change unobserved: formatted, restored, or with other line ends."""

import pytest

from tests.attribution.claude_session import ClaudeSession
from tests.attribution.sessions import ROOT, Codex, OpenCode, read_records
from vacr.attribution.attribute import (
    attribute_records,
    list_applied_changes,
    list_changed_files,
    replay_records,
)
from vacr.attribution.base_files import BaseFiles
from vacr.blame.session_claims import gather_record_claims

FILE = "def f():\n    two = 2\n    three = 3\n    four = 4\n"


def make_base(**files):
    data = {name.replace("_", "."): text.encode() for name, text in files.items()}
    return BaseFiles("0" * 40, data.keys(), data.__getitem__)


def find_contributors(records, base=None):
    """Return the contributor type of each line, by file and number."""
    found = {}
    for record in attribute_records(records, base):
        for file in record["file-attribution"]["files"]:
            for conversation in file["conversations"]:
                for line_range in conversation["ranges"]:
                    for number in range(line_range["start-line"], line_range["end-line"] + 1):
                        found[file["path"], number] = line_range.get(
                            "contributor", conversation["contributor"]
                        )["type"]
    return found


def find_agent_lines(records, base=None):
    """Return the numbers of the lines that are attributed to an agent, by file."""
    found = {}
    for (path, number), kind in sorted(find_contributors(records, base).items()):
        if kind == "ai":
            found.setdefault(path, []).append(number)
    return found


def find_codex_lines(codex, tmp_path, base=None):
    return find_agent_lines(read_records(tmp_path, codex.data()), base)


def patch(codex, *body, path="a.py"):
    text = "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", *body, "*** End Patch"])
    codex.output(
        codex.custom("apply_patch", text), "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n"
    )


@pytest.mark.parametrize("tool", ["Read", "Edit"])
def test_file_reported_missing_has_no_lines(tmp_path, tool):
    session = ClaudeSession()
    session.write("a.py", FILE)
    session.write("b.py", FILE)
    session.bash("make clean")
    session.call(
        tool,
        {"file_path": f"{ROOT}/a.py"},
        "<tool_use_error>File does not exist.</tool_use_error>",
        error=True,
    )
    session.read("b.py", FILE)
    assert find_agent_lines([session.record(tmp_path)]) == {"b.py": [1, 2, 3, 4]}


@pytest.mark.parametrize("tool", ["Read", "Edit"])
def test_file_that_never_existed_is_not_reported_as_deleted(tmp_path, tool):
    session = ClaudeSession()
    session.write("b.py", FILE)
    missing = "<tool_use_error>File does not exist.</tool_use_error>"
    session.call(tool, {"file_path": f"{ROOT}/a.py"}, missing, error=True)
    record = session.record(tmp_path)
    assert [path for path, _, _ in list_changed_files(*replay_records([record]))] == ["b.py"]
    base = BaseFiles("0" * 40, ["a.py"], {"a.py": FILE.encode()}.__getitem__)
    changed = list_changed_files(*replay_records([record], base))
    assert {path: facts.get("deleted", False) for path, _, facts in changed} == {
        "a.py": True,
        "b.py": False,
    }


def test_file_without_known_lines_can_be_read_again(tmp_path):
    session = ClaudeSession()
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "def f():",
        "startLine": 1,
        "numLines": 1,
        "totalLines": 5,
    }
    session.call(
        "Read", {"file_path": f"{ROOT}/a.py", "limit": 1}, "…", {"type": "text", "file": window}
    )
    session.edit("a.py", "def f():\n", "")
    session.bash("sed -i s/2/two/ a.py")
    session.read("a.py", FILE)
    assert find_agent_lines([session.record(tmp_path)]) == {}


def test_reverted_line_is_unattributed_after_formatting(
    tmp_path,
):
    session = ClaudeSession()
    session.read("a.py", FILE)
    session.bash("ruff format a.py")
    session.read("a.py", FILE.replace("    ", "  "))
    session.edit("a.py", "  three = 3\n", "  three = 33\n")
    session.edit("a.py", "  three = 33\n", "  three = 3\n")
    assert find_agent_lines([session.record(tmp_path)]) == {}


def test_line_shown_with_and_without_cr_is_one_line(tmp_path):
    session = ClaudeSession()
    session.bash("cat a.py", FILE.replace("\n", "\r\n").rstrip())
    session.read("a.py", FILE)
    session.edit("a.py", "    three = 3\n", "    three = 33\n")
    session.edit("a.py", "    three = 33\n", "    three = 3\n")
    assert find_agent_lines([session.record(tmp_path)]) == {}


@pytest.mark.parametrize("with_base", [False, True])
def test_write_with_other_line_ends_is_attributed_the_lines_that_differ(tmp_path, with_base):
    session = ClaudeSession()
    session.read("a.py", FILE)
    session.write("a.py", FILE + "    five = 5\n", "update")
    assert find_agent_lines(
        [session.record(tmp_path)],
        make_base(a_py=FILE.replace("\n", "\r\n")) if with_base else None,
    ) == {"a.py": [5]}


def test_byte_order_mark_is_not_part_of_the_first_line(tmp_path):
    session = ClaudeSession()
    session.read("a.py", FILE)
    session.edit("a.py", "def f():\n    two = 2\n", "    two = 2\n")
    record = session.record(tmp_path)
    assert [
        row["ranges"]
        for row in list_applied_changes(*replay_records([record], make_base(a_py="\ufeff" + FILE)))
    ] == [[]]


def test_edit_finds_a_line_that_lost_its_indentation(tmp_path):
    session = ClaudeSession()
    session.read("a.py", FILE)
    session.bash("ruff format a.py")
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "def f( ):",
        "startLine": 1,
        "numLines": 1,
        "totalLines": 5,
    }
    session.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    session.edit("a.py", "four = 4\n", "five = 5\nfour = 4\n")
    session.read("a.py", "def f( ):\ntwo = 2\nthree = 3\nfive = 5\nfour = 4\n")
    assert find_agent_lines([session.record(tmp_path)]) == {"a.py": [4]}


def test_formatted_context_of_a_patch_is_not_attributed(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    codex.shell("ruff format a.py")
    patch(codex, " def f():", "   two = 2", "-  three = 3", "+  three = 33", "   four = 4")
    codex.shell("cat a.py", "def f():\n  two = 2\n  three = 33\n  four = 4\n")
    assert find_codex_lines(codex, tmp_path) == {"a.py": [3]}


def test_unknown_empty_last_line_of_a_patch_is_not_attributed(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    patch(codex, "-    four = 4", "-", "+    five = 5", "+    four = 4", "+")
    codex.shell("cat a.py", FILE.replace("    four", "    five = 5\n    four") + "\n")
    assert find_codex_lines(codex, tmp_path) == {"a.py": [4]}


def test_last_line_ended_by_a_patch_is_not_attributed_to_a_later_write(tmp_path):
    codex = Codex()
    codex.shell("ruff format a.py")
    patch(codex, " def f():", "-    two = 2", "+    two = 22", "     three = 3")
    codex.shell("cat a.py", FILE.replace("2", "22"))
    codex.shell(f"cat > a.py <<'EOF'\n{FILE.replace('2', '222')}EOF")
    assert find_codex_lines(codex, tmp_path, make_base(a_py=FILE.removesuffix("\n"))) == {
        "a.py": [2]
    }


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
def test_printed_output_shows_where_a_file_ends(tmp_path, command, shown, left):
    codex = Codex()
    codex.shell(f"cat > a.py <<'EOF'\n{FILE}    five = 5\nEOF")
    codex.shell(command, shown)
    assert find_codex_lines(codex, tmp_path).get("a.py", []) == left


def test_later_look_overrides_one_that_waited(tmp_path):
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
    records = read_records(tmp_path, opencode.data(), "export.json")
    assert [row["ranges"] for row in list_applied_changes(*replay_records(records))] == [[[4, 4]]]


def test_git_restore_is_uncertain_after_changes_by_others(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", "import os\n" + FILE)
    codex.shell("git restore a.py")
    codex.shell("cat >> a.py <<'EOF'\n    five = 5\nEOF")
    records = read_records(tmp_path, codex.data())
    assert [
        row["ranges"]
        for row in list_applied_changes(*replay_records(records, make_base(a_py=FILE)))
    ] == [[]]


def test_last_line_with_a_restored_end_is_unattributed(tmp_path):
    codex = Codex()
    codex.shell("git add -A")
    patch(codex, " def f():", "-    two = 2", "+    two = 22", "     three = 3")
    codex.shell("git reset -q --hard")
    codex.shell("cat a.py", "import os\n" + FILE.removesuffix("\n"))
    assert find_codex_lines(codex, tmp_path, make_base(a_py=FILE.removesuffix("\n"))) == {}


def test_appended_lines_are_attributed_once_seen(tmp_path):
    session = ClaudeSession()
    session.bash("cat >> a.py <<'EOF'\n    five = 5\n    six = 6\nEOF")
    session.read("a.py", FILE + "    five = 5\n    six = 6\n")
    assert find_agent_lines([session.record(tmp_path)]) == {"a.py": [5, 6]}


def test_equal_line_elsewhere_is_not_the_appended_one(tmp_path):
    session = ClaudeSession()
    session.bash("cat >> a.py <<'EOF'\n    three = 3\nEOF")
    session.read("a.py", FILE)
    assert find_agent_lines([session.record(tmp_path)]) == {}


@pytest.mark.parametrize("place", [0, 9, 37])
def test_line_added_in_a_notice_is_human(tmp_path, place):
    session = ClaudeSession()
    session.read("a.py", FILE)
    text = FILE.splitlines(keepends=True)
    at = sum(len("".join(text[:i])) < place for i in range(len(text)))
    text[at:at] = ["ours = 1\n"]
    snippet = "\n".join(f"{number}\t{line.strip(chr(10))}" for number, line in enumerate(text, 1))
    session.line(
        type="attachment",
        attachment={"type": "edited_text_file", "filename": f"{ROOT}/a.py", "snippet": snippet},
    )
    assert find_contributors([session.record(tmp_path)]) == {("a.py", at + 1): "human"}


def test_leading_empty_line_of_a_window_matches_its_neighbour(tmp_path):
    session = ClaudeSession()
    before = "one = 1\n\ntwo = 2\nthree = 3\n\nfour = 4\nfive = 5\n"
    session.read("a.py", before)
    session.line(
        type="attachment",
        attachment={
            "type": "edited_text_file",
            "filename": f"{ROOT}/a.py",
            "snippet": "5\t\n6\tfour = 4\n7\tours = 1\n8\tfive = 5",
        },
    )
    session.read("a.py", before.replace("five", "ours = 1\nfive"))
    assert find_contributors([session.record(tmp_path)]) == {("a.py", 7): "human"}


def test_line_after_a_kept_empty_line_is_not_attributed(tmp_path):
    session = ClaudeSession()
    session.edit("a.py", "    nine = 9\n\n", "\n    ten = 10\n")
    session.read("a.py", "def f():\n\n    ours = 1\n    ten = 10\n")
    assert 3 not in find_agent_lines([session.record(tmp_path)]).get("a.py", [])


@pytest.mark.parametrize("with_base", [False, True])
def test_file_restored_by_name_is_known_only_where_seen(tmp_path, with_base):
    codex = Codex()
    codex.shell(f"cat > b.py <<'EOF'\n{FILE}EOF")
    codex.shell("git restore b.py")
    codex.shell("sed -n 1p b.py", "def f():\n")
    patch(codex, "-    four = 4", "+    four = 44", path="b.py")
    records = read_records(tmp_path, codex.data())
    assert [
        row["ranges"]
        for row in list_applied_changes(
            *replay_records(records, make_base(a_py=FILE) if with_base else None)
        )
    ][1:] == [[]]


def test_adjacent_look_does_not_confirm_stale_lines(tmp_path):
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
    records = read_records(tmp_path, opencode.data(), "export.json")
    assert [row["ranges"] for row in list_applied_changes(*replay_records(records))][1:] == [[]]


def test_edit_starting_with_an_unknown_empty_line_joins_no_lines(tmp_path):
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
    assert find_agent_lines(read_records(tmp_path, opencode.data(), "export.json")) == {
        "a.py": [3, 5]
    }


def test_reverted_line_is_unattributed_after_moving(
    tmp_path,
):
    session = ClaudeSession()
    session.read("a.py", FILE)
    text = "ours = 1\n    two = 2\n    three = 3"
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": text,
        "startLine": 30,
        "numLines": 3,
        "totalLines": 60,
    }
    session.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    session.edit("a.py", "    two = 2\n", "    two = 22\n")
    session.edit("a.py", "    two = 22\n", "    two = 2\n")
    assert find_agent_lines([session.record(tmp_path)]) == {}


def test_unknown_empty_line_kept_by_a_patch_is_not_attributed(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    patch(codex, "-    three = 3", "-    four = 4", "-", "+", "+    five = 5")
    codex.shell("cat a.py", "def f():\n    two = 2\n\n    five = 5\n")
    assert 3 not in find_codex_lines(codex, tmp_path).get("a.py", [])


def test_reverted_last_line_is_unattributed(
    tmp_path,
):
    session = ClaudeSession()
    session.call("Read", {"file_path": f"{ROOT}/a.py"}, "     1→def f():\n     2→    two = 2")
    session.read("a.py", "def f():\n    two = 2")
    session.edit("a.py", "    two = 2", "    two = 22")
    session.edit("a.py", "    two = 22", "    two = 2")
    assert find_agent_lines([session.record(tmp_path)]) == {}


def test_last_line_that_only_got_its_end_is_not_claimed(tmp_path):
    session = ClaudeSession()
    session.read("a.py", "def f():\n    two = 2")
    session.write("a.py", "def f():\n    two = 2\n    three = 3\n", "update")
    assert [piece.lines for piece in gather_record_claims(session.record(tmp_path)).pieces] == [
        ("    three = 3\n",)
    ]


def test_last_line_kept_by_an_unplaced_edit_is_not_claimed(
    tmp_path,
):
    session = ClaudeSession()
    session.edit("a.py", "    two = 2\n    three = 3", "    four = 4\n    two = 2")
    assert [piece.lines for piece in gather_record_claims(session.record(tmp_path)).pieces] == [
        ("    four = 4\n",)
    ]


def test_window_emptied_by_an_edit_is_dropped(tmp_path):
    session = ClaudeSession()
    session.read("a.py", FILE)
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "ours = 1\n    four = 4\n",
        "startLine": 2,
        "numLines": 3,
        "totalLines": 4,
    }
    session.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    session.edit("a.py", "def f():\n", "")
    session.edit("a.py", "    four = 4\n", "    four = 44\n")
    session.read("a.py", "ours = 1\n    four = 44\n")
    assert find_agent_lines([session.record(tmp_path)]) == {"a.py": [2]}


def test_removed_line_leaves_its_indentation_to_no_other_line(tmp_path):
    session = ClaudeSession()
    session.read("a.py", FILE)
    session.bash("ruff format a.py")
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": "def f( ):",
        "startLine": 1,
        "numLines": 1,
        "totalLines": 5,
    }
    session.call("Read", {"file_path": f"{ROOT}/a.py"}, "…", {"type": "text", "file": window})
    session.edit("a.py", "two = 2\n", "")
    session.read("a.py", "def f( ):\n    three = 3\n    four = 4\n")
    assert find_agent_lines([session.record(tmp_path)]) == {}


def test_look_at_the_end_does_not_confirm_a_formatted_file(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE)
    codex.shell("ruff format a.py")
    codex.shell("sed -n '4,9p' a.py", "    four = 4\n")
    patch(codex, " def f():", "   two = 2", "-    three = 3", "+    three = 33")
    codex.shell("cat a.py", "def f():\n  two = 2\n    three = 33\n    four = 4\n")
    assert find_codex_lines(codex, tmp_path) == {"a.py": [3]}


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
def test_changed_file_printed_to_its_last_line_is_whole(tmp_path, text, shown, whole, command):
    codex = Codex()
    codex.shell("sed -n '1,3p' a.py", "".join(line + "\n" for line in shown.split("\n")[:3]))
    codex.shell(command, shown)
    left = list_changed_files(
        *replay_records(read_records(tmp_path, codex.data()), make_base(a_py=text))
    )
    ((_, data, about),) = left
    # A listing does not show how the last line ends: it ends as before.
    end = "\n" if text.endswith("\n") else ""
    assert data == (shown.removesuffix("\n") + end).encode()
    assert about.get("doubt") == (None if whole else "unseen")


def test_changed_file_listed_to_its_last_line_is_whole(tmp_path):
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
        *replay_records(read_records(tmp_path, session.data()), make_base(a_py=FILE))
    )
    assert data == CHANGED.encode()

"""Attribution from the tools and events of Codex."""

import hashlib
import json

import pytest

from tests.attribution.sessions import (
    ROOT,
    Codex,
    find_contributors,
    get_evidence,
    list_changes,
    read_records,
)
from vacr.attribution.attribute import (
    attribute_records,
    list_applied_changes,
    list_changed_files,
    replay_records,
)
from vacr.attribution.base_files import BaseFiles

FILE = "one = 1\ntwo = 2\nthree = 3\n"
UPDATE = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n one = 1\n-two = 2\n+two = 3\n+more = 4\n"
    " three = 3\n*** End Patch\n"
)
ADD = "*** Begin Patch\n*** Add File: b.py\n+x = 1\n+y = 2\n*** End Patch"
UNIFIED = "@@ -2,1 +2,2 @@\n-two = 2\n+two = 3\n+more = 4\n"
DONE = (
    "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py\n"
)


@pytest.fixture
def codex():
    session = Codex()
    session.shell("cat a.py", FILE)
    return session


def replay_changes(codex, tmp_path):
    return list_changes(read_records(tmp_path, codex.data()))


@pytest.mark.parametrize(
    "answer",
    [
        DONE,
        json.dumps(
            {
                "output": "Success. Updated the following files:\nM a.py\n",
                "metadata": {"exit_code": 0},
            }
        ),
    ],
)
def test_patch_is_attributed_its_new_lines(codex, tmp_path, answer):
    codex.output(codex.custom("apply_patch", UPDATE), answer)
    records = read_records(tmp_path, codex.data())
    (row,) = list_applied_changes(*replay_records(records))
    assert (row["call-id"], row["path"], row["ranges"]) == ("call_2", "a.py", [[2, 3]])
    assert (row["evidence"], row["model-id"]) == ("windowed", "openai/gpt-5.2-codex")


def test_patch_with_crlf_keeps_unchanged_lines(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE.replace("\n", "\r\n"))
    codex.output(codex.custom("apply_patch", UPDATE.replace("\n", "\r\n")), DONE)
    (record,) = read_records(tmp_path, codex.data())
    assert set(find_contributors(record)) == {("a.py", 2), ("a.py", 3)}
    base = BaseFiles("0" * 40, ["a.py"], {"a.py": FILE.replace("\n", "\r\n").encode()}.__getitem__)
    ((_, data, _),) = list_changed_files(*replay_records([record], base))
    assert data == b"one = 1\r\ntwo = 3\r\nmore = 4\r\nthree = 3\r\n"


def test_recorded_patch_is_recorded_evidence(tmp_path):
    codex = Codex()
    call = codex.custom("apply_patch", UPDATE)
    codex.patched(
        call, {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED, "move_path": None}}
    )
    codex.output(call, DONE)
    assert replay_changes(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


def test_recorded_diff_shows_line_ends(tmp_path):
    codex = Codex()
    call = codex.custom("apply_patch", UPDATE)
    unified = (
        "@@ -1,3 +1,4 @@\n-one = 1\r\n-two = 2\r\n+one = 1\n+two = 3\n+more = 4\n three = 3\r\n"
    )
    codex.patched(
        call, {f"{ROOT}/a.py": {"type": "update", "unified_diff": unified, "move_path": None}}
    )
    codex.output(call, DONE)
    (record,) = read_records(tmp_path, codex.data())
    base = BaseFiles("0" * 40, ["a.py"], {"a.py": FILE.replace("\n", "\r\n").encode()}.__getitem__)
    ((_, data, _),) = list_changed_files(*replay_records([record], base))
    assert data == b"one = 1\ntwo = 3\nmore = 4\nthree = 3\r\n"
    (made,) = attribute_records([record], base)
    (one,) = made["file-attribution"]["files"][0]["conversations"][0]["ranges"]
    assert (one["start-line"], one["end-line"]) == (2, 3)
    assert one["content-hash"] == hashlib.sha256(b"two = 3\nmore = 4\n").hexdigest()


def test_patch_creates_moves_and_deletes_files(codex, tmp_path):
    text = UPDATE.replace("a.py\n", "a.py\n*** Move to: c.py\n").replace(
        "*** End Patch\n", "*** Delete File: d.py\n*** End Patch"
    )
    codex.output(codex.custom("apply_patch", ADD), DONE)
    codex.output(codex.custom("apply_patch", text), DONE)
    records = read_records(tmp_path, codex.data())
    assert list_changes(records) == [("b.py", [[1, 2]], "replayed"), ("a.py", [[2, 3]], "windowed")]
    assert {path for path, _ in find_contributors(records[0])} == {"b.py", "c.py"}


@pytest.mark.parametrize(
    "answer",
    [
        "apply_patch verification failed: Failed to find expected lines in a.py",
        "Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find expected lines\n",
        json.dumps({"output": "Failed", "metadata": {"exit_code": 1}}),
        "patch rejected by user",
    ],
)
def test_failed_or_refused_patch_changes_nothing(codex, tmp_path, answer):
    codex.output(codex.custom("apply_patch", UPDATE), answer)
    assert replay_changes(codex, tmp_path) == []


@pytest.mark.parametrize("status", ["failed", "declined"])
def test_patch_reported_as_failed_changes_nothing(codex, tmp_path, status):
    call = codex.custom("apply_patch", UPDATE)
    changes = {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED}}
    codex.event(
        type="patch_apply_end",
        call_id=call,
        success=status != "failed",
        status=status,
        changes=changes,
    )
    codex.output(call, "done")
    assert replay_changes(codex, tmp_path) == []


def test_patch_without_a_result_changes_nothing(codex, tmp_path):
    codex.custom("apply_patch", UPDATE)
    assert replay_changes(codex, tmp_path) == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{UPDATE}EOF"]}),
        ("shell", {"command": ["apply_patch", UPDATE]}),
        ("shell_command", {"command": f"cd {ROOT} && apply_patch <<'PATCH'\n{UPDATE}PATCH\n"}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{UPDATE}EOF\n"}),
    ],
)
def test_patch_in_a_shell_command_is_applied(codex, tmp_path, name, arguments):
    codex.output(codex.function(name, arguments), DONE, "function_call_output")
    assert replay_changes(codex, tmp_path) == [("a.py", [[2, 3]], "windowed")]


def test_recorded_patch_in_a_shell_command_is_applied_once(codex, tmp_path):
    call = codex.function(
        "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{UPDATE}EOF"]}
    )
    codex.patched(call, {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED}})
    codex.output(call, DONE, "function_call_output")
    assert replay_changes(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


SCRIPTS = {
    "a text": f"await tools.apply_patch({json.dumps(UPDATE)});",
    "a template": f"const r = await tools.apply_patch(`{UPDATE}`);\ntext(r);",
    "a raw template": f"await tools.apply_patch(String.raw`{UPDATE}`)",
    "a constant": f"const patch = `{UPDATE}`;\nawait tools.apply_patch(patch);",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_patch_in_a_script_is_applied(codex, tmp_path, script):
    codex.output(codex.custom("exec", script), "Script completed")
    assert replay_changes(codex, tmp_path) == [("a.py", [[2, 3]], "windowed")]


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        (
            "await tools.apply_patch(`*** Begin Patch\n*** Add File: ${name}\n+x\n*** End Patch`)",
            "Script completed",
        ),
        ("await tools.apply_patch(patchText);", "Script completed"),
        (SCRIPTS["a text"], "Script failed: no such file"),
    ],
)
def test_unreadable_or_failed_script_changes_nothing(codex, tmp_path, script, answer):
    codex.output(codex.custom("exec", script), answer)
    assert replay_changes(codex, tmp_path) == []


LITERAL = json.dumps(UPDATE)
UNKNOWN_SCRIPTS = {
    "a variable": "await tools.apply_patch(patchText);",
    "a sum": f"const p = {LITERAL} + more;\nawait tools.apply_patch(p);",
    "a sum over lines": f"const p = {LITERAL}\n  + more;\nawait tools.apply_patch(p);",
    "a replaced part": f"const p = {LITERAL}.replace('x', y);\nawait tools.apply_patch(p);",
    "a template with a name": "await tools.apply_patch(`*** Update File: ${name}\n`)",
    "another name": f"const apply = tools.apply_patch;\nawait apply({LITERAL});",
    "a member by its name": f"await tools['apply_patch']({LITERAL});",
    "a member of its own": f"const {{ apply_patch }} = tools;\nawait apply_patch({LITERAL});",
    "a blank before the bracket": "await tools.apply_patch (patchText);",
    "two values": f"const p = {LITERAL};\n{{ const p = made(); await tools.apply_patch(p); }}",
    "a branch": f"if (ready()) await tools.apply_patch({LITERAL});",
    "a failure that was caught": f"try {{ await tools.apply_patch({LITERAL}) }} catch {{}}",
}


@pytest.mark.parametrize("script", UNKNOWN_SCRIPTS.values(), ids=UNKNOWN_SCRIPTS)
def test_script_that_builds_a_patch_makes_files_doubtful(codex, tmp_path, script):
    codex.output(codex.custom("exec", script), "Script completed")
    records = read_records(tmp_path, codex.data())
    replay, _ = replay_records(records)
    assert replay.history == []
    assert replay.files[f"{ROOT}/a.py"].dirty


def test_script_is_not_parsed_as_shell(codex, tmp_path):
    codex.output(codex.custom("exec", "const f = x => b.py; echo('a') > c.py"), "Script completed")
    assert replay_changes(codex, tmp_path) == []


@pytest.mark.parametrize("spelled", [True, False])
def test_recorded_patch_of_a_script_belongs_to_the_script_once(codex, tmp_path, spelled):
    call = codex.custom(
        "exec", SCRIPTS["a text"] if spelled else "await tools.apply_patch(made());"
    )
    codex.patched("inner-1", {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED}})
    codex.output(call, "Script completed")
    records = read_records(tmp_path, codex.data())
    assert [
        (row["call-id"], row["ranges"], row["evidence"])
        for row in list_applied_changes(*replay_records(records))
    ] == [(call, [[2, 3]], "recorded")]


def test_recorded_patch_without_a_call_is_applied(codex, tmp_path):
    codex.patched("alone", {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED}})
    codex.patched("refused", {f"{ROOT}/a.py": {"type": "delete", "content": ""}}, success=False)
    assert replay_changes(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


def test_patch_reported_as_an_item_is_recorded_evidence(codex, tmp_path):
    call = codex.custom("apply_patch", UPDATE)
    changes = {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED, "move_path": None}}
    codex.event(
        type="item_completed",
        item={"type": "FileChange", "id": call, "changes": changes, "status": "completed"},
    )
    codex.output(call, DONE)
    assert replay_changes(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


def test_lines_name_the_model_of_their_turn(codex, tmp_path):
    codex.output(codex.custom("apply_patch", UPDATE), DONE)
    codex.turn("gpt-5.5")
    codex.output(codex.custom("apply_patch", ADD), DONE)
    (record,) = read_records(tmp_path, codex.data())
    models = {
        path: contributor["model-id"]
        for (path, _), contributor in find_contributors(record).items()
    }
    assert models == {"a.py": "openai/gpt-5.2-codex", "b.py": "openai/gpt-5.5"}


def test_patch_adds_the_last_line_end(codex, tmp_path):
    codex.shell("printf done", "done")
    codex.output(codex.custom("apply_patch", ADD), DONE)
    call = codex.custom(
        "apply_patch", "*** Begin Patch\n*** Update File: b.py\n@@\n-x = 1\n+x = 3\n*** End Patch"
    )
    codex.output(call, DONE)
    assert replay_changes(codex, tmp_path)[-1] == ("b.py", [[1, 1]], "replayed")


def test_patch_placed_by_a_later_look_is_anchored(tmp_path):
    codex = Codex()
    codex.output(codex.custom("apply_patch", UPDATE), DONE)
    codex.shell("cat a.py", "zero = 0\none = 1\ntwo = 3\nmore = 4\nthree = 3\n")
    records = read_records(tmp_path, codex.data())
    assert [row[2] for row in list_changes(records)] == ["diff-anchored"]
    assert sorted(find_contributors(records[0])) == [("a.py", 3), ("a.py", 4)]


def test_calls_inherited_by_a_fork_are_not_attributed_to_it(codex, tmp_path):
    codex.output(codex.custom("apply_patch", ADD), DONE)
    (record,) = read_records(tmp_path, codex.data())
    for entry in record["session"]["entries"]:
        entry.setdefault("vacr", {})["inherited"] = True
    assert list_changes([record]) == []
    assert {contributor["type"] for contributor in find_contributors(record).values()} <= {
        "unknown"
    }


def test_unknown_tool_is_reported(codex, tmp_path):
    codex.output(
        codex.function("edit", {"file_path": "a.py", "old_str": "1", "new_str": "2"}),
        "ok",
        "function_call_output",
    )
    (record,) = read_records(tmp_path, codex.data())
    assert get_evidence(record)["unknown-tools"] == {"edit": 1}


@pytest.mark.parametrize("command", ["cat a.py", "cat <<'EOF'\none\nEOF"])
@pytest.mark.parametrize(("code", "changes"), [(0, 1), (1, 0)])
def test_command_before_the_output_is_not_part_of_it(tmp_path, command, code, changes):
    codex = Codex()
    head = f'Command: /bin/zsh -lc "{command}"\nChunk ID: 1a\nWall time: 0.01 seconds\n'
    call = codex.function("exec_command", {"cmd": "cat a.py"})
    text = f"{head}Process exited with code 0\nOriginal token count: 9\nOutput:\n{FILE}"
    codex.output(call, text, "function_call_output")
    write = codex.function("exec_command", {"cmd": "printf 'x = 1\\n' > b.py"})
    done = f"{head}Process exited with code {code}\nOriginal token count: 0\nOutput:\n"
    codex.output(write, done, "function_call_output")
    replay, roots = replay_records(read_records(tmp_path, codex.data()))
    assert replay.files[f"{ROOT}/a.py"].file.get_line(1) == "one = 1\n"
    rows = list(list_applied_changes(replay, roots))
    assert len(rows) == changes


DIFF = (
    "diff --git a/a.py b/a.py\nindex {old}..{new} 100644\n--- a/a.py\n+++ b/a.py\n"
    "@@ -1,3 +1,4 @@\n one = 1\n-two = 2\n+two = 3\n+more = 4\n three = 3\n"
)
NEW_FILE = "one = 1\ntwo = 3\nmore = 4\nthree = 3\n"


def name_blob(text):
    data = text.encode()
    whole = b"blob %d\0" % len(data) + data
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (NEW_FILE, True),
        (NEW_FILE.removesuffix("\n"), True),
        (NEW_FILE + "four = 4\n", False),
        (NEW_FILE.replace("one", "none"), False),
    ],
)
def test_blob_id_of_a_diff_proves_the_whole_text(codex, tmp_path, text, whole):
    codex.output(codex.custom("apply_patch", UPDATE), DONE)
    codex.shell("make a.py")  # It may change the file.
    codex.shell("git diff", DIFF.format(old="1" * 7, new=name_blob(text)[:7]))
    records = read_records(tmp_path, codex.data())
    ((_, data, about),) = list_changed_files(*replay_records(records))
    assert (data == text.encode(), "doubt" not in about) == (whole, whole)


def test_file_compared_with_nothing_is_shown(tmp_path):
    codex = Codex()
    codex.shell(
        "git diff --no-index /dev/null a.py",
        f"diff --git a/a.py b/a.py\nnew file mode 100644\nindex 0000000..{name_blob(FILE)[:7]}\n"
        "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,3 @@\n"
        + "".join(f"+{line}\n" for line in FILE.splitlines()),
        code=1,
    )
    codex.output(codex.custom("apply_patch", UPDATE), DONE)
    records = read_records(tmp_path, codex.data())
    ((_, data, about),) = list_changed_files(*replay_records(records))
    assert (data, about["evidence"]) == (NEW_FILE.encode(), ["replayed"])

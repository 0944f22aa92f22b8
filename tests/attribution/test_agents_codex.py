"""What Codex's tools and events prove."""

import hashlib
import json

import pytest

from tests.attribution.sessions import ROOT, Codex, contributors, evidence, records_of, rows
from vacr.attribution.attribute import (
    attribute_records,
    list_applied_changes,
    list_changed_files,
    replay_records,
)
from vacr.attribution.replay import BaseFiles

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


def said(codex, tmp_path):
    return rows(records_of(tmp_path, codex.data()))


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
def test_a_patch(codex, tmp_path, answer):
    codex.output(codex.custom("apply_patch", UPDATE), answer)
    records = records_of(tmp_path, codex.data())
    (row,) = list_applied_changes(*replay_records(records))
    assert (row["call-id"], row["path"], row["ranges"]) == ("call_2", "a.py", [[2, 3]])
    assert (row["evidence"], row["model-id"]) == ("windowed", "openai/gpt-5.2-codex")


def test_a_patch_with_the_line_ends_of_the_file_makes_no_line_that_it_keeps(tmp_path):
    codex = Codex()
    codex.shell("cat a.py", FILE.replace("\n", "\r\n"))
    codex.output(codex.custom("apply_patch", UPDATE.replace("\n", "\r\n")), DONE)
    (record,) = records_of(tmp_path, codex.data())
    assert set(contributors(record)) == {("a.py", 2), ("a.py", 3)}
    base = BaseFiles("0" * 40, ["a.py"], {"a.py": FILE.replace("\n", "\r\n").encode()}.__getitem__)
    ((_, data, _),) = list_changed_files(*replay_records([record], base))
    assert data == b"one = 1\r\ntwo = 3\r\nmore = 4\r\nthree = 3\r\n"


def test_a_patch_that_the_host_records(tmp_path):
    codex = Codex()
    call = codex.custom("apply_patch", UPDATE)
    codex.patched(
        call, {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED, "move_path": None}}
    )
    codex.output(call, DONE)
    assert said(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


def test_a_diff_that_the_host_records_shows_how_each_line_ends(tmp_path):
    codex = Codex()
    call = codex.custom("apply_patch", UPDATE)
    unified = (
        "@@ -1,3 +1,4 @@\n-one = 1\r\n-two = 2\r\n+one = 1\n+two = 3\n+more = 4\n three = 3\r\n"
    )
    codex.patched(
        call, {f"{ROOT}/a.py": {"type": "update", "unified_diff": unified, "move_path": None}}
    )
    codex.output(call, DONE)
    (record,) = records_of(tmp_path, codex.data())
    base = BaseFiles("0" * 40, ["a.py"], {"a.py": FILE.replace("\n", "\r\n").encode()}.__getitem__)
    ((_, data, _),) = list_changed_files(*replay_records([record], base))
    assert data == b"one = 1\ntwo = 3\nmore = 4\nthree = 3\r\n"
    (made,) = attribute_records([record], base)
    (one,) = made["file-attribution"]["files"][0]["conversations"][0]["ranges"]
    assert (one["start-line"], one["end-line"]) == (2, 3)
    assert one["content-hash"] == hashlib.sha256(b"two = 3\nmore = 4\n").hexdigest()


def test_a_patch_that_makes_moves_and_deletes(codex, tmp_path):
    text = UPDATE.replace("a.py\n", "a.py\n*** Move to: c.py\n").replace(
        "*** End Patch\n", "*** Delete File: d.py\n*** End Patch"
    )
    codex.output(codex.custom("apply_patch", ADD), DONE)
    codex.output(codex.custom("apply_patch", text), DONE)
    records = records_of(tmp_path, codex.data())
    assert rows(records) == [("b.py", [[1, 2]], "replayed"), ("a.py", [[2, 3]], "windowed")]
    assert {path for path, _ in contributors(records[0])} == {"b.py", "c.py"}


@pytest.mark.parametrize(
    "answer",
    [
        "apply_patch verification failed: Failed to find expected lines in a.py",
        "Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find expected lines\n",
        json.dumps({"output": "Failed", "metadata": {"exit_code": 1}}),
        "patch rejected by user",
    ],
)
def test_a_patch_that_failed_or_was_refused(codex, tmp_path, answer):
    codex.output(codex.custom("apply_patch", UPDATE), answer)
    assert said(codex, tmp_path) == []


@pytest.mark.parametrize("status", ["failed", "declined"])
def test_a_patch_of_which_the_host_says_that_it_failed(codex, tmp_path, status):
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
    assert said(codex, tmp_path) == []


def test_a_patch_without_a_result_is_pending(codex, tmp_path):
    codex.custom("apply_patch", UPDATE)
    assert said(codex, tmp_path) == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{UPDATE}EOF"]}),
        ("shell", {"command": ["apply_patch", UPDATE]}),
        ("shell_command", {"command": f"cd {ROOT} && apply_patch <<'PATCH'\n{UPDATE}PATCH\n"}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{UPDATE}EOF\n"}),
    ],
)
def test_a_patch_in_a_shell(codex, tmp_path, name, arguments):
    codex.output(codex.function(name, arguments), DONE, "function_call_output")
    assert said(codex, tmp_path) == [("a.py", [[2, 3]], "windowed")]


def test_a_patch_in_a_shell_that_the_host_records_is_applied_once(codex, tmp_path):
    call = codex.function(
        "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{UPDATE}EOF"]}
    )
    codex.patched(call, {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED}})
    codex.output(call, DONE, "function_call_output")
    assert said(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


SCRIPTS = {
    "a text": f"await tools.apply_patch({json.dumps(UPDATE)});",
    "a template": f"const r = await tools.apply_patch(`{UPDATE}`);\ntext(r);",
    "a raw template": f"await tools.apply_patch(String.raw`{UPDATE}`)",
    "a constant": f"const patch = `{UPDATE}`;\nawait tools.apply_patch(patch);",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_patch_in_a_script(codex, tmp_path, script):
    codex.output(codex.custom("exec", script), "Script completed")
    assert said(codex, tmp_path) == [("a.py", [[2, 3]], "windowed")]


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
def test_a_script_that_does_not_say_what_it_did(codex, tmp_path, script, answer):
    codex.output(codex.custom("exec", script), answer)
    assert said(codex, tmp_path) == []


def test_a_script_is_no_shell(codex, tmp_path):
    codex.output(codex.custom("exec", "const f = x => b.py; echo('a') > c.py"), "Script completed")
    assert said(codex, tmp_path) == []


@pytest.mark.parametrize("spelled", [True, False])
def test_a_patch_that_a_script_had_applied_is_the_scripts_and_once(codex, tmp_path, spelled):
    call = codex.custom(
        "exec", SCRIPTS["a text"] if spelled else "await tools.apply_patch(made());"
    )
    codex.patched("inner-1", {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED}})
    codex.output(call, "Script completed")
    records = records_of(tmp_path, codex.data())
    assert [
        (row["call-id"], row["ranges"], row["evidence"])
        for row in list_applied_changes(*replay_records(records))
    ] == [(call, [[2, 3]], "recorded")]


def test_a_patch_that_belongs_to_no_call(codex, tmp_path):
    codex.patched("alone", {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED}})
    codex.patched("refused", {f"{ROOT}/a.py": {"type": "delete", "content": ""}}, success=False)
    assert said(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


def test_a_patch_that_newer_versions_tell_as_an_item(codex, tmp_path):
    call = codex.custom("apply_patch", UPDATE)
    changes = {f"{ROOT}/a.py": {"type": "update", "unified_diff": UNIFIED, "move_path": None}}
    codex.event(
        type="item_completed",
        item={"type": "FileChange", "id": call, "changes": changes, "status": "completed"},
    )
    codex.output(call, DONE)
    assert said(codex, tmp_path) == [("a.py", [[2, 3]], "recorded")]


def test_each_turn_has_its_model(codex, tmp_path):
    codex.output(codex.custom("apply_patch", UPDATE), DONE)
    codex.turn("gpt-5.5")
    codex.output(codex.custom("apply_patch", ADD), DONE)
    (record,) = records_of(tmp_path, codex.data())
    models = {path: one["model-id"] for (path, _), one in contributors(record).items()}
    assert models == {"a.py": "openai/gpt-5.2-codex", "b.py": "openai/gpt-5.5"}


def test_a_patch_ends_the_last_line(codex, tmp_path):
    codex.shell("printf done", "done")
    codex.output(codex.custom("apply_patch", ADD), DONE)
    call = codex.custom(
        "apply_patch", "*** Begin Patch\n*** Update File: b.py\n@@\n-x = 1\n+x = 3\n*** End Patch"
    )
    codex.output(call, DONE)
    assert said(codex, tmp_path)[-1] == ("b.py", [[1, 1]], "replayed")


def test_a_patch_whose_place_is_seen_later_is_anchored(tmp_path):
    codex = Codex()
    codex.output(codex.custom("apply_patch", UPDATE), DONE)
    codex.shell("cat a.py", "zero = 0\none = 1\ntwo = 3\nmore = 4\nthree = 3\n")
    records = records_of(tmp_path, codex.data())
    assert [row[2] for row in rows(records)] == ["diff-anchored"]
    assert sorted(contributors(records[0])) == [("a.py", 3), ("a.py", 4)]


def test_what_a_fork_copied_from_its_parent_is_not_its_own(codex, tmp_path):
    codex.output(codex.custom("apply_patch", ADD), DONE)
    (record,) = records_of(tmp_path, codex.data())
    for entry in record["session"]["entries"]:
        entry.setdefault("vacr", {})["inherited"] = True
    assert rows([record]) == []
    assert {one["type"] for one in contributors(record).values()} <= {"unknown"}


def test_a_tool_that_nothing_is_known_of_is_reported(codex, tmp_path):
    codex.output(
        codex.function("edit", {"file_path": "a.py", "old_str": "1", "new_str": "2"}),
        "ok",
        "function_call_output",
    )
    (record,) = records_of(tmp_path, codex.data())
    assert evidence(record)["unknown-tools"] == {"edit": 1}

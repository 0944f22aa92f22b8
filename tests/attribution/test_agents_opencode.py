"""Attribution from the tools and metadata of OpenCode, in its different versions."""

import pytest

from tests.attribution.sessions import ROOT, OpenCode, find_contributors, list_changes, read_records
from vacr.attribution.attribute import list_applied_changes, replay_records

FILE = "def f():\n    two = 2\n    three = 2\n"
PATH = {"filePath": f"{ROOT}/a.py"}
BAR = (
    "<file>\n00001| def f():\n00002|     two = 2\n00003|     three = 2\n00004| \n\n(End of "
    "file - total 4 lines)\n</file>"
)
COLON = (
    f"<path>{ROOT}/a.py</path>\n<type>file</type>\n<content>\n1: def f():\n2:     two = 2\n3:   "
    "  three = 2\n\n"
    "(End of file - total 3 lines)\n</content>"
)


@pytest.fixture
def opencode():
    session = OpenCode()
    session.call("read", PATH, COLON)
    return session


def edit(old, new, **more):
    return {**PATH, "oldString": old, "newString": new, **more}


def replay_changes(opencode, tmp_path):
    return list_changes(read_records(tmp_path, opencode.data(), "export.json"))


@pytest.mark.parametrize(("shown", "proof"), [(BAR, "replayed"), (COLON, "windowed")])
def test_edit_after_either_form_of_read_has_ranges(tmp_path, shown, proof):
    opencode = OpenCode()
    opencode.call("read", PATH, shown)
    opencode.call("edit", edit("two = 2", "two = 3"), "Edit applied successfully.")
    (row,) = list_applied_changes(
        *replay_records(read_records(tmp_path, opencode.data(), "export.json"))
    )
    assert (row["call-id"], row["path"], row["ranges"]) == ("call_1", "a.py", [[2, 2]])
    assert (row["evidence"], row["model-id"]) == (proof, "openai/gpt-5.2")


def test_read_of_a_file_without_last_line_end(tmp_path):
    opencode = OpenCode()
    opencode.call(
        "read", PATH, "<file>\n00001| x = 1\n00002| y = 2\n\n(End of file - total 2 lines)\n</file>"
    )
    opencode.call("write", {**PATH, "content": "x = 1\ny = 2\n"}, metadata={"exists": True})
    assert replay_changes(opencode, tmp_path) == [("a.py", [[2, 2]], "replayed")]


@pytest.mark.parametrize("shown", [BAR, COLON])
def test_end_of_file_mark_shows_that_the_read_is_complete(tmp_path, shown):
    opencode = OpenCode()
    opencode.call("write", {**PATH, "content": FILE + "four = 4\n"}, metadata={"exists": False})
    opencode.call("read", PATH, shown)
    (record,) = read_records(tmp_path, opencode.data(), "export.json")
    assert sorted(find_contributors(record)) == [("a.py", number) for number in (1, 2, 3)]


def test_partial_read_places_an_edit(tmp_path):
    opencode = OpenCode()
    opencode.call(
        "read",
        {**PATH, "offset": 70, "limit": 2},
        "<file>\n00070| here = 1\n00071| there = 2\n\n(File has more lines)",
    )
    opencode.call("edit", edit("there = 2", "there = 3"))
    assert replay_changes(opencode, tmp_path) == [("a.py", [[71, 71]], "windowed")]


def test_search_result_places_an_edit(tmp_path):
    opencode = OpenCode()
    found = (
        f"Found 2 matches\n{ROOT}/a.py:\n  Line 71: there = 2\n\n{ROOT}/b.py:\n  Line 5: "
        "there = 9\n"
    )
    opencode.call("grep", {"pattern": "there", "path": ROOT}, found)
    opencode.call("edit", edit("there = 2", "there = 3"))
    assert replay_changes(opencode, tmp_path) == [("a.py", [[71, 71]], "windowed")]


def test_replace_all_covers_every_match(opencode, tmp_path):
    opencode.call("edit", edit(" = 2", " = 3", replaceAll=True))
    assert replay_changes(opencode, tmp_path) == [("a.py", [[2, 3]], "windowed")]


@pytest.mark.parametrize("status", ["error", "pending", "running"])
def test_failed_or_running_call_changes_nothing(opencode, tmp_path, status):
    opencode.call(
        "edit", edit("two = 2", "two = 3"), "oldString not found in content", status=status
    )
    assert replay_changes(opencode, tmp_path) == []


def test_old_metadata_with_both_texts_is_recorded_evidence(tmp_path):
    opencode = OpenCode()
    diff = {
        "file": f"{ROOT}/a.py",
        "before": FILE,
        "after": FILE.replace("two = 2", "two = 3"),
        "additions": 1,
        "deletions": 1,
    }
    opencode.call("edit", edit("two=2", "two=3"), metadata={"diff": "", "filediff": diff})
    assert replay_changes(opencode, tmp_path) == [("a.py", [[2, 2]], "recorded")]


TRIMMED = (
    "--- a.py\n+++ a.py\n@@ -70,3 +70,4 @@\n here = 1\n-two = 2\n+two = 3\n+  more = 4\n "
    "three = 2\n"
)


def test_new_metadata_with_cut_indentation_places_an_edit(tmp_path):
    opencode = OpenCode()
    metadata = {
        "diff": TRIMMED,
        "filediff": {"file": f"{ROOT}/a.py", "patch": TRIMMED, "additions": 2, "deletions": 1},
    }
    opencode.call("edit", edit("    two = 2\n", "    two = 3\n      more = 4\n"), metadata=metadata)
    opencode.call("edit", edit("    three = 2", "    three = 3"))
    assert replay_changes(opencode, tmp_path) == [
        ("a.py", [[71, 72]], "recorded"),
        ("a.py", [[73, 73]], "windowed"),
    ]


def test_metadata_with_unknown_indentation_places_nothing(tmp_path):
    opencode = OpenCode()
    metadata = {"diff": TRIMMED, "filediff": {"file": f"{ROOT}/a.py", "patch": TRIMMED}}
    opencode.call("edit", edit("wo = 2", "wo = 3\n?"), metadata=metadata)
    assert replay_changes(opencode, tmp_path) == [("a.py", [], "content-only")]


def test_metadata_overrides_contradicting_known_lines(tmp_path):
    opencode = OpenCode()
    opencode.call("write", {**PATH, "content": FILE}, metadata={"exists": False})
    patch = "@@ -70,1 +70,1 @@\n-    two = 2\n+    two = 3\n"
    opencode.call(
        "edit", edit("    two = 2", "    two = 3"), metadata={"filediff": {"patch": patch}}
    )
    assert replay_changes(opencode, tmp_path)[1] == ("a.py", [[70, 70]], "recorded")


@pytest.mark.parametrize(("exists", "ranges"), [(False, [[1, 4]]), (True, [[4, 4]])])
def test_write_is_attributed_the_lines_that_differ(opencode, tmp_path, exists, ranges):
    opencode.call(
        "write",
        {**PATH, "content": FILE + "four = 4\n"},
        metadata={"exists": exists, "filepath": PATH["filePath"]},
    )
    assert replay_changes(opencode, tmp_path)[0][1] == ranges


def test_several_edits_have_ranges(opencode, tmp_path):
    edits = [edit("three = 2", "three = 3"), edit("def f():", "# f\ndef f():")]
    opencode.call("multiedit", {**PATH, "edits": edits})
    assert replay_changes(opencode, tmp_path) == [("a.py", [[1, 1], [4, 4]], "windowed")]


def test_several_recorded_edits_are_recorded_evidence(tmp_path):
    opencode = OpenCode()
    middle = FILE.replace("three = 2", "three = 3")
    results = [
        {"filediff": {"before": FILE, "after": middle}},
        {"filediff": {"before": middle, "after": "# f\n" + middle}},
    ]
    edits = [edit("three = 2", "three = 3"), edit("def f():", "# f\ndef f():")]
    opencode.call("multiedit", {**PATH, "edits": edits}, metadata={"results": results})
    assert replay_changes(opencode, tmp_path) == [("a.py", [[1, 1], [4, 4]], "recorded")]


PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n def f():\n-    two = 2\n+    two = 3\n   "
    "  three = 2\n*** End Patch"
)


@pytest.mark.parametrize("name", ["apply_patch", "patch"])
def test_patch_has_ranges(opencode, tmp_path, name):
    opencode.call(name, {"patchText": PATCH}, "Success. Updated the following files:\nM a.py")
    assert replay_changes(opencode, tmp_path) == [("a.py", [[2, 2]], "windowed")]


def test_patch_with_both_texts_is_recorded_evidence(tmp_path):
    opencode = OpenCode()
    file = {
        "filePath": f"{ROOT}/a.py",
        "relativePath": "a.py",
        "type": "update",
        "diff": "",
        "before": FILE,
    }
    file["after"] = FILE.replace("two = 2", "two = 3")
    added = {
        "filePath": f"{ROOT}/b.py",
        "relativePath": "b.py",
        "type": "add",
        "diff": "",
        "before": "",
        "after": "x\ny\n",
    }
    gone = {
        "filePath": f"{ROOT}/c.py",
        "relativePath": "c.py",
        "type": "delete",
        "diff": "",
        "before": "z\n",
        "after": "",
    }
    opencode.call("apply_patch", {"patchText": PATCH}, metadata={"files": [file, added, gone]})
    assert replay_changes(opencode, tmp_path) == [
        ("a.py", [[2, 2]], "recorded"),
        ("b.py", [[1, 2]], "recorded"),
    ]


@pytest.mark.parametrize("kind", ["add", "create"])
def test_file_created_by_a_patch_is_new_under_either_name(tmp_path, kind):
    opencode = OpenCode()
    file = {
        "filePath": f"{ROOT}/b.py",
        "relativePath": "b.py",
        "type": kind,
        "after": "x\ny\n",
        "additions": 2,
        "deletions": 0,
    }
    text = "*** Begin Patch\n*** Add File: b.py\n+x\n+y\n*** End Patch"
    opencode.call("apply_patch", {"patchText": text}, metadata={"files": [file]})
    assert replay_changes(opencode, tmp_path) == [("b.py", [[1, 2]], "recorded")]


@pytest.mark.parametrize("member", ["patch", "diff"])
def test_patch_with_a_recorded_diff_is_placed(tmp_path, member):
    opencode = OpenCode()
    diff = "@@ -70,3 +70,3 @@\n def f():\n-    two = 2\n+    two = 3\n     three = 2\n"
    file = {
        "filePath": f"{ROOT}/a.py",
        "relativePath": "a.py",
        "type": "update",
        member: diff,
        "additions": 1,
        "deletions": 1,
    }
    opencode.call("apply_patch", {"patchText": PATCH}, metadata={"files": [file]})
    assert replay_changes(opencode, tmp_path) == [("a.py", [[71, 71]], "recorded")]


def test_lines_name_the_model_of_their_message(opencode, tmp_path):
    opencode.call("edit", edit("two = 2", "two = 3"))
    opencode.call("edit", edit("three = 2", "three = 3"), model="gpt-5.5")
    (record,) = read_records(tmp_path, opencode.data(), "export.json")
    models = {
        number: contributor["model-id"]
        for (_, number), contributor in find_contributors(record).items()
    }
    assert models == {2: "openai/gpt-5.2", 3: "openai/gpt-5.5"}


def test_recorded_diff_has_the_changes_of_a_formatter(tmp_path):
    opencode = OpenCode()
    text = "a = 1\nb = 2\nc = 3\n"
    opencode.call("write", {**PATH, "content": text}, metadata={"exists": False})
    patch = "@@ -1,3 +1,5 @@\n a = 1\n-b = 2\n+b = [\n+    2,\n+]\n c = 3\n"
    metadata = {"diff": patch, "filediff": {"file": f"{ROOT}/a.py", "patch": patch}}
    opencode.call("edit", edit("b = 2", "b = [2,]"), metadata=metadata)
    replay, _ = replay_records(read_records(tmp_path, opencode.data(), "export.json"))
    assert replay.files[f"{ROOT}/a.py"].text == text.replace("2", "[\n    2,\n]")


def test_recorded_diff_that_equals_the_edit_keeps_its_lines(tmp_path):
    opencode = OpenCode()
    opencode.call("write", {**PATH, "content": "a\nb\nb\nc\n"}, metadata={"exists": False})
    patch = "@@ -1,4 +1,5 @@\n a\n b\n+b\n b\n c\n"
    metadata = {"diff": patch, "filediff": {"file": f"{ROOT}/a.py", "patch": patch}}
    opencode.call("edit", edit("a\nb\nb\n", "a\nb\nb\nb\n"), metadata=metadata)
    replay, _ = replay_records(read_records(tmp_path, opencode.data(), "export.json"))
    assert replay.files[f"{ROOT}/a.py"].text == "a\nb\nb\nb\nc\n"

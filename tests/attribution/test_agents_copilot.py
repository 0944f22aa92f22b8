"""Attribution from the tools and results of GitHub Copilot CLI."""

import hashlib
import json

import pytest

from tests.attribution.sessions import find_contributors, list_changes, read_records
from tests.conftest import FIXTURES
from vacr.attribution.attribute import replay_records

FOLDER = FIXTURES / "copilot" / "session-state" / "7d1f0c52-3b6e-4a8d-9c15-2e4f6a8b0c1d"
ROOT = "/work"
PATH = f"{ROOT}/a.py"


class Copilot:
    """A session that one writes call by call."""

    def __init__(self):
        self.lines = []
        context = {"cwd": ROOT}
        self.add("session.start", sessionId="s1", producer="copilot-agent", context=context)

    def add(self, kind, **data):
        number = len(self.lines)
        head = {"type": kind, "data": data, "id": f"e{number}", "parentId": None}
        self.lines.append(head | {"timestamp": f"2026-01-01T00:00:{number:02}.000Z"})

    def call(self, name, arguments, content="", detail=None, *, request=None, **members):
        call_id = f"c{len(self.lines)}"
        self.add("tool.execution_start", toolCallId=call_id, toolName=name, arguments=arguments)
        if request is not None:
            request = {"toolCallId": call_id, **request}
            self.add("permission.requested", requestId="p", permissionRequest=request)
        result = {"content": content}
        if detail is not None:
            result["detailedContent"] = detail
        members = {"success": True, "result": result, "model": "gpt-5.4"} | members
        self.add("tool.execution_complete", toolCallId=call_id, **members)

    def data(self):
        return "".join(json.dumps(line) + "\n" for line in self.lines).encode()


@pytest.fixture
def copilot():
    return Copilot()


def replay(copilot, tmp_path):
    return list_changes(read_records(tmp_path, copilot.data(), "events.jsonl"))


def texts(copilot, tmp_path):
    """Return the replayed text of each file that is known as a whole."""
    replayed = replay_records(read_records(tmp_path, copilot.data(), "events.jsonl"))[0]
    return {path: tracked.file.text for path, tracked in replayed.files.items()}


def diff(hunks, path=PATH, *, new=False):
    name = path.lstrip("/")
    head = "create file mode 100644\n" if new else ""
    old = "a/dev/null" if new else f"a/{name}"
    return f"\ndiff --git a/{name} b/{name}\n{head}--- {old}\n+++ b/{name}\n{hunks}"


def edit(old, new):
    return {"path": PATH, "old_str": old, "new_str": new}


def test_new_file_is_written(copilot, tmp_path):
    text = "one\ntwo"
    hunks = diff("@@ -1,0 +1,2 @@\n+one\n+two\n", new=True)
    copilot.call("create", {"path": PATH, "file_text": text}, "Created file", hunks)
    assert replay(copilot, tmp_path) == [("a.py", [[1, 2]], "recorded")]


def test_edit_of_an_unknown_file_is_placed_by_its_diff(copilot, tmp_path):
    hunks = diff("@@ -7,7 +7,7 @@\n a\n b\n c\n-x\n+y\n d\n e\n f\n")
    copilot.call("edit", edit("x", "y"), "updated", hunks)
    assert replay(copilot, tmp_path) == [("a.py", [[10, 10]], "recorded")]


@pytest.mark.parametrize(
    ("hunks", "ranges"),
    [
        ("@@ -1,3 +1,3 @@\n-a\n+b\n c\n \n", [[1, 1]]),
        ("@@ -1,2 +1,3 @@\n-a\n+b\n+c\n \n", [[1, 2]]),
        ("@@ -1,2 +1,2 @@\n c\n-a\n+b\n", [[2, 2]]),
        ("@@ -1,2 +1,3 @@\n c\n-a\n+b\n+\n", [[2, 2]]),
        ("@@ -1,3 +1,2 @@\n c\n-a\n-\n+b\n", [[2, 2]]),
        ("@@ -1,5 +1,5 @@\n-a\n+b\n c\n d\n \n", [[1, 1]]),
    ],
)
def test_empty_line_after_the_last_line_end_is_never_claimed(copilot, tmp_path, hunks, ranges):
    copilot.call("edit", edit("a", "b"), "updated", diff(hunks))
    assert replay(copilot, tmp_path) == [("a.py", ranges, "recorded")]


def test_line_without_an_end_keeps_none(copilot, tmp_path):
    text = "one\ntwo"
    copilot.call("view", {"path": PATH}, text, diff("@@ -1,2 +1,2 @@\n one\n two\n"))
    hunks = diff("@@ -1,2 +1,3 @@\n one\n-two\n+two\n+three\n")
    copilot.call("edit", edit("two", "two\nthree"), "updated", hunks)
    assert texts(copilot, tmp_path) == {PATH: "one\ntwo\nthree"}


def test_request_for_permission_states_both_texts(copilot, tmp_path):
    before, after = "a\nb\n", "a\nc\n"
    edits = [{"before": {"content": before}, "after": {"content": after}}]
    copilot.call("edit", edit("b", "c"), "updated", request={"fileEdits": edits})
    assert replay(copilot, tmp_path) == [("a.py", [[2, 2]], "recorded")]
    assert texts(copilot, tmp_path) == {PATH: after}


def test_failed_and_refused_calls_change_nothing(copilot, tmp_path):
    copilot.call(
        "create", {"path": PATH, "file_text": "x"}, success=False, error={"code": "denied"}
    )
    copilot.call("edit", edit("a", "b"), success=False, error={"message": "No match found"})
    assert replay(copilot, tmp_path) == []


@pytest.mark.parametrize(
    ("view_range", "shown", "evidence"),
    [
        (None, "x = 1\ny = 2\n", "replayed"),
        (None, "1. x = 1\n2. y = 2\n3. ", "windowed"),
        ([1, 2], "x = 1\ny = 2", "windowed"),
        ([1, -1], "x = 1\ny = 2\n", "windowed"),
    ],
)
def test_shown_lines_place_an_edit_without_a_diff(copilot, tmp_path, view_range, shown, evidence):
    arguments = {"path": PATH} | ({"view_range": view_range} if view_range else {})
    hunks = diff("@@ -1,3 +1,3 @@\n x = 1\n y = 2\n \n")
    copilot.call("view", arguments, shown, hunks)
    copilot.call("edit", edit("y = 2", "y = 3"), "updated")
    assert replay(copilot, tmp_path) == [("a.py", [[2, 2]], evidence)]


def test_listing_of_a_folder_is_no_file(copilot, tmp_path):
    copilot.call("view", {"path": ROOT}, "a.py\nb.py", diff("@@ -1,0 +1,2 @@\n a.py\n", new=True))
    assert texts(copilot, tmp_path) == {}


def test_search_counts_only_with_line_numbers(copilot, tmp_path):
    arguments = {"pattern": "y", "path": ROOT, "output_mode": "content"}
    copilot.call("grep", arguments, f"{PATH}:2:y = 2")
    copilot.call("edit", edit("y = 2", "y = 3"), "updated")
    assert replay(copilot, tmp_path) == [("a.py", [], "content-only")]


def test_command_writes_a_file(copilot, tmp_path):
    output = "<shellId: 0 completed with exit code 0>"
    copilot.call("bash", {"command": "printf 'a\\nb\\n' > a.py"}, output)
    assert replay(copilot, tmp_path) == [("a.py", [[1, 2]], "shell")]


def test_command_in_a_named_shell_proves_nothing(copilot, tmp_path):
    output = "<shellId: s1 completed with exit code 0>"
    copilot.call("bash", {"command": "printf 'a\\n' > a.py", "shellId": "s1"}, output)
    assert replay(copilot, tmp_path) == []


def test_failed_command_is_not_trusted(copilot, tmp_path):
    output = "<shellId: 0 completed with exit code 1>"
    copilot.call("bash", {"command": "printf 'a\\nb\\n' > a.py"}, output)
    assert all(not ranges for _, ranges, _ in replay(copilot, tmp_path))


def test_patch_is_applied(copilot, tmp_path):
    patch = "*** Begin Patch\n*** Add File: a.py\n+one\n*** End Patch"
    copilot.call("apply_patch", patch, "Done")
    assert replay(copilot, tmp_path) == [("a.py", [[1, 1]], "replayed")]


def test_replayed_files_have_the_digests_of_the_snapshot(tmp_path):
    records = read_records(tmp_path, (FOLDER / "events.jsonl").read_bytes(), "events.jsonl")
    files = replay_records(records)[0].files
    index = json.loads((FOLDER / "rewind-file-snapshots" / "index.json").read_bytes())
    (snapshot,) = index["snapshots"]
    assert len(snapshot["files"]) == 3
    for state in snapshot["files"].values():
        text = files[state["path"]].file.text
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert digest == state["postimage"]["contentHash"]


def test_lines_name_their_model(tmp_path):
    data = (FOLDER / "events.jsonl").read_bytes()
    (record,) = read_records(tmp_path, data, "events.jsonl")
    makers = {path: who["model-id"] for (path, _), who in find_contributors(record).items()}
    assert makers == {
        "total.py": "github-copilot/gpt-5.4",
        "test_total.py": "github-copilot/gpt-5.4",
        "notes.txt": "github-copilot/gpt-5.4-mini",
    }

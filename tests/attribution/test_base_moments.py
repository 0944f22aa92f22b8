"""Sessions that began before their base was committed."""

import pytest

from tests.attribution.sessions import Claude, Codex, clock, read_records
from vacr.attribution.attribute import attribute_records, list_changed_files, replay_records
from vacr.attribution.base_files import BaseFiles

START = "one = 1\ntwo = 2\nthree = 3\nfour = 4\nfive = 5\n"
FIRST = START.replace("two = 2\n", "two = 22\nmore = 0\n")
SECOND = FIRST.replace("four = 4\n", "four = 44\n")
PATH = "/home/mira/app/a.py"


def make_base(time=0, **files):
    texts = {f"{name}.py": text.encode() for name, text in files.items()}
    return BaseFiles("0" * 40, texts.keys(), texts.__getitem__, time)


def build_patch(old, new):
    removed = "".join(f"-{line}\n" for line in old.splitlines())
    added = "".join(f"+{line}\n" for line in new.splitlines())
    return f"*** Begin Patch\n*** Update File: a.py\n@@\n{removed}{added}*** End Patch\n"


def patch(codex, old, new, unified=None):
    call = codex.custom("apply_patch", build_patch(old, new))
    if unified is not None:
        codex.patched(call, {PATH: {"type": "update", "unified_diff": unified}})
    codex.output(call, "Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM a.py\n")


def patch_twice(codex):
    patch(
        codex,
        "two = 2\n",
        "two = 22\nmore = 0\n",
        "@@ -1,3 +1,4 @@\n one = 1\n-two = 2\n+two = 22\n+more = 0\n three = 3\n",
    )
    patch(
        codex,
        "four = 4\n",
        "four = 44\n",
        "@@ -4,3 +4,3 @@\n three = 3\n-four = 4\n+four = 44\n five = 5\n",
    )


def rebuild(tmp_path, data, base):
    records = read_records(tmp_path, data)
    return {path: data for path, data, _ in list_changed_files(*replay_records(records, base))}


@pytest.mark.parametrize("text", [START, FIRST])
def test_edits_that_the_base_has_are_not_applied_again(tmp_path, text):
    codex = Codex()
    codex.shell("sed -n '1,3p' a.py", "one = 1\ntwo = 2\nthree = 3\n")
    patch_twice(codex)
    assert rebuild(tmp_path, codex.data(), make_base(a=text)) == {"a.py": SECOND.encode()}


def test_session_whose_edits_the_base_has_changes_nothing(tmp_path):
    codex = Codex()
    patch_twice(codex)
    assert rebuild(tmp_path, codex.data(), make_base(a=SECOND)) == {}


def test_line_that_the_base_has_is_not_attributed(tmp_path):
    codex = Codex()
    patch_twice(codex)
    records = read_records(tmp_path, codex.data())
    (record,) = attribute_records(records, make_base(a=FIRST))
    (file,) = record["file-attribution"]["files"]
    (conversation,) = file["conversations"]
    ranges = [(lines["start-line"], lines["end-line"]) for lines in conversation["ranges"]]
    assert ranges == [(5, 5)]


def test_added_line_is_not_added_twice(tmp_path):
    session = Claude()
    new = "one = 1\nmore = 0 # new"
    session.call("Edit", {"file_path": PATH, "old_string": "one = 1", "new_string": new})
    text = START.replace("one = 1\n", "one = 1\nmore = 0 # new\n")
    assert rebuild(tmp_path, session.data(), make_base(a=text)) == {}


def test_each_file_has_its_own_moment(tmp_path):
    codex = Codex()
    patch_twice(codex)
    call = codex.custom("apply_patch", "")
    codex.patched(
        call,
        {
            "/home/mira/app/b.py": {
                "type": "update",
                "unified_diff": "@@ -1 +1 @@\n-x = 1\n+x = 2\n",
            }
        },
    )
    codex.output(call, "Exit code: 0\nOutput:\n")
    base = make_base(a=SECOND, b="x = 1\n")
    assert rebuild(tmp_path, codex.data(), base) == {"b.py": b"x = 2\n"}


def test_doubt_before_the_base_is_settled(tmp_path):
    codex = Codex()
    patch_twice(codex)
    codex.shell("sed -i '' \"$PROGRAM\" a.py")
    patch(codex, "one = 1\n", "one = 11\n", "@@ -1,2 +1,2 @@\n-one = 1\n+one = 11\n two = 22\n")
    changed = SECOND.replace("one = 1\n", "one = 11\n")
    patch(
        codex, "five = 5\n", "five = 55\n", "@@ -5,2 +5,2 @@\n four = 44\n-five = 5\n+five = 55\n"
    )
    records = read_records(tmp_path, codex.data())
    ((path, data, about),) = list_changed_files(*replay_records(records, make_base(a=changed)))
    assert (path, data) == ("a.py", changed.replace("five = 5\n", "five = 55\n").encode())
    assert "doubt" not in about


def test_formatted_commit_is_found_by_its_time(tmp_path):
    times = list(zip(range(40), clock(), strict=False))
    codex = Codex(times=(when for _, when in times))
    patch(
        codex,
        "two = 2\n",
        "two=call(22)\n",
        "@@ -1,3 +1,3 @@\n one = 1\n-two = 2\n+two=call(22)\n three = 3\n",
    )
    committed = times[len(codex.lines)][1]
    formatted = START.replace("two = 2\n", "two = call(22)\n")
    for _ in range(5):
        codex.shell("ls")
    patch(codex, "four = 4\n", "four = 44\n", "@@ -4 +4 @@\n-four = 4\n+four = 44\n")
    wanted = formatted.replace("four = 4\n", "four = 44\n").encode()
    base = make_base(committed, a=formatted)
    assert rebuild(tmp_path, codex.data(), base) == {"a.py": wanted}


def test_session_after_the_base_is_replayed_from_its_start(tmp_path):
    codex = Codex()
    patch(codex, "one = 1\n", "one = 1\ntwo = 2\n", "@@ -1 +1,2 @@\n one = 1\n+two = 2\n")
    base = make_base(1, a="one = 1\n")
    assert rebuild(tmp_path, codex.data(), base) == {"a.py": b"one = 1\ntwo = 2\n"}

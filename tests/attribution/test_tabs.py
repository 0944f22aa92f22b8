"""Patches that Claude Code records with two spaces for each tab of the file."""

import hashlib

import pytest

from tests.attribution.sessions import ROOT, Claude, read_records
from vacr.attribution.attribute import attribute_records, replay_records

PATH = {"file_path": f"{ROOT}/m.go"}
BEFORE = "func main() {\n\tif ok {\n\t\trun(1)\n\t}\n\t  odd()\n}\n"
AFTER = BEFORE.replace("run(1)", "run(2)\n\t\tstop()")
PATCH = [
    {
        "oldStart": 1,
        "oldLines": 6,
        "newStart": 1,
        "newLines": 7,
        "lines": [
            " func main() {",
            "   if ok {",
            "-    run(1)",
            "+    run(2)",
            "+    stop()",
            "   }",
            "     odd()",
            " }",
        ],
    }
]


def make_session(original, old, new, *, read=True):
    claude = Claude()
    if read:
        claude.read("m.go", BEFORE)
    native = {"originalFile": original, "structuredPatch": PATCH}
    claude.call("Edit", {**PATH, "old_string": old, "new_string": new}, native=native)
    return claude.data()


@pytest.mark.parametrize(("original", "read"), [(BEFORE, True), (BEFORE, False), (None, True)])
def test_recorded_patch_keeps_tabs(tmp_path, original, read):
    records = read_records(
        tmp_path, make_session(original, "run(1)", "run(2)\n\t\tstop()", read=read)
    )
    (tracked,) = replay_records(records)[0].files.values()
    assert "".join(line for chunk in tracked.file.chunks for line in chunk.lines) == AFTER
    (attributed,) = attribute_records(records)
    ((one,),) = [
        file["conversations"][0]["ranges"] for file in attributed["file-attribution"]["files"]
    ]
    assert (one["start-line"], one["end-line"]) == (3, 4)
    assert one["content-hash"] == hashlib.sha256(b"\t\trun(2)\n\t\tstop()\n").hexdigest()


def test_arguments_of_the_call_show_that_a_file_has_tabs(tmp_path):
    old, new = "\tif ok {\n\t\trun(1)\n", "\tif ok {\n\t\trun(2)\n\t\tstop()\n"
    (tracked,) = replay_records(read_records(tmp_path, make_session(None, old, new, read=False)))[
        0
    ].files.values()
    assert tracked.file.get_line(4) == "\t\tstop()\n"
    assert tracked.file.get_line(5) == "\t}\n"


def test_recorded_patch_keeps_spaces(tmp_path):
    old, new = "  if ok {\n    run(1)\n", "  if ok {\n    run(2)\n    stop()\n"
    (tracked,) = replay_records(read_records(tmp_path, make_session(None, old, new, read=False)))[
        0
    ].files.values()
    assert tracked.file.get_line(5) == "  }\n"

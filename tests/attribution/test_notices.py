"""What Claude Code tells of files that others changed: hunks that are numbered as in the text it
kept.
"""

import pytest

from tests.attribution.sessions import ROOT
from tests.attribution.told import Told
from tests.attribution.world.files import diff
from vacr.agents.claude_code.tools import parse_change_notice
from vacr.attribution.attribute import attribute_records, list_applied_changes, replay_records
from vacr.attribution.locate import apply_notice_hunks

OLD = "".join(f"line {number}\n" for number in range(1, 81))


def shown(old, new):
    """Show a difference as the host does."""
    lines, number = [], 0
    for line in diff(old, new, 8):
        if line.startswith("@@"):
            lines += ["..."] if lines else []
            number = max(1, int(line.split()[1].split(",")[0][1:]))
        elif line[:1] in " +":
            lines.append(f"{number}\t{line[1:]}")
            number += 1
    return "\n".join(lines)


def tell(told, path, snippet):
    told.line(
        type="attachment",
        attachment={"type": "edited_text_file", "filename": f"{ROOT}/{path}", "snippet": snippet},
    )


AT_THE_END = {
    "the last line": OLD.replace("line 80\n", "eighty\n"),
    "after the last line": OLD + "line 81\n",
    "the end cut off": OLD[: OLD.index("line 31\n")],
    "near the end": OLD.replace("line 77\n", "77\n77\n"),
    "all of it": "another\nfile\n",
}
CHANGES = {
    "a line": OLD.replace("line 20\n", "twenty\n"),
    "more lines": OLD.replace("line 20\n", "line 20\nand\nmore\n").replace("line 40\n", "forty\n"),
    "fewer lines": OLD.replace("line 5\nline 6\n", "").replace("line 40\n", "forty\n"),
    "the first line": OLD.replace("line 1\n", "one\n", 1),
    "before the first line": "zero\n" + OLD,
}


@pytest.mark.parametrize("name", [*CHANGES, *AT_THE_END])
def test_the_hunks_give_the_text(name):
    new = {**CHANGES, **AT_THE_END}[name]
    notice = parse_change_notice("a.py", shown(OLD, new))
    assert notice.whole
    assert apply_notice_hunks(OLD, notice.parts) == (new, name in CHANGES)


def test_hunks_that_do_not_fit_or_fit_twice_give_nothing():
    same = "x = 1\n" * 40
    assert (
        apply_notice_hunks(
            same,
            parse_change_notice("a.py", shown(same, same[6 * 20 :] + "y\n" + same[: 6 * 20])).parts,
        )
        is None
    )
    parts = parse_change_notice("a.py", shown(OLD, CHANGES["a line"])).parts
    assert apply_notice_hunks(OLD.replace("line 15\n", "fifteen\n"), parts) is None


def test_what_may_have_been_taken_away_at_the_end_unseen_is_not_known():
    new = OLD.replace("line 70\n", "seventy\n")
    assert apply_notice_hunks(OLD, parse_change_notice("a.py", shown(OLD, new)).parts) is None
    cut = new.removesuffix("line 79\nline 80\n")
    assert shown(OLD, cut) == shown(OLD, new)


def test_a_notice_that_is_cut_off_is_not_all():
    snippet = shown(OLD, CHANGES["a line"]) + "\n\n... [12 lines truncated] ..."
    assert not parse_change_notice("a.py", snippet).whole


def test_what_the_agent_wrote_elsewhere_stays_its_own(tmp_path):
    told = Told()
    told.read("a.py", OLD)
    told.edit("a.py", "line 40", "forty")
    mine = OLD.replace("line 40", "forty")
    tell(told, "a.py", shown(mine, "zero\n" + mine.replace("line 20\n", "")))
    (made,) = attribute_records([told.record(tmp_path)])
    (file,) = made["file-attribution"]["files"]
    (said,) = file["conversations"]
    found = {
        one["start-line"]: one.get("contributor", said["contributor"])["type"]
        for one in said["ranges"]
    }
    assert found == {1: "human", 40: "ai"}
    assert made["vacr"]["attribution"]["files"]["a.py"]["complete"] is True


def test_hunks_of_a_file_that_is_known_in_part_are_numbered_as_they_are_now(tmp_path):
    told = Told()
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": OLD.rstrip("\n"),
        "startLine": 1,
        "numLines": 80,
        "totalLines": 110,
    }
    told.call(
        "Read", {"file_path": f"{ROOT}/a.py", "limit": 80}, "…", {"type": "text", "file": window}
    )
    tell(told, "a.py", shown(OLD, CHANGES["more lines"]))
    told.edit("a.py", "line 38", "thirty-eight")
    (row,) = list_applied_changes(*replay_records([told.record(tmp_path)]))
    assert row["ranges"] == [[40, 40]]

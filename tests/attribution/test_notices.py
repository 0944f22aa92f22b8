"""Notices of Claude Code about files that others changed; hunks count lines of the text it kept."""

import pytest

from tests.attribution.claude_session import ClaudeSession
from tests.attribution.sessions import ROOT
from tests.attribution.world.files import diff
from vacr.agents.claude_code.tools import parse_change_notice
from vacr.attribution.attribute import attribute_records, list_applied_changes, replay_records
from vacr.attribution.locate import apply_notice_hunks

OLD = "".join(f"line {number}\n" for number in range(1, 81))


def render_notice(old, new):
    """Render a difference like the host."""
    lines, number = [], 0
    for line in diff(old, new, 8):
        if line.startswith("@@"):
            lines += ["..."] if lines else []
            number = max(1, int(line.split()[1].split(",")[0][1:]))
        elif line[:1] in " +":
            lines.append(f"{number}\t{line[1:]}")
            number += 1
    return "\n".join(lines)


def add_notice(session, path, snippet):
    session.line(
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
def test_notice_hunks_restore_the_new_text(name):
    new = {**CHANGES, **AT_THE_END}[name]
    notice = parse_change_notice("a.py", render_notice(OLD, new))
    assert notice.whole
    assert apply_notice_hunks(OLD, notice.parts) == (new, name in CHANGES)


def test_misfit_or_ambiguous_hunks_are_refused():
    same = "x = 1\n" * 40
    assert (
        apply_notice_hunks(
            same,
            parse_change_notice(
                "a.py", render_notice(same, same[6 * 20 :] + "y\n" + same[: 6 * 20])
            ).parts,
        )
        is None
    )
    parts = parse_change_notice("a.py", render_notice(OLD, CHANGES["a line"])).parts
    assert apply_notice_hunks(OLD.replace("line 15\n", "fifteen\n"), parts) is None


def test_notice_near_the_end_leaves_the_end_unknown():
    new = OLD.replace("line 70\n", "seventy\n")
    assert (
        apply_notice_hunks(OLD, parse_change_notice("a.py", render_notice(OLD, new)).parts) is None
    )
    cut = new.removesuffix("line 79\nline 80\n")
    assert render_notice(OLD, cut) == render_notice(OLD, new)


def test_truncated_notice_is_not_whole():
    snippet = render_notice(OLD, CHANGES["a line"]) + "\n\n... [12 lines truncated] ..."
    assert not parse_change_notice("a.py", snippet).whole


def test_notice_keeps_the_agents_lines_elsewhere(tmp_path):
    session = ClaudeSession()
    session.read("a.py", OLD)
    session.edit("a.py", "line 40", "forty")
    mine = OLD.replace("line 40", "forty")
    add_notice(session, "a.py", render_notice(mine, "zero\n" + mine.replace("line 20\n", "")))
    (attributed,) = attribute_records([session.record(tmp_path)])
    (file,) = attributed["file-attribution"]["files"]
    (conversation,) = file["conversations"]
    types = {
        line_range["start-line"]: line_range.get("contributor", conversation["contributor"])["type"]
        for line_range in conversation["ranges"]
    }
    assert types == {1: "human", 40: "ai"}
    assert attributed["vacr"]["attribution"]["files"]["a.py"]["complete"] is True


def test_notice_hunks_of_a_partly_known_file_move_later_lines(tmp_path):
    session = ClaudeSession()
    window = {
        "filePath": f"{ROOT}/a.py",
        "content": OLD.rstrip("\n"),
        "startLine": 1,
        "numLines": 80,
        "totalLines": 110,
    }
    session.call(
        "Read", {"file_path": f"{ROOT}/a.py", "limit": 80}, "…", {"type": "text", "file": window}
    )
    add_notice(session, "a.py", render_notice(OLD, CHANGES["more lines"]))
    session.edit("a.py", "line 38", "thirty-eight")
    (row,) = list_applied_changes(*replay_records([session.record(tmp_path)]))
    assert row["ranges"] == [[40, 40]]


def launch(status):
    """Return the output and the report of a sub-agent that runs on, or that ended."""
    if status == "async_launched":
        return "Async agent launched.", {"status": status, "agentId": "a1", "isAsync": True}
    return "I changed a.py.", {"status": status, "agentId": "a1", "content": []}


def find_type_of_first_line(session, folder):
    """Return who wrote line 1 of a.py, by its record; `None` if the record does not say."""
    (attributed,) = attribute_records([session.record(folder)])
    for file in attributed["file-attribution"]["files"]:
        for conversation in file["conversations"]:
            for part in conversation["ranges"]:
                if part["start-line"] == 1:
                    return part.get("contributor", conversation["contributor"])["type"]
    return None


@pytest.mark.parametrize("tool", ["Agent", "Task", "mcp__editor__apply"])
def test_notice_after_a_call_that_may_change_any_file_names_nobody(tmp_path, tool):
    session = ClaudeSession()
    session.read("a.py", OLD)
    session.call(tool, {"description": "Change", "prompt": "Do it."}, *launch("completed"))
    add_notice(session, "a.py", render_notice(OLD, "zero\n" + OLD))
    assert find_type_of_first_line(session, tmp_path) in ("unknown", None)


def test_notice_while_a_sub_agent_runs_names_nobody_although_it_ended_later(tmp_path):
    session = ClaudeSession()
    session.call("Agent", {"description": "Change", "prompt": "Do it."}, *launch("async_launched"))
    session.read("a.py", OLD)
    add_notice(session, "a.py", render_notice(OLD, "zero\n" + OLD))
    notice = "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n"
    session.line(
        type="user",
        origin={"kind": "task-notification"},
        message={"role": "user", "content": f"{notice}</task-notification>"},
    )
    assert find_type_of_first_line(session, tmp_path) in ("unknown", None)


def test_notice_names_the_user_where_only_a_sub_agent_before_the_last_look_ran(tmp_path):
    session = ClaudeSession()
    session.call("Agent", {"description": "Change", "prompt": "Do it."}, *launch("completed"))
    session.read("a.py", OLD)
    add_notice(session, "a.py", render_notice(OLD, "zero\n" + OLD))
    assert find_type_of_first_line(session, tmp_path) == "human"


def test_notice_names_the_user_after_a_sub_agent_that_was_refused(tmp_path):
    session = ClaudeSession()
    session.read("a.py", OLD)
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    session.call("Agent", {"prompt": "Do it."}, refusal, "User rejected tool use", error=True)
    add_notice(session, "a.py", render_notice(OLD, "zero\n" + OLD))
    assert find_type_of_first_line(session, tmp_path) == "human"

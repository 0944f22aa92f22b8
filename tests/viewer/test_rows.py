"""A record as rows: nothing that was said or done is missing, a call stands with its result."""

import pytest

import vacr
from tests.conftest import EXAMPLES, FIXTURES
from vacr.viewer.parts import TextPart
from vacr.viewer.rows import (
    ASSISTANT_ROW,
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    USER_ROW,
    RowFilter,
    build_rows,
)
from vacr.viewer.terminal import BRIEF_DETAIL, DETAIL_LEVELS, FULL_DETAIL, RowFormatter
from vacr.viewer.tool_calls import build_diffs
from vacr.viewer.totals import Totals, count_totals

FILES = sorted(
    path
    for folder in (EXAMPLES, FIXTURES)
    for path in folder.rglob("*.json*")
    if path.is_file() and "storage" not in path.parts and not path.name.endswith(".meta.json")
)


def every(entries):
    for entry in entries:
        yield entry
        yield from every(entry.get("children", ()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_entry_is_in_a_row(path):
    for record in vacr.read(path):
        found = list(build_rows(record))
        places = [one.place for row in found for one in (row, row.result) if one is not None]
        assert len(set(places)) == len(places)
        shown = {id(one.entry) for row in found for one in (row, row.result) if one is not None}
        for entry in every(record["session"]["entries"]):
            said_by_children = entry["type"] in (
                USER_ROW,
                ASSISTANT_ROW,
                REASONING_ROW,
            ) and entry.get("children")
            assert id(entry) in shown or said_by_children, entry
        for detail in DETAIL_LEVELS:
            for row in found:
                for line in RowFormatter(detail, events=True).lines(row):
                    assert "\n" not in line.text
                    assert "\x1b" not in line.text
        assert count_totals(record).entries == len(list(every(record["session"]["entries"])))


def test_the_example():
    (record,) = vacr.read(EXAMPLES / "claude-code.jsonl")
    found = [row for row in build_rows(record) if row.kind != EVENT_ROW]
    assert [row.kind for row in found].count(USER_ROW) == 1
    calls = [row for row in found if row.kind == TOOL_ROW]
    assert [(row.tool, row.is_error, len(row.diffs)) for row in calls] == [
        ("Read", False, 0),
        ("Edit", False, 1),
        ("Bash", True, 0),
        ("Edit", False, 1),
    ]
    assert all(row.result is not None and row.model == "claude-opus-4-6" for row in calls)
    assert calls[2].summary == "python -m pytest -q"
    assert calls[1].diffs[0].lines[1][0] == "-"
    (failed,) = RowFilter(errors=True).chosen(found)
    assert failed is calls[2]
    assert [row.tool for row in RowFilter(tools=frozenset({"Edit"})).chosen(found)] == [
        "Edit",
        "Edit",
    ]
    assert list(RowFilter(text="QUANTIZE").chosen(found)) == [calls[1]]
    assert list(RowFilter(names=frozenset({calls[1].place})).chosen(found)) == [calls[1]]
    text = [line.text for row in found for line in RowFormatter(FULL_DETAIL).lines(row)]
    assert any("NameError" in line for line in text)
    assert sum(len(list(RowFormatter(BRIEF_DETAIL).lines(row))) for row in calls) == len(calls)


def test_totals_add_up():
    (record,) = vacr.read(EXAMPLES / "claude-code.jsonl")
    one = count_totals(record)
    assert (one.prompts, one.calls, one.errors, one.added, one.removed) == (1, 4, 1, 6, 1)
    assert one.tokens["output"] == one.models["claude-opus-4-6"] == 606
    both = one + one
    assert (both.sessions, both.calls, both.tools["Edit"], both.milliseconds) == (
        2,
        8,
        4,
        2 * one.milliseconds,
    )
    assert Totals() + one == one


def test_what_the_agent_put_into_the_users_mouth_is_no_prompt():
    entries = [
        {"type": "user", "content": "Base directory for this skill", "isMeta": True},
        {"type": "user", "content": "Go on"},
    ]
    injected, asked = build_rows({"session": {"entries": entries}})
    assert (injected.is_injected, asked.is_injected) == (True, False)
    assert count_totals({"session": {"entries": entries}}).prompts == 1
    assert [line.text for line in RowFormatter().lines(injected)][1:] == [
        "User (from the agent)",
        "  Base directory for this skill",
    ]


def test_a_result_without_its_call_and_a_call_without_its_result():
    entries = [
        {"type": "tool-result", "call-id": "x", "output": "late"},
        {"type": "tool-call", "call-id": "y", "name": "Bash", "input": {"command": "sleep 9"}},
    ]
    late, pending = build_rows({"session": {"entries": entries}})
    assert (late.tool, late.parts) == ("", [TextPart("late")])
    assert (pending.tool, pending.result) == ("Bash", None)
    assert [line.text for line in RowFormatter().lines(pending)] == ["  → Bash sleep 9 …"]


def test_an_edit_of_any_length_is_shown_at_once():
    old, new = (
        "\n".join(
            line for number in range(20_000) for line in (f"same {number}", f"{which} {number}")
        )
        for which in "ab"
    )
    (found,) = build_diffs(
        "claude-code", "Edit", {"file_path": "f", "old_string": old, "new_string": new}
    )
    # It is not compared line by line, which would take minutes.
    assert (found.removed, found.added) == (40_000, 40_000)
    (found,) = build_diffs(
        "claude-code", "Edit", {"file_path": "f", "old_string": old, "new_string": f"{old}\nmore"}
    )
    assert (found.removed, found.added, len(found.lines)) == (0, 1, 5)

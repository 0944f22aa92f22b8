"""The files of a conversation: cumulative diffs from its calls, with owners, calls and prompts."""

import pytest

import vacr
from tests.conftest import EXAMPLES
from tests.viewer.browser import (
    AXE,
    NEEDS_CHROMIUM,
    build_record,
    open_page,
    wait_for_count,
    write_page,
)
from tests.viewer.in_node import Viewer
from vacr.attribution.attribute import attribute_records
from vacr.record.encoding import assign_record_id, encode
from vacr.viewer.page import PageRecord

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]


@pytest.fixture(scope="module")
def viewer():
    process = Viewer()
    yield process
    process.close()


def edit(number, old, new, path="/w/a.py", *, is_error=False):
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return make_call(number, "Edit", arguments, is_error=is_error)


def write(number, text, path="/w/a.py"):
    return make_call(number, "Write", {"file_path": path, "content": text})


def make_call(number, name, arguments, *, is_error=False):
    call = {"type": "tool-call", "id": f"c{number}", "call-id": f"k{number}"}
    return [
        call | {"name": name, "input": arguments},
        {"type": "tool-result", "call-id": f"k{number}", "output": "ok", "is-error": is_error},
    ]


def build_session(*calls):
    record = build_record(
        {"type": "user", "id": "u", "content": "please"}, *(part for call in calls for part in call)
    )
    record["session"]["environment"] = {"working-dir": "/w"}
    return record


def read_hunks(viewer, *calls, file=0):
    """Return the lines of each hunk with their marks, and the calls that wrote the added ones."""
    viewer.open_records(encode(build_session(*calls)))
    hunks = viewer.ask({"do": "hunks", "file": file})["hunks"]["hunks"]
    return [
        (
            [line["mark"] + line["text"] for line in hunk["lines"]],
            [line["row"] for line in hunk["lines"] if line["mark"] == "+"],
        )
        for hunk in hunks
    ]


def test_edits_of_the_same_lines_become_one_change(viewer):
    assert read_hunks(viewer, edit(1, "a\nb", "a\nx"), edit(2, "x", "y\nz")) == [
        ([" a", "-b", "+y", "+z"], [2, 2])
    ]


def test_edits_of_other_lines_stay_apart(viewer):
    assert read_hunks(viewer, edit(1, "a", "b"), edit(2, "c", "d")) == [
        (["-a", "+b"], [1]),
        (["-c", "+d"], [2]),
    ]


def test_each_line_belongs_to_the_call_that_wrote_it_last(viewer):
    assert read_hunks(viewer, write(1, "a\nb\nc\n"), edit(2, "b", "B")) == [
        (["+a", "+B", "+c"], [1, 2, 1])
    ]
    assert read_hunks(viewer, write(1, "a\nb\n"), write(2, "a\nc\n")) == [(["+a", "+c"], [1, 2])]


def test_edit_that_is_taken_back_leaves_no_change(viewer):
    assert read_hunks(viewer, edit(1, "a", "b"), edit(2, "b", "a")) == []


def test_failed_edit_changes_nothing(viewer):
    assert read_hunks(viewer, edit(1, "a", "b"), edit(2, "b", "c", is_error=True)) == [
        (["-a", "+b"], [1])
    ]


def test_edit_within_a_line_replaces_the_line(viewer):
    assert read_hunks(viewer, write(1, "one two\nthree\n"), edit(2, "two", "2")) == [
        (["+one 2", "+three"], [2, 1])
    ]


def test_many_edits_of_one_file_are_listed(viewer):
    calls = [edit(number, f"old {number}", f"new {number}") for number in range(1, 400)]
    assert len(read_hunks(viewer, *calls)) == 399


def test_files_are_shown_without_attribution(browser, tmp_path):
    record = build_session(
        edit(1, "x = 1", 'x = "two"  # why'), write(2, "def f(): pass\n", "/w/b/c.py")
    )
    page = open_page(browser, write_page(tmp_path, record))
    page.keyboard.press("f")
    assert page.locator(".file .path").all_inner_texts() == ["a.py", "b/c.py"]
    wait_for_count(page, ".hunk", 2)
    assert page.inner_text(".hunk .token-string") == '"two"'
    assert page.inner_text(".hunk .token-comment") == "# why"
    assert page.locator(".hunk .token-keyword").all_inner_texts() == ["def", "pass"]
    # Nothing is attributed, so the gutter has only the turn that wrote a line; it leads to the call.
    assert page.locator(".hunk .added .owner").all_inner_texts() == ["#1", "#1"]
    page.locator(".hunk .added .owner").last.click()
    page.wait_for_selector('.row.selected[data-anchor="c2"]')
    page.keyboard.press("f")
    page.click(".hunk button:has-text('edited in turn 1')")
    page.wait_for_selector('.row.selected[data-anchor="c1"]')
    page.keyboard.press("f")
    page.locator(".hunk button:has-text('“please”')").first.click()
    page.wait_for_selector('.row.selected[data-anchor="u"]')
    assert not page.complaints
    page.close()


def test_owner_of_each_line_is_in_the_gutter(browser, tmp_path):
    (record,) = attribute_records(list(vacr.read(str(EXAMPLES / "claude-code.jsonl"))), None)
    assign_record_id(record)
    page = open_page(browser, write_page(tmp_path, PageRecord("a", encode(record))))
    page.keyboard.press("f")
    page.wait_for_selector(".hunk .added .owner")
    owners = page.locator(".hunk .added .owner").all()
    assert {owner.inner_text() for owner in owners} == {"● #1"}
    title = owners[0].get_attribute("title")
    assert title.startswith("AI, anthropic/claude-opus-4-6, ")
    assert {element.inner_text() for element in page.locator(".hunk .removed .owner").all()} == {""}
    page.close()


def test_files_of_one_name_in_two_folders_keep_their_own_lines(browser, tmp_path):
    record = build_session(
        write(1, "one\ntwo\n", "/w/app/lib/a.py"), write(2, "three\n", "/w/lib/a.py")
    )
    ranges = {"lib/a.py": 1, "app/lib/a.py": 2}
    record["file-attribution"] = {
        "files": [
            {
                "path": path,
                "conversations": [
                    {"ranges": [{"start-line": 1, "end-line": end}], "contributor": {"type": "ai"}}
                ],
            }
            for path, end in ranges.items()
        ]
    }
    page = open_page(browser, write_page(tmp_path, record))
    page.keyboard.press("f")
    wait_for_count(page, ".file", 2)
    heads = [" ".join(text.split()) for text in page.locator(".file h3").all_inner_texts()]
    assert "app/lib/a.py +2 in 1 call 2 attributed lines" in heads[0]
    assert "lib/a.py +1 in 1 call 1 attributed line" in heads[1]
    page.close()


def test_changes_are_shown_side_by_side(browser, tmp_path):
    page = open_page(
        browser, write_page(tmp_path, build_session(edit(1, "a\nb\nc", "a\nB\nC\nD\nc")))
    )
    page.keyboard.press("f")
    page.click("button:has-text('Side by side')")
    page.wait_for_selector(".hunk.split")
    sides = page.locator(".pair .line").evaluate_all(
        "lines => lines.map(line => line.textContent.replace(/ .removed.| .added.|[−+#1]/g, ''))"
    )
    assert sides == ["a", "a", "b", "B", "", "C", "", "D", "c", "c"]
    page.click("button:has-text('Unified')")
    page.wait_for_selector(".hunk.unified")
    wait_for_count(page, ".hunk .line", 6)
    page.close()


def test_many_files_are_closed_until_the_reader_opens_one(browser, tmp_path):
    calls = [write(number, "x\n", f"/w/{number}.py") for number in range(1, 20)]
    page = open_page(browser, write_page(tmp_path, build_session(*calls)))
    page.click(".changed button:has-text('3.py')")
    page.wait_for_selector(".file.marked[data-path='3.py'] .hunk")
    wait_for_count(page, ".hunk", 1)
    page.click(".file[data-path='9.py'] .fold")
    wait_for_count(page, ".hunk", 2)
    if AXE.exists():
        page.evaluate(AXE.read_text())
        assert [violation["id"] for violation in page.evaluate("axe.run()")["violations"]] == []
    page.close()


def test_hostile_lines_are_shown_as_text(browser, tmp_path):
    text = "<script>trap()</script> \u202e \x1b[31m\n" + "y" * 2000
    calls = [write(1, text, "/w/<img src=x onerror=trap()>.ts"), edit(2, text, text * 2)]
    page = open_page(browser, write_page(tmp_path, build_session(*calls)))
    page.keyboard.press("f")
    page.wait_for_selector(".hunk")
    shown = page.inner_text(".hunk >> nth=0")
    assert "<script>trap()</script> \\u202e \\x1b[31m" in shown
    assert len(shown) < 1000
    assert page.evaluate("window.trapped") is None
    assert page.locator("main script, main img").count() == 0
    page.close()

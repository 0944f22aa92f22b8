"""Sessions of agents that name, write and fail in their own ways read like all others."""

import pytest

from tests.viewer.browser import NEEDS_CHROMIUM, build_record, open_page, write_page
from tests.viewer.test_browser_story import EDIT, call, say

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]

REFUSAL = {"errorMessage": "401 Invalid bearer token"}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"


@pytest.fixture
def show(browser, tmp_path):
    """Return a function that opens the page of a record with some entries, by some agent."""
    opened = []

    def show(*entries, agent="swe-agent", model="model-x"):
        record = build_record(*entries)
        record["session"]["agent-meta"] |= {"cli-name": agent, "model-id": model}
        opened.append(open_page(browser, write_page(tmp_path, record)))
        return opened[-1]

    yield show
    for page in opened:
        assert not page.complaints
        page.close()


def test_answer_that_failed_is_shown_as_a_failure(show):
    failed = say("assistant", "a1", [], 2, message=REFUSAL, **{"stop-reason": "error"})
    page = show(say("user", "u1", "Wake up"), failed, say("user", "u2", "Are you there?", 5))
    row = page.locator('.row[data-anchor="a1"]')
    assert "failed" in row.get_attribute("class")
    assert row.locator(".title").inner_text().split("\n") == [
        "No answer",
        "401 Invalid bearer token",
    ]
    title, marks = row.locator(".title").bounding_box(), row.locator(".marks").bounding_box()
    assert title["x"] >= page.locator(".list").bounding_box()["x"]
    assert title["x"] + title["width"] <= marks["x"]
    assert row.bounding_box()["height"] >= title["height"]
    page.click(".figures button:has-text('1 answer failed')")
    page.wait_for_selector('.row.selected[data-anchor="a1"]')
    assert row.locator(".body").count() == 0


def test_answer_that_broke_off_shows_its_text_and_the_reason(show):
    broken = say("assistant", "a1", "I will", 2, message=REFUSAL, **{"stop-reason": "error"})
    page = show(say("user", "u1", "Fix it"), broken)
    text = page.inner_text('.row[data-anchor="a1"]')
    assert "Answer broken off" in text
    assert "401 Invalid bearer token" in text
    assert "I will" in text


def test_answer_of_calls_alone_is_no_empty_box(show):
    page = show(
        say("user", "u1", "/mode"),
        say("assistant", "a0", [], 1),
        say("user", "u2", "Fix it", 2),
        say("assistant", "a1", "", 3),
        *call(1, "bash", {"command": "ls"}, second=4),
        say("assistant", "a2", "Done.", 9),
    )
    assert page.inner_text(".story dd >> nth=0") == "Fix it"
    assert page.locator('.row[data-anchor="a0"], .row[data-anchor="a1"]').count() == 0
    page.click(".row.context .fold >> nth=0")
    page.wait_for_selector('.row[data-anchor="a0"]')


THINKING = "<think>A float?</think>\n\nIt is a float."


def test_thought_in_an_answer_is_not_its_outcome(show):
    page = show(say("user", "u1", "Why?"), say("assistant", "a1", THINKING, 2))
    assert page.inner_text(".story dd >> nth=1") == "It is a float."
    row = page.locator('.row[data-anchor="a1"]')
    assert row.locator(".marked").inner_text() == "It is a float."
    assert not row.locator(".aside .plain").is_visible()
    row.locator(".aside summary").click()
    assert row.locator(".aside .plain").inner_text() == "A float?"


def test_thought_that_was_recorded_twice_is_shown_once(show):
    thought = say("reasoning", "r1", "A float?", 1)
    page = show(say("user", "u1", "Why?"), thought, say("assistant", "a1", THINKING, 2))
    assert "A float?" in page.inner_text('.row[data-anchor="r1"]')
    assert page.locator('.row[data-anchor="a1"] .aside').count() == 0


ACTS = [
    ("copilot-vscode", "copilot_readFile", "Read"),
    ("copilot-vscode", "copilot_findTextInFiles", "Searched"),
    ("copilot-vscode", "manage_todo_list", "Plan"),
    ("windsurf", "run_command", "Ran"),
    ("swe-agent", "find_file", "Searched"),
    ("swe-agent", "open", "Read"),
    ("swe-agent", "create", "Created"),
    ("nobody", "str_replace_editor", "str_replace_editor"),
    ("nobody", "write_file", "Wrote"),
    ("nobody", "edit_notebook", "Edited"),
    # Neither a search in the repository nor a command: the words of a server's tool may mean anything.
    ("nobody", "mcp__github__search_issues", "github: search_issues"),
    ("copilot", "read_bash", "read_bash"),
]


@pytest.mark.parametrize(("agent", "tool", "verb"), ACTS)
def test_call_has_a_plain_verb(show, agent, tool, verb):
    page = show(say("user", "u1", "Go"), *call(1, tool, {"path": "a.py"}), agent=agent)
    assert page.inner_text('.row[data-anchor="c1"] .verb') == verb


def test_edits_without_recorded_lines_are_not_called_no_change(show):
    arguments = {"replace": "x", "search": "y"}
    page = show(say("user", "u1", "Go"), *call(1, "edit", arguments), *call(2, "edit", arguments))
    assert "2 edits, lines not recorded" in page.inner_text(".figures")
    assert "no file changed" not in page.inner_text(".figures")


def test_failed_edit_shows_no_changed_lines(show):
    page = show(say("user", "u1", "Go"), *call(1, "Edit", EDIT, is_error=True), agent="claude-code")
    marks = page.inner_text('.row[data-anchor="c1"] .marks')
    assert "failed" in marks
    assert "+2" not in marks


def test_plan_is_shown_by_its_progress(show):
    steps = [
        {"content": "Read the code", "status": "completed"},
        {"content": "Fix the total", "status": "in_progress"},
        {"content": "Run the tests", "status": "pending"},
    ]
    page = show(say("user", "u1", "Go"), *call(1, "todowrite", {"todos": steps}))
    summary = page.inner_text('.row[data-anchor="c1"] .fold .summary')
    assert summary == "1 of 3 done: Fix the total"


def test_unknown_model_is_not_named(show):
    page = show(say("user", "u1", "Go"), say("assistant", "a1", "Done."), model="unknown")
    assert page.inner_text(".line-of-facts").startswith("SWE-agent")
    assert "unknown" not in page.inner_text("header")


def test_attached_file_is_closed_and_named(show):
    attached = {"type": "file", "path": "src/app.ts", "content": "let x = 1;"}
    page = show(say("user", "u1", [{"type": "text", "text": "Look"}, attached]))
    row = page.locator('.row[data-anchor="u1"]')
    assert "let x" not in row.inner_text()
    row.locator("summary:has-text('File src/app.ts')").click()
    assert "let x = 1;" in row.inner_text()


def test_image_with_an_address_of_its_own_is_shown(show):
    image = {"type": "image", "url": f"data:image/png;base64,{PICTURE}"}
    page = show(say("user", "u1", [{"type": "text", "text": "Look"}, image]), agent="grok")
    assert page.locator(".row img.picture").count() == 1


def test_sub_agent_with_only_an_id_is_named_by_its_task(show):
    name = "call_15c3877e300e486883f29b84"
    inner = {"vacr": {"sub-agent": name, "speaker": "parent-agent"}}
    page = show(
        say("user", "u1", "Go"),
        say("user", "s1", "Find the name of the parameter\nin the SDK", 2, **inner),
        say("assistant", "s2", "It is `type`.", 3, vacr={"sub-agent": name}),
        say("assistant", "a1", "Found.", 4),
    )
    label = page.locator(".row.agent .what")
    assert label.inner_text() == "Sub-agent Find the name of the parameter"
    assert label.get_attribute("title") == name


def test_file_address_is_shown_as_a_path(show):
    page = show(say("user", "u1", "Go"), *call(1, "open", {"path": "file:///w/song.md"}))
    assert page.inner_text('.row[data-anchor="c1"] .fold .summary') == "/w/song.md"


def test_mark_of_a_past_answer_does_not_cover_its_text(show):
    past = {"vacr": {"inherited": True}}
    page = show(say("user", "u1", "Go", **past), say("assistant", "a1", "word " * 60, 2, **past))
    row = page.locator('.row[data-anchor="a1"]')
    mark, text = row.locator(".chip").bounding_box(), row.locator(".marked").bounding_box()
    assert mark["y"] + mark["height"] <= text["y"] or text["x"] + text["width"] <= mark["x"]

"""The page tells the story: request, outcome, figures, turns, and folded actions."""

import pytest

from tests.viewer.browser import (
    AXE,
    DESKTOP,
    NEEDS_CHROMIUM,
    PHONE,
    build_record,
    open_page,
    wait_for_count,
    write_page,
)
from vacr.record.encoding import encode
from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import sign
from vacr.viewer.page import PageParty, PageRecord, PageTrust

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]


def call(number, name, arguments, output="", second=0, *, is_error=False):
    """Return a call and its result."""
    return [
        {
            "type": "tool-call",
            "id": f"c{number}",
            "call-id": f"k{number}",
            "name": name,
            "input": arguments,
            "timestamp": f"2026-03-14T09:26:{second:02d}Z",
        },
        {
            "type": "tool-result",
            "call-id": f"k{number}",
            "output": output,
            "is-error": is_error,
            "timestamp": f"2026-03-14T09:26:{second + 2:02d}Z",
        },
    ]


def say(role, name, text, second=0, day=14, **members):
    time = f"2026-03-{day}T09:26:{second:02d}Z"
    return {"type": role, "id": name, "content": text, "timestamp": time, **members}


EDIT = {"file_path": "/w/src/total.py", "old_string": "a\nb\n", "new_string": "a\nc\nd\n"}
ENTRIES = [
    {"type": "system-event", "id": "e1", "event-type": "mode"},
    say("user", "h1", "<local-command-stdout>x</local-command-stdout>", vacr={"speaker": "host"}),
    say(
        "user",
        "u0",
        "<command-name>/model</command-name>",
        vacr={"speaker": "human", "prompt": "/model"},
    ),
    say(
        "user",
        "u1",
        "<command-name>/fix</command-name><command-args>the total</command-args>",
        vacr={"speaker": "human", "prompt": "/fix the total"},
    ),
    {**say("assistant", "a1", "I will look.", 2), "model-id": "model-x"},
    say("reasoning", "r1", "Probably a rounding error.", 3),
    *call(1, "Read", {"file_path": "/w/src/total.py"}, "a\nb\n", 4),
    {"type": "system-event", "id": "e2", "event-type": "token-count"},
    *call(2, "Edit", EDIT, "ok", 6),
    *call(3, "Bash", {"command": "pytest -q"}, "1 failed, 2 passed", 8, is_error=True),
    *call(4, "Bash", {"command": "git commit -am Fix"}, "[main 4f2c1e9] Fix the total", 11),
    {**say("assistant", "a2", "The **total** is right now.", 15), "model-id": "model-y"},
    say("user", "u2", "thanks", day=15),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    record = build_record(*ENTRIES)
    record["session"]["environment"] = {
        "working-dir": "/w",
        "vcs": {"type": "git", "branch": "main", "revision": "a" * 40},
    }
    record["session"]["session-start"] = "2026-03-14T09:26:00Z"
    return write_page(tmp_path_factory.mktemp("story"), record)


@pytest.fixture
def page(browser, address):
    page = open_page(browser, address)
    yield page
    assert not page.complaints
    page.close()


def test_header_has_one_line_of_facts(page):
    facts = page.inner_text(".line-of-facts")
    expected = "Claude Code · model-x · w (main@aaaaaaa) · Sat 14 Mar 2026, 09:26"
    assert facts.startswith(expected)


def test_card_shows_request_outcome_and_figures(page):
    asked, outcome = page.locator(".story dd").all_inner_texts()
    assert asked == "/fix the total"
    assert outcome.split("\n\n") == ["The total is right now.", "1 later prompt without an answer."]
    figures = page.locator(".figures li").all_inner_texts()
    assert figures[0] == "3 prompts"
    assert figures[1] == "1 file +2 −1"
    assert figures[2] == "4 tool calls, 1 failed"
    assert figures[3] == "✗ last test run failed (pytest, 1 failed, 2 passed, 09:26:08)"
    assert figures[4].split() == ["1", "commit", "4f2c1e9"]


def test_figures_lead_to_their_rows(page):
    page.click(".figures button:has-text('last test run')")
    page.wait_for_selector('.row.selected[data-anchor="c3"]')
    page.click(".figures button.commit")
    page.wait_for_selector('.row.selected[data-anchor="c4"]')
    page.click(".story dt button:has-text('Outcome')")
    page.wait_for_selector('.row.selected[data-anchor="a2"]')


def test_actions_are_folded_into_one_line(page):
    group = page.locator(".row.group .fold")
    assert group.locator(".what").inner_text() == "1 read · 1 edit · 2 commands, 1 failed"
    assert group.locator(".summary").inner_text() == "git commit -am Fix"
    assert group.locator(".touched").inner_text().split("\n") == ["pytest ✗", "total.py +2 −1"]
    assert page.locator('.row[data-anchor="c1"]').count() == 0
    group.click()
    page.wait_for_selector('.row[data-anchor="c4"]')
    read = page.inner_text('.row[data-anchor="c1"] .fold')
    assert read.split("\n") == ["≡", "Read", "src/total.py"]
    assert "commit 4f2c1e9" in page.inner_text('.row[data-anchor="c4"]')
    assert "2 s" in page.inner_text('.row[data-anchor="c1"] .marks')
    # A failed call is open at first.
    page.wait_for_selector('.row[data-anchor="c3"] [aria-label=Output]:has-text("1 failed")')
    group.click()
    page.wait_for_selector('.row[data-anchor="c4"]', state="detached")


def test_rows_of_the_host_are_one_line(page):
    first = page.locator(".row.context .fold").first
    assert first.inner_text().split("\n") == ["context (2)", "mode, host"]
    first.click()
    page.wait_for_selector('.row[data-anchor="h1"]')
    page.wait_for_selector('.row.event[data-anchor="e1"]')


def test_slash_command_is_shown_as_it_was_typed(page):
    assert page.inner_text('.row[data-anchor="u1"] .body') == "/fix the total"
    names = page.locator("#prompts li button").all_inner_texts()
    assert [name.split(maxsplit=1) for name in names] == [
        ["1", "/model"],
        ["2", "/fix the total"],
        ["3", "thanks"],
    ]


def test_times_are_relative_to_the_turn_and_each_day_is_named_once(page):
    assert page.inner_text('.row[data-anchor="u1"] .when') == "09:26:00"
    assert page.inner_text('.row[data-anchor="a2"] .when') == "+15 s"
    title = page.get_attribute('.row[data-anchor="a2"] .when', "title")
    assert title == "2026-03-14 09:26:15"
    days = page.locator(".day").all_inner_texts()
    assert days == ["Saturday 14 March 2026", "Sunday 15 March 2026"]


def test_model_is_named_where_it_changes(page):
    assert page.locator(".speaker .model").all_inner_texts() == ["model-x", "model-y"]
    assert page.locator(".speaker .who").all_inner_texts() == ["Claude Code"]


def test_keyboard_opens_a_group_and_enters_it(page):
    for key, selected in [("]", "u0"), ("]", "u1"), ("j", "a1"), ("j", None), ("o", None)]:
        page.keyboard.press(key)
        page.wait_for_selector(
            f'.row.selected[data-anchor="{selected}"]:focus'
            if selected
            else ".row.group.selected:focus"
        )
    page.keyboard.press("j")
    page.wait_for_selector('.row.selected[data-anchor="r1"]:focus')
    page.keyboard.press("k")
    page.keyboard.press("o")
    page.wait_for_selector('.row[data-anchor="r1"]', state="detached")


# Press keys without a pause, and return the anchors of the selected items until the focus arrives.
PRESS_FAST = """async ([keys, last]) => {
  const anchors = [];
  const observer = new MutationObserver(() => {
    const anchor = document.querySelector(".row.selected")?.dataset.anchor;
    if (anchor !== anchors.at(-1)) anchors.push(anchor);
  });
  observer.observe(document, {attributes: true, childList: true, subtree: true});
  for (const key of keys) {
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    await Promise.resolve();
  }
  while (document.activeElement?.dataset.anchor !== last)
    await new Promise((resolve) => requestAnimationFrame(resolve));
  observer.disconnect();
  return anchors;
}"""


def test_fast_keys_do_not_go_back_to_an_earlier_item(page):
    selected = page.evaluate(PRESS_FAST, [["]", "]", "j", "k", "["], "u0"])
    assert selected == ["u0", "u1", "a1", "u1", "u0"]


PRESS_AFTER_FRAMES = """async (frames) => {
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const selected = () => document.querySelector(".row.selected")?.dataset.anchor;
  press("g");
  while (document.activeElement.dataset.anchor !== "p0") await frame();
  const anchors = [];
  const observer = new MutationObserver(() => {
    if (selected() && anchors.at(-1) !== selected()) anchors.push(selected());
  });
  observer.observe(document, {attributes: true, childList: true, subtree: true});
  press("]");
  await Promise.resolve();
  for (let at = 0; at < frames; at++) await frame();
  press("]");
  while (document.activeElement.dataset.anchor !== "p2") await frame();
  for (let at = 0; at < 5; at++) await frame();
  observer.disconnect();
  return anchors.filter((anchor) => anchor !== "p0");
}"""


def test_late_focus_does_not_undo_a_second_key(browser, tmp_path):
    entries = [say("user", f"p{number}", "go") for number in range(9)]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    for frames in range(5):
        assert page.evaluate(PRESS_AFTER_FRAMES, frames) == ["p1", "p2"], frames
    page.close()


def test_next_failure_opens_its_group(page):
    page.keyboard.press("e")
    page.wait_for_selector('.row.selected.failed[data-anchor="c3"]:focus')


@pytest.mark.parametrize(
    ("name", "anchor"), [("c2", "c2"), ("e2", "e2"), ("r1", "r1"), ("turn-3", "u2")]
)
def test_link_opens_what_the_entry_is_folded_in(browser, address, name, anchor):
    page = open_page(browser, f"{address}#{name}")
    page.wait_for_selector(f'.row.selected[data-anchor="{anchor}"]')
    page.close()


def test_link_to_a_missing_turn_is_reported(browser, address):
    page = open_page(browser, f"{address}#turn-9")
    page.wait_for_selector("[role=alert]:has-text('turn-9')")
    page.close()


def test_search_shows_its_matches_without_folding(page):
    page.keyboard.press("/")
    page.keyboard.type("rounding error")
    page.wait_for_selector('.row.reasoning[data-anchor="r1"]')
    # The page searches while a person types, so the first match may mark only a part of the words.
    page.wait_for_selector(".row .snippet mark:text-is('rounding error')")
    wait_for_count(page, ".row", 1)
    assert page.inner_text(".row .snippet") == "Probably a rounding error."
    page.click("text=Show all")
    page.wait_for_selector(".row.group")


def test_search_scrolls_to_its_matches(browser, tmp_path):
    entries = [say("assistant", f"a{number}", f"word {number}") for number in range(200)]
    page = open_page(browser, write_page(tmp_path, build_record(say("user", "u", "go"), *entries)))
    page.fill("input[type=search]", "word")
    page.wait_for_selector(".count:has-text('200 of 201')")
    top = page.locator('.row[data-anchor="a0"]').bounding_box()["y"]
    bottom = page.locator(".sticky").bounding_box()
    assert 0 <= top - bottom["y"] - bottom["height"] < 60
    page.close()


def test_hostile_match_is_shown_as_text(browser, tmp_path):
    text = "before \u202e<img src=x onerror=trap()> after"
    entries = [say("user", "u", "go"), say("reasoning", "r", text)]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    page.fill("input[type=search]", "<IMG src")
    page.wait_for_selector(".row .snippet mark:text-is('<img src')")
    assert "\\u202e" in page.inner_text(".row .snippet")
    assert page.evaluate("window.trapped") is None
    page.close()


def test_encrypted_thought_is_one_faint_mark(browser, tmp_path):
    entries = [say("user", "u", "go"), {"type": "reasoning", "id": "r"}, say("assistant", "a", "x")]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    row = page.locator('.row[data-anchor="r"]')
    assert row.locator(".sealed").inner_text() == "thought, encrypted by the provider"
    assert row.locator(".body, .fold").count() == 0
    page.close()


def test_message_without_text_has_no_empty_box(browser, tmp_path):
    entries = [say("user", "u", "go"), say("user", "h", "note", vacr={"speaker": "hook"})]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    page.click(".row.context .fold")
    page.wait_for_selector('.row[data-anchor="h"] .fold:has-text("note")')
    assert page.locator('.row[data-anchor="h"] .body').count() == 0
    page.close()


def test_prompt_without_anything_to_show_is_no_prompt(browser, tmp_path):
    blank = {"type": "user", "id": "b", "content": [], "vacr": {"speaker": "human"}}
    page = open_page(browser, write_page(tmp_path, build_record(blank)))
    assert page.locator(".row.user").count() == 0
    assert "message without text" in page.inner_text(".row.context")
    assert page.inner_text(".figures li >> nth=0") == "no prompt"
    page.close()


def test_prompt_that_came_as_json_has_lines(browser, tmp_path):
    text = r'"<context>\nRepository: pay\n</context>\n\nFix it.\nNow."'
    page = open_page(browser, write_page(tmp_path, build_record(say("user", "p", text))))
    lines = ["<context>", "Repository: pay", "</context>", "", "Fix it.", "Now."]
    assert page.inner_text(".story dd .words").split("\n") == lines
    assert page.inner_text(".row.user .body").split("\n") == lines
    page.hover(".row.user")
    page.click(".row.user .json")
    page.wait_for_selector(".row.user .output:has-text('Repository')")
    assert r"pay\\n</context>\\n\\nFix" in page.inner_text(".row.user .output")
    about_them = r"Replace \n\n by \n in C:\new\n.txt"
    page.close()
    page = open_page(browser, write_page(tmp_path, build_record(say("user", "p", about_them))))
    assert page.inner_text(".row.user .body") == about_them
    page.close()


def test_missing_results_of_tests_and_commit_are_not_shown_as_none(browser, tmp_path):
    entries = [
        say("user", "p", "go"),
        call(1, "Bash", {"command": "pytest -q"})[0],
        call(2, "Bash", {"command": "git commit -m x"})[0],
    ]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    figures = page.locator(".figures li").all_inner_texts()
    assert figures[3].startswith("? last test run: result not recorded (pytest")
    assert figures[4] == "? git commit (result not recorded)"
    page.click(".figures button:has-text('git commit')")
    page.wait_for_selector('.row.selected[data-anchor="c2"]')
    page.close()
    entries[2:] = call(2, "Bash", {"command": "git commit -m x | tail -1"}, "x")
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    assert page.locator(".figures li").nth(4).inner_text() == "? git commit (result unknown)"
    page.close()


def test_times_are_those_of_the_reader_and_name_the_recorded_one(browser, address):
    page = open_page(browser, address, timezone_id="Asia/Tokyo")
    assert "Sat 14 Mar 2026, 18:26" in page.inner_text(".line-of-facts")
    link = page.locator(".row.user .when >> nth=0")
    assert link.inner_text().startswith("18:26:")
    assert ", recorded as 2026-03-14T09:26:" in link.get_attribute("title")
    page.close()


def test_time_within_a_second_of_the_prompt_is_shown_on_demand(browser, tmp_path):
    entries = [
        say("user", "p", "go"),
        say("assistant", "a", "At once."),
        say("assistant", "b", "x", 2),
    ]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    page.mouse.move(0, 0)
    instant = page.locator('.row[data-anchor="a"] .when')
    assert instant.evaluate("link => getComputedStyle(link).opacity") == "0"
    later = page.locator('.row[data-anchor="b"] .when')
    assert later.evaluate("link => getComputedStyle(link).opacity") == "1"
    page.hover('.row[data-anchor="a"]')
    assert instant.evaluate("link => getComputedStyle(link).opacity") == "1"
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, {"width": 1000, "height": 700}, PHONE])
def test_line_of_a_group_stays_within_its_row(browser, tmp_path, size):
    entries = [say("user", "p", "go")]
    for number in range(1, 5):
        name = f"src/a_rather_long_name_of_a_component_{number}.module.css"
        edit = {"file_path": name, "old_string": "a", "new_string": "b\nc"}
        entries += call(4 * number, "Edit", edit)
        entries += call(4 * number + 1, "Read", {"file_path": f"{name}.txt"})
        entries += call(4 * number + 2, "Grep", {"pattern": "x" * 90})
        entries += call(4 * number + 3, "Bash", {"command": "ls " + "y" * 90}, is_error=number > 2)
    page = open_page(browser, write_page(tmp_path, build_record(*entries)), size)
    assert "2 failed" in page.inner_text(".row.group .what")
    edges = page.evaluate("""() => {
      const row = document.querySelector(".row.group");
      const right = (part) => part.getBoundingClientRect().right;
      const shown = [...row.querySelectorAll(".what, .touch")].filter((part) =>
        part.getBoundingClientRect().top < row.getBoundingClientRect().bottom);
      return [right(row), ...shown.map(right)];
    }""")
    assert max(edges[1:]) <= edges[0]
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_text_from_right_to_left_begins_at_the_right(browser, tmp_path, size):
    entries = [say("user", "p", "שלום 🙏🏽"), say("assistant", "a", "مرحبا `total.py`.", 2)]
    entries += [say("user", "q", "left"), say("assistant", "b", "x" * 5000, 3)]
    address = write_page(tmp_path, build_record(*entries), title="שלום " + "y" * 3000)
    page = open_page(browser, address, size)
    starts = page.evaluate("""() => ["p", "a", "q"].map((name) => {
      const body = document.querySelector(`[data-anchor="${name}"] :is(.plain, .marked p)`);
      const range = document.createRange();
      range.selectNodeContents(body);
      const [text, box] = [range.getBoundingClientRect(), body.getBoundingClientRect()];
      return text.left - box.left > box.right - text.right;
    })""")
    assert starts == [True, True, False]
    main = "[...document.querySelectorAll('html, main')].every(one => one.scrollWidth <= one.clientWidth)"
    assert page.evaluate(main)
    page.close()


def test_sub_agent_without_a_name_is_named_by_its_task(browser, tmp_path):
    task = say(
        "user", "t", "Build the form.\nWell.", 2, isSidechain=True, vacr={"speaker": "parent-agent"}
    )
    entries = [say("user", "p", "go"), task, say("assistant", "a", "Built.", 3, isSidechain=True)]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    assert page.inner_text(".row.agent .what") == "Sub-agent Build the form."
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, {"width": 1000, "height": 700}, PHONE])
def test_line_of_a_sub_agent_stays_within_its_row(browser, tmp_path, size):
    chain = {"isSidechain": True}
    task = say(
        "user", "t", "Build the form of " + "many words " * 20, vacr={"speaker": "parent-agent"}
    )
    entries = [say("user", "p", "go"), task | chain]
    for number, name in enumerate(["Read", "Edit", "Grep", "Bash", "mcp__jira__find"], 1):
        made, result = call(number, name, {"file_path": "/w/a"}, is_error=True)
        entries += [made | chain, result | chain]
    entries.append(say("assistant", "a", "Built " * 30, 9) | chain)
    page = open_page(browser, write_page(tmp_path, build_record(*entries)), size)
    assert "1 read failed" in page.inner_text(".row.agent .done")
    edges = page.evaluate("""() => [".row.agent", ".what", ".done", ".row.agent .summary"].map(
      (part) => document.querySelector(part).getBoundingClientRect().right)""")
    assert max(edges[1:]) <= edges[0]
    page.close()


def test_kind_of_an_event_is_not_cut_before_its_reason(browser, tmp_path):
    event = {
        "type": "system-event",
        "id": "e",
        "event-type": "session-error",
        "message": "why " * 80,
    }
    page = open_page(browser, write_page(tmp_path, build_record(say("user", "p", "go"), event)))
    kind = page.locator('[data-anchor="e"] .summary >> nth=0')
    assert kind.inner_text() == "session-error"
    assert kind.evaluate("kind => kind.scrollWidth <= kind.clientWidth")
    page.close()


def test_short_conversation_has_no_timeline(browser, tmp_path):
    entries = [say("user", "p", "go"), say("assistant", "a", "Gone.", 2)]
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    assert page.locator(".timeline").count() == 0
    page.close()


def test_phone_shows_the_signer_in_the_chip(browser, tmp_path):
    record = encode(build_record(say("user", "p", "go")))
    signer = KeySigner(generate_key("eddsa"))
    trust = PageTrust(parties=[PageParty("The billing team", [signer.public_key])])
    shown = PageRecord("a.acr.json", record, sign(record, signer))
    page = open_page(browser, write_page(tmp_path, shown, trust=trust), PHONE)
    page.wait_for_selector(".verdict.good")
    cut = "words => words.scrollWidth - words.clientWidth"
    assert page.locator(".verdict .words").evaluate(cut) <= 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_one_bad_record_makes_the_whole_page_bad(browser, tmp_path):
    verification = {"verified": False, "message": "", "checks": [], "modified": "its id is 'X'"}
    data = b'{"session": {"session-id": "s", "entries": []}}'
    good, bad = PageRecord("one", data), PageRecord("two", data, None, verification)
    page = open_page(browser, write_page(tmp_path, good, bad))
    page.wait_for_selector(".verdict.bad:has-text('✗ Modified (1 of 2 records)')")
    assert page.inner_text(".top.bad .why").startswith("two: The record was modified")
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_tabs_stay_visible_while_scrolling(browser, tmp_path, size):
    entries = [say("assistant", f"a{number}", "word " * 50) for number in range(60)]
    page = open_page(browser, write_page(tmp_path, build_record(say("user", "u", "go"), *entries)))
    page.set_viewport_size(size)
    page.keyboard.press("G")
    page.wait_for_selector('.row.selected[data-anchor="a59"]')
    box = page.locator(".tabs").bounding_box()
    assert 0 <= box["y"] < size["height"] / 3
    page.close()


FORMATTED = "Intro\n\n## Second\n\n#### Fourth\n\n# First\n\n|  | b |\n|---|---|\n| 1 | 2 |\n"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_bad_record_with_sub_agents_is_accessible(browser, tmp_path, size, scheme):
    if not AXE.exists():
        pytest.skip("needs axe-core: run npm ci in web/")
    parent = build_record(*ENTRIES, say("assistant", "a9", FORMATTED, day=15))
    child = build_record(say("user", "cu", "look", vacr={"speaker": "parent-agent"}), *ENTRIES[4:9])
    child["session"]["session-id"] = "s/agent-7"
    verification = {"verified": False, "message": "", "checks": [], "modified": "its id is 'X'"}
    records = [
        PageRecord(name, encode(record), None, verification)
        for name, record in (("one", parent), ("two", child))
    ]
    page = open_page(browser, write_page(tmp_path, *records), size, color_scheme=scheme)
    page.wait_for_selector(".top.bad .why")
    page.locator(".row.group .fold").first.click()
    page.locator(".row.agent .fold").first.click()
    page.wait_for_selector('.row[data-anchor="cu"]')
    page.evaluate(AXE.read_text())
    violations = page.evaluate("axe.run()")["violations"]
    assert [
        (violation["id"], [node["html"] for node in violation["nodes"]]) for violation in violations
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    levels = page.locator(".card .marked [aria-level]").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-level'))"
    )
    assert levels == ["3", "4", "3"]
    page.close()

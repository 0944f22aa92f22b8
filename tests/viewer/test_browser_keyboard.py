"""Keys and clicks that come faster than the page can draw have the same effect as slow ones."""

import pytest

from tests.viewer.browser import (
    NEEDS_CHROMIUM,
    PHONE,
    build_record,
    open_page,
    write_page,
)
from tests.viewer.test_browser_story import call, say

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]

# Each key is an event of its own, but no frame is drawn between two of them.
PRESS = """async keys => {
  const channel = new MessageChannel();
  for (const key of keys) {
    (document.activeElement ?? document.body).dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await new Promise(resolve => { channel.port1.onmessage = resolve; channel.port2.postMessage(0); });
  }
}"""
# Frames are late, as on a busy machine.
LATE_FRAMES = """
const draw = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = callback => draw(() => setTimeout(() => callback(performance.now()), 150));
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    calls = [
        entry
        for number in range(1, 7)
        for entry in call(
            number, "Bash", {"command": f"make {number}"}, "oh", number, is_error=number % 2 == 0
        )
    ]
    record = build_record(
        say("user", "u1", "Fix the total"), *calls, say("assistant", "a1", "Done.", 9)
    )
    return write_page(tmp_path_factory.mktemp("keys"), record)


@pytest.fixture
def page(browser, address):
    page = open_page(browser, address)
    yield page
    assert not page.complaints
    page.close()


def test_every_key_for_the_next_failure_counts(page):
    page.evaluate(PRESS, ["e", "e", "e"])
    page.wait_for_selector('.row.selected[data-anchor="c6"]')


def test_item_gets_no_focus_once_the_reader_searches(browser, address):
    context = browser.new_context()
    context.add_init_script(LATE_FRAMES)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".list[aria-busy=false]:not(:empty)")
    page.keyboard.press("j")
    page.keyboard.press("/")
    # A late focus would come before the last of these frames.
    page.evaluate(
        "async () => { for (let n = 0; n < 8; n++) await new Promise(requestAnimationFrame); }"
    )
    page.keyboard.type("make 3")
    page.wait_for_selector(".row mark, .row .summary:has-text('make 3')")
    assert page.input_value("input[type=search]") == "make 3"
    context.close()


def test_item_gets_the_focus_when_it_is_there_at_last(page):
    page.keyboard.press("G")
    page.wait_for_selector('.row.selected[data-anchor="a1"]:focus')


def test_escape_right_after_the_help_closes_it(page):
    page.evaluate(PRESS, ["?"])
    assert page.evaluate("document.querySelector('dialog').open")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_letter_typed_while_the_search_begins_is_kept(page):
    # The filter arrives between two letters; the second one must not be lost.
    page.evaluate(
        """async () => {
          const field = document.querySelector("input[type=search]");
          const type = text => {
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
          };
          type("mak");
          const status = document.querySelector(".count");
          await new Promise(resolve => {
            new MutationObserver((_, observer) => { observer.disconnect(); type("make 5"); resolve(); })
              .observe(document.querySelector("main"), { childList: true, subtree: true });
          });
        }"""
    )
    page.wait_for_selector(".count:has-text('1 of')")
    assert page.input_value("input[type=search]") == "make 5"


def test_filter_chosen_while_the_search_waits_is_kept(page):
    page.evaluate(
        """() => {
          const field = document.querySelector("input[type=search]");
          field.value = "make";
          field.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    page.evaluate("document.querySelector('.kinds button:last-child').click()")
    page.wait_for_selector(".count:has-text('3 of')")
    assert page.get_attribute(".kinds button:last-child", "aria-pressed") == "true"
    assert page.input_value("input[type=search]") == "make"


def test_slash_searches_from_the_files(page):
    page.keyboard.press("f")
    page.wait_for_selector(".tabs button:has-text('Files')[aria-pressed=true]")
    page.keyboard.press("/")
    page.keyboard.type("make 5")
    page.wait_for_selector(".count:has-text('1 of')")


def test_slash_opens_the_search_on_a_phone(browser, address):
    page = open_page(browser, address, PHONE)
    page.keyboard.press("/")
    page.keyboard.type("make 5")
    page.wait_for_selector(".row:has-text('make 5')")
    assert page.locator("input[type=search]").is_visible()
    page.close()

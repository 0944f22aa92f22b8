"""The timeline of the page: where it shows things, and how it moves through the conversation."""

import pytest

from tests.viewer.browser import (
    AXE,
    NEEDS_CHROMIUM,
    build_record,
    open_page,
    write_page,
)
from tests.viewer.in_node import Viewer
from vacr.record.encoding import encode

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]

TURNS = 30


def build_turns(count=TURNS, pause_hours=0):
    """Yield turns of a prompt, a call and an answer; a long pause comes before the last turn."""
    for number in range(count):
        hour = 8 + number // 60 + (pause_hours if number == count - 1 else 0)
        time = f"2026-03-14T{hour:02d}:{number % 60:02d}"
        yield {
            "type": "user",
            "id": f"u{number}",
            "content": f"ask {number}",
            "timestamp": f"{time}:00Z",
        }
        yield {
            "type": "tool-call",
            "id": f"c{number}",
            "call-id": f"k{number}",
            "name": "Bash",
            "input": {"command": "ls"},
            "timestamp": f"{time}:10Z",
        }
        yield {
            "type": "tool-result",
            "call-id": f"k{number}",
            "output": "x",
            "is-error": number == 20,
        }
        text = "word " * 80
        yield {"type": "assistant", "id": f"a{number}", "content": text, "timestamp": f"{time}:20Z"}


@pytest.fixture
def page(browser, tmp_path):
    page = open_page(browser, write_page(tmp_path, build_record(*build_turns())))
    page.wait_for_selector(".strip-of-time")
    yield page
    assert not page.complaints
    page.close()


def find_place(page, part: float) -> tuple[float, float]:
    """Return the coordinates of a place in the timeline; 0 is its beginning and 1 its end."""
    box = page.locator(".strip-of-time").bounding_box()
    return box["x"] + part * (box["width"] - 1), box["y"] + box["height"] / 2


def wait_for_visible(page, anchor: str) -> None:
    """Wait until a row is on the screen."""
    page.wait_for_function(
        """anchor => {
            const row = document.querySelector(`.row[data-anchor="${anchor}"]`);
            const main = document.querySelector("main").getBoundingClientRect();
            const box = row?.getBoundingClientRect();
            return box && box.bottom > main.top && box.top < main.bottom;
        }""",
        arg=anchor,
    )


def test_click_leads_to_the_failure(page):
    page.mouse.click(*find_place(page, 20.05 / (TURNS - 0.67)))
    page.wait_for_selector('.row.selected[data-anchor="c20"]')


def test_dragging_scrolls_and_selects_nothing(page):
    page.mouse.move(*find_place(page, 0))
    page.mouse.down()
    page.mouse.move(*find_place(page, 0.5))
    wait_for_visible(page, "u15")
    page.mouse.move(*find_place(page, 1))
    wait_for_visible(page, "a29")
    page.mouse.up()
    assert page.locator(".row.selected").count() == 0


def test_place_under_the_pointer_is_described(page):
    page.mouse.move(*find_place(page, 0.001))
    page.wait_for_selector(".strip-of-time .label:text-is('08:00 · turn 1: ask 0')")
    page.mouse.move(*find_place(page, 20.05 / (TURNS - 0.67)))
    page.wait_for_selector(".strip-of-time .label:has-text('turn 21: ask 20 · 1 failure')")


def test_frame_follows_the_screen(page):
    page.keyboard.press("G")
    page.wait_for_selector('.row.selected[data-anchor="a29"]')
    page.wait_for_function(
        "() => document.querySelector('.strip-of-time .view')?.getBBox().x > 500"
    )
    page.keyboard.press("g")
    page.wait_for_function("() => document.querySelector('.strip-of-time .view')?.getBBox().x < 10")


def test_arrow_keys_move_through_time(page):
    page.focus(".strip-of-time")
    page.keyboard.press("End")
    wait_for_visible(page, "a29")
    page.keyboard.press("Home")
    wait_for_visible(page, "u0")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".strip-of-time[aria-valuetext^='08:00']:not([aria-valuenow='1'])")
    page.keyboard.press("Enter")
    page.wait_for_selector('.row.selected[data-anchor="a0"]')


def test_timeline_is_accessible(page):
    if not AXE.exists():
        pytest.skip("needs axe-core: run npm ci in web/")
    page.evaluate(AXE.read_text())
    assert [violation["id"] for violation in page.evaluate("axe.run()")["violations"]] == []


def divide(entries):
    """Return the parts of the timeline of a conversation."""
    viewer = Viewer()
    overview = viewer.open_records(encode(build_record(*entries)))["overview"]["overview"]
    viewer.close()
    return overview["buckets"], overview["span"]


def test_long_pause_takes_little_room():
    buckets, span = divide(build_turns(pause_hours=12))
    last = next(at for at, bucket in enumerate(buckets) if bucket["first"] == 3 * (TURNS - 1))
    assert 0.7 * len(buckets) < last < len(buckets)
    assert span == ["2026-03-14 08:00:00", "2026-03-14 20:29:20"]


def test_rows_without_times_are_divided_evenly():
    entries = [{**entry, "timestamp": None} for entry in build_turns(10)]
    for entry in entries:
        del entry["timestamp"]
    buckets, span = divide(entries)
    assert span is None
    assert [bucket["rows"] for bucket in buckets] == [1] * 30


def test_row_with_a_late_time_moves_no_frame():
    entries = list(build_turns(10))
    late = {**entries[-1], "id": "copied", "type": "system-event", "event-type": "x"}
    viewer = Viewer()
    record = build_record(entries[0], late, *entries[1:])
    overview = viewer.open_records(encode(record))["overview"]["overview"]
    viewer.close()
    numbers, buckets = overview["bucketOfRow"], overview["buckets"]
    assert numbers == sorted(numbers)
    assert numbers[1] == numbers[0] == 0
    assert 1 not in [bucket["first"] for bucket in buckets]

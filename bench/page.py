"""Measure the page of `vacr view` in Chromium, and the first screen of the app."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sessions import CORPUS

import vacr
from vacr.app import LocalApp
from vacr.archive import SearchIndex, SourceVersion, build_record_rows
from vacr.record.encoding import assign_record_id, decode, encode
from vacr.viewer import page as viewer_page
from vacr.viewer.page import Page, PageRecord

ENTRIES = 30_000
CONVERSATIONS = 10_000
APP_RUNS = 7
LAST_START = 1_780_000_000_000
"""When the newest conversation began, in milliseconds since 1970."""
EXAMPLE = Path(__file__).parent.parent / "examples" / "claude-code.jsonl"
WATCH = """new MutationObserver(() => {
  if (!window.firstCard && document.querySelector(".card .figures li"))
    requestAnimationFrame(() => { window.firstCard ??= performance.now(); });
  if (!window.firstRow && document.querySelector(".row"))
    requestAnimationFrame(() => { window.firstRow ??= performance.now(); });
  if (!window.firstTile && document.querySelector(".tile"))
    requestAnimationFrame(() => { window.firstTile ??= performance.now(); });
  if (!window.allRows && document.querySelector(".list[aria-busy=false]"))
    window.allRows = performance.now();
}).observe(document, { childList: true, subtree: true, attributes: true });"""
SCROLLS = """async () => {
  const main = document.querySelector("main");
  const times = [];
  let last = performance.now();
  for (let step = 0; step < 240; step++) {
    main.scrollTop += 400;
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - last);
    last = performance.now();
  }
  return times.sort((one, other) => one - other);
}"""
JUMPS = """async () => {
  const main = document.querySelector("main");
  const times = [];
  for (let step = 0; step < 40; step++) {
    main.scrollTop = ((step * 7919) % 100) / 100 * main.scrollHeight;
    const begun = performance.now();
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - begun);
  }
  return times.sort((one, other) => one - other);
}"""


def build_long_record(count: int = ENTRIES) -> bytes:
    """Return a record of many entries: the example's, repeated with varying texts."""
    (record,) = vacr.read(str(EXAMPLE))
    entries = record["session"]["entries"]
    repeated = []
    for number in range(count):
        entry = decode(
            encode(entries[number % len(entries)]).replace(b"toolu_", b"toolu_%d_" % number)
        )
        entry["id"] = f"e{number}"
        if isinstance(entry.get("content"), str):
            entry["content"] = f"{entry['content']} ({number}) " + "and so on. " * (number % 40)
        repeated.append(entry)
    record["session"]["entries"] = repeated
    assign_record_id(record)
    return encode(record)


def page() -> None:
    """Measure how fast the page of a long record is, and how large pages are."""
    chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if chromium is None:
        print("page                not measured: Chromium is not installed")
        return
    from playwright.sync_api import sync_playwright

    data = build_long_record()
    template = Path(viewer_page.__file__).with_name("page.html").read_text()
    start = time.perf_counter()
    html = b"".join(Page("bench", [PageRecord("bench.acr.json", data)]).pieces(template))
    build_seconds = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        target = Path(folder) / "page.html"
        target.write_bytes(html)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 860})
        tab.add_init_script(WATCH)
        tab.goto(target.as_uri())
        tab.wait_for_selector(".list[aria-busy=false] .row")
        first_card, first_row, all_rows = tab.evaluate(
            "[window.firstCard, window.firstRow, window.allRows]"
        )
        scrolls, jumps = tab.evaluate(SCROLLS), tab.evaluate(JUMPS)
        browser.close()
        _measure_app(driver, chromium)
    print(
        f"page                card on screen after {first_card / 1000:.2f} s, first row after "
        f"{first_row / 1000:.2f} s, all rows after {all_rows / 1000:.2f} s"
    )
    print(
        f"                    ({ENTRIES} entries, {len(data) / 1e6:.1f} MB; built in "
        f"{build_seconds:.1f} s)"
    )
    print(
        f"  scrolling         median {scrolls[120]:.0f} ms a frame, 95 % under "
        f"{scrolls[228]:.0f} ms"
    )
    print(f"  jumping           median {jumps[20]:.0f} ms, at most {jumps[-1]:.0f} ms")
    _measure_page_size(template)


def _measure_app(driver: Any, chromium: str) -> None:
    """Measure the first screen of the app, with an index of many conversations."""
    with tempfile.TemporaryDirectory() as folder:
        _fill_index(Path(folder))
        app = LocalApp(Path(folder), environment={"HOME": folder})
        # The conversations have no files here, so a refresh would remove them.
        vars(app)["_refresh"] = lambda: None
        with app:
            server = threading.Thread(target=app.serve_forever)
            server.start()
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            times = []
            for _ in range(APP_RUNS):
                tab = browser.new_page(viewport={"width": 1280, "height": 860})
                tab.add_init_script(WATCH)
                tab.goto(app.make_address())
                tab.wait_for_selector(".tile")
                tab.wait_for_timeout(100)
                times.append(tab.evaluate("window.firstTile"))
                tab.close()
            browser.close()
            app.stop()
            server.join()
    print(
        f"app                 first screen after {sorted(times)[APP_RUNS // 2]:.0f} ms at the "
        f"median, {min(times):.0f} ms at best ({CONVERSATIONS:,} conversations)"
    )


def _fill_index(folder: Path) -> None:
    """Write an index of many small conversations: the example's, under other names and times."""
    (record,) = vacr.read(str(EXAMPLE))
    rows = build_record_rows(record)
    with closing(SearchIndex.open(folder)) as index, index.transaction():
        for number in range(CONVERSATIONS):
            start = LAST_START - number * 3_600_000
            day = datetime.fromtimestamp(start / 1000, UTC).date().isoformat()
            record_row = {
                **rows.record,
                "session": f"s{number}",
                "title": f"Conversation {number}",
                "repo": f"git.example/team/repository-{number % 100}",
                "start_ms": start,
                "end_ms": start + 600_000,
            }
            usage = [{**row, "day": day} for row in rows.usage]
            own = dataclasses.replace(rows, record=record_row, usage=usage)
            index.add_source(SourceVersion(f"/x/{number}", "", 1, number, str(number)), [own])


def _measure_page_size(template: str) -> None:
    """Compare the pages of real sessions with their records."""
    record_total = page_total = 0
    for path in sorted(CORPUS.glob("claude/*.jsonl"), key=lambda path: path.stat().st_size)[-10:]:
        for record in vacr.read(str(path)):
            data = encode(record)
            record_total += len(data)
            page_total += sum(map(len, Page("bench", [PageRecord("bench", data)]).pieces(template)))
    if record_total:
        print(
            f"  size              {page_total / record_total:.2f} x the record "
            f"({record_total / 1e6:.1f} MB of real sessions)"
        )

"""The page of `vacr view` in a real browser: the first row and scrolling of 30,000 entries, and the
size of the file.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from sessions import CORPUS

import vacr
from vacr.record.encoding import assign_record_id, decode, encode
from vacr.viewer import page as viewer_page
from vacr.viewer.page import Page, PageRecord

ENTRIES = 30_000
EXAMPLE = Path(__file__).parent.parent / "examples" / "claude-code.jsonl"
WATCH = """new MutationObserver(() => {
  if (!window.firstRow && document.querySelector(".row"))
    requestAnimationFrame(() => { window.firstRow ??= performance.now(); });
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


def long_record(count: int = ENTRIES) -> bytes:
    """Give a record of many entries, made of the example's again and again, each time said in other
    words.
    """
    (made,) = vacr.read(str(EXAMPLE))
    entries = made["session"]["entries"]
    many = []
    for number in range(count):
        entry = decode(
            encode(entries[number % len(entries)]).replace(b"toolu_", b"toolu_%d_" % number)
        )
        entry["id"] = f"e{number}"
        if isinstance(entry.get("content"), str):
            entry["content"] = f"{entry['content']} ({number}) " + "and so on. " * (number % 40)
        many.append(entry)
    made["session"]["entries"] = many
    assign_record_id(made)
    return encode(made)


def page() -> None:
    """Print how fast a page of a long record is, and how large."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("page: no Chromium, not measured")
        return
    from playwright.sync_api import sync_playwright

    data = long_record()
    template = Path(viewer_page.__file__).with_name("page.html").read_text()
    begun = time.perf_counter()
    html = b"".join(Page("bench", [PageRecord("bench.acr.json", data)]).pieces(template))
    making = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        target = Path(folder) / "page.html"
        target.write_bytes(html)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 860})
        tab.add_init_script(WATCH)
        tab.goto(target.as_uri())
        tab.wait_for_selector(".list[aria-busy=false] .row")
        first, whole = tab.evaluate("[window.firstRow, window.allRows]")
        scrolls, jumps = tab.evaluate(SCROLLS), tab.evaluate(JUMPS)
        browser.close()
    print(
        f"page                first row on screen after {first / 1000:.2f} s, all after "
        f"{whole / 1000:.2f} s"
    )
    print(
        f"                    ({ENTRIES} entries, {len(data) / 1e6:.1f} MB; the page was made "
        f"in {making:.1f} s)"
    )
    print(
        f"  a frame           median {scrolls[120]:.0f} ms while scrolling, 95 % under "
        f"{scrolls[228]:.0f} ms"
    )
    print(f"  a jump            median {jumps[20]:.0f} ms to anywhere, {jumps[-1]:.0f} ms at most")
    _size(template)


def _size(template: str) -> None:
    """Compare the pages of real sessions with their records."""
    records = pages_ = 0
    for path in sorted(CORPUS.glob("claude/*.jsonl"), key=lambda path: path.stat().st_size)[-10:]:
        for record in vacr.read(str(path)):
            data = encode(record)
            records += len(data)
            pages_ += sum(map(len, Page("bench", [PageRecord("bench", data)]).pieces(template)))
    if records:
        print(
            f"  its size          {pages_ / records:.2f} x the record ({records / 1e6:.1f} MB "
            "of real sessions)"
        )

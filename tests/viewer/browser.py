"""Debian's Chromium, driven by Playwright; where there is none, its tests say that they are
skipped.
"""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.viewer.in_node import PAGE
from vacr.viewer.page import Page, PageRecord

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
TEMPLATE = PAGE.read_text()
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 800}

NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: the page is not tested in a browser"
)


@contextmanager
def started():
    """Give a browser, for the time of some tests."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield found
        found.close()


def written(folder: Path, *records, name="page.html", title="A title", **settings) -> str:
    """Write a page of records, given as values or as what is shown of them; give its address."""
    shown = [
        one if isinstance(one, PageRecord) else PageRecord(f"r{at}.acr.json", _encoded(one))
        for at, one in enumerate(records)
    ]
    target = folder / name
    target.write_bytes(b"".join(Page(title, shown, **settings).pieces(TEMPLATE)))
    return target.as_uri()


def _encoded(record) -> bytes:
    return (
        record
        if isinstance(record, bytes)
        else json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )


def record(*entries, **members) -> dict:
    """Make a record of entries."""
    meta = {
        "model-id": "model-x",
        "model-provider": "p",
        "cli-name": "claude-code",
        "cli-version": "1",
    }
    session = {"session-id": "s", "agent-meta": meta, "entries": list(entries)}
    return {"version": "3.0.0-draft", "id": "r", "session": session, **members}


def opened(browser, address: str, size=None, **settings):
    """Open a page, and wait until its rows are there; what it complains about, or would fetch, is
    kept with it.
    """
    page = browser.new_page(viewport=size or DESKTOP, **settings)
    page.complaints, page.fetched = [], []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on(
        "console",
        lambda line: (
            page.complaints.append(line.text) if line.type in ("error", "warning") else None
        ),
    )
    page.on("request", lambda request: page.fetched.append(request.url))
    page.add_init_script(
        "window.trap = () => { window.trapped = true; }; window.alert = window.confirm = "
        "window.prompt = window.trap;"
    )
    page.goto(address)
    page.wait_for_selector(".list[aria-busy=false], .cards, .banner.bad")
    return page


def wait_count(page, selector: str, count: int) -> None:
    """Wait until there are so many of something."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_have_count(count)

"""Chromium, driven by Playwright. Tests that need it are skipped if it is not installed.

The headless shell is the same engine without windows. It takes less than half the CPU time.
"""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.viewer.in_node import PAGE
from vacr.viewer.page import Page, PageRecord

_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = next(filter(None, map(shutil.which, _PROGRAMS)), None)
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
TEMPLATE = PAGE.read_text()
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 800}

NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


# In milliseconds. A busy machine may take long; the limit only ends a test that would never end.
PATIENCE = 300_000


@contextmanager
def start_browser():
    """Yield a running browser."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def write_page(folder: Path, *records, name="page.html", title="A title", **settings) -> str:
    """Write a page with records, given as values, bytes or `PageRecord`; return its address."""
    page_records = [
        record
        if isinstance(record, PageRecord)
        else PageRecord(f"r{number}.acr.json", _encode_record(record))
        for number, record in enumerate(records)
    ]
    target = folder / name
    target.write_bytes(b"".join(Page(title, page_records, **settings).pieces(TEMPLATE)))
    return target.as_uri()


def _encode_record(record) -> bytes:
    return (
        record
        if isinstance(record, bytes)
        else json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )


def build_record(*entries, **members) -> dict:
    """Return a record with these entries."""
    meta = {
        "model-id": "model-x",
        "model-provider": "p",
        "cli-name": "claude-code",
        "cli-version": "1",
    }
    session = {"session-id": "s", "agent-meta": meta, "entries": list(entries)}
    return {"version": "3.0.0-draft", "id": "r", "session": session, **members}


def open_page(browser, address: str, size=None, **settings):
    """Open a page, wait until its rows are there, and collect its error messages and requests."""
    page = browser.new_page(viewport=size or DESKTOP, **settings)
    page.set_default_timeout(PATIENCE)
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
    page.wait_for_selector(".list[aria-busy=false]:not(:empty), .empty, .cards, .verdict.bad")
    return page


def wait_for_count(page, selector: str, count: int) -> None:
    """Wait until a selector matches so many elements."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_have_count(count)

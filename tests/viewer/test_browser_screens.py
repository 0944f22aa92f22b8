"""Every screen of the page and of the index of an archive is accessible: both sizes, both themes."""

import pytest

import vacr
from tests.conftest import EXAMPLES
from tests.viewer.browser import (
    AXE,
    DESKTOP,
    NEEDS_CHROMIUM,
    PHONE,
    TEMPLATE,
    build_record,
    open_page,
    write_page,
)
from vacr.record.encoding import encode
from vacr.viewer.archive_texts import list_search_texts
from vacr.viewer.page import PageRecord, render_site_index
from vacr.viewer.totals import VERDICT_FAILED, build_index_card

pytestmark = [
    pytest.mark.component,
    NEEDS_CHROMIUM,
    pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: run npm ci in web/"),
]

EMPTY, SAMPLE, BAD, INDEX = "empty", "sample", "bad", "index"


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """Return the addresses of the pages by name."""
    folder = tmp_path_factory.mktemp("screens")
    (record,) = vacr.read(str(EXAMPLES / "claude-code.jsonl"))
    reason = "its id is 'X'"
    verification = {"verified": False, "message": reason, "checks": [], "modified": reason}
    bad = PageRecord("a.acr.json", encode(record), None, verification)
    card = build_index_card([record], "a", f"{SAMPLE}.html", VERDICT_FAILED, reason)
    cards = [card, card | {"name": "b", "start": "2026-01-01 10:00:00", "repo": "git.example/b"}]
    texts = [list(list_search_texts([record])), []]
    index = folder / f"{INDEX}.html"
    index.write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards, texts=texts)))
    return {
        EMPTY: write_page(folder, build_record(), name=f"{EMPTY}.html"),
        SAMPLE: write_page(folder, encode(record), name=f"{SAMPLE}.html"),
        BAD: write_page(folder, bad, name=f"{BAD}.html"),
        INDEX: index.as_uri(),
    }


def open_entry_as_json(page):
    page.keyboard.press("G")
    page.wait_for_selector(".row.selected")
    page.locator(".row.selected .json, .row.selected .fold").first.click()


def show_files_side_by_side(page):
    page.keyboard.press("f")
    page.wait_for_selector(".hunk")
    if page.locator(".layout").is_visible():
        page.click("button:has-text('Side by side')")
        page.wait_for_selector(".hunk.split")


def search(words, found):
    def do(page):
        if page.locator(".tabs .menu").is_visible():
            page.click(".tabs .menu")
        page.fill("input[type=search]", words)
        page.wait_for_selector(found)

    return do


def press(key, found):
    def do(page):
        page.keyboard.press(key)
        page.wait_for_selector(found)

    return do


SCREENS = {
    "conversation": (SAMPLE, lambda page: page.wait_for_selector(".row.group")),
    "failure": (SAMPLE, press("e", ".row.failed.selected")),
    "json": (SAMPLE, open_entry_as_json),
    "files": (SAMPLE, show_files_side_by_side),
    "help": (SAMPLE, press("?", "dialog[open]")),
    "timeline": (SAMPLE, lambda page: page.hover(".strip-of-time")),
    "search": (SAMPLE, search("total", ".row mark")),
    "no matches": (SAMPLE, search("no such words", ".empty")),
    "empty conversation": (EMPTY, lambda page: page.wait_for_selector(".empty")),
    "no files": (EMPTY, press("f", ".empty:has-text('changed a file')")),
    "bad record": (BAD, lambda page: page.click(".verdict")),
    "archive": (INDEX, lambda page: page.click(".metrics button:has-text('Failures')")),
    "hits in an archive": (INDEX, search("rounded", ".hit mark")),
    "no hits in an archive": (INDEX, search("no such words", ".empty")),
}


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("screen", SCREENS)
def test_screen_is_accessible(browser, addresses, screen, size):
    name, show = SCREENS[screen]
    page = open_page(browser, addresses[name], size)
    show(page)
    page.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        violations = page.evaluate("axe.run()")["violations"]
        found = [
            (violation["id"], [node["html"][:200] for node in violation["nodes"]])
            for violation in violations
        ]
        assert (theme, found) == (theme, [])
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.complaints == []
    page.close()

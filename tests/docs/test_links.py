"""Every link in the documentation has a target, and its index lists every page."""

import re

import pytest

from tests.conftest import ROOT
from tests.docs.pages import EVERY_PAGE

INDEX = ROOT / "docs" / "README.md"
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")


def list_links(page):
    """Return the links of a page to files of the project: the file, and the heading in it."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [
        (page.parent / target if target else page, heading)
        for target, heading in LINK.findall(text)
    ]


def list_anchors(page):
    """Return the anchors of a page's headings, built as GitHub does."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_have_targets(page):
    for target, heading in list_links(page):
        assert target.exists(), target
        assert not heading or heading in list_anchors(target), f"{target}#{heading}"


def test_every_page_is_in_the_index():
    indexes = [
        INDEX,
        *(
            page
            for page in EVERY_PAGE
            if page.name == INDEX.name and page.parent.parent == INDEX.parent
        ),
    ]
    linked = {target.resolve() for index in indexes for target, _ in list_links(index)}
    pages = {page for page in EVERY_PAGE if page.is_relative_to(INDEX.parent) and page != INDEX}
    # Folders named `pages` contain parts that the generator of the mapping inserts.
    assert {page for page in pages if "pages" not in page.parts} <= linked

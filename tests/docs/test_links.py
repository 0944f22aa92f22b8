"""Links in the documentation lead somewhere, and every page can be found from its index."""

import re

import pytest

from tests.conftest import ROOT
from tests.docs.pages import EVERY_PAGE

INDEX = ROOT / "docs" / "README.md"
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")


def links(page):
    """Give the links of a page to files of ours: where to, and to which heading."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [
        (page.parent / target if target else page, heading)
        for target, heading in LINK.findall(text)
    ]


def headings(page):
    """Give the names by which headings of a page can be linked to, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target, heading in links(page):
        assert target.exists(), target
        assert not heading or heading in headings(target), f"{target}#{heading}"


def test_every_page_is_in_the_index():
    indexes = [
        INDEX,
        *(
            page
            for page in EVERY_PAGE
            if page.name == INDEX.name and page.parent.parent == INDEX.parent
        ),
    ]
    linked = {target.resolve() for index in indexes for target, _ in links(index)}
    pages = {page for page in EVERY_PAGE if page.is_relative_to(INDEX.parent) and page != INDEX}
    # What makes the pages of the mapping has its pieces beside it.
    assert {page for page in pages if "pages" not in page.parts} <= linked

"""The page as a file: current, small, and with a strict content security policy."""

import base64
import gzip
import hashlib
import importlib.util
import json
import re

import pytest

from tests.conftest import ROOT
from tests.viewer.in_node import PAGE
from vacr.viewer.page import DATA_PLACEHOLDER, Page, PageRecord, render_site_index

WEB = ROOT / "web"
MAX_SIZE = 150_000
TEMPLATE = PAGE.read_text()


def hash_sources() -> str:
    """Hash the sources of the page, as the build does."""
    names = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"]
    whole = hashlib.sha256()
    for name in sorted([*names, *(f"src/{path.name}" for path in (WEB / "src").iterdir())]):
        data = (WEB / name).read_bytes()
        whole.update(f"{name}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()


def test_page_is_current():
    (digest,) = re.findall(r'<meta name="vacr-sources" content="([0-9a-f]{64})"', TEMPLATE)
    assert digest == hash_sources(), "web/ has changed since the page was built: run make web"


def test_tables_of_the_page_are_current():
    spec = importlib.util.spec_from_file_location("tables", WEB / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    assert tables.TARGET.read_text() == tables.build_tables(), (
        "Python's tables have changed: run make web"
    )


def test_viewer_is_small():
    assert len(gzip.compress(TEMPLATE.encode(), 9)) < MAX_SIZE


def test_lock_file_names_no_host():
    assert "resolved" not in (WEB / "package-lock.json").read_text()


def test_policy_allows_only_the_viewer():
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', TEMPLATE)
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["worker-src"] == "blob:"
    assert set(rules) == {
        "default-src",
        "script-src",
        "style-src",
        "img-src",
        "worker-src",
        "base-uri",
        "form-action",
    }
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}\b[^>]*>([\s\S]*?)</{tag}>", TEMPLATE)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert TEMPLATE.index("Content-Security-Policy") < TEMPLATE.index("<script")


def test_viewer_refers_to_no_other_host():
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", TEMPLATE)


HOSTILE = "</script><script>alert(1)</script><!--\u202e&\"'"


@pytest.mark.parametrize("kind", ["page", "site"])
def test_hostile_data_cannot_leave_its_element(kind):
    if kind == "page":
        pieces = Page(HOSTILE, [PageRecord(HOSTILE, b"{}", b"\x00", {"message": HOSTILE})]).pieces(
            TEMPLATE
        )
    else:
        pieces = render_site_index(TEMPLATE, HOSTILE, [{"title": HOSTILE}])
    html = b"".join(pieces).decode()
    _, tail = TEMPLATE.split(DATA_PLACEHOLDER)

    scripts = re.findall(r"<script\b([^>]*)>", html)
    assert [script for script in scripts if "module" not in script] == [
        ' type="application/json" id="vacr-page"',
        *(
            [
                ' type="application/octet-stream" id="record-0"',
                ' type="application/octet-stream" id="statement-0"',
            ]
            if kind == "page"
            else []
        ),
    ]
    assert "alert(1)</script>" not in html
    assert html.endswith(tail)
    (description,) = re.findall(r'id="vacr-page">(.*?)</script>', html)
    assert "\\u202e" in json.loads(description)["title"]


def test_page_is_reproducible():
    pages = [
        b"".join(Page("t", [PageRecord("n", b"{}" * 1000)]).pieces(TEMPLATE)) for _ in range(2)
    ]
    assert pages[0] == pages[1]

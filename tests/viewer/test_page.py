"""The page as a file: fresh, small, and with a policy that lets nothing else run."""

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
LARGEST = 150_000
TEMPLATE = PAGE.read_text()


def made_of() -> str:
    """Give the digest of what the page is built from, as the build does."""
    names = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"]
    whole = hashlib.sha256()
    for name in sorted([*names, *(f"src/{path.name}" for path in (WEB / "src").iterdir())]):
        data = (WEB / name).read_bytes()
        whole.update(f"{name}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()


def test_the_page_is_built_from_these_sources():
    (found,) = re.findall(r'<meta name="vacr-sources" content="([0-9a-f]{64})"', TEMPLATE)
    assert found == made_of(), "web/ has changed since the page was built: make web"


def test_the_tables_are_those_of_python():
    spec = importlib.util.spec_from_file_location("tables", WEB / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    assert tables.TARGET.read_text() == tables.tables(), "Python's tables have changed: make web"


def test_the_viewer_is_small():
    assert len(gzip.compress(TEMPLATE.encode(), 9)) < LARGEST


def test_the_lock_names_no_host():
    assert "resolved" not in (WEB / "package-lock.json").read_text()


def test_the_policy_lets_nothing_run_but_the_viewer():
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


def test_the_viewer_names_nothing_to_be_fetched():
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", TEMPLATE)


HOSTILE = "</script><script>alert(1)</script><!--\u202e&\"'"


@pytest.mark.parametrize("made", ["page", "site"])
def test_what_is_in_a_page_cannot_leave_its_place(made):
    if made == "page":
        pieces = Page(HOSTILE, [PageRecord(HOSTILE, b"{}", b"\x00", {"message": HOSTILE})]).pieces(
            TEMPLATE
        )
    else:
        pieces = render_site_index(TEMPLATE, HOSTILE, [{"title": HOSTILE}])
    html = b"".join(pieces).decode()
    _, tail = TEMPLATE.split(DATA_PLACEHOLDER)

    scripts = re.findall(r"<script\b([^>]*)>", html)
    assert [one for one in scripts if "module" not in one] == [
        ' type="application/json" id="vacr-page"',
        *(
            [
                ' type="application/octet-stream" id="record-0"',
                ' type="application/octet-stream" id="statement-0"',
            ]
            if made == "page"
            else []
        ),
    ]
    assert "alert(1)</script>" not in html
    assert html.endswith(tail)
    (described,) = re.findall(r'id="vacr-page">(.*?)</script>', html)
    assert "\\u202e" in json.loads(described)["title"]


def test_the_same_record_gives_the_same_page():
    made = [b"".join(Page("t", [PageRecord("n", b"{}" * 1000)]).pieces(TEMPLATE)) for _ in range(2)]
    assert made[0] == made[1]

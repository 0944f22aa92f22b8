"""Hostile content: the page shows it and never runs it."""

import base64
import json

import pytest

from tests.viewer.browser import NEEDS_CHROMIUM, build_record, open_page, write_page
from vacr.viewer.page import PageRecord

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SVG = base64.b64encode(
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="trap()"><script>trap()</script></svg>'
).decode()

HOSTILE = {
    "script": "<script>trap()</script>",
    "script-end": "</script><script>trap()</script>",
    "comment": "<!--<script>trap()</script>-->",
    "image": "<img src=x onerror=trap()>",
    "svg": "<svg onload=trap()><animate onbegin=trap() attributeName=x dur=1s>",
    "math": "<math><mtext><table><mglyph><style><img src onerror=trap()>",
    "frame": "<iframe srcdoc='<script>parent.trap()</script>'></iframe>",
    "style": "<style>*{display:none}</style>",
    "form": "<form action=https://evil.example><input name=q autofocus onfocus=trap()></form>",
    "template": "<template><script>trap()</script></template>",
    "clobber": "<a id=app name=app href=x>x</a><form id=body><input name=children></form>",
    "markdown-link": "[click](javascript:trap())",
    "markdown-link-entities": "[click](&#106;avascript&colon;trap&lpar;&rpar;)",
    "markdown-data": "[click](data:text/html,<script>trap()</script>)",
    "markdown-vbscript": "[click](vbscript:trap())",
    "markdown-image": "![x](https://evil.example/pixel.png)",
    "markdown-image-js": "![x](javascript:trap())",
    "markdown-reference": "[click][1]\n\n[1]: javascript:trap()",
    "markdown-autolink": "<javascript:trap()>",
    "markdown-title": "[x](https://e.example \"a' onmouseover=trap() x='\")",
    "markdown-code": "```html\n</code></pre><script>trap()</script>\n```",
    "template-literal": "${trap()} {{trap()}} {%trap()%}",
    "ansi": "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "bidi": "if (admin\u202e \u2066// check\u2069 \u2066) {",
    "path": "../../../../etc/passwd\u0000.png",
    "formula": '=HYPERLINK("https://evil.example","x")',
}


def put_everywhere(text: str) -> dict:
    """Return a record with a text in every place for untrusted text."""
    edit = {"file_path": text, "old_string": text, "new_string": f"{text}\n{text}"}
    record = build_record(
        {
            "type": "user",
            "id": text,
            "content": text,
            "timestamp": "2026-01-01T00:00:00Z",
            "model-id": text,
        },
        {
            "type": "assistant",
            "id": "a",
            "content": [{"type": "text", "text": text}],
            "model-id": text,
            "vacr": {"superseded": text},
        },
        {"type": "reasoning", "content": text},
        {"type": "tool-call", "call-id": "k", "name": text, "input": {"command": text}},
        {
            "type": "tool-result",
            "call-id": "k",
            "output": [{"type": "text", "text": text}, {"type": text, "x": text}],
            "is-error": True,
        },
        {"type": "tool-call", "call-id": "e", "name": "Edit", "input": edit},
        {"type": "tool-result", "call-id": "e", "output": {"stdout": text, "stderr": text}},
        {"type": "system-event", "event-type": f"{text} error", "data": {text: text}},
        {"type": "assistant", "content": text, "isSidechain": True, "agentId": text},
    )
    record["session"]["agent-meta"] |= {"model-id": text, "cli-version": text}
    record["session"]["environment"] = {"working-dir": text}
    ranges = [{"start-line": 1, "end-line": 2, "contributor": {"type": "ai", "model-id": text}}]
    record["file-attribution"] = {"files": [{"path": text, "conversations": [{"ranges": ranges}]}]}
    proof = {"start-line": 1, "end-line": 2, "evidence": text, "entries": [text]}
    record["vacr"] = {"attribution": {"files": {text: {"ranges": [proof], "complete": True}}}}
    return record


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_shown_and_never_run(browser, tmp_path, name):
    text = HOSTILE[name]
    verification = {
        "verified": False,
        "message": text,
        "checks": [{"name": text, "outcome": "failed", "told": text}],
    }
    data = json.dumps(put_everywhere(text)).encode()
    record = PageRecord(text, data, b"\xd2\x84\x40\xa0\xf6\x40", verification)
    page = open_page(browser, write_page(tmp_path, record, title=text))
    page.select_option("select[aria-label=Detail]", "full")
    page.wait_for_selector(".row.event")
    page.click(".verdict")
    page.wait_for_selector(".details")
    for button in page.locator(".row .json").all():
        button.dispatch_event("click")
    for link in page.locator("main a:not(.when, .turn)").all():
        assert (link.get_attribute("href") or "https://").startswith(("https://", "mailto:"))
    page.click(".tabs button:has-text('Files')")
    page.wait_for_selector(".file")
    assert page.evaluate("window.trapped") is None
    assert (
        page.locator(
            "main script, main iframe, main form, main style, main img, main object, main embed"
        ).count()
        == 0
    )
    assert page.locator("main svg:not(.strip, [role=img], .bars svg)").count() == 0
    assert [url for url in page.fetched[1:] if not url.startswith("blob:")] == []
    assert not any("evil" in url for url in page.fetched)
    assert page.locator("#app").count() == 1
    page.close()


def open_entries(browser, tmp_path, *entries):
    page = open_page(browser, write_page(tmp_path, build_record(*entries)))
    page.select_option("select[aria-label=Detail]", "full")
    return page


def test_control_characters_are_shown_as_escapes(browser, tmp_path):
    for role in ("user", "assistant"):
        page = open_entries(
            browser, tmp_path, {"type": role, "content": HOSTILE["bidi"] + HOSTILE["ansi"]}
        )
        text = page.inner_text(".row")
        assert "\\u202e" in text
        assert "\\x1b" in text
        assert not {"\u202e", "\u2066", "\x1b"} & set(text)
        page.close()


def test_control_characters_in_html_entities_are_shown_as_escapes(browser, tmp_path):
    page = open_entries(
        browser,
        tmp_path,
        {
            "type": "assistant",
            "content": "a &#x202e;b&#8236; &rlm;c [d &#x2066;e](https://f.example/) &#27;[0m",
        },
    )
    text = page.inner_text(".row .marked")
    assert "a \\u202eb\\u202c \\u200fc d \\u2066e (f.example) \\x1b[0m" in text
    page.close()


def test_link_cannot_hide_its_host(browser, tmp_path):
    links = (
        f"[bank](https://bank.example{'-' * 99}@evil.example/) "
        f"[bank](https://evil.example/{'a' * 200}) [bank](https://[)"
    )
    page = open_entries(browser, tmp_path, {"type": "assistant", "content": links})
    texts = page.locator(".row .marked a").all_inner_texts()
    assert texts[0] == "bank (evil.example)"
    assert texts[1].startswith("bank (evil.example/aaa")
    assert texts[1].endswith("…)")
    assert page.locator(".row .marked a[href]").count() == 2
    page.close()


def test_huge_token_counts_are_added_up(browser, tmp_path):
    usage = {"input": 2**63, "output": 2**64 - 1, "cost": 1e308}
    page = open_entries(
        browser,
        tmp_path,
        *[{"type": "assistant", "content": "x", "token-usage": usage} for _ in range(2)],
    )
    page.click(".verdict")
    facts = page.inner_text("dl.facts")
    assert "18,446,744,073,709,552,000 in" in facts
    assert "Infinity" not in facts
    page.close()


def test_links_show_their_target(browser, tmp_path):
    page = open_entries(
        browser,
        tmp_path,
        {
            "type": "assistant",
            "content": "[your bank](https://evil.example/x) and [bad](javascript:trap())",
        },
    )
    links = page.locator(".row .marked a")
    assert links.nth(0).inner_text() == "your bank (evil.example/x)"
    assert {"noopener", "noreferrer"} <= set(links.nth(0).get_attribute("rel").split())
    assert links.nth(1).get_attribute("href") is None
    assert "javascript:trap()" in links.nth(1).inner_text()
    page.close()


def test_markdown_is_rendered_and_its_html_shown_as_text(browser, tmp_path):
    page = open_entries(
        browser,
        tmp_path,
        {
            "type": "assistant",
            "content": "# Title\n\n**bold** <b onclick=trap()>raw</b>\n\n| a |\n|---|\n| 1 |",
        },
    )
    assert page.locator(".row .marked strong").inner_text() == "bold"
    assert page.locator(".row .marked td").inner_text() == "1"
    assert "<b onclick=trap()>raw</b>" in page.inner_text(".row .marked")
    page.close()


def build_image(media: str, data: str) -> dict:
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def test_only_images_of_known_types_are_shown(browser, tmp_path):
    blocks = [
        build_image("image/png", PIXEL),
        build_image("image/svg+xml", SVG),
        build_image("text/html", SVG),
        build_image('image/png" onload="trap()', PIXEL),
        build_image("image/png", "!!"),
    ]
    page = open_entries(
        browser,
        tmp_path,
        {
            "type": "user",
            "content": [
                *blocks,
                {"type": "input_image", "image_url": "https://evil.example/x.png"},
            ],
        },
    )
    assert [element.get_attribute("src") for element in page.locator(".row img").all()] == [
        f"data:image/png;base64,{PIXEL}"
    ]
    assert page.locator(".row img").evaluate("image => image.naturalWidth") == 1
    assert page.evaluate("window.trapped") is None
    assert not any("evil" in url for url in page.fetched)
    page.close()


def test_huge_text_is_cut_until_the_reader_expands_it(browser, tmp_path):
    page = open_entries(
        browser,
        tmp_path,
        {"type": "user", "content": "x" * 3_000_000},
        {"type": "assistant", "content": "line\n" * 50_000},
    )
    assert len(page.inner_text(".row.user")) < 20_000
    assert len(page.inner_text(".row.assistant")) < 20_000
    page.click(".row.user .more")
    page.wait_for_selector(".row.user .more", state="detached")
    assert (
        page.locator(".row.user .plain").evaluate("shown => shown.textContent.length") == 3_000_000
    )
    page.close()


def test_odd_records_are_shown(browser, tmp_path):
    odd = [
        None,
        7,
        [],
        {"type": None},
        {"type": "user", "content": {"type": 5, "text": 6}},
        {"type": "assistant", "content": [[1], None, True]},
    ]
    odd += [
        {"type": "tool-call"},
        {"type": "tool-result", "output": None},
        {"type": "user", "content": "x", "timestamp": 1e300},
    ]
    page = open_entries(
        browser, tmp_path, *odd, {"type": "__proto__", "__proto__": {"x": 1}, "constructor": 1}
    )
    page.wait_for_selector(".row.event")
    assert page.locator(".row").count() >= 5
    assert not page.complaints
    page.close()


def test_page_cannot_reach_the_network(browser, tmp_path):
    page = open_entries(browser, tmp_path, {"type": "user", "content": "x"})
    refused = page.evaluate("fetch('https://evil.example').then(() => 'fetched', () => 'refused')")
    assert refused == "refused"
    page.close()

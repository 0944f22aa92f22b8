"""The index of an archive and the charts, in a real browser."""

import pytest

import vacr
from tests.conftest import EXAMPLES
from tests.viewer.browser import (
    AXE,
    DESKTOP,
    NEEDS_CHROMIUM,
    PATIENCE,
    PHONE,
    TEMPLATE,
    open_page,
    wait_for_count,
    write_page,
)
from vacr.record.encoding import encode
from vacr.viewer.archive_texts import list_search_texts
from vacr.viewer.page import Page, PageRecord, render_site_index
from vacr.viewer.totals import (
    VERDICT_FAILED,
    VERDICT_UNSIGNED,
    VERDICT_VERIFIED,
    Totals,
    build_index_card,
    count_totals,
)

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]

MOST = 6
NAMES = {
    "claude-code": VERDICT_VERIFIED,
    "codex-cli": VERDICT_FAILED,
    "gemini-cli": VERDICT_UNSIGNED,
}


@pytest.fixture(scope="module")
def records():
    paths = {path.stem: path for path in EXAMPLES.iterdir() if path.stem in NAMES}
    return {name: next(vacr.read(str(paths[name]))) for name in NAMES}


@pytest.fixture
def archive(tmp_path, records) -> str:
    cards = [
        build_index_card([record], name, f"{name}.html", NAMES[name], "")
        for name, record in records.items()
    ]
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    return (tmp_path / "index.html").as_uri()


def read_bars(page, title: str) -> dict[str, str]:
    """Return the names and values of a chart (a table)."""
    chart = page.locator(f"table.bars:has(caption:text-is('{title}')) tbody tr")
    return {
        row.locator("th").text_content(): row.locator("td").last.text_content()
        for row in chart.all()
    }


def count_calls(*totals) -> dict[str, str]:
    """Return the calls of each tool, in the words of a chart."""
    all_of_them = sum(totals, Totals())
    failed = all_of_them.failed_tools
    return {
        name: f"{count:,}" + (f", {failed[name]:,} failed" if failed[name] else "")
        for name, count in all_of_them.tools.items()
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_archive_can_be_searched(browser, archive, size, scheme):
    page = open_page(browser, archive, size, color_scheme=scheme)
    wait_for_count(page, ".cards li", 3)
    page.select_option("select[aria-label=Verdict]", VERDICT_FAILED)
    wait_for_count(page, ".cards li", 1)
    assert [link.get_attribute("href") for link in page.locator(".cards a").all()] == [
        "codex-cli.html"
    ]
    page.select_option("select[aria-label=Verdict]", "")
    page.fill("input[type=search]", "GEMINI-CLI")
    wait_for_count(page, ".cards li", 1)
    page.fill("input[type=search]", "no such words")
    page.wait_for_selector(".empty:has-text('vacr show FOLDER --grep')")
    page.fill("input[type=search]", "GEMINI-CLI")
    wait_for_count(page, ".cards li", 1)
    page.click(".charts summary")
    if AXE.exists():
        page.evaluate(AXE.read_text())
        assert [violation["id"] for violation in page.evaluate("axe.run()")["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert not page.complaints
    page.close()


@pytest.fixture
def searchable(tmp_path, records) -> str:
    """Return the address of an archive with the texts of its conversations."""
    cards = [
        build_index_card([record], name, f"{name}.html", NAMES[name], "")
        for name, record in records.items()
    ]
    texts = [list(list_search_texts([record])) for record in records.values()]
    data = b"".join(render_site_index(TEMPLATE, "Archive", cards, texts=texts))
    (tmp_path / "texts.html").write_bytes(data)
    for name, record in records.items():
        write_page(tmp_path, encode(record), name=f"{name}.html")
    return (tmp_path / "texts.html").as_uri()


def test_texts_of_an_archive_are_searched(browser, searchable):
    page = open_page(browser, searchable)
    page.fill("input[type=search]", "rounded agrees")
    page.wait_for_selector(".hits h2:text-is('1 hit in 1 conversation')")
    assert page.locator(".hit mark").all_inner_texts() == ["rounded", "agrees"]
    # No other number of conversations, and no chart of all of them.
    assert page.locator(".count, .days, .charts").count() == 0
    page.click(".hit")
    page.wait_for_selector(".row.assistant.selected")
    assert "claude-code.html" in page.url
    assert not page.complaints
    page.close()


def test_phrase_is_searched_as_it_is(browser, searchable):
    page = open_page(browser, searchable)
    page.fill("input[type=search]", '"agrees rounded"')
    page.wait_for_selector(".empty:has-text('prompts, answers, the inputs of tools')")
    page.fill("input[type=search]", '"Each line is now rounded"')
    page.wait_for_selector(".hits mark:text-is('Each line is now rounded')")
    page.close()


def test_phrase_comes_before_the_words_apart(browser, tmp_path, records):
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    cards = [card | {"name": name, "href": f"{name}.html"} for name in ("first", "second")]
    texts = [
        [("0:/session/entries/0", "User", 0, "the port was refused, so no connection")],
        [
            ("0:/session/entries/1", "User", 0, "a connection that was refused"),
            ("0:/session/entries/2", "Answer", 0, "refused at first, then: Connection\nrefused"),
        ],
    ]
    data = b"".join(render_site_index(TEMPLATE, "Archive", cards, texts=texts))
    (tmp_path / "index.html").write_bytes(data)
    page = open_page(browser, (tmp_path / "index.html").as_uri())
    page.fill("input[type=search]", "connection refused")
    page.wait_for_selector(".hits h2:text-is('3 hits in 2 conversations')")
    marks = [hit.locator("mark").all_inner_texts() for hit in page.locator(".hit").all()]
    assert marks == [["Connection refused"], ["connection", "refused"], ["refused", "connection"]]
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_hits_of_an_archive_are_accessible(browser, searchable, size, scheme):
    if not AXE.exists():
        pytest.skip("needs axe-core: run npm ci in web/")
    page = open_page(browser, searchable, size, color_scheme=scheme)
    page.fill("input[type=search]", "the")
    page.wait_for_selector(".hit mark")
    page.evaluate(AXE.read_text())
    assert [violation["id"] for violation in page.evaluate("axe.run()")["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.close()


def test_hostile_text_in_an_archive_is_shown_as_text(browser, tmp_path, records):
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    hostile = "before \u202e<img src=x onerror=trap()></script><script>trap()</script> after"
    texts = [[("0:/session/entries/0", "User", 0, hostile)]]
    data = b"".join(render_site_index(TEMPLATE, "Archive", [card], texts=texts))
    (tmp_path / "index.html").write_bytes(data)
    page = open_page(browser, (tmp_path / "index.html").as_uri())
    page.fill("input[type=search]", "before")
    page.wait_for_selector(".hit mark")
    assert "\\u202e<img src=x" in page.inner_text(".hit .snippet")
    assert page.evaluate("window.trapped") is None
    page.close()


def test_dominating_day_is_cut_so_that_others_can_be_seen(browser, tmp_path, records):
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    tokens = {"2026-03-01": 100, "2026-03-02": 1_000_000, "2026-03-03": 80}
    cards = [
        card | {"name": day, "start": f"{day} 10:00:00", "tokens": count, "failed": at}
        for at, (day, count) in enumerate(tokens.items())
    ]
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    page = open_page(browser, (tmp_path / "index.html").as_uri())
    heights = "bars => bars.map(bar => Number(bar.getAttribute('height')))"
    first, cut, last = page.locator(".days rect.tokens").evaluate_all(heights)
    assert cut == 1
    assert 0.5 < last < first < 1
    assert page.locator(".days .gap").count() == 1
    assert "max 1M, one bar is cut" in page.inner_text(".days")
    page.click(".days button:has-text('Failures')")
    wait_for_count(page, ".days .gap", 0)
    page.close()


def test_usage_of_an_archive_is_charted_over_time(browser, tmp_path, records):
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    changes = [
        {"start": "2026-03-01 10:00:00", "tokens": 100, "cost": 4.0, "failed": 0},
        {"start": "2026-03-03 10:00:00", "tokens": 50, "cost": 8.0, "failed": 3},
    ]
    cards = [card | {"name": f"n{at}"} | change for at, change in enumerate(changes)]
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    page = open_page(browser, (tmp_path / "index.html").as_uri())
    page.wait_for_selector(".days svg[aria-label='Tokens per day']")
    # The day between has a place of its own.
    assert page.locator(".days .area").count() == 3
    heights = "bars => bars.map(bar => bar.getAttribute('height'))"
    assert page.locator(".days rect.tokens").evaluate_all(heights) == ["1", "0.5"]
    page.click(".metrics button:has-text('Cost')")
    page.wait_for_selector(".days svg[aria-label='Cost per day']")
    assert page.locator(".days rect.cost").evaluate_all(heights) == ["0.5", "1"]
    page.click(".metrics button:has-text('Failures')")
    page.wait_for_selector(".days rect.failed")
    title = page.locator(".days title").last.text_content()
    assert title == "2026-03-03, 50 tokens, $8.00, 3 failures, 1 conversation"
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_very_old_session_does_not_hide_recent_use(browser, tmp_path, records, size):
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    days = {"2021-02-03": 700, "2026-10-30": 100, "2026-11-18": 50}
    cards = [
        card | {"name": day, "start": f"{day} 10:00:00", "tokens": count}
        for day, count in days.items()
    ]
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    page = open_page(browser, (tmp_path / "index.html").as_uri(), size)
    page.wait_for_selector(".days svg[aria-label='Tokens per day']")
    assert page.locator(".days .area").count() == 12 * 7
    heights = "bars => bars.map(bar => bar.getAttribute('height'))"
    assert page.locator(".days rect.tokens").evaluate_all(heights) == ["1", "0.5"]
    assert page.locator(".days figcaption").last.inner_text().split() == [
        "2026-08-27",
        "2026-11-18",
    ]
    page.click(".days button:text-is('All')")
    page.wait_for_selector(".days svg[aria-label='Tokens per 30 days']")
    assert page.locator(".days figcaption").last.inner_text().split() == [
        "2021-02-03",
        "2026-11-18",
    ]
    assert page.locator(".days rect.tokens").count() == 3
    page.click(".days button:text-is('12 weeks')")
    wait_for_count(page, ".days .area", 12 * 7)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.close()


def test_conversations_are_grouped_by_repository(browser, tmp_path, records):
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    places = [
        ("/home/a/invoice", "git.example/mira/invoice"),
        ("/home/c/x", ""),
        ("/home/b", "git.example/mira/invoice"),
        ("D:\\invoice", ""),
    ]
    cards = [
        card | {"name": f"n{at}", "href": f"{at}.html", "project": project, "repo": repo}
        for at, (project, repo) in enumerate(places)
    ]
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    page = open_page(browser, (tmp_path / "index.html").as_uri())
    shelves = page.locator(".shelf").all()
    assert [shelf.locator("h2").inner_text() for shelf in shelves] == [
        "mira/invoice 2 conversations",
        "c/x 1 conversation",
        "D:\\invoice 1 conversation",
    ]
    assert [shelf.locator("li").count() for shelf in shelves] == [2, 1, 1]
    page.close()


def test_days_ago_are_days_of_the_calendar_of_the_reader(browser, tmp_path, records):
    """46 hours may reach back over one midnight or two."""
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    ages = {
        "2026-11-19 08:00:00": "1 h ago",
        "2026-11-18 09:30:00": "23 h ago",
        "2026-11-18 08:00:00": "yesterday",
        "2026-11-17 19:00:00": "yesterday",  # In Kolkata, it is half past midnight on the 18th.
        "2026-11-17 18:00:00": "2 days ago",
        "2026-11-12 19:00:00": "6 days ago",
        "2026-11-10 20:00:00": "2026-11-11",
    }
    cards = [
        card | {"name": f"n{at}", "href": f"{at}.html", "start": start, "project": "p", "repo": ""}
        for at, start in enumerate(ages)
    ]
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    page = browser.new_page(timezone_id="Asia/Kolkata")
    page.set_default_timeout(PATIENCE)
    page.clock.set_fixed_time("2026-11-19T09:00:00Z")
    page.goto((tmp_path / "index.html").as_uri())
    wait_for_count(page, ".cards li", len(ages))
    assert page.locator(".cards .when").all_inner_texts() == list(ages.values())
    page.close()


def test_charts_of_an_archive_follow_its_filters(browser, archive, records):
    page = open_page(browser, archive)
    page.click(".charts summary")
    totals = {name: count_totals(record) for name, record in records.items()}
    spent = {name: total.tokens["input"] + total.tokens["output"] for name, total in totals.items()}
    assert read_bars(page, "Tokens by agent") == {
        name: f"{count:,}"
        for name, count in sorted(spent.items(), key=lambda item: -item[1])
        if count
    }
    tools = read_bars(page, "Calls by tool")
    assert len(tools) == MOST
    assert tools.items() <= count_calls(*totals.values()).items()
    page.select_option("select[aria-label=Agent]", "codex-cli")
    wait_for_count(page, ".cards li", 1)
    assert read_bars(page, "Calls by tool") == count_calls(totals["codex-cli"])
    assert read_bars(page, "Output tokens by model") == {
        name: f"{count:,}" for name, count in totals["codex-cli"].models.items()
    }
    page.close()


def test_repeated_recording_and_missing_prices_are_shown(browser, tmp_path, records):
    cards = [
        build_index_card([records["codex-cli"]], name, f"{name}.html", VERDICT_UNSIGNED, "")
        for name in ("first", "second")
    ]
    cards[0] |= {"cost": 1.5, "isEstimated": True, "isUnpriced": True}
    cards[1] |= {"cost": 0, "isEstimated": False, "isUnpriced": True, "isRepeated": True}
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    page = open_page(browser, (tmp_path / "index.html").as_uri())
    wait_for_count(page, ".cards li", 2)
    summary = page.locator(".count").text_content()
    assert f" {cards[0]['calls']} calls," in summary
    assert "at least ~$1.50" in summary
    shown = page.locator(".cards li").all_text_contents()
    assert ["duplicate recording" in text for text in shown].count(True) == 1
    assert ["cost unknown" in text for text in shown].count(True) == 1
    page.close()


def test_charts_of_a_conversation_agree_with_stats(browser, tmp_path, records):
    for name, record in records.items():
        page = open_page(browser, write_page(tmp_path, encode(record), name=f"{name}.html"))
        page.click(".charts summary")
        totals = count_totals(record)
        assert read_bars(page, "Calls by tool") == count_calls(totals)
        assert read_bars(page, "Output tokens by model") == {
            model: f"{count:,}" for model, count in totals.models.most_common(MOST) if count
        }
        page.close()


def test_large_archive_shows_its_pages_in_batches(browser, tmp_path, records):
    card = build_index_card([records["codex-cli"]], "one", "one.html", VERDICT_UNSIGNED, "")
    cards = [card | {"name": f"n{number}", "title": f"Title {number}"} for number in range(450)]
    (tmp_path / "index.html").write_bytes(b"".join(render_site_index(TEMPLATE, "Archive", cards)))
    page = open_page(browser, (tmp_path / "index.html").as_uri())
    wait_for_count(page, ".cards li", 200)
    assert page.locator(".count").text_content().startswith("450 conversations")
    page.fill("input[type=search]", "title 449")
    wait_for_count(page, ".cards li", 1)
    page.fill("input[type=search]", "")
    page.click("button:has-text('Show 200 more')")
    page.click("button:has-text('Show 50 more')")
    wait_for_count(page, ".cards li", 450)
    wait_for_count(page, "button:has-text('more')", 0)
    page.close()


def make_line_counts(ai, unknown, survived=0, young=0):
    survival = [{"days": 7, "lines": ai - young, "survived": survived, "young": young}]
    return {"ai": ai, "human": 0, "mixed": 0, "unknown": unknown, "survival": survival}


LINES = {
    "range": "main..HEAD",
    "commits": 3,
    "total": make_line_counts(1200, 800, survived=900, young=100),
    "groups": [
        {
            "by": "folder",
            "count": 12,
            "rows": [
                {"name": f"src/<b>{number}</b>", **make_line_counts(100, 10, survived=90)}
                for number in range(11)
            ],
        },
        {"by": "agent", "count": 1, "rows": [{"name": "no agent", **make_line_counts(0, 800)}]},
    ],
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_lines_of_a_range_are_shown(browser, tmp_path, records, size, scheme):
    card = build_index_card([records["codex-cli"]], "codex-cli", "a.html", VERDICT_UNSIGNED, "")
    pages = {
        "index": render_site_index(TEMPLATE, "Archive", [card], LINES),
        "page": Page(
            "A title", [PageRecord("r.acr.json", encode(records["codex-cli"], "json"))], lines=LINES
        ).pieces(TEMPLATE),
    }
    for name, pieces in pages.items():
        (tmp_path / f"{name}.html").write_bytes(b"".join(pieces))
        page = open_page(browser, (tmp_path / f"{name}.html").as_uri(), size, color_scheme=scheme)
        section = page.locator(".lines").first
        assert "3 commits added 2,000 lines" in section.text_content()
        assert "1,200 ai (60%)" in section.text_content()
        assert "900 of 1,100 ai lines (81%); 100 too young" in section.text_content()
        page.click(".lines details summary")
        wait_for_count(page, "table[aria-label='Lines by folder'] tbody tr", 8)
        assert page.locator(".lines tbody th").first.text_content() == "src/<b>0</b>"
        page.click(".lines button:text('Show 3 more')")
        wait_for_count(page, "table[aria-label='Lines by folder'] tbody tr", 11)
        assert "and 1 more: vacr stats --lines" in section.text_content()
        row = page.locator("table[aria-label='Lines by agent'] tbody tr td").all()
        assert [cell.text_content() for cell in row] == ["", "0", "0", "0", "800", "–"]
        if AXE.exists():
            page.evaluate(AXE.read_text())
            assert [violation["id"] for violation in page.evaluate("axe.run()")["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert not page.complaints
        page.close()


def test_page_without_a_range_has_no_lines(browser, archive):
    page = open_page(browser, archive)
    assert page.locator(".lines").count() == 0
    page.close()

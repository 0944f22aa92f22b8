"""The page in a real browser: what it says of signatures, and how it is used."""

import re
from datetime import UTC, datetime

import pytest

import vacr
from tests.conftest import EXAMPLES
from tests.viewer.browser import (
    AXE,
    DESKTOP,
    NEEDS_CHROMIUM,
    PHONE,
    opened,
    record,
    started,
    wait_count,
    written,
)
from vacr.attribution.attribute import attribute_records
from vacr.record.encoding import encode
from vacr.record.identity import assign_record_id
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, compute_thumbprint_uri, generate_key
from vacr.signing.statement import sign
from vacr.transparency.receipt import (
    add_receipt,
    build_log_entry,
    encode_receipt_header,
    sign_tree_head,
)
from vacr.transparency.tree import hash_children, hash_leaf
from vacr.viewer.page import PageRecord, PageTrust
from vacr.viewer.rows import RowFilter

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]

NOW = int(datetime.now(UTC).timestamp()) - 60


@pytest.fixture(scope="module")
def browser():
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def sample() -> bytes:
    """A real session, attributed."""
    (made,) = attribute_records(list(vacr.read(str(EXAMPLES / "claude-code.jsonl"))), None)
    assign_record_id(made)
    return encode(made)


@pytest.fixture(scope="module", params=["eddsa", "es256", "es384"])
def signer(request):
    return KeySigner(generate_key(request.param))


def logged(statement: bytes, log: KeySigner) -> bytes:
    """Put the receipt of a log with two entries into a statement."""
    leaf = hash_leaf(build_log_entry(parse_sign1(statement)))
    other = hash_leaf(b"other")
    header = encode_receipt_header(log, "https://log.example", "log.example", NOW)
    head = sign_tree_head(log, header, 2, hash_children(other, leaf))
    return add_receipt(statement, head.inclusion(1, [other]))


def banner(page) -> tuple[str, str]:
    page.wait_for_selector(".banner h2:not(:text('Verifying'))")
    found = page.locator(".banner").first
    return found.get_attribute("class").split()[-1], found.inner_text()


def test_a_signed_and_logged_record_is_verified(browser, tmp_path, sample, signer):
    log = KeySigner(generate_key("es256"))
    shown = PageRecord("a.acr.json", sample, logged(sign(sample, signer), log))
    trust = PageTrust(keys=(signer.public_key,), log_keys=(log.public_key,))
    page = opened(browser, written(tmp_path, shown, trust=trust))
    look, told = banner(page)
    assert look == "good"
    assert told.startswith("Verified")
    assert compute_thumbprint_uri(signer.public_key).rpartition(":")[2] in told
    assert f"in a log since {datetime.fromtimestamp(NOW, UTC):%Y-%m-%dT%H:%M:%SZ}" in told
    assert not page.complaints
    assert page.fetched[1:] == [] or all(url.startswith("blob:") for url in page.fetched[1:])
    page.close()


def test_a_key_that_only_came_along_is_nobody_known(browser, tmp_path, sample, signer):
    page = opened(
        browser, written(tmp_path, PageRecord("a.acr.json", sample, sign(sample, signer)))
    )
    look, told = banner(page)
    assert look == "fair"
    assert "Whose key that is, the page cannot tell" in told
    page.close()


def test_a_reader_compares_the_key_with_one_they_know(browser, tmp_path, sample, signer):
    page = opened(
        browser, written(tmp_path, PageRecord("a.acr.json", sample, sign(sample, signer)))
    )
    page.click(".banner .more")
    page.fill(".details input", compute_thumbprint_uri(signer.public_key))
    page.wait_for_selector(".details .same:text('the same key')")
    page.fill(".details input", compute_thumbprint_uri(KeySigner(generate_key("eddsa")).public_key))
    page.wait_for_selector(".details .other:text('another key')")
    page.close()


def test_an_unsigned_record_says_so(browser, tmp_path, sample):
    page = opened(browser, written(tmp_path, PageRecord("a.acr.json", sample)))
    assert banner(page)[1].startswith("Not signed")
    page.close()


def tampered(what: str, sample: bytes, signer, log) -> tuple[PageRecord, PageTrust]:
    statement = logged(sign(sample, signer), log)
    trust = PageTrust(keys=(signer.public_key,), log_keys=(log.public_key,))
    if what == "record":
        return PageRecord("a", sample.replace(b"invoice", b"Invoice", 1), statement), trust
    if what == "statement":
        message = parse_sign1(statement)
        return PageRecord(
            "a",
            sample,
            statement.replace(
                message.signature, bytes([message.signature[0] ^ 1]) + message.signature[1:]
            ),
        ), trust
    if what == "receipt":
        return PageRecord(
            "a", sample, statement.replace(hash_leaf(b"other"), hash_leaf(b"another"))
        ), trust
    if what == "key":
        return PageRecord("a", sample, statement), PageTrust(
            keys=(KeySigner(generate_key("eddsa")).public_key,)
        )
    found = {"verified": False, "message": "the attribution is another", "checks": []}
    return PageRecord("a", sample, statement, found), trust


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("record", "not those that were signed"),
        ("statement", "signature is not this key's"),
        ("receipt", "did not sign the root"),
        ("key", "signature is not|takes this algorithm"),
        ("attribution", "vacr found: the attribution is another"),
    ],
)
def test_what_was_tampered_with_is_red(browser, tmp_path, sample, signer, what, reason):
    shown, trust = tampered(what, sample, signer, KeySigner(generate_key("es256")))
    page = opened(browser, written(tmp_path, shown, trust=trust))
    look, told = banner(page)
    assert look == "bad"
    assert re.search(reason, told)
    page.close()


def test_bytes_that_are_no_record_are_told(browser, tmp_path):
    page = opened(browser, written(tmp_path, b'{"version": '))
    assert "Cannot be read" in banner(page)[1]
    page.close()


def talk(count: int = 40):
    for number in range(count):
        yield {"type": "user", "id": f"u{number}", "content": f"question {number}"}
        yield {"type": "reasoning", "id": f"r{number}", "content": f"thought {number}"}
        yield {
            "type": "tool-call",
            "id": f"c{number}",
            "call-id": f"k{number}",
            "name": "Bash",
            "input": {"command": f"ls {number}"},
        }
        yield {
            "type": "tool-result",
            "call-id": f"k{number}",
            "output": f"printed {number}",
            "is-error": number == 7,
        }
        yield {"type": "assistant", "id": f"a{number}", "content": f"**answer** {number}"}


def test_keys_move_among_rows(browser, tmp_path):
    page = opened(browser, written(tmp_path, record(*talk())))
    for key, anchor in zip(
        "jj]][keGg", ["u0", "r0", "u1", "u2", "u1", "a0", "c7", "a39", "u0"], strict=True
    ):
        page.keyboard.press(key)
        page.wait_for_selector(f'.row.selected[data-anchor="{anchor}"]:focus')
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.keyboard.press("/")
    page.wait_for_selector("input[type=search]:focus")
    page.close()


def test_search_and_filters(browser, tmp_path):
    page = opened(browser, written(tmp_path, record(*talk())))
    page.keyboard.press("/")
    page.keyboard.type("PRINTED 12")
    page.wait_for_selector(".count:has-text('1 of 160')")
    page.wait_for_selector('.row[data-anchor="c12"]')
    wait_count(page, ".row", 1)
    page.click("text=Show all")
    page.wait_for_selector(".count:has-text('160 of 160')")
    page.click(".kinds button:has-text('Failures')")
    page.wait_for_selector(".count:has-text('1 of 160')")
    page.wait_for_selector('.row[data-anchor="c7"]')
    wait_count(page, ".row", 1)
    page.click("text=Show all")
    page.wait_for_selector(".count:has-text('160 of 160')")
    page.click(".kinds button:has-text('Answers')")
    page.wait_for_selector(".count:has-text('40 of 160')")
    page.select_option("select[aria-label=Detail]", "brief")
    page.close()


def test_a_call_that_is_opened_shows_all_that_it_was_given(browser, tmp_path):
    given = {"command": f"true {'x ' * 200}\nrm -rf build", "timeout": 5}
    call = {"type": "tool-call", "id": "c", "call-id": "k", "name": "Bash", "input": given}
    page = opened(browser, written(tmp_path, record(call)))
    assert "rm -rf" not in page.inner_text(".row")
    page.keyboard.press("/")
    page.keyboard.type("rm -rf")
    page.wait_for_selector(".count:has-text('1 of 1 ')")
    page.click(".row .fold")
    page.wait_for_selector(".row [aria-label=Input]:has-text('rm -rf build')")
    assert page.inner_text(".row [aria-label=Input]").endswith("timeout\n5")
    page.close()


def test_nothing_found_is_told(browser, tmp_path):
    address = written(tmp_path, record(*talk(3)))
    page = opened(browser, f"{address}#/session/entries/99")
    page.wait_for_selector("[role=alert]:has-text('/session/entries/99')")
    page.keyboard.press("/")
    page.keyboard.type("no such words")
    page.wait_for_selector(".empty:has-text('Nothing here')")
    page.close()


def test_a_page_of_an_archive_leads_back(browser, tmp_path):
    page = opened(browser, written(tmp_path, record(*talk(3)), index="../index.html"))
    assert (
        page.get_by_role("link", name="All conversations").get_attribute("href") == "../index.html"
    )
    page.goto(written(tmp_path, record(*talk(3)), name="alone.html"))
    page.wait_for_selector(".list[aria-busy=false]")
    assert page.locator(".up").count() == 0
    page.close()


def test_a_filtered_page_says_that_it_shows_a_part(browser, tmp_path):
    page = opened(
        browser, written(tmp_path, record(*talk()), filter=RowFilter(kinds=frozenset(("user",))))
    )
    page.wait_for_selector(".count:has-text('40 of 160')")
    assert "made to show a part" in page.inner_text(".count")
    page.close()


@pytest.mark.parametrize(
    ("name", "anchor"),
    [("c30", "c30"), ("%2Fsession%2Fentries%2F150", "u30"), ("/session/entries/153", "c30")],
)
def test_a_link_leads_to_an_entry(browser, tmp_path, name, anchor):
    page = opened(browser, f"{written(tmp_path, record(*talk()))}#{name}")
    row = page.locator(f'.row[data-anchor="{anchor}"]')
    row.wait_for()
    page.wait_for_selector(f'.row.selected[data-anchor="{anchor}"]')
    assert row.evaluate("row => row.getBoundingClientRect().top") < DESKTOP["height"]
    page.close()


def test_an_entry_can_be_seen_as_json(browser, tmp_path):
    page = opened(browser, written(tmp_path, record(*talk(3))))
    page.hover('.row[data-anchor="c1"]')
    page.click('.row[data-anchor="c1"] .json')
    page.wait_for_selector('.row[data-anchor="c1"] :text(\'"command": "ls 1"\')')
    page.close()


def test_a_range_of_lines_leads_to_the_entry_that_wrote_it_and_back(browser, tmp_path, sample):
    page = opened(browser, written(tmp_path, PageRecord("a.acr.json", sample)))
    page.click(".tabs button:has-text('Files')")
    page.locator(".file td:last-child button").first.click()
    page.wait_for_selector(".row.selected .wrote button")
    told = page.locator(".row.selected .wrote button").all_inner_texts()
    assert len(told) == len(set(told))
    page.locator(".row.selected .wrote button").first.click()
    page.wait_for_selector(".file.marked")
    page.close()


def test_the_text_of_lines_is_shown_where_their_hash_proves_it(browser, tmp_path, sample):
    page = opened(browser, written(tmp_path, PageRecord("a.acr.json", sample)))
    page.click(".tabs button:has-text('Files')")
    page.click(".file button:text-is('line 7')")
    page.wait_for_selector(".file .text :text('quantize(CENT)')")
    assert page.inner_text(".file .text .number") == "7"
    page.close()


def test_a_table_of_ranges_stays_in_its_card_on_a_phone(browser, tmp_path):
    contributor = {"type": "ai", "model-id": "anthropic/claude-opus-5"}
    lines = {"start-line": 1260, "end-line": 1339}
    file = {"path": "a.py", "conversations": [{"contributor": contributor, "ranges": [lines]}]}
    proofs = {
        "a.py": {
            "ranges": [lines | {"entries": ["019c7d5e-3dcaa5f2ab81"], "evidence": "diff-anchored"}]
        }
    }
    found = {"file-attribution": {"files": [file]}, "vacr": {"attribution": {"files": proofs}}}
    attributed = record(*talk(3), **found)
    page = opened(browser, written(tmp_path, attributed), PHONE)
    page.keyboard.press("f")
    page.wait_for_selector(".file td:has-text('3dcaa5f2ab81')")
    right = "one => one.getBoundingClientRect().right"
    assert max(one.evaluate(right) for one in page.locator(".file td").all()) <= page.locator(
        ".file"
    ).evaluate(right)
    page.close()


def test_sub_agents_are_nested_and_fold(browser, tmp_path):
    parent = record(
        {"type": "user", "id": "u", "content": "go"},
        {
            "type": "tool-call",
            "id": "t",
            "call-id": "k",
            "name": "Task",
            "input": {"prompt": "look"},
        },
        {"type": "tool-result", "call-id": "k", "output": "agent-7 is done"},
        {"type": "assistant", "id": "last", "content": "done"},
    )
    child = record(
        {"type": "user", "id": "cu", "content": "look"},
        {"type": "assistant", "id": "ca", "content": "found"},
        vacr={"parent": {"session-id": "s"}},
    )
    child["session"]["session-id"] = "s/agent-7"
    page = opened(browser, written(tmp_path, parent, child))
    assert [row.get_attribute("data-anchor") for row in page.locator(".row").all()] == [
        "u",
        "t",
        "cu",
        "ca",
        "last",
    ]
    page.click(".agent")
    wait_count(page, ".row", 4)
    assert [row.get_attribute("data-anchor") for row in page.locator(".row").all()] == [
        "u",
        "t",
        "cu",
        "last",
    ]
    assert page.locator(".banner").count() == 1
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("tab", ["Conversation", "Files"])
def test_axe_finds_nothing(browser, tmp_path, sample, scheme, size, tab):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm ci in web/")
    signer = KeySigner(generate_key("eddsa"))
    page = opened(
        browser,
        written(tmp_path, PageRecord("a.acr.json", sample, sign(sample, signer))),
        size,
        color_scheme=scheme,
    )
    page.click(".banner .more")
    page.click(".charts summary")
    page.click(f".tabs button:has-text('{tab}')")
    page.wait_for_selector(".file" if tab == "Files" else ".row")
    # The page's own policy refuses scripts of others, and the driver goes around it.
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_is_wider_than_the_screen(browser, tmp_path, sample, size):
    page = opened(browser, written(tmp_path, PageRecord("a.acr.json", sample)), size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert (
        page.evaluate(
            "document.querySelector('main').scrollWidth - "
            "document.querySelector('main').clientWidth"
        )
        <= 0
    )
    page.close()


def test_thirty_thousand_entries_are_virtual(browser, tmp_path):
    page = opened(browser, written(tmp_path, record(*talk(6000))))
    page.wait_for_selector(".count:has-text('24,000 of 24,000')")
    assert page.locator(".row").count() < 60
    page.keyboard.press("G")
    page.wait_for_selector('.row[data-anchor="a5999"]')
    assert page.locator(".row").count() < 60
    page.close()

"""The page in a real browser: its verdicts, and how it is used."""

import re
from datetime import UTC, datetime

import pytest
from cryptography import x509

import vacr
from tests.conftest import EXAMPLES
from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key
from tests.viewer.browser import (
    AXE,
    DESKTOP,
    NEEDS_CHROMIUM,
    PHONE,
    build_record,
    open_page,
    wait_for_count,
    write_page,
)
from vacr.attribution.attribute import attribute_records
from vacr.record.encoding import assign_record_id, encode
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, compute_thumbprint_uri, generate_key
from vacr.signing.statement import StatementClaims, sign
from vacr.transparency.receipt import (
    add_receipt,
    build_log_entry,
    encode_receipt_header,
    sign_tree_head,
)
from vacr.transparency.tree import hash_children, hash_leaf
from vacr.viewer.page import PageParty, PageRecord, PageTrust
from vacr.viewer.rows import RowFilter

pytestmark = [pytest.mark.component, NEEDS_CHROMIUM]

NOW = int(datetime.now(UTC).timestamp()) - 60


@pytest.fixture(scope="module")
def sample() -> bytes:
    """Return a real session with attribution."""
    (record,) = attribute_records(list(vacr.read(str(EXAMPLES / "claude-code.jsonl"))), None)
    assign_record_id(record)
    return encode(record)


@pytest.fixture(scope="module", params=["eddsa", "es256", "es384"])
def signer(request):
    return KeySigner(generate_key(request.param))


def add_log_receipt(statement: bytes, log: KeySigner) -> bytes:
    """Return a statement with the receipt of a log with two entries."""
    leaf = hash_leaf(build_log_entry(parse_sign1(statement)))
    other = hash_leaf(b"other")
    header = encode_receipt_header(log, "https://log.example", "log.example", NOW)
    head = sign_tree_head(log, header, 2, hash_children(other, leaf))
    return add_receipt(statement, head.inclusion(1, [other]))


def read_verdict(page) -> tuple[str, str]:
    """Open the checks; return the look of the verdict and the text of the checks."""
    page.wait_for_selector(".verdict:not(:has-text('Verifying'))")
    look = page.get_attribute(".verdict", "class").split()[-1]
    page.click(".verdict")
    page.wait_for_selector("#checks .banner")
    return look, page.inner_text("#checks")


def test_signed_and_logged_record_is_verified(browser, tmp_path, sample, signer):
    log = KeySigner(generate_key("es256"))
    shown = PageRecord("a.acr.json", sample, add_log_receipt(sign(sample, signer), log))
    trust = PageTrust(keys=(signer.public_key,), log_keys=(log.public_key,))
    page = open_page(browser, write_page(tmp_path, shown, trust=trust))
    look, text = read_verdict(page)
    assert look == "good"
    assert page.inner_text(".verdict .words") == "✓ Verified · a trusted key"
    assert text.startswith("Verified")
    assert compute_thumbprint_uri(signer.public_key).rpartition(":")[2] in text
    assert f"in a log since {datetime.fromtimestamp(NOW, UTC):%Y-%m-%dT%H:%M:%SZ}" in text
    assert not page.complaints
    assert page.fetched[1:] == [] or all(url.startswith("blob:") for url in page.fetched[1:])
    page.close()


def test_page_says_signed_by_the_name_of_the_trust_store(browser, tmp_path, sample):
    signer, issuer = KeySigner(generate_key("eddsa")), "https://example.org/mira"
    statement = sign(sample, signer, claims=StatementClaims(issuer))
    for issuers, shown in (((issuer,), f", issuer {issuer}"), ((), f", claimed issuer {issuer}")):
        trust = PageTrust(parties=[PageParty("Mira Kern", [signer.public_key], issuers)])
        shown_record = PageRecord("a.acr.json", sample, statement)
        page = open_page(browser, write_page(tmp_path, shown_record, trust=trust))
        look, text = read_verdict(page)
        assert look == "good"
        assert "Signed by Mira Kern. The author of this page trusts this name" in text
        assert shown in text
        page.close()


def test_key_inside_the_statement_is_not_trusted(browser, tmp_path, sample, signer):
    page = open_page(
        browser, write_page(tmp_path, PageRecord("a.acr.json", sample, sign(sample, signer)))
    )
    look, text = read_verdict(page)
    assert look == "fair"
    assert "This page cannot tell whose key that is" in text
    page.close()


@pytest.mark.parametrize("names_only", [True, False])
def test_unknown_key_does_not_pass_for_a_certified_one(
    browser, tmp_path, sample, signer, names_only
):
    """The author's store lists an authority, but the statement has no certificate at all."""
    verification = {"verified": names_only, "trusted": False, "message": "unknown", "checks": []}
    shown = PageRecord("a.acr.json", sample, sign(sample, signer), verification)
    trust = PageTrust(roots=True, names_only=names_only)
    page = open_page(browser, write_page(tmp_path, shown, trust=trust))
    look, text = read_verdict(page)
    assert look == ("fair" if names_only else "bad")
    assert ("This page cannot tell whose key that is" in text) == names_only
    assert "certificate" not in text
    page.close()


@pytest.mark.parametrize("trusted", [True, False])
def test_certificate_counts_only_if_vacr_checked_it_by_trust(browser, tmp_path, sample, trusted):
    key, issuer = Key.generate("es256"), "https://example.org"
    chain = [x509.load_der_x509_certificate(certificate(key, Authority("root")))]
    statement = sign(sample, KeySigner(key.private), claims=StatementClaims(issuer), chain=chain)
    verification = {"verified": True, "trusted": trusted, "message": "", "checks": []}
    shown = PageRecord("a.acr.json", sample, statement, verification)
    trust = PageTrust(roots=True, names_only=True)
    page = open_page(browser, write_page(tmp_path, shown, trust=trust))
    look, text = read_verdict(page)
    assert look == "fair"
    assert ("vacr checked the certificate when it made this page" in text) == trusted
    page.close()


def test_reader_can_compare_the_key(browser, tmp_path, sample, signer):
    page = open_page(
        browser, write_page(tmp_path, PageRecord("a.acr.json", sample, sign(sample, signer)))
    )
    page.click(".verdict")
    page.fill(".details input", compute_thumbprint_uri(signer.public_key))
    page.wait_for_selector(".details .same:text('✓ same key')")
    page.fill(".details input", compute_thumbprint_uri(KeySigner(generate_key("eddsa")).public_key))
    page.wait_for_selector(".details .other:text('✗ different key')")
    page.close()


def test_unsigned_record_is_shown_as_not_signed(browser, tmp_path, sample):
    page = open_page(browser, write_page(tmp_path, PageRecord("a.acr.json", sample)))
    assert read_verdict(page)[1].startswith("Not signed")
    page.close()


def tamper(what: str, sample: bytes, signer, log) -> tuple[PageRecord, PageTrust]:
    statement = add_log_receipt(sign(sample, signer), log)
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
    verification = {"verified": False, "message": "wrong attribution", "checks": []}
    return PageRecord("a", sample, statement, verification), trust


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("record", "The record changed after it was signed"),
        ("statement", "Not signed by this key"),
        ("receipt", "log's key did not sign the root"),
        ("key", "Not signed by this key|No trusted key can be used with this algorithm"),
        ("attribution", "vacr found a problem .*: wrong attribution"),
    ],
)
def test_tampering_is_shown_in_red(browser, tmp_path, sample, signer, what, reason):
    shown, trust = tamper(what, sample, signer, KeySigner(generate_key("es256")))
    page = open_page(browser, write_page(tmp_path, shown, trust=trust))
    look, text = read_verdict(page)
    assert look == "bad"
    assert re.search(reason, text)
    assert re.search(reason, page.inner_text(".top.bad .why[role=alert]"))
    page.close()


@pytest.mark.parametrize("is_signed", [False, True])
def test_modified_record_is_shown_in_red(browser, tmp_path, sample, signer, is_signed):
    verification = {
        "verified": False,
        "trusted": False,
        "message": "the record was modified: its id is 'X'",
        "checks": [],
        "modified": "the record was modified: its id is 'X'",
    }
    statement = sign(sample, signer) if is_signed else None
    shown = PageRecord("a.acr.json", sample, statement, verification)
    page = open_page(browser, write_page(tmp_path, shown))
    look, text = read_verdict(page)
    assert look == "bad"
    assert text.startswith("Record was modified")
    assert "The record was modified: its id is 'X'. Do not rely on the conversation" in text
    assert page.inner_text(".top.bad .why[role=alert]") == (
        "The record was modified: its id does not match its content. "
        "Do not rely on the conversation below."
    )
    page.close()


def test_unreadable_record_is_reported(browser, tmp_path):
    page = open_page(browser, write_page(tmp_path, b'{"version": '))
    assert "Cannot read the record" in page.inner_text(".top.bad .why[role=alert]")
    assert "Cannot read the record" in read_verdict(page)[1]
    page.close()


def build_conversation(count: int = 40):
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


def test_keyboard_moves_between_rows(browser, tmp_path):
    page = open_page(browser, write_page(tmp_path, build_record(*build_conversation())))
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


def test_search_and_filters_reduce_the_rows(browser, tmp_path):
    page = open_page(browser, write_page(tmp_path, build_record(*build_conversation())))
    page.keyboard.press("/")
    page.keyboard.type("PRINTED 12")
    page.wait_for_selector(".count:has-text('1 of 160')")
    page.wait_for_selector('.row[data-anchor="c12"]')
    wait_for_count(page, ".row", 1)
    page.click("text=Show all")
    page.wait_for_selector(".count:has-text('160 rows')")
    page.click(".kinds button:has-text('Failures')")
    page.wait_for_selector(".count:has-text('1 of 160')")
    page.wait_for_selector('.row[data-anchor="c7"]')
    wait_for_count(page, ".row", 1)
    page.click("text=Show all")
    page.wait_for_selector(".count:has-text('160 rows')")
    page.click(".kinds button:has-text('Answers')")
    page.wait_for_selector(".count:has-text('40 of 160')")
    page.select_option("select[aria-label=Detail]", "brief")
    page.close()


def test_open_call_shows_its_whole_input(browser, tmp_path):
    arguments = {"command": f"true {'x ' * 200}\nrm -rf build", "timeout": 5}
    call = {"type": "tool-call", "id": "c", "call-id": "k", "name": "Bash", "input": arguments}
    page = open_page(browser, write_page(tmp_path, build_record(call)))
    assert "rm -rf" not in page.inner_text(".row")
    page.keyboard.press("/")
    page.keyboard.type("rm -rf")
    page.wait_for_selector(".count:has-text('1 of 1 ')")
    page.click(".row .fold")
    page.wait_for_selector(".row [aria-label=Input]:has-text('rm -rf build')")
    assert page.inner_text(".row [aria-label=Input]").endswith("timeout\n5")
    page.close()


def test_broken_link_and_empty_search_are_reported(browser, tmp_path):
    address = write_page(tmp_path, build_record(*build_conversation(3)))
    page = open_page(browser, f"{address}#/session/entries/99")
    page.wait_for_selector("[role=alert]:has-text('/session/entries/99')")
    page.keyboard.press("/")
    page.keyboard.type("no such words")
    page.wait_for_selector(".empty:has-text('No matches')")
    page.close()


def test_page_of_an_archive_links_to_the_index(browser, tmp_path):
    page = open_page(
        browser, write_page(tmp_path, build_record(*build_conversation(3)), index="../index.html")
    )
    assert (
        page.get_by_role("link", name="All conversations").get_attribute("href") == "../index.html"
    )
    page.goto(write_page(tmp_path, build_record(*build_conversation(3)), name="alone.html"))
    page.wait_for_selector(".list[aria-busy=false]")
    assert page.locator(".up").count() == 0
    page.close()


def test_filtered_page_reports_its_filter(browser, tmp_path):
    page = open_page(
        browser,
        write_page(
            tmp_path,
            build_record(*build_conversation()),
            filter=RowFilter(kinds=frozenset(("user",))),
        ),
    )
    page.wait_for_selector(".count:has-text('40 of 160')")
    assert "This page opens with a filter" in page.inner_text(".count")
    page.close()


@pytest.mark.parametrize(
    ("name", "anchor"),
    [("c30", "c30"), ("%2Fsession%2Fentries%2F150", "u30"), ("/session/entries/153", "c30")],
)
def test_link_leads_to_an_entry(browser, tmp_path, name, anchor):
    page = open_page(browser, f"{write_page(tmp_path, build_record(*build_conversation()))}#{name}")
    row = page.locator(f'.row[data-anchor="{anchor}"]')
    row.wait_for()
    page.wait_for_selector(f'.row.selected[data-anchor="{anchor}"]')
    assert row.evaluate("row => row.getBoundingClientRect().top") < DESKTOP["height"]
    page.close()


def test_entry_can_be_shown_as_json(browser, tmp_path):
    page = open_page(browser, write_page(tmp_path, build_record(*build_conversation(3))))
    page.hover('.row[data-anchor="c1"]')
    page.click('.row[data-anchor="c1"] .json')
    page.wait_for_selector('.row[data-anchor="c1"] :text(\'"command": "ls 1"\')')
    page.close()


def test_range_of_lines_links_to_its_entry_and_back(browser, tmp_path, sample):
    page = open_page(browser, write_page(tmp_path, PageRecord("a.acr.json", sample)))
    page.click(".tabs button:has-text('Files')")
    page.click(".file .attribution summary")
    page.locator(".file td:last-child button").first.click()
    page.wait_for_selector(".row.selected .wrote button")
    labels = page.locator(".row.selected .wrote button").all_inner_texts()
    assert len(labels) == len(set(labels))
    page.locator(".row.selected .wrote button").first.click()
    page.wait_for_selector(".file.marked")
    page.close()


def test_text_of_lines_is_shown_if_their_hash_proves_it(browser, tmp_path, sample):
    page = open_page(browser, write_page(tmp_path, PageRecord("a.acr.json", sample)))
    page.click(".tabs button:has-text('Files')")
    page.click(".file .attribution summary")
    page.click(".file button:text-is('line 7')")
    page.wait_for_selector(".file .text :text('quantize(CENT)')")
    assert page.inner_text(".file .text .number") == "7"
    page.close()


def test_table_of_ranges_fits_its_card_on_a_phone(browser, tmp_path):
    contributor = {"type": "ai", "model-id": "anthropic/claude-opus-5"}
    lines = {"start-line": 1260, "end-line": 1339}
    file = {"path": "a.py", "conversations": [{"contributor": contributor, "ranges": [lines]}]}
    proofs = {
        "a.py": {
            "ranges": [lines | {"entries": ["019c7d5e-3dcaa5f2ab81"], "evidence": "diff-anchored"}]
        }
    }
    attribution = {
        "file-attribution": {"files": [file]},
        "vacr": {"attribution": {"files": proofs}},
    }
    attributed = build_record(*build_conversation(3), **attribution)
    page = open_page(browser, write_page(tmp_path, attributed), PHONE)
    page.keyboard.press("f")
    page.wait_for_selector(".file td:has-text('3dcaa5f2ab81')")
    right = "element => element.getBoundingClientRect().right"
    assert max(cell.evaluate(right) for cell in page.locator(".file td").all()) <= page.locator(
        ".file"
    ).evaluate(right)
    page.close()


def test_sub_agents_are_nested_and_can_be_folded(browser, tmp_path):
    parent = build_record(
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
    child = build_record(
        {"type": "user", "id": "cu", "content": "look"},
        {"type": "assistant", "id": "ca", "content": "found"},
        vacr={"parent": {"session-id": "s"}},
    )
    child["session"]["session-id"] = "s/agent-7"
    page = open_page(browser, write_page(tmp_path, parent, child))

    def list_anchors():
        return [row.get_attribute("data-anchor") for row in page.locator(".row").all()]

    assert list_anchors() == ["u", "t", None, "last"]
    page.click(".row.agent .fold:has-text('Sub-agent agent-7')")
    wait_for_count(page, ".row", 6)
    assert list_anchors() == ["u", "t", None, "cu", "ca", "last"]
    page.click(".row.agent .fold")
    wait_for_count(page, ".row", 4)
    page.click(".verdict")
    assert page.locator(".banner").count() == 1
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("tab", ["Conversation", "Files"])
def test_page_is_accessible(browser, tmp_path, sample, scheme, size, tab):
    if not AXE.exists():
        pytest.skip("needs axe-core: run npm ci in web/")
    signer = KeySigner(generate_key("eddsa"))
    page = open_page(
        browser,
        write_page(tmp_path, PageRecord("a.acr.json", sample, sign(sample, signer))),
        size,
        color_scheme=scheme,
    )
    page.click(".verdict")
    page.click(".charts summary")
    page.click(f".tabs button:has-text('{tab}')")
    page.wait_for_selector(".file .hunk" if tab == "Files" else ".row")
    page.click(".file .attribution summary" if tab == "Files" else ".row.group .fold")
    # The driver bypasses the policy of the page, which blocks other scripts.
    page.evaluate(AXE.read_text())
    violations = page.evaluate("axe.run()")["violations"]
    assert [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]])
        for violation in violations
    ] == []
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page_fits_the_width_of_the_screen(browser, tmp_path, sample, size):
    page = open_page(browser, write_page(tmp_path, PageRecord("a.acr.json", sample)), size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert (
        page.evaluate(
            "document.querySelector('main').scrollWidth - "
            "document.querySelector('main').clientWidth"
        )
        <= 0
    )
    page.close()


def test_long_conversation_renders_few_rows_at_a_time(browser, tmp_path):
    page = open_page(browser, write_page(tmp_path, build_record(*build_conversation(6000))))
    page.wait_for_selector(".count:has-text('24,000 rows')")
    assert page.locator(".row").count() < 60
    page.keyboard.press("G")
    page.wait_for_selector('.row[data-anchor="a5999"]')
    assert page.locator(".row").count() < 60
    page.close()


def test_a_busy_page_shows_the_answers_of_a_fast_worker(browser, tmp_path):
    """A worker may answer before the page has painted; the answer must have a listener by then."""
    address = write_page(tmp_path, build_record({"type": "user", "content": "Hello there"}))
    page = browser.new_page(viewport=DESKTOP)
    page.add_init_script(
        "const later = window.setTimeout;"
        "window.setTimeout = (call, delay, ...rest) => later(call, (delay || 0) + 1500, ...rest);"
        "window.requestAnimationFrame = (call) => later(call, 1500);"
    )
    page.goto(address)
    page.wait_for_selector(".list[aria-busy=false]")
    assert "Hello there" in page.inner_text(".list")
    page.close()

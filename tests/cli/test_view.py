"""`vacr view` as a user sees it: files, exit codes and streams."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, FIXTURES
from vacr.record.encoding import encode_with_id
from vacr.signing.keys import generate_key
from vacr.transparency.checkpoint import NOTE_KEY_COSIGNATURE, build_verifier_key
from vacr.verification.trust_store import ROLE_WITNESS, combine_trust_stores
from vacr.verification.trust_store_file import parse_trust_store
from vacr.workflows.page_trust import list_page_parties

pytestmark = pytest.mark.component

CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"


@pytest.fixture
def signed_record(vacr, tmp_path):
    """Return a record with a statement, and write the key that verifies it."""
    assert vacr("key", "generate", "-o", "keys").returncode == 0
    assert vacr("seal", str(CLAUDE), "--key", "keys/signing.pem", "-o", "sealed/").returncode == 0
    return tmp_path / "sealed" / "claude-code.acr.json"


def read_page_data(path: Path) -> dict:
    return json.loads(re.search(rb'id="vacr-page">(.*?)</script>', path.read_bytes())[1])


def read_embedded_record(path: Path, name="record-0") -> bytes:
    return base64.b64decode(re.search(rb'id="%s">([^<]*)<' % name.encode(), path.read_bytes())[1])


def test_page_contains_the_stored_record(vacr, tmp_path, signed_record):
    done = vacr("view", str(signed_record), "-o", "a.html", "--trust", "keys/signing.pub.pem")
    assert done.returncode == 0
    assert "verified" in done.out
    page = tmp_path / "a.html"
    assert gzip.decompress(read_embedded_record(page)) == signed_record.read_bytes()
    assert (
        read_embedded_record(page, "statement-0")
        == signed_record.with_name("claude-code.acr.json.cose").read_bytes()
    )
    found = read_page_data(page)
    assert len(found["keys"]) == 1
    assert found["records"][0]["verification"]["verified"] is True
    assert str(tmp_path) not in json.dumps(found)


def test_picture_is_drawn_beside_the_page(vacr, tmp_path, signed_record):
    trust = ("--trust", "keys/signing.pub.pem")
    done = vacr("view", str(signed_record), "-o", "a.html", "--og", *trust, "--format", "json")
    assert done.returncode == 0
    (result,) = json.loads(done.out)["results"]
    picture = (tmp_path / result["picture"]).read_text()
    assert result["picture"] == "a.svg"
    assert "✓ Verified" in picture
    assert "4 tool calls" in picture


def test_foreign_picture_is_not_replaced(vacr, tmp_path):
    (tmp_path / "a.svg").write_text("<svg/>")
    assert vacr("view", str(CLAUDE), "-o", "a.html", "--og").returncode != 0
    assert (tmp_path / "a.svg").read_text() == "<svg/>"
    assert vacr("view", str(CLAUDE), "-o", "a.html", "--og", "--overwrite").returncode == 0
    assert vacr("view", str(CLAUDE), "-o", "a.html", "--og").returncode == 0


def test_picture_needs_a_page_in_a_file(vacr):
    done = vacr("view", str(CLAUDE), "--og", "-o", "-")
    assert done.returncode == 2
    assert "-o page.html" in done.err


@pytest.mark.parametrize("name", ["picture.png", "Picture.SVG"])
@pytest.mark.parametrize("more", [(), ("--og",)])
def test_page_is_not_written_into_a_picture(vacr, tmp_path, name, more):
    done = vacr("view", str(CLAUDE), *more, "-o", name)
    assert (done.returncode, list(tmp_path.glob("*icture.*"))) == (2, [])
    assert f"vacr view {CLAUDE} --og -o {name[:-4]}.html" in " ".join(done.err.split())


def test_session_with_a_sealed_record_points_to_it(vacr, tmp_path, signed_record):
    session = tmp_path / "sealed" / CLAUDE.name
    session.write_bytes(CLAUDE.read_bytes())
    done = vacr("view", str(session), "-o", "a.html")
    assert f"vacr view {signed_record}" in " ".join(done.err.split())
    assert "sealed record" not in vacr("view", str(signed_record), "-o", "b.html").err
    # Another session may have had the same file name.
    session.write_bytes(CLAUDE.read_bytes().replace(b"6f0d1c52", b"7f0d1c52"))
    assert "sealed record" not in vacr("view", str(session), "-o", "c.html").err


def test_key_inside_the_statement_is_not_trusted(vacr, tmp_path, signed_record):
    done = vacr("view", str(signed_record), "--format", "json")
    assert done.returncode == 0
    (result,) = json.loads(done.out)["results"]
    assert result["verdict"] == "signed"
    checks = {
        check["name"]: check["outcome"]
        for check in read_page_data(tmp_path / "claude-code.html")["records"][0]["verification"][
            "checks"
        ]
    }
    assert checks["trust"] == "not decidable"
    assert checks["record"] == "passed"


@pytest.mark.parametrize("trusting", [(), ("--trust", "keys/signing.pub.pem")])
def test_modified_record_fails_but_gets_a_page(vacr, tmp_path, signed_record, trusting):
    signed_record.write_bytes(signed_record.read_bytes().replace(b"invoice", b"Invoice"))
    done = vacr("view", str(signed_record), "-o", "a.html", *trusting)
    assert done.returncode == 1
    assert "not verified" in done.out
    assert read_page_data(tmp_path / "a.html")["records"][0]["verification"]["verified"] is False


@pytest.mark.usefixtures("signed_record")
def test_unsigned_session_fails_with_trust(vacr):
    assert vacr("view", str(CLAUDE), "-o", "a.html").returncode == 0
    done = vacr(
        "view", str(CLAUDE), "-o", "a.html", "--trust", "keys/signing.pub.pem", "--overwrite"
    )
    assert done.returncode == 1
    assert "not verified: unsigned" in done.out


def test_second_store_does_not_revive_an_expired_witness_in_the_page(vacr, tmp_path, signed_record):
    key = generate_key("eddsa").public_key()
    witness = str(build_verifier_key("w.example.org", key, NOTE_KEY_COSIGNATURE))
    expired = ("--valid-until", "2020-01-01T00:00:00Z")
    for name, file, more in (("W", "own.toml", expired), ("Same", "other.toml", ())):
        add = ("trust", "add", name, "--role", "witness", "--note-key", witness, *more)
        assert vacr(*add, "--trust-store", file).returncode == 0
    stores = ("--trust-store", "own.toml", "--trust-store", "other.toml")
    vacr("view", str(signed_record), "-o", "a.html", *stores)
    assert read_page_data(tmp_path / "a.html")["witnesses"] == [], "neither cosigned this record"
    files = [tmp_path / name for name in ("own.toml", "other.toml")]
    both = [parse_trust_store(file.read_bytes(), str(file)) for file in files]
    [shown] = list_page_parties(combine_trust_stores(both), ROLE_WITNESS)
    assert shown.name == "W"


def test_page_contains_no_party_that_has_nothing_to_do_with_its_records(
    vacr, tmp_path, signed_record
):
    assert vacr("key", "generate", "-o", "other").returncode == 0
    log_key = str(build_verifier_key("log.example/1", generate_key("eddsa").public_key()))
    for name, key, more in (
        ("Mira Kern", "keys/signing.pub.pem", ()),
        ("Secret Client", "other/signing.pub.pem", ("--role", "signer", "--role", "verifier")),
        ("Secret Log", "other/signing.pub.pem", ("--role", "log", "--note-key", log_key)),
    ):
        assert vacr("trust", "add", name, "--key", key, *more).returncode == 0
    assert vacr("view", str(signed_record), "-o", "signed.html").returncode == 0
    assert vacr("view", str(CLAUDE), "-o", "unsigned.html").returncode == 0
    assert vacr("view", str(signed_record.parent), "-o", "site/").returncode == 0
    for name in ("signed.html", "unsigned.html", "site/index.html", "site/claude-code.html"):
        assert b"Secret" not in (tmp_path / name).read_bytes(), name
    signed, unsigned = map(read_page_data, (tmp_path / "signed.html", tmp_path / "unsigned.html"))
    assert [party["name"] for party in signed["parties"]] == ["Mira Kern"]
    assert (signed["lacksSigners"], signed["lacksLogs"], signed["logs"]) == (True, True, [])
    assert (unsigned["parties"], unsigned["logs"], unsigned["witnesses"]) == ([], [], [])
    # A key without a name tells who is trusted, too.
    keys = ("--trust", "keys/signing.pub.pem", "--trust", "other/signing.pub.pem")
    assert vacr("view", str(signed_record), "-o", "keys.html", *keys).returncode == 0
    assert len(read_page_data(tmp_path / "keys.html")["keys"]) == 1


def test_page_carries_the_names_of_the_trust_store(vacr, tmp_path, signed_record):
    add = ("trust", "add", "Mira Kern", "--key", "keys/signing.pub.pem")
    assert vacr(*add, "--trust-store", "team.toml").returncode == 0
    done = vacr("view", str(signed_record), "-o", "a.html", "--trust-store", "team.toml")
    assert (done.returncode, "verified" in done.out) == (0, True)
    found = read_page_data(tmp_path / "a.html")
    assert [party["name"] for party in found["parties"]] == ["Mira Kern"]
    assert (found["keys"], found["namesOnly"]) == ([], False)
    checks = found["records"][0]["verification"]["checks"]
    assert any(check["told"].startswith("signed by Mira Kern (key ") for check in checks)


def test_default_stores_lend_names_and_refuse_nobody(vacr, tmp_path, signed_record):
    assert vacr("key", "generate", "-o", "mira").returncode == 0
    assert vacr("trust", "add", "Mira Kern", "--key", "mira/signing.pub.pem").returncode == 0
    assert vacr("view", str(CLAUDE), "-o", "unsigned.html").returncode == 0
    done = vacr("view", str(signed_record), "-o", "a.html", "--format", "json")
    assert (done.returncode, json.loads(done.out)["results"][0]["verdict"]) == (0, "signed")
    assert read_page_data(tmp_path / "a.html")["namesOnly"] is True
    seal = ("seal", str(CLAUDE), "--key", "mira/signing.pem", "-o", "mira/")
    assert vacr(*seal).returncode == 0
    done = vacr("view", "mira/claude-code.acr.json", "-o", "b.html", "--format", "json")
    assert (done.returncode, json.loads(done.out)["results"][0]["verdict"]) == (0, "verified")


def test_native_session_is_viewed_with_its_sub_agents(vacr, tmp_path):
    session = next((FIXTURES / "claude" / "project").glob("3c9e*.jsonl"))
    done = vacr("view", str(session), "-o", "a.html", "--format", "json")
    assert done.returncode == 0
    (result,) = json.loads(done.out)["results"]
    assert result["records"] == len(read_page_data(tmp_path / "a.html")["records"]) > 1


def test_page_can_be_written_to_standard_output(vacr):
    done = vacr("view", str(CLAUDE), "-o", "-")
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!doctype html>")


def test_filters_apply_to_a_page_that_contains_everything(vacr, tmp_path):
    whole = vacr("view", str(CLAUDE), "-o", "a.html").returncode
    part = vacr(
        "view", str(CLAUDE), "-o", "b.html", "--only", "user", "--grep", "invoice"
    ).returncode
    assert whole == part == 0
    assert read_page_data(tmp_path / "a.html")["filter"] is None
    assert read_page_data(tmp_path / "b.html")["filter"]["kinds"] == ["user"]
    assert read_embedded_record(tmp_path / "a.html") == read_embedded_record(tmp_path / "b.html")


def test_existing_page_is_overwritten_only_on_request(vacr, tmp_path):
    (tmp_path / "a.html").write_text("mine")
    done = vacr("view", str(CLAUDE), "-o", "a.html")
    assert done.returncode == 2
    assert "--overwrite" in done.err
    assert (tmp_path / "a.html").read_text() == "mine"


def test_archive_is_rebuilt_when_records_change(vacr, tmp_path):
    for session in (CLAUDE, CODEX):
        vacr("record", session, "-o", "records/")
    assert vacr("view", "records", "-o", "site/").returncode == 0
    vacr("attribute", CLAUDE, "-o", "records/claude-code.acr.json", "--overwrite")
    before = {path.name: path.read_bytes() for path in (tmp_path / "site").iterdir()}
    done = vacr("view", "records", "-o", "site/")
    assert done.returncode == 0, done.err
    after = {path.name: path.read_bytes() for path in (tmp_path / "site").iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"claude-code.html"}
    (tmp_path / "site" / "codex-cli.html").write_text("mine")
    assert vacr("view", "records", "-o", "site/").returncode == 2
    assert (tmp_path / "site" / "codex-cli.html").read_text() == "mine"


def test_folder_becomes_an_archive(vacr, tmp_path):
    assert vacr("record", str(EXAMPLES), "-o", "records/").returncode == 0
    (tmp_path / "records" / "index.acr.json").write_bytes(
        (tmp_path / "records" / "codex-cli.acr.json").read_bytes()
    )
    (tmp_path / "records" / "bad.acr.json").write_text("{")
    done = vacr("view", "records", "-o", "site/")
    assert done.returncode == 3
    assert "bad.acr.json" in done.err
    pages = read_page_data(tmp_path / "site" / "index.html")["site"]["pages"]
    assert len(pages) == 6
    assert {page["href"] for page in pages} == {
        path.name for path in (tmp_path / "site").glob("*.html")
    } - {"index.html"}
    claude = next(page for page in pages if page["agent"] == "claude-code")
    assert claude["calls"] == 4
    assert claude["title"] == "Fix invoice rounding", "as vacr list names it"
    assert claude["verdict"] == "unsigned"


def test_sums_of_an_index_are_those_of_stats(vacr, tmp_path):
    """The totals of sub-agents are on the card of their conversation."""
    project = FIXTURES / "claude" / "project"
    assert vacr("view", project, "-o", "site/").returncode == 0
    cards = read_page_data(tmp_path / "site" / "index.html")["site"]["pages"]
    total = json.loads(vacr("stats", project, "--format", "json").out)["total"]
    assert len(cards) < total["sessions"]
    assert sum(card["tokens"] for card in cards) == total["tokens"]["total"]
    for name in ("prompts", "calls", "errors"):
        assert sum(card[name] for card in cards) == total[name], name
    micro_dollars = total["micro-dollars"] + total["estimated-micro-dollars"]
    assert sum(card["cost"] for card in cards) == pytest.approx(micro_dollars / 1e6, abs=1e-3)


def test_session_with_several_recordings_counts_once_in_an_index(vacr, tmp_path):
    assert vacr("record", CLAUDE, CODEX, "-o", "records/").returncode == 0
    folder = tmp_path / "records"
    data = (folder / "claude-code.acr.json").read_bytes()
    (folder / "a-modified.acr.json").write_bytes(data.replace(b"off by a cent", b"off by a euro"))
    (folder / "zz-copy.acr.json").write_bytes(data)
    assert vacr("view", "records", "-o", "site/").returncode == 1
    cards = read_page_data(tmp_path / "site" / "index.html")["site"]["pages"]
    assert {card["name"]: card["isRepeated"] for card in cards} == {
        "a-modified": True,
        "claude-code": False,
        "codex-cli": False,
        "zz-copy": True,
    }
    total = json.loads(vacr("stats", "records", "--format", "json").out)["total"]
    counted = [card for card in cards if not card["isRepeated"]]
    assert sum(card["calls"] for card in counted) == total["calls"]


def test_pages_of_an_archive_link_to_its_index(vacr, tmp_path):
    for name in ("", "deep/er/"):
        assert vacr("record", CLAUDE, "-o", f"records/{name}").returncode == 0
    assert vacr("view", "records", "-o", "site/").returncode == 0
    for page, index in (("claude-code", "index.html"), ("deep/er/claude-code", "../../index.html")):
        assert f'"index":"{index}"' in (tmp_path / "site" / f"{page}.html").read_text()
    assert vacr("view", CLAUDE, "-o", "alone.html").returncode == 0
    assert '"index":""' in (tmp_path / "alone.html").read_text()


def test_page_is_no_more_readable_than_its_record(vacr, tmp_path):
    assert vacr("record", str(EXAMPLES), "-o", "records/").returncode == 0
    (tmp_path / "records" / "codex-cli.acr.json").chmod(0o600)
    assert vacr("view", "records", "-o", "site/").returncode == 0
    modes = {path.stem: path.stat().st_mode & 0o044 for path in (tmp_path / "site").glob("*.html")}
    assert modes["codex-cli"] == modes["index"] == 0
    assert (
        modes["claude-code"]
        == (tmp_path / "records" / "claude-code.acr.json").stat().st_mode & 0o044
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("missing.acr.json",), 3, "missing.acr.json"),
        ((str(CLAUDE), "--trust", "missing.pem"), 4, "missing.pem"),
        ((".",), 3, "no record"),
        (("x.acr.json.cose",), 3, "the record of this statement is missing"),
        ((str(EXAMPLES), "-o", "-"), 2, "-o site/"),
        ((str(EXAMPLES), "-o", "site.html"), 2, "ends in .html"),
    ],
)
def test_errors_have_a_hint(vacr, arguments, code, message):
    done = vacr("view", *arguments)
    assert done.returncode == code
    assert message in done.err


def test_help_has_an_example(vacr):
    assert "Example:" in vacr("view", "--help").out


def test_parent_in_a_record_can_have_any_type(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "records/")
    record = json.loads((tmp_path / "records" / "claude-code.acr.json").read_bytes())
    for number, parent in enumerate(([], {}, {"session-id": []}, {"session-id": {}}, 1)):
        record["vacr"]["parent"] = parent
        data = b"".join(encode_with_id(record))
        (tmp_path / "records" / f"odd-{number}.acr.json").write_bytes(data)
    assert vacr("view", "records", "-o", "site/").returncode == 0
    assert len(list((tmp_path / "site").iterdir())) == 7


def test_line_about_a_page_says_first_that_it_was_written(vacr):
    done = vacr("view", str(CLAUDE), "-o", "a.html")
    assert re.fullmatch(r"a\.html: written, [0-9.]+ kB, not signed\n", done.out)
    done = vacr("view", str(CLAUDE), "-o", "a.html")
    assert re.fullmatch(r"a\.html: unchanged, [0-9.]+ kB, not signed\n", done.out)

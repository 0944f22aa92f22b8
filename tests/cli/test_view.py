"""`vacr view` as a user has it: files, exit codes, what goes where."""

import base64
import gzip
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, FIXTURES
from vacr.app.view_server import PageServer, _PageHandler
from vacr.record.encoding import assign_record_id

pytestmark = pytest.mark.component

CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"


@pytest.fixture
def sealed(vacr, tmp_path):
    """A record with its statement, and the key that it is to be verified with."""
    assert vacr("key", "generate", "-o", "keys").returncode == 0
    assert vacr("seal", str(CLAUDE), "--key", "keys/signing.pem", "-o", "sealed/").returncode == 0
    return tmp_path / "sealed" / "claude-code.acr.json"


def described(path: Path) -> dict:
    return json.loads(re.search(rb'id="vacr-page">(.*?)</script>', path.read_bytes())[1])


def embedded(path: Path, name="record-0") -> bytes:
    return base64.b64decode(re.search(rb'id="%s">([^<]*)<' % name.encode(), path.read_bytes())[1])


def test_a_page_holds_the_record_as_it_is_stored(vacr, tmp_path, sealed):
    done = vacr("view", str(sealed), "-o", "a.html", "--trust", "keys/signing.pub.pem")
    assert done.returncode == 0
    assert "verified" in done.out
    page = tmp_path / "a.html"
    assert gzip.decompress(embedded(page)) == sealed.read_bytes()
    assert (
        embedded(page, "statement-0") == sealed.with_name("claude-code.acr.json.cose").read_bytes()
    )
    found = described(page)
    assert len(found["keys"]) == 1
    assert found["records"][0]["verification"]["verified"] is True
    assert str(tmp_path) not in json.dumps(found)


def test_without_trust_a_key_that_came_along_is_nobodys(vacr, tmp_path, sealed):
    done = vacr("view", str(sealed), "--format", "json")
    assert done.returncode == 0
    (result,) = json.loads(done.out)["results"]
    assert result["verdict"] == "signed"
    checks = {
        one["name"]: one["outcome"]
        for one in described(tmp_path / "claude-code.html")["records"][0]["verification"]["checks"]
    }
    assert checks["trust"] == "not decidable"
    assert checks["record"] == "passed"


@pytest.mark.parametrize("trusting", [(), ("--trust", "keys/signing.pub.pem")])
def test_a_changed_record_fails_and_still_gives_a_page(vacr, tmp_path, sealed, trusting):
    sealed.write_bytes(sealed.read_bytes().replace(b"invoice", b"Invoice"))
    done = vacr("view", str(sealed), "-o", "a.html", *trusting)
    assert done.returncode == 1
    assert "not verified" in done.out
    assert described(tmp_path / "a.html")["records"][0]["verification"]["verified"] is False


@pytest.mark.usefixtures("sealed")
def test_what_is_not_signed_fails_where_somebody_has_to_have(vacr):
    assert vacr("view", str(CLAUDE), "-o", "a.html").returncode == 0
    done = vacr(
        "view", str(CLAUDE), "-o", "a.html", "--trust", "keys/signing.pub.pem", "--overwrite"
    )
    assert done.returncode == 1
    assert "not verified: unsigned" in done.out


def test_a_native_session_is_viewed_with_its_sub_agents(vacr, tmp_path):
    session = next((FIXTURES / "claude" / "project").glob("3c9e*.jsonl"))
    done = vacr("view", str(session), "-o", "a.html", "--format", "json")
    assert done.returncode == 0
    (result,) = json.loads(done.out)["results"]
    assert result["records"] == len(described(tmp_path / "a.html")["records"]) > 1


def test_a_page_may_go_to_standard_output(vacr):
    done = vacr("view", str(CLAUDE), "-o", "-")
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!doctype html>")


def test_filters_choose_what_is_shown_first_and_the_page_holds_all(vacr, tmp_path):
    whole = vacr("view", str(CLAUDE), "-o", "a.html").returncode
    part = vacr(
        "view", str(CLAUDE), "-o", "b.html", "--only", "user", "--grep", "invoice"
    ).returncode
    assert whole == part == 0
    assert described(tmp_path / "a.html")["filter"] is None
    assert described(tmp_path / "b.html")["filter"]["kinds"] == ["user"]
    assert embedded(tmp_path / "a.html") == embedded(tmp_path / "b.html")


def test_a_page_that_is_there_is_not_replaced_unasked(vacr, tmp_path):
    (tmp_path / "a.html").write_text("mine")
    done = vacr("view", str(CLAUDE), "-o", "a.html")
    assert done.returncode == 2
    assert "--overwrite" in done.err
    assert (tmp_path / "a.html").read_text() == "mine"


def test_an_archive_is_made_anew_as_records_change(vacr, tmp_path):
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


def test_a_folder_gives_an_archive(vacr, tmp_path):
    assert vacr("record", str(EXAMPLES), "-o", "records/").returncode == 0
    (tmp_path / "records" / "index.acr.json").write_bytes(
        (tmp_path / "records" / "codex-cli.acr.json").read_bytes()
    )
    (tmp_path / "records" / "bad.acr.json").write_text("{")
    done = vacr("view", "records", "-o", "site/")
    assert done.returncode == 3
    assert "bad.acr.json" in done.err
    pages = described(tmp_path / "site" / "index.html")["site"]["pages"]
    assert len(pages) == 6
    assert {page["href"] for page in pages} == {
        path.name for path in (tmp_path / "site").glob("*.html")
    } - {"index.html"}
    claude = next(page for page in pages if page["agent"] == "claude-code")
    assert claude["calls"] == 4
    assert claude["title"] == "Fix invoice rounding", "as vacr list names it"
    assert claude["verdict"] == "unsigned"


def test_pages_of_an_archive_name_its_index(vacr, tmp_path):
    for name in ("", "deep/er/"):
        assert vacr("record", CLAUDE, "-o", f"records/{name}").returncode == 0
    assert vacr("view", "records", "-o", "site/").returncode == 0
    for page, index in (("claude-code", "index.html"), ("deep/er/claude-code", "../../index.html")):
        assert f'"index":"{index}"' in (tmp_path / "site" / f"{page}.html").read_text()
    assert vacr("view", CLAUDE, "-o", "alone.html").returncode == 0
    assert '"index":""' in (tmp_path / "alone.html").read_text()


def test_a_page_is_no_more_readable_than_its_record(vacr, tmp_path):
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
    ("arguments", "code", "told"),
    [
        (("missing.acr.json",), 3, "missing.acr.json"),
        (("a.html", "--serve", "-o", "b.html"), 2, "exclude each other"),
        ((str(CLAUDE), "--trust", "missing.pem"), 4, "missing.pem"),
        ((".",), 3, "no record"),
        (("x.acr.json.cose",), 3, "the record of this statement is missing"),
        ((str(EXAMPLES), "-o", "-"), 2, "-o site/"),
        ((str(EXAMPLES), "-o", "site.html"), 2, "ends in .html"),
        ((str(CLAUDE), "--serve", "--host", "203.0.113.1"), 3, "203.0.113.1"),
    ],
)
def test_errors_say_what_to_do(vacr, arguments, code, told):
    done = vacr("view", *arguments)
    assert done.returncode == code
    assert told in done.err


def test_help_has_an_example(vacr):
    assert "Example:" in vacr("view", "--help").out


class Served:
    """`vacr view --serve`, in a process of its own."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "vacr", "view", *arguments, "--serve", "--format", "json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.told = json.loads(self.process.stdout.readline())
        self.host, self.port = re.match(r"http://([^:]+):(\d+)/", self.told["address"]).groups()

    def get(self, path="/", method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port))
        named = {
            "Host": f"{self.host}:{self.port}",
            **{name.title(): value for name, value in headers.items()},
        }
        connection.request(method, path, headers=named)
        answer = connection.getresponse()
        answer.body = answer.read()
        connection.close()
        return answer

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.close()
        return self.process.wait()


@pytest.fixture
def serving():
    started = []

    def serve(*arguments):
        started.append(Served(*arguments))
        return started[-1]

    yield serve
    for one in started:
        if one.process.poll() is None:
            one.end()


def test_a_page_is_served_to_this_machine(serving):
    served = serving(str(CLAUDE))
    page = served.get()
    assert page.status == 200
    assert page.body.startswith(b"<!doctype html>")
    assert page.getheader("X-Content-Type-Options") == "nosniff"
    assert page.getheader("Cache-Control") == "no-store"
    assert served.get("/claude-code.html").body == page.body
    assert served.get("/", "HEAD").body == b""
    assert served.get("/", "POST").status == 501
    assert served.end() == 0


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/../claude-code.html",
        "/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/claude-code.html/",
    ],
)
def test_nothing_else_is_served(serving, path):
    assert serving(str(CLAUDE)).get(path).status == 404


def test_other_pages_of_a_browser_cannot_read_it(serving):
    served = serving(str(CLAUDE))
    assert served.get(host="evil.example").status == 403
    assert served.get(host=f"evil.example:{served.port}").status == 403
    assert served.get(host="127.0.0.1:1").status == 403
    assert served.get(host="").status == 403
    assert served.get(origin="https://evil.example").status == 403
    for origin in (
        "null",
        "",
        "http://[",
        "http://[::1",
        f"https://127.0.0.1:{served.port}",
        f"http://127.0.0.1:{served.port}x",
    ):
        assert served.get(origin=origin).status == 403
    assert (
        served.get(host=f"localhost:{served.port}", origin=f"http://localhost:{served.port}").status
        == 200
    )


def test_a_client_that_says_nothing_is_left(monkeypatch, tmp_path):
    (tmp_path / "a.html").write_text("x")
    assert _PageHandler.timeout <= 60, "none by default"
    monkeypatch.setattr(_PageHandler, "timeout", 0.2)
    with PageServer({"a.html": tmp_path / "a.html"}, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as silent:
            silent.sendall(b"GET / HTTP/1.1\r\nHost:")
            assert silent.recv(1) == b""
        server.shutdown()


def test_what_vacr_says_in_a_record_may_be_of_any_type(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "records/")
    record = json.loads((tmp_path / "records" / "claude-code.acr.json").read_bytes())
    for number, said in enumerate(([], {}, {"session-id": []}, {"session-id": {}}, 1)):
        record["vacr"]["parent"] = said
        data = b"".join(assign_record_id(record))
        (tmp_path / "records" / f"odd-{number}.acr.json").write_bytes(data)
    assert vacr("view", "records", "-o", "site/").returncode == 0
    assert len(list((tmp_path / "site").iterdir())) == 7


def test_beyond_this_machine_a_token_is_needed(serving):
    served = serving(str(CLAUDE), "--host", "0.0.0.0")  # noqa: S104 - that is what is tried
    token = served.told["address"].split("/")[3]
    assert len(token) >= 32
    assert served.get("/").status == 404
    assert served.get("/claude-code.html").status == 404
    assert served.get(f"/{token[:-1]}/").status == 404
    assert served.get(f"/{token}/").status == 200

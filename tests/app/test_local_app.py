"""The local app: who may read it, what it answers, and its use in a real browser."""

import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import Request, urlopen

import pytest

import vacr
from tests.conftest import EXAMPLES
from tests.discovery import homes
from tests.viewer.browser import AXE, DESKTOP, NEEDS_CHROMIUM, PATIENCE, PHONE
from vacr.app import LocalApp
from vacr.app.local_app import _AppHandler
from vacr.files import find_index_file


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return homes.fill(tmp_path_factory.mktemp("app") / "home")


@pytest.fixture(scope="module")
def app(home):
    """Yield a running app over a home with sessions of all agents, once it has read them."""
    with LocalApp(home / "state", environment={"HOME": str(home)}) as running:
        server = threading.Thread(target=running.serve_forever, daemon=True)
        server.start()
        while not running.progress.is_ready:
            time.sleep(0.05)
        yield running
        running.stop()
        server.join()


def request(app, path, *, token=None, host=None, method="GET", **headers):
    """Return the status, the headers and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", app.port)
    sent = {"Host": host or f"127.0.0.1:{app.port}", **headers}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    connection.putrequest(method, path, skip_host=True)
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def ask(app, path):
    status, _, body = request(app, path, token=app.token)
    assert status == 200, body
    return json.loads(body)


# --- who may read it ---


@pytest.mark.parametrize(
    "path", ["/api/state", "/api/conversations", "/api/overview", "/api/conversation?record=1"]
)
@pytest.mark.parametrize("token", [None, "", "guess", "Bearer"])
def test_data_needs_the_token(app, path, token):
    status, _, body = request(app, path, token=token)
    assert (status, body) == (403, b"not allowed")


def test_page_without_the_token_has_no_data(app):
    status, headers, body = request(app, "/")
    assert status == 200
    assert b"connect-src 'self'" in body
    assert headers["X-Frame-Options"] == "DENY"
    assert app.token.encode() not in body
    assert b"Fix the till" not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1"])
def test_other_names_of_this_host_are_refused(app, host):
    assert request(app, "/", host=host)[0] == 403
    assert request(app, "/api/state", token=app.token, host=host)[0] == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://evil.example",
        "null",
        "",
        "file://",
        "http://[",
        "http://[::1",
        "https://127.0.0.1",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}x",
    ],
)
def test_other_origins_are_refused(app, origin):
    origin = origin.format(port=app.port)
    assert request(app, "/", Origin=origin)[0] == 403
    assert request(app, "/api/state", token=app.token, Origin=origin)[0] == 403


def test_own_origin_is_allowed(app):
    origin = f"http://127.0.0.1:{app.port}"
    assert request(app, "/api/state", token=app.token, Origin=origin)[0] == 200


def test_silent_client_is_disconnected(app, monkeypatch):
    assert _AppHandler.timeout <= 60, "http.server has no timeout by default"
    monkeypatch.setattr(_AppHandler, "timeout", 0.2)
    with socket.create_connection(("127.0.0.1", app.port), timeout=10) as silent:
        silent.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert silent.recv(1) == b""


def test_token_cannot_be_sent_in_the_address(app):
    assert request(app, f"/api/state?token={app.token}")[0] == 403


def test_redirect_file_is_private_and_has_the_address(app):
    path = app.write_redirect_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert app.make_address() in path.read_text()


def test_planted_session_id_adds_nothing_to_the_redirect_file(app):
    """A script in this file could read the token and send it away."""
    path = app.write_redirect_file('abcd"><script>alert(1)</script>&token=x\ud800')
    text = path.read_text("utf-8")
    path.unlink()
    assert "<script" not in text
    assert text.count('"') == 4
    assert text.count("token=") == 1


def test_failure_of_the_index_is_an_answer(app, monkeypatch):
    errors = [sqlite3.OperationalError("integer overflow"), ZeroDivisionError()]

    def fail(*_arguments):
        raise errors.pop(0)

    monkeypatch.setattr("vacr.app.local_app.list_conversations", fail)
    status, _, body = request(app, "/api/conversations", token=app.token)
    assert status == 400
    assert "cannot read the index: integer overflow" in json.loads(body)["error"]
    assert "Delete the file" in json.loads(body)["error"]
    status, _, body = request(app, "/api/conversations", token=app.token)
    assert (status, json.loads(body)) == (500, {"error": "vacr failed: ZeroDivisionError"})


def test_only_loopback_is_listened_at(app):
    assert app._server.server_address[0] == "127.0.0.1"


# --- answers ---


def test_conversations_of_all_agents_are_listed(app):
    answer = ask(app, "/api/conversations")
    agents = {facet["name"] for facet in ask(app, "/api/overview")["facets"]["agent"]}
    assert agents == {
        "claude-code",
        "codex-cli",
        "copilot",
        "copilot-vscode",
        "cursor",
        "gemini-cli",
        "opencode",
        "visualstudio-copilot",
        "windsurf",
    }
    assert answer["count"] == len(answer["conversations"])
    rows = answer["conversations"]
    times = [row["last_used_ms"] for row in rows]
    assert times == sorted(times, reverse=True)
    stated = [row["end_ms"] or row["start_ms"] for row in rows]
    assert [time for time, own in zip(times, stated, strict=True) if own] == list(
        filter(None, stated)
    )


def test_sub_agents_have_no_row_of_their_own(app):
    sessions = [row["session"] for row in ask(app, "/api/conversations")["conversations"]]
    assert "ses_1b7Nora" in sessions
    assert "ses_1b6Helper" not in sessions


def test_filters_choose_conversations(app):
    chosen = ask(app, "/api/conversations?agent=opencode&outcome=failed&limit=1")
    assert {row["agent"] for row in chosen["conversations"]} == {"opencode"}
    assert len(chosen["conversations"]) == 1
    assert ask(app, "/api/conversations?since=99999999999999")["count"] == 0


def test_search_marks_the_words(app):
    answer = ask(app, "/api/search?q=type+hints")
    words = {
        piece["text"].lower()
        for hit in answer["hits"]
        for piece in hit["snippet"]
        if piece["isWord"]
    }
    assert {"type", "hints"} & words
    assert ask(app, "/api/search?q=%22hints+type%22")["count"] == 0


def test_search_shows_the_first_hits_of_every_conversation(app):
    answer = ask(app, "/api/search?q=the&limit=200")
    assert len({hit["record"] for hit in answer["hits"]}) == answer["conversations"] > 3
    assert sum({hit["record"]: hit["count"] for hit in answer["hits"]}.values()) == answer["count"]
    assert max(Counter(hit["record"] for hit in answer["hits"]).values()) == 3
    assert answer["count"] > len(answer["hits"])
    fewer = ask(app, "/api/search?q=the&limit=1")
    assert (fewer["conversations"], len(fewer["hits"])) == (answer["conversations"], 3)
    assert fewer["hits"] == answer["hits"][:3]


def test_search_keeps_to_the_chosen_model_and_outcome(app):
    everywhere = ask(app, "/api/search?q=the&limit=200")["hits"]
    listed = ask(app, "/api/conversations?limit=500")["conversations"]
    models = {row["session"]: row["model"] for row in listed}
    clean = {row["session"] for row in listed if not row["failed"]}
    found = {hit["session"] for hit in everywhere} & set(models)
    model = models[min(found)]
    chosen = ask(app, f"/api/search?q=the&limit=200&model={quote(model)}")["hits"]
    sessions = {hit["session"] for hit in chosen} & set(models)
    assert sessions == {session for session in found if models[session] == model}
    assert len(chosen) < len(everywhere)
    flawless = ask(app, "/api/search?q=the&limit=200&outcome=clean")["hits"]
    assert {hit["session"] for hit in flawless} & set(models) == found & clean


def test_conversation_comes_with_its_records(app):
    answer = ask(app, "/api/conversation?session=ses_1b7Nora")
    assert len(answer["records"]) == len(answer["island"]["records"]) == 2
    assert answer["statements"] == [None, None]


@pytest.mark.parametrize(
    "path",
    [
        "/api/conversation?record=999999",
        "/api/conversation?session=nobody",
        "/api/conversation",
        "/api/conversation?record=-1",
        "/api/conversation?record=1e9",
        "/api/nothing",
    ],
)
def test_unknown_things_are_not_found(app, path):
    status, _, body = request(app, path, token=app.token)
    assert status == 404
    assert "error" in json.loads(body)


def test_empty_search_is_an_error_with_a_reason(app):
    status, _, body = request(app, "/api/search?q=--", token=app.token)
    assert status == 400
    assert "no letter or digit" in json.loads(body)["error"]


def test_new_session_appears(app, home):
    before = ask(app, "/api/state")["version"]
    target = home / ".codex" / "sessions" / "2026" / "07" / "25" / "rollout-new.jsonl"
    text = (EXAMPLES / "codex-cli.jsonl").read_text().replace("019cf2a1", "019cf2a2")
    target.write_text(text.replace("Add type hints", "Paint the zebra"))
    while ask(app, "/api/state")["version"] == before:
        time.sleep(0.1)
    while not (found := ask(app, "/api/search?q=zebra"))["count"]:
        time.sleep(0.1)
    assert found["hits"][0]["agent"] == "codex-cli"


# --- the command ---


def test_command_prints_the_address_and_ends_with_a_signal(home):
    command = [sys.executable, "-m", "vacr", "open", "--no-browser", "--format", "json"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        address = json.loads(process.stdout.readline())["address"]
        assert address.startswith("http://127.0.0.1:")
        assert "#token=" in address
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert not list((home / ".local").rglob("open-*.html"))


@pytest.fixture
def open_at(home):
    """Return a function that runs `vacr open` and returns the session and rows that it shows."""

    def run(path):
        command = [sys.executable, "-m", "vacr", "open", path, "--no-browser", "--format", "json"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            address = urlsplit(json.loads(process.stdout.readline())["address"])
            fragment = parse_qs(address.fragment)
            headers = {"Authorization": f"Bearer {fragment['token'][0]}"}
            url = f"http://{address.netloc}/api/conversations"
            rows = None
            while not rows:
                with urlopen(Request(url, headers=headers)) as answer:
                    rows = json.loads(answer.read())["conversations"]
            process.send_signal(signal.SIGTERM)
        return fragment.get("session", [""])[0], {row["session"] for row in rows}

    return run


def test_path_of_an_agents_session_opens_it_among_all(open_at, home):
    path = next(path for path in home.rglob("*.jsonl") if ".codex" in path.parts)
    session, rows = open_at(str(path))
    assert session in path.read_text()
    assert len(rows) > 1


def test_path_of_another_session_opens_only_that(open_at):
    session, rows = open_at(str(EXAMPLES / "claude-code.jsonl"))
    assert {session} == rows


def test_folder_opens_the_list_of_its_sessions(open_at):
    session, rows = open_at(str(EXAMPLES))
    assert session == ""
    assert len(rows) == 5


def test_path_without_sessions_is_refused_with_the_next_step(home, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "vacr", "open", str(tmp_path), "--no-browser"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )
    assert done.returncode == 3
    assert b"no records or sessions found\n  To find sessions: vacr list -v" in done.stderr


def test_printed_address_comes_with_a_warning(home):
    with subprocess.Popen(
        [sys.executable, "-m", "vacr", "open", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONUNBUFFERED": "1"},
    ) as process:
        address = process.stdout.readline().rstrip("\n")
        # The app answers once it has printed everything.
        urlopen(address.rpartition(" ")[2].partition("#")[0]).close()  # noqa: S310
        process.terminate()
        lines = [address, *process.stdout.read().splitlines()]
    assert "http://127.0.0.1:" in lines[0]
    assert lines[1] == "Ctrl-C ends it. Anyone with this address can read your conversations."


def test_state_folder_is_private_from_the_start(tmp_path):
    state = tmp_path / "state" / "vacr"
    with LocalApp(state, environment={"HOME": str(tmp_path)}) as app:
        app.write_redirect_file()
    for folder in (state.parent, state, *filter(os.path.isdir, state.iterdir())):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_app_and_another_version_of_vacr_do_not_disturb_each_other(tmp_path):
    home = homes.fill(tmp_path / "home")
    code = tmp_path / "code"
    shutil.copytree(Path(vacr.__file__).parent, code / "vacr", copy_function=shutil.copy)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(code)}
    state = tmp_path / "state"
    search = [sys.executable, "-P", "-m", "vacr", "search", "the", "--format", "json"]

    def search_with_other_version():
        done = subprocess.run(
            search, capture_output=True, env=environment | {"VACR_STATE": str(state)}
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["count"]

    with LocalApp(state, environment={"HOME": str(home)}) as app:
        # The app is still reading the sessions.
        found = search_with_other_version()
        while "another version of vacr has rebuilt it" not in app.progress.problem:
            time.sleep(0.05)
        assert "restart this program" in app.progress.problem
        assert search_with_other_version() == found
    with closing(sqlite3.connect(find_index_file(state))) as index:
        assert index.execute("SELECT count(*) FROM sources").fetchone()[0] > 0


def test_vacr_alone_without_a_terminal_prints_help(home):
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "vacr"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
    )
    assert done.returncode == 2
    assert b"Every day:" in done.stdout


# --- in a browser ---


def open_app(browser, app, session="", size=None, **settings):
    page = browser.new_page(viewport=size or DESKTOP, **settings)
    page.set_default_timeout(PATIENCE)
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(app.make_address(session))
    page.wait_for_selector(".tile, main[aria-label=Record]")
    return page


@NEEDS_CHROMIUM
def test_list_search_and_conversation_lead_into_each_other(browser, app):
    page = open_app(browser, app)
    assert "token" not in page.url
    page.keyboard.press("/")
    page.keyboard.type("hints")
    page.wait_for_selector(".hit mark")
    page.click(".hit >> nth=0")
    page.wait_for_selector("main[aria-label=Record] article")
    assert "/conversation/" in page.url
    page.go_back()
    page.wait_for_selector(".tile")
    assert page.input_value("input[type=search]") == "hints"
    assert page.complaints == []
    page.close()


@NEEDS_CHROMIUM
def test_app_opens_at_a_session(browser, app):
    page = open_app(browser, app, "ses_1b9Other")
    page.wait_for_selector("main[aria-label=Record] article")
    assert page.url.endswith("/conversation/ses_1b9Other")
    page.close()


@NEEDS_CHROMIUM
def test_filter_narrows_the_list(browser, app):
    page = open_app(browser, app, bypass_csp=True)
    page.select_option("select[aria-label=Agent]", "opencode")
    page.wait_for_function(
        "[...document.querySelectorAll('.tile .facts')].every(f => f.textContent.startsWith('OpenCode'))"
    )
    page.close()


BARS = ".days rect.area"


@NEEDS_CHROMIUM
def test_list_stays_without_a_chart(browser, app):
    page = open_app(browser, app, bypass_csp=True)
    page.wait_for_selector(BARS, state="attached")
    failure = {"status": 500, "json": {"error": "the index is busy"}}
    page.route("**/api/overview*", lambda route: route.fulfill(**failure))
    page.select_option("select[aria-label=Agent]", "opencode")
    page.wait_for_selector(
        "[role=status]:has-text('The chart could not be loaded: the index is busy')"
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.tile .facts')].every(f => f.textContent.startsWith('OpenCode'))"
    )
    assert page.locator(".days").count() == 0
    page.unroute("**/api/overview*")
    page.select_option("select[aria-label=Agent]", "")
    page.wait_for_selector(BARS, state="attached")
    assert page.locator("[role=status]:has-text('could not be loaded')").count() == 0
    assert page.complaints == []
    page.close()


@NEEDS_CHROMIUM
def test_first_chart_that_fails_hides_no_list(browser, app):
    page = browser.new_page(viewport=DESKTOP)
    page.set_default_timeout(PATIENCE)
    failure = {"status": 500, "json": {"error": "the index is busy"}}
    page.route("**/api/overview*", lambda route: route.fulfill(**failure))
    page.goto(app.make_address())
    page.wait_for_selector(
        "[role=status]:has-text('The chart and the filters could not be loaded')"
    )
    page.wait_for_selector(".tile")
    page.close()


@NEEDS_CHROMIUM
def test_chart_of_earlier_choices_is_not_shown(browser, app):
    page = open_app(browser, app, bypass_csp=True)
    page.wait_for_selector(BARS, state="attached")
    held = []

    def hold(route):
        held.append(route)

    page.route("**/api/overview*", hold)
    page.focus("select[aria-label=Agent]")
    page.select_option("select[aria-label=Agent]", "opencode")
    page.wait_for_function(
        "[...document.querySelectorAll('.tile .facts')].every(f => f.textContent.startsWith('OpenCode'))"
    )
    assert held
    assert page.locator(".days svg").count() == 1
    assert page.locator(BARS).count() == 0
    # The filters are about all conversations: they stay, and with them the focus.
    assert page.evaluate("document.activeElement.ariaLabel") == "Agent"
    while held:
        held.pop().continue_()
    page.unroute("**/api/overview*")
    page.select_option("select[aria-label=Agent]", "")
    page.wait_for_selector(BARS, state="attached")
    assert page.complaints == []
    page.close()


@NEEDS_CHROMIUM
def test_project_is_chosen_by_its_folder(browser, app):
    page = open_app(browser, app, bypass_csp=True)
    project = ask(app, "/api/overview")["facets"]["project"][1]
    page.select_option("select[aria-label=Project]", project["name"])
    page.wait_for_function(
        "count => document.querySelectorAll('.tile').length === count", arg=project["count"]
    )
    page.close()


@NEEDS_CHROMIUM
def test_facets_have_the_names_that_people_write(browser, app):
    page = open_app(browser, app)
    page.wait_for_selector("select[aria-label=Agent]")
    agents = page.locator("select[aria-label=Agent] option").all_inner_texts()
    assert any(agent.startswith("GitHub Copilot CLI (") for agent in agents)
    assert not any(agent.startswith("copilot (") for agent in agents)
    page.close()


@NEEDS_CHROMIUM
def test_chosen_theme_stays_when_a_conversation_opens(browser, app):
    page = open_app(browser, app, color_scheme="light")
    page.click("button.theme")
    page.click(".tile >> nth=0")
    page.wait_for_selector("main[aria-label=Record] article")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.close()


def write_codex_session(home, name, *prompts):
    """Write a session of Codex whose prompts are these."""
    target = home / ".codex" / "sessions" / "2026" / "07" / "25" / f"rollout-{name}.jsonl"
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.000Z}"
    meta = {
        "id": name,
        "timestamp": now,
        "cwd": "/w",
        "originator": "codex_cli_rs",
        "cli_version": "1",
    }
    lines = [{"timestamp": now, "type": "session_meta", "payload": meta}]
    for prompt in prompts:
        content = [{"type": "input_text", "text": prompt}]
        payload = {"type": "message", "role": "user", "content": content}
        lines.append({"timestamp": now, "type": "response_item", "payload": payload})
    target.write_text("".join(json.dumps(line) + "\n" for line in lines))


@NEEDS_CHROMIUM
def test_running_conversation_goes_on_in_the_page(browser, app, home):
    name = "0198a0b0-1111-7222-8333-444455556666"
    write_codex_session(home, name, "first words")
    page = open_app(browser, app, size=DESKTOP)
    page.wait_for_selector(".tile .running")
    page.click(".tile:has-text('first words')")
    page.wait_for_selector(".row.user:has-text('first words')")
    page.wait_for_selector(".top .running")
    page.keyboard.press("g")
    page.wait_for_selector(".row.selected")
    write_codex_session(home, name, "first words", "second words")
    page.wait_for_selector(".row.user:has-text('second words')")
    page.wait_for_selector("#prompts li >> nth=1")
    assert page.locator(".row.selected").count() == 1
    assert page.inner_text(".count") == "3 rows"
    assert page.complaints == []
    page.close()


@NEEDS_CHROMIUM
def test_checks_of_an_own_session_speak_of_no_sender(browser, app):
    page = open_app(browser, app, "ses_1b9Other")
    page.click(".verdict:has-text('Not signed')")
    text = page.inner_text("#checks")
    assert text.startswith("Not signed")
    assert "vacr seal ses_1b9Other" in text
    assert "sender" not in text
    assert "author" not in text
    page.close()


@NEEDS_CHROMIUM
def test_search_and_filters_survive_a_reload_and_the_way_back(browser, app):
    page = open_app(browser, app)
    page.wait_for_selector("select[aria-label=Agent]")
    page.select_option("select[aria-label=Agent]", "claude-code")
    page.fill("input[type=search]", "hints")
    page.wait_for_selector(".hit mark, .empty")
    page.wait_for_function("location.search === '?text=hints&agent=claude-code'")
    page.reload()
    page.wait_for_selector("select[aria-label=Agent]")
    assert page.input_value("input[type=search]") == "hints"
    page.wait_for_function("document.querySelector('select[aria-label=Agent]').value")
    page.click(".count .more:has-text('Clear filters')")
    page.click(".hit >> nth=0")
    page.click("a.up")
    page.wait_for_selector(".hit mark")
    assert page.input_value("input[type=search]") == "hints"
    page.fill("input[type=search]", "")
    page.wait_for_selector("a.tile")
    assert urlsplit(page.url).query == ""
    page.close()


@NEEDS_CHROMIUM
def test_search_without_a_hit_offers_to_search_without_the_filters(browser, app):
    page = open_app(browser, app)
    page.fill("input[type=search]", "qqqqq")
    page.wait_for_selector(".empty:has-text('No conversation has all of these words')")
    page.select_option("select[aria-label=When]", "1")
    page.wait_for_selector(".empty:has-text('that these filters select')")
    page.click(".empty .more")
    page.wait_for_selector(".empty:has-text('No conversation has all of these words')")
    assert page.input_value("select[aria-label=When]") == ""
    page.close()


@NEEDS_CHROMIUM
def test_refused_search_keeps_the_page(browser, app):
    page = open_app(browser, app)
    page.fill("input[type=search]", "?!")
    page.wait_for_selector(".empty[role=alert]:has-text('no letter or digit')")
    page.fill("input[type=search]", "hints")
    page.wait_for_selector(".hit mark")
    assert page.complaints == []
    page.close()


@NEEDS_CHROMIUM
def test_home_without_sessions_says_what_to_do(browser, tmp_path):
    with LocalApp(tmp_path / "state", environment={"HOME": str(tmp_path)}) as empty:
        server = threading.Thread(target=empty.serve_forever, daemon=True)
        server.start()
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(empty.make_address())
        page.wait_for_selector(".welcome h2:has-text('No conversations yet')")
        text = page.inner_text("main")
        assert "vacr list -v" in text
        assert "match" not in text
        assert not page.is_visible("[aria-label=Filters]")
        page.close()
        empty.stop()
        server.join()


@NEEDS_CHROMIUM
def test_old_address_explains_itself(browser, app):
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{app.port}/#token=old")
    page.wait_for_selector("[role=alert]")
    assert "Run vacr again" in page.inner_text("[role=alert]")
    page.close()


def show_list(page):
    page.wait_for_selector(".tile")


def show_hits(page):
    page.fill("input[type=search]", "hints")
    page.wait_for_selector(".hit mark")


def show_no_hits(page):
    page.fill("input[type=search]", "qqqqq")
    page.wait_for_selector(".empty")


def show_conversation(page):
    page.click(".tile >> nth=0")
    page.wait_for_selector("main[aria-label=Record] article")


def show_ended(page):
    page.evaluate("localStorage.setItem('vacr-token', 'old')")
    page.reload()
    page.wait_for_selector("[role=alert]")


@NEEDS_CHROMIUM
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize(
    "show", [show_list, show_hits, show_no_hits, show_conversation, show_ended]
)
def test_screen_of_the_app_is_accessible(browser, app, size, show):
    if not AXE.exists():
        pytest.skip("needs axe-core: run npm ci in web/")
    context = browser.new_context(viewport=size)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(app.make_address())
    page.wait_for_selector(".tile")
    show(page)
    page.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        found = page.evaluate("axe.run()")["violations"]
        assert (theme, [violation["id"] for violation in found]) == (theme, [])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()

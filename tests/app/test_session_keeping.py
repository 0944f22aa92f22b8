"""Sessions that agents delete soon: kept by the app and by `vacr keep`, and there afterwards."""

import json
import os
import shutil
import stat
import threading
import time

import pytest

from tests.app.test_local_app import ask, request
from tests.conftest import EXAMPLES
from tests.discovery import homes
from tests.viewer.browser import AXE, DESKTOP, NEEDS_CHROMIUM, PATIENCE, PHONE
from vacr.app import KeepReport, LocalApp, keep_sessions, list_unkept_sessions
from vacr.discovery import list_kept_records, list_kept_sessions
from vacr.workflows import find_named_session, is_session_recorded

DAY = 86_400
SESSION = "6f0d1c52-3a7e-4a53-9a52-2f1c0e8b4d11"


@pytest.fixture
def transcript(tmp_path):
    """Return a session of Claude Code that was last used 27 days ago."""
    path = tmp_path / f"home/.claude/projects/-home-mira-invoice/{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(EXAMPLES / "claude-code.jsonl", path)
    age(path)
    return path


def age(path):
    os.utime(path, (time.time() - 27 * DAY,) * 2)


@pytest.fixture
def environment(tmp_path, transcript):
    return {"HOME": str(transcript.parents[3]), "VACR_STATE": str(tmp_path / "state")}


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def app(state, environment):
    """Yield a running app over a home with one session at risk, once it has read it."""
    with LocalApp(state, environment=environment) as running:
        server = threading.Thread(target=running.serve_forever, daemon=True)
        server.start()
        while not (running.progress.is_ready and running.keeper.describe()["count"]):
            time.sleep(0.05)
        yield running
        running.stop()
        server.join()


def keep_all(state, environment):
    report = KeepReport()
    keep_sessions(state, list_unkept_sessions(state, environment), report)
    return report


def list_files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def press_keep(app):
    status, _, body = request(app, "/api/keep", token=app.token, method="POST")
    assert status == 200, body
    while (keeping := ask(app, "/api/state")["keeping"])["is_running"]:
        time.sleep(0.05)
    return keeping


# --- the copies ---


def test_kept_session_outlives_its_transcript(state, environment, transcript):
    [endangered] = list_unkept_sessions(state, environment)
    name = endangered.session.session_id
    assert keep_all(state, environment).kept == 1
    assert list_unkept_sessions(state, environment) == []
    assert find_named_session(name, environment).path == str(transcript)
    transcript.unlink()
    assert find_named_session(name[:8], environment).path == str(list_kept_records(state)[0])


def test_only_the_user_can_read_the_copy(state, environment):
    keep_all(state, environment)
    modes = {
        stat.S_IMODE(path.stat().st_mode) for path in (state / "kept").rglob("*") if path.is_file()
    }
    assert modes == {0o600}
    assert stat.S_IMODE((state / "kept").stat().st_mode) == 0o700


def test_session_that_goes_on_is_at_risk_again(state, environment, transcript):
    keep_all(state, environment)
    [before] = list_kept_records(state)
    size = before.stat().st_size
    line = {
        "type": "user",
        "uuid": "9b0d1c52-0000-4a53-9a52-2f1c0e8b4d11",
        "timestamp": "2026-07-20T10:00:00.000Z",
        "message": {"role": "user", "content": "And the umbrella"},
    }
    with transcript.open("a") as file:
        file.write(json.dumps(line) + "\n")
    os.utime(transcript, (time.time() - 26 * DAY,) * 2)
    assert len(list_unkept_sessions(state, environment)) == 1
    report = keep_all(state, environment)
    assert (report.kept, report.failed) == (1, [])
    assert list_kept_records(state) == [before]
    assert before.stat().st_size > size


def test_change_while_the_session_is_kept_leaves_it_at_risk(
    state, environment, transcript, monkeypatch
):
    from vacr.workflows import kept_sessions

    record_place = kept_sessions.record_place

    def record_and_touch(task):
        outcome = record_place(task)
        os.utime(transcript, (time.time() - 26 * DAY,) * 2)
        return outcome

    monkeypatch.setattr(kept_sessions, "record_place", record_and_touch)
    [endangered] = list_unkept_sessions(state, environment)
    keep_all(state, environment)
    assert not is_session_recorded(state, endangered.session)


def test_one_failure_does_not_stop_the_others(state, environment, transcript):
    other = transcript.with_name("7a0d1c52-3a7e-4a53-9a52-2f1c0e8b4d11.jsonl")
    text = transcript.read_text()
    other.write_text(text.replace(json.loads(text.splitlines()[0]).get("sessionId", "-"), "7a0d"))
    age(other)
    sessions = list_unkept_sessions(state, environment)
    other.unlink()
    report = KeepReport()
    keep_sessions(state, sessions, report)
    assert (report.kept, report.done, report.total) == (1, 2, 2)
    assert report.exit_code == 3
    assert str(other) in report.failed[0]["source"]


def test_shorter_session_does_not_replace_its_copy(state, environment, transcript):
    keep_all(state, environment)
    [record] = list_kept_records(state)
    before = record.read_bytes()
    lines = transcript.read_text().splitlines(keepends=True)
    transcript.write_text("".join(lines[: len(lines) // 2]))
    os.utime(transcript, (time.time() - 26 * DAY,) * 2)
    report = keep_all(state, environment)
    assert report.kept == 0
    assert "vacr keep" in report.failed[0]["hint"]
    assert record.read_bytes() == before


def test_sub_agents_are_kept_with_their_session(tmp_path):
    home = homes.fill(tmp_path / "agents")
    for path in (home / ".claude").rglob("*.jsonl"):
        age(path)
    environment, state = {"HOME": str(home)}, tmp_path / "state"
    sessions = [session.session for session in list_unkept_sessions(state, environment)]
    assert homes.CLAUDE in [session.session_id for session in sessions]
    assert keep_all(state, environment).failed == []
    assert list_unkept_sessions(state, environment) == []
    listed = list_kept_sessions({"VACR_STATE": str(state)})
    kept = {session.session_id for session in listed if session.parent is None}
    assert kept == {session.session_id for session in sessions}
    assert len(list_kept_records(state)) > len(kept)


# --- the command ---


def test_command_keeps_what_search_and_show_find(vacr, tmp_path, transcript):
    done = vacr("keep", "--format", "json")
    assert done.returncode == 0, done.err
    answer = json.loads(done.out)
    assert (answer["kept"], answer["errors"]) == (1, [])
    again = vacr("keep").out
    folder = "~/.local/state/vacr/kept"
    assert again == f"Nothing new to keep: 1 of 1 at risk are already kept in {folder}\n"
    numbers = json.loads(vacr("keep", "--format", "json").out)
    assert (numbers["kept"], numbers["at-risk"], numbers["already-kept"]) == (0, 1, 1)
    before = vacr("show", answer["sessions"][0]).out
    transcript.unlink()
    assert vacr("show", answer["sessions"][0]).out == before
    found = vacr("search", "total")
    assert found.returncode == 0
    assert answer["sessions"][0][:8] in found.out
    [record] = (tmp_path / "home/.local/state/vacr/kept").rglob("*.acr.json")
    assert vacr("restore", str(record), "-o", "back/").returncode == 0
    [back] = [path for path in (tmp_path / "back").rglob("*") if path.is_file()]
    assert back.read_bytes() == (EXAMPLES / "claude-code.jsonl").read_bytes()


def test_command_reports_what_it_cannot_keep(vacr, tmp_path, transcript):
    folder = tmp_path / "home/.local/state/vacr"
    folder.mkdir(parents=True)
    (folder / "kept").write_text("in the way")
    done = vacr("keep")
    assert done.returncode == 3
    assert "Kept 0 sessions" in done.out
    assert str(transcript.name) in done.err


# --- the app ---


def test_state_has_the_sessions_at_risk_and_writes_nothing(app, state, environment):
    before = list_files(state / "kept"), list_files(state.parent / "home")
    keeping = ask(app, "/api/state")["keeping"]
    assert keeping["count"] == len(keeping["sessions"]) == 1
    days = (keeping["sessions"][0]["deleted_ms"] / 1000 - time.time()) / DAY
    assert 2.9 < days <= 3
    assert request(app, "/api/keep", token=app.token)[0] == 404
    assert (list_files(state / "kept"), list_files(state.parent / "home")) == before
    assert list_unkept_sessions(state, environment)


def test_keeping_needs_the_token_and_the_own_origin(app, state):
    for token, headers in [
        (None, {}),
        ("guess", {}),
        (app.token, {"Origin": "http://evil.example"}),
        (app.token, {"host": "evil.example"}),
    ]:
        assert request(app, "/api/keep", token=token, method="POST", **headers)[0] == 403
    assert request(app, "/api/state", token=app.token, method="POST")[0] == 404
    assert list_kept_records(state) == []


def test_app_keeps_the_session(app, state, transcript):
    keeping = press_keep(app)
    assert (keeping["kept"], keeping["count"], keeping["failed"]) == (1, 0, [])
    assert len(list_kept_records(state)) == 1
    transcript.unlink()
    while not any("kept" in str(path) for path in _list_sources(app)):
        time.sleep(0.05)
    assert ask(app, "/api/conversations")["count"] == 1


def _list_sources(app):
    from vacr.archive import SearchIndex

    index = SearchIndex.open(app.state)
    try:
        return [path for path, _ in index.list_sources()]
    finally:
        index.close()


def test_failure_has_a_next_step(app, state):
    (state / "kept").write_text("in the way")
    keeping = press_keep(app)
    assert (keeping["kept"], keeping["count"], keeping["failures"]) == (0, 1, 1)
    assert keeping["failed"][0]["hint"]


# --- in a browser ---


def check_accessible(page):
    if not AXE.exists():
        pytest.skip("needs axe-core: run npm ci in web/")
    page.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        found = page.evaluate("axe.run()")["violations"]
        assert (theme, [violation["id"] for violation in found]) == (theme, [])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@NEEDS_CHROMIUM
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_conversation_is_kept_with_the_button(browser, app, transcript, size):
    page = browser.new_page(viewport=size, bypass_csp=True)
    page.set_default_timeout(PATIENCE)
    page.goto(app.make_address())
    page.wait_for_selector(".keep button")
    assert "1 conversation will be deleted within 3 days." in page.inner_text(".keep")
    page.click(".keep summary")
    check_accessible(page)
    page.click("text=Keep it")
    page.wait_for_selector(".keep .kept")
    assert "Kept 1 conversation in" in page.inner_text(".keep")
    check_accessible(page)
    transcript.unlink()
    while not any("kept" in str(path) for path in _list_sources(app)):
        time.sleep(0.05)
    while any(str(transcript) == path for path in _list_sources(app)):
        time.sleep(0.05)
    page.reload()
    page.wait_for_selector(".tile")
    page.fill("input[type=search]", "total")
    page.click(".hit >> nth=0")
    page.wait_for_selector("main[aria-label=Record] article")
    page.close()


@NEEDS_CHROMIUM
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_long_title_of_a_conversation_at_risk_stays_in_its_line(browser, app, size):
    page = browser.new_page(viewport=size)
    page.set_default_timeout(PATIENCE)

    def lengthen_titles(route):
        answer = route.fetch()
        state = answer.json()
        for session in state["keeping"]["sessions"]:
            session["title"] = "word " * 100 + "x" * 300
        route.fulfill(response=answer, json=state)

    page.route("**/api/state", lengthen_titles)
    page.goto(app.make_address())
    page.click(".keep summary")
    line = page.locator(".keep li .more")
    assert line.evaluate("line => line.clientHeight") < 40
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


@NEEDS_CHROMIUM
def test_failure_is_shown_with_the_next_step(browser, app, state):
    (state / "kept").write_text("in the way")
    page = browser.new_page(viewport=PHONE, bypass_csp=True)
    page.set_default_timeout(PATIENCE)
    page.goto(app.make_address())
    page.click("text=Keep it")
    page.wait_for_selector(".keep [role=alert] li")
    assert "Not everything was kept" in page.inner_text(".keep")
    page.wait_for_selector("text=Keep it")
    check_accessible(page)
    page.close()

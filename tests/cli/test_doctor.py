"""`vacr doctor`: findings with the commands that fix them."""

import json
import os
import shutil
import subprocess
import time

import pytest

from tests.conftest import EXAMPLES
from vacr.app import health
from vacr.cli import run_command_line

pytestmark = pytest.mark.component

DAY = 86_400


@pytest.fixture
def examine(vacr):
    """Return a function that returns the findings of an area as pairs of grade and text."""

    def run(area, *arguments):
        done = vacr("doctor", "--format", "json", *arguments)
        assert done.returncode in {0, 5}, done.err
        return [finding for finding in json.loads(done.out)["findings"] if finding["area"] == area]

    return run


@pytest.fixture
def old_session(tmp_path):
    """Return a session of Claude Code that was last used 26 days ago."""
    path = tmp_path / "home/.claude/projects/-home-mira-invoice/6f0d1c52.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(EXAMPLES / "claude-code.jsonl", path)
    os.utime(path, (time.time() - 26 * DAY,) * 2)
    return path


def list_grades(findings):
    return {finding["grade"] for finding in findings}


def test_fresh_home_passes_and_is_offered_vacr_init(vacr):
    done = vacr("doctor", "--strict")
    assert done.returncode == 0, done.out
    assert "vacr init" in done.out


def test_text_begins_with_the_key_and_ends_with_the_number_of_suggestions(vacr, old_session):
    assert old_session.exists()
    os.utime(old_session)
    lines = vacr("doctor").out.splitlines()
    areas = [line for line in lines[:-1] if not line.startswith(" ")]
    assert areas == ["key", "sessions", "hooks", "mcp", "index", "parts"]
    offers = sum(line.startswith("  ·") for line in lines)
    assert lines[-1] == f"No problems found. {offers} suggestions (·)."


def test_missing_parts_are_one_suggestion(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(health, "find_spec", lambda _: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    [offer] = [line for line in lines if "optional parts" in line]
    assert offer.endswith(": cluster, hsm, log, lsp, mcp, parquet, postgres, watch")
    assert sum("pip install" in line for line in lines) == 1
    assert run_command_line(["doctor", "-v"]) == 0
    assert capsys.readouterr().out.count("pip install") == 8
    assert run_command_line(["doctor", "--format", "json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert sum("pip install" in (finding["fix"] or "") for finding in findings) == 8


def test_mcp_is_offered_for_claude_code_before_it_wrote_its_settings(examine, old_session):
    assert old_session.exists(), "only ~/.claude exists, and not ~/.claude.json"
    fixes = [finding["fix"] for finding in examine("mcp")]
    assert "vacr mcp install --agent claude-code" in fixes


def test_strict_run_with_a_warning_exits_with_5(vacr, old_session):
    assert old_session.exists()
    assert vacr("doctor").returncode == 0
    assert vacr("doctor", "--strict").returncode == 5


def test_session_at_risk_is_reported_until_it_is_kept(vacr, examine, old_session):
    [finding] = [finding for finding in examine("sessions") if finding["grade"] == "warning"]
    assert "deletes 1 session within 7 days" in finding["message"]
    assert old_session.exists()
    assert finding["fix"].split()[0] == "vacr"
    assert vacr(*finding["fix"].split()[1:]).returncode == 0
    assert "warning" not in list_grades(examine("sessions"))


@pytest.mark.parametrize(("days", "is_reported"), [(3650, False), (28, True), (90, False)])
def test_setting_of_the_agent_decides_which_sessions_are_at_risk(
    examine, old_session, days, is_reported
):
    settings = old_session.parents[2] / "settings.json"
    settings.write_text(json.dumps({"cleanupPeriodDays": days}))
    assert ("warning" in list_grades(examine("sessions"))) is is_reported


def test_wrong_settings_are_reported_with_their_line(examine, tmp_path):
    path = tmp_path / "home/.config/vacr/vacr.toml"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text("[record]\noverwrite = 3\n[log.serve]\nport = 8080\nprot = 1\n")
    found = examine("settings")
    assert ["vacr.toml:2" in found[0]["message"], "vacr.toml:5" in found[1]["message"]] == [
        True
    ] * 2
    for text, content in (("", "no options"), ("[list]\nlimit = 1\n", "options of list")):
        path.write_text(text)
        [finding] = examine("settings")
        assert finding["message"] == f"~/.config/vacr/vacr.toml: sets {content}"
    path.write_text("broken")
    [finding] = examine("settings")
    assert "vacr.toml:1" in finding["message"]


def test_key_that_others_can_read_is_reported_and_fixed(vacr, examine, tmp_path):
    assert vacr("init", "--yes").returncode == 0
    assert list_grades(examine("key")) == {"ok"}
    key = tmp_path / "home/.local/state/vacr/keys/signing.pem"
    key.chmod(0o644)
    [finding] = examine("permissions")
    assert finding["grade"] == "problem"
    subprocess.run(finding["fix"], shell=True, check=True)  # noqa: S602 - the command it prints
    assert key.stat().st_mode & 0o777 == 0o600
    assert examine("permissions") == []


def test_unapproved_files_of_a_project_are_reported(vacr, examine, tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".vacr").mkdir()
    (tmp_path / ".vacr/vacr.toml").write_text("[list]\nlimit = 1\n")
    assert vacr("key", "generate", "-o", "keys").returncode == 0
    add = ("trust", "add", "Eve", "--key", "keys/signing.pub.pem")
    assert vacr(*add, "--trust-store", ".vacr/trust.toml").returncode == 0
    fixes = {finding["fix"] for area in ("settings", "trust") for finding in examine(area)}
    assert fixes == {"vacr trust approve"}
    assert vacr("trust", "approve", "--yes").returncode == 0
    assert list_grades([*examine("settings"), *examine("trust")]) == {"ok"}


def test_broken_hook_is_reported_and_fixed(vacr, examine, tmp_path):
    (tmp_path / "home/.claude").mkdir(parents=True)
    assert vacr("hook", "install", "--agent", "claude-code", "--yes").returncode == 0
    assert "ok" in list_grades(examine("hooks"))
    settings = tmp_path / "home/.claude/settings.json"
    settings.write_text(settings.read_text().replace("/bin/python", "/gone/python"))
    [finding] = [finding for finding in examine("hooks") if finding["grade"] == "problem"]
    assert finding["fix"] == "vacr hook install --agent claude-code"
    assert vacr(*finding["fix"].split()[1:], "--yes").returncode == 0
    assert "problem" not in list_grades(examine("hooks"))


def test_damaged_index_is_reported(vacr, examine, tmp_path, old_session):
    assert old_session.exists()
    assert vacr("stats").returncode == 0
    assert list_grades(examine("index")) == {"ok"}
    [index] = (tmp_path / "home/.local/state/vacr/index").glob("*.db")
    index.write_bytes(b"damaged" * 1000)
    assert list_grades(examine("index")) == {"problem"}


def test_clock_before_the_newest_session_is_reported(examine, old_session):
    os.utime(old_session, (time.time() + 3 * DAY,) * 2)
    assert list_grades(examine("clock")) == {"warning"}

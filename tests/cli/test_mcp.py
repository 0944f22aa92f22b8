"""`vacr mcp install`, `status` and `uninstall`, as a user runs them."""

import json
import sys

import pytest

from vacr.cli import run_command_line


def test_install_shows_the_change_and_makes_it_with_yes(vacr, tmp_path):
    path = tmp_path / "home" / ".claude.json"
    path.parent.mkdir()
    path.write_text('{\n  "theme": "dark"\n}\n')
    done = vacr("mcp", "install", "--agent", "claude-code", "--yes")
    assert done.returncode == 0, done.err
    assert '+    "vacr": {' in done.out
    assert f"claude-code: installed in {path}" in done.out
    assert "type /mcp" in done.err
    entry = json.loads(path.read_text())["mcpServers"]["vacr"]
    assert [entry["command"], *entry["args"]] == [sys.executable, "-P", "-m", "vacr", "mcp"]
    status = vacr("mcp", "status", "--agent", "claude-code", "--format", "json")
    assert [row["state"] for row in json.loads(status.out)["agents"]] == ["installed"]
    done = vacr("mcp", "uninstall", "--agent", "claude-code", "--yes")
    assert done.returncode == 0, done.err
    assert path.read_text() == '{\n  "theme": "dark"\n}\n'


@pytest.mark.parametrize("agent", ["codex-cli", "gemini-cli", "opencode", "cursor"])
def test_dry_run_changes_nothing(vacr, tmp_path, agent):
    done = vacr("mcp", "install", "--agent", agent, "--dry-run")
    assert done.returncode == 0, done.err
    assert "vacr" in done.out
    assert not (tmp_path / "home").exists()


def test_install_without_terminal_needs_yes(vacr, tmp_path):
    done = vacr("mcp", "install", "--agent", "cursor")
    assert done.returncode == 2
    assert "Add --yes" in done.err
    assert not (tmp_path / "home").exists()


def test_project_settings_are_in_the_project(vacr, tmp_path):
    done = vacr("mcp", "install", "--agent", "claude-code", "--project", "--yes")
    assert done.returncode == 0, done.err
    assert "vacr" in json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]
    assert "path of Python" in done.err


def test_damaged_settings_are_not_changed(vacr, tmp_path):
    path = tmp_path / "home" / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("model = ")
    done = vacr("mcp", "install", "--agent", "codex-cli", "--yes")
    assert done.returncode == 3
    assert "not TOML" in done.err
    assert path.read_text() == "model = "


def test_install_without_the_packages_of_the_server_is_refused(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    install = ["mcp", "install", "--agent", "claude-code", "--yes"]
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "mcp", None)
        assert run_command_line(install) == 2
    shown = capsys.readouterr().err
    assert "the MCP server cannot start: the packages of vacr[mcp] are not installed" in shown
    assert "pip install 'vacr[mcp]'" in shown
    assert not (tmp_path / ".claude.json").exists()
    assert run_command_line(install) == 0
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert run_command_line(["mcp", "status", "--agent", "claude-code"]) == 1
    missing = "installed, but cannot start: the packages of vacr[mcp] are missing"
    assert missing in capsys.readouterr().out
    assert run_command_line(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert f"  ✗ claude-code: {missing}\n    fix: pip install 'vacr[mcp]'\n" in shown


def test_doctor_does_not_offer_a_server_that_cannot_start(monkeypatch, capsys, tmp_path):
    (tmp_path / ".claude").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert run_command_line(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "vacr hook install --agent claude-code" in shown
    assert "vacr mcp install" not in shown

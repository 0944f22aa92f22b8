"""`vacr hook`: shows the change, asks, makes it, and reports the status."""

import json
import os
import pty
import subprocess
import sys

import pytest

pytestmark = pytest.mark.component

SETTINGS = '{\n  "model": "opus"\n}\n'


@pytest.fixture
def home(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(SETTINGS)
    return tmp_path


def vacr(home, *arguments, **variables):
    environment = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "VACR_STATE": f"{home}/state",
        **variables,
    }
    command = [sys.executable, "-m", "vacr", "hook", *arguments]
    return subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_dry_run_shows_the_change_without_making_it(home):
    done = vacr(home, "install", "--dry-run")
    assert done.returncode == 0
    assert '+    "SessionStart": [' in done.stdout
    assert (home / ".claude" / "settings.json").read_text() == SETTINGS


def test_diff_of_a_one_line_file_is_laid_out(home):
    path = home / ".claude" / "settings.json"
    path.write_text(
        '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}'
    )
    done = vacr(home, "install", "--dry-run")
    assert '\n+    "SessionStart": [\n' in done.stdout
    assert "\n-" not in done.stdout.replace("\n---", "")
    assert done.stdout.endswith(
        "(Long lines are wrapped here, to be readable. In the file, they stay as they are.)\n"
    )
    (agent,) = json.loads(vacr(home, "install", "--dry-run", "--format", "json").stdout)["agents"]
    assert agent["diff"].count("\n+{") == 1
    assert vacr(home, "install", "--yes").returncode == 0
    assert path.read_text().count("\n") == 0


def test_next_steps_are_shown_after_an_install(home):
    notice = "Start the agents with the same VACR_STATE"
    for arguments in (["--dry-run"], ["--agent", "claude-code"]):
        assert notice not in vacr(home, "install", *arguments).stderr
    assert notice in vacr(home, "install", "--yes").stderr
    assert notice not in vacr(home, "install", "--yes").stderr, "all is there already"
    assert "/hooks" in vacr(home, "install", "--yes", "--agent", "codex-cli").stderr


def test_install_without_terminal_needs_yes(home):
    done = vacr(home, "install", "--agent", "claude-code")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert (home / ".claude" / "settings.json").read_text() == SETTINGS


@pytest.mark.parametrize("answer", ["y", "n"])
def test_install_on_a_terminal_asks(home, answer):
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    command = [sys.executable, "-m", "vacr", "hook", "install", "--agent", "claude-code"]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, stdin=theirs, capture_output=True, text=True)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0
    assert "settings.json? [y/N]" in done.stderr
    assert ((home / ".claude" / "settings.json").read_text() == SETTINGS) == (answer == "n")


def test_install_status_uninstall(home):
    assert vacr(home, "install", "--yes").returncode == 0
    status = vacr(home, "status", "--format", "json")
    (row,) = json.loads(status.stdout)["agents"]
    assert status.returncode == 0
    assert (row["agent"], row["scope"], row["state"], row["sessions"]) == (
        "claude-code",
        "user",
        "installed",
        0,
    )
    command = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]["Stop"][0][
        "hooks"
    ][0]["command"]
    subprocess.run(
        ["sh", "-c", command],
        input=b'{"session_id":"s"}',
        check=True,
        env={"VACR_STATE": f"{home}/state"},
    )
    assert " 1     38 B " in vacr(home, "status").stdout
    done = vacr(home, "uninstall", "--yes", "--format", "json")
    assert json.loads(done.stdout)["agents"][0]["state"] == "uninstalled"
    assert (home / ".claude" / "settings.json").read_text() == SETTINGS
    assert "nothing to change" in vacr(home, "uninstall", "--yes").stdout


def test_project_settings_are_separate(home):
    assert vacr(home, "install", "--agent", "cursor", "--project", "--yes").returncode == 0
    assert json.loads((home / ".cursor" / "hooks.json").read_text())["version"] == 1
    done = vacr(home, "install", "--agent", "cursor", "--local", "--yes")
    assert (done.returncode, "--local" in done.stderr) == (2, True)
    assert vacr(home, "install", "--local", "--project").returncode == 2


def test_unreadable_settings_do_not_stop_other_agents(home):
    (home / ".gemini").mkdir()
    (home / ".claude" / "settings.json").write_text("{,}")
    done = vacr(home, "install", "--yes")
    assert done.returncode == 3
    assert "settings.json: not JSON: line 1, column 2" in done.stderr
    assert (home / ".gemini" / "settings.json").exists()
    assert vacr(home, "status").returncode == 1


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_binary_settings_file_is_named(home, verb):
    path = home / ".claude" / "settings.json"
    path.write_bytes(b'{"a": "\xe9"}')
    done = vacr(home, verb, "--yes")
    assert (done.returncode, f"{path}: not UTF-8 text" in done.stderr) == (3, True)


def test_missing_agents_are_reported(tmp_path):
    for verb in ("install", "status", "uninstall"):
        done = vacr(tmp_path, verb)
        assert done.returncode == 1
        assert "no agents found" in done.stderr


def test_impossible_state_folder_is_reported(home):
    done = vacr(home, "install", "--yes", VACR_STATE="/proc/x")
    assert done.returncode == 3
    reason = "the state folder cannot be created: the file system does not allow it"
    hint = "Set VACR_STATE to a folder that you can write."
    assert f"vacr: /proc/x: {reason}\n  {hint}" in done.stderr
    assert (home / ".claude" / "settings.json").read_text() == SETTINGS


def test_relative_state_folder_is_refused(home):
    done = vacr(home, "status", VACR_STATE="here")
    assert (done.returncode, "must be an absolute path" in done.stderr) == (2, True)

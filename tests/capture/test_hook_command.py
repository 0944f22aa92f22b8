"""`vacr hook`: shows the change, asks, makes it; tells how it stands."""

import json
import os
import pty
import subprocess
import sys

import pytest

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


def test_a_dry_run_shows_the_change_and_makes_none(home):
    done = vacr(home, "install", "--dry-run")
    assert done.returncode == 0
    assert '+    "SessionStart": [' in done.stdout
    assert (home / ".claude" / "settings.json").read_text() == SETTINGS


def test_a_change_of_a_file_in_one_line_can_be_read(home):
    path = home / ".claude" / "settings.json"
    path.write_text(
        '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}'
    )
    done = vacr(home, "install", "--dry-run")
    assert '\n+    "SessionStart": [\n' in done.stdout
    assert "\n-" not in done.stdout.replace("\n---", "")
    assert done.stdout.endswith(
        "(Laid out to be read. In the file, what is in one line stays in one line.)\n"
    )
    (told,) = json.loads(vacr(home, "install", "--dry-run", "--format", "json").stdout)["agents"]
    assert told["diff"].count("\n+{") == 1
    assert vacr(home, "install", "--yes").returncode == 0
    assert path.read_text().count("\n") == 0


def test_what_is_left_to_do_is_said_where_something_was_installed(home):
    notice = "The agents have to be started with VACR_STATE"
    for arguments in (["--dry-run"], ["--agent", "claude-code"]):
        assert notice not in vacr(home, "install", *arguments).stderr
    assert notice in vacr(home, "install", "--yes").stderr
    assert notice not in vacr(home, "install", "--yes").stderr, "all is there already"
    assert "/hooks" in vacr(home, "install", "--yes", "--agent", "codex-cli").stderr


def test_without_a_terminal_nobody_is_asked(home):
    done = vacr(home, "install", "--agent", "claude-code")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert (home / ".claude" / "settings.json").read_text() == SETTINGS


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_the_user_is_asked(home, answer):
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


def test_a_project_has_its_own(home):
    assert vacr(home, "install", "--agent", "cursor", "--project", "--yes").returncode == 0
    assert json.loads((home / ".cursor" / "hooks.json").read_text())["version"] == 1
    done = vacr(home, "install", "--agent", "cursor", "--local", "--yes")
    assert (done.returncode, "--local" in done.stderr) == (2, True)
    assert vacr(home, "install", "--local", "--project").returncode == 2


def test_what_cannot_be_read_is_told_and_the_others_are_done(home):
    (home / ".gemini").mkdir()
    (home / ".claude" / "settings.json").write_text("{,}")
    done = vacr(home, "install", "--yes")
    assert done.returncode == 3
    assert "settings.json: not JSON: line 1, column 2" in done.stderr
    assert (home / ".gemini" / "settings.json").exists()
    assert vacr(home, "status").returncode == 1


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_file_that_is_no_text_is_named(home, verb):
    path = home / ".claude" / "settings.json"
    path.write_bytes(b'{"a": "\xe9"}')
    done = vacr(home, verb, "--yes")
    assert (done.returncode, f"{path}: it is no text in UTF-8" in done.stderr) == (3, True)


def test_no_agent_at_all(tmp_path):
    for verb in ("install", "status", "uninstall"):
        done = vacr(tmp_path, verb)
        assert done.returncode == 1
        assert "no agent was found" in done.stderr


def test_a_state_folder_that_cannot_be_made(home):
    done = vacr(home, "install", "--yes", VACR_STATE="/proc/x")
    assert done.returncode == 3
    assert (
        "vacr: /proc/x: no folder can be made there\n  State is kept there; the variable VACR_STATE"
        in done.stderr
    )
    assert (home / ".claude" / "settings.json").read_text() == SETTINGS


def test_a_state_folder_that_is_relative_is_refused(home):
    done = vacr(home, "status", VACR_STATE="here")
    assert (done.returncode, "no absolute path" in done.stderr) == (2, True)

"""`vacr init`, and sealing and verifying without options after it."""

import getpass
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import EXAMPLES
from tests.log.scrapi import Scrapi

pytestmark = pytest.mark.component

SETTINGS = "home/.config/vacr/vacr.toml"


@pytest.fixture
def session(tmp_path):
    return shutil.copy(EXAMPLES / "codex-cli.jsonl", tmp_path / "s.jsonl")


def read_settings(folder):
    return tomllib.loads((folder / SETTINGS).read_text())


def test_seal_and_verify_need_no_options_afterwards(vacr, session):
    assert vacr("init", "--yes", "--name", "Mira Example").returncode == 0
    assert vacr("seal", session).returncode == 0
    done = vacr("verify", "s.acr.json")
    assert done.returncode == 0, done.err
    assert "signed by Mira Example" in done.out


def test_with_a_log_the_receipt_is_required_of_that_log(vacr, session, tmp_path):
    with Scrapi() as service:
        done = vacr("init", "--yes", "--service", service.url, "--format", "json")
        assert done.returncode == 0, done.err
        assert json.loads(done.out)["log-keys"]
        assert vacr("seal", session).returncode == 0
    done = vacr("verify", "s.acr.json", "--require-receipt")
    assert done.returncode == 0, done.err
    assert "log 127.0.0.1:" in done.out
    assert read_settings(tmp_path)["seal"]["service"] == service.url


def test_log_that_cannot_be_reached_changes_nothing(vacr, tmp_path):
    assert vacr("init", "--yes", "--service", "http://127.0.0.1:1").returncode == 4
    assert not (tmp_path / SETTINGS).exists()


def test_files_are_private(vacr, tmp_path):
    assert vacr("init", "--yes").returncode == 0
    for name in (SETTINGS, "home/.config/vacr/trust.toml"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / SETTINGS).parent.stat().st_mode & 0o077 == 0


def test_existing_settings_are_kept(vacr, tmp_path):
    assert vacr("init", "--yes").returncode == 0
    (tmp_path / SETTINGS).write_text("[list]\nlimit = 3\n")
    done = vacr("init", "--yes")
    assert (done.returncode, "--overwrite" in done.err) == (2, True)
    assert "limit" in (tmp_path / SETTINGS).read_text()
    assert vacr("init", "--yes", "--overwrite").returncode == 0
    assert "key" in read_settings(tmp_path)["seal"]


def test_second_setup_trusts_nobody_twice(vacr, tmp_path):
    assert vacr("init", "--yes", "--name", "Mira").returncode == 0
    before = (tmp_path / "home/.config/vacr/trust.toml").read_text()
    assert vacr("init", "--yes", "--name", "Mira", "--overwrite").returncode == 0
    assert (tmp_path / "home/.config/vacr/trust.toml").read_text() == before


def test_own_key_and_store_of_a_team(vacr, session, tmp_path):
    assert vacr("key", "generate", "-o", "keys").returncode == 0
    assert vacr("key", "generate", "-o", "bob").returncode == 0
    add = ("trust", "add", "Bob", "--key", "bob/signing.pub.pem", "--trust-store", "team.toml")
    assert vacr(*add).returncode == 0
    options = ("--key", "keys/signing.pem", "--trust-store", "team.toml", "--name", "Mira")
    assert vacr("init", "--yes", *options).returncode == 0
    assert read_settings(tmp_path)["seal"]["key"] == str(tmp_path / "keys/signing.pem")
    assert vacr("seal", session).returncode == 0
    assert "signed by Mira" in vacr("verify", "s.acr.json").out
    bob = ("--key", "bob/signing.pem", "--overwrite")
    assert vacr("seal", session, *bob).returncode == 0
    assert "signed by Bob" in vacr("verify", "s.acr.json").out


@pytest.mark.parametrize("form", ["{0}/.vacr/trust.toml", "../{1}/.vacr/trust.toml", "link.toml"])
def test_store_of_a_project_does_not_count_without_an_approval(vacr, tmp_path, form):
    """Settings would name its path, so that a later pull could change it."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert vacr("key", "generate", "-o", "bob").returncode == 0
    assert vacr("trust", "add", "Bob", "--key", "bob/signing.pub.pem", "--project").returncode == 0
    (tmp_path / "link.toml").symlink_to(".vacr/trust.toml")
    done = vacr("init", "--yes", "--trust-store", form.format(tmp_path, tmp_path.name))
    assert (done.returncode, "vacr trust approve" in done.err) == (2, True)
    assert not (tmp_path / "home/.config/vacr/vacr.toml").exists()


def test_own_store_that_others_can_write_is_refused_if_the_settings_name_it(
    vacr, session, tmp_path
):
    assert vacr("key", "generate", "-o", "bob").returncode == 0
    add = ("trust", "add", "Bob", "--key", "bob/signing.pub.pem", "--trust-store", "team.toml")
    assert vacr(*add).returncode == 0
    assert vacr("init", "--yes", "--trust-store", "team.toml", "--name", "Mira").returncode == 0
    assert vacr("seal", session).returncode == 0
    assert vacr("verify", "s.acr.json").returncode == 0
    (tmp_path / "home/.config/vacr/trust.toml").chmod(0o666)
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "other users can write to" in done.err) == (2, True)


def test_without_a_terminal_it_asks_nothing(vacr, tmp_path):
    done = vacr("init")
    assert (done.returncode, "without a terminal" in done.err) == (2, True)
    assert not (tmp_path / "home/.config").exists()


def test_missing_key_leads_to_the_setup(vacr, session):
    done = vacr("seal", session)
    assert (done.returncode, "vacr init" in done.err) == (2, True)


CTRL_C = "\x03"


def answer(folder, *options, answers, exit_code=0):
    """Run `vacr init` on a terminal, type the answers, and return what the terminal shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vacr", "init", *options],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "TERM": "dumb"},
    )
    os.close(theirs)
    typed = re.findall(r"[^\n]*\n|[\x03\x04]", answers)
    shown, asked = b"", 0
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
        while typed and shown.count(b"]: ") > asked:
            asked += 1
            if (keys := typed.pop(0)) == CTRL_C:
                process.send_signal(signal.SIGINT)
            else:
                os.write(ours, keys.encode())
    os.close(ours)
    assert process.wait() == exit_code, shown.decode()
    return shown.decode()


@pytest.mark.usefixtures("terminals")
def test_three_questions_are_asked_on_a_terminal(tmp_path):
    text = answer(tmp_path, "--name", "Mira", answers="\n\n\n")
    assert [text.count(f"{number}. ") for number in (1, 2, 3)] == [1, 1, 1]
    assert "Your name" not in text
    assert set(read_settings(tmp_path)) == {"seal", "sign"}


@pytest.mark.usefixtures("terminals")
def test_name_is_asked_with_the_key(vacr, session, tmp_path):
    text = answer(tmp_path, answers="\nNora Example\n\n\n")
    assert text.index("1. Key") < text.index("Your name") < text.index("2. Trust store")
    assert f"[{getpass.getuser()}]" in text
    assert "yours as Nora Example" in text
    assert "--name" not in text
    assert vacr("seal", session).returncode == 0
    assert "signed by Nora Example (" in vacr("verify", "s.acr.json").out


@pytest.mark.usefixtures("terminals")
def test_answer_that_cannot_be_used_is_asked_again(tmp_path):
    (tmp_path / "notes.txt").write_text("no key")
    wrong_and_right = [
        ("missing.pem", "missing.pem: there is no such file"),
        ("notes.txt", "notes.txt: not a private key in PEM"),
        ("", ""),
        ("\u0410lice", "mixes letters of different alphabets"),
        ("Mira", ""),
        ("notes.txt", "notes.txt: not a trust store"),
        ("none", ""),
        ("yes", "yes is not an http or https address"),
        ("", ""),
    ]
    answers = "".join(f"{typed}\n" for typed, _ in wrong_and_right)
    text = answer(tmp_path, answers=answers)
    assert all(complaint in text for _, complaint in wrong_and_right)
    assert [text.count(f"{number}. ") for number in (1, 2, 3)] == [3, 2, 2]
    assert "yours as Mira" in text
    assert set(read_settings(tmp_path)) == {"seal", "sign"}


@pytest.mark.usefixtures("terminals")
@pytest.mark.parametrize("answers", ["\x03", "\n\x03", "\nMira\n\x03", "\nMira\n\n\x03", "\x04"])
def test_interrupted_setup_makes_nothing(tmp_path, answers):
    (tmp_path / "home").mkdir()
    text = answer(tmp_path, answers=answers, exit_code=130)
    assert text.endswith("\r\nvacr: interrupted\r\n")
    assert not list((tmp_path / "home").rglob("*"))


def test_name_without_a_choice_can_be_changed(vacr, session, tmp_path):
    done = vacr("init", "--yes")
    assert f"name: {getpass.getuser()}; vacr init --overwrite --name NAME changes it" in done.out
    done = vacr("init", "--yes", "--overwrite", "--name", "Nora")
    assert "changes it" not in done.out.partition("log:")[0]
    store = (tmp_path / "home/.config/vacr/trust.toml").read_text()
    assert (store.count("[[trusted]]"), 'name = "Nora"' in store) == (1, True)
    assert vacr("seal", session).returncode == 0
    assert "signed by Nora (" in vacr("verify", "s.acr.json").out
    # The name stays without another choice, and another party is never renamed.
    assert "yours as Nora" in vacr("init", "--yes", "--overwrite").out
    assert vacr("key", "generate", "-o", "bob").returncode == 0
    assert vacr("trust", "add", "Bob", "--key", "bob/signing.pub.pem").returncode == 0
    assert vacr("init", "--yes", "--overwrite", "--name", "Bob").returncode == 0
    store = (tmp_path / "home/.config/vacr/trust.toml").read_text()
    assert ('name = "Nora"' in store, store.count('name = "Bob"')) == (True, 1)


@pytest.mark.parametrize("arguments", [["latest"], ["deadbeef"], ["latest", "--agent", "claude"]])
def test_missing_sessions_are_reported_before_a_missing_key(vacr, arguments):
    done = vacr("seal", *arguments)
    assert done.returncode in (1, 3)
    assert "vacr list" in done.err
    assert "vacr init" not in done.err


def test_own_public_key_is_named_and_shown(vacr, tmp_path):
    done = vacr("key", "show")
    assert (done.returncode, "you have no public key here" in done.err) == (3, True)
    assert "vacr init" in done.err
    assert "public key ~/.local/state/vacr/keys/signing.pub.pem: " in vacr("init", "--yes").out
    public_key = tmp_path / "home/.local/state/vacr/keys/signing.pub.pem"
    shown = vacr("key", "show")
    assert shown.returncode == 0, shown.err
    assert shown.out == vacr("key", "show", public_key).out
    vacr("key", "generate", "-o", "keys/")
    chosen = ("--key", "keys/signing.pem", "--name", "Nora")
    assert vacr("init", "--yes", "--overwrite", *chosen).returncode == 0
    assert vacr("key", "show").out.startswith(f"{tmp_path}/keys/signing.pub.pem: key ")

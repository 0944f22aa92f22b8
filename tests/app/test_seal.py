"""The action that seals sessions, run as GitHub runs it."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.app.conftest import list_files
from tests.app.github import load_action
from tests.conftest import EXAMPLES
from tests.log.scrapi import Scrapi
from tests.vectors.statements import Key
from vacr.app.seal_action import _CANCEL_SIGNALS, _exit_on_signal, _run_cancellable

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def service():
    with Scrapi() as running:
        yield running


@pytest.fixture
def key(vacr, tmp_path):
    assert vacr("key", "generate", "-o", "keys").returncode == 0
    return (tmp_path / "keys/signing.pem").read_text()


@pytest.fixture
def seal(runner, key):
    """Run the action on a folder with one session."""
    runner.workspace.mkdir()
    (runner.workspace / "sessions").mkdir()
    shutil.copy(EXAMPLES / "claude-code.jsonl", runner.workspace / "sessions/a.jsonl")

    def run(**inputs):
        asked = {"sessions": "sessions", "key": key} | {
            name.replace("_", "-"): value for name, value in inputs.items()
        }
        ran = runner.run("seal/action.yml", asked)
        _check_key_is_gone(asked["key"], runner, ran)
        return ran

    return run


def _check_key_is_gone(key, runner, ran):
    """Check that the key is in no file, log, summary or output."""
    assert {path.name for path in runner.temporary.iterdir()} <= {
        "vacr",
        "vacr.from",
        "vacr-seal-report.json",
    }
    secret = key.split("\n")[1] if "\n" in key else None
    texts = [ran.log, ran.summary, *ran.outputs.values()]
    texts += [
        (runner.workspace / name).read_bytes().decode("latin-1")
        for name in list_files(runner.workspace)
    ]
    assert secret is None or not [text for text in texts if secret in text]


def verdict(ran):
    return ran.code, ran.outputs["verdict"], ran.outputs["sealed"], ran.outputs["pending"]


def test_sessions_are_sealed_and_registered(seal, service, runner, vacr, tmp_path):
    log_key = Key(service.log.signer.key).public_pem.decode()
    ran = seal(
        service=service.url,
        log_key=log_key,
        seal_source="true",
        issuer="https://example.org/ci",
        output="out",
    )
    assert verdict(ran) == (0, "sealed", "1", "0"), ran.log
    assert (ran.commands, ran.outputs["output"], len(service.posted)) == ([], "out", 1)
    assert list_files(runner.workspace / "out") == {
        "a.acr.json",
        "a.acr.json.cose",
        "a.acr.source.zip",
    }
    assert (
        "| <code>sessions/a&#46;jsonl</code> | <code>out/a&#46;acr&#46;json</code> | 6 AI | "
        "registered |  |"
    ) in ran.summary
    (tmp_path / "log.pem").write_text(log_key)
    bound = ("--key", "keys/signing.pub.pem", "--issuer", "https://example.org/ci")
    assert vacr("trust", "add", "CI", *bound, "--trust-store", "team.toml").returncode == 0
    trust = (
        "--trust-store",
        "team.toml",
        "--log-key",
        "log.pem",
        "--issuer",
        "https://example.org/ci",
    )
    assert vacr("verify", runner.workspace / "out", *trust).returncode == 0


def test_unregistered_statement_waits_in_the_outbox(seal, service, runner):
    service.plan = ["cut"] * 99
    ran = seal(service=service.url, patience="0")
    assert verdict(ran) == (0, "pending", "0", "1"), ran.log
    ((file, message),) = ran.list_annotations("warning")
    assert (file, message.startswith("signed, but not registered yet")) == (
        "sealed/a.acr.json.cose",
        True,
    )
    assert ran.outputs["outbox"] == "sealed/outbox"
    outbox = runner.workspace / "sealed/outbox"
    assert len(list(outbox.glob("*.json"))) == 1
    assert seal(service=service.url, patience="0", fail_on="pending").code == 1
    # A later run with the same folder registers the waiting statement first.
    service.plan, service.posted = [], []
    (runner.workspace / "sessions/a.jsonl").rename(runner.workspace / "sessions/b.jsonl")
    ran = seal(service=service.url)
    assert verdict(ran) == (0, "sealed", "1", "0"), ran.log
    assert (len(service.posted), list(outbox.glob("*.json"))) == (2, [])
    report = json.loads(Path(ran.outputs["report"]).read_bytes())
    assert [statement["state"] for statement in (*report["late"], *report["sealed"])] == [
        "registered",
        "registered",
    ]


def test_sessions_can_be_in_the_home_folder(seal, runner, tmp_path):
    (tmp_path / "home").mkdir()
    (runner.workspace / "sessions").rename(tmp_path / "home/sessions")
    assert verdict(seal(sessions="~/sessions")) == (0, "sealed", "1", "0")


def test_token_reaches_the_service(seal, service):
    service.token = "of-the-team"  # noqa: S105 - not a real secret
    assert verdict(seal(service=service.url, token="of-the-team"))[:2] == (0, "sealed")  # noqa: S106
    assert verdict(seal(service=service.url, token="another", output="more"))[:2] == (1, "failed")  # noqa: S106


def test_key_can_have_a_passphrase(seal, tmp_path):
    command = [
        "openssl",
        "pkcs8",
        "-topk8",
        "-in",
        tmp_path / "keys/signing.pem",
        "-v2",
        "aes256",
        "-passout",
        "pass: so ",
    ]
    if not shutil.which("openssl"):
        pytest.skip("needs openssl to encrypt keys")
    encrypted = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert verdict(seal(key=encrypted, passphrase=" so \n")) == (0, "sealed", "1", "0")  # noqa: S106
    assert verdict(seal(key=encrypted, output="more"))[:2] == (1, "failed")


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ({"key": ""}, 2, "Pull requests from forks get no secrets."),
        ({"sessions": "\n"}, 2, "the input `sessions` is empty"),
        ({"fail_on": "x"}, 2, "Choose one of: failed, pending, never."),
        ({"key": "no key"}, 1, "ended with exit code 3"),
        ({"sessions": "missing.jsonl"}, 1, "not recorded"),
        ({"sessions": "--help"}, 1, "not recorded"),
        ({"base": "HEAD"}, 1, "ended with exit code 3"),
    ],
)
def test_errors_are_annotated(seal, asked, code, message):
    ran = seal(**asked)
    ((_, text),) = ran.list_annotations("error")
    assert (ran.code, message in text) == (code, True), ran.log
    assert code == 2 or seal(**asked, fail_on="never").code == 0


def test_hostile_name_stays_in_its_place(seal, runner):
    (runner.workspace / "sessions/a.jsonl").rename(
        runner.workspace / "sessions/::error::|`\n::warning::$(touch trap).jsonl"
    )
    ran = seal(service=NOBODY, patience="0")
    assert verdict(ran) == (0, "pending", "0", "1"), ran.log
    assert [name for name, _, _ in ran.commands] == ["warning"]
    assert not list(runner.workspace.rglob("trap"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_key_stays_secret_and_is_removed_when_the_job_is_cancelled(seal, runner, key, number):  # noqa: ARG001 - it creates the folder
    """Cancel a job as GitHub does: only the first process of the step gets a signal."""
    definition = load_action("seal/action.yml")
    inputs = {name: declared.get("default", "") for name, declared in definition["inputs"].items()}
    inputs |= {
        "sessions": "sessions",
        "key": key,
        "service": NOBODY,
        "passphrase": "unused-passphrase",
    }
    out = runner._file("output")
    started = runner.start(
        "seal/action.yml", definition["runs"]["steps"][1], {"inputs": inputs}, out, out
    )
    try:
        inner = _wait_for_seal_process(started.pid)
        words, variables = (
            (Path("/proc") / str(inner) / name).read_bytes() for name in ("cmdline", "environ")
        )
        secret = key.split("\n")[1].encode()
        assert secret not in words + variables
        assert b"unused-passphrase" not in words + variables
        (folder,) = (
            path for path in runner.temporary.iterdir() if path.is_dir() and not path.is_symlink()
        )
        assert {oct(path.stat().st_mode)[-3:] for path in (folder, folder / "key")} == {
            "700",
            "600",
        }
        os.kill(started.pid, number)
        log = started.communicate(timeout=30)[0].decode()
    finally:
        started.kill()
    assert not folder.exists()
    assert not (Path("/proc") / str(inner)).exists()
    assert (started.returncode, secret.decode() in log, "Traceback" in log) == (
        128 + number,
        False,
        False,
    )


def _wait_for_seal_process(process):
    """Wait until `vacr seal` runs; return its process id."""
    for _ in range(600):
        for found in _list_descendants(process):
            if b"seal\0--format" in (Path("/proc") / str(found) / "cmdline").read_bytes():
                return found
        time.sleep(0.05)
    raise TimeoutError


def _list_descendants(process):
    children = (
        (Path("/proc") / str(process) / "task" / str(process) / "children").read_text().split()
    )
    return [descendant for child in children for descendant in (child, *_list_descendants(child))]


def test_job_cancelled_during_start_leaves_no_process(monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            started.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = {number: signal.signal(number, _exit_on_signal) for number in _CANCEL_SIGNALS}
    try:
        with pytest.raises(SystemExit) as caught:
            _run_cancellable(["sleep", "600"], dict(os.environ))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert caught.value.code == 128 + signal.SIGTERM
    assert started[0].returncode == -signal.SIGKILL

"""Every verb with arguments that make it print, and a folder with all the files they name."""

import os
import shutil
import subprocess
import sys

import click
import pytest

from tests.cli.attested import NONCE, POLICY
from tests.conftest import EXAMPLES
from vacr.cli import group

UNREACHABLE = "http://127.0.0.1:9"
RECORD, KEY = "s.acr.json", "keys/signing.pem"
ATTEST = ["--record", RECORD, "--nonce", NONCE, "--attester", "software", "--key", KEY]
VKEY = "localhost/xlog-7a72a311+5739e574+AQW34p0vto5e+0SymZf/ykWvLUEnEY8Cug76C+E3u9Sr"

VERBS = {
    "init": ["--yes"],
    "doctor": [],
    "list": [],
    "record": ["s.jsonl", "-o", "new/"],
    "search": ["total", "--path", RECORD],
    "sql": ["select agent from records", "--path", RECORD],
    "show": [RECORD],
    "view": [RECORD, "-o", "new.html"],
    "stats": [RECORD],
    "export": [RECORD, "--to", "atif", "-o", "new/"],
    "import": ["s.atif.json", "-o", "new/"],
    "restore": [RECORD, "-o", "new/"],
    "validate": [RECORD],
    "attribute": [RECORD, "-v"],
    "replay": [RECORD, "--out", "new/"],
    "blame": ["repository/total.py", "--records", RECORD],
    "notes write": ["HEAD", "--repository", "repository", "--records", RECORD],
    "notes show": ["--repository", "repository"],
    "notes push": ["nowhere", "--repository", "repository"],
    "notes fetch": ["nowhere", "--repository", "repository"],
    "notes rewrite": ["HEAD", "--repository", "repository"],
    "convert": [RECORD, "--to", "cbor", "-o", "new/"],
    "key generate": ["-o", "new/"],
    "key show": ["keys/signing.pub.pem"],
    "sign": [RECORD, "--key", KEY, "--overwrite"],
    "register": ["s.acr.json.cose", "--service", UNREACHABLE, "--patience", "0"],
    "seal": ["s.jsonl", "--key", KEY, "-o", "new/"],
    "verify": [RECORD, "--trust", "keys/signing.pub.pem"],
    "trust add": ["Nora", "--key", "keys/signing.pub.pem"],
    "trust list": ["--trust-store", "team.toml"],
    "trust remove": ["Mira", "--trust-store", "team.toml"],
    "trust export": ["--trust-store", "team.toml"],
    "trust approve": [],
    "hook install": ["--agent", "claude-code", "--yes"],
    "hook status": [],
    "hook uninstall": ["--agent", "claude-code", "--yes"],
    "mcp install": ["--agent", "claude-code", "--yes"],
    "mcp status": [],
    "mcp uninstall": ["--agent", "claude-code", "--yes"],
    "keep": [],
    "watch": ["--once", "--no-ui", "--quiet-after", "0"],
    "journal verify": [],
    "evidence attest": [*ATTEST, "-o", "new.cbor"],
    "evidence endorse request": ["-o", "new.cbor", "--tcti", "nothing"],
    "evidence endorse challenge": [
        "policy.toml",
        "--ek-root",
        KEY,
        "-o",
        "new.cbor",
        "--secret",
        "new.secret",
    ],
    "evidence endorse answer": ["policy.toml", "-o", "new.cbor", "--tcti", "nothing"],
    "evidence endorse confirm": [
        "policy.toml",
        "--secret",
        "s.jsonl",
        "--key",
        KEY,
        "-o",
        "new.cbor",
    ],
    "evidence appraise": [
        "evidence.cbor",
        "--policy",
        "policy.toml",
        "--nonce",
        NONCE,
        "--key",
        KEY,
        "-o",
        "new.cbor",
    ],
    "log init": ["new/"],
    "log fsck": ["log/"],
    "log prove": ["log/", "--entry", "0", "-o", "new.cose"],
    "log verify": ["receipt.cose", "--log-key", "log/", "--statement", "s.acr.json.cose"],
    "log rotate": ["log/"],
    "log monitor": [UNREACHABLE, "--state", "new.json"],
    "inspect": ["s.acr.json.cose"],
    "schema show": [],
    "schema generate": ["--rule", "entry", "--seed", "1"],
    "completion": ["bash"],
}
"""Verb → arguments. Some of them fail, because failures are printed too."""

SERVERS = {
    "open": ["--no-browser", "--port", "{port}"],
    "log serve": ["log/", "--port", "{port}"],
    "log witness": ["witness/", "--log", VKEY, "--port", "{port}"],
}
"""Verbs that run until they are stopped → arguments."""

PIPE_SERVERS = {"lsp": [], "acp": ["--", "cat"]}
"""Verbs that talk to another program on standard input and output → arguments."""

_COMMANDS = (
    ["record", "s.jsonl", "--seal-source"],
    ["key", "generate", "-o", "keys/"],
    ["sign", RECORD, "--key", KEY],
    ["trust", "add", "Mira", "--key", "keys/signing.pub.pem", "--trust-store", "team.toml"],
    ["export", RECORD, "--to", "atif"],
    ["attest", "--reference", "-o", "reference.cbor"],
    ["attest", *ATTEST, "-o", "evidence.cbor"],
    ["log", "init", "log/"],
    ["log", "rotate", "log/"],
    ["log", "prove", "log/", "--entry", "0", "-o", "receipt.cose"],
    ["watch", "--once", "--no-ui", "--no-seal"],
)


def list_verbs(command=group, path=()):
    """List the full names of all verbs."""
    if not isinstance(command, click.Group):
        return [" ".join(path)]
    return [
        verb
        for name in command.list_commands(None)
        for verb in list_verbs(command.get_command(None, name), (*path, name))
    ]


def environment_in(folder):
    """Return the smallest environment for a command whose home is in a folder."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}


@pytest.fixture(scope="session")
def material(tmp_path_factory):
    """Create a folder with an input file of each kind."""
    folder = tmp_path_factory.mktemp("material")
    shutil.copy(EXAMPLES / "claude-code.jsonl", folder / "s.jsonl")
    (folder / "policy.toml").write_text(POLICY)
    transcripts = folder / "home" / ".claude" / "projects" / "x"
    transcripts.mkdir(parents=True)
    shutil.copy(EXAMPLES / "claude-code.jsonl", transcripts)
    repository = folder / "repository"
    repository.mkdir()
    (repository / "total.py").write_text("total = 0\n")
    git = ["git", "-C", repository, "-c", "user.name=m", "-c", "user.email=m@example.org"]
    for arguments in (["init", "-q", "--template="], ["add", "."], ["commit", "-qm", "m"]):
        subprocess.run([*git, *arguments], check=True)
    (folder / "drifted.jsonl").write_bytes(
        (folder / "s.jsonl").read_bytes() + b'{"type":"unheard-of"}\n'
    )
    for arguments in _COMMANDS:
        command = [sys.executable, "-m", "vacr", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment_in(folder), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    changed = (folder / RECORD).read_bytes().replace(b"off by a cent", b"off by a euro")
    (folder / "changed.acr.json").write_bytes(changed)
    shutil.copy(folder / "s.acr.json.cose", folder / "changed.acr.json.cose")
    return folder


@pytest.fixture
def folder(material, tmp_path):
    """Return a copy of the material."""
    shutil.copytree(material, tmp_path, dirs_exist_ok=True, symlinks=True)
    return tmp_path

"""Fixtures for the tests of evidence: a signed record, keys, reference values and a policy."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.conftest import EXAMPLES

NONCE = "00112233445566778899aabbccddeeff"
POLICY = (
    'id = "urn:example:p"\nreferences = ["reference.cbor"]\nattester-keys = '
    '["keys/signing.pub.pem"]\nsoftware-is-enough = true\n'
)
TRUST = ("--trust", "keys/signing.pub.pem")
BACKGROUND = (
    "--require-evidence",
    "affirming",
    "--evidence-policy",
    "policy.toml",
    "--nonce",
    NONCE,
)
PASSPORT = ("--require-evidence", "affirming", "--verifier-key", "verifier/signing.pub.pem")


@pytest.fixture(scope="session")
def prepared_folder(tmp_path_factory):
    """Return a folder with a signed record, keys, reference values and a policy."""
    folder = tmp_path_factory.mktemp("prepared")
    shutil.copy(EXAMPLES / "claude-code.jsonl", folder / "s.jsonl")
    (folder / "policy.toml").write_text(POLICY)
    for arguments in (
        ("record", "s.jsonl"),
        ("key", "generate", "-o", "keys/"),
        ("key", "generate", "-o", "verifier/"),
        ("sign", "s.acr.json", "--key", "keys/signing.pem"),
        ("attest", "--reference", "-o", "reference.cbor"),
    ):
        subprocess.run(
            [sys.executable, "-m", "vacr", *arguments], cwd=folder, check=True, capture_output=True
        )
    return folder


@pytest.fixture
def ready_folder(prepared_folder, tmp_path):
    """Return a copy of the prepared folder, where the command runs."""
    shutil.copytree(prepared_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def attest(vacr):
    def run(*more, record="s.acr.json", nonce=NONCE):
        given = (
            "--record",
            record,
            "--nonce",
            nonce,
            "--attester",
            "software",
            "--key",
            "keys/signing.pem",
            "--overwrite",
        )
        return vacr("attest", *given, *more)

    return run


@pytest.fixture
def appraise(vacr):
    def run(*more, evidence="s.acr.json.evidence.cbor", nonce=NONCE):
        done = vacr(
            "appraise",
            evidence,
            "--policy",
            "policy.toml",
            "--nonce",
            nonce,
            "--format",
            "json",
            "--overwrite",
            *more,
        )
        return done, json.loads(done.out) if done.out else None

    run.vacr = vacr
    return run

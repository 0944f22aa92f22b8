"""The commands of docs/evidence.md, run as printed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, ROOT
from tests.evidence.software_tpm import needs_swtpm

pytestmark = pytest.mark.component

TEXT = (ROOT / "docs" / "evidence.md").read_text("utf-8")
POLICIES = dict(re.findall(r"```toml\n# (\S+)\n(.*?)```", TEXT, re.DOTALL))
BLOCKS = re.findall(r"```console( tpm)?\n(.*?)```", TEXT, re.DOTALL)


def commands(*, tpm):
    lines = [line for of_tpm, block in BLOCKS if tpm or not of_tpm for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return "\n".join(line[2:] for line in lines)


def run(folder, script, **variables):
    shutil.copy(EXAMPLES / "claude-code.jsonl", folder)
    for name, policy in POLICIES.items():
        (folder / name).write_text(policy)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables |= {"PATH": path, "VACR_STATE": str(folder / "state")}
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_background_check_and_passport(tmp_path):
    said = run(tmp_path, commands(tpm=False))
    assert (
        said.count("✓ evidence: affirming")
        == said.count("signed by a key in software, without hardware")
        == 5
    )
    assert said.count("? hardware: not used: only software vouches for the evidence") == 3


@needs_swtpm
def test_tpm_walkthrough_affirms_hardware(tmp_path, software_tpm):
    tcti, folder = software_tpm
    shutil.copy(folder / "ca" / "swtpm-localca-rootca-cert.pem", tmp_path / "maker.pem")
    shutil.copy(folder / "ca" / "issuercert.pem", tmp_path / "maker-between.pem")
    said = run(tmp_path, commands(tpm=True), TPM2TOOLS_TCTI=tcti)
    assert "? hardware: not proven: the TPM may be a program" in said
    assert said.count("✓ hardware: a TPM certified by its maker") == 2
    assert "hardware 2)" in said

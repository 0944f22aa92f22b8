"""A real TPM 2.0 in software, swtpm, with certificates of its own authority."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

TOOLS = ("swtpm", "swtpm_setup", "swtpm_localca", "tpm2")
MISSING = [name for name in TOOLS if shutil.which(name) is None]
needs_swtpm = pytest.mark.skipif(
    bool(MISSING), reason=f"NO TPM IS TESTED: {', '.join(MISSING)} missing; make test installs them"
)


@contextmanager
def running(folder: Path):
    """Make a TPM in a folder, run it, and yield its TCTI. Its sockets are files, which have
    to have short names.
    """
    state, authority = folder / "state", folder / "ca"
    state.mkdir()
    authority.mkdir()
    (folder / "setup.conf").write_text(
        f"create_certs_tool = {shutil.which('swtpm_localca')}\ncreate_certs_tool_config = "
        f"{folder / 'localca.conf'}\n"
        f"create_certs_tool_options = {folder / 'localca.options'}\n"
    )
    (folder / "localca.options").write_text(
        "--platform-manufacturer vacr\n--platform-version 1\n--platform-model test\n"
    )
    names = {
        "statedir": "",
        "signingkey": "signkey.pem",
        "issuercert": "issuercert.pem",
        "certserial": "certserial",
    }
    (folder / "localca.conf").write_text(
        "".join(f"{name} = {authority / file}\n" for name, file in names.items())
    )
    made = [
        "swtpm_setup",
        "--tpm2",
        "--tpmstate",
        state,
        "--create-ek-cert",
        "--config",
        folder / "setup.conf",
    ]
    done = subprocess.run([*made, "--pcr-banks", "sha256"], capture_output=True, cwd=folder)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    socket = folder / "s"
    server = subprocess.Popen(
        [
            "swtpm",
            "socket",
            "--tpm2",
            "--tpmstate",
            f"dir={state}",
            "--flags",
            "not-need-init,startup-clear",
        ]
        + ["--server", f"type=unixio,path={socket}", "--ctrl", f"type=unixio,path={socket}.ctrl"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not socket.exists() or not Path(f"{socket}.ctrl").exists():
            assert server.poll() is None, "swtpm does not start"
            time.sleep(0.02)
        yield f"swtpm:path={socket}"
    finally:
        os.kill(server.pid, signal.SIGTERM)
        server.wait()

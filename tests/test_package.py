"""The built wheel is complete, and works without the source tree."""

import os
import pty
import signal
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import EXAMPLES, ROOT
from vacr.cli import group

pytestmark = pytest.mark.component


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the path of the wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_is_complete(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "unpacked")
    for name in (
        "vacr/py.typed",
        "vacr/capture/hook.py",
        "vacr/record/v3.cddl",
        "vacr/record/v2.cddl",
        "vacr/record/v1.cddl",
        "vacr/cddl/prelude.cddl",
        "vacr/record/LICENSE-cddl.txt",
        "vacr/evidence/evidence.cddl",
        "vacr/exchange/atif.cddl",
        "vacr/exchange/agent-trace.cddl",
        "vacr/viewer/page.html",
        "vacr/viewer/LICENSE-page.txt",
    ):
        assert name in names
    manual = {name.rpartition("/")[2] for name in names if "/share/man/man1/" in name}
    assert manual == {"vacr.1", *(f"vacr-{verb}.1" for verb in group.verbs)}
    assert not [name for name in names if "/test" in f"/{name}" or "corpus" in name]
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'unpacked')!r}); import vacr; assert "
        "'unpacked' in vacr.__file__;"
        " [vacr.validate(record).raise_for_errors() for record in "
        f"vacr.read({str(EXAMPLES / 'claude-code.jsonl')!r})]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_wheel_starts_the_app_on_a_terminal(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vacr"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(tmp_path / "unpacked"),
            "BROWSER": "false",
            "TERM": "dumb",
        },
    )
    os.close(theirs)
    shown = b""
    while b"http://127.0.0.1:" not in shown and b"\n" not in shown:
        shown += os.read(ours, 65536)
    assert b"browser" in shown
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    os.close(ours)

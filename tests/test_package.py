"""The built wheel is complete, and works without the source tree."""

import subprocess
import sys
import zipfile

import pytest

from tests.conftest import EXAMPLES, ROOT
from vacr.cli import group

pytestmark = pytest.mark.component


def test_wheel_is_complete(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
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

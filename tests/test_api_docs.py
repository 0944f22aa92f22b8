"""The API documentation builds, and documents every public name."""

import subprocess
import sys

import pytest

import vacr
from tests.conftest import ROOT

pytestmark = pytest.mark.component


def test_api_documentation_has_every_public_name(tmp_path):
    subprocess.run(
        [sys.executable, ROOT / "docs" / "api.py", tmp_path], check=True, capture_output=True
    )
    page = (tmp_path / "vacr.html").read_text("utf-8")
    assert [name for name in vacr.__all__ if f'id="{name}"' not in page] == []


def test_public_name_without_a_docstring_is_reported(tmp_path):
    code = (
        "import sys, runpy, vacr; vacr.seal.__doc__ = None;"
        f" sys.argv = ['api.py', {str(tmp_path)!r}];"
        f" runpy.run_path({str(ROOT / 'docs' / 'api.py')!r}, run_name='__main__')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == "docs/api.py: no docstring: vacr.seal\n"

"""Records and sessions from a pipe, which can be read only once."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from tests.conftest import EXAMPLES

pytestmark = pytest.mark.component

SESSION = (EXAMPLES / "claude-code.jsonl").read_bytes()
VERBS = {
    "show": ["show"],
    "stats": ["stats"],
    "export": ["export", "--to", "atif", "-o", "-"],
    "attribute": ["attribute", "-o", "-"],
    "view": ["view", "-o", "-"],
}
NAMED_BY_THEIR_RECORD = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}"
)
"""Ids and hashes: a record from a pipe names another source than a record from a file."""


@pytest.fixture
def piped_session(vacr):
    """Return a session in each form: native, and as a record in both encodings."""
    record = vacr("record", "-", "-o", "-", stdin=SESSION).stdout
    return {
        "session": SESSION,
        "json": record,
        "cbor": vacr("convert", "-", "--to", "cbor", "-o", "-", stdin=record).stdout,
    }


@pytest.mark.parametrize("form", ["json", "cbor"])
@pytest.mark.parametrize("verb", ["show", "stats", "export"])
def test_piped_record_prints_the_same_as_its_session(vacr, piped_session, verb, form):
    done, other = (vacr(*VERBS[verb], "-", stdin=piped_session[name]) for name in (form, "session"))
    assert done.returncode == other.returncode == 0, done.err
    assert NAMED_BY_THEIR_RECORD.sub(b"", done.stdout) == NAMED_BY_THEIR_RECORD.sub(
        b"", other.stdout
    )


@pytest.mark.parametrize(
    ("verb", "form"), [("show", "session"), ("show", "cbor"), *((verb, "json") for verb in VERBS)]
)
def test_process_substitution_is_read(vacr, piped_session, tmp_path, verb, form):
    (tmp_path / "piped").write_bytes(piped_session[form])
    line = f"{shlex.join([sys.executable, '-m', 'vacr', *VERBS[verb]])} <(cat piped)"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=os.environ, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # A page contains the name of its source.
    if verb != "view":
        assert done.stdout == vacr(*VERBS[verb], "-", stdin=piped_session[form]).stdout


def test_files_from_a_pipe_are_named_after_standard_input(vacr, piped_session, tmp_path):
    for verb in (["export", "--to", "markdown"], ["attribute"], ["view"]):
        assert vacr(*verb, "-", stdin=piped_session["json"]).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "stdin.md",
        "stdin.attributed.acr.json",
        "stdin.html",
    }


@pytest.mark.parametrize(
    ("verb", "text"),
    [
        *(("show", data) for data in (b"", b'{"version":', b"\xff\xfe", b"[1]")),
        *((verb, b"{}") for verb in VERBS),
    ],
)
def test_unrecognised_standard_input_is_refused(vacr, verb, text):
    done = vacr(*VERBS[verb], "-", stdin=text)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.err.startswith("vacr: -: ")

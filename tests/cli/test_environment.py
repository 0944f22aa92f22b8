"""The output of a verb does not depend on unrelated environment variables."""

import functools
import subprocess
import sys

import pytest

from tests import forking
from tests.cli.every_verb import VERBS, environment_in

pytestmark = pytest.mark.component

NOWHERE = "/nowhere/at/all"

ODD = {
    "terminal": {"TERM": "odd", "COLUMNS": "abc", "LINES": "-1"},
    "dumb terminal": {"TERM": "dumb", "COLUMNS": "0"},
    "colours": {"TERM": "xterm-256color", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"},
    "no colours": {"NO_COLOR": "1"},
    "pager": {"PAGER": "false", "LESS": "odd", "EDITOR": "false"},
    "proxies": dict.fromkeys(
        ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY"), "http://127.0.0.1:9"
    ),
    "continuous integration": {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": NOWHERE},
    "git": {
        "GIT_DIR": NOWHERE,
        "GIT_WORK_TREE": NOWHERE,
        "GIT_INDEX_FILE": NOWHERE,
        "GIT_PAGER": "false",
    },
    "git configuration": {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.pager",
        "GIT_CONFIG_VALUE_0": "false",
    },
    "folders": dict.fromkeys(
        ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), "not/absolute"
    ),
    "temporary folder": {"TMPDIR": NOWHERE},
    "time zone": {"TZ": "Nowhere/Odd"},
    "old locale": {"LC_ALL": "C"},
    "unknown locale": {"LC_ALL": "xx_YY.UTF-8", "LANG": "tr_TR.ISO-8859-9"},
    "no buffers": {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    "strict Python": {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1", "PYTHONHASHSEED": "7"},
    "other Python": {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONSAFEPATH": "1"},
}


def run(verb, place, variables):
    return forking.run([*verb.split(), *VERBS[verb]], place, environment_in(place) | variables)


@pytest.fixture(scope="module")
def compute_usual_output(material):
    """Return the output of a verb that writes no file, in the smallest environment."""
    return functools.cache(lambda verb: run(verb, material, {}))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("verb", ["list", "show", "blame", "verify"])
def test_odd_variables_do_not_change_the_output(material, compute_usual_output, verb, odd):
    done, expected = run(verb, material, ODD[odd]), compute_usual_output(verb)
    assert (done.returncode, done.stdout, done.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )


@pytest.mark.parametrize("odd", ODD)
def test_odd_variables_do_not_stop_capturing(folder, odd):
    done = run("watch", folder, ODD[odd])
    assert done.returncode == 0, done.stderr
    assert list((folder / "home" / ".local" / "state" / "vacr" / "sealed").rglob("*.cose"))


@pytest.mark.parametrize("encoding", ["latin-1", "latin-1:surrogateescape", "cp1252"])
@pytest.mark.parametrize(("verb", "escaped"), [("verify", rb"\u2713"), ("show", rb"\U0001f9fe")])
def test_characters_outside_the_encoding_are_escaped(folder, verb, escaped, encoding):
    done = run(verb, folder, {"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")
    assert escaped in done.stdout


@pytest.mark.parametrize("home", [None, "", NOWHERE, "not/absolute"])
def test_missing_or_odd_home_is_handled(folder, home):
    variables = environment_in(folder) | {"HOME": home or ""}
    if home is None:
        del variables["HOME"]
    for verb in ("list", "hook status", "validate"):
        command = [sys.executable, "-m", "vacr", *verb.split(), *VERBS[verb]]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True)
        assert done.returncode in (0, 1, 2, 3, 4), done.stderr
        assert b"Traceback" not in done.stderr

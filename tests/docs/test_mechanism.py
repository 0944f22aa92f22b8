"""The tests of the pages fail when they should: for wrong output, failed commands, and so on."""

import os
import re
import subprocess

import pytest

from tests.conftest import ROOT
from tests.docs import home
from tests.docs.pages import EVERY_PAGE, Step, matches_shown_output, parse_steps
from tests.docs.shell import run_steps

PAGE = """
```console
$ for number in 1 2; do
> first $number
> done
one
two

$ second   # a remark
```

```sh
$ only shown
```

```console
$ third
```
"""


@pytest.fixture
def run_commands(tmp_path):
    """Return a function that runs commands and returns their results."""
    (tmp_path / "clone").mkdir()
    return lambda *commands, **options: run_steps(
        [Step(command, "") for command in commands], tmp_path, tmp_path / "clone", **options
    )


def test_commands_and_outputs_are_separated():
    assert [(step.command, step.shown) for step in parse_steps(PAGE)] == [
        ("for number in 1 2; do\nfirst $number\ndone", "one\ntwo"),
        ("second   # a remark", ""),
        ("third", ""),
    ]


def test_console_block_begins_with_a_command():
    with pytest.raises(AssertionError, match="begins with a command"):
        parse_steps("```console\nvacr list\n```\n")


@pytest.mark.parametrize(
    ("shown", "printed", "matches"),
    [
        ("a\nb", "a\nb\n", True),
        ("a", "a\nb\n", False),
        ("a\nb", "a\n", False),
        ("a…z", "a to z\n", True),
        ("a…z", "a\nz\n", False),
        ("a\n…\nz", "a\nb\nc\nz\n", True),
        ("a\n…\nz", "a\nz\n", True),
        ("a\n…\nz", "a\nb\n", False),
        ("a.c", "abc\n", False),
        ("a", "a  \n", True),
    ],
)
def test_shown_output_is_compared(shown, printed, matches):
    assert matches_shown_output(shown, printed) is matches


def test_commands_share_a_shell_and_print_on_both_streams(run_commands, tmp_path):
    first, second = run_commands("mkdir -p in; cd in; NAME=x", "echo $NAME; pwd; echo wrong >&2")
    assert (first.printed, second.printed) == ("", "x\n/home/mira/clone/in\nwrong\n")
    assert (tmp_path / "clone" / "in").is_dir()


def test_failed_command_ends_the_page(run_commands):
    def list_exit_codes(*commands, **options):
        return [result.exit_code for result in run_commands(*commands, **options)]

    assert list_exit_codes("true", "false", "true") == [0, 1]
    assert list_exit_codes("false | cat", "true") == [1]
    assert list_exit_codes("true", "exit 3") == [0, -1]
    assert list_exit_codes("echo 'no end", "true") == [-1]
    assert list_exit_codes("false", "true", after_failures=True) == [1, 0]
    (result,) = run_commands("false; echo $?")
    assert (result.printed, result.exit_code) == ("1\n", 0)


def test_background_processes_end_with_the_page(run_commands):
    start, process_id = run_commands("sleep 600 &", "echo $!")
    assert start.exit_code == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(process_id.printed), 0)


def test_output_shows_the_ports_of_the_page(run_commands):
    (result,) = run_commands("echo http://127.0.0.1:8080/ --port 8090 > ports; cat ports")
    assert result.printed == "http://127.0.0.1:8080/ --port 8090\n"


def test_commands_use_free_ports(run_commands, tmp_path):
    run_commands("echo 127.0.0.1:8080 > port")
    assert (tmp_path / "clone" / "port").read_text() != "127.0.0.1:8080\n"


def test_home_has_sessions_of_every_agent(tmp_path):
    clone = home.fill_home(tmp_path / "home")
    (listed,) = run_steps([Step("vacr list", "")], clone.parent, clone)
    rows = listed.printed.splitlines()[1:]
    assert {row.split()[1] for row in rows} == {
        "claude-code",
        "codex-cli",
        "gemini-cli",
        "opencode",
        "cursor",
    }


def test_keys_of_the_pages_are_ignored_by_git():
    made = re.compile(r"vacr (?:key generate.* -o|log init) ([a-z-]+)/")
    folders = {folder for page in EVERY_PAGE for folder in made.findall(page.read_text())}
    assert {"demo-keys", "demo-log", "signer", "other", "theirlog"} <= folders
    files = [f"{folder}/signing.pem" for folder in sorted(folders)]
    done = subprocess.run(
        ["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == files

"""The pages' tests can fail: for another output, for an exit code that is not shown, and for what
is left running.
"""

import os

import pytest

from tests.docs import home
from tests.docs.pages import Step, agrees, steps
from tests.docs.shell import run

PAGE = """
```console
$ for one in 1 2; do
> first $one
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
def typed(tmp_path):
    """Type commands, and give what came of them."""
    (tmp_path / "clone").mkdir()
    return lambda *commands, **how: run(
        [Step(command, "") for command in commands], tmp_path, tmp_path / "clone", **how
    )


def test_commands_and_outputs_are_told_apart():
    assert [(step.command, step.shown) for step in steps(PAGE)] == [
        ("for one in 1 2; do\nfirst $one\ndone", "one\ntwo"),
        ("second   # a remark", ""),
        ("third", ""),
    ]


def test_a_block_that_is_run_begins_with_a_command():
    with pytest.raises(AssertionError, match="begins with a command"):
        steps("```console\nvacr list\n```\n")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
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
def test_what_is_shown_is_compared(shown, printed, same):
    assert agrees(shown, printed) is same


def test_commands_share_a_shell_and_print_on_both_streams(typed, tmp_path):
    first, second = typed("mkdir -p in; cd in; NAME=x", "echo $NAME; pwd; echo wrong >&2")
    assert (first.printed, second.printed) == ("", "x\n/home/mira/clone/in\nwrong\n")
    assert (tmp_path / "clone" / "in").is_dir()


def test_a_failure_ends_the_page_and_counts(typed):
    assert [one.exit for one in typed("true", "false", "true")] == [0, 1]
    assert [one.exit for one in typed("false | cat", "true")] == [1]
    assert [one.exit for one in typed("true", "exit 3")] == [0, -1]
    assert [one.exit for one in typed("echo 'no end", "true")] == [-1]
    assert [one.exit for one in typed("false", "true", goes_on=True)] == [1, 0]
    assert [(one.printed, one.exit) for one in typed("false; echo $?")] == [("1\n", 0)]


def test_what_runs_on_is_ended_with_the_page(typed):
    started, told = typed("sleep 600 &", "echo $!")
    assert started.exit == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.printed), 0)


def test_ports_are_any_that_are_free(typed):
    (one,) = typed("echo http://127.0.0.1:8080/ --port 8090 > ports; cat ports")
    assert one.printed == "http://127.0.0.1:8080/ --port 8090\n"


def test_ports_are_not_those_that_are_named(typed, tmp_path):
    typed("echo 127.0.0.1:8080 > port")
    assert (tmp_path / "clone" / "port").read_text() != "127.0.0.1:8080\n"


def test_a_home_has_sessions_of_every_agent(tmp_path):
    clone = home.fill(tmp_path / "home")
    (listed,) = run([Step("vacr list", "")], clone.parent, clone)
    rows = listed.printed.splitlines()[1:]
    assert {row.split()[0] for row in rows} == {
        "claude-code",
        "codex-cli",
        "gemini-cli",
        "opencode",
        "cursor",
    }

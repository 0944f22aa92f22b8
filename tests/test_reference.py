"""The reference of the command line is what the commands say, the same on every machine, and found
out when it is not.
"""

import os
import shutil
import subprocess
import sys

import click
import pytest

from tests.conftest import ROOT
from vacr.cli import EXIT_CODES, group
from vacr.errors import VacrError

pytestmark = pytest.mark.component

PAGES = ROOT / "docs" / "reference"
ELSEWHERE = {
    "COLUMNS": "40",
    "TERM": "dumb",
    "HOME": "/nowhere",
    "LANG": "C",
    "VACR_RECORD_OUTPUT": "x/",
    "VACR_LOG_SERVE_PORT": "1",
}


@pytest.fixture
def reference(tmp_path):
    return shutil.copytree(
        PAGES, tmp_path / "reference", ignore=shutil.ignore_patterns("__pycache__")
    )


def generate(folder, *arguments, env=None):
    command = [sys.executable, "-B", str(folder / "generate.py"), *arguments]
    return subprocess.run(
        command, env=os.environ | (env or {}), capture_output=True, text=True, check=False
    )


def contexts(over):
    for name in over.command.list_commands(over):
        found = click.Context(over.command.get_command(over, name), info_name=name, parent=over)
        yield found
        if isinstance(found.command, click.Group):
            yield from contexts(found)


@pytest.mark.parametrize("env", [{}, ELSEWHERE], ids=["here", "elsewhere"])
def test_the_pages_are_current_whatever_the_environment(env):
    done = generate(PAGES, "--check", env=env)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "record.md").write_text(
            (folder / "record.md").read_text("utf-8") + "\n", "utf-8"
        ),
        lambda folder: (folder / "record.md").unlink(),
        lambda folder: (folder / "gone.md").write_text("# vacr gone\n", "utf-8"),
    ],
    ids=["changed", "missing", "of a verb that is gone"],
)
def test_a_page_that_is_not_current_is_found_out_and_written_again(reference, damage):
    damage(reference)
    done = generate(reference, "--check")
    assert done.returncode == 1
    assert "out of date" in done.stderr
    assert generate(reference).returncode == 0
    assert generate(reference, "--check").returncode == 0


def test_every_option_of_every_verb_is_there_with_a_variable_that_is_read():
    root = click.Context(group, info_name="vacr", **group.context_settings)
    seen = 0
    for context in contexts(root):
        verb = context.command_path.split()[1]
        text = (PAGES / f"{verb}.md").read_text("utf-8")
        for option in context.command.params:
            if not isinstance(option, click.Option):
                continue
            name = f"{context.auto_envvar_prefix}_{option.name.upper()}"
            row = next(line for line in text.splitlines() if f"`{name}`" in line)
            assert all(f"`{spelled}" in row for spelled in option.opts), row
            os.environ[name] = "x"
            try:
                assert option.resolve_envvar_value(context) == "x"
            finally:
                del os.environ[name]
            seen += 1
    assert seen > 300


def test_several_files_in_a_variable_are_separated_as_paths_are_and_others_by_spaces(monkeypatch):
    root = click.Context(group, info_name="vacr", **group.context_settings)
    given = {True: ["a b", "c"], False: ["a", "b"]}
    seen = 0
    for context in contexts(root):
        for option in context.command.params:
            if isinstance(option, click.Option) and option.multiple and option.nargs == 1:
                expected = given["FILE" in (option.metavar or "")]
                separator = os.pathsep if expected is given[True] else " "
                monkeypatch.setenv(
                    f"{context.auto_envvar_prefix}_{option.name.upper()}", separator.join(expected)
                )
                assert list(option.value_from_envvar(context)) == expected, (
                    context.command_path,
                    option.name,
                )
                seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("verb", "below"),
    [
        ("endorse", ["request", "challenge", "answer", "confirm"]),
        ("key", ["generate", "show"]),
        ("schema", ["show", "generate"]),
    ],
)
def test_verbs_of_a_verb_are_listed_in_the_order_of_use(verb, below):
    text = (PAGES / f"{verb}.md").read_text("utf-8")
    assert [
        line.split()[-1] for line in text.splitlines() if line.startswith(f"## vacr {verb} ")
    ] == below


def test_the_exit_codes_are_those_of_the_errors():
    families = {VacrError, *VacrError.__subclasses__()}
    assert {family.exit_code for family in families} <= EXIT_CODES.keys()

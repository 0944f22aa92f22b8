"""The reference of the command line matches the commands, in every environment.

A page that is out of date is reported.
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
UNUSUAL_ENVIRONMENT = {
    "COLUMNS": "40",
    "TERM": "dumb",
    "HOME": "/nowhere",
    "LANG": "C",
    "VACR_RECORD_OUTPUT": "x/",
    "VACR_LOG_SERVE_PORT": "1",
}


@pytest.fixture
def reference(tmp_path):
    """Return a copy of the reference."""
    return shutil.copytree(
        PAGES, tmp_path / "reference", ignore=shutil.ignore_patterns("__pycache__")
    )


def run_generator(folder, *arguments, env=None):
    command = [sys.executable, "-B", str(folder / "generate.py"), *arguments]
    return subprocess.run(
        command, env=os.environ | (env or {}), capture_output=True, text=True, check=False
    )


def walk_commands(parent):
    """Yield the context of every command below a group."""
    for name in parent.command.list_commands(parent):
        command = parent.command.get_command(parent, name)
        context = click.Context(command, info_name=name, parent=parent)
        yield context
        if isinstance(command, click.Group):
            yield from walk_commands(context)


@pytest.mark.parametrize("env", [{}, UNUSUAL_ENVIRONMENT], ids=["usual", "unusual"])
def test_pages_are_current_in_any_environment(env):
    done = run_generator(PAGES, "--check", env=env)
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
    ids=["changed", "missing", "of a removed verb"],
)
def test_stale_page_is_reported_and_written_again(reference, damage):
    damage(reference)
    done = run_generator(reference, "--check")
    assert done.returncode == 1
    assert "out of date" in done.stderr
    assert run_generator(reference).returncode == 0
    assert run_generator(reference, "--check").returncode == 0


def test_every_option_is_listed_with_its_variable():
    root = click.Context(group, info_name="vacr", **group.context_settings)
    count = 0
    for context in walk_commands(root):
        verb = context.command_path.split()[1]
        text = (PAGES / f"{verb}.md").read_text("utf-8")
        for option in context.command.params:
            if not isinstance(option, click.Option):
                continue
            variable = f"{context.auto_envvar_prefix}_{option.name.upper()}"
            row = next(line for line in text.splitlines() if f"`{variable}`" in line)
            assert all(f"`{spelling}" in row for spelling in option.opts), row
            os.environ[variable] = "x"
            try:
                assert option.resolve_envvar_value(context) == "x"
            finally:
                del os.environ[variable]
            count += 1
    assert count > 300


def test_variables_separate_files_like_paths_and_other_values_by_spaces(monkeypatch):
    root = click.Context(group, info_name="vacr", **group.context_settings)
    files, others = ["a b", "c"], ["a", "b"]
    count = 0
    for context in walk_commands(root):
        for option in context.command.params:
            if isinstance(option, click.Option) and option.multiple and option.nargs == 1:
                takes_files = "FILE" in (option.metavar or "")
                expected = files if takes_files else others
                separator = os.pathsep if takes_files else " "
                monkeypatch.setenv(
                    f"{context.auto_envvar_prefix}_{option.name.upper()}", separator.join(expected)
                )
                assert list(option.value_from_envvar(context)) == expected, (
                    context.command_path,
                    option.name,
                )
                count += 1
    assert count > 20


@pytest.mark.parametrize(
    ("verb", "subcommands"),
    [
        (
            "evidence",
            ["attest", "endorse", "request", "challenge", "answer", "confirm", "appraise"],
        ),
        ("key", ["generate", "show"]),
        ("schema", ["show", "generate"]),
    ],
)
def test_subcommands_are_listed_in_the_order_of_use(verb, subcommands):
    text = (PAGES / f"{verb}.md").read_text("utf-8")
    assert [
        line.split()[-1] for line in text.splitlines() if line.startswith(f"## vacr {verb} ")
    ] == subcommands


def test_exit_code_of_every_error_is_listed():
    families = {VacrError, *VacrError.__subclasses__()}
    assert {family.exit_code for family in families} <= EXIT_CODES.keys()


def test_arguments_and_options_have_a_name_and_a_meaning():
    for page in PAGES.glob("*.md"):
        for line in page.read_text().splitlines():
            cells = [cell.strip() for cell in line.replace("\\|", "/").split("|")[1:-1]]
            if len(cells) in (2, 4) and cells[0].startswith("`"):
                assert cells[0].count("[") == cells[0].count("]"), (page.name, line)
                assert cells[1], (page.name, line)

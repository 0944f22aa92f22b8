"""The commands on the pages work, and print the output that the pages show.

In the README, "getting started", "costs", "agents and editors" and the how-to pages, blocks marked `console` are run; other blocks are only
shown. In a `console` block

- a line that begins with `$ ` is a command, continued by lines that begin with `> `, as in a shell;
- the lines after it are its output, on both streams, and must match. `…` stands for any text in a
  line; a line with only `…` stands for any lines. A command without output on the page may print
  anything;
- a command that fails fails the test. To show a failure, a page writes `$ vacr …; echo $?`.

A block whose mark names a file, such as `python parrot/reader.py`, is saved as that file.

All commands of a page run in one shell, in a clone with `examples/`, in the home of a person who
has used every agent. The output shows this home as `/home/mira`. Processes that a page starts with
`&` end with the page. Ports 8080 and 8090 stand for free ports.

The tour is an overview: only its commands with shown output are run and compared.
"""

import shutil

import pytest

from tests import forking
from tests.docs import home
from tests.docs.pages import GUIDES, README, TOUR, matches_shown_output, read_steps
from tests.docs.shell import run_steps


@pytest.fixture
def clone(tmp_path):
    return home.fill_home(tmp_path / "home")


def list_page_names(pages):
    return [page.relative_to(README.parent).as_posix() for page in pages]


def list_needed_programs(page):
    """Return the programs that a page uses and that may not be installed."""
    commands = " ".join(step.command for step in read_steps(page))
    return [
        program
        for program in ("jq", "curl", "git", "sqlite3", "openssl")
        if f"{program} " in commands
    ]


def check_output(result):
    step = result.step
    assert matches_shown_output(step.shown, result.printed), (
        f"$ {step.command}\n{result.printed}\nThe page shows:\n{step.shown}"
    )


@pytest.mark.parametrize("page", GUIDES, ids=list_page_names(GUIDES))
def test_guide_can_be_followed(page, clone):
    programs = list_needed_programs(page)
    if missing := [program for program in programs if shutil.which(program) is None]:
        pytest.skip(f"{missing[0]} is not installed, but the page needs it")
    results = run_steps(read_steps(page), clone.parent, clone)
    for result in results:
        assert result.exit_code == 0, f"$ {result.step.command}\n{result.printed}"
        if result.step.shown:
            check_output(result)
    assert len(results) == len(read_steps(page)) > 0


def test_all_pages_can_be_followed_in_one_folder(clone):
    """The names of files on the pages must not collide, and git may call its branch `master`."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed, but the pages need it")
    with (clone.parent / ".gitconfig").open("a") as settings:
        settings.write("[init]\ndefaultBranch = master\n")
    # Each page was run with the real command above; forks of it start much faster.
    with forking.serve_shell() as programs:
        for page in GUIDES:
            steps = read_steps(page)
            results = run_steps(steps, clone.parent, clone, programs=programs)
            for result in results:
                command = f"{page.name}: $ {result.step.command}"
                assert result.exit_code == 0, f"{command}\n{result.printed}"
            assert len(results) == len(steps)


def test_the_readme_shows_five_commands():
    commands = [step.command for step in read_steps(README) if step.shown]
    assert [command.split()[1] for command in commands] == [
        "search",
        "show",
        "stats",
        "view",
        "init",
    ]


def test_commands_print_the_output_in_the_tour(clone):
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed, but the page needs it")
    shown = [step for step in read_steps(TOUR) if step.shown]
    results = run_steps(shown, clone.parent, clone, after_failures=True)
    for result in results:
        check_output(result)
    assert len(results) == len(shown) > 5

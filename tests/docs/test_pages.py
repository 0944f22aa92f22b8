"""What the pages tell a reader to type does what they say.

In getting started and in the how-to pages, blocks that are marked `console` are run, and those
marked otherwise are only shown. In a `console` block

- a line that begins with `$ ` is a command; it goes on in lines after it that begin with `> `, as a
  shell shows them;
- what follows is its output, on both streams, and has to be what is printed. `…` stands for
  anything in a line, a line of nothing else for any lines. Where nothing is shown, anything may be
  printed;
- a command that fails fails the test. Where a failure is to be shown, the page shows it: `$ vacr …;
  echo $?`.

A block whose mark names a file, such as `python parrot/reader.py`, is saved as that file.

All commands of a page are typed into one shell, in a clone that has `examples/`, in the home of
somebody who used every agent. That home is `/home/mira` in what is shown. What a page starts with
`&` is ended with the page. Ports 8080 and 8090 stand for any that are free.

The README is an overview: of its commands those are run whose output it shows, and only that is
compared.
"""

import shutil

import pytest

from tests.docs import home
from tests.docs.pages import GUIDES, README, agrees, steps_of
from tests.docs.shell import run


@pytest.fixture
def clone(tmp_path):
    return home.fill(tmp_path / "home")


def names(pages):
    return [page.relative_to(README.parent).as_posix() for page in pages]


def needed(page):
    """Give the programs that a page uses and that are not everywhere."""
    commands = " ".join(step.command for step in steps_of(page))
    return [
        program
        for program in ("jq", "curl", "git", "sqlite3", "openssl")
        if f"{program} " in commands
    ]


@pytest.mark.parametrize("page", GUIDES, ids=names(GUIDES))
def test_a_guide_can_be_followed(page, clone):
    if missing := [program for program in needed(page) if shutil.which(program) is None]:
        pytest.skip(f"no {missing[0]}, which the page uses")
    done = run(steps_of(page), clone.parent, clone)
    for one in done:
        assert one.exit == 0, f"$ {one.step.command}\n{one.printed}"
        if one.step.shown:
            assert agrees(one.step.shown, one.printed), (
                f"$ {one.step.command}\n{one.printed}\nis not\n{one.step.shown}"
            )
    assert len(done) == len(steps_of(page)) > 0


def test_the_readme_shows_the_main_job():
    commands = [step.command for step in steps_of(README) if step.shown]
    assert [command.split()[1] for command in commands if command.startswith("vacr")][:2] == [
        "record",
        "validate",
    ]


def test_commands_print_what_the_readme_says(clone):
    if shutil.which("jq") is None:
        pytest.skip("no jq, which the page uses")
    shown = [step for step in steps_of(README) if step.shown]
    done = run(shown, clone.parent, clone, goes_on=True)
    for one in done:
        assert agrees(one.step.shown, one.printed), (
            f"$ {one.step.command}\n{one.printed}\nis not\n{one.step.shown}"
        )
    assert len(done) == len(shown)

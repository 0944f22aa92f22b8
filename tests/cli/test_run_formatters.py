"""`vacr replay --run-formatters`: real formatters, in a sandbox, on rebuilt texts."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.attribution.working_agent import Agent, commit, git, repository
from vacr.workflows.formatters import FORMATTERS, FormatterRunner, find_formatter, find_isolation

pytestmark = pytest.mark.component

# The formatter of this project is installed next to its Python.
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
UGLY_PYTHON = "def total( lines ):\n    return sum( l for l in lines )\nname = 'it'\n"
UGLY = {
    "gofmt": ("a.go", 'package main\nfunc main() {\nprintln( "hi" )\n}\n', "gofmt -w a.go"),
    "black": ("a.py", UGLY_PYTHON, "black -q a.py"),
    "ruff": ("a.py", UGLY_PYTHON, "ruff format -q a.py"),
    "prettier": ("a.js", "const a = {b:1,\n c:2}\nfoo( a )\n", "prettier --write a.js"),
}


def need(*programs):
    for program in programs:
        if shutil.which(program, path=PATH) is None:
            pytest.skip(f"{program} is not installed")


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", PATH)
    folder = repository(tmp_path / "repo")
    git(folder, "config", "core.autocrlf", "false")
    commit(folder, "Start")
    return folder


def replay(vacr, session, repo, *more):
    done = vacr("replay", session, "--base", f"{repo}@HEAD", "--format", "json", *more, PATH=PATH)
    assert done.returncode == 0, done.err
    return {file["path"]: file for file in json.loads(done.stdout)["files"]}, done.err


@pytest.mark.parametrize("name", sorted(UGLY))
def test_formatted_file_is_rebuilt_byte_for_byte(vacr, repo, tmp_path, name):
    need(name)
    path, text, command = UGLY[name]
    session = Agent(repo).write(path, text).shell(command).save(tmp_path / "s")
    formatted = (repo / path).read_bytes()
    assert formatted != text.encode()
    files, _ = replay(vacr, session, repo, "--run-formatters", "--out", "tree")
    assert (tmp_path / "tree" / path).read_bytes() == formatted
    assert files[path]["complete"]
    assert "doubt" not in files[path]
    [evidence] = [item for item in files[path]["evidence"] if item.startswith("formatter: ")]
    assert evidence.startswith(f"formatter: {name}")
    files, _ = replay(vacr, session, repo)
    assert not any("formatter: " in item for item in files[path]["evidence"])


def test_formatters_do_not_run_by_default(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", UGLY_PYTHON).save(tmp_path / "s")
    lines = [json.loads(line) for line in session.read_bytes().splitlines()]
    assert lines
    marker = tmp_path / "ran"
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "black").write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    (programs / "black").chmod(0o755)
    agent = Agent(repo, "two", start=600).write("b.py", UGLY_PYTHON)
    agent.call("Bash", {"command": "black b.py"}, "reformatted b.py", {"stdout": "", "stderr": ""})
    session = agent.save(tmp_path / "s")
    path = f"{programs}:{PATH}"
    assert vacr("replay", session, PATH=path).returncode == 0
    assert not marker.exists()


def test_later_edits_apply_to_the_formatted_text(vacr, repo, tmp_path):
    need("ruff")
    agent = Agent(repo).write("a.py", UGLY_PYTHON).shell("ruff format -q a.py")
    agent.edit("a.py", 'name = "it"', 'name = "that"')
    session = agent.save(tmp_path / "s")
    replay(vacr, session, repo, "--run-formatters", "--out", "tree")
    assert (tmp_path / "tree/a.py").read_bytes() == (repo / "a.py").read_bytes()


def test_formatter_of_a_folder_formats_all_known_files(vacr, repo, tmp_path):
    need("ruff")
    agent = Agent(repo).write("src/a.py", UGLY_PYTHON).write("src/b.py", UGLY_PYTHON)
    agent.write("src/c.txt", "untouched( )\n").shell("ruff format -q .")
    session = agent.save(tmp_path / "s")
    files, _ = replay(vacr, session, repo, "--run-formatters", "--out", "tree")
    for name in ("a.py", "b.py", "c.txt"):
        assert (tmp_path / "tree/src" / name).read_bytes() == (repo / "src" / name).read_bytes()
    assert "formatter" not in str(files["src/c.txt"]["evidence"])


def test_settings_of_the_project_count(vacr, repo, tmp_path):
    need("ruff")
    (repo / "pyproject.toml").write_text('[tool.ruff.format]\nquote-style = "single"\n')
    commit(repo, "Settings")
    agent = Agent(repo).write("src/a.py", UGLY_PYTHON).shell("ruff format -q src/a.py")
    session = agent.save(tmp_path / "s")
    assert b"'it'" in (repo / "src/a.py").read_bytes()
    replay(vacr, session, repo, "--run-formatters", "--out", "tree")
    assert (tmp_path / "tree/src/a.py").read_bytes() == (repo / "src/a.py").read_bytes()


def test_file_before_the_formatter_ran_in_the_same_script(vacr, repo, tmp_path):
    need("ruff")
    agent = Agent(repo).write("a.py", UGLY_PYTHON)
    agent.shell("ruff format -q a.py && printf 'x=( 1 )\\n' > a.py")
    replay(vacr, agent.save(tmp_path / "s"), repo, "--run-formatters", "--out", "tree")
    assert (tmp_path / "tree/a.py").read_text() == "x=( 1 )\n"


def test_missing_formatter_is_named_and_the_doubt_stays(vacr, repo, tmp_path):
    agent = Agent(repo).write("a.py", UGLY_PYTHON)
    agent.call("Bash", {"command": "black ."}, "reformatted a.py", {"stdout": "", "stderr": ""})
    session = agent.save(tmp_path / "s")
    done = vacr("replay", session, "--run-formatters", "--format", "json", PATH="/usr/bin:/bin")
    if shutil.which("black", path="/usr/bin:/bin"):
        pytest.skip("black is installed for the whole system")
    assert "not installed or failed: black" in done.err
    assert json.loads(done.stdout)["files"][0]["doubt"] == "formatter"


# The sandbox


def no_settings(path):
    del path


def run_program(tmp_path, monkeypatch, body, text="x\n", **options):
    """Run a program of our own in place of black."""
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "black").write_text(f"#!/bin/sh\n{body}\n")
    (programs / "black").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    runner = FormatterRunner(**options)
    return runner(["black", "a.py"], "a.py", text, no_settings), runner


def test_environment_has_a_path_and_an_empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    result, _ = run_program(tmp_path, monkeypatch, "env; ls -A $HOME")
    assert "s3cret" not in result.text
    names = {line.partition("=")[0] for line in result.text.splitlines() if "=" in line}
    assert names <= {"PATH", "HOME", "PWD", "SHLVL", "_", "OLDPWD"}


def test_program_has_no_network(tmp_path, monkeypatch):
    if find_isolation() is None:
        pytest.skip("neither bwrap nor unshare works here")
    result, _ = run_program(tmp_path, monkeypatch, "cat /proc/net/dev | tail -n +3")
    assert [line.split(":")[0].strip() for line in result.text.splitlines()] in ([], ["lo"])


def test_program_cannot_write_outside_with_bubblewrap(tmp_path, monkeypatch):
    isolation = find_isolation()
    if isolation is None or isolation.name != "bwrap":
        pytest.skip("bwrap does not work here")
    run_program(tmp_path, monkeypatch, f"touch {tmp_path}/outside; cat")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize(
    "body", ["exit 1", "kill -9 $$", "true", "while :; do :; done", "yes"], ids=str
)
def test_program_that_fails_or_runs_away_is_not_used(tmp_path, monkeypatch, body):
    monkeypatch.setattr("vacr.workflows.formatters._SECONDS", 1)
    monkeypatch.setattr("vacr.workflows.formatters._OUTPUT_BLOCKS", 2048)
    result, runner = run_program(tmp_path, monkeypatch, body)
    assert (result, runner.missing) == (None, {"black"})


def test_nothing_runs_without_isolation_if_it_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr("vacr.workflows.formatters.find_isolation", lambda: None)
    result, runner = run_program(tmp_path, monkeypatch, "cat")
    assert (result, runner.missing) == (None, {"black"})
    result, _ = run_program(tmp_path, monkeypatch, "cat", needs_isolation=False)
    assert result.text == "x\n"


def test_variable_alone_is_not_enough_without_isolation(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", "a = 1\n").save(tmp_path / "s")
    done = vacr("replay", session, VACR_REPLAY_RUN_FORMATTERS="1", PATH=str(tmp_path))
    assert (done.returncode, "Install bubblewrap" in done.err) == (2, True), done.err
    done = vacr("replay", session, "--run-formatters", PATH=str(tmp_path))
    assert (done.returncode, "run with network" in done.err) == (0, True), done.err


# The table


@pytest.mark.parametrize(
    ("command", "path", "arguments"),
    [
        (["gofmt", "-w", "-s", "a.go"], "a.go", ("-s",)),
        (["go", "fmt", "./..."], "a.go", ()),
        (["black", "-l", "100", "-q", "."], "a.py", ("-l", "100")),
        (["black", "--line-length=100", "."], "a.py", ("--line-length=100",)),
        (["ruff", "format", "."], "a.py", ()),
        (["prettier", "--write", "--single-quote", "src"], "a.ts", ("--single-quote",)),
    ],
)
def test_known_options_are_passed_on(command, path, arguments):
    assert find_formatter(command, path).arguments == arguments


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (["gofmt", "-w", "-r", "a -> b", "a.go"], "a.go"),
        (["gofmt", "-w", "."], "a.py"),
        (["goimports", "-w", "a.go"], "a.go"),
        (["ruff", "check", "--fix", "."], "a.py"),
        (["black", "--config", "evil.toml", "a.py"], "a.py"),
        (["prettier", "--write", "--plugin=evil", "a.ts"], "a.ts"),
        (["prettier", "--write", "--config", "evil.js", "a.ts"], "a.ts"),
        ([], "a.py"),
    ],
)
def test_commands_with_unknown_effects_are_not_run(command, path):
    assert find_formatter(command, path) is None


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (".prettierrc", b'{"plugins": ["./evil.js"]}'),
        (".prettierrc", b"semi: false"),
        (".prettierrc.js", b"module.exports = {}"),
        ("prettier.config.mjs", b"export default {}"),
    ],
)
def test_settings_that_run_code_or_are_unreadable_prevent_the_run(name, data):
    from vacr.workflows.formatters import _find_settings

    files = {f"web/{name}": data}
    assert _find_settings(FORMATTERS["prettier"], "web/src/a.ts", files.get) is None
    assert _find_settings(FORMATTERS["prettier"], "other/a.ts", files.get) == ("", b"")

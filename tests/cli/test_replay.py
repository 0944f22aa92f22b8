"""`vacr replay`: sessions that are replayed over a real repository give the committed files."""

import json
import os

import pytest

from tests.attribution.working_agent import Agent, commit, git, repository
from vacr import read
from vacr.attribution import BaseFiles
from vacr.blame import CommitFiles, FormattedText, Repository, rebuild, rebuild_files


@pytest.fixture
def repo(tmp_path):
    folder = repository(tmp_path / "repo")
    git(folder, "config", "core.autocrlf", "false")
    return folder


def replay_session(vacr, tmp_path, *arguments):
    done = vacr("replay", *arguments, "--out", "tree", "--format", "json")
    assert done.returncode == 0, done.err
    report = {file["path"]: file for file in json.loads(done.stdout)["files"]}
    tree = tmp_path / "tree"
    return report, {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file()
    }


def read_commit(folder, name):
    """Return the files that a commit changed or added, and the names of the deleted ones."""
    lines = git(
        folder, "diff-tree", "-r", "--no-renames", "--name-status", "--no-commit-id", name
    ).splitlines()
    pairs = [line.split("\t") for line in lines]
    return {path: (folder / path).read_bytes() for status, path in pairs if status != "D"}, {
        path for status, path in pairs if status == "D"
    }


def test_replayed_session_equals_its_commit(vacr, repo, tmp_path):
    base = {
        "crlf.py": b"import os\r\n\r\ndef one():\r\n    return 1\r\n",
        "no_end.py": b"first\nsecond",
        "bom.cs": "\ufeffusing System;\nclass A { }\n".encode(),
        "latin.txt": b"caf\xe9\nsecond line\nthird line\n",
        "moved.py": b"def moved():\n    return 'same'\n",
        "moved_changed.py": b"def other():\n    return 'old'\n",
        "gone.py": b"gone\n",
        "kept.py": b"kept\n",
    }
    for path, data in base.items():
        (repo / path).write_bytes(data)
    commit(repo)
    agent = Agent(repo).asked("Do it all")
    for path in base:
        agent.read(path)
    agent.edit(
        "crlf.py",
        "def one():\n    return 1",
        "def one():\n    # the first\n    return 1\n\n\ndef two():\n    return 2",
    )
    agent.edit("no_end.py", "second", "second\nthird")
    agent.edit("bom.cs", "class A { }", "class A { int b; }\nclass C { }")
    agent.edit("latin.txt", "third line", "third line\nfourth line")
    agent.write("new/file.py", "print('no end')")
    agent.shell("git mv moved.py renamed.py")
    agent.shell("git mv moved_changed.py changed.py").read("changed.py").edit(
        "changed.py", "'old'", "'new'"
    )
    agent.shell("rm gone.py")
    name = commit(repo)
    report, files = replay_session(
        vacr, tmp_path, agent.save(tmp_path / "s"), "--base", f"{repo}@HEAD~1"
    )
    brought, gone = read_commit(repo, name)
    assert files == brought
    assert {path for path, file in report.items() if file.get("deleted")} == gone
    assert all(file["complete"] for file in report.values())
    assert set(report) == set(brought) | gone
    assert all(
        file["evidence"]
        for path, file in report.items()
        if path in ("crlf.py", "changed.py", "new/file.py")
    )


def test_sessions_are_replayed_in_the_order_of_time(vacr, repo, tmp_path):
    (repo / "a.py").write_text("a = 1\nb = 2\n")
    commit(repo)
    one, two = Agent(repo, "one"), Agent(repo, "two", start=600)
    one.read("a.py").edit("a.py", "a = 1", "a = 10")
    two.read("a.py").edit("a.py", "a = 10", "a = 100")
    name = commit(repo)
    _, files = replay_session(
        vacr,
        tmp_path,
        two.save(tmp_path / "s"),
        one.save(tmp_path / "s"),
        "--base",
        f"{repo}@HEAD~1",
    )
    assert files == read_commit(repo, name)[0]


def test_only_completely_known_files_are_written(vacr, repo, tmp_path):
    agent = Agent(repo)
    agent.write("whole.py", "x = 1\n")
    arguments = {
        "file_path": str(repo / "part.py"),
        "old_string": "old text here",
        "new_string": "new text here",
    }
    agent.call("Edit", arguments, "The file has been updated.")
    report, files = replay_session(vacr, tmp_path, agent.save(tmp_path / "s"))
    assert files == {"whole.py": b"x = 1\n"}
    assert report["whole.py"]["complete"]
    assert not report["part.py"]["complete"]
    assert report["part.py"]["evidence"] == ["content-only"]


def test_files_outside_the_folder_are_not_written(vacr, repo, tmp_path):
    agent = Agent(repo)
    for path in ("../outside.py", "/outside/absolute.py", "sub/../../up.py", "fine/../inside.py"):
        target = path if path.startswith("/") else f"{repo}/{path}"
        agent.call(
            "Write",
            {"file_path": target, "content": "x\n"},
            f"File created successfully at: {target}",
            {"type": "create", "filePath": target, "content": "x\n"},
        )
    before = {
        path for path in tmp_path.rglob("*") if "tree" not in path.parts and "s" not in path.parts
    }
    report, files = replay_session(vacr, tmp_path, agent.save(tmp_path / "s"))
    assert files == {"inside.py": b"x\n"}
    assert set(report) == {"inside.py"}
    assert before == {
        path for path in tmp_path.rglob("*") if "tree" not in path.parts and "s" not in path.parts
    }


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "sub/.GIT/hooks/post-checkout",
        ".git./config",
        ".g\u200cit/config",
        "GIT~1/config",
    ],
)
def test_files_that_git_would_run_are_not_written(vacr, repo, tmp_path, path):
    agent = Agent(repo)
    native = {"type": "create", "filePath": f"{repo}/{path}", "content": "[core]\n"}
    agent.call(
        "Write",
        {"file_path": f"{repo}/{path}", "content": "[core]\n"},
        "File created successfully at: it",
        native,
    )
    done = vacr("replay", agent.save(tmp_path / "s"), "--out", "tree")
    assert (done.returncode, "not written" in done.err) == (0, True)
    assert not (tmp_path / "tree").exists()


def test_links_in_the_folder_are_not_followed(vacr, repo, tmp_path):
    agent = Agent(repo).write("sub/a.py", "x\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tree/sub").symlink_to(tmp_path / "elsewhere")
    done = vacr("replay", agent.save(tmp_path / "s"), "--out", "tree")
    assert done.returncode == 2
    assert "leads out of the folder tree through a symbolic link" in done.err
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    ("link", "goal", "path"),
    [
        ("docs", ".git", "docs/commondir"),
        ("a/docs", "../sub/.GIT", "a/docs/config"),
        ("m", ".git/hooks/pre-commit", "m"),
    ],
)
def test_links_to_files_that_git_would_run_are_not_followed(vacr, repo, tmp_path, link, goal, path):
    session = Agent(repo).write("first.py", "x\n").write(path, "../evil\n").save(tmp_path / "s")
    tree = tmp_path / "tree"
    for folder in (".git/hooks", "sub/.GIT", "a"):
        (tree / folder).mkdir(parents=True)
    (tree / link).symlink_to(goal)
    before = sorted(tree.rglob("*"))
    for options in ((), ("--overwrite",)):
        done = vacr("replay", session, "--out", tree, *options)
        assert (done.returncode, "leads into a .git folder" in done.err) == (2, True)
    assert sorted(tree.rglob("*")) == before


def test_one_file_under_two_names_is_not_written(vacr, repo, tmp_path):
    session = Agent(repo).write("a.txt", "a\n").write("z.txt", "z\n").save(tmp_path / "s")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "z.txt").symlink_to("a.txt")
    done = vacr("replay", session, "--out", tree)
    assert (done.returncode, "are the same file through a symbolic link" in done.err) == (2, True)
    assert not (tree / "a.txt").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe_in_the_folder_is_refused(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", "a\n").write("b.py", "b\n").save(tmp_path / "s")
    tree = tmp_path / "tree"
    tree.mkdir()
    os.mkfifo(tree / "b.py")
    done = vacr("replay", session, "--out", tree, "--overwrite")
    assert (done.returncode, "b.py is a pipe or a device" in done.err) == (2, True)
    assert not (tree / "a.py").exists()


def test_existing_files_that_differ_are_kept(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", "a\n").write("b.py", "b\n").save(tmp_path / "s")
    (repo / "b.py").write_text("by hand\n")
    (repo / "a.py").unlink()
    done = vacr("replay", session, "--out", repo)
    assert (
        done.returncode,
        "b.py exists with different content" in done.err,
        "--overwrite" in done.err,
    ) == (2, True, True)
    assert not (repo / "a.py").exists(), "one conflict prevents all writes"
    assert (repo / "b.py").read_text() == "by hand\n"
    assert vacr("replay", session, "--out", repo, "--overwrite").returncode == 0
    assert (repo / "b.py").read_text() == "b\n"
    assert vacr("replay", session, "--out", repo).returncode == 0, "identical files are no conflict"


def test_no_file_is_written_if_one_cannot_be(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", "a\n").write("b.py", "b\n").save(tmp_path / "s")
    tree = tmp_path / "tree"
    (tree / "b.py").mkdir(parents=True)
    done = vacr("replay", session, "--out", tree)
    assert (done.returncode, "b.py" in done.err) == (3, True)
    assert [path.name for path in tree.iterdir()] == ["b.py"]


def test_session_without_changes_is_reported(vacr, repo, tmp_path):
    done = vacr("replay", Agent(repo).asked("Hello").save(tmp_path / "s"))
    assert (done.returncode, "changed no file" in done.err) == (0, True)


def test_base_with_the_changes_is_named_as_the_reason_for_no_file(vacr, repo, tmp_path):
    (repo / "a.py").write_text("one\ntwo\n")
    commit(repo)
    agent = Agent(repo).asked("Count").read("a.py")
    agent.edit("a.py", "two", "2")
    agent.save(tmp_path / "records")
    commit(repo)
    done = vacr("replay", "records", "--base", "repo")
    assert (done.out, "the revision before them" in done.err) == ("", True)
    assert "a.py: complete" in vacr("replay", "records", "--base", "repo@HEAD~1").out


def test_sessions_of_two_machines_do_not_overwrite_each_other(vacr, tmp_path):
    paths = [
        Agent(repository(tmp_path / name), name).write("a.py", f"# {name}\n").save(tmp_path / "s")
        for name in ("one", "two")
    ]
    done = vacr("replay", *paths, "--out", "tree", "--format", "json")
    report = [file for file in json.loads(done.stdout)["files"] if file["path"] == "a.py"]
    assert len(report) == 2
    assert not (tmp_path / "tree/a.py").exists()
    assert "a.py" in done.err


def test_help_has_an_example(vacr):
    assert (
        "vacr replay a.jsonl b.jsonl --base ~/repo@HEAD~3 --out tree/"
        in vacr("replay", "--help").out
    )


def test_unreadable_session_among_several_is_named_and_skipped(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", "a = 1\n").save(tmp_path / "s")
    (tmp_path / "s/cut-off.jsonl").write_text('{"type')
    for inputs in ([session, tmp_path / "s/cut-off.jsonl"], [tmp_path / "s"]):
        done = vacr("replay", *inputs, "--format", "json")
        assert done.returncode == 0, done.err
        report = json.loads(done.stdout)
        assert [file["path"] for file in report["files"]] == ["a.py"]
        assert [error["where"] for error in report["errors"]] == [str(tmp_path / "s/cut-off.jsonl")]
        assert f"{tmp_path}/s/cut-off.jsonl: skipped: the file is damaged" in done.err
        assert "cut-off.jsonl: skipped" in vacr("replay", *inputs, "--quiet").err


def test_missing_session_among_several_is_named_and_skipped(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", "a = 1\n").save(tmp_path / "s")
    done = vacr("replay", "missing.jsonl", session)
    assert (done.returncode, done.out) == (0, "a.py: complete, recorded\n")
    assert "vacr: missing.jsonl: skipped: there is no such file or folder" in done.err


def test_inputs_that_are_all_unreadable_are_an_error(vacr, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text('{"type')
    for inputs in (["one.jsonl"], ["one.jsonl", "two.jsonl"]):
        done = vacr("replay", *inputs)
        assert (done.returncode, done.err.startswith("vacr: one.jsonl: ")) == (3, True)


def test_modified_record_among_several_is_refused(vacr, repo, tmp_path):
    session = Agent(repo).asked("Hello").write("a.py", "a = 1\n").save(tmp_path / "s")
    vacr("record", session, "-o", "changed.acr.json")
    path = tmp_path / "changed.acr.json"
    path.write_bytes(path.read_bytes().replace(b"Hello", b"Howdy"))
    done = vacr("replay", session, path)
    assert (done.returncode, "the record was modified" in done.err) == (1, True)


def replay_at(vacr, session, repo, commit_name, *more):
    done = vacr("replay", session, "--base", repo, "--at", commit_name, "--format", "json", *more)
    assert done.returncode == 0, done.err
    report = json.loads(done.stdout)
    return report, {file["path"]: file for file in report["files"]}


def test_state_at_a_commit_is_taken_instead_of_the_last_one(vacr, repo, tmp_path):
    (repo / "a.py").write_text("a = 1\n")
    (repo / "b.py").write_text("b = 1\n")
    (repo / "old.py").write_text("old = 1\n")
    start = commit(repo)
    agent = Agent(repo).read("a.py").read("b.py")
    agent.edit("a.py", "a = 1", "a = 2")
    written = f"/session/entries/{len(agent.lines) - 2}/children/0"
    agent.shell("rm old.py")
    agent.shell("git mv b.py c.py")
    name = commit(repo)
    agent.edit("a.py", "a = 2", "a = 3")
    agent.write("later.py", "later = 1\n")
    agent.shell("git mv c.py d.py")
    report, files = replay_at(vacr, agent.save(tmp_path / "s"), repo, name, "--out", "tree")
    assert (report["commit"], report["base"], report["not-replayed"]) == (name, start, [])
    states = {path: file["commit"] for path, file in files.items()}
    assert states == {
        "a.py": "equal",
        "b.py": "equal",
        "c.py": "equal",
        "d.py": "absent",
        "later.py": "absent",
        "old.py": "equal",
    }
    assert files["a.py"]["entry"] == written
    assert files["a.py"]["record"]
    assert files["old.py"]["deleted"]
    assert "deleted" not in files["c.py"]
    assert (tmp_path / "tree/a.py").read_text() == "a = 2\n"
    assert (tmp_path / "tree/c.py").read_text() == "b = 1\n"
    done = vacr("replay", tmp_path / "s/session-one.jsonl", "--base", repo, "--at", name)
    assert f"a.py: complete, replayed, equals the commit at {written}\n" in done.out
    assert "later.py: complete, recorded, not in the commit\n" in done.out


def test_state_that_a_command_may_have_changed_counts_if_it_equals_the_commit(vacr, repo, tmp_path):
    (repo / "a.py").write_text("a = 1\n")
    commit(repo)
    agent = Agent(repo).read("a.py").edit("a.py", "a = 1", "a = 2").shell("perl -i -pe 1 a.py")
    name = commit(repo)
    session = agent.save(tmp_path / "s")
    assert "a.py: partial" in vacr("replay", session, "--base", f"{repo}@HEAD~1").out
    _, files = replay_at(vacr, session, repo, name)
    assert (files["a.py"]["commit"], files["a.py"]["complete"]) == ("equal", True)


def test_edits_alone_count_if_they_give_the_commit_although_the_session_saw_other_lines(
    vacr, repo, tmp_path
):
    (repo / "a.py").write_text("a = 1\n\nb = 1\n")
    commit(repo)
    # A person has begun another change, which the session sees and the commit does not have.
    (repo / "a.py").write_text("a = 1\n\nb = 1\nc = 1\n")
    agent = Agent(repo).read("a.py").edit("a.py", "a = 1", "a = 2").edit("a.py", "c = 1", "c = 2")
    edited = f"/session/entries/{len(agent.lines) - 4}/children/0"
    (repo / "a.py").write_text("a = 2\n\nb = 1\n")
    name = commit(repo)
    _, files = replay_at(vacr, agent.save(tmp_path / "s"), repo, name)
    assert (files["a.py"]["commit"], files["a.py"]["entry"]) == ("equal", edited)
    # Edits that are no part of the commit do not fit it.
    (repo / "a.py").write_text("a = 2\n\nb = 2\n")
    git(repo, "commit", "-q", "-a", "--amend", "-m", "Both")
    _, files = replay_at(vacr, tmp_path / "s/session-one.jsonl", repo, "HEAD")
    assert files["a.py"]["commit"] == "different"


def test_file_that_no_state_fits_is_said_to_differ(vacr, repo, tmp_path):
    (repo / "a.py").write_text("a = 1\n")
    (repo / "same.py").write_text("same\n")
    commit(repo)
    agent = Agent(repo).read("a.py").edit("a.py", "a = 1", "a = 2")
    (repo / "a.py").write_text("a = by hand\n")
    (repo / "hand.py").write_text("by hand\n")
    name = commit(repo)
    agent.write("same.py", "changed later\n")
    report, files = replay_at(vacr, agent.save(tmp_path / "s"), repo, name)
    assert {path: file["commit"] for path, file in files.items()} == {
        "a.py": "different",
        "same.py": "unchanged",
    }
    assert "entry" not in files["a.py"]
    assert report["not-replayed"] == ["hand.py"]
    done = vacr("replay", tmp_path / "s/session-one.jsonl", "--at", name, cwd=repo)
    assert "a.py: complete, replayed, differs from the commit\n" in done.out
    assert "changed 1 file that the sessions left as in the base: hand.py\n" in done.err
    for number in range(5):
        (repo / f"hand{number}.py").write_text("by hand\n")
    name = commit(repo)
    arguments = ["replay", tmp_path / "s/session-one.jsonl", "--at", name]
    assert "hand0.py, hand1.py, hand2.py and 2 more: -v\n" in vacr(*arguments, cwd=repo).err
    assert "hand2.py, hand3.py, hand4.py\n" in vacr(*arguments, "-v", cwd=repo).err


def test_first_commit_has_an_empty_base(vacr, repo, tmp_path):
    agent = Agent(repo).write("a.py", "a = 1\n")
    name = commit(repo)
    report, files = replay_at(vacr, agent.save(tmp_path / "s"), repo, name)
    assert (files["a.py"]["commit"], report["base"]) == ("equal", "0" * 40)


def test_revision_of_the_base_wins_over_the_parent(vacr, repo, tmp_path):
    (repo / "a.py").write_text("a = 1\n")
    start = commit(repo)
    agent = Agent(repo).read("a.py").edit("a.py", "a = 1", "a = 2")
    commit(repo)
    agent.edit("a.py", "a = 2", "a = 3")
    commit(repo)
    done = vacr(
        "replay",
        agent.save(tmp_path / "s"),
        "--base",
        f"{repo}@{start}",
        "--at",
        "HEAD",
        "--format",
        "json",
    )
    report = json.loads(done.stdout)
    assert (report["base"], report["files"][0]["commit"]) == (start, "equal")


def test_unknown_commit_is_an_error(vacr, repo, tmp_path):
    session = Agent(repo).write("a.py", "a = 1\n").save(tmp_path / "s")
    commit(repo)
    done = vacr("replay", session, "--base", repo, "--at", "no-such")
    assert (done.returncode, "no such commit: no-such" in done.err) == (3, True)


def test_changes_older_than_the_base_are_merged_into_it(vacr, repo, tmp_path):
    lines = [f"line_{number} = {number}\n" for number in range(1, 10)]
    (repo / "a.py").write_text("".join(lines))
    (repo / "b.py").write_text("b = 1\n")
    start = commit(repo, date="2026-03-13T09:00:00Z")
    agent = Agent(repo).read("a.py").read("b.py")
    agent.edit("a.py", "line_9 = 9", "line_9 = 10").edit("b.py", "b = 1", "b = 2")
    session = agent.save(tmp_path / "s")
    # A rebase puts the change on top of a later commit that the session never saw.
    git(repo, "checkout", "-q", "--force", start)
    (repo / "a.py").write_text("import os\n" + "".join(lines))
    (repo / "b.py").write_text("b = 3\n")
    before = commit(repo, date="2026-03-15T09:00:00Z")
    (repo / "a.py").write_text("import os\n" + "".join(lines[:-1]) + "line_9 = 10\n")
    name = commit(repo, date="2026-03-15T09:01:00Z")
    report, tree = replay_session(vacr, tmp_path, session, "--base", f"{repo}@{before}")
    assert tree["a.py"] == (repo / "a.py").read_bytes()
    assert report["a.py"]["doubt"] == "rebased"
    assert (tree["b.py"], report["b.py"].get("doubt")) == (b"b = 2\n", None)
    _, files = replay_at(vacr, session, repo, name)
    assert (files["a.py"]["commit"], "doubt" in files["a.py"]) == ("equal", False)


def test_base_that_has_the_changes_already_is_not_merged_again(vacr, repo, tmp_path):
    (repo / "a.py").write_text("a = 1\n\n\nb = 1\n")
    commit(repo, date="2026-03-13T09:00:00Z")
    agent = Agent(repo).read("a.py").edit("a.py", "a = 1", "a = 2")
    session = agent.save(tmp_path / "s")
    (repo / "a.py").write_text("a = 2\n\n\nb = 2\n")
    commit(repo, date="2026-03-15T09:00:00Z")
    report, tree = replay_session(vacr, tmp_path, session, "--base", repo)
    assert tree == {"a.py": b"a = 2\n\n\nb = 1\n"}
    assert "doubt" not in report["a.py"]


LINES = [f"line_{number} = {number}\n" for number in range(1, 31)]


def write_lines(path, **changed):
    """Write numbered lines, with other values for the lines that are named."""
    text = "".join(LINES)
    for name, value in changed.items():
        text = text.replace(f"{name} = {name.removeprefix('line_')}\n", f"{name} = {value}\n")
    path.write_text(text)
    return text


def test_staged_part_of_a_file_is_proven_by_the_ids_of_git(vacr, repo, tmp_path):
    write_lines(repo / "a.py")
    start = commit(repo)
    agent = Agent(repo).read("a.py")
    agent.edit("a.py", "line_3 = 3\n", "line_3 = 0\n").edit("a.py", "line_25 = 25\n", "x = 25\n")
    both = (repo / "a.py").read_text()
    part = write_lines(repo / "a.py", line_25="25").replace("line_25 = 25\n", "x = 25\n")
    # The agent stages only one of its hunks, with a program that the session does not show.
    (repo / "a.py").write_text(part)
    git(repo, "add", "a.py")
    (repo / "a.py").write_text(both)
    agent.shell("git diff --cached -- a.py")
    shown = f"/session/entries/{len(agent.lines) - 2}/children/0"
    git(repo, "commit", "-q", "-m", "Part")
    session = agent.save(tmp_path / "s")
    name = git(repo, "rev-parse", "HEAD")
    _, files = replay_at(vacr, session, repo, name, "--out", "tree")
    assert (files["a.py"]["commit"], files["a.py"]["entry"]) == ("equal", shown)
    assert (tmp_path / "tree/a.py").read_text() == part
    # At the end of the session, the work tree still has both changes.
    _, tree = replay_session(vacr, tmp_path, session, "--base", f"{repo}@{start}", "--overwrite")
    assert tree["a.py"] == both.encode()


@pytest.mark.parametrize("wrong", ["id", "hunk", "base"])
def test_staged_diff_that_its_id_does_not_prove_counts_for_nothing(vacr, repo, tmp_path, wrong):
    write_lines(repo / "a.py", **({"line_9": 99} if wrong == "base" else {}))
    commit(repo)
    before = (repo / "a.py").read_text()
    agent = Agent(repo).read("a.py").edit("a.py", "line_3 = 3\n", "line_3 = 0\n")
    (repo / "a.py").write_text(before.replace("line_25 = 25\n", "x = 25\n"))
    git(repo, "add", "a.py")
    agent.shell("git diff --cached")
    name = commit(repo)
    session = agent.save(tmp_path / "s")
    text = session.read_text()
    index = git(repo, "rev-parse", f"{name}:a.py")[:7]
    if wrong == "id":
        session.write_text(text.replace(index, "1234567"))
    elif wrong == "hunk":
        session.write_text(text.replace("+x = 25", "+x = 26"))
    else:  # A person has amended the commit before it.
        git(repo, "reset", "-q", "--soft", "HEAD~1")
        write_lines(repo / "a.py")
        commit(repo, "Amended", "--amend")
        (repo / "a.py").write_text(before.replace("line_25 = 25\n", "x = 25\n") + "more = 1\n")
        name = commit(repo)
    _, files = replay_at(vacr, session, repo, name)
    assert files["a.py"]["commit"] == "different"


@pytest.mark.parametrize("folder", [".worktrees/fix", ".claude/worktrees/agent-a1"])
def test_file_of_a_linked_work_tree_is_the_file_of_the_project(vacr, repo, tmp_path, folder):
    write_lines(repo / "src.py")
    (repo / "b.py").write_text("b = 1\n")
    commit(repo)
    git(repo, "worktree", "add", "-q", "-b", "fix", folder)
    agent = Agent(repo).read("b.py").edit(f"{folder}/src.py", "line_9 = 9\n", "line_9 = 10\n")
    agent.write(f"{folder}/new.py", "new = 1\n")
    name = commit(repo / folder)
    session = agent.save(tmp_path / "s")
    # The work tree may have another revision than the base.
    report, _ = replay_session(vacr, tmp_path, session, "--base", f"{repo}@main")
    assert report["src.py"]["doubt"] == "unseen"
    report, files = replay_at(vacr, session, repo, name, "--out", "tree")
    assert {path: file.get("doubt") for path, file in files.items()} == {
        "new.py": None,
        "src.py": None,
    }
    assert {path: file["commit"] for path, file in files.items()} == {
        "new.py": "equal",
        "src.py": "equal",
    }
    assert report["not-replayed"] == []
    assert (tmp_path / "tree/src.py").read_bytes() == (repo / folder / "src.py").read_bytes()


def test_change_in_a_work_tree_is_merged_into_a_newer_base(vacr, repo, tmp_path):
    write_lines(repo / "src.py")
    (repo / "b.py").write_text("b = 1\n")
    commit(repo, date="2026-03-13T09:00:00Z")
    agent = Agent(repo).read("b.py")
    git(repo, "worktree", "add", "-q", "-b", "fix", ".worktrees/fix")
    path = ".worktrees/fix/src.py"
    session = agent.read(path).edit(path, "line_9 = 9\n", "line_9 = 10\n").save(tmp_path / "s")
    text = (repo / "src.py").read_text()
    (repo / "src.py").write_text("import os\n" + text)
    before = commit(repo, date="2026-03-15T09:00:00Z")
    report, tree = replay_session(vacr, tmp_path, session, "--base", f"{repo}@{before}")
    assert report["src.py"]["doubt"] == "rebased"
    changed = "import os\n" + text.replace("line_9 = 9\n", "line_9 = 10\n")
    assert tree["src.py"].decode() == changed


def test_formatter_that_ran_in_a_work_tree_is_evidence_of_the_file(repo, tmp_path):
    write_lines(repo / "src.py")
    for name in ("b.py", "c.py"):
        (repo / name).write_text("b = 1\n")
    commit(repo)
    git(repo, "worktree", "add", "-q", "-b", "fix", ".worktrees/fix")
    agent = Agent(repo).read("b.py").read("c.py")
    agent.edit(".worktrees/fix/src.py", "line_9 = 9\n", "line_9=9\n")
    agent.call("Bash", {"command": "black .worktrees/fix/src.py"}, "", {"stdout": "", "stderr": ""})
    records = list(read(agent.save(tmp_path / "s")))
    data = (repo / "src.py").read_bytes()
    asked = []

    def format_text(words, path, text, _read):
        asked.append((words[0], path))
        return FormattedText(text.replace("line_9=9", "line_9 = 9"), "black 1")

    files = {"src.py": data, "b.py": b"b = 1\n", "c.py": b"b = 1\n"}
    base = BaseFiles("0" * 40, files.keys(), files.__getitem__)
    (file,) = rebuild_files(records, base, format_text=format_text)
    assert asked == [("black", "src.py")]
    assert (file.path, file.data) == ("src.py", data)
    assert "formatter: black 1" in file.facts["evidence"]


def test_folders_of_the_base_are_those_of_its_files():
    base = BaseFiles("0" * 40, ["a.py", "src/a/b/c.py", "src/d.py"], lambda _: b"")
    assert base.folders - {""} == {"src", "src/a", "src/a/b"}


def test_changes_in_two_work_trees_stay_apart(vacr, repo, tmp_path):
    for path in ("a.py", "b.py", "c.py"):
        write_lines(repo / path)
    commit(repo)
    for folder in ("one", "two"):
        git(repo, "worktree", "add", "-q", "-b", folder, f".worktrees/{folder}")
    agent = Agent(repo).read("a.py").read("b.py").read("c.py")
    agent.edit(".worktrees/one/a.py", "line_9 = 9\n", "line_9 = 1\n")
    agent.edit(".worktrees/two/a.py", "line_9 = 9\n", "line_9 = 2\n")
    session = agent.save(tmp_path / "s")
    report, _ = replay_session(vacr, tmp_path, session, "--base", repo)
    assert set(report) == {".worktrees/one/a.py", ".worktrees/two/a.py"}
    name = commit(repo / ".worktrees/two")
    _, files = replay_at(vacr, session, repo, name)
    assert files["a.py"]["commit"] == "equal"


def test_folder_of_the_project_with_the_name_of_a_work_tree_is_ordinary(vacr, repo, tmp_path):
    (repo / ".worktrees/sample").mkdir(parents=True)
    (repo / ".worktrees/sample/a.py").write_text("a = 1\n")
    (repo / "a.py").write_text("a = 1\n")
    commit(repo)
    agent = Agent(repo).read("a.py").edit(".worktrees/sample/a.py", "a = 1", "a = 2")
    (repo / "a.py").write_text("a = 2\n")
    name = commit(repo)
    report, files = replay_at(vacr, agent.save(tmp_path / "s"), repo, name)
    assert set(files) == {".worktrees/sample/a.py"}
    assert report["not-replayed"] == ["a.py"]


def test_later_edits_count_on_a_base_that_has_the_earlier_ones(vacr, repo, tmp_path):
    write_lines(repo / "a.py")
    commit(repo)
    agent = Agent(repo).edit("a.py", "line_3 = 3\n", "line_3 = 0\nnew = 1\n")
    # A person changes the agent's lines and others, and the session never shows it.
    text = (
        (repo / "a.py").read_text().replace("new = 1\n", "new = 2\n").replace("20 = 20", "20 = 0")
    )
    (repo / "a.py").write_text(text)
    commit(repo)
    agent.edit("a.py", "line_15 = 15\n", "line_15 = 0\n").edit("a.py", "line_3 = 0\n", "z = 0\n")
    name = commit(repo)
    _, files = replay_at(vacr, agent.save(tmp_path / "s"), repo, name)
    assert (files["a.py"]["commit"], files["a.py"]["complete"]) == ("equal", True)
    # Another line of a person in the commit itself stays unexplained.
    (repo / "a.py").write_text((repo / "a.py").read_text() + "hand = 1\n")
    git(repo, "commit", "-q", "-a", "--amend", "-m", "Both")
    _, files = replay_at(vacr, tmp_path / "s/session-one.jsonl", repo, "HEAD")
    assert files["a.py"]["commit"] == "different"


@pytest.mark.parametrize("whole", [True, False])
def test_later_edits_that_give_the_same_text_are_applied_once(repo, tmp_path, monkeypatch, whole):
    """Steps grow with the edits, not with the edits times the places where they may start."""
    (repo / "a.py").write_text("line = 0\n")
    commit(repo)
    agent, count = Agent(repo), 30
    for number in range(count):
        text = f"line = {number}\n"
        if whole:
            agent.write("a.py", text)
        else:
            agent.edit("a.py", (repo / "a.py").read_text(), f"line = {number + 1}\n")
    records = list(read(agent.save(tmp_path / "s")))
    (repo / "a.py").write_text("another = 1\n")
    name = commit(repo)
    steps = []
    apply_step = rebuild._EditReplay.step
    monkeypatch.setattr(
        rebuild._EditReplay, "step", lambda *words: (steps.append(1), apply_step(*words))[1]
    )
    place = Repository(repo)
    files = CommitFiles(place.load_base(name))
    [file] = rebuild_files(records, place.load_base(f"{name}~1"), files)
    assert file.match.state == "different"
    assert len(steps) < 5 * count


def test_file_whose_changes_the_base_has_is_left_alone(vacr, repo, tmp_path):
    write_lines(repo / "a.py")
    commit(repo)
    agent = Agent(repo).read("a.py").edit("a.py", "line_3 = 3\n", "line_3 = 0\n")
    agent.edit("a.py", "line_4 = 4\n", "line_4 = 0\n")
    commit(repo)
    agent.write("b.py", "b = 1\n")
    name = commit(repo)
    _, files = replay_at(vacr, agent.save(tmp_path / "s"), repo, name)
    assert {path: file["commit"] for path, file in files.items()} == {"b.py": "equal"}

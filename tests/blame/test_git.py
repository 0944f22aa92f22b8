"""Git repositories of every form, and the errors about missing ones."""

import os
import subprocess
import sys

import pytest

from tests.attribution.working_agent import commit, git, repository
from vacr.blame.additions import list_commit_additions
from vacr.blame.dated_versions import read_version
from vacr.blame.git import _MAX_REQUESTED_OBJECTS, CommitTimes, Repository, load_git_base
from vacr.blame.git_blame import BlameSelection, run_git_blame, unquote_git_name
from vacr.blame.history import list_range_commits
from vacr.blame.notes_ref import NotesRef
from vacr.errors import UnreadableInput, UnwritableOutput, UsageError

ODD = [
    "with space.py",
    'with "quotes".py',
    "with\nnewline.py",
    "tab\tback\\slash.py",
    "-dash.py",
    "ünïcode.py",
    "a@b.py",
    ":(top)x.py",
]


@pytest.fixture
def repo(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "a.py").write_bytes(b"one\r\ntwo")
    commit(folder)
    return folder


def files(base):
    return {name: base.read_file(name) for name in base.names}


def list_origins(found, revision, path):
    origins = run_git_blame(found, path, BlameSelection(revision)).lines
    return [(origin.commit, origin.path, origin.number) for origin in origins]


def test_every_form_of_a_repository_gives_the_same_base(repo, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", "repo", "bare.git")
    git(repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    (repo / "sub").mkdir()
    (repo / "a.py").write_bytes(b"not committed")
    for place in ("repo", "repo/sub", "repo/.git", "bare.git", "linked"):
        base = load_git_base(str(tmp_path / place))
        assert files(base) == {"a.py": b"one\r\ntwo"}
        assert base.revision == git(repo, "rev-parse", "HEAD")


def test_sha_256_repository_is_a_base(tmp_path):
    folder = repository(tmp_path / "repo", "--object-format=sha256")
    (folder / "a.py").write_bytes(b"one\n")
    name = commit(folder)
    assert len(name) == 64
    base = load_git_base(f"{folder}@{name[:10]}")
    assert (base.revision, files(base)) == (name, {"a.py": b"one\n"})
    found = Repository(folder)
    assert [(file.path, file.lines) for file in list_commit_additions(found, [name])[name]] == [
        ("a.py", {1})
    ]
    assert list_origins(found, name, "a.py") == [(name, "a.py", 1)]


def test_odd_file_names_are_read(tmp_path):
    folder = repository(tmp_path / "repo")
    for name in ODD:
        (folder / name).write_text(f"in {name!r}\nsecond\n")
    (folder / os.fsdecode(b"latin-\xe9.py")).write_bytes(b"caf\xe9\n")
    name = commit(folder)
    base = load_git_base(str(folder))
    assert {path: data.decode() for path, data in files(base).items() if path in ODD} == {
        path: f"in {path!r}\nsecond\n" for path in ODD
    }
    assert base.read_file("latin-\udce9.py") == b"caf\xe9\n"
    found = Repository(folder)
    assert {
        file.path: len(file.lines) for file in list_commit_additions(found, [name])[name]
    } == dict.fromkeys(ODD, 2) | {"latin-\udce9.py": 1}
    for path in [*ODD, "latin-\udce9.py"]:
        assert set(list_origins(found, name, path)) <= {(name, path, 1), (name, path, 2)}


def test_quoted_names_are_decoded():
    assert unquote_git_name(b'"a\\"b\\n\\\\\\303\\251\\351.py"') == 'a"b\n\\é\udce9.py'
    assert unquote_git_name(b"plain name") == "plain name"


def test_links_and_submodules_are_not_files(repo, tmp_path):
    inner = repository(tmp_path / "inner")
    (inner / "inside.py").write_text("inside\n")
    commit(inner)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner")
    (repo / "link.py").symlink_to("a.py")
    name = commit(repo)
    assert set(load_git_base(str(repo)).names) == {"a.py", ".gitmodules"}
    found = {
        file.path: file.is_file for file in list_commit_additions(Repository(repo), [name])[name]
    }
    assert found == {".gitmodules": True, "inner": False, "link.py": False}
    assert set(load_git_base(str(repo / "inner")).names) == {"inside.py"}
    git(repo, "mv", "link.py", "moved.py")
    (repo / "inner").rename(tmp_path / "gone")
    name = commit(repo)
    assert list_commit_additions(Repository(repo), [name])[name] == []


def test_at_sign_may_be_in_the_folder_and_in_the_revision(tmp_path):
    folder = repository(tmp_path / "me@home")
    (folder / "a.py").write_text("one\n")
    first = commit(folder)
    git(folder, "branch", "fix@2")
    (folder / "a.py").write_text("two\n")
    second = commit(folder)
    (tmp_path / "me@home@fix").mkdir()
    assert load_git_base(str(folder)).revision == second
    assert load_git_base(f"{folder}@fix@2").revision == first
    assert load_git_base(f"{folder}@HEAD@{{1}}").revision == first
    assert load_git_base(f"{folder}@@").revision == second
    assert load_git_base(f"{folder}@HEAD~1").revision == first


REFUSED = [
    ("repo@nothing", UnreadableInput, "no such commit: nothing"),
    ("repo@--help", UnreadableInput, "no such commit: --help"),
    ("repo@^HEAD", UnreadableInput, r"no such commit: \^HEAD"),
    ("repo@", UnreadableInput, "no such commit"),
    ("repo@HEAD:a.py", UnreadableInput, "no such commit: HEAD:a.py"),
    ("plain", UnreadableInput, "not a git repository"),
    ("missing@HEAD", UsageError, r"--base .*: no such folder"),
    ("repo/a.py", UsageError, r"--base .*: no such folder"),
    ("", UsageError, r"--base .*: no such folder"),
]


@pytest.mark.usefixtures("repo")
@pytest.mark.parametrize(("text", "kind", "message"), REFUSED)
def test_invalid_base_is_refused(tmp_path, monkeypatch, text, kind, message):
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(kind, match=message) as error:
        load_git_base(text)
    assert error.value.hint


def test_empty_repository_is_explained(tmp_path):
    with pytest.raises(UnreadableInput, match="no such commit: HEAD") as error:
        load_git_base(str(repository(tmp_path / "empty")))
    assert "no commits yet" in error.value.hint


def test_missing_git_is_explained(repo, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreadableInput, match="git is not installed") as error:
        load_git_base(str(repo))
    assert "Install git" in error.value.hint


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
def test_repository_of_another_user_is_refused(repo, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SUDO_UID", raising=False)
    for place in (repo, repo / ".git"):
        os.chown(place, 12345, 12345)
    with pytest.raises(UnreadableInput, match="belongs to another user") as error:
        load_git_base(str(repo))
    assert f"safe.directory {repo}" in error.value.hint


def test_no_program_of_the_repository_runs(repo, tmp_path):
    trap = tmp_path / "trap"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{trap}'\ncat\n")
    program.chmod(0o755)
    settings = [
        "core.fsmonitor",
        "core.pager",
        "pager.blame",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
    ]
    for setting in [
        *settings,
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "core.sshCommand",
        "credential.helper",
    ]:
        git(repo, "config", setting, str(program))
    for hook in (
        "post-index-change",
        "reference-transaction",
        "post-checkout",
        "fsmonitor-watchman",
    ):
        (repo / ".git/hooks").mkdir(exist_ok=True)
        (repo / ".git/hooks" / hook).write_text(program.read_text())
        (repo / ".git/hooks" / hook).chmod(0o755)
    git(repo, "config", "--unset", "filter.x.process")
    git(repo, "config", "--unset", "filter.x.clean")
    (repo / ".gitattributes").write_text("* diff=x filter=x\n")
    name = commit(repo)
    git(repo, "config", "filter.x.clean", str(program))
    trap.unlink(missing_ok=True)
    found = Repository(repo)
    assert found.load_base("HEAD").read_file("a.py") == b"one\r\ntwo"
    first = found.resolve_commit("HEAD~1")
    assert [file.lines for file in list_commit_additions(found, [first])[first]] == [{1, 2}]
    assert list_commit_additions(found, [name])[name][0].lines == {1}
    assert len(list_origins(found, name, "a.py")) == 2
    assert not trap.exists()


def test_git_variables_of_another_repository_are_ignored(repo, tmp_path, monkeypatch):
    other = repository(tmp_path / "other")
    commit(other)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(other / ".git"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_DIFF_OPTS", "-u9")
    assert set(load_git_base(str(repo)).names) == {"a.py"}


def test_one_process_reads_all_blobs_and_is_closed(tmp_path):
    folder = repository(tmp_path / "repo")
    for number in range(300):
        (folder / f"{number}.txt").write_text(f"{number}\n" * number)
    commit(folder)
    script = (
        "import subprocess, sys\n"
        "made, start = [], subprocess.Popen.__init__\n"
        "def counted(self, *a, **k): made.append(self); start(self, *a, **k)\n"
        "subprocess.Popen.__init__ = counted\n"
        "from vacr.blame import load_git_base\n"
        "base = load_git_base(sys.argv[1])\n"
        "assert sum(len(base.read_file(name)) for name in base.names)\n"
        "assert len(made) < 6, made\n"
        "import gc; del base; gc.collect()\n"
        "assert all(one.returncode == 0 for one in made)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(folder)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_blob_is_named(repo):
    with pytest.raises(UnreadableInput, match=r"the repository lacks the object 1{40}"):
        Repository(repo).read_blob("1" * 40)


def test_partial_clone_lists_and_reads_the_objects_that_it_has(repo, tmp_path):
    old, lost = git(repo, "rev-parse", "HEAD"), git(repo, "rev-parse", "HEAD:a.py")
    (repo / "a.py").write_text("later\n")
    commit(repo)
    found = clone_without_old_blobs(repo, tmp_path / "clone")
    has = git(repo, "rev-parse", "HEAD:a.py")
    kinds = found.find_object_types([lost, has, old, old[:12], "1" * 40])
    assert kinds == {has: "blob", old: "commit", old[:12]: "commit"}
    with pytest.raises(UnreadableInput, match=f"the repository lacks the object {lost}"):
        found.read_blob(lost)
    assert found.read_blob(has) == b"later\n"
    with pytest.raises(UnreadableInput, match="the repository lacks the object") as caught:
        found.run_git("cat-file", "-p", lost)
    assert "git fetch --refetch --no-filter" in caught.value.hint


def test_blobs_are_read_ahead_in_any_order(repo):
    names = []
    for number in range(250):
        (repo / "a.py").write_text(f"number {number}\n" * number)
        names.append(git(repo, "hash-object", "-w", "a.py"))
    found = Repository(repo)
    wanted = [*names, names[3], *reversed(names)]
    read = []
    for number, data in enumerate(found.read_blobs(wanted)):
        read.append(data)
        if number % 70 == 0:  # Another object in between does not disturb the order.
            assert found.read_blob(names[7]) == b"number 7\n" * 7
    assert read == [found.read_blob(name) for name in wanted]


def test_missing_blob_is_named_when_blobs_are_read_ahead(repo, tmp_path):
    lost = git(repo, "rev-parse", "HEAD:a.py")
    (repo / "a.py").write_text("later\n")
    commit(repo)
    has = git(repo, "rev-parse", "HEAD:a.py")
    for found in (Repository(repo), clone_without_old_blobs(repo, tmp_path / "clone")):
        missing = "1" * 40 if found.path == repo else lost
        blobs = found.read_blobs([has, missing, has])
        assert next(blobs) == b"later\n"
        with pytest.raises(UnreadableInput, match=f"the repository lacks the object {missing}"):
            next(blobs)
        assert list(found.read_blobs([has, has])) == [b"later\n"] * 2


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", ""])
def test_lines_of_a_diff_are_those_of_the_file(repo, end):
    (repo / "a.py").write_bytes(f"ä\r\n++ b\r\r\n-- c\n\xff{end}".encode("latin-1"))
    found, name = Repository(repo), commit(repo)
    [file] = list_commit_additions(found, [name])[name]
    version = read_version(found, file, CommitTimes(0, 0))
    shown = [version.get_line(number) for number in range(1, 5)]
    assert version.split is None  # The text was not split for them.
    assert shown == version.bare


def clone_without_old_blobs(repo, folder):
    """Return a partial clone: it has all commits and trees, and only the blobs of HEAD."""
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(repo, "clone", "-q", "--filter=blob:none", f"file://{repo}", str(folder))
    return Repository(folder)


def test_merge_added_only_lines_that_no_parent_has(repo):
    git(repo, "checkout", "-q", "-b", "side")
    (repo / "b.py").write_text("side\n")
    commit(repo)
    git(repo, "checkout", "-q", "main")
    (repo / "c.py").write_text("main\n")
    commit(repo)
    git(repo, "merge", "-q", "--no-commit", "side")
    (repo / "b.py").write_text("side\nin the merge\n")
    name = commit(repo)
    assert [
        (file.path, file.lines)
        for file in list_commit_additions(Repository(repo), [name])[name]
        if file.lines
    ] == [("b.py", {2})]


def test_renames_are_found_despite_the_configuration(repo):
    (repo / "a.py").write_text("".join(f"line {number}\n" for number in range(20)))
    commit(repo)
    git(repo, "mv", "a.py", "z.py")
    with (repo / "z.py").open("a") as file:
        file.write("new\n")
    name = commit(repo)
    for setting in ("false", "copies"):
        git(repo, "config", "diff.renames", setting)
        assert [
            (file.path, file.lines)
            for file in list_commit_additions(Repository(repo), [name])[name]
        ] == [("z.py", {21})]
    assert run_git_blame(Repository(repo), "z.py", BlameSelection(name)).paths == {"a.py", "z.py"}


def test_notes_are_not_written_if_the_ref_moved_in_the_meantime(tmp_path):
    folder = repository(tmp_path / "repo")
    for setting in (("user.name", "Mira"), ("user.email", "mira@example.org")):
        git(folder, "config", *setting)
    first, second = commit(folder, "One"), commit(folder, "Two")
    notes = NotesRef(Repository(folder))
    notes.write({first: b"one\n"}, "One")
    old = notes.find_tip()

    class StaleNotes(NotesRef):
        def find_tip(self):
            return old

    notes.write({second: b"two\n"}, "Two")
    with pytest.raises(UnwritableOutput, match="the notes were not written"):
        StaleNotes(notes.repository).write({first: b"other\n"}, "Stale")
    assert notes.read([first, second]) == {first: b"one\n", second: b"two\n"}


@pytest.mark.parametrize("date", ["", " soon", " -5 +0000", " 1773482400"])
def test_malformed_date_of_a_commit_is_no_time_after_a_call(repo, date):
    tree, parent = git(repo, "rev-parse", "HEAD^{tree}"), git(repo, "rev-parse", "HEAD")
    people = "".join(f"{role} M <m@example.org>{date}\n" for role in ("author", "committer"))
    text = f"tree {tree}\nparent {parent}\n{people}\nChange\n".encode()
    name = git(repo, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text)
    found = Repository(repo)
    assert found.read_commit_times([name]) == {name: CommitTimes(0, 0)}
    assert found.load_base(name).time == 0
    assert [commit.time for commit in list_range_commits(found, f"{parent}..{name}")] == [0]


def test_requested_names_fit_into_the_smallest_pipe():
    line_of_sha256 = 64 + len("\n")
    assert _MAX_REQUESTED_OBJECTS * line_of_sha256 <= 4096

"""`vacr blame`: real commits and made-up sessions, and what happens to commits afterwards."""

import json
import os
import shutil

import pytest

from tests.attribution.working_agent import Agent, commit, git, repository
from vacr.record.encoding import assign_record_id

START = "def first():\n    return 1\n\n\ndef last():\n    return 9\n"
ADDED = """

def total(lines):
    result = 0
    for line in lines:
        result += line.price * line.count
    return result
"""


@pytest.fixture
def repo(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "app.py").write_text(START)
    commit(folder, "Start")
    return folder


@pytest.fixture
def worked(repo, tmp_path):
    """Let an agent add a function, and keep the session; nothing is committed yet."""
    agent = Agent(repo).asked("Sum up the lines\nof an order").read("app.py")
    agent.edit("app.py", "    return 1\n", "    return 1\n" + ADDED)
    agent.save(tmp_path / "records")
    return repo


def blame(vacr, repo, *arguments, records="records", code=0):
    done = vacr(
        "blame", *arguments, "--records", repo.parent / records, "--format", "json", cwd=repo
    )
    assert done.returncode == code, done.err
    return json.loads(done.stdout)


def kinds(report):
    return [line["contributor"]["type"] for line in report["lines"]]


def total(report):
    return {name: count for name, count in report["total"].items() if count and name != "lines"}


AI = ["unknown"] * 4 + ["ai"] * 7 + ["unknown"] * 2


def test_each_line_has_its_commit_model_conversation_prompt_and_evidence(vacr, worked):
    name = commit(worked, "Add total")
    report = blame(vacr, worked, "app.py")
    assert kinds(report) == AI
    assert report["lines"][6] == {
        "line": 7,
        "commit": name,
        "original-path": "app.py",
        "original-line": 7,
        "contributor": {"type": "ai", "model-id": "anthropic/claude-opus-4-6"},
        "session-id": "session-one",
        "record": report["lines"][6]["record"],
        "entry": report["lines"][6]["entry"],
        "call-id": "toolu_one_2",
        "evidence": "replayed",
        "join": "blob",
        "prompt": "Sum up the lines",
    }
    assert report["lines"][0]["commit"] != name
    assert report["total"] == {"ai": 7, "human": 0, "mixed": 0, "unknown": 6, "lines": 13}
    assert report["models"] == {"anthropic/claude-opus-4-6": 7}
    done = vacr("blame", "app.py", "--records", worked.parent / "records", cwd=worked)
    shown = done.out.splitlines()
    assert len(shown) == 13
    assert shown[6] == (
        f"{name[:8]}  anthropic/claude-opus-4-6  session-  replayed  Sum up the lines   7)   "
        "  for line in lines:"
    )
    assert shown[0].split() == [shown[0][:8], "unknown", "1)", *shown[0].split()[3:]]
    assert shown[0].index(" 1) ") == shown[6].index(" 7) ")


def test_what_has_no_lines_says_so(vacr, worked, tmp_path):
    commit(worked)
    (worked / "empty.txt").touch()
    (worked / "app.py").unlink()
    commit(worked)
    for arguments in (["empty.txt"], ["--commit", "HEAD"]):
        done = vacr("blame", *arguments, "--records", tmp_path / "records", cwd=worked)
        assert (done.returncode, "no line" in done.err) == (1, True), done.err


def test_a_record_that_was_changed_is_left_out(vacr, worked, tmp_path):
    vacr("record", tmp_path / "records/session-one.jsonl", "-o", f"{tmp_path}/changed/")
    path = tmp_path / "changed/session-one.acr.json"
    path.write_bytes(path.read_bytes().replace(b"Sum up", b"Add up"))
    done = vacr("blame", "app.py", "--records", path, cwd=worked)
    assert (done.returncode, "the record was modified: its id" in done.err) == (1, True)
    done = vacr(
        "blame",
        "app.py",
        "--records",
        tmp_path / "changed",
        "--records",
        tmp_path / "records",
        cwd=worked,
    )
    assert (done.returncode, "skipped: the record was modified" in done.err) == (0, True)


def test_a_commit_is_counted_by_files_and_in_total(vacr, worked):
    (worked / "other.py").write_text("by = 'hand'\n")
    (worked / "picture.png").write_bytes(b"\x89PNG\0\0\n")
    name = commit(worked, "Add total")
    report = blame(vacr, worked, "--commit", "HEAD")
    assert report["commit"] == name
    assert [
        (file["path"], file["ai"], file["unknown"], file["lines"]) for file in report["files"]
    ] == [
        ("app.py", 7, 0, 7),
        ("other.py", 0, 1, 1),
    ]
    assert report["total"] == {"ai": 7, "human": 0, "mixed": 0, "unknown": 1, "lines": 8}
    (one,) = report["files"][0]["ranges"]
    assert (one["start-line"], one["end-line"], one["join"]) == (5, 11, "blob")
    done = vacr("blame", "--commit", "HEAD", "--records", worked.parent / "records", cwd=worked)
    assert done.out == f"app.py: 7 ai\nother.py: 1 unknown\n{name[:12]}: 2 files, 7 ai, 1 unknown\n"


def test_what_a_commit_adds_that_has_no_lines_is_named(vacr, worked):
    (worked / "run.js").write_bytes(b"/* \0 */ run();\n")
    (worked / "link").symlink_to("app.py")
    commit(worked)
    report = blame(vacr, worked, "--commit", "HEAD")
    assert (report["no-text"], total(report)) == (["link", "run.js"], {"ai": 7})
    done = vacr("blame", "--commit", "HEAD", "--records", worked.parent / "records", cwd=worked)
    assert "Not counted, because they are not text: link, run.js" in done.err


@pytest.fixture
def branch(worked):
    """Commit the agent's work on a branch, then work by hand; meanwhile others go on, and what they
    did is merged.
    """
    git(worked, "checkout", "-q", "-b", "topic")
    first = commit(worked, "Add total")
    git(worked, "checkout", "-q", "main")
    (worked / "elsewhere.py").write_text("of = 'others'\n")
    merged = commit(worked, "Go on")
    git(worked, "checkout", "-q", "topic")
    git(worked, "merge", "-q", "--no-edit", "main")
    text = (
        (worked / "app.py")
        .read_text()
        .replace("line.price * line.count", "line.price * line.amount")
    )
    (worked / "app.py").write_text(text + "by = 'hand'\n")
    return worked, first, merged, commit(worked, "Mend it")


@pytest.mark.parametrize("span", ["main..topic", "main...topic", "main..", "{first}~1..topic"])
def test_a_range_of_commits_is_counted_as_one(vacr, branch, span):
    repo, first, merged, last = branch
    if "{" in span:
        git(repo, "branch", "-f", "main", merged)
        git(repo, "rebase", "-q", "main")
        first, last = git(repo, "rev-parse", "HEAD~1"), git(repo, "rev-parse", "HEAD")
    report = blame(vacr, repo, "--commit", span.format(first=first))
    assert (report["commit"], report["since"]) == (last, merged)
    assert {first, last} <= set(report["commits"])
    assert merged not in report["commits"]
    assert [file["path"] for file in report["files"]] == ["app.py"]
    # Of the commits one by one, the line that was mended would be unknown: the agent's is in
    # another commit.
    assert total(report) == {"ai": 6, "mixed": 1, "unknown": 1}
    assert total(blame(vacr, repo, "--commit", "topic", code=1)) == {"unknown": 2}


def test_a_range_is_told_with_its_ends(vacr, branch):
    repo, _, merged, last = branch
    done = vacr("blame", "--commit", "main..topic", "--records", repo.parent / "records", cwd=repo)
    counts = "6 ai, 1 mixed, 1 unknown"
    assert (
        done.out == f"app.py: {counts}\n{merged[:12]}..{last[:12]}: 3 commits: 1 file, {counts}\n"
    )
    done = vacr("blame", "--commit", "topic..main", "--records", repo.parent / "records", cwd=repo)
    assert (done.returncode, "The range adds no lines of text." in done.err) == (1, True)


def test_a_range_without_a_common_beginning_is_refused(vacr, branch, tmp_path):
    repo, *_ = branch
    git(repo, "checkout", "-q", "--orphan", "fresh")
    commit(repo)
    done = vacr("blame", "--commit", "main..fresh", "--records", tmp_path / "records", cwd=repo)
    assert (done.returncode, "no merge base between" in done.err) == (3, True)
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{repo}", "shallow")
    done = vacr(
        "blame",
        "--commit",
        "origin/main..origin/topic",
        "--records",
        tmp_path / "records",
        cwd=tmp_path / "shallow",
    )
    assert (done.returncode, "git fetch --unshallow" in done.err) == (3, True)


@pytest.mark.parametrize(
    "made", ["native", "record", "attributed", "with base", "with a base that is gone"]
)
def test_records_of_any_kind_say_the_same(vacr, worked, tmp_path, made):
    session = tmp_path / "records/session-one.jsonl"
    if made == "record":
        assert vacr("record", session, "-o", "kept/").returncode == 0
    elif made != "native":
        base = [] if made == "attributed" else ["--base", worked]
        assert vacr("attribute", session, "-o", "kept/", *base).returncode == 0
    else:
        shutil.copytree(tmp_path / "records", tmp_path / "kept")
    if made == "with a base that is gone":
        git(worked, "checkout", "-q", "--orphan", "fresh")
        git(worked, "branch", "-D", "main")
        git(worked, "reflog", "expire", "--expire=now", "--all")
        git(worked, "gc", "-q", "--prune=now")
    commit(worked)
    assert kinds(blame(vacr, worked, "app.py", records="kept")) == AI
    with (worked / "app.py").open("a") as file:
        file.write("\n\nby = 'hand'\n")
    commit(worked, "Change", "--amend")
    report = blame(vacr, worked, "app.py", records="kept")
    assert kinds(report) == AI + ["unknown"] * 3
    assert report["lines"][6]["join"] == "content"
    assert report["lines"][6]["prompt"] == "Sum up the lines"


def test_the_work_tree_counts_before_anything_is_committed(vacr, worked):
    report = blame(vacr, worked, "app.py")
    assert kinds(report) == AI
    assert [line["commit"].strip("0") == "" for line in report["lines"]] == [
        kind == "ai" for kind in AI
    ]
    assert kinds(blame(vacr, worked, "app.py", "--rev", "HEAD", code=1)) == ["unknown"] * 6
    (worked / "new.py").write_text("by = 'hand'\n")
    assert kinds(blame(vacr, worked, "new.py", code=1)) == ["unknown"]


def rebase(repo):
    commit(repo)
    git(repo, "checkout", "-q", "-b", "work")
    git(repo, "checkout", "-q", "-B", "main", "HEAD~1")
    (repo / "app.py").write_text(
        (repo / "app.py").read_text() + "\n\ndef by_hand():\n    return 'somebody'\n"
    )
    commit(repo)
    git(repo, "checkout", "-q", "work")
    git(repo, "rebase", "-q", "main")


def cherry_pick(repo):
    rebase(repo)
    name = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main")
    git(repo, "cherry-pick", "-x", name)


def squash(repo):
    commit(repo)
    (repo / "app.py").write_text("import os\n\n\n" + (repo / "app.py").read_text())
    commit(repo)
    (repo / "b.py").write_text("by = 'hand'\n")
    commit(repo)
    git(repo, "reset", "-q", "--soft", "HEAD~3")
    commit(repo)


def amend(repo):
    commit(repo)
    (repo / "app.py").write_text("import os\n\n\n" + (repo / "app.py").read_text())
    commit(repo, "Changed", "--amend")


def rename(repo):
    git(repo, "mv", "app.py", "renamed.py")
    commit(repo)


def rename_later(repo):
    commit(repo)
    rename(repo)


def rename_and_amend(repo):
    commit(repo)
    git(repo, "mv", "app.py", "renamed.py")
    (repo / "renamed.py").write_text("import os\n\n\n" + (repo / "renamed.py").read_text())
    commit(repo, "Changed", "--amend")


def move_down(repo):
    commit(repo)
    text = (repo / "app.py").read_text().replace(ADDED, "")
    (repo / "app.py").write_text(text + ADDED)
    commit(repo)


def move_to_another_file(repo):
    commit(repo)
    text = (repo / "app.py").read_text().replace(ADDED, "")
    (repo / "app.py").write_text(text)
    (repo / "sums.py").write_text('"""Sums."""\n' + ADDED)
    commit(repo)


def end_lines_otherwise(repo):
    (repo / "app.py").write_bytes((repo / "app.py").read_bytes().replace(b"\n", b"\r\n"))
    commit(repo)


@pytest.mark.parametrize(
    "happen",
    [
        rebase,
        cherry_pick,
        squash,
        amend,
        rename,
        rename_later,
        rename_and_amend,
        move_down,
        move_to_another_file,
        end_lines_otherwise,
    ],
)
def test_lines_stay_known_whatever_happens_to_their_commit(vacr, worked, happen):
    happen(worked)
    names = [name for name in ("renamed.py", "sums.py", "app.py") if (worked / name).exists()]
    report = blame(vacr, worked, names[0])
    known = [line for line in report["lines"] if line["contributor"]["type"] == "ai"]
    lines = (worked / names[0]).read_text().splitlines()
    body = [i for i, line in enumerate(lines, 1) if line.strip() and line in ADDED.splitlines()]
    assert len(body) == 5
    assert {line["line"] for line in known} >= set(body)
    assert len(known) <= 7
    assert not total(report).keys() - {"ai", "unknown"}


def test_an_earlier_state_of_the_session_is_known(vacr, repo, tmp_path):
    agent = Agent(repo).asked("Begin").write("new.py", "def begun():\n    return 'not yet'\n")
    first = commit(repo)
    agent.asked("Go on").read("new.py").edit(
        "new.py", "    return 'not yet'\n", "    return 'done now, at last'\n"
    )
    second = commit(repo)
    agent.save(tmp_path / "records")
    report = blame(vacr, repo, "--commit", first)
    assert (total(report), report["files"][0]["ranges"][0]["prompt"]) == ({"ai": 2}, "Begin")
    report = blame(vacr, repo, "--commit", second)
    assert (total(report), report["files"][0]["ranges"][0]["prompt"]) == ({"ai": 1}, "Go on")
    git(repo, "checkout", "-q", first)
    (repo / "new.py").write_text("# by hand\n" + (repo / "new.py").read_text())
    commit(repo, "Begin", "--amend")
    assert total(blame(vacr, repo, "--commit", "HEAD")) == {"ai": 2, "unknown": 1}


def changed_lines(vacr, repo, old, new):
    text = (repo / "app.py").read_text()
    assert old in text
    (repo / "app.py").write_text(text.replace(old, new))
    commit(repo)
    return kinds(blame(vacr, repo, "app.py"))[4:-2]


def test_a_line_that_both_wrote_parts_of_is_mixed(vacr, worked):
    after = changed_lines(vacr, worked, "line.price * line.count", "line.price * line.amount")
    assert after == ["ai"] * 3 + ["mixed"] + ["ai"] * 3


def test_a_line_that_somebody_else_wrote_is_unknown(vacr, worked):
    after = changed_lines(
        vacr,
        worked,
        "        result += line.price * line.count",
        "        yield somebody_elses(work)",
    )
    assert after == ["ai"] * 3 + ["unknown"] + ["ai"] * 3


def test_a_line_that_somebody_put_in_between_is_unknown(vacr, worked):
    after = changed_lines(
        vacr, worked, "    result = 0\n", "    result = 0\n    check_by_hand(lines)\n"
    )
    assert after == ["ai"] * 2 + ["unknown"] + ["ai"] * 5


def test_lines_of_a_person_that_look_like_the_agents_are_not_the_agents(vacr, repo, tmp_path):
    agent = Agent(repo).asked("Write").read("app.py")
    agent.edit("app.py", "    return 9\n", "    if a:\n        return None\n    return 9\n}\n}\n")
    agent.save(tmp_path / "records")
    git(repo, "checkout", "-q", ".")
    (repo / "other.py").write_text(
        "def other(b):\n    if a:\n        return None\n}\n}\n\n    return 9\n"
    )
    commit(repo)
    assert total(blame(vacr, repo, "--commit", "HEAD", code=1)) == {"unknown": 7}


def test_what_was_copied_is_not_the_agents_twice(vacr, worked):
    commit(worked)
    (worked / "app.py").write_text((worked / "app.py").read_text() + ADDED)
    commit(worked)
    assert total(blame(vacr, worked, "--commit", "HEAD", code=1)) == {"unknown": 7}
    assert total(blame(vacr, worked, "app.py")) == {"ai": 7, "unknown": 13}


def test_what_the_agent_reverted_is_not_the_agents(vacr, repo, tmp_path):
    (repo / "app.py").write_text(START + ADDED)
    agent = Agent(repo).asked("Try").read("app.py").edit("app.py", ADDED, "\n").read("app.py")
    agent.edit("app.py", "return 9\n\n", "return 9\n" + ADDED).save(tmp_path / "records")
    commit(repo)
    assert total(blame(vacr, repo, "--commit", "HEAD", code=1)) == {"unknown": 7}


def test_a_person_is_named_only_where_the_session_proves_it(vacr, worked, tmp_path):
    agent = Agent(worked, "two", start=600).asked("Look").read("app.py")
    text = (
        (worked / "app.py")
        .read_text()
        .replace("def last", "def by_hand_and_noticed():\n    return 'somebody'\n\n\ndef last")
    )
    (worked / "app.py").write_text(text)
    snippet = "\n".join(
        f"{number:6}→{line}" for number, line in enumerate(text.split("\n")[:-1], 1)
    )
    data = {"type": "edited_text_file", "filename": str(worked / "app.py"), "snippet": snippet}
    agent._add("user", "")
    agent.lines[-1] = {
        name: value for name, value in agent.lines[-1].items() if name != "message"
    } | {
        "type": "attachment",
        "attachment": data,
    }
    agent.save(tmp_path / "records")
    commit(worked)
    report = blame(vacr, worked, "--commit", "HEAD")
    assert total(report) == {"ai": 7, "human": 4}


def test_two_conversations_stay_apart(vacr, worked, tmp_path):
    commit(worked)
    agent = Agent(worked, "two", "claude-haiku-4-5", start=600).asked("Now a mean").read("app.py")
    agent.edit(
        "app.py",
        "    return 9\n",
        "    return 9\n\n\ndef mean(values):\n    return sum(values) / len(values)\n",
    )
    agent.save(tmp_path / "records")
    commit(worked)
    report = blame(vacr, worked, "app.py")
    assert report["models"] == {"anthropic/claude-opus-4-6": 7, "anthropic/claude-haiku-4-5": 4}
    assert {line.get("session-id") for line in report["lines"]} == {
        None,
        "session-one",
        "session-two",
    }


@pytest.mark.parametrize("options", [[], ["--object-format=sha256"]])
def test_odd_names_and_worktrees_and_bare_repositories(vacr, tmp_path, options):
    repo = repository(tmp_path / "the repo", *options)
    commit(repo)
    name = 'a "b"\n c.py'
    agent = Agent(repo).asked("Write").write(name, ADDED)
    agent.save(tmp_path / "records")
    commit(repo)
    git(repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked tree"))
    git(tmp_path, "clone", "-q", "--bare", "the repo", "bare.git")
    assert kinds(blame(vacr, repo, name)) == ["ai"] * 7
    assert kinds(blame(vacr, tmp_path / "linked tree", name)) == ["ai"] * 7
    bare = tmp_path / "bare.git"
    assert kinds(blame(vacr, bare, name, "--rev", "HEAD", "--repository", bare)) == ["ai"] * 7
    assert total(blame(vacr, bare, "--commit", "main", "--repository", bare)) == {"ai": 7}
    assert total(blame(vacr, tmp_path / "linked tree", "--commit", "other")) == {"ai": 7}


def test_a_file_of_a_submodule_is_blamed_there(vacr, repo, tmp_path):
    inner = repository(tmp_path / "inner")
    (inner / "x.py").write_text("x = 1\n")
    commit(inner)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner")
    commit(repo)
    agent = Agent(repo / "inner").asked("Write").write("y.py", ADDED)
    agent.save(tmp_path / "records")
    commit(repo / "inner")
    assert kinds(blame(vacr, repo, "inner/y.py")) == ["ai"] * 7
    commit(repo)
    assert total(blame(vacr, repo, "--commit", "HEAD", code=1)) == {}


def test_no_filter_of_the_repository_is_run(vacr, worked, tmp_path):
    commit(worked)
    (worked / ".gitattributes").write_text("* filter=x diff=x\n")
    for setting in ("filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.x.command"):
        git(worked, "config", setting, f"touch {tmp_path}/trap; cat")
    assert kinds(blame(vacr, worked, "app.py")) == AI
    assert not (tmp_path / "trap").exists()


REFUSED = [
    ([], 2, "no file and no --commit"),
    (["--commit", "HEAD", "--rev", "HEAD"], 2, "--rev and --commit exclude each other"),
    (["missing.py"], 3, "no file missing.py"),
    (["ap.py"], 3, "Did you mean app.py?"),
    (["app.py", "--rev", "HEAD..HEAD"], 3, "not a range"),
    (["--commit", "nothing..HEAD"], 3, "no such commit: nothing"),
    (["--commit", "HEAD..--all"], 3, "no such commit: --all"),
    (["--commit", "HEAD", "app.py"], 2, "a file and --commit exclude each other"),
    (["app.py", "--rev", "nothing"], 3, "no such commit: nothing"),
    (["--commit", "nothing"], 3, "no such commit: nothing"),
    (["--commit", "^HEAD"], 3, "no such commit: ^HEAD"),
    (["app.py", "--rev", ""], 3, "no such commit"),
    (["../outside.py"], 3, "not a git repository"),
    (["link.py"], 3, "cannot blame a link"),
    (["."], 2, "is a folder"),
    (["picture.png"], 3, "the file is binary"),
    (["app.py", "--repository", "/"], 3, "not a git repository"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), REFUSED)
def test_what_cannot_be_blamed_is_refused(vacr, worked, tmp_path, arguments, code, message):
    (worked / "link.py").symlink_to("app.py")
    (worked / "picture.png").write_bytes(b"\0\n")
    done = vacr(
        "blame",
        *arguments,
        "--records",
        tmp_path / "records",
        cwd=worked,
        GIT_CEILING_DIRECTORIES=f"{tmp_path}{os.pathsep}/",
    )
    assert (done.returncode, message in done.err) == (code, True), done.err


def test_records_are_needed(vacr, worked, tmp_path):
    done = vacr("blame", "app.py", cwd=worked)
    assert (done.returncode, "--records" in done.err) == (2, True)
    (tmp_path / "empty").mkdir()
    done = vacr("blame", "app.py", "--records", tmp_path / "empty", cwd=worked)
    assert (done.returncode, "no records found" in done.err) == (3, True), done.err
    done = vacr("blame", "app.py", "--records", tmp_path / "missing", cwd=worked)
    assert done.returncode == 3


def test_a_bad_record_in_a_folder_does_not_keep_the_others_back(vacr, worked, tmp_path):
    vacr("record", tmp_path / "records/session-one.jsonl", "-o", tmp_path / "records/")
    (tmp_path / "records/bad.acr.json").write_text("{")
    (tmp_path / "records/other.json").write_text("[]")
    (tmp_path / "records/no.acr.json").write_text('{"session": 1}')
    odd = {
        "session": {"entries": []},
        "file-attribution": {"files": [{"path": 1, "conversations": 7}]},
    }
    (tmp_path / "records/odd.acr.json").write_text(json.dumps(odd))
    assert kinds(blame(vacr, worked, "app.py")) == AI
    done = vacr("blame", "app.py", "--records", tmp_path / "records", "-v", cwd=worked)
    assert "bad.acr.json" in done.err


@pytest.mark.parametrize(
    "ours", [5, {"inputs": 5}, {"inputs": {"base": 5, "records": 5}}, {"attribution": {"files": 5}}]
)
def test_what_a_record_says_about_itself_may_be_anything(vacr, worked, tmp_path, ours):
    assert vacr("attribute", tmp_path / "records/session-one.jsonl", "-o", "odd/").returncode == 0
    path = tmp_path / "odd/session-one.attributed.acr.json"
    record = json.loads(path.read_bytes())
    record["vacr"] = ours
    path.write_bytes(b"".join(assign_record_id(record)))
    assert kinds(blame(vacr, worked, "app.py", records="odd")) == AI


def test_help_shows_how(vacr):
    out = vacr("blame", "--help").out
    assert "vacr blame --commit HEAD --records records/ --format json" in out
    assert "Native sessions are recorded and attributed on the fly." in " ".join(out.split())

"""`vacr blame`: real commits, artificial sessions, and history that is rewritten later."""

import json
import os
import shutil

import pytest

from tests.attribution.working_agent import Agent, commit, git, repository
from vacr.record.encoding import encode_with_id

pytestmark = pytest.mark.component

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
def repo_with_agent_work(repo, tmp_path):
    """Return a repository with an uncommitted function of an agent, and save the session."""
    agent = Agent(repo).asked("Sum up the lines\nof an order").read("app.py")
    agent.edit("app.py", "    return 1\n", "    return 1\n" + ADDED)
    agent.save(tmp_path / "records")
    return repo


def run_blame(vacr, repo, *arguments, records="records", code=0):
    done = vacr(
        "blame", *arguments, "--records", repo.parent / records, "--format", "json", cwd=repo
    )
    assert done.returncode == code, done.err
    return json.loads(done.stdout)


def list_contributor_types(report):
    return [line["contributor"]["type"] for line in report["lines"]]


def sum_up_contributors(report):
    return {name: count for name, count in report["total"].items() if count and name != "lines"}


AI = ["unknown"] * 4 + ["ai"] * 7 + ["unknown"] * 2


def test_each_line_has_its_commit_model_conversation_prompt_and_evidence(
    vacr, repo_with_agent_work
):
    name = commit(repo_with_agent_work, "Add total")
    report = run_blame(vacr, repo_with_agent_work, "app.py")
    assert list_contributor_types(report) == AI
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
        "time": "2026-03-14T00:00:04.000Z",
        "prompt": "Sum up the lines",
    }
    assert report["lines"][0]["commit"] != name
    assert report["total"] == {"ai": 7, "human": 0, "mixed": 0, "unknown": 6, "lines": 13}
    assert report["models"] == {"anthropic/claude-opus-4-6": 7}
    done = vacr(
        "blame",
        "app.py",
        "--records",
        repo_with_agent_work.parent / "records",
        cwd=repo_with_agent_work,
    )
    shown = done.out.splitlines()
    assert len(shown) == 13
    assert shown[6] == (
        f"{name[:8]}  anthropic/claude-opus-4-6  session-  replayed  Sum up the lines   7)   "
        "  for line in lines:"
    )
    assert shown[0].split() == [shown[0][:8], "unknown", "1)", *shown[0].split()[3:]]
    assert shown[0].index(" 1) ") == shown[6].index(" 7) ")


def test_commit_in_place_of_a_file_is_explained(vacr, repo_with_agent_work):
    commit(repo_with_agent_work, "Add total")
    for name in ("HEAD~1", "HEAD~1..HEAD"):
        done = vacr("blame", name, "--records", "../records", cwd=repo_with_agent_work)
        assert done.returncode == 3
        assert f"To count the lines of commits: vacr blame --commit {name}" in done.err
    done = vacr("blame", "HEAD~1x", "--records", "../records", cwd=repo_with_agent_work)
    assert "--commit" not in done.err


def test_files_without_lines_are_reported(vacr, repo_with_agent_work, tmp_path):
    commit(repo_with_agent_work)
    (repo_with_agent_work / "empty.txt").touch()
    (repo_with_agent_work / "app.py").unlink()
    commit(repo_with_agent_work)
    for arguments in (["empty.txt"], ["--commit", "HEAD"]):
        done = vacr(
            "blame", *arguments, "--records", tmp_path / "records", cwd=repo_with_agent_work
        )
        assert (done.returncode, "no line" in done.err) == (1, True), done.err


def test_modified_record_is_skipped(vacr, repo_with_agent_work, tmp_path):
    vacr("record", tmp_path / "records/session-one.jsonl", "-o", f"{tmp_path}/changed/")
    path = tmp_path / "changed/session-one.acr.json"
    path.write_bytes(path.read_bytes().replace(b"Sum up", b"Add up"))
    done = vacr("blame", "app.py", "--records", path, cwd=repo_with_agent_work)
    assert (done.returncode, "the record was modified: its id" in done.err) == (1, True)
    done = vacr(
        "blame",
        "app.py",
        "--records",
        tmp_path / "changed",
        "--records",
        tmp_path / "records",
        "-q",
        cwd=repo_with_agent_work,
    )
    assert (done.returncode, "skipped: the record was modified" in done.err) == (0, True)


def test_commit_is_counted_by_file_and_in_total(vacr, repo_with_agent_work):
    (repo_with_agent_work / "other.py").write_text("by = 'hand'\n")
    (repo_with_agent_work / "picture.png").write_bytes(b"\x89PNG\0\0\n")
    name = commit(repo_with_agent_work, "Add total")
    report = run_blame(vacr, repo_with_agent_work, "--commit", "HEAD")
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
    done = vacr(
        "blame",
        "--commit",
        "HEAD",
        "--records",
        repo_with_agent_work.parent / "records",
        cwd=repo_with_agent_work,
    )
    assert done.out == f"app.py: 7 ai\nother.py: 1 unknown\n{name[:12]}: 2 files, 7 ai, 1 unknown\n"


def test_files_that_are_not_text_are_named(vacr, repo_with_agent_work):
    (repo_with_agent_work / "run.js").write_bytes(b"/* \0 */ run();\n")
    (repo_with_agent_work / "link").symlink_to("app.py")
    commit(repo_with_agent_work)
    report = run_blame(vacr, repo_with_agent_work, "--commit", "HEAD")
    assert (report["no-text"], sum_up_contributors(report)) == (["link", "run.js"], {"ai": 7})
    done = vacr(
        "blame",
        "--commit",
        "HEAD",
        "--records",
        repo_with_agent_work.parent / "records",
        cwd=repo_with_agent_work,
    )
    assert "Not counted, because they are not text: link, run.js" in done.err


@pytest.fixture
def branch(repo_with_agent_work):
    """Commit the agent's work on a branch, edit it by hand, and merge the new commits of main."""
    git(repo_with_agent_work, "checkout", "-q", "-b", "topic")
    first = commit(repo_with_agent_work, "Add total")
    git(repo_with_agent_work, "checkout", "-q", "main")
    (repo_with_agent_work / "elsewhere.py").write_text("of = 'others'\n")
    merged = commit(repo_with_agent_work, "Go on")
    git(repo_with_agent_work, "checkout", "-q", "topic")
    git(repo_with_agent_work, "merge", "-q", "--no-edit", "main")
    text = (
        (repo_with_agent_work / "app.py")
        .read_text()
        .replace("line.price * line.count", "line.price * line.amount")
    )
    (repo_with_agent_work / "app.py").write_text(text + "by = 'hand'\n")
    return repo_with_agent_work, first, merged, commit(repo_with_agent_work, "Mend it")


@pytest.mark.parametrize("span", ["main..topic", "main...topic", "main..", "{first}~1..topic"])
def test_range_of_commits_is_counted_as_one(vacr, branch, span):
    repo, first, merged, last = branch
    if "{" in span:
        git(repo, "branch", "-f", "main", merged)
        git(repo, "rebase", "-q", "main")
        first, last = git(repo, "rev-parse", "HEAD~1"), git(repo, "rev-parse", "HEAD")
    report = run_blame(vacr, repo, "--commit", span.format(first=first))
    assert (report["commit"], report["since"]) == (last, merged)
    assert {first, last} <= set(report["commits"])
    assert merged not in report["commits"]
    assert [file["path"] for file in report["files"]] == ["app.py"]
    # Commit by commit, the edited line would be unknown: the agent's line is in another commit.
    assert sum_up_contributors(report) == {"ai": 6, "mixed": 1, "unknown": 1}
    assert sum_up_contributors(run_blame(vacr, repo, "--commit", "topic", code=1)) == {"unknown": 2}


def test_range_is_reported_with_both_ends(vacr, branch):
    repo, _, merged, last = branch
    done = vacr("blame", "--commit", "main..topic", "--records", repo.parent / "records", cwd=repo)
    counts = "6 ai, 1 mixed, 1 unknown"
    assert (
        done.out == f"app.py: {counts}\n{merged[:12]}..{last[:12]}: 3 commits: 1 file, {counts}\n"
    )
    done = vacr("blame", "--commit", "topic..main", "--records", repo.parent / "records", cwd=repo)
    assert (done.returncode, "The range adds no lines of text." in done.err) == (1, True)


def test_range_without_a_merge_base_is_refused(vacr, branch, tmp_path):
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
    "kind", ["native", "record", "attributed", "with base", "with a base that is gone"]
)
def test_records_of_any_kind_give_the_same_lines(vacr, repo_with_agent_work, tmp_path, kind):
    session = tmp_path / "records/session-one.jsonl"
    if kind == "record":
        assert vacr("record", session, "-o", "kept/").returncode == 0
    elif kind != "native":
        base = [] if kind == "attributed" else ["--base", repo_with_agent_work]
        assert vacr("attribute", session, "-o", "kept/", *base).returncode == 0
    else:
        shutil.copytree(tmp_path / "records", tmp_path / "kept")
    if kind == "with a base that is gone":
        git(repo_with_agent_work, "checkout", "-q", "--orphan", "fresh")
        git(repo_with_agent_work, "branch", "-D", "main")
        git(repo_with_agent_work, "reflog", "expire", "--expire=now", "--all")
        git(repo_with_agent_work, "gc", "-q", "--prune=now")
    commit(repo_with_agent_work)
    assert (
        list_contributor_types(run_blame(vacr, repo_with_agent_work, "app.py", records="kept"))
        == AI
    )
    with (repo_with_agent_work / "app.py").open("a") as file:
        file.write("\n\nby = 'hand'\n")
    commit(repo_with_agent_work, "Change", "--amend")
    report = run_blame(vacr, repo_with_agent_work, "app.py", records="kept")
    assert list_contributor_types(report) == AI + ["unknown"] * 3
    assert report["lines"][6]["join"] == "content"
    assert report["lines"][6]["prompt"] == "Sum up the lines"


def test_uncommitted_lines_are_blamed(vacr, repo_with_agent_work):
    report = run_blame(vacr, repo_with_agent_work, "app.py")
    assert list_contributor_types(report) == AI
    assert [line["commit"].strip("0") == "" for line in report["lines"]] == [
        kind == "ai" for kind in AI
    ]
    assert (
        list_contributor_types(
            run_blame(vacr, repo_with_agent_work, "app.py", "--rev", "HEAD", code=1)
        )
        == ["unknown"] * 6
    )
    (repo_with_agent_work / "new.py").write_text("by = 'hand'\n")
    assert list_contributor_types(run_blame(vacr, repo_with_agent_work, "new.py", code=1)) == [
        "unknown"
    ]


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
def test_lines_stay_attributed_when_history_is_rewritten(vacr, repo_with_agent_work, happen):
    happen(repo_with_agent_work)
    names = [
        name
        for name in ("renamed.py", "sums.py", "app.py")
        if (repo_with_agent_work / name).exists()
    ]
    report = run_blame(vacr, repo_with_agent_work, names[0])
    known = [line for line in report["lines"] if line["contributor"]["type"] == "ai"]
    lines = (repo_with_agent_work / names[0]).read_text().splitlines()
    body = [i for i, line in enumerate(lines, 1) if line.strip() and line in ADDED.splitlines()]
    assert len(body) == 5
    assert {line["line"] for line in known} >= set(body)
    assert len(known) <= 7
    assert not sum_up_contributors(report).keys() - {"ai", "unknown"}


def test_earlier_state_of_a_session_is_attributed(vacr, repo, tmp_path):
    agent = Agent(repo).asked("Begin").write("new.py", "def begun():\n    return 'not yet'\n")
    first = commit(repo, date=agent.now)
    agent.asked("Go on").read("new.py").edit(
        "new.py", "    return 'not yet'\n", "    return 'done now, at last'\n"
    )
    second = commit(repo)
    agent.save(tmp_path / "records")
    report = run_blame(vacr, repo, "--commit", first)
    assert (sum_up_contributors(report), report["files"][0]["ranges"][0]["prompt"]) == (
        {"ai": 2},
        "Begin",
    )
    report = run_blame(vacr, repo, "--commit", second)
    assert (sum_up_contributors(report), report["files"][0]["ranges"][0]["prompt"]) == (
        {"ai": 1},
        "Go on",
    )
    git(repo, "checkout", "-q", first)
    (repo / "new.py").write_text("# by hand\n" + (repo / "new.py").read_text())
    commit(repo, "Begin", "--amend")
    assert sum_up_contributors(run_blame(vacr, repo, "--commit", "HEAD")) == {"ai": 2, "unknown": 1}


def blame_changed_lines(vacr, repo, old, new):
    text = (repo / "app.py").read_text()
    assert old in text
    (repo / "app.py").write_text(text.replace(old, new))
    commit(repo)
    return list_contributor_types(run_blame(vacr, repo, "app.py"))[4:-2]


def test_line_edited_by_a_person_is_mixed(vacr, repo_with_agent_work):
    after = blame_changed_lines(
        vacr, repo_with_agent_work, "line.price * line.count", "line.price * line.amount"
    )
    assert after == ["ai"] * 3 + ["mixed"] + ["ai"] * 3


def test_replaced_line_is_unknown(vacr, repo_with_agent_work):
    after = blame_changed_lines(
        vacr,
        repo_with_agent_work,
        "        result += line.price * line.count",
        "        yield somebody_elses(work)",
    )
    assert after == ["ai"] * 3 + ["unknown"] + ["ai"] * 3


def test_inserted_line_is_unknown(vacr, repo_with_agent_work):
    after = blame_changed_lines(
        vacr, repo_with_agent_work, "    result = 0\n", "    result = 0\n    check_by_hand(lines)\n"
    )
    assert after == ["ai"] * 2 + ["unknown"] + ["ai"] * 5


def test_similar_lines_of_a_person_are_not_the_agents(vacr, repo, tmp_path):
    agent = Agent(repo).asked("Write").read("app.py")
    agent.edit("app.py", "    return 9\n", "    if a:\n        return None\n    return 9\n}\n}\n")
    agent.save(tmp_path / "records")
    git(repo, "checkout", "-q", ".")
    (repo / "other.py").write_text(
        "def other(b):\n    if a:\n        return None\n}\n}\n\n    return 9\n"
    )
    commit(repo)
    assert sum_up_contributors(run_blame(vacr, repo, "--commit", "HEAD", code=1)) == {"unknown": 7}


def test_copied_lines_count_once(vacr, repo_with_agent_work):
    commit(repo_with_agent_work)
    (repo_with_agent_work / "app.py").write_text(
        (repo_with_agent_work / "app.py").read_text() + ADDED
    )
    commit(repo_with_agent_work)
    assert sum_up_contributors(
        run_blame(vacr, repo_with_agent_work, "--commit", "HEAD", code=1)
    ) == {"unknown": 7}
    assert sum_up_contributors(run_blame(vacr, repo_with_agent_work, "app.py")) == {
        "ai": 7,
        "unknown": 13,
    }


def test_lines_reverted_by_the_agent_are_not_the_agents(vacr, repo, tmp_path):
    (repo / "app.py").write_text(START + ADDED)
    agent = Agent(repo).asked("Try").read("app.py").edit("app.py", ADDED, "\n").read("app.py")
    agent.edit("app.py", "return 9\n\n", "return 9\n" + ADDED).save(tmp_path / "records")
    commit(repo)
    assert sum_up_contributors(run_blame(vacr, repo, "--commit", "HEAD", code=1)) == {"unknown": 7}


def test_person_is_named_only_if_the_session_proves_it(vacr, repo_with_agent_work, tmp_path):
    agent = Agent(repo_with_agent_work, "two", start=600).asked("Look").read("app.py")
    text = (
        (repo_with_agent_work / "app.py")
        .read_text()
        .replace("def last", "def by_hand_and_noticed():\n    return 'somebody'\n\n\ndef last")
    )
    (repo_with_agent_work / "app.py").write_text(text)
    snippet = "\n".join(
        f"{number:6}→{line}" for number, line in enumerate(text.split("\n")[:-1], 1)
    )
    data = {
        "type": "edited_text_file",
        "filename": str(repo_with_agent_work / "app.py"),
        "snippet": snippet,
    }
    agent._add("user", "")
    agent.lines[-1] = {
        name: value for name, value in agent.lines[-1].items() if name != "message"
    } | {
        "type": "attachment",
        "attachment": data,
    }
    agent.save(tmp_path / "records")
    commit(repo_with_agent_work)
    report = run_blame(vacr, repo_with_agent_work, "--commit", "HEAD")
    assert sum_up_contributors(report) == {"ai": 7, "human": 4}


def test_lines_of_two_conversations_are_kept_apart(vacr, repo_with_agent_work, tmp_path):
    commit(repo_with_agent_work)
    agent = (
        Agent(repo_with_agent_work, "two", "claude-haiku-4-5", start=600)
        .asked("Now a mean")
        .read("app.py")
    )
    agent.edit(
        "app.py",
        "    return 9\n",
        "    return 9\n\n\ndef mean(values):\n    return sum(values) / len(values)\n",
    )
    agent.save(tmp_path / "records")
    commit(repo_with_agent_work)
    report = run_blame(vacr, repo_with_agent_work, "app.py")
    assert report["models"] == {"anthropic/claude-opus-4-6": 7, "anthropic/claude-haiku-4-5": 4}
    assert {line.get("session-id") for line in report["lines"]} == {
        None,
        "session-one",
        "session-two",
    }


@pytest.mark.parametrize("options", [[], ["--object-format=sha256"]])
def test_odd_names_worktrees_and_bare_repositories_are_supported(vacr, tmp_path, options):
    repo = repository(tmp_path / "the repo", *options)
    commit(repo)
    name = 'a "b"\n c.py'
    agent = Agent(repo).asked("Write").write(name, ADDED)
    agent.save(tmp_path / "records")
    commit(repo)
    git(repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked tree"))
    git(tmp_path, "clone", "-q", "--bare", "the repo", "bare.git")
    assert list_contributor_types(run_blame(vacr, repo, name)) == ["ai"] * 7
    assert list_contributor_types(run_blame(vacr, tmp_path / "linked tree", name)) == ["ai"] * 7
    bare = tmp_path / "bare.git"
    assert (
        list_contributor_types(run_blame(vacr, bare, name, "--rev", "HEAD", "--repository", bare))
        == ["ai"] * 7
    )
    assert sum_up_contributors(run_blame(vacr, bare, "--commit", "main", "--repository", bare)) == {
        "ai": 7
    }
    assert sum_up_contributors(run_blame(vacr, tmp_path / "linked tree", "--commit", "other")) == {
        "ai": 7
    }


def test_file_of_a_submodule_is_blamed_in_the_submodule(vacr, repo, tmp_path):
    inner = repository(tmp_path / "inner")
    (inner / "x.py").write_text("x = 1\n")
    commit(inner)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner")
    commit(repo)
    agent = Agent(repo / "inner").asked("Write").write("y.py", ADDED)
    agent.save(tmp_path / "records")
    commit(repo / "inner")
    assert list_contributor_types(run_blame(vacr, repo, "inner/y.py")) == ["ai"] * 7
    commit(repo)
    assert sum_up_contributors(run_blame(vacr, repo, "--commit", "HEAD", code=1)) == {}


def test_filters_of_the_repository_are_not_run(vacr, repo_with_agent_work, tmp_path):
    commit(repo_with_agent_work)
    (repo_with_agent_work / ".gitattributes").write_text("* filter=x diff=x\n")
    for setting in ("filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.x.command"):
        git(repo_with_agent_work, "config", setting, f"touch {tmp_path}/trap; cat")
    assert list_contributor_types(run_blame(vacr, repo_with_agent_work, "app.py")) == AI
    assert not (tmp_path / "trap").exists()


REFUSED = [
    ([], 2, "blame needs a file or --commit"),
    (["--commit", "HEAD", "--rev", "HEAD"], 2, "--commit excludes --rev"),
    (["missing.py"], 3, "no file missing.py"),
    (["ap.py"], 3, "Did you mean app.py?"),
    (["app.py", "--rev", "HEAD...HEAD"], 2, "cannot blame HEAD...HEAD"),
    (["HEAD", "HEAD", "app.py"], 2, "one file, and at most one revision"),
    (["HEAD", "app.py", "--rev", "HEAD"], 2, "one file, and at most one revision"),
    (["--commit", "HEAD", "-w"], 2, "without --commit: vacr blame REVISION FILE"),
    (["-p", "app.py", "--format", "json"], 2, "--porcelain and --format json exclude each other"),
    (["-L", "90,91", "app.py"], 3, "has only 13 lines"),
    (["-L", "/no such line/", "app.py"], 3, "-L parameter"),
    (["--since", "yesterday", "--reverse", "app.py"], 2, "--reverse"),
    (["--ignore-rev", "missing", "app.py"], 3, "missing"),
    (["--ignore-revs-file", "missing", "app.py"], 3, "missing"),
    (["--contents", "missing", "app.py"], 3, "missing"),
    (["--date", "never", "app.py"], 3, "never"),
    (["--commit", "missing..HEAD"], 3, "no such commit: missing"),
    (["--commit", "HEAD..--all"], 3, "no such commit: --all"),
    (["--commit", "HEAD", "app.py"], 2, "a file and --commit exclude each other"),
    (["app.py", "--rev", "missing"], 3, "no such commit: missing"),
    (["--commit", "missing"], 3, "no such commit: missing"),
    (["--commit", "^HEAD"], 3, "no such commit: ^HEAD"),
    (["app.py", "--rev", ""], 3, "no such commit"),
    (["../outside.py"], 3, "not a git repository"),
    (["link.py"], 3, "cannot blame a link"),
    (["."], 2, "is a folder"),
    (["picture.png"], 3, "the file is binary"),
    (["app.py", "--repository", "/"], 3, "not a git repository"),
    (["/etc/hostname", "--repository", "."], 2, "Correct --repository, or name a file in "),
]


@pytest.mark.parametrize(("arguments", "code", "message"), REFUSED)
def test_unusable_arguments_are_refused(
    vacr, repo_with_agent_work, tmp_path, arguments, code, message
):
    (repo_with_agent_work / "link.py").symlink_to("app.py")
    (repo_with_agent_work / "picture.png").write_bytes(b"\0\n")
    done = vacr(
        "blame",
        *arguments,
        "--records",
        tmp_path / "records",
        cwd=repo_with_agent_work,
        GIT_CEILING_DIRECTORIES=f"{tmp_path}{os.pathsep}/",
    )
    assert (done.returncode, message in done.err) == (code, True), done.err


def test_missing_records_are_reported(vacr, repo_with_agent_work, tmp_path):
    done = vacr("blame", "app.py", cwd=repo_with_agent_work)
    assert (done.returncode, "--records" in done.err) == (3, True), done.err
    (tmp_path / "empty").mkdir()
    done = vacr("blame", "app.py", "--records", tmp_path / "empty", cwd=repo_with_agent_work)
    assert (done.returncode, "no records found" in done.err) == (3, True), done.err
    done = vacr("blame", "app.py", "--records", tmp_path / "missing", cwd=repo_with_agent_work)
    assert done.returncode == 3


def test_bad_record_in_a_folder_does_not_stop_the_others(vacr, repo_with_agent_work, tmp_path):
    vacr("record", tmp_path / "records/session-one.jsonl", "-o", tmp_path / "records/")
    (tmp_path / "records/bad.acr.json").write_text("{")
    (tmp_path / "records/other.json").write_text("[]")
    (tmp_path / "records/no.acr.json").write_text('{"session": 1}')
    odd = {
        "session": {"entries": []},
        "file-attribution": {"files": [{"path": 1, "conversations": 7}]},
    }
    (tmp_path / "records/odd.acr.json").write_text(json.dumps(odd))
    assert list_contributor_types(run_blame(vacr, repo_with_agent_work, "app.py")) == AI
    done = vacr(
        "blame", "app.py", "--records", tmp_path / "records", "-v", cwd=repo_with_agent_work
    )
    assert "bad.acr.json" in done.err


@pytest.mark.parametrize(
    "ours", [5, {"inputs": 5}, {"inputs": {"base": 5, "records": 5}}, {"attribution": {"files": 5}}]
)
def test_odd_metadata_of_a_record_is_tolerated(vacr, repo_with_agent_work, tmp_path, ours):
    assert vacr("attribute", tmp_path / "records/session-one.jsonl", "-o", "odd/").returncode == 0
    path = tmp_path / "odd/session-one.attributed.acr.json"
    record = json.loads(path.read_bytes())
    record["vacr"] = ours
    path.write_bytes(b"".join(encode_with_id(record)))
    assert (
        list_contributor_types(run_blame(vacr, repo_with_agent_work, "app.py", records="odd")) == AI
    )


def test_help_has_an_example(vacr):
    out = vacr("blame", "--help").out
    assert "vacr blame --commit HEAD --records records/ --format json" in out
    assert "Native sessions are recorded and attributed on the fly." in " ".join(out.split())


@pytest.fixture
def shallow(repo_with_agent_work, tmp_path):
    """Return a clone of depth 1 whose only commit has the agent's work."""
    commit(repo_with_agent_work, "Add total")
    source = f"file://{repo_with_agent_work}"
    git(tmp_path, "clone", "-q", "--depth=1", source, "shallow")
    return tmp_path / "shallow"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["app.py"],
            "git cannot tell how old 13 lines of its oldest commit are. vacr does not attribute",
        ),
        (
            ["--commit", "HEAD"],
            "is missing, so git cannot tell how old its lines are. vacr does not attribute",
        ),
    ],
)
def test_shallow_clone_is_named_with_the_next_step(vacr, shallow, repo, arguments, message):
    words = ["blame", *arguments, "--records", str(shallow.parent / "records")]
    done = vacr(*words, cwd=shallow)
    [line] = [line for line in done.err.splitlines() if line.startswith("The clone is shallow")]
    assert message in line
    assert line.endswith("Fetch the whole history with: git fetch --unshallow")
    git(shallow, "fetch", "-q", "--unshallow")
    again = vacr(*words, cwd=shallow)
    assert (again.returncode, "shallow" in again.err) == (0, False)
    assert "shallow" not in vacr(*words, cwd=repo).err


def test_shallow_clone_is_not_named_where_its_oldest_commit_does_not_matter(vacr, shallow):
    (shallow / "new.py").write_text("x = 1\n")
    commit(shallow)
    for arguments in (["new.py"], ["--commit", "HEAD"]):
        words = ["blame", *arguments, "--records", str(shallow.parent / "records")]
        assert "shallow" not in vacr(*words, cwd=shallow).err


def test_line_behind_a_git_filter_is_not_given_to_a_later_call(vacr, repo, tmp_path):
    """A person's lines look new where a filter converts them; an agent wrote the same ones."""
    (repo / ".gitattributes").write_text("*.py filter=case\n")
    git(repo, "config", "filter.case.clean", "tr a-z A-Z")
    git(repo, "config", "filter.case.smudge", "tr A-Z a-z")
    (repo / "sum.py").write_text(ADDED)
    commit(repo, "A person adds total")
    agent = Agent(repo).asked("Sum up").write("scratch.py", ADDED)
    agent.save(tmp_path / "records")
    (repo / "scratch.py").unlink()
    report = run_blame(vacr, repo, "sum.py", code=1)
    assert sum_up_contributors(report) == {"unknown": len(report["lines"])}
    words = ["sum.py", "--records", str(tmp_path / "records")]
    done = vacr("blame", *words, cwd=repo)
    assert "The git filter case converts this file: 5 lines of the work tree may be" in done.err
    assert "To blame the stored text: vacr blame HEAD -- sum.py" in done.err
    assert "filter" not in vacr("blame", "HEAD", "--", *words, cwd=repo).err


def test_pointer_of_git_lfs_is_not_text(vacr, repo_with_agent_work):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
    (repo_with_agent_work / "data.csv").write_text(pointer)
    commit(repo_with_agent_work)
    report = run_blame(vacr, repo_with_agent_work, "--commit", "HEAD")
    assert (report["no-text"], sum_up_contributors(report)) == (["data.csv"], {"ai": 7})

"""`vacr notes`: real repositories, rewritten history, and clones that exchange notes."""

import hashlib
import json
import os
import sys

import pytest

from tests.attribution.working_agent import Agent, commit, git, repository
from vacr.exchange.git_ai import parse_note

pytestmark = pytest.mark.component

START = "def first():\n    return 1\n\n\ndef last():\n    return 9\n"
TOTAL = """

def total(lines):
    result = 0
    for line in lines:
        result += line.price * line.count
    return result
"""
REPORT = """

def report(order):
    heading = f"Order {order.number}"
    for line in order.lines:
        heading += f" {line.name}"
    return heading
"""
IDENTITY = {
    f"GIT_{role}_{name}": value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in (("NAME", "Mira"), ("EMAIL", "mira@example.org"))
} | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


@pytest.fixture
def repo(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "app.py").write_text(START)
    commit(folder, "Start")
    git(folder, "branch", "start")
    return folder


@pytest.fixture
def notes(vacr, tmp_path):
    """Return a function that runs `vacr notes` in a repository."""

    def run(verb, *arguments, cwd, code=0, stdin=b""):
        if verb == "write":
            arguments = (*arguments, "--records", tmp_path / "records")
        done = vacr("notes", verb, *arguments, "--format", "json", cwd=cwd, stdin=stdin, **IDENTITY)
        assert done.returncode == code, (done.out, done.err)
        return json.loads(done.stdout) if done.stdout else done.err

    return run


@pytest.fixture
def work(repo, tmp_path):
    """Return a repository with two commits of an agent on `feature`, and a line by hand in each."""
    git(repo, "switch", "-qc", "feature")
    agent = Agent(repo).asked("Sum up the secret order").read("app.py")
    agent.edit("app.py", "    return 1\n", "    return 1\n" + TOTAL)
    (repo / "hand.py").write_text("by_hand = 1\n")
    commit(repo, "Add total")
    agent.edit("app.py", "    return 9\n", "    return 9\n" + REPORT)
    (repo / "app.py").write_text((repo / "app.py").read_text() + "\n\nHAND = 'typed by a person'\n")
    commit(repo, "Add report")
    agent.save(tmp_path / "records")
    return repo


def show_lines(notes, folder, revision="HEAD"):
    """Return the texts of the lines that notes give to an agent, and the types of all."""
    [note] = notes("show", revision, cwd=folder)["notes"]
    texts = []
    for file in note["files"]:
        lines = git(folder, "show", f"{note['commit']}:{file['path']}").split("\n")
        for item in file["ranges"]:
            if item["type"] == "ai":
                texts += lines[item["start-line"] - 1 : item["end-line"]]
    return [text for text in texts if text.strip()]


def list_texts(*added):
    return [line for text in added for line in text.split("\n") if line.strip()]


def read_raw_note(folder, name):
    return git(folder, "notes", "--ref=ai", "show", name).encode()


# Writing


def test_note_has_the_lines_of_the_agent_and_the_digest_of_the_record(notes, work, vacr, tmp_path):
    report = notes("write", "start..HEAD", cwd=work)
    assert [result["state"] for result in report["commits"]] == ["written", "written"]
    assert show_lines(notes, work) == list_texts(REPORT)
    assert show_lines(notes, work, "HEAD~1") == list_texts(TOTAL)
    [note] = notes("show", "HEAD", cwd=work)["notes"]
    vacr("record", tmp_path / "records/session-one.jsonl", "-o", "stored.acr.json")
    record = json.loads((tmp_path / "stored.acr.json").read_bytes())
    item = note["files"][0]["ranges"][0]
    assert (item["record"], item["session-id"]) == (record["id"], "session-one")
    stored = (tmp_path / "stored.acr.json").read_bytes()
    assert item["sha-256"] == hashlib.sha256(stored).hexdigest()
    assert (note["by"], note["signed"], note["ignored"]) == ("vacr", False, {})


def test_note_is_in_the_form_of_git_ai_and_has_no_prompt(notes, work):
    notes("write", "HEAD", cwd=work)
    raw = read_raw_note(work, "HEAD")
    assert b"secret" not in raw
    note = parse_note(raw)
    assert set(note.metadata) == {
        "schema_version", "base_commit_sha", "prompts", "sessions", "humans", "vacr",
    }  # fmt: skip
    assert note.metadata["base_commit_sha"] == git(work, "rev-parse", "HEAD")
    [(path, [entry])] = note.files
    session, _, trace = entry.key.partition("::")
    assert (path, len(session), len(trace), trace[:2]) == ("app.py", 16, 16, "t_")
    [(key, members)] = note.metadata["sessions"].items()
    assert key == session
    assert members["agent_id"] == {
        "tool": "claude", "id": "session-one", "model": members["agent_id"]["model"],
    }  # fmt: skip
    assert all(isinstance(value, str) for value in members["custom_attributes"].values())


def test_all_notes_are_one_commit_of_the_ref_and_a_second_run_changes_nothing(notes, work):
    notes("write", "start..HEAD", cwd=work)
    assert git(work, "rev-list", "--count", "refs/notes/ai") == "1"
    report = notes("write", "start..HEAD", cwd=work)
    assert [result["state"] for result in report["commits"]] == ["unchanged", "unchanged"]
    assert git(work, "rev-list", "--count", "refs/notes/ai") == "1"


def test_note_of_another_tool_is_kept_unless_forced(notes, work):
    foreign = 'app.py\n  0123456789abcdef 1\n---\n{"schema_version":"authorship/3.0.0","git_ai_version":"1.4.5","base_commit_sha":"","prompts":{}}'
    git(work, "notes", "--ref=ai", "add", "-m", foreign, "HEAD")
    git(work, "notes", "--ref=ai", "add", "-m", "review: fine", "HEAD~1")
    before = git(work, "rev-parse", "refs/notes/ai")
    report = notes("write", "start..HEAD", cwd=work, code=1)
    assert [result["state"] for result in report["commits"]] == ["refused", "refused"]
    assert "git-ai 1.4.5" in report["commits"][1]["reason"]
    assert git(work, "rev-parse", "refs/notes/ai") == before
    report = notes("write", "start..HEAD", "--force", cwd=work)
    assert [result["state"] for result in report["commits"]] == ["written", "written"]
    assert show_lines(notes, work) == list_texts(REPORT)


def test_notes_of_other_commits_and_claims_of_other_records_stay(notes, work, tmp_path):
    notes("write", "start..HEAD", cwd=work)
    before = read_raw_note(work, "HEAD~1")
    (tmp_path / "records/session-one.jsonl").rename(tmp_path / "old.jsonl")
    other = Agent(work, "two", start=900).write("new.py", "value = compute_everything(1)\n" * 3)
    other.save(tmp_path / "records")
    commit(work, "New", "--amend")
    git(work, "notes", "--ref=ai", "copy", "HEAD@{1}", "HEAD")
    notes("write", "HEAD", cwd=work)
    lines = show_lines(notes, work)
    assert set(list_texts(REPORT)) < set(lines)
    assert lines.count("value = compute_everything(1)") == 3
    assert read_raw_note(work, "HEAD~1") == before


def test_commit_without_proven_lines_gets_no_note(notes, work):
    (work / "hand.py").write_text("also_by_hand = 2\n")
    commit(work, "By hand")
    report = notes("write", "HEAD", cwd=work)
    assert report["commits"][0]["state"] == "nothing proven"
    notes("show", "HEAD", cwd=work, code=1)


def test_write_uses_the_sessions_of_the_repository_by_default(notes, vacr, work, tmp_path):
    notes("write", "start..HEAD", cwd=work)
    expected = [read_raw_note(work, name) for name in ("HEAD", "HEAD~1")]
    git(work, "update-ref", "-d", "refs/notes/ai")
    store = tmp_path / "home/.claude/projects/some-folder"
    store.parent.mkdir(parents=True)
    (tmp_path / "records").rename(store)
    (store / "notes.jsonl").write_text("This is not a session.\n")
    Agent(tmp_path / "other", "two").asked("Something else").save(store.parent / "other")
    done = vacr("notes", "write", "start..HEAD", cwd=work, **IDENTITY)
    assert done.returncode == 0, done.err
    assert [read_raw_note(work, name) for name in ("HEAD", "HEAD~1")] == expected


def test_write_needs_records_and_a_user(vacr, work):
    done = vacr("notes", "write", "HEAD", cwd=work)
    assert (done.returncode, "no sessions of this repository" in done.err) == (3, True)
    git(work, "config", "user.useConfigOnly", "true")
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = vacr(
        "notes", "write", "HEAD", "--records", work.parent / "records", cwd=work, **environment
    )
    assert (done.returncode, "git config user.name" in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    "ref", ["refs/heads/main", "refs/notes/../heads/x", "--all", "refs/notes/"]
)
def test_only_notes_refs_are_written(vacr, work, ref):
    done = vacr("notes", "show", "--ref", ref, cwd=work)
    assert (done.returncode, "is not a notes ref" in done.err) == (2, True)


def test_hooks_of_the_repository_do_not_run(notes, work, tmp_path):
    for name in ("reference-transaction", "pre-push", "post-rewrite"):
        hook = work / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    notes("write", "HEAD", cwd=work)
    notes("push", tmp_path / "remote.git", cwd=work)
    assert not (tmp_path / "ran").exists()


def test_file_names_that_a_note_cannot_hold_are_kept_in_its_json(notes, repo, tmp_path):
    agent = Agent(repo)
    for name in ('quo"te.py', "two words.py", "---"):
        agent.write(name, TOTAL)
    commit(repo, "Names")
    agent.save(tmp_path / "records")
    notes("write", "HEAD", cwd=repo)
    [note] = notes("show", cwd=repo)["notes"]
    assert sorted(file["path"] for file in note["files"]) == ["---", 'quo"te.py', "two words.py"]


def test_many_notes_are_spread_over_folders_that_git_reads(notes, repo, tmp_path):
    agent = Agent(repo)
    for number in range(300):
        agent.write(f"f{number}.py", f"value_{number} = compute_everything({number})\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "Add")
    agent.save(tmp_path / "records")
    notes("write", "HEAD~1", cwd=repo)
    report = notes("write", "start..HEAD", cwd=repo)
    assert {result["state"] for result in report["commits"]} == {"written", "unchanged"}
    listed = git(repo, "notes", "--ref=ai", "list").splitlines()
    assert len(listed) == 300
    assert parse_note(read_raw_note(repo, "HEAD~1")).files[0][0] == "f298.py"
    git(repo, "notes", "--ref=ai", "add", "-f", "-m", "---\n{}", "HEAD")
    assert len(git(repo, "notes", "--ref=ai", "list").splitlines()) == 300
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""


# Push and fetch


@pytest.fixture
def clones(work, tmp_path):
    """Return a bare remote, and two clones of it."""
    git(tmp_path, "clone", "-q", "--bare", str(work), "remote.git")
    for name in ("one", "two"):
        git(tmp_path, "clone", "-q", "-b", "feature", "remote.git", name)
    return tmp_path / "one", tmp_path / "two"


def test_notes_travel_from_clone_to_clone(notes, clones):
    one, two = clones
    notes("write", "origin/main..HEAD", cwd=one)
    assert notes("push", cwd=one)["state"] == "pushed"
    assert notes("push", cwd=one)["state"] == "unchanged"
    notes("show", cwd=two, code=1)
    assert notes("fetch", cwd=two)["received"] == 2
    assert show_lines(notes, two) == list_texts(REPORT)
    assert notes("fetch", cwd=two)["received"] == 0


def test_push_over_newer_notes_is_refused_until_they_are_fetched(notes, clones):
    one, two = clones
    notes("write", "HEAD~1", cwd=one)
    notes("write", "HEAD", cwd=two)
    notes("push", cwd=one)
    before = git(two, "ls-remote", "origin", "refs/notes/ai")
    error = notes("push", cwd=two, code=3)
    assert "vacr notes fetch origin" in error
    assert git(two, "ls-remote", "origin", "refs/notes/ai") == before
    report = notes("fetch", cwd=two)
    assert (report["received"], report["merged"]) == (1, 0)
    assert show_lines(notes, two, "HEAD~1") == list_texts(TOTAL)
    assert show_lines(notes, two) == list_texts(REPORT)
    notes("push", cwd=two)
    notes("fetch", cwd=one)
    assert git(one, "rev-parse", "refs/notes/ai") == git(two, "rev-parse", "refs/notes/ai")


def test_different_notes_of_one_commit_are_merged_without_loss(notes, clones):
    one, two = clones
    notes("write", "HEAD", cwd=one)
    notes("push", cwd=one)
    foreign = 'hand.py\n  h_0123456789abcd 1\napp.py\n  fedcba9876543210 1-2\n---\n{"schema_version":"authorship/3.0.0","git_ai_version":"1.4.5","base_commit_sha":"","prompts":{"fedcba9876543210":{"agent_id":{"tool":"x","id":"y","model":"z"}}},"humans":{"h_0123456789abcd":{"author":"A <a@b.example>"}}}'
    git(two, "notes", "--ref=ai", "add", "-m", foreign, "HEAD")
    report = notes("fetch", cwd=two)
    assert (report["received"], report["merged"]) == (1, 1)
    note = parse_note(read_raw_note(two, "HEAD"))
    keys = {entry.key[:4] for _, entries in note.files for entry in entries}
    assert {"h_01", "fedc"} < keys
    assert len(keys) == 3
    assert {"git_ai_version", "vacr"} <= set(note.metadata)
    assert show_lines(notes, two) == list_texts(REPORT)
    assert len(git(two, "rev-list", "--parents", "-1", "refs/notes/ai").split()) == 3


def test_notes_that_cannot_be_merged_change_nothing(notes, clones):
    one, two = clones
    notes("write", "HEAD", cwd=one)
    notes("push", cwd=one)
    git(two, "notes", "--ref=ai", "add", "-m", "plain words", "HEAD")
    before = git(two, "rev-parse", "refs/notes/ai")
    error = notes("fetch", cwd=two, code=3)
    assert "Merge by hand: git notes --ref=ai merge refs/notes/vacr-fetched/origin/ai" in error
    assert git(two, "rev-parse", "refs/notes/ai") == before
    assert git(two, "rev-parse", "refs/notes/vacr-fetched/origin/ai")


def test_note_that_one_side_deleted_stays(notes, clones):
    one, two = clones
    notes("write", "origin/main..HEAD", cwd=one)
    notes("push", cwd=one)
    notes("fetch", cwd=two)
    git(two, "notes", "--ref=ai", "remove", "HEAD")
    (one / "x.py").write_text("x\n")
    commit(one, "X")
    git(one, "notes", "--ref=ai", "add", "-m", "---\n{}", "HEAD")
    notes("push", cwd=one)
    notes("fetch", cwd=two)
    assert show_lines(notes, two) == list_texts(REPORT)


def test_remote_without_notes_or_that_does_not_exist(notes, clones):
    one, _ = clones
    assert notes("fetch", cwd=one)["received"] == 0
    assert "has no notes" in notes("push", cwd=one, code=3)
    notes("write", "HEAD", cwd=one)
    for verb in ("push", "fetch"):
        assert "cannot reach the remote" in notes(verb, "nowhere", cwd=one, code=4)
        assert notes(verb, "--upload-pack=touch x", cwd=one, code=2)
    git(one, "remote", "remove", "origin")
    assert "Name a remote" in notes("push", cwd=one, code=2)


# Rewritten history


def rewritten_pairs(folder, *olds):
    """Return the lines that git gives to post-rewrite if all olds became HEAD."""
    new = git(folder, "rev-parse", "HEAD")
    return "".join(f"{old} {new}\n" for old in olds).encode()


def install_hook(repo):
    """Let post-rewrite store the pairs that git states."""
    hook = repo / ".git/hooks/post-rewrite"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncat >> .git/pairs\n")
    hook.chmod(0o755)
    return repo / ".git/pairs"


def test_notes_follow_a_rebase(notes, work):
    notes("write", "start..HEAD", cwd=work)
    pairs = install_hook(work)
    git(work, "switch", "-q", "main")
    (work / "app.py").write_text("import os\nimport sys\n\n" + START)
    commit(work, "Imports")
    git(work, "switch", "-q", "feature")
    git(work, "rebase", "-q", "main")
    notes("show", cwd=work, code=1)
    report = notes("rewrite", "--stdin", cwd=work, stdin=pairs.read_bytes())
    assert [result["state"] for result in report["commits"]] == ["written", "written"]
    assert show_lines(notes, work) == list_texts(REPORT)
    assert show_lines(notes, work, "HEAD~1") == list_texts(TOTAL)
    for name in ("HEAD", "HEAD~1"):
        [note] = notes("show", name, cwd=work)["notes"]
        assert (note["ignored"], note["by"]) == ({}, "vacr")
        assert parse_note(read_raw_note(work, name)).metadata["base_commit_sha"] == note["commit"]


def test_notes_follow_a_rebase_without_the_hook(notes, work):
    notes("write", "start..HEAD", cwd=work)
    git(work, "switch", "-q", "main")
    (work / "app.py").write_text("import os\n\n" + START)
    commit(work, "Imports")
    git(work, "switch", "-q", "feature")
    git(work, "rebase", "-q", "main")
    report = notes("rewrite", cwd=work)
    assert len(report["commits"]) == 2
    assert show_lines(notes, work) == list_texts(REPORT)
    assert show_lines(notes, work, "HEAD~1") == list_texts(TOTAL)
    assert notes("rewrite", cwd=work)["commits"] == []


@pytest.mark.parametrize("stated", [True, False])
def test_notes_follow_a_squash(notes, work, stated):
    notes("write", "start..HEAD", cwd=work)
    olds = git(work, "rev-list", "--reverse", "start..HEAD").split()
    git(work, "switch", "-q", "main")
    git(work, "merge", "-q", "--squash", "feature")
    commit(work, "Squashed")
    if stated:
        notes("rewrite", "--stdin", cwd=work, stdin=rewritten_pairs(work, *olds))
    else:
        notes("rewrite", cwd=work)
    assert show_lines(notes, work) == list_texts(TOTAL, REPORT)
    [note] = notes("show", cwd=work)["notes"]
    assert (note["ignored"], [file["path"] for file in note["files"]]) == ({}, ["app.py"])
    assert parse_note(read_raw_note(work, "HEAD")).metadata["vacr"]["from"] == sorted(olds)


def test_notes_follow_a_cherry_pick(notes, work):
    notes("write", "start..HEAD", cwd=work)
    git(work, "switch", "-q", "main")
    git(work, "cherry-pick", "feature~1")
    notes("rewrite", "HEAD", cwd=work)
    assert show_lines(notes, work) == list_texts(TOTAL)


def test_amended_lines_lose_their_claim(notes, work):
    notes("write", "start..HEAD", cwd=work)
    pairs = install_hook(work)
    text = (work / "app.py").read_text()
    (work / "app.py").write_text(text.replace('f" {line.name}"', 'f", {line.name}"') + "more = 1\n")
    commit(work, "Amended", "--amend")
    notes("rewrite", "--stdin", cwd=work, stdin=pairs.read_bytes())
    assert show_lines(notes, work) == [
        line for line in list_texts(REPORT) if "line.name" not in line
    ]


def test_line_that_a_person_typed_again_in_a_later_commit_is_not_claimed(notes, repo, tmp_path):
    agent = Agent(repo).read("app.py")
    agent.edit("app.py", "    return 1\n", "    return 1\n" + TOTAL)
    agent.save(tmp_path / "records")
    first = commit(repo, "Add total")
    (repo / "app.py").write_text(START)
    second = commit(repo, "Remove it")
    (repo / "app.py").write_text(START.replace("    return 1\n", "    return 1\n" + TOTAL))
    third = commit(repo, "Type it again")
    notes("write", first, cwd=repo)
    git(repo, "reset", "-q", "--soft", "start")
    commit(repo, "Squashed")
    notes("rewrite", "--stdin", cwd=repo, stdin=rewritten_pairs(repo, first, second, third))
    notes("show", cwd=repo, code=1)


def test_verbatim_copy_by_git_is_corrected(notes, work):
    notes("write", "start..HEAD", cwd=work)
    pairs = install_hook(work)
    git(work, "config", "notes.rewriteRef", "refs/notes/ai")
    git(work, "switch", "-q", "main")
    (work / "app.py").write_text("import os\nimport sys\n\n" + START)
    commit(work, "Imports")
    git(work, "switch", "-q", "feature")
    git(work, "rebase", "-q", "main")
    assert show_lines(notes, work) != list_texts(REPORT)
    notes("rewrite", "--stdin", cwd=work, stdin=pairs.read_bytes())
    assert show_lines(notes, work) == list_texts(REPORT)


def test_notes_follow_a_renamed_file(notes, work):
    notes("write", "start..HEAD", cwd=work)
    olds = git(work, "rev-list", "--reverse", "start..HEAD").split()
    git(work, "mv", "app.py", "renamed.py")
    olds.append(commit(work, "Rename"))
    git(work, "switch", "-q", "main")
    git(work, "merge", "-q", "--squash", "feature")
    commit(work, "Squashed")
    notes("rewrite", "--stdin", cwd=work, stdin=rewritten_pairs(work, *olds))
    assert show_lines(notes, work) == list_texts(TOTAL, REPORT)


def test_human_commit_with_common_lines_gets_no_claim(notes, work):
    notes("write", "start..HEAD", cwd=work)
    git(work, "switch", "-qc", "other", "start")
    (work / "app.py").write_text(
        START + "\n\ndef mine(order):\n    result = 0\n    return result\n"
    )
    commit(work, "By hand")
    assert notes("rewrite", "HEAD", cwd=work)["commits"] == []


def test_note_of_another_tool_on_the_new_commit_is_kept(notes, work):
    notes("write", "HEAD", cwd=work)
    old = git(work, "rev-parse", "HEAD")
    commit(work, "Amended", "--amend")
    git(work, "notes", "--ref=ai", "add", "-m", "plain words", "HEAD")
    report = notes("rewrite", "--stdin", cwd=work, stdin=rewritten_pairs(work, old), code=1)
    assert report["commits"][0]["state"] == "refused"
    assert read_raw_note(work, "HEAD") == b"plain words"


@pytest.mark.parametrize("line", ["not a pair", "0" * 40, f"{'0' * 39} {'1' * 40}"])
def test_input_that_is_not_of_the_hook_is_refused(notes, work, line):
    error = notes("rewrite", "--stdin", cwd=work, stdin=f"{line}\n".encode(), code=2)
    assert "line 1 of standard input is not two full commit ids" in error


def test_missing_new_commit_is_an_error_and_missing_old_one_is_not(notes, work):
    head = git(work, "rev-parse", "HEAD")
    assert "no such commit" in notes(
        "rewrite", "--stdin", cwd=work, stdin=f"{head} {'1' * 40}\n".encode(), code=3
    )
    report = notes("rewrite", "--stdin", cwd=work, stdin=f"{'1' * 40} {head}\n".encode())
    assert report["commits"][0]["state"] == "nothing proven"


# Hostile notes


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "---",
        "---\n[]",
        "app.py\n  key 1-9007199254740990\n---\n{}",
        'app.py\n  k 1-3\ngone.py\n  k 1\n---\n{"prompts":{"k":{"agent_id":{"tool":5,"model":[]}}},"vacr":7}',
        '---\n{"vacr":{"version":1,"lines":{"app.py":{"x":"1-2","y":7,"z":"9-1"}},"proofs":[]},"sessions":{"x":{"agent_id":{}}}}',
        '---\n{"vacr":{"version":1,"lines":[1],"proofs":{"x":{"type":"root"}}},"sessions":{"x":{"agent_id":{}}}}',
    ],
)
def test_malformed_notes_never_stop_a_verb(vacr, work, text):
    git(work, "notes", "--ref=ai", "add", "-m", text, "HEAD")
    for arguments in (["show"], ["show", "start..HEAD", "-v"], ["rewrite", "start..HEAD"]):
        done = vacr("notes", *arguments, cwd=work, **IDENTITY)
        assert done.returncode in (0, 1), done.err
    old = git(work, "rev-parse", "HEAD")
    commit(work, "Amended", "--amend")
    pairs = rewritten_pairs(work, old)
    assert vacr("notes", "rewrite", "--stdin", cwd=work, stdin=pairs, **IDENTITY).returncode == 0


def test_lines_that_the_commit_did_not_add_are_ignored_and_counted(vacr, work):
    text = 'app.py\n  k 1-3,5-1000\nno.py\n  k 1\n---\n{"schema_version":"authorship/3.0.0","prompts":{"k":{"agent_id":{"tool":"x","id":"y","model":"z"}}}}'
    git(work, "notes", "--ref=ai", "add", "-m", text, "HEAD~1")
    done = vacr("notes", "show", "HEAD~1", cwd=work)
    assert done.returncode == 0
    assert "7 ai of 8 added lines; note of another tool; ignored: " in done.out
    assert "992 lines that the commit did not add" in done.out
    assert "1 files that the commit did not change" in done.out
    assert "Notes are not signed." in done.err


# Blame


def blame(vacr, folder, *arguments, code=0):
    done = vacr("blame", *arguments, "--format", "json", cwd=folder)
    assert done.returncode == code, done.err
    return json.loads(done.stdout), done.err


def test_blame_reads_notes_where_there_are_no_records(vacr, notes, clones):
    one, two = clones
    notes("write", "origin/main..HEAD", cwd=one)
    notes("push", cwd=one)
    notes("fetch", cwd=two)
    proven, _ = blame(vacr, one, "app.py", "--records", one.parent / "records")
    noted, error = blame(vacr, two, "app.py", "--notes")
    assert noted["total"] == proven["total"]
    assert noted["models"] == proven["models"]
    lines = [line for line in noted["lines"] if line["contributor"]["type"] == "ai"]
    assert {(line["evidence"], line["join"]) for line in lines} == {("noted", "note")}
    assert {line["record"] for line in lines} == {
        line["record"] for line in proven["lines"] if "record" in line
    }
    assert "known only from notes, which are not signed" in error
    hinted = vacr("blame", "app.py", cwd=two)
    assert (hinted.returncode, "add --notes" in hinted.err) == (3, True), hinted.err
    assert "add --notes" not in vacr("blame", "app.py", "--records", "missing", cwd=two).err
    assert "  noted  " in vacr("blame", "app.py", "--notes", cwd=two).out
    counted, _ = blame(vacr, two, "--commit", "HEAD", "--notes")
    assert counted["total"]["ai"] == proven["total"]["ai"] - 7
    done = vacr("blame", "--commit", "origin/main..HEAD", "--notes", cwd=two)
    assert (done.returncode, "a note is about a single commit" in done.err) == (2, True)


def test_records_outrank_notes(vacr, work, tmp_path):
    text = 'app.py\n  k 1-1000\n---\n{"schema_version":"authorship/3.0.0","prompts":{"k":{"agent_id":{"tool":"x","id":"y","model":"z"}}}}'
    git(work, "notes", "--ref=ai", "add", "-m", text, "HEAD~1")
    report, _ = blame(vacr, work, "app.py", "--notes", "--records", tmp_path / "records")
    sessions = {line.get("session-id") for line in report["lines"]}
    assert sessions == {None, "session-one"}
    report, _ = blame(vacr, work, "app.py", "--notes")
    assert {line.get("session-id") for line in report["lines"]} == {None, "y"}


def test_blame_survives_malformed_notes(vacr, work):
    git(work, "notes", "--ref=ai", "add", "-m", "plain words", "HEAD")
    _, error = blame(vacr, work, "app.py", "--notes", code=1)
    assert "skipped an unreadable note" in error


# Kinds of repositories, and the hook itself


def test_hook_carries_notes_by_itself(notes, work, tmp_path):
    notes("write", "start..HEAD", cwd=work)
    hook = work / ".git/hooks/post-rewrite"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nHOME={tmp_path}/home exec {sys.executable} -m vacr notes rewrite --stdin -q\n"
    )
    hook.chmod(0o755)
    git(work, "switch", "-q", "main")
    (work / "app.py").write_text("import os\nimport sys\n\n" + START)
    commit(work, "Imports")
    git(work, "switch", "-q", "feature")
    git(work, "rebase", "-q", "main")
    assert show_lines(notes, work) == list_texts(REPORT)
    assert show_lines(notes, work, "HEAD~1") == list_texts(TOTAL)
    (work / "more.py").write_text("more = 1\n")
    commit(work, "Amended", "--amend")
    assert show_lines(notes, work) == list_texts(REPORT)


def test_repository_with_sha_256_and_a_linked_work_tree(notes, tmp_path):
    repo = repository(tmp_path / "repo", "--object-format=sha256")
    commit(repo, "Start")
    agent = Agent(repo).write("app.py", TOTAL)
    name = commit(repo, "Add total")
    agent.save(tmp_path / "records")
    git(repo, "worktree", "add", "-q", "../linked")
    notes("write", "HEAD", cwd=tmp_path / "linked")
    assert len(name) == 64
    assert show_lines(notes, repo) == list_texts(TOTAL)


def test_bare_repository(notes, work, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", str(work), "bare.git")
    notes("write", "feature", cwd=tmp_path / "bare.git")
    assert show_lines(notes, tmp_path / "bare.git", "feature") == list_texts(REPORT)


def test_subfolder_of_the_repository(notes, work):
    (work / "sub").mkdir()
    notes("write", "HEAD", cwd=work / "sub")
    assert show_lines(notes, work) == list_texts(REPORT)

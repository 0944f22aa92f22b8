"""`vacr stats --lines`: who wrote the lines of a range, and how long they stay."""

import fcntl
import json
import os
import pty
import struct
import sys
import termios

import pytest

from tests.attribution.working_agent import Agent, git, repository
from tests.blame.history_world import commit_on_day

pytestmark = pytest.mark.component

BODY = """def total(lines):
    result = 0
    for line in lines:
        result += line.price * line.count
    return result
"""
AVERAGE = """def average(lines):
    amounts = [line.price for line in lines]
    return sum(amounts) / len(amounts)
"""


@pytest.fixture
def repo(tmp_path):
    """Return a repository in which two people and two agents worked for some months."""
    folder = repository(tmp_path / "repo")
    (folder / "app.py").write_text("import os\n")
    commit_on_day(folder, 0)
    git(folder, "branch", "before")
    first = Agent(folder).asked("Add a sum").write("lib/sum.py", BODY)
    commit_on_day(folder, 1, "Add the sum")
    second = Agent(folder, "two", "claude-sonnet-4-5", start=600)
    second.asked("Add an average").write("average.py", AVERAGE)
    # A person corrects the last line before the commit.
    (folder / "average.py").write_text(AVERAGE.replace("len(amounts)", "len(lines)"))
    (folder / "by_hand.py").write_text("by = 'hand'\n")
    commit_on_day(folder, 2, "Add the average", author="Ada")
    (folder / "lib/sum.py").write_text(BODY.replace("result = 0", "result = 0.0"))
    commit_on_day(folder, 20, "Sum up floats")
    commit_on_day(folder, 40, "Nothing")
    first.save(tmp_path / "records")
    second.save(tmp_path / "records")
    return folder


def count(vacr, repo, *arguments, lines="before..main"):
    done = vacr(
        "stats",
        "--lines",
        lines,
        "--records",
        repo.parent / "records",
        "--format",
        "json",
        *arguments,
        cwd=repo,
    )
    assert done.returncode == 0, done.err
    return json.loads(done.stdout)


def pick(counts):
    return {kind: counts[kind] for kind in ("ai", "human", "mixed", "unknown") if counts[kind]}


def test_lines_are_counted_in_total_and_by_group(vacr, repo):
    report = count(vacr, repo)
    assert report["commits"] == 4
    assert report["end"] == git(repo, "rev-parse", "main")
    assert report["end-time"] == "2026-04-23T09:00:00Z"
    assert pick(report["total"]) == {"ai": 7, "mixed": 1, "unknown": 2}
    assert report["total"]["lines"] == 10
    assert report["total"]["edited-before-commit"] == 1
    groups = {by: {row["key"]: pick(row) for row in rows} for by, rows in report["groups"].items()}
    assert groups == {
        "author": {
            "Mira <mira@example.org>": {"ai": 5, "unknown": 1},
            "Ada <ada@example.org>": {"ai": 2, "mixed": 1, "unknown": 1},
        },
        "agent": {"claude-code": {"ai": 7, "mixed": 1}, None: {"unknown": 2}},
        "model": {
            "anthropic/claude-opus-4-6": {"ai": 5},
            "anthropic/claude-sonnet-4-5": {"ai": 2, "mixed": 1},
            None: {"unknown": 2},
        },
        "folder": {"lib": {"ai": 5, "unknown": 1}, ".": {"ai": 2, "mixed": 1, "unknown": 1}},
        "week": {
            "2026-W11": {"ai": 5},
            "2026-W12": {"ai": 2, "mixed": 1, "unknown": 1},
            "2026-W14": {"unknown": 1},
        },
    }


def test_each_grouping_adds_up_to_the_total(vacr, repo):
    report = count(vacr, repo)
    for rows in report["groups"].values():
        for kind in ("ai", "human", "mixed", "unknown", "lines"):
            assert sum(row[kind] for row in rows) == report["total"][kind]
        for index, total in enumerate(report["total"]["survival"]):
            for name in ("lines", "survived", "too-young"):
                assert sum(row["survival"][index][name] for row in rows) == total[name]
    added = git(repo, "log", "--numstat", "--format=", "before..main").splitlines()
    assert report["total"]["lines"] == sum(int(line.split("\t")[0]) for line in added if line)


def test_survival_is_counted_until_the_end_of_the_range(vacr, repo):
    assert count(vacr, repo)["total"]["survival"] == [
        {"days": 7, "lines": 7, "survived": 7, "too-young": 0},
        {"days": 30, "lines": 7, "survived": 6, "too-young": 0},
        {"days": 90, "lines": 0, "survived": 0, "too-young": 7},
    ]


def test_since_and_until_choose_commits(vacr, repo):
    report = count(vacr, repo, "--until", "2026-03-15")
    assert (report["commits"], pick(report["total"])) == (1, {"ai": 5})
    # Survival goes on until the end of the range.
    assert report["total"]["survival"][1]["survived"] == 4
    report = count(vacr, repo, "--since", "2026-03-16T09:00:00Z", "--until", "2026-03-30")
    assert (report["commits"], report["total"]["lines"]) == (1, 4)
    report = count(vacr, repo, "--since", "2026-03-16T10:00:01+01:00")
    assert (report["commits"], report["total"]["lines"]) == (2, 1)
    done = vacr("stats", "--lines", "main", "--since", "soon", repo.parent / "records", cwd=repo)
    assert (done.returncode, "--since soon: neither a date nor a time" in done.err) == (2, True)


def test_revision_means_its_whole_history(vacr, repo):
    assert count(vacr, repo, lines="main")["total"]["lines"] == 11
    empty = vacr("stats", "--lines", "main..before", repo.parent / "records", cwd=repo)
    assert (empty.returncode, "no commits in main..before" in empty.err) == (0, True)


def test_groupings_are_chosen_in_any_order(vacr, repo):
    report = count(vacr, repo, "--by", "week,author", "--repository", repo)
    assert list(report["groups"]) == ["author", "week"]  # JSON objects are sorted
    done = vacr(
        "stats", "--lines", "main", "--by", "week,author", repo.parent / "records", cwd=repo
    )
    heads = [line for line in done.out.splitlines() if line in ("week", "author", "agent")]
    assert heads == ["week", "author"]
    done = vacr("stats", "--lines", "main", "--by", "day", repo.parent / "records", cwd=repo)
    assert done.returncode == 2
    assert "author, agent, model, folder, week" in done.err


def test_options_that_do_not_go_together_are_refused(vacr, repo):
    records = repo.parent / "records"
    for arguments, message in (
        (["--repository", repo, records], "--repository needs --lines"),
        (["--by", "week", records], "add --lines RANGE"),
        (["--by", "weather", records], "Choose from: agent, project, model, day"),
        (["--by", "weather"], "Choose from: agent, project, repo, model, day"),
        (["--repository", repo], "--repository needs --lines"),
        (["--lines", "main", "--prices", "prices.json", records], "exclude each other"),
    ):
        done = vacr("stats", *arguments, cwd=repo)
        assert (done.returncode, message in done.err) == (2, True), (arguments, done.err)
    for arguments, message in (
        (["--lines", "nowhere..main", records], "no such commit: nowhere"),
        (["--lines", "main", "--repository", repo.parent, records], "not a git repository"),
        (["--lines", "main", "missing"], "there is no such file or folder"),
        (["--lines", "main"], "no sessions of this repository found on this machine"),
    ):
        done = vacr("stats", *arguments, cwd=repo)
        assert (done.returncode, message in done.err) == (3, True), (arguments, done.err)


def test_sessions_of_the_repository_count_by_default(vacr, repo):
    expected = count(vacr, repo)
    store = repo.parent / "home/.claude/projects/some-folder"
    store.parent.mkdir(parents=True)
    (repo.parent / "records").rename(store)
    elsewhere = Agent(repo.parent / "other", "three").asked("Something else")
    elsewhere.save(store.parent / "other")
    done = vacr("stats", "--lines", "before..main", "--format", "json", cwd=repo)
    assert done.returncode == 0, done.err
    assert json.loads(done.stdout) == expected
    assert expected["total"]["ai"] == 7


def test_table_names_authors_and_says_what_survived(vacr, repo):
    done = vacr(
        "stats", "--lines", "before..main", "--by", "author", repo.parent / "records", cwd=repo
    )
    assert done.out.splitlines() == [
        "before..main: 4 commits, 10 lines added",
        "           ai  human  mixed  unknown  lines   7 d  30 d  90 d",
        "all lines   7      0      1        2     10  100%   85%     –",
        "author",
        "  Mira      5      0      0        1      6  100%   80%     –",
        "  Ada       2      0      1        1      4  100%  100%     –",
        "edited before commit: 1 of 8 lines that agents wrote (12%)",
        "survived 7 days: 7 of 7 ai lines (100%)",
        "survived 30 days: 6 of 7 ai lines (85%)",
        "survived 90 days: no ai line is old enough",
    ]


def test_young_lines_are_reported_once(vacr, repo):
    done = vacr("stats", "--lines", "before..main~2", repo.parent / "records", cwd=repo)
    survived = [line for line in done.out.splitlines() if line.startswith("survived")]
    assert survived == ["survived 7 days: no ai line is old enough"]


def test_authors_with_the_same_name_have_their_email(vacr, repo):
    (repo / "more.py").write_text("more = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "More", "--author=Mira <mira@home.example>")
    done = vacr("stats", "--lines", "main", "--by", "author", repo.parent / "records", cwd=repo)
    assert "Mira <mira@home.example>" in done.out
    assert "Mira <mira@example.org>" in done.out
    assert "  Ada  " in done.out


def test_many_groups_are_cut_without_v(vacr, repo):
    for number in range(12):
        folder = repo / f"folder-{number:02}"
        folder.mkdir()
        (folder / "file.txt").write_text("text\n")
    commit_on_day(repo, 41)
    arguments = ("stats", "--lines", "main", "--by", "folder", repo.parent / "records")
    done = vacr(*arguments, cwd=repo)
    assert "  4 more: -v" in done.out.splitlines()
    assert "folder-11" not in done.out
    assert "folder-11" in vacr(*arguments, "-v", cwd=repo).out


def run_in_terminal(arguments, folder, width):
    """Run the command in a terminal of this width, and return its screen."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        environment = {**os.environ, "TERM": "dumb"}
        command = [sys.executable, "-m", "vacr", *map(str, arguments)]
        os.execve(sys.executable, command, environment)  # noqa: S606 - vacr itself
    shown = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.usefixtures("terminals")
@pytest.mark.parametrize(
    ("width", "columns", "left_out"),
    [(80, 8, ""), (60, 7, "lines"), (44, 4, "lines, 90 d, 7 d, 30 d")],
)
def test_table_fits_the_terminal(repo, width, columns, left_out):
    deep = repo / "a/rather/deep/folder/with/a/name/that/is/longer/than/the/terminal/can/ever/show"
    deep.mkdir(parents=True)
    (deep / "text.txt").write_text("text\n" * 1500)
    commit_on_day(repo, 41)
    arguments = ["stats", "--lines", "main", "--by", "author,folder,model", "../records"]
    shown = run_in_terminal(arguments, repo, width)
    table = shown[1 : shown.index("model") + 4]
    assert max(map(len, table)) <= width
    assert any(line.lstrip().startswith("…") and "show" in line for line in table)
    assert len(table[1].split()) == len(["all", "lines"]) + columns
    text = " ".join(" ".join(shown).split())
    assert text.count("left out: ") == bool(left_out)
    assert not left_out or f"left out: {left_out}; for all columns, add --wide" in text
    wide = run_in_terminal([*arguments, "--wide"], repo, width)
    assert len(wide[2].split()) == len(["all", "lines"]) + 8
    assert not any("left out" in line or "…" in line for line in wide)


def test_partial_clone_counts_the_files_that_it_has(vacr, repo, tmp_path):
    git(repo, "config", "uploadpack.allowFilter", "true")
    origin, records = repo.rename(tmp_path / "origin"), tmp_path / "records"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin}", str(repo))
    arguments = ["stats", "--lines", "main~4..main", records, "--format", "json"]
    done = vacr(*arguments, cwd=repo)
    assert done.returncode == 0, done.err
    report = json.loads(done.stdout)
    # The clone lacks the first version of lib/sum.py, so neither it nor its change is counted.
    assert {file["path"] for file in report["unreadable"]} == {"lib/sum.py"}
    assert pick(report["total"]) == {"ai": 2, "mixed": 1, "unknown": 1}
    done = vacr("blame", "--commit", "main~2", "--records", records, cwd=repo)
    assert done.returncode == 0, done.err
    done = vacr("blame", "--commit", "main~1", "--records", records, cwd=repo)
    assert done.returncode == 3
    assert "the repository lacks the object" in done.err
    assert "git fetch --refetch --no-filter" in done.err


def test_file_with_a_missing_object_is_reported(vacr, repo):
    (repo / "large.txt").write_text("large\n" * 100)
    commit_on_day(repo, 41)
    blob = git(repo, "rev-parse", "HEAD:large.txt")
    (repo / "large.txt").unlink()
    commit_on_day(repo, 42)
    path = repo / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.unlink()
    report = count(vacr, repo)
    assert report["total"]["lines"] == 10
    assert [file["path"] for file in report["unreadable"]] == ["large.txt"]
    done = vacr("stats", "--lines", "main", "-q", repo.parent / "records", cwd=repo)
    assert "not counted: 1 file whose objects the repository lacks, such as large.txt" in done.err


def test_names_cannot_control_the_terminal(vacr, repo):
    (repo / "a\x1b[31mb").mkdir()
    (repo / "a\x1b[31mb" / "file.txt").write_text("text\n")
    commit_on_day(repo, 41)
    done = vacr("stats", "--lines", "main", "--by", "folder", repo.parent / "records", cwd=repo)
    assert "\x1b" not in done.out
    assert "a\\x1b[31mb" in done.out


def test_page_shows_the_lines_of_a_range(vacr, repo, tmp_path):
    arguments = ("--lines", "before..main", "--repository", repo)
    session = tmp_path / "records/session-one.jsonl"
    assert vacr("view", session, "-o", "one.html", *arguments).returncode == 0
    lines = read_island(tmp_path / "one.html")["lines"]
    assert (lines["range"], lines["commits"]) == ("before..main", 4)
    assert pick(lines["total"]) == {"ai": 5, "unknown": 5}
    assert [groups["by"] for groups in lines["groups"]] == [
        "author",
        "agent",
        "model",
        "folder",
        "week",
    ]
    assert vacr("view", tmp_path / "records", "-o", "site/", *arguments).returncode == 0
    index = read_island(tmp_path / "site/index.html")["lines"]
    assert pick(index["total"]) == {"ai": 7, "mixed": 1, "unknown": 2}
    assert read_island(tmp_path / "site/session-one.html")["lines"] is None
    assert vacr("view", session, "-o", "plain.html").returncode == 0
    assert read_island(tmp_path / "plain.html")["lines"] is None


def test_page_of_a_modified_record_is_written_without_lines(vacr, repo, tmp_path):
    vacr("record", tmp_path / "records/session-one.jsonl", "-o", "changed.acr.json")
    path = tmp_path / "changed.acr.json"
    path.write_bytes(path.read_bytes().replace(b"Add a sum", b"Add a sun"))
    done = vacr("view", path, "-o", "page.html", "--lines", "main", "--repository", repo)
    assert (done.returncode, "--lines: " in done.err) == (1, True)
    assert read_island(tmp_path / "page.html")["lines"] is None


def test_page_needs_lines_for_a_repository_and_a_file_for_lines(vacr, repo, tmp_path):
    session = tmp_path / "records/session-one.jsonl"
    done = vacr("view", session, "--repository", repo)
    assert (done.returncode, "--repository needs --lines" in done.err) == (2, True)
    done = vacr("view", "-", "--lines", "main", stdin=session.read_bytes(), cwd=repo)
    assert (done.returncode, "standard input" in done.err) == (2, True)


def read_island(path):
    """Return the description in a page."""
    text = path.read_text("utf-8")
    start = text.index('id="vacr-page">') + len('id="vacr-page">')
    return json.loads(text[start : text.index("</script>", start)])

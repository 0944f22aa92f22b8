"""`vacr blame` in the place of `git blame`: its flags, and its output for programs."""

import json
import re
import shlex
import subprocess

import pytest

from tests.attribution.working_agent import Agent, commit, git, repository
from vacr.blame import BlamedLine, LineBlame, LineClaim
from vacr.cli.blame_rows import RowStyle, format_blame_rows, format_line_numbers

pytestmark = pytest.mark.component

START = "def first():\n    return 1\n\n\ndef last():\n    return 9\n"
ADDED = """

def total(lines):
    result = 0
    for line in lines:
        result += line.price * line.count
    return result
"""
OUR_HEADER = re.compile(rb"vacr-[a-z-]+ [^\n]+\n")


@pytest.fixture
def repo(tmp_path):
    """Return a repository with a function that an agent wrote, and a later line by hand."""
    folder = repository(tmp_path / "repo")
    (folder / "app.py").write_text(START)
    (folder / "ünïcode name.py").write_text("x = 1\n")
    commit(folder, "Start")
    agent = Agent(folder).asked("Sum up the lines\nof an order").read("app.py")
    agent.edit("app.py", "    return 1\n", "    return 1\n" + ADDED)
    agent.save(tmp_path / "records")
    commit(folder, "Add total")
    (folder / "app.py").write_text((folder / "app.py").read_text() + "by = 'hand'\n")
    return folder


def run_vacr(vacr, repo, *arguments, **more):
    records = ["--records", repo.parent / "records"]
    done = vacr("blame", *records, *arguments, cwd=more.pop("cwd", repo), **more)
    assert done.returncode == 0, done.err
    assert not done.err
    return done.stdout


def run_git(repo, *arguments, stdin=None):
    command = ["git", "-C", repo, "blame", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def parse_porcelain(output):
    """Parse as git's documentation says, strictly: a place, headers, then the line after a TAB."""
    lines, about, commits = {}, {}, {}
    for line in output.removesuffix(b"\n").split(b"\n"):
        if not about:
            place = re.fullmatch(rb"([0-9a-f]{40}) (\d+) (\d+)( \d+)?", line)
            assert place, line
            about = {b"commit": place[1], b"number": int(place[3])}
        elif line.startswith(b"\t"):
            known = commits.setdefault(about[b"commit"], {})
            known |= {key: value for key, value in about.items() if not key.startswith(b"vacr-")}
            assert {b"author", b"author-time", b"summary", b"filename"} <= known.keys()
            lines[about[b"number"]] = about | {b"text": line[1:]}
            about = {}
        else:
            key, _, value = line.partition(b" ")
            assert re.fullmatch(rb"[a-z-]+", key), line
            assert key not in about, line
            about[key] = value
    assert not about
    return lines


FLAGS = [
    [],
    ["-L", "3,6"],
    ["-L3,+2"],
    ["-L", "/def total/,+2"],
    ["-L:total"],
    ["-L", "1,2", "-L", "9,10"],
    ["-w"],
    ["-M"],
    ["-M30"],
    ["-C", "-C", "-C40"],
    ["-wM"],
    ["--root"],
    ["--since=1.year.ago"],
    ["HEAD"],
    ["HEAD~1", "--"],
    ["HEAD~1.."],
    ["-s", "-l", "-t", "-e", "-b", "-f", "-n", "--date=iso"],
    ["--ignore-rev", "HEAD"],
]


def mask_times(output):
    """Return the output without times, which are the present for lines of the work tree."""
    return re.sub(rb"((?:author|committer)-time) \d+", rb"\1", output)


@pytest.mark.parametrize("form", ["--porcelain", "--line-porcelain", "--incremental"])
def test_output_for_programs_needs_no_session(vacr, repo, form):
    done = vacr("blame", form, "app.py", cwd=repo)
    assert (done.returncode, done.err) == (0, "")
    assert set(OUR_HEADER.findall(done.stdout)) == {b"vacr-contributor unknown\n"}
    assert mask_times(OUR_HEADER.sub(b"", done.stdout)) == mask_times(run_git(repo, form, "app.py"))
    loud = vacr("blame", form, "-v", "app.py", cwd=repo)
    assert loud.returncode == 0
    assert "no session" in loud.err
    assert vacr("blame", "app.py", cwd=repo).returncode == 3


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
@pytest.mark.parametrize("form", ["--porcelain", "--line-porcelain", "-p"])
def test_porcelain_is_that_of_git_with_more_headers(vacr, repo, flags, form):
    ours = run_vacr(vacr, repo, form, *flags, "app.py")
    theirs = run_git(repo, form, *flags, "app.py")
    assert mask_times(OUR_HEADER.sub(b"", ours)) == mask_times(theirs)
    lines = parse_porcelain(ours)
    assert lines.keys() == parse_porcelain(theirs).keys()
    assert all(b"vacr-contributor" in line for line in lines.values())


def test_headers_name_model_session_evidence_and_prompt(vacr, repo):
    lines = parse_porcelain(run_vacr(vacr, repo, "-p", "app.py"))
    about = {key: value for key, value in lines[7].items() if key.startswith(b"vacr-")}
    record, entry = about.pop(b"vacr-record"), about.pop(b"vacr-entry")
    assert record
    assert entry
    assert about == {
        b"vacr-contributor": b"ai",
        b"vacr-model": b"anthropic/claude-opus-4-6",
        b"vacr-session": b"session-one",
        b"vacr-evidence": b"replayed",
        b"vacr-join": b"blob",
        b"vacr-call-id": b"toolu_one_2",
        b"vacr-called-at": b"2026-03-14T00:00:04.000Z",
        b"vacr-prompt": b"Sum up the lines",
    }
    assert {key for key in lines[14] if key.startswith(b"vacr-")} == {b"vacr-contributor"}
    assert lines[14][b"vacr-contributor"] == b"unknown"


def test_prompt_cannot_forge_a_header(vacr, tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "a.py").write_text("x = 1\n")
    commit(folder)
    agent = Agent(folder).asked("Do\x1b[2J it\u2028filename evil.py\n\tforged").read("a.py")
    agent.edit("a.py", "x = 1\n", "x = compute_the_total(of=lines)\n").save(tmp_path / "records")
    commit(folder)
    lines = parse_porcelain(run_vacr(vacr, folder, "-p", "a.py"))
    assert lines[1][b"vacr-prompt"] == b"Do\\x1b[2J it\\u2028filename evil.py"
    assert lines[1][b"filename"] == b"a.py"


def parse_incremental(output):
    """Parse like editors do: an entry ends with its filename."""
    lines, commits, entry = {}, {}, None
    for line in output.decode().removesuffix("\n").split("\n"):
        if entry is None:
            name, first, final, count = re.fullmatch(r"(\w{40}) (\d+) (\d+) (\d+)", line).groups()
            entry = {}
            continue
        key, _, value = line.partition(" ")
        entry[key] = value
        if key == "filename":
            ours = {key: value for key, value in entry.items() if key.startswith("vacr-")}
            known = commits.setdefault(
                name, {key: entry[key] for key in ("author", "summary") if key in entry}
            )
            assert known["author"]
            for i in range(int(count)):
                assert int(final) + i not in lines
                lines[int(final) + i] = name, int(first) + i, value, entry.get("previous"), ours
            entry = None
    assert entry is None
    return lines


@pytest.mark.parametrize("flags", [[], ["-L", "3,8"], ["HEAD"], ["-w", "-C"]], ids=" ".join)
def test_incremental_entries_are_split_by_writer(vacr, repo, flags):
    ours = parse_incremental(run_vacr(vacr, repo, "--incremental", *flags, "app.py"))
    theirs = parse_incremental(run_git(repo, "--incremental", *flags, "app.py"))
    assert {line: about[:4] for line, about in ours.items()} == {
        line: about[:4] for line, about in theirs.items()
    }
    report = parse_porcelain(run_vacr(vacr, repo, "-p", *flags, "app.py"))
    for line, about in ours.items():
        assert about[4]["vacr-contributor"].encode() == report[line][b"vacr-contributor"]


def test_unsaved_buffer_comes_through_standard_input(vacr, repo):
    text = b"# new\n" + (repo / "app.py").read_bytes()
    arguments = ["--contents", "-", "--porcelain", "app.py"]
    ours = run_vacr(vacr, repo, *arguments, stdin=text)
    assert OUR_HEADER.sub(b"", ours).count(b"\n\t") == 15
    theirs = run_git(repo, *arguments, stdin=text)
    mask = re.compile(rb"-time \d+")
    assert mask.sub(b"", OUR_HEADER.sub(b"", ours)) == mask.sub(b"", theirs)
    lines = parse_porcelain(ours)
    assert lines[1][b"commit"] == b"0" * 40
    assert lines[8][b"vacr-contributor"] == b"ai"


def test_selected_lines_have_the_writer_they_have_in_the_whole_file(vacr, repo):
    whole = json.loads(run_vacr(vacr, repo, "app.py", "--format", "json"))["lines"]
    part = json.loads(run_vacr(vacr, repo, "-L6,9", "app.py", "--format", "json"))["lines"]
    assert part == whole[5:9]


def test_ignored_white_space_keeps_the_writer(vacr, repo):
    text = (repo / "app.py").read_text().replace("    result += ", "        result += ")
    (repo / "app.py").write_text(text)
    name = commit(repo, "Indent")
    report = json.loads(run_vacr(vacr, repo, "-w", "app.py", "--format", "json"))["lines"]
    assert report[7]["commit"] != name
    assert report[7]["contributor"]["type"] == "ai"
    shown = run_vacr(vacr, repo, "-w", "app.py").decode().splitlines()
    assert shown[7].endswith("8)             result += line.price * line.count")


def test_ignored_commits_come_from_a_file_as_in_git(vacr, repo):
    (repo / "sub").mkdir()
    (repo / "ignored").write_text(git(repo, "rev-parse", "HEAD") + "\n")
    flags = ["-p", "--ignore-revs-file", "ignored", "HEAD", "--", "../app.py"]
    ours = run_vacr(vacr, repo, *flags, cwd=repo / "sub")
    assert OUR_HEADER.sub(b"", ours) == run_git(repo / "sub", *flags)


def test_copied_lines_come_from_the_file_they_were_written_to(vacr, repo):
    (repo / "copy.py").write_text((repo / "app.py").read_text())
    commit(repo, "Copy")
    report = json.loads(run_vacr(vacr, repo, "-C", "-C", "copy.py", "--format", "json"))["lines"]
    assert {line["original-path"] for line in report[:13]} == {"app.py"}
    assert [line["contributor"]["type"] for line in report[4:11]] == ["ai"] * 7


def test_names_are_quoted_as_git_quotes_them(vacr, repo):
    name = "ünïcode name.py"
    done = vacr("blame", "-p", name, "--records", repo.parent / "records", cwd=repo)
    ours = done.stdout
    assert done.returncode == 0  # An editor takes any other code for a failure.
    assert OUR_HEADER.sub(b"", ours) == run_git(repo, "-p", name)


def test_staged_rename_is_followed(vacr, repo):
    git(repo, "add", "app.py")
    git(repo, "mv", "app.py", "order.py")
    report = json.loads(run_vacr(vacr, repo, "order.py", "--format", "json"))["lines"]
    assert [line["contributor"]["type"] for line in report[4:11]] == ["ai"] * 7
    assert report[0]["original-path"] == "app.py"


def test_filters_of_the_repository_do_not_run(vacr, repo):
    (repo / ".gitattributes").write_text("*.py filter=a=b\n*.py filter=spy\n")
    for name in ("spy", "a=b"):
        for kind in ("clean", "process"):
            git(repo, "config", f"filter.{name}.{kind}", f"touch {repo}/ran-{kind}; cat")
        git(repo, "config", f"filter.{name}.required", "true")
    run_vacr(vacr, repo, "-p", "app.py")
    done = vacr("blame", "--records", repo.parent / "records", "app.py", cwd=repo)
    [notice] = done.err.splitlines()
    assert (done.returncode, notice[:43]) == (0, "The git filter spy converts this file: 1 li")
    assert not list(repo.glob("ran-*"))


def test_author_and_date_of_commits_are_shown_on_request(vacr, repo):
    shown = run_vacr(vacr, repo, "-s", "-e", "--date=format:%Y", "app.py").decode().splitlines()
    mail, year = git(repo, "log", "-1", "--format=%ae %ad", "--date=format:%Y").split()
    name = git(repo, "rev-parse", "HEAD")
    assert shown[6].split()[:4] == [name[:8], mail, year, "anthropic/claude-opus-4-6"]
    assert shown[13].split()[:3] == ["0" * 8, "unknown", "14)"]
    long = run_vacr(vacr, repo, "-l", "-s", "app.py").decode().splitlines()
    assert long[6].split()[0] == name


def test_sessions_of_this_machine_are_the_default(vacr, repo, tmp_path):
    store = tmp_path / "home/projects/some-folder"
    store.mkdir(parents=True)
    (tmp_path / "records/session-one.jsonl").rename(store / "session-one.jsonl")
    elsewhere = Agent(tmp_path / "other", name="two").asked("Something else")
    elsewhere.save(tmp_path / "home/projects/other")
    done = vacr(
        "blame", "app.py", "--format", "json", cwd=repo, CLAUDE_CONFIG_DIR=str(tmp_path / "home")
    )
    assert done.returncode == 0, done.err
    assert json.loads(done.stdout)["total"]["ai"] == 7


def test_sessions_and_prompts_are_listed_with_v(vacr, repo, tmp_path):
    records = ["--records", tmp_path / "records"]
    quiet = vacr("blame", "app.py", *records, cwd=repo)
    assert "session-one" not in quiet.out + quiet.err
    done = vacr("blame", "-v", "-L", "7,8", "app.py", *records, cwd=repo)
    listed = done.out.splitlines()[2:]
    assert not done.err
    assert listed[0] == "session session-one: lines 7-8", done.err
    report = run_vacr(vacr, repo, "-L", "7,8", "app.py", "--format", "json")
    line = json.loads(report)["lines"][0]
    assert listed[1].startswith("  by: claude-code, 2026-03-1")
    assert listed[2:5] == [f"  {name}: {line[name]}" for name in ("prompt", "evidence", "entry")]
    shown = vacr("show", tmp_path / "records/session-one.jsonl", "--entry", line["entry"])
    assert shown.returncode == 0, shown.err
    command = shlex.join(["vacr", "show", str(tmp_path / "records"), "--entry", line["entry"]])
    assert listed[5:] == [f"To read a call: {command}"]
    done = vacr("blame", "-v", "app.py", *records, *records, cwd=repo)
    assert done.out.splitlines()[-1].startswith("To read a call: vacr show SESSION --entry ")


def test_numbers_of_lines_are_shown_as_ranges():
    assert format_line_numbers([7]) == "line 7"
    assert format_line_numbers([1, 2, 3, 5, 8, 9]) == "lines 1-3, 5, 8-9"


def test_index_is_in_the_state_folder_unless_refused(vacr, repo, tmp_path):
    arguments = ["app.py", "--format", "json"]
    state = tmp_path / "state"
    plain = run_vacr(vacr, repo, *arguments, "--no-index", VACR_STATE=str(state))
    assert not state.exists()
    for _ in range(2):
        assert run_vacr(vacr, repo, *arguments, VACR_STATE=str(state)) == plain
    assert (state / "index/index.db").stat().st_size > 0


def test_unusable_index_is_reported_with_v(vacr, repo, tmp_path):
    (tmp_path / "file").write_text("")
    done = vacr(
        "blame",
        "app.py",
        "-v",
        "--records",
        tmp_path / "records",
        cwd=repo,
        VACR_STATE=str(tmp_path / "file"),
    )
    assert (done.returncode, "The index cannot be used" in done.err) == (0, True), done.err


# The text on a terminal


def test_rows_fit_into_the_terminal():
    claim = LineClaim(
        type="ai",
        model="anthropic/claude-opus-4-6",
        session="a" * 36,
        record="",
        entry="",
        call_id="",
        prompt="Sum up " * 9,
        evidence="diff-anchored",
        time=1,
    )
    blame = LineBlame("ai", claim, "content")
    lines = [
        BlamedLine("1" * 40, "a.py", 1, "x = '" + "界" * 90 + "'", blame, 1),
        BlamedLine("2" * 40, "a.py", 2, "short", None, 20_000),
    ]
    style = RowStyle(long_ids=False, short_rows=False, show_email=False, date=None)
    from rich.cells import cell_len

    columns = {}
    for width in (20, 60, 80, 100, 120, 160, 240):
        rows = format_blame_rows(None, lines, style, width)
        assert [cell_len(row) <= width for row in rows] == [True, True], (width, rows)
        assert rows[0].startswith("11111111  claude")
        columns[width] = rows[0]
    assert "aaaaaaaa" not in columns[60]
    assert "aaaaaaaa  " in columns[80]
    assert "diff-anchored" not in columns[80]
    assert "diff-anchored" in columns[120]
    assert "Sum up" in columns[160]
    assert "anthropic/" in format_blame_rows(None, lines, style, None)[0]

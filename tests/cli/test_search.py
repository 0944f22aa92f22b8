"""`vacr search` and `vacr sql`, as a user runs them."""

import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import vacr as vacr_package
from tests.cli.test_list import NOWHERE
from tests.conftest import EXAMPLES
from tests.discovery import homes
from vacr.cli.search import _keep_last_words


def plant_sessions(home):
    """Write 30 sessions of Claude Code that say zebra."""
    folder = home / ".claude/projects/p"
    folder.mkdir(parents=True)
    text = (EXAMPLES / "claude-code.jsonl").read_text("utf-8")
    session = json.loads(text.splitlines()[1])["sessionId"]
    for number in range(30):
        name = f"{number:08}{session[8:]}"
        changed = text.replace(session, name).replace("rounding", "zebra")
        (folder / f"{name}.jsonl").write_text(changed, "utf-8")


@pytest.fixture
def run(vacr, tmp_path):
    """Return a function that runs a verb in a home with sessions of all agents."""
    homes.fill(tmp_path / "home")
    return lambda *arguments, **variables: vacr(*arguments, **(NOWHERE | variables))


def test_hits_are_grouped_by_conversation(run):
    done = run("search", "hints", "--agent", "codex-cli")
    assert done.returncode == 0
    head, *hits = done.out.splitlines()
    assert head == "019cf2a1  codex-cli  /home/mira/invoice  Add type hints to total()."
    assert any("user" in hit and "Add type hints" in hit for hit in hits)
    assert done.out.endswith("in 1 conversation\n")


def test_words_of_the_host_are_not_those_of_the_user(run):
    _, hit, *_ = run("search", "environment_context", "--agent", "codex-cli").out.splitlines()
    assert "  host  " in hit


def test_verbose_names_the_file_once_and_the_entry_of_each_hit(run):
    done = run("search", "late", "rounding", "-v")
    hits = [line for line in done.out.splitlines() if line.startswith("    --entry /session/")]
    files = [line for line in done.out.splitlines() if line.startswith("  ~/")]
    found = json.loads(run("search", "late", "rounding", "--format", "json").out)
    assert (len(hits), len(files)) == (found["count"], found["conversations"])
    assert run("show", found["hits"][0]["session"], *hits[0].split()).returncode == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The whole cart takes a ", "…takes a "),
        ("short ", "short "),
        ("an-endless-word-without-blanks ", "…out-blanks "),
    ],
)
def test_text_before_a_found_word_begins_with_a_word(text, shown):
    assert _keep_last_words(text, 12) == shown


def test_json_leads_to_the_place_in_the_record(run):
    document = json.loads(run("search", "hints", "--format", "json", "-n", "1").out)
    (hit,) = document["hits"]
    assert hit["place"].startswith("/session/entries/")
    assert "**hints**" in hit["text"]
    assert document["count"] >= 1


def test_no_match_is_exit_code_1(run):
    done = run("search", "xylophone")
    assert (done.returncode, done.out) == (1, "")
    message = (
        "vacr: no entries match: xylophone. Words are found whole: check the spelling, or use fewer "
        "options.\n"
    )
    assert done.err == message


@pytest.mark.parametrize("arguments", [("search", "hints"), ("stats",), ("sql", "select 1")])
def test_machine_without_sessions_is_reported_with_the_next_step(vacr, arguments):
    done = vacr(*arguments, **NOWHERE)
    message = "vacr: no sessions found on this machine. Where vacr looks: vacr list -v\n"
    assert done.err.count("no ") == done.err.count(message) == 1


def test_path_without_sessions_is_reported_once(vacr, tmp_path):
    (tmp_path / "empty").mkdir()
    done = vacr("search", "hints", "--path", "empty")
    assert done.returncode == 1
    assert done.err == "vacr: no sessions found in empty. Check the paths after --path.\n"


def test_shown_ids_are_long_enough_to_be_names(vacr, tmp_path):
    store = tmp_path / "home/.claude/projects/x"
    for number, name in enumerate(("01a1e404-7e4c-7000-8000-1", "01a1e404-7e4d-7000-8000-2")):
        homes.claude_session(store / f"{name}.jsonl", number)
    found = vacr("search", "question", **NOWHERE).out.splitlines()
    ids = {line.split()[0] for line in found if "claude-code" in line}
    assert ids == {"01a1e404-7e4c", "01a1e404-7e4d"}
    for shown in ids:
        assert vacr("show", shown, "-q", **NOWHERE).returncode == 0


@pytest.mark.parametrize("seconds", ["nan", "0", "1e9", "soon"])
def test_time_limit_that_is_no_time_is_refused(vacr, seconds):
    done = vacr("sql", "select 1", "--timeout", seconds)
    assert (done.returncode, "Invalid value for '--timeout'" in done.err) == (2, True)


def test_bad_time_is_a_usage_error(run):
    done = run("search", "total", "--since", "soon")
    assert done.returncode == 2
    assert "--since soon: neither a date nor a time" in done.err


def test_records_at_a_path_are_searched_instead(run, vacr, tmp_path):
    vacr("record", str(EXAMPLES / "claude-code.jsonl"), "-o", "records/")
    before = run("stats", "--format", "json").out
    done = run("search", "late", "rounding", "--path", "records", "--format", "json")
    paths = {hit["path"] for hit in json.loads(done.out)["hits"]}
    assert paths == {str(tmp_path / "records" / "claude-code.acr.json")}
    assert run("stats", "--format", "json").out == before


def test_unknown_agent_is_a_usage_error(run):
    for verb in (["search", "total"], ["stats"]):
        done = run(*verb, "--agent", "clod")
        assert done.returncode == 2
        assert "unknown agent 'clod'" in done.err


def test_prompts_are_searched_alone(run):
    done = run("search", "hints", "--only", "prompt", "--format", "json")
    assert {hit["kind"] for hit in json.loads(done.out)["hits"]} == {"user"}


def test_week_is_not_a_time(run):
    assert run("stats", "--since", "2026-W31").returncode == 2


def test_missing_path_is_a_usage_error(run):
    done = run("search", "total", "--path", "nowhere")
    assert done.returncode == 2
    assert "nowhere does not exist" in done.err


def test_control_characters_of_a_session_do_not_reach_the_terminal(run, tmp_path):
    folder = tmp_path / "home" / ".codex" / "sessions" / "2026" / "07" / "25"
    session = (folder / "rollout-1.jsonl").read_text()
    hostile = session.replace("Add type hints", "Add \\u001b]0;owned\\u0007 \\u202e hints")
    (folder / "rollout-2.jsonl").write_text(hostile)
    done = run("search", "hints")
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_sql_prints_a_table(run):
    done = run("sql", "select agent, count(*) as n from records group by 1 order by 1")
    assert done.returncode == 0
    assert done.out.splitlines()[0].split() == ["agent", "n"]
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == sorted(homes.AGENTS)


def test_sql_prints_csv_that_a_spreadsheet_does_not_run(run):
    done = run("sql", "select '=1+1' as a, 2 as b, null as c", "--format", "csv")
    assert list(csv.reader(io.StringIO(done.out))) == [["a", "b", "c"], ["'=1+1", "2", ""]]


def test_sql_prints_json(run):
    done = run("sql", "select 1 as a, 'x' as b", "--format", "json")
    assert json.loads(done.out)["rows"] == [{"a": 1, "b": "x"}]


def test_sql_lists_its_tables(run):
    done = run("sql", "--tables")
    assert "records" in done.out
    assert "start_ms" in done.out
    assert "weekly_usage" in done.out


def test_sql_that_writes_is_a_usage_error(run):
    done = run("sql", "delete from records")
    assert done.returncode == 2
    assert "only a SELECT is allowed" in done.err


@pytest.mark.parametrize("verb", ["show", "stats"])
def test_verbs_take_the_id_of_a_session(run, verb):
    done = run(verb, "019cf2a1")
    assert done.returncode == 0
    assert "codex-cli" in done.out


def test_file_wins_over_a_session_of_that_name(run, tmp_path):
    (tmp_path / "latest").write_bytes((EXAMPLES / "gemini-cli.jsonl").read_bytes())
    assert "gemini-cli" in run("show", "latest").out


def test_listed_ids_lead_to_their_sessions(run):
    rows = run("list", "--agent", "opencode").out.splitlines()[1:]
    assert rows
    for row in rows:
        assert run("show", row.split()[0]).returncode == 0


def test_session_of_a_database_is_recorded_by_id(run, tmp_path):
    done = run("record", "ses_1b9Other", "-o", "out/")
    assert done.returncode == 0
    assert [path.name for path in (tmp_path / "out").glob("*.acr.json")] == [
        "opencode.ses_1b9Other.acr.json"
    ]


def read_totals(done):
    document = json.loads(done.out)
    compared = (
        "sessions",
        "prompts",
        "calls",
        "failed-calls",
        "tokens",
        "models",
        "tools",
        "files",
    )
    compared += (
        "lines-added",
        "lines-removed",
        "micro-dollars",
        "estimated-micro-dollars",
        "milliseconds",
    )
    groups = {
        group["key"]: {name: group[name] for name in compared} for group in document["groups"]
    }
    return groups, {name: document["total"][name] for name in compared}


@pytest.mark.parametrize("by", ["agent", "project", "model"])
def test_stats_of_this_machine_are_those_of_its_sessions(run, tmp_path, by):
    home = tmp_path / "home"
    folders = (".claude", ".codex", ".gemini", ".local/share/opencode")
    paths = [str(home / folder) for folder in folders]
    expected = read_totals(run("stats", *paths, "--by", by, "--format", "json"))
    for other in [path for path in home.iterdir() if not str(path).startswith(tuple(paths))]:
        if other.name != ".local":
            other.rename(tmp_path / f"away{other.name}")
    found = read_totals(run("stats", "--by", by, "--format", "json"))
    assert found == expected


def test_stats_of_a_span_of_time(run):
    done = run("stats", "--by", "day", "--since", "2026-05-01", "--until", "2026-06-01")
    assert {row.split()[0] for row in done.out.splitlines()[1:2]} == {"2026-05-02"}
    assert run("stats", "--since", "2099-01-01").returncode == 1


def test_index_options_need_no_paths(run):
    done = run("stats", "019cf2a1", "--agent", "codex-cli")
    assert done.returncode == 2
    assert "019cf2a1 names a session already" in done.err


def test_session_named_for_blame_does_not_change_later_answers(run, tmp_path):
    """Its claims must not become claims of the next session in the index."""
    home = tmp_path / "home"
    repository = tmp_path / "repository"
    repository.mkdir()
    git = ["git", "-C", repository, "-c", "user.name=m", "-c", "user.email=m@example.org"]
    (repository / "total.py").write_text("total = 0\n")
    for arguments in (["init", "-q", "--template="], ["add", "."], ["commit", "-qm", "m"]):
        subprocess.run([*git, *arguments], check=True)
    session = next(home.rglob("rollout-1.jsonl"))
    clean = run(
        "blame", "total.py", "--records", session, cwd=repository, VACR_STATE=f"{tmp_path}/one"
    )
    variables = {"cwd": repository, "VACR_STATE": f"{tmp_path}/two"}
    run("blame", "total.py", "--records", "ses_1b9Other", **variables)
    again = run("blame", "total.py", "--records", session, **variables)
    assert (again.returncode, again.out) == (clean.returncode, clean.out)
    rows = sqlite3.connect(tmp_path / "two" / "index" / "index.db").execute(
        "SELECT count(*) FROM claims WHERE record NOT IN (SELECT id FROM claim_records)"
    )
    assert rows.fetchone() == (0,)


def damage(path):
    """Overwrite the middle of the index."""
    content = path.read_bytes()
    assert len(content) > 60_000
    path.write_bytes(content[:20_000] + b"\xee" * 30_000 + content[50_000:])


@pytest.mark.parametrize(
    "arguments",
    [("search", "the", "--format", "json"), ("stats",), ("sql", "select text from entries")],
)
def test_damaged_index_is_built_again_for_the_answer(run, tmp_path, arguments):
    state = {"VACR_STATE": f"{tmp_path}/state"}
    before = run(*arguments, **state)
    assert before.returncode == 0
    damage(tmp_path / "state/index/index.db")
    after = run(*arguments, **state)
    assert (after.returncode, after.out) == (0, before.out)


def test_two_versions_at_once_both_answer(tmp_path):
    """The stamp has the time of each module, so a copy of the package is another version."""
    home = tmp_path / "home"
    plant_sessions(home)
    copy = tmp_path / "copy"
    shutil.copytree(Path(vacr_package.__file__).parent, copy / "vacr")
    (copy / "vacr/other_version.py").write_text("")
    command = [sys.executable, "-m", "vacr", "search", "zebra", "--format", "json"]
    base = {**os.environ, "HOME": str(home), "VACR_STATE": str(tmp_path / "state")}
    sources = (copy, Path(vacr_package.__file__).parents[1])
    for _ in range(2):
        running = [
            subprocess.Popen(
                command,
                env={**base, "PYTHONPATH": str(source)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for source in sources * 2
        ]
        for process in running:
            out, err = process.communicate()
            assert process.returncode == 0, err
            assert json.loads(out)["conversations"] == 30


def read_parquet(path):
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(path).to_pylist()


def test_answer_is_written_as_parquet(vacr, tmp_path):
    query = "select agent, calls, cost, null as absent from records"
    example = ("--path", str(EXAMPLES / "claude-code.jsonl"))
    done = vacr("sql", query, *example, "--format", "parquet", "-o", "answer.parquet")
    assert (done.returncode, done.out) == (0, "answer.parquet: 1 row\n")
    [row] = read_parquet(tmp_path / "answer.parquet")
    assert (row["agent"], row["calls"], row["absent"]) == ("claude-code", 4, None)
    assert row["cost"] > 0
    assert (tmp_path / "answer.parquet").stat().st_mode & 0o777 == 0o600
    again = vacr("sql", query, *example, "--format", "parquet", "-o", "answer.parquet")
    assert (again.returncode, "--overwrite" in again.err) == (2, True)


def test_all_tables_are_exported_as_parquet(vacr, tmp_path):
    example = ("--path", str(EXAMPLES / "claude-code.jsonl"))
    done = vacr("sql", "--to", "parquet", "-o", "tables/", *example, "--format", "json")
    assert done.returncode == 0, done.err
    for name, count in json.loads(done.out)["rows"].items():
        assert len(read_parquet(tmp_path / f"tables/{name}.parquet")) == count
        [[expected]] = [
            list(row.values())
            for row in json.loads(
                vacr("sql", f"select count(*) from {name}", *example, "--format", "json").out  # noqa: S608 - our own names
            )["rows"]
        ]
        assert count == expected


def test_mixed_values_become_text(vacr, tmp_path):
    query = "select 1 as value union all select 'a' union all select x'00ff'"
    assert vacr("sql", query, "--format", "parquet", "-o", "m.parquet").returncode == 0
    assert [row["value"] for row in read_parquet(tmp_path / "m.parquet")] == ["1", "a", "00ff"]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            ("select 1", "--format", "parquet"),
            "--format parquet needs an output file",
            "Add -o FILE.parquet",
        ),
        (
            ("select 1", "-o", "x"),
            "-o needs --format parquet, or --to parquet",
            "in another format: vacr sql QUERY > FILE",
        ),
        (("--to", "parquet"), "--to parquet needs an output folder", "Add -o tables/"),
        (
            ("select 1", "--to", "parquet", "-o", "x/"),
            "--to exports whole tables",
            "For a query: --format parquet -o FILE",
        ),
    ],
)
def test_parquet_options_must_fit_together(vacr, options, message, hint):
    done = vacr("sql", *options)
    assert (done.returncode, message in done.err, hint in done.err) == (2, True, True)

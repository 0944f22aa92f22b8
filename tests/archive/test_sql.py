"""SQL over the index: answers, and nothing else."""

import sqlite3
import subprocess
import sys

import pytest

import vacr
from tests.conftest import EXAMPLES
from vacr.archive import (
    TABLES,
    VIEW_COLUMNS,
    SearchIndex,
    SourceVersion,
    build_record_rows,
    run_select,
)
from vacr.errors import UsageError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return the path of an index with the examples."""
    index = SearchIndex.open(tmp_path_factory.mktemp("state"))
    with index.transaction():
        for number, file in enumerate(sorted(EXAMPLES.glob("*.json*"))):
            rows = [build_record_rows(record) for record in vacr.read(file)]
            index.add_source(SourceVersion(str(file), "", number, 0, "1"), rows)
        index.mark_repeated_records()
    index.close()
    return index.path


def test_documented_tables_can_be_read(path):
    for table, columns in TABLES.items():
        answer = run_select(path, f"SELECT * FROM {table}")  # noqa: S608 - a table of ours
        assert answer.columns == list(columns)
        assert answer.rows


def test_documented_views_have_their_columns(path):
    for view, columns in VIEW_COLUMNS.items():
        answer = run_select(path, f"SELECT * FROM {view}")  # noqa: S608 - a view of ours
        assert answer.columns == list(columns)


def test_the_four_questions_are_answered(path):
    weeks = run_select(path, "SELECT week, model, sum(output) FROM weekly_usage GROUP BY 1, 2")
    assert ("2026-03-09", "claude-opus-4-6", 606) in weeks.rows
    tools = run_select(path, "SELECT tool, count(*), avg(is_error) FROM calls GROUP BY 1")
    assert ("Bash", 1, 1.0) in tools.rows
    files = run_select(
        path,
        "SELECT DISTINCT agent FROM files JOIN records USING (record) WHERE path LIKE '%/total.py'",
    )
    assert len(files.rows) >= 4
    recursive = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) "
        "SELECT sum(x) FROM n"
    )
    assert run_select(path, recursive).rows == [(6,)]


def test_full_text_index_can_be_asked(path):
    query = "SELECT count(*) FROM entry_texts WHERE entry_texts MATCH '\"late rounding\"'"
    assert run_select(path, query).rows[0][0] >= 2


ATTACKS = {
    "delete": "DELETE FROM records",
    "insert": "INSERT INTO records (source, path) VALUES (1, 'x')",
    "update": "UPDATE records SET title = 'x'",
    "update-with": "WITH x AS (SELECT 1) UPDATE records SET title = 'x'",
    "drop": "DROP TABLE records",
    "create": "CREATE TEMP TABLE x AS SELECT 1",
    "attach": "ATTACH 'other.db' AS other",
    "vacuum-into": "VACUUM INTO 'copy.db'",
    "pragma": "PRAGMA writable_schema = 1",
    "pragma-function": "SELECT * FROM pragma_database_list",
    "other-tables": "SELECT * FROM sources",
    "schema": "SELECT sql FROM sqlite_master",
    "schema-alias": "SELECT sql FROM sqlite_schema",
    "extension": "SELECT load_extension('x')",
    "tokenizer": "SELECT fts3_tokenizer('simple')",
    "two-statements": "SELECT 1; DELETE FROM records",
    "transaction": "BEGIN",
    "explain": "EXPLAIN DELETE FROM records",
    "large-value": "SELECT zeroblob(2000000000)",
    "text-index-command": "INSERT INTO entry_texts (entry_texts) VALUES ('delete-all')",
    "nothing": "",
    "comment": "-- only a comment",
    "not-sql": "tell me everything",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_everything_else_is_refused(path, name):
    before = path.read_bytes()
    with pytest.raises(UsageError):
        run_select(path, ATTACKS[name])
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*copy*"))


def test_long_query_is_stopped(path):
    ticks = iter(range(1_000_000))
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) FROM n"
    with pytest.raises(UsageError, match="took longer than 5 seconds"):
        run_select(path, endless, seconds=5, clock=lambda: next(ticks))


def test_index_of_another_part_cannot_be_read(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE IF NOT EXISTS claims (claims BLOB)")
    database.close()
    with pytest.raises(UsageError, match="claims is not readable"):
        run_select(path, "SELECT claims FROM claims")


def test_one_endless_step_is_stopped():
    """SQLite compares 10 MB at each of 10 million places, and asks no clock meanwhile."""
    text = "replace(hex(zeroblob(10000000)), '0', 'a')"
    part = "replace(hex(zeroblob(5000000)), '0', 'a') || 'b'"
    options = ["--timeout", "0.2", "--path", str(EXAMPLES / "claude-code.jsonl")]
    done = subprocess.run(  # A process of its own, because the step goes on until it ends.
        [sys.executable, "-m", "vacr", "sql", f"SELECT instr({text}, {part})", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "the query took longer than 0.2 seconds" in done.stderr


def test_endless_rows_do_not_fill_the_memory(path):
    rows = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT printf('%60000000d', x) FROM n"
    )
    with pytest.raises(UsageError, match="the answer is larger than 256 MiB"):
        run_select(path, rows, seconds=3600)


def test_query_with_a_lone_surrogate_is_refused(path):
    with pytest.raises(UsageError, match="not valid Unicode"):
        run_select(path, "SELECT '\ud800'")

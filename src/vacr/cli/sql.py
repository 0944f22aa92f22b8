"""`vacr sql`: questions about all conversations on this machine, in SQL.

    >>> from vacr.cli import run_command_line
    >>> question = "select agent, calls, failed from records"
    >>> run_command_line(["sql", question, "--path", "examples/claude-code.jsonl"])
    agent        calls  failed
    claude-code      4       1
    0

The language is SQLite's. Only one SELECT runs, and only over the documented tables.
"""

from __future__ import annotations

import csv
import io
import sys
from typing import Any

import click

from vacr.archive import TABLES, VIEW_COLUMNS, SqlResult, run_select
from vacr.cli.options import PATH, Verb
from vacr.cli.search import open_fresh_index
from vacr.console import Voice, align_columns, get_terminal_width, print_text
from vacr.errors import UsageError

_EXAMPLE = 'For example: vacr sql "select agent, count(*) from records group by agent"'
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("query", required=False)
@click.option("--tables", is_flag=True, help="List the tables and their columns.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    metavar="SECONDS",
    default=10.0,
    show_default=True,
    help="Stop the query after this time.",
)
@click.option(
    "--path",
    metavar="FILE|FOLDER",
    type=PATH,
    multiple=True,
    help="Ask about the records or sessions at this path instead; repeatable.",
)
@click.option(
    "--format",
    type=click.Choice(["table", "json", "jsonl", "csv"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only, and the answer.")
@click.option("-v", "--verbose", count=True, help="Print more details.")
def command(
    query: str | None,
    tables: bool,
    timeout: float,
    path: tuple[str, ...],
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Ask a question about all conversations on this machine, in SQL.

    The tables are records, entries, calls, files, usage, and weekly_usage, a sum by week, agent,
    repository, project and model. QUERY is one SELECT in SQLite's language. It cannot change
    anything. Times are in milliseconds since 1970, days in UTC, costs in dollars. Of several
    recordings of one session, all but the longest have `is_repeated` set.

    \b
    Example:
      vacr sql "select week, model, sum(cost) from weekly_usage group by 1, 2"
      vacr sql "select tool, count(*), avg(is_error) from calls group by 1"
      vacr sql "select path, how from files where path like '%.py'" --format csv
    """
    voice = Voice("text" if format in ("table", "csv") else format, quiet, verbose)
    if tables:
        rows = [(name, *column) for name, columns in TABLES.items() for column in columns.items()]
        rows += [(name, column, "") for name, columns in VIEW_COLUMNS.items() for column in columns]
        answer = SqlResult(["table", "column", "type"], rows)
    elif not query:
        raise UsageError("no query", hint=_EXAMPLE)
    else:
        with open_fresh_index(voice, path) as index:
            answer = run_select(index.path, query, seconds=timeout)
    _print_answer(answer, format, voice)
    return 0


def _print_answer(answer: SqlResult, format: str, voice: Voice) -> None:
    """Print an answer as a table, as CSV, or as JSON."""
    if format == "csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([_make_csv_value(value) for value in row] for row in answer.rows)
        print_text(buffer.getvalue().rstrip("\r\n"))
    elif format == "table":
        rows = [answer.columns, *([_format_value(value) for value in row] for row in answer.rows)]
        numbers = {
            column
            for column in range(len(answer.columns))
            if answer.rows and all(_is_number(row[column]) for row in answer.rows)
        }
        width = get_terminal_width(sys.stdout)
        for line in align_columns(rows, right=frozenset(numbers), width=width):
            print_text(line)
    else:
        documents = [
            dict(zip(answer.columns, map(_make_json_value, row), strict=True))
            for row in answer.rows
        ]
        voice.data({"columns": answer.columns, "rows": documents})
        for document in documents:
            voice.line(document)


def _is_number(value: Any) -> bool:
    return value is None or type(value) in (int, float)


def _format_value(value: Any) -> str:
    """Return a value for a table: in one line, empty for NULL."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value.hex() if isinstance(value, bytes) else str(value)
    return " ".join(text.split())


def _make_csv_value(value: Any) -> Any:
    """Return a value for CSV; a quote before a text keeps spreadsheets from running it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


def _make_json_value(value: Any) -> Any:
    """Return a value for JSON; bytes as hexadecimal digits."""
    return value.hex() if isinstance(value, bytes) else value

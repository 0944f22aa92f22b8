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
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from vacr.archive import (
    TABLES,
    VIEW_COLUMNS,
    SqlResult,
    run_select,
    write_answer,
    write_tables,
)
from vacr.cli.index_answers import answer_from_index
from vacr.cli.options import PATH, NumberRange, Verb
from vacr.console import Voice, align_columns, get_terminal_width, print_text
from vacr.errors import UsageError
from vacr.workflows import format_count

_EXAMPLE = 'For example: vacr sql "select agent, count(*) from records group by agent"'
_UNKNOWN_NAME = re.compile(r"no such (table|column): (\S+)")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("query", required=False)
@click.option("--tables", is_flag=True, help="List the tables and their columns.")
@click.option(
    "--timeout",
    type=NumberRange(0.1, 3600),
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
    help="Ask about the records or sessions at this path, not those of this machine; repeatable.",
)
@click.option(
    "--format",
    type=click.Choice(["table", "json", "jsonl", "csv", "parquet"]),
    default="table",
    show_default=True,
    help="Output format; parquet needs -o FILE.",
)
@click.option("--to", type=click.Choice(["parquet"]), help="Export all tables to the folder of -o.")
@click.option(
    "-o",
    "--output",
    metavar="FILE|FOLDER/",
    type=PATH,
    help="Output file for --format parquet, or output folder for --to parquet.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors and the answer.")
@click.option("-v", "--verbose", count=True, help="Print more details.")
def command(
    query: str | None,
    tables: bool,
    timeout: float,
    path: tuple[str, ...],
    format: str,
    to: str | None,
    output: str | None,
    overwrite: bool,
    quiet: bool,
    verbose: int,
) -> int:
    """Ask a question about all conversations on this machine, in SQL.

    The tables are records, entries, calls, files, usage, and weekly_usage, a sum by week, agent,
    repository, project and model. QUERY is one SELECT in SQLite's language. It cannot change
    anything. Times are in milliseconds since 1970, days in UTC, costs in dollars. Of several
    recordings of one session, all but one have `is_repeated` set. The agent's own recording wins,
    then the longest.

    \b
    Example:
      vacr sql "select week, model, sum(cost) from weekly_usage group by 1, 2"
      vacr sql "select tool, count(*), avg(is_error) from calls group by 1"
      vacr sql "select path, how from files where path like '%.py'" --format csv
      vacr sql "select * from usage" --format parquet -o usage.parquet
      vacr sql --to parquet -o tables/
    """
    voice = Voice("text" if format in ("table", "csv", "parquet") else format, quiet, verbose)
    target = _check_target(format, to, output, query, overwrite=overwrite)
    if to is not None and target is not None:
        return _export_tables(target, path, voice)
    if tables:
        rows = [(name, *column) for name, columns in TABLES.items() for column in columns.items()]
        rows += [(name, column, "") for name, columns in VIEW_COLUMNS.items() for column in columns]
        answer = SqlResult(["table", "column", "type"], rows)
    elif not query:
        raise UsageError("no query", hint=_EXAMPLE)
    else:
        statement = query
        try:
            answer = answer_from_index(
                lambda index: run_select(index.path, statement, seconds=timeout), voice, path
            )
        except UsageError as error:
            error.hint = _suggest_name(error.message) or error.hint
            raise
    if target is not None:
        voice.result(f"{output}: {format_count(write_answer(target, answer), 'row')}")
    else:
        _print_answer(answer, format, voice)
    return 0


def _suggest_name(message: str) -> str:
    """Return a hint about the tables or columns for an error of SQLite; empty for other errors."""
    found = _UNKNOWN_NAME.search(message)
    if found is None:
        return ""
    tables = {**TABLES, **VIEW_COLUMNS}
    columns = {column for columns in tables.values() for column in columns}
    kind, name = found[1], found[2].rpartition(".")[2]
    near = get_close_matches(name, tables if kind == "table" else sorted(columns), 1)
    guess = f"Did you mean {near[0]}? " if near else ""
    if kind == "table":
        return f"{guess}The tables are {', '.join(tables)}."
    return f"{guess}For all columns: vacr sql --tables"


def _check_target(
    format: str, to: str | None, output: str | None, query: str | None, *, overwrite: bool
) -> Path | None:
    """Return the file or folder for Parquet, or None if the answer is printed.

    Raises:
        UsageError: options do not fit together, or the file exists.
    """
    if to is None and format != "parquet":
        if output is not None:
            raise UsageError(
                "-o needs --format parquet, or --to parquet",
                hint="To write the answer to a file in another format: vacr sql QUERY > FILE",
            )
        return None
    if output is None:
        if to is not None:
            raise UsageError("--to parquet needs an output folder", hint="Add -o tables/")
        raise UsageError("--format parquet needs an output file", hint="Add -o FILE.parquet")
    if to is not None and query:
        raise UsageError("--to exports whole tables", hint="For a query: --format parquet -o FILE")
    target = Path(output)
    names = [*TABLES, *VIEW_COLUMNS] if to is not None else []
    files = [target / f"{name}.parquet" for name in names] or [target]
    existing = next((file for file in files if file.exists()), None)
    if existing is not None and not overwrite:
        raise UsageError("the file exists", where=str(existing), hint="Add --overwrite.")
    return target


def _export_tables(folder: Path, paths: tuple[str, ...], voice: Voice) -> int:
    """Write all tables to a folder, one Parquet file each; return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = answer_from_index(lambda index: write_tables(index.connection, folder), voice, paths)
    for name, count in counts.items():
        voice.result(f"{folder / name}.parquet: {format_count(count, 'row')}")
    voice.data({"folder": str(folder), "rows": counts})
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
        lines = align_columns(rows, right=frozenset(numbers), width=width)
        if width is not None and any(len(line) > width for line in lines):
            lines = _list_rows(rows)
        for line in lines:
            print_text(line)
    else:
        documents = [
            dict(zip(answer.columns, map(_make_json_value, row), strict=True))
            for row in answer.rows
        ]
        voice.data({"columns": answer.columns, "rows": documents})
        for document in documents:
            voice.line(document)


def _list_rows(rows: list[list[str]]) -> list[str]:
    """Return a table that is too wide for the terminal as a line for each cell."""
    head, *others = rows
    lines = []
    for row in others:
        cells = [[name, cell] for name, cell in zip(head, row, strict=True) if cell]
        lines += ["", *align_columns(cells, right=frozenset())] if cells else [""]
    return lines[1:]


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

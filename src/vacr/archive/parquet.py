"""Tables and answers as Parquet files, for DuckDB, Spark and others.

    >>> from vacr.archive import SqlResult
    >>> from vacr.archive.parquet import choose_column_types
    >>> choose_column_types(SqlResult(["model", "cost"], [("opus", 2), ("haiku", 0.5)]))
    ['string', 'double']

The package pyarrow is loaded when a file is written. Without it, the error names the extra.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from vacr.archive.search_index import TABLES, VIEW_COLUMNS
from vacr.archive.searching import SqlResult
from vacr.errors import UnwritableOutput, UsageError

_BATCH_ROWS = 20_000
_TEXT, _NUMBER, _REAL, _BYTES = "string", "int64", "double", "binary"
_TYPES_OF_COLUMNS = {"TEXT": _TEXT, "INTEGER": _NUMBER, "REAL": _REAL}


def write_answer(path: Path, answer: SqlResult) -> int:
    """Write the answer of a query to a Parquet file, and return the number of rows.

    Raises:
        UsageError: pyarrow is not installed.
        UnwritableOutput: the file cannot be written.
    """
    return _write_rows(path, answer.columns, choose_column_types(answer), answer.rows)


def choose_column_types(answer: SqlResult) -> list[str]:
    """Return the Parquet type of each column: of mixed values, text."""
    types = []
    for number in range(len(answer.columns)):
        kinds = {type(row[number]) for row in answer.rows} - {type(None)}
        if kinds == {int}:
            types.append(_NUMBER)
        elif kinds and kinds <= {int, float}:
            types.append(_REAL)
        else:
            types.append(_BYTES if kinds == {bytes} else _TEXT)
    return types


def write_tables(connection: sqlite3.Connection, folder: Path) -> dict[str, int]:
    """Write each table and view of the index to a file in a folder; return the rows of each.

    Raises:
        UsageError: pyarrow is not installed.
        UnwritableOutput: a file cannot be written.
    """
    counts = {}
    for table, columns in TABLES.items():
        types = [_TYPES_OF_COLUMNS[kind.split()[0]] for kind in columns.values()]
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM {table}")
        counts[table] = _write_rows(folder / f"{table}.parquet", list(columns), types, rows)
    for view, names in VIEW_COLUMNS.items():
        rows = connection.execute(f"SELECT {', '.join(names)} FROM {view}")
        answer = SqlResult(list(names), rows.fetchall())
        counts[view] = write_answer(folder / f"{view}.parquet", answer)
    return counts


def _write_rows(
    path: Path, columns: Sequence[str], types: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> int:
    """Write rows to a file that only the user can read, and return how many there were."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(
            "writing Parquet needs the package pyarrow", hint="pip install 'vacr[parquet]'"
        ) from error
    schema = pa.schema(list(zip(columns, types, strict=True)))
    part = path.with_name(f".{path.name}.{os.getpid()}")
    count = 0
    try:
        with (
            os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file,
            parquet.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            for batch in _split_rows(rows):
                cells = [
                    pa.array([_fit_value(row[at], kind) for row in batch], type=kind)
                    for at, kind in enumerate(schema.types)
                ]
                writer.write_table(pa.Table.from_arrays(cells, schema=schema))
                count += len(batch)
        part.replace(path)
    except OSError as error:
        raise UnwritableOutput(error.strerror or str(error), where=str(path)) from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _split_rows(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows in batches."""
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH_ROWS)):
        yield batch


def _fit_value(value: Any, kind: Any) -> Any:
    """Return a value that a column of this type can have."""
    if value is None or str(kind) != _TEXT or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)

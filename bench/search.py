"""Measure the index of conversations: building it, searching it, and asking it in SQL.

The sessions are those of the corpus, or the examples, over and over under other names, so that the
index holds thousands of conversations. Building is compared with the size of the sources, and an
answer with reading one record of a mean size.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessions import CORPUS, ROOT

import vacr
from vacr.archive import (
    SearchIndex,
    SearchQuery,
    SourceVersion,
    build_record_rows,
    run_select,
    search_entries,
)
from vacr.errors import VacrError
from vacr.record import encode_canonical_json

CONVERSATIONS = 10_000
RUNS = 5
QUESTIONS = {
    "tokens by model and week": "select week, model, sum(output) from weekly_usage group by 1, 2",
    "tools that fail": "select tool, count(*), avg(is_error) from calls group by 1 order by 2 desc",
    "who touched a file": "select agent, how from files join records using (record) "
    "where path = '/home/mira/invoice/total.py'",
    "sessions of a repository": "select id, title from records where repo = 'git.example/invoice'",
}


def search() -> None:
    """Print how fast the index is built from records, and how fast it answers."""
    begun = time.process_time()
    records, native_size = _read_records()
    reading = time.process_time() - begun
    record_size = sum(len(encode_canonical_json(record)) for record in records)
    with tempfile.TemporaryDirectory() as folder:
        index = SearchIndex.open(Path(folder))
        copies = max(1, CONVERSATIONS // len(records))
        seconds, slowest = _build_index(index, records, copies)
        total = copies * record_size
        megabytes = total / 1e6
        print(
            f"search              {megabytes / seconds:5.1f} MB of records indexed per CPU second "
            f"({copies * len(records):,} conversations, {megabytes:,.0f} MB)"
        )
        native_rate = native_size / 1e6 / (reading + seconds / copies)
        print(f"  native sessions   {native_rate:5.1f} MB read and indexed per CPU second")
        size = index.path.stat().st_size
        print(f"  size              {size / total:5.2f} x the records")
        print(f"  one session       {1e3 * slowest:5.1f} ms CPU at the median")
        phrase = SearchQuery(("no", "such", "file"), is_phrase=True)
        found = search_entries(index.connection, phrase).count
        milliseconds = 1e3 * _time_best(lambda: search_entries(index.connection, phrase))
        print(f"  phrase            {milliseconds:5.1f} ms CPU ({found:,} hits)")
        for name, question in QUESTIONS.items():
            ask = _make_question(index.path, question)
            print(f"  {name:<25} {1e3 * _time_best(ask):5.1f} ms CPU")
        index.close()


def _make_question(path: Path, question: str) -> Callable[[], object]:
    """Return a function that asks a question."""
    return lambda: run_select(path, question)


def _read_records() -> tuple[list[dict[str, Any]], int]:
    """Return the records of all real sessions, or of the examples, and the bytes of their files."""
    folder = CORPUS if CORPUS.is_dir() else ROOT / "examples"
    records: list[Any] = []
    size = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            records += vacr.read(path)
        except VacrError:
            continue
        size += path.stat().st_size
    return records, size


def _build_index(
    index: SearchIndex, records: list[dict[str, Any]], copies: int
) -> tuple[float, float]:
    """Add each record several times; return the CPU seconds, and the median of one session."""
    single: list[float] = []
    begun = time.process_time()
    for number in range(copies):
        with index.transaction():
            for position, record in enumerate(records):
                start = time.process_time()
                version = SourceVersion(f"/{number}/{position}", "", 0, 0, "1")
                index.add_source(version, [build_record_rows(_rename(record, number))])
                single.append(time.process_time() - start)
    with index.transaction():
        index.mark_repeated_records()
    return time.process_time() - begun, sorted(single)[len(single) // 2]


def _rename(record: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a shallow copy of a record as another session."""
    renamed = copy.copy(record)
    session_id = f"{record['session']['session-id']}-{number}"
    renamed["session"] = {**record["session"], "session-id": session_id}
    return renamed


def _time_best(work: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of several runs."""
    times = []
    for _ in range(RUNS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)

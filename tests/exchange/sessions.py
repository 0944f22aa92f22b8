"""The records of all sessions there are: our examples and fixtures, and real ones where there are
any.
"""

import functools

import vacr
from tests.conftest import AGENTS, CORPUS, EXAMPLES, FIXTURES, native_files
from vacr.errors import InvalidRecord, NotASession
from vacr.exchange.export import ExportRequest


def all_records():
    """Give the records of all sessions, with the names of their files."""
    files = [path for agent in AGENTS for path in native_files(agent)]
    for path in [*files, *_databases(), FIXTURES / "opencode" / "storage"]:
        try:
            for record in vacr.read(path):
                yield path.name, record
        except NotASession:
            continue


def _databases():
    """Give the sessions of the corpus that are databases."""
    if not CORPUS.is_dir():
        return []
    return sorted(
        path
        for agent in AGENTS
        for path in (CORPUS / agent).glob("*")
        if path.read_bytes()[:6] == b"SQLite"
    )


@functools.cache
def example(name):
    """Give the record of an example."""
    return next(iter(vacr.read(EXAMPLES / name)))


def exports(export, **asked):
    """Give what all records are exported as; those that are of events alone have nothing to
    export.
    """
    for name, record in all_records():
        try:
            yield name, record, export(record, ExportRequest("ab" * 32, **asked))
        except InvalidRecord:
            if not {entry["type"] for entry in record["session"]["entries"]} <= {"system-event"}:
                raise

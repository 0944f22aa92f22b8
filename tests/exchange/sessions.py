"""The records of all sessions: examples, fixtures and, if present, the corpus of real ones."""

import functools

import vacr
from tests.conftest import AGENTS, CORPUS, EXAMPLES, FIXTURES, native_files
from vacr.errors import InvalidRecord, NotASession
from vacr.exchange.export import ExportRequest


def read_all_records():
    """Yield the name of the file and the record of each session."""
    files = [path for agent in AGENTS for path in native_files(agent)]
    for path in [*files, *_list_databases(), FIXTURES / "opencode" / "storage"]:
        try:
            for record in vacr.read(path):
                yield path.name, record
        except NotASession:
            continue


def _list_databases():
    """Return the databases in the corpus."""
    if not CORPUS.is_dir():
        return []
    return sorted(
        path
        for agent in AGENTS
        for path in (CORPUS / agent).glob("*")
        if path.read_bytes()[:6] == b"SQLite"
    )


@functools.cache
def load_example(name):
    """Return the record of an example."""
    return next(iter(vacr.read(EXAMPLES / name)))


def export_all_records(export, **options):
    """Yield name, record and export of each session; a session of events alone may be rejected."""
    for name, record in read_all_records():
        try:
            yield name, record, export(record, ExportRequest("ab" * 32, **options))
        except InvalidRecord:
            if not {entry["type"] for entry in record["session"]["entries"]} <= {"system-event"}:
                raise

"""The entries of a record that a test of an agent is about."""

from tests.attribution.sessions import list_changes
from vacr.discovery.opening import read_sessions
from vacr.record import walk_entries

UNMARKED_LINES = [
    {"type": "find", "status": "done"},
    {"type": "message", "status": "done", "message": {}, "role": "user"},
    {"resourceSpans": []},
    {"resourceSpans": [{"resource": {"attributes": []}}]},
]
"""Lines that lack the marks of the agent whose lines they resemble."""


def read_place(path, **options):
    """Return the records of all sessions in a file or a folder."""
    return [opened.reading.record for opened in read_sessions(path, **options)]


def list_entries(record, *types):
    """Return the entries of some types, without children."""
    return [entry for entry in record["session"]["entries"] if entry["type"] in types]


def list_typed(record, *types):
    """Return the entries of some types, children included."""
    return [entry for entry in walk_entries(record["session"]["entries"]) if entry["type"] in types]


def list_outcomes(record):
    """Return the call, the status and the exit code of each result, without children."""
    return [
        (entry["call-id"], entry.get("status"), entry.get("vacr", {}).get("exit-code"))
        for entry in list_entries(record, "tool-result")
    ]


def list_events(record, name):
    """Return the events of this name."""
    return [entry for entry in record["session"]["entries"] if entry.get("event-type") == name]


def list_last_lines(record):
    """Return the lines of the last change of each file whose place is known."""
    return {path: lines for path, lines, _ in list_changes([record]) if lines}

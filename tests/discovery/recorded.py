"""The records of the sessions at a path."""

import json

from vacr import validate
from vacr.discovery.opening import read_sessions
from vacr.errors import VacrError
from vacr.record.encoding import encode_with_id


def read_all_sessions(path, **wish) -> list:
    """Read all sessions at a path, and check that none failed."""
    found = list(read_sessions(path, keep_source=True, **wish))
    for session in found:
        assert not isinstance(session, VacrError), session.diagnostics()
    return found


def record_bytes(found) -> bytes:
    """Return the bytes of a record."""
    return b"".join(encode_with_id(found.reading.record))


def records(path, **wish) -> dict[str, dict]:
    """Return the records at a path by session id, and check that each is valid."""
    made = {}
    for found in read_all_sessions(path, **wish):
        record = json.loads(record_bytes(found))
        assert validate(record).findings == []
        made[record["session"]["session-id"]] = record
    return made


def shape(entry) -> tuple | str:
    """Return the type of an entry, with the shapes of its children."""
    kind = entry.get("event-type") if entry["type"] == "system-event" else entry["type"]
    return (kind, *map(shape, entry["children"])) if "children" in entry else kind

"""Records of what lies at a path, as a stranger gets them."""

import json

from vacr.discovery.opening import read_sessions
from vacr.errors import VacrError
from vacr.record.encoding import assign_record_id
from vacr.record.validation import validate


def found_at(path, **wish) -> list:
    """Read all sessions at a path, none of which may fail."""
    found = list(read_sessions(path, keep_source=True, **wish))
    for one in found:
        assert not isinstance(one, VacrError), one.diagnostics()
    return found


def record_bytes(found) -> bytes:
    """Give the bytes of a record."""
    return b"".join(assign_record_id(found.reading.record))


def records(path, **wish) -> dict[str, dict]:
    """Give the records at a path by their session's id, each of them valid."""
    made = {}
    for found in found_at(path, **wish):
        record = json.loads(record_bytes(found))
        assert validate(record).findings == []
        made[record["session"]["session-id"]] = record
    return made


def shape(entry) -> tuple | str:
    """Tell what an entry is, and what its children are."""
    kind = entry.get("event-type") if entry["type"] == "system-event" else entry["type"]
    return (kind, *map(shape, entry["children"])) if "children" in entry else kind

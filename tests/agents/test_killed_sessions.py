"""Sessions that were cut off anywhere, as by a kill, state no outcome that the host did not."""

import pytest

from tests.conftest import FIXTURES, FOLDERS, native_files, records_of
from vacr.errors import NotASession, UnreadableInput

MAX_BYTES = 200_000
# A single document is refused where it is cut, as `test_bad_input` shows.
FILES = [
    pytest.param(path, id=f"{agent}/{path.name[-40:]}")
    for agent in FOLDERS
    for path in native_files(agent)
    if path.is_relative_to(FIXTURES)
    and path.suffix in (".jsonl", ".md")
    and path.stat().st_size < MAX_BYTES
]


def list_statuses(data):
    """Return the statuses of results, by the id of their call; empty if there is no session yet."""
    try:
        records = records_of(data)
    except (NotASession, UnreadableInput):
        return {}
    statuses = {}
    stack = [entry for record in records for entry in record["session"]["entries"]]
    while stack:
        entry = stack.pop()
        stack += entry.get("children", ())
        if entry["type"] == "tool-result":
            statuses.setdefault(entry.get("call-id"), set()).add(entry.get("status"))
    return statuses


@pytest.mark.parametrize("path", FILES)
def test_killed_session_has_no_success_that_the_whole_one_lacks(path):
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    whole = list_statuses(data)
    for count in range(1, len(lines)):
        for half in (b"", lines[count][: len(lines[count]) // 2]):
            for call_id, found in list_statuses(b"".join(lines[:count]) + half).items():
                assert "success" not in found or "success" in whole[call_id], (count, call_id)

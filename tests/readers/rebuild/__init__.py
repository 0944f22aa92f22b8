"""The way back: native values from records, to show that nothing was lost. Independent of the readers' own tables.

What cannot come back are members that were null where an object was taken apart: the format leaves them out. The `native`
functions take them from a native value likewise. Nor does the order of a dump's documents, which means nothing.
"""

import base64
import copy

from tests.readers.rebuild import cursor_transcripts, gemini_cli, open_code
from tests.readers.rebuild.claude_code import claude_line
from tests.readers.rebuild.codex_cli import codex_line
from tests.readers.rebuild.comparing import comparable, without_nulls

__all__ = ["assert_same", "comparable", "lines", "text", "values", "without_nulls"]

LINES = {"claude-jsonl": claude_line, "codex-jsonl": codex_line, "cursor-jsonl": cursor_transcripts.line}
# Format → the values of a record; a native value without what the format leaves out.
WHOLE = {
    "gemini-json": (gemini_cli.values, gemini_cli.native),
    "gemini-jsonl": (gemini_cli.values, gemini_cli.native),
    "opencode-export": (open_code.exported, open_code.native),
    "opencode-json": (open_code.values, open_code.native),
}
UNORDERED = {"opencode-json"}

text = cursor_transcripts.text


def lines(record: dict) -> list:
    """Give the native lines that a record was made of, and the bytes of those that could not be decoded."""
    back = LINES[format_of(record)]
    found = []
    for entry in copy.deepcopy(record["session"]["entries"]):
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif "not-an-object" in ours:
            found.append(entry["data"]["value"])
        elif "repaired" not in ours:
            found.append(back(entry))
    return found


def format_of(record: dict) -> str:
    return record["vacr"]["source"]["format"]


def values(records: list[dict]) -> list:
    """Give the native values that the records of one source were made of, and the bytes that could not be decoded."""
    found = []
    for record in copy.deepcopy(records):
        back = WHOLE[format_of(record)][0] if format_of(record) in WHOLE else lines
        found += back(record)
    return open_code.with_shared_once(found) if format_of(records[0]).startswith("opencode") else found


def assert_same(records: list[dict], native: list) -> None:
    """Show that the native values come back from the records of a source."""
    formats = {format_of(record) for record in records}
    normal = WHOLE[min(formats)][1] if min(formats) in WHOLE else without_nulls
    back = [comparable(normal(value)) for value in values(records) if not isinstance(value, bytes)]
    there = [comparable(normal(value)) for value in native]
    if formats & UNORDERED:
        back, there = sorted(back), sorted(there)
    assert back == there

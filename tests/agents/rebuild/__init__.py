"""The way back: native values rebuilt from records, without the readers' own tables.

Two things do not come back. The format leaves out members that were null where a reader takes an
object apart; the `native` functions remove these from a native value, too. And the order of a
dump's documents is lost, because it has no meaning.
"""

import base64
import copy

from tests.agents.rebuild import (
    cursor_transcripts,
    gemini_cli,
    kimi,
    open_code,
    pi_entries,
    qwen_code,
)
from tests.agents.rebuild.claude_code import claude_line
from tests.agents.rebuild.codex_cli import codex_line
from tests.agents.rebuild.comparing import comparable, remove_labels, without_nulls

__all__ = ["assert_same", "comparable", "lines", "text", "values", "without_nulls"]

LINES = {
    "claude-jsonl": claude_line,
    "codex-jsonl": codex_line,
    "cursor-jsonl": cursor_transcripts.line,
    "iflow-jsonl": claude_line,
    "kimi-code-jsonl": kimi.code_line,
    "kimi-context": kimi.context_line,
    "kimi-wire": kimi.wire_line,
    "openclaw-jsonl": pi_entries.line,
    "pi-jsonl": pi_entries.line,
    "qwen-jsonl": qwen_code.line,
    "traex-jsonl": codex_line,
}
# Format → functions that return the values of a record, and a native value without nulls.
WHOLE = {
    "gemini-json": (gemini_cli.values, gemini_cli.native),
    "gemini-jsonl": (gemini_cli.values, gemini_cli.native),
    "qwen-json": (gemini_cli.values, gemini_cli.native),
    "qwen-log": (gemini_cli.values, gemini_cli.native),
    "opencode-export": (open_code.exported, open_code.native),
    "opencode-json": (open_code.values, open_code.native),
}
UNORDERED = {"opencode-json"}

text = cursor_transcripts.text


def lines(record: dict) -> list:
    """Return the native lines of a record, and the bytes of undecodable lines."""
    back = LINES[format_of(record)]
    found = []
    entries = copy.deepcopy(record["session"]["entries"])
    remove_labels(entries)
    for entry in entries:
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif "repaired" not in ours:
            found.append(entry["data"]["value"] if "not-an-object" in ours else back(entry))
    return found


def format_of(record: dict) -> str:
    return record["vacr"]["source"]["format"]


def values(records: list[dict]) -> list:
    """Return the native values of the records of one source, and the undecodable bytes."""
    found = []
    for record in copy.deepcopy(records):
        if format_of(record) in WHOLE:
            remove_labels(record["session"]["entries"])
            found += WHOLE[format_of(record)][0](record)
        else:
            found += lines(record)
    return (
        open_code.with_shared_once(found) if format_of(records[0]).startswith("opencode") else found
    )


def assert_same(records: list[dict], native: list, *, with_bytes: bool = False) -> None:
    """Check that the native values come back from the records of a source.

    Undecodable bytes go to the end of a session, so `with_bytes` ignores the order.
    """
    found = [value for value in values(records) if with_bytes or not isinstance(value, bytes)]
    back, there = (list(map(normal_of(format_of(records[0])), some)) for some in (found, native))
    if with_bytes or any(format_of(record) in UNORDERED for record in records):
        back, there = sorted(back, key=repr), sorted(there, key=repr)
    assert back == there


NORMAL = {"kimi-code-jsonl": kimi.native}
"""Format of lines → the function that removes the nulls of a native value, if it is special."""


def normal_of(form: str):
    """Return the function that makes native values of a format comparable."""
    normal = WHOLE[form][1] if form in WHOLE else NORMAL.get(form, without_nulls)
    return lambda value: value if isinstance(value, bytes) else comparable(normal(value))

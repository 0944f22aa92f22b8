"""The way back: native values rebuilt from records, without the readers' own tables.

Two things do not come back. The format leaves out members that were null where a reader takes an
object apart; the `native` functions remove these from a native value, too. And the order of a
dump's documents is lost, because it has no meaning.
"""

import base64
import copy

from tests.agents.independent.counts import documents
from tests.agents.rebuild import (
    acp_talks,
    aider,
    chat_documents,
    copilot_events,
    cursor_transcripts,
    droid,
    gemini_cli,
    generic,
    goose,
    gptme,
    grok,
    hermes,
    json_sessions,
    kimi,
    open_code,
    openclaw_rows,
    openhands,
    pi_entries,
    qwen_code,
    session_rows,
    vibe,
    vscode_chats,
    windsurf_steps,
    zed,
)
from tests.agents.rebuild.claude_code import claude_line
from tests.agents.rebuild.codex_cli import codex_line
from tests.agents.rebuild.comparing import comparable, remove_labels, without_nulls

__all__ = ["assert_same", "comparable", "lines", "text", "values", "without_nulls"]

LINES = {
    "claude-jsonl": claude_line,
    "codex-jsonl": codex_line,
    "copilot-jsonl": copilot_events.line,
    "vscode-copilot-jsonl": copilot_events.line,
    "visualstudio-otlp": windsurf_steps.trace,
    "windsurf-jsonl": windsurf_steps.line,
    "cursor-jsonl": cursor_transcripts.line,
    "droid-jsonl": droid.line,
    "droid-stream": droid.stream_line,
    "iflow-jsonl": claude_line,
    "kimi-code-jsonl": kimi.code_line,
    "kimi-context": kimi.context_line,
    "kimi-wire": kimi.wire_line,
    "openclaw-jsonl": pi_entries.line,
    "pi-jsonl": pi_entries.line,
    "qwen-jsonl": qwen_code.line,
    "traex-jsonl": codex_line,
    "vibe-journal": vibe.journal_line,
    "vibe-jsonl": vibe.line,
    "goose-jsonl": goose.line,
    "gptme-jsonl": gptme.line,
    "grok-jsonl": grok.line,
}
# Format → functions that return the values of a record, and a native value without nulls.
WHOLE = {
    "gemini-json": (gemini_cli.values, gemini_cli.native),
    "gemini-jsonl": (gemini_cli.values, gemini_cli.native),
    "vscode-chat-json": (vscode_chats.values, vscode_chats.native),
    "vscode-chat-jsonl": (vscode_chats.values, vscode_chats.native),
    "qwen-json": (gemini_cli.values, gemini_cli.native),
    "qwen-log": (gemini_cli.values, gemini_cli.native),
    **dict.fromkeys(
        ("generic-json", "generic-list", "generic-jsonl"), (generic.values, generic.native)
    ),
    "opencode-export": (open_code.exported, open_code.native),
    "opencode-json": (open_code.values, open_code.native),
    "acp-jsonl": (acp_talks.values, acp_talks.native),
    "crush-sqlite": (session_rows.values, session_rows.native),
    "goose-sqlite": (goose.rows, goose.native_row),
    "zed-sqlite": (zed.rows, zed.native),
    "vibe-json": (vibe.session_file, chat_documents.native),
    "hermes-sqlite": (hermes.rows, hermes.native_row),
    "hermes-json": (hermes.session_file, chat_documents.native),
    "openclaw-sqlite": (openclaw_rows.values, openclaw_rows.native),
    "openhands-events": (openhands.events, openhands.native),
    "openhands-history": (openhands.history, openhands.native),
    "swe-agent-traj": (chat_documents.swe_agent, chat_documents.native),
    "mini-swe-agent-json": (chat_documents.mini_swe_agent, chat_documents.native),
    "cline-session": (json_sessions.cline_session, json_sessions.native),
    "cline-task": (json_sessions.cline_task, json_sessions.native),
    "cline-ui": (json_sessions.cline_screen, json_sessions.native),
    "amp-json": (json_sessions.amp_thread, json_sessions.native),
    "continue-json": (json_sessions.continue_session, json_sessions.continue_native),
    "continue-index": (json_sessions.continue_index, json_sessions.native),
}
UNORDERED = {"opencode-json", "crush-sqlite", "swe-agent-traj", "mini-swe-agent-json"}
UNORDERED |= {"openhands-events", "openhands-history", "hermes-sqlite", "hermes-json"}
UNORDERED |= {"goose-sqlite", "vibe-json", "zed-sqlite", "openclaw-sqlite"}

TEXTS = {
    "cursor-text": lambda *records: cursor_transcripts.text(*records).encode(),
    "aider-markdown": aider.text,
    "aider-llm": aider.text,
    "aider-input": aider.text,
}
"""Format → the function that returns the bytes of a source from its records."""
UNORDERED |= {"cline-session", "cline-task", "cline-ui", "amp-json", "continue-json"}
UNORDERED |= {"continue-index", "visualstudio-otlp", "acp-jsonl"}

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
    if format_of(records[0]).startswith("aider"):
        return list(documents(aider.text(*records)))
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


NORMAL = {"kimi-code-jsonl": kimi.native, "goose-jsonl": goose.native_line}
NORMAL |= {"kimi-wire": kimi.native_wire_line, "vibe-jsonl": chat_documents.chat_message}
NORMAL |= {"grok-jsonl": chat_documents.chat_message}
"""Format of lines → the function that removes the nulls of a native value, if it is special."""


def normal_of(form: str):
    """Return the function that makes native values of a format comparable."""
    normal = WHOLE[form][1] if form in WHOLE else NORMAL.get(form, without_nulls)
    return lambda value: value if isinstance(value, bytes) else comparable(normal(value))

r"""Cursor conversations: transcripts in JSONL and in plain text, and rows of its databases.

A transcript has no ids, times, models or results. Its session is named by its file if that is a
UUID, or else by its content. The databases hold more; see `databases`.

In the older text transcripts a line `user:` or `assistant:` opens a message, and `[Thinking]`,
`[Tool call] Name` or `[Tool result] Name` opens a block of it. The format does not
mark where thinking ends and the answer begins, so the text after `[Thinking]` stays with it. Each
block keeps its text, so the file can be rebuilt; the parameters of a call are parsed as well as
possible.

>>> from vacr.agents.cursor.reader import parse_text_messages
>>> text = "user:\nTidy up.\nassistant:\nOn it.\n[Tool call] Delete\n  path: old.py\n"
>>> for message in parse_text_messages(text):
...     for block in message["content"]:
...         print(message["role"], block["type"], block.get("input", block["text"]))
user text Tidy up.
<BLANKLINE>
assistant text On it.
<BLANKLINE>
assistant tool_use {'path': 'old.py'}

docs/mapping/cursor.md is generated from the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.cursor.databases import add_database_entries, is_cursor_export_head
from vacr.agents.cursor.stores import DATABASES
from vacr.agents.documents import decode_exact_json
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    add_remaining_members,
    is_one_of,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

__all__ = ["DATABASES", "NAMED", "STORES", "SUB_SESSIONS", "formats", "name", "read", "recognises"]

name = "cursor"
formats = ("cursor-jsonl", "cursor-text", "cursor-vscdb", "cursor-store")

STORES = (
    SessionStore(
        (
            "projects/*/agent-transcripts/*.jsonl",
            "projects/*/agent-transcripts/*.txt",
            "projects/*/agent-transcripts/*/*.jsonl",
            "projects/*/agent-transcripts/*/*.txt",
            "projects/*/agent-transcripts/*/subagents/*.jsonl",
            "chats/*/*/store.db",
            "acp-sessions/*/store.db",
        ),
        "~/.cursor",
        "CURSOR_DATA_DIR",
    ),
    SessionStore(
        ("globalStorage/state.vscdb", "workspaceStorage/*/state.vscdb"),
        "~/.config",
        "XDG_CONFIG_HOME",
        "Cursor/User",
        systems={"darwin": "~/Library/Application Support", "win32": "~/AppData/Roaming"},
        variables={"darwin": "", "win32": "APPDATA"},
    ),
)
# Only the folder of a sub-agent's transcript names its parent.
NAMED = re.compile(r"[^/]+/subagents/[^/]+$")
SUB_SESSIONS = (
    "subagents/*.jsonl",
    "subagents/*.txt",
    "{stem}/subagents/*.jsonl",
    "{stem}/subagents/*.txt",
)

CURSOR_LINE_MOVES = Lift(Move("model", "model-id"))
CURSOR_MESSAGE_MOVES = Lift(Move("content", "content", None))
CURSOR_LINE_MEMBERS = frozenset(("role", "message"))
CURSOR_LINE_ROLES = frozenset(("user", "assistant"))
CURSOR_EVENT_TYPES = frozenset(("turn_ended", "error"))
CURSOR_RESERVED_EVENT_TYPES = frozenset(("unknown", "undecodable", "attached-file"))
"""Names of events that have no native type; a native type of such a name goes to `vacr.native`."""

CURSOR_ROLE_LINE = re.compile(r"^\ufeff?(user|assistant):[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
CURSOR_SHORT_ROLE_LINE = re.compile(r"^\ufeff?(user|A):[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
CURSOR_BLOCK_START = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]?", re.MULTILINE)
CURSOR_TEXT_ROLES = {"user": "user", "assistant": "assistant", "A": "assistant"}
CURSOR_TOOL_PARAMETERS = {
    "Write": ("path", "contents"),
    "StrReplace": ("path", "old_string", "new_string", "replace_all"),
    "Delete": ("path",),
    "Read": ("path", "offset", "limit"),
    "ReadFile": ("path", "offset", "limit"),
    "Shell": ("command", "description", "working_directory", "timeout")
    + ("block_until_ms", "required_permissions", "is_background"),
    "Grep": ("pattern", "path", "-i", "-A", "-B", "-C")
    + ("glob", "type", "output_mode", "head_limit", "multiline"),
    "Glob": ("target_directory", "glob_pattern"),
    "LS": ("target_directory", "ignore_globs"),
    "TodoWrite": ("todos", "merge"),
    "WebSearch": ("search_term", "explanation"),
    "WebFetch": ("url", "explanation"),
    "Task": ("subagent_type", "description", "prompt", "model", "readonly", "resume"),
    "ReadLints": ("paths",),
    "SemanticSearch": ("query", "target_directories", "num_results"),
    "ApplyPatch": ("patch",),
}
"""Tool → its parameters: a value may hold lines that only look like parameters."""
CURSOR_JSON_PARAMETERS = parse_names(
    """
    -A -B -C -i block_until_ms head_limit ignore_globs is_background limit merge multiline
    num_results offset paths readonly replace_all required_permissions target_directories timeout
    todos
    """
)
"""Parameters that are written as JSON. All others are text, even if it looks like JSON."""

_PARAMETER_START = re.compile(r"^  ([A-Za-z0-9_.-]+): ?", re.MULTILINE)
_JSON_PARAMETER = re.compile(r"true|false|null|-?[0-9][0-9.eE+-]*|[\[{].*[\]}]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is Cursor's; 0 if it is empty.

    A text that holds no JSON is one value.
    """
    if not sample:
        return 0.0
    if is_cursor_export_head(sample[0]):
        return 1.0
    return sum(map(_is_cursor_value, sample)) / len(sample)


def _is_cursor_value(value: Any) -> bool:
    """Return whether a value has the form of a line of Cursor, or of its text transcripts."""
    if type(value) is str:
        return is_text_transcript(value)
    if type(value) is not dict or "uuid" in value or "payload" in value:
        return False
    role = value.get("role")
    if type(role) is str and role in CURSOR_LINE_ROLES:
        message = value.get("message")
        return type(message) is dict and "content" in message and "type" not in value
    return is_one_of(value.get("type"), CURSOR_EVENT_TYPES) and "status" in value


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of one conversation."""
    with pause_garbage_collector():
        reading = _ConversationReader(source).read()
    yield reading


class _ConversationReader:
    """One conversation on its way into a record."""

    def __init__(self, source: Source) -> None:
        """Prepare to read a source: a transcript, or the export of a database."""
        self.source = source
        self.session = SessionBuilder("cursor-jsonl", "cursor")

    def read(self) -> Reading:
        """Return the record of the source, by its form: text, database export or lines."""
        session = self.session
        text = self.decode_text_transcript()
        if text is not None:
            self.add_text(text)
        elif any(map(is_cursor_export_head, self.source.main.sample(1))):
            add_database_entries(self.source, session)
        else:
            session.add_lines(self.source, self.make_entry)
        if session.session_id is None:
            self.name_by_file()
        session.tidy()
        return session.reading(self.source)

    def decode_text_transcript(self) -> str | None:
        """Return the text of a plain text transcript, or None for any other file."""
        if self.source.main.data.lstrip()[:1] in (b"{", b"["):
            return None
        try:
            text = self.source.main.data.decode()
        except UnicodeDecodeError:
            return None
        return text if is_text_transcript(text) else None

    def name_by_file(self) -> None:
        """Name a session by its file, if that is named by a UUID or is a sub-agent's."""
        *folders, file = self.source.main.name.split("/")
        stem = file.rpartition(".")[0] or file
        if _UUID.fullmatch(stem):
            self.session.session_id = stem
        if folders[1:] == ["subagents"]:
            self.session.parent, self.session.mode = folders[0], "autonomous"
            self.session.session_id = f"{folders[0]}/{stem}"

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line of a transcript into an entry; one without a message becomes an event."""
        drift = self.session.drift
        role, message = line.get("role"), line.get("message")
        if type(message) is not dict or type(role) is not str or role not in CURSOR_LINE_ROLES:
            kind = line.pop("type", None)
            if not is_one_of(kind, CURSOR_EVENT_TYPES):
                drift.count_type(kind)
            return make_typed_event(line, kind, CURSOR_RESERVED_EVENT_TYPES)
        if len(line) == len(CURSOR_LINE_MEMBERS) and len(message) == 1 and "content" in message:
            # Nearly every line is like this, and its message becomes the entry in place.
            message["type"] = role
            if views := build_child_entries(message["content"], drift.types, drift.members):
                message["children"] = views
            return message
        drift.count_members("line", line, CURSOR_LINE_MEMBERS)
        entry: JsonObject = {"type": line.pop("role")}
        CURSOR_LINE_MOVES.apply(line, entry)
        if "model-id" in entry:
            self.session.models[entry["model-id"]] += 1
        CURSOR_MESSAGE_MOVES.apply(message, entry)
        if not message:
            del line["message"]
        if views := build_child_entries(entry.get("content"), drift.types, drift.members):
            entry["children"] = views
        return add_remaining_members(entry, line)

    def add_text(self, text: str) -> None:
        """Add the entries of a text transcript; text before the first message becomes an event."""
        session = self.session
        session.format_id = "cursor-text"
        if preamble := get_text_preamble(text):
            event = {"type": "system-event", "event-type": "text", "data": {"text": preamble}}
            session.entries.append(event)
        for message in parse_text_messages(text):
            entry: JsonObject = {
                "type": message["role"],
                "line": message["line"],
                "content": message["content"],
            }
            if views := build_child_entries(entry["content"]):
                entry["children"] = views
            session.entries.append(entry)


# --- Text transcripts ---


def is_text_transcript(text: str) -> bool:
    """Return whether a text begins with a line that opens a message: a role alone, as in `user:`.

    A byte order mark, blanks and blank lines before it are skipped.
    """
    text = text.lstrip("\ufeff \t\r\n")
    return (CURSOR_ROLE_LINE.match(text) or CURSOR_SHORT_ROLE_LINE.match(text)) is not None


def get_text_preamble(text: str) -> str:
    """Return the text before the first message, or all of it without a message."""
    first = next(_find_message_starts(text), None)
    return text if first is None else text[: first.start()]


def parse_text_messages(text: str) -> Iterator[JsonObject]:
    """Yield the messages of a transcript: role, opening line, and the blocks of the rest."""
    for match, end in _pair_with_ends(_find_message_starts(text), len(text)):
        yield {
            "role": CURSOR_TEXT_ROLES[match[1]],
            "line": match[0],
            "content": list(_parse_blocks(text[match.end() : end])),
        }


def _find_message_starts(text: str) -> Iterator[re.Match[str]]:
    """Return the matches of the lines that open messages, in order."""
    # Where the assistant is called by its full name, a line `A:` is part of a message.
    has_full_name = any(match[1] == "assistant" for match in CURSOR_ROLE_LINE.finditer(text))
    pattern = CURSOR_ROLE_LINE if has_full_name else CURSOR_SHORT_ROLE_LINE
    return pattern.finditer(text)


def _pair_with_ends(starts: Iterable[re.Match[str]], end: int) -> list[tuple[re.Match[str], int]]:
    """Return the match that opens each section of a text, with the end of the section."""
    matches = list(starts)
    return list(zip(matches, [*(match.start() for match in matches[1:]), end], strict=False))


def _parse_blocks(text: str) -> Iterator[JsonObject]:
    """Yield the blocks of a message: the leading text, then thoughts, calls and results.

    A message without any block is one block of text, which may be empty.
    """
    starts = list(CURSOR_BLOCK_START.finditer(text))
    leading_text = text[: starts[0].start()] if starts else text
    if leading_text or not starts:
        yield {"type": "text", "text": leading_text}
    for match, end in _pair_with_ends(starts, len(text)):
        body = text[match.end() : end].replace("\r\n", "\n")
        if not text.startswith("[Tool call]", end):
            # Cursor writes an empty line before results and before the next message.
            body = body.removesuffix("\n")
        yield _parse_block(match[1], text[match.start() : end], body)


def _parse_block(kind: str, text: str, body: str) -> JsonObject:
    """Return one block as a thought, a tool result or a tool call, by its `kind`.

    `text` is all of it, `body` the part after the marker.
    """
    if kind == "Thinking":
        return {"type": "thinking", "thinking": body, "text": text}
    tool, _, rest = body.partition("\n")
    tool = tool.strip()
    if kind == "Tool result":
        return {"type": "tool_result", "content": rest.strip("\n"), "name": tool, "text": text}
    parameters = parse_tool_parameters(tool, rest)
    return {"type": "tool_use", "name": tool, "input": parameters, "text": text}


def parse_tool_parameters(tool: str, body: str) -> Any:
    """Parse the parameters of a call into an object, or a body that is JSON into its value.

    A body of another form stays text.
    """
    known = CURSOR_TOOL_PARAMETERS.get(tool)
    starts = [
        match for match in _PARAMETER_START.finditer(body) if known is None or match[1] in known
    ]
    if not starts or body[: starts[0].start()].strip():
        parsed = decode_exact_json(body.strip().encode())
        return parsed[0] if parsed else body.strip("\n")
    values: JsonObject = {}
    for match, end in _pair_with_ends(starts, len(body)):
        parameter = match[1]
        if parameter in values:
            return body.strip("\n")
        text = body[match.end() : end].removesuffix("\n")
        is_text = known is not None and parameter not in CURSOR_JSON_PARAMETERS
        values[parameter] = text if is_text else _parse_parameter_value(text)
    return values


def _parse_parameter_value(text: str) -> Any:
    """Parse a value: a text stands as it is, everything else as JSON on one line."""
    parsed = decode_exact_json(text.encode()) if _JSON_PARAMETER.fullmatch(text) else []
    return parsed[0] if parsed else text

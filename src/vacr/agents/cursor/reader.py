"""Cursor's older transcripts in plain text, as messages with blocks. Step: read.

A line `user:` or `assistant:` opens a message; `[Thinking]`, `[Tool call] Name` and `[Tool result]
Name` open a block in it. Nothing marks where thinking ends and the answer begins, so what follows
`[Thinking]` stays with it. Every block keeps its text as it stands in the file, so that the file
comes out again; a call's parameters are read from it as well as can be.

Cursor's conversations: transcripts in JSONL and in text, and the rows of its two databases.
Step: read.

A transcript has no ids, times, models or results: its session is named by its file, where that is a
UUID, or else by its content. The databases know more (`cursor_bubbles`, `cursor_blobs`).
docs/mapping/cursor.md is made of the tables.
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
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

CURSOR_ROLE_LINE = re.compile(r"^\ufeff?(user|assistant):[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
CURSOR_SHORT_ROLE_LINE = re.compile(r"^\ufeff?(user|A):[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
CURSOR_BLOCK_START = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]?", re.MULTILINE)
CURSOR_TEXT_ROLES = {"user": "user", "assistant": "assistant", "A": "assistant"}
_PARAMETER_START = re.compile(r"^  ([A-Za-z0-9_.-]+): ?", re.MULTILINE)
_JSON_PARAMETER = re.compile(r"true|false|null|-?[0-9][0-9.eE+-]*|[\[{].*[\]}]")

# The parameters that are no text: they are written as JSON. A file's contents may look like JSON
# and are text.
CURSOR_JSON_PARAMETERS = frozenset(
    (
        "replace_all",
        "offset",
        "limit",
        "timeout",
        "block_until_ms",
        "required_permissions",
        "is_background",
        "-i",
        "-A",
        "-B",
    )
    + (
        "-C",
        "head_limit",
        "multiline",
        "ignore_globs",
        "todos",
        "merge",
        "readonly",
        "paths",
        "target_directories",
    )
    + ("num_results",)
)

# What the tools take: a value may hold lines that look like parameters.
CURSOR_TOOL_PARAMETERS = {
    "Write": ("path", "contents"),
    "StrReplace": ("path", "old_string", "new_string", "replace_all"),
    "Delete": ("path",),
    "Read": ("path", "offset", "limit"),
    "ReadFile": ("path", "offset", "limit"),
    "Shell": (
        "command",
        "description",
        "working_directory",
        "timeout",
        "block_until_ms",
        "required_permissions",
        "is_background",
    ),
    "Grep": (
        "pattern",
        "path",
        "-i",
        "-A",
        "-B",
        "-C",
        "glob",
        "type",
        "output_mode",
        "head_limit",
        "multiline",
    ),
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


def is_text_transcript(text: str) -> bool:
    """Tell whether a text begins as a transcript does."""
    text = text.lstrip("\ufeff \t\r\n")
    return (CURSOR_ROLE_LINE.match(text) or CURSOR_SHORT_ROLE_LINE.match(text)) is not None


def _find_message_starts(text: str) -> Iterator[re.Match[str]]:
    """Find the lines that open messages: where the assistant is called by its name, a line `A:` is
    something that was said.
    """
    pattern = (
        CURSOR_ROLE_LINE
        if any(match[1] == "assistant" for match in CURSOR_ROLE_LINE.finditer(text))
        else CURSOR_SHORT_ROLE_LINE
    )
    return pattern.finditer(text)


def parse_text_messages(text: str) -> Iterator[JsonObject]:
    """Give the messages of a transcript: a role, the line that opens it, and blocks whose texts
    make up the rest.
    """
    for match, end in _pair_with_ends(_find_message_starts(text), len(text)):
        yield {
            "role": CURSOR_TEXT_ROLES[match[1]],
            "line": match[0],
            "content": list(_parse_blocks(text[match.end() : end])),
        }


def get_text_preamble(text: str) -> str:
    """Give what stands before the first message."""
    first = next(_find_message_starts(text), None)
    return text if first is None else text[: first.start()]


def _pair_with_ends(opened: Iterable[re.Match[str]], end: int) -> list[tuple[re.Match[str], int]]:
    """Give what opens each part of a text, and where the part ends."""
    found = list(opened)
    return list(zip(found, [*(match.start() for match in found[1:]), end], strict=False))


def _parse_blocks(text: str) -> Iterator[JsonObject]:
    opened = list(CURSOR_BLOCK_START.finditer(text))
    said = text[: opened[0].start()] if opened else text
    if said or not opened:
        yield {"type": "text", "text": said}
    for match, end in _pair_with_ends(opened, len(text)):
        body = text[match.end() : end].replace("\r\n", "\n")
        if not text.startswith("[Tool call]", end):
            # An empty line stands before results and before the next message.
            body = body.removesuffix("\n")
        yield _parse_block(match[1], text[match.start() : end], body)


def _parse_block(kind: str, text: str, body: str) -> JsonObject:
    """Read one block; `text` is all of it, `body` what follows the marker."""
    if kind == "Thinking":
        return {"type": "thinking", "thinking": body, "text": text}
    name, _, rest = body.partition("\n")
    if kind == "Tool result":
        return {
            "type": "tool_result",
            "content": rest.strip("\n"),
            "name": name.strip(),
            "text": text,
        }
    return {
        "type": "tool_use",
        "name": name.strip(),
        "input": parse_tool_parameters(name.strip(), rest),
        "text": text,
    }


def parse_tool_parameters(tool: str, body: str) -> Any:
    """Read the parameters of a call; a body of another form is given as the text it is."""
    known = CURSOR_TOOL_PARAMETERS.get(tool)
    opened = [
        match for match in _PARAMETER_START.finditer(body) if known is None or match[1] in known
    ]
    if not opened or body[: opened[0].start()].strip():
        found = decode_exact_json(body.strip().encode())
        return found[0] if found else body.strip("\n")
    values: JsonObject = {}
    for match, end in _pair_with_ends(opened, len(body)):
        if match[1] in values:
            return body.strip("\n")
        text = body[match.end() : end].removesuffix("\n")
        values[match[1]] = (
            text
            if known is not None and match[1] not in CURSOR_JSON_PARAMETERS
            else _parse_parameter_value(text)
        )
    return values


def _parse_parameter_value(text: str) -> Any:
    """Read a value: text stands as it is, everything else as JSON on one line."""
    found = decode_exact_json(text.encode()) if _JSON_PARAMETER.fullmatch(text) else []
    return found[0] if found else text


__all__ = ["DATABASES", "NAMED", "SUB_SESSIONS", "formats", "name", "read", "recognises"]

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
# A sub-agent's transcript lies below its parent's; nothing in it says whose it is.
NAMED = re.compile(r"[^/]+/subagents/[^/]+$")
SUB_SESSIONS = (
    "subagents/*.jsonl",
    "subagents/*.txt",
    "{stem}/subagents/*.jsonl",
    "{stem}/subagents/*.txt",
)

CURSOR_LINE_MOVES = Lift(Move("model", "model-id"))
CURSOR_MESSAGE_MOVES = Lift(Move("content", "content", None))
CURSOR_LINE_ROLES = frozenset(("user", "assistant"))
CURSOR_EVENT_TYPES = frozenset(("turn_ended", "error"))
CURSOR_RESERVED_EVENT_TYPES = frozenset(("unknown", "undecodable", "attached-file"))
"""What events are called that have no native type; a native type of such a name is kept beside."""
CURSOR_LINE_MEMBERS = frozenset(("role", "message"))
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Cursor's; text that holds no JSON comes as one
    value.
    """
    if is_cursor_export_head(sample[0]):
        return 1.0
    return sum(map(_is_cursor_value, sample)) / len(sample)


def _is_cursor_value(value: Any) -> bool:
    if type(value) is str:
        return is_text_transcript(value)
    if type(value) is not dict or "uuid" in value or "payload" in value:
        return False
    role = value.get("role")
    if type(role) is str and role in CURSOR_LINE_ROLES:
        return (
            type(value.get("message")) is dict
            and "content" in value["message"]
            and "type" not in value
        )
    return is_one_of(value.get("type"), CURSOR_EVENT_TYPES) and "status" in value


def read(source: Source) -> Iterator[Reading]:
    """Read one conversation."""
    with pause_garbage_collector():
        reading = _ConversationReader(source).read()
    yield reading


class _ConversationReader:
    """One conversation on its way into a record."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionBuilder("cursor-jsonl", "cursor")

    def read(self) -> Reading:
        """Make the record."""
        session = self.session
        text = self.text()
        if text is not None:
            self.take_text(text)
        elif any(map(is_cursor_export_head, self.source.main.sample(1))):
            add_database_entries(self.source, session)
        else:
            session.add_lines(self.source, self.entry)
        if session.session_id is None:
            self.name_by_file()
        session.tidy()
        return session.reading(self.source)

    def text(self) -> str | None:
        """Give the text of a transcript that is no JSON."""
        if self.source.main.data.lstrip()[:1] in (b"{", b"["):
            return None
        try:
            text = self.source.main.data.decode()
        except UnicodeDecodeError:
            return None
        return text if is_text_transcript(text) else None

    def name_by_file(self) -> None:
        """Name a session by its file, as Cursor does."""
        *folders, file = self.source.main.name.split("/")
        stem = file.rpartition(".")[0] or file
        if _UUID.fullmatch(stem):
            self.session.session_id = stem
        if folders[1:] == ["subagents"]:
            self.session.parent, self.session.mode = folders[0], "autonomous"
            self.session.session_id = f"{folders[0]}/{stem}"

    def entry(self, line: JsonObject) -> JsonObject:
        """Turn one line of a transcript into an entry."""
        session = self.session
        role, message = line.get("role"), line.get("message")
        if type(message) is not dict or type(role) is not str or role not in CURSOR_LINE_ROLES:
            kind = line.pop("type", None)
            if not is_one_of(kind, CURSOR_EVENT_TYPES):
                session.drift.count_type(kind)
            return make_typed_event(line, kind, CURSOR_RESERVED_EVENT_TYPES)
        if len(line) == len(CURSOR_LINE_MEMBERS) and len(message) == 1 and "content" in message:
            # Nearly all are so, and the message becomes the entry in place.
            message["type"] = role
            if views := build_child_entries(
                message["content"], session.drift.types, session.drift.members
            ):
                message["children"] = views
            return message
        session.drift.count_members("line", line, CURSOR_LINE_MEMBERS)
        entry: JsonObject = {"type": line.pop("role")}
        CURSOR_LINE_MOVES.apply(line, entry)
        if "model-id" in entry:
            session.models[entry["model-id"]] += 1
        CURSOR_MESSAGE_MOVES.apply(message, entry)
        if not message:
            del line["message"]
        if views := build_child_entries(
            entry.get("content"), session.drift.types, session.drift.members
        ):
            entry["children"] = views
        return add_remaining_members(entry, line)

    def take_text(self, text: str) -> None:
        """Make entries of a transcript in text."""
        session = self.session
        session.format_id = "cursor-text"
        if head := get_text_preamble(text):
            session.entries.append(
                {"type": "system-event", "event-type": "text", "data": {"text": head}}
            )
        for message in parse_text_messages(text):
            entry: JsonObject = {
                "type": message["role"],
                "line": message["line"],
                "content": message["content"],
            }
            if views := build_child_entries(entry["content"]):
                entry["children"] = views
            session.entries.append(entry)

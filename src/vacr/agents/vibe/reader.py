r"""Sessions of Mistral Vibe as records.

In version 2, a session is a folder: `messages.jsonl` has the messages, and `meta.json` the facts
about the session. Before, both were in one JSON file. Since version 3, it is a journal: see
`journal`. The messages have the OpenAI chat format, and no times.

>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.vibe.reader import read
>>> message = b'{"role": "user", "content": "Hello", "injected": false, "message_id": "m-1"}\n'
>>> meta = b'{"session_id": "v-7", "git_commit": "0f1e2d", "environment": {}}'
>>> parts = SourcePart("session/messages.jsonl", message), SourcePart("session/meta.json", meta)
>>> [reading] = read(Source(parts))
>>> session = reading.record["session"]
>>> session["session-id"], session["entries"][0]["id"], reading.record["vcs"]["revision"]
('v-7', 'm-1', '0f1e2d')

docs/mapping/vibe.md is generated from the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import parse_json_documents
from vacr.agents.json_sessions import JsonSession, read_json_sessions
from vacr.agents.lift import Reading, SessionBuilder, is_one_of, parse_names
from vacr.agents.openai_chat import CHAT_MEMBERS, make_chat_entry
from vacr.agents.tool_calls import dict_or_empty
from vacr.agents.vibe.facts import learn_facts, name
from vacr.agents.vibe.journal import (
    VIBE_JOURNAL_FORMAT,
    is_journal_line,
    is_journal_meta,
    read_journal,
)
from vacr.model import JsonObject

VIBE_LINES_FORMAT = "vibe-jsonl"
VIBE_FILE_FORMAT = "vibe-json"
formats = (VIBE_LINES_FORMAT, VIBE_FILE_FORMAT, VIBE_JOURNAL_FORMAT)
META_FILE = "meta.json"
SUB_AGENT_FOLDER = "agents"
"""The folder in a session's folder that has the sessions of its sub-agents."""
STORES = (
    SessionStore(
        (
            "logs/session/*/messages.jsonl",
            f"logs/session/*/{SUB_AGENT_FOLDER}/*/messages.jsonl",
            "logs/session/session_*.json",
            f"logs/session/unified/*/{META_FILE}",
        ),
        "~/.vibe",
        "VIBE_HOME",
    ),
)

# --- Known members ---

VIBE_MEMBERS = CHAT_MEMBERS | parse_names(
    """
    images injected message_id reasoning_message_id reasoning_signature reasoning_state
    user_display_content
    """
)
VIBE_HEADER_MEMBERS = parse_names("messages metadata")
VIBE_ROLES = frozenset(("system", "user", "assistant", "tool"))
VIBE_OWN_MEMBERS = frozenset(("injected", "user_display_content", "reasoning_message_id"))
"""Members that messages of other programs do not have."""
_IDENTIFYING_FACTS = frozenset(("session_id", "environment", "username"))


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is Vibe's, from 0 to 1; 0 for an empty sample."""
    if not sample:
        return 0.0
    if is_journal_meta(sample[0]):
        return 1.0
    if is_journal_line(sample[0]):
        return sum(map(is_journal_line, sample)) / len(sample)
    files = sum(map(_is_session_file, sample))
    if files or not any(map(_is_typical, sample)):
        return files / len(sample)
    return sum(map(_is_message, sample)) / len(sample)


def _is_session_file(value: Any) -> bool:
    """Return whether a value is the content of an older session file."""
    if type(value) is not dict or type(value.get("messages")) is not list:
        return False
    return dict_or_empty(value.get("metadata")).keys() >= _IDENTIFYING_FACTS


def _is_message(value: Any) -> bool:
    """Return whether a value has the form of a message."""
    return type(value) is dict and is_one_of(value.get("role"), VIBE_ROLES)


def _is_typical(value: Any) -> bool:
    """Return whether a value is a message that other programs would not write."""
    return _is_message(value) and not VIBE_OWN_MEMBERS.isdisjoint(value)


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of a folder, or of each session in a file."""
    sample = source.main.sample(1)
    if sample and type(sample[0]) is dict and type(sample[0].get("messages")) is list:
        yield from read_json_sessions(source, _begin_file, "messages")
        return
    is_journal = bool(sample) and (is_journal_meta(sample[0]) or is_journal_line(sample[0]))
    with pause_garbage_collector():
        reading = read_journal(source) if is_journal else _read_lines(source)
    yield reading


def _read_lines(source: Source) -> Reading:
    """Return the record of a folder; the facts about it stay in the record as an attached file."""
    session = SessionBuilder(VIBE_LINES_FORMAT, name)
    for part in source.parts[1:]:
        if part.name.rpartition("/")[2] == META_FILE:
            values = [value for _, batch in parse_json_documents(part.data) for value in batch]
            learn_facts(dict_or_empty(values[0]) if values else {}, session)
    if f"/{SUB_AGENT_FOLDER}/" in source.main.name:
        session.mode = "autonomous"
    session.add_lines(source, lambda message: _make_entry(message, session))
    session.tidy()
    return session.reading(source)


def _make_entry(message: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a message into an entry; its id stays under the native name, too."""
    identity = message.get("message_id")
    entry = make_chat_entry(message, session, VIBE_MEMBERS)
    if entry["type"] != "system-event" and type(identity) is str and identity:
        entry["id"] = identity
    if "children" in entry:
        session.embedded += entry["children"]
    return entry


def _begin_file(header: JsonObject, messages: list[Any]) -> JsonSession:
    """Begin the record of an older session file."""
    del header, messages
    return _SessionFile(SessionBuilder(VIBE_FILE_FORMAT, name))


class _SessionFile(JsonSession):
    """The session in one file on its way into a record."""

    list_member = "messages"

    def learn_header(self, header: JsonObject) -> None:
        """Learn about the session; its facts stay among its members."""
        self.session.drift.count_members("session", header, VIBE_HEADER_MEMBERS)
        learn_facts(dict_or_empty(header.get("metadata")), self.session)

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message into an entry."""
        return _make_entry(message, self.session)

"""Chat histories of Grok as records.

Lines have a type (`user`, `assistant`, `reasoning`, `tool_result`, …); in older histories they are
messages of OpenAI chat. Lines have no times. `summary.json` next to the history has the folder, the
commit and the time of the session, and `usage.json` its tokens, which count at the last answer,
marked `vacr.usage-of: "session"`. The parent of a sub-agent is in the summary or, since version 1,
in a file `subagents/ID/meta.json` of the parent.

>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.grok.reader import read
>>> call = b'{"id":"c1","name":"read_file","arguments":"{}"}'
>>> line = b'{"type":"assistant","content":"","tool_calls":[' + call + b'],"model_id":"grok-4.5"}'
>>> [reading] = read(Source((SourcePart("chat_history.jsonl", line),)))
>>> [entry] = reading.record["session"]["entries"]
>>> entry["model-id"], entry["children"][0]["name"], entry["children"][0]["input"]
('grok-4.5', 'read_file', {})
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vacr.agents.agent import Source, SourcePart
from vacr.agents.documents import parse_json_documents, parse_json_text
from vacr.agents.grok import AGENT
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    add_session_usage,
    make_typed_event,
    parse_names,
)
from vacr.agents.openai_chat import CHAT_MEMBERS, make_chat_entry
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject
from vacr.record import build_child_entries, is_timestamp

name = AGENT.name
formats = AGENT.formats
STORES = AGENT.stores
SUMMARY_FILE = "summary.json"
USAGE_FILE = "usage.json"
_PARENT_NOTE_NAME = re.compile(r"[^/]+/subagents/[^/]+/meta\.json")
"""The name of a file of another session, relative to the folder above both."""
SUB_AGENT_KIND = "subagent"
AUTONOMOUS_KINDS = frozenset((SUB_AGENT_KIND, "headless"))
"""The `session_kind` of sessions that no person types in."""
GROK_USAGE_SUMS = UsageSums(
    ("input", ("inputTokens",)),
    ("cached", ("cachedReadTokens",)),
    ("output", ("outputTokens",)),
    ("reasoning", ("reasoningTokens",)),
)
"""Canonical counter → the native one; `inputTokens` include those from the cache."""
FROM_ROLE = "role"
"""The value of `vacr.from` for a line of the old form."""
GROK_RESERVED_EVENTS = frozenset(("undecodable", "attached-file", "unknown"))
GROK_MEMBERS = {
    "system": parse_names("type content"),
    "user": parse_names("type content synthetic_reason prompt_index prior_turn_interrupt"),
    "assistant": parse_names("type content tool_calls model_id model_fingerprint reasoning_effort"),
    "reasoning": parse_names("type id summary encrypted_content status"),
    "tool_result": parse_names("type tool_call_id content"),
    "backend_tool_call": parse_names("type kind"),
}
"""Type of a line → the members that are known."""
GROK_OLD_MEMBERS = CHAT_MEMBERS | parse_names("model_id model_fingerprint reasoning_effort")
GROK_MESSAGE_MOVES = Lift(Move("content", "content", None), Move("model_id", "model-id"))
GROK_RESULT_MOVES = Lift(Move("content", "output", None), Move("tool_call_id", "call-id"))
GROK_REASONING_MOVES = Lift(Move("id", "id"), Move("encrypted_content", "encrypted"))


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of a history."""
    session = SessionBuilder(formats[0], name)
    session.provider = "xai"
    _learn_summary(source, session)

    def make_entry(line: JsonObject) -> JsonObject:
        """Turn a line into an entry."""
        entry = _make_entry(line, session)
        if "model-id" in entry:
            session.models[entry["model-id"]] += 1
        return entry

    session.add_lines(source, make_entry)
    totals = dict_or_empty(_read_part(source, USAGE_FILE).get("session"))
    add_session_usage(session.entries, GROK_USAGE_SUMS.compute(totals))
    session.tidy()
    yield session.reading(source)


def _learn_summary(source: Source, session: SessionBuilder) -> None:
    """Learn about the session from its summary, which stays in the record as an attached file."""
    summary = _read_part(source, SUMMARY_FILE)
    info = dict_or_empty(summary.get("info"))
    texts = {name: value for name, value in (*summary.items(), *info.items()) if type(value) is str}
    session.session_id = texts.get("id") or None
    session.working_dir = texts.get("cwd") or None
    session.parent = texts.get("parent_session_id") or _find_parent(source, session.session_id)
    if texts.get("session_kind") in AUTONOMOUS_KINDS:
        session.mode = "autonomous"
    if texts.get("session_kind") == SUB_AGENT_KIND:
        session.native = {"session_kind": SUB_AGENT_KIND}
    session.start = _get_timestamp(texts, "created_at")
    session.end = _get_timestamp(texts, "last_active_at") if session.start else None
    if "current_model_id" in texts:
        # Answers name the model, too, so that theirs counts for more.
        session.models[texts["current_model_id"]] += 0
    remotes = summary.get("git_remotes")
    if type(remotes) is list and remotes and type(remotes[0]) is str:
        session.vcs["repository"] = remotes[0]
    for native, canonical in (("head_commit", "revision"), ("head_branch", "branch")):
        if texts.get(native):
            session.vcs[canonical] = texts[native]


def _find_parent(source: Source, session_id: str | None) -> str | None:
    """Return the session that names this one as its sub-agent, or None without exactly one."""
    notes = [
        _parse_part(part) for part in source.parts[1:] if _PARENT_NOTE_NAME.fullmatch(part.name)
    ]
    parents = {
        note["parent_session_id"]
        for note in notes
        if session_id is not None
        and note.get("child_session_id", note.get("subagent_id")) == session_id
        and type(note.get("parent_session_id")) is str
    }
    return parents.pop() or None if len(parents) == 1 else None


def _read_part(source: Source, file_name: str) -> JsonObject:
    """Return the object in a file next to the history; empty if there is none."""
    for part in source.parts[1:]:
        if part.name == file_name:
            return _parse_part(part)
    return {}


def _parse_part(part: SourcePart) -> JsonObject:
    """Return the object in a file; empty if there is none."""
    for _, batch in parse_json_documents(part.data):
        return dict_or_empty(batch[0])
    return {}


def _get_timestamp(texts: dict[str, str], name: str) -> str | None:
    """Return a time of the summary, or None if it is missing or not a timestamp."""
    return texts[name] if name in texts and is_timestamp(texts[name]) else None


def _make_entry(line: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a line of either form into an entry."""
    kind = line.get("type")
    if kind is None and "role" in line:
        entry = make_chat_entry(line, session, GROK_OLD_MEMBERS)
        if entry["type"] == "assistant" and type(entry.get("model_id")) is str:
            entry["model-id"] = entry.pop("model_id")
        if entry["type"] != "system-event":
            get_writable_marks(entry)["from"] = FROM_ROLE
        return entry
    known = GROK_MEMBERS.get(kind) if type(kind) is str else None
    if known is None:
        session.drift.count_type(kind)
    else:
        session.drift.count_members(str(kind), line, known)
    if kind in ("user", "assistant"):
        return _make_message(line, session)
    if kind == "tool_result" and line.get("content") is not None:
        return _make_moved("tool-result", line, GROK_RESULT_MOVES)
    if kind == "reasoning":
        del line["type"]
        return _make_reasoning(line)
    if kind == "backend_tool_call" and (call := _make_backend_call(line)) is not None:
        return call
    line.pop("type", None)
    return make_typed_event(line, kind, GROK_RESERVED_EVENTS)


def _make_moved(entry_type: str, line: JsonObject, lift: Lift) -> JsonObject:
    """Make an entry of a type from a line, by a table of moves."""
    entry: JsonObject = {"type": entry_type}
    lift.apply(line, entry)
    return add_remaining_members(entry, line)


def _make_message(line: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a line of the user or the assistant into an entry; its calls stay in it."""
    entry_type = line.pop("type")
    calls = line.get("tool_calls")
    children = build_child_entries(line.get("content"), session.drift.types, session.drift.members)
    for call in calls if entry_type == "assistant" and type(calls) is list else ():
        if type(call) is dict and type(call.get("name")) is str:
            child = {"type": "tool-call", "name": call["name"]}
            if type(call.get("id")) is str:
                child["call-id"] = call["id"]
            child["input"] = parse_json_text(call.get("arguments"))
            children.append(child)
    entry = _make_moved(entry_type, line, GROK_MESSAGE_MOVES)
    if entry.get("content") is None:
        entry.pop("content", None)
    if children:
        entry["children"] = children
    return entry


def _make_reasoning(line: JsonObject) -> JsonObject:
    """Turn a line of reasoning into an entry; its content is the text of its summary."""
    summary = line.get("summary")
    texts = [dict_or_empty(part).get("text") for part in summary] if type(summary) is list else []
    entry = _make_moved("reasoning", line, GROK_REASONING_MOVES)
    entry["content"] = "\n\n".join(text for text in texts if type(text) is str)
    return entry


def _make_backend_call(line: JsonObject) -> JsonObject | None:
    """Return a call that the provider carried out, or None if it has no type of tool.

    The line stays in the entry; Grok does not write the result down.
    """
    kind: Any = line.get("kind")
    if type(kind) is not dict or type(kind.get("tool_type")) is not str:
        return None
    del line["type"]
    entry: JsonObject = {
        "type": "tool-call",
        "name": kind["tool_type"],
        "input": kind.get("action"),
    }
    if type(kind.get("id")) is str:
        entry["call-id"] = kind["id"]
    entry = add_remaining_members(entry, line)
    get_writable_marks(entry)["from"] = "backend_tool_call"
    return entry

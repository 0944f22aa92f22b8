"""The parts of an OpenCode message as entries.

A message is a list of parts. Texts and files are the message's content and stay as they are. Every
other part becomes a child of the message: a tool part a call and its result, reasoning a reasoning
entry, anything else an event.

>>> from vacr.agents.lift import SessionBuilder
>>> from vacr.agents.opencode.parts import make_part_entries
>>> state = {"status": "completed", "input": {"path": "a.py"}, "output": "x = 1"}
>>> part = {"type": "tool", "callID": "call_1", "tool": "read", "state": state}
>>> call, result = make_part_entries(part, SessionBuilder("opencode-export", "opencode"))
>>> call["type"], call["name"], call["input"], call["call-id"]
('tool-call', 'read', {'path': 'a.py'}, 'call_1')
>>> result
{'type': 'tool-result', 'output': 'x = 1', 'call-id': 'call_1', 'status': 'completed'}

The tables name the members seen in versions 1.1 to 1.18. A member that is missing here is kept
like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

import operator
from typing import Any

from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    describe_json_kind,
    is_one_of,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import is_timestamp

OPENCODE_SESSION_MEMBERS = parse_names(
    """
    agent cost directory id metadata model parentID parent_id path permission projectID project_id
    revert share share_url slug summary summary_additions summary_deletions summary_diffs
    summary_files time time_archived time_compacting time_created time_updated title tokens
    tokens_cache_read tokens_cache_write tokens_input tokens_output tokens_reasoning version
    workspaceID workspace_id
    """
)
OPENCODE_MESSAGE_MEMBERS = parse_names(
    """
    agent cost error finish format id metadata mode model modelID parentID path providerID role
    sessionID structured summary system time time_created time_updated tokens tools variant
    """
)
OPENCODE_PART_MEMBERS = parse_names(
    "id messageID metadata sessionID time time_created time_updated type"
)
OPENCODE_TOOL_MEMBERS = OPENCODE_PART_MEMBERS | parse_names("callID state tool")
OPENCODE_STATE_MEMBERS = parse_names(
    "attachments error input metadata output raw status time title"
)
OPENCODE_REASONING_MEMBERS = OPENCODE_PART_MEMBERS | {"text"}
# In the order of the page in docs/mapping.
OPENCODE_EVENT_MEMBERS = {
    kind: OPENCODE_PART_MEMBERS | parse_names(own_members)
    for kind, own_members in {
        "step-start": "snapshot",
        "step-finish": "cost reason snapshot tokens",
        "snapshot": "snapshot",
        "patch": "files hash",
        "agent": "name source",
        "retry": "attempt error",
        "compaction": "auto overflow tail_start_id",
        "subtask": "agent command description model prompt",
    }.items()
}
OPENCODE_CONTENT_MEMBERS = {
    "text": OPENCODE_PART_MEMBERS | parse_names("ignored synthetic text"),
    "file": OPENCODE_PART_MEMBERS | parse_names("filename mime source url"),
}

OPENCODE_REASONING_MOVES = Lift(Move("text", "content", None), Move("id", "id"))
OPENCODE_CALL_MOVES = Lift(Move("tool", "name"), Move("callID", "call-id"), Move("id", "id"))
OPENCODE_EVENT_MOVES = Lift(Move("id", "id"))
OPENCODE_RESERVED_EVENT_TYPES = parse_names("attached-file message undecodable unknown")
"""Names of events that have no native type; a native type of such a name goes to `vacr.native`."""
OPENCODE_ENCRYPTED_MEMBERS = (
    "reasoningEncryptedContent",
    "redactedData",
    "reasoningOpaque",
    "signature",
    "thoughtSignature",
    "encryptedContent",
    "encrypted_content",
)
"""Members of a provider's metadata that can hold encrypted reasoning, the first one present.

OpenAI, Azure, xAI and Copilot write the first, Anthropic and Bedrock `redactedData` or `signature`,
Copilot's chat `reasoningOpaque`, Google `thoughtSignature`.
"""
OPENCODE_ENCRYPTED_DETAIL_MEMBERS = ("data", "signature")
"""The same, in a block of OpenRouter's `reasoning_details`."""
OPENCODE_OUTPUT_MEMBERS = ("output", "error")
"""The members of a tool's state that can be its result, the first one present."""
OPENCODE_USAGE_SUMS = UsageSums(
    ("input", ("input", "cache.read", "cache.write")),
    ("output", ("output", "reasoning")),
    ("cached", ("cache.read",)),
    ("reasoning", ("reasoning",)),
    ("total", ("total",)),
)
"""Canonical counter → the native ones that it sums; the first must be present."""


def add_message_parts(parts: list[Any], entry: JsonObject, session: SessionBuilder) -> None:
    """Put the parts of a message into its content and its children.

    The native order is noted, unless it is that of the ids and the content comes first.
    """
    content: list[Any] = []
    children: list[JsonObject] = []
    order: list[str] = []
    # Turning parts into entries moves their ids, so the order is checked first.
    is_ordered = _is_ordered_by_id(parts)
    for part in parts:
        kind = part.get("type") if type(part) is dict else None
        if type(kind) is str and kind in OPENCODE_CONTENT_MEMBERS:
            session.drift.count_members(kind, part, OPENCODE_CONTENT_MEMBERS[kind])
            is_ordered = is_ordered and not children
            order.append(f"content/{len(content)}")
            content.append(part)
        else:
            order.append(f"children/{len(children)}")
            children += make_part_entries(part, session)
    if not is_ordered:
        get_writable_marks(entry)["order"] = order
    if content or not children:
        entry["content"] = content
    if children:
        entry["children"] = children
        session.embedded += children


def _is_ordered_by_id(parts: list[Any]) -> bool:
    """Return whether the ids of the parts sort in the order of the parts, as OpenCode's do."""
    ids = [part["id"] for part in parts if type(part) is dict and type(part.get("id")) is str]
    return len(ids) == len(parts) and all(map(operator.lt, ids, ids[1:]))


def make_part_entries(part: Any, session: SessionBuilder) -> list[JsonObject]:
    """Turn a part that is neither text nor file into entries."""
    if type(part) is not dict:
        return [session.make_value_event(part)]
    kind = part.get("type")
    if kind == "tool" and type(part.get("tool")) is str and type(part.get("state")) is dict:
        return make_tool_entries(part, session)
    if kind == "reasoning" and "text" in part:
        return [_make_reasoning_entry(part, session)]
    return [_make_part_event(part, session)]


def make_tool_entries(part: JsonObject, session: SessionBuilder) -> list[JsonObject]:
    """Split a tool part into a call and, if the tool has finished, its result.

    The result gets the rest of the part's state.
    """
    state = part["state"]
    session.drift.count_members("tool", part, OPENCODE_TOOL_MEMBERS)
    session.drift.count_members("tool.state", state, OPENCODE_STATE_MEMBERS)
    call: JsonObject = {"type": "tool-call", "vacr": {"native": {"type": part.pop("type")}}}
    OPENCODE_CALL_MOVES.apply(part, call)
    call["input"] = state.pop("input", None)
    lift_timestamp(state, "start", call)
    present = (name for name in OPENCODE_OUTPUT_MEMBERS if state.get(name) is not None)
    output_member = next(present, None)
    if output_member is None:
        if not state:
            del part["state"]
        return [add_remaining_members(call, part)]
    del part["state"]
    result: JsonObject = {"type": "tool-result", "output": state.pop(output_member)}
    if "call-id" in call:
        result["call-id"] = call["call-id"]
    if output_member == "error":
        result["is-error"] = True
    if (output_member == "error") != (state.get("status") == "error"):
        get_writable_marks(result)["output-from"] = output_member
    if type(state.get("status")) is str:
        result["status"] = state.pop("status")
    lift_timestamp(state, "end", result)
    if state:
        result["state"] = state
    return [add_remaining_members(call, part), result]


def _make_reasoning_entry(part: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a part with reasoning into an entry."""
    session.drift.count_members("reasoning", part, OPENCODE_REASONING_MEMBERS)
    entry: JsonObject = {"type": part.pop("type")}
    OPENCODE_REASONING_MOVES.apply(part, entry)
    lift_timestamp(part, "start", entry)
    copy_encrypted_reasoning(part.get("metadata"), entry)
    return add_remaining_members(entry, part)


def copy_encrypted_reasoning(metadata: Any, entry: JsonObject) -> None:
    """Copy the encrypted reasoning out of the metadata of a model's provider, if it has some.

    It goes to `encrypted` of the entry. The metadata stay as they are: `{"openai":
    {"reasoningEncryptedContent": …}}`.
    """
    if type(metadata) is not dict:
        return
    for provider in metadata.values():
        if type(provider) is dict:
            for name in OPENCODE_ENCRYPTED_MEMBERS:
                if provider.get(name) and type(provider[name]) is str:
                    entry["encrypted"] = provider[name]
                    return
            for detail in _list_details(provider):
                for name in OPENCODE_ENCRYPTED_DETAIL_MEMBERS:
                    if detail.get(name) and type(detail[name]) is str:
                        entry["encrypted"] = detail[name]
                        return


def _list_details(provider: JsonObject) -> list[JsonObject]:
    """Return the blocks of reasoning that OpenRouter and its like put into the metadata."""
    details = provider.get("reasoning_details")
    return [detail for detail in details if type(detail) is dict] if type(details) is list else []


def _make_part_event(part: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a part of any other type into an event."""
    kind = part.pop("type", None)
    if is_one_of(kind, OPENCODE_EVENT_MEMBERS):
        session.drift.count_members(kind, part, OPENCODE_EVENT_MEMBERS[kind])
    elif not is_one_of(kind, OPENCODE_CONTENT_MEMBERS):
        session.drift.count_type(f"part/{kind if type(kind) is str else describe_json_kind(kind)}")
    return make_typed_event(part, kind, OPENCODE_RESERVED_EVENT_TYPES, OPENCODE_EVENT_MOVES)


def lift_timestamp(holder: JsonObject, member: str, entry: JsonObject) -> None:
    """Move one member of a native object's `time` to the entry's timestamp.

    Do nothing if it is missing, or not a timestamp in milliseconds.
    """
    times = holder.get("time")
    if type(times) is dict and type(times.get(member)) is int and is_timestamp(times[member]):
        entry["timestamp"] = times.pop(member)
        if not times:
            del holder["time"]


def lift_opencode_usage(info: JsonObject, entry: JsonObject) -> None:
    """Add the canonical counters of a message, and move its cost among them.

    OpenCode counts cached input and reasoning separately from input and output.
    """
    usage: JsonObject = {}
    tokens = info.get("tokens")
    if type(tokens) is dict:
        usage = OPENCODE_USAGE_SUMS.compute(tokens)
    if isinstance(info.get("cost"), int | float) and type(info["cost"]) is not bool:
        usage["cost"] = info.pop("cost")
    if usage:
        entry["token-usage"] = usage

"""Messages with Anthropic's content blocks, as several agents store them.

A message has a role and a content: a text, or a list of blocks (`text`, `thinking`, `tool_use`,
`tool_result`, …). The content stays verbatim, and calls, results and reasoning become children. The
agents differ in the members around these two, so each brings its own table of moves.

>>> from vacr.agents.anthropic_blocks import make_block_entry
>>> from vacr.agents.lift import Move, NativeShape, SessionBuilder
>>> shape = NativeShape(frozenset(("role", "content", "mood")), Move("content", "content", None))
>>> call = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
>>> message = {"role": "assistant", "content": [call], "mood": "proud"}
>>> entry = make_block_entry(message, SessionBuilder("parrot-json", "parrot"), shape)
>>> entry["type"], entry["mood"], [child["type"] for child in entry["children"]]
('assistant', 'proud', ['tool-call'])
"""

from __future__ import annotations

from typing import Any

from vacr.agents.lift import NativeShape, SessionBuilder, is_count
from vacr.model import JsonObject
from vacr.record import build_child_entries

BLOCK_ROLES = frozenset(("user", "assistant"))
"""The roles of messages; they are the types of their entries."""


def is_block_message(value: Any) -> bool:
    """Return whether a value is a message: a known role, and a text or a list of typed blocks."""
    if type(value) is not dict or type(value.get("role")) is not str:
        return False
    content = value.get("content")
    if value["role"] not in BLOCK_ROLES or type(content) is not list:
        return value["role"] in BLOCK_ROLES and type(content) is str
    return all(type(block) is dict and type(block.get("type")) is str for block in content)


def make_block_entry(
    message: JsonObject, session: SessionBuilder, shape: NativeShape, where: str = "message"
) -> JsonObject:
    """Turn a message into an entry of its role, with a child for each call, result and thought.

    A message with another role, or without one, becomes an event with the data of the message. Its
    role is counted as drift; `where` is the name under which unknown members are counted.
    """
    role = message.get("role")
    if type(role) is not str or role not in BLOCK_ROLES:
        session.drift.count_type(role)
        return {"type": "system-event", "event-type": "message", "data": message}
    del message["role"]
    entry = shape.make_entry(role, message, session.drift, where)
    add_block_views(entry, session)
    return entry


def add_block_views(entry: JsonObject, session: SessionBuilder) -> None:
    """Add the children that show the calls, results and reasoning in an entry's content."""
    content = entry.get("content")
    if type(content) is list:
        drift = session.drift
        views = build_child_entries(content, drift.types, drift.members)
        if views:
            entry["children"] = views
    elif content is None:
        entry.pop("content", None)


def move_milliseconds(entry: JsonObject, member: str) -> None:
    """Move a time in milliseconds from a native member of an entry to its timestamp.

    Any other value stays where it is.
    """
    if is_count(entry.get(member)):
        entry["timestamp"] = entry.pop(member)


def move_nested_text(
    entry: JsonObject, holder_name: str, member: str, canonical: str
) -> str | None:
    """Move a text out of an object in an entry to a canonical member, and return it.

    Return None, and move nothing, if the object or the text is missing.
    """
    holder = entry.get(holder_name)
    if type(holder) is not dict or type(holder.get(member)) is not str:
        return None
    text: str = holder.pop(member)
    entry[canonical] = text
    return text


def list_block_texts(content: Any) -> list[str]:
    """Return the texts of a content: the content itself, or the text of each block that has one."""
    if type(content) is str:
        return [content]
    if type(content) is not list:
        return []
    texts = [block.get("text") for block in content if type(block) is dict]
    return [text for text in texts if type(text) is str]

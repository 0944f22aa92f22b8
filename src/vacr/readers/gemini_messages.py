"""The messages of Gemini CLI's sessions and the turns of its saved chats, as entries. Step: read.

A message is its entry; its thoughts and tool calls are taken out of it and become its children, a
call and its result each an entry of its own. docs/mapping/gemini-cli.md is made of the tables.
"""

from __future__ import annotations

from typing import Any

from vacr.content import children
from vacr.model import Native
from vacr.readers import gemini_known as known
from vacr.readers.assemble import Session
from vacr.readers.gemini_fold import REPLACED
from vacr.readers.lift import (
    UINT_END,
    Lift,
    Move,
    Shape,
    are_counts,
    is_one_of,
    keep_native,
    mark,
    token_usage,
    typed_event,
)

_MESSAGE = (
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("content", "content", None),
)
MESSAGE = Shape(known.MESSAGE, *_MESSAGE)
GEMINI = Shape(known.GEMINI, *_MESSAGE, Move("model", "model-id"))
OLDER = Shape(known.GEMINI, *_MESSAGE)
"""A message that was written again: what the later one says is left to that one."""
THOUGHT = Shape(
    known.THOUGHT,
    Move("description", "content", None),
    Move("subject", "subject"),
    Move("timestamp", "timestamp", None),
)
CALL = Shape(
    known.CALL,
    Move("id", "call-id"),
    Move("name", "name"),
    Move("args", "input", None),
    Move("status", "status"),
    Move("timestamp", "timestamp", None),
)
RESULT = Lift(
    Move("result", "output", None),
    Move("status", "status"),
    Move("resultDisplay", "resultDisplay", None),
)
TURN = Shape(
    known.TURN,
    Move("parts", "content", None),
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("finishReason", "stop-reason"),
)
USAGE = (
    ("input", ("input", "tool")),
    ("output", ("output", "thoughts")),
    ("cached", ("cached",)),
    ("reasoning", ("thoughts",)),
    ("total", ("total",)),
)
"""Canonical counter → the native ones that it is the sum of; the first must be there."""
EVENT = Lift(Move("id", "id"), Move("timestamp", "timestamp", None))
FAILED = frozenset(("error",))
OURS = frozenset(
    (
        "unknown",
        "rewind",
        "message-patch",
        "metadata-update",
        "session-metadata",
        "undecodable",
        "attached-file",
    ),
)
"""What events are called that have no native type; a native type of such a name is kept beside."""


_ROLES = known.ROLES
_KINDS = {kind: {"native": {"type": kind}} for kind in _ROLES}


def message_entry(message: Any, session: Session, fate: str | None) -> Native:
    """Turn a message into an entry of its type; `fate` tells why the conversation does not hold it
    any more.
    """
    if type(message) is not dict:
        return session.other(message)
    kind = message.pop("type", None)
    entry_type = _ROLES.get(kind) if type(kind) is str else None
    if entry_type is None:
        return event_entry(message, kind, session, fate)
    if "content" not in message and type(message.get("parts")) is list:
        return _from_parts(message, kind, session, fate)
    inside: list[Native] = []
    usage = None
    if fate == REPLACED:
        entry = OLDER.entry(entry_type, message, session.drift, kind)
    elif entry_type == "user":
        entry = MESSAGE.entry(entry_type, message, session.drift, kind)
    else:
        usage = _usage(message, session)
        inside = _taken(message, session)
        entry = GEMINI.entry(entry_type, message, session.drift, kind)
        if "model-id" in entry:
            session.models[entry["model-id"]] += 1
        if usage is not None:
            entry["token-usage"] = usage
    if kind != entry_type:
        if "vacr" in entry:
            keep_native(entry, {"type": kind})
        else:
            entry["vacr"] = _KINDS[kind]
    if fate is not None:
        _supersede(entry, fate)
    _see_content(entry, inside, session)
    return entry


def _from_parts(message: Native, kind: str, session: Session, fate: str | None) -> Native:
    """Make the entry of a message that says what it says in parts, as turns do."""
    message["content"], message["type"] = message.pop("parts"), kind
    entry = message_entry(message, session, fate)
    mark(entry)["content-from"] = "parts"
    return entry


def _supersede(entry: Native, fate: str) -> None:
    """Mark a message that the conversation does not hold any more; one that was written again
    leaves its id to the other.
    """
    ours = mark(entry)
    ours["superseded"] = fate
    if fate == REPLACED:
        ours["repeats"] = entry.pop("id")


def _see_content(entry: Native, inside: list[Native], session: Session) -> None:
    """Give a message its children: what its content says, then what stood beside."""
    content = entry.get("content")
    if type(content) is list:
        inside = children(content, session.drift.types, session.drift.members) + inside
    elif content is None:
        entry.pop("content", None)
    if inside:
        entry["children"] = inside


def _taken(message: Native, session: Session) -> list[Native]:
    """Take thoughts and calls out of a message, and give the entries they become; lists of anything
    else stay.
    """
    found: list[Native] = []
    thoughts, calls = message.get("thoughts"), message.get("toolCalls")
    if thoughts and type(thoughts) is list and _all_have(thoughts, "description", None):
        del message["thoughts"]
        found += [
            THOUGHT.entry("reasoning", thought, session.drift, "thoughts") for thought in thoughts
        ]
    if calls and type(calls) is list and _all_have(calls, "name", str):
        del message["toolCalls"]
        for call in calls:
            _take_call(call, session, found)
    session.embedded += found
    return found


def _all_have(items: list[Any], member: str, kind: type | None) -> bool:
    """Tell whether all items are objects with a member, of some kind."""
    for item in items:
        if (
            type(item) is not dict
            or member not in item
            or (kind and type(item[member]) is not kind)
        ):
            return False
    return True


def _take_call(call: Native, session: Session, found: list[Native]) -> None:
    """Part a tool call from its result."""
    result: Native | None = None
    if call.get("result") is not None:
        result = {"type": "tool-result"}
        RESULT.apply(call, result)
        if is_one_of(result.get("status"), FAILED):
            result["is-error"] = True
    entry = CALL.entry("tool-call", call, session.drift, "toolCalls")
    if "input" not in entry:
        entry["input"] = None
    found.append(entry)
    if result is not None:
        if "call-id" in entry:
            result["call-id"] = entry["call-id"]
        found.append(result)


def _usage(message: Native, session: Session) -> Native | None:
    """Give the canonical counters of a message; Gemini counts thoughts beside the output, and
    tools' prompts beside the input.
    """
    tokens = message.get("tokens")
    if type(tokens) is not dict:
        return None
    if (
        tokens.keys() == known.TOKENS
        and are_counts(tokens.values())
        and sum(tokens.values()) < UINT_END
    ):
        return {
            "input": tokens["input"] + tokens["tool"],
            "output": tokens["output"] + tokens["thoughts"],
            "cached": tokens["cached"],
            "reasoning": tokens["thoughts"],
            "total": tokens["total"],
        }
    session.drift.see_members("tokens", tokens, known.TOKENS)
    return token_usage(tokens, USAGE) or None


def turn_entry(turn: Native, session: Session) -> Native:
    """Turn a saved turn into a message whose content is its parts."""
    if session.session_id is None and type(turn.get("sessionId")) is str:
        session.session_id = turn["sessionId"]
    entry_type = known.ROLES[turn["role"]]
    if turn["role"] == entry_type:
        del turn["role"]
    entry = TURN.entry(entry_type, turn, session.drift, "history")
    _see_content(entry, [], session)
    return entry


def is_turn(value: Any) -> bool:
    """Tell whether a value is a turn of a saved chat."""
    return (
        type(value) is dict
        and type(value.get("parts")) is list
        and is_one_of(value.get("role"), known.ROLES)
    )


def event_entry(message: Native, kind: Any, session: Session, fate: str | None) -> Native:
    """Turn what was shown to the user, and what is not known, into an event."""
    if not is_one_of(kind, known.EVENTS):
        session.drift.see_type(kind)
    entry = typed_event(message, kind, OURS, EVENT)
    if fate is not None:
        _supersede(entry, fate)
    return entry

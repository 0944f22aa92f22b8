"""What became of each message of a Gemini CLI log. Step: read.

Since 0.39 a session is a log that Gemini folds when it resumes: a message that is written again
under its id replaces the earlier one, `$rewindTo` takes a message and all after it back,
`$set.messages` replaces them all. A record keeps every message that was written, and says of each
that the conversation no longer holds why.

The members of Gemini CLI's sessions that are known. Step: read.

Seen in versions up to 0.61. A name that is missing here costs nothing but a count in the record's
`vacr.drift`.

The messages of Gemini CLI's sessions and the turns of its saved chats, as entries. Step: read.

A message is its entry; its thoughts and tool calls are taken out of it and become its children, a
call and its result each an entry of its own. docs/mapping/gemini-cli.md is made of the tables.
"""

from __future__ import annotations

from typing import Any

from vacr.agents.lift import (
    COUNTER_LIMIT,
    Lift,
    Move,
    NativeShape,
    SessionBuilder,
    are_counts,
    get_writable_marks,
    is_one_of,
    keep_native_members,
    make_typed_event,
    sum_token_usage,
)
from vacr.model import JsonObject
from vacr.record import build_child_entries

FATE_REPLACED, FATE_REWOUND, FATE_DROPPED = "replaced", "rewound", "dropped"
"""Written again under its id; taken back by a rewind; taken out, or left out when all messages were
set anew.
"""


class GeminiLogFold:
    """The conversation as Gemini would see it, while its log is read."""

    def __init__(self) -> None:
        """Start with no messages."""
        self._live: dict[str, int] = {}
        self.superseded: dict[int, str] = {}
        """By the number of a message, in order of writing: why it does not count any more."""
        self._written = 0

    def write(self, message: Any) -> int:
        """Take a message, and give its number."""
        number = self._written
        self._written += 1
        identity = message.get("id") if type(message) is dict else None
        if type(identity) is str:
            if identity in self._live:
                self.superseded[self._live[identity]] = FATE_REPLACED
            # A message that is written again keeps its place, as it does in Gemini's map.
            self._live[identity] = number
        return number

    def rewind(self, identity: Any) -> None:
        """Take a message back, and all after it; an id that nobody has takes all of them."""
        known = identity in self._live if type(identity) is str else False
        while self._live:
            last, number = self._live.popitem()
            self.superseded[number] = FATE_REWOUND
            if known and last == identity:
                break

    def remove(self, identities: Any) -> None:
        """Take some messages out."""
        for identity in identities if type(identities) is list else ():
            if type(identity) is str and identity in self._live:
                self.superseded[self._live.pop(identity)] = FATE_DROPPED

    def replace_all(self, messages: list[Any]) -> None:
        """Make room for a new list of messages, which are written next."""
        coming = {
            message.get("id")
            for message in messages
            if type(message) is dict and type(message.get("id")) is str
        }
        for identity, number in self._live.items():
            self.superseded[number] = FATE_REPLACED if identity in coming else FATE_DROPPED
        self._live.clear()


def get_replacing_messages(line: JsonObject) -> list[Any] | None:
    """Give the messages that a line sets anew, if it does."""
    patch = line.get("$set")
    messages = patch.get("messages") if type(patch) is dict else None
    return messages if type(messages) is list else None


GEMINI_SESSION_MEMBERS = frozenset(
    (
        "sessionId",
        "projectHash",
        "startTime",
        "lastUpdated",
        "messages",
        "summary",
        "directories",
        "kind",
    )
    + ("memoryScratchpad", "activeExtensionName")
)
GEMINI_CHECKPOINT_MEMBERS = frozenset(
    ("history", "authType", "clientHistory", "toolCall", "commitHash", "messageId")
)
"""What a saved chat has beside its turns."""
GEMINI_TURN_MEMBERS = frozenset(("role", "parts", "id", "timestamp", "finishReason", "sessionId"))

GEMINI_EVENT_TYPES = frozenset(("info", "error", "warning"))
GEMINI_ENTRY_TYPES = {
    "user": "user",
    "gemini": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "function": "user",
    "tool": "user",
}
"""The type of a message, or the role of a saved turn → entry type. An entry keeps what is not its
own type.
"""

GEMINI_MESSAGE_MEMBERS = frozenset(("id", "timestamp", "content", "displayContent"))
GEMINI_ANSWER_MEMBERS = GEMINI_MESSAGE_MEMBERS | frozenset(
    ("thoughts", "tokens", "model", "toolCalls")
)
GEMINI_THOUGHT_MEMBERS = frozenset(("subject", "description", "timestamp"))
GEMINI_CALL_MEMBERS = frozenset(
    (
        "id",
        "name",
        "args",
        "result",
        "status",
        "timestamp",
        "agentId",
        "displayName",
        "description",
        "resultDisplay",
    )
    + ("renderOutputAsMarkdown", "parentCallId", "approvalMode", "kind")
)
GEMINI_TOKEN_MEMBERS = frozenset(("input", "output", "cached", "thoughts", "tool", "total"))


_MESSAGE_MOVES = (
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("content", "content", None),
)
GEMINI_USER_SHAPE = NativeShape(GEMINI_MESSAGE_MEMBERS, *_MESSAGE_MOVES)
GEMINI_ANSWER_SHAPE = NativeShape(GEMINI_ANSWER_MEMBERS, *_MESSAGE_MOVES, Move("model", "model-id"))
GEMINI_REPLACED_SHAPE = NativeShape(GEMINI_ANSWER_MEMBERS, *_MESSAGE_MOVES)
"""A message that was written again: what the later one says is left to that one."""
GEMINI_THOUGHT_SHAPE = NativeShape(
    GEMINI_THOUGHT_MEMBERS,
    Move("description", "content", None),
    Move("subject", "subject"),
    Move("timestamp", "timestamp", None),
)
GEMINI_CALL_SHAPE = NativeShape(
    GEMINI_CALL_MEMBERS,
    Move("id", "call-id"),
    Move("name", "name"),
    Move("args", "input", None),
    Move("status", "status"),
    Move("timestamp", "timestamp", None),
)
GEMINI_RESULT_MOVES = Lift(
    Move("result", "output", None),
    Move("status", "status"),
    Move("resultDisplay", "resultDisplay", None),
)
GEMINI_TURN_SHAPE = NativeShape(
    GEMINI_TURN_MEMBERS,
    Move("parts", "content", None),
    Move("id", "id"),
    Move("timestamp", "timestamp", None),
    Move("finishReason", "stop-reason"),
)
GEMINI_USAGE_SUMS = (
    ("input", ("input", "tool")),
    ("output", ("output", "thoughts")),
    ("cached", ("cached",)),
    ("reasoning", ("thoughts",)),
    ("total", ("total",)),
)
"""Canonical counter → the native ones that it is the sum of; the first must be there."""
GEMINI_EVENT_MOVES = Lift(Move("id", "id"), Move("timestamp", "timestamp", None))
GEMINI_FAILED_STATUSES = frozenset(("error",))
GEMINI_RESERVED_EVENT_TYPES = frozenset(
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


_ENTRY_TYPES = GEMINI_ENTRY_TYPES
_NATIVE_TYPE_MARKS = {kind: {"native": {"type": kind}} for kind in _ENTRY_TYPES}


def make_gemini_message_entry(
    message: Any, session: SessionBuilder, fate: str | None
) -> JsonObject:
    """Turn a message into an entry of its type; `fate` tells why the conversation does not hold it
    any more.
    """
    if type(message) is not dict:
        return session.make_value_event(message)
    kind = message.pop("type", None)
    entry_type = _ENTRY_TYPES.get(kind) if type(kind) is str else None
    if entry_type is None:
        return make_gemini_event(message, kind, session, fate)
    if "content" not in message and type(message.get("parts")) is list:
        return _make_entry_from_parts(message, kind, session, fate)
    inside: list[JsonObject] = []
    usage = None
    if fate == FATE_REPLACED:
        entry = GEMINI_REPLACED_SHAPE.make_entry(entry_type, message, session.drift, kind)
    elif entry_type == "user":
        entry = GEMINI_USER_SHAPE.make_entry(entry_type, message, session.drift, kind)
    else:
        usage = _build_usage(message, session)
        inside = _take_thoughts_and_calls(message, session)
        entry = GEMINI_ANSWER_SHAPE.make_entry(entry_type, message, session.drift, kind)
        if "model-id" in entry:
            session.models[entry["model-id"]] += 1
        if usage is not None:
            entry["token-usage"] = usage
    if kind != entry_type:
        if "vacr" in entry:
            keep_native_members(entry, {"type": kind})
        else:
            entry["vacr"] = _NATIVE_TYPE_MARKS[kind]
    if fate is not None:
        _mark_superseded(entry, fate)
    _add_children(entry, inside, session)
    return entry


def _make_entry_from_parts(
    message: JsonObject, kind: str, session: SessionBuilder, fate: str | None
) -> JsonObject:
    """Make the entry of a message that says what it says in parts, as turns do."""
    message["content"], message["type"] = message.pop("parts"), kind
    entry = make_gemini_message_entry(message, session, fate)
    get_writable_marks(entry)["content-from"] = "parts"
    return entry


def _mark_superseded(entry: JsonObject, fate: str) -> None:
    """Mark a message that the conversation does not hold any more; one that was written again
    leaves its id to the other.
    """
    ours = get_writable_marks(entry)
    ours["superseded"] = fate
    if fate == FATE_REPLACED:
        ours["repeats"] = entry.pop("id")


def _add_children(entry: JsonObject, inside: list[JsonObject], session: SessionBuilder) -> None:
    """Give a message its children: what its content says, then what stood beside."""
    content = entry.get("content")
    if type(content) is list:
        inside = build_child_entries(content, session.drift.types, session.drift.members) + inside
    elif content is None:
        entry.pop("content", None)
    if inside:
        entry["children"] = inside


def _take_thoughts_and_calls(message: JsonObject, session: SessionBuilder) -> list[JsonObject]:
    """Take thoughts and calls out of a message, and give the entries they become; lists of anything
    else stay.
    """
    found: list[JsonObject] = []
    thoughts, calls = message.get("thoughts"), message.get("toolCalls")
    if thoughts and type(thoughts) is list and _all_have_member(thoughts, "description", None):
        del message["thoughts"]
        found += [
            GEMINI_THOUGHT_SHAPE.make_entry("reasoning", thought, session.drift, "thoughts")
            for thought in thoughts
        ]
    if calls and type(calls) is list and _all_have_member(calls, "name", str):
        del message["toolCalls"]
        for call in calls:
            _take_tool_call(call, session, found)
    session.embedded += found
    return found


def _all_have_member(items: list[Any], member: str, kind: type | None) -> bool:
    """Tell whether all items are objects with a member, of some kind."""
    for item in items:
        if (
            type(item) is not dict
            or member not in item
            or (kind and type(item[member]) is not kind)
        ):
            return False
    return True


def _take_tool_call(call: JsonObject, session: SessionBuilder, found: list[JsonObject]) -> None:
    """Part a tool call from its result."""
    result: JsonObject | None = None
    if call.get("result") is not None:
        result = {"type": "tool-result"}
        GEMINI_RESULT_MOVES.apply(call, result)
        if is_one_of(result.get("status"), GEMINI_FAILED_STATUSES):
            result["is-error"] = True
    entry = GEMINI_CALL_SHAPE.make_entry("tool-call", call, session.drift, "toolCalls")
    if "input" not in entry:
        entry["input"] = None
    found.append(entry)
    if result is not None:
        if "call-id" in entry:
            result["call-id"] = entry["call-id"]
        found.append(result)


def _build_usage(message: JsonObject, session: SessionBuilder) -> JsonObject | None:
    """Give the canonical counters of a message; Gemini counts thoughts beside the output, and
    tools' prompts beside the input.
    """
    tokens = message.get("tokens")
    if type(tokens) is not dict:
        return None
    if (
        tokens.keys() == GEMINI_TOKEN_MEMBERS
        and are_counts(tokens.values())
        and sum(tokens.values()) < COUNTER_LIMIT
    ):
        return {
            "input": tokens["input"] + tokens["tool"],
            "output": tokens["output"] + tokens["thoughts"],
            "cached": tokens["cached"],
            "reasoning": tokens["thoughts"],
            "total": tokens["total"],
        }
    session.drift.count_members("tokens", tokens, GEMINI_TOKEN_MEMBERS)
    return sum_token_usage(tokens, GEMINI_USAGE_SUMS) or None


def make_turn_entry(turn: JsonObject, session: SessionBuilder) -> JsonObject:
    """Turn a saved turn into a message whose content is its parts."""
    if session.session_id is None and type(turn.get("sessionId")) is str:
        session.session_id = turn["sessionId"]
    entry_type = GEMINI_ENTRY_TYPES[turn["role"]]
    if turn["role"] == entry_type:
        del turn["role"]
    entry = GEMINI_TURN_SHAPE.make_entry(entry_type, turn, session.drift, "history")
    _add_children(entry, [], session)
    return entry


def is_gemini_turn(value: Any) -> bool:
    """Tell whether a value is a turn of a saved chat."""
    return (
        type(value) is dict
        and type(value.get("parts")) is list
        and is_one_of(value.get("role"), GEMINI_ENTRY_TYPES)
    )


def make_gemini_event(
    message: JsonObject, kind: Any, session: SessionBuilder, fate: str | None
) -> JsonObject:
    """Turn what was shown to the user, and what is not known, into an event."""
    if not is_one_of(kind, GEMINI_EVENT_TYPES):
        session.drift.count_type(kind)
    entry = make_typed_event(message, kind, GEMINI_RESERVED_EVENT_TYPES, GEMINI_EVENT_MOVES)
    if fate is not None:
        _mark_superseded(entry, fate)
    return entry

"""The rows of a conversation as steps: a prompt, or one call of a model with what it thought, said
and had done. Step: export.

Which rows are of one call is known by the message's native id (Claude Code splits a message into
lines), by the message that holds them (Gemini CLI, OpenCode), or else by the results: what a model
says after a result, it says in another call (Codex CLI).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.model import TOKEN_USAGE_MEMBERS, JsonObject
from vacr.viewer import EVENT_ROW, TOOL_ROW, USER_ROW, ContentPart, Row, list_content_parts

_POINTER_NUMBER = re.compile(r"/([0-9]+)")
_MESSAGE_TYPES = ("user", "assistant")
_INSTRUCTION_ROLES = ("system", "developer")

SYSTEM_MESSAGE_EVENT = "system-message"
"""The type of an event that is made of an instruction in a trajectory."""
AGENT_SOURCE, PROMPT_SOURCE, SYSTEM_SOURCE = "agent", "user", "system"

EntryPosition = tuple[int, ...]
"""The numbers in the pointer of an entry."""


@dataclass
class ConversationStep:
    """Some rows that belong together."""

    agent: str = ""
    """The sub-agent whose step it is."""
    source: str = AGENT_SOURCE
    """Whose it is: the user's, the agent's, or the system's, which gives a model its instructions.
    """
    call: Any = None
    """What tells one call of a model from another, where anything does."""
    rows: list[Row] = field(default_factory=list)
    entries: set[EntryPosition] = field(default_factory=set)
    """Where the entries are that tell of its tokens."""
    answered: EntryPosition | None = None
    """Where the first result of its calls is."""

    def take(self, row: Row, home: EntryPosition) -> None:
        """Add a row, whose tokens are told of at some position."""
        self.rows.append(row)
        self.entries.add(home)
        if row.result is not None:
            place = _parse_position(row.result.place)
            self.answered = min(self.answered or place, place)

    def usage(self, record: JsonObject) -> JsonObject:
        """Add up the tokens of its entries."""
        found: JsonObject = {}
        for position in sorted(self.entries):
            *_, entry = _walk_to_position(record["session"]["entries"], position)
            _add_usage(entry, found)
        return found


def group_rows_into_steps(every: Iterable[Row], record: JsonObject) -> list[ConversationStep]:
    """Give the steps of a record's rows, in order; an event is of none, but its tokens are of the
    step before it.
    """
    entries = record["session"]["entries"]
    found: list[ConversationStep] = []
    open_steps: dict[str, ConversationStep] = {}
    for row in every:
        position = _parse_position(row.place)
        home, call = _find_message(entries, position)
        current = open_steps.get(row.agent)
        if get_instructions(row) is not None:
            found.append(ConversationStep(row.agent, SYSTEM_SOURCE, rows=[row]))
        elif row.kind == EVENT_ROW:
            if current is not None and home == position and "token-usage" in row.entry:
                current.entries.add(position)
        elif row.kind == USER_ROW:
            found.append(ConversationStep(row.agent, PROMPT_SOURCE, rows=[row]))
            open_steps.pop(row.agent, None)
        else:
            is_result = row.kind == TOOL_ROW and not row.tool
            if current is None or (not is_result and _is_new_call(current, call, position)):
                current = open_steps[row.agent] = ConversationStep(row.agent, call=call)
                found.append(current)
            current.take(row, home)
    return found


def get_instructions(row: Row) -> list[ContentPart] | None:
    """Give what an event tells the model to do, as Codex CLI and trajectories keep it; nothing for
    any other event.
    """
    data = row.entry.get("data") if row.kind == EVENT_ROW else None
    if not isinstance(data, dict):
        return None
    if row.summary == SYSTEM_MESSAGE_EVENT:
        return list_content_parts(data.get("message"))
    return (
        list_content_parts(data.get("content"))
        if row.summary == "message" and data.get("role") in _INSTRUCTION_ROLES
        else None
    )


def filter_steps(found: Iterable[ConversationStep], kept: Iterable[Row]) -> list[ConversationStep]:
    """Leave only some rows in steps, and only the steps that have any."""
    places = {row.place for row in kept}
    for step in found:
        step.rows = [row for row in step.rows if row.place in places]
    return [step for step in found if step.rows]


def _parse_position(place: str) -> EntryPosition:
    return tuple(map(int, _POINTER_NUMBER.findall(place)))


def _walk_to_position(entries: Any, position: EntryPosition) -> Iterator[JsonObject]:
    """Give the entries on the way to a position."""
    for number in position:
        yield entries[number]
        entries = entries[number].get("children", ())


def _find_message(entries: Any, position: EntryPosition) -> tuple[EntryPosition, Any]:
    """Give where the message is that holds a position, and the name of the call of a model it is
    of; else the position itself.
    """
    home, call = position, None
    for depth, entry in enumerate(_walk_to_position(entries, position), 1):
        if entry.get("type") in _MESSAGE_TYPES:
            message = entry.get("message")
            name = message.get("id") if isinstance(message, dict) else None
            home = position[:depth]
            call = name if isinstance(name, str) else home
    return home, call


def _is_new_call(current: ConversationStep, call: Any, position: EntryPosition) -> bool:
    if call is None and current.call is None:
        return current.answered is not None and position > current.answered
    return bool(call != current.call)


def _add_usage(entry: JsonObject, found: JsonObject) -> None:
    """Add the tokens of an entry and its children; those of a session that this one was forked from
    are not its own.
    """
    marks, usage = entry.get("vacr"), entry.get("token-usage")
    if isinstance(marks, dict) and marks.get("inherited"):
        return
    if isinstance(usage, dict):
        for name in TOKEN_USAGE_MEMBERS.intersection(usage):
            if isinstance(usage[name], int | float) and not isinstance(usage[name], bool):
                found[name] = found.get(name, 0) + usage[name]
    for child in entry.get("children", ()):
        _add_usage(child, found)

"""Rows grouped into steps: a prompt, an instruction, or one call of a model with all it did.

ATIF and OpenTelemetry describe a conversation by calls of models. Which rows belong to one call is
known from the native id of the message, which an agent may split into lines; from the message that
contains them; or else from the results: an answer after a result is another call.

    >>> import vacr
    >>> from vacr.exchange.steps import group_rows_into_steps
    >>> from vacr.viewer import build_rows
    >>> [record] = vacr.read("examples/claude-code.jsonl")
    >>> for step in group_rows_into_steps(build_rows(record), record)[:2]:
    ...     print(step.source, [row.kind for row in step.rows])
    user ['user']
    agent ['reasoning', 'assistant', 'tool']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.model import TOKEN_USAGE_MEMBERS, JsonObject
from vacr.viewer import EVENT_ROW, TOOL_ROW, USER_ROW, ContentPart, Row, list_content_parts

AGENT_SOURCE = "agent"
PROMPT_SOURCE = "user"
SYSTEM_SOURCE = "system"

SYSTEM_MESSAGE_EVENT = "system-message"
"""The type of the event that holds an instruction of a trajectory."""

_POINTER_NUMBER = re.compile(r"/([0-9]+)")
_MESSAGE_TYPES = ("user", "assistant")
_INSTRUCTION_ROLES = ("system", "developer")

EntryPosition = tuple[int, ...]
"""The numbers in the pointer of an entry."""


@dataclass
class ConversationStep:
    """Rows that belong together."""

    agent: str = ""
    """The sub-agent that it belongs to."""
    source: str = AGENT_SOURCE
    """Who speaks: the user, the agent, or the system, which gives a model its instructions."""
    call: Any = None
    """What distinguishes the call of the model from others, if known."""
    rows: list[Row] = field(default_factory=list)
    entries: set[EntryPosition] = field(default_factory=set)
    """The positions of the entries with its token usage."""
    answered: EntryPosition | None = None
    """The position of the first result of its tool calls."""

    def add_row(self, row: Row, message: EntryPosition) -> None:
        """Add a row of a message, which may have the token usage."""
        self.rows.append(row)
        self.entries.add(message)
        if row.result is not None:
            position = _parse_position(row.result.place)
            self.answered = min(self.answered or position, position)

    def sum_usage(self, record: JsonObject) -> JsonObject:
        """Return the sum of the token usage of its entries."""
        total: JsonObject = {}
        for position in sorted(self.entries):
            *_, entry = _walk_to_position(record["session"]["entries"], position)
            _add_entry_usage(entry, total)
        return total


def group_rows_into_steps(every: Iterable[Row], record: JsonObject) -> list[ConversationStep]:
    """Return the steps of a record's rows, in order.

    Events belong to no step, but their token usage belongs to the step before them.
    """
    entries = record["session"]["entries"]
    steps: list[ConversationStep] = []
    open_steps: dict[str, ConversationStep] = {}
    for row in every:
        position = _parse_position(row.place)
        message, call = _find_message(entries, position)
        current = open_steps.get(row.agent)
        if get_instructions(row) is not None:
            steps.append(ConversationStep(row.agent, SYSTEM_SOURCE, rows=[row]))
        elif row.kind == EVENT_ROW:
            if current is not None and message == position and "token-usage" in row.entry:
                current.entries.add(position)
        elif row.kind == USER_ROW:
            steps.append(ConversationStep(row.agent, PROMPT_SOURCE, rows=[row]))
            open_steps.pop(row.agent, None)
        else:
            is_result = row.kind == TOOL_ROW and not row.tool
            if current is None or (not is_result and _is_new_call(current, call, position)):
                current = open_steps[row.agent] = ConversationStep(row.agent, call=call)
                steps.append(current)
            current.add_row(row, message)
    return steps


def filter_steps(steps: Iterable[ConversationStep], kept: Iterable[Row]) -> list[ConversationStep]:
    """Remove all but some rows from steps, and return the steps that have any left."""
    places = {row.place for row in kept}
    remaining = []
    for step in steps:
        step.rows = [row for row in step.rows if row.place in places]
        if step.rows:
            remaining.append(step)
    return remaining


def get_instructions(row: Row) -> list[ContentPart] | None:
    """Return the instructions to the model in an event; `None` for any other row.

    Some agents, and imported trajectories, keep them in events.
    """
    data = row.entry.get("data") if row.kind == EVENT_ROW else None
    if not isinstance(data, dict):
        return None
    if row.summary == SYSTEM_MESSAGE_EVENT:
        return list_content_parts(data.get("message"))
    if row.summary == "message" and data.get("role") in _INSTRUCTION_ROLES:
        return list_content_parts(data.get("content"))
    return None


def sum_usages(usages: Iterable[JsonObject]) -> JsonObject:
    """Return the sum of token usages."""
    total: JsonObject = {}
    for usage in usages:
        for name, value in usage.items():
            total[name] = total.get(name, 0) + value
    return total


def _parse_position(pointer: str) -> EntryPosition:
    return tuple(map(int, _POINTER_NUMBER.findall(pointer)))


def _walk_to_position(entries: Any, position: EntryPosition) -> Iterator[JsonObject]:
    """Yield the entries on the way to a position."""
    for number in position:
        yield entries[number]
        entries = entries[number].get("children", ())


def _find_message(entries: Any, position: EntryPosition) -> tuple[EntryPosition, Any]:
    """Return the position of the message around an entry, and what identifies the model's call.

    Without a message, this is the position itself and `None`.
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


def _add_entry_usage(entry: JsonObject, total: JsonObject) -> None:
    """Add the token usage of an entry and its children, except for inherited entries."""
    marks, usage = entry.get("vacr"), entry.get("token-usage")
    if isinstance(marks, dict) and marks.get("inherited"):
        return
    if isinstance(usage, dict):
        for name in TOKEN_USAGE_MEMBERS.intersection(usage):
            if isinstance(usage[name], int | float) and not isinstance(usage[name], bool):
                total[name] = total.get(name, 0) + usage[name]
    for child in entry.get("children", ()):
        _add_entry_usage(child, total)

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

from vacr.model import USAGE_MEMBERS, Native
from vacr.viewer.parts import Part, parts_of
from vacr.viewer.rows import EVENT, TOOL, USER, Row

_NUMBERS = re.compile(r"/([0-9]+)")
_MESSAGES = ("user", "assistant")
_INSTRUCTING = ("system", "developer")

SYSTEM_MESSAGE = "system-message"
"""The type of an event that is made of an instruction in a trajectory."""
AGENT, PROMPT, SYSTEM = "agent", "user", "system"

Position = tuple[int, ...]
"""The numbers in the pointer of an entry."""


@dataclass
class Step:
    """Some rows that belong together."""

    agent: str = ""
    """The sub-agent whose step it is."""
    source: str = AGENT
    """Whose it is: the user's, the agent's, or the system's, which gives a model its instructions.
    """
    call: Any = None
    """What tells one call of a model from another, where anything does."""
    rows: list[Row] = field(default_factory=list)
    entries: set[Position] = field(default_factory=set)
    """Where the entries are that tell of its tokens."""
    answered: Position | None = None
    """Where the first result of its calls is."""

    def take(self, row: Row, home: Position) -> None:
        """Add a row, whose tokens are told of at some position."""
        self.rows.append(row)
        self.entries.add(home)
        if row.result is not None:
            place = _position(row.result.place)
            self.answered = min(self.answered or place, place)

    def usage(self, record: Native) -> Native:
        """Add up the tokens of its entries."""
        found: Native = {}
        for position in sorted(self.entries):
            *_, entry = _path(record["session"]["entries"], position)
            _add(entry, found)
        return found


def steps(every: Iterable[Row], record: Native) -> list[Step]:
    """Give the steps of a record's rows, in order; an event is of none, but its tokens are of the
    step before it.
    """
    entries = record["session"]["entries"]
    found: list[Step] = []
    open_steps: dict[str, Step] = {}
    for row in every:
        position = _position(row.place)
        home, call = _home(entries, position)
        current = open_steps.get(row.agent)
        if instructions(row) is not None:
            found.append(Step(row.agent, SYSTEM, rows=[row]))
        elif row.kind == EVENT:
            if current is not None and home == position and "token-usage" in row.entry:
                current.entries.add(position)
        elif row.kind == USER:
            found.append(Step(row.agent, PROMPT, rows=[row]))
            open_steps.pop(row.agent, None)
        else:
            is_result = row.kind == TOOL and not row.tool
            if current is None or (not is_result and _is_another(current, call, position)):
                current = open_steps[row.agent] = Step(row.agent, call=call)
                found.append(current)
            current.take(row, home)
    return found


def instructions(row: Row) -> list[Part] | None:
    """Give what an event tells the model to do, as Codex CLI and trajectories keep it; nothing for
    any other event.
    """
    data = row.entry.get("data") if row.kind == EVENT else None
    if not isinstance(data, dict):
        return None
    if row.summary == SYSTEM_MESSAGE:
        return parts_of(data.get("message"))
    return (
        parts_of(data.get("content"))
        if row.summary == "message" and data.get("role") in _INSTRUCTING
        else None
    )


def only(found: Iterable[Step], kept: Iterable[Row]) -> list[Step]:
    """Leave only some rows in steps, and only the steps that have any."""
    places = {row.place for row in kept}
    for step in found:
        step.rows = [row for row in step.rows if row.place in places]
    return [step for step in found if step.rows]


def _position(place: str) -> Position:
    return tuple(map(int, _NUMBERS.findall(place)))


def _path(entries: Any, position: Position) -> Iterator[Native]:
    """Give the entries on the way to a position."""
    for number in position:
        yield entries[number]
        entries = entries[number].get("children", ())


def _home(entries: Any, position: Position) -> tuple[Position, Any]:
    """Give where the message is that holds a position, and the name of the call of a model it is
    of; else the position itself.
    """
    home, call = position, None
    for depth, entry in enumerate(_path(entries, position), 1):
        if entry.get("type") in _MESSAGES:
            message = entry.get("message")
            name = message.get("id") if isinstance(message, dict) else None
            home = position[:depth]
            call = name if isinstance(name, str) else home
    return home, call


def _is_another(current: Step, call: Any, position: Position) -> bool:
    if call is None and current.call is None:
        return current.answered is not None and position > current.answered
    return bool(call != current.call)


def _add(entry: Native, found: Native) -> None:
    """Add the tokens of an entry and its children; those of a session that this one was forked from
    are not its own.
    """
    marks, usage = entry.get("vacr"), entry.get("token-usage")
    if isinstance(marks, dict) and marks.get("inherited"):
        return
    if isinstance(usage, dict):
        for name in USAGE_MEMBERS.intersection(usage):
            if isinstance(usage[name], int | float) and not isinstance(usage[name], bool):
                found[name] = found.get(name, 0) + usage[name]
    for child in entry.get("children", ()):
        _add(child, found)

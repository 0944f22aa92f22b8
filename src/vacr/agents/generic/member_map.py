r"""The member map: which members of a conversation hold the role, the content, the time, and so on.

A map is a TOML file next to the session: `chat.map.toml` for `chat.jsonl`. It is a part of the
session's source, so the same two files always give the same record.

>>> from vacr.agents.generic.member_map import parse_member_map
>>> text = 'messages = "log.turns"\n[members]\nrole = "from"\n[roles]\nhuman = "user"\n'
>>> member_map = parse_member_map(text.encode(), "chat.map.toml")
>>> turn = {"from": "human", "value": "Hello!"}
>>> member_map.role.find(turn), member_map.kinds["human"]
('human', 'user')
>>> member_map.messages.find({"log": {"turns": [turn]}}) == [turn]
True

| table | entries |
|---|---|
| (top) | `messages`: the path of the list of messages; `time-unit`: `iso`, `s` or `ms` |
| `[members]` | the paths of a message's members: `role`, `content`, `time`, `id`, … |
| `[call]` | the paths of a tool call's members: `id`, `name`, `input` |
| `[roles]` | word → `user`, `assistant`, `tool` or `system` |
| `[session]` | facts that the file does not state: `id`, `model`, `folder`, `start`, `agent`, … |
| `[session-members]` | the paths of facts next to the list of messages: `id`, `model`, … |

A path is a text with dots (`log.turns`), or a list of names where a name has a dot itself.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from vacr.errors import UnreadableInput
from vacr.model import JsonObject
from vacr.record import is_timestamp

USER, ASSISTANT, TOOL, SYSTEM = "user", "assistant", "tool", "system"
_KINDS = (USER, ASSISTANT, TOOL, SYSTEM)
_USUAL_KINDS = {
    "user": USER,
    "human": USER,
    "assistant": ASSISTANT,
    "ai": ASSISTANT,
    "model": ASSISTANT,
    "tool": TOOL,
    "function": TOOL,
    "system": SYSTEM,
    "developer": SYSTEM,
}
AUTO_UNIT = "auto"
_TIME_UNITS = ("iso", "s", "ms")
_LARGEST_SECONDS = 10**11
"""Without a unit, numbers below this are seconds since 1970; others are milliseconds."""
_LATEST_SECONDS = 2**43
_HINT = "Correct the map, and run the command again."
_MAX_SHOWN_BITS = 64
_TABLE_LINE = re.compile(r"\s*\[([^\[\]]+)\]")


class MemberPath:
    """The way to a member, through objects inside objects; it may lead nowhere."""

    def __init__(self, *names: str) -> None:
        """Keep the names of the members, from the outside in."""
        self.names = names
        self._is_short = len(names) == 1

    def find(self, value: Any) -> Any:
        """Return the member of a value, or None if the path leads nowhere."""
        if self._is_short:
            return value.get(self.names[0]) if type(value) is dict else None
        for name in self.names:
            if type(value) is not dict:
                return None
            value = value.get(name)
        return value

    def take(self, value: JsonObject) -> Any:
        """Remove the member of an object, and return it; the path must lead to it."""
        *outer, last = self.names
        for name in outer:
            value = value[name]
        return value.pop(last)


def _make_paths(**names: str) -> dict[str, MemberPath]:
    """Return paths of one name each."""
    return {key.replace("_", "-"): MemberPath(name) for key, name in names.items()}


_USUAL_MEMBERS = _make_paths(
    role="role",
    content="content",
    time="timestamp",
    id="id",
    parent="parent_id",
    model="model",
    usage="usage",
    reasoning="reasoning_content",
    tool_calls="tool_calls",
    call_id="tool_call_id",
    tool_name="name",
    is_error="is_error",
)
_USUAL_CALL_MEMBERS = {
    "id": MemberPath("id"),
    "name": MemberPath("function", "name"),
    "input": MemberPath("function", "arguments"),
}
_USUAL_SESSION_MEMBERS = {"id": MemberPath("session_id"), "model": MemberPath("model")}
_SESSION_FACTS = ("id", "model", "folder", "start", "agent", "agent-version")


@dataclass(frozen=True)
class MemberMap:
    """The names that a conversation uses; the defaults are those of the OpenAI chat format."""

    messages: MemberPath = field(default_factory=lambda: MemberPath("messages"))
    time_unit: str = AUTO_UNIT
    members: dict[str, MemberPath] = field(default_factory=lambda: _USUAL_MEMBERS)
    call: dict[str, MemberPath] = field(default_factory=lambda: _USUAL_CALL_MEMBERS)
    kinds: dict[str, str] = field(default_factory=lambda: _USUAL_KINDS)
    """Word for a role → user, assistant, tool or system."""
    facts: dict[str, str] = field(default_factory=dict)
    """Facts about the session that the file does not state."""
    fact_members: dict[str, MemberPath] = field(default_factory=lambda: _USUAL_SESSION_MEMBERS)

    @property
    def role(self) -> MemberPath:
        """Return the path of a message's role."""
        return self.members["role"]

    def find_kind(self, message: Any) -> str | None:
        """Return the kind of a message's role; None without a role, or if its word is unknown."""
        role = self.role.find(message)
        return self.kinds.get(role) if type(role) is str else None

    def parse_time(self, value: Any) -> Any:
        """Return a native time as a timestamp of a record, or None if it is not one.

        A local time without a zone is not one: nobody knows the moment that it means.
        """
        unit = self.time_unit
        if unit in ("s", "ms") and type(value) is str:
            try:
                value = float(value) if "." in value else int(value)
            except ValueError:
                return None
        if isinstance(value, str):
            return value if unit in (AUTO_UNIT, "iso") and is_timestamp(value) else None
        if unit == "iso" or isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if unit == "ms" or (unit == AUTO_UNIT and value >= _LARGEST_SECONDS):
            return int(value) if 0 <= value < _LATEST_SECONDS * 1000 else None
        return round(value * 1000) if 0 <= value < _LATEST_SECONDS else None


USUAL_MAP = MemberMap()


def parse_member_map(data: bytes, name: str) -> MemberMap:
    """Parse a map; `name` is the file's name for errors.

    Raises:
        UnreadableInput: it is not TOML, or a table, a member or a value of it is unknown.
    """
    return _MapParser(data, name).parse()


class _MapParser:
    """Parses one map, and names the file, the line and the member in errors."""

    def __init__(self, data: bytes, name: str) -> None:
        """Keep the bytes and the name of the file."""
        self.data = data
        self.name = name
        self.text = ""

    def parse(self) -> MemberMap:
        """Return the map.

        Raises:
            UnreadableInput: it is not TOML, or something in it is unknown.
        """
        try:
            self.text = self.data.decode().replace("\r\n", "\n")
            document = tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:
            # Python refuses integers of thousands of digits by a plain ValueError.
            line = re.search(r"line (\d+)", str(error))
            where = f"{self.name}:{line[1]}" if line else self.name
            raise UnreadableInput(
                f"the map is not TOML: {error}", where=where, hint=_HINT
            ) from error
        tables = ("members", "call", "roles", "session", "session-members")
        self._check_names(document, "", ("messages", "time-unit", *tables))
        unit = document.get("time-unit", AUTO_UNIT)
        if "time-unit" in document and unit not in _TIME_UNITS:
            raise self._make_error("", "time-unit", unit, f"one of {', '.join(_TIME_UNITS)}")
        messages = document.get("messages")
        path = self._parse_path("", "messages", messages) if messages is not None else None
        return MemberMap(
            path or MemberPath("messages"),
            unit,
            _USUAL_MEMBERS | self._parse_paths(document, "members", tuple(_USUAL_MEMBERS)),
            _USUAL_CALL_MEMBERS | self._parse_paths(document, "call", tuple(_USUAL_CALL_MEMBERS)),
            _USUAL_KINDS | self._parse_texts(document, "roles", None, _KINDS),
            self._parse_texts(document, "session", _SESSION_FACTS, None),
            _USUAL_SESSION_MEMBERS | self._parse_paths(document, "session-members", _SESSION_FACTS),
        )

    def _parse_paths(
        self, document: JsonObject, table: str, known: tuple[str, ...]
    ) -> dict[str, MemberPath]:
        """Return the paths in a table whose members are `known`; empty without the table."""
        values = self._get_table(document, table)
        self._check_names(values, table, known)
        return {name: self._parse_path(table, name, value) for name, value in values.items()}

    def _parse_path(self, table: str, name: str, value: Any) -> MemberPath:
        """Return a path: a text with dots, or a list of names."""
        names = value.split(".") if type(value) is str else value
        if type(names) is not list or not names or not all(type(n) is str and n for n in names):
            expected = 'a path, such as "data.role"'
            raise self._make_error(table, name, value, expected)
        return MemberPath(*names)

    def _parse_texts(
        self,
        document: JsonObject,
        table: str,
        known: tuple[str, ...] | None,
        allowed: tuple[str, ...] | None,
    ) -> dict[str, str]:
        """Return the texts in a table; None for `known` or `allowed` accepts any name or text."""
        values = self._get_table(document, table)
        if known is not None:
            self._check_names(values, table, known)
        for name, value in values.items():
            if type(value) is not str or not value:
                raise self._make_error(table, name, value, "a text")
            if allowed is not None and value not in allowed:
                raise self._make_error(table, name, value, f"one of {', '.join(allowed)}")
            if name == "start" and known is not None and not is_timestamp(value):
                expected = 'a time with a zone, such as "2026-05-02T08:15:00Z"'
                raise self._make_error(table, name, value, expected)
        return values

    def _get_table(self, document: JsonObject, table: str) -> dict[str, Any]:
        """Return a table of the map, or an empty one if it is missing."""
        values = document.get(table, {})
        if type(values) is not dict:
            raise self._make_error("", table, values, f"a table: [{table}]")
        return values

    def _check_names(self, values: JsonObject, table: str, known: tuple[str, ...]) -> None:
        """Check that all names of a table are known.

        Raises:
            UnreadableInput: one is not.
        """
        for name in values:
            if name not in known:
                where = f"[{table}] has no member" if table else "unknown table or member"
                raise UnreadableInput(
                    f"{where} {name!r}",
                    where=self._locate(table, name),
                    hint=f"Known are: {', '.join(known)}.",
                )

    def _make_error(self, table: str, name: str, found: Any, expected: str) -> UnreadableInput:
        """Return the error about a value that is not the expected one."""
        member = f"{name!r} in [{table}]" if table else repr(name)
        return UnreadableInput(
            f"{member} must be {expected}; found {_describe_value(found)}",
            where=self._locate(table, name),
            hint=_HINT,
        )

    def _locate(self, table: str, name: str) -> str:
        """Return the file and the line of a member; of its table, if the line is not found."""
        current, table_line = "", 0
        member_line = re.compile(rf"\s*(?:\[\s*)?[\"']?{re.escape(name)}[\"']?\s*(?:[=.\]]|$)")
        for number, line in enumerate(self.text.splitlines(), 1):
            header = _TABLE_LINE.match(line)
            if header is not None:
                current = header[1].strip()
                table_line = number if current == table else table_line
            is_table_itself = not table and current == name
            if (current == table or is_table_itself) and member_line.match(line):
                return f"{self.name}:{number}"
        return f"{self.name}:{table_line}" if table_line else self.name


def _describe_value(value: Any) -> str:
    """Return a value of a map for an error; a large or a nested one by its kind."""
    if isinstance(value, int) and value.bit_length() > _MAX_SHOWN_BITS:
        return "a large number"
    if isinstance(value, list | dict):
        return "an array" if isinstance(value, list) else "a table"
    return repr(value)

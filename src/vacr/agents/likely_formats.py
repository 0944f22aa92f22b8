"""The likely format of an unrecognised file: the error about the file names it.

Many programs keep conversations that vacr has no reader for. Their messages have a role and a
content, under various names.

>>> from vacr.agents.likely_formats import describe_likely_format
>>> likely = describe_likely_format([{"from": "human", "value": "Hello!"}])
>>> likely.description
"JSON lines of messages with 'from' and 'value'"
>>> likely.needs_map
True
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_ROLE_NAMES = ("role", "from", "sender", "author", "speaker", "type")
_CONTENT_NAMES = ("content", "text", "value", "message", "parts", "body")
_ROLE_WORDS = frozenset(
    ("user", "human", "assistant", "ai", "gpt", "model", "bot", "agent", "system", "tool")
)
_MESSAGE_TABLES = ("messages", "message", "chat_messages", "conversation_messages", "turns")
_EXPORT_STEP = (
    "To record another one, export its table first: sqlite3 -json FILE 'SELECT * FROM {}' > "
    "messages.json. Then: vacr record --agent generic messages.json --map map.toml"
)
_MAX_EXAMINED = 64
_MIN_SHARE = 0.5


class LikelyFormat(NamedTuple):
    """A format that a file seems to have."""

    description: str
    needs_map: bool
    """Whether the members have other names than in the usual formats."""


def describe_likely_format(values: Sequence[Any]) -> LikelyFormat | None:
    """Return the likely format of the JSON values of a file, or None without messages."""
    if names := _find_member_names(values):
        return _describe("JSON lines of messages", names, is_usual_list=True)
    for value in values[:_MAX_EXAMINED]:
        if type(value) is list and (names := _find_member_names(value)):
            return _describe("a JSON list of messages", names, is_usual_list=True)
        for path, messages in _list_lists(value):
            if names := _find_member_names(messages):
                layout = f"JSON with messages in {path!r}"
                return _describe(layout, names, is_usual_list=path == "messages")
    return None


def _describe(layout: str, names: tuple[str, str], *, is_usual_list: bool) -> LikelyFormat:
    """Return the format of messages in a layout, whose role and content have these names."""
    role, content = names
    is_usual = is_usual_list and names == ("role", "content")
    return LikelyFormat(f"{layout} with {role!r} and {content!r}", not is_usual)


def _list_lists(value: Any) -> Iterable[tuple[str, list[Any]]]:
    """Yield the lists in an object, and in the objects in it, with their paths."""
    if type(value) is not dict:
        return
    for name, member in value.items():
        if type(member) is list:
            yield name, member
        elif type(member) is dict:
            for inner_name, inner in member.items():
                if type(inner) is list:
                    yield f"{name}.{inner_name}", inner


def _find_member_names(values: Sequence[Any]) -> tuple[str, str] | None:
    """Return the names of the role and the content in most of the values, or None."""
    examined = values[:_MAX_EXAMINED]
    objects = [value for value in examined if type(value) is dict]
    if not objects or len(objects) < _MIN_SHARE * len(examined):
        return None
    for role in _ROLE_NAMES:
        with_role = [value for value in objects if _is_role_word(value.get(role))]
        if len(with_role) < _MIN_SHARE * len(objects):
            continue
        for content in _CONTENT_NAMES:
            if sum(content in value for value in with_role) >= _MIN_SHARE * len(with_role):
                return role, content
    return None


def _is_role_word(value: Any) -> bool:
    """Return whether a value is a usual word for a role."""
    return type(value) is str and value.lower() in _ROLE_WORDS


def describe_likely_table(tables: Iterable[str]) -> tuple[str, str] | None:
    """Return the likely content of an unknown database, and the next step.

    `tables` are the names of its tables. Return None if no name suggests messages.
    """
    names = {table.lower(): table for table in sorted(tables)}
    table = next((names[name] for name in _MESSAGE_TABLES if name in names), None)
    if table is None:
        return None
    return f"its table {table!r} may hold messages of an agent", _EXPORT_STEP.format(table)

"""File attribution between its spellings. Step: convert. Follows section 8 of v2.cddl and its
counterpart in v3.cddl.

Versions 1 and 2 write the members of ranges and contributors in snake_case, version 3 in
kebab-case; all else is the same, and no map of it is open. v1 has no member for the algorithm of a
hash: see `vacr.versions.v1`.
"""

from __future__ import annotations

from typing import Any

from vacr.model import Native

_KEBAB = {
    "start_line": "start-line",
    "end_line": "end-line",
    "content_hash": "content-hash",
    "content_hash_alg": "content-hash-alg",
    "model_id": "model-id",
}
_SNAKE = {kebab: snake for snake, kebab in _KEBAB.items()}
_TYPES = ("human", "ai", "mixed", "unknown")


def to_kebab(attribution: Native) -> Native:
    """Spell a file attribution as version 3 does."""
    return _attribution(attribution, _KEBAB)


def to_snake(attribution: Native) -> Native:
    """Spell a file attribution as versions 1 and 2 do."""
    return _attribution(attribution, _SNAKE)


def contributor_to_kebab(contributor: Native) -> Native:
    """Spell a contributor as version 3 does."""
    return _renamed(contributor, _KEBAB)


def contributor_to_snake(contributor: Native) -> Native:
    """Spell a contributor as version 2 does."""
    return _renamed(contributor, _SNAKE)


def is_contributor(value: Any) -> bool:
    """Tell whether a value is a contributor as version 3 spells it."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _TYPES
        and value.keys() <= {"type", "model-id"}
        and isinstance(value.get("model-id", ""), str)
    )


def _attribution(attribution: Native, names: dict[str, str]) -> Native:
    return {"files": [_file(file, names) for file in attribution["files"]]}


def _file(file: Native, names: dict[str, str]) -> Native:
    return file | {"conversations": [_conversation(one, names) for one in file["conversations"]]}


def _conversation(conversation: Native, names: dict[str, str]) -> Native:
    ranges = [_with_contributor(_renamed(one, names), names) for one in conversation["ranges"]]
    return _with_contributor(conversation | {"ranges": ranges}, names)


def _with_contributor(holder: Native, names: dict[str, str]) -> Native:
    if "contributor" not in holder:
        return holder
    return holder | {"contributor": _renamed(holder["contributor"], names)}


def _renamed(members: Native, names: dict[str, str]) -> Native:
    return {names.get(name, name): value for name, value in members.items()}

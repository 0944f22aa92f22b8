"""Which lines of a Codex rollout were copied from its parent. Step: read.

A fork or a sub-agent writes its own `session_meta` first, then a copy of its parent's lines, among
them the parent's `session_meta`, then its own turns. Newer versions say where their own lines
begin; for older ones the turns tell: turn ids are UUIDs that hold their time, and a copied turn
began before this session did.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from vacr.model import Native
from vacr.timestamps import milliseconds

# Copied lines are stamped when they are copied, within moments of the session's start.
_MOMENT = 1000


def inherited(
    entries: list[Native], metas: list[tuple[int, Native]], turns: list[tuple[int, Native]]
) -> frozenset[int]:
    """Give the positions of the entries that the session took over from its parent."""
    if not metas:
        return frozenset()
    first, own = metas[0][0], metas[0][1]
    boundary = _ordinal(own["data"])
    if boundary is not None:
        return frozenset(
            index
            for index, entry in enumerate(entries)
            if index > first and type(entry.get("ordinal")) is int and entry["ordinal"] < boundary
        )
    began = _began(own)
    first_own = next(
        (index for index, turn in turns if index > first and _is_own(turn, began)), len(entries)
    )
    if not any(
        first < index < first_own and _identity(meta) != _identity(own) for index, meta in metas
    ):
        return frozenset()
    # Older versions write what the user said before the turn that answers it.
    while (
        first_own > first + 1
        and _is_prompt(entries[first_own - 1])
        and _is_later(entries[first_own - 1], began)
    ):
        first_own -= 1
    return frozenset(range(first + 1, first_own))


def _ordinal(meta: Native) -> int | None:
    """Give the ordinal of the first own line, where the session says it."""
    base = meta.get("history_base")
    for value in (
        meta.get("subagent_history_start_ordinal"),
        base.get("end_ordinal_exclusive") if type(base) is dict else None,
    ):
        if type(value) is int:
            return value
    return None


def _identity(meta: Native) -> Any:
    return meta["data"].get("id") or meta["data"].get("session_id")


def _began(meta: Native) -> int | None:
    """Give the time at which a session began, from its id where that holds one."""
    when = _uuid_time(_identity(meta))
    stamp = meta["data"].get("timestamp") or meta.get("timestamp")
    return (
        when if when is not None else milliseconds(stamp) if isinstance(stamp, str | int) else None
    )


def _is_own(turn: Native, began: int | None) -> bool:
    """Tell whether a turn began after its session did."""
    if began is None:
        return True
    when = _uuid_time(turn["data"].get("turn_id"))
    if when is not None:
        return when >= began
    return _is_later(turn, began)


def _is_prompt(entry: Native) -> bool:
    return entry["type"] == "user" or entry.get("event-type") in ("user_message", "message")


def _is_later(entry: Native, began: int | None) -> bool:
    """Tell whether a line was written after those that were copied, or does not say when."""
    stamp = entry.get("timestamp")
    written = milliseconds(stamp) if isinstance(stamp, str | int) else None
    return began is None or written is None or written > began + _MOMENT


def _uuid_time(text: Any) -> int | None:
    """Give the milliseconds in a UUIDv7."""
    if type(text) is not str:
        return None
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None  # noqa: PLR2004 - the UUID version that holds a time

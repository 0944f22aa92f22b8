"""Which lines of a Codex rollout were copied from its parent. Step: read.

A fork or a sub-agent writes its own `session_meta` first, then a copy of its parent's lines, among them the parent's
`session_meta`, then its own turns. Newer versions say where their own lines begin; for older ones the turns tell: turn
ids are UUIDs that hold their time, and a copied turn began before this session did.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from vacr.model import Native
from vacr.timestamps import milliseconds

# Copied lines are stamped when they are copied, within moments of the session's start.
_MOMENT = 1000


def inherited(entries: list[Native], metas: list[tuple[int, Native]], turns: list[tuple[int, Native]]) -> frozenset[int]:
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
    foreign = [index for index, meta in metas[1:] if _identity(meta) != _identity(own)]
    if not foreign:
        return frozenset()
    began = _began(own)
    ends = (index for index, turn in turns if index > foreign[-1] and _is_own(turn, began))
    return frozenset(range(first + 1, next(ends, len(entries))))


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
    return when if when is not None else milliseconds(stamp) if isinstance(stamp, str | int) else None


def _is_own(turn: Native, began: int | None) -> bool:
    """Tell whether a turn began after its session did."""
    if began is None:
        return True
    when = _uuid_time(turn["data"].get("turn_id"))
    if when is not None:
        return when >= began
    stamp = turn.get("timestamp")
    written = milliseconds(stamp) if isinstance(stamp, str | int) else None
    return written is None or written > began + _MOMENT


def _uuid_time(text: Any) -> int | None:
    """Give the milliseconds in a UUIDv7."""
    if type(text) is not str:
        return None
    try:
        value = UUID(text)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None  # noqa: PLR2004 - the UUID version that holds a time

"""What a session adds up to. Step: show, stats. Tokens and cost are what the record says; nothing
is priced here.

A conversation in a few words: its title, and what an index says of it. Step: view.

What sessions add up to, by what they have in common. Step: stats. Only sums are kept of a
session, never the session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.model import JsonObject
from vacr.record import find_session_title, format_timestamp, get_epoch_milliseconds, walk_entries
from vacr.viewer.rows import ASSISTANT_ROW, TOOL_ROW, USER_ROW, Row, build_rows, make_visible

MAX_COST = 1e15
"""More than anything costs: what is said to cost more counts as that, so that there is always a
sum.
"""
COUNTED_TOKENS = ("input", "cached", "output", "reasoning", "total")


@dataclass
class Totals:
    """Counts of one session, or of many."""

    sessions: int = 0
    prompts: int = 0
    answers: int = 0
    calls: int = 0
    errors: int = 0
    entries: int = 0
    added: int = 0
    removed: int = 0
    """Lines that calls asked for, whether they were done or not."""
    milliseconds: int = 0
    cost: float = 0.0
    tokens: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    """The output tokens of each model, or its answers where no tokens are told."""
    tools: Counter[str] = field(default_factory=Counter)
    failed_tools: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    """How often each file was to be changed."""

    def __add__(self, other: Totals) -> Totals:
        """Add up two."""
        return Totals(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )


def count_totals(record: JsonObject, shown: Iterable[Row] | None = None) -> Totals:
    """Count what is in a record, or in some of its rows."""
    found = Totals(sessions=1)
    for _ in count_passing_rows(build_rows(record) if shown is None else shown, found):
        pass
    add_usage(record, found)
    return found


def count_passing_rows(shown: Iterable[Row], found: Totals) -> Iterator[Row]:
    """Count rows as they pass."""
    for row in shown:
        _count_row(row, found)
        yield row


def add_usage(record: JsonObject, found: Totals) -> None:
    """Add what a record says of its entries, and of itself: tokens, cost, time."""
    usual = record["session"].get("agent-meta", {}).get("model-id", "unknown")
    for entry in walk_entries(record["session"].get("entries", ())):
        found.entries += 1
        usage = entry.get("token-usage")
        if isinstance(usage, dict) and not _is_inherited(entry):
            found.tokens.update(
                {name: usage[name] for name in COUNTED_TOKENS if type(usage.get(name)) is int}
            )
            cost = usage.get("cost")
            found.cost += (
                max(-MAX_COST, min(cost, MAX_COST)) if isinstance(cost, int | float) else 0
            )
            if type(usage.get("output")) is int:
                found.models[str(entry.get("model-id", usual))] += usage["output"]
    found.milliseconds = _get_duration(record["session"])


def _count_row(row: Row, found: Totals) -> None:
    if row.is_inherited or row.is_repeated:
        return
    found.prompts += row.kind == USER_ROW and not row.is_injected
    found.answers += row.kind == ASSISTANT_ROW
    found.errors += row.is_error
    if row.kind == TOOL_ROW and row.tool:
        found.calls += 1
        found.tools[row.tool] += 1
        found.failed_tools[row.tool] += row.is_error
    for diff in row.diffs:
        found.files[diff.path] += 1
        found.added += diff.added
        found.removed += diff.removed


def _is_inherited(entry: JsonObject) -> bool:
    marks = entry.get("vacr")
    return isinstance(marks, dict) and bool(marks.get("inherited"))


def _get_duration(session: JsonObject) -> int:
    ends = [
        get_epoch_milliseconds(session[name])
        for name in ("session-start", "session-end")
        if name in session
    ]
    return max(0, ends[1] - ends[0]) if len(ends) == 2 and None not in ends else 0  # type: ignore[operator]  # noqa: PLR2004


VERDICT_VERIFIED, VERDICT_SIGNED, VERDICT_FAILED, VERDICT_UNSIGNED = (
    "verified",
    "signed",
    "failed",
    "unsigned",
)

_MAX_TITLE_LENGTH = 100


def format_record_title(record: JsonObject, otherwise: str) -> str:
    """Name a conversation as `vacr list` does: by what its agent calls it, or else by its first
    prompt.
    """
    line = make_visible(find_session_title(record["session"]) or otherwise)
    return line if len(line) <= _MAX_TITLE_LENGTH else f"{line[: _MAX_TITLE_LENGTH - 1]}…"


def build_index_card(
    record: JsonObject, name: str, href: str, verdict: str, told: str
) -> dict[str, Any]:
    """Say of a record what the index of an archive needs."""
    session = record["session"]
    meta = session.get("agent-meta", {})
    found = count_totals(record)
    start = format_timestamp(session["session-start"]) if "session-start" in session else None
    return {
        "href": href,
        "name": make_visible(name),
        "title": format_record_title(record, name),
        "agent": str(meta.get("cli-name", "")),
        "models": [str(one) for one in meta.get("models") or [meta.get("model-id", "")]],
        "project": str(session.get("environment", {}).get("working-dir", "")),
        "start": (start or "")[:19].replace("T", " "),
        "prompts": found.prompts,
        "calls": found.calls,
        "errors": found.errors,
        "tokens": found.tokens["input"] + found.tokens["output"],
        "spent": [{"name": name, "value": count} for name, count in found.models.items()],
        "tools": [
            {"name": name, "value": count, "failed": found.failed_tools[name]}
            for name, count in found.tools.items()
        ],
        "cost": round(found.cost, 4),
        "verdict": verdict,
        "told": make_visible(told),
    }


BY_AGENT, BY_PROJECT, BY_MODEL, BY_DAY = "agent", "project", "model", "day"
GROUPINGS = (BY_AGENT, BY_PROJECT, BY_MODEL, BY_DAY)
UNKNOWN_GROUP = "unknown"


@dataclass
class SessionGroups:
    """Sums of many sessions; of a session that was recorded more than once, the longest recording
    counts.
    """

    by: str
    sessions: dict[tuple[str, str], dict[str, Totals]] = field(default_factory=dict)
    """By agent and id, for agents know nothing of each other's."""
    repeated: int = 0

    def add(self, record: JsonObject) -> None:
        """Count a record."""
        name = _get_group_key(record, BY_AGENT), str(record["session"]["session-id"])
        found = _split_totals(record, self.by)
        other = self.sessions.get(name)
        if other is not None:
            self.repeated += 1
            if _count_entries(other) >= _count_entries(found):
                return
        self.sessions[name] = found

    def groups(self) -> dict[str, Totals]:
        """Give the sums of each group, the one with the most tokens first; days in their order."""
        found: dict[str, Totals] = {}
        for parts in self.sessions.values():
            for key, totals in parts.items():
                found[key] = found.get(key, Totals()) + totals
        if self.by == BY_DAY:
            return dict(sorted(found.items()))
        return dict(
            sorted(
                found.items(), key=lambda item: (-sum_tokens(item[1]), -item[1].entries, item[0])
            )
        )

    def total(self) -> Totals:
        """Give the sums of all; a session that several groups share is one session."""
        total = sum(self.groups().values(), Totals())
        total.sessions = len(self.sessions)
        return total


def sum_tokens(totals: Totals) -> int:
    """Give the tokens of both directions."""
    return totals.tokens["input"] + totals.tokens["output"]


def _count_entries(parts: dict[str, Totals]) -> int:
    return sum(totals.entries for totals in parts.values())


def _split_totals(record: JsonObject, by: str) -> dict[str, Totals]:
    if by == BY_MODEL:
        return _split_by_model(record)
    return {_get_group_key(record, by): count_totals(record)}


def _get_group_key(record: JsonObject, by: str) -> str:
    session = record["session"]
    if by == BY_AGENT:
        return str(session.get("agent-meta", {}).get("cli-name", UNKNOWN_GROUP))
    if by == BY_PROJECT:
        place = session.get("environment", {}).get("working-dir") or record.get("vcs", {}).get(
            "repository"
        )
        return str(place or UNKNOWN_GROUP)
    start = session.get("session-start")
    moment = get_epoch_milliseconds(start) if start is not None else None
    return (format_timestamp(moment) or UNKNOWN_GROUP)[:10] if moment is not None else UNKNOWN_GROUP


def _split_by_model(record: JsonObject) -> dict[str, Totals]:
    """Part a session by the models that worked in it; what no model is named for is of the
    session's usual one.
    """
    session = record["session"]
    usual = str(session.get("agent-meta", {}).get("model-id", UNKNOWN_GROUP))
    shown: dict[str, list[Row]] = {}
    for row in build_rows(record):
        shown.setdefault(row.model or usual, []).append(row)
    held: dict[str, list[JsonObject]] = {}
    for entry in session.get("entries", ()):
        held.setdefault(str(entry.get("model-id", usual)), []).append(entry)
    found = {}
    for model in dict.fromkeys([*held, *shown]):
        part = {**record, "session": {**session, "entries": held.get(model, [])}}
        found[model] = count_totals(part, shown.get(model, []))
        if model != usual:
            # The time is the session's, and counted once.
            found[model].milliseconds = 0
    return found

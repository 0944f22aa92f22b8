"""What a session adds up to. Step: show, stats. Tokens and cost are what the record says; nothing
is priced here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from vacr.content import all_entries
from vacr.model import Native
from vacr.timestamps import milliseconds
from vacr.viewer.rows import ASSISTANT, TOOL, USER, Row, rows

MOST_COST = 1e15
"""More than anything costs: what is said to cost more counts as that, so that there is always a
sum.
"""
COUNTED = ("input", "cached", "output", "reasoning", "total")


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


def totals_of(record: Native, shown: Iterable[Row] | None = None) -> Totals:
    """Count what is in a record, or in some of its rows."""
    found = Totals(sessions=1)
    for _ in counted(rows(record) if shown is None else shown, found):
        pass
    add_usage(record, found)
    return found


def counted(shown: Iterable[Row], found: Totals) -> Iterator[Row]:
    """Count rows as they pass."""
    for row in shown:
        _count(row, found)
        yield row


def add_usage(record: Native, found: Totals) -> None:
    """Add what a record says of its entries, and of itself: tokens, cost, time."""
    usual = record["session"].get("agent-meta", {}).get("model-id", "unknown")
    for entry in all_entries(record["session"].get("entries", ())):
        found.entries += 1
        usage = entry.get("token-usage")
        if isinstance(usage, dict) and not _is_inherited(entry):
            found.tokens.update(
                {name: usage[name] for name in COUNTED if type(usage.get(name)) is int}
            )
            cost = usage.get("cost")
            found.cost += (
                max(-MOST_COST, min(cost, MOST_COST)) if isinstance(cost, int | float) else 0
            )
            if type(usage.get("output")) is int:
                found.models[str(entry.get("model-id", usual))] += usage["output"]
    found.milliseconds = _lasted(record["session"])


def _count(row: Row, found: Totals) -> None:
    if row.is_inherited or row.is_repeated:
        return
    found.prompts += row.kind == USER and not row.is_injected
    found.answers += row.kind == ASSISTANT
    found.errors += row.is_error
    if row.kind == TOOL and row.tool:
        found.calls += 1
        found.tools[row.tool] += 1
        found.failed_tools[row.tool] += row.is_error
    for diff in row.diffs:
        found.files[diff.path] += 1
        found.added += diff.added
        found.removed += diff.removed


def _is_inherited(entry: Native) -> bool:
    marks = entry.get("vacr")
    return isinstance(marks, dict) and bool(marks.get("inherited"))


def _lasted(session: Native) -> int:
    ends = [
        milliseconds(session[name]) for name in ("session-start", "session-end") if name in session
    ]
    return max(0, ends[1] - ends[0]) if len(ends) == 2 and None not in ends else 0  # type: ignore[operator]  # noqa: PLR2004

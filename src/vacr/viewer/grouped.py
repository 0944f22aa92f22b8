"""What sessions add up to, by what they have in common. Step: stats. Only sums are kept of a
session, never the session.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vacr.model import Native
from vacr.timestamps import as_text, milliseconds
from vacr.viewer.rows import Row, rows
from vacr.viewer.totals import Totals, totals_of

AGENT, PROJECT, MODEL, DAY = "agent", "project", "model", "day"
GROUPINGS = (AGENT, PROJECT, MODEL, DAY)
UNKNOWN = "unknown"


@dataclass
class Groups:
    """Sums of many sessions; of a session that was recorded more than once, the longest recording
    counts.
    """

    by: str
    sessions: dict[tuple[str, str], dict[str, Totals]] = field(default_factory=dict)
    """By agent and id, for agents know nothing of each other's."""
    repeated: int = 0

    def add(self, record: Native) -> None:
        """Count a record."""
        name = _key(record, AGENT), str(record["session"]["session-id"])
        found = _parts(record, self.by)
        other = self.sessions.get(name)
        if other is not None:
            self.repeated += 1
            if _entries(other) >= _entries(found):
                return
        self.sessions[name] = found

    def groups(self) -> dict[str, Totals]:
        """Give the sums of each group, the one with the most tokens first; days in their order."""
        found: dict[str, Totals] = {}
        for parts in self.sessions.values():
            for key, totals in parts.items():
                found[key] = found.get(key, Totals()) + totals
        if self.by == DAY:
            return dict(sorted(found.items()))
        return dict(
            sorted(found.items(), key=lambda item: (-tokens(item[1]), -item[1].entries, item[0]))
        )

    def total(self) -> Totals:
        """Give the sums of all; a session that several groups share is one session."""
        total = sum(self.groups().values(), Totals())
        total.sessions = len(self.sessions)
        return total


def tokens(totals: Totals) -> int:
    """Give the tokens of both directions."""
    return totals.tokens["input"] + totals.tokens["output"]


def _entries(parts: dict[str, Totals]) -> int:
    return sum(totals.entries for totals in parts.values())


def _parts(record: Native, by: str) -> dict[str, Totals]:
    if by == MODEL:
        return _by_model(record)
    return {_key(record, by): totals_of(record)}


def _key(record: Native, by: str) -> str:
    session = record["session"]
    if by == AGENT:
        return str(session.get("agent-meta", {}).get("cli-name", UNKNOWN))
    if by == PROJECT:
        place = session.get("environment", {}).get("working-dir") or record.get("vcs", {}).get(
            "repository"
        )
        return str(place or UNKNOWN)
    start = session.get("session-start")
    moment = milliseconds(start) if start is not None else None
    return (as_text(moment) or UNKNOWN)[:10] if moment is not None else UNKNOWN


def _by_model(record: Native) -> dict[str, Totals]:
    """Part a session by the models that worked in it; what no model is named for is of the
    session's usual one.
    """
    session = record["session"]
    usual = str(session.get("agent-meta", {}).get("model-id", UNKNOWN))
    shown: dict[str, list[Row]] = {}
    for row in rows(record):
        shown.setdefault(row.model or usual, []).append(row)
    held: dict[str, list[Native]] = {}
    for entry in session.get("entries", ()):
        held.setdefault(str(entry.get("model-id", usual)), []).append(entry)
    found = {}
    for model in dict.fromkeys([*held, *shown]):
        part = {**record, "session": {**session, "entries": held.get(model, [])}}
        found[model] = totals_of(part, shown.get(model, []))
        if model != usual:
            # The time is the session's, and counted once.
            found[model].milliseconds = 0
    return found

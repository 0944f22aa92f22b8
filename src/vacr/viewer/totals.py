"""Totals of sessions: of one, of groups, and for the cards in the index of an archive.

Every number that vacr shows about a session comes from here: in the terminal, in the page, in
exports and in `vacr stats`. Tokens come from the record, and so does the cost if the agent states
it; `costs` estimates it otherwise. Only the sums stay in memory, so that the number of sessions
does not matter.

    >>> import vacr
    >>> from vacr.viewer import SessionGroups, count_totals
    >>> [record] = vacr.read("session.jsonl")
    >>> totals = count_totals(record)
    >>> totals.prompts, totals.calls, totals.added, totals.removed
    (1, 4, 6, 1)
    >>> groups = SessionGroups(by="day")
    >>> groups.add(record)
    >>> list(groups.groups())
    ['2026-03-14']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from vacr.edits import make_absolute_path
from vacr.model import JsonObject
from vacr.record import (
    find_session_title,
    format_timestamp,
    get_epoch_milliseconds,
    get_keeping_agent,
    walk_entries,
)
from vacr.viewer.content import make_visible
from vacr.viewer.costs import Cost, PriceTable, count_cost, is_inherited
from vacr.viewer.diffs import MOVE_ARROW
from vacr.viewer.rows import ASSISTANT_ROW, TOOL_ROW, Row, build_rows

COUNTED_TOKENS = ("input", "cached", "output", "reasoning", "total")
VERDICT_VERIFIED = "verified"
VERDICT_SIGNED = "signed"
VERDICT_FAILED = "failed"
VERDICT_UNSIGNED = "unsigned"
_MAX_TITLE_LENGTH = 100

BY_AGENT = "agent"
BY_PROJECT = "project"
BY_MODEL = "model"
BY_DAY = "day"
GROUPINGS = (BY_AGENT, BY_PROJECT, BY_MODEL, BY_DAY)
_UNKNOWN = "unknown"


@dataclass
class Totals:
    """Counts of one session, or of many."""

    sessions: int = 0
    prompts: int = 0
    answers: int = 0
    calls: int = 0
    errors: int = 0
    """Calls that failed, and events that report an error."""
    entries: int = 0
    added: int = 0
    removed: int = 0
    """Lines that calls asked for and that did not fail."""
    milliseconds: int = 0
    cost: Cost = field(default_factory=Cost)
    outcomes: Counter[str] = field(default_factory=Counter)
    """How calls ended: the statuses of the record, `unknown`, and what an exit code means."""
    tokens: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    """The output tokens of each model."""
    tools: Counter[str] = field(default_factory=Counter)
    failed_tools: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    """How many changes of each file calls asked for, without the calls that failed.

    Relative paths are resolved against the working folder of the session.
    """

    @property
    def failed_calls(self) -> int:
        """The number of calls that failed."""
        return sum(self.failed_tools.values())

    @property
    def error_events(self) -> int:
        """The number of errors outside of calls: events, and results without their call."""
        return self.errors - self.failed_calls

    def __add__(self, other: Totals) -> Totals:
        """Return new totals with each count added up."""
        return Totals(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )


def count_totals(
    record: JsonObject,
    shown: Iterable[Row] | None = None,
    prices: PriceTable | None = None,
    *,
    is_part: bool = False,
) -> Totals:
    """Return the totals of a record; with `shown`, prompts, calls and edits of these rows only.

    `prices` replace the price table of the package. `is_part` tells that the record has only a part
    of its session's entries.
    """
    totals = Totals(sessions=1)
    rows = build_rows(record) if shown is None else shown
    for _ in count_passing_rows(rows, totals, get_working_folder(record)):
        pass
    add_usage(record, totals, prices, is_part=is_part)
    return totals


def count_passing_rows(shown: Iterable[Row], totals: Totals, folder: str = "") -> Iterator[Row]:
    """Yield rows unchanged, and add each of them to the totals as it passes.

    `folder` is the working folder of the session, for relative paths; empty if it is unknown.
    """
    for row in shown:
        _count_row(row, totals, folder)
        yield row


def get_working_folder(record: JsonObject) -> str:
    """Return the working folder of a session; empty if the record has none."""
    folder = record["session"].get("environment", {}).get("working-dir")
    return folder if isinstance(folder, str) else ""


def _count_row(row: Row, totals: Totals, folder: str) -> None:
    """Add a row to totals, unless it is inherited from another session or repeats an entry."""
    if row.is_inherited or row.is_repeated:
        return
    totals.prompts += row.is_prompt
    totals.answers += row.kind == ASSISTANT_ROW
    totals.errors += row.is_error
    if row.kind == TOOL_ROW and row.tool:
        totals.calls += 1
        totals.tools[row.tool] += 1
        totals.failed_tools[row.tool] += row.is_error
        totals.outcomes[row.meaning or row.status or _UNKNOWN] += 1
    for diff in row.diffs if not row.is_error else ():
        totals.files[resolve_changed_path(diff.path, folder)] += 1
        totals.added += diff.added
        totals.removed += diff.removed


def resolve_changed_path(path: str, folder: str) -> str:
    """Return the absolute path of a file, of a moved one the new path.

    A relative path is one in `folder`; if that is empty, it stays relative.
    """
    return make_absolute_path(path.rpartition(MOVE_ARROW)[2], folder)


def add_usage(
    record: JsonObject, totals: Totals, prices: PriceTable | None = None, *, is_part: bool = False
) -> None:
    """Add the entries, tokens, cost and models of a record to `totals`.

    `totals.milliseconds` becomes the duration of the session, 0 if it is unknown. Entries inherited
    from another session are counted, but not their tokens and cost. `prices` replace the price
    table of the package. `is_part` means that the record has only a part of its session's entries.
    """
    session = record["session"]
    default_model = session.get("agent-meta", {}).get("model-id", _UNKNOWN)
    for entry in walk_entries(session.get("entries", ())):
        totals.entries += 1
        usage = entry.get("token-usage")
        if not isinstance(usage, dict) or is_inherited(entry):
            continue
        totals.tokens.update(
            {name: usage[name] for name in COUNTED_TOKENS if type(usage.get(name)) is int}
        )
        if type(usage.get("output")) is int:
            totals.models[str(entry.get("model-id", default_model))] += usage["output"]
    totals.cost += count_cost(record, prices, call_by_call=is_part)
    totals.milliseconds = _get_duration(session)


def _get_duration(session: JsonObject) -> int:
    """Return the time from start to end of a session in milliseconds; 0 if unknown."""
    if "session-start" not in session or "session-end" not in session:
        return 0
    start = get_epoch_milliseconds(session["session-start"])
    end = get_epoch_milliseconds(session["session-end"])
    return max(0, end - start) if start is not None and end is not None else 0


def sum_tokens(totals: Totals) -> int:
    """Return the number of input and output tokens."""
    return totals.tokens["input"] + totals.tokens["output"]


# --- The index of an archive ---


def format_record_title(record: JsonObject, otherwise: str) -> str:
    """Return the title of a conversation, as in `vacr list`, cut to 100 characters.

    It is the agent's title, or the first prompt, or `otherwise` if there is neither. Control
    characters are escaped.
    """
    line = make_visible(find_session_title(record["session"]) or otherwise)
    return line if len(line) <= _MAX_TITLE_LENGTH else f"{line[: _MAX_TITLE_LENGTH - 1]}…"


def build_index_card(
    records: Sequence[JsonObject],
    name: str,
    href: str,
    verdict: str,
    reason: str,
    prices: PriceTable | None = None,
) -> dict[str, Any]:
    """Return the card of a conversation for the index of an archive: link, title, totals, verdict.

    `records` are the session and its sub-agents. The totals are those of all of them, so that the
    sums of an index are those of `vacr stats`. `href` is the address of the page, and `reason`
    explains the verdict. The caller sets `isRepeated` where a better recording has a card as well,
    and `repo` where the git remote is known.
    """
    session = records[0]["session"]
    meta = session.get("agent-meta", {})
    totals_of_records = [count_totals(record, prices=prices) for record in records]
    totals = sum(totals_of_records, Totals())
    start = format_timestamp(session["session-start"]) if "session-start" in session else None
    return {
        "href": href,
        "name": make_visible(name),
        "title": format_record_title(records[0], name),
        "agent": str(meta.get("cli-name", "")),
        "models": list(
            dict.fromkeys(model for record in records for model in _list_models(record))
        ),
        "project": str(session.get("environment", {}).get("working-dir", "")),
        "repo": "",
        "start": (start or "")[:19].replace("T", " "),
        "prompts": totals.prompts,
        "calls": totals.calls,
        "errors": totals.errors,
        "failed": totals.failed_calls,
        "added": totals.added,
        "removed": totals.removed,
        "milliseconds": totals_of_records[0].milliseconds,
        "tokens": sum_tokens(totals),
        "spent": [{"name": model, "value": count} for model, count in totals.models.items()],
        "tools": [
            {"name": tool, "value": count, "failed": totals.failed_tools[tool]}
            for tool, count in totals.tools.items()
        ],
        "cost": round(totals.cost.total, 4),
        "isEstimated": bool(totals.cost.estimated_calls),
        "isUnpriced": bool(totals.cost.unpriced),
        "isRepeated": False,
        "verdict": verdict,
        "told": make_visible(reason),
    }


def _list_models(record: JsonObject) -> list[str]:
    """Return the names of the models of a session."""
    meta = record["session"].get("agent-meta", {})
    return [str(model) for model in meta.get("models") or [meta.get("model-id", "")]]


# --- Groups of sessions ---


@dataclass
class SessionGroups:
    """Totals of many sessions; of several recordings of a session, one counts.

    An unmodified recording wins over a modified one, then the agent's own, then the longest.
    """

    by: str
    prices: PriceTable | None = None
    """Prices instead of those of the package."""
    has_local_days: bool = False
    """Whether days are those of this machine's time zone, and not of UTC."""
    sessions: dict[tuple[str, str], dict[str, Totals]] = field(default_factory=dict)
    """By `get_session_key`, then by group."""
    repeated: int = 0
    _ranks: dict[tuple[str, str], tuple[bool, bool, int]] = field(default_factory=dict)
    """How good the recording of each session is.

    Whether it is unmodified, whether it is the agent's own, and its number of entries.
    """

    def add(self, record: JsonObject, *, is_modified: bool = False) -> None:
        """Add a record; of two recordings of the same session, keep only the better one."""
        key = get_session_key(record)
        parts = _split_totals(record, self.by, self.prices, has_local_days=self.has_local_days)
        rank = not is_modified, not get_keeping_agent(record), _count_entries(parts)
        if key in self.sessions:
            self.repeated += 1
            if self._ranks[key] >= rank:
                return
        self.sessions[key], self._ranks[key] = parts, rank

    def groups(self) -> dict[str, Totals]:
        """Return the totals of each group: days in their order, others by tokens, most first."""
        groups: dict[str, Totals] = {}
        for parts in self.sessions.values():
            for group, totals in parts.items():
                groups[group] = groups.get(group, Totals()) + totals
        if self.by == BY_DAY:
            return dict(sorted(groups.items()))
        return dict(sorted(groups.items(), key=_rank_group))

    def total(self) -> Totals:
        """Return the totals of all groups; a session that several groups share counts once."""
        total = sum(self.groups().values(), Totals())
        total.sessions = len(self.sessions)
        return total


def get_session_key(record: JsonObject) -> tuple[str, str]:
    """Return the agent and the id of a session: two agents may use one id.

    If the session was recorded on its way to an editor, it is the agent that keeps it. The agent is
    `unknown` if the record does not name it.
    """
    agent = get_keeping_agent(record) or _get_group(record, BY_AGENT)
    return agent, str(record["session"]["session-id"])


def _rank_group(item: tuple[str, Totals]) -> tuple[int, int, str]:
    """Return the sort key of a group: most tokens first, then most entries, then the name."""
    group, totals = item
    return -sum_tokens(totals), -totals.entries, group


def _count_entries(parts: dict[str, Totals]) -> int:
    """Return the number of entries of a session, added up over its groups."""
    return sum(totals.entries for totals in parts.values())


def _split_totals(
    record: JsonObject, by: str, prices: PriceTable | None, *, has_local_days: bool
) -> dict[str, Totals]:
    """Return the totals of a record by group; only grouping by model makes several groups."""
    if by == BY_MODEL:
        return _split_by_model(record, prices)
    group = _get_day(record, is_local=has_local_days) if by == BY_DAY else _get_group(record, by)
    return {group: count_totals(record, prices=prices)}


def _get_group(record: JsonObject, by: str) -> str:
    """Return the agent or the project of a record; `unknown` if the record does not have it."""
    session = record["session"]
    if by == BY_AGENT:
        return str(session.get("agent-meta", {}).get("cli-name", _UNKNOWN))
    folder = session.get("environment", {}).get("working-dir")
    return str(folder or record.get("vcs", {}).get("repository") or _UNKNOWN)


def _get_day(record: JsonObject, *, is_local: bool) -> str:
    """Return the day on which a session began, such as `2026-03-14`, or `unknown`."""
    start = record["session"].get("session-start")
    moment = get_epoch_milliseconds(start) if start is not None else None
    if moment is None:
        return _UNKNOWN
    if is_local:
        with suppress(OverflowError, OSError, ValueError):  # The system does not know all years.
            return datetime.fromtimestamp(moment / 1000).astimezone().strftime("%Y-%m-%d")
    return (format_timestamp(moment) or _UNKNOWN)[:10]


def _split_by_model(record: JsonObject, prices: PriceTable | None) -> dict[str, Totals]:
    """Return the totals of a record by model.

    Rows and entries without a model count for the default model of the session.
    """
    session = record["session"]
    default_model = str(session.get("agent-meta", {}).get("model-id", _UNKNOWN))
    rows: dict[str, list[Row]] = {}
    for row in build_rows(record):
        rows.setdefault(row.model or default_model, []).append(row)
    entries: dict[str, list[JsonObject]] = {}
    for entry in session.get("entries", ()):
        entries.setdefault(str(entry.get("model-id", default_model)), []).append(entry)
    parts = {}
    for model in dict.fromkeys([*entries, *rows]):
        part = {**record, "session": {**session, "entries": entries.get(model, [])}}
        parts[model] = count_totals(part, rows.get(model, []), prices, is_part=True)
        if model != default_model:
            # The duration belongs to the session, and counts once.
            parts[model].milliseconds = 0
    return parts

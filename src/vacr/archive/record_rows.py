"""The rows of a record in the index: what search and SQL know about a conversation.

The index has five tables of rows. Each row of the last four names its record and its place in it, a
JSON Pointer, so that every answer leads back to the record:

| table | a row is |
|---|---|
| records | a conversation: agent, project, times, counts, cost |
| entries | a step: a message, a thought, a tool call with its result, or an event, with its text |
| calls | a tool call: tool, outcome, duration |
| files | a file that a call read or changed |
| usage | the tokens and cost of one model in a quarter of an hour |

    >>> import vacr
    >>> from vacr.archive import build_record_rows
    >>> [record] = vacr.read("session.jsonl")
    >>> rows = build_record_rows(record)
    >>> rows.record["title"], rows.record["calls"], rows.record["failed"]
    ('Fix invoice rounding', 4, 1)
    >>> [(file["path"], file["how"], file["added"]) for file in rows.files[1:]]
    [('/home/mira/invoice/total.py', 'edit', 1), ('/home/mira/invoice/total.py', 'edit', 5)]

Texts that a reader marked as secrets (`vacr.secrets`) are left out of every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from vacr.agents import PATH_ARGUMENTS, ToolEffect, find_tool_effect, get_text_argument
from vacr.blame import name_repository
from vacr.model import JsonObject
from vacr.record import (
    get_epoch_milliseconds,
    get_keeping_agent,
    get_vacr_metadata,
    list_secret_places,
    walk_entries,
)
from vacr.viewer import (
    COUNTED_TOKENS,
    EVENT_ROW,
    TOOL_ROW,
    PriceTable,
    Row,
    Totals,
    add_usage,
    build_rows,
    count_cost,
    count_passing_rows,
    format_record_title,
    get_working_folder,
    is_inherited,
    list_row_bodies,
    resolve_changed_path,
)

_READ_EFFECTS = frozenset((ToolEffect.READ, ToolEffect.READ_MANY))
_WITHHELD = ""
_WITHHELD_ENTRY = {"type": "system-event", "event-type": "withheld"}
_UNKNOWN_DAY = ""
_UNKNOWN_MODEL = "unknown"
_QUARTER_MS = 15 * 60 * 1000
_FIRST_MOMENT, _LAST_MOMENT = (
    int(datetime(*day, tzinfo=UTC).timestamp() * 1000) for day in ((1, 1, 2), (9999, 12, 31))
)
_MAX_COUNT = 1 << 40
"""The most tokens or milliseconds of one row: SQLite can add up a million such rows."""


@dataclass(frozen=True, slots=True)
class RecordRows:
    """The rows of one record; each maps the names of columns to values."""

    record: dict[str, Any]
    entries: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    files: list[dict[str, Any]]
    usage: list[dict[str, Any]]


def build_record_rows(record: JsonObject, prices: PriceTable | None = None) -> RecordRows:
    """Return the rows of a record, without its secrets.

    `prices` replace the price table of the package.
    """
    record = _withhold_secrets(record)
    folder = get_working_folder(record)
    totals = Totals(sessions=1)
    entries: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    agent = str(record["session"].get("agent-meta", {}).get("cli-name", ""))
    for number, row in enumerate(count_passing_rows(build_rows(record), totals, folder)):
        entries.append(_build_entry(number, row))
        if row.kind == TOOL_ROW and row.tool:
            calls.append(_build_call(number, row))
            files += _list_touched_files(number, row, agent, folder)
    add_usage(record, totals, prices)
    usage = _sum_usage(record, prices)
    return RecordRows(_build_record(record, totals), entries, calls, files, usage)


def _build_record(record: JsonObject, totals: Totals) -> dict[str, Any]:
    """Return the row of the record itself."""
    session = record["session"]
    meta = session.get("agent-meta", {})
    repository = record.get("vcs", {})
    parent = get_vacr_metadata(record).get("parent")
    return {
        "id": str(record.get("id", "")),
        "session": str(session.get("session-id", "")),
        "parent": str(parent.get("session-id", "")) if isinstance(parent, dict) else "",
        "agent": str(meta.get("cli-name", "")),
        "kept_by": get_keeping_agent(record),
        "version": str(meta.get("cli-version", "")),
        "model": str(meta.get("model-id", "")),
        "title": format_record_title(record, ""),
        "project": get_working_folder(record),
        "repo": name_repository(record),
        "branch": str(repository.get("branch", "")),
        "commit_id": str(repository.get("revision", "")),
        "start_ms": _get_milliseconds(session.get("session-start")),
        "end_ms": _get_milliseconds(session.get("session-end")),
        "duration_ms": _limit_count(totals.milliseconds),
        "entries": totals.entries,
        "prompts": totals.prompts,
        "calls": totals.calls,
        "failed": totals.failed_calls,
        "added": totals.added,
        "removed": totals.removed,
        "input": _limit_count(totals.tokens["input"]),
        "output": _limit_count(totals.tokens["output"]),
        "cost": totals.cost.total,
        "is_estimated": bool(totals.cost.estimated_calls),
        "is_unpriced": bool(totals.cost.unpriced),
    }


def _build_entry(number: int, row: Row) -> dict[str, Any]:
    """Return the row of a step, with all its text.

    `prompt` has the words of the person in a message that has text of the host as well. Words that
    are not in the text are left out: the text may lack secrets.
    """
    text = "\n".join(_list_texts(row))
    return {
        "n": number,
        "place": row.place,
        "kind": row.kind,
        "speaker": row.speaker,
        "is_prompt": row.is_prompt,
        "prompt": row.prompt if row.prompt in text else "",
        "time_ms": _get_milliseconds(row.time),
        "model": row.model,
        "sub_agent": row.agent,
        "tool": row.tool,
        "is_error": row.is_error,
        "is_copy": row.is_inherited or row.is_repeated,
        "summary": row.summary,
        "text": text,
    }


def _list_texts(row: Row) -> Iterator[str]:
    """Yield the texts of a row that a search finds; numbers and booleans would only clutter it."""
    if row.kind == EVENT_ROW:
        yield row.summary
        yield row.reason
    yield from list_row_bodies(row, only_words=True)


def _build_call(number: int, row: Row) -> dict[str, Any]:
    """Return the row of a tool call."""
    start = _get_milliseconds(row.time)
    end = _get_milliseconds(row.result.time) if row.result is not None else None
    return {
        "n": number,
        "place": row.place,
        "call_id": str(row.entry.get("call-id", "")),
        "tool": row.tool,
        "status": row.status,
        "exit_code": row.exit_code,
        "is_error": row.is_error,
        "duration_ms": end - start if start is not None and end is not None else None,
    }


def _list_touched_files(number: int, row: Row, agent: str, folder: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each file that a call changes or reads, with an absolute path if known.

    A call that failed changed nothing, so only its reads are listed.
    """
    found = [
        (diff.path, diff.kind, diff.added, diff.removed) for diff in row.diffs if not row.is_error
    ]
    if not row.diffs:
        arguments = row.entry.get("input")
        path = get_text_argument(arguments, PATH_ARGUMENTS)
        if path is not None and find_tool_effect(agent, row.tool, arguments) in _READ_EFFECTS:
            found.append((path, "read", 0, 0))
    for path, how, added, removed in found:
        yield {
            "n": number,
            "place": row.place,
            "path": resolve_changed_path(path, folder),
            "how": how,
            "added": added,
            "removed": removed,
        }


def _sum_usage(record: JsonObject, prices: PriceTable | None) -> list[dict[str, Any]]:
    """Return the tokens and cost of each model in each quarter of an hour, with its day in UTC.

    Days of all time zones begin with such a quarter. If the agent states only the cost of the whole
    session, it is divided by output tokens; without tokens, it counts for the session's model at
    its start.
    """
    session = record["session"]
    default_model = str(session.get("agent-meta", {}).get("model-id", _UNKNOWN_MODEL))
    groups: dict[tuple[int | None, str], list[JsonObject]] = {}
    for entry in walk_entries(session.get("entries", ())):
        if isinstance(entry.get("token-usage"), dict) and not is_inherited(entry):
            moment = entry.get("timestamp", session.get("session-start"))
            key = _find_quarter(moment), str(entry.get("model-id", default_model))
            # Children have entries of their own in the walk.
            groups.setdefault(key, []).append({**entry, "children": []})
    whole = count_cost(record, prices)
    rows = []
    for (quarter, model), entries in groups.items():
        part = {**record, "session": {**session, "entries": entries}}
        cost = count_cost(part, prices, call_by_call=True)
        counted = {
            name: _limit_count(sum(_get_count(entry["token-usage"], name) for entry in entries))
            for name in COUNTED_TOKENS
        }
        rows.append({**_name_quarter(quarter), "model": model, "turns": len(entries), **counted})
        rows[-1] |= {
            "cost": cost.total,
            "stated": cost.stated,
            "is_estimated": bool(cost.estimated_calls),
            "unpriced": sum(cost.unpriced.values()),
        }
    if whole.stated and not rows:
        when = _name_quarter(_find_quarter(session.get("session-start")))
        tokens = dict.fromkeys(COUNTED_TOKENS, 0)
        rows.append({**when, "model": default_model, "turns": 0, **tokens, "unpriced": 0})
    if whole.stated and not any(row.get("stated") for row in rows):
        _divide_stated_cost(rows, whole.stated)
    return rows


def _divide_stated_cost(rows: list[dict[str, Any]], stated: float) -> None:
    """Divide the cost that an agent states for a session among its rows, by output tokens."""
    total = sum(row["output"] for row in rows)
    for row in rows:
        share = row["output"] / total if total else 1 / len(rows)
        row["cost"] = row["stated"] = stated * share
        row["is_estimated"] = False


def _get_count(usage: JsonObject, name: str) -> int:
    value = usage.get(name)
    return value if type(value) is int else 0


def _limit_count(count: int) -> int:
    """Return a count, limited so that the sum over all sessions fits into an integer of SQLite."""
    return max(-_MAX_COUNT, min(count, _MAX_COUNT))


def find_usage_quarter(moment: int) -> int:
    """Return the start of the quarter of an hour that a time is in, both in milliseconds."""
    return moment - moment % _QUARTER_MS


def _find_quarter(stamp: Any) -> int | None:
    """Return the start of the quarter of an hour of a time, or None if it is unknown."""
    moment = _get_milliseconds(stamp)
    return find_usage_quarter(moment) if moment is not None else None


def _name_quarter(quarter: int | None) -> dict[str, Any]:
    """Return the columns of a quarter of an hour: its start, and its day in UTC."""
    day = _UNKNOWN_DAY
    if quarter is not None:
        with suppress(OverflowError, ValueError, OSError):
            day = datetime.fromtimestamp(quarter / 1000, UTC).strftime("%Y-%m-%d")
    return {"time_ms": quarter, "day": day}


def _get_milliseconds(stamp: Any) -> int | None:
    """Return a time as milliseconds since 1970, or None if it is missing or not a time.

    A time outside the years 1 to 9999 counts as missing, because it cannot be displayed.
    """
    moment = get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None
    return moment if moment is not None and _FIRST_MOMENT <= moment <= _LAST_MOMENT else None


# --- Secrets ---


def _withhold_secrets(record: JsonObject) -> JsonObject:
    """Return the record with an empty text at each pointer in `vacr.secrets`; copy what changes.

    A prompt that vacr took from an entry with a secret is withheld, too. An event stands for an
    entry that is secret as a whole.
    """
    for pointer in list_secret_places(record):
        if pointer.startswith("/"):
            names = [name.replace("~1", "/").replace("~0", "~") for name in pointer[1:].split("/")]
            match names:
                case ["session", "entries", _]:
                    record = _replace_value(record, names, _WITHHELD_ENTRY)
                case ["session", "entries", number, *_]:
                    prompt = ["session", "entries", number, "vacr", "prompt"]
                    record = _replace_value(record, prompt, _WITHHELD)
                    record = _replace_value(record, names, _WITHHELD)
                case _:
                    record = _replace_value(record, names, _WITHHELD)
    return record


def _replace_value(value: Any, names: list[str], new: Any) -> Any:
    """Return a copy of a value with a new member at the end of a path of names.

    Return the value itself if it has no such member.
    """
    if not names:
        return new
    name, *rest = names
    if isinstance(value, dict) and name in value:
        return {**value, name: _replace_value(value[name], rest, new)}
    if isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
        number = int(name)
        return [*value[:number], _replace_value(value[number], rest, new), *value[number + 1 :]]
    return value

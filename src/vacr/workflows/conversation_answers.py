"""Answers to questions about conversations, for an agent that looks into its own past.

Each answer is a document of plain values. Its texts come from sessions, so a program that shows
them must mark them as quoted.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from vacr.archive import SearchIndex
    >>> from vacr.workflows import answer_conversation, answer_touches, refresh_search_index
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = SearchIndex.open(Path(folder.name))
    >>> _ = refresh_search_index(index, ["session.jsonl"], environment={"HOME": folder.name})
    >>> answer = answer_conversation(index.connection, "6f0d", count=2)
    >>> answer["conversation"]["title"], [entry["place"] for entry in answer["entries"]]
    ('Fix invoice rounding', ['/session/entries/0', '/session/entries/1'])
    >>> [touch["how"] for touch in answer_touches(index.connection, "total.py")["touches"]]
    ['edit', 'read']
    >>> index.close()
    >>> folder.cleanup()

Times are in UTC.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from vacr.archive import (
    SearchQuery,
    find_conversations,
    find_entry_number,
    list_entries,
    list_file_touches,
    search_entries,
    split_snippet,
    sum_usage,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.workflows.moments import parse_moment
from vacr.workflows.statement_files import STATEMENT_SUFFIX, find_statement_pairs
from vacr.workflows.trust_places import choose_trust_stores
from vacr.workflows.verify import VerificationOptions, judge_statements

MAX_TEXT_LENGTH = 2_000
"""The most characters of one quoted text."""
_MAX_HITS = 50
_MAX_ENTRIES = 100
_MAX_ROWS = 100
_MAX_CANDIDATES = 5
_MIN_NAME_LENGTH = 4
_VERDICT_MEMBERS = (
    "file",
    "statement",
    "verified",
    "reason",
    "message",
    "hint",
    "signer",
    "party",
    "issuer",
    "subject",
    "issued-at",
    "logged-at",
    "checks",
)


def answer_search(
    connection: sqlite3.Connection,
    text: str,
    *,
    agent: str = "",
    repo: str = "",
    project: str = "",
    since: str = "",
    kind: str = "",
    only_errors: bool = False,
    limit: int = 10,
) -> dict[str, Any]:
    """Return the newest entries that contain all words of a text.

    Raises:
        UsageError: there are no words, or `since` is not a time.
    """
    query = SearchQuery(
        tuple(text.split()),
        agent=agent,
        repo=repo,
        project=project,
        kind=kind,
        since_ms=_parse_since(since),
        only_errors=only_errors,
        limit=_limit(limit, _MAX_HITS),
    )
    result = search_entries(connection, query)
    hits = [
        {
            "session": hit.session,
            "place": hit.place,
            "path": hit.path,
            "agent": hit.agent,
            "title": hit.title,
            "project": hit.project,
            "repo": hit.repo,
            "time": _format_time(hit.time_ms),
            "kind": hit.kind,
            "tool": hit.tool,
            "is_error": hit.is_error,
            "text": "".join(piece for piece, _ in split_snippet(hit.snippet)),
        }
        for hit in result.hits
    ]
    return {"hits": hits, "count": result.count, "conversations": result.record_count}


def answer_conversation(
    connection: sqlite3.Connection,
    session: str,
    *,
    start: int = 0,
    place: str = "",
    count: int = 20,
) -> dict[str, Any]:
    """Return entries of a conversation: from a number on, or from a place on.

    `next_start` is the number to go on from, or None at the end.

    Raises:
        UnreadableInput: the index has no such session or place.
        UsageError: several sessions have an id with this beginning.
    """
    found = find_one_conversation(connection, session)
    first = max(0, start)
    if place:
        number = find_entry_number(connection, found["record"], place)
        if number is None:
            raise UnreadableInput(
                "the conversation has no entry at this place",
                where=place,
                hint="Leave place out, or take it from a hit of search_conversations.",
            )
        first = number
    wanted = _limit(count, _MAX_ENTRIES)
    rows = list_entries(connection, found["record"], first, wanted + 1, MAX_TEXT_LENGTH)
    has_more = len(rows) > wanted
    entries = [
        {
            "n": row["n"],
            "place": row["place"],
            "kind": row["kind"],
            "speaker": row["speaker"],
            "tool": row["tool"],
            "time": _format_time(row["time_ms"]),
            "is_error": bool(row["is_error"]),
            "text": row["text"],
            "text_length": row["text_length"],
        }
        for row in rows[:wanted]
    ]
    return {
        "conversation": {
            "session": found["session"],
            "path": found["source_path"],
            "agent": found["agent"],
            "model": found["model"],
            "title": found["title"],
            "project": found["project"],
            "repo": found["repo"],
            "start": _format_time(found["start_ms"]),
            "end": _format_time(found["end_ms"]),
        },
        "entries": entries,
        "next_start": entries[-1]["n"] + 1 if has_more else None,
    }


def find_one_conversation(connection: sqlite3.Connection, session: str) -> dict[str, Any]:
    """Return the conversation whose session id is `session`, or begins with it.

    Raises:
        UnreadableInput: the index has no such session.
        UsageError: several sessions have an id with this beginning, or it is too short.
    """
    if len(session) < _MIN_NAME_LENGTH:
        raise UsageError(
            f"{session!r} is too short for a session id: write {_MIN_NAME_LENGTH} or more "
            "characters of the id",
            hint="Take the id from a hit of search_conversations.",
        )
    found = find_conversations(connection, session)
    if not found:
        raise UnreadableInput(
            "no conversation has this session id",
            where=session,
            hint="Take the id from a hit of search_conversations.",
        )
    ids = list(dict.fromkeys(row["session"] for row in found))
    if len(ids) > 1:
        shown = ", ".join(ids[:_MAX_CANDIDATES])
        raise UsageError(
            f"{len(ids)} sessions have an id that begins with {session}",
            hint=f"Use more of the id: {shown}",
        )
    return found[0]


def answer_touches(
    connection: sqlite3.Connection, path: str, *, since: str = "", limit: int = 20
) -> dict[str, Any]:
    """Return the conversations that read or changed a file, the last first.

    Raises:
        UsageError: the path is empty, or `since` is not a time.
    """
    name = path.strip().removeprefix("./")
    if not name.strip("/"):
        raise UsageError("no path given", hint="For example: src/app.py")
    rows = list_file_touches(connection, name, _parse_since(since), _limit(limit, _MAX_ROWS))
    touches = [
        {
            "session": row["session"],
            "place": row["place"],
            "path": row["source_path"],
            "file": row["path"],
            "how": row["how"],
            "times": row["times"],
            "added": row["added"],
            "removed": row["removed"],
            "last": _format_time(row["time_ms"] or None),
            "agent": row["agent"],
            "model": row["model"],
            "title": row["title"],
        }
        for row in rows
    ]
    return {"touches": touches}


def answer_usage(
    connection: sqlite3.Connection, by: str, *, since: str = "", limit: int = 50
) -> dict[str, Any]:
    """Return conversations, tokens and cost in groups: agent, model, repo, project, day or week.

    Raises:
        UsageError: the group is unknown, or `since` is not a time.
    """
    since_ms = _parse_since(since)
    day = (_format_time(since_ms) or "")[:10]
    return {"groups": sum_usage(connection, by, day, _limit(limit, _MAX_ROWS))}


def answer_verification(
    connection: sqlite3.Connection,
    record: str,
    *,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Return verdicts about a sealed record, by the people and services that the user trusts.

    `record` is a path, or the id of a session: then all its recordings with a statement count. Only
    the first 100 are checked; `unchecked` is the number of the others.

    Raises:
        UnreadableInput: there is no such record or session.
        UsageError: several sessions have an id with this beginning, or a file has the same name.
    """
    if os.path.lexists(record):
        # The current folder may be a clone: its author must not choose the record for an id.
        if len(record) >= _MIN_NAME_LENGTH and find_conversations(connection, record):
            raise UsageError(
                f"a session and a file both have the name {record}",
                hint=f"For the file, use ./{record}. For the session, use the path of its record.",
            )
        paths = [record]
    else:
        session = find_one_conversation(connection, record)["session"]
        recordings = find_conversations(connection, session, copies=True)
        paths = [row["source_path"] for row in recordings]
        paths = [path for path in paths if os.path.lexists(path + STATEMENT_SUFFIX)] or paths[:1]
    options = VerificationOptions(stores=choose_trust_stores(environment=environment))
    pairs = [pair for path in paths for pair in find_statement_pairs(path)]
    judged = judge_statements(pairs[:_MAX_ROWS], options)
    verdicts = [_shorten_verdict(verdict) for verdict in judged]
    return {"verdicts": verdicts, "unchecked": len(pairs) - len(verdicts)}


def _shorten_verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a verdict that a reader needs."""
    return {
        name: verdict[name] for name in _VERDICT_MEMBERS if verdict.get(name) not in (None, "", [])
    }


def _parse_since(since: str) -> int | None:
    """Return a time in milliseconds since 1970; None for an empty text.

    Raises:
        UsageError: it is not a time.
    """
    return parse_moment(since, "since", datetime.now().astimezone()) if since.strip() else None


def _format_time(time_ms: int | None) -> str | None:
    """Return a time in UTC; None if it is unknown."""
    if time_ms is None:
        return None
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None


def _limit(count: int, most: int) -> int:
    """Return a number between 1 and `most`."""
    return max(1, min(count, most))

"""The sessions of all agents on this machine: where they lie, and what a look at their beginnings tells.

A file is not read whole: its first and last lines are given to the reader as if they were all of it. So a title or a time that
stands only in between is missed, and nothing here is evidence.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.errors import VacrError
from vacr.readers.documents import spans_lines
from vacr.readers.export import Listed
from vacr.readers.registry import Reader, reader_for, readers
from vacr.readers.source import Part, Source
from vacr.readers.stores import Store
from vacr.sources.databases import DatabaseFile, is_database
from vacr.sources.files import part_name, read_bytes
from vacr.sources.folders import folder_store
from vacr.timestamps import milliseconds

_HEAD = 1 << 16
_TAIL = 1 << 14
_SMALL = 1 << 22
"""Up to this size a file that is one JSON value is read whole."""
TITLES = ("title", "name", "summary", "customTitle", "aiTitle", "thread_name", "chatTitle")
"""Native members that name a session, in a session or in an event."""
TITLE_EVENTS = frozenset(("custom-title", "ai-title", "summary", "thread_name_updated"))


@dataclass(frozen=True)
class Session:
    """A session on this machine."""

    agent: str
    path: str
    session: str | None
    """Which of the sessions at that path, where there are several."""
    session_id: str
    project: str
    start: int | None
    updated: int | None
    size: int
    title: str
    parent: str | None = None


def roots(
    reader: Reader, environment: Mapping[str, str] = os.environ, system: str = sys.platform
) -> Iterator[tuple[Path, Store]]:
    """Give the folders in which a reader's agent keeps sessions, and what is where in them."""
    for store in getattr(reader, "STORES", ()):
        if store.unless and environment.get(store.unless):
            continue
        variable = store.variables.get(system, store.variable)
        named = environment.get(variable) if variable else None
        base = named or store.systems.get(system, store.default)
        if base:
            yield Path(store.within).expanduser() / Path(base).expanduser() / store.under, store


def sessions(agent: str | None = None) -> Iterator[Session]:
    """Give the sessions on this machine, in no order; what cannot be read is left out."""
    for reader in readers().values():
        if agent in (None, reader.name):
            for root, store in roots(reader):
                for pattern in store.sessions:
                    for path in _matching(root, pattern):
                        yield from _at(path, reader)


def _matching(root: Path, pattern: str) -> list[Path]:
    """Give what a pattern names below a folder; a pattern that is an absolute path names itself."""
    try:
        return sorted(root.glob(pattern)) if pattern else [root]
    except (OSError, ValueError, NotImplementedError):
        return []


def _at(path: Path, reader: Reader) -> Iterator[Session]:
    try:
        if path.is_dir():
            store = folder_store(path)
            for session in store.sessions() if store else ():
                yield from _looked_at(store.source(session), reader, path, session)  # type: ignore[union-attr]
        elif is_database(path):
            with closing(DatabaseFile(path, reader.name)) as database:
                for listed in database.sessions():
                    yield _listed(listed, reader, path)
        else:
            source = Source((Part(part_name(path, reader), _ends(path)),))
            if reader_for(source) is reader:
                yield from _looked_at(source, reader, path, None)
    except (VacrError, OSError):
        return


def _ends(path: Path) -> bytes:
    """Read the first and the last lines of a file, or all of it where a line does not end in its beginning."""
    size = path.stat().st_size
    head = read_bytes(path, _HEAD)
    is_one_value = b"\n" not in head or spans_lines(head)
    if size <= _HEAD or (is_one_value and size <= _SMALL):
        return read_bytes(path)
    with path.open("rb") as file:
        file.seek(max(len(head), size - _TAIL))
        tail = file.read()
    return head[: head.rfind(b"\n") + 1] + tail[tail.find(b"\n") + 1 :]


def _looked_at(source: Source, reader: Reader, path: Path, session: str | None) -> Iterator[Session]:
    """Tell what the reader finds in the ends of a session."""
    status = path.stat()
    size = sum(len(part.data) for part in source.parts) if session is not None else status.st_size
    for reading in reader.read(source):
        trace = reading.record["session"]
        start = _moment(trace.get("session-start"))
        yield Session(
            reader.name,
            str(path),
            session,
            str(trace["session-id"]),
            trace.get("environment", {}).get("working-dir", "") or path.parent.name,
            start,
            _moment(trace.get("session-end")) or int(status.st_mtime * 1000),
            size,
            title_of(trace),
            reading.record["vacr"].get("parent", {}).get("session-id"),
        )


def _listed(listed: Listed, reader: Reader, path: Path) -> Session:
    start, end = _moment(listed.start), _moment(listed.end)
    where = (reader.name, str(path), listed.session_id, listed.session_id, listed.project)
    return Session(*where, start, end or start, 0, listed.title, listed.parent)


def _moment(stamp: Any) -> int | None:
    return milliseconds(stamp) if isinstance(stamp, str | int) and not isinstance(stamp, bool) else None


def title_of(trace: Mapping[str, Any]) -> str:
    """Find the title of a session: what the agent calls it, or else what it was first asked."""
    events = [entry.get("data", {}) for entry in trace["entries"] if entry.get("event-type") in TITLE_EVENTS]
    for holder in (trace, *reversed(events)):
        for member in TITLES:
            if isinstance(holder.get(member), str) and holder[member].strip():
                return _line(holder[member])
    for entry in trace["entries"]:
        if entry["type"] == "user" and (text := _line(_said(entry.get("content")))):
            return text
    return ""


def _said(content: Any) -> str:
    """Give the text of a content, but for what the agent put around it."""
    if isinstance(content, list):
        content = " ".join(block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str))
    if not isinstance(content, str):
        return ""
    if "<user_query>" in content:
        content = content.partition("<user_query>")[2].partition("</user_query>")[0]
    return "" if content.lstrip().startswith("<") else content


def _line(text: str) -> str:
    return " ".join(text.split())

"""Where OpenCode keeps its sessions: the database since 1.2, the storage folder before. Step: read; what is read is data.

Kilo Code keeps the same database under its own name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from vacr.model import Native
from vacr.readers.export import Listed, Query
from vacr.readers.lines import Repaired
from vacr.readers.source import Source

Files = Callable[[str], list[str]]
"""Gives the paths of a folder's files that match a pattern, in order."""

# Tables about the machine or its user, not about a session.
NOT_OURS = frozenset(("permission", "workspace", "data_migration"))
# Words in the names of tables that may hold credentials, also in versions that are not known.
CREDENTIALS = ("credential", "account", "auth", "token", "secret")
_ORDER = {"message": ("time_created", "id"), "part": ("message_id", "id"), "todo": ("position",), "event": ("seq",)}


class _Database:
    """OpenCode's database, of any version: only what a table has is asked for."""

    format_id = "opencode-sqlite"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is OpenCode's."""
        return {"session", "message", "part"} <= tables

    def sessions(self, query: Query) -> Iterable[Listed]:
        """List the sessions, and those that only messages or parts name."""
        for row in query("SELECT * FROM session ORDER BY id"):
            if type(row["id"]) is str:
                times = row.get("time_created"), row.get("time_updated")
                parent = row.get("parent_id")
                named = row["id"], _text(row.get("title")), _text(row.get("directory"))
                yield Listed(*named, *times, parent if type(parent) is str else None)
        # The keys come from the indexes; what the rows say is not looked at.
        orphans = (
            "SELECT id FROM (SELECT DISTINCT session_id AS id FROM message UNION SELECT DISTINCT session_id FROM part) AS named"
            " WHERE NOT EXISTS (SELECT 1 FROM session WHERE session.id = named.id) ORDER BY 1"
        )
        yield from (Listed(row["id"]) for row in query(orphans) if type(row["id"]) is str)

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give the rows of a session: itself, its project, its messages and parts, then what else names it."""
        tables = [row["name"] for row in query(_TABLES)]
        projects = []
        for row in query("SELECT * FROM session WHERE id = ?", session_id):
            projects.append(row.get("project_id"))
            yield "session", row
        if "project" in tables:
            for project in projects:
                yield from (("project", row) for row in query("SELECT * FROM project WHERE id = ?", project))
        first = ["message", "part"]
        for table in first + [name for name in tables if _may_be_a_sessions(name) and name not in first]:
            columns = [row["name"] for row in query("SELECT name FROM pragma_table_info(?)", table)]
            key = next((name for name in ("session_id", "aggregate_id") if name in columns), None)
            if key is not None:
                # Rows that the first columns do not tell apart are ordered by the others: where they lie must not matter.
                first_columns = [name for name in _ORDER.get(table, ("seq", "id")) if name in columns]
                order = ", ".join(f"{_quoted(name)} COLLATE BINARY" for name in dict.fromkeys([*first_columns, *columns]))
                statement = f"SELECT * FROM {_quoted(table)} WHERE {key} = ? ORDER BY {order}"  # noqa: S608 - names that the database itself gave
                yield from ((table, row) for row in query(statement, session_id))


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name COLLATE BINARY"


def _may_be_a_sessions(table: Any) -> bool:
    """Tell whether a table may hold rows of a session; those that are read before are left out."""
    if type(table) is not str or table in {"session", "project"} | NOT_OURS:
        return False
    return not any(word in table.lower() for word in CREDENTIALS)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: Any) -> str:
    return value if type(value) is str else ""


DATABASE = _Database()
DATABASES = (DATABASE,)


class _Folder:
    """The storage folder: a file for each session, message and part."""

    marks = frozenset(("session", "message"))
    """The folders that a storage folder has."""

    def holds(self, source: Source) -> bool:
        """Tell whether a source was made of a storage folder."""
        return source.main.name.startswith(("session/", "message/", "part/")) and source.main.name.endswith(".json")

    def session_of(self, source: Source) -> str:
        """Give the session that the files of a source are of, if their paths tell."""
        kind, above, name = source.main.name.split("/")[:3]
        return {"session": name.removesuffix(".json"), "message": above}.get(kind, "")

    def sessions(self, files: Files) -> list[str]:
        """List the ids of the sessions: those that have a file, and those that only messages name.

        Parts whose message has no file are of a session that no path tells: they go by the message.
        """
        own = {_stem(path) for path in files("session/*/*.json")}
        messages = files("message/*/*.json")
        parts = {path.split("/")[1] for path in files("part/*/*.json")}
        orphans = parts - {_stem(path) for path in messages}
        return sorted(own | {path.split("/")[1] for path in messages} | orphans)

    def glimpse(self, files: Files, session_id: str) -> list[str]:
        """Name the files of a session that tell what it is: its own, or else one of the others."""
        own = files(f"session/*/{session_id}.json")
        others = (files(f"{folder}/{session_id}/*.json") for folder in ("message", "part"))
        return own or list(itertools.islice(itertools.chain.from_iterable(others), 1))

    def parts(self, files: Files, session_id: str) -> list[str]:
        """Name the files of a session, its own first."""
        own, messages = files(f"session/*/{session_id}.json"), files(f"message/{session_id}/*.json")
        if not own and not messages:
            return files(f"part/{session_id}/*.json")
        parts = [part for path in messages for part in files(f"part/{_stem(path)}/*.json")]
        beside = [path for name in ("session_diff", "todo", "session_share") for path in files(f"{name}/{session_id}.json")]
        projects = [project for path in own for project in files(f"project/{path.split('/')[1]}.json")]
        return own + messages + parts + beside + projects


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


FOLDER = _Folder()


def from_file(path: str, document: Any) -> Any:
    """Give what a file of the storage folder holds the ids that its path names: migrations moved files and not what they say."""
    value = document.value if isinstance(document, Repaired) else document
    if type(value) is dict:
        folder, *between, name = path.removesuffix(".json").split("/")
        above = between[-1] if between else ""
        ids = {
            "session": {"id": name, "projectID": above},
            "message": {"id": name, "sessionID": above},
            "part": {"id": name, "messageID": above},
        }.get(folder, {})
        for member, identity in ids.items():
            value.setdefault(member, identity)
    return document

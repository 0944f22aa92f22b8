"""Where OpenCode keeps its sessions: the database since 1.2, the storage folder before. Step: read; what is read is data.

Kilo Code keeps the same database under its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from vacr.model import Native
from vacr.readers.export import Listed, Query
from vacr.readers.lines import Repaired
from vacr.readers.source import Source

Files = Callable[[str], list[str]]
"""Gives the paths of a folder's files that match a pattern, in order."""

# Tables about the machine or its user, not about a session; some hold credentials.
NOT_OURS = frozenset(("credential", "account", "account_state", "control_account", "permission", "workspace", "data_migration"))
_ORDER = {"message": "time_created, id", "part": "message_id, id", "todo": "position", "event": "seq"}


class _Database:
    """OpenCode's database, of any version: only what a table has is asked for."""

    format_id = "opencode-sqlite"

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is OpenCode's."""
        return {"session", "message", "part"} <= tables

    def sessions(self, query: Query) -> Iterable[Listed]:
        """List the sessions, and those that only messages name."""
        sizes = {
            row["id"]: row["size"] for row in query("SELECT session_id AS id, SUM(LENGTH(data)) AS size FROM part GROUP BY 1")
        }
        for row in query("SELECT * FROM session ORDER BY id"):
            title, directory, size = row.get("title"), row.get("directory"), sizes.get(row["id"])
            times = row.get("time_created"), row.get("time_updated")
            yield Listed(str(row["id"]), _text(title), _text(directory), *times, size or 0, row.get("parent_id"))
        orphans = "SELECT DISTINCT session_id AS id FROM message WHERE session_id NOT IN (SELECT id FROM session) ORDER BY 1"
        yield from (Listed(str(row["id"])) for row in query(orphans))

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give the rows of a session: itself, its project, its messages and parts, then what else names it."""
        tables = [row["name"] for row in query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        projects = []
        for row in query("SELECT * FROM session WHERE id = ?", session_id):
            projects.append(row.get("project_id"))
            yield "session", row
        if "project" in tables:
            for project in projects:
                yield from (("project", row) for row in query("SELECT * FROM project WHERE id = ?", project))
        first = ["message", "part"]
        for table in first + [name for name in tables if name not in {"session", "project", *first} | NOT_OURS]:
            columns = _columns(query, table)
            key = next((name for name in ("session_id", "aggregate_id") if name in columns), None)
            if key is not None:
                order = ", ".join(name for name in _ORDER.get(table, "seq, id").split(", ") if name in columns) or "rowid"
                statement = f'SELECT * FROM "{table}" WHERE {key} = ? ORDER BY {order}'  # noqa: S608 - names that the database itself gave
                yield from ((table, row) for row in query(statement, session_id))


def _columns(query: Query, table: str) -> list[str]:
    return [row["name"] for row in query(f'PRAGMA table_info("{table}")')]


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
        return source.main.name.startswith(("session/", "message/")) and source.main.name.endswith(".json")

    def sessions(self, files: Files) -> list[str]:
        """List the ids of the sessions: those that have a file, and those that only messages name."""
        own = {_stem(path) for path in files("session/*/*.json")}
        return sorted(own | {path.split("/")[1] for path in files("message/*/*.json")})

    def parts(self, files: Files, session_id: str) -> list[str]:
        """Name the files of a session, its own first."""
        own, messages = files(f"session/*/{session_id}.json"), files(f"message/{session_id}/*.json")
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

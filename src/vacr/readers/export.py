"""The rows of one session in a database, as lines: the native bytes of a session that no file
holds. Step: read.

An agent may keep all its sessions in one database. What is recorded, sealed and verified is a
canonical export of the rows of one: a first line that names the format, then a line for each row
with its table. `vacr.sources` writes it, readers read it.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from vacr.codec import canonical_json
from vacr.model import Native

HEAD = "vacr-export"

T = TypeVar("T")


class Query(Protocol):
    """Questions to a database, as it is at one moment."""

    def __call__(self, statement: str, *parameters: Any) -> Iterator[Native]:
        """Run a statement with its parameters and give the rows; a text that is not UTF-8 comes as
        bytes.
        """
        ...

    def once(self, work: Callable[[Query], T]) -> T:
        """Do what has the same result as long as the database stays as it is, and need not be done
        again for another session.
        """
        ...


@dataclass(frozen=True)
class Listed:
    """A session that a store holds, as far as a look at its list tells."""

    session_id: str
    title: str = ""
    project: str = ""
    start: Any = None
    end: Any = None
    parent: str | None = None
    alone: bool = False
    """Whether the database holds no other, so that the size and the time of its file are the
    session's.
    """


class Database(Protocol):
    """What a reader knows about an agent's database."""

    format_id: str

    def knows(self, tables: frozenset[str]) -> bool:
        """Tell whether a database with these tables is this agent's."""
        ...

    def sessions(self, query: Query) -> Iterable[Listed]:
        """List the sessions."""
        ...

    def rows(self, query: Query, session_id: str) -> Iterator[tuple[str, Native]]:
        """Give the rows of a session with their tables, always in the same order."""
        ...

    def sign(self, query: Query, session_id: str) -> object:
        """Give what is another after the agent changed rows of a session, without a look at what
        the rows say.
        """
        ...


def export(format_id: str, session_id: str, rows: Iterable[tuple[str, Native]]) -> bytes:
    """Write the rows of a session as lines."""
    lines = [canonical_json.encode({HEAD: format_id, "session": session_id})]
    lines += [canonical_json.encode({"row": _plain(row), "table": table}) for table, row in rows]
    return b"".join(line + b"\n" for line in lines)


def is_head(value: Any, format_id: str) -> bool:
    """Tell whether a value is the first line of an export of some format."""
    return type(value) is dict and value.get(HEAD) == format_id


def session_of(head: Native) -> str | None:
    """Give the session that the first line of an export names, if it does: a head that was not
    written here may say anything.
    """
    named = head.get("session")
    return named if type(named) is str else None


def beside(head: Native) -> Native:
    """Give what the first line of an export says beside what it has to."""
    return {
        name: value
        for name, value in head.items()
        if name != HEAD and (name, value) != ("session", session_of(head))
    }


def is_row(value: Any) -> bool:
    """Tell whether a value is a row of an export."""
    return (
        type(value) is dict
        and value.keys() == {"row", "table"}
        and type(value["row"]) is dict
        and type(value["table"]) is str
    )


def _plain(row: Native) -> Native:
    """Write what JSON cannot hold as text, so that every row has a line."""
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return (
        {"number": str(value)} if isinstance(value, float) and not math.isfinite(value) else value
    )

"""The rows of Cursor's databases on their way into a record. Step: read.

Rows that make up the conversation are taken by their keys. Whatever else there is becomes an event
behind it: rows of other tables, columns that are not known, a key that is there again, lines that
are no rows.
"""

from __future__ import annotations

from typing import Any

from vacr.model import Native
from vacr.readers import export
from vacr.readers.assemble import Session
from vacr.readers.cursor_blobs import take_blobs
from vacr.readers.cursor_bubbles import take_chat, take_composer
from vacr.readers.lift import is_one_of
from vacr.readers.lines import Repaired
from vacr.readers.source import Source

TABLES = {
    "cursor-vscdb": {"cursorDiskKV": ("key", "value")},
    "cursor-store": {"meta": ("key", "value"), "blobs": ("id", "data")},
}
"""Format → its tables of keys and values, and the columns that hold them."""
CHAT = "chatdata"


def is_head(value: Any) -> bool:
    """Tell whether a value is the first line of an export of one of Cursor's databases."""
    return type(value) is dict and is_one_of(value.get(export.HEAD), TABLES)


def take_rows(source: Source, session: Session) -> None:
    """Make entries of the rows of a database."""
    rows = _Rows(session)
    for line, batch in source.main.documents():
        for document in batch:
            rows.take(line, document)
    if session.format_id == "cursor-store":
        take_blobs(rows.keyed["meta"], rows.keyed["blobs"], session)
    else:
        take_composer(rows.keyed["cursorDiskKV"], session)
        for chat in rows.chats:
            take_chat(chat, session)
    session.entries += rows.beside


class _Rows:
    """The rows of one export."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.keyed: dict[str, dict[str, Any]] = {}
        self.chats: list[Native] = []
        self.beside: list[Native] = []

    def take(self, line: int, document: Any) -> None:
        """Take one line of the export; the first names the format and the session."""
        if isinstance(document, Repaired):
            self.session.repaired.append(document.reason)
            document = document.value
        if export.is_row(document):
            self.take_row(document["table"], document["row"])
        elif is_head(document):
            self.take_head(document)
        else:
            self.beside.append(self.session.unusual(line, document))

    def take_head(self, head: Native) -> None:
        """Take the first line; one that comes again, or that says more, is kept."""
        is_first = not self.keyed
        if is_first:
            self.session.format_id = head[export.HEAD]
            self.keyed = {table: {} for table in TABLES[self.session.format_id]}
            self.session.session_id = export.session_of(head) or self.session.session_id
        if not is_first or export.beside(head):
            self.keep(export.HEAD, head)

    def take_row(self, table: str, row: Native) -> None:
        """Take one row by its key."""
        if table == CHAT and self.session.format_id == "cursor-vscdb":
            self.chats.append(row)
            return
        key, value = TABLES[self.session.format_id].get(table, ("", ""))
        if type(row.get(key)) is not str or value not in row or row[key] in self.keyed[table]:
            self.keep(table, row)
            return
        self.keyed[table][row[key]] = row.pop(value)
        if len(row) > 1:
            self.keep(table, row)

    def keep(self, table: str, row: Native) -> None:
        """Keep a row as it is."""
        self.beside.append({"type": "system-event", "event-type": table, "data": row})

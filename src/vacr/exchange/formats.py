"""The formats that records are exported to and imported from, each in the module of its name. Step:
export, import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from vacr.exchange.exported import Asked, Exported
from vacr.model import Native
from vacr.readers.assemble import Reading
from vacr.readers.source import Source


@dataclass(frozen=True)
class Format:
    """A format of others."""

    title: str
    """What people call it."""
    ending: str
    """What the names of its files end in."""
    writer: str = ""
    """The module that writes it."""
    reader: str = ""
    """The module that reads it, where there is one."""
    of_rows: bool = True
    """Whether it holds the conversation, of which filters choose a part."""

    def export(self, record: Native, asked: Asked) -> Exported:
        """Give a record in this format.

        Raises:
            InvalidRecord: there is nothing in it that the format can hold.
        """
        function: Callable[[Native, Asked], Exported] = import_module(
            f"vacr.exchange.{self.writer}"
        ).export
        return function(record, asked)

    def read(self, source: Source) -> list[Reading]:
        """Make records of a document in this format, not yet identified.

        Raises:
            UnreadableInput: it cannot be read.
            InvalidRecord: it is not in this format.
        """
        module = import_module(f"vacr.exchange.{self.reader}")
        found = module.read(source)
        return found if isinstance(found, list) else [found]


FORMATS = {
    "markdown": Format("Markdown", ".md", "markdown"),
    "html": Format("HTML", ".html", "html"),
    "atif": Format("ATIF", ".atif.json", "atif.writing", "atif.reading"),
    "agent-trace": Format(
        "Agent Trace",
        ".agent-trace.json",
        "agent_trace.writing",
        "agent_trace.reading",
        of_rows=False,
    ),
    "otlp": Format("OTLP", ".otlp.json", "otlp.writing"),
    "in-toto": Format("an in-toto statement", ".intoto.json", "in_toto", of_rows=False),
    "git-ai-notes": Format(
        "a note of git-ai", ".git-ai.txt", "git_ai.writing", "git_ai.reading", of_rows=False
    ),
}

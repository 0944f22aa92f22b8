"""The formats that records are exported to and imported from, and how a document's is detected.

A format is detected by its content, never by the name of its file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from vacr.agents import Reading, Source
from vacr.errors import UnreadableInput
from vacr.exchange.documents import parse_json_or_lines
from vacr.exchange.export import ExportedDocument, ExportRequest
from vacr.model import JsonObject


@dataclass(frozen=True)
class ExchangeFormat:
    """A format of other tools; its modules load when they are needed."""

    title: str
    """Its name for people."""
    ending: str
    """The ending of its file names."""
    writer: str = ""
    """The module with its `export`."""
    reader: str = ""
    """The module with its `read`, if the format can be imported."""
    of_rows: bool = True
    """Whether it holds the conversation, so that filters apply."""

    def export(self, record: JsonObject, request: ExportRequest) -> ExportedDocument:
        """Export a record to this format.

        Raises:
            InvalidRecord: the record has nothing that the format can hold.
        """
        module = import_module(f"vacr.exchange.{self.writer}")
        export: Callable[[JsonObject, ExportRequest], ExportedDocument] = module.export
        return export(record, request)

    def read(self, source: Source) -> list[Reading]:
        """Import the records of a document in this format; they have no ids yet.

        Raises:
            UnreadableInput: the document cannot be read.
            InvalidRecord: it is not in this format.
        """
        module = import_module(f"vacr.exchange.{self.reader}")
        readings = module.read(source)
        return readings if isinstance(readings, list) else [readings]


EXCHANGE_FORMATS = {
    "markdown": ExchangeFormat("Markdown", ".md", "markdown"),
    "html": ExchangeFormat("HTML", ".html", "html"),
    "atif": ExchangeFormat("ATIF", ".atif.json", "atif_export", "atif"),
    "agent-trace": ExchangeFormat(
        "Agent Trace", ".agent-trace.json", "agent_trace", "agent_trace", of_rows=False
    ),
    "otlp": ExchangeFormat("OTLP", ".otlp.json", "otlp"),
    "in-toto": ExchangeFormat("an in-toto statement", ".intoto.json", "in_toto", of_rows=False),
    "git-ai-notes": ExchangeFormat(
        "a note of git-ai", ".git-ai.txt", "git_ai", "git_ai", of_rows=False
    ),
}


def detect_format(data: bytes) -> str:
    """Return the name of a document's format.

    Raises:
        UnreadableInput: the format is not known.
    """
    if b"\n---\n" in data or data.startswith(b"---\n"):
        return "git-ai-notes"
    document = parse_json_or_lines(data)[0][1]
    if isinstance(document, dict):
        schema_version = str(document.get("schema_version", ""))
        if schema_version.startswith("ATIF-"):
            return "atif"
        if {"version", "id", "timestamp", "files"} <= document.keys():
            return "agent-trace"
        if schema_version.startswith("authorship/"):
            return "git-ai-notes"
        if {"version", "session"} <= document.keys():
            raise UnreadableInput(
                "a record already",
                hint="vacr show FILE shows it, vacr export FILE --to FORMAT writes others.",
            )
    hint = (
        "ATIF, Agent Trace and notes of git-ai are; name one with --from. A native session "
        "is recorded: vacr record FILE."
    )
    raise UnreadableInput("not in a format that is known", hint=hint)

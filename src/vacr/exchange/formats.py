"""The formats that records are exported to and imported from, each in the module of its name. Step:
export, import.

Which format a document of others is in, by what it says and never by its name. Step: import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from vacr.agents import Reading, Source
from vacr.errors import UnreadableInput
from vacr.exchange.agent_trace import parse_json_or_lines
from vacr.exchange.export import ExportedDocument, ExportRequest
from vacr.model import JsonObject


@dataclass(frozen=True)
class ExchangeFormat:
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

    def export(self, record: JsonObject, asked: ExportRequest) -> ExportedDocument:
        """Give a record in this format.

        Raises:
            InvalidRecord: there is nothing in it that the format can hold.
        """
        function: Callable[[JsonObject, ExportRequest], ExportedDocument] = import_module(
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


EXCHANGE_FORMATS = {
    "markdown": ExchangeFormat("Markdown", ".md", "markdown"),
    "html": ExchangeFormat("HTML", ".html", "html"),
    "atif": ExchangeFormat("ATIF", ".atif.json", "atif", "atif"),
    "agent-trace": ExchangeFormat(
        "Agent Trace",
        ".agent-trace.json",
        "agent_trace",
        "agent_trace",
        of_rows=False,
    ),
    "otlp": ExchangeFormat("OTLP", ".otlp.json", "otlp"),
    "in-toto": ExchangeFormat("an in-toto statement", ".intoto.json", "in_toto", of_rows=False),
    "git-ai-notes": ExchangeFormat(
        "a note of git-ai", ".git-ai.txt", "git_ai", "git_ai", of_rows=False
    ),
}


def detect_format(data: bytes) -> str:
    """Name the format of a document.

    Raises:
        UnreadableInput: it is in none that is known.
    """
    if b"\n---\n" in data or data.startswith(b"---\n"):
        return "git-ai-notes"
    document = parse_json_or_lines(data)[0][1]
    if isinstance(document, dict):
        if str(document.get("schema_version", "")).startswith("ATIF-"):
            return "atif"
        if {"version", "id", "timestamp", "files"} <= document.keys():
            return "agent-trace"
        if str(document.get("schema_version", "")).startswith("authorship/"):
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

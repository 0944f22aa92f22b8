"""The formats of other tools: their names, their detection, and the work that they share.

A record is exported to a format, or imported from a document in it. The format of a document is
detected by its content, never by its file name.

    >>> from vacr.exchange import detect_format
    >>> detect_format(b'{"schema_version": "ATIF-v1.6", "steps": []}')
    'atif'

Documents are parsed and checked against their schemas here. A record that was imported from a
document can return it, but a record may lie about its origin, or may have changed since. So the
restored document is imported again, and counts only if the result is the same record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from typing import Any

from vacr.agents import Reading, Source, SourcePart
from vacr.cddl import Schema, compile_cddl
from vacr.errors import InvalidRecord, UnreadableInput, VacrError
from vacr.exchange.export import ExportedDocument, ExportRequest
from vacr.model import JsonObject
from vacr.record import decode_json, encode, get_vacr_metadata

# Members that vacr may add to a record after the import.
_MEMBERS_ADDED_LATER = ("attribution", "inputs", "converted")


@dataclass(frozen=True)
class ExchangeFormat:
    """A format of other tools; its module loads when it is needed."""

    title: str
    """Its name in messages."""
    ending: str
    """The ending of its file names."""
    writer: str = ""
    """The function that exports a record, as `module.function` in this package."""
    reader: str = ""
    """The function that imports a document; empty for a format that is only exported."""
    of_rows: bool = True
    """Whether the format contains the conversation, so that filters of rows apply."""

    def export(self, record: JsonObject, request: ExportRequest) -> ExportedDocument:
        """Export a record to this format, and return the document and its losses.

        Raises:
            InvalidRecord: the record lacks the members that the format needs.
            UsageError: the request lacks something that the format needs, such as a key.
        """
        export: Callable[[JsonObject, ExportRequest], ExportedDocument] = _load_function(
            self.writer
        )
        return export(record, request)

    def read(self, source: Source) -> list[Reading]:
        """Import the records of a document in this format; they have no ids yet.

        Raises:
            UnreadableInput: the document cannot be read.
            InvalidRecord: it is not in this format.
        """
        readings = _load_function(self.reader)(source)
        return readings if isinstance(readings, list) else [readings]


def _load_function(path: str) -> Callable[..., Any]:
    """Return a function of this package by `module.function`, and load its module."""
    module, _, name = path.rpartition(".")
    function: Callable[..., Any] = getattr(import_module(f"vacr.exchange.{module}"), name)
    return function


EXCHANGE_FORMATS = {
    "markdown": ExchangeFormat("Markdown", ".md", "transcript.export_markdown"),
    "html": ExchangeFormat("HTML", ".html", "transcript.export_html"),
    "atif": ExchangeFormat("ATIF", ".atif.json", "atif_export.export", "atif.read"),
    "agent-trace": ExchangeFormat(
        "Agent Trace",
        ".agent-trace.json",
        "agent_trace.export",
        "agent_trace.read",
        of_rows=False,
    ),
    "otlp": ExchangeFormat("OTLP", ".otlp.json", "otlp.export"),
    "in-toto": ExchangeFormat(
        "an in-toto statement", ".intoto.json", "in_toto.export", of_rows=False
    ),
    "git-ai-notes": ExchangeFormat(
        "a note of git-ai", ".git-ai.txt", "git_ai.export", "git_ai.read", of_rows=False
    ),
}


def detect_format(data: bytes) -> str:
    """Return the name of a document's format: `atif`, `agent-trace` or `git-ai-notes`.

    A few members of the document decide (of the first line, if it is JSON lines), without
    validation.

    Raises:
        UnreadableInput: the document has another format, is not JSON, or is already a record.
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
                "already a vacr record",
                hint="To read it, run vacr show FILE; to convert it, vacr export FILE --to FORMAT.",
            )
    raise UnreadableInput(
        "not a document that vacr can import",
        hint="Supported are ATIF, Agent Trace and notes of git-ai; choose one with --from. For a "
        "session of an agent, run vacr record FILE.",
    )


def parse_json_or_lines(data: bytes) -> list[tuple[str, Any]]:
    """Parse one JSON document, or one JSON document a line.

    Return pairs of a place for messages, such as `line 2: `, and a value. The place of a single
    document is empty. Blank lines are skipped.

    Raises:
        UnreadableInput: the data is neither JSON nor JSON lines.
    """
    try:
        return [("", decode_json(data))]
    except UnreadableInput:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        if len(lines) <= 1:  # parsing the only line would fail in the same way
            raise
        return [(f"line {number}: ", _parse_json_line(number, line)) for number, line in lines]


def _parse_json_line(number: int, line: bytes) -> Any:
    """Parse a line as JSON; an error names the line.

    Raises:
        UnreadableInput: the line is not JSON.
    """
    try:
        return decode_json(line)
    except UnreadableInput as error:
        raise UnreadableInput(
            error.message, where=f"line {number}: {error.where}", hint=error.hint
        ) from error


def check_document(document: Any, schema: str, title: str) -> None:
    """Check a document against a CDDL schema of this package; `title` names the format.

    Raises:
        InvalidRecord: the document does not match; the message names the first mismatch.
    """
    findings = _load_schema(schema).checker(json=True).findings(document)
    if findings:
        first, more = findings[0], len(findings) - 1
        rest = f" (and {more} more)" if more else ""
        message = f"invalid {title}: {first.rule}: {first.found}, expected {first.expected}{rest}"
        hint = "Report this to the authors of the tool that wrote the file."
        raise InvalidRecord(message, where=first.pointer or "/", hint=hint)


@cache
def _load_schema(name: str) -> Schema:
    """Return the compiled schema in a file of this package."""
    return compile_cddl(
        resources.files("vacr.exchange").joinpath(name).read_text("utf-8"), name=name
    )


def restore_document(
    record: JsonObject,
    form: str,
    write: Callable[[JsonObject], bytes],
    read: Callable[[Source], Reading],
) -> bytes | None:
    """Return the document of the format `form` that a record was imported from.

    `write` rebuilds the document from the record, and `read` imports it again for comparison.
    Return None if the record comes from another format, or changed after the import.
    """
    source = get_vacr_metadata(record).get("source")
    if not isinstance(source, dict) or source.get("format") != form:
        return None
    try:
        data = write(record)
        again: Any = read(Source((SourcePart("document", data),))).record
        is_same = _encode_comparable(again, form) == _encode_comparable(record, form)
    except (VacrError, LookupError, TypeError, AttributeError, ValueError, StopIteration):
        # No schema covers the members that `write` needs, so any of them may be missing.
        return None
    return data if is_same else None


def _encode_comparable(record: JsonObject, form: str) -> bytes:
    """Encode the parts of a record that must be equal for equal documents.

    Leave out the digest of the source, a session id derived from it, and later additions. For the
    format `atif`, leave out the file attribution too.
    """
    metadata = get_vacr_metadata(record)
    session = dict(record["session"])
    if session.get("session-id") == metadata["source"]["parts"][0]["sha-256"]:
        del session["session-id"]
    kept = {
        name: value
        for name, value in metadata.items()
        if name not in ("source", *_MEMBERS_ADDED_LATER)
    }
    compared = [session, kept, record.get("vcs")]
    # A trajectory has no attribution, so an attribution added later is not a change of it.
    if form != "atif":
        compared.append(record.get("file-attribution"))
    return encode(compared)

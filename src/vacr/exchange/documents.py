"""Documents of other tools: parsed, checked against their schema, and restored from a record.

A record that was imported from a document can return that document. But anybody may write a record
that claims so, or add to one. So the restored document is imported again, and stands only if the
result is the same record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from vacr.agents import Reading, Source, SourcePart
from vacr.cddl import Schema, compile_cddl
from vacr.errors import InvalidRecord, UnreadableInput, VacrError
from vacr.model import JsonObject
from vacr.record import decode_json, encode, get_vacr_metadata

# Members that vacr may add to a record after the import.
_MEMBERS_ADDED_LATER = ("attribution", "inputs", "converted")


def parse_json_or_lines(data: bytes) -> list[tuple[str, Any]]:
    """Return the value of a JSON document, or of each line; each with its place for messages.

    Raises:
        UnreadableInput: the data is neither JSON nor JSON lines.
    """
    try:
        return [("", decode_json(data))]
    except UnreadableInput:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        if len(lines) <= 1:  # the same text again
            raise
        return [(f"line {number}: ", _parse_json_line(number, line)) for number, line in lines]


def _parse_json_line(number: int, line: bytes) -> Any:
    try:
        return decode_json(line)
    except UnreadableInput as error:
        raise UnreadableInput(
            error.message, where=f"line {number}: {error.where}", hint=error.hint
        ) from error


def check_document(document: Any, schema: str, title: str) -> None:
    """Check a document against a CDDL schema of this package.

    Raises:
        InvalidRecord: the document does not match; names the first place.
    """
    findings = _load_schema(schema).checker(json=True).findings(document)
    if findings:
        first, more = findings[0], len(findings) - 1
        rest = f" (and {more} more)" if more else ""
        message = f"no {title}: {first.rule}: {first.found}, expected {first.expected}{rest}"
        raise InvalidRecord(
            message, where=first.pointer or "/", hint=f"Ask the tool that wrote it for {title}."
        )


@cache
def _load_schema(name: str) -> Schema:
    return compile_cddl(
        resources.files("vacr.exchange").joinpath(name).read_text("utf-8"), name=name
    )


def restore_document(
    record: JsonObject,
    form: str,
    write: Callable[[JsonObject], bytes],
    read: Callable[[Source], Reading],
) -> bytes | None:
    """Return the document that a record was imported from.

    `None` if it was not imported from this format, or was changed since.
    """
    source = get_vacr_metadata(record).get("source")
    if not isinstance(source, dict) or source.get("format") != form:
        return None
    try:
        data = write(record)
        again: Any = read(Source((SourcePart("document", data),))).record
        is_same = _encode_comparable(again, form) == _encode_comparable(record, form)
    except (VacrError, LookupError, TypeError, AttributeError, ValueError, StopIteration):
        # No schema covers the members that `write` relies on, so any of them may be missing.
        return None
    return data if is_same else None


def _encode_comparable(record: JsonObject, form: str) -> bytes:
    """Encode a record without the members that differ for equal documents.

    These are the digest of the source, and a session id derived from it.
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

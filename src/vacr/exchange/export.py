"""What an export takes and gives. Step: export. What a format cannot hold is counted, by what it
is, and never left unsaid.

The file attribution of a record, for formats that are about nothing else. Step: export.

Whether a record still is what a document of others was made into. Step: export.

A record that was made of a document gives that document again. It says so itself, though, and
anybody may write such a record, or add to it: so the document is read once more, and only one that
gives the same record stands for it.

The schemas of other formats, which come with the package as CDDL. Step: import.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from vacr.agents import Reading, Source, SourcePart
from vacr.cddl import Schema, compile_cddl
from vacr.errors import InvalidRecord, VacrError
from vacr.model import CANONICAL_ENTRY_MEMBERS, SESSION_MEMBERS, TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import RecordEncoding, encode, get_vacr_metadata
from vacr.signing import Signer
from vacr.viewer import REASONING_ROW, Row, RowFilter, build_rows, join_texts

_ACCOUNTED_RECORD_MEMBERS = frozenset(
    ("version", "id", "session", "created", "recording-agent", "file-attribution", "vcs", "vacr")
)
"""What is told, or counted elsewhere, or about the record itself, which an export names."""
ExportLosses = Counter[str]
"""How many of what, in the words of the record."""


@dataclass(frozen=True)
class ExportRequest:
    """How a record is to be exported."""

    digest: str
    """The SHA-256 of the record's bytes, by which the export names it."""
    chosen: RowFilter = field(default_factory=RowFilter)
    version: str | None = None
    """The version of the other format, where it has several."""
    form: RecordEncoding = "json"
    """The form that the record's bytes are in."""
    commit: str | None = None
    """The commit that the record's files are in."""
    signer: Signer | None = None
    statement: bytes | None = None
    """The signed statement that lies beside the record."""


@dataclass(frozen=True)
class ExportedDocument:
    """The export of a record, and what is not in it."""

    data: bytes
    losses: ExportLosses = field(default_factory=Counter)
    left_out: int = 0
    """Rows that the filters left out."""


def select_rows(
    record: JsonObject, chosen: RowFilter, losses: ExportLosses
) -> tuple[list[Row], list[Row], int]:
    """Give all rows of a record, those that are asked for, and how many others there are, without
    what only repeats.

    Raises:
        InvalidRecord: nothing in it is what was asked for.
    """
    every = list(build_rows(record))
    kept = list(chosen.chosen(every))
    if not kept and chosen != RowFilter():
        raise InvalidRecord(
            "nothing in it is what the filters ask for", hint="vacr show takes the same filters."
        )
    repeated = sum(row.is_repeated for row in every) - sum(row.is_repeated for row in kept)
    if repeated:
        losses["entries that repeat others"] = repeated
    return every, kept, len(every) - len(kept) - repeated


def count_encrypted_reasoning(kept: Iterable[Row], losses: ExportLosses) -> None:
    """Count what only its maker can read, whether that is told in the clear as well or not."""
    losses.update("sealed reasoning" for row in kept if "encrypted" in row.entry)


def count_lost_events(every: Iterable[Row], losses: ExportLosses) -> None:
    """Count events, each under its type."""
    losses.update(f"events ({row.summary})" for row in every)


def is_encrypted_reasoning(row: Row) -> bool:
    """Tell whether a thought is kept in a form that only its maker can read."""
    return row.kind == REASONING_ROW and not join_texts(row.parts) and "encrypted" in row.entry


def count_lost_members(
    record: JsonObject, losses: ExportLosses, *canonical: str, about: frozenset[str]
) -> None:
    """Count what no format of conversations has: members of the agent's own, wherever they are, and
    the attribution of files.

    Canonical members of entries that the format at hand has no place for are named; and, of what is
    said about the session as a whole, those that it has.
    """
    found: ExportLosses = Counter()
    session = record["session"]
    found["members of the session's own"] = len(session.keys() - SESSION_MEMBERS)
    found["times of the session"] = len({"session-start", "session-end"} & session.keys() - about)
    for what, members in (
        ("agent", session.get("agent-meta", {})),
        ("environment", session.get("environment", {})),
        ("version control", record.get("vcs", {})),
    ):
        found[f"members about the {what}"] = len(members.keys() - about)
    found["other members of the record"] = len(record.keys() - _ACCOUNTED_RECORD_MEMBERS)
    for entry in _walk_entries(session.get("entries", ())):
        found["members of the agent's own"] += len(entry.keys() - CANONICAL_ENTRY_MEMBERS)
        found["members of parts beside their text"] += sum(
            map(_count_block_extras, (entry.get("content"), entry.get("output")))
        )
        found.update(f"{name} of entries" for name in canonical if name in entry)
        if "token-usage" not in canonical and isinstance(usage := entry.get("token-usage"), dict):
            found["counts of tokens of the agent's own"] += len(usage.keys() - TOKEN_USAGE_MEMBERS)
    losses.update({what: count for what, count in found.items() if count})
    count_lost_attribution(record, losses)


def _count_block_extras(content: Any) -> int:
    """Count what blocks of text say beside the text."""
    blocks = content if isinstance(content, list) else [content]
    return sum(
        len(one.keys() - {"type", "text"})
        for one in blocks
        if isinstance(one, dict) and isinstance(one.get("text"), str)
    )


def count_lost_attribution(record: JsonObject, losses: ExportLosses) -> None:
    """Count the files that a record attributes."""
    if files := record.get("file-attribution", {}).get("files"):
        losses["attributed files"] = len(files)


def _walk_entries(entries: Iterable[JsonObject]) -> Iterator[JsonObject]:
    for entry in entries:
        yield entry
        yield from _walk_entries(entry.get("children", ()))


def format_losses(losses: ExportLosses, most: int = 6) -> str:
    """Say what was lost, the most first."""
    shown = sorted(losses.items(), key=lambda item: (-item[1], item[0]))
    more = (
        f"; {len(shown) - most} other kinds: {sum(count for _, count in shown[most:])}"
        if len(shown) > most
        else ""
    )
    return "; ".join(f"{what}: {count}" for what, count in shown[:most]) + more


_URI_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


def get_attributed_files(record: JsonObject, title: str) -> list[JsonObject]:
    """Give the attributed files.

    Raises:
        InvalidRecord: there are none.
    """
    files: list[JsonObject] = record.get("file-attribution", {}).get("files", [])
    if not files:
        hint = "Attribute its files first: vacr attribute FILE."
        raise InvalidRecord(
            f"the record has no file attribution, and {title} is about nothing else", hint=hint
        )
    return files


def count_lost_session(record: JsonObject, losses: ExportLosses) -> None:
    """Count what is left behind of the conversation."""
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    ranges = [
        get_attribution_details(record, file["path"]).get("ranges")
        for file in record["file-attribution"]["files"]
    ]
    if evidence := sum(len(one) for one in ranges if isinstance(one, list)):
        losses["ranges with their evidence"] = evidence


def get_attribution_details(record: JsonObject, path: str) -> JsonObject:
    """Give what attribution says of a file beside its ranges; nothing where that is of another
    shape than ours.
    """
    found: Any = get_vacr_metadata(record)
    for name in ("attribution", "files", path):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def is_uri(text: Any) -> bool:
    """Tell whether a text is an address with a scheme."""
    return isinstance(text, str) and _URI_PATTERN.fullmatch(text) is not None


_MEMBERS_ADDED_LATER = ("attribution", "inputs", "converted")
"""What vacr adds to a record once it was made."""


def restore_document(
    record: JsonObject,
    form: str,
    write: Callable[[JsonObject], bytes],
    read: Callable[[Source], Reading],
) -> bytes | None:
    """Give the document that a record was made of; nothing where it was made of none, or holds
    anything else.
    """
    source = get_vacr_metadata(record).get("source")
    if not isinstance(source, dict) or source.get("format") != form:
        return None
    try:
        data = write(record)
        again: Any = read(Source((SourcePart("document", data),))).record
        return data if _encode_comparable(again, form) == _encode_comparable(record, form) else None
    except (VacrError, LookupError, TypeError, AttributeError, ValueError, StopIteration):
        # What is missing in such a record, or of another type, is told by no schema.
        return None


def _encode_comparable(record: JsonObject, form: str) -> bytes:
    """Give what a record says, but for what differs though the document is the same: its bytes, and
    what they name.
    """
    said = get_vacr_metadata(record)
    session = dict(record["session"])
    if session.get("session-id") == said["source"]["parts"][0]["sha-256"]:
        del session["session-id"]
    rest = {
        name: value for name, value in said.items() if name not in ("source", *_MEMBERS_ADDED_LATER)
    }
    kept = [session, rest, record.get("vcs")]
    return encode(kept if form == "atif" else [*kept, record.get("file-attribution")])


@cache
def _load_schema(package: str, name: str) -> Schema:
    return compile_cddl(resources.files(package).joinpath(name).read_text("utf-8"), name=name)


def check_document(document: Any, package: str, name: str, what: str) -> None:
    """Check a document against a schema of the package.

    Raises:
        InvalidRecord: it is not what it has to be; the first place where.
    """
    findings = _load_schema(package, name).checker(json=True).findings(document)
    if findings:
        first, more = findings[0], len(findings) - 1
        rest = f" (and {more} more)" if more else ""
        told = f"no {what}: {first.rule}: {first.found}, expected {first.expected}{rest}"
        raise InvalidRecord(
            told, where=first.pointer or "/", hint=f"Ask the tool that wrote it for {what}."
        )

"""The frame of every export: the request, the exported document, and the losses.

No other format can hold all of a record. Each export counts the things that it leaves behind, in
words of the record, so that a user learns about them:

    >>> from collections import Counter
    >>> from vacr.exchange import format_losses
    >>> format_losses(Counter({"images": 2, "events (attachment)": 5}))
    'events (attachment): 5; images: 2'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vacr.errors import InvalidRecord
from vacr.model import CANONICAL_ENTRY_MEMBERS, SESSION_MEMBERS, TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import RecordEncoding, get_vacr_metadata, walk_entries
from vacr.signing import Signer
from vacr.viewer import REASONING_ROW, Row, RowFilter, build_rows, join_texts

ExportLosses = Counter[str]
"""The number of lost things of each kind, in words of the record."""

# Members that are exported, counted under another name, or about the record itself.
_ACCOUNTED_RECORD_MEMBERS = frozenset(
    ("version", "id", "session", "created", "recording-agent", "file-attribution", "vcs", "vacr")
)
_URI_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


@dataclass(frozen=True)
class ExportRequest:
    """The options of an export."""

    digest: str
    """The SHA-256 of the record's bytes; the export refers to the record by it."""
    chosen: RowFilter = field(default_factory=RowFilter)
    version: str | None = None
    """The version of the other format, if it has several."""
    form: RecordEncoding = "json"
    """The encoding of the record's bytes."""
    commit: str | None = None
    """The commit that contains the record's files."""
    signer: Signer | None = None
    statement: bytes | None = None
    """The signed statement stored with the record."""


@dataclass(frozen=True)
class ExportedDocument:
    """The export of a record, and its losses."""

    data: bytes
    losses: ExportLosses = field(default_factory=Counter)
    left_out: int = 0
    """The number of rows that the filters left out."""


def format_losses(losses: ExportLosses, most: int = 6) -> str:
    """Describe losses in a line, the largest first."""
    ranked = sorted(losses.items(), key=lambda item: (-item[1], item[0]))
    text = "; ".join(f"{what}: {count}" for what, count in ranked[:most])
    if len(ranked) <= most:
        return text
    rest = sum(count for _, count in ranked[most:])
    return f"{text}; {len(ranked) - most} other kinds: {rest}"


# Formats of conversations


def select_rows(
    record: JsonObject, chosen: RowFilter, losses: ExportLosses
) -> tuple[list[Row], list[Row], int]:
    """Return all rows of a record, the chosen ones, and how many the filter left out.

    Rows that only repeat others are counted as losses.

    Raises:
        InvalidRecord: no row matches the filter.
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


def is_encrypted_reasoning(row: Row) -> bool:
    """Return whether a thought exists only in a form that its provider can read."""
    return row.kind == REASONING_ROW and not join_texts(row.parts) and "encrypted" in row.entry


def count_encrypted_reasoning(kept: Iterable[Row], losses: ExportLosses) -> None:
    """Count encrypted thoughts, even if a readable form is exported."""
    losses.update("sealed reasoning" for row in kept if "encrypted" in row.entry)


def count_lost_events(events: Iterable[Row], losses: ExportLosses) -> None:
    """Count events, each under its type."""
    losses.update(f"events ({row.summary})" for row in events)


def count_lost_members(
    record: JsonObject, losses: ExportLosses, *canonical: str, about: frozenset[str]
) -> None:
    """Count the members that a format of conversations leaves behind.

    No such format has native members, or the attribution of files. `canonical` are members of
    entries without a place in the format; `about` are members of the session that it does have.
    """
    counts: ExportLosses = Counter()
    session = record["session"]
    counts["members of the session's own"] = len(session.keys() - SESSION_MEMBERS)
    counts["times of the session"] = len({"session-start", "session-end"} & session.keys() - about)
    for subject, members in (
        ("agent", session.get("agent-meta", {})),
        ("environment", session.get("environment", {})),
        ("version control", record.get("vcs", {})),
    ):
        counts[f"members about the {subject}"] = len(members.keys() - about)
    counts["other members of the record"] = len(record.keys() - _ACCOUNTED_RECORD_MEMBERS)
    for entry in walk_entries(session.get("entries", ())):
        counts["members of the agent's own"] += len(entry.keys() - CANONICAL_ENTRY_MEMBERS)
        counts["members of parts beside their text"] += sum(
            map(_count_block_extras, (entry.get("content"), entry.get("output")))
        )
        counts.update(f"{name} of entries" for name in canonical if name in entry)
        usage = entry.get("token-usage")
        if "token-usage" not in canonical and isinstance(usage, dict):
            counts["counts of tokens of the agent's own"] += len(usage.keys() - TOKEN_USAGE_MEMBERS)
    losses.update({what: count for what, count in counts.items() if count})
    count_lost_attribution(record, losses)


def _count_block_extras(content: Any) -> int:
    """Count the members of text blocks other than the text."""
    blocks = content if isinstance(content, list) else [content]
    return sum(
        len(block.keys() - {"type", "text"})
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def count_lost_attribution(record: JsonObject, losses: ExportLosses) -> None:
    """Count the files that a record attributes."""
    if files := record.get("file-attribution", {}).get("files"):
        losses["attributed files"] = len(files)


# Formats of file attributions


def get_attributed_files(record: JsonObject, title: str) -> list[JsonObject]:
    """Return the attributed files.

    Raises:
        InvalidRecord: the record attributes no files.
    """
    files: list[JsonObject] = record.get("file-attribution", {}).get("files", [])
    if not files:
        hint = "Attribute its files first: vacr attribute FILE."
        raise InvalidRecord(
            f"the record has no file attribution, and {title} is about nothing else", hint=hint
        )
    return files


def get_attribution_details(record: JsonObject, path: str) -> JsonObject:
    """Return the details that vacr keeps on an attributed file; empty if they are malformed."""
    details: Any = get_vacr_metadata(record)
    for name in ("attribution", "files", path):
        details = details.get(name) if isinstance(details, dict) else None
    return details if isinstance(details, dict) else {}


def count_lost_session(record: JsonObject, losses: ExportLosses) -> None:
    """Count the conversation and the evidence, which formats of attributions leave behind."""
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    evidence = 0
    for file in record["file-attribution"]["files"]:
        ranges = get_attribution_details(record, file["path"]).get("ranges")
        evidence += len(ranges) if isinstance(ranges, list) else 0
    if evidence:
        losses["ranges with their evidence"] = evidence


def is_uri(text: Any) -> bool:
    """Return whether a text is an address with a scheme."""
    return isinstance(text, str) and _URI_PATTERN.fullmatch(text) is not None

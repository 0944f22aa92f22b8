"""What an export takes and gives. Step: export. What a format cannot hold is counted, by what it
is, and never left unsaid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.codec import Form
from vacr.errors import InvalidRecord
from vacr.model import CANONICAL_MEMBERS, SESSION_MEMBERS, USAGE_MEMBERS, Native
from vacr.signing import Signer
from vacr.viewer.filters import Filter
from vacr.viewer.parts import text_of
from vacr.viewer.rows import REASONING, Row, rows

_RECORD_MEMBERS = frozenset(
    ("version", "id", "session", "created", "recording-agent", "file-attribution", "vcs", "vacr")
)
"""What is told, or counted elsewhere, or about the record itself, which an export names."""
Losses = Counter[str]
"""How many of what, in the words of the record."""


@dataclass(frozen=True)
class Asked:
    """How a record is to be exported."""

    digest: str
    """The SHA-256 of the record's bytes, by which the export names it."""
    chosen: Filter = field(default_factory=Filter)
    version: str | None = None
    """The version of the other format, where it has several."""
    form: Form = "json"
    """The form that the record's bytes are in."""
    commit: str | None = None
    """The commit that the record's files are in."""
    signer: Signer | None = None
    statement: bytes | None = None
    """The signed statement that lies beside the record."""


@dataclass(frozen=True)
class Exported:
    """The export of a record, and what is not in it."""

    data: bytes
    losses: Losses = field(default_factory=Counter)
    left_out: int = 0
    """Rows that the filters left out."""


def sifted(record: Native, chosen: Filter, losses: Losses) -> tuple[list[Row], list[Row], int]:
    """Give all rows of a record, those that are asked for, and how many others there are, without
    what only repeats.

    Raises:
        InvalidRecord: nothing in it is what was asked for.
    """
    every = list(rows(record))
    kept = list(chosen.chosen(every))
    if not kept and chosen != Filter():
        raise InvalidRecord(
            "nothing in it is what the filters ask for", hint="vacr show takes the same filters."
        )
    repeated = sum(row.is_repeated for row in every) - sum(row.is_repeated for row in kept)
    if repeated:
        losses["entries that repeat others"] = repeated
    return every, kept, len(every) - len(kept) - repeated


def lose_sealed(kept: Iterable[Row], losses: Losses) -> None:
    """Count what only its maker can read, whether that is told in the clear as well or not."""
    losses.update("sealed reasoning" for row in kept if "encrypted" in row.entry)


def lose_events(every: Iterable[Row], losses: Losses) -> None:
    """Count events, each under its type."""
    losses.update(f"events ({row.summary})" for row in every)


def is_sealed(row: Row) -> bool:
    """Tell whether a thought is kept in a form that only its maker can read."""
    return row.kind == REASONING and not text_of(row.parts) and "encrypted" in row.entry


def lose_the_rest(record: Native, losses: Losses, *canonical: str, about: frozenset[str]) -> None:
    """Count what no format of conversations has: members of the agent's own, wherever they are, and
    the attribution of files.

    Canonical members of entries that the format at hand has no place for are named; and, of what is
    said about the session as a whole, those that it has.
    """
    found: Losses = Counter()
    session = record["session"]
    found["members of the session's own"] = len(session.keys() - SESSION_MEMBERS)
    found["times of the session"] = len({"session-start", "session-end"} & session.keys() - about)
    for what, members in (
        ("agent", session.get("agent-meta", {})),
        ("environment", session.get("environment", {})),
        ("version control", record.get("vcs", {})),
    ):
        found[f"members about the {what}"] = len(members.keys() - about)
    found["other members of the record"] = len(record.keys() - _RECORD_MEMBERS)
    for entry in _each(session.get("entries", ())):
        found["members of the agent's own"] += len(entry.keys() - CANONICAL_MEMBERS)
        found["members of parts beside their text"] += sum(
            map(_beside_text, (entry.get("content"), entry.get("output")))
        )
        found.update(f"{name} of entries" for name in canonical if name in entry)
        if "token-usage" not in canonical and isinstance(usage := entry.get("token-usage"), dict):
            found["counts of tokens of the agent's own"] += len(usage.keys() - USAGE_MEMBERS)
    losses.update({what: count for what, count in found.items() if count})
    lose_attribution(record, losses)


def _beside_text(content: Any) -> int:
    """Count what blocks of text say beside the text."""
    blocks = content if isinstance(content, list) else [content]
    return sum(
        len(one.keys() - {"type", "text"})
        for one in blocks
        if isinstance(one, dict) and isinstance(one.get("text"), str)
    )


def lose_attribution(record: Native, losses: Losses) -> None:
    """Count the files that a record attributes."""
    if files := record.get("file-attribution", {}).get("files"):
        losses["attributed files"] = len(files)


def _each(entries: Iterable[Native]) -> Iterator[Native]:
    for entry in entries:
        yield entry
        yield from _each(entry.get("children", ()))


def told(losses: Losses, most: int = 6) -> str:
    """Say what was lost, the most first."""
    shown = sorted(losses.items(), key=lambda item: (-item[1], item[0]))
    more = (
        f"; {len(shown) - most} other kinds: {sum(count for _, count in shown[most:])}"
        if len(shown) > most
        else ""
    )
    return "; ".join(f"{what}: {count}" for what, count in shown[:most]) + more

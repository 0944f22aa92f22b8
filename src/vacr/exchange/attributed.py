"""The file attribution of a record, for formats that are about nothing else. Step: export."""

from __future__ import annotations

import re
from typing import Any

from vacr.errors import InvalidRecord
from vacr.exchange.exported import Losses
from vacr.model import Native

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


def files_of(record: Native, title: str) -> list[Native]:
    """Give the attributed files.

    Raises:
        InvalidRecord: there are none.
    """
    files: list[Native] = record.get("file-attribution", {}).get("files", [])
    if not files:
        hint = "Attribute its files first: vacr attribute FILE."
        raise InvalidRecord(f"the record has no file attribution, and {title} is about nothing else", hint=hint)
    return files


def lose_the_session(record: Native, losses: Losses) -> None:
    """Count what is left behind of the conversation."""
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    said: Any = record.get("vacr", {}).get("attribution", {}).get("files", {})
    evidence = (
        sum(len(file.get("ranges", ())) for file in said.values() if isinstance(file, dict)) if isinstance(said, dict) else 0
    )
    if evidence:
        losses["ranges with their evidence"] = evidence


def is_uri(text: Any) -> bool:
    """Tell whether a text is an address with a scheme."""
    return isinstance(text, str) and _URI.fullmatch(text) is not None

"""The file attribution of a record, for formats that are about nothing else. Step: export."""

from __future__ import annotations

import re
from typing import Any

from vacr.errors import InvalidRecord
from vacr.exchange.exported import Losses
from vacr.identity import ours
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
        raise InvalidRecord(
            f"the record has no file attribution, and {title} is about nothing else", hint=hint
        )
    return files


def lose_the_session(record: Native, losses: Losses) -> None:
    """Count what is left behind of the conversation."""
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    ranges = [
        proofs_of(record, file["path"]).get("ranges")
        for file in record["file-attribution"]["files"]
    ]
    if evidence := sum(len(one) for one in ranges if isinstance(one, list)):
        losses["ranges with their evidence"] = evidence


def proofs_of(record: Native, path: str) -> Native:
    """Give what attribution says of a file beside its ranges; nothing where that is of another
    shape than ours.
    """
    found: Any = ours(record)
    for name in ("attribution", "files", path):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def is_uri(text: Any) -> bool:
    """Tell whether a text is an address with a scheme."""
    return isinstance(text, str) and _URI.fullmatch(text) is not None

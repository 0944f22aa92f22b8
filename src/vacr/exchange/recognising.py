"""Which format a document of others is in, by what it says and never by its name. Step: import."""

from __future__ import annotations

from vacr.codec import canonical_json
from vacr.errors import UnreadableInput

_HEAD = 4096


def format_of(data: bytes) -> str:
    """Name the format of a document.

    Raises:
        UnreadableInput: it is in none that is known.
    """
    document = canonical_json.decode(data)
    if isinstance(document, dict) and str(document.get("schema_version", "")).startswith("ATIF-"):
        return "atif"
    hint = "Formats that are read: ATIF. Name one with --from; a native session is recorded: vacr record FILE."
    raise UnreadableInput("not in a format that is known", hint=hint)

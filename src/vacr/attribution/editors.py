"""What Cursor's editor writes down of an edit: whether it was kept, and what the file was and
became. Step: attribute.

A result has the chunks of a diff, and in newer versions the ids of the file's text before and
after; the texts are rows of their own, which the record keeps after the conversation.
"""

import hashlib
from typing import Any

_CONTENT = "composer.content."
_EMPTY = _CONTENT + hashlib.sha256(b"").hexdigest()
_REFUSALS = ("reject", "rejected", "undo")


def rejected(native: dict[str, Any]) -> bool:
    """Tell whether an edit failed, or was thrown away by the user."""
    tool, output = native.get("toolFormerData"), native.get("output")
    more = _map(_map(tool).get("additionalData"))
    decisions = (
        _map(tool).get("userDecision"),
        more.get("userDecision"),
        _map(more.get("reviewData")).get("selectedOption"),
    )
    if any(decision in _REFUSALS for decision in decisions):
        return True
    result = _map(output) if isinstance(tool, dict) else {}
    if (
        any(result.get(name) is True for name in ("rejected", "applyFailed"))
        or result.get("isApplied") is False
    ):
        return True
    return (
        bool(result.get("recoverableError"))
        or _map(result.get("humanReview")).get("isEditAccepted") is False
    )


def by_hand(native: dict[str, Any]) -> bool:
    """Tell whether a diff is of what the user did."""
    return _map(_map(native.get("output")).get("diff")).get("editor") in (
        "EDITOR_HUMAN",
        "HUMAN",
        2,
    )


def texts(entries: Any) -> dict[str, str]:
    """Gather the texts of files that a record keeps, by their ids."""
    found = {_EMPTY: ""}
    for entry in entries if isinstance(entries, list) else ():
        data = (
            _map(entry.get("data"))
            if isinstance(entry, dict) and entry.get("type") == "system-event"
            else {}
        )
        key, value = data.get("key"), data.get("value")
        if isinstance(key, str) and key.startswith(_CONTENT) and isinstance(value, str):
            found[key] = value
    return found


def contents(output: Any, known: dict[str, str]) -> dict[str, str]:
    """Give what a file was and became, as far as a result says it or names a known text."""
    found: dict[str, str] = {}
    for name in ("before", "after") if isinstance(output, dict) else ():
        text = output.get(
            f"contents{name.title()}Edit", known.get(str(output.get(f"{name}ContentId")))
        )
        if isinstance(text, str):
            windows = output.get("eolSequence") == "\r\n" and "\r" not in text
            found[name] = text.replace("\n", "\r\n") if windows else text
    return found


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

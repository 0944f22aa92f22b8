"""`trace-metadata`: what a signed record is about, beside the signature. Step: sign, verify.

It stands in the unprotected header: nobody signs it. Whoever has the record makes it again and
compares.
"""

from __future__ import annotations

from typing import Any

FORMATS = {"3.0.0-draft": "ietf-vac-v3.0", "2.0.0-draft": "ietf-vac-v2.0"}
"""Schema version → trace format id of a record; that of a native session is its reader's."""


_UINT_END = 2**64


def format_of(version: Any) -> str:
    """Give the trace format id of a record by its version, which may be anything."""
    return FORMATS.get(version, "unknown") if isinstance(version, str) else "unknown"


def _is_time(value: Any) -> bool:
    """Tell whether a value can stand for a time, whatever its form: a record that is not valid may
    hold anything there.
    """
    return isinstance(value, str) or (type(value) is int and 0 <= value < _UINT_END)


def trace_metadata(record: dict[str, Any], trace_format: str) -> dict[str, Any] | None:
    """Summarise a record; nothing for a session without a start, of which there is no summary."""
    session = record.get("session")
    if not isinstance(session, dict) or not _is_time(session.get("session-start")):
        return None
    if not isinstance(session.get("session-id"), str):
        return None
    meta = session.get("agent-meta")
    vendor = meta.get("model-provider") if isinstance(meta, dict) else None
    summary = {
        "session-id": session.get("session-id"),
        "agent-vendor": vendor if isinstance(vendor, str) else "unknown",
        "trace-format": trace_format,
        "timestamp-start": session["session-start"],
    }
    if _is_time(session.get("session-end")):
        summary["timestamp-end"] = session["session-end"]
    return summary

"""What is said about a conversation before and after it, for people. Step: export."""

from __future__ import annotations

from vacr.exchange.exported import Asked
from vacr.model import Native
from vacr.timestamps import as_text
from vacr.viewer.parts import Image
from vacr.viewer.rows import Row
from vacr.viewer.totals import Totals

ABOUT = frozenset(
    ("session-start", "session-end", "cli-name", "cli-version", "model-id", "models")
    + ("working-dir", "repository", "branch", "revision")
)
"""What `title` and `facts` tell of a session."""
UNTOLD = ("id", "parent-id", "call-id", "stop-reason", "status", "subject", "token-usage")
"""What people are not told of entries."""


def title(record: Native) -> str:
    """Name the agent and its models."""
    meta = record["session"].get("agent-meta", {})
    who = (
        " ".join(str(meta[name]) for name in ("cli-name", "cli-version") if name in meta)
        or "an agent"
    )
    return f"{who}, {', '.join(map(str, meta.get('models') or [meta.get('model-id', 'unknown')]))}"


def facts(record: Native, asked: Asked, left_out: int) -> list[tuple[str, str]]:
    """Say which conversation it is, and which record it was made of."""
    session = record["session"]
    vcs = record.get("vcs", {})
    said = [
        ("session", str(session["session-id"])),
        ("folder", str(session.get("environment", {}).get("working-dir", ""))),
        (
            "repository",
            " ".join(
                str(vcs[name]) for name in ("repository", "branch", "revision") if name in vcs
            ),
        ),
        ("began", (as_text(session["session-start"]) if "session-start" in session else "") or ""),
        ("ended", (as_text(session["session-end"]) if "session-end" in session else "") or ""),
        ("record", record["id"]),
        ("SHA-256 of the record", asked.digest),
        ("left out", f"{left_out} rows, by filters" if left_out else ""),
    ]
    return [(name, value) for name, value in said if value]


def when(row: Row) -> str:
    """Say when something was said."""
    text = as_text(row.time) if row.time is not None else None
    return f"{text[:19].replace('T', ' ')}" if text else ""


def image_told(image: Image) -> str:
    """Say what a picture is, without showing it."""
    size = f", {len(image.data) * 3 // 4} bytes" if image.data else ""
    return f"image {image.name or image.media_type or 'of no type'}{size}"


def sums(found: Totals) -> list[tuple[str, str]]:
    """Say what a conversation adds up to."""
    told = [("prompts", found.prompts), ("tool calls", found.calls), ("errors", found.errors)]
    said = [(name, str(count)) for name, count in told]
    if found.files:
        said.append(("files", f"{len(found.files)} (+{found.added} -{found.removed})"))
    if found.tokens:
        said.append(("tokens", f"{found.tokens['input']:,} in, {found.tokens['output']:,} out"))
    if found.cost:
        said.append(("cost", f"{found.cost:.2f} $"))
    return said

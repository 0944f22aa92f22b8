"""A conversation in a few words: its title, and what an index says of it. Step: view."""

from __future__ import annotations

from typing import Any

from vacr import titles
from vacr.model import Native
from vacr.timestamps import as_text
from vacr.viewer.totals import totals_of
from vacr.viewer.visible import visible

VERIFIED, SIGNED, FAILED, UNSIGNED = "verified", "signed", "failed", "unsigned"

_LONGEST = 100


def title_of(record: Native, otherwise: str) -> str:
    """Name a conversation as `vacr list` does: by what its agent calls it, or else by its first
    prompt.
    """
    line = visible(titles.title_of(record["session"]) or otherwise)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def card_of(record: Native, name: str, href: str, verdict: str, told: str) -> dict[str, Any]:
    """Say of a record what the index of an archive needs."""
    session = record["session"]
    meta = session.get("agent-meta", {})
    found = totals_of(record)
    start = as_text(session["session-start"]) if "session-start" in session else None
    return {
        "href": href,
        "name": visible(name),
        "title": title_of(record, name),
        "agent": str(meta.get("cli-name", "")),
        "models": [str(one) for one in meta.get("models") or [meta.get("model-id", "")]],
        "project": str(session.get("environment", {}).get("working-dir", "")),
        "start": (start or "")[:19].replace("T", " "),
        "prompts": found.prompts,
        "calls": found.calls,
        "errors": found.errors,
        "tokens": found.tokens["input"] + found.tokens["output"],
        "spent": [{"name": name, "value": count} for name, count in found.models.items()],
        "tools": [
            {"name": name, "value": count, "failed": found.failed_tools[name]}
            for name, count in found.tools.items()
        ],
        "cost": round(found.cost, 4),
        "verdict": verdict,
        "told": visible(told),
    }

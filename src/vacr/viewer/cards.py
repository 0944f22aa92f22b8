"""A conversation in a few words: its title, and what an index says of it. Step: view."""

from __future__ import annotations

from typing import Any

from vacr.model import Native
from vacr.timestamps import as_text
from vacr.viewer.parts import text_of
from vacr.viewer.rows import USER, rows
from vacr.viewer.totals import totals_of
from vacr.viewer.visible import visible

VERIFIED, SIGNED, FAILED, UNSIGNED = "verified", "signed", "failed", "unsigned"

_LONGEST = 100
_OF_THE_HOST = ("<", "# AGENTS.md instructions for ")
"""How prompts begin that nobody typed: tags, and what Codex CLI says of a folder."""


def title_of(record: Native, otherwise: str) -> str:
    """Give the first prompt in a line; what a host put there is none."""
    for row in rows(record):
        text = " ".join(text_of(row.parts).split()) if row.kind == USER and not row.is_repeated else ""
        if text and not text.startswith(_OF_THE_HOST):
            line = visible(text)
            return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return visible(otherwise)


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
        "tools": [{"name": name, "value": count, "failed": found.failed_tools[name]} for name, count in found.tools.items()],
        "cost": round(found.cost, 4),
        "verdict": verdict,
        "told": visible(told),
    }

"""What the user asked for before a call. Step: blame."""

from collections.abc import Iterator
from typing import Any

# What hosts put into a user's message, or send in the user's name.
_HOST = (
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<local-command",
    "<command-",
    "# AGENTS.md",
    "Caveat:",
)


def prompts(record: dict[str, Any]) -> dict[str, str]:
    """Give the user's message that preceded each entry, by the entry's name: its id, or else its
    JSON Pointer.
    """
    found: dict[str, str] = {}
    prompt = ""
    for name, entry in _entries(record["session"].get("entries", ()), "/session/entries"):
        prompt = asked(entry) or prompt
        found.setdefault(name, prompt)
    return found


def _entries(entries: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            name = entry.get("id")
            yield name if isinstance(name, str) and name else f"{place}/{i}", entry
            yield from _entries(entry.get("children"), f"{place}/{i}/children")


def asked(entry: dict[str, Any]) -> str:
    """Give the text of a message of the user, without what the host added; nothing where an entry
    is none.
    """
    if entry.get("type") != "user" or entry.get("isMeta") is True:
        return ""
    content = entry.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(
        text
        for text in texts
        if isinstance(text, str) and text.strip() and not text.lstrip().startswith(_HOST)
    )

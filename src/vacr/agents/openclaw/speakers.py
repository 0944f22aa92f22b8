r"""Who wrote a user message of OpenClaw.

OpenClaw receives messages from chat programs. It adds facts about the sender, the time and the
message to the text. These are its own; the rest is the person's:

    >>> from vacr.agents.labels import INFERRED_HUMAN
    >>> from vacr.agents.openclaw.speakers import separate_words
    >>> def say(text):
    ...     entry = {"type": "user", "content": [{"type": "text", "text": text}]}
    ...     return separate_words(entry, INFERRED_HUMAN)
    >>> say("[Telegram Mira id:7 +8m 2026-01-30 17:19 GMT+9] Fix the build\n[message_id: 5]")
    Speaker(who='human', basis='inferred', prompt='Fix the build')

OpenClaw writes some messages alone. For example, one starts a session:

    >>> say("A new session was started via /new or /reset. Greet the user.")
    Speaker(who='host', basis='inferred', prompt=None)

A person may quote such a text, so the basis is never more than `inferred`. Newer versions state
where a message came from, in `provenance`: that decides.

    >>> entry = {"type": "user", "message": {"provenance": {"kind": "inter_session"}}}
    >>> separate_words(entry, INFERRED_HUMAN)
    Speaker(who='parent-agent', basis='stated', prompt=None)
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.labels import (
    HUMAN,
    INFERRED_HOST,
    STATED_HOST,
    STATED_PARENT_AGENT,
    Speaker,
)
from vacr.agents.tool_calls import dict_or_empty

_HOST_STARTS = (
    "A new session was started via /new or /reset",
    "Read HEARTBEAT.md if it exists",
    "Pre-compaction memory flush.",
    "Continue where you left off. The previous model attempt failed",
    "An async command the user already approved",
    "An async command you ran earlier has completed.",
    "[cron:",
)
PROVENANCE_SPEAKERS = {
    "inter_session": STATED_PARENT_AGENT,
    "internal_system": STATED_HOST,
}
"""Kind of a message's `provenance` → who wrote it; a person wrote all others."""
_FACTS = re.compile(
    r"[A-Z][^\n]{0,80}\(untrusted[^)\n]{0,80}\):\n```json\n.*?\n```\n*"
    r"|System: \[[^\n]*(?:\n+|\Z)",
    re.DOTALL,
)
_TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^\]\n]{0,40}\] ?"
_ENVELOPE = re.compile(rf"\[[^\]\n]{{1,300}}? {_TIME}")
_MESSAGE_ID_START = "\n[message_id: "
_MESSAGE_ID = re.compile(r"\n\[message_id: [^\]\n]{1,200}\]\s*\Z")


def separate_words(entry: dict[str, Any], speaker: Speaker) -> Speaker:
    """Return the speaker of a message, with the person's words if OpenClaw added others.

    `speaker` is the answer for a message without such additions. It is returned unchanged, unless
    it names a person.
    """
    content = entry.get("content")
    provenance = dict_or_empty(dict_or_empty(entry.get("message")).get("provenance"))
    if (stated := PROVENANCE_SPEAKERS.get(str(provenance.get("kind")))) is not None:
        return stated
    if speaker.who != HUMAN or speaker.prompt is not None:
        return speaker
    blocks = content if type(content) is list else [content]
    texts = [block.get("text") if type(block) is dict else block for block in blocks]
    text = "\n".join(part for part in texts if type(part) is str)
    words = _strip_facts(text)
    if text and (not words.strip() or words.startswith(_HOST_STARTS)):
        return INFERRED_HOST
    return speaker if words == text else Speaker(HUMAN, speaker.basis, words)


def _strip_facts(text: str) -> str:
    """Return a text without the facts that OpenClaw adds before and after it."""
    words = text
    while facts := _FACTS.match(words):
        words = words[facts.end() :]
    if envelope := _ENVELOPE.match(words):
        words = words[envelope.end() :]
    # Most messages lack an id: finding that out is far cheaper than the search.
    return _MESSAGE_ID.sub("", words) if _MESSAGE_ID_START in words else words

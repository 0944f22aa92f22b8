r"""Who wrote a user message of Qwen Code.

The subtype of a line tells most: a message that the user typed while the agent worked, a notice of
the host, a scheduled prompt. `displayText` is the text on the screen, as a person typed it.
Hooks and the host add parts of their own to a prompt:

    >>> from vacr.agents.qwen.speakers import classify_speaker
    >>> record = {"session": {"entries": []}}
    >>> hook = "<qwen:user-prompt-submit-context>\nBe brief.\n</qwen:user-prompt-submit-context>"
    >>> def say(*texts, **members):
    ...     parts = [{"text": text} for text in texts]
    ...     return classify_speaker({"type": "user", "content": parts, **members}, record)
    >>> say("Fix the build", hook)
    Speaker(who='human', basis='inferred', prompt='Fix the build')
    >>> say("A task ended.", subtype="notification").who
    'host'

Files that a prompt refers to have the form of Gemini CLI's.
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.gemini import speakers as gemini_speakers
from vacr.agents.labels import HOOK, HOST, HUMAN, INFERRED, STATED, Speaker
from vacr.agents.tool_calls import dict_or_empty

HOST_SUBTYPES = frozenset(("notification", "cron"))
"""Subtypes of messages that the host wrote."""
TYPED_SUBTYPE = "mid_turn_user_message"
_HOOK_ELEMENT = re.compile(
    r"\s*<qwen:user-prompt-submit-context>.*</qwen:user-prompt-submit-context>\s*", re.DOTALL
)
_HOST_ELEMENT = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*", re.DOTALL)


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part of it where it has other text."""
    if entry.get("subtype") in HOST_SUBTYPES or entry.get("externalInputKind") == "notification":
        return Speaker(HOST, STATED)
    content = entry.get("content")
    parts = content if type(content) is list else [content]
    texts = [part.get("text") if type(part) is dict else part for part in parts]
    own = [part for part, text in zip(parts, texts, strict=True) if not _find_author(text)]
    authors = {author for text in texts if (author := _find_author(text))}
    shown = dict_or_empty(entry.get("systemPayload")).get("displayText")
    if type(shown) is str and shown:
        whole = "\n".join(text for text in texts if type(text) is str)
        return Speaker(HUMAN, STATED, None if shown == whole else shown)
    if authors and not own:
        return Speaker(HOOK if authors == {HOOK} else HOST, INFERRED)
    speaker = gemini_speakers.classify_speaker({**entry, "content": own}, record)
    if entry.get("subtype") == TYPED_SUBTYPE and speaker.who == HUMAN:
        speaker = Speaker(HUMAN, STATED, speaker.prompt)
    if not authors or speaker.prompt is not None or speaker.who == HOST:
        return speaker
    words = [part.get("text") if type(part) is dict else part for part in own]
    return speaker._replace(prompt="\n".join(word for word in words if type(word) is str))


def _find_author(text: Any) -> str:
    """Return `hook` or `host` if a part belongs to a hook or to the host, else an empty text."""
    if type(text) is not str or not text.lstrip().startswith("<"):
        return ""
    if _HOOK_ELEMENT.fullmatch(text):
        return HOOK
    return HOST if _HOST_ELEMENT.fullmatch(text) else ""

r"""Who wrote a user message of Gemini CLI.

A message is a list of parts, and Gemini CLI adds parts of its own: the folder and the date, files
that a prompt refers to with `@`, the context of hooks, the editor's open files. Some messages are
only its own: a nudge to continue, the summary of a compressed chat. Its source defines how each of
them begins and ends.

    >>> from vacr.agents.gemini.speakers import classify_speaker
    >>> record = {"session": {"entries": []}}
    >>> def say(*texts, **members):
    ...     parts = [{"text": text} for text in texts]
    ...     return classify_speaker({"type": "user", "content": parts, **members}, record)
    >>> say("<session_context>\nThis is the Gemini CLI.\n</session_context>")
    Speaker(who='host', basis='inferred', prompt=None)
    >>> say("Fix @a.py", "\n--- Content from referenced files ---", "\nContent from @a.py:\n", "x")
    Speaker(who='human', basis='inferred', prompt='Fix @a.py')

`displayContent` is what the person typed, where the message has another text: the prompt behind a
slash command. A nudge repeats the `displayContent` of the prompt before it, so the host's own texts
are recognised first.

    >>> say("Analyze the directory and write GEMINI.md.", displayContent=[{"text": "/init"}])
    Speaker(who='human', basis='stated', prompt='/init')
    >>> say("System: Please continue.", displayContent=[{"text": "/init"}])
    Speaker(who='host', basis='inferred', prompt=None)

A text counts as the host's only where it is all of a part and has the whole form that Gemini CLI
writes. A person may quote it, so the basis is `inferred`:

    >>> say("What does <session_context> mean?")
    Speaker(who='human', basis='inferred', prompt=None)

A hint that a person types while a tool runs reaches the model with the result of the tool. A
command that a person ran with `!` is that person's as well. In the session of a sub-agent the rest
is the parent agent's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from vacr.agents.labels import (
    HOOK,
    HOST,
    HUMAN,
    INFERRED,
    STATED,
    STATED_HOST,
    STATED_PARENT_AGENT,
    Speaker,
    infer_speaker,
)

_HOST_ELEMENTS = {
    "session_context": "\nThis is the Gemini CLI.",
    "state_snapshot": "\n",
    "intent_summary": "\n",
    "system_note": "\nThe user has explicitly selected the following agent",
}
"""Gemini CLI's elements → how their text begins."""
_HOOK_ELEMENT = "hook_context"
_HOOK_START, _HOOK_END = "<hook_context>", "</hook_context>\n\n"
_HOST_STARTS = (
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "System: Potential loop detected. Details: ",
    "Here is the user's editor context as a JSON object. This is for your ",
    "Here is a summary of changes in the user's editor context, in JSON format. This is for your ",
    "User has manually exited Plan Mode. Switching to ",
    "Background execution update:\n<background_output>\n",
)
_DIRECTORIES_START = "- **Workspace Directories:**\n  - "
_DIRECTORIES_HEADING = "\n- **Directory Structure:**\n"
_FOLDER_START = "I'm currently working in the "
_FOLDER_SENTENCE = "\nHere is the folder structure of the current working directories:\n"
_SCRATCHPAD_START, _SNAPSHOT_END = "<scratchpad>", "</state_snapshot>"
_LAST_CHANCE = re.compile(
    r"You have (?:exceeded the (?:time limit|maximum number of turns)"
    r"|stopped calling tools without finishing)\. You have one final chance to complete the task "
)
_NUDGES = ("System: Please continue.", "Please continue.")
"""The texts that make the model go on; a person may type the second one as well."""

_FILES_START, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
_FILES_IN_TEXT = f"\n{_FILES_START}\nContent from @"
_HINT = re.compile(
    r"User (?:steering update|hints):\n<user_input>\n(.*)\n</user_input>\n\n?"
    r"Internal instruction: Re-evaluate the active plan ",
    re.DOTALL,
)
_SHELL_COMMAND = re.compile(
    r"I ran the following shell command:\n```sh\n(.*?)\n```\n\n"
    r"This produced the following result:\n```\n.*\n```\s*\Z",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\([\\`])")
_HOST_SPEAKER = STATED_HOST


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part of it where it has other text."""
    content = entry.get("content")
    texts = [content] if type(content) is str else _list_texts(content)
    words = _separate_words(texts)
    has_own = bool(words.own) or not (words.typed or words.authors)
    if not has_own and not words.typed:
        return Speaker(HOOK if words.authors == {HOOK} else HOST, INFERRED)
    if has_own and record["session"].get("kind") == "subagent":
        return STATED_PARENT_AGENT
    if entry.get("displayContent") is not None:
        shown = _separate_words(_list_texts(entry["displayContent"]))
        typed = words.typed + shown.typed + shown.own
        return Speaker(HUMAN, STATED, _format_prompt(typed, texts)) if typed else _HOST_SPEAKER
    prompt = _format_prompt(words.typed + words.own, texts)
    if not has_own:
        return Speaker(HUMAN, STATED, prompt)
    speaker = infer_speaker(record)
    return speaker if prompt is None else Speaker(speaker.who, speaker.basis, prompt)


def _format_prompt(words: list[str], texts: list[str]) -> str | None:
    """Return the words of a person, joined, or None if they are all `texts` of the message."""
    prompt = "\n".join(words)
    return None if prompt == "\n".join(texts) else prompt


def _list_texts(content: Any) -> list[str]:
    """Return the texts of a message, without thoughts; a message may be one text, or one part."""
    parts = content if type(content) is list else [content]
    texts = [part.get("text") if type(part) is dict else part for part in parts]
    return [text for text in texts if type(text) is str]


@dataclass(slots=True)
class _Words:
    """The texts of a message by their authors."""

    own: list[str] = field(default_factory=list)
    """Texts of the author of the message."""
    typed: list[str] = field(default_factory=list)
    """Texts that the host wraps as typed by the person."""
    authors: set[str] = field(default_factory=set)
    """Who wrote the other texts."""


def _separate_words(texts: list[str]) -> _Words:
    """Separate the texts of a message by their authors; blank texts are left out."""
    words = _Words()
    trimmed_texts = [text.strip() for text in texts]
    is_file = False
    for i, (text, trimmed) in enumerate(zip(texts, trimmed_texts, strict=True)):
        if is_file or trimmed == _FILES_START:
            # The files go on to the last end. Without an end, all the rest is files.
            is_file = trimmed != _FILES_END or _FILES_END in trimmed_texts[i + 1 :]
            words.authors.add(HOST)
        elif author := _recognise_host_text(trimmed):
            words.authors.add(author)
        elif text in _NUDGES and len(texts) == 1:
            words.authors.add(HOST)
        elif hint := _HINT.match(text):
            words.typed.append(hint[1])
        elif command := _SHELL_COMMAND.match(text):
            words.typed.append("!" + _ESCAPED.sub(r"\1", command[1]))
        elif trimmed:
            words.own.append(_strip_added_texts(text))
    return words


def _strip_added_texts(text: str) -> str:
    """Return a prompt without a hook's context before it and the files after it."""
    if text.startswith(_HOOK_START):
        context, end, prompt = text.partition(_HOOK_END)
        text = prompt if end else context
    if text.rstrip().endswith(_FILES_END):
        text = text.partition(_FILES_IN_TEXT)[0]
    return text


def _recognise_host_text(text: str) -> str:
    """Return `host` or `hook` if Gemini CLI writes such a text, else an empty text."""
    if text.startswith("<"):
        element = text[1 : text.find(">", 0, 40)]
        if text.endswith(f"</{element}>") and text.count(f"<{element}>") == 1:
            if element == _HOOK_ELEMENT:
                return HOOK
            start = _HOST_ELEMENTS.get(element)
            if start is not None and text.startswith(start, len(element) + 2):
                return HOST
        is_summary = text.startswith(_SCRATCHPAD_START) and text.endswith(_SNAPSHOT_END)
        return HOST if is_summary else ""
    if text.startswith(_HOST_STARTS) or _LAST_CHANCE.match(text):
        return HOST
    is_folder = text.startswith(_FOLDER_START) and _FOLDER_SENTENCE in text[:4000]
    is_directory = text.startswith(_DIRECTORIES_START) and _DIRECTORIES_HEADING in text
    return HOST if is_folder or is_directory else ""

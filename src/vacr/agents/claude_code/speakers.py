"""Who wrote a user message of Claude Code.

Claude Code files much under the user's name: reminders, the output of local commands, notices of
background tasks, skills, summaries. Evidence, the strongest first:

1. `origin.kind` states who sent a message, in newer versions. `isCompactSummary`, `isMeta`,
   `promptSource`, `turnOrigin` and a few others state it in part.
2. Claude Code wraps its own texts in elements, or begins them with fixed sentences. A wrapper
   counts at the beginning of a text, if other words begin on a new line, and a reminder also at its
   end. Whatever remains is somebody's own words. Where the session states that a person typed the
   text, only reminders and the IDE's elements count. Without such a statement, a person may have
   pasted a text of Claude Code, so that the basis is `inferred`.
3. The rest is inferred: it is the parent agent's in a side chain, nobody knows whose it is where a
   program may have started the session (`sdk-cli`), and a person's otherwise.

    >>> from vacr.agents.claude_code.speakers import classify_speaker
    >>> record = {"session": {"entries": []}, "vacr": {}}
    >>> def say(content, **members):
    ...     return classify_speaker({"type": "user", "content": content, **members}, record)
    >>> say("<local-command-stdout>Bye!</local-command-stdout>")
    Speaker(who='host', basis='inferred', prompt=None)
    >>> say("<ide_opened_file>a.py</ide_opened_file>\\nFix the test.")
    Speaker(who='human', basis='inferred', prompt='Fix the test.')

A command is a wrapper around words that a person typed:

    >>> command = "<command-name>/goal</command-name>\\n<command-args>fix it</command-args>"
    >>> say(command)
    Speaker(who='human', basis='stated', prompt='/goal fix it')
    >>> say(f"What does {command} mean?")
    Speaker(who='human', basis='inferred', prompt=None)

Prompts that were typed while the agent worked are attachments; see `is_queued_prompt`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from vacr.agents.labels import (
    HOOK,
    HOST,
    HUMAN,
    INFERRED,
    INFERRED_HUMAN,
    INFERRED_UNKNOWN,
    PARENT_AGENT,
    STATED,
    STATED_HOOK,
    STATED_HUMAN,
    STATED_PARENT_AGENT,
    UNKNOWN_SPEAKER,
    Speaker,
    infer_speaker,
)
from vacr.agents.tool_calls import dict_or_empty

_SPEAKERS_BY_ORIGIN = {
    "human": HUMAN,
    "task-notification": HOST,
    "auto-continuation": HOST,
    "observer": HOST,
    "observer-activity": HOST,
    "peer": HOST,
    "plugin": HOST,
    "slack-ping": HOST,
    "coordinator": PARENT_AGENT,
    # A person may have written these, but Claude Code does not vouch for it.
    "channel": UNKNOWN_SPEAKER,
    "voice-call": UNKNOWN_SPEAKER,
    "unclassified": UNKNOWN_SPEAKER,
}
"""The values of `origin.kind`. As Claude Code does, treat any other value as absent."""
_SPEAKERS_BY_SOURCE = {
    "typed": HUMAN,
    "queued": HUMAN,
    "suggestion_accepted": HUMAN,
    "system": HOST,
}
"""The values of `promptSource`; `sdk` does not tell a person from a program."""
_SPEAKERS_BY_TURN_ORIGIN = {
    "human": HUMAN,
    "scheduled": HOST,
    "task_notification": HOST,
    "auto_continuation": HOST,
    "peer": HOST,
    "host_synthetic": HOST,
    "system": HOST,
}

# Claude Code's own elements. Reminders and contexts may precede a person's words in one text.
_ADDED_TAGS = {
    "system-reminder": HOST,
    "ide_opened_file": HOST,
    "ide_selection": HOST,
    "ide_diagnostics": HOST,
}
"""Elements that Claude Code adds to what a person types."""
_CONTEXT_TAGS = _ADDED_TAGS | {
    "local-command-caveat": HOST,
    "post-tool-use-hook": HOOK,
    "session-start-hook": HOOK,
    "user-prompt-submit-hook": HOOK,
}
_ATTACHMENT_TAGS = frozenset(("browser", "browser_instruction", "terminal", "uploaded_files"))
"""Elements around what a person attached: a message of nothing else is the person's."""
# These hold any text, which may have the same closing tag inside: they end at the last one.
# Each is a message of its own: no words follow it.
_PAYLOAD_TAGS = {
    "agent-message": HOST,
    "bash-exit-code": HOST,
    "bash-stderr": HOST,
    "bash-stdout": HOST,
    "coordinator-relay": HOST,
    "cross-session-message": HOST,
    "fork-boilerplate": HOST,
    "local-command-stderr": HOST,
    "local-command-stdout": HOST,
    "mcp-polling-update": HOST,
    "mcp-resource-update": HOST,
    "remote-review": HOST,
    "slack-ping": HOST,
    "task-notification": HOST,
    "teammate-message": HOST,
    "tick": HOST,
}
_OPENING_TAG = re.compile(r"<([a-z][a-z_-]{1,40})(?: [^<>\n]{0,400})?>")
_REMINDER_START, _REMINDER_END = "\n\n<system-reminder>\n", "\n</system-reminder>"
"""How a reminder after other text begins and ends."""
_SPACES = re.compile(r"\s*")

_COMMAND_MEMBERS = re.compile(
    r"\s*<(command-(?:name|message|args|contents)|skill-format)>(.*?)</\1>\s*", re.DOTALL
)
_ARGUMENTS_START, _ARGUMENTS_END = "<command-args>", "</command-args>"
_TYPED_ELEMENTS = {"bash-input": "! ", "user-memory-input": "# ", "background-task-input": "& "}
"""Elements around the words of a person → the sign that the person typed before them."""

_HOST_SENTENCE = re.compile(
    r"This session is being continued from a previous conversation that ran out of context\."
    r"(?:\s*\Z|\s+The (?:conversation is summarized below|summary below covers)\b)"
    r"|Caveat: The messages below were generated by the user while running local commands\."
    r" DO NOT respond to these messages or otherwise consider them in your response unless the user"
    r" explicitly asks you to\.\s*\Z"
    r"|Base directory for this skill: (?:/|~/|[A-Za-z]:[\\/]|\\\\)[^\n]*\n\r?\n"
    r"|\[Request interrupted by user(?: for tool use)?\]\s*\Z"
    r"|\[(?:Request interrupted|Agent call interrupted|Tool call (?:interrupted|did not complete"
    r"|skipped|not completed|result not in this copy)): [^\]\n]*\]\s*\Z"
)
_HOOK_SENTENCE = re.compile(
    r"(?:Stop|SubagentStop|TeammateIdle|TaskCreated|TaskCompleted) hook feedback:\n"
    r"|UserPromptSubmit operation blocked by hook:\n"
    r"|Operation stopped by hook(?:: [^\n]*)?\s*\Z"
)
_HOOK_COMMAND = re.compile(r"[^\n]*\n(?:- )?\[[^\]\n]+\]: ")
"""The first lines of what a hook wrote, if its command failed."""

_INTERACTIVE_ENTRYPOINTS = ("cli", "claude-")
_SDK_ENTRYPOINT = "sdk-"
_NOTICE_MODES = ("task-notification", "poll-event", "orphaned-permission")
_PROMPT_MODES = (None, "prompt", "bash")


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part where it has other text."""
    stated = _find_stated_speaker(entry)
    words = _separate_words(entry, stated)
    if stated == HOST and words.authors == {HOOK}:
        return STATED_HOOK
    if stated not in ("", HUMAN):
        return Speaker(stated, STATED)
    if words.own is None:
        # A person may send nothing but a pasted wrapper.
        if stated == HUMAN:
            return STATED_HUMAN
        return Speaker(HOOK if words.authors == {HOOK} else HOST, INFERRED)
    speaker = STATED_HUMAN if stated else _infer_entry_speaker(entry, record)
    if words.is_typed and speaker.who == HUMAN:
        speaker = STATED_HUMAN
    if speaker.who in (HUMAN, UNKNOWN_SPEAKER) and words.own != words.all:
        return Speaker(speaker.who, speaker.basis, "\n".join(words.own))
    return speaker


def get_person_text(entry: dict[str, Any]) -> str:
    """Return the words of the person in an entry, or an empty text.

    The labels of the entry decide; an entry without labels is classified by itself.
    """
    if entry.get("type") != "user":
        return ""
    marks = entry.get("vacr", {})
    who, prompt = marks.get("speaker"), marks.get("prompt")
    if who is None:
        who, _, prompt = classify_speaker(entry, {"session": {}})
    if who not in (HUMAN, UNKNOWN_SPEAKER):
        return ""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(text for text in _list_texts(entry.get("content")) if text.strip())


def is_queued_prompt(attachment: dict[str, Any]) -> bool:
    """Return whether an attachment is a prompt that was typed while the agent worked.

    Claude Code queues its own notices in the same way; they are not prompts.
    """
    if attachment.get("type") != "queued_command" or attachment.get("isMeta") is True:
        return False
    prompt, mode = attachment.get("prompt"), attachment.get("commandMode")
    if not prompt or not isinstance(prompt, str | list) or mode in _NOTICE_MODES:
        return False
    stated = _SPEAKERS_BY_ORIGIN.get(_get_origin_kind(attachment))
    if stated is not None:
        return stated in (HUMAN, UNKNOWN_SPEAKER)
    return mode in _PROMPT_MODES and _separate_words({"content": prompt}, "").own is not None


# --- what Claude Code states ---


def _find_stated_speaker(entry: dict[str, Any]) -> str:
    """Return the speaker that the members of an entry state, or an empty text."""
    if entry.get("isCompactSummary") is True:
        return HOST
    attachment = dict_or_empty(entry.get("attachment"))
    for holder in (entry, attachment):
        speaker = _SPEAKERS_BY_ORIGIN.get(_get_origin_kind(holder))
        if speaker is not None:
            return speaker
    if (
        entry.get("isMeta") is True
        or attachment.get("isMeta") is True
        or entry.get("turnCompanion") is True
        or entry.get("isVisibleInTranscriptOnly") is True
        or "sourceToolUseID" in entry
    ):
        return HOST
    for member, speakers in (
        ("promptSource", _SPEAKERS_BY_SOURCE),
        ("turnOrigin", _SPEAKERS_BY_TURN_ORIGIN),
    ):
        value = entry.get(member)
        if isinstance(value, str) and value in speakers:
            return speakers[value]
    return ""


def _get_origin_kind(holder: dict[str, Any]) -> str:
    """Return `origin.kind` of an entry or attachment, or an empty text."""
    kind = dict_or_empty(holder.get("origin")).get("kind")
    return kind if isinstance(kind, str) else ""


def _infer_entry_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who most likely wrote the words of an entry that states nothing about them."""
    if entry.get("isSidechain") is True or "sub-agent" in entry.get("vacr", ()):
        return STATED_PARENT_AGENT
    speaker = infer_speaker(record)
    entrypoint = entry.get("entrypoint")
    if speaker.who == PARENT_AGENT or not isinstance(entrypoint, str):
        return speaker
    if entrypoint.startswith(_SDK_ENTRYPOINT):
        return INFERRED_UNKNOWN
    if entrypoint.startswith(_INTERACTIVE_ENTRYPOINTS):
        return INFERRED_HUMAN
    return speaker


# --- the texts of a message ---


class _Words(NamedTuple):
    """The texts of a message, and the parts that Claude Code did not write."""

    all: list[str]
    own: list[str] | None
    """None if Claude Code wrote all of it; empty if only images remain."""
    authors: set[str]
    """Who wrote the rest: the host, or a hook."""
    is_typed: bool
    """Whether a wrapper states that the words were typed."""


def _list_texts(content: Any) -> list[str]:
    """Return the texts of a message: the content itself, or the texts of its blocks."""
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return [text for text in texts if isinstance(text, str)]


def _separate_words(entry: dict[str, Any], stated: str) -> _Words:
    """Separate the texts of a message; `stated` is the speaker that its members state, if any."""
    content = entry.get("content")
    texts = _list_texts(content)
    own: list[str] = []
    authors: set[str] = set()
    is_typed = False
    for text in texts:
        typed = _unwrap_typed_text(text)
        if typed is not None:
            own.append(typed)
            is_typed = True
            continue
        rest = _drop_host_text(text, authors, stated)
        if rest:
            own.append(rest)
        elif not text.strip():
            own.append(text)
    if dict_or_empty(entry.get("attachment")).get("commandMode") == "bash":
        own, is_typed = [_mark_shell_command("\n".join(own))], True
    has_other_blocks = isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in ("image", "document") for block in content
    )
    is_host = bool(authors) and not any(text.strip() for text in own) and not has_other_blocks
    return _Words(texts, None if is_host else own, authors, is_typed)


def _mark_shell_command(command: str) -> str:
    """Return a command with the sign before it that a person types, and that some lines keep."""
    return command if command.startswith("!") else _TYPED_ELEMENTS["bash-input"] + command


def _unwrap_typed_text(text: str) -> str | None:
    """Return the words that a person typed, if a text is a wrapped command, else `None`.

    The model can start a skill in the same form; `skill-format` marks that.
    """
    start = text.lstrip()
    if start.startswith("<command-"):
        return _unwrap_command(start)
    opening = _OPENING_TAG.match(start)
    sign = _TYPED_ELEMENTS.get(opening[1]) if opening else None
    if opening is None or sign is None:
        return None
    body, end, rest = start[opening.end() :].partition(f"</{opening[1]}>")
    if not end or _drop_host_text(rest, set(), ""):
        return None
    return sign + body.strip()


def _unwrap_command(text: str) -> str | None:
    """Return a slash command as it was typed, or `None` if the text is anything else."""
    members: dict[str, str] = {}
    position, end, arguments = 0, len(text), ""
    closing = len(text.rstrip()) - len(_ARGUMENTS_END)
    if text.startswith(_ARGUMENTS_END, max(closing, 0)):
        opening = text.find(_ARGUMENTS_START, 0, closing)
        if opening >= 0:
            end, arguments = opening, text[opening + len(_ARGUMENTS_START) : closing].strip()
    while position < end:
        member = _COMMAND_MEMBERS.match(text, position, end)
        if member is None:
            return None
        members[member[1]] = member[2].strip()
        position = member.end()
    name = members.get("command-name")
    if not name or "skill-format" in members:
        return None
    name = name if name.startswith("/") else "/" + name
    return f"{name} {arguments}".strip()


def _drop_host_text(text: str, authors: set[str], stated: str) -> str:
    """Return a text without what Claude Code wrote at its ends; add who wrote that to `authors`.

    Return the same text if nothing was dropped. If a person is stated, little is Claude Code's.
    """
    is_person = stated == HUMAN
    start = _find_end_of_elements(text, authors, _ADDED_TAGS if is_person else None)
    end = len(text)
    while True:
        reminder = _find_last_reminder(text, start, end)
        if reminder < 0:
            break
        authors.add(HOST)
        end = reminder
    if not is_person:
        author = _recognise_host_sentence(text[start:end].strip(), stated)
        if author:
            authors.add(author)
            return ""
    if (start, end) == (0, len(text)):
        return text
    return text[start:end].rstrip() if end < len(text) else text[start:]


def _find_end_of_elements(text: str, authors: set[str], tags: dict[str, str] | None) -> int:
    """Return where the elements at the beginning of a text end, or 0 if they are not the host's.

    Without `tags`, all elements of Claude Code count. The words after them begin on a new line. Who
    wrote the elements is added to `authors`.
    """
    found: set[str] = set()
    has_payload = False
    position = end = 0
    first_attachment = -1
    while True:
        position = _skip_spaces(text, end)
        opening = _OPENING_TAG.match(text, position)
        tag = opening[1] if opening else ""
        is_payload = tags is None and tag in _PAYLOAD_TAGS
        is_attachment = tags is None and tag in _ATTACHMENT_TAGS
        author = (tags or _CONTEXT_TAGS).get(tag) or (_PAYLOAD_TAGS[tag] if is_payload else "")
        if opening is None or not (author or is_attachment):
            break
        closing = f"</{tag}>"
        find = text.rfind if is_payload else text.find
        close = find(closing, opening.end())
        if close < 0:
            break
        if author:
            found.add(author)
        elif first_attachment < 0:
            first_attachment = position
        has_payload = has_payload or is_payload
        end = close + len(closing)
    if position < len(text):
        # These are words, or the beginning of an element that is not the host's.
        if has_payload or "\n" not in text[end:position]:
            return 0
    elif first_attachment >= 0:
        position = first_attachment
    if not end:
        return 0
    authors |= found
    return position


def _skip_spaces(text: str, position: int) -> int:
    """Return the position of the first character from `position` on that is not whitespace."""
    spaces = _SPACES.match(text, position)
    return spaces.end() if spaces else position


def _find_last_reminder(text: str, start: int, end: int) -> int:
    """Return where the reminder at the end of `text[start:end]` begins, or -1."""
    while end > start and text[end - 1].isspace():
        end -= 1
    if not text.endswith(_REMINDER_END, start, end):
        return -1
    opening = text.rfind(_REMINDER_START, start, end)
    is_one = opening >= 0 and text.find(_REMINDER_END, opening, end) + len(_REMINDER_END) == end
    return opening if is_one else -1


def _recognise_host_sentence(text: str, stated: str) -> str:
    """Return `host` or `hook` if a text begins with a sentence of Claude Code, else no text.

    `stated` is the speaker that the message states, if any.
    """
    if _HOST_SENTENCE.match(text) or _is_skill(text):
        return HOST
    sentence = _HOOK_SENTENCE.match(text)
    if sentence is None:
        return ""
    # A person may ask about the first line alone.
    is_whole = stated == HOST or sentence.end() == len(text)
    return HOOK if is_whole or _HOOK_COMMAND.match(text) else ""


def _is_skill(text: str) -> bool:
    """Return whether a text announces a skill that the model started."""
    return text.startswith("<command-") and "<skill-format>true</skill-format>" in text[-400:]

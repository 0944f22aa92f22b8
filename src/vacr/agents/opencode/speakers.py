"""Who wrote a user message of OpenCode.

OpenCode marks the texts that it adds to a message itself: the content of attached files, reminders,
notices of background tasks are text parts with `synthetic` or `ignored`. The rest are the words of
a person, or of the parent agent in the session of a sub-agent.

    >>> from vacr.agents.opencode.speakers import classify_speaker
    >>> record = {"session": {"entries": []}, "vacr": {}}
    >>> def say(*parts):
    ...     return classify_speaker({"type": "user", "content": list(parts)}, record)
    >>> typed = {"type": "text", "text": "Fix @a.py"}
    >>> read = {"type": "text", "text": "Called the Read tool with …", "synthetic": True}
    >>> say(read)
    Speaker(who='host', basis='stated', prompt=None)
    >>> say(typed, read)
    Speaker(who='human', basis='inferred', prompt='Fix @a.py')

A slash command is expanded before OpenCode stores it, and its name is lost. Three kinds can be
recognised by texts that OpenCode's source defines: skills, which end with their folder; `/init` and
`/review`; and commands that run as a sub-task, which keep their name. Other commands remain as
their expanded text.

    >>> paths = "Relative paths in this skill (e.g., scripts/, references/)"
    >>> skill = [
    ...     "Write the test first.\\n",
    ...     "Base directory for this skill: /home/mira/.agents/skills/tdd",
    ...     f"{paths} are relative to this base directory.\\n",
    ...     "for the parser",
    ... ]
    >>> say({"type": "text", "text": "\\n".join(skill)}).prompt
    '/tdd for the parser'

`opencode run` starts sessions without a person at the keyboard. It forbids the tools that ask one,
and by these rules its sessions are recognised. A person or a program may have started them, so
their speaker is unknown.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from vacr.agents.labels import (
    HOST,
    HUMAN,
    INFERRED,
    PARENT_AGENT,
    STATED,
    UNKNOWN_SPEAKER,
    Speaker,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.record import PROMPTING_SPEAKERS, get_prompt_text

HOST_FLAGS = ("synthetic", "ignored")
"""Flags of parts that the host or a plugin of it wrote: for the model alone, or the user alone."""
RUN_DENIALS = frozenset(("question", "plan_enter", "plan_exit"))
"""The tools that `opencode run` forbids in its sessions."""

_REMINDER_START, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_REMINDER_TEXTS = tuple(
    f"{_REMINDER_START}\n{start}"
    for start in ("# Plan Mode", "Plan mode is active", "Your operational mode has changed")
)
"""How the reminders of OpenCode begin."""
_QUEUED_START = "<system-reminder>\nThe user sent the following message:\n"
_QUEUED_END = "\n\nPlease address this message and continue with your tasks.\n</system-reminder>"
_SKILL_FOOTER = re.compile(
    r"^Base directory for this skill: ([^\n]+)\n"
    r"Relative paths in this skill \(e\.g\., scripts/, references/\) are relative to this base"
    r" directory\.(?:\n\n|\Z)",
    re.MULTILINE,
)
_SKILL_MARK = "Base directory for this skill: "


class _BuiltInCommand(NamedTuple):
    """A command of OpenCode, and the texts of its template around the arguments."""

    name: str
    start: str
    """The beginning of the template."""
    before: re.Pattern[str]
    """The text before the arguments."""
    after: str
    """The text after them; empty if they are at the end."""


_BUILT_IN_COMMANDS = (
    _BuiltInCommand(
        "/init",
        "Create or update `AGENTS.md` for this repository.\n",
        re.compile(r"\nUser-provided focus or constraints \(honor these\):\n"),
        "\n\n## How to investigate\n",
    ),
    _BuiltInCommand(
        "/init",
        "Please analyze this codebase and create an AGENTS.md file containing:\n",
        re.compile(r"\nIf there's already an AGENTS\.md, improve it if it's located in [^\n]+"),
        "",
    ),
    _BuiltInCommand(
        "/review",
        "You are a code reviewer. Your job is to review code changes and provide actionable",
        re.compile(r"\n---\n\nInput: ?"),
        "\n\n---\n",
    ),
)


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part of it where it has other text."""
    message = _separate_texts(entry)
    if not message.is_typed:
        return Speaker(HOST, STATED if message.is_flagged else INFERRED)
    who, basis = _get_session_speaker(record)
    return Speaker(who, basis, message.prompt if who in PROMPTING_SPEAKERS else None)


def has_typed_command(entry: dict[str, Any]) -> bool:
    """Return whether a message has a command that runs as a sub-task, in place of a text."""
    return bool(_list_subtasks(entry))


def get_person_text(entry: dict[str, Any]) -> str:
    """Return the words of the person in an entry, or an empty text.

    The labels of a record decide. Without labels, the parts of the message do.
    """
    if entry.get("type") != "user":
        return ""
    if "speaker" in dict_or_empty(entry.get("vacr")):
        return get_prompt_text(entry)
    message = _separate_texts(entry)
    return message.text if message.is_typed else ""


def _get_session_speaker(record: dict[str, Any]) -> tuple[str, str]:
    """Return who writes the unmarked texts of a session, and whether the session states it."""
    if "parent" in record.get("vacr", ()):
        return PARENT_AGENT, STATED
    return (UNKNOWN_SPEAKER if is_headless(record["session"]) else HUMAN), INFERRED


def is_headless(session: dict[str, Any]) -> bool:
    """Return whether `opencode run` made a session, by the tools that are forbidden in it."""
    rules = session.get("permission")
    denied = [
        rule.get("permission")
        for rule in (rules if isinstance(rules, list) else ())
        if isinstance(rule, dict) and rule.get("action") == "deny" and rule.get("pattern") == "*"
    ]
    return all(permission in denied for permission in RUN_DENIALS)


# --- the texts of a message ---


class _MessageTexts(NamedTuple):
    """The person's words in a message."""

    text: str
    """The words, with commands as they were typed; empty if the person only attached files."""
    is_typed: bool
    """Whether a person sent the message."""
    has_other_text: bool
    """Whether the message has texts of the host, or a command was expanded."""
    is_flagged: bool
    """Whether flags mark all texts of the host."""

    @property
    def prompt(self) -> str | None:
        """The words, or None if they are all of the message."""
        return self.text if self.has_other_text else None


def _separate_texts(entry: dict[str, Any]) -> _MessageTexts:
    """Separate the person's words in a message from the host's texts."""
    content = entry.get("content")
    own: list[str] = []
    has_host_text = has_file = is_unwrapped = False
    is_flagged = True
    for block in content if isinstance(content, list) else [content]:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(block, dict) and any(block.get(flag) is True for flag in HOST_FLAGS):
            has_host_text = True
        elif not isinstance(text, str):
            has_file = has_file or isinstance(block, dict)
        elif (words := _unwrap_text(text)) is None:
            has_host_text, is_flagged = True, False
        elif words:
            own.append(words)
            is_unwrapped = is_unwrapped or words is not text
    commands = _list_subtasks(entry)
    is_typed = bool(own or commands or has_file or not has_host_text)
    has_other_text = has_host_text or is_unwrapped or bool(commands)
    return _MessageTexts("\n".join(own + commands), is_typed, has_other_text, is_flagged)


def _unwrap_text(text: str) -> str | None:
    """Return the words of a text part as the person typed them, or None if they are the host's.

    The host's text spans the whole part. A person may quote a part of it.
    """
    if text.startswith(_REMINDER_START):
        if text.startswith(_QUEUED_START) and text.endswith(_QUEUED_END):
            return text[len(_QUEUED_START) : -len(_QUEUED_END)]
        is_whole = text.rstrip().endswith(_REMINDER_END) and text.count(_REMINDER_START) == 1
        if is_whole and text.startswith(_REMINDER_TEXTS):
            return None
    return _find_skill_command(text) or _find_built_in_command(text) or text


def _find_skill_command(text: str) -> str:
    """Return the command `/skill arguments` of a text, or an empty text if it is not a skill's.

    A skill has the name of its folder. The footer follows an empty line.
    """
    if _SKILL_MARK not in text:
        return ""
    match = _SKILL_FOOTER.search(text)
    if match is None or not text[: match.start()].endswith("\n\n"):
        return ""
    name = match[1].rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    return f"/{name} {text[match.end() :]}".strip()


def _find_built_in_command(text: str) -> str:
    """Return the command `/init` or `/review` with its arguments, or an empty text."""
    for command in _BUILT_IN_COMMANDS:
        if text.startswith(command.start) and (match := command.before.search(text)):
            arguments, found, _ = text[match.end() :].partition(command.after or "\0")
            if found or not command.after:
                return f"{command.name} {arguments.strip()}".strip()
    return ""


def _list_subtasks(entry: dict[str, Any]) -> list[str]:
    """Return the commands that run as sub-tasks, such as `/review main`."""
    commands = []
    children = entry.get("children")
    for child in children if isinstance(children, list) else ():
        if child.get("type") == "system-event" and child.get("event-type") == "subtask":
            data = dict_or_empty(child.get("data"))
            name, prompt = data.get("command"), data.get("prompt")
            text = prompt if isinstance(prompt, str) else ""
            if not isinstance(name, str) or not name:
                commands.append(text)
            else:
                known = _find_built_in_command(text) or _find_skill_command(text)
                is_same = known.partition(" ")[0] == f"/{name}"
                commands.append(known if is_same else f"/{name}")
    return commands

r"""Who wrote a user message of Qwen Code, and how a tool call ended.

The subtype of a line tells most about a message: one that the user typed while the agent worked, a
notice of the host, a scheduled prompt. `displayText` is the text on the screen, as a person typed
it. Hooks and the host add parts of their own to a prompt:

    >>> from vacr.agents.qwen.labels import classify_outcome, classify_speaker
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

The report next to a result, `toolCallResult`, has a status: `success`, `error` or `cancelled`. It
is about the tool. The end of a command is in the text, in the form of Gemini CLI:

    >>> from vacr.agents.labels import CallResult
    >>> text = "Command: make\nDirectory: (root)\nOutput: no rule\nError: (none)\nExit Code: 2"
    >>> text += "\nSignal: 0\nProcess Group PGID: 7"
    >>> call = {"type": "tool-call", "name": "run_shell_command", "input": {"command": "make"}}
    >>> result = {"type": "tool-result", "output": {"output": text}}
    >>> classify_outcome(CallResult(result, result, call, {"status": "success"}))[:2]
    ('error', 2)
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.gemini import outcomes as gemini_outcomes
from vacr.agents.gemini import speakers as gemini_speakers
from vacr.agents.labels import (
    DENIED,
    FAILED,
    HOOK,
    HOST,
    HUMAN,
    INFERRED,
    RUNNING,
    STATED,
    STATED_HOST,
    SUCCEEDED,
    TIMED_OUT,
    CallResult,
    Outcome,
    Speaker,
)
from vacr.agents.lift import is_one_of
from vacr.agents.tool_calls import dict_or_empty

# --- Speakers ---

HOST_SUBTYPES = frozenset(("notification", "cron"))
"""Subtypes of messages that the host wrote."""
HOST_PROVENANCES = frozenset(("goal_control", "goal_runtime", "system"))
"""Values of `provenance` for messages that the host wrote; since version 0.24."""
TYPED_SUBTYPE = "mid_turn_user_message"
_HOOK_ELEMENT = re.compile(
    r"\s*<qwen:user-prompt-submit-context>.*</qwen:user-prompt-submit-context>\s*", re.DOTALL
)
_HOST_ELEMENT = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*", re.DOTALL)


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part of it where it has other text."""
    is_notice = entry.get("externalInputKind") == "notification"
    is_host = is_one_of(entry.get("provenance"), HOST_PROVENANCES)
    if is_notice or is_host or is_one_of(entry.get("subtype"), HOST_SUBTYPES):
        return STATED_HOST
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


# --- Outcomes ---

_SHELL_TOOL = "run_shell_command"
DENIED_ERRORS = frozenset(("execution_denied",))
_FAILED_REPORT_START = "Command: "
_BACKGROUND_START = re.compile(r"Background shell started\.\nid: ")
_TIMEOUT_START = re.compile(r"Command timed out after \d+ms before it could complete\.")


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the session does not tell."""
    entry, report = result.entry, result.report
    if is_one_of(report.get("errorType"), DENIED_ERRORS):
        return Outcome(DENIED)
    response = dict_or_empty(entry.get("output"))
    text: Any = response.get("output")
    if _is_shell(result) and type(text) is str:
        if _BACKGROUND_START.match(text):
            return Outcome(RUNNING)
        if _TIMEOUT_START.match(text):
            return Outcome(TIMED_OUT)
    merged = dict(entry)
    error = response.get("error")
    # Since version 0.24, the report about a command that failed is the text of an error.
    if type(error) is str and error.startswith(_FAILED_REPORT_START) and _is_shell(result):
        merged["output"] = {"output": error}
    for name in ("status", "resultDisplay"):
        if name in report:
            merged.setdefault(name, report[name])
    outcome = gemini_outcomes.classify_outcome(CallResult(merged, merged, result.call, report))
    if not outcome.status and type(response.get("success")) is bool:
        # The transcript of a sub-agent has a flag in place of a status.
        return SUCCEEDED if response["success"] else FAILED
    return outcome


def _is_shell(result: CallResult) -> bool:
    """Return whether a result is that of a command."""
    return (result.call or {}).get("name") == _SHELL_TOOL

"""Who wrote a user message of Goose, and how a tool call ended.

A result states whether the call failed, in `status` or in the flag `isError`. Since 2026, a result
of `shell` also states the exit code of the command. Before, it states only that the command ran.

| evidence | outcome |
|---|---|
| the sentence that the user declined, or that the chat mode skips tools | denied |
| `shell`: `timed_out` | timeout |
| `shell`: `exit_code` | success for 0, else error, with the code |
| `status`: `error`, or the flag `isError` | error |
| another result of `shell` or `developer__shell` | unknown |
| another result with `status`: `success` | success |

    >>> from vacr.agents.goose.labels import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> call = {"type": "tool-call", "name": "shell", "input": {"command": "make"}}
    >>> stated = {"stdout": "", "stderr": "no rule", "exit_code": 2}
    >>> result = {"output": [{"type": "text", "text": "no rule"}]}
    >>> result["toolResult"] = {"status": "success", "value": {"structuredContent": stated}}
    >>> classify_outcome(CallResult(result, {}, call, {}))
    Outcome(status='error', exit_code=2, left_running='', saw_end='')
"""

from __future__ import annotations

from typing import Any

from vacr.agents.documents import parse_json_text
from vacr.agents.goose.reader import SUB_AGENT_TYPE
from vacr.agents.labels import (
    DENIED,
    FAILED,
    STATED_HOST,
    STATED_PARENT_AGENT,
    SUCCEEDED,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.tool_calls import dict_or_empty, extract_result_text

DENIALS = (
    "The user has declined to run this tool. DO NOT attempt to call this tool again.",
    "Let the user know the tool call was skipped in goose chat mode. ",
)
"""The beginnings of results of calls that never ran."""
SHELL_TOOLS = frozenset(("shell", "developer__shell"))


def get_stated_value(result: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a result next to its content; empty without them."""
    return dict_or_empty(dict_or_empty(result.get("toolResult")).get("value"))


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome."""
    entry = result.entry
    value = get_stated_value(entry)
    status = dict_or_empty(entry.get("toolResult")).get("status")
    is_shell = (result.call or {}).get("name") in SHELL_TOOLS
    stated = dict_or_empty(value.get("structuredContent")) if is_shell else {}
    if not stated and extract_result_text(entry.get("output")).startswith(DENIALS):
        return Outcome(DENIED)
    if stated.get("timed_out") is True:
        return Outcome(TIMED_OUT)
    code = stated.get("exit_code")
    if type(code) is int:
        return classify_exit_code(code)
    if status == "error" or value.get("isError") is True:
        return FAILED
    return SUCCEEDED if status == "success" and not is_shell else UNKNOWN_OUTCOME


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: Goose, a parent agent, or a person.

    Goose writes the messages that only the model sees, such as the summary of a compaction. A
    message that neither sees is an older one of the person, which the summary replaces.
    """
    visibility = dict_or_empty(parse_json_text(entry.get("metadata_json", entry.get("metadata"))))
    if visibility.get("userVisible") is False and visibility.get("agentVisible") is True:
        return STATED_HOST
    if find_session_type(record) == SUB_AGENT_TYPE:
        return STATED_PARENT_AGENT
    return infer_speaker(record)


def find_session_type(record: dict[str, Any]) -> Any:
    """Return the type of a session, by its row or the header of its file; None if unknown."""
    session = record["session"]
    if "session_type" in session:
        return session["session_type"]
    first = session["entries"][0] if session["entries"] else {}
    is_header = first.get("event-type") == "session"
    return dict_or_empty(first.get("data")).get("session_type") if is_header else None

"""Who wrote a user message of Hermes, and how a tool call ended.

A result is text with a JSON object. Its members state how the call ended:

| evidence | outcome |
|---|---|
| `status`: `blocked`, and `User denied` in `error` | denied |
| `status`: another one of `STATUSES` | as listed there |
| `exit_code` of `terminal` | success for 0, timeout for 124, else error, with the code |
| `success` | success or error |
| `error` that is not empty | error |
| a member that only a success has, for some tools | success |
| the text `Tool 'x' does not exist.` | error |
| otherwise | unknown |

    >>> from vacr.agents.hermes.labels import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> call = {"type": "tool-call", "name": "terminal", "input": {"command": "make"}}
    >>> text = '{"output": "no rule", "exit_code": 2, "error": null}'
    >>> classify_outcome(CallResult({"output": text}, {}, call, {}))
    Outcome(status='error', exit_code=2, left_running='', saw_end='')
"""

from __future__ import annotations

import json
from typing import Any

from vacr.agents.hermes.reader import is_sub_agent
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    INFERRED_HOST,
    INFERRED_HUMAN,
    INFERRED_PARENT_AGENT,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.record import get_prompt_text

HOST_STARTS = (
    "You just executed tool calls but returned an empty response.",
    "Review the conversation above and consider saving or updating a skill",
    "Review the conversation above and consider saving to memory",
    "[SYSTEM: ",
    "[System: ",
    "[System note: ",
    "[CONTEXT COMPACTION",
    "[CONTEXT SUMMARY]",
)
"""The beginnings of user messages that Hermes writes."""
SHELL_TOOL = "terminal"
STATUSES = {
    "success": SUCCESS,
    "error": FAILURE,
    "blocked": FAILURE,
    "timeout": TIMED_OUT,
    "interrupted": INTERRUPTED,
}
"""`status` of a result → the outcome."""
SUCCESS_MEMBERS = {
    "write_file": "bytes_written",
    "read_file": "total_lines",
    "search_files": "total_count",
    "todo": "todos",
}
"""Tool → the member of a result without an error that shows a success."""
MISSING_TOOL_START = "Tool '"
MISSING_TOOL_WORDS = "' does not exist."
DENIAL = "User denied"
TIMEOUT_CODE = 124


def parse_result(output: Any) -> dict[str, Any]:
    """Return the object in the text of a result; empty if there is none."""
    if type(output) is not str or not output.startswith("{"):
        return {}
    try:
        return dict_or_empty(json.loads(output))
    except (ValueError, RecursionError):
        return {}


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome."""
    output = result.entry.get("output")
    stated = parse_result(output)
    tool = (result.call or {}).get("name")
    if not stated:
        text = output if type(output) is str else ""
        is_missing = text.startswith(MISSING_TOOL_START) and MISSING_TOOL_WORDS in text
        return FAILED if is_missing else UNKNOWN_OUTCOME
    status, error, code = stated.get("status"), stated.get("error"), stated.get("exit_code")
    if status == "blocked" and DENIAL in str(error):
        return Outcome(DENIED)
    if tool == SHELL_TOOL:
        return _classify_command(stated, code, error)
    if type(status) is str and status in STATUSES:
        return Outcome(STATUSES[status])
    if type(stated.get("success")) is bool:
        return SUCCEEDED if stated["success"] else FAILED
    if error:
        return FAILED
    if type(tool) is str and tool in SUCCESS_MEMBERS and SUCCESS_MEMBERS[tool] in stated:
        return SUCCEEDED
    return UNKNOWN_OUTCOME


def _classify_command(stated: dict[str, Any], code: Any, error: Any) -> Outcome:
    """Return how a command ended, by its exit code; a negative code means that it never ran."""
    process = stated.get("session_id")
    if code == 0 and type(process) is str and process and "pid" in stated:
        return Outcome(RUNNING, left_running=process)
    if type(code) is not int:
        return FAILED if error else UNKNOWN_OUTCOME
    if code < 0:
        return FAILED
    if code == TIMEOUT_CODE:
        return Outcome(TIMED_OUT, code)
    return classify_exit_code(code)


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: Hermes, a parent agent, or a person.

    A session with a parent continues it, unless its system prompt is that of a sub-agent.
    """
    if get_prompt_text(entry).startswith(HOST_STARTS):
        return INFERRED_HOST
    session = record["session"]
    if is_sub_agent(session):
        return INFERRED_PARENT_AGENT
    if "parent" in record.get("vacr", ()) and session.get("format") != "autonomous":
        return INFERRED_HUMAN
    return infer_speaker(record)

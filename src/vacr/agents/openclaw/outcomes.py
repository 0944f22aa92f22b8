r"""How a tool call of OpenClaw ended, and the output of its commands.

OpenClaw rarely sets the flag of a result. A status in `details` states how the call ended. A long
command goes on in the background, and `process` looks at it later:

    >>> from vacr.agents.labels import CallResult
    >>> from vacr.agents.openclaw.outcomes import classify_outcome
    >>> def end(tool, details, **arguments):
    ...     entry = {"output": [], "message": {"details": details, "isError": False}}
    ...     return classify_outcome(
    ...         CallResult(entry, entry, {"name": tool, "input": arguments}, {})
    ...     )
    >>> end("exec", {"status": "running", "sessionId": "calm-coral"}).left_running
    'calm-coral'
    >>> ended = {"status": "failed", "sessionId": "calm-coral", "exitCode": 1}
    >>> end("process", ended, action="poll")
    Outcome(status='error', exit_code=1, left_running='', saw_end='calm-coral')

A command that waits for an approval has no outcome yet.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from vacr.agents.file_tools import ShellOutput
from vacr.agents.labels import (
    DENIED,
    FAILED_STATUSES,
    INTERRUPTED,
    RUNNING,
    SUCCESS,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    parse_status_word,
)
from vacr.agents.lift import is_one_of
from vacr.agents.pi.tools import classify_outcome as classify_pi_outcome
from vacr.agents.pi.tools import get_details
from vacr.agents.pi.tools import parse_shell_output as parse_pi_output
from vacr.agents.tool_calls import ToolCall, dict_or_empty, extract_result_text

_SHELL_TOOLS = frozenset(("exec", "bash"))
_PROCESS_TOOL = "process"
_TIMEOUT_START = "Command timed out"
_ABORT_START = "Command aborted"
_KILL_STARTS = ("Termination requested for session", "Killed session", "Removed session")
_STOPPED_REASONS = frozenset(("manual-cancel", "signal"))
_OTHER_STATUSES = {
    "forbidden": Outcome(DENIED),
    "approval-unavailable": Outcome(DENIED),
    "approval-pending": UNKNOWN_OUTCOME,
}
_CODE_LINE = re.compile(r"(?:\A|\n\n)\((?:Command exited with code -?\d{1,10})\)\Z")
_NO_OUTPUT = "(no output)"


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, by its status in `details`, its flag, and its text."""
    details = get_details(result.entry)
    call = result.call or {}
    tool = call.get("name") or dict_or_empty(result.entry.get("message")).get("toolName")
    if (other := _OTHER_STATUSES.get(str(details.get("status")))) is not None:
        return other
    if tool == _PROCESS_TOOL:
        return _classify_process(result, details, dict_or_empty(call.get("input")))
    outcome = classify_pi_outcome(result)
    if not is_one_of(tool, _SHELL_TOOLS):
        return outcome
    if outcome.status == RUNNING:
        return outcome._replace(left_running=_get_text(details.get("sessionId")))
    return _refine_failure(outcome, result, details)


def _classify_process(
    result: CallResult, details: dict[str, Any], arguments: dict[str, Any]
) -> Outcome:
    """Return the outcome of a look at a background command; it may have seen its end."""
    outcome = classify_pi_outcome(result)
    if extract_result_text(result.entry.get("output")).startswith(_KILL_STARTS):
        return Outcome(SUCCESS, saw_end=_get_text(arguments.get("sessionId")))
    status = parse_status_word(details.get("status"))
    if status == SUCCESS or status in FAILED_STATUSES:
        return outcome._replace(saw_end=_get_text(details.get("sessionId")))
    return outcome


def _refine_failure(outcome: Outcome, result: CallResult, details: dict[str, Any]) -> Outcome:
    """Return the outcome of a command, with a timeout and an end from outside told apart."""
    if outcome.status == SUCCESS:
        return outcome
    reason = _get_text(details.get("exitReason"))
    texts = (details.get("error"), extract_result_text(result.entry.get("output")))
    stated = next((text for text in map(_get_text, texts) if text), "")
    if details.get("noOutputTimedOut") is True or "timeout" in reason:
        return outcome._replace(status=TIMED_OUT)
    if stated.startswith(_TIMEOUT_START):
        return outcome._replace(status=TIMED_OUT)
    if reason in _STOPPED_REASONS or stated.startswith(_ABORT_START):
        return outcome._replace(status=INTERRUPTED)
    return outcome


def _get_text(value: Any) -> str:
    """Return a text, or an empty one for any other value."""
    return value if type(value) is str else ""


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the host's line about its exit code."""
    output = parse_pi_output(call)
    text = _CODE_LINE.sub("", output.text)
    return replace(output, text="" if text == _NO_OUTPUT else text)

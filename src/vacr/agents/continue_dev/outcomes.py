r"""How a tool call of Continue ended.

The status of a call is `done`, `errored` or `canceled`. A command that fails is `errored` on the
command line, with the exit code in the text, but only if it wrote to its error stream: without, it
is `done` whatever its exit code was, and the outcome is unknown. Only a command that succeeded
shows what it wrote there. In the editor every command is `done`, and the item of its output has a
status of its own.

    >>> from vacr.agents.continue_dev.outcomes import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> def end(stated, content, **members):
    ...     result = {"status": stated, "output": [{"content": content, **members}]}
    ...     return classify_outcome(CallResult(result, result, {"name": "Bash"}, {}))[:2]
    >>> end("errored", "Error executing tool Bash: Error (exit code 2): no such file")
    ('error', 2)
    >>> end("done", "no", status="Command failed with exit code 1")
    ('error', 1)
    >>> end("done", "1 failed"), end("done", "2 passed\nStderr: 1 warning")
    (('', None), ('success', None))
    >>> end("canceled", ""), end("canceled", "Permission denied by user")
    (('interrupted', None), ('denied', None))
    >>> end("done", "…\n\n[Command timed out after 120 seconds of no output]")
    ('timeout', None)
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.continue_dev.tools import STANDARD_ERROR_MARK, has_timed_out
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
)
from vacr.agents.tool_calls import extract_result_text

_ERROR_CODE = re.compile(r"(?:Error executing tool \w+: )?Error \(exit code (-?\d{1,10})\)")
_ITEM_CODE = re.compile(r"Command failed with exit code (-?\d{1,10})")
_SHELL_TOOL = "Bash"
_BACKGROUND_START = "Command moved to background. Job ID: "
_RUNNING_STATUS = "Command is running in the background"
_DENIAL = re.compile(r"(?i)\b(?:denied|rejected|not allowed)\b")
_DENIAL_STARTS = ("Permission", "Tool", "The user")
_MAX_DENIAL_LENGTH = 200


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome without a known status."""
    entry = result.entry
    status = entry.get("status")
    text = extract_result_text(entry.get("output"))
    if status == "errored":
        code = _ERROR_CODE.match(text)
        if code is None and _is_denial(text):
            return Outcome(DENIED)
        return Outcome(FAILURE, int(code[1]) if code else None)
    if status == "canceled":
        return Outcome(DENIED if _is_denial(text) else INTERRUPTED)
    if status != "done":
        return UNKNOWN_OUTCOME
    is_command = (result.call or {}).get("name") == _SHELL_TOOL
    if is_command:
        if has_timed_out(text):
            return Outcome(TIMED_OUT)
        if text.startswith(_BACKGROUND_START):
            return Outcome(RUNNING)
    ended = _classify_done(entry.get("output"))
    if is_command and ended is SUCCEEDED and STANDARD_ERROR_MARK not in text:
        return UNKNOWN_OUTCOME
    return ended


def _is_denial(text: str) -> bool:
    """Return whether a short text says that a call was refused."""
    is_short = len(text) < _MAX_DENIAL_LENGTH and text.startswith(_DENIAL_STARTS)
    return is_short and _DENIAL.search(text) is not None


def _classify_done(output: Any) -> Outcome:
    """Return the outcome of a call that is done, by the status of a command in its output."""
    for item in output if isinstance(output, list) else ():
        status = item.get("status") if isinstance(item, dict) else None
        if not isinstance(status, str):
            continue
        if code := _ITEM_CODE.match(status):
            return Outcome(FAILURE, int(code[1]))
        if status.startswith("Command failed"):
            return FAILED
        if status.startswith(_RUNNING_STATUS):
            return Outcome(RUNNING)
    return SUCCEEDED

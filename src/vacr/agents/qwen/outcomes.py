"""How a tool call of Qwen Code ended.

The report next to a result, `toolCallResult`, has a status: `success`, `error` or `cancelled`. It
is about the tool. The end of a command is in the text, in the form of Gemini CLI:

    >>> from vacr.agents.labels import CallResult
    >>> from vacr.agents.qwen.outcomes import classify_outcome
    >>> text = "Command: make\\nDirectory: (root)\\nOutput: no rule\\nError: (none)\\nExit Code: 2"
    >>> text += "\\nSignal: 0\\nProcess Group PGID: 7"
    >>> call = {"type": "tool-call", "name": "run_shell_command", "input": {"command": "make"}}
    >>> result = {"type": "tool-result", "output": {"output": text}}
    >>> classify_outcome(CallResult(result, result, call, {"status": "success"}))[:2]
    ('error', 2)
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.gemini import outcomes as gemini_outcomes
from vacr.agents.labels import (
    DENIED,
    FAILED,
    RUNNING,
    SUCCEEDED,
    TIMED_OUT,
    CallResult,
    Outcome,
)
from vacr.agents.tool_calls import dict_or_empty

_SHELL_TOOL = "run_shell_command"
_DENIED_ERRORS = frozenset(("execution_denied",))
_BACKGROUND_START = re.compile(r"Background shell started\.\nid: ")
_TIMEOUT_START = re.compile(r"Command timed out after \d+ms before it could complete\.")


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the session does not tell."""
    entry, report = result.entry, result.report
    if report.get("errorType") in _DENIED_ERRORS:
        return Outcome(DENIED)
    response = dict_or_empty(entry.get("output"))
    text: Any = response.get("output")
    if (result.call or {}).get("name") == _SHELL_TOOL and type(text) is str:
        if _BACKGROUND_START.match(text):
            return Outcome(RUNNING)
        if _TIMEOUT_START.match(text):
            return Outcome(TIMED_OUT)
    merged = dict(entry)
    for name in ("status", "resultDisplay"):
        if name in report:
            merged.setdefault(name, report[name])
    outcome = gemini_outcomes.classify_outcome(CallResult(merged, merged, result.call, report))
    if not outcome.status and type(response.get("success")) is bool:
        # The transcript of a sub-agent has a flag in place of a status.
        return SUCCEEDED if response["success"] else FAILED
    return outcome

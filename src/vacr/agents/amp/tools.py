"""The results of Amp's tools, and how a call ended.

>>> from vacr.agents.amp.tools import classify_outcome
>>> from vacr.agents.labels import CallResult
>>> def end(status, output):
...     result = {"status": status, "output": output}
...     return classify_outcome(CallResult(result, result, None, {}))[:2]
>>> end("done", {"output": "no", "exitCode": 2})
('error', 2)
>>> end("rejected-by-user", {}), end("done", {"content": "1: x"}), end(None, {})
(('denied', None), ('success', None), ('', None))
"""

from __future__ import annotations

from collections.abc import Iterable

from vacr.agents.labels import (
    DENIED,
    FAILED,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    classify_exit_code,
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import FileAction, Hunk, parse_diff_hunks, parse_listing

_OUTCOMES = {
    "done": SUCCEEDED,
    "error": FAILED,
    "cancelled": Outcome(INTERRUPTED),
    "rejected-by-user": Outcome(DENIED),
    "in-progress": Outcome(RUNNING),
}
"""The status of a run → the outcome of its call."""


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, by the status of its run and the exit code of a command."""
    status = result.entry.get("status")
    outcome = _OUTCOMES.get(status) if isinstance(status, str) else None
    code = dict_or_empty(result.entry.get("output")).get("exitCode")
    if status == "done" and type(code) is int:
        return classify_exit_code(code)
    return outcome or UNKNOWN_OUTCOME


def parse_recorded_hunks(call: ToolCall) -> list[Hunk]:
    """Return the hunks of the diff in the result of an edit."""
    diff = dict_or_empty(call.native.get("output")).get("diff")
    return parse_diff_hunks(diff) if isinstance(diff, str) else []


def parse_shown_file(call: ToolCall, path: str) -> Iterable[FileAction]:
    """Return the numbered lines that a read showed; nothing for a folder."""
    output = dict_or_empty(call.native.get("output"))
    content = output.get("content")
    if output.get("isDirectory") is True or not isinstance(content, str):
        return []
    shown = output.get("absolutePath")
    return parse_listing(shown if isinstance(shown, str) else path, content)


def get_exit_code(call: ToolCall) -> int | None:
    """Return the exit code of a command, or None if its result does not state one."""
    code = dict_or_empty(call.native.get("output")).get("exitCode")
    return code if type(code) is int else None

"""Who wrote a user message of OpenHands, how a call ended, and the files before and after it.

>>> from vacr.agents.labels import CallResult
>>> from vacr.agents.openhands.labels import classify_outcome
>>> call = {"type": "tool-call", "name": "terminal", "input": {"command": "make"}}
>>> result = {"output": "no rule", "observation": {"is_error": False, "exit_code": 2}}
>>> classify_outcome(CallResult(result, {}, call, {})).exit_code
2
"""

from __future__ import annotations

from typing import Any

from vacr.agents.file_tools import FileReport, ShellOutput
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    RUNNING,
    STATED_HOOK,
    STATED_HOST,
    SUCCEEDED,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty, extract_result_text

SHELL_TOOLS = frozenset(("terminal", "execute_bash", "run"))


def get_report(native: dict[str, Any]) -> dict[str, Any]:
    """Return the report of an observation without its text; empty without a report."""
    for name in ("observation", "extras"):
        report = native.get(name)
        if report and type(report) is dict:
            return report
    return {}


def find_exit_code(native: dict[str, Any], report: dict[str, Any]) -> int | None:
    """Return the exit code that an observation or its report states, or None; -1 is none."""
    for holder in (report, report.get("metadata"), native):
        if type(holder) is dict and "exit_code" in holder:
            code = holder["exit_code"]
            if type(code) is int and code != -1:
                return code
    return None


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome."""
    entry = result.entry
    kind = entry.get("kind")
    if kind == "UserRejectObservation":
        return Outcome(DENIED)
    if kind == "AgentErrorEvent" or entry.get("name") == "error":
        return FAILED
    if entry.get("name") == "user_rejected":
        return Outcome(DENIED)
    report = get_report(entry)
    if report.get("timeout") is True:
        return Outcome(TIMED_OUT)
    code = find_exit_code(entry, report)
    if code is None and (ended := _classify_waiting(report)) is not None:
        return ended
    if report.get("is_error") is True:
        return Outcome(FAILURE, code)
    if code is not None:
        return classify_exit_code(code)
    tool = (result.call or {}).get("name")
    if report.get("is_error") is False and tool not in SHELL_TOOLS:
        return SUCCEEDED
    return UNKNOWN_OUTCOME


_STILL_WAITING = (
    ("[The command timed out after ", Outcome(TIMED_OUT)),
    ("[The command has no new output after ", Outcome(RUNNING)),
)


def _classify_waiting(report: dict[str, Any]) -> Outcome | None:
    """Return the outcome of a command that OpenHands stopped waiting for; None for another."""
    suffix = dict_or_empty(report.get("metadata")).get("suffix")
    if type(suffix) is not str:
        return None
    return next((outcome for start, outcome in _STILL_WAITING if start in suffix), None)


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, by the source of its event."""
    source = entry.get("source")
    if source == "hook":
        return STATED_HOOK
    if source == "environment":
        return STATED_HOST
    return infer_speaker(record)


def build_file_report(call: ToolCall) -> FileReport:
    """Return the text of the file before and after a call of the editor."""
    report = get_report(call.native)
    before, after, existed = (
        report.get(name) for name in ("old_content", "new_content", "prev_exist")
    )
    is_new = existed is False
    return FileReport(
        before=before if type(before) is str and not is_new else None,
        after=after if type(after) is str else None,
        created=is_new if type(existed) is bool else None,
    )


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, and its exit code where it is known."""
    code = find_exit_code(call.native, get_report(call.native))
    return ShellOutput(extract_result_text(call.native.get("output")), code)


def get_left_folder(entry: dict[str, Any]) -> str | None:
    """Return the folder of the shell after a command, or None if its result does not state it."""
    if entry.get("type") != "tool-result":
        return None
    folder = dict_or_empty(get_report(entry).get("metadata")).get("working_dir")
    return folder if type(folder) is str and folder else None

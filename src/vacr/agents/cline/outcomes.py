r"""How a tool call of Cline or Roo Code ended.

The SDK reports each operation of a call with a flag, and a command with its exit code:

    >>> from vacr.agents.cline.outcomes import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> def end(name, output):
    ...     result = {"output": output}
    ...     return classify_outcome(CallResult(result, result, {"name": name}, {}))[:2]
    >>> report = {"query": "make", "result": "", "error": "Command exited with code 2"}
    >>> end("run_commands", [{**report, "success": False}])
    ('error', 2)
    >>> end("editor", '{"query":"edit:a.py","result":"Edited a.py","success":true}')
    ('success', None)

A sub-agent states why it finished:

    >>> end("spawn_agent", '{"text":"Done.","iterations":3,"finishReason":"completed"}')
    ('success', None)

The extension writes a sentence. Only its first words count, because the rest may be a file:

    >>> end("execute_command", "Command failed with exit code 1.\nOutput:\nno")
    ('error', 1)
    >>> end("replace_in_file", "The user denied this operation. The file was not updated.")
    ('denied', None)
    >>> end("editor", 'Tool "editor" was denied by user')
    ('denied', None)
    >>> end("write_to_file", "The content was successfully saved to a.py.")
    ('success', None)
    >>> end("execute_command", "Command executed.\nOutput:\nok")
    ('', None)

| evidence | outcome |
|---|---|
| `is_error` of a result block | error |
| a report without success; several reports: one of them | error |
| `Command timed out` as the error of a report | timeout |
| `The user denied this operation.` | denied |
| the `finishReason` of a sub-agent: `completed`, `error`, `aborted` | success, error, interrupted |
| `The tool execution failed`, `Error`, a failed exit code, a tool that was not executed | error |
| a command that still runs | running |
| `exit code 0`; a file that was saved; numbered lines; a count of what was found | success |
| anything else, such as a command without an exit code | unknown |
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.cline.tools import STILL_RUNNING_START, parse_final_file, parse_reports
from vacr.agents.documents import parse_json_text
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    classify_exit_code,
)
from vacr.agents.tool_calls import dict_or_empty, extract_result_text

_SUB_AGENT_TOOL = "spawn_agent"
_FINISHES = {"completed": SUCCEEDED, "aborted": Outcome(INTERRUPTED), "error": FAILED}
"""The `finishReason` of a sub-agent → the outcome of its call."""
_EXIT_CODE = re.compile(r"Command exited with code (-?\d{1,10})\b")
_COMMAND_END = re.compile(
    r"(?:Command executed successfully \(exit code |Command failed with exit code "
    r"|Command executed in terminal[^\n]{0,1000}?Exit code: )(-?\d{1,10})\b"
)
_DENIED_TOOL = re.compile(r"(?:\{\"error\":\")?Tool \\?\"[\w.-]{1,80}\\?\" was denied by user")
_DENIED_STARTS = ("The user denied this operation",)
_FAILED_STARTS = (
    "The tool execution failed",
    "Error executing ",
    "Error: ",
    "<error_details>",
    "[ERROR]",
    "Missing value for required parameter",
    "Tool [",
)
_RUNNING_STARTS = (
    "Command is still running in ",
    "Command timed out after ",
)
_SAVED_STARTS = (
    "The content was successfully saved to ",
    "The user made the following updates to your content:",
)
_SHOWN_STARTS = re.compile(r"1 \| |\s*<file_write_result>|Found \d{1,6} results?\b")
"""A listing with numbered lines, or a search that counts what it found."""
_TIMEOUT_MARKS = ("timed out after ",)
_DENIED_MARKS = ("Tool call denied", "User rejected", "was denied by the user", "not approved")


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the result does not tell."""
    entry = result.entry
    if reports := parse_reports(entry.get("output")):
        return _classify_reports(reports)
    is_sub_agent = (result.call or {}).get("name") == _SUB_AGENT_TOOL
    if is_sub_agent and (finished := _classify_sub_agent(entry.get("output"))).status:
        return finished
    text = extract_result_text(entry.get("output"))
    stated = _classify_text(text)
    if entry.get("is-error") is True:
        return stated if stated.status not in (SUCCESS, RUNNING, "") else FAILED
    if stated.status:
        return stated
    if entry.get("is-error") is False:
        return SUCCEEDED
    return stated


def _classify_sub_agent(output: Any) -> Outcome:
    """Return the outcome of a sub-agent by the reason why it finished, or the unknown one."""
    reason = dict_or_empty(parse_json_text(output)).get("finishReason")
    return _FINISHES.get(reason, UNKNOWN_OUTCOME) if type(reason) is str else UNKNOWN_OUTCOME


def is_failed_result(result: dict[str, Any]) -> bool:
    """Return whether a result states that its call failed, was refused, or never ended."""
    outcome = classify_outcome(CallResult(result, result, None, {}))
    return outcome.status in (FAILURE, DENIED, INTERRUPTED, TIMED_OUT)


def _classify_reports(reports: list[dict[str, Any]]) -> Outcome:
    """Return the outcome of the operations of a call: the first failure, or success.

    An exit code counts only if the call had one operation.
    """
    for report in reports:
        if report["success"]:
            continue
        error = report.get("error")
        error = error if isinstance(error, str) else ""
        if any(mark in error for mark in _TIMEOUT_MARKS):
            return Outcome(TIMED_OUT)
        if any(mark in error for mark in _DENIED_MARKS):
            return Outcome(DENIED)
        code = _EXIT_CODE.search(error) if len(reports) == 1 else None
        return Outcome(FAILURE, int(code[1]) if code else None)
    if any(str(report.get("result")).startswith(STILL_RUNNING_START) for report in reports):
        return Outcome(RUNNING)
    return SUCCEEDED


def _classify_text(text: str) -> Outcome:
    """Return the outcome by the first words of a result of the extension."""
    if end := _COMMAND_END.match(text):
        code = int(end[1])
        return classify_exit_code(code)
    if text.startswith(_DENIED_STARTS) or _DENIED_TOOL.match(text):
        return Outcome(DENIED)
    if text.startswith(_FAILED_STARTS):
        return FAILED
    if text.startswith(_RUNNING_STARTS):
        return Outcome(RUNNING)
    is_saved = text.startswith(_SAVED_STARTS) or parse_final_file(text) is not None
    if is_saved or _SHOWN_STARTS.match(text):
        return SUCCEEDED
    return UNKNOWN_OUTCOME

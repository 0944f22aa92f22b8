"""How a tool call of OpenCode ended.

OpenCode reports an outcome in several places, and `completed` alone says little: a command that
fails is completed, too. In the order of their weight:

| evidence | outcome |
|---|---|
| `state.status: error`, with `metadata.interrupted` or the error of an abort | interrupted |
| `state.status: error`, with the error of a permission or a dismissed question | denied |
| `state.status: error`, with the error of a request that took too long | timeout |
| `state.status: error` otherwise; a call of `invalid`, which reports an impossible call | error |
| `bash`, `metadata.exit`: a number | success if it is 0, else error |
| `bash`, `metadata.exit: null`: the host stopped the command | see below |
| `bash` completed without `exit`: the user ran the command; nobody kept the code | unknown |
| `task` completed with `metadata.background` | running |
| another tool completed | success |

    >>> from vacr.agents.labels import CallResult
    >>> from vacr.agents.opencode.outcomes import classify_outcome
    >>> call = {"type": "tool-call", "name": "bash", "vacr": {"native": {"type": "tool"}}}
    >>> def end(status, output, **metadata):
    ...     entry = {"status": status, "output": output, "state": {"metadata": metadata}}
    ...     return classify_outcome(CallResult(entry, {}, call, {}))
    >>> outcome = end("completed", "no rule", exit=2)
    >>> outcome.status, outcome.exit_code
    ('error', 2)
    >>> end("error", "The user rejected permission to use this specific tool call.").status
    'denied'

The host appends the reason why it stopped a command to the output. A program can print the same
text, so it counts only at the end of the output and only where `exit` is null:

    >>> reason = "<shell_metadata>\\nUser aborted the command\\n</shell_metadata>"
    >>> end("completed", "ok\\n\\n" + reason, exit=None).status
    'interrupted'
    >>> end("completed", "ok\\n\\n" + reason, exit=0).status
    'success'

The words of an error count only for the tools of OpenCode itself, because a server or a plugin
writes the errors of its own tools. For those, `metadata.interrupted` or an aborted message counts.

A tool that is `pending` or `running` has no result; its call is labelled `no-result`.
"""

from __future__ import annotations

import re
from typing import Any

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
    parse_status_word,
)
from vacr.agents.lift import parse_names
from vacr.agents.tool_calls import dict_or_empty

SHELL_TOOLS = frozenset(("bash", "shell"))
TASK_TOOL = "task"
INVALID_TOOL = "invalid"
"""The tool that takes the place of a call whose tool or arguments are wrong."""
SCRIPT_TOOL = "execute"
"""The tool that runs calls of other tools; it is completed even if its script failed."""
ABORTED_MESSAGE = "MessageAbortedError"
_OWN_TOOLS = parse_names(
    """
    apply_patch bash batch codesearch edit execute glob grep invalid list ls lsp lsp_diagnostics
    lsp_hover multiedit patch plan_enter plan_exit question read shell skill task todoread todowrite
    webfetch websearch write
    """
)

_SUBTASK_PREFIX = "Tool execution failed: "
_DENIED_STARTS = (
    "The user rejected permission to use this ",
    "The user has specified a rule which prevents you from using this specific tool call.",
)
_DISMISSED_QUESTION = "The user dismissed this question"
_INTERRUPTED_ERRORS = frozenset(("Tool execution aborted", "Tool execution interrupted"))
_CANCELLED_TASK_ERRORS = frozenset(("Cancelled", "Task cancelled"))
_ABORT_ERRORS = frozenset(
    ("Aborted", "The operation was aborted.", "This operation was aborted", "AbortError")
)
"""Errors of an abort, or of a limit of time: they count only in a message that was aborted."""
_SERVER_TIMEOUT_ERROR = "MCP error -32001: Request timed out"
_TIMEOUT_ERROR = re.compile(
    r"\A(?:[\w -]{1,60} request timed out|Request timed out|The operation timed out\.?"
    rf"|{_SERVER_TIMEOUT_ERROR})\Z"
)

_REASON_TAGS = ("shell_metadata", "bash_metadata")
_ABORT_REASONS = ("User aborted the command", "(Command was aborted)")
_TIMEOUT_REASON = re.compile(
    r"(?:bash|shell) tool terminated command after exceeding timeout \d+ ms"
    r"|\(Command timed out after \d+ ms\)\Z"
)


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome."""
    entry = result.entry
    tool = (result.call or {}).get("name")
    metadata = _get_metadata(entry)
    exit_code = metadata.get("exit")
    code = exit_code if tool in SHELL_TOOLS and type(exit_code) is int else None
    status = parse_status_word(entry.get("status"))
    if entry.get("is-error") is True or status == FAILURE:
        return Outcome(_classify_error(result, tool, metadata), code)
    if status != SUCCESS:
        return Outcome(status, code)
    if tool == INVALID_TOOL or (tool == SCRIPT_TOOL and metadata.get("error") is True):
        return FAILED
    if code is not None:
        return classify_exit_code(code)
    if tool in SHELL_TOOLS and _is_part(result.call):
        return _classify_stopped_command(result, metadata)
    if tool == TASK_TOOL:
        return _classify_task(metadata)
    return SUCCEEDED


def _is_part(call: dict[str, Any] | None) -> bool:
    """Return whether a call is a part that OpenCode wrote, and not a call of a sample."""
    marks = dict_or_empty((call or {}).get("vacr"))
    return dict_or_empty(marks.get("native")).get("type") == "tool"


def _get_metadata(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the tool's report about a call: `metadata`, or `structured` in the later model.

    Return an empty dict without a report.
    """
    state = dict_or_empty(entry.get("state"))
    return dict_or_empty(state.get("metadata") or state.get("structured"))


def _classify_error(result: CallResult, tool: Any, metadata: dict[str, Any]) -> str:
    """Return the status of a failed call, by the error that the host wrote as its output."""
    if metadata.get("interrupted") is True:
        return INTERRUPTED
    error = result.entry.get("output")
    if isinstance(error, dict):
        error = error.get("message")
    if not isinstance(error, str):
        return FAILURE
    if error in _INTERRUPTED_ERRORS | _ABORT_ERRORS and _is_aborted(result.message):
        return INTERRUPTED
    if tool not in _OWN_TOOLS:
        return TIMED_OUT if error == _SERVER_TIMEOUT_ERROR else FAILURE
    error = error.removeprefix(_SUBTASK_PREFIX)
    if error.startswith(_DENIED_STARTS) or error == _DISMISSED_QUESTION:
        return DENIED
    if error in _INTERRUPTED_ERRORS or (tool == TASK_TOOL and error in _CANCELLED_TASK_ERRORS):
        return INTERRUPTED
    return TIMED_OUT if _TIMEOUT_ERROR.match(error) else FAILURE


def _classify_stopped_command(result: CallResult, metadata: dict[str, Any]) -> Outcome:
    """Return why a command has no exit code; unknown if the host does not record the code.

    Versions before 1.4 also have none for a command that a signal ended. Such a command may print
    a reason, and so choose between failures, but it failed in any case.
    """
    if metadata.get("timeout") is True:
        return Outcome(TIMED_OUT)
    if "exit" not in metadata:
        return UNKNOWN_OUTCOME
    reason = _find_stop_reason(result.entry.get("output"))
    if _TIMEOUT_REASON.match(reason):
        return Outcome(TIMED_OUT)
    if reason.endswith(_ABORT_REASONS) or _is_aborted(result.message):
        return Outcome(INTERRUPTED)
    return FAILED


def _find_stop_reason(output: Any) -> str:
    """Return the reason that the host put at the end of an output: a block, or the last line.

    Only the last tag that opens a block can be the host's. The program may have printed others.
    """
    if not isinstance(output, str):
        return ""
    for tag in _REASON_TAGS:
        if output.endswith(f"\n</{tag}>"):
            return output.rpartition(f"<{tag}>\n")[2].removesuffix(f"\n</{tag}>")
    return output.rpartition("\n")[2]


def _classify_task(metadata: dict[str, Any]) -> Outcome:
    """Return whether a sub-agent completed its task, or goes on in the background."""
    session_id = metadata.get("sessionId")
    task = session_id if isinstance(session_id, str) else ""
    if metadata.get("background") is True:
        return Outcome(RUNNING, left_running=task)
    return Outcome(SUCCESS, saw_end=task)


def _is_aborted(message: dict[str, Any]) -> bool:
    """Return whether the user stopped the model while it wrote a message."""
    error = message.get("error")
    return isinstance(error, dict) and error.get("name") == ABORTED_MESSAGE

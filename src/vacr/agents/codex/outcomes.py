"""How a call of Codex ended.

Codex keeps no flag for it in the result. The evidence lies in four places:

- events about the call (`exec_command_end`, `patch_apply_end`, `mcp_tool_call_end`,
  `dynamic_tool_call_response`, and completed items in newer versions): an exit code, a status, a
  success flag or an error;
- the lines that Codex writes before the output of a command: `Exit code: 1`, `Process exited with
  code 1`, or `Process running with session ID 7`. A later `write_stdin` with that id shows the end;
- the JSON object that the first versions wrote as the output, with the exit code in its metadata;
- Codex's own messages where a tool did not run or failed: `aborted by user after 6.2s`.

    >>> from vacr.agents.codex.outcomes import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> call = {"type": "tool-call", "name": "exec_command", "input": {"cmd": "make"}}
    >>> text = "Chunk ID: 1f0c2a\\nWall time: 0.2 seconds\\nProcess exited with code 2\\nOutput:\\n"
    >>> result = {"type": "tool-result", "output": text + "make: *** [all] Error 1"}
    >>> outcome = classify_outcome(CallResult(result, result, call, report={}))
    >>> outcome.status, outcome.exit_code
    ('error', 2)

Programs may print the same words. So headers count only at the very beginning of a result, and only
for tools whose results Codex begins itself:

    >>> call = {"type": "tool-call", "name": "mcp__notes__read", "input": {}}
    >>> classify_outcome(CallResult(result, result, call, report={})).status
    ''

An event that states a success beats such words, and so does a failure of a server's tool. A result
without its call has no text of Codex, because nobody knows which tool wrote it.
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.codex.tools import OutputHeader, parse_output_header, parse_wrapped_code
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
from vacr.agents.tool_calls import extract_result_text

# Codex writes the beginning of these tools' results, or all of it.
_PROCESS_TOOLS = frozenset(("exec_command", "write_stdin", "unified_exec"))
_COMMAND_TOOLS = _PROCESS_TOOLS | {"shell", "shell_command", "local_shell", "container.exec"}
_SCRIPT_TOOLS = frozenset(("exec", "wait"))
_PATCH_TOOL = "apply_patch"
# Their results are JSON objects or empty. Any other text is the message of a failure.
_OBJECT_TOOLS = parse_names(
    """
    assign_task close_agent followup_task interrupt_agent list_agents request_user_input
    resume_agent send_input send_message spawn_agent wait_agent
    """
)
_IMAGE_TOOL = "view_image"
_PLAN_TOOL = "update_plan"
_HOST_TOOLS = _COMMAND_TOOLS.union(
    _SCRIPT_TOOLS, _OBJECT_TOOLS, (_PATCH_TOOL, _IMAGE_TOOL, _PLAN_TOOL)
)

_SUCCESS_WITH_CODE = Outcome(SUCCESS, 0)
_STOPPED_STATUSES = (DENIED, INTERRUPTED, TIMED_OUT)
_TIMEOUT_CODE = 124
_TIMEOUT_LINE = re.compile(
    r"(?:Total output lines: \d+\n\n)?command timed out after \d+ milliseconds(?:\n|\Z)"
)
_ABORTED = re.compile(
    r"(?:Wall time: [\d.]+ seconds\naborted by user|aborted by user after [\d.]+s)\s*\Z"
)
_SCRIPT_HEADER = re.compile(
    r"Script (?:(completed)|(failed)|(terminated)|running with cell ID (\S+))(?:\n|\Z)"
)
_SCRIPT_STATUSES = (SUCCESS, FAILURE, INTERRUPTED, RUNNING)

_DENIALS = (
    "exec command rejected by user",
    "patch rejected",
    "rejected by user",
    "rejected by configuration",
    "approval policy is ",
    "Command blocked by PreToolUse hook",
    "Tool call blocked by PreToolUse hook",
    "This action was rejected due to unacceptable risk",
    "automatic approval review ",
    "user rejected MCP tool call",
)
_FAILURES = (
    "apply_patch verification failed",
    "apply_patch handler ",
    "apply_patch is unavailable",
    "error: ",
    "failed to parse ",
    "Failed to parse apply_patch",
    "execution error: ",
    "exec_command failed",
    "exec_command handler ",
    "failed in sandbox ",
    "sandbox error: ",
    "unified exec ",
    "unsupported payload for ",
    "write_stdin failed",
    "write_stdin handler ",
)
# Failures of commands that Codex did not let run. The message quotes an error of its own.
_QUOTED_DENIALS = ("Rejected(", "SandboxDenied", "sandbox denied")
_QUOTED_TIMEOUTS = ("Sandbox(Timeout", "command timed out")


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, by the events about it and by Codex's own part of its result.

    The outcome is unknown if the session has no evidence.
    """
    tool = _get_tool_name(result.call) if result.call else ""
    text = _get_first_text(result.entry.get("output"))
    by_text = _classify_text(tool, text, result) if tool else UNKNOWN_OUTCOME
    if not result.report:
        return by_text if by_text.status else _classify_members(result)
    reported = _classify_report(result.report)
    is_refined = tool in _HOST_TOOLS if reported.status else True
    if is_refined and reported.status != SUCCESS and by_text.status in _STOPPED_STATUSES:
        code = by_text.exit_code if reported.exit_code is None else reported.exit_code
        return by_text._replace(exit_code=code)
    if reported.status:
        if reported.exit_code is None and by_text.exit_code is not None:
            return by_text
        if by_text == reported:
            return by_text
        return Outcome(*reported[:2], by_text.left_running, by_text.saw_end)
    return by_text if by_text.status else _classify_members(result)


def _get_tool_name(call: dict[str, Any]) -> str:
    """Return the name of a tool, with its namespace if a server provides the tool."""
    payload = call.get("payload")
    namespace = payload.get("namespace") if isinstance(payload, dict) else None
    is_foreign = isinstance(namespace, str) and namespace.startswith("mcp__")
    return f"{namespace}{call['name']}" if is_foreign else str(call["name"])


# --- events and members ---


def _classify_report(report: dict[str, Any]) -> Outcome:
    """Return the outcome that events state about a call; unknown if they state none."""
    status = parse_status_word(report.get("status"))
    code = report.get("exit_code")
    if type(code) is int:
        if code == 0 and status == SUCCESS:
            return _SUCCESS_WITH_CODE
        is_stopped = status in _STOPPED_STATUSES
        return Outcome(status if is_stopped else SUCCESS if code == 0 else FAILURE, code)
    answer = report.get("result")
    answer = answer if isinstance(answer, dict) else {}
    accepted = answer.get("Ok", answer)
    if (
        report.get("success") is False
        or "Err" in answer
        or (isinstance(accepted, dict) and accepted.get("isError") is True)
    ):
        return Outcome(status if status not in ("", SUCCESS, RUNNING) else FAILURE)
    if status == "" and (report.get("success") is True or "Ok" in answer):
        status = SUCCESS
    return Outcome(status)


def _classify_members(result: CallResult) -> Outcome:
    """Return the outcome by the members of a result's item, or of the call that holds it.

    It is unknown without a member for it.
    """
    for holder in (result.entry, result.message):
        payload = holder.get("payload")
        members = {**holder.get("vacr", {}).get("native", {})}
        members |= payload if isinstance(payload, dict) else {}
        if type(members.get("success")) is bool:
            return SUCCEEDED if members["success"] else FAILED
        if status := parse_status_word(members.get("status")):
            return Outcome(status)
    output = result.entry.get("output")
    if isinstance(output, dict) and type(output.get("success")) is bool:
        return SUCCEEDED if output["success"] else FAILED
    return UNKNOWN_OUTCOME


# --- the text of a result ---


def _get_first_text(output: Any) -> str:
    """Return the text that a result begins with, or an empty text."""
    if isinstance(output, list):
        output = output[0] if output else ""
    if isinstance(output, dict):
        output = output.get("text", output.get("content"))
    return output if isinstance(output, str) else ""


def _classify_text(tool: str, text: str, result: CallResult) -> Outcome:
    """Return the outcome that Codex's own part of a result states; unknown without such a part."""
    if tool in _COMMAND_TOOLS:
        header = parse_output_header(text)
        if header is not None:
            return _classify_header(tool, header, text, result)
    if _ABORTED.match(text):
        return Outcome(INTERRUPTED)
    if text in (f"unsupported call: {tool}", f"unsupported custom tool call: {tool}"):
        return FAILED
    if tool not in _HOST_TOOLS:
        return UNKNOWN_OUTCOME
    if tool in _SCRIPT_TOOLS and not text.startswith("{"):
        return _classify_script(text, result)
    if tool not in _COMMAND_TOOLS:
        header = parse_output_header(text)
        if header is not None:
            return _classify_header(tool, header, text, result)
    code = parse_wrapped_code(text)
    if code is not None:
        return _judge_exit_code(code, extract_result_text(text))
    if tool in _OBJECT_TOOLS or tool == "wait":
        return _classify_object(tool, text)
    if tool == _IMAGE_TOOL:
        is_shown = isinstance(result.entry.get("output"), list) or text.startswith("attached ")
        return Outcome(SUCCESS if is_shown else _classify_message(text) or FAILURE)
    if tool == _PLAN_TOOL:
        return Outcome(SUCCESS if text == "Plan updated" else _classify_message(text) or FAILURE)
    if tool == _PATCH_TOOL and text.startswith("Success. Updated the following files:"):
        return SUCCEEDED
    return Outcome(_classify_message(text))


def _classify_header(tool: str, header: OutputHeader, text: str, result: CallResult) -> Outcome:
    """Return the outcome that the lines before the output of a command state.

    It is unknown if they state neither a running process nor an exit code.
    """
    if header.process:
        return Outcome(RUNNING, left_running=header.process)
    if header.code is None:
        # Codex applies a patch in a command itself. Its report is then the output.
        text = text[header.length :] if tool in _PROCESS_TOOLS else ""
        inner = parse_output_header(text)
        code = inner.code if inner else parse_wrapped_code(text)
        return UNKNOWN_OUTCOME if code is None else _judge_exit_code(code)
    process = _get_text_argument(result, "session_id")
    if header.code == 0:
        return Outcome(SUCCESS, 0, "", process) if process else _SUCCESS_WITH_CODE
    status = _judge_exit_code(header.code, text[header.length : header.length + 200]).status
    return Outcome(status, header.code, "", process)


def _judge_exit_code(code: int, output: str = "") -> Outcome:
    """Return the outcome of a command by its exit code: success for 0, else a failure.

    If Codex's line at the start of the output states it, the command timed out.
    """
    if code == _TIMEOUT_CODE and _TIMEOUT_LINE.match(output):
        return Outcome(TIMED_OUT, code)
    return classify_exit_code(code)


def _classify_script(text: str, result: CallResult) -> Outcome:
    """Return the outcome of a script, which may run on and end in a later call of `wait`."""
    header = _SCRIPT_HEADER.match(text)
    if header is None:
        return Outcome(_classify_message(text))
    status = _SCRIPT_STATUSES[(header.lastindex or 1) - 1]
    if status == RUNNING:
        return Outcome(RUNNING, left_running=f"cell {header[4]}")
    cell = _get_text_argument(result, "cell_id")
    return Outcome(status, saw_end=f"cell {cell}" if cell else "")


def _classify_object(tool: str, text: str) -> Outcome:
    """Return the outcome of a tool that answers with an object; a wait may end too early."""
    if text and not text.startswith("{"):
        return Outcome(_classify_message(text) or FAILURE)
    is_early = tool in ("wait", "wait_agent") and text.endswith('"timed_out":true}')
    return Outcome(RUNNING if is_early else SUCCESS)


def _classify_message(text: str) -> str:
    """Return the status that a message of Codex stands for, or an empty text."""
    if text == "aborted":
        return INTERRUPTED
    if text.startswith(_DENIALS) or (text.startswith("`") and "` rejected: " in text):
        return DENIED
    if text.endswith(("was cancelled before receiving a response", "user cancelled MCP tool call")):
        return INTERRUPTED
    if not text.startswith(_FAILURES):
        return ""
    # The error follows the command, which may contain the same words.
    error = text.rpartition("`: ")[2]
    if any(phrase in error for phrase in _QUOTED_DENIALS):
        return DENIED
    return TIMED_OUT if any(phrase in error for phrase in _QUOTED_TIMEOUTS) else FAILURE


def _get_text_argument(result: CallResult, name: str) -> str:
    """Return an argument of the call that is a text or an integer, as text; empty without it."""
    arguments = result.call["input"] if result.call else None
    value = arguments.get(name) if isinstance(arguments, dict) else None
    return str(value) if type(value) in (int, str) else ""

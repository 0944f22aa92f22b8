"""How a tool call of Claude Code ended.

Claude Code writes `is_error: true` on every failure: in all real sessions, every result whose
`toolUseResult` is a text (its form of an error) has the flag, and its source makes no error without
it. So a result without the flag succeeded, unless `toolUseResult` knows better. The flag alone says
little. More evidence separates a refusal from a crash:

| evidence | status |
|---|---|
| `toolDenialKind`, `permissionDecision`, or a sentence about permission | `denied` |
| `toolDenialKind: interrupted`, `interrupted: true`, or a sentence | `interrupted` |
| `Exit code 143` with `Command timed out after …`, or `timedOut: true` | `timeout` |
| `backgroundTaskId`, an agent that was launched | `running`, until a notice states the end |
| `Exit code N` above the output of a shell, or any other flagged result | `error` |
| a return code with a meaning, such as "No matches found" | `error`, exit code 1 |

    >>> from vacr.agents.claude_code.outcomes import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> def run(output, tool="Bash", **members):
    ...     result = {"type": "tool-result", "output": output, "is-error": True}
    ...     message = {"type": "user", "children": [result], "version": "2.1.200", **members}
    ...     outcome = classify_outcome(CallResult(result, message, {"name": tool}, {}))
    ...     return outcome.status, outcome.exit_code
    >>> run("Exit code 2\\nmake: *** No rule")
    ('error', 2)
    >>> run("Exit code 143\\nCommand timed out after 2m 0s")
    ('timeout', 143)
    >>> run("Permission denied", toolDenialKind="user-rejected")
    ('denied', None)

Only a shell's first line counts. Another tool may print the same text:

    >>> run("Exit code 2", tool="mcp__ci__status")
    ('error', None)

A server of tools may write any sentence of Claude Code, and so may a command of a version that
wrote its output without a header. There, only members count that Claude Code itself writes:

    >>> refusal = "The user doesn't want to proceed with this tool use."
    >>> run(refusal, tool="mcp__ci__status")
    ('error', None)
    >>> run(refusal, tool="mcp__ci__status", toolUseResult="User rejected tool use")
    ('denied', None)
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
    parse_stated_outcome,
    parse_status_word,
)
from vacr.agents.tool_calls import dict_or_empty

SHELL_TOOLS = frozenset(("Bash", "PowerShell"))
AGENT_TOOLS = frozenset(("Agent", "Task", "Workflow"))
KILL_TOOLS = frozenset(("KillBash", "KillShell", "TaskStop"))
_MCP_PREFIX = "mcp__"

_STATUSES_BY_DENIAL = {
    "user-rejected": DENIED,
    "permission-rule": DENIED,
    "automode-blocked": DENIED,
    "automode-unavailable": DENIED,
    "automode-parsing-error": DENIED,
    "interrupted": INTERRUPTED,
    "cancelled": INTERRUPTED,
}
"""The values of `toolDenialKind`."""

# Older versions put the output of a failed command first, without a header.
_FIRST_VERSION_WITH_HEADER = (2, 0, 30)
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_EXIT_CODE_HEADER = re.compile(r"Exit code (-?\d{1,10})(?:\r?\n|\Z)")
_TIMEOUT_EXIT_CODE = 143
_TIMEOUT_LINE = re.compile(
    r"Command timed out after (?:\d{1,6}d )?(?:\d{1,6}h )?(?:\d{1,6}m )?"
    r"\d{1,9}(?:\.\d{1,3})?m?s\r?(?:\n|\Z)"
)
_INTERRUPTION_LINE = re.compile(r"\[Request interrupted by user(?: for tool use)?\]\r?(?:\n|\Z)")

_INTERRUPTION_STARTS = (
    "[Request interrupted by user",
    "[Request interrupted: ",
    "[Tool call interrupted: ",
    "[Tool call did not complete: ",
    "[Tool call skipped: ",
    "[Tool call not completed: ",
    "[Tool call result not in this copy: ",
    "[Agent call interrupted: ",
    "The user doesn't want to take this action right now.",
    "<tool_use_error>Cancelled: parallel tool call",
    "<tool_use_error>Sibling tool call errored",
)
_STOPPED_WHILE_RUNNING = "Correction to the text above: this call was stopped while running"
_REJECTION = "User rejected tool use"
"""The `toolUseResult` of a call that a person refused."""
_DENIAL_STARTS = (
    "The user doesn't want to proceed with this tool use.",
    "The agent proposed a plan that was rejected by the user.",
    "Permission for this tool use was denied.",
    "Permission for this action has been denied.",
    "Permission for this action was denied by ",
    "This tool call was refused and did not run:",
    "Execution stopped by PreToolUse hook",
)
_DENIAL_LINE = re.compile(
    r"Claude requested permissions to .{1,2000}, but you haven't granted it yet\."
    r"|Permission to .{1,2000} has been denied"
    r"|PreToolUse:\S{1,200} (?:hook error:|operation blocked by hook:)"
    r"|.{1,2000} was blocked\. For security, Claude Code may only "
    r"|This (?:\S+ )?command requires approval"
    r"|This \S+ command contains multiple operations\. The following parts? requires? approval:"
    r"|(?:Current permission mode|Permission rule|Hook|Classifier|Tool) .{0,500}"
    r" requires? approval for this "
)


def is_refusal(tool: str, output: str, tool_use_result: Any) -> bool:
    """Return whether a result says in Claude Code's own words that the tool did not run.

    Such a result may lack the flag `is_error`. A shell and an MCP server print texts of other
    programs, which may have the same words: for them only the `toolUseResult` counts.
    """
    if tool_use_result == _REJECTION:
        return True
    if tool in SHELL_TOOLS or tool.startswith(_MCP_PREFIX):
        return False
    return output.startswith((*_DENIAL_STARTS, *_INTERRUPTION_STARTS))


_EXIT_ONE_MEANINGS = frozenset(
    (
        "No matches found",
        "No matching files found",
        "Files differ",
        "Some directories were inaccessible",
        "Condition is false",
    )
)
"""The values of `returnCodeInterpretation` that Claude Code writes for exit code 1 and no other."""
_LAUNCH_STATUSES = frozenset(("async_launched", "remote_launched", "teammate_spawned"))
_PROCESS_STATUSES = {"pending": RUNNING}
"""Words about a background process that other agents do not use."""

_NOTICE_KIND = "task-notification"
_NOTICE_START = re.compile(r"<task-notification>\s*")
_NOTICE_LINE = re.compile(r"<(task-id|tool-use-id|task-type|output-file|status)>([^<\n]*)</\1>\s*")
_COMMAND_SUMMARY = re.compile(
    r'<summary>Background command ".*" (?:completed \(exit code (-?\d{1,10})\)'
    r"|failed with exit code (-?\d{1,10}))</summary>",
    re.DOTALL,
)


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended.

    The outcome is unknown where a line has no message and no flag, and where a call looked at a
    background process and reports no known state.
    """
    entry, message = result.entry, result.message
    if message is entry:
        return parse_stated_outcome(entry)
    tool = str((result.call or {}).get("name", ""))
    report = _get_tool_use_result(message)
    if entry.get("is-error") is True:
        return _find_failure(_get_first_text(entry.get("output")), tool, report, message)
    denial = _find_denial(message)
    if denial:
        return Outcome(denial)
    if isinstance(report, dict) and not tool.startswith(_MCP_PREFIX):
        return _find_reported_outcome(report, tool)
    if message["type"] == "assistant":
        return _find_server_outcome(entry.get("output"))
    return SUCCEEDED


def _find_denial(message: dict[str, Any]) -> str:
    """Return the status that the member about a refusal states, or an empty text without one."""
    kind = message.get("toolDenialKind")
    if isinstance(kind, str) and kind in _STATUSES_BY_DENIAL:
        return _STATUSES_BY_DENIAL[kind]
    if "permissionDecision" not in message:
        return ""
    decision = dict_or_empty(message["permissionDecision"]).get("decision")
    return {"reject": DENIED, "cancelled": INTERRUPTED}.get(str(decision), "")


def _get_tool_use_result(message: dict[str, Any]) -> Any:
    """Return the member that describes the result of a message, if the message has one result.

    Return None if the message has several results, or no such member.
    """
    report = message.get("toolUseResult")
    children = message.get("children", ())
    if report is None or len(children) == 1:
        # The only child is the result itself.
        return report
    results = [child for child in children if child["type"] == "tool-result"]
    return report if len(results) == 1 else None


def _get_first_text(output: Any) -> str:
    """Return an output that is text, or the text of its first block; empty for any other output."""
    if isinstance(output, list) and output:
        output = dict_or_empty(output[0]).get("text")
    return output if isinstance(output, str) else ""


# --- results with the flag ---


def _find_failure(text: str, tool: str, report: Any, message: dict[str, Any]) -> Outcome:
    """Return why a call failed, by the sentences that Claude Code itself writes.

    Without such a sentence, it is a plain failure. `report` is the `toolUseResult`.
    """
    exit_code, body = _split_exit_code(text, tool, message)
    denial = _find_denial(message)
    if denial:
        return Outcome(denial, exit_code)
    if dict_or_empty(report).get("interrupted") is True:
        return Outcome(INTERRUPTED, exit_code)
    if exit_code is not None:
        # Claude Code puts its own line between the header and the output of the command.
        if _INTERRUPTION_LINE.match(body):
            return Outcome(INTERRUPTED, exit_code)
        if exit_code == _TIMEOUT_EXIT_CODE and _TIMEOUT_LINE.match(body):
            return Outcome(TIMED_OUT, exit_code)
        return Outcome(FAILURE, exit_code)
    if _may_be_output(tool, message) and not _is_written_by_host(text, report):
        return FAILED
    if text.startswith(_INTERRUPTION_STARTS) or _STOPPED_WHILE_RUNNING in text[:600]:
        return Outcome(INTERRUPTED)
    if report == _REJECTION or _is_denial(text):
        return Outcome(DENIED)
    if tool in SHELL_TOOLS and _TIMEOUT_LINE.match(text):
        return Outcome(TIMED_OUT)
    return FAILED


def _split_exit_code(text: str, tool: str, message: dict[str, Any]) -> tuple[int | None, str]:
    """Return the exit code in the first line of a failed shell call, and the text after it.

    Return None and the whole text for other tools, and for a text without that line.
    """
    if tool not in SHELL_TOOLS:
        return None, text
    if not _has_header(message):
        return None, text
    header = _EXIT_CODE_HEADER.match(text)
    return (int(header[1]), text[header.end() :]) if header else (None, text)


def _has_header(message: dict[str, Any]) -> bool:
    """Return whether the version that wrote a message puts a header above failed output.

    Return True if the version is unknown.
    """
    version = _VERSION.match(str(message.get("version", "")))
    return not version or tuple(map(int, version.groups())) >= _FIRST_VERSION_WITH_HEADER


def _may_be_output(tool: str, message: dict[str, Any]) -> bool:
    """Return whether a program may have written the beginning of a failed result."""
    return tool.startswith(_MCP_PREFIX) or (tool in SHELL_TOOLS and not _has_header(message))


def _is_written_by_host(text: str, report: Any) -> bool:
    """Return whether `toolUseResult` shows that Claude Code wrote a text.

    It repeats the error of a tool after `Error: `, but not Claude Code's own.
    """
    if not isinstance(report, str):
        return False
    return report == _REJECTION or text == f"<tool_use_error>{report}</tool_use_error>"


def _is_denial(text: str) -> bool:
    """Return whether a text is a refusal by Claude Code."""
    return text.startswith(_DENIAL_STARTS) or bool(_DENIAL_LINE.match(text.partition("\n")[0]))


# --- results without the flag ---


def _find_reported_outcome(report: dict[str, Any], tool: str) -> Outcome:
    """Return the outcome that `toolUseResult` describes; success if it has no sign of another."""
    if report.get("interrupted") is True:
        return Outcome(INTERRUPTED)
    task_id = report.get("backgroundTaskId")
    if isinstance(task_id, str) and task_id:
        return Outcome(RUNNING, left_running=task_id)
    if report.get("timedOut") is True:
        return Outcome(TIMED_OUT)
    meaning = report.get("returnCodeInterpretation")
    if isinstance(meaning, str) and meaning in _EXIT_ONE_MEANINGS:
        return Outcome(FAILURE, exit_code=1)
    if report.get("success") is False:
        return FAILED
    if "retrieval_status" in report:
        task = dict_or_empty(report.get("task"))
        return _find_process_outcome(task, task.get("task_id"))
    if isinstance(report.get("shellId"), str):
        return _find_process_outcome(report, report["shellId"])
    if tool in KILL_TOOLS:
        killed = report.get("task_id") or report.get("shell_id")
        return Outcome(SUCCESS, saw_end=killed if isinstance(killed, str) else "")
    if tool in AGENT_TOOLS:
        return _find_agent_outcome(report)
    return SUCCEEDED


def _find_process_outcome(process: dict[str, Any], process_id: Any) -> Outcome:
    """Return the state of a background process, as a call that looked at it reports.

    The outcome is unknown if the report has no known state.
    """
    process_id = process_id if isinstance(process_id, str) else ""
    word, exit_code = process.get("status"), process.get("exitCode")
    status = parse_status_word(word) or _PROCESS_STATUSES.get(str(word), "")
    if status == RUNNING:
        return Outcome(RUNNING, left_running=process_id)
    if not status:
        return UNKNOWN_OUTCOME
    if type(exit_code) is not int:
        return Outcome(status, saw_end=process_id)
    if status in (SUCCESS, FAILURE):
        status = FAILURE if exit_code else SUCCESS
    return Outcome(status, exit_code, saw_end=process_id)


def _find_agent_outcome(report: dict[str, Any]) -> Outcome:
    """Return how a sub-agent ended, or that it runs on; success if its status is unknown."""
    status = report.get("status")
    if isinstance(status, str) and status in _LAUNCH_STATUSES:
        task_id = report.get("agentId") or report.get("taskId")
        return Outcome(RUNNING, left_running=task_id if isinstance(task_id, str) else "")
    return Outcome(parse_status_word(status) or SUCCESS)


def _find_server_outcome(output: Any) -> Outcome:
    """Return the outcome of a tool that ran at the provider: an error object, or a return code.

    Without either, the call succeeded.
    """
    blocks = output if isinstance(output, list) else [output]
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if str(block.get("type", "")).endswith("_tool_result_error"):
            return FAILED
        return_code = block.get("return_code")
        if type(return_code) is int and str(block.get("type", "")).endswith("_result"):
            return classify_exit_code(return_code)
    return SUCCEEDED


# --- notices of background tasks ---


def parse_task_notice(entry: dict[str, Any]) -> Outcome:
    """Return how a background task ended, if an entry is Claude Code's notice of its end.

    A person may paste a notice, so it counts only where Claude Code states that it sent the text.
    The outcome is unknown for any other entry.
    """
    text = _get_notice_text(entry)
    opening = _NOTICE_START.match(text)
    if opening is None:
        return UNKNOWN_OUTCOME
    members: dict[str, str] = {}
    place = opening.end()
    # The summary and the result come after these lines, and quote the model.
    while line := _NOTICE_LINE.match(text, place):
        members.setdefault(line[1], line[2])
        place = line.end()
    task_id, status = members.get("task-id", ""), parse_status_word(members.get("status"))
    if not task_id or status in ("", RUNNING):
        return UNKNOWN_OUTCOME
    summary = _COMMAND_SUMMARY.match(text, place) if text.count("</summary>") == 1 else None
    if summary is None or status not in (SUCCESS, FAILURE):
        return Outcome(status, saw_end=task_id)
    exit_code = int(summary[1] or summary[2])
    return Outcome(FAILURE if exit_code else SUCCESS, exit_code, saw_end=task_id)


def _get_notice_text(entry: dict[str, Any]) -> str:
    """Return the text that Claude Code sent as a notice: a message, or an attachment.

    Return an empty text if the entry is not a notice.
    """
    if entry["type"] == "user":
        is_notice = dict_or_empty(entry.get("origin")).get("kind") == _NOTICE_KIND
        return _get_first_text(entry.get("content")) if is_notice else ""
    attachment = dict_or_empty(dict_or_empty(entry.get("data")).get("attachment"))
    is_notice = attachment.get("commandMode") == _NOTICE_KIND
    return _get_first_text(attachment.get("prompt")) if is_notice else ""

"""How the tool calls of Copilot CLI ended.

A result states `success`, but for a command that only means that it ran: the exit code is a member
of its own or, in older versions, the last line of the output. A command or a sub-agent in the
background ends in a later call or in a notice.

    >>> from vacr.agents.copilot.outcomes import parse_shell_end
    >>> parse_shell_end("2 failed\\n<shellId: 3 completed with exit code 1>")
    ShellEnd(text='2 failed', exit_code=1, shell='3', is_running=False, is_stopped=False)
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from vacr.agents.labels import (
    DENIED,
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
from vacr.agents.tool_calls import dict_or_empty

SHELL_TOOLS = frozenset(("bash", "powershell", "shell", "local_shell"))
FOLLOWING_TOOLS = frozenset(
    f"{verb}_{shell}" for verb in ("read", "write", "stop") for shell in ("bash", "powershell")
)
"""Tools that look at a command which runs on, or end it."""
ERROR_CODES = {
    "denied": DENIED,
    "rejected": DENIED,
    "timeout": TIMED_OUT,
    "timed_out": TIMED_OUT,
    "aborted": INTERRUPTED,
    "cancelled": INTERRUPTED,
    "canceled": INTERRUPTED,
}
"""Code of an error → status; all other codes are failures."""
_ENDED = re.compile(
    r"(?:\A|\n)<(?:shellId: ([^\n<>]{1,80}) completed|exited) with exit code (-?\d{1,10})>\s*\Z"
)
_STOPPED = re.compile(r"(?:\A|\n)<command with id: ([^\n<>]{1,80}) stopped>\s*\Z")
_RUNNING = re.compile(
    r"(?:\A|\n)<command (?:started in background with shellId: ([^\s<>]{1,80})>"
    r"|with shellId: ([^\n<>]{1,80}?) is still running\b[^<>]*>)\s*\Z"
)
_AGENT_STARTED = re.compile(
    r"Agent started in background with agent_id: ([^\s]{1,200}?)\.(?:\s|\Z)"
)
_AGENT_ENDED = re.compile(r"Agent (completed|failed)\. agent_id: ([^\s,]{1,200}),")


class ShellEnd(NamedTuple):
    """The host's last line of a command's output, and the output before it."""

    text: str
    exit_code: int | None = None
    shell: str = ""
    is_running: bool = False
    is_stopped: bool = False


def parse_shell_end(text: str) -> ShellEnd | None:
    """Parse the host's last line of a command's output, or return None without one."""
    if not text.rstrip().endswith(">"):
        return None
    if ended := _ENDED.search(text):
        return ShellEnd(text[: ended.start()], int(ended[2]), ended[1] or "")
    if running := _RUNNING.search(text):
        shell = running[1] or running[2]
        return ShellEnd(text[: running.start()], shell=shell, is_running=True)
    if stopped := _STOPPED.search(text):
        return ShellEnd(text[: stopped.start()], shell=stopped[1], is_stopped=True)
    return None


def get_exit_code(data: dict[str, Any]) -> int | None:
    """Return the exit code that a result states in a member of its own, or None."""
    code = dict_or_empty(data.get("shellExecution")).get("exitCode")
    return code if type(code) is int else None


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended; unknown without evidence."""
    data = dict_or_empty(result.entry.get("data"))
    success = data.get("success")
    output = result.entry.get("output")
    text = output if type(output) is str else ""
    if success is False:
        return _classify_failure(data, result.report)
    if success is not True:
        return UNKNOWN_OUTCOME
    name = "" if result.call is None else result.call.get("name")
    if name in SHELL_TOOLS:
        return _classify_command(data, text)
    if name in FOLLOWING_TOOLS:
        return _classify_look(text)
    if name in ("task", "read_agent"):
        return _classify_agent(text)
    return SUCCEEDED


def _classify_failure(data: dict[str, Any], report: dict[str, Any]) -> Outcome:
    """Return the outcome of a failed call, by a refusal or the code of its error."""
    if report.get("permission") or data.get("permission"):
        return Outcome(DENIED)
    code = dict_or_empty(data.get("error")).get("code")
    status = ERROR_CODES.get(code, FAILURE) if type(code) is str else FAILURE
    return Outcome(status, exit_code=get_exit_code(data))


def _classify_command(data: dict[str, Any], text: str) -> Outcome:
    """Return the outcome of a command, by its exit code; `success` says only that it ran."""
    end = parse_shell_end(text)
    code = get_exit_code(data)
    if code is None and end is not None:
        code = end.exit_code
    if code is not None:
        return classify_exit_code(code)
    if end is not None and end.is_running:
        return Outcome(RUNNING, left_running=_name_shell(end.shell))
    return UNKNOWN_OUTCOME


def _classify_look(text: str) -> Outcome:
    """Return the outcome of a look at a command that ran on."""
    end = parse_shell_end(text)
    if end is None:
        return SUCCEEDED
    if end.is_running:
        return Outcome(RUNNING, left_running=_name_shell(end.shell))
    shell = _name_shell(end.shell) if end.shell else ""
    if end.is_stopped:
        return Outcome(SUCCESS, saw_end=shell)
    return Outcome(FAILURE if end.exit_code else SUCCESS, exit_code=end.exit_code, saw_end=shell)


def _classify_agent(text: str) -> Outcome:
    """Return the outcome of a call that starts a sub-agent or looks at it."""
    if started := _AGENT_STARTED.match(text):
        return Outcome(RUNNING, left_running=_name_agent(started[1]))
    if ended := _AGENT_ENDED.match(text):
        status = SUCCESS if ended[1] == "completed" else FAILURE
        return Outcome(status, saw_end=_name_agent(ended[2]))
    return SUCCEEDED


def parse_task_notice(entry: dict[str, Any]) -> Outcome:
    """Return how a command or sub-agent in the background ended, if an entry is the notice of it.

    Return the unknown outcome for any other entry.
    """
    if entry.get("event-type") != "system.notification":
        return UNKNOWN_OUTCOME
    kind = dict_or_empty(dict_or_empty(entry.get("data")).get("kind"))
    shell, agent = kind.get("shellId"), kind.get("agentId")
    if kind.get("type") == "shell_completed" and type(shell) is str:
        code = kind.get("exitCode")
        if type(code) is not int:
            return Outcome(saw_end=_name_shell(shell))
        status = FAILURE if code else SUCCESS
        return Outcome(status, exit_code=code, saw_end=_name_shell(shell))
    if kind.get("type") == "agent_completed" and type(agent) is str:
        return Outcome(parse_status_word(kind.get("status")), saw_end=_name_agent(agent))
    return UNKNOWN_OUTCOME


def _name_shell(shell: str) -> str:
    """Return the name of a shell that no sub-agent has."""
    return f"shell {shell}"


def _name_agent(agent: str) -> str:
    """Return the name of a sub-agent that no shell has."""
    return f"agent {agent}"

r"""The results of Kimi Code's tools: how a call ended, and the lines of a file.

A result of a failed call has a flag, and the last line of a command's output states how it ended:

    >>> from vacr.agents.kimi_code.tools import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> event = {"type": "tool.result", "result": {"isError": True}}
    >>> entry = {"output": "no rule\nCommand failed with exit code: 2.", "event": event}
    >>> classify_outcome(CallResult(entry, entry, {"name": "Bash"}, {}))[:2]
    ('error', 2)
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.file_tools import ShellOutput
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
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty, extract_result_text
from vacr.edits import FileAction, ObservedLines

_SHELL_TOOL = "Bash"
_EXIT_LINE = re.compile(r"(?:\A|\n)Command failed with exit code: (-?\d{1,10})\.\Z")
_TIMEOUT_LINE = re.compile(r"(?:\A|\n)Command killed by timeout \([^()\n]{1,40}\)\Z")
_INTERRUPT_LINE = re.compile(r"(?:\A|\n)Interrupted by user\Z")
_DONE_TEXT = "Command executed successfully."
_EMPTY_FAILURE = re.compile(r"Process exited with code -?\d{1,10}\Z")
_CLOSED_TEXT = "Session closed"
"""The result of a call that the program stopped because it ended."""
_BACKGROUND_START = re.compile(r"task_id: ([^\n]+)\npid: \d+\n(?:[^\n]*\n)?status: running\n")
TASK_END = "task.terminated"
"""The event of the end of a command in the background."""
_DECISIONS = {"rejected": DENIED, "cancelled": INTERRUPTED}
"""The answer to a request for a permission → the outcome of the call."""


def _get_result(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a result besides its output; empty without any."""
    return dict_or_empty(dict_or_empty(entry.get("event")).get("result"))


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the session does not tell."""
    entry = result.entry
    decision = result.report.get("decision")
    if type(decision) is str and decision in _DECISIONS:
        return Outcome(_DECISIONS[decision])
    text = extract_result_text(entry.get("output"))
    is_shell = (result.call or {}).get("name") == _SHELL_TOOL
    if "event" not in entry:
        return UNKNOWN_OUTCOME  # A message of the context has no flag.
    if _get_result(entry).get("isError") is not True:
        started = _BACKGROUND_START.match(text) if is_shell else None
        return Outcome(RUNNING, left_running=started[1]) if started else SUCCEEDED
    if text == _CLOSED_TEXT:
        return Outcome(INTERRUPTED)
    if is_shell:
        if line := _EXIT_LINE.search(text):
            return Outcome(FAILURE, int(line[1]))
        if _TIMEOUT_LINE.search(text):
            return Outcome(TIMED_OUT)
        if _INTERRUPT_LINE.search(text):
            return Outcome(INTERRUPTED)
    return FAILED


def parse_task_notice(entry: dict[str, Any]) -> Outcome:
    """Return how a command in the background ended, if an entry is the event of its end."""
    if entry.get("event-type") != TASK_END:
        return UNKNOWN_OUTCOME
    info = dict_or_empty(dict_or_empty(entry.get("data")).get("info"))
    task, code = info.get("taskId"), info.get("exitCode")
    if type(task) is not str or type(code) is not int:
        return UNKNOWN_OUTCOME
    return Outcome(FAILURE if code else SUCCESS, code, saw_end=task)


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the host's last line, and its exit code if stated."""
    text, code = call.output, None
    if _get_result(call.native).get("isError") is True:
        line = _EXIT_LINE.search(text)
        code = int(line[1]) if line else None
        for pattern in (_EXIT_LINE, _TIMEOUT_LINE, _INTERRUPT_LINE):
            text = pattern.sub("", text)
        if _EMPTY_FAILURE.match(text):
            text = ""
    if text == _DONE_TEXT:
        text = ""
    return ShellOutput(text, code=code, ended=not _BACKGROUND_START.match(text))


# --- reads ---

_NUMBERED_LINE = re.compile(r" *(\d{1,9})\t(.*)")
_NOTE = re.compile(r"(?:<system>)?(\d{1,9}) lines? read from file starting from line (\d{1,9})\.")
_END_NOTE = "End of file reached."
_CUT_NOTE = "truncated"
_MAX_LINE = 2000
"""Kimi Code cuts longer lines."""


def parse_shown_file(call: ToolCall, path: str) -> list[FileAction]:
    """Return the lines that a read showed; empty if their numbers contradict its note."""
    return parse_numbered_file(path, call.output, str(_get_result(call.native).get("note", "")))


def parse_numbered_file(path: str, text: str, note: str) -> list[FileAction]:
    """Return the numbered lines of a file; empty if their numbers contradict the host's note."""
    lines: list[str] = []
    first = 0
    for row in text.removesuffix("\n").split("\n"):
        match = _NUMBERED_LINE.fullmatch(row)
        if match is None or (lines and int(match[1]) != first + len(lines)):
            return []
        first = first or int(match[1])
        lines.append(f"{match[2]}\n")
    stated = _NOTE.match(note)
    if stated and (int(stated[1]), int(stated[2])) != (len(lines), first):
        return []
    if any(len(line) > _MAX_LINE for line in lines) or _CUT_NOTE in note.lower():
        return []
    ends = _END_NOTE in note
    return [ObservedLines(path, first, lines, last=ends, unended=True)]

"""Who wrote a user message of gptme, and how a tool call ended.

A result is text without a flag. Only the beginnings that gptme itself writes count, and the lines
that it writes below the fenced output of a command.

| evidence | outcome |
|---|---|
| a beginning of `DENIALS` | denied |
| a beginning of `FAILURES` | error |
| `shell`: `Command timed out`, `Command interrupted` | timeout, interrupted |
| `shell`: `Return code: N` below the output | error, with the code |
| `shell`: another output of a command that ran | success |
| a beginning of `SUCCESSES` | success |
| otherwise | unknown |

    >>> from vacr.agents.gptme.labels import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> call = {"type": "tool-call", "name": "shell", "input": {"command": "make"}}
    >>> text = "Ran command: `make`\\n\\n```stderr\\nno rule\\n```\\n\\nReturn code: 2\\n"
    >>> classify_outcome(CallResult({"output": text}, {}, call, {}))
    Outcome(status='error', exit_code=2, left_running='', saw_end='')
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.file_tools import ShellOutput
from vacr.agents.labels import (
    DENIED,
    FAILED,
    INFERRED_HOST,
    INTERRUPTED,
    SUCCEEDED,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.tool_calls import ToolCall

DENIALS = (
    "Operation aborted: user chose not to run",
    "Aborted, user chose not to run",
    "Command denied: ",
    "Save aborted: user refused",
    "Append aborted: user refused",
)
FAILURES = (
    "Error during execution: ",
    "Error executing tool ",
    "Error: ",
    "Save aborted: ",
    "Append aborted: ",
    "No content provided",
    "No path provided",
)
SUCCESSES = {
    "save": ("Saved to ",),
    "append": ("Appended to ",),
    "patch": ("Patch successfully applied to ",),
}
"""Tool → the beginnings of results that state a success."""
SHELL_TOOL = "shell"
HOST_START = "<system>"
"""The beginning of user messages that gptme writes."""

_RAN = re.compile(r"Ran (?:allowlisted )?command(?::|\n)")
_CODE_LINE = re.compile(r"(?:\A|\n)Return code: (-?\d{1,10})\n")
_STREAM = re.compile(r"^(`{3,})(stdout|stderr)\n(.*?)\n?^\1$", re.DOTALL | re.MULTILINE)
_CUT = re.compile(r"^\.\.\. \(truncated|tokens truncated|lines truncated", re.MULTILINE)


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome."""
    output = result.entry.get("output")
    text = output if type(output) is str else ""
    tool = (result.call or {}).get("name")
    if text.startswith(DENIALS):
        return Outcome(DENIED)
    if text.startswith(FAILURES):
        return FAILED
    if tool == SHELL_TOOL:
        return _classify_command(text)
    if type(tool) is str and text.startswith(SUCCESSES.get(tool, ("\0",))):
        return SUCCEEDED
    return UNKNOWN_OUTCOME


def _classify_command(text: str) -> Outcome:
    """Return how a command ended, by the words of the host around its output."""
    if text.startswith("Command timed out"):
        return Outcome(TIMED_OUT)
    if text.startswith("Command interrupted"):
        return Outcome(INTERRUPTED)
    if not _RAN.match(text):
        return UNKNOWN_OUTCOME
    code = find_return_code(text)
    return classify_exit_code(code)


def find_return_code(text: str) -> int:
    """Return the code below the output of a command; gptme leaves out the code 0."""
    ends = [stream.end() for stream in _STREAM.finditer(text)]
    code = _CODE_LINE.search(text, max(ends, default=0))
    return int(code[1]) if code else 0


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command and its code; a cut output is empty."""
    streams = {kind: body for _, kind, body in _STREAM.findall(call.output)}
    is_cut = any(map(_CUT.search, streams.values()))
    ran = _RAN.match(call.output) is not None
    return ShellOutput(
        "" if is_cut else streams.get("stdout", ""),
        code=find_return_code(call.output) if ran else None,
        errors="" if is_cut else streams.get("stderr", ""),
        ended=ran and not is_cut,
        stripped=True,
        trimmed=True,
    )


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: gptme itself, or a person."""
    if str(entry.get("content")).startswith(HOST_START):
        return INFERRED_HOST
    return infer_speaker(record)

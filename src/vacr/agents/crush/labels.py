"""Who wrote a user message of Crush, and how a tool call ended.

A result has the flag `is_error`. A command that fails is not an error for Crush: the host writes
`Exit code N` as the last line of its output, before the working folder. A program can print such a
line, but never after the host's, so it can only turn its own success into a failure.

| evidence | outcome |
|---|---|
| error, and the words of a refusal | denied |
| error, and the words of a cancelled request | interrupted |
| another error | error |
| `bash`: the host's notice that the command runs in the background | running |
| `bash`: `Exit code N` in the last line | error, with the code |
| `bash`: the host's notice that the command was aborted | interrupted |
| another result with the flag | success |

    >>> from vacr.agents.crush.labels import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> call = {"type": "tool-call", "name": "bash", "input": {"command": "make"}}
    >>> text = "no rule\\n\\nExit code 2\\n\\n<cwd>/home/nora/till</cwd>"
    >>> classify_outcome(CallResult({"output": text, "is_error": False}, {}, call, {}))
    Outcome(status='error', exit_code=2, left_running='', saw_end='')
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.labels import (
    DENIED,
    FAILED,
    INFERRED_HOST,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.record import get_prompt_text

DENIALS = ("User denied permission", "Permission denied", "permission denied")
CANCELLATIONS = (
    "Tool execution canceled by user",
    "Error: user cancelled assistant tool calling",
    "request canceled by user",
)
SHELL_TOOL = "bash"
NO_OUTPUT = "no output"
INIT_STARTS = (
    "`Please analyze this codebase and create a **",
    "Analyze this codebase and create/update **",
)
"""The beginnings of the request that Crush writes when a person initialises a project."""

_FOLDER_END = re.compile(r"\n\n<cwd>([^\n]*)</cwd>\Z")
_EXIT_CODE = re.compile(r"(?:\A|\n)Exit code (-?\d{1,10})\Z")
_ABORTED = re.compile(r"(?:\A|\n)Command was aborted before completion\Z")
_BACKGROUND = re.compile(
    r"(?:Background shell started with ID: |Command is taking longer than expected and has been "
    r"moved to background\.\n\nBackground shell ID: )(\S+)\n\nUse job_output tool "
)


def split_shell_output(output: str) -> tuple[str, str | None]:
    """Return the output of a command, and the folder that the host wrote below it, or None."""
    folder = _FOLDER_END.search(output)
    return (output, None) if folder is None else (output[: folder.start()], folder[1])


def find_exit_code(text: str) -> tuple[int | None, str]:
    """Return the exit code in the last line of an output, and the output without it.

    The code is None if the last line does not state one.
    """
    code = _EXIT_CODE.search(text)
    return (None, text) if code is None else (int(code[1]), text[: code.start()])


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if its result has no flag."""
    output, is_error = result.entry.get("output"), result.entry.get("is_error")
    text = output if type(output) is str else ""
    if is_error is True:
        if text in DENIALS:
            return Outcome(DENIED)
        return Outcome(INTERRUPTED) if text in CANCELLATIONS else FAILED
    if is_error is not False:
        return UNKNOWN_OUTCOME
    if (result.call or {}).get("name") == SHELL_TOOL:
        return _classify_command(text)
    return SUCCEEDED


def _classify_command(output: str) -> Outcome:
    """Return how a command ended, by the text of the host around its output."""
    background = _BACKGROUND.match(output)
    if background:
        return Outcome(RUNNING, left_running=background[1])
    text, folder = split_shell_output(output)
    if _ABORTED.search(text):
        return Outcome(INTERRUPTED)
    code, _ = find_exit_code(text)
    if code is not None:
        return classify_exit_code(code)
    # The host adds the code of every command that failed.
    return SUCCEEDED if folder is not None or output == NO_OUTPUT else UNKNOWN_OUTCOME


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: Crush writes the request to initialise a project."""
    if get_prompt_text(entry).startswith(INIT_STARTS):
        return INFERRED_HOST
    return infer_speaker(record)


def has_typed_command(entry: dict[str, Any]) -> bool:
    """Return whether a user message is a command that the person typed after `!`."""
    return any(child.get("event-type") == "shell_command" for child in entry.get("children", ()))

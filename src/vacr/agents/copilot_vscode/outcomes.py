"""How the tool calls of VS Code Copilot Chat ended.

The store has no flag for it. The host writes an error, a refusal or the files that it edited as the
text of the result. For a command, the part on the screen may have the exit code. Everything
else is unknown.

    >>> from vacr.agents.copilot_vscode.outcomes import classify_text
    >>> classify_text("create_file", "The following files were successfully edited:\\n/w/a.py\\n")
    'success'
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    SUCCEEDED,
    SUCCESS,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    classify_exit_code,
)
from vacr.agents.tool_calls import dict_or_empty

TERMINAL_TOOLS = frozenset(("run_in_terminal", "runInTerminal", "copilot_runInTerminal"))
ERROR_STARTS = ("ERROR: Your input to the tool was invalid", "ERROR while calling tool:", "ERROR: ")
REFUSALS = (
    "The user chose to skip the tool call, they want to proceed without running it",
    "The user cancelled the tool call.",
)
EDITED_START = "The following files were successfully edited:\n"
DENIED_CONFIRMATIONS = (0, 5)
"""The types of a confirmation that mean: refused, skipped."""
EDIT_TOOLS = frozenset(
    (
        "apply_patch",
        "create_file",
        "edit_notebook_file",
        "insert_edit_into_file",
        "multi_replace_string_in_file",
        "replace_string_in_file",
    )
)
_EXIT_CODE = re.compile(r"\n?Command exited with code (-?\d{1,10})\s*\Z")


def classify_text(name: str, text: str) -> str:
    """Return the status that the host's own text at the start of a result states, or empty."""
    if text.startswith(REFUSALS):
        return DENIED
    if text.startswith(ERROR_STARTS) and name not in TERMINAL_TOOLS:
        return FAILURE
    if name in EDIT_TOOLS and text.startswith(EDITED_START):
        return SUCCESS
    return ""


def get_exit_code(result: dict[str, Any]) -> int | None:
    """Return the exit code of a command that the screen kept, or None."""
    shown = dict_or_empty(result.get("toolSpecificData"))
    code = dict_or_empty(shown.get("terminalCommandState")).get("exitCode")
    return code if type(code) is int else None


def split_exit_code(text: str) -> tuple[str, int | None]:
    """Split the host's last line with the exit code off an output."""
    found = _EXIT_CODE.search(text)
    return (text[: found.start()], int(found[1])) if found else (text, None)


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended; unknown without evidence."""
    entry = result.entry
    if "success" in dict_or_empty(entry.get("data")):
        from vacr.agents.copilot.outcomes import classify_outcome as classify_event

        return classify_event(result) if type(entry.get("output")) is str else _classify_flag(entry)
    if dict_or_empty(entry.get("isConfirmed")).get("type") in DENIED_CONFIRMATIONS:
        return Outcome(DENIED)
    name = "" if result.call is None else str(result.call.get("name"))
    output = entry.get("output")
    text = output if type(output) is str else ""
    if status := classify_text(name, text):
        return Outcome(status)
    if dict_or_empty(entry.get("resultDetails")).get("isError") is True:
        return FAILED
    if name in TERMINAL_TOOLS:
        code = get_exit_code(entry)
        if code is None:
            code = split_exit_code(text)[1]
        if code is not None:
            return classify_exit_code(code)
    return UNKNOWN_OUTCOME


def _classify_flag(entry: dict[str, Any]) -> Outcome:
    """Return the outcome of a result in the thin log, which keeps a flag and no output."""
    success = dict_or_empty(entry.get("data")).get("success")
    if success is False:
        return FAILED
    return SUCCEEDED if success is True else UNKNOWN_OUTCOME

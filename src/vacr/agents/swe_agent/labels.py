"""Who wrote a user message of SWE-agent, how a call ended, and what its tools do to files.

SWE-agent writes no exit codes. Only the output of its editor states how an edit ended. The
outcome of any other call is unknown.

    >>> from vacr.agents.labels import CallResult
    >>> from vacr.agents.swe_agent.labels import classify_outcome
    >>> call = {"type": "tool-call", "name": "str_replace_editor", "input": {"command": "create"}}
    >>> made = CallResult({"output": "File created successfully at: /w/a.py"}, {}, call, {})
    >>> classify_outcome(made).status
    'success'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vacr.agents.labels import (
    FAILED,
    STATED_HOST,
    SUCCEEDED,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    infer_speaker,
)
from vacr.agents.tool_calls import ToolCall, ToolEffect, dict_or_empty
from vacr.edits import FileAction, UnplacedEdit

if TYPE_CHECKING:
    from vacr.agents.agent import Agent

EDITOR = "str_replace_editor"
WINDOW_EDITORS = frozenset(("edit", "insert"))
"""Tools that change the file which is open; their arguments do not name it."""
WINDOW_CREATOR = "create"
SUCCESS_STARTS = (
    "File created successfully at: ",
    "The file ",
    "File updated. Please review the changes",
    "Text replaced. Please review the changes",
)
FAILURE_STARTS = (
    "No replacement was performed",
    "Your proposed edit has introduced new syntax error(s)",
    "Invalid `",
    "The path ",
    "File already exists at: ",
    "Text not found. The text below was not found",
    "No file open.",
)
_EDITED = re.compile(r"The file \S.* has been edited\.")
_PROMPT_END = re.compile(r"\n?\(Open file: [^\n]*\)\n\(Current directory: ([^\n]*)\)\nbash-\$\s*\Z")


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: the task, or the host."""
    first = next((e for e in record["session"]["entries"] if e["type"] == "user"), None)
    if entry is first and not entry.get("is_demo"):
        return infer_speaker(record)
    return STATED_HOST


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call of an editor ended, by the host's words; unknown for any other."""
    call = result.call or {}
    output = result.entry.get("output")
    text = output.lstrip() if type(output) is str else ""
    text = text.removeprefix("OBSERVATION:\n")
    if call.get("name") not in WINDOW_EDITORS | {EDITOR, WINDOW_CREATOR}:
        return UNKNOWN_OUTCOME
    if text.startswith(FAILURE_STARTS):
        return FAILED
    if text.startswith("The file ") and not _EDITED.match(text):
        return UNKNOWN_OUTCOME
    return SUCCEEDED if text.startswith(SUCCESS_STARTS) else UNKNOWN_OUTCOME


def split_prompt(text: str) -> tuple[str, str | None]:
    """Return an output without the prompt that the host adds, and the folder that it names."""
    prompt = _PROMPT_END.search(text)
    return (text, None) if prompt is None else (text[: prompt.start()], prompt[1])


def get_left_folder(entry: dict[str, Any]) -> str | None:
    """Return the folder of the shell after a call, by its step or its prompt; None without one."""
    if entry.get("type") != "tool-result":
        return None
    state = dict_or_empty(dict_or_empty(entry.get("step")).get("state"))
    folder = state.get("working_dir")
    if type(folder) is str and folder:
        return folder
    output = entry.get("output")
    return split_prompt(output)[1] if type(output) is str else None


def derive_actions(agent: Agent, call: ToolCall) -> Iterator[FileAction]:
    """Yield the file actions of a call; an edit of the open file has no known place.

    An edit counts only if the host says that it succeeded.
    """
    from vacr.agents.file_tools import derive_file_actions

    if call.name in WINDOW_EDITORS | {WINDOW_CREATOR}:
        if call.native.get("status") == "success" or call.name == WINDOW_CREATOR:
            state = dict_or_empty(dict_or_empty(call.native.get("step")).get("state"))
            path = state.get("open_file")
            if type(path) is str and path.startswith("/"):
                yield UnplacedEdit(path)
        return
    is_editor = call.name == EDITOR and agent.tool_effect(call) is not ToolEffect.READ
    if is_editor and call.native.get("status") != "success":
        return
    output, _ = split_prompt(call.output)
    yield from derive_file_actions(agent, replace(call, output=output.replace("\r\n", "\n")))

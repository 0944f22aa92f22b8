"""The results of Kimi CLI's tools: how a call ended, and the lines of a file.

In a wire file a result has a flag and a message of the host. In a context the message is a text in
`<system>`, before the output, and begins with `ERROR` for a failure:

    >>> from vacr.agents.kimi_cli.tools import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> text = "<system>ERROR: Command failed with exit code: 2.</system>"
    >>> entry = {"type": "tool-result", "output": text}
    >>> classify_outcome(CallResult(entry, entry, {"name": "Shell"}, {}))[:2]
    ('error', 2)

The screen shows a change as blocks of the old and the new text, each with the number of its first
line. Lines that are the same in both are context:

    >>> from vacr.agents.kimi_cli.tools import build_hunk
    >>> block = {"old_text": "a\\nb", "new_text": "a\\nc", "old_start": 7, "new_start": 7}
    >>> build_hunk(block).lines
    [' a\\n', '-b\\n', '+c\\n']
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from typing import Any

from vacr.agents.file_tools import ShellOutput
from vacr.agents.kimi_code.tools import parse_numbered_file
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
)
from vacr.agents.lift import is_one_of
from vacr.agents.tool_calls import ToolCall, dict_or_empty, extract_result_text
from vacr.edits import FileAction, Hunk

_EXIT_MESSAGE = re.compile(r"Command failed with exit code: (-?\d{1,10})\.")
_TIMEOUT_START = "Command killed by timeout ("
_REJECTED_START = "The tool call is rejected by the user."
_INTERRUPTED_TEXTS = frozenset(("Interrupted by user", "Command cancelled by user"))
_BACKGROUND_STATUS = re.compile(r"(?:\A|\n)task_id: [^\n]+\n(?:[^\n]*\n){0,6}status: running\n")
_RUNNING_STATUS = "\nstatus: running\n"
_SYSTEM_START, _SYSTEM_END = "<system>", "</system>"
_ERROR_START = "ERROR: "
_REJECTIONS = frozenset(("reject", "rejected"))


def _get_return_value(native: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a result in a wire file besides its output; empty without any."""
    message = dict_or_empty(native.get("message"))
    return dict_or_empty(dict_or_empty(message.get("payload")).get("return_value"))


def split_result(native: dict[str, Any]) -> tuple[bool | None, str, str]:
    """Return the flag, the host's message, and the output of a result.

    The flag is None if the result does not state it.
    """
    value = _get_return_value(native)
    output = native.get("output")
    if value:
        flag = value.get("is_error")
        message = value.get("message")
        return (
            flag if type(flag) is bool else None,
            message if type(message) is str else "",
            extract_result_text(output),
        )
    texts = output if type(output) is list else [output]
    first = extract_result_text(texts[0]) if texts else ""
    end = first.find(_SYSTEM_END) if first.startswith(_SYSTEM_START) else -1
    if end < 0:
        return None, "", extract_result_text(output)
    message = first[len(_SYSTEM_START) : end]
    shown = first[end + len(_SYSTEM_END) :].removeprefix("\n")
    rest = [shown, *map(extract_result_text, texts[1:])]
    is_error = message.startswith(_ERROR_START)
    return is_error, message.removeprefix(_ERROR_START), "\n".join(filter(None, rest))


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the session does not tell."""
    is_error, message, output = split_result(result.entry)
    if is_one_of(result.report.get("answer"), _REJECTIONS) or (
        is_error and message.startswith(_REJECTED_START)
    ):
        return Outcome(DENIED)
    if is_error is None:
        return UNKNOWN_OUTCOME
    if not is_error:
        return Outcome(RUNNING) if _is_running(output) else SUCCEEDED
    if line := _EXIT_MESSAGE.fullmatch(message):
        return Outcome(FAILURE, int(line[1]))
    if message.startswith(_TIMEOUT_START):
        return Outcome(TIMED_OUT)
    return Outcome(INTERRUPTED) if message in _INTERRUPTED_TEXTS else FAILED


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, and the exit code that the host's message states."""
    is_error, message, output = split_result(call.native)
    line = _EXIT_MESSAGE.fullmatch(message) if is_error else None
    code = int(line[1]) if line else None
    return ShellOutput(output, code=code, ended=not _is_running(output))


def _is_running(output: str) -> bool:
    """Return whether an output is the host's note about a command that runs on."""
    # Most outputs lack the status: finding that out is far cheaper than the search.
    return _RUNNING_STATUS in output and _BACKGROUND_STATUS.search(output) is not None


def parse_shown_file(call: ToolCall, path: str) -> list[FileAction]:
    """Return the numbered lines that a read showed."""
    _, message, output = split_result(call.native)
    return parse_numbered_file(path, output, message)


def rename_edits(call: ToolCall) -> ToolCall:
    """Return a call whose edits, one or a list, have the usual names of arguments."""
    arguments = call.input
    if not isinstance(arguments, dict) or "edit" not in arguments:
        return call
    edits = arguments["edit"] if isinstance(arguments["edit"], list) else [arguments["edit"]]
    renamed = [
        {
            "old_string": edit.get("old"),
            "new_string": edit.get("new"),
            "replace_all": edit.get("replace_all"),
        }
        for edit in edits
        if isinstance(edit, dict)
    ]
    return dataclasses.replace(call, input={"path": arguments.get("path"), "edits": renamed})


def parse_recorded_hunks(call: ToolCall) -> list[Hunk]:
    """Return the hunks of the blocks that the screen showed; empty if a block has no numbers."""
    blocks = _get_return_value(call.native).get("display")
    diffs = [
        block
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and block.get("type") == "diff"
    ]
    hunks = [build_hunk(block) for block in diffs]
    return [hunk for hunk in hunks if hunk] if all(hunks) else []


def build_hunk(block: dict[str, Any]) -> Hunk | None:
    """Build the hunk of a block, or return None if the block states no numbers or no text."""
    old, new = block.get("old_text"), block.get("new_text")
    first, new_first = block.get("old_start"), block.get("new_start")
    if type(old) is not str or type(new) is not str or block.get("is_summary") is True:
        return None
    if type(first) is not int or type(new_first) is not int:
        return None
    before, after = (text.split("\n") if text else [] for text in (old, new))
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            lines += [f" {line}\n" for line in before[old_from:old_to]]
            continue
        lines += [f"-{line}\n" for line in before[old_from:old_to]]
        lines += [f"+{line}\n" for line in after[new_from:new_to]]
    return Hunk(first, new_first, lines)

r"""How a call of Zed's agent ended, and the evidence of its effects on files.

The result of an edit has the whole text of the file before and after it. A path begins with the
name of the project's folder. The words around the output of a command state how it ended; they
repeat the command, so that no program can print them first.

| evidence | outcome |
|---|---|
| error, and `Permission …denied` | denied |
| error, and `Tool canceled by user` | interrupted |
| another error | error |
| `terminal`: `The user stopped this command.` | interrupted |
| `terminal`: `Command "…" timed out.` | timeout |
| `terminal`: `Command "…" failed with exit code N.` | error, with the code |
| `terminal`: the output in a fence, or `Command executed successfully.` | success |
| another output of `terminal` | unknown |
| another result with the flag | success |

>>> from vacr.agents.labels import CallResult
>>> from vacr.agents.zed.tools import classify_outcome
>>> call = {"type": "tool-call", "name": "terminal", "input": {"command": "make", "cd": "till"}}
>>> text = 'Command "make" failed with exit code 2.\n\n```\nno rule\n```'
>>> result = {"output": [{"Text": text}], "is_error": False}
>>> classify_outcome(CallResult(result, {}, call, {}))
Outcome(status='error', exit_code=2, left_running='', saw_end='')
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacr.agents.file_tools import FileReport, ShellOutput
from vacr.agents.labels import (
    DENIED,
    FAILED,
    INTERRUPTED,
    SUCCEEDED,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    classify_exit_code,
)
from vacr.agents.tool_calls import PATH_ARGUMENTS, ToolCall, dict_or_empty
from vacr.edits import FileAction, ObservedLines, parse_numbered_lines

SHELL_TOOL = "terminal"
CANCELLED = "Tool canceled by user"
STOPPED = "The user stopped this command."
EXECUTED = "Command executed successfully."
_DENIAL = re.compile(r"Permission (?:to run tool )?denied\b")
_PATHS = (*PATH_ARGUMENTS, "source_path", "destination_path")
_LINE_NUMBER = re.compile(r" *(\d{1,9})\t")
_FENCE = re.compile(r"\A```\n(.*)\n```\Z", re.DOTALL)
_CODE = re.compile(r"(-?\d{1,10})\.(?:\n\n```\n(.*)\n```)?", re.DOTALL)


def get_result_text(output: Any) -> str:
    """Return the text of a result: one block or a list of them, in older and newer forms."""
    blocks = output if type(output) is list else [output]
    texts = []
    for block in blocks:
        text = block
        if type(block) is dict:
            text = block.get("Text", block.get("text"))
        texts.append(text if type(text) is str else "")
    return "".join(texts)


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if its result has no flag."""
    text = get_result_text(result.entry.get("output"))
    is_error = result.entry.get("is_error")
    if is_error is True:
        if text.startswith(CANCELLED):
            return Outcome(INTERRUPTED)
        return Outcome(DENIED) if _DENIAL.match(text) else FAILED
    if is_error is not False:
        return UNKNOWN_OUTCOME
    call = result.call or {}
    if call.get("name") != SHELL_TOOL:
        return SUCCEEDED
    if text.startswith(STOPPED):
        return Outcome(INTERRUPTED)
    head = f'Command "{dict_or_empty(call.get("input")).get("command")}" '
    if text.startswith(f"{head}timed out."):
        return Outcome(TIMED_OUT)
    code, _ = parse_command_result(text, head)
    return UNKNOWN_OUTCOME if code is None else classify_exit_code(code)


def parse_command_result(text: str, head: str) -> tuple[int | None, str]:
    """Return the exit code of a command, or None if it is unknown, and its output.

    `head` is the beginning of the host's sentence, with the command.
    """
    if text == EXECUTED:
        return 0, ""
    if shown := _FENCE.match(text):
        return 0, shown[1]
    start = f"{head}failed with exit code "
    failed = _CODE.fullmatch(text, len(start)) if text.startswith(start) else None
    return (int(failed[1]), failed[2] or "") if failed else (None, "")


# --- Files ---


def simplify_call(call: ToolCall) -> ToolCall:
    """Return a call with the text of its result, and with paths from the project's folder."""
    arguments = call.input
    if type(arguments) is dict:
        arguments = {
            name: resolve_path(value, call.top) if name in _PATHS and type(value) is str else value
            for name, value in arguments.items()
        }
    return replace(call, input=arguments, output=get_result_text(call.native.get("output")))


def resolve_path(path: str, top: str) -> str:
    """Return a path that begins with the name of the project's folder as an absolute one."""
    name, _, rest = path.replace("\\", "/").partition("/")
    folder = top.replace("\\", "/").rstrip("/")
    if not folder or name != folder.rpartition("/")[2]:
        return path
    return f"{folder}/{rest}" if rest else folder


def build_file_report(call: ToolCall) -> FileReport:
    """Return the text of a file before and after an edit, by its result."""
    stated = dict_or_empty(dict_or_empty(call.native.get("vacr")).get("native"))
    output = dict_or_empty(stated.get("output"))
    before, after = output.get("old_text"), output.get("new_text")
    if type(before) is not str or type(after) is not str:
        return FileReport()
    if not before:
        return FileReport(after=after, created=True)
    return FileReport(before=before, after=after, created=False)


def parse_shown_file(call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the numbered lines that a read showed; older versions have no numbers."""
    lines = call.output.split("\n")
    if lines[-1] == "":
        lines.pop()
    if lines and all(map(_LINE_NUMBER.match, lines)):
        for first, run in parse_numbered_lines(lines, _LINE_NUMBER):
            yield ObservedLines(path, first, run)


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, and its exit code; a cut output is empty."""
    arguments = dict_or_empty(call.input)
    code, text = parse_command_result(call.output, f'Command "{arguments.get("command")}" ')
    is_cut = any(arguments.get(name) is not None for name in ("head_lines", "tail_lines"))
    ended = code is not None and not is_cut
    return ShellOutput(text if ended else "", code=code, ended=ended, stripped=True, trimmed=True)

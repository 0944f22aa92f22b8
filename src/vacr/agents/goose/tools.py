"""Goose's tools, and the evidence of their effects on files.

Since 2026 the tools are `write`, `edit` and `shell`; before, `developer__text_editor` has commands
of its own. A result may be there twice: once for the model, once for the user, marked by
`audience`. Both are read as one text, that of the model.

The older editor ends a written file with a line end, shows files with numbered lines, and may ask
another model to make a replacement. That edit is not the one in the arguments; its result does not
name a line.

>>> from vacr.agents.goose.tools import simplify_call
>>> from vacr.agents.tool_calls import ToolCall
>>> def build_block(text, audience):
...     return {"type": "text", "text": text, "annotations": {"audience": [audience]}}
>>> native = {"output": [build_block("1: a", "assistant"), build_block("a", "user")]}
>>> call = ToolCall("developer__text_editor", {}, "e1", "c1", "m", "/w", native=native)
>>> simplify_call(call).output
'1: a'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacr.agents.file_tools import FileReport, ShellOutput
from vacr.agents.goose.labels import get_stated_value
from vacr.agents.tool_calls import (
    CONTENT_ARGUMENTS,
    ToolCall,
    dict_or_empty,
    extract_result_text,
    get_text_argument,
)
from vacr.edits import FileAction, ObservedLines, parse_numbered_lines

EDITOR_TOOL = "developer__text_editor"
NO_OUTPUT = "(no output)"
_REPLACED = "Successfully replaced text in "
_REPLACED_AT = re.compile(r"Successfully replaced text in .* at line \d+\.")
_LINE_NUMBER = re.compile(r"(\d{1,9}): ")
_SHOWN_FILE = re.compile(r"### [^\n]*\n```[^\n]*\n(.*)\n```\s*\Z", re.DOTALL)


def simplify_call(call: ToolCall) -> ToolCall:
    """Return a call with the output for the model alone."""
    output = call.native.get("output")
    if type(output) is not list:
        return call
    return replace(call, output=extract_result_text(select_blocks(output)))


def select_blocks(blocks: list[Any]) -> list[Any]:
    """Return the blocks of a result that the model sees."""
    return [block for block in blocks if "assistant" in _get_audience(block)]


def _get_audience(block: Any) -> list[Any]:
    """Return who sees a block of a result; without a statement, everybody does."""
    audience = dict_or_empty(dict_or_empty(block).get("annotations")).get("audience")
    return audience if type(audience) is list and audience else ["assistant", "user"]


def has_unstated_edit(call: ToolCall) -> bool:
    """Return whether the older editor made a replacement that the arguments do not state."""
    arguments = dict_or_empty(call.input)
    is_replacement = arguments.get("command") == "str_replace"
    return is_replacement and bool(arguments.get("diff") or _was_made_by_model(call))


def _was_made_by_model(call: ToolCall) -> bool:
    """Return whether another model made a replacement: its result names no line."""
    text = extract_result_text(call.native.get("output"))
    return text.startswith(_REPLACED) and not _REPLACED_AT.search(text)


def build_file_report(call: ToolCall) -> FileReport:
    """Return the text that the editor wrote, and whether the file is new, if it says so."""
    text = get_text_argument(call.input, CONTENT_ARGUMENTS)
    if call.name == EDITOR_TOOL:
        written = text if text is None or text.endswith("\n") else f"{text}\n"
        return FileReport(written=written)
    created = call.output.startswith("Created ")
    return FileReport(created=created if created or call.output.startswith("Wrote ") else None)


def parse_shown_file(call: ToolCall, path: str) -> Iterator[FileAction]:
    """Yield the numbered lines that the older editor showed."""
    shown = _SHOWN_FILE.match(call.output)
    lines = shown[1].split("\n") if shown else []
    if lines and all(map(_LINE_NUMBER.match, lines)):
        for first, run in parse_numbered_lines(lines, _LINE_NUMBER):
            yield ObservedLines(path, first, run)


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command and its exit code; the output of a cut one is empty."""
    stated = dict_or_empty(get_stated_value(call.native).get("structuredContent"))
    if not stated:
        return ShellOutput("" if call.output == NO_OUTPUT else call.output)
    blocks = call.native.get("output")
    is_cut = stated.get("output_truncated") is True or (type(blocks) is list and len(blocks) > 1)
    code = stated.get("exit_code")
    return ShellOutput(
        "" if is_cut else str(stated.get("stdout") or ""),
        code=code if type(code) is int else None,
        errors="" if is_cut else str(stated.get("stderr") or ""),
        ended=not is_cut and stated.get("timed_out") is not True,
    )

"""Codex's tools, the scripts of its tool `exec`, and its events that report changes.

Codex reports the changes of a patch in separate events, in addition to the call's result. Newer
versions run JavaScript that calls other tools; only patches that are literals in it can be read:

    >>> from vacr.agents.codex.tools import find_script_patches
    >>> list(find_script_patches('const p = "*** Begin Patch"; tools.apply_patch(p)'))
    ['*** Begin Patch']
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from vacr.agents.agent import CallReports
from vacr.agents.file_tools import (
    ShellOutput,
    drop_total_lines_header,
    parse_patch_actions,
    parse_plain_output,
)
from vacr.agents.tool_calls import (
    COMMAND_ARGUMENTS,
    ToolCall,
    get_text_argument,
    get_wrapped_metadata,
)
from vacr.edits import (
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    PossibleChange,
    Replacement,
    parse_diff_hunks,
)

# --- events about calls ---

_RESULT_EVENTS = frozenset(["patch_apply_end", "exec_command_end"])


class EventReports(CallReports):
    """The reports about calls in the events of a session."""

    def __init__(self, entries: Any) -> None:
        """Collect the events about each call, by its id."""
        self._reports: dict[str, dict[str, Any]] = {}
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict):
                continue
            is_result = entry.get("event-type") in _RESULT_EVENTS
            data = entry.get("data") if is_result else _get_patch_report(entry)
            if isinstance(data, dict) and isinstance(data.get("call_id"), str):
                self._reports.setdefault(data["call_id"], {}).update(data)

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the members of the events about a call."""
        del result
        return self._reports.get(call_id, {})

    def implied_call(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """Return the report of a patch; a script may have applied it without a call of its own."""
        return _get_patch_report(entry)


def _get_patch_report(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Return the report about a patch in an event; newer versions report a completed item."""
    data = entry.get("data")
    if not isinstance(data, dict):
        return None
    if entry.get("event-type") == "item_completed" and isinstance(data.get("item"), dict):
        data = {**data["item"], "call_id": data["item"].get("id")}
    elif entry.get("event-type") != "patch_apply_end":
        return None
    is_report = isinstance(data.get("changes"), dict) and isinstance(data.get("call_id"), str)
    return data if is_report else None


def parse_reported_changes(changes: dict[str, Any]) -> Iterator[FileAction]:
    """Yield the changes that Codex reports of a patch."""
    for path, change in changes.items():
        if not isinstance(change, dict):
            continue
        kind, content = change.get("type"), change.get("content")
        unified = change.get("unified_diff")
        if kind == "add" and isinstance(content, str):
            yield FileWrite(path, content, created=True, recorded=True)
        elif kind == "delete":
            yield FileDeletion(path)
        elif kind == "update" and isinstance(unified, str):
            yield Replacement(path, (), parse_diff_hunks(unified))
            if isinstance(change.get("move_path"), str):
                yield FileMove(path, change["move_path"])


# --- shell output ---

_OUTPUT_HEADER = re.compile(
    r"\A(?:Warning: truncated output.*\n)?(?:Chunk ID:.*\n)?(?:Exit code: (-?\d{1,5})\n)?"
    r"Wall time:.*\n"
    r"(?:Process (?:exited with code (-?\d{1,5})|(running).*)\n)?(?:.*\n){0,2}?Output:\n"
)


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the lines that Codex puts before it."""
    header = _OUTPUT_HEADER.match(call.output)
    if header:
        code, text = header[1] or header[2], call.output[header.end() :]
        return ShellOutput(
            drop_total_lines_header(text),
            code=int(code) if code else None,
            ended=header[3] is None,
        )
    # The first versions wrote the output and the exit code as one JSON object.
    metadata = get_wrapped_metadata(call.native.get("output"))
    code = metadata.get("exit", metadata.get("exit_code"))
    is_code = isinstance(code, int) and not isinstance(code, bool)
    return parse_plain_output(call, code if is_code else None)


# --- scripts ---

_JS_LITERAL = (
    r"""(?:String\.raw\s*`[^`]*`|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
_PATCH_CALL = re.compile(
    rf"tools\.apply_patch\(\s*({_JS_LITERAL}|[A-Za-z_$][\w$]*)\s*\)", re.DOTALL
)
_JS_CONSTANT = re.compile(rf"\bconst\s+([A-Za-z_$][\w$]*)\s*=\s*({_JS_LITERAL})", re.DOTALL)
_OTHER_TOOL_CALL = re.compile(r"\btools\.(?!apply_patch\b|update_plan\b|view_image\b)[\w$]+")
_JS_ESCAPE = re.compile(
    r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL
)
_JS_NAMED_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
    "\n": "",
    "\r\n": "",
}


def derive_script_actions(call: ToolCall) -> Iterator[FileAction]:
    """Yield the changes that a script made; patches that events report are not counted again."""
    script = call.input
    if not isinstance(script, str):
        script = get_text_argument(call.input, COMMAND_ARGUMENTS)
    if script is None:
        return
    if call.native.get("patch_reported") is not True:
        for patch in find_script_patches(script):
            yield from parse_patch_actions(patch)
    if has_unknown_effects(script):
        yield PossibleChange("")


def find_script_patches(script: str) -> Iterator[str]:
    """Yield the patches that a script applies, if they are literals."""
    constants: dict[str, str] = dict(_JS_CONSTANT.findall(script))
    for call in _PATCH_CALL.finditer(script):
        argument = str(call[1])
        text = _parse_js_literal(constants.get(argument, argument))
        if text is not None:
            yield text


def has_unknown_effects(script: str) -> bool:
    """Return whether a script calls tools with unknown effects."""
    calls = script.count("tools.apply_patch(")
    if calls != sum(1 for _ in find_script_patches(script)):
        return True
    return _OTHER_TOOL_CALL.search(script) is not None


def _parse_js_literal(literal: str) -> str | None:
    """Return the text of a JavaScript literal, or None for any other expression."""
    is_raw = literal.startswith("String.raw")
    body = literal.partition("`")[2][:-1] if is_raw else literal[1:-1]
    if (is_raw or literal[:1] == "`") and re.search(r"(?<!\\)\$\{", body):
        return None
    if is_raw:
        return body
    return _JS_ESCAPE.sub(_replace_js_escape, body) if literal[:1] in "`\"'" else None


def _replace_js_escape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
        return chr(number) if number <= sys.maxunicode else match[0]
    return _JS_NAMED_ESCAPES.get(code, code)

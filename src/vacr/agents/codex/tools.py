"""Codex's tools, the scripts of its tool `exec`, and its events that report changes.

Codex reports the changes of a patch in separate events, in addition to the call's result. Newer
versions run JavaScript that calls other tools; only patches that are literals in it can be read:

    >>> from vacr.agents.codex.tools import find_script_patches
    >>> list(find_script_patches('const p = "*** Begin Patch"; tools.apply_patch(p)'))
    ['*** Begin Patch']

A script that builds a patch from variables may have changed any file, above all those it names.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

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

_RESULT_EVENTS = frozenset(
    ["patch_apply_end", "exec_command_end", "mcp_tool_call_end", "dynamic_tool_call_response"]
)
_REPORTING_EVENTS = _RESULT_EVENTS | {"item_completed"}


class EventReports(CallReports):
    """The reports about calls in the events of a session.

    If calls share an id, an event belongs to the last call before it, as a result does.
    """

    def __init__(self, entries: Any) -> None:
        """Collect the events about each call, by its id."""
        self._reports: dict[str, dict[str, Any]] = {}
        self._reports_by_result: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        """Identity of a result whose call shares its id → the result, and the report about it."""
        # A session has many entries, and few of them report: a comprehension is faster.
        events = [
            entry
            for entry in (entries if isinstance(entries, list | tuple) else ())
            if type(entry) is dict and entry.get("event-type") in _REPORTING_EVENTS
        ]
        for entry in events:
            data = _get_call_report(entry)
            if isinstance(data, dict) and isinstance(data.get("call_id"), str):
                self._reports.setdefault(data["call_id"], {}).update(data)
        if self._reports:
            call_ids = [
                entry.get("call-id")
                for entry in entries
                if type(entry) is dict and entry.get("type") == "tool-call"
            ]
            known = [name for name in call_ids if type(name) is str and name in self._reports]
            if len(known) > len(set(known)):
                repeated = {name for name, count in Counter(known).items() if count > 1}
                self._separate_reports(entries, repeated)

    def _separate_reports(self, entries: Any, repeated: set[str]) -> None:
        """Collect the events between two calls with the same id, for the results between them."""
        current: dict[str, dict[str, Any]] = {call_id: {} for call_id in repeated}
        for entry in entries:
            kind = entry.get("type") if isinstance(entry, dict) else None
            if kind in ("tool-call", "tool-result"):
                call_id = entry.get("call-id")
                if not isinstance(call_id, str) or call_id not in repeated:
                    continue
                if kind == "tool-call":
                    current[call_id] = {}
                else:
                    self._reports_by_result[id(entry)] = entry, current[call_id]
            elif kind == "system-event":
                data = _get_call_report(entry) or {}
                call_id = data.get("call_id")
                if isinstance(call_id, str) and call_id in repeated:
                    current[call_id].update(data)

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the members of the events about a call; empty without such events."""
        separate = self._reports_by_result.get(id(result))
        return separate[1] if separate else self._reports.get(call_id, {})

    def implied_call(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """Return the report of a patch in an entry, or None.

        A script may have applied the patch without a call of its own.
        """
        return _get_patch_report(entry)


def _get_call_report(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Return the report about a call in an event, or None.

    Newer versions report a completed item.
    """
    event, data = entry.get("event-type"), entry.get("data")
    if not isinstance(data, dict):
        return None
    if event == "item_completed":
        item = data.get("item")
        is_call = isinstance(item, dict) and ("status" in item or "changes" in item)
        return {**item, "call_id": item.get("id")} if isinstance(item, dict) and is_call else None
    return data if event in _RESULT_EVENTS else None


def _get_patch_report(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Return the report about a patch in an event, or None."""
    data = _get_call_report(entry)
    if data is None or not isinstance(data.get("changes"), dict):
        return None
    is_patch = entry.get("event-type") in ("patch_apply_end", "item_completed")
    return data if is_patch and isinstance(data.get("call_id"), str) else None


def parse_reported_changes(changes: dict[str, Any]) -> Iterator[FileAction]:
    """Yield the changes that Codex reports of a patch, by path; malformed ones are left out."""
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
    r"\A(?:Warning: truncated output.*\n)?(?:Total output lines: \d+\n\n?)?"
    r"(?:Command: (?:.*\n){1,500}?)?"
    r"(?=Chunk ID:|Exit code: |Wall time:)"
    r"(?:Chunk ID:.*\n)?(?:Exit code: (?P<exit>-?\d{1,10})\n)?(?:Wall time:.*\n)?"
    r"(?:Process (?:exited with code (?P<ended>-?\d{1,10})|running with session ID (?P<process>.*))"
    r"\n)?(?:(?:Original token count|Total output lines|Warning):.*\n){0,2}Output:(?:\n|\Z)"
)


class OutputHeader(NamedTuple):
    """The lines that Codex writes before the output of a command."""

    code: int | None
    """The exit code, or None if the command still runs or the lines do not state it."""
    process: str
    """The id of the command that still runs, or an empty text."""
    length: int
    """Where the output begins."""


def parse_output_header(text: str) -> OutputHeader | None:
    """Return the lines before the output of a command, or None if the text has none."""
    header = _OUTPUT_HEADER.match(text)
    if header is None:
        return None
    exit_code, ended_code, process = header.groups()
    code = exit_code or ended_code
    return OutputHeader(int(code) if code else None, process or "", header.end())


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the lines that Codex puts before it."""
    header = parse_output_header(call.output)
    if header:
        text = call.output[header.length :]
        return ShellOutput(
            drop_total_lines_header(text), code=header.code, ended=not header.process
        )
    return parse_plain_output(call, parse_wrapped_code(call.native.get("output")))


def parse_wrapped_code(output: Any) -> int | None:
    """Return the exit code in the JSON object that the first versions wrote as the output.

    Return None if the output is not such an object.
    """
    metadata = get_wrapped_metadata(output)
    code = metadata.get("exit", metadata.get("exit_code"))
    return code if isinstance(code, int) and not isinstance(code, bool) else None


# --- scripts ---

_JS_LITERAL = (
    r"""(?:String\.raw\s*`[^`]*`|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
_PATCH_CALL = re.compile(
    rf"tools\.apply_patch\(\s*({_JS_LITERAL}|[A-Za-z_$][\w$]*)\s*\)", re.DOTALL
)
# The text ends with the statement: it is not the first part of a longer expression.
_JS_CONSTANT = re.compile(
    rf"\bconst\s+([A-Za-z_$][\w$]*)\s*=\s*({_JS_LITERAL})(?=\s*(?:;|\Z|\n\s*[\w$/}}]))", re.DOTALL
)
_JS_DECLARATION = re.compile(r"\b(?:const|let|var|function)\s+([A-Za-z_$][\w$]*)")
# Code after which a patch need not have been applied, or its failure was not noticed.
_JS_BRANCH = re.compile(r"\b(?:if|else|for|while|switch|case|catch|function)\b|=>|\?|&&|\|\|")
_APPLY_PATCH_NAME = re.compile(r"\bapply_patch\b")
_NAMED_FILE = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n\\`\"']+)")
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
    """Yield the patches in the text of a script, except patches that events report.

    If the script may have other effects, also yield a possible change of any file. A call without a
    script yields nothing.
    """
    script = call.input
    if not isinstance(script, str):
        script = get_text_argument(call.input, COMMAND_ARGUMENTS)
    if script is None:
        return
    if call.native.get("patch_reported") is True:
        if has_unknown_effects(script):
            yield PossibleChange("")
        return
    patches = list(find_script_patches(script))
    for patch in patches:
        yield from parse_patch_actions(patch)
    if applies_unknown_patch(script):
        named = (name.strip().rpartition("/")[2] for name in _NAMED_FILE.findall(script))
        yield PossibleChange("", folder=True, named=frozenset(named))
    elif has_unknown_effects(script):
        yield PossibleChange("")


def find_script_patches(script: str) -> Iterator[str]:
    """Yield the patches that a script surely applies: literals, outside of branches."""
    declared = Counter(_JS_DECLARATION.findall(script))
    constants: dict[str, str] = {
        name: text for name, text in _JS_CONSTANT.findall(script) if declared[name] == 1
    }
    code = re.sub(_JS_LITERAL, "''", script, flags=re.DOTALL)
    if _JS_BRANCH.search(code):
        return
    for call in _PATCH_CALL.finditer(script):
        argument = str(call[1])
        text = _parse_js_literal(constants.get(argument, argument))
        if text is not None:
            yield text


def has_unknown_effects(script: str) -> bool:
    """Return whether a script may do more than apply the patches in its text.

    That is so if it calls another tool, or a patch is not a literal.
    """
    return applies_unknown_patch(script) or _OTHER_TOOL_CALL.search(script) is not None


def applies_unknown_patch(script: str) -> bool:
    """Return whether a script may apply a patch that its text does not show."""
    code = re.sub(_JS_LITERAL, "''", script, flags=re.DOTALL)
    bracketed = len(re.findall(r"[\"'`]apply_patch[\"'`]", script))
    calls = len(_APPLY_PATCH_NAME.findall(code)) + bracketed
    return calls != sum(1 for _ in find_script_patches(script))


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
    """Return the character that an escape of JavaScript stands for."""
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
        return chr(number) if number <= sys.maxunicode else match[0]
    return _JS_NAMED_ESCAPES.get(code, code)

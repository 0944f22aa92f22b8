"""Claude Code's tools, and its entries that show files or report changes to them.

With each result, Claude Code records the outcome (`toolUseResult`): the text a file had, the hunks
of a change, the output of a command. It also keeps the text of every file that it has read as a
whole or written, and notifies the model when the file on disk differs from that text:

    >>> from vacr.agents.claude_code.tools import parse_change_notice
    >>> notice = parse_change_notice("a.py", "    1→import os\\n    2→print(os.name)")
    >>> notice.parts, notice.whole
    ([(1, ['import os', 'print(os.name)'])], True)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacr.agents.file_tools import (
    FileReport,
    ShellOutput,
    build_observation,
    parse_plain_output,
)
from vacr.agents.tool_calls import CALL_DONE, ToolCall, dict_or_empty
from vacr.edits import (
    ARROW_LINE_NUMBER,
    ChangeNotice,
    Edit,
    FileAction,
    Hunk,
    ObservedFile,
    ObservedLines,
    drop_last_line_end,
    parse_listing,
)

_BEFORE_MEMBERS = (
    "originalFile",
    "originalFileContents",
    "original_file",
    "originalContent",
    "before",
)
_AFTER_MEMBERS = ("updated_file", "newContent", "after")

# --- results ---


def build_file_report(call: ToolCall) -> FileReport:
    """Return the report in `toolUseResult` about the file of a call."""
    result = dict_or_empty(call.native.get("toolUseResult"))
    kind, content = result.get("type"), result.get("content")
    return FileReport(
        before=_find_text(result, _BEFORE_MEMBERS),
        after=_find_text(result, _AFTER_MEMBERS),
        created=kind == "create" if kind in ("create", "update") else None,
        written=content if isinstance(content, str) else None,
        user_edits=_parse_user_edits(result),
    )


def _find_text(members: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first of the named members that is a text, or None."""
    texts = (members.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str)), None)


def _parse_user_edits(result: dict[str, Any]) -> list[Edit] | None:
    """Return the real replacement if the user changed the agent's proposal, or else `None`.

    The list is empty if the user changed it, but the result does not have the texts.
    """
    if result.get("userModified") is not True:
        return None
    old, new = result.get("oldString"), result.get("newString")
    if not isinstance(old, str) or not isinstance(new, str):
        return []
    return [Edit(old, new, result.get("replaceAll") is True)]


def is_user_modified(call: ToolCall) -> bool:
    """Return whether the user changed the proposal before it was applied."""
    return dict_or_empty(call.native.get("toolUseResult")).get("userModified") is True


def parse_recorded_hunks(call: ToolCall) -> list[Hunk]:
    """Parse the `structuredPatch` of a result: a list of objects. Malformed ones are left out."""
    patch = dict_or_empty(call.native.get("toolUseResult")).get("structuredPatch")
    hunks = []
    for item in patch if isinstance(patch, list) else ():
        lines = item.get("lines") if isinstance(item, dict) else None
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            continue
        old_first, new_first = item.get("oldStart"), item.get("newStart")
        if isinstance(old_first, int) and isinstance(new_first, int):
            hunks.append(Hunk(old_first, new_first, _add_line_ends(lines), tabs_as_spaces=True))
    return hunks


def _add_line_ends(lines: list[str]) -> list[str]:
    r"""Return marked lines with an LF each; `\ No newline at end of file` removes the last LF."""
    body: list[str] = []
    for line in lines:
        if line.startswith("\\"):
            drop_last_line_end(body)
        else:
            body.append(line + "\n")
    return body


def parse_shown_file(result: Any, path: str) -> FileAction | None:
    """Return the file that Claude Code stores in addition to the text it shows, or `None`.

    `result` is the `toolUseResult`.
    """
    file = dict_or_empty(dict_or_empty(result).get("file"))
    if not isinstance(file.get("content"), str):
        return None
    return build_observation(
        path, file["content"], file.get("startLine", 1), file.get("totalLines")
    )


# The number of lines that Claude Code shows of a file, unless the call names a limit.
_DEFAULT_READ_LIMIT = 2000


def parse_read_listing(path: str, output: str, limit: Any) -> list[FileAction]:
    """Return the lines that a read shows, where Claude Code stores only the text it shows.

    `limit` is the number of lines that the call asks for, or `None`. A listing with fewer lines
    reaches the end of the file, and shows an empty line after the last line end.
    """
    shown = list(parse_listing(path, output))
    last = shown[-1] if shown else None
    if not isinstance(last, ObservedLines) or last.lines[-1] != "\n":
        return shown
    at_most = limit if isinstance(limit, int) else _DEFAULT_READ_LIMIT
    lines, ends_file = last.lines[:-1], len(shown) == 1 and len(last.lines) < at_most
    if ends_file and last.first == 1:
        return [ObservedFile(path, "".join(lines))]
    # With a full page, the empty line may be one of the file, or the one after its end.
    total = last.first + len(lines) if ends_file else 0
    return [*shown[:-1], replace(last, lines=lines, total=total, ends_file=ends_file)]


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command; blank lines at its beginning are cut off."""
    result = call.native.get("toolUseResult")
    stripped = isinstance(result, dict | str)
    if isinstance(result, dict) and isinstance(result.get("stdout"), str):
        return ShellOutput(
            result["stdout"],
            code=None if call.state == CALL_DONE else 1,
            errors=str(result.get("stderr") or ""),
            ended=not result.get("interrupted") and not result.get("backgroundTaskId"),
            stripped=stripped,
        )
    return replace(parse_plain_output(call), stripped=stripped)


# --- notices of changed files ---

_TRUNCATION_NOTE = re.compile(r"\n*\.\.\. \[\d+ lines? truncated\] \.\.\.\s*\Z")


def parse_change_notice(path: str, shown: str) -> ChangeNotice:
    """Parse the hunks that show how a file differs from the text that Claude Code keeps.

    Each hunk has eight lines around a change, as they are now. Their numbers count from where the
    hunk begins in the text that Claude Code keeps. `shown` is the text of the notice with numbered
    lines.
    """
    text = _TRUNCATION_NOTE.sub("", shown)
    parts: list[tuple[int, list[str]]] = []
    ended, whole = True, text == shown
    for line in text.strip("\n").split("\n"):
        number = ARROW_LINE_NUMBER.match(line)
        if line == "...":
            ended = True
        elif number is None:
            whole = False
        elif ended:
            parts.append((int(number[1]), [line[number.end() :]]))
            ended = False
        else:
            parts[-1][1].append(line[number.end() :])
    return ChangeNotice(path, parts, whole=whole and bool(parts))


# --- reminders: in user messages, and at the end of results ---

_REMINDER = re.compile(r"^<system-reminder>(.*?)</system-reminder>", re.MULTILINE | re.DOTALL)
_FINAL_REMINDER = re.compile(
    r"(?:\A|\n)<system-reminder>\s*(Note: (?:(?!<system-reminder>).)*?)\s*</system-reminder>\s*\Z",
    re.DOTALL,
)
_MODIFIED_NOTE = re.compile(r"Note: (.+?) was modified, either by the user or by a linter\.")
_READ_CALL = re.compile(r"Called the Read tool with the following input: (\{.*\})\s*\Z", re.DOTALL)
_READ_RESULT = re.compile(r"Result of calling the Read tool:\s*(.*)\Z", re.DOTALL)


def parse_message_reminders(content: Any) -> Iterator[FileAction]:
    """Yield the observations of files in the reminders of a user message."""
    path: str | None = None
    limit: Any = None
    for text in _list_text_blocks(content):
        if "<system-reminder>" not in text:
            continue
        for match in _REMINDER.finditer(text):
            reminder = match[1].strip()
            call, result = _READ_CALL.match(reminder), _READ_RESULT.match(reminder)
            if call:
                arguments = dict_or_empty(_parse_json(call[1]))
                path, limit = _find_text(arguments, ("file_path",)), arguments.get("limit")
            elif result and path is not None:
                yield from parse_read_listing(path, _decode_json_string(result[1]), limit)
                path = None
            else:
                yield from _parse_modified_note(reminder)


def parse_final_reminder(output: str) -> Iterator[FileAction]:
    """Yield the change that the reminder at the end of a result reports."""
    reminder = _FINAL_REMINDER.search(output)
    if reminder:
        yield from _parse_modified_note(reminder[1])


def _list_text_blocks(content: Any) -> Iterator[str]:
    """Yield the texts of a message: the content itself, or its blocks of text."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text":
            text = block.get("text")
            if isinstance(text, str):
                yield text


def _parse_modified_note(text: str) -> Iterator[FileAction]:
    """Yield the change of a file that a note reports, if the text is such a note."""
    note = _MODIFIED_NOTE.match(text)
    if note:
        yield parse_change_notice(note[1], text[note.end() :].partition("\n")[2])


def _decode_json_string(text: str) -> str:
    """Return a text that may be written as a JSON string."""
    value = _parse_json(text) if text.startswith('"') else None
    return value if isinstance(value, str) else text


def _parse_json(text: str) -> Any:
    """Return the value of a JSON text, or None if the text is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


# --- attachments ---


def parse_attachment(attachment: dict[str, Any]) -> Iterator[FileAction]:
    """Yield the observations of a file in an attachment; it may only name the file."""
    path, content = attachment.get("filename"), attachment.get("content")
    if attachment.get("type") == "nested_memory":
        yield from _parse_memory_file(dict_or_empty(content))
    elif not isinstance(path, str):
        return
    elif attachment.get("type") == "edited_text_file" and isinstance(
        attachment.get("snippet"), str
    ):
        yield parse_change_notice(path, attachment["snippet"])
    elif isinstance(content, dict):
        shown = parse_shown_file(content, path)
        if shown is not None:
            yield shown


def _parse_memory_file(memory: dict[str, Any]) -> Iterator[FileAction]:
    """Yield the text of a memory file such as CLAUDE.md, as it is on disk."""
    differs = memory.get("contentDiffersFromDisk")
    if not isinstance(differs, bool) or not isinstance(memory.get("path"), str):
        return
    text = memory.get("rawContent" if differs else "content")
    if isinstance(text, str):
        yield ObservedFile(memory["path"], text)

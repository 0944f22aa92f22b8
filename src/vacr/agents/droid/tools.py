r"""Droid's tools: what their results show, how a call ended, and who wrote a message.

A failed command states its exit code in the first line of its result:

    >>> from vacr.agents.droid.tools import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> def end(output, **members):
    ...     result = {"output": output, **members}
    ...     return classify_outcome(CallResult(result, result, {"name": "Execute"}, {}))[:2]
    >>> end("Error: Command failed (exit code: 1)\nno such file")
    ('error', 1)
    >>> end('{"success":true,"file_path":"a.py"}'), end("2 passed")
    (('success', None), ('', None))
    >>> end({"stdout": "hi", "exitCode": 0})
    ('success', 0)

A prompt that names a file with `@` is followed by its text:

    >>> from vacr.agents.droid.tools import parse_shown_files
    >>> text = "Contents of /w/a.py (lines 1-2 of 2):\none\ntwo\n"
    >>> [(shown.path, shown.first) for shown in parse_shown_files(text)]
    [('/w/a.py', 1)]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.agents.anthropic_blocks import list_block_texts
from vacr.agents.labels import (
    DENIED,
    FAILED,
    INFERRED_HOST,
    INTERRUPTED,
    STATED_HOST,
    SUCCEEDED,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty, extract_result_text
from vacr.edits import FileAction, ObservedFile, ObservedLines

_FAILED_COMMAND = re.compile(r"Error: Command failed \(exit code: (-?\d{1,10})\)\n?")
_ENDED_PROCESS_START = "[Process exited with code "
_ENDED_PROCESS = re.compile(r"\n*\[Process exited with code (-?\d{1,10})\]\s*\Z")
_ERROR_PREFIX = re.compile(r"(?:Error: ){1,3}")
_REFUSALS = (
    *("Tool execution rejected", "User rejected"),
    *("Tool execution denied", "Tool execution blocked by hook"),
)
_ABORTS = (
    *("Tool execution aborted", "Request was aborted", "Request interrupted", "Tool cancelled:"),
    *("Tool execution cancelled", "Tool execution was cancelled", "Tool execution was interrupted"),
)
_TIMED_OUT = re.compile(r"Command timed out after \d{1,9} seconds\b")
_PENDING = "__TOOL_RESULT_PENDING__"
"""What Droid writes in place of a result that has not come yet."""
_COMMAND_TOOLS = ("Execute", "Shell")
_SHOWN_FILE = re.compile(r"Contents of (.+) \(lines (\d{1,7})-(\d{1,7}) of (\d{1,7})\):\n")
_REMINDER = re.compile(
    r"<system-reminder>[^<]*+(?:<(?!/system-reminder>)[^<]*+)*+</system-reminder>"
)
_HIDDEN_FROM_MODEL = "user_only"


# --- how a call ended ---


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the result does not tell."""
    entry = result.entry
    output = entry.get("output")
    if isinstance(output, dict) and type(output.get("exitCode")) is int:
        return classify_exit_code(output["exitCode"])
    text = extract_result_text(output)
    if failed := _FAILED_COMMAND.match(text) or _find_process_end(text):
        return classify_exit_code(int(failed[1]))
    words = _ERROR_PREFIX.sub("", text, count=1) if text.startswith("Error: ") else text
    if words.startswith(_REFUSALS):
        return Outcome(DENIED)
    if words.startswith(_ABORTS):
        return Outcome(INTERRUPTED)
    if _TIMED_OUT.match(words) and (result.call or {}).get("name") in _COMMAND_TOOLS:
        return Outcome(TIMED_OUT)
    if text == _PENDING:
        return UNKNOWN_OUTCOME
    success = _parse_success(text)
    is_error = entry.get("is-error", entry.get("isError"))
    if is_error is True or success is False or text.startswith("Error: "):
        return FAILED
    if is_error is False or success is True:
        return SUCCEEDED
    return UNKNOWN_OUTCOME


def _find_process_end(text: str) -> re.Match[str] | None:
    """Return the note at the end of an output about the exit code of its process, or None."""
    # Most outputs lack the note: finding that out is far cheaper than the search.
    return _ENDED_PROCESS.search(text) if _ENDED_PROCESS_START in text else None


def _parse_success(text: str) -> bool | None:
    """Return the flag `success` of a result in JSON, or None for another result."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    success = dict_or_empty(value).get("success")
    return success if isinstance(success, bool) else None


# --- files ---


def parse_shown_file(call: ToolCall, path: str) -> Iterable[FileAction]:
    """Return the file that a read showed; nothing where it showed a part."""
    arguments = dict_or_empty(call.input)
    is_part = arguments.get("offset") not in (None, 0) or arguments.get("limit") is not None
    return [] if is_part else [ObservedFile(path, call.output)]


def parse_shown_files(text: str) -> Iterator[FileAction]:
    """Yield the lines of the file that a text after a prompt shows."""
    match = _SHOWN_FILE.match(text)
    if match is None:
        return
    lines = text[match.end() :].removesuffix("\n").split("\n")
    first, last = int(match[2]), int(match[3])
    # The count of the host may include an empty line at the end.
    if len(lines) in (last - first + 1, last - first):
        yield ObservedLines(match[1], first, [line + "\n" for line in lines])


def strip_exit_notes(text: str) -> tuple[str, int | None]:
    """Return the output of a command without the notes about its end, and its exit code."""
    if failed := _FAILED_COMMAND.match(text):
        return text[failed.end() :], int(failed[1])
    if ended := _find_process_end(text):
        return text[: ended.start()] + "\n", int(ended[1])
    return text, None


# --- who wrote a message ---


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, without reminders and the files that a prompt names."""
    message = entry.get("message")
    if isinstance(message, dict) and message.get("visibility") == _HIDDEN_FROM_MODEL:
        return STATED_HOST
    texts = list_block_texts(entry.get("content"))
    words = [
        _REMINDER.sub("", text).strip() if "<system-reminder>" in text else text
        for text in texts
        if not _SHOWN_FILE.match(text)
    ]
    words = [text for text in words if text.strip()]
    if texts and not words:
        return INFERRED_HOST
    speaker = infer_speaker(record)
    return speaker if words == texts else Speaker(speaker.who, speaker.basis, "\n".join(words))

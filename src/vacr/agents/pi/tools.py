r"""The results of Pi's tools: how a call ended, and which lines of a file it showed.

A result has a flag, `isError`. The text of a failed command ends with the host's line about it:

    >>> from vacr.agents.labels import CallResult
    >>> from vacr.agents.pi.tools import classify_outcome
    >>> call = {"type": "tool-call", "name": "bash", "input": {"command": "make"}}
    >>> output = "no rule\n\nCommand exited with code 2"
    >>> entry = {"output": output, "message": {"isError": True}}
    >>> classify_outcome(CallResult(entry, entry, call, {}))[:2]
    ('error', 2)

An edit records a diff for the screen, with the number of each line. Removed lines and context have
their number in the old text, added lines the one in the new text:

    >>> from vacr.agents.pi.tools import parse_numbered_diff
    >>> (hunk,) = parse_numbered_diff(" 1 import os\n-2 x = 1\n+2 x = 2\n+3 y = 3\n   ...")
    >>> hunk.old_first, hunk.lines
    (1, [' import os\n', '-x = 1\n', '+x = 2\n', '+y = 3\n'])

Early versions numbered the context wrongly. A diff whose numbers do not add up proves nothing:

    >>> parse_numbered_diff("   ...\n  1 a\n- 32 b\n+ 32 c")
    []
"""

from __future__ import annotations

import dataclasses
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from vacr.agents.file_tools import (
    RunShell,
    ShellOutput,
    build_observation,
    observe_search_rows,
)
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILED_STATUSES,
    FAILURE,
    INTERRUPTED,
    RUNNING,
    SUCCESS,
    TIMED_OUT,
    CallResult,
    Outcome,
    parse_status_word,
)
from vacr.agents.lift import is_one_of
from vacr.agents.tool_calls import (
    ToolCall,
    dict_or_empty,
    extract_result_text,
    get_text_argument,
)
from vacr.edits import (
    MIN_CUT_LINE_LENGTH,
    FileAction,
    Hunk,
    ObservedLines,
    gather_uncut_lines,
)

# --- outcomes ---

_SHELL_TOOLS = frozenset(("bash", "exec"))
_EXIT_LINE = re.compile(r"Command exited with code (-?\d{1,10})")
_TIMEOUT_LINE = re.compile(r"Command timed out after \d+(?:\.\d+)? seconds")
_ABORT_LINE = "Command aborted"
_ABORTED_TEXTS = frozenset(("Operation aborted", "Skipped due to queued user message."))
_BLOCKED_TEXT = "Tool execution was blocked"


def get_details(native: dict[str, Any]) -> dict[str, Any]:
    """Return the `details` of a result; empty without them."""
    return dict_or_empty(dict_or_empty(native.get("message")).get("details"))


def is_flagged(native: dict[str, Any]) -> bool | None:
    """Return the flag of a result: whether the call failed, or None without a flag."""
    flag = dict_or_empty(native.get("message")).get("isError")
    return flag if type(flag) is bool else None


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, by its flag, its details, and the last line of its text."""
    entry = result.entry
    details = get_details(entry)
    code = details.get("exitCode")
    exit_code = code if type(code) is int else None
    status = parse_status_word(details.get("status"))
    if status == RUNNING:
        return Outcome(RUNNING)
    flag = is_flagged(entry)
    if not flag:
        if details.get("timedOut") is True:
            return Outcome(TIMED_OUT, exit_code)
        if status in FAILED_STATUSES or exit_code:
            return Outcome(status if status in FAILED_STATUSES else FAILURE, exit_code)
        is_done = status == SUCCESS or flag is False
        return Outcome(SUCCESS if is_done else "", exit_code)
    text = extract_result_text(entry.get("output"))
    if text == _BLOCKED_TEXT:
        return Outcome(DENIED)
    if text in _ABORTED_TEXTS:
        return Outcome(INTERRUPTED)
    tool = (result.call or {}).get("name") or dict_or_empty(entry.get("message")).get("toolName")
    if is_one_of(tool, _SHELL_TOOLS):
        last_line = text.rpartition("\n")[2]
        if exited := _EXIT_LINE.fullmatch(last_line):
            return Outcome(FAILURE, int(exited[1]))
        if _TIMEOUT_LINE.fullmatch(last_line):
            return Outcome(TIMED_OUT)
        if last_line == _ABORT_LINE:
            return Outcome(INTERRUPTED)
    return Outcome(FAILURE, exit_code) if exit_code else FAILED


# --- edits ---

_NUMBERED_LINE = re.compile(r"([-+ ]) *(\d{1,9}) (.*)")
_SKIPPED_LINES = re.compile(r" +\.\.\.")


def parse_numbered_diff(text: str) -> list[Hunk]:
    """Parse the diff that an edit shows; return no hunks if its numbers do not add up."""
    hunks: list[Hunk] = []
    lines: list[str] = []
    old = new = 0
    shift = 0
    for row in text.split("\n"):
        match = _NUMBERED_LINE.fullmatch(row)
        if match is None:
            if not _SKIPPED_LINES.fullmatch(row):
                return []
            lines = []
            continue
        mark, number = match[1], int(match[2])
        if not lines:
            old = number - shift if mark == "+" else number
            new = old + shift
            hunks.append(Hunk(old, new, lines))
        if number != (new if mark == "+" else old):
            return []
        old += mark != "+"
        new += mark != "-"
        shift = new - old
        lines.append(f"{mark}{match[3]}\n")
    return [hunk for hunk in hunks if any(line[0] != " " for line in hunk.lines)]


# --- reads and searches ---

_READ_NOTICE = re.compile(
    r"\n\n\[(?:Showing lines (\d{1,9})-(\d{1,9}) of (\d{1,9})(?: \([^)\n]*\))?"
    r"|(\d{1,9}) more lines in file)\. Use offset=(\d{1,9}) to continue\.?\]\Z"
)
_OTHER_NOTICE = re.compile(r"\n[\[(.][^\n]*(?:offset=|truncated|more lines)[^\n]*\Z")
_IMAGE_START = "Read image file ["
_LONG_LINE_START = re.compile(r"\[Line \d+ is ")
_SEARCH_ROW = re.compile(r"(.+?):(\d{1,9}): (.*)")


def parse_shown_file(call: ToolCall, path: str) -> list[FileAction]:
    """Return the part of a file that a read showed; empty for an image."""
    text, arguments = call.output, dict_or_empty(call.input)
    if text.startswith(_IMAGE_START) or _LONG_LINE_START.match(text):
        return []
    first = arguments.get("offset")
    first = first if type(first) is int and first > 0 else 1
    total = None
    notice = _READ_NOTICE.search(text)
    if notice:
        text = text[: notice.start()]
        shown = text.count("\n") + 1
        if notice[3]:
            if int(notice[1]) != first or int(notice[2]) != first + shown - 1:
                return []
            total = int(notice[3])
        else:
            if int(notice[5]) != first + shown:
                return []
            total = first + shown - 1 + int(notice[4])
    elif other := _OTHER_NOTICE.search(text):
        text = text[: other.start()].rstrip("\n")
    elif "limit" not in arguments and "truncation" not in get_details(call.native):
        total = first + text.count("\n")
    lines = text.split("\n")
    if any(len(line) >= MIN_CUT_LINE_LENGTH for line in lines):
        runs = gather_uncut_lines(first, lines)
        return [ObservedLines(path, start, seen, unended=True) for start, seen in runs]
    if total is None:
        return [ObservedLines(path, first, [f"{line}\n" for line in lines], unended=True)]
    shown_part = build_observation(path, text, first, total)
    return [] if shown_part is None else [shown_part]


def parse_search_results(call: ToolCall) -> Iterator[FileAction]:
    """Yield the matching lines that a search shows; lines of context are left out."""
    searched = get_text_argument(call.input, ("path",)) or ""
    rows = []
    for line in call.output.split("\n"):
        match = _SEARCH_ROW.fullmatch(line)
        if match and match[3] and not match[3].endswith("[truncated]"):
            name = match[1]
            # A search in one file shows the name of that file.
            is_file = posixpath.basename(searched.replace("\\", "/")) == name
            rows.append((searched if is_file else posixpath.join(searched, name), match))
    yield from observe_search_rows([(path, int(row[2]), row[3]) for path, row in rows])


# --- shells ---

_STATUS_LINE = re.compile(
    r"(?:\A|\n\n)Command (?:exited with code -?\d{1,10}|timed out after [\d.]+ seconds|aborted)\Z"
)
_CUT_NOTICE = re.compile(r"\n\n\[Showing (?:last|lines) [^\n]* Full output: [^\n]*\]\Z")
_NO_OUTPUT = "(no output)"


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the host's lines, and its exit code if stated."""
    details = get_details(call.native)
    code = details.get("exitCode")
    exit_code = code if type(code) is int else None
    text = call.output
    line = _EXIT_LINE.search(text)
    is_failed = is_flagged(call.native) is True
    if line and exit_code is None and is_failed:
        exit_code = int(line[1])
    if is_failed:
        text = _STATUS_LINE.sub("", text)
    text = _CUT_NOTICE.sub("", text)
    has_ended = parse_status_word(details.get("status")) != RUNNING
    return ShellOutput("" if text == _NO_OUTPUT else text, code=exit_code, ended=has_ended)


def drop_cut_output(call: ToolCall, run: RunShell) -> RunShell:
    """Return a run without its output if the host cut off the beginning of that output."""
    is_cut = "truncation" in get_details(call.native) or _CUT_NOTICE.search(
        _STATUS_LINE.sub("", call.output)
    )
    if not is_cut:
        return run
    return dataclasses.replace(run, result=dataclasses.replace(run.result, text="", cut=True))

"""Gemini CLI's tools, and the files that their results show.

Results hold a `resultDisplay` with the text before and after a change. The first searches cut the
indentation off, so their lines prove nothing. A read of many files counts only if the host states
how many files it shows.

    >>> from vacr.agents.gemini.tools import parse_window
    >>> output = "Showing lines 7-8 of 300.\\n--- FILE CONTENT (truncated) ---\\none\\ntwo"
    >>> [(shown.first, shown.lines) for shown in parse_window(output, "a.py")]
    [(7, ['one\\n', 'two\\n'])]
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from vacr.agents.file_tools import (
    FileReport,
    SearchRow,
    ShellOutput,
    observe_search_rows,
    parse_plain_output,
)
from vacr.agents.tool_calls import (
    FOLDER_ARGUMENTS,
    PATH_ARGUMENTS,
    ToolCall,
    dict_or_empty,
    get_text_argument,
)
from vacr.edits import (
    FileAction,
    Hunk,
    ObservedFile,
    ObservedLines,
    gather_uncut_lines,
    parse_diff_hunks,
)

# --- changes ---


def build_file_report(call: ToolCall) -> FileReport:
    """Return the report in `resultDisplay` about the file of a call."""
    display = dict_or_empty(call.native.get("resultDisplay"))
    before = display.get("originalContent", display.get("before"))
    after = display.get("newContent", display.get("after"))
    created = display.get("isNewFile")
    return FileReport(
        before=before if isinstance(before, str) else None,
        after=after if isinstance(after, str) else None,
        created=created if isinstance(created, bool) else None,
    )


def parse_recorded_hunks(call: ToolCall) -> list[Hunk]:
    """Return the hunks of the diff that Gemini CLI shows."""
    diff = dict_or_empty(call.native.get("resultDisplay")).get("fileDiff")
    return parse_diff_hunks(diff) if isinstance(diff, str) else []


def is_user_modified(call: ToolCall) -> bool:
    """Return whether the user changed the proposal before it was applied."""
    counts = dict_or_empty(call.native.get("resultDisplay")).get("diffStat")
    if isinstance(counts, dict):
        return any(
            isinstance(count, int) and count > 0
            for name, count in counts.items()
            if isinstance(name, str) and name.startswith("user_")
        )
    arguments = dict_or_empty(call.input)
    if arguments.get("modified_by_user") is not True:
        return False
    proposed = arguments.get("ai_proposed_content")
    applied = (arguments.get("new_string"), arguments.get("content"))
    return not isinstance(proposed, str) or proposed not in applied


# --- reads ---

# What follows a file that Gemini CLI shows.
_CONTEXT_MARK = "\n\n--- Newly Discovered Project Context ---\n"
_IGNORED_FILE_MESSAGE = re.compile(r"File path '.*' is ignored by configured ignore patterns\.")
_WINDOW_MESSAGE = "\nIMPORTANT: The file content has been truncated."
# The message and the shape of the result stand within so many characters.
_HEAD_LENGTH = 60


def parse_shown_file(call: ToolCall, path: str) -> list[FileAction] | None:
    """Return the part of a file that a read showed, or None if it shows numbered lines."""
    text = call.output.partition(_CONTEXT_MARK)[0]
    if _WINDOW_MESSAGE in call.output[:_HEAD_LENGTH]:
        return list(parse_window(text, path))
    is_response = "functionResponse" in str(call.native.get("output"))[:_HEAD_LENGTH]
    if not isinstance(call.input, dict) or not is_response:
        return None
    return [] if _IGNORED_FILE_MESSAGE.fullmatch(call.output) else [ObservedFile(path, text)]


def parse_window(output: str, path: str) -> Iterator[FileAction]:
    """Yield the part of a file that a truncated read shows; a line before it names the part."""
    window = re.search(r"Showing lines (\d{1,7})-(\d{1,7}) of (\d{1,7})", output)
    _, mark, text = output.partition("--- FILE CONTENT (truncated) ---\n")
    if not window or not mark:
        return
    lines = text.split("\n")
    if window[2] == window[3] and not lines[-1]:
        lines.pop()
    for first, seen in gather_uncut_lines(int(window[1]), lines):
        yield ObservedLines(path, first, seen, total=int(window[3]))


_FILE_SEPARATOR = re.compile(r"^--- (.+) ---$", re.MULTILINE)
_READ_FILES_SUMMARY = re.compile(r"\(Target Dir: `(.+?)`\)[\s\S]*?from \*\*(\d{1,5}) file\(s\)\*\*")
_END_OF_CONTENT = "End of content"
_NOTES_IN_FILE = ("\n\n[WARNING: ", "\n\n\nIMPORTANT: ")


def parse_many_files(call: ToolCall) -> Iterator[FileAction]:
    """Yield the files that a read of many shows, if the host states how many it read."""
    summary = _READ_FILES_SUMMARY.search(str(call.native.get("resultDisplay")))
    marks = list(_FILE_SEPARATOR.finditer(call.output))
    if summary is None or len(marks) != int(summary[2]) + 1 or marks[-1][1] != _END_OF_CONTENT:
        return
    folder = summary[1].replace("\\", "/")
    for mark, following in pairwise(marks):
        text = call.output[mark.end() : following.start()]
        if not text.startswith("\n\n") or not text.strip() or text.startswith(_NOTES_IN_FILE):
            continue
        path = posixpath.join(folder, mark[1].replace("\\", "/"))
        lines = text[2:].rstrip("\n").split("\n")  # How the last line ends is not shown.
        for first, seen in gather_uncut_lines(1, lines):
            yield ObservedLines(path, first, seen)


# --- searches ---

_SEARCH_HEAD = re.compile(
    r'\AFound \d+ match(?:es)? for pattern "[\s\S]*?" in path "([^"\n]+)".*:\n---\n'
)
_SEARCH_ROW = re.compile(r"L(\d{1,7})[:-] (.*)")


def parse_search_results(call: ToolCall) -> Iterator[FileAction] | None:
    """Yield the observations in a search result, or return None if it has another form."""
    head = _SEARCH_HEAD.match(call.output)
    if head is None:
        return None
    return observe_search_rows(_parse_rows(call.output[head.end() :].split("\n"), head[1]))


def _parse_rows(lines: Sequence[str], folder: str) -> list[SearchRow]:
    """Parse `File: path`, and below it `L12: text` or `L13- text`, relative to `folder`."""
    path, rows = None, []
    for line in lines:
        row = _SEARCH_ROW.fullmatch(line)
        if line.startswith("File: "):
            name = line.removeprefix("File: ").replace("\\", "/")
            path = folder if posixpath.basename(folder) == name else posixpath.join(folder, name)
        elif row and path is not None and row[2]:
            # A line of blanks looks empty here, because blanks at its end are cut off.
            rows.append((path, int(row[1]), row[2]))
    has_indentation = any(text[0] in " \t" for _, _, text in rows)
    return rows if has_indentation else []


# --- shell output ---

_OUTPUT_PREFIXES = ("Command: ", "Output: ")
_STDERR = re.compile(
    r"\n(?:Error|Stderr): (.*?)\n(?:Exit Code|Error|Signal|Background PIDs|Process Group PGID): ",
    re.DOTALL,
)
_TRAILER = re.compile(
    r"\n(?:Error|Stderr|Exit Code|Signal|Background PIDs|Process Group PGID): [\s\S]*\Z"
)


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command; blanks at its beginning are cut off."""
    output = call.output
    if not output.startswith(_OUTPUT_PREFIXES):
        return parse_plain_output(call)
    code = re.search(r"^Exit Code: (-?\d{1,5})$", output, re.MULTILINE)
    errors = _STDERR.search(output)
    text = re.sub(r"\A(?:Command: [\s\S]*?\nDirectory: .*\n)?(?:Output|Stdout): ", "", output)
    text = _TRAILER.sub("", text)
    return ShellOutput(
        "" if text == "(empty)" else text,
        code=int(code[1]) if code else None,
        errors="" if errors is None or errors[1] in ("(none)", "(empty)") else errors[1],
        stripped=True,
        trimmed=True,
    )


# --- the project folder ---


def find_hashed_folder(digest: str, entries: Any) -> str:
    """Return the folder above a named file whose SHA-256 is `digest`, or an empty text."""
    tried: set[str] = set()
    for path in _list_named_paths(entries):
        for separator in re.finditer(r"[\\/]|\Z", path):
            folder = path[: separator.start() or 1]
            if folder in tried:
                continue
            tried.add(folder)
            if hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest() == digest:
                return folder
    return ""


def _list_named_paths(entries: Any) -> Iterator[str]:
    """Yield the files and folders that calls name."""
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "tool-call":
            for names in (PATH_ARGUMENTS, FOLDER_ARGUMENTS):
                path = get_text_argument(entry.get("input"), names)
                if path is not None:
                    yield path
        yield from _list_named_paths(entry.get("children"))

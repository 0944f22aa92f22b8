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
from dataclasses import dataclass
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
    """Yield the part of a file that a truncated read shows; a line before it names the part.

    Yield nothing if that line, or the mark before the content, is missing.
    """
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
    """Parse `File: path`, and below it `L12: text` or `L13- text`, relative to `folder`.

    Return no rows if none is indented: then the host cut the indentation off.
    """
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

_UNTRUSTED_START, _UNTRUSTED_END = "<untrusted_context>\n", "\n</untrusted_context>"
_ESCAPED_END = "&lt;/untrusted_context&gt;"
_MASKED_START, _MASKED_END = "<tool_output_masked>\n", "\n\nOutput too large. Full output available"
_SHORTENED_START = "Output too large. Showing first "
_TRUNCATED_START = "Tool output was too large and has been truncated."
_TRUNCATED_BODY = "\nTruncated part of the output:\n"
_HOOK_START, _HOOK_END = "\n\n<hook_context>", "</hook_context>"
_CHANGED_START = "\n\n[System] Tool input parameters"
_CHANGED_END = " modified by a hook before execution."

_LONG_START, _SHORT_START = "Command: ", "Output: "
_LONG_HEAD = re.compile(r"\ACommand: [\s\S]*?\nDirectory: .*\n(?:Output|Stdout): ")
_TRAILER_VALUES = {
    "Exit Code": re.compile(r"-?[0-9]{1,10}|\(none\)|null"),
    "Signal": re.compile(r"[0-9]{1,3}|SIG[A-Z0-9+-]{1,12}|\(none\)|null"),
    "Background PIDs": re.compile(r"[0-9]{1,10}(?:, [0-9]{1,10})*|\(none\)"),
    "Process Group PGID": re.compile(r"-?[0-9]{1,10}|\(none\)"),
}
"""The host's last lines in their order: name → the values that it can have."""
_TRAILER_NAMES = tuple(_TRAILER_VALUES)
_HOST_DISPLAYS = {
    "Exit Code": "Command exited with code: ",
    "Signal": "Command terminated by signal: ",
}
"""The screen's text for a command without output → the line that states the same."""
_OMISSION = re.compile(r"\n\n\.\.\. \[[0-9,]{1,15} characters omitted\] \.\.\.\n\n")
_BLANK_OR_STYLE = re.compile(r"\s+|\x1b\[[0-9;]*[A-Za-z]")
_NO_SIGNAL = ("0", "(none)", "null")
_EMPTY_OUTPUTS = ("(empty)", "(none)")


@dataclass(frozen=True, slots=True)
class ShellReport:
    """The host's report about a command that ended."""

    output: str
    errors: str = ""
    exit_code: int | None = None
    """The exit code; newer versions do not write a zero."""
    signal: str = ""
    """The signal that ended the command."""


def parse_shell_report(text: str, display: Any = None) -> ShellReport | None:
    """Parse the host's report about a command that ended, or return None for another text.

    The report ends with lines of the host, such as `Exit Code: 1` and `Signal: 9`. Newer versions
    omit some of them, and a program may print such a line itself. So the lines of the host begin
    where `display` ends, the output as the screen showed it. Without `display`, lines count only if
    none is missing, as in older versions.
    """
    text = unwrap_shell_text(text)
    if text.startswith(_LONG_START) and "\n" not in text:
        text = text.replace("\\n", "\n")  # Some copies of sessions have their line ends escaped.
    head = _LONG_HEAD.match(text) if text.startswith(_LONG_START) else None
    if head:
        body, fields = _split_trailer(text[head.end() :])
        body, errors = _split_section(body, "\nError: ")
        if head[0].endswith("Stdout: "):
            body, errors = _split_section(body, "\nStderr: ")
    elif text.startswith(_SHORT_START):
        body, errors, fields = _split_short_report(text.removeprefix(_SHORT_START), display)
    else:
        return None
    code, signal = fields.get("Exit Code", ""), fields.get("Signal", "")
    return ShellReport(
        "" if body in _EMPTY_OUTPUTS else body,
        "" if errors in _EMPTY_OUTPUTS else errors,
        int(code) if code.lstrip("-").isdecimal() else None,
        "" if signal in _NO_SIGNAL else signal,
    )


def unwrap_shell_text(text: str) -> str:
    """Return the text of a shell result without the host's wrappers and the texts of hooks."""
    if text.startswith(_MASKED_START):
        text = text.removeprefix(_MASKED_START).rpartition(_MASKED_END)[0]
    if text.startswith(_SHORTENED_START):
        text = text.partition("\n")[2]
    elif text.startswith(_TRUNCATED_START):
        text = text.partition(_TRUNCATED_BODY)[2]
    if text.startswith(_UNTRUSTED_START):
        # In the text of a program, the end of the wrapper is escaped.
        return text.removeprefix(_UNTRUSTED_START).partition(_UNTRUSTED_END)[0]
    if text.endswith(_HOOK_END) and _HOOK_START in text:
        text = text[: text.rindex(_HOOK_START)]
    if text.endswith(_CHANGED_END) and _CHANGED_START in text:
        text = text[: text.rindex(_CHANGED_START)]
    return text


def _split_trailer(text: str) -> tuple[str, dict[str, str]]:
    """Split a report into the text before the host's last lines, and their values by name."""
    fields: dict[str, str] = {}
    allowed = list(_TRAILER_NAMES)
    end = len(text)
    for line in reversed(text.rsplit("\n", len(_TRAILER_NAMES))[1:]):
        name, _, value = line.partition(": ")
        if name not in allowed or not _TRAILER_VALUES[name].fullmatch(value):
            break
        del allowed[allowed.index(name) :]
        fields[name] = value
        end -= len(line) + 1
    return text[:end], fields


def _split_section(text: str, start: str) -> tuple[str, str]:
    """Split a text before the last section that starts so; the section is empty without one."""
    place = text.rfind(start)
    return (text, "") if place < 0 else (text[:place], text[place + len(start) :])


def _split_short_report(text: str, display: Any) -> tuple[str, str, dict[str, str]]:
    """Split a report of the newer form, where each of the host's last lines may be missing.

    Return the output, the error of the host, and the values of its last lines by name. `display` is
    the output as the screen showed it.
    """
    shown = _join_display(display).replace(_UNTRUSTED_END[1:], _ESCAPED_END)
    rest = text[len(shown) :]
    if shown.strip() and text.startswith(shown) and rest[:1] in ("", "\n"):
        error, fields = _split_trailer(rest)
        if not error.strip() or error.startswith("\nError: "):
            return shown, error.removeprefix("\nError: ").strip("\n"), fields
    body, fields = _split_trailer(text)
    if not fields or _states_same(shown, body, fields):
        return body, "", fields
    count = _count_unseen_lines(text, shown, len(fields))
    if count is not None:
        return text.rsplit("\n", count)[0], "", dict(list(fields.items())[:count])
    if len(fields) == len(_TRAILER_NAMES) and "\nError: " in body:
        # Some versions leave out only the lines before the output.
        return *_split_section(body, "\nError: "), fields
    # The program may have printed these lines.
    return body, "", {}


def _states_same(shown: str, body: str, fields: dict[str, str]) -> bool:
    """Return whether the screen shows, in place of an output, how the command ended.

    That is so if `body` is the word for no output, and `shown` repeats the exit code or signal in
    `fields`.
    """
    return body in _EMPTY_OUTPUTS and any(
        shown == start + fields.get(name, "") for name, start in _HOST_DISPLAYS.items()
    )


def _count_unseen_lines(text: str, shown: str, most: int) -> int | None:
    """Return how many of the last lines of a report the screen did not show.

    The screen may show only the end of an output, with its lines broken, so blanks do not count.
    Return None if the screen shows another text. At most the last `most` lines are tried.
    """
    seen = _BLANK_OR_STYLE.sub("", shown)
    for count in range(most + 1):
        body = text.rsplit("\n", count)[0] if count else text
        # The host may leave out the middle of a long output. Then its end is compared.
        pieces = _OMISSION.split(body)
        tail = _BLANK_OR_STYLE.sub("", pieces[-1])
        if seen and tail.endswith(seen):
            return count
        if len(pieces) > 1 and tail and seen.endswith(tail):
            return count
    return None


def _join_display(display: Any) -> str:
    """Return the text that the screen showed, from a text or lines of styled pieces; else empty."""
    if isinstance(display, str):
        return display
    lines = [line for line in display if isinstance(line, list)] if type(display) is list else []
    return "\n".join(
        "".join(str(piece.get("text", "")) for piece in line if isinstance(piece, dict))
        for line in lines
    )


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command; blanks at its beginning are cut off."""
    report = parse_shell_report(call.output, call.native.get("resultDisplay"))
    if report is None:
        return parse_plain_output(call)
    return ShellOutput(
        report.output, code=report.exit_code, errors=report.errors, stripped=True, trimmed=True
    )


# --- the project folder ---


def find_hashed_folder(digest: str, entries: Any, algorithm: str = "sha256") -> str:
    """Return the folder above a named file whose path hashes to `digest`, or an empty text."""
    tried: set[str] = set()
    for path in _list_named_paths(entries):
        for separator in re.finditer(r"[\\/]|\Z", path):
            folder = path[: separator.start() or 1]
            if folder in tried:
                continue
            tried.add(folder)
            path_bytes = folder.encode("utf-8", "replace")
            if hashlib.new(algorithm, path_bytes, usedforsecurity=False).hexdigest() == digest:
                return folder
    return ""


def _list_named_paths(entries: Any) -> Iterator[str]:
    """Yield the files and folders that calls name in their arguments, also in children."""
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "tool-call":
            for names in (PATH_ARGUMENTS, FOLDER_ARGUMENTS):
                path = get_text_argument(entry.get("input"), names)
                if path is not None:
                    yield path
        yield from _list_named_paths(entry.get("children"))

"""OpenCode's tools, and the metadata that records their effects.

Every call keeps a `state.metadata`: the diff of a change, whether a file existed, an exit code, and
for a patch each file before and after. Searches list the file first, and its lines below:

    >>> from vacr.agents.opencode.tools import parse_grep_output
    >>> list(parse_grep_output(["/work/a.py:", "  Line 12: import os"]))
    [('/work/a.py', (12, ['import os\\n']))]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from vacr.agents.file_tools import (
    FileReport,
    ShellOutput,
    get_patch_text,
    parse_patch_actions,
    parse_plain_output,
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty
from vacr.edits import (
    MIN_CUT_LINE_LENGTH,
    AppliedPatch,
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    Hunk,
    ObservedFile,
    ObservedLines,
    parse_apply_patch,
    parse_diff_hunks,
)

# Versions differ in how they name a new file, and the diff that they keep of a file.
_NEW_FILE_KINDS = frozenset(["add", "create"])
_DIFF_MEMBERS = ("patch", "diff")


def get_metadata(call: ToolCall) -> dict[str, Any]:
    """Return the metadata of a call; empty without metadata."""
    state = call.native.get("state")
    if isinstance(state, dict):
        return dict_or_empty(state.get("metadata"))
    return dict_or_empty(call.native.get("metadata"))


# --- changes ---


def build_file_report(call: ToolCall) -> FileReport:
    """Return the report in the metadata about the file of a call."""
    metadata = get_metadata(call)
    diffs = [metadata.get("filediff")]
    results = metadata.get("results")
    if isinstance(results, list):
        diffs += [result.get("filediff") for result in results if isinstance(result, dict)]
    whole = [diff for diff in diffs if isinstance(diff, dict)]
    befores = [diff["before"] for diff in whole if isinstance(diff.get("before"), str)]
    afters = [diff["after"] for diff in whole if isinstance(diff.get("after"), str)]
    exists = metadata.get("exists")
    return FileReport(
        before=befores[0] if befores else None,
        after=afters[-1] if afters else None,
        created=not exists if isinstance(exists, bool) else None,
    )


def parse_recorded_hunks(call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
    """Return the hunks of the recorded diff; `spelled` restores the indentation that it lacks."""
    metadata = get_metadata(call)
    filediff = metadata.get("filediff")
    patch = filediff.get("patch") if isinstance(filediff, dict) else metadata.get("diff")
    if not isinstance(patch, str):
        return []
    return _restore_indentation(parse_diff_hunks(patch), spelled)


def derive_patch_actions(call: ToolCall) -> Iterator[FileAction]:
    """Yield the changes that a patch made: recorded by OpenCode, or else requested by the patch."""
    text = get_patch_text(call.input)
    files = get_metadata(call).get("files")
    files = files if isinstance(files, list) else []
    recorded = _parse_recorded_files(files)
    if recorded:
        yield from recorded
    elif text is not None:
        hunks = _collect_hunks(files, text)
        for action in parse_patch_actions(text):
            if isinstance(action, AppliedPatch):
                yield replace(action, hunks=hunks.get(action.path, ()))
            else:
                yield action


def _parse_recorded_files(files: list[Any]) -> list[FileAction]:
    """Return the recorded changes, or an empty list if a text before or after is missing."""
    actions: list[FileAction] = []
    for file in files:
        if not isinstance(file, dict) or not isinstance(file.get("filePath"), str):
            return []
        path, kind = file["filePath"], file.get("type")
        before, after = file.get("before"), file.get("after")
        if kind == "delete":
            actions.append(FileDeletion(path))
        elif not isinstance(after, str):
            return []
        elif kind in _NEW_FILE_KINDS:
            actions.append(FileWrite(path, after, created=True, recorded=True))
        elif not isinstance(before, str):
            return []
        else:
            actions += [ObservedFile(path, before), FileWrite(path, after, recorded=True)]
            if isinstance(file.get("movePath"), str):
                actions.append(FileMove(path, file["movePath"]))
    return actions


def _collect_hunks(files: list[Any], text: str) -> dict[str, list[Hunk]]:
    """Return the recorded hunks, by the name that the patch has for the file.

    `files` is OpenCode's record of the changed files, and `text` the patch. Files without a
    recorded diff are left out.
    """
    hunks = {}
    for patch in parse_apply_patch(text):
        spelled = [line for part in patch.parts for line in (*part.old, *part.new)]
        for file in files:
            if not isinstance(file, dict):
                continue
            diffs = (file.get(name) for name in _DIFF_MEMBERS)
            unified = next((diff for diff in diffs if isinstance(diff, str)), None)
            names = (file.get("filePath"), file.get("relativePath"))
            if patch.path in names and unified is not None:
                hunks[patch.path] = _restore_indentation(parse_diff_hunks(unified), spelled)
    return hunks


def _restore_indentation(hunks: Sequence[Hunk], spelled: Sequence[str]) -> list[Hunk]:
    """Put back the indentation that OpenCode cuts off from all lines of a diff.

    `spelled` are lines of the file as the call writes them. The list is empty when they do not
    agree on one indentation.
    """
    full_lines: dict[str, set[str]] = {}
    for line in spelled:
        full_lines.setdefault(line.lstrip(" \t"), set()).add(line)
    indents: set[str] | None = None
    for hunk in hunks:
        for marked in hunk.lines:
            line = marked[1:].removesuffix("\n")
            if marked[:1] not in "+-" or not line.strip():
                continue
            candidates = full_lines.get(line.lstrip(" \t"), ())
            fitting = {full[: len(full) - len(line)] for full in candidates if full.endswith(line)}
            if fitting:
                indents = fitting if indents is None else indents & fitting
    if indents is None or len(indents) != 1:
        return []
    [indent] = indents
    return [Hunk(hunk.old_first, hunk.new_first, _indent(hunk.lines, indent)) for hunk in hunks]


def _indent(marked_lines: Sequence[str], indent: str) -> list[str]:
    """Return marked lines with an indentation after the mark; blank lines stay."""
    return [line[:1] + indent + line[1:] if line[1:].strip() else line for line in marked_lines]


# --- searches ---

_GREP_LINE = re.compile(r"  Line (\d{1,7}): ")


def parse_search_results(call: ToolCall) -> Iterator[FileAction] | None:
    """Yield the observations in a search result, or return None if it has another form."""
    lines = call.output.split("\n")
    if not any(line.startswith("  Line ") for line in lines):
        return None
    return (ObservedLines(path, first, seen) for path, (first, seen) in parse_grep_output(lines))


def parse_grep_output(lines: Iterable[str]) -> Iterator[tuple[str, tuple[int, list[str]]]]:
    """Parse `path:`, and below it `  Line 12: text`.

    Yield the path, the line number and a list with the line, which ends in LF. Long lines may be
    cut, and are left out.
    """
    path: str | None = None
    for line in lines:
        match = _GREP_LINE.match(line)
        if match and path is not None and len(line) < MIN_CUT_LINE_LENGTH:
            yield path, (int(match[1]), [line[match.end() :] + "\n"])
        elif line.endswith(":") and not line.startswith(" "):
            path = line[:-1]


# --- shell output ---


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, and the exit code in its metadata."""
    metadata = get_metadata(call)
    code = metadata.get("exit", metadata.get("exit_code"))
    is_code = isinstance(code, int) and not isinstance(code, bool)
    return parse_plain_output(call, code if is_code else None)

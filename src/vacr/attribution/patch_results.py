"""What a patch does, as events. Step: attribute.

Give hunks back the tabs that a host shows as spaces. Step: attribute.

Claude Code records its patches with two spaces for each tab that indents a line. What the file is
known to hold and what the call spells tell which lines have tabs.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from vacr.attribution.calls import (
    PATCH_ARGUMENTS,
    ToolCall,
    get_opencode_metadata,
    get_text_argument,
)
from vacr.edits import (
    AppliedPatch,
    Edit,
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    Hunk,
    ObservedFile,
    Replacement,
    parse_apply_patch,
    parse_diff_hunks,
    restore_hunk_indentation,
    strip_line_end,
)

# Versions of OpenCode differ in how they name a file that is new, and the diff that they keep.
_NEW_FILE_KINDS = frozenset(("add", "create"))
_DIFF_MEMBERS = ("patch", "diff")


def parse_patch_actions(text: str) -> Iterator[FileAction]:
    """Say what a patch does."""
    for file in parse_apply_patch(text):
        if file.kind == "add":
            yield FileWrite(file.path, file.text, created=True)
        elif file.kind == "delete":
            yield FileDeletion(file.path)
        else:
            yield AppliedPatch(file.path, file.parts)
            if file.to:
                yield FileMove(file.path, file.to)


def get_patch_text(call: ToolCall) -> str | None:
    """Give the patch that a call asks for."""
    return (
        call.input
        if isinstance(call.input, str)
        else get_text_argument(call.input, PATCH_ARGUMENTS)
    )


def derive_patch_actions(call: ToolCall) -> Iterator[FileAction]:
    """Say what a call of a patch tool did."""
    text = get_patch_text(call)
    files = get_opencode_metadata(call.native).get("files")
    told = list(_parse_opencode_files(files)) if isinstance(files, list) else []
    if told:
        yield from told
    elif text is not None:
        recorded = _collect_opencode_hunks(files, text) if isinstance(files, list) else {}
        for event in parse_patch_actions(text):
            yield (
                replace(event, hunks=recorded.get(event.path, ()))
                if isinstance(event, AppliedPatch)
                else event
            )


def _parse_opencode_files(files: list[Any]) -> list[FileAction]:
    """Read what OpenCode says a patch has changed; nothing where it leaves out what files were and
    became.
    """
    events: list[FileAction] = []
    for file in files:
        if not isinstance(file, dict) or not isinstance(file.get("filePath"), str):
            return []
        path, kind, before, after = (
            file["filePath"],
            file.get("type"),
            file.get("before"),
            file.get("after"),
        )
        if kind == "delete":
            events.append(FileDeletion(path))
        elif not isinstance(after, str):
            return []
        elif kind in _NEW_FILE_KINDS:
            events.append(FileWrite(path, after, created=True, recorded=True))
        elif not isinstance(before, str):
            return []
        else:
            events += [ObservedFile(path, before), FileWrite(path, after, recorded=True)]
            if isinstance(file.get("movePath"), str):
                events.append(FileMove(path, file["movePath"]))
    return events


def _collect_opencode_hunks(files: list[Any], text: str) -> dict[str, list[Hunk]]:
    """Give the hunks that OpenCode recorded, by the name that the patch has for the file."""
    found = {}
    for patch in parse_apply_patch(text):
        spelled = [line for part in patch.parts for line in (*part.old, *part.new)]
        for file in files:
            names = (
                (file.get("filePath"), file.get("relativePath")) if isinstance(file, dict) else ()
            )
            unified = (
                next(
                    (file[name] for name in _DIFF_MEMBERS if isinstance(file.get(name), str)), None
                )
                if names
                else None
            )
            if patch.path in names and unified is not None:
                found[patch.path] = restore_hunk_indentation(parse_diff_hunks(unified), spelled)
    return found


def parse_codex_changes(changes: dict[str, Any]) -> Iterator[FileAction]:
    """Read what Codex says a patch has changed."""
    for path, change in changes.items():
        if not isinstance(change, dict):
            continue
        kind, content, unified = (
            change.get("type"),
            change.get("content"),
            change.get("unified_diff"),
        )
        if kind == "add" and isinstance(content, str):
            yield FileWrite(path, content, created=True, recorded=True)
        elif kind == "delete":
            yield FileDeletion(path)
        elif kind == "update" and isinstance(unified, str):
            yield Replacement(path, (), parse_diff_hunks(unified))
            if isinstance(change.get("move_path"), str):
                yield FileMove(path, change["move_path"])


_LEADING_TABS = re.compile(r"\t+")
_LEADING_SPACE_PAIRS = re.compile(r"(?: {2})+")


def restore_hunk_tabs(
    hunks: Sequence[Hunk], known: Callable[[int], str | None], edits: Sequence[Edit]
) -> list[Hunk]:
    """Spell the lines of hunks as the file has them; `known` gives a line before the change by its
    number.
    """
    return [
        replace(hunk, lines=list(_restore_line_tabs(hunk, known, edits)))
        if hunk.tabs_as_spaces
        else hunk
        for hunk in hunks
    ]


def _restore_line_tabs(
    hunk: Hunk, known: Callable[[int], str | None], edits: Sequence[Edit]
) -> Iterator[str]:
    written = {
        _expand_leading_tabs(line): line
        for edit in edits
        for text in (edit.old, edit.new)
        for line in text.split("\n")
    }
    number, found = max(hunk.old_first, 1), []
    for line in hunk.lines:
        text, before = strip_line_end(line[1:]), None
        if line[:1] != "+":
            before, number = known(number), number + 1
        exact = (
            strip_line_end(before)
            if before is not None and _expand_leading_tabs(strip_line_end(before)) == text
            else written.get(text)
        )
        found.append((line, text, exact))
    exact_ones = [*written.values(), *(exact for _, _, exact in found if exact)]
    tabbed = any(one.startswith("\t") for one in exact_ones) and not any(
        one.startswith("  ") for one in exact_ones
    )
    for line, text, exact in found:
        spelled = (
            exact
            if exact is not None
            else _LEADING_SPACE_PAIRS.sub(_replace_space_pairs, text, count=1)
            if tabbed and text[:1] == " "
            else text
        )
        yield line[:1] + spelled + line[1 + len(text) :]


def _expand_leading_tabs(line: str) -> str:
    tabs = _LEADING_TABS.match(line)
    return "  " * len(tabs[0]) + line[tabs.end() :] if tabs else line


def _replace_space_pairs(pairs: re.Match[str]) -> str:
    return "\t" * (len(pairs[0]) // 2)

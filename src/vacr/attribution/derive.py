"""Patches that scripts apply: the JavaScript that Codex runs with its tool `exec`. Step: attribute.

Only texts that stand in the script are read: an argument that is a literal, or a constant that is
one. What a script puts together while it runs is not known.

Lines of files that searches show, and reads of many files at once. Step: attribute.

Gemini CLI's first searches cut the indentation off; what they show proves no line. A file that it
shows together with others is told from them only where the host says how many there are.

What a call or another entry says about files, as events. Step: attribute.
"""

import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from vacr.attribution.calls import (
    CALL_DONE,
    CALL_FAILED,
    CALL_UNREPORTED,
    COMMAND_ARGUMENTS,
    CONTENT_ARGUMENTS,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATH_ARGUMENTS,
    REPLACE_ALL_ARGUMENTS,
    TOOL_DELETE,
    TOOL_KINDS,
    TOOL_NO_EFFECT,
    TOOL_PATCH,
    TOOL_READ,
    TOOL_READ_MANY,
    TOOL_REPLACE,
    TOOL_SCRIPT,
    TOOL_SEARCH,
    TOOL_SHELL,
    TOOL_UNPLACED_EDIT,
    TOOL_WRITE,
    ShownEntry,
    ToolCall,
    get_created_flag,
    get_text_after,
    get_text_argument,
    get_text_before,
    is_user_edit,
    parse_recorded_hunks,
    parse_user_edits,
)
from vacr.attribution.notices import (
    parse_change_notice,
    parse_final_reminder,
    parse_message_reminders,
)
from vacr.attribution.patch_results import (
    derive_patch_actions,
    get_patch_text,
    parse_codex_changes,
    parse_patch_actions,
)
from vacr.attribution.shell.effects import derive_shell_events
from vacr.attribution.shell.execution import is_absolute_path
from vacr.edits import (
    MIN_CUT_LINE_LENGTH,
    Edit,
    FileAction,
    FileDeletion,
    FileWrite,
    Hunk,
    ObservedFile,
    ObservedLines,
    PossibleChange,
    Replacement,
    UnplacedEdit,
    gather_uncut_lines,
    parse_apply_patch,
    parse_cursor_chunks,
    parse_listing,
    parse_numbered_lines,
    parse_opencode_grep,
)

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


def find_script_patches(script: str) -> Iterator[str]:
    """Give the patches that a script applies, as far as it spells them."""
    constants: dict[str, str] = dict(_JS_CONSTANT.findall(script))
    for called in _PATCH_CALL.finditer(script):
        text = _parse_js_literal(constants.get(str(called[1]), str(called[1])))
        if text is not None:
            yield text


def has_unknown_effects(script: str) -> bool:
    """Tell whether a script calls tools of which it is not known what they change."""
    calls = script.count("tools.apply_patch(")
    return (
        calls != sum(1 for _ in find_script_patches(script))
        or _OTHER_TOOL_CALL.search(script) is not None
    )


def _parse_js_literal(literal: str) -> str | None:
    """Give the text that a literal of JavaScript stands for; `None` for anything else."""
    raw = literal.startswith("String.raw")
    body = literal.partition("`")[2][:-1] if raw else literal[1:-1]
    if (raw or literal[:1] == "`") and re.search(r"(?<!\\)\$\{", body):
        return None
    if raw:
        return body
    return _JS_ESCAPE.sub(_replace_js_escape, body) if literal[:1] in "`\"'" else None


def _replace_js_escape(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "ux" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
        return chr(number) if number <= sys.maxunicode else found[0]
    return _JS_NAMED_ESCAPES.get(code, code)


_PATH_AND_LINE_NUMBER = re.compile(r"((?:[A-Za-z]:)?[^:\n]+?):(\d{1,7}):")
_LINE_NUMBER = re.compile(r"(\d{1,7})[:-]")
_CONTEXT_LINE_NUMBER = re.compile(r"-(\d{1,7})-")
_TRUNCATION_NOTE = re.compile(
    (
        r"\n\s*(?:\[Showing results with pagination|\.\.\. \[\d+ lines truncated\]|\(Results are "
        r"truncated).*\Z"
    ),
    re.DOTALL,
)
_GEMINI_SEARCH_HEAD = re.compile(
    r'\AFound \d+ match(?:es)? for pattern "[\s\S]*?" in path "([^"\n]+)".*:\n---\n'
)
_GEMINI_SEARCH_ROW = re.compile(r"L(\d{1,7})[:-] (.*)")
_FILE_SEPARATOR = re.compile(r"^--- (.+) ---$", re.MULTILINE)
_READ_FILES_SUMMARY = re.compile(r"\(Target Dir: `(.+?)`\)[\s\S]*?from \*\*(\d{1,5}) file\(s\)\*\*")
_END_OF_CONTENT = "End of content"

SearchRow = tuple[str, int, str]


def parse_search_results(call: ToolCall, named: str | None) -> Iterator[FileAction]:
    """Say what a search shows; `named` is the file or the folder that it was told to search."""
    lines = _TRUNCATION_NOTE.sub("", call.output).split("\n")
    head = _GEMINI_SEARCH_HEAD.match(call.output)
    if head:
        yield from _observe_search_rows(
            _parse_gemini_rows(call.output[head.end() :].split("\n"), head[1])
        )
    elif any(line.startswith("  Line ") for line in lines):
        for path, (first, seen) in parse_opencode_grep(lines):
            yield ObservedLines(path, first, seen)
    elif named is not None and _has_rising_numbers(lines):
        for first, seen in parse_numbered_lines(lines, _LINE_NUMBER):
            yield ObservedLines(named, first, seen)
    else:
        yield from _observe_search_rows(_parse_grep_rows(lines))


def _observe_search_rows(rows: Sequence[SearchRow]) -> Iterator[FileAction]:
    for path, number, text in rows:
        if len(text) < MIN_CUT_LINE_LENGTH:
            yield ObservedLines(path, number, [text + "\n"])


def _has_rising_numbers(lines: Sequence[str]) -> bool:
    """Tell whether all lines carry numbers that rise, as those of one file do."""
    matches = [_LINE_NUMBER.match(line) for line in lines if line not in ("--", "")]
    numbers = [int(one[1]) for one in matches if one]
    return len(numbers) == len(matches) > 0 and all(low < high for low, high in pairwise(numbers))


def _parse_grep_rows(lines: Sequence[str]) -> list[SearchRow]:
    """Read `path:12:text`, and `path-13-text` beside it."""
    matches = [_PATH_AND_LINE_NUMBER.match(line) for line in lines]
    known = {one[1] for one in matches if one}
    rows = []
    for line, one in zip(lines, matches, strict=True):
        if one:
            rows.append((one[1], int(one[2]), line[one.end() :]))
            continue
        fits = [
            mark
            for mark in _CONTEXT_LINE_NUMBER.finditer(line[:1000])
            if line[: mark.start()] in known
        ]
        if len(fits) == 1:
            rows.append((line[: fits[0].start()], int(fits[0][1]), line[fits[0].end() :]))
    return rows


def _parse_gemini_rows(lines: Sequence[str], folder: str) -> list[SearchRow]:
    """Read `File: path` and below it `L12: text` or `L13- text`, told from the folder that was
    searched.
    """
    path, rows = None, []
    for line in lines:
        row = _GEMINI_SEARCH_ROW.fullmatch(line)
        if line.startswith("File: "):
            name = line.removeprefix("File: ").replace("\\", "/")
            path = folder if posixpath.basename(folder) == name else posixpath.join(folder, name)
        elif (
            row and path is not None and row[2]
        ):  # an empty line may have blanks, which are cut off
            rows.append((path, int(row[1]), row[2]))
    return rows if any(text[0] in " \t" for _, _, text in rows) else []


def parse_many_files(call: ToolCall) -> Iterator[FileAction]:
    """Say what a read of many files shows, if the host tells how many it read."""
    told = _READ_FILES_SUMMARY.search(str(call.native.get("resultDisplay")))
    marks = list(_FILE_SEPARATOR.finditer(call.output))
    if told is None or len(marks) != int(told[2]) + 1 or marks[-1][1] != _END_OF_CONTENT:
        return
    for mark, after in pairwise(marks):
        text = call.output[mark.end() : after.start()]
        lines = text[2:].rstrip("\n").split("\n")  # how the last line ends is not told
        if (
            text.startswith("\n\n")
            and text.strip()
            and not text.startswith(("\n\n[WARNING: ", "\n\n\nIMPORTANT: "))
        ):
            for first, seen in gather_uncut_lines(1, lines):
                yield ObservedLines(
                    posixpath.join(told[1].replace("\\", "/"), mark[1].replace("\\", "/")),
                    first,
                    seen,
                )


# What Gemini CLI adds to a file that it shows.
_GEMINI_CONTEXT_MARK = "\n\n--- Newly Discovered Project Context ---\n"

_IGNORED_FILE_MESSAGE = re.compile(r"File path '.*' is ignored by configured ignore patterns\.")


# What Claude Code, Gemini CLI and OpenCode say of a file that is not there.
_MISSING_FILE_MESSAGE = re.compile(
    r"(?:<tool_use_error>)?(?:Error: )?File (?:does not exist|not found)\b"
)


def derive_file_actions(call: ToolCall, agent: str) -> Iterator[FileAction]:
    """Say what an ended call did to files and showed of them."""
    kind = TOOL_KINDS.get(agent, {}).get(call.name)
    changes = call.native.get("changes")
    if (
        kind in (TOOL_SHELL, TOOL_PATCH, TOOL_SCRIPT)
        and call.state == CALL_DONE
        and isinstance(changes, dict)
        and changes
    ):
        yield from parse_codex_changes(changes)
    elif kind == TOOL_SHELL:
        yield from derive_shell_events(call)
    elif call.state == CALL_UNREPORTED and kind is not None:
        yield from _derive_unreported_actions(call, kind)
    elif call.state == CALL_DONE and kind is not None:
        yield from _ACTION_DERIVERS[kind](call)
    elif (
        call.state == CALL_FAILED
        and kind in (TOOL_READ, TOOL_REPLACE)
        and _MISSING_FILE_MESSAGE.match(call.output)
    ):
        yield from (
            FileDeletion(path)
            for path in [get_text_argument(call.input, PATH_ARGUMENTS)]
            if path is not None
        )
    if kind != TOOL_SHELL and "<system-reminder>" in call.output:
        yield from parse_final_reminder(call.output)


def is_unknown_file_tool(call: ToolCall, agent: str) -> bool:
    """Tell whether a call names a file and nothing is known of its tool."""
    return (
        call.name not in TOOL_KINDS.get(agent, {})
        and get_text_argument(call.input, PATH_ARGUMENTS) is not None
    )


def _derive_unreported_actions(call: ToolCall, kind: str) -> Iterator[FileAction]:
    """Say what a call meant to change whose result nobody wrote down."""
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if kind == TOOL_PATCH:
        for file in parse_apply_patch(get_patch_text(call) or ""):
            yield UnplacedEdit(file.path)
    elif path is not None and kind in (TOOL_WRITE, TOOL_REPLACE, TOOL_UNPLACED_EDIT):
        yield UnplacedEdit(path)
    elif path is not None and kind == TOOL_DELETE:
        yield PossibleChange(path)


def _derive_read_actions(call: ToolCall) -> Iterator[FileAction]:
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if path is None or path.endswith(".ipynb"):
        return
    shown = _parse_claude_file(call.native.get("toolUseResult"), path) or _parse_cursor_file(
        call.native.get("output"), path
    )
    output = call.output
    if shown is not None:
        yield shown
    elif "\nIMPORTANT: The file content has been truncated." in output[:60]:
        yield from _parse_gemini_window(output.partition(_GEMINI_CONTEXT_MARK)[0], path)
    elif isinstance(call.input, dict) and "functionResponse" in str(call.native.get("output"))[:60]:
        if not _IGNORED_FILE_MESSAGE.fullmatch(output):
            yield ObservedFile(path, output.partition(_GEMINI_CONTEXT_MARK)[0])
    else:
        yield from parse_listing(path, output)


def _parse_claude_file(result: Any, path: str) -> FileAction | None:
    """Read the file that Claude Code keeps beside the text it shows."""
    file = result.get("file") if isinstance(result, dict) else None
    if not isinstance(file, dict) or not isinstance(file.get("content"), str):
        return None
    return _build_observation(
        path, file["content"], file.get("startLine", 1), file.get("totalLines")
    )


def _parse_cursor_file(output: Any, path: str) -> FileAction | None:
    """Read the file that Cursor's editor keeps as a result; without a number of lines it may be a
    part.
    """
    if not isinstance(output, dict) or not isinstance(output.get("contents"), str):
        return None
    total = output.get("totalLinesInFile")
    return (
        _build_observation(path, output["contents"], output.get("startLineOneIndexed", 1), total)
        if isinstance(total, int)
        else None
    )


def _build_observation(path: str, text: str, first: Any, total: Any) -> FileAction | None:
    """Say what lines of a file a text is, of which the total is counted with the empty one after
    the last line end.
    """
    if not isinstance(first, int):
        return None
    first = max(first, 1)  # a read from line 0 begins with the first line
    lines = text.split("\n")
    if first == 1 and total == len(lines):
        return ObservedFile(path, text)
    if first + len(lines) - 1 == total and not lines[-1]:
        lines.pop()
    return ObservedLines(
        path, first, [line + "\n" for line in lines], total=total if isinstance(total, int) else 0
    )


def _parse_gemini_window(output: str, path: str) -> Iterator[FileAction]:
    """Read a part of a file that Gemini CLI shows, with a line that says which."""
    found = re.search(r"Showing lines (\d{1,7})-(\d{1,7}) of (\d{1,7})", output)
    _, mark, text = output.partition("--- FILE CONTENT (truncated) ---\n")
    if found and mark:
        lines = text.split("\n")
        if found[2] == found[3] and not lines[-1]:
            lines.pop()
        for first, seen in gather_uncut_lines(int(found[1]), lines):
            yield ObservedLines(path, first, seen, total=int(found[3]))


def _derive_replace_actions(call: ToolCall) -> Iterator[FileAction]:
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if path is None:
        return
    edits = parse_user_edits(call.native)
    if edits is None:
        edits = parse_requested_edits(call.input)
    if edits is None:
        yield UnplacedEdit(path)
        return
    before, after = get_text_before(call.native), get_text_after(call.native)
    if before is not None:
        yield ObservedFile(path, before)
        if after is not None:
            yield FileWrite(path, after, recorded=True)
            return
    recorded = parse_recorded_hunks(
        call.native,
        [line for edit in edits for text in (edit.old, edit.new) for line in text.split("\n")],
    )
    if len(edits) == 1 and not edits[0].old:
        yield FileWrite(path, edits[0].new, created=get_created_flag(call.native))
    elif edits or recorded:
        shown = (
            [one for one in parse_listing(path, call.output) if isinstance(one, ObservedLines)]
            if "cat -n" in call.output
            else []
        )
        yield Replacement(path, edits, recorded, shown, _parse_cursor_hunks(call))
    else:
        yield UnplacedEdit(path)


def parse_requested_edits(arguments: dict[str, Any]) -> list[Edit] | None:
    """Give the texts that a call asks to be replaced; nothing where it does not say."""
    given = arguments.get("edits", [arguments])
    edits = []
    for item in given if isinstance(given, list) else ():
        old, new = (
            get_text_argument(item, OLD_TEXT_ARGUMENTS),
            get_text_argument(item, NEW_TEXT_ARGUMENTS),
        )
        if old is None or new is None:
            return None
        expected = item.get("expected_replacements")
        every = any(item.get(name) is True for name in REPLACE_ALL_ARGUMENTS) or (
            isinstance(expected, int) and expected > 1
        )
        edits.append(Edit(old, new, every))
    return edits


def _derive_write_actions(call: ToolCall) -> Iterator[FileAction]:
    path, text = (
        get_text_argument(call.input, PATH_ARGUMENTS),
        get_text_argument(call.input, CONTENT_ARGUMENTS),
    )
    if path is None or text is None:
        return
    before, after, created = (
        get_text_before(call.native),
        get_text_after(call.native),
        get_created_flag(call.native),
    )
    told = call.native.get("toolUseResult")
    if after is None and isinstance(told, dict) and isinstance(told.get("content"), str):
        after = told["content"]
    if before is not None:
        yield ObservedFile(path, before)
    recorded = created is True or before is not None
    if created is None:
        created = _parse_created_message(call.output)
    yield FileWrite(path, text if after is None else after, created=created, recorded=recorded)


def _parse_created_message(output: str) -> bool | None:
    """Tell from a result's words whether a file is new."""
    if output.startswith(("File created", "Successfully created")):
        return True
    return False if output.startswith(("Successfully overwrote", "The file ")) else None


def _derive_unplaced_edit(call: ToolCall) -> Iterator[FileAction]:
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if path is None:
        return
    before, after, created = (
        get_text_before(call.native),
        get_text_after(call.native),
        get_created_flag(call.native),
    )
    if is_user_edit(call.native):
        yield PossibleChange(path)
    elif after is not None and (created or before is not None):
        if before is not None and not created:
            yield ObservedFile(path, before)
        yield FileWrite(path, after, created=created, recorded=True)
    elif offers := _parse_cursor_hunks(call):
        yield Replacement(path, (), offers=offers)
    else:
        yield UnplacedEdit(path)


def _parse_cursor_hunks(call: ToolCall) -> list[list[Hunk]]:
    """Read the hunks that Cursor's editor recorded; with its blank after each mark, or as others
    write them.
    """
    found = [parse_cursor_chunks(call.native.get("output"), width) for width in (2, 1)]
    return [one for one in found if one]


def _derive_script_actions(call: ToolCall) -> Iterator[FileAction]:
    text = (
        call.input
        if isinstance(call.input, str)
        else get_text_argument(call.input, COMMAND_ARGUMENTS)
    )
    if text is None:
        return
    if call.native.get("told") is not True:
        for patch in find_script_patches(text):
            yield from parse_patch_actions(patch)
    if has_unknown_effects(text):
        yield PossibleChange("")


def _derive_delete_actions(call: ToolCall) -> Iterator[FileAction]:
    path = get_text_argument(call.input, PATH_ARGUMENTS)
    if path is not None:
        yield FileDeletion(path)


def _derive_search_actions(call: ToolCall) -> Iterator[FileAction]:
    for event in parse_search_results(call, get_text_argument(call.input, ("path",))):
        if not call.lost or is_absolute_path(event.path):
            yield event


def _derive_no_actions(_: ToolCall) -> Iterator[FileAction]:
    return iter(())


_ACTION_DERIVERS = {
    TOOL_READ: _derive_read_actions,
    TOOL_REPLACE: _derive_replace_actions,
    TOOL_WRITE: _derive_write_actions,
    TOOL_PATCH: derive_patch_actions,
    TOOL_SEARCH: _derive_search_actions,
    TOOL_READ_MANY: parse_many_files,
    TOOL_UNPLACED_EDIT: _derive_unplaced_edit,
    TOOL_DELETE: _derive_delete_actions,
    TOOL_SCRIPT: _derive_script_actions,
    TOOL_NO_EFFECT: _derive_no_actions,
}


def derive_shown_actions(shown: ShownEntry) -> Iterator[FileAction]:
    """Say what an attachment or a reminder shows of a file."""
    if shown.value.get("type") == "user":
        yield from parse_message_reminders(shown.value.get("content"))
        return
    data = shown.value.get("data")
    attachment = data.get("attachment") if isinstance(data, dict) else None
    if isinstance(attachment, dict):
        yield from _derive_attachment_actions(attachment)


def _derive_attachment_actions(attachment: dict[str, Any]) -> Iterator[FileAction]:
    """Read an attachment of Claude Code; one that only names a file (`compact_file_reference`)
    shows nothing of it.
    """
    path, content = attachment.get("filename"), attachment.get("content")
    if attachment.get("type") == "nested_memory":
        memory = content if isinstance(content, dict) else {}
        differs = memory.get("contentDiffersFromDisk")
        text = (
            memory.get("rawContent")
            if differs is True
            else memory.get("content")
            if differs is False
            else None
        )
        if isinstance(memory.get("path"), str) and isinstance(text, str):
            yield ObservedFile(memory["path"], text)
    elif not isinstance(path, str):
        return
    elif attachment.get("type") == "edited_text_file" and isinstance(
        attachment.get("snippet"), str
    ):
        yield parse_change_notice(path, attachment["snippet"])
    elif isinstance(content, dict):
        event = _parse_claude_file(content, path)
        if event is not None:
            yield event

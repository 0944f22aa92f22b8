"""What a call or another entry says about files, as events. Step: attribute."""

import re
from collections.abc import Iterator
from typing import Any

from vacr.attribution import (
    apply_patch,
    editors,
    hosts,
    hunks,
    listings,
    notices,
    patches,
    reminders,
    scripts,
    searches,
    tools,
)
from vacr.attribution.calls import DONE, FAILED, UNTOLD, Call, Shown
from vacr.attribution.events import (
    Delete,
    Edit,
    Event,
    Hunk,
    Observe,
    Replace,
    Sketch,
    Snapshot,
    Touch,
    Write,
)
from vacr.attribution.shell.commands import shell_events
from vacr.attribution.shell.places import is_absolute

# What Gemini CLI adds to a file that it shows.
_DISCOVERED = "\n\n--- Newly Discovered Project Context ---\n"

_IGNORED = re.compile(r"File path '.*' is ignored by configured ignore patterns\.")


# What Claude Code, Gemini CLI and OpenCode say of a file that is not there.
_MISSING = re.compile(r"(?:<tool_use_error>)?(?:Error: )?File (?:does not exist|not found)\b")


def events_of(call: Call, agent: str) -> Iterator[Event]:
    """Say what an ended call did to files and showed of them."""
    kind = tools.TOOLS.get(agent, {}).get(call.name)
    changes = call.native.get("changes")
    if (
        kind in (tools.SHELL, tools.PATCH, tools.SCRIPT)
        and call.state == DONE
        and isinstance(changes, dict)
        and changes
    ):
        yield from patches.told_changes(changes)
    elif kind == tools.SHELL:
        yield from shell_events(call)
    elif call.state == UNTOLD and kind is not None:
        yield from _untold(call, kind)
    elif call.state == DONE and kind is not None:
        yield from _READERS[kind](call)
    elif (
        call.state == FAILED
        and kind in (tools.OBSERVE, tools.REPLACE)
        and _MISSING.match(call.output)
    ):
        yield from (
            Delete(path) for path in [tools.text(call.input, tools.PATHS)] if path is not None
        )
    if kind != tools.SHELL and "<system-reminder>" in call.output:
        yield from reminders.at_the_end(call.output)


def is_unknown(call: Call, agent: str) -> bool:
    """Tell whether a call names a file and nothing is known of its tool."""
    return (
        call.name not in tools.TOOLS.get(agent, {})
        and tools.text(call.input, tools.PATHS) is not None
    )


def _untold(call: Call, kind: str) -> Iterator[Event]:
    """Say what a call meant to change whose result nobody wrote down."""
    path = tools.text(call.input, tools.PATHS)
    if kind == tools.PATCH:
        for file in apply_patch.parse(patches.patch_text(call) or ""):
            yield Sketch(file.path)
    elif path is not None and kind in (tools.WRITE, tools.REPLACE, tools.SKETCH):
        yield Sketch(path)
    elif path is not None and kind == tools.DELETE:
        yield Touch(path)


def _observe(call: Call) -> Iterator[Event]:
    path = tools.text(call.input, tools.PATHS)
    if path is None or path.endswith(".ipynb"):
        return
    shown = _host_file(call.native.get("toolUseResult"), path) or _contents(
        call.native.get("output"), path
    )
    output = call.output
    if shown is not None:
        yield shown
    elif "\nIMPORTANT: The file content has been truncated." in output[:60]:
        yield from _truncated(output.partition(_DISCOVERED)[0], path)
    elif isinstance(call.input, dict) and "functionResponse" in str(call.native.get("output"))[:60]:
        if not _IGNORED.fullmatch(output):
            yield Snapshot(path, output.partition(_DISCOVERED)[0])
    else:
        yield from listings.listed(path, output)


def _host_file(result: Any, path: str) -> Event | None:
    """Read the file that Claude Code keeps beside the text it shows."""
    file = result.get("file") if isinstance(result, dict) else None
    if not isinstance(file, dict) or not isinstance(file.get("content"), str):
        return None
    return _window(path, file["content"], file.get("startLine", 1), file.get("totalLines"))


def _contents(output: Any, path: str) -> Event | None:
    """Read the file that Cursor's editor keeps as a result; without a number of lines it may be a
    part.
    """
    if not isinstance(output, dict) or not isinstance(output.get("contents"), str):
        return None
    total = output.get("totalLinesInFile")
    return (
        _window(path, output["contents"], output.get("startLineOneIndexed", 1), total)
        if isinstance(total, int)
        else None
    )


def _window(path: str, text: str, first: Any, total: Any) -> Event | None:
    """Say what lines of a file a text is, of which the total is counted with the empty one after
    the last line end.
    """
    if not isinstance(first, int):
        return None
    first = max(first, 1)  # a read from line 0 begins with the first line
    lines = text.split("\n")
    if first == 1 and total == len(lines):
        return Snapshot(path, text)
    if first + len(lines) - 1 == total and not lines[-1]:
        lines.pop()
    return Observe(
        path, first, [line + "\n" for line in lines], total=total if isinstance(total, int) else 0
    )


def _truncated(output: str, path: str) -> Iterator[Event]:
    """Read a part of a file that Gemini CLI shows, with a line that says which."""
    found = re.search(r"Showing lines (\d{1,7})-(\d{1,7}) of (\d{1,7})", output)
    _, mark, text = output.partition("--- FILE CONTENT (truncated) ---\n")
    if found and mark:
        lines = text.split("\n")
        if found[2] == found[3] and not lines[-1]:
            lines.pop()
        for first, seen in listings.whole_lines(int(found[1]), lines):
            yield Observe(path, first, seen, total=int(found[3]))


def _replace(call: Call) -> Iterator[Event]:
    path = tools.text(call.input, tools.PATHS)
    if path is None:
        return
    edits = hosts.edits(call.native)
    if edits is None:
        edits = edits_in(call.input)
    if edits is None:
        yield Sketch(path)
        return
    before, after = hosts.before(call.native), hosts.after(call.native)
    if before is not None:
        yield Snapshot(path, before)
        if after is not None:
            yield Write(path, after, recorded=True)
            return
    recorded = hosts.recorded(
        call.native,
        [line for edit in edits for text in (edit.old, edit.new) for line in text.split("\n")],
    )
    if len(edits) == 1 and not edits[0].old:
        yield Write(path, edits[0].new, created=hosts.created(call.native))
    elif edits or recorded:
        shown = (
            [one for one in listings.listed(path, call.output) if isinstance(one, Observe)]
            if "cat -n" in call.output
            else []
        )
        yield Replace(path, edits, recorded, shown, _offers(call))
    else:
        yield Sketch(path)


def edits_in(arguments: dict[str, Any]) -> list[Edit] | None:
    """Give the texts that a call asks to be replaced; nothing where it does not say."""
    given = arguments.get("edits", [arguments])
    edits = []
    for item in given if isinstance(given, list) else ():
        old, new = tools.text(item, tools.OLD), tools.text(item, tools.NEW)
        if old is None or new is None:
            return None
        expected = item.get("expected_replacements")
        every = any(item.get(name) is True for name in tools.EVERY) or (
            isinstance(expected, int) and expected > 1
        )
        edits.append(Edit(old, new, every))
    return edits


def _write(call: Call) -> Iterator[Event]:
    path, text = tools.text(call.input, tools.PATHS), tools.text(call.input, tools.TEXT)
    if path is None or text is None:
        return
    before, after, created = (
        hosts.before(call.native),
        hosts.after(call.native),
        hosts.created(call.native),
    )
    told = call.native.get("toolUseResult")
    if after is None and isinstance(told, dict) and isinstance(told.get("content"), str):
        after = told["content"]
    if before is not None:
        yield Snapshot(path, before)
    recorded = created is True or before is not None
    if created is None:
        created = _said_created(call.output)
    yield Write(path, text if after is None else after, created=created, recorded=recorded)


def _said_created(output: str) -> bool | None:
    """Tell from a result's words whether a file is new."""
    if output.startswith(("File created", "Successfully created")):
        return True
    return False if output.startswith(("Successfully overwrote", "The file ")) else None


def _sketch(call: Call) -> Iterator[Event]:
    path = tools.text(call.input, tools.PATHS)
    if path is None:
        return
    before, after, created = (
        hosts.before(call.native),
        hosts.after(call.native),
        hosts.created(call.native),
    )
    if editors.by_hand(call.native):
        yield Touch(path)
    elif after is not None and (created or before is not None):
        if before is not None and not created:
            yield Snapshot(path, before)
        yield Write(path, after, created=created, recorded=True)
    elif offers := _offers(call):
        yield Replace(path, (), offers=offers)
    else:
        yield Sketch(path)


def _offers(call: Call) -> list[list[Hunk]]:
    """Read the hunks that Cursor's editor recorded; with its blank after each mark, or as others
    write them.
    """
    found = [hunks.chunked(call.native.get("output"), width) for width in (2, 1)]
    return [one for one in found if one]


def _script(call: Call) -> Iterator[Event]:
    text = call.input if isinstance(call.input, str) else tools.text(call.input, tools.COMMANDS)
    if text is None:
        return
    if call.native.get("told") is not True:
        for patch in scripts.patches(text):
            yield from patches.patch_events(patch)
    if scripts.does_more(text):
        yield Touch("")


def _delete(call: Call) -> Iterator[Event]:
    path = tools.text(call.input, tools.PATHS)
    if path is not None:
        yield Delete(path)


def _search(call: Call) -> Iterator[Event]:
    for event in searches.found(call, tools.text(call.input, ("path",))):
        if not call.lost or is_absolute(event.path):
            yield event


def _nothing(_: Call) -> Iterator[Event]:
    return iter(())


_READERS = {
    tools.OBSERVE: _observe,
    tools.REPLACE: _replace,
    tools.WRITE: _write,
    tools.PATCH: patches.patched,
    tools.SEARCH: _search,
    tools.GATHER: searches.read_together,
    tools.SKETCH: _sketch,
    tools.DELETE: _delete,
    tools.SCRIPT: _script,
    tools.NOTHING: _nothing,
}


def shown_events(shown: Shown) -> Iterator[Event]:
    """Say what an attachment or a reminder shows of a file."""
    if shown.value.get("type") == "user":
        yield from reminders.in_message(shown.value.get("content"))
        return
    data = shown.value.get("data")
    attachment = data.get("attachment") if isinstance(data, dict) else None
    if isinstance(attachment, dict):
        yield from _attached(attachment)


def _attached(attachment: dict[str, Any]) -> Iterator[Event]:
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
            yield Snapshot(memory["path"], text)
    elif not isinstance(path, str):
        return
    elif attachment.get("type") == "edited_text_file" and isinstance(
        attachment.get("snippet"), str
    ):
        yield notices.read(path, attachment["snippet"])
    elif isinstance(content, dict):
        event = _host_file(content, path)
        if event is not None:
            yield event

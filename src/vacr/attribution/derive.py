"""What a call or another entry says about files, as events. Step: attribute."""

import re
from collections.abc import Iterator
from typing import Any

from vacr.attribution import hunks, listings, tools
from vacr.attribution.calls import DONE, Call, Shown
from vacr.attribution.events import Delete, Edit, Event, Hunk, Move, Notice, Observe, Replace, Snapshot, Write
from vacr.attribution.patches import patch_events
from vacr.attribution.shell.commands import shell_events


def events_of(call: Call, agent: str) -> Iterator[Event]:
    """Say what an ended call did to files and showed of them."""
    kind = tools.TOOLS.get(agent, {}).get(call.name)
    if kind == tools.SHELL:
        yield from shell_events(call)
    elif call.state == DONE and kind is not None:
        yield from _READERS[kind](call)


def _observe(call: Call) -> Iterator[Event]:
    path = tools.text(call.input, tools.PATHS)
    if path is None:
        return
    shown = _host_file(call.native.get("toolUseResult"), path)
    if shown is not None:
        yield shown
    elif "\nIMPORTANT: The file content has been truncated." in call.output[:60]:
        yield from _truncated(call.output, path)
    elif isinstance(call.input, dict) and "functionResponse" in str(call.native.get("output"))[:60]:
        yield Snapshot(path, call.output)
    else:
        yield from _listed(path, call.output)


def _host_file(result: Any, path: str) -> Event | None:
    """Read the file that Claude Code keeps beside the text it shows."""
    file = result.get("file") if isinstance(result, dict) else None
    if not isinstance(file, dict) or not isinstance(file.get("content"), str):
        return None
    first, total, text = file.get("startLine", 1), file.get("totalLines"), file["content"]
    lines = text.split("\n")
    if first == 1 and total == len(lines):
        return Snapshot(path, text)
    if not isinstance(first, int):
        return None
    if first + len(lines) - 1 == total and not lines[-1]:
        lines.pop()
    return Observe(path, first, [line + "\n" for line in lines])


def _truncated(output: str, path: str) -> Iterator[Event]:
    """Read a part of a file that Gemini CLI shows, with a line that says which."""
    found = re.search(r"Showing lines (\d{1,7})-(\d{1,7}) of", output)
    _, mark, text = output.partition("--- FILE CONTENT (truncated) ---\n")
    if found and mark:
        yield Observe(path, int(found[1]), [line + "\n" for line in text.split("\n")])


def _listed(path: str, output: str) -> Iterator[Event]:
    lines = output.split("\n")
    for form in (listings.ARROW, listings.BAR, listings.COLON):
        runs = listings.numbered(lines, form)
        if runs:
            for first, seen in runs:
                yield Observe(path, first, seen)
            return


def _replace(call: Call) -> Iterator[Event]:
    path = tools.text(call.input, tools.PATHS)
    if path is None:
        return
    given = call.input.get("edits", [call.input])
    edits = []
    for item in given if isinstance(given, list) else ():
        old, new = tools.text(item, tools.OLD), tools.text(item, tools.NEW)
        if old is None or new is None:
            return
        edits.append(Edit(old, new, any(item.get(name) is True for name in tools.EVERY)))
    yield from _before(call, path)
    shown = [event for event in _listed(path, call.output) if isinstance(event, Observe)] if "cat -n" in call.output else []
    yield Replace(path, edits, _recorded(call), shown)


def _before(call: Call, path: str) -> Iterator[Event]:
    """Give the text that the host says the file had before the call."""
    result = call.native.get("toolUseResult")
    if isinstance(result, dict):
        for name in ("originalFile", "originalFileContents"):
            if isinstance(result.get(name), str):
                yield Snapshot(path, result[name])
                return
    display = call.native.get("resultDisplay")
    if isinstance(display, dict) and isinstance(display.get("originalContent"), str):
        yield Snapshot(path, display["originalContent"])
    filediff = _metadata(call).get("filediff")
    if isinstance(filediff, dict) and isinstance(filediff.get("before"), str):
        yield Snapshot(path, filediff["before"])


def _metadata(call: Call) -> dict[str, Any]:
    state = call.native.get("state")
    metadata = state.get("metadata") if isinstance(state, dict) else call.native.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _recorded(call: Call) -> list[Hunk]:
    result = call.native.get("toolUseResult")
    if isinstance(result, dict):
        return hunks.structured(result.get("structuredPatch"))
    display = call.native.get("resultDisplay")
    if isinstance(display, dict) and isinstance(display.get("fileDiff"), str):
        return hunks.hunks_of(display["fileDiff"])
    return []


def _write(call: Call) -> Iterator[Event]:
    path, text = tools.text(call.input, tools.PATHS), tools.text(call.input, tools.TEXT)
    if path is None or text is None:
        return
    yield from _before(call, path)
    yield Write(path, text, created=_created(call))


def _created(call: Call) -> bool | None:
    result = call.native.get("toolUseResult")
    if isinstance(result, dict) and result.get("type") in ("create", "update"):
        return bool(result["type"] == "create")
    display = call.native.get("resultDisplay")
    if isinstance(display, dict) and isinstance(display.get("isNewFile"), bool):
        return bool(display["isNewFile"])
    exists = _metadata(call).get("exists")
    if isinstance(exists, bool):
        return not exists
    return True if call.output.startswith(("File created", "Successfully created")) else None


def _patch(call: Call) -> Iterator[Event]:
    text = call.input if isinstance(call.input, str) else tools.text(call.input, tools.PATCHES)
    changes = call.native.get("changes")
    if isinstance(changes, dict) and changes:
        yield from _told_changes(changes)
    elif text is not None:
        yield from patch_events(text)


def _told_changes(changes: dict[str, Any]) -> Iterator[Event]:
    """Read what Codex says a patch has changed."""
    for path, change in changes.items():
        if not isinstance(change, dict):
            continue
        kind, content, unified = change.get("type"), change.get("content"), change.get("unified_diff")
        if kind == "add" and isinstance(content, str):
            yield Write(path, content, created=True)
        elif kind == "delete":
            yield Delete(path)
        elif kind == "update" and isinstance(unified, str):
            yield Replace(path, (), hunks.hunks_of(unified))
            if isinstance(change.get("move_path"), str):
                yield Move(path, change["move_path"])


def _search(call: Call) -> Iterator[Event]:
    lines = call.output.split("\n")
    for path, (first, seen) in listings.found_in(lines):
        yield Observe(path, first, seen)
    named = tools.text(call.input, ("path",))
    if named is not None:
        for first, seen in listings.numbered(lines, listings.FOUND):
            yield Observe(named, first, seen)


def _nothing(_: Call) -> Iterator[Event]:
    return iter(())


_READERS = {
    tools.OBSERVE: _observe,
    tools.REPLACE: _replace,
    tools.WRITE: _write,
    tools.PATCH: _patch,
    tools.SEARCH: _search,
    tools.SKETCH: _nothing,
    tools.DELETE: _nothing,
}


def shown_events(shown: Shown) -> Iterator[Event]:
    """Say what an attachment or a reminder shows of a file."""
    data = shown.value.get("data")
    attachment = data.get("attachment") if isinstance(data, dict) else None
    if not isinstance(attachment, dict):
        return
    path = attachment.get("filename")
    if not isinstance(path, str):
        return
    if attachment.get("type") == "edited_text_file" and isinstance(attachment.get("snippet"), str):
        seen = [event for event in _listed(path, attachment["snippet"]) if isinstance(event, Observe)]
        yield Notice(path, seen)
    elif isinstance(attachment.get("content"), dict):
        event = _host_file(attachment["content"], path)
        if event is not None:
            yield event

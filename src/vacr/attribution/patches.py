"""What a patch does, as events. Step: attribute."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacr.attribution import apply_patch, hosts, hunks, tools
from vacr.attribution.calls import Call
from vacr.attribution.events import Delete, Event, Hunk, Move, Patch, Replace, Snapshot, Write

# Versions of OpenCode differ in how they name a file that is new, and the diff that they keep.
_NEW = frozenset(("add", "create"))
_UNIFIED = ("patch", "diff")


def patch_events(text: str) -> Iterator[Event]:
    """Say what a patch does."""
    for file in apply_patch.parse(text):
        if file.kind == "add":
            yield Write(file.path, file.text, created=True)
        elif file.kind == "delete":
            yield Delete(file.path)
        else:
            yield Patch(file.path, file.parts)
            if file.to:
                yield Move(file.path, file.to)


def patch_text(call: Call) -> str | None:
    """Give the patch that a call asks for."""
    return call.input if isinstance(call.input, str) else tools.text(call.input, tools.PATCHES)


def patched(call: Call) -> Iterator[Event]:
    """Say what a call of a patch tool did."""
    text = patch_text(call)
    files = hosts.metadata(call.native).get("files")
    told = list(_told_files(files)) if isinstance(files, list) else []
    if told:
        yield from told
    elif text is not None:
        recorded = _hunks_by_path(files, text) if isinstance(files, list) else {}
        for event in patch_events(text):
            yield (
                replace(event, hunks=recorded.get(event.path, ()))
                if isinstance(event, Patch)
                else event
            )


def _told_files(files: list[Any]) -> list[Event]:
    """Read what OpenCode says a patch has changed; nothing where it leaves out what files were and
    became.
    """
    events: list[Event] = []
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
            events.append(Delete(path))
        elif not isinstance(after, str):
            return []
        elif kind in _NEW:
            events.append(Write(path, after, created=True, recorded=True))
        elif not isinstance(before, str):
            return []
        else:
            events += [Snapshot(path, before), Write(path, after, recorded=True)]
            if isinstance(file.get("movePath"), str):
                events.append(Move(path, file["movePath"]))
    return events


def _hunks_by_path(files: list[Any], text: str) -> dict[str, list[Hunk]]:
    """Give the hunks that OpenCode recorded, by the name that the patch has for the file."""
    found = {}
    for patch in apply_patch.parse(text):
        spelled = [line for part in patch.parts for line in (*part.old, *part.new)]
        for file in files:
            names = (
                (file.get("filePath"), file.get("relativePath")) if isinstance(file, dict) else ()
            )
            unified = (
                next((file[name] for name in _UNIFIED if isinstance(file.get(name), str)), None)
                if names
                else None
            )
            if patch.path in names and unified is not None:
                found[patch.path] = hunks.indented(hunks.hunks_of(unified), spelled)
    return found


def told_changes(changes: dict[str, Any]) -> Iterator[Event]:
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
            yield Write(path, content, created=True, recorded=True)
        elif kind == "delete":
            yield Delete(path)
        elif kind == "update" and isinstance(unified, str):
            yield Replace(path, (), hunks.hunks_of(unified))
            if isinstance(change.get("move_path"), str):
                yield Move(path, change["move_path"])

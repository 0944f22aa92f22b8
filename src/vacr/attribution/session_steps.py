"""The steps of a session, ordered by when they took effect.

A call takes effect when its result is recorded, so the walk pairs calls with results and yields a
call where its result stands. Entries that are not calls are steps too, because agents show files in
attachments and reminders. Calls that never ended come last.

    >>> from vacr.attribution.session_steps import walk_session_steps
    >>> call = {"type": "tool-call", "call-id": "c1", "name": "Read", "input": {"file_path": "a"}}
    >>> result = {"type": "tool-result", "call-id": "c1", "output": "1→import os"}
    >>> session = {"agent-meta": {"cli-name": "claude-code"}, "entries": [call, result]}
    >>> [(step.name, step.state, step.output) for step in walk_session_steps({"session": session})]
    [('Read', 'done', '1→import os')]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacr.agents import (
    CALL_DONE,
    CALL_FAILED,
    CALL_UNREPORTED,
    SessionStep,
    ShownEntry,
    ToolCall,
    ToolEffect,
    extract_result_text,
    find_record_agent,
)
from vacr.record import get_epoch_milliseconds

ParentEntries = tuple[dict[str, Any], ...]


def walk_session_steps(record: dict[str, Any]) -> Iterator[SessionStep]:
    """Yield the steps of a record: ended calls and shown entries, then the calls still open."""
    walk = _SessionWalk(record)
    entries = record["session"].get("entries", ())
    for pointer, entry, parents in _walk_entries(entries, "/session/entries"):
        walk.update_context(entry)
        kind = entry.get("type")
        if kind == "tool-call":
            call = walk.begin_call(pointer, entry)
        elif kind == "tool-result":
            call = walk.end_call(pointer, entry, parents)
        else:
            call = walk.build_implied_call(pointer, entry)
            if call is None and kind in ("system-event", "user"):
                name = get_entry_name(entry, pointer)
                yield ShownEntry(name, walk.folder, entry, walk.time, walk.chain)
        if call is not None:
            yield call
    for call in (*walk.open_calls.values(), *walk.unnamed_calls):
        call.time = walk.time
        yield call


def _walk_entries(
    entries: Any, pointer: str, parents: ParentEntries = ()
) -> Iterator[tuple[str, dict[str, Any], ParentEntries]]:
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield f"{pointer}/{i}", entry, parents
            if "children" in entry:
                yield from _walk_entries(
                    entry["children"], f"{pointer}/{i}/children", (*parents, entry)
                )


def get_entry_name(entry: dict[str, Any], pointer: str) -> str:
    """Return the id of an entry, or its JSON Pointer where it has none."""
    name = entry.get("id")
    return name if isinstance(name, str) and name else pointer


class _SessionWalk:
    """The state at one point of a session: folder, model, time, and the open calls."""

    def __init__(self, record: dict[str, Any]) -> None:
        session = record["session"]
        meta = session.get("agent-meta", {})
        entries = session.get("entries", ())
        self.agent = find_record_agent(record)
        self.provider = str(meta.get("model-provider", ""))
        self.model = str(meta.get("model-id", ""))
        self.folder = self.top = self.agent.project_folder(record)
        self.chain = ""
        self.time = 0
        self.open_calls: dict[str, ToolCall] = {}
        self.unnamed_calls: list[ToolCall] = []
        self._stated_folders: dict[str, str] = {}  # the last one that each chain stated
        self._has_jumped = False
        self._calls_begun = 0
        self._call_ids = {
            entry.get("call-id")
            for _, entry, _ in _walk_entries(entries, "")
            if entry.get("type") == "tool-call"
        }
        self._reports = self.agent.call_reports(entries)

    def update_context(self, entry: dict[str, Any]) -> None:
        """Take over the time, the model and the folder that an entry states."""
        when = entry.get("timestamp")
        if isinstance(when, str | int | float) and not isinstance(when, bool):
            self.time = max(self.time, get_epoch_milliseconds(when) or 0)
        model, provider = self.agent.model_of(entry), self.agent.provider_of(entry)
        self.model = self.model if model is None else model
        self.provider = self.provider if provider is None else provider
        if isinstance(entry.get("cwd"), str):
            self._enter_folder(entry, entry["cwd"])
        else:
            folder = self.agent.folder_of(entry)
            self.folder = self.folder if folder is None else folder

    def _enter_folder(self, entry: dict[str, Any], folder: str) -> None:
        self.folder = folder
        self.chain = self.agent.chain_of(entry)
        # A call may be written down only after it ended: then the folder is the one it left.
        is_other = self._stated_folders.get(self.chain, folder) != folder
        self._has_jumped = entry.get("type") == "assistant" and is_other
        self._stated_folders[self.chain] = folder

    def begin_call(self, pointer: str, entry: dict[str, Any]) -> ToolCall | None:
        """Open a call; return it at once where its agent never records results."""
        call_id = entry.get("call-id")
        name = get_entry_name(entry, pointer)
        call = self._build_call(str(entry.get("name", "")), entry.get("input"), name, call_id)
        call.contributor = entry.get("contributor")
        if isinstance(call.contributor, dict) and isinstance(call.contributor.get("model-id"), str):
            call.model = call.contributor["model-id"]
        call.inherited = _is_inherited(entry)
        if isinstance(call_id, str):
            self.open_calls[call_id] = call
        elif not self.agent.records_results:
            call.state, call.time = CALL_UNREPORTED, self.time
            return call
        else:
            self.unnamed_calls.append(call)
        return None

    def _build_call(self, name: str, arguments: Any, entry: str, call_id: Any) -> ToolCall:
        self._calls_begun += 1
        known_id = call_id if isinstance(call_id, str) else entry
        call = ToolCall(name, arguments, entry, known_id, self._format_model(), self.folder)
        call.top, call.left, call.chain = self.top, self.folder, self.chain
        call.began, call.lost = self._calls_begun, self._has_jumped
        return call

    def _format_model(self) -> str:
        model, provider = self.model or "unknown", self.provider
        has_provider = self.model.startswith(provider + "/")
        if not provider or provider == "unknown" or has_provider:
            return model
        return f"{provider}/{model}"

    def end_call(
        self, pointer: str, entry: dict[str, Any], parents: ParentEntries
    ) -> ToolCall | None:
        """Return the call that a result ends, or nothing where no call is open for it."""
        call_id = entry.get("call-id")
        call = self.open_calls.pop(call_id, None) if isinstance(call_id, str) else None
        if call is None:
            return None
        call.result_entry = get_entry_name(entry, pointer)
        call.time, call.left, call.ended = self.time, self.folder, self._calls_begun
        call.output = extract_result_text(entry.get("output"))
        report = self._reports.about(call.call_id, entry)
        call.native = {**(parents[-1] if parents else {}), **report, **call.native, **entry}
        call.state = CALL_FAILED if self.agent.has_failed(call, entry, report) else CALL_DONE
        if call.contributor is None and self.agent.is_user_modified(call):
            call.contributor = {"type": "mixed", "model-id": call.model}
        return call

    def build_implied_call(self, pointer: str, entry: dict[str, Any]) -> ToolCall | None:
        """Return the call behind a reported change that no call of the session asked for.

        Where one script is running, the change is the script's.
        """
        report = self._reports.implied_call(entry)
        if report is None or report["call_id"] in self._call_ids:
            return None
        scripts = [
            call
            for call in self.open_calls.values()
            if self.agent.tool_effect(call) is ToolEffect.SCRIPT
        ]
        name = get_entry_name(entry, pointer)
        call = self._build_call("apply_patch", None, name, report["call_id"])
        if len(scripts) == 1:
            call.entry, call.call_id = scripts[0].entry, scripts[0].call_id
            scripts[0].native["told"] = True
        call.native, call.result_entry = report, name
        call.time, call.inherited = self.time, _is_inherited(entry)
        call.state = CALL_FAILED if self.agent.has_failed(call, {}, report) else CALL_DONE
        return call


def _is_inherited(entry: dict[str, Any]) -> bool:
    """Return whether an entry was copied from the session that this one continues."""
    own = entry.get("vacr")
    return isinstance(own, dict) and own.get("inherited") is True

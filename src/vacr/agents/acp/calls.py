"""Outcomes of calls in the Agent Client Protocol, and the files that they changed.

The agent states `completed` or `failed` for each call. For a command, `completed` only says that it
ended; the exit code counts, where the agent adds one:

    >>> from vacr.agents.acp.calls import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> call = {"type": "tool-call", "name": "execute"}
    >>> def end(status, output):
    ...     result = {"status": status, "output": output}
    ...     outcome = classify_outcome(CallResult(result, {}, call, {}))
    ...     return outcome.status or "unknown", outcome.exit_code
    >>> end("completed", {"output": "no rule", "metadata": {"exit": 2}})
    ('error', 2)
    >>> end("completed", "ok")
    ('unknown', None)

A change of a file is shown as its old and its new text, in whole or in part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.acp.reader import PATH_MARK, PERMISSION_MARK, REFUSED_MARK, WRITE_METHOD
from vacr.agents.agent import CallReports
from vacr.agents.file_tools import ShellOutput, parse_plain_output
from vacr.agents.labels import (
    DENIED,
    INTERRUPTED,
    SUCCESS,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    classify_exit_code,
    parse_stated_outcome,
)
from vacr.agents.tool_calls import CALL_DONE, ToolCall, dict_or_empty
from vacr.edits import Edit, FileAction, FileWrite, ObservedFile, Replacement

SHOWN_CHANGES = "shown-changes"
"""The member of a report that lists the changes of files, as the protocol shows them."""

_EXIT_CODE_MEMBERS = ("exit", "exitCode", "exit_code")


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended: by the answer of a person, the exit code, or the status."""
    call = result.call or {}
    stated = parse_stated_outcome(result.entry)
    permission = call.get("vacr", {}).get(PERMISSION_MARK)
    if stated.status not in (SUCCESS, "") and permission == "rejected":
        return Outcome(DENIED)
    if stated.status not in (SUCCESS, "") and permission == "cancelled":
        return Outcome(INTERRUPTED)
    code = find_exit_code(result.entry.get("output"))
    if code is not None:
        return classify_exit_code(code)
    if call.get("name") == "execute" and stated.status == SUCCESS:
        return UNKNOWN_OUTCOME
    return stated


def find_exit_code(output: Any) -> int | None:
    """Return the exit code that a result states as a number, or None."""
    output = dict_or_empty(output)
    for place in (output, dict_or_empty(output.get("metadata"))):
        for member in _EXIT_CODE_MEMBERS:
            if type(place.get(member)) is int:
                return int(place[member])
    return None


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, and its exit code or None."""
    return parse_plain_output(call, find_exit_code(call.native.get("output")))


# --- changes of files ---


class ShownChanges(CallReports):
    """The last changes of files that a call or one of its updates shows."""

    def __init__(self, changes: dict[str, list[Any]]) -> None:
        """Take the shown changes by the id of the call."""
        self._changes = changes
        self._paths = {part["path"] for parts in changes.values() for part in parts}

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the changes that a call showed; empty if it showed none."""
        del result
        changes = self._changes.get(call_id)
        return {SHOWN_CHANGES: changes} if changes else {}

    def implied_call(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """Return the call for a file that the agent had the editor write.

        Return None for any other entry, and if a call already shows changes of the file.
        """
        if entry.get("event-type") != WRITE_METHOD or REFUSED_MARK in entry.get("vacr", ()):
            return None
        message = dict_or_empty(dict_or_empty(entry.get("data")).get("message"))
        params = dict_or_empty(message.get("params"))
        written = {"type": "diff", "path": params.get("path"), "newText": params.get("content")}
        if not _is_diff(written) or written["path"] in self._paths:
            return None
        return {"call_id": f"{WRITE_METHOD} {message.get('id')}", SHOWN_CHANGES: [written]}


def collect_reports(entries: Sequence[Any]) -> CallReports:
    """Return the changes of files that calls, their updates and their results show."""
    changes: dict[str, list[Any]] = {}
    for entry in entries:
        update = _get_update(entry)
        content = update.get("content")
        call_id = update.get("toolCallId")
        if type(content) is list and type(call_id) is str:
            shown = [part for part in content if _is_diff(part)]
            if shown:
                changes[call_id] = shown
    return ShownChanges(changes)


def _get_update(entry: Any) -> dict[str, Any]:
    """Return the update of the agent that an entry was made of, or an empty dict."""
    if type(entry) is not dict:
        return {}
    line = entry.get("data") if entry.get("type") == "system-event" else entry
    message = dict_or_empty(dict_or_empty(line).get("message"))
    return dict_or_empty(dict_or_empty(message.get("params")).get("update"))


def _is_diff(part: Any) -> bool:
    """Return whether a part of a content shows the old and the new text of a file."""
    return (
        type(part) is dict
        and part.get("type") == "diff"
        and type(part.get("path")) is str
        and type(part.get("newText")) is str
    )


def parse_shown_changes(call: ToolCall) -> list[FileAction] | None:
    """Return the changes that a successful call showed, or None if it showed none."""
    shown = call.native.get(SHOWN_CHANGES)
    if type(shown) is not list or call.state != CALL_DONE:
        return None
    return [_parse_diff(part) for part in shown]


def _parse_diff(part: dict[str, Any]) -> FileAction:
    """Return the action of a shown change; without an old text, the file was written as a whole."""
    old, new = part.get("oldText"), part["newText"]
    if type(old) is str and old:
        return Replacement(part["path"], [Edit(old, new)])
    return FileWrite(part["path"], new)


def parse_editor_read(entry: dict[str, Any]) -> Iterator[FileAction]:
    """Yield the file that the editor showed to the agent, if the entry is such a response."""
    path = dict_or_empty(entry.get("vacr")).get(PATH_MARK)
    if type(path) is str:
        message = dict_or_empty(dict_or_empty(entry.get("data")).get("message"))
        text = dict_or_empty(message.get("result")).get("content")
        if type(text) is str:
            yield ObservedFile(path, text)

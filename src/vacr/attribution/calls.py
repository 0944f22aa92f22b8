"""The tool calls of a record with their results, in the order in which they ended. Step: attribute.

A call is applied where its result stands, because that is when its work was done. What an agent writes beside the entry members
(working directory, host results) is read here and nowhere else.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.timestamps import milliseconds

FAILED, DONE, PENDING = "failed", "done", "pending"

_BAD_STATUS = frozenset(
    {"error", "failed", "failure", "cancelled", "canceled", "rejected", "declined", "aborted", "interrupted", "denied"}
)
_TELLING = frozenset({"patch_apply_end", "exec_command_end"})


@dataclass(slots=True)
class Call:
    """One tool call: what was asked, by which model, where, and what came of it."""

    name: str
    input: Any
    entry: str
    call_id: str
    model: str
    folder: str
    contributor: Any = None
    time: int = 0
    state: str = PENDING
    result_entry: str = ""
    output: str = ""
    native: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Shown:
    """An entry that is no call and may show a file: an attachment, a reminder, a host event."""

    entry: str
    folder: str
    value: dict[str, Any]
    time: int = 0


Step = Call | Shown


def steps(record: dict[str, Any]) -> Iterator[Step]:
    """Give the ended calls of a record and what else may show files, then the calls that never ended."""
    walk = _Walk(record)
    for place, entry, parents in _entries(record["session"].get("entries", ()), "/session/entries"):
        walk.context(entry)
        kind = entry.get("type")
        if kind == "tool-call":
            walk.called(place, entry)
        elif kind == "tool-result":
            call = walk.ended(place, entry, parents)
            if call is not None:
                yield call
        elif kind in ("system-event", "user"):
            yield Shown(_name(entry, place), walk.folder, entry, walk.time)
    for call in (*walk.open.values(), *walk.unnamed):
        call.time = walk.time
        yield call


def _entries(
    entries: Any, place: str, parents: tuple[dict[str, Any], ...] = ()
) -> Iterator[tuple[str, dict[str, Any], tuple[dict[str, Any], ...]]]:
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield f"{place}/{i}", entry, parents
            if "children" in entry:
                yield from _entries(entry["children"], f"{place}/{i}/children", (*parents, entry))


def _name(entry: dict[str, Any], place: str) -> str:
    """Name an entry by its id, or by a JSON Pointer where it has none."""
    name = entry.get("id")
    return name if isinstance(name, str) and name else place


class _Walk:
    def __init__(self, record: dict[str, Any]) -> None:
        session = record["session"]
        meta = session.get("agent-meta", {})
        self.provider = str(meta.get("model-provider", ""))
        self.model = str(meta.get("model-id", ""))
        self.folder = str(session.get("environment", {}).get("working-dir", ""))
        self.told = _told(session.get("entries", ()))
        self.time = 0
        self.open: dict[str, Call] = {}
        self.unnamed: list[Call] = []

    def context(self, entry: dict[str, Any]) -> None:
        when = entry.get("timestamp")
        if isinstance(when, str | int | float) and not isinstance(when, bool):
            self.time = max(self.time, milliseconds(when) or 0)
        if isinstance(entry.get("model-id"), str):
            self.model = entry["model-id"]
        if isinstance(entry.get("providerID"), str):
            self.provider = entry["providerID"]
        data = entry.get("data")
        if entry.get("event-type") == "turn_context" and isinstance(data, dict):
            self.model = data["model"] if isinstance(data.get("model"), str) else self.model
            self.folder = data["cwd"] if isinstance(data.get("cwd"), str) else self.folder
        path = entry.get("path")
        if isinstance(entry.get("cwd"), str):
            self.folder = entry["cwd"]
        elif isinstance(path, dict) and isinstance(path.get("cwd"), str):
            self.folder = path["cwd"]

    def called(self, place: str, entry: dict[str, Any]) -> None:
        call_id = entry.get("call-id")
        call = Call(
            str(entry.get("name", "")),
            entry.get("input"),
            _name(entry, place),
            call_id if isinstance(call_id, str) else _name(entry, place),
            self._model_id(),
            self.folder,
            entry.get("contributor"),
        )
        if isinstance(call_id, str):
            self.open[call_id] = call
        else:
            self.unnamed.append(call)

    def _model_id(self) -> str:
        if not self.provider or self.provider == "unknown" or self.model.startswith(self.provider + "/"):
            return self.model or "unknown"
        return f"{self.provider}/{self.model or 'unknown'}"

    def ended(self, place: str, entry: dict[str, Any], parents: tuple[dict[str, Any], ...]) -> Call | None:
        call_id = entry.get("call-id")
        call = self.open.pop(call_id, None) if isinstance(call_id, str) else None
        if call is None:
            return None
        call.result_entry, call.time = _name(entry, place), self.time
        call.output = _text(entry.get("output"))
        call.native = {**(parents[-1] if parents else {}), **self.told.get(call.call_id, {}), **entry}
        bad = (
            entry.get("is-error") is True
            or str(entry.get("status", "")).lower() in _BAD_STATUS
            or call.native.get("success") is False
        )
        call.state = FAILED if bad else DONE
        return call


def _told(entries: Any) -> dict[str, dict[str, Any]]:
    """Gather what Codex tells of a call in events of their own, by the call's id."""
    told: dict[str, dict[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else ():
        data = entry.get("data") if isinstance(entry, dict) and entry.get("event-type") in _TELLING else None
        if isinstance(data, dict) and isinstance(data.get("call_id"), str):
            told.setdefault(data["call_id"], {}).update(data)
    return told


def _text(output: Any) -> str:
    """Give the text of a result, whatever it is wrapped in."""
    if isinstance(output, str):
        if output.startswith('{"output":'):
            try:
                inner = json.loads(output)
            except ValueError:
                return output
            return inner["output"] if isinstance(inner, dict) and isinstance(inner.get("output"), str) else output
        return output
    if isinstance(output, list):
        return "\n".join(_text(item) for item in output)
    if isinstance(output, dict):
        response = output.get("functionResponse")
        if isinstance(response, dict):
            return _text(response.get("response"))
        for name in ("output", "text", "content", "error"):
            if isinstance(output.get(name), (str, list)):
                return _text(output[name])
    return ""

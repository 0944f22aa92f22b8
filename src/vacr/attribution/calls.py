"""The tool calls of a record with their results, in the order in which they ended. Step: attribute.

A call is applied where its result stands, because that is when its work was done. What an agent
writes beside the entry members (working directory, host results) is read here and in `hosts`, and
nowhere else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vacr.attribution import editors, hosts
from vacr.attribution.events import Event
from vacr.attribution.folders import working_folder
from vacr.timestamps import milliseconds

# `UNTOLD`: the agent never writes results down. `PENDING`: it does, and has not.
FAILED, DONE, PENDING, UNTOLD = "failed", "done", "pending", "untold"

# Agents whose transcripts hold calls without ids and without results.
_SILENT = frozenset({"cursor"})
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
    inherited: bool = False
    top: str = ""  # the folder in which the session began
    left: str = ""  # the folder that the session tells when the call has ended
    chain: str = ""  # the sub-agent that made the call
    began: int = 0  # how many calls had begun when it did, and when it ended
    ended: int = 0
    lost: bool = False  # the folder may be another one
    events: Sequence[Event] | None = None
    """What it did, where that has been found out before it is applied."""


@dataclass(slots=True)
class Shown:
    """An entry that is no call and may show a file: an attachment, a reminder, a host event."""

    entry: str
    folder: str
    value: dict[str, Any]
    time: int = 0
    chain: str = ""


Step = Call | Shown


def agent_of(record: dict[str, Any]) -> str:
    """Give the name of the agent whose session a record is."""
    return str(record["session"].get("agent-meta", {}).get("cli-name", ""))


def steps(record: dict[str, Any]) -> Iterator[Step]:
    """Give the ended calls of a record and what else may show files, then the calls that never
    ended.
    """
    walk = _Walk(record)
    for place, entry, parents in _entries(record["session"].get("entries", ()), "/session/entries"):
        walk.context(entry)
        kind = entry.get("type")
        if kind == "tool-call":
            call = walk.called(place, entry)
        elif kind == "tool-result":
            call = walk.ended(place, entry, parents)
        else:
            call = walk.told_alone(place, entry)
            if call is None and kind in ("system-event", "user"):
                yield Shown(_name(entry, place), walk.folder, entry, walk.time, walk.chain)
        if call is not None:
            yield call
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
        self.agent = agent_of(record)
        self.provider = str(meta.get("model-provider", ""))
        self.model = str(meta.get("model-id", ""))
        self.folder = self.top = working_folder(record)
        self.chain = ""
        self.told_in: dict[str, str] = {}
        self.jumped = False
        self.ticks = 0
        entries = session.get("entries", ())
        self.named = {
            entry.get("call-id")
            for _, entry, _ in _entries(entries, "")
            if entry.get("type") == "tool-call"
        }
        self.told = _told(entries)
        self.texts = editors.texts(entries) if self.agent in _SILENT else {}
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
            self._moves(entry, entry["cwd"])
        elif isinstance(path, dict) and isinstance(path.get("cwd"), str):
            self.folder = path["cwd"]

    def _moves(self, entry: dict[str, Any], folder: str) -> None:
        self.folder = folder
        self.chain = (
            str(entry.get("agentId", "sub-agent")) if entry.get("isSidechain") is True else ""
        )
        # Claude Code may write a call down when it has ended: then the folder is the one that it
        # left.
        self.jumped = (
            entry.get("type") == "assistant" and self.told_in.get(self.chain, folder) != folder
        )
        self.told_in[self.chain] = folder

    def called(self, place: str, entry: dict[str, Any]) -> Call | None:
        """Take in a call; gives it when its agent never says more about it."""
        call_id = entry.get("call-id")
        call = self._call(
            str(entry.get("name", "")), entry.get("input"), _name(entry, place), call_id
        )
        call.contributor = entry.get("contributor")
        if isinstance(call.contributor, dict) and isinstance(call.contributor.get("model-id"), str):
            call.model = call.contributor["model-id"]
        call.inherited = _is_inherited(entry)
        if isinstance(call_id, str):
            self.open[call_id] = call
        elif self.agent in _SILENT:
            call.state, call.time = UNTOLD, self.time
            return call
        else:
            self.unnamed.append(call)
        return None

    def _call(self, name: str, arguments: Any, entry: str, call_id: Any) -> Call:
        self.ticks += 1
        call = Call(
            name,
            arguments,
            entry,
            call_id if isinstance(call_id, str) else entry,
            self._model_id(),
            self.folder,
        )
        call.top, call.left, call.chain, call.began, call.lost = (
            self.top,
            self.folder,
            self.chain,
            self.ticks,
            self.jumped,
        )
        return call

    def _model_id(self) -> str:
        if (
            not self.provider
            or self.provider == "unknown"
            or self.model.startswith(self.provider + "/")
        ):
            return self.model or "unknown"
        return f"{self.provider}/{self.model or 'unknown'}"

    def ended(
        self, place: str, entry: dict[str, Any], parents: tuple[dict[str, Any], ...]
    ) -> Call | None:
        """Take in a result; gives the call that it ends."""
        call_id = entry.get("call-id")
        call = self.open.pop(call_id, None) if isinstance(call_id, str) else None
        if call is None:
            return None
        call.result_entry, call.time, call.left = _name(entry, place), self.time, self.folder
        call.output, call.ended = hosts.text_of(entry.get("output")), self.ticks
        told = self.told.get(call.call_id, {})
        # What an earlier event told of this call, on its own, is not told again.
        call.native = {**(parents[-1] if parents else {}), **told, **call.native, **entry}
        call.state = FAILED if hosts.failed(entry, told) or editors.rejected(call.native) else DONE
        if self.texts and (contents := editors.contents(entry.get("output"), self.texts)):
            call.native["contents"] = contents
        if call.contributor is None and hosts.user_modified(call.native, call.input):
            call.contributor = {"type": "mixed", "model-id": call.model}
        return call

    def told_alone(self, place: str, entry: dict[str, Any]) -> Call | None:
        """Make a call of a patch that Codex tells of without one: a script had it applied."""
        data = _patch_told(entry)
        if data is None or data["call_id"] in self.named:
            return None
        scripts = [call for call in self.open.values() if call.name == "exec"]
        name = _name(entry, place)
        call = self._call("apply_patch", None, name, data["call_id"])
        if len(scripts) == 1:
            call.entry, call.call_id = scripts[0].entry, scripts[0].call_id
            scripts[0].native["told"] = True
        call.native, call.result_entry, call.time, call.inherited = (
            data,
            name,
            self.time,
            _is_inherited(entry),
        )
        call.state = FAILED if hosts.failed({}, data) else DONE
        return call


def _is_inherited(entry: dict[str, Any]) -> bool:
    ours = entry.get("vacr")
    return isinstance(ours, dict) and ours.get("inherited") is True


def _patch_told(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Give what an event of Codex says about a patch; newer versions tell it as an item that was
    completed.
    """
    data = entry.get("data")
    if not isinstance(data, dict):
        return None
    if entry.get("event-type") == "item_completed" and isinstance(data.get("item"), dict):
        data = {**data["item"], "call_id": data["item"].get("id")}
    elif entry.get("event-type") != "patch_apply_end":
        return None
    return (
        data
        if isinstance(data.get("changes"), dict) and isinstance(data.get("call_id"), str)
        else None
    )


def _told(entries: Any) -> dict[str, dict[str, Any]]:
    """Gather what Codex tells of a call in events of their own, by the call's id."""
    told: dict[str, dict[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        data = entry.get("data") if entry.get("event-type") in _TELLING else _patch_told(entry)
        if isinstance(data, dict) and isinstance(data.get("call_id"), str):
            told.setdefault(data["call_id"], {}).update(data)
    return told

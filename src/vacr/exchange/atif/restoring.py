"""The ATIF trajectory that a record was made of. Step: export. The inverse of `reading`, member by
member.
"""

from __future__ import annotations

from vacr import codec
from vacr.exchange.atif.reading import COST, COUNTERS, SUB_AGENT
from vacr.exchange.steps import SYSTEM_MESSAGE
from vacr.identity import ours
from vacr.model import CANONICAL_MEMBERS, SESSION_MEMBERS, Native

_SOURCES = {"user": "user", "assistant": "agent", "system-event": "system"}
_CALL = {"name": "function_name", "input": "arguments", "call-id": "tool_call_id"}
_RESULT = {"call-id": "source_call_id", "output": "content"}


def written(record: Native) -> bytes:
    """Give the trajectory, but for members that were null."""
    return codec.encode(_document(record)) + b"\n"


def _document(record: Native) -> Native:
    session, said = record["session"], ours(record)
    meta = session["agent-meta"]
    made: Native = {
        name: value for name, value in session.items() if name not in SESSION_MEMBERS
    } | said.get("native", {})
    agent = {"name": meta["cli-name"]} | (
        {"version": meta["cli-version"]} if "cli-version" in meta else {}
    )
    made["agent"] = agent | made.get("agent", {})
    if session["session-id"] != said["source"]["parts"][0]["sha-256"]:
        made["session_id"] = session["session-id"]
    return made | _contents(session["entries"])


def _contents(entries: list[Native]) -> Native:
    steps = [_step(entry) for entry in entries if entry.get("event-type") != SUB_AGENT]
    others = [
        entry["data"] | _contents(entry["children"])
        for entry in entries
        if entry.get("event-type") == SUB_AGENT
    ]
    return {"steps": steps} | ({"subagent_trajectories": others} if others else {})


def _step(entry: Native) -> Native:
    step = _native(entry)
    step["source"] = _SOURCES[entry["type"]]
    step["message"] = (
        entry["data"]["message"] if entry.get("event-type") == SYSTEM_MESSAGE else entry["content"]
    )
    for canonical, native in (("timestamp", "timestamp"), ("model-id", "model_name")):
        if canonical in entry:
            step[native] = entry[canonical]
    if "token-usage" in entry:
        names = {canonical: native for native, canonical in (*COUNTERS, COST)}
        step["metrics"] = {
            names.get(name, name): value for name, value in entry["token-usage"].items()
        }
    children = entry.get("children", ())
    for child in children:
        if child["type"] == "reasoning":
            step["reasoning_content"] = child["content"]
    if calls := [_child(child, _CALL) for child in children if child["type"] == "tool-call"]:
        step["tool_calls"] = calls
    if results := [_child(child, _RESULT) for child in children if child["type"] == "tool-result"]:
        step["observation"] = step.get("observation", {}) | {"results": results}
    return step


def _child(child: Native, names: dict[str, str]) -> Native:
    lifted = {
        native: child[canonical]
        for canonical, native in names.items()
        if child.get(canonical) is not None
    }
    return _native(child) | lifted


def _native(entry: Native) -> Native:
    """Give the members that stayed, and those that were set aside."""
    kept = {name: value for name, value in entry.items() if name not in CANONICAL_MEMBERS}
    aside: Native = entry.get("vacr", {}).get("native", {})
    return kept | aside

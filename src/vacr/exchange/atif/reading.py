"""An ATIF trajectory as a record. Step: import.

Members are lifted, not copied: what has no canonical place stays under its own name, in the entry
of its step or in the session, so that `restoring` gives the document back. Only a member that is
null is left out, as the record format asks. An embedded sub-agent is an event at the end of its
parent's entries, with its own entries as children.
"""

from __future__ import annotations

from typing import Any

from vacr.codec import canonical_json
from vacr.errors import InvalidRecord
from vacr.exchange.atif import FORMAT, rules
from vacr.exchange.steps import SYSTEM_MESSAGE
from vacr.model import USAGE_MEMBERS, Native
from vacr.readers.assemble import UNKNOWN, Reading, Session
from vacr.readers.lift import Lift, Move, fill, is_count, mark, without_nulls
from vacr.readers.source import Source

SUB_AGENT = "subagent-trajectory"
COUNTERS = (
    ("prompt_tokens", "input"),
    ("completion_tokens", "output"),
    ("cached_tokens", "cached"),
)
COST = ("cost_usd", "cost")

_STEP = Lift(Move("timestamp", "timestamp"), Move("model_name", "model-id"))
_CALL = Lift(
    Move("function_name", "name"), Move("arguments", "input", dict), Move("tool_call_id", "call-id")
)
_RESULT = Lift(Move("source_call_id", "call-id"), Move("content", "output", None))


def read(source: Source) -> Reading:
    """Make a record of a trajectory, not yet identified.

    Raises:
        UnreadableInput: it is no JSON.
        InvalidRecord: it is no trajectory.
    """
    document = canonical_json.decode(source.main.data)
    if not isinstance(document, dict):
        raise InvalidRecord("no ATIF trajectory: it is no object", where="/")
    rules.check(document)
    agent = document.pop("agent")
    session = Session(FORMAT, agent.pop("name"))
    version = agent.pop("version")
    session.cli_version = version or None
    if not version:
        agent["version"] = version
    without_nulls(agent)
    model = agent.get("model_name")
    session.entries = _entries(document, session, model)
    session.session_id = document.pop("session_id") if document.get("session_id") else None
    session.native = {**document, "agent": agent} if agent else document
    if model is not None and not session.models:
        session.models[model] = 0
    session.provider = _provider(session)
    session.inherits = any("inherited" in entry.get("vacr", ()) for entry in session.entries)
    session.tidy()
    return session.reading(source)


def _provider(session: Session) -> str:
    """Tell whose models they are, where a name says so as `provider/model`."""
    names = {name.partition("/")[0] for name in session.models if "/" in name}
    return names.pop() if len(names) == 1 else UNKNOWN


def _entries(trajectory: Native, session: Session, model: str | None) -> list[Native]:
    """Take the steps and the sub-agents out of a trajectory, and make entries of them."""
    entries = [_entry(step) for step in trajectory.pop("steps")]
    for entry in entries:
        if entry["type"] == "assistant" and (used := entry.get("model-id", model)) is not None:
            session.models[used] += 1
    others = (
        trajectory.pop("subagent_trajectories") if trajectory.get("subagent_trajectories") else ()
    )
    for other in others:
        event: Native = {"type": "system-event", "event-type": SUB_AGENT}
        children = _entries(other, session, other["agent"].get("model_name", model))
        session.embedded += children
        entries.append({**event, "data": other, "children": children})
    return entries


def _entry(step: Native) -> Native:
    without_nulls(step)
    source, message = step.pop("source"), step.pop("message")
    entry: Native = {"type": "assistant" if source == "agent" else source, "content": message}
    if source == "system":
        entry = {"type": "system-event", "event-type": SYSTEM_MESSAGE, "data": {"message": message}}
    _STEP.apply(step, entry)
    children = _children(step)
    if isinstance(metrics := step.get("metrics"), dict) and USAGE_MEMBERS.isdisjoint(metrics):
        entry["token-usage"] = _usage(step.pop("metrics"))
    fill(entry, step)
    if step.get("is_copied_context") is True:
        mark(entry)["inherited"] = True
    if children:
        entry["children"] = children
    return entry


def _children(step: Native) -> list[Native]:
    """Take reasoning, calls and results out of a step; what says only that there are none stays."""
    made = []
    if "reasoning_content" in step:
        made.append({"type": "reasoning", "content": step.pop("reasoning_content")})
    if step.get("tool_calls"):
        made += [_lifted("tool-call", call, _CALL) for call in step.pop("tool_calls")]
    observation = step.get("observation")
    if observation and observation["results"]:
        for result in observation.pop("results"):
            made.append(
                {"output": None, **_lifted("tool-result", result, _RESULT), **_failure(result)}
            )
        if not observation:
            del step["observation"]
    return made


def _failure(result: Native) -> Native:
    """Tell that a call failed, where an export of ours says so; ATIF itself has no place for it."""
    extra = result.get("extra")
    said = extra.get("vacr") if isinstance(extra, dict) else None
    return {"is-error": True} if isinstance(said, dict) and said.get("is-error") is True else {}


def _lifted(kind: str, native: Native, lift: Lift) -> Native:
    without_nulls(native)
    entry: Native = {"type": kind}
    lift.apply(native, entry)
    return fill(entry, native)


def _usage(metrics: Native) -> Native:
    """Give counters their canonical names, where they are counts."""
    without_nulls(metrics)
    usage: Native = {
        canonical: metrics.pop(native)
        for native, canonical in COUNTERS
        if is_count(metrics.get(native))
    }
    if _is_number(metrics.get(COST[0])):
        usage[COST[1]] = metrics.pop(COST[0])
    return usage | metrics


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

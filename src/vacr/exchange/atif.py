"""ATIF, the Agent Trajectory Interchange Format of Harbor: trajectories as records, and back.

The import moves members to their canonical places; a member without one stays under its own name in
the entry of its step, or in the session. So the record can return the original trajectory, except
for members that were null, because a record leaves them out. An embedded sub-agent becomes an
event at the end of its parent's entries, with its own entries as children. `atif_export` writes
trajectories from other records.

    >>> import json
    >>> from vacr.agents import Source, SourcePart
    >>> from vacr.exchange.atif import read, restore_trajectory
    >>> step = {"step_id": 1, "source": "agent", "message": "Done."}
    >>> step["metrics"] = {"prompt_tokens": 7}
    >>> trajectory = {"schema_version": "ATIF-v1.6", "session_id": "s-1", "steps": [step]}
    >>> trajectory["agent"] = {"name": "mini", "version": "2.0"}
    >>> data = json.dumps(trajectory).encode()
    >>> record = read(Source((SourcePart("run.json", data),))).record
    >>> [entry] = record["session"]["entries"]
    >>> entry["type"], entry["content"], entry["token-usage"]
    ('assistant', 'Done.', {'input': 7})
    >>> json.loads(restore_trajectory(record)) == trajectory
    True
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacr.agents import (
    UNKNOWN,
    Lift,
    Move,
    Reading,
    SessionBuilder,
    Source,
    add_remaining_members,
    drop_nulls,
    get_native_members,
    get_writable_marks,
    is_count,
)
from vacr.errors import InvalidRecord
from vacr.exchange.export import SYSTEM_MESSAGE_EVENT
from vacr.exchange.formats import check_document
from vacr.model import CANONICAL_ENTRY_MEMBERS, TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import decode_json, encode, get_vacr_metadata

ATIF_VERSIONS = ("1.5", "1.6", "1.7", "1.8")
ATIF_FORMAT = "atif"
"""The trace format id of an imported record."""

SUB_AGENT_EVENT = "subagent-trajectory"
"""The type of the event that holds an embedded sub-agent."""

ATIF_METRICS = {
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "cached": "cached_tokens",
    "cost": "cost_usd",
}
"""ATIF's names for the members of a token usage."""
_COST_MEMBER = "cost"

_STEP_MOVES = Lift(Move("timestamp", "timestamp"), Move("model_name", "model-id"))
_CALL_MOVES = Lift(
    Move("function_name", "name"), Move("arguments", "input", dict), Move("tool_call_id", "call-id")
)
_RESULT_MOVES = Lift(Move("source_call_id", "call-id"), Move("content", "output", None))

# The inverse of these moves.
_STEP_NAMES = {"timestamp": "timestamp", "model-id": "model_name"}
_CALL_NAMES = {"name": "function_name", "input": "arguments", "call-id": "tool_call_id"}
_RESULT_NAMES = {"call-id": "source_call_id", "output": "content"}
_STEP_SOURCES = {"user": "user", "assistant": "agent", "system-event": "system"}

_AGENT_STEP_MEMBERS = (
    "model_name",
    "reasoning_effort",
    "reasoning_content",
    "tool_calls",
    "metrics",
)
_MODEL_STEP_MEMBERS = ("metrics", "reasoning_content")


# Import


def read(source: Source) -> Reading:
    """Import a trajectory, with its sub-agents, as one record without an id.

    Raises:
        UnreadableInput: the document is not JSON.
        InvalidRecord: it is not a valid trajectory.
    """
    trajectory = decode_json(source.main.data)
    if not isinstance(trajectory, dict):
        raise InvalidRecord("invalid ATIF trajectory: not a JSON object", where="/")
    check_trajectory(trajectory)
    agent = trajectory.pop("agent")
    session = SessionBuilder(ATIF_FORMAT, agent.pop("name"))
    version = agent.pop("version")
    session.cli_version = version or None
    if not version:
        agent["version"] = version
    drop_nulls(agent)
    model = agent.get("model_name")
    session.entries = _take_entries(trajectory, session, model)
    session.session_id = trajectory.pop("session_id") if trajectory.get("session_id") else None
    session.native = {**trajectory, "agent": agent} if agent else trajectory
    if model is not None and not session.models:
        session.models[model] = 0
    session.provider = _find_provider(session)
    session.inherits = any("inherited" in entry.get("vacr", ()) for entry in session.entries)
    session.tidy()
    return session.reading(source)


def _find_provider(session: SessionBuilder) -> str:
    """Return the provider of models named `provider/model`, or UNKNOWN unless exactly one."""
    providers = {name.partition("/")[0] for name in session.models if "/" in name}
    return providers.pop() if len(providers) == 1 else UNKNOWN


def _take_entries(
    trajectory: JsonObject, session: SessionBuilder, model: str | None
) -> list[JsonObject]:
    """Remove the steps and sub-agents of a trajectory, and return them as entries.

    The steps come first; each sub-agent is one event with its entries as children. Count the models
    of the steps in `session`; `model` is the model of steps that name none.
    """
    entries = [_make_entry(step) for step in trajectory.pop("steps")]
    for entry in entries:
        entry_model = entry.get("model-id", model)
        if entry["type"] == "assistant" and entry_model is not None:
            session.models[entry_model] += 1
    if not trajectory.get("subagent_trajectories"):  # null and empty lists stay where they are
        return entries
    for sub_agent in trajectory.pop("subagent_trajectories"):
        children = _take_entries(sub_agent, session, sub_agent["agent"].get("model_name", model))
        session.embedded += children
        entries.append(
            {
                "type": "system-event",
                "event-type": SUB_AGENT_EVENT,
                "data": sub_agent,
                "children": children,
            }
        )
    return entries


def _make_entry(step: JsonObject) -> JsonObject:
    """Return a step as an entry, with reasoning, calls and results as children."""
    drop_nulls(step)
    source, message = step.pop("source"), step.pop("message")
    if source == "system":
        entry: JsonObject = {
            "type": "system-event",
            "event-type": SYSTEM_MESSAGE_EVENT,
            "data": {"message": message},
        }
    else:
        entry = {"type": "assistant" if source == "agent" else source, "content": message}
    _STEP_MOVES.apply(step, entry)
    children = _take_children(step)
    metrics = step.get("metrics")
    # A metric with a canonical name would be renamed when the trajectory is restored.
    if isinstance(metrics, dict) and TOKEN_USAGE_MEMBERS.isdisjoint(metrics):
        entry["token-usage"] = _lift_usage(step.pop("metrics"))
    add_remaining_members(entry, step)
    if step.get("is_copied_context") is True:
        get_writable_marks(entry)["inherited"] = True
    if children:
        entry["children"] = children
    return entry


def _take_children(step: JsonObject) -> list[JsonObject]:
    """Remove reasoning, calls and results of a step, and return them as entries.

    Empty lists stay where they are.
    """
    children = []
    if "reasoning_content" in step:
        children.append({"type": "reasoning", "content": step.pop("reasoning_content")})
    if step.get("tool_calls"):
        children += [_lift_entry("tool-call", call, _CALL_MOVES) for call in step.pop("tool_calls")]
    observation = step.get("observation")
    if observation and observation["results"]:
        for result in observation.pop("results"):
            entry = _lift_entry("tool-result", result, _RESULT_MOVES)
            children.append({"output": None, **entry, **_get_failure_mark(result)})
        if not observation:
            del step["observation"]
    return children


def _get_failure_mark(result: JsonObject) -> JsonObject:
    """Return `is-error` for a result that an export of vacr marks as failed, or an empty dict.

    ATIF itself has no member for it.
    """
    extra = result.get("extra")
    marks = extra.get("vacr") if isinstance(extra, dict) else None
    return {"is-error": True} if isinstance(marks, dict) and marks.get("is-error") is True else {}


def _lift_entry(kind: str, native: JsonObject, moves: Lift) -> JsonObject:
    """Return an entry of this type with the members of `native`, moved to canonical names."""
    drop_nulls(native)
    entry: JsonObject = {"type": kind}
    moves.apply(native, entry)
    return add_remaining_members(entry, native)


def _lift_usage(metrics: JsonObject) -> JsonObject:
    """Return metrics as token usage; unknown or invalid metrics keep their ATIF names.

    Nulls are dropped, and the renamed members are removed from `metrics`.
    """
    drop_nulls(metrics)
    usage: JsonObject = {}
    for canonical, native in ATIF_METRICS.items():
        value = metrics.get(native)
        if _is_number(value) if canonical == _COST_MEMBER else is_count(value):
            usage[canonical] = metrics.pop(native)
    return usage | metrics


def _is_number(value: Any) -> bool:
    """Return whether a value is an integer or a float; a boolean is neither."""
    return isinstance(value, int | float) and not isinstance(value, bool)


# The rules that a schema cannot express, from the models of Harbor


def check_trajectory(trajectory: JsonObject) -> None:
    """Check a trajectory against the schema and the rules of Harbor.

    Raises:
        InvalidRecord: it breaks a rule; the error has the first place.
    """
    check_document(trajectory, "atif.cddl", "ATIF trajectory")
    for place, problem in _find_broken_rules(trajectory, ""):
        raise InvalidRecord(f"invalid ATIF trajectory: {problem}", where=place)


def _find_broken_rules(trajectory: JsonObject, base: str) -> Iterator[tuple[str, str]]:
    """Yield the pointer and the description of each broken rule, also in sub-agents.

    Pointers start at the root of the document; `base` is the pointer of the trajectory.
    """
    for number, step in enumerate(trajectory["steps"]):
        place = f"{base}/steps/{number}"
        if step["step_id"] != number + 1:
            yield f"{place}/step_id", f"step_id is {step['step_id']}, expected {number + 1}"
        yield from _find_excess_members(step, place)
        yield from _find_unknown_calls(step, place)
    names: set[str] = set()
    for number, sub_agent in enumerate(trajectory.get("subagent_trajectories") or ()):
        place = f"{base}/subagent_trajectories/{number}"
        name = sub_agent.get("trajectory_id")
        if name is None:
            yield f"{place}/trajectory_id", "the sub-agent has no trajectory_id"
        elif name in names:
            yield f"{place}/trajectory_id", f"two sub-agents have the trajectory_id {name!r}"
        names.add(str(name))
        yield from _find_broken_rules(sub_agent, place)


def _find_excess_members(step: JsonObject, place: str) -> Iterator[tuple[str, str]]:
    """Yield the pointer and a description of each member that such a step must not have.

    `place` is the pointer of the step.
    """
    if step["source"] != "agent":
        for name in _AGENT_STEP_MEMBERS:
            if _has_member(step, name):
                yield f"{place}/{name}", f"only steps of the agent may have {name}"
    elif step.get("llm_call_count") == 0:
        for name in _MODEL_STEP_MEMBERS:
            if _has_member(step, name):
                yield f"{place}/{name}", f"a step without a model call must not have {name}"


def _find_unknown_calls(step: JsonObject, place: str) -> Iterator[tuple[str, str]]:
    """Yield the pointer and a description of each result without its tool call in the step.

    `place` is the pointer of the step.
    """
    calls = {call["tool_call_id"] for call in step.get("tool_calls") or ()}
    observation = step.get("observation") or {"results": ()}
    for number, result in enumerate(observation["results"]):
        if _has_member(result, "source_call_id") and result["source_call_id"] not in calls:
            yield (
                f"{place}/observation/results/{number}/source_call_id",
                f"the step has no tool call {result['source_call_id']!r}",
            )


def _has_member(members: JsonObject, name: str) -> bool:
    """Return whether a member is present and not null."""
    return members.get(name) is not None


# The original trajectory of an imported record: the inverse of `read`, member by member


def restore_trajectory(record: JsonObject) -> bytes:
    """Return the encoded trajectory of an imported record, without members that were null."""
    session, metadata = record["session"], get_vacr_metadata(record)
    trajectory = get_native_members(record)
    meta = session["agent-meta"]
    agent = {"name": meta["cli-name"]}
    if "cli-version" in meta:
        agent["version"] = meta["cli-version"]
    trajectory["agent"] = agent | trajectory.get("agent", {})
    # A trajectory without a session id got the digest of its bytes.
    if session["session-id"] != metadata["source"]["parts"][0]["sha-256"]:
        trajectory["session_id"] = session["session-id"]
    return encode(trajectory | _restore_steps(session["entries"])) + b"\n"


def _restore_steps(entries: list[JsonObject]) -> JsonObject:
    """Return the members `steps` and `subagent_trajectories` for the entries of a record."""
    steps, sub_agents = [], []
    for entry in entries:
        if entry.get("event-type") == SUB_AGENT_EVENT:
            sub_agents.append(entry["data"] | _restore_steps(entry["children"]))
        else:
            steps.append(_restore_step(entry))
    return {"steps": steps} | ({"subagent_trajectories": sub_agents} if sub_agents else {})


def _restore_step(entry: JsonObject) -> JsonObject:
    """Return the step that an entry was made from."""
    step = _get_native_members(entry)
    step["source"] = _STEP_SOURCES[entry["type"]]
    if entry.get("event-type") == SYSTEM_MESSAGE_EVENT:
        step["message"] = entry["data"]["message"]
    else:
        step["message"] = entry["content"]
    for canonical, native in _STEP_NAMES.items():
        if canonical in entry:
            step[native] = entry[canonical]
    if "token-usage" in entry:
        step["metrics"] = {
            ATIF_METRICS.get(name, name): value for name, value in entry["token-usage"].items()
        }
    calls, results = [], []
    for child in entry.get("children", ()):
        if child["type"] == "reasoning":
            step["reasoning_content"] = child["content"]
        elif child["type"] == "tool-call":
            calls.append(_restore_child(child, _CALL_NAMES))
        elif child["type"] == "tool-result":
            results.append(_restore_child(child, _RESULT_NAMES))
    if calls:
        step["tool_calls"] = calls
    if results:
        step["observation"] = step.get("observation", {}) | {"results": results}
    return step


def _restore_child(child: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return a tool call or result with ATIF's names: `names` maps canonical names to them."""
    lifted = {
        native: child[canonical]
        for canonical, native in names.items()
        if child.get(canonical) is not None
    }
    return _get_native_members(child) | lifted


def _get_native_members(entry: JsonObject) -> JsonObject:
    """Return the native members of an entry, with their own names.

    A native member with a canonical member's name was set aside in `vacr.native`.
    """
    kept = {name: value for name, value in entry.items() if name not in CANONICAL_ENTRY_MEMBERS}
    set_aside = get_vacr_metadata(entry).get("native")
    return kept | set_aside if isinstance(set_aside, dict) else kept
